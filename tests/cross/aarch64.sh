#!/bin/sh
# Builds what goes into the application for aarch64 and runs its unit tests under qemu-user. Called by ctest.
# Usage: aarch64.sh SOURCE BUILD CMAKE CTEST
set -eu

source="$1" build="$2" cmake="$3" ctest="$4"
if [ -z "${PODPROF_LONG:-}" ]; then
	echo "skipped: a second build takes minutes; set PODPROF_LONG=1"
	exit 77
fi
for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-readelf; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped: no $tool (apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
		exit 77
	fi
done
if ! command -v qemu-aarch64-static >/dev/null && ! command -v qemu-aarch64 >/dev/null; then
	echo "skipped: no qemu-aarch64-static (apt-get install qemu-user-static)"
	exit 77
fi

rm -rf "$build"
"$cmake" -S "$source" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$source/cmake/aarch64-linux-gnu.cmake" -DPODPROF_KEEPER=OFF -DPODPROF_MPI=OFF \
	-DCMAKE_COMPILE_WARNING_AS_ERROR=ON
"$cmake" --build "$build" -j2

# For another processor, and nothing newer than what the guest may need.
guest="$build/lib/libpodprof.so"
aarch64-linux-gnu-readelf -h "$guest" | grep -q 'Machine:.*AArch64'
newest=$(aarch64-linux-gnu-readelf -V "$guest" | grep -o 'GLIBC_2\.[0-9]*' | sort -t. -k2 -n -u | tail -n 1)
echo "$guest needs $newest"
[ "${newest#GLIBC_2.}" -le 34 ]

# A step of a real process: the collector loads and the job runs to its end.
sysroot=/usr/aarch64-linux-gnu
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
# As short as elsewhere, since qemu-user is slow. Without the tests that start programs with LD_PRELOAD (it does not hand it on, and the
# kernel may not start them) and that of failing disks (it says of advice that it ignores that it was taken).
env -u PODPROF_LONG "$ctest" --test-dir "$build" -L unit --output-on-failure \
	-E '^unit\.(core\.(source|io|disk_fault|itt|itt_bounds|itt_chain)|gpu\.cupti_(plain|early|at_exit|no_device|faults|pools|other_users|many|lost_later|every_error|real))$'
aarch64-linux-gnu-gcc -std=gnu11 -D_GNU_SOURCE -O2 -I"$source" -o "$build/job" "$source/tests/torture/job.c" -ldl -pthread
spool="$build/spool"
mkdir -m 700 "$spool"
out=$("$qemu" -L "$sysroot" -E LD_PRELOAD="$guest" -E PODPROF_SPOOL="$spool" -E PODPROF_WAIT=0 "$build/job" 0)
[ "$out" = "12 steps done" ]
ls "$spool"/rank-0-*.ring

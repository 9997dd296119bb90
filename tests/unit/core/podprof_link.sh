#!/bin/sh
# podprof.h builds without a warning and without a link flag in every kind of program, and records where it can.
# Usage: podprof_link.sh SOURCE_DIR CC CXX LIBPODPROF
set -u
src=$1 cc=$2 cxx=$3 lib=$4
dir=$(mktemp -d /tmp/podprof-link-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

check() { # name expected-with-preload compiler flags...
	name=$1 want=$2
	shift 2
	if ! "$@" -Wall -Wextra -Werror -pedantic -O2 -I"$src" -o "$dir/$name" > "$dir/log" 2>&1; then
		echo "$name: does not build"
		cat "$dir/log"
		failed=1
		return
	fi
	if [ -s "$dir/log" ]; then
		echo "$name: the linker is not silent"
		cat "$dir/log"
		failed=1
	fi
	alone=$("$dir/$name")
	rm -rf "$dir/spool"
	mkdir "$dir/spool"
	with=$(PODPROF_SPOOL="$dir/spool" PODPROF_WAIT=0 LD_PRELOAD="$lib" "$dir/$name" 2> "$dir/err")
	idle=$(LD_PRELOAD="$lib" "$dir/$name" 2>> "$dir/err")
	if [ "$alone" != 0 ] || [ "$idle" != 0 ] || [ "$with" != "$want" ] || [ -s "$dir/err" ]; then
		echo "$name: alone '$alone', idle '$idle', recording '$with' (expected $want)"
		cat "$dir/err"
		failed=1
	fi
}

c=$src/tests/unit/core/podprof_link.c
check c99_pie 1 "$cc" -std=c99 -fPIE -pie "$c"
check c11_no_pie 1 "$cc" -std=c11 -fno-pie -no-pie "$c"
check c99_o0 1 "$cc" -std=c99 -O0 "$c"
if command -v "$cxx" > /dev/null; then
	check cxx11 1 "$cxx" -std=c++11 -x c++ "$c"
	check cxx17_no_pie 1 "$cxx" -std=c++17 -fno-pie -no-pie -x c++ "$c"
fi
check static 0 "$cc" -std=c99 -static "$c"
check static_pie 0 "$cc" -std=c99 -static-pie "$c"
exit $failed

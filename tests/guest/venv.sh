#!/bin/sh
# Makes a virtual environment with packages from pip, once; exit 77 where that cannot be (no network, or none for 4 minutes). A
# ctest fixture. With PODPROF_ONLY_LONG only where PODPROF_LONG is set.
# Usage: venv.sh DIRECTORY PYTHON PACKAGE...
set -u
[ -z "${PODPROF_ONLY_LONG:-}" ] || [ -n "${PODPROF_LONG:-}" ] || exit 77
directory="$1"
python="$2"
shift 2
if [ "$(cat "$directory/podprof-packages" 2>/dev/null)" = "$*" ]; then
	exit 0
fi
if ! "$python" -m venv "$directory" || ! timeout 240 "$directory/bin/pip" -q --disable-pip-version-check install --retries 1 --timeout 15 "$@"; then
	echo "cannot install $*: the tests that need it are skipped" >&2
	rm -rf "$directory"
	exit 77
fi
echo "$*" >"$directory/podprof-packages"

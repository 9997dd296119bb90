#!/bin/sh
# A job of another MPI under podprof's libraries: same output as without. Exit 77 where MPICH is not installed.
# Usage: mpich.sh PROGRAM.c BINARY PRELOAD
set -u
mpicc=$(command -v mpicc.mpich) || exit 77
mpirun=$(command -v mpirun.mpich) || exit 77
"$mpicc" -O1 -o "$2" "$1" -ldl || exit 1
bare=$("$mpirun" -n 4 "$2" </dev/null | sort) || exit 1
seen=$("$mpirun" -n 4 -genv LD_PRELOAD "$3" "$2" </dev/null | sort) || exit 1
echo "$seen"
test "$bare" = "$seen" && ! echo "$seen" | grep -q bad

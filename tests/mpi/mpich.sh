#!/bin/sh
# A job of another MPI under podprof's libraries: same output as without. Exit 77 where MPICH is not installed.
# So is that of a program whose plugin brings MPI, twice. Usage: mpich.sh PROGRAM.c BINARY PRELOAD
set -u
mpicc=$(command -v mpicc.mpich) || exit 77
mpirun=$(command -v mpirun.mpich) || exit 77
"$mpicc" -O1 -o "$2" "$1" -ldl || exit 1
bare=$("$mpirun" -n 4 "$2" </dev/null | sort) || exit 1
seen=$("$mpirun" -n 4 -genv LD_PRELOAD "$3" "$2" </dev/null | sort) || exit 1
echo "$seen"
test "$bare" = "$seen" && ! echo "$seen" | grep -q bad || exit 1

plugin=${1%/*}/reload.c
"$mpicc" -O1 -DAS_PLUGIN -shared -fPIC -o "$2.plugin" "$plugin" || exit 1
"$mpicc" -O1 -Wl,--as-needed -o "$2.reload" "$plugin" -ldl || exit 1
bare=$("$2.reload" "$2.plugin" </dev/null) || exit 1
seen=$(LD_PRELOAD=$3 "$2.reload" "$2.plugin" </dev/null) || exit 1
echo "$seen"
test "$bare" = "$seen"

#!/bin/sh
# A program on MPICH under podprof's libraries. Usage: on_mpich.sh MPIRUN RANKS PRELOAD PROGRAM...
set -u
mpirun=$1
ranks=$2
preload=$3
shift 3
MPIEXEC_TIMEOUT=50 exec "$mpirun" -n "$ranks" -genv LD_PRELOAD "$preload" "$@" </dev/null

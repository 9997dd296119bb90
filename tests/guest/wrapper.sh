#!/bin/bash
# What users start: one rank is a shell, helpers in a pipe, a helper python, a background job; the last process trains.
# wrapper.sh TRAINER ...    GUEST_WRAP_EXEC=1: the shell becomes the trainer. Run by guest_table.py.
set -euo pipefail
count=$(seq 1 30 | grep -c 1 | tr -d ' ')
/usr/bin/python3 -c 'import os, subprocess; subprocess.run(["true"]); os.system("true")'
(env GUEST_HELPER=1 bash -c true; sleep 0.1) &
helper=$!
if [ "${GUEST_WRAP_EXEC:-0}" = 1 ]; then
	exec nice -n 0 "$@"
fi
status=0
nice -n 0 "$@" || status=$?
wait "$helper"
echo "wrapper counted $count, trainer ended with $status"
exit "$status"

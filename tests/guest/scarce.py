#!/usr/bin/python3
"""Jobs that lack something, under podprof: room in the spool, large files, memory, fork's handlers. The job ends as it does without
podprof, and what was lost is said. Run by ctest guest_scarce."""
import os
import subprocess
import sys

import jobs
from jobs import Skipped, check, keepers, run, wait_until


def h5(session):
    import h5py
    return h5py.File(os.path.join(session, "pod.h5"), "r")


def spool_on(place, size):
    """A file system of its own for the spool."""
    where = os.path.join(place.scratch, "small")
    os.makedirs(where, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "none", where], capture_output=True).returncode:
        raise Skipped("mounting a tmpfs needs root")
    return where


def unmount(where):
    wait_until(lambda: not keepers(where), 20)
    subprocess.run(["umount", "-l", where], capture_output=True)


def late_full(place, full):
    """The file system of the spool fills up after the ranks have claimed: no rank and no keeper dies of a page that is not there."""
    for options in ([], ["--steps", "2:4"]):
        where = spool_on(place, "4m")
        try:
            logs = place.new_logs()
            command = place.under(logs, [place.program("scarce"), "late_full", where], "--spool", os.path.join(where, "job"), *options)
            got = run(command, {"PODPROF_SIGNAL": "SIGUSR2"})
            check(got.code == 0 and got.out == "rank 0 is done\n", got.told())
            check("keeper died" not in got.err and "no keeper" not in got.err, got.told())
            check(wait_until(lambda: jobs.sessions(logs), 15), f"no session: {got.told()}")
        finally:
            unmount(where)


CASES = {
    "late_full": late_full,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Jobs that lack something, under podprof: room in the spool, large files, memory, fork's handlers. The job ends as it does without
podprof, and what was lost is said. Run by ctest guest_scarce."""
import os
import subprocess
import sys

import jobs
from jobs import Skipped, check, keepers, run, session_of, wait_until


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


def limited(kib, command):
    return ["sh", "-c", f"ulimit -f {kib * 2 if SH_BLOCKS == 512 else kib}; exec \"$@\"", "sh", *command]


SH_BLOCKS = 512  # of dash's ulimit -f


def file_size(place, full):
    """Under a limit on file sizes the rings are smaller, or there is one sentence; nothing dies of SIGXFSZ but what the job sends there."""
    died = "rank 0 child died of SIGXFSZ\nrank 0 is done\n"
    for kib, sentence in ((20000, None), (1000, None), (600, None), (500, "limit on file sizes"), (8, "limit on file sizes"),
                          (1, "limit on file sizes")):
        logs = place.new_logs()
        got = run(limited(kib, place.under(logs, [place.program("scarce"), "file_size"])))
        check(got.code == 0 and got.out == died, f"limit {kib} KiB: {got.told()}")
        lines = got.podprof_lines()
        if sentence:
            check(len(lines) == 1 and sentence in lines[0] and "unprofiled" in lines[0], f"limit {kib} KiB: {lines}")
        else:
            check(1 <= len(lines) <= 3 and wait_until(lambda: jobs.sessions(logs), 15), f"limit {kib} KiB: {lines}, {jobs.tree(logs)}")
            check(not any(".part" in n for n in jobs.tree(logs)), jobs.tree(logs))


def file_size_inside(place, full):
    """The rank alone has the limit, from its start on or lowered after the claim."""
    died = "rank 0 child died of SIGXFSZ\nrank 0 is done\n"
    for kib in (20000, 100, 1):
        got = run(place.under(place.new_logs(), limited(kib, [place.program("scarce"), "file_size"])))
        check(got.code == 0 and got.out == died, f"limit {kib} KiB: {got.told()}")
        check(kib > 384 or "limit on file sizes" in got.err, got.told())
    for kib in (600, 1):
        logs = place.new_logs()
        got = run(place.under(logs, [place.program("scarce"), "file_size", str(kib)]))
        check(got.code == 0 and got.out == died, f"lowered to {kib} KiB: {got.told()}")
        with h5(session_of(logs)) as f:
            check(f["step/number"].shape == (2,), f"lowered to {kib} KiB: {f['step/number'].shape}, {got.told()}")


def raw_fork(place, full):
    """Children that fork's handlers never saw write nothing into their parent's ring."""
    logs = place.new_logs()
    got = run(place.under(logs, [place.program("scarce"), "raw_fork"]))
    check(got.code == 0 and got.out == "rank 0 is done\n", got.told())
    session = session_of(logs)
    with h5(session) as f:
        steps, names = list(f["step/number"][()]), [n.decode() for n in f["op/name"][()]]
        check(steps == list(range(8)), f"steps {steps}: {got.told()}")
        check("child" not in names and "work" in names, names)
        lost = {name: f["quality"][name][()] for name in f["quality"] if "lost" in name or name == "unbalanced"}
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        text = f.read()
    check("lost" not in got.err and '"child"' not in text, f"{got.err}{lost}\n{text}")


def raw_fork_mpi(place, full):
    """The same for MPI calls of such a child."""
    logs = place.new_logs()
    got = run(place.mpirun(2, place.under(logs, [place.program("mpi_ends"), "raw_fork"])))
    check(got.code == 0, got.told())
    with h5(session_of(logs)) as f:
        names = [n.decode() for n in f["op/name"][()]]
        rows = f["op/row_op"][()] == names.index("MPI_Wait")
        check(list(f["op/calls"][()][rows]) == [1, 1], f["op/calls"][()][rows])


CASES = {
    "late_full": late_full, "file_size": file_size, "file_size_inside": file_size_inside,
    "raw_fork": raw_fork, "raw_fork_mpi": raw_fork_mpi,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

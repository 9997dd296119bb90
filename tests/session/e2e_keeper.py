#!/usr/bin/python3
"""Harm to the keeper and to what it reads: rings cut short while they are mapped, keepers that die, spools that are salvaged twice.
Run by ctest session_keeper."""
import glob
import os
import signal
import sys
import time

from e2e import h5, text
import jobs
from jobs import check, finish, keepers, run, session_of, start, wait_until


def lone_job(place, logs, spool, ranks=3, steps=200, options=()):
    """Ranks that mark steps and call no MPI, started by mpirun; returned once each has a ring and its keeper is up."""
    command = [place.program("lone"), "busy"]
    job = start(place.mpirun(ranks, place.under(logs, command, "--spool", spool, *options)), {"GUEST_STEPS": steps})
    check(wait_until(lambda: len(glob.glob(spool + "/*.ring")) == ranks and keepers(spool), 20), "the job did not start")
    return job


def kill_keeper(spool):
    pid = keepers(spool)[0]
    os.kill(pid, signal.SIGKILL)
    check(wait_until(lambda: not keepers(spool), 10), "the keeper lives")


def cut_live(place, full):
    """Rank 1's ring is cut short while keeper and rank have it mapped, its control page too: the rank dies as the kernel says, the keeper writes
    what it has of all ranks, and names rank 1."""
    for size in (0, 100, 5000, 256 * 1024 + 1000):
        spool, logs = os.path.join(place.scratch, f"cut{size}"), place.new_logs()
        job = lone_job(place, logs, spool)
        time.sleep(0.3)
        os.truncate(glob.glob(spool + "/rank-1-*.ring")[0], size)
        if size == 5000:
            os.truncate(spool + "/control", 0)
        got = finish(job)
        check(not got.timed_out, got.told())
        session = session_of(logs)
        with h5(session) as f:
            check(len(f["worker/rank"]) == 3, f["worker/rank"][()])
            causes = [text(c) for c in f["quality/cause"][()]]
            lost = f["quality/dropped"][()][:, causes.index("ring_cut")]
            check(lost[1] >= 1 and not lost[0] and not lost[2], f"{size}: {lost}")
            check(any("cut the ring file short" in text(w) for w in f["quality/warning"][()]), f["quality/warning"][()])
        check(wait_until(lambda: not os.path.exists(spool), 20), f"{size}: the keeper did not end")


def cut_left(place, full):
    """The same in the spool of a dead job: salvage reads the others and counts the one that was cut."""
    spool, logs, out = os.path.join(place.scratch, "left"), place.new_logs(), place.new_logs()
    job = lone_job(place, logs, spool)
    time.sleep(0.2)
    kill_keeper(spool)
    check(finish(job).code == 0, "the job did not end by itself")
    os.truncate(glob.glob(spool + "/rank-1-*.ring")[0], 256 * 1024 + 100)
    os.truncate(glob.glob(spool + "/rank-2-*.ring")[0], 1000)
    got = run([place.podprof(), "salvage", spool, "-o", out])
    check(got.code == 0 and "ring file cut short while rank 1 recorded" in got.err, got.told())
    with h5(session_of(out)) as f:
        said = [text(w) for w in f["quality/warning"][()]]
        check([w for w in said if "rank-2-" in w and "shorter than its header" in w], said)
        check([text(s)[:7] for s in f["worker/status"][()]] == ["salvage", "salvage", "missing"], f["worker/status"][()])


CASES = {"cut_live": cut_live, "cut_left": cut_left}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Keepers that have no processor for a while, where two of them are one job's: what was recorded is in its one session. Run by ctest
session_stalls."""
import glob
import os
import signal
import sys
import time

from e2e_hosts import good, status
import jobs
from jobs import check, finish, sessions, start, wait_until


def late_keeper(place, full):
    """The second keeper has no processor until its rank is over: it is heard all the same."""
    logs, began = place.new_logs(), []
    for rank in range(2):
        env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "late"}
        spool = os.path.join(place.scratch, f"late{rank}")
        program = ["sh", "-c", f": >{spool}-begun; sleep 0.5; exec {place.program('steps')} 20 10"]
        began.append(start(place.under(logs, program, "--spool", spool, "--steps", "3:8"), env))
    check(wait_until(lambda: os.path.exists(spool + "-begun"), 20), "the job does not begin")  # its keeper is up
    keeper = jobs.keeper_of(spool)
    jobs.freeze(keeper)
    check(wait_until(lambda: glob.glob(spool + "/rank-1-*.ring"), 5), "no ring")
    time.sleep(1)
    os.kill(keeper, signal.SIGCONT)
    for one in began:
        good(finish(one))
    found = sessions(logs)
    check(len(found) == 1, jobs.tree(logs))
    check(status(found[0]) == ["delivered"] * 2, status(found[0]))


def share_given(place, full):
    """The second keeper has no processor from when its share was sent until rank 0's has gone: it writes no session of its own."""
    logs, began = place.new_logs(), []
    spools = [os.path.join(place.scratch, f"given{rank}") for rank in range(2)]
    for rank, spool in enumerate(spools):
        env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "given"}
        began.append(start(place.under(logs, [place.program("steps"), "30", "10"], "--spool", spool), env))
    check(wait_until(lambda: all(jobs.keepers(s) for s in spools), 5), "no keeper")
    first, second = (jobs.keepers(s)[0] for s in spools)
    try:
        wait_until(lambda: glob.glob(spools[1] + "/share-*"), 20, 0.0005)
        jobs.freeze(first)
        time.sleep(0.5)
        jobs.freeze(second)
        os.kill(first, signal.SIGCONT)
        wait_until(lambda: began[0].poll() is not None, 2)  # where it has no share yet it waits for the second
        time.sleep(0.2)
    finally:
        for keeper in set(jobs.keepers("/given")) & {first, second}:
            os.kill(keeper, signal.SIGCONT)
    for one in began:
        good(finish(one))
    check(len(sessions(logs)) == 1 and status(sessions(logs)[0]) == ["delivered"] * 2, jobs.tree(logs))


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (late_keeper, share_given)}, __doc__))

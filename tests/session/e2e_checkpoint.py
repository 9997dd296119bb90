#!/usr/bin/python3
"""A job under DMTCP that writes checkpoints while podprof records it, and starts again from the last one. Run by ctest session_checkpoint; skipped
where there is no dmtcp_launch (DMTCP is in few distributions; podprof knows nothing about it)."""
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402
from claim import workers  # noqa: E402
from jobs import Skipped, check, run, session_of  # noqa: E402


def dmtcp(place, full):
    """The first run is recorded; the second one ends like a job without podprof, and records nothing."""
    if not shutil.which("dmtcp_launch"):
        raise Skipped("no dmtcp_launch here")
    here, logs, spool = os.path.join(place.scratch, "checkpoints"), place.new_logs(), os.path.join(place.scratch, "spool")
    os.mkdir(here)
    launch = ["dmtcp_launch", "--new-coordinator", "--coord-port", "0", "--ckptdir", here, "--interval", "1"]
    got = run(place.under(logs, [*launch, place.program("arrival"), "steps", "30", "100"], "--spool", spool), cwd=here)
    check(got.code == 0 and got.out == "rank 0 ends\n", got.transcript())
    check(sorted(workers(session_of(logs))) == [0], got.transcript())
    images = glob.glob(here + "/*.dmtcp")
    check(images, jobs.tree(here))
    again = run(["dmtcp_restart", "--new-coordinator", "--coord-port", "0", *images], cwd=here)
    check(again.code == 0 and "rank 0 ends" in again.out, again.transcript())
    check(len(jobs.sessions(logs)) == 1, jobs.tree(logs))


if __name__ == "__main__":
    sys.exit(jobs.main({"dmtcp": dmtcp}, __doc__))

#!/usr/bin/python3
"""Scripts that start their ranks themselves: by torch.multiprocessing, by fork, by starting the script again. Run by ctest torch_spawn."""
import os
import sys

import torchjobs as tj
from e2e import h5, read
from jobs import check, session_of


def ranks(place, how, steps=12):
    logs = place.new_logs()
    got = tj.run(place.under(logs, tj.python(tj.script("spawned.py"), how)), limit=120)
    check(got.code == 0 and got.out == "trained\n", got.transcript())
    check("on 2 of 2 ranks, 1 host" in got.err, got.transcript())
    session = session_of(logs)
    tj.check_session(session, 2, range(steps))
    with h5(session) as f:
        check(sorted(f["worker/rank"][()]) == [0, 1], f["worker/rank"][()])
        check(len(set(f["worker/pid"][()])) == 2, f["worker/pid"][()])
        joined = [int(n) for n in f["collective/workers"][()]] if "workers" in f["collective"] else []
        check(not joined or max(joined) == 2, joined)
    return got, session


def spawn(place, full):
    """The children have no variables: number and size are those of the process group. The process that starts them is no rank."""
    ranks(place, "spawn")
    if full:
        ranks(place, "forkserver")


def scripts(place, full):
    """The first process is rank 0, and starts the script again with LOCAL_RANK=1."""
    ranks(place, "scripts")


def fork(place, full):
    """Children that are forked, and leave by _exit()."""
    ranks(place, "fork")


def part(place, full):
    """One of two ranks is not recorded: the session knows of it by the size of the group, which it names."""
    logs = place.new_logs()
    got = tj.run(place.under(logs, tj.python(tj.script("spawned.py"), "part")), limit=120)
    check(got.code == 0 and "on 1 of 2 ranks" in got.err and "rank 1" in got.err, got.transcript())
    summary = read(session_of(logs), "summary.txt")
    check("1 of 2 ranks of the group 'default_pg' are not recorded" in summary, summary)


def first(place, full):
    """The process that starts them has recorded before: it is left out, the quality table says so, and nobody waits for it."""
    got, session = ranks(place, "first")
    check(got.seconds < 60 and "still writing" not in got.err and "has no keeper" not in got.err, got.transcript())
    check("is not a rank" in read(session, "summary.txt"), read(session, "summary.txt"))


def late(place, full):
    """A child has recorded before it has a number: that is of its rank."""
    ranks(place, "late")


def helpers(place, full):
    """Helper processes with their rank's variables, which are in process groups too: the ranks are those of torchrun."""
    logs = place.new_logs()
    job = place.under(logs, tj.torchrun(2, tj.script("helpers.py")))
    got = tj.run(job, {"HELPERS_STORE": os.path.join(place.scratch, "store")}, limit=180)
    check(got.code == 0 and "on 2 of 2 ranks, 1 host" in got.err, got.transcript())
    tj.check_session(session_of(logs), 2, range(12), tj.OPTIMIZER)
    check("is not a rank" not in read(session_of(logs), "summary.txt"), read(session_of(logs), "summary.txt"))


CASES = {f.__name__: f for f in (spawn, scripts, fork, part, first, late, helpers)}

if __name__ == "__main__":
    sys.exit(tj.main(CASES, __doc__))

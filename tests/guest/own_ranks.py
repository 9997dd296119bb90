#!/usr/bin/python3
"""Programs that start their ranks themselves, without MPI and without a process group: which process is which rank, by the variables that it
has and its parent has not. Run by ctest guest_own_ranks."""
import os
import sys
import tempfile

import jobs
from jobs import check, run, session_of


def printed(session):
    import h5py
    with h5py.File(os.path.join(session, "pod.h5"), "r") as f:
        steps = f["breakdown/present"][()].sum(axis=0)
        ranks = {int(r): int(n) for r, n in zip(f["worker/rank"][()], steps) if n}
        return ranks, [w.decode() if isinstance(w, bytes) else w for w in f["quality/warning"][()]]


def job(place, program, words, ranks, env=None, said=None, whole=True, options=()):
    """The ranks have all their steps; `said`: what /quality says besides, None: nothing."""
    logs = place.new_logs()
    base, got = (run(command, {"OWN_MEET": tempfile.mkdtemp(dir=place.scratch), **(env or {})})
                 for command in ([*program, *words], place.under(logs, [*program, *words], *options)))
    check(got.code == base.code == 0 and got.out == base.out and not got.other_err(), f"{words} {env}: {got.transcript()}\nbase: {base.transcript()}")
    found, warnings = printed(session_of(logs))
    check(found == {rank: 6 for rank in ranks}, f"{words} {env}: steps by rank {found}, {warnings}\n{got.transcript()}")
    mine = [w for w in warnings if "rank" in w and ("process" in w or "claimed" in w or "is not a rank" in w)]
    check(len(mine) == (said is not None) and (not said or said in mine[0]), f"{words} {env}: {warnings}")
    if whole:
        check(f"on {len(ranks)} of {len(ranks)} rank" in got.err, f"{words} {env}: {got.transcript()}")


def in_c(place, *words, **more):
    job(place, [place.program("own_ranks")], words, **more)


def in_python(place, *words, **more):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "launchers", "python")
    job(place, [jobs.PYTHON, "-B", place.script("own_ranks_job.py")], words, env={"PYTHONPATH": path}, **more)


def forked(place, full):
    """Children that change the variable after the fork are ranks; the parent, which marks nothing, is none."""
    for variable in ("RANK", "LOCAL_RANK", "PMIX_RANK"):
        in_c(place, "fork", variable, "0", "1", ranks=[0, 1])
    in_c(place, "fork", "RANK", "1", "2", "0", ranks=[0, 1, 2])


def executed(place, full):
    """The same for programs that are started with it."""
    for variable in ("RANK", "LOCAL_RANK", "PMIX_RANK"):
        in_c(place, "exec", variable, "0", "1", ranks=[0, 1])


def parent_is_rank_0(place, full):
    """The parent has no number and marks: it is rank 0 where no other process is, whatever order."""
    for how in ("fork first", "exec first"):
        in_c(place, how, "LOCAL_RANK", "1", ranks=[0, 1], said=None)
    in_c(place, "fork beside", "RANK", "1", "2", ranks=[0, 1, 2])


def parent_waits_for_child(place, full):
    """A rank that has started another one waits for its end: so that one does not wait for files. The job would last longer than its limit."""
    for how in ("fork first", "exec first"):
        in_c(place, how, "RANK", "1", "2", ranks=[0, 1, 2], options=("--wait", "300"))


def parent_is_none(place, full):
    """It marks before, and then a child is rank 0: what it recorded is left out, and said."""
    for how in ("fork first", "exec first"):
        in_c(place, how, "RANK", "0", "1", ranks=[0, 1], said="is not a rank")


def workers(place, full):
    """Children with their parent's number are no ranks: workers, and helper programs, whether they begin to mark before it or after."""
    for how in ("fork first same", "exec first same"):
        in_c(place, how, "RANK", "0", "1", ranks=[0])
        in_c(place, how, "RANK", "0", "1", ranks=[1], env={"RANK": 1, "WORLD_SIZE": 2}, whole=False)
    in_c(place, "fork first", "RANK", "0", "0", ranks=[0], env={"RANK": 0, "WORLD_SIZE": 1})


def twice(place, full):
    """Two children at once that both say that they are rank 0: one is."""
    in_c(place, "fork", "RANK", "0", "0", ranks=[0])
    in_c(place, "exec first", "RANK", "0", "0", ranks=[0], said="is not a rank")


def below_a_launcher(place, full):
    """One task of a batch system, which starts the ranks: its own variable says 0 of 1."""
    env = {"SLURM_PROCID": 0, "SLURM_NTASKS": 1, "SLURM_TASKS_PER_NODE": 1, "WORLD_SIZE": 2}
    for how in ("fork", "exec"):
        in_c(place, how, "RANK", "0", "1", ranks=[0, 1], env=env)


def python(place, full):
    """Plain Python, by each way to start a process."""
    for start in ("fork", "spawn", "forkserver", "subprocess"):
        in_python(place, start, "RANK", "0", "1", ranks=[0, 1])
    in_python(place, "fork_by_hand", "RANK", "0", "1", ranks=[0, 1], whole=False)  # by _exit(): nobody is left to say it
    in_python(place, "fork", "LOCAL_RANK", "1", "0", ranks=[0, 1])


def renumbered(place, full):
    """Both take themselves for rank 0 until their process group says otherwise, and rank 1 learns it first."""
    in_python(place, "groups", "0", "1", ranks=[0, 1])


CASES = {f.__name__: f for f in (forked, executed, parent_is_rank_0, parent_waits_for_child, parent_is_none, workers, twice, below_a_launcher, renumbered, python)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

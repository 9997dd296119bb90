#!/usr/bin/python3
"""A training job goes in, a session comes out: the files, their shapes, exact sums, and who waited for whom. Run by ctest session_train."""
import os
import sys

from e2e import check_dataset, good, h5, median, read, text, train, xspaces
import jobs
from jobs import check, session_of


def train8(place, full):
    """Steps 10..19 on eight ranks; every file there, nothing half-written, two lines on stderr."""
    logs = place.new_logs()
    got = train(place, logs, words=["--steps", "40"], options=["--steps", "10:20"])
    good(got)
    check("10..19" in got.podprof_lines()[0] and "8 of 8" in got.podprof_lines()[0], got.podprof_lines())
    found = jobs.sessions(logs)
    check(len(found) == 1, f"the session is not there when the job is over: {jobs.tree(logs)}")
    session = found[0]
    check_dataset(session, workers=8, steps=range(10, 20))
    check(sorted(os.listdir(session)) == ["pod.h5", "report.html", "summary.txt"], os.listdir(session))
    host = os.uname().nodename
    check(xspaces(logs, session) == [f"{host}.xplane.pb"], xspaces(logs, session))
    check(os.path.getsize(os.path.join(logs, "plugins", "profile", os.path.basename(session), f"{host}.xplane.pb")) > 10000, "XSpace size")
    check(not any(".part" in n for n in jobs.tree(logs)), jobs.tree(logs))
    with h5(session) as f:
        present = f["breakdown/present"][()]
        check(present.all(), f"{int((present == 0).sum())} cells are absent")
        share = f["breakdown/exclusive_ns"][()].sum(axis=(0, 1))
        check(share[9] > 0 and share[3] > 0, f"no communication or no compute: {share}")
        ops = f["collective"]
        check(len(ops["event"] if "event" in ops else ops["sequence"]) >= 10, "collectives are missing")
        check(int(f.attrs["ranks_asked"]) == 8 and int(f.attrs["ranks_delivered"]) == 8, "ranks delivered")
        check({text(s) for s in f["worker/status"][()]} == {"delivered"}, f["worker/status"][()])
        check({text(s) for s in f["worker/step_rule"][()]} == {"podprof_step"}, f["worker/step_rule"][()])


def slow_rank(place, full):
    """Rank 3 sleeps 60 ms a step, longer than any other waits for a core: the seven others wait, it does not."""
    logs = place.new_logs()
    got = train(place, logs, words=["--steps", "24", "--slow-rank", "3", "--slow-us", "60000"], options=["--steps", "4:20"])
    good(got)
    session = session_of(logs)
    check_dataset(session, workers=8, steps=range(4, 20))
    with h5(session) as f:
        wait = f["breakdown/wait_ns"][()].clip(0)
        others = [median(wait[:, r]) for r in range(8) if r != 3]
        check(median(others) > 37_500_000, f"the others' median waits {others}")
        check(min(others) > 22_500_000, f"somebody did not wait: {others}")
        mine = median(wait[:, 3])
        check(mine <= 0.1 * median(others), f"rank 3 waited {mine}, the others {others}")
    check("rank 3" in read(session, "summary.txt"), read(session, "summary.txt"))


def mpi4py_whole_run(place, full):
    """A program that marks no step, and none is asked for: one step; where its collectives are most of the time (a busy machine), their pattern,
    and a line that says so."""
    logs = place.new_logs()
    script = os.path.join(place.examples, "mpi4py_train", "mpi4py_train.py")
    got = jobs.run(place.mpirun(4, place.under(logs, [jobs.PYTHON, script, "--steps", "30"])))
    check(got.code == 0, got.transcript())
    session, is_pattern = session_of(logs), "no step marks: steps are a repeating pattern" in got.err
    check_dataset(session, workers=4)
    with h5(session) as f:
        check((f["breakdown/step"].shape == (1,)) != is_pattern, f"{f['breakdown/step'].shape} steps: {got.err}")
        check(f["breakdown/exclusive_ns"][()][:, :, 9].all(), "communication of some rank is missing")


def mpi4py_pattern(place, full):
    """The example of a job that marks no step in docs/capture.md finds its steps."""
    logs = place.new_logs()
    script = os.path.join(place.examples, "mpi4py_train", "mpi4py_train.py")
    command = [jobs.PYTHON, script, "--normalise"]
    got = jobs.run(place.mpirun(4, place.under(logs, command, "--steps", "22:27")))
    check(got.code == 0 and "pattern of 2 collectives" in got.err, got.transcript())
    check_dataset(session_of(logs), workers=4, steps=range(22, 27))


def outer(place, full):
    """podprof run -- mpirun: the same from outside."""
    logs = place.new_logs()
    program = os.path.join(place.bin, "c_mpi_train")
    checkpoint = os.path.join(place.scratch, "checkpoint")
    command = place.mpirun(4, [program, "--steps", "30", "--checkpoint", checkpoint])
    got = jobs.run(place.under(logs, command, "--steps", "10:20"))
    good(got)
    check_dataset(session_of(logs), workers=4, steps=range(10, 20))


def without_steps(place, full):
    """No window asked: the last steps that fit the buffer, here all."""
    logs = place.new_logs()
    got = train(place, logs, ranks=4, words=["--steps", "25"])
    good(got)
    session = session_of(logs)
    check_dataset(session, workers=4)
    with h5(session) as f:
        numbers = [int(n) for n in f["breakdown/step"][()]]
        check(len(numbers) >= 20 and numbers == sorted(numbers), numbers)


def small_buffer(place, full):
    """A window buffer that holds only some of the steps: the last ones are kept, and the rest is said."""
    logs = place.new_logs()
    got = train(place, logs, ranks=4, words=["--steps", "3000"], options=["--window-buffer", "1M"])
    check(got.code == 0 and not got.other_err(), got.transcript())
    session = session_of(logs)
    check_dataset(session, workers=4)
    with h5(session) as f:
        numbers = [int(n) for n in f["breakdown/step"][()]]
        check(0 < len(numbers) < 3000, f"{len(numbers)} steps were kept in 1 MiB")
        check(numbers[-1] >= 2990, f"the last step kept is {numbers[-1]}")


def per_rank(place, full):
    """--xspace=rank: one file a rank, named host-rankNNNN."""
    logs = place.new_logs()
    got = train(place, logs, ranks=4, words=["--steps", "30"], options=["--steps", "10:20", "--xspace", "rank"])
    good(got)
    session = session_of(logs)
    host = os.uname().nodename
    check(xspaces(logs, session) == [f"{host}-rank{r:04d}.xplane.pb" for r in range(4)], xspaces(logs, session))


def named_twice(place, full):
    """Two jobs into one log directory give two sessions; a name given is the name."""
    logs = place.new_logs()
    for _ in range(2):
        good(train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10"]))
    check(len(jobs.sessions(logs)) == 2, jobs.tree(logs))
    good(train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10", "--session", "mine"]))
    check("mine" in [os.path.basename(s) for s in jobs.sessions(logs)], jobs.sessions(logs))


def killed_in_window(place, full):
    """SIGKILL of one rank inside the window: its steps before are in the session, its status says so."""
    logs = place.new_logs()
    got = jobs.run(place.mpirun(4, place.under(logs, [place.program("lone"), "busy"], "--steps", "20:80")), {"GUEST_KILL_RANK": 1})
    check(got.code == 137, got.transcript())
    session = session_of(logs)
    check_dataset(session)
    with h5(session) as f:
        ranks = [int(r) for r in f["worker/rank"][()]]
        check(1 in ranks, f"rank 1 is not among {ranks}")
        status = text(f["worker/status"][()][ranks.index(1)])
        check(status != "delivered", f"rank 1's status is {status}")


CASES = {
    "train8": train8, "slow_rank": slow_rank, "mpi4py_whole_run": mpi4py_whole_run, "mpi4py_pattern": mpi4py_pattern,
    "outer": outer, "without_steps": without_steps, "small_buffer": small_buffer, "per_rank": per_rank, "named_twice": named_twice,
    "killed_in_window": killed_in_window,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

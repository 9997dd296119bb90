#!/usr/bin/python3
"""podprof hang beside jobs that hang in many ways, and beside jobs that do not. Run by ctest session_hang."""
import glob
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))

import jobs  # noqa: E402
from e2e import h5, read, text  # noqa: E402
from hosts import Hosts  # noqa: E402
from jobs import check, finish, run, session_of, start, wait_until  # noqa: E402

WORLD = "MPI_COMM_WORLD"


class Hung:
    """A job of tests/guest/hangs.c, looked at until it is stuck; ended by SIGTERM."""

    def __init__(self, place, how, *options, mpirun=()):
        self.place, self.logs = place, place.new_logs()
        self.process = start(place.mpirun(4, place.under(self.logs, [place.program("hangs"), how], *options), *mpirun))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        finish(self.process)

    def look(self):
        got = run([self.place.podprof(), "hang", "--json", "--after", "1s", self.logs])
        check(got.code in (0, 1, 4, 5), got.transcript())
        if got.code == 1:
            return None
        found = json.loads(got.out)["jobs"]
        check(len(found) == 1 and not got.err, got.transcript())
        check(got.code == (4 if found[0]["stuck"] else 5 if found[0]["unseen"] else 0), got.transcript())
        return found[0]

    def stuck(self, wanted):
        """Until so many are stuck: ranks do not arrive at once."""
        found = wait_until(lambda: (lambda f: f if f and f["stuck"] == wanted else None)(self.look()), 40)
        check(found, f"never {wanted} ranks stuck; last: {self.look()}")
        return found

    def text(self):
        got = run([self.place.podprof(), "hang", "--after", "1s", self.logs])
        check(got.code == 4 and not got.err and len(got.out.splitlines()) < 40, got.transcript())
        return got.out


def op(found, call, comm=WORLD):
    some = [o for o in found["operations"] if o["call"] == call and o.get("communicator_name") == comm and o["stuck"]]
    check(len(some) == 1, f"{call} on {comm}: {found['operations']}")
    return some[0]


def loop(place, full):
    """Rank 3 loops in the application, while nothing is recorded: the window is over."""
    with Hung(place, "loop", "--steps", "5:8") as job:
        found = job.stuck(3)
        one = op(found, "MPI_Allreduce")
        check(one["sequence"] == 20 and one["size"] == 4 and one["in"] == [0, 1, 2] and one["not_in"] == [3] and one["since_ns"] >= 1e9, one)
        check(found["causes"] == [3] and not found["deadlock"] and not found["unsure"], found)
        three = found["ranks"][3]
        check(three["at"] == "application" and three["step"] == 19 and three["last_call"] == "MPI_Allreduce" and three["sequence"] == 19, three)
        text = job.text()
        check("MPI_Allreduce number 20 of MPI_COMM_WORLD: the first rank waits for " in text and "in it: 3 of 4 ranks (0-2)" in text, text)
        check("First cause: rank 3, which" in text and "last call MPI_Allreduce number 19 of MPI_COMM_WORLD, step 19" in text, text)


def skip(place, full):
    """Rank 2 leaves out a sum: its barrier meets the others' sum."""
    with Hung(place, "skip") as job:
        one = op(job.stuck(4), "MPI_Allreduce")
        check(one["mismatch"] == "calls" and one["in"] == [0, 1, 2, 3] and one["not_in"] == [], one)
        text = job.text()
        check("ranks 0-1, 3: MPI_Allreduce\n" in text and "rank 2: MPI_Barrier\n" in text, text)


def roots(place, full):
    with Hung(place, "roots", "--steps", "5:8") as job:
        one = op(job.stuck(4), "MPI_Bcast")
        check(one["mismatch"] == "roots", one)
        text = job.text()
        check("ranks 0, 2: MPI_Bcast with root 1\n" in text and "ranks 1, 3: MPI_Bcast with root 0\n" in text, text)


def early(place, full):
    """Rank 1 is in MPI_Finalize, the others in a sum."""
    with Hung(place, "early") as job:
        found = job.stuck(4)
        check(op(found, "MPI_Allreduce")["not_in"] == [1] and found["deadlock"] == [0, 1, 2, 3], found)
        check("Rank 1 called MPI_Finalize before the others had done their last operation" in job.text(), job.text())


def crossed(place, full):
    """0 and 1 receive from each other: the ranks that wait for them are not the deadlock."""
    with Hung(place, "crossed") as job:
        found = job.stuck(4)
        check(found["deadlock"] == [0, 1] and not found["causes"], found)
        check(found["ranks"][0]["waits_for"] == [1] and found["ranks"][1]["waits_for"] == [0], found["ranks"])
        check(op(found, "MPI_Allreduce")["not_in"] == [0, 1], found)
        text = job.text()
        check("Deadlock: ranks 0-1 wait for each other" in text and "rank 0: in MPI_Recv from rank 1 on MPI_COMM_WORLD for " in text, text)


def orders(place, full):
    """Two communicators in two orders; nothing was ever recorded."""
    with Hung(place, "orders", "--delay", "1h") as job:
        found = job.stuck(4)
        check(op(found, "MPI_Allreduce")["in"] == [0, 2] and op(found, "MPI_Allreduce", "other")["not_in"] == [0, 2], found)
        check(found["deadlock"] == [0, 1, 2, 3], found)


def groups(place, full):
    """A group whose ranks are all in a call that waits for another group: neither the network nor MPI is suspected."""
    with Hung(place, "groups", "--delay", "1h") as job:
        found = job.stuck(3)
        text = job.text()
        check(found["causes"] == [3], found)
        check("it waits for processes outside of it" in text and "network" not in text and "cause: rank 3" in text, text)


def chain(place, full):
    """Through two communicators and a message to the rank that loops; a communicator of two ranks is known without a record of it."""
    with Hung(place, "chain", "--delay", "1h") as job:
        found = job.stuck(3)
        check(found["causes"] == [1] and not found["deadlock"] and found["ranks"][2]["waits_for"] == [0], found)
        one = op(found, "MPI_Allreduce", "lower half")
        check(one["size"] == 2 and one["in"] == [0] and one["not_in"] == [1], one)


def halo(place, full):
    """Waits for requests: each for the rank before it. Outside the window it is not known for whom, and 0 is suspected."""
    with Hung(place, "halo") as job:
        found = job.stuck(3)
        check(found["causes"] == [0] and not found["unsure"] and [r.get("waits_for") for r in found["ranks"]] == [None, [0], [1], [2]], found)
    with Hung(place, "halo", "--steps", "5:8") as job:
        found = job.stuck(3)
        check(found["causes"] == [0] and found["unsure"], found)
        check("Possible cause: rank 0" in job.text(), job.text())


def server(place, full):
    """A receive from any rank, when all others wait for the receiver."""
    with Hung(place, "any") as job:
        check(job.stuck(4)["deadlock"] == [0, 1, 2, 3], "no deadlock")


def stopped(place, full):
    with Hung(place, "stopped") as job:
        found = job.stuck(4)
        check(found["causes"] == [1] and found["ranks"][1]["at"] == "stopped" and op(found, "MPI_Allreduce")["not_in"] == [1], found)
        check("rank 1: stopped (process state T) for " in job.text(), job.text())


def killed(place, full):
    """The others live on, and wait for it."""
    with Hung(place, "killed", mpirun=("--enable-recovery",)) as job:
        found = job.stuck(3)
        check(found["causes"] == [2] and found["ranks"][2]["at"] == "ended" and op(found, "MPI_Allreduce")["not_in"] == [2], found)
        check("step 19" in found["ranks"][2]["text"] and "after MPI_Allreduce number 19 of MPI_COMM_WORLD" in found["ranks"][2]["text"], found)


def ended(place, full):
    """The launcher ends the others: the session has the last step and the last call of each."""
    logs = place.new_logs()
    run(place.mpirun(4, place.under(logs, [place.program("hangs"), "killed"])))
    check(wait_until(lambda: glob.glob(logs + "/podprof/*/summary.txt"), 20), jobs.tree(logs))
    session = session_of(logs)
    with h5(session) as f:
        steps, places, warnings = list(f["worker/last_step"][()]), *([text(s) for s in f[n][()]] for n in ("worker/last_place", "quality/warning"))
    check(steps == [19] * 4 and places[2] == "after MPI_Allreduce number 19 of MPI_COMM_WORLD", (steps, places))
    check(all(p == "in MPI_Allreduce number 20 of MPI_COMM_WORLD" for r, p in enumerate(places) if r != 2), places)
    check("rank 2 ended in step 19 and after MPI_Allreduce number 19 of MPI_COMM_WORLD" in warnings, warnings)
    check("ended in step 19 and in MPI_Allreduce number 20" in read(session, "summary.txt"), read(session, "summary.txt"))


def hosts(place, full):
    """Two hosts: each of their keepers is asked, the one of rank 0 and the other, which passes the question on."""
    logs = place.new_logs()
    with Hosts(place, 2) as two:
        process = start(two.on(two.front, two.mpirun(4, place.under(logs, [place.program("hangs"), "chain"], "--delay", "1h"))))

        def look(name):
            got = run(two.on(name, [place.podprof(), "hang", "--json", "--after", "2s", logs]))
            found = json.loads(got.out)["jobs"] if got.code in (0, 4) else []
            return found[0] if found and found[0]["stuck"] == 3 else None

        for name in two.names[:2]:
            found = wait_until(lambda host=name: look(host), 40)
            check(found and found["causes"] == [1] and not found["unsure"] and found["ranks"][2]["waits_for"] == [0], (name, found))
            for half, comm in enumerate(("lower half", "upper half")):
                check(op(found, "MPI_Allreduce", comm)["size"] == 2, found["operations"])
                check(op(found, "MPI_Allreduce", comm)["not_in"] == [[1], [2]][half], found["operations"])
            check(len({r["host"] for r in found["ranks"]}) == 2, found["ranks"])
        process.terminate()
        finish(process)


def keeperless(place, full):
    """A keeper that does not answer: the rings are watched."""
    with Hung(place, "loop") as job:
        job.stuck(3)
        status = json.loads(run([place.podprof(), "status", "--json", job.logs]).out)["jobs"][0]
        with open(f"/proc/{status['keeper_pid']}/cmdline", encoding="utf-8") as f:
            jobs.unguard(f.read().split("\0")[3])
        os.kill(status["keeper_pid"], signal.SIGKILL)
        found = wait_until(lambda: (lambda f: f if f and f["stuck"] == 3 else None)(job.look()), 40)
        check(found and found["causes"] == [3] and op(found, "MPI_Allreduce")["not_in"] == [3], found)


def fine(place, full):
    """A job that moves, and one whose ranks wait for one that moves."""
    for how in ("fine", "uneven"):
        with Hung(place, how) as job:
            wait_until(lambda: (lambda f: f and all(r.get("step", 0) >= 19 for r in f["ranks"]))(job.look()), 30)
            found = job.look()
            if found is None:
                continue
            check(found["stuck"] == 0 and not found["causes"] and not found["deadlock"], found)


def usage(place, full):
    logs = place.new_logs()
    got = run([place.podprof(), "hang", logs])
    check(got.code == 1 and "cannot open" in got.err, got.transcript())
    os.mkdir(logs)
    got = run([place.podprof(), "hang", logs])
    check(got.code == 1 and "no rank runs that records into" in got.err and not got.out, got.transcript())
    for words in (["--after", "soon", logs], ["--after", "0s", logs], [logs, "more"]):
        got = run([place.podprof(), "hang", *words])
        check(got.code == 64 and len(got.err.splitlines()) == 1 and not got.out, got.transcript())


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (loop, skip, roots, early, crossed, orders, groups, chain, halo, server, stopped, killed, ended, hosts, keeperless,
                                                fine, usage)}, __doc__))

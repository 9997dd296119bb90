#!/usr/bin/python3
"""podprof hang and status beside jobs that stop in collectives of NCCL, in windows and outside. NCCL and the devices are stand-ins. Run by
ctest gpu_nccl_hang."""
import json
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs
from hosts import Hosts
from jobs import Skipped, check, finish, run, start, wait_until

RANKS = 4
OUTSIDE = ("--delay", "1h")


def program(place, how):
    """The program with the stand-ins; a launcher passes on no environment of ours."""
    meet = os.path.join(place.scratch, f"meet{place.count}")
    os.mkdir(meet)
    fixture = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_devices.replay")
    return ["env", f"LD_LIBRARY_PATH={place.guest}", f"REPLAY_NCCL_DIR={meet}", f"REPLAY_FIXTURE={fixture}", place.program("nccl_stall"), how]


class Stalled:
    """A job of nccl_stall.c."""

    def __init__(self, place, how, *options):
        if not shutil.which(jobs.MPIRUN):
            raise Skipped("no mpirun")
        self.place, self.logs = place, place.new_logs()
        self.process = start(place.mpirun(RANKS, place.under(self.logs, program(place, how), *options)))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        finish(self.process)

    def look(self):
        """(exit code, the job); the keeper may not be there yet."""
        got = run([self.place.podprof(), "hang", "--json", "--after", "1s", self.logs])
        check(got.code in (0, 1, 4, 5), got.transcript())
        found = json.loads(got.out)["jobs"] if got.code != 1 else []
        return got.code, found[0] if found else None

    def until(self, wanted):
        """Until the job is as `wanted` says: ranks do not arrive at once."""
        found = wait_until(lambda: (lambda c, f: f if f and wanted(c, f) else None)(*self.look()), 40)
        check(found, f"never; last: {self.look()}")
        return found

    def stuck(self, count):
        return self.until(lambda code, found: code == 4 and found["stuck"] == count)

    def text(self, code=4):
        got = run([self.place.podprof(), "hang", "--after", "1s", self.logs])
        check(got.code == code and not got.err and len(got.out.splitlines()) < 40, got.transcript())
        check("in it:" not in got.out, got.out)  # enqueued is not in
        return got.out


def op(found, name="gradients"):
    some = [o for o in found["operations"] if o["kind"] == "nccl" and o.get("communicator_name") == name and o["stuck"]]
    check(len(some) == 1, f"{name}: {found['operations']}")
    return some[0]


def missing(place, full):
    """Rank 1 does not join; in a window, where nothing is recorded yet, and behind the window."""
    for options in ((), OUTSIDE, ("--steps", "5:8"))[:3 if full else 2]:
        with Stalled(place, "missing", *options) as job:
            found = job.stuck(3)
            one = op(found)
            check(one["call"] == "ncclAllReduce" and one["sequence"] == 20 and one["size"] == 4 and one["known"], one)
            check(one["in"] == [0, 2, 3] and one["not_in"] == [1] and one["since_ns"] >= 1e9 and "mismatch" not in one, one)
            check(found["causes"] == [1] and not found["deadlock"] and not found["unsure"], found)
            text = job.text()
            check("ncclAllReduce number 20 of gradients: a rank that has enqueued it has stood still for " in text, text)
            check("enqueued by 3 of 4 ranks (0, 2-3)" in text and "First cause: rank 1, which" in text, text)
            check("last enqueued ncclAllReduce number 19 of the left half, step 19" in text, text)


def status(place, full):
    with Stalled(place, "missing", *OUTSIDE) as job:
        job.stuck(3)
        got = run([place.podprof(), "status", job.logs])
        check(got.code == 0 and got.out.count("last enqueued ncclAllReduce number 20 of gradients") == 3, got.transcript())
        ranks = {r["rank"]: r for r in json.loads(run([place.podprof(), "status", "--json", job.logs]).out)["jobs"][0]["ranks"]}
        for rank in range(RANKS):
            comms = {c["name"]: c for c in ranks[rank]["nccl"]}
            half = "the left half" if rank < 2 else "the right half of it"
            check(set(comms) == {"gradients", "tensor parallel", half}, comms)  # the destroyed one is gone
            check(comms["gradients"]["begun"] == comms["gradients"]["ended"] == (20 if rank == 1 else 21), comms)
            check(comms["gradients"]["bytes"] == 4000 and comms["gradients"]["rank"] == rank and comms["gradients"]["size"] == 4, comms)
            check(comms[half]["begun"] == 20 and comms[half]["size"] == 2 and comms[half]["rank"] == rank % 2, comms)


def halves(place, full):
    """Communicators of their own: 2 waits for 3, 0 and 1 wait for both; 3 is the cause."""
    with Stalled(place, "halves", *OUTSIDE) as job:
        found = job.stuck(3)
        check(op(found)["not_in"] == [2, 3] and op(found, "the right half of it")["not_in"] == [3], found)
        check(found["causes"] == [3] and not found["deadlock"], found)


def crossed(place, full):
    """Two communicators in two orders."""
    with Stalled(place, "crossed", *OUTSIDE) as job:
        found = job.stuck(4)
        check(op(found)["not_in"] == [1, 3] and op(found, "tensor parallel")["not_in"] == [0, 2], found)
        check(found["deadlock"] == [0, 1, 2, 3], found)


def disagree(place, full):
    for how, kind, line in (("sizes", "sizes", "rank 1: ncclAllReduce, 2000 bytes\n"), ("calls", "calls", "rank 1: ncclBroadcast, 4000 bytes\n"),
                            ("roots", "roots", "rank 1: ncclBroadcast with root 1, 4000 bytes\n"))[:3 if full else 1]:
        with Stalled(place, how, *OUTSIDE) as job:
            one = op(job.stuck(4))
            check(one["mismatch"] == kind and one["in"] == [0, 1, 2, 3] and one["not_in"] == [] and one["sequence"] == 20, one)
            text = job.text()
            check("the ranks disagree: " in text and line in text and "ranks 0, 2-3: nccl" in text, text)


def not_known(place, full):
    """All have enqueued the same: what the device does is not known."""
    with Stalled(place, "equal", *OUTSIDE) as job:
        found = job.until(lambda code, found: code == 5 and found["unseen"] and all(r.get("step") == 19 for r in found["ranks"]))
        check(not found["causes"] and not found["stuck"], found)
        text = job.text(5)
        check("or called NCCL" in text and "whether the device has done them is not known" in text, text)


def stopped(place, full):
    """A rank that is stopped is behind, and says so."""
    with Stalled(place, "missing", *OUTSIDE) as job:
        pid = job.stuck(3)["ranks"][1]["pid"]
        os.kill(pid, signal.SIGSTOP)
        found = job.until(lambda code, found: found["ranks"][1]["at"] == "stopped")
        check(found["causes"] == [1], found)
        os.kill(pid, signal.SIGCONT)


def hosts(place, full):
    """Two hosts: each of their keepers knows the communicators of all ranks."""
    logs = place.new_logs()
    with Hosts(place, 2) as two:
        process = start(two.on(two.front, two.mpirun(RANKS, place.under(logs, program(place, "missing"), *OUTSIDE))))

        def look(name):
            got = run(two.on(name, [place.podprof(), "hang", "--json", "--after", "2s", logs]))
            found = json.loads(got.out)["jobs"] if got.code in (0, 4, 5) else []
            return found[0] if found and found[0]["stuck"] == 3 and not found[0]["unsure"] else None

        for name in two.names[:2]:
            found = wait_until(lambda host=name: look(host), 40)
            check(found and found["causes"] == [1] and op(found)["in"] == [0, 2, 3] and op(found)["size"] == 4, (name, found))
            check(len({r["host"] for r in found["ranks"]}) == 2, found["ranks"])
        process.terminate()
        finish(process)


def fine(place, full):
    with Stalled(place, "fine", *OUTSIDE) as job:
        found = job.until(lambda code, found: code == 0 and all(r.get("step", 0) >= 30 for r in found["ranks"]))
        check(not found["stuck"] and not found["causes"] and not found["deadlock"], found)


CASES = {f.__name__: f for f in (missing, status, halves, crossed, disagree, not_known, stopped, hosts, fine)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Ranks in containers (unshare: mounts, pids, host name, ipc, /dev/shm; podprof's prefix mounted elsewhere), and many jobs at once on
one host. The job is the same with podprof, the session is whole, nothing is left. Run by ctest session_containers; needs root."""
import glob
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402
from claim import workers  # noqa: E402
from jobs import Skipped, check, compare, run, session_of, sessions, start, wait_until  # noqa: E402

BOX = """[ "$1" = shared ] || mount -t tmpfs -o "mode=1777,$1" shm /dev/shm
mount -t proc proc /proc; mount --bind "$2" "$3"; [ "$4" = rw ] || { mount -o remount,ro,bind / 2>/dev/null; mount -t tmpfs none /proc/sys; }
shift 4; exec "$@"
"""


class Boxes:
    """One container a rank; all have this host's name and network, as pods of one node may."""

    def __init__(self, place, shm="size=64m", root="rw"):
        if os.geteuid() or not shutil.which("unshare"):
            raise Skipped("containers need root and unshare(1)")
        self.prefix, self.at = os.path.dirname(place.bin), os.path.join(place.scratch, "opt")
        os.makedirs(self.at, exist_ok=True)
        if subprocess.run(["unshare", "-m", "-p", "-i", "-u", "--fork", "mount", "-t", "proc", "proc", "/proc"], check=False).returncode:
            raise Skipped("no containers here")
        self.words, self.place = [shm, self.prefix, self.at, root], place

    def podprof(self, logs, command, *options):
        return [os.path.join(self.at, "bin", "podprof"), "run", "-o", logs, *options, "--", *command]

    def mpirun(self, ranks, command):
        box = ["unshare", "-m", "-p", "-i", "-u", "--fork", "--propagation", "private", "/bin/bash", "-c", BOX, "box", *self.words]
        return self.place.mpirun(ranks, [*box, *command], "--mca", "btl", "self,tcp")


def whole(place, boxes, command, ranks=2, base_command=None):
    base = run(boxes.mpirun(ranks, base_command or command))
    logs = place.new_logs()
    got = run(boxes.mpirun(ranks, boxes.podprof(logs, command)))
    wrong = compare(base, got)
    check(not wrong, "; ".join(wrong) + "\nunder podprof: " + got.transcript() + "\nbase: " + base.transcript())
    return logs, got


def own(place, full):
    """A keeper in each container; the launcher says that it is one host, and so say host name and paths. One session of all."""
    boxes = Boxes(place)
    logs, got = whole(place, boxes, [place.program("arrival"), "steps", "32", "100"], base_command=[place.program("arrival"), "steps", "1", "1"])
    check(sorted(workers(session_of(logs))) == [0, 1], f"workers {workers(session_of(logs))}: {got.transcript()}")
    check(not glob.glob(os.path.join(logs, ".podprof-*.rendezvous")), "the invitation is left")


def own_mpi(place, full):
    """The same for an MPI job: its messages go over TCP. Not long enough for keepers to meet: each rank is in a session at least."""
    if not full:
        raise Skipped("a long one")
    logs, _ = whole(place, Boxes(place), [os.path.join(place.bin, "c_mpi_train"), "--steps", "10"])
    check(wait_until(lambda: sorted(r for s in sessions(logs) for r in workers(s)) == [0, 1]), f"{jobs.tree(logs)}")


def shared(place, full):
    """Containers that share /dev/shm: one keeper, which sees their pids only through locks."""
    boxes = Boxes(place, "shared")
    logs, got = whole(place, boxes, [place.program("arrival"), "steps", "10", "50"])
    check(sorted(workers(session_of(logs))) == [0, 1], f"workers {workers(session_of(logs))}: {got.transcript()}")
    command = ["/bin/sh", "-c", '"$@"; exit $?', "x", place.program("lone"), "busy"]  # the first process of a container cannot be killed
    logs = place.new_logs()
    got = run(boxes.mpirun(3, boxes.podprof(logs, command)), {"GUEST_KILL_RANK": 2})
    check(got.code == 137, got.transcript())  # the one that was killed is seen by its lock; the job ends with it


def cramped(place, full):
    """A root that may not be written, no /proc/sys, a /dev/shm of 1 MiB: one sentence at most, and where there is a tmp a session."""
    for shm in ("size=1m", "size=64m")[:2 if full else 1]:
        boxes = Boxes(place, shm, "ro")
        _, got = whole(place, boxes, [place.program("arrival"), "steps", "6", "50"], 1)
        check(got.code == 0, got.transcript())


def many_jobs(place, full):
    """64 jobs at once into one log directory: 64 sessions, no keeper left, no spool."""
    count, logs = 64, place.new_logs()
    before = set(glob.glob(f"/dev/shm/podprof-{os.getuid()}/*"))
    running = [start(place.under(logs, [place.program("arrival"), "steps", "5", "20"])) for _ in range(count)]
    done = [jobs.finish(p, 120) for p in running]
    bad = [d.transcript() for d in done if d.code or d.out != "rank 0 ends\n"]
    check(not bad, f"{len(bad)} jobs are not the same: {bad[:2]}")
    check(wait_until(lambda: len(sessions(logs)) == count, 60), f"{len(sessions(logs))} sessions of {count}")
    pids = [list(workers(s).values()) for s in sessions(logs)]
    check(len({p for one in pids for p in one}) == count and all(len(p) == 1 for p in pids), "each session has a job of its own")
    left = wait_until(lambda: not [p for p in set(glob.glob(f"/dev/shm/podprof-{os.getuid()}/*")) - before if of(p, logs)], 30)
    check(left, "spools are left")
    others = [p for d in done for p in d.podprof_lines() if "captured" not in p and "podprof report" not in p]
    check(not others, others)


def of(spool, logs):
    try:
        with open(os.path.join(spool, "options"), encoding="utf-8") as f:
            return f"OUTPUT={logs}\n" in f.read()
    except OSError:
        return False


def two_jobs(place, full):
    """Two MPI jobs at once in one log directory: a session each, the ranks of each in it."""
    logs = place.new_logs()
    command = [place.program("mpi_ends"), "normal"]
    running = [start(place.mpirun(2, place.under(logs, command))) for _ in range(2)]
    done = [jobs.finish(p, 60) for p in running]
    check(all(d.code == 0 for d in done), done[0].transcript() + done[1].transcript())
    check(wait_until(lambda: len(sessions(logs)) == 2, 60), f"{sessions(logs)}")
    found = [workers(s) for s in sessions(logs)]
    check(all(sorted(w) == [0, 1] for w in found) and not set(found[0].values()) & set(found[1].values()), f"{found}")
    time.sleep(0.1)


def first(place, full):
    """The program is the first process of a container, to which the kernel gives orphans: of podprof run's processes it has only the keeper."""
    Boxes(place)
    look = "import glob; print(sum(') Z ' in open(p).read() for p in glob.glob('/proc/[0-9]*/stat')))"
    got = run(["unshare", "-m", "-p", "--fork", "--mount-proc", *place.under(place.new_logs(), [sys.executable, "-c", look])])
    check(got.code == 0 and got.out == "0\n", got.transcript())


CASES = {"own": own, "own_mpi": own_mpi, "shared": shared, "cramped": cramped, "many_jobs": many_jobs, "two_jobs": two_jobs, "first": first}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

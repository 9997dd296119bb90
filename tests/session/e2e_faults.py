#!/usr/bin/python3
"""Faults in jobs of two pretend hosts, four with PODPROF_LONG=1: ranks, hosts, keepers, disks. The job ends as it does without podprof, the session says what is
missing and why, no process and no spool is left. Run by ctest session_faults; the rest by PODPROF_LONG=1. Needs root."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from e2e import h5, on_this_node, text
from hosts import Hosts
import jobs
from jobs import Skipped, check, finish, run, sessions, start, wait_until

KEEPALIVE = [w for name, value in (("time", 3), ("intvl", 1), ("probes", 3)) for w in ("--mca", f"oob_tcp_keepalive_{name}", str(value))]


HOSTS = 4 if os.environ.get("PODPROF_LONG") else 2
RANKS = 2 * HOSTS


def pretend(place, **more):
    shutil.rmtree(os.path.join(place.scratch, "hosts"), ignore_errors=True)
    return Hosts(place, HOSTS, prefix="fa", **more)


def of(host):
    """Ranks of the host-th one: they go by node."""
    return [r for r in range(RANKS) if r % HOSTS == host]


def check_missing(said, host, others="delivered"):
    """The ranks of one host are missing, with the reason; those of the others are there."""
    check(len(said) == RANKS and all(said[r].startswith("missing: ") for r in of(host)), said)
    check(all(said[r].startswith(others) for r in said if r not in of(host)), said)


class Job:
    """The same job twice: bare, and under podprof; `hurt(self, with_podprof)` does the harm once it runs."""

    def __init__(self, place, hosts, words, ranks=RANKS, options=(), mpi=(), logs=None, silence=10000, program="windows", until_hurt=False):
        self.silence, self.until_hurt = silence, until_hurt
        self.place, self.hosts, self.words, self.ranks, self.options, self.mpi = place, hosts, words, ranks, options, mpi
        self.logs = logs or place.new_logs()
        self.program = os.path.realpath(place.program(program))
        self.token = f"FAULTS_JOB={self.logs}"  # other tests run the same program

    def start(self, podprof):
        if os.path.exists(self.logs + "-stop"):
            os.remove(self.logs + "-stop")
        command, env = [self.program, *self.words], ["-x", self.token, "-x", f"GUEST_STOP={self.logs}-stop"]
        if podprof:  # mpirun's own command: else ranks do not agree through MPI
            command, env = self.place.under(self.logs, command, *self.options), [*env, "-x", f"PODPROF_SILENCE_MS={self.silence}"]
        self.process = start(self.hosts.on(self.hosts.front, self.hosts.mpirun(self.ranks, command, *env, *self.mpi)))
        check(wait_until(lambda: len(self.pids()) == self.ranks, 20), "the job does not begin")
        time.sleep(0.5)

    def pids(self):
        """rank: pid of the application's processes, as the front end sees them."""
        found = {}
        for path in glob.glob("/proc/[0-9]*/environ"):
            pid = path.split("/")[2]
            try:
                words = open(path, "rb").read().split(b"\0")
                if os.readlink(f"/proc/{pid}/exe") == self.program and self.token.encode() in words:
                    found.update({int(w[21:]): int(pid) for w in words if w.startswith(b"OMPI_COMM_WORLD_RANK=")})
            except OSError:
                continue
        return found

    def both(self, hurt, limit=60.0):
        """What came of it with podprof, after it was compared."""
        results = []
        for podprof in (False, True):
            self.start(podprof)
            hurt(self, podprof)
            if self.until_hurt:
                with open(self.logs + "-stop", "w", encoding="ascii"):
                    pass
            results.append(finish(self.process, limit))
        base, got = results
        check(not got.timed_out and got.code == base.code, f"{base.transcript()}\n--- with podprof:\n{got.transcript()}")
        check(got.sorted_out() == base.sorted_out(), f"{base.transcript()}\n--- with podprof:\n{got.transcript()}")
        return got


def space(pid, name):
    try:
        return os.readlink(f"/proc/{pid}/ns/{name}")
    except OSError:
        return None


def of_host(hosts, name):
    """pid: command line, of what of podprof and of the job runs on a host."""
    mine, found = space(hosts.pids[name], "uts"), {}
    for path in glob.glob("/proc/[0-9]*"):
        pid = path.split("/")[2]
        try:
            if space(pid, "uts") == mine and os.path.basename(os.readlink(path + "/exe")) in ("podprof", "windows", "c_mpi_train"):
                found[int(pid)] = open(path + "/cmdline", "rb").read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def keeper_of(hosts, name):
    found = [pid for pid, line in of_host(hosts, name).items() if " keeper --spool " in line]
    return found[0] if found else None


def step_of(place, hosts, name, logs):
    """The step that the first rank of a host is in, by its keeper; -1 where none is."""
    got = run(hosts.on(name, [place.podprof(), "status", "--json", logs]))
    ranks = json.loads(got.out)["jobs"][0]["ranks"] if not got.code else []
    return ranks[0].get("step", -1) if ranks else -1


def nothing_left(hosts, names=None, spools=True):
    for name in names or hosts.names:
        check(wait_until(lambda n=name: not of_host(hosts, n), 20), f"processes are left on {name}: {of_host(hosts, name)}")
        if spools:
            check(wait_until(lambda n=name: not hosts.spools(n)), f"spools are left on {name}: {hosts.spools(name)}")


def statuses(session):
    with h5(session) as f:
        return {int(r): text(s) for r, s in zip(f["worker/rank"][()], f["worker/status"][()])}


def one_session(logs):
    """Rank 0's; a host that lost its way to it has one of its own."""
    found = wait_until(lambda: [s for s in sessions(logs) if not statuses(s)[0].startswith("missing: ")], 20)
    check(found, f"no session of rank 0: {jobs.tree(logs) if os.path.isdir(logs) else logs}")
    return found[0]


def by_itself(job, podprof):
    """The program does the harm."""


def rank_killed(place, full):
    """By SIGKILL, first another rank, then rank 0: mpirun ends the job; the session has all, and says who was killed."""
    with pretend(place) as hosts:
        for rank in (3, 0) if full else (0,):
            job = Job(place, hosts, ["200", "10", "killed", rank, "100"])
            job.both(by_itself)
            nothing_left(hosts)
            said = statuses(one_session(job.logs))
            check(len(said) == RANKS and "killed" in said[rank], said)
            with h5(one_session(job.logs)) as f:
                check(f["step/number"].shape[0] >= 99, f["step/number"].shape)


def rank_stopped(place, full):
    """SIGSTOP for 3 s: nothing is missing."""
    def hurt(job, podprof):
        pid = job.pids()[2]
        jobs.freeze(pid)
        time.sleep(3)
        os.kill(pid, signal.SIGCONT)

    with pretend(place) as hosts:
        job = Job(place, hosts, ["150", "10"], options=("--steps", "20:140"))
        got = job.both(hurt)
        check(got.code == 0 and f"captured on {RANKS} of {RANKS} ranks, {HOSTS} hosts" in got.err, got.transcript())
        check(set(statuses(one_session(job.logs)).values()) == {"delivered"}, statuses(one_session(job.logs)))
        nothing_left(hosts)


def host_killed(place, full):
    """With all its processes; mpirun notices the line."""
    def hurt(job, podprof):
        job.hosts.inits[1 + 1].kill()

    with pretend(place) as hosts:
        job = Job(place, hosts, ["600", "10"])
        command = ["--mca", "orte_abort_on_non_zero_status", "1"]
        job.mpi = command
        job.start(False)
        hurt(job, False)
        base = finish(job.process)
    with pretend(place) as hosts:
        job = Job(place, hosts, ["600", "10"], mpi=command)
        job.start(True)
        hurt(job, True)
        got = finish(job.process)
        # mpirun says 9 where it sees its agent go before the line, with and without podprof.
        check(base.code in (9, 205) and got.code in (9, 205) and got.sorted_out() == base.sorted_out(),
              f"{base.transcript()}\n--- with podprof:\n{got.transcript()}")
        check_missing(statuses(one_session(job.logs)), 1, "")
        nothing_left(hosts, hosts.names[:1])


def link(hosts, name, state):
    subprocess.run(["ip", "-n", hosts.switch, "link", "set", "p" + name, state], check=True)


def cut_for_a_while(place, full):
    """A line down for 2 s: the job waits, and nothing is missing."""
    def hurt(job, podprof):
        link(job.hosts, job.hosts.names[1], "down")
        time.sleep(2)
        link(job.hosts, job.hosts.names[1], "up")

    with pretend(place) as hosts:
        job = Job(place, hosts, ["200", "10"])
        got = job.both(hurt)
        check(got.code == 0 and f"captured on {RANKS} of {RANKS} ranks, {HOSTS} hosts" in got.err, got.transcript())
        nothing_left(hosts)


def cut_for_good(place, full):
    """mpirun gives up after its keep-alives; each side's keeper ends, and what rank 0's has is written."""
    if not full:
        raise Skipped("PODPROF_LONG=1")

    def hurt(job, podprof):
        time.sleep(2)  # past MPI_Init: what is on its way then can keep mpirun from seeing the cut, also without podprof
        link(job.hosts, job.hosts.names[1], "down")

    results = []
    for podprof in (False, True):
        with pretend(place) as hosts:
            job = Job(place, hosts, ["3000", "10"], mpi=KEEPALIVE)
            job.start(podprof)
            hurt(job, podprof)
            results.append(finish(job.process, 60))
            if podprof:
                check_missing(statuses(one_session(job.logs)), 1, "")
                link(hosts, hosts.names[1], "up")
                nothing_left(hosts)
    base, got = results
    check(got.code == base.code and not got.timed_out, f"{base.transcript()}\n--- with podprof:\n{got.transcript()}")


def keeper_killed(place, full):
    """Rank 0's keeper and the other one, before the window, inside it, while it writes: the job does not notice; what is left is told of,
    and podprof salvage reads it."""
    phases = {"before": 0.3, "inside": None, "writing": None} if full else {"inside": None}
    with pretend(place) as hosts:
        for which in (0, 1) if full else (0,):
            for phase, seconds in phases.items():
                def hurt(job, podprof, which=which, phase=phase, seconds=seconds):
                    if not podprof:
                        return
                    name = job.hosts.names[which]
                    if phase == "inside":  # by then one keeper is left of those that ranks started
                        check(wait_until(lambda: step_of(place, job.hosts, name, job.logs) > 80, step=0.2), "no step of the window begins")
                    pid = wait_until(lambda: keeper_of(job.hosts, name))
                    check(pid, "no keeper")
                    if phase == "writing":
                        wait_until(lambda: glob.glob(job.logs + "/podprof/*/*.part"), 20, 0.001)
                    elif seconds:
                        time.sleep(seconds)
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass

                # on busy cores a keeper is found late
                words, window = {"before": (["600", "10"], "60:590"), "inside": (["20000", "10"], "60:15000"), "writing": (["200", "10"], "60:190")}[phase]
                job = Job(place, hosts, words, options=("--steps", window, "--wait", "5"), silence=2000, until_hurt=phase == "inside")
                got = job.both(hurt)
                what = f"keeper {which} killed {phase}: {got.transcript()}"
                check(got.code == 0, what)
                nothing_left(hosts, spools=False)
                if which:
                    said = statuses(one_session(job.logs))
                    check(phase != "writing" or len(said) == RANKS, f"{what}\n{said}")
                    check(phase == "writing" or not check_missing(said, which), what)
                elif phase != "writing":
                    check("salvage" in got.err, what)
                left = hosts.spools(hosts.names[which])
                check(left or phase == "writing", "a killed keeper's spool is gone: nothing can be read of it")
                for spool in left:
                    logs = place.new_logs()
                    got = run(hosts.on(hosts.names[which], [place.podprof(), "salvage", f"/dev/shm/podprof-0/{spool}", "-o", logs]))
                    check(got.code == 0 and sessions(logs), got.transcript())
                    run(hosts.on(hosts.names[which], ["rm", "-rf", f"/dev/shm/podprof-0/{spool}"]))
                shutil.rmtree(job.logs, ignore_errors=True)


def log_directory(place, full):
    """Removed, read-only, or full while the job runs, on the host of rank 0 or another: the job's exit code and output are its own, the session has
    the events of all hosts, and a sentence says where it is."""
    ways = ("removed", "read-only", "full", "read-only-1", "removed-1") if full else ("read-only", "read-only-1")
    with pretend(place) as hosts:
        for way in ways:
            disk = os.path.join(place.scratch, "disk-" + way)
            os.mkdir(disk)
            for name in (hosts.front, *hosts.names):  # each has a view of its own: a disk of rank 0's host that is not shared
                check(run(hosts.on(name, ["mount", "-t", "tmpfs", "-o", "size=8m", "disk", disk])).code == 0, "no tmpfs")

            def hurt(job, podprof, way=way, disk=disk):
                if not podprof:
                    return
                name = job.hosts.names[way.endswith("-1")]
                words = {"removed": f"rm -rf {disk}/logs", "read-only": f"mount -o remount,ro {disk}",
                         "full": f"cat /dev/zero > {disk}/fill"}[way.removesuffix("-1")]
                run(job.hosts.on(name, ["sh", "-c", words]))

            job = Job(place, hosts, ["--steps", "150", "--work-us", "10000"], logs=disk + "/logs", program=os.path.join(place.bin, "c_mpi_train"))
            got = job.both(hurt)
            check(got.code == 0, f"{way}: {got.transcript()}")
            if way in ("read-only", "full"):
                check({"read-only": "ead-only", "full": "o space"}[way] in got.err, f"{way}: {got.transcript()}")
                shutil.rmtree(on_this_node(got, RANKS, HOSTS))
            else:  # it is made again where it was removed; those of other hosts come to that of rank 0
                listed = run(hosts.on(hosts.names[0], ["sh", "-c", f"ls {disk}/logs/podprof/*/pod.h5 {disk}/logs/plugins/profile/*/*.xplane.pb"]))
                check(listed.code == 0 and listed.out.count("\n") == 1 + HOSTS, f"{way}: {got.transcript()} {listed.out}")
            nothing_left(hosts, spools=False)
            for name in hosts.names:
                run(hosts.on(name, ["rm", "-rf", "/dev/shm/podprof-0"]))


def full_spool(place, full):
    """A /dev/shm with no room for rings, from the start on one host and in the middle on both."""
    with pretend(place, shm="size=64m") as hosts:
        for middle in (False, True) if full else (True,):
            def fill(names):
                for name in names:
                    run(hosts.on(name, ["sh", "-c", "cat /dev/zero > /dev/shm/fill"]))

            def hurt(job, podprof, middle=middle):
                if middle:
                    fill(hosts.names)

            # Without Open MPI's own use of it, which ends in SIGBUS where it is full.
            job = Job(place, hosts, ["150", "10"], mpi=("--mca", "btl", "tcp,self"))
            if not middle:
                fill(hosts.names[1:])
            got = job.both(hurt)
            check(got.code == 0, got.transcript())
            nothing_left(hosts, spools=False)
            for name in hosts.names:
                run(hosts.on(name, ["sh", "-c", "rm -rf /dev/shm/fill /dev/shm/podprof-0"]))


CASES = (rank_killed, rank_stopped, host_killed, cut_for_a_while, cut_for_good, keeper_killed, log_directory, full_spool)
SHORT = (rank_killed, keeper_killed)

if __name__ == "__main__":
    every = os.environ.get("PODPROF_LONG") or os.environ.get("PODPROF_FULL") or {f.__name__ for f in CASES} & set(sys.argv[1:])
    sys.exit(jobs.main({f.__name__: f for f in (CASES if every else SHORT)}, __doc__))

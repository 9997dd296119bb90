#!/usr/bin/python3
"""Jobs that lack something, under podprof: room in the spool, large files, memory, fork's handlers. The job ends as it does without
podprof, and what was lost is said. Run by ctest guest_scarce."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import jobs
from jobs import Skipped, check, keepers, run, session_of, wait_until


def h5(session):
    import h5py
    return h5py.File(os.path.join(session, "pod.h5"), "r")


def spool_on(place, size):
    """A file system of its own for the spool."""
    where = os.path.join(place.scratch, "small")
    os.makedirs(where, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "none", where], capture_output=True).returncode:
        raise Skipped("mounting a tmpfs needs root")
    return where


def unmount(where):
    wait_until(lambda: not keepers(where), 20)
    subprocess.run(["umount", "-l", where], capture_output=True)


def late_full(place, full):
    """The file system of the spool fills up after the ranks have claimed: no rank and no keeper dies of a page that is not there."""
    for options in ([], ["--steps", "2:4"]):
        where = spool_on(place, "4m")
        try:
            logs = place.new_logs()
            command = place.under(logs, [place.program("scarce"), "late_full", where], "--spool", os.path.join(where, "job"), *options)
            got = run(command, {"PODPROF_SIGNAL": "SIGUSR2"})
            check(got.code == 0 and got.out == "rank 0 is done\n", got.transcript())
            check("the keeper ended too early" not in got.err and "no keeper" not in got.err, got.transcript())
            check(wait_until(lambda: jobs.sessions(logs)), f"no session: {got.transcript()}")
        finally:
            unmount(where)


def limited(kib, command):
    return ["sh", "-c", f"ulimit -f {kib * 2 if SH_BLOCKS == 512 else kib}; exec \"$@\"", "sh", *command]


SH_BLOCKS = 512  # of dash's ulimit -f


def file_size(place, full):
    """Under a limit on file sizes the rings are smaller, or there is one sentence; nothing dies of SIGXFSZ but what the job sends there."""
    died = "rank 0 child died of SIGXFSZ\nrank 0 is done\n"
    for kib, sentence in ((20000, None), (1000, None), (600, None), (500, "limit on file sizes"), (8, "limit on file sizes"),
                          (1, "limit on file sizes")):
        logs = place.new_logs()
        got = run(limited(kib, place.under(logs, [place.program("scarce"), "file_size"])))
        check(got.code == 0 and got.out == died, f"limit {kib} KiB: {got.transcript()}")
        lines = got.podprof_lines()
        if sentence:
            check(len(lines) == 1 and sentence in lines[0] and "unprofiled" in lines[0], f"limit {kib} KiB: {lines}")
        else:
            check(1 <= len(lines) <= 3 and wait_until(lambda: jobs.sessions(logs)), f"limit {kib} KiB: {lines}, {jobs.tree(logs)}")
            check(not any(".part" in n for n in jobs.tree(logs)), jobs.tree(logs))


def file_size_inside(place, full):
    """The rank alone has the limit, from its start on or lowered after the claim."""
    died = "rank 0 child died of SIGXFSZ\nrank 0 is done\n"
    for kib in (20000, 100, 1):
        got = run(place.under(place.new_logs(), limited(kib, [place.program("scarce"), "file_size"])))
        check(got.code == 0 and got.out == died, f"limit {kib} KiB: {got.transcript()}")
        check(kib > 384 or "limit on file sizes" in got.err, got.transcript())
    for kib in (600, 1):
        logs = place.new_logs()
        got = run(place.under(logs, [place.program("scarce"), "file_size", str(kib)]))
        check(got.code == 0 and got.out == died, f"lowered to {kib} KiB: {got.transcript()}")
        with h5(session_of(logs)) as f:
            check(f["step/number"].shape == (2,), f"lowered to {kib} KiB: {f['step/number'].shape}, {got.transcript()}")


def few_files(place, full):
    """A rank without a free descriptor, or address space for its ring, runs unprofiled, and the one sentence says what to raise."""
    for limit, cure in (("-n 4", "ulimit -n"), ("-v 60000", "ulimit -v")):
        if place.has_asan() and "-v" in limit:
            continue
        for rest in ("", "; exit"):  # the shell becomes the program, or stays its parent
            got = run(place.under(place.new_logs(), ["sh", "-c", f"ulimit {limit}; {place.program('steps')} 20 5{rest}"]))
            check(got.code == 0 and got.out == "20 steps\n", got.transcript())
            check(wait_until(lambda: not keepers(place.scratch), 20), "a keeper stays")
            lines = got.podprof_lines()
            check(len(lines) == 1 and "not recording" in lines[0] and cure in lines[0], got.transcript())


def keeper_ends(place, full):
    """A keeper that cannot start, for want of inodes or stack, is not waited for: the sentence says that it has ended, and why."""
    command = [place.program("lone"), "normal"]
    if not place.has_asan():
        got = run(["bash", "-c", 'ulimit -s 64; exec "$@"', "x", *place.under(place.new_logs(), command)])
        check(got.code == 0 and got.podprof_lines() == ["podprof: the keeper ended at once: its stack may have 64 KiB. Raise it with 'ulimit -s'. "
                                                        "The job runs unprofiled; type 'podprof doctor' for more."], got.transcript())
    said = ""
    for inodes in range(5, 11):  # the first of its files that has none differs
        where = os.path.join(place.scratch, "few")
        os.makedirs(where, exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"nr_inodes={inodes},mode=1777", "none", where], capture_output=True).returncode:
            raise Skipped("mounting a tmpfs needs root")
        try:
            got = run(place.under(place.new_logs(), command, "--spool", os.path.join(where, "job")), {"GUEST_MARK": 1})
            check(got.code == 0 and len(got.podprof_lines()) == 1 and "did not start within" not in got.err, f"{inodes} inodes: {got.transcript()}")
            said += got.err
        finally:
            unmount(where)
    check(re.search("the keeper ended at once: .*No space left on device", said), said)


def raw_fork(place, full):
    """Children that fork's handlers never saw write nothing into their parent's ring."""
    logs = place.new_logs()
    got = run(place.under(logs, [place.program("scarce"), "raw_fork"]))
    check(got.code == 0 and got.out == "rank 0 is done\n", got.transcript())
    session = session_of(logs)
    with h5(session) as f:
        steps, names = list(f["step/number"][()]), [n.decode() for n in f["op/name"][()]]
        check(steps == list(range(8)), f"steps {steps}: {got.transcript()}")
        check("child" not in names and "work" in names, names)
        lost = {name: f["quality"][name][()] for name in f["quality"] if "lost" in name or name == "unbalanced"}
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        text = f.read()
    check("lost" not in got.err and '"child"' not in text, f"{got.err}{lost}\n{text}")


def raw_fork_mpi(place, full):
    """The same for MPI calls of such a child."""
    logs = place.new_logs()
    got = run(place.mpirun(2, place.under(logs, [place.program("mpi_ends"), "raw_fork"])))
    check(got.code == 0, got.transcript())
    with h5(session_of(logs)) as f:
        names = [n.decode() for n in f["op/name"][()]]
        rows = f["op/row_op"][()] == names.index("MPI_Wait")
        check(list(f["op/calls"][()][rows]) == [1, 1], f["op/calls"][()][rows])


class Cgroup:
    """A memory cgroup below this process's own, of either version; commands run in it by its `run`."""

    def __init__(self, mib):
        own = {}
        with open("/proc/self/cgroup", encoding="ascii") as f:
            for line in f:
                _, controllers, path = line.rstrip("\n").split(":", 2)
                own.update({c: path for c in controllers.split(",")})
        for base, limit, key in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory"), ("/sys/fs/cgroup", "memory.max", "")):
            self.path = f"{base}{own.get(key, '')}/podprof-test-{os.getpid()}"
            try:
                os.mkdir(self.path)
                with open(os.path.join(self.path, limit), "w", encoding="ascii") as f:
                    f.write(str(mib << 20))
                return
            except OSError:
                self.remove()
        raise Skipped("no memory cgroup can be made here")

    def inside(self, command):
        return ["sh", "-c", f"echo $$ > {self.path}/cgroup.procs && exec \"$@\"", "sh", *command]

    def kills(self):
        for name in ("memory.oom_control", "memory.events"):
            try:
                with open(os.path.join(self.path, name), encoding="ascii") as f:
                    return int(re.search(r"^oom_kill (\d+)", f.read(), re.M)[1])
            except OSError:
                continue
        return 0

    def remove(self):
        def gone():
            try:
                os.rmdir(self.path)
            except FileNotFoundError:
                pass
            except OSError:
                return False
            return True
        wait_until(gone, 20)


def memory(place, full):
    """In a memory cgroup of three times what the job needs nothing is killed, however many records there are."""
    if place.has_asan():
        raise Skipped("AddressSanitizer alone needs more memory")
    for mode, mib in (("memory", 60), ("memory", 120), ("memory_unmarked", 60), ("memory_unmarked", 40)):
        group = Cgroup(mib)
        try:
            logs = place.new_logs()
            got = run(group.inside(place.under(logs, [place.program("scarce"), mode, "40" if full else "12"])))
            check(got.code == 0 and got.out == "rank 0 is done\n", f"{mib} MiB: {got.transcript()}")
            check(wait_until(lambda: jobs.sessions(logs), 20), f"{mib} MiB: no session: {got.transcript()}, {jobs.tree(logs)}")
            check(group.kills() == 0, f"{mib} MiB: {group.kills()} processes killed: {got.transcript()}")
        finally:
            group.remove()


def keeper_gone(place, full):
    """Rings that nobody drains any more do not grow."""
    logs = place.new_logs()
    spool = tempfile.mkdtemp(prefix="podprof-gone-", dir="/dev/shm")
    process = jobs.start_until(place, place.under(logs, [place.program("scarce"), "keeper_gone"], "--spool", spool))
    check(wait_until(lambda: glob.glob(spool + "/rank-0-*.ring") and keepers(spool), 20), "no ring, or no keeper")

    jobs.unguard(spool)

    def none_left():
        for pid in keepers(spool):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return not keepers(spool)

    check(wait_until(none_left, 20), "a keeper goes on")  # one that had forked itself off has left another
    got = jobs.over(process)
    check(got.code == 0 and got.out == "rank 0 is done\n", got.transcript())
    size = sum(os.stat(p).st_blocks * 512 for p in glob.glob(os.path.join(spool, "*.ring")))
    shutil.rmtree(spool)
    check(size < 4 << 20, f"the ring has {size} bytes")


def many_left_over(place, full):
    """Thousands of spools of dead jobs: the next job removes the old ones that hold nothing, and runs."""
    root = f"/dev/shm/podprof-{os.getuid()}"

    def own():
        return [os.path.dirname(p) for p in glob.glob(root + "/*/options") if os.fsencode(place.scratch) in open(p, "rb").read()]

    process = jobs.start(place.under(place.new_logs(), ["sleep", "1000"]))
    spool = (wait_until(lambda: [s for s in own() if keepers(s)], 20) or [None])[0]
    check(spool, "no keeper")
    jobs.unguard(spool)
    for pid in keepers(spool):
        os.kill(pid, signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)
    jobs.finish(process)
    check(wait_until(lambda: not keepers(spool), 20), "the keeper goes on")
    left = [f"{root}/left-{i}" for i in range(10000 if full else 1000)]
    for path in left:
        shutil.copytree(spool, path, ignore=shutil.ignore_patterns("socket"))
        os.utime(path, (1e9, 1e9))
    got = run(place.under(place.new_logs(), ["true"]))
    check(got.code == 0 and not glob.glob(root + "/left-*"), f"{len(glob.glob(root + '/left-*'))} are left; {got.transcript()}")
    shutil.rmtree(spool)


def check_short(logs, count, got):
    check(got.code == 0 and got.out == "rank 0 is done\n", got.transcript())
    with h5(session_of(logs)) as f:
        op = [n.decode() for n in f["op/name"][()]].index("short")
        calls = sum(f["op/calls"][()][f["op/row_op"][()] == op])
    check(calls == 10 * count, f"{calls} of {10 * count}: {got.transcript()}")


def threads(place, full):
    """Short-lived threads take of the window buffer and of the ring what they use: none of their records is lost."""
    for count in (4000, 20000) if full else (4000,):
        logs = place.new_logs()
        got = run(place.under(logs, [place.program("scarce"), "threads", str(count)]))
        check_short(logs, count, got)


def threads_unread(place, full):
    """The same while the keeper stands still, with more threads than a ring has slots."""
    logs, spool = place.new_logs(), os.path.join(place.scratch, "unread")
    process = jobs.start_until(place, place.under(logs, [place.program("scarce"), "threads_unread", "3000"], "--spool", spool))
    check(wait_until(lambda: glob.glob(spool + "/rank-0-*.ring") and keepers(spool), 20), "no ring, or no keeper")
    keeper = jobs.keeper_of(spool)
    jobs.freeze(keeper)
    with open(process.stop, "w", encoding="ascii"):
        pass
    through = wait_until(lambda: os.path.exists(process.stop + ".through"), 60)
    os.kill(keeper, signal.SIGCONT)
    check(through, "the threads did not end")
    check_short(logs, 3000, jobs.finish(process))


COST = """
import os, resource
def child(env, limit):
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        os.execve("/bin/true", ["true"], env)
    _, status, usage = os.wait4(pid, 0)
    return status, usage.ru_minflt
bare = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
for env in (bare, dict(os.environ)):
    least = next(k for k in range(4, 16384, 4) if not child(env, k << 10)[0])
    print(least, min(child(env, -1)[1] for _ in range(20)))
"""


def lazy(place, full):
    """A process that inherits podprof and records nothing costs little memory, and few pages."""
    if place.has_asan():
        raise Skipped("the sanitizer takes memory of its own")
    got = run(place.under(place.new_logs(), [sys.executable, "-c", COST]))
    check(got.code == 0, got.transcript())
    (bare, bare_faults), (least, faults) = [[int(w) for w in line.split()] for line in got.out.splitlines()]
    check(least <= bare + 256 and faults <= bare_faults + 30, f"ulimit -d {least} KiB, bare {bare}; {faults} faults, bare {bare_faults}")
    print(f"    ulimit -d {least} KiB, bare {bare}; {faults} faults, bare {bare_faults}")


CASES = {
    "lazy": lazy,
    "late_full": late_full, "file_size": file_size, "file_size_inside": file_size_inside, "few_files": few_files, "keeper_ends": keeper_ends,
    "raw_fork": raw_fork, "raw_fork_mpi": raw_fork_mpi, "memory": memory, "keeper_gone": keeper_gone,
    "threads": threads, "threads_unread": threads_unread, "many_left_over": many_left_over,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""The faults of fault_table.py that no other driver makes: each job runs bare, then under podprof, and ends the same way. --update runs the
cases of all drivers in that table, too, and writes docs/jobs.md (--only WORDS: of the rows with these words). Run by ctest session_matrix."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

from e2e import h5, on_this_node, text
import fault_table
import jobs
from jobs import Skipped, check, finish, run, sessions, start, start_until, wait_until
from slurm import Slurm

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RANKS = 4
LONG = ["20000", "5"]  # steps and their ms, more than any harm needs: it ends by jobs.over()


class Job:
    """One job, bare or under podprof. prefix: words between podprof and the program; a shell there sees its rank."""

    def __init__(self, place, words, podprof, options=(), prefix=(), ranks=RANKS, env=None, logs=None, spool=None):
        place.count += 1
        self.place, self.podprof, self.ranks = place, podprof, ranks
        self.program = os.path.realpath(place.program("windows"))
        self.logs, self.token = logs or place.new_logs(), f"{place.scratch}/job{place.count}"
        self.spool = spool or self.token + "-spool"
        command = [*prefix, self.program, *words]
        if podprof:
            command = place.under(self.logs, command, "--spool", self.spool, *options)
        self.process = start_until(place, place.mpirun(ranks, command), {"MATRIX_JOB": self.token, **(env or {})})

    def pids(self):
        """rank: pid of the processes of the job that became its program."""
        found = {}
        for path in glob.glob("/proc/[0-9]*/environ"):
            pid = path.split("/")[2]
            try:
                words = open(path, "rb").read().split(b"\0")
                if os.readlink(f"/proc/{pid}/exe") == self.program and f"MATRIX_JOB={self.token}".encode() in words:
                    found.update({int(w[21:]): int(pid) for w in words if w.startswith(b"OMPI_COMM_WORLD_RANK=")})
            except OSError:
                continue
        return found

    def begun(self, after=0.5):
        """Once all ranks run and, under podprof, have their rings."""
        check(wait_until(lambda: len(self.pids()) == self.ranks, 20), "the job does not begin")
        if self.podprof:
            check(wait_until(lambda: len(glob.glob(self.spool + "/rank-*.ring")) == self.ranks, 20), "the ranks make no rings")
        time.sleep(after)

    def keeper(self):
        return jobs.keeper_of(self.spool)

    def writer(self):
        """The process that writes a window, standing still."""
        keeper, end = self.keeper(), time.monotonic() + 20
        while time.monotonic() < end:
            with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as f:
                child = f.read().split()
            try:
                if child:
                    jobs.freeze(int(child[0]))
                    return int(child[0])
            except ProcessLookupError:  # it was faster
                continue
        check(False, "nobody writes")

    def nothing_left(self):
        check(wait_until(lambda: not self.pids(), 20), f"ranks are left: {self.pids()}")
        check(wait_until(lambda: not jobs.keepers(self.spool), 30), f"a keeper is left: {jobs.keepers(self.spool)}")
        check(wait_until(lambda: not [n for n in jobs.tree(self.logs) if n.endswith(".part")]), jobs.tree(self.logs))


def both(place, words, hurt=None, limit=60.0, same_out=True, **more):
    """The job bare, then under podprof: (its Job, its result), after they were compared and everything of it has ended. hurt(job) is true where
    its launcher ends what is left: told to stop as well, a rank would now and then be done before that."""
    def ended(podprof):
        job = Job(place, words, podprof, **more)
        if hurt and not hurt(job):
            jobs.stop(job.process)
        harmed = time.monotonic()
        result = finish(job.process, limit)
        return job, result, time.monotonic() - harmed

    results, took = [], []
    for podprof in (False, True):
        job, result, seconds = ended(podprof)
        if "PMIx_server_finalize" in result.err:  # Open MPI's mpirun itself crashes now and then where a rank was killed
            job, result, seconds = ended(podprof)
        results.append(result)
        took.append(seconds)
    base, got = results
    what = f"{base.transcript()}\n--- under podprof:\n{got.transcript()}"
    check(not base.timed_out, "the job itself does not end: " + what)
    check(not got.timed_out and got.code == base.code and took[1] < took[0] + 15, f"{took} s after the harm, {what}")
    check(not same_out or got.sorted_out() == base.sorted_out(), what)
    job.nothing_left()
    return job, got


def statuses(session):
    with h5(session) as f:
        return {int(r): text(s) for r, s in zip(f["worker/rank"][()], f["worker/status"][()])}


def the_session(job):
    found = wait_until(lambda: sessions(job.logs), 20)
    check(len(found) == 1, jobs.tree(job.logs))
    return found[0]


def all_named(job, ranks=RANKS, steps=1):
    """A session of all ranks with at least so many steps, of which none between is missing; their statuses."""
    session = the_session(job)
    said = statuses(session)
    with h5(session) as f:
        count, numbers = f["step/number"].shape[0], list(f["breakdown/step"][()])
    check(sorted(said) == list(range(ranks)) and count >= steps, f"{count} steps, {said}")
    check(numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else not steps, numbers)
    return said


def all_there(job):
    """The same of a whole job that ended well: each rank delivered each step."""
    said = all_named(job)
    with h5(the_session(job)) as f:
        check(f["breakdown/step"][0] == 0 and (f["breakdown/present"][()] == 1).all(), f["breakdown/step"][()])
    check(set(said.values()) == {"delivered"}, said)


def before_init(place, full):
    """Rank 1 dies before its program begins; the others wait for it in MPI_Init."""
    dies = ["sh", "-c", "[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] && sleep 0.5 && kill -9 $$; exec \"$@\"", "sh"]
    job, got = both(place, ["50", "5"], prefix=dies)
    check(got.code == 137, got.transcript())


def idle(place, full):
    """A window is written, and a later one is still to come: rank 1 dies between them."""
    def hurt(job):
        job.begun()
        check(not job.podprof or wait_until(lambda: sessions(job.logs) and os.path.exists(sessions(job.logs)[0] + "/report.html")), "no first window")
        os.kill(job.pids()[1], signal.SIGKILL)
        return True

    job, got = both(place, LONG, hurt, options=("--steps", "5:10,15000:15010"))
    check(set(all_named(job, steps=5).values()) == {"delivered"}, statuses(the_session(job)))


def agreement(place, full):
    """Rank 1 stands still when rank 0 gets the signal that asks for a window of all, and is killed then."""
    def hurt(job):
        job.begun()
        pids = job.pids()
        jobs.freeze(pids[1])
        if job.podprof:
            os.kill(pids[0], signal.SIGUSR2)
            check(wait_until(lambda: "ranks agree on" in open(job.spool + "/keeper.log", encoding="utf-8").read()), "the ranks are not about to agree")
        os.kill(pids[1], signal.SIGKILL)
        return True

    job, got = both(place, LONG, hurt, options=("--signal", "USR2", "--steps", "100000:100010"))
    if sessions(job.logs):
        check(all_named(job, steps=0)[1].split(":")[0] in ("killed", "partial"), statuses(the_session(job)))
    else:
        check("no session was written" in got.err or not got.podprof_lines(), got.transcript())


def writing(place, full):
    """Rank 1 is killed while the window that it took part in is being written."""
    def hurt(job):
        if not job.podprof:
            job.begun()
            os.kill(job.pids()[1], signal.SIGKILL)
            return True
        writer = job.writer()
        try:
            os.kill(job.pids()[1], signal.SIGKILL)
            time.sleep(0.5)
        finally:
            os.kill(writer, signal.SIGCONT)
        return True

    job, _ = both(place, ["3000", "5"], hurt, options=("--steps", "20:40,2000:2010"))
    check(set(all_named(job, steps=20).values()) == {"delivered"}, statuses(the_session(job)))


def launcher_killed(place, full):
    """mpirun is killed: its ranks end when they see that."""
    def hurt(job):
        job.begun()
        os.kill(job.process.pid, signal.SIGKILL)
        ended = wait_until(lambda: not job.pids(), 20)
        for pid in job.pids().values():  # that ranks outlive mpirun is as it is without podprof
            os.kill(pid, signal.SIGKILL)
        hurt.ended.append(bool(ended))

    hurt.ended = []
    job, _ = both(place, ["3000", "5"], hurt, same_out=False)
    check(hurt.ended[0] == hurt.ended[1], f"all ranks end by themselves, bare and under podprof: {hurt.ended}")
    all_named(job, steps=5)


def term_then_kill(place, full):
    """As batch systems do it: ranks that go on at SIGTERM are killed a second later, with their launcher. It gets no SIGTERM: whether it ends
    within that second differs from run to run."""
    def hurt(job):
        job.begun()
        pids = list(job.pids().values())
        for number, at in ((signal.SIGTERM, pids), (signal.SIGKILL, [job.process.pid, *pids])):
            for pid in at:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            time.sleep(1)

    job, got = both(place, ["3000", "5"], hurt, same_out=False, prefix=["sh", "-c", "trap '' TERM; exec \"$@\"", "sh"])
    said = all_named(job, steps=5)
    check(got.code == -signal.SIGKILL and not [s for s in said.values() if s == "delivered"], f"{said}, {got.transcript()}")


def cancelled(place, full):
    """scancel of a step of Slurm; its ranks need no MPI."""
    with Slurm(place, 1, 4) as slurm:
        scancel = shutil.which("scancel")
        if not scancel:
            raise Skipped("without scancel of Slurm")
        results = []
        for podprof in (False, True):
            logs, spool = place.new_logs(), f"{place.scratch}/spool{podprof}"
            command = [place.program("steps"), "3000", "10"]
            if podprof:
                command = place.under(logs, command, "--spool", spool)
            process = start([slurm.found["srun"], "--mpi=none", "-n", "2", *command], slurm.env)
            number = wait_until(lambda: run([shutil.which("squeue"), "-h", "-t", "R", "-o", "%A"], slurm.env).out.split(), 20, 0.2)
            check(number, "the job does not begin")
            if podprof:
                check(wait_until(lambda: len(glob.glob(spool + "/rank-*.ring")) == 2, 20), "no rings")
            time.sleep(1)
            run([scancel, number[0]], slurm.env)
            results.append(finish(process, 60))
        base, got = results
        check(not base.timed_out and not got.timed_out and got.code == base.code, f"{base.transcript()}\n---\n{got.transcript()}")
        left = wait_until(lambda: sessions(logs), 20)
        if not left and os.path.isdir(spool) and not jobs.keepers(spool):  # Slurm killed the keeper, too
            made = run([place.podprof(), "salvage", spool, "-o", logs])
            check(made.code == 0, made.transcript())
        check(sessions(logs), jobs.tree(logs))
        said = statuses(sessions(logs)[0])
        check(sorted(said) == [0, 1], said)


def out_of_memory(place, full):
    """Rank 1 alone is in a memory cgroup that it overruns."""
    from scarce import Cgroup
    group = Cgroup(200)
    try:
        wrap = ["sh", "-c", f"[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] && echo $$ > {group.path}/cgroup.procs; exec \"$@\"", "sh"]
        job, got = both(place, ["3000", "5", "eats", "1", "60"], prefix=wrap)
        check(group.kills() == 2, f"{group.kills()} processes were killed of two that took too much: {got.transcript()}")
        check(all_named(job, steps=50)[1].startswith("killed: signal 9"), statuses(the_session(job)))
    finally:
        group.remove()


def stopped(place, full):
    """A rank stands still for 3 s."""
    def hurt(job):
        job.begun(0.2)
        pid = job.pids()[2]
        jobs.freeze(pid)
        time.sleep(3)
        os.kill(pid, signal.SIGCONT)

    job, got = both(place, LONG, hurt)
    check(got.code == 0, got.transcript())
    all_there(job)


def frozen(place, full):
    """The whole job stands still, as while a snapshot of its machine is taken: longer than a keeper waits for anybody in full runs."""
    def hurt(job):
        job.begun(0.2)
        pids = [job.process.pid, *job.pids().values()]
        if job.podprof:
            pids += jobs.keepers(job.spool) + jobs.keepers(job.spool, "guard")
        for pid in pids:
            jobs.freeze(pid)
        time.sleep(70 if full else 2)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    job, got = both(place, LONG, hurt, limit=120.0)
    check(got.code == 0, got.transcript())
    all_there(job)


def mounted(place, name, options="size=16m"):
    if os.geteuid():
        raise Skipped("mounting needs root")
    where = os.path.join(place.scratch, name)
    os.mkdir(where)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "disk", where], capture_output=True, check=False).returncode:
        raise Skipped("no tmpfs can be mounted here")
    return where


def unmounted(where):
    subprocess.run(["umount", "-l", where], check=False)


def logs_read_only(place, full):
    """The file system of the log directory becomes read-only while the job runs: the session is on the node instead, but not behind a link that
    was planted there, and not on a disk that is nearly full."""
    disk, planted, trap = mounted(place, "disk"), f"/var/tmp/podprof-sessions-{os.getuid()}", os.path.join(place.scratch, "trap")

    def hurt(job):
        job.begun()
        if job.podprof:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)

    def session_is_under(place_of_it):
        _, got = both(place, LONG, hurt, logs=disk + "/logs")
        check(got.code == 0 and "ead-only" in got.err, got.transcript())
        found = on_this_node(got, RANKS)
        check(found.startswith(place_of_it), found)
        shutil.rmtree(found)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)

    try:
        session_is_under("/var/tmp/")
        if not os.path.ismount("/var/tmp"):  # it is not this test's alone
            return
        os.mkdir(trap)
        os.symlink(trap, planted)
        session_is_under("/tmp/")
        check(not os.listdir(trap), os.listdir(trap))
        os.remove(planted)
        subprocess.run(["mount", "-o", "remount,size=64m", "/var/tmp"], check=True)
        subprocess.run(["head", "-c", "60M", "/dev/zero"], stdout=open("/var/tmp/fill", "wb"), check=True)
        session_is_under("/tmp/")
    finally:
        unmounted(disk)


def spool_read_only(place, full):
    """The file system of the spool is read-only from the start."""
    disk = mounted(place, "spools", "ro,size=16m")
    try:
        _, got = both(place, ["50", "5"], spool=disk + "/spool")
        check(got.code == 0 and 1 <= len(got.podprof_lines()) <= RANKS and "ead-only" in got.err, got.transcript())
    finally:
        unmounted(disk)


class Traced:
    """The keeper's calls, and those of what it forks, as strace alters them."""

    def __init__(self, place):
        self.strace = shutil.which("strace")
        if not self.strace:
            raise Skipped("no strace here: apt-get install strace")
        self.process, self.log = None, os.path.join(place.scratch, "strace")

    def attach(self, pid, what):
        self.process = subprocess.Popen([self.strace, "-f", "-qq", "-e", "trace=" + what.split(":")[0], "-e", "inject=" + what, "-o", self.log, "-p", str(pid)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not wait_until(lambda: self.process.poll() is not None or "TracerPid:\t0" not in open(f"/proc/{pid}/status").read()):
            raise Skipped("strace does not come up")
        if self.process.poll() is not None:
            raise Skipped("strace may not trace here: " + self.process.stderr.read().strip())

    def came(self):
        return "INJECTED" in open(self.log).read() or "DELAYED" in open(self.log).read()


def over_quota(place, full):
    """Every fsync() of a file fails with EDQUOT, as network file systems report it."""
    traced = Traced(place)

    def hurt(job):
        job.begun(0.1)
        if job.podprof:
            traced.attach(job.keeper(), "fsync,fdatasync:error=EDQUOT")

    job, got = both(place, LONG, hurt)
    check(traced.came(), "no call was altered")
    check(got.code == 0 and "uota" in got.err and "Free space" in got.err, got.transcript())


def slow_disk(place, full):
    """Every fsync() takes 1.5 s: ranks wait for --wait, 1 s, and the session comes later."""
    traced = Traced(place)

    def hurt(job):
        job.begun(0.1)
        if job.podprof:
            traced.attach(job.keeper(), "fsync,fdatasync:delay_enter=1500000")

    job, got = both(place, LONG, hurt, options=("--wait", "1"))
    check(traced.came(), "no call was delayed")
    check(got.code == 0, got.transcript())
    all_there(job)


class Hanging:
    """with Hanging(place) as h: h.path is a directory of a file system that answers nobody between h.hang() and h.answer()."""

    def __init__(self, place):
        self.path, self.source = os.path.join(place.scratch, "hanging"), os.path.join(place.scratch, "behind")

    def __enter__(self):
        if os.geteuid() or not shutil.which("bindfs") or not os.path.exists("/dev/fuse"):
            raise Skipped("a file system that hangs needs root, bindfs and /dev/fuse")
        os.makedirs(self.path)
        os.makedirs(self.source)
        self.daemon = start(["bindfs", "-f", self.source, self.path])
        if not wait_until(lambda: os.path.ismount(self.path) or self.daemon.poll() is not None) or self.daemon.poll() is not None:
            raise Skipped("bindfs does not mount here")
        return self

    def hang(self):
        jobs.freeze(self.daemon.pid)

    def answer(self):
        self.daemon.send_signal(signal.SIGCONT)

    def __exit__(self, *_):
        self.answer()
        run(["umount", "-l", self.path])
        finish(self.daemon)


def logs_hang_first(place, full):
    """The log directory hangs before the job begins: it runs unprofiled, and podprof says so once."""
    with Hanging(place) as h:
        words = ["50", "5"]
        base = finish(Job(place, words, False).process)
        h.hang()
        job = Job(place, words, True, logs=h.path + "/logs")
        got = finish(job.process)
        h.answer()
        check(not got.timed_out and got.code == base.code and got.sorted_out() == base.sorted_out(), got.transcript())
        check(wait_until(lambda: not jobs.tree(h.source)), f"left behind: {jobs.tree(h.source)}")
        job.nothing_left()
        said = "its file system does not answer within 5 s. The job runs unprofiled; give another directory by -o."
        check(len(got.podprof_lines()) == 1 and said in got.err, got.transcript())


def logs_hang(place, full):
    """The log directory hangs while the job runs: its end waits for --wait, 1 s; the session comes when the directory answers."""
    with Hanging(place) as h:
        base = Job(place, LONG, False)
        base.begun()
        base = jobs.over(base.process)
        job = Job(place, LONG, True, logs=h.path + "/logs", options=("--wait", "1"))
        job.begun()
        h.hang()
        got = jobs.over(job.process)
        check(got.code == base.code == 0 and got.sorted_out() == base.sorted_out(), got.transcript())
        check("still writing the session" in got.err, got.transcript())
        h.answer()
        all_there(job)
        job.nothing_left()


def logs_vanish(place, full):
    """The log directory is removed while the job runs."""
    def hurt(job):
        job.begun()
        if job.podprof:
            shutil.rmtree(job.logs)

    job, got = both(place, LONG, hurt)
    check(got.code == 0, got.transcript())
    all_there(job)


STALE, OWNER = 10000, 61007  # nobody has this number


def stale_spools(place, full):
    """Another user's job, with what so many dead ones of that user left in /dev/shm."""
    if os.geteuid() or not shutil.which("setpriv"):
        raise Skipped("another user needs root and setpriv")
    root, as_owner = f"/dev/shm/podprof-{OWNER}", ["setpriv", "--reuid", str(OWNER), "--regid", str(OWNER), "--clear-groups", "--"]
    home = os.path.join(place.scratch, "home")
    for path, count in ((home, 0), (root, STALE)):
        os.mkdir(path, 0o700)
        for i in range(count):
            os.mkdir(f"{path}/dead{i}", 0o700)
            with open(f"{path}/dead{i}/options", "w", encoding="ascii") as f:
                f.write(f"JOB=dead{i}\nOUTPUT={home}/gone\n")
            open(f"{path}/dead{i}/keeper.lock", "w", encoding="ascii").close()
            for name in ("", "/options", "/keeper.lock"):
                os.chown(f"{path}/dead{i}{name}", OWNER, OWNER)
        os.chown(path, OWNER, OWNER)
    try:
        words, logs = [place.program("steps"), "100", "10"], home + "/logs"
        base = run([*as_owner, *words])
        got = run([*as_owner, *place.under(logs, words)])
        check(base.code == got.code == 0 and base.out == got.out, got.transcript())
        check("captured on 1 of 1 rank" in got.err and sessions(logs), got.transcript())
        check(len(os.listdir(root)) >= STALE, f"{len(os.listdir(root))} spools are left of {STALE}")
        for verb in (["status", logs], ["doctor"]):
            got = run([*as_owner, place.podprof(), *verb], cwd=home)
            check(not got.timed_out and len(got.out + got.err) < 1 << 20, got.transcript())
    finally:
        wait_until(lambda: not jobs.keepers(root))
        shutil.rmtree(root, ignore_errors=True)


def page(place, full):
    """docs/jobs.md has the rows of the table and no others; the cases that it names exist."""
    with open(fault_table.page(ROOT), encoding="utf-8") as f:
        found, want = fault_table.named(f.read()), [f.fault for f in fault_table.FAULTS]
    check(found == want, f"run tests/session/e2e_matrix.py --update: {set(found) ^ set(want) or 'the order'}")
    for test in {t.removesuffix(" -f") for f in fault_table.FAULTS for t in f.tests}:
        script, _, case = test.partition(" ")
        path = os.path.join(ROOT, "tests", script + ".py")
        check(os.path.exists(path) and case in open(path, encoding="utf-8").read(), f"no case {test}")
    own = {t.split()[1] for f in fault_table.FAULTS for t in f.tests if t.startswith(fault_table.M)}
    check(own == set(CASES) - {"page"}, f"cases that no row names: {own ^ set(CASES)}")


CASES = {f.__name__: f for f in (before_init, idle, agreement, writing, launcher_killed, term_then_kill, cancelled, out_of_memory, stopped,
                                 frozen, logs_read_only, spool_read_only, over_quota, slow_disk, logs_hang_first, logs_hang, logs_vanish, stale_spools, page)}


def result_of(test, args):
    """held, skipped or failed, of a case in whatever driver."""
    script, _, case = test.removesuffix(" -f").partition(" ")
    words = [sys.executable, "-B", os.path.join(ROOT, "tests", script + ".py"), *args, *([case] if case else [])]
    env = {**os.environ, **({"PODPROF_LONG": "1"} if test.endswith(" -f") else {})}
    if script.split("/")[0] in ("torture", "security", "gpu"):  # they have programs of their own
        at = words.index("--guest") + 1
        words[at] = os.path.join(os.path.dirname(words[at]), script.split("/")[0])
    if script.startswith("torture"):
        del words[words.index("--examples"):words.index("--examples") + 2]
    try:
        got = subprocess.run(words, env=env, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return "failed: no end in 600 s"
    print(f"{test}: {got.returncode}\n{got.stdout[-1500:] if got.returncode else ''}", flush=True)
    said = got.stdout.partition("skipped: ")[2].splitlines()
    return {0: "held", jobs.SKIP: "skipped: " + (said[0] if said else "")}.get(got.returncode, "failed")


def update(args, only):
    """Runs what the rows with `only` in their names have, and writes the page's table; the other rows stay as they are."""
    with open(fault_table.page(ROOT), encoding="utf-8") as f:
        before, _, rest = f.read().partition(fault_table.BEGIN)
    old, _, rest = rest.partition(fault_table.END)
    results = {t: result_of(t, args) for t in sorted({t for f in fault_table.FAULTS for t in f.tests if only in f.fault})}
    with open(fault_table.page(ROOT), "w", encoding="utf-8") as f:
        f.write(before + fault_table.BEGIN + fault_table.table(results, only, old) + fault_table.END + rest)
    return 1 if any(r.startswith("failed") for r in results.values()) else 0


if __name__ == "__main__":
    if "--update" in sys.argv:
        words = [w for w in sys.argv[1:] if w != "--update"]
        some = words.index("--only") if "--only" in words else len(words)
        sys.exit(update([w if w.startswith("--") else os.path.abspath(w) for w in words[:some]], "".join(words[some + 1:some + 2])))
    sys.exit(jobs.main(CASES, __doc__))

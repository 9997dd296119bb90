#!/usr/bin/python3
"""What podprof must leave alone, beyond how ranks end: stdin, signals, threads, libraries that come and go, other MPIs, small spools,
bound ranks, dying keepers and ranks. Run by ctest guest_more."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

import jobs
from jobs import Skipped, check, compare, finish, keepers, run, session_of, start, wait_until


def same(place, command, ranks=4, env=None, options=(), run_options=()):
    """The job with and without podprof; the session's log directory and the run under podprof."""
    base = run(place.mpirun(ranks, command, *options), env)
    logs = place.new_logs()
    got = run(place.mpirun(ranks, place.under(logs, command, *run_options), *options), env)
    wrong = compare(base, got)
    check(not wrong, "; ".join(wrong) + "\n" + got.transcript())
    return logs, got


def quality(session):
    import h5py
    with h5py.File(os.path.join(session, "pod.h5"), "r") as f:
        return {name: f["quality"][name][()] for name in f["quality"]} if "quality" in f else {}


def h5(session):
    import h5py
    return h5py.File(os.path.join(session, "pod.h5"), "r")


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def summary(session):
    with open(os.path.join(session, "summary.txt")) as f:
        return f.read()


def threads300(place, full):
    logs, _ = same(place, [place.program("lone"), "threads"], ranks=2)
    session_of(logs)


def fork_records(place, full):
    """Forked children mark too; the session knows the steps of the rank alone."""
    logs, _ = same(place, [place.program("lone"), "fork"], ranks=2, env={"GUEST_MARK": 1})
    with h5(session_of(logs)) as f:
        check(f["worker/rank"].shape == (2,), f"workers {f['worker/rank'].shape}")


def plugin(place, full):
    program = place.program("nvtx_marks")
    if not os.path.exists(program):
        raise Skipped("no nvtx3 headers")
    logs, _ = same(place, [program, "plugin", place.program("libnvtx_plugin.so")], ranks=2)
    session_of(logs)


def nvtx_odd(place, full):
    program = place.program("nvtx_marks")
    if not os.path.exists(program):
        raise Skipped("no nvtx3 headers")
    same(place, [program, "odd"], ranks=2)


def without_wrappers(place, mpi):
    """podprof as it is installed where it was built without the headers of this MPI: its program."""
    base = os.path.join(place.scratch, f"without-{mpi}")
    built = os.path.join(os.path.dirname(place.bin), "lib")
    os.makedirs(os.path.join(base, "bin"))
    os.makedirs(os.path.join(base, "lib"))
    shutil.copy2(place.podprof(), os.path.join(base, "bin"))
    for name in os.listdir(built):
        if name != f"libpodprof-mpi-{mpi}.so":
            os.symlink(os.path.join(built, name), os.path.join(base, "lib", name))
    return os.path.join(base, "bin", "podprof")


def other_mpi(place, full):
    """An MPI for which podprof has no wrappers is passed through untouched."""
    cc, mpirun = shutil.which("mpicc.mpich"), shutil.which("mpirun.mpich")
    if not cc or not mpirun:
        raise Skipped("no MPICH")
    program = os.path.join(place.scratch, "mpich_ends")
    root = os.path.dirname(os.path.dirname(place.source))
    made = subprocess.run([cc, "-std=c11", "-D_GNU_SOURCE", "-I" + root, "-o", program, place.script("mpi_ends.c"), "-pthread", "-ldl"],
                          capture_output=True, text=True)
    check(made.returncode == 0, made.stderr)
    podprof = without_wrappers(place, "mpich")
    for mode in (["normal"], ["abort5"]):
        for _ in range(8):  # its mpirun loses the line of MPI_Abort in one of seven runs, also of a bare job
            base = run([mpirun, "-n", "2", program, *mode])
            got = run([mpirun, "-n", "2", podprof, *place.under(place.new_logs(), [program, *mode])[1:]])
            wrong = compare(base, got)
            if not wrong:
                break
        check(not wrong, "; ".join(wrong) + "\n" + got.transcript())
        printed = [line for line in got.podprof_lines() if "no wrappers for the job's MPI library" in line]
        check(len(printed) == 1 and "nothing was recorded" not in got.err, got.transcript())
    logs = place.new_logs()
    check(run([mpirun, "-n", "2", podprof, *place.under(logs, [program, "normal"])[1:]]).code == 0, "the job")
    check(any("MPI calls of 2 ranks are not recorded" in text(w) for w in quality(session_of(logs))["warning"]), "quality says nothing of MPI")
    for name in ("summary.txt", "report.html"):
        said = open(os.path.join(session_of(logs), name), encoding="utf-8").read().lower()
        check("unknown: mpi calls were not recorded, so communication and waiting are unknown" in said, f"the verdict of {name}")
        check("no rank waits" not in said, f"{name} says that no rank waits")


def left_mpi(place, full):
    """A rank that exits with 0 inside MPI does not wait for its files: the others hang until the launcher sees it end."""
    program = place.program("mpi_ends")
    base = run(place.mpirun(3, [program, "one_leaves"]))
    got = run(place.mpirun(3, place.under(place.new_logs(), [program, "one_leaves"], "--wait", "150")), limit=100)
    wrong = compare(base, got, slack=90)
    check(not wrong, "; ".join(wrong) + "\n" + got.transcript())


def spool_of(logs):
    """The spool of the keepers that write there; some of them end at once, also those of other jobs."""
    for keeper in keepers("/podprof-"):
        try:
            words = open(f"/proc/{keeper}/cmdline", "rb").read().split(b"\0")
            spool = os.fsdecode(words[words.index(b"--spool") + 1])
            if logs.encode() in open(os.path.join(spool, "options"), "rb").read():
                return spool
        except (OSError, ValueError):
            continue
    return None


def keeper_habits(place, full):
    """The keeper has neither the policy, the priority, the CPUs nor the OOM score of the command that started it."""
    before = 'echo 300 >/proc/self/oom_score_adj && exec "$@"'
    habits = ["/bin/sh", "-c", before, "x", "nice", "-n", "-5", "taskset", "-c", "0"]
    for policy, name in ((os.SCHED_FIFO, "-f"), (os.SCHED_RR, "-r"), (os.SCHED_OTHER, "-o")):
        held = [*habits, "chrt", name, "0" if name == "-o" else "7"]
        if run([*held, "true"]).code:
            raise Skipped("no real-time policy for this user")
        logs = place.new_logs()
        job = jobs.start_until(place, [*held, *place.under(logs, [place.program("steps"), "100000", "1"])])
        try:
            spool = wait_until(lambda: spool_of(logs))
            check(spool, "no keeper")
            pid = jobs.keeper_of(spool)
            score = lambda: open(f"/proc/{pid}/oom_score_adj").read().strip()
            wait_until(lambda: (os.sched_getscheduler(pid), score(), os.getpriority(os.PRIO_PROCESS, pid)) == (os.SCHED_OTHER, "500", 10), 20)
            check(os.sched_getscheduler(pid) == os.SCHED_OTHER, f"{name}: policy {os.sched_getscheduler(pid)}")
            check(score() == "500", f"oom_score_adj {score()}")
            check(os.getpriority(os.PRIO_PROCESS, pid) == 10, f"nice {os.getpriority(os.PRIO_PROCESS, pid)}")
            check(wait_until(lambda: os.cpu_count() == 1 or os.sched_getaffinity(pid) - {0}), f"CPUs {os.sched_getaffinity(pid)}")
            check(os.sched_getscheduler(job.pid) == policy, "the job lost its policy")
        finally:
            got = jobs.over(job)
        check(got.code == 0, got.transcript())


def environment(place, full):
    """The program may take its environment away before the claim, and leave a broken one before it ends."""
    for mode in ("clear", "broken"):
        logs = place.new_logs()
        got = run(place.under(logs, [place.program("odd_marks"), "environment", mode]))
        check(got.code == 0 and got.out == "marked\n", got.transcript())
        session_of(logs)
        check(len(got.podprof_lines()) == 2, got.transcript())


def uring(place, full):
    """A program whose I/O goes by io_uring: its output and results are the same, and its steps are recorded."""
    if run([place.program("uring")]).code == 77:
        raise Skipped("the kernel has no io_uring, or forbids it")
    for ranks in (1, 2):
        logs, got = same(place, [place.program("uring")], ranks)
        check(got.out == "64 blocks, sum 8519680, 0 bad\n" * ranks, got.transcript())
        with h5(session_of(logs)) as f:
            check(len(f["breakdown/step"]) == 64, f["breakdown/step"][()])


def small_spool(place, full):
    """A spool of 8 MiB: records may be lost and are counted, the job is the same, no SIGBUS."""
    spool = os.path.join(place.scratch, "spool")
    os.mkdir(spool)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=1777", "none", spool], capture_output=True).returncode:
        raise Skipped("mounting a tmpfs needs root")
    try:
        many = "2000000" if full else "200000"
        logs, _ = same(place, [place.program("odd_marks"), "many", many], run_options=["--spool", os.path.join(spool, "job")])
        session_of(logs)
        check(wait_until(lambda: not keepers(spool), 20), "a keeper goes on")
        with open(os.path.join(spool, "filler"), "wb", buffering=0) as f:  # and with no room at all
            try:
                while True:
                    f.write(b"\0" * 65536)
            except OSError:
                pass
        same(place, [place.program("odd_marks"), "many", many], run_options=["--spool", os.path.join(spool, "job2")])
    finally:
        wait_until(lambda: not keepers(spool), 20)
        subprocess.run(["umount", "-l", spool], capture_output=True)


def bound(place, full):
    """Every rank bound to a core and polling: the job ends, and about as fast."""
    command = [place.program("mpi_ends"), "normal"]
    form = lambda c: [jobs.MPIRUN, "--oversubscribe", "--bind-to", "core:overload-allowed", "-n", "4", *c]
    base = run(form(command))
    logs = place.new_logs()
    got = run(form(place.under(logs, command)))
    if base.code and not got.code == base.code:
        raise Skipped("mpirun cannot bind here")
    wrong = compare(base, got)
    check(not wrong, "; ".join(wrong) + "\n" + got.transcript())


def stdin(place, full):
    path = os.path.join(place.scratch, "input")
    with open(path, "w") as f:
        f.write("".join(f"line {i}\n" for i in range(5000)))
    for mark in (0, 1):
        with open(path) as f:
            base = run(place.mpirun(3, [place.program("lone"), "stdin"]), {"GUEST_MARK": mark}, stdin=f)
        with open(path) as f:
            got = run(place.mpirun(3, place.under(place.new_logs(), [place.program("lone"), "stdin"])), {"GUEST_MARK": mark}, stdin=f)
        wrong = compare(base, got)
        check(not wrong and "read 5000 lines" in got.out, "; ".join(wrong) + "\n" + got.transcript())
    with open(path) as f:
        got = run(place.under(place.new_logs(), [place.program("lone"), "stdin"]), stdin=f)
    check(got.code == 0 and got.out == "rank 0 read 5000 lines 53890 bytes\n" or "read 5000 lines" in got.out, got.transcript())


def signalled(commands, number, env):
    """Starts the jobs, of so many ranks, waits until these are up, sends the signal to the first process of each; their results."""
    running = [start(command, env) for command, _ in commands]
    for process, (_, ranks) in zip(running, commands):
        check(wait_until(lambda: os.pread(process.files[0].fileno(), 4096, 0).count(b"is up") == ranks), "the job does not begin")
    for process in running:
        os.kill(process.pid, number)
    return [finish(process, 40) for process in running]


def signals(place, full):
    env = {"GUEST_MARK": 1}
    for mode in ("sleep", "catch"):
        command = [place.program("lone"), mode]
        under = lambda: place.under(place.new_logs(), command)
        for number in (signal.SIGINT, signal.SIGTERM):  # under mpirun, and alone: there podprof run becomes the application
            base, got, base_alone, got_alone = signalled(
                [(place.mpirun(2, command), 2), (place.mpirun(2, under()), 2), (command, 1), (under(), 1)], number, env)
            base.out, got.out = ("\n".join(x for x in r.sorted_out() if "is up" in x) for r in (base, got))  # mpirun drops last words
            wrong = compare(base, got)
            check(not wrong, f"{mode}, signal {number}: " + "; ".join(wrong) + "\n" + got.transcript())
            wrong = compare(base_alone, got_alone)
            check(not wrong, f"{mode} alone, signal {number}: " + "; ".join(wrong) + "\n" + got_alone.transcript())


def alone(place, full):
    """Exit codes and ends of a job of one process without a launcher."""
    for mode in ("normal", "uexit", "quick", "exec", "exec_self", "main_leaves", "fork_segv", "daemon"):
        for mark in (0, 1):
            base = run([place.program("lone"), mode], {"GUEST_MARK": mark})
            got = run(place.under(place.new_logs(), [place.program("lone"), mode]), {"GUEST_MARK": mark})
            wrong = compare(base, got)
            check(not wrong, f"{mode}: " + "; ".join(wrong) + "\n" + got.transcript())


def keeper_killed(place, full):
    """The keeper dies in the middle: the job goes on and ends as ever, and soon."""
    spool = os.path.join(place.scratch, "spool-killed")
    logs = place.new_logs()
    command = [place.program("lone"), "busy"]
    base = run(place.mpirun(4, command))
    process = start(place.mpirun(4, place.under(logs, command, "--spool", spool)))
    keeper = jobs.keeper_of(spool)
    time.sleep(0.3)
    os.kill(keeper, signal.SIGKILL)
    got = finish(process)
    wrong = compare(base, got, slack=5)
    check(not wrong, "; ".join(wrong) + "\n" + got.transcript())
    check(not any(name.endswith(".part") for name in jobs.tree(logs)), "a half-written file is left")


def killed_rank(place, full):
    """A killed rank's records are in the session."""
    logs = place.new_logs()
    got = run(place.mpirun(4, place.under(logs, [place.program("lone"), "busy"])), {"GUEST_KILL_RANK": 2})
    check(got.code == 137, got.transcript())
    with h5(session_of(logs)) as f:
        ranks = list(f["worker/rank"][()])
        check(2 in ranks, f"rank 2 is not among the workers {ranks}")
        check(f["breakdown/present"].shape[0] > 5, f"{f['breakdown/present'].shape[0]} steps")
        column = ranks.index(2)
        check(f["breakdown/present"][:, column].any(), "no step of the killed rank is in the session")


def clean_end(place, full):
    """After a clean end nothing is left in the spool and no keeper lives."""
    spool = os.path.join(place.scratch, "spool-clean")
    logs = place.new_logs()
    got = run(place.mpirun(2, place.under(logs, [place.program("lone"), "normal"], "--spool", spool)), {"GUEST_MARK": 1})
    check(got.code == 0, got.transcript())
    session_of(logs)
    check(wait_until(lambda: not keepers(spool)), "the keeper lives on")
    check(not os.path.exists(spool) or not os.listdir(spool), f"left behind: {os.listdir(spool) if os.path.exists(spool) else ''}")


def silent_shell(place, full):
    """A job that is only shells and helpers: nothing of podprof in them, no session invented, no lines but podprof's."""
    logs = place.new_logs()
    got = run(place.under(logs, ["/bin/sh", "-c", "echo one | cat; exit 7"]))
    check(got.code == 7 and got.out == "one\n" and not got.other_err(), got.transcript())


def small_stacks(place, full):
    """A process becomes the rank on a stack of 16 or 8 KiB: nothing of podprof overflows it."""
    if place.has_asan():
        raise Skipped("AddressSanitizer needs larger stacks")
    for mode in ("small_stack", "signal_stack"):
        base = run([place.program("lone"), mode])
        if mode == "signal_stack" and base.code == -signal.SIGSEGV:
            continue  # this processor's registers fill the stack
        logs = place.new_logs()
        got = run(place.under(logs, [place.program("lone"), mode]))
        wrong = compare(base, got)
        check(not wrong and base.code == 0, f"{mode}: {'; '.join(wrong)}\n{base.transcript()}\n{got.transcript()}")
        session_of(logs)


def output_at_end(place, full):
    """A rank is killed while it waits for its files: what it printed is written, also what stdio left to exit()."""
    spool = os.path.join(place.scratch, "spool-output")
    process = jobs.start_until(place, place.under(place.new_logs(), [place.program("lone"), "unflushed"], "--spool", spool), {"GUEST_MARK": 1})
    check(wait_until(lambda: keepers(spool) and glob.glob(spool + "/*.ring"), 20), "the job does not begin")
    keeper = jobs.keeper_of(spool)
    jobs.freeze(keeper)
    try:
        with open(process.stop, "w", encoding="ascii"):
            pass
        out = wait_until(lambda: os.pread(process.files[0].fileno(), 100, 0), 8)  # less than --wait
        waits = process.poll() is None
        process.kill()
    finally:
        os.kill(keeper, signal.SIGCONT)
    finish(process)
    check(waits and out == b"rank 0 leaves this to exit()\n", f"the rank {'waits' if waits else 'has ended'}, {out}")


def output_unread(place, full):
    """Nobody reads stdout, or nobody any more: a rank with output in stdio's buffer waits at its end, or dies of SIGPIPE, as ever."""
    for is_gone in (True, False):
        for words in ([place.program("lone"), "unflushed"], place.under(place.new_logs(), [place.program("lone"), "unflushed"])):
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            try:
                while not is_gone:
                    os.write(writer, b"x" * 4096)
            except BlockingIOError:
                pass
            os.set_blocking(writer, True)
            if is_gone:
                os.close(reader)
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.DEVNULL,
                                       env=jobs.clean_environment({"GUEST_MARK": 1, "GUEST_STOP": "/"}))
            os.close(writer)
            if not is_gone:
                time.sleep(0.5)
                with os.fdopen(reader, "rb") as f:
                    text = f.read().lstrip(b"x")
                check(text == b"rank 0 leaves this to exit()\n", f"{words}: {text}")
            code = process.wait(30)
            check(code == (-signal.SIGPIPE if is_gone else 0), f"{words}, {'a pipe without a reader' if is_gone else 'a full pipe'}: {code}")


def stderr_unread(place, full):
    """Nobody reads stderr, or nobody any more: a job that writes nothing to it ends as ever, by no signal and not later."""
    command = [place.program("steps"), "5", "1"]
    for is_gone in (True, False):
        reader, writer = os.pipe()
        if is_gone:
            os.close(reader)
        else:
            os.set_blocking(writer, False)
            try:
                while True:
                    os.write(writer, b"x" * 4096)
            except BlockingIOError:
                os.set_blocking(writer, True)
        got = subprocess.run(place.under(place.new_logs(), command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writer,
                             env=jobs.clean_environment(), timeout=60)
        check(got.returncode == 0 and got.stdout == b"5 steps\n",
              f"{'a pipe without a reader' if is_gone else 'a full pipe'}: {got.returncode} {got.stdout}")
        os.close(writer)
        if not is_gone:
            os.close(reader)


CASES = {
    "alone": alone, "threads300": threads300, "fork_records": fork_records, "dlclose": plugin, "nvtx_odd": nvtx_odd, "other_mpi": other_mpi,
    "uring": uring, "small_spool": small_spool, "left_mpi": left_mpi, "environment": environment, "keeper_habits": keeper_habits, "bound": bound, "stdin": stdin, "signals": signals, "keeper_killed": keeper_killed,
    "killed_rank": killed_rank, "clean_end": clean_end, "silent_shell": silent_shell, "output_at_end": output_at_end, "small_stacks": small_stacks,
    "output_unread": output_unread, "stderr_unread": stderr_unread,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

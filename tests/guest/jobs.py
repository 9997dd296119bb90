"""Runs jobs for the guest and session tests: mpirun lines, time limits, comparison with the same job without podprof, sessions found.
Used by guest_table.py, guest_more.py, bad_input.py and tests/session/e2e_*.py. Standard library only."""
import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SKIP = 77
MPI_ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PYTHON = "/usr/bin/python3"
MPIRUN = shutil.which("mpirun.openmpi") or "mpirun"


# What mpirun says of MPI_Abort. Open MPI 4.1.4 replaces the notice by one of its own errors in about half of all runs, also without podprof.
ABORT_NOTICE = re.compile(r"^-{70,}\nMPI_ABORT was invoked.*?^-{70,}\n|^\[.*ORTE_ERROR_LOG: .*/show_help\.c at line \d+\n", re.M | re.S)


class Failed(Exception):
    """A check that did not hold."""


class Skipped(Exception):
    """The machine lacks what a case needs."""


def has_module(python, name):
    """Is there such a Python, and does it find the module? Nothing is imported."""
    find = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    return os.path.exists(python) and not subprocess.run([python, "-c", find, name], check=False).returncode


def check(condition, message):
    if not condition:
        raise Failed(message)


class Result:
    def __init__(self, code, out, err, seconds, timed_out):
        self.code, self.out, self.err, self.seconds, self.timed_out = code, out, err, seconds, timed_out

    def podprof_lines(self):
        return [line for line in self.err.splitlines() if line.startswith("podprof:")]

    def other_err(self):
        """Lines that are not podprof's, without what differs from run to run (pids, job ids, mpirun's notice of an abort, and of its own late
        setpgid() of a launcher that has begun its program already)."""
        lines = [line for line in ABORT_NOTICE.sub("", self.err).splitlines()
                 if not line.startswith("podprof:") and "plm:rsh: Warning: setpgid(" not in line]
        return [re.sub(r"\d+", "N", line).rstrip() for line in lines]

    def sorted_out(self):
        return sorted(self.out.splitlines())

    def transcript(self):
        tail = "\n".join(self.err.splitlines()[-25:])
        return f"code {self.code}, {self.seconds:.1f} s{', TIMED OUT' if self.timed_out else ''}\nstdout: {self.out[-800:]}\nstderr: {tail}"


def clean_environment(extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PODPROF_", "OMPI_", "PMIX_", "PMI_", "SLURM_"))}
    for name in ("LD_PRELOAD", "NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "CUDA_INJECTION64_PATH", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
        env.pop(name, None)
    env.update(MPI_ENV)
    env.update({k: str(v) for k, v in (extra or {}).items()})
    return env


def start(command, env=None, stdin=subprocess.DEVNULL, cwd=None):
    """The command in a process group of its own, output in files (a pipe would be kept open by whatever outlives the job)."""
    out, err = tempfile.TemporaryFile("w+", errors="replace"), tempfile.TemporaryFile("w+", errors="replace")
    process = subprocess.Popen([str(c) for c in command], env=clean_environment(env), stdin=stdin, stdout=out, stderr=err, cwd=cwd,
                               start_new_session=True)
    process.files, process.began = (out, err), time.monotonic()
    return process


def end(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(4)
            break
        except (subprocess.TimeoutExpired, ProcessLookupError):
            continue


def finish(process, limit=60.0):
    timed_out = False
    try:
        process.wait(max(0.1, limit - (time.monotonic() - process.began)))
    except subprocess.TimeoutExpired:
        timed_out = True
        end(process)
    except BaseException:  # somebody ends the driver: the job is in a session of its own
        end(process)
        raise
    seconds = time.monotonic() - process.began
    texts = []
    for f in process.files:
        f.flush()
        f.seek(0)
        texts.append(f.read())
        f.close()
    return Result(process.returncode, texts[0], texts[1], seconds, timed_out)


def start_until(place, command, env=None):
    """A job of the programs that look for GUEST_STOP: it ends by over(), when its test has what it wants."""
    place.count += 1
    path = os.path.join(place.scratch, f"stop{place.count}")
    process = start(command, {**(env or {}), "GUEST_STOP": path})
    process.stop = path
    place.stops.append(path)
    return process


def stop(process):
    with open(process.stop, "w", encoding="ascii"):
        pass


def over(process, limit=60.0):
    stop(process)
    return finish(process, limit)


def run(command, env=None, limit=60.0, stdin=subprocess.DEVNULL, cwd=None):
    return finish(start(command, env, stdin, cwd), limit)


def freeze(pid, limit=20.0):
    """SIGSTOP, until every thread stands still: on busy cores a process runs on until one of its threads sees the signal."""
    os.kill(pid, signal.SIGSTOP)

    def stands():
        try:
            states = [open(path, encoding="ascii", errors="replace").read().rpartition(") ")[2][0]
                      for path in glob.glob(f"/proc/{pid}/task/*/stat")]
        except (OSError, IndexError):
            return False
        return all(state in "TtZX" for state in states)
    check(wait_until(stands, limit, 0.001), f"process {pid} does not stop")


def wait_until(condition, limit=30.0, step=0.02):
    """The condition's value, as soon as it is true: a limit is for what never comes, not for a busy machine."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(step)
    return condition()


class Place:
    """Where the build's programs are, and a scratch directory for this run."""

    def __init__(self, bin_dir, guest_dir, source_dir, examples_dir=None):
        self.bin, self.guest, self.source, self.examples = bin_dir, guest_dir, source_dir, examples_dir
        self.scratch = tempfile.mkdtemp(prefix="podprof-test-")
        os.chmod(self.scratch, 0o755)
        self.count, self.stops = 0, []
        self.changed = set()  # files pod.h5 whose values a case has changed

    def podprof(self):
        return os.path.join(self.bin, "podprof")

    def has_asan(self):
        """Is this build's podprof itself built with AddressSanitizer?"""
        with open(self.podprof(), "rb") as f:
            return b"__asan_init" in f.read()

    def program(self, name):
        return os.path.join(self.guest, name)

    def script(self, name):
        return os.path.join(self.source, name)

    def new_logs(self):
        self.count += 1
        return os.path.join(self.scratch, f"logs{self.count}")

    def mpirun(self, ranks, command, *options):
        return [MPIRUN, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", *options, "-n", str(ranks), *command]

    def under(self, logs, command, *options):
        return [self.podprof(), "run", "-o", logs, *options, "--", *command]

    def clean(self):
        """Ends jobs, waits for keepers that still write here; a spool that stays (a killed job's) is no longer needed."""
        for path in self.stops:
            with open(path, "w", encoding="ascii"):
                pass
        for path in glob.glob(f"/dev/shm/podprof-{os.getuid()}/*/options"):
            try:
                ours = os.fsencode(self.scratch) in open(path, "rb").read()
            except OSError:
                continue
            spool = os.path.dirname(path)
            if ours:
                wait_until(lambda: not keepers(spool), 8)
                shutil.rmtree(spool, ignore_errors=True)
        shutil.rmtree(self.scratch, ignore_errors=True)


def sessions(logs):
    return sorted(os.path.dirname(p) for p in glob.glob(os.path.join(logs, "podprof", "*", "pod.h5")))


def session_of(logs, limit=60.0):
    """The one session of a log directory; the keeper, which is of low priority, may still be writing it, and writes its page last."""
    found = wait_until(lambda: sessions(logs), limit)
    check(len(found) == 1, f"one session expected in {logs}, there are {len(found)}: {tree(logs)}")
    wait_until(lambda: os.path.exists(os.path.join(found[0], "report.html")) or not is_written(logs))
    return found[0]


def hold(place):
    """No session of this run contradicts itself. Files that a case has damaged are not read."""
    for pod in glob.glob(os.path.join(place.scratch, "**", "podprof", "*", "pod.h5"), recursive=True):
        if pod not in place.changed:
            got = run([place.podprof(), "report", "--check", pod])
            check(got.code in (0, 1) and not got.timed_out, f"{pod}: {got.out[:2000]}{got.err}")


def is_written(logs):
    """Is there a keeper whose log directory this is?"""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\0")
            if b"keeper" in words and b"--spool" in words:
                spool = os.path.dirname(path) + "/root" + os.fsdecode(words[words.index(b"--spool") + 1])
                if f"OUTPUT={os.path.realpath(logs)}\n".encode() in open(spool + "/options", "rb").read():
                    return True
        except (OSError, IndexError):
            continue
    return False


def check_page(podprof, logs, session):
    """The page that was made from memory is the one that `podprof report` makes from pod.h5, byte for byte."""
    with open(os.path.join(session, "report.html"), "rb") as f:
        page = f.read()
    os.utime(os.path.join(session, "pod.h5"))  # newer than its page
    got = run([podprof, "report", logs])
    check(got.code == 0, got.transcript())
    with open(os.path.join(session, "report.html"), "rb") as f:
        again = f.read()
    at = next((i for i, (a, b) in enumerate(zip(page, again)) if a != b), min(len(page), len(again)))
    check(page == again, f"from memory: {page[at - 80:at + 80]}\nfrom pod.h5: {again[at - 80:at + 80]}")


def tree(logs):
    return [os.path.relpath(os.path.join(d, f), logs) for d, _, files in os.walk(logs) for f in files]


def keepers(text, verb="keeper"):
    """Pids of keepers, or of their guards, whose command line holds the text (a spool directory)."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\0")
        except OSError:
            continue
        if verb.encode() in words and any(text.encode() in w for w in words):
            found.append(int(path.split("/")[2]))
    return found


def keeper_of(spool, limit=20.0):
    """Pid of a spool's keeper. Each process of a job on this host may start one; all but the one that makes the control page end at once."""
    found = wait_until(lambda: os.path.exists(os.path.join(spool, "control")) and len(keepers(spool)) == 1 and keepers(spool), limit)
    check(found, f"not one keeper of {spool}, but {keepers(spool)}")
    return found[0]


def unguard(text):
    """Kills the guards of keepers: a keeper that is killed then has no successor."""
    wait_until(lambda: keepers(text, "guard") or not keepers(text), 20)
    for pid in keepers(text, "guard"):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not keepers(text, "guard"))


def kill_keeper(spool):
    """For good."""
    pid = keeper_of(spool)
    unguard(spool)
    os.kill(pid, signal.SIGKILL)
    return pid


def compare(base, got, slack=15.0):
    """What differs from the run without podprof, as sentences."""
    wrong = []
    if got.timed_out:
        wrong.append("it did not end")
    if got.code != base.code:
        wrong.append(f"exit code {got.code} instead of {base.code}")
    if got.sorted_out() != base.sorted_out():
        wrong.append(f"stdout {got.sorted_out()} instead of {base.sorted_out()}")
    one, two = base.other_err(), got.other_err()
    if base.code:  # mpirun repeats and interleaves its own lines when a job dies
        one, two = sorted(set(one)), sorted(set(two))
    if sorted(one) != sorted(two):
        wrong.append(f"stderr {[x for x in two if x not in one]} instead of {[x for x in one if x not in two]} ({len(two)}, {len(one)} lines)")
    if got.seconds > 2 * base.seconds + slack:  # a wait, not a slow machine: that slows long jobs by their part
        wrong.append(f"{got.seconds:.1f} s instead of {base.seconds:.1f} s")
    return wrong


def main(cases, description):
    """Runs the cases (a dict of name to function(place, full)) that the command line names; exit 1 if any failed, 77 if all skipped."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", required=True, help="directory of podprof")
    parser.add_argument("--guest", required=True, help="directory of the test programs")
    parser.add_argument("--examples", help="directory of the examples' sources")
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("PODPROF_FULL") or os.environ.get("PODPROF_LONG")))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    if args.list:
        print("\n".join(cases))
        return 0
    unknown = [c for c in args.case if c not in cases]
    if unknown:
        parser.error(f"no case {unknown[0]}")
    failed = skipped = 0
    names = args.case or list(cases)
    for name in names:
        place = Place(args.bin, args.guest, os.path.dirname(os.path.abspath(sys.argv[0])), args.examples)
        began = time.monotonic()
        try:
            cases[name](place, args.full)
            hold(place)
            verdict = "ok"
        except Skipped as reason:
            skipped, verdict = skipped + 1, f"skipped: {reason}"
        except Failed as reason:
            failed, verdict = failed + 1, f"FAILED: {reason}"
        except Exception:  # a driver's own mistake is a failure, not the end of the table
            failed, verdict = failed + 1, f"FAILED:\n{traceback.format_exc()}"
        print(f"{name:32s} {time.monotonic() - began:5.1f} s  {verdict}", flush=True)
        place.clean()
    if failed:
        print(f"{failed} of {len(names)} cases failed")
        return 1
    return SKIP if skipped == len(names) else 0

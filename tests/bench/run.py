#!/usr/bin/python3 -B
"""What `podprof run` and its keeper cost beside the records: a child process of the job, the keeper of 2 ranks while nothing is recorded and
while they record 100 steps per second, and start and end of a job of 2 ranks.

Each figure is given as such and as a ratio to the same without podprof in the same run: two empty libraries that are preloaded, a process that
wakes as often as a quiet keeper, the bare job. Skipped (77) unless PODPROF_BENCH=1: other work on the machine blurs it.
"""
import argparse, os, shutil, statistics, subprocess, sys, tempfile, time

WAKE_MS = 100  # PP_PACE_MOST_MS
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", "2"]
missed = 0


def row(what, values, unit, gate, note):
    global missed
    values = sorted(values)
    middle = statistics.median(values)
    verdict = "" if gate is None else "ok" if middle <= gate else "missed"
    missed += verdict == "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "run", what, middle, values[0], values[-1], unit, "" if gate is None else "<= %g" % gate, verdict, note), flush=True)


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith("PODPROF_")}
    return dict(env, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def podprof(args, where, *options):
    return [os.path.join(args.bin, "podprof"), "run", "-o", os.path.join(where, "logs"), "--spool", os.path.join(where, "spool"), *options, "--"]


def numbers(words):
    return [float(n) for n in subprocess.run(words, env=environment(), stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout.split()]


def child(args, where):
    """A job's own variables, with the spool of no keeper: a child does not look at it."""
    names = ("PODPROF_", "LD_PRELOAD", "NVTX_", "INTEL_", "PYTHONPATH")
    shown = subprocess.run(podprof(args, where) + ["env"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    given = ",".join(line for line in shown.stdout.splitlines() if line.startswith(names) and "," not in line)
    empty = "LD_PRELOAD=" + ":".join(os.path.join(args.bin, "libbench_empty_%s.so" % one) for one in ("a", "b"))
    bare, with_empty, with_podprof = [], [], []
    for _ in range(args.turns):
        times = numbers([os.path.join(args.bin, "bench_spawn"), "children", "500", "", empty, given])
        bare.append(times[0])
        with_empty.append(times[1] - times[0])
        with_podprof.append(times[2] - times[0])
    note = "/bin/true, %.0f us without; median of 500, in turn" % statistics.median(bare)
    row("a child process, added", with_podprof, "us", 150, note)
    row("a child process, added / added by two empty libraries", [p / e for p, e in zip(with_podprof, with_empty)], "ratio", 3, "of %d turns" % args.turns)


def keeper_of(spool):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words[1:4] == [b"keeper", b"--spool", spool.encode()]:
            return int(pid)
    sys.exit("run.py: no keeper has started")


def cpu_ms(pid):
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0]) / 1e6


def keeper(args, what, options, limit, most):
    """CPU per second, once the job is older than 10 s: younger keepers look more often."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        words = [os.path.join(args.bin, "c_mpi_train"), "--quiet", "--steps", "100000", "--work-us", "10000"]
        job = subprocess.Popen(MPIRUN + podprof(args, where, *options) + words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(11)
            pid, got, wakes = keeper_of(os.path.join(where, "spool")), [], []
            for _ in range(args.turns):
                before, begin = cpu_ms(pid), time.monotonic()
                wakes += [us / 1000 for us in numbers([os.path.join(args.bin, "bench_spawn"), "wakes", str(WAKE_MS), "2"])]
                got.append((cpu_ms(pid) - before) / (time.monotonic() - begin))
        finally:
            job.terminate()
            job.wait(timeout=60)
    row("keeper of 2 ranks, %s, CPU per second" % what, got, "ms", limit, "c_mpi_train, steps of 10 ms")
    row("the same / a process that wakes %d times per second" % (1000 // WAKE_MS), [g / w for g, w in zip(got, wakes)], "ratio", most,
        "%.2f ms CPU per second" % statistics.median(wakes))


def wall(words):
    begin = time.monotonic()
    subprocess.run(words, env=environment(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return time.monotonic() - begin


def whole_job(args, where):
    job = [os.path.join(args.bin, "c_mpi_train"), "--quiet", "--steps", "100", "--work-us", "2000"]
    bare, added = [], []
    wall(MPIRUN + job)
    for _ in range(4 * args.turns):
        bare.append(wall(MPIRUN + job))
        added.append(wall(MPIRUN + podprof(args, where) + job) - bare[-1])
        for _ in range(200):  # its keeper writes the report
            if not os.path.exists(os.path.join(where, "spool")):
                break
            time.sleep(0.05)
        shutil.rmtree(os.path.join(where, "logs"), ignore_errors=True)
    note = "c_mpi_train, 100 steps, all recorded and written; %.3f s without, %d pairs" % (statistics.median(bare), len(bare))
    row("a job of 2 ranks, added by podprof run", added, "s", 0.1, note)
    row("the same / the job without", [a / b for a, b in zip(added, bare)], "ratio", 0.25, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    args.bin = os.path.abspath(args.bin)
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        child(args, where)
        whole_job(args, where)
    keeper(args, "nothing recorded", ["--steps", "1000000:1000010"], 1, 4)
    keeper(args, "100 steps per second", [], 5, 15)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

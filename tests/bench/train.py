#!/usr/bin/python3 -B
"""What podprof costs a real job: c_mpi_train bare, idle (window never reached) and recording, in turn, N times.

Prints the median ratio of each pair with its quartiles. Wall time of the whole mpirun, so start and exit are in it: that is the noise.
Skipped (77) unless PODPROF_BENCH=1: other work on the machine blurs it.
"""
import argparse, os, shutil, statistics, subprocess, sys, tempfile, time


def wall(words, where):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    begin = time.monotonic()
    subprocess.run(words, cwd=where, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return time.monotonic() - begin


def wait_for_idle(bin, where):
    """Wait for the keeper, which writes after the job has ended: it must not run beside the next one."""
    subprocess.run([os.path.abspath(os.path.join(bin, "podprof")), "report", "logs"], cwd=where, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=120)
    shutil.rmtree(os.path.join(where, "logs"), ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--ranks", type=int, default=2)
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(args.ranks)]
    job = [os.path.abspath(os.path.join(args.bin, "c_mpi_train")), "--quiet", "--steps", str(args.steps)]
    podprof = [os.path.abspath(os.path.join(args.bin, "podprof")), "run", "-o", "logs", "--wait", "0"]
    ways = {"idle": podprof + ["--steps", "1000000:1000010", "--"], "recording": podprof + ["--"]}
    ratio = {name: [] for name in ways}
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        wall(mpirun + job, where)
        for _ in range(args.pairs):
            for name, words in ways.items():
                bare = wall(mpirun + job, where)
                ratio[name].append(wall(mpirun + words + job, where) / bare)
                wait_for_idle(args.bin, where)
    for name, values in ratio.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
            "train", "c_mpi_train, %s / bare" % name, middle, low, high, "x", "", "",
            "%d ranks, %d steps, wall of the whole mpirun, %d pairs" % (args.ranks, args.steps, len(values))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

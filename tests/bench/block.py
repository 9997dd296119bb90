#!/usr/bin/python3 -B
"""Blocks of a real session: c_mpi_train with 8 ranks under podprof, its pod.h5 given to bench_block, which cuts it into shares of 4 hosts,
and measures made-up ones beside it. Skipped (77) unless PODPROF_BENCH=1.
"""
import argparse, glob, os, subprocess, sys, tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    bin = os.path.abspath(args.bin)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PODPROF_")}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        words = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", "8",
                 os.path.join(bin, "podprof"), "run", "-o", "logs", "--wait", "60", "--steps", "0:%d" % args.steps, "--",
                 os.path.join(bin, "c_mpi_train"), "--quiet", "--steps", str(args.steps)]
        job = subprocess.run(words, cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
        subprocess.run([os.path.join(bin, "podprof"), "report", "logs"], cwd=where, env=env, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=120)
        files = glob.glob(os.path.join(where, "logs", "podprof", "*", "pod.h5"))
        if job.returncode or len(files) != 1:
            sys.exit("block.py: %d sessions, exit code %d: %s" % (len(files), job.returncode, job.stdout))
        return subprocess.run([os.path.join(bin, "bench_block"), files[0]], env=dict(env, PODPROF_BENCH="1"), timeout=300).returncode


if __name__ == "__main__":
    sys.exit(main())

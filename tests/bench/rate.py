#!/usr/bin/python3 -B
"""Records lost by a host that emits a million a second, with the keeper alive: `podprof run` around bench_rate, as a user has it.

One core free: all emitting threads share the cores but one. No core free: two emitting threads a core, all of them spinning. The rings'
losses are read from the pod dataset. Skipped (77) unless PODPROF_BENCH=1.
"""
import argparse, glob, os, subprocess, sys, tempfile

IN_RING = ("ring_full", "no_space", "no_thread", "bad_record")


def row(what, value, low, high, unit, gate, note):
    verdict = "" if gate is None else "ok" if value <= gate else "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" %
          ("rate", what, value, low, high, unit, "" if gate is None else "<= %g" % gate, verdict, note), flush=True)
    return verdict == "missed"


def run(args, cores, threads):
    """(emitted, delivered, lost in the rings, losses by cause) of one job on these cores; the keeper may use all."""
    import h5py
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        words = [os.path.join(args.bin, "podprof"), "run", "-o", "logs", "--wait", "60", "--window-buffer", "64M", "--", "taskset", "-c",
                 ",".join(map(str, cores)), os.path.join(args.bin, "bench_rate"), str(threads), str(args.rate), str(args.seconds)]
        env = {k: v for k, v in os.environ.items() if not k.startswith("PODPROF_")}
        job = subprocess.run(words, cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        if job.returncode:
            sys.exit("rate.py: the job failed with %d: %s" % (job.returncode, job.stderr))
        files = glob.glob(os.path.join(where, "logs", "podprof", "*", "pod.h5"))
        if len(files) != 1:
            sys.exit("rate.py: no session was written")
        with h5py.File(files[0], "r") as f:
            quality = f["quality"]
            cause = [c.decode() if isinstance(c, bytes) else c for c in quality["cause"][()]]
            lost = dict(zip(cause, quality["dropped"][()].sum(axis=0).tolist()))
            return int(job.stdout), int(quality["records"][()].sum()), sum(lost.get(c, 0) for c in IN_RING), lost


def measure(args, what, cores, threads, gate):
    got = []
    for _ in range(args.turns):
        emitted, delivered, lost, causes = run(args, cores, threads)
        got.append(lost)
        if emitted != delivered + lost + causes.get("evicted", 0):  # these were read, and gave way to newer ones (--window-buffer)
            print("%s: emitted %d, delivered %d, lost %d: %d are not accounted for" %
                  (what, emitted, delivered, lost, emitted - delivered - lost))
            return 1
    note = "maximum of %d turns of %g s; %d threads on %d cores of %d, %d emitted; %s" % (
        args.turns, args.seconds, threads, len(cores), os.cpu_count(), emitted,
        ", ".join("%s %d" % c for c in causes.items() if c[1] and c[0] in IN_RING) or "none lost")
    return row(what, max(got), min(got), max(got), "records", gate, note)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--rate", type=int, default=1000000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    args.bin = os.path.abspath(args.bin)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("skipped: one core, so none is free")
        return 77
    missed = measure(args, "lost at %.1f M records/s, one core free" % (args.rate / 1e6), cores[:-1], 2 * len(cores[:-1]), 0)
    missed |= measure(args, "lost at %.1f M records/s, no core free" % (args.rate / 1e6), cores, 2 * len(cores), None)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

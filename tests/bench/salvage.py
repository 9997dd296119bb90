#!/usr/bin/python3 -B
"""Speed of `podprof salvage`: MB of spool per second of its CPU time. The spool is that of a real job, bench_salvage_job of 8 ranks, which fills
nearly the whole of its rings (64 MiB per rank): its keeper is stopped as soon as it runs, then keeper and ranks are killed.

"MB of spool" are the allocated blocks of the ring files, so no chunk that was never used counts. Beside it stands one reading of the same
files with a checksum (CRC-32 of zlib). A host of virtual machines supplies memory at its first touch, slowly; that is the host's time, so
memory is touched before each turn. Skipped (77) unless PODPROF_BENCH=1.
"""
import argparse, glob, mmap, os, resource, shutil, signal, statistics, subprocess, sys, tempfile, time, zlib

LEAST, TOUCHED_MB = 500, 3072
missed = 0


def row(what, values, unit, gate, note):
    global missed
    values = sorted(values)
    middle = statistics.median(values)
    verdict = "" if gate is None else "ok" if middle >= gate else "missed"
    missed += verdict == "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "salvage", what, middle, values[0], values[-1], unit, "" if gate is None else ">= %g" % gate, verdict, note), flush=True)


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith("PODPROF_")}
    return dict(env, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def is_draining(spool):
    """Does its control page say so? The ranks wait for that."""
    try:
        with open(os.path.join(spool, "control"), "rb") as f:
            return f.read(20)[16:] == b"\1\0\0\0"
    except OSError:
        return False


def keeper_of(spool, seconds=20, word=b"keeper"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if [w for w in words[1:] if w][:3] == [word, b"--spool", spool.encode()] and is_draining(spool):
                return int(pid)
        time.sleep(0.01)
    sys.exit("salvage.py: no keeper has started")


def left_by_job(args, spool, steps, layers, operators):
    """The spool of a job that was killed with all its rings full."""
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(args.ranks), os.path.join(args.bin, "podprof"),
             "run", "-o", os.path.join(os.path.dirname(spool), "unused"), "--spool", spool, "--", os.path.join(args.bin, "bench_salvage_job"),
             str(steps), str(layers), str(operators)]
    job = subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    keeper = keeper_of(spool)
    os.kill(keeper, signal.SIGSTOP)
    if b"filled" not in job.stdout.readline():
        sys.exit("salvage.py: the job has failed")
    os.kill(keeper_of(spool, word=b"guard"), signal.SIGKILL)  # else another keeper follows
    os.kill(keeper, signal.SIGKILL)
    for ring in glob.glob(spool + "/*.ring"):
        os.kill(int(ring.rpartition("-")[2][:-5]), signal.SIGKILL)
    job.wait(timeout=60)
    job.stdout.close()


def touch_memory(mb):
    """In a process of its own: afterwards the system has that much memory that was touched before."""
    if os.fork():
        os.wait()
        return
    with mmap.mmap(-1, mb << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, mb << 20, mmap.PAGESIZE):
            memory[at] = 1
    os._exit(0)


def checksum(files):
    """CPU seconds of one reading."""
    begin = time.process_time()
    for path in files:
        with open(path, "rb", buffering=0) as f:
            value = 0
            while part := f.read(1 << 20):
                value = zlib.crc32(part, value)
    return time.process_time() - begin


def salvage(args, spool):
    """CPU seconds, bytes of the session and the last lines that it printed."""
    logs = os.path.join(os.path.dirname(spool), "logs")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    got = subprocess.run([os.path.join(args.bin, "podprof"), "salvage", spool, "-o", logs], env=environment(), stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    if got.returncode:
        sys.exit("salvage.py: " + got.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    written = sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(logs) for name in names)
    shutil.rmtree(logs)
    os.remove(os.path.join(spool, "salvaged"))
    if args.verbose:
        print(got.stderr, "user %.3f s, system %.3f s" % (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime))
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, written


def measure(args, where, what, steps, layers, operators, gate):
    spool = os.path.join(where, "spool")
    left_by_job(args, spool, steps, layers, operators)
    rings = glob.glob(spool + "/*.ring")
    mb = sum(os.stat(ring).st_blocks * 512 for ring in rings) / 1e6
    speed, share, written = [], [], 0
    for _ in range(args.turns):
        limit = checksum(rings)
        touch_memory(TOUCHED_MB)
        cpu, written = salvage(args, spool)
        speed.append(mb / cpu)
        share.append(limit / cpu)
    note = "%d rings, %.0f MB allocated, %.0f MB of session; %d turns" % (len(rings), mb, written / 1e6, args.turns)
    row("salvage, %s: spool per second of CPU" % what, speed, "MB", gate, note)
    row("the same / reading it once with a checksum", share, "ratio", None, "CPU of both")
    if args.keep:
        shutil.copytree(spool, args.keep, ignore=lambda _, names: [n for n in names if n == "socket"])
    shutil.rmtree(spool)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--keep", help="copy the spool to this directory")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    args.bin = os.path.abspath(args.bin)
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        measure(args, where, "ranges of operators", 260, 12, 80, LEAST)
        measure(args, where, "short steps", 20000, 2, 0, None)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The n-th allocation, open, mmap, write, fork fails: over guest start, keeper and writers, and the verbs of the command line.
Counts the calls of each kind first, then runs with each n failing (--full), or with a spread of them. Called by ctest."""
import argparse
import errno
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import time

from benches import BENCHES, KINDS, jobs, whole

# What has failed once: always run, where there are so many calls. (kind, n, number of the way)
KEPT = {
    "keeper": [("alloc", 1, 0), ("open", 7, 2), ("alloc", 148, 1), ("alloc", 300, 1), ("mmap", 3, 1), ("alloc", 32, 0),
               ("file", 3, 1), ("file", 5, 1), ("open", 5, 1), ("alloc", 11, 1)],
    "keeper-hdf5": [("alloc", 1, 0), ("write", 51, 1), ("write", 153, 4), ("process", 5, 0), ("alloc", 27402, 1)],
    "keeper-live": [("alloc", 1, 0), ("read", 1, 2), ("name", 52, 0)],
    "salvage": [("file", 7, 1)],
    "run": [("name", 1, 0), ("name", 2, 0)],
    "report": [("write", 6, 0), ("write", 16, 2)],
}
# How a call of a kind fails, beside its usual error: one call, or all from the n-th on; cut short; interrupted.
WAYS = {
    "alloc": [{}, {"TORTURE_ALL": "1"}],
    "open": [{}, {"TORTURE_ERRNO": errno.ENOSPC, "TORTURE_ALL": "1"}, {"TORTURE_ERRNO": errno.EACCES}],
    "name": [{}, {"TORTURE_ALL": "1"}],
    "file": [{}, {"TORTURE_ALL": "1"}],
    "mmap": [{}, {"TORTURE_ALL": "1"}],
    "read": [{}, {"TORTURE_ERRNO": errno.EINTR}, {"TORTURE_ALL": "1"}],
    "write": [{}, {"TORTURE_ALL": "1"}, {"TORTURE_SHORT": "1"}, {"TORTURE_ERRNO": errno.EINTR}, {"TORTURE_ERRNO": errno.EIO}],
    "process": [{}],
}


class Page:
    """The counts that libtorture.so leaves, and what it let fail."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(b"\0" * 4096)

    def read(self):
        data = open(self.path, "rb").read()
        numbers = struct.unpack_from("=9Q", data)
        self.calls, self.fired = dict(zip(KINDS, numbers)), numbers[8]
        self.what = data[72:328].split(b"\0")[0].decode()
        return self


def hdf5_text(program):
    """Where HDF5 stands in the program, as begin-end: it is linked from its archive."""
    listed = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True).stdout
    at = sorted(int(w[0], 16) for w in map(str.split, listed.splitlines()) if len(w) == 3 and w[1] in "tT" and re.fullmatch(r"_?H5[A-Z]\w*", w[2]))
    return f"{at[0]:x}-{at[-1] + 4096:x}" if at else None


class Place(jobs.Place):
    def __init__(self, args):
        super().__init__(os.path.abspath(args.bin), os.path.abspath(args.guest), os.path.dirname(os.path.abspath(__file__)))
        self.train = os.path.abspath(args.train)
        self.library = self.program("libtorture.so")
        self.logs_of_session = None
        self.hdf5_text = hdf5_text(self.podprof())

    def session_logs(self):
        if not self.logs_of_session:
            self.logs_of_session = self.new_logs()
            got = jobs.run([self.podprof(), "run", "-o", self.logs_of_session, "--", self.program("torture_job"), "0"])
            jobs.check(got.code == 0 and whole.files(self.logs_of_session), f"no session to report: {got.transcript()}")
        return self.logs_of_session


def one_run(bench, place, kind, n, way):
    page = Page(os.path.join(place.scratch, "page"))
    preload = os.pathsep.join(filter(None, [place.library]))
    env = {"LD_PRELOAD": preload, "TORTURE_PAGE": page.path, "TORTURE_FROM": bench.modules, "TORTURE_N": n, **way}
    if kind:
        env["TORTURE_KIND"] = kind
    if bench.role:
        env["TORTURE_ROLE"] = bench.role
    if place.hdf5_text and bench.hdf5:
        env["TORTURE_TEXT"] = bench.hdf5 + place.hdf5_text
    return bench.run(env), page.read()


def spread(count, most):
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / (most - 1)) for i in range(most)}) if most > 1 else [1]


def plan(bench, counts, full, most, times):
    """(kind, n, way) of every run: each n in each way, or a spread in which the ways take turns, `times` as many as usual."""
    runs = []
    kinds = [k for k in bench.kinds if counts[k]]
    for index, kind in enumerate(kinds):
        if full:
            runs += [(kind, n, way) for way in WAYS[kind] for n in spread(counts[kind], most or bench.full)]
            continue
        share = max(4, times * bench.most // max(1, len(kinds)))
        runs.append([(kind, n, WAYS[kind][(i + index) % len(WAYS[kind])]) for i, n in enumerate(spread(counts[kind], share))])
    if full:
        return runs
    kept = [(kind, n, WAYS[kind][way]) for kind, n, way in KEPT.get(bench.name, []) if n <= counts[kind]]
    # The kinds take turns: a slow machine ends early and has met them all.
    return kept + [kind[i] for i in range(max(map(len, runs))) for kind in runs if i < len(kind)]


def where(place, what):
    """file:line of the call that failed."""
    words = what.replace("+", " ").split()
    for path in glob.glob(os.path.join(place.bin, "podprof")) + glob.glob(os.path.join(place.bin, "..", "lib", "*.so*")):
        if len(words) == 3 and os.path.basename(path) == words[1] and shutil.which("addr2line"):
            return subprocess.run(["addr2line", "-s", "-f", "-p", "-e", path, hex(int(words[2], 16) - 1)], capture_output=True, text=True).stdout.strip()
    return ""


def torture(bench_class, place, args):
    bench = bench_class(place)
    bench.prepare()
    got, page = one_run(bench, place, None, 0, {})
    counts = page.calls
    jobs.check(sum(counts.values()), f"no call was counted: {got.transcript()}")
    runs = plan(bench, counts, args.full, args.most, args.times)
    if args.only:
        kind, n, number = args.only.split(":")
        runs = [(kind, int(n), WAYS[kind][int(number)])]
    failed, done, began = 0, 0, time.monotonic()
    for kind, n, way in runs:
        if not args.full and time.monotonic() - began > args.seconds:
            break
        done += 1
        got, page = one_run(bench, place, kind, n, way)
        wrong = bench.judge(got, page)
        if args.verbose:
            print(f"  {bench.name} {kind} {n} {way} {page.what}: code {got.code}, {got.seconds:.1f} s\n    " + "\n    ".join(got.err.splitlines()))
        if wrong:
            failed += 1
            print(f"  {bench.name} --only {kind}:{n}:{WAYS[kind].index(way)} {page.what} {where(place, page.what)}")
            print("".join(f"    {w}\n" for w in wrong), end="", flush=True)
            if failed >= args.stop:
                break
    printed = " ".join(f"{k} {v}" for k, v in counts.items() if v)
    print(f"{bench.name:12s} {time.monotonic() - began:6.1f} s, {done} of {len(runs)} runs, {failed} failed; calls: {printed}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--guest", required=True, help="directory of libtorture.so and torture_job")
    parser.add_argument("--train", required=True, help="c_mpi_train")
    long = bool(os.environ.get("PODPROF_LONG"))
    parser.add_argument("--full", action="store_true", help="each n in each way; an hour or two")
    parser.add_argument("--most", type=int, default=0, help="with --full: so many n of a kind and way at most, where the usual is not wanted")
    parser.add_argument("--seconds", type=float, default=120 if long else 9, help="without --full: of one bench")
    parser.add_argument("--times", type=int, default=10 if long else 1, help="without --full: so many times the usual runs")
    parser.add_argument("--stop", type=int, default=20, help="failures of one bench after which it ends")
    parser.add_argument("--only", help="KIND:N:WAY of a failure")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("bench", nargs="*", help=", ".join(b.name for b in BENCHES))
    args = parser.parse_args()
    failed = 0
    place = Place(args)
    try:
        for bench in BENCHES:
            if not args.bench or bench.name in args.bench:
                failed += torture(bench, place, args)
    except jobs.Failed as reason:
        print(f"FAILED: {reason}")
        failed += 1
    finally:
        place.clean()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

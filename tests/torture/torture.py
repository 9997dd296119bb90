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
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402

import whole  # noqa: E402

KINDS = ["alloc", "open", "name", "file", "mmap", "read", "write", "process"]
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
LIMIT = 40.0  # a run that takes longer hangs


class Bench:
    """One thing that is tortured: how to run it, and what must hold afterwards."""

    name, role, modules, kinds = "", None, "podprof,libpodprof", KINDS
    most, full = 60, 10 ** 9  # runs of the plain sample; n of each kind and way with --full
    hdf5 = "-"  # "-": calls of HDF5 do not count, "+": only they do

    def __init__(self, place):
        self.place = place

    def prepare(self):
        pass

    def run(self, env):
        raise NotImplementedError

    def judge(self, got, page):
        raise NotImplementedError


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


def sentences(lines, most):
    """What is wrong with lines that podprof said."""
    wrong = []
    if len(lines) > most:
        wrong.append(f"{len(lines)} lines: {lines}")
    for line in lines:
        text = line.partition("podprof: ")[2]
        if not text or len(text) < 12 or len(text) > 700 or "(null)" in text or "Success" in text or text.endswith(":") or "Unknown error" in text:
            wrong.append(f"no sentence: {line!r}")
    return wrong


def ended(got):
    wrong = []
    if got.timed_out:
        wrong.append("it did not end")
    elif got.code < 0 or got.code in (132, 134, 135, 136, 139):
        wrong.append(f"it crashed: {got.code}")
    if "AddressSanitizer" in got.err or "runtime error" in got.err:
        wrong.append("sanitizer: " + got.err[:3000])
    return wrong


def hdf5_text(program):
    """Where HDF5 stands in the program, as begin-end: it is linked from its archive."""
    listed = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True).stdout
    at = sorted(int(w[0], 16) for w in map(str.split, listed.splitlines()) if len(w) == 3 and w[1] in "tT" and re.fullmatch(r"_?H5[A-Z]\w*", w[2]))
    return f"{at[0]:x}-{at[-1] + 4096:x}" if at else None


class Guest(Bench):
    """A job without MPI under podprof run: guest start, marks, exit."""

    name, role, modules = "guest", "guest", "libpodprof"
    most = 40
    code = 7
    lines = 4

    def command(self, logs, spool):
        return [self.place.podprof(), "run", "-o", logs, "--spool", spool, "--wait", "3", "--", self.place.program("torture_job")]

    def prepare(self):
        self.base = jobs.run([self.place.program("torture_job")])
        jobs.check(self.base.code == 7, f"the job itself ends by {self.base.told()}")

    def run(self, env):
        self.logs, self.spool = self.place.new_logs(), tempfile.mkdtemp(prefix="spool-", dir=self.place.scratch)
        got = jobs.run(self.command(self.logs, self.spool), env=env, limit=LIMIT)
        jobs.wait_until(lambda: not jobs.keepers(self.spool), 15)
        return got

    def judge(self, got, page):
        wrong = ended(got) + [w for w in jobs.compare(self.base, got) if "AddressSanitizer" not in w] + sentences(got.podprof_lines(), self.lines)
        if jobs.keepers(self.spool):
            wrong.append("the keeper does not end")
        return wrong + whole.parts(self.logs)


class GuestZero(Guest):
    """The same with exit code 0: waits for the keeper and prints what it says."""

    name = "guest-zero"

    def command(self, logs, spool):
        return super().command(logs, spool) + ["0"]

    def prepare(self):
        self.base = jobs.run([self.place.program("torture_job"), "0"])


class GuestMpi(Guest):
    """Two ranks with MPI."""

    name = "guest-mpi"
    most = 24

    def command(self, logs, spool):
        return self.place.mpirun(2, [self.place.podprof(), "run", "-o", logs, "--spool", spool, "--wait", "3", "--", self.place.train, "--steps", "8"])

    def prepare(self):
        self.base = jobs.run(self.place.mpirun(2, [self.place.train, "--steps", "8"]))


class Run(GuestZero):
    """podprof run itself, and the keeper's start."""

    name, role, modules = "run", "cli", "podprof"
    most = 40


class KeeperLive(GuestZero):
    """The keeper beside a job that goes on: what rank 0 prints."""

    name, role, modules = "keeper-live", "keeper", "podprof"
    most = 40

    def judge(self, got, page):
        wrong = super().judge(got, page)
        text = " ".join(got.podprof_lines())
        there = whole.files(self.logs)
        if not text:
            wrong.append("not a word")
        if "captured on" in text and len(there) < len(whole.NAMES) and "cannot" not in text and "no memory" not in text:
            wrong.append(f"it says {text!r}, but there is only {there}")
        return wrong


class Keeper(Bench):
    """The keeper and its writers on rings that are there already: the whole way from drain to files."""

    name, role, modules = "keeper", "keeper", "podprof"
    most = 130

    def prepare(self):
        self.rings = tempfile.mkdtemp(prefix="rings-", dir=self.place.scratch)
        self.logs = os.path.join(self.place.scratch, "keeper-logs")
        with open(os.path.join(self.rings, "options"), "w") as f:
            f.write(f"OUTPUT={self.logs}\nSESSION=one\nSTEPS=\nWAIT=0\nJOB=torture\nCOMMAND=job\n")
        libraries = os.path.join(self.place.bin, "..", "lib")
        preload = f"{libraries}/libpodprof-mpi.so:{libraries}/libpodprof.so"
        env = {"PODPROF_SPOOL": self.rings, "PODPROF_WAIT": "0", "LD_PRELOAD": preload}
        jobs.run(["/usr/bin/env", *[f"{k}={v}" for k, v in env.items()], *self.place.mpirun(2, [self.place.train, "--steps", "8"])])
        jobs.check(len(glob.glob(self.rings + "/*.ring")) == 2, f"two rings expected in {os.listdir(self.rings)}")
        got = self.run({})
        self.want = whole.Session(self.logs)
        wrong = self.want.missing + self.want.broken
        jobs.check(got.code == 0 and not wrong, f"the keeper alone: {got.told()} {wrong}")

    def command(self):
        return [self.place.podprof(), "keeper", "--spool", self.spool]

    def run(self, env):
        shutil.rmtree(self.logs, ignore_errors=True)
        self.spool = os.path.join(self.place.scratch, "spool")
        shutil.rmtree(self.spool, ignore_errors=True)
        subprocess.run(["cp", "-a", "--sparse=always", self.rings, self.spool], check=True)
        return jobs.run(self.command(), env=env, limit=LIMIT)

    def said(self, got):
        try:
            data = open(os.path.join(self.spool, "control"), "rb").read()
            return got.err + "\n" + data[32:].split(b"\0")[0].decode(errors="replace")
        except OSError:
            return got.err

    def judge(self, got, page):
        wrong = ended(got)
        if wrong:
            return wrong
        said = self.said(got)
        wrong += whole.parts(self.logs) + whole.Session(self.logs).against(self.want, said)
        if os.path.isdir(self.spool):
            wrong += self.salvage()
        return wrong

    def salvage(self):
        """What a failed keeper leaves is still good for salvage; what it has drained is not there any more."""
        shutil.rmtree(self.logs, ignore_errors=True)
        got = jobs.run([self.place.podprof(), "salvage", self.spool, "-o", self.logs], limit=LIMIT)
        if ended(got) or not got.podprof_lines():
            return [f"salvage afterwards: {got.told()}"]
        return []


class KeeperHdf5(Keeper):
    """The same, where HDF5's own calls fail."""

    name, modules, hdf5 = "keeper-hdf5", "podprof,libhdf5_serial,libhdf5,libhdf5_serial_hl", "+"
    most, full = 40, 300


class Salvage(Keeper):
    name, role = "salvage", "cli"
    most = 60

    def command(self):
        return [self.place.podprof(), "salvage", self.spool, "-o", self.logs, "--session", "one"]

    def judge(self, got, page):
        wrong = ended(got)
        if wrong:
            return wrong
        wrong += whole.parts(self.logs) + whole.Session(self.logs).against(self.want, got.err) + sentences(got.podprof_lines(), 4)
        if got.code and not got.podprof_lines():
            wrong.append(f"exit code {got.code} without a word")
        if not os.path.isdir(self.spool):
            wrong.append("the spool is gone")
        return wrong


class Verb(Bench):
    """A verb that reads: it fails with one sentence, or prints what it prints."""

    role = "cli"
    most = 25

    def run(self, env):
        return jobs.run(self.command(), env=env, limit=LIMIT)

    def prepare(self):
        self.base = self.run({})
        jobs.check(self.base.code == 0, f"{self.name} alone: {self.base.told()}")

    def judge(self, got, page):
        wrong = ended(got) + sentences(got.podprof_lines(), 1 if got.code else 4)
        if got.code and not got.podprof_lines():
            wrong.append(f"exit code {got.code} without a word")
        if not got.code and self.differs(got) and not got.podprof_lines():
            wrong.append(f"exit code 0, but it printed {got.out[-300:]!r}")
        return wrong

    def differs(self, got):
        return got.out != self.base.out


class Report(Verb):
    name = "report"

    def command(self):
        return [self.place.podprof(), "report", "--timeout", "0", self.place.session_logs()]


class Doctor(Verb):
    """What it finds is its output: a failing call may be a finding."""

    name = "doctor"

    def command(self):
        return [self.place.podprof(), "doctor"]

    def prepare(self):
        self.base = self.run({})

    def judge(self, got, page):
        wrong = ended(got) + sentences(got.podprof_lines(), 2)
        if not got.out and not got.podprof_lines():
            wrong.append("not a word")
        return wrong

    def differs(self, got):
        return False


BENCHES = [Guest, GuestZero, GuestMpi, Run, KeeperLive, Keeper, KeeperHdf5, Salvage, Report, Doctor]


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
            jobs.check(got.code == 0 and whole.files(self.logs_of_session), f"no session to report: {got.told()}")
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


def plan(bench, counts, full, most):
    """(kind, n, way) of every run: each n in each way, or a spread in which the ways take turns."""
    runs = []
    kinds = [k for k in bench.kinds if counts[k]]
    for index, kind in enumerate(kinds):
        if full:
            runs += [(kind, n, way) for way in WAYS[kind] for n in spread(counts[kind], most or bench.full)]
            continue
        share = max(4, bench.most // max(1, len(kinds)))
        runs.append([(kind, n, WAYS[kind][(i + index) % len(WAYS[kind])]) for i, n in enumerate(spread(counts[kind], share))])
    if full:
        return runs
    # The kinds take turns: a slow machine ends early and has met them all.
    return [kind[i] for i in range(max(map(len, runs))) for kind in runs if i < len(kind)]


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
    jobs.check(sum(counts.values()), f"no call was counted: {got.told()}")
    runs = plan(bench, counts, args.full, args.most)
    if args.only:
        kind, n, number = args.only.split(":")
        runs = [(kind, int(n), WAYS[kind][int(number)])]
    failed, began = 0, time.monotonic()
    for kind, n, way in runs:
        if not args.full and time.monotonic() - began > args.seconds:
            break
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
    told = " ".join(f"{k} {v}" for k, v in counts.items() if v)
    print(f"{bench.name:12s} {time.monotonic() - began:6.1f} s, {len(runs)} runs, {failed} failed; calls: {told}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--guest", required=True, help="directory of libtorture.so and torture_job")
    parser.add_argument("--train", required=True, help="c_mpi_train")
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("PODPROF_LONG")))
    parser.add_argument("--most", type=int, default=0, help="with --full: at most so many n of a kind and way")
    parser.add_argument("--seconds", type=float, default=9, help="without --full: of one bench")
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

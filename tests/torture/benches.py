"""What is tortured: how each is run, and what must hold afterwards. Used by torture.py and disk.py."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402

import whole  # noqa: E402

KINDS = ["alloc", "open", "name", "file", "mmap", "read", "write", "process"]
LIMIT = 40.0  # a run that takes longer hangs


class Bench:
    """One thing that is tortured: how to run it, and what must hold afterwards."""

    name, role, modules, kinds = "", None, "podprof,libpodprof", KINDS
    most, full = 60, 10 ** 9  # runs of the plain sample; with --full so many n of each kind and way at most
    hdf5 = "-"  # "-": calls of HDF5 do not count, "+": only they do

    def __init__(self, place):
        self.place = place

    def prepare(self):
        pass

    def run(self, env):
        raise NotImplementedError

    def judge(self, got, page):
        raise NotImplementedError


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
        jobs.check(self.base.code == 7, f"the job itself ends by {self.base.transcript()}")

    def run(self, env):
        self.logs, self.spool = self.place.new_logs(), tempfile.mkdtemp(prefix="spool-", dir=self.place.scratch)
        got = jobs.run(self.command(self.logs, self.spool), env=env, limit=LIMIT)
        # A keeper whose `podprof run` has given it up may find the spool empty: then 60 s without anybody are its deadline, or a signal.
        if not jobs.wait_until(lambda: not jobs.keepers(self.spool), 5) and not glob.glob(self.spool + "/*.ring") + glob.glob(self.spool + "/run-*"):
            for pid in jobs.keepers(self.spool):
                try:
                    os.kill(pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
        jobs.wait_until(lambda: not jobs.keepers(self.spool), 75)
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
    most, full = 40, 60

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
    most, full = 130, 300

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
        jobs.check(got.code == 0 and not wrong, f"the keeper alone: {got.transcript()} {wrong}")

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
            return [f"salvage afterwards: {got.transcript()}"]
        return []


class KeeperHdf5(Keeper):
    """The same, where HDF5's own calls fail."""

    name, modules, hdf5 = "keeper-hdf5", "podprof,libhdf5_serial,libhdf5,libhdf5_serial_hl", "+"
    most, full = 40, 80


class Salvage(Keeper):
    name, role = "salvage", "cli"
    most, full = 60, 150

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
        jobs.check(self.base.code == 0, f"{self.name} alone: {self.base.transcript()}")

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

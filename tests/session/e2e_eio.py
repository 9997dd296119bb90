#!/usr/bin/python3
"""Disks that fail under the log directory and the spool: each call ends by EIO from some moment on. The job ends as without podprof, and a
sentence says what became of its data. Run by ctest session_eio."""
import glob
import os
import shutil
import subprocess
import sys
import time

from e2e import on_this_node
from e2e_matrix import LONG, RANKS, both
import jobs
from jobs import Skipped, check, sessions, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
SLOTS = "0 131072"  # sectors of a disk of 64 MiB


def is_done(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Fuse:
    """A file system in user space: any call fails on demand."""

    def __init__(self, place, name):
        self.folder, self.where = os.path.join(place.scratch, name + "-under"), os.path.join(place.scratch, name)
        os.mkdir(self.folder)
        os.mkdir(self.where)
        if os.geteuid() or not os.path.exists("/dev/fuse"):
            raise Skipped("mounting FUSE needs root and /dev/fuse")
        self.server = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "eio_disk.py"), self.folder, self.where], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: os.path.ismount(self.where) or self.server.poll() is not None, 20)
        if not os.path.ismount(self.where):
            raise Skipped("no FUSE here (apt-get install python3-fusepy): " + (self.server.stderr.read().splitlines() or [""])[-1])

    def fail(self, words="read write fsync make"):
        with open(self.folder + ".new", "w", encoding="ascii") as f:
            f.write(words)
        os.rename(self.folder + ".new", self.folder + ".broken")

    def heal(self):
        if os.path.exists(self.folder + ".broken"):
            os.remove(self.folder + ".broken")

    def end(self):
        self.heal()
        subprocess.run(["umount", "-l", self.where], check=False)
        self.server.wait(20)


class Block:
    """ext4 on a block device whose blocks fail: the device mapper's table becomes "error"; without a device mapper, the loop device's file is on a
    tmpfs that is full."""

    def __init__(self, place, name):
        self.under, self.where = os.path.join(place.scratch, name + "-under"), os.path.join(place.scratch, name)
        self.mapped, self.loop = f"podprof-test-{os.getpid()}", ""
        os.mkdir(self.under)
        os.mkdir(self.where)
        if os.geteuid() or not is_done("mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", self.under):
            raise Skipped("mounting needs root")
        try:
            self.make()
        except Skipped:
            self.end()
            raise

    def make(self):
        disk = self.under + "/disk"
        with open(disk, "wb") as f:
            f.truncate(64 << 20)
        got = subprocess.run(["losetup", "-f", "--show", disk], capture_output=True, text=True, check=False)
        if got.returncode:
            raise Skipped("no loop device here: " + got.stderr.strip())
        self.loop = device = got.stdout.strip()
        self.is_mapped = shutil.which("dmsetup") and is_done("dmsetup", "create", self.mapped, "--table", f"{SLOTS} linear {device} 0")
        if self.is_mapped:
            device = "/dev/mapper/" + self.mapped
        if not is_done("mkfs.ext4", "-q", "-F", "-E", "nodiscard", device) or not is_done("mount", "-o", "errors=continue", device, self.where):
            raise Skipped("no ext4 here")

    def fail(self, words=""):
        if not self.is_mapped:
            with open(self.under + "/fill", "wb") as f:
                subprocess.run(["head", "-c", "64M", "/dev/zero"], stdout=f, stderr=subprocess.DEVNULL, check=False)
            return
        for command in (["suspend", "--noflush", self.mapped], ["load", self.mapped, "--table", f"{SLOTS} error"], ["resume", self.mapped]):
            subprocess.run(["dmsetup", *command], check=True)

    def end(self):
        subprocess.run(["umount", "-l", self.where], stderr=subprocess.DEVNULL, check=False)
        if self.loop and self.is_mapped:
            wait_until(lambda: is_done("dmsetup", "remove", "--force", self.mapped), 10, 0.5)
        if self.loop:
            subprocess.run(["losetup", "-d", self.loop], check=False)
        subprocess.run(["umount", "-l", self.under], check=False)


def on(kind, is_long=False):
    """The case with a disk of its own, which ends with it."""
    def decorate(case):
        def made(place, full):
            if is_long and not full:
                raise Skipped("a long one")
            disk = kind(place, "disk")
            try:
                case(place, disk)
            finally:
                disk.end()
        made.__name__, made.__doc__ = case.__name__, case.__doc__
        return made
    return decorate


def failing(disk, words="read write fsync make"):
    def hurt(job):
        job.begun()
        if job.podprof:
            disk.fail(words)
    return hurt


def said_once(got):
    check(1 <= len(got.podprof_lines()) <= RANKS + 1, got.transcript())


def moved(disk, got):
    """The session is whole on the node, and nothing on the disk looks like one."""
    check(got.code == 0 and "I/O error" in got.err or "nput/output error" in got.err or "read-only" in got.err.lower() or "pace" in got.err, got.transcript())
    shutil.rmtree(on_this_node(got, RANKS))


@on(Fuse)
def logs(place, disk):
    """All calls on the log directory fail while the job runs."""
    _, got = both(place, LONG, failing(disk), logs=disk.where + "/logs")
    moved(disk, got)


@on(Fuse)
def logs_fsync(place, disk):
    """Only fsync() fails: what the writers wrote may not be there, so it is no session."""
    _, got = both(place, LONG, failing(disk, "fsync"), logs=disk.where + "/logs")
    moved(disk, got)
    check(not sessions(disk.where + "/logs"), jobs.tree(disk.where))


@on(Fuse)
def logs_first(place, disk):
    """The log directory fails from the begin."""
    disk.fail()
    _, got = both(place, ["50", "5"], logs=disk.where + "/logs")
    said_once(got)
    check(got.code == 0 and "nput/output error" in got.err, got.transcript())


@on(Block)
def logs_block(place, disk):
    """The disk's blocks fail while the job runs: ext4 gives up its journal."""
    _, got = both(place, LONG, failing(disk), logs=disk.where + "/logs")
    moved(disk, got)


@on(Fuse)
def spool_first(place, disk):
    disk.fail()
    _, got = both(place, ["50", "5"], spool=disk.where + "/spool")
    said_once(got)
    check(got.code == 0 and "nput/output error" in got.err, got.transcript())


@on(Fuse, is_long=True)
def spool(place, disk):
    """All calls on the spool fail while the job records: pages of rings that no rank has touched yet, too."""
    _, got = both(place, LONG, failing(disk), spool=disk.where + "/spool", env={"MATRIX_EIO": "1"})
    check(got.code == 0 and got.podprof_lines(), got.transcript())


@on(Block, is_long=True)
def spool_block(place, disk):
    _, got = both(place, LONG, failing(disk), spool=disk.where + "/spool", options=("--ring-size", "4M"))
    check(got.code == 0 and got.podprof_lines(), got.transcript())


@on(Fuse)
def ring_pages(place, disk):
    """Pages of a ring that a rank writes to are gone, as after the loss of a disk and of the cached page: the rank lives on."""
    def hurt(job):
        job.begun()
        if job.podprof:
            for ring in glob.glob(disk.where + "/spool/rank-*.ring"):
                os.truncate(ring, 0)
            time.sleep(0.3)

    _, got = both(place, LONG, hurt, spool=disk.where + "/spool")
    check(got.code == 0 and got.podprof_lines(), got.transcript())


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (logs, logs_fsync, logs_first, logs_block, spool_first, spool, spool_block, ring_pages)}, __doc__))

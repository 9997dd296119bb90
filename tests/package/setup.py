#!/usr/bin/python3
"""What scripts/demo and scripts/test install: on a machine that has nothing, the demo asks for what it runs and for nothing that only tests need.
With PODPROF_LONG=1 the demo runs on a fresh Debian, which takes the network. Run by ctest package_setup."""
import fnmatch
import os
import re
import shutil
import subprocess
import sys

from deb import MIRROR, checkout, in_root, need
from package import SOURCE, cache, check, good, jobs, run

ONLY_TESTS = {"chromium", "mpich", "libmpich-dev", "clang-tidy", "clang-format", "cppcheck", "gfortran", "python3-venv", "build-essential"}
HIDDEN = ("*gfortran*", "f77", "f95", "*g++*", "*c++*", "clang*", "musl-*", "*.mpich", "h5dump", "chromium*", "slurm*", "munge*", "bindfs", "ncdump", "nccopy",
          "gdb", "strace", "protoc", "shellcheck", "cppcheck", "mandoc")
NEEDED = {"gcc", "make", "cmake", "openmpi-bin", "libopenmpi-dev", "libhdf5-dev", "libzmq3-dev"}


def missing(place, *options, **more):
    """The packages that install-deps misses where dpkg knows none, with its exit code and all that it printed."""
    bare = os.path.join(place.scratch, "bare")
    os.makedirs(bare, exist_ok=True)
    for name, body in (("dpkg-query", "exit 1"), ("apt-get", "echo apt-get was called; exit 1")):
        with open(os.path.join(bare, name), "w") as f:
            f.write(f"#!/bin/sh\n{body}\n")
        os.chmod(f.name, 0o755)
    env = dict(os.environ, PATH=bare + ":" + os.environ["PATH"], **more)
    got = subprocess.run([os.path.join(SOURCE, "scripts", "install-deps"), "--no-install", *options], env=env, text=True, capture_output=True)
    words = [line for line in got.stdout.split("\n") if line.startswith("missing:")]
    check(len(words) == 1 and "apt-get was called" not in got.stdout + got.stderr, got.stdout + got.stderr)
    return set(words[0].split()[1:]), got


def asked(place, full):
    """Three lists, each in the next; one sentence that installs what is missing."""
    for_demo, got = missing(place, "--build")
    check(got.returncode == 1 and "apt-get install --no-install-recommends" in got.stderr and "torch" not in got.stdout + got.stderr, got.stderr)
    for_tests, _ = missing(place)
    for_all, _ = missing(place, "--full")
    check(NEEDED <= for_demo and not for_demo & ONLY_TESTS, str(for_demo))
    check(ONLY_TESTS <= for_tests and for_demo < for_tests < for_all, str(for_tests))
    with open(os.path.join(SOURCE, "scripts", "demo")) as f:
        check("scripts/install-deps --build" in f.read(), "the demo installs more than it needs")
    got = subprocess.run([os.path.join(SOURCE, "scripts", "install-deps"), "--demo"], text=True, capture_output=True)
    check(got.returncode == 64 and "unknown option '--demo'" in got.stderr, got.stderr)


def without_tools(place, full):
    """A build where what only tests use is missing: it is configured with a line for each compiler, and makes what jobs of tests need."""
    bin, build = os.path.join(place.scratch, "tools"), os.path.join(place.scratch, "without")
    os.mkdir(bin)
    for directory in reversed(os.environ["PATH"].split(":")):
        for name in os.listdir(directory) if os.path.isdir(directory) else ():
            if not any(fnmatch.fnmatch(name, pattern) for pattern in HIDDEN):
                link = os.path.join(bin, name)
                if os.path.islink(link):
                    os.unlink(link)
                os.symlink(os.path.join(directory, name), link)
    env = {"PATH": bin}
    got = good(run(["cmake", "-S", SOURCE, "-B", build, "-DCMAKE_C_COMPILER=" + cache(place, "CMAKE_C_COMPILER")], env, limit=200))
    for line in ("tests: without a working mpif90.openmpi or mpif90: ", "tests: without a working mpicxx.openmpi or mpicxx: "):
        check(line in got.out, got.transcript())
    good(run(["cmake", "--build", build, "--target", "guest_programs"], env, limit=100))
    for directory, _, files in os.walk(build):
        if "build.make" in files:
            with open(os.path.join(directory, "build.make")) as f:
                check(not re.search(r"/(mpif90|mpicxx|gfortran|g\+\+)\S* ", f.read()), directory)


def bare_demo(place, full):
    """scripts/demo on a Debian that has nothing, and a plain build with the packages that it has installed."""
    if not os.environ.get("PODPROF_LONG"):
        raise jobs.Skipped("it takes minutes and the network: only with PODPROF_LONG=1 (scripts/test --full)")
    need("debootstrap", "unshare", "chroot")
    if os.getuid() != 0:
        raise jobs.Skipped("debootstrap and chroot need root")
    root = os.path.join(place.scratch, "bare-root")
    got = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root, MIRROR], text=True, capture_output=True)
    if got.returncode or in_root(root, "true").code:
        raise jobs.Skipped(f"no fresh Debian here, is there a network? {(got.stdout + got.stderr)[-300:]}")
    if os.path.exists("/etc/resolv.conf"):
        shutil.copy("/etc/resolv.conf", os.path.join(root, "etc"))
    checkout(os.path.join(root, "opt", "podprof"))
    got = good(in_root(root, "/opt/podprof/scripts/demo", "/tmp/logs", limit=900))
    check("captured on 8 of 8 ranks" in got.out + got.err and "rank 3" in got.out and "report.html" in got.out, got.transcript())
    check(not os.path.exists(os.path.join(root, "usr/bin/chromium")), "the demo installed a browser")
    good(in_root(root, "/bin/sh", "-c", "cd /opt/podprof && cmake -S . -B build-plain && cmake --build build-plain -j2", limit=900))


CASES = {"asked": asked, "without_tools": without_tools, "bare_demo": bare_demo}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

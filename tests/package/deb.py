#!/usr/bin/python3
"""The Debian package: built from a clean checkout, judged by lintian, installed on fresh Debian systems, where doctor and an MPI job run.
The tarball is tried there too. Takes minutes and the network: only with PODPROF_LONG=1. Run by ctest package_deb."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

from package import SOURCE, build_of, check, check_python, good, jobs, library_dir, run
from tarball import pack

MIRROR = os.environ.get("PODPROF_DEBIAN_MIRROR", "http://deb.debian.org/debian")
JOB = "openmpi-bin,python3-mpi4py,python3-numpy"
EXAMPLE = "/usr/share/doc/podprof/examples/mpi4py_train/mpi4py_train.py"
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4"]
PROGRAMS = ["p2p", "coll", "comm", "polls", "hostile", "conformance", "conformance_rma", "conformance_io"]
debs, made = [], []


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise jobs.Skipped(f"no {program} here")


def checkout(directory):
    """What git knows, as it stands in the working tree: nothing that was built."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if os.path.exists(os.path.join(SOURCE, name)):
            target = os.path.join(directory, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(os.path.join(SOURCE, name), target)


def build(place, full):
    """dpkg-buildpackage without an error, lintian without an error or warning."""
    need("dpkg-buildpackage", "dh", "lintian", "git")
    if not os.path.exists(os.path.join(SOURCE, ".git")):  # of a worktree it is a file
        raise jobs.Skipped("not a git checkout")
    out = tempfile.mkdtemp(prefix="podprof-deb-")
    made.append(out)
    checkout(os.path.join(out, "podprof"))
    got = run(["dpkg-buildpackage", "-us", "-uc", "-b", "-j2"], cwd=os.path.join(out, "podprof"), limit=900)
    check(got.code == 0, got.transcript())
    debs.extend(p for p in glob.glob(os.path.join(out, "*.deb")) if "-dbgsym_" not in p)
    check(sorted(os.path.basename(p).split("_")[0] for p in debs) == ["libpodprof-dev", "libpodprof-marks1", "podprof"], str(debs))
    unpacked = os.path.join(out, "unpacked")
    good(run(["dpkg-deb", "-x", next(p for p in debs if os.path.basename(p).startswith("podprof_")), unpacked]))
    check_python(library_dir(os.path.join(unpacked, "usr")))
    as_root = ["--allow-root"] if os.getuid() == 0 else []
    got = run(["lintian", *as_root, "--fail-on", "error,warning", *glob.glob(os.path.join(out, "*.changes"))], limit=200)
    check(got.code == 0, got.transcript())


def in_root(root, *command, limit=120):
    script = os.path.join(SOURCE, "tests", "package", "inroot.sh")
    return run(["unshare", "-m", "-p", "-f", script, root, *command], limit=limit)


def fresh(place, release):
    """A new system of that release, with an MPI and nothing of podprof."""
    need("debootstrap", "unshare", "chroot")
    if os.getuid() != 0:
        raise jobs.Skipped("debootstrap and chroot need root")
    if not debs:
        raise jobs.Skipped("there is no package: see 'build'")
    if not os.path.exists(f"/usr/share/debootstrap/scripts/{release}"):
        raise jobs.Skipped(f"this debootstrap does not know {release}")
    root = os.path.join(place.scratch, release)
    got = run(["debootstrap", "--variant=minbase", f"--include={JOB}", release, root, MIRROR], limit=900)
    if got.code:
        raise jobs.Skipped(f"debootstrap {release} failed, is there a network? {(got.out + got.err)[-300:]}")
    got = in_root(root, "true")
    if got.code:
        raise jobs.Skipped(f"no mounts here: {got.err[-300:]}")
    return root


def conform(root, place, release):
    """The programs of tests/mpi, built here, against that release's Open MPI: every call recorded once, with its bytes and peer."""
    where, fake = os.path.join(root, "opt", "conform"), os.path.join(build_of(place), "lib", "libfake_guest.so")
    if not os.path.exists(fake):
        raise jobs.Skipped("the programs of tests/mpi are not built")
    os.mkdir(where)
    libraries = library_dir(os.path.join(root, "opt", "unpacked"))
    for path in (fake, *(os.path.join(libraries, n) for n in ("libpodprof-mpi.so", "libpodprof-mpi-ompi.so")),
                 *(os.path.join(place.bin, p) for p in ("c_mpi_train", *("mpi_" + p for p in PROGRAMS))),
                 *(os.path.join(SOURCE, "tests", "mpi", p) for p in ("said.py", "conformance_mpi4py.py"))):
        shutil.copy(path, where)
    preload = "/opt/conform/libfake_guest.so:/opt/conform/libpodprof-mpi.so"
    # Open MPI 4.1's osc/rdma crashes on its own where ranks of a node do atomics on a window
    without = ["--mca", "osc", "^rdma"] if release == "bookworm" else []
    for program in PROGRAMS:
        good(in_root(root, *MPIRUN, *without, "-x", "LD_PRELOAD=" + preload, "/opt/conform/mpi_" + program))
    good(in_root(root, "/usr/bin/python3", "/opt/conform/said.py", "mpirun", preload, "4", "/tmp/covered", "/usr/bin/python3", "-B",
                 "/opt/conform/conformance_mpi4py.py"))
    got = good(in_root(root, *MPIRUN, "/opt/unpacked/bin/podprof", "run", "-o", "/tmp/c-logs", "--steps", "5:15", "--",
                       "/opt/conform/c_mpi_train", "--quiet", "--steps", "20"))
    check("steps 5..14 captured on 4 of 4 ranks" in got.err, got.transcript())


def try_release(place, release):
    root = fresh(place, release)
    for deb in debs:
        shutil.copy(deb, os.path.join(root, "opt"))
    good(in_root(root, "/bin/sh", "-c", "dpkg -i /opt/*.deb"))
    got = good(in_root(root, "podprof", "doctor"))
    check("recording  ok" in got.out and "collector  ok" in got.out and "MPI calls  ok" in got.out, got.transcript())
    got = good(in_root(root, *MPIRUN, "podprof", "run", "-o", "/tmp/logs", "--", "/usr/bin/python3", EXAMPLE))
    check("captured on 4 of 4 ranks" in got.err, got.transcript())
    got = good(in_root(root, "podprof", "report", "/tmp/logs"))
    check("4 of 4 ranks" in got.out and "Host communication" in got.out, got.transcript())
    where = pack(place)
    shutil.copytree(where, os.path.join(root, "opt", "unpacked"))
    good(in_root(root, "/bin/sh", "-c", "PYTHONPATH=$(echo /usr/lib/*/podprof/python) /usr/bin/python3 -m podprof run -o /tmp/m -- true"))
    got = good(in_root(root, "dpkg", "--purge", "podprof", "libpodprof-dev", "libpodprof-marks1"))
    check("not empty" not in got.out + got.err and not glob.glob(os.path.join(root, "usr/lib/*/podprof")), got.transcript())
    got = good(in_root(root, "/opt/unpacked/bin/podprof", "doctor"))
    check("recording  ok" in got.out and "/opt/unpacked/lib" in got.out, got.transcript())
    conform(root, place, release)


def bookworm(place, full):
    try_release(place, "bookworm")


def trixie(place, full):
    try_release(place, "trixie")


CASES = {"build": build, "bookworm": bookworm, "trixie": trixie}

if __name__ == "__main__":
    if not os.environ.get("PODPROF_LONG"):
        print("it takes minutes and the network: only with PODPROF_LONG=1 (scripts/test --full)")
        sys.exit(jobs.SKIP)
    code = jobs.main(CASES, __doc__)
    for built in made:
        shutil.rmtree(built, ignore_errors=True)
    sys.exit(code)

#!/usr/bin/python3
"""What the built files ask of the system that runs them. Run by ctest package_symbols."""
import os
import re
import sys

from package import SOURCE, build_of, check, good, jobs, run

GLIBC = (2, 34)  # of RHEL 9, Ubuntu 22.04 and Debian 12
GUESTS = ("libpodprof.so", "libpodprof-io.so", "libpodprof-mpi.so")
OBJECTS = ("libpodprof-mpi-ompi.so", "libpodprof-mpi-mpich.so", "libpodprof-mpi-abi.so")  # opened by libpodprof-mpi.so, if they were built
LIBC = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def needed(path):
    return set(re.findall(r"NEEDED\s+(\S+)", good(run(["objdump", "-p", path])).out))


def newest(path):
    versions = [tuple(int(n) for n in v.split(".")) for v in re.findall(r"\bGLIBC_([0-9.]+)", good(run(["objdump", "-T", path])).out)]
    check(versions, f"no versioned symbol in {path}")
    return max(versions)


def guests(place, full):
    """The guest libraries need libc of 2.34 and nothing else; their names in memory are their names on disk."""
    for name in GUESTS + OBJECTS:
        path = os.path.join(build_of(place), "lib", name)
        if name in OBJECTS and not os.path.exists(path):
            continue
        check(needed(path) <= LIBC, f"{name} needs {needed(path) - LIBC}")
        check(newest(path) <= GLIBC, f"{name} needs GLIBC_{newest(path)}")
        check(name in OBJECTS or re.search(rf"SONAME\s+{re.escape(name)}$", good(run(["objdump", "-p", path])).out, re.M), f"{name} has another SONAME")
        for word in ("RPATH", "RUNPATH", "TEXTREL"):
            check(word not in good(run(["objdump", "-p", path])).out, f"{name} has {word}")


def program(place, full):
    """podprof itself runs where the guest libraries run, and needs libc and libm only: HDF5 is in it."""
    path = place.podprof()
    print(f"podprof needs GLIBC_{'.'.join(map(str, newest(path)))}: {' '.join(sorted(needed(path)))}")
    if "static" not in linked(place):
        raise jobs.Skipped("HDF5 is linked as a shared library here: no archive that links")
    check(needed(path) <= LIBC | {"libm.so.6"}, f"podprof needs {needed(path) - LIBC}")


def linked(place):
    line = open(os.path.join(build_of(place), "launchers", "CMakeFiles", "podprof_cli.dir", "link.txt")).read()
    return "static" if re.search(r"libhdf5\w*\.a\b", line) else "shared"


def notices(place, full):
    """Every archive of others on the link line stands in the table of notices, and so does what it says."""
    line = open(os.path.join(build_of(place), "launchers", "CMakeFiles", "podprof_cli.dir", "link.txt")).read()
    archives = {os.path.basename(p) for p in re.findall(r"(?<!\S)(/\S+\.a)\b", line) if not p.startswith(build_of(place))}
    rows = [r.split("|") for r in open(os.path.join(SOURCE, "cmake", "third_party.list")).read().splitlines() if r and r[0] != "#"]
    known = {name for row in rows for name in row[4].split()}
    libc = {"libpthread.a", "libdl.a", "libm.a", "librt.a"}  # empty since glibc 2.34
    check(archives - libc <= known, f"linked and not in cmake/third_party.list: {archives - libc - known}")
    table = open(os.path.join(build_of(place), "third-party", "third-party.md")).read()
    for row in rows:
        if "static" in linked(place) or row[4] == "-":
            check(f"| {row[0]} |" in table and row[1] in table, f"{row[0]} is not in third-party.md")
            check(row[0].split()[0] in open(os.path.join(SOURCE, "NOTICE")).read(), f"{row[0]} is not in NOTICE")


CASES = {"guests": guests, "program": program, "notices": notices}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

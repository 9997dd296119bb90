#!/usr/bin/python3
"""The tarball: its name, what it holds, and that it runs from where it is unpacked. Run by ctest package_tarball."""
import glob
import os
import platform
import re
import shutil
import sys
import tarfile

from package import SOURCE, build_of, cache, check, check_green, check_modes, check_python, good, jobs, library_dir, run

# What every image with glibc has.
EVERYWHERE = re.compile(r"linux-vdso\.so|/ld-linux-|/lib(c|m|dl|pthread|rt|resolv)\.so\.")


def pack(place):
    version = cache(place, "CMAKE_PROJECT_VERSION")
    name = f"podprof-{version}-linux-{platform.machine()}"
    out = os.path.join(place.scratch, "packed")
    had = os.umask(0o022)
    # A generator without a preinstall step: what is built is packed, building it is not this test's work.
    good(run(["cpack", "-D", "CPACK_CMAKE_GENERATOR=Ninja", "-G", "TGZ", "-B", out, "--config", os.path.join(build_of(place), "CPackConfig.cmake")], limit=100))
    os.umask(had)
    path = os.path.join(out, name + ".tar.gz")
    check(os.path.isfile(path), f"no {name}.tar.gz: {os.listdir(out)}")
    with tarfile.open(path) as tar:
        tar.extractall(place.scratch)
    return os.path.join(place.scratch, name)


def unpacked(place, full):
    """Whole, stripped, and green where it lies."""
    where = pack(place)
    check_modes(where)
    for part in ("bin/podprof", "include/podprof.h", "share/doc/podprof/LICENSE", "share/doc/podprof/NOTICE",
                 "share/doc/podprof/third-party/third-party.md", "share/man/man1/podprof.1"):
        check(os.path.isfile(os.path.join(where, part)), f"no {part}: {jobs.tree(where)}")
    for row in open(os.path.join(where, "share/doc/podprof/third-party/third-party.md")).read().splitlines():
        text = row.split("|")[5].strip() if row.count("|") == 6 else ""
        if text.endswith(".copyright"):
            check(os.path.getsize(os.path.join(where, "share/doc/podprof/third-party", text)) > 500, f"{text} is empty")
    plugins = library_dir(where)
    check_python(plugins)
    check_green(os.path.join(where, "bin/podprof"), os.path.join(plugins, "libpodprof.so"))
    for path in (os.path.join(where, "bin/podprof"), *(p for p in glob.glob(plugins + "/*.so*") if os.path.isfile(p))):
        sections = good(run(["objdump", "-h", path])).out
        check(".debug_info" not in sections, f"{path} is not stripped")
        for line in good(run(["ldd", path])).out.splitlines():
            check(EVERYWHERE.search(line) or where in line or "statically linked" in line, f"{path} needs of the system: {line.strip()}")


def carried(place, full):
    """Where HDF5 has no archive that links: what podprof needs is carried beside it, each library with its licence."""
    if not full:
        raise jobs.Skipped("a second build takes minutes: only with PODPROF_LONG=1")
    build, where = os.path.join(place.scratch, "build"), os.path.join(place.scratch, "carried")
    good(run(["cmake", "-S", SOURCE, "-B", build, "-DPODPROF_STATIC=OFF", "-DPODPROF_CARRY=ON", "-DBUILD_TESTING=OFF"]))
    good(run(["cmake", "--build", build, "-j2"], limit=600))
    good(run(["cmake", "--install", build, "--prefix", where], limit=100))
    shutil.rmtree(build)
    for line in good(run(["ldd", os.path.join(where, "bin/podprof")])).out.splitlines():
        check(EVERYWHERE.search(line) or where in line, f"podprof needs of the system: {line.strip()}")
    check_green(os.path.join(where, "bin/podprof"), os.path.join(library_dir(where), "libpodprof.so"))
    texts = os.path.join(where, "share/doc/podprof/third-party")
    rows = [r.split("|") for r in open(os.path.join(texts, "carried.md")).read().splitlines()[4:]]
    check(any("libhdf5" in r[1] for r in rows) and len(rows) > 10, str(rows))
    for row in rows:
        check(os.path.getsize(os.path.join(texts, row[3].strip())) > 300, f"no licence text of {row[1]}")


CASES = {"unpacked": unpacked, "carried": carried}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

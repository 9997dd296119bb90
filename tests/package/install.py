#!/usr/bin/python3
"""cmake --install: a prefix, a moved prefix, DESTDIR, and programs outside that use the package. Run by ctest package_install."""
import json
import os
import shutil
import sys

from package import SOURCE, build_of, cache, check, check_green, check_modes, check_python, check_records, good, install, jobs, library_dir, run

OUTSIDE = os.path.join(SOURCE, "tests", "package", "outside")
PARTS = ("bin/podprof", "include/podprof.h", "share/man/man1/podprof.1", "share/man/man1/podprof-run.1",
         "share/bash-completion/completions/podprof", "share/doc/podprof/LICENSE", "share/doc/podprof/NOTICE", "share/doc/podprof/README.md",
         "share/doc/podprof/third-party/third-party.md", "share/doc/podprof/docs/formats.md",
         "share/doc/podprof/examples/c_mpi_train/c_mpi_train.c")


def prefix(place, full):
    """Every part is there, with its mode, and podprof works from there."""
    where = os.path.join(place.scratch, "prefix")
    install(place, where)
    for part in PARTS:
        check(os.path.isfile(os.path.join(where, part)), f"{part} is not installed: {jobs.tree(where)}")
    check_modes(where)
    check_python(library_dir(where))
    check_green(f"{where}/bin/podprof", os.path.join(library_dir(where), "libpodprof.so"))


def moved(place, full):
    """The prefix moves after it was installed; PATH has a symbolic link to the program only. Slurm's hooks find that program too, also by a symbolic
    link."""
    install(place, os.path.join(place.scratch, "before"))
    after = os.path.join(place.scratch, "after", "deep")
    os.makedirs(os.path.dirname(after))
    os.rename(os.path.join(place.scratch, "before"), after)
    links = os.path.join(place.scratch, "links")
    os.mkdir(links)
    os.symlink("../after/deep/bin/podprof", os.path.join(links, "podprof"))
    path = {"PATH": f"{links}:{os.environ['PATH']}"}
    check_green(shutil.which("podprof", path=path["PATH"]), os.path.join(library_dir(after), "libpodprof.so"), path)
    hook = os.path.join(after, "share", "podprof", "slurm", "prolog")
    if not os.path.exists(hook):
        raise jobs.Skipped("podprof was built without slurm/spank.h (apt-get install libslurm-dev)")
    os.symlink(hook, os.path.join(links, "50-podprof"))
    with open(os.path.join(links, "logger"), "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\nexec cat >{links}/said\n")
    os.chmod(os.path.join(links, "logger"), 0o755)
    os.unlink(os.path.join(links, "podprof"))
    good(run([os.path.join(links, "50-podprof")], {**path, "SLURM_JOB_ID": "7", "SLURM_JOB_UID": str(os.getuid())}))
    with open(os.path.join(links, "said"), encoding="utf-8", errors="replace") as f:
        check(os.path.join(library_dir(after), "libpodprof.so") in (said := f.read()), said)


def destdir(place, full):
    """What distributions do: files land below DESTDIR, and what is made for the install names nothing of it or of the build."""
    root = os.path.join(place.scratch, "root")
    good(run(["cmake", "--install", build_of(place)], {"DESTDIR": root}))
    where = root + cache(place, "CMAKE_INSTALL_PREFIX")
    check(os.access(f"{where}/bin/podprof", os.X_OK), str(jobs.tree(root)))
    for directory, _, files in os.walk(root):
        for name in files:
            if name.endswith((".cmake", ".pc", ".1")) and ".so" not in name:
                text = open(os.path.join(directory, name)).read()
                check(root not in text and build_of(place) not in text and SOURCE not in text, f"{name} names the build or DESTDIR")
    check_green(f"{where}/bin/podprof")


def outside_cmake(place, full):
    """find_package(podprof) of a moved prefix and of the build tree, for C and C++."""
    install(place, os.path.join(place.scratch, "before"))
    after = os.path.join(place.scratch, "after")
    os.rename(os.path.join(place.scratch, "before"), after)
    out = os.path.join(place.scratch, "out")
    good(run(["cmake", "-S", OUTSIDE, "-B", out, f"-DCMAKE_PREFIX_PATH={after}"]))
    found = good(run(["cmake", "-L", "-N", out])).out
    check(after in found, f"another podprof was found: {found}")
    good(run(["cmake", "--build", out], limit=100))
    for name in ("outside_c", "outside_cxx"):
        check_records(place, f"{after}/bin/podprof", os.path.join(out, name))
    good(run(["cmake", "-S", OUTSIDE, "-B", out + "2", f"-Dpodprof_DIR={build_of(place)}"]))
    good(run(["cmake", "--build", out + "2", "--target", "outside_c"]))
    newer = os.path.join(place.scratch, "newer")
    shutil.copytree(OUTSIDE, newer)
    lists = open(os.path.join(newer, "CMakeLists.txt")).read()
    open(os.path.join(newer, "CMakeLists.txt"), "w").write(lists.replace("podprof 0.2 ", "podprof 9.9 "))
    got = run(["cmake", "-S", newer, "-B", newer + "/b", f"-DCMAKE_PREFIX_PATH={after}"])
    check(got.code != 0 and "version" in got.err, "find_package(podprof 9.9) was content with this version")


def outside_pkgconfig(place, full):
    """pkg-config of a moved prefix, for C and C++."""
    if not shutil.which("pkg-config"):
        raise jobs.Skipped("no pkg-config here")
    install(place, os.path.join(place.scratch, "before"))
    after = os.path.join(place.scratch, "after")
    os.rename(os.path.join(place.scratch, "before"), after)
    plugins = library_dir(after)
    path = {"PKG_CONFIG_PATH": os.path.join(os.path.dirname(plugins), "pkgconfig")}
    flags = good(run(["pkg-config", "--cflags", "--libs", "podprof"], path)).out.split()
    check(len(flags) == 1 and os.path.samefile(flags[0][2:], f"{after}/include"), f"pkg-config says {flags}")
    where = good(run(["pkg-config", "--variable=plugindir", "podprof"], path)).out.strip()
    check(os.path.samefile(where, plugins), f"plugindir is {where}")
    for compiler, source in (("cc", "marks.c"), ("c++", "marks.cc")):
        if not shutil.which(compiler):
            continue
        program = os.path.join(place.scratch, source + ".out")
        good(run([compiler, "-Wall", "-Wextra", "-Werror", *flags, os.path.join(OUTSIDE, source), "-o", program]))
        check_records(place, f"{after}/bin/podprof", program)


def other_languages(place, full):
    """libpodprof-marks of a moved prefix: Fortran, linked with either form of it, also with long default integers, and what calls C functions."""
    install(place, os.path.join(place.scratch, "before"))
    after = os.path.join(place.scratch, "after")
    os.rename(os.path.join(place.scratch, "before"), after)
    libraries, podprof = os.path.dirname(library_dir(after)), f"{after}/bin/podprof"
    check_records(place, podprof, sys.executable, os.path.join(OUTSIDE, "marks.py"), f"{libraries}/libpodprof-marks.so")
    if not shutil.which("gfortran"):
        raise jobs.Skipped("no gfortran here: C's interface was tried, the module was not")
    path = {"PKG_CONFIG_PATH": os.path.join(libraries, "pkgconfig")}
    said = [good(run(["pkg-config", *words, "podprof-marks"], path)).out.strip() for words in (["--libs"], ["--variable=fortran"])] \
        if shutil.which("pkg-config") else [f"-L{libraries} -lpodprof-marks", f"{after}/share/podprof/fortran/podprof.f90"]
    for name, flags in (("shared", [*said[0].split(), f"-Wl,-rpath,{libraries}"]), ("static", [f"{libraries}/libpodprof-marks.a", "-ldl"]),
                        ("long", ["-fdefault-integer-8", *said[0].split(), f"-Wl,-rpath,{libraries}"])):
        where = os.path.join(place.scratch, name)
        os.mkdir(where)
        good(run(["gfortran", "-Wall", "-Wextra", "-Werror", "-J", where, said[1], os.path.join(OUTSIDE, "marks.f90"), *flags, "-o", f"{where}/marks"]))
        check_records(place, podprof, f"{where}/marks")
    logs = place.new_logs()
    good(run([podprof, "run", "-o", logs, "--", f"{where}/marks"]))
    ops = good(run([podprof, "report", "--table", "op", logs])).out
    check("from Fortran" in ops and "n" * 300 in ops, ops)


def broken(place, full):
    """Half an install: doctor says what is wrong in words and in JSON, and the job runs all the same."""
    where = os.path.join(place.scratch, "prefix")
    install(place, where)
    podprof = f"{where}/bin/podprof"
    printed = json.loads(good(run([podprof, "doctor", "--json"], limit=100)).out)
    check(printed["green"] is True and {c["state"] for c in printed["checks"]} <= {"ok", "limited"}, str(printed))
    check(all(bool(c["fix"]) == (c["state"] != "ok") for c in printed["checks"]), str(printed))
    check([c["state"] for c in printed["checks"] if c["thing"] == "recording"] == ["ok"], str(printed))
    check({o["variable"] for o in printed["options"]} >= {"PODPROF_OUTPUT", "PODPROF_STEPS"}, str(printed))
    os.remove(os.path.join(library_dir(where), "libpodprof.so"))
    got = run([podprof, "doctor"], limit=100)
    check(got.code == 1 and "collector  no" in got.out and "recording  no" in got.out and "fix: " in got.out, got.transcript())
    printed = json.loads(run([podprof, "doctor", "--json"], limit=100).out)
    check(printed["green"] is False, str(printed))
    got = run([podprof, "run", "-o", place.new_logs(), "--", "/bin/sh", "-c", "echo alive; exit 3"])
    check(got.code == 3 and got.out == "alive\n" and len(got.podprof_lines()) == 1 and "unprofiled" in got.err, got.transcript())


CASES = {"prefix": prefix, "broken": broken, "moved": moved, "destdir": destdir, "outside_cmake": outside_cmake, "outside_pkgconfig": outside_pkgconfig, "other_languages": other_languages}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

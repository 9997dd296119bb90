#!/usr/bin/python3
"""The wheel: packed from this build tree, installed into a fresh virtual environment, green there. Run by ctest package_wheel."""
import glob
import os
import sys
import zipfile

from package import SOURCE, build_of, check, check_green, good, jobs, run


def venv(place, full):
    out, where = os.path.join(place.scratch, "out"), os.path.join(place.scratch, "venv")
    got = run([jobs.PYTHON, "-m", "venv", where])
    if got.code:
        raise jobs.Skipped(f"no virtual environment here: {got.out[-200:]}")
    pip = os.path.join(where, "bin", "pip")
    # Isolation would only fetch what the backend needs, and it needs nothing.
    good(run([pip, "-q", "wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", out, SOURCE], {"PODPROF_BUILD_DIR": build_of(place)}))
    wheels = glob.glob(os.path.join(out, "podprof-*-py3-none-manylinux_2_*.whl"))
    check(len(wheels) == 1, str(os.listdir(out)))
    check(zipfile.ZipFile(wheels[0]).testzip() is None, "a broken wheel")
    good(run([pip, "-q", "install", "--no-index", wheels[0]]))
    check_green(os.path.join(where, "bin", "podprof"), os.path.join(where, "lib"))
    for part in ("include/podprof.h", "share/doc/podprof/NOTICE", "share/man/man1/podprof.1"):
        check(os.path.isfile(os.path.join(where, part)), f"no {part}")
    shown = good(run([pip, "show", "-f", "podprof"])).out
    check("bin/podprof" in shown and "libpodprof.so" in shown, shown)
    good(run([pip, "-q", "uninstall", "-y", "podprof"]))
    check(not os.path.exists(os.path.join(where, "bin", "podprof")), "uninstall left the program")


CASES = {"venv": venv}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

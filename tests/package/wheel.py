#!/usr/bin/python3
"""The wheel and the source archive, as scripts/wheel makes them: what they hold, and a job from a fresh virtual environment.
`python -m podprof` without a wheel. Run by ctest package_wheel."""
import glob
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from package import SOURCE, build_of, check, check_green, good, jobs, run

MODULES = os.path.join(SOURCE, "launchers", "python")
NO_INDEX = r"No matching distribution|Could not find a version|ConnectionError|Failed to establish|Temporary failure"
MARKS = "import os, podprof\nfor _ in podprof.steps(range(8)):\n    pass\nprint('preloaded', 'libpodprof' in os.environ.get('LD_PRELOAD', ''))\n"
made, skipped = [], []


def built():
    """The directory with both files, made once; they come from pip's build isolation, which wants an index."""
    if made:
        return made[0]
    if skipped:
        raise jobs.Skipped(skipped[0])
    out = tempfile.mkdtemp(prefix="podprof-wheel-")
    got = run([os.path.join(SOURCE, "scripts", "wheel"), out], {"PYTHON": jobs.PYTHON}, limit=800)
    if got.code and re.search(NO_INDEX, got.out + got.err):
        os.rmdir(out)
        skipped.append(f"pip finds no build tools here (no network?): {got.err.strip().splitlines()[-1]}")
        raise jobs.Skipped(skipped[0])
    good(got)
    made.append(out)
    check(sorted(got.out.split()) == sorted(glob.glob(os.path.join(out, "*"))), f"it prints not what it made: {got.out}")
    return out


def wanted(full):
    if not full:
        raise jobs.Skipped("podprof is built twice for it: PODPROF_LONG=1")


def only(pattern):
    found = glob.glob(os.path.join(built(), pattern))
    check(len(found) == 1, f"{pattern}: {os.listdir(built())}")
    return found[0]


def source(place, full):
    """The archive holds what git knows and nothing else; the wheel was made from it."""
    wanted(full)
    names = {name.partition("/")[2] for name in tarfile.open(only("podprof-*.tar.gz")).getnames()}
    check({"CMakeLists.txt", "PKG-INFO", "launchers/python/podprof/__main__.py"} <= names, str(sorted(names)[:40]))
    got = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], stdout=subprocess.PIPE)
    known = {name for name in got.stdout.decode().split("\0") if os.path.exists(os.path.join(SOURCE, name))} - {""}
    if got.returncode == 0:
        check(names - known == {"PKG-INFO"}, f"in the archive only: {names - known}")
        check(not known - names, f"not in the archive: {known - names}")


def wheel(place, full):
    """One file for any Python 3 of this kind of machine: a manylinux tag, whole, nothing of the build in it."""
    wanted(full)
    path = only("podprof-*-py3-none-manylinux_2_*.whl")
    packed = zipfile.ZipFile(path)
    check(packed.testzip() is None, "a broken wheel")
    names = packed.namelist()
    check(not [n for n in names if "__pycache__" in n or n.endswith(".pyc")], str(names))
    data = re.match(r"(podprof-[^-]+)-", os.path.basename(path)).group(1) + ".data/data/"
    parts = ["bin/podprof", "include/podprof.h", "lib/podprof/libpodprof.so", "lib/podprof/python/podprof/__main__.py",
             "lib/podprof/python/sitecustomize.py", "share/doc/podprof/NOTICE", "share/man/man1/podprof.1", "share/man/man1/podprof-run.1"]
    for name in ("libpodprof-mpi.so", "libpodprof-mpi-ompi.so", "libpodprof-mpi-mpich.so"):
        if os.path.exists(os.path.join(build_of(place), "lib", name)):
            parts.append("lib/podprof/" + name)
    for part in parts:
        check(data + part in names, f"no {part}: {names}")
    scratch = re.compile(rb"/tmp/[\w./-]*/(wheel|build|built)/")
    for name in names:
        if name.endswith((".pc", ".cmake", ".1", ".py")):
            check(not scratch.search(packed.read(name)), f"{name} names the build")
    check(packed.getinfo(data + "bin/podprof").external_attr >> 16 & 0o111, "the program cannot be run")


def venv(place, full):
    """Installed by pip: green, importable, recording, the same by python -m; gone when it is uninstalled."""
    wanted(full)
    path, where = only("podprof-*.whl"), os.path.join(place.scratch, "venv")
    good(run([jobs.PYTHON, "-m", "venv", where]))
    python, pip = os.path.join(where, "bin", "python"), [os.path.join(where, "bin", "pip"), "-q"]
    podprof = os.path.join(where, "bin", "podprof")
    before = set(jobs.tree(where))
    good(run([*pip, "install", "auditwheel"]))
    shown = good(run([os.path.join(where, "bin", "auditwheel"), "show", path])).out
    check(re.search(r'consistent with\s+the following\s+platform tag:\s+"manylinux_2_\d+_\w+"', shown), shown)
    good(run([*pip, "uninstall", "-y", "auditwheel", "packaging", "pyelftools"]))

    good(run([*pip, "install", "--no-index", path]))
    check_green(podprof, os.path.join(where, "lib"))
    alone = good(run([python, "-c", MARKS], cwd=place.scratch))
    check(alone.out == "preloaded False\n" and not alone.err, alone.transcript())
    for words in (["--help"], ["run", "--help"], ["no-such-verb"], []):
        one, two = run([podprof, *words]), run([python, "-m", "podprof", *words], cwd=place.scratch)
        check((one.code, one.out, one.err) == (two.code, two.out, two.err), f"{words}: {one.transcript()} {two.transcript()}")
    for way in ([podprof], [python, "-m", "podprof"], [python, "-I", "-m", "podprof"]):
        logs = place.new_logs()
        got = good(run([*way, "run", "-o", logs, "--", python, "-c", MARKS], cwd=place.scratch))
        check(got.out == "preloaded True\n", got.transcript())
        good(run([*way, "report", logs]))
        summary = open(os.path.join(jobs.session_of(logs), "summary.txt")).read()
        check("steps 0..7" in summary, summary)
    got = run([python, "-m", "podprof", "run", "-o", place.new_logs(), "--", python, "-c", "raise SystemExit(5)"], cwd=place.scratch)
    check(got.code == 5, got.transcript())

    good(run([*pip, "uninstall", "-y", "podprof"]))
    left = {p for p in set(jobs.tree(where)) - before if "__pycache__" not in p or "podprof" in p}
    check(not [p for p in left if "podprof" in p], f"uninstall left {left}")


def module(place, full):
    """`python -m podprof` finds the program beside the package, then of the environment, then in PATH; without one it says so."""
    way = [jobs.PYTHON, "-m", "podprof"]
    got = run([*way, "--help"], {"PYTHONPATH": MODULES, "PATH": "/nowhere"}, cwd=place.scratch)
    check(os.path.exists("/usr/bin/podprof") or got.code == 127 and not got.out and got.err.count("\n") == 1 and "no program 'podprof'" in got.err, got.transcript())
    want = good(run([place.podprof(), "--help"])).out
    got = good(run([*way, "--help"], {"PYTHONPATH": MODULES, "PATH": os.path.abspath(place.bin)}, cwd=place.scratch))
    check(got.out == want, got.transcript())
    beside = os.path.join(place.scratch, "prefix")
    os.makedirs(os.path.join(beside, "lib", "python3.99", "site-packages"))
    os.makedirs(os.path.join(beside, "bin"))
    os.symlink(os.path.join(MODULES, "podprof"), os.path.join(beside, "lib", "python3.99", "site-packages", "podprof"))
    program = os.path.join(beside, "bin", "podprof")
    open(program, "w").write("#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 9\n")
    env = {"PYTHONPATH": os.path.join(beside, "lib", "python3.99", "site-packages"), "PATH": os.path.abspath(place.bin)}
    got = good(run([*way, "--help"], env, cwd=place.scratch))
    check(got.out == want, f"a file that cannot be run was taken: {got.transcript()}")
    os.chmod(program, 0o755)
    got = run([*way, "run", "--", "a b", ""], env, cwd=place.scratch)
    check(got.code == 9 and got.out == "<run><--><a b><>", got.transcript())
    open(program, "w").write("#!/nowhere/sh\n")
    got = run([*way, "run"], env, cwd=place.scratch)
    check(got.code == 127 and got.err.count("\n") == 1 and f"cannot start '{program}'" in got.err, got.transcript())


CASES = {"module": module, "source": source, "wheel": wheel, "venv": venv}

if __name__ == "__main__":
    code = jobs.main(CASES, __doc__)
    for directory in made:
        subprocess.run(["rm", "-rf", directory], check=False)
    sys.exit(code)

"""What the drivers of tests/python share: the Pythons of this machine, programs written on the spot, processes under podprof run."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for part in ("guest", "session"):
    sys.path.insert(0, os.path.join(HERE, "..", part))

import jobs  # noqa: E402
from jobs import check  # noqa: E402

SHIM = os.path.join(HERE, "..", "..", "launchers", "python")


def pythons():
    """Debian's, and each python3.9 to python3.14 of PATH."""
    found = {os.path.realpath(jobs.PYTHON): jobs.PYTHON}
    for minor in range(9, 15):
        path = shutil.which(f"python3.{minor}")
        if path and subprocess.run([path, "-c", "import ctypes"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def write(place, name, text):
    path = os.path.join(place.scratch, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def alone(command, env=None):
    """Without podprof."""
    return jobs.run(command, env)


def under(place, command, env=None, options=()):
    """Under podprof run: the run and its log directory."""
    logs = place.new_logs()
    return jobs.run(place.under(logs, command, *options), env), logs


def same(base, got, what):
    """As without podprof: code, stdout, and stderr but for podprof's lines."""
    check(got.code == base.code and got.out == base.out, f"{what}: code {got.code}, {got.out!r} instead of {base.code}, {base.out!r}\n{got.err}")
    check(got.other_err() == base.other_err(), f"{what}: stderr {got.err!r} instead of {base.err!r}")

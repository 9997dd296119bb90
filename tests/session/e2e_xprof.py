#!/usr/bin/python3
"""What xprof and xarray make of our files: overview_page, trace_viewer@ and pod_viewer with our steps; pod_viewer equals pod.h5.
Run by ctest session_xprof (label xprof) once the build tree has its virtual environment."""
import os
import subprocess
import sys

from e2e import good, train
import jobs
from jobs import Skipped, check, session_of


def python():
    path = os.environ.get("PODPROF_XPROF_PYTHON", "")
    if not os.path.exists(path):
        raise Skipped("no Python with xprof; ctest's xprof_venv makes it where there is a network")
    return path


def helper(place, script, *words):
    """A script of this directory with the environment's Python."""
    got = subprocess.run([python(), "-B", place.script(script), *words], capture_output=True, text=True, timeout=150,
                         env={k: v for k, v in os.environ.items() if not k.startswith("PODPROF_")})
    check(got.returncode != jobs.SKIP, got.stdout[-300:])
    check(got.returncode == 0, f"{script} {' '.join(words)}: {got.returncode}\n{got.stdout[-3000:]}\n{got.stderr[-3000:]}")
    return got.stdout


def session(place, *options):
    logs = place.new_logs()
    good(train(place, logs, ranks=4, words=["--steps", "40", "--slow-rank", "2", "--slow-us", "3000"], options=["--steps", "10:20", *options]))
    made = session_of(logs)
    return os.path.join(logs, "plugins", "profile", os.path.basename(made)), os.path.join(made, "pod.h5")


def per_rank(place, full):
    """One file a rank: every row of pod_viewer equals pod.h5."""
    python()
    helper(place, "check_xprof.py", *session(place, "--xspace", "rank"))


def per_host(place, full):
    """xprof shows one rank of a file: the one that the verdict is about."""
    python()
    helper(place, "check_xprof.py", *session(place), "2")


def xarray_opens(place, full):
    python()
    helper(place, "xarray_open.py", session(place)[1], "netcdf4", "h5netcdf")


CASES = {"per_rank": per_rank, "per_host": per_host, "xarray": xarray_opens}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

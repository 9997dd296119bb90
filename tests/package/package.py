"""What the package tests share: the build tree, installing it, recording with an installed podprof. On top of tests/guest/jobs.py."""
import os
import re
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402
from jobs import check, run  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build_of(place):
    return os.path.dirname(os.path.abspath(place.bin))


def cache(place, name):
    """A value of the build's CMakeCache.txt; '' where it is not there."""
    found = re.search(rf"^{name}:[A-Z]+=(.*)$", open(os.path.join(build_of(place), "CMakeCache.txt")).read(), re.M)
    return found.group(1) if found else ""


def good(got):
    check(got.code == 0 and not got.timed_out, got.transcript())
    return got


def install(place, prefix):
    had = os.umask(0o022)
    good(run(["cmake", "--install", build_of(place), "--prefix", prefix]))
    os.umask(had)


def library_dir(prefix):
    """lib, or lib/x86_64-linux-gnu where the build was configured so."""
    for directory, _, files in os.walk(os.path.join(prefix, "lib")):
        if "libpodprof.so" in files:
            return directory
    raise jobs.Failed(f"no libpodprof.so below {prefix}/lib: {jobs.tree(prefix)}")


def check_green(podprof, library=None, env=None):
    """Nothing is 'no', a job was recorded, and the collector is this prefix's own."""
    got = good(run([podprof, "doctor"], env, limit=100))
    rows = {line[2:12].strip(): line[13:] for line in got.out.splitlines() if line.startswith("  ")}
    check(rows.get("recording", "").startswith("ok") and rows.get("collector", "").startswith("ok"), got.transcript())
    if library:
        check(library in rows["collector"], f"not the collector of {library}: {rows['collector']}")


def check_records(place, podprof, program, *words):
    """The program runs without podprof and is recorded with it."""
    got = good(run([program, *words]))
    check("recorded 0" in got.out and not got.err, got.transcript())
    logs = place.new_logs()
    got = good(run([podprof, "run", "-o", logs, "--", program, *words]))
    check("recorded 1" in got.out, got.transcript())
    summary = open(os.path.join(jobs.session_of(logs), "summary.txt")).read()
    check("steps 0..9" in summary, summary)


def check_python(plugins):
    """The Python parts beside the guest libraries are those of the source, and nothing that a Python left there."""
    source, installed = os.path.join(SOURCE, "launchers", "python"), os.path.join(plugins, "python")
    want = {os.path.relpath(os.path.join(d, n), source) for d, _, names in os.walk(source) for n in names if n.endswith((".py", ".pyi", "py.typed"))}
    got = {os.path.relpath(os.path.join(d, n), installed) for d, _, names in os.walk(installed) for n in names}
    check(got == want and "sitecustomize.py" in got, f"{installed} has {sorted(got)}, not {sorted(want)}")


def check_modes(prefix):
    """Programs and hooks of Slurm 755, all else 644, directories 755."""
    for directory, _, files in os.walk(prefix):
        for name in files:
            path = os.path.join(directory, name)
            if os.path.islink(path):
                continue
            want = 0o755 if os.path.basename(directory) == "bin" or name in ("prolog", "epilog", "task_prolog", "task_epilog") else 0o644
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            check(mode == want, f"{path} has mode {mode:o}, not {want:o}")
        if directory != prefix:
            mode = stat.S_IMODE(os.lstat(directory).st_mode)
            check(mode == 0o755, f"{directory} has mode {mode:o}")

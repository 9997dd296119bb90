#!/usr/bin/python3
"""A session that holds only the last part of what was recorded says so first, and nothing of the whole run. Run by ctest session_evicted."""
import re
import sys

from e2e import h5, read, text
import jobs
from jobs import check, run, session_of

KEPT = r"(\d+(?:\.\d+)?) % of the (run|window)"


def flood(place, kind, *options):
    logs = place.new_logs()
    return checked(run(place.mpirun(2, place.under(logs, [place.program("flood"), kind], *options))), logs)


def checked(got, logs):
    check(got.code == 0 and not got.other_err(), got.transcript())
    session = session_of(logs)
    got.head, got.summary, got.session = got.podprof_lines()[0], read(session, "summary.txt"), session
    check("whole run" not in got.head and "of the run in MPI_Init" not in got.summary, got.head + got.summary)
    with h5(session) as f:
        recorded, kept = f["worker/recorded_ns"][()], f["worker/kept_ns"][()]
        got.warnings = "\n".join(text(w) for w in f["quality/warning"][()])
        check((kept <= recorded).all() and (kept < recorded).any(), (recorded, kept))
        one_step = f["worker/step_rule"][0] == b"window"
        share = 100 * (kept / recorded).min() if one_step and kept.all() else 100 * kept.sum() / recorded.sum()
    check("marked no step" not in got.summary + got.warnings and "whole run" not in got.summary + got.warnings, got.summary + got.warnings)
    for line in (got.head, got.summary.splitlines()[0]):
        found = re.search(KEPT, line)
        check(found and abs(float(found.group(1)) - share) <= 1, f"{share} is not in: {line}")
        got.base = found.group(2)
    check(re.search('"kept":"' + KEPT, read(session, "report.html")), "the page does not say it")
    return got


def without_steps(place, full):
    """Ranges of one rank fill the buffer: they are numbered from where records were kept."""
    got = flood(place, "plain", "--window-buffer", "1M")
    check(got.base == "run", got.head)


def marks(place, full):
    """One rank's steps are evicted: it is not said to have marked none."""
    got = flood(place, "marks", "--window-buffer", "1M")
    check(got.base == "run" and "no step of 1 of 2 ranks was kept" in got.warnings, got.head + got.warnings)


def one_step(place, full):
    """No rank has steps: what is left begins at the same time on all ranks, with nobody's MPI_Init."""
    got = flood(place, "calls", "--window-buffer", "1M")
    check(re.search("the last " + KEPT + " as one step", got.head) and "MPI_Init" not in got.summary, got.head + got.summary)
    with h5(got.session) as f:
        begin = f["step/begin_ns"][()]
        recorded, kept = f["worker/recorded_ns"][()], f["worker/kept_ns"][()]
        check(begin.min() >= (recorded - kept).max() - 1000000, f"the step begins before what is kept of all ranks: {begin}")


def window(place, full):
    """A window of time: the share is the window's."""
    check(flood(place, "marks", "--window-buffer", "1M", "--duration", "60").base == "window", "no window")


def keep(place, full):
    """--keep lets most of the run go. Of a run that recorded nothing in the time kept nothing is left; that is said."""
    for _ in range(3):
        logs = place.new_logs()
        got = run(place.under(logs, [place.program("open_ranges"), "late"], "--keep", "1s"))
        if "Give a larger --keep" not in got.err:  # a busy machine: its end came more than a second after its last record
            got = checked(got, logs)
            check(got.base == "run", got.head)
            break
    got = run(place.under(place.new_logs(), [place.program("open_ranges"), "idle"], "--keep", "300ms"))
    check("Give a larger --keep" in got.err and "no rank called MPI" not in got.err, got.transcript())


if __name__ == "__main__":
    sys.exit(jobs.main({"without_steps": without_steps, "marks": marks, "one_step": one_step, "window": window, "keep": keep}, __doc__))

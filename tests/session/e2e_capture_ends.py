#!/usr/bin/python3
"""What captures leave behind: nothing in the windows of the job, nothing of a keeper that was killed, a line of rank 0 for a signal.
Run by ctest session_capture_ends."""
import glob
import os
import re
import shutil
import signal
import sys
import time

from e2e import good, h5
from e2e_capture import LONG, begin, capture, spool_of, window
import jobs
from jobs import check, finish, over, run, sessions, start, wait_until


def before_its_window(place, full):
    """What captures had ranks record in front of a window of --steps, into it and behind it is not in that window."""
    for options, windows in (("--steps", "110:115"), {}), (("--steps", "110:115,125:127"), {"125:127": 4}):
        logs = place.new_logs()
        process = begin(place, logs, ["350", "10"], *options, ranks=2)
        run(capture(place, logs, "--steps", "+3"))
        got = run(capture(place, logs, "--duration", "1200ms"))
        check(got.code == 0, got.transcript())
        got = finish(process)
        good(got)
        check("steps 110..114" in got.err, got.err)
        found = {window(s)["request"]: s for s in sessions(logs)}
        for steps, events in {"110:115": 7, **windows}.items():
            with h5(found["--steps " + steps]) as f:
                check(len(f["collective/first_ns"]) == events, f"{len(f['collective/first_ns'])} collectives in {steps}: {sorted(found)}")
                began = f["step/begin_ns"][()].min()
            check(abs(window(found["--steps " + steps])["started_ns"][0] - began) < 500e6, (window(found["--steps " + steps]), began))


def keeper_dies(place, full):
    """In each phase: podprof capture says so and fails, the job does not notice."""
    for wait, options in ((0.0, ("--steps", "+100000")), (0.3, ("--duration", "60s"))):
        logs = place.new_logs()
        process = begin(place, logs, ["60", "20"])
        asker = start(capture(place, logs, *options))
        time.sleep(0.2 + wait)
        pid = int(re.search(r"pid (\d+)", open(spool_of(logs) + "/keeper.log").read())[1])
        os.kill(pid, 9)
        got = finish(asker)
        check(got.code == 1 and ("the keeper ended before" in got.err or "cannot ask the keeper" in got.err), got.transcript())
        got = finish(process)
        check(got.code == 0 and "done" in got.out, got.transcript())


def reported_at_the_end(place, full):
    """A signal behind the job's window is a line of rank 0; requests of a keeper that was killed are taken away by the next one."""
    logs = place.new_logs()
    process = begin(place, logs, LONG, "--signal", "USR2", ranks=2)
    here = wait_until(lambda: glob.glob(logs + "/.podprof-requests/*/keeper"))[0]
    jobs.kill_keeper(spool_of(logs))
    check(over(process).code == 0 and os.path.exists(here), jobs.tree(logs))
    shutil.rmtree(spool_of(logs))
    process = begin(place, logs, LONG, "--steps", "3:5", "--signal", "USR2", ranks=2)
    check(wait_until(lambda: sessions(logs)), "no session of --steps")
    check(wait_until(lambda: not os.path.exists(here)), jobs.tree(logs))
    os.kill(int(re.search(r"rank-0-(\d+)", glob.glob(spool_of(logs) + "/rank-0-*.ring")[0])[1]), signal.SIGUSR2)
    check(wait_until(lambda: len(sessions(logs)) == 2), "no session by the signal")
    control = spool_of(logs) + "/control"  # its line comes after its files, and a rank that ends does not wait for it
    check(wait_until(lambda: b"captured by signal" in open(control, "rb").read()), "no line by the signal")
    got = over(process)
    check(got.code == 0 and "done" in got.out, got.transcript())
    check("steps 3..4 captured" in got.err and re.search(r"captured by signal: \S+", got.err), got.err)


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (before_its_window, keeper_dies, reported_at_the_end)}, __doc__))

#!/usr/bin/python3
"""The verbs: report, salvage, doctor, help, version. Run by ctest session_tools."""
import os
import re
import shutil
import signal
import sys
import time

from e2e import check_dataset, good, h5, read, text, train
import jobs
from jobs import check, finish, keepers, run, session_of, start, wait_until


def report(place, full):
    """The summary of the newest session, from the log directory, the session's, and into a pipe without bars of escape codes."""
    logs = place.new_logs()
    good(train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10"]))
    session = session_of(logs)
    for where in (logs, session):
        got = run([place.podprof(), "report", where])
        plain = re.sub(r"\|[# ]*\|", "", read(session, "summary.txt"))  # bars are for terminals and the file
        check(got.code == 0 and got.out.split() == plain.split(), got.told())
        check("\x1b" not in got.out, "escape codes in a pipe")
    got = run([place.podprof(), "report", place.new_logs()])
    check(got.code != 0 and got.podprof_lines() and not got.out, got.told())


def odd_name(place, full):
    """A log directory with a blank and a letter beyond ASCII: the command that the job prints works as it is, typed into a shell."""
    logs = os.path.join(place.scratch, "my l\u00f6gs")
    got = train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10"])
    good(got)
    command = re.search(r"\((podprof report .*)\)$", got.err, re.M)[1]
    shell = run(["/bin/sh", "-c", command.replace("podprof", place.podprof(), 1)])
    check(shell.code == 0 and "steps 5..9" in shell.out, command + shell.told())


def report_waits(place, full):
    """report while the job still runs: it waits for the keeper and shows this session."""
    logs = place.new_logs()
    job = start(place.mpirun(2, place.under(logs, [place.program("lone"), "busy"])), {"GUEST_STEPS": 300})
    time.sleep(1)
    got = run([place.podprof(), "report", logs], limit=30)
    ended = finish(job)
    check(ended.code == 0, ended.told())
    check(got.code == 0 and "2 ranks" in got.out, got.told())


def salvage(place, full):
    """The keeper and then the ranks are killed: the rings are left, and salvage makes a session of them."""
    spool, logs, out = os.path.join(place.scratch, "spool"), place.new_logs(), place.new_logs()
    job = start(place.mpirun(3, place.under(logs, [place.program("lone"), "busy"], "--spool", spool)), {"GUEST_STEPS": 200})
    found = wait_until(lambda: keepers(spool), 5)
    check(found, "no keeper was started")
    time.sleep(0.5)
    os.kill(found[0], signal.SIGKILL)
    got = finish(job)
    check(got.code == 0, got.told())
    check(os.path.isdir(spool) and any(n.endswith(".ring") for n in os.listdir(spool)), "the spool was removed")
    got = run([place.podprof(), "salvage", spool, "-o", out])
    check(got.code == 0, got.told())
    session = session_of(out)
    check_dataset(session, workers=3)
    with h5(session) as f:
        check(any("salvaged" in text(s) for s in f["worker/status"][()]), f["worker/status"][()])
        check(len(f["breakdown/step"]) > 10, f"{len(f['breakdown/step'])} steps were salvaged")
        check(f["process/present"][()].any() and (f["process/cpu_user_ns"][()] >= 0).all(), "the counts of the steps are in the rings too")
        check("memory" not in f and any("/memory is absent" in text(w) for w in f["quality/warning"][()]), "nobody looked at memory, and it is said")
    got = run([place.podprof(), "salvage", os.path.join(place.scratch, "no such spool"), "-o", out])
    check(got.code != 0 and got.podprof_lines(), got.told())
    shutil.rmtree(spool, ignore_errors=True)


def broken_spool(place, full):
    """Rings with nonsense in them: a sentence, never a crash."""
    spool, out = os.path.join(place.scratch, "broken"), place.new_logs()
    os.mkdir(spool)
    for name, data in (("rank-0-1.ring", b""), ("rank-1-2.ring", b"\xff" * 70000), ("rank-2-3.ring", os.urandom(200000))):
        with open(os.path.join(spool, name), "wb") as f:
            f.write(data)
    got = run([place.podprof(), "salvage", spool, "-o", out])
    check(0 <= got.code < 126 and got.podprof_lines() and not got.timed_out, got.told())


def words(place, full):
    """Help and version: on stdout, within a screen, exit 0; doctor says one line a thing."""
    for verb in ("run", "report", "capture", "status", "salvage", "doctor"):
        got = run([place.podprof(), verb, "--help"])
        check(got.code == 0 and 3 < len(got.out.splitlines()) <= (60 if verb == "run" else 40) and not got.err, f"{verb}: {got.told()}")
    got = run([place.podprof(), "--help"])
    check(got.code == 0 and "run" in got.out and "salvage" in got.out, got.told())
    got = run([place.podprof(), "--version"])
    check(got.code == 0 and "podprof" in got.out, got.told())
    got = run([place.podprof()])
    check((got.out + got.err).count("\n") >= 4, got.told())
    got = run([place.podprof(), "doctor"])
    check(got.code in (0, 1) and len(got.out.splitlines()) >= 4, got.told())


CASES = {"report": report, "odd_name": odd_name, "report_waits": report_waits, "salvage": salvage, "broken_spool": broken_spool, "words": words}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""How a session names ranks that do not end by themselves: killed, crashed, aborted, ended with the job. Run by ctest session_ends."""
import os
import re
import signal
import sys
import time

from e2e import h5, read, text
import jobs
from jobs import check, finish, run, session_of, start, wait_until

ENDED = "partial: ended by signal 15 (SIGTERM)"


def ends_of(place, logs):
    """The statuses, and the warnings. A kernel before 6.15 says how a process ended only until its parent has waited for it."""
    session = session_of(logs)
    check(wait_until(lambda: os.path.exists(os.path.join(session, "summary.txt")), 20), jobs.tree(logs))
    with h5(session) as f:
        status, warnings = [text(s) for s in f["worker/status"][()]], [text(w) for w in f["quality/warning"][()]]
    release = tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())
    if release < (6, 15) and any("unknown" in s for s in status):
        raise jobs.Skipped("this kernel does not say how the ranks ended")
    return session, status, warnings


def after(rank, what, own):
    """The ranks' statuses where the launcher has ended the others."""
    return [own if r == rank else f"partial: ended by the launcher after rank {rank} {what}" for r in range(4)]


def job(place, logs, *words):
    return place.mpirun(4, place.under(logs, [place.program(words[0]), *words[1:]]))


def killed(place, full):
    """SIGKILL of one rank: it alone was killed, and the launcher ended the others."""
    logs = place.new_logs()
    run(job(place, logs, "lone", "busy"), {"GUEST_KILL_RANK": 2, "GUEST_STEPS": 1000})
    session, status, warnings = ends_of(place, logs)
    check(status == after(2, "was killed", "killed: signal 9 (SIGKILL)"), status)
    check("rank 2 was killed: signal 9 (SIGKILL)" in warnings, warnings)
    check("ranks 0-1, 3 are partial: ended by the launcher after rank 2 was killed" in warnings, warnings)
    check("killed" in read(session, "summary.txt"), read(session, "summary.txt"))


def crashed(place, full):
    """SIGSEGV in one rank."""
    logs = place.new_logs()
    run(job(place, logs, "lone", "segv"), {"GUEST_MARK": 1})
    check(ends_of(place, logs)[1] == after(1, "was killed", "killed: signal 11 (SIGSEGV)"), ends_of(place, logs)[1])


def aborted(place, full):
    """MPI_Abort of one rank: it was not killed, and the launcher ended the others for it."""
    logs = place.new_logs()
    run(job(place, logs, "mpi_ends", "abort5"))
    check(ends_of(place, logs)[1] == after(1, "called MPI_Abort", "partial: called MPI_Abort"), ends_of(place, logs)[1])


def exited(place, full):
    """exit(3) of one rank: its records are whole, the others were ended, nobody was killed."""
    logs = place.new_logs()
    run(job(place, logs, "mpi_ends", "exit3"))
    _, status, warnings = ends_of(place, logs)
    check(status == [ENDED, "delivered", ENDED, ENDED], status)
    check("rank 1 exited with status 3" in warnings, warnings)


def job_ended(place, full):
    """SIGTERM or SIGINT to mpirun: the job was ended, no rank was killed."""
    for number in (signal.SIGTERM, signal.SIGINT) if full else (signal.SIGTERM,):
        logs, spool = place.new_logs(), os.path.join(place.scratch, f"spool{number}")
        command = place.mpirun(4, place.under(logs, [place.program("lone"), "busy"], "--spool", spool))
        process = start(command, {"GUEST_STEPS": 4000})
        check(wait_until(lambda: os.path.isdir(spool) and sum(n.endswith(".ring") for n in os.listdir(spool)) == 4, 20), "the job does not begin")
        time.sleep(0.5)
        os.kill(process.pid, number)
        finish(process)
        check(ends_of(place, logs)[1] == [ENDED] * 4, ends_of(place, logs)[1])


CASES = {"killed": killed, "crashed": crashed, "aborted": aborted, "exited": exited, "job_ended": job_ended}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

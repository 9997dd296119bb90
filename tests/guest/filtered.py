#!/usr/bin/python3
"""Ranks that forbid themselves system calls (seccomp, a forbidden call kills) once they have begun. Under podprof they live and end as they
do without it, as long as they may do what the limits in docs/jobs.md name. Run by ctest guest_filtered."""
import re
import sys

import jobs
from jobs import Skipped, check, compare, run, session_of, wait_until

# What the limits in docs/jobs.md name: at the end of a rank, and in each form of going on.
ENDS = "getpid clock_nanosleep poll rt_sigprocmask write"
FORMS = {
    "steps": "getrusage",
    "grow": "getrusage madvise",
    "threads": "getrusage madvise futex getpid gettid prctl",
    "windows": "getrusage",
    "children": "getrusage close mmap",
}


def print_names(program, *words):
    return run([program, *words]).out.split()


def trapped(got):
    """Numbers of the calls that a run with GUEST_TRAP has made although they are forbidden."""
    return re.findall(r"calls (\d+)", got.err)


def filtered(place, program, form, spared, env=None, wrap=lambda command: command):
    """The job with a filter that forbids all that neither `spared` names nor the job itself needs, with and without podprof."""
    program, spared = place.program(program), set(spared.split())
    for _ in range(40):  # one by one
        command = [program, form, *(c for c in print_names(program, "list") if c not in spared)]
        found = trapped(run(wrap(command), {**(env or {}), "GUEST_TRAP": 1}))
        if not found:
            break
        spared.update(print_names(program, "names", *found))
    base = run(wrap(command), env)
    if base.code == 77:
        raise Skipped("no seccomp filters here")
    check(base.code == 0 and "ends" in base.out, f"{form}, without podprof: {base.transcript()}")
    logs = place.new_logs()
    got = run(wrap(place.under(logs, command)), env)
    wrong = compare(base, got, slack=30)
    if wrong:
        calls = trapped(run(wrap(place.under(place.new_logs(), command)), {**(env or {}), "GUEST_TRAP": 1}))
        check(False, f"{form}: {'; '.join(wrong)}\n{got.transcript()}\ncalls {print_names(program, 'names', *calls) if calls else 'none'}")
    return logs, got


def marks(place, full):
    """A program that marks: more steps, a ring that grows, late threads, windows of the program, children."""
    for form, calls in FORMS.items():
        logs, got = filtered(place, "filtered", form, f"{ENDS} {calls}")
        count = 2 if form == "windows" else 1
        check(wait_until(lambda: len(jobs.sessions(logs)) == count), f"{form}: {jobs.tree(logs)}")
        check(len(got.podprof_lines()) == 2 and "captured" in got.err, f"{form}: {got.transcript()}")


def no_wait(place, full):
    """A rank that does not wait for its files asks only who it is."""
    program, logs = place.program("filtered"), place.new_logs()
    command = [program, "steps", *(c for c in print_names(program, "list") if c not in ("getpid", "getrusage"))]
    got = run(place.under(logs, command, "--wait", "0"))
    if got.code == 77:
        raise Skipped("no seccomp filters here")
    check(got.code == 0 and "ends" in got.out, got.transcript())
    session_of(logs)


def failing(place, full):
    """Calls that fail instead: podprof records less, and the job is the same."""
    program = place.program("filtered")
    for form in ("steps", "grow"):
        for spared in ([], ["getpid"]):  # without getpid it does not know itself any more
            command = [program, form, *(c for c in print_names(program, "list") if c not in spared)]
            base = run(command, {"GUEST_ERRNO": 1})
            if base.code == 77:
                raise Skipped("no seccomp filters here")
            wrong = compare(base, run(place.under(place.new_logs(), command), {"GUEST_ERRNO": 1}))
            check(base.code == 0 and not wrong, f"{form}: {wrong} {base.transcript()}")


def mpi(place, full):
    """The same under MPI, from MPI_Finalize on and from before it on."""
    for env in ({"GUEST_FINALIZED": 1}, {}):
        for form in ("steps", "grow") if full else ("steps",):
            own = "futex munmap close sched_yield unlink"  # of Open MPI 4.1; more is found
            logs, _ = filtered(place, "filtered_mpi", form, f"{ENDS} {FORMS[form]} {own}", env, lambda command: place.mpirun(2, command))
            session_of(logs)


CASES = {"marks": marks, "no_wait": no_wait, "failing": failing, "mpi": mpi}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""A run that records nothing, or less than was asked for, says why in one line; one that records says nothing of the kind. Run by
ctest guest_said_why."""
import os
import subprocess
import sys

import jobs
from jobs import PYTHON, Skipped, check, run, session_of

NOTHING = "podprof: nothing was recorded: "


def said(place, command, words, env=None, code=0):
    """Exactly one line with these words. Through pipes: they end when the last writer has, the keeper too."""
    got = subprocess.run([str(c) for c in command], env=jobs.clean_environment(env), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=60, check=False)
    lines = [line for line in got.stderr.splitlines() if line.startswith("podprof:")]
    check(got.returncode == code, f"{command}: code {got.returncode}\n{got.stderr}")
    check(len(lines) == 1 and all(w in lines[0] for w in words), f"{command}: {words} expected, said: {lines}")


def built(place, name, *flags):
    path = os.path.join(place.scratch, name)
    root = os.path.dirname(os.path.dirname(place.source))
    made = subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-I" + root, *flags, "-o", path, place.script("lone.c"), "-pthread", "-ldl"],
                          capture_output=True, text=True, check=False)
    if made.returncode:
        raise Skipped(f"gcc {flags} builds nothing here")
    return path


def nothing(place, full):
    """Programs without evidence: alone, below shells and launchers, however they end."""
    plain = [NOTHING, "podprof saw no MPI call, no step and no range in this job", "podprof_step_begin()"]
    for command, code in (([PYTHON, "-c", "print(1)"], 0), ([PYTHON, "-c", "import os; os._exit(0)"], 0), (["/bin/sh", "-c", "true; exit 3"], 3),
                          (["/bin/bash", "-c", "sleep 0.1 | cat"], 0), (place.mpirun(2, ["/bin/hostname"]), 0),
                          (["/bin/sleep", "0.1"], 0)):  # the last one closes its stderr at exit
        said(place, place.under(place.new_logs(), command), plain, code=code)
    for program in (["/bin/hostname"], ["/bin/sleep", "0.1"]):
        said(place, place.mpirun(2, place.under(place.new_logs(), program)), plain)


def something(place, full):
    """Helpers that record nothing before, beside and after the rank are no reason to say so."""
    steps = place.program("steps")
    for command in (["/bin/sh", "-c", f"/bin/true; {steps} 3 1; {PYTHON} -c pass"], ["/usr/bin/env", "X=1", steps, "3", "1"],
                    place.mpirun(2, [steps, "3", "1"])):
        logs = place.new_logs()
        got = run(place.under(logs, command))
        check(got.code == 0 and NOTHING not in got.err and len(got.podprof_lines()) == 2, got.transcript())
        session_of(logs)


def not_loadable(place, full):
    static = built(place, "lone_static", "-static")
    for command in ([static, "normal"], place.mpirun(2, place.under(place.new_logs(), [static, "normal"]))):
        under = command if command[0] == jobs.MPIRUN else place.under(place.new_logs(), command)
        said(place, under, ["lone_static' is statically linked", "without -static"])
    if os.getuid():
        raise Skipped("a setuid program of another user needs root")
    other = built(place, "lone_setuid")
    os.chown(other, 65534, 65534)
    os.chmod(other, 0o4755)
    said(place, place.under(place.new_logs(), [other, "normal"]), ["lone_setuid' is setuid", "Run a copy"])


def replaced(place, full):
    words = [NOTHING, "LD_PRELOAD was replaced before 'sleep'", "LD_PRELOAD="]
    said(place, place.under(place.new_logs(), ["/usr/bin/env", "LD_PRELOAD=", "/bin/sleep", "3"]), words)
    said(place, place.mpirun(2, place.under(place.new_logs(), ["/bin/sh", "-c", "LD_PRELOAD= exec /bin/sleep 3"])), words)


def spool_in_use(place, full):
    spool = os.path.join(place.scratch, "spool")
    first = jobs.start_until(place, place.under(place.new_logs(), [place.program("steps"), "100000", "1"], "--spool", spool))
    jobs.wait_until(lambda: os.path.isdir(spool) and any(n.endswith(".ring") for n in os.listdir(spool)), 20)
    said(place, place.under(place.new_logs(), [place.program("steps"), "3", "1"], "--spool", spool), ["another job", "use --spool"])
    check(jobs.over(first).code == 0, "the first job")


def two_outputs(place, full):
    steps = [place.program("mpi_ends"), "normal"]
    got = run([jobs.MPIRUN, "--oversubscribe", "-n", "1", *place.under(place.new_logs(), steps), ":", "-n", "2", *place.under(place.new_logs(), steps)])
    printed = [line for line in got.podprof_lines() if "is ignored. Give all parts of a job the same -o" in line]
    check(got.code == 0 and len(printed) == 1 and len(got.podprof_lines()) == 3, got.transcript())


def some_without(place, full):
    """Parts of an MPMD job without podprof, rank 0 among them or not: the session has the others, and one line says why and what to type."""
    program = place.program("mpi_ends")
    for first, line in ((0, "rank 0 ran without podprof. Write 'podprof run --' right before its program too"),
                        (1, "ranks 1-2 ran without podprof. Write 'podprof run --' right before their program too")):
        logs = place.new_logs()
        under, bare = place.under(logs, [program, "normal"]), [program, "normal"]
        got = run([jobs.MPIRUN, "--oversubscribe", "-n", "1", *(under if first else bare), ":", "-n", "2", *(bare if first else under)])
        check(got.code == 0 and len([said for said in got.podprof_lines() if line in said]) == 1, got.transcript())
        check(any("steps 0..19 captured on " in said for said in got.podprof_lines()), got.transcript())
        session_of(logs)


CASES = {
    "nothing": nothing, "something": something, "not_loadable": not_loadable, "replaced": replaced, "spool_in_use": spool_in_use,
    "two_outputs": two_outputs, "some_without": some_without,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

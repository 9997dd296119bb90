#!/usr/bin/python3
"""The exit-code table: each job runs once without podprof and then under it, and must be the same job: exit code, stdout, stderr less
podprof's lines, and its end before base + 15 s. Run by ctest guest_table; `--full` (or PODPROF_FULL=1) repeats each cell three times."""
import os
import sys
import tempfile

import jobs
from jobs import Failed, Skipped, compare, run

RANKS = 4


def trial(place, command, env, limit):
    logs = place.new_logs()
    return run(command(logs), env, limit)


def cell(place, base_command, command, env=None, repeats=1, unstable=False):
    """One base, then `repeats` runs under podprof; a mismatch is tried once more with a new base where mpirun itself is unsteady."""
    base = run(base_command, env, 60)
    if base.timed_out:
        raise Failed(f"the base itself did not end: {base.transcript()}")
    for _ in range(repeats):
        got = trial(place, command, env, base.seconds + 25)
        wrong = compare(base, got)
        if wrong and (unstable or base.code):
            print(f"  second try, the first: {'; '.join(wrong)}")
            base = run(base_command, env, 60)
            got = trial(place, command, env, base.seconds + 25)
            wrong = compare(base, got)
        if wrong:
            raise Failed("; ".join(wrong) + "\nunder podprof: " + got.transcript() + "\nbase: " + base.transcript())
    return base


def expect(base, code):
    if base.code != code:
        raise Failed(f"the base ends with {base.code}, the table says {code}: {base.transcript()}")


def job(words, code=0, marks=(0,), unstable=False, env=None):
    """A case: the same command on all ranks. marks: with GUEST_MARK 0 and 1 (a mark makes a process that never calls MPI the rank)."""

    def case(place, full):
        command = [place.program(words[0]) if not words[0].startswith("/") else words[0], *words[1:]]
        command = [w.replace("@SOURCE@", place.source).replace("@GUEST@", place.guest) for w in command]
        for mark in marks:
            both = {"GUEST_MARK": mark, **(env or {})}
            base = cell(place, place.mpirun(RANKS, command), lambda logs: place.mpirun(RANKS, place.under(logs, command)), both,
                        3 if full else 1, unstable)
            expect(base, code)

    return case


def half(words):
    """Half of the ranks under podprof, half not (MPMD)."""

    def case(place, full):
        command = [place.program(words[0]), *words[1:]]
        two = ["-n", "2", *command]
        for mark in (0, 1):
            cell(place, place.mpirun(2, command + [":"] + two),
                 lambda logs: place.mpirun(2, command + [":", "-n", "2"] + place.under(logs, command)), {"GUEST_MARK": mark}, 3 if full else 1)

    return case


def zero_only(words):
    """podprof on rank 0 only."""

    def case(place, full):
        command = [place.program(words[0]), *words[1:]]
        cell(place, place.mpirun(1, command + [":", "-n", "3"] + command),
             lambda logs: place.mpirun(1, place.under(logs, command) + [":", "-n", "3"] + command), {"GUEST_MARK": 1}, 3 if full else 1)

    return case


def outer(words):
    """podprof run -- mpirun: the outer form."""

    def case(place, full):
        command = [place.program(words[0]), *words[1:]]
        cell(place, place.mpirun(RANKS, command), lambda logs: place.under(logs, place.mpirun(RANKS, command)), {"GUEST_MARK": 1},
             3 if full else 1)

    return case


def wheel(place, full):
    """mpi4py from PyPI, in the environment that scripts/test makes when it can."""
    python = os.environ.get("PODPROF_WHEEL_PYTHON", os.path.join(os.path.dirname(place.bin), "venv-mpi4py", "bin", "python"))
    if not os.path.exists(python):
        raise Skipped(f"no {python}; rtld_local stands for it")
    job([python, "@SOURCE@/mpi4py_job.py"])(place, full)


LAYERS = "@GUEST@/../mpi/layers"  # of tests/mpi/layers.py: another library that wraps MPI, and a program


def layer(words):
    """A job with another library that wraps MPI, which changes the job's output and writes a file. The session names it."""

    def case(place, full):
        if not os.path.exists(LAYERS.replace("@GUEST@", place.guest)):
            raise Skipped("built without MPI")
        command, logs = [w.replace("@GUEST@", place.guest) for w in words], []

        def under(at):
            logs.append(at)
            return place.mpirun(RANKS, place.under(at, command))

        with tempfile.TemporaryDirectory() as where:
            expect(cell(place, place.mpirun(RANKS, command), under, {"PP_LAYER": where + "/layer"}, 3 if full else 1), 0)
            names = [name for name in os.listdir(where) if os.path.getsize(os.path.join(where, name))]
            if len(names) != RANKS:
                raise Failed(f"the library wrote {names}")
        with open(os.path.join(jobs.session_of(logs[-1]), "summary.txt"), encoding="utf-8") as f:
            if f"ranks 0-{RANKS - 1}: MPI is also wrapped by PMPI.so" not in f.read():
                raise Failed("the session does not name the library")

    return case


def layer_seen(place, full):
    """podprof doctor names such a library, too."""
    library = os.path.join(LAYERS.replace("@GUEST@", place.guest), "PMPI.so")
    if not os.path.exists(library):
        raise Skipped("built without MPI")
    got = run([place.podprof(), "doctor"], {"LD_PRELOAD": library})
    if f"{library} is preloaded and wraps MPI" not in got.out:
        raise Failed(got.transcript())


BOTH = (0, 1)
MPI4PY = [jobs.PYTHON, "@SOURCE@/mpi4py_job.py"]
CASES = {
    "lone_normal": job(["lone", "normal"], marks=BOTH),
    "lone_uexit": job(["lone", "uexit"], marks=BOTH),
    "lone_quick_exit": job(["lone", "quick"], marks=BOTH),
    "lone_exec": job(["lone", "exec"], marks=BOTH),
    "lone_exec_self": job(["lone", "exec_self"], marks=(1,)),
    "lone_exit3": job(["lone", "exit3"], 3, marks=BOTH),
    "lone_one_by_one": job(["lone", "one_by_one"], marks=BOTH),
    "lone_main_leaves": job(["lone", "main_leaves"], marks=BOTH),
    "lone_fork_segv": job(["lone", "fork_segv"], marks=BOTH),
    "lone_fork": job(["lone", "fork"], marks=(1,)),
    "lone_daemon": job(["lone", "daemon"], marks=BOTH),
    "lone_sigkill": job(["lone", "sigkill"], 137, marks=BOTH),
    "lone_segv": job(["lone", "segv"], 139, marks=(1,)),
    "lone_outer": outer(["lone", "normal"]),
    "lone_half": half(["lone", "normal"]),
    "lone_rank0": zero_only(["lone", "normal"]),
    "wrapper_mpi4py": job(["/bin/bash", "@SOURCE@/wrapper.sh", *MPI4PY]),
    "wrapper_exec": job(["/bin/bash", "@SOURCE@/wrapper.sh", "@GUEST@/mpi_ends", "normal"], env={"GUEST_WRAP_EXEC": "1"}),
    "mpi_normal": job(["mpi_ends", "normal"]),
    "mpi_threads": job(["mpi_ends", "threads"]),
    "mpi_spawn": job(["mpi_ends", "spawn"]),
    "mpi_zoo": job(["zoo_program"]),
    "mpi_rtld_local": job(["rtld_local", "@GUEST@/libzoo.so"]),
    "mpi_fortran": job(["fortran_ends"]),
    "mpi_mpi4py": job(MPI4PY),
    "mpi_mpi4py_wheel": wheel,
    "mpi_mpi4py_exit3": job([*MPI4PY, "3"], 3),
    "mpi_no_finalize": job(["mpi_ends", "no_finalize"], 1),
    "mpi_no_finalize_uexit": job(["mpi_ends", "no_finalize", "uexit"], 1),
    "mpi_no_finalize_exec": job(["mpi_ends", "no_finalize", "exec"], 1),
    "mpi_no_finalize_quick": job(["mpi_ends", "no_finalize", "quick"], 1),
    "mpi_exit3": job(["mpi_ends", "exit3"], 3),
    "mpi_sigkill": job(["mpi_ends", "sigkill"], 137),
    "mpi_crash_early": job(["mpi_ends", "crash_early"], 134),
    "mpi_main_leaves": job(["mpi_ends", "main_leaves"]),
    "mpi_abort5": job(["mpi_ends", "abort5"], 5),
    "mpi_layer": layer([LAYERS + "/PMPI.linked"]),
    "mpi_layer_first": layer(["/bin/sh", "-c", f"LD_PRELOAD={LAYERS}/PMPI.so:$LD_PRELOAD exec {LAYERS}/PMPI.plain"]),
    "mpi_layer_seen": layer_seen,
    "mpi_outer": outer(["mpi_ends", "normal"]),
    "mpi_half": half(["mpi_ends", "normal"]),
    "mpi_rank0": zero_only(["mpi_ends", "normal"]),
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

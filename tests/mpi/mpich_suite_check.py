#!/usr/bin/python3
"""Does mpich_suite.py see what differs? A suite of our own in MPICH's layout: programs that are equal, that tell podprof by LD_PRELOAD, that end
otherwise, that have no source; sessions that we make wrong. Run by ctest mpi.mpich_suite. Usage: mpich_suite_check.py BIN"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402

try:
    import h5py
    import suite_truth
except ImportError:
    h5py = None

HERE = os.path.dirname(os.path.abspath(__file__))
MAIN = '''#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mpitestconf.h"

int main(int argc, char **argv)
{
    int rank, seen = getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "podprof");

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    %s
    MPI_Finalize();
    return argc > 1 && !strcmp(argv[1], "-one");
}
'''
FILES = {
    "coll/testlist.in": "# what it tests\nequal 2\nequal 2 arg=-one\nsays 1\ndies 2 timeLimit=10\nnosource 2\n@off@sub\nvariant 1\nbroken 1\n",
    "coll/sub/testlist": "inner 1\n",
    "coll/equal.c": MAIN % 'if (rank == 1) MPI_Send(&seen, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);\n'
                           '    if (!rank) MPI_Recv(&seen, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n'
                           '    if (!rank) printf(" No Errors\\n");',
    "coll/sub/inner.c": MAIN % 'printf(" No Errors at %p\\n", (void *)argv);',
    "coll/says.c": MAIN % 'printf(seen ? "preloaded\\n" : "bare\\n");',
    "coll/dies.c": MAIN % "if (seen && rank) exit(3);",
    "coll/source.c": MAIN % '#ifndef VARIANT\n\t(void)seen, broken();\n#endif\n\tputs(seen ? "" : "");',
    "coll/broken.c": "int main(void) { return no_such_thing; }\n",
    "coll/Makefile.am": "noinst_PROGRAMS = \\\n    equal\nvariant_CPPFLAGS = -DVARIANT \\\n  $(AM_CPPFLAGS)\nvariant_SOURCES = source.c\n",
}


# What is changed in a session's pod.h5, and the kind of fault that is to be found.
WRONG = {"violations": ("quality/violations", lambda v: v + 3), "times": ("breakdown/late_ns", lambda v: v + 1),
         "unmatched": ("communicator/size", lambda v: v + 1), "mixed": ("op/calls", lambda v: v * 0), "lost": ("quality/dropped", lambda v: v + 1)}


def truth(program, top):
    """What is not found in sessions with a fault, and what is found in one without."""
    logs = os.path.join(top, "logs")
    got = jobs.run([jobs.MPIRUN, "--oversubscribe", "-n", "3", os.path.join(sys.argv[1], "podprof"), "run", "-o", logs, "--", program])
    session = jobs.session_of(logs)
    wrong = [f"of a good session: {suite_truth.faults(session)}"] if got.code or suite_truth.faults(session) else []
    for kind, (name, change) in WRONG.items():
        spoilt = os.path.join(top, kind)
        shutil.copytree(session, spoilt)
        with h5py.File(os.path.join(spoilt, "pod.h5"), "r+") as pod:
            pod[name][...] = change(pod[name][()])
        if {k for k, _ in suite_truth.faults(spoilt)} != {kind}:
            wrong.append(f"of a session with {kind}: {suite_truth.faults(spoilt)}")
    for kind, line in (("itself", "Bottleneck: waiting. Rank 2 itself waits 3 ms per step for rank 2"), ("number", "  Overhead:   keeper 3 s CPU (1163 % of one core over the run)")):
        if [k for k, _ in suite_truth.sentences(line)] != [kind]:
            wrong.append(f"'{line}' is not seen")
    return wrong


def main():
    with tempfile.TemporaryDirectory(prefix="podprof-suite-") as top:
        for name, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
            with open(os.path.join(top, name), "w", encoding="ascii") as f:
                f.write(text)
        command = [sys.executable, "-B", os.path.join(HERE, "mpich_suite.py"), top, "--bin", sys.argv[1], "--keep", os.path.join(top, "out")]
        got = subprocess.run(command, capture_output=True, text=True)
        some = subprocess.run([*command, "coll/equal"], capture_output=True, text=True)
        unknown = subprocess.run([*command, "coll/equals"], capture_output=True, text=True)
        wrong = truth(glob.glob(os.path.join(top, "out", "coll_equal"))[0], top) if h5py else []
    none = subprocess.run([*command[:3], "/nowhere", *command[4:]], capture_output=True, text=True)
    said = {line.split(": ")[1].strip() for line in got.stdout.split("\n") if line.startswith("DIFFERS: ")}
    if (got.returncode, said) != (1, {"coll/says 1", "coll/dies 2"}):
        wrong.append(f"of all: exit {got.returncode}, differing: {said}")
    for line in ("6 tests of 5 programs, 2 differ", "left out, no source of that name: 1: coll/nosource",
                 "left out, does not compile with this MPI: 1: coll/broken", "exit 0 without podprof, exit 3 under it",
                 "fail alike without podprof: 1: coll/equal 2 -one (exit 1)"):
        if line not in got.stdout:
            wrong.append(f"'{line}' is not said")
    if some.returncode or "2 tests of 1 programs, 0 differ" not in some.stdout:
        wrong.append(f"of one: exit {some.returncode}: {some.stdout}")
    if h5py and "6 sessions of runs that ended well, faults found in them: none" not in got.stdout:
        wrong.append("sessions were not looked at")
    if none.returncode != 77 or "no directory test/mpi" not in none.stdout:
        wrong.append(f"of no suite: exit {none.returncode}: {none.stdout}")
    if unknown.returncode != 2 or "'coll/equals' is in no testlist" not in unknown.stderr:
        wrong.append(f"of no such program: exit {unknown.returncode}: {unknown.stderr}")
    for line in wrong:
        print(line)
    if wrong:
        print(got.stdout + got.stderr)
    return 1 if wrong else 0


sys.exit(main())

#!/usr/bin/python3
"""Does mpich_suite.py see what differs? A suite of our own in MPICH's layout: programs that are equal, that tell podprof by LD_PRELOAD, that end
otherwise, that have no source. Run by ctest mpi.mpich_suite. Usage: mpich_suite_check.py BIN"""
import os
import subprocess
import sys
import tempfile

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
    %s
    MPI_Finalize();
    return argc > 1 && !strcmp(argv[1], "-one");
}
'''
FILES = {
    "coll/testlist.in": "# what it tests\nequal 2\nequal 2 arg=-one\nsays 1\ndies 2 timeLimit=10\nnosource 2\n@off@sub\nvariant 1\nbroken 1\n",
    "coll/sub/testlist": "inner 1\n",
    "coll/equal.c": MAIN % 'if (!rank) printf(" No Errors\\n");',
    "coll/sub/inner.c": MAIN % 'printf(" No Errors at %p\\n", (void *)argv);',
    "coll/says.c": MAIN % 'printf(seen ? "preloaded\\n" : "bare\\n");',
    "coll/dies.c": MAIN % "if (seen && rank) exit(3);",
    "coll/source.c": MAIN % '#ifndef VARIANT\n\t(void)seen, broken();\n#endif\n\tputs(seen ? "" : "");',
    "coll/broken.c": "int main(void) { return no_such_thing; }\n",
    "coll/Makefile.am": "noinst_PROGRAMS = \\\n    equal\nvariant_CPPFLAGS = -DVARIANT \\\n  $(AM_CPPFLAGS)\nvariant_SOURCES = source.c\n",
}


def main():
    with tempfile.TemporaryDirectory(prefix="podprof-suite-") as top:
        for name, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
            with open(os.path.join(top, name), "w", encoding="ascii") as f:
                f.write(text)
        command = [sys.executable, "-B", os.path.join(HERE, "mpich_suite.py"), top, "--bin", sys.argv[1]]
        got = subprocess.run(command, capture_output=True, text=True)
        some = subprocess.run([*command, "coll/equal"], capture_output=True, text=True)
    none = subprocess.run([*command[:3], "/nowhere", *command[4:]], capture_output=True, text=True)
    said = {line.split(": ")[1].strip() for line in got.stdout.split("\n") if line.startswith("DIFFERS: ")}
    wrong = []
    if (got.returncode, said) != (1, {"coll/says 1", "coll/dies 2"}):
        wrong.append(f"of all: exit {got.returncode}, differing: {said}")
    for line in ("6 tests of 5 programs, 2 differ", "left out, no source of that name: 1: coll/nosource",
                 "left out, does not compile with this MPI: 1: coll/broken", "exit 0 without podprof, exit 3 under it"):
        if line not in got.stdout:
            wrong.append(f"'{line}' is not said")
    if some.returncode or "2 tests of 1 programs, 0 differ" not in some.stdout:
        wrong.append(f"of one: exit {some.returncode}: {some.stdout}")
    if none.returncode != 77:
        wrong.append(f"of no suite: exit {none.returncode}")
    for line in wrong:
        print(line)
    if wrong:
        print(got.stdout + got.stderr)
    return 1 if wrong else 0


sys.exit(main())

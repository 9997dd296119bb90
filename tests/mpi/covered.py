# Every function of mpi.h is in a table of wrapped calls or in unwrapped.txt with its reason, and every row of the tables was found, as
# wanted, by some program of this directory. covered.py TABLES MPI_H UNWRAPPED COVERED: COVERED.PROGRAM.RANK hold what was found.
import fnmatch
import glob
import os
import re
import sys


def rows(tables):
    names = []
    for path in tables.split(","):
        names += re.findall(r"^PP_MPI\((\w+),", open(path).read(), re.M)
    return names


def functions(directories):
    for directory in directories.split(","):
        path = os.path.join(directory, "mpi.h")
        if os.path.exists(path):
            text = re.sub(r"/\*.*?\*/|^\s*#[^\n]*", "", open(path).read(), flags=re.S | re.M)
            return set(re.findall(r"OMPI_DECLSPEC[^;]*?\bMPI_([A-Z]\w*)\s*\(", text))
    return set()


def main():
    tables, directories, unwrapped, covered = sys.argv[1:5]
    table, known, reasons, reason, bad = rows(tables), functions(directories), {}, "", []
    if len(known) < 300:
        bad.append(f"only {len(known)} functions found in mpi.h")
    for line in open(unwrapped):
        if line.startswith("  "):
            reasons.update({name: reason for name in line.split()})
        elif line.rstrip().endswith(":"):
            reason = line.strip().rstrip(":")
    if len(set(table)) != len(table):
        bad.append("a call is in the tables twice")
    for name in sorted(known - set(table)):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in reasons):
            bad.append(f"MPI_{name} is neither wrapped nor in unwrapped.txt")
    for name in sorted(set(table) & set(reasons)):
        bad.append(f"MPI_{name} is wrapped and in unwrapped.txt")
    found = set()
    for path in glob.glob(covered + ".*"):
        found |= {name.strip()[4:] for name in open(path)}
    for name in table:
        if name not in found:
            bad.append(f"MPI_{name} is wrapped, but no program that checks its record calls it")
    print("\n".join(bad) or f"{len(table)} calls wrapped and found, {len(known)} functions known")
    return 1 if bad else 0


sys.exit(main())

# Every function of mpi.h is in a table of wrapped calls or in unwrapped.txt with its reason, and every row of the tables was found, as
# wanted, by some program of this directory. The table of calls for large counts has the rows of the others that have counts.
# covered.py TABLES MPI_H UNWRAPPED COVERED: COVERED.PROGRAM.RANK hold what was found.
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


LARGE = ((r"\bint ((?:\w+_|send|recv)?count)\b", r"MPI_Count \1"), (r"\bconst int \*((?:send|recv)counts)\b", r"const MPI_Count *\1"),
         (r"\bconst int \*([sr]?displs)\b", r"const MPI_Aint *\1"), (r"\bint unit\b", "MPI_Aint unit"), (r"\bint \*size\b", "MPI_Count *size"))
WRITTEN_OUT = ("Mrecv", "Imrecv")


def large(tables):
    """What pmpi_large.def must hold, by the other tables, and does: symbol to row."""
    want, have = {}, {}
    for path in tables.split(","):
        for symbol, family, params, rest in re.findall(r"^PP_MPI\((\w+), \w+, \d, (\w+), \((.*?)\), (\(.*)\)$", open(path).read(), re.M):
            wide = params
            for old, new in LARGE:
                wide = re.sub(old, new, wide)
            if wide != params and family != "SPAWN":  # its count is of commands
                want[symbol + "_c"] = f"{symbol}, {family}, ({wide}), {rest}"
    text = open(os.path.join(os.path.dirname(tables.split(",")[0]), "../../mpi/pmpi_large.def")).read()
    for symbol, row in re.findall(r"^PP_MPI_LARGE\((\w+), (.*)\)$", text, re.M):
        have[symbol] = row
    for symbol in WRITTEN_OUT:
        want[symbol + "_c"] = have.get(symbol + "_c")
    return want, have


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
    want, have = large(tables)
    sessions = set(rows(os.path.join(os.path.dirname(tables.split(",")[0]), "mpi_session.def")))
    for name in sorted(set(want) | set(have)):
        if want.get(name) is None or want.get(name) != have.get(name):
            bad.append(f"MPI_{name}: the row of pmpi_large.def is not {want.get(name)}")
    for name in sorted(known - set(table) - set(have) - sessions):
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

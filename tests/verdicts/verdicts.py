#!/usr/bin/python3 -B
"""Verdicts: small trace files of all producers, and what podprof must and must not say of them (cases.py). Run by ctest verdicts.

Usage: verdicts.py [--bin DIR] [--keep DIR] [-v] [--list] [--update-open] [CASE...]     CASE: a name, a regex of names, or what cases need

open.txt lists cases that are wrong today, with who repairs them. Exits 1 if a case is wrong that is not in it, or one is right that is.
"""
import argparse
import concurrent.futures
import os
import re
import sys
import tempfile
import time
import traceback

import answer
import cases

HERE = os.path.dirname(os.path.abspath(__file__))
OPEN = os.path.join(HERE, "open.txt")


def open_cases():
    with open(OPEN, encoding="utf-8") as f:
        return [line.split()[0] for line in f if line.strip() and not line.startswith("#")]


def run_case(name, binary, where):
    """What is wrong in that case: lines."""
    case = cases.BY_NAME[name]
    files = os.path.join(where, name)
    for path, data in case.files.items():
        at = os.path.join(files, "in", path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "wb") as f:
            f.write(data)
    a = answer.Answer(binary, files)
    os.makedirs(files, exist_ok=True)
    wrong = []
    try:
        case.how(a)
    except Exception:  # a case must not end the others
        return [traceback.format_exc(limit=-2)]
    for check in case.wants:
        try:
            found = check(a)
        except answer.Missing as e:
            found = str(e)
        except Exception:
            found = traceback.format_exc(limit=-1).strip().replace("\n", " ")
        if found:
            wrong.append(f"{check.title}: {found}")
    return wrong


def choose(words):
    if not words:
        return [c.name for c in cases.CASES]
    return [c.name for c in cases.CASES if any(w == c.needs or re.search(w if w not in cases.BY_NAME else f"^{re.escape(w)}$", c.name) for w in words)]


def write_open(kept):
    """Keeps the lines of these cases, adds those that are missing, by what they need."""
    with open(OPEN, encoding="utf-8") as f:
        head = "".join(line for line in f if line.startswith("##"))
    with open(OPEN, "w", encoding="utf-8") as f:
        f.write(head)
        for needs in cases.NEEDS:
            of = [c.name for c in cases.CASES if c.needs == needs and c.name in kept]
            if of:
                f.write(f"\n# {needs}: {cases.NEEDS[needs]}\n" + "".join(n + "\n" for n in of))


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("case", nargs="*")
    parse.add_argument("--bin", default=os.path.join(HERE, "..", "..", "build", "bin"))
    parse.add_argument("--keep", help="put the files of the cases there, and leave them")
    parse.add_argument("-v", action="store_true", help="also what is wrong in open cases")
    parse.add_argument("--list", action="store_true", help="names, what they need, what must come")
    parse.add_argument("--update-open", action="store_true", help="write open.txt as it is today")
    o = parse.parse_args()
    names = choose(o.case)
    if o.list:
        for n in names:
            case = cases.BY_NAME[n]
            print(f"{n:36} {case.needs:11}", "; ".join(w.title for w in case.wants))
        return 0
    binary, began, known = os.path.abspath(os.path.join(o.bin, "podprof")), time.monotonic(), open_cases()
    bad, still, right = [], [], []
    with tempfile.TemporaryDirectory(prefix="podprof-verdicts-") as scratch:
        where = os.path.abspath(o.keep or scratch)
        with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            jobs = {n: pool.submit(run_case, n, binary, where) for n in names}
            for n in names:
                wrong = jobs[n].result()
                (right if not wrong else still if n in known else bad).append(n)
                if wrong and (o.v or n not in known):
                    print(f"{'open' if n in known else 'WRONG'} {n} ({cases.BY_NAME[n].needs})")
                    for line in wrong:
                        print("    " + line)
    if o.update_open:
        write_open(set(bad + still) | (set(known) - set(names)))
        print(f"{OPEN}: {len(bad + still)} of {len(names)} cases")
        return 0
    repaired = [n for n in right if n in known]
    for needs in cases.NEEDS:
        of = [n for n in still if cases.BY_NAME[n].needs == needs]
        if of:
            print(f"open, {needs} ({cases.NEEDS[needs]}): {' '.join(of)}")
    for n in repaired:
        print(f"right now, remove it from tests/verdicts/open.txt: {n}")
    lost = [n for n in known if n not in cases.BY_NAME]
    for n in lost:
        print(f"open.txt has a case that is not there: {n}")
    print(f"{len(right)} of {len(names)} cases are right, {len(still)} are open, {len(bad)} are wrong; {time.monotonic() - began:.1f} s")
    return int(bool(bad or repaired or lost))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3 -B
"""The page that leads through reports, against the reports: runs the five jobs of docs/reading-a-report.md and compares each line and each quoted
phrase with what podprof says now. Run by ctest truth_page; scripts/report-cases writes the lines.

Usage: tests/truth/page.py [--bin DIR] [--update]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "reading-a-report.md")
CASE = re.compile(r"    scripts/truth --only '\^([^']+)\$' --keep DIR\n\n```text\n(.*?)\n```\n", re.S)
TABLES = "\n--- tables ---\n"  # what the page does not show
HEAD = "\n## Five reports\n"
SHOWN = "/data/me/logs"
COLUMNS, INDENT = 118, 14
RUNS = 6  # a busy machine makes steps longer, and so findings of its own
MORE = ("Also", "Caution", "Slowest")  # lines that a busy machine adds
TIME, PERCENT, COUNT = 0.35, 12, 0.3  # how far numbers may be off: parts of a time and of a count, points of a percentage
TOKEN = re.compile(r"(ranks? )((?:\d+(?:-\d+)?(?:, | and )?)+\b)|(\d+(?:\.\d+)?) (ns|us|ms|s|%)(?!\w)|(\d+)")
UNIT = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def joined(text):
    """The lines of a summary by their names; what is folded is one line again. The first line has no name."""
    lines = []
    for line in text.replace(" usual steps;", " steps;").splitlines():
        if not line.strip():
            continue
        if line.startswith(" " * INDENT) and lines:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line.strip())
    return lines


def parts_of(line):
    """(the line with placeholders, its numbers: kind and value)"""
    numbers = []

    def note(m):
        if m.group(1):
            numbers.append(("rank", m.group(2).strip()))
            return m.group(1) + "R"
        if m.group(3):
            kind = "%" if m.group(4) == "%" else "ns"
            numbers.append((kind, float(m.group(3)) * UNIT.get(m.group(4), 1)))
            return "N " + kind
        numbers.append(("count", int(m.group(5))))
        return "N"

    return TOKEN.sub(note, line), numbers


def is_near(kind, a, b):
    if kind == "rank":
        return a == b
    if kind == "%":
        return abs(a - b) <= PERCENT
    return abs(a - b) <= (TIME * max(a, b) if kind == "ns" else max(2, COUNT * max(a, b)))


def differs(line, got):
    """Why one line of the page is not that of the report; None: it is."""
    (a, mine), (b, theirs) = parts_of(line), parts_of(got)
    if a != b:
        return f"'{line}' is now '{got}'"
    for (kind, x), (_, y) in zip(mine, theirs):
        if not is_near(kind, x, y) and not re.search("half IQR|clock error", line[max(0, line.find(str(x)[:3]) - 20):]):
            return f"'{line}': {x:g} is now {y:g} in '{got}'" if kind != "rank" else f"'{line}': rank {x} is now {y}"
    return None


def name_of(line):
    found = re.match(r"([A-Z][A-Za-z ]+): ", line)
    return found.group(1) if found else ""


def compare(shown, report):
    """What the page shows of a report, line by line."""
    mine, theirs, wrong = joined(shown), joined(report.split(TABLES)[0]), []
    mine[0], theirs[0] = (re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", lines[0]) for lines in (mine, theirs))
    for line in mine:
        same = [t for t in theirs if name_of(t) == name_of(line)]
        reasons = [differs(line, t) for t in same] or [f"no line as '{line}'"]
        wrong += [] if None in reasons else [reasons[0]]
    shown_names = {name_of(line) for line in mine}
    return wrong + [f"the page lacks '{t}'" for t in theirs if name_of(t) not in shown_names and name_of(t) not in MORE]


def quotes_wrong(prose, report):
    """Phrases in backquotes are the report's, whatever their numbers are."""
    text = parts_of(" ".join(joined(report.split(TABLES)[0])))[0]
    most = re.search(r"rank (\d+) has most in \*kept others\*", " ".join(prose.split()))
    kept = {int(m.group(1)): float(m.group(2)) * UNIT[m.group(3)]
            for m in re.finditer(r"^ +(\d+)  \S+ +\d+ +[\d.]+ \w+ +[\d.]+ \w+ +([\d.]+) (\w+)\s", report, re.M)}
    wrong = [f"'{q}' is not in the report" for q in re.findall(r"`([^`]+)`", prose) if parts_of(q)[0] not in text]
    if most and max(kept, key=kept.get, default=None) != int(most.group(1)):
        wrong.append(f"rank {most.group(1)} has not most in kept others: {kept}")
    return wrong


def reports(bin_dir, names, where):
    """Of each job what a user sees: up to the line with the efficiency, TABLES, and the rest."""
    pattern = "^(" + "|".join(re.escape(n) for n in names) + ")$"
    got = subprocess.run([os.path.join(ROOT, "scripts", "truth"), "--bin", bin_dir, "--only", pattern, "--keep", where], capture_output=True, text=True,
                         check=False)
    made = {}
    for name in names:
        directory = os.path.join(where, name, "logs", "podprof", "truth")
        try:
            with open(os.path.join(directory, "summary.txt"), encoding="utf-8") as f:
                text = f.read().replace(directory, SHOWN + "/podprof/truth")
        except OSError:
            sys.exit(f"no report of {name}: {got.stdout}{got.stderr}")
        end = text.index("\n", text.index("  Efficiency:"))
        made[name] = text[:end] + TABLES + text[end:]
    return made


def folded(report):
    """As a terminal shows it."""
    lines = []
    for line in report.split("\n"):
        lines += textwrap.wrap(line, COLUMNS, subsequent_indent=" " * INDENT, break_on_hyphens=False, drop_whitespace=True) or [""] if line.startswith("  ") \
            else [line]
    return "\n".join(lines)


def sentences_of_source():
    """What podprof can say, with placeholders."""
    text = ""
    for folder in ("aggregate/tools", "aggregate/write/text", "aggregate/dataset", "core/step"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if name.endswith((".c", ".def", ".h")):
                with open(os.path.join(ROOT, folder, name), encoding="utf-8") as f:
                    text += f.read()
    text = re.sub(r'"\s*\n\s*"', "", re.sub(r'%" PRI\w+ "', "%d", re.sub(r'%" PRI\w+\b', '%d"', text)))
    return re.sub(r"%[-.*\d]*(?:ll|z)?[dufsc]|\d+(?:\.\d+)?(?: (?:ns|us|ms|s)\b)?", "#", text)


def reference_wrong(page):
    """The names of lines, and the beginnings of sentences, that the page explains: podprof says them."""
    source, wrong = sentences_of_source(), []
    lines = page[page.index("## The summary"):page.index(HEAD)]
    for row in re.findall(r"^\| (.*?) \|", lines, re.M):
        for name in re.findall(r"\*([A-Z][A-Za-z ]+)\*", row):
            if not re.search(rf"\b{name}\b", source) and name.split()[0] + " #" not in source:
                wrong.append(f"the summary has no line '{name}'")
        for quote in re.findall(r"`([^`]+)`", row):
            words = re.sub(r"\d+(?:\.\d+)?(?: (?:ns|us|ms|s)\b)?", "#", quote)
            pieces = [p.strip(" ,:") for p in re.split(r"rank #, [A-Z]\w+ \w+:|#", words)]
            wrong += [f"podprof does not say '{p}' of '{quote}'" for p in pieces if p and p not in source]
    return wrong


def check(page, bin_dir):
    at, wrong = page.index(HEAD), []
    ends = [m.end() for m in CASE.finditer(page, at)] + [len(page)]
    cases = {m.group(1).replace("\\", ""): (m.group(2), re.split(r"\n##+ ", page[m.end():ends[i + 1]])[0]) for i, m in enumerate(CASE.finditer(page, at))}
    if len(cases) != 5:
        return [f"{len(cases)} reports"]
    left = dict(cases)
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="truth-") as where:
            wrong, made = [], reports(bin_dir, list(left), where)
        for name, report in made.items():
            shown, prose = cases[name]
            found = compare(shown, report) + quotes_wrong(prose, report)
            wrong += [f"{name}: {f}" for f in found]
            if not found:
                del left[name]
        if not left:
            break
    return wrong + reference_wrong(page)


def update(page, bin_dir):
    at = page.index(HEAD)
    cases = {m.group(1).replace("\\", ""): m for m in CASE.finditer(page, at)}
    made = {}
    for _ in range(RUNS):  # the shortest: other programs on the machine add findings
        with tempfile.TemporaryDirectory(prefix="truth-") as where:
            for name, report in reports(bin_dir, list(cases), where).items():
                shown = report.split(TABLES)[0]
                made[name] = min(made.get(name, shown), shown, key=lambda r: r.count("\n"))
    for name, m in sorted(cases.items(), key=lambda c: -c[1].start()):
        page = page[:m.start(2)] + folded(made[name]) + page[m.end(2):]
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="directory of podprof")
    parser.add_argument("--update", action="store_true", help="write the lines into the page")
    args = parser.parse_args()
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    if args.update:
        update(page, os.path.abspath(args.bin))
        return 0
    wrong = check(page, os.path.abspath(args.bin))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""--level python: calls of functions as they are, with each Python of this machine, whatever profiler the program has itself. Run by
ctest python_calls."""
import sys

from pythons import SHIM, alone, check, jobs, pythons, write

import e2e  # noqa: E402

HEAD = """
import asyncio, sys
import podprof
def one(i):
    return i * 2
def items(n):
    for i in range(n):
        yield one(i)
def whole(n):
    return sum(items(n))
def fails(n):
    if n:
        fails(n - 1)
    raise ValueError("deep")
def dives(n):
    return 1 + dives(n - 1) if n else 0
def closes():
    g = items(5)
    next(g)
    g.close()
async def waits(i):
    await asyncio.sleep(0)
    return one(i)
async def many():
    return await asyncio.gather(*(waits(i) for i in range(3)))
loop = asyncio.new_event_loop()
def step(n):
    total = whole(4)
    try:
        fails(3)
    except ValueError as e:
        total += len(e.__traceback__.tb_next.tb_frame.f_code.co_name)
    closes()
    return total + sum(loop.run_until_complete(many())) + dives(10)
"""
PLAIN = HEAD + """
for n in range(8):
    podprof.step(n)
    print(n, step(n))
"""
# Each generator is resumed once more than it yields; closing one is an event on some releases.
COUNTS = {"one": 8, "items": (6, 7), "whole": 1, "fails": 4, "dives": 11, "closes": 1, "waits": 6, "step": 1}
OWN = {
    "profile": """
def seen(frame, event, argument):
    if frame.f_code.co_name in ("one", "dives"):
        calls.append(event)
calls = []
for n in range(8):
    podprof.step(n)
    if n == 4:
        had = sys.getprofile()
        sys.setprofile(seen)
    step(n)
    if n == 5:
        sys.setprofile(had)
print(calls.count("call"), calls.count("return"))
""",
    "cProfile": """
import cProfile
theirs = cProfile.Profile()
for n in range(8):
    podprof.step(n)
    if n == 4:
        theirs.enable()
    step(n)
    if n == 5:
        theirs.disable()
print(sorted((e.code.co_name, e.callcount) for e in theirs.getstats() if getattr(e.code, "co_name", "") in ("one", "fails", "dives")))
""",
    "always": """
calls = []
sys.setprofile(lambda frame, event, argument: calls.append(event))
for n in range(8):
    podprof.step(n)
    step(n)
sys.setprofile(None)
print(len(calls) > 500)
""",
    "trace": """
lines = []
def line(frame, event, argument):
    lines.append(frame.f_code.co_name == "one")
    return line
for n in range(8):
    podprof.step(n)
    if n == 4:
        sys.settrace(line)
    step(n)
    if n == 5:
        sys.settrace(None)
print(sum(lines))
""",
}


def record(place, python, text, name, *options):
    command, logs = [python, write(place, name + ".py", text + "podprof.step_end()\n")], place.new_logs()
    base, got = alone(command, {"PYTHONPATH": SHIM}), jobs.run(place.under(logs, command, "--level", "python", *options))
    check((got.code, got.out) == (base.code, base.out), f"{python} {name}: {got.transcript()}\ninstead of {base.transcript()}")
    return got, jobs.session_of(logs)


def calls_of(session):
    """By function: calls, of all steps."""
    with e2e.h5(session) as f:
        rows = zip(f["op/row_op"][()], f["op/calls"][()])
        found = [(e2e.text(f["op/name"][()][r]), int(c)) for r, c in rows if f["op/source"][()][r] == b"Python"]
        check(all(f["op/category"][()][r] == b"Host compute" for r in f["op/row_op"][()]), f["op/category"][()])
        check(int(f["quality/dropped"][()].sum()) == 0, f"dropped {f['quality/dropped'][()]}")
    return {name.rpartition(": ")[2]: calls for name, calls in found if name.startswith(("plain.py(", "own.py("))}


def plain(place, full):
    """Exceptions, generators, coroutines and recursion are balanced; the program and its results are as without."""
    for python in pythons():
        _, session = record(place, python, PLAIN, "plain", "--steps", "2:6")
        have = calls_of(session)
        for name, count in COUNTS.items():
            check(have.get(name, 0) in [4 * c for c in (count if isinstance(count, tuple) else (count,))], f"{python}: {name} in {have}")
        text = e2e.read(session, "summary.txt")
        check("calls of Python functions were recorded" in text, text)


def own(place, full):
    """The program's own profilers and tracers see what they saw, and calls go on being recorded behind them, or podprof says why not."""
    for python in pythons():
        for name, text in OWN.items():
            got, session = record(place, python, HEAD + text, "own")
            has_place = name == "trace" or jobs.run([python, "-c", "import sys; sys.monitoring"]).code == 0
            check(has_place == ("has a profiler of its own" not in got.err), f"{python} {name}: {got.err}")
            have = calls_of(session) if has_place or name != "always" else {"step": 6}
            check(have.get("step") in ((8,) if has_place else (5, 6)), f"{python} {name}: {have}")


def taken(place, full):
    """Where other tools have all numbers of sys.monitoring, podprof has none."""
    text = HEAD + "for tool in range(6):\n    sys.monitoring.use_tool_id(tool, 'theirs')\nfor n in range(8):\n    podprof.step(n)\n    step(n)\n"
    found = [p for p in pythons() if jobs.run([p, "-c", "import sys; sys.monitoring"]).code == 0]
    if not found:
        raise jobs.Skipped("no Python with sys.monitoring")
    for python in found:
        got, _ = record(place, python, text, "own")
        check("have taken all numbers of sys.monitoring" in got.err, got.err)


def deep(place, full):
    """What is nested too deep is counted."""
    _, session = record(place, jobs.PYTHON, HEAD + "for n in range(8):\n    podprof.step(n)\n    dives(300)\n", "own")
    with e2e.h5(session) as f:
        causes = [e2e.text(c) for c in f["quality/cause"][()]]
        lost = int(f["quality/dropped"][()][0][causes.index("calls")])
    check(lost == 8 * (301 - 256), f"{lost} calls were too deep")


CASES = {"plain": plain, "own": own, "taken": taken, "deep": deep}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Windows of three steps of jobs whose device runs behind the host, whose CUPTI starts slowly, and whose device's clock is off: each step has the
device time that an independent sum of the true intervals gives, to 1 %, or is left out, which the session says. Also plays the traces of a directory
of Kineto files. Run by ctest gpu_edges."""
import csv
import glob
import gzip
import io
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs
from jobs import check, run

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_devices.replay")
TRACES = os.environ.get("PODPROF_KINETO", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data/kineto"))
TOLERANCE, TRIES = 0.01, 3
WINDOWS = [(8, 11), (16, 19), (24, 27)]
STEPS = 30


def write(place, name, lines):
    path = os.path.join(place.scratch, name)
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")
    return path


def behind(place):
    """Steps of about 40 ms: the host waits for the kernels of the step before, and launches 25 ms more than it waits for."""
    rnd, lines = random.Random(7), []
    for _ in range(3):
        lines += ["h 2000000", "w 1", "w 2"]
        for _ in range(20):
            lines += [f"k 1 {rnd.randint(500000, 2500000)}", f"h {rnd.randint(100000, 900000)}"]
            if rnd.random() < 0.3:
                lines.append(f"k 2 {rnd.randint(1000000, 3000000)}")
        lines.append("s")
    return write(place, "behind.plan", lines)


def kineto(place, path):
    """The launches of a trace in their order, with their kernels' lengths, a tenth of the time, as steps of 500 launches with a wait for
    the step before: how late a clock is shows where a wait ends just after a kernel."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    kernels = {e["args"]["correlation"]: e for e in events if e.get("cat") == "kernel"}
    calls = sorted((e for e in events if e.get("cat") == "cuda_runtime" and e["args"].get("correlation") in kernels), key=lambda e: e["ts"])
    streams = sorted({e["args"]["stream"] for e in kernels.values()})
    lines, last = [], calls[0]["ts"]
    for i, call in enumerate(calls[:len(calls) // 500 * 500]):
        kernel = kernels[call["args"]["correlation"]]
        if i % 500 == 0:
            lines += (["s"] if i else []) + [f"w {n}" for n in range(len(streams))]
        gap = (call["ts"] - last) * 100
        lines += [f"h {int(gap)}"] * (gap > 50000) + [f"k {streams.index(kernel['args']['stream']) % 8} {max(int(kernel['dur'] * 100), 1000)}"]
        last = call["ts"]
    return write(place, os.path.basename(path) + ".plan", lines + ["s"])


def union(intervals, begin, end):
    """Time within [begin, end) that any of the sorted intervals covers."""
    busy, at = 0, begin
    for a, b in intervals:
        a, b = max(a, at), min(b, end)
        if b > a:
            busy, at = busy + b - a, b
    return busy


def truth(kernels, marks):
    """Per step its length, the time that the device is busy in it, and by how much both may be off: the mark of a step takes some time."""
    with open(kernels, encoding="ascii") as f:
        ran = sorted(tuple(int(x) for x in line.split()[2:4]) for line in f)
    with open(marks, encoding="ascii") as f:
        rows = [tuple(int(x) for x in line.split()) for line in f]
    return {n: (b2 - a, union(ran, a, b2), (b - a) + (b2_after - b2))
            for (n, a, b), (_, b2, b2_after) in zip(rows, rows[1:])}


def table(place, session, name):
    got = run([place.podprof(), "report", "--table", name, session])
    check(got.code == 0, got.transcript())
    return list(csv.DictReader(io.StringIO(got.out)))


def compared(place, session, first, last, true):
    """How many of the window's steps are right; those that it lacks must be named as left out."""
    said, right = str(table(place, session, "warning")), 0
    cells = {int(row["step"]): row for row in table(place, session, "cell") if row["present"] in ("1", "True")}
    for number in range(first, min(last, len(true))):
        length, busy, error = true[number]
        if number not in cells:
            check("records of devices do not cover" in said, f"step {number} is left out without a word: {said}")
            continue
        found = int(cells[number]["exclusive_ns Device compute"])
        check(abs(found - busy) <= TOLERANCE * length + error, f"step {number}: {found} ns of {length}, true are {busy}; {said}")
        right += 1
    return right


def played(place, plan, env, words=(), options=(), least=6, wanted=WINDOWS, steps=STEPS):
    """A job of this plan and its windows; at least so many steps are there."""
    for i in range(TRIES):
        logs, marks, kernels = place.new_logs(), os.path.join(place.scratch, "marks"), os.path.join(place.scratch, "kernels")
        windows = ",".join(f"{a}:{b}" for a, b in wanted)
        got = run(place.under(logs, [place.program("trace_host"), plan, str(steps), marks, *words], "--steps", windows, *options),
                  {"LD_LIBRARY_PATH": place.guest, "REPLAY_FIXTURE": FIXTURE, "REPLAY_KERNELS": kernels, **env})
        check(got.code == 0, got.transcript())
        found = jobs.wait_until(lambda: len(jobs.sessions(logs)) == len(wanted) and jobs.sessions(logs), 60)
        check(found, f"sessions of {logs}: {got.transcript()}")
        true = truth(kernels, marks)
        right = sum(compared(place, session, *window, true) for session, window in zip(sorted(found), wanted))
        print(f"    {right} of {sum(min(b, steps) - a for a, b in wanted)} steps are there, and right")
        if right >= least:
            return
    check(False, f"only {right} steps of {TRIES} jobs are there")


def lag(place, full):
    played(place, behind(place), {})


def slow(place, full):
    """CUPTI takes half a second to start, which is more than the steps before the first window last."""
    played(place, behind(place), {"REPLAY_SLOW": "cuptiActivityEnable=60"}, least=4)


def late_clock(place, full):
    played(place, behind(place), {"REPLAY_SKEW_NS": "3000000"})


def early_clock(place, full):
    played(place, behind(place), {"REPLAY_SKEW_NS": "-2000000"})


def graphs(place, full):
    """A graph before the window, with a release that needs its subscriber before it."""
    played(place, behind(place), {"REPLAY_VERSION": "22", "REPLAY_DRIVER": "12040", "REPLAY_CRASH": "late_subscriber=1",
                                  "PODPROF_CUPTI": os.path.join(place.guest, "libcupti.so.13")}, words=["graph"])


def cold(place, full):
    """Without a warm-up windows lack the steps in which the device still runs what was launched before: the session says so."""
    played(place, behind(place), {"REPLAY_SKEW_NS": "-100000"}, options=["--warm-up", "0"], least=0)


def cut(place, full):
    """The program ends in the window, with work of the device that it does not wait for."""
    played(place, behind(place), {}, words=["cut"], least=4, wanted=[(20, 40)], steps=26)


def traces(place, full):
    """Real kernels, all at once: a device behind, a slow start and a clock that is off."""
    files = sorted(glob.glob(os.path.join(TRACES, "*.json.gz")))
    if not files:
        raise jobs.Skipped("no Kineto files")
    for path, skew in zip(files, ("-1500000", "800000")):
        played(place, kineto(place, path), {"REPLAY_SKEW_NS": skew, "REPLAY_SLOW": "cuptiActivityEnable=20"})


CASES = {"lag": lag, "slow": slow, "late_clock": late_clock, "early_clock": early_clock, "graphs": graphs, "cold": cold, "cut": cut, "traces": traces}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

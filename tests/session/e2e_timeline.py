#!/usr/bin/python3
"""Timelines of analysed files: events lie where their steps in pod.h5 do, whatever dates and ranks the files have, and files are found from other
directories; a rank is shown once. Run by ctest session_timeline."""
import gzip
import json
import os
import shutil
import sys

from e2e import good, train
from e2e_analyze import BASE, analyze, kineto, put
import jobs
from jobs import check, run, session_of

DAY = 86400 * 10**9
BEGIN = 10.0  # us: an operator after its step, in kineto()


def dated(rank, base):
    rows = json.loads(kineto(rank))
    rows["baseTimeNanoseconds"] = base
    if not base:
        del rows["baseTimeNanoseconds"]
    return json.dumps(rows)


def export(place, logs, *words, code=0, cwd=None):
    got = run([place.podprof(), "export", logs, "--format", "chrome", *words], cwd=cwd)
    check(got.code == code, f"exit code {got.code}, not {code}\n{got.transcript()}")
    return got


def slices(path):
    """By rank: (name, ts in us) of each, in order of time."""
    with (gzip.open if path.endswith(".gz") else open)(path) as f:
        events = json.load(f)["traceEvents"]
    rank = {e["pid"]: int(e["args"]["name"].split()[1]) for e in events if e["name"] == "process_name"}
    found = {}
    for e in sorted((e for e in events if e["ph"] == "X"), key=lambda e: float(e["ts"])):
        found.setdefault(rank[e["pid"]], []).append((e["name"], float(e["ts"])))
    return found


def check_places(place, logs, ranks, *words):
    """Steps are from pod.h5, operators from the file: their distance is that in the file."""
    path = os.path.join(place.scratch, "trace.json")
    export(place, logs, "-o", path, *words)
    found = slices(path)
    check(sorted(found) == ranks, f"slices of ranks {sorted(found)}, not {ranks}")
    for rank, rows in found.items():
        steps = [ts for name, ts in rows if name.startswith("step ")]
        calls = [ts for name, ts in rows if name == "aten::mm"]
        check(len(steps) == 4 and len(calls) == 4, f"rank {rank}: {rows}")
        far = [call - step for step, call in zip(steps, calls)]
        check(all(abs(us - BEGIN) < 0.002 for us in far), f"rank {rank}: operators begin {far} us after their steps, not {BEGIN}")


def dates(place, full):
    """A file earlier than rank 0's, one without a date, and dates that are months apart."""
    for name, bases in {"earlier": (BASE, BASE - 3 * 10**6, BASE + 5 * 10**6), "undated": (BASE, BASE - 3 * 10**6, 0),
                        "first_undated": (0, BASE, BASE + 10**6), "apart": (BASE, BASE - 200 * DAY, BASE + 10**6)}.items():
        logs = place.new_logs()
        for rank, base in enumerate(bases):
            put(place, f"{name}/rank{rank}.pt.trace.json", dated(rank, base))
        analyze(place, logs, os.path.join(place.scratch, name))
        check_places(place, logs, [0, 1, 2])
        check_places(place, logs, [2], "--ranks", "2")
        check_places(place, logs, [0], "--ranks", "0")


def paths(place, full):
    """Relative paths: from where they were typed, and beside the log directory; elsewhere one sentence with the fix."""
    here, other = os.path.join(place.scratch, "here"), os.path.join(place.scratch, "other")
    os.makedirs(other)
    for rank in range(2):
        put(place, f"here/in/rank{rank}.pt.trace.json", kineto(rank))
    got = run([place.podprof(), "analyze", "in", "-o", "logs"], cwd=here)
    check(got.code == 0, got.transcript())
    export(place, "logs", "-o", "a.json", cwd=here)
    export(place, os.path.join(here, "logs"), "-o", "a.json", cwd=other)
    check(slices(os.path.join(here, "a.json")) == slices(os.path.join(other, "a.json")), "other events from another directory")
    os.rename(os.path.join(here, "logs"), os.path.join(other, "logs"))
    got = export(place, "logs", "-o", "b.json", code=1, cwd=other)
    check("in/rank0.pt.trace.json" in got.err and "Go to the directory in which 'podprof analyze' was typed" in got.err, got.transcript())
    check(not os.path.exists(os.path.join(other, "b.json")), "half a trace")
    export(place, os.path.join(other, "logs"), "-o", "c.json", cwd=here)
    os.remove(os.path.join(here, "in/rank1.pt.trace.json"))
    got = export(place, os.path.join(other, "logs"), "-o", "d.json", cwd=here)
    check("1 rank has no events here" in got.err and sorted(slices(os.path.join(here, "d.json"))) == [0], got.transcript())


def stdout(place, full):
    """Without -o the trace is what a pipe gets, in each format."""
    logs = place.new_logs()
    put(place, "one/rank0.pt.trace.json", kineto(0))
    analyze(place, logs, os.path.join(place.scratch, "one"))
    got = run([place.podprof(), "export", logs, "--format", "folded"])
    check(got.code == 0, got.transcript())
    lines = dict(line.rsplit(" ", 1) for line in got.out.splitlines())
    main = next((stack.split(";")[1] for stack in lines if "aten::mm" in stack), "")
    check(lines.get(f"rank 0;{main};aten::mm") == str(4 * 300000), lines)
    got = export(place, logs)  # compressed
    check(len(got.out) > 100, f"{len(got.out)} bytes of JSON")
    path = os.path.join(place.scratch, "one.json")
    got = export(place, logs, "-o", path)
    with open(path) as f:
        arrows = [e for e in json.load(f)["traceEvents"] if e["ph"] in "sf"]
    check(len(arrows) == 2 * 4 and "no arrow" not in got.err, f"{len(arrows)} ends of arrows, not those of 4 launches\n{got.transcript()}")


def twice(place, full):
    """Of two files with one rank the first counts; one that cannot be read does not harm the others."""
    logs = place.new_logs()
    good(train(place, logs, 2, ["--steps", "12"], ["--steps", "4:8"]))
    session = os.path.basename(session_of(logs))
    folder, (path, more) = os.path.join(logs, "plugins/profile", session), (os.path.join(place.scratch, f) for f in ("once.json", "twice.json"))
    own = os.path.join(folder, os.listdir(folder)[0])
    check(len(os.listdir(folder)) == 1, os.listdir(folder))
    export(place, logs, "-o", path)
    check(sorted(slices(path)) == [0, 1], "not both ranks")
    shutil.copy(own, os.path.join(folder, "zz.xplane.pb"))
    export(place, logs, "-o", more)
    check(slices(more) == slices(path), "a second file of the same ranks changes the events")
    with open(os.path.join(folder, "zz.xplane.pb"), "w") as f:
        f.write("no file of podprof")
    export(place, logs, "-o", more)
    check(slices(more) == slices(path), "a file that is none changes the events")
    os.remove(own)
    got = export(place, logs, "-o", os.path.join(place.scratch, "none.json"), code=1)
    check("zz.xplane.pb" in got.err and not os.path.exists(os.path.join(place.scratch, "none.json")), got.transcript())


CASES = {f.__name__: f for f in (dates, paths, stdout, twice)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

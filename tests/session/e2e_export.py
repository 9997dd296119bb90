#!/usr/bin/python3
"""podprof export --format perfetto|chrome|folded of real jobs: read back by others' code, waits beside pod.h5's tables, filters, and every
reason to fail. Run by ctest session_export."""
import collections
import json
import os
import re
import shutil
import sys

import chrome_read
from e2e import good, h5, read, train, xspaces
from e2e_analyze import analyze, folder
import jobs
from jobs import Skipped, check, run, session_of

PERFETTO = os.environ.get("PODPROF_PERFETTO_PYTHON", "")
HERE = os.path.dirname(os.path.abspath(__file__))


def export(place, source, form, *words, name=None, code=0):
    """The file, and what was said."""
    path = os.path.join(place.scratch, name or f"out.{ {'perfetto': 'perfetto-trace', 'chrome': 'json.gz', 'folded': 'folded'}[form]}")
    if os.path.exists(path):
        os.unlink(path)
    got = run([place.podprof(), "export", "--format", form, "-o", path, *words, source])
    check(got.code == code and not got.out, f"exit code {got.code}, not {code}\n{got.transcript()}")
    check(os.path.exists(path) == (code == 0) and not os.path.exists(path + ".part"), f"files after {code}: {os.listdir(place.scratch)}")
    return path, got.err


def said(err):
    m = re.search(r"wrote ([\d ]+) events and ([\d ]+) arrows of (\d+) ranks?\b", err)
    check(m, err)
    return [int(n.replace(" ", "")) for n in m.groups()]


def chrome(place, source, *words):
    """The trace, its counts equal to those printed."""
    path, err = export(place, source, "chrome", *words)
    trace = chrome_read.read(path)
    got = chrome_read.counts(trace)
    check([got["slices"], got["flows"]] == said(err)[:2], f"{got} in the file\n{err}")
    return trace, got, err


def perfetto(place, source, *words):
    path, err = export(place, source, "perfetto", *words)
    if not PERFETTO or not os.path.exists(PERFETTO):
        return None
    got = run([PERFETTO, "-B", os.path.join(HERE, "perfetto_read.py"), path])
    if got.code == 77:
        return None
    check(got.code == 0, got.transcript())
    counts = json.loads(got.out)
    check([counts["slices"], counts["flows"]] == said(err)[:2], f"{counts} in the file\n{err}")
    return counts


def late(place, ranks=4, words=(), options=()):
    logs = place.new_logs()
    good(train(place, logs, ranks, ("--steps", "20", "--slow-rank", "1", "--slow-us", "20000", *words), ("--steps", "5:10", *options)))
    return logs, session_of(logs)


def waits_of(trace):
    """Summed by communicator and number, of the calls of collectives."""
    sums, waiting = collections.Counter(), 0
    for e in trace["traceEvents"]:
        args = e.get("args", {})
        if e["ph"] == "X" and args.get("waited ns"):
            waiting += 1
            check(args["waited ns"] <= round(e["dur"] * 1000), f"it waited longer than it lasted: {e}")
            if "sequence" in args:
                sums[int(args["communicator id"], 16), args["sequence"]] += args["waited ns"]
    return sums, waiting


def check_waits(trace, session):
    """Each operation's waiting adds up to the table's. How many calls waited."""
    sums, waiting = waits_of(trace)
    with h5(session) as f:
        c = f["collective"]
        table = {(int(a), int(b)): int(w) for a, b, w, m in zip(c["communicator"][()], c["sequence"][()], c["wait_ns"][()], c["message"][()]) if w and not m}
    check(table and table == dict(sums), f"{table}\n{dict(sums)}")
    return waiting


def check_all_waits(trace, session):
    """The waiting of all calls, messages' too, adds up to the tables'."""
    events = sum(e["args"]["waited ns"] for e in trace["traceEvents"] if e["ph"] == "X" and e.get("args", {}).get("waited ns"))
    with h5(session) as f:
        inside, exposed = int(f["collective"]["wait_ns"][()].clip(0).sum()), int(f["collective"]["exposed_wait_ns"][()].sum())
        check(exposed == int(f["breakdown"]["wait_ns"][()].clip(0).sum()), f"rows have {exposed} ns of exposed waiting")
    check(exposed <= events <= inside, f"{exposed} ns exposed, {events} ns in events, {inside} ns in operations")


def formats(place, full):
    """Every format has the same events and arrows; each call's waiting adds up to the table's; rank 1 is waited for."""
    logs, session = late(place)
    trace, got, _ = chrome(place, logs)
    other = perfetto(place, logs)
    check(other is None or {k: other[k] for k in ("slices", "flows", "samples", "ranks")} == got, f"{other} in Perfetto's, {got} in Chrome's")
    waiting = check_waits(trace, session)
    with h5(session) as f:
        c = f["collective"]
        last = {(int(a), int(b)): int(w) for a, b, w in zip(c["communicator"][()], c["sequence"][()], c["last_worker"][()])}
    check(got["flows"] == waiting, f"{got['flows']} arrows, and {waiting} calls that waited")
    awaited = collections.Counter()
    for e in trace["traceEvents"]:
        if e["ph"] == "X" and e["args"].get("waited ns"):
            awaited[e["args"]["waited for rank"]] += e["args"]["waited ns"]
            rank = last[int(e["args"]["communicator id"], 16), e["args"]["sequence"]]
            check(e["args"]["waited for rank"] == rank, f"it waited for another than rank {rank}: {e}")
    check(awaited.most_common(1)[0][0] == 1, f"waited for {awaited}")
    perfetto(place, session)
    page = re.search(r'"timeline":(\{.*?\}),"loss":', read(session, "report.html"), re.S)
    drawn = json.loads(page[1]) if page else {"chunk": []}
    here = [sum(chunk[key] for chunk in drawn["chunk"]) for key in ("events", "flows")]
    check(here == [got["slices"], got["flows"]], f"the page has {here} events and arrows, exports have {got}")
    steps = [e["name"] for e in trace["traceEvents"] if e["ph"] == "X" and e.get("cat") == "steps"]
    check(collections.Counter(steps) == {f"step {n}": 4 for n in range(5, 10)}, f"steps {steps}")


def folded(place, full):
    """The stacks' times are the own times of all ranges and calls."""
    logs, _ = late(place)
    trace, _, _ = chrome(place, logs)
    tids = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    own = sum(e["args"]["self time ns"] for e in trace["traceEvents"] if e["ph"] == "X" and tids[e["pid"], e["tid"]] == "main")
    for words in ((), ("--all-ranks",)):
        path, err = export(place, logs, "folded", *words)
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
        rows = [re.fullmatch(r"(.+) (\d+)", line) for line in lines]
        check(all(rows) and len(lines) == len({r[1] for r in rows}), "a line is no stack, or is there twice")
        check(sum(int(r[2]) for r in rows) == own, f"{sum(int(r[2]) for r in rows)} ns in the stacks, {own} in the events")
        check(f"wrote {len(lines)} stacks of 4 ranks" in err, err)
        begins = "rank 2;main;" if not words else ""
        check(any(r[1].startswith(f"{begins}step 4;") or r[1].startswith(f"{begins}forward") for r in rows), lines[:20])
        check(any(r[1].endswith("MPI_Allreduce;(waiting)") for r in rows), lines)


def filters(place, full):
    """Each leaves out what it says, with its number."""
    logs, _ = late(place)
    whole = said(chrome(place, logs)[2])
    trace, _, err = chrome(place, logs, "--steps", "6:8")
    n = said(err)
    check(f"{whole[0] - n[0]} events outside the steps of --steps are left out" in err, f"{whole} {err}")
    check({e["name"] for e in trace["traceEvents"] if e.get("cat") == "steps"} == {"step 6", "step 7"}, err)
    trace, _, err = chrome(place, logs, "--ranks", "1,3")
    check(said(err)[2] == 2 and "2 ranks are not in --ranks, and left out" in err, err)
    waited = [e["args"] for e in trace["traceEvents"] if e["ph"] == "X" and e["args"].get("waited ns")]
    check(waited and {a["waited for rank"] for a in waited} and "no known waiting" not in err, f"ranks that are left out are still waited for: {err}")
    check({e["pid"] for e in trace["traceEvents"] if e["ph"] == "X"} == {1000001, 1000003}, "other ranks")
    trace, _, err = chrome(place, logs, "--categories", "host communication,input")
    n = said(err)
    check(f"{whole[0] - n[0]} events of other categories than --categories are left out" in err, err)
    check({e["cat"] for e in trace["traceEvents"] if e["ph"] == "X"} == {"Host communication", "Input", "steps"}, err)
    trace, _, err = chrome(place, logs, "--last", "5ms")
    n = said(err)
    check(0 < n[0] < whole[0] and f"{whole[0] - n[0]} events before the time of --last are left out" in err, f"{whole} {err}")


def kinds(place, full):
    """Requests, messages and their tags: arrows for those that are certain, a count of the others; one file per rank."""
    logs = place.new_logs()
    good(run(place.mpirun(3, place.under(logs, [place.program("sendrecv")], "--xspace", "rank"))))
    check(len(xspaces(logs, session_of(logs))) == 3, "no file per rank")
    trace, got, err = chrome(place, logs)
    # each of 5 rounds has a message per rank, each of 3 has 2; a call that waited for the other end has an arrow to it
    check(got["flows"] == 21 + waits_of(trace)[1] and "have no arrow" not in err, f"{got} {err}")
    check_all_waits(trace, session_of(logs))
    perfetto(place, logs)


ROOTED = """
from mpi4py import MPI
import array, time
world, half = MPI.COMM_WORLD, MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2)
one, all = array.array('d', [1.0]), array.array('d', [0.0] * world.size)
for step in range(6):
    time.sleep(0.004 * (world.rank == 1))
    world.Bcast(one, root=1)
    time.sleep(0.004 * (world.rank == 3))
    world.Reduce(one, array.array('d', [0.0]), root=0)
    world.Gather(one, all if world.rank == 2 else None, root=2)
    half.Scan(one, array.array('d', [0.0]))
    half.Allreduce(one, array.array('d', [0.0]))
"""


def rooted(place, full):
    """Operations with a root, prefixes and parts of the world wait as the tables say, read back from the event files."""
    if run([jobs.PYTHON, "-c", "import mpi4py"]).code:
        raise Skipped("no mpi4py")
    script, logs = os.path.join(place.scratch, "rooted.py"), place.new_logs()
    with open(script, "w", encoding="ascii") as f:
        f.write(ROOTED)
    ended = run(place.mpirun(4, place.under(logs, [jobs.PYTHON, script])))
    check(ended.code == 0, ended.transcript())
    trace, got, err = chrome(place, logs)
    waiting = check_waits(trace, session_of(logs))
    check(waiting == got["flows"], f"{waiting} calls waited, {got} {err}")
    check("no known waiting" not in err, err)
    late = collections.Counter()
    for e in trace["traceEvents"]:
        if e["ph"] == "X" and e["name"] == "MPI_Bcast" and e["args"].get("waited ns"):
            late[e["args"]["waited for rank"]] += e["args"]["waited ns"]
    # a rank inside of the tree may be late too
    check(late.most_common(1)[0][0] == 1, f"Bcast waits for {late}")


def foreign(place, full):
    """Files of other profilers that were analysed: their kernels with arrows from their launches. Gone, they are named."""
    logs = place.new_logs()
    files = folder(place, "kineto")
    analyze(place, logs, files)
    trace, got, err = chrome(place, logs)
    check(said(err)[2] == 2 and got["flows"] == 8, f"{got} {err}")
    kernels = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["name"] == "gemm"]
    check(len(kernels) == 8 and {e["cat"] for e in kernels} == {"Device compute"}, kernels)
    perfetto(place, logs)
    os.unlink(os.path.join(files, "rank1.pt.trace.json.gz"))
    _, _, err = chrome(place, logs)
    check(said(err)[2] == 1 and "1 rank has no events here" in err, err)
    shutil.rmtree(files)
    _, err = export(place, logs, "chrome", code=1)
    check("rank0.pt.trace.json" in err, err)


def faults(place, full):
    """Nothing is half-written, each reason is one sentence that names what to do."""
    logs, session = late(place, 2)
    for words, code, why in ((("--categories", "Inptu"), 64, "did you mean 'Input'"), (("--steps", "5:6,8:9"), 64, "several windows"),
                             (("--tool", "overview"), 64, "remove --tool"), (("--all-ranks",), 64, "--format folded"),
                             (("--steps", "900:910"), 1, "matches --steps"), (("--ranks", "77"), 1, "no event matches --ranks: ")):
        _, err = export(place, logs, "chrome", *words, code=code)
        check(why in err and len(err.splitlines()) == 1, err)
    got = run([place.podprof(), "export", "--tool", "overview", "--steps", "1:2", logs])
    check(got.code == 64 and "for traces" in got.err, got.transcript())
    for form in ("perfetto", "chrome", "folded"):
        got = run(["sh", "-c", f"exec {place.podprof()} export --format {form} {logs} > /dev/full"])
        check(got.code == 1 and "o space left" in got.err and len(got.err.splitlines()) == 1, got.transcript())
        got = run(["bash", "-c", f"set -o pipefail; (sleep 0.2; exec {place.podprof()} export --format {form} {logs}) | exec true"])
        check(got.code == 1 and "roken pipe" in got.err, got.transcript())
        _, err = export(place, logs, form, name="no/such/directory/file", code=1)
        check("no/such/directory" in err, err)
    directory = os.path.join(logs, "plugins", "profile", os.path.basename(session))
    path = os.path.join(directory, xspaces(logs, session)[0])
    with open(path, "rb") as f:
        whole = f.read()
    with open(path, "wb") as f:
        f.write(whole[:len(whole) // 2])
    got = run([place.podprof(), "export", "--format", "chrome", "-o", os.path.join(place.scratch, "cut.json"), logs])
    check(got.code == 1 or "damaged" in got.err or "no events here" in got.err or "no arrow" in got.err or "no known waiting" in got.err, got.transcript())
    os.unlink(path)
    _, err = export(place, logs, "chrome", code=1)
    check("no event file in" in err, err)
    with open(os.path.join(session, "pod.h5"), "r+b") as f:
        f.truncate(3000)
    _, err = export(place, logs, "chrome", code=1)
    check("pod.h5" in err and len(err.splitlines()) == 1, err)
    alone = os.path.join(place.scratch, "alone")
    os.makedirs(alone)
    shutil.copy(os.path.join(session, "pod.h5"), alone)
    check(run([place.podprof(), "export", "--format", "chrome", alone]).code == 1, "a dataset alone has events")


CASES = {"formats": formats, "folded": folded, "filters": filters, "kinds": kinds, "rooted": rooted, "foreign": foreign, "faults": faults}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""podprof analyze on small Kineto and XSpace files made here, whole and damaged: what it writes, says and returns. Run by ctest
session_analyze; the readers' rules are in tests/unit/aggregate/read and in parity."""
import gzip
import json
import os
import signal
import subprocess
import sys
import time

from e2e import h5, read, text
import jobs
from jobs import check, run, session_of, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = 1711964646000000000  # ns: the files' date
STEP = 1000  # us


def kineto(rank, steps=4, events=1, begin=10, kernel=200, window=0, pid=None):
    """Each step: `events` operators on the host, then a kernel of 200 us (rank 1: 100 us more) that the last of them launched. Windows are 1 s long."""
    pid = pid or 100 + rank
    rows = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0, "args": {"name": "python"}}]
    for s in range(steps):
        t = 5000 + s * STEP
        rows.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{begin + s}", "pid": pid, "tid": 1, "ts": t, "dur": STEP,
                     "args": {}})
        for e in range(events):
            rows.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": pid, "tid": 1, "ts": t + 10 + e * 400 / events,
                         "dur": round(300 / events, 3), "args": {"External id": 1 + s}})
        rows.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": pid, "tid": 1, "ts": t + 420, "dur": 5,
                     "args": {"correlation": 50 + s, "External id": 1 + s}})
        rows.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": t + 500, "dur": kernel + 100 * (rank == 1),
                     "args": {"device": 0, "stream": 7, "correlation": 50 + s, "External id": 1 + s, "grid": [2, 1, 1], "block": [64, 1, 1]}})
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8},
                       "baseTimeNanoseconds": BASE + window * 10**9, "traceEvents": rows})


def put(place, name, data, packed=False):
    path = os.path.join(place.scratch, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = data.encode() if isinstance(data, str) else data
    with (gzip.open if packed else open)(path, "wb") as f:
        f.write(data)
    return path


def folder(place, name, ranks=2, **how):
    for r in range(ranks):
        put(place, f"{name}/rank{r}.pt.trace.json{'.gz' * (r % 2)}", kineto(r, **how), r % 2 == 1)
    return os.path.join(place.scratch, name)


def analyze(place, logs, *words, prefix=(), code=0):
    got = run([*prefix, place.podprof(), "analyze", *words, "-o", logs])
    check(code is None or got.code == code, f"exit code {got.code}, not {code}\n{got.transcript()}")
    check(not got.out, got.transcript())
    return got


def dump(session):
    """All of pod.h5 but its rows about the run of podprof itself."""
    rows = {}

    def keep(name, item):
        if hasattr(item, "shape") and name not in ("quality/keeper_cpu_ns", "quality/keeper_rss_bytes", "quality/record_cost_ps"):
            rows[name] = item[()].tobytes() if item.dtype.kind != "O" else repr(item[()].tolist())
    with h5(session) as f:
        f.visititems(keep)
    return rows


def whole(place, full):
    """Two ranks of PyTorch: their own ranks and steps, kernels by operator, no rank waits, and the same page as a live job."""
    logs = place.new_logs()
    got = analyze(place, logs, folder(place, "two"))
    check("steps 10..13 of 2 ranks on 2 hosts, from 2 files" in got.err, got.transcript())
    session = session_of(logs)
    with h5(session) as f:
        check(f["worker/rank"][()].tolist() == [0, 1], f["worker/rank"][()])
        check(f["step/step"][()].tolist() == [10, 11, 12, 13], f["step/step"][()])
        device = f["breakdown/exclusive_ns"][()][:, :, 0].tolist()
        check(device == [[200000, 300000]] * 4, device)
        check((f["breakdown/step_ns"][()] == STEP * 1000).all(), f["breakdown/step_ns"][()])
        check(f["trace_file/events"][()].tolist() == [17, 17] or min(f["trace_file/events"][()]) >= 16, f["trace_file/events"][()])
        check([text(t) for t in f["trace_file/format"][()]] == ["Kineto", "Kineto"], f["trace_file/format"][()])
    summary = read(session, "summary.txt")
    check("Whether ranks wait for each other is unknown" in summary, summary)
    check("each file has a clock of its own" in summary and "xprof" not in summary and ", GPU  " in summary, summary)
    again = run([place.podprof(), "report", "--json", logs])  # from pod.h5, as the page
    check(again.code == 0 and "xprof" not in again.out, again.transcript())
    check(os.path.getsize(os.path.join(session, "report.html")) > 10000, jobs.tree(logs))
    check(not os.path.exists(os.path.join(logs, "plugins")), jobs.tree(logs))
    jobs.check_page(place.podprof(), logs, session)


def reduced(rank, slow, ranks=4, steps=4):
    """Each step: a computation of 300 us, on the slow rank of 1.2 ms, then an all-reduce whose kernels end together; each file has its clock."""
    rows = [{"ph": "M", "name": "process_name", "pid": 100 + rank, "tid": 0, "ts": 0, "args": {"name": "python"}}]
    group = {"Collective name": "allreduce", "In msg nelems": 1000000, "Out msg nelems": 1000000, "Group size": ranks, "dtype": "Float",
             "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))}

    def add(cat, name, begin, length, **args):
        rows.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 100 + rank, "tid": args.get("stream", 1),
                     "ts": 5000 + 123456 * rank + s * 2000 + begin, "dur": length, "args": args})
    for s in range(steps):
        busy = 1200 if rank == slow else 300 + 10 * rank
        add("user_annotation", f"ProfilerStep#{10 + s}", 0, 2000)
        add("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=500 + s)
        add("kernel", "gemm", 50, busy, device=0, stream=7, correlation=500 + s)
        add("cpu_op", "c10d::allreduce_", 20, 40)
        rows.append({**rows[-1], "name": "record_param_comms", "ts": rows[-1]["ts"] + 2, "dur": 36, "args": group})
        add("user_annotation", "nccl:all_reduce", 23, 34)
        add("cuda_runtime", "cudaLaunchKernelExC", 30, 5, correlation=600 + s)
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50 + busy, 1400 - busy, device=0, stream=20, correlation=600 + s)
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
                       "baseTimeNanoseconds": BASE, "traceEvents": rows})


def slow_gpu(place, full):
    """Files whose clocks differ, and that name no host: collectives align them, the rank whose GPU is slow is named, and the bandwidth is that of the
    kernels."""
    logs = place.new_logs()
    for r in range(4):
        put(place, f"slow/rank{r}.pt.trace.json", reduced(r, slow=2, steps=16))
    analyze(place, logs, os.path.join(place.scratch, "slow"))
    session = session_of(logs)
    with h5(session) as f:
        c = f["collective"]
        check((c["last_worker"][()] == 2).all() and len(c["last_worker"]) == 16, c["last_worker"][()])
        busbw = 4e6 / 200e-6 * 2 * 3 / 4
        check((abs(c["busbw"][()] - busbw) < 0.05 * busbw).all(), c["busbw"][()])
        check(c["device_wait_ns"][()].tolist() == [900000, 890000, 0, 870000] * 16, c["device_wait_ns"][()])
        check(f["breakdown/wait_ns"][()].clip(0).sum() == c["exposed_wait_ns"][()].sum() == 16 * 2660000, f["breakdown/wait_ns"][()].clip(0))
        check(f["breakdown/late_ns"][()].clip(0).tolist() == [[0, 0, 2660000, 0]] * 16, f["breakdown/late_ns"][()].clip(0))
    summary = read(session, "summary.txt")
    check("Bottleneck: rank 2, Device compute" in summary and "Straggler:  rank 2" in summary, summary)


def advice(place, full):
    """What to do next comes from tables, and is the same where the session is read again."""
    logs = place.new_logs()
    analyze(place, logs, folder(place, "device", ranks=1, kernel=480))
    brief = json.loads(run([place.podprof(), "report", "--json", logs]).out)
    check(brief["clock_error_ns"] is None, f"a file of another profiler has a clock error: {brief['clock_error_ns']}")
    said = brief["next"]
    check(said.startswith('begin with kernel "gemm", 100 % of the kernels\' time: podprof report --table kernel_stat '), said)
    summary = " ".join(read(session_of(logs), "summary.txt").replace("$ ", "").split())
    check("Next: " + said in summary, f"{said}\n{summary}")
    listed = run(said.split(": ")[-1].replace("podprof", place.podprof(), 1).split())
    check(listed.code == 0 and "gemm" in listed.out, listed.transcript())


def same_bytes(place, full):
    """One process, several, or ranks of mpirun: equal results, but for the rows about podprof's own run."""
    where, found = folder(place, "many", ranks=5), {}
    for name, prefix, words in (("one", (), ("--processes", "1")), ("three", (), ("--processes", "3")),
                                ("mpirun", place.mpirun(3, []), ())):
        logs = place.new_logs()
        analyze(place, logs, where, *words, "--session", "s", prefix=prefix)
        found[name] = dump(session_of(logs))
    for name, rows in found.items():
        differ = [k for k in rows if rows[k] != found["one"].get(k)] + [k for k in found["one"] if k not in rows]
        check(not differ, f"{name} and one process differ in {differ}")


def untimed(place, full):
    """An event without a valid time is left out, which the summary says."""
    rows = [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1000 + 20 * i, "dur": 10 - 15 * (i == 1)} for i in range(3)]
    logs = place.new_logs()
    analyze(place, logs, put(place, "untimed.json", json.dumps({"schemaVersion": 1, "traceEvents": rows})))
    summary = read(session_of(logs), "summary.txt")
    check("Records:    2, none lost" in summary and "1 event has no valid time in the files, and is left out" in summary, summary)


def damaged(place, full):
    """A cut file gives what is before the cut; an empty, a foreign and a missing one do not spoil the others. Each has its sentence."""
    where = folder(place, "bad", ranks=3)
    data = kineto(1)
    put(place, "bad/rank1.pt.trace.json", data[:data.index("ProfilerStep#12")])
    os.unlink(os.path.join(where, "rank1.pt.trace.json.gz"))
    empty, foreign = put(place, "x/empty.xplane.pb", b""), put(place, "x/page.json", "<html></html>")
    logs = place.new_logs()
    got = analyze(place, logs, where, empty, foreign, code=2)
    check(f"'{empty}': it is empty" in got.err, got.transcript())
    check(f"'{foreign}': it is neither XSpace" in got.err, got.transcript())
    check("rank1.pt.trace.json' is damaged at byte" in got.err, got.transcript())
    check("of 3 ranks on 3 hosts, from 3 files" in got.err and len(os.listdir(os.path.join(logs, "podprof"))) == 1, got.transcript())
    with h5(session_of(logs)) as f:
        status = [text(s) for s in f["worker/status"][()]]
        check([s.split(":")[0] for s in status] == ["delivered", "partial", "delivered", "missing", "missing"], status)
        check(status[3].endswith("cannot read its file: it is empty"), status)
        check(not any("do not give their ranks" in text(w) or "of a host" in text(w) for w in f["quality/warning"][()]), f["quality/warning"][()])
    for words, said in (((empty,), "it is empty"), ((foreign,), "neither XSpace"), (("/proc/nonexistent",), "No such file"),
                        ((os.path.join(place.scratch, "nothing"),), "has no trace")):
        os.makedirs(os.path.join(place.scratch, "nothing"), exist_ok=True)
        logs = place.new_logs()
        got = analyze(place, logs, *words, code=1)
        check(said.lower() in got.err.lower() and len(got.err.strip().split("\n")) == 1, got.transcript())
        check(not os.path.exists(logs) or not os.listdir(logs), jobs.tree(logs))


def bad_paths(place, full):
    """Paths that do not exist or have no trace stop nobody: each is named, the rest is analysed, also where several ranks read it."""
    where, nothing, gone = folder(place, "good"), os.path.join(place.scratch, "hollow"), os.path.join(place.scratch, "gone")
    os.makedirs(nothing, exist_ok=True)
    for prefix in ((), place.mpirun(2, [])):
        logs = place.new_logs()
        got = analyze(place, logs, nothing, where, gone, prefix=prefix, code=None if prefix else 2)
        check(got.code != 0, got.transcript())
        check(f"'{nothing}' has no trace" in got.err and f"cannot read '{gone}': no such file" in got.err, got.transcript())
        check("of 2 ranks on 2 hosts, from 2 files" in got.err, got.transcript())
        with h5(session_of(logs)) as f:
            said = [text(w) for w in f["quality/warning"][()] if "of the paths given" in text(w)]
            check(said == [f"2 of the paths given were not analysed: '{nothing}' has no trace: no .xplane.pb and no Kineto .json, plain or .gz"],
                  said)
            check([text(s) for s in f["worker/status"][()]] == ["delivered"] * 2, f["worker/status"][()])
    got = run([place.podprof(), "analyze", nothing, gone, "-o", place.new_logs()])
    check(got.code == 1 and "Nothing was analysed" in got.err and nothing in got.err and gone in got.err, got.transcript())


def bad_by_name(place, full):
    """In a directory, a file that only its name or its begin shows to be a trace is missed aloud; other .json files are none of podprof's."""
    where, logs = folder(place, "named", ranks=1), place.new_logs()
    whole_bytes = gzip.compress(kineto(1).encode())
    bad = {"rank1.pt.trace.json.gz": whole_bytes[:30], "rank2.pt.trace.json": b'{"sche', "rank3.json.gz": whole_bytes[:30]}
    for name, data in {**bad, "empty.json": b"", "config.json": b'{"a": 1}', "stacktrace.json": b'{"a": 1}'}.items():
        put(place, "named/" + name, data)
    got = analyze(place, logs, where, code=2)
    said = [line for line in got.podprof_lines() if "cannot read" in line]
    check(len(said) == len(bad) and all(any(f"/{name}'" in line for line in said) for name in bad), got.transcript())
    with h5(session_of(logs)) as f:
        check([text(s).split(":")[0] for s in f["worker/status"][()]] == ["delivered"] + ["missing"] * len(bad), f["worker/status"][()])


def unmarked(place, full):
    """A file that marks no steps, as a cut one may, hides nobody's steps: it has none, says so, and has no rows of means per step."""
    where, logs = folder(place, "unmarked", ranks=3), place.new_logs()
    rows = json.loads(kineto(1))
    rows["traceEvents"] = [e for e in rows["traceEvents"] if not e["name"].startswith("ProfilerStep")]
    put(place, "unmarked/rank1.pt.trace.json.gz", json.dumps(rows), True)
    got = analyze(place, logs, where)
    check("steps 10..13 of 3 ranks on 3 hosts, from 3 files" in got.err, got.transcript())
    with h5(session_of(logs)) as f:
        check(f["breakdown/present"][()].tolist() == [[1, 0, 1]] * 4, f["breakdown/present"][()])
        check(sorted(set(f["op/worker"][()].tolist())) == [0, 2], f["op/worker"][()])
        check(text(f["worker/status"][1]) == "partial: its file marks no steps, and others do", f["worker/status"][()])
        check(text(f.attrs["step_rule"]) == "kineto: ProfilerStep", text(f.attrs["step_rule"]))
        said = [text(w) for w in f["quality/warning"][()]]
        check(any("'podprof analyze' of it alone" in w for w in said) and not any("one step" in w for w in said), said)
    analyze(place, place.new_logs(), os.path.join(where, "rank1.pt.trace.json.gz"))


def asked_wrongly(place, full):
    """No file, an unknown option, two sessions at once, one file twice, a log directory that cannot be made."""
    check(run([place.podprof(), "analyze"]).code == 64, "no file")
    check(run([place.podprof(), "analyze", "x", "--stepz", "1:2"]).code == 64, "an unknown option")
    for found, said, last in (("ab", "2 sessions, and", "b"), ("cde", "3 sessions or more, and", "c")):
        for s in found:
            put(place, f"tb/plugins/profile/{s}/host.json", kineto(0))
            put(place, f"tb/plugins/profile/{s}/other.json", kineto(1))
        got = run([place.podprof(), "analyze", os.path.join(place.scratch, "tb"), "-o", place.new_logs()])
        check(got.code == 64 and said in got.err and f"tb/plugins/profile/{last}" in got.err, got.transcript())
    where, logs = folder(place, "twice", ranks=1), place.new_logs()
    got = analyze(place, logs, where, os.path.join(where, "rank0.pt.trace.json"))
    check("of 1 rank on 1 host, from 1 file" in got.err, got.transcript())
    with h5(session_of(logs)) as f:
        check(any("given twice" in text(w) for w in f["quality/warning"][()]), f["quality/warning"][()])
    got = analyze(place, logs + " x", where)
    check(f"podprof report '{logs} x'" in got.err, got.transcript())
    got = run([place.podprof(), "analyze", where, "-o", os.path.join(where, "rank0.pt.trace.json")])
    check(got.code == 1 and "Nothing was analysed" in got.err, got.transcript())


def odd_places(place, full):
    """Pipes, links to directories and to nothing, a directory that cannot be read: a sentence each, and no wait."""
    where, logs = folder(place, "odd", ranks=1), place.new_logs()
    pipe, link, nowhere = (os.path.join(place.scratch, n) for n in ("pipe.json", "latest", "odd/gone.xplane.pb"))
    os.mkfifo(pipe)
    os.symlink(where, link)
    os.symlink("/proc/nonexistent", nowhere)
    got = analyze(place, logs, link, pipe, code=2)
    check("of 1 rank on 1 host, from 1 file" in got.err and f"'{pipe}': it is no regular file" in got.err, got.transcript())
    check("latest/gone.xplane.pb': no such file" in got.err, got.transcript())
    os.unlink(nowhere)
    put(place, "odd/closed/rank1.json", kineto(1))
    os.chmod(os.path.join(where, "closed"), 0)
    try:
        if os.access(os.path.join(where, "closed"), os.R_OK):
            return  # root reads everything
        got = analyze(place, place.new_logs(), where, code=2)
        check("odd/closed': permission denied" in got.err and "from 1 file" in got.err, got.transcript())
    finally:
        os.chmod(os.path.join(where, "closed"), 0o700)


def no_room(place, full):
    """A disk without room for all files of the session, and closed stdin, stdout and stderr: no part of a file, and exit code 2 where one lacks."""
    where, logs = folder(place, "room"), place.new_logs()
    got = run(["bash", "-c", f"ulimit -f 64; exec '{place.podprof()}' analyze '{where}' -o '{logs}'"])
    check(got.code == 2 and "it has summary.txt, but not pod.h5" in got.err, got.transcript())
    check([f for _, _, files in os.walk(logs) for f in files] == ["summary.txt"], jobs.tree(logs))
    logs = place.new_logs()
    got = run(["bash", "-c", f"exec '{place.podprof()}' analyze '{where}' -o '{logs}' <&- >&- 2>&-"])
    check(got.code == 0 and os.path.getsize(os.path.join(session_of(logs), "report.html")) > 10000, f"{got.transcript()}{jobs.tree(logs)}")


def shrinks(place, full):
    """A file that becomes shorter while it is read is one file that was not read."""
    where = os.path.join(place.scratch, "shrinks")
    subprocess.run([sys.executable, "-B", os.path.join(HERE, "make_xspace.py"), where, "--hosts", "1", "--gpus", "1", "--steps", "3000"], check=True,
                   stdout=subprocess.DEVNULL)
    path, good = os.path.join(where, os.listdir(where)[0]), put(place, "shrinks.json", kineto(0))
    logs = place.new_logs()
    p = subprocess.Popen([place.podprof(), "analyze", path, good, "-o", logs, "--processes", "1"], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: p.poll() is not None or not subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, check=False).returncode)
    os.truncate(path, 5000)
    err = p.communicate()[1]
    if p.returncode:  # it was not faster
        check(p.returncode == 2 and "from 1 file" in err and "became shorter" in err or "is damaged at byte" in err, err)


def made_for_viewers(place, full):
    """JAX and TensorBoard leave a trace for a viewer beside the XSpace: the same events, which count once. Alone, it is read."""
    run_of = os.path.join(place.scratch, "jax", "plugins", "profile", "r")
    subprocess.run([sys.executable, "-B", os.path.join(HERE, "make_xspace.py"), run_of, "--hosts", "2", "--gpus", "1", "--steps", "3"], check=True,
                   stdout=subprocess.DEVNULL)
    viewer = json.dumps({"displayTimeUnit": "ns", "traceEvents": [
        {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 3, "name": "f"}, {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 3, "name": "f"}, {}]})
    alone = put(place, "jax/plugins/profile/r/node00.trace.json.gz", viewer, True)
    put(place, "jax/plugins/profile/r/perfetto_trace.json.gz", viewer, True)
    for words in ((os.path.join(place.scratch, "jax"),), sorted(os.path.join(run_of, n) for n in os.listdir(run_of))):
        logs = place.new_logs()
        got = analyze(place, logs, *[w for w in words if w.endswith((".pb", ".gz", "jax"))])
        check("of 2 ranks on 2 hosts, from 2 files" in got.err, got.transcript())
        with h5(session_of(logs)) as f:
            check(any("2 traces for a viewer left out" in text(w) for w in f["quality/warning"][()]), f["quality/warning"][()])
    logs = place.new_logs()
    analyze(place, logs, alone)  # {} is no damage
    with h5(session_of(logs)) as f:
        check(f["trace_file/events"][()].tolist() == [2] and f["trace_file/damaged"][()].tolist() == [0], f["trace_file/events"][()])


def repeated(place, full):
    """A schedule that repeats leaves a file of each rank for each window: a session of each, with its own steps."""
    for r in range(2):
        for w in range(3):
            put(place, f"again/rank{r}.{w}00.pt.trace.json", kineto(r, begin=10 + 20 * w, window=w))
    for prefix in ((), place.mpirun(2, [])):
        logs = place.new_logs()
        got = analyze(place, logs, os.path.join(place.scratch, "again"), prefix=prefix)
        for w in range(3):
            check(f"steps {10 + 20 * w}..{13 + 20 * w} of 2 ranks on 2 hosts, from 2 files" in got.err, got.transcript())
        check(len(os.listdir(os.path.join(logs, "podprof"))) == 3, jobs.tree(logs))


def repeated_alone(place, full):
    """The same without ranks in the files: those of one worker's name are windows of one rank. A file less, and they are ranks."""
    def nameless(w, pid):
        return json.dumps({k: v for k, v in json.loads(kineto(0, begin=10 + 20 * w, window=w, pid=pid)).items() if k != "distributedInfo"})

    for pid in (12, 13):
        for w in range(2):
            put(place, f"alone/vm_{pid}.{w}00.pt.trace.json", nameless(w, pid))
    logs = place.new_logs()
    got = analyze(place, logs, os.path.join(place.scratch, "alone"))
    for w in range(2):
        check(f"steps {10 + 20 * w}..{13 + 20 * w} of 2 ranks" in got.err, got.transcript())
    check(len(os.listdir(os.path.join(logs, "podprof"))) == 2, jobs.tree(logs))
    os.unlink(os.path.join(place.scratch, "alone", "vm_13.100.pt.trace.json"))
    got = analyze(place, place.new_logs(), os.path.join(place.scratch, "alone"))
    check("of 3 ranks" in got.err, got.transcript())


def own_files(place, full):
    """XSpace of podprof: the same ranks, steps of the window, times, waits and last ranks as the live session, and its clock error, twice,
    between two of them."""
    for how in ("rank", "host"):
        logs, again = place.new_logs(), place.new_logs()
        got = run(place.mpirun(2, place.under(logs, [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "8", "--slow-rank", "1", "--slow-us",
                                                     "3000"], "--xspace", how, "--steps", "2:7")))
        check(got.code == 0, got.transcript())
        live = session_of(logs)
        got = analyze(place, again, os.path.join(logs, "plugins", "profile", os.path.basename(live)))
        check("steps 2..6 of 2 ranks on 1 host" in got.err, got.transcript())
        with h5(live) as a, h5(session_of(again)) as b:
            for name in ("exclusive_ns", "wait_ns", "transfer_ns", "step_ns"):
                check((a["breakdown"][name][()] == b["breakdown"][name][()]).all(), (how, name, a["breakdown"][name][()], b["breakdown"][name][()]))
            for name in ("sequence", "bytes", "last_worker", "wait_ns", "transfer_ns"):
                check(a["collective"][name][()].tolist() == b["collective"][name][()].tolist(), (how, name))
            check(b["collective/wait_ns"][()].clip(0).sum() > 0, "nobody waited")
            check((b["collective/bound_ns"][()] >= a["collective/bound_ns"][()]).all(), b["collective/bound_ns"][()])
            check([text(h) for h in a["worker/host"][()]] == [text(h) for h in b["worker/host"][()]], b["worker/host"][()])
        summary = read(session_of(again), "summary.txt")
        check("all ranks share one clock" in summary and "not joined" not in summary and "do not give their ranks" not in summary, summary)


def unknown_rules(place):
    """report --unknown: rules for what nothing is known of, which --rules reads once a category stands in them."""
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1, "ts": 100 * n, "dur": 100} for n in (1, 2, 3)]
    for n in (1, 2, 3):
        events.append({"ph": "X", "cat": "user_annotation", "name": "Frobnicate.all #7", "pid": 1, "tid": 1, "ts": 100 * n + 10, "dur": 50})
        events.append({"ph": "X", "cat": "kernel", "name": "my_allreduce_thing<4>(int)", "pid": 0, "tid": 7, "ts": 100 * n + 20, "dur": 20,
                       "args": {"device": 0, "stream": 7}})
    where = put(place, "unknown.pt.trace.json", json.dumps({"schemaVersion": 1, "traceEvents": events}))
    analyze(place, logs := place.new_logs(), where)
    got = run([place.podprof(), "report", "--unknown", logs])
    check(got.code == 0 and "\n# frobnicate all 7 = \n" in got.out and "\n# kernel:my_allreduce_thing* = \n" in got.out, got.transcript())
    check(got.out.index("frobnicate") < got.out.index("my_allreduce") and "0.090 ms in steps, 3 occurrences" in got.out, got.transcript())
    text = got.out.replace("# frobnicate all 7 = ", "frobnicate all 7 = Output").replace("# kernel:my_allreduce_thing* = ",
                                                                                       "kernel:my_allreduce_thing* = Device collective")
    analyze(place, again := place.new_logs(), where, "--rules", put(place, "filled.txt", text))
    with h5(session_of(again)) as f:
        ns = f["breakdown/exclusive_ns"][()].sum(axis=(0, 1))
        check(ns[2] == 3 * 20000 and ns[6] == 3 * 30000, ns)
        check({b.decode() for b in f["kernel/by"][()]} == {"rule"}, f["kernel/by"][()])
    got = run([place.podprof(), "report", "--unknown", again])
    check(got.code == 0 and got.out.startswith("# The categories of all ranges and kernels") and got.out.count("\n") == 1, got.transcript())
    got = run([place.podprof(), "report", "--unknown", "--list", again])
    check(got.code == 64 and "--unknown cannot be combined" in got.err, got.transcript())


def own_rules(place, full):
    """--rules: a user's word decides, and a bad row is named with its line."""
    where = folder(place, "ruled", ranks=1)
    rules, bad = put(place, "rules.txt", "# ours\naten = Input\n"), put(place, "bad.txt", "aten = Input\nmm is Nothing\n")
    for words, ns in (((), 0), (("--rules", rules), 300000)):
        logs = place.new_logs()
        analyze(place, logs, where, *words)
        with h5(session_of(logs)) as f:
            got = f["breakdown/exclusive_ns"][()][0, 0, 5]
            check(got == ns, f"{words}: Input of a step is {got} ns")
    unknown_rules(place)
    got = analyze(place, place.new_logs(), where, "--rules", bad, code=64)
    check(f"{bad}" in got.err and "2" in got.err.replace(bad, ""), got.transcript())
    # a live job: the rules as they were when it began, and a bad file starts nothing
    started = os.path.join(place.scratch, "started")
    put(place, "live.txt", "compute = Output\n")
    for words, is_output in (((), False), (("--rules", "live.txt"), True)):
        logs = place.new_logs()
        got = run(place.mpirun(2, place.under(logs, [place.program("mpi_ends"), "normal"], *words)), cwd=place.scratch)
        check(got.code == 0, got.transcript())
        with h5(session_of(logs)) as f:
            check((f["breakdown/exclusive_ns"][()][:, :, 6].sum() > 0) == is_output, (words, f["breakdown/exclusive_ns"][()][:, :, 6]))
    got = run(place.under(place.new_logs(), ["touch", started], "--rules", bad))
    check(got.code == 64 and bad in got.err and "line 2" in got.err and not os.path.exists(started), got.transcript())


def ended(place, full):
    """SIGINT while files are read: nothing is left in the log directory, and no process. While the session is written: it is whole."""
    where = folder(place, "long", ranks=2, steps=400, events=200)
    for seen in (None, "summary.txt", "pod.h5"):
        ended_at(place, where, seen)


def ended_at(place, where, seen):
    logs = place.new_logs()
    p = subprocess.Popen([place.podprof(), "analyze", where, "-o", logs, "--processes", "2"], stderr=subprocess.PIPE, text=True, start_new_session=True)
    if seen:
        wait_until(lambda: any(seen in files for _, _, files in os.walk(logs)), 20)
    else:
        time.sleep(0.05)
    os.killpg(p.pid, signal.SIGINT)
    err = p.communicate()[1]
    left = os.path.join(logs, "podprof")
    sessions = os.listdir(left) if os.path.isdir(left) else []
    if p.returncode == -signal.SIGINT and not sessions:
        return
    # It was faster: then the session is whole.
    check(all(os.path.exists(os.path.join(left, s, "report.html")) for s in sessions), f"{jobs.tree(logs)}\n{err}")
    check(wait_until(lambda: subprocess.run(["pgrep", "-r", "RSD", "-g", str(p.pid)], capture_output=True).returncode == 1), "processes are left")


CASES = {f.__name__: f for f in (whole, slow_gpu, advice, same_bytes, untimed, damaged, bad_paths, bad_by_name, unmarked, asked_wrongly, odd_places, no_room, shrinks,
                                 made_for_viewers, repeated, repeated_alone, own_files, own_rules, ended)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Files of other profilers, made here: whose they are, which clock they have, and what `podprof report` makes of their directory. Run by ctest
session_foreign; what the tables have of one file is in e2e_analyze.py."""
import json
import os
import random
import shutil
import sys

from e2e import h5, read, text
from e2e_analyze import analyze, folder, kineto, put
import jobs
from jobs import check, run, session_of, sessions

CACHE = "{}.podprof"


def nameless(data, host=None):
    """A file that says no rank."""
    data = {k: v for k, v in json.loads(data).items() if k != "distributedInfo"}
    return json.dumps({**data, "host_name": host} if host else data)


def report(place, *words, code=0, **how):
    got = run([place.podprof(), "report", *words], **how)
    check(got.code == code, f"exit code {got.code}, not {code}\n{got.transcript()}")
    return got


def report_traces(place, full):
    """`podprof report` of traces: analysed once into a directory beside, of which a line tells, and again only when a file has changed."""
    where = folder(place, "others")
    first = report(place, where)
    cache = CACHE.format(where)
    made = sessions(cache)
    check(len(made) == 1 and cache in first.err and "analysed" in first.err and "steps 10..13" in first.err, first.transcript())
    again = report(place, where + "/")
    check(again.out == first.out and sessions(cache) == made and "not changed" in again.err and cache in again.err, again.transcript())
    table = report(place, where, "--table", "trace_file")
    check(table.out.count("Kineto") == 2 and "podprof:" not in table.out, table.transcript())
    os.remove(os.path.join(where, "rank1.pt.trace.json.gz"))
    other = report(place, where)
    check(len(sessions(cache)) == 1 and other.out != first.out and "1 rank" in other.err, other.transcript())
    put(place, "others/rank0.pt.trace.json", kineto(0, begin=20))
    check("steps 20..23" in report(place, where).err, jobs.tree(cache))


def report_file(place, full):
    """One file; -o chooses the directory, which is used again too; a directory of sessions has no use for -o, and one without traces is told so."""
    where = folder(place, "one", ranks=1)
    file, logs = os.path.join(where, "rank0.pt.trace.json"), place.new_logs()
    got = report(place, file, "-o", logs)
    check(len(sessions(logs)) == 1 and not os.path.exists(CACHE.format(file)) and logs in got.err, got.transcript())
    check("not changed" in report(place, file, "-o", logs).err and len(sessions(logs)) == 1, jobs.tree(logs))
    report(place, file)
    check(len(sessions(CACHE.format(file))) == 1, jobs.tree(where))
    got = report(place, logs, "-o", os.path.join(place.scratch, "nowhere"), code=64)
    check("-o" in got.err and not os.path.exists(os.path.join(place.scratch, "nowhere")), got.transcript())
    none = os.path.join(place.scratch, "none")
    os.makedirs(none, exist_ok=True)
    got = report(place, none, code=1)
    check("no trace" in got.err and not os.path.exists(CACHE.format(none)), got.transcript())
    bad = put(place, "bad/rank0.pt.trace.json", b"{")
    report(place, bad, code=1)
    report(place, os.path.dirname(bad), code=1)
    check(not os.path.exists(CACHE.format(os.path.dirname(bad))), "a cache without a session is left")
    cut = put(place, "cut/rank0.pt.trace.json", kineto(0)[:-300])
    got = report(place, cut, code=2)
    check("damaged" in got.err and "Bottleneck" in got.out and len(sessions(CACHE.format(cut))) == 1, got.transcript())


def report_unwritable(place, full):
    """Beside traces nothing can be written: a temporary directory, and a line with its name."""
    if os.geteuid() == 0:
        os.makedirs(os.path.join(place.scratch, "tmp"), exist_ok=True)
        where = folder(place, "full")
        put(place, "full.podprof", "a file is where the directory would be")
        got = report(place, where, env={**os.environ, "TMPDIR": os.path.join(place.scratch, "tmp")})
        made = os.listdir(os.path.join(place.scratch, "tmp"))
        check(len(made) == 1 and made[0] in got.err and "-o" in got.err, got.transcript())
        return
    where = folder(place, "locked/deep")
    os.chmod(os.path.dirname(where), 0o555)
    try:
        got = report(place, where)
    finally:
        os.chmod(os.path.dirname(where), 0o755)
    made = [w.strip("'") for w in got.err.split() if "podprof-report-" in w and w.startswith("'")]
    check(made and "-o" in got.err, got.transcript())
    shutil.rmtree(made[0])


class Job:
    """A data-parallel job of PyTorch as its ranks' files have it. Each step: work of 300 us, on the late rank of 1200 us, then an all-reduce that lasts
    100 us from the last arrival on, and ends on each rank within `spread` us. `clock[rank]`: us by which the clock of its host is ahead. On devices or,
    with gloo, on the host."""
    STEPS, STEP = 40, 4000.0
    WALL = 1711964646 * 10**6  # us since 1970

    def __init__(self, ranks, late, clock, hosts, spread=5.0, gloo=False, groups=None):
        self.ranks, self.late, self.clock, self.hosts, self.gloo = ranks, late, clock, hosts, gloo
        self.groups = groups or [list(range(ranks))]
        chance = random.Random(ranks)
        self.work = [[1200.0 if r == late else 300.0 + chance.randrange(20) for r in range(ranks)] for _ in range(self.STEPS)]
        self.end = [[chance.random() * spread for r in range(ranks)] for _ in range(self.STEPS)]

    def rows(self, rank):
        def add(cat, name, begin, length, **args):
            rows.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 100 + rank, "tid": args.get("stream", 1),
                         "ts": round(self.WALL + at + begin + self.clock[rank], 3), "dur": round(length, 3), "args": args})
        rows = [{"ph": "M", "name": "process_name", "pid": 100 + rank, "tid": 0, "ts": 0, "args": {"name": "python"}}]
        for s in range(self.STEPS):
            at = s * self.STEP
            add("user_annotation", f"ProfilerStep#{10 + s}", 0, self.STEP - 1)
            busy = 0.0
            for g, group in enumerate(self.groups):
                if rank not in group:
                    continue
                begin = 50 + 1500 * g
                arrive, busy = begin + self.work[s][rank], self.work[s][rank]
                end = begin + max(self.work[s][r] for r in group) + 100 + self.end[s][rank]
                args = {"Collective name": "allreduce", "In msg nelems": 1000000, "Out msg nelems": 1000000, "Group size": len(group), "dtype": "Float",
                        "Process Group Name": str(g), "Process Group Ranks": str(group)}
                if self.gloo:
                    add("cpu_op", "aten::mm", begin, busy)
                    add("cpu_op", "c10d::allreduce_", arrive, 20)
                    rows.append({**rows[-1], "name": "record_param_comms", "ts": round(rows[-1]["ts"] + 1, 3), "dur": 18, "args": args})
                    add("cpu_op", "gloo:all_reduce", arrive + 10, end - arrive - 10)
                    rows[-1]["tid"] = 2
                    continue
                n = 10 * s + g
                add("cuda_runtime", "cudaLaunchKernel", begin - 40, 5, correlation=500 + n)
                add("kernel", "gemm", begin, busy, device=rank, stream=7, correlation=500 + n)
                add("cpu_op", "c10d::allreduce_", begin - 30, 28)
                rows.append({**rows[-1], "name": "record_param_comms", "ts": round(rows[-1]["ts"] + 1, 3), "dur": 26, "args": args})
                add("user_annotation", "nccl:all_reduce", begin - 28, 22)
                add("cuda_runtime", "cudaLaunchKernelExC", begin - 20, 5, correlation=90000 + n)
                add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", arrive, end - arrive, device=rank, stream=20, correlation=90000 + n)
        return rows

    def write(self, place, name, ranks=None):
        for r in range(self.ranks) if ranks is None else ranks:
            data = {"schemaVersion": 1, "distributedInfo": {"backend": "gloo" if self.gloo else "nccl", "rank": r, "world_size": self.ranks}}
            if self.hosts[r]:
                data["host_name"] = self.hosts[r]
            put(place, f"{name}/part-{r}.json", json.dumps({**data, "traceEvents": self.rows(r)}))
        return os.path.join(place.scratch, name)


def joined(place, job, name, how, code=0):
    """Analyses the job's files. Of each rank: by what its clock was joined, and its offset within its bound. Returns the summary and the session."""
    logs = place.new_logs()
    analyze(place, logs, job.write(place, name), code=code)
    session = session_of(logs)
    with h5(session) as f:
        by, offset, bound = (f["clock/" + c][()].tolist() for c in ("joined_by", "offset_ns", "bound_ns"))
        check(by == how, f"joined by {by}, not {how}")
        for r in range(job.ranks):
            if how[r] == 3:
                check(bound[r] == 2**63 - 1, (r, bound))
                continue
            error = abs(offset[r] + (job.clock[r] - job.clock[0]) * 1000) if job.clock[r] != job.clock[0] else abs(offset[r])
            check(error <= bound[r] < 200000, f"rank {r}: offset {offset[r]} ns, off by {error} ns, stated {bound[r]} ns")
    return read(session, "summary.txt"), session


def blames(place, session, late, least_us):
    """The late rank is blamed for what the others waited, and for nothing else."""
    got = report(place, session, "--table", "blame", "--format", "json")
    table = {c["name"]: c["data"] for c in json.loads(got.out)["columns"]}
    most = {}
    for worker, ns in zip(table["worker"], table["blame_ns"]):
        most[worker] = most.get(worker, 0) + ns
    check(most and max(most, key=most.get) == late and most[late] >= least_us * 1000, f"{most}")
    with h5(session) as f:
        waited, late_rank = f["collective/waited_ns"][()], f["collective/late_rank"][()]
    check((waited > 800000).sum() >= len(waited) // 2 and set(late_rank[waited > 800000]) == {late}, (waited, late_rank))


def one_host(place, full):
    """Files of one host join by its wall clock, with an error of what they round; who is late is known."""
    job = Job(4, 2, [0.0] * 4, ["node1"] * 4)
    for gloo in (False, True):
        job.gloo = gloo
        summary, session = joined(place, job, f"one-host-{gloo}", [1, 1, 1, 1])
        check("one host (node1), by its wall clock" in summary and "rank 2" in summary and "their clocks" not in summary, summary)
        if not gloo:
            blames(place, session, 2, 3 * 800 * job.STEPS)
        with h5(session) as f:
            check(f["trace_file/resolution_ns"][()].tolist() == [1000] * 4 and f["trace_file/says_host"][()].all(), f["trace_file/resolution_ns"][()])
    jobs.check_page(place.podprof(), os.path.dirname(os.path.dirname(session)), session)


def two_hosts(place, full):
    """Clocks of two hosts that differ by seconds are aligned by collectives, those of one host stay one; the summary, the page and /clock say so."""
    job = Job(4, 3, [0.0, 0.0, 7123456.0, 7123456.0], ["node1", "node1", "node2", "node2"])
    for gloo in (False, True):
        job.gloo = gloo
        summary, session = joined(place, job, f"two-hosts-{gloo}", [1, 1, 2, 2])
        check("2 clocks of files, aligned by collectives" in summary and "rank 3" in summary and "their clocks" not in summary, summary)
        if not gloo:
            blames(place, session, 3, 3 * 800 * job.STEPS)
        with h5(session) as f:
            check([text(n) for n in f["clock/name"][()]] == ["node1", "node2"] and f["clock/host_collectives"][()].tolist() == [0, 40], "rows of /clock")
            check(any("aligned by collectives" in text(w) for w in f["quality/warning"][()]), "no warning")
    jobs.check_page(place.podprof(), os.path.dirname(os.path.dirname(session)), session)


def chained(place, full):
    """Groups that share a rank chain the clocks of all; a rank in no group is unknown, and the summary says it. Files that name no host."""
    job = Job(6, 1, [0.0, 3e6, -5e6, 1e9, 42.0, 777.0], [None] * 6, groups=[[0, 1, 2], [2, 3, 4]])
    summary, _ = joined(place, job, "chained", [2, 2, 2, 2, 2, 3])
    check("1 other rank was not compared" in summary, summary)


def false_host(place, full):
    """Two machines of one name: their collectives contradict one clock, and align two."""
    job = Job(2, 1, [0.0, 5e6], ["localhost"] * 2)
    summary, session = joined(place, job, "false-host", [2, 2])
    with h5(session) as f:
        check(any("contradict" in text(w) for w in f["quality/warning"][()]), "no warning")
    check("aligned by collectives" in summary, summary)


def unrelated(place, full):
    """Ends that have nothing to do with each other align nothing."""
    job = Job(2, 1, [0.0, 0.0], [None] * 2, spread=0.0)
    job.end = [[0.0, 1e6 * random.Random(s).random()] for s in range(job.STEPS)]
    job.work = [[300.0, 300.0] for _ in range(job.STEPS)]
    logs = place.new_logs()
    where = job.write(place, "unrelated")
    for r in (1,):  # its calls come at any time
        path = os.path.join(where, f"part-{r}.json")
        with open(path, encoding="ascii") as f:
            data = json.load(f)
        for row in data["traceEvents"]:
            if row["name"].startswith("ncclDev"):
                row["ts"] += row["dur"] - 400
                row["dur"] = 400
        put(place, f"unrelated/part-{r}.json", json.dumps(data))
    analyze(place, logs, where)
    with h5(session_of(logs)) as f:
        check(f["clock/joined_by"][()].tolist() == [3, 3], f["clock/joined_by"][()])


def windows(place, full):
    """One process's files, of whatever names, are windows of one rank, in the order of their times; the ranks are the same in all of them."""
    for pid, names in ((100, "zebra apple mango"), (101, "one two three")):
        for w, name in enumerate(names.split()):
            put(place, f"schedule/{name}.json", nameless(kineto(0, begin=10 + 20 * w, window=w, pid=pid, kernel=pid)))
    for prefix in ((), place.mpirun(2, [])):
        logs = place.new_logs()
        got = analyze(place, logs, os.path.join(place.scratch, "schedule"), prefix=prefix)
        said = [line for line in got.err.splitlines() if "from 2 files" in line]
        check([f"steps {10 + 20 * w}..{13 + 20 * w} of 2 ranks" in line for w, line in enumerate(said)] == [True] * 3, got.transcript())
        pids = set()
        for session in sessions(logs):
            with h5(session) as f:
                pids.add((tuple(f["worker/pid"][()]), tuple(f["breakdown/exclusive_ns"][()][0, :, 0])))
        check(len(pids) == 1, pids)
    logs = place.new_logs()
    for w in range(2):
        put(place, f"alone/run-{w}.json", nameless(kineto(0, begin=10 + 20 * w, window=w), "node1"))
    got = analyze(place, logs, os.path.join(place.scratch, "alone"))
    check(len(sessions(logs)) == 2 and got.err.count("of 1 rank on 1 host") == 2, got.transcript())
    # a rank without a file of the second window
    for r, w in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2)):
        put(place, f"lacking/{r}-{w}.json", kineto(r, begin=10 + 20 * w, window=w))
    got = analyze(place, place.new_logs(), os.path.join(place.scratch, "lacking"))
    for words in ("steps 10..13 of 2 ranks", "steps 30..33 of 1 rank", "steps 50..53 of 2 ranks"):
        check(words in got.err, got.transcript())
    # at the same time, or on another host, the same pid is another process
    for name, second, host in (("overlap", 0, "node1"), ("elsewhere", 1, "node2")):
        put(place, f"{name}/a.json", nameless(kineto(0), "node1"))
        put(place, f"{name}/b.json", nameless(kineto(0, window=second), host))
        got = analyze(place, place.new_logs(), os.path.join(place.scratch, name))
        check("of 2 ranks" in got.err, got.transcript())


def directories(place, full):
    """Processes of one job that write into directories of their own are one session, given as one directory or as two; two answers are not."""
    for r, name in enumerate("AB"):
        put(place, f"jax/{name}/plugins/profile/t/vm.json", nameless(kineto(0, pid=100 + r), "vm"))
        put(place, f"later/{name}/plugins/profile/t/vm.json", nameless(kineto(0, pid=100 + r, window=10 * r), "vm"))
        put(place, f"same/plugins/profile/{name}/vm.json", nameless(kineto(0, pid=100 + r), "vm"))
    where = os.path.join(place.scratch, "jax")
    for words in ([where], [os.path.join(where, name) for name in "AB"]):
        logs = place.new_logs()
        got = analyze(place, logs, *words)
        check("of 2 ranks on 1 host" in got.err, got.transcript())
        with h5(session_of(logs)) as f:
            check(f["worker/pid"][()].tolist() == [100, 101] and f["clock/joined_by"][()].tolist() == [1, 1], "ranks of two directories")
    for name in ("later", "same"):
        got = run([place.podprof(), "analyze", os.path.join(place.scratch, name), "-o", place.new_logs()])
        check(got.code == 64 and "2 sessions" in got.err, got.transcript())


def mapped(place, full):
    """Sessions of one rank each, of different numbers, are compared by --map."""
    logs = [place.new_logs(), place.new_logs()]
    for r in range(2):
        analyze(place, logs[r], put(place, f"single/rank{r}.json", kineto(r)))
    got = run([place.podprof(), "diff", "--map", "0=1", *logs])
    check(got.code == 0 and "rank" in got.out and "200 us" in got.out and "300 us" in got.out, got.transcript())


CASES = {f.__name__: f for f in (windows, directories, mapped, one_host, two_hosts, chained, false_host, unrelated, report_traces, report_file, report_unwritable)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

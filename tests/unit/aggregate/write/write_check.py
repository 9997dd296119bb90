"""What the sample of test_write wrote, by the rules of docs/formats.md: XSpace read from the wire, pod.h5 with h5py. write_check.py DIR"""
import glob
import math
import os
import re
import sys

import xspace_wire

try:
    import h5py
except ImportError:
    print("no h5py here")
    sys.exit(77)

base = sys.argv[1]
STEP_NS = 1000000


def value(p, stat):
    ref = stat.get(7)
    if ref is not None:
        return p["stats"][ref]["name"]
    return next(xspace_wire.signed(v) if isinstance(v, int) else v for k, v in stat.items() if k != 1)


def stats(p, e):
    got = {p["stats"][s[1]]["name"]: value(p, s) for s in e["stats"]}
    assert len(got) == len(e["stats"]), "a stat twice"
    return got


def label(p, e):
    m = p["events"][e["id"]]
    return m["display"] or m["name"]


def check_operators(p, line):
    """xprof takes "name:type" for an operator: so are named what /op of pod.h5 counts, on the lines of threads, and nothing else."""
    nested = line["name"].startswith("rank ") and not any(w in line["name"] for w in (" breakdown", " requests", " async", " allocators"))
    for e in line["events"]:
        name, step = p["events"][e["id"]]["name"], stats(p, e).get("step")
        is_op = re.search(r":[A-Za-z_][A-Za-z0-9_]*$", name) is not None
        assert not is_op or (nested and ":" not in name[: name.rindex(":")]), (line["name"], name)
        if nested and step is not None and not name.startswith("step "):
            assert is_op == (1 <= step <= 6), (line["name"], name, step)


def check_order(line):
    stack, last = [], (-1, 0)
    for e in line["events"]:
        begin, end = e["begin"], e["begin"] + e["duration"]
        assert e["duration"] >= 0 and (begin, -e["duration"]) >= last, (line["name"], e, last)
        last = (begin, -e["duration"])
        while stack and stack[-1] <= begin:
            stack.pop()
        assert not stack or end <= stack[-1], (line["name"], "overlap", e)
        stack.append(end)


def check_plane(p):
    texts = [s["name"] for s in p["stats"].values()]
    assert len(set(texts)) == len(texts), "two stat metadata of one name"
    assert "group_id" in texts
    assert len({x["id"] for x in p["lines"]}) == len(p["lines"])
    for line in p["lines"]:
        check_order(line)
        check_operators(p, line)
        for e in line["events"]:
            m = p["events"][e["id"]]
            name = m["name"]
            got = stats(p, e)
            assert all(not isinstance(v, float) or math.isfinite(v) for v in got.values()), (name, got)
            if not name.startswith(("IteratorGetNext/", "range/")):
                assert not name.lower().startswith(("train", "test", "iteratorgetnext", "memcpy", "infeed")), name
            if "group_id" in got:
                assert line["name"].endswith(("breakdown", "allocators"))
                assert (got["group_id"], name) == (got["group_id"], f"step {got['group_id']}") or "step_name" not in got


def check_breakdown(p, rank, labels):
    line = next(x for x in p["lines"] if x["name"] == f"rank {rank} breakdown")
    markers = [e for e in line["events"] if "step_name" in stats(p, e)]
    assert [stats(p, e)["group_id"] for e in markers] == labels, [stats(p, e) for e in markers]
    for e in markers:
        k = stats(p, e)["group_id"]
        assert e["begin"] == (1000 + k * STEP_NS) * 1000 and e["duration"] == STEP_NS * 1000
    assert sum(p["events"][e["id"]]["name"].startswith("podprof: ") for e in line["events"]) == 2, "steps 2 and 3 have no host compute"


def check_file(path):
    planes, hosts, warnings = xspace_wire.read(path)
    assert hosts == [os.path.basename(path)[: -len(".xplane.pb")]] and (len(warnings) > 1) == ("/early/" in path), (hosts, warnings)
    assert any(("2 counter" if "-rank" in path else " counter") + " values dropped" in w for w in warnings), warnings
    assert [p["name"] for p in planes] == ["/host:CPU", "Task Environment"]
    assert len(planes[1]["values"]) == 2
    check_plane(planes[0])
    return planes[0]


def check_process(f, ranks):
    p, m = f["process"], f["memory"]
    assert (p["present"][:] == [[1], [0], [1], [0], [1], [0]]).all() and p["present"].shape == (6, ranks)
    for name, value in (("cpu_user_ns", 1000), ("cpu_system_ns", 100), ("minor_faults", 3), ("voluntary_switches", 1), ("involuntary_switches", 2)):
        assert (p[name][:] == p["present"][:] * value).all(), (name, p[name][:])
    assert not p["major_faults"][:].any()
    assert (p["rss_present"][:] == [[0], [0], [0], [0], [1], [0]]).all() and (p["rss_peak_bytes"][4] == 8192).all()
    assert list(m["worker"][:]) == [r for r in range(ranks) for _ in range(2)] == list(p["sample_worker"][:])
    assert list(m["rss_bytes"][:4]) == [4000, 5000, 4001, 5001] and list(m["pss_present"][:2]) == [0, 1] and list(m["pss_bytes"][:2]) == [-2 ** 63, 3000]
    assert (m["children_rss_bytes"][:] == 2000).all() and (m["children"][:] == 1).all() and m["period_ns"][()] == 100000000
    assert list(m["time_ns"][:2]) == [5001100, 5001200] == list(p["sample_time_ns"][:2]) and (p["sample_children_cpu_ns"][:] == 70).all() and (p["sample_run_queue_ns"][:] == 600).all()


def check_h5(path, ranks):
    with h5py.File(path) as f:
        b = f["breakdown"]
        assert b["exclusive_ns"].shape == (6, ranks, 10)
        assert (b["exclusive_ns"][:].sum(axis=2) == b["step_ns"][:]).all() and (b["present"][:] == 1).all()
        assert list(b["step"][:]) == list(range(1, 7)) and list(b["worker"][:]) == list(range(ranks))
        assert b["exclusive_ns"].dims[2]["category"][5] == b"Input" and b["exclusive_ns"].attrs["units"].decode() == "ns"
        assert list(f["breakdown"]) and f.attrs["command"].decode() == "/opt/train.py --lr \ufffd"
        assert list(f["worker/host"][:]) == [b"node%d" % (r // 8) for r in range(ranks)]
        assert (f["collective/row_count"][:] == ranks).all() and f["collective/operation"][0] == b"MPI_Allreduce"
        assert list(f["communicator/members"][:]) == list(range(ranks)) and f["communicator/name"][0] == b"MPI_COMM_WORLD"
        assert list(f["communicator/role"][:]) == [b"world", b"file"]
        file = f["file"] # 5 of the steps write
        assert list(file["worker"][:]) == list(range(ranks)) and set(file["name"][:]) == {b"bytes"} and (file["writes"][:] == 5).all()
        assert (file["bytes_written"][:] == 5 * 4096).all() and (file["write_ns"][:] > 0).all() and not file["reads"][:].any()
        check_process(f, ranks)
        bad = f"{2 * ranks} counter values are NaN or infinite, the first in 'loss' of rank 0: the trace does not show them"
        assert bad.encode() in list(f["quality/warning"][:]), list(f["quality/warning"][:])
        names = [n.decode() for n in f["quality/unclassified"][:]]
        assert "bad \ufffd name \ufffd" in names and "n" * 10000 in names, [n[:20] for n in names]
        assert f["quality/dropped"].shape[0] == ranks and b"kernel" in f["quality/absent"][:]


host = check_file(f"{base}/host/plugins/profile/sample/node0.xplane.pb")
check_breakdown(host, 0, list(range(8)))
written = [stats(host, e) for x in host["lines"] for e in x["events"] if x["name"].endswith(" main") and label(host, e) == "MPI_File_write_at_all"]
assert written and all(s["file"] == "./bytes" and s["bytes"] == 4096 for s in written), written[:3]
assert [x["name"] for x in host["lines"]][:6] == ["rank 0 breakdown", "rank 0 main", "rank 0 loader", "rank 0 async", "rank 0 async 2",
                                                 "rank 0 requests"], [x["name"] for x in host["lines"]][:6]
saved = {stats(host, e).get("payload") for x in host["lines"] for e in x["events"] if x["name"] == "rank 0 main" and label(host, e) == "save"}
assert saved == {-1, 'layer=3, name="a"', "-inf"}, saved
types = {m["name"]: m["display"] for m in host["events"].values() if m["name"].endswith((":output", ":input", ":host_compute", ":host_communication"))}
assert types["save:output"] == "save" and types["range/train_step:host_compute"] == "train_step" and types["next batch:input"] == "next batch", types
assert "a:InfeedEnqueue" in [types[t] for t in types if t.startswith("a.InfeedEnqueue:")] and types["MPI_File_write_at_all:output"] == "MPI_File_write_at_all", types
memory = [stats(host, e) for x in host["lines"] if x["name"] == "_counters_" for e in x["events"] if host["events"][e["id"]]["name"] == "rank 0 memory"]
assert memory == [{"rss": 4000, "children_rss": 2000}, {"rss": 5000, "pss": 3000, "children_rss": 2000}], memory
clock = {host["stats"][s[1]]["name"]: value(host, s) for s in host["values"]}
assert clock == {"clock": b"job time: rank 0's clock", "clock_bound_ns": 2}, clock
grouped = {x["name"] for x in host["lines"] if any("group_id" in stats(host, e) for e in x["events"])}
assert grouped == {"rank 0 breakdown"} | {f"rank {r} allocators" for r in range(8)}, grouped
edges = [stats(host, e)["group_id"] for x in host["lines"] if x["name"] == "rank 0 breakdown" for e in x["events"] if "edge" in stats(host, e)]
assert edges == [0, 7], edges
calls = [stats(host, e) for x in host["lines"] if x["name"] == "rank 3 allocators" for e in x["events"]]
assert [c["allocator_name"] for c in calls] == ["rank 3 cpu"] * 3 and [c["bytes_allocated"] for c in calls] == [64, 128, 64], calls
assert {c["tf_op"] for c in calls} == {"allocate/aten.mm:allocation"} and {c["group_id"] for c in calls} == {2}, calls
assert [m["description"] for m in host["stats"].values() if "description" in m] == ["aten::mm"], host["stats"]
for r in range(9):
    one = check_file(f"{base}/rank/plugins/profile/sample/node{r // 8}-rank{r:04d}.xplane.pb")
    check_breakdown(one, r, list(range(8)))
for kind in ("host", "rank"):
    check_h5(f"{base}/{kind}/podprof/sample/pod.h5", 9)
for path in glob.glob(f"{base}/*/plugins/profile/*/*.xplane.pb*"):  # beside them xprof's tests, at the same time, keep their caches
    check_file(path) if "apart" not in path else xspace_wire.read(path)
with h5py.File(f"{base}/empty/podprof/sample/pod.h5") as empty:
    assert list(empty) == ["quality"] and list(empty["quality/missing"][:]) == [0, 1, 2, 3]
print("the files are as documented")

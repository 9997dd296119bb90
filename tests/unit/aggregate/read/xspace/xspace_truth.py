#!/usr/bin/python3
"""Files of make_xspace.py, which knows what is in them, against what the reader makes of them; and real files of other producers.
Called by ctest unit.aggregate.xspace_truth with the path of trace_dump."""
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REAL = os.path.join(HERE, "../../../../../../shared/data/xspace")
sys.path.insert(0, os.path.join(HERE, "../../../../session"))
import make_xspace  # noqa: E402

DUMP = sys.argv[1]
CLASS = {"h2d": "h2d", "d2h": "d2h", "d2d": "d2d", "collective": "coll", "kernel": "compute", "set": "compute"}
failures = []


def check(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r}, not {want!r}")


def dump(path, *options):
    out = subprocess.run([DUMP, *options, path], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    rows = collections.defaultdict(list)
    for line in out.splitlines():
        cells = line.split("\t")
        rows[cells[0]].append(cells[1:])
    return rows


def sweep(begin, end, spans):
    """As make_xspace.sweep(), with both precisions as one class."""
    x = make_xspace.sweep(begin, end, [("c32" if c == "compute" else c, b, e) for c, b, e in spans])
    return {("compute" if c == "c32" else c): v for c, v in x.items()}


def truth_of(step):
    want = collections.Counter()
    for name, ns in step["class_ns"].items():
        want["compute" if name in ("c16", "c32") else name] += ns
    return dict(want)


def summed(spans, key):
    rows = {}
    for name, ns in ((s[key], int(s[6]) - int(s[5])) for s in spans):
        r = rows.setdefault(name, {"count": 0, "total_ns": 0, "min_ns": 1 << 62, "max_ns": 0})
        r["count"] += 1
        r["total_ns"] += ns
        r["min_ns"] = min(r["min_ns"], ns)
        r["max_ns"] = max(r["max_ns"], ns)
    return rows


def compare(label, path, truth, args):
    rows = dump(path, "--spans")
    steps = [s for s in rows["span"] if s[3] == "step"]
    device = [s for s in rows["span"] if s[3] == "device"]
    host = [s for s in rows["span"] if s[3] == "range"]
    want = truth["steps"]
    base = 0 if args.epoch_ns == 0 else min(int(s[5]) for s in rows["span"]) - want[0]["begin_ns"]
    if not args.ungroup:
        check(f"{label}: steps", [(int(s[7]), int(s[5]) - base, int(s[6]) - base) for s in steps],
              [(s["step"], s["begin_ns"], s["begin_ns"] + s["duration_ns"]) for s in want])
    else:
        check(f"{label}: numbers of steps", [int(s[7]) for s in steps], [s["step"] for s in want])
    spans = [(CLASS[s[7]], int(s[5]) - base, int(s[6]) - base) for s in device]
    check(f"{label}: device events", len(device), truth["device_events"])
    for s in want:
        if device:
            check(f"{label}: step {s['step']}", sweep(s["begin_ns"], s["begin_ns"] + s["duration_ns"], spans), truth_of(s))
    check(f"{label}: kernels", summed([s for s in device if len(s) > 13], 4), truth["kernels"])
    check(f"{label}: operators", summed([s for s in device if s[9]], 9) if device else summed(
        [s for s in host if s[4].startswith("cpu/")], 4), truth["ops"])
    check(f"{label}: input", summed([s for s in host if s[4].startswith("Iterator::")], 4), truth["input"])
    peak = collections.defaultdict(lambda: {"peak_bytes": 0, "events": 0})
    for a in rows["allocation"]:
        peak[a[1]]["peak_bytes"] = max(peak[a[1]]["peak_bytes"], int(a[11]))
        peak[a[1]]["events"] += 1
    check(f"{label}: memory", dict(peak), truth["memory"])
    check(f"{label}: host", rows["rank"][0][1], truth["host"])
    check(f"{label}: damage", rows["trace"][0][2:5], ["0", "0", "0"])
    check(f"{label}: launches", {s[13].split(":")[0] for s in device if len(s) > 13} - {"regs"}, set())
    if device and "launch" not in args.no:
        check(f"{label}: streams with their launch", sum(s[12] != "0" for s in device), len(device))


def generated(folder):
    for label, options in (
            ("default", []),
            ("unsorted", ["--unsorted"]),
            ("unix", ["--epoch-ns", "1790000000000000000"]),
            ("official", ["--rename", "MemcpyHToD=MemcpyH2D", "--rename", "MemcpyDToH=MemcpyD2H", "--rename", "MemcpyDToD=MemcpyD2D"]),
            ("types", ["--type", "group_id=uint", "--type", "correlation_id=int", "--type", "addr=uint", "--type", "tf_op=str"]),
            ("strings", ["--type", "group_id=str", "--type", "bytes_allocated=uint", "--type", "kernel_details=str"]),
            ("cpu", ["--cpu-hosts", "0,1"]),
            ("no steps", ["--no", "steps", "--bf16"]),
            ("extras", ["--with", "tfops", "--with", "counters", "--with", "custom", "--hlo", "training", "--gpus", "3"]),
            ("plain", ["--drop", "step_name", "--gap-ns", "100000", "--first-step", "0"]),
            ("ungrouped", ["--ungroup", "--with", "launchmain", "--unsorted", "--no", "input"])):
        where = os.path.join(folder, label.replace(" ", "_"))
        args = make_xspace.parse([where, *options])
        os.makedirs(where)
        for h in range(args.hosts):
            body, truth = make_xspace.build(args, h)
            path = os.path.join(where, args.host_names[h] + ".xplane.pb")
            with (gzip.open(path + ".gz", "wb", 1) if h else open(path, "wb")) as f:
                f.write(body)
            compare(label, path + (".gz" if h else ""), truth, args)


def real():
    """Step numbers and times that xprof gives for the same files."""
    rows = dump(os.path.join(REAL, "gpu-2of8-2020/gpu-multi-worker.xplane.pb.gz"))
    check("gpu: step", [(s[7], int(s[6]) - int(s[5])) for s in rows["span"]], [("0", 21310352)])
    check("gpu: left out", rows["trace"][0][1], "6216")
    check("gpu: devices", len(rows["device"]), 8)
    for name, hosts in (("jax-mlp", {"1": "vm"}), ("tf-3workers", {"1": "localhost_6101", "1001": "localhost_6102", "2001": "localhost_6103"})):
        with open(os.path.join(REAL, name, "xprof/pod_viewer.json")) as f:
            pod = json.load(f)["podStatsSequence"]["podStatsMap"]
        for key, host in hosts.items():
            ours = [int(s[6]) - int(s[5]) for s in dump(os.path.join(REAL, name, host + ".xplane.pb.gz"))["span"]]
            for step in pod:
                theirs = round(step["podStatsPerCore"][key]["totalDurationUs"] * 1000)
                check(f"{name}: {host}: a step of {theirs} ns", any(abs(ns - theirs) <= 1 for ns in ours), True)
    rows = dump(os.path.join(REAL, "tf-keras-slowmap/vm.xplane.pb.gz"))
    check("keras: steps", [s[7] for s in rows["span"]], [str(n) for n in range(9, 20)])
    check("keras: allocations", len(rows["allocation"]), 140)


with tempfile.TemporaryDirectory() as folder:
    generated(folder)
if os.path.isdir(REAL):
    real()
for line in failures[:40]:
    print(line[:1000])
print(f"{len(failures)} failures" + ("" if os.path.isdir(REAL) else "; files of other producers are absent"))
sys.exit(bool(failures))

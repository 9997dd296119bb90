"""What xprof makes of a session: overview_page, trace_viewer, trace_viewer@ and pod_viewer are filled and carry our step labels,
pod_viewer's and overview_page's rows equal pod.h5 after the fold of docs/formats.md, framework_op_stats equals /op of pod.h5, and
memory_profile answers. Of a job with devices, check_device.py checks the rest. check_xprof.py PROFILE_DIR POD_H5 [RANK], with a Python
that has xprof and h5py. RANK: whose steps the overview must show. Exit 77: no xprof. Run by e2e_xprof, e2e_gpu and tests/unit/aggregate/write."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import check_device

TOOLS_OF_ALL = ("pod_viewer", "overview_page", "input_pipeline_analyzer", "trace_viewer@", "framework_op_stats")
TOOLS_OF_ONE = ("trace_viewer", "memory_profile")
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "xprof_tools.py")
# by name: {category of pod.h5: xprof's id}, and everything else
HOST_FOLD = ({"All others": 9, "Input": 6}, 4)
DEVICE_FOLD = ({"Device compute": 1, "Device to device": 2, "Device collective communication": 3, "Input": 6, "Output": 7}, 9)
COLUMNS = {1: "deviceComputeTimeMs", 2: "deviceToDeviceTimeMs", 3: "deviceCollectivesTimeMs", 4: "hostComputeTimeMs", 5: "kernelLaunchTimeMs",
           6: "infeedTimeMs", 7: "outfeedTimeMs", 8: "compileTimeMs", 9: "otherTimeMs"}
TOLERANCE_US = 1.0


def text(values):
    return [v.decode() if isinstance(v, bytes) else str(v) for v in values]


def expected(pod):
    """{rank: [(number, {xprof id: us}, total us)]} of pod.h5, and each rank's host."""
    import h5py

    with h5py.File(pod) as f:
        b = f["breakdown"]
        names, numbers = text(b["category"][:]), b["step"][:]
        exclusive, present, step_ns = b["exclusive_ns"][:], b["present"][:], b["step_ns"][:]
        ranks, hosts = [int(r) for r in b["worker"][:]], text(f["worker/host"][:])
        fold, rest = DEVICE_FOLD if f["worker/devices"][:].any() else HOST_FOLD
    rows = {}
    for w, rank in enumerate(ranks):
        rows[rank] = []
        for s, number in enumerate(numbers):
            if not present[s, w]:
                continue
            us = dict.fromkeys(range(1, 10), 0.0)
            for c, name in enumerate(names):
                us[fold.get(name, rest)] += exclusive[s, w, c] / 1000
            rows[rank].append((int(number), us, step_ns[s, w] / 1000))
    return rows, dict(zip(ranks, hosts))


def run_tools(profile, more):
    with tempfile.TemporaryDirectory() as dump:
        words = [sys.executable, "-B", PROGRAM, profile, "--json", "--dump", dump]
        for tool in (*TOOLS_OF_ALL, *TOOLS_OF_ONE, *more):
            words += ["--tool", tool]
        got = subprocess.run(words, capture_output=True, text=True, timeout=140)
        if got.returncode == 2:
            print("xprof is not installed here:", got.stderr[-300:])
            sys.exit(77)
        tools = json.loads(got.stdout)["tools"]
        text_of = {os.path.basename(f): open(f).read() for f in glob.glob(os.path.join(dump, "*.json"))}
    return tools, text_of


def differs(row, want):
    _, us, total = want
    off = max([abs(row["us"].get(str(c), 0) - us[c]) for c in us] + [abs(row["total_us"] - total)])
    return off if off > TOLERANCE_US else 0


def check_rows(name, got, want, in_step=True):
    """xprof may renumber steps and shows the labelled edge steps too: rows are compared by order, without the edges. Of files whose ranks are
    not in step (no collective holds them together) xprof shows the steps that overlap: they are some of the rank's, in a row."""
    if not in_step:
        known = [None, *want, None]  # the edges
        fits = [at for at in range(len(known) - len(got) + 1)
                if all(w is None or not differs(g, w) for g, w in zip(got, known[at:])) and any(known[at:at + len(got)])]
        return None if fits and got else f"{name}: the {len(got)} rows of pod_viewer are no steps in a row of pod.h5"
    extra = len(got) - len(want)
    if not 0 <= extra <= 2:
        return f"{name}: pod_viewer has {len(got)} rows for {len(want)} steps"
    best = min(max(differs(g, w) for g, w in zip(got[at:], want)) for at in range(extra + 1))
    return f"{name}: pod_viewer differs from pod.h5 by {best} us" if best else None


def check_overview(tool, want, steps_of):
    """Its steps have their own numbers and name the rank that they are of, which xprof leaves out with devices; the times are that rank's."""
    rows = [(re.fullmatch(r"(?:step )?(-?\d+)(?: of rank (\d+))?", str(r["stepnum"])), r) for r in tool["key"]["step_rows"]]
    said = [re.search(r"xprof shows the steps of rank (\d+)", m or "") for m in tool["key"]["messages"]]
    if not rows or not all(m for m, _ in rows):
        return [f"overview_page: steps {[r['stepnum'] for _, r in rows]}"]
    ranks = {int(m[1]) for m in said if m} or {int(m[2]) if m[2] else min(want) for m, _ in rows}
    if len(ranks) > 1 and steps_of is None:
        return []  # several files with devices: the message of each has its rank, and xprof takes any for the times
    if len(ranks) != 1 or (steps_of is not None and ranks != {steps_of}):
        return [f"overview_page: steps of ranks {ranks}, not {steps_of}"]
    of = {number: (us, total) for number, us, total in want[ranks.pop()]}
    errors = []
    for m, r in rows:
        us, total = of.get(int(m[1]), ({}, 0))
        off = max([abs(r[name] * 1000 - us.get(c, -1e9)) for c, name in COLUMNS.items()] + [abs(r["stepTimeMs"] * 1000 - total)])
        if off > TOLERANCE_US and len(want) == 1:  # of several hosts xprof takes the longest one's step time
            errors.append(f"overview_page: {m[0]} differs from pod.h5 by {off} us")
    return errors


def operators(pod, ranks):
    """{name as xprof has it: [calls, total us, self us]} of /op."""
    import h5py

    rows = {}
    with h5py.File(pod) as f:
        if "op" not in f:
            return rows
        op = f["op"]
        name, side = text(op["name"][:]), text(op["side"][:])
        for i, of in enumerate(op["row_op"][:]):
            if int(op["worker"][i]) not in ranks or side[of] != "Host":
                continue
            row = rows.setdefault(re.sub(":+", ".", name[of]), [0, 0.0, 0.0])
            for at, column in enumerate(("calls", "total_ns", "self_ns")):
                row[at] += float(op[column][i]) / (1000 if at else 1)
    return rows


def check_operators(table, want):
    ids = [c["id"] for c in table["cols"]]
    got = {}
    for r in table["rows"]:
        row = dict(zip(ids, [c["v"] for c in r["c"]]))
        if row["host_or_device"] == "Host" and row["operation"] != "IDLE" and row["type"] != "allocation":
            name = row["operation"][len("range/"):] if row["operation"].startswith("range/") else row["operation"]
            got[name] = [row["occurrences"], row["total_time"], row["total_self_time"]]
    errors = [f"framework_op_stats has no '{n}'" for n in sorted(set(want) - set(got))]
    errors += [f"framework_op_stats has '{n}', /op has not" for n in sorted(set(got) - set(want))]
    for name in sorted(set(got) & set(want)):
        # a child that ends with its parent is written 1 ps shorter, at each depth
        if max(abs(a - b) for a, b in zip(got[name], want[name])) > max(TOLERANCE_US, want[name][0] / 1000):
            errors.append(f"framework_op_stats: '{name}' {got[name]}, /op {want[name]}")
    return errors


def check_single(host, texts, labels):
    """The tools that take one file."""
    trace = texts.get(f"trace_viewer.{host}.json", "")
    errors = [f"trace_viewer of {host} has no step {n}" for n in sorted(labels) if not re.search(rf'"step {n}( of rank \d+)?"', trace)]
    memory = json.loads(texts.get(f"memory_profile.{host}.json") or "{}")
    if "memoryProfilePerAllocator" not in memory:
        errors.append(f"memory_profile of {host} has no answer")
    return errors


def main():
    profile, pod = sys.argv[1:3]
    steps_of = int(sys.argv[3]) if len(sys.argv) > 3 else None
    want, hosts = expected(pod)
    devices = check_device.has_devices(pod)
    tools, texts = run_tools(profile, ["kernel_stats"] if devices else [])
    of_all = {t["tool"]: t for t in tools if t["tool"] in TOOLS_OF_ALL}
    trace = next(t for n, t in texts.items() if n.startswith("trace_viewer_stream."))
    json.loads(trace, parse_constant=lambda word: sys.exit(f"trace_viewer@: {word} is no JSON"))
    errors = [f"{t}: empty ({x.get('error')})" for t, x in of_all.items() if not x["nonempty"]]
    errors += [f"{t['tool']} of {t['host']}: {t['error']}" for t in tools if t.get("error")]
    errors += check_overview(of_all["overview_page"], want, steps_of)
    by_host = {}
    for row in of_all["pod_viewer"].get("key", {}).get("rows", []):
        by_host.setdefault(row["host"], []).append(row)
    labels = {n for rows in want.values() for n, _, _ in rows}
    compared, ranks = 0, set()
    for host, rows in sorted(by_host.items()):
        rows.sort(key=lambda r: r["stepnum"])
        match = re.search(r"-rank(\d+)$", host)
        of_host = {int(match.group(1))} if match else {r for r, h in hosts.items() if h == host and want[r]}
        ranks |= of_host
        error = check_rows(host, rows, want[steps_of if steps_of in of_host else min(of_host)], not devices or len(by_host) == 1)
        errors += [error] if error else []
        errors += check_single(host, texts, labels)
        compared += 1
    files = glob.glob(os.path.join(profile, "*.xplane.pb"))
    if compared != len(files):
        errors.append(f"pod_viewer shows {compared} hosts of {len(files)} files")
    errors += check_device.check(pod, texts) if devices else []
    table = next(t for n, t in texts.items() if n.startswith("framework_op_stats."))
    errors += check_operators(json.loads(table)[1], operators(pod, ranks))
    errors += [f"trace_viewer@ has no 'step {n}'" for n in sorted(labels) if not re.search(rf'"step {n}( of rank \d+)?"', trace)]
    for error in errors:
        print(error)
    print(f"{compared} files, {len(labels)} steps compared")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())

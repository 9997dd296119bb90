"""What xprof makes of the devices of a session: kernel_stats equals /kernel of pod.h5, framework_op_stats' devices /op, memory_profile
/allocator, and trace_viewer@ has a track for each stream and an arrow from each launch to what it launched. Used by check_xprof.py."""
import collections
import json
import re

TOLERANCE_US = 1e-3


def text(values):
    return [v.decode() if isinstance(v, bytes) else str(v) for v in values]


def has_devices(pod):
    import h5py

    with h5py.File(pod) as f:
        return bool(f["worker/devices"][:].any())


def operator(name):
    """As xprof has it: docs/formats.md."""
    return re.sub(r"[^A-Za-z0-9_./>-]", "_", re.sub(":+", ".", name))


def key_of(name, registers, shared, block, grid, op):
    return name, int(registers), int(shared), block, grid, op


def kernels(pod):
    """{what xprof tells apart: [occurrences, total us, shortest, longest, occupancy]} of /kernel, over all ranks."""
    import h5py

    rows = {}
    with h5py.File(pod) as f:
        k = f["kernel"]
        names, ops, what = text(k["name"][:]), text(k["op"][:]), text(k["activity"][:])
        for i, of in enumerate(k["row_kernel"][:]):
            if what[of] not in ("Kernel", "Collective"):
                continue
            block, grid = (",".join(str(int(k[f"{p}_{c}"][of])) for c in "xyz") for p in ("block", "grid"))
            key = key_of(names[of], k["registers"][of], k["static_shared_bytes"][of] + k["dynamic_shared_bytes"][of], block, grid, operator(ops[of]))
            row = rows.setdefault(key, [0, 0.0, float("inf"), 0.0, 0.0])
            row[0] += int(k["occurrences"][i])
            row[1] += k["total_ns"][i] / 1000
            row[2] = min(row[2], k["min_ns"][i] / 1000)
            row[3] = max(row[3], k["max_ns"][i] / 1000)
            row[4] = max(row[4], float(k["occupancy_percent"][i]))
    return rows


def shown_kernels(table):
    ids = [c["id"] for c in table["cols"]]
    rows = {}
    for r in table["rows"]:
        x = dict(zip(ids, [c["v"] for c in r["c"]]))
        key = key_of(x["kernel_name"], x["registers_per_thread"], x["shmem_bytes"], x["block_dim"], x["grid_dim"], x["op_name"])
        row = rows.setdefault(key, [0, 0.0, float("inf"), 0.0, 0.0])
        row[0] += int(x["occurrences"])
        row[1] += x["total_duration_us"]
        row[2] = min(row[2], x["min_duration_us"])
        row[3] = max(row[3], x["max_duration_us"])
        row[4] = max(row[4], x["occupancy_pct"])
    return rows


def operators(pod):
    """{name: us on devices} of /op, where an operator launched it: a kernel without one has its own name there and no row in xprof."""
    import h5py

    rows = collections.Counter()
    with h5py.File(pod) as f:
        o = f["op"]
        names, side, alone = text(o["name"][:]), text(o["side"][:]), set(text(f["kernel/name"][:]))
        for i, of in enumerate(o["row_op"][:]):
            if side[of] == "Device" and names[of] not in alone:
                rows[operator(names[of])] += o["total_ns"][i] / 1000
    return rows


def check_operators(want, table):
    ids = [c["id"] for c in table["cols"]]
    rows = [dict(zip(ids, [c["v"] for c in r["c"]])) for r in table["rows"]]
    got = {r["operation"]: r["total_time"] for r in rows if r["host_or_device"] == "Device" and r["operation"] != "IDLE"}
    return [f"framework_op_stats: '{n}' takes {got.get(n)} us on devices, /op {want.get(n)}" for n in sorted(set(want) | set(got))
            if abs(got.get(n, -1) - want.get(n, -1)) > TOLERANCE_US * 1000]


def check_kernels(want, got):
    errors = [f"kernel_stats has no {k}" for k in sorted(set(want) - set(got))] + [f"kernel_stats has {k}, /kernel has not" for k in sorted(set(got) - set(want))]
    for k in sorted(set(want) & set(got)):
        if max(abs(a - b) for a, b in zip(want[k], got[k])) > TOLERANCE_US:
            errors.append(f"kernel_stats: {k} {got[k]}, /kernel {want[k]}")
    return errors


def allocators(pod):
    """{name in xprof: (calls, peak, since start, ps of the peak)}, and what was allocated at the peak in its step, where that is one of the
    window: {name: {(op, bytes): occurrences}}. A peak since the start that is unknown (-1) is that of the window in xprof, which knows no other."""
    import h5py

    rows, alive = {}, {}
    with h5py.File(pod) as f:
        a = f["allocator"]
        for i, name in enumerate(text(a["allocator"][:])):
            peak, since_start = int(a["peak_bytes"][i]), int(a["peak_since_start_bytes"][i])
            rows[f"rank {int(a['worker'][i])} {name}"] = (int(a["allocations"][i] + a["deallocations"][i]), peak,
                                                         peak if since_start < 0 else since_start, int(a["peak_time_ns"][i]) * 1000)
            if a["peak_step"][i] >= 0:
                alive[f"rank {int(a['worker'][i])} {name}"] = collections.Counter()
        p = f["memory_peak"]
        for i, name in enumerate(text(p["allocator"][:])):
            name = f"rank {int(p['worker'][i])} {name}"
            if name in alive and text([p["kind"][i]]) == ["allocation"] and p["of_peak_step"][i]:
                op = text([p["op"][i]])[0]
                alive[name][operator(op) if op else "", int(p["bytes"][i])] += int(p["of_peak_step"][i])
    return rows, alive


def shown_allocators(profiles):
    rows, alive = {}, collections.defaultdict(collections.Counter)
    for profile in profiles:
        for name, a in profile["memoryProfilePerAllocator"].items():
            s = a["profileSummary"]
            rows[name] = (len(a["sampledTimelineSnapshots"]), int(s["peakStats"]["peakBytesInUse"]), int(s["peakBytesUsageLifetime"]),
                          int(s["peakStatsTimePs"]))
            for row in a["activeAllocations"]:
                if int(row["snapshotIndex"]) >= 0:
                    of = a["memoryProfileSnapshots"][int(row["snapshotIndex"])]["activityMetadata"]
                    op = re.sub(r"^allocate/(.*):allocation$", r"\1", of["tfOpName"])
                    alive[name][op, int(of["allocationBytes"])] += int(row["numOccurrences"])
    return rows, alive


def check_trace(trace, is_replay):
    """Arrows begin at calls of hosts and end on streams, and all that streams ran has one. What a call beside the window launched may not be
    recorded: xprof draws no arrow without an end."""
    events = trace["traceEvents"]
    process = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    track = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    device = {p for p, name in process.items() if "/device:GPU:" in name}
    errors = [] if device else ["trace_viewer@ has no process of a device"]
    errors += [f"trace_viewer@: process '{process[p]}' of a replay" for p in device if ("(replay)" in process[p]) != is_replay]
    streams = {t for t, name in track.items() if t[0] in device and " stream " in name}
    errors += [f"trace_viewer@: '{process[p]}' has no stream" for p in device if p not in {t[0] for t in streams}]
    arrow = collections.defaultdict(lambda: ([], []))
    for e in events:
        if e.get("ph") == "X" and "bind_id" in e:
            arrow[e["bind_id"]][bool(e.get("flow_in"))].append(e)
    for number, (calls, ran) in arrow.items():
        if len(calls) != 1 or calls[0]["pid"] in device or any((e["pid"], e["tid"]) not in streams for e in ran):
            errors.append(f"trace_viewer@: arrow {number} from {[e['name'] for e in calls]} to {[e['name'] for e in ran]}")
        elif any(e["ts"] < calls[0]["ts"] for e in ran):
            errors.append(f"trace_viewer@: arrow {number}: '{ran[0]['name']}' begins before its launch")
    ran = [e for e in events if e.get("ph") == "X" and (e["pid"], e["tid"]) in streams]
    without = sum("bind_id" not in e for e in ran)
    if not ran or without:
        errors.append(f"trace_viewer@: {without} of {len(ran)} events of streams have no arrow")
    return errors


def check(pod, texts):
    table = next(t for n, t in texts.items() if n.startswith("kernel_stats."))
    profiles = [json.loads(t) for n, t in texts.items() if n.startswith("memory_profile.")]
    trace = next(t for n, t in texts.items() if n.startswith("trace_viewer_stream."))
    want, got = allocators(pod), shown_allocators(profiles)
    errors = check_kernels(kernels(pod), shown_kernels(json.loads(table)))
    ops = next(t for n, t in texts.items() if n.startswith("framework_op_stats."))
    errors += check_operators(operators(pod), json.loads(ops)[1])
    if got[0] != want[0]:
        errors.append(f"memory_profile: {got[0]}, /allocator: {want[0]}")
    errors += [f"memory_profile: '{n}' at its peak {dict(got[1][n])}, /memory_peak {dict(want[1][n])}" for n in want[1] if got[1][n] != want[1][n]]
    overview = next(t for n, t in texts.items() if n.startswith("overview_page."))
    return errors + check_trace(json.loads(trace), "a replay of recorded data: no device ran" in overview)

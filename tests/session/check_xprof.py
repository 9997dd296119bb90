"""What xprof makes of a session: overview_page, trace_viewer@ and pod_viewer are filled, carry our step labels, and pod_viewer's rows
equal pod.h5 after the fold of docs/formats.md. check_xprof.py PROFILE_DIR POD_H5, with a Python that has xprof and h5py. Exit 77: it has
none. Run by e2e_xprof and tests/unit/aggregate."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "xprof_tools.py")
FOLD = {"All others": 9, "Input": 6}  # on hosts without a device everything else is xprof's Host compute
HOST_COMPUTE = 4
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
    rows = {}
    for w, rank in enumerate(ranks):
        rows[rank] = []
        for s, number in enumerate(numbers):
            if not present[s, w]:
                continue
            us = dict.fromkeys(range(1, 10), 0.0)
            for c, name in enumerate(names):
                us[FOLD.get(name, HOST_COMPUTE)] += exclusive[s, w, c] / 1000
            rows[rank].append((int(number), us, step_ns[s, w] / 1000))
    return rows, dict(zip(ranks, hosts))


def run_tools(profile):
    with tempfile.TemporaryDirectory() as dump:
        words = [sys.executable, "-B", TOOLS, profile, "--json", "--dump", dump]
        for tool in ("pod_viewer", "overview_page", "input_pipeline_analyzer", "trace_viewer@"):
            words += ["--tool", tool]
        got = subprocess.run(words, capture_output=True, text=True, timeout=140)
        if got.returncode == 2:
            print("xprof is not installed here:", got.stderr[-300:])
            sys.exit(77)
        tools = {t["tool"]: t for t in json.loads(got.stdout)["tools"]}
        trace = "".join(open(f).read() for f in glob.glob(os.path.join(dump, "trace_viewer_stream.*")))
    return tools, trace


def differs(row, want):
    _, us, total = want
    off = max([abs(row["us"].get(str(c), 0) - us[c]) for c in us] + [abs(row["total_us"] - total)])
    return off if off > TOLERANCE_US else 0


def check_rows(name, got, want):
    """xprof may renumber steps and shows the labelled edge steps too: rows are compared by order, without the edges."""
    extra = len(got) - len(want)
    if not 0 <= extra <= 2:
        return f"{name}: pod_viewer has {len(got)} rows for {len(want)} steps"
    best = min(max(differs(g, w) for g, w in zip(got[at:], want)) for at in range(extra + 1))
    return f"{name}: pod_viewer differs from pod.h5 by {best} us" if best else None


def main():
    profile, pod = sys.argv[1:3]
    want, hosts = expected(pod)
    tools, trace = run_tools(profile)
    json.loads(trace, parse_constant=lambda word: sys.exit(f"trace_viewer@: {word} is no JSON"))
    errors = [f"{t}: empty ({x.get('error')})" for t, x in tools.items() if not x["nonempty"]]
    by_host = {}
    for row in tools["pod_viewer"].get("key", {}).get("rows", []):
        by_host.setdefault(row["host"], []).append(row)
    compared = 0
    for host, rows in sorted(by_host.items()):
        rows.sort(key=lambda r: r["stepnum"])
        match = re.search(r"-rank(\d+)$", host)
        rank = int(match.group(1)) if match else min(r for r, h in hosts.items() if h == host and want[r])
        error = check_rows(host, rows, want[rank])
        errors += [error] if error else []
        compared += 1
    files = glob.glob(os.path.join(profile, "*.xplane.pb"))
    if compared != len(files):
        errors.append(f"pod_viewer shows {compared} hosts of {len(files)} files")
    labels = {n for rows in want.values() for n, _, _ in rows}
    errors += [f"trace_viewer@ has no 'step {n}'" for n in sorted(labels) if f'"step {n}"' not in trace]
    for error in errors:
        print(error)
    print(f"{compared} files, {len(labels)} steps compared")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Scale real Kineto JSON traces to any size, with ground truth. Standard library only, deterministic.

  make_kineto.py --events 1000000 --ranks 2 --out DIR [--gz] [--unit ns|us] [--skew US] [--repeat N] [--jitter PCT] [--seed N] [--from F ...] [--truth]

One ProfilerStep of each template (default: ../../data/kineto/rank-*.json.gz) is taken, host events by time, GPU events by the
correlation of their launch, and repeated back to back, --repeat times per step, until a rank has at least --events events. The step annotation is stretched so
that every GPU event ends inside its step: the per-step truth does not depend on how events are assigned to steps. Layout, digits and
baseTimeNanoseconds are those torch 2.13 writes (--unit us: integer microseconds, as torch wrote before 2.4).
Rank r uses template r mod #templates. --skew: the clock of rank r runs r*US ahead. --jitter: step k lasts 1 +- PCT %, equally on all ranks.
--truth: TSV on stdout, integer ns, per rank and step (start in the rank's own clock), then a 'total' line per rank.
Times are the lengths of unions of intervals: communication = GPU kernels named nccl*, memory = memcpy and memset, compute = the other kernels,
overlap = compute and communication at once, idle = no GPU event. The union over streams, so nothing is counted twice.
Not real: every step has the same events, and one rank's collectives do not wait for another's beyond what the templates hold.
"""
import argparse, glob, gzip, json, os, sys
from decimal import Decimal

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
BASE = 1711964646000000000          # baseTimeNanoseconds of the files
START = 4458676416788066            # first step, ns after BASE


def ns(x):
    """Microseconds as parsed (int or Decimal) to integer ns, exactly."""
    return int(x * 1000)


def load(path):
    op = gzip.open if path.endswith(".gz") else open
    with op(path, "rb") as f:
        return json.loads(f.read(), parse_float=Decimal)


def template(path):
    """(meta events, [events of one step with off/end in ns], period in ns) of the first step."""
    ev = load(path)["traceEvents"]
    steps = sorted((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in ev
                   if e.get("cat") == "user_annotation" and e.get("name", "").startswith("ProfilerStep#"))
    if not steps:
        sys.exit(f"{path}: no ProfilerStep")
    t0, t1 = steps[0]
    meta, out, corr = [], [], set()
    for e in ev:
        if e.get("ph") == "M":
            meta.append(e)
        elif e.get("ph") == "X" and e.get("cat") not in GPU + ("Trace", "gpu_user_annotation") and t0 <= ns(e["ts"]) < t1:
            if not e.get("name", "").startswith("ProfilerStep#"):
                out.append(e)
                c = e.get("args", {}).get("correlation")
                if c is not None:
                    corr.add(c)
    out += [e for e in ev if e.get("cat") in GPU and e["args"].get("correlation") in corr and ns(e["ts"]) >= t0]
    for e in out:
        e["off"], e["end"] = ns(e["ts"]) - t0, ns(e["ts"]) - t0 + ns(e["dur"])
    out.sort(key=lambda e: e["off"])
    return meta, out, max(e["end"] for e in out) + 1000000


def text(e, dense):
    """The event as text pieces around its numbers: [head, between ts and dur, after dur, id, text, id, text ...]; ids renumbered from 1."""
    args = dict(e["args"]) if "args" in e else {}
    fmt = lambda v: json.dumps(v, default=float)
    rows, ids = [], []
    for k, v in args.items():
        if k in ("correlation", "External id", "Ev Idx") and isinstance(v, int):
            rows.append(f'      {fmt(k)}: \0')
            ids.append(dense.setdefault(v, len(dense) + 1))
        else:
            rows.append(f'      {fmt(k)}: {fmt(v)}')
    s = (f'  {{\n    "ph": "X",\n    "cat": {fmt(e["cat"])},\n    "name": {fmt(e["name"])},\n    "pid": {fmt(e["pid"])},\n'
         f'    "tid": {fmt(e["tid"])},\n    "ts": \0,\n    "dur": \0')
    s += ',\n    "args": {\n' + ",\n".join(rows) + "\n    }\n  }" if rows else "\n  }"
    p = s.split("\0")
    p[3:] = [x for i in zip(ids, p[3:]) for x in i]
    return p


def union(iv):
    out = []
    for a, b in sorted(iv):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def length(u):
    return sum(b - a for a, b in u)


def common(u, v):
    i = j = s = 0
    while i < len(u) and j < len(v):
        s += max(0, min(u[i][1], v[j][1]) - max(u[i][0], v[j][0]))
        if u[i][1] < v[j][1]:
            i += 1
        else:
            j += 1
    return s


def kind(e):
    return "mem" if e["cat"] != "kernel" else "comm" if e["name"].startswith("nccl") else "comp"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--events", type=int, default=100000, help="per rank, at least")
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--skew", type=int, default=0, metavar="US", help="clock of rank r is r*US ahead")
    p.add_argument("--repeat", type=int, default=1, help="copies of the template in one step: fewer, longer steps")
    p.add_argument("--jitter", type=float, default=5, metavar="PCT")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--unit", choices=("ns", "us"), default="ns")
    p.add_argument("--from", dest="src", nargs="+", default=sorted(glob.glob(os.path.join(here, "../../../../../../shared/data/kineto/rank-*.json.gz"))))
    p.add_argument("--out", help="folder for rank-R.json; without it only --truth")
    p.add_argument("--gz", action="store_true")
    p.add_argument("--truth", action="store_true")
    o = p.parse_args()
    if not o.src:
        p.error("no template: give --from")

    tpl = [template(f) for f in o.src]
    period = max(t[2] for t in tpl)
    q = 1 if o.unit == "ns" else 1000
    num = (lambda t: f"{t // 1000}.{t % 1000:03d}") if q == 1 else (lambda t: str(t // 1000))
    nsteps = max(-(-(o.events - len(m)) // (o.repeat * len(e) + 1)) for m, e, _ in tpl)
    if o.truth:
        print("rank\tstep\tstart_ns\twall_ns\tcompute_ns\tcomm_ns\toverlap_ns\tmemory_ns\tidle_ns\tevents")
    for r in range(o.ranks):
        meta, ev, _ = tpl[r % len(tpl)]
        dense = {}
        parts = [text(e, dense) for e in ev] if o.out else []
        stride = len(dense) + 1
        f = None
        if o.out:
            os.makedirs(o.out, exist_ok=True)
            path = os.path.join(o.out, f"rank-{r}.json" + (".gz" if o.gz else ""))
            f = gzip.GzipFile(path, "wb", 6, mtime=0) if o.gz else open(path, "wb")
            f.write((' {\n    "schemaVersion": 1,\n    "deviceProperties": [],\n    "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d},\n'
                     '    "displayTimeUnit": "ms",\n    "baseTimeNanoseconds": %d,\n    "traceEvents": [\n' % (r, o.ranks, BASE)).encode())
            for m in meta:
                m = dict(m, ts=START // 1000)
                f.write(("  " + json.dumps(m) + ",\n").encode())
        rnd, t, tot = o.seed, START + o.skew * 1000 * r, [0] * 7
        for k in range(nsteps):
            rnd = (rnd * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            den = 1 << 20
            mul = den + int(((rnd >> 40) / (1 << 24) * 2 - 1) * o.jitter / 100 * den)
            copy = (period * mul // den) // q * q       # one copy of the template
            wall = copy * o.repeat
            t -= t % q
            at = lambda x, c=0: c * copy + (t + x * mul // den) // q * q
            if f:
                pid = next(e["pid"] for e in ev if e["cat"] == "cpu_op")
                buf = [f'  {{\n    "ph": "X",\n    "cat": "user_annotation",\n    "name": "ProfilerStep#{k}",\n    "pid": {pid},\n    "tid": {pid},\n'
                       f'    "ts": {num(t)},\n    "dur": {num(wall)},\n    "args": {{\n      "External id": {k * o.repeat * stride}, "Ev Idx": {k * o.repeat * stride}\n    }}\n  }}']
                for c in range(o.repeat):
                    base = (k * o.repeat + c) * stride
                    for e, p_ in zip(ev, parts):
                        a = at(e["off"], c)
                        s = p_[0] + num(a) + p_[1] + num(at(e["end"], c) - a) + p_[2]
                        for i in range(3, len(p_), 2):
                            s += str(base + p_[i]) + p_[i + 1]
                        buf.append(s)
                f.write((",\n".join(buf) + (",\n" if k + 1 < nsteps else "\n")).encode())
            if o.truth:
                iv = {"comp": [], "comm": [], "mem": []}
                for e in ev:
                    if e["cat"] in GPU:
                        iv[kind(e)].append((at(e["off"]), at(e["end"])))
                u = {c: union(v) for c, v in iv.items()}
                row = [copy, length(u["comp"]), length(u["comm"]), common(u["comp"], u["comm"]), length(u["mem"]),
                       copy - length(union(sum(iv.values(), []))), len(ev)]
                row = [x * o.repeat for x in row]           # copies do not overlap
                row[-1] += 1
                tot = [a + b for a, b in zip(tot, row)]
                print(r, k, t, *row, sep="\t")
            t += wall
        if f:
            f.write(b'  ],"traceName": "made by make_kineto.py" }\n')
            f.close()
        if o.truth:
            print(r, "total", START + o.skew * 1000 * r, *tot, sep="\t")


if __name__ == "__main__":
    main()

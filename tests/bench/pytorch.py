#!/usr/bin/python3 -B
"""What podprof costs a PyTorch job, beside torch.profiler (CPU) and emit_itt that nobody listens to: turn by turn, in pairs.

One operator on an 8x8 tensor; 4 ranks of DDP over gloo, bare, idle and recording; the import of the shim; memory of a rank.
Skipped (77) unless PODPROF_BENCH=1: other work on the machine blurs it. A file torch.py would be what Python imports as torch.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RANKS, STEPS = 4, 222
WINDOWS = ((40, 60), (120, 140), (200, 220))
BEFORE = 30  # steps of a job before each window: its own measure; what the keeper still writes of the window before lies before them
LOOPS, CALLS = 15, 200
failures = []


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


def row(what, values, unit, gate=None, note="", limit=None, fails=True):
    """gate: the largest median that is good; limit: how it is written where it is not the gate alone. fails: a miss is one of ours."""
    low, middle, high = quartiles(values)
    verdict = "" if gate is None else "ok" if middle <= gate else "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "pytorch", what, middle, low, high, unit, limit or ("" if gate is None else "<= %.4g" % gate), verdict, note), flush=True)
    if verdict == "missed" and fails:
        failures.append(what)
    return middle


# What runs below mpirun or podprof run: this file again, with a first word that says what to do. Each prints JSON.


def loop_ns(torch, loops=LOOPS, calls=CALLS):
    """ns a call, median of short loops: what another process takes of one of them does not count."""
    x, one, spent = torch.zeros(8, 8), 1.0, []
    for _ in range(loops):
        begin = time.perf_counter_ns()
        for _ in range(calls):
            x.add_(one)
        spent.append((time.perf_counter_ns() - begin) / calls)
    return statistics.median(spent)


class Window:
    """Loops in a window: what a call takes more there, and what it takes more with the window's own start and stop."""

    def __init__(self):
        self.loop, self.whole = [], []

    def turn(self, torch, bare, context):
        begin = time.perf_counter_ns()
        context.__enter__()
        entered = time.perf_counter_ns()
        inside = loop_ns(torch)
        leaving = time.perf_counter_ns()
        context.__exit__(None, None, None)
        edges = entered - begin + time.perf_counter_ns() - leaving
        self.loop.append(inside - bare)
        self.whole.append(inside - bare + edges / (LOOPS * CALLS))

    def medians(self, name):
        return {name: statistics.median(self.loop), name + "_whole": statistics.median(self.whole)}


def op_outside(turns=9):
    """Without podprof: bare, ranges that nobody listens to, torch.profiler; each after a bare loop."""
    import torch
    torch.set_num_threads(1)
    itt, profiler = Window(), Window()
    bare = [loop_ns(torch) for _ in range(4)][1:]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        loop_ns(torch, 1)
    for _ in range(turns):
        bare.append(loop_ns(torch))
        itt.turn(torch, bare[-1], torch.autograd.profiler.emit_itt())
        bare.append(loop_ns(torch))
        profiler.turn(torch, bare[-1], torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]))
    print(json.dumps({"bare": statistics.median(bare), **itt.medians("itt"), **profiler.medians("profiler")}))


def op_inside(turns=9):
    """Below podprof run: bare outside of a window, then one window: what was captured before is not being written meanwhile. Its first
    loops write into memory of the ring that was never touched; then chunks come back from the keeper."""
    import podprof
    import torch
    torch.set_num_threads(1)
    podprof.step_begin(0)  # until the first mark all is recorded: no window is known to be far
    bare = [loop_ns(torch) for _ in range(turns + 1)][1:]
    begin = time.perf_counter_ns()
    window = podprof.capture("one")
    window.__enter__()
    edges = time.perf_counter_ns() - begin
    first, inside = loop_ns(torch), [loop_ns(torch) for _ in range(turns)]
    begin = time.perf_counter_ns()
    window.__exit__(None, None, None)
    edges += time.perf_counter_ns() - begin
    bare = statistics.median(bare + [loop_ns(torch) for _ in range(turns)])
    added = statistics.median(inside) - bare
    print(json.dumps({"bare": bare, "podprof": added, "podprof_first": first - bare, "podprof_whole": added + edges / (LOOPS * CALLS)}))


def memory_mib():
    with open("/proc/self/smaps_rollup", encoding="ascii") as f:
        return int(re.search(r"^Rss:\s+(\d+) kB", f.read(), re.M).group(1)) / 1024


def ddp(port, way):
    """Rank 0 prints medians of steps before and inside of the windows, s: of the clock, and CPU of the training thread; memory of a rank."""
    import torch
    import torch.distributed as dist
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    dist.init_process_group("gloo", store=dist.TCPStore("127.0.0.1", int(port), size, is_master=False), rank=rank, world_size=size)
    blocks = [part for _ in range(6) for part in (nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU())]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*blocks, nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data = torch.utils.data.TensorDataset(torch.randn(STEPS * 64, 256), torch.randint(0, 10, (STEPS * 64,)))
    context = {"profiler": lambda: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]),
               "itt": torch.autograd.profiler.emit_itt}.get(way, contextlib.nullcontext)
    begins, ends, inside = [begin for begin, _ in WINDOWS], [end for _, end in WINDOWS], contextlib.nullcontext()
    times = []
    for step, (x, y) in enumerate(torch.utils.data.DataLoader(data, 64)):
        if step in begins:
            inside = context()
            inside.__enter__()
        elif step in ends:
            inside.__exit__(None, None, None)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append((time.perf_counter(), time.thread_time()))
    mine = memory_mib()

    def median(which, spans):  # the steps at the edges are left out: a window starts and stops there
        return statistics.median(times[s][which] - times[s - 1][which] for begin, end in spans for s in range(begin + 1, end - 1))

    every = [None] * size
    dist.all_gather_object(every, mine)
    if rank == 0:
        before = [(begin - BEFORE, begin) for begin in begins]
        whole = [(times[end][1] - times[begin - 1][1]) / (end - begin) for begin, end in WINDOWS]  # one step longer: the stop is in that
        print(json.dumps({"outside": median(0, before), "inside": median(0, WINDOWS), "cpu_outside": median(1, before),
                          "cpu_inside": median(1, WINDOWS), "cpu_whole": statistics.median(whole), "mib": statistics.median(every)}))
    time.sleep(0.3)  # gloo's threads drop their last work: where Python ends before, torch aborts (docs/frameworks.md)
    dist.destroy_process_group()


# What starts them.


class Bench:
    def __init__(self, args, where):
        self.args, self.where = args, where
        self.podprof = os.path.abspath(os.path.join(args.bin, "podprof"))

    def under(self, *options):
        return [self.podprof, "run", "-o", "logs", "--wait", "0", *options, "--"]

    def run(self, words, *more, **env):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PODPROF_") and k not in ("INTEL_LIBITTNOTIFY64", "PYTHONPATH")}
        clean.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", **env)
        job = subprocess.run([*words, *more], cwd=self.where, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180)
        if job.returncode:
            sys.exit("pytorch.py: %s failed with %d: %s%s" % (" ".join(words + list(more)), job.returncode, job.stdout, job.stderr))
        self.wait_for_idle()
        return job

    def wait_for_idle(self):
        """The keeper writes after the job has ended: it must not run beside the next one."""
        if os.path.isdir(os.path.join(self.where, "logs")):
            subprocess.run([self.podprof, "report", "logs"], cwd=self.where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
            shutil.rmtree(os.path.join(self.where, "logs"), ignore_errors=True)

    def child(self, *words):
        return [sys.executable, "-B", os.path.abspath(__file__), "--child", *words]

    def measured(self, words, *more):
        return json.loads(self.run(words, *more).stdout.splitlines()[-1])

    def ddp(self, before, way=""):
        """The store is this process's: no port is fixed, none is told by a file."""
        import torch.distributed as dist
        store = dist.TCPStore("127.0.0.1", 0, RANKS + 1, is_master=True, wait_for_workers=False)
        mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(RANKS)]
        return self.measured([*mpirun, *before, *self.child("ddp", str(store.port), way)])


def operator(bench):
    outside, inside = [], []
    for _ in range(bench.args.turns):
        outside.append(bench.measured(bench.child("op_outside")))
        inside.append(bench.measured(bench.under("--steps", "1000000:1000010"), *bench.child("op_inside")))
    row("x.add_(1.0) of 8x8, bare", [o["bare"] for o in outside], "ns", note="5 PyTorch ranges per call")
    row("added: emit_itt without a collector", [o["itt"] for o in outside], "ns", note="PyTorch's own share")
    row("added: torch.profiler (CPU)", [o["profiler"] for o in outside], "ns")
    row("added: podprof", [i["podprof"] for i in inside], "ns")
    row("added: podprof, the first %d calls of a window" % (LOOPS * CALLS), [i["podprof_first"] for i in inside], "ns", note="fresh ring memory")
    row("added with start and stop of the window: torch.profiler", [o["profiler_whole"] for o in outside], "ns",
        note="it creates its events at the end")
    row("added with start and stop of the window: podprof", [i["podprof_whole"] for i in inside], "ns",
        note="%d calls per window" % (LOOPS * CALLS))
    pairs, note = list(zip(inside, outside)), "%d turns of one process each" % len(inside)
    row("added: emit_itt without a collector / torch.profiler", [o["itt"] / o["profiler"] for o in outside], "x", note="PyTorch's own share")
    # What torch itself takes for its ranges is most of it; what is ours is the row of 150 ns.
    row("added: podprof / torch.profiler", [i["podprof"] / o["profiler"] for i, o in pairs], "x", 1 / 3, note, fails=False)
    row("added with start and stop: podprof / torch.profiler", [i["podprof_whole"] / o["profiler_whole"] for i, o in pairs], "x", note=note)
    row("podprof minus emit_itt without a collector", [i["podprof"] - o["itt"] for i, o in pairs], "ns", 150, note)


def job(bench):
    windows = ",".join("%d:%d" % window for window in WINDOWS)
    ways = {"bare": ([], ""), "idle": (bench.under("--steps", "1000000:1000010"), ""), "window": (bench.under("--steps", windows), ""),
            "itt": ([], "itt"), "profiler": ([], "profiler"), "again": ([], "")}
    got = {name: [] for name in ways}
    for turn in range(bench.args.turns):
        # Turned round every time: what is first in a turn is not always first.
        names = list(ways)[turn % len(ways):] + list(ways)[:turn % len(ways)]
        for name in names:
            got[name].append(bench.ddp(*ways[name]))
    note = "median of %d steps, %d ranks on %d cores, %d turns" % (BEFORE * len(WINDOWS), RANKS, os.cpu_count(), bench.args.turns)
    ratio = {name: [a["outside"] / b["outside"] for a, b in zip(got[name], got["bare"])] for name in ways}
    row("DDP step, bare", [g["outside"] * 1e3 for g in got["bare"]], "ms", note=note)
    row("DDP step, bare again / bare: the noise of jobs", ratio["again"], "x")
    noise = max(abs(r - 1) for r in quartiles(ratio["again"]))
    if noise <= 0.05:
        row("DDP step, idle / bare", ratio["idle"], "x", 1 + max(0.005, noise), "1 + 0.5 % or the noise")
    else:
        row("DDP step, idle / bare", ratio["idle"], "x", note="not judged: the noise is %.0f %%" % (1e2 * noise))
    for name, what in (("again", "bare: the noise within a job"), ("window", "podprof"), ("profiler", "torch.profiler")):
        row("DDP step in a window / before it: %s" % what, [g["inside"] / g["outside"] for g in got[name]], "x")

    # The clock of ranks that share cores tells nothing below 5 %: what is added is counted in CPU time of the training thread. The keeper's
    # is not in it.
    row("DDP step, bare: CPU of the training thread", [g["cpu_outside"] * 1e6 for g in got["bare"]], "us")
    length = WINDOWS[0][1] - WINDOWS[0][0]
    steady = {name: [(g["cpu_inside"] - g["cpu_outside"]) * 1e6 for g in got[name]] for name in ways}
    whole = {name: [(g["cpu_whole"] - g["cpu_outside"] * (length + 1) / length) * 1e6 for g in got[name]] for name in ways}
    for added, where in ((steady, "per step in a window"), (whole, "with start and stop")):
        for name, what in (("again", "nothing: the noise"), ("itt", "emit_itt without a collector"), ("window", "podprof"),
                           ("profiler", "torch.profiler")):
            note = {"itt": "PyTorch's own share", "profiler": "" if added is steady else "it creates its events at the end"}.get(name, "")
            row("added, %s: %s" % (where, what), added[name], "us", note=note)
        for name, what, gate in (("itt", "emit_itt without a collector", None), ("window", "podprof", 1 / 3)):
            ratios = [a / b for a, b in zip(added[name], added["profiler"]) if b > 0]
            note = "of medians: %.3g" % (statistics.median(added[name]) / statistics.median(added["profiler"]))
            row("added, %s: %s / torch.profiler" % (where, what), ratios, "x", gate, note)
    for name in ("idle", "window"):
        more = [a["mib"] - b["mib"] for a, b in zip(got[name], got["bare"])]
        row("memory of a rank, %s - bare" % name, more, "MiB", 8, "RSS, rings in shared memory included")


def shim(bench):
    """-X importtime costs a little itself: the figures are upper bounds."""
    start, adapter = [], []
    for _ in range(4 * bench.args.turns):
        for program, pattern, values in (("pass", r"\bsitecustomize$", start), ("import torch", r"\b_podprof\._torch$", adapter)):
            if values is adapter and len(adapter) >= bench.args.turns:
                continue
            printed = bench.run(bench.under(), sys.executable, "-X", "importtime", "-c", program).stderr
            found = [int(line.split("|")[1]) for line in printed.splitlines() if line.startswith("import time:") and re.search(pattern, line)]
            if not found:
                sys.exit("pytorch.py: no import of %s was seen: %s" % (pattern, printed[-2000:]))
            values.append(max(found) / 1e3)
    row("shim: sitecustomize, at the start of any Python", start, "ms", 5, "by -X importtime")
    row("shim: adapter, when torch is imported", adapter, "ms", 5, "by -X importtime, beside about 1 s of torch itself")


def main():
    if sys.argv[1:2] == ["--child"]:
        return {"op_outside": op_outside, "op_inside": op_inside, "ddp": ddp}[sys.argv[2]](*sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", default=sys.executable, help="one with torch")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("part", nargs="*", help="operator, job, shim")
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    if not os.path.exists(args.python):
        print("skipped: no PyTorch at '%s': scripts/install-deps" % args.python)
        return 77
    args.python = os.path.abspath(args.python)
    if args.python != sys.executable:
        os.execv(args.python, [args.python, "-B", *sys.argv, "--python", args.python])
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        for name, part in (("shim", shim), ("operator", operator), ("job", job)):
            if not args.part or name in args.part:
                part(Bench(args, where))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

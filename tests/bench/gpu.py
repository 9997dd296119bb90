#!/usr/bin/python3 -B
"""What podprof costs jobs on a CUDA device: time of a step bare, idle, in a window and under torch.profiler, in turns of one run.

examples/cuda_train, a small CNN and a small transformer. In one job more, podprof's time of kernels per step is held to torch.profiler's,
each in a window of its own, since CUPTI has one user at a time. Skipped (77) unless PODPROF_BENCH=1, and where no device is.
--device cpu tries this script without a device: its rows say so, and nothing is judged.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

STEPS, WINDOWS, BEFORE = 260, ((80, 110), (200, 230)), 40
FEW, MANY = 200, 2200  # steps of cuda_train: the difference of both has no start and no end in it
FAR = "1000000:1000010"
failures = []


def row(what, values, unit, limit=None, note="", is_judged=True):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    verdict = "" if limit is None or not is_judged else "ok" if middle <= limit else "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "gpu", what, middle, low, high, unit, "" if limit is None else "<= %.4g" % limit, verdict, note), flush=True)
    if verdict == "missed":
        failures.append(what)


# What runs below podprof run: this file again, with --child. Prints JSON.


def make_model(torch, name, device):
    from torch import nn
    batch = 64 if device == "cuda" else 2
    if name == "cnn":
        parts = [nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.BatchNorm2d(128), nn.ReLU(),
                 nn.Conv2d(128, 128, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)]
        return nn.Sequential(*parts), torch.randn(2 * batch, 3, 32, 32)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Flatten(), nn.Linear(64 * 256, 10)), torch.randn(batch, 64, 256)


def kernel_us(profiler):
    """Time of kernels in its trace."""
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        profiler.export_chrome_trace(f.name)
        with open(f.name, encoding="utf-8") as trace:
            events = json.load(trace)["traceEvents"]
    return sum(e["dur"] for e in events if e.get("cat") == "kernel")


def train(name, device, way):
    """way: bare, profiler in both windows, or second: profiler in the second window only."""
    import torch
    torch.manual_seed(1)
    model, x = make_model(torch, name, device)
    model, x = model.to(device), x.to(device)
    y = torch.zeros(len(x), dtype=torch.long, device=device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    activities = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if device == "cuda" else [])
    begins = {"profiler": [b for b, _ in WINDOWS], "second": [WINDOWS[1][0]]}.get(way, [])
    ends, inside, times, kernels = [e for _, e in WINDOWS], contextlib.nullcontext(), [], []
    for step in range(STEPS):
        if step in begins:
            inside = torch.profiler.profile(activities=activities)
            inside.__enter__()
        elif step in ends:
            inside.__exit__(None, None, None)
            if hasattr(inside, "export_chrome_trace"):
                kernels.append(kernel_us(inside) / (WINDOWS[0][1] - WINDOWS[0][0]))
            inside = contextlib.nullcontext()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter())

    def median(spans):  # the steps at the edges are left out: a window starts and stops there
        return statistics.median(times[s] - times[s - 1] for begin, end in spans for s in range(begin + 1, end - 1))

    print(json.dumps({"outside": median([(begin - BEFORE, begin) for begin, _ in WINDOWS]), "inside": median(WINDOWS), "kernel_us": kernels}))


# What starts them.


class Bench:
    def __init__(self, args, where):
        self.args, self.where = args, where
        self.podprof = os.path.abspath(os.path.join(args.bin, "podprof"))
        self.note = "" if args.device == "cuda" else "on the CPU: tries the script, says nothing of devices"

    def under(self, *options):
        return [self.podprof, "run", "-o", "logs", "--wait", "0", *options, "--"]

    def run(self, words):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PODPROF_")}
        if self.args.device == "cpu":
            clean["OMP_NUM_THREADS"] = "1"
        job = subprocess.run(words, cwd=self.where, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180)
        if job.returncode not in (0, 77):
            sys.exit("gpu.py: %s failed with %d: %s%s" % (" ".join(words), job.returncode, job.stdout[-2000:], job.stderr[-2000:]))
        return job

    def wait_for_keeper(self):
        """It writes after the job has ended: not beside the next one."""
        if os.path.isdir(os.path.join(self.where, "logs")):
            subprocess.run([self.podprof, "report", "logs"], cwd=self.where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)

    def remove_logs(self):
        self.wait_for_keeper()
        shutil.rmtree(os.path.join(self.where, "logs"), ignore_errors=True)

    def child(self, before, name, way):
        words = [self.args.python, "-B", os.path.abspath(__file__), "--child", name, self.args.device, way]
        return json.loads(self.run(before + words).stdout.splitlines()[-1])


def judge(bench, what, steps, inside):
    """steps: s per step by way, paired by turn; inside: of the windows, or None where a whole job is one."""
    judged = bench.args.device == "cuda"
    row("%s: step, bare" % what, [s * 1e3 for s in steps["bare"]], "ms", note=bench.note)
    row("%s: step, idle / bare" % what, [a / b for a, b in zip(steps["idle"], steps["bare"])], "x", 1.005, bench.note, judged)
    if inside is None:
        row("%s: step, in a window / bare" % what, [a / b for a, b in zip(steps["window"], steps["bare"])], "x", 1.02, bench.note, judged)
        return
    ratio = {way: [a / b for a, b in zip(inside[way], steps[way])] for way in inside}
    row("%s: step in a window / before it: podprof" % what, ratio["window"], "x", 1.02, bench.note, judged)
    row("%s: step in a window / before it: torch.profiler" % what, ratio["profiler"], "x", note=bench.note)
    row("%s: step in a window / before it: bare: the noise" % what, ratio["bare"], "x", note=bench.note)


def cuda_train(bench):
    program = os.path.abspath(os.path.join(bench.args.bin, "cuda_train"))
    if not os.path.exists(program):
        return "cuda_train: it is not built: no nvcc at build time"
    job = bench.run([program, "--steps", "20"])
    if job.returncode == 77:
        return ((job.stdout + job.stderr).strip().splitlines() or ["cuda_train: no device"])[-1]
    ways = {"bare": [], "idle": bench.under("--steps", FAR), "window": bench.under()}
    steps = {way: [] for way in ways}
    bench.run([program, "--steps", str(FEW)])  # the driver compiles the kernels at the first launch

    def wall(before, count):
        begin = time.monotonic()
        bench.run(before + [program, "--steps", str(count)])
        took = time.monotonic() - begin
        bench.remove_logs()
        return took

    for _ in range(bench.args.turns):
        for way, before in ways.items():
            few = wall(before, FEW)
            steps[way].append((wall(before, MANY) - few) / (MANY - FEW))
    judge(bench, "cuda_train", steps, None)
    return None


def kernels_ns(text):
    """Time of all kernels in what podprof export --tool kernel_stats --format json prints."""
    for table in json.loads(text)["tables"]:
        for column in table["columns"] if table["table"] == "kernel_stat" else ():
            if column["name"] == "total_ns":
                return sum(column["data"])
    return 0


def kernels(bench, name):
    """Kernels of a step, by podprof in the first window and by torch.profiler in the second one of the same job."""
    theirs = bench.child(bench.under("--steps", "%d:%d" % WINDOWS[0]), name, "second")["kernel_us"]
    bench.wait_for_keeper()
    ours = None
    if bench.args.device == "cuda":
        text = bench.run([bench.podprof, "export", "--tool", "kernel_stats", "--format", "json", "logs"]).stdout
        ours = kernels_ns(text) / 1e3 / (WINDOWS[0][1] - WINDOWS[0][0])
    bench.remove_logs()
    if ours is None:
        return
    if not theirs or not theirs[0]:
        sys.exit("gpu.py: torch.profiler has no kernels")
    row("%s: kernels of a step, podprof / torch.profiler, off by" % name, [abs(ours / theirs[0] - 1)], "of 1", 0.01,
        "%.1f and %.1f us per step" % (ours, theirs[0]))


def torch_jobs(bench):
    if not os.path.exists(bench.args.python):
        return "PyTorch: none at '%s': scripts/install-deps" % bench.args.python
    asked = "import torch; print('yes' if torch.cuda.is_available() else 'no device for PyTorch %s' % torch.__version__)"
    said = bench.run([bench.args.python, "-c", asked]).stdout.strip()
    if bench.args.device == "cuda" and said != "yes":
        return "PyTorch: %s" % said
    ways = {"bare": ([], "bare"), "idle": (bench.under("--steps", FAR), "bare"),
            "window": (bench.under("--steps", ",".join("%d:%d" % w for w in WINDOWS)), "bare"), "profiler": ([], "profiler")}
    for name in ("cnn", "transformer"):
        steps, inside = {way: [] for way in ways}, {way: [] for way in ways}
        for _ in range(bench.args.turns):
            for way, (before, what) in ways.items():
                got = bench.child(before, name, what)
                bench.remove_logs()
                steps[way].append(got["outside"])
                inside[way].append(got["inside"])
        judge(bench, name, steps, inside)
        kernels(bench, name)
    return None


def main():
    if sys.argv[1:2] == ["--child"]:
        return train(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", default=sys.executable, help="one with torch")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    args.python = os.path.abspath(args.python)
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        bench = Bench(args, where)
        reasons = [part(bench) for part in (cuda_train, torch_jobs)]
    for reason in reasons:
        if reason:
            print("skipped: " + reason)
    return 1 if failures else 77 if all(reasons) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""PyTorch programs on one rank, as users write them, with podprof and without: the same bits come out, and the dataset has what they did.
Run by ctest python_torch; skipped without a Python with torch."""
import os
import sys

from pythons import check, jobs, same, write

import e2e  # noqa: E402

PYTHON = os.environ.get("PODPROF_TORCH_PYTHON", "")
HEAD = """
import os, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
if OPTIMIZER:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)


class Numbers(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, i):
        time.sleep(0.0005)
        return torch.arange(i, i + 16, dtype=torch.float32) / 64


def step(x):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item().hex()


def main():
BODY


if __name__ == "__main__":
    main()
"""
LOOP = """
    for x in DataLoader(Numbers(), 4, num_workers=WORKERS, multiprocessing_context=METHOD):
        loss = step(x)
    torch.save(model.state_dict(), sys.argv[1])
    print(loss)
"""
INFERS = """
    model.eval()
    total = 0.0
    with torch.inference_mode():
        for x in DataLoader(Numbers(), 4, num_workers=WORKERS):
            total += model(x).pow(2).mean().item()
    print(total.hex())
"""
INFERS_ALONE = """
    total = 0.0
    with torch.no_grad():
        for i in range(40):
            total += model(torch.full((4, 16), i / 40)).pow(2).mean().item()
    print(total.hex())
"""
BY_HAND = """
    def update(x):
        model(x).pow(2).mean().backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
                p.grad = None

    if BATCHES:
        for epoch in range(2):
            for x in DataLoader(Numbers(), 4):
                update(x)
            with torch.no_grad():
                for x in DataLoader(Numbers(), 16):
                    model(x)
    else:
        for i in range(24):
            update(torch.full((4, 16), i / 24))
    print(model[0].weight.sum().item().hex())
"""
REQUESTS = """
    @torch.inference_mode()
    def generate(x, length):
        for _ in range(length):
            x = model[0](x).relu()[:, :16]
        return x

    total = 0.0
    for i in range(24):
        with torch.no_grad():
            total += torch.ones(3).sum().item()
        total += generate(torch.full((4, 16), i / 24), 20).sum().item()
    print(total.hex())
"""
ROLLOUTS = """
    for i in range(6):
        x, rows = torch.full((4, 16), i / 6), []
        with torch.no_grad():
            for _ in range(10):
                x = model[0](x).tanh()[:, :16]
                rows.append(x)
        for _ in range(3):
            loss = step(torch.cat(rows))
    print(loss)
"""
SERVES = """
    import queue, threading
    requests = queue.Queue()
    def ask():
        for i in range(100):
            time.sleep(0.01)
            requests.put(torch.full((1 + i % 4, 16), i / 40))
        requests.put(None)
    threading.Thread(target=ask, daemon=True).start()
    total = 0.0
    with torch.inference_mode():
        while (x := requests.get()) is not None:
            with torch.profiler.record_function("handle"):
                for _ in range(20):
                    total += model(x).pow(2).mean().item()
    print(total.hex())
"""
CONVOLVES = """
    model = nn.Conv2d(1, 4, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x in DataLoader(Numbers(), 4):
        optimizer.zero_grad()
        loss = model(x.reshape(4, 1, 4, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
    print(loss.item().hex())
"""
# Stands in for a device: two, of which the second has memory from step 3 on; the program runs out of memory in step 5.
OWN_DEVICES = """
    seen = {"steps": 0, "observer": None, "peak": 0}

    def stats(device):
        n, had = seen["steps"], 100 if device == 0 else 7
        if device and n < 3:
            return {"allocated_bytes": {"all": {"current": 0, "peak": 0}}}
        now = had * (50 if n == 6 else n)
        seen["peak"] = max(seen["peak"], 5000 if n >= 6 else 100 * n)
        return {"allocated_bytes": {"all": {"current": now, "peak": seen["peak"]}}, "active_bytes": {"all": {"current": now + 1, "peak": 0}},
                "reserved_bytes": {"all": {"current": 8192, "peak": 9000}}, "num_alloc_retries": n // 4, "num_ooms": n // 5}

    def attach(observer):
        seen["observer"] = observer

    torch.cuda.is_initialized, torch.cuda.device_count, torch.cuda.memory_stats_as_nested_dict = lambda: True, lambda: 2, stats
    torch._C._cuda_attach_out_of_memory_observer = attach
    for x in DataLoader(Numbers(), 4):
        loss = step(x)
        seen["steps"] += 1
        if seen["steps"] == 5 and seen["observer"]:
            seen["observer"](0, 1 << 30, 80 << 30, 3 << 20)
    print(loss)
"""
BUSY = """
    class Slow(Numbers):
        def __getitem__(self, i):
            time.sleep(0.01)
            return super().__getitem__(i)

    for x in DataLoader(Numbers(), 4):
        model(x)
    for x in DataLoader(Slow(), 4, num_workers=2):
        loss = step(x)
    print(loss)
"""
PROFILER = """
    from torch.profiler import ProfilerActivity, profile
    for i, x in enumerate(DataLoader(Numbers(), 4)):
        if i == 4:
            theirs = profile(activities=[ProfilerActivity.CPU])
            theirs.__enter__()
        loss = step(x)
        if i == 7:
            theirs.__exit__(None, None, None)
    print(loss, sorted((e.key, e.count) for e in theirs.key_averages()))
"""
SCHEDULE = """
    from torch.profiler import ProfilerActivity, profile, schedule
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=2, warmup=1, active=3, repeat=1)) as theirs:
        for x in DataLoader(Numbers(), 4):
            loss = step(x)
            theirs.step()
    with torch.autograd.profiler.emit_itt():
        loss = step(x)
    print(loss, sorted((e.key, e.count) for e in theirs.key_averages()))
"""
RAISES = """
    for i, x in enumerate(DataLoader(Numbers(), 4, num_workers=1)):
        try:
            model(x).backward(torch.ones(3))
        except RuntimeError as e:
            print(type(e).__name__)
        loss = step(x)
        if i == 7:
            raise KeyboardInterrupt
"""
LEAVES = """
    for x in DataLoader(Numbers(), 4):
        loss = step(x)
    print(loss, flush=True)
    os._exit(3)
"""
COMPILES = """
    import warnings
    warnings.simplefilter("ignore")
    fast = torch.compile(lambda x: model(x).pow(2).mean(), backend="eager", fullgraph=True)
    compiled_step = torch.compile(optimizer.step, backend="eager", fullgraph=False)
    for i, x in enumerate(DataLoader(Numbers(), 4)):
        optimizer.zero_grad()
        loss = fast(x)
        loss.backward()
        optimizer.step()
    counters = dict(torch._dynamo.utils.counters["frames"]), dict(torch._dynamo.utils.counters["graph_break"])
    print(loss.item().hex(), counters)
"""
COMPILES_LOOP = """
    def train(loader):
        for x in loader:
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
        return loss
    import warnings
    warnings.simplefilter("ignore")
    loss = torch.compile(train, backend="eager")(DataLoader(Numbers(), 4))
    counters = dict(torch._dynamo.utils.counters["stats"]), len(torch._dynamo.utils.counters["graph_break"])
    print(loss.item().hex(), counters)
    print(sorted(k[:30] for k in torch._dynamo.utils.counters["graph_break"]))
"""
LEGACY = """
    from torch.autograd import profiler_legacy
    for i, x in enumerate(DataLoader(Numbers(), 4)):
        if i == 4:
            with profiler_legacy.profile() as theirs:
                loss = step(x)
        else:
            loss = step(x)
    print(loss, sorted((e.key, e.count) for e in theirs.key_averages()))
"""
OWN_ITERATOR = """
    class Loader(DataLoader):
        def _get_iterator(self):
            return iter([torch.ones(4, 16)] * 4)
    for x in Loader(Numbers(), 4):
        loss = step(x)
    for x in DataLoader(Numbers(), 4):
        loss = step(x)
    from torch.distributed import device_mesh
    print(loss, device_mesh.init_process_group is torch.distributed.init_process_group)
"""
SIGNALS = """
    import signal
    def late(*_):
        raise TimeoutError("late")
    signal.signal(signal.SIGALRM, late)
    armed = []
    class Loader(DataLoader):
        @property
        def num_workers(self):
            if armed and armed.pop():
                signal.raise_signal(signal.SIGALRM)
            return 0
        @num_workers.setter
        def num_workers(self, number):
            pass
    for turn in range(3):
        loader = Loader(Numbers(), 4)
        armed.append(turn == 1)
        try:
            for x in loader:
                loss = step(x)
        except TimeoutError as e:
            print(turn, e)
    print(loss)
"""


def program(place, name, body, **words):
    text = HEAD.replace("BODY", body.strip("\n"))
    for word, value in {"OPTIMIZER": True, **words}.items():
        text = text.replace(word, repr(value))
    return [PYTHON, write(place, name + ".py", text), os.path.join(place.scratch, "model.pt")]


def both(place, name, body, options=(), **words):
    """The run under podprof, which is as the one without, and its session."""
    command, logs = program(place, name, body, **words), place.new_logs()
    base, got = jobs.run(command), jobs.run(place.under(logs, command, *options))
    same(base, got, name)
    return got, jobs.session_of(logs)


def ops(f):
    return {e2e.text(n): e2e.text(c) for n, c in zip(f["op/name"][()], f["op/category"][()])}


def loop(place, full):
    """Steps, operators, phases, input and its workers, checkpoint; in a window only."""
    _, session = both(place, "loop", LOOP, WORKERS=2, METHOD="fork")
    e2e.check_dataset(session, workers=1, steps=range(12))
    with e2e.h5(session) as f:
        have = ops(f)
        for name in ("forward", "backward", "aten::addmm", "Optimizer.step#SGD.step"):
            check(have.get(name) == "Host compute", f"{name} is {have.get(name)} of {sorted(have)}")
        check(any(n.startswith("enumerate(DataLoader)") and c == "Input" for n, c in have.items()), f"no input in {have}")
        check(e2e.text(f["worker/step_rule"][()][0]) == "torch: DataLoader", f"rule {f['worker/step_rule'][()]}")
        check(int(f["quality/dropped"][()].sum()) == 0, f"dropped {f['quality/dropped'][()]}")
    check("workers are busy" in e2e.read(session, "summary.txt"), "the summary does not name the workers' time")
    _, session = both(place, "window", LOOP, ("--steps", "5:8"), WORKERS=0, METHOD=None)
    e2e.check_dataset(session, workers=1, steps=range(5, 8))
    with e2e.h5(session) as f:
        calls = {e2e.text(f["op/name"][()][r]): int(c) for r, c in zip(f["op/row_op"][()], f["op/calls"][()])}
        check(calls.get("backward") == 3 and calls.get("Optimizer.step#SGD.step") == 3, f"calls in three steps: {calls}")


def calls_of(f):
    return {e2e.text(f["op/name"][()][r]): (int(c), int(s)) for r, c, s in zip(f["op/row_op"][()], f["op/calls"][()], f["op/steps"][()])}


def levels(place, full):
    """Without operators the same times are Input and Host compute; in each k-th step they are not counted as of all steps."""
    for level, name, steps in (("steps", "DataLoader.__next__", 6), ("operators/3", "aten::addmm", 2)):
        _, session = both(place, "levels", LOOP, ("--steps", "2:8", "--level", level), WORKERS=0, METHOD=None)
        with e2e.h5(session) as f:
            have = calls_of(f)
            check(("aten::addmm" in have) == (level != "steps"), f"{level}: {have}")
            check(have["forward"] == (steps, steps) and have[name][1] == steps, f"{level}: {have}")
            check(int(f["worker/level_steps"][0]) == steps, f["worker/level_steps"][()])
            check((f["breakdown/exclusive_ns"][()][:, 0, 5] > 0).all(), f"{level}: steps without input")
        text = e2e.read(session, "summary.txt")
        check(("operators were not recorded" if level == "steps" else "in 2 of 6 steps") in text, text)


def busy(place, full):
    """Workers that are always at work are said to be, whatever loader was before them and however uneven the steps are."""
    _, session = both(place, "busy", BUSY)
    with e2e.h5(session) as f:
        share = float(f["input/loader_busy"][()][0])
        check(share > 0.5, f"workers that never rest are busy {share}")


def workers(place, full):
    """Workers that are spawned, or forked by a server, have the shim, too, and are silent."""
    if not full:
        raise jobs.Skipped("torch_faults has workers by fork and spawn: PODPROF_LONG=1")
    for method in ("spawn", "forkserver"):
        _, session = both(place, method, LOOP, WORKERS=1, METHOD=method)
        e2e.check_dataset(session, workers=1, steps=range(12))


def profilers(place, full):
    """The program's own profiler has the operators while it runs, all of them, and podprof says so."""
    for name, body in (("profiler", PROFILER), ("schedule", SCHEDULE), ("legacy", LEGACY))[: None if full else 1]:
        command, logs = program(place, name, body), place.new_logs()
        base, got = jobs.run(command), jobs.run(place.under(logs, command))
        check(got.code == 0 and got.out == base.out, f"{name}: {got.out} instead of {base.out}\n{got.err}")
        check("torch.profiler was started by the program" in got.err, f"{name}: {got.err}")
        session = jobs.session_of(logs)
        check("torch.profiler was started" in e2e.read(session, "summary.txt"), "the summary does not say so")
        with e2e.h5(session) as f:
            check(list(f["breakdown/step"][()][:12]) == list(range(12)), f"steps {f['breakdown/step'][()]}")
            check("aten::addmm" in ops(f), "no operators of the other steps")


def ends(place, full):
    """Exceptions, an interrupt and os._exit are the program's; steps up to there are counted."""
    command, logs = program(place, "raises", RAISES), place.new_logs()
    base, got = jobs.run(command), jobs.run(place.under(logs, command))
    check(got.code == base.code and got.out == base.out and "KeyboardInterrupt" in got.err, got.transcript())
    with e2e.h5(jobs.session_of(logs)) as f:
        check(list(f["breakdown/step"][()]) == list(range(8)), f"steps {f['breakdown/step'][()]}")
    got, _ = both(place, "signals", SIGNALS)
    check("failed" not in got.err, got.err)
    _, session = both(place, "leaves", LEAVES)
    check(jobs.wait_until(lambda: os.path.exists(os.path.join(session, "summary.txt")), 20), f"no summary: {os.listdir(session)}")
    e2e.check_dataset(session, workers=1, steps=range(12))


def infers(place, full):
    """Loops without an optimizer: the batches are the steps, where one was made too, and in a window of steps."""
    table = (((), True, range(12)), (("--steps", "5:9"), False, range(5, 9)), ((), False, range(12)), (("--steps", "0:4"), False, range(4)),
             (("--steps", "6:10"), True, range(6, 10)))
    for options, optimizer, steps in table[: None if full else 2]:
        _, session = both(place, "infers", INFERS, options, WORKERS=0, OPTIMIZER=optimizer)
        e2e.check_dataset(session, workers=1, steps=steps)
        with e2e.h5(session) as f:
            check(e2e.text(f["worker/step_rule"][0]) == "torch: DataLoader", f["worker/step_rule"][()])
            check("aten::addmm" in ops(f), f"no operators in {sorted(ops(f))}")
            share = f["breakdown/exclusive_ns"][()][:, :, 5].sum() / f["breakdown/step_ns"][()].sum()
            check(0 < share < 1, f"input share {share}")


def by_hand(place, full):
    """Parameters that the program changes itself: its steps are the iterations, and a validation is none."""
    for batches, rule in ((True, "torch: DataLoader"), (False, "torch: parameter updates")):
        _, session = both(place, "by_hand", BY_HAND, OPTIMIZER=False, BATCHES=batches)
        e2e.check_dataset(session, workers=1, steps=range(24))
        with e2e.h5(session) as f:
            check(e2e.text(f["worker/step_rule"][0]) == rule, f["worker/step_rule"][()])
        _, session = both(place, "by_hand", BY_HAND, ("--steps", "5:9"), OPTIMIZER=False, BATCHES=batches)
        e2e.check_dataset(session, workers=1, steps=range(5, 9))
        with e2e.h5(session) as f:
            calls = {e2e.text(f["op/name"][()][r]): int(c) for r, c in zip(f["op/row_op"][()], f["op/calls"][()])}
            check(calls.get("backward") == 4, f"calls in four steps: {calls}")


def requests(place, full):
    """Calls of generate() are the steps, and a small block beside each is none. In reinforcement learning the rollout is a range of its own."""
    for body, steps, rule, blocks in ((REQUESTS, 24, "torch: inference", 24), (ROLLOUTS, 18, "torch: optimizer", 5)):
        _, session = both(place, "requests", body, OPTIMIZER=rule == "torch: optimizer")
        e2e.check_dataset(session, workers=1, steps=range(steps))
        with e2e.h5(session) as f:
            check(e2e.text(f["worker/step_rule"][0]) == rule, f["worker/step_rule"][()])
            calls = {e2e.text(f["op/name"][()][r]): int(c) for r, c in zip(f["op/row_op"][()], f["op/calls"][()])}
            check(blocks <= calls.get("no_grad", 0) <= 2 * steps, f"{rule}: {calls}")


def infers_alone(place, full):
    """Neither batches nor an optimizer: the process records, and the keeper finds what repeats."""
    _, session = both(place, "infers_alone", INFERS_ALONE, OPTIMIZER=False)
    with e2e.h5(session) as f:
        check(any(name.startswith("aten::") for name in ops(f)), f"no operators in {sorted(ops(f))}")


def serves(place, full):
    """A server that waits between requests: a window of time has its requests, and how many there are in a second."""
    _, session = both(place, "serves", SERVES, OPTIMIZER=False)
    text = e2e.read(session, "summary.txt")
    with e2e.h5(session) as f:
        check(e2e.text(f["worker/step_rule"][()][0]) == "range: handle", text)
        check(80 < len(f["step/number"][()]) <= 100 and set(f["step/kind"][()]) == {b"request"}, f["step/kind"][()])
    check("waiting for requests." in text and "per second" in text, text)


def convolves(place, full):
    """oneDNN makes its primitives and executes them by one name: two operators. Each step executes one forward and one for the weights."""
    _, session = both(place, "convolves", CONVOLVES)
    with e2e.h5(session) as f:
        calls = {e2e.text(n): int(c) for n, c in zip(f["op/name"][()], f["op/calls"][()])}
    found = {name: n for name, n in calls.items() if name.startswith("convolution")}
    check(not found or found == {"convolution": 24, "convolution (create)": 24}, found)


def memory(place, full):
    """What torch's allocator of devices held at the end of each step, and when there was not enough; a stand-in for the devices."""
    _, session = both(place, "memory", OWN_DEVICES)
    with e2e.h5(session) as f:
        t = {name: f["torch_memory/" + name][()].tolist() for name in f["torch_memory"]}
        warnings = [e2e.text(w) for w in f["quality/warning"][()]]
    rows = {(d, s): i for i, (d, s) in enumerate(zip(t["device"], t["step"]))}
    first = [i for (d, _), i in sorted(rows.items()) if d == 0]
    check(len(first) >= 10 and set(t["worker"]) == {0}, rows)
    for (device, step_), i in rows.items():
        steps = step_ + 1  # of the program, when step_ had ended
        used = (100 if device == 0 else 7) * (50 if steps == 6 else steps)
        check(t["allocated_bytes"][i] == used and t["active_bytes"][i] == used + 1 and t["reserved_bytes"][i] == 8192, (device, step_, t))
        if device == 0 and (0, step_ - 1) in rows:
            check(t["retries"][i] == (steps % 4 == 0) and t["out_of_memory"][i] == (steps % 5 == 0), (step_, t))
            check(t["peak_rose"][i] == (steps <= 6), (step_, t["peak_rose"]))
    check(any("cuda:0 is out of memory: PyTorch asked for 1024.0 MiB more" in w for w in warnings), warnings)


def iterators(place, full):
    """A loader's iterator may be any object. What makes process groups is one function, by whatever name it is called."""
    got, _ = both(place, "iterators", OWN_ITERATOR)
    check("failed" not in got.err, got.err)


def compiles(place, full):
    """torch.compile makes the same graphs of the same frames, and looks into no frame of the adapter."""
    if full:
        both(place, "compiles_loop", COMPILES_LOOP)
    _, session = both(place, "compiles", COMPILES)
    e2e.check_dataset(session, workers=1, steps=range(12))
    with e2e.h5(session) as f:
        check(ops(f).get("torch.compile") == "Compilation", f"no compilation in {sorted(ops(f))}")
        regions = {name: category for name, category in ops(f).items() if name.startswith("Torch-Compiled Region: ")}
        check(regions and set(regions.values()) == {"Host compute"}, f"calls of what was compiled: {regions} of {sorted(ops(f))}")


CASES = {"loop": loop, "levels": levels, "busy": busy, "workers": workers, "profilers": profilers, "ends": ends, "infers": infers, "by_hand": by_hand,
         "requests": requests, "infers_alone": infers_alone, "serves": serves, "convolves": convolves, "iterators": iterators, "memory": memory,
         "compiles": compiles}


def main():
    if not jobs.has_module(PYTHON, "torch"):
        print("skipped: no Python with torch: scripts/install-deps makes one in .venv")
        return jobs.SKIP
    return jobs.main(CASES, __doc__)


if __name__ == "__main__":
    sys.exit(main())

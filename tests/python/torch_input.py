#!/usr/bin/python3
"""Where a PyTorch program gets its data from, and what only looks like it: what the step waits for is Input if who makes the data reads
some, and never otherwise. All kinds run in one job, each in a window of its own. Run by ctest python_torch_input; skipped without a
Python with torch."""
import os
import sys

from pythons import check, jobs, write

import e2e  # noqa: E402

PYTHON = os.environ.get("PODPROF_TORCH_PYTHON")
SLEEP_MS = 5
STEPS, FIRST, LAST = 16, 4, 14  # of each kind, and its window
LEAST = 4  # some are there without a wait
LIMIT = 240.0
HEAD = """
import concurrent.futures, multiprocessing, os, queue, sys, threading, time
import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
place, steps = sys.argv[1], %d
numpy.arange(64 * steps, dtype=numpy.float32).tofile(place)
model = nn.Linear(64, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.01)


class Slow(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        pause()
        return torch.ones(64)


def pause():
    time.sleep(%r)


def train(x):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()


def items():
    with open(place, "rb", buffering=0) as f:
        while True:
            data = f.read(256)
            if not data:
                return
            pause()
            yield numpy.frombuffer(data, numpy.float32).copy()


def thread(run, *args):
    threading.Thread(target=run, args=args, daemon=True).start()


def fill(q):
    for x in items():
        q.put(x)


KINDS


for kind in (NAMES):
    kind()
os._exit(0)
""" % (STEPS, SLEEP_MS / 1e3)
# Of each kind: the range that has the waits, and the program.
INPUT = {
    "thread over a loader": ("queue.Queue.get", """
    q = queue.Queue(2)
    def run():
        for x in DataLoader(Slow(), 1):
            q.put(x)
    thread(run)
    for i in range(steps):
        train(q.get())
"""),
    "thread over files": ("queue.Queue.get", """
    q = queue.Queue(2)
    thread(fill, q)
    for i in range(steps):
        train(torch.from_numpy(q.get(timeout=60)))
"""),
    "two threads in a row": ("queue.Queue.get", """
    raw, made = queue.Queue(1), queue.Queue(1)
    def make():
        while True:
            made.put(torch.from_numpy(raw.get()))
    thread(fill, raw)
    thread(make)
    for i in range(steps):
        train(made.get())
"""),
    "process": ("multiprocessing.queues.Queue.get", """
    q = multiprocessing.get_context("fork").Queue(2)
    process = multiprocessing.get_context("fork").Process(target=fill, args=(q,), daemon=True)
    process.start()
    for i in range(steps):
        train(torch.from_numpy(q.get()))
    process.kill()
"""),
    "pool over a mapped file": ("concurrent.futures._base.Future.result", """
    data = numpy.memmap(place, numpy.float32)
    def item(i):
        pause()
        return torch.from_numpy(data[i * 64 : i * 64 + 64].copy())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for i in range(steps):
            train(pool.submit(item, i).result())
"""),
}
# Made by the training thread: the function or iterator.
CALLS = {
    "generator": ("items", """
    for x in items():
        train(torch.from_numpy(x))
"""),
    "iterator in enumerate and next": ("kind.<locals>.Shards.__next__", """
    class Shards:
        def __init__(self):
            self.rest = items()
        def __iter__(self):
            return self
        def __next__(self):
            return {"x": [next(self.rest)]}
    for i, x in enumerate(Shards()):
        train(torch.from_numpy(x["x"][0]))
"""),
    "get_batch of a mapped file": ("kind.<locals>.get_batch", """
    data = numpy.memmap(place, numpy.float32)
    def get_batch(i):
        pause()
        return torch.from_numpy(data[i * 64 : i * 64 + 64].copy()), None
    for i in range(steps):
        for micro in range(2):
            x, y = get_batch(i)
            model(x.view(1, 64).float()).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""),
    "made up": ("kind.<locals>.make", """
    def make():
        pause()
        return torch.rand(8, 64)
    for i in range(steps):
        x = make()
        train(x[:4])
"""),
    "generator around a loader": ("kind.<locals>.prepare", """
    def prepare(loader):
        for x in loader:
            pause()
            yield x + 1
    class Quick(Slow):
        def __len__(self):
            return steps
        def __getitem__(self, i):
            return torch.ones(64)
    for x in prepare(DataLoader(Quick(), 1)):
        train(x)
"""),
}
# What took most of the time.
LARGE = """
    large = place + ".large"
    with open(large, "wb") as f:
        f.write(bytes(1 << 24))
    def read():
        with open(large, "rb", buffering=0) as f:
            return torch.from_numpy(numpy.frombuffer(f.read(), numpy.float32)[:64].copy())
    def compute():
        data = numpy.fromfile(place, numpy.float32, 64)
        for i in range(30000):
            data[i % 64] += i
        return torch.from_numpy(data)
"""
WHAT = {
    "reading": ("read: kind.<locals>.read", LARGE + """
    for i in range(steps):
        train(read())
"""),
    "computing": ("preprocess: kind.<locals>.compute", LARGE + """
    for i in range(steps):
        train(compute())
"""),
    "a thread that reads": ("prefetched data (read): queue.Queue.get", LARGE + """
    q = queue.Queue(1)
    def run():
        while True:
            q.put(read())
    thread(run)
    for i in range(steps):
        train(q.get())
"""),
}
OTHERS = {
    "log": ("queue.Queue.put", """
    q = queue.Queue(1)
    def run():
        while True:
            print(q.get(), file=sys.stderr, flush=True)
            pause()
    thread(run)
    for i in range(steps):
        train(torch.ones(64))
        q.put(i)
"""),
    "checkpoint": ("threading.Event.wait", """
    done, go = threading.Event(), queue.Queue()
    def run():
        while True:
            go.get()
            pause()
            torch.save(model.state_dict(), place + ".pt")
            done.set()
    thread(run)
    for i in range(steps):
        train(torch.from_numpy(numpy.fromfile(place, numpy.float32, 64, offset=i)))  # its own reads are not the other thread's
        done.clear()
        go.put(1)
        done.wait()
"""),
    "actors": ("queue.Queue.get", """
    q = queue.Queue(2)
    torch.save(model.state_dict(), place + ".pt")
    def act():
        policy = nn.Linear(64, 64)
        torch.load(place + ".pt")
        with torch.no_grad():
            while True:
                pause()
                q.put(policy(torch.ones(64)))
    thread(act)
    for i in range(steps):
        train(q.get())
"""),
    "sleep": (None, """
    for i in range(steps):
        train(torch.ones(64))
        pause()
"""),
    "what the model does not get": (None, """
    def watch():
        pause()
        return torch.rand(3)
    def validate():
        with torch.no_grad():
            out = model(torch.ones(64))
        pause()
        return out
    def report():
        pause()
        return {"loss": 1.0}
    for i in range(steps):
        watch()
        report()
        validate()
        train(torch.ones(64))
"""),
}


def record(place, kinds):
    """Of each kind: its input ranges and how often they come, and the names of all ranges."""
    logs = place.new_logs()
    names = ["kind%d" % i for i in range(len(kinds))]
    text = "".join("def kind():\n%s\n%s = kind\n" % (body, name) for name, body in zip(names, kinds))
    program = write(place, "job.py", HEAD.replace("KINDS", text).replace("NAMES", ", ".join(names) + ","))
    windows = ["%d:%d" % (i * STEPS + FIRST, i * STEPS + LAST) for i in range(len(kinds))]
    command = [PYTHON, program, os.path.join(place.scratch, "data")]
    got = jobs.run(place.under(logs, command, "--io", "yes", "--steps", ",".join(windows)), limit=LIMIT)
    check(got.code == 0, got.transcript())
    jobs.wait_until(lambda: len(jobs.sessions(logs)) == len(kinds), 60)
    found = {}
    for session in jobs.sessions(logs):
        with e2e.h5(session) as f:
            names, category = [e2e.text(n) for n in f["op/name"][()]], [e2e.text(c) for c in f["op/category"][()]]
            calls = {int(op): int(calls) for op, calls in zip(f["op/row_op"][()], f["op/calls"][()])}
            inputs = {name: calls.get(i, 0) for i, name in enumerate(names) if category[i] == "Input"}
            found[int(f["step/number"][0])] = inputs, names
    check(len(found) == len(kinds), f"{len(kinds)} sessions expected: {sorted(found)}")
    return [found[at] for at in sorted(found)]


def are_input(place, table):
    for (kind, (name, _)), (inputs, names) in zip(table.items(), record(place, [body for _, body in table.values()])):
        check(sum(n for found, n in inputs.items() if found.endswith(": " + name)) >= LEAST, f"{kind}: {inputs}, of {names}")


def inputs(place, full):
    """Made by another thread or process, which reads."""
    are_input(place, INPUT)


def calls(place, full):
    """Made by the training thread itself."""
    are_input(place, CALLS)


def what(place, full):
    """Reading and computing are told apart, on the training thread and on another, where most of the time is one of them."""
    found = record(place, [body for _, body in WHAT.values()])
    for (kind, (name, _)), (inputs, names) in zip(WHAT.items(), found):
        check(inputs.get(name, 0) >= LEAST, f"{kind}: {inputs}, of {names}")


def others(place, full):
    """What reads no data, or none for the model, is unknown: not Input."""
    for (kind, (name, _)), (inputs, names) in zip(OTHERS.items(), record(place, [body for _, body in OTHERS.values()])):
        check(not inputs, f"{kind}: {inputs}")
        check(name is None or "podprof: blocked in " + name in names, f"{kind}: {names}")


WATCHED = """
import ctypes, multiprocessing.connection, multiprocessing.queues, numpy, queue, sys, threading, torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
profiles = 0
for i in range(12):
    profiles += sys.getprofile() is not None
    model(torch.ones(8)).sum().backward()
    optimizer.step()
owners = ((threading.Condition, "wait"), (threading.Condition, "notify"), (queue.Queue, "get"), (multiprocessing.queues.Queue, "get"),
          (multiprocessing.connection.Connection, "recv"), (numpy.memmap, "__getitem__"))
wrapped = sum(hasattr(getattr(owner, name), "__wrapped__") for owner, name in owners)
address = lambda f: ctypes.cast(f, ctypes.c_void_p).value
other = sum(address(getattr(ctypes.CDLL(None), name)) != address(getattr(ctypes.CDLL("libc.so.6"), name)) for name in ("read", "close", "fread"))
loaded = sum(name.endswith(("._data_sources", "._input_calls", "._input_waits")) for name in sys.modules)
print(profiles, wrapped, other, loaded)
"""


def watched(place, words):
    """What is watched in a program with a window: turns of the loop, methods, functions of libc, modules of ours."""
    logs = place.new_logs()
    got = jobs.run(place.under(logs, [PYTHON, write(place, "watched.py", WATCHED)], "--steps", "4:8", *words), limit=LIMIT)
    check(got.code == 0, got.transcript())
    jobs.wait_until(lambda: len(jobs.sessions(logs)) == 1, 60)
    return [int(word) for word in got.out.split()]


def unasked(place, full):
    """Without --io yes nothing is wrapped, in windows neither."""
    check(watched(place, ()) == [0, 0, 0, 0], "something is watched without --io")
    profiles, wrapped, other, loaded = watched(place, ("--io", "yes"))
    check(wrapped == 5 and other == 3 and loaded == 3, f"not all is watched: {wrapped}, {other}, {loaded}")


CASES = {"unasked": unasked, "inputs": inputs, "calls": calls, "what": what, "others": others}


def main():
    if not jobs.has_module(PYTHON, "torch"):
        print("skipped: no Python with torch: scripts/install-deps makes one in .venv")
        return jobs.SKIP
    return jobs.main(CASES, __doc__)


if __name__ == "__main__":
    sys.exit(main())

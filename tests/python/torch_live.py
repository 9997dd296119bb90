#!/usr/bin/python3
"""Process groups of gloo in every capture: ranks that wait are told apart by calls that are recorded when they are made. Run by ctest
python_torch_live; skipped without a Python with torch."""
import collections
import os
import sys
import time

from pythons import check, jobs, write

import e2e  # noqa: E402

PYTHON = os.environ.get("PODPROF_TORCH_PYTHON", "")
HEAD = """
import os, signal, sys, time
import torch
import torch.distributed as dist
from torch import nn

rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=size)
"""
# Rank 1's input is late.
SLOW_INPUT = HEAD + """
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return int(sys.argv[2])

    def __getitem__(self, i):
        time.sleep((2 if i == 30 and sys.argv[3] == "once" else 0.25) if rank == 1 else 0.01)
        return torch.ones(8)


model = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for i, x in enumerate(DataLoader(Slow(), 1)):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
    if sys.argv[3] == "kill" and i == 30 and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "leave":
    os._exit(0)
dist.barrier()
time.sleep(0.3)  # gloo's threads end: docs/frameworks.md
"""
# Groups that overlap, messages in both directions with tags, nested calls, an exception inside of a method, a group made again.
ZOO = HEAD + """
import podprof
whole = dist.group.WORLD
odd = dist.new_group([0, 1], group_desc="odd")
for i in podprof.steps(range(3)):
    dist.all_reduce(torch.ones(1000))
    dist.all_reduce(torch.ones(10, dtype=torch.float64), group=odd)
    works = [dist.all_reduce(torch.ones(4), async_op=True) for _ in range(5)]
    for work in works:
        work.wait()
    out = torch.empty(3)
    dist.reduce_scatter_tensor(out, torch.ones(3 * size))  # calls allreduce of its own class
    if rank == 0:
        for tag in (5, 6, 5):
            dist.send(torch.ones(50), 1, tag=tag)
    else:
        for tag in (5, 6, 5):
            dist.recv(torch.empty(50), 0, tag=tag)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(7), 1 - rank), dist.P2POp(dist.irecv, torch.empty(7), 1 - rank)]):
        work.wait()
    dist.broadcast(torch.ones(9), 1)
    try:
        whole._get_backend(torch.device("cpu")).allreduce([torch.ones(2, device="meta")])
        print("no error")
    except Exception:
        pass
again = dist.new_group([0, 1], group_desc="again")
dist.all_reduce(torch.ones(2), group=again)
dist.destroy_process_group(again)
again = dist.new_group([0, 1], group_desc="again")
dist.all_reduce(torch.ones(2), group=again)
dist.barrier()
time.sleep(0.3)
"""
# One forward, one backward; stage 1 computes longer.
PIPELINE = HEAD + """
import podprof

def get(source):
    x = torch.empty(16)
    dist.irecv(x, source).wait()
    return x

sent = []
for step in podprof.steps(range(8)):
    for phase in range(4):
        x = get(rank - 1) if rank else torch.ones(16)
        time.sleep(0.05 if rank == 1 else 0.005)
        if rank < size - 1:
            sent.append((dist.isend(x, rank + 1), x))
    for phase in range(4):
        x = get(rank + 1) if rank < size - 1 else torch.ones(16)
        time.sleep(0.05 if rank == 1 else 0.005)
        if rank:
            sent.append((dist.isend(x, rank - 1), x))
    for work, x in sent:
        work.wait()
    sent.clear()
dist.barrier()
time.sleep(0.3)
"""


def job(place, text, ranks, options, *words):
    """The result and the log directory."""
    logs = place.new_logs()
    program = [PYTHON, write(place, "live.py", text), os.path.join(place.scratch, "store%d" % place.count), *words]
    return jobs.run(place.mpirun(ranks, place.under(logs, program, *options))), logs


def first_line(session):
    text = e2e.read(session, "summary.txt")
    return next((one for one in text.splitlines() if one.strip().startswith("Bottleneck:")), text)


def forms(place, full):
    """Each capture names the rank whose input is late, and its input."""
    table = {"kill": ([], "40", "kill"), "time": (["--duration", "9s"], "50", "ends"), "leave": ([], "14", "leave"),
             "steps": (["--steps", "4:14"], "18", "ends"), "every": (["--steps", "4:10", "--every", "12"], "24", "ends"),
             "at": (["--at", "SOON", "--duration", "5s"], "120", "ends"), "keep": (["--keep", "20s"], "30", "ends"),
             "trigger": (["--trigger", "step-over=3x"], "36", "once"), "all": ([], "14", "ends")}
    for name in table if full else ("kill", "time"):
        options, items, how = table[name]
        options = [word.replace("SOON", f"@{int(time.time()) + 10}") for word in options]
        got, logs = job(place, SLOW_INPUT, 2, options, items, how)
        check(got.code == 0 or how != "ends", got.transcript())
        for session in jobs.sessions(logs) if name == "every" else [jobs.session_of(logs)]:
            line = first_line(session)
            check("rank 1, Input" in line and "MPI" not in line, f"{name}: {line!r}")
            check(name != "trigger" or "once, in step 30: rank 1, Input" in e2e.read(session, "summary.txt"), e2e.read(session, "summary.txt"))


def operations(f):
    """Name of the group -> its collectives as (name, sequence, bytes, ranks, root)."""
    c = {name: f["collective/" + name][()] for name in ("communicator", "operation", "sequence", "bytes", "ranks", "root", "message")}
    group = {int(i): e2e.text(n) for i, n in zip(f["communicator/id"][()], f["communicator/name"][()])}
    found = collections.defaultdict(list)
    for i in range(len(c["sequence"])):
        if not c["message"][i]:
            found[group[int(c["communicator"][i])]].append((e2e.text(c["operation"][i]), *(int(c[k][i]) for k in ("sequence", "bytes", "ranks", "root"))))
    return found


def zoo(place, full):
    """Groups, sequence numbers, bytes, messages; what is nested or fails is no operation of its own."""
    got, logs = job(place, ZOO, 2, [])
    check(got.code == 0 and "no error" not in got.out, got.transcript())
    with e2e.h5(jobs.session_of(logs)) as f:
        found = operations(f)
        c = {name: f["collective/" + name][()] for name in ("message", "source", "destination", "tag", "bytes", "sequence", "wait_ns")}
        warnings = [e2e.text(w) for w in f["quality/warning"][()]]
    check(not any("podprof does not know" in w or "torch.distributed calls" in w for w in warnings), warnings)
    odd = found["odd"]
    check([(n, s, b, r) for n, s, b, r, _ in odd] == [("c10d::allreduce_", i, 80, 2) for i in range(3)], odd)
    check([(n, s, b) for n, s, b, *_ in found["again"]] == [("c10d::allreduce_", 0, 8)] * 2, found)
    whole = [one for one in found["default_pg"] if one[0] != "c10d::barrier"]
    turn = [("c10d::allreduce_", 4000, -1)] + [("c10d::allreduce_", 16, -1)] * 5 + [("c10d::_reduce_scatter_base_", 24, -1), ("c10d::broadcast_", 36, 1)]
    check([(n, b, root) for n, _, b, _, root in whole] == turn * 3, whole)
    check(all(ranks == 2 for *_, ranks, _ in whole), whole)
    sent = sorted((int(c["source"][i]), int(c["tag"][i]), int(c["bytes"][i])) for i in range(len(c["tag"])) if c["message"][i])
    check(sent == sorted([(0, 5, 200), (0, 6, 200), (0, 5, 200), (0, 0, 28), (1, 0, 28)] * 3), sent)


def pipeline(place, full):
    """The slow stage of a pipeline is the one that the others wait for."""
    got, logs = job(place, PIPELINE, 3, [])
    check(got.code == 0, got.transcript())
    line = first_line(jobs.session_of(logs))
    check("rank 1" in line and "rank 0" not in line and "rank 2" not in line, line)


CASES = {"forms": forms, "zoo": zoo, "pipeline": pipeline}


def main():
    if not jobs.has_module(PYTHON, "torch"):
        print("skipped: no Python with torch: scripts/install-deps makes one in .venv")
        return jobs.SKIP
    return jobs.main(CASES, __doc__)


if __name__ == "__main__":
    sys.exit(main())

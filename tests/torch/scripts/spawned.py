"""A script that starts its ranks itself, as tutorials and Lightning do. spawned.py HOW [DIRECTORY]; HOW: spawn, fork, forkserver, scripts, part, first, late."""
import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

STEPS, RANKS = 12, 2


def train(rank, where):
    torch.set_num_threads(1)
    if sys.argv[1] == "late":
        mark()
    dist.init_process_group("gloo", init_method="file://" + where, rank=rank, world_size=RANKS)
    torch.manual_seed(rank)
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for (x,) in DataLoader(TensorDataset(torch.randn(STEPS * 4, 8)), 4, num_workers=1, multiprocessing_context="fork"):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    dist.all_reduce(loss.detach())
    if rank == 0:
        print("trained", flush=True)
    dist.destroy_process_group()


def mark():
    import podprof

    with podprof.range("before"):
        pass


def look():
    """What a script may do before it starts its ranks: it is none of them."""
    mark()
    for (x,) in DataLoader(TensorDataset(torch.randn(40, 8)), 4):
        x.mean()


def main():
    how = sys.argv[1]
    if how in ("scripts", "part"):  # as Lightning's launcher: the first process is rank 0
        rank = int(os.environ.get("LOCAL_RANK", "0"))
        where = sys.argv[2] if len(sys.argv) > 2 else tempfile.mktemp()
        child = None
        if rank == 0:
            env = {**os.environ, "LOCAL_RANK": "1", "WORLD_SIZE": str(RANKS), "NODE_RANK": "0"}
            if how == "part":  # podprof does not get there
                for name in ("PODPROF_SPOOL", "LD_PRELOAD", "PYTHONPATH", "INTEL_LIBITTNOTIFY64"):
                    env.pop(name, None)
            child = subprocess.Popen([sys.executable, *sys.argv, where], env=env)
        train(rank, where)
        return child.wait() if child else 0
    if how == "first":
        look()
    where = tempfile.mktemp()
    if how in ("fork", "first"):
        children = [mp.get_context("fork").Process(target=train, args=(rank, where)) for rank in range(RANKS)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        return max(child.exitcode for child in children)
    mp.start_processes(train, args=(where,), nprocs=RANKS, start_method="forkserver" if how == "forkserver" else "spawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A rank of torchrun with helpers that have its variables: one that joins a process group of all ranks' helpers (as asynchronous
checkpoints do), one with a group of its own. helpers.py [alone]"""
import os
import subprocess
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(steps):
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()


def helper(where, rank, size):
    dist.init_process_group("gloo", init_method="file://" + where, rank=rank, world_size=size)
    train(7)
    dist.destroy_process_group()


def main():
    dist.init_process_group("gloo")
    where = os.environ["HELPERS_STORE"]
    child = mp.get_context("spawn").Process(target=helper, args=(where, dist.get_rank(), dist.get_world_size()))
    child.start()
    alone = subprocess.Popen([sys.executable, __file__, "alone"])
    train(12)
    child.join()
    code = child.exitcode or alone.wait()
    dist.barrier()
    dist.destroy_process_group()
    return code


if __name__ == "__main__":
    sys.exit(helper(os.environ["HELPERS_STORE"] + "-" + os.environ["RANK"], 0, 1) if sys.argv[1:] else main())

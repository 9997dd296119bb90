#!/usr/bin/python3
"""Data-parallel linear regression with numpy and mpi4py; knows nothing of podprof. The loss falls or the exit code is 1.

One command: mpirun -n 4 podprof run -o logs -- /usr/bin/python3 mpi4py_train.py [--steps N] [--slow-rank R --slow-us N]
With --normalise each step has two collectives, which podprof run --steps A:B --step-rule collectives recognises as a step.
"""
import argparse
import sys
import time

import numpy as np
from mpi4py import MPI

FEATURES = 16
BATCH = 64


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-us", type=int, default=0)
    parser.add_argument("--normalise", action="store_true", help="normalise each batch by its mean and variance over all ranks")
    options = parser.parse_args()

    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()
    truth = np.linspace(-1.0, 1.0, FEATURES)
    data = np.random.default_rng(1000 + rank)
    weight = np.zeros(FEATURES)
    world.Bcast(weight, root=0)

    losses = []
    for step in range(options.steps):
        x = data.standard_normal((BATCH, FEATURES))
        if options.normalise:
            sums = np.concatenate([x.sum(axis=0), (x * x).sum(axis=0)])
            all_sums = np.empty_like(sums)
            world.Allreduce(sums, all_sums, op=MPI.SUM)
            mean, square = np.split(all_sums / (BATCH * ranks), 2)
            x = (x - mean) / np.sqrt(square - mean**2)
        y = x @ truth + 0.01 * data.standard_normal(BATCH)
        error = x @ weight - y
        gradient = 2.0 * x.T @ error / BATCH
        if rank == options.slow_rank:
            time.sleep(options.slow_us * 1e-6)
        total = np.empty_like(gradient)
        world.Allreduce(gradient, total, op=MPI.SUM)
        weight -= 0.05 * total / ranks
        losses.append(world.allreduce(float(np.mean(error**2))) / ranks)

    if rank == 0:
        print(f"{ranks} ranks, {options.steps} steps: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    return int(len(losses) >= 20 and not losses[-1] < losses[0])


if __name__ == "__main__":
    sys.exit(main())

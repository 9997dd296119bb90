#!/usr/bin/python3
"""One rank with helpers around it, as training scripts have them: claim_job.py MODE, run by claim.py under mpirun.
Modes: both (multiprocessing workers of all three kinds before and after MPI_Init), helper (a python that never trains)."""
import multiprocessing
import os
import subprocess
import sys


def work(n):
    return n * n


def pools():
    total = 0
    for kind in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(kind)
        with context.Pool(2) as pool:
            total += sum(pool.map(work, range(8)))
    return total


def train():
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    total = 0
    for step in range(20):
        total = world.allreduce(step + world.rank)
    return world, total


def main():
    mode = sys.argv[1]
    counted = pools() if mode == "both" else 0
    if mode == "helper":
        subprocess.run([sys.executable, "-c", "import json, os; print(end='')"], check=True)
    world, total = train()
    if mode == "both":
        counted += pools()
    with open(os.path.join(os.environ["CLAIM_PIDS"], str(world.rank)), "w") as f:
        f.write(str(os.getpid()))
    os.write(1, f"rank {world.rank} of {world.size}: {counted} {total}\n".encode())  # whole: ranks share one pipe


if __name__ == "__main__":
    main()

"""A small classifier, trained by JAX on the devices of all processes; knows nothing of podprof. The loss falls or the exit code is 1.

One command: mpirun -n 2 podprof run -o logs -- python3 train.py [--slow-rank R --slow-compute-ms X] [--slow-input-rank R --slow-input-ms X]
Also by srun, or alone. On CPUs the processes exchange their gradients by gloo.
"""
import argparse
import os
import sys
import time

import jax
import numpy as np

CLASSES = 10
SIDE = 16


def number(*names, default):
    """The first of the launcher's variables that is set."""
    return next((int(os.environ[n]) for n in names if n in os.environ), default)


def batches(options, rank, size):
    """This process's part of each batch: noisy pictures of ten patterns. Every number of processes sees the same batches."""
    pattern = np.random.default_rng(7).standard_normal((CLASSES, SIDE * SIDE), np.float32)
    part = options.batch // size
    for step in range(options.steps):
        if rank == options.slow_input_rank:
            time.sleep(options.slow_input_ms / 1000)
        noise = np.random.default_rng((3, step)).standard_normal((options.batch, SIDE * SIDE), np.float32)
        label = np.arange(options.batch) % CLASSES
        own = slice(rank * part, (rank + 1) * part)
        yield (pattern[label] + noise)[own], label[own]


def more_work(ms):
    """Work of one slow rank; its result is not used."""
    end = time.perf_counter() + ms / 1000
    a = np.ones((192, 192), np.float32)
    while time.perf_counter() < end:
        np.dot(a, a)


def new_model():
    rng = np.random.default_rng(0)
    sizes = [SIDE * SIDE, 128, 64, CLASSES]
    return [(rng.standard_normal((a, b), np.float32) / np.float32(a) ** 0.5, np.zeros(b, np.float32)) for a, b in zip(sizes, sizes[1:])]


def loss_of(model, x, label):
    for w, b in model[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = model[-1]
    return -jax.numpy.mean(jax.nn.log_softmax(x @ w + b)[jax.numpy.arange(len(label)), label])


@jax.jit
def train_step(model, x, label):
    loss, gradient = jax.value_and_grad(loss_of)(model, x, label)
    return jax.tree.map(lambda p, g: p - 0.1 * g, model, gradient), loss


def train(options):
    rank, size = jax.process_index(), jax.process_count()
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    parts = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    model = jax.device_put(new_model(), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()))
    losses = []
    for x, label in batches(options, rank, size):
        if rank == options.slow_rank:
            more_work(options.slow_compute_ms)
        x, label = (jax.make_array_from_process_local_data(parts, a) for a in (x, label))
        model, loss = train_step(model, x, label)
        losses.append(float(loss))
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=64, help="samples of a step, of all processes")
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-compute-ms", type=float, default=0, help="more work of that rank in each step")
    parser.add_argument("--slow-input-rank", type=int, default=-1)
    parser.add_argument("--slow-input-ms", type=float, default=0, help="time that a batch of that rank takes longer to make")
    parser.add_argument("--losses", help="each rank writes FILE.RANK: one loss a line, every bit of it")
    options = parser.parse_args()

    rank = number("OMPI_COMM_WORLD_RANK", "SLURM_PROCID", default=0)
    size = number("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", default=1)
    if size > 1:  # JAX asks the launcher for the coordinator, unless JAX_COORDINATOR_ADDRESS has it
        jax.distributed.initialize(num_processes=size, process_id=rank)
    losses = train(options)
    if options.losses:
        with open(f"{options.losses}.{jax.process_index()}", "w", encoding="ascii") as f:
            f.writelines(loss.hex() + "\n" for loss in losses)
    if jax.process_index() == 0:
        print(f"{jax.process_count()} ranks, {len(losses)} steps: loss {losses[0]:.4f} -> {losses[-1]:.4f}", flush=True)
    return int(len(losses) >= 20 and not losses[-1] < losses[0])


if __name__ == "__main__":
    sys.exit(main())

"""A small classifier, trained by TensorFlow's MultiWorkerMirroredStrategy; knows nothing of podprof. The loss falls or the exit code is 1.

One command: mpirun -n 2 podprof run -o logs -- python3 train.py [--slow-rank R --slow-compute-ms X] [--slow-input-rank R --slow-input-ms X]
With TF_CONFIG, as TensorFlow's other launchers set it, or alone. On CPUs the workers exchange their gradients by gRPC.
"""
import argparse
import json
import os
import socket
import sys
import tempfile
import time

import numpy as np
import tensorflow as tf

CLASSES = 10
SIDE = 16


def number(*names, default):
    """The first of the launcher's variables that is set."""
    return next((int(os.environ[n]) for n in names if n in os.environ), default)


def meet(rank, size, directory):
    """TF_CONFIG of workers of one host that a launcher started: each leaves its address in the directory."""
    job = os.environ.get("PMIX_NAMESPACE") or f"{os.environ.get('SLURM_JOB_ID', '')}.{os.environ.get('SLURM_STEP_ID', '')}"
    path = os.path.join(directory, f"tf_multiworker-{os.getuid()}-{job}")
    with socket.socket() as s, open(f"{path}-{rank}.part", "w", encoding="ascii") as f:
        s.bind(("127.0.0.1", 0))
        f.write(f"127.0.0.1:{s.getsockname()[1]}")
    os.replace(f"{path}-{rank}.part", f"{path}-{rank}")
    workers, end = [], time.monotonic() + 120
    while len(workers) < size:
        try:
            with open(f"{path}-{len(workers)}", encoding="ascii") as f:
                workers.append(f.read())
        except FileNotFoundError:
            if time.monotonic() > end:
                raise RuntimeError(f"worker {len(workers)} left no {path}-{len(workers)}: set TF_CONFIG") from None
            time.sleep(0.02)
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})
    return f"{path}-{rank}"


def more_work(ms):
    """Work of one slow rank; its result is not used."""
    end = time.perf_counter() + ms / 1000
    a = np.ones((192, 192), np.float32)
    while time.perf_counter() < end:
        np.dot(a, a)


def train(options, rank, strategy):
    rng = np.random.default_rng(0)
    pattern = np.random.default_rng(7).standard_normal((CLASSES, SIDE * SIDE), np.float32)
    sizes = [SIDE * SIDE, 128, 64, CLASSES]
    part = options.batch // strategy.num_replicas_in_sync
    with strategy.scope():
        weights = [tf.Variable(rng.standard_normal((a, b), np.float32) / np.float32(a) ** 0.5) for a, b in zip(sizes, sizes[1:])]

    def replica(x, label):
        with tf.GradientTape() as tape:
            for w in weights[:-1]:
                x = tf.nn.relu(x @ w)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, x @ weights[-1]))
        gradients = tf.distribute.get_replica_context().all_reduce("mean", tape.gradient(loss, weights))
        for w, g in zip(weights, gradients):
            w.assign_sub(0.1 * g)
        return loss

    @tf.function
    def train_step(x, label):
        return strategy.reduce("mean", strategy.run(replica, args=(x, label)), axis=None)

    losses = []
    for step in range(options.steps):
        noise = np.random.default_rng((3, step)).standard_normal((options.batch, SIDE * SIDE), np.float32)
        label = np.arange(options.batch) % CLASSES
        own = slice(rank * part, (rank + 1) * part)
        if rank == options.slow_input_rank:
            time.sleep(options.slow_input_ms / 1000)
        if rank == options.slow_rank:
            more_work(options.slow_compute_ms)
        losses.append(float(train_step(tf.constant((pattern[label] + noise)[own]), tf.constant(label[own]))))
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=64, help="samples of a step, of all workers")
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-compute-ms", type=float, default=0, help="more work of that rank in each step")
    parser.add_argument("--slow-input-rank", type=int, default=-1)
    parser.add_argument("--slow-input-ms", type=float, default=0, help="time that a batch of that rank takes longer to make")
    parser.add_argument("--losses", help="each rank writes FILE.RANK: one loss a line, every bit of it")
    parser.add_argument("--meet", default=tempfile.gettempdir(), help="directory in which workers of one host leave their addresses")
    options = parser.parse_args()

    rank = number("OMPI_COMM_WORLD_RANK", "SLURM_PROCID", default=0)
    size = number("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", default=1)
    path = meet(rank, size, options.meet) if size > 1 and "TF_CONFIG" not in os.environ else None
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if "TF_CONFIG" in os.environ else tf.distribute.get_strategy()
    rank = strategy.cluster_resolver.task_id if "TF_CONFIG" in os.environ else 0
    losses = train(options, rank, strategy)
    if path:
        os.unlink(path)
    if options.losses:
        with open(f"{options.losses}.{rank}", "w", encoding="ascii") as f:
            f.writelines(loss.hex() + "\n" for loss in losses)
    if rank == 0:
        print(f"{strategy.num_replicas_in_sync} ranks, {len(losses)} steps: loss {losses[0]:.4f} -> {losses[-1]:.4f}", flush=True)
    return int(len(losses) >= 20 and not losses[-1] < losses[0])


if __name__ == "__main__":
    sys.exit(main())

"""A small image classifier, trained by DistributedDataParallel; knows nothing of podprof. The loss falls or the exit code is 1.

One command: mpirun -n 4 podprof run -o logs -- python3 train.py [--slow-rank R --slow-compute-ms X] [--slow-input-rank R --slow-input-ms X]
Also by srun, torchrun, or alone. NCCL where each rank has a GPU, else gloo.
"""
import argparse
import contextlib
import os
import socket
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

CLASSES = 10
SIDE = 16


def number(*names, default):
    """The first of the launcher's variables that is set."""
    return next((int(os.environ[n]) for n in names if n in os.environ), default)


class Patterns(Dataset):
    """Noisy pictures of ten patterns, made from the number of the sample: every run and every rank count sees the same ones."""

    def __init__(self, count, sleep_s):
        self.count, self.sleep_s = count, sleep_s
        self.pattern = torch.randn(CLASSES, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(7))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.sleep_s:
            time.sleep(self.sleep_s)  # a slow disk
        noise = torch.randn(1, SIDE, SIDE, generator=torch.Generator().manual_seed(i))
        return self.pattern[i % CLASSES] + noise, i % CLASSES


def new_model():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * (SIDE // 4) ** 2, 128), nn.ReLU(), nn.Linear(128, CLASSES))


def rendezvous(rank, size, directory):
    """A store at a port that the system chose, passed in a file: two jobs never use the same port."""
    job = os.environ.get("PMIX_NAMESPACE") or f"{os.environ.get('SLURM_JOB_ID', '')}.{os.environ.get('SLURM_STEP_ID', '')}"
    path = os.path.join(directory, f"pytorch_ddp-{os.getuid()}-{job}")
    if rank == 0:
        here = size == number("OMPI_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE", default=0)
        host = "127.0.0.1" if here else socket.gethostname()
        store = dist.TCPStore(host, 0, size, is_master=True, wait_for_workers=False)
        with open(path + ".part", "w", encoding="ascii") as f:
            f.write(f"{host} {store.port}")
        os.replace(path + ".part", path)
        return store, path
    end = time.monotonic() + 120
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise RuntimeError(f"rank 0 left no {path}: give --meet a directory that all hosts see, or set MASTER_ADDR and MASTER_PORT")
        time.sleep(0.02)
    with open(path, encoding="ascii") as f:
        host, port = f.read().split()
    return dist.TCPStore(host, int(port), size, is_master=False, wait_for_workers=False), None


def join(options, rank, size, backend):
    if "MASTER_PORT" in os.environ:  # torchrun, or the user
        dist.init_process_group(backend, rank=rank, world_size=size)
    elif size == 1:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    else:
        store, path = rendezvous(rank, size, options.meet)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size)
        dist.barrier()
        if path:
            os.unlink(path)


def more_work(ms, device):
    """Work of one slow rank; its result is not used."""
    end = time.perf_counter() + ms / 1000
    a = torch.ones(192, 192, device=device)
    while time.perf_counter() < end:
        torch.mm(a, a)


def save(model, optimizer, step, path):
    torch.save({"step": step, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, path + ".part")
    os.replace(path + ".part", path)


def train(options, rank, size, device):
    model = DistributedDataParallel(new_model().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    per_epoch = -(-options.steps // options.epochs)
    sleep_s = options.slow_input_ms / 1000 / options.batch if rank == options.slow_input_rank else 0
    data = Patterns(per_epoch * options.batch * size, sleep_s)
    sampler = DistributedSampler(data, num_replicas=size, rank=rank, seed=3)
    loader = DataLoader(data, options.batch, sampler=sampler, num_workers=options.workers, pin_memory=device.type == "cuda",
                        multiprocessing_context=options.context if options.workers else None)
    losses = []
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            step = len(losses) + 1
            is_update = step % options.accumulate == 0
            with contextlib.nullcontext() if is_update else model.no_sync():
                loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
                if rank == options.slow_rank:
                    more_work(options.slow_compute_ms, device)
                (loss / options.accumulate).backward()
            if is_update:
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
            if rank == 0 and options.checkpoint_every and step % options.checkpoint_every == 0:
                save(model, optimizer, step, options.checkpoint)
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60, help="batches a rank, rounded up to whole epochs")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32, help="samples a rank and step")
    parser.add_argument("--accumulate", type=int, default=1, help="batches for one step of the optimizer")
    parser.add_argument("--workers", type=int, default=1, help="processes that make batches")
    parser.add_argument("--context", default="fork", choices=["fork", "spawn", "forkserver"], help="how they are started")
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-compute-ms", type=float, default=0, help="more work of that rank in each step")
    parser.add_argument("--slow-input-rank", type=int, default=-1)
    parser.add_argument("--slow-input-ms", type=float, default=0, help="time that a batch of that rank takes longer to make")
    parser.add_argument("--checkpoint-every", type=int, default=0, help="steps")
    parser.add_argument("--checkpoint", default=os.path.join(tempfile.gettempdir(), f"pytorch_ddp-{os.getuid()}.pt"))
    parser.add_argument("--losses", help="each rank writes FILE.RANK: one loss a line, every bit of it")
    parser.add_argument("--meet", default=tempfile.gettempdir(), help="directory that all hosts see, where MASTER_PORT is not set")
    options = parser.parse_args()

    rank = number("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK", default=0)
    size = number("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE", default=1)
    local_rank = number("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "LOCAL_RANK", default=0)
    has_gpu = torch.cuda.device_count() > local_rank
    device = torch.device("cuda", local_rank) if has_gpu else torch.device("cpu")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if has_gpu:
        torch.cuda.set_device(device)
    join(options, rank, size, "nccl" if has_gpu else "gloo")
    losses = train(options, rank, size, device)
    mean = torch.tensor([losses[0], losses[-1]], device=device)
    dist.all_reduce(mean)
    first, last = (mean / size).tolist()
    if options.losses:
        with open(f"{options.losses}.{rank}", "w", encoding="ascii") as f:
            f.writelines(loss.hex() + "\n" for loss in losses)
    if rank == 0:
        print(f"{size} ranks, {len(losses)} steps: loss {first:.4f} -> {last:.4f}", flush=True)
    time.sleep(0.1)  # gloo's threads drop their last work, for which they need Python: where it ends before, torch aborts
    dist.destroy_process_group()
    return int(len(losses) >= 20 and not last < first)


if __name__ == "__main__":
    sys.exit(main())

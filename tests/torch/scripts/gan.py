"""A stranger's script: two networks and two optimizers, each with steps of its own in every iteration."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

STEPS, BATCH, NOISE = 20, 64, 8


class Ring(IterableDataset):
    """Points on a circle, without an end."""

    def __iter__(self):
        generator = torch.Generator().manual_seed(int(os.environ["RANK"]))
        while True:
            a = 6.2832 * torch.rand(1, generator=generator)
            yield torch.cat([a.cos(), a.sin()])


def main():
    torch.manual_seed(5)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    make = DistributedDataParallel(nn.Sequential(nn.Linear(NOISE, 128), nn.ReLU(), nn.Linear(128, 2)))
    judge = DistributedDataParallel(nn.Sequential(nn.Linear(2, 128), nn.LeakyReLU(), nn.Linear(128, 1)))
    make_optimizer = torch.optim.Adam(make.parameters(), 1e-3)
    judge_optimizer = torch.optim.Adam(judge.parameters(), 1e-3)
    cross = nn.functional.binary_cross_entropy_with_logits
    real_data = iter(DataLoader(Ring(), BATCH))
    for step in range(STEPS):
        real = next(real_data)
        for _ in range(2):
            judge_optimizer.zero_grad()
            fake = make(torch.randn(BATCH, NOISE)).detach()
            score = judge(torch.cat([real, fake]))
            judge_loss = cross(score, torch.cat([torch.ones(BATCH, 1), torch.zeros(BATCH, 1)]))
            judge_loss.backward()
            judge_optimizer.step()
        make_optimizer.zero_grad()
        make_loss = cross(judge(make(torch.randn(BATCH, NOISE))), torch.ones(BATCH, 1))
        make_loss.backward()
        make_optimizer.step()
        if dist.get_rank() == 0:
            time.sleep(0.03)  # rank 0 draws a picture
    if dist.get_rank() == 0:
        print(f"{STEPS} steps: {judge_loss.item():.4f} {make_loss.item():.4f}")
    time.sleep(0.3)  # gloo's threads drop their last work: where Python ends before, torch aborts
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())

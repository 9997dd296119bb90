"""DistributedDataParallel with gloo, as torchrun or mpirun start it."""
import os
import time

import torch
import torch.distributed as dist
from slow_data import BATCH, Samples, rank
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

torch.set_num_threads(1)
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("RANK", str(rank()))
os.environ.setdefault("WORLD_SIZE", os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1)))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
samples = Samples()
for x, y in DataLoader(samples, BATCH, sampler=DistributedSampler(samples)):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
dist.barrier()
time.sleep(0.3)  # gloo's threads end

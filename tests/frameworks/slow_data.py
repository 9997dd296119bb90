"""The data of the jobs of scripts/frameworks: rank 1 reads each of its samples from a slow disk."""
import os
import time

import torch
from torch.utils.data import Dataset

STEPS, BATCH, SLOW_S = 16, 4, 0.04


def rank():
    return int(os.environ.get("RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or 0)


class Samples(Dataset):
    """STEPS batches for each of two ranks."""

    def __len__(self):
        return 2 * STEPS * BATCH

    def __getitem__(self, i):
        if rank() == 1:
            time.sleep(SLOW_S)
        x = torch.rand(8, generator=torch.Generator().manual_seed(i))
        return x, x.sum().reshape(1)

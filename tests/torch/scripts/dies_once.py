"""Two ranks, of which rank 1 dies in its seventh step unless FILE is there: dies_once.py FILE. torchrun starts both again."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.set_num_threads(1)
    once, rank = sys.argv[1], int(os.environ["RANK"])
    # The store of torchrun outlives its ranks, and gloo finds there where those of the last round listened.
    store = dist.FileStore(f"{once}-{os.environ['TORCHELASTIC_RESTART_COUNT']}", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    model = DistributedDataParallel(torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loader = DataLoader(TensorDataset(torch.ones(96, 16), torch.ones(96, 1)), 8)
    for step, (x, y) in enumerate(loader):
        if rank == 1 and step == 6 and not os.path.exists(once):
            with open(once, "w", encoding="ascii"):
                os._exit(9)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    if rank == 0:
        print(f"round {os.environ['TORCHELASTIC_RESTART_COUNT']}: done", flush=True)
    time.sleep(0.3)  # gloo's threads drop their last work: where Python ends before, torch aborts (docs/frameworks.md)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""A small training job that ends as it is told to: small.py [END [WORKERS [CONTEXT]]]. END: plain, raise:RANK, exit3, hang, profiler:FILE,
helper, stall:RANK."""
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

STEPS = 12


class Numbers(Dataset):
    def __len__(self):
        return 8 * STEPS

    def __getitem__(self, i):
        return torch.full((16,), float(i % 7)), torch.full((1,), float(i % 3))


def train(end, workers, context):
    model = torch.nn.Linear(16, 1)
    if dist.is_initialized():
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) if end.startswith("profiler:") else None
    for step, (x, y) in enumerate(DataLoader(Numbers(), 8, num_workers=workers, multiprocessing_context=context)):
        if profile and step == 4:
            profile.start()
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        if step == 8 and end == f"stall:{os.environ.get('OMPI_COMM_WORLD_RANK')}":
            time.sleep(600)
        loss.backward()
        optimizer.step()
        if profile and step == 7:
            profile.stop()
            profile.export_chrome_trace(end.split(":", 1)[1])
        if step == 8:
            if end == f"raise:{os.environ.get('OMPI_COMM_WORLD_RANK', '0')}":
                raise ValueError("asked for")
            if end == "exit3":
                sys.stdout.flush()
                os._exit(3)
            if end == "hang":
                print("hangs", flush=True)
                while True:
                    time.sleep(0.1)
            if end == "helper":
                print(subprocess.run([sys.executable, "-c", "import sys; print(len(sys.argv))"], capture_output=True, check=True).stdout.decode(), end="")
    return loss.item()


def main():
    end, workers, context = (sys.argv[1:] + ["plain", "0", "fork"][len(sys.argv) - 1:])[:3]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if "OMPI_COMM_WORLD_RANK" in os.environ and end.startswith(("raise", "stall")):
        rank, size = (int(os.environ["OMPI_COMM_WORLD_" + n]) for n in ("RANK", "SIZE"))
        dist.init_process_group("gloo", init_method="file://" + os.environ["MEET"], rank=rank, world_size=size)
    try:
        print(float(train(end, int(workers), context if int(workers) else None)).hex(), flush=True)
    finally:
        if dist.is_initialized():
            time.sleep(0.3)  # gloo's threads drop their last work: where Python ends before, torch aborts (docs/frameworks.md)


if __name__ == "__main__":
    main()

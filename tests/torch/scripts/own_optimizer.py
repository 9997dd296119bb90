"""A stranger's script: an optimizer of its own, gradients of two batches for each update, a schedule, and a validation after each epoch."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, BATCHES, TOGETHER = 3, 8, 2


class Momentum:
    def __init__(self, parameters, rate):
        self.parameters, self.rate = list(parameters), rate
        self.speed = [torch.zeros_like(p) for p in self.parameters]

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        torch._foreach_mul_(self.speed, 0.9)
        torch._foreach_add_(self.speed, [p.grad for p in self.parameters])
        torch._foreach_add_(self.parameters, self.speed, alpha=-self.rate)


class Schedule:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step(self):
        self.optimizer.rate *= 0.99


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)))
    optimizer = Momentum(model.parameters(), 0.01)
    schedule = Schedule(optimizer)
    rows = torch.randn(8 * BATCHES, 16)
    train, test = DataLoader(TensorDataset(rows), 8), DataLoader(TensorDataset(rows), 32)
    for _ in range(EPOCHS):
        for i, (x,) in enumerate(train):
            model(x).pow(2).mean().backward()
            if i % TOGETHER == TOGETHER - 1:
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
        with torch.no_grad():
            loss = sum(model(x).pow(2).mean() for (x,) in test)
            dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"{loss.item():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

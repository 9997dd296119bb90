"""A loop that Accelerate prepares."""
import time

import torch
from accelerate import Accelerator
from slow_data import BATCH, Samples
from torch import nn
from torch.utils.data import DataLoader

torch.set_num_threads(1)
accelerator = Accelerator(cpu=True)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.01), DataLoader(Samples(), BATCH))
for x, y in loader:
    optimizer.zero_grad()
    accelerator.backward(nn.functional.mse_loss(model(x), y))
    optimizer.step()
accelerator.wait_for_everyone()
time.sleep(0.3)

"""The Trainer of transformers with a model of its own, as torchrun starts it."""
import tempfile
import time

import torch
from slow_data import BATCH, Samples
from torch import nn
from transformers import Trainer, TrainingArguments


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x, y):
        out = self.layers(x)
        return {"loss": nn.functional.mse_loss(out, y), "out": out}


class Named(Samples):
    def __getitem__(self, i):
        return dict(zip("xy", super().__getitem__(i)))


torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as out:
    Trainer(Model(), TrainingArguments(out, use_cpu=True, num_train_epochs=1, per_device_train_batch_size=BATCH, report_to=[], save_strategy="no",
                                       disable_tqdm=True, ddp_backend="gloo"), train_dataset=Named()).train()
time.sleep(0.3)

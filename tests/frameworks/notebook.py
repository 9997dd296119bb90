"""A loop in a cell of a notebook: its kernel is a child of the program that podprof starts."""
import nbformat
from nbclient import NotebookClient

CELL = """
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        time.sleep(0.04)
        x = torch.rand(8, generator=torch.Generator().manual_seed(i))
        return x, x.sum().reshape(1)

torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for x, y in DataLoader(Samples(), 4):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
NotebookClient(book, timeout=120, kernel_name="python3").execute()

"""Ray Train: its workers are no children of the program that podprof starts."""
import os
import sys

import ray
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer


def train():
    import time

    import torch
    from ray.train import get_context
    from ray.train.torch import prepare_data_loader, prepare_model
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    late = get_context().get_world_rank() == 1

    class Samples(Dataset):
        def __len__(self):
            return 128

        def __getitem__(self, i):
            time.sleep(0.04 if late else 0)
            x = torch.rand(8, generator=torch.Generator().manual_seed(i))
            return x, x.sum().reshape(1)

    model = prepare_model(nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for x, y in prepare_data_loader(DataLoader(Samples(), 4)):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
TorchTrainer(train, scaling_config=ScalingConfig(num_workers=2), run_config=ray.train.RunConfig(storage_path=os.path.abspath(sys.argv[1]))).fit()

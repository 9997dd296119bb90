"""Lightning's Trainer, which finds torchrun's ranks."""
import lightning
import torch
from slow_data import BATCH, Samples
from torch import nn
from torch.utils.data import DataLoader


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))

    def training_step(self, batch, batch_idx):
        return nn.functional.mse_loss(self.layers(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


torch.set_num_threads(1)
lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, logger=False, enable_checkpointing=False,
                  enable_progress_bar=False).fit(Model(), DataLoader(Samples(), BATCH))

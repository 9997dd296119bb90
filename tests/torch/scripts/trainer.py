"""A stranger's script in the manner of a trainer class: callbacks, accumulation, gradient clipping, a scheduler, validation between epochs."""
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS, STEPS, BATCH, ACCUMULATE, LENGTH, WORDS = 2, 12, 8, 2, 24, 50


class Slow(TensorDataset):
    """Rank 1 reads from a slow disk."""

    def __getitem__(self, i):
        if os.environ.get("RANK") == "1":
            time.sleep(0.03 / BATCH)
        return super().__getitem__(i)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 32)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), 2)
        self.head = nn.Linear(32, 2)

    def forward(self, words):
        return self.head(self.layers(self.embed(words)).mean(1))


def data(count, seed):
    words = torch.randint(0, WORDS, (count, LENGTH), generator=torch.Generator().manual_seed(seed))
    return words, (words < WORDS // 2).sum(1).gt(LENGTH // 2).long()


class Trainer:
    def __init__(self, model, directory):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.model, self.directory, self.losses = DistributedDataParallel(model), directory, []
        self.optimizer = torch.optim.AdamW(model.parameters(), 5e-3)
        self.scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.2, EPOCHS * STEPS // ACCUMULATE)

    def loader(self, dataset, shuffle):
        sampler = DistributedSampler(dataset, self.size, self.rank, shuffle=shuffle)
        return DataLoader(dataset, BATCH, sampler=sampler, num_workers=1 if shuffle else 0)

    def training_step(self, batch, is_last):
        self.model.require_backward_grad_sync = is_last
        loss = nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        (loss / ACCUMULATE).backward()
        self.losses.append(float(loss.detach()))

    def validate(self, dataset):
        self.model.eval()
        right = torch.zeros(1)
        with torch.no_grad():
            for words, label in self.loader(dataset, False):
                right += (self.model.module(words).argmax(1) == label).sum()
        dist.all_reduce(right)
        self.model.train()
        return right.item() / len(dataset)

    def fit(self, train_set, test_set):
        loader = self.loader(train_set, True)
        for epoch in range(EPOCHS):
            loader.sampler.set_epoch(epoch)
            for i, batch in enumerate(loader):
                is_last = (i + 1) % ACCUMULATE == 0
                self.training_step(batch, is_last)
                if is_last:
                    nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                    self.scheduler.step()
                    self.optimizer.zero_grad(set_to_none=True)
            score = self.validate(test_set)
            if self.rank == 0:
                torch.save(self.model.module.state_dict(), os.path.join(self.directory, "last.pt"))
                print(f"epoch {epoch}: {score:.3f}", flush=True)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    size = dist.get_world_size()
    with tempfile.TemporaryDirectory() as scratch:
        Trainer(Encoder(), scratch).fit(Slow(*data(STEPS * BATCH * size, 1)), TensorDataset(*data(BATCH * 2 * size, 2)))
    time.sleep(0.3)  # gloo's threads drop their last work: where Python ends before, torch aborts
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())

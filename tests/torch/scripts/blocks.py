"""One rank, the same work in every step: blocks.py BLOCKS FILE. Of every 20 steps, six from the 12th are left to others, and six from the 22nd
are seen by torch.profiler. FILE gets JSON: of torch.profiler a list of {name: [count, total us]}, and of the very executions in each six
{name: [calls, total us]}, as this program's own clock has them around the call. Between the two it rests, so that what others write of
their six is not in the way."""
import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PERIOD, THEIRS, SEEN, LENGTH, BATCH = 20, 12, 22, 6, 16


class Clock:
    """Time around calls."""

    def __init__(self):
        self.totals = {}

    def since(self):
        """Totals since the last call."""
        printed, self.totals = self.totals, {}
        return printed

    def around(self, name, function, *words):
        begin = time.perf_counter_ns()
        result = function(*words)
        end = time.perf_counter_ns()
        calls, total = self.totals.get(name, (0, 0))
        self.totals[name] = calls + 1, total + (end - begin) / 1e3
        return result


def totals(profile):
    return {e.key: [e.count, e.cpu_time_total] for e in profile.key_averages()}


def extra(clock, square, row):
    """Operators that no other has in it."""
    clock.around("aten::bmm", torch.bmm, square, square)
    clock.around("aten::cumsum", torch.cumsum, row, 0)
    clock.around("aten::tanh", torch.tanh, row)
    clock.around("aten::flip", torch.flip, row, (0,))


def main():
    blocks, path = int(sys.argv[1]), sys.argv[2]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    steps = SEEN + LENGTH + (blocks - 1) * PERIOD + 2
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 512), nn.ReLU(),
                          nn.LayerNorm(512), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    data = TensorDataset(torch.randn(steps * BATCH, 1, 32, 32), torch.randint(0, 10, (steps * BATCH,)))
    square, row = torch.randn(4, 128, 128), torch.randn(1 << 19)
    clock, seen, profile, printed = Clock(), [], None, {"ours": [], "theirs": []}
    for step, (x, y) in enumerate(DataLoader(data, BATCH)):
        at = (step - SEEN) % PERIOD if step >= SEEN else -1
        if at == 0:
            profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            profile.start()
            clock.since()
        elif step >= THEIRS and step % PERIOD == THEIRS:
            clock.since()
        elif step >= THEIRS and step % PERIOD == THEIRS + LENGTH:
            printed["ours"].append(clock.since())
        elif at == LENGTH and profile:
            profile.stop()
            printed["theirs"].append(clock.since())
            seen.append(totals(profile))
            profile = None
        elif step % PERIOD == (THEIRS + LENGTH + 1) % PERIOD:
            time.sleep(0.25)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        clock.around("backward", loss.backward)
        clock.around("Optimizer.step#SGD.step", optimizer.step)
        extra(clock, square, row)
    with open(path, "w", encoding="ascii") as f:
        json.dump({"seen": seen, "told": printed}, f)
    print(f"{steps} steps, {len(seen)} blocks")


if __name__ == "__main__":
    main()

"""One rank, the same work in every step: blocks.py BLOCKS FILE. Of every 20 steps, six from the 12th are left to others, and six from the 22nd
are seen by torch.profiler, whose totals go to FILE as JSON: a list of {name: [count, total us]}. Between the two it rests, so that what others
write of their six is not in the way. FILE also says for which share of each six a thread was ready to run and had no core."""
import glob
import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PERIOD, THEIRS, SEEN, LENGTH, BATCH = 20, 12, 22, 6, 16


def waited_ns():
    """In the run queue so far, all threads; 0 where the kernel does not count it."""
    found = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        with open(path, encoding="ascii") as f:
            found += int(f.read().split()[1])
    return found


def clocks():
    return time.monotonic_ns(), waited_ns()


def share_since(begin):
    now = clocks()
    return (now[1] - begin[1]) / (now[0] - begin[0])


def totals(profile):
    return {e.key: [e.count, e.cpu_time_total] for e in profile.key_averages()}


def main():
    blocks, path = int(sys.argv[1]), sys.argv[2]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    steps = SEEN + LENGTH + (blocks - 1) * PERIOD + 2
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 512), nn.ReLU(),
                          nn.LayerNorm(512), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    data = TensorDataset(torch.randn(steps * BATCH, 1, 32, 32), torch.randint(0, 10, (steps * BATCH,)))
    seen, profile, begin = [], None, None
    waited = {"ours": [], "theirs": []}
    for step, (x, y) in enumerate(DataLoader(data, BATCH)):
        at = (step - SEEN) % PERIOD if step >= SEEN else -1
        if at == 0:
            profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            profile.start()
            begin = clocks()
        elif step >= THEIRS and step % PERIOD == THEIRS:
            begin = clocks()
        elif step >= THEIRS and step % PERIOD == THEIRS + LENGTH:
            waited["ours"].append(share_since(begin))
        elif at == LENGTH and profile:
            waited["theirs"].append(share_since(begin))
            profile.stop()
            seen.append(totals(profile))
            profile = None
        elif step % PERIOD == (THEIRS + LENGTH + 1) % PERIOD:
            time.sleep(0.25)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    with open(path, "w", encoding="ascii") as f:
        json.dump({"seen": seen, "waited": waited}, f)
    print(f"{steps} steps, {len(seen)} blocks")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Operators as podprof has them: calls exactly as torch.profiler counts them, in turns in one process; times against the program's own clock
around the very same calls, within 5 % and 30 us a range; 15 % where Python, podprof's own hooks too, runs around the ranges.
(torch.profiler sees other executions, and slows them: its times are printed.)
A pause of the machine between two readings only lowers what was seen of a block, a range that is too short does so in every one: of all
blocks the best counts.
Run by ctest torch_truth."""
import json
import os
import statistics
import sys

import torchjobs as tj
from e2e import h5
from jobs import check, sessions, tree, wait_until

BLOCKS, PERIOD, FIRST, LENGTH = 7, 20, 12, 6
ENGINE = "autograd::engine::evaluate_function: "
OWN = {"forward", "backward"}  # podprof's own ranges, not torch's
ONEDNN = {"convolution", "eltwise", "inner_product", "layer_normalization", "matmul", "pooling", "reorder"}  # has ITT ranges of its own
ONEDNN |= {n + " (create)" for n in ONEDNN}


def of_session(session):
    """First step of the window, {name: (calls, total us)}."""
    with h5(session) as f:
        op = {k: v[()] for k, v in f["op"].items()}
        first = tj.steps_of(f)[0]
    known, found = tj.names(op["name"]), {}
    for i, row in enumerate(op["row_op"]):  # a name has a row for each category that it occurs in
        calls, total = found.get(known[int(row)], (0, 0))
        found[known[int(row)]] = calls + int(op["calls"][i]), total + op["total_ns"][i] / 1e3
    return first, found


def both(place):
    path, logs = os.path.join(place.scratch, "seen"), place.new_logs()
    windows = ",".join(f"{FIRST + PERIOD * i}:{FIRST + PERIOD * i + LENGTH}" for i in range(BLOCKS))
    got = tj.run(place.under(logs, tj.python(tj.script("blocks.py"), BLOCKS, path), "--steps", windows))
    check(got.code == 0, got.transcript())
    check(wait_until(lambda: len(sessions(logs)) == BLOCKS), (tree(logs), got.transcript()))
    ours = dict(of_session(s) for s in sessions(logs))
    check(sorted(ours) == [FIRST + PERIOD * i for i in range(BLOCKS)], f"windows from steps {sorted(ours)}")
    with open(path, encoding="ascii") as f:
        found = json.load(f)
    theirs, printed = found["seen"], found["told"]
    check(len(theirs) == len(printed["ours"]) == len(printed["theirs"]) == BLOCKS, f"{len(theirs)} blocks of torch.profiler, {len(printed['ours'])} of podprof")
    return [ours[first] for first in sorted(ours)], theirs, printed


def same_calls(ours, theirs):
    wanted = {name: row[0] for name, row in theirs[0].items()}
    for block in theirs:
        check({n: r[0] for n, r in block.items()} == wanted, "the steps are not the same ones")
    for block in ours:
        calls = {n: r[0] for n, r in block.items() if n not in OWN and (n in wanted or n not in ONEDNN)}
        check(calls == wanted, f"calls differ: {sorted(set(calls.items()) ^ set(wanted.items()))}")
    return wanted


def seen(block, name):
    """(ranges, us) of one block; of a backward pass all that autograd evaluated in it."""
    rows = [r for n, r in block.items() if n.startswith(ENGINE)] if name == "backward" else [block[name]]
    return sum(r[0] for r in rows), sum(r[1] for r in rows)


def share(blocks, printed, name):
    """Of the time around the calls, what was seen of it in the best block."""
    return max(seen(block, name)[1] / truth[name][1] for block, truth in zip(blocks, printed))


def times(ours, theirs, printed):
    """Ranges lie within the clock's readings around them, and little lies between."""
    wrong = []
    for name, (calls, _) in sorted(printed["ours"][0].items()):
        ranges, around = seen(ours[0], name)[0], statistics.median(t[name][1] for t in printed["ours"])
        check(name == "backward" or calls == ranges, f"{name}: {calls} calls, podprof has {ranges}")
        mine, other = share(ours, printed["ours"], name), share(theirs, printed["theirs"], name)
        print(f"    {name:24s} {ranges:3d} ranges, {around:6.0f} us around them: podprof {100 * mine:6.2f} %, torch.profiler {100 * other:6.2f} %")
        least = 0.95 - 30 * ranges / around if name.startswith("aten::") else 0.85
        if not least < mine <= 1:
            wrong.append(f"{name}: {100 * mine:.1f} % of {around:.0f} us in {ranges} ranges")
    check(not wrong, wrong)


def operators(place, full):
    ours, theirs, printed = both(place)
    same_calls(ours, theirs)
    times(ours, theirs, printed)


CASES = {"operators": operators}

if __name__ == "__main__":
    sys.exit(tj.main(CASES, __doc__))

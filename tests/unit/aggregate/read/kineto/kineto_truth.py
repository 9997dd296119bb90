#!/usr/bin/python3
"""Synthetic Kineto files with known unions of device time, read by kineto_dump: each step within 1 ns. Plain and packed, integer us.
Usage: kineto_truth.py KINETO_DUMP"""
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATES = sorted(glob.glob(os.path.join(HERE, "../../../../../../shared/data/kineto/rank-*.json.gz")))
BASE = 1711964646000000000


def dump(program, path):
    steps, rest = [], {}
    for line in subprocess.run([program, path], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        name, *values = line.split("\t")
        if name == "step":
            steps.append([int(v) for v in values])
        else:
            rest[name] = values[0]
    return steps, rest


def compare(program, folder, *options):
    make = [sys.executable, "-B", os.path.join(HERE, "make_kineto.py"), "--out", folder, "--truth", "--from", *TEMPLATES, *options]
    truth = {}
    for line in subprocess.run(make, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[1:]:
        rank, step, *values = line.split("\t")
        if step != "total":
            truth.setdefault(int(rank), []).append([int(step)] + [int(v) for v in values])
    bad = 0
    for rank, rows in truth.items():
        path = glob.glob(os.path.join(folder, f"rank-{rank}.json*"))[0]
        steps, rest = dump(program, path)
        events = sum(r[-1] for r in rows)
        if len(steps) != len(rows) or int(rest["events"]) != events or int(rest["rank"]) != rank:
            print(f"{path}: {len(steps)} steps, {rest['events']} events, rank {rest['rank']}; not {len(rows)}, {events}, {rank}")
            bad += 1
        if rest["damaged"] != "0" or rest["untimed"] != "0" or rest["launched"] != rest["device"]:
            print(f"{path}: {rest}")
            bad += 1
        for got, want in zip(steps, rows):
            want = [want[0], want[1] + BASE] + want[2:-1]
            if any(abs(g - w) > 1 for g, w in zip(got, want)):
                print(f"{path}: step {got}, not {want}")
                bad += 1
        os.remove(path)
    print(options, len(truth), "ranks,", sum(len(r) for r in truth.values()), "steps,", bad, "differ")
    return bad


def main():
    if not TEMPLATES:
        print("skipped: there is no ../shared/data/kineto")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        bad = compare(sys.argv[1], folder, "--events", "12000", "--skew", "17")
        bad += compare(sys.argv[1], folder, "--events", "12000", "--unit", "us", "--gz", "--repeat", "2")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())

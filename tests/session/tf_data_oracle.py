#!/usr/bin/python3 -B
"""The tables of tf.data beside what the TensorFlow Profiler's last converter said of the same files: random pipelines, each iterator of the slowest
calls. Run by ctest tf_data_oracle, label xprof.

Usage: tf_data_oracle.py [--bin DIR] --python PYTHON [--seed N] [FILE.xplane.pb...]     PYTHON has tensorboard-plugin-profile 2.19; with FILE: these

The converter reads numbers above 2^63 as 0, takes one element of a batch that was made ahead, and subtracts overlapping calls twice; made-up files
have none of these, and of other files iterators with such numbers are passed over. Exits 77 without the converter.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

import h5py

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "verdicts"))
import xspace  # noqa: E402

CONVERT = """
import importlib.util, os, sys
at = importlib.util.find_spec("tensorboard_plugin_profile").submodule_search_locations[0]
sys.path.insert(0, os.path.join(at, "convert"))
import _pywrap_profiler_plugin as plugin
data, good = plugin.xspace_to_tools_data(sys.argv[1:], "tf_data_bottleneck_analysis", {})
assert good
sys.stdout.buffer.write(data)
"""
DRAWN = 8  # calls of a pipeline whose iterators podprof has
ASYNC = {"Prefetch": "Prefetch", "ParallelMapV2": "ParallelMap"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def message(data):
    """A message of protobuf as number -> values; of the kinds that are here."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        fields.setdefault(key >> 3, []).append(value)
    return fields


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def of(fields, number, default=0):
    return fields.get(number, [default])[0]


def entries(fields, number):
    """Of a map: its keys and the messages."""
    return [(of(e, 1), message(of(e, 2, b""))) for e in map(message, fields.get(number, []))]


def converted(data):
    """(host, id of the root) -> what the converter says of the pipeline."""
    found = {}
    for host, stats in entries(message(data), 2):
        for root, p in entries(stats, 1):
            calls = [{i: {"calls": of(s, 6), "total": of(s, 3), "self": signed(of(s, 4)), "blocking": of(s, 5)} for i, s in entries(c, 1)}
                     for c in map(message, p.get(2, []))]
            found[(host or b"").decode(), root] = {"mean": of(p, 3), "least": of(p, 4), "most": of(p, 5), "slow": of(p, 6), "calls": calls,
                                                   "bottleneck": [of(message(c), 2) for c in p.get(2, [])],
                                                   "name": of(message(of(p, 1, b"")), 4, b"").decode()}
    return found


class Maker:
    """Random pipelines as TensorFlow records them: nested calls on a thread, and threads that make elements ahead."""

    def __init__(self, seed):
        self.dice, self.lines, self.ids, self.elements = random.Random(seed), {}, 100, 7000

    def new(self):
        self.ids += 1
        return self.ids

    def chain(self):
        """Types from the root down."""
        middle = [self.dice.choice(["Prefetch", "BatchV2", "Map", "Shuffle", "ParallelMapV2", "Filter"]) for _ in range(self.dice.randint(1, 4))]
        return ["Root", *middle, self.dice.choice(["Range", "TFRecord", "TensorSlice"])]

    def call(self, types, ids, at, level, begin, us):
        """A call of the iterator `level` in [begin, begin + us) on the line `at`, with what it has below it."""
        name = "Iterator::" + "::".join(types[:level + 1])
        stats = {"id": ids[level], **({"parent_id": ids[level - 1]} if level else {})}
        self.lines.setdefault(at, []).append((name, begin, us, stats))
        if level + 1 == len(types):
            return
        link = ASYNC.get(types[level])
        if link and self.dice.random() < 0.9:
            self.elements += 1
            element = {"element_id": self.elements}
            early = self.dice.choice([0, us / 2, 2 * us])  # waited for, partly, made ahead
            self.lines[at].append((link + "Consume", begin + us * 0.9, us * 0.05, element))
            maker, made = self.new(), us * 0.8
            self.lines.setdefault(maker, []).append((link + "Produce", begin - early + us * 0.02, made, element))
            self.call(types, ids, maker, level + 1, begin - early + us * 0.03, made * 0.9)
            return
        for i in range(1 if link else self.dice.randint(1, 2)):
            self.call(types, ids, at, level + 1, begin + us * (0.05 + 0.4 * i), us * self.dice.uniform(0.1, 0.35))

    def file(self):
        for p in range(self.dice.randint(1, 3)):
            types = self.chain()
            ids = [self.new() for _ in types]
            for c in range(self.dice.randint(1, 6)):
                self.call(types, ids, 1 + p, 0, 20000 + 3000 * c, self.dice.choice([20, 40, 200, 800]) + self.dice.random())
        plane = xspace.Plane("/host:CPU", 1000)
        for number, events in self.lines.items():
            plane.line(f"thread/{number}", events, number)
        return xspace.space([plane], "made")


class Compare:
    def __init__(self):
        self.same, self.wrong = 0, []

    def number(self, what, ours, theirs, tolerance=0):
        if abs(ours - theirs) <= tolerance:
            self.same += 1
        else:
            self.wrong.append(f"{what}: {ours}, converter {theirs}")

    def session(self, path, theirs):
        with h5py.File(path, "r") as f:
            def table(name):
                columns = {k: v[:] for k, v in f[name].items() if v.shape} if name in f else {}
                return [dict(zip(columns, row)) for row in zip(*columns.values())]
            pipelines, iterators, nodes = table("tf_data_pipeline"), table("tf_data_iterator"), table("tf_data_node")
        self.number("pipelines", len(pipelines), len(theirs))
        roots = {root: p for (_, root), p in theirs.items()}
        for p in pipelines:
            it = {i["iterator"]: i for i in iterators if (i["worker"], i["pipeline"]) == (p["worker"], p["pipeline"])}
            if int(p["root_id"]) not in roots:
                self.wrong.append(f"pipeline {p['root_id']} is not the converter's")
                continue
            self.pipeline(p, it, [n for n in nodes if (n["worker"], n["pipeline"]) == (p["worker"], p["pipeline"])], roots[int(p["root_id"])])

    def pipeline(self, p, iterators, nodes, theirs):
        what = f"pipeline {p['root_id']}"
        for ours, name in (("mean_ns", "mean"), ("least_ns", "least"), ("most_ns", "most")):
            self.number(f"{what} {name}", int(p[ours]), theirs[name] / 1000, 2)
        self.number(f"{what} slow calls", int(p["slow_calls"]), theirs["slow"])
        self.number(f"{what} calls", int(p["calls"]), len(theirs["calls"]))
        for c, call in enumerate(theirs["calls"][:DRAWN]):
            mine = [n for n in nodes if n["call"] == c]
            if any(int(i["id"]) >> 63 or int(i["instances"]) > 1 for i in iterators.values()):
                continue
            self.number(f"{what} call {c} iterators", len(mine), len(call))
            for n in mine:
                i = int(iterators[n["iterator"]]["id"])
                if i not in call:
                    self.wrong.append(f"{what} call {c}: no iterator {i}")
                    continue
                for ours, name in (("calls", "calls"), ("is_blocking", "blocking")):
                    self.number(f"{what} call {c} {i} {name}", int(n[ours]), call[i][name])
                for ours, name in (("total_ns", "total"), ("self_ns", "self")):
                    self.number(f"{what} call {c} {i} {name}", int(n[ours]), call[i][name] / 1000, 4 * call[i]["calls"])
                if n["is_bottleneck"] and call[i]["self"] < call[theirs["bottleneck"][c]]["self"] - 8000 * call[i]["calls"]:
                    self.wrong.append(f"{what} call {c}: bottleneck {i}, converter {theirs['bottleneck'][c]}")


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("file", nargs="*")
    parse.add_argument("--bin", default=os.path.join(HERE, "..", "..", "build", "bin"))
    parse.add_argument("--python", required=True)
    parse.add_argument("--seed", type=int, default=1)
    o = parse.parse_args()
    if not os.path.exists(o.python):
        print("SKIP: no", o.python)
        return 77
    compare = Compare()
    with tempfile.TemporaryDirectory(prefix="podprof-tf-data-") as where:
        files = o.file
        for i in range(0 if files else 12):
            files.append(os.path.join(where, f"{i}.xplane.pb"))
            with open(files[-1], "wb") as f:
                f.write(Maker(o.seed + i).file())
        for i, path in enumerate(files):
            theirs = subprocess.run([o.python, "-c", CONVERT, path], capture_output=True, timeout=120)
            if b"ModuleNotFoundError" in theirs.stderr or b"ImportError" in theirs.stderr or b"'NoneType'" in theirs.stderr:
                print("SKIP: the converter cannot be loaded")
                return 77
            logs = os.path.join(where, f"logs{i}")
            subprocess.run([os.path.join(o.bin, "podprof"), "analyze", "-o", logs, path], check=True, timeout=60, stderr=subprocess.DEVNULL)
            session = os.listdir(os.path.join(logs, "podprof"))[0]
            compare.session(os.path.join(logs, "podprof", session, "pod.h5"), converted(theirs.stdout))
    for line in compare.wrong[:20]:
        print(line)
    print(f"{compare.same} numbers are equal, {len(compare.wrong)} are not")
    return 1 if compare.wrong or not compare.same else 0


if __name__ == "__main__":
    sys.exit(main())

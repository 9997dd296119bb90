"""Are the files of a session whole, or is their absence said? Used by torture.py. Needs h5py."""
import glob
import os

import h5py

NAMES = ["podprof/*/pod.h5", "podprof/*/summary.txt", "plugins/profile/*/*.xplane.pb", "podprof/*/report.html"]


def files(logs):
    return [f for name in NAMES for f in glob.glob(os.path.join(logs, name))]


def parts(logs):
    left = [os.path.join(d, f) for d, _, names in os.walk(logs) for f in names if f.endswith(".part")]
    return [f"left behind: {left}"] if left else []


def xspace_fields(path):
    """Number of top-level fields of each tag; raises where the bytes are cut."""
    data, at, found = open(path, "rb").read(), 0, {}

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 != 2:
            raise ValueError(f"tag {tag} at {at}")
        length = varint()
        at += length
        found[tag >> 3] = found.get(tag >> 3, 0) + 1
    if at != len(data):
        raise ValueError("it is cut")
    return found


def datasets(path):
    found = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, item: found.__setitem__(name, item.shape) if isinstance(item, h5py.Dataset) else None)
        # What a reader is told of losses: the rows of the group quality, without podprof's own cost.
        printed = [f[n][()].tolist() for n in sorted(found) if n.startswith("quality/") and ("warn" in n or "drop" in n or "lost" in n)]
    return found, printed


class Session:
    """The files of the one session of a log directory."""

    def __init__(self, logs):
        self.missing, self.broken = [], []
        self.h5, self.warnings, self.xspace, self.lines = {}, [], {}, 0
        readers = [self.read_h5, self.read_summary, self.read_xspace, self.read_page]
        for name, reader in zip(NAMES, readers):
            found = glob.glob(os.path.join(logs, name))
            if not found:
                self.missing.append(os.path.basename(name))
                continue
            try:
                reader(found[0])
            except Exception as reason:  # whatever a reader throws, the file is not whole
                self.broken.append(f"{found[0]}: {reason!r}")

    def read_h5(self, path):
        self.h5, self.warnings = datasets(path)

    def read_summary(self, path):
        self.lines = len(open(path).read().splitlines())

    def read_xspace(self, path):
        self.xspace = xspace_fields(path)

    def read_page(self, path):
        if not open(path).read().rstrip().endswith("</html>"):
            raise ValueError("it is cut")

    def against(self, want, said):
        """What is wrong with this session, given what podprof said of it."""
        wrong = [f"broken: {b}" for b in self.broken]
        excuse = "cannot" in said or "no memory" in said or "failed" in said
        if self.missing and not excuse:
            wrong.append(f"missing without a word: {self.missing}; said: {said[-600:]!r}")
        if self.h5:
            lacking = sorted(set(want.h5) - set(self.h5))
            if lacking and self.warnings == want.warnings:  # without a rank there may be no collective: then a warning says so
                wrong.append(f"pod.h5 lacks {lacking}")
            # The keeper reads the clocks for as long as it runs, so times differ by a nanosecond or two from run to run: a wait as long as the
            # clock error has a row in one and none in the other.
            steady = [n for n in want.h5 if n in self.h5 and not n.startswith(("quality", "clock/wall", "finding", "advice", "blame"))]
            changed = [n for n in steady if self.h5[n] != want.h5[n]]
            if changed and self.warnings == want.warnings:
                wrong.append(f"pod.h5 has other sizes and no word of it: {[(n, want.h5[n], self.h5[n]) for n in changed[:4]]}")
        if self.xspace and self.xspace.get(1) != want.xspace.get(1):
            wrong.append(f"XSpace has planes {self.xspace} instead of {want.xspace}")
        if self.lines and self.lines < want.lines - 2 and self.warnings == want.warnings:
            wrong.append(f"summary.txt has {self.lines} lines instead of {want.lines}")
        return wrong

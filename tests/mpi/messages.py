#!/usr/bin/python3
"""Pairs of sends and receives against what the program knows: none may be wrong, clean patterns must be whole. Run by ctest."""
import collections
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../guest"))
from jobs import check, main, run, session_of  # noqa: E402

CLEAN = ("ring", "master", "crossing", "persistent", "modes", "probes", "inter")
COUNTS = ("pairs", "sends", "receives", "uncertain", "unmatched", "twice", "too_early", "other_size")


def part_of(name):
    return name.split()[1]


def profiled(place, *options, mode=()):
    """The truth as receive: send; the pairs as receive: send; the counts."""
    logs = place.new_logs()
    result = run(place.mpirun(4, place.under(logs, [place.program("message_program"), os.path.join(logs, "truth"), *mode], *options)))
    check(result.code == 0 and not result.timed_out, result.transcript())
    truth = {}
    for path in glob.glob(os.path.join(logs, "truth.*")):
        truth.update(line.split(" < ") for line in open(path).read().splitlines())
    name = os.path.basename(session_of(logs))
    files = glob.glob(os.path.join(logs, "plugins/profile", name, "*.xplane.pb"))
    check(len(files) == 1, f"event files: {files}")
    text = subprocess.run([place.program("message_dump"), files[0]], check=True, stdout=subprocess.PIPE, text=True).stdout
    pairs = [line[5:].split(" < ") for line in text.splitlines() if line.startswith("PAIR ")]
    check(len({receive for receive, _ in pairs}) == len(pairs), "a receive has two pairs")
    counts = dict(zip(COUNTS, map(int, re.search(r"^COUNT (.*)$", text, re.M).group(1).split())))
    return truth, dict(pairs), counts


def compare(truth, pairs, counts):
    wrong = {r: (s, truth.get(r)) for r, s in pairs.items() if truth.get(r) != s}
    check(not wrong, f"{len(wrong)} pairs are wrong: {list(wrong.items())[:5]}")
    check(not counts["twice"] and not counts["too_early"] and not counts["other_size"], f"{counts}")
    check(counts["sends"] + counts["receives"] == 2 * counts["pairs"] + counts["uncertain"] + counts["unmatched"], f"{counts}")


def whole(place, full):
    truth, pairs, counts = profiled(place)
    compare(truth, pairs, counts)
    have, want = (collections.Counter(map(part_of, names)) for names in (pairs, truth))
    for part in CLEAN + ("flight",):
        check(have[part] == want[part] > 0, f"{part}: {have[part]} of {want[part]} messages are matched; {counts}")
    check(counts["uncertain"] > 0, f"receives of any source beside others are all certain: {counts}")


def window(place, full):
    """A window that begins while messages are in flight: numbers go on from those before it."""
    truth, pairs, counts = profiled(place, "--steps", "3:5")
    compare(truth, pairs, counts)
    have = collections.Counter(map(part_of, pairs))
    for part in CLEAN + ("flight",):
        check(have[part] > 0, f"{part}: no message is matched; {counts}")
    check(counts["unmatched"] > 0, f"messages over the edges of the window are matched: {counts}")


def threads(place, full):
    """Threads that use one tag at one time have no order: their messages may be left out, but never be wrong."""
    truth, pairs, counts = profiled(place, mode=["threads"])
    compare(truth, pairs, counts)
    have, want = (collections.Counter(map(part_of, names)) for names in (pairs, truth))
    check(have["own_tag"] == want["own_tag"] > 0, f"{have} of {want} are matched; {counts}")


CASES = {f.__name__: f for f in (whole, window, threads)}

if __name__ == "__main__":
    sys.exit(main(CASES, __doc__))

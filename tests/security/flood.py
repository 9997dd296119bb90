#!/usr/bin/python3
"""10 000 requests a second for three seconds at a running job: it computes on, nothing of its records is lost, the keeper stays small and
serves the next one. Run by ctest security_flood."""
import os
import sys
import time

import h5py

import kit
from kit import check
import jobs
from jobs import finish, run, sessions, start, wait_until

FLOOD = """
import os, socket, sys, time
path, end, asked, taken = sys.argv[1], time.monotonic() + float(sys.argv[2]), 0, 0
lines = [b'podprof 1 capture steps=1\\n', b'podprof 1 capture steps=1000000\\n', b'podprof 1 status\\n', b'capture', b'\\0' * 64]
while time.monotonic() < end:
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    asked += 1
    try:
        s.connect(path)
        s.send(lines[asked % 5])
        taken += 1
    except OSError:
        pass
    s.close()
print(asked, taken)
"""


def on_the_socket(place, full):
    stage, logs = kit.Stage(place), place.new_logs()
    process, spool = stage.begin(os.getuid(), logs, 4)
    keeper, most = jobs.keeper_of(spool), 0
    floods = [start([kit.PYTHON, "-c", FLOOD, spool + "/socket", "3"]) for _ in range(2)]
    while any(f.poll() is None for f in floods):
        most = max(most, kit.rss(keeper))
        time.sleep(0.05)
    counts = [list(map(int, finish(f).out.split())) for f in floods]
    print(f"asked, taken: {counts}; the keeper held {most >> 20} MiB")
    check(sum(c[0] for c in counts) > 3000 and sum(c[1] for c in counts) > 10, f"no flood: {counts}")
    check(most < 256 << 20, f"the keeper held {most >> 20} MiB")
    check(os.path.getsize(spool + "/keeper.log") < 1 << 20, "the log of the keeper grew without an end")
    got = []
    wait_until(lambda: got.append(run([stage.podprof, "capture", logs, "--steps", "+2"])) or not got[-1].code)
    check(got[-1].code == 0, f"no capture after the flood: {got[-1].transcript()}")
    steps = kit.rest(process)
    check(wait_until(lambda: not jobs.keepers(spool), 20) and not os.path.exists(spool), "keeper or spool stays")
    check(max(map(whole, sessions(logs))) > steps - 5, "no session has all steps")


def whole(session):
    """Steps of a session; each must be complete, and no record lost."""
    with h5py.File(session + "/pod.h5") as f:
        check((f["breakdown/present"][()] == 1).all(), f"steps are not whole in {session}")
        gone = int(sum(f["quality"][k][()].sum() for k in f["quality"] if k.startswith("lost_")))
        check(gone == 0, f"{gone} records were lost in {session}")
        return f["step/number"].shape[0]


FILES = """
import os, sys, time
place, end, asked = sys.argv[1], time.monotonic() + float(sys.argv[2]), 0
lines = [b'podprof 1 capture steps=1\\n', b'podprof 1 capture steps=1000000\\n', b'', b'capture', b'\\0' * 64]
while time.monotonic() < end:
    name = f'{place}/{int.from_bytes(os.urandom(8), "big"):016x}'
    try:
        fd = os.open(name + '.new', os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(fd, lines[asked % 5])
        os.close(fd)
        os.rename(name + '.new', name + '.request')
        asked += 1
        if asked % 2:
            os.unlink(name + '.request')
    except OSError:
        pass
print(asked)
"""


def by_files(place, full):
    stage, logs = kit.Stage(place), place.new_logs()
    process, spool = stage.begin(os.getuid(), logs, 5)
    found = wait_until(lambda: [d for d, _, files in os.walk(logs + "/.podprof-requests") if "keeper" in files])
    check(found, "no directory of requests")
    keeper, most = jobs.keeper_of(spool), 0
    floods = [start([kit.PYTHON, "-c", FILES, found[0], "3"]) for _ in range(2)]
    while any(f.poll() is None for f in floods):
        most = max(most, kit.rss(keeper))
        time.sleep(0.05)
    counts = [int(finish(f).out) for f in floods]
    print(f"asked: {counts}; the keeper held {most >> 20} MiB")
    check(sum(counts) > 1000, f"no flood: {counts}")
    check(most < 256 << 20, f"the keeper held {most >> 20} MiB")
    check(os.path.getsize(spool + "/keeper.log") < 1 << 20, "the log of the keeper grew without an end")
    steps = kit.rest(process)
    check(wait_until(lambda: not jobs.keepers(spool), 20) and not os.path.exists(spool), "keeper or spool stays")
    check(not os.path.exists(logs + "/.podprof-requests"), "the directory of requests stays")
    check(max(map(whole, sessions(logs))) > steps - 5, "no session has all steps")


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (on_the_socket, by_files)}, __doc__))

#!/usr/bin/python3
"""podprof capture beside a live job: the same steps on all ranks, two at once, ranks that drift, hang or mark nothing, bad clients, ends.
Run by ctest session_capture."""
import glob
import os
import re
import socket
import sys
import time

from e2e import check_dataset, good, h5, text
import jobs
from jobs import check, finish, run, sessions, start, wait_until


def spool_of(logs):
    for options in glob.glob(f"/dev/shm/podprof-{os.getuid()}/*/options"):
        try:
            if f"OUTPUT={logs}\n" in open(options).read():
                return os.path.dirname(options)
        except OSError:
            continue
    return None


def begin(place, logs, words, *options, ranks=4):
    """A job that has begun to mark steps."""
    process = start(place.mpirun(ranks, place.under(logs, [place.program("windows"), *words], *options)))
    check(wait_until(lambda: spool_of(logs) and len(glob.glob(spool_of(logs) + "/rank-*.ring")) == ranks, 20), "the job does not begin")
    time.sleep(0.2)
    return process


def capture(place, logs, *options):
    return [place.podprof(), "capture", logs, *options]


def captured(got):
    """(first, last) of what was said, and its session."""
    check(got.code == 0 and not got.err, got.told())
    said = re.fullmatch(r"steps (\d+)\.\.(\d+) captured on (\d+) of \3 ranks?, 1 host\n(\S+)  \(podprof report \S+\)\n", got.out)
    check(said, got.told())
    return int(said[1]), int(said[2]) + 1, said[4]


def check_session(session, first, last, workers):
    check_dataset(session, workers=workers, steps=range(first, last))
    with h5(session) as f:
        check((f["breakdown/present"][()] == 1).all(), f"steps {first}:{last} are not on all ranks")
        check(all(text(s) == "delivered" for s in f["worker/status"][()]), f["worker/status"][()])


def on_request(place, full):
    logs = place.new_logs()
    process = begin(place, logs, ["300", "20"])
    one = captured(run(capture(place, logs, "--steps", "+5")))
    two = captured(run(capture(place, logs, "--steps=+3")))
    check(process.poll() is None, "the job was over before its captures were")
    check(one[1] - one[0] == 5 and two[1] - two[0] == 3 and one[1] <= two[0], (one, two))
    for first, last, session in (one, two):
        check_session(session, first, last, 4)
    got = finish(process)
    good(got)
    check(len(sessions(logs)) == 3, jobs.tree(logs))


def two_at_once(place, full):
    """The second waits for the first; windows of the options come between them."""
    logs = place.new_logs()
    process = begin(place, logs, ["300", "20"], "--steps", "100:103", "--every", "60")
    asked = [start(capture(place, logs, "--steps", f"+{n}")) for n in (20, 6, 4)]
    found = sorted(captured(finish(a)) for a in asked)
    check(sorted(last - first for first, last, _ in found) == [4, 6, 20], found)
    check(all(a[1] <= b[0] for a, b in zip(found, found[1:])), f"they overlap: {found}")
    for first, last, session in found:
        check_session(session, first, last, 4)
    got = finish(process)
    good(got)
    check("4 windows captured on 4 of 4 ranks, 1 host: steps 100..102, 160..162, 220..222, 280..282" in got.err, got.err)
    check(len(sessions(logs)) == 7, jobs.tree(logs))


def drifting(place, full):
    """Ranks far apart: the same steps on all of them, once the last has come there."""
    logs = place.new_logs()
    process = begin(place, logs, ["150", "20", "late", "3", "35"])
    time.sleep(0.5)
    first, last, session = captured(run(capture(place, logs, "--steps", "+6")))
    check_session(session, first, last, 4)
    check(finish(process).code == 0, "the job failed")


def fast(place, full):
    """Steps that come faster than the keeper looks: tried again until all ranks were in time."""
    logs = place.new_logs()
    process = begin(place, logs, ["9000", "0"])
    got = run(capture(place, logs, "--steps", "+50"))
    if got.code:  # they may be too fast, or over: then it is said
        check("steps come faster" in got.err or "the job is over" in got.err or "no rank began" in got.err, got.told())
    else:
        first, last, session = captured(got)
        check_session(session, first, last, 4)
    check(finish(process).code == 0, "the job failed")


def to_its_end(place, full):
    """The job ends inside what was asked for: the steps so far."""
    logs = place.new_logs()
    process = begin(place, logs, ["120", "10"])
    got = run(capture(place, logs, "--steps", "+100000"))
    first, last, session = captured(got)
    check(last == 120, (first, last))
    check_session(session, first, last, 4)
    good(finish(process))


def refused(place, full):
    logs = place.new_logs()
    process = begin(place, logs, ["60", "30", "unmarked", "0"], ranks=1)
    got = run(capture(place, logs))
    check(got.code == 1 and "no rank marks a step" in got.err, got.told())
    check(finish(process).code == 0, "the job failed")
    got = run(capture(place, logs))
    check(got.code == 1 and "no job records into" in got.err, got.told())
    for bad in ("5", "+0", "+", "5:9", "+1x"):
        got = run(capture(place, logs, "--steps", bad))
        check(got.code == 64 and "is not a number of steps to come" in got.err, f"{bad}: {got.told()}")


def bad_clients(place, full):
    """Noise on the socket, clients that leave or say nothing: the next capture is as good, and the job does not notice."""
    logs = place.new_logs()
    process = begin(place, logs, ["500", "20"])
    mine = spool_of(logs) + "/socket"
    check(os.stat(mine).st_mode & 0o077 == 0, oct(os.stat(mine).st_mode))
    for i, noise in enumerate([b"", b"\n", b"capture\n", b"capture -1\n", b"capture 99999999999999999999\n", b"x" * 4000, b"capture 5",
                               b"capture 5\n", b"capture 1\ncapture 2\n", bytes(range(256)) * 8] * 10):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(0.1)
        try:
            s.connect(mine)
            s.send(noise)
            if i % 3 == 0:
                s.recv(100)
        except OSError:
            pass
        s.close()
    quiet = [socket.socket(socket.AF_UNIX) for _ in range(10)]
    for s in quiet:
        s.setblocking(False)
        try:
            s.connect(mine)
        except OSError:
            pass
    got = wait_until(lambda: (lambda g: g if g.code == 0 else None)(run(capture(place, logs, "--steps", "+4"))), 10)
    check(got, "no capture after the noise")
    first, last, session = captured(got)
    check_session(session, first, last, 4)
    for s in quiet:
        s.close()
    got = finish(process)
    good(got)
    check("done" in got.out, got.told())


def asker_leaves(place, full):
    """Ctrl-C of podprof capture takes the request back."""
    logs = place.new_logs()
    process = begin(place, logs, ["250", "20"])
    asker = start(capture(place, logs, "--steps", "+100000"))
    time.sleep(0.5)
    asker.kill()
    asker.wait()
    first, last, session = captured(run(capture(place, logs, "--steps", "+4")))
    check_session(session, first, last, 4)
    good(finish(process))


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (on_request, two_at_once, drifting, fast, to_its_end, refused, bad_clients, asker_leaves)},
                       __doc__))

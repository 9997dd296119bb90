#!/usr/bin/python3
"""Two keepers of one job on this node, also where one has no processor for a while: what was recorded is in its one session. Run by
ctest session_stalls."""
import glob
import json
import os
import signal
import socket
import sys
import time

from e2e import h5
from e2e_hosts import good, status
import jobs
from jobs import check, finish, run, sessions, start, wait_until


def under_keeper(place, logs, name, rank, *options, **env):
    """One of two ranks, each under a keeper of its own, until pair_over(); with its spool."""
    spool = os.path.join(place.scratch, f"{name}{rank}")
    more = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": name, "GUEST_STOP": logs + "-stop", **env}
    return start(place.under(logs, [place.program("steps"), "100000", "10"], "--spool", spool, *options), more), spool


def pair(place, logs, name, *options, **env):
    return zip(*(under_keeper(place, logs, name, rank, *options, **env) for rank in range(2)))


def pair_over(logs, began, limit=60.0):
    with open(logs + "-stop", "w", encoding="ascii"):
        pass
    for one in began:
        good(finish(one, limit))


def meet(spools):
    """Both keepers know that they are one job's."""
    check(wait_until(lambda: says(spools[0], "every rank of the job is heard of") and says(spools[1], "reached rank 0's keeper")), "they do not meet")


def says(spool, words):
    """Is it in the keeper's log?"""
    path = spool + "/keeper.log"
    return os.path.exists(path) and words in open(path, encoding="utf-8").read()


def asked_once(place, full):
    """podprof capture finds both keepers on this node: one window, one session."""
    logs = place.new_logs()
    began, spools = pair(place, logs, "once", "--steps", "90000:90010")
    meet(spools)
    for _ in range(2):
        got = run([place.podprof(), "capture", logs, "--steps", "+5"])
        check(got.code == 0 and got.out.count("captured on 2 of 2 ranks, 2 hosts") == 1, got.transcript())
    check(len(sessions(logs)) == 2, jobs.tree(logs))
    pair_over(logs, began)


def stopped(place, full):
    """podprof capture asks a keeper that runs, and waits for none where all are stopped."""
    logs = place.new_logs()
    began, spools = pair(place, logs, "stopped", "--steps", "90000:90010", PODPROF_SILENCE_MS=1000)
    meet(spools)
    keepers = [jobs.keeper_of(s) for s in spools]
    for frozen, code, words in (((0,), 1, "rank 0's keeper did not reply"), ((1,), 0, "captured on 1 of 2 ranks"), ((0, 1), 1, "is stopped. Continue it")):
        for i in frozen:
            jobs.freeze(keepers[i])
        try:
            got = run([place.podprof(), "capture", logs, "--steps", "+5"], limit=30)
            check(got.code == code and words in got.out + got.err, f"{frozen} stopped: " + got.transcript())
        finally:
            for i in frozen:
                os.kill(keepers[i], signal.SIGCONT)
        if len(frozen) == 1:
            check(wait_until(lambda s=spools[1 - frozen[0]]: says(s, "replies again")), f"keeper {frozen[0]} does not come back")
    pair_over(logs, began)


def captured(place, logs):
    """The session of one request: all ranks, on one clock."""
    before = set(sessions(logs))
    got = run([place.podprof(), "capture", logs, "--steps", "+5"])
    check(got.code == 0 and got.out.count("captured on 2 of 2 ranks, 2 hosts") == 1, got.transcript())
    found = set(sessions(logs)) - before
    check(len(found) == 1, jobs.tree(logs))
    session = found.pop()
    check(status(session) == ["delivered"] * 2, status(session))
    with h5(session) as f:
        check(not f["clock/domain"][()].any(), f["clock/domain"][()])


def ask(spool, words):
    """The connection of a request to one keeper."""
    directory = os.open(spool, os.O_PATH)
    asker = socket.socket(socket.AF_UNIX)
    asker.settimeout(20)
    asker.connect(f"/proc/self/fd/{directory}/socket")
    os.close(directory)
    asker.sendall(f"podprof 1 {words}\n".encode())
    return asker


def answer(asker):
    """All that it says until it closes the connection."""
    with asker:
        return b"".join(iter(lambda: asker.recv(4096), b""))


def ranks(place, logs):
    return json.loads(run([place.podprof(), "status", "--json", logs]).out)["jobs"][0]["ranks"]


def came_back(place, full):
    """One keeper, then the other one, has no processor until it counts as lost: afterwards captures are of all ranks."""
    logs = place.new_logs()
    began, spools = pair(place, logs, "back", "--steps", "90000:90010", PODPROF_SILENCE_MS=1000)
    meet(spools)
    for stopped, words in ((0, "rank 0's keeper did not reply"), (1, "no longer replied")):
        keeper, other = jobs.keeper_of(spools[stopped]), spools[1 - stopped]
        jobs.freeze(keeper)
        lost = wait_until(lambda s=other, w=words: says(s, w))
        asker = ask(other, "capture duration=600000000000") if not stopped else None
        recorded = not asker or wait_until(lambda s=other: says(s, "all ranks record now"))
        os.kill(keeper, signal.SIGCONT)
        check(lost and recorded, f"nobody misses keeper {stopped}")
        check(wait_until(lambda s=other: says(s, "replies again")), f"keeper {stopped} does not come back")
        if asker:  # what the other one had its ranks record without rank 0's is over
            check(b"rank 0's keeper has been reached meanwhile" in answer(asker), "no answer")
            check(wait_until(lambda: not any(r["recording"] for r in ranks(place, logs)), 20, 0.2), ranks(place, logs))
        captured(place, logs)
    check(len(sessions(logs)) == 2, jobs.tree(logs))
    pair_over(logs, began)


def frozen(place, full):
    """All of the job stands still for longer than keepers wait for each other, as in a snapshot of its machines: captures are of all ranks
    afterwards."""
    logs = place.new_logs()
    began, spools = pair(place, logs, "frozen", "--steps", "90000:90010", PODPROF_SILENCE_MS=1000)
    meet(spools)
    pids = [int(p.split("/")[2]) for p in glob.glob("/proc/[0-9]*/environ") if b"TORCHELASTIC_RUN_ID=frozen" in readable(p)]
    pids = sorted({*pids, *(p for s in spools for p in jobs.keepers(s) + jobs.keepers(s, "guard"))})
    check(len(pids) >= 4, pids)
    for pid in pids:
        jobs.freeze(pid)
    time.sleep(70 if full else 2.5)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    captured(place, logs)
    check(len(sessions(logs)) == 1, jobs.tree(logs))
    pair_over(logs, began, 180)


def readable(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def own_windows(place, full):
    """Rank 0's keeper has no processor while a window passes: the other one writes that window on its own, none of those before again, and
    the session of rank 0 says so."""
    logs = place.new_logs()
    began, spools = pair(place, logs, "own", "--steps", "50:60,300:310,90000:90010", PODPROF_SILENCE_MS=1000)
    check(wait_until(lambda: says(spools[0], "steps 50:60: session")), "no first window")
    keeper = jobs.keeper_of(spools[0])
    jobs.freeze(keeper)
    own = wait_until(lambda: says(spools[1], "steps 300:310: session"))
    os.kill(keeper, signal.SIGCONT)
    check(own, "no window of its own")
    check(wait_until(lambda: says(spools[0], "steps 300:310: session")), "rank 0's keeper does not go on")
    pair_over(logs, began)
    found = sorted(tuple(s[:30] for s in status(one)) for one in sessions(logs))
    check(found == [("delivered", "delivered"), ("delivered", "missing: its keeper wrote a se"), ("missing: no record of it arriv", "delivered")], found)


def late_join(place, full):
    """Rank 0's keeper has no processor while the other one calls it, and gives up: it calls again."""
    logs = place.new_logs()
    first, zero = under_keeper(place, logs, "called", 0, "--steps", "90000:90010", PODPROF_SILENCE_MS=1000)
    check(wait_until(lambda: says(zero, "leads: listens")), "rank 0's keeper does not listen")
    keeper = jobs.keeper_of(zero)
    jobs.freeze(keeper)
    second, one = under_keeper(place, logs, "called", 1, "--steps", "90000:90010", PODPROF_SILENCE_MS=1000)
    gave_up = wait_until(lambda: says(one, "does not reply at its invitation"))
    os.kill(keeper, signal.SIGCONT)
    check(gave_up, "it goes on calling")
    meet([zero, one])
    captured(place, logs)
    pair_over(logs, [first, second])


def late_keeper(place, full):
    """The second keeper has no processor until its rank is over: it is heard all the same."""
    logs, began, go = place.new_logs(), [], os.path.join(place.scratch, "go")
    for rank in range(2):
        env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "late"}
        spool = os.path.join(place.scratch, f"late{rank}")
        program = ["sh", "-c", f": >{spool}-begun; until [ -e {go} ]; do sleep 0.01; done; exec {place.program('steps')} 20 10"]
        began.append(start(place.under(logs, program, "--spool", spool, "--steps", "3:8"), env))
    check(wait_until(lambda: os.path.exists(spool + "-begun"), 20), "the job does not begin")  # its keeper is up
    keeper = jobs.keeper_of(spool)
    jobs.freeze(keeper)
    with open(go, "w", encoding="ascii"):
        pass
    check(wait_until(lambda: glob.glob(spool + "/rank-1-*.ring")), "no ring")
    time.sleep(1)
    os.kill(keeper, signal.SIGCONT)
    for one in began:
        good(finish(one))
    found = sessions(logs)
    check(len(found) == 1, jobs.tree(logs))
    check(status(found[0]) == ["delivered"] * 2, status(found[0]))


def share_given(place, full):
    """The second keeper has no processor from when its share was sent until rank 0's has gone: it writes no session of its own."""
    check(any(is_given(place) for _ in range(5)), "no share was seen")


def is_given(place):
    """The same; False where the share was there for so short a time that nobody saw it."""
    logs, began = place.new_logs(), []
    spools = [os.path.join(place.scratch, f"given{place.count}-{rank}") for rank in range(2)]
    for rank, spool in enumerate(spools):
        env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": f"given{place.count}"}
        began.append(start(place.under(logs, [place.program("steps"), "30", "10"], "--spool", spool), env))
    (first, second), was_seen = (jobs.keeper_of(s) for s in spools), False
    try:
        while not was_seen and began[1].poll() is None:
            was_seen = bool(glob.glob(spools[1] + "/share-*"))
            time.sleep(0.0005)
        jobs.freeze(first)
        time.sleep(0.5)
        jobs.freeze(second)
        os.kill(first, signal.SIGCONT)
        wait_until(lambda: began[0].poll() is not None, 2)  # where it has no share yet it waits for the second
        time.sleep(0.2)
    except ProcessLookupError:
        was_seen = False
    finally:
        for keeper in set(jobs.keepers("/given")) & {first, second}:
            os.kill(keeper, signal.SIGCONT)
    for one in began:
        good(finish(one))
    check(len(sessions(logs)) == 1 and status(sessions(logs)[0]) == ["delivered"] * 2, jobs.tree(logs))
    return was_seen


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (asked_once, stopped, came_back, frozen, own_windows, late_join, late_keeper, share_given)}, __doc__))

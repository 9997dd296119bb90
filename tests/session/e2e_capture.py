#!/usr/bin/python3
"""podprof capture beside a live job: the same steps on all ranks, two at once, ranks that drift, hang or mark nothing, bad clients, ends.
Run by ctest session_capture."""
import glob
import json
import os
import re
import signal
import socket
import sys
import time

from e2e import check_dataset, good, h5, text, xspaces
from hosts import Hosts
import jobs
from jobs import check, finish, over, run, sessions, start, start_until, wait_until


def spool_of(logs):
    for options in glob.glob(f"/dev/shm/podprof-{os.getuid()}/*/options"):
        try:
            if f"OUTPUT={logs}\n" in open(options).read():
                return os.path.dirname(options)
        except OSError:
            continue
    return None


LONG = ["2000", "20"]  # more than any case needs: it ends by over()


def begin(place, logs, words, *options, ranks=4):
    """A job that has begun to mark steps."""
    process = start_until(place, place.mpirun(ranks, place.under(logs, [place.program("windows"), *words], *options)))
    check(wait_until(lambda: spool_of(logs) and len(glob.glob(spool_of(logs) + "/rank-*.ring")) == ranks, 20), "the job does not begin")
    time.sleep(0.2)
    return process


def capture(place, logs, *options):
    return [place.podprof(), "capture", logs, *options]


def captured(got):
    """(first, last) of what was said, and its session."""
    check(got.code == 0 and not got.err, got.transcript())
    said = re.fullmatch(r"steps (\d+)\.\.(\d+) captured on (\d+) of \3 ranks?, 1 host\n(\S+)  \(podprof report \S+\)\n", got.out)
    check(said, got.transcript())
    return int(said[1]), int(said[2]) + 1, said[4]


def check_session(session, first, last, workers):
    check_dataset(session, workers=workers, steps=range(first, last))
    with h5(session) as f:
        check((f["breakdown/present"][()] == 1).all(), f"steps {first}:{last} are not on all ranks")
        check(all(text(s) == "delivered" for s in f["worker/status"][()]), f["worker/status"][()])


def on_request(place, full):
    logs = place.new_logs()
    process = begin(place, logs, LONG)
    one = captured(run(capture(place, logs, "--steps", "+5")))
    got = run([place.podprof(), "report", logs])  # as the capture said; nobody waits for the end of a job that goes on
    check(got.code == 0 and "a job still records into" in got.err and os.path.basename(one[2]) in got.out, got.transcript())
    two = captured(run(capture(place, logs, "--steps=+3")))
    got = run(capture(place, logs, "--steps=+2", "--json"))
    check(got.code == 0 and json.loads(got.out)["path"] in sessions(logs) and "captured" in got.err, got.transcript())
    check(process.poll() is None, "the job was over before its captures were")
    check(one[1] - one[0] == 5 and two[1] - two[0] == 3 and one[1] <= two[0], (one, two))
    for first, last, session in (one, two):
        check_session(session, first, last, 4)
    got = over(process)
    good(got)
    check(len(sessions(logs)) == 4, jobs.tree(logs))


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
    first, last, session = captured(run(capture(place, logs, "--steps", "+6")))
    check_session(session, first, last, 4)
    check(finish(process).code == 0, "the job failed")


def fast(place, full):
    """Steps that come faster than the keeper looks: tried again until all ranks were in time."""
    logs = place.new_logs()
    process = begin(place, logs, ["9000", "0"])
    got = run(capture(place, logs, "--steps", "+50"))
    if got.code:  # they may be too fast, or over: then it is said
        check("they are too short" in got.err or "the job is over" in got.err or "before any rank began" in got.err, got.transcript())
    else:
        first, last, session = captured(got)
        check_session(session, first, last, 4)
    check(finish(process).code == 0, "the job failed")


def to_its_end(place, full):
    """The job ends inside what was asked for: the steps so far."""
    logs = place.new_logs()
    process = begin(place, logs, LONG)
    asker, log = start(capture(place, logs, "--steps", "+100000")), spool_of(logs) + "/keeper.log"
    check(wait_until(lambda: "request: " in open(log, encoding="utf-8").read()), "nobody asks")
    time.sleep(0.5)
    good(over(process))
    first, last, session = captured(finish(asker))
    check_session(session, first, last, 4)
    with h5(sessions(logs)[-1]) as f:  # of the whole job
        check(len(sessions(logs)) == 2 and f["breakdown/step"][-1] == last - 1, (first, last, f["breakdown/step"][()]))


def refused(place, full):
    logs = place.new_logs()
    process = begin(place, logs, [*LONG, "unmarked", "0"], ranks=1)
    got = run(capture(place, logs))
    check(got.code == 1 and "no rank marks any" in got.err, got.transcript())
    check(over(process).code == 0, "the job failed")
    check(wait_until(lambda: not spool_of(logs), 20), "the keeper stays")  # else it is asked, and leaves meanwhile
    got = run(capture(place, logs))
    check(got.code == 1 and "no job records into" in got.err, got.transcript())
    for bad in ("5", "+0", "+", "5:9", "+1x"):
        got = run(capture(place, logs, "--steps", bad))
        check(got.code == 64 and "is not a number of steps to come" in got.err, f"{bad}: {got.transcript()}")


def bad_clients(place, full):
    """Noise on the socket, clients that leave or say nothing: the next capture is as good, and the job does not notice."""
    logs = place.new_logs()
    process = begin(place, logs, LONG)
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
    got = wait_until(lambda: (lambda g: g if g.code == 0 else None)(run(capture(place, logs, "--steps", "+4"))))
    check(got, "no capture after the noise")
    first, last, session = captured(got)
    check_session(session, first, last, 4)
    for s in quiet:
        s.close()
    got = over(process)
    good(got)
    check("done" in got.out, got.transcript())


def asker_leaves(place, full):
    """Ctrl-C of podprof capture takes the request back."""
    logs = place.new_logs()
    process = begin(place, logs, LONG)
    asker = start(capture(place, logs, "--steps", "+100000"))
    time.sleep(0.5)
    asker.kill()
    asker.wait()
    first, last, session = captured(run(capture(place, logs, "--steps", "+4")))
    check_session(session, first, last, 4)
    good(over(process))


def window(session):
    """/window of a session: texts that are equal on all ranks, and times."""
    with h5(session) as f:
        w = f["window"]
        same = {k: {text(t) for t in w[k][()]} for k in ("by", "kind", "channel", "request")}
        check(all(len(v) == 1 for v in same.values()), same)
        found = {k: v.pop() for k, v in same.items()}
        found.update({k: [int(t) for t in w[k][()]] for k in ("asked_ns", "acked_ns", "started_ns", "ended_ns", "delivered")})
        found.update(tries=int(w["tries"][()]), reason=[text(t) for t in w["reason"][()]])
        return found


NEVER = -2**63


def by_time(place, full):
    """Cut out of what is recorded anyway; events of some ranks; what is not held, or not there, is said."""
    logs, covered = place.new_logs(), []
    process = begin(place, logs, LONG)
    for options, kind in ((("--duration", "300ms"), "duration"), (("--last", "300ms"), "last")):
        first, last, session = captured(run(capture(place, logs, *options, "--ranks", "1-2")))
        check(last - first <= 15, f"{first}:{last} of 300 ms by steps of 20 ms")
        check_session(session, first, last, 4)
        with h5(session) as f:
            covered.append(int(f["step/end_ns"][()].max() - f["step/begin_ns"][()].min()))
        found = window(session)
        check(found["by"] == "capture" and found["kind"] == kind and found["channel"] == "none", found)
        check(found["delivered"] == [1] * 4 and not any(found["reason"]), found)
        length = [e - b for b, e in zip(found["started_ns"], found["ended_ns"])]
        check(all(abs(n - 300e6) < 1e6 for n in length), f"not 300 ms: {length}")
        with h5(session) as f:
            check(any("--ranks 1-2" in text(w) for w in f["quality/warning"][()]), "nothing is said of --ranks")
    got = run(capture(place, logs, "--last", "1h"))
    check(got.code == 0 and "the job has recorded for only" in got.out, got.transcript())
    all_time = window(re.search(r"\n(\S+)  \(", got.out)[1])
    check(all(0 <= s < e for s, e in zip(all_time["started_ns"], all_time["ended_ns"])), f"an hour of a job of seconds: {all_time}")
    got = run(capture(place, logs, "--ranks", "4-7"))
    check(got.code == 1 and "the job has 4 ranks, and none of --ranks 4-7" in got.err, got.transcript())
    for bad in (("--ranks", "5-3"), ("--duration", "0"), ("--last", "x"), ("--last", "1s", "--duration", "1s")):
        check(run(capture(place, logs, *bad)).code == 64, bad)
    good(over(process))
    with h5(sessions(logs)[-1]) as f:  # of the whole job: what is cut off at both ends is less than a step
        longest = int((f["step/end_ns"][()] - f["step/begin_ns"][()]).max())
    check(all(300e6 - 2.5 * longest <= ns <= 300e6 for ns in covered), f"{covered} ns of 300 ms, by steps of {longest} ns at most")


def outside_windows(place, full):
    """A job whose window of --steps is written, and one that records nothing yet: both take captures, for steps and for a time."""
    logs = place.new_logs()
    process = begin(place, logs, LONG, "--steps", "5:8")
    check(wait_until(lambda: sessions(logs)), "no session of --steps")
    one = captured(run(capture(place, logs, "--steps", "+4")))
    check_session(one[2], one[0], one[1], 4)
    found = window(one[2])
    check(found["channel"] == "mpi" and found["tries"] == 1, found)
    check(all(a <= k <= s < e for a, k, s, e in zip(*(found[k + "_ns"] for k in ("asked", "acked", "started", "ended")))), found)
    first, last, session = captured(run(capture(place, logs, "--duration", "300ms")))
    check_session(session, first, last, 4)
    check(window(session)["channel"] == "memory" and first >= one[1], window(session))
    with h5(session) as f:
        check(not f["quality/dropped"][()].any(), f["quality/dropped"][()])
    got = run(capture(place, logs, "--last", "1s"))
    check(got.code == 1 and "this job records only in windows" in got.err, got.transcript())
    got = over(process)
    good(got)
    check("steps 5..7 captured on 4 of 4 ranks" in got.err and len(sessions(logs)) == 3, got.transcript())


def kept(place, full):
    """--keep holds the last second only, and writes it at the end."""
    logs = place.new_logs()
    process, began = begin(place, logs, LONG, "--keep", "1s"), time.monotonic()
    time.sleep(2.5)
    got = run(capture(place, logs, "--last", "30s"))
    said = re.search(r"only its last (\d+\.\d) s were kept", got.out)
    check(got.code == 0 and said and 1 <= float(said[1]) < time.monotonic() - began, got.transcript())
    good(over(process))
    with h5(sessions(logs)[-1]) as f:
        numbers, begin_ns, end_ns = f["breakdown/step"][()].tolist(), f["step/begin_ns"][()], f["step/end_ns"][()]
        check(numbers[0] > 0 and numbers == list(range(numbers[0], f["worker/last_step"][()].max() + 1)), f"not the last steps: {numbers}")
    cut, longest = window(sessions(logs)[-1])["started_ns"][0], (end_ns - begin_ns).max()
    check(cut <= begin_ns.min() < cut + 2 * longest and end_ns.max() - cut <= 1e9, f"cut at {cut}, not a second before the end: {begin_ns} {end_ns}")
    for bad in (("--keep", "1s", "--steps", "1:2"), ("--trigger", "step>3x", "--duration", "1s"), ("--keep", "0"), ("--trigger", "3x")):
        check(run([place.podprof(), "run", *bad, "--", "true"]).code == 64, bad)


def slow_step(place, full):
    """One slow step on one rank: one session, of all ranks, with that step in it; nothing else is written."""
    logs = place.new_logs()
    got = run(place.mpirun(4, place.under(logs, [place.program("windows"), "100", "10", "slow", "2", "60"], "--trigger", "step>30x")))
    check(got.code == 0 and "captured by --trigger" in got.err, got.transcript())
    found = sessions(logs)
    check(len(found) == 1, jobs.tree(logs))
    check_session(found[0], 55, 62, 4)
    check(window(found[0])["by"] == "trigger" and "step 60 of rank" in window(found[0])["request"], window(found[0]))
    with h5(found[0]) as f:
        took = f["breakdown/step_ns"][()].max(axis=1)
        check(took.argmax() == 5 and took[5] > 1e9, took)
    logs = place.new_logs()
    got = run(place.mpirun(4, place.under(logs, [place.program("windows"), "60", "5"], "--trigger", "step-over=100x")))
    check(got.code == 0 and "no step was slow enough" in got.err and not sessions(logs), got.transcript())
    got = run(place.mpirun(2, place.under(place.new_logs(), [place.program("windows"), "20", "5"], "--trigger", "step-over=3x")))
    check("no rank ended the 20 steps that give its median" in got.err, got.transcript())


def hide(spool):
    """As on another host: the socket cannot be reached."""
    os.rename(spool + "/socket", spool + "/hidden")


def by_file(place, full):
    """Through the log directory; files that cannot be trusted are left alone, a request that is taken back is forgotten."""
    logs = place.new_logs()
    process = begin(place, logs, LONG)
    hide(spool_of(logs))
    here = os.path.dirname(wait_until(lambda: glob.glob(logs + "/.podprof-requests/*/keeper"))[0])
    for path in (os.path.dirname(here), here, here + "/keeper"):
        check(os.stat(path).st_mode & 0o077 == 0, path)
    line = "podprof 1 capture steps=3\n"

    def put(name, words=line, mode=0o600):
        with open(os.path.join(here, "new"), "w") as f:
            f.write(words)
        os.chmod(here + "/new", mode)
        os.rename(here + "/new", os.path.join(here, name))

    put("0" * 16 + ".request", mode=0o644)
    put("1" * 16 + ".request", words=line * 100)
    put("2" * 16 + ".request", words="")
    put("plain")
    os.symlink("plain", here + "/" + "3" * 16 + ".request")
    os.link(here + "/plain", here + "/" + "4" * 16 + ".request")
    os.mkfifo(here + "/" + "5" * 16 + ".request", 0o600)
    os.mkdir(here + "/" + "6" * 16 + ".request", 0o700)
    put("7" * 16 + ".request")
    os.utime(here + "/" + "7" * 16 + ".request", (1, 1))
    put("8" * 16 + ".request", words="capture 5\n")
    asker = start(capture(place, logs, "--steps", "+100000"))
    check(wait_until(lambda: glob.glob(here + "/*.part")), "nobody takes a request")
    asker.terminate()
    finish(asker)
    first, last, session = captured(run(capture(place, logs, "--steps", "+4")))
    check_session(session, first, last, 4)
    check(window(session)["by"] == "file", window(session))
    log = open(spool_of(logs) + "/keeper.log").read()
    check(log.count("is refused: ") == 8, log)
    check(os.path.exists(here + "/" + "8" * 16 + ".answer") and not os.path.exists(here + "/" + "0" * 16 + ".answer"), os.listdir(here))
    good(over(process))
    check(len(sessions(logs)) == 2, jobs.tree(logs))
    check(wait_until(lambda: not os.path.exists(logs + "/.podprof-requests")), jobs.tree(logs))


def rank_dies(place, full):
    """Ranks that stop, and die far inside, a window that was asked for: it is written with what there is of them."""
    logs = place.new_logs()
    process = begin(place, logs, ["200", "20", "late", "3", "60"], ranks=4)
    asker = start(capture(place, logs, "--steps", "+60"))
    time.sleep(0.5)
    pids = {int(p.split("-")[-2]): int(p.split("-")[-1][:-5]) for p in glob.glob(spool_of(logs) + "/rank-*.ring")}
    jobs.freeze(pids[1])
    time.sleep(3 if full else 1)
    os.kill(pids[1], signal.SIGCONT)
    os.kill(pids[3], signal.SIGKILL)
    got = finish(asker)
    check(got.code == 0 and "steps " in got.out, got.transcript())
    session = re.search(r"\n(\S+)  \(", got.out)[1]
    with h5(session) as f:
        states = [text(t) for t in f["worker/status"][()]]
    check(states[:3] == ["delivered"] * 3 and states[3].split(":")[0] in ("killed", "partial"), states)
    finish(process)


def several_hosts(place, full):
    """Asked on a host that does not lead, and by a file from one that is none of the job's: all ranks, one session."""
    with Hosts(place, 2) as hosts:
        logs = place.new_logs()
        command = place.under(logs, [place.program("windows"), *LONG])
        process = start_until(place, hosts.on(hosts.front, hosts.mpirun(4, command, "-x", "GUEST_STOP")))
        check(wait_until(lambda: glob.glob(logs + "/.podprof-requests/*/keeper")), "nobody takes requests")
        time.sleep(1)
        for host, options, by in ((hosts.names[1], ("--steps", "+5", "--ranks", "0"), "capture"), (hosts.front, ("--duration", "300ms"), "file"),
                                  (hosts.names[0], ("--last", "300ms"), "capture")):
            got = run(hosts.on(host, capture(place, logs, *options)))
            check(got.code == 0 and "captured on 4 of 4 ranks, 2 hosts" in got.out and got.out.count("captured") == 1, got.transcript())
            session = re.search(r"\n(\S+)  \(", got.out)[1]
            check_dataset(session, workers=4)
            found = window(session)
            check(found["by"] == by and found["delivered"] == [1] * 4 and NEVER not in found["asked_ns"] + found["started_ns"], found)
            check(len(xspaces(logs, session)) == (1 if "--ranks" in options else 2), xspaces(logs, session))
        got = over(process)
        check(got.code == 0, got.transcript())


def after_windows(place, full):
    """Two hosts, past the only window of the options, then past the last of two: captures of all ranks from either host, to the job's end."""
    with Hosts(place, 2) as hosts:
        for windows, printed, before in (("5:8", "steps 5..7 captured on 4 of 4 ranks, 2 hosts", 1),
                                      ("5:8,12:15", "2 windows captured on 4 of 4 ranks, 2 hosts: steps 5..7, 12..14", 2))[0 if full else 1:]:
            logs = place.new_logs()
            command = place.under(logs, [place.program("windows"), *LONG], "--steps", windows)
            process = start_until(place, hosts.on(hosts.front, hosts.mpirun(4, command, "-x", "GUEST_STOP")))
            check(wait_until(lambda logs=logs, n=before: len([s for s in sessions(logs) if os.path.exists(s + "/summary.txt")]) == n, 20),
                  jobs.tree(logs))
            found, asked = [], [(hosts.names[1], "--steps", "+5"), (hosts.names[0], "--duration", "300ms"), (hosts.front, "--steps", "+3")]
            for at, options in enumerate(asked):
                got = run(hosts.on(options[0], capture(place, logs, *options[1:])))
                said = re.fullmatch(r"steps (\d+)\.\.(\d+) captured on 4 of 4 ranks, 2 hosts\n(\S+)  \(podprof report \S+\)\n", got.out)
                check(got.code == 0 and said, (at, got.transcript()))
                check_dataset(said[3], steps=range(int(said[1]), int(said[2]) + 1), workers=4)
                check(len(xspaces(logs, said[3])) == 2 and (options[1] != "--steps" or len(range(int(said[1]), int(said[2]) + 1)) == int(options[2])),
                      got.transcript())
                found.append(int(said[1]))
            check(found == sorted(found), found)
            two = [start(hosts.on(name, capture(place, logs, "--steps", "+4"))) for name in hosts.names]
            for got in [finish(p) for p in two]:
                check(got.code == 0 and "captured on 4 of 4 ranks, 2 hosts" in got.out, got.transcript())
            to_the_end = start(hosts.on(hosts.names[1], capture(place, logs, "--steps", "+5000")))
            time.sleep(1)
            got, last = over(process), finish(to_the_end)
            check(got.code == 0 and printed in got.err and got.err.count("captured") == 1, got.transcript())
            check(last.code == 0 and "captured on 4 of 4 ranks, 2 hosts" in last.out, last.transcript())
            check(len(sessions(logs)) == before + 6, jobs.tree(logs))
            for name in hosts.names:
                check(wait_until(lambda n=name: not hosts.spools(n), 20), f"left in {name}: {hosts.spools(name)}")


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (on_request, two_at_once, drifting, fast, to_its_end, refused, bad_clients, asker_leaves, by_time,
                                              outside_windows, kept, slow_step, by_file, rank_dies,
                                              several_hosts, after_windows)},
                       __doc__))

#!/usr/bin/python3
"""Several windows in one job: lists, repeats, edges that meet, ranks that are late, silent or killed, a child that dies. Run by ctest
session_windows."""
import glob
import os
import re
import signal
import sys
import time

from e2e import check_dataset, good, h5, text, train, xspaces
from hosts import Hosts
import jobs
from jobs import check, run, sessions, start, start_until, finish, over, wait_until


def job(place, logs, words, *options, ranks=4):
    return place.mpirun(ranks, place.under(logs, [place.program("windows"), *words], *options))


def by_first_step(found):
    """{first step: session directory}"""
    table = {}
    for session in found:
        with h5(session) as f:
            table[int(f["breakdown/step"][0])] = session
    return table


def check_windows(logs, windows, workers, in_step=True):
    """One session a window, each with its own steps and nothing of the others'."""
    found = by_first_step(sessions(logs))
    check(sorted(found) == [w[0] for w in windows], f"sessions begin at {sorted(found)}, not {windows}: {jobs.tree(logs)}")
    last_end = before = None
    for first, last in windows:
        session = found[first]
        check_dataset(session, workers=workers, steps=range(first, last))
        check(xspaces(logs, session), f"no XSpace of {session}")
        with h5(session) as f:
            check(all(text(s) == "delivered" for s in f["worker/status"][()]), f["worker/status"][()])
            check((f["breakdown/present"][()] == 1).all(), f"steps {first}:{last} are not on all ranks")
            epoch = int(f.attrs["epoch_realtime_ns"])
            begin, end = epoch + int(f["step/begin_ns"][()].min()), epoch + int(f["step/end_ns"][()].max())
            events = f["collective/step"][()] if "collective" in f else []
            check(all(int(n) < last + 2 for n in events), f"collectives of later steps in {first}:{last}: {events}")
            lost = [f"quality/{k}" for k in f["quality"] if "lost" in k and f["quality"][k][()].sum()]
            check(not lost, lost)
        check(not in_step or last_end is None or first == before or begin > last_end, "windows do not follow each other")
        last_end, before = end, last
    return found


def lists(place, full):
    """Also two that meet, and a window of one step."""
    logs = place.new_logs()
    got = train(place, logs, words=["--steps", "60"], options=["--steps", "10:20,30:35,35:40,50:51"])
    good(got)
    lines = got.podprof_lines()
    check(lines[0] == "podprof: 4 windows captured on 8 of 8 ranks, 1 host: steps 10..19, 30..34, 35..39, step 50", lines)
    found = check_windows(logs, [(10, 20), (30, 35), (35, 40), (50, 51)], 8)
    names = [os.path.basename(found[n]) for n in (10, 50)]
    check(lines[1] == f"podprof: {logs}/podprof/{names[0]} to {names[1]}  (podprof report --list {logs})", lines)


def every(place, full):
    logs = place.new_logs()
    got = train(place, logs, ranks=4, words=["--steps", "100"], options=["--steps", "10:12", "--every", "20"])
    good(got)
    check("5 windows captured on 4 of 4 ranks, 1 host: steps 10..11, 30..31, 50..51, 70..71, 90..91" in got.err, got.err)
    check_windows(logs, [(n, n + 2) for n in range(10, 100, 20)], 4)


def too_many(place, full):
    """Windows that come faster than sessions can be written: some are left out and counted, none is lost in silence."""
    logs, steps = place.new_logs(), 500 if full else 200
    got = train(place, logs, ranks=2, words=["--steps", str(steps)], options=["--steps", "10:11", "--every", "2", "--wait", "60"])
    check(got.code == 0 and not got.other_err(), got.transcript())
    captured, left_out = (re.search(p, got.err) for p in (r"(\d+) windows captured on 2 of 2", r"(\d+) windows were not written"))
    check(captured and int(captured[1]) == len(sessions(logs)), got.err)
    check(int(captured[1]) + int(left_out[1] if left_out else 0) == (steps - 10) // 2, got.err)


def while_it_runs(place, full):
    """The first session is complete while the job goes on; the last one of a job that is past its windows too."""
    logs = place.new_logs()
    process = start_until(place, job(place, logs, ["2000", "20"], "--steps", "5:8,20:24"))
    check(wait_until(lambda: len(sessions(logs)) == 2, 20), f"no sessions while the job runs: {jobs.tree(logs)}")
    check(process.poll() is None, "the job was over before its windows were written")
    for session in sessions(logs):
        check(wait_until(lambda s=session: os.path.exists(os.path.join(s, "summary.txt"))), session)
    got = over(process)
    good(got)
    check_windows(logs, [(5, 8), (20, 24)], 4)


def not_reached(place, full):
    """In the past when the first step is marked, and behind the end."""
    logs = place.new_logs()
    got = run(job(place, logs, ["40", "1", "from", "100"], "--steps", "10:20,110:112,900:910"))
    good(got, 3)
    check("1 window captured on 4 of 4 ranks, 1 host: steps 110..111" in got.err, got.err)
    check("steps 10:20, 900:910 were not captured; the last marked step is 139" in got.err, got.err)
    check_windows(logs, [(110, 112)], 4)
    logs = place.new_logs()
    got = run(job(place, logs, ["10", "1"], "--steps", "50:60,70:80"))
    good(got, 1)
    check("no session was written: no window was reached; the last marked step is 9. Give steps that the job reaches" in got.err, got.err)


def unfinished(place, full):
    """The job ends inside the second window: its steps so far are a session."""
    logs = place.new_logs()
    got = run(job(place, logs, ["30", "1"], "--steps", "5:8,20:90"))
    good(got)
    check_windows(logs, [(5, 8), (20, 30)], 4)


def unmarked(place, full):
    """A rank that marks no step is in each window with what it did meanwhile, and holds nobody up for long."""
    logs = place.new_logs()
    got = run(job(place, logs, ["60", "1", "unmarked", "2"], "--steps", "5:8,20:24"))
    check(got.code == 0 and not got.other_err(), got.transcript())
    found = by_first_step(sessions(logs))
    check(sorted(found) == [5, 20], jobs.tree(logs))
    for session in found.values():
        with h5(session) as f:
            check(int(f.attrs["ranks_delivered"]) == 4, f.attrs["ranks_delivered"])
            check(not f["breakdown/present"][()][:, 2].any(), "steps of a rank that marks none")


def late(place, full):
    """Ranks that drift: one is whole windows behind the others."""
    logs = place.new_logs()
    got = run(job(place, logs, ["60", "1", "late", "3", "25"], "--steps", "5:8,20:24,40:42"))
    good(got)
    check_windows(logs, [(5, 8), (20, 24), (40, 42)], 4, in_step=False)


def check_killed(logs):
    """The first window was whole, the second has what there is."""
    found = wait_until(lambda: len(sessions(logs)) == 2 and by_first_step(sessions(logs)), 20)
    check(found and sorted(found) == [5, 20], jobs.tree(logs))
    check_dataset(found[5], workers=4, steps=range(5, 8))
    with h5(found[5]) as f:
        check(all(text(s) == "delivered" for s in f["worker/status"][()]), f["worker/status"][()])
    with h5(found[20]) as f:
        status = [text(s) for s in f["worker/status"][()]]
        check(status[1].split(":")[0] in ("killed", "partial"), status)


def killed(place, full):
    """A rank dies in the second window."""
    logs = place.new_logs()
    run(job(place, logs, ["60", "5", "killed", "1", "22"], "--steps", "5:8,20:24"))
    check_killed(logs)


def killed_unseen(place, full):
    """The same, and the keeper has no processor until the job is over: the window that was passed is delivered all the same."""
    logs, spool = place.new_logs(), os.path.join(place.scratch, "spool")
    process = start(job(place, logs, ["60", "5", "killed", "1", "22"], "--steps", "5:8,20:24", "--spool", spool))
    check(wait_until(lambda: len(glob.glob(spool + "/rank-*.ring")) == 4, 20, 0.005), "the job does not begin")
    keeper = jobs.keeper_of(spool)
    jobs.freeze(keeper)
    finish(process)
    os.kill(keeper, signal.SIGCONT)
    check_killed(logs)


def direct_child(parent, spool):
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            pid, ppid = int(path.split("/")[2]), int(open(path).read().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        if ppid == parent and pid in jobs.keepers(spool):
            return pid
    return None


def child_dies(place, full):
    """Whoever writes a window is killed: one sentence, and only that session is lost."""
    logs, spool = place.new_logs(), os.path.join(place.scratch, "spool")
    process = start(job(place, logs, ["80", "20"], "--steps", "5:8,20:24,60:64", "--spool", spool))
    keeper = jobs.keeper_of(spool)
    end, child = time.monotonic() + 15, None
    while not child and time.monotonic() < end:
        child = direct_child(keeper, spool)
    check(child, "no child was seen")
    os.kill(child, signal.SIGKILL)
    got = finish(process)
    check(got.code == 0 and not got.other_err(), got.transcript())
    check("2 windows captured on 4 of 4 ranks" in got.err, got.err)
    check(re.search(r"no session was written for steps \d+:\d+: its writer process was killed by signal 9", got.err), got.err)
    whole = [s for s in sessions(logs) if os.path.exists(os.path.join(s, "summary.txt"))]  # it may have come as far as pod.h5
    check(len(whole) == 2, jobs.tree(logs))


def refused(place, full):
    for options, sentence in ((["--steps", "5:9,8:12"], "begins before the previous one ends"),
                              (["--steps", "5:9,"], "is not a range of steps"),
                              (["--steps", "5:5"], "has no step"),
                              (["--steps", "5:9", "--every", "3"], "is less than the 4 steps"),
                              (["--every", "3"], "--every repeats one window"),
                              (["--steps", "1:2,3:4", "--every", "30"], "--every repeats one window"),
                              (["--steps", ",".join(f"{n}:{n + 1}" for n in range(40))], "more than 32 windows")):
        got = run(place.under(place.new_logs(), ["/bin/echo", "ran"], *options))
        check(got.code == 64 and not got.out and sentence in got.err, f"{options}: {got.transcript()}")
    got = run(place.under(place.new_logs(), ["/bin/echo", "ran"]), env={"PODPROF_EVERY": "7"})
    check(got.code == 0 and got.out == "ran\n" and "PODPROF_EVERY is ignored" in got.err, got.transcript())


def code_job(place, logs, *words, ranks=4):
    return run(place.mpirun(ranks, place.under(logs, [place.program("windows_code"), *words])))


def from_code(place, full):
    """Pairs of start and stop, a scope, a start before MPI_Init, one that is open at the end: each window is a session."""
    for how, windows in (("pairs", [(n, n + 3) for n in (3, 13, 23, 33)]), ("scoped", [(n, n + 3) for n in (3, 13, 23, 33)]),
                         ("early", [(0, 5)]), ("ends", [(20, 40)])):
        logs = place.new_logs()
        got = code_job(place, logs, "40", "3", how)
        good(got)
        found = check_windows(logs, windows, 4)
        name = {"pairs": "pairs", "scoped": "scoped", "early": "early", "ends": "to the end"}[how]
        first, last = windows[0]
        check(f"{len(windows)} window{'s' * (len(windows) > 1)} captured on 4 of 4 ranks, 1 host: steps {first}..{last - 1} ({name})" in got.err,
              got.err)
        with h5(found[first]) as f:
            check(text(f["window"].attrs["by"]) == "code" if "by" in f["window"].attrs else True, dict(f["window"].attrs))


def both(place, full):
    """Windows of the options and of the program in one job, the last ones the program's."""
    logs = place.new_logs()
    got = run(place.mpirun(4, place.under(logs, [place.program("windows_code"), "40", "3", "pairs"], "--steps", "8:10")))
    good(got)
    check("5 windows captured on 4 of 4 ranks" in got.err, got.err)
    check_windows(logs, [(3, 6), (8, 10), (13, 16), (23, 26), (33, 36)], 4)


def odd_code(place, full):
    """A start inside a window, stops without a start."""
    logs = place.new_logs()
    got = code_job(place, logs, "40", "3", "odd")
    good(got)
    found = check_windows(logs, [(10, 15)], 4)
    with h5(found[10]) as f:
        warnings = " ".join(text(s) for s in f["quality/warning"][()])
        check("podprof_window_stop() had no" in warnings, warnings)


def odd_places(place, full):
    """In a forked child, in threads at once, in a signal handler, after exit(): one window, that of the program's own pair."""
    for how, last in (("fork", 42), ("threads", 42), ("handler", 42), ("exit", 61)):
        logs = place.new_logs()
        got = run(place.under(logs, [place.program("windows_odd"), how]))
        check(got.code == 0 and not got.other_err() and "1 window captured on 1 of 1 rank, 1 host: " in got.err, f"{how}: {got.transcript()}")
        with h5(sessions(logs)[0]) as f:
            numbers = [int(n) for n in f["breakdown/step"][()]]
            check(got.err.count("was refused: it has begun already") == (4 if how == "handler" else 0), got.err)
            check(numbers[0] == 0 and numbers[-1] == last and not {50, 100} & set(numbers), f"{how}: {numbers}")


def one_opens(place, full):
    """Windows of one rank only have what the others did meanwhile, and are written while the job runs."""
    logs = place.new_logs()
    process = start(place.mpirun(4, place.under(logs, [place.program("windows_code"), "400", "20", "one", "2"])))
    check(wait_until(lambda: sessions(logs), 25), "no session while the job runs")
    check(process.poll() is None, "the job was over first")
    os.killpg(process.pid, signal.SIGTERM)
    finish(process)
    with h5(sessions(logs)[0]) as f:
        check(int(f.attrs["ranks_delivered"]) == 4, f.attrs["ranks_delivered"])
        check(f["breakdown/present"][()][:, 2].all(), f["breakdown/present"][()])


def steps_from_code(place, full):
    logs = place.new_logs()
    got = code_job(place, logs, "40", "3", "steps")
    check(got.code == 0 and not got.other_err(), got.transcript())
    check_windows(logs, [(10, 13), (20, 22)], 4)
    for sentence in ("podprof_profile_steps(3, 6) was refused: it has begun already", "podprof_profile_steps(9, 9) was refused: it has no step",
                     "podprof_profile_steps(12, 15) was refused: it overlaps another window of steps",
                     "2 windows captured on 4 of 4 ranks, 1 host: steps 10..12, 20..21", "steps 900:910 were not captured"):
        check(got.err.count(sentence) == 1, f"{sentence}: {got.err}")


def train_asks(place, full):
    """The example asks for its own steps."""
    logs = place.new_logs()
    got = train(place, logs, ranks=4, words=["--steps", "60", "--profile", "10:14"])
    good(got)
    check("1 window captured on 4 of 4 ranks, 1 host: steps 10..13" in got.err, got.err)
    check_windows(logs, [(10, 14)], 4)


def by_time(place, full):
    """Exactly so long; the session is there while the job goes on."""
    for options, delay, length in ((["--delay", "400ms", "--duration", "300ms"], 0.4, 0.3), (["--duration", "300ms"], None, 0.3),
                                   (["--delay", "500ms"], 0.5, None)):
        logs = place.new_logs()
        process = start_until(place, job(place, logs, ["3000" if length else "100", "10"], *options))
        if length:
            check(wait_until(lambda: sessions(logs), 20) and process.poll() is None, "the session was not written while the job ran")
        got = over(process) if length else finish(process)
        good(got)
        check("1 window captured on 4 of 4 ranks" in got.err, got.err)
        with h5(sessions(logs)[0]) as f:
            begin, end = int(f["step/begin_ns"][()].min()), int(f["step/end_ns"][()].max())
            steps = f["breakdown/step"][()]
            check((f["breakdown/present"][()] == 1).all(), f["breakdown/present"][()])
            check(not length or end - begin <= length * 1e9, f"{options}: steps of {(end - begin) / 1e9} s")
            check((steps[0] > 0) == (delay is not None) and (length or steps[-1] == 99), f"{options}: steps {steps}")


def time_and_the_end(place, full):
    logs = place.new_logs()
    got = run(job(place, logs, ["20", "1"], "--delay", "1h"))
    good(got, 1)
    check("no session was written: the job ended 3" in got.err and "s before the window began (--delay 1h)" in got.err, got.err)
    logs = place.new_logs()
    got = run(job(place, logs, ["60", "10"], "--delay", "100ms", "--duration", "1h"))
    good(got, 3)
    check("s before the window's end (--delay 100ms --duration 1h)" in got.err and len(sessions(logs)) == 1, got.err)
    logs = place.new_logs()
    got = run(job(place, logs, ["20", "1"], "--at", f"@{int(time.time()) - 3}", "--duration", "1ms"))
    good(got, 1)
    check("no session was written: the window ended before the first rank started" in got.err, got.err)


def by_signal(place, full):
    """One rank gets it: the next ten steps of all. Never instead of the application's own handler."""
    for how, sessions_expected in (("none", 2), ("before", 1), ("after", 1)):
        logs = place.new_logs()
        got = run(place.mpirun(2, place.under(logs, [place.program("signals"), how], "--signal", "USR2")))
        check(got.code == 0, got.transcript())
        check(len(sessions(logs)) == sessions_expected, f"{how}: {jobs.tree(logs)}")
        check(("signal USR2 requests no capture" in got.err) == (how == "before"), got.err)


def refused_times(place, full):
    for options, sentence in ((["--steps", "5:9", "--delay", "2s"], "cannot be combined with --steps"), (["--duration", "0"], "must be greater than zero"),
                              (["--duration", "2 days"], "is not a time"), (["--at", "25:00"], "is not a time of the day"),
                              (["--at", "@12"], "is in the past"), (["--at", "12:30", "--delay", "2"], "cannot be combined with --delay"),
                              (["--signal", "KILL"], "cannot be used as a signal here"), (["--signal", "RTMIN+99"], "cannot be used as a signal here")):
        got = run(place.under(place.new_logs(), ["/bin/echo", "ran"], *options))
        check(got.code == 64 and not got.out and sentence in got.err and len(got.podprof_lines()) == 1, f"{options}: {got.transcript()}")
    got = run(place.under(place.new_logs(), ["/bin/echo", "ran"], "--steps", "1:2"), env={"PODPROF_DELAY": "7"})
    check(got.code == 0 and got.out == "ran\n" and "PODPROF_DELAY is ignored" in got.err, got.transcript())


def two_hosts(place, full):
    """Each host cuts by its own ranks' windows; one session of both."""
    with Hosts(place, 2) as hosts:
        for words, options, windows in ((["windows_code", "40", "4", "pairs"], [], [(n, n + 3) for n in (3, 13, 23, 33)]),
                                        (["windows", "60", "5"], ["--steps", "10:13,20:22"], [(10, 13), (20, 22)]),
                                        (["windows", "100", "10"], ["--delay", "400ms", "--duration", "300ms"], None)):
            logs = place.new_logs()
            got = run(hosts.on(hosts.front, hosts.mpirun(4, place.under(logs, [place.program(words[0]), *words[1:]], *options))))
            check(got.code == 0 and "captured on 4 of 4 ranks, 2 hosts: " in got.err, got.transcript())
            for session in sessions(logs):
                check(xspaces(logs, session) == [n + ".xplane.pb" for n in hosts.names], xspaces(logs, session))
                with h5(session) as f:
                    check((f["breakdown/present"][()] == 1).all(), f"{words}: steps are not on all ranks")
            check(windows is None or sorted(by_first_step(sessions(logs))) == [w[0] for w in windows], jobs.tree(logs))


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (lists, every, too_many, while_it_runs, not_reached, unfinished, unmarked, late, killed, killed_unseen, child_dies,
                                                refused, from_code, both, odd_code, odd_places, one_opens, steps_from_code, train_asks, by_time, time_and_the_end,
                                                by_signal, refused_times, two_hosts)}, __doc__))

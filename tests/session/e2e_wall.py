#!/usr/bin/python3
"""Jobs whose keeper sees the date jump (stepping_clock.c): dates of the session are those of the window's begin, the jump is named, and
hosts with a wrong date cut the same window. Run by ctest session_wall."""
import glob
import os
import sys
import time

from e2e import check_dataset, h5, read, text, xspaces
from hosts import Hosts
import jobs
from jobs import Skipped, check, finish, run, session_of, start, wait_until

SECOND = 10 ** 9
SLACK = 50 * 10 ** 6  # the date of the driver's own readings against the first step's


def shim(place):
    """Words before `podprof run`: its keeper's date jumps by `by` ns when there is the file."""
    library = os.path.join(place.guest, "libstepping_clock.so")
    check(os.path.exists(library), f"no {library}")
    return lambda file, by: ["env", f"LD_PRELOAD={library}", f"CLOCK_STEP_LIBRARY={library}", f"CLOCK_STEP={file}:{by}"]


def touch(path):
    with open(path, "w", encoding="ascii"):
        pass


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def job(place, held, by, *options, steps=40, ms=50, is_written=False):
    """One rank whose steps take 50 ms each; its keeper's date jumps while step `held` is waited for, and the first session is written where
    that is asked for. The session, and when it ran: date before, at the jump and after, ns."""
    logs, spool, jump, go = place.new_logs(), *(os.path.join(place.scratch, f"{name}{place.count}") for name in ("spool", "jump", "go"))
    began = time.time_ns()
    command = place.under(logs, [place.program("steps"), str(steps), str(ms)], "--spool", spool, *options)
    process = start([*shim(place)(jump, by), *command], {"STEPS_HOLD": f"{held}:{go}"})
    check(wait_until(lambda: glob.glob(spool + "/rank-*.ring") and (not is_written or os.path.exists(session_of(logs) + "/summary.txt"))),
          "the job does not begin")
    time.sleep(1.2)  # the keeper looks at its date once a second
    at = time.time_ns()
    touch(jump)
    time.sleep(1.2)
    touch(go)
    got = finish(process)
    ended = time.time_ns()
    check(got.code == 0 and len(got.podprof_lines()) == 2, got.transcript())
    session = session_of(logs)
    check_dataset(session, workers=1)
    return logs, session, began, at, ended


def dates_of(logs, session):
    """Dates of each step's begin and of each end."""
    with h5(session) as f:
        epoch = int(f.attrs["epoch_realtime_ns"])
        begin, end = epoch + f["step/begin_ns"][()][:, 0], epoch + f["step/end_ns"][()][:, 0]
    plane = os.path.join(logs, "plugins", "profile", os.path.basename(session), xspaces(logs, session)[0])
    with open(plane, "rb") as f:
        check(varint(epoch) in f.read(), "profile_start_time of XSpace is another epoch than epoch_realtime_ns")
    return begin, end


def in_window(place, full):
    """Back by an hour in the middle of the window: dates are those before it."""
    logs, session, began, at, ended = job(place, 30, -3600 * SECOND, steps=60)
    begin, end = dates_of(logs, session)
    check(begin[0] >= began and end[-1] <= ended, f"steps {begin[0]} .. {end[-1]}, the job {began} .. {ended}")
    check(end[-1] - begin[0] >= 60 * 50 * 10 ** 6, "the window is shorter than its steps")
    with h5(session) as f:
        c, epoch = f["clock"], int(f.attrs["epoch_realtime_ns"])
        check(len(c["change"]) == 1 and c["event"][0] == 0 and c["change_host"][0] == 0, f"{len(c['change'])} changes")
        by, error = int(c["by_ns"][0]), int(c["error_ns"][0])
        check(abs(by + 3600 * SECOND) <= error < 10 ** 6, f"by {by} ns, error {error} ns")
        jump, first, last = at - epoch, int(c["from_ns"][0]), int(c["to_ns"][0])
        check(first - SLACK <= jump <= last + SLACK and last - first < 3 * SECOND, f"it was at {jump}, said to be in {first} .. {last}")
        times, dates, half = c["wall_time_ns"][()], c["wall_realtime_ns"][()], c["wall_half_ns"][()]
        check(len(times) >= 3 and (half > 0).all() and (half < 10 ** 6).all(), f"{len(times)} readings, {half}")
        for at, date in zip(times, dates):
            off = int(date) - epoch - int(at) - (by if at > (first + last) // 2 else 0)
            check(abs(off) < SLACK, f"the date at {at} is {off} ns off")
        check(int(c["changes_lost"][0]) == 0 and text(c["claim_by"][0]).startswith("kernel" if c["claim_known"][0] else ""), "claims")
    check("the wall clock of host" in read(session, "summary.txt"), "the summary does not name the step")


def before_window(place, full):
    """Forward by ten seconds before the window begins: its dates are those that the host shows then."""
    logs, session, began, _, ended = job(place, 20, 10 * SECOND, "--steps", "30:40")
    begin, end = dates_of(logs, session)
    check(began + 10 * SECOND + 29 * 50 * 10 ** 6 <= begin[0] and end[-1] <= ended + 10 * SECOND,
          f"steps {begin[0]} .. {end[-1]}, the job {began} .. {ended}")
    with h5(session) as f:
        check("change" not in f["clock"] or not len(f["clock/change"]), "a step before the window is one in it")


def after_window(place, full):
    """When its session is written the date is another: nothing of it is in the session."""
    logs, session, began, _, ended = job(place, 20, 10 * SECOND, "--steps", "2:10", is_written=True)
    begin, end = dates_of(logs, session)
    check(began <= begin[0] and end[-1] <= ended, f"steps {begin[0]} .. {end[-1]}, the job {began} .. {ended}")


def at_a_date(place, full):
    """--at goes by the date that the host shows: set forward meanwhile, it comes earlier."""
    at = int(time.time()) + 3604
    logs, session, *_ = job(place, 10, 3600 * SECOND, "--at", f"@{at}", "--duration", "500ms", steps=100)
    with h5(session) as f:
        first, length = f["step/begin_ns"][()].min(), f["step/end_ns"][()].max() - f["step/begin_ns"][()].min()
        first += int(f.attrs["epoch_realtime_ns"])
    check(0 <= first - at * SECOND < 5 * SECOND and length < 5 * SECOND, f"it began {first / SECOND - at:.3f} s after its date, {length} ns long")


AHEAD = 100  # seconds: of the second host's own clock


def two_hosts(place, by, *options, steps=300, inside=False):
    """Two hosts whose clocks are compared; the second one's date is another from the begin, or jumps a second after all ranks have begun.
    The session of so many steps of 10 ms on 4 ranks."""
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        raise Skipped("time namespaces are not allowed here")
    logs, script, jump = place.new_logs(), os.path.join(place.scratch, "one-host.sh"), os.path.join(place.scratch, "jump")
    if not inside:
        touch(jump)
    with Hosts(place, 2, ahead=(0, AHEAD)) as hosts:
        wrong = " ".join(shim(place)(jump, by))
        with open(script, "w", encoding="ascii") as f:
            f.write(f'#!/bin/bash\n[ "$(hostname)" = {hosts.names[1]} ] && exec {wrong} "$@"\nexec "$@"\n')
        os.chmod(script, 0o755)
        command = [script, *place.under(logs, [place.program("true_times"), str(steps), "10", place.scratch], *options)]
        process = start(hosts.on(hosts.front, hosts.mpirun(4, command, "-x", "PODPROF_TICK=raw")))
        check(wait_until(lambda: len(glob.glob(place.scratch + "/times-*")) == 4), "the ranks do not begin")
        time.sleep(1)
        touch(jump)
        got = finish(process)
    check(got.code == 0 and not got.timed_out, got.transcript())
    return session_of(logs)


def step_elsewhere(place, full):
    """The date of a host that is not rank 0's jumps: named with its host, and no date of the session is moved by it."""
    began = time.time_ns()
    session = two_hosts(place, 90 * SECOND, steps=500, inside=True)
    ended = time.time_ns()
    with h5(session) as f:
        c, epoch = f["clock"], int(f.attrs["epoch_realtime_ns"])
        begin, end = epoch + int(f.attrs["window_begin_ns"]), epoch + int(f.attrs["window_end_ns"])
        check(began <= begin and end <= ended, f"the window {begin} .. {end}, the job {began} .. {ended}")
        names = [text(n) for n in c["name"][()]]
        check(len(c["change"]) == 1 and names[int(c["change_host"][0])].endswith("1"), f"{len(c['change'])} changes, of {names}")
        check(abs(int(c["by_ns"][0]) - 90 * SECOND) <= int(c["error_ns"][0]) < 10 ** 6, f"by {c['by_ns'][0]} +- {c['error_ns'][0]} ns")
        check(set(c["wall_host"][()]) == {0, 1}, "no dates of one host")
    check("the wall clock of host" in read(session, "summary.txt"), "the summary does not name the step")


def far_dates(place, full):
    """The second host's date is an hour behind: a window of time is the same time on both."""
    session = two_hosts(place, -3600 * SECOND, "--delay", "1s", "--duration", "1s")
    with h5(session) as f:
        present, begin, end = f["breakdown/present"][()], f["step/begin_ns"][()], f["step/end_ns"][()]
        host = [text(h) for h in f["worker/host"][()]]
        bound = f["clock/bound_ns"][()]
        check(len(set(host)) == 2 and 0 < bound.max() < 10 ** 6, f"clocks of {host} are not compared: {bound}")
        status = [text(s) for s in f["worker/status"][()]]
    check(present.shape[1] == 4 and status == ["delivered"] * 4, f"{status}")
    for worker in range(4):
        mine = present[:, worker] == 1
        length = end[mine, worker].max() - begin[mine, worker].min() if mine.any() else 0
        check(0.5 * SECOND < length < 1.5 * SECOND, f"rank {worker} on {host[worker]} has {length / SECOND:.2f} s of 1 s")


CASES = {f.__name__: f for f in (in_window, before_window, after_window, at_a_date, step_elsewhere, far_dates)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

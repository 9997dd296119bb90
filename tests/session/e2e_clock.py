#!/usr/bin/python3
"""Jobs of four pretend hosts whose clocks stand hours apart: every time of the dataset against the truth, which the ranks write down.
Run by ctest session_clock. Needs root and time namespaces; PODPROF_LONG=1: windows longer than 10 s too."""
import os
import sys

import numpy

from e2e import check_dataset, h5, text
from hosts import Hosts
import jobs
from jobs import Skipped, check, run, session_of, sessions

HOSTS, RANKS = 4, 8
SECOND, MS, UNKNOWN = 10 ** 9, 10 ** 6, 2 ** 63 - 1
AHEAD = (0, 7200, 100, 3600)  # seconds: of each host's own clock


def counter_is_the_kernels():
    """Whether ranks take the processor's counter for their tick, as core/base/tick.c decides."""
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource", encoding="ascii") as f:
        return f.read().strip() in ("tsc", "arch_sys_counter")


def job(place, tick, *options, steps=40, ms=5, ahead=AHEAD):
    """true_times on four hosts; its sessions, and of every rank and step the readings of its own clock around the mark, less its host's
    offset: rank 0's host's RAW, in ns."""
    logs, times = place.new_logs(), os.path.join(place.scratch, f"times{place.count}")
    os.makedirs(times)
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        raise Skipped("time namespaces are not allowed here")
    with Hosts(place, HOSTS, ahead=ahead) as hosts:
        program = [place.program("true_times"), str(steps), str(ms), times]
        words = ("-x", "PODPROF_TICK=raw") if tick == "raw" else ()
        got = run(hosts.on(hosts.front, hosts.mpirun(RANKS, place.under(logs, program, *options), *words)), limit=120)
        check(got.code == 0 and not got.timed_out, got.transcript())
        check("on 8 of 8 ranks, 4 hosts" in got.err, got.transcript())
        names = hosts.names
    session_of(logs) if options[0] == "--steps" and "," not in options[1] else jobs.wait_until(lambda: len(sessions(logs)) > 1)
    truth = {}
    for rank in range(RANKS):
        with open(os.path.join(times, f"times-{rank}"), encoding="ascii") as f:
            rows = numpy.array([line.split() for line in f], dtype=numpy.int64)
        truth[rank] = rows
    return sessions(logs), truth, dict(zip(names, ahead))


def check_truth(session, truth, ahead, slack=1):
    """Every begin of a step on job time, against what the rank's own clock showed around it: within the bound, for all. Returns how often
    it was compared on other hosts than rank 0's."""
    compared = 0
    with h5(session) as f:
        begin, number, present = f["step/begin_ns"][()], f["step/number"][()], f["breakdown/present"][()]
        host, bound = [text(h) for h in f["worker/host"][()]], f["clock/bound_ns"][()]
    check((present == 1).all() and begin.shape[1] == RANKS, f"steps are not on all ranks: {present}")
    low, high = -2 ** 62, 2 ** 62  # RAW of rank 0's host at job time 0, as its own ranks leave it
    for own in (True, False):
        for worker in range(RANKS):
            moved = ahead[host[worker]]
            if (moved == ahead[host[0]] and host[worker] == host[0]) != own:
                continue
            check(1 <= bound[worker] + own < MS, f"bound of {host[worker]}: {bound[worker]} ns")
            rows = truth[worker][number] - numpy.array([0, moved * SECOND, moved * SECOND])
            check((rows[:, 0] == number).all(), "steps of the program and of the dataset differ")
            first, last = rows[:, 1] - begin[:, worker], rows[:, 2] - begin[:, worker]
            if own:
                low, high = max(low, first.max() - slack), min(high, last.min() + slack)
                check(low <= high, f"rank {worker} of rank 0's host: {low} .. {high}")
                continue
            wrong = (first - bound[worker] - slack > high) | (last + bound[worker] + slack < low)
            check(not wrong.any(), f"rank {worker} on {host[worker]}: {int(wrong.sum())} steps beyond the bound of {bound[worker]} ns: "
                  f"{first[wrong] - high} {last[wrong] - low}")
            compared += len(number)
    check(high - low < MS, f"the truth itself is known to {high - low} ns only")
    return compared


def check_collectives(session):
    """Nobody leaves a collective of all before the last has come, but for the bound; the count of collectives."""
    with h5(session) as f:
        c = {k: v[()] for k, v in f["collective"].items()}
    for i in range(len(c["event"])):
        rows = slice(int(c["row_first"][i]), int(c["row_first"][i]) + int(c["row_count"][i]))
        check(c["row_count"][i] == RANKS and c["bound_ns"][i] < MS, f"event {i}: {c['row_count'][i]} ranks, bound {c['bound_ns'][i]} ns")
        check(c["exit_ns"][rows].min() >= c["arrival_ns"][rows].max() - c["bound_ns"][i],
              f"event {i} ends {c['arrival_ns'][rows].max() - c['exit_ns'][rows].min()} ns before its last arrival, bound {c['bound_ns'][i]}")
    return len(c["event"])


def check_hosts(session, ahead, joined):
    """What /clock tells of each host: its offset is the namespace's, its comparisons are possible and some, its bound covers the window.
    `joined`: all hosts had met before it began, so it stands between two comparisons. Returns the number of comparisons."""
    with h5(session) as f:
        c, begin, end = {k: v[()] for k, v in f["clock"].items()}, f["step/begin_ns"][()].min(), f["step/end_ns"][()].max()
        names = [text(h) for h in f["worker/host"][()]]
    rows = {text(name): i for i, name in enumerate(c["name"])}
    root = rows[names[0]]
    check(set(rows) == set(ahead) and [rows[n] for n in names] == list(c["worker_host"]), f"hosts {c['name']}, of workers {c['worker_host']}")
    for name, i in rows.items():
        mine = c["sample_host"] == i
        if i == root:
            check(not mine.any() and c["hops"][i] == 0 and c["host_bound_ns"][i] <= 1, f"{name} is rank 0's, and was compared: {c}")
            continue
        wrong = c["host_offset_ns"][i] - c["host_offset_ns"][root] + ahead[name] * SECOND
        check(abs(wrong) <= c["host_bound_ns"][i] + 1 < MS, f"{name}: offset wrong by {wrong} ns, bound {c['host_bound_ns'][i]} ns")
        check(text(c["parent"][i]) == names[0] and c["hops"][i] == 1, f"{name} was compared with {c['parent'][i]}, {c['hops'][i]} hops")
        check(mine.sum() > joined and c["trips"][i] >= 50 and c["impossible"][i] == 0, f"{name}: {mine.sum()} samples, {c['trips'][i]} trips")
        check(not joined or c["time_ns"][mine].min() <= begin, f"{name}: compared at {c['time_ns'][mine]}, the window began at {begin}")
        check(not joined or c["time_ns"][mine].max() >= end, f"{name}: compared at {c['time_ns'][mine]}, the window ended at {end}")
        there = c["t2"][mine] - (c["t1"][mine] - ahead[name] * SECOND)
        back = c["t4"][mine] - ahead[name] * SECOND - c["t3"][mine]
        check((there > 0).all() and (back > 0).all(), f"{name}: packets of {there} and {back} ns")
        check((c["half_ns"][mine] > 0).all() and (c["half_ns"][mine] <= there + back).all(),
              f"{name}: half widths {c['half_ns'][mine]} of trips of {there + back} ns")
        part = c["stretch_host"] == i
        first, last = c["begin_ns"][part], c["end_ns"][part]
        check(first[0] <= begin and last[-1] >= end and (first[1:] == last[:-1]).all(), f"{name}: bounds from {first} to {last}")
        check(max(c["bound_begin_ns"][part].max(), c["bound_end_ns"][part].max()) <= c["host_bound_ns"][i], f"{name}: bounds of stretches")
    return len(c["sample_host"])


def check_causality(session):
    """What the keeper itself found: exits of collectives against arrivals on other clocks, none of them impossible."""
    with h5(session) as f:
        pairs, violated, worst = (int(f["quality/causality_" + k][()]) for k in ("pairs", "violated", "worst_ns"))
    check(pairs >= 8 and violated == 0 and worst <= 0, f"{violated} of {pairs} exits were before an arrival, by {worst} ns beyond the bounds")


def check_distance(session, truth, ahead, joined):
    """A window of four clocks, all of it true. The number of its comparisons."""
    check_dataset(session, workers=RANKS)
    with h5(session) as f:
        host, bound = [text(h) for h in f["worker/host"][()]], f["clock/bound_ns"][()]
    for name, ns in zip(host, bound):
        check((ns <= 1) == (name == host[0]), f"bounds of {host}: {bound}")
    check(check_truth(session, truth, ahead) >= 3 * 6, "too few steps to say so")
    check(check_collectives(session) >= 3, "no collectives")
    check_causality(session)
    return check_hosts(session, ahead, joined)


def raw_hours_between(place, full):
    """Two windows on RAW: offsets, steps and collectives of all ranks are within the bound. Two seconds lie between them, and the job is
    as long: on a busy machine hosts meet and compare clocks in less."""
    found, truth, ahead = job(place, "raw", "--steps", "3:9,400:406", steps=410)
    check(len(found) == 2, found)
    for session, joined in zip(found, (False, True)):
        check_distance(session, truth, ahead, joined)


def counter_is_one_clock(place, full):
    """Namespaces do not move the processor's counter: one domain, no bound but the line's, whatever they are ahead by."""
    if not counter_is_the_kernels():
        raise Skipped("the processor's counter is not this kernel's clock: ranks take RAW")
    found, truth, ahead = job(place, "counter", "--steps", "3:9")
    check(len(found) == 1, found)
    check_dataset(found[0], workers=RANKS)
    with h5(found[0]) as f:
        check(not f["clock/domain"][()].any() and len(set(f["clock/bound_ns"][()])) == 1, f"{f['clock/domain'][()]} {f['clock/bound_ns'][()]}")
        check("sample_host" not in f["clock"] and not f["clock/hops"][()].any(), "one clock was compared")
    check(check_truth(found[0], truth, ahead, slack=2000) >= 3 * 6, "too few steps to say so")
    check(check_collectives(found[0]) >= 3, "no collectives")


def a_long_window(place, full):
    """More than two rounds of the exchange inside one window."""
    if not full:
        raise Skipped("a window of 12 s: PODPROF_LONG=1")
    found, truth, ahead = job(place, "raw", "--steps", "100:1300", steps=1310, ms=8)
    check(len(found) == 1, found)
    samples = check_distance(found[0], truth, ahead, True)
    check(samples >= 3 * 4, f"{samples} comparisons of three hosts in 12 s")


CASES = {"raw_hours_apart": raw_hours_between, "counter_is_one_clock": counter_is_one_clock, "a_long_window": a_long_window}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__.splitlines()[0]))

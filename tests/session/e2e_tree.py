#!/usr/bin/python3
"""Whose clock is compared with whose: real keepers on pretend hosts whose clocks stand hours apart, in two levels, behind a host that has
the same clock, with a false claim, a killed hub, a stopped keeper, and with one clock only. Run by ctest session_tree. Needs root and
time namespaces. PODPROF_LONG=1: many keepers, too."""
import os
import re
import signal
import sys
import time

import numpy

from e2e import h5, text
from hosts import Hosts
import jobs
from jobs import Skipped, check, finish, run, session_of, sessions, start, wait_until

SECOND, MS, UNKNOWN = 10 ** 9, 10 ** 6, 2 ** 63 - 1
FIRST = "monotonic 0 0\nboottime 0 0\n"  # what a process says of its time namespace that is in the first one


class Here:
    """Ranks on this host, each with a keeper of its own."""

    def __init__(self, count):
        self.names, self.ahead = [f"rank{rank}" for rank in range(count)], {f"rank{rank}": 0 for rank in range(count)}

    def on(self, _, command):
        return command


class Job:
    """A rank on each host, which never calls MPI and writes down when its steps began by its own clock."""

    def __init__(self, place, hosts, count, ms, *options, env=None, claims=()):
        self.place, self.hosts, self.logs, self.ahead = place, hosts, place.new_logs(), hosts.ahead
        self.began = []
        for rank, name in enumerate(hosts.names):
            own = {"RANK": rank, "WORLD_SIZE": len(hosts.names), "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "PODPROF_TICK": "raw",
                   "TORCHELASTIC_RUN_ID": f"tree{place.count}", "STEPS_TIMES": self.times(rank), **(env or {})}
            if rank < len(claims) and claims[rank]:
                own["STEPS_CLAIM"] = claims[rank]
            command = place.under(self.logs, [place.program("steps"), str(count), str(ms)], "--spool", self.spool(rank), *options)
            self.began.append(start(hosts.on(name, command), own))

    def times(self, rank):
        return os.path.join(self.place.scratch, f"times{self.place.count}-{rank}")

    def spool(self, rank):
        return os.path.join(self.place.scratch, f"spool{self.place.count}-{rank}")

    def log(self, rank):
        try:
            with open(os.path.join(self.spool(rank), "keeper.log"), encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def parent(self, rank):
        """Rank of the host that this one's clock is compared with, by the keeper's log; None: none yet."""
        found = re.findall(r"compares its clock with that of '(\w+)'", self.log(rank))
        return self.hosts.names.index(found[-1]) if found else None

    def end(self, but=()):
        for rank, one in enumerate(self.began):
            got = finish(one)
            check(rank in but or (got.code == 0 and not got.timed_out), got.transcript())
        return session_of(self.logs)


def hosts_of(place, ahead):
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        raise Skipped("time namespaces are not allowed here")
    return Hosts(place, len(ahead), ahead=ahead)


def rows_of(session):
    """Of each rank: host, status, domain, bound; of each host by name: parent and hops; warnings."""
    with h5(session) as f:
        host, status = [text(h) for h in f["worker/host"][()]], [text(s) for s in f["worker/status"][()]]
        ranks = list(zip(host, status, f["clock/domain"][()].tolist(), f["clock/bound_ns"][()].tolist()))
        tree = {text(n): (text(p), int(h)) for n, p, h in zip(f["clock/name"][()], f["clock/parent"][()], f["clock/hops"][()])}
        warnings = [text(w) for w in f["quality/warning"][()]] if "quality/warning" in f else []
    return ranks, tree, warnings


def check_truth(job, session, least, but=()):
    """Every begin of a step on job time, against what the rank's own clock showed around it: within the bound, for all."""
    with h5(session) as f:
        begin, number, present = f["step/begin_ns"][()], f["step/number"][()], f["breakdown/present"][()]
        bound = f["clock/bound_ns"][()]
    low, high, compared = -2 ** 62, 2 ** 62, 0  # the first host's RAW at job time 0
    for rank, name in enumerate(job.hosts.names):
        if rank in but:
            continue
        rows = numpy.array([line.split() for line in open(job.times(rank), encoding="ascii")], dtype=numpy.int64)
        here = present[:, rank] == 1
        rows, at = rows[number[here]], begin[here, rank]
        first, last = rows[:, 1] - job.ahead[name] * SECOND - at, rows[:, 2] - job.ahead[name] * SECOND - at
        if not rank:
            low, high = first.max() - 1, last.min() + 1
            check(low <= high < low + MS, f"the truth: {low} .. {high}")
            continue
        check(bound[rank] < UNKNOWN, f"no bound for {name}")
        wrong = (first - bound[rank] - 1 > high) | (last + bound[rank] + 1 < low)
        check(not wrong.any(), f"{name}: {int(wrong.sum())} of {len(wrong)} steps beyond {bound[rank]} ns: {first[wrong] - high} {last[wrong] - low}")
        compared += len(at)
    check(compared >= least, f"{compared} steps compared")


def two_levels(place, full):
    """Stars of two: three hubs, their children, and a host with the clock of another one of those."""
    with hosts_of(place, (0, 7200, 100, 3600, 40, 5000, 900, 900)) as hosts:
        job = Job(place, hosts, 90, 10, "--steps", "50:70", env={"PODPROF_CLOCK_STAR": 2})
        session = job.end()
        ranks, tree, _ = rows_of(session)
        check([r[1:3] for r in ranks] == [("delivered", 0)] * 8, ranks)
        hubs = [n for n, (parent, hops) in tree.items() if hops == 1]
        check(sorted(hops for _, hops in tree.values())[:4] == [0, 1, 1, 1] and all(h <= 2 for _, h in tree.values()), tree)
        check(all(parent in hubs for parent, hops in tree.values() if hops == 2 and parent != "pp6" and parent != "pp7"), tree)
        check(tree["pp7"][0] == "pp6" or tree["pp6"][0] == "pp7", f"one clock is compared twice: {tree}")
        check(tree["pp6"][1] == tree["pp7"][1], tree)
        check_truth(job, session, 7 * 15)


def hub_killed(place, full):
    """Its children get other parents: every other host is on the job's clock."""
    with hosts_of(place, (0, 7200, 100, 3600, 40, 5000)) as hosts:
        stop = os.path.join(place.scratch, "stop")
        job = Job(place, hosts, 6000, 10, env={"PODPROF_CLOCK_STAR": 2, "PODPROF_SILENCE_MS": 2000, "GUEST_STOP": stop})

        def hub():
            parents = [job.parent(rank) for rank in range(1, 6)]
            return None not in parents and next((p for p in parents if p), 0)

        check(wait_until(hub), f"no hub: {[job.log(r) for r in range(6)]}")
        time.sleep(0.3)
        victim = hub()
        children = [rank for rank in range(1, 6) if job.parent(rank) == victim]
        others = {rank: job.parent(rank) for rank in range(1, 6) if rank not in (*children, victim)}
        hosts.inits[1 + victim].kill()
        check(wait_until(lambda: all(job.parent(c) not in (victim, None) for c in children)), f"still children of {victim}: {children}")
        time.sleep(1)
        with open(stop, "w", encoding="ascii"):
            pass
        session = job.end(but=(victim,))
        ranks, tree, _ = rows_of(session)
        check({rank: job.hosts.names.index(tree[job.hosts.names[rank]][0]) for rank in others} == others, f"{others} moved too: {tree}")
        for rank, (name, status, domain, bound) in enumerate(ranks):
            check((status.split(":")[0] == "missing") if rank == victim else (status, domain) == ("delivered", 0), ranks)
        check(hosts.names[victim] not in [parent for parent, _ in tree.values()], tree)
        check_truth(job, session, 4 * 50, but=(victim,))


def false_claim(place, full):
    """A host that counts apart and says that it has rank 0's clock: found out, compared, named."""
    with hosts_of(place, (0, 7200, 0)) as hosts:
        job = Job(place, hosts, 90, 10, "--steps", "50:70", claims=(None, FIRST))
        session = job.end()
        ranks, tree, warnings = rows_of(session)
        if any(r[1] != "delivered" for r in ranks):
            raise Skipped(f"a process cannot claim another time namespace here: {ranks}")
        check([w for w in warnings if "host pp1 reports the clock of host pp0" in w], warnings)
        check(not [w for w in warnings if "host pp2 reports" in w], warnings)
        check([r[2] for r in ranks] == [0, 0, 0] and ranks[1][3] > ranks[2][3], ranks)
        check(tree["pp1"] == ("pp0", 1) and tree["pp2"] == ("", 0), tree)
        with h5(session) as f:
            own = dict(zip([text(n) for n in f["clock/name"][()]], [text(o) for o in f["clock/own"][()]]))
        check(own["pp0"] == own["pp2"] != own["pp1"], f"what counts one clock: {own}")
        check_truth(job, session, 2 * 15)


def stopped(place, full):
    """A keeper that is stopped over a window's end: its own rows are missing, the others' session is there while it still is."""
    go, stop = os.path.join(place.scratch, "go"), os.path.join(place.scratch, "stop")
    with hosts_of(place, (0, 7200, 100, 3600)) as hosts:
        job = Job(place, hosts, 6000, 20, "--steps", "40:60,5000:5010", env={"PODPROF_SILENCE_MS": 2000, "STEPS_HOLD": f"50:{go}", "GUEST_STOP": stop})
        check(wait_until(lambda: os.path.exists(job.times(2))), "no rank")
        keeper = jobs.keeper_of(job.spool(2))
        time.sleep(1.2)
        jobs.freeze(keeper)
        with open(go, "w", encoding="ascii"):
            pass
        there = wait_until(lambda: sessions(job.logs) and os.path.exists(sessions(job.logs)[0] + "/summary.txt"))
        os.kill(keeper, signal.SIGCONT)
        with open(stop, "w", encoding="ascii"):
            pass
        check(there, f"no session: {job.log(0)}")
        ranks, _, _ = rows_of(sessions(job.logs)[0])
        check([r[1] for r in ranks if r[0] != "pp2"] == ["delivered"] * 3 and len(ranks) == 4, ranks)
        check(ranks[2][1].startswith("missing: host pp2 did not reply"), ranks)
        check(all(0 <= r[3] < UNKNOWN for r in ranks if r[0] != "pp2"), ranks)
        for one in job.began:
            finish(one)


def sent(hosts):
    """UDP datagrams that each host has sent."""
    counts = []
    for name in hosts.names:
        rows = [line.split() for line in run(hosts.on(name, ["cat", "/proc/net/snmp"])).out.splitlines() if line.startswith("Udp:")]
        counts.append(int(rows[1][rows[0].index("OutDatagrams")]))
    return counts


def quiet(hosts):
    """Nobody has sent a datagram for half a second."""
    before = sent(hosts)
    time.sleep(0.5)
    return sent(hosts) == before


def one_clock(place, full):
    """Two hosts of one clock: verified once, then not one packet more, whatever windows are asked for."""
    go = os.path.join(place.scratch, f"go{place.count}")
    with hosts_of(place, (0, 0)) as hosts:
        job = Job(place, hosts, 170, 10, "--steps", "20:30,70:80,120:130", env={"STEPS_HOLD": f"5:{go}"})
        check(wait_until(lambda: sent(hosts)[1] >= 50 and quiet(hosts)), f"no verification: {sent(hosts)}")
        before = sent(hosts)
        with open(go, "w", encoding="ascii"):
            pass
        got = [finish(one) for one in job.began]
        check(sent(hosts) == before, f"{before} packets before the windows, {sent(hosts)} behind them")
        check("3 windows captured on 2 of 2 ranks" in got[0].err, got[0].transcript())
        for one in sessions(job.logs):
            ranks, _, _ = rows_of(one)
            check(all(r[2] == 0 and r[3] <= 1 for r in ranks), ranks)


def between_windows(place, full):
    """Two clocks: rounds around each window, and none in the 5 s and more in which no rank records."""
    go = os.path.join(place.scratch, f"go{place.count}")
    with hosts_of(place, (0, 7200)) as hosts:
        job = Job(place, hosts, 70, 20, "--steps", "30:40,55:65", env={"STEPS_HOLD": f"50:{go}"})
        check(wait_until(lambda: sessions(job.logs) and quiet(hosts)), "no first window")
        pause = [sent(hosts)]
        time.sleep(5.5)
        pause.append(sent(hosts))
        with open(go, "w", encoding="ascii"):
            pass
        got = [finish(one) for one in job.began]
        check("2 windows captured on 2 of 2 ranks" in got[0].err, got[0].transcript())
        check(pause[0] == pause[1], f"packets in a pause: {pause}")
        behind = sent(hosts)
        check(behind[1] - pause[1][1] >= 2 * 50, f"no two rounds around the second window: {pause[1]}, {behind}")
        for one in sessions(job.logs):
            check_truth(job, one, 9)


def many_keepers(place, full):
    """As many keepers as PODPROF_KEEPERS says on this host, of clocks that are called different and are one: rounds and bounds are printed."""
    count = int(os.environ.get("PODPROF_KEEPERS", 70))
    if not full:
        raise Skipped(f"{count} keepers: PODPROF_LONG=1")
    job = Job(place, Here(count), 1500, 20, "--steps", "1000:1300", claims=[f"monotonic {rank} 0\nboottime {rank} 0\n" for rank in range(count)])
    session = job.end()
    ranks, tree, _ = rows_of(session)
    check([r[1:3] for r in ranks] == [("delivered", 0)] * count, [r for r in ranks if r[1:3] != ("delivered", 0)])
    check_truth(job, session, (count - 1) * 200)
    with h5(session) as f:
        rounds, took, cpu = f["clock/rounds"][()], f["clock/round_ns"][()] / 1e6, f["clock/cpu_ns"][()] / 1e6
    hops, bounds = [h for _, h in tree.values()], sorted(r[3] for r in ranks[1:])
    print(f"{count} keepers, {hops.count(1)} behind rank 0's and {hops.count(2)} behind those: {rounds[0]} rounds; the last of rank 0's {took[0]:.1f} ms, "
          f"of a hub at most {max(took[1:]):.1f} ms; CPU of its thread {cpu[0]:.1f} ms, of another's at most {max(cpu[1:]):.1f} ms; "
          f"bound {bounds[len(bounds) // 2]} ns, at most {bounds[-1]} ns")


CASES = {"two_levels": two_levels, "hub_killed": hub_killed, "false_claim": false_claim, "stopped": stopped, "one_clock": one_clock,
         "between_windows": between_windows, "many_keepers": many_keepers}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__.splitlines()[0]))

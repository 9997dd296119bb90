#!/usr/bin/python3
"""What files tell of two pretend hosts whose clocks stand hours apart: /clock of pod.h5, one epoch in both XSpace files, events of one collective
over one another. Run by ctest session_clock_data. Needs root and time namespaces."""
import os
import sys

from e2e import check_dataset, h5, h5py, text
from hosts import Hosts
import jobs
from jobs import Skipped, check, run, session_of

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "aggregate", "write"))
import xspace_wire

HOSTS, RANKS, STEPS = 2, 4, range(50, 60)
AHEAD_NS, UNKNOWN = 7200 * 10 ** 9, 2 ** 63 - 1
EVERYBODY = ("MPI_Allreduce", "MPI_Barrier", "MPI_Allgather")  # nobody leaves before the last has come


def job(place, deaf=False):
    """A session of two hosts that count RAW, the second two hours ahead; its directory, the log directory, names of the hosts. `deaf`: UDP does
    not get through to it."""
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        raise Skipped("time namespaces are not allowed here")
    logs = place.new_logs()
    with Hosts(place, HOSTS, ahead=(0, 7200)) as hosts:
        if deaf and run(hosts.on(hosts.names[1], ["ip", "rule", "add", "pref", "1", "ipproto", "udp", "blackhole"])).code:
            raise Skipped("no rule keeps UDP out here")
        program = [place.program("true_times"), "80", "8", place.scratch]
        command = place.under(logs, program, "--steps", f"{STEPS[0]}:{STEPS[-1] + 1}")
        got = run(hosts.on(hosts.front, hosts.mpirun(RANKS, command, "-x", "PODPROF_TICK=raw")), limit=90)
        names = hosts.names
    clocks = "clocks of 1 of them not compared" if deaf else "clock error <= "
    check(got.code == 0 and "4 of 4 ranks, 2 hosts, " + clocks in got.err, got.transcript())
    session = session_of(logs)
    check_dataset(session, workers=RANKS, steps=STEPS)
    return session, logs, names


def check_hosts(c, names):
    check([text(n) for n in c["name"]] == names and [text(p) for p in c["parent"]] == ["", names[0]], (c["name"], c["parent"]))
    check(list(c["hops"]) == [0, 1] and c["own"][0] != c["own"][1] and not c["domain"].any(), (c["hops"], c["own"], c["domain"]))
    bound = int(c["host_bound_ns"][1])
    check(c["host_bound_ns"][0] == 0 and 0 < bound < 10 ** 9, c["host_bound_ns"])
    off = int(c["host_offset_ns"][0]) - int(c["host_offset_ns"][1]) - AHEAD_NS
    check(abs(off) <= bound + 2, f"the hosts' offsets differ by two hours and {off} ns, bound {bound} ns")
    check(c["rounds"][0] >= max(2, len(c["sample"])) and c["trips"][1] > 0 and c["round_ns"][0] > 0 and not c["impossible"].any(), (c["rounds"], c["trips"], c["round_ns"]))
    for worker, host in enumerate(c["worker_host"]):
        check(c["offset_ns"][worker] == c["host_offset_ns"][host] and c["drift_ppb"][worker] == c["host_drift_ppb"][host], (worker, host))
        check(c["bound_ns"][worker] - c["host_bound_ns"][host] in (0, 1), (c["bound_ns"], c["host_bound_ns"]))
    return bound


def check_samples(f):
    """Each says what is so: the second host is two hours ahead. They begin before the window, and leave about half a trip to either side."""
    n = f["clock/sample"].shape[0]
    check(n >= 2 and (f["clock/sample_host"][()] == 1).all(), f"{n} samples of hosts {f['clock/sample_host'][()]}")
    t1, t2, t3, t4 = (f["clock/" + k][()] for k in ("t1", "t2", "t3", "t4"))
    check((t1 - AHEAD_NS <= t2 + 1).all() and (t4 - AHEAD_NS >= t3 - 1).all() and (t2 <= t3).all(), (t1, t2, t3, t4))
    half, residual, when = f["clock/half_ns"][()], f["clock/residual_ns"][()], f["clock/time_ns"][()]
    check((half > 0).all() and (half <= t4 - t1 - (t3 - t2)).all(), f"{half} of trips of {t4 - t1 - (t3 - t2)}")
    check(residual[0] == residual[-1] == 0 and (abs(residual) <= half + half[0] + half[-1]).all(), (residual, half))
    check((when[1:] > when[:-1]).all() and when[0] <= f["step/begin_ns"][()].min(), (when, f.attrs["window_begin_ns"]))


def check_stretches(f, bound):
    begin, end = f["clock/begin_ns"][()], f["clock/end_ns"][()]
    first, last, hump = (f["clock/" + k][()] for k in ("bound_begin_ns", "bound_end_ns", "bound_hump_ns"))
    check((f["clock/stretch_host"][()] == 1).all() and (begin[1:] == end[:-1]).all() and (begin < end).all(), (begin, end))
    check(begin[0] <= f["step/begin_ns"][()].min() and end[-1] >= f["step/end_ns"][()].max(), (begin, end, dict(f.attrs)))
    check((hump >= 0).all() and max(first.max(), last.max()) <= bound <= max((first + hump).max(), (last + hump).max()) + 1,
          f"bound {bound}: {first} {last} {hump}")


def check_wall(f):
    """Both hosts show one date: namespaces do not move it."""
    if "change" in f["clock"]:
        raise Skipped("the wall clock was set meanwhile")
    host, when, date = (f["clock/wall_" + k][()] for k in ("host", "time_ns", "realtime_ns"))
    check(set(host) == {0, 1}, f"readings of {host}")
    off = date - when - int(f.attrs["epoch_realtime_ns"])
    check((abs(off) < 10 ** 8).all(), f"dates are off the epoch's by {off} ns")


def clock_group(place, full):
    """Model, comparisons, bound over time and dates of both hosts; the verbs read the file."""
    session, logs, names = job(place)
    with h5(session) as f:
        c = {k: v[()] for k, v in f["clock"].items()}
        bound = check_hosts(c, names)
        check_samples(f)
        check_stretches(f, bound)
        check_wall(f)
    check_epoch(session, logs, names)
    check_old_file(place, session)


def planes(logs, session, name):
    path = os.path.join(logs, "plugins", "profile", os.path.basename(session), name + ".xplane.pb")
    found = {p["name"]: p for p in xspace_wire.read(path)[0]}
    return found["/host:CPU"], found["Task Environment"]


def value(plane, stat):
    """Of a plane, or of an event."""
    if 7 in stat:
        return plane["stats"][stat[7]]["name"]
    return next(v for k, v in stat.items() if k != 1)


def values(plane, stats):
    return {plane["stats"][s[1]]["name"]: value(plane, s) for s in stats}


def calls(plane):
    """{(name, communicator, sequence): [(begin ns, end ns)]} of collectives of all."""
    found = {}
    for line in plane["lines"]:
        if line["name"].endswith("breakdown"):
            continue
        for e in line["events"]:
            name, got = plane["events"][e["id"]]["name"].split(":")[0], values(plane, e["stats"])
            if name in EVERYBODY and "sequence" in got and "cut" not in got:
                found.setdefault((name, got["comm"], got["sequence"]), []).append((e["begin"] // 1000, (e["begin"] + e["duration"]) // 1000))
    return found


def check_epoch(session, logs, names):
    """Equal starts in both files, and every rank is still in a collective when the last comes, but for the bound."""
    both = [planes(logs, session, n) for n in names]
    starts = [values(environment, environment["values"])["profile_start_time"] for _, environment in both]
    said = [values(host, host["values"]) for host, _ in both]
    with h5(session) as f:
        epoch, bound = int(f.attrs["epoch_realtime_ns"]), [int(b) for b in f["clock/bound_ns"][()]]
        host = [text(h) for h in f["worker/host"][()]]
    check(starts == [epoch, epoch], f"epochs of {names}: {starts}, {epoch}")
    for name, one in zip(names, said):
        check(one["clock_bound_ns"] == bound[host.index(name)], (one, bound))
    check(said[0]["clock"] == b"job time: rank 0's clock", said[0])
    check(said[1]["clock"] == f"compared with '{names[0]}', 1 hop from rank 0's clock".encode(), said[1])
    here, there = calls(both[0][0]), calls(both[1][0])
    shared = [k for k in here if k in there and len(here[k] + there[k]) == RANKS]
    check(len(shared) >= len(STEPS), f"{len(shared)} collectives of both hosts: {list(here)[:4]} {list(there)[:4]}")
    for key in shared:
        last, out = max(b for b, _ in here[key] + there[key]), min(e for _, e in here[key] + there[key])
        check(last <= out + max(bound) + 2, f"{key} is left {last - out} ns before all have come, bound {max(bound)} ns")


def check_old_file(place, session):
    """What podprof wrote before it told of hosts: /clock by workers alone. The page is made of it as of a new one."""
    page = os.path.join(session, "report.html")
    for old in (False, True):
        if old:
            with h5py.File(os.path.join(session, "pod.h5"), "r+") as f:
                for name in [n for n in f["clock"] if n not in ("worker", "domain", "offset_ns", "drift_ppb", "bound_ns")]:
                    del f["clock"][name]
        os.unlink(page)
        got = run([os.path.join(place.bin, "podprof"), "report", session])
        check(got.code == 0 and os.path.exists(page), got.transcript())


def not_joined(place, full):
    """No packet by UDP: no time of one host is said to be comparable with the other's, and dates are each host's own."""
    session, logs, names = job(place, deaf=True)
    with h5(session) as f:
        c = {k: v[()] for k, v in f["clock"].items()}
        check(list(c["domain"]) == [0, 1, 0, 1] and list(c["host_bound_ns"]) == [0, UNKNOWN], (c["domain"], c["host_bound_ns"]))
        check([b == UNKNOWN for b in c["bound_ns"]] == [False, True, False, True], c["bound_ns"])
        check("sample" not in c and "stretch" not in c and not c["trips"].any(), list(c))
        check((f["collective/bound_ns"][()] == UNKNOWN).all() and not f["collective/wait_ns"][()].clip(0).any(), f["collective/bound_ns"][()])
        check_wall(f)
    both = [planes(logs, session, n) for n in names]
    said = [values(host, host["values"]) for host, _ in both]
    check("clock_bound_ns" in said[0] and "clock_bound_ns" not in said[1] and said[1]["clock"].startswith(b"not compared"), said)
    starts = [values(environment, environment["values"])["profile_start_time"] for _, environment in both]
    check(abs(starts[0] - starts[1]) < 6 * 10 ** 10, f"epochs of {names}: {starts}")


CASES = {"clock_group": clock_group, "not_joined": not_joined}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__.splitlines()[0]))

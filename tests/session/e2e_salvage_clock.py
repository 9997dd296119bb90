#!/usr/bin/python3
"""A job of pretend hosts whose clocks stand hours apart, of which every keeper and then every rank is killed with SIGKILL in its window: the
spools that are left become one session of one clock, as far as their files allow. Run by ctest session_salvage_clock. Needs root and time
namespaces."""
import os
import shutil
import signal
import sys
import time

import numpy

from e2e import h5, read, text
from e2e_faults import of_host
from hosts import Hosts
import jobs
from jobs import Skipped, check, finish, run, session_of, start, wait_until

HOSTS, RANKS, LATE = 4, 8, 5  # rank 5 is on the second host: ranks go by node
SECOND, UNKNOWN = 10 ** 9, 2 ** 63 - 1
AHEAD = (0, 7200, 100, 7200)  # seconds: the second and the last host count the same ticks
SPOOL = "/dev/shm/podprof-0"


def file_of(hosts, name):
    """The file of a host's clock, as it is seen from here."""
    spools = hosts.spools(name)
    return f"/proc/{hosts.pids[name]}/root{SPOOL}/{spools[0]}/clocks" if spools else "/none"


def size_of(hosts, name):
    try:
        return os.path.getsize(file_of(hosts, name))
    except OSError:
        return 0


def killed_job(place, ahead=AHEAD, *words):
    """The spools of its hosts, rank 0's first, the readings of each rank's own clock, and what each host's clock is ahead by."""
    logs, times = place.new_logs(), os.path.join(place.scratch, "times")
    os.makedirs(times)
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        raise Skipped("time namespaces are not allowed here")
    with Hosts(place, HOSTS, prefix="sv", ahead=ahead) as hosts:
        program = [place.program("true_times"), "3000", "10", times, str(LATE)]
        command = hosts.mpirun(RANKS, ["env", "PODPROF_TICK=raw", *words, *place.under(logs, program, "--steps", "5:2900")])
        job = start(hosts.on(hosts.front, command))
        # the first record when a host joins, another one when the window begins; one of two hosts with one clock has the first only
        check(wait_until(lambda: all(size_of(hosts, n) for n in hosts.names), 30), "no comparison was kept")
        check(wait_until(lambda: sum(size_of(hosts, n) > 3 * 500 for n in hosts.names[1:]) >= 2, 30), "no comparison of the window was kept")
        for name in hosts.names:
            check(os.stat(file_of(hosts, name)).st_mode & 0o777 == 0o600, "others can read the file")
        keepers = [pid for n in hosts.names for pid, line in of_host(hosts, n).items() if " keeper --spool " in line]
        check(len(keepers) == HOSTS, keepers)
        for pid in [p for n in hosts.names for p, line in of_host(hosts, n).items() if " guard" in line] + keepers:
            os.kill(pid, signal.SIGKILL)
        time.sleep(2)  # steps that no keeper reads, without a comparison
        ranks = [int(p) for p in os.listdir("/proc") if p.isdigit() and is_rank(p, place.program("true_times"), times)]
        check(len(ranks) >= RANKS, ranks)
        for pid in ranks:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # mpirun ends the others
                pass
        check(finish(job).code != 0, "the job was not killed")
        spools = []
        for i, name in enumerate(hosts.names):
            spools.append(os.path.join(place.scratch, f"spool{i}"))
            got = run(hosts.on(name, ["cp", "-a", f"{SPOOL}/{hosts.spools(name)[0]}", spools[-1]]))
            check(got.code == 0, got.transcript())
        names = hosts.names
    truth = {}
    for rank in range(RANKS):
        rows = [line.split() for line in read(times, f"times-{rank}").splitlines()]
        truth[rank] = {int(r[0]): (int(r[1]), int(r[2])) for r in rows if len(r) == 3}
    return spools, truth, dict(zip(names, ahead))


def is_rank(pid, program, times):
    """Of this job: others have that program, too."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return times.encode() in f.read().split(b"\0") and os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program)
    except OSError:
        return False


def salvage(place, spools):
    """Its session, warnings and message, from copies of the spools."""
    copies, logs = [os.path.join(place.scratch, f"copy{place.count}-{i}") for i in range(len(spools))], place.new_logs()
    for spool, copy in zip(spools, copies):
        shutil.copytree(spool, copy, ignore=shutil.ignore_patterns("socket"))
    got = run([place.podprof(), "salvage", *copies, "-o", logs])
    check(got.code == 0, got.transcript())
    session = session_of(logs)
    with h5(session) as f:
        said = [text(w) for w in f["quality/warning"][()]] if "quality/warning" in f else []
    return session, said, got


def check_truth(session, truth, ahead, ranks):
    """Begins of steps on job time, against what the ranks' own clocks showed around them: within the clock error of each. The number of
    compared steps of hosts other than the first rank's."""
    with h5(session) as f:
        begin, number, present = f["step/begin_ns"][()], f["breakdown/step"][()], f["breakdown/present"][()]
        host, bound = [text(h) for h in f["worker/host"][()]], f["clock/bound_ns"][()]
        worker = {int(r): w for w, r in enumerate(f["worker/rank"][()])}
    lowest = -2 ** 62
    highest, compared, root = 2 ** 62, 0, host[worker[ranks[0]]]
    for own in (True, False):
        for rank in ranks:
            w = worker[rank]
            if (host[w] == root) != own:
                continue
            check(0 < bound[w] + own < SECOND, f"bound of rank {rank} on {host[w]}: {bound[w]} ns")
            for s, step in enumerate(number):
                if not present[s][w] or step not in truth[rank]:
                    continue
                low = truth[rank][step][0] - ahead[host[w]] * SECOND - begin[s][w]
                high = truth[rank][step][1] - ahead[host[w]] * SECOND - begin[s][w]
                if own:
                    lowest, highest = max(lowest, low - bound[w] - 1), min(highest, high + bound[w] + 1)
                    check(lowest <= highest, f"rank {rank}, step {step}: {lowest} .. {highest}")
                    continue
                check(low - bound[w] - 1 <= highest and high + bound[w] + 1 >= lowest,
                      f"rank {rank} on {host[w]}, step {step}: {low} .. {high} and not {lowest} .. {highest}, clock error {bound[w]}")
                compared += 1
    return compared


def check_growth(session, first):
    """The error of the first host's clock is that of job time; of the others it grows behind the last comparison, up to the last record."""
    with h5(session) as f:
        c = {k: v[()] for k, v in f["clock"].items()}
        host, step = [text(h) for h in f["worker/host"][()]], f["step/end_ns"][()]
    for i, name in enumerate(c["name"]):
        if text(name) == first:
            continue
        ends = max(step[:, w].max() for w, h in enumerate(host) if h == text(name))
        if not (c["sample_host"] == i).any():
            check(text(c["parent"][i]) != first, f"{name} has no comparison with {first}")
            continue
        samples, mine = c["time_ns"][c["sample_host"] == i], c["stretch_host"] == i
        check(len(samples) and samples.max() < ends - SECOND, f"{name} was compared at {samples}, the last step ended at {ends}")
        begin, end = c["bound_begin_ns"][mine][-1], c["bound_end_ns"][mine][-1]
        check(0 < begin < end <= 1 + c["host_bound_ns"][i] and c["end_ns"][mine][-1] >= ends, f"{name}: {begin} .. {end}")
        check(text(c["parent"][i]) == first and c["hops"][i] == 1 and c["trips"][i] >= 50, f"{name}: {c['parent'][i]} {c['trips'][i]}")


def domains(session):
    with h5(session) as f:
        return {int(r): int(d) for r, d in zip(f["worker/rank"][()], f["clock/domain"][()])}


def all_killed(place, full):
    """One session of one clock: all times within its error, and the late rank is found on another host."""
    spools, truth, ahead = killed_job(place)
    session, said, got = salvage(place, spools[1:] + spools[:1])
    check(set(domains(session).values()) == {0} and len(domains(session)) == RANKS, domains(session))
    check(check_truth(session, truth, ahead, range(RANKS)) > 20 * 4, "too few steps to say so")
    check_growth(session, list(ahead)[0])
    last = [w for w in said if "last compared" in w]
    check(len(last) == 1 and "their last record: clock error <= " in last[0], said)
    summary = read(session, "summary.txt")
    check(last[0].removeprefix("clock: ") in summary and "  Clock:      3 clocks on 4 hosts, clock error between any two ranks <= " in summary, summary)
    check(f"  Straggler:  rank {LATE}." in summary, summary)
    check("clock error <= " in got.err, got.transcript())
    with h5(session) as f:
        late = f["breakdown/late_ns"][()].clip(0).sum(axis=0)
        check(late.argmax() == LATE and not f["quality/causality_violated"][()] and f["quality/causality_pairs"][()] > 0, late)


def a_file_is_lost(place, full):
    """Of one host: missing, of another job, garbage, or cut. It has a clock of its own then, the others are joined; a cut file serves up to
    its last whole record."""
    spools, truth, ahead = killed_job(place)
    path = os.path.join(spools[2], "clocks")
    with open(path, "rb") as f:
        whole = f.read()
    record = int.from_bytes(whole[16:20], sys.byteorder)
    check(len(whole) % record == 0 and len(whole) >= 3 * record, f"{len(whole)} bytes, records of {record}")
    other = bytearray(whole)
    other[40] ^= 1  # the exchange's name: its checksum is wrong then, too
    try:
        for bad, why in ((None, "has no file of comparisons"), (b"", "is not a file of podprof's clocks"), (os.urandom(5000), "is not a file"),
                         (bytes(other), "is damaged"), (whole[:record + 100], "has no whole comparison"),
                         (whole[:8] + b"\2" + whole[9:], "another version"), (whole[:-100], "")):
            os.remove(path)
            if bad is not None:
                with open(path, "wb") as f:
                    f.write(bad)
            session, said, got = salvage(place, spools)
            mine = domains(session)
            joined = [r for r in range(RANKS) if r % HOSTS != 2] if why else list(range(RANKS))
            check(all((mine[r] == 0) == (r in joined) for r in mine), f"{why}: {mine}")
            check(any(("not joined" in w and why in w) if why else "bytes of 'clocks' are damaged" in w for w in said), f"{why}: {said}")
            check(check_truth(session, truth, ahead, joined) > 20, "too few steps to say so")
            with open(path, "wb"):
                pass
    finally:
        with open(path, "wb") as f:
            f.write(whole)


def without_rank_0(place, full):
    """Its host's spool is gone: the others are joined by the clock that they were compared with. One host alone says that it is."""
    spools, truth, ahead = killed_job(place)
    session, said, got = salvage(place, spools[1:])
    check({d for r, d in domains(session).items() if r % HOSTS} == {0}, domains(session))
    check(check_truth(session, truth, ahead, [r for r in range(RANKS) if r % HOSTS]) > 20, "too few steps to say so")
    for spool in spools[:2]:
        session, said, got = salvage(place, [spool])
        check(any("is alone in this session" in w for w in said) and not any("last compared" in w for w in said), said)
        check("one clock" in read(session, "summary.txt") and "no other host is in this session" in read(session, "summary.txt"),
              read(session, "summary.txt"))


def by_a_hub(place, full):
    """Two levels: a clock that was compared with a hub's is joined through the hub's file, and is not without it."""
    spools, truth, ahead = killed_job(place, (0, 7200, 100, 3600), "PODPROF_CLOCK_STAR=1")
    session, said, got = salvage(place, spools)
    check(set(domains(session).values()) == {0}, (domains(session), said))
    check(check_truth(session, truth, ahead, range(RANKS)) > 20, "too few steps to say so")
    with h5(session) as f:
        name, parent, hops = ([x if isinstance(x, numpy.integer) else text(x) for x in f["clock/" + k][()]] for k in ("name", "parent", "hops"))
    far = list(hops).index(2)
    hub, root = name.index(parent[far]), name.index(list(ahead)[0])
    check(sorted(hops) == [0, 1, 1, 2] and hops[hub] == 1 and parent[hub] == name[root], (name, parent, hops))
    session, said, got = salvage(place, [s for i, s in enumerate(spools) if i != list(ahead).index(name[hub])])
    alone = [r for r in range(RANKS) if r % HOSTS == list(ahead).index(name[far])]
    check(all((d == 0) == (r not in alone) for r, d in domains(session).items() if r % HOSTS != list(ahead).index(name[hub])), domains(session))
    check(any(f"the spool of host '{name[hub]}'" in w and "is not here" in w for w in said), said)


CASES = (all_killed, a_file_is_lost, without_rank_0, by_a_hub)

if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in CASES}, __doc__))

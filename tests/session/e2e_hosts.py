#!/usr/bin/python3
"""Jobs of four pretend hosts, by mpirun and without MPI: one session of all, or what there is with the reason where hosts or lines are lost.
Run by ctest session_hosts. Needs root."""
import glob
import json
import os
import re
import subprocess
import sys
import time

from e2e import check_dataset, h5, read, text, xspaces
from hosts import Hosts
import jobs
from jobs import check, finish, run, session_of, sessions, start, wait_until

HOSTS, RANKS = 4, 8


def train(place, hosts, logs, *options, mpi=()):
    program = os.path.join(place.bin, "c_mpi_train")
    return hosts.on(hosts.front, hosts.mpirun(RANKS, place.under(logs, [program, "--checkpoint", os.path.join(place.scratch, "point")],
                                                                 "--steps", "3:8", *options), *mpi))


def steps(place, hosts, logs, *options, count=20, ms=10, name="run", silence=None, stop=None):
    """Two ranks of a job that never calls MPI on each host; the processes, rank 0's first."""
    began = []
    for rank in range(RANKS):
        env = {"RANK": rank, "WORLD_SIZE": RANKS, "LOCAL_RANK": rank % 2, "LOCAL_WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": name}
        if silence:
            env["PODPROF_SILENCE_MS"] = silence
        if stop:
            env["GUEST_STOP"] = stop
        command = place.under(logs, [place.program("steps"), str(count), str(ms)], *options)
        began.append(start(hosts.on(hosts.names[rank // 2], command), env))
    return began


def all_joined(hosts, name="run"):
    """Rank 0's keeper has heard of every rank: what is lost from now on was there."""
    log = os.path.join(f"/proc/{hosts.pids[hosts.names[0]]}/root", f"dev/shm/podprof-0/{name}/keeper.log")
    check(wait_until(lambda: os.path.exists(log) and "every rank of the job is heard of" in read(os.path.dirname(log), "keeper.log"), 20),
          "they do not meet")


def done(place, began):
    """The results of steps() that were to go on until now."""
    with open(os.path.join(place.scratch, "stop"), "w", encoding="ascii"):
        pass
    return [finish(one) for one in began]


def link(hosts, name, state):
    subprocess.run(["ip", "-n", hosts.switch, "link", "set", "p" + name, state], check=True)


def status(session):
    with h5(session) as f:
        return [text(s) for s in f["worker/status"][()]]


def check_pod(logs, session, hosts):
    """All ranks, one clock, a file of each host."""
    check_dataset(session, workers=RANKS)
    with h5(session) as f:
        known = [text(w) for w in f["quality/warning"][()]] if "quality/warning" in f else []
    check(status(session) == ["delivered"] * RANKS, (status(session), known))
    check(xspaces(logs, session) == [n + ".xplane.pb" for n in hosts.names], (xspaces(logs, session), known))
    with h5(session) as f:
        check((f["breakdown/present"][()] == 1).all(), "steps are not on all ranks")
        check(not f["clock/domain"][()].any(), f"hosts of one kernel have {f['clock/domain'][()]}")
        check(sorted(set(text(h) for h in f["worker/host"][()])) == hosts.names, f["worker/host"][()])
    timeline = re.search(r'"timeline":(\{.*?\}),"loss":', read(session, "report.html"), re.S)
    check(timeline, "the page has no timeline")
    without = {r["rank"]: r["missing"] for r in json.loads(timeline[1])["rank"] if r["missing"]}
    check(not without, f"ranks without events in the page: {without}")


def check_waiting(session):
    """Who waited how long for ranks of other hosts, worked out again from the times of each: every collective of this job needs all."""
    with h5(session) as f:
        c, cells = {k: v[()] for k, v in f["collective"].items()}, {k: v[()] for k, v in f["breakdown"].items()}
    exposed, waited = 0 * cells["wait_ns"], cells["wait_ns"].clip(0)
    for i in range(len(c["event"])):
        rows = slice(int(c["row_first"][i]), int(c["row_first"][i]) + int(c["row_count"][i]))
        worker, arrival, left = c["worker"][rows], c["arrival_ns"][rows], c["exit_ns"][rows]
        wait = (left.clip(max=arrival.max()) - arrival).clip(min=0)
        check(c["last_worker"][i] == worker[arrival.argmax()] and c["last_ns"][i] == arrival.max(), f"event {i}: {worker} {arrival}")
        check(c["wait_ns"][i] == wait.sum() and c["transfer_ns"][i] == (left - arrival - wait).sum(), f"event {i}: {c['wait_ns'][i]} {wait}")
        for step in (cells["step"] == c["step"][i]).nonzero()[0]:
            exposed[step][worker] += wait
    check(exposed.sum() > 0 and (waited == exposed).all(), f"waiting of cells: {cells['wait_ns']} and not {exposed}")
    check(cells["late_ns"].clip(0).sum() == waited.sum(), f"lateness: {cells['late_ns']}")


def check_clean(hosts):
    for name in hosts.names:
        check(wait_until(lambda n=name: not hosts.spools(n)), f"left in {name}: {hosts.spools(name)}")
    check(not glob.glob("/dev/shm/podprof-0/*hosts*"), "spools are left")


def good(got):
    check(got.code == 0 and not got.timed_out, got.transcript())


def by_mpirun(place, full):
    """One XSpace a host, one pod.h5, collectives of all ranks."""
    logs = place.new_logs()
    with Hosts(place, HOSTS) as hosts:
        got = run(train(place, hosts, logs))
        good(got)
        check("steps 3..7 captured on 8 of 8 ranks, 4 hosts" in got.err, got.transcript())
        session = session_of(logs)
        check_pod(logs, session, hosts)
        check_dataset(session, steps=range(3, 8))
        with h5(session) as f:
            check(len(f["collective/ranks"]) > 0 and (f["collective/ranks"][()] == RANKS).all(), f["collective/ranks"][()])
            op = {name: f["op/" + name][()] for name in ("name", "row_op", "worker", "calls", "steps", "self_ns", "total_ns")}
        for name in (b"MPI_Allreduce", b"forward and backward"):  # one row a rank, whichever host it is of
            rows = [i for i, k in enumerate(op["row_op"]) if op["name"][k] == name]
            check(list(op["worker"][rows]) == list(range(RANKS)) and (op["steps"][rows] == 5).all(), f"{name}: {op}")
            check(len(set(op["calls"][rows])) == 1 and (op["calls"][rows] % 5 == 0).all() and (op["self_ns"][rows] > 0).all(), f"{name}: {op}")
        check((op["self_ns"] <= op["total_ns"]).all() and len(set(op["name"])) == len(op["name"]), op)
        check_waiting(session)
        check(not glob.glob(logs + "/.podprof*rendezvous") and not glob.glob(session + "/.*"), jobs.tree(logs))
        check_clean(hosts)


def check_output(session):
    """What people are told of three clocks: how they compare, and that nothing contradicts it."""
    with h5(session) as f:
        said = {name: int(f["quality/" + name][()]) for name in ("causality_pairs", "causality_violated", "violations", "pair_bound_ns")}
        bound, late, error = (f[name][()].clip(0) for name in ("clock/host_bound_ns", "breakdown/late_ns", "breakdown/late_error_ns"))
    check(said["causality_pairs"] >= 8 and not said["causality_violated"] and not said["violations"], f"causality: {said}")
    check(0 <= said["pair_bound_ns"] - sum(sorted(bound)[-2:]) < 1000, f"bound of two ranks: {said}, hosts {bound}")
    check((error[late > 0] >= 0).all() and error.sum() > 0, f"lateness: {late} +- {error}")  # which is more the machine decides
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        summary = f.read()
    for words in ("  Clock:      3 clocks on 4 hosts, clock error between any two ranks <= ", " ppm (", f"causality: 0 of {said['causality_pairs']} exits from collectives precede a needed arrival by more than the clock error"):
        check(words in summary, f"'{words}' is not in: {summary}")


def other_clocks(place, full):
    """Two of four hosts count hours ahead: their clocks are compared, all are on rank 0's, nothing ends before it could."""
    logs = place.new_logs()
    with Hosts(place, HOSTS, ahead=(0, 7200, 100, 0)) as hosts:
        got = run(train(place, hosts, logs, mpi=("-x", "PODPROF_TICK=raw")))
        good(got)
        check("steps 3..7 captured on 8 of 8 ranks, 4 hosts, clock error <= " in got.err, got.transcript())
        session = session_of(logs)
        check_pod(logs, session, hosts)
        check_waiting(session)
        check_output(session)
        with h5(session) as f:
            host, bound = [text(h) for h in f["worker/host"][()]], f["clock/bound_ns"][()]
            for worker, name in enumerate(host):
                far = name in hosts.names[1:3]
                check((1 < bound[worker] < 10 ** 9) if far else bound[worker] <= 1, f"bounds of {host}: {bound}")
            c = {k: v[()] for k, v in f["collective"].items()}
        pairs = 0
        for i in range(len(c["event"])):
            rows = slice(int(c["row_first"][i]), int(c["row_first"][i]) + int(c["row_count"][i]))
            check(c["exit_ns"][rows].min() >= c["arrival_ns"][rows].max() - c["bound_ns"][i], f"event {i} ends before its last arrival")
            pairs += 1
        check(pairs > 4, f"{pairs} collectives")


def separate_directories(place, full):
    """No host but rank 0's sees its log directory: invited by MPI, files over the net."""
    logs = place.new_logs()
    os.makedirs(logs)
    with Hosts(place, HOSTS) as hosts:
        for name in hosts.names[1:]:
            good(run(hosts.on(name, ["mount", "-t", "tmpfs", "apart", logs])))
        got = run(train(place, hosts, logs))
        good(got)
        session = session_of(logs)
        check_pod(logs, session, hosts)
        with h5(session) as f:
            way = text(f.attrs["rendezvous"])
        check(way == f"invited through MPI: {HOSTS - 1} other hosts", way)
        for name in hosts.names[1:]:
            left = run(hosts.on(name, ["find", logs, "-type", "f"])).out
            check(not left, f"copies are left on {name}: {left}")


def without_mpi(place, full):
    """Found by the file in the log directory; then without it, each host for itself."""
    logs, separate = place.new_logs(), place.new_logs()
    os.makedirs(separate)
    with Hosts(place, HOSTS) as hosts:
        got = [finish(p) for p in steps(place, hosts, logs)]
        for one in got:
            good(one)
            check(one.out == "20 steps\n", one.transcript())
        check("captured on 8 of 8 ranks, 4 hosts" in got[0].err, got[0].transcript())
        check_pod(logs, session_of(logs), hosts)
        check(not glob.glob(logs + "/.podprof*rendezvous"), jobs.tree(logs))
        for name in hosts.names[1:]:
            good(run(hosts.on(name, ["mount", "-t", "tmpfs", "apart", separate])))
        got = [finish(p) for p in steps(place, hosts, separate, "--wait", "4", name="apart")]
        for one in got:
            good(one)
        check("captured on 2 of 8 ranks, 1 host" in got[0].err, got[0].transcript())
        check(status(session_of(separate))[2:] == ["missing: neither it nor a keeper of its host connected"] * 6, status(session_of(separate)))
        left = run(hosts.on(hosts.names[1], ["find", separate, "-name", "pod.h5"])).out.split()
        check(len(left) == 1 and "apart-" + hosts.names[1] in left[0], left)
        said = run(hosts.on(hosts.names[1], [place.podprof(), "report", separate])).out
        check("cannot reach rank 0's keeper" in said and "all hosts have to share that directory" in said, said)
        good(run(hosts.on(hosts.names[0], ["rm", "-r", separate + "/podprof", separate + "/plugins"])))
        got = [finish(p) for p in steps(place, hosts, separate, "--rendezvous", place.scratch, name="met")]
        check("captured on 8 of 8 ranks, 4 hosts" in got[0].err, got[0].transcript())
        check_pod(separate, session_of(separate), hosts)
        check(not glob.glob(place.scratch + "/.podprof*rendezvous"), os.listdir(place.scratch))


def cut(place, full):
    """A line that is down for 2 s loses nothing; one that is down for good is rows with the reason."""
    logs, gone = place.new_logs(), place.new_logs()
    with Hosts(place, HOSTS) as hosts:
        began = steps(place, hosts, logs, count=150, ms=20)
        check(wait_until(lambda: glob.glob(logs + "/.podprof-*rendezvous")), "nobody invites")
        time.sleep(1)
        link(hosts, hosts.names[1], "down")
        time.sleep(2)
        link(hosts, hosts.names[1], "up")
        for one in [finish(p) for p in began]:
            good(one)
        check_pod(logs, session_of(logs), hosts)
        began = steps(place, hosts, gone, count=4000, ms=20, name="gone", silence=2000, stop=os.path.join(place.scratch, "stop"))
        all_joined(hosts, "gone")
        link(hosts, hosts.names[1], "down")
        got = done(place, began)
        for one in got:
            good(one)
        check("captured on 6 of 8 ranks" in got[0].err and "2 ranks missing: rank 2, 3" in got[0].err, got[0].transcript())
        found = wait_until(lambda: len(sessions(gone)) == 2 and sessions(gone)) or sessions(gone)
        check(len(found) == 2, f"one session of three hosts and one of the fourth: {jobs.tree(gone)}")
        check([s[:19] for s in status(found[0])[2:4]] == ["missing: host pp1 d"] * 2, status(found[0]))
        check("gone-" + hosts.names[1] in found[1] and status(found[1])[2:4] == ["delivered"] * 2, (found, status(found[1])))
        check("did not reply" in read(found[1], "summary.txt"), read(found[1], "summary.txt"))


def killed(place, full):
    """A host dies in the middle of the job."""
    logs = place.new_logs()
    with Hosts(place, HOSTS) as hosts:
        began = steps(place, hosts, logs, count=4000, ms=20, silence=2000, stop=os.path.join(place.scratch, "stop"))
        all_joined(hosts)
        hosts.inits[1 + 2].kill()
        got = done(place, began)
        for rank, one in enumerate(got):
            check((one.code == 0) == (rank // 2 != 2), one.transcript())
        session = session_of(logs)
        check([s.split(":")[0] for s in status(session)] == ["delivered"] * 4 + ["missing"] * 2 + ["delivered"] * 2, status(session))
        check("captured on 6 of 8 ranks" in got[0].err, got[0].transcript())


def leader_killed(place, full):
    """Rank 0's host dies: the others write what they have."""
    logs = place.new_logs()
    with Hosts(place, HOSTS) as hosts:
        began = steps(place, hosts, logs, count=4000, ms=20, silence=2000, stop=os.path.join(place.scratch, "stop"))
        all_joined(hosts)
        hosts.inits[1].kill()
        for one in done(place, began)[2:]:
            good(one)
        found = wait_until(lambda: len(sessions(logs)) == 3 and sessions(logs)) or sessions(logs)
        check(len(found) == 3, jobs.tree(logs))
        for session in found:
            check(status(session).count("delivered") == 2, status(session))
            check("rank 0's keeper did not reply" in read(session, "summary.txt"), read(session, "summary.txt"))


def lost_after_window(place, full):
    """Past the window of the options a host dies, and captures are of the others; then rank 0's, and each host captures its own ranks."""
    logs = place.new_logs()
    with Hosts(place, HOSTS) as hosts:
        began = steps(place, hosts, logs, "--steps", "3:8", count=4000, ms=10, silence=2000, stop=os.path.join(place.scratch, "stop"))
        all_joined(hosts)
        check(wait_until(lambda: sessions(logs) and os.path.exists(sessions(logs)[0] + "/summary.txt"), 20), jobs.tree(logs))
        check_pod(logs, sessions(logs)[0], hosts)
        for dies, asks, printed in ((4, 1, "captured on 6 of 8 ranks"), (1, 2, "captured on 2 of 8 ranks, 1 host")):
            hosts.inits[dies].kill()
            ask = hosts.on(hosts.names[asks], [place.podprof(), "capture", logs, "--steps", "+5"])
            said = []
            check(wait_until(lambda a=ask, t=printed, s=said: s.append(run(a)) or t in s[-1].out, 40), [one.transcript() for one in said[-2:]])
        for one in done(place, began)[2:6]:
            good(one)
            check("session" not in one.err and "lost" not in one.err, one.transcript())


def no_port(place, full):
    """Every port of the range is taken: the job goes on, files are each host's."""
    logs = place.new_logs()
    with Hosts(place, HOSTS) as hosts:
        holder = start(hosts.on(hosts.names[0], [jobs.PYTHON, "-c", "import socket,time\ns=socket.socket(); s.bind(('',21000)); s.listen()\n"
                                                 "print('listens', flush=True); time.sleep(60)"]))
        check(wait_until(lambda: os.pread(holder.files[0].fileno(), 10, 0)), "nobody takes the port")
        got = run(train(place, hosts, logs, "--port-range", "21000:21000", "--wait", "4"))
        holder.kill()
        good(got)
        check("no free port in 21000-21000" in got.err, got.transcript())
        found = wait_until(lambda: len(sessions(logs)) == 4 and sessions(logs)) or sessions(logs)
        check(len(found) == 4, jobs.tree(logs))


def two_jobs(place, full):
    """Two jobs at once in one log directory: two sessions, nobody is in the other's."""
    logs, key = place.new_logs(), "a" * 40
    os.makedirs(logs)
    with open(os.open(logs + "/.podprof-two.rendezvous", os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:  # of a job of that name that was killed
        f.write(f"podprof rendezvous 1\njob=two\nport=9\nserver={key}\nclient={key}\nsecret={key}\naddress=127.0.0.1\nend\n")
    with Hosts(place, HOSTS) as hosts:
        began = steps(place, hosts, logs, name="one") + steps(place, hosts, logs, name="two", count=60)
        for one in [finish(p) for p in began]:
            good(one)
        found = sessions(logs)
        check(len(found) == 2, jobs.tree(logs))
        for session in found:
            check_pod(logs, session, hosts)


def asked(place, full):
    """Steps that podprof capture asks for, of whatever host, and windows of the options: the same steps on all hosts, a session each."""
    logs, many = place.new_logs(), place.new_logs()
    with Hosts(place, HOSTS) as hosts:
        began = steps(place, hosts, logs, count=4000, ms=10, stop=os.path.join(place.scratch, "stop"))
        check(wait_until(lambda: glob.glob(logs + "/.podprof-*rendezvous")), "nobody invites")
        time.sleep(0.5)
        for name in (hosts.names[2], hosts.names[0]):
            got = run(hosts.on(name, [place.podprof(), "capture", logs, "--steps", "+5"]))
            good(got)
            said = re.fullmatch(r"steps (\d+)\.\.(\d+) captured on 8 of 8 ranks, 4 hosts\n(\S+)  \(podprof report \S+\)\n", got.out)
            check(said and int(said[2]) - int(said[1]) == 4, got.transcript())
            check_pod(logs, said[3], hosts)
            check_dataset(said[3], steps=range(int(said[1]), int(said[2]) + 1))
        for one in done(place, began):
            good(one)
        began = steps(place, hosts, many, "--steps", "10:20,30:35", count=50, name="many")
        for one in [finish(p) for p in began]:
            good(one)
        found = sessions(many)
        check(len(found) == 2, jobs.tree(many))
        for session, numbers in zip(found, (range(10, 20), range(30, 35))):
            check_pod(many, session, hosts)
            check_dataset(session, steps=numbers)
        check_clean(hosts)


def one_name(place, full):
    """Two keepers on one host, each with a spool of its own: the second one's files and rows go by another name. No root is needed."""
    logs, began = place.new_logs(), []
    for rank in range(2):
        env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "pair"}
        spool = os.path.join(place.scratch, f"spool{rank}")
        began.append(start(place.under(logs, [place.program("steps"), "30", "10"], "--spool", spool, "--xspace", "rank"), env))
    got = [finish(p) for p in began]
    for one in got:
        good(one)
    check("captured on 2 of 2 ranks, 2 hosts" in got[0].err, got[0].transcript())
    session, host = session_of(logs), os.uname().nodename
    check(sorted(xspaces(logs, session)) == sorted([f"{host}-rank0000.xplane.pb", f"{host}-2-rank0001.xplane.pb"]), xspaces(logs, session))
    with h5(session) as f:
        check([text(h) for h in f["worker/host"][()]] == [host, host + "-2"], f["worker/host"][()])
        check(not f["clock/domain"][()].any(), f["clock/domain"][()])


def slow_elsewhere(place, full):
    """A step that is slow on the second keeper's rank only: one session of both, at the time of that step. No root is needed."""
    logs, began = place.new_logs(), []
    for rank in range(2):
        env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "slow"}
        spool = os.path.join(place.scratch, f"slow{rank}")
        program = [place.program("steps"), *(("100", "20", "60") if rank else ("150", "20"))]
        began.append(start(place.under(logs, program, "--spool", spool, "--trigger", "step>30x"), env))
    got = [finish(p) for p in began]
    for one in got:
        good(one)
    check("captured by --trigger" in got[0].err, got[0].transcript())
    found = sessions(logs)
    check(len(found) == 1, jobs.tree(logs))
    with h5(found[0]) as f:
        numbers, took = f["step/step"][()], f["breakdown/step_ns"][()]
        check(f["worker/rank"].shape == (2,) and 60 in numbers, numbers)
        check(took[list(numbers).index(60), 1] > 1e9, took)
        check("step 60 of rank 1" in text(f["window/request"][0]), f["window/request"][()])


CASES = {"one_name": one_name, "slow_elsewhere": slow_elsewhere,
         "asked": asked, "by_mpirun": by_mpirun, "other_clocks": other_clocks,
         "apart_directories": separate_directories, "without_mpi": without_mpi, "cut": cut, "killed": killed,
         "leader_killed": leader_killed, "lost_after_window": lost_after_window, "no_port": no_port, "two_jobs": two_jobs}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__.splitlines()[0]))

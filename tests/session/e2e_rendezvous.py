#!/usr/bin/python3
"""Ranks that never call MPI, on hosts that share no directory, under a podprof run around mpirun: their keepers meet there; or each host for
itself, with the reason, where they cannot. Run by ctest session_rendezvous. Needs root."""
import glob
import os
import re
import signal
import stat
import sys

from e2e import check_dataset, h5, text
from hosts import Hosts
import jobs
from jobs import MPI_ENV, check, finish, run, session_of, sessions, start, wait_until

RANKS = 4
OUTER = "the podprof run around the launcher"


def separate(place, hosts):
    """A log directory of the same name on every host, each its own."""
    logs = place.new_logs()
    os.makedirs(logs)
    for name in hosts.names:
        check(run(hosts.on(name, ["mount", "-t", "tmpfs", "apart", logs])).code == 0, "no mount")
    return logs


def on(hosts, name, path):
    """That host's file, as it is seen from here."""
    return f"/proc/{hosts.pids[name]}/root{path}"


def outer(place, hosts, logs, command, *options, mpi=(), env=None):
    return start(hosts.on(hosts.front, place.under(logs, hosts.mpirun(RANKS, command, *mpi), *options)), env)


def front_spool(hosts):
    found = glob.glob(f"/dev/shm/podprof-0/{hosts.front}-*/meeting")
    return os.path.dirname(found[0]) if found else None


def whole(hosts, logs, got, count):
    """One session of all, on rank 0's host."""
    check(got.code == 0 and got.out.count("steps\n") == RANKS, got.transcript())
    check(f"captured on {RANKS} of {RANKS} ranks, {count} hosts" in got.err and len(got.podprof_lines()) == 2, got.transcript())
    session = session_of(on(hosts, hosts.names[0], logs))
    check_dataset(session, workers=RANKS)
    with h5(session) as f:
        way = text(f.attrs["rendezvous"])
        check([text(s) for s in f["worker/status"][()]] == ["delivered"] * RANKS, f["worker/status"][()])
    check(f"invited through {OUTER}: {count - 1} other host" in way and "the job does not call MPI" in way, way)
    for name in hosts.names[1:]:
        check(not sessions(on(hosts, name, logs)), f"a session on {name}")
    check(wait_until(lambda: not glob.glob(f"/dev/shm/podprof-0/{hosts.front}-*")), "the front end's spool is left")
    for name in hosts.pids.keys() - {hosts.front}:
        check(wait_until(lambda n=name: not hosts.spools(n)), f"left on {name}: {hosts.spools(name)}")


def command_lines():
    found = b""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            found += open(path, "rb").read() + b"\n"
        except OSError:
            continue
    return found


def secret(spool, lines):
    """The invitation is in an owner-only file and in no command line, whole or in part."""
    st = os.lstat(spool + "/meeting")
    check(stat.S_ISREG(st.st_mode) and stat.S_IMODE(st.st_mode) == 0o600, stat.filemode(st.st_mode))
    word = open(spool + "/meeting", encoding="ascii").read()
    keys = re.findall(r"^(?:server|client|secret)=(.{40})$", bytes.fromhex(word).decode(), re.M)
    check(len(keys) == 3, "no invitation")
    for form in [word, *keys, *(k.encode().hex() for k in keys)]:
        check(form.encode() not in lines, "a key is on a command line")
    log = open(spool + "/keeper.log", encoding="utf-8").read()
    check(not any(k in log for k in (word, *keys)), "a key is in the log")


def front_end(place, full):
    """The outer process is where no rank is; variables go by a list, then by -x. No value is on a command line of any host."""
    with Hosts(place, 2, prefix="mt") as hosts:
        for mpi in ((), ("-x", "HOME"))[:2 if full else 1]:
            logs = separate(place, hosts)
            job = outer(place, hosts, logs, [place.program("steps"), "60", "20"], mpi=mpi)
            spool = wait_until(lambda: front_spool(hosts))
            check(spool, "no rendezvous point")
            check(wait_until(lambda: all(hosts.spools(n) for n in hosts.names)), "no keeper on a host")
            lines = command_lines()
            check(b"orted" in lines and lines.count(b"\0keeper\0--spool") >= 3, "not all hosts are seen")
            secret(spool, lines)
            whole(hosts, logs, finish(job), 2)


def rank_0s_host(place, full):
    """The keeper of the outer process has rank 0 itself; all ports are of --port-range, of which it needs two."""
    with Hosts(place, 2, prefix="mt") as hosts:
        hosts.names.insert(0, hosts.front)
        logs = separate(place, hosts)
        whole(hosts, logs, finish(outer(place, hosts, logs, [place.program("steps"), "60", "20"], "--port-range", "47310:47311")), 3)


def rank_0_elsewhere(place, full):
    """The keeper of the outer process has ranks, and follows rank 0's like all others."""
    with Hosts(place, 1, prefix="mt") as hosts:
        hosts.names.append(hosts.front)
        logs = separate(place, hosts)
        half = ["-n", "2", place.program("steps"), "60", "20"]
        words = hosts.mpirun(2, [])[3:-2] + ["--host", f"{hosts.names[0]}:2", *half, ":", "--host", f"{hosts.front}:2", *half]
        whole(hosts, logs, finish(start(hosts.on(hosts.front, place.under(logs, [jobs.MPIRUN, *words])))), 2)


def again(place, full):
    """Ranks that are started again, with other keepers: they meet at the same place, each round for itself."""
    if not full:
        raise jobs.Skipped("a long one")
    with Hosts(place, 2, prefix="mt") as hosts:
        logs = separate(place, hosts)
        rounds = "TORCHELASTIC_RESTART_COUNT=0 $0 20 20; TORCHELASTIC_RESTART_COUNT=1 $0 30 20"
        got = finish(outer(place, hosts, logs, ["/bin/sh", "-c", rounds, place.program("steps")]))
        check(got.code == 0 and got.err.count(f"captured on {RANKS} of {RANKS} ranks, 2 hosts") == 2, got.transcript())
        check(len(sessions(on(hosts, hosts.names[0], logs))) == 2, jobs.tree(on(hosts, hosts.names[0], logs)))


def each_alone(hosts, logs, reason):
    """Sessions of each host's own, with the sentence."""
    check(len(hosts.names) == 2, "ranks 0, 2 and 1, 3")
    for i, name in enumerate(hosts.names):
        session = session_of(on(hosts, name, logs))
        with h5(session) as f:
            status = [text(s) for s in f["worker/status"][()]]
            said = text(f.attrs["rendezvous"])
        check(status[i::2] == ["delivered"] * 2, f"{name}: {status}")
        check(reason in said, f"{name}: {said}")


def one_port(place, full):
    """Rank 0's keeper needs the only port: the rendezvous is given up for it, and said; a directory that all see leads there still."""
    if not full:
        raise jobs.Skipped("a long one")
    with Hosts(place, 1, prefix="mt") as hosts:
        hosts.names.insert(0, hosts.front)
        logs = separate(place, hosts)
        options = ("--port-range", "47312:47312", "--wait", "4")
        got = finish(outer(place, hosts, logs, [place.program("steps"), "40", "20"], *options, env={"PODPROF_SILENCE_MS": 700}))
        check(got.code == 0, got.transcript())
        with h5(session_of(on(hosts, hosts.names[0], logs))) as f:
            said = text(f.attrs["rendezvous"])
        check("had the only port of --port-range" in said, said)
        logs = separate(place, hosts)
        got = finish(outer(place, hosts, logs, [place.program("steps"), "60", "20"], *options, "--rendezvous", place.scratch))
        check(f"captured on {RANKS} of {RANKS} ranks, 2 hosts" in got.err, got.transcript())


def waiting(place, program):
    """Begins when it is told to."""
    go = os.path.join(place.scratch, "go")
    return ["/bin/sh", "-c", f'while [ ! -e {go} ]; do sleep 0.02; done; exec "$@"', "sh", *program], go


def keeper_killed(place, full):
    """Before anybody has met there: the job is the same, each host has a session."""
    with Hosts(place, 2, prefix="mt") as hosts:
        logs = separate(place, hosts)
        command, go = waiting(place, [place.program("steps"), "40", "20"])
        job = outer(place, hosts, logs, command, "--wait", "4", mpi=("-x", "PODPROF_SILENCE_MS"), env={"PODPROF_SILENCE_MS": 700})
        spool = wait_until(lambda: front_spool(hosts))
        check(spool, "no rendezvous point")
        jobs.kill_keeper(spool)
        open(go, "w", encoding="ascii").close()
        got = finish(job)
        check(got.code == 0 and got.out.count("steps\n") == RANKS, got.transcript())
        each_alone(hosts, logs, OUTER + " was not reached")


def launcher_killed(place, full):
    """mpirun, which podprof run has become, is killed when all have met: rank 0's keeper writes what there is of all of them."""
    with Hosts(place, 2, prefix="mt") as hosts:
        logs = separate(place, hosts)
        job = outer(place, hosts, logs, [place.program("steps"), "1000", "20"])
        log = lambda: glob.glob(on(hosts, hosts.names[0], "/dev/shm/podprof-0/*/keeper.log"))
        check(wait_until(lambda: log() and "every rank of the job is heard of" in open(log()[0], encoding="utf-8").read()), "they did not meet")
        os.kill(job.pid, signal.SIGKILL)
        finish(job)
        session = session_of(on(hosts, hosts.names[0], logs), 20)
        with h5(session) as f:
            check(list(f["worker/pid"][()] > 0) == [True] * RANKS, f["worker/status"][()])
        check(wait_until(lambda: not front_spool(hosts)), "the front end's spool is left")


def of_another_job(place):
    return "\n".join(["podprof rendezvous 1", "job=another", "port=4711", *(f"{n}={'a' * 40}" for n in ("server", "client", "secret")),
                      "address=127.0.0.1", "end", ""]).encode().hex()


def no_invitation(place, full):
    """PODPROF_MEETING is anybody's text, or of a job that is over: ignored, and said."""
    cases = [("garbage\n\x1b[2J", "it is not an invitation"), ("6" * 20000, "it is too long"), (of_another_job(place), "it is of another job")]
    lib = os.path.join(os.path.dirname(place.bin), "lib", "libpodprof.so")
    for number, (value, reason) in enumerate(cases if full else cases[::2]):
        logs = place.new_logs()
        spool = f"/dev/shm/podprof-{os.getuid()}/meeting-{os.getpid()}-{number}"
        env = {"PODPROF_SPOOL": spool, "PODPROF_JOB": os.path.basename(spool), "PODPROF_PROGRAM": place.podprof(), "PODPROF_OUTPUT": logs,
               "PODPROF_WAIT": 1, "RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "PODPROF_MEETING": value}
        got = run(["/usr/bin/env", f"LD_PRELOAD={lib}", place.program("steps"), "10", "20"], env)
        check(got.code == 0 and got.out == "10 steps\n" and value not in got.err, got.transcript())
        with h5(session_of(logs)) as f:
            said = [text(w) for w in f["quality/warning"][()]]
        check(f"PODPROF_MEETING is ignored: {reason}" in said, (said, got.transcript()))
        check(wait_until(lambda s=spool: not os.path.exists(s)), "a spool is left")


def one_host(place, full):
    """Nobody listens, no variable is set."""
    logs = place.new_logs()
    script = ["/bin/sh", "-c", 'env | grep ^PODPROF_MEETING=; exec "$@"', "sh", place.program("steps"), "20", "20"]
    job = start(place.under(logs, place.mpirun(2, script)), {"PODPROF_MEETING": "66", **MPI_ENV})
    while job.poll() is None:
        check(not glob.glob(f"/dev/shm/podprof-{os.getuid()}/*-{job.pid}-*/meeting*"), "a rendezvous point for one host")
        wait_until(lambda: job.poll() is not None, 0.05)
    got = finish(job)
    check(got.code == 0 and got.out == "20 steps\n" * 2 and "captured on 2 of 2 ranks" in got.err, got.transcript())


def by_store(place, full):
    """Rank 0's invitation in the spool of another keeper, as the shim of Python leaves it there: they meet, whatever each calls the job. A
    file that others can read, or of anything else, is none: each has a session of its own."""
    for trusted in (True, False):
        logs, began, spools = [place.new_logs(), place.new_logs()], [], [os.path.join(place.scratch, f"by{trusted}{r}") for r in range(2)]
        for rank in range(2):
            env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": f"store{rank}"}
            command = [place.program("steps"), "40" if trusted else "20", "20"]
            began.append(start(place.under(logs[rank], command, "--spool", spools[rank], "--wait", "4"), env))
        check(wait_until(lambda: os.path.exists(spools[0] + "/invite") and os.path.isdir(spools[1])), "nobody invites")
        invitation = open(spools[0] + "/invite", encoding="ascii").read()
        with open(os.open(spools[1] + "/part", os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as f:
            f.write(invitation)
        if not trusted:
            os.chmod(spools[1] + "/part", 0o644)
        os.rename(spools[1] + "/part", spools[1] + "/invite-store")
        got = [finish(p) for p in began]
        check([g.code for g in got] == [0, 0], got[0].transcript() + got[1].transcript())
        with h5(session_of(logs[0])) as f:
            way, ranks = text(f.attrs["rendezvous"]), f["worker/rank"].shape[0]
            status = [text(s) for s in f["worker/status"][()]]
        if trusted:
            check("captured on 2 of 2 ranks, 2 hosts" in got[0].err and not sessions(logs[1]), (got[0].transcript(), jobs.tree(logs[1])))
            check(way == "invited through the framework's store: 1 other host, through MPI: 0; not all through MPI: the job does not call MPI", way)
        else:
            check(ranks == 2 and status[1].startswith("missing") and len(sessions(logs[1])) == 1, (status, jobs.tree(logs[1])))


CASES = {f.__name__: f for f in (by_store, front_end, rank_0s_host, rank_0_elsewhere, again, one_port, keeper_killed, launcher_killed, no_invitation, one_host)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

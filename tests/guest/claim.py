#!/usr/bin/python3
"""Which process is the rank, and how it gets a spool where no podprof run was: helpers, workers, exec chains, several programs in one
rank, ranks that are started again, one host of two. Each job is the same with podprof. Run by ctest guest_claim."""
import os
import re
import shutil
import subprocess
import sys
import time

import jobs
from hosts import Hosts
from jobs import Skipped, check, compare, keepers, run, session_of, sessions, start, wait_until


# mpirun and the agent that it starts race for who puts the agent into its process group; Open MPI 4.1.4 says so now and then.
RSH_RACE = re.compile(r"^.*plm:rsh: Warning: setpgid.*\n", re.M)


def same(place, base_command, command, env=None, base_env=None):
    base, got = run(base_command, base_env or env), run(command, env)
    base.err, got.err = RSH_RACE.sub("", base.err), RSH_RACE.sub("", got.err)
    wrong = compare(base, got)
    check(not wrong, "; ".join(wrong) + "\nunder podprof: " + got.transcript() + "\nbase: " + base.transcript())
    return got


def workers(session):
    import h5py
    with h5py.File(os.path.join(session, "pod.h5"), "r") as f:
        pairs = zip((int(r) for r in f["worker/rank"][()]), (int(p) for p in f["worker/pid"][()]))
        return {rank: pid for rank, pid in pairs if pid}  # a missing rank has none


def attribute(session, name):
    import h5py
    with h5py.File(os.path.join(session, "pod.h5"), "r") as f:
        value = f.attrs.get(name, "")
        return value.decode() if isinstance(value, bytes) else str(value)


def trainers(place):
    """Directory in which claim_job.py leaves the pid of each rank."""
    where = os.path.join(place.scratch, f"pids{place.count}")
    os.makedirs(where, exist_ok=True)
    return where


def python_job(place, mode, before=()):
    command = [*before, jobs.PYTHON, "-B", place.script("claim_job.py"), mode]
    logs = place.new_logs()
    where = trainers(place)
    env = {"CLAIM_PIDS": where}
    same(place, place.mpirun(2, command), place.mpirun(2, place.under(logs, command)), env)
    pids = {int(r): int(open(os.path.join(where, r)).read()) for r in os.listdir(where)}
    check(workers(session_of(logs)) == pids, f"the ranks are {pids}, the session has {workers(session_of(logs))}")


def data_workers(place, full):
    """fork, spawn and forkserver workers, as a DataLoader's, come and go before MPI_Init and after it: the rank is who calls it."""
    python_job(place, "both")


def helper_and_chain(place, full):
    """A helper python, then env, nice, bash and python, each in the place of the one before or below it."""
    python_job(place, "helper", ["/bin/bash", "-c", 'true | cat; env X=1 nice -n 0 /bin/bash -c \'exec env Y=2 "$0" "$@"\' "$0" "$@"'])


def inside_a_script(place, full):
    """The wrapper script starts podprof itself, after helpers of its own."""
    logs = place.new_logs()
    program = [place.program("mpi_ends"), "normal"]
    script = lambda words: ["/bin/bash", "-c", 'n=$(seq 3 | wc -l); "$@"; echo "$n after $?"', "x", *words]
    same(place, place.mpirun(2, script(program)), place.mpirun(2, script(place.under(logs, program))))
    check(sorted(workers(session_of(logs))) == [0, 1], "both ranks")


def programs_in_turn(place, full):
    """Two marked programs one after the other in each rank: each is a session of its own, all ranks in both."""
    logs = place.new_logs()
    script = ["/bin/sh", "-c", '"$0" steps 4 20; "$0" steps 6 20', place.program("arrival")]
    same(place, place.mpirun(2, script), place.mpirun(2, place.under(logs, script)))
    wait_until(lambda: len(sessions(logs)) == 2)
    found = [workers(s) for s in sessions(logs)]
    check(len(found) == 2 and all(sorted(w) == [0, 1] for w in found), f"sessions {found}")
    check(not set(found[0].values()) & set(found[1].values()), "each has its own processes")


def handed_on(place, full):
    """The process that records is killed, another of the same rank goes on: its steps are in the session, beside those of the others."""
    import h5py
    killed = '"$0" steps 1000 100 & until ls "$PODPROF_SPOOL"/rank-1-*.ring >/dev/null; do sleep 0.05; done; sleep 0.3; kill -9 $!; wait'
    script = f'[ "$OMPI_COMM_WORLD_RANK" = 0 ] || {{ {killed}; }} 2>/dev/null; exec "$0" steps 12 100'
    logs = place.new_logs()
    got = run(place.mpirun(2, place.under(logs, ["/bin/bash", "-c", script + " 2>/dev/null", place.program("arrival")])))
    check(got.code == 0 and got.sorted_out() == ["rank 0 ends", "rank 1 ends"], got.transcript())
    with h5py.File(os.path.join(session_of(logs), "pod.h5"), "r") as f:
        present = f["breakdown/present"][()]
        printed = [w.decode() for w in f["quality/warning"][()]]
    check(present.sum(axis=0).min() >= 10, f"steps of the ranks: {present.sum(axis=0)}")
    check(any("2 processes were rank 1" in w for w in printed), f"{printed}")


def spawned(place, full):
    """The world that MPI_Comm_spawn makes is another one: the session has the ranks of the first."""
    logs = place.new_logs()
    command = [place.program("mpi_ends"), "spawn"]
    same(place, place.mpirun(2, command), place.mpirun(2, place.under(logs, command)))
    check(sorted(workers(session_of(logs))) == [0, 1], f"workers {workers(session_of(logs))}")


def elastic(place, full):
    """All ranks are started again after a failure: a session of its own, that names the one before; podprof inside and outside."""
    program = [place.program("arrival"), "steps", "10", "100"]
    launch = lambda words: [jobs.PYTHON, "-B", place.script("claim_elastic.py"), "2", "1", *words]
    base = run(launch(program))
    for outside in (1, 0):
        logs = place.new_logs()
        got = run(place.under(logs, launch(program)) if outside else launch(place.under(logs, program)))
        check(not compare(base, got), f"{compare(base, got)}: {got.transcript()}")
        check(wait_until(lambda: len(sessions(logs)) == 2), f"two sessions expected: {sessions(logs)}")
        first, second = sorted(sessions(logs), key=lambda s: os.path.getmtime(os.path.join(s, "pod.h5")))
        check(attribute(second, "previous") == os.path.basename(first), f"previous is '{attribute(second, 'previous')}', not {first}")
        check(attribute(first, "previous") == "", "the first has none before it")
        check(sorted(workers(first)) == sorted(workers(second)) == [0, 1], "both ranks in both")
        got = run([place.podprof(), "report", "--list", logs])
        check(f"restart of {os.path.basename(first)}" in got.out.splitlines()[1] and got.out.splitlines()[1].startswith(os.path.basename(second)), got.transcript())


def alone_on_its_host(place, logs, program, **env):
    """What a rank gets whose outer podprof run is on another host: variables, and no spool."""
    lib = os.path.join(os.path.dirname(place.bin), "lib")
    spool = f"/dev/shm/podprof-{os.getuid()}/claim-{os.getpid()}-{place.count}"
    given = {"PODPROF_SPOOL": spool, "PODPROF_JOB": os.path.basename(spool), "PODPROF_PROGRAM": place.podprof(), "PODPROF_OUTPUT": logs,
             "LD_PRELOAD": f"{lib}/libpodprof.so", "GUEST_MARK": "1", **env}
    return ["/usr/bin/env", *(f"{k}={v}" for k, v in given.items()), *program], spool


def arrival(place, full):
    """The rank has podprof make its spool and start the keeper; the application cannot tell."""
    for mode in ("", "closed"):
        logs = place.new_logs()
        command, spool = alone_on_its_host(place, logs, [place.program("arrival"), mode])
        same(place, [place.program("arrival"), mode], command)
        check(sorted(workers(session_of(logs))) == [0], "one rank")
        check(wait_until(lambda: not os.path.exists(spool) and not keepers(spool)), "something is left")


def no_arrival(place, full):
    """Where it cannot be: no new processes, no podprof there, another program in its place, a log directory that cannot be: one sentence."""
    cases = [({}, "seccomp"), ({"PODPROF_PROGRAM": "/nowhere/podprof"}, ""), ({"PODPROF_PROGRAM": "/bin/true"}, ""),
             ({"PODPROF_OUTPUT": "/proc/nowhere"}, ""), ({"PODPROF_SPOOL": "/proc/nowhere/job"}, "")]
    for env, mode in cases:
        command, _ = alone_on_its_host(place, place.new_logs(), [place.program("arrival"), mode], **env)
        got = same(place, [place.program("arrival"), mode], command)
        check(1 <= len(got.podprof_lines()) <= 2, f"{env} {mode}: {got.transcript()}")


def small_shm(place, full):
    """/dev/shm full, tiny, without inodes, or not there: the spool stands in the node's tmp."""
    if os.geteuid() or not shutil.which("unshare") or run(["unshare", "-m", "true"]).code:
        raise Skipped("mounting needs root and mount namespaces")
    for how in ("mount -t tmpfs -o size=1m,mode=1777 x /dev/shm", "mount -t tmpfs -o size=16m x /dev/shm; head -c 16m /dev/zero > /dev/shm/f",
                "mount -t tmpfs -o nr_inodes=10,mode=1777 x /dev/shm", "mount --bind /proc/sys /dev/shm"):
        logs = place.new_logs()
        program = [place.program("lone"), "normal"]
        inside = lambda words: ["unshare", "-m", "/bin/sh", "-c", how + ' 2>/dev/null; exec "$@"', "x", *words]
        env = {"GUEST_MARK": 1, "TMPDIR": place.scratch}
        got = same(place, inside(program), inside(place.under(logs, program)), env)
        check(sorted(workers(session_of(logs))) == [0], got.transcript())
        got = same(place, inside(program), inside(alone_on_its_host(place, place.new_logs(), program)[0]), env)
        check("captured" in got.err, f"{how}: {got.transcript()}")


def two_hosts(place, full):
    """podprof run -- mpirun over two hosts: a keeper on each, the variables by name only; with a list and with -x of the user's own."""
    with Hosts(place, 2) as hosts:
        program = [place.program("arrival"), "steps", "15", "60"]
        base = run(hosts.on(hosts.front, hosts.mpirun(4, program)))
        check(base.code == 0, base.transcript())
        base.err = RSH_RACE.sub("", base.err)
        for options, env in ((("-x", "CLAIM_X"), {"CLAIM_X": "1"}), ((), {"OMPI_MCA_mca_base_env_list": "HOME"}), ((), {}))[:3 if full else 2]:
            logs = place.new_logs()
            job = start(hosts.on(hosts.front, place.under(logs, hosts.mpirun(4, program, *options))), env)
            time.sleep(0.6)
            lines = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
            shown = [line for line in lines if "orted" in line and ("PODPROF_SPOOL=" in line or logs in line)]
            got = jobs.finish(job, 60)
            got.err = RSH_RACE.sub("", got.err)
            wrong = compare(base, got)
            check(not wrong, f"{options} {env}: " + "; ".join(wrong) + "\n" + got.transcript())
            check(not shown, f"values on a command line: {shown}")
            found = wait_until(lambda: [sorted(workers(s)) for s in sessions(logs)] == [[0, 1, 2, 3]])
            check(found, f"{options} {env}: ranks {[workers(s) for s in sessions(logs)]}, {jobs.tree(logs)}")
            for name in hosts.names:
                check(wait_until(lambda: not hosts.spools(name)), f"left on {name}: {hosts.spools(name)}")


def debris(place, full):
    """podprof run takes away what dead jobs left: at once nothing, after a week rings too, never of a process that lives."""
    root = os.path.join(place.scratch, f"podprof-{os.getuid()}")
    made = {"fresh": ("rank-0-999999999.ring", 0), "empty": ("options", 1), "day": ("rank-0-999999999.ring", 1),
            "old": ("rank-0-999999999.ring", 8), "alive": (f"rank-0-{os.getpid()}.ring", 8)}
    for name, (file, days) in made.items():
        os.makedirs(os.path.join(root, name))
        with open(os.path.join(root, name, file), "w"):
            pass
        when = time.time() - days * 86400
        os.utime(os.path.join(root, name), (when, when))
    got = run(place.under(place.new_logs(), ["/bin/true"], "--spool", os.path.join(root, "job")))
    left = {name for name in os.listdir(root) if not name.startswith("job")}  # of the job, also while its keeper removes it
    check(got.code == 0 and not got.other_err() and left == {"fresh", "day", "alive"}, f"left: {left}; {got.transcript()}")


def named_ranks(place, full):
    """Ranks that lack podprof are named while the job runs, by rank 0 alone and once; those that record nothing too."""
    steps, none = [place.program("arrival"), "steps", "8", "100"], ["/bin/sleep", "0.8"]
    env = {"PODPROF_PATIENCE_MS": 300, "GUEST_MARK": 1}
    got = run(place.mpirun(2, place.under(place.new_logs(), steps) + [":", "-n", "2"] + steps), env)
    said = [line for line in got.podprof_lines() if "of this job have no podprof" in line]
    check(len(said) == 1 and "2 of 4 ranks" in said[0] and "(ranks 2-3)" in said[0] and got.err.index(said[0]) == 0, got.transcript())
    got = run(place.under(place.new_logs(), place.mpirun(2, steps + [":", "-n", "1"] + none)), env)
    said = [line for line in got.podprof_lines() if "recorded nothing so far" in line]
    check(len(said) == 1 and "1 of 3 ranks" in said[0] and "(rank 2)" in said[0], got.transcript())
    if full:
        got = run(place.mpirun(2, place.under(place.new_logs(), steps)), env)
        check(len(got.podprof_lines()) == 2, got.transcript())


def one_host_of_two(place, full):
    """podprof on the ranks of one host only, and inside a wrapper script: the MPI job is the same, those ranks are recorded."""
    with Hosts(place, 2) as hosts:
        program = [place.program("mpi_ends"), "normal"]
        logs = place.new_logs()
        script = f'[ "$(hostname)" != {hosts.names[1]} ] || exec "$0" run -o "$1" -- {program[0]} normal; exec {program[0]} normal'
        same(place, hosts.on(hosts.front, hosts.mpirun(4, program)),
             hosts.on(hosts.front, hosts.mpirun(4, ["/bin/bash", "-c", script, place.podprof(), logs])))
        check(sorted(workers(session_of(logs))) == [1, 3], f"ranks {workers(session_of(logs))}")


CASES = {
    "data_workers": data_workers, "helper_and_chain": helper_and_chain,
    "inside_a_script": inside_a_script, "programs_in_turn": programs_in_turn, "handed_on": handed_on, "spawned": spawned, "elastic": elastic,
    "arrival": arrival, "no_arrival": no_arrival, "small_shm": small_shm, "debris": debris, "named_ranks": named_ranks, "two_hosts": two_hosts, "one_host_of_two": one_host_of_two,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

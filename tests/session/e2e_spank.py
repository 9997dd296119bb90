#!/usr/bin/python3
"""srun, sbatch and salloc --podprof under a real Slurm: sessions of steps, arrays and allocations; refused options; jobs without it.
Run by ctest session_spank. Needs root and Slurm, and slurm/spank.h when podprof is built."""
import glob
import os
import re
import signal
import sys

from e2e import check_dataset, h5, text
from e2e_rendezvous import on, separate
from hosts import Hosts
import jobs
from jobs import check, session_of
from slurm import Slurm

RANKS = 8


def slurm_of(place, plugin="", lines="", **more):
    """Two nodes with the plug-in of the build."""
    so = os.path.join(place.bin, "..", "lib", "spank_podprof.so")
    if not os.path.exists(so):
        raise jobs.Skipped("podprof was built without slurm/spank.h (apt-get install libslurm-dev)")
    return Slurm(place, 2, 8, lines=lines, plugins=f"optional {os.path.realpath(so)} {plugin}\n", **more)


def trains(place, *words):
    return [os.path.realpath(os.path.join(place.bin, "c_mpi_train")), "--steps", "40", "--work-us", "500", *words]


def sessions(logs):
    return sorted(glob.glob(os.path.join(logs, "podprof", "*")))


def script(place, *lines):
    path = os.path.join(place.scratch, "script.sh")
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(["#!/bin/sh", *lines, ""]))
    os.chmod(path, 0o755)
    return path


def step(place, full):
    """srun --mpi=pmix over two nodes is one session of the wanted steps; output and exit code are the program's."""
    logs = place.new_logs()
    with slurm_of(place) as slurm:
        if not slurm.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        bare = slurm.run(["srun", "--mpi=pmix", "-N", "2", "-n", str(RANKS), *trains(place)])
        got = slurm.run(["srun", "--mpi=pmix", "-N", "2", "-n", str(RANKS), f"--podprof=steps=10:20,output={logs}", *trains(place)])
        check(bare.code == 0 and got.code == 0 and not bare.podprof_lines(), bare.transcript() + got.transcript())
        check(len(got.out.splitlines()) == len(bare.out.splitlines()), got.transcript())
        check(not got.other_err() or got.other_err() == bare.other_err(), got.transcript())
        check(f"captured on {RANKS} of {RANKS} ranks" in got.err, got.transcript())
        check_dataset(session_of(logs), RANKS, range(10, 20))
        failing = slurm.run(["srun", "-n", "2", f"--podprof=output={place.new_logs()}", "sh", "-c", "exit 7"])
        check(failing.code == 7, failing.transcript())


def absent(place, full):
    """A job without the option, and the batch script of one with it, are as if there were no plug-in."""
    logs = place.new_logs()
    with slurm_of(place) as slurm:
        got = slurm.run(["srun", "-n", "2", "env"])
        check(got.code == 0 and "PODPROF" not in got.out and "podprof" not in got.err and "LD_PRELOAD" not in got.out, got.transcript())
        out = os.path.join(place.scratch, "batch.out")
        got = slurm.run(["sbatch", "--wait", f"--podprof=output={logs}", "-o", out, script(place, "env")])
        with open(out, encoding="utf-8", errors="replace") as f:
            check(got.code == 0 and "PODPROF_SPOOL" not in (text := f.read()) and "LD_PRELOAD" not in text, got.transcript())
        check(not os.path.exists(logs), jobs.tree(logs))


def refused(place, full):
    """A wrong option is refused where the job is submitted, in podprof's words; nothing starts."""
    with slurm_of(place) as slurm:
        for given, words in (("steps=5", "'5' is not a range of steps"), ("stops=1:2", "did you mean '--steps'"),
                             ("spool", "option '--spool' needs a value"),
                             ("steps=1:2,every=x", "--every"), ("steps=1:2,delay=5s", "cannot be combined with --steps")):
            for command in (["srun", "-n", "1"], ["sbatch", "-o", "/dev/null"]):
                mark = os.path.join(place.scratch, "started")
                got = slurm.run([*command, f"--podprof={given}", script(place, f"touch {mark}")])
                check(got.code and words in got.err and len(got.podprof_lines()) == 1, got.transcript())
                check(not os.path.exists(mark), got.transcript())


def refused_without_children(place, full):
    """As refused(), where srun inherits that it ignores the ends of its children."""
    with slurm_of(place) as slurm:
        mark = os.path.join(place.scratch, "started")
        got = jobs.run(["env", "--ignore-signal=CHLD", slurm.found["srun"], "-n", "1", "--podprof=steps=5", "touch", mark], slurm.env)
        check(got.code and len(got.podprof_lines()) == 1 and not os.path.exists(mark), got.transcript())


def programs(place, full):
    """srun --multi-prog: tasks of several programs, by a file with and without a line break at its end, are one session."""
    path, program = os.path.join(place.scratch, "programs"), os.path.realpath(place.program("steps"))
    with slurm_of(place) as slurm:
        for lines in (f"0 {program} 60 20\n1 {program} 60 20 {'x' * 5000}\n", f"* {program} 60 20"):
            logs = place.new_logs()
            with open(path, "w", encoding="ascii") as f:
                f.write(lines)
            got = slurm.run(["srun", "-n", "2", f"--podprof=output={logs}", "--multi-prog", path])
            check(got.code == 0 and got.out == "60 steps\n" * 2 and "captured on 2 of 2 ranks" in got.err, got.transcript())
            with open(os.path.join(session_of(logs), "summary.txt"), encoding="utf-8") as f:
                check(f.read().startswith("steps "), session_of(logs))


def batch(place, full):
    """Two steps of a batch script, one of them for other steps of the job, are two sessions."""
    logs = place.new_logs()
    out = os.path.join(place.scratch, "batch.out")
    with slurm_of(place) as slurm:
        if not slurm.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        line = "srun --mpi=pmix -n 2 " + " ".join(trains(place))
        got = slurm.run(["sbatch", "--wait", "-n", "2", f"--podprof=steps=10:20,output={logs}", "-o", out,
                         script(place, line, line.replace("srun", "srun --podprof=steps=5:8,output=" + logs))])
        with open(out, encoding="utf-8", errors="replace") as f:
            text = f.read()
        check(got.code == 0 and text.count("captured on 2 of 2 ranks") == 2, got.transcript() + text)
        found = sorted(len(h5(s)["breakdown/step"]) for s in sessions(logs))
        check(found == [3, 10], f"steps of the sessions: {found}\n{text}")


def several(place, full):
    """Tasks of an array, two steps of one allocation at a time, and the parts of a heterogeneous job each have a session."""
    logs = place.new_logs()
    with slurm_of(place) as slurm:
        if not slurm.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        line = "srun --mpi=pmix --overlap -n 2 " + " ".join(trains(place))
        got = slurm.run(["sbatch", "--wait", "-n", "2", "--array=0-1", f"--podprof=steps=10:20,output={logs}", "-o",
                         os.path.join(place.scratch, "array-%a.out"), script(place, line)])
        check(got.code == 0 and len(sessions(logs)) == 2, f"{got.transcript()}\n{sessions(logs)}")
        got = slurm.run(["salloc", "-n", "4", f"--podprof=steps=10:20,output={logs}", script(place, line + " & " + line + "; wait")])
        check(got.code == 0 and len(sessions(logs)) == 4, f"{got.transcript()}\n{sessions(logs)}")
        for s in sessions(logs):
            check_dataset(s, 2, range(10, 20))


def front_spools(logs):
    """Spools for this log directory in the /dev/shm that the front end shares with others."""
    found = []
    for path in glob.glob(f"/dev/shm/podprof-{os.getuid()}/*/options"):
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                found += [path] * (f"OUTPUT={logs}\n" in f.read())
        except OSError:
            continue
    return found


def separate_hosts(place, full):
    """Ranks without MPI on two hosts that share no directory, of one program or of two components, meet at srun, also if it passes on no environment:
    one session on rank 0's host."""
    with Hosts(place, 2, prefix="sr") as hosts:
        logs = separate(place, hosts)
        option, program = f"--podprof=output={logs}", ["--mpi=none", place.program("steps"), "60", "20"]
        part = ["-N", "1", "-n", "2", *program]
        with slurm_of(place, hosts=hosts) as slurm:
            one = slurm.run(["srun", option, "-N", "2", "-n", "4", *program])
            two = slurm.run(["srun", option, *part, ":", *part])
            none = slurm.run(["srun", option, "--export=NONE", "-N", "2", "-n", "4", *program])
            seen = slurm.run(["srun", option, "--export=NONE", "-N", "2", "-n", "2", "/usr/bin/env"])
            other = slurm.run(["srun", option, "-w", hosts.names[0], *part])
        check(seen.code == 0 and "SLURM_PODPROF" not in seen.out and seen.out.count("\nPODPROF_MEETING=") == 2, seen.out)
        for got in (one, two, none):
            check(got.code == 0 and got.out == "60 steps\n" * 4 and "captured on 4 of 4 ranks, 2 hosts" in got.err, got.transcript())
            check(len(got.podprof_lines()) == 2, got.transcript())
        check(other.code == 0 and "captured on 2 of 2 ranks, 1 host" in other.err, other.transcript())
        made = sessions(on(hosts, hosts.names[0], logs))
        ways = []
        for session in made:
            with h5(session) as f:
                way = text(f.attrs.get("rendezvous", b""))
                ways.append((len(f["worker/rank"]), "invited through the podprof run around the launcher" in way))
        check(sorted(ways) == [(2, False), (4, True), (4, True), (4, True)] and not sessions(on(hosts, hosts.names[1], logs)), f"{made}: {ways}")
        check(jobs.wait_until(lambda: not front_spools(logs)), f"srun's spool is left: {front_spools(logs)}")


def hook(place, name):
    """A hook of slurm.conf, as launchers/slurm has it, with a log in place of the system's."""
    path, log = (os.path.join(place.scratch, name + end) for end in ("", ".log"))
    with open(path, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\n{place.podprof()} slurm {name.lower()} >>{log} 2>&1\nexit 0\n")
    os.chmod(path, 0o755)
    return f"{name}={path}\n", log


def asked_of(place):
    """A program for plugstack.conf that is podprof, and the file in which it notes how it was called to wait for a keeper, and for which job."""
    asked, by = os.path.join(place.scratch, "asked"), os.path.join(place.scratch, "podprof")
    with open(by, "w", encoding="ascii") as f:
        f.write(f'#!/bin/sh\n[ "$2" = task-epilog ] && echo "$3 $SLURM_JOB_ID" >>{asked}\nexec {os.path.realpath(place.podprof())} "$@"\n')
    os.chmod(by, 0o755)
    return "podprof=" + by, asked


def missing(place, full):
    """A node without podprof: one line, and the program runs."""
    with slurm_of(place, "podprof=" + os.path.join(place.scratch, "none")) as slurm:
        got = slurm.run(["srun", "-n", "2", "--podprof=steps=1:2", "echo", "here"])
        check(got.code == 0 and got.out == "here\nhere\n", got.transcript())
        check(got.err.count("podprof") >= 1 and got.err.count("runs unprofiled") == 1, got.transcript())


def ends(place, full):
    """When the last task of a node has ended, podprof is asked to wait for the keeper, but shortly where Slurm is to tell other nodes of a
    failure."""
    by, asked = asked_of(place)
    with slurm_of(place, by) as slurm:
        for nodes, end, seconds in (("2", "exit 0", "10"), ("2", "exit 9", "3"), ("2", "kill -9 $$", "3"), ("2", "kill $$", "10"), ("1", "exit 9", "10")):
            got = slurm.run(["srun", "-N", nodes, "-n", "4", f"--podprof=output={place.new_logs()}", "sh", "-c", end])
            with open(asked, encoding="ascii") as f:
                check(f.read().split()[::2] == [seconds] * int(nodes), f"{nodes} nodes, {end}: {got.transcript()}")
            os.remove(asked)


def cancel(place, slurm, nodes):
    """scancel in the middle of a window, without hooks: one whole session of all ranks, and nothing is left."""
    if not slurm.has_pmix():
        raise jobs.Skipped("this Slurm has no plug-in for PMIx")
    logs = place.new_logs()
    job = slurm.start(["srun", "--mpi=pmix", "-N", str(nodes), "-n", "4", f"--podprof=steps=10:100000,output={logs}",
                       *trains(place)[:1], "--steps", "1000000", "--work-us", "500"])
    status = [place.podprof(), "status", "--json", logs]
    check(jobs.wait_until(lambda: len(re.findall(r'"step": ?[0-9]{2}', jobs.run(slurm.on(slurm.names[0], status)).out)) == 4, 30),
          jobs.run(slurm.on(slurm.names[0], status)).transcript())
    slurm.run(["scancel", slurm.run(["squeue", "-h", "-o", "%i"]).out.split()[0]])
    got = jobs.finish(job)
    session = session_of(logs)
    with h5(session) as f:
        said = [text(t) for t in f["worker/status"][()]]
        check(len(f["step/number"]) >= 1 and len(said) == 4 and not any("missing" in t for t in said), f"{said}\n{got.transcript()}")
    check(jobs.wait_until(lambda: os.path.exists(session + "/report.html")), jobs.tree(logs))
    check(len(sessions(logs)) == 1, sessions(logs))


def cancelled_cgroup(place, full):
    """Where Slurm kills what is left in the step's cgroup behind its last task, the plug-in lets the keeper finish before."""
    with slurm_of(place, track="proctrack/cgroup") as slurm:
        cancel(place, slurm, 1)


def cancelled_hosts(place, full):
    """The keepers of two hosts finish together."""
    with Hosts(place, 2, prefix="sc") as hosts, slurm_of(place, hosts=hosts) as slurm:
        cancel(place, slurm, 2)


def cancelled(place, full):
    """scancel --signal=KILL in the middle of a window kills ranks and keeper at once: the epilog alone writes what they recorded."""
    logs = place.new_logs()
    (prolog, before), (epilog, after) = hook(place, "Prolog"), hook(place, "Epilog")
    with slurm_of(place, lines=prolog + epilog) as slurm:
        if not slurm.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        job = slurm.start(["srun", "--mpi=pmix", "-N", "1", "-n", "4", f"--podprof=steps=10:100000,output={logs}",
                           *trains(place)[:1], "--steps", "1000000", "--work-us", "500"])
        spools = glob.escape(f"/dev/shm/podprof-{os.getuid()}") + "/slurm.pmix.*"
        check(jobs.wait_until(lambda: len(glob.glob(spools + "/rank-*.ring")) == 4, 30), "no rings")
        spool = os.path.dirname(glob.glob(spools + "/rank-*.ring")[0])
        status = [place.podprof(), "status", "--json", logs]
        check(jobs.wait_until(lambda: re.search(r'"step": ?[0-9]{2}', jobs.run(status).out), 30), jobs.run(status).transcript())
        number = slurm.run(["squeue", "-h", "-o", "%i"]).out.split()[0]
        jobs.kill_keeper(spool)
        slurm.run(["scancel", "--signal=KILL", number])
        jobs.finish(job)
        check(jobs.wait_until(lambda: not os.path.exists(spool), 30), f"the spool stays: {jobs.tree(spool)}\n{open(after).read()}")
        with open(before, encoding="utf-8") as f:
            check(re.search(r'"checks": ?\[', f.read()), before)
    session = session_of(logs)
    with h5(session) as f:
        check(len(f["breakdown/step"]) >= 1 and len(f["worker/rank"]) == 4, session)


def requeued(place, full):
    """A job that is preempted in the middle of a window, and begins again with the same numbers of job and step: each run has its session, also
    where the first one's keeper has no core and still writes while the second runs."""
    with slurm_of(place) as slurm:
        if not slurm.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        for stands in (False, True) if full else (True,):
            requeue(place, slurm, stands)


def requeue(place, slurm, stands):
    logs = place.new_logs()
    out = logs + ".out"
    line = f"srun --mpi=pmix -n 4 {trains(place)[0]} --work-us 500 --steps"
    # Without --wait: sbatch may look between the end of the first run and its requeue, and take that for the job's end.
    got = slurm.run(["sbatch", "--requeue", "-n", "4", f"--podprof=steps=10:100000,output={logs}", "-o", out, "--open-mode=append",
                     script(place, f"if [ -z \"$SLURM_RESTART_COUNT\" ]; then {line} 1000000; else {line} 40; fi")])
    check(got.code == 0, got.transcript())
    status = [place.podprof(), "status", "--json", logs]
    check(jobs.wait_until(lambda: re.search(r'"step": ?[0-9]{2}', jobs.run(status).out), 30), jobs.run(status).transcript())
    number = slurm.run(["squeue", "-h", "-o", "%i"]).out.split()[0]
    first = jobs.keepers(f"slurm.pmix.{number}.0") if stands else []
    for pid in first:
        jobs.freeze(pid)
    again = slurm.run(["scontrol", "requeue", number])
    check(again.code == 0, again.transcript())
    check(jobs.wait_until(lambda: slurm.run(["squeue", "-h", "-o", "%r"]).out.strip() in ("BeginTime", ""), 60), slurm.run(["squeue"]).out)
    slurm.run(["scontrol", "update", f"JobId={number}", "StartTime=now"])
    ended = jobs.wait_until(lambda: "JobState=COMPLETED" in slurm.run(["scontrol", "show", "job", number]).out, 180)
    for pid in first:
        os.kill(pid, signal.SIGCONT)
    with open(out, encoding="utf-8", errors="replace") as f:
        text = f.read()
    written = os.path.join(logs, "podprof", "*", "pod.h5")
    check(ended and jobs.wait_until(lambda: len(glob.glob(written)) == 2, 60),
          f"{slurm.run(['scontrol', 'show', 'job', number]).out}{text}{sessions(logs)}")
    found = []
    for session in sessions(logs):
        with h5(session) as f:
            check(len(f["worker/rank"]) == 4, session)
            found.append(len(f["breakdown/step"]))
    check(sorted(found)[1] >= 30 and 30 in found, f"steps of the sessions: {found}")


def node_down(place, full):
    """An administrator sets the node down in the middle of a window: Slurm ends the job, and its session is written; on the node, once it is
    back, a job is recorded as before."""
    logs, later = place.new_logs(), place.new_logs()
    with slurm_of(place) as slurm:
        if not slurm.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        job = slurm.start(["srun", "--mpi=pmix", "-n", "4", f"--podprof=steps=10:100000,output={logs}", *trains(place)[:1], "--steps", "1000000",
                           "--work-us", "500"])
        status = [place.podprof(), "status", "--json", logs]
        check(jobs.wait_until(lambda: re.search(r'"step": ?[0-9]{2}', jobs.run(status).out), 30), jobs.run(status).transcript())
        node = slurm.names[0]
        down = slurm.run(["scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test"])
        check(down.code == 0, down.transcript())
        got = jobs.finish(job, 120)
        check(not got.timed_out, got.transcript())
        check(jobs.wait_until(lambda: sessions(logs), 60), f"{jobs.tree(logs)} {got.transcript()}")
        slurm.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"])  # it may have come back by itself
        check(jobs.wait_until(slurm.is_idle, 60), slurm.run(["sinfo"]).out)
        after = slurm.run(["srun", "--mpi=pmix", "-n", "4", f"--podprof=steps=10:20,output={later}", *trains(place)[:1], "--steps", "30"])
        check(after.code == 0, after.transcript())
    with h5(session_of(logs)) as f:
        check(len(f["breakdown/step"]) >= 1 and len(f["worker/rank"]) == 4, jobs.tree(logs))
    with h5(session_of(later)) as f:
        check(len(f["breakdown/step"]) == 10, jobs.tree(later))


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (step, absent, refused, refused_without_children, programs, batch, several, separate_hosts,
                                            missing, ends, cancelled_cgroup, cancelled_hosts, cancelled, requeued, node_down)}, __doc__))

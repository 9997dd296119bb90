#!/usr/bin/python3
"""srun --podprof under a real Slurm: options of srun, terminals, heterogeneous jobs, steps that are stopped, and steps that record nothing.
Run by ctest session_spank_steps. Needs root and Slurm, and slurm/spank.h when podprof is built."""
import glob
import os
import pty
import re
import select
import sys
import time

from e2e import h5, text
from e2e_rendezvous import on, separate
from e2e_spank import asked_of, hook, script, sessions, slurm_of, trains
from hosts import Hosts
import jobs
from jobs import check, session_of
from slurm import WAITS


def options_of_srun(place, full):
    """Options of srun that change input, output or environment act as without podprof, and the step is one session."""
    program = os.path.realpath(place.program("steps"))
    out = os.path.join(place.scratch, "out")
    with slurm_of(place) as slurm:
        for words in (["-l"], ["-u"], ["--input=none"], ["--export=NONE"], ["--chdir=/"], ["--cpu-bind=none"], ["--bcast=" + os.path.join(place.scratch, "copy")],
                      ["-N", "2", "--ntasks-per-node=1"], [f"--output={out}.%t"], [f"--output={out}.0", f"--error={out}.err"]):
            logs, printed = place.new_logs(), []
            for option in ([], [f"--podprof=output={logs}"]):
                got = slurm.run(["srun", "-n", "2", *option, *words, program, "20", "2"])
                files = [open(path, encoding="utf-8").read() for path in sorted(glob.glob(out + ".*"))]
                text = got.out + "".join(files) + got.err
                printed.append(sorted(line for line in text.splitlines() if "podprof: " not in line))
                for path in glob.glob(out + ".*") + glob.glob(os.path.join(place.scratch, "copy")):
                    os.remove(path)
                check(got.code == 0, f"{words}: {got.transcript()}")
            check(printed[0] == printed[1] and text.count("captured on 2 of 2 ranks") == 1, f"{words}: {printed} {text}")
            check(len(sessions(logs)) == 1, f"{words}: {sessions(logs)}")


def stopped(place, full):
    """A step that scancel JOB.STEP ends, or that another rank's failure does, or whose job is requeued, has its session and leaves no spool to the next
    run."""
    with slurm_of(place) as slurm:
        if not slurm.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        endless = [*trains(place)[:1], "--steps", "1000000", "--work-us", "500"]

        def steps_of(logs, count):
            status = [place.podprof(), "status", "--json", logs]
            check(jobs.wait_until(lambda: len(re.findall(r'"step": ?[0-9]{2}', jobs.run(status).out)) == count, 40), jobs.run(status).transcript())

        logs = place.new_logs()
        job = slurm.start(["srun", "--mpi=pmix", "-N", "1", "-n", "2", f"--podprof=steps=10:100000,output={logs}", *endless])
        steps_of(logs, 2)
        slurm.run(["scancel", slurm.run(["squeue", "-h", "-o", "%i"]).out.split()[0] + ".0"])
        got = jobs.finish(job)
        with h5(session_of(logs)) as f:
            check(len(f["breakdown/step"]) >= 1 and len(f["worker/rank"]) == 2 and got.code, got.transcript())
        logs, program = place.new_logs(), place.program("steps")
        fails = f"while ! {place.podprof()} status --json {logs} | grep -q '\"step\": *[0-9][0-9]'; do sleep 0.1; done; exit 3"
        got = slurm.run(["srun", "--mpi=none", "-N", "1", "-n", "2", "--kill-on-bad-exit=1", f"--podprof=output={logs}", "sh", "-c",
                         f"test $SLURM_PROCID = 1 || exec {program} 1000000 2000; {fails}"])
        check(got.code in (3, 143) and "Exited with exit code 3" in got.err, got.transcript())
        with h5(session_of(logs)) as f:
            check([text(t).split(":")[0] for t in f["worker/status"][()]] == ["partial", "missing"], f["worker/status"][()])
        logs, out = place.new_logs(), os.path.join(place.scratch, "requeued.out")
        slurm.run(["sbatch", "--requeue", "-N", "1", "-n", "2", "-o", out, f"--podprof=steps=10:100000,output={logs}",
                   script(place, "srun --mpi=pmix " + " ".join(endless))])
        check(jobs.wait_until(lambda: os.path.isdir(logs), 30), "the step does not begin")
        steps_of(logs, 2)
        number = slurm.run(["squeue", "-h", "-o", "%i"]).out.split()[0]
        slurm.run(["scontrol", "requeue", number])
        with h5(session_of(logs)) as f:
            check(len(f["breakdown/step"]) >= 1 and len(f["worker/rank"]) == 2, logs)
        check(jobs.wait_until(lambda: not glob.glob(f"/dev/shm/podprof-{os.getuid()}/slurm.pmix.{number}.*"), 30), "the spool stays")
        slurm.run(["scancel", number])


def on_terminal(slurm, *words, sends=b""):
    """srun on a terminal of its own, which gets the bytes when it says "ready". Its exit code and the lines of the terminal, sorted."""
    pid, terminal = pty.fork()
    if not pid:
        os.execve(slurm.found["srun"], ["srun", *words], jobs.clean_environment(slurm.env))
    said, end = b"", time.monotonic() + 60
    while time.monotonic() < end and not (sends and b"ready" in said):
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                said += os.read(terminal, 4096)
            except OSError:  # nobody has the other end open
                break
    os.write(terminal, sends)
    while time.monotonic() < end:
        try:
            said += os.read(terminal, 4096)
        except OSError:
            break
    os.close(terminal)
    text = WAITS.sub("", said.decode(errors="replace").replace("^C", ""))  # the terminal's echo, in front of whoever writes next
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sorted(text.split("\r\n"))


def terminal(place, full):
    """srun --pty: a shell on the terminal reads, knows its size and ends as without podprof, also by Ctrl-C; and what it starts is recorded."""
    logs, program = place.new_logs(), os.path.realpath(place.program("steps"))
    with slurm_of(place) as slurm:
        for command, sends in ((f"test -t 0 && test -t 1 && stty size && echo ready; read x; echo $x; {program} 60 20; exit 5", b"typed\n"),
                               (f"echo ready; exec {program} 1000000 2000", b"\x03")):
            bare = on_terminal(slurm, "--pty", "-w", "n0", "bash", "-c", command, sends=sends)
            got = on_terminal(slurm, "--pty", "-w", "n0", f"--podprof=output={logs}", "bash", "-c", command, sends=sends)
            check(bare == (got[0], [line for line in got[1] if not line.startswith("podprof:")]), f"{bare}\n{got}")
            check(bare[0] == (5 if b"typed" in sends else 130), f"{bare}")
        with h5(sessions(logs)[0]) as f:
            check(len(f["breakdown/step"]) == 60, sessions(logs))


def said_nothing(place, slurm, nodes, command=("true",)):
    """A step that records nothing says so once."""
    got = slurm.run(["srun", "--mpi=none", f"--podprof=output={place.new_logs()}", "-N", str(nodes), "-n", "4", *command])
    where = " on the host of rank 0" if nodes > 1 else ""
    check(len(got.podprof_lines()) == 1 and f"podprof: nothing was recorded{where}: " in got.err, f"{command}: {got.transcript()}")
    check(("LD_PRELOAD was replaced before 'sleep'" in got.err) == ("sleep 3" in command[-1]), got.transcript())


def nothing(place, full):
    """On one node, and on two where srun runs on one of them."""
    with slurm_of(place) as slurm:
        said_nothing(place, slurm, 1)
        said_nothing(place, slurm, 2)


def nothing_hosts(place, full):
    """On two hosts, also if the tasks are killed or run without podprof."""
    with Hosts(place, 2, prefix="sn") as hosts, slurm_of(place, hosts=hosts) as slurm:
        said_nothing(place, slurm, 2)
        said_nothing(place, slurm, 2, ["sh", "-c", "kill -9 $$"])
        said_nothing(place, slurm, 2, ["sh", "-c", "LD_PRELOAD= exec sleep 3"])


def sequence(place, full):
    """Commands of a batch script on two hosts with podprof run around their launchers: each is a job of its own, also behind one that recorded nothing,
    whose keeper has not ended yet."""
    with Hosts(place, 2, prefix="sb") as hosts:
        logs = separate(place, hosts)
        run = f"{os.path.realpath(place.podprof())} run -o {logs} -- srun --mpi=none"
        out = os.path.join(place.scratch, "batch.out")
        with slurm_of(place, hosts=hosts) as slurm:
            steps = f"{run} {place.program('steps')} 20 2"
            slurm.run(["sbatch", "--wait", "-N", "2", "-n", "4", "-o", out, script(place, f"{run} /bin/true", steps, f"{run} /bin/true", steps)])
        with open(out, encoding="utf-8", errors="replace") as f:
            got = f.read()
        check(got.count("captured on 4 of 4 ranks, 2 hosts") == 2 and got.count("podprof: ") == 4, got)


def kill_step(hosts, number):
    """SIGKILL for the tasks of the job, and for their keepers before they see it: those would write."""
    here = os.readlink("/proc/self/ns/pid")
    keepers = [k for name in hosts.names for spool in hosts.spools(name) for k in jobs.keepers(spool) if os.readlink(f"/proc/{k}/ns/pid") != here]
    for keeper in set(keepers):
        jobs.freeze(keeper)
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as f:
                variables = f.read().split(b"\0")
        except OSError:
            continue
        if f"SLURM_JOB_ID={number}".encode() in variables and any(v.startswith(b"SLURM_PROCID=") for v in variables):
            os.kill(int(path.split("/")[2]), 9)
    for name in hosts.names:
        for spool in hosts.spools(name):
            for guard in jobs.keepers(spool, "guard"):
                if os.readlink(f"/proc/{guard}/ns/pid") != here:
                    os.kill(guard, 9)
    for keeper in set(keepers):
        os.kill(keeper, 9)


def components(place, full):
    """A heterogeneous job on two hosts that share no directory: a step of both components is one session, of one component another one, and the keeper
    of each is waited for, under the number that the tasks have. What a killed one recorded is found by the epilogs of both."""
    (epilog, after), (by, asked) = hook(place, "Epilog"), asked_of(place)
    with Hosts(place, 2, prefix="sq") as hosts:
        logs, killed = separate(place, hosts), place.new_logs()
        line = " ".join(["srun", "--mpi=none", place.program("steps"), "60", "20"])
        job = ["-N", "1", "-n", "2", ":", "-N", "1", "-n", "2"]
        with slurm_of(place, by, lines=epilog, hosts=hosts) as slurm:
            for groups, words in (("0,1", "captured on 4 of 4 ranks, 2 hosts"), ("1", "captured on 2 of 2 ranks, 1 host")):
                got = slurm.run(["salloc", f"--podprof=output={logs}", *job, script(place, "echo $SLURM_JOB_ID", line.replace(" ", f" --het-group={groups} ", 1))])
                number, *out = got.out.splitlines()
                check(got.code == 0 and set(out) == {"60 steps"} and words in got.err and len(got.podprof_lines()) == 2, got.transcript())
                with open(asked, encoding="ascii") as f:
                    check((waited := f.read().splitlines()) == [f"10 {number}"] * len(groups.split(",")), f"{number}: {waited}")
                os.remove(asked)
            whole = [len(sessions(on(hosts, name, logs))) for name in hosts.names]
            check(whole == [1, 1], f"sessions of the hosts: {whole}")
            if not slurm.has_pmix():
                raise jobs.Skipped("this Slurm has no plug-in for PMIx")
            line = "srun --mpi=pmix --het-group=0,1 " + " ".join([*trains(place)[:1], "--steps", "1000000", "--work-us", "500"])
            allocation = slurm.start(["salloc", f"--podprof=steps=10:100000,output={killed}", *job, script(place, "echo $SLURM_JOB_ID", line)])
            status = [place.podprof(), "status", "--json", killed]
            check(jobs.wait_until(lambda: len(re.findall(r'"step": ?[0-9]{2}', jobs.run(slurm.on(slurm.names[0], status)).out)) == 4, 30),
                  jobs.run(slurm.on(slurm.names[0], status)).transcript())
            number = slurm.run(["squeue", "-h", "-o", "%A"]).out.split()[0]
            kill_step(hosts, number)
            jobs.finish(allocation)
            for name in hosts.names:
                gone = jobs.wait_until(lambda n=name: not hosts.spools(n), 30)
                with open(after, encoding="utf-8") as f:
                    check(gone, f"left on {name}: {hosts.spools(name)}\n{f.read()}")
            check(len(sessions(killed)) == 2, f"{sessions(killed)}")


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (options_of_srun, stopped, terminal, nothing, nothing_hosts, sequence, components)}, __doc__))

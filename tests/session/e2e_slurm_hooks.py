#!/usr/bin/python3
"""Slurm's hooks, and jobs whose /dev/shm goes with them, under a real Slurm: job_container/tmpfs, task prolog and task epilog.
Run by ctest session_slurm_hooks. Needs root and Slurm."""
import copy
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from e2e import check_dataset, h5, read, text
import jobs
from jobs import check, session_of
from slurm import Slurm

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def podprof(place):
    return os.path.realpath(place.podprof())


def trains(place, steps=40):
    return [os.path.realpath(os.path.join(place.bin, "c_mpi_train")), "--steps", str(steps), "--work-us", "500"]


def script(place, name, *lines):
    path = os.path.join(place.scratch, name)
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(["#!/bin/sh", *lines, ""]))
    os.chmod(path, 0o755)
    return path


def hook(place, name, verb):
    """A hook of slurm.conf, as launchers/slurm has it, with a log in place of the system's."""
    log = os.path.join(place.scratch, name + ".log")
    path = script(place, name, f"{podprof(place)} slurm {verb} >>{log} 2>&1", "exit 0")
    return f"{name}={path}\n", log


def task_prolog(place, name="TaskProlog"):
    path = script(place, name, f'[ "${{PODPROF_SLURM+set}}" ] && {podprof(place)} slurm task-prolog 2>/dev/null', "exit 0")
    return f"{name}={path}\n"


def plugin(place):
    so = os.path.join(place.bin, "..", "lib", "spank_podprof.so")
    if not os.path.exists(so):
        raise jobs.Skipped("podprof was built without slurm/spank.h (apt-get install libslurm-dev)")
    return f"optional {os.path.realpath(so)} podprof={podprof(place)}\n"


def needs_pmix(slurm):
    if not slurm.has_pmix():
        raise jobs.Skipped("this Slurm has no plug-in for PMIx")


def lines(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def names(logs):
    return sorted(os.path.basename(os.path.dirname(p)) for p in glob.glob(os.path.join(logs, "podprof", "*", "pod.h5")))


class Elsewhere:
    """with Elsewhere(place) as place: the same with a scratch directory in /var/tmp, which jobs with a /tmp of their own see too."""

    def __init__(self, place):
        self.place = copy.copy(place)
        if podprof(place).startswith(("/tmp/", "/dev/shm/")):
            raise jobs.Skipped("the build is in a directory that jobs do not see")

    def __enter__(self):
        self.place.scratch = tempfile.mkdtemp(prefix="podprof-test-", dir="/var/tmp")
        os.chmod(self.place.scratch, 0o755)
        return self.place

    def __exit__(self, *_):
        with open("/proc/self/mountinfo", encoding="ascii", errors="replace") as f:
            left = [line.split()[4] for line in f]
        for mount in reversed(left):
            if mount.startswith(self.place.scratch + "/"):
                subprocess.run(["umount", "-l", mount], check=False)
        shutil.rmtree(self.place.scratch, ignore_errors=True)


def contained(place, lines=""):
    """A node where each job has a /dev/shm and a /tmp of its own."""
    base = os.path.join(place.scratch, "containers")
    return Slurm(place, 1, 8, lines="JobContainerType=job_container/tmpfs\nPrologFlags=Contain\n" + lines,
                 files={"job_container.conf": f"AutoBasePath=true\nBasePath={base}\n"})


def container(place, full):
    """The /dev/shm of a job ends with it: its spool is where the epilog sees it. A job whose ranks and keeper are killed in a window has a
    session, by the epilog alone; a job that ends leaves nothing."""
    with Elsewhere(place) as there:
        logs, ends = there.new_logs(), there.new_logs()
        (prolog, before), (epilog, after) = hook(there, "Prolog", "prolog"), hook(there, "Epilog", "epilog")
        with contained(there, prolog + epilog) as slurm:
            needs_pmix(slurm)
            shm = slurm.run(["srun", "-n", "1", "sh", "-c", "stat -c %d:%i /dev/shm"])
            if shm.out.strip() == "{0.st_dev}:{0.st_ino}".format(os.stat("/dev/shm")):
                raise jobs.Skipped("job_container/tmpfs gives a job no /dev/shm of its own here: " + shm.transcript())
            got = slurm.run(["srun", "--mpi=pmix", "-n", "2", podprof(there), "run", "-o", ends, "--steps", "10:20", "--", *trains(there)])
            check(got.code == 0 and len(names(ends)) == 1, got.transcript())
            job = slurm.start(["srun", "--mpi=pmix", "-n", "4", podprof(there), "run", "-o", logs, "--steps", "10:100000", "--",
                               *trains(there, 1000000)])
            found = jobs.wait_until(lambda: slurm.run(["squeue", "-h", "-t", "running", "-o", "%i"]).out.split() or job.poll() is not None, 30, 0.2)
            if job.poll() is not None:
                check(False, slurm.finish(job).transcript())
            check(found, "the job does not begin")
            number = found[0]
            spool = f"/var/tmp/podprof-{os.getuid()}/slurm.pmix.{number}.0"
            begun = jobs.wait_until(lambda: len(glob.glob(spool + "/rank-*.ring")) == 4 or job.poll() is not None, 30)
            if job.poll() is not None:
                check(False, slurm.finish(job).transcript())
            check(begun, "no rings in /var/tmp")
            check(os.stat(os.path.dirname(spool)).st_mode & 0o777 == 0o700, "other users may enter the directory of spools")
            asked = [podprof(there), "status", "--json", logs]
            check(jobs.wait_until(lambda: re.search(r'"step": ?[0-9]{2}', jobs.run(asked).out), 30), jobs.run(asked).transcript())
            jobs.kill_keeper(spool)
            slurm.run(["scancel", "--signal=KILL", number])
            jobs.finish(job)
            with open(after, encoding="utf-8", errors="replace") as log:
                check(jobs.wait_until(lambda: not os.path.exists(spool), 30), f"the spool stays: {jobs.tree(spool)}\n{log.read()}")
            with open(before, encoding="utf-8") as log:
                check(re.search(r'"checks": ?\[', log.read()), before)
        session = session_of(logs)
        with h5(session) as f:
            check(len(f["breakdown/step"]) >= 1 and len(f["worker/rank"]) == 4, session)


def node(place, full):
    """The prolog prints the checks of the node as JSON, in time and whole, also where the programs that its PATH has do not end: those of the job's user
    are others. What needs that user's directory or options is not there. A driver that does not reply cuts the checks short, and the text says so."""
    slow = os.path.join(place.scratch, "slow")
    os.mkdir(slow)
    for name in ("python3", "mpirun", "timeout", "scontrol"):
        os.symlink(script(place, "sleeps", "exec sleep 30"), os.path.join(slow, name))
    got = jobs.run([podprof(place), "slurm", "prolog"], {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "65534", "PATH": slow + ":/usr/bin:/bin"}, cwd="/")
    made = json.loads(got.out)
    state = {row["thing"]: row["state"] for row in made["checks"]}
    check(got.code == 0 and state["prolog"] == "ok" and "job 7 of user 65534" in got.out, got.transcript())
    check(made["green"] == ("no" not in state.values() and "doctor" not in state), got.transcript())
    check("doctor" in state or ({"recording", "clock", "spool", "limits", "GPU"} <= state.keys() and made["green"]), got.transcript())
    check(not {"log dir", "MPI", "mpi4py", "xprof", "options"} & state.keys(), got.transcript())
    driver = os.path.join(slow, "libcuda.so.1")
    source = "__attribute__((constructor)) static void wait(void) { sleep(30); }"
    built = subprocess.run(["gcc", "-x", "c", "-include", "unistd.h", "-shared", "-fPIC", "-o", driver, "-"], input=source, text=True, check=False)
    if built.returncode:
        raise jobs.Skipped("gcc builds nothing here")
    got = jobs.run([podprof(place), "slurm", "prolog"], {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "65534", "LD_LIBRARY_PATH": slow}, cwd="/")
    made = json.loads(got.out)
    check(got.code == 0 and made["checks"][-1]["thing"] == "doctor" and not made["green"], got.transcript())


STOPPER = """import os, signal, sys
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\\0")
            if words[1:3] == [b"slurm", b"prolog"] and os.stat(f"/proc/{pid}/task").st_uid in (0, os.getuid()):
                os.kill(int(pid), signal.SIGSTOP)
        except OSError:
            pass
"""


def stopped(place, full):
    """A user who stops what acts for it in the prolog: the prolog ends all the same, at its deadline, and says so. A driver that sleeps gives the
    other time to find it."""
    driver = os.path.join(place.scratch, "libcuda.so.1")
    source = "__attribute__((constructor)) static void wait(void) { sleep(30); }"
    built = subprocess.run(["gcc", "-x", "c", "-include", "unistd.h", "-shared", "-fPIC", "-o", driver, "-"], input=source, text=True, check=False)
    if built.returncode or os.getuid():
        raise jobs.Skipped("gcc builds nothing here" if built.returncode else "needs root")
    stopper = subprocess.Popen([*NOBODY, "/usr/bin/python3", "-c", STOPPER])
    try:
        for _ in range(10):  # a busy machine: the stopper may come late
            got = jobs.run([podprof(place), "slurm", "prolog", "3"],
                           {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "65534", "LD_LIBRARY_PATH": place.scratch}, cwd="/", limit=60.0)
            check(got.code == 0 and not got.timed_out, got.transcript())
            if "took too long" in got.err:
                break
        check("podprof: prolog: it took too long and was ended." in got.err and "left running" not in got.err, got.transcript())
    finally:
        stopper.kill()
        stopper.wait()


def rows_of_check(place, slurm):
    got = jobs.run([podprof(place), "slurm", "check"], slurm.env)
    return got, {line[:12].strip(): line for line in got.out.splitlines()}


def comment(place, full):
    """The epilog adds the session of a killed job to the job's comment by sacctmgr, as the user, behind what is there; where that is refused its log
    says so, and the session is there all the same. sacctmgr is a script here: there is no accounting."""
    where = script(place, "sacctmgr", f'echo "$(id -u)|$*" >>{place.scratch}/called', f"exit $(cat {place.scratch}/answer)")
    for name in ("called", "answer", "Epilog.log"):
        with open(os.path.join(place.scratch, name), "w", encoding="ascii") as f:
            f.write("0\n" if name == "answer" else "")
        os.chmod(os.path.join(place.scratch, name), 0o666)
    line, log = hook(place, "Epilog", "epilog")
    script(place, "Epilog", f"export PATH={place.scratch}:$PATH", f"{podprof(place)} slurm epilog >>{log} 2>&1", "exit 0")
    with Slurm(place, 1, 8, lines=line) as slurm:
        for answer in (0, 1):
            logs = place.new_logs()
            os.makedirs(logs)
            os.chown(logs, 65534, 65534)
            with open(os.path.join(place.scratch, "answer"), "w", encoding="ascii") as f:
                f.write(f"{answer}\n")
            job = jobs.start([*NOBODY, slurm.found["srun"], "-n", "2", "--comment=mine, first", podprof(place), "run", "-o", logs, "--",
                              os.path.realpath(place.program("lone")), "sleep"], {**slurm.env, "GUEST_MARK": "1"}, cwd="/")
            spools = "/dev/shm/podprof-65534/*.0"
            check(jobs.wait_until(lambda: len(glob.glob(spools + "/rank-*.ring")) == 2, 30), "no rings")
            spool = os.path.dirname(glob.glob(spools + "/rank-*.ring")[0])
            jobs.kill_keeper(spool)
            slurm.run(["scancel", "--signal=KILL", slurm.run(["squeue", "-h", "-t", "running", "-o", "%i"]).out.split()[0]])
            jobs.finish(job)
            check(jobs.wait_until(lambda: not os.path.exists(spool), 30), f"the spool stays: {jobs.tree(spool)}")
            session = session_of(logs)
            check(jobs.wait_until(lambda: len(lines(place.scratch + "/called")) == 1 + answer), f"{where} was not called: {lines(log)}")
            calls = lines(place.scratch + "/called")
            check(calls[-1].startswith("65534|--immediate modify job where JobID="), calls)
            check("set Comment=mine, first; podprof: " in calls[-1] and "2 of 2 ranks" in calls[-1] and calls[-1].endswith(": " + session), calls)
            check(jobs.wait_until(lambda: ("refused" in " ".join(lines(log))) == bool(answer)), lines(log))


def checked(place, full):
    """podprof slurm check has a row for the hooks of tasks and for the /dev/shm of jobs; without the plug-in a task prolog is enough."""
    with Elsewhere(place) as there:
        (epilog_line, _), (task_epilog, _) = hook(there, "Epilog", "epilog"), hook(there, "TaskEpilog", "task-epilog")
        with contained(there, task_prolog(there) + epilog_line + task_epilog) as slurm:
            got, rows = rows_of_check(there, slurm)
            check(got.code == 0 and "PODPROF_SLURM" in rows["plug-in"] and "not configured" in rows["prolog"], got.transcript())
            check(all(" ok " in rows[name] for name in ("epilog", "TaskProlog", "TaskEpilog", "/dev/shm")), got.transcript())
            with open(slurm.at + "/job_container.conf", "a", encoding="ascii") as f:
                f.write("Dirs=/tmp,/var/tmp,/dev/shm\n")
            got, rows = rows_of_check(there, slurm)
            check(got.code == 0 and " limited " in rows["/dev/shm"], got.transcript())
        with Slurm(place, 1, 2, lines=epilog_line) as slurm:
            got, rows = rows_of_check(there, slurm)
            check(got.code == 1 and " no " in rows["plug-in"] and "Task" not in got.out and "/dev/shm" not in got.out, got.transcript())


def misconfigured(place, full):
    """podprof slurm check finds what Slurm would fail by, and what would record nothing: hooks that cannot be executed, programs that are not there, a
    plug-in that Slurm does not load. Hooks may be a pattern."""
    os.mkdir(place.scratch + "/hooks")
    _, other, none = (script(place, name, f"{program} slurm prolog", "exit 0")
                         for name, program in (("hooks/50-podprof", podprof(place)), ("other", "/nowhere/podprof"), ("none", podprof(place))))
    site, junk = script(place, "hooks/10-site", "exit 0"), place.scratch + "/spank_podprof.so"
    usual, brief = (script(place, name, f"{podprof(place)} slurm epilog {given} 2>&1 | cat", "exit 0") for name, given in (("usual", ""), ("brief", "20")))
    os.chmod(none, 0o644)
    with open(junk, "w", encoding="ascii") as f:
        f.write("no plug-in")
    so = plugin(place).split(" podprof=")[0]
    with Slurm(place, 1, 2, plugins=plugin(place)) as slurm:
        conf, stack = slurm.at + "/slurm.conf", slurm.at + "/plugstack.conf"
        with open(conf, encoding="ascii") as f:
            plain = f.read()
        for line, row, state, words in ((f"Prolog={place.scratch}/hooks/*", "prolog", "ok", "50-podprof calls"),
                                        (f"Prolog={site}", "prolog", "limited", "does not call"),
                                        (f"Prolog={other}", "prolog", "limited", "/nowhere/podprof"),
                                        (f"Prolog={none}", "prolog", "no", "drains"), (f"Epilog={place.scratch}/absent", "epilog", "no", "drains"),
                                        (f"Epilog={usual}\nPrologEpilogTimeout=30", "epilog", "limited", "drain"),
                                        (f"Epilog={usual}\nPrologEpilogTimeout=31", "epilog", "ok", "usual calls"),
                                        (f"Epilog={brief}\nPrologEpilogTimeout=30", "epilog", "ok", "brief calls"),
                                        (f"TaskProlog={none}", "TaskProlog", "no", "starts no task")):
            with open(conf, "w", encoding="ascii") as f:
                f.write(f"{plain}{line}\n")
            slurm.run(["scontrol", "reconfigure"])
            got, rows = rows_of_check(place, slurm)
            check(f" {state} " in rows[row] and words in rows[row] and got.code == (state == "no"), f"{line}: {got.transcript()}")
            check(" ok " in rows["plug-in"], got.transcript())
        with open(conf, "w", encoding="ascii") as f:
            f.write(plain)
        slurm.run(["scontrol", "reconfigure"])
        for line, words in ((so + " podprof=/nowhere/podprof", "/nowhere/podprof, which cannot be executed"),
                            (f"optional {junk}", "too short"), ("optional spank_podprof.so", "spank_podprof.so: cannot open"),
                            ("optional /nowhere/spank_podprof.so", "cannot be read")):
            with open(stack, "w", encoding="ascii") as f:
                f.write(line + "\n")
            got, rows = rows_of_check(place, slurm)
            check(got.code == 1 and " no " in rows["plug-in"] and words in rows["plug-in"], f"{line}: {got.transcript()}")
        os.truncate(stack, 0)
        got, rows = rows_of_check(place, slurm)
        check(got.code == 1 and f"fix: on all nodes, add this line to {stack}: {so}\n" in got.out, got.transcript())


def mounts(place, full):
    """Mounts as Slurm makes them for a job, on a node whose /var/tmp is empty: /dev/shm and /tmp; the same where another user has the name of the
    spools' directory in /var/tmp; and /var/tmp too. Of the last two one line says that the epilog will find nothing."""
    if podprof(place).startswith(("/tmp/", "/var/tmp/", "/dev/shm/")):
        raise jobs.Skipped("the build is in a directory that jobs do not see")
    node = ["mount -t tmpfs -o mode=1777 tmpfs /var/tmp", "mkdir -p /var/tmp/9/.9/x /var/tmp/9/.9/y"]
    job = ["mount --bind /var/tmp/9/.9/x /tmp", "mount -t tmpfs tmpfs /dev/shm", "mkdir /dev/shm/out",
           f"{podprof(place)} run -o /dev/shm/out -- sh -c 'echo $PODPROF_SPOOL'", f"{podprof(place)} doctor"]
    taken = f"mkdir /var/tmp/podprof-{os.getuid()} && chown 65534 /var/tmp/podprof-{os.getuid()}"
    for more, where, said in (([], "/var/tmp", ""), ([taken], "/dev/shm", "cannot be used"),
                              (["mount --bind /var/tmp/9/.9/y /var/tmp"], "/dev/shm", "neither")):
        inside = "\n".join(["set -e", *node, job[0], *more, *job[1:]])
        got = jobs.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", inside], {"SLURM_JOB_ID": "9"})
        if "unshare failed" in got.err or "permission denied" in got.err:
            raise jobs.Skipped("no mounts here: " + got.err)
        check(got.out.startswith(f"{where}/podprof-{os.getuid()}/"), f"{more}: {got.transcript()}")
        check(len(got.podprof_lines()) == 1 + bool(said) and said in got.err, got.transcript())
        check(("spool      ok " in got.out) == (not said), got.transcript())


def prolog(place, full):
    """TaskProlog in place of the plug-in: tasks with the variable are recorded, under the pid that becomes the program; others and the batch
    script are as they were; the summary has the program's name, which the prolog does not know."""
    logs = place.new_logs()
    out = os.path.join(place.scratch, "batch.out")
    with Slurm(place, 2, 8, lines=task_prolog(place)) as slurm:
        needs_pmix(slurm)
        got = slurm.run(["srun", "-n", "2", "env"])
        check(got.code == 0 and "PODPROF" not in got.out and "LD_PRELOAD" not in got.out, got.transcript())
        got = slurm.run(["srun", "--mpi=pmix", "-N", "2", "-n", "8", *trains(place)], {"PODPROF_SLURM": f"steps=10:20,output={logs}"})
        check(got.code == 0 and "captured on 8 of 8 ranks" in got.err and not got.other_err(), got.transcript())
        check(all("captured on" in line or "logs" in line for line in got.podprof_lines()), got.transcript())
        session = session_of(logs)
        check_dataset(session, 8, range(10, 20))
        check(read(session, "summary.txt").startswith("c_mpi_train "), read(session, "summary.txt")[:200])
        logs = place.new_logs()
        line = "srun --mpi=pmix -n 2 " + " ".join(trains(place))
        got = slurm.run(["sbatch", "--wait", "-n", "2", "-o", out, script(place, "batch.sh", "env | grep -c LD_PRELOAD", line)],
                        {"PODPROF_SLURM": f"steps=10:20,output={logs}"})
        with open(out, encoding="utf-8", errors="replace") as f:
            check(got.code == 0 and (said := f.read()).startswith("0\n") and "captured on 2 of 2" in said, got.transcript() + said)
        check_dataset(session_of(logs), 2, range(10, 20))
        failing = slurm.run(["srun", "-n", "2", "sh", "-c", "exit 7"], {"PODPROF_SLURM": "output=" + place.new_logs()})
        check(failing.code == 7, failing.transcript())


def refused(place, full):
    """What the task prolog cannot do is said by srun in one line, and the tasks run: a wrong option, a log directory that is a file, as another
    user too; a value that its lines cannot carry is left out. Numbers that are no user, such as one that wraps to root, are no job of root."""
    for uid in ("4294967296", "4294967295", "-1", "root"):
        got = jobs.run([podprof(place), "slurm", "prolog"], {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": uid})
        check(got.code == 0 and not got.out and "does not say whose job" in got.err, got.transcript())
    with Slurm(place, 1, 8, lines=task_prolog(place)) as slurm:
        run = ["srun", "-n", "2", "sh", "-c", "echo ${PODPROF_SPOOL:-none}"]
        for given, words in (("steps=5", "'5' is not a range of steps"), ("output=/dev/null", "/dev/null")):
            for user in ([], NOBODY):
                got = jobs.finish(jobs.start([*user, slurm.found["srun"], *run[1:]], {**slurm.env, "PODPROF_SLURM": given}, cwd="/"))
                check(got.code == 0 and got.out == "none\nnone\n", got.transcript())
                check(got.err.count(words) == 1, got.transcript())
        logs = place.new_logs()
        got = slurm.run(["srun", "-n", "2", "sh", "-c", 'echo ${PODPROF_SPOOL:+recorded}; echo "$PYTHONPATH"'],
                        {"PODPROF_SLURM": f"output={logs}", "PYTHONPATH": "/a\n/b"})
        check(got.code == 0 and got.out.split() == ["recorded", "/a", "/b"] * 2, got.transcript())
        check(got.err.count("PYTHONPATH") == 1 and "is left out" in got.err, got.transcript())
        got = slurm.run([*run], {"PODPROF_SLURM": f"output={logs}", "LD_PRELOAD": "\n"})
        check(got.code == 0 and got.out == "none\nnone\n" and got.err.count("The step runs unprofiled") == 1, got.transcript())


def once(place, full):
    """The plug-in and two task prologs prepare a task once: each rank has one run file, and there is one session."""
    logs = place.new_logs()
    own = script(place, "own", f"exec {podprof(place)} slurm task-prolog")
    with Slurm(place, 1, 8, lines=task_prolog(place), plugins=plugin(place)) as slurm:
        needs_pmix(slurm)
        env = {"PODPROF_SLURM": f"steps=5:8,output={logs}-other"}
        got = slurm.run(["srun", "--mpi=pmix", "-n", "2", f"--podprof=steps=10:20,output={logs}", f"--task-prolog={own}", *trains(place)], env)
        check(got.code == 0 and got.err.count("captured on 2 of 2 ranks") == 1, got.transcript())
        check(not os.path.exists(logs + "-other"), jobs.tree(logs + "-other"))
        check_dataset(session_of(logs), 2, range(10, 20))
        command = ["sh", "-c", "ls $PODPROF_SPOOL | grep -c ^run-; echo $PODPROF_PID $$; echo $LD_PRELOAD | tr : '\\n' | grep -c libpodprof.so"]
        got = slurm.run(["srun", "-n", "1", f"--task-prolog={own}", *command], {"PODPROF_SLURM": "output=" + place.new_logs()})
        lines = got.out.split()
        check(got.code == 0 and lines[0] == "1" and lines[1] == lines[2] and lines[3] == "1", got.transcript())


def epilog(place, full):
    """proctrack/cgroup kills the keeper when the last rank is gone: the task epilog gives it the time to write what ranks recorded that do
    not wait for it."""
    logs = place.new_logs()
    line, _ = hook(place, "TaskEpilog", "task-epilog 30")
    with Slurm(place, 1, 8, lines=task_prolog(place) + line, track="proctrack/cgroup") as slurm:
        needs_pmix(slurm)
        got = slurm.run(["srun", "--mpi=pmix", "-n", "4", *trains(place, 2000)[:3], "--work-us", "50"],
                        {"PODPROF_SLURM": f"wait=0,output={logs}"})
        check(got.code == 0, got.transcript())
        session = session_of(logs, 5)
        with h5(session) as f:
            check(len(f["worker/rank"]) == 4 and "salvaged" not in " ".join(text(s) for s in f["worker/status"][()]), session)


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (container, node, stopped, comment, checked, misconfigured, mounts, prolog, refused, once, epilog)}, __doc__))

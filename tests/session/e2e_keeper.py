#!/usr/bin/python3
"""Harm to the keeper and to what it reads: rings cut short while they are mapped, keepers that die, spools that are salvaged twice.
Run by ctest session_keeper."""
import glob
import os
import re
import shutil
import signal
import sys
import time

from e2e import h5, text
import jobs
from jobs import check, finish, keepers, run, session_of, start, wait_until


def lone_job(place, logs, spool, ranks=3, steps=200, options=()):
    """Ranks that mark steps and call no MPI, started by mpirun; returned once each has a ring and its keeper is up."""
    command = [place.program("lone"), "busy"]
    job = start(place.mpirun(ranks, place.under(logs, command, "--spool", spool, *options)), {"GUEST_STEPS": steps})
    check(wait_until(lambda: len(glob.glob(spool + "/*.ring")) == ranks and keepers(spool), 20), "the job did not start")
    return job


def kill_keeper(spool):
    """With its guard: nobody follows."""
    jobs.kill_keeper(spool)
    check(wait_until(lambda: not keepers(spool)), "the keeper lives")


def cut_live(place, full):
    """Rank 1's ring is cut short while keeper and rank have it mapped, its control page too: the rank dies as the kernel says, the keeper writes
    what it has of all ranks, and names rank 1."""
    for size in (0, 100, 5000, 256 * 1024 + 1000):
        spool, logs = os.path.join(place.scratch, f"cut{size}"), place.new_logs()
        job = lone_job(place, logs, spool)
        time.sleep(0.3)
        os.truncate(glob.glob(spool + "/rank-1-*.ring")[0], size)
        if size == 5000:
            os.truncate(spool + "/control", 0)
        got = finish(job)
        check(not got.timed_out, got.transcript())
        session = session_of(logs)
        with h5(session) as f:
            check(len(f["worker/rank"]) == 3, f["worker/rank"][()])
            causes = [text(c) for c in f["quality/cause"][()]]
            lost = f["quality/dropped"][()][:, causes.index("ring_cut")]
            check(lost[1] >= 1 and not lost[0] and not lost[2], f"{size}: {lost}")
            check(any("the ring file was truncated" in text(w) for w in f["quality/warning"][()]), f["quality/warning"][()])
        check(wait_until(lambda: not os.path.exists(spool), 20), f"{size}: the keeper did not end")


def cut_left(place, full):
    """The same in the spool of a dead job: salvage reads the others and counts the one that was cut."""
    spool, logs, out = os.path.join(place.scratch, "left"), place.new_logs(), place.new_logs()
    job = lone_job(place, logs, spool)
    time.sleep(0.2)
    kill_keeper(spool)
    check(finish(job).code == 0, "the job did not end by itself")
    hollow = shutil.copytree(spool, spool + "-hollow", ignore=shutil.ignore_patterns("socket"))
    for ring in glob.glob(hollow + "/*.ring"):
        os.truncate(ring, 256 * 1024)
    os.truncate(glob.glob(spool + "/rank-1-*.ring")[0], 256 * 1024 + 100)
    os.truncate(glob.glob(spool + "/rank-2-*.ring")[0], 1000)
    got = run([place.podprof(), "salvage", spool, "-o", out])
    check(got.code == 2 and "the ring file of rank 1 was truncated while it recorded" in got.err, got.transcript())
    check("left out: cannot read ring" in got.err and "rank-2-" in got.err, got.transcript())
    with h5(session_of(out)) as f:
        said = [text(w) for w in f["quality/warning"][()]]
        check([w for w in said if "rank-2-" in w and "shorter than its header" in w], said)
        check([text(s)[:7] for s in f["worker/status"][()]] == ["salvage", "salvage", "missing"], f["worker/status"][()])
    got = run([place.podprof(), "salvage", hollow, "-o", place.new_logs()])
    check(got.code and "the rings of 3 of 3 ranks were cut short" in got.err, got.transcript())


def left_by(place, logs, spool, env=None, options=()):
    """A job of one rank and many steps whose keeper is killed in the middle; more than its first records were taken out of the ring by then."""
    job = start(place.under(logs, [place.program("steps"), "3000", "1"], "--spool", spool, *options), env)
    check(wait_until(lambda: keepers(spool), 20), "no keeper was started")
    time.sleep(2)
    kill_keeper(spool)
    return job


def lost_by(session, cause):
    with h5(session) as f:
        return f["quality/dropped"][()][:, [text(c) for c in f["quality/cause"][()]].index(cause)]


def salvage_counts(place, full):
    """What the dead keeper had read is counted, in the second line; the steps too. The second salvage says that there was one; how to
    remove the spool is said."""
    spool, logs, out = os.path.join(place.scratch, "counted"), place.new_logs(), place.new_logs()
    check(finish(left_by(place, logs, spool)).code == 0, "the job failed")
    got = run([place.podprof(), "salvage", spool, "-o", out])
    lines = got.err.splitlines()
    session = session_of(out)
    lost, full = int(lost_by(session, "keeper_gone")[0]), int(lost_by(session, "ring_full")[0])
    with h5(session) as f:
        steps, records = f["breakdown/step"][()], int(f["quality/records"][()][0])
    check(got.code == 0 and len(lines) == 4 and lost > 1000 and lost % 1 == 0, f"{lost}: {got.transcript()}")
    check(f"{len(steps)} found ({steps[0]}..{steps[-1]})" in lines[1] and f"{lost} records lost" in lines[1], got.transcript())
    # a ring does not grow for a keeper that is gone: what did not fit is counted too
    which = "the others" if full else "those before"
    check("last marked step is 2999" in lines[1] and which + " lost" in lines[1] and steps[0] > 0 and (steps[-1] == 2999) == (not full), got.transcript())
    check(2.5 * 3000 < lost + full + records < 7 * 3000, f"{lost} + {full} + {records}")
    check(session in lines[2] and f"rm -r {spool}" in lines[3], got.transcript())
    got = run([place.podprof(), "salvage", spool, "-o", out])
    check(got.code == 1 and "salvaged already" in got.err and session in got.err and f"rm -r {spool}" in got.err, got.transcript())


def salvage_asked(place, full):
    """Steps that were asked for, of which some were read by the keeper that died; and a keeper that has read nothing: nothing is lost."""
    spool, logs, out = os.path.join(place.scratch, "asked"), place.new_logs(), place.new_logs()
    check(finish(left_by(place, logs, spool, options=["--steps", "100:2000"])).code == 0, "the job failed")
    got = run([place.podprof(), "salvage", spool, "-o", out])
    with h5(session_of(out)) as f:
        steps = f["breakdown/step"][()]
    check(got.code == 0 and f"1900 requested (100..1999), {len(steps)} found ({steps[0]}..{steps[-1]}), {1900 - len(steps)} lost" in got.err, got.transcript())
    spool, logs, out = os.path.join(place.scratch, "whole"), place.new_logs(), place.new_logs()
    job = start(place.under(logs, [place.program("steps"), "20", "100"], "--spool", spool, "--steps", "5:15"))
    check(wait_until(lambda: keepers(spool) and glob.glob(spool + "/*.ring"), 20), "no keeper was started")
    kill_keeper(spool)
    check(finish(job).code == 0, "the job failed")
    got = run([place.podprof(), "salvage", spool, "-o", out])
    check(got.code == 0 and "10 requested (5..14), 10 found (5..14), 0 lost; no record was lost" in got.err, got.transcript())


def salvage_hosts(place, full):
    """The spools of a job's hosts, given together, are one session, of one clock or two; one of another job is left out."""
    spools, logs = [os.path.join(place.scratch, f"host{i}") for i in range(3)], place.new_logs()
    jobs_of = []
    for i, spool in enumerate(spools):
        env = {"SLURM_JOB_ID": 70 + i // 2, "SLURM_STEP_ID": 0, "SLURM_PROCID": i % 2, "SLURM_NTASKS": 2, "SLURM_LOCALID": 0, "SLURM_NODEID": i % 2}
        jobs_of.append(start(place.under(logs, [place.program("steps"), "300", "5"], "--spool", spool, "--wait", "1"), env))
        check(wait_until(lambda: keepers(spool) and glob.glob(spool + "/*.ring"), 20), "no keeper was started")
        kill_keeper(spool)
    for job in jobs_of:
        check(finish(job).code == 0, "the job failed")
    ring = glob.glob(spools[1] + "/*.ring")[0]
    for other_clock in (False, True):
        out = place.new_logs()
        for spool in spools:
            if os.path.exists(spool + "/salvaged"):
                os.remove(spool + "/salvaged")
        if other_clock:
            with open("/proc/sys/kernel/random/boot_id", "rb") as f:
                boot = f.read().strip()
            with open(ring, "r+b") as f:
                head = f.read(4096).replace(boot, boot[::-1])
                f.seek(0)
                f.write(head)
        got = run([place.podprof(), "salvage", *spools[:2], "-o", out])
        check(got.code == 0 and "steps 0..299 captured on 2 of 2 ranks" in got.err and got.err.count("rm -r") == 2, got.transcript())
        with h5(session_of(out)) as f:
            begin = f["breakdown/step_begin_ns"][()] if "breakdown/step_begin_ns" in f else None
            check(len(f["breakdown/step"]) == 300 and len(f["worker/rank"]) == 2, list(f["breakdown"]))
            check(begin is None or (abs(begin[:, 0] - begin[:, 1]) < 60e9).all(), begin)
    got = run([place.podprof(), "salvage", spools[0], spools[2], "-o", place.new_logs()])
    check(got.code == 1 and "salvaged already" in got.err, got.transcript())
    os.remove(spools[0] + "/salvaged")
    out = place.new_logs()
    got = run([place.podprof(), "salvage", spools[0], spools[2], "-o", out])
    check(got.code == 2 and f"left out '{spools[2]}': it belongs to another job" in got.err and got.err.count("rm -r") == 1, got.transcript())
    with h5(session_of(out)) as f:
        check([text(s)[:8] for s in f["worker/status"][()]] == ["salvaged", "missing:"], f["worker/status"][()])
        check(list(f["worker/last_step"][()])[0] == 299, f["worker/last_step"][()])
    with open(os.path.join(spools[0], "options"), "r+b") as f:  # torn: the other host's names the job
        f.truncate(20)
    for spool in spools[:2]:
        if os.path.exists(spool + "/salvaged"):
            os.remove(spool + "/salvaged")
    got = run([place.podprof(), "salvage", spools[0], spools[1], spools[2], "-o", place.new_logs()])
    check(got.code == 2 and "steps 0..299 captured on 2 of 2 ranks" in got.err and f"left out '{spools[2]}'" in got.err, got.transcript())


def no_spool(place, full):
    """A directory that podprof did not make is not salvaged, and never to be removed by its advice."""
    plain, mixed, empty = (os.path.join(place.scratch, n) for n in ("plain", "mixed", "empty"))
    for path in (plain, mixed, empty):
        os.mkdir(path)
    for path in (plain + "/thesis.tex", mixed + "/thesis.tex", mixed + "/options", mixed + "/keeper.lock", empty + "/options", empty + "/keeper.lock"):
        with open(path, "w", encoding="ascii") as f:
            f.write("JOB=x\nVERSION=x\n" if path.startswith(empty) else "x\n")
    for path in ("/etc", "/", plain, mixed):
        got = run([place.podprof(), "salvage", path, "-o", place.new_logs()])
        check(got.code == 1 and "rm -r" not in got.err and len(got.err.splitlines()) == 1 and not os.path.exists(path + "/salvaged"), got.transcript())
    got = run([place.podprof(), "salvage", empty, "-o", place.new_logs()])
    check(got.code == 1 and f"rm -r {empty}" in got.err, got.transcript())


def lost_windows(place, full):
    """Several windows that the log directory does not take are all named: where they are instead, or that they are lost. Nothing is half done."""
    files = [f"{d}/podprof-sessions-{os.getuid()}" for d in ("/var/tmp", "/tmp")]
    for in_the_way in ([], [f for f in files if not os.path.lexists(f)]):
        logs = place.new_logs()
        for path in in_the_way:
            open(path, "w", encoding="ascii").close()
        try:
            job = start(place.under(logs, [place.program("steps"), "500", "5"], "--steps", "5:10,200:205,260:265,320:325"))
            check(wait_until(lambda: glob.glob(logs + "/podprof/*/report.html")), "no first session")
            os.rename(logs + "/podprof", logs + "/away")
            with open(logs + "/podprof", "w", encoding="ascii"):
                pass
            got = finish(job)
        finally:
            for path in in_the_way:
                os.remove(path)
        check(got.code == 0 and not [n for n in jobs.tree(logs) if n.endswith(".part")], f"{got.transcript()}{jobs.tree(logs)}")
        if not in_the_way:
            check("4 windows captured" in got.err and got.err.count(": the session is in '") == 3, got.transcript())
            shutil.rmtree(re.search(r"the session is in '(.*?)'", got.err)[1])
        elif len(in_the_way) == 2:
            check("1 window captured" in got.err, got.transcript())
            check("no session was written for steps 200:205, steps 260:265, steps 320:325: " in got.err, got.transcript())


def elsewhere(place, full):
    """Jobs whose --spool is in a place of its own: capture, report and doctor find them, while they run and when they are dead."""
    spool, logs = os.path.join(place.scratch, "some where"), place.new_logs()
    os.mkdir(spool)
    job = start(place.under(logs, [place.program("steps"), "1000", "5"], "--spool", spool))
    check(wait_until(lambda: keepers(spool), 20), "no keeper was started")
    check(wait_until(lambda: "ring '" in open(spool + "/keeper.log", encoding="utf-8").read(), 20), "the keeper has seen no ring")
    for path in glob.glob(logs + "/.podprof-requests/*/keeper"):
        os.remove(path)  # by the node alone
    got = run([place.podprof(), "capture", logs, "--steps", "+5"])
    check(got.code == 0, got.transcript())
    kill_keeper(spool)
    got = run([place.podprof(), "doctor"])
    check(f"{spool}: 1 ring of a job whose keeper is gone" in got.out and f"fix: podprof salvage '{spool}' -o" in got.out, got.transcript())
    check(f"&& rm -r '{spool}'" in got.out, "a path with a blank is not quoted: " + got.transcript())
    check(finish(job).code == 0, "the job failed")
    empty = place.new_logs()
    job = start(place.under(empty, [place.program("steps"), "400", "5"], "--spool", spool + "2"))
    check(wait_until(lambda: keepers(spool + "2") and glob.glob(spool + "2/*.ring"), 20), "no keeper was started")
    got = run([place.podprof(), "report", empty])
    check(got.code == 0 and "400 " in got.out + finish(job).out, got.transcript())
    dead = place.new_logs()
    job = start(place.under(dead, [place.program("steps"), "100", "5"], "--spool", spool + "3"))
    check(wait_until(lambda: keepers(spool + "3") and glob.glob(spool + "3/*.ring"), 20), "no keeper was started")
    kill_keeper(spool + "3")
    finish(job)
    got = run([place.podprof(), "report", dead])
    check(got.code == 1 and f"podprof salvage {spool}3" in got.err, got.transcript())


def stopped(place, full):
    """The keeper is stopped when its job ends: report says so, and does not wait for it. It goes on, and the session comes."""
    spool, logs = os.path.join(place.scratch, "stopped"), place.new_logs()
    job = jobs.start_until(place, place.under(logs, [place.program("lone"), "unflushed"], "--spool", spool, "--wait", "1"), {"GUEST_MARK": 1})
    check(wait_until(lambda: keepers(spool) and glob.glob(spool + "/*.ring"), 20), "the job does not begin")
    keeper = jobs.keeper_of(spool)
    jobs.freeze(keeper)
    try:
        got = jobs.over(job)
        check(got.code == 0 and "still writing" in got.err, got.transcript())
        got = run([place.podprof(), "report", "--timeout", "600", logs], limit=30)
        check(got.code == 1 and f"the keeper (pid {keeper}) is stopped. Continue it with 'kill -CONT {keeper}'" in got.err, got.transcript())
    finally:
        os.kill(keeper, signal.SIGCONT)
    got = run([place.podprof(), "report", logs])
    check(got.code == 0 and "1 of 1 rank" in got.out, got.transcript())


def kill_one(spool):
    """The keeper alone: another one follows. Its pid is returned."""
    pid = jobs.keeper_of(spool)
    check(wait_until(lambda: keepers(spool, "guard"), 20), "the keeper has no guard")
    os.kill(pid, signal.SIGKILL)
    check(wait_until(lambda: keepers(spool) and keepers(spool) != [pid], 20), "no keeper follows")
    return pid


def said(session):
    with h5(session) as f:
        return " ".join(text(w) for w in f["quality/warning"][()])


def follows(place, full):
    """A killed keeper is followed by another one: nobody does anything, and the session has what was left in the rings and all after it. The
    lost records are counted, the death is told of. With one rank and with 4, and killed twice."""
    for ranks, times in ((1, 1), (4, 2)):
        spool, logs = os.path.join(place.scratch, f"follows{ranks}"), place.new_logs()
        command = [place.program("steps"), "6000", "1"]
        under = place.under(logs, command, "--spool", spool)
        job = start(place.mpirun(ranks, under) if ranks > 1 else under)
        check(wait_until(lambda: len(glob.glob(spool + "/*.ring")) == ranks and keepers(spool), 20), "the job did not start")
        for _ in range(times):
            time.sleep(1)
            kill_one(spool)
        got = finish(job)
        check(got.code == 0 and got.out == "6000 steps\n" * ranks, got.transcript())
        check(f"on {ranks} of {ranks} rank" in got.err and "the keeper was killed " + ("2 times, last " if times > 1 else "") + "by signal 9" in got.err, got.transcript())
        session = session_of(logs)
        check("salvaged: the keeper was killed" in said(session), said(session))
        lost = int(lost_by(session, "keeper_gone").sum())
        check(f"{lost} records that it had read are lost" in got.err and lost > 1000, f"{lost}: {got.transcript()}")
        with h5(session) as f:
            check(f["breakdown/step"][()][-1] == 5999 and [text(s) for s in f["worker/status"][()]] == ["delivered"] * ranks, f["worker/status"][()])
        check(wait_until(lambda: not os.path.exists(spool) and not keepers(spool) and not keepers(spool, "guard"), 20), "keeper, guard or spool stays")


def follows_windows(place, full):
    """Keepers killed before, between, in and after windows: those that are written stay, and none is written twice. The window of one --steps
    is whole where the keeper had read nothing of it."""
    spool, logs = os.path.join(place.scratch, "windows"), place.new_logs()
    job = start(place.mpirun(4, place.under(logs, [place.program("steps"), "1200", "5"], "--steps", "200:220,600:620,1000:1020", "--spool", spool)))
    check(wait_until(lambda: len(glob.glob(spool + "/*.ring")) == 4 and keepers(spool), 20), "the job did not start")
    kill_one(spool)
    check(wait_until(lambda: len(jobs.sessions(logs)) == 1, 30), "no session of the first window")
    check(wait_until(lambda: len(keepers(spool)) == 1), "the first session is still written")
    log = spool + "/keeper.log"
    check(wait_until(lambda: ": session " in open(log, encoding="utf-8").read(), 20), "the keeper has not seen its writer end")
    kill_one(spool)
    got = finish(job)
    check(got.code == 0 and "2 more windows" not in got.err and "1 more window was captured before" in got.err, got.transcript())
    check("2 windows captured on 4 of 4 ranks" in got.err and "killed 2 times" in got.err and "not captured" not in got.err, got.transcript())
    found = {}
    for session in jobs.sessions(logs):
        with h5(session) as f:
            found[int(f["breakdown/step"][()][0])] = len(f["breakdown/step"])
    check(found == {200: 20, 600: 20, 1000: 20}, found)
    spool, logs = os.path.join(place.scratch, "after"), place.new_logs()
    job = start(place.under(logs, [place.program("steps"), "1000", "5"], "--steps", "20:30,50:60", "--spool", spool))
    check(wait_until(lambda: os.path.exists(spool + "/control"), 20), "no keeper was started")
    check(wait_until(lambda: b"2 windows captured" in open(spool + "/control", "rb").read(), 30), "no session of the windows")
    check(wait_until(lambda: len(keepers(spool)) == 1, 20), "one is still written")
    os.kill(jobs.keeper_of(spool), signal.SIGKILL)  # it had nothing left to write
    got = finish(job)
    check(got.code == 0 and len(jobs.sessions(logs)) == 2 and "2 windows captured on 1 of 1 rank" in got.err and "keeper" not in got.err, got.transcript())
    spool, logs = os.path.join(place.scratch, "one"), place.new_logs()
    job = start(place.under(logs, [place.program("steps"), "400", "5"], "--steps", "200:220", "--spool", spool))
    check(wait_until(lambda: glob.glob(spool + "/*.ring") and keepers(spool), 20), "the job did not start")
    kill_one(spool)
    got = finish(job)
    check(got.code == 0 and "steps 200..219 captured on 1 of 1 rank" in got.err, got.transcript())


def follows_capture(place, full):
    """podprof capture is served by the keeper that follows, also where the one before it died in a capture."""
    spool, logs = os.path.join(place.scratch, "capture"), place.new_logs()
    job = jobs.start_until(place, place.under(logs, [place.program("steps"), "100000", "5"], "--spool", spool))
    check(wait_until(lambda: glob.glob(spool + "/*.ring") and keepers(spool), 20), "the job did not start")
    asker = start([place.podprof(), "capture", logs, "--duration", "60s"])
    time.sleep(0.5)
    kill_one(spool)
    got = finish(asker)
    check(got.code == 1, got.transcript())
    for _ in range(2):
        got = run([place.podprof(), "capture", logs, "--steps", "+5"])
        check(got.code == 0, got.transcript())
    got = jobs.over(job)
    check(got.code == 0, got.transcript())


def most_often(place, full):
    """What kills each keeper is not fed with more of them: after the third successor the ranks say what they said before, and salvage
    writes the session."""
    spool, logs = os.path.join(place.scratch, "often"), place.new_logs()
    job = start(place.under(logs, [place.program("steps"), "1000", "5"], "--spool", spool))
    check(wait_until(lambda: glob.glob(spool + "/*.ring") and keepers(spool), 20), "the job did not start")
    for _ in range(3):
        kill_one(spool)
    os.kill(jobs.keeper_of(spool), signal.SIGKILL)
    check(wait_until(lambda: not keepers(spool) and not keepers(spool, "guard")), "a keeper or its guard lives")
    got = finish(job)
    check(got.code == 0 and "the keeper ended too early" in got.err, got.transcript())
    got = run([place.podprof(), "salvage", spool, "-o", place.new_logs()])
    check(got.code == 0, got.transcript())


CASES = {"follows": follows, "follows_windows": follows_windows, "follows_capture": follows_capture, "most_often": most_often, "lost_windows": lost_windows, "elsewhere": elsewhere, "salvage_counts": salvage_counts, "salvage_asked": salvage_asked, "salvage_hosts": salvage_hosts, "no_spool": no_spool, "cut_live": cut_live, "cut_left": cut_left,
         "stopped": stopped}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

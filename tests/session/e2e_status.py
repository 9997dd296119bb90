#!/usr/bin/python3
"""podprof status beside a live job: steps and their time, a hung rank, ends, JSON, --watch. Run by ctest session_status."""
import glob
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))

import jobs  # noqa: E402
from jobs import check, finish, over, run, start, start_until, wait_until


def job(place, logs, words, ranks=4):
    return place.mpirun(ranks, place.under(logs, [place.program("windows"), *words], "--steps", "10:12,5000:5010"))


def look(place, logs):
    got = run([place.podprof(), "status", "--json", logs])
    if got.code:
        over = "no rank runs" in got.err or "is ending" in got.err  # the keeper may still write
        check(got.code == 1 and over or "cannot open" in got.err, got.transcript())
        return None
    answer = json.loads(got.out)["jobs"]
    check(len(answer) == 1 and not got.err, got.transcript())
    return answer[0]


def begun(place, logs):
    """Once each of the four ranks has done a step."""
    def found():
        seen = look(place, logs)
        return seen if seen and len(seen["ranks"]) == 4 and all(r.get("step", 0) > 0 and "step_ns" in r for r in seen["ranks"]) else None

    seen = wait_until(found)
    check(seen, f"the ranks do no steps: {look(place, logs)}")
    return seen


def steps(place, full):
    logs = place.new_logs()
    process = start_until(place, job(place, logs, ["5000", "20"]))
    found = begun(place, logs)
    check(found["keeper"] == "recording" and found["keeper_pid"] > 0, found)
    check(sorted(r["rank"] for r in found["ranks"]) == [0, 1, 2, 3], found)
    for rank in found["ranks"]:
        check(rank["state"] == "running" and rank["size"] == 4 and rank["step"] > 0, rank)
        check(rank["step_ns"] > 20e6, f"a step is {rank['step_ns']} ns, it sleeps 20 ms")
    times = [r["step_ns"] for r in found["ranks"]]
    check(times == sorted(times, reverse=True), f"not slowest first: {times}")
    text = run([place.podprof(), "status", logs])
    check(text.code == 0 and "4 of 4 ranks" in text.out and "(keeper records)" in text.out and len(text.out.splitlines()) == 6, text.transcript())
    watch = start([place.podprof(), "status", "--watch", logs])
    check(wait_until(lambda: os.pread(watch.files[0].fileno(), 1 << 16, 0).count(b"step time") >= 2), "the table is not shown again")
    got = over(process)
    shown = finish(watch)
    check(shown.code == 0 and not shown.timed_out, shown.transcript())
    check(got.code == 0 and "done" in got.out and not got.other_err(), got.transcript())


def hung(place, full):
    """One rank stands in its own code, the others wait for it in a collective."""
    logs = place.new_logs()
    process = start(job(place, logs, ["40", "2", "hung", "2", "30"]))

    def stands():
        found = look(place, logs)
        return found if found and all(r["step"] == 30 and "step_ns" not in r for r in found["ranks"]) else None

    found = wait_until(stands, 20)
    check(found, "nobody stands at step 30")
    first, rest = found["ranks"][0], found["ranks"][1:]
    check(first["rank"] == 2 and "call" not in first and first["still_ns"] > 5e8, first)
    check(all(r["call"] == "MPI_Allreduce" and r["sequence"] == rest[0]["sequence"] and r["communicator"] == rest[0]["communicator"]
              for r in rest), rest)
    text = run([place.podprof(), "status", logs])
    check(re.search(r"> [1-6]\.", text.out) and re.search(r"in MPI_Allreduce \d+ on MPI_COMM_WORLD\b", text.out), text.transcript())
    check(all(r["communicator_name"] == "MPI_COMM_WORLD" for r in rest) and "communicator" not in text.out, rest)
    got = finish(process)
    check(got.code == 0, got.transcript())
    check(look(place, logs) is None, "a job that is over is shown")


def drifting(place, full):
    """Without a sum in each step a slow rank is alone: it stands first."""
    logs = place.new_logs()
    process = start(job(place, logs, ["300", "10", "late", "1", "40"]))
    found = begun(place, logs)
    check(found["ranks"][0]["rank"] == 1 and found["ranks"][0]["step_ns"] > 25e6, found)
    ahead = wait_until(lambda: (lambda f: f and all("step_ns" not in r for r in f["ranks"][1:]) and f)(look(place, logs)), 20)
    check(ahead and ahead["ranks"][0]["rank"] == 1, f"who waits at the end stands before who is waited for: {ahead}")
    check(finish(process).code == 0, "the job failed")


def delayed(place, full):
    """A job that records nothing yet: its steps are seen, and can be asked for."""
    logs = place.new_logs()
    process = start(place.mpirun(2, place.under(logs, [place.program("windows"), "200", "20"], "--delay", "1h")))
    found = wait_until(lambda: (lambda f: f if f and all(r.get("step", 0) > 20 for r in f["ranks"]) else None)(look(place, logs)), 20)
    check(found and len(found["ranks"]) == 2 and not any(r["recording"] for r in found["ranks"]), found)
    got = run([place.podprof(), "capture", logs, "--steps", "+3"])
    check(got.code == 0 and "captured on 2 of 2 ranks" in got.out, got.transcript())
    check(finish(process).code == 0, "the job failed")


def of_another(place, full):
    """Nobody is told to start what another user has running."""
    if os.geteuid():
        raise jobs.Skipped("another user needs root")
    logs = place.new_logs()
    os.makedirs(os.path.join(logs, ".podprof-requests"), 0o700)
    os.chown(os.path.join(logs, ".podprof-requests"), 65534, 65534)
    for verb in ("status", "capture"):
        got = run([place.podprof(), verb, logs])
        check(got.code == 1 and "it belongs to another user. Ask as the user of the job" in got.err and len(got.err.splitlines()) == 1, got.transcript())


def nobody(place, full):
    logs = place.new_logs()
    got = run([place.podprof(), "status", logs])
    check(got.code == 1 and "cannot open" in got.err, got.transcript())
    os.mkdir(logs)
    got = run([place.podprof(), "status", logs])
    check(got.code == 1 and "no rank runs that records into" in got.err and not got.out, got.transcript())
    got = run([place.podprof(), "status", logs, "more"])
    check(got.code == 64 and "takes one directory" in got.err, got.transcript())


def has_open(pid, path):
    """Has a child of the process the file open?"""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        child = f.read().split()
    try:
        return any(os.readlink(link) == path for c in child for link in glob.glob(f"/proc/{c}/fd/*"))
    except OSError:
        return False


def ending(place, full):
    """A job of another host that ends between the search and the request: its directory of requests is gone. podprof is held where it
    reads the file there."""
    if not shutil.which("strace"):
        raise jobs.Skipped("no strace here: apt-get install strace")
    logs = place.new_logs()
    directory = os.path.join(logs, ".podprof-requests", "job")
    for made in (logs, os.path.dirname(directory), directory):
        os.mkdir(made, 0o700)
    with open(directory + "/keeper", "w", encoding="ascii") as keeper:
        keeper.write("HOST=vm\nSPOOL=/nowhere\nBOOT=other\nPID=7\nJOB=some\n")
    process = jobs.start(["strace", "-qq", "-o", os.path.join(place.scratch, "strace"), "-P", directory + "/keeper", "-e", "trace=read", "-e",
                          "inject=read:delay_enter=3000000:when=1", place.podprof(), "status", logs])
    check(wait_until(lambda: process.poll() is not None or has_open(process.pid, directory + "/keeper"), 20, 0.01), "podprof does not read the file")
    os.rename(directory, os.path.join(logs, "over"))
    got = finish(process)
    if "ptrace" in got.err:
        raise jobs.Skipped("strace may not trace here: " + got.err.strip())
    check(got.code == 1 and not got.out, got.transcript())
    check(got.err == f"podprof: the job on vm is ending: its keeper writes the session. Type 'podprof report {logs}'.\n", got.transcript())


def elsewhere(place, full):
    """A spool in a place of its own; then one whose socket cannot be reached, as from another host."""
    logs, spool = place.new_logs(), os.path.join(place.scratch, "spool")
    process = jobs.start_until(place, place.mpirun(4, place.under(logs, [place.program("windows"), "5000", "20"], "--spool", spool)))
    found = wait_until(lambda: glob.glob(logs + "/.podprof-requests/*/keeper") and look(place, logs), 20)
    check(found and found["spool"].startswith(spool) and len(found["ranks"]) == 4, found)
    got = run([place.podprof(), "capture", logs, "--steps", "+3"])
    check(got.code == 0 and "captured on 4 of 4 ranks" in got.out, got.transcript())
    for link in glob.glob(f"/dev/shm/podprof-{os.getuid()}/.at-*"):
        os.remove(link)  # another host has none
    os.rename(found["spool"] + "/socket", found["spool"] + "/hidden")
    found = look(place, logs)
    check(found and "/.podprof-requests/" in found["spool"] and sorted(r["rank"] for r in found["ranks"]) == [0, 1, 2, 3], found)
    check(all(r["step_ns"] > 15e6 and r["recording"] for r in found["ranks"]), found)
    text = run([place.podprof(), "status", logs])
    check(text.code == 0 and "4 of 4 ranks on " in text.out and len(text.out.splitlines()) == 6, text.transcript())
    check(jobs.over(process).code == 0, "the job failed")


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (steps, hung, drifting, ending, elsewhere, delayed, of_another, nobody)}, __doc__))

#!/usr/bin/python3
"""The verbs: report, salvage, doctor, help, version. Run by ctest session_tools."""
import csv
import glob
import json
import os
import re
import shutil
import sys
import time

from e2e import check_dataset, good, h5, read, text, train
import jobs
from jobs import check, finish, run, session_of, start, wait_until


def report(place, full):
    """The summary of the newest session, from the log directory, the session's, and into a pipe without bars of escape codes."""
    logs = place.new_logs()
    good(train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10"]))
    session = session_of(logs)
    for where in (logs, session):
        got = run([place.podprof(), "report", where])
        plain = re.sub(r"\|[# ]*\|", "", read(session, "summary.txt"))  # bars are for terminals and the file
        check(got.code == 0 and got.out.split() == plain.split(), got.transcript())
        check("\x1b" not in got.out, "escape codes in a pipe")
    pod = os.path.join(session, "pod.h5")
    os.rename(os.path.join(session, "summary.txt"), os.path.join(place.scratch, "summary.txt"))
    for where in (session, pod):  # the summary is made again
        got = run([place.podprof(), "report", where])
        check(got.code == 0 and got.out.split() == plain.split(), got.transcript())
    with open(pod, "r+b") as f:
        f.truncate(5000)
    got = run([place.podprof(), "report", session])
    check(got.code == 1 and not got.out and "record the job again." in got.err and len(got.err.splitlines()) == 1, got.transcript())
    os.rename(os.path.join(place.scratch, "summary.txt"), os.path.join(session, "summary.txt"))
    got = run([place.podprof(), "report", session])
    check(got.code == 1 and got.out.split() == plain.split() and "record the job again." in got.err and len(got.err.splitlines()) == 1, got.transcript())
    got = run([place.podprof(), "report", place.new_logs()])
    check(got.code != 0 and got.podprof_lines() and not got.out, got.transcript())


def formula(place, full):
    """A name of a range that a spreadsheet would run has an apostrophe before it in CSV, but not with --raw or in JSON. Numbers stay numbers."""
    logs = place.new_logs()
    program = "import podprof\nfor i in podprof.steps(range(5)):\n    with podprof.range('=1+2'):\n        sum(range(1000))"
    good(run(place.under(logs, [sys.executable, "-c", program])))
    for verb in (["report", "--table", "op"], ["export", "--tool", "op_stats"]):
        for options, name in (([], "\"'=1+2\""), (["--raw"], '"=1+2"'), (["--format=json"], '"=1+2"')):
            got = run([place.podprof(), *verb, *options, logs])
            check(got.code == 0 and name in got.out, got.transcript())


def export(place, full):
    """The tables of each tool of a live job, as CSV and JSON; the operators' shares add up, and Idle is what no operator has."""
    logs = place.new_logs()
    good(train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10"]))
    session = session_of(logs)

    def tool(name, *options, where=logs):
        return run([place.podprof(), "export", "--tool", name, *options, where])

    got = tool("op_stats")
    check(got.code == 0 and not got.err, got.transcript())
    rows = list(csv.DictReader(got.out.splitlines()))
    check([int(r["rank"]) for r in rows] == list(range(1, len(rows) + 1)) and all(r["host_or_device"] == "Host" for r in rows), got.out)
    check({r["name"] for r in rows} >= {"MPI_Allreduce", "Idle", "update"}, got.out)
    for word in ("", "_no_idle"):
        check(abs(sum(float(r["host_self_percent" + word]) for r in rows) - 100) < 1e-6, got.out)
    with h5(session) as f:
        busy, idle, step = f["op/self_ns"][()].sum(), f["op_idle/idle_ns"][()].sum(), f["op_idle/step_ns"][()].sum()
        check(busy + idle == step, f"one thread: {busy} ns of operators and {idle} ns without any are not the {step} ns of the steps")
        check(step == f["breakdown/step_ns"][()].sum(), "steps of /op_idle")
    again = tool("op_stats", "--format=json", where=session)
    columns = {c["name"]: c["data"] for c in json.loads(again.out)["tables"][0]["columns"]}
    check(again.code == 0 and columns["name"] == [r["name"] for r in rows] and columns["self_ns"] == [int(r["self_ns"]) for r in rows], again.transcript())
    for name in ("overview", "input_pipeline", "kernel_stats", "memory_profile", "pod_viewer"):
        got = tool(name, "--format", "json")
        check(got.code == 0 and json.loads(got.out)["tool"] == name, got.transcript())
        check(all(re.match(r"podprof: '.*pod.h5' has no table '\w+': .*\.$", line) for line in got.err.splitlines()), got.transcript())
        csv_of = tool(name)
        check(csv_of.code == 0 and csv_of.out.count("# ") in (0, len(json.loads(got.out)["tables"])), csv_of.transcript())
    got = tool("pod_viewer").out
    for part in ("\n# worker\n", "\n# communicator\n", "\n# member\n", "\n# warning\n", "MPI_COMM_WORLD"):  # topology and diagnostics
        check(part in got, f"pod_viewer has no {part!r}: {got}")
    got = tool("none")
    check(got.code == 64 and not got.out and "unknown tool: 'none'. Choose one of: overview, " in got.err, got.transcript())
    for words in ([], ["--tool", "op_stats", logs, logs]):
        got = run([place.podprof(), "export", *words])
        check(got.code == 64 and not got.out, got.transcript())
    got = tool("op_stats", where=place.new_logs())
    check(got.code == 1 and not got.out and got.podprof_lines(), got.transcript())


def odd_name(place, full):
    """A log directory with a blank and a letter beyond ASCII: the command that the job prints works as it is, typed into a shell."""
    logs = os.path.join(place.scratch, "my l\u00f6gs")
    got = train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10"])
    good(got)
    command = re.search(r"\((podprof report .*)\)$", got.err, re.M)[1]
    shell = run(["/bin/sh", "-c", command.replace("podprof", place.podprof(), 1)])
    check(shell.code == 0 and "steps 5..9" in shell.out, command + shell.transcript())


def report_waits(place, full):
    """report while the job still runs: it waits for the keeper and shows this session."""
    logs = place.new_logs()
    spool = os.path.join(place.scratch, "spool")
    job = start(place.mpirun(2, place.under(logs, [place.program("lone"), "busy"], "--spool", spool)), {"GUEST_STEPS": 300})
    check(wait_until(lambda: len(glob.glob(spool + "/*.ring")) == 2), "the job does not begin")
    got = run([place.podprof(), "report", logs], limit=30)
    ended = finish(job)
    check(ended.code == 0, ended.transcript())
    check(got.code == 0 and "2 ranks" in got.out, got.transcript())


def salvage(place, full):
    """The keeper and then the ranks are killed: the rings are left, and salvage makes a session of them."""
    spool, logs, out = os.path.join(place.scratch, "spool"), place.new_logs(), place.new_logs()
    job = start(place.mpirun(3, place.under(logs, [place.program("lone"), "busy"], "--spool", spool)), {"GUEST_STEPS": 400})
    check(wait_until(lambda: len(glob.glob(spool + "/*.ring")) == 3), "the job does not begin")
    time.sleep(0.5)
    jobs.kill_keeper(spool)
    got = finish(job)
    check(got.code == 0, got.transcript())
    check(os.path.isdir(spool) and any(n.endswith(".ring") for n in os.listdir(spool)), "the spool was removed")
    got = run([place.podprof(), "salvage", spool, "-o", out])
    check(got.code == 0, got.transcript())
    session = session_of(out)
    check_dataset(session, workers=3)
    with h5(session) as f:
        check(any("salvaged" in text(s) for s in f["worker/status"][()]), f["worker/status"][()])
        check(len(f["breakdown/step"]) > 10, f"{len(f['breakdown/step'])} steps were salvaged")
        check(f["process/present"][()].any() and (f["process/cpu_user_ns"][()] >= 0).all(), "the counts of the steps are in the rings too")
        check("memory" not in f and any("/memory is absent" in text(w) for w in f["quality/warning"][()]), "nobody looked at memory, and it is said")
    got = run([place.podprof(), "salvage", os.path.join(place.scratch, "no such spool"), "-o", out])
    check(got.code != 0 and got.podprof_lines(), got.transcript())
    shutil.rmtree(spool, ignore_errors=True)


def broken_spool(place, full):
    """Rings with nonsense in them: a sentence, never a crash."""
    spool, out = os.path.join(place.scratch, "broken"), place.new_logs()
    os.mkdir(spool)
    for name, data in (("rank-0-1.ring", b""), ("rank-1-2.ring", b"\xff" * 70000), ("rank-2-3.ring", os.urandom(200000))):
        with open(os.path.join(spool, name), "wb") as f:
            f.write(data)
    got = run([place.podprof(), "salvage", spool, "-o", out])
    check(0 <= got.code < 126 and got.podprof_lines() and not got.timed_out, got.transcript())


def words(place, full):
    """Help and version: on stdout, within a screen, exit 0; doctor says one line a thing."""
    for verb in ("run", "report", "capture", "status", "salvage", "doctor"):
        got = run([place.podprof(), verb, "--help"])
        check(got.code == 0 and 3 < len(got.out.splitlines()) <= (100 if verb == "run" else 50) and not got.err, f"{verb}: {got.transcript()}")
    got = run([place.podprof(), "--help"])
    check(got.code == 0 and "run" in got.out and "salvage" in got.out, got.transcript())
    got = run([place.podprof(), "--version"])
    check(got.code == 0 and "podprof" in got.out, got.transcript())
    got = run([place.podprof()])
    check((got.out + got.err).count("\n") >= 4, got.transcript())
    got = run([place.podprof(), "doctor"])
    check(got.code in (0, 1) and len(got.out.splitlines()) >= 4, got.transcript())


def fine(got):
    check(got.code == 0, got.transcript())
    return got


def answer_of(session, key):
    return [line.split(":", 1)[1].strip() for line in read(session, "summary.txt").splitlines() if line.startswith(f"  {key}:")]


def sessions(place, full):
    """Two sessions: the list, the other one's existence, JSON with the numbers of the summary, and every form in which one is given."""
    logs = place.new_logs()
    good(train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10", "--session", "first"]))
    good(train(place, logs, ranks=2, words=["--steps", "20"], options=["--session", "second"]))
    first, second = (os.path.join(logs, "podprof", name) for name in ("first", "second"))
    got = run([place.podprof(), "report", "--list", logs])
    lines = got.out.splitlines()
    check(got.code == 0 and len(lines) == 3 and lines[0].split() == ["session", "date", "ranks", "steps", "captured", "command", "verdict"], got.transcript())
    check(lines[1].startswith("second ") and lines[2].startswith("first ") and "  --steps 5:10  " in lines[2] and "  5..9  " in lines[2], got.transcript())
    check("  whole job  " in lines[1] and lines[1].endswith(answer_of(second, "Bottleneck")[0]), got.transcript())
    listed = json.loads(fine(run([place.podprof(), "report", "--list", "--json", logs])).out)
    check([row["session"] for row in listed] == ["second", "first"] and listed[1]["captured"] == "--steps 5:10", listed)
    check((listed[1]["ranks"], listed[1]["ranks_delivered"], listed[1]["steps"], listed[1]["step_numbers"]) == (2, 2, 5, "5..9"), listed)
    got = fine(run([place.podprof(), "report", logs]))
    check("session second" in got.out and f"podprof: 1 other session: podprof report --list {logs}" in got.err.splitlines(), got.transcript())
    found = json.loads(fine(run([place.podprof(), "report", "--json", first])).out)
    check(found["verdict"]["text"] == answer_of(first, "Bottleneck")[0] and found["qualifiers"] == answer_of(first, "Caution"), found)
    check(found["steps"] == 5 and [r["rank"] for r in found["rank"]] == [0, 1] and found["path"] == os.path.realpath(first), found)
    same = [key for key in listed[1] if listed[1][key] != found[key]]
    check(not same, f"the list and the session differ in {same}")
    for rank in found["rank"]:
        check(abs(sum(rank["categories"].values()) - rank["step_ns"]) <= len(rank["categories"]), f"categories do not add up to the step: {rank}")
    short = place.new_logs()
    good(train(place, short, ranks=2, words=["--steps", "20"], options=["--steps", "5:6"]))
    one = json.loads(fine(run([place.podprof(), "report", "--json", short])).out)
    check((one["steps"], one["step_numbers"]) == (1, "5"), one)
    for form in ("first", "podprof/first", "podprof/first/", "first/", "podprof/first/pod.h5", "podprof/first/report.html", "podprof/first/summary.txt"):
        got = run([place.podprof(), "report", os.path.join(logs, form)])
        check(got.code == 0 and "session first" in got.out and "other session" not in got.err, form + got.transcript())
    for form in ("podprof", "podprof/", ""):
        got = run([place.podprof(), "report", os.path.join(logs, form)])
        check(got.code == 0 and "session second" in got.out, form + got.transcript())
    os.rename(logs, os.path.join(place.scratch, "podprof_logs"))
    for form in ("first", "first/", "podprof_logs"):
        got = run([place.podprof(), "report", form], cwd=place.scratch)
        check(got.code == 0 and f"session {'first' if 'first' in form else 'second'}" in got.out, form + got.transcript())
    got = run([place.podprof(), "report", "third"], cwd=place.scratch)
    check(got.code == 1 and "no session has this name" in got.err and len(got.err.splitlines()) == 1, got.transcript())
    with open(os.path.join(place.scratch, "podprof_logs", "podprof", "first", "pod.h5"), "w", encoding="ascii") as f:
        f.write("no HDF5")
    got = run([place.podprof(), "report", "--list"], cwd=place.scratch)
    check(got.code == 0 and "cannot read" in got.out.splitlines()[2] and got.out.splitlines()[1].startswith("second "), got.transcript())


def narrow_list(place, full):
    """On a terminal the list keeps its columns whole: those that do not fit stand below, and no line is wider than the terminal."""
    if not shutil.which("script"):
        raise jobs.Skipped("no script here")
    logs = place.new_logs()
    good(train(place, logs, ranks=2, words=["--steps", "20"], options=["--steps", "5:10"]))
    for columns in (80, 100, 200):
        got = fine(run(["script", "-qc", f"stty cols {columns}; {place.podprof()} report --list {logs}", "/dev/null"]))
        lines = got.out.replace("\x1b[K", "").strip().splitlines()
        check(lines and all(len(line) < columns for line in lines), got.transcript())
        check(lines[0].startswith("session") and any(line.startswith("    verdict: ") for line in lines), got.transcript())


CASES = {"report": report, "formula": formula, "export": export, "sessions": sessions, "narrow_list": narrow_list, "odd_name": odd_name, "report_waits": report_waits, "salvage": salvage, "broken_spool": broken_spool, "words": words}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

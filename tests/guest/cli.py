#!/usr/bin/python3
"""The command line: words, help, exit codes, what reaches the application, and what is said. Run by ctest cli."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import jobs
from jobs import check, run


def first_words(place, full):
    got = run([place.podprof()])
    check(got.code == 0 and len(got.out.splitlines()) == 6 and not got.err, got.transcript())
    column = {re.search("  +[a-z]", line[2:]).end() for line in got.out.splitlines()[1:]}
    check(len(column) == 1, f"the meanings stand in columns {column}: {got.transcript()}")
    for words in (["--help"], ["-h"], ["help"]):
        got = run([place.podprof(), *words])
        heads = [got.out.find(head) for head in ("Record:", "  run ", "Read:", "  report ", "While the job runs:", "  capture ", "Check and set up:", "  doctor ", "PODPROF_STEPS=")]
        check(got.code == 0 and -1 not in heads and heads == sorted(heads) and "keeper  " not in got.out, got.transcript())
        for example in ("podprof run -o logs -- ./train", "podprof report logs\n", "podprof capture logs --steps +5", "podprof doctor\n"):
            check(example in got.out, got.transcript())
    for verb, word in (("run", "--steps"), ("report", "--timeout"), ("salvage", "SPOOL"), ("doctor", "node"), ("status", "--watch"), ("completion", "bash")):
        got = run([place.podprof(), verb, "--help"])
        check(got.code == 0 and word in got.out and not got.err and len(got.out.splitlines()) <= (100 if verb == "run" else 50), got.transcript())
        check(all(len(line) < 80 for line in got.out.splitlines()) and "\n\n\n" not in got.out, got.transcript())
        check(got.out.find("Examples:") < got.out.find("--help"), got.transcript())
        same = run([place.podprof(), "help", verb])
        check(same.code == 0 and same.out == got.out and not same.err, same.transcript())
    got = run([place.podprof(), "run", "--help"])
    order = ("Examples:", "--steps 10:20", "Steps and time:", "--steps=", "On demand", "--trigger=", "Output:", "--output=", "Memory and spool:", "--spool=", "-h, --help")
    heads = [got.out.find(head) for head in order]
    check(-1 not in heads and heads == sorted(heads), got.transcript())
    check("(default 64M," in " ".join(got.out.split()) and "PODPROF_RING_SIZE)" in got.out, got.transcript())  # what it does, then default and variable
    check("--steps 10:20 --step-rule collectives" in got.out, got.transcript())
    got = run([place.podprof(), "help", "nonsense"])
    check(got.code == 64 and "unknown verb 'nonsense'" in got.err and not got.out, got.transcript())
    got = run([place.podprof(), "capture", "--help"])
    check("--steps=+N" in got.out and "A:B" not in got.out and "PODPROF_" not in got.out, got.transcript())
    got = run([place.podprof(), "--version"])
    check(got.code == 0 and got.out.startswith("podprof ") and len(got.out.split()) == 2, got.transcript())


def wrong_words(place, full):
    for words, near in ((["reprot"], "report"), (["run", "--stepz", "1:2", "true"], "--steps"), (["report", "--lst"], "--list"),
                        (["docter"], "doctor"), (["record"], "'podprof run'"), (["analyse", "x"], "'podprof analyze'"), (["help", "captur"], "'podprof capture'"), (["salvage", "--outptu", "x", "y"], "--output"),
                        (["python3", "train.py", "--lr", "a b"], "'podprof run -- python3 train.py --lr 'a b''?"), (["/bin/true"], "'podprof run -- /bin/true'?"), (["slurm", "chek"], "'podprof slurm check'"),
                        (["run", "--port-range", "5", "true"], "not a range of ports"), (["run", "--last", "3s", "true"], "podprof capture"), (["capture", "--signal", "USR1"], "podprof run")):
        got = run([place.podprof(), *words])
        check(got.code == 64 and near in got.err and len(got.err.splitlines()) == 1 and not got.out, got.transcript())
    for verb, why in (("capture", "not a directory. Give the directory that -o named."), ("status", "not a directory. Give the directory that -o named."),
                      ("report", "it is neither a session nor a trace that podprof reads. Give the directory that -o named, a session, or a trace ('podprof analyze --help' lists the kinds).")):
        got = run([place.podprof(), verb, place.podprof()])
        check(got.code == 1 and got.err == f"podprof: cannot open '{place.podprof()}': {why}\n", got.transcript())
    for words, what in (([], "no shell given"), (["tcsh"], "unknown shell 'tcsh'"), (["zsh", "x"], "too many arguments: 'x'")):
        got = run([place.podprof(), "completion", *words])
        check(got.code == 64 and got.err.startswith(f"podprof: {what}: ") and "for example 'podprof completion bash'." in got.err, got.transcript())
    for words in (["run"], ["run", "--steps"], ["run", "-q", "true"], ["report", "a", "b"], ["salvage"], ["doctor", "x"], ["xylophone"],
                  ["--steps", "1:2"], ["keeper"], ["report", "--timeout", "soon"]):
        got = run([place.podprof(), *words])
        check(got.code == 64 and got.err.startswith("podprof: ") and len(got.err.splitlines()) == 1, got.transcript())
    for words, want in ((["run", "--zzz", "--", "true"], "unknown option '--zzz'. Nothing was started. 'podprof run --help' lists all options."),
                        (["run", "--step-rule", "x", "--", "true"], "'x' is not one of auto|collectives. Nothing was started."),
                        (["report", "--zzz"], "unknown option '--zzz'. 'podprof report --help' lists all options."),
                        (["report", "--jsno"], "unknown option '--jsno': did you mean '--json'?"),
                        (["report", "--format", "x"], "'x' is not one of csv|json."),
                        (["export", "--format", "x"], "'x' is not one of csv|json|perfetto|chrome|folded.")):
        got = run([place.podprof(), *words])
        check(got.code == 64 and not got.out and got.err.endswith(want + "\n") and len(got.err.splitlines()) == 1, got.transcript())


def options_of_the_program(place, full):
    """What stands behind the first word that is no option is the application's."""
    for dashes in ([], ["--"]):
        got = run([place.podprof(), "run", "-o", place.new_logs(), "--steps", "5:9", *dashes, "/bin/echo", "--steps", "3", "-o", "x", "--", "--help"])
        check(got.code == 0 and got.out == "--steps 3 -o x -- --help\n", got.transcript())


def exit_codes(place, full):
    for code in (0, 1, 3, 64, 77, 126, 127, 255):
        got = run(place.under(place.new_logs(), ["/bin/sh", "-c", f"exit {code}"]))
        check(got.code == code and not got.out and not got.other_err(), got.transcript())
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        got = run(place.under(place.new_logs(), ["/bin/sh", "-c", f"kill -{int(number)} $$"]))
        check(got.code == -number and not got.out, got.transcript())


def streams(place, full):
    """stdin, stdout and stderr are the application's, bytes and all."""
    given = os.path.join(place.scratch, "given")
    with open(given, "wb") as f:
        f.write(os.urandom(300000))
    with open(given, "rb") as stdin, open(given + ".out", "wb") as out:
        code = subprocess.run(place.under(place.new_logs(), ["/bin/cat"]), stdin=stdin, stdout=out, timeout=60, check=False).returncode
    with open(given, "rb") as a, open(given + ".out", "rb") as b:
        check(code == 0 and a.read() == b.read(), "stdin did not reach stdout unchanged")
    got = run(place.under(place.new_logs(), ["/bin/sh", "-c", "echo words >&2"]))
    check(got.other_err() == ["words"], got.transcript())


def environment(place, full):
    """What the job gets, and that an unprofiled job gets nothing."""
    logs = place.new_logs()
    show = ["/bin/sh", "-c", "env | grep -E '^(PODPROF_|LD_PRELOAD|NVTX_|INTEL_)' | sort"]
    got = run(place.under(logs, show, "--steps", "2:4"), {"NVTX_INJECTION64_PATH": "/nowhere/other.so"})
    have = dict(line.split("=", 1) for line in got.out.splitlines())
    check(have["PODPROF_STEPS"] == "2:4" and have["PODPROF_OUTPUT"] == os.path.realpath(logs), have)
    check(have["PODPROF_NVTX_CHAIN"] == "/nowhere/other.so" and have["NVTX_INJECTION64_PATH"].endswith("libpodprof.so"), have)
    check(have["INTEL_LIBITTNOTIFY64"] == have["NVTX_INJECTION64_PATH"] and "PODPROF_ITT_CHAIN" not in have, have)
    check(have["PODPROF_SPOOL"].startswith(("/dev/shm/podprof-", "/tmp/podprof-")), have)
    check("libpodprof.so" in have["LD_PRELOAD"] and "libpodprof-mpi.so" in have["LD_PRELOAD"], have)
    got = run(place.under("/proc/nowhere", show))
    check(got.code == 0 and got.out == "" and len(got.podprof_lines()) == 1 and "by -o" in got.err and "free space" not in got.err, got.transcript())
    got = run(place.under(logs, show), {"PODPROF_STEP": "1:2", "PODPROF_WAIT": "soon"})
    printed = [line for line in got.podprof_lines() if "nothing was recorded" not in line]
    check(len(printed) == 2 and "PODPROF_STEPS" in got.err and "PODPROF_WAIT" in got.err, got.transcript())
    got = run(place.under(logs, show), {"PODPROF_FOO": "1"})
    printed = [line for line in got.podprof_lines() if "PODPROF_FOO" in line]
    check(len(printed) == 1 and "Did you mean" not in got.err and "podprof run --help" in printed[0], got.transcript())


def only_one_rank_speaks(place, full):
    """Of four ranks with an unwritable log directory rank 0 says the sentence."""
    got = run(place.mpirun(4, place.under("/proc/nowhere", ["/bin/echo", "ran"])))
    check(got.code == 0 and got.out == "ran\n" * 4 and len(got.podprof_lines()) == 1, got.transcript())
    got = run(place.mpirun(4, place.under(place.new_logs(), ["/no/such/program"])))
    check(got.code == 127 and len(got.podprof_lines()) == 1, got.transcript())


def nested(place, full):
    """An inner podprof run keeps the outer one's spool and adds nothing twice."""
    logs = place.new_logs()
    show = ["/bin/sh", "-c", "echo $PODPROF_SPOOL $LD_PRELOAD"]
    got = run(place.under(logs, ["/bin/sh", "-c", 'echo $PODPROF_SPOOL $LD_PRELOAD; exec "$@"', "x", *place.under(place.new_logs(), show)]))
    lines = got.out.splitlines()
    check(got.code == 0 and len(lines) == 2 and lines[0] == lines[1], got.transcript())


def foreign_spool(place, full):
    """A spool that is a link, or another user's, is refused: the job runs, one sentence says so."""
    target, link = os.path.join(place.scratch, "target"), os.path.join(place.scratch, "link")
    os.mkdir(target)
    os.symlink(target, link)
    got = run(place.under(place.new_logs(), ["/bin/echo", "ran"], "--spool", link))
    check(got.code == 0 and got.out == "ran\n" and len(got.podprof_lines()) == 1 and not os.listdir(target), got.transcript())
    if os.geteuid() == 0:
        os.chown(target, 65534, 65534)
        got = run(place.under(place.new_logs(), ["/bin/echo", "ran"], "--spool", target))
        check(got.out == "ran\n" and len(got.podprof_lines()) == 1 and not os.listdir(target), got.transcript())


def nothing_to_report(place, full):
    got = run([place.podprof(), "report", os.path.join(place.scratch, "missing")])
    check(got.code == 1 and len(got.podprof_lines()) == 1, got.transcript())
    got = run([place.podprof(), "report", place.scratch])
    check(got.code == 1 and "podprof run" in got.err and len(got.err.splitlines()) == 1, got.transcript())
    got = run([place.podprof(), "salvage", os.path.join(place.scratch, "missing")])
    check(got.code == 1 and len(got.podprof_lines()) == 1, got.transcript())
    os.mkdir(os.path.join(place.scratch, "empty"))
    got = run([place.podprof(), "salvage", os.path.join(place.scratch, "empty"), "-o", place.new_logs()])
    check(got.code == 1 and len(got.podprof_lines()) == 1, got.transcript())
    for name in ("options", "rank-notes"):  # others' files with names like ours: podprof advises to remove no such directory
        with open(os.path.join(place.scratch, "empty", name), "w") as f:
            f.write("mine\n")
        got = run([place.podprof(), "salvage", os.path.join(place.scratch, "empty"), "-o", place.new_logs()])
        check(got.code == 1 and "not a spool" in got.err and "emove" not in got.err and "rm " not in got.err, got.transcript())
    got = run([place.podprof(), "salvage", "/etc", "-o", place.new_logs()])
    check(got.code == 1 and "emove" not in got.err and "rm " not in got.err, got.transcript())


def doctor(place, full):
    got = run([place.podprof(), "doctor"], limit=200)
    check(got.code == 0, got.transcript())
    for thing in ("collector", "MPI", "mpi4py", "HDF5", "clock", "spool", "limits", "channel", "hosts", "xprof", "left over"):
        check(thing in got.out, f"no row for {thing}: {got.out}")
    check("PODPROF_WINDOW_BUFFER" not in got.out and got.out.splitlines()[-1].startswith("ready"), got.transcript())
    check(got.out.count(" limited ") == got.out.count(" fix: "), got.transcript())
    said = " ".join(got.out.split())
    check("otherwise their keepers agree on it" in said or "ranks cannot agree on it through MPI, because" in said, got.transcript())
    check("otherwise name a shared directory with --rendezvous" in said or "hosts that share this directory find each other" in said, got.transcript())
    got = run([place.podprof(), "doctor"], {"PODPROF_RENDEZVOUS": place.scratch}, limit=200)
    check(f"'{place.scratch}' is on " in got.out, got.transcript())
    got = run([place.podprof(), "doctor", "--options"], limit=200)
    check("PODPROF_WINDOW_BUFFER" in got.out and got.out.splitlines()[-1].startswith("ready"), got.transcript())
    got = run([place.podprof(), "doctor"], {"PODPROF_TICK": "raw"}, limit=200)
    check("fix: unset PODPROF_TICK" in got.out and got.out.splitlines()[-1].startswith("ready, with limits: "), got.transcript())
    last = run([place.podprof(), "doctor"], {"PODPROF_TICK": "raw"}, limit=200).out.splitlines()[-1]
    check("clock" in last, last)


def full_output(place, full):
    """What cannot be printed is no success: a script would take a cut file for the whole."""
    logs = place.new_logs()
    job = jobs.start(place.under(logs, [place.program("steps"), "6000", "10"]))
    try:
        check(jobs.wait_until(lambda: run([place.podprof(), "status", logs]).code == 0, 30), "the job does not start")
        for words in (["status", logs], ["status", "--json", logs], ["hang", logs], ["hang", "--json", logs], ["doctor"], ["doctor", "--json"]):
            got = run(["sh", "-c", "exec \"$@\" >/dev/full", "sh", place.podprof(), *words], limit=200)
            check(got.code == 1 and len(got.podprof_lines()) == 1 and "cannot print" in got.err, f"{words}: {got.transcript()}")
    finally:
        jobs.end(job)
        jobs.finish(job)


def pod_of_another_name(place, full):
    """A pod.h5 that was sent to somebody is read whatever it is called; another program's HDF5 file is refused, and leaves nothing."""
    trace, logs, sent, other = place.scratch + "/sent.json", place.new_logs(), place.scratch + "/good.h5", place.scratch + "/other.h5"
    with open(trace, "w", encoding="ascii") as f:
        json.dump({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at, "dur": 5} for at in (10, 20)]}, f)
    run([place.podprof(), "analyze", trace, "-o", logs])
    shutil.copy(jobs.session_of(logs) + "/pod.h5", sent)
    for words, what in ((["report"], "Bottleneck"), (["report", "--table", "op"], "aten::mm"), (["export", "--tool", "op_stats"], "aten::mm")):
        got = run([place.podprof(), *words, sent])
        check(got.code == 0 and what in got.out, got.transcript())
    with open(other, "wb") as f:
        f.write(b"\x89HDF\r\n\x1a\n" + bytes(2000))
    got = run([place.podprof(), "report", other])
    check(got.code == 1 and other in got.err and len(got.err.splitlines()) == 1 and not os.path.exists(other + ".podprof"), got.transcript())


def json_for_scripts(place, full):
    """What makes a session says it as 'podprof report --json' does, on stdout; what a user reads is on stderr."""
    trace, logs = place.scratch + "/trace.json", place.new_logs()
    with open(trace, "w", encoding="ascii") as f:
        json.dump({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at, "dur": 5} for at in (10, 20)]}, f)
    got = run([place.podprof(), "analyze", "--json", trace, "-o", logs])
    made, same = json.loads(got.out), json.loads(run([place.podprof(), "report", "--json", logs]).out)
    check(got.code == 0 and made == same and os.path.isfile(made["path"] + "/pod.h5") and "from 1 file" in got.err, got.transcript())
    got = run([place.podprof(), "slurm", "check", "--json"], {"PATH": "/nowhere"})
    check(got.code == 1 and json.loads(got.out)["green"] is False and json.loads(got.out)["checks"][0]["thing"] == "Slurm", got.transcript())


def no_rank_no_trace(place, full):
    """A program that never is a rank: same end at once, and no spool stays behind for long."""
    logs = place.new_logs()
    got = run(place.under(logs, ["/bin/sh", "-c", "echo $PODPROF_SPOOL"], "--wait", "60"))
    spool = got.out.strip()
    check(got.code == 0 and got.seconds < 50, got.transcript())  # --wait is longer
    check(jobs.wait_until(lambda: not os.path.exists(spool), 30), f"{spool} is still there: {glob.glob(spool + '/*')}")
    check(not os.path.exists(logs), f"an empty log directory stays: {os.listdir(os.path.dirname(logs))}")
    os.mkdir(logs)
    got = run(place.under(logs, ["/bin/sh", "-c", "echo $PODPROF_SPOOL"]))
    spool = got.out.strip()
    check(jobs.wait_until(lambda: not os.path.exists(spool), 30) and os.path.isdir(logs), "a directory of the user was removed")
    missing = place.new_logs()
    got = run(place.under(missing, ["/no/such/program"]))
    check(got.code == 127 and not os.path.exists(missing), got.transcript())


CASES = {
    "first_words": first_words, "wrong_words": wrong_words, "options_of_the_program": options_of_the_program, "exit_codes": exit_codes,
    "streams": streams, "environment": environment, "only_one_rank_speaks": only_one_rank_speaks, "nested": nested,
    "foreign_spool": foreign_spool, "nothing_to_report": nothing_to_report, "doctor": doctor, "full_output": full_output,
    "pod_of_another_name": pod_of_another_name, "json_for_scripts": json_for_scripts, "no_rank_no_trace": no_rank_no_trace,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

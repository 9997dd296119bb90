#!/usr/bin/python3
"""Hostile names: of hosts, ranks, jobs, sessions, ranges, threads. Paths stay inside spool and log directory, terminals obey no byte.
Run by ctest security_names; host names need root (a UTS namespace of their own)."""
import glob
import os
import shutil
import sys

import kit
from kit import check, unharmed
import jobs
from jobs import Skipped, run, sessions

HOSTS = (b"", b".", b"..", b"../../../../tmp/podprof-escaped", b"a/b", b"two\nlines", b"\x1b[2J\x1b]0;owned\x07", b"\x9b2J", b"x" * 64, b"\xff\xfe\xc0\xaf",
         b"-rf", b"caf\xc3\xa9", b"$(reboot)", b"%s%n%s")
# What runs in the new namespace: name the host, then become the job.
BE_HOST = """
import ctypes, os, sys
name = bytes.fromhex(sys.argv[1])
if ctypes.CDLL(None, use_errno=True).sethostname(name, len(name)):
    sys.exit(99)
os.execvp(sys.argv[2], sys.argv[2:])
"""
SHOULD_NOT = "/tmp/podprof-escaped"


def inside(stage, logs, before):
    """The session's files, and nothing beside logs, once the keeper is gone."""
    scratch = stage.dir
    stage.gone(logs, os.getuid())
    check(not glob.glob(SHOULD_NOT + "*"), "a file outside the log directory")
    check(set(os.listdir(scratch)) - before <= {os.path.basename(logs)}, f"beside the log directory: {os.listdir(scratch)}")
    check(set(os.listdir(logs)) <= {"podprof", "plugins"}, os.listdir(logs))
    for session in sessions(logs):
        name = os.path.basename(session)
        found = os.listdir(os.path.join(logs, "plugins", "profile", name))
        check(len(found) == 1 and found[0].endswith(".xplane.pb"), found)
        kit.plain(found[0].encode(), "the name of a file")
        kit.plain(open(os.path.join(session, "summary.txt"), "rb").read(), "summary.txt")


def seen(stage, logs, *prefix):
    """What report and status print."""
    for verb in ("report", "status"):
        got = run([*prefix, stage.podprof, verb, logs])
        kit.plain(got.out, f"stdout of podprof {verb}")
        kit.plain(got.err, f"stderr of podprof {verb}")


def hosts(place, full):
    kit.need_root()
    if not shutil.which("unshare") or run(["unshare", "--uts", "true"]).code:
        raise Skipped("no namespaces here")
    stage = kit.Stage(place)
    before = set(os.listdir(stage.dir))
    for name in HOSTS if full else HOSTS[3:10]:
        logs = place.new_logs()
        command = ["unshare", "--uts", kit.PYTHON, "-c", BE_HOST, name.hex()]
        got = run([*command, *stage.job(logs, 5, 1)])
        check(got.code != 99, "the kernel takes no such name")
        unharmed(got, 5)
        kit.plain(got.err, f"stderr on {name!r}")
        check("captured on 1 of 1 rank, 1 host" in got.err, f"{name!r}: {got.transcript()}")
        inside(stage, logs, before)
        before.add(os.path.basename(logs))
        if name in HOSTS[5:8]:
            seen(stage, logs, *command)


def host_of_a_live_job(place, full):
    """podprof status and the JSON of it, while a job runs on such a host."""
    kit.need_root()
    stage, logs = kit.Stage(place), place.new_logs()
    process = jobs.start_until(place, ["unshare", "--uts", kit.PYTHON, "-c", BE_HOST, b"\x1b[2J\xff\n\"".hex(), *stage.job(logs, kit.LONG, 10)])
    check(jobs.wait_until(lambda: glob.glob((stage.spool_of(logs, 0) or "/none") + "/rank-*.ring")), "the job does not begin")
    got = run([stage.podprof, "status", logs])
    check(got.code == 0 and " of 1 rank on ?[2J" in got.out, got.transcript())
    kit.plain(got.out, "podprof status")
    got = run([stage.podprof, "status", "--json", logs])
    check(jobs_json(got.out)["jobs"][0]["ranks"][0]["host"].startswith("?[2J"), got.transcript())
    kit.rest(process)


def jobs_json(text):
    import json
    return json.loads(text)


def ranks(place, full):
    """Numbers that are none, or too large: the job runs, one rank is profiled or a sentence says why not."""
    stage = kit.Stage(place)
    before = set(os.listdir(stage.dir))
    cases = [{name: value} for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
             for value in ("-1", "99999999999", "x", "2147483647", "1048576", "../../x", "")]
    cases += [{"RANK": "0", "WORLD_SIZE": v, "LOCAL_WORLD_SIZE": v} for v in ("-5", "0", "2147483647", "99999999999999999999", "%n")]
    cases += [{"RANK": "3", "WORLD_SIZE": "2", "LOCAL_RANK": "-7", "OMPI_FIRST_RANKS": "0 x 999999999999"}]
    for env in cases if full else cases[::3]:
        logs = place.new_logs()
        got = run(stage.job(logs, 5, 1, "--wait", "2"), env)
        unharmed(got, 5)
        kit.plain(got.err, f"stderr with {env}")
        check(len(got.podprof_lines()) <= 3, got.transcript())
        if os.path.isdir(logs + "/podprof"):
            inside(stage, logs, before)
        before.add(os.path.basename(logs))


JOBS = ({"PMIX_NAMESPACE": "../../../../tmp/podprof-escaped"}, {"PMIX_NAMESPACE": "a/b\n\x1b[2Jc"}, {"PMIX_NAMESPACE": ".."},
        {"PMIX_NAMESPACE": "x" * 3000}, {"PMIX_NAMESPACE": "."}, {"SLURM_JOB_ID": "../x", "SLURM_STEP_ID": "/y"},
        {"TORCHELASTIC_RUN_ID": "/etc", "TORCHELASTIC_RESTART_COUNT": "../1"})


def jobs_names(place, full):
    stage, uid = kit.Stage(place), os.getuid()
    before = set(os.listdir(stage.dir))
    for env in JOBS if full else JOBS[:4]:
        logs = place.new_logs()
        root = set(os.listdir("/dev/shm"))
        process = jobs.start_until(place, stage.job(logs, kit.LONG, 5), env)
        spool = jobs.wait_until(lambda: stage.spool_of(logs, uid) if glob.glob(f"{stage.spool_of(logs, uid)}/rank-*.ring") else None)
        got = jobs.over(process)
        before.add(os.path.basename(process.stop))
        unharmed(got)
        kit.plain(got.err, f"stderr with {env}")
        check(spool and os.path.dirname(spool) == f"/dev/shm/podprof-{uid}", f"{env}: the spool is {spool}")
        check("captured on 1 of 1 rank" in got.err, got.transcript())
        check({n for n in set(os.listdir("/dev/shm")) - root if n.startswith("podprof")} <= {f"podprof-{uid}"}, "files beside the spool")
        inside(stage, logs, before)
        before.add(os.path.basename(logs))


def session_names(place, full):
    stage = kit.Stage(place)
    before = set(os.listdir(stage.dir))
    for name in ("../../x", "/tmp/podprof-escaped", ".", "..", ".hidden", "a\nb"):
        logs = place.new_logs()
        got = run(stage.job(logs, 5, 1, "--session", name))
        check(got.code == 64 and not got.out and not glob.glob(SHOULD_NOT + "*"), f"{name!r}: {got.transcript()}")
    logs = place.new_logs()
    got = run(stage.job(logs, 5, 1, "--session", "evil \x1b[2J"))
    kit.plain(got.err, "stderr")
    if got.code == 0:
        inside(stage, logs, before)
        got = run([stage.podprof, "report", "--list", logs])
        kit.plain(got.out, "podprof report --list")


def ranges_and_threads(place, full):
    """Names that the application gives, and its command line."""
    stage, logs = kit.Stage(place), place.new_logs()
    evil = r"\x1b]0;owned\x07\x1b[31m\x9b2J\x0d\x08\xff<script>alert(1)</script>"
    before = set(os.listdir(stage.dir))
    got = run([stage.podprof, "run", "-o", logs, "--", stage.steps, "12", "2", evil, "arg \x1b[2J", "</script><script>alert(2)</script>"])
    unharmed(got, 12)
    kit.plain(got.err, "stderr")
    inside(stage, logs, before)
    seen(stage, logs)
    page = open(sessions(logs)[0] + "/report.html", errors="strict").read()
    check("<script>alert" not in page and "\x1b" not in page, "a name is part of the page's code")


def forged_lines(place, full):
    """A name with a newline, a separator or a mark of direction makes no line that looks like podprof's, in no file and no output."""
    stage, logs = kit.Stage(place), place.new_logs()
    evil = r"work\x0a  Forged: rank 0\xe2\x80\xa8  Forged\xe2\x80\xaeForged\xe2\x81\xa6Forged\xc2\x85Forged"
    before = set(os.listdir(stage.dir))
    got = run([stage.podprof, "run", "-o", logs, "--", stage.steps, "12", "2", evil, "arg\n  Forged"])
    unharmed(got, 12)
    inside(stage, logs, before)
    session = sessions(logs)[0]
    texts = {verb: run([stage.podprof, verb, logs]) for verb in ("report", "status")}
    texts = {verb: (got.out + got.err).encode(errors="surrogateescape") for verb, got in texts.items()}
    for name in ("summary.txt", "pod.h5", "report.html"):
        texts[name] = open(os.path.join(session, name), "rb").read()
    texts["xplane"] = open(glob.glob(os.path.join(logs, "plugins", "profile", "*", "*.xplane.pb"))[0], "rb").read()
    check(b"Forged" in texts["summary.txt"], "the name is not in summary.txt: nothing is tested")
    for name, text in texts.items():
        for bad in ("\n  Forged", "\u2028  Forged", "\u202eForged", "\u2066Forged", "\x85Forged"):  # numbers of a binary file may have these bytes
            check(bad.encode() not in text, f"{name} has {bad!r}")


EVIL = "a\nForged: b\u202ec\u2028Forged: d\x1b[31me\tf\x7fg\u2066h"
BAD = ("\nForged", "\u2028", "\u202e", "\u2066", "\x1b", "\x7f", "\nb ", "a\n")


def no_forged(what, text):
    raw = text if isinstance(text, bytes) else text.encode(errors="surrogateescape")
    for bad in BAD:
        at = raw.find(bad.encode())
        check(at < 0, f"{what} has {bad!r}: {raw[max(at - 200, 0):at + 60]!r}")


def said(what, got):
    no_forged(f"{what} on stdout", got.out)
    no_forged(f"{what} on stderr", got.err)


def directories(place, full):
    """Where a name of a directory, file, job or program has a newline, a separator or an escape, no output of any verb has it."""
    stage = kit.Stage(place)
    top = os.path.join(stage.dir, EVIL)
    os.mkdir(top)
    program, none, one = os.path.join(top, "run" + EVIL), os.path.join(top, "none" + EVIL), EVIL.replace("\n", " ")
    logs, spool = os.path.join(stage.dir, "logs" + one), os.path.join(stage.dir, "spool" + one)
    shutil.copy(stage.steps, program)
    env = {"TORCHELASTIC_RUN_ID": EVIL, "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    process = jobs.start([stage.podprof, "run", "-o", logs, "--keep", "5s", "--", program, "200", "5", "work" + EVIL, EVIL], {**env, "PODPROF_PATIENCE_MS": "200"}, cwd=top)
    check(jobs.wait_until(lambda: glob.glob("/dev/shm/podprof-*/*/rank-*.ring")), "the job does not begin")
    for verb in (["status"], ["status", logs], ["status", "--json"], ["capture", logs, "--steps", "+5"], ["doctor"], ["report", logs]):
        said(" ".join(verb[:1]), run([stage.podprof, *verb]))
    for log in glob.glob("/dev/shm/podprof-*/*/keeper.log"):
        no_forged("keeper.log", open(log, "rb").read())
    got = jobs.finish(process)
    check(got.code == 0 and "captured on" in got.err, got.transcript())
    said("run", got)
    for session in sessions(logs):
        no_forged("summary.txt", open(os.path.join(session, "summary.txt"), "rb").read())
        for name in ("pod.h5", "report.html"):
            check(b"\nForged" not in open(os.path.join(session, name), "rb").read(), name)
    for command in (["report", logs], ["report", "--list", logs], ["report", none], ["report", program], ["status", none], ["salvage", none],
                    ["salvage", logs], ["salvage", program], ["capture", none, "--steps", "3"], ["run", "-o", program, "--", program, "2", "1"],
                    ["run", "-o", none + "/x/" + EVIL, "--", none, "2", "1"], ["run", "--spool", spool, "-o", logs, "--", program, "5", "1"],
                    ["run", "--steps", EVIL, "--", program], ["run", EVIL], [EVIL], ["--" + EVIL], ["run", "--" + EVIL], ["doctor", EVIL],
                    ["run", "-o", "/proc/" + EVIL, "--", program, "2", "1"], ["run", "--session", EVIL, "--", program, "2", "1"],
                    ["run", "--spool", "/proc/" + EVIL, "-o", logs, "--", program, "2", "1"], ["run", "--rendezvous", none, "-o", logs, "--", program, "5", "1"],
                    ["run", "--category", f"x{EVIL}=y{EVIL}", "--", program, "2", "1"], ["doctor", "-o", none], ["doctor", "-o", program],
                    ["run", "-o", logs, "--", "sh", "-c", "exit 0", EVIL], ["run", "--at", EVIL, "--", program, "2", "1"]):
        said(" ".join(c.replace(top, "") for c in command), run([stage.podprof, *command], cwd=top))


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (hosts, host_of_a_live_job, ranks, jobs_names, session_names, ranges_and_threads,
                                                forged_lines, directories)}, __doc__))

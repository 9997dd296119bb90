#!/usr/bin/python3
"""The site's log and metrics: what a session writes there, what it does where that cannot be, and hosts over many jobs. Run by ctest
session_fleet."""
import json
import os
import re
import shutil
import subprocess
import sys
import threading

from e2e import good
from hosts import Hosts
import jobs
from jobs import check, run, sessions

PLAIN = re.compile(r"(# (HELP|UNIT) [a-z_]+ .+|# TYPE [a-z_]+ gauge|[a-z_]+(\{[a-z]+=\"([^\"\\\n]|\\[\"\\n])*\"(,[a-z]+=\"([^\"\\\n]|\\[\"\\n])*\")*\})? [-+0-9.e]+|# EOF)")


def train(place, logs, *options, ranks=2):
    program = os.path.join(place.bin, "c_mpi_train")
    words = [program, "--checkpoint", os.path.join(place.scratch, "point"), "--slow-rank", "1", "--slow-us", "4000"]
    return place.mpirun(ranks, place.under(logs, words, *options))


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def report(place, logs):
    got = run([place.podprof(), "report", "--json", logs])
    check(got.code == 0, got.transcript())
    return json.loads(got.out)


def same_values(line, said):
    for mine, theirs in (("session", "session"), ("job", "job"), ("ranks", "ranks"), ("ranks_delivered", "ranks_delivered"), ("hosts", "hosts"),
                         ("steps", "steps")):
        check(line[mine] == said[theirs], f"{mine}: {line[mine]}, the report says {said[theirs]}")
    check(line["verdict"] == said["verdict"]["kind"] and line["bottleneck"] == said["verdict"]["text"], f"{line}, {said['verdict']}")
    check(f"\"step_median_ns\": {line['median_step_ns']}" in json.dumps(said), line)
    check((line["straggler_rank"] is not None) == said["straggler"].startswith("rank "), f"{line}, {said['straggler']}")


def one_host(place, full):
    """The values are the summary's; each session is a line, and the newest one is the metrics."""
    logs, log, metrics = place.new_logs(), os.path.join(place.scratch, "site.jsonl"), os.path.join(place.scratch, "podprof.prom")
    with open(log, "w", encoding="ascii") as f:
        f.write('{"podprof_fleet":1,"job":"cu')  # a full disk
    for _ in range(2):
        got = run(train(place, logs, "--site-log", log, "--metrics", metrics, "--steps", "20:60"))
        good(got)
    with open(log, encoding="ascii") as f:
        text = f.read().splitlines(True)
    check(len(text) == 3 and all(line.endswith("\n") and len(line) <= 4096 for line in text), text)
    line = json.loads(text[2])
    same_values(line, report(place, logs))
    check(line["host_list"] == os.uname().nodename and line["hosts_not_listed"] == 0, line)
    with open(metrics, encoding="utf-8") as f:
        found = f.read()
    bad = [row for row in found.splitlines() if not PLAIN.fullmatch(row)]
    check(not bad and found.endswith("# EOF\n") and found.count("# EOF") == 1, f"{bad}\n{found}")
    check(f"podprof_session_step_seconds {line['median_step_ns'] / 1e9:.15g}\n" in found and f'session="{line["session"]}"' in found, found)
    check(not [n for n in os.listdir(place.scratch) if ".part" in n], os.listdir(place.scratch))
    got = run([place.podprof(), "fleet", log])
    check(got.code == 0 and "2 jobs (2 sessions), 0 of them" in got.out and "1 damaged line and" in got.out, got.transcript())


def off(place, full):
    """Without the options, and where the files cannot be: the job and its session are the same, a sentence says why."""
    plain, link = os.path.join(place.scratch, "plain"), os.path.join(place.scratch, "link")
    with open(plain, "w", encoding="ascii"):
        pass
    os.symlink(plain, link)
    pipe = os.path.join(place.scratch, "pipe")
    os.mkfifo(pipe)
    for log, why in ((place.scratch, "is a directory"), (link, "symbolic link"), (pipe, "no regular file"), ("/nowhere/log", "no such file")):
        logs = place.new_logs()
        got = run(train(place, logs, "--site-log", log, "--metrics", "/nowhere/m.prom", "--steps", "20:40"))
        check(got.code == 0 and sessions(logs), got.transcript())
        check(len(got.podprof_lines()) == 3 and f"cannot append to the site log '{log}': " in got.err and why in got.err, got.transcript())
        check("cannot write the metrics '/nowhere/m.prom'" in got.err, got.transcript())
    check(os.path.getsize(plain) == 0, "the link was followed")


def two_hosts(place, full):
    """One line for all hosts, with the straggler's."""
    logs, log = place.new_logs(), os.path.join(place.scratch, "site.jsonl")
    with Hosts(place, 2) as hosts:
        words = [os.path.join(place.bin, "c_mpi_train"), "--checkpoint", os.path.join(place.scratch, "point"), "--slow-rank", "1", "--slow-us", "20000"]
        got = run(hosts.on(hosts.front, hosts.mpirun(2, place.under(logs, words, "--site-log", log, "--steps", "20:60"))))
        check(got.code == 0, got.transcript())
    found = lines_of(log)
    check(len(found) == 1 and found[0]["host_list"] == "pp[0-1]" and found[0]["hosts"] == 2, found)
    same_values(found[0], report(place, logs))
    check(found[0]["straggler_host"] == "pp1" and found[0]["straggler_rank"] == 1 and found[0]["straggler_wait_ns"] > 0, found)
    got = run([place.podprof(), "fleet", "--json", log])
    rows = {h["host"]: h for h in json.loads(got.out)["hosts"]}
    check(found[0]["cause"] == "persistent" and found[0]["cause_host_list"] == "pp1" and found[0]["cause_wait_ns"] > 0, found)
    check(rows["pp1"]["cause"] == 1 and abs(rows["pp1"]["p"] - 0.5) < 1e-9 and rows["pp0"]["p"] == 1, got.transcript())


def salvaged(place, full):
    """What a dead keeper left gives a line as well."""
    spool, log, out = os.path.join(place.scratch, "spool"), os.path.join(place.scratch, "site.jsonl"), place.new_logs()
    process = jobs.start(place.under(place.new_logs(), [place.program("steps"), "200", "5"], "--spool", spool))
    check(jobs.wait_until(lambda: jobs.keepers(spool) and [n for n in os.listdir(spool) if n.endswith(".ring")], 20), "the job does not begin")
    jobs.kill_keeper(spool)
    jobs.finish(process)
    got = run([place.podprof(), "salvage", spool, "-o", out, "--site-log", log])
    check(got.code == 0 and len(lines_of(log)) == 1, got.transcript())
    same_values(lines_of(log)[0], report(place, out))


def made(jobs_made, hosts, slow, version=2):
    """Lines of a site with one slow host in each other job that it is in."""
    for i in range(jobs_made):
        names = [f"n{(i * 7 + k * 11) % hosts:03d}" for k in range(8)]
        late = slow if slow in names and i % 2 else names[(i * 2654435761 >> 7) % 8]
        yield json.dumps({"podprof_fleet": version, "time_s": 1700000000 + i, "job": f"job{i}", "session": "s", "ranks": 64, "ranks_delivered": 64,
                          "hosts": 8, "steps": 20, "median_step_ns": 100000000, "wait_share": 0.2, "verdict": "rank",
                          "bottleneck": f"rank {i % 64}, Input: 9.5 ms per step more than the others (12 % of its step)", "straggler_host": late,
                          "straggler_rank": 3, "straggler_wait_ns": 10 ** 9, "cause": "persistent", "cause_host_list": late,
                          "cause_wait_ns": 10 ** 9, "host_list": ",".join(names), "hosts_not_listed": 0}) + "\n"


def many_jobs(place, full):
    """100 000 jobs of 200 hosts, lines that are damaged, too long or not text, in two logs: one host is named."""
    logs = [os.path.join(place.scratch, name) for name in ("one", "two")]
    for i, path in enumerate(logs):
        with open(path, "w", encoding="ascii") as f:
            f.writelines(list(made(100000, 200, "n017"))[50000 * i:50000 * (i + 1)])
            f.write("x" * 200000 + "\n\x00\n" + '{"podprof_fleet":1')
    got = run([place.podprof(), "fleet", *logs])
    check(got.code == 0 and "1 of 200 hosts was a cause of delays in more jobs than by chance" in got.out and "all hosts): n017\n" in got.out, got.transcript())
    check("100 000 jobs (100 000 sessions)" in got.out and "6 damaged lines" in got.out, got.transcript())
    print(f"  100 000 jobs in {got.seconds:.2f} s")
    rows = json.loads(run([place.podprof(), "fleet", "--json", *logs]).out)
    check(len(rows["hosts"]) == 200 and rows["hosts_significant"] == 1 and sum(h["cause"] for h in rows["hosts"]) == 100000, rows["hosts"][:3])
    with open(logs[0], "w", encoding="ascii") as f:  # of a version that knew no causes
        f.writelines(made(1000, 20, "n017", version=1))
    got = run([place.podprof(), "fleet", logs[0]])
    check(got.code == 0 and got.out.startswith("No job of several hosts named some of them as a cause") and "\n1 000 jobs are from a version " in got.out,
          got.transcript())
    for words, code in ((["fleet"], 64), (["fleet", "/nowhere/log"], 1), (["fleet", place.scratch], 1), (["fleet", "/dev/null"], 1)):
        got = run([place.podprof(), *words])
        check(got.code == code and len(got.podprof_lines()) == 1 and not got.out, got.transcript())


def write_only(place, full):
    """Users may append to the log without reading it: mode 0622, as the docs advise."""
    if os.geteuid() or not shutil.which("setpriv"):
        raise jobs.Skipped("another user needs root and setpriv")
    log, own = os.path.join(place.scratch, "site.jsonl"), os.path.join(place.scratch, "own")
    os.mkdir(own)
    os.chown(own, 65534, 65534)
    with open(log, "w", encoding="ascii"):
        os.chmod(log, 0o622)
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *place.under(own + "/logs", [place.program("steps"), "20", "5"], "--site-log", log)]
    for turn in (1, 2):
        got = run(words, {"HOME": own})
        check(got.code == 0 and "site log" not in got.err and len(lines_of(log)) == turn, got.transcript())


def at_once(place, full):
    """Jobs that end together: no line is lost or mixed."""
    log, got = os.path.join(place.scratch, "site.jsonl"), []
    words = [place.under(place.new_logs(), [place.program("steps"), "20", "5"], "--site-log", log) for _ in range(6)]
    threads = [threading.Thread(target=lambda w=w: got.append(run(w))) for w in words]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(all(g.code == 0 for g in got) and len({line["job"] for line in lines_of(log)}) == 6, subprocess.run(["cat", log], capture_output=True, check=False))


CASES = {f.__name__: f for f in (one_host, off, two_hosts, salvaged, many_jobs, write_only, at_once)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

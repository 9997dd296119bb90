#!/usr/bin/python3
"""What a reader learns from the summary alone, of five jobs whose truth is known: what limits the job, how sure that is, what is missing, what
to do next. Run by ctest session_answers. PODPROF_ANSWERS=DIR and PODPROF_ANSWERS_BY=PODPROF keep the summaries there, as a terminal
of 118 columns shows them: those of docs/reading-a-report.md are made so."""
import os
import re
import signal
import subprocess
import sys
import time

from e2e import good, read
from hosts import Hosts
import jobs
from jobs import Skipped, check, finish, run, session_of, start, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH = os.environ.get("PODPROF_TORCH_PYTHON", "")


def answer(logs, name):
    """The whole summary, and the text behind each label."""
    said = read(session_of(logs), "summary.txt")
    if os.environ.get("PODPROF_ANSWERS"):
        shown = run(["script", "-qec", f"stty cols 118; {os.environ['PODPROF_ANSWERS_BY']} report {logs}", "/dev/null"]).out
        with open(os.path.join(os.environ["PODPROF_ANSWERS"], name + ".txt"), "w", encoding="utf-8") as f:
            f.write(shown.replace("\r", "").replace(logs, "/data/me/logs"))
    lines = {}
    for label, text in re.findall(r"^  (\w[\w ]*):\s+(.*)$", said, re.M):
        lines.setdefault(label, []).append(text)
    check(list(lines)[0] == "Bottleneck" and len(lines["Bottleneck"]) == 1 and len(lines["Next"]) == 1, said)
    check("LOGDIR" not in said, said)
    lines["command"] = re.findall(r"^ {14}\$ (.*)$", said, re.M)
    return said, lines


def train(place, logs, *words, options=(), ranks=4):
    return place.mpirun(ranks, place.under(logs, [os.path.join(place.bin, "c_mpi_train"), "--quiet", *words], *options))


def healthy(place, full):
    """No rank keeps the others waiting for long: no straggler is made of noise, and nothing is in doubt."""
    logs = place.new_logs()
    good(run(place.mpirun(2, place.under(logs, [place.program("waits"), "even", "marked"]))))
    said, lines = answer(logs, "healthy")
    if "No rank waits long" not in lines["Bottleneck"][0]:
        raise Skipped("the machine is too busy for a step of 10 ms")
    check("Straggler" not in lines and lines["Bottleneck"][0].startswith("Host compute, "), said)


def straggler(place, full):
    """Named with its cause, its time and what the others wait; both of one base, and the sleep is no lack of cores."""
    logs = place.new_logs()
    good(run(train(place, logs, "--steps", "100", "--slow-rank", "3", "--slow-us", "8000", options=["--steps", "10:60"])))
    said, lines = answer(logs, "straggler")
    found = re.match(r"rank 3, Host compute: ([\d.]+) ms per step more than the median of the other ranks \((\d+) % of its step\)\. "
                     r"The other ranks wait ([\d.]+) ms per step for it \((\d+) % of their step\)", lines["Bottleneck"][0])
    check(found, said)
    table = re.findall(r"^ +(\d+) +\S+ +\d+ +([\d.]+) ms +[\d.]+ [mun]?s +([\d.]+ [mun]?s)", said, re.M)
    step = sum(float(ms) for rank, ms, _ in table if rank != "3") / 3
    check(abs(100 * float(found[3]) / step - int(found[4])) <= 1, f"{found[3]} ms of {step} ms: {said}")
    kept = {rank: text for rank, _, text in table}["3"]
    check(kept == found[3] + " ms" and f"waits {kept} per step for it" in lines["Straggler"][0], said)
    check("podprof view " + session_of(logs) in lines["command"] and "shares its cores" not in said, said)
    check(any("4 ranks share 2 cores" in line for line in lines.get("Caution", [])) or os.cpu_count() != 2, said)


def killed(place, full):
    """The rank that was killed is named so, and no other one."""
    logs = place.new_logs()
    job = start(train(place, logs, "--steps", "100000", "--slow-rank", "1", "--slow-us", "3000"))
    victim = wait_until(lambda: claimed(job.pid), 20)
    check(victim, "rank 2 does not start")
    time.sleep(1)
    os.kill(victim, signal.SIGKILL)
    finish(job)
    wait_until(lambda: jobs.sessions(logs) and os.path.exists(session_of(logs) + "/summary.txt"), 20)
    said, lines = answer(logs, "killed")
    caution = lines.get("Caution", [])
    check(any(re.search(r"^rank 2 was killed: .*SIGKILL", line) for line in caution), said)
    check(sum("SIGKILL" in line for line in said.splitlines()) == 1, said)
    check(lines["Next"][0].startswith("find out why rank 2 was killed: 'dmesg' on host "), said)
    check(said.index("Caution:") < said.index("Exclusive time"), said)


def claimed(launcher):
    """The pid of rank 2 below this launcher."""
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as f, open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                words = stat.read().rsplit(")", 1)
                if b"OMPI_COMM_WORLD_RANK=2\0" in f.read() and words[0].endswith("(c_mpi_train") and int(words[1].split()[1]) == launcher:
                    return int(name)
        except (OSError, ValueError):
            pass
    return None


def poor_clocks(place, full):
    """Two clocks, hours apart, over a line of some milliseconds: the clock error is said below the verdict."""
    logs = place.new_logs()
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        raise Skipped("time namespaces are not allowed here")
    with Hosts(place, 2, ahead=(0, 7200)) as hosts:
        for name in hosts.names:
            port = ["dev", "p" + name, "root", "tbf", "rate", "200kbit", "burst", "1600", "latency", "400ms"]
            if subprocess.run(["ip", "netns", "exec", hosts.switch, "tc", "qdisc", "add", *port], capture_output=True).returncode:
                raise Skipped("no tc(8) with tbf")
        program = [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "30", "--slow-rank", "1", "--slow-us", "2000"]
        good(run(hosts.on(hosts.front, hosts.mpirun(2, place.under(logs, program), "-x", "PODPROF_TICK=raw")), limit=100))
    said, lines = answer(logs, "poor_clocks")
    check(lines["Bottleneck"][0].startswith("transfer between ranks, "), said)
    check(any(line.startswith("clock error between ranks <= ") for line in lines.get("Caution", [])), said)


def input_bound(place, full):
    """PyTorch, whose batches take longer than a step on all ranks."""
    if not jobs.has_module(TORCH, "torch"):
        raise Skipped("no Python with torch")
    logs = place.new_logs()
    script = os.path.join(HERE, "..", "..", "examples", "pytorch_ddp", "train.py")
    words = f'exec "{TORCH}" "{script}" --steps 16 --slow-input-rank $OMPI_COMM_WORLD_RANK --slow-input-ms 120'
    good(run(place.mpirun(2, place.under(logs, ["sh", "-c", words], "--steps", "4:14")), {"OMP_NUM_THREADS": 1}, 100))
    said, lines = answer(logs, "input_bound")
    check(lines["Bottleneck"][0].startswith("Input, ") and "use more of its workers" in lines["Next"][0], said)
    check("Data-loader workers are busy" in lines["Input"][0], said)


CASES = {f.__name__: f for f in (healthy, straggler, killed, poor_clocks, input_bound)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__.splitlines()[0]))

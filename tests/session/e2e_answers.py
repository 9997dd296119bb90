#!/usr/bin/python3
"""What a reader learns from the summary alone, of five jobs whose truth is known: what limits the job, how sure that is, what is missing, what
to do next. Run by ctest session_answers. PODPROF_ANSWERS=DIR and PODPROF_ANSWERS_BY=PODPROF keep the summaries there, as a terminal
of 118 columns shows them."""
import json
import os
import re
import shutil
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
    said_gain = found = re.match(r"rank 3, Host compute: ([\d.]+) ms more than the median of the other ranks in (\d+) of (\d+) usual steps\. "
                     r"It makes the usual step ([\d.]+) ms longer \((\d+) % of it\)", lines["Bottleneck"][0])
    check(found and abs(float(found[1]) - 8) < 2 and int(found[2]) >= 0.9 * int(found[3]), said)
    check(re.match(r"rank 3\. 3 other ranks wait [\d.]+ ms because of it in a usual step", lines["Straggler"][0]), said)
    found = re.match(r"rank 3 were as fast as .*: a mean usual step would take ([\d.]+) (us|ms), not ([\d.]+) ms \(replay\)", lines["What if"][0])
    check(found, said)
    gain = float(found[3]) - float(found[1]) / (1 if found[2] == "ms" else 1000)
    check(abs(gain - float(said_gain[4])) <= 0.1 and abs(100 * float(said_gain[4]) / float(found[3]) - int(said_gain[5])) <= 1, said)
    efficient(place, logs, said, lines["Efficiency"][0])
    check("podprof view " + session_of(logs) in lines["command"] and "shares its cores" not in said, said)
    check(any("4 ranks share 2 cores" in line for line in lines.get("Caution", [])) or len(os.sched_getaffinity(0)) != 2, said)


def efficient(place, logs, said, line):
    """One rank of 4 works 8 ms longer: the load is not balanced. The parts multiply to the whole, and the JSON has the same."""
    found = re.fullmatch(r"parallel (\S+) % of the usual step \(POP\): load balance (\S+) %, serialisation (\S+) %, transfer (\S+) %", line)
    check(found, said)
    whole, *parts = [float(part) / 100 for part in found.groups()]
    check(parts[0] < 0.6 and abs(whole - parts[0] * parts[1] * parts[2]) < 0.015, said)
    got = json.loads(run([place.podprof(), "report", "--json", logs]).out)["efficiency"]
    check([abs(got[name] - part) <= 0.005 for name, part in zip(("load_balance", "serialisation", "transfer"), parts)] == [True] * 3, got)
    check(got["ranks"] == 4 and got["device_ranks"] == 0 and got["most_useful_rank"] == 3, got)
    check(got["useful_ns"] <= got["most_useful_ns"] <= got["ideal_ns"] <= got["time_ns"], got)


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


# Carries frames between two ports, each 5 ms late. With PACKET_VNET_HDR a frame keeps what its receiver has to complete.
SLOW_LINE = """
import collections, select, socket, sys, time
SOL_PACKET, PACKET_VNET_HDR, OUTGOING = 263, 15, 4
ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2)]
for end, name in zip(ends, sys.argv[1:]):
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.bind((name, 0))
print('carries', flush=True)
late = collections.deque()
while True:
    ready = select.select(ends, [], [], max(0, late[0][0] - time.monotonic()) if late else None)[0]
    for end in ready:
        frame, origin = end.recvfrom(1 << 17)
        if origin[2] != OUTGOING:
            late.append((time.monotonic() + 0.005, ends[end is ends[0]], frame))
    while late and late[0][0] <= time.monotonic():
        _, to, frame = late.popleft()
        try:
            to.send(frame)
        except OSError:  # a line may lose frames
            pass
"""


def slow_line(hosts, name):
    """The process that puts a line of 5 ms between this host and the others, however busy line and machine are. A rate alone lets a packet
    pass at once where nobody sent one for a while."""
    inside, port = ["ip", "netns", "exec", hosts.switch], "p" + name
    for words in (["set", port, "nomaster"], ["add", "late0", "type", "veth", "peer", "name", "late1"], ["set", "late0", "up"],
                  ["set", "late1", "master", "br0", "up"]):
        subprocess.run([*inside, "ip", "link", *words], check=True)
    process = start([*inside, jobs.PYTHON, "-c", SLOW_LINE, port, "late0"])
    if not wait_until(lambda: os.pread(process.files[0].fileno(), 10, 0) or process.poll() is not None) or process.poll() is not None:
        raise Skipped("no slow line here: " + finish(process).err)
    return process


def poor_clocks(place, full):
    """Two clocks, hours apart, over a line of 5 ms: the clock error is said below the verdict, and is no less than that."""
    logs = place.new_logs()
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        raise Skipped("time namespaces are not allowed here")
    with Hosts(place, 2, ahead=(0, 7200)) as hosts:
        line = slow_line(hosts, hosts.names[1])
        program = [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "30", "--slow-rank", "1", "--slow-us", "2000"]
        try:
            good(run(hosts.on(hosts.front, hosts.mpirun(2, place.under(logs, program), "-x", "PODPROF_TICK=raw")), limit=100))
        finally:
            jobs.end(line)
    said, lines = answer(logs, "poor_clocks")
    found = [re.match(r"clock error between ranks <= ([\d.]+) ms, ", line) for line in lines.get("Caution", [])]
    check(any(m and float(m[1]) >= 5 for m in found), said)


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


def on_terminal(command, columns, term):
    """What a terminal of that width and kind is sent, by lines."""
    return run(["script", "-qec", f"stty cols {columns} rows 50; {command}", "/dev/null"], {"TERM": term}).out.replace("\r\n", "\n").split("\n")


def narrow(place, full):
    """A terminal of 40 columns, which knows no control sequence: plain text, and no line is longer, but commands, paths and sentences on stderr."""
    if not shutil.which("script"):
        raise Skipped("no script (bsdutils) here")
    before, after = place.new_logs(), place.new_logs()
    good(run(train(place, before, "--steps", "20", options=["--steps", "5:15"])))
    good(run(train(place, after, "--steps", "20", "--slow-rank", "3", "--slow-us", "8000", options=["--steps", "5:15"])))
    for command in (f"report {after}", f"diff {before} {after}", f"report --list {after}", "run --help", "--help", "doctor"):
        for columns in (60,) if command.startswith("diff") else (40, 50, 60):  # whose tables have 6 columns of numbers
            lines = on_terminal(f"{place.podprof()} {command} 2>/dev/null", columns, "dumb")
            check(len(lines) > 3 and not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", "\n".join(lines)), f"{command}: {lines}")
            for line in lines:
                words = line.split()
                is_whole = words[:1] in (["$"], ["fix:"]) or "podprof " in line or line.startswith(("ready", "not ready")) or any(len(w) > columns // 2 for w in words)
                is_table = (columns < 50 or command.startswith("diff")) and (len(re.findall(r"\d (?:[unm]?s|%) ", line)) > 1 or re.search(r"kept others$|B - A", line))
                check(len(line) <= columns or is_whole or is_table, f"{command}, {columns} columns: {len(line)} in '{line}'")


CASES = {f.__name__: f for f in (healthy, straggler, killed, poor_clocks, input_bound, narrow)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__.splitlines()[0]))

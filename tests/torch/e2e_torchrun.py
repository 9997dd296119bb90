#!/usr/bin/python3
"""torchrun inside and outside of podprof run, ranks that are started again, two hosts that share no directory, and scripts that podprof has
never seen. Run by ctest torch_torchrun. Hosts need root."""
import os
import sys

import torchjobs as tj
from e2e import h5, read, text
from hosts import Hosts
import jobs
from jobs import check, session_of, sessions

RANKS = 4
INPUT_MS = 60
SHORT = ["--steps", "24", "--slow-input-rank", "2", "--slow-input-ms", str(INPUT_MS)]


def good(got, ranks=RANKS, hosts=1):
    check(got.code == 0 and not got.timed_out, got.transcript())
    check(f"on {ranks} of {ranks} ranks, {hosts} host" in got.err, got.transcript())


def check_slow_input(session):
    tj.check_session(session, RANKS, range(5, 15))
    with h5(session) as f:
        kinds = tj.categories(f)
        wait = kinds["Input"]
        tj.check_silent(kinds, INPUT_MS, (2,))
        check(wait[2] == max(wait) and wait[2] > 30e6, f"Input: {wait}")
        check(tj.waited_for(f)[0] == 2, f"waited for: {f['breakdown/late_ns'][()]}")
        return text(f.attrs["rendezvous"]) if "rendezvous" in f.attrs else ""


def inside(place, full):
    """torchrun starts podprof run: a spool of the run id."""
    logs = place.new_logs()
    command = place.under(logs, tj.python(tj.EXAMPLE, *SHORT), "--steps", "5:15")
    got = tj.run(tj.torchrun(RANKS, *command, options=("--standalone", "--no-python")))
    good(got)
    check_slow_input(session_of(logs))


def outside(place, full):
    """podprof run starts torchrun, which is no rank itself."""
    logs = place.new_logs()
    got = tj.run(place.under(logs, tj.torchrun(RANKS, tj.EXAMPLE, *SHORT), "--steps", "5:15"))
    good(got)
    check_slow_input(session_of(logs))


def started_again(place, full):
    """Rank 1 dies in the first round: two sessions, the first one partial."""
    for outer in (False, True)[:2 if full else 1]:
        logs, once = place.new_logs(), os.path.join(place.scratch, f"once{outer}")
        program = tj.python(tj.script("dies_once.py"), once)
        if outer:
            command = place.under(logs, tj.torchrun(2, *program, options=("--standalone", "--no-python", "--max-restarts", "1")))
        else:
            command = tj.torchrun(2, *place.under(logs, program), options=("--standalone", "--no-python", "--max-restarts", "1"))
        got = tj.run(command)
        check(got.code == 0 and got.out == "round 1: done\n", got.transcript())
        check(jobs.wait_until(lambda: len(sessions(logs)) == 2), (jobs.tree(logs), got.transcript()))
        found = []
        for session in sessions(logs):
            with h5(session) as f:
                found.append((len(tj.steps_of(f)), tj.names(f["worker/status"][()])))
        check(sorted(n for n, _ in found) == [6, 12], found)
        check(dict(found)[12] == ["delivered"] * 2, found)


def separate(place, hosts):
    """A log directory of the same name on every host, each its own."""
    logs = place.new_logs()
    os.makedirs(logs)
    for name in hosts.names:
        check(jobs.run(hosts.on(name, ["mount", "-t", "tmpfs", "apart", logs])).code == 0, "no mount")
    return logs


def on(hosts, name, path):
    return f"/proc/{hosts.pids[name]}/root{path}"


def two_hosts(place, full):
    """A torchrun on each of two hosts, which share neither a directory nor MPI, with its own run id "none": they meet in torch's store."""
    with Hosts(place, 2, prefix="tr") as hosts:
        logs, began = separate(place, hosts), []
        for node, name in enumerate(hosts.names):
            options = ("--nnodes", "2", "--node-rank", str(node), "--master-addr", hosts.names[0], "--master-port", "29477", "--no-python")
            command = tj.torchrun(2, *place.under(logs, tj.python(tj.EXAMPLE, *SHORT), "--steps", "5:15"), options=options)
            began.append(jobs.start(hosts.on(name, command), tj.ENV))
        got = [jobs.finish(p, 90) for p in began]
        good(got[0], hosts=2)
        check(got[1].code == 0, got[1].transcript())
        check(not sessions(on(hosts, hosts.names[1], logs)), "a session on the second host")
        way = check_slow_input(session_of(on(hosts, hosts.names[0], logs)))
        check("invited through the framework's store: 1 other host" in way, way)
        for name in hosts.names:
            check(jobs.wait_until(lambda n=name: not hosts.spools(n)), f"left on {name}: {hosts.spools(name)}")


def two_hosts_by_mpirun(place, full):
    """mpirun over two hosts; the ranks call no MPI."""
    with Hosts(place, 2, prefix="tm") as hosts:
        logs = separate(place, hosts)
        command = place.under(logs, tj.python(tj.EXAMPLE, *SHORT, "--meet", place.scratch), "--steps", "5:15")
        got = tj.run(hosts.on(hosts.front, hosts.mpirun(RANKS, command, "-x", "OMP_NUM_THREADS")), limit=90)
        good(got, hosts=2)
        way = check_slow_input(session_of(on(hosts, hosts.names[0], logs)))
        check("invited through the framework's store: 1 other host" in way, way)


def strangers(place, full):
    """Scripts that nobody wrote for podprof: steps, their input, what they compute and who was waited for. The first one's input comes by no
    DataLoader, so nothing is known of it."""
    table = (("plain_loop.py", range(24), tj.OPTIMIZER, 3, "aten::addmm", 80), ("trainer.py", range(12), tj.LOADER, 1, "aten::native_layer_norm", 60),
             ("gan.py", range(20), tj.LOADER, 0, "Optimizer.step#Adam.step", 30))
    for name, steps, rule, slow, operator, planted_ms in table[:3 if full else 2]:
        logs = place.new_logs()
        got = tj.run(place.under(logs, tj.torchrun(RANKS, tj.script(name))))
        if full:
            base = tj.run(tj.torchrun(RANKS, tj.script(name)))
            check(not jobs.compare(base, got), (name, jobs.compare(base, got)))
        good(got)
        session = session_of(logs)
        tj.check_session(session, RANKS, steps, rule)
        with h5(session) as f:
            share = f["breakdown/exclusive_ns"][()][:, :, 5].sum() / f["breakdown/step_ns"][()].sum()
            check(0 < share < 0.9 if rule == tj.LOADER else share == 0, f"{name}: input share {share}")
            check(operator in tj.names(f["op/name"][()]), f"{name}: no {operator}")
            tj.check_silent(tj.categories(f), planted_ms, (slow,))
            check(tj.waited_for(f)[0] == slow, f"{name}: waited for {f['breakdown/late_ns'][()]}")
        summary = read(session, "summary.txt")
        # Where the loaders of all ranks lack cores, their input takes longer than what the slow rank costs.
        named = f"Straggler:  rank {slow}." in summary or rule == tj.LOADER and "Bottleneck: Input" in summary
        check("Top operators" in summary and named, f"{name}: {summary}")


def mesh(place, full):
    """Ranks have coordinates where the job has named the dimensions of its mesh, and none where it has not."""
    for words, coordinates in (((), ["pp 0, dp 0", "pp 0, dp 1", "pp 1, dp 0", "pp 1, dp 1"]), (("unnamed",), [""] * RANKS)):
        logs = place.new_logs()
        good(tj.run(place.under(logs, tj.torchrun(RANKS, tj.script("mesh.py"), *words), "--steps", "3:6")))
        session = session_of(logs)
        with h5(session) as f:
            check(tj.names(f["worker/coordinates"][()]) == coordinates, f["worker/coordinates"][()])
        check(("; pp 1, dp 0" in read(session, "summary.txt")) == (not words), read(session, "summary.txt"))


def own_optimizer(place, full):
    """An update of two batches by an optimizer that torch does not know is one step; a validation is none."""
    logs = place.new_logs()
    good(tj.run(place.under(logs, tj.torchrun(2, tj.script("own_optimizer.py")))), 2)
    session = session_of(logs)
    tj.check_session(session, 2, range(12), tj.LOADER)
    with h5(session) as f:
        check(text(f.attrs["step_parts"]) == "2 backward passes", f.attrs["step_parts"])


CASES = {f.__name__: f for f in (inside, outside, started_again, two_hosts, two_hosts_by_mpirun, strangers, mesh, own_optimizer)}

if __name__ == "__main__":
    sys.exit(tj.main(CASES, __doc__))

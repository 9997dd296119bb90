#!/usr/bin/python3 -B
"""What comparing clocks costs in a real job: four pretend hosts of two ranks, their keepers, and time namespaces hours apart. Wall time of a
round, CPU of each keeper's thread that compares, and that it is nothing where there is one clock and nothing in the application. Skipped
(77) unless PODPROF_BENCH=1; needs root and time namespaces. Run by ctest bench.clock_hosts.
"""
import argparse
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))

import h5py  # noqa: E402
import jobs  # noqa: E402
from hosts import Hosts  # noqa: E402

HOSTS, RANKS, WINDOWS = 4, 8, 9
AHEAD = (0, 7200, 100, 3600)
SOCKETS = ("socket", "bind", "connect", "send", "sendto", "sendmsg", "sendmmsg", "recv", "recvfrom", "recvmsg", "recvmmsg")


def row(what, values, unit, gate, note, take=statistics.median):
    value = take(values)
    verdict = "" if gate is None else "ok" if value <= gate else "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" %
          ("clock", what, value, min(values), max(values), unit, "" if gate is None else "<= %g" % gate, verdict, note), flush=True)
    return verdict == "missed"


def clocks(logs, windows):
    """/clock of each session, as dicts of arrays; the root's row first."""
    jobs.wait_until(lambda: len(jobs.sessions(logs)) == windows, 20)
    got = []
    for session in jobs.sessions(logs):
        with h5py.File(os.path.join(session, "pod.h5"), "r") as f:
            got.append({name: f["clock/" + name][()] for name in ("rounds", "trips", "lost", "round_ns", "cpu_ns", "host_bound_ns")})
    return got


def on_hosts(place):
    """Windows over 6 s of a job of four hosts with a clock each."""
    logs, times = place.new_logs(), os.path.join(place.scratch, "times")
    os.makedirs(times, exist_ok=True)
    windows = ",".join("%d:%d" % (first, first + 10) for first in range(60, 60 + WINDOWS * 60, 60))
    with Hosts(place, HOSTS, ahead=AHEAD) as hosts:
        program = place.under(logs, [place.program("true_times"), str(60 * (WINDOWS + 1)), "10", times], "--steps", windows)
        got = jobs.run(hosts.on(hosts.front, hosts.mpirun(RANKS, program, "-x", "PODPROF_TICK=raw")), limit=120)
    if got.code or got.timed_out:
        sys.exit("clock.py: the job failed: " + got.transcript())
    return clocks(logs, WINDOWS)


def on_one(place):
    """The same program, all of its ranks on this host."""
    logs, times = place.new_logs(), os.path.join(place.scratch, "times")
    got = jobs.run(place.mpirun(RANKS, place.under(logs, [place.program("true_times"), "40", "10", times], "--steps", "10:20"),
                                "-x", "PODPROF_TICK=raw"), limit=120)
    if got.code or got.timed_out:
        sys.exit("clock.py: the job failed: " + got.transcript())
    return clocks(logs, 1)


def guest_sockets(args):
    """Functions for sockets that the library in the application could call."""
    library = os.path.join(args.bin, "..", "lib", "libpodprof.so")
    wanted = subprocess.run(["nm", "-D", "--undefined-only", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [name for name in (line.split()[-1].split("@")[0] for line in wanted.splitlines()) if name in SOCKETS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--guest", required=True)
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    if jobs.run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        print("skipped: time namespaces are not allowed here")
        return 77
    place = jobs.Place(args.bin, args.guest, os.path.dirname(os.path.abspath(__file__)))
    try:
        seen = on_hosts(place)
        alone = on_one(place)
    except jobs.Skipped as reason:
        print("skipped: %s" % reason)
        return 77
    finally:
        place.clean()
    last = seen[-1]
    rounds = int(max(last["rounds"]))
    missed = row("4 hosts x 2 ranks: a round of all clocks", [max(c["round_ns"]) / 1e6 for c in seen], "ms", 40,
                 "%d windows, worst bound %.1f us" % (len(seen), max(int(max(c["host_bound_ns"])) for c in seen) / 1e3))
    missed |= row("4 hosts x 2 ranks: CPU of a keeper, per round", [ns / 1e6 / rounds for ns in last["cpu_ns"]], "ms", 5,
                  "maximum of the four; %d rounds, %d trips, %d lost" % (rounds, sum(last["trips"]), sum(last["lost"])), max)
    missed |= row("one host: packets and rounds for its clock", [int(sum(c["trips"]) + sum(c["rounds"]) + sum(c["lost"])) for c in alone],
                  "", 0, "8 ranks, one clock")
    found = guest_sockets(args)
    missed |= row("functions for sockets that libpodprof.so calls", [len(found)], "", 0, "the application compares nothing " + " ".join(found))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())

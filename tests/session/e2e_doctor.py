#!/usr/bin/python3
"""podprof doctor --clock: four pretend hosts whose clocks are hours apart by mpirun and without it, hosts that never come or are lost, one host.
Run by ctest session_doctor. Needs root for the pretend hosts."""
import glob
import itertools
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
from hosts import Hosts
import jobs
from jobs import Skipped, check, finish, run, start, wait_until
from slurm import Slurm

AHEAD = (0, 7200, 100, 0)


def doctor(place, *options):
    return [place.podprof(), "doctor", "--clock", *options]


def ranks(place, hosts, *options, a_host=1, silence=2000, job="clocks", without=(), size=None):
    """Without mpirun, one process a rank; rank 0's first."""
    began, size = [], size or a_host * len(hosts.names)
    for rank in range(size):
        if rank in without:
            continue
        env = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank % a_host, "LOCAL_WORLD_SIZE": a_host, "TORCHELASTIC_RUN_ID": job,
               "PODPROF_TICK": "raw", "PODPROF_SILENCE_MS": silence}
        began.append(start(hosts.on(hosts.names[rank // a_host], doctor(place, *options)), env))
    return began


def good(got):
    check(got.code == 0 and not got.timed_out and not got.podprof_lines(), got.transcript())


def check_pairs(printed, hosts, ahead, pairs):
    """The truth: a namespace's offset, no drift, one wall clock."""
    at = dict(zip(hosts, ahead))
    check([(p["a"], p["b"]) for p in printed["pairs"]] == pairs, printed["pairs"])
    for p in printed["pairs"]:
        want = (at[p["b"]] - at[p["a"]]) * 10 ** 9
        check(0 < p["bound_ns"] < 10 ** 8 and abs(p["offset_ns"] - want) <= p["bound_ns"], f"{want}: {p}")
        check(p["clocks"] == ("two" if want else "one"), p)
        check(abs(p["drift_ppm"]) <= p["drift_error_ppm"], p)
        check(abs(p["date_ns"]) <= p["date_error_ns"], p)
        check(p["half_trip_ns"] > 0 and p["trips"] > 50, p)  # the bound may be either side of it: of all trips, over their drift


def by_mpirun(place, full):
    """All pairs within their bounds; the table is of rank 0 alone; no file is left and no directory is shared."""
    with Hosts(place, 4, ahead=AHEAD) as hosts:
        got = run(hosts.on(hosts.front, hosts.mpirun(8, doctor(place, "--json"), "-x", "PODPROF_TICK=raw")))
        good(got)
        printed = json.loads(got.out)
        check_pairs(printed, hosts.names, AHEAD, list(itertools.combinations(hosts.names, 2)))
        check([h["host"] for h in printed["hosts"]] == hosts.names and all(h["tick"] == "RAW" for h in printed["hosts"]), printed["hosts"])
        check(len({h["boot_id"] for h in printed["hosts"]}) == 1 and printed["green"] and not printed["missing"], printed)
        check(printed["bursts"] == 2 and "PMIx" in printed["met"], printed)


def by_srun(place, full):
    """srun, two tasks a node: with its PMIx no directory is shared, without it hosts meet by a file."""
    pairs = list(itertools.combinations([f"sd{i}" for i in range(3)], 2))
    with Hosts(place, 3, prefix="sd", ahead=AHEAD[:3]) as hosts, Slurm(place, 3, 2, hosts=hosts) as slurm:
        for mpi, met in (("pmix", "PMIx"), ("none", f"by a file in '{place.scratch}'")):
            if mpi == "pmix" and not slurm.has_pmix():
                continue
            words = doctor(place, "--json", "-o", place.scratch, "--duration", "300ms")
            got = slurm.run(["srun", f"--mpi={mpi}", "-N", "3", "-n", "6", *words], {"PODPROF_TICK": "raw"})
            good(got)
            printed = json.loads(got.out)
            check_pairs(printed, hosts.names, AHEAD, pairs)
            check(met in printed["met"] and printed["green"] and not printed["missing"], printed)
            check(not glob.glob(place.scratch + "/.podprof-doctor*"), "the invitation is left")


def by_file(place, full):
    """Two ranks a host and no MPI: hosts meet by a file, which is gone afterwards; who does not measure says nothing."""
    shared = os.path.join(place.scratch, "shared")
    os.makedirs(shared)
    key = "a" * 40  # an invitation of a process that was killed
    with open(os.open(shared + "/.podprof-doctor-clocks.rendezvous", os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write(f"podprof rendezvous 1\njob=doctor-clocks\nport=9\nserver={key}\nclient={key}\nsecret={key}\naddress=127.0.0.1\nend\n")
    with Hosts(place, 4, ahead=AHEAD) as hosts:
        got = [finish(p) for p in ranks(place, hosts, "--rendezvous", shared, "--duration", "300ms", a_host=2, silence=8000)]
        for one in got:
            good(one)
        check(not any(one.out for one in got[1:]), [one.out for one in got])
        rows = got[0].out.splitlines()
        check(rows[0].split()[:2] == ["host", "rank"] and rows[6].split()[:2] == ["host", "A"], got[0].out)
        points = {row.index(".", row.index("s  ") - 10) for row in rows[7:13]}
        check(len(points) == 1 and "\x1b" not in got[0].out, f"columns are not below one another: {got[0].out}")
        check("4 hosts, 6 pairs: largest clock error " in rows[14] and "; 1 with one clock." in rows[14] and f"by a file in '{shared}'" in rows[14], rows)
        check(not os.listdir(shared), os.listdir(shared))


def never(place, full):
    """A host that does not come is named, the others are compared; rank 0 that does not come is said by each."""
    with Hosts(place, 4, ahead=AHEAD) as hosts:
        began = ranks(place, hosts, "--json", "-o", place.scratch, "--duration", "200ms", without=(2,), silence=1500)
        got = [finish(p) for p in began]
        printed = json.loads(got[0].out)
        check(got[0].code == 1 and not printed["green"] and printed["missing"] == "the host of rank 2", got[0].transcript())
        names = [hosts.names[i] for i in (0, 1, 3)]
        check_pairs(printed, names, (0, 7200, 0), list(itertools.combinations(names, 2)))
        for one in got[1:]:
            good(one)
        for one in [finish(p) for p in ranks(place, hosts, "-o", place.scratch, job="headless", without=(0,), silence=600)]:
            check(one.code == 1 and not one.out and len(one.podprof_lines()) == 1 and "is not compared: no '" in one.err, one.transcript())


def sent(hosts, name):
    """UDP datagrams that a host has sent."""
    rows = [line.split() for line in run(hosts.on(name, ["cat", "/proc/net/snmp"])).out.splitlines() if line.startswith("Udp:")]
    return int(rows[1][rows[0].index("OutDatagrams")])


def killed(place, full):
    """A host that dies while clocks are compared: its pairs say so, the others are compared."""
    with Hosts(place, 4, ahead=AHEAD) as hosts:
        began = ranks(place, hosts, "--json", "-o", place.scratch, "--duration", "2s", silence=1500)
        check(wait_until(lambda: glob.glob(place.scratch + "/.podprof-doctor*")), "nobody invites")
        check(wait_until(lambda: sent(hosts, hosts.names[2]) >= 20), "no clock is compared with that host's")
        hosts.inits[1 + 2].kill()
        got = [finish(p) for p in began]
        printed = json.loads(got[0].out)
        check(got[0].code == 1 and not printed["green"] and got[0].seconds < 40, got[0].transcript())
        lost = [p for p in printed["pairs"] if hosts.names[2] in (p["a"], p["b"])]
        check(len(printed["pairs"]) == 6 and len(lost) == 3 and all(p["clocks"] == "host lost" for p in lost), printed["pairs"])
        printed["pairs"] = [p for p in printed["pairs"] if p not in lost]
        names = [hosts.names[i] for i in (0, 1, 3)]
        check_pairs(printed, names, (0, 7200, 0), list(itertools.combinations(names, 2)))
        good(got[1])
        good(got[3])


def no_udp(place, full):
    """TCP goes through and UDP does not: the pairs of that host say so, and nobody waits for it."""
    with Hosts(place, 3, ahead=AHEAD) as hosts:
        if run(hosts.on(hosts.names[1], ["ip", "rule", "add", "pref", "1", "ipproto", "udp", "blackhole"])).code:
            raise jobs.Skipped("no rule keeps UDP out here")
        got = [finish(p) for p in ranks(place, hosts, "-o", place.scratch, "--duration", "200ms")]
        check(got[0].code == 1 and "2 pairs: no UDP packet arrived." in got[0].out, got[0].transcript())
        check([row.split()[2] for row in got[0].out.splitlines()[6:9]] == ["not", "two", "not"], got[0].transcript())
        for one in got[1:]:
            good(one)


def no_port(place, full):
    """No UDP port is free on one host: it says so, and mpirun lets rank 0 compare the others."""
    hold = "import socket, time; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(('::', 7000)); print(flush=True); time.sleep(60)"
    with Hosts(place, 3, ahead=AHEAD) as hosts:
        with subprocess.Popen(hosts.on(hosts.names[1], [jobs.PYTHON, "-c", hold]), stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()
            words = doctor(place, "--json", "--port-range", "7000:7000", "--duration", "200ms")
            got = run(hosts.on(hosts.front, hosts.mpirun(3, words, "-x", "PODPROF_TICK=raw", "-x", "PODPROF_SILENCE_MS=2000")))
            holder.kill()
        check(got.code == 1 and f"'{hosts.names[1]}' is not compared: cannot compare clocks: no UDP port" in got.err, got.transcript())
        printed = json.loads(got.out[:got.out.rindex("}") + 1])
        check(hosts.names[1] in printed["missing"], printed["missing"])
        check_pairs(printed, [hosts.names[0], hosts.names[2]], (0, AHEAD[2]), [(hosts.names[0], hosts.names[2])])


def one_host(place, full):
    """Four ranks of one host, one process, two that a launcher does not number: the host's own part, once. No root is needed."""
    got = run(doctor(place))
    good(got)
    check("mpirun -n N --host A,B podprof doctor --clock" in got.out and "Cost of a reading" in got.out and "host A " not in got.out, got.transcript())
    got = run(place.mpirun(4, doctor(place, "--json")))
    good(got)
    printed = json.loads(got.out)
    check(len(printed["hosts"]) == 1 and not printed["pairs"] and printed["hosts"][0]["cost_ns"] > 0, printed)
    env = {"WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "two", "PODPROF_SILENCE_MS": 5000}
    got = [finish(p) for p in [start(doctor(place, "-o", place.scratch), {"RANK": rank, **env}) for rank in range(2)]]
    if "no address but loopback" in got[0].err:
        return
    for one in got:
        good(one)
    check("all ranks are on this one" in got[0].out and not got[1].out, got[0].transcript() + got[1].transcript())


def no_network(place, full):
    """A host with nothing but loopback says so at once."""
    env = {"RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "none"}
    if os.geteuid() or run(["unshare", "-n", "true"]).code:
        raise jobs.Skipped("network namespaces are not allowed here")
    got = run(["unshare", "-n", *doctor(place, "-o", place.scratch)], env)
    check(got.code == 1 and not got.out and got.seconds < 30, got.transcript())
    check(got.podprof_lines() == ["podprof: cannot be reached by other hosts: this one has no address but loopback."], got.transcript())


def ended(place, full):
    """Ctrl-C while hosts are waited for: what is known is printed, and the exit code says that it is not all."""
    env = {"RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "end"}
    began = start(doctor(place, "-o", place.scratch), env)
    if not wait_until(lambda: glob.glob(place.scratch + "/.podprof-doctor-end*") or began.poll() is not None, 20) or began.poll() is not None:
        raise jobs.Skipped("no network here: " + finish(began).transcript())
    os.kill(began.pid, signal.SIGINT)
    got = finish(began)
    check(got.code == 1 and "the host of rank 1" in got.out and got.seconds < 30, got.transcript())
    check(not glob.glob(place.scratch + "/.podprof-doctor-end*"), "the invitation is left")


def wrong(place, full):
    """Options that say nothing without --clock, or nothing at all."""
    for words, printed in ((["--duration", "2s"], "need --clock"), (["--clock", "--duration", "soon"], "--duration"),
                        (["--clock", "--rendezvous", "here"], "relative path"), (["--clock", "--port-range", "9:1"], "--port-range"),
                        (["--clock", "more"], "too many arguments"), (["--clok"], "--clock")):
        got = run([place.podprof(), "doctor", *words])
        check(got.code == 64 and printed in got.err and not got.out and len(got.podprof_lines()) == 1, got.transcript())


def bridge(place, full):
    """Another network than the bridge of a container engine: Open MPI must be told which; alone, a bridge is the network."""
    for kinds, warned in ((["bridge", "veth"], True), (["bridge"], False), (["veth"], False)):
        made = " && ".join(f"ip link add net{i} type {kind} {f'peer name peer{i}' if kind == 'veth' else ''} && ip addr add 10.9{i}.0.1/24 dev net{i} && ip link set net{i} up" for i, kind in enumerate(kinds))
        got = run(["unshare", "--net", "--mount", "sh", "-c", f'mount -t sysfs none /sys && {made} || exit 99; exec "$@"', "sh", place.podprof(), "doctor"])
        if got.code == 99 or "unshare:" in got.err:
            raise Skipped(f"networks of one's own need root: {got.err}")
        row = re.search(r"^  networks   limited  'net0' is a bridge.*\n +fix: export OMPI_MCA_btl_tcp_if_include=net1$", got.out, re.M)
        check(bool(row) == warned and ("networks" in got.out) == warned, got.transcript())


CASES = {"bridge": bridge, "by_mpirun": by_mpirun, "by_srun": by_srun, "by_file": by_file, "never": never, "killed": killed, "no_udp": no_udp, "no_port": no_port, "one_host": one_host,
         "no_network": no_network, "ended": ended, "wrong": wrong}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__.splitlines()[0]))

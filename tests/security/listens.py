#!/usr/bin/python3
"""What a job on one host shows to the network: nothing that it would not show without podprof. Run by ctest security_listens; needs root
(a network namespace, so that nobody else's sockets are counted)."""
import glob
import os
import shutil
import sys

import kit
from kit import check, rest, wait_until
import jobs
from jobs import Skipped, run, start, start_until

TABLES = ("tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6")


def namespace(command):
    return ["unshare", "--net", "sh", "-c", "ip link set lo up; exec \"$@\"", "sh", *command]


def need_namespaces():
    kit.need_root()
    if not shutil.which("unshare") or not shutil.which("ip") or run(namespace(["true"])).code:
        raise Skipped("no network namespaces here")


def sockets(pid):
    """(table, local address, state) of every internet socket in the namespace of that process."""
    found = []
    for table in TABLES:
        try:
            lines = open(f"/proc/{pid}/net/{table}").read().splitlines()[1:]
        except OSError:
            continue
        found += [(table, line.split()[1], line.split()[3]) for line in lines]
    return found


def own_sockets(pid):
    """(table, its line) of those that the process itself holds."""
    inodes = set()
    for fd in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            to = os.readlink(fd)
        except OSError:
            continue
        if to.startswith("socket:["):
            inodes.add(to[8:-1])
    held = []
    for table in TABLES:
        try:
            held += [(table, line) for line in open(f"/proc/{pid}/net/{table}").read().splitlines()[1:] if line.split()[9] in inodes]
        except (OSError, IndexError):
            continue
    return held


def without_mpi(place, full):
    """No internet socket at all in the job's namespace, from its begin to its end, a capture between."""
    need_namespaces()
    stage, logs, uid = kit.Stage(place), place.new_logs(), os.getuid()
    process = start_until(place, namespace(stage.job(logs, kit.LONG, 10)))
    check(wait_until(lambda: stage.spool_of(logs, uid) and jobs.keepers(stage.spool_of(logs, uid)) and
                     glob.glob(os.path.join(stage.spool_of(logs, uid), "rank-*.ring"))), "no keeper, or no rank")
    keeper = jobs.keeper_of(stage.spool_of(logs, uid))
    check(os.readlink(f"/proc/{keeper}/ns/net") != os.readlink("/proc/self/ns/net"), "the keeper is not in the namespace of its job")
    asked = start([stage.podprof, "capture", logs, "--steps", "+5"])
    seen = []
    while asked.poll() is None:
        seen += sockets(process.pid) + sockets(keeper)
        kit.pause(0.02)
    answer = jobs.finish(asked)
    check(answer.code == 0, answer.transcript())
    jobs.stop(process)
    while process.poll() is None:
        seen += sockets(process.pid) + sockets(keeper)
        kit.pause(0.02)
    check(not seen, f"sockets: {sorted(set(seen))}")
    rest(process)


def with_mpi(place, full):
    """Open MPI has sockets of its own: the keeper holds none, and what is loaded into ranks cannot make one."""
    need_namespaces()
    stage, logs, uid = kit.Stage(place), place.new_logs(), os.getuid()
    program = os.path.join(os.path.dirname(place.guest.rstrip("/")), "guest", "windows")
    if not os.path.exists(program):
        raise Skipped("no MPI programs")
    process = start_until(place, namespace(place.mpirun(2, [stage.podprof, "run", "-o", logs, "--", program, "10000", "10"])))
    held, looks = [], 0
    while process.poll() is None:
        spool = stage.spool_of(logs, uid)
        keepers = jobs.keepers(spool) if spool else []
        held += [line for pid in keepers for line in own_sockets(pid)]
        looks += len(keepers) > 0
        if looks > 30:
            jobs.stop(process)
        kit.pause(0.02)
    got = jobs.finish(process)
    check(got.code == 0 and "captured on 2 of 2 ranks" in got.err, got.transcript())
    check(looks > 5 and not held, f"the keeper has sockets: {held}")
    for library in glob.glob(stage.dir + "/lib/libpodprof*.so"):
        wants = {line.split()[-1].split("@")[0] for line in run(["nm", "-D", "--undefined-only", library]).out.splitlines() if line.strip()}
        check(wants and not wants & {"socket", "socketpair", "bind", "listen", "accept", "connect", "sendto"}, f"{library}: {sorted(wants)}")


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (without_mpi, with_mpi)}, __doc__))

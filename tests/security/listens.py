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
from jobs import Skipped, run, start

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
    """Those of them that the process itself holds."""
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
            held += [line for line in open(f"/proc/{pid}/net/{table}").read().splitlines()[1:] if line.split()[9] in inodes]
        except (OSError, IndexError):
            continue
    return held


def without_mpi(place, full):
    """No internet socket at all in the job's namespace, from its begin to its end, a capture between."""
    need_namespaces()
    stage, logs, uid = kit.Stage(place), place.new_logs(), os.getuid()
    process = start(namespace(stage.job(logs, 250, 10)))
    check(wait_until(lambda: stage.spool_of(logs, uid) and jobs.keepers(stage.spool_of(logs, uid)), 10), "no keeper")
    keeper = jobs.keepers(stage.spool_of(logs, uid))[0]
    check(os.readlink(f"/proc/{keeper}/ns/net") != os.readlink("/proc/self/ns/net"), "the keeper is not in the namespace of its job")
    asked = start([stage.podprof, "capture", logs, "--steps", "+5"])
    seen = []
    while process.poll() is None:
        seen += sockets(process.pid) + sockets(keeper)
        kit.pause(0.02)
    check(not seen, f"sockets: {sorted(set(seen))}")
    check(jobs.finish(asked).code == 0, "no capture")
    rest(process, 250)


def with_mpi(place, full):
    """Open MPI has ports of its own; beside them there is none, and the keeper holds none."""
    need_namespaces()
    stage, logs, uid = kit.Stage(place), place.new_logs(), os.getuid()
    program = os.path.join(os.path.dirname(place.guest.rstrip("/")), "guest", "windows")
    if not os.path.exists(program):
        raise Skipped("no MPI programs")

    def listeners(command, look):
        process = start(namespace(command))
        most, held = 0, []
        while process.poll() is None:
            most = max(most, len({s for s in sockets(process.pid) if s[2] in ("0A", "07")}))
            held += look()
            kit.pause(0.02)
        return most, held, jobs.finish(process)

    def of_keepers():
        spool = stage.spool_of(logs, uid)
        return [line for pid in (jobs.keepers(spool) if spool else []) for line in own_sockets(pid)]

    job = [program, "60", "10"]
    bare, _, base = listeners(place.mpirun(2, job), list)
    most, held, got = listeners(place.mpirun(2, [stage.podprof, "run", "-o", logs, "--", *job]), of_keepers)
    check(not jobs.compare(base, got), f"{jobs.compare(base, got)}: {got.told()}")
    check(bare and most <= bare, f"{most} sockets listen, {bare} without podprof")
    check(not held, f"the keeper has sockets: {held}")


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (without_mpi, with_mpi)}, __doc__))

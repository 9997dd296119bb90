"""Pretend hosts on one kernel, for tests: each has its own network, host name, pids, mounts and /dev/shm; a front end that sees all
starts mpirun. Needs root. Used by claim.py and tests/session/e2e_containers.py. Nothing of the caller's environment reaches a host, but
what a build with sanitizers needs."""
import os
import shutil
import subprocess
import time

import jobs
from jobs import Skipped

INIT = """hostname "$1"; [ "$1" = "$4" ] || { mount -t proc proc /proc; mount -t tmpfs -o "mode=1777,$3" shm /dev/shm; }
mount --bind "$2/hosts" /etc/hosts; ip link set lo up; : > "$2/$1.up"; while :; do sleep 1000 & wait; done"""
AGENT = """#!/bin/bash
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec env -i PATH="$PATH" HOME="$HOME" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \\
  ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} ${UBSAN_OPTIONS:+"UBSAN_OPTIONS=$UBSAN_OPTIONS"} \\
  nsenter -t "$(cat "$0-$host")" -m -u -i -n -p TIME --wdns="$PWD" -- /bin/sh -c "$*"
"""


class Hosts:
    """with Hosts(place, 2) as hosts: run(hosts.mpirun(4, command)), names hosts.names[0] and so on. `ahead`: seconds of each host's
    CLOCK_MONOTONIC and RAW, by a time namespace."""

    def __init__(self, place, count, shm="size=64m", prefix="pp", ahead=()):
        self.ahead = dict(zip([f"{prefix}{i}" for i in range(count)], ahead))
        self.where, self.shm, self.agent = os.path.join(place.scratch, "hosts"), shm, os.path.join(place.scratch, "agent")
        self.names = [f"{prefix}{i}" for i in range(count)]
        self.front, self.switch, self.inits, self.pids = f"{prefix}fe{os.getpid()}", f"{prefix}{os.getpid()}", [], {}

    def ip(self, *words):
        made = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if made.returncode:
            raise Skipped("no pretend hosts here: " + made.stderr.strip())

    def one(self, name, address, *spaces):
        init = subprocess.Popen(["unshare", "-n", "-u", "-m", *spaces, "--fork", "--kill-child", "--propagation", "private", "bash", "-c",
                                 INIT, "init", name, self.where, self.shm, self.front], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        self.inits.append(init)
        if not jobs.wait_until(lambda: os.path.exists(os.path.join(self.where, name + ".up")) or init.poll() is not None) or init.poll():
            raise Skipped("no pretend hosts here: " + (init.stderr.read() if init.poll() else "a host does not come up"))
        with open(f"/proc/{init.pid}/task/{init.pid}/children") as f:
            self.pids[name] = f.read().split()[0]
        with open(f"{self.agent}-{name}", "w") as f:
            f.write(self.pids[name])
        port = "p" + name
        self.ip("link", "add", "eth0", "netns", self.pids[name], "type", "veth", "peer", "name", port, "netns", self.switch)
        self.ip("-n", self.switch, "link", "set", port, "master", "br0", "up")
        inside = ["nsenter", "-t", self.pids[name], "-n", "ip"]
        for words in (["addr", "add", address + "/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            subprocess.run([*inside, *words], check=True)

    def __enter__(self):
        if os.geteuid() or not shutil.which("ip") or not shutil.which("nsenter"):
            raise Skipped("pretend hosts need root, ip(8) and nsenter(1)")
        try:
            self.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def up(self):
        os.makedirs(self.where, exist_ok=True)
        addresses = [f"10.79.0.{i + 1}" for i in range(len(self.names))]
        with open(os.path.join(self.where, "hosts"), "w") as f:
            f.write("127.0.0.1 localhost\n10.79.0.254 " + self.front + "\n")
            f.writelines(f"{a} {n}\n" for a, n in zip(addresses, self.names))
        with open(self.agent, "w") as f:
            f.write(AGENT.replace("TIME ", "-T " if self.ahead else ""))
        os.chmod(self.agent, 0o755)
        self.ip("netns", "add", self.switch)
        self.ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
        self.ip("-n", self.switch, "link", "set", "br0", "up")
        self.one(self.front, "10.79.0.254")
        for name, address in zip(self.names, addresses):
            seconds = self.ahead.get(name, 0)
            self.one(name, address, "-i", "-p", *(["--time", "--monotonic", str(seconds)] if seconds else []))

    def __exit__(self, *_):
        for init in self.inits:
            init.kill()
            init.wait()
        subprocess.run(["ip", "netns", "del", self.switch], capture_output=True, check=False)
        time.sleep(0.05)

    def on(self, name, command):
        flags = ["-m", "-u", "-n"] if name == self.front else ["-m", "-u", "-i", "-n", "-p"] + ["-T"] * bool(self.ahead)
        return ["nsenter", "-t", self.pids[name], *flags, f"--wdns={os.getcwd()}", "--", *command]

    def mpirun(self, ranks, command, *options):
        """mpirun's own words; to be run `on` the front end, perhaps under podprof run. Other runs have hosts of the same names, and /tmp is
        theirs too: Open MPI's directories, which are named after hosts, are in this run's."""
        return [jobs.MPIRUN, "--host", ",".join(f"{n}:{ranks}" for n in self.names), "--map-by", "node", "--bind-to", "none", "--mca",
                "plm_rsh_agent", self.agent, "--mca", "mpi_yield_when_idle", "1", "--mca", "orte_tmpdir_base", self.where, *options, "-n",
                str(ranks), *command]

    def spools(self, name):
        """What is left in a host's /dev/shm."""
        got = jobs.run(self.on(name, ["sh", "-c", "ls /dev/shm/podprof-0 2>/dev/null"]))
        return got.out.split()

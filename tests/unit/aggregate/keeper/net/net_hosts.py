#!/usr/bin/python3
"""Four virtual hosts (network namespaces on a bridge) whose keepers know one directory; one host's link is down for 2 s meanwhile.
Called by ctest as unit.aggregate.net_hosts: net_hosts.py PROGRAM. Needs root and ip(8)."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

HOSTS = 4
NAME = "pp%d" % os.getpid()


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).returncode


def up():
    """A switch and the hosts. Each has two addresses; the first is the same on all, as a container bridge's is."""
    ip("netns", "add", NAME + "sw")
    ip("-n", NAME + "sw", "link", "add", "br0", "type", "bridge")
    ip("-n", NAME + "sw", "link", "set", "br0", "up")
    for h in range(HOSTS):
        host = "%sh%d" % (NAME, h)
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
        ip("link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", "port%d" % h, "netns", NAME + "sw")
        ip("-n", host, "addr", "add", "172.17.0.1/32", "dev", "eth0")
        ip("-n", host, "addr", "add", "10.77.0.%d/24" % (h + 1), "dev", "eth0")
        ip("-n", host, "link", "set", "eth0", "up")
        ip("-n", NAME + "sw", "link", "set", "port%d" % h, "master", "br0", "up")


def down():
    for name in [NAME + "sw"] + ["%sh%d" % (NAME, h) for h in range(HOSTS)]:
        ip("netns", "del", name, check=False)


def run(program, where):
    def start(h, *words):
        return subprocess.Popen(["ip", "netns", "exec", "%sh%d" % (NAME, h), program, where, *words], stdout=subprocess.PIPE, text=True)

    hosts = [start(0, "listen", str(HOSTS - 1))] + [start(h, "join", "h%d" % h) for h in range(1, HOSTS)]
    try:
        if hosts[0].stdout.readline() == "pieces\n":
            time.sleep(0.5)
            ip("-n", NAME + "sw", "link", "set", "port1", "down")
            time.sleep(2)
            ip("-n", NAME + "sw", "link", "set", "port1", "up")
        return [p.wait(60) for p in hosts]
    finally:
        for p in hosts:
            p.kill()


def main():
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: virtual hosts need root and ip(8)")
        return 77
    where = tempfile.mkdtemp(prefix="podprof-net-")
    try:
        try:
            up()
        except subprocess.CalledProcessError as e:
            print("skipped: no virtual hosts here: " + e.stderr.strip())
            return 77
        codes = run(sys.argv[1], where)
        left = os.listdir(where)
        if any(codes) or left:
            print("exit codes %s, files left %s" % (codes, left))
            return 1
        return 0
    finally:
        down()
        shutil.rmtree(where)


if __name__ == "__main__":
    sys.exit(main())

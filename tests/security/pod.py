#!/usr/bin/python3
"""A job of two pretend hosts: where its keys lie, what listens, what no key is in; an invitation that somebody else planted. Run by ctest
security_pod. Needs root."""
import glob
import os
import re
import stat
import sys
import time

import kit
from kit import STRANGER, check, wait_until
import jobs
from hosts import Hosts
from jobs import Skipped, finish, run, sessions, start, start_until
from listens import own_sockets

JOB = "planted"


def ranks(stage, hosts, logs, *options, count=150, ms=10, prefix=(), which=(0, 1)):
    """One rank on each host, without MPI; rank 0's process first. They end by jobs.over() where there are more steps than a case needs."""
    began = []
    for rank, name in enumerate(hosts.names):
        if rank not in which:
            continue
        env = {"RANK": rank, "WORLD_SIZE": len(hosts.names), "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": JOB}
        began.append(start_until(stage.place, hosts.on(name, [*prefix, *stage.job(logs, count, ms, *options)]), env))
    return began


def rendezvous(logs):
    found = glob.glob(logs + "/.podprof-*.rendezvous")
    return found[0] if found else None


def keys_of(text):
    keys = re.findall(r"^(?:server|client|secret)=(.{40})$", text, re.M)
    check(len(keys) == 3, f"no invitation: {text[:60]!r}")
    return [k.encode() for k in keys]


def holders(keys):
    """Whose command line, or environment, has a key in it."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        try:
            text = open(path, "rb").read()
        except OSError:
            continue
        found += [path for k in keys if k in text]
    return found


def inside(hosts, name, script):
    return run(hosts.on(name, ["sh", "-c", script])).out


def listening(hosts, name):
    """Sockets of that host's network that wait for somebody."""
    rows = inside(hosts, name, "cat /proc/net/tcp /proc/net/tcp6").splitlines()
    other = inside(hosts, name, "cat /proc/net/udp /proc/net/udp6 /proc/net/raw /proc/net/raw6").splitlines()
    return [r for r in rows if len(r.split()) > 3 and r.split()[3] == "0A"], [r for r in other if "local_address" not in r]


def no_key_in(directory, keys):
    for where, _, files in os.walk(directory):
        for name in files:
            raw = open(os.path.join(where, name), "rb").read()
            check(not any(k in raw for k in keys), f"a key is in {where}/{name}")


def secrets(place, full):
    """The invitation is owner-only under umask 0, in no command line, environment, log or result; one port of TCP and one of UDP, for clocks, on
    rank 0's host, while the job runs; elsewhere one of UDP until the two clocks are found to be one."""
    kit.need_root()
    stage, logs = kit.Stage(place), place.new_logs()
    with Hosts(place, 2, prefix="se") as hosts:
        shell = ("sh", "-c", "umask 0; exec \"$@\"", "sh")
        began = ranks(stage, hosts, logs, prefix=shell, which=[0], count=kit.LONG)  # the other one is waited for
        path = wait_until(lambda: os.path.isdir(logs) and rendezvous(logs))
        check(path, "nobody invites")
        st = os.lstat(path)
        check(stat.S_ISREG(st.st_mode) and stat.S_IMODE(st.st_mode) == 0o600 and st.st_nlink == 1, stat.filemode(st.st_mode))
        keys = keys_of(open(path).read())
        wrong = inside(hosts, "se0", "find /dev/shm/podprof-0 -perm /077")
        check(not wrong, f"others may use {wrong}")
        began += ranks(stage, hosts, logs, prefix=shell, which=[1], count=kit.LONG)
        check(wait_until(lambda: "joined" in inside(hosts, "se0", "cat /dev/shm/podprof-0/*/keeper.log")),
              inside(hosts, "se0", "cat /dev/shm/podprof-0/*/keeper.log"))
        check(wait_until(lambda: not os.path.exists(path)), "the invitation stays although everybody is there")
        tcp, other = listening(hosts, "se0")
        check(len(tcp) == 1 and len(other) == 1, f"rank 0's host: {tcp} {other}")
        check(wait_until(lambda: listening(hosts, "se1") == ([], [])), f"the other host: {listening(hosts, 'se1')}")
        check(not holders(keys), f"a key is shown by {holders(keys)}")
        for name in hosts.names:
            wrong = inside(hosts, name, "find /dev/shm/podprof-0 -perm /077")
            check(not wrong, f"others may use {wrong}")
            seen = inside(hosts, name, "cat /dev/shm/podprof-0/*/keeper.log /dev/shm/podprof-0/*/options")
            check(seen, f"the keeper of {name} is gone")
            check(not any(k.decode() in seen for k in keys), "a key is in the log")
        for process in began:
            jobs.stop(process)
        for one in [finish(p) for p in began]:
            kit.unharmed(one)
            check(not any(k.decode() in one.err for k in keys), "a key was said")
        check(wait_until(lambda: not glob.glob(logs + "/.podprof*")), f"left: {os.listdir(logs)}")
        check(len(sessions(logs)) == 1, jobs.tree(logs))
        no_key_in(logs, keys)
        for name in hosts.names:
            check(wait_until(lambda n=name: listening(hosts, n) == ([], [])), f"{name} still listens")


def keepers_of(hosts, name):
    """Keepers of that host and their children, writers of windows, as (pid, is a child)."""
    there, found, parents = os.readlink(f"/proc/{hosts.pids[name]}/ns/net"), [], {}
    for path in glob.glob("/proc/[0-9]*"):
        try:
            if os.readlink(path + "/ns/net") != there or b"keeper" not in open(path + "/cmdline", "rb").read().split(b"\0"):
                continue
            pid = int(path.split("/")[2])
            parents[pid] = int(open(path + "/stat").read().rpartition(")")[2].split()[1])
            found.append(pid)
        except (OSError, IndexError):
            continue
    return [(pid, parents[pid] in found) for pid in found]


LOCAL = {"tcp": "01004F0A 02004F0A", "tcp6": "", "udp": "01004F0A 02004F0A", "udp6": "", "raw": "", "raw6": ""}  # 10.79.0.1, 10.79.0.2


def addresses(place, full):
    """Hosts of other clocks, several windows, a capture: what the keepers hold is of the address that the others are told, for TCP and for UDP,
    and their forked writers hold nothing of a network."""
    kit.need_root()
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).code:
        raise Skipped("no time namespaces here")
    stage, logs = kit.Stage(place), place.new_logs()
    program = place.program("steps")
    with Hosts(place, 2, prefix="sa", ahead=(0, 7200)) as hosts:
        inside(hosts, "sa0", "ip addr add 10.80.0.1/24 dev eth0; ip -6 addr add fd79::1/64 dev eth0 nodad")  # nobody comes by these
        began = []
        for rank, name in enumerate(hosts.names):
            env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": JOB, "PODPROF_TICK": "raw"}
            command = [stage.podprof, "run", "-o", logs, "--steps", "20:60", "--every", "80", "--", program, str(kit.LONG), "10"]
            began.append(start_until(place, hosts.on(name, command), env))
        udp, writers, end = {}, 0, time.monotonic() + 40
        while any(p.poll() is None for p in began):
            if writers > 2 and len(sessions(logs)) > 2 or time.monotonic() > end:
                for process in began:
                    jobs.stop(process)
            for name in hosts.names:
                for pid, is_child in keepers_of(hosts, name):
                    held = own_sockets(pid)
                    writers += is_child
                    # Between its fork and its first deeds it has what the keeper has. The keeper itself is a child until its parent ends.
                    free = not is_child or wait_until(lambda one=pid, on=name: not own_sockets(one) or (one, True) not in keepers_of(hosts, on))
                    check(free, f"a writer of {name} holds {own_sockets(pid)}")
                    for line in held if not is_child else ():
                        table, local = line[0], line[1].split()[1].split(":")[0]
                        listens = table[:3] != "tcp" or line[1].split()[3] == "0A"
                        udp[name] = udp.get(name, set()) | ({local} if table[:3] == "udp" else set())
                        check(not listens or local.strip("0"), f"{name} listens on all addresses: {line}")
                        check(not listens or table[:3] == "tcp" or local in LOCAL[table], f"{name}: {line}")
        for one in [finish(p) for p in began]:
            kit.unharmed(one)
        check(writers > 2, "no writer was seen")
        check(udp == {"sa0": {"01004F0A"}, "sa1": {"02004F0A"}}, f"clocks were compared by {udp}")
        check(len(sessions(logs)) > 2, jobs.tree(logs))


NAME_HOST = "import ctypes, sys; name = bytes.fromhex(sys.argv[1]); sys.exit(ctypes.CDLL(None).sethostname(name, len(name)) != 0)"


def hostile_hosts(place, full):
    """Names of hosts that no message, path or terminal should take as they are: the session has both all the same."""
    kit.need_root()
    stage = kit.Stage(place)
    with Hosts(place, 2, prefix="se") as hosts:
        for name in (b"\x1b[2J\n\xff", b"../../../tmp/podprof-escaped", b"x" * 64) if full else (b"\x1b[2J/..\n\xff",):
            logs = place.new_logs()
            for one in hosts.names:
                check(run(hosts.on(one, [kit.PYTHON, "-c", NAME_HOST, name.hex()])).code == 0, "the kernel takes no such name")
            began = [finish(p) for p in ranks(stage, hosts, logs)]
            for got in began:
                kit.unharmed(got, 150)
                kit.plain(got.err, "stderr")
            check("captured on 2 of 2 ranks" in began[0].err, began[0].transcript())
            check(wait_until(lambda: not glob.glob(logs + "/.podprof*")), f"left: {os.listdir(logs)}")
            check(set(os.listdir(logs)) == {"podprof", "plugins"} and not glob.glob("/tmp/podprof-escaped*"), jobs.tree(logs))
            check(len(sessions(logs)) == 1 and sum(f.endswith(".xplane.pb") for f in jobs.tree(logs)) >= 1, jobs.tree(logs))
            kit.plain(open(sessions(logs)[0] + "/summary.txt", "rb").read(), "summary.txt")
            kit.plain(run([stage.podprof, "report", logs]).out, "podprof report")


ATTACKER = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('', 4711))
s.listen()
s.settimeout(float(sys.argv[1]))
try:
    s.accept()
    print('somebody came')
except OSError:
    print('nobody came')
"""


def forged(port=4711):
    key = "abcdefghij" * 4
    return (f"podprof rendezvous 1\njob={JOB}-0\nport={port}\nserver={key}\nclient={key}\nsecret={key}\naddress=10.79.0.1\n"
            f"address=10.79.0.2\nend\n")


def planted(place, full):
    """Before the job comes: another user's file, one that others may write, a link and a pipe. Nobody calls the address in it."""
    kit.need_root()
    stage = kit.Stage(place)
    with Hosts(place, 2, prefix="se") as hosts:
        for kind in ("owner", "mode", "link", "pipe") if full else ("owner", "link"):
            logs = place.new_logs()
            os.mkdir(logs)
            os.chmod(logs, 0o777)
            path = f"{logs}/.podprof-{JOB}-0.rendezvous"
            elsewhere = os.path.join(stage.dir, "forged")
            with open(elsewhere if kind == "link" else path, "w") as f:
                f.write(forged())
            if kind == "link":
                os.chmod(elsewhere, 0o600)
                os.symlink(elsewhere, path)
            elif kind == "pipe":
                os.unlink(path)
                os.mkfifo(path, 0o600)
            os.chmod(path, 0o600) if kind == "owner" else None
            os.lchown(path, STRANGER, STRANGER) if kind in ("owner", "link") else None
            attackers = [start(hosts.on(name, [kit.PYTHON, "-c", ATTACKER, "2.5"])) for name in hosts.names]
            for one in [finish(p) for p in ranks(stage, hosts, logs, count=100)]:
                kit.unharmed(one, 100)
            for one in attackers:
                got = finish(one)
                check(got.out == "nobody came\n", f"{kind}: {got.transcript()}")
            check(kind != "link" or open(elsewhere).read() == forged(), "what the link leads to was written")
            check(sessions(logs), jobs.tree(logs))


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (secrets, addresses, hostile_hosts, planted)}, __doc__))

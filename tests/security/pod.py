#!/usr/bin/python3
"""A job of two pretend hosts: where its keys lie, what listens, what no key is in; an invitation that somebody else planted. Run by ctest
security_pod. Needs root."""
import glob
import os
import re
import stat
import sys

import kit
from kit import STRANGER, check, wait_until
import jobs
from hosts import Hosts
from jobs import finish, run, sessions, start

JOB = "planted"


def ranks(stage, hosts, logs, *options, count=150, ms=10, prefix=(), which=(0, 1)):
    """One rank on each host, without MPI; rank 0's process first."""
    began = []
    for rank, name in enumerate(hosts.names):
        if rank not in which:
            continue
        env = {"RANK": rank, "WORLD_SIZE": len(hosts.names), "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": JOB}
        began.append(start(hosts.on(name, [*prefix, *stage.job(logs, count, ms, *options)]), env))
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
        began = ranks(stage, hosts, logs, prefix=shell, which=[0], count=500)  # the other one is waited for
        path = wait_until(lambda: os.path.isdir(logs) and rendezvous(logs), 10)
        check(path, "nobody invites")
        st = os.lstat(path)
        check(stat.S_ISREG(st.st_mode) and stat.S_IMODE(st.st_mode) == 0o600 and st.st_nlink == 1, stat.filemode(st.st_mode))
        keys = keys_of(open(path).read())
        wrong = inside(hosts, "se0", "find /dev/shm/podprof-0 -perm /077")
        check(not wrong, f"others may use {wrong}")
        began += ranks(stage, hosts, logs, prefix=shell, which=[1], count=400)
        check(wait_until(lambda: "joined" in inside(hosts, "se0", "cat /dev/shm/podprof-0/*/keeper.log"), 10),
              inside(hosts, "se0", "cat /dev/shm/podprof-0/*/keeper.log"))
        check(wait_until(lambda: not os.path.exists(path), 5), "the invitation stays although everybody is there")
        tcp, other = listening(hosts, "se0")
        check(len(tcp) == 1 and len(other) == 1, f"rank 0's host: {tcp} {other}")
        check(wait_until(lambda: listening(hosts, "se1") == ([], []), 5), f"the other host: {listening(hosts, 'se1')}")
        check(not holders(keys), f"a key is shown by {holders(keys)}")
        for name in hosts.names:
            wrong = inside(hosts, name, "find /dev/shm/podprof-0 -perm /077")
            check(not wrong, f"others may use {wrong}")
            seen = inside(hosts, name, "cat /dev/shm/podprof-0/*/keeper.log /dev/shm/podprof-0/*/options")
            check(seen, f"the keeper of {name} is gone")
            check(not any(k.decode() in seen for k in keys), "a key is in the log")
        for one, count in zip([finish(p) for p in began], (500, 400)):
            kit.unharmed(one, count)
            check(not any(k.decode() in one.err for k in keys), "a key was said")
        check(wait_until(lambda: not glob.glob(logs + "/.podprof*"), 10), f"left: {os.listdir(logs)}")
        check(len(sessions(logs)) == 1, jobs.tree(logs))
        no_key_in(logs, keys)
        for name in hosts.names:
            check(wait_until(lambda n=name: listening(hosts, n) == ([], []), 10), f"{name} still listens")


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
            check("captured on 2 of 2 ranks" in began[0].err, began[0].told())
            check(wait_until(lambda: not glob.glob(logs + "/.podprof*"), 10), f"left: {os.listdir(logs)}")
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
                check(got.out == "nobody came\n", f"{kind}: {got.told()}")
            check(kind != "link" or open(elsewhere).read() == forged(), "what the link leads to was written")
            check(sessions(logs), jobs.tree(logs))


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (secrets, hostile_hosts, planted)}, __doc__))

#!/usr/bin/python3
"""Another user beside a job: nothing of it is read, asked or led astray, under any umask. Run by ctest security_others; needs root."""
import glob
import os
import stat
import subprocess
import sys

import kit
from kit import OWNER, STRANGER, as_user, check, expected, rest, still_there, unharmed
import jobs
from jobs import finish, run, sessions, start, wait_until

TRY = """
import os, socket, sys
spool, done = sys.argv[1], []
def can(what, call, *args):
    try:
        call(*args)
        done.append(what)
    except OSError:
        pass
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(spool + '/socket')
can('list', os.listdir, spool)
can('connect', connect)
for name in sys.argv[2:]:
    can('read ' + name, open, spool + '/' + name, 'rb')
    can('write ' + name, open, spool + '/' + name, 'r+b')
    can('remove ' + name, os.unlink, spool + '/' + name)
can('make', open, spool + '/rank-0-1.ring', 'w')
can('rename', os.rename, spool, spool + 'x')
print(' '.join(done))
"""


def stranger_tries(place, full):
    """Socket, rings, options and the rest of the spool; status and capture; under several umasks of the job."""
    kit.need_root()
    stage = kit.Stage(place)
    for umask in (0o000, 0o022, 0o777) if full else (0o000, 0o777):
        logs = stage.home(OWNER)
        process, spool = stage.begin(OWNER, logs, 10, umask=umask)
        check(not kit.loose(spool, OWNER), f"umask {umask:03o}: {kit.loose(spool, OWNER)}")
        names = os.listdir(spool)
        check({"socket", "control", "options", "keeper.log"} <= set(names), names)
        got = run(as_user(STRANGER, [kit.PYTHON, "-c", TRY, spool, *names]))
        check(got.code == 0 and got.out == "\n", f"umask {umask:03o}: another user can: {got.transcript()}")
        os.chmod(logs, 0o755)
        for verb in ("status", "capture"):
            got = run(as_user(STRANGER, [stage.podprof, verb, logs]))
            check(got.code == 1 and len(got.podprof_lines()) == 1, got.transcript())
        rest(process)
        check(wait_until(lambda: not os.path.exists(spool)), "the spool stays")
        check(len(sessions(logs)) == 1, jobs.tree(logs))
    stage.clean(OWNER)


def peer_decides(place, full):
    """Root comes through every mode; the keeper of another user still refuses it, and serves its own user."""
    kit.need_root()
    stage, logs = kit.Stage(place), None
    logs = stage.home(OWNER)
    process, spool = stage.begin(OWNER, logs, 10)
    got = run([kit.PYTHON, "-c", "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
               "s.settimeout(5); s.send(b'capture 2\\n'); print(repr(s.recv(4000)))", spool + "/socket"])
    check(got.out == "b''\n" or "reset" in got.err.lower() or "broken pipe" in got.err.lower(), got.transcript())
    check("a request of another user (uid 0) was refused" in open(spool + "/keeper.log").read(), "the keeper's log does not say so")
    got = run(as_user(OWNER, [stage.podprof, "capture", logs, "--steps", "+3"]))
    check(got.code == 0 and "captured on 1 of 1 rank" in got.out, got.transcript())
    rest(process)
    stage.clean(OWNER)


def squatted_spool(place, full):
    """Somebody was first with the spool's name: as a directory, a link, a file. One sentence, and the job runs."""
    kit.need_root()
    stage, root = kit.Stage(place), f"/dev/shm/podprof-{OWNER}"
    private = stage.home(OWNER)
    for kind in ("directory", "link", "file"):
        logs = stage.home(OWNER)
        stage.clean(OWNER)
        if kind == "directory":
            os.mkdir(root)
            os.chmod(root, 0o777)
        elif kind == "link":
            os.symlink(private, root)
        else:
            open(root, "w").close()
        os.lchown(root, STRANGER, STRANGER)
        try:
            got = run(as_user(OWNER, stage.job(logs, 20, 1)))
            unharmed(got, 20)
            check(len(got.podprof_lines()) == 1 and "cannot use the spool" in got.err, got.transcript())
            check(not os.listdir(private), f"{kind}: files went there: {os.listdir(private)}")
            check(kind != "directory" or not os.listdir(root), "files went into a directory of somebody else")
            got = run(as_user(OWNER, [stage.podprof, "status", logs]))
            check(got.code == 1 and "no rank runs" in got.err, got.transcript())
        finally:
            (os.rmdir if kind == "directory" else os.unlink)(root)
    # A spool of a stranger in our name tells us nothing, whatever it holds.
    os.mkdir(root)
    os.mkdir(root + "/job")
    with open(root + "/job/options", "w") as f:
        f.write(f"OUTPUT={logs}\n")
    for path in (root, root + "/job", root + "/job/options"):
        os.lchown(path, STRANGER, STRANGER)
    for verb in ("status", "capture", "report"):
        got = run(as_user(OWNER, [stage.podprof, verb, logs]))
        check(got.code == 1 and "/job" not in got.err + got.out, got.transcript())
    subprocess.run(["rm", "-rf", root], check=True)


def trap(path, to):
    os.symlink(to, path)
    os.lchown(path, STRANGER, STRANGER)


def planted_links(place, full):
    """A log directory of everybody's (without the sticky bit, which would make the kernel help), links in it lead to the owner's files."""
    kit.need_root()
    stage = kit.Stage(place)
    home = stage.home(OWNER)
    rc = os.path.join(home, "bashrc")
    host = os.uname().nodename

    def public(name):
        logs = os.path.join(stage.dir, name)
        os.mkdir(logs)
        os.chmod(logs, 0o777)
        with open(rc, "w") as f:
            f.write("alias ll='ls -l'\n")
        os.chown(rc, OWNER, OWNER)
        return logs

    def check_home():
        still_there(rc, "alias ll='ls -l'\n")
        check(os.listdir(home) == ["bashrc"], f"files in the owner's home: {os.listdir(home)}")

    # The probe of podprof run: a name that could be guessed (the pid, which exec keeps) would be a trap.
    logs = public("probe")
    os.mkdir(os.path.join(stage.dir, "go"))
    os.chmod(os.path.join(stage.dir, "go"), 0o777)
    process = start(as_user(OWNER, ["sh", "-c", f"echo $$ > {stage.dir}/go/pid; while [ ! -e {stage.dir}/go/now ]; do sleep 0.01; done; exec \"$@\"",
                                    "sh", *stage.job(logs, 20, 1)]))
    pid = wait_until(lambda: os.path.exists(stage.dir + "/go/pid") and open(stage.dir + "/go/pid").read().strip())
    trap(f"{logs}/.podprof-{pid}.part", rc)
    open(stage.dir + "/go/now", "w").close()
    unharmed(finish(process), 20)
    check_home()
    check(len(sessions(logs)) == 1, jobs.tree(logs))

    # Directories that are links: refused, with a sentence; nothing is written there.
    for name in ("podprof", "plugins"):
        logs = public("dir-" + name)
        trap(os.path.join(logs, name), home)
        got = run(as_user(OWNER, stage.job(logs, 20, 1)))
        unharmed(got, 20)
        check(f"it is a link of user {STRANGER}" in got.err, got.transcript())
        check_home()

    # Files of a session whose name is known: parts and names of xspace, pod.h5, summary and page.
    logs = public("files")
    for where, names in (("podprof/S", ("pod.h5", "summary.txt", "report.html")), ("plugins/profile/S", (f"{host}.xplane.pb",)),
                         ("plugins/profile/S-2", (f"{host}.xplane.pb",))):
        os.makedirs(os.path.join(logs, where))
        for directory in (where, os.path.dirname(where)):
            os.chmod(os.path.join(logs, directory), 0o777)
            os.chown(os.path.join(logs, directory), STRANGER, STRANGER)
        for name in names:
            trap(os.path.join(logs, where, name), rc)
            trap(os.path.join(logs, where, name + ".part"), rc)
    os.chmod(os.path.join(logs, "plugins"), 0o777)
    got = run(as_user(OWNER, stage.job(logs, 20, 1, "--session", "S")))
    unharmed(got, 20)
    check_home()
    check("/S-2 " in got.err, got.transcript())
    xspace = os.path.join(logs, f"plugins/profile/S-2/{host}.xplane.pb")
    check(stat.S_ISREG(os.lstat(xspace).st_mode) and os.lstat(xspace).st_uid == OWNER, "no file of ours")
    stage.clean(OWNER)


def requests_of(logs):
    found = glob.glob(logs + "/.podprof-requests/*/keeper")
    return os.path.dirname(found[0]) if found else None


LINE = b"podprof 1 capture steps=2\n"


def plant(path, line=LINE, mode=0o600, uid=OWNER):
    with open(path, "wb") as f:
        f.write(line)
    os.chmod(path, mode)
    os.chown(path, uid, uid)


def request_files(place, full):
    """The directory of requests is its owner's alone under any umask; what somebody else could have put there is not taken."""
    kit.need_root()
    stage = kit.Stage(place)
    for umask in (0o000, 0o777):
        logs = stage.home(OWNER, 0o777)
        process, spool = stage.begin(OWNER, logs, 10, umask=umask)
        place_of = wait_until(lambda: requests_of(logs))
        check(place_of, f"no directory of requests: {os.listdir(logs)}")
        check(not kit.loose(place_of, OWNER), f"umask {umask:03o}: {kit.loose(place_of, OWNER)}")
        got = run(as_user(STRANGER, [kit.PYTHON, "-c", TRY, place_of, *os.listdir(place_of)]))
        check(got.code == 0 and got.out in ("\n", "rename\n"), f"another user can: {got.transcript()}")
        got = run(as_user(STRANGER, [stage.podprof, "capture", logs]))
        check(got.code == 1 and "not trusted" in got.err, got.transcript())
        if umask:
            process.terminate()
            finish(process)
            continue
        outside = os.path.join(stage.dir, "outside")
        plant(outside)
        names = [os.path.join(place_of, f"{i:016x}.request") for i in range(9)]
        os.symlink(outside, names[0])
        os.link(outside, names[1])
        plant(names[2], mode=0o644)
        plant(names[3], uid=STRANGER)
        plant(names[4], LINE * 40000)
        plant(names[5])
        os.utime(names[5], (1, 1))
        plant(names[6], LINE[:-1])
        os.mkfifo(names[7], 0o600)
        plant(names[8])
        check(wait_until(lambda: os.path.exists(names[8][:-8] + ".answer")), f"not answered: {os.listdir(place_of)}")
        check("done\n" in open(names[8][:-8] + ".answer").read(), open(names[8][:-8] + ".answer").read())
        taken = [n for n in os.listdir(place_of) if n.endswith((".answer", ".part"))]
        check(len(taken) == 1, f"taken: {taken}")
        log = open(spool + "/keeper.log").read()
        check(log.count(" is refused: ") == 8, log[-2000:])
        rest(process)
        check(wait_until(lambda: not os.path.exists(logs + "/.podprof-requests")), "the directory of requests stays")
    stage.clean(OWNER)


def squatted_requests(place, full):
    """Somebody was first with the name of that directory."""
    kit.need_root()
    stage = kit.Stage(place)
    private = stage.home(OWNER)
    for kind in ("directory", "link"):
        logs = stage.home(OWNER, 0o777)
        root = logs + "/.podprof-requests"
        if kind == "directory":
            os.mkdir(root)
            os.chmod(root, 0o777)
        else:
            os.symlink(private, root)
        os.lchown(root, STRANGER, STRANGER)
        process, spool = stage.begin(OWNER, logs, 10)
        check(wait_until(lambda: "can be requested on this node only" in open(spool + "/keeper.log").read()), "the log does not say so")
        got = run(as_user(OWNER, [stage.podprof, "capture", logs, "--steps", "+2"]))
        check(got.code == 0 and "captured on 1 of 1 rank" in got.out, got.transcript())
        rest(process)
        check(not os.listdir(private), os.listdir(private))
        check(kind == "link" or not os.listdir(root), "requests in a directory of somebody else")
    stage.clean(OWNER)


def secrets(place, full):
    """What a job shows to everybody (command lines) and leaves behind has no key in it; on one host there is none."""
    kit.need_root()
    stage = kit.Stage(place)
    logs = stage.home(OWNER)
    process, spool = stage.begin(OWNER, logs, 10)
    lines = [open(f"/proc/{jobs.keeper_of(spool)}/cmdline", "rb").read()]
    check([w for w in lines[0].split(b"\0")[1:] if w != b"--stderr"] == [b"keeper", b"--spool", spool.encode(), b""], lines)
    check(not os.path.exists(spool + "/invite"), "an invitation although the job is on one host")
    rest(process)
    check(wait_until(lambda: not os.path.exists(spool)), "the spool stays")
    check(not glob.glob(logs + "/.podprof*"), os.listdir(logs))
    check(expected(1), "")
    stage.clean(OWNER)


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (stranger_tries, peer_decides, squatted_spool, planted_links, request_files, squatted_requests, secrets)}, __doc__))

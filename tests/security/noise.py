#!/usr/bin/python3
"""Bytes that nobody of podprof wrote: on the keeper's socket, in its rings and page, in the spool's small files. Same user, live jobs.
Run by ctest security_noise."""
import glob
import os
import random
import socket
import struct
import sys
import time

import kit
from kit import check, rest, wait_until
import jobs
from jobs import finish, run, sessions, start

MOST_RSS = 400 << 20


def talk(path, data, listen=0.0):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(0.2)
    answer = b""
    try:
        s.connect(path)
        s.sendall(data)
        if listen:
            s.settimeout(listen)
            while True:
                got = s.recv(4096)
                if not got:
                    break
                answer += got
    except OSError:
        pass
    s.close()
    return answer


def captures(stage, logs):
    """A capture after the noise is as good as before it."""
    ask = [stage.podprof, "capture", logs, "--steps", "+3"]
    got = []
    wait_until(lambda: got.append(run(ask)) or not got[-1].code, step=0.2)
    check("captured on 1 of 1 rank" in got[-1].out, f"no capture after it: {got[-1].transcript()}")


def on_the_socket(place, full):
    stage, logs = kit.Stage(place), place.new_logs()
    process, spool = stage.begin(os.getuid(), logs, 10)
    path, dice, keeper = spool + "/socket", random.Random(5), [jobs.keeper_of(spool)]
    line = b"podprof 1 capture steps=5 ranks=0\n"
    for i in range(len(line)):
        talk(path, line[:i])
    head = b"podprof 1 capture "
    for noise in (b"\0" * 200, line[:-1] + b"\0\n", head + b"steps=\xff\n", b"\n" * 500, head * 100 + b"\n", head + b"steps=" + b"9" * 400 + b"\n",
                  line.upper(), head + b"steps=-5\n", head + b"steps=0x5\n", head + b"steps=5;rm\n", head + b"steps=1 last=1 duration=1\n",
                  head + b"last=9223372036854775807\n", head + b"ranks=0-4294967296 steps=1\n", head + b"ranks=" + b"0," * 200 + b"1 steps=1\n",
                  b"podprof 99 capture steps=5\n", b"podprof 1 status status\n", b"\x1b[2J\n", b"x" * (1 << 20)):
        answer = talk(path, noise, 0.3)
        kit.plain(answer, "the keeper's answer")
    for _ in range(200):
        talk(path, bytes(dice.randrange(256) for _ in range(dice.randrange(300))))
    # Eight that say a byte now and then, and as many as come: they lose their places, nobody waits for them longer than seconds.
    slow = []
    for _ in range(24):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try:
            s.connect(path)
        except OSError:
            pass
        slow.append(s)
    began = time.monotonic()
    while time.monotonic() - began < 3:
        for s in slow:
            try:
                s.send(b"c")
            except OSError:
                pass
        time.sleep(0.2)
    captures(stage, logs)
    for s in slow:
        s.close()
    check(jobs.keepers(spool) == keeper, "it is another keeper")
    check(kit.rss(keeper[0]) < MOST_RSS, f"the keeper holds {kit.rss(keeper[0]) >> 20} MiB")
    process.terminate()
    finish(process)


def over(spool, limit=120):
    """The keeper came to its own end: it tidied up, or left its last word; it did not crash."""
    check(wait_until(lambda: not jobs.keepers(spool), limit), f"the keeper does not end: {log(spool)}")
    if not os.path.exists(spool):
        return "tidy"
    text = log(spool)
    check("AddressSanitizer" not in text and "runtime error" not in text, text[-4000:])
    check("done: " in text or "failed: " in text, f"the keeper died: {text[-1500:]}")
    return "said"


def log(spool):
    try:
        return open(spool + "/keeper.log", errors="replace").read()
    except OSError:
        return ""


def in_the_rings(place, full):
    """A rank that is stopped while another process changes its ring; then it is killed, and the keeper makes of it what it can."""
    stage = kit.Stage(place)
    for seed in range(24 if full else 3):
        logs = place.new_logs()
        options = [(), ("--steps", "20:30,40:50"), ("--steps", "5:8", "--every", "20")][seed % 3]
        process, spool = stage.begin(os.getuid(), logs, 1, *options)
        time.sleep(0.1)
        rings, keeper = glob.glob(spool + "/rank-*.ring"), [jobs.keeper_of(spool)]
        jobs.freeze(process.pid)
        asked = start([stage.podprof, "capture", logs, "--steps", "+3"]) if seed % 2 else None
        got = run([stage.bin + "/scribble", "1", seed + 1, "ring", *rings])
        check(got.code == 0, got.transcript())
        if seed % 3 == 0:
            seen = run([stage.podprof, "status", logs], limit=4)  # of the same headers; a keeper that is misled may be busy
            check(seen.timed_out or seen.code in (0, 1), seen.transcript())
            kit.plain(seen.out, "podprof status")
        if jobs.keepers(spool):
            check(kit.rss(keeper[0]) < MOST_RSS, f"the keeper holds {kit.rss(keeper[0]) >> 20} MiB")
        process.kill()
        finish(process)
        over(spool)
        if asked:
            asked.terminate()
            finish(asked)
        jobs.shutil.rmtree(spool, ignore_errors=True)
        run([stage.podprof, "report", logs])


def in_a_count(place, full):
    """One window begun, and a count of windows that nobody can ask for: what the keeper walks is its rows, not the count."""
    stage, logs = kit.Stage(place), place.new_logs()
    process, spool = stage.begin(os.getuid(), logs, 1, "--steps", "5:8", "--every", "20")
    check(wait_until(lambda: sessions(logs)), log(spool))
    jobs.freeze(process.pid)
    got = run([stage.bin + "/scribble", "0", 1 << 60, "code", *glob.glob(spool + "/rank-*.ring")])
    check(got.code == 0, got.transcript())
    process.kill()
    finish(process)
    over(spool)


def on_the_page(place, full):
    """The control page says nonsense while ranks read it: they compute on."""
    stage, logs = kit.Stage(place), place.new_logs()
    process, spool = stage.begin(os.getuid(), logs, 1)
    got = run([stage.bin + "/scribble", "1", "7", "control", spool + "/control"])
    check(got.code == 0, got.transcript())
    time.sleep(1)  # its steps go on
    seen = jobs.over(process)
    kit.unharmed(seen)
    kit.plain(seen.err, "stderr of the job")
    check(wait_until(lambda: not jobs.keepers(spool), 20), "the keeper does not end")
    jobs.shutil.rmtree(spool, ignore_errors=True)


GARBAGE = (b"", b"\0" * 4096, b"=\n==\n\n\n", b"OUTPUT\nJOB\nSTEPS=\n", b"STEPS=99999999999999999999:1\nEVERY=-1\nWAIT=x\n",
           b"JOB=" + b"\x1b[2Jx" * 900 + b"\nCOMMAND=" + b"\xff\xfe" * 3000 + b"\n", b"SESSION=../../../../tmp/podprof-escaped\n",
           b"WINDOW_BUFFER=99999999T\nXSPACE=planet\n", b"x" * 200000)


def in_the_options(place, full):
    """<spool>/options and run- files with garbage: the keeper ends with a sentence or a session, all inside the log directory."""
    stage, dice = kit.Stage(place), random.Random(11)
    library = os.path.join(stage.dir, "lib", "libpodprof.so")
    texts = list(GARBAGE) + [bytes(dice.randrange(256) for _ in range(dice.randrange(3000))) for _ in range(40 if full else 3)]
    ready = []
    for i, text in enumerate(texts):
        spool, logs = os.path.join(stage.dir, f"spool{i}"), place.new_logs()
        os.mkdir(spool, 0o700)
        os.mkdir(logs)
        got = run(["env", f"PODPROF_SPOOL={spool}", "PODPROF_WAIT=0", f"LD_PRELOAD={library}", stage.steps, "5", "1"])
        kit.unharmed(got, 5)
        with open(spool + "/options", "wb") as f:
            f.write(f"OUTPUT={logs}\n".encode() + text)
        with open(spool + "/run-1", "wb") as f:
            f.write(text[:100])
        with open(spool + "/run-999999999999999999999", "wb") as f:
            f.write(b"0 1 5")
        ready.append((spool, logs, start([stage.podprof, "keeper", "--spool", spool])))
    for (spool, logs, keeper), text in zip(ready, texts):
        got = finish(keeper, 40)
        check(got.code == 0 and not got.timed_out, f"{text[:60]!r}: {got.transcript()}")
        check(not os.path.exists("/tmp/podprof-escaped"), "a session outside the log directory")
        check(sessions(logs) or os.path.exists(spool + "/control"), f"{text[:60]!r}: neither a session nor a word")


def in_names_of_files(place, full):
    """Files in the spool whose names look like rings, runs and requests: directories, links, pipes."""
    stage, logs = kit.Stage(place), place.new_logs()
    process, spool = stage.begin(os.getuid(), logs, 5)
    os.mkdir(spool + "/rank-9-9.ring")
    os.symlink("/etc/passwd", spool + "/rank-8-8.ring")
    os.mkfifo(spool + "/rank-7-7.ring")
    os.symlink("/dev/zero", spool + "/run-77")
    open(spool + "/rank-" + "6" * 200 + ".ring", "w").close()
    with open(spool + "/rank-5-5.ring", "wb") as f:
        f.write(b"PODPRING" + struct.pack("<IIII", 0xffffffff, 0x01020304, 64, 1) + bytes(300000))
    captures(stage, logs)
    got = run([stage.podprof, "status", logs], limit=30)
    check(got.code == 0 and not got.timed_out, got.transcript())
    rest(process)
    check(wait_until(lambda: len(sessions(logs)) == 2), jobs.tree(logs))
    wait_until(lambda: not jobs.keepers(spool))
    jobs.shutil.rmtree(spool, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (on_the_socket, in_the_rings, in_a_count, on_the_page, in_the_options, in_names_of_files)}, __doc__))

#!/usr/bin/python3
"""podprof salvage of spools that are mixed or torn: rings of several runs, of another boot or version, damaged and fake files. Run by ctest
session_salvage."""
import glob
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from e2e import h5, text
import jobs
from jobs import check, finish, keepers, run, start, wait_until
from scarce import Cgroup

HEADER, CHUNK = 256 * 1024, 65536
MEMORY = 1 << 30  # of address space: a salvage of these small spools needs much less, and must not believe damaged numbers
LIMIT = 30.0


def left_by(place, name, ranks=2, steps=40, options=(), program=None, seconds=0.3):
    """The spool of a job of some ranks whose keeper was killed before it read anything; `seconds` later, as rings do not grow after that."""
    spool = os.path.join(place.scratch, name)
    command = place.under(place.new_logs(), program or [place.program("lone"), "busy"], "--spool", spool, "--wait", "0", *options)
    job = start(place.mpirun(ranks, command), {"GUEST_STEPS": steps})
    pid = jobs.keeper_of(spool)
    os.kill(pid, signal.SIGSTOP)
    check(wait_until(lambda: len(glob.glob(spool + "/*.ring")) == ranks, 20), "the job did not start")
    time.sleep(seconds)
    jobs.unguard(spool)
    os.kill(pid, signal.SIGKILL)
    finish(job)
    check(wait_until(lambda: not keepers(spool) and is_over(pid)), "the keeper lives")
    return spool


def is_over(pid):
    """Has it closed its files, too? A process that ends loses its command line first, and holds its locks a bit longer."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def one_spool(place):
    """The same for each case of this run: a copy."""
    if not hasattr(place, "spool"):
        place.spool = left_by(place, "first")
    copy = tempfile.mkdtemp(prefix="copy-", dir=place.scratch)
    for path in glob.glob(place.spool + "/*"):
        if os.path.isfile(path) and not path.endswith("/salvaged"):
            subprocess.run(["cp", "-p", "--sparse=always", path, copy], check=True)  # a ring is 64 MiB, most of it holes
    return copy


def salvage(place, *spools, memory=MEMORY):
    """In little memory; what it printed and its session, if there is one."""
    out = place.new_logs()
    limit = "" if "ASAN_OPTIONS" in os.environ else f"ulimit -v {memory >> 10};"
    got = run(["sh", "-c", f"{limit} exec \"$@\"", "sh", place.podprof(), "salvage", *spools, "-o", out, "--json"], limit=LIMIT)
    check(not got.timed_out and got.code in (0, 1, 2), got.transcript())
    check("Sanitizer" not in got.err and "runtime error" not in got.err, got.transcript())
    sessions = glob.glob(out + "/podprof/*/pod.h5")
    check(bool(sessions) == (got.code != 1), got.transcript())
    check(not sessions and not got.out or json.loads(got.out)["path"] == os.path.dirname(sessions[0]), got.transcript())
    check(all(line.startswith("podprof: ") and len(line) > 20 for line in got.err.splitlines()) and got.err, got.transcript())
    return got, os.path.dirname(sessions[0]) if sessions else None


def rings(spool):
    return sorted(glob.glob(spool + "/*.ring"))


def statuses(session):
    with h5(session) as f:
        return [text(s).partition(":")[0] for s in f["worker/status"][()]]


def warnings(session):
    with h5(session) as f:
        return [text(w) for w in f["quality/warning"][()]]


def patch(path, old, new):
    """In the first page of a ring."""
    with open(path, "r+b") as f:
        head = f.read(4096)
        check(old in head, f"{old} is not in {path}")
        f.seek(0)
        f.write(head.replace(old, new.ljust(len(old), b"\0")))


def earlier_run(place, full):
    """A requeued job found the rings of its earlier run: that of most ranks is salvaged, of equal ones the newest; the others are named."""
    first, second, small = left_by(place, "run1"), left_by(place, "run2"), left_by(place, "run3", ranks=1)
    old, new = rings(first), rings(second)
    for path in old:
        shutil.copy2(path, second)
    got, session = salvage(place, second)
    check(got.code == 2 and got.err.count("left out '") == 2 and "is of an earlier run" in got.err, got.transcript())
    check(all(os.path.basename(path) in got.err for path in old) and not any(os.path.basename(path) in got.err for path in new), got.transcript())
    check(statuses(session) == ["salvaged"] * 2 and sum("is of an earlier run" in w for w in warnings(session)) == 2, warnings(session))
    with h5(session) as f:
        check(sorted(f["worker/pid"][()]) == sorted(int(path.rpartition("-")[2][:-5]) for path in new), f["worker/pid"][()])
    mixed = one_spool(place)
    shutil.copy2(rings(small)[0], mixed)
    got, session = salvage(place, mixed)
    check(got.code == 2 and "is of an earlier run" in got.err and os.path.basename(rings(small)[0]) in got.err, got.transcript())
    check(statuses(session) == ["salvaged"] * 2, statuses(session))


def never_reached(place, full):
    """Where there is nothing to write, salvage fails, for scripts too."""
    spool = left_by(place, "never", options=["--steps", "1000:1010"])
    got, session = salvage(place, spool)
    check(got.code == 1 and not session and "no session was written: no rank reached steps 1000:1010" in got.err, got.transcript())


def epilog(place, full):
    """Slurm's epilog removes what it has salvaged, but no spool of which rings were left out."""
    hook = [place.podprof(), "slurm", "epilog"]
    for mixed in (False, True):
        spool, job = left_by(place, f"epilog{mixed}"), str(os.getpid() * 10 + mixed)
        with open(spool + "/options", "a", encoding="utf-8") as f:
            f.write(f"SLURM_JOB={job}\n")
        if mixed:
            shutil.copy2(rings(left_by(place, "before", ranks=1))[0], spool)
        got = run(hook, {"SLURM_JOB_ID": job, "SLURM_JOB_UID": str(os.getuid())})
        check(got.code == 0 and "captured on 2 of 2 ranks" in got.err, got.transcript())
        check(os.path.exists(spool) == mixed and ("stays, for the rings that were left out" in got.err) == mixed, got.transcript())


def memory(place, full):
    """A budget that rank 0's ring fits into and rank 1's, which is larger, does not: the session has rank 0, and says so; with more memory the same spool
    gives both. Nothing fits into 1 MiB."""
    spool = one_spool(place)
    first, second = sorted(rings(spool), key=lambda path: "/rank-1-" in path)
    with open(second, "ab") as f:
        f.write(b"x" * (8 << 20))
    budget = (33 << 20) + 3 * 512 * os.stat(first).st_blocks
    got, session = salvage(place, spool, f"--memory={budget}")
    check(got.code == 2 and "captured on 1 of 2 ranks" in got.err and f"left out '{second}': with rank 1 the session may take" in got.err, got.transcript())
    check("salvage again with more --memory" in got.err and "Remove" not in got.err, got.transcript())
    check(statuses(session) == ["salvaged", "missing"] and any(w.startswith("left out: rank 1: --memory") for w in warnings(session)), warnings(session))
    got, session = salvage(place, spool, "--memory=1M")
    check(got.code == 1 and not session and "no rank fits into 1.00 MiB" in got.err, got.transcript())
    got, session = salvage(place, spool)
    check(got.code == 0 and statuses(session) == ["salvaged"] * 2 and "Remove" in got.err, got.transcript())


def little_memory(place, full):
    """Without --memory the budget is a part of what the cgroup of the salvage has left."""
    spool = one_spool(place)
    path = next(path for path in rings(spool) if "/rank-1-" in path)
    with open(path, "ab") as f:
        os.posix_fallocate(f.fileno(), os.path.getsize(path), 100 << 20)
    group = Cgroup(1024)
    try:
        got = run(group.inside([place.podprof(), "salvage", spool, "-o", place.new_logs()]))
        check(got.code == 2 and "captured on 1 of 2 ranks" in got.err and "with rank 1 the session may take" in got.err, got.transcript())
    finally:
        group.remove()


def two_jobs(place, full):
    """Rings of two jobs that ran at once cannot be separated, and are not mixed."""
    spools = [os.path.join(place.scratch, f"twin{i}") for i in range(2)]
    both = []
    for spool in spools:
        both.append(start(place.under(place.new_logs(), [place.program("steps"), "100", "20"], "--spool", spool, "--wait", "0"), {"RANK": 0}))
    for spool in spools:
        check(wait_until(lambda spool=spool: keepers(spool) and glob.glob(spool + "/*.ring"), 20), "no keeper was started")
        jobs.kill_keeper(spool)
    for job in both:
        check(finish(job).code == 0, "the job failed")
    shutil.copy2(rings(spools[0])[0], spools[1])
    got, session = salvage(place, spools[1])
    check(got.code == 1 and session is None and "were rank 0 at the same time" in got.err and "Move those of one of them" in got.err, got.transcript())


def other_boot(place, full):
    """A ring that the host wrote before it booted again, one of another podprof, one of another layout, and ticks of another processor."""
    with open("/proc/sys/kernel/random/boot_id", "rb") as f:
        boot = f.read().strip()
    version = run([place.podprof(), "--version"]).out.split()[1].encode() + b"\0"
    for what in ("boot", "podprof", "layout", "ticks"):
        spool = one_spool(place)
        ring = rings(spool)[0]
        if what == "boot":
            patch(ring, boot, boot[::-1])
        elif what == "podprof":
            patch(ring, version, b"0.0.1")
        else:
            with open(ring, "r+b") as f:
                f.seek(8 if what == "layout" else 20)
                f.write(struct.pack("=I", 77 if what == "layout" else 9))
        got, session = salvage(place, spool)
        if what in ("boot", "podprof"):  # of two runs of one rank each the newest is kept
            ring = [path for path in rings(spool) if os.path.basename(path) in got.err]
            check(len(ring) == 1, f"{what}: {got.transcript()}")
            ring = ring[0]
        check(got.code == 2 and os.path.basename(ring) in got.err and "left out" in got.err, f"{what}: {got.transcript()}")
        check(sorted(statuses(session)) == ["missing", "salvaged"], f"{what}: {statuses(session)}")
        check(any(os.path.basename(ring) in w for w in warnings(session)), f"{what}: {warnings(session)}")


def fakes(place, full):
    """A pipe, a socket, a directory or a link in place of any file of the spool: nothing hangs, and the rings are read."""
    def pipe(path):
        os.mkfifo(path, 0o600)

    def sock(path):
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)

    def link(path):
        os.symlink("/dev/zero", path)

    names = ("options", "control", "salvaged", "rules", "keeper.lock", "rank-0.claim", "run-1", "rank-7-1.ring", "followed")
    for make in (pipe, sock, os.mkdir, link):
        for name in names:
            spool = one_spool(place)
            path = os.path.join(spool, name)
            if os.path.exists(path):
                os.remove(path)
            here = os.getcwd()
            os.chdir(spool)  # a socket's path is short
            try:
                make(name)
            finally:
                os.chdir(here)
            got, session = salvage(place, spool)
            what = f"{make.__name__} {name}: {got.transcript()}"
            if name == "keeper.lock" and session is None:
                check(got.code == 1 and "keeper.lock" in got.err, what)
            elif name == "rank-7-1.ring":
                check(got.code == 2 and name in got.err and statuses(session) == ["salvaged"] * 2, what)
            else:
                check(got.code == 0 and statuses(session) == ["salvaged"] * 2, what)


def options(place, full):
    """An options file that is missing, empty, huge, or of random bytes: the rings hold what a session needs."""
    noise = random.Random(1)
    for data in (None, b"", noise.randbytes(5000), b"JOB=" + b"x" * 3000000, b"OUTPUT=\nSTEPS=9:5\nBUFFER=-1\nJOB\n=\n\0\n" * 50, b"WINDOW_BUFFER=" + b"9" * 40):
        spool = one_spool(place)
        os.remove(spool + "/options")
        if data is not None:
            with open(spool + "/options", "wb") as f:
                f.write(data)
        got, session = salvage(place, spool)
        check(got.code == 0 and statuses(session) == ["salvaged"] * 2, f"{data and data[:30]}: {got.transcript()}")


def torn(place, full):
    """A ring cut at any length, overwritten by noise, or with numbers that cannot be: the other ring is read, and the loss is named."""
    noise = random.Random(7)
    size = os.path.getsize(rings(one_spool(place))[0])
    cuts = [0, 1, 7, 4095, HEADER - 1, HEADER, HEADER + 1, HEADER + 63, HEADER + 64, HEADER + 4096, HEADER + CHUNK - 1, HEADER + CHUNK, size - 1]
    cuts += [noise.randrange(size) for _ in range(30 if full else 6)]
    for cut in cuts:
        spool = one_spool(place)
        os.truncate(rings(spool)[1], cut)
        got, session = salvage(place, spool)
        check(session and statuses(session)[0] == "salvaged", f"{cut}: {got.transcript()}")
        if cut < HEADER:
            check(got.code == 2 and os.path.basename(rings(spool)[1]) in got.err, f"{cut}: {got.transcript()}")
    for turn in range(120 if full else 24):
        spool = one_spool(place)
        with open(rings(spool)[1], "r+b") as f:
            if turn % 3 == 0:  # anywhere in the words of the header
                spots = [noise.randrange(4096) for _ in range(1 + turn % 7)]
            elif turn % 3 == 1:  # slots, communicators, windows
                spots = [noise.randrange(HEADER) for _ in range(200)]
            else:  # chunks: counts, links and records
                spots = [HEADER + noise.randrange(4) * CHUNK + noise.randrange(16) for _ in range(4)] + [HEADER + noise.randrange(4 * CHUNK) for _ in range(200)]
            for at in spots:
                f.seek(at)
                f.write(noise.randbytes(1))
        got, session = salvage(place, spool)
        check(session or "no session was written" in got.err or "cannot salvage" in got.err, f"{turn}: {got.transcript()}")


def impossible(place, full):
    """A list of chunks that runs in a circle or into another thread's, and 10^9 chunks that are not there: counted, at once, in little memory."""
    for what in ("circle", "chunks", "sparse"):
        spool = one_spool(place)
        with open(rings(spool)[1], "r+b") as f:
            if what == "circle":  # chunk 1 ends, and is followed by itself
                f.seek(HEADER)
                f.write(struct.pack("=II", 1023, 1))
            else:
                f.seek(0)
                head = bytearray(f.read(4096))
                at = head.index(struct.pack("=I", 1023))  # chunk_limit of a ring of 64 MiB
                head[at:at + 8] = struct.pack("=II", 10 ** 9, 10 ** 9)
                f.seek(0)
                f.write(head)
        if what == "sparse":
            os.truncate(rings(spool)[1], 1 << 40)
        got, session = salvage(place, spool, memory=8 * MEMORY if what == "sparse" else MEMORY)  # address space of 4 GiB, not memory
        check(session and statuses(session) == ["salvaged"] * 2, f"{what}: {got.transcript()}")
        with h5(session) as f:
            causes = [text(c) for c in f["quality/cause"][()]]
            lost = f["quality/dropped"][()][1]
            check(what != "circle" or lost[causes.index("bad_record")], f"{what}: {dict(zip(causes, lost))}")


def zeroed(place, full):
    """Zeros where records were, as on a disk that was not written in time: they count as lost, and so do steps only if some are missing."""
    def kind(data, record):
        return struct.unpack_from("=H", data, HEADER + 64 + 64 * record + 8)[0]

    for what, said in (("process", "40 found (0..39), 0 lost; bad records on rank 1: 1 records lost"), ("steps", "(0..39), the others lost; bad records on rank 1: 64")):
        spool = one_spool(place)
        with open(rings(spool)[1], "r+b") as f:
            data = f.read(HEADER + CHUNK)
            first = next(r for r in range(3, 1000) if kind(data, r) == 15) if what == "process" else 64
            f.seek(HEADER + 64 + 64 * first)
            f.write(bytes(64 * (1 if what == "process" else 64)))
        got, _ = salvage(place, spool)
        check(got.code == 0 and said in got.err, f"{what}: {got.transcript()}")


def large(place, full):
    """More spans than the window buffer holds: salvage keeps those of all ranks."""
    spool = left_by(place, "large", ranks=3, steps=3000, options=["--window-buffer", "64K"])
    got, session = salvage(place, spool)
    check(got.code == 0 and statuses(session) == ["salvaged"] * 3, got.transcript())
    with h5(session) as f:
        check(len(f["breakdown/step"]) > 200, got.transcript())  # ten times what the buffer holds
        causes = [text(c) for c in f["quality/cause"][()]]
        check(not f["quality/dropped"][()][:, causes.index("evicted")].any(), f["quality/dropped"][()])


def page(place, full):
    """The page of a large session is made of the spans in memory: it is the one that 'podprof report' makes of the files."""
    train = [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "500", "--parts", "3", "--group", "2"]
    spool = left_by(place, "page", ranks=4, program=train, seconds=3)
    got, session = salvage(place, spool)
    logs = os.path.dirname(os.path.dirname(session))
    trace = glob.glob(os.path.join(logs, "plugins/profile/*/*.xplane.pb"))[0]
    check(got.code == 0 and os.path.getsize(trace) > 1 << 20, f"{os.path.getsize(trace)}: {got.transcript()}")
    jobs.check_page(place.podprof(), logs, session)


def places(session):
    """(last step, call, place) of each rank, and the sentences of the session's notes."""
    with h5(session) as f:
        rows = list(zip(f["worker/last_step"][()], (text(p) for p in f["worker/last_place"][()])))
        return rows, [text(w) for w in f["quality/warning"][()] if " ended in step " in text(w)]


def says_places(session, rows, notes, said):
    """Each rank has its last step and its last call, and the notes say where all of them ended; so does `said`."""
    for rank, (step, place) in enumerate(rows):
        check(step > 0 and "MPI_" in place and " of MPI_COMM_WORLD" in place and place.split()[0] in ("in", "after"), rows)
        check(any(f" ended in step {step} and {place}" in note and note.startswith("rank") for note in notes), f"rank {rank}: {rows} {notes}")
    for note in notes:
        check(note in said, f"{note}: {said}")


def where_ranks_ended(place, full):
    """A live keeper says where the ranks of a killed job ended, as salvage does: in the session, its summary and salvage's message."""
    train = [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "100000", "--work-us", "2000"]
    for alive in (True, False):
        spool, logs = os.path.join(place.scratch, f"ended{alive}"), place.new_logs()
        job = start(place.mpirun(3, place.under(logs, train, "--spool", spool)))
        check(wait_until(lambda spool=spool: len(rings(spool)) == 3 and keepers(spool), 20), "the job did not start")
        time.sleep(1)
        if not alive:
            jobs.kill_keeper(spool)
        os.kill(int(rings(spool)[1].rpartition("-")[2][:-5]), signal.SIGKILL)
        finish(job)
        if alive:
            check(wait_until(lambda logs=logs, spool=spool: jobs.sessions(logs) and not os.path.exists(spool), 30), "no session")
            session = jobs.session_of(logs)
            said = open(os.path.join(session, "summary.txt"), encoding="utf-8").read()
        else:
            got, session = salvage(place, spool)
            said = got.err
        rows, notes = places(session)
        check(len(rows) == 3, rows)
        says_places(session, rows, notes, said)


def while_ranks_run(place, full):
    """Ranks whose keeper is dead run on, also in a PID namespace of their own: salvage writes what they have recorded, says that they run, and
    is done again when they have ended. Until then neither it nor doctor says that the spool can go."""
    separate = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    for prefix in ([], separate) if not run([*separate, "true"]).code else ([],):
        spool = os.path.join(place.scratch, f"alive{len(prefix)}")
        logs = place.new_logs()
        command = place.under(logs, [place.program("lone"), "unflushed"], "--spool", spool, "--wait", "0")
        job = jobs.start_until(place, place.mpirun(2, [*prefix, *command]), {"GUEST_MARK": 1})
        check(wait_until(lambda spool=spool: len(rings(spool)) == 2 and keepers(spool), 20), "the job did not start")
        jobs.kill_keeper(spool)
        check(wait_until(lambda spool=spool: not keepers(spool)), "the keeper lives")
        said = run([place.podprof(), "status", logs]).out
        check("(it is gone)" in said and f"type 'podprof salvage {spool} -o {logs}'" in said, f"{prefix}: {said}")
        said = run([place.podprof(), "doctor"], {"TMPDIR": place.scratch}).out
        got, session = salvage(place, spool)
        check(got.code == 2 and "2 ranks of this job still run" in got.err and "rm -r" not in got.err, f"{prefix}: {got.transcript()}")
        check(statuses(session) == ["salvaged while it ran"] * 2, f"{prefix}: {statuses(session)}")
        check(f"{spool}: 2 rings of a job whose keeper is gone and whose ranks still run" in said, f"{prefix}: {said}")
        check(jobs.over(job).code == 0, f"{prefix}: {job}")
        got, session = salvage(place, spool)
        check(got.code == 0 and "still run" not in got.err and f"rm -r {spool}" in got.err, f"{prefix}: {got.transcript()}")
        check(statuses(session) == ["salvaged"] * 2, f"{prefix}: {statuses(session)}")


def odd_names(place, full):
    """Spools and log directories whose names a shell, a terminal and JSON do not take as they are: what is printed is clean, and commands work."""
    shell, terminal = "it's \"$HOME\" & more", "\x1b[31m\udcff"
    spool = {name: os.path.join(place.scratch, f"podprof-{os.getuid()}", name) for name in (shell, terminal)}
    for path in spool.values():
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        shutil.move(one_spool(place), path)
    doctor = [place.podprof(), "doctor"], {"TMPDIR": place.scratch}
    said = run(*doctor).out
    check("\x1b" not in said and f"{os.path.dirname(spool[shell])}/?[31m?: 2 rings" in said, said)
    said = subprocess.run([*doctor[0], "--json"], env=jobs.clean_environment(doctor[1]), capture_output=True, check=False, timeout=60).stdout
    check([row for row in json.loads(said.decode())["checks"] if "/\x1b[31m\ufffd: 2 rings" in row["text"]], said)
    got = run([place.podprof(), "salvage", spool[shell], "-o", place.scratch + f"/{shell}"], limit=LIMIT)
    command = next((line for line in got.err.splitlines() if "(podprof report" in line), "").partition("(podprof ")[2][:-1]
    shown = run(["sh", "-c", f"'{place.podprof()}' {command}"])
    check(got.code == 0 and shown.code == 0 and "2 of 2 ranks" in shown.out, got.transcript() + shown.transcript())


CASES = {f.__name__: f for f in (earlier_run, never_reached, epilog, memory, little_memory, two_jobs, other_boot, fakes, options, torn, impossible, zeroed, large, page,
                                where_ranks_ended, while_ranks_run, odd_names)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

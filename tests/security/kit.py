"""What the drivers of tests/security share: two users, a copy of podprof that both can run, live jobs without MPI, what a spool may hold.
Used by others.py, listens.py, names.py, noise.py, flood.py. Needs root for the other users (else a case is skipped)."""
import glob
import os
import re
import shutil
import stat
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402
from jobs import Skipped, check, start_until, wait_until  # noqa: E402

LONG = 20000
OWNER, STRANGER = 61001, 61002  # nobody has these; no name is needed
PYTHON = "/usr/bin/python3"
PLAIN = re.compile(rb"[^\x00-\x08\x0b-\x1f\x7f]*")


def need_root():
    if os.geteuid():
        raise Skipped("other users need root")
    if not shutil.which("setpriv"):
        raise Skipped("no setpriv (util-linux)")


def as_user(uid, command, umask=None):
    """The command as another user; with a umask, by a shell that sets it."""
    if umask is not None:
        command = ["sh", "-c", f"umask {umask:03o}; exec \"$@\"", "sh", *command]
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--", *command]


class Stage:
    """podprof and the programs of the tests where every user can run them, homes of both users."""

    def __init__(self, place):
        self.place, self.dir = place, place.scratch
        self.bin = os.path.join(self.dir, "bin")
        os.mkdir(self.bin)
        os.mkdir(os.path.join(self.dir, "lib"))
        shutil.copy(place.podprof(), self.bin)
        for library in glob.glob(os.path.join(place.bin, "..", "lib", "libpodprof*.so")):
            shutil.copy(library, os.path.join(self.dir, "lib"))
        for program in ("steps", "scribble"):
            shutil.copy(place.program(program), self.bin)
        self.podprof, self.steps = os.path.join(self.bin, "podprof"), os.path.join(self.bin, "steps")
        self.count = 0

    def home(self, uid, mode=0o700):
        """A directory of that user."""
        self.count += 1
        path = os.path.join(self.dir, f"home{self.count}")
        os.mkdir(path)
        os.chmod(path, mode)
        os.chown(path, uid, uid)
        return path

    def job(self, logs, steps, ms, *options, extra=()):
        return [self.podprof, "run", "-o", logs, *options, "--", self.steps, str(steps), str(ms), *extra]

    def spool_of(self, logs, uid):
        for options in glob.glob(f"/dev/shm/podprof-{uid}/*/options"):
            try:
                if f"OUTPUT={os.path.realpath(logs)}\n" in open(options, errors="replace").read():
                    return os.path.dirname(options)
            except OSError:
                continue
        return None

    def gone(self, logs, uid=0):
        """The keeper of that log directory has tidied up."""
        return wait_until(lambda: not self.spool_of(logs, uid))

    def begin(self, uid, logs, ms, *options, umask=None, env=None):
        """A job whose rank has begun to mark steps, and its spool. It has more steps than any case needs and ends by rest()."""
        command = self.job(logs, LONG, ms, *options)
        process = start_until(self.place, as_user(uid, command, umask) if uid or umask is not None else command, env)
        check(wait_until(lambda: glob.glob((self.spool_of(logs, uid) or "/none") + "/rank-*.ring")), "the job does not begin")
        check(wait_until(lambda: os.path.exists(self.spool_of(logs, uid) + "/socket")), "the keeper does not listen")
        return process, self.spool_of(logs, uid)

    def clean(self, *uids):
        """Spools of users that only these tests have."""
        for uid in uids:
            wait_until(lambda: not jobs.keepers(f"/podprof-{uid}/"))
            shutil.rmtree(f"/dev/shm/podprof-{uid}", ignore_errors=True)


def expected(steps):
    return f"{steps} steps, sum {steps * (steps - 1) // 2}\n"


def unharmed(got, steps=None):
    """It did its steps, where none are given those that it could until it was stopped; how many."""
    said = re.match(r"(\d+) steps,", got.out)
    done = int(said[1]) if said else 0
    check(got.code == 0 and got.out == expected(done) and (done == steps if steps else 0 < done < LONG), got.transcript())
    return done


def plain(text, what):
    """No byte of it would be obeyed by a terminal."""
    raw = text if isinstance(text, bytes) else text.encode(errors="surrogateescape")
    check(PLAIN.fullmatch(raw) and b"\xc2\x9b" not in raw, f"{what} has control bytes: {raw[-400:]!r}")


def loose(spool, uid):
    """What in the spool is not its owner's alone."""
    wrong = []
    for directory, _, files in os.walk(os.path.dirname(spool)):
        for path in [directory] + [os.path.join(directory, f) for f in files]:
            try:
                st = os.lstat(path)
            except FileNotFoundError:
                continue
            want = {stat.S_IFDIR: {0o700}, stat.S_IFREG: {0o600}, stat.S_IFSOCK: {0o600, 0o700}}.get(stat.S_IFMT(st.st_mode))
            if st.st_uid != uid or not want or stat.S_IMODE(st.st_mode) not in want:
                wrong.append(f"{path} {stat.filemode(st.st_mode)} of {st.st_uid}")
    return wrong


def still_there(path, text):
    check(open(path).read() == text, f"{path} was changed")


def rss(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def rest(process):
    """The job's end, as if nothing had been; its steps."""
    return unharmed(jobs.over(process))


def pause(seconds):
    time.sleep(seconds)

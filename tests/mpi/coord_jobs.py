"""Ranks that agree on windows, under mpirun: coord_jobs.py PART MPIRUN LIBRARIES coord_bell coord_program fault.so. PART: agree (each thread
level, requests that are withdrawn and repeated, ranks that end late), fault (each MPI call fails once), who (jobs with podprof on some
ranks, wrapper scripts, Python, spawned worlds). Whatever happens, the job ends in time with its own results."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PART, MPIRUN, LIBRARIES, BELL, PROGRAM, FAULT = sys.argv[1:7]
LONG = os.environ.get("PODPROF_LONG") == "1"
PYTHON = "/usr/bin/python3"
MPICH = MPIRUN.endswith(".mpich")
OPTIONS = [] if MPICH else ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
failed = 0


def fail(name, what, text):
    global failed
    failed += 1
    print("%s: %s\n%s" % (name, what, text[-3000:]))


class Job:
    """A job with a spool of its own and coord_bell as its keeper."""

    def __init__(self, ranks, requests, command, limit=40, env=None):
        spool = tempfile.mkdtemp(prefix="podprof-coord-")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PODPROF_", "PMI"))}
        environment.update(env or {}, PP_SPOOL=spool)
        begin = time.monotonic()
        try:
            done = subprocess.run(["timeout", "-k", "5", str(limit), BELL, spool, str(ranks), str(requests), MPIRUN, *OPTIONS, *command],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True, errors="replace")
        finally:
            shutil.rmtree(spool, ignore_errors=True)
        self.code, self.out, self.seconds = done.returncode, done.stdout, time.monotonic() - begin
        self.right = self.out.count("sums are right")
        self.why = re.findall(r"^rank \d+: coordinator (\d+) ?(.*)$", self.out, re.M)
        agreed = re.search(r"^(\d+) of \d+ agreed, job ended with (\d+)", self.out, re.M)
        self.agreed, self.job = (int(agreed[1]), int(agreed[2])) if agreed else (-1, -1)


def forward(name, value):
    return ["-env", name, value] if MPICH else ["-x", f"{name}={value}"]


def preload(more=""):
    return forward("LD_PRELOAD", LIBRARIES + more)


def agree():
    for ranks, requests, arguments, limit in (
            (2, 8, ["multiple", "100"], 40), (4, 6, ["funneled", "200", "-1:0", "marker"], 40), (4, 6, ["serialized", "200"], 40),
            (1, 4, ["single", "100"], 40), (4, 2, ["init", "300", "1:1500"], 40)) if MPICH else (
            (2, 8, ["multiple", "100"], 40), (8, 8, ["init", "0"], 40), (4, 8, ["funneled", "200"], 40), (4, 8, ["serialized", "200"], 40),
            (4, 6, ["funneled", "200", "-1:0", "marker"], 40), (4, 6, ["serialized", "200", "-1:0", "marker"], 40),
            (4, 6, ["multiple", "200", "-1:0", "marker"], 40), (1, 4, ["single", "100"], 40), (4, 2, ["init", "300", "1:1500"], 40),
            *([(4, 2, ["init", "300", "2:23000"], 60)] if LONG else [])):
        name = "%d ranks %s" % (ranks, " ".join(arguments))
        job = Job(ranks, requests, [*"-n {}".format(ranks).split(), *preload(), PROGRAM, *arguments], limit)
        # On a busy machine a rank may be late for a step; then it says so, and is not to be told another one.
        if job.code or job.right != ranks or job.agreed < requests - 2 or [w[0] for w in job.why] != ["2"] * ranks:
            fail(name, "code %d, %d of %d agreed" % (job.code, job.agreed, requests), job.out)
        if job.seconds > limit - 10:
            fail(name, "took %.0f s" % job.seconds, job.out)


def fault():
    cases = (("Comm_dup:1:1", 0), ("Comm_free:2:1", 1), ("Comm_size:1:2", 1), ("Comm_get_errhandler:0:1", 1),
                         ("Comm_set_errhandler:1:1", 1), ("Comm_set_errhandler:1:2", 1), ("Comm_set_errhandler:2:3", 1),
                         ("Errhandler_free:1:1", 1), ("Query_thread:2:2", 1), ("Allreduce:1:1", None), ("Iallreduce:0:2", None),
                         ("Iallreduce:2:1", None), ("Test:1:3", None))
    for what, agrees in cases if LONG or not MPICH else cases[::4]:
        job = Job(3, 2, ["-n", "3", *forward("PP_FAULT", what), *preload(":" + FAULT), PROGRAM, "multiple", "300"], env={"PP_BRIEF": "1"})
        if job.right != 3 or job.job != 0 or job.seconds > 30:
            fail(what, "%d right, job %d, %.0f s" % (job.right, job.job, job.seconds), job.out)
        if agrees is not None and (job.agreed > 0) != bool(agrees):
            fail(what, "%d agreed" % job.agreed, job.out)


def who_case(name, ranks, command, wants, right, code=0, env=None):
    job = Job(ranks, 0, command, env=env)
    whys = [w for w in job.why if w[0] != "99"]  # no podprof
    if job.job != code or job.right != right or not whys or any(w != wants for w in whys):
        fail(name, "code %d, %d right, %s" % (job.job, job.right, job.why), job.out)


PY_SUM = """
from mpi4py import MPI
w = MPI.COMM_WORLD
n = w.Get_size()
print("sums are right" if w.allreduce(w.Get_rank()) == n * (n - 1) // 2 else "wrong sums")
"""
PY_SPAWN = """
import sys
from mpi4py import MPI
child = MPI.COMM_SELF.Spawn(sys.executable, ["-B", "-c", "from mpi4py import MPI; p = MPI.Comm.Get_parent(); p.send(MPI.COMM_WORLD.allreduce(1), 0); p.Disconnect()"], 2)
got = [child.recv(source=i) for i in range(2)]
child.Disconnect()
print("sums are right" if got == [2, 2] and MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.Get_size() else "wrong sums")
"""


def who():
    yes, no = ("2", ""), ("1", "one host, and not every rank had podprof in one spool when it called MPI_Init")
    some = 'test "$OMPI_COMM_WORLD_RANK" = 1 || export LD_PRELOAD="%s"; exec "$@"' % LIBRARIES
    who_case("podprof on the first program only", 4, ["-n", "2", *preload(), PROGRAM, "init", "0", ":", "-n", "2", PROGRAM, "init", "0"], no, 4)
    if MPICH:
        who_case("podprof on all", 3, ["-n", "3", *preload(), PROGRAM, "multiple", "0"], yes, 3)
        script = "export LD_PRELOAD=%s; sh -c true; %s && exit 0" % (LIBRARIES, PROGRAM)
        who_case("a wrapper script, which stays", 3, ["-n", "3", "sh", "-c", script], no, 3)
        return
    who_case("two programs, both with podprof", 4, ["-n", "2", *preload(), PROGRAM, "init", "0", ":", "-n", "2", *preload(), PROGRAM, "init", "0"],
             yes, 4)
    who_case("a wrapper script, not for rank 1", 3, ["-n", "3", "sh", "-c", some, "-", PROGRAM, "multiple", "0"], no, 3)
    script = "export LD_PRELOAD=%s; sh -c true; %s && exit 0" % (LIBRARIES, PROGRAM)
    who_case("a wrapper script for all", 3, ["-n", "3", "sh", "-c", script], yes, 3)
    who_case("another spool for rank 0", 2, ["-n", "1", "-x", "PODPROF_SPOOL=/proc/nonexistent", *preload(), PROGRAM, "init", "0", ":", "-n", "1",
                                             *preload(), PROGRAM, "init", "0"], no, 2)
    if subprocess.run([PYTHON, "-c", "import mpi4py"], stderr=subprocess.DEVNULL).returncode == 0:
        who_case("mpi4py", 3, ["-n", "3", *preload(), PYTHON, "-B", "-c", PY_SUM], yes, 3)
        who_case("spawned worlds", 2, ["-n", "2", *preload(), PYTHON, "-B", "-c", PY_SPAWN], yes, 2)


{"agree": agree, "fault": fault, "who": who}[PART]()
sys.exit(1 if failed else 0)

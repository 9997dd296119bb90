#!/usr/bin/python3
"""Jobs of another MPI than the machine's first one. PODPROF_OTHER_MPI says which: ompi5, mpich5, mpich5_abi (with the standard
ABI), impi (wheels, in the environment PODPROF_OTHER_HOME), mpich_jobs (Debian's MPICH). Run by ctest."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../guest"))
from jobs import Skipped, check, compare, main, run, session_of  # noqa: E402

try:
    import h5py
except ImportError:
    h5py = None

MPI = os.environ.get("PODPROF_OTHER_MPI", "")
HOME = os.environ.get("PODPROF_OTHER_HOME", "")
RANKS = 4
OPTIONS = {"ompi5": ["--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "self,sm"],
           "impi": ["-genv", "I_MPI_FABRICS", "shm", "-genv", "I_MPI_PIN", "0", "-ppn", str(RANKS)]}
if MPI == "impi":
    os.environ.update(I_MPI_ROOT=HOME, LD_LIBRARY_PATH=os.path.join(HOME, "lib"))


def tool(name):
    if (MPI, name) == ("mpich5_abi", "mpicc"):
        name = "mpicc_abi"
    path = shutil.which(name + ".mpich") if MPI == "mpich_jobs" else os.path.join(HOME, "bin", name)
    if not path or not os.path.exists(path):
        raise Skipped(f"no {name} of {MPI}: it is not installed")
    return path


def launched(command, ranks=RANKS):
    return [tool("mpirun"), *OPTIONS.get(MPI, []), "-n", str(ranks), *command]


def built(place, name, sources, *options):
    program = os.path.join(place.scratch, name)
    result = run([tool("mpicc"), "-O1", *options, "-o", program, *sources, "-lm"])
    check(result.code == 0, result.transcript())
    return program


def unharmed(place, command):
    """The log directory of a job that does what it does without podprof."""
    logs = place.new_logs()
    bare = run(launched(command))
    check(bare.code == 0, bare.transcript())
    got = run(launched(place.under(logs, command)))
    check(not compare(bare, got), f"{compare(bare, got)}; {got.transcript()}")
    return logs


def recorded(place, command):
    """The job's collectives, as sorted rows (communicator, operation, sequence, ranks), and the name and size of each communicator."""
    logs = unharmed(place, command)
    if h5py is None:
        raise Skipped("no h5py")
    with h5py.File(os.path.join(session_of(logs), "pod.h5"), "r") as f:
        check(f["worker/rank"][:].tolist() == list(range(RANKS)), f"ranks {f['worker/rank'][:]}")
        c, m = f["collective"], f["communicator"]
        rows = sorted(zip(*(c[n][:].tolist() for n in ("communicator", "operation", "sequence", "row_count"))))
        names = {i: (n.decode(), int(s)) for i, n, s in zip(m["id"][:].tolist(), m["name"][:], m["size"][:])}
        check(f["quality/violations"][()] == 0, f"{f['quality/warning'][:]}")
    return rows, names


def sources_of_trainer(place):
    source = os.path.join(place.source, "../../examples/c_mpi_train")
    return ["-I" + os.path.join(source, "../.."), *(os.path.join(source, n) for n in ("c_mpi_train.c", "model.c"))]


def trainer(place):
    return built(place, "train", sources_of_trainer(place))


def train(place, full):
    """The example: all its collectives, with all ranks."""
    rows, _ = recorded(place, [trainer(place)])
    check(sum(n == RANKS and o == b"MPI_Allreduce" for _, o, _, n in rows) >= 200, f"{len(rows)} rows")


def of_sessions(rows, names, times):
    """Five operations on each communicator of mpi4_program.c, each joined; each session has communicators of its own."""
    all_ = [i for i, n in names.items() if n == ("podprof://all", RANKS)]
    half = [i for i, n in names.items() if n == ("podprof://half", RANKS // 2)]
    check((len(all_), len(half)) == (times, 2 * times), f"communicators {names}")
    for comm, ranks in [(i, RANKS) for i in all_] + [(i, RANKS // 2) for i in half]:
        have = [(s, n) for c, o, s, n in rows if c == comm and o == b"MPI_Allreduce"]
        check(have == [(s, ranks) for s in range(1, 6)], f"{names[comm]}: {have}")
    check(sum(o == b"MPI_Send" and n == 2 for _, o, _, n in rows) == times, f"messages: {rows}")


def sessions(place, full):
    """Without MPI_Init: the pointers of the calls lie elsewhere with each way of linking."""
    source = [os.path.join(place.source, "mpi4_program.c")]
    for way in (["-Wl,-z,now,-z,relro"], ["-Wl,-z,lazy"], ["-fno-pic", "-no-pie"], ["-fno-plt"]):
        of_sessions(*recorded(place, [built(place, "mpi4", source, *way), "once"]), 1)


def sessions_two(place, full):
    of_sessions(*recorded(place, [built(place, "mpi4", [os.path.join(place.source, "mpi4_program.c")]), "two"]), 2)


def sessions_and_init(place, full):
    rows, names = recorded(place, [built(place, "mpi4", [os.path.join(place.source, "mpi4_program.c")]), "both"])
    world = [i for i, n in names.items() if n == ("MPI_COMM_WORLD", RANKS)]
    of_sessions(rows, names, 1)
    check([r[1:] for r in rows if r[0] in world] == [(b"MPI_Allreduce", 0, RANKS)], f"{rows}")


def mpi4py(place, full):
    """The wheel looks for calls of MPI 4 in the MPI that it finds."""
    text = ("from mpi4py import MPI; import array; a = array.array('i', [1]); b = array.array('i', [0]);"
            "[MPI.COMM_WORLD.Allreduce(a, b) for i in range(5)]; __import__('sys').stdout.write(f'{MPI.Get_library_version()[:10]} {b[0]}\\n')")
    rows, _ = recorded(place, [tool("python"), "-c", text])
    check([r[1:] for r in rows if r[1] == b"MPI_Allreduce"] == [(b"MPI_Allreduce", i, RANKS) for i in range(5)], f"{rows}")
    text = ("import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; s = MPI.Session.Init();"
            "g = s.Create_group('mpi://WORLD'); c = MPI.Intracomm.Create_from_group(g, 'wheel'); print(c.allreduce(1));"
            "c.Free(); g.Free(); s.Finalize()")
    if MPI == "ompi5":  # others fail by themselves where MPI_COMM_SELF is missing
        unharmed(place, [tool("python"), "-c", text])  # not recorded: docs/sources.md


def large(place, full):
    """The functions for large counts: their records are those of the calls without _c."""
    rows, names = recorded(place, [built(place, "large", [os.path.join(place.source, "mpi4_program.c")], "-DHAS_LARGE")])
    world = [i for i, n in names.items() if n == ("MPI_COMM_WORLD", RANKS)]
    check([r[1:] for r in rows if r[0] in world and r[1] == b"MPI_Allreduce"] == [(b"MPI_Allreduce", i, RANKS) for i in range(5)], f"{rows}")
    check(sum(r[1] == b"MPI_Send" and r[3] == 2 for r in rows) == RANKS, f"messages: {rows}")


def straggler(place, full):
    """A job of marked steps with a slow rank: the whole answer, from the launcher's variables to the bottleneck."""
    logs = place.new_logs()
    got = run(launched(place.under(logs, [trainer(place), "--steps", "40", "--slow-rank", "2", "--slow-us", "20000"], "--steps", "10:20")))
    check(got.code == 0 and any("steps 10..19 captured on 4 of 4 ranks" in line for line in got.podprof_lines()), got.transcript())
    said = open(os.path.join(session_of(logs), "summary.txt"), encoding="utf-8").read()
    check("Bottleneck: rank 2" in said and "Straggler:  rank 2" in said, said)
    if h5py is None:
        raise Skipped("no h5py")
    with h5py.File(os.path.join(session_of(logs), "pod.h5"), "r") as f:
        check(f["worker/rank"][:].tolist() == list(range(RANKS)), f"ranks {f['worker/rank'][:]}")
        names = [n.decode() for n in f["communicator/name"][:]]
        check(names.count("MPI_COMM_WORLD") == 1, f"communicators {names}")
        c = {n: f["collective"][n][:].tolist() for n in ("operation", "row_count", "bytes", "last_ns", "end_ns", "algbw", "busbw")}
        rows = [dict(zip(c, row)) for row in zip(*c.values())]
        reduces = [r for r in rows if r["operation"] == b"MPI_Allreduce"]
        check(len(reduces) >= 10 and all(r["row_count"] == RANKS for r in reduces), f"{rows}")
        for r in reduces:
            algbw = r["bytes"] / (r["end_ns"] - r["last_ns"]) * 1e9
            check(abs(r["algbw"] / algbw - 1) < 1e-6 and abs(r["busbw"] / (algbw * 2 * (RANKS - 1) / RANKS) - 1) < 1e-6, f"{r}")
        check(f["quality/violations"][()] == 0, f"{f['quality/warning'][:]}")


def alone(place, full):
    """Ranks that the launcher of another MPI started: each is a world of its own, and waits for no other."""
    program = trainer(place)
    if not shutil.which("mpicc.openmpi"):
        raise Skipped("no mpicc.openmpi")
    openmpi = run(["mpicc.openmpi", "-O1", "-o", program + "_openmpi", *sources_of_trainer(place), "-lm"])
    check(openmpi.code == 0, openmpi.transcript())
    for launcher in (place.mpirun(2, []), launched([], 2)):
        logs = place.new_logs()
        steps = [program + ("_openmpi" if launcher[0] == tool("mpirun") else ""), "--steps", "20"]
        got = run([*launcher, *place.under(logs, steps)])
        check(got.code == 0 and any("captured on 2 of 2 ranks" in line for line in got.podprof_lines()), got.transcript())
        if h5py is None:
            raise Skipped("no h5py")
        with h5py.File(os.path.join(session_of(logs), "pod.h5"), "r") as f:
            said = [w.decode() for w in f["quality/warning"][:]]
            check(f["quality/violations"][()] == 0 and any("2 of 2 ranks are alone in their MPI_COMM_WORLD" in w for w in said), f"{said}")
            check(set(f["collective/row_count"][:].tolist()) == {1}, f"{f['collective/row_count'][:]}")


CASES = {f.__name__: f for f in {
    "ompi5": (train, sessions, sessions_two, sessions_and_init, mpi4py),
    "mpich_jobs": (train, sessions, sessions_two, sessions_and_init, large, straggler, alone),
    "mpich5": (train, sessions, sessions_two, sessions_and_init, large, straggler, mpi4py),
    "mpich5_abi": (train, sessions, sessions_two, sessions_and_init, large, straggler),
    "impi": (train, sessions, sessions_two, large, straggler, mpi4py)}.get(MPI, ())}

if __name__ == "__main__":
    sys.exit(main(CASES, __doc__))

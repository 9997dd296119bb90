#!/usr/bin/python3
"""Jobs of Open MPI 5, from its wheel in the environment PODPROF_OMPI5, with libraries built for the machine's MPI. Run by ctest."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../guest"))
from jobs import Skipped, check, compare, main, run, session_of  # noqa: E402

try:
    import h5py
except ImportError:
    h5py = None

HOME = os.environ.get("PODPROF_OMPI5", "")
RANKS = 4


def tool(name):
    path = os.path.join(HOME, "bin", name)
    if not os.path.exists(path):
        raise Skipped(f"no {path}: the wheel of Open MPI 5 is not installed")
    return path


def built(place, name, sources, *options):
    program = os.path.join(place.scratch, name)
    result = run([tool("mpicc"), "-O1", *options, "-o", program, *sources, "-lm"])
    check(result.code == 0, result.transcript())
    return program


def unharmed(place, command):
    """The log directory of a job that does what it does without podprof."""
    mpirun = [tool("mpirun"), "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "self,sm", "-n", str(RANKS)]
    logs = place.new_logs()
    bare = run([*mpirun, *command])
    check(bare.code == 0, bare.transcript())
    got = run([*mpirun, *place.under(logs, command)])
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


def train(place, full):
    """The example: all its collectives, with all ranks."""
    source = os.path.join(place.source, "../../examples/c_mpi_train")
    program = built(place, "train", [os.path.join(source, n) for n in ("c_mpi_train.c", "model.c")], "-I" + os.path.join(source, "../.."))
    rows, _ = recorded(place, [program])
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
            "[MPI.COMM_WORLD.Allreduce(a, b) for i in range(5)]; print(MPI.Get_library_version()[:10], b[0])")
    rows, _ = recorded(place, [tool("python"), "-c", text])
    check([r[1:] for r in rows if r[1] == b"MPI_Allreduce"] == [(b"MPI_Allreduce", i, RANKS) for i in range(5)], f"{rows}")
    text = ("import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; s = MPI.Session.Init();"
            "g = s.Create_group('mpi://WORLD'); c = MPI.Intracomm.Create_from_group(g, 'wheel'); print(c.allreduce(1));"
            "c.Free(); g.Free(); s.Finalize()")
    unharmed(place, [tool("python"), "-c", text])  # not recorded: docs/sources.md


CASES = {f.__name__: f for f in (train, sessions, sessions_two, sessions_and_init, mpi4py)}

if __name__ == "__main__":
    sys.exit(main(CASES, __doc__))

# mpi4py's Win and File on 4 ranks: each call seen once, with bytes, target and file. mpi4py_rma_io.py MPIRUN PRELOAD PYTHON runs the job
# (itself with the argument "rank") under the stand-in guest and reads what it kept.
import os
import subprocess
import sys
import tempfile

RANKS, N = 4, 1000


def job(path):
    from array import array

    from mpi4py import MPI

    world = MPI.COMM_WORLD
    rank = world.Get_rank()
    right = (rank + 1) % RANKS
    win = MPI.Win.Allocate(8 * N, 8, comm=world)
    win.Fence()
    mine, got = array("d", [rank] * N), array("d", [0] * N)
    win.Put(mine, right)
    win.Fence()
    win.Lock(rank)
    win.Get(got, rank)
    win.Unlock(rank)
    assert got[0] == (rank - 1) % RANKS
    win.Fence()
    win.Lock(0)
    one, before = array("l", [1]), array("l", [0])
    win.Fetch_and_op(one, before, 0)
    win.Unlock(0)
    win.Lock_all()
    win.Rget(got, right).Wait()
    win.Unlock_all()
    win.Free()
    f = MPI.File.Open(world, path, MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
    f.Write_at_all(rank * 8 * N, mine)
    f.Sync()
    f.Iread_at(rank * 8 * N, got).Wait()
    assert got[5] == rank
    f.Close()


def wanted(rank):
    """(call, peer, sent, received); an operation that has a request ends at once or in its Wait."""
    right = (rank + 1) % RANKS
    return [("Init_thread", -1, 0, 0), ("Win_allocate", -1, 0, 0), ("Win_fence", -1, 0, 0), ("Put", right, 8 * N, 0),
            ("Win_fence", -1, 0, 0), ("Win_lock", rank, 0, 0), ("Get", rank, 0, 8 * N), ("Win_unlock", rank, 0, 0),
            ("Win_fence", -1, 0, 0), ("Win_lock", 0, 0, 0), ("Fetch_and_op", 0, 8, 8), ("Win_unlock", 0, 0, 0),
            ("Win_lock_all", -1, 0, 0), ("Rget", right, 0, 8 * N), ("Wait", -1, 0, 0), ("Win_unlock_all", -1, 0, 0),
            ("Win_free", -1, 0, 0), ("File_open", -1, 0, 0), ("File_write_at_all", -1, 8 * N, 0), ("File_sync", -1, 0, 0),
            ("File_iread_at", -1, 0, 0), ("Wait", -1, 0, 0), ("File_close", -1, 0, 0), ("Finalize", -1, 0, 0)]


def check(rank, log, path):
    calls, ends, names = [], [], []
    for line in open(log):
        words = line.rstrip("\n").split(" ")
        if words[0] == "mpi":
            f = dict(w.split("=") for w in words[2:])
            calls.append((words[1][4:], int(f["peer"]), int(f["sent"]), int(f["received"])))
            assert f["ok"] == "1" and not int(f["flags"]) & 4, line
        elif words[0] == "request":
            ends.append(int(words[4].split("=")[1]))
        elif words[0] == "comm":
            names.append(line.rstrip("\n").split(" ", 3)[3])
    assert calls == wanted(rank), f"rank {rank}: {calls}"
    assert ends == [0, 8 * N], f"rank {rank}: operations end with {ends}"
    assert names.count(path) == 1, f"rank {rank}: {names}"


def main():
    mpirun, preload, python = sys.argv[1:4]
    if not os.path.exists(python) or subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode:
        print(f"no mpi4py for {python}")
        return 77
    with tempfile.TemporaryDirectory() as where:
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PP_FAKE_LOG=where + "/log")
        path = where + "/written by mpi4py and thrown away"
        line = [mpirun, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "osc", "^rdma", "-n", str(RANKS),
                "-x", "LD_PRELOAD=" + preload, python, "-B", os.path.abspath(__file__), "rank", path]
        run = subprocess.run(line, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50)
        if run.returncode:
            print(run.returncode, run.stdout, run.stderr)
            return 1
        for rank in range(RANKS):
            check(rank, f"{where}/log.{rank}", path)
    return 0


sys.exit(job(sys.argv[2]) if sys.argv[1] == "rank" else main())

# Runs a program on 4 ranks with the stand-in guest and compares each rank's calls, one by one.
# seen_once.py MPIRUN PRELOAD TIMES INIT PROGRAM...: TIMES rounds of the calls below between MPI_Init(_thread) and MPI_Finalize.
import os
import subprocess
import sys
import tempfile

# name, bytes given, bytes got; None: either
ROUND = [("MPI_Barrier", 0, 0), ("MPI_Irecv", 0, 0), ("MPI_Isend", 16, 0), ("MPI_Waitall", 0, 0), ("MPI_Sendrecv", 16, 16),
         ("MPI_Allreduce", 16, 16), ("MPI_Comm_split", 0, 0), ("MPI_Bcast", None, None), ("MPI_Comm_free", 0, 0)]


def fields(line):
    words = line.split()
    return words[1], dict(w.split("=") for w in words[2:])


def check(rank, path, times, init):
    calls, requests = [], []
    for line in open(path):
        if line.startswith("mpi "):
            calls.append(fields(line))
        elif line.startswith("request "):
            requests.append(line.split())
    want = [(init, 0, 0)] + ROUND * times + [("MPI_Finalize", 0, 0)]
    names = [name for name, _ in calls]
    if names != [w[0] for w in want]:
        return [f"rank {rank}: calls are {names}"]
    bad = []
    for (name, f), (_, sent, received) in zip(calls, want):
        if sent is not None and (int(f["sent"]), int(f["received"])) != (sent, received) or f["ok"] != "1":
            bad.append(f"rank {rank}: {name}: {f}")
    if len(requests) != 2 * times:
        bad.append(f"rank {rank}: {len(requests)} requests end, not {2 * times}")
    worlds = {f["comm"] for name, f in calls if name == "MPI_Barrier"}
    splits = [f["comm"] for name, f in calls if name == "MPI_Bcast"]
    if len(worlds) != 1 or len(set(splits)) != times or worlds & set(splits):
        bad.append(f"rank {rank}: communicators {worlds} {splits}")
    return bad, worlds.pop(), splits


def main():
    mpirun, preload, times, init = sys.argv[1:5]
    program = sys.argv[5:]
    if not os.path.exists(program[0]):
        print(f"no {program[0]}")
        return 77
    with tempfile.TemporaryDirectory() as where:
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PP_FAKE_LOG=where + "/log")
        line = [mpirun, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", "4", "-x", "LD_PRELOAD=" + preload]
        if mpirun.endswith(".mpich"):
            line = [mpirun, "-n", "4", "-genv", "LD_PRELOAD", preload]
        run = subprocess.run(line + program, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50)
        if run.returncode or run.stdout != "bindings done\n":
            print(run.returncode, run.stdout, run.stderr)
            return 1
        found = [check(rank, f"{where}/log.{rank}", int(times), init) for rank in range(4)]
    for f in found:
        if len(f) == 1 or f[0]:
            print(f)
            return 1
    if len({f[1] for f in found}) != 1 or found[0][2] != found[2][2] or found[1][2] != found[3][2] or found[0][2] == found[1][2]:
        print("communicator ids differ between members:", found)
        return 1
    return 0


sys.exit(main())

# Runs a program with the stand-in guest; each rank says which records it wants, the log has those and no others, in that order.
# said.py MPIRUN PRELOAD RANKS COVERED PROGRAM...: the program writes $PP_WANT.RANK, a line a record: NAME PEER SENT RECEIVED, * any.
# An exit code other than 0 that the program wants is its last line, "exit N".
import os
import subprocess
import sys
import tempfile


def words(line):
    name, *rest = line.split()[1:]
    f = dict(w.split("=") for w in rest)
    return [name, f["peer"], f["sent"], f["received"]], f


def compare(rank, log, want):
    calls = [words(line) for line in open(log) if line.startswith("mpi ")]
    if any(f["ok"] != "1" for _, f in calls):
        return [f"rank {rank}: a call ends before it begins"]
    for i in range(max(len(calls), len(want))):
        have = calls[i][0] if i < len(calls) else ["nothing"]
        wanted = want[i] if i < len(want) else ["nothing"]
        if len(have) != len(wanted) or any(w not in ("*", h) for h, w in zip(have, wanted)):
            return [f"rank {rank}: record {i} is {' '.join(have)}, not {' '.join(wanted)}"]
    return []


def main():
    mpirun, preload, ranks, covered = sys.argv[1:5]
    program, bad, names = sys.argv[5:], [], set()
    if not os.path.exists(program[0]):
        print(f"no {program[0]}")
        return 77
    with tempfile.TemporaryDirectory() as where:
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PP_FAKE_LOG=where + "/log",
                   PP_FAKE_EACH="1", PP_WANT=where + "/want")
        line = [mpirun, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", ranks, "-x", "LD_PRELOAD=" + preload]
        run = subprocess.run(line + program, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50)
        if run.returncode == 77:
            print(run.stdout)
            return 77
        code = 0
        for rank in range(int(ranks)):
            try:
                want = [w.split() for w in open(f"{where}/want.{rank}")]
                if want and want[-1][0] == "exit":
                    code = int(want.pop()[1])
                bad += compare(rank, f"{where}/log.{rank}", want)
                names |= {w[0] for w in want}
            except OSError as e:
                bad.append(f"rank {rank}: {e}")
        if run.returncode != code:
            bad.append(f"exit code {run.returncode}, not {code}: {run.stdout} {run.stderr}")
    print("\n".join(bad))
    if not bad:
        open(covered, "w").write("\n".join(sorted(names)) + "\n")
    return 1 if bad else 0


sys.exit(main())

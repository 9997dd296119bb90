#!/usr/bin/python3
"""The example of PyTorch under mpirun: the same losses, the slow input and the slow rank found, steps and collectives counted exactly.
Run by ctest torch_ddp."""
import glob
import os
import sys

import torchjobs as tj
from e2e import h5, median, read
from jobs import check, Skipped, session_of

RANKS = 4
PARAMETERS = (16 * 9 + 16) + (32 * 16 * 9 + 32) + (512 * 128 + 128) + (128 * 10 + 10)  # of the example's model
GRADIENT_BYTES = 4 * PARAMETERS
INPUT_MS, COMPUTE_MS, ALONE_MS = 320, 100, 160  # what other ranks lose on a busy machine, some 50 ms per step, is less


def losses(path):
    found = {os.path.basename(p).rsplit(".", 1)[1]: open(p, encoding="ascii").read() for p in glob.glob(path + ".[0-9]")}
    check(sorted(found) == [str(r) for r in range(RANKS)], f"losses of ranks {sorted(found)}")
    return found


def same(place, words, options, env=None):
    """The example bare and under podprof: equal to the last bit. Returns the log directory and the result under podprof."""
    logs, results = place.new_logs(), []
    for under in (False, True):
        path = os.path.join(place.scratch, f"losses-{place.count}-{under}")
        command = tj.python(tj.EXAMPLE, *words, "--losses", path)
        got = tj.run(place.mpirun(RANKS, place.under(logs, command, *options) if under else command), env)
        check(got.code == 0 and "loss" in got.out, got.transcript())
        results.append((got, losses(path)))
    (base, bare), (got, seen) = results
    check(bare == seen, "losses are not bit-equal")
    check(got.sorted_out() == base.sorted_out() and not tj.jobs.compare(base, got), tj.jobs.compare(base, got))
    check(len(got.podprof_lines()) == 2, got.transcript())
    return logs, got


def check_collectives(f, calls):
    """calls: {operation: number in the window}. Each is seen on all ranks, their sequence numbers follow one another, and a step's
    gradients are as many bytes as the model has."""
    c = {k: v[()] for k, v in f["collective"].items()}
    inside = set(tj.steps_of(f))
    operations = [o for o, step in zip(tj.names(c["operation"]), c["step"]) if int(step) in inside]
    check((c["row_count"] == RANKS).all() and (c["ranks"] == RANKS).all(), f"collectives of fewer ranks: {c['row_count']}")
    for comm in set(c["communicator"]):  # those of the set-up come before, with a gap
        numbers = sorted(int(s) for s, one, step in zip(c["sequence"], c["communicator"], c["step"]) if one == comm and int(step) in inside)
        check(numbers == list(range(numbers[0], numbers[0] + len(numbers))), f"sequence numbers {numbers}")
    for operation, count in calls.items():
        check(sum(operation in o for o in operations) == count, f"{operation}: {operations}")
    rows = list(zip(c["bytes"], tj.names(c["operation"]), c["step"]))  # DDP's own broadcasts, once, are no gradients
    sums = {step: sum(int(n) for n, o, at in rows if at == step and "allreduce" in o) for step in inside}
    wrong = {step: n for step, n in sums.items() if n != GRADIENT_BYTES}
    check(not wrong, f"bytes of allreduces by step, gradients are {GRADIENT_BYTES}: {wrong}")
    check((c["last_worker"] >= 0).all(), "nobody came last")
    check(int(f["quality/violations"][()]) == 0, f"{f['quality/violations'][()]} causality violations")


def check_ops(f, wanted):
    known = tj.names(f["op/name"][()])
    missing = [name for name in wanted if name not in known]
    check(not missing, f"no {missing} in /op: {known}")


def slow_input_and_rank(place, full):
    """Rank 2 gets its batches late, rank 3 works longer: all wait for rank 2."""
    words = ["--steps", "18", "--slow-input-rank", "2", "--slow-input-ms", INPUT_MS, "--slow-rank", "3", "--slow-compute-ms", COMPUTE_MS]
    logs, _ = same(place, words, ["--steps", "5:15"])
    session = session_of(logs)
    tj.check_session(session, RANKS, range(5, 15))
    with h5(session) as f:
        check_collectives(f, {"allreduce": 10})
        check_ops(f, ["forward", "backward", "aten::convolution_backward", "aten::mm", "Optimizer.step#SGD.step"])
        kinds = tj.categories(f)
        wait, work = kinds["Input"], kinds["Host compute"]
        tj.check_silent(kinds, COMPUTE_MS, (2, 3))
        others = median(wait[:2] + wait[3:])
        check(wait[2] == max(wait) and wait[2] - others > 0.5e6 * INPUT_MS, f"Input: {wait}")
        check(wait[2] < 1.5e6 * INPUT_MS, f"Input: {wait}")
        check(work[3] == max(work), f"Host compute: {work}")
        check(0.7e6 * COMPUTE_MS < work[3] - median(work[:3]) < 2e6 * COMPUTE_MS, f"Host compute: {work}")
        rank, share = tj.waited_for(f)
        check(rank == 2 and share > 0.5, f"waited for rank {rank}: {share:.2f}")
    summary = read(session, "summary.txt")
    check("rank 2" in summary and "Input" in summary.split("Exclusive")[0], summary)
    check("Top operators" in summary and "aten::" in summary, summary)


def slow_rank(place, full):
    """All steps of two epochs, with checkpoints: all wait for rank 3, which computes; rank 0 writes in every fifth step."""
    if not full:
        raise Skipped("slow_input_and_rank finds a rank: PODPROF_LONG=1")
    point = os.path.join(place.scratch, "point")
    words = ["--steps", "20", "--epochs", "2", "--slow-rank", "3", "--slow-compute-ms", ALONE_MS, "--checkpoint-every", "5", "--checkpoint", point]
    logs, _ = same(place, words, [])
    session = session_of(logs)
    tj.check_session(session, RANKS, range(20))
    with h5(session) as f:
        check_collectives(f, {"allreduce": 20})
        check_ops(f, ["checkpoint"])
        cells, index = f["breakdown/exclusive_ns"][()], tj.e2e.CATEGORIES.index("Output")
        check([i for i in range(20) if cells[i, 0, index] > 100000] == [4, 9, 14, 19], f"Output: {cells[:, 0, index]}")
        check(not cells[:, 1:, index].any(), "Output of ranks that write nothing")
        kinds = tj.categories(f)
        tj.check_silent(kinds, COMPUTE_MS, (3,))
        check(kinds["Host compute"][3] - median(kinds["Host compute"][:3]) > 0.7e6 * ALONE_MS, f"Host compute: {kinds['Host compute']}")
        rank, share = tj.waited_for(f)
        check(rank == 3 and share > 0.5, f"waited for rank {rank}: {share:.2f}")
    summary = read(session, "summary.txt")
    check("rank 3" in summary.split("Exclusive")[0] and "Host compute" in summary.split("Exclusive")[0], summary)


CASES = {f.__name__: f for f in (slow_input_and_rank, slow_rank)}

if __name__ == "__main__":
    sys.exit(tj.main(CASES, __doc__))

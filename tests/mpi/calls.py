#!/usr/bin/python3
"""Which call completed each row of /collective, and when it began: calls_program.c under podprof. Run by ctest mpi.calls."""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../guest"))
from jobs import Skipped, check, main, run, session_of  # noqa: E402

try:
    import h5py
except ImportError:
    h5py = None

STEPS = 6
CALL = ("call", "call_begin_ns", "call_end_ns", "polls", "place")


def rows_of(place):
    """The rows of ranks: by (rank, tag or name, step) a dict of the columns, in lists. And /lone_call, by rank: name, begin, end, polls."""
    logs = place.new_logs()
    got = run(place.mpirun(3, place.under(logs, [place.program("calls_program"), os.path.join(place.scratch, "flag")])))
    check(got.code == 0 and not got.timed_out, got.transcript())
    rows = collections.defaultdict(list)
    with h5py.File(os.path.join(session_of(logs), "pod.h5"), "r") as f:
        c = {n: f["collective"][n][()].tolist() for n in ("row_first", "row_count", "message", "operation", "tag", "step", "worker",
                                                          "arrival_ns", "exit_ns", *CALL)}
        places = {0: "", **dict(zip(f["place/place"][()].tolist(), (name.decode() for name in f["place/name"][()])))}
        c["place"] = [places[number] for number in c["place"]]
        lone = collections.defaultdict(list)
        for rank, *rest in zip(*(f["lone_call"][n][()].tolist() for n in ("worker", "operation", "begin_ns", "end_ns", "polls"))):
            lone[rank].append(rest)
        check(f["quality/lone_calls_left_out"][()] == 0, "lone calls are left out")
    for i, first in enumerate(c["row_first"]):
        what = c["tag"][i] if c["message"][i] else c["operation"][i].decode()
        for k in range(first, first + c["row_count"][i]):
            rows[c["worker"][k], what, c["step"][i]].append({n: c[n][k] for n in ("arrival_ns", "exit_ns", *CALL)})
    return rows, lone


def one(rows, rank, what, step):
    found = rows[rank, what, step]
    check(len(found) == 1, f"rank {rank} has {len(found)} rows of {what} in step {step}")
    return found[0]


def check_step(rows, step):
    first, second = (one(rows, 0, tag, step) for tag in (1, 2))
    check(first["call"] == second["call"], f"a Waitall is two calls: {first} {second}")
    check(first["call_begin_ns"] == second["call_begin_ns"] > first["arrival_ns"] > second["arrival_ns"], f"{first} {second}")
    check(first["call_begin_ns"] <= first["exit_ns"] <= second["exit_ns"] == first["call_end_ns"] == second["call_end_ns"], f"{first} {second}")
    reduced = one(rows, 0, "MPI_Iallreduce", step)
    check(reduced["call"] == first["call"] + 1 and reduced["call_begin_ns"] > reduced["arrival_ns"], f"{reduced} after {first}")
    any_of = sorted((one(rows, 0, tag, step) for tag in (3, 4)), key=lambda r: r["call"])
    check([r["call"] - reduced["call"] for r in any_of] == [1, 2], f"two Waitany are {any_of} after {reduced}")
    check(any_of[0]["exit_ns"] <= any_of[1]["call_begin_ns"], f"{any_of}")
    both = [one(rows, 0, tag, step) for tag in (5, 6)]
    check(both[0]["call"] == both[1]["call"] == any_of[1]["call"] + 1, f"a Sendrecv is {both} after {any_of}")
    check(all(r["call_begin_ns"] == r["arrival_ns"] and not r["polls"] for r in both), f"{both}")
    for tag, place in ((1, ""), (3, "exchange"), (4, "exchange"), (5, "shift"), (6, "shift"), (7, "")):
        check(one(rows, 0, tag, step)["place"] == place, f"tag {tag} was called in {one(rows, 0, tag, step)}, not in {place!r}")
    polled, sent = one(rows, 0, 7, step), one(rows, 1, 7, step)
    check(polled["polls"] and polled["call_begin_ns"] < sent["arrival_ns"], f"the first poll of {polled} is before the send {sent}")
    barrier = one(rows, 0, "MPI_Barrier", step)
    check(barrier["call"] == polled["call"] + 3 and barrier["call_begin_ns"] == barrier["arrival_ns"], f"{barrier} after {polled}")


def check_lone(rows, lone):
    """Probes and epochs, each between the rows beside it; an Iprobe before a receive is no poll of it."""
    names = {rank: [name.decode() for name, *_ in found] for rank, found in lone.items()}
    epoch = ["MPI_Win_start", "MPI_Put", "MPI_Win_complete"]
    check(names == {0: (["MPI_Probe", "MPI_Iprobe"] + epoch) * STEPS, 1: ["MPI_Win_post", "MPI_Win_wait"] * STEPS}, f"lone calls: {names}")
    for step in range(STEPS):
        probe, iprobe, start, put, complete = lone[0][5 * step:5 * step + 5]
        first, second, barrier = (one(rows, 0, what, step) for what in (8, 9, "MPI_Barrier"))
        order = [probe[1], probe[2], first["arrival_ns"], first["exit_ns"], iprobe[1], iprobe[2], second["arrival_ns"], second["exit_ns"],
                 start[1], start[2], put[1], put[2], complete[1], complete[2], barrier["arrival_ns"]]
        check(order == sorted(order), f"{order}")
        check([c[3] for c in (probe, iprobe, start, put, complete)] == [0, 1, 0, 0, 0], "polls")
        posted, waited = lone[1][2 * step:2 * step + 2]
        check(one(rows, 1, 9, step)["exit_ns"] <= posted[1] <= posted[2] <= waited[1] <= waited[2], f"{posted} {waited}")


def calls(place, full):
    if h5py is None:
        raise Skipped("no h5py")
    rows, lone = rows_of(place)
    check_lone(rows, lone)
    for step in range(STEPS):
        check_step(rows, step)
    own = sum(one(rows, 0, 1, step)["exit_ns"] < one(rows, 0, 2, step)["exit_ns"] for step in range(STEPS))
    check(own, "no request of a Waitall has an end of its own, though each first one completes 20 ms before the other is sent")
    for rank in range(3):
        begins = {}
        for (worker, _, _), found in rows.items():
            for row in found if worker == rank else []:
                check(row["exit_ns"] <= row["call_end_ns"], f"{row}")
                check(row["call"] > 0 and begins.setdefault(row["call"], row["call_begin_ns"]) == row["call_begin_ns"], f"{row}")
        numbers = sorted(begins)
        check(numbers == list(range(1, len(numbers) + 1)), f"rank {rank}: calls are {numbers}")
        check([begins[n] for n in numbers] == sorted(begins.values()), f"rank {rank}: calls are not in the order of their begins")


CASES = {f.__name__: f for f in (calls,)}

if __name__ == "__main__":
    sys.exit(main(CASES, __doc__))

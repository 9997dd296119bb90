#!/usr/bin/python3
"""A Fortran program with mpif.h, use mpi and use mpi_f08: every call once, with its bytes, peer and file. Run by ctest session_fortran."""
import collections
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/aggregate/write"))
import xspace_wire  # noqa: E402

from e2e import check_dataset, good, h5, text  # noqa: E402
import jobs  # noqa: E402
from jobs import check, session_of  # noqa: E402

RANKS, STEPS, EVERY, ROWS = 4, 40, 10, 256
BLOCK = ROWS * ROWS // RANKS * 8  # a rank's columns
EDGE = (ROWS + 2) * 8


def stats(plane, event):
    return {plane["stats"][s[1]]["name"]: plane["stats"][s[7]]["name"] if 7 in s else next(v for k, v in s.items() if k != 1)
            for s in event["stats"]}


def calls_of(plane, rank):
    """(name, stats) of the calls of a rank's main thread."""
    line = next(x for x in plane["lines"] if x["name"] == f"rank {rank} main")
    found = [(plane["events"][e["id"]]["name"].split(":")[0], stats(plane, e)) for e in line["events"]]  # name:category
    return [(name, s) for name, s in found if name.startswith("MPI_")]


def expected(rank):
    want = collections.Counter({"MPI_Init": 1, "MPI_Finalize": 1, "MPI_Sendrecv": 2 * STEPS, "MPI_Allreduce": STEPS, "MPI_Put": STEPS,
                                "MPI_Win_allocate": 1, "MPI_Win_fence": STEPS + 1, "MPI_Win_free": 1, "MPI_Barrier": 1,
                                "MPI_File_open": STEPS // EVERY, "MPI_File_write_at_all": STEPS // EVERY, "MPI_File_close": STEPS // EVERY})
    if rank == 0:
        want.update({"MPI_File_open": 1, "MPI_File_read": 1, "MPI_File_close": 1, "MPI_File_delete": 1})
    return want


def check_events(session, logs, path):
    planes = xspace_wire.read(glob.glob(f"{logs}/plugins/profile/{os.path.basename(session)}/*.xplane.pb")[0])[0]
    for rank in range(RANKS):
        calls = calls_of(planes[0], rank)
        have = collections.Counter(name for name, _ in calls)
        check(have == expected(rank), f"rank {rank}: {have} is not {expected(rank)}")
        for name, s in calls:
            if name == "MPI_Sendrecv":
                check(s.get("peer") in (rank - 1, rank + 1) and s.get("bytes", EDGE) == EDGE, f"rank {rank}: {name}: {s}")
            elif name == "MPI_Put":
                check(s.get("peer") == 0 and s["bytes"] == 8, f"rank {rank}: {name}: {s}")
            elif name == "MPI_File_write_at_all":
                check(s["bytes"] == BLOCK and s["file"] == path, f"rank {rank}: {name}: {s}")
            elif name == "MPI_File_read":
                check(s["bytes_received"] == RANKS * BLOCK and s["file"] == path, f"rank {rank}: {name}: {s}")


def check_tables(session, path):
    with h5(session) as f:
        file = f["file"]
        check([text(n) for n in file["name"]] == [path] * RANKS and list(file["worker"]) == list(range(RANKS)), list(file["name"]))
        saves = STEPS // EVERY
        check(list(file["opens"]) == [saves + (r == 0) for r in range(RANKS)], list(file["opens"]))
        check(list(file["writes"]) == [saves] * RANKS and list(file["bytes_written"]) == [saves * BLOCK] * RANKS, list(file["bytes_written"]))
        check(list(file["reads"]) == [1, 0, 0, 0] and list(file["bytes_read"]) == [RANKS * BLOCK, 0, 0, 0], list(file["bytes_read"]))
        check((file["write_ns"][()] > 0).all() and file["read_ns"][0] > 0 and (file["other_ns"][()] > 0).all(), "times of files")
        category = [text(n) for n in f["breakdown/category"]]
        took = {name: f["breakdown/exclusive_ns"][:, :, category.index(name)].sum(axis=0) for name in ("Input", "Output")}
        check((took["Output"] > 0).all() and not took["Input"][1:].any(), f"no writes as Output, or what reads is not Input: {took}")
        if f["breakdown/exclusive_ns"].shape[0] == 1:  # where steps are found, the first writing may lie before them, the reading lies behind
            check((took["Output"] >= file["write_ns"][()]).all(), f"writes are not Output: {took}")
            check(took["Input"][0] >= file["read_ns"][0], f"what reads is not Input: {took}")
        operation = [text(n) for n in f["collective/operation"]]
        ranks = [n for n, o in zip(f["collective/ranks"], operation) if o in ("MPI_File_write_at_all", "MPI_Win_fence")]
        check(len(ranks) == saves + STEPS + 1 and set(ranks) == {RANKS}, f"files and fences join {ranks}")
        channel = {(s, d): (b, c) for s, d, b, c in zip(f["channel/source"], f["channel/destination"], f["channel/bytes"], f["channel/count"])}
        put = (STEPS * 8, STEPS)
        want = {(0, 0): put, (2, 0): put, (3, 0): put}
        for left in range(RANKS - 1):
            want[(left, left + 1)] = want[(left + 1, left)] = (STEPS * EDGE, STEPS)
        want[(1, 0)] = (STEPS * (EDGE + 8), 2 * STEPS)
        check(channel == want, f"channels {channel} are not {want}")
        roles = collections.Counter(text(r) for r in f["communicator/role"])
        check(roles["window"] == 1 and roles["file"] == saves + 1, roles)


def fortran(place, full):
    """Four ranks, three bindings, one program."""
    program = os.path.join(place.bin, "fortran_heat")
    if not os.path.exists(program):
        raise jobs.Skipped("no Fortran compiler when this was built")
    for io in ("ompio", "romio321") if full else ("ompio",):  # Open MPI's two ways to files
        logs, path = place.new_logs(), os.path.join(place.scratch, "a plate with a name longer than one record.bin")
        ended = jobs.run(place.mpirun(RANKS, place.under(logs, [program, path, str(STEPS)]), "--mca", "io", io))
        good(ended, 2 + ("no step marks" in ended.err))  # how much of the job its pattern covers is a matter of the disk
        session = session_of(logs)
        check_dataset(session, workers=RANKS)
        check_events(session, logs, path)
        check_tables(session, path)


CASES = {"fortran": fortran}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

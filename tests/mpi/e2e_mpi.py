#!/usr/bin/python3
"""Jobs under podprof whose MPI is out of the ordinary: persistent requests, polling loops, MPI_Pcontrol, spawned worlds. Run by ctest."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../guest"))
from jobs import Skipped, check, main, run, session_of, sessions, wait_until  # noqa: E402

try:
    import h5py
except ImportError:
    h5py = None

PROGRAM = "session_program"


def opened(session):
    if h5py is None:
        raise Skipped("no h5py")
    return h5py.File(os.path.join(session, "pod.h5"), "r")


def warnings(f):
    return [w.decode() for w in f["quality/warning"][:]]


def good(result):
    check(result.code == 0 and not result.timed_out, result.transcript())
    return result


def profiled(place, ranks, arguments, *options):
    """mpirun -n RANKS podprof run -- session_program; the session's directory."""
    logs = place.new_logs()
    good(run(place.mpirun(ranks, place.under(logs, [place.program(PROGRAM), *arguments], *options))))
    return session_of(logs)


def persistent(place, full):
    with opened(profiled(place, 4, ["persistent"])) as f:
        c = f["channel"]
        have = sorted(zip(c["source"][:].tolist(), c["destination"][:].tolist(), c["bytes"][:].tolist(), c["count"][:].tolist()))
        check(have == [(r, (r + 1) % 4, 20000, 20) for r in range(4)], f"channels are {have}")


def polls(place, full):
    with opened(profiled(place, 2, ["polls"])) as f:
        # 30 ms of polling a step: three records of 10 ms, not 100000 of 200 ns
        records = int(f["quality/records"][:].sum())
        check(records < 2000, f"{records} records")
        names = [n.decode() for n in f["breakdown/category"][:]]
        spent = f["breakdown/exclusive_ns"][:, 0, names.index("Host communication")] / 1e6
        check((spent > 20).all(), f"a rank that polls for 30 ms communicates for {spent} ms")
        rest = f["breakdown/exclusive_ns"][:, 0, names.index("All others")] / 1e6
        check(max(rest) > 20, f"a rank that works 30 ms between polls does so for {rest} ms")  # a poll may lose its core, with many ranks in most steps


def pcontrol(place, full):
    session = profiled(place, 2, ["pcontrol"], "--steps", "2:9")
    with opened(session) as f:
        steps = f["step/number"][:].tolist()
        # step 4 was cut, 5 and 6 did not begin in what was recorded
        check(steps == [2, 3, 7, 8], f"steps are {steps}")
        check(any("MPI_Pcontrol(0)" in w and "2 ranks" in w for w in warnings(f)), f"{warnings(f)}")
        # steps 1 and 9 are the edges of the window, 6 has no begin; there is nothing of 0, 4 and 5
        steps = f["collective/step"][:].tolist()
        check(len(steps) == 7 and [s for s in steps if s >= 0] == [2, 3, 7, 8], f"collectives of steps {steps}")


def spawn_check(session, ranks, sentence):
    with opened(session) as f:
        check(f["worker/rank"].shape[0] == ranks, f"{f['worker/rank'][:]} are not {ranks} ranks")
        check(sum(sentence in w for w in warnings(f)) == 1, f"{sentence!r} is not in {warnings(f)}")
        check(not any("missing" in w for w in warnings(f)), f"{warnings(f)}")


def spawn_inside(place, full):
    """Each rank under podprof, its children not."""
    spawn_check(profiled(place, 2, ["spawn"]), 2, "4 processes started by MPI_Comm_spawn")


def spawn_outside(place, full):
    """The libraries are in the children too: their ranks 2 and 3 are not the parent's."""
    logs = place.new_logs()
    result = good(run(place.under(logs, place.mpirun(2, [place.program(PROGRAM), "spawn"]))))
    check(result.sorted_out() == ["sum 1 of 4"] * 4 + ["sum 6 of 2"] * 2, result.transcript())
    spawn_check(session_of(logs), 2, "4 processes started by MPI_Comm_spawn")


def spawn_own_session(place, full):
    logs = place.new_logs()
    command = [place.podprof(), "run", "-o", logs, "--", place.program(PROGRAM), "spawn"]
    good(run(place.mpirun(2, place.under(logs, [place.program(PROGRAM), "spawn", *command]))))
    found = wait_until(lambda: len(sessions(logs)) == 2 and sessions(logs))
    check(found, f"two sessions expected, there are {sessions(logs)}")
    sizes = {}
    for session in found:
        with opened(session) as f:
            sizes[f["worker/rank"].shape[0]] = session
    check(sorted(sizes) == [2, 4], f"worlds of {sorted(sizes)} ranks")
    spawn_check(sizes[2], 2, "4 processes started by MPI_Comm_spawn")
    spawn_check(sizes[4], 4, "MPI_Comm_spawn started this job")


def empty(place, full):
    """What leaves before the others have come, as it may, is no fault of a clock; nobody waits where there is nothing to get."""
    for ranks in (2, 4):
        with opened(profiled(place, ranks, ["empty"])) as f:
            check(f["quality/violations"][()] == 0, f"{warnings(f)}")
            check(not any("ended on a rank before" in w for w in warnings(f)), f"{warnings(f)}")
            names = [n.decode() for n in f["collective/operation"][:]]
            wait = f["collective/wait_ns"][:].clip(0)
            bytes_ = f["collective/bytes"][:]
            waited = {n for n, w, b in zip(names, wait, bytes_) if w and not b and "all" in n}
            check(not waited, f"{ranks} ranks wait in empty {waited}")


def near_rows(f):
    """Of each neighbourhood collective its communicator, and by rank: arrival, awaited rank, exposed wait."""
    c = f["collective"]
    every = [c[n][:].tolist() for n in ("worker", "arrival_ns", "late_rank", "exposed_wait_ns")]
    for name, comm, first, count in zip(c["operation"][:], c["communicator"][:], c["row_first"][:], c["row_count"][:]):
        if b"eighbor" in name:
            rows = zip(*(column[int(first):int(first) + int(count)] for column in every))
            yield int(comm), {row[0]: row[1:] for row in rows}


def awaited(sources, rows, rank):
    """The last of those from whom the rank receives, if it comes later than the rank itself; else -1."""
    last = max(sources[rank], key=lambda r: (rows[r][0], -r))
    return last if rows[last][0] > rows[rank][0] else -1


def neighbours(place, full):
    """Each rank waits for those that it receives from, and for no other; so say the table, the ledger and the timeline."""
    logs = place.new_logs()
    good(run(place.mpirun(4, place.under(logs, [place.program(PROGRAM), "neighbours"], "--steps", "2:12"))))
    session = session_of(logs)
    line, graph = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}, {0: [3], 1: [0], 2: [0, 1], 3: [2]}
    with opened(session) as f:
        sources, seen, late = {}, 0, set()
        for comm, worker, source in zip(*(f[f"neighbour/{n}"][:].tolist() for n in ("communicator", "worker", "source"))):
            sources.setdefault(comm, {}).setdefault(worker, []).append(source)
        check(sorted(sources.values(), key=str) == sorted([line, graph], key=str), f"neighbours are {sources}")
        for comm, rows in near_rows(f):
            seen += 1
            for rank, (_arrival, for_rank, exposed) in rows.items():
                want = awaited(sources[comm], rows, rank)
                if exposed < 1_000_000:  # rank 3 is 20 ms late; below, progress may have needed a rank without a core
                    continue
                check(for_rank == want, f"rank {rank} waits for rank {for_rank}, not {want}: {rows}")
                if for_rank == 3 and exposed > 0:
                    late.add((sources[comm] == line, rank))
        check(seen >= 10, f"{seen} operations")
        check(late == {(True, 2), (False, 0)}, f"who waited for rank 3, on the line or not: {late}")
        check(f["quality/violations"][()] == 0, f"{warnings(f)}")
        check(not any("unknown ranks" in w for w in warnings(f)), f"{warnings(f)}")
        c = f["collective"]
        table = {(int(a), int(b)): int(w) for n, a, b, w in zip(*(c[v][:] for v in ("operation", "communicator", "sequence", "wait_ns")))
                 if w and n.startswith(b"MPI_Neighbor")}
    trace = os.path.join(place.scratch, "near.json")
    good(run([place.podprof(), "export", logs, "--format", "chrome", "-o", trace]))
    sums = {}
    with open(trace, encoding="utf-8") as f:
        for args in (e.get("args", {}) for e in json.load(f)["traceEvents"] if e["ph"] == "X"):
            key = (int(args.get("communicator id", "0"), 16), args.get("sequence"))
            if args.get("waited ns") and key[0] in sources and key[1] is not None:  # of a nonblocking one the Wait has it
                sums[key] = sums.get(key, 0) + args["waited ns"]
    check(len(table) > 2 and sums == table, f"the timeline's waits are {sums}, the table's {table}")


def large(place, full):
    """Ranks that call MPI_Allreduce_c are in one operation with those that call MPI_Allreduce; where the MPI lacks it, nobody has it."""
    for name, has in (("large_program", 1), ("large_program_without", 0)):
        logs = place.new_logs()
        result = good(run(place.mpirun(4, place.under(logs, [place.program(name)]))))
        check(result.sorted_out() == [f"large {has}"] * 4, result.transcript())
        with opened(session_of(logs)) as f:
            c = f["collective"]
            have = sorted(zip(c["operation"][:].tolist(), c["sequence"][:].tolist(), c["bytes"][:].tolist(), c["row_count"][:].tolist()))
            check(have == [(b"MPI_Allreduce", i, 4, 4) for i in range(4)] + [(b"MPI_Send", 0, 4, 2)], f"{name}: {have}")


CASES = {f.__name__: f for f in (empty, large, neighbours, persistent, polls, pcontrol, spawn_inside, spawn_outside, spawn_own_session)}

if __name__ == "__main__":
    sys.exit(main(CASES, __doc__))

#!/usr/bin/python3
"""A job on the stand-ins of CUDA and CUPTI from podprof run to its files: its kernels are there, and all of them say that no device ran.
Run by ctest gpu_job."""
import csv
import io
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs
from jobs import Skipped, check, run, session_of

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_devices.replay")
NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nccl_kernels.txt")
POOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pools.replay")
NEVER, MOST = -2**63, 2**63 - 1


def recorded(place, env=None, steps="10", words="pause"):
    logs = place.new_logs()
    env = {"LD_LIBRARY_PATH": place.guest, "REPLAY_FIXTURE": FIXTURE, **(env or {})}
    base = run([place.program("gpu_host"), steps, "1", "1", words], env)
    got = run(place.under(logs, [place.program("gpu_host"), steps, "1", "1", words]), env)
    wrong = jobs.compare(base, got)
    check(got.code == 0 and not wrong, f"{wrong} {got.transcript()}")
    session = session_of(logs)
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        return session, f.read()


def plain(place, full):
    session, summary = recorded(place)
    # steps in which CUPTI comes on are left out, and said
    first = re.search(r"steps (\d)\.\.9", summary)
    warnings = str(table(place, session, "warning"))
    check(first and int(first[1]) <= 4 and ("records of devices do not cover" in warnings) == (first[1] != "0"), f"{summary} {warnings}")
    for text in ("device records are a replay of recorded data: no device ran", "Device compute", "sm90_xmma_gemm", "GPU_0"):
        check(text in summary, f"no '{text}' in {summary}")
    check(os.path.exists(os.path.join(session, "report.html")), "no page")


def table(place, logs, name):
    got = run([place.podprof(), "report", "--table", name, logs])
    check(got.code == 0, got.transcript())
    return list(csv.DictReader(io.StringIO(got.out)))


def names(place, full):
    """Each kernel of NCCL 2.18 to 2.32 under the name that CUPTI gives it: one of a collective, in the words of the source."""
    with open(NAMES, encoding="ascii") as f:
        mangled = [line.split()[1] for line in f if not line.startswith("#")]
    logs = place.new_logs()
    with tempfile.NamedTemporaryFile("w", suffix=".replay", encoding="ascii") as f:
        with open(FIXTURE, encoding="ascii") as head:
            f.writelines(line for line in head if line.startswith(("podprof", "device 0")))
        f.writelines(f"kernel 0 20 1000 500 96 0 82432 24x1x1 544x1x1 {name}\n" for name in mangled)
        f.flush()
        got = run(place.under(logs, [place.program("gpu_host"), "12", "1", "1", "pause,ready"]),
                  {"LD_LIBRARY_PATH": place.guest, "REPLAY_FIXTURE": f.name})
    check(got.code == 0, got.transcript())
    session_of(logs)
    rows = table(place, logs, "kernel")
    got = {row["name"]: row["activity"] for row in rows}
    wrong = [name for name, kind in got.items() if (kind == "Collective") != bool(re.match(r"nccl\w*Kernel_\w+\(", name))]
    check(not wrong and not any(name.startswith("_Z") for name in got), wrong[:3])
    # the builds of one file differ in a hash in the name, which its text has not
    local = {name for name in got if "oneRankReduce<FuncPreMulSum<" in name}
    check(len(got) - len(local) == sum("oneRankReduce" not in name for name in mangled) and len(local) >= 10, f"{len(got)} {len(local)}")
    check({row["op"] for row in rows} == {"layer"}, {row["op"] for row in rows})


def pools(place, full):
    """Each step makes and destroys the pools of pools.replay. What CUPTI refuses is missing, and the rest is there."""
    for env in ({}, {"REPLAY_FAIL": "kind50=27"}):
        logs = place.new_logs()
        got = run(place.under(logs, [place.program("gpu_host"), "12", "1", "1", "pause,ready"]),
                  {"LD_LIBRARY_PATH": place.guest, "REPLAY_FIXTURE": POOLS, **env})
        check(got.code == 0, got.transcript())
        session_of(logs)
        warnings = str(table(place, logs, "warning"))
        check(("some kinds of records are missing" in warnings) == bool(env), warnings)
        rows = [{name: int(value) if value else None for name, value in row.items()} for row in table(place, logs, "memory_pool")]
        both = {d: [r for r in rows if r["device"] == d and r["address"] == 0x5000] for d in (0, 1)}
        check(both[0] and both[1], f"no pool of a device: {rows}")
        check(max(r["most_bytes"] or 0 for r in both[0]) == 100663296 and max(r["most_used_bytes"] or 0 for r in both[0]) == 69206016, rows)
        check(all(r["threshold_bytes"] == MOST for r in both[1]), rows)
        if env:
            check(len(rows) == 2 and all(r["created_ns"] == r["destroyed_ns"] == NEVER and r["trims"] == 0 for r in rows), rows)
            continue
        # each step's first pool with this handle is trimmed, and has three allocations; the first step may not be recorded as a whole
        whole = [r for r in both[0] if r["trims"]]
        check(len(whole) >= 10 and all(r["trims"] == 1 and r["created_ns"] < r["destroyed_ns"] and r["allocations"] == 3 for r in whole[1:]), rows)
        check([r["number"] for r in both[0]] == list(range(len(both[0]))), rows)
        check(any(r["address"] == 0x6000 and r["is_imported"] and r["most_bytes"] is None for r in rows), rows)
        gone = [r for r in rows if r["address"] == 0x8000]
        check(len(gone) >= 10 and all(r["created_ns"] == NEVER and r["destroyed_ns"] > NEVER for r in gone), rows)
        check(not any(r["address"] == 0x7000 for r in rows) and "records of CUPTI have a kind or version" in warnings, warnings)


def identity(place, full):
    """Each rank's GPU by its own name, whatever its number; two ranks on one GPU, and slices, get a line."""
    one = "GPU-00102030-4050-6070-8090-a0b0c0d0e00"
    if not shutil.which(jobs.MPIRUN):
        raise Skipped("no mpirun")
    for env, uuids, pci, line in (({"REPLAY_FIRST_GPU": "$OMPI_COMM_WORLD_RANK"}, [one + "0", one + "1"], ["0000:1b:00.0", "0000:2b:00.0"], None),
                                  ({}, [one + "0"] * 2, ["0000:1b:00.0"] * 2, f"2 ranks share a GPU with another rank, for example ranks 0 and 1 {one}0"),
                                  ({"REPLAY_MIG": "1", "REPLAY_FIRST_GPU": "$OMPI_COMM_WORLD_RANK"}, ["MIG-08182838-4858-6878-8898-a8b8c8d8e80" + n for n in "01"],
                                   ["0000:1b:00.0", "0000:2b:00.0"], "2 ranks run on slices of GPUs (MIG)")):
        logs = place.new_logs()
        words = " ".join(f"{name}={value}" for name, value in env.items())
        with tempfile.NamedTemporaryFile("w", suffix=".replay", encoding="ascii") as f:
            with open(FIXTURE, encoding="ascii") as rows:
                f.writelines(line for line in rows if not re.match(r"(kernel|copy \w+|set|peer|device) 1 ", line))
            f.flush()
            got = run(place.under(logs, place.mpirun(2, ["sh", "-c", f"exec env {words} {place.program('gpu_host')} 12 1 1 pause,ready"])),
                      {"LD_LIBRARY_PATH": place.guest, "REPLAY_FIXTURE": f.name})
        check(got.code == 0, got.transcript())
        session_of(logs)
        rows = table(place, logs, "worker")
        check([row["device_uuid"] for row in rows] == uuids and [row["device_pci"] for row in rows] == pci, rows)
        check([row["device_number"] for row in rows] == ["0", "0"], rows)
        warnings = str(table(place, logs, "warning"))
        check(line in warnings if line else "share a GPU" not in warnings and "MIG" not in warnings, warnings)


def no_device(place, full):
    """A driver without a GPU, a CUPTI that fails: the job is recorded, and says nothing of a replay."""
    for env, text in (({"REPLAY_DEVICES": "0"}, ""), ({"REPLAY_FAIL": "cuptiSubscribe_v2=35"}, "not enough privileges")):
        summary = recorded(place, env, words="none,pause")[1]
        check("steps 0..9" in summary and "replay" not in summary and "Device compute  " not in summary, summary)
        check(text in summary, summary)


def at_exit(place, full):
    """Each rank ends in its window, after MPI_Finalize: nothing of CUPTI is called after its own destructors, and its last step has its kernels."""
    logs, after = place.new_logs(), os.path.join(place.scratch, "after")
    program = place.mpirun(2, [place.program("gpu_host"), "12", "1", "1", "mpi,pause,ready"])
    got = run(place.under(logs, program, "--steps", "2:50"), {"LD_LIBRARY_PATH": place.guest, "REPLAY_FIXTURE": FIXTURE, "REPLAY_AFTER": after})
    check(got.code == 0, got.transcript())
    with open(after, encoding="utf-8") as f:
        lines = f.read().splitlines()
    check(lines == ["gone"] * 2, f"calls after the destructors: {lines}")


CASES = {"plain": plain, "names": names, "pools": pools, "no_device": no_device, "identity": identity, "at_exit": at_exit}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Files that podprof wrote, read back: each rank with its own number, the steps of its window, calls, requests and memory.
Called by ctest unit.aggregate.xspace_own with the path of trace_dump and the folder of test_write's sample."""
import collections
import glob
import subprocess
import sys

failures = []


def check(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r}, not {want!r}")


ranks = {}
for path in sorted(glob.glob(sys.argv[2] + "/host/plugins/profile/sample/*.xplane.pb")):
    out = subprocess.run([sys.argv[1], "--spans", path], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    for cells in (line.split("\t") for line in out.splitlines()):
        if cells[0] == "capture":
            check(f"{path}: written by podprof", cells[4], "1")
        elif cells[0] == "rank":
            ranks[int(cells[1])] = collections.defaultdict(list)
            check(f"rank {cells[1]}: producer", cells[5], "podprof")
        elif cells[0] == "trace":
            check(f"{path}: damage", cells[3:6], ["0", "0", "0"])
        elif cells[0] == "span":
            ranks[int(cells[1])][cells[4]].append(cells[5:])
check("ranks", sorted(ranks), list(range(9)))
for rank, kinds in ranks.items():
    steps = kinds["step"]
    check(f"rank {rank}: steps", [(s[0], s[3]) for s in steps], [(f"step {n}", str(n)) for n in range(1, 7)])
    check(f"rank {rank}: ends of steps", [int(s[2]) for s in steps], [1000 + 1000000 * (n + 1) for n in range(1, 7)])
    calls = [s for s in kinds["mpi"] if s[0] == "MPI_Allreduce"]
    check(f"rank {rank}: communicators", {s[4] for s in calls}, {"4d"})
    check(f"rank {rank}: bytes", {(s[5], s[6]) for s in calls}, {("1000", "1000")})
    check(f"rank {rank}: sequence numbers", [s[7] for s in calls], [str(int(s[1]) // 1000000) for s in calls])
    check(f"rank {rank}: requests and async ranges", (bool(kinds["request"]), bool(kinds["async"])), (True, True))
for line in failures[:40]:
    print(line[:1000])
print(f"{len(failures)} failures")
sys.exit(bool(failures))

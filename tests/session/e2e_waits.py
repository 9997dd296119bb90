#!/usr/bin/python3
"""Sentences about waiting, of jobs whose culprit is known: imbalance behind messages, chains over communicators. Run by ctest session_waits."""
import os
import re
import sys

from e2e import check_dataset, good, read
import jobs
from jobs import Skipped, check, run, session_of


def printed(place, ranks, *words, mpi=()):
    """The summary's verdict, and the whole summary."""
    logs = place.new_logs()
    good(run(place.mpirun(ranks, place.under(logs, [place.program("waits"), *words]), *mpi)), 3 if "unmarked" in words else 2)
    session = session_of(logs)
    check_dataset(session, workers=ranks)
    said = read(session, "summary.txt")
    return next(line.strip() for line in said.splitlines() if line.startswith("  Bottleneck: ")), said


CULPRIT = r"rank 0, All others .*: [0-9.]+ m?s .* It makes the (usual )?step [0-9.]+ m?s longer"


def behind(place, full):
    """Most waiting is in MPI_Recv, for rank 0."""
    for marked in ("marked", "unmarked"):
        verdict, said = printed(place, 4, "behind", marked, "2")
        check(re.search(CULPRIT, verdict), said)


def behind_one(place, full):
    """Only rank 1 waits for rank 0, in MPI_Recv, and all others for rank 1: rank 0 is the culprit."""
    verdict, said = printed(place, 4, "behind_one", "marked", "2")
    check(re.search(CULPRIT, verdict) and "cores" not in verdict, said)


def chain(place, full):
    """Rank 0 is the culprit, on a communicator that the waiting ranks are not in."""
    verdict, said = printed(place, 4, "chain", "marked", "2")
    check(re.search(CULPRIT, verdict) and "cores" not in verdict, said)


def chain_three(place, full):
    """Two links: rank 2 is waited for by most, and waits for rank 1, which waits for rank 0."""
    verdict, said = printed(place, 5, "chain_three", "marked", "2")
    check(re.search(CULPRIT, verdict), said)


def messages(place, full):
    """In a pipeline rank 2 takes longest and rank 3 waits for it; in a farm the ranks wait for each other in turn, rank 0 delays nobody."""
    verdict, said = printed(place, 4, "pipeline", "marked", "2")
    check("Bottleneck: rank 2, All others" in verdict, said)
    verdict, said = printed(place, 4, "farm", "marked")
    check("Bottleneck: rank 0" not in verdict, said)


def shared(place, full):
    """Rank 1's core is another program's, too: said with the time that it was ready to run there without it. By priorities, so that it is the
    slower one where other programs have rank 0's core."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise Skipped("one core")
    if not os.path.exists("/proc/self/schedstat"):
        raise Skipped("this kernel counts no run queue")
    prior = [] if os.geteuid() else ["nice", "-n", "-10"]
    first, second = (" ".join(["exec", *how, "taskset", "-c", str(core)]) for how, core in ((prior, cores[1]), ([], cores[0])))
    pin = f"case $OMPI_COMM_WORLD_RANK in 1) {second} \"$@\" ;; *) {first} \"$@\" ;; esac"
    hogs = [jobs.start([*prior, "taskset", "-c", str(cores[0]), "sh", "-c", "while :; do :; done"]) for _ in range(1 if prior else 4)]
    try:
        logs = place.new_logs()
        good(run(place.mpirun(2, place.under(logs, ["sh", "-c", pin, "x", place.program("waits"), "spin", "marked"]))))
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    said = read(session_of(logs), "summary.txt")
    check(re.search(r"Bottleneck: rank 1, All others .*\. For a part of this it was ready to run and had no core", said), said)
    check("give rank 1 a core of its own" in said, said)


CASES = {"behind": behind, "behind_one": behind_one, "chain": chain, "chain_three": chain_three, "messages": messages, "shared": shared}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

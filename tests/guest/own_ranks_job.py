#!/usr/bin/python3
"""The same as own_ranks.c for Python: own_ranks_job.py START VARIABLE NUMBERS..., run by own_ranks.py. START: a start method of multiprocessing,
os.fork, subprocess, or groups (without a variable)."""
import multiprocessing
import os
import subprocess
import sys
import time

import podprof


def rendezvous(times, count):
    """All are there at once: each leaves a file in OWN_MEET, and waits for the others'."""
    with open(os.path.join(os.environ["OWN_MEET"], f"{os.getpid()}-{times}"), "w"):
        pass
    while len(os.listdir(os.environ["OWN_MEET"])) < count:
        time.sleep(0.002)


def train(count, variable="", number=""):
    if variable:
        os.environ[variable] = number
    with podprof.range("before"):
        pass
    for i in podprof.steps(range(6)):
        with podprof.range("work", podprof.Category.HOST_COMPUTE):
            time.sleep(0.002)
        if not i:
            rendezvous(0, count)
    rendezvous(1, 2 * count)


def wait_for(*words):
    while not os.path.exists(os.path.join(os.environ["OWN_MEET"], "-".join(words))):
        time.sleep(0.002)


def write_line(*words):
    with open(os.path.join(os.environ["OWN_MEET"], "-".join(words)), "w"):
        pass


def member(rank):
    """A rank by its process group, which marks before it is in it: rank 1 has done both when rank 0 joins."""
    from podprof import _library

    shim = _library.shim()
    if rank == "0":
        wait_for("marked", "1")
    with podprof.range("before"):
        pass
    write_line("marked", rank)
    if rank == "0":
        wait_for("joined", "1")
    else:
        wait_for("marked", "0")
    if shim:
        shim.claim_group(int(rank), 2, 1)
    write_line("joined", rank)
    for i in podprof.steps(range(6)):
        time.sleep(0.002)
    write_line("ended", rank)
    wait_for("ended", str(1 - int(rank)))


def fork(count, variable, number):
    pid = os.fork()
    if pid:
        return pid
    train(count, variable, number)
    sys.stdout.flush()
    os._exit(0)


def main():
    start, variable, *numbers = sys.argv[1:]
    count = len(numbers)
    if start == "train":
        return train(int(variable))
    if start == "member":
        return member(variable)
    if start == "groups":
        numbers = [variable, *numbers]
    if start == "fork_by_hand":
        statuses = [os.waitpid(pid, 0)[1] for pid in [fork(count, variable, n) for n in numbers]]
    elif start == "groups":
        jobs = [subprocess.Popen([sys.executable, __file__, "member", n]) for n in numbers]
        statuses = [job.wait() for job in jobs]
    elif start == "subprocess":
        jobs = [subprocess.Popen([sys.executable, __file__, "train", str(count)], env={**os.environ, variable: n}) for n in numbers]
        statuses = [job.wait() for job in jobs]
    else:
        jobs = [multiprocessing.get_context(start).Process(target=train, args=(count, variable, n)) for n in numbers]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        statuses = [job.exitcode for job in jobs]
    print("a child failed" if any(statuses) else "all ended")
    return any(statuses)


if __name__ == "__main__":
    sys.exit(main())

"""What a session says that cannot be true, of a program that ended well: by what its own tables contradict. Used by mpich_suite.py."""
import collections
import os
import re

import h5py


def text(values):
    return [v.decode() if isinstance(v, bytes) else str(v) for v in values]


def faults(session):
    """[(kind, sentence)] of a session directory; none where nothing contradicts anything."""
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        summary = f.read()
    with h5py.File(os.path.join(session, "pod.h5"), "r") as pod:
        found = quality(pod) + times(pod) + sentences(summary)
        # Calls may be in the file without their fellows where records are missing: lost, or more than the window's buffer holds.
        return found if pod["quality/dropped"][()].any() else found + collectives(pod)


def quality(pod):
    found, group = [], pod["quality"]
    if group["violations"][()]:
        found.append(("violations", f"{group['violations'][()]} collectives ended before a rank that they need had come"))
    causes = text(group["cause"][()])
    for cause, lost in zip(causes, group["dropped"][()].sum(axis=0)):
        if lost and cause != "evicted":
            found.append(("lost", f"{lost} records lost: {cause}"))
    if len(group["missing"]) if "missing" in group else 0:
        found.append(("missing", f"ranks {list(group['missing'][()])} are missing"))
    for line in text(group["warning"][()]) if "warning" in group else []:
        if re.search("two calls of one rank|of different names|does not record|completion of|incomplete|overlaps? another", line):
            found.append(("warning", line))
    return found


def collectives(pod):
    """Operations that not all members of their communicator made, and operations that join calls of two names: ranks' counts tell. Of a
    message only two ranks have rows, by one name, and its receiver called another one."""
    if "collective" not in pod:
        return []
    found, group = [], pod["collective"]
    sizes = {}
    for one, size, role in zip(pod["communicator/id"][()], pod["communicator/size"][()], text(pod["communicator/role"][()])):
        sizes[one] = int(size) if role in ("world", "self", "part") else 0
    names, first, count = text(group["operation"][()]), group["row_first"][()], group["row_count"][()]
    workers = group["worker"][()]
    unmatched, joined = collections.Counter(), collections.Counter()
    for comm, name, ranks, begin, rows, message in zip(group["communicator"][()], names, group["ranks"][()], first, count, group["message"][()]):
        if message:
            continue
        if sizes.get(comm, 0) > ranks:
            unmatched[name] += 1
        for worker in workers[int(begin):int(begin + rows)]:
            joined[name, int(worker)] += 1
    found += [("unmatched", f"{n} {name} without some of their communicator's ranks") for name, n in sorted(unmatched.items())]
    if pod["step/number"].shape != (1,):  # /op is of the calls in steps only
        return found
    op = pod["op"]
    called, known = collections.Counter(), text(op["name"][()])
    for one, worker, n in zip(op["row_op"][()], op["worker"][()], op["calls"][()]):
        called[known[one], int(worker)] += int(n)
    for (name, worker), n in sorted(joined.items()):
        if n > called[name, worker]:
            found.append(("mixed", f"{n} {name} joined of rank {worker}, which called it {called[name, worker]} times"))
    return found


def times(pod):
    found, group = [], pod["breakdown"]
    waited, late = (int(group[n][()].clip(0).sum()) for n in ("wait_ns", "late_ns"))
    if waited != late:
        found.append(("times", f"ranks waited {waited} ns, and were waited for {late} ns"))
    if (group["exclusive_ns"][()].sum(axis=2) != group["step_ns"][()]).any():
        found.append(("times", "categories do not add up to the step"))
    if any((group[n][()] < 0).any() and (group[n][()][group[n][()] < 0] != group[n].attrs.get("_FillValue", 0)).any() for n in ("exclusive_ns", "wait_ns", "transfer_ns", "late_ns")):
        found.append(("times", "a time is negative"))
    return found


def sentences(summary):
    found = []
    for line in summary.splitlines():
        if re.search(r"\b[Rr]ank (\d+)\b[^,;]*\bwait(?:s|ed)?\b[^,;]*\bfor rank \1\b", line):
            found.append(("itself", line.strip()))
        if re.search(r"\b(nan|inf)\b|-\d+(\.\d+)? (ns|us|ms|s)\b|\b1\d\d\d+(\.\d)? %", line):
            found.append(("number", line.strip()))
    return found

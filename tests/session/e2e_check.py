#!/usr/bin/python3
"""podprof report --check: a session that was recorded holds all rules, and each value that is changed breaks exactly the rules about it. Run by
ctest session_check."""
import os
import re
import shutil
import sys

import h5py

from e2e import good, h5
import jobs
from jobs import check, run, session_of

HERE = os.path.dirname(os.path.abspath(__file__))


def rules():
    """{sentence: name} of the rows of check.def."""
    with open(os.path.join(HERE, "..", "..", "aggregate", "report", "check.def"), encoding="utf-8") as f:
        return {what: name for name, what in re.findall(r'^PP_CHECK\((\w+), "(.*)"\)$', f.read(), re.M)}


def first(values):
    """Place of the first value above 0."""
    return tuple(int(i[0]) for i in (values > 0).nonzero())


def add(path, by=1):
    """One more in the first value that is not 0."""
    def change(f):
        at = first(f[path][()])
        f[path][at] += by
    return change


def above(path, limit, by=1):
    """The first value goes beyond that of another column."""
    def change(f):
        at = first(f[limit][()]) if (f[limit][()] > 0).any() else 0
        f[limit][at] = max(f[limit][at], 0)  # it may be unknown
        f[path][at] = f[limit][at] + by
    return change


def waits_for_itself(f):
    at = first(f["collective/exposed_wait_ns"][()])
    f["collective/late_rank"][at] = f["collective/worker"][at]


def starts_elsewhere(f):
    """A scenario whose replay begins with another step time than the job had."""
    more = f["what_if/before_ns"][0] // 10
    f["what_if/before_ns"][0] += more
    f["what_if/after_ns"][0] += more


def share(path, value):
    def change(f):
        f[path][0] = value
    return change


CHANGES = [
    ("cells", add("breakdown/exclusive_ns")),
    ("communication", add("breakdown/transfer_ns", 10**12), "budget"),
    ("late", add("breakdown/late_ns")),
    ("arrivals", add("collective/exposed_wait_ns")),
    ("self", waits_for_itself),
    ("collectives", above("collective/exposed_ns", "collective/device_ns")),
    ("collectives", add("collective/waited_ns")),
    ("budget", add("budget/time_ns")),
    ("blame", add("blame/blame_ns"), "blame_steps"),
    ("blame", above("blame/direct_ns", "blame/blame_ns")),
    ("blame_steps", add("blame_step/step_blame_ns")),
    ("what_if", starts_elsewhere),
    ("what_if", add("what_if/gain_ns")),
    ("efficiency", share("efficiency/load_balance", 0.001)),
    ("efficiency", share("efficiency/transfer", float("nan"))),
    ("operators", above("op/self_ns", "op/total_ns")),
    ("slowest", add("slowest/over_ns", 10**15)),
    ("shares", share("op_stats/host_self_percent", 101)),
    ("shares", share("finding/chance", 1.5)),
]


def changed(place, full):
    logs = place.new_logs()
    command = [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "60", "--slow-rank", "2", "--slow-us", "4000"]
    good(run(place.mpirun(3, place.under(logs, command))))
    session, of = session_of(logs), rules()
    got = run([place.podprof(), "report", "--check", logs])
    check(got.code == 0 and got.out == f"all {len(of)} rules hold\n", got.transcript())
    with h5(session) as f:
        check("what_if" in f and "blame" in f, list(f))
    copy = os.path.join(place.new_logs(), "podprof", "copy")
    os.makedirs(copy)
    place.changed.add(os.path.join(copy, "pod.h5"))
    for rule, change, *more in CHANGES:
        shutil.copy(os.path.join(session, "pod.h5"), copy)
        with h5py.File(os.path.join(copy, "pod.h5"), "r+") as f:
            change(f)
        got = run([place.podprof(), "report", "--check", copy])
        broken = [of.get(line[:-1], line) for line in got.out.splitlines() if not line.startswith("  ")]
        check(got.code == 2 and set(broken) == {rule, *more}, f"{rule}: broken are {broken}: {got.transcript()}")
        check(len(got.out.splitlines()) == 2 * len(broken), f"{rule}: one value breaks each rule once: {got.out}")
    check({rule for rule, *_ in CHANGES} == set(of.values()), "a rule without a change")


def refused(place, full):
    """What is no session has exit code 1, and options that print something else are not combined with it."""
    logs = os.path.join(place.new_logs(), "podprof", "none")
    os.makedirs(logs)
    place.changed.add(os.path.join(logs, "pod.h5"))
    with open(os.path.join(logs, "pod.h5"), "w", encoding="ascii") as f:
        f.write("no dataset")
    got = run([place.podprof(), "report", "--check", logs])
    check(got.code == 1 and not got.out and len(got.podprof_lines()) == 1, got.transcript())
    older = place.new_logs()
    good(run(place.under(older, [place.program("steps"), "20", "5"])))
    place.changed.add(os.path.join(session_of(older), "pod.h5"))
    with h5py.File(os.path.join(session_of(older), "pod.h5"), "r+") as f:
        f.attrs["format_version"] = 2
    got = run([place.podprof(), "report", "--check", older])
    check(got.code == 1 and not got.out and "an older podprof made it" in got.err and len(got.podprof_lines()) == 1, got.transcript())
    for option in (["--json"], ["--list"], ["--table", "blame"], ["--html", "x.html"]):
        got = run([place.podprof(), "report", "--check", *option, logs])
        check(got.code == 64 and "--check cannot be combined" in got.err, got.transcript())


if __name__ == "__main__":
    sys.exit(jobs.main({"changed": changed, "refused": refused}, __doc__))

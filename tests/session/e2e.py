"""What the end-to-end drivers share: running the examples under podprof and checks of every pod.h5. Used by e2e_*.py."""
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))

import h5py  # noqa: E402
import jobs  # noqa: E402
from jobs import check  # noqa: E402

CATEGORIES = ["Device compute", "Device to device", "Device collective communication", "Host compute", "Kernel launch", "Input",
              "Output", "Compilation", "All others", "Host communication"]


def h5(session):
    return h5py.File(os.path.join(session, "pod.h5"), "r")


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def read(session, name):
    """A file of the session. The keeper writes the page last, when the job may have its session already."""
    check(jobs.wait_until(lambda: os.path.exists(os.path.join(session, name)), 30), f"no {name} in {session}")
    with open(os.path.join(session, name), encoding="utf-8") as f:
        return f.read()


def xspaces(logs, session):
    directory = os.path.join(logs, "plugins", "profile", os.path.basename(session))
    return sorted(n for n in os.listdir(directory)) if os.path.isdir(directory) else []


def on_this_node(got, ranks, hosts=1):
    """The session of a job whose log directory failed is where the sentence says, with all its files. That log directory."""
    where = re.search(r"the session is in '(/(?:var/)?tmp/podprof-sessions-[0-9]+)' of ", got.err)
    check(where, got.transcript())
    session = re.search(re.escape(where[1]) + r"/podprof/[^ :\n]+", got.err)[0]
    check_dataset(session, ranks)
    check(read(session, "report.html") and len(xspaces(where[1], session)) == hosts, f"{got.transcript()}\n{jobs.tree(where[1])}")
    return where[1]


def check_dataset(session, workers=None, steps=None, lines=69):
    """What holds for every dataset."""
    with h5(session) as f:
        check(text(f.attrs["format"]) and int(f.attrs["format_version"]) >= 1, "format attributes")
        check(text(f.attrs["session"]) == os.path.basename(session), f"session {f.attrs['session']}")
        b = f["breakdown"]
        exclusive, step_ns, present = b["exclusive_ns"][()], b["step_ns"][()], b["present"][()]
        count, width, categories = exclusive.shape
        check(categories == 10 and step_ns.shape == (count, width) == present.shape, f"shapes {exclusive.shape}, {step_ns.shape}")
        check([text(c) for c in b["category"][()]] == CATEGORIES, f"categories {b['category'][()]}")
        check(exclusive.dtype == "int64" and step_ns.dtype == "int64", "times are not int64")
        wrong = abs(exclusive.sum(axis=2) - step_ns) > 1
        check(not wrong.any(), f"{int(wrong.sum())} cells do not add up: {exclusive[wrong][:2]} {step_ns[wrong][:2]}")
        check((exclusive >= 0).all() and (step_ns[present == 1] > 0).all(), "a negative or empty time")
        check(not exclusive[present == 0].any() and not step_ns[present == 0].any(), "an absent cell is not 0")
        wait, transfer, unknown = b["wait_ns"][()], b["transfer_ns"][()], -2**63
        check(b["wait_ns"].attrs["_FillValue"] == unknown and (wait[present == 0] == unknown).all(), "an absent cell's waiting is known")
        check(((wait == unknown) | (transfer != unknown)).all(), "waiting is known, and transfer is not")
        exposed = exclusive[:, :, 2] + exclusive[:, :, 9]
        check((wait[wait != unknown] >= 0).all() and (transfer[transfer != unknown] >= 0).all(), "negative waiting")
        wait, transfer = wait.clip(0), transfer.clip(0)
        check((wait + transfer <= exposed + 1).all(), "waiting and transfer are more than the exposed communication")
        begin, end = f["step/begin_ns"][()], f["step/end_ns"][()]
        check(begin.shape == (count, width), f"/step {begin.shape}")
        check((abs(end - begin - step_ns)[present == 1] <= 1).all(), "/step and /breakdown differ")
        if workers is not None:
            check(list(f["worker/rank"][()]) == list(range(workers)), f"ranks {f['worker/rank'][()]}")
            check(list(b["worker"][()]) == list(range(workers)), f"breakdown's workers {b['worker'][()]}")
        if steps is not None:
            check([int(n) for n in b["step"][()]] == list(steps), f"steps {list(b['step'][()])}")
        for group in ("clock", "quality", "worker", "step", "breakdown"):
            check(group in f, f"no group {group}")
    count = len(read(session, "summary.txt").splitlines())
    check(0 < count <= lines, f"summary.txt has {count} lines, at most {lines} are wanted")


def train(place, logs, ranks=8, words=(), options=()):
    """examples/c_mpi_train under podprof."""
    program = os.path.join(place.bin, "c_mpi_train")
    checkpoint = os.path.join(place.scratch, "checkpoint")
    return jobs.run(place.mpirun(ranks, place.under(logs, [program, "--checkpoint", checkpoint, *words], *options)))


def good(got, lines=2):
    """A clean end: code 0, the application's own output, at most `lines` lines of podprof and nothing else on stderr."""
    check(got.code == 0 and not got.timed_out, got.transcript())
    check(len(got.podprof_lines()) == lines and not got.other_err(), f"stderr is not {lines} lines of podprof: {got.err}")


def median(values):
    return statistics.median([int(v) for v in values])

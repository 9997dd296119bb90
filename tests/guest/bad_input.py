#!/usr/bin/python3
"""Mistakes and odd data: each job ends with its own exit code, and podprof says a clear sentence or counts what it lost.
Run by ctest bad_input."""
import os
import subprocess
import sys

import jobs
from guest_more import h5, text
from jobs import Skipped, check, compare, run, session_of, sessions


def refused(place, words, *sentence):
    """Mistakes on podprof's own command line: 64, one clear line, and the application never starts."""
    proof = os.path.join(place.scratch, "started")
    got = run([place.podprof(), *words, "--", "/bin/touch", proof])
    check(got.code == 64, f"exit code {got.code}, not 64: {got.transcript()}")
    check(not os.path.exists(proof), "the application was started")
    check(got.out == "", f"stdout: {got.out}")
    check(all(s in got.err for s in sentence), f"{sentence} is not in: {got.err}")


def unknown_option(place, full):
    refused(place, ["run", "--stesp", "1:2"], "--steps")
    refused(place, ["run", "--outptu", "x"], "--output")
    got = run([place.podprof(), "rnu"])
    check(got.code == 64 and "run" in got.err, got.transcript())


def bad_values(place, full):
    for bad in ("20:10", "10:10", "a:b", "10", "-3:5", "1:99999999999999999999", ":"):
        refused(place, ["run", "--steps", bad], "steps")
    refused(place, ["run", "--ring-size", "lots"], "ring-size")
    refused(place, ["run", "--wait", "-1"], "wait")
    refused(place, ["run", "--xspace", "planet"], "xspace")
    refused(place, ["run", "--session", "../../etc"], "session")


def no_command(place, full):
    for words in (["run"], ["run", "-o", place.new_logs(), "--"]):
        got = run([place.podprof(), *words])
        check(got.code == 64 and got.err.strip(), got.transcript())


def not_found(place, full):
    got = run(place.under(place.new_logs(), ["/no/such/program"]))
    check(got.code == 127 and len(got.podprof_lines()) == 1 and "/no/such/program" in got.err, got.transcript())
    plain = os.path.join(place.scratch, "plain.txt")
    with open(plain, "w") as f:
        f.write("text\n")
    os.chmod(plain, 0o644)
    got = run(place.under(place.new_logs(), [plain]))
    check(got.code == 126 and len(got.podprof_lines()) == 1, got.transcript())


def unprofiled(place, logs, env=None, lines=2):
    """The job runs as without podprof, and podprof says one sentence about its log directory."""
    command = [place.program("mpi_ends"), "normal"]
    base = run(place.mpirun(4, command), env)
    got = run(place.mpirun(4, place.under(logs, command)), env)
    wrong = compare(base, got)
    check(not wrong, "; ".join(wrong) + "\n" + got.transcript())
    said = got.podprof_lines()
    check(1 <= len(said) <= lines, f"{len(said)} lines of podprof: {got.err}")
    return said


def logs_in_the_way(place, full):
    """A file where the log directory should be (root may write everywhere else)."""
    blocker = os.path.join(place.scratch, "blocker")
    with open(blocker, "w") as f:
        f.write("in the way\n")
    said = unprofiled(place, blocker)
    check("blocker" in said[0], said)
    said = unprofiled(place, os.path.join(blocker, "deeper"))
    check("blocker" in said[0], said)


def mounted(place, options):
    where = os.path.join(place.scratch, "small")
    os.makedirs(where, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", where], capture_output=True).returncode:
        raise Skipped("mounting a tmpfs needs root")
    return where


def logs_read_only(place, full):
    where = mounted(place, "ro,size=1m")
    try:
        said = unprofiled(place, os.path.join(where, "logs"))
        check("small" in said[0] and "ead-only" in said[0], said)
    finally:
        subprocess.run(["umount", "-l", where], capture_output=True)


def logs_full(place, full):
    """No space for the files: said by rank 0 at the end, no half file is left under its final name, and the session is on the node."""
    where = mounted(place, "size=64k")
    try:
        said = unprofiled(place, os.path.join(where, "logs"), lines=3)
        check("space" in said[-1] and "the session is in '" in said[-1], said)
        left = jobs.tree(where)  # what is there under its name is whole (tests/torture/disk.py), and named
        check(not any(n.endswith(".part") for n in left), left)
        check(all(os.path.basename(n) in said[-1].replace("XSpace", os.path.basename(n)) for n in left), (left, said))
    finally:
        subprocess.run(["umount", "-l", where], capture_output=True)


def crash_before_init(place, full):
    command = [place.program("mpi_ends"), "crash_early"]
    base = run(place.mpirun(4, command))
    got = run(place.mpirun(4, place.under(place.new_logs(), command)))
    wrong = compare(base, got)
    check(got.code == 134 and not wrong, "; ".join(wrong) + "\n" + got.transcript())


def different_options(place, full):
    """Two halves with different options: one set holds, and the job is the same."""
    command = [place.program("mpi_ends"), "normal"]
    logs = place.new_logs()
    got = run(place.mpirun(2, [*place.under(logs, command, "--steps", "2:5"), ":", "-n", "2",
                               *place.under(logs, command, "--steps", "6:9")]))
    check(got.code == 0 and len(got.sorted_out()) == 4, got.transcript())
    session_of(logs)


def one(place, words, env=None, ranks=None, code=0, options=()):
    """A job of one process, or of `ranks`; its session."""
    logs = place.new_logs()
    command = [place.program(words[0]), *words[1:]]
    under = place.under(logs, command, *options)
    got = run(place.mpirun(ranks, under) if ranks else under, env, 120)
    check(got.code == code and not got.other_err() and not got.timed_out, got.transcript())
    return session_of(logs, 30), got


def steps_of(f):
    return [int(n) for n in f["breakdown/step"][()]]


def sums_are_exact(f):
    """Categories add up to the step to 1 ns wherever a step is present; elsewhere all is 0."""
    exclusive, step, present = f["breakdown/exclusive_ns"][()], f["breakdown/step_ns"][()], f["breakdown/present"][()]
    wrong = abs(exclusive.sum(axis=2) - step) > 1
    check(not wrong.any(), f"{int(wrong.sum())} cells do not add up")
    check(not exclusive[present == 0].any() and not step[present == 0].any(), "an absent cell is not 0")
    check((exclusive >= 0).all(), "a negative time")


def one_rank(place, full):
    session, _ = one(place, ["odd_marks", "steps", "20"], options=["--steps", "5:10"])
    with h5(session) as f:
        check(steps_of(f) == [5, 6, 7, 8, 9], steps_of(f))
        sums_are_exact(f)


def rank_without_step(place, full):
    session, _ = one(place, ["odd_marks", "some_steps", "10"], ranks=3)
    with h5(session) as f:
        check(len(f["breakdown/worker"]) >= 2, "workers are missing")
        sums_are_exact(f)


def no_events(place, full):
    """Nothing was recorded, in a job that is a rank (MPI) and in one that never was."""
    logs = place.new_logs()
    got = run(place.under(logs, [place.program("odd_marks"), "nothing"]))
    check(got.code == 0 and not got.other_err() and len(got.podprof_lines()) <= 2, got.transcript())
    got = run(place.mpirun(3, place.under(place.new_logs(), ["/bin/true"])))
    check(got.code == 0 and not got.other_err(), got.transcript())


def steps_never_reached(place, full):
    """Asked for steps that do not come: nothing was recorded, and podprof says why."""
    logs = place.new_logs()
    got = run(place.mpirun(2, place.under(logs, [place.program("odd_marks"), "steps", "5"], "--steps", "100:110", "--wait", "60")))
    check(got.code == 0 and not got.other_err() and got.seconds < 50, got.transcript())  # --wait is longer
    check(any("100:110" in line and "last marked step is 4" in line for line in got.podprof_lines()), got.transcript())
    train = os.path.join(place.bin, "c_mpi_train")
    if os.path.exists(train):  # MPI calls in front of its first mark are recorded: they are no session
        got = run(place.mpirun(2, place.under(logs, [train, "--quiet", "--steps", "20"], "--steps", "100:110")))
        check(got.code == 0 and not sessions(logs), got.transcript())
        check(any("100:110" in line and "last marked step is 19" in line for line in got.podprof_lines()), got.transcript())


def many_ranges(place, full):
    """So many records that some may be lost: then they are counted, and the first table says so."""
    count = 10_000_000 if full else 200_000
    session, _ = one(place, ["odd_marks", "many", str(count)], options=["--wait", "60"])
    with h5(session) as f:
        sums_are_exact(f)


def long_names(place, full):
    session, _ = one(place, ["odd_marks", "long_names"])
    with h5(session) as f:
        sums_are_exact(f)


def no_utf8(place, full):
    session, _ = one(place, ["odd_marks", "no_utf8"])
    with open(os.path.join(session, "summary.txt"), "rb") as f:
        f.read().decode("utf-8")
    with h5(session) as f:
        sums_are_exact(f)
        for name in f.get("op", {}):
            if f["op"][name].dtype.kind in "SO":
                for value in f["op"][name][()]:
                    text(value).encode("utf-8")


def deep(place, full):
    session, _ = one(place, ["odd_marks", "deep"])
    with h5(session) as f:
        sums_are_exact(f)


def unbalanced(place, full):
    session, _ = one(place, ["odd_marks", "unbalanced"])
    with h5(session) as f:
        sums_are_exact(f)
        quality = f["quality"]
        check("unbalanced" in quality_text(quality), f"unbalanced is not counted: {quality_text(quality)[:400]}")


def quality_text(group):
    """All of /quality as one text: names, attributes, values."""
    parts = []

    def visit(name, item):
        parts.append(name)
        parts.extend(f"{k}={text(v)}" for k, v in item.attrs.items() if not k.isupper())
        if hasattr(item, "shape"):
            value = item[()]
            parts.extend(text(v) for v in (value.ravel() if hasattr(value, "ravel") else [value]))

    parts.extend(f"{k}={text(v)}" for k, v in group.attrs.items())
    group.visititems(visit)
    return "\n".join(parts)


def backwards(place, full):
    session, _ = one(place, ["odd_marks", "backwards"])
    with h5(session) as f:
        sums_are_exact(f)


def bad_categories(place, full):
    session, _ = one(place, ["odd_marks", "bad_categories"])
    with h5(session) as f:
        sums_are_exact(f)


def bad_environment(place, full):
    """An unknown or bad PODPROF_* of the user: refused before the application, or said; never a crash."""
    got = run(place.under(place.new_logs(), ["/bin/true"]), {"PODPROF_STEPS": "9:3"})
    check(got.code in (0, 64) and got.err.strip(), got.transcript())


CASES = {
    "unknown_option": unknown_option, "bad_values": bad_values, "no_command": no_command, "not_found": not_found,
    "logs_in_the_way": logs_in_the_way, "logs_read_only": logs_read_only, "logs_full": logs_full, "crash_before_init": crash_before_init,
    "different_options": different_options, "one_rank": one_rank, "rank_without_step": rank_without_step, "no_events": no_events,
    "steps_never_reached": steps_never_reached, "many_ranges": many_ranges, "long_names": long_names, "no_utf8": no_utf8, "deep": deep,
    "unbalanced": unbalanced, "backwards": backwards, "bad_categories": bad_categories, "bad_environment": bad_environment,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Where steps come from: podprof's marks, a repeating NVTX range, the pattern of collectives, or the window as one step; each says its rule. Run by ctest session_rules."""
import os
import shutil
import sys

from e2e import check_dataset, good, h5, read, text, train, xspaces
import jobs
from jobs import Skipped, check, run, session_of


def rules(session):
    with h5(session) as f:
        return {text(s).lower() for s in f["worker/step_rule"][()]}


def never_marks(place, full):
    """--steps asked of a program that marks none: the whole run is one step, said in the summary and in /quality."""
    logs = place.new_logs()
    got = run(place.mpirun(4, place.under(logs, [place.program("zoo_program")], "--steps", "10:20")))
    check(got.code == 0 and not got.other_err(), got.transcript())
    session = session_of(logs)
    check_dataset(session, workers=4)
    check(rules(session) == {"window"}, rules(session))
    with h5(session) as f:
        check(f["breakdown/step"].shape == (1,), f["breakdown/step"].shape)
        said = []
        f["quality"].visititems(lambda name, item: said.append(str(item[()]) if hasattr(item, "shape") else ""))
        said.extend(f"{k} {v}" for k, v in f["quality"].attrs.items())
        check("step" in " ".join(said), f"/quality says nothing of steps: {said}")
    check("one step" in read(session, "summary.txt") or "no step" in read(session, "summary.txt"), read(session, "summary.txt"))


def nvtx(place, options=()):
    program = place.program("nvtx_marks")
    if not os.path.exists(program):
        raise Skipped("no nvtx3 headers")
    logs = place.new_logs()
    got = run(place.mpirun(3, place.under(logs, [program, "steps"], *options)))
    check(got.code == 0 and not got.other_err(), got.transcript())
    session = session_of(logs)
    check_dataset(session, workers=3)
    check(rules(session) == {"range: step"}, rules(session))
    with h5(session) as f:
        return [int(n) for n in f["breakdown/step"][()]], f["breakdown/exclusive_ns"][()]


def nvtx_library(place, full):
    """Ranges of a library's domain are never the step; the same ranges of the program's own domain are."""
    program = place.program("nvtx_marks")
    if not os.path.exists(program):
        raise Skipped("no nvtx3 headers")
    for domain, rule in (("dnnl::primitive", "window"), ("NCCL", "window"), ("solver", "range: inner_product")):
        logs = place.new_logs()
        got = run(place.mpirun(2, place.under(logs, [program, "library", domain])))
        check(got.code == 0 and not got.other_err(), got.transcript())
        session = session_of(logs)
        check(rules(session) == {rule}, (domain, rules(session)))
        with h5(session) as f:
            check(len(f["breakdown/step"][()]) == (1 if rule == "window" else 40), (domain, f["breakdown/step"][()]))


def nvtx_all(place, full):
    numbers, times = nvtx(place)
    check(numbers == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) >= 28, numbers)
    check(times[:, :, 3].all(), "a step without host compute")


def nvtx_window(place, full):
    numbers, _ = nvtx(place, ["--steps", "10:20"])
    check(numbers == list(range(10, 20)), numbers)


def unmarked(place, words, options=()):
    logs = place.new_logs()
    got = run(place.mpirun(4, place.under(logs, [place.program("unmarked"), *words], *options)))
    check(got.code == 0 and not got.other_err(), got.transcript())
    session = session_of(logs)
    check_dataset(session, workers=4)
    return logs, session


def late_one(f, row):
    """Rank 2 was 60 ms late in it, and no rank left it earlier; others may have begun it later by as much as they wait for a core."""
    begin, end = f["step/begin_ns"][row], f["step/end_ns"][row]
    check((end >= begin[2] + 60000000).all(), f"step 25 is not the late one: {f['breakdown/step_ns'][row]}")


def period(place, full):
    """The pattern of collectives: 40 steps on all ranks, each with its own collectives, the late one at its place."""
    logs, session = unmarked(place, ["loop"])
    check(rules(session) == {"collective_period"}, rules(session))
    with h5(session) as f:
        check(list(f["breakdown/step"][()]) == list(range(40)), f["breakdown/step"][()])
        check(f["breakdown/present"][()].all(), "a step is missing on a rank")
        late_one(f, 25)
        confidence = f["worker/step_confidence"][()]
        check(((confidence > 0.5) & (confidence < 0.7)).all(), confidence)
        names = {}
        for step, name in zip(f["collective/step"][()], f["collective/operation"][()]):
            names.setdefault(int(step), []).append(text(name))
        for step in range(40):
            want = 4 + (4 if step and step % 10 == 0 else 0)  # an evaluation belongs to the step behind it
            check(len(names[step]) == want, f"step {step}: {names[step]}")
    check("collective_period" in read(session, "summary.txt"), read(session, "summary.txt"))
    check(len(xspaces(logs, session)) == 1, xspaces(logs, session))


def period_window(place, full):
    """--steps of a job that marks none: found while it runs."""
    _, session = unmarked(place, ["loop"], ["--steps", "22:27"])
    check("found while the job ran" in read(session, "summary.txt"), read(session, "summary.txt"))
    check(rules(session) == {"collective_period"}, rules(session))
    with h5(session) as f:
        check(list(f["breakdown/step"][()]) == list(range(22, 27)), f["breakdown/step"][()])
        check(f["breakdown/present"][()].all(), "a step is missing on a rank")
        late_one(f, 3)


def period_online(place, full):
    """--step-rule collectives: the window is found while the job runs, and no more than it is recorded."""
    _, session = unmarked(place, ["loop"], ["--steps", "22:27", "--step-rule", "collectives"])
    check(rules(session) == {"collective_period"}, rules(session))
    with h5(session) as f:
        check(list(f["breakdown/step"][()]) == list(range(22, 27)), f["breakdown/step"][()])
        check(f["breakdown/present"][()].all(), "a step is missing on a rank")
        late_one(f, 3)
        records = f["quality/records"][()]
    _, whole = unmarked(place, ["loop"])
    with h5(whole) as f:
        check((records < 0.6 * f["quality/records"][()]).all(), f"{records} records, {f['quality/records'][()]} of the whole run")
    _, early = unmarked(place, ["loop"], ["--steps", "1:3", "--step-rule", "collectives"])
    check(rules(early) == {"collective_period"}, rules(early))
    with h5(early) as f:
        check(list(f["breakdown/step"][()]) == [1, 2], f["breakdown/step"][()])


def period_missing(place, full):
    """--step-rule collectives of a job whose collectives do not repeat: the job's lines say so."""
    logs = place.new_logs()
    got = run(place.mpirun(4, place.under(logs, [place.program("unmarked"), "none"], "--steps", "22:27", "--step-rule", "collectives")))
    session = session_of(logs)
    check(rules(session) == {"window"}, rules(session))
    check("podprof: --step-rule collectives: no repeating pattern was found in the messages and the collectives on MPI_COMM_WORLD, so the run is "
          "treated as one step" in got.err, got.transcript())
    got = run(place.under(place.new_logs(), ["/bin/true"], "--step-rule", "collectives"))
    check(got.code == 64 and "needs --steps" in got.err and len(got.err.splitlines()) == 1, got.transcript())


def period_marked(place, full):
    """A real mark wins, whatever was asked for."""
    logs = place.new_logs()
    got = train(place, logs, 4, [], ["--steps", "10:12", "--step-rule", "collectives"])
    check(got.code == 0 and not got.other_err(), got.transcript())
    session = session_of(logs)
    check_dataset(session, workers=4, steps=[10, 11])
    check(rules(session) == {"podprof_step"}, rules(session))


def period_then_marks(place, full):
    """The rounds of a warm-up repeat, and then the program marks steps: its marks count, from their own step 0."""
    for options in ((), ("--step-rule", "collectives")):
        _, session = unmarked(place, ["late"], ["--steps", "18:25", *options])
        check(rules(session) == {"podprof_step"}, (options, rules(session)))
        with h5(session) as f:
            check(list(f["breakdown/step"][()]) == list(range(18, 25)), (options, f["breakdown/step"][()]))
            check(f["breakdown/present"][()].all(), (options, "a step is missing on a rank"))
            names = {text(n) for n, s in zip(f["collective/operation"][()], f["collective/step"][()]) if 18 <= s < 25}
            check(names == {"MPI_Allreduce"} and (f["collective/step"][()] >= 18).sum() == 7, (options, list(f["collective/step"][()])))


def ranges_first(place, full):
    """A program with ranges: what repeats of them is its step, though collectives repeat twice as often."""
    for options, rule in (((), "range: iteration"), (("--step-rule", "collectives"), "collective_period")):
        _, session = unmarked(place, ["ranges"], ["--steps", "20:25", *options])
        check(rules(session) == {rule}, (options, rules(session), read(session, "summary.txt")))
        with h5(session) as f:
            check(list(f["breakdown/step"][()]) == list(range(20, 25)), (options, f["breakdown/step"][()]))


def no_period(place, full):
    """No two collectives alike: one step rather than a guess. It has neither MPI_Init nor MPI_Finalize, nor what is before and after."""
    _, session = unmarked(place, ["none"])
    check(rules(session) == {"window"}, rules(session))
    with h5(session) as f:
        check(f["breakdown/step"].shape == (1,), f["breakdown/step"].shape)
        check(not f["worker/step_confidence"][()].any(), f["worker/step_confidence"][()])
        first, last = f["collective/first_ns"][()].min(), f["collective/last_ns"][()].max()
        check(f["step/begin_ns"][0].min() <= first and f["step/end_ns"][0].max() >= last, "a collective is outside of the step")
        check(first - f["step/begin_ns"][0].max() < 50000000, "MPI_Init is inside of the step")
    said = read(session, "summary.txt")
    check("MPI_Init and MPI_Finalize take" not in said, said)


def flat(place, full):
    """One collective over and over, evenly: each is a step, and not a very sure one."""
    _, session = unmarked(place, ["flat"])
    check(rules(session) <= {"collective_period", "window"}, rules(session))  # a busy machine may be uneven
    with h5(session) as f:
        steps = f["breakdown/step"].shape[0]
        check(steps == (1 if "window" in rules(session) else 39), steps)
        check((f["worker/step_confidence"][()] < 0.6).all(), f["worker/step_confidence"][()])


def messages_then_histograms(place, full):
    """Three equal histograms behind a long run of messages are not its steps: the messages are."""
    _, session = unmarked(place, ["tail"])
    check(rules(session) <= {"message_period", "window"}, (rules(session), read(session, "summary.txt")))  # a busy machine may be uneven
    with h5(session) as f:
        steps = f["breakdown/step"].shape[0]
        check(steps == 1 if "window" in rules(session) else 295 <= steps <= 300, steps)


SOLVERS = {"lulesh": ("collective_period", 58, 60), "minife": ("collective_period", 58, 60), "hpcg": ("collective_period", 56, 62),
           "lammps": ("message_period", 54, 62), "stencil": ("message_period", 58, 60)}


def solvers(place, full):
    """Solvers that mark no step: each round is one, on all ranks, and the late one is late. Tasks handed out have none."""
    for what, (rule, least, most) in SOLVERS.items():
        logs = place.new_logs()
        got = run(place.mpirun(4, place.under(logs, [place.program("solvers"), what])))
        check(got.code == 0 and not got.other_err(), got.transcript())
        session = session_of(logs)
        check_dataset(session, workers=4)
        said = read(session, "summary.txt")
        check(rules(session) == {rule}, (what, rules(session), said))
        with h5(session) as f:
            steps = f["breakdown/step"].shape[0]
            check(least <= steps <= most, (what, steps))
            check(f["breakdown/present"][()].all(), (what, "a step is missing on a rank"))
            check((f["worker/step_confidence"][()] >= 0.5).all(), (what, f["worker/step_confidence"][()]))
            begin, end = f["step/begin_ns"][()], f["step/end_ns"][()]
            check((begin[1:] >= end[:-1]).all(), (what, "steps overlap"))
        check("MPI_Init and MPI_Finalize take" not in said, (what, said))
    for what in ("farm", "random"):
        logs = place.new_logs()
        got = run(place.mpirun(4, place.under(logs, [place.program("solvers"), what])))
        check(got.code == 0 and not got.other_err(), got.transcript())
        session = session_of(logs)
        check(rules(session) == {"window"}, (what, rules(session), read(session, "summary.txt")))


LIQUID = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify {}
fix 1 all nve
thermo 50
run 200
"""


def lammps(place, full):
    """--full: Debian's LAMMPS, with neighbour lists every 20 steps and when atoms have moved far. Each of its 200 steps is one."""
    if not full or not shutil.which("lmp"):
        raise Skipped("not --full, or no lmp (package lammps)")
    for when in ("delay 0 every 20 check no", "delay 10 every 1 check yes"):
        logs = place.new_logs()
        path = os.path.join(place.scratch, "in.liquid")
        with open(path, "w", encoding="ascii") as f:
            f.write(LIQUID.format(when))
        got = run(place.mpirun(4, place.under(logs, ["lmp", "-in", path, "-log", "none"])))
        check(got.code == 0, got.transcript())
        session = session_of(logs)
        said = read(session, "summary.txt")
        check(rules(session) == {"message_period"}, (when, rules(session), said))
        with h5(session) as f:
            steps = f["breakdown/step"].shape[0]
            check(195 <= steps <= 202, (when, steps))
        check("MPI_Init and MPI_Finalize take" not in said, (when, said))


def solvers_online(place, full):
    """--steps: the window of a solver that marks no step is found while the job runs, and little else is recorded."""
    for what, (rule, _, _) in SOLVERS.items():
        if what == "lammps":  # not 16 steps between two outputs
            continue
        logs = place.new_logs()
        got = run(place.mpirun(4, place.under(logs, [place.program("solvers"), what], "--steps", "30:36")))
        check(got.code == 0 and not got.other_err(), got.transcript())
        session = session_of(logs)
        check_dataset(session, workers=4)
        said = read(session, "summary.txt")
        check(rules(session) == {rule}, (what, rules(session), said))
        check("found while the job ran" in said, (what, said))
        with h5(session) as f:
            check(list(f["breakdown/step"][()]) == list(range(30, 36)), (what, f["breakdown/step"][()]))
            check(f["breakdown/present"][()].all(), (what, "a step is missing on a rank"))
            begin, end = f["step/begin_ns"][()], f["step/end_ns"][()]
            check((begin[1:] >= end[:-1]).all(), (what, "steps overlap"))


def shapes(place, full):
    """The outer loop where a solver's rounds repeat inside, the training steps where evaluations stand between, steps of two
    phases; the summary says how much of the time they cover. Sizes that grow are no pattern."""
    for what, steps, per in (("solver", 40, 41), ("evaluate", 40, 2), ("phases", 60, None)):
        _, session = unmarked(place, [what])
        check(rules(session) == {"collective_period"}, (what, rules(session), read(session, "summary.txt")))
        with h5(session) as f:
            numbers = list(f["breakdown/step"][()])
            check(len(numbers) in (steps - 1, steps), (what, numbers))  # the first one's begin may not be known
            check((f["worker/step_confidence"][()] >= 0.5).all(), (what, f["worker/step_confidence"][()]))
            joined = [int(n) for n in f["collective/step"][()]]
        if per:
            check(joined.count(numbers[3]) == per, (what, joined))
        said = read(session, "summary.txt")
        check(f"{steps} steps found from a pattern of" in said and "% of the recorded time" in said, said)
    _, session = unmarked(place, ["grow"])
    check(rules(session) == {"window"}, rules(session))


def holes(place, full):
    """A step that no rank has is in no list; one that a rank lacks is named."""
    for rank, first, third in (("", "steps 3..8, 10..15", None), ("1", "steps 3..15", "step 9 is incomplete on rank 1")):
        logs = place.new_logs()
        command = f'[ -n "{rank}" -a "$OMPI_COMM_WORLD_RANK" != "{rank}" ] || export STEPS_WITHOUT=9; exec {place.program("steps")} 20 2'
        got = run(place.mpirun(2, place.under(logs, ["bash", "-c", command], "--steps", "3:16")))
        check(got.code == 0, got.transcript())
        check(f"{first} captured on 2 of 2 ranks" in got.err, got.transcript())
        check(third is None or third in got.err, got.transcript())
        said = read(session_of(logs), "summary.txt")
        check(f"     {first}     " in said, said)


def threads(place, full):
    """MPI in three side threads while the main thread marks steps."""
    logs = place.new_logs()
    good(run(place.mpirun(4, place.under(logs, [place.program("mpi_ends"), "threads"]))))
    check_dataset(session_of(logs), workers=4)


def fortran(place, full):
    """Calls of the three dialects are seen once each."""
    program = place.program("fortran_ends")
    if not os.path.exists(program):
        raise Skipped("no Fortran compiler")
    logs = place.new_logs()
    got = run(place.mpirun(4, place.under(logs, [program])))
    good(got, 2 + ("no step marks: steps are a repeating pattern" in got.err))  # by the times between its few calls
    session = session_of(logs)
    check_dataset(session, workers=4)
    with h5(session) as f:
        names = [text(n) for n in f["collective/operation"][()]]
        barriers = sum("arrier" in n for n in names)
        check(barriers == 4, f"{barriers} barriers instead of 4: {names}")


CASES = {"never_marks": never_marks, "nvtx_all": nvtx_all, "nvtx_library": nvtx_library, "nvtx_window": nvtx_window,
         "period": period, "period_window": period_window, "no_period": no_period, "flat": flat, "messages_then_histograms": messages_then_histograms, "solvers": solvers, "solvers_online": solvers_online, "lammps": lammps, "holes": holes, "shapes": shapes,
         "period_online": period_online, "period_missing": period_missing, "period_marked": period_marked,
         "period_then_marks": period_then_marks, "ranges_first": ranges_first,
         "threads": threads, "fortran": fortran}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

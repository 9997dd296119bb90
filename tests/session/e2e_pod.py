#!/usr/bin/python3
"""Jobs with stragglers that are known, at random places: /blame names rank, reason and amount, /finding the pattern; and jobs without
any. Run by ctest session_pod. PODPROF_POD_SEED: another seed than 1, or `random`; PODPROF_POD_TIMES: placements of each."""
import json
import os
import random
import sys
import time

import numpy

from e2e import check_dataset, good, h5, text
from hosts import Hosts
import jobs
from jobs import check, Failed, run, session_of, Skipped

STEPS, FIRST, WARM = 32, 6, 1  # steps of a job, the first with a straggler, and those at the begin that do not count
WORK_US, LEAST_US, MOST_US = 5000, 4000, 9000
REASON = {"input": "input", "compute": "host_compute", "launch": "kernel_launch", "send": "host_communication", "output": "output",
          "between": "between_steps"}
AFTER = ("output", "between")  # seen in the sums of the next step
TRIES, PATIENCE_S = 3, 3  # jobs of a placement; seconds for each, beyond which a case repeats none


class Noisy(Exception):
    """By the job's own clock this machine did not let it be what it should be."""


class Job:
    """What is run, and what must be found: pattern, its rank and period."""

    def __init__(self, ranks, rules=(), shape="even", pair=(0, 1), found="none", rank=-1, period=0):
        self.ranks, self.rules, self.shape, self.pair, self.found, self.rank, self.period = ranks, list(rules), shape, pair, found, rank, period
        self.slow = []  # ranks of the slow host

    def words(self, truth):
        return [truth, str(STEPS), str(WORK_US), self.shape, str(self.pair[0]), str(self.pair[1]), *self.rules]


def rule(rank, reason, us, first=FIRST, every=1, last=STEPS):
    return f"{rank}:{reason}:{us}:{first}:{every}:{last}"


class Truth:
    """What the job wrote, and what podprof must find of it."""

    def __init__(self, path):
        with open(path, encoding="ascii") as f:
            record = json.load(f)
        self.ranks, self.steps = record["ranks"], record["steps"]
        # when each rank was ready to communicate, and when it came to the sum over all, [step][rank]
        self.ready, self.arrival = (numpy.array(record[name], dtype=numpy.int64).T for name in ("ready_ns", "arrival_ns"))
        self.delay = {}  # of (rank, reason) and the step in which others wait for it
        before = numpy.zeros_like(self.ready)
        for late in record["late"]:
            step = late["step"] + (late["reason"] in AFTER)
            if step < self.steps:
                at = self.delay.setdefault((late["rank"], REASON[late["reason"]]), numpy.zeros(self.steps, dtype=numpy.int64))
                at[step] += late["ns"]
                if late["reason"] != "send":
                    before[step][late["rank"]] += late["ns"]
        ready, send = self.ready - before, sum((v for (_, r), v in self.delay.items() if r == REASON["send"]), numpy.zeros(self.steps))
        # how far the ranks are apart without what was made late; what sums and messages before the last sum take
        self.noise = ready.max(axis=1) - ready.min(axis=1)
        self.hops = (self.arrival.max(axis=1) - self.ready.max(axis=1) - send).clip(min=0)

    def injected(self):
        return sum(self.delay.values(), numpy.zeros(self.steps)) > 0


def words(f, name):
    """A column of codes as words."""
    meaning = dict(zip(f[name].attrs["flag_values"], text(f[name].attrs["flag_meanings"]).split()))
    return [meaning[v] for v in f[name][()]]


def run_job(place, job, hosts=None):
    """The session and the truth. The job's code is 0, and nothing is lost."""
    logs = place.new_logs()
    os.makedirs(logs)
    path = os.path.join(logs, "truth.json")
    command = place.under(logs, [place.program("pod_job"), *job.words(path)])
    if hosts:
        result = run(hosts.on(hosts.front, hosts.mpirun(job.ranks, command)))
        check(result.code == 0 and not result.timed_out, result.transcript())
    else:
        good(run(place.mpirun(job.ranks, command)))
    session = session_of(logs)
    check_dataset(session, workers=job.ranks, steps=range(STEPS), lines=120)
    return session, Truth(path)


def check_sums(session):
    """To the ns: waiting is charged once, and exposed communication is wait, transfer or what cannot be split."""
    with h5(session) as f:
        b, op = {k: v[()] for k, v in f["breakdown"].items()}, {k: v[()] for k, v in f["op"].items()}
        exposed = int(f["collective/exposed_wait_ns"][()].sum())
        charged = int(f["blame/blame_ns"][()].sum()) if "blame" in f else 0
        by_step = int(f["blame_step/step_blame_ns"][()].sum()) if "blame_step" in f else 0
    wait = int(b["wait_ns"].clip(0).sum())
    check(exposed == wait, f"exposed_wait_ns of /collective {exposed}, wait_ns of /breakdown {wait}")
    check(charged == wait and by_step == wait, f"blame_ns {charged}, step_blame_ns {by_step}, wait_ns {wait}")
    check(int(b["late_ns"].clip(0).sum()) == wait, f"late_ns {int(b['late_ns'].sum())}, wait_ns {wait}")
    own = numpy.zeros(len(b["worker"]), dtype=numpy.int64)  # of ranges that the program calls communication
    for i, of in enumerate(op["row_op"]):
        if text(op["name"][of]) == "send halo":
            own[op["worker"][i]] += op["self_ns"][i]
    left = (b["exclusive_ns"][:, :, 2] + b["exclusive_ns"][:, :, 9] - b["wait_ns"].clip(0) - b["transfer_ns"].clip(0) - b["point_to_point_ns"]).sum(axis=0)
    check((left == own).all(), f"exposed communication less wait, transfer and point-to-point: {left}, of it the program's own ranges {own}")


def causes(session):
    """blame_ns and error_ns of each rank and reason, and blame_ns of each step and rank."""
    with h5(session) as f:
        rows = list(zip([int(w) for w in f["blame/worker"][()]], words(f, "blame/reason")))
        check(len(set(rows)) == len(rows), f"a rank and reason twice: {rows}")
        return dict(zip(rows, map(int, f["blame/blame_ns"][()]))), dict(zip(rows, map(int, f["blame/error_ns"][()]))), f["blame_step/step_blame_ns"][()]


def ordered(row):
    return [(*who, f"{ns / 1e6:.3f} ms") for who, ns in sorted(row.items(), key=lambda item: -item[1])[:6]]


def close(what, have, want, less, more, row):
    check(-less <= have - want <= more, f"{what}: {have / 1e6:.3f} ms, injected {want / 1e6:.3f} - {less / 1e6:.3f} .. + {more / 1e6:.3f}; all: {ordered(row)}")


def noise_of(job, truth, largest):
    """What a rank may be charged without an injection, [step]; the largest injection must stand out."""
    ns = (truth.noise + truth.hops) * (job.ranks - 1)
    if ns.sum() > largest / 2:
        raise Noisy(f"what ranks are apart adds up to {ns.sum() / 1e6:.0f} ms of waiting, injected are {largest / 1e6:.0f} ms")
    return ns


def check_cause(session, job, truth):
    """The largest row is the injected one, and every injected one has its amount: what was made late by the job's clock, for each rank that
    waits, give or take how far the ranks were apart without it, the clock error and 2 % (from a stamp to the call behind it)."""
    if not truth.delay:
        return
    row, error, step = causes(session)
    noise = noise_of(job, truth, max(int(d.sum()) for d in truth.delay.values()) * (job.ranks - 1))
    most = max(row, key=row.get)
    check(most in truth.delay, f"most is of {most}, injected {[(*w, int(d.sum()) // 1000000) for w, d in truth.delay.items()]}; all: {ordered(row)}")
    for who, delay in truth.delay.items():
        at, want = delay > 0, int(delay.sum()) * (job.ranks - 1)
        less = int(noise[at].sum()) + error.get(who, 0) + want // 50
        close(f"{who}", row.get(who, 0), want, less, less + int(noise[~at].sum()), row)
        close(f"rank {who[0]}, in the steps that wait for it", int(step[at, who[0]].sum()), want, less, less, row)


def check_host_cause(session, job, truth):
    """The ranks of the slow host together."""
    row, error, _ = causes(session)
    late = [(who, "host_compute") for who in job.slow]
    delay = numpy.array([truth.delay[who] for who in late])
    first, last = delay.min(axis=0), delay.max(axis=0)
    want = int(last.sum()) * (job.ranks - len(late))
    noise = noise_of(job, truth, want // len(late))
    most = max(row, key=row.get)
    check(most in late, f"most is of {most}, slow are {job.slow}; all: {ordered(row)}")
    less = int(noise[last > 0].sum() + (last - first).sum() * (job.ranks - 1)) + sum(error.values()) + want // 50
    close(f"ranks {job.slow}", sum(row.get(who, 0) for who in late), want, less, less + int(noise[last == 0].sum()), row)


KINDS = {"persistent_rank": ("persistent", "sudden", "growing", "noise", "phase", "late_progress"), "rotating": ("rotating",), "one_off": ("one_off",),
         "periodic": ("periodic",), "persistent_host": ("persistent", "sudden", "growing")}


def check_class(session, job, host=""):
    """The finding of a job with a pattern: the first one, but for a step that comes once; of a job without, none that names a rank."""
    with h5(session) as f:
        columns = {"kind": words(f, "finding/kind"), "who": [text(v) for v in f["finding/who"][()]],
                   **{k: [int(v) for v in f["finding/" + k][()]] for k in ("finding_worker", "finding_ranks", "finding_period")}}
        rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
    if job.found == "none":
        check(rows[0]["kind"] not in KINDS["persistent_rank"] + ("link",), f"somebody is named in a job without a pattern: {rows}")
        return
    found = [r for r in rows if r["kind"] in KINDS[job.found]][:1]
    check(found and (job.found == "one_off" or found[0] is rows[0]), f"not {job.found}: {rows}")
    check(job.rank < 0 or found[0]["finding_worker"] == job.rank and found[0]["finding_ranks"] == 1, f"not of rank {job.rank}: {found[0]}")
    check(not job.period or found[0]["finding_period"] == job.period, f"not of period {job.period}: {found[0]}")
    check(not host or found[0]["who"].startswith(f"host {host} "), f"not of host {host}: {found[0]}")


def check_quiet(job, truth):
    """Was the machine quiet enough for the job to show what it should? By the job's own clock: how far its ranks are apart without what
    was made late, beside the shortest injection. A disturbed step hides no straggler of every step, but is a pattern of its own."""
    noise = (truth.noise + truth.hops)[WARM:]
    least = min([LEAST_US * 1000] + [int(d[d > 0].min()) for d in truth.delay.values()])
    lasts = job.found.startswith("persistent")
    if noise.mean() > least / (4 if lasts else 8) or not lasts and (noise > least / 4).any():
        raise Noisy(f"ranks are apart by {noise.mean() / 1000:.0f} us in the mean, {noise.max() / 1000:.0f} us at most")


def judge(place, job, hosts=None):
    """What is wrong, and what this machine hid, in sentences."""
    session, truth = run_job(place, job, hosts)
    wrong, hidden, host = [], [], hosts.names[job.slow[0] % len(hosts.names)] if job.slow else ""

    def classify(*given):
        check_quiet(job, truth)
        check_class(*given)
    for part, given in ((check_sums, (session,)), (check_host_cause if job.slow else check_cause, (session, job, truth)),
                        (classify, (session, job, host))):
        try:
            part(*given)
        except Failed as reason:
            wrong.append(str(reason))
        except KeyError as reason:
            wrong.append(f"{part.__name__}: pod.h5 lacks something: {reason}")
        except Noisy as reason:
            hidden.append(str(reason))
    return wrong, hidden


def repeat(place, full, name, make, hosts=None):
    """Placements by a seed. What this machine hid is run again, and what it always hides is not judged. A wrong answer counts where the
    same job gives one twice: between its stamp and the call behind it a rank can lose the core for longer than is allowed for. Says all."""
    seed = os.environ.get("PODPROF_POD_SEED", "1")
    seed = random.SystemRandom().randrange(1 << 30) if seed == "random" else int(seed)
    times = int(os.environ.get("PODPROF_POD_TIMES", "20" if full else "3"))
    all_wrong, runs, judged, once, reason, began = [], 0, 0, 0, "", time.monotonic()
    for number in range(times):
        job, wrong = make(random.Random(f"{name} {seed} {number}")), 0
        for again in range(TRIES):
            if again and not wrong and time.monotonic() - began > PATIENCE_S * times:
                break
            answers, hidden = judge(place, job, hosts)
            runs, wrong, reason = runs + 1, wrong + bool(answers), (answers + hidden + [reason])[0]
            if wrong == 2:
                all_wrong += [f"seed {seed}, placement {number}: {job.ranks} ranks, pod_job {' '.join(job.words('TRUTH'))}: {a}" for a in answers]
                break
            if not answers and not hidden:
                judged += 1
                break
        once += wrong == 1
    print(f"  {name}, seed {seed}: {judged} of {times} placements judged in full, {runs} jobs, {once} wrong once"
          f"{'; the last: ' + reason if reason else ''}", flush=True)
    check(not all_wrong, f"{len(all_wrong)} wrong answers, of them the first:\n  " + "\n  ".join(all_wrong[:8]))
    if judged * 2 < times:
        raise Skipped("this machine is too busy")


def some(r, least=LEAST_US, most=MOST_US):
    return r.randrange(least, most)


def of_kind(reason):
    """One rank that is late in this range in every step; in every second job other sums come before and after."""
    def make(r):
        ranks, shape = r.randrange(8, 17), r.choice(("even", "groups"))
        rank = r.randrange(ranks)
        return Job(ranks, [rule(rank, reason, some(r))], shape, found="persistent_rank", rank=rank)
    return lambda place, full: repeat(place, full, reason, make)


def two(r, ranks):
    return r.sample(range(ranks), 2)


def link(place, full):
    """Messages from one rank to the next come late."""
    def make(r):
        ranks = r.randrange(8, 17)
        rank = r.randrange(ranks)
        return Job(ranks, [rule(rank, "send", some(r))], "ring", found="persistent_rank", rank=rank)
    repeat(place, full, "link", make)


def chain(place, full):
    """Rank a is late for b, b for all others in a communicator that a is not in."""
    def make(r):
        ranks = r.randrange(8, 17)
        pair = two(r, ranks)
        return Job(ranks, [rule(pair[0], r.choice(("input", "compute", "launch", "output")), some(r))], "chain", pair, "persistent_rank", pair[0])
    repeat(place, full, "chain", make)


def relay(place, full):
    """Rank a is late for b, which waits for its message, and so late for all others."""
    def make(r):
        ranks = r.randrange(8, 17)
        pair = two(r, ranks)
        return Job(ranks, [rule(pair[0], r.choice(("input", "compute", "launch", "send")), some(r))], "relay", pair, "persistent_rank", pair[0])
    repeat(place, full, "relay", make)


def rotating(place, full):
    """A few ranks in turn."""
    def make(r):
        ranks, us = r.randrange(8, 17), some(r)
        turn = r.sample(range(ranks), r.randrange(4, 7))
        return Job(ranks, [rule(rank, "compute", us, FIRST + i, len(turn)) for i, rank in enumerate(turn)], found="rotating")
    repeat(place, full, "rotating", make)


def periodic(place, full):
    """One rank, every few steps."""
    def make(r):
        ranks, period, reason = r.randrange(8, 17), r.randrange(4, 7), r.choice(("compute", "output", "input"))
        rank = r.randrange(ranks)
        return Job(ranks, [rule(rank, reason, some(r, 2 * LEAST_US, 2 * MOST_US), r.randrange(2, 2 + period), period)], found="periodic", rank=rank,
                   period=period)
    repeat(place, full, "periodic", make)


def one_off(place, full):
    """One rank, in one step."""
    def make(r):
        ranks, at = r.randrange(8, 17), r.randrange(FIRST, STEPS - 2)
        rank = r.randrange(ranks)
        return Job(ranks, [rule(rank, "compute", some(r, 20000, 40000), at, 1, at)], r.choice(("even", "groups")), found="one_off", rank=rank)
    repeat(place, full, "one_off", make)


def host(place, full):
    """All ranks of one host."""
    def make(r):
        slow, us = r.randrange(3), some(r)
        job = Job(12, [], found="persistent_host")
        job.slow = [rank for rank in range(12) if rank % 3 == slow]
        job.rules = [rule(rank, "compute", us) for rank in job.slow]
        return job
    with Hosts(place, 3) as hosts:
        repeat(place, full, "host", make, hosts=hosts)


def clean(place, full):
    """Nobody: no pattern but none."""
    def make(r):
        ranks = r.randrange(8, 17)
        return Job(ranks, (), r.choice(("even", "groups", "chain", "relay", "ring")), two(r, ranks))
    repeat(place, full, "clean", make)


CASES = {**{reason: of_kind(reason) for reason in ("compute", "input", "launch", "output", "between")}, "link": link, "chain": chain, "relay": relay,
         "rotating": rotating, "periodic": periodic, "one_off": one_off, "host": host, "clean": clean}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

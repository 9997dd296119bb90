"""podprof's tables of a job against its schedule: right, acceptable, wrong or missing for wait, blame and what-if. Used by
scripts/truth."""
import json
import os
import re
import statistics
from collections import Counter, defaultdict

import h5py

import devices
import programs
import schedule
import sentences

SENTENCES = ("bottleneck", "set", "kind", "gain", "straggler", "advice", "screen")
PAIRS = ("unchanged", "slower")
PARTS = ("wait", "blame", "what-if", "finding", "efficiency", "busbw") + SENTENCES + PAIRS
WORDS = ("right", "acceptable", "wrong", "missing")
# The wanted score: of each part, the least share of jobs that are right. The aim of blame and what-if is 0.95. Of polls and one-sided calls
# the efficiency is missing where their needs are unknown.
WANTED = {"wait": 0.90, "blame": 0.90, "what-if": 0.85, "finding": 0.90, "efficiency": 0.80, "busbw": 0.95}
# Of sentences, which say what the tables have, and of pairs for diff, right or acceptable ones count; and no sentence of a job without a
# fault may be wrong.
WANTED.update(dict.fromkeys(SENTENCES, 0.95), unchanged=0.90, slower=0.90)

RIGHT, ACCEPTABLE = 0.10, 0.30  # of the wait
POLL_NS = 300_000  # of a rank's wait per step: MPI is asked every 0.02 to 0.2 ms, and a busy machine may let it wait for a core
BLAME_RIGHT, BLAME_ACCEPTABLE = 0.80, 0.60
GAIN_RIGHT, GAIN_ACCEPTABLE = 0.15, 0.30
EFFICIENCY_RIGHT, EFFICIENCY_ACCEPTABLE = 0.05, 0.10  # of 1
GAIN_FLOOR = 0.02  # of a step: noise of the work, which no fault made
LATE = 0.3  # of the latest rank's time: a rank with more of it is late, too
NAMED_SHARE, NAMED_GAIN = 1 / 3, 0.05  # a rank with that much of the blame, and of the step to gain, is named
NAMES = sentences.NAMES  # kinds of findings that accuse ranks
# Of a fault: the kinds that are right and, with the right ranks, acceptable; which row of the list says it: the first one, or any.
KINDS = {"rotating": ("rotating", "irregular", 1), "random": ("rotating", "irregular", 1), "every5": ("periodic", "irregular", 1),
         "every20": ("one_off", "", 9), "start": ("start_up", "one_off", 9), "sudden": ("sudden", "persistent", 1),
         "drift": ("growing", "persistent sudden", 1), "tenth": ("persistent", "phase sudden growing noise", 3)}


def words_of(column):
    return column.attrs["flag_meanings"].decode().split()


def set_of(text):
    """The ranks of "ranks 1, 4-6 and 9 ..."; None: it is of one."""
    found = re.match(r"ranks ((?:[0-9-]+(?:, | and )?)+)", text)
    if not found:
        return None
    parts = [p.split("-") for p in re.findall("[0-9-]+", found.group(1))]
    return frozenset(r for p in parts for r in range(int(p[0]), int(p[-1]) + 1))


class Said:
    """What pod.h5 says."""

    def __init__(self, path, hosts):
        self.blame, self.of_transfer, self.error, self.gain = defaultdict(float), 0.0, 0, []
        with h5py.File(path, "r") as f:
            self.steps = [int(s) for s in f["step/step"][()]] if "step/step" in f else []
            self.wait = f["breakdown/wait_ns"][()].clip(0).astype(float) if self.steps else []
            if "blame/worker" in f:
                words = words_of(f["blame/reason"])
                for worker, reason, ns, error in zip(*(f["blame/" + k][()] for k in ("worker", "reason", "blame_ns", "error_ns"))):
                    self.blame[int(worker)] += float(ns)
                    self.of_transfer += float(ns) if re.search("communication|collective|link", words[reason]) else 0.0
                    self.error += max(0, int(error))
            self.busbw = defaultdict(list)
            if "collective/busbw" in f:
                for name, value in zip(f["collective/operation"][()], f["collective/busbw"][()]):
                    self.busbw[name.decode()].append(float(value))
            self.findings = []
            if "finding/kind" in f:
                words = words_of(f["finding/kind"])
                columns = ("kind", "finding_worker", "finding_peer", "who", "finding_gain_ns", "finding_first", "finding_period", "finding")
                for kind, worker, peer, who, gain, first, period, text in zip(*(f["finding/" + k][()] for k in columns)):
                    ranks = sentences.ranks_of(who.decode()) if words[kind] in NAMES + ("rotating",) else {int(worker)} - {-1}
                    self.findings.append((words[kind], ranks, int(peer), float(gain), int(first), int(period), text.decode()))
            self.efficiency = None
            if "efficiency/parallel" in f:  # the last row is of all steps
                self.efficiency = [float(f["efficiency/" + k][-1]) for k in ("parallel", "load_balance", "transfer")]
            if "what_if/gain_ns" in f:
                words = words_of(f["what_if/subject"])
                rows = zip(*(f["what_if/" + k][()] for k in ("subject", "subject_worker", "subject_peer", "gain_ns", "what_if")))
                words = ["rank" if w == "ranks" else w for w in words]
                for subject, worker, peer, gain, text in rows:  # of a link the hosts: ranks go around them
                    who = tuple(sorted((int(worker) % hosts, int(peer) % hosts))) if words[subject] == "link" else set_of(text.decode()) or int(worker)
                    self.gain.append((words[subject], who, float(gain)))

    def gain_of(self, subject, worker=None):
        return next((gain for s, w, gain in self.gain if s == subject and worker in (None, w)), None)


def wait_score(job, truth, said):
    if not said.steps or (job.unmarked and abs(len(said.steps) - job.steps) > 3):
        return "missing", f"{len(said.steps)} steps"
    cells = truth.wait()
    kept = [s for s in said.steps if s >= 0] if not job.unmarked else range(job.steps)
    true = [sum(cells[s, r] for s in kept) / len(kept) for r in range(job.ranks)]
    got = [float(said.wait[:, r].sum()) / len(said.steps) for r in range(job.ranks)]
    off, whole = sum(abs(a - b) for a, b in zip(true, got)), sum(true)
    floor = job.ranks * POLL_NS + said.error / max(1, len(said.steps))
    text = f"wait {ms(got)} of {ms(true)}"
    if off <= RIGHT * whole + floor:
        return "right", text
    if not sum(got):
        return "missing", text
    return ("acceptable" if off <= ACCEPTABLE * whole + floor else "wrong"), text


def ms(values):
    return "[" + " ".join(f"{v / 1e6:.1f}" for v in values) + "]"


def late_ranks(truth):
    """(ranks with a fault, and these with those that the machine made late)"""
    late, fault = truth.late(), defaultdict(int)
    for o, extra in truth.extra.items():
        fault[o.rank] += extra
    least = LATE * max(late.values(), default=0)
    return [r for r, v in fault.items() if v and v >= LATE * max(fault.values())], [r for r, v in sorted(late.items()) if v and v >= least]


def waits_little(job, truth):
    """Does the fault cost nobody anything that can be measured?"""
    return sum(truth.wait().values()) <= job.ranks * job.steps * POLL_NS


def is_named(truth, said, step_ns):
    """Is a rank accused that neither a fault nor the machine made late?"""
    total = sum(said.blame.values())
    rank, most = max(said.blame.items(), key=lambda b: b[1], default=(-1, 0.0))
    if not total or most < NAMED_SHARE * total or (said.gain_of("rank", rank) or 0.0) < NAMED_GAIN * step_ns:
        return False
    return truth.late()[rank] / truth.program.steps < NAMED_GAIN * step_ns / 2


def of_link(truth):
    """(ns of a step that the slow link costs, its part of all waiting). Its two hosts send handshakes over it, too."""
    ends = [r for r in range(truth.program.P) if r % truth.program.hosts in programs.LINK]
    (step, whole), (less, rest) = truth.replay(lambda n: 0), truth.replay(lambda n: 0, ends)
    return step - less, 1 - rest / whole if whole else 0.0


def blame_score(job, truth, said, step_ns):
    total = sum(said.blame.values())
    faulty, ranks = late_ranks(truth)
    part = truth.part_of(ranks)
    shares = {r: v / total for r, v in said.blame.items()} if total else {}
    text = "blame {" + " ".join(f"{r}:{100 * v:.0f}%" for r, v in sorted(shares.items(), key=lambda b: -b[1])) + "}"
    text += f" late {ranks}, {100 * part:.0f}%"
    if job.fault == "none" or waits_little(job, truth):
        return ("wrong" if is_named(truth, said, step_ns) else "right"), text
    if not total:
        return "missing", text
    if job.fault == "link":
        part = of_link(truth)[1]
        text += f", transfer {100 * said.of_transfer / total:.0f}% of {100 * part:.0f}%"
        return next((word for word, least in (("right", BLAME_RIGHT), ("acceptable", BLAME_ACCEPTABLE))
                     if said.of_transfer >= least * part * total), "wrong"), text
    on = sum(shares.get(r, 0) for r in ranks)
    first = min(shares.get(r, 0) for r in faulty or ranks) > max([0.0] + [v for r, v in shares.items() if r not in faulty + ranks])
    if first and on >= BLAME_RIGHT * part:
        return "right", text
    return ("acceptable" if first and on >= BLAME_ACCEPTABLE * part else "wrong"), text


def true_gains(job, truth, step):
    """(subject, rank or set of ranks) of /what_if: ns; of what is wrong in a random rank, each rank alone."""
    if job.fault == "link":
        return {("link", programs.LINK): of_link(truth)[0]}
    ranks = sorted({o.rank for o in truth.extra if truth.extra[o]})
    if job.fault == "host":
        return {("host", ranks[0]): step - truth.mean_step(ranks)}
    if job.fault == "two":
        return {("rank", frozenset(ranks)): step - truth.mean_step(ranks)}
    return {("rank", r): step - truth.mean_step([r]) for r in ranks}


def grade_of(got, true, step):
    if got is None:
        return "missing" if true > GAIN_FLOOR * step else "right"
    off = abs(got - true)
    for word, part in (("right", GAIN_RIGHT), ("acceptable", GAIN_ACCEPTABLE)):
        if off <= part * true + GAIN_FLOOR * step:
            return word
    return "wrong"


def gain_score(job, truth, said, step):
    if job.fault == "none":
        return ("wrong" if is_named(truth, said, step) else "right"), ""
    grades, texts, gains = [], [], true_gains(job, truth, step)
    for (subject, who), true in gains.items():
        got = said.gain_of(subject, who)
        name = sorted(who) if isinstance(who, frozenset) else who
        texts.append(f"{subject} {name} {got / 1e6 if got is not None else 0:.1f} of {true / 1e6:.1f}")
        if got is None and isinstance(who, frozenset):  # each rank alone is true, and not what the fault costs
            alone = [grade_of(said.gain_of(subject, r), step - truth.mean_step([r]), step) for r in who]
            grades.append("acceptable" if set(alone) == {"right"} and any(said.gain_of(subject, r) is not None for r in who) else "missing")
        elif got is None and len(gains) > 2 and any(said.gain_of(*other) is not None for other in gains):
            continue  # the table has the first ranks only
        else:
            grades.append(grade_of(got, true, step))
    return max(grades, key=WORDS.index), f"step {step / 1e6:.1f}, gain " + ", ".join(texts)


def finding_score(job, truth, said, step):
    """The list of findings: whom its first row names, as what kind, and what the usual step gains."""
    text = "; ".join(f"{kind}: {said}" for kind, *_, said in said.findings)
    if not said.findings:
        return "missing", "no findings"
    kind, ranks, _, gain, first, _, _ = said.findings[0]
    faulty, late = late_ranks(truth)
    if job.fault == "none" or waits_little(job, truth):
        return ("right" if kind not in NAMES + ("link",) or (ranks and ranks <= set(late) and not is_named(truth, said, step)) else "wrong"), text
    if job.fault == "link":
        return ("right" if kind == "link" else "acceptable" if kind not in NAMES else "wrong"), text
    right, acceptable, rows = KINDS.get(job.fault, ("persistent", "phase sudden growing", 1))
    if right == "persistent" and kind == "late_progress":  # of nonblocking calls both are true
        right = kind
    if kind in NAMES and not ranks & set(late):
        return "wrong", text
    for one, ranks, _, gain, first, _, _ in said.findings[:rows]:
        if one == "rotating" == right:
            return "right", text
        if one not in (right + " " + acceptable).split() or (one != "rotating" and not ranks & set(faulty)):
            continue
        exact = ranks == set(faulty) and one == right and (one != "sudden" or abs(first - job.steps // 2) <= 1)
        if exact and one in ("persistent", "late_progress"):
            return grade_of(gain, step - truth.mean_step(faulty), step), text
        return ("right" if exact else "acceptable"), text
    return ("wrong" if kind in NAMES and job.fault in ("rotating", "random") else "missing"), text


def is_proven(truth, ranks, step):
    """Was each of the ranks late by a fault or, as its own log says, by the machine?"""
    late = truth.late()
    return bool(ranks) and all(late[r] / truth.program.steps >= NAMED_GAIN * step / 2 for r in ranks)


def was_late(truth, rank, step):
    """Did the rank's own work take longer in or just before this step, which ends at the begin of the next one?"""
    return sum(truth.extra[o] + truth.over[o] for o in truth.extra if o.rank == rank and step <= o.step <= step + 1) > 0


def lines_about(report):
    """The Bottleneck, then what else is a row of the list of findings."""
    return [report.bottleneck, *report.line.get("Also", [])]


def set_word(faulty, late, named):
    if named == faulty:
        return "right"
    if named - faulty - late:
        return "wrong"
    return "acceptable" if named & faulty else "missing"


def kind_word(job, kinds):
    right, acceptable, _ = KINDS.get(job.fault, ("link" if job.fault == "link" else "persistent", "phase sudden growing noise", 1))
    return "right" if right in kinds else "acceptable" if set(acceptable.split()) & set(kinds) else "missing"


def usual_gain(job, truth, faulty, step):
    """What the steps with the fault take longer because of it, ns."""
    if job.fault == "link":
        return of_link(truth)[0]
    steps = {o.step for ops in truth.program.ops for o in ops if o.extra}
    return (step - truth.mean_step(faulty)) * truth.program.steps / max(1, len(steps))


def straggler_word(report, job, truth, faulty, step):
    """How long each of the ranks that wait does so because of the late ones."""
    said = sentences.straggler(report)
    steps = {o.step for ops in truth.program.ops for o in ops if o.extra}
    true = truth.part_of(sorted(faulty)) * sum(truth.wait().values()) / max(1, len(steps))
    if not said:
        return "missing", f"straggler of {true / 1e6:.1f}"
    waiters, wait = said
    return grade_of(wait, true / waiters, step), f"straggler {waiters} x {wait / 1e6:.1f} of {true / 1e6:.1f}"


def sentence_scores(job, truth, place, step):
    """(a word for each of SENTENCES that the job has, what is wrong)"""
    report = sentences.Report(place)
    kind, accused = sentences.kind_of(report.bottleneck), sentences.subject_of(report.bottleneck)
    screen, other = sentences.screen_faults(report), sentences.other_causes(report, accused)
    words = {"screen": "wrong" if screen else "right", "advice": "wrong" if other else "right"}
    faulty, late = (set(ranks) for ranks in late_ranks(truth))
    if job.fault == "none" or waits_little(job, truth):
        names_nobody = kind not in NAMES + ("link",)
        words["bottleneck"] = "right" if names_nobody or (kind != "link" and is_proven(truth, accused, step)) else "wrong"
        for number, rank in sentences.facts(lines_about(report)):
            if not job.is_device and not was_late(truth, rank, number):
                other.append(f"rank {rank} was not late in step {number}")
                words["bottleneck"] = "wrong"
        return words, "; ".join(screen + other)
    rows = KINDS.get(job.fault, ("", "", 1))[2]
    lines = lines_about(report)[:rows]
    words["kind"] = kind_word(job, [sentences.kind_of(line) for line in lines])
    if job.fault not in ("rotating", "random", "link"):
        named = [sentences.subject_of(line) for line in lines if sentences.kind_of(line) != "category"]
        words["set"] = min((set_word(faulty, late, n) for n in named), key=WORDS.index, default="missing")
    is_wrong = kind in NAMES and (job.fault in ("rotating", "random") or not accused & (late | faulty))
    words["bottleneck"] = "wrong" if is_wrong else max(words["kind"], words.get("set", "right"), key=WORDS.index)
    if job.fault not in ("rotating", "random", "every5", "every20", "start"):
        said, true = sentences.what_if(report), usual_gain(job, truth, faulty, step)
        words["gain"] = grade_of(said and said[1], true, step)
        other.append(f"line: gain {said[1] / 1e6 if said else 0:.1f} of {true / 1e6:.1f}")
        if kind in NAMES and accused == faulty:
            words["straggler"], text = straggler_word(report, job, truth, faulty, step)
            other.append(text)
    return words, "; ".join(screen + other)


def efficiency_score(truth, said):
    """Parallel efficiency, load balance and transfer of all steps: each as far off as it is."""
    true, got = truth.efficiency(), said.efficiency
    text = f"efficiency {got} of {true}" if got is None else "efficiency " + ", ".join(f"{g:.2f} of {t:.2f}" for g, t in zip(got, true))
    if got is None or any(g != g for g in got):
        return "missing", text
    off = max(abs(g - t) for g, t in zip(got, true))
    return ("right" if off <= EFFICIENCY_RIGHT else "acceptable" if off <= EFFICIENCY_ACCEPTABLE else "wrong"), text


def busbw_score(truth, said):
    grades, texts = [], []
    for name, true in truth.busbw().items():
        got = statistics.median([v for v in said.busbw.get(name, ()) if v > 0] or [0.0])
        off = abs(got / true - 1)
        grades.append("missing" if not got else "right" if off <= devices.BUSBW_RIGHT else
                      "acceptable" if off <= devices.BUSBW_ACCEPTABLE else "wrong")
        texts.append(f"{name} {got / 1e9:.2f} of {true / 1e9:.2f} GB/s")
    return max(grades, key=WORDS.index), ", ".join(texts)


def pair(job, got):
    """(which of PAIRS, a word, what diff says) of a job and the one before"""
    part = "unchanged" if job.fault == "none" else "slower"
    if got.code:
        return part, "missing", got.transcript()
    said = json.loads(got.out)
    result, ranks = said["result"], {row["rank"] for row in said["ranks_changed"]}
    text = f"{said['text']}; ranks {sorted(ranks)}"
    if part == "unchanged":
        return part, {"no_difference": "right" if not ranks else "acceptable", "undecided": "acceptable"}.get(result, "wrong"), text
    if result == "shorter" or ranks - {3}:
        return part, "wrong", text
    return part, ("right" if ranks == {3} else "acceptable") if result == "longer" else "missing", text


def of(job, place, session):
    """(a word for each of PARTS, the numbers)"""
    program = job.program()
    if not schedule.read_logs(program, place):
        return None, "the job wrote no log"
    truth = devices.Schedule(program, place) if job.is_device else schedule.Schedule(program)
    said = Said(session, job.hosts)
    step = truth.mean_step()
    got = [wait_score(job, truth, said), blame_score(job, truth, said, step), gain_score(job, truth, said, step), finding_score(job, truth, said, step),
           efficiency_score(truth, said)]
    if job.is_device:
        got.append(busbw_score(truth, said))
    words, text = sentence_scores(job, truth, os.path.dirname(session), step)
    return {**dict(zip(PARTS, (g[0] for g in got))), **words}, "; ".join(t for t in [g[1] for g in got] + [text] if t)


class Table:
    def __init__(self):
        self.rows = []

    def add(self, job, scores):
        """`scores`: None: the job failed; empty: skipped."""
        if scores != {}:
            self.rows.append((job, scores))

    @staticmethod
    def line(job, scores):
        if not scores:
            return f"{job.name:36} {'failed' if scores is None else 'skipped'}"
        by_word = {w: [p for p in PARTS if scores.get(p) == w] for w in WORDS}
        return f"{job.name:36} " + "; ".join(f"{w}: {' '.join(parts)}" for w, parts in by_word.items() if parts)

    def share(self, part):
        """(how many of each word, the part that counts as wanted, the wanted part)"""
        counted = Counter(scores[part] if scores else "missing" for _, scores in self.rows if (part in scores if scores else part not in PAIRS))
        enough = counted["right"] + (counted["acceptable"] if part in SENTENCES + PAIRS else 0)
        return counted, enough / max(1, sum(counted.values())), WANTED[part]

    def text(self):
        lines = [f"{'':10} " + " ".join(f"{w:>10}" for w in WORDS) + "  enough wanted"]
        for part in PARTS:
            counted, enough, wanted = self.share(part)
            if sum(counted.values()):
                lines.append(f"{part:10} " + " ".join(f"{counted[w]:10}" for w in WORDS) + f"   {100 * enough:4.0f}%  {100 * wanted:4.0f}%")
        return "\n".join(lines)

    def suffices(self):
        if not all(scores for _, scores in self.rows) or any(scores.get(p) == "wrong" for job, scores in self.rows for p in SENTENCES if job.fault == "none"):
            return False
        shares = [self.share(part) for part in PARTS]
        return all(enough >= wanted for counted, enough, wanted in shares if sum(counted.values()))

"""The sentences of a report against the truth of its job: whom, what kind, how much, what to do, and whether all of them, in the summary and on
the page's first screen, are about one cause. Read here is what a user reads: summary.txt and report.html. Used by score.py."""
import json
import os
import re

LINE = re.compile(r"  (?:([A-Z][A-Za-z ]+):)? +(\S.*)")
UNIT = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
# In this order: the words of a Bottleneck, and the kind that they say.
SAYS = (("ranks take turns", "rotating"), ("^link from|slow links", "link"), ("This may be chance", "irregular"), ("before calls that no other rank makes", "phase"),
        ("ready to run and had no core", "noise"), (r"other ranks.* from step \d+ on\.", "sudden"), ("more from step to step", "growing"),
        ("more than the median of the other ranks", "persistent"), (r"^every \d+ steps", "periodic"), ("^once, in step", "one_off"),
        (r"^the first (step|\d+ steps)[:.]", "start_up"), (r"^in \d+ of \d+ steps", "irregular"), ("It stalls|data-loader workers", "stall"), ("^unknown", "unknown"))
NAMES = ("persistent", "sudden", "growing", "phase", "noise", "late_progress")
ADVICE = {"rotating": "not a rank", "link": "links", "phase": "share this work", "noise": "a core of its own"}


def ranks_of(text):
    """The ranks that a text names: "rank 3", "ranks 1 and 4-6", "host a (ranks 4 and 5)"."""
    lists = re.findall(r"\branks ((?:\d[\d-]*(?:, | and )?)+)", text) + re.findall(r"\brank (\d+)", text)
    parts = [p.split("-") for found in lists for p in re.findall(r"\d[\d-]*", found)]
    return {r for p in parts for r in range(int(p[0]), int(p[-1]) + 1)}


def time_of(text):
    value, unit = text.split()
    return float(value) * UNIT[unit]


def kind_of(sentence):
    return next((kind for words, kind in SAYS if re.search(words, sentence)), "category")


def subject_of(sentence):
    """Whom a Bottleneck accuses; of a link its two ranks, which are not the cause."""
    kind = kind_of(sentence)
    if kind not in NAMES + ("link", "irregular", "periodic", "one_off", "start_up"):
        return set()
    head = sentence.split(". ")[0]
    if ": " not in head:  # only facts follow
        return set()
    return ranks_of(head.split(":")[0] if kind in NAMES + ("link",) or ("This may be chance" in sentence) else head.split(": ", 1)[1].split(",")[0])


def facts(lines):
    """(step, rank) of single steps in which a line calls a rank late."""
    found = [m for line in lines for m in re.findall(r"step (\d+), rank (\d+) is late|^once, in step (\d+): rank (\d+),", line)]
    found += [("", "", *m) for line in lines for m in re.findall(r"step (\d+)(?: on)?\. .*Rank (\d+) is late in each", line)]
    return [(int(m[0] or m[2]), int(m[1] or m[3])) for m in found]


class Report:
    """The lines of summary.txt above its tables, by their names, and what the page embeds for its first screen."""

    def __init__(self, directory):
        self.line, last = {}, None
        with open(os.path.join(directory, "summary.txt"), encoding="utf-8") as f:
            for text in f.read().split("\n  Records:")[0].split("\n")[1:]:
                found = LINE.fullmatch(text)
                last = found.group(1) or last if found else last
                if found and last:
                    self.line.setdefault(last, []).append(found.group(2))
        self.bottleneck = self.of("Bottleneck")
        with open(os.path.join(directory, "report.html"), encoding="utf-8") as f:
            page = f.read()
        at = page.index('"answer":') + len('"answer":')
        self.screen = json.JSONDecoder().raw_decode(page, at)[0]

    def of(self, name):
        """All of it in one line; "": it is not there."""
        return " ".join(self.line.get(name, []))


def screen_faults(report):
    """What the first screen says other than the summary."""
    screen, faults = report.screen, []
    for key, name in (("bottleneck", "Bottleneck"), ("straggler", "Straggler"), ("what_if", "What if"), ("step", "Step time")):
        if screen[key] != report.of(name):
            faults.append(f"the page's {key} is '{screen[key]}'")
    said = report.of("Step time")
    if said and abs(screen["usual_ns"] - time_of(" ".join(said.split()[:2]))) > 0.01 * screen["usual_ns"]:
        faults.append(f"the page's step time is {screen['usual_ns']} ns")
    count = re.search(r"median of (\d+)", said)
    if count and int(count.group(1)) != screen["usual_steps"]:
        faults.append(f"the page has {screen['usual_steps']} usual steps")
    if screen["gain_rank"] >= 0 and {screen["gain_rank"]} != ranks_of(report.of("What if").split(" were ")[0]):
        faults.append(f"the page's gain is of rank {screen['gain_rank']}")
    return faults


def other_causes(report, accused):
    """Lines that accuse ranks which the Bottleneck does not."""
    kind, faults = kind_of(report.bottleneck), []
    of_link = ranks_of(report.of("What if").split(" were ")[0]) if kind == "link" else set()
    for name, text in (("Straggler", report.of("Straggler").split(".")[0]), ("What if", report.of("What if").split(" were ")[0]),
                       ("Next", report.of("Next").split("$")[0]), ("Advice", report.of("Advice").split(" and 1 more:")[0])):
        ranks = ranks_of(re.sub(r"(another|other) rank's", "", text))
        if not ranks <= accused | of_link:
            faults.append(f"{name} names {sorted(ranks - accused)}")
        if kind in NAMES and name in ("Straggler", "What if") and text and ranks != accused:
            faults.append(f"{name} names {sorted(ranks)} instead of {sorted(accused)}")
    count = re.search(r"in (\d+) of (\d+) usual steps", report.bottleneck)
    usual = re.search(r"median of (\d+)", report.of("Step time"))
    if count and usual and count.group(2) != usual.group(1):
        faults.append(f"{count.group(2)} and {usual.group(1)} usual steps")
    return faults


def straggler(report):
    """(how many ranks wait, how long each of them, ns); None: no line."""
    found = re.search(r"\. (\d+) other ranks? waits? (\S+ \w+) because of", report.of("Straggler"))
    return found and (int(found.group(1)), time_of(found.group(2)))


def what_if(report):
    """(the usual step, ns; what it gains); None: no line."""
    found = re.search(r"step would take (\S+ \w+), not (\S+ \w+) \(replay\)", report.of("What if"))
    return found and (time_of(found.group(2)), time_of(found.group(2)) - time_of(found.group(1)))

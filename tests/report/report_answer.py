#!/usr/bin/python3
"""What the page says first and how it opens: the answer with what qualifies it and the next command, the pod viewer, what fits and what is folded. Run by
ctest report_answer."""
import glob
import json
import os
import random
import sys

import h5py
import numpy as np

from kit import browser, check, clean, column, heads, is_in_window, jobs, pod_page, slow_train, unfold
import pods


def plain(text):
    """As the terminal prints it."""
    for a, b in (("\u00a0", " "), ("\u2264 ", "<= "), ("\u00b5s", "us"), ("\u2019", "'"), ("\u2013", "-")):
        text = text.replace(a, b)
    return text


def text_of(b, selector):
    return plain(b.js(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''"))


def summary(place, full):
    """A real job: the page says the sentences of the summary, with the same numbers, and the command of the next step stands by itself."""
    logs = slow_train(place)
    session = jobs.session_of(logs)
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        lines = {" ".join(line.split()) for line in f.read().replace("\n              $ ", " ").splitlines()}
    with browser() as b:
        unfold(b, os.path.join(session, "report.html"))
        for selector in ("#straggler", "#efficiency"):
            said = text_of(b, selector)
            check(said.rstrip(".") in lines, f"{selector}: '{said}' is not in {lines}")
        bottleneck = next(line for line in lines if line.startswith("Bottleneck:"))
        check("Rank 1 is late" in text_of(b, "h1") and "rank 1" in bottleneck and "+-" not in text_of(b, "#head"), text_of(b, "#head"))
        following = text_of(b, "#next .next").removesuffix("Copy").replace(":", "").lower()
        check(following.split(" podprof")[0].strip() in " ".join(lines).replace(":", "").lower(), f"next: {following}")
        check(text_of(b, "#next code") == "podprof view " + os.path.realpath(session), f"the command: {text_of(b, '#next code')}")
        check("rank 1" in text_of(b, ".facts") and "rank 1" in text_of(b, ".figures") and float(b.js("document.getElementById('gain').dataset.v")) > 0, f"no gain: {text_of(b, '.figures')}")
        check("because of it in a usual step" in text_of(b, "#straggler"), text_of(b, "#straggler"))
        overhead = next(line for line in lines if line.startswith("Overhead:"))
        check("; in the ranks about " in overhead and " of it)" in overhead, overhead)
        with h5py.File(os.path.join(session, "pod.h5")) as f:
            check(0 < f["quality/record_cost_ps"][()] < 10 ** 9, f"a record takes {f['quality/record_cost_ps'][()]} ps")
        check(overhead in text_of(b, "#quality-notes"), f"'{overhead}' is not in {text_of(b, '#quality-notes')}")
        clean(b, "a real job")


def qualified(place, full):
    """Killed, missing and lossy ranks stand by name below the verdict, whose neighbours are not named; a whole pod has no such line."""
    pod = pods.Pod(workers=6, steps=5, missing=(4,))
    pod.status[2] = "killed: signal 9 (SIGKILL)"
    pod.dropped[1, 0] = 77
    with browser() as b:
        unfold(b, pod_page(place, pod))
        said = text_of(b, "#trust")
        for word in ("rank 2 was killed: signal 9 (SIGKILL)", "rank 4 is missing", "77 records lost"):
            check(word.lower() in said.lower(), f"'{word}' is not in: {said}")
        check("rank 3" not in said, said)
        check("1 with incomplete data" in text_of(b, ".figures"), f"a killed rank is as good as any: {text_of(b, '.figures')}")
        clean(b, "a killed rank")
        unfold(b, pod_page(place, pods.Pod(workers=3, steps=0)))
        check("no complete step" in text_of(b, "#head").lower(), f"no step, and a share of it: {text_of(b, '#head')}")
        unfold(b, pod_page(place, pods.Pod(workers=6, steps=5)))
        check("nothing lost" in text_of(b, "#trust").lower(), f"a whole pod is qualified: {text_of(b, '#trust')}")
        check("no record lost" in text_of(b, ".figures") and "6 of 6" in text_of(b, ".figures"), text_of(b, ".figures"))


def usual(place, full):
    """The step time of the first screen is that of the usual steps, as in the summary: here of those after a change."""
    pod = pods.Pod(workers=4, steps=60)
    pod.exclusive[22:] *= 3
    pod.step_ns = pod.exclusive.sum(axis=2)
    pod.begin = np.concatenate(([0], np.cumsum(pod.step_ns.max(axis=1))))[:-1]
    with browser() as b:
        page = pod_page(place, pod)
        unfold(b, page)
        got = jobs.run([place.podprof(), "report", "--json", os.path.dirname(page)])
        said = json.loads(got.out)
        check(said["usual_steps"] == 38 and "median of 38 usual steps" in text_of(b, ".figures"), f"{said['usual_steps']}; {text_of(b, '.figures')}")
        shown = int(b.js("document.getElementById('step-time').dataset.v"))
        check(shown == said["step_median_ns"] and shown > 1.5 * np.median(pod.step_ns[:22].max(axis=1)), f"{shown}, {said['step_median_ns']}")
        check(b.js("Pod.answer.step").startswith(text_of(b, "#step-time") + " (slowest rank, median of 38 usual steps;"), b.js("Pod.answer.step"))


def even(workers):
    """A pod in which no rank waits and each rank does the same."""
    pod = pods.Pod(workers=workers, steps=7, categories=(6, 9))
    pod.exclusive[:] = 0
    pod.exclusive[:, :, 5] = 3_000_000
    pod.exclusive[:, :, 3] = 1_000_000
    pod.wait[:], pod.late[:], pod.transfer[:] = 0, 0, 0
    pod.step_ns = pod.exclusive.sum(axis=2)
    return pod


def opens(place, full):
    """The board opens in the colour of what the sentence is about, at usual steps, at the straggler."""
    slow = pods.Pod(workers=6, steps=9)
    slow.exclusive[4] *= 5  # one long step: not the one to look at first
    slow.step_ns = slow.exclusive.sum(axis=2)
    with browser() as b:
        unfold(b, pod_page(place, slow))
        check(b.js("Select.plane.key") == "category_4" and b.js("Select.difference"), f"a straggler: {b.js('Select.plane.key')}")
        check(not b.js("Select.from") <= 4 <= b.js("Select.to") and b.js("Select.worker") == 2, f"steps {b.js('[Select.from, Select.to]')}")
        for workers in (1, 4):
            unfold(b, pod_page(place, even(workers)))
            check(b.js("Select.plane.key") == "category_6", f"Input on {workers} ranks: {b.js('Select.plane.key')}, {text_of(b, 'h1')}")
            check(b.js("!document.getElementById('gain')"), "no straggler, but a gain")
            clean(b, "no straggler")


def hover(place, full):
    """Pointing at a step names its straggler: on the columns and on the chart of steps."""
    pod = pods.Pod(workers=6, steps=9)
    with browser() as b:
        unfold(b, pod_page(place, pod))
        card = "document.getElementById('card').hidden ? '' : document.getElementById('card').textContent"
        want = f"straggler: rank {pod.last[6]} (the other ranks wait "
        b.js("Card.hide(); Viewer.over.canvas.scrollIntoView({block: 'center'})")
        at = b.js("(r => ({x: r.left + Viewer.over.left + 6.5 * Viewer.over.stepSize, y: r.top + 60}))(Viewer.over.canvas.getBoundingClientRect())")
        b.mouse("mouseMoved", at["x"], at["y"])
        check(want in plain(b.js(card)), f"columns: {b.js(card)}")
        b.js("Card.hide(); document.getElementById('step-chart').scrollIntoView({block: 'center'})")
        at = b.js("(r => ({x: r.left + Overview.chart.left + 6.5 * Overview.chart.stepSize, y: r.top + 100}))(document.getElementById('step-chart').getBoundingClientRect())")
        b.mouse("mouseMoved", at["x"], at["y"])
        b.wait("!document.getElementById('card').hidden")
        check(want in plain(b.js(card)), f"chart of steps: {b.js(card)}")
        pod.late[6] = 0
        unfold(b, pod_page(place, pod))
        check(b.js("stragglerOf(6)") == "no straggler", b.js("stragglerOf(6)"))


def memory(f, p):
    g = pods.Group(f, "memory")
    g.put("sample", ["sample"], np.arange(4))
    g.put("worker", ["sample"], np.array([0, 0, 1, 1], np.int32))
    g.put("time_ns", ["sample"], np.arange(4) * 1_000_000_000, "ns")
    g.put("rss_bytes", ["sample"], np.array([4, 5, 6, 7], np.uint64) << 20, "byte")


def internals(f, p):
    memory(f, p)
    c = pods.Group(f, "communicator")
    c.put("communicator", ["communicator"], np.arange(3, dtype=np.uint64))
    c.put("id", ["communicator"], np.array([11, 12, 13], np.uint64))
    c.put("name", ["communicator"], ["MPI_COMM_SELF", "MPI_COMM_WORLD", "MPI_COMM_SELF"])
    c.put("size", ["communicator"], np.array([1, 2, 1], np.uint32))
    c.put("role", ["communicator"], ["self", "world", "self"])
    w = pods.Group(f, "window")
    w.put("worker", ["worker"], p.rank)
    w.put("asked_ns", ["worker"], np.arange(p.workers) * 1000, "ns")
    w.put("request", ["worker"], ["--steps 10:20"] * p.workers)
    s = pods.Group(f, "slowest")
    s.put("step", ["step"], p.number)
    s.put("worker", ["step"], np.zeros(p.steps, np.int32))
    s.put("over_ns", ["step"], np.arange(p.steps) * 1000, "ns")


def folded(place, full):
    """Samples, ranks' own communicators, the window's internals and empty tables are in closed details; nothing of them is lost."""
    pod = pods.Pod(workers=2, steps=4)
    pod.extra = internals
    with browser() as b:
        unfold(b, pod_page(place, pod))
        hidden = "(id => { const t = document.getElementById('t-' + id); return !!t && !t.checkVisibility() && !!t.closest('details:not([open])'); })"
        for table in ("memory-sample", "communicator-communicator-all", "window-worker", "slowest-step", "absent", "cells", "steps", "clock-worker"):
            check(b.js(f"{hidden}('{table}')"), f"{table} is not folded")
        names = heads(b, "communicator-communicator")
        check(column(b, "communicator-communicator", names.index("name")) == ["MPI_COMM_WORLD"], "MPI_COMM_SELF is no news")
        check(len(column(b, "communicator-communicator-all", 0)) == 3, "details lack a row")
        check(b.js("!document.getElementById('t-losses')"), "nothing was lost, and a table says so")
        made = b.js("[...document.querySelectorAll('details.section, .group')].map(e => e.id)")
        check("group-window" not in made and "group-slowest" not in made and "memory" in made, f"sections: {made}")
        b.js("document.querySelector('#t-window-worker').closest('details').open = true")
        check(not b.js(f"{hidden}('window-worker')"), "details do not open")
        clean(b, "folded")
        pod.dropped[1, 2] = 5
        unfold(b, pod_page(place, pod))
        check(column(b, "losses", 1) == ["5"], f"losses: {column(b, 'losses', 1)}")


def fits(place, full):
    """No table is wider than its place at 1024 points, nor the page at any width; columns that are left out come back by a click, and in CSV."""
    pod = pods.Pod(workers=24, steps=5, hosts=8, categories=range(1, 11))
    pod.host = [f"a-host-of-a-cluster-{i // 3}" for i in range(24)]
    pod.clocks, pod.extra = True, internals
    wide = "[...document.querySelectorAll('.tablebox .scroll')].filter(s => s.scrollWidth > s.clientWidth + 1).map(s => s.querySelector('table').id)"
    with browser() as b:
        page = pod_page(place, pod)
        for width in (1440, 1024, 390):
            b.size(width, 768)
            unfold(b, page)
            b.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            b.js("new Promise(done => setTimeout(done, 100))")
            check(is_in_window(b), f"the page is wider than {width}")
            check(b.js(wide) == [], f"at {width} these tables are too wide: {b.js(wide)}")
        b.size(1024, 768)
        unfold(b, page)
        left = b.js("[...document.querySelectorAll('#t-workers th.left')].map(e => e.textContent)")
        button = "document.querySelector('#t-workers').closest('.tablebox').querySelector('.columns')"
        check("pid" in left and "kept others waiting" not in left and b.js(f"{button}.textContent") == f"{len(left)} more columns", f"left out: {left}")
        b.js(button + ".click()")
        check(b.js("document.querySelectorAll('#t-workers th.left').length === 0") and "workers.w=1" in b.js("location.hash"), "columns do not come back")
        b.js(button + ".click()")
        check(b.js("document.querySelectorAll('#t-workers th.left').length") == len(left), "columns do not go again")
        clean(b, "widths")


def rounding(place, full):
    """Times and sizes are rounded as the summary rounds them: by printf, ties to the even digit."""
    def shown(v, units, least):
        unit = next((u for u in units if v >= least * u[0]), units[-1])
        v /= unit[0]
        return f"{v:.{0 if unit[0] == 1 or v >= 99.95 else 1 if v >= 9.995 else 2}f} {unit[1]}"
    chance = random.Random(5)
    values = [0, 1, 999, 1125, 1375, 1625, 10250, 10750, 999_499, 999_500, 1_125_000, 100_500, 101_500, 59_999_999_999, 75 * 10 ** 9]
    values += [int(10 ** chance.uniform(0, 13)) for _ in range(2000)]
    with browser() as b:
        unfold(b, pod_page(place, pods.Pod(workers=2, steps=2)))
        for function, units, least in (("time", [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")], 0.9995),
                                       ("bytes", [(2 ** 40, "TiB"), (2 ** 30, "GiB"), (2 ** 20, "MiB"), (1024, "KiB"), (1, "B")], 1023.5 / 1024)):
            got = b.js(f"{json.dumps(values)}.map(Format.{function})")
            for v, text in zip(values, got):
                check(plain(text) == shown(v, units, least), f"{function} of {v} is {text}, not {shown(v, units, least)}")


def words(place, full):
    """No sentence of the page's sources has a word that the project's style replaced."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "aggregate", "report")
    for path in sorted(glob.glob(os.path.join(source, "page", "*.js")) + glob.glob(os.path.join(source, "page", "*.html")) + glob.glob(os.path.join(source, "data", "*.c"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for word in ("believed", "a mean step", "half the middle half", "means count it", "limited by", "compare to", "own word", "a step each", "Doubt",
                     "What to hold against", "bound of"):
            check(word not in text, f"{os.path.basename(path)}: '{word}'")


if __name__ == "__main__":
    sys.exit(jobs.main({"summary": summary, "qualified": qualified, "usual": usual, "opens": opens, "hover": hover, "folded": folded, "fits": fits,
                        "rounding": rounding, "words": words}, __doc__))

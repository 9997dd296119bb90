#!/usr/bin/python3
"""Every number of the page is pod.h5's: of a real job, of made-up sessions, of very large ones. Run by ctest report_values."""
import os
import sys

import h5py
import numpy as np

from kit import browser, clean, column, heads, jobs, number, pod_page, same, slow_train, unfold
from jobs import check
import pods

NAMES = pods.CATEGORIES


def median_of_longest(f, step):
    """Each step lasts to the begin of the next one, if that follows; in these pods all are usual."""
    begin, number, present = f["step/begin_ns"][()], f["step/step"][()], f["breakdown/present"][()]
    whole = step * present
    follows = (np.diff(number) == 1)[:, None] & (present[:-1] == 1) & (present[1:] == 1)
    whole[:-1] = np.where(follows, np.diff(begin, axis=0), whole[:-1]).clip(0)
    longest = sorted(int(v) for v in whole.max(axis=1))
    n = len(longest)
    return longest[n // 2] if n % 2 else longest[n // 2 - 1] // 2 + longest[n // 2] // 2


def peers(f):
    """How many ranks may wait for a rank: the others that delivered data."""
    came = [not s.startswith(b"missing") for s in f["worker/status"][()]]
    return np.array([max(1, sum(came) - bool(c)) for c in came])


def check_near(got, want, what):
    """Integer means: each division may lose one."""
    check(all(abs(float(g) - w) <= 1 for g, w in zip(got, want, strict=True)), f"{what}: {got}, not {want}")


def check_totals(b, f):
    exclusive, step, present = f["breakdown/exclusive_ns"][()], f["breakdown/step_ns"][()], f["breakdown/present"][()]
    check(abs(number(b, "#step-time") - median_of_longest(f, step)) <= 1, f"the step time is not the median of the longest ranks: {number(b, '#step-time')}")
    check(number(b, "#wait-time") == f["breakdown/wait_ns"][()].clip(0).sum(), "waiting")
    shown = {}
    for row in b.js("[...document.querySelectorAll('#breakdown tr[data-category]')].map(r => [r.dataset.category, r.querySelector('[data-v]').dataset.v])"):
        shown[int(row[0])] = int(row[1])
    want = {i + 1: int(v) for i, v in enumerate(exclusive.sum(axis=(0, 1))) if v}
    check(shown == want, f"categories {shown}, not {want}")
    return exclusive, step, present


def check_workers(b, f, exclusive, step, present):
    names, steps = heads(b, "workers"), present.sum(axis=0)
    b.js("document.querySelector('#t-workers').closest('.tablebox').querySelector('.more').click()")
    check(column(b, "workers", names.index("rank")) == [str(r) for r in f["worker/rank"][()]], "ranks of the table of workers")
    check(column(b, "workers", names.index("host")) == [h.decode() for h in f["worker/host"][()]], "hosts")
    of = {"step time": step, "waiting": f["breakdown/wait_ns"][()].clip(0)}
    of.update({NAMES[i]: exclusive[:, :, i] for i in range(10) if exclusive[:, :, i].sum()})
    for name, values in of.items():
        mean = [values[:, w].sum() / steps[w] if steps[w] else None for w in range(len(steps))]
        same(column(b, "workers", names.index(name)), mean, f"workers, {name}")
    kept = [int(v) for v in f["breakdown/late_ns"][()].clip(0).sum(axis=0) // max(1, len(step)) // peers(f)]
    check_near(column(b, "workers", names.index("kept others waiting")), kept, "workers, kept others waiting")


def check_cells(b, f, exclusive, step, present, steps):
    names, numbers = heads(b, "cells"), f["breakdown/step"][()]
    of = {"Step time": step, "Waiting": f["breakdown/wait_ns"][()].clip(0), "Kept others waiting": f["breakdown/late_ns"][()].clip(0) // peers(f)}
    of.update({NAMES[i]: exclusive[:, :, i] for i in range(10) if NAMES[i] in names})
    b.js("document.querySelector('#t-cells').closest('.tablebox').querySelector('.more').click()")
    for s in steps:
        b.js(f"Select.set({{from: Select.nearest({numbers[s]})}})")
        for name, values in of.items():
            want = [int(values[s, w]) if present[s, w] else None for w in range(values.shape[1])]
            same(column(b, "cells", names.index(name)), want, f"step {numbers[s]}, {name}")


def check_steps(b, f, step, present):
    names = heads(b, "steps")
    b.js("document.querySelector('#t-steps').closest('.tablebox').querySelector('.more').click()")
    for name, pick in (("fastest", lambda v: v[0]), ("25 %", lambda v: v[(len(v) - 1) // 4]), ("median", lambda v: v[(len(v) - 1) // 2]),
                       ("75 %", lambda v: v[len(v) - 1 - (len(v) - 1) // 4]), ("slowest", lambda v: v[-1])):
        want = [pick(sorted(step[s][present[s] == 1])) for s in range(len(step))]
        same(column(b, "steps", names.index(name)), want, f"steps, {name}")


def check_page(b, page, what, steps=None):
    unfold(b, page)
    with h5py.File(os.path.join(os.path.dirname(page), "pod.h5")) as f:
        exclusive, step, present = check_totals(b, f)
        check_workers(b, f, exclusive, step, present)
        check_steps(b, f, step, present)
        check_cells(b, f, exclusive, step, present, range(len(step)) if steps is None else steps)
        names = heads(b, "operations")
        want = sorted((int(v) for v in f["collective/wait_ns"][()].clip(0)), reverse=True)
        got = column(b, "operations", names.index("waiting of all ranks"))
        same(got, want[:len(got)], "operations by waiting")
        check(b.js("document.getElementById('run-command').textContent") == f.attrs["command"].decode(), "command")
    clean(b, what)


def real(place, full):
    """A job of four ranks, one slower than any other waits for a core: the keeper has written the page when the job is over."""
    logs = slow_train(place)
    page = os.path.join(jobs.session_of(logs), "report.html")
    check(os.path.exists(page), f"no page beside pod.h5: {jobs.tree(logs)}")
    with browser() as b:
        check_page(b, page, "a real job", steps=(0, 9))
        check("rank 1" in b.js("document.querySelector('h1').textContent.toLowerCase()"), "the verdict does not name rank 1")


def made_up(place, full):
    """All categories; a missing rank; sums over 2^32 ns and steps of seconds."""
    slow = pods.Pod(workers=3, steps=4, seed=3)
    slow.exclusive[:, :, 3] += 7_000_000_000_123
    slow.step_ns = slow.exclusive.sum(axis=2)
    with browser() as b:
        for what, pod in (("all categories", pods.Pod(workers=5, steps=8, categories=range(1, 11))),
                          ("a missing rank", pods.Pod(workers=6, steps=5, missing=(4,))), ("long steps", slow),
                          ("long arrays", pods.Pod(workers=9, steps=70))):
            check_page(b, pod_page(place, pod), what, steps=(0, pod.steps - 1))


def large(place, full):
    """1024 workers, 1000 steps, every category: the page opens, says what it left out, and its sums are of everything."""
    pod = pods.Pod(workers=1024, steps=1000, categories=range(1, 11), hosts=128)
    page = pod_page(place, pod)
    check(os.path.getsize(page) < 40e6, f"the page has {os.path.getsize(page)} bytes")
    with browser() as b:
        unfold(b, page)
        with h5py.File(os.path.join(os.path.dirname(page), "pod.h5")) as f:
            exclusive, step, present = check_totals(b, f)
            check_workers(b, f, exclusive, step, present)
            b.js("[...document.querySelectorAll('summary')].find(s => s.textContent.includes('the selected step as a table')).parentElement.open = true")
            b.wait("Pod.cell.plane.every(Pod.ready)")  # a large page unpacks what it shows
            check_cells(b, f, exclusive, step, present, (999,))
        notes = b.js("Pod.left_out.join(' ')")
        check("Small categories" in notes, f"what was merged is not told: {notes}")
        check(all(note in b.js("document.getElementById('viewer').textContent") for note in b.js("Pod.left_out.filter(n => n.includes('viewer'))")), "notes")
        rest = np.array([int(float(v)) for v in column(b, "cells", heads(b, "cells").index("Small categories"))])
        kept = [i for i in range(10) if NAMES[i] in heads(b, "cells")]
        check((rest == step[999] - exclusive[999][:, kept].sum(axis=1)).all(), "the rest is not what the shown categories leave")
        b.js("State.set({sort: 'late', host: 'node3'}); Select.set({from: Select.nearest(500)})")
        check(b.js("Viewer.order.length") == 8, "the host does not choose its ranks")
        clean(b, "1024 x 1000")


if __name__ == "__main__":
    sys.exit(jobs.main({"real": real, "made_up": made_up, "large": large}, __doc__))

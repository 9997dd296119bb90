#!/usr/bin/python3
"""The page as people use it: keys, slider, pointer, links, sorting, filter, CSV, light and dark, odd sessions, hostile names. Run by ctest report_page."""
import csv
import os
import re
import sys

import numpy as np

from kit import browser, check, clean, column, heads, is_in_window, jobs, pod_page, same, unfold
import pods

HOSTILE = ['</script><img src=x onerror=alert(1)>', '"><svg onload=alert(2)>', "=cmd|' /C calc'!A0", '<!--', '&lt;b&gt;\u2028\U0001f600', '${x}`']


def pinned(b):
    return b.js("document.getElementById('pinned-title').textContent")


def viewer(place, full):
    """Keys, the hover card and a click on a column move the selected step and rank; the address carries the view, that of earlier versions too."""
    pod = pods.Pod(workers=6, steps=9)
    with browser() as b:
        page = pod_page(place, pod)
        unfold(b, page, "#steps=104-104")
        check(pinned(b) == "Step 104, every rank", f"a link: {pinned(b)}")
        b.js("Viewer.columns.canvas.focus()")
        for key, want in (("ArrowRight", 105), ("ArrowLeft", 104), ("End", 108), ("ArrowRight", 108), ("Home", 100)):
            b.key(key)
            check(pinned(b) == f"Step {want}, every rank" and f"steps={want}-{want}" in b.js("location.hash"), f"{key}: {pinned(b)}")
        b.js("Select.set({worker: 2})")
        b.key("ArrowDown")
        check(b.js("Select.worker") == 3, "arrow down does not move to the next rank")
        b.js("Viewer.over.canvas.scrollIntoView({block: 'center'})")
        b.js("Select.set({worker: 1})")
        place_of = ("(r => ({x: r.left + Viewer.over.left + 6.5 * Viewer.over.stepSize, y: r.top + 60}))"
                    "(Viewer.over.canvas.getBoundingClientRect())")
        at = b.js(place_of)
        b.mouse("mouseMoved", at["x"], at["y"])
        card = b.js("document.getElementById('card').hidden ? '' : document.getElementById('card').textContent")
        for word in ("rank 1", "node0", "step 106", f"straggler: rank {pod.last[6]}", "step time", "Host compute", "waiting", "%", "Largest category"):
            check(word in card, f"the hover card lacks '{word}': {card}")
        b.click(at["x"], at["y"])
        check(pinned(b) == "Step 106, every rank" and b.js("Select.worker") == 1, "a click does not select")
        printed = int(b.js("document.querySelector('#viewer-details td[data-v]').dataset.v"))
        check(printed == pod.step_ns[6, 1], f"selected step time {printed}, not {pod.step_ns[6, 1]}")
        b.mouse("mouseMoved", 2, 2)
        check(b.js("document.getElementById('card').hidden"), "the card stays")
        clean(b, "viewer")
        for steps in ("steps=103-103", "step=103"):
            unfold(b, page, f"#{steps}&rank=5&colour=category_6&scale=difference&sort=late&theme=dark")
            seen = b.js("[Select.from, Select.worker, Select.plane.key, Select.difference, Viewer.order[0], document.documentElement.dataset.theme]")
            check(seen == [3, 5, "category_6", True, 2, "dark"], f"a link shows another view: {seen}")
            clean(b, "a link")


def pixels(place, full):
    """Light and dark differ where they should; charts are drawn; nothing overflows; print is made."""
    with browser() as b:
        page = pod_page(place, pods.Pod(workers=6, steps=9))
        unfold(b, page, "#theme=light")
        light = b.js("getComputedStyle(document.documentElement).backgroundColor")
        inked = ("(() => { const c = document.querySelector('%s'), o = document.createElement('canvas'); o.width = c.width; o.height = c.height;"
                 " const g = o.getContext('2d', {willReadFrequently: true}); g.drawImage(c, 0, 0);"
                 " return new Set(new Uint32Array(g.getImageData(0, 0, o.width, o.height).data.buffer)).size })()")
        for canvas in ("canvas.columns", "#arrivals"):
            check(b.js(inked % canvas) > 8, f"{canvas} is empty")
        b.js("document.getElementById('theme').click()")
        dark = b.js("getComputedStyle(document.documentElement).backgroundColor")
        check(light == "rgb(255, 255, 255)" and dark != light and "theme=dark" in b.js("location.hash"), f"{light}, then {dark}")
        check(b.js(inked % "canvas.columns") > 8, "the columns are empty in the dark")
        for width in (1400, 900, 420):
            b.size(width, 800)
            b.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            check(is_in_window(b), f"the page is wider than {width}")
        check(len(b.call("Page.printToPDF", printBackground=True)["data"]) > 20000, "print")
        check(b.js("document.documentElement.dataset.theme") == "dark", "the colours of the paper stay on the screen")
        named = b.js("[...document.querySelectorAll('canvas')].every(c => c.getAttribute('aria-label'))")
        check(named, "a chart has no text")
        clean(b, "pixels")


def tables(place, full):
    """A head sorts, twice the other way; the filter leaves what it says; CSV has the exact values; state comes back by link."""
    pod = pods.Pod(workers=12, steps=4, hosts=3)
    with browser() as b:
        page = pod_page(place, pod)
        unfold(b, page)
        names = heads(b, "workers")
        at = names.index("step time")
        press = f"document.querySelectorAll('#t-workers thead button')[{at}].click()"
        b.js(press)
        down = [float(v) for v in column(b, "workers", at)]
        check(down == sorted(down, reverse=True) and len(set(down)) > 3, f"not sorted downwards: {down}")
        check(b.js(f"document.querySelectorAll('#t-workers thead th')[{at}].getAttribute('aria-sort')") == "descending", "aria-sort")
        b.js(press)
        check([float(v) for v in column(b, "workers", at)] == down[::-1], "the second click does not turn the order")
        b.js("const f = document.querySelector('#t-workers').closest('.tablebox').querySelector('input'); f.value = 'node1'; f.dispatchEvent(new Event('input'))")
        check(column(b, "workers", names.index("host")) == ["node1"] * 4, "filter")
        fragment = b.js("location.hash")
        b.call("Page.setDownloadBehavior", behavior="allow", downloadPath=place.scratch)
        b.js("document.querySelector('#t-workers').closest('.tablebox').querySelector('.csv').click()")
        path = os.path.join(place.scratch, "podprof-workers.csv")
        check(jobs.wait_until(lambda: os.path.exists(path) and os.path.getsize(path)), "no CSV came")
        with open(path, newline="", encoding="utf-8") as f:
            rows = list(csv.reader(f))
        check(rows[0][at] == "step time [ns]" and len(rows) == 5, f"CSV: {rows[0]}, {len(rows)} rows")
        for row in rows[1:]:
            w = int(row[names.index("rank")])
            check(abs(float(row[at]) - pod.step_ns[:, w].mean()) < 1e-3, f"CSV: step of rank {w} is {row[at]}")
        clean(b, "tables")
        unfold(b, page, fragment)
        check(column(b, "workers", names.index("host")) == ["node1"] * 4, "a link does not bring the filter back")


def hostile(place, full):
    """Names are text: nothing of them becomes an element, runs, or breaks the page; spreadsheets get no formula."""
    pod = pods.Pod(workers=6, steps=3, hosts=6)
    pod.host, pod.command, pod.session, pod.range_name, pod.warning = HOSTILE, " ".join(HOSTILE), HOSTILE[0], HOSTILE[0], HOSTILE
    pod.status[3] = "partial: " + HOSTILE[1]

    def strange(f, p):
        g = f.create_group("<img src=x onerror=alert(3)>", track_order=True)
        d = g.create_dataset("<b>rows", data=np.char.encode(np.array(HOSTILE), "utf-8"))
        d.attrs["long_name"] = np.bytes_(b"bad \xff bytes </script>")

        f.attrs["rendezvous"] = np.bytes_(b"invited through MPI: 2 other hosts")

    pod.extra = strange
    with browser() as b:
        page = pod_page(place, pod)
        with open(page, encoding="utf-8") as f:
            data = f.read().split('id="pod">')[1].split("</script>")[0]
        check("<" not in data and ">" not in data, "the data of the page hold a bare bracket")
        unfold(b, page)
        check(b.js("!document.querySelector('img, svg, iframe, object, link[rel=stylesheet]')"), "a name became an element")
        check(b.js("document.querySelectorAll('script').length") == 3, "there are more scripts than the page's own")
        shown = [h.replace("\u2028", "\ufffd") for h in HOSTILE]  # a line separator could forge a line
        got = column(b, "workers", heads(b, "workers").index("host"))
        check(got == shown, f"hosts are not shown as they are: {got}")
        check(b.js("document.getElementById('run-command').textContent") == " ".join(shown), "the command is not shown as it is")
        check("through MPI: 2" in b.js("document.getElementById('run-rendezvous').textContent"), "how the hosts met is not said")
        check(HOSTILE[0] in b.js("document.getElementById('quality').textContent"), "warnings are not shown as they are")
        b.call("Page.setDownloadBehavior", behavior="allow", downloadPath=place.scratch)
        b.js("document.querySelector('#t-workers').closest('.tablebox').querySelector('.csv').click()")
        path = os.path.join(place.scratch, "podprof-workers.csv")
        check(jobs.wait_until(lambda: os.path.exists(path) and os.path.getsize(path)), "no CSV came")
        with open(path, newline="", encoding="utf-8") as f:
            cells = [cell for row in csv.reader(f) for cell in row]
        check(not any(re.match(r"[=+@]", cell) for cell in cells) and "'" + HOSTILE[2] in cells, "a formula stands in the CSV")
        clean(b, "hostile names")


def odd(place, full):
    """Nothing, one rank, one step, a rank that is missing, losses: the page stands, and says why what is empty is empty."""
    lossy = pods.Pod(workers=4, steps=3, missing=(1,))
    lossy.dropped[2, 0], lossy.warning = 1204, ["ring full on rank 2"]
    cases = (("no rank", pods.Pod(workers=0, steps=0), [" "], "head"), ("no rank", pods.Pod(workers=0, steps=0), ["No rank delivered data"], "workers"),
             ("no step", pods.Pod(workers=3, steps=0), ["No step is complete", "--steps A:B"], "steps"),
             ("one rank", pods.Pod(workers=1, steps=4, hosts=1), [" "], "head"),
             ("one step", pods.Pod(workers=3, steps=1), ["step"], "job"),
             ("one of each", pods.Pod(workers=1, steps=1, hosts=1), ["1 of 1 rank"], "job"),
             ("a missing rank", lossy, ["Rank 1 is missing: killed by signal 9", "1\u00a0204 records were lost", "Ring full on rank 2"], "quality"))
    with browser() as b:
        for what, pod, words, section in cases:
            unfold(b, pod_page(place, pod))
            text = b.js(f"document.getElementById('{section}').textContent")
            check(not b.js("!!document.getElementById('failed')"), what)
            for word in words:
                check(word in text, f"{what}: '{word}' is not in: {text[:300]}")
            clean(b, what)
        empty = b.js("[...document.querySelectorAll('.section .empty')].map(e => e.textContent)")
        check(len(empty) >= 2 and all(len(t) > 20 for t in empty), f"an empty section does not say why: {empty}")


def foreign_group(place, full):
    """A group that this podprof does not know: its tables by unit, its planes as colours of the pod viewer."""
    pod = pods.Pod(workers=4, steps=5)

    def fan(f, p):
        g = pods.Group(f, "fan")
        g.put("step", ["step"], p.number)
        g.put("worker", ["worker"], p.rank)
        g.put("sample", ["sample"], np.arange(3))
        g.put("power", ["step", "worker"], np.arange(20).reshape(5, 4) * 10.0, "W")
        g.put("used_bytes", ["sample"], np.array([1 << 30, 2 << 30, 3 << 30], np.uint64), "byte")

    pod.extra = fan
    with browser() as b:
        unfold(b, pod_page(place, pod), "#colour=fan/power&steps=103-103")
        check("2.00\u00a0GiB" in b.js("document.getElementById('group-fan').textContent"), "a table of an unknown group is not shown")
        at = heads(b, "cells").index("fan: power")
        check(column(b, "cells", at) == ["120", "130", "140", "150"], f"the plane is wrong: {column(b, 'cells', at)}")
        check(b.js("Select.plane.key") == "fan/power", "the plane is no colour of the viewer")
        clean(b, "an unknown group")


def of_files(place, full):
    """A session made from files: an empty section says what is true of files, and nothing of how to record a job."""
    pod = pods.Pod(workers=2, steps=3)

    def recorded(f, p):
        del f["collective"]

    def files(f, p):
        recorded(f, p)
        g = pods.Group(f, "trace_file")
        g.put("file", ["file"], np.arange(2))
        g.put("worker", ["file"], np.arange(2, dtype=np.int32))
        g.put("name", ["file"], ["a.json", "b.json"])

    said = "[...document.querySelectorAll('.section .empty')].map(e => e.textContent).join(' ')"
    with browser() as b:
        pod.extra = recorded
        unfold(b, pod_page(place, pod))
        live = b.js(said)
        pod.extra = files
        unfold(b, pod_page(place, pod))
        text = b.js(said)
        for word in ("Open MPI", "podprof run", "podprof doctor", "podprof.h"):
            check(word in live and word not in text, f"{word}: {text}")
        waits = b.js("document.querySelector('#waiting .empty').textContent")
        check("record_param_comms" in waits and "no common clock: waiting between ranks is unknown" in waits, waits)
        clean(b, "a session of files")


def not_measured(place, full):
    """What was not measured is no zero, ranks are named where rows are ranks, and what a mean hides beside a median is said."""
    pod = pods.Pod(workers=3, steps=6)
    pod.step_ns[2, :] *= 40
    pod.exclusive[2, :, :] *= 40

    def memory(f, p):
        g = pods.Group(f, "memory")
        g.put("sample", ["sample"], np.arange(4))
        g.put("worker", ["sample"], np.array([0, 0, 1, 2], np.int32))
        g.put("time_ns", ["sample"], np.arange(4) * 1_000_000_000, "ns")
        g.put("pss_present", ["sample"], np.array([0, 1, 0, 1], np.int8))
        g.put("pss_bytes", ["sample"], np.array([0, 5 << 20, 0, 7 << 20], np.uint64), "byte")

    pod.extra = memory
    with browser() as b:
        unfold(b, pod_page(place, pod))
        names = heads(b, "memory-sample")
        check(names == ["rank", "time", "pss"], f"the table of samples: {names}")
        check(column(b, "memory-sample", 2) == ["", str(5 << 20), "", str(7 << 20)], f"PSS: {column(b, 'memory-sample', 2)}")
        drawn = b.js("Samples.charts[0].plot.lines.flatMap(l => l.y.map(v => v / 2 ** 20))")
        check(sorted(drawn) == [5, 7], f"the line of PSS has {drawn}")
        check(column(b, "clock-worker", heads(b, "clock-worker").index("rank")) == ["0", "1", "2"], "the clock's table does not say whose")
        clean(b, "not measured")


def operators(place, full):
    """Operators: means over ranks out of /op, the ten largest as bars, filter by name and by category, ranks that lack a row; no /op says why."""
    pod, names = pods.Pod(workers=4, steps=5), [f"aten::op{i}" for i in range(30)] + [HOSTILE[0], "enumerate(DataLoader)#__next__"]
    n, rng = len(names), np.random.default_rng(3)
    own = rng.integers(1000, 9_000_000, (n, 4))
    own[3, :] = (0, 0, 900_000_000, 0)  # on rank 2 alone
    own[n - 1, :] = 50_000_000
    rows, sides = [(op, rank) for op in range(n) for rank in range(4) if op != 3 or rank == 2], []

    def op(f, p):
        g = pods.Group(f, "op")
        g.put("op", ["op"], np.arange(n))
        g.put("name", ["op"], names)
        g.put("category", ["op"], ["Host compute"] * (n - 1) + ["Input"])
        g.put("source", ["op"], ["ITT"] * n)
        if sides:
            g.put("side", ["op"], sides)
        g.put("row", ["row"], np.arange(len(rows)))
        g.put("row_op", ["row"], np.array([r[0] for r in rows]))
        g.put("worker", ["row"], np.array([r[1] for r in rows], np.int32))
        g.put("calls", ["row"], np.full(len(rows), 10, np.uint64))
        for name, factor in (("self_ns", 1), ("total_ns", 3), ("max_ns", 2)):
            g.put(name, ["row"], np.array([own[r] * factor for r in rows]), "ns")
        g.put("steps", ["row"], np.full(len(rows), 5, np.uint32))
        g.put("cut", [], np.uint64(7))

    pod.extra = op
    mean, by_self = own.sum(axis=1) / 20, np.argsort(-own.sum(axis=1), kind="stable")
    with browser() as b:
        page = pod_page(place, pod)
        unfold(b, page)
        at = heads(b, "operators")
        first = column(b, "operators", 0)
        check(first == [names[i] for i in by_self[:20]], f"the operators with most time of their own do not come first: {first}")
        for name, values in (("self", mean), ("total", 3 * mean), ("least", np.where(np.arange(n) == 3, 0, own.min(axis=1) / 5)), ("most", own.max(axis=1) / 5),
                             ("calls", np.where(np.arange(n) == 3, 0.5, 2)), ("longest", 2 * own.max(axis=1)), ("most on", own.argmax(axis=1))):
            same(column(b, "operators", at.index(name)), [values[i] for i in by_self[:20]], f"operators, {name}")
        bars = b.js("[...document.querySelectorAll('#operators-top tbody tr')].map(r => [r.children[0].textContent, r.querySelector('[data-v]').dataset.v])")
        check([r[0] for r in bars] == [names[i] for i in by_self[:10]], f"bars: {bars}")
        same([r[1] for r in bars], [mean[i] for i in by_self[:10]], "bars")
        check(b.js("[Format.short('void kernel<float>(forward)', 20), Format.short('forward', 7)]") == ["void kernel<float>\u2026", "forward"],
              "a long name lacks an end")
        check(b.js("[508, 342.9, 100].map(part => Format.share(part, 343))") == ["148\u00a0%", "100\u00a0%", "29.2\u00a0%"], "a share is cut at 100 %")
        check(bars[0][0] == "aten::op3" and column(b, "operators", at.index("most on"))[0] == "2", "who has most of what one rank does alone")
        write = "(f => { f.value = %r; f.dispatchEvent(new Event('input')) })(document.querySelector('#t-operators').closest('.tablebox').querySelector('input'))"
        b.js(write % "op29")
        check(column(b, "operators", 0) == ["aten::op29"], "the filter does not find a name")
        b.js(write % "input")
        check(column(b, "operators", 0) == [names[-1]], "the filter does not find a category")
        b.js(write % "")
        b.js("document.querySelector('#t-operators tbody tr').click()")
        check(b.js("Select.worker") == 2, "a click does not pick the rank that has most")
        check("7 ranges that cross the window\u2019s edge" in b.js("document.getElementById('operators-left').textContent"), "what was cut is not said")
        b.size(420, 800)
        b.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        check(is_in_window(b), "operators make the page wider than the screen")
        b.size(1400, 900)
        clean(b, "operators")
        check("on" not in at, "a column of Host alone")
        sides += ["Device" if i == 3 else "Host" for i in range(n)]
        unfold(b, pod_page(place, pod))
        at = heads(b, "operators")
        check(column(b, "operators", at.index("on"))[:2] == ["Device", "Host"], "what ran an operator is not said")
        same(column(b, "operators", at.index("self")), [mean[i] for i in by_self[:20]], "operators with devices, by self time")
        check(b.js("document.querySelector('#operators-top tbody td').textContent") == "aten::op3 on device", "a bar does not say it")
        b.js(write % "device")
        check(column(b, "operators", 0) == ["aten::op3"], "the filter does not find a side")
        clean(b, "operators of devices")
        unfold(b, pod_page(place, pods.Pod(workers=2, steps=2)))
        check("operators of PyTorch" in b.js("document.getElementById('op').textContent"), "an empty section does not say how to fill it")
        clean(b, "no operators")


def kernels(place, full):
    """Bars of operators and kernels with and without Idle, their tables, the precision of device compute on the first page; none without them."""
    pod = pods.Pod(workers=2, steps=3)
    # side, type, name, self, share with and without Idle
    ops = [("Device", "MatMul", "d/MatMul:MatMul", 600, 60, 75), ("Device", "Idle", "Idle", 200, 20, 0), ("Device", "", HOSTILE[0], 200, 20, 25),
           *[("Host", "aten", f"aten::op{i}", 100 - i, 4 - i / 10, 5 - i / 10) for i in range(12)]]
    kernel = [("gemm", "aten::mm", 600), ("gemm", "aten::addmm", 300), (HOSTILE[1], "", 100)]

    def extra(f, p):
        g, n = pods.Group(f, "op_stats"), len(ops)
        g.put("rank", ["rank"], np.arange(1, n + 1, dtype=np.uint32))
        for i, name in enumerate(("host_or_device", "type", "name")):
            g.put(name, ["rank"], [o[i] for o in ops])
        g.put("occurrences", ["rank"], np.full(n, 2, np.uint64))
        for name in ("total_ns", "self_ns"):
            g.put(name, ["rank"], np.array([o[3] * 1000 for o in ops]), "ns")
        for name in ("avg_ns", "avg_self_ns"):
            g.put(name, ["rank"], np.array([o[3] * 500.0 for o in ops]), "ns")
        for side in ("device", "host"):
            for word, at in (("", 4), ("_no_idle", 5)):
                for kind in ("self", "cumulative"):
                    g.put(f"{side}_{kind}_percent{word}", ["rank"], np.array([float(o[at]) if o[0].lower() == side else 0 for o in ops]), "percent")
        g.put("is_idle", ["rank"], np.array([o[2] == "Idle" for o in ops], np.int8))
        g.put("tensor_core_percent", ["rank"], np.array([40.0 if i == 0 else -1 for i in range(n)]), "percent")
        g, n = pods.Group(f, "kernel_stats"), len(kernel)
        g.put("rank", ["rank"], np.arange(1, n + 1, dtype=np.uint32))
        g.put("name", ["rank"], [k[0] for k in kernel])
        g.put("op", ["rank"], [k[1] for k in kernel])
        for name in ("registers", "static_shared_bytes", "dynamic_shared_bytes", *(f"{w}_{x}" for w in ("block", "grid") for x in "xyz")):
            g.put(name, ["rank"], np.array([64, 64, 0], np.uint32))
        for name in ("tensor_core_eligible", "tensor_core_used"):
            g.put(name, ["rank"], np.array([2, 1, 0], np.int8))
        g.put("occurrences", ["rank"], np.full(n, 2, np.uint64))
        for name in ("total_ns", "min_ns", "max_ns"):
            g.put(name, ["rank"], np.array([k[2] for k in kernel]), "ns")
        g.put("avg_ns", ["rank"], np.array([k[2] / 2 for k in kernel]), "ns")
        g.put("percent", ["rank"], np.array([k[2] / 10 for k in kernel]), "percent")
        g.put("occupancy_percent", ["rank"], np.array([50.0, 25.0, -1.0]), "percent")
        g.put("activity", ["rank"], ["Kernel"] * n)
        g.put("precision", ["rank"], ["16-bit", "16-bit", "unknown"])
        g = pods.Group(f, "precision")
        g.put("precision", ["precision"], ["unknown", "32-bit", "16-bit"])
        g.put("compute_ns", ["precision"], np.array([100, 0, 900]), "ns")
        g.put("percent", ["precision"], np.array([10.0, 0.0, 90.0]), "percent")

    def op(f, p):
        extra(f, p)
        g = pods.Group(f, "op")
        g.put("op", ["op"], np.arange(1))
        for name in ("name", "category", "source"):
            g.put(name, ["op"], ["Host compute"])
        g.put("row", ["row"], np.arange(1))
        g.put("worker", ["row"], np.zeros(1, np.int32))
        for name in ("row_op", "self_ns", "total_ns", "max_ns"):
            g.put(name, ["row"], np.ones(1, np.int64) * (name != "row_op"))
        g.put("calls", ["row"], np.ones(1, np.uint64))
        g.put("steps", ["row"], np.ones(1, np.uint32))

    pod.extra = op
    bars = "[...document.querySelectorAll('#%s td[data-v]')].map(c => c.dataset.v / 1000)"
    with browser() as b:
        unfold(b, pod_page(place, pod))
        at, shown = heads(b, "opstats"), column(b, "opstats", 0)
        check("Idle" not in shown and shown[0] == "d/MatMul:MatMul" and len(shown) == len(ops) - 1, f"operators without Idle: {shown}")
        same(column(b, "opstats", at.index("device self %"))[:2], [0.75, 0.25], "device self, without Idle")
        check(column(b, "opstats", at.index("tensor cores"))[:2] == ["0.4", ""], "what is known of tensor cores, and what is not")
        check(b.js(bars % "parts-device-name") == [600, 200], "the bars of the device have Idle")
        check(b.js("Parts.list.length") == 5, "four charts of operators and one of kernels")
        host = b.js(bars % "parts-host-name")
        check(len(host) == 10 and abs(host[-1] - sum(100 - i for i in range(9, 12))) < 1e-9, f"the bars of the host: {host}")
        check(b.js(bars % "parts-host-type") == [sum(100 - i for i in range(12))], "the types of the host are not summed")
        b.js("document.getElementById('op-idle').click()")
        check(b.js(bars % "parts-device-name") == [600, 200, 200], "Idle is not in the bars of the device")
        check(column(b, "opstats", 0)[1] == "Idle", "Idle is not in the table")
        same(column(b, "opstats", at.index("device self %"))[:3], [0.6, 0.2, 0.2], "device self, with Idle")
        at = heads(b, "kernels")
        check(column(b, "kernels", 0) == ["gemm", "gemm", HOSTILE[1]], f"kernels: {column(b, 'kernels', 0)}")
        check(column(b, "kernels", at.index("tensor core used")) == ["yes", "no", "unknown"], "tensor cores")
        check(column(b, "kernels", at.index("grid")) == ["64, 64, 64", "64, 64, 64", "\u2013"], "shapes of launch")
        check(column(b, "kernels", at.index("registers")) == ["64", "64", ""], "an unknown number is no 0")
        check([v * 1000 for v in b.js(bars % "parts-kernel")] == [900, 100], "the bars of kernels sum those of one name")
        for section in ("steps", "kernel"):
            text = b.js(f"document.querySelector('#{section} .precision').textContent").replace("\u00a0", " ")
            check(text == "Device compute: 90.0 % 16-bit, 10.0 % of unknown precision.", text)
        b.size(420, 800)
        b.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        check(is_in_window(b), "kernels make the page wider than the screen")
        b.size(1400, 900)
        clean(b, "kernels")
        unfold(b, pod_page(place, pods.Pod(workers=2, steps=2)))
        check(b.js("!document.querySelector('.precision') && !document.querySelector('#op-idle')"), "a page without a device shows its precision")
        clean(b, "no kernels")


def inputs(place, full):
    """Input: what steps of each rank wait for it, with the busy share of the data loader's workers where it is known; without any, how to mark it."""
    pod = pods.Pod(workers=3, steps=4)

    def loader(f, p):
        g = pods.Group(f, "input")
        g.put("worker", ["worker"], p.rank)
        g.put("loader_samples", ["worker"], np.array([4, 0, 4], np.uint32))
        g.put("loader_busy", ["worker"], np.array([0.25, 0, 0.75]), "1")

    with browser() as b:
        unfold(b, pod_page(place, pod))
        mean = pod.exclusive[:, :, 5].mean(axis=0)
        check(heads(b, "input") == ["rank", "host", "input", "of its step"], f"without a counter: {heads(b, 'input')}")
        same(column(b, "input", 2), sorted(mean, reverse=True), "input by rank")
        printed = b.js("document.getElementById('input-lead').textContent").replace("\u00a0", " ")
        bound = b.js("document.getElementById('input-bound').textContent").replace("\u00a0", " ")
        percent = 100 * pod.exclusive[:, :, 5].sum() / pod.step_ns.sum()
        want = f"Moderately input bound (5 to 20 %): waiting for input takes {percent:.1f} % of all ranks\u2019 step time."
        check(5 <= percent < 20 and bound == want, f"'{want}' is not: {bound}")
        check(f"Rank {mean.argmax()} waits longest" in printed and "busy" not in printed, printed)
        pod.extra = loader
        unfold(b, pod_page(place, pod))
        by_rank = dict(zip(column(b, "input", 0), column(b, "input", 4)))
        check(by_rank == {"0": "0.25", "1": "", "2": "0.75"}, f"busy workers: {by_rank}")
        check("busy 50.0 %" in b.js("document.getElementById('input-lead').textContent").replace("\u00a0", " "), "the mean of those that are known")
        clean(b, "input")
        unfold(b, pod_page(place, pods.Pod(workers=2, steps=2, categories=(4, 9))))
        check("PODPROF_INPUT" in b.js("document.getElementById('input').textContent"), "an empty section does not say how to fill it")
        clean(b, "no input")


def clocks(place, full):
    """Clocks of hosts: bounds, what is not joined and what contradicts them; the chart of the bound over time; one host says one line."""
    pod = pods.Pod(workers=24, steps=4, hosts=8)
    pod.clocks, pod.separate, pod.causality, pod.pair_bound = True, (5,), (1234, 3, 2, 1500), 19_500
    pod.changes = [(2, 1_000_000_000, 2_000_000_000, -2_000_000, 3000, 0)]
    pod.warning = ["clock: host node5 is not joined with rank 0's: no answer by UDP to 70 packets",
                   "clock: the date of host node2 was set by -2.00 ms +- 3.00 us, between 1.00 s and 2.00 s of the window"]
    with browser() as b:
        unfold(b, pod_page(place, pod), "#theme=light&rank=6")
        text = b.js("document.getElementById('clock').textContent").replace("\u00a0", " ")
        for word in ("8 hosts with 8 clocks", "Clock error \u2264 19.5 \u00b5s between any two ranks of compared clocks", "Host node7 is worst: clock error \u2264 10.5 \u00b5s", "2 of 1 234 exits", "by up to 1.50 \u00b5s",
                     "Host node5 is not joined with rank 0\u2019s: no answer", "by \u22122.00 ms \u00b1 3.00 \u00b5s", "NTP-synchronised", "unknown"):
            check(word in text, f"clock: '{word}' is not in: {text[:900]}")
        names = heads(b, "clock-hosts")
        check(column(b, "clock-hosts", names.index("clock error \u2264")) == ["" if i == 5 else str(v) for i, v in enumerate(pod.bound)], "bounds of hosts")
        check(column(b, "clock-hosts", names.index("drift"))[:2] == ["", "12.345"], "drift is not how much a host gains")
        check(column(b, "clock-hosts", names.index("date changes"))[2] == "1" and column(b, "clock-hosts", names.index("ranks")) == ["3"] * 8, "changes, ranks")
        lines = b.js("Clocks.plot.lines.map(d => [d.name, d.y.length, Math.max(...d.y), d.colour]).reverse()")
        check(len(lines) == 6 and lines[1][:2] == ["node7", 51] and 9870 < lines[1][2] < 9900, f"lines of the chart: {lines[:3]}")
        strong = [line[0] for line in lines if line[3] == b.js("css('--accent')")], [line[0] for line in lines if line[3] == b.js("css('--ink')")]
        check(strong == (["node7"], ["node2"]), f"blue and strong lines: {strong}")
        check("node7" in b.js("document.getElementById('clock-chart').getAttribute('aria-label')"), "the chart has no text")
        check("precede a needed arrival" in b.js("document.getElementById('trust').textContent"), "the verdict is not qualified")
        clean(b, "clocks")
        one = pods.Pod(workers=4, steps=4, hosts=1)
        one.clocks = True
        unfold(b, pod_page(place, one))
        text = b.js("document.getElementById('clock').textContent").replace("\u00a0", " ")
        check("One host: all ranks share one clock, clock error \u2264 31 ns" in text and "Check of" not in text, f"one host: {text[:300]}")
        check(b.js("!document.querySelector('#clock canvas')"), "one host has a chart")
        check("drift" not in heads(b, "clock-hosts"), "one host has a column of drift")
        clean(b, "one clock")


def tools(place, full):
    """Tables of tools: stages and operations of input, an allocator with its curve and its peak, collectives; a choice of allocator changes all."""
    pod = pods.Pod(workers=2, steps=3)

    def tables(f, p):
        def group(name, /, **columns):
            g = pods.Group(f, name)
            g.put("event", ["event"], np.arange(len(next(iter(columns.values())))))
            for variable, values in columns.items():
                g.put(variable, ["event"], values, "ns" if variable.endswith("_ns") else "byte" if variable.endswith("bytes") else "")
        group("input_stage", worker=[-1, -1, 0], category=["preprocessing", "reading on demand", "preprocessing"], count=[3, 1, 3],
              total_ns=[900, 100, 900], self_ns=[750, 250, 750], percent=[75.0, 25.0, 100.0])
        group("input_op", name=["Iterator::Map", "Iterator::Map", "read"], worker=[0, 1, 0], category=["preprocessing"] * 2 + ["reading on demand"],
              count=[2, 1, 1], total_ns=[600, 300, 100], self_ns=[500, 250, 250])
        group("all_reduce", operation=["MPI_Allreduce", "MPI_Bcast"], communicator=np.array([7, 2 ** 63 + 5], np.uint64), occurrences=[4, 1], bytes=[4000, 8],
              ranks=[2, 2], duration_ns=[800, 0], timed=[4, 0], wait_ns=[100, 0], transfer_ns=[700, 30], busbw=[5e6, 0.0])
        group("allocator", worker=[0, 1], allocator=["GPU_0_bfc", "cpu"], allocations=[3, 1], deallocations=[1, 0], unmatched=[0, 0],
              capacity_bytes=[8192, -1], peak_since_start_bytes=[6000, -1], peak_bytes=[5120, 64], peak_time_ns=[3000, 50], peak_step=[101, -1],
              stack_bytes=[1024, 0], heap_bytes=[4096, 64], free_bytes=[3072, -1], fragmentation=[0.25, -1.0], is_counted=[0, 1], device_bytes=[16384, 12288],
              timeline_left_out=[5, 0])
        group("memory_timeline", worker=[0, 0, 1], allocator=["GPU_0_bfc", "GPU_0_bfc", "cpu"], call=[0, 1, 0], time_ns=[1000, 3000, 50],
              action=["allocation", "deallocation", "allocation"], requested_bytes=[500, 500, 60], bytes=[512, -512, 64], op=["MatMul", "MatMul", ""],
              step=[100, 101, -1], region=["temp", "temp", ""], type=["float", "float", ""], shape=["[128]", "[128]", ""],
              in_use_bytes=[5120, 4608, 64], stack_bytes=[1024, 1024, 0], heap_bytes=[4096, 3584, 64], free_bytes=[3072, 3584, -1],
              fragmentation=[0.25, 0.5, -1.0])
        group("memory_peak", worker=[0, 0, 1], allocator=["GPU_0_bfc", "GPU_0_bfc", "cpu"], number=[0, 1, 0], kind=["allocation", "earlier", "allocation"],
              op=["<b>MatMul", "", "aten::mm"], bytes=[512, 3072, 64], requested_bytes=[500, -1, 60], occurrences=[2, 1, 1], of_peak_step=[1, 0, 0],
              region=["temp", "", ""], type=["float", "", ""], shape=["[128]", "", ""])

        g = pods.Group(f, "communicator")
        g.put("communicator", ["communicator"], np.arange(2))
        for variable, values in {"id": np.array([7, 2 ** 63 + 5], np.uint64), "name": ["row 2", ""], "size": [3, 4], "role": ["part", "part"]}.items():
            g.put(variable, ["communicator"], values)

        g = pods.Group(f, "torch_memory")
        g.put("row", ["row"], np.arange(3))
        for variable, values in {"worker": [0, 0, 1], "device": [0, 0, 0], "step": [100, 101, 100], "allocated_bytes": [64, 32, 16],
                                 "active_bytes": [64, 32, 16], "reserved_bytes": [256, 128, 64], "allocated_peak_bytes": [90, 96, 16],
                                 "reserved_peak_bytes": [256, 512, 64], "peak_rose": [0, 1, 0], "retries": [1, 2, 0], "out_of_memory": [0, 1, 0]}.items():
            g.put(variable, ["row"], np.array(values), "byte" if variable.endswith("bytes") else "")

    pod.extra = tables
    with browser() as b:
        unfold(b, pod_page(place, pod))
        same(column(b, "torch-memory", heads(b, "torch-memory").index("held, peak")), [512, 64], "PyTorch's allocator")
        same(column(b, "torch-memory", heads(b, "torch-memory").index("retries")), [3, 0], "retries of PyTorch's allocator")
        check(b.js("!document.getElementById('group-torch_memory')"), "PyTorch's memory is shown twice")
        check("self time, preprocessing takes 75.0 %" in b.js("document.getElementById('input-lead').textContent").replace("\u00a0", " "), "the largest stage")
        same(b.js("[...document.querySelectorAll('#input-stages tbody tr')].map(r => r.children[2].dataset.v)"), [750, 250], "stages")
        check(column(b, "input-ops", 0) == ["Iterator::Map", "read"] and column(b, "input-ops", 4) == ["750", "250"], "operations over ranks")
        same(column(b, "all-reduce", heads(b, "all-reduce").index("duration")), [200, None], "duration of collectives")
        named = column(b, "all-reduce", heads(b, "all-reduce").index("communicator"))
        check(named == ["row 2", "4 ranks"], f"communicators without an id: {named}")
        check(b.js("document.getElementById('allocator').value") == "0:GPU_0_bfc", "the largest peak is not first")
        text = "document.getElementById('memory').textContent.replaceAll('\\u00a0', ' ')"
        check("the device's total" not in b.js(text), "the capacity that the allocator reports is not shown")
        for word in ("5.00 KiB, 2.00 \u00b5s after its first call, step 101", "the other 5 calls", "25.0 %"):
            check(word in b.js(text), f"'{word}' is not in: {b.js(text)[:600]}")
        check(column(b, "memory-peak", 0) == ["(allocated before the recording)", "<b>MatMul"], f"at the peak: {column(b, 'memory-peak', 0)}")
        check(b.js("[...Memory.plot.bands.map(d => d.value), Memory.shares.lines[0].y]") == [[1024, 1024], [4096, 3584], [3072, 3584], [25, 50]], "the curve")
        b.js("(() => { const s = document.getElementById('allocator'); s.value = '1:cpu'; s.dispatchEvent(new Event('change')); })()")
        check(column(b, "memory-peak", 0) == ["aten::mm"] and "sum of the recorded calls" in b.js(text), "the other allocator is not shown")
        check("Capacity12.0 KiB, the device's total" in b.js(text), f"no total of the device in: {b.js(text)[:600]}")
        clean(b, "tools")


def tie(place, full):
    """The table of ranks says a tie where the others' waiting is below the clock error."""
    pod = pods.Pod(workers=5, steps=4)
    with browser() as b:
        for error, is_tie in ((10 ** 9, True), (4000, False)):
            pod.late_error = error
            unfold(b, pod_page(place, pod))
            at = heads(b, "workers").index("kept others waiting")
            shown = b.js(f"document.querySelectorAll('#t-workers tbody tr')[{pod.slow}].children[{at}].textContent")
            check(("tie" in shown) == is_tie, f"error of {error} ns: the table says {shown}")
            clean(b, "a tie")


if __name__ == "__main__":
    sys.exit(jobs.main({"viewer": viewer, "pixels": pixels, "tables": tables, "hostile": hostile, "odd": odd,
                        "foreign_group": foreign_group, "not_measured": not_measured, "of_files": of_files, "operators": operators, "kernels": kernels, "inputs": inputs, "clocks": clocks, "tools": tools, "tie": tie}, __doc__))

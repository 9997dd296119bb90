#!/usr/bin/python3
"""The page's charts: axes with units, keys, texts, and tables of the same numbers, for each of them. Run by ctest report_charts."""
import base64
import gzip
import json
import os
import sys

import numpy as np

from kit import browser, check, clean, jobs, pod_page
import pods

SECTIONS = "steps,viewer,waiting,blame,input,op,kernel,collectives,skyline,memory,clock,tables"


def memory(f, p):
    """Samples of memory over time, two a rank, and waits for input of each step."""
    g, n = pods.Group(f, "memory"), 2 * p.workers
    g.put("sample", ["sample"], np.arange(n))
    g.put("worker", ["sample"], np.repeat(np.arange(p.workers, dtype=np.int32), 2))
    g.put("time_ns", ["sample"], np.tile([1_000_000_000, 3_000_000_000], p.workers), "ns")
    g.put("rss_bytes", ["sample"], (np.arange(n) + 1 << 20).astype(np.uint64), "byte")
    g = pods.Group(f, "input")
    g.put("worker", ["worker"], p.rank)
    g.put("loader_samples", ["worker"], np.full(p.workers, 4, np.uint32))
    g.put("loader_busy", ["worker"], np.full(p.workers, 0.5), "1")
    g = pods.Group(f, "input_wait")
    g.put("step", ["step"], p.number)
    g.put("worker", ["step"], np.ones(p.steps, np.int32))
    for name, ns in (("least_ns", 1000), ("mean_ns", 2000), ("most_ns", 4000)):
        g.put(name, ["step"], np.full(p.steps, ns), "ns")


def made():
    pod = pods.Pod(workers=24, steps=5, hosts=8)
    pod.clocks, pod.extra = True, memory
    return pod


def axes(place, full):
    """Every chart names its axes with their units."""
    with browser() as b:
        b.open(pod_page(place, made()), f"#open={SECTIONS}")
        b.js("window.said = []; const fill = CanvasRenderingContext2D.prototype.fillText;"
             "CanvasRenderingContext2D.prototype.fillText = function(t, ...more) { said.push(t); return fill.call(this, t, ...more); };")
        for draw, titles in (("Overview", ("step number", "time per step (ms)")), ("Clocks", ("time since the job began (s)", "clock error (\u00b5s)")),
                             ("Samples", ("time since the job began (s)", "rss (MiB)")), ("Input", ("step number", "wait for input (\u00b5s)"))):
            b.js(f"said.length = 0; {draw}.draw()")
            said = b.js("said")
            for title in titles:
                check(said.count(title) == 1, f"{draw}: '{title}' is written {said.count(title)} times: {said}")
        clean(b, "axes")


def keys(place, full):
    """Each chart takes the focus, has a text, and a table of its numbers; the arrow keys say what each point is."""
    with browser() as b:
        b.open(pod_page(place, made()), f"#open={SECTIONS}")
        b.js("document.querySelectorAll('details').forEach(e => e.open = true)")
        for chart in b.js("[...document.querySelectorAll('canvas.plot, canvas.columns')].filter(c => c.checkVisibility()).map(c => c.id)"):
            check(b.js(f"document.getElementById('{chart}').tabIndex") == 0, f"{chart} takes no focus")
            check(len(b.js(f"document.getElementById('{chart}').getAttribute('aria-label') || ''")) > 20, f"{chart} has no text")
            rows = f"document.getElementById('{chart}').closest('.body').querySelectorAll('table tbody tr').length"
            check(b.js(rows) > 1, f"{chart} has no table")
        card = "document.getElementById('card').hidden ? '' : document.getElementById('card').textContent"
        for chart, words in (("step-chart", ("step 100", "slowest")), ("input-wait", ("step 100", "4.00 \u00b5s")), ("clock-chart", ("node", "clock error"))):
            b.js(f"Card.hide(); document.getElementById('{chart}').focus()")
            b.key("ArrowRight")
            said = b.js(card).replace("\u00a0", " ")
            check(all(w in said for w in words), f"{chart}: {said}")
        rows = b.js("[...document.querySelectorAll('#t-step-chart-numbers tbody tr')].map(r => [...r.children].map(c => c.dataset.v ?? c.textContent))")
        step = b.js("[Pod.step.number[1], Pod.step.max_ns[1], Pod.step.min_ns[1]]")
        check(len(rows) == 5 and [float(v) for v in rows[1][:3]] == step, f"the table of the step chart: {rows[1]}, not {step}")
        clean(b, "keys")


def many(place, full):
    """Of more steps than points, each column is the slowest of those beside it: a rare one is never left out."""
    pod = pods.Pod(workers=2, steps=2400)
    pod.step_ns[1234, :] *= 30
    with browser() as b:
        b.open(pod_page(place, pod), "#open=steps")
        shown, n = b.js("[Overview.chart.shown.includes(1234), Overview.chart.shown.length]")
        check(shown and n < 2400, f"the slowest step is not among {n} columns")
        clean(b, "many steps")


def formats(place, full):
    """One number has one text: the page's Format prints what units.c does, of thousands of numbers. A few are spelled out."""
    got = jobs.run([os.path.join(place.bin, "format_print")])
    lines = [line.split(" ", 2) for line in got.out.splitlines()]
    check(len(lines) > 10000, f"{len(lines)} lines")
    said = """(lines => {
      const plain = t => t.replaceAll(NB, ' ').replaceAll('\\u00b5', 'u').replaceAll('\\u2212', '-');
      const by = {time: v => Format.time(+v), bytes: v => Format.bytes(+v), count: v => Format.count(+v), share: v => Format.share(+v, 100),
                  mean: v => Format.time(v.split('/')[0] / v.split('/')[1])};
      return lines.filter(([kind, value, text]) => plain(by[kind](value)) !== text).map(l => [...l, plain(by[l[0]](l[1]))]);
    })(%s)"""
    with browser() as b:
        b.open(pod_page(place, pods.Pod(workers=1, steps=2, hosts=1)))
        other = b.js(said % json.dumps(lines))
        check(not other, f"{len(other)} of {len(lines)} numbers differ: {other[:8]}")
        spelled = b.js("[Format.time(8.6), Format.time(8.4), Format.time(-8.6), Format.share(1, 3000), Format.bytes(1023.5 * 1024)]")
        check([s.replace("\u00a0", " ") for s in spelled] == ["9 ns", "8 ns", "\u22129 ns", "< 0.1 %", "1.00 MiB"], f"{spelled}")


def packed(page, name="app"):
    with open(page, encoding="utf-8") as f:
        return base64.b64decode(f.read().split(f'id="{name}">')[1].split("</script>")[0])


def weight(place, full):
    """A page of one rank and two steps is one file of at most 200 kB; its program is compressed, without a date, and says its name in errors."""
    page = pod_page(place, pods.Pod(workers=1, steps=2, hosts=1))
    size, app = os.path.getsize(page), packed(page)
    check(size <= 200_000, f"the page has {size} bytes")
    check(app[:2] == b"\x1f\x8b" and app[4:8] == bytes(4), f"the header of the program: {app[:10].hex()}")
    check(b"class Plot" in gzip.decompress(app), "the program is not in the page")
    with browser() as b:
        b.open(page)
        check(b.js("document.scripts.length") == 3, "there are more scripts than the data, the program and its start")
        b.js("setTimeout(() => Format.short(null, 3))")
        check(any("podprof-page.js" in c for c in b.complaints()), f"an error does not name the program: {b.complaints()}")


def old_browser(place, full):
    """A browser that cannot inflate the program shows the text of the page, and says what is missing."""
    page = pod_page(place, pods.Pod(workers=3, steps=3))
    with browser() as b:
        script = b.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")["identifier"]
        try:
            b.open(page)
            check("DecompressionStream" in b.js("document.getElementById('failed').textContent"), b.js("document.getElementById('failed').textContent"))
            check(len(b.js("document.getElementById('job').textContent")) > 10, "the text of the page is gone")
            clean(b, "an old browser")
        finally:
            b.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


if __name__ == "__main__":
    sys.exit(jobs.main({"axes": axes, "keys": keys, "many": many, "formats": formats, "weight": weight, "old_browser": old_browser}, __doc__))

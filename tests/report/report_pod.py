#!/usr/bin/python3
"""The page's sections about the pod: groups and percentiles of the pod viewer, blame, advice, collectives and messages, the memory skyline; and their
lines of the summary. Of a made-up job (page_make), each number against pod.h5. Run by ctest report_pod."""
import collections
import csv
import json
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np

from kit import browser, check, clean, column, heads, is_in_window, jobs, make, near, pod_page, same, unfold
import pods
import timeline_kit

DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def pod(place, ranks=8, steps=24, per_host=4):
    """A directory of a made-up session, and its page."""
    place.count += 1
    logs = os.path.join(place.scratch, f"made{place.count}")
    subprocess.run([os.path.join(place.bin, "page_make"), logs, str(ranks), str(steps), str(per_host)], check=True)
    directory = jobs.session_of(logs)
    place.changed.add(os.path.join(directory, "pod.h5"))  # each table has numbers of its own
    return directory, make(place, directory)


def text(b, selector):
    return b.js(f"document.querySelector({selector!r})?.textContent ?? ''").replace("\u00a0", " ")


def csv_of(place, b, table):
    b.call("Page.setDownloadBehavior", behavior="allow", downloadPath=place.scratch)
    path = os.path.join(place.scratch, f"podprof-{table}.csv")
    if os.path.exists(path):
        os.unlink(path)
    b.js(f"document.querySelector('#t-{table}').closest('.tablebox').querySelector('.csv').click()")
    check(jobs.wait_until(lambda: os.path.exists(path) and os.path.getsize(path)), f"no CSV of {table} came")
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.reader(f))


def order(place, full):
    """Sections stand in their order, each in the rail and with content; charts and regions have names."""
    with browser() as b:
        _, page = pod(place)
        unfold(b, page)
        ids = b.js("[...document.querySelectorAll('details.section')].map(s => s.id)")
        wanted = ["steps", "viewer", "waiting", "blame", "advice", "collectives", "skyline", "clock", "quality", "run", "absent"]
        check([i for i in ids if i in wanted] == wanted, f"sections: {ids}")
        check(not b.js("[...document.querySelectorAll('canvas')].filter(c => !c.getAttribute('aria-label')).length"), "a chart has no text")
        empty = b.js("['blame', 'advice', 'collectives', 'skyline'].filter(id => document.querySelector(`#${id} .empty`))")
        check(not empty, f"empty: {empty}")
        took = text(b, "#overhead")
        records, ns = b.js("[Pod.answer.records_per_step, Pod.answer.recording_ns]")
        check(records > 0 and abs(ns - 12.5 * records) <= 12.5, f"{records} records take {ns} ns, not 12.5 ns each")
        for words in ("per step and rank", f"{records} records, 13 ns each", "38.0 ms, 2 hosts together", "9.00 MiB", "Not measured", "Size of pod.h5"):
            check(words in took, f"'{words}' is not in: {took}")
        clean(b, "order")


def blame(place, full):
    """Blame of each rank, of its reasons, and of the pinned step; patterns and what-if; rows pin what they are about."""
    directory, page = pod(place)
    with h5py.File(os.path.join(directory, "pod.h5")) as f, browser() as b:
        g, step = f["blame"], f["blame_step/step_blame_ns"][()]
        sums, wait, steps = collections.Counter(), f["breakdown/wait_ns"][()].clip(0).sum(), len(f["blame_step/step"])
        for rank, ns in zip(g["worker"][()], g["blame_ns"][()]):
            sums[int(rank)] += int(ns)
        check(sum(sums.values()) == wait == step.sum(), "the made-up blame is not the waiting")
        unfold(b, page)
        at = heads(b, "blame")
        ranks = [int(r) for r in column(b, "blame", at.index("rank"))]
        check(ranks == [r for r, _ in sums.most_common()] and ranks[0] == 3, f"order: {ranks}")
        same(column(b, "blame", at.index("blame per step")), [sums[r] / steps for r in ranks], "blame")
        check(text(b, "#t-blame tbody tr").count("98.9 %") == 1, text(b, "#t-blame tbody tr"))
        bars = b.js("[...document.querySelectorAll('#t-blame tbody tr:first-child .track span')].map(s => [s.title, s.getBoundingClientRect().width])")
        check(len(bars) == 2 and bars[0][0].startswith("Input") and 8 < bars[0][1] / bars[1][1] < 10, f"bars: {bars}")
        check("rank 3, Input" in text(b, "#blame-sentence") and "40 of 40 usual steps" in text(b, "#blame-sentence"), text(b, "#blame-sentence"))
        rows = csv_of(place, b, "blame")
        check(len(rows) == len(ranks) + 1 and near(float(rows[1][rows[0].index("blame per step [ns]")]), sums[3] / steps), f"CSV: {rows[:2]}")
        b.js("document.querySelectorAll('#t-blame tbody tr')[1].click()")
        check(b.js("Pod.worker.rank[Select.worker]") == ranks[1], "a click on a row does not pin its rank")
        for s in (5, 17):
            b.js(f"Select.set({{from: Select.nearest({100 + s})}})")
            said = text(b, "#blame-step")
            worst = int(step[s].argmax())
            check(f"rank {worst}: " in said and f"Step {100 + s}" in text(b, "#blame-step-title"), said)
            share = 100 * step[s, worst] / step[s].sum()
            check(("100 %" if share >= 99.95 else f"{share:.1f} %") in said and ("Input" if worst == 3 else "Host compute") in said, f"{share}: {said}")
        check(b.js("Blame.over.items.map(i => i.total)") == [int(n) for n in step.sum(axis=1)], "the columns of the steps")
        at = heads(b, "finding")
        check(column(b, "finding", at.index("kind")) == ["persistent", "periodic", "one-off"], "kinds of findings")
        check(column(b, "finding", at.index("of")) == ["rank 3", "all ranks", "rank 1"], "whom findings are about")
        b.js("document.querySelectorAll('#t-finding tbody tr')[2].click()")
        check(b.js("[Pod.worker.rank[Select.worker], Pod.stepShown[Select.from]]") == [1, 104], "a pattern does not pin its rank and step")
        at = heads(b, "what-if")
        same(column(b, "what-if", at.index("gain per step")), [11e6, 10e6, -1e6], "what-if")
        check("longer" in text(b, "#t-what-if tbody tr:last-child") and "42.3 %" in text(b, "#t-what-if tbody tr"), text(b, "#t-what-if"))
        clean(b, "blame")


def advice(place, full):
    """The most expensive first, with evidence; its rank is a link."""
    with browser() as b:
        _, page = pod(place)
        unfold(b, page)
        cards = b.js("[...document.querySelectorAll('#advice-list li')].map(l => l.textContent)")
        check([c.split("\u00a0")[0][:3] for c in cards] == ["12.", "180", "not"], f"order: {cards}")
        check("12.1\u00a0ms per step longer" in cards[0] and "rank 3" in cards[0] and "all ranks" in cards[1], f"cards: {cards}")
        b.js("State.set({rank: 0}); document.querySelector('#advice-list a').click()")
        check(b.js("Pod.worker.rank[Select.worker]") == 3, "a card's rank does not pin it")
        check([float(v) for v in column(b, "advice", 0) if v] == [12e6, 180e3], "the table of advice")
        clean(b, "advice")


def pairs_of(f):
    """{(source, destination): [messages, ns of the sender, ns of the receiver]} of pod.h5."""
    c, found = f["collective"], {}
    for i in np.flatnonzero(c["message"][()]):
        source, destination, first = int(c["source"][i]), int(c["destination"][i]), int(c["row_first"][i])
        row = found.setdefault((source, destination), [0, 0, 0])
        row[0] += 1
        for k in range(first, first + int(c["row_count"][i])):
            row[1 if c["worker"][k] == source else 2] += int(c["exposed_wait_ns"][k])
    return found


def collectives(place, full):
    """Messages are no collectives: they are in their own table, by pair, with who waited; sizes have a chart with a point a row."""
    directory, page = pod(place)
    with h5py.File(os.path.join(directory, "pod.h5")) as f, browser() as b:
        pairs, message, steps = pairs_of(f), f["collective/message"][()], len(f["step/step"])
        unfold(b, page)
        shown = b.js("[Pod.table('collective', 'event').rows, Waiting.table.rows, Pod.arrival.length]")
        check(shown == [int((message == 0).sum())] * 2 + [min(40, int((message == 0).sum()))], f"collectives: {shown}")
        check(b.js("Pod.arrival.every(a => a.worker.length === 8)"), "arrivals of a message")
        same(column(b, "all-reduce", heads(b, "all-reduce").index("operations")), [(message == 0).sum()], "operations")
        at = heads(b, "messages")
        rows = list(zip(*(column(b, "messages", at.index(n)) for n in ("sender", "receiver", "messages", "sender waits", "receiver waits"))))
        check(len(rows) == len(pairs) == 2, f"pairs: {rows}")
        for source, destination, count, sender, receiver in rows:
            want = pairs[int(source), int(destination)]
            same([count, sender, receiver], [want[0], want[1] / steps, want[2] / steps], f"{source} to {destination}")
        check("48 messages between 2 pairs" in text(b, "#messages-sum"), text(b, "#messages-sum"))
        points = b.js("Collectives.plot.points.map(p => p.x.length)")
        check(points == [12, 8] and len(column(b, "sizes", 0)) == 12, f"points: {points}")
        b.js("document.querySelector('#sizes').scrollIntoView(); document.querySelector('#sizes').focus()")
        b.key("ArrowRight")
        card = text(b, "#card")
        check("Allreduce, 8 ranks" in card and "1.00 KiB to 2.00 KiB" in card and "1.91 MiB/s" in card, f"the card of the first point: {card}")
        b.key("ArrowDown")
        check("Send, 2 ranks" in text(b, "#card"), "arrow down does not reach the other call")
        clean(b, "collectives")


def budget(place, full):
    """The parts of each operation's time as in pod.h5, as means and as a bar; by exposed time, and what they are in words."""
    directory, page = pod(place)
    parts = ("hidden", "late", "slow", "not split")
    with h5py.File(os.path.join(directory, "pod.h5")) as f, browser() as b:
        g, cells = f["budget"], int((f["breakdown/step_ns"][()] > 0).sum())
        of = {n: g[k + "_ns"][()] / cells for n, k in zip(parts, ("hidden", "wait", "transfer", "unsplit"))}
        exposed = of["late"] + of["slow"] + of["not split"]
        order = np.argsort(-exposed)
        unfold(b, page)
        at = heads(b, "budget")
        check([n for n in parts + ("exposed", "blocking") if n in at] == list(parts + ("exposed", "blocking")), f"heads: {at}")
        check(column(b, "budget", 0) == [g["operation"][i].decode() for i in order], "operations, or their order")
        for n in parts:
            same(column(b, "budget", at.index(n)), of[n][order], n)
        same(column(b, "budget", at.index("exposed")), exposed[order], "exposed")
        same(column(b, "budget", at.index("blocking")), g["blocking_ns"][()][order] / cells, "blocking")
        bars = b.js("[...document.querySelectorAll('#t-budget .track')].map(t => [...t.children].map(s => s.getBoundingClientRect().width))")
        for i, bar in zip(order, bars):
            shown = [of[n][i] for n in parts if of[n][i] > 0]
            check(len(bar) == len(shown) and np.allclose(np.array(bar) / sum(bar), np.array(shown) / sum(shown), atol=0.02), f"bar {i}: {bar}")
        check("6.98 ms of communication is exposed" in text(b, "#budget-sum") and "3.75 ms is hidden" in text(b, "#budget-sum"), text(b, "#budget-sum"))
        rows = csv_of(place, b, "budget")
        check(rows[0][4] == "hidden [ns]" and len(rows) == 5, f"CSV: {rows[0]}")
        clean(b, "budget")


def skyline(place, full):
    """Sums at instants, the rank with most, who runs out first, whether ranks peak together; the source stands in the address."""
    directory, page = pod(place)
    with h5py.File(os.path.join(directory, "pod.h5")) as f, browser() as b:
        m = f["memory"]
        worker, rss = m["worker"][()], m["rss_bytes"][()].astype(np.int64)
        unfold(b, page)
        s = b.js("(s => ({sum: Array.from(s.sum), known: Array.from(s.known), most: Array.from(s.most_rank), at: Array.from(s.at)}))(Pod.skyline[0])")
        time = m["time_ns"][()]
        for k in (0, 100, 239):
            want = [rss[(worker == w) & (time <= s["at"][k])][-1] for w in range(8)]
            check(s["sum"][k] == sum(want) and s["most"][k] == int(np.argmax(want)) and s["known"][k] == 8, f"instant {k}: {s['sum'][k]}, not {sum(want)}")
        at = heads(b, "skyline-0")
        ranks = [int(r) for r in column(b, "skyline-0", at.index("rank"))]
        same(column(b, "skyline-0", at.index("peak")), [rss[worker == r].max() for r in ranks], "peaks")
        said = text(b, "#skyline-notes")
        check("Fastest growth: rank 1" in said and "limit is not recorded" in said, said)
        check("peak at different times" in said or "peak partly together" in said, said)
        unfold(b, page, "#skyline=1")
        said = text(b, "#skyline-notes")
        check("First to run out: rank 1, cuda:0" in said and "1.00 GiB per step" in said and "37.0 GiB left of 80.0 GiB: 37 more steps" in said, said)
        check("only one of 8 ranks changes" in said, said)
        b.js("document.querySelector('#skyline-sum').focus()")
        b.key("ArrowRight")
        check("step 100" in text(b, "#card") and "230 GiB" in text(b, "#card"), text(b, "#card"))
        clean(b, "skyline")


def quartiles(values):
    v = np.sort(values)
    n = len(v)
    return [int(v[i]) for i in (0, (n - 1) // 4, (n - 1) // 2, n - 1 - (n - 1) // 4, n - 1)]


def viewer(place, full):
    """Rows by role and host with headings, keys and pointer over them; roles and hosts as filters; percentiles against pod.h5."""
    directory, page = pod(place, ranks=40, steps=12)
    with h5py.File(os.path.join(directory, "pod.h5")) as f, browser() as b:
        exclusive, step, blamed = f["breakdown/exclusive_ns"][()], f["breakdown/step_ns"][()], f["blame_step/step_blame_ns"][()]
        unfold(b, page, "#group=role&colour=step_ns")
        groups = b.js("Viewer.groups.map(g => [g.name, g.from, g.to])")
        check(groups == [["role 0 (ranks 0-29)", 0, 30], ["role 1 (ranks 30-39)", 30, 40]], f"groups: {groups}")
        b.js("Select.set({from: 4, worker: 33}); Viewer.columns.canvas.focus()")
        b.key("ArrowDown")
        check(b.js("Select.worker") == 34, "a key in a group")
        b.js("State.set({group: 'host', sort: 'shown'})")
        hosts = b.js("Viewer.groups.map(g => [g.to - g.from, new Set(Viewer.order.slice(g.from, g.to).map(w => Pod.worker.host[w])).size])")
        check(hosts == [[4, 1]] * 10, f"hosts: {hosts}")
        for colour, values in (("step_ns", step), ("category_6", exclusive[:, :, 5]), ("blame_ns", blamed)):
            b.js(f"State.set({{colour: '{colour}', host: '', role: ''}})")
            got = b.js("Bands.view.q.map(q => Array.from(q))")
            check([list(r) for r in zip(*got)] == [quartiles(values[s]) for s in range(12)], f"percentiles of {colour}")
            b.js("State.set({host: 'h0'})")
            got = b.js("Bands.view.q.map(q => Array.from(q))")
            check([list(r) for r in zip(*got)] == [quartiles(values[s, :4]) for s in range(12)], f"percentiles of {colour} on one host")
        b.js("State.set({host: '', colour: 'category_6'})")
        check("h0" in b.js("document.querySelector('#t-groups tbody tr').textContent") or "role 0" in b.js("document.querySelector('#t-groups tbody tr').textContent"), "groups")
        b.js("[...document.querySelectorAll('#t-groups tbody tr')].find(r => r.children[0].textContent === 'role' && r.textContent.includes('role 1')).click()")
        check("role=1" in b.js("location.hash") and b.js("Viewer.order.length") == 10, "a role does not choose its ranks")
        check("10 chosen ranks" in text(b, "#bands-title"), text(b, "#bands-title"))
        clean(b, "viewer")


def unpacked(place, full):
    """A large page unpacks the planes that it shows, the others when they come into view or are chosen."""
    directory, page = pod(place, ranks=1024, steps=420, per_host=8)
    left = "Pod.cell.plane.filter(p => !Pod.ready(p)).map(p => p.key)"
    with h5py.File(os.path.join(directory, "pod.h5")) as f, browser() as b:
        b.open(page, "#theme=light")
        first = b.js(left)
        check({"transfer_ns", "blame_ns"} <= set(first) and not {"present", "step_ns"} & set(first), f"not unpacked: {first}")
        b.js("State.set({open: 'viewer'}); App.show('viewer')")
        b.js("document.getElementById('pinned-title').scrollIntoView()")
        b.wait("Viewer.columns.items.length === 1024")
        number = b.js("Pod.stepShown[Select.from]")
        want = f["breakdown/exclusive_ns"][number - 100, :, 3]
        got = b.js("Viewer.columns.items.map(i => i.segments.find(s => s.id === 4).ns)")
        check(got == [int(v) for v in want], "the columns of the pinned step")
        b.js("State.set({group: 'host'})")
        check(b.js("Viewer.groups.length") == 128, "128 hosts as groups")
        b.js("App.show('blame')")
        b.wait("Blame.pinned.items.length === 1024")
        b.js("[...document.querySelectorAll('summary')].find(s => s.textContent.includes('the selected step as a table')).parentElement.open = true")
        b.wait(f"{left}.length === 0")
        at = heads(b, "cells").index("Waiting")
        same(column(b, "cells", at), f["breakdown/wait_ns"][number - 100, :50], "the table of the pinned step")
        clean(b, "unpacked")


def paper(place, full):
    """A large page prints the sections that are open: their charts are drawn when the browser asks, from what was packed until then."""
    directory, page = pod(place, ranks=1024, steps=420, per_host=8)
    packed = "Pod.cell.plane.filter(p => !Pod.ready(p))"
    with h5py.File(os.path.join(directory, "pod.h5")) as f, browser() as b:
        b.size(1400, 300)
        b.open(page, "#theme=dark&open=viewer,blame")
        b.wait("!!Viewer.columns && !!Blame.pinned")
        b.js(f"{packed}.forEach(p => p.before = p.data)")
        check(b.js(f"{packed}.length") > 1 and not b.js("Blame.pinned.items?.length"), "the page is not lazy")
        b.js("""window.drawn = c => { const o = document.createElement('canvas'); o.width = c.width; o.height = c.height;
            const g = o.getContext('2d', {willReadFrequently: true}); g.drawImage(c, 0, 0);
            return new Set(new Uint32Array(g.getImageData(0, 0, o.width, o.height).data.buffer)).size; };
            addEventListener('beforeprint', () => window.printed = {
              columns: Viewer.columns.items.map(i => i.segments.find(s => s.id === 4).ns), blame: Blame.pinned.items.length,
              empty: [...document.querySelectorAll('canvas')].filter(c => c.checkVisibility() && c.width && drawn(c) < 3)
                         .map(c => c.id || c.getAttribute('aria-label')),
              light: document.documentElement.dataset.theme })""")
        check(len(b.call("Page.printToPDF", printBackground=True)["data"]) > 100000, "the PDF")
        printed = b.js("window.printed")
        step = b.js("Pod.stepShown[Select.from]") - 100
        check(printed["columns"] == [int(v) for v in f["breakdown/exclusive_ns"][step, :, 3]], "the columns of the pinned step on paper")
        check(printed["blame"] == 1024 and printed["light"] == "light" and not printed["empty"], f"on paper: {printed['empty']}, {printed['blame']}")
        check(b.js("document.documentElement.dataset.theme") == "dark", "the screen has the colours of the paper")
        differ = b.js("""Promise.all(Pod.cell.plane.filter(p => p.before && Pod.ready(p)).map(async p =>
            (await Pack.unpack(p.before)).some((v, i) => v !== p.data[i]) && p.key)).then(list => list.filter(k => k))""")
        check(not differ, f"unpacked at once, these differ: {differ}")
        clean(b, "paper")


def inflated(place, full):
    """What is unpacked at once is what the browser's own stream unpacks: stored, fixed and dynamic blocks; damage is an error, never an endless loop."""
    with browser() as b:
        unfold(b, pod(place)[1])
        b.js("""window.pack = async bytes => new Uint8Array(await new Response(
            new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer());
            let seed = 7; window.dice = n => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
            window.make = (n, kinds) => Uint8Array.from({length: n}, () => dice(kinds))""")
        wrong = b.js("""(async () => { const wrong = [];
            for (const [n, kinds] of [[0, 1], [1, 256], [5, 2], [300, 1], [40000, 3], [70000, 256], [200000, 40], [1000000, 5]]) {
              const bytes = make(n, kinds), got = Inflate.all(await pack(bytes));
              if (got.length !== n || got.some((v, i) => v !== bytes[i])) wrong.push([n, kinds]); }
            return wrong; })()""")
        check(not wrong, f"bytes and kinds of them that come back as others: {wrong}")
        stood = b.js("""(async () => { const packed = await pack(make(5000, 20)); let stood = 0;
            for (let i = 0; i < 400; i++) { const bad = packed.slice(0, i % 2 ? packed.length : dice(packed.length));
              bad[dice(bad.length)] ^= 1 << dice(8);
              try { Inflate.all(bad); } catch (e) { stood += /damaged|cut off/.test(e.message); } }
            return stood; })()""")
        check(stood > 200, f"only {stood} of 400 damaged parts are an error with words")
        clean(b, "inflated")


def looks(place, full):
    """Light, dark, narrow and paper: charts are drawn, nothing overflows; a link brings a view back."""
    inked = ("(() => { const c = document.querySelector('%s'), o = document.createElement('canvas'); o.width = c.width; o.height = c.height;"
             " const g = o.getContext('2d', {willReadFrequently: true}); g.drawImage(c, 0, 0);"
             " return new Set(new Uint32Array(g.getImageData(0, 0, o.width, o.height).data.buffer)).size })()")
    with browser() as b:
        _, page = pod(place)
        for theme in ("light", "dark"):
            unfold(b, page, f"#theme={theme}&group=role&t-x=1")
            for canvas in ("#bands", "#sizes", "#skyline-sum", "#skyline-most", "#blame canvas"):
                check(b.js(inked % canvas) > 8, f"{canvas} is empty, {theme}")
        for width in (1400, 900, 420):
            b.size(width, 800)
            b.js(DRAWN)
            check(is_in_window(b), f"the page is wider than {width}")
        b.size(1400, 900)
        check(len(b.call("Page.printToPDF", printBackground=True)["data"]) > 20000, "print")
        b.js("State.set({colour: 'blame_ns', group: 'host', sort: 'late', skyline: 1, 'blame.f': 'h1'})")
        link = b.js("location.hash")
        unfold(b, page, link)
        seen = b.js("[Select.plane.key, Viewer.groups.length, Pod.skyline.indexOf(Skyline.source()), document.querySelectorAll('#t-blame tbody tr').length]")
        check(seen == ["blame_ns", 2, 1, 4], f"a link shows another view: {seen}")
        clean(b, "looks")


def timeline(place, full):
    """A button, or Enter, shows the selected rank's timeline of the selected step."""
    page = pod_page(place, pods.Pod(workers=4, steps=10, first_step=0))
    if not os.path.exists(os.path.join(place.bin, "timeline_page")):
        raise jobs.Skipped("timeline_page was not built")
    made = subprocess.run([os.path.join(place.bin, "timeline_page"), "4", "10", "20"], check=True, stdout=subprocess.PIPE, text=True)
    with_timeline = os.path.join(os.path.dirname(page), "timeline.html")
    timeline_kit.put_into(page, made.stdout, with_timeline)
    with browser() as b:
        unfold(b, with_timeline, "#step=4&rank=2")
        b.js("document.getElementById('to-timeline').click()")
        seen = b.js("[Select.worker, Pod.stepShown[Select.from], [...Trace.open].join(), Trace.step, State.get('at', '')]")
        check(seen == [2, 4, "2", "4-4", "timeline"], f"a click on the rank: {seen}")
        top = b.js("document.getElementById('timeline').getBoundingClientRect().top")
        check(-50 < top < 450, f"the timeline is not in view: {top}")
        b.js("Select.set({worker: 1}); Viewer.columns.canvas.focus()")
        b.key("Enter")
        check(b.js("[...Trace.open].sort().join()") == "1,2", "Enter does not open the pinned rank")
        unfold(b, page)
        check(b.js("!document.getElementById('to-timeline')"), "a button leads to no timeline")
        clean(b, "timeline")


def summary(place, full):
    """The lines of the summary and their JSON; a session without these tables has none, and the page says why."""
    directory, _ = pod(place)
    said = jobs.run([place.podprof(), "report", directory]).out
    for words in ("  Bottleneck: rank 3, Input: 12.1 ms more than", "  Straggler:  rank 3. 3 other ranks wait 12.0 ms because of it in a usual step",
                  "  What if:    rank 3 were as fast as the median of the others: a mean usual step would take 17.0 ms, not 20.0 ms (replay)", "  Also:       every 8 steps: all ranks",
                  "  Also:       once, in step 104: rank 1", "  Advice:     compare the files",
                  "and 1 more: podprof report --table advice "):
        check(words in said, f"'{words}' is not in:\n{said}")
    got = json.loads(jobs.run([place.podprof(), "report", "--json", directory]).out)
    with h5py.File(os.path.join(directory, "pod.h5")) as f:
        check(got["blame"]["blame_ns"] == int(f["blame/blame_ns"][0]) // 24 and got["blame"]["rank"] == 3 and got["blame"]["reason"] == "Input", got["blame"])
    check([f["kind"] for f in got["findings"]] == ["persistent", "periodic", "one_off"] and got["verdict"]["rank"] == 3, got["findings"])
    check(got["what_if"]["gain_ns"] == 3000000 and got["advice"]["more"] == 1, "JSON")
    plain = pods.Pod(workers=4, steps=5).write(os.path.join(place.scratch, "plain"))
    said = jobs.run([place.podprof(), "report", plain]).out
    check(not any(line.startswith(("  Also:", "  Advice:")) for line in said.splitlines()), said)
    got = json.loads(jobs.run([place.podprof(), "report", "--json", plain]).out)
    check([got[k] for k in ("blame", "advice")] == [None] * 2, "JSON of a plain session")
    with browser() as b:
        unfold(b, os.path.join(plain, "report.html"))
        for section in ("blame", "advice", "skyline"):
            check(len(text(b, f"#{section} .empty")) > 40, f"{section} does not say why it is empty")
        check("No point-to-point message" in text(b, "#collectives"), text(b, "#collectives"))
        clean(b, "a plain session")


MARKUP = b"</option></script><img src=x onerror=alert(1)> 'podprof report x'"
FAULTS = [("blame/reason", [99, -5]), ("blame/worker", [77, -1]), ("blame/blame_ns", [-5, 0]), ("finding/kind", [44, -3]), ("finding/finding_worker", [99, -9]),
          ("finding/finding_reason", [120, -120]), ("finding/finding_first", [-2 ** 62, 2 ** 62]), ("finding/chance", [float("nan"), 1e300]),
          ("finding/finding_gain_ns", [-2 ** 55, 2 ** 55]), ("finding/finding_ranks", [2 ** 31, 0]), ("finding/waiters", [2 ** 31, 0]),
          ("what_if/gain_ns", [-2 ** 55, 2 ** 55]), ("what_if/before_ns", [0, -5]), ("what_if/subject", [100, -100]), ("collective/row_first", [2 ** 40, 2 ** 50]),
          ("collective/row_count", [2 ** 31, 2 ** 30]), ("collective/source", [-7, 2 ** 30]), ("collective/bytes", [2 ** 63, 2 ** 63]),
          ("message_size/occurrences", [0, 0]), ("message_size/busbw_median", [float("nan"), -1.0]), ("message_size/busbw_most", [float("inf"), 0.0]),
          ("message_size/from_bytes", [0, 2 ** 63]), ("advice/advice_worker", [500, -7]), ("advice/cost_ns", [-1, 2 ** 54]), ("role/first_rank", [-3, 900]),
          ("worker/role", [77, -77]), ("memory/time_ns", [2 ** 54, -2 ** 54]), ("memory/rss_bytes", [2 ** 63, 2 ** 63]), ("torch_memory/step", [2 ** 62, -2 ** 62]),
          ("torch_memory/device", [-1, 2 ** 30]), ("allocator/device_bytes", [-9, 0]), ("blame_step/step_blame_ns", [-5, -2 ** 54]), ("blame_step/step_reason", [77, -77]),
          ("advice/advice", [MARKUP, MARKUP]), ("advice/evidence", [MARKUP, MARKUP]), ("role/role_ranks", [MARKUP, MARKUP]), ("finding/finding", [MARKUP, MARKUP]), ("finding/who", [MARKUP, MARKUP]),
          ("what_if/what_if", [MARKUP, MARKUP]), ("efficiency/parallel", [1e300]), ("efficiency/transfer", [float("inf")]), ("efficiency/load_balance", [-1.0])]


def hostile(place, full):
    """A damaged file: numbers of no code, ranks of no worker, absurd times, texts of markup. It is refused in one line, or the page stands and
    runs none of it."""
    directory, page = pod(place)
    path, bad, stood = os.path.join(directory, "pod.h5"), os.path.join(place.scratch, "bad"), 0
    os.makedirs(bad)
    with browser() as b:
        for name, values in FAULTS:
            shutil.copy(path, bad)
            with h5py.File(os.path.join(bad, "pod.h5"), "r+") as f:
                v = f[name][()]
                flat = v.reshape(-1)
                for i, value in enumerate(values):
                    flat[i] = value if isinstance(value, bytes) else np.array(value).astype(v.dtype)
                f[name][...] = v
            got = jobs.run([place.podprof(), "report", "--html", os.path.join(bad, "bad.html"), bad])
            said = [line for line in got.err.splitlines() if line.startswith("podprof: ")]
            if got.code:
                check(got.code == 1 and len(said) == 1, f"{name}: {got.transcript()}")
                continue
            stood += 1
            unfold(b, os.path.join(bad, "bad.html"), "#group=role&colour=blame_ns")
            check(not b.js("!!document.getElementById('failed')"), f"{name}: the page failed")
            check(b.js("!document.querySelector('img, svg, iframe')"), f"{name}: a text became an element")
            check(not isinstance(values[0], bytes) or "<img src=x" in b.js("document.body.textContent"), f"{name}: the text is not shown")
            for line in ("undefined", "NaN"):
                check(line not in b.js("document.querySelector('main').innerText"), f"{name}: the page says {line}")
            clean(b, name)
    check(stood > len(FAULTS) // 2, f"only {stood} of {len(FAULTS)} faults came as far as the page")


if __name__ == "__main__":
    sys.exit(jobs.main({"order": order, "blame": blame, "advice": advice, "collectives": collectives, "budget": budget, "skyline": skyline, "viewer": viewer, "unpacked": unpacked, "paper": paper, "inflated": inflated,
                        "looks": looks, "timeline": timeline, "summary": summary, "hostile": hostile}, __doc__))

#!/usr/bin/python3
"""The timeline in the board, in Chromium, against the data of made-up sessions and of two Kineto files: rows, legend, zoom, selection, links,
devices, ranks without a common clock, and what it shows where events are missing. Run by ctest report_tracks."""
import glob
import json
import os
import sys

from kit import Skipped, browser, check, clean, jobs, make, near
from report_timeline_page import CALL, Made, RANKS, text
import timeline_kit

KINETO = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data/kineto/rank-*.json.gz")))


def await_drawn(b):
    """All that was asked for is loaded and drawn."""
    b.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    b.wait("!Tracks.waiting && Tracks.ready && (!Pod.timeline || TraceData.loading() === 0)")


def show(b, page, fragment=""):
    b.open(page, fragment)
    await_drawn(b)


def key(b, name):
    b.js("Tracks.canvas.focus()")
    b.js(f"Tracks.canvas.dispatchEvent(new KeyboardEvent('keydown', {{key: {name!r}, bubbles: true, cancelable: true}}))")
    await_drawn(b)


def view(b):
    return b.js("[Tracks.from, Tracks.to]")


def legend(b):
    return b.js("[...document.querySelectorAll('#lanes-legend .key')].map(k => k.textContent)")


def rows(place, full):
    """Rows are the heat map's, in its order; the selected steps fill the view; the legend has what occurs; names stand once."""
    made = Made(place)
    with browser() as b:
        show(b, made.page, "#steps=3-5&rank=3")
        own = b.js("Tracks.drawing.rows.map(r => [r.board, r.y, r.y + r.height, r.worker])")
        edges, order = b.js("Board.y"), b.js("Board.rows.map(r => r.worker)")
        check({r[0] for r in own} == set(range(RANKS)) and len(edges) == RANKS + 1, f"rows: {own}")
        for k, top, bottom, worker in own:
            check(edges[k] <= top and bottom <= edges[k + 1] and worker == order[k], f"row {k} of rank {worker}: {top} to {bottom}, edges {edges}")
        check(view(b) == [made.step(3)["begin"], made.step(5)["end"]], f"in view: {view(b)}")
        check(legend(b) == ["Device compute", "Host compute", "Input", "Host communication", "waiting for other ranks"], f"legend: {legend(b)}")
        names = b.js("Tracks.drawing.texts.filter(t => Tracks.drawing.rows.find(r => r.y === t[1] && !r.chosen)).map(t => t[4])")
        check(len(names) == len(set(names)), f"names of other ranks: {names}")
        check(b.js("Tracks.drawing.hatches.length") > 0, "nobody waits")
        ticks = b.js("[...Tracks.stepsOf(0, Tracks.drawing.chunks)]")
        check(made.step(4)["begin"] in ticks and made.step(5)["begin"] in ticks, f"borders of steps: {ticks}")
        b.js("Select.set({from: 0, to: 0})")
        await_drawn(b)
        check(view(b) == [made.step(0)["begin"], made.step(0)["end"]], f"step 0: {view(b)}")
        clean(b, "rows")


def zoom(place, full):
    """Keys, ctrl and wheel, and a drag zoom; Escape goes back; the heat map's selection ends it."""
    made = Made(place)
    with browser() as b:
        show(b, made.page, "#steps=3-5&rank=3")
        whole = view(b)
        key(b, "w")
        near_by = view(b)
        check(near_by[0] > whole[0] and near_by[1] < whole[1], f"w: {near_by}")
        check("Escape goes back" in text(b, "#lanes-bar"), text(b, "#lanes-bar"))
        key(b, "d")
        check(view(b)[0] > near_by[0] and near(view(b)[1] - view(b)[0], near_by[1] - near_by[0]), f"d: {view(b)}")
        key(b, "Escape")
        check(view(b) == whole, f"Escape: {view(b)}")
        box = b.js("(r => [r.left, r.top])(Tracks.canvas.getBoundingClientRect())")
        left, scale = b.js("Tracks.drawing.left"), b.js("Tracks.drawing.scale")
        b.mouse("mouseMoved", box[0] + left + 100, box[1] + 40)
        b.mouse("mousePressed", box[0] + left + 100, box[1] + 40)
        b.mouse("mouseMoved", box[0] + left + 300, box[1] + 90)
        b.mouse("mouseReleased", box[0] + left + 300, box[1] + 90)
        await_drawn(b)
        want = [whole[0] + 100 / scale, whole[0] + 300 / scale]
        check(all(abs(g - w) <= 2 / scale for g, w in zip(view(b), want)), f"a drag shows {view(b)}, not {want}")
        b.js("Tracks.canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: 100, ctrlKey: true, bubbles: true, cancelable: true}))")
        await_drawn(b)
        check(view(b)[1] - view(b)[0] > want[1] - want[0], "ctrl and wheel do not zoom")
        b.js("Select.set({from: 6, to: 6})")
        await_drawn(b)
        check(view(b) == [made.step(6)["begin"], made.step(6)["end"]], f"another step: {view(b)}")
        clean(b, "zoom")


def selection(place, full):
    """A click selects event and rank, says for whom it waited, and leads there; keys go on; a link brings it back without scrolling; the
    section shows the same."""
    made = Made(place)
    with browser() as b:
        show(b, made.page, "#steps=4&rank=3")
        want = made.one(CALL, 2, 4)
        at = b.js(f"Tracks.middleOf({want['number']})")
        b.click(at["x"], at["y"])
        await_drawn(b)
        check(b.js("[Trace.selected, Select.worker]") == [want["number"], 2], f"selected {b.js('[Trace.selected, Select.worker]')}")
        said = text(b, "#lanes-event")
        for word in (CALL, "rank 2, step 4", "Host communication", "waited", "for rank 3", "clock error 41 ns", "waited for rank 3: " + CALL):
            check(word in said, f"it does not say '{word}': {said}")
        check(b.js("Tracks.drawing.flows") >= 1, "no arrow is drawn")
        key(b, "w")
        b.wait("location.hash.includes('t.from')")
        link, before = b.js("location.hash"), view(b)
        show(b, made.page, link)
        check(b.js("[Trace.selected, scrollY]") == [want["number"], 0] and view(b) == before, f"the link shows {b.js('[Trace.selected, scrollY]')}")
        check(not b.js("document.getElementById('lanes-event').hidden"), "the link does not say what is selected")
        b.js("document.querySelector('#lanes-event button').click()")
        await_drawn(b)
        check(b.js("[Trace.selected, Select.worker]") == [made.one(CALL, 3, 4)["number"], 3], "the arrow's button leads elsewhere")
        key(b, "ArrowLeft")
        check(b.js("TraceData.of(Trace.selected).rank") == 3 and b.js("Trace.selected") != made.one(CALL, 3, 4)["number"], "arrow left")
        here = view(b)
        b.js("document.getElementById('lanes-full').click()")
        await_drawn(b)
        check(b.js("document.getElementById('timeline').open") and b.js("[Trace.from, Trace.to]") == here, "the section shows another view")
        check(b.js("Trace.drawing.height") <= 560, "the section is too high")
        key(b, "Escape")
        check(b.js("Trace.selected") is None and b.js("document.getElementById('lanes-event').hidden"), "Escape keeps the event")
        clean(b, "selection")


def union(parts, low, high):
    total, right = 0, low
    for a, z in sorted((max(a, low), min(z, high)) for a, z in parts):
        if z > max(a, right):
            total += z - max(a, right)
            right = z
    return total


def devices(place, full):
    """Two ranks of a GPU job, each with its own clock: rows of threads and streams, how busy each GPU was, each rank from its own step on."""
    if not KINETO:
        raise Skipped("there is no ../shared/data/kineto")
    logs = place.new_logs()
    got = jobs.run([place.podprof(), "analyze", "-o", logs, *KINETO])
    check(got.code == 0, got.transcript())
    page = make(place, jobs.session_of(logs))
    data = timeline_kit.data(page)["timeline"]
    events = timeline_kit.events(data)
    with browser() as b:
        show(b, page, "#steps=551&rank=0")
        check("no common clock" in text(b, "#lanes-bar"), text(b, "#lanes-bar"))
        for k, rank in enumerate(data["rank"]):
            step = next(e for e in events if e["rank"] == rank["rank"] and e["name"] == "step 551")
            busy = [(e["begin"], e["end"]) for e in events if e["rank"] == rank["rank"] and data["track"][e["track"]]["device"]]
            share = 100 * union(busy, step["begin"], step["end"]) / (step["end"] - step["begin"])
            said = b.js(f"Tracks.share(Tracks.drawing.rows.find(r => r.device && r.rank === {k}))").replace("\u00a0", " ")
            check(said == f"{share:.1f} %", f"GPU of rank {k}: {said}, not {share}")
            check(b.js(f"Tracks.drawing.x({step['begin']}, Tracks.drawing.rows.find(r => r.rank === {k}).shift)") == b.js("Tracks.drawing.left"),
                  f"rank {k} does not begin at its own step")
            names = b.js(f"Tracks.drawing.rows.filter(r => r.rank === {k}).map(r => r.name)")
            check(names[0] == "main thread" and names[-1] == f"GPU {k} busy" and "streams 84, 203" in names and "stream 7" in names, f"tracks: {names}")
            check(b.js(f"Tracks.drawing.rows.filter(r => r.rank === {k}).every(r => r.bar >= 12)"), "tracks are too low")
        check("waiting for other ranks" not in legend(b) and "Device collective" in legend(b), f"legend: {legend(b)}")
        clean(b, "devices")
        for k in range(2):
            data["counter"] += [{"rank": k, "name": f"GPU {k} {name}", "unit": unit, "time": [0, 100000000, 300000000], "value": [500, 700, 600]}
                                for name, unit in (("SM clock", "MHz"), ("power", "W"))]
        timeline_kit.put_into(page, json.dumps(data), page)
        show(b, page, "#steps=551&rank=0")
        names = b.js("Tracks.drawing.rows.filter(r => r.counter).map(r => r.name)")
        check(names == ["GPU 0 SM clock", "GPU 0 power", "GPU 1 SM clock", "GPU 1 power"], f"lines: {names}")
        check("at most 700 MHz" in b.js("Tracks.drawing.notes.map(n => n[1]).join()").replace("\u00a0", " "), "what the line reaches")
        b.js("Select.set({from: 0, to: 1})")
        await_drawn(b)
        clean(b, "lines")


def closed(place, full):
    """Ranks without room for their tracks: the main thread above its GPU's share, with its number; on rows that are very low only the
    thread."""
    made = Made(place, ranks=12)
    with browser() as b:
        show(b, made.page, "#steps=4&rank=3")
        kinds = b.js("Tracks.drawing.rows.map(r => [r.board, r.device || 0, r.bar])")
        check(len(kinds) == 24 and all(kinds[2 * k][1] == 0 and kinds[2 * k + 1][1] == 1 for k in range(12)), f"rows: {kinds}")
        check("Device compute" not in legend(b), "the legend has what no row shows")
    made = Made(place, ranks=64, steps=6)
    with browser() as b:
        show(b, made.page, "#steps=4&rank=3")
        low = b.js("Tracks.drawing.board.map((row, k) => [row.height, Tracks.drawing.rows.filter(r => r.board === k).length])")
        check(all(n == (1 if h < 7 else 2) for h, n in low) and any(n == 1 for h, n in low), f"heights and tracks: {low}")
        clean(b, "closed")


def absent(place, full):
    """Events that are not in the page, or no timeline at all: the time by category, and why."""
    made = Made(place, limit=(len(Made(place).events) // 2,))
    gone = next(s["number"] for s in made.data["step"] if s["chunk"] is None)
    with browser() as b:
        show(b, made.page, f"#steps={gone}&rank=3")
        check("not in this page: time by category" in text(b, "#lanes-why"), text(b, "#lanes-why"))
        check(b.js("Tracks.drawing.fills.some(list => list && list.length)"), "nothing is drawn")
        clean(b, "a step without events")
        timeline_kit.put_into(made.page, 'null,"timeline_why":"no event file of rank 3"', made.page)
        show(b, made.page, "#steps=4-5&rank=3")
        check("order is unknown: no event file of rank 3" in text(b, "#lanes-why"), text(b, "#lanes-why"))
        check(b.js("!document.getElementById('lanes-full')"), "a button leads to no timeline")
        check("Host compute" in legend(b) and "waiting for other ranks" in legend(b), f"legend: {legend(b)}")
        clean(b, "no timeline")


def bands(place, full):
    """More ranks than rows: next to each percentile the events of a real rank, by name."""
    made = Made(place, ranks=80, steps=5)
    with browser() as b:
        show(b, made.page, "#steps=2")
        shown = b.js("Tracks.drawing.rows.filter(r => r.head).map(r => [r.worker, Pod.timeline.rank[r.rank].rank, r.band])")
        check([w for w, *_ in shown] == b.js("Board.rows.map(r => r.worker)"), f"rows: {shown}")
        check(all(w == rank for w, rank, _ in shown) and sum(band == f"rank {w}" for w, _, band in shown) == 5, f"ranks: {shown}")
        clean(b, "bands")


def names(place, full):
    """Names are cut at the end of their arguments, never in the middle."""
    long = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >(int, float)"
    made = Made(place)
    with browser() as b:
        show(b, made.page)
        for most in range(4, 140):
            got = b.js(f"Format.short({long!r}, {most})")
            whole = got.rstrip("\u2026")
            check(len(got) <= most and (whole == long[:len(whole)] or "vectorized_elementwise_kernel".startswith(whole)), f"{most}: {got}")
        check(b.js(f"Format.short({long!r}, 60)").startswith("void at::native::vectorized_elementwise_kernel<4, at"), "the arguments are lost")
        check(b.js(f"Format.short({long!r}, 34)") == "vectorized_elementwise_kernel\u2026", b.js(f"Format.short({long!r}, 34)"))
        check(b.js("Format.short('(anonymous namespace)::fill<int>(int*)', 30)") == "(anonymous namespace)::fill<i\u2026"[:30], "a name in no namespace")
        check(b.js("Format.short('forward and backward', 9)") == "forward\u2026" and b.js("Format.short('forward', 7)") == "forward", "plain names")


if __name__ == "__main__":
    sys.exit(jobs.main({"rows": rows, "zoom": zoom, "selection": selection, "devices": devices, "closed": closed, "absent": absent,
                        "bands": bands, "names": names}, __doc__))

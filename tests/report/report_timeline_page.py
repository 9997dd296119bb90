#!/usr/bin/python3
"""The timeline as people use it, in Chromium, against the data of a made-up session: first view, click, keys, search, legend, sums of a
selected time, arrows, links, dark. Run by ctest report_timeline_page."""
import collections
import os
import re
import sys

from kit import Skipped, browser, check, clean, column, heads, is_in_window, jobs, near, pod_page
import pods
import timeline_kit

RANKS, STEPS, RANGES = 6, 9, 20
CALL = "MPI_Allreduce"


class Made:
    """A page with a made-up timeline, and what is in it."""

    def __init__(self, place, ranks=RANKS, steps=STEPS, limit=()):
        program = os.path.join(place.bin, "timeline_page")
        if not os.path.exists(program):
            raise Skipped("timeline_page was not built")
        got = jobs.run([program, str(ranks), str(steps), str(RANGES), *map(str, limit)])
        check(got.code == 0, got.transcript())
        page = pod_page(place, pods.Pod(workers=ranks, steps=steps, first_step=0))
        self.page = page.replace("report.html", "timeline.html")
        timeline_kit.put_into(page, got.out, self.page)
        self.data = timeline_kit.data(self.page)["timeline"]
        self.events, self.flows = timeline_kit.events(self.data), timeline_kit.flows(self.data)
        for number, e in enumerate(self.events):
            e["number"] = number

    def open(self, b, fragment=""):
        b.open(self.page, fragment)
        wait_drawn(b)

    def step(self, number):
        return next(s for s in self.data["step"] if s["number"] == number)

    def one(self, text, rank, step):
        return next(e for e in self.events if e["name"] == text and e["rank"] == rank and e["step"] is not None and
                    self.data["step"][e["step"]]["number"] == step)


def wait_drawn(b):
    """All that was asked for is loaded and drawn."""
    b.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    b.wait("Trace.stats().loading === 0 && !Trace.waiting")


def stats(b):
    return b.js("Trace.stats()")


def key(b, name):
    b.js("document.getElementById('trace').focus()")
    b.js(f"document.getElementById('trace').dispatchEvent(new KeyboardEvent('keydown', {{key: {name!r}, bubbles: true, cancelable: true}}))")
    wait_drawn(b)


def text(b, selector):
    return b.js(f"document.querySelector({selector!r}).textContent").replace("\u00a0", " ")


def keep(b, changes):
    b.js(f"Trace.keep({changes})")
    wait_drawn(b)


def first_view(place, full):
    """The pinned step and its neighbours, all ranks; another pinned step takes the view with it; the chunks elsewhere stay packed."""
    made = Made(place)
    with browser() as b:
        made.open(b, "#open=timeline&steps=4")
        s = stats(b)
        edge = 0.02 * (made.step(5)["end"] - made.step(3)["begin"])
        check(abs(s["from"] - made.step(3)["begin"]) <= edge and abs(s["to"] - made.step(5)["end"]) <= edge, f"the first view is {s}")
        check(b.js("Trace.drawing.rows.filter(r => r.head).map(r => Pod.timeline.rank[r.rank].rank)") == list(range(RANKS)), "the rows are not the ranks")
        check(b.js("Trace.drawing.rows.filter(r => r.device).length") == RANKS, "closed ranks do not show their devices")
        switches = b.js("[...document.querySelectorAll('#trace-legend label')].filter(l => l.offsetParent).map(l => l.textContent)")
        check(switches == ["Device compute", "Host compute", "Input", "Host communication", "Steps and marks"], f"the legend has {switches}")
        stops = b.js("[...document.querySelectorAll('#timeline button, #timeline input, #timeline canvas, #timeline summary')]"
                     ".filter(e => e.offsetParent && e.tabIndex >= 0).length")
        check(stops <= 8, f"{stops} stops of the tab key")
        b.js("document.querySelector('#timeline [role=toolbar] button').focus()")
        b.key("ArrowRight")
        check(b.js("document.activeElement.dataset.tool") == "select", "arrow right does not lead to the next button")
        check(0 < s["events"] < len(made.events), f"{s['events']} of {len(made.events)} events are loaded")
        b.js("State.set({steps: 7})")
        wait_drawn(b)
        s = stats(b)
        check(s["from"] <= made.step(6)["begin"] and s["to"] >= made.step(8)["end"] and s["from"] > made.step(5)["begin"], f"step 7: {s}")
        key(b, "w")
        b.js("State.set({steps: 2})")
        wait_drawn(b)
        s = stats(b)
        check(s["from"] <= made.step(1)["begin"] and made.step(3)["end"] <= s["to"] < made.step(5)["begin"], f"step 2 after a zoom: {s}")
        clean(b, "first view")


def pointer(place, full):
    """A click selects the event under it, with its numbers; one on a rank's name opens it; drag and wheel move, zoom and select."""
    made = Made(place)
    with browser() as b:
        made.open(b, "#open=timeline&steps=4")
        b.js("document.getElementById('trace').scrollIntoView({block: 'center'})")
        want = made.one(CALL, 2, 4)
        at = b.js(f"Trace.middleOf({want['number']})")
        b.click(at["x"], at["y"])
        wait_drawn(b)
        check(stats(b)["selected"] == want["number"], f"selected {stats(b)['selected']}, not {want['number']}")
        numbers = b.js("[...document.querySelectorAll('#trace-details td[data-v]')].map(c => +c.dataset.v)")
        check(numbers == [want["begin"] - made.data["begin"], want["end"] - want["begin"], want["self"]], f"begin, length, self: {numbers}")
        said = text(b, "#trace-details")
        for word in (CALL, "Host communication", "rank 2 main", "MPI_COMM_WORLD", "4.00 KiB", "for rank 3", "41 ns", "waited for rank 3: " + CALL):
            check(word in said, f"'{word}' is not in: {said}")
        check("less than a pixel" in text(b, "#trace-error"), "the clock error is not said")
        b.mouse("mouseMoved", at["x"], at["y"])
        card = text(b, "#card")
        check(CALL in card and "rank 2" in card and "waited" in card, f"hover card: {card}")
        b.js("document.querySelector('#trace-details button').click()")
        wait_drawn(b)
        check(stats(b)["selected"] == made.one(CALL, 3, 4)["number"], "the button does not lead to the other end")
        box = b.js("(({left, top}) => ({left, top}))(document.getElementById('trace').getBoundingClientRect())")
        rows = b.js("Trace.drawing.rows.length")
        b.click(box["left"] + 40, box["top"] + b.js("TRACE.head") + 8)
        wait_drawn(b)
        opened = b.js("Trace.drawing.rows.slice(0, 7).map(r => r.name)")
        check(opened[:6] == ["rank 0", "steps", "main", "requests", "device 0 Stream 7", "RSS"], f"rank 0 opens into {opened}")
        check(b.js("Trace.drawing.rows.length") == rows + 4, "the click opened something else")
        drag_and_wheel(b, box)
        clean(b, "pointer")


def drag_and_wheel(b, box):
    def drag(x0, x1, y=100):
        b.mouse("mousePressed", box["left"] + x0, box["top"] + y)
        b.mouse("mouseMoved", box["left"] + (x0 + x1) / 2, box["top"] + y)
        b.mouse("mouseMoved", box["left"] + x1, box["top"] + y)
        b.mouse("mouseReleased", box["left"] + x1, box["top"] + y)
        wait_drawn(b)

    before = stats(b)
    drag(600, 500)
    after = stats(b)
    moved = 100 * (before["to"] - before["from"]) / b.js("Trace.drawing.width - TRACE.label")
    check(abs(after["from"] - before["from"] - moved) < 2 and abs(after["to"] - before["to"] - moved) < 2, f"drag: {before}, {after}, {moved}")
    b.js("document.querySelector('button[data-tool=select]').click()")
    drag(400, 520)
    check(b.js("Trace.range[1] > Trace.range[0]") and stats(b)["from"] == after["from"], "the tool does not select a time")
    time = "Trace.timeAt(500)"
    at = b.js(time)
    b.call("Input.dispatchMouseEvent", type="mouseWheel", x=box["left"] + 500, y=box["top"] + 100, deltaX=0, deltaY=-120, modifiers=2)
    wait_drawn(b)
    zoomed = stats(b)
    check(zoomed["to"] - zoomed["from"] < after["to"] - after["from"], "ctrl and wheel do not zoom")
    check(abs(b.js(time) - at) < 2 * (zoomed["to"] - zoomed["from"]) / 1000, "the time at the pointer moves")


def keys(place, full):
    """w s a d change the view, 0 brings the pinned step back, arrows walk over events, f fits, m marks, Escape clears."""
    made = Made(place)
    with browser() as b:
        made.open(b, "#open=timeline&steps=4")
        home = stats(b)
        key(b, "w")
        near_by = stats(b)
        check(near_by["to"] - near_by["from"] < home["to"] - home["from"], "w does not zoom in")
        key(b, "d")
        check(stats(b)["from"] > near_by["from"] and near(stats(b)["to"] - stats(b)["from"], near_by["to"] - near_by["from"]), "d does not move")
        key(b, "a")
        check(abs(stats(b)["from"] - near_by["from"]) < 2, "a does not move back")
        key(b, "s")
        check(stats(b)["to"] - stats(b)["from"] > near_by["to"] - near_by["from"], "s does not zoom out")
        key(b, "0")
        check(stats(b)["from"] == home["from"] and stats(b)["to"] == home["to"], "0 does not bring the pinned step back")
        begin = made.one("layer 3", 1, 4)
        b.js(f"Trace.toggle(1); Trace.select({begin['number']})")
        wait_drawn(b)
        key(b, "ArrowRight")
        check(stats(b)["selected"] == made.one("layer 4", 1, 4)["number"], "right is not the next on its track")
        key(b, "ArrowLeft")
        check(stats(b)["selected"] == begin["number"], "left does not go back")
        key(b, "ArrowUp")
        check(stats(b)["selected"] == made.one("forward and backward", 1, 4)["number"], "up is not the event around it")
        key(b, "ArrowDown")
        check(stats(b)["selected"] == made.one("layer 0", 1, 4)["number"], "down is not the first event in it")
        words = text(b, "#trace-details")
        check(words.startswith("layer 0") and not re.search("false|null|undefined|NaN", words), f"details: {words}")
        key(b, "f")
        s, e = stats(b), made.one("layer 0", 1, 4)
        check(s["from"] < e["begin"] and s["to"] > e["end"] and s["to"] - s["from"] < 2 * (e["end"] - e["begin"]), f"f does not fit: {s}")
        key(b, "m")
        check(b.js("Trace.range") == [e["begin"], e["end"]], "m does not mark the event's time")
        key(b, "?")
        check(b.js("document.getElementById('trace-keys').open"), "? does not show the keys")
        key(b, "Escape")
        check(stats(b)["selected"] is None and b.js("Trace.range") is None, "Escape does not clear")
        clean(b, "keys")


def search(place, full):
    """A name is counted over all steps; n goes through the hits in time; the legend hides and counts."""
    made = Made(place)
    hits = sorted((e for e in made.events if "layer 0" in e["name"]), key=lambda e: (e["begin"], e["number"]))
    with browser() as b:
        made.open(b, "#open=timeline&steps=4")
        b.js("const f = document.getElementById('trace-search'); f.value = 'LAYER 0'; f.dispatchEvent(new Event('input'))")
        wait_drawn(b)
        check(stats(b)["hits"] == len(hits) == RANKS * STEPS and text(b, "#trace-found") == f"{len(hits)} hits", f"{stats(b)['hits']} hits, not {len(hits)}")
        check(stats(b)["events"] == len(made.events) and stats(b)["flows"] == len(made.flows), f"of {len(made.events)} events, {len(made.flows)}: {stats(b)}")
        got = b.js("Array.from({length: Trace.stats().events}, (unused, i) => TraceData.of(i))"
                   ".map(o => [o.begin, o.begin + o.length, o.self, o.name, o.category, o.depth, o.rank])")
        for e, values in zip(made.events, got):
            want = [e[k] for k in ("begin", "end", "self", "name", "category", "depth", "rank")]
            check(values == want, f"event {e['number']} is {values}, not {want}")
        b.js(f"Trace.select({hits[0]['number']})")
        for i in range(1, 4):
            key(b, "n")
            check(stats(b)["selected"] == hits[i]["number"], f"n: hit {i} is {stats(b)['selected']}, not {hits[i]['number']}")
        key(b, "p")
        check(stats(b)["selected"] == hits[2]["number"], "p does not go back")
        drawn, inputs = stats(b)["drawn"], [e for e in made.events if e["category"] == 6]
        b.js("document.querySelector('#trace-legend input[data-value=\"6\"]').click()")
        wait_drawn(b)
        check(stats(b)["hidden"] == len(inputs) > 0 and stats(b)["drawn"] < drawn, f"hidden {stats(b)['hidden']}, not {len(inputs)}")
        check(f"{len(inputs)} events are hidden" in text(b, "#trace-status"), text(b, "#trace-status"))
        clean(b, "search")


def sums(place, full):
    """Count, total and self of a selected time are those of the data, also of events that its ends cut."""
    made = Made(place)
    a, z = made.step(3)["begin"] + 1_234_567, made.step(4)["begin"] + 2_345_678
    want = collections.defaultdict(lambda: [0, 0, 0])
    tracks = collections.defaultdict(list)
    for e in made.events:
        if e["begin"] < z and (e["end"] > a or e["begin"] >= a):
            tracks[e["track"]].append(e)
    tracks = {k: events for k, events in tracks.items() if made.data["track"][k]["of"]}  # steps are no work of their own
    for events in tracks.values():
        inside = {e["number"]: min(e["end"], z) - max(e["begin"], a) for e in events}
        for e in events:
            nested = sum(inside[k["number"]] for k in events if k["depth"] == e["depth"] + 1 and e["begin"] <= k["begin"] and k["end"] <= e["end"])
            cut = e["begin"] < a or e["end"] > z
            row = want[e["name"], e["category"]]
            row[0] += 1
            row[1] += inside[e["number"]]
            row[2] += inside[e["number"]] - nested if cut else e["self"]
    with browser() as b:
        made.open(b, f"#open=timeline&steps=4&t.range={a}-{z}")
        b.js("document.querySelectorAll('#timeline .more').forEach(m => m.click())")
        names = heads(b, "tracesum")
        name, category = column(b, "tracesum", names.index("name")), column(b, "tracesum", names.index("category"))
        ids = {k["name"]: k["id"] for k in b.js("Pod.category")}
        rows = zip(*(column(b, "tracesum", names.index(n)) for n in ("count", "total", "self")))
        got = {(n, ids.get(c, 0)): [float(v) for v in row] for n, c, row in zip(name, category, rows)}
        check(set(got) == set(want), f"rows: {set(got) ^ set(want)}")
        for row, values in want.items():
            check(got[row] == values, f"{row}: {got[row]}, not {values}")
        check("6.11 ms" in text(b, "#trace-range"), text(b, "#trace-range"))
        clean(b, "sums")


def arrows(place, full):
    """All arrows of a kind in view, also to ranks that are closed; the link brings all of the view back, also in the dark."""
    made = Made(place)
    fragment = "#open=timeline&steps=4&theme=dark&t.arrows=0&t.open=1,3&t.off=6&t.q=layer&t.sel=%d" % made.one(CALL, 2, 4)["number"]
    with browser() as b:
        made.open(b, fragment)
        s, inside = stats(b), 0
        for here, there, _ in made.flows:
            begins = sorted((made.events[here]["begin"], made.events[there]["begin"]))
            inside += begins[1] >= s["from"] and begins[0] <= s["to"]
        own = sum(made.one(CALL, 2, 4)["number"] in f[:2] for f in made.flows)
        check(s["arrows"] == inside + own > 10, f"{s['arrows']} arrows, not {inside + own}")
        check(b.js("document.documentElement.dataset.theme") == "dark", "not dark")
        for number in {end for f in made.flows for end in f[:2]}:  # on its own row, or that of its closed rank
            at = b.js(f"(p => p && Trace.drawing.rowAt(p.y))(Trace.drawing.place({number}))")
            e = made.events[number]
            check(at is None or (at["rank"] == e["rank"] and bool(at.get("flat")) == (e["rank"] not in (1, 3))), f"event {number} of rank {e['rank']}: {at}")
        request = made.one("MPI_Isend", 2, 4)["number"]
        check(b.js(f"Pod.timeline.rank[Trace.drawing.rowAt(Trace.drawing.place({request}).y).rank].rank") == 2, "a request of a closed rank")
        key(b, "w")
        b.wait("location.hash.includes('t.from')")
        before = [stats(b), b.js("[...Trace.open]"), b.js("[...TraceData.off]"), b.js("Trace.input.value")]
        made.open(b, b.js("location.hash"))
        after = [stats(b), b.js("[...Trace.open]"), b.js("[...TraceData.off]"), b.js("Trace.input.value")]
        check(before == after and after[1:] == [[1, 3], [6], "layer"], f"a link shows {after}, not {before}")
        seen = b.js("(c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)"
                    "(document.getElementById('trace'))")
        check(seen > 8, "nothing is drawn")
        for width in (900, 420):
            b.size(width, 800)
            wait_drawn(b)
            check(is_in_window(b), f"the page is wider than {width}")
        b.size(1400, 900)
        clean(b, "arrows")


def left_out(place, full):
    """Steps that are not in the page are said; a page without a timeline says why."""
    made = Made(place, limit=(len(Made(place).events) // 2,))
    absent = [s["number"] for s in made.data["step"] if s["chunk"] is None]
    check(absent and made.data["left_out"], "the limit left nothing out")
    with browser() as b:
        made.open(b, "#open=timeline&t.from=%d&t.to=%d" % (made.data["step"][0]["begin"], made.data["step"][-1]["end"]))
        check("not in this page" in text(b, "#trace-left"), text(b, "#trace-left"))
        check(stats(b)["events"] == len(made.events), f"{stats(b)} of {len(made.events)} events")
        clean(b, "steps left out")
        timeline_kit.put_into(made.page, 'null,"timeline_why":"no event file of rank 3"', made.page)
        b.open(made.page, "#open=timeline")
        check("This page has no timeline: no event file of rank 3." in text(b, "#timeline"), text(b, "#timeline"))
        clean(b, "no timeline")


if __name__ == "__main__":
    sys.exit(jobs.main({"first_view": first_view, "pointer": pointer, "keys": keys, "search": search, "sums": sums, "arrows": arrows,
                        "left_out": left_out}, __doc__))

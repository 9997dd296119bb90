#!/usr/bin/python3
"""The first screen of report.html in a real Chromium: it fits its window, its texts are whole and can be read, its charts share one selection, by
pointer, keys and links; in every size of a session. Run by ctest report_board."""
import os
import subprocess
import sys

from kit import browser, check, clean, is_in_window, jobs, make, near, pod_page
import pods

SIZES = ((390, 844), (1024, 768), (1280, 720), (1440, 900), (1920, 1080))
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
CHOSEN = "[Pod.stepShown[Select.from], Pod.stepShown[Select.to], Pod.worker.rank[Select.worker], Select.plane.key, Select.difference, Select.find]"
KEYS = {"Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, "Tab": 9}


def made(place, ranks=8, steps=24):
    """The page of a made-up job with three findings (page_make.c)."""
    place.count += 1
    logs = os.path.join(place.scratch, f"board{place.count}")
    subprocess.run([os.path.join(place.bin, "page_make"), logs, str(ranks), str(steps), "4"], check=True)
    directory = jobs.session_of(logs)
    place.changed.add(os.path.join(directory, "pod.h5"))  # each table has numbers of its own
    return make(place, directory)


def opened(b, page, fragment=""):
    b.open(page, fragment)
    b.wait("!Board.ready || Mix.isHere")
    b.js(DRAWN)


def key(b, name, shift=False):
    for kind in ("rawKeyDown", "keyUp"):
        b.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name], modifiers=8 if shift else 0)


def text(b, selector):
    return b.js(f"document.querySelector({selector!r})?.textContent ?? ''").replace("\u00a0", " ")


def middle(b, step, row=None):
    """The middle of a step's column in the strip, or of a cell of the heat map: a point of the page."""
    box = b.js(f"(() => {{ const e = document.getElementById('{'strip' if row is None else 'heat'}'), r = e.getBoundingClientRect(), p = Board.place(r.width);"
               f" return [r.left + p.x({step} + 0.5), r.top, r.height]; }})()")
    y = b.js(f"(Board.y[{row}] + Board.y[{row} + 1]) / 2") if row is not None else box[2] / 2
    return box[0], box[1] + y


def fits(place, full):
    """Sentence, heat map and timeline stand in the window without scrolling, at five sizes, light and dark; on a phone all but the timeline."""
    pages = [made(place, 8), made(place, 64), pod_page(place, pods.Pod(workers=2, steps=2)), pod_page(place, pods.Pod(workers=1, steps=30))]
    with browser() as b:
        for page in pages:
            for width, height in SIZES:
                for theme in ("light", "dark"):
                    b.size(width, height)
                    opened(b, page, f"#theme={theme}")
                    what = f"{os.path.basename(os.path.dirname(page))} at {width} x {height}, {theme}"
                    check(is_in_window(b), f"{what}: wider than the window")
                    parts = ["h1", "#strip", "#heat"] + (["#lanes"] if width > 760 else [])
                    low = b.js(f"{parts}.map(s => [s, document.querySelector(s).getBoundingClientRect()]).filter(([s, r]) => r.height && (r.top < 0 || r.bottom > innerHeight))"
                               ".map(([s, r]) => s + ' ends at ' + Math.round(r.bottom))")
                    check(not low, f"{what}: {low}")
                    aligned = b.js("[document.getElementById('heat'), document.getElementById('lanes')].map(e => e.getBoundingClientRect()).map(r => [r.top, r.height])")
                    check(width < 761 or not aligned[0][1] or aligned[0] == aligned[1], f"{what}: heat map and timeline at {aligned}")
                    whole(b, what)
        clean(b, "fits")


TEXTS = """[...document.querySelectorAll('#job > *, #head h1, #head dt, #head dd, #board .bar > *, #mix > b, #mix > span, #line > *, #foot h2, #foot p, #foot summary')]
  .filter(e => e.textContent.trim() && e.checkVisibility())"""


def whole(b, what):
    """No text of the first screen is cut, and none stands over another."""
    cut = b.js(TEXTS + ".filter(e => e.id !== 'say' && (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')).map(e => e.textContent)")
    check(not cut, f"{what}: cut: {cut}")
    over = b.js("(() => { const list = " + TEXTS + """.map(e => [e, e.getBoundingClientRect()]), found = [];
      for (const [e, r] of list) for (const [o, q] of list)
        if (e !== o && !e.contains(o) && !o.contains(e) && r.left < q.right - 1 && q.left < r.right - 1 && r.top < q.bottom - 1 && q.top < r.bottom - 1)
          found.push(e.textContent.slice(0, 40) + ' | ' + o.textContent.slice(0, 40));
      return found; })()""")
    check(not over, f"{what}: over each other: {over}")


CONTRAST = """(() => {
  const part = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4, paint = document.createElement('canvas').getContext('2d');
  const rgb = c => { paint.clearRect(0, 0, 1, 1); paint.fillStyle = c; paint.fillRect(0, 0, 1, 1); return [...paint.getImageData(0, 0, 1, 1).data]; };
  const light = c => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const ground = e => { for (let n = e; n; n = n.parentElement) { const c = rgb(getComputedStyle(n).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255, 255]; };
  const found = TEXTS.concat(...document.querySelectorAll('#job button, #job a, #next button, #board select')).map(e => [e.textContent.slice(0, 30), ratio(rgb(getComputedStyle(e).color), ground(e))]);
  for (const name of ['--ink', '--soft', '--attention', '--accent'])
    found.push([name, ratio(rgb(css(name)), rgb(css('--ground')))]);
  for (const p of Pod.categoryPlanes)
    found.push([p.name, ratio(rgb(Mix.ink(Pod.colour(p.category))), rgb(Pod.colour(p.category)))]);
  return found.filter(f => f[1] < 4.5);
})()""".replace("TEXTS", TEXTS)


def contrast(place, full):
    """Text on the page and on bars is at least 4.5 : 1, light and dark."""
    with browser() as b:
        for page in (made(place), pod_page(place, pods.Pod(workers=2, steps=2, categories=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)))):
            for theme in ("light", "dark"):
                opened(b, page, f"#theme={theme}")
                weak = b.js(CONTRAST)
                check(not weak, f"{theme}: {weak}")


def tabs(place, full):
    """At most 20 stops before the sections, in the order of the page; each shows where it is."""
    with browser() as b:
        opened(b, made(place))
        found = []
        for _ in range(40):
            key(b, "Tab")
            at = b.js("(() => { const e = document.activeElement; return [e.id || e.parentElement?.id || e.closest('[id]')?.id, !!e.closest('#sections'), getComputedStyle(e).outlineWidth, e.tagName]; })()")
            if at[1]:
                break
            found.append(at[0])
            check(at[2] == "2px", f"{at}: no mark of the focus")
        check(found and len(found) <= 20, f"stops: {found}")
        wanted = ["skip", "theme", "strip", "board-quantity", "heat", "selection", "findings"]
        order = [found.index(next(f for f in found if f == w)) if w in found else -1 for w in wanted]
        check(-1 not in order and order == sorted(order), f"stops: {found}")
        check(not b.js("[...document.querySelectorAll('#board canvas')].filter(c => !c.getAttribute('aria-label')).length"), "a chart has no text")


def linked(place, full):
    """A click or a drag in one chart is in all of them; numbers are those of the file."""
    with browser() as b:
        opened(b, made(place))
        b.click(*middle(b, 5, 6))
        check(b.js(CHOSEN)[:3] == [105, 105, 6], f"a click in the heat map: {b.js(CHOSEN)}")
        check(text(b, "#say").startswith("step 105") and "rank 6" in text(b, "#say"), text(b, "#say"))
        check(text(b, "#mix b") == "rank 6", text(b, "#mix"))
        check("step 105" in text(b, "#lanes-bar").lower() and "rank 6 selected" in text(b, "#lanes-bar"), text(b, "#lanes-bar"))
        b.js("document.getElementById('selection').open = true")
        b.js(DRAWN)
        check(text(b, "#selection tr[aria-current] th") == "rank 6", "the table marks another rank")
        x, y = middle(b, 8)
        b.mouse("mousePressed", x, y)
        b.call("Input.dispatchMouseEvent", type="mouseMoved", x=middle(b, 12)[0], y=y, button="left", buttons=1)
        b.js(DRAWN)
        b.mouse("mouseReleased", middle(b, 12)[0], y)
        check(b.js(CHOSEN)[:3] == [108, 112, 6], f"a drag in the strip: {b.js(CHOSEN)}")
        check("steps=108-112" in b.js("location.hash") and "rank=6" in b.js("location.hash"), b.js("location.hash"))
        rows = b.js("[...document.querySelectorAll('#selection tbody tr')].map(r => +r.children[1].dataset.v)")
        want = b.js("Board.rows.map(r => { let n = 0; for (let s = 8; s <= 12; s++) n += Pod.at(Pod.plane.step_ns, s, r.worker); return n / 5; })")
        check(len(rows) == 8 and all(near(g, w) for g, w in zip(rows, want)), f"table: {rows}, not {want}")
        parts = b.js("(() => { const list = Mix.ofRank(6, 8, 12); return [list.reduce((n, p) => n + p.ns, 0), Mix.mean(Pod.plane.step_ns, 6, 8, 12)]; })()")
        check(parts[0] <= parts[1] * 1.001, f"parts: {parts}")
        b.js("document.getElementById('board-quantity').value = 'step_ns|value'; document.getElementById('board-quantity').dispatchEvent(new Event('change'))")
        check(b.js(CHOSEN) == [108, 112, 6, "step_ns", False, 0], f"the quantity: {b.js(CHOSEN)}")
        b.call("Input.dispatchMouseEvent", type="mouseMoved", x=middle(b, 2, 1)[0], y=middle(b, 2, 1)[1])
        check(text(b, "#say").startswith("step 102") and "rank 1" in text(b, "#say"), f"pointing: {text(b, '#say')}")
        check(b.js(CHOSEN)[:3] == [108, 112, 6], "pointing selects")
        clean(b, "linked")


def links(place, full):
    """A link restores steps, rank, quantity and finding; a finding sets its evidence; the sentence and Escape go back to theirs."""
    with browser() as b:
        page = made(place)
        opened(b, page)
        own = b.js(CHOSEN)
        opened(b, page, "#steps=103-106&rank=5&colour=wait_ns&scale=difference")
        check(b.js(CHOSEN) == [103, 106, 5, "wait_ns", True, 0], b.js(CHOSEN))
        check(b.js("document.getElementById('board-quantity').value") == "wait_ns|difference", "the choice shows another quantity")
        b.js("document.querySelector('#head h1 a').click()")
        check(b.js(CHOSEN) == own, f"the sentence: {b.js(CHOSEN)}, not {own}")
        b.js("document.querySelector('details[data-find=\"2\"]').open = true")
        b.wait("Select.find === 2")
        one = b.js(CHOSEN)
        evidence = b.js("Pod.finding[2]")
        check(one[:2] == [evidence["from"], evidence["to"]] and one[3] == evidence["colour"], f"{one}, not {evidence}")
        hash_ = b.js("location.hash")
        b.js("document.querySelector('details[data-find=\"1\"]').open = true")
        b.wait("Select.find === 1 && !document.querySelector('details[data-find=\"2\"]').open")
        opened(b, page, hash_)
        check(b.js(CHOSEN) == one and b.js("document.querySelector('details[data-find=\"2\"]').open"), f"{hash_}: {b.js(CHOSEN)}")
        key(b, "Escape")
        check(b.js(CHOSEN) == own and not b.js("document.querySelector('#findings details[open]')"), f"Escape: {b.js(CHOSEN)}")
        clean(b, "links")


def keys(place, full):
    """Arrows move step and rank, with Shift they extend, Home and End go to the ends."""
    with browser() as b:
        opened(b, made(place), "#steps=110-111&rank=3")
        b.js("document.querySelector('#heat canvas').focus()")
        for name, shift, want in (("ArrowRight", False, [111, 112, 3]), ("ArrowRight", True, [111, 113, 3]), ("ArrowLeft", True, [111, 112, 3]),
                                  ("ArrowDown", False, [111, 112, 4]), ("ArrowUp", False, [111, 112, 3]), ("Home", False, [100, 101, 3]),
                                  ("ArrowLeft", False, [100, 101, 3]), ("End", False, [122, 123, 3])):
            key(b, name, shift)
            check(b.js(CHOSEN)[:3] == want, f"{name}: {b.js(CHOSEN)}, not {want}")
        check(b.js("document.activeElement.parentElement.id") == "heat", "the focus is lost")
        b.js("document.querySelector('#strip canvas').focus()")
        key(b, "ArrowLeft")
        check(b.js(CHOSEN)[:3] == [121, 122, 3], b.js(CHOSEN))
        clean(b, "keys")


def states(place, full):
    """Few steps, one rank, many ranks and steps, missing ranks, and no step at all."""
    with browser() as b:
        opened(b, pod_page(place, pods.Pod(workers=3, steps=0)))
        check(text(b, "#no-steps") and not b.js("document.querySelector('#board canvas')"), "a board without steps")
        clean(b, "no steps")
        opened(b, pod_page(place, pods.Pod(workers=1, steps=30)))
        check(not b.js("document.getElementById('heat').getClientRects().length") and b.js("!!document.querySelector('#strip canvas')"), "one rank has a heat map")
        check(b.js("Board.rows.length") == 1 and "median" not in text(b, "#mix"), text(b, "#mix"))
        clean(b, "one rank")
        for ranks, steps in ((2, 2), (64, 3), (70, 2)):
            opened(b, pod_page(place, pods.Pod(workers=ranks, steps=steps)))
            check("too few" in text(b, "#strip-bar") and text(b, "#heat-bar") == "Time by category", text(b, "#strip-bar"))
            b.click(*middle(b, 0, 1))
            check(b.js("Select.worker === Board.rows[1].worker"), "a click on a bar does not select its rank")
            clean(b, f"{ranks} ranks, {steps} steps")
        opened(b, pod_page(place, pods.Pod(workers=64, steps=20, slow=17)))
        late = b.js("Board.rows.map((r, i) => [r.late, Board.y[i + 1] - Board.y[i]])")
        check(late[17][0] and near(late[17][1], 3.4 * late[0][1]) and late[0][1] >= 4, f"rows: {late[:3]} {late[17]}")
        opened(b, pod_page(place, pods.Pod(workers=8, steps=10, missing=(2,))), "#rank=2")
        check("missing" in text(b, "#say"), text(b, "#say"))
        clean(b, "missing")
        opened(b, pod_page(place, pods.Pod(workers=8, steps=10000, slow=3)))
        check(b.js("Board.columns(400).length") == 133 and "max of" in text(b, "#heat-bar"), text(b, "#heat-bar"))
        x, y = middle(b, 5000)
        b.click(x, y)
        most = b.js("(() => { const c = Board.columns(Board.place(document.getElementById('strip').clientWidth).wide).find(c => c[0] <= 5000 && c[1] > 5000), of = Board.most_ns.slice(...c);"
                    " return Math.max(...of) === Board.most_ns[Select.from]; })()")
        check(most, "a column selects another step than it shows")
        clean(b, "many steps")


def bands(place, full):
    """More than 64 ranks: late ranks by name, then percentiles; a click on one lists its ranks by host, a rank that is chosen has a row."""
    pod = pods.Pod(workers=200, steps=24, slow=77, hosts=25)
    with browser() as b:
        opened(b, pod_page(place, pod))
        names = b.js("Board.rows.map(r => r.name)")
        check(names == ["rank 77", "longest other", "75 % of ranks", "median rank", "25 % of ranks", "shortest"], names)
        host = pod.exclusive[:, :, 3]
        rest = [w for w in range(200) if w != 77]
        want = (host[:, rest].max(axis=1) - sorted_middle(host)).tolist()
        b.js("Select.set({colour: 'category_4', scale: 'difference'})")
        got = b.js("Array.from(Cells.of(Pod.plane.category_4, true).rows[1])")
        check(all(near(g, w) for g, w in zip(got, want)), f"longest other: {got[:3]}, not {want[:3]}")
        b.click(*middle(b, 3, 2))
        check(b.js("document.getElementById('band-ranks').open") and "node" in text(b, "#band-ranks") and "nearest to: 75 % of ranks" in text(b, "#band-ranks summary"), "a click on a percentile lists no ranks")
        key(b, "Escape")
        check(b.js("document.getElementById('band-ranks').hidden"), "Escape leaves the list of ranks")
        opened(b, pod_page(place, pod), "#rank=55")
        check("rank 55" in b.js("Board.rows.map(r => r.name)"), "the chosen rank has no row")
        clean(b, "bands")


def sorted_middle(values):
    ordered = values.copy()
    ordered.sort(axis=1)
    return ordered[:, (values.shape[1] - 1) // 2]


def paper(place, full):
    """On paper the page is light, all findings are open, and there are no controls."""
    with browser() as b:
        opened(b, made(place), "#theme=dark")
        b.js("dispatchEvent(new Event('beforeprint'))")
        check(b.js("document.documentElement.dataset.theme") == "light", "dark paper")
        check(b.js("[...document.querySelectorAll('details[data-find]')].every(d => d.open)"), "a finding is closed on paper")
        b.call("Emulation.setEmulatedMedia", media="print")
        shown = b.js("[...document.querySelectorAll('button, select')].filter(e => e.getClientRects().length).length")
        b.call("Emulation.setEmulatedMedia", media="")
        check(not shown, f"{shown} controls on paper")
        b.js("dispatchEvent(new Event('afterprint'))")
        check(b.js("document.querySelectorAll('details[data-find][open]').length") == 0 and b.js("Select.find") == 0, "findings stay open after printing")
        clean(b, "paper")


if __name__ == "__main__":
    sys.exit(jobs.main({"fits": fits, "contrast": contrast, "tabs": tabs, "linked": linked, "links": links, "keys": keys, "states": states, "bands": bands,
                        "paper": paper}, __doc__))

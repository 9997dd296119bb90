#!/usr/bin/python3
"""The first screen looks as it was accepted: screenshots of made-up jobs against tests/report/accepted/*.png, by the mean colour of squares, so that
another font or its smoothing is no difference. Run by ctest report_pictures. After a change that is meant, and looked at:
    tests/report/report_pictures.py --bin build/bin --guest build/tests/guest --full    with PODPROF_ACCEPT=1, which writes them anew."""
import base64
import os
import sys

from kit import browser, check, jobs, pod_page
import pods

ACCEPTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "accepted")
SQUARE, COLOUR, PART = 12, 26, 0.03  # pixels; difference of a channel's mean, of 255; part of the squares that may differ

# Part of the squares whose mean colours differ, and where the first of them is. Pictures of other sizes differ wholly.
COMPARE = """(async (a, b, square, most) => {
  const read = async data => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + data;
    await image.decode();
    const c = document.createElement('canvas');
    [c.width, c.height] = [image.width, image.height];
    const g = c.getContext('2d', {willReadFrequently: true});
    g.drawImage(image, 0, 0);
    return g.getImageData(0, 0, c.width, c.height);
  };
  const [p, q] = [await read(a), await read(b)];
  if (p.width !== q.width || p.height !== q.height)
    return [1, `${p.width} x ${p.height}, not ${q.width} x ${q.height}`];
  let all = 0, other = 0, first = '';
  for (let y = 0; y + square <= p.height; y += square)
    for (let x = 0; x + square <= p.width; x += square, all++) {
      const sum = [0, 0, 0];
      for (let i = 0; i < square; i++)
        for (let j = 0; j < square; j++)
          for (let k = 0; k < 3; k++)
            sum[k] += p.data[4 * ((y + i) * p.width + x + j) + k] - q.data[4 * ((y + i) * p.width + x + j) + k];
      if (sum.some(v => Math.abs(v) > most * square * square)) {
        other++;
        first = first || `${x}, ${y}`;
      }
    }
  return [other / all, first];
})(%r, %r, %d, %d)"""


def shot(b, page, width, height, fragment):
    """Of the window, without what differs from run to run: paths."""
    b.size(width, height)
    b.open(page, fragment)
    b.js("for (const e of document.querySelectorAll('#next code, #lanes-bar span')) e.textContent = 'podprof view SESSION'")
    b.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return b.call("Page.captureScreenshot")["data"]


def compare(place, name, pod, width, height, fragment):
    path = os.path.join(ACCEPTED, name + ".png")
    with browser() as b:
        got = shot(b, pod_page(place, pod), width, height, fragment)
        if os.environ.get("PODPROF_ACCEPT"):
            with open(path, "wb") as f:
                f.write(base64.b64decode(got))
        with open(path, "rb") as f:
            want = base64.b64encode(f.read()).decode()
        part, first = b.js(COMPARE % (got, want, SQUARE, COLOUR))
        if part > PART:
            with open(os.path.join(place.scratch, name + ".png"), "wb") as f:
                f.write(base64.b64decode(got))
        check(part <= PART, f"{100 * part:.1f} % of the picture differ, first at {first}: look at both, then accept it")
        blank = b.js(COMPARE % (got, shot(b, pod_page(place, pods.Pod(workers=3, steps=0)), width, height, fragment), SQUARE, COLOUR))[0]
        check(blank > PART, "a page without a board would be taken for it")


def light(place, full):
    """Eight ranks, one of them late."""
    compare(place, "light", pods.Pod(workers=8, steps=40), 1440, 900, "#theme=light")


def dark(place, full):
    """The same in the dark."""
    compare(place, "dark", pods.Pod(workers=8, steps=40), 1440, 900, "#theme=dark")


def many(place, full):
    """Percentiles stand for 96 ranks."""
    compare(place, "many", pods.Pod(workers=96, steps=30, hosts=12), 1440, 900, "#theme=light")


def few(place, full):
    """Two steps of two ranks: bars, no heat map."""
    compare(place, "few", pods.Pod(workers=2, steps=2), 1440, 900, "#theme=light")


def phone(place, full):
    """On a narrow screen."""
    compare(place, "phone", pods.Pod(workers=8, steps=40), 390, 844, "#theme=light")


if __name__ == "__main__":
    sys.exit(jobs.main({"light": light, "dark": dark, "many": many, "few": few, "phone": phone}, __doc__))

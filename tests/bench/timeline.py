#!/usr/bin/python3 -B
"""The page's timeline in Chromium: 64 ranks, 20 steps, 200 k events, and 24 ranks whose 200 k events are all in view. Size of the page, time
to its first view, time of a frame that moves or zooms. The events are made up, and so regular that they compress better than real ones. Skipped (77) unless PODPROF_BENCH=1.
"""
import argparse, os, statistics, subprocess, sys, tempfile, time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "report"), os.path.join(TESTS, "guest")]
import chromium  # noqa: E402
import pods  # noqa: E402
import timeline_kit  # noqa: E402

PAGES = ((64, 20, 102), (24, 20, 420))  # ranks, steps, ranges in a step
FRAME_MS = 17  # 60 frames a second
DRAWN = "Trace.drawing && Trace.stats().loading === 0 && !Trace.waiting"
# Milliseconds of script for each frame, and from frame to frame, of n frames that change the view.
FRAMES = """(async (n, change) => {
  const script = [], frame = [];
  let last = await new Promise(requestAnimationFrame);
  for (let i = 0; i < n; i++) {
    const began = performance.now();
    change(i);
    Trace.paint();
    script.push(performance.now() - began);
    const now = await new Promise(requestAnimationFrame);
    frame.push(now - last);
    last = now;
  }
  return [script, frame];
})(120, %s)"""


failed = []


def row(what, values, unit, limit=None):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    verdict = "" if limit is None else "ok" if middle <= limit else "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "timeline", what, middle, low, high, unit, "" if limit is None else "<= %.4g" % limit, verdict, "made up"), flush=True)
    if verdict == "missed":
        failed.append(what)


def frames(b, what, change):
    script, frame = b.js(FRAMES % change)
    row(f"{what}: script of a frame", script, "ms")
    row(f"{what}: frame to frame", frame, "ms", FRAME_MS)


def make(bin, where, ranks, steps, ranges):
    pods.Pod(workers=ranks, steps=steps, first_step=0).write(where)
    subprocess.run([os.path.join(bin, "podprof"), "report", where], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made = subprocess.run([os.path.join(bin, "timeline_page"), *map(str, (ranks, steps, ranges))], check=True, stdout=subprocess.PIPE, text=True)
    page = os.path.join(where, "timeline.html")
    timeline_kit.put_into(os.path.join(where, "report.html"), made.stdout, page)
    return page


def measure(b, page, ranks, steps):
    row(f"page, {ranks} ranks x {steps} steps", [os.path.getsize(page) / 1e6], "MB", 40)
    times = []
    for _ in range(5):
        began = time.monotonic()
        b.open(page, "#open=timeline")
        b.wait(DRAWN)
        times.append(time.monotonic() - began)
    row(f"{ranks} ranks: first view of the timeline", times, "s", 2)
    began = time.monotonic()
    b.js("Trace.show(Pod.timeline.begin, Pod.timeline.end)")
    b.wait(DRAWN)
    row(f"{ranks} ranks: all {b.js('Trace.stats().events')} events unpacked", [time.monotonic() - began], "s")
    for what, rows in ((f"{ranks} ranks closed", ""), (f"{ranks} ranks opened", "Pod.timeline.rank.map(r => r.rank).join()")):
        b.js(f"Trace.keep({{open: {rows or repr('')}}}); Trace.show(Pod.timeline.begin, Pod.timeline.end); Trace.paint()")
        what += f", {round(b.js('Trace.stats().drawn') / 1000)} k events in view"
        frames(b, f"{what}, move", "i => Trace.pan(i % 2 ? 0.01 : -0.01)")
        frames(b, f"{what}, zoom", "i => Trace.zoom(i % 60 < 30 ? 0.95 : 1 / 0.95)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    if not chromium.PROGRAM:
        print("skipped: no chromium (apt-get install chromium)")
        return 77
    b = chromium.Chromium()
    try:
        for ranks, steps, ranges in PAGES:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as where:
                measure(b, make(os.path.abspath(args.bin), where, ranks, steps, ranges), ranks, steps)
    finally:
        b.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

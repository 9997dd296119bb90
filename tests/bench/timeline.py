#!/usr/bin/python3 -B
"""The page's timeline in Chromium: 64 ranks, 20 steps, 200 k events, and 24 ranks whose 200 k events are all in view. Size of the page, time
to its first view, time of a frame that moves or zooms. The events are made up, and so regular that they compress better than real ones. Skipped (77) unless PODPROF_BENCH=1.
"""
import argparse, os, subprocess, sys, tempfile, time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "report"), os.path.join(TESTS, "guest")]
import chromium  # noqa: E402
import pods  # noqa: E402
import timeline_kit  # noqa: E402

PAGES = ((64, 20, 102), (24, 20, 420))  # ranks, steps, ranges in a step
DRAWN = "Trace.stats().loading === 0 && !Trace.waiting"
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
  const at = (list, part) => list.sort((a, b) => a - b)[Math.floor(part * (list.length - 1))];
  return [at(script, 0.5), at(script, 0.95), at(frame, 0.5), at(frame, 0.95)];
})(120, %s)"""


def row(name, value, unit):
    print(f"{name:64s} {value:12.3f} {unit}", flush=True)


def frames(b, what, change):
    script, most, frame, longest = b.js(FRAMES % change)
    row(f"{what}: script of a frame, median", script, "ms")
    row(f"{what}: script of a frame, 95 %", most, "ms")
    row(f"{what}: frame to frame, median", frame, "ms")
    row(f"{what}: frame to frame, 95 %", longest, "ms")


def make(bin, where, ranks, steps, ranges):
    pods.Pod(workers=ranks, steps=steps, first_step=0).write(where)
    subprocess.run([os.path.join(bin, "podprof"), "report", where], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made = subprocess.run([os.path.join(bin, "timeline_page"), *map(str, (ranks, steps, ranges))], check=True, stdout=subprocess.PIPE, text=True)
    page = os.path.join(where, "timeline.html")
    timeline_kit.put_into(os.path.join(where, "report.html"), made.stdout, page)
    return page


def measure(b, page, ranks, steps):
    row(f"page, {ranks} ranks x {steps} steps", os.path.getsize(page) / 1e6, "MB")
    times = []
    for _ in range(5):
        began = time.monotonic()
        b.open(page)
        b.wait(DRAWN)
        times.append(time.monotonic() - began)
    row("first view of the timeline, median of 5", sorted(times)[2], "s")
    row("first view of the timeline, slowest of 5", max(times), "s")
    began = time.monotonic()
    b.js("Trace.show(Pod.timeline.begin, Pod.timeline.end)")
    b.wait(DRAWN)
    row("all steps unpacked", time.monotonic() - began, "s")
    row("events loaded", b.js("Trace.stats().events"), "")
    for what, rows in ((f"{ranks} ranks closed", ""), (f"{ranks} ranks opened", "Pod.timeline.rank.map(r => r.rank).join()")):
        b.js(f"Trace.keep({{open: {rows or repr('')}}}); Trace.show(Pod.timeline.begin, Pod.timeline.end); Trace.paint()")
        row(f"{what}: events in view", b.js("Trace.stats().drawn"), "")
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
    return 0


if __name__ == "__main__":
    sys.exit(main())

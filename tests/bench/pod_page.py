#!/usr/bin/python3 -B
"""The page of large made-up pods in Chromium: 1024 ranks x 1000 steps and 10 240 ranks x 100 steps. Size of the page, time to its first view, to
another selection, to another colour, and of podprof report. Skipped (77) unless PODPROF_BENCH=1.
"""
import argparse, os, statistics, subprocess, sys, tempfile, time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "report"), os.path.join(TESTS, "guest")]
import chromium  # noqa: E402

PODS = ((1024, 1000, 8), (10240, 100, 8))  # ranks, steps, ranks of a host
VIEW_S, SELECT_MS, PAGE_MB = 1, 100, 40
# All that is drawn at once is drawn when Select.set() returns; the next frame shows it.
SELECT = """(async () => { const began = performance.now(); Select.set({from: %d, to: %d, worker: %d});
  await new Promise(requestAnimationFrame); return performance.now() - began; })()"""
COLOUR = """(async () => { const began = performance.now(); Select.set({colour: 'category_4', scale: 'difference'});
  while (!Cells.now.startsWith('category_4|true')) await new Promise(requestAnimationFrame);
  return performance.now() - began; })()"""

failed = []


def row(what, values, unit, limit=None):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    verdict = "" if limit is None else "ok" if middle <= limit else "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "pod page", what, middle, low, high, unit, "" if limit is None else "<= %.4g" % limit, verdict, "made up"), flush=True)
    if verdict == "missed":
        failed.append(what)


def measure(b, bin, where, ranks, steps, per_host):
    name = f"{ranks} ranks x {steps} steps"
    subprocess.run([os.path.join(bin, "page_make"), where, str(ranks), str(steps), str(per_host)], check=True)
    began = time.monotonic()
    subprocess.run([os.path.join(bin, "podprof"), "report", where], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    row(f"{name}: podprof report makes it", [time.monotonic() - began], "s")
    session = os.path.join(where, "podprof", os.listdir(os.path.join(where, "podprof"))[0])
    page = os.path.join(session, "report.html")
    row(f"{name}: page", [os.path.getsize(page) / 1e6], "MB", PAGE_MB)
    times, colours, chosen = [], [], []
    for _ in range(5):
        began = time.monotonic()
        b.open(page)
        b.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        times.append(time.monotonic() - began)
        colours.append(b.js(COLOUR))
        b.wait("Mix.isHere")
        chosen += [b.js(SELECT % (7 * k, 7 * k + 5, k)) for k in range(1, 6)]
    row(f"{name}: first view", times, "s", VIEW_S)
    row(f"{name}: another selection", chosen, "ms", SELECT_MS)
    row(f"{name}: another colour, unpacked", colours, "ms")


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
        for ranks, steps, per_host in PODS:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as where:
                measure(b, os.path.abspath(args.bin), where, ranks, steps, per_host)
    finally:
        b.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

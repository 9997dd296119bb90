"""What the tests of the report share: pages made by podprof, one browser for a test, numbers out of the DOM. Used by report_*.py."""
import atexit
import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import chromium  # noqa: E402
import jobs  # noqa: E402
from jobs import Skipped, check  # noqa: E402


def make(place, directory, *options):
    """report.html of a session's directory, made by podprof report."""
    got = jobs.run([place.podprof(), "report", *options, directory])
    page = os.path.join(directory, "report.html")
    check(got.code == 0 and os.path.exists(page) and page in got.err, got.transcript())
    return page


def pod_page(place, pod):
    place.count += 1
    directory = pod.write(os.path.join(place.scratch, f"pod{place.count}"))
    return make(place, directory)


shared = []  # the one browser of this test: starting it takes longer than most cases


@contextlib.contextmanager
def browser():
    if not chromium.PROGRAM:
        raise Skipped("no chromium (apt-get install chromium)")
    if not shared:
        shared.append(chromium.Chromium())
        atexit.register(shared[0].close)
    try:
        shared[0].size(1400, 900)
        yield shared[0]
    except (TimeoutError, EOFError, OSError):  # it is of no use to the next case
        atexit.unregister(shared[0].close)
        shared.pop().close()
        raise


def unfold(b, page, fragment=""):
    """Opens a page and all its sections, which are made then."""
    b.open(page, fragment)
    b.js("document.querySelectorAll('details.section').forEach(e => { e.open = true; App.opened(e); })")


def clean(b, what):
    found = b.complaints()
    check(not found, f"{what}: the page complains: {found[:3]}")


def is_in_window(b):
    """The page is no wider than its window, once it has been laid out for it: a busy browser takes some frames."""
    return jobs.wait_until(lambda: b.js("document.documentElement.scrollWidth <= innerWidth"))


def own(table):
    return table if table == "breakdown" else "t-" + table


def column(b, table, index):
    """Exact values (data-v, else text) of a column of a table, as it stands in the DOM."""
    return b.js(f"[...document.querySelectorAll('#{own(table)} tbody tr')].map(r => r.children[{index}]).map(c => c.dataset.v ?? c.textContent)")


def heads(b, table):
    return b.js(f"[...document.querySelectorAll('#{own(table)} thead th')].map(h => h.textContent)")


def number(b, selector):
    return float(b.js(f"document.querySelector({selector!r}).dataset.v"))


def near(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))


def same(got, want, what):
    got = [float(v) if v != "" else None for v in got]
    want = [None if v is None else float(v) for v in want]
    check(len(got) == len(want), f"{what}: {len(got)} values, not {len(want)}")
    for i, (g, w) in enumerate(zip(got, want)):
        check((g is None) == (w is None) and (g is None or near(g, w)), f"{what}: row {i} is {g}, not {w}")


def slow_train(place):
    """The log directory of a real job: four ranks, of which rank 1 is slower than any other waits for a core; steps 10 to 19."""
    if not os.path.exists(os.path.join(place.bin, "c_mpi_train")):
        raise jobs.Skipped("c_mpi_train was not built (no MPI)")
    logs = place.new_logs()
    train = [os.path.join(place.bin, "c_mpi_train"), "--steps", "24", "--slow-rank", "1", "--slow-us", "40000"]
    got = jobs.run(place.mpirun(4, place.under(logs, train, "--steps", "10:20")))
    check(got.code == 0, got.transcript())
    return logs

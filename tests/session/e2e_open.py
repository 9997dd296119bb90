#!/usr/bin/python3
"""What counts as lost, delivered and sent: ranges without an end or a begin, windows that cut them, evicted records, empty messages. Run by
ctest session_open."""
import sys

from e2e import h5, text
import jobs
from jobs import check, run, session_of


def session(place, command, *options):
    logs = place.new_logs()
    got = run(place.under(logs, command, *options))
    check(got.code == 0, got.transcript())
    return h5(session_of(logs))


def lost(f, cause):
    return int(f["quality/dropped"][0, [text(c) for c in f["quality/cause"][()]].index(cause)])


def quality(f):
    return "\n".join([text(w) for w in f["quality/warning"][()]] + [text(w) for w in f["quality/absent_reason"][()]])


def never(place, full):
    """A range that never ends is unbalanced, and /op does not say that none began."""
    with session(place, [place.program("open_ranges"), "never"]) as f:
        check(lost(f, "unbalanced") == 400, lost(f, "unbalanced"))
        check("no range and no" not in quality(f), quality(f))


def pops(place, full):
    with session(place, [place.program("open_ranges"), "pops"]) as f:
        check(lost(f, "unbalanced") == 7, lost(f, "unbalanced"))


def edges(place, full):
    """Ranges that are open when recording begins or ends are no loss."""
    for options in (["--delay", "400ms"], ["--duration", "400ms"]):
        with session(place, [place.program("open_ranges"), "outer"], *options) as f:
            check(lost(f, "unbalanced") == 0, f"{options}: {lost(f, 'unbalanced')} unbalanced")


def evicted(place, full):
    """Each record is delivered or evicted."""
    logs = place.new_logs()
    got = run(place.mpirun(1, place.under(logs, [place.program("flood"), "plain"], "--window-buffer", "1M")))
    check(got.code == 0, got.transcript())
    with h5(session_of(logs)) as f:
        delivered, gone = int(f["quality/records"][0]), lost(f, "evicted")
        check(gone > 0 and 600000 <= delivered + gone < 600100, f"{delivered} delivered and {gone} evicted of 300000 ranges")


def messages(place, full):
    """Empty messages of MPI_Sendrecv count by who sends them."""
    logs = place.new_logs()
    got = run(place.mpirun(3, place.under(logs, [place.program("sendrecv")])))
    check(got.code == 0, got.transcript())
    with h5(session_of(logs)) as f:
        c = f["channel"]
        found = {(int(a), int(b)): int(n) for a, b, n in zip(c["source"], c["destination"], c["count"])}
        check(found == {(0, 1): 8, (1, 2): 8, (2, 0): 5} and not c["bytes"][()].any(), found)


CASES = {"never": never, "pops": pops, "edges": edges, "evicted": evicted, "messages": messages}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Files of other profilers, made here: whose they are, which clock they have, and what `podprof report` makes of their directory. Run by ctest
session_foreign; what the tables have of one file is in e2e_analyze.py."""
import os
import shutil
import sys

from e2e_analyze import folder, kineto, put
import jobs
from jobs import check, run, sessions

CACHE = "{}.podprof"


def report(place, *words, code=0, **how):
    got = run([place.podprof(), "report", *words], **how)
    check(got.code == code, f"exit code {got.code}, not {code}\n{got.transcript()}")
    return got


def report_traces(place, full):
    """`podprof report` of traces: analysed once into a directory beside, of which a line tells, and again only when a file has changed."""
    where = folder(place, "others")
    first = report(place, where)
    cache = CACHE.format(where)
    made = sessions(cache)
    check(len(made) == 1 and cache in first.err and "analysed" in first.err and "steps 10..13" in first.err, first.transcript())
    again = report(place, where + "/")
    check(again.out == first.out and sessions(cache) == made and "not changed" in again.err and cache in again.err, again.transcript())
    table = report(place, where, "--table", "trace_file")
    check(table.out.count("Kineto") == 2 and "podprof:" not in table.out, table.transcript())
    os.remove(os.path.join(where, "rank1.pt.trace.json.gz"))
    other = report(place, where)
    check(len(sessions(cache)) == 1 and other.out != first.out and "1 rank" in other.err, other.transcript())
    put(place, "others/rank0.pt.trace.json", kineto(0, begin=20))
    check("steps 20..23" in report(place, where).err, jobs.tree(cache))


def report_file(place, full):
    """One file; -o chooses the directory, which is used again too; a directory of sessions has no use for -o, and one without traces is told so."""
    where = folder(place, "one", ranks=1)
    file, logs = os.path.join(where, "rank0.pt.trace.json"), place.new_logs()
    got = report(place, file, "-o", logs)
    check(len(sessions(logs)) == 1 and not os.path.exists(CACHE.format(file)) and logs in got.err, got.transcript())
    check("not changed" in report(place, file, "-o", logs).err and len(sessions(logs)) == 1, jobs.tree(logs))
    report(place, file)
    check(len(sessions(CACHE.format(file))) == 1, jobs.tree(where))
    got = report(place, logs, "-o", os.path.join(place.scratch, "nowhere"), code=64)
    check("-o" in got.err and not os.path.exists(os.path.join(place.scratch, "nowhere")), got.transcript())
    none = os.path.join(place.scratch, "none")
    os.makedirs(none, exist_ok=True)
    got = report(place, none, code=1)
    check("no trace" in got.err and not os.path.exists(CACHE.format(none)), got.transcript())
    bad = put(place, "bad/rank0.pt.trace.json", b"{")
    report(place, bad, code=1)
    report(place, os.path.dirname(bad), code=1)
    check(not os.path.exists(CACHE.format(os.path.dirname(bad))), "a cache without a session is left")


def report_unwritable(place, full):
    """Beside traces nothing can be written: a temporary directory, and a line with its name."""
    if os.geteuid() == 0:
        os.makedirs(os.path.join(place.scratch, "tmp"), exist_ok=True)
        where = folder(place, "full")
        put(place, "full.podprof", "a file is where the directory would be")
        got = report(place, where, env={**os.environ, "TMPDIR": os.path.join(place.scratch, "tmp")})
        made = os.listdir(os.path.join(place.scratch, "tmp"))
        check(len(made) == 1 and made[0] in got.err and "-o" in got.err, got.transcript())
        return
    where = folder(place, "locked/deep")
    os.chmod(os.path.dirname(where), 0o555)
    try:
        got = report(place, where)
    finally:
        os.chmod(os.path.dirname(where), 0o755)
    made = [w.strip("'") for w in got.err.split() if "podprof-report-" in w and w.startswith("'")]
    check(made and "-o" in got.err, got.transcript())
    shutil.rmtree(made[0])


CASES = {f.__name__: f for f in (report_traces, report_file, report_unwritable)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

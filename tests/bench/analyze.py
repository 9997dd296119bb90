#!/usr/bin/python3 -B
"""podprof analyze beside xprof's overview_page and HTA, on the same files in the same run; and files read at once.

Skipped (77) unless PODPROF_BENCH=1. --xprof, --hta: Pythons that have them; without, their rows are skipped.
A limit that is missed fails the bench. CPU is user and system time of a fresh process and its children, memory their largest; the best
of three (of seven for podprof's short ones), since a busy machine only adds.
"""
import argparse
import glob
import os
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MAKE = os.path.join(HERE, "..", "session")
XPROF = """
import sys
from xprof.convert import raw_to_tool_data as r
data, _ = r.xspace_to_tool_data(sys.argv[1:], 'overview_page', {'use_saved_result': False})
sys.exit(0 if data else 1)
"""
HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
a = TraceAnalysis(trace_dir=sys.argv[1])
a.get_temporal_breakdown(visualize=False)
a.get_gpu_kernel_breakdown(visualize=False)
a.get_comm_comp_overlap(visualize=False)
"""
RANKS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
failed = []


def row(what, value, unit, limit=None, at_least=True):
    ok = limit is None or (value >= limit if at_least else value <= limit)
    bound = "" if limit is None else "%s %g" % (">=" if at_least else "<=", limit)
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "analyze", what, value, value, value, unit, bound, "" if limit is None else "ok" if ok else "missed", ""), flush=True)
    if not ok:
        failed.append(what)


def measure(words, where, repeat=3, clean=()):
    """Best (CPU s, wall s, MiB) of `repeat` fresh processes."""
    best = None
    for i in range(repeat):
        for pattern in clean:
            for path in glob.glob(pattern):
                os.remove(path)
        begin = os.times().elapsed
        with open("bench.err", "w") as err:
            p = subprocess.Popen(words, cwd=where, stdout=subprocess.DEVNULL, stderr=err, env=os.environ | RANKS)
        _, status, used = os.wait4(p.pid, 0)
        wall = os.times().elapsed - begin
        if status:
            sys.exit(f"analyze.py: {words[:3]} ended with {status}: {open('bench.err').read()[-500:]}")
        now = (used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)
        best = now if best is None else tuple(min(a, b) for a, b in zip(best, now))
    return best


def xspace(args, where):
    flat = {}
    for events in args.events:
        session = os.path.join(where, f"x{events}", "plugins", "profile", "s")
        subprocess.run([sys.executable, "-B", os.path.join(MAKE, "make_xspace.py"), session, "--hosts", "1", "--gpus", "1", "--steps", "12",
                        "--step-ns", str(2000 * events), "--events", str(events)], check=True, stdout=subprocess.DEVNULL)
        files = glob.glob(os.path.join(session, "*.xplane.pb"))
        ours = measure([args.podprof, "analyze", session, "-o", os.path.join(where, "logs")], where, 7)
        flat[events] = ours[0] / events * 1e9
        row(f"analyze, XSpace, {events} events: CPU an event", flat[events], "ns")
        row(f"analyze, XSpace, {events} events: memory", ours[2], "MiB")
        if args.xprof:
            theirs = measure([args.xprof, "-c", XPROF, *files], where, 1 if events > 2e6 else 2, [os.path.join(session, "*.op_stats*")])
            row(f"xprof overview_page, {events} events: CPU an event", theirs[0] / events * 1e9, "ns")
            row(f"xprof's CPU by podprof's, {events} events", theirs[0] / ours[0], "x", 20)
            row(f"xprof's memory by podprof's, {events} events", theirs[2] / ours[2], "x", 8)
    first, last = min(flat), max(flat)
    if len(flat) > 1:
        # Without what is the same for every size: the difference of the two largest.
        order = sorted(flat)
        a, b = order[-2], order[-1]
        row(f"analyze, CPU of each further event, from {a} to {b}", (flat[b] * b - flat[a] * a) / (b - a), "ns", 60, False)
        row(f"CPU an event, {last} events by {first}", flat[last] / flat[first], "x", 1.15, False)


def kineto(args, where):
    folder = os.path.join(where, "kineto")
    os.makedirs(folder)
    real = sorted(glob.glob(os.path.join(HERE, "..", "..", "..", "shared", "data", "kineto", "rank-*.json.gz")))
    if not real:
        print("skipped: Kineto: no real traces in ../shared/data to make larger ones of")
        return
    subprocess.run([sys.executable, "-B", os.path.join(HERE, "../unit/aggregate/read/kineto/make_kineto.py"), "--from", *real, "--events", str(args.kineto), "--ranks", "1",
                    "--out", folder], check=True, stdout=subprocess.DEVNULL)
    ours = measure([args.podprof, "analyze", folder, "-o", os.path.join(where, "logs")], where)
    row(f"analyze, Kineto, {args.kineto} events: CPU an event", ours[0] / args.kineto * 1e9, "ns")
    row(f"analyze, Kineto, {args.kineto} events: memory", ours[2], "MiB")
    if not args.hta:
        print("skipped: HTA: give --hta PYTHON with HolisticTraceAnalysis 0.5.0")
        return
    theirs = measure([args.hta, "-c", HTA, folder], where, 1)
    row(f"HTA 0.5.0, {args.kineto} events: wall", theirs[1], "s")
    row("HTA's wall time by podprof's", theirs[1] / ours[1], "x", 15)
    row("HTA's memory by podprof's", theirs[2] / ours[2], "x", 10)


def many(args, where):
    """32 files: two that are made and their copies, so that starting mpirun, which takes as long as reading a small file, weighs little."""
    session = os.path.join(where, "many", "plugins", "profile", "s")
    subprocess.run([sys.executable, "-B", os.path.join(MAKE, "make_xspace.py"), session, "--hosts", "2", "--gpus", "1", "--steps", "12",
                    "--step-ns", str(2000 * args.each), "--events", str(args.each)], check=True, stdout=subprocess.DEVNULL)
    for path in glob.glob(os.path.join(session, "*.xplane.pb")):
        for i in range(15):
            shutil.copy(path, path.replace(".xplane.pb", f"-{i}.xplane.pb"))
    words = [args.podprof, "analyze", session, "-o", os.path.join(where, "logs")]
    one, two = measure([*words, "--processes", "1"], where), measure([*words, "--processes", "2"], where)
    row(f"32 files of {args.each} events, one process: wall", one[1], "s")
    row("32 files, two processes: speed-up", one[1] / two[1], "x", 1.8)
    ranks = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n"]
    one, two = measure([*ranks, "1", *words, "--processes", "1"], where), measure([*ranks, "2", *words, "--processes", "1"], where)
    row("32 files, mpirun -n 2: speed-up over mpirun -n 1", one[1] / two[1], "x", 1.8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--xprof", default="")
    parser.add_argument("--hta", default=os.environ.get("PODPROF_HTA_PYTHON", ""))
    parser.add_argument("--events", type=int, nargs="*", default=[100000, 1000000, 5000000])
    parser.add_argument("--kineto", type=int, default=1000000)
    parser.add_argument("--each", type=int, default=1000000)
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    args.podprof = os.path.join(os.path.abspath(args.bin), "podprof")
    args.xprof = os.path.abspath(args.xprof) if args.xprof and os.path.exists(args.xprof) else ""
    if not args.xprof:
        print("skipped: xprof: run ctest -R xprof_venv first")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as where:
        os.chdir(where)
        xspace(args, where)
        kineto(args, where)
        many(args, where)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3 -B
"""Runs the peers' benches: bench_peers under podprof run with an LTTng session around it, bench_peers_mpi under each MPI tool in turn.

What is absent is said, one line each, and the rest is measured. The LTTng daemon is one of its own, ended afterwards.
Skipped (77) unless PODPROF_BENCH=1, and where there is no peer at all.
"""
import argparse, glob, os, shutil, statistics, subprocess, sys, tempfile, time

TURNS = 5


class Lttng:
    """A session daemon with one snapshot session of the bench's tracepoints."""

    def __init__(self, where):
        self.daemon = None
        self.env = dict(os.environ, LTTNG_HOME=where, HOME=where)

    def call(self, *words):
        subprocess.run(("lttng", "--no-sessiond") + words, env=self.env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=30)

    def start(self):
        if subprocess.run(["lttng", "--no-sessiond", "list"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(100):
                time.sleep(0.1)
                if not subprocess.run(["lttng", "--no-sessiond", "list"], env=self.env, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL).returncode:
                    break
        self.call("create", "podprof_bench", "--snapshot")
        self.call("enable-channel", "-u", "ring", "--overwrite", "--subbuf-size", "1M", "--num-subbuf", "4")
        self.call("enable-event", "-u", "-c", "ring", "pp_bench:*")
        self.call("start")

    def stop(self):
        subprocess.run(["lttng", "--no-sessiond", "destroy", "podprof_bench"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait(timeout=30)


def output_of(words, where, env):
    """Exit status, output and error output of a bench; why it failed goes to our stdout."""
    job = subprocess.run(words, cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    if job.returncode:
        print("%s ended with %d: %s" % (words[-1], job.returncode, job.stderr[-600:]))
    return job.returncode, job.stdout, job.stderr


def print_row(what, values, unit, gate, note):
    """Median and range of the turns; 1 where the limit is missed."""
    value = statistics.median(values)
    verdict = "" if gate is None else "ok" if value >= gate else "missed"
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "peers", what, value, min(values), max(values), unit, "" if gate is None else ">= %g" % gate, verdict, note), flush=True)
    return verdict == "missed"


def run_podprof(args):
    return [os.path.join(args.bin, "podprof"), "run", "-o", "logs", "--wait", "60", "--window-buffer", "64M", "--"]


def podprof_said(stderr):
    """The last line of podprof in a job's error output, after a colon, or nothing."""
    lines = [line for line in stderr.splitlines() if line.startswith("podprof: ")]
    return lines[-1].replace("podprof", "", 1) if lines else ""


def read_losses(pod):
    """(records lost, records read) of a pod.h5; OSError or ImportError where it cannot be read."""
    import h5py
    with h5py.File(pod, "r") as f:
        quality = f["quality"]
        causes = [c.decode() if isinstance(c, bytes) else c for c in quality["cause"][()]]
        lost = sum(n for c, n in zip(causes, quality["dropped"][()].sum(axis=0).tolist()) if c != "evicted")
        return lost, int(quality["records"][()].sum())


def lost_row(where, stderr):
    """A record that was dropped costs less than one that is kept: podprof's rows count only where none was. 1: some were."""
    reason = "skipped: records that podprof lost beside its peers: "
    pods = glob.glob(os.path.join(where, "logs", "podprof", "*", "pod.h5"))
    if not pods:
        print(reason + "podprof run wrote no session" + podprof_said(stderr))
        return 0
    try:
        lost, read = read_losses(pods[0])
    except ImportError:
        print(reason + "h5py is not installed (apt-get install python3-h5py)")
        return 0
    except OSError:
        print(reason + "h5py cannot read the session's pod.h5")
        return 0
    print("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s" % (
        "peers", "podprof: lost while all this was measured", lost, lost, lost, "records", "<= 0", "missed" if lost else "ok",
        "%d were read" % read), flush=True)
    return 1 if lost else 0


def lttng_reason(error):
    """Why there is no session of LTTng, as one line."""
    if isinstance(error, FileNotFoundError):
        return "there is no program 'lttng'"
    said = (getattr(error, "stderr", None) or b"").decode(errors="replace").split("\n")
    return "it makes no session: " + next((line.strip() for line in said if line.strip()), "it gives no reason")


def one_process(args, where):
    """podprof, LTTng, Caliper in one process."""
    modules = [m for m in args.module if os.path.exists(m)]
    lttng = None
    if any("lttng" in m for m in modules):
        try:
            lttng = Lttng(where)
            lttng.start()
        except (OSError, subprocess.SubprocessError) as e:
            print("skipped: LTTng-UST: %s (apt-get install lttng-tools)" % lttng_reason(e))
            modules = [m for m in modules if "lttng" not in m]
    env = dict(lttng.env if lttng else os.environ, LTTNG_UST_REGISTER_TIMEOUT="-1")
    try:
        code, text, stderr = output_of(run_podprof(args) + [os.path.join(args.bin, "bench_peers")] + modules, where, env)
        for line in text.splitlines():
            if line.startswith(("row |", "skipped: ")):
                print(line, flush=True)
        lost = lost_row(where, stderr)
        return code or lost
    finally:
        if lttng:
            lttng.stop()


def mpi_tools(args, where):
    """MPI_Allreduce under podprof and under mpiP, one mpirun each, in turns."""
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "1"]
    bench = os.path.join(args.bin, "bench_peers_mpi")
    tools = {"podprof": (run_podprof(args), None, "recording, drained by its keeper")}
    if not os.path.exists(bench):
        print("skipped: MPI peers: built without MPI")
        return 0
    if args.mpip and os.path.exists(args.mpip):
        with open(os.path.join(os.path.dirname(os.path.dirname(args.mpip)), "version"), encoding="utf-8") as f:
            version = f.read().strip()
        load = ["-x", "LD_PRELOAD=" + args.mpip, "-x"]
        tools["mpiP -k 0"] = (load + ["MPIP=-k 0"], 3, version + ", without call sites")
        tools["mpiP"] = (load + ["MPIP="], 50, version + ", as it comes: one level of call sites, by libunwind")
    else:
        print("skipped: mpiP: no libmpiP.so: tests/bench/peers/get-peers DIR builds it, then cmake -DPODPROF_PEERS=DIR")
    got = {name: [] for name in tools}
    for _ in range(TURNS):
        for name, (words, _, _) in tools.items():
            code, text, _ = output_of(mpirun + words + [bench], where, env)
            if code:
                return 1
            got[name].append(float(text.split()[-1]))
    missed = 0
    for name, (_, gate, note) in tools.items():
        print_row("MPI_Allreduce, added: " + name, got[name], "R", None, note)
        if gate and min(got["podprof"]) <= 0:
            print("skipped: MPI_Allreduce, %s / podprof: the machine is too loud, a wrapped call was faster than a bare one" % name)
        elif gate:
            ratio = [peer / own for peer, own in zip(got[name], got["podprof"])]
            missed += print_row("MPI_Allreduce, added: %s / podprof" % name, ratio, "x", gate, "of %d turns" % TURNS)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--mpip", default="")
    parser.add_argument("--absent", action="append", default=[], help="why a peer was not built")
    parser.add_argument("module", nargs="*")
    args = parser.parse_args()
    if not os.environ.get("PODPROF_BENCH"):
        print("skipped: set PODPROF_BENCH=1 on a quiet machine")
        return 77
    args.bin = os.path.abspath(args.bin)
    for reason in args.absent:
        print("skipped: " + reason)
    if not args.module and not args.mpip:
        return 77
    if not shutil.which("mpirun"):
        print("skipped: MPI peers: no mpirun")
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as where:
        missed = one_process(args, where) + (mpi_tools(args, where) if shutil.which("mpirun") else 0)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Spools and rings that are not as usual: the same --spool twice, one that a dead job left, a ring of another version, ranks bound to a
CPU. Called by ctest."""
import argparse
import glob
import os
import subprocess
import sys

from benches import jobs, whole


def job(place, logs, spool, *prefix):
    return [*prefix, place.podprof(), "run", "-o", logs, "--spool", spool, "--", place.program("torture_job"), "0"]


def twice(place):
    """The second job comes while the first one's keeper tidies up: both have their session."""
    spool, logs = os.path.join(place.scratch, "same"), place.new_logs()
    for _ in range(6):
        got = jobs.run(job(place, logs, spool))
        jobs.check(got.code == 0 and "captured on 1 of 1 rank" in got.err, got.transcript())
    jobs.check(len(jobs.sessions(logs)) == 6, f"{jobs.sessions(logs)}")


def dead_job(place):
    """The rings of a dead job are not mixed with a new job's; salvage reads them."""
    spool, logs, other = os.path.join(place.scratch, "dead"), place.new_logs(), place.new_logs()
    os.mkdir(spool, 0o700)
    library = os.path.join(place.bin, "..", "lib", "libpodprof.so")
    jobs.run(["env", f"PODPROF_SPOOL={spool}", "PODPROF_WAIT=0", f"LD_PRELOAD={library}", place.program("torture_job"), "0"])
    jobs.check(glob.glob(spool + "/*.ring"), "no ring without a keeper")
    got = jobs.run(job(place, logs, spool))
    lines = got.podprof_lines()
    jobs.check(got.code == 0 and got.out == "12 steps done\n" and len(lines) == 1 and "it has the rings of an earlier job" in lines[0], got.transcript())
    got = jobs.run([place.podprof(), "salvage", spool, "-o", other])
    jobs.check(got.code == 0 and len(whole.files(other)) >= 3, got.transcript())


def other_version(place):
    """A ring that this keeper cannot read is one sentence, soon, and no session."""
    spool, logs = os.path.join(place.scratch, "version"), place.new_logs()
    os.mkdir(spool, 0o700)
    library = os.path.join(place.bin, "..", "lib", "libpodprof.so")
    jobs.run(["env", f"PODPROF_SPOOL={spool}", "PODPROF_WAIT=0", f"LD_PRELOAD={library}", place.program("torture_job"), "0"])
    ring = glob.glob(spool + "/*.ring")[0]
    with open(ring, "r+b") as f:
        f.seek(8)
        f.write((77).to_bytes(4, sys.byteorder))
    with open(os.path.join(spool, "options"), "w") as f:
        f.write(f"OUTPUT={logs}\n")
    got = jobs.run([place.podprof(), "keeper", "--spool", spool], limit=30)
    jobs.check(not got.timed_out, "the keeper waits for a ring that it cannot read")
    text = open(os.path.join(spool, "control"), "rb").read()[32:].split(b"\0")[0].decode()
    jobs.check("version 77" in text and "this podprof reads" in text and "\n" not in text, f"it says {text!r}")
    got = jobs.run([place.podprof(), "salvage", spool, "-o", place.new_logs()])
    jobs.check(got.code and "version 77" in got.err and len(got.podprof_lines()) == 1, got.transcript())


def other_keeper(place):
    """A rank whose keeper is of another version says so, and does not wait for it."""
    spool = os.path.join(place.scratch, "keeper")
    os.mkdir(spool, 0o700)
    with open(os.path.join(spool, "control"), "wb") as f:
        f.write(b"PODPCTRL" + (77).to_bytes(4, sys.byteorder) + b"\0" * 8180)
    library = os.path.join(place.bin, "..", "lib", "libpodprof.so")
    got = jobs.run(["env", f"PODPROF_SPOOL={spool}", f"LD_PRELOAD={library}", place.program("torture_job"), "0"])
    lines = got.podprof_lines()
    jobs.check(got.code == 0 and len(lines) == 1 and "another podprof version" in lines[0], got.transcript())


def bound_rank(place):
    """A rank on one CPU has it for itself: the keeper goes to the others."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise jobs.Skipped("one CPU only")
    spool, logs = os.path.join(place.scratch, "bound"), place.new_logs()
    process = jobs.start_until(place, job(place, logs, spool, "env", "TORTURE_SLOW=1", "taskset", "-c", str(cpus[0])))

    def allowed():
        for pid in jobs.keepers(spool):
            try:
                found = os.sched_getaffinity(pid)
            except OSError:
                continue
            if cpus[0] not in found:
                return found
        return None

    found = jobs.wait_until(allowed)
    got = jobs.over(process)
    jobs.check(found, f"the keeper stays on CPU {cpus[0]}: {got.transcript()}")
    jobs.check(set(found) <= set(cpus), f"{found} of {cpus}")


def full_ring(place):
    """A ring that fills faster than the keeper reads raises its priority to that of the ranks."""
    if os.geteuid():
        raise jobs.Skipped("only root may raise a priority")
    spool, logs = os.path.join(place.scratch, "full"), place.new_logs()
    command = [place.podprof(), "run", "-o", logs, "--spool", spool, "--ring-size", "1M", "--", place.program("torture_job"), "0"]
    process = jobs.start_until(place, ["env", "TORTURE_SLOW=1", "TORTURE_BURST=1", *command])

    def raised():
        try:
            log = open(os.path.join(spool, "keeper.log")).read()
        except OSError:
            return False
        return "priority raised" in log and [os.getpriority(os.PRIO_PROCESS, pid) for pid in jobs.keepers(spool)] == [os.getpriority(os.PRIO_PROCESS, 0)]

    done = jobs.wait_until(raised)
    got = jobs.over(process)
    jobs.check(done and got.code == 0, f"the priority did not rise: {got.transcript()}")


CASES = [twice, dead_job, other_version, other_keeper, bound_rank, full_ring]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--guest", required=True)
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    failed = 0
    for case in CASES:
        if args.case and case.__name__ not in args.case:
            continue
        place = jobs.Place(os.path.abspath(args.bin), os.path.abspath(args.guest), os.path.dirname(os.path.abspath(__file__)))
        try:
            case(place)
            print(f"{case.__name__}: ok", flush=True)
        except jobs.Skipped as reason:
            print(f"{case.__name__}: skipped: {reason}", flush=True)
        except (jobs.Failed, OSError, IndexError, subprocess.SubprocessError) as reason:
            failed += 1
            print(f"{case.__name__}: FAILED: {reason}", flush=True)
        place.clean()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

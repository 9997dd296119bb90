#!/usr/bin/python3
"""Four ranks on the stand-ins of CUDA, CUPTI, NCCL and NVML, one of them with a slow GPU: it is named, with what NVML says of it. Run by ctest
gpu_state."""
import gzip
import os
import shutil
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tests", name) for name in ("guest", "truth", "session")]
import combinations
import jobs
from e2e import h5
from jobs import check, run, session_of

RANKS, SLOW_MHZ, FAST_MHZ, POWER_CAP = 4, 1425, 1980, 4


def states(slow, extra=""):
    """What NVML says of the GPUs, one a rank."""
    lines = [f"count {RANKS}"]
    for r in range(RANKS):
        lines += [f"uuid {r} GPU-00102030-4050-6070-8090-a0b0c0d0e00{r}", f"{r} clock {SLOW_MHZ if r == slow else FAST_MHZ}",
                  f"{r} max_clock {FAST_MHZ}", f"{r} reason {POWER_CAP if r == slow else 0}", f"{r} power {700000 - r}", f"{r} busy 97",
                  f"{r} energy 1000"]
    return "\n".join(lines) + "\n" + extra


def recorded(place, fault, nvml, options=()):
    """The job, which sleeps, with that fault; the rank that has it, its session and its summary."""
    place.count += 1
    where = os.path.join(place.scratch, f"job{place.count}")
    os.makedirs(os.path.join(where, "lib"))
    shutil.copy(os.path.join(place.guest, "nvml_all", "libnvidia-ml.so.1"), os.path.join(where, "lib"))
    with open(os.path.join(where, "lib", "nvml.state"), "w", encoding="ascii") as f:
        f.write(nvml)
    program = combinations.Job("nccl", fault, ranks=RANKS, noise=1).program()
    for r in range(RANKS):
        with open(os.path.join(where, f"ops.{r}"), "w", encoding="ascii") as f:
            f.write(program.text(r))
    late = [r for r in range(RANKS) if any(o.extra for o in program.ops[r])]
    logs = place.new_logs()
    got = run([jobs.MPIRUN, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(RANKS),
               *place.under(logs, ["sh", "-c", "REPLAY_FIRST_GPU=$OMPI_COMM_WORLD_RANK exec \"$@\"", "sh",
                                   os.path.join(place.guest, "..", "truth", "job"), where], "--gpu-state", "always", *options)],
              {"LD_LIBRARY_PATH": os.path.join(where, "lib") + ":" + place.guest,
               "REPLAY_FIXTURE": os.path.join(ROOT, "tests", "truth", "device.replay")}, 120)
    check(got.code == 0, got.transcript())
    session = session_of(logs)
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        return late[0] if late else None, session, f.read()


def clock(place, full):
    """The rank's kernels take longer, and its clock is low."""
    slow = recorded(place, "middle", states(None))[0]
    _, session, summary = recorded(place, "middle", states(slow))
    check(f"rank {slow}, Device compute" in summary, summary)
    check(f"GPU 0: clock 28 % below the others under load ({SLOW_MHZ} of {FAST_MHZ} MHz), power cap" in summary, summary)
    check("nvidia-smi -q -d POWER" in summary, summary)
    with h5(session) as f:
        check(list(f["gpu/worker"][()]) == list(range(RANKS)) and (f["gpu/under_load"][()] > 0).all(), dict(f["gpu"]))
        check(f["gpu/clock_hz"][slow] == SLOW_MHZ * 10**6 and f["gpu/reason"][slow] == POWER_CAP, f["gpu/clock_hz"][()])
        check((f["gpu/energy_mj"][()] == 0).all(), f["gpu/energy_mj"][()])
        check((f["state/device"][()] == 1).sum() >= RANKS, f["state/device"][()])
    trace = gzip.decompress(subprocess.run([place.podprof(), "export", "--format", "chrome", session], stdout=subprocess.PIPE, check=True).stdout)
    check(b"GPU 0 SM clock" in trace and b"GPU 0 power" in trace, trace[:2000])


def kernels(place, full):
    """Its clock is as those of the others, and its kernels take longer."""
    slow, _, summary = recorded(place, "middle", states(None))
    check(f"rank {slow}, Device compute" in summary and "times as long as the others for equal kernels" in summary, summary)
    check("% below the others" not in summary, summary)


def nobody(place, full):
    """A low clock that no step feels is no finding; a library that does not answer is a line, and the job is recorded."""
    _, session, summary = recorded(place, "none", states(1))
    check("% below the others" not in summary and "Device compute" in summary, summary)
    with h5(session) as f:
        check(f["gpu/clock_hz"][1] == SLOW_MHZ * 10**6, f["gpu/clock_hz"][()])
    _, session, _ = recorded(place, "none", states(None, "hang nvmlDeviceGetMaxClockInfo\n"))
    warnings = run([place.podprof(), "report", "--table", "warning", session]).out
    check("state of GPUs is not sampled: NVML" in warnings and "nvmlDeviceGetMaxClockInfo" in warnings, warnings)


CASES = {"clock": clock, "kernels": kernels, "nobody": nobody}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

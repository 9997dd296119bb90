#!/usr/bin/python3
"""Jobs with devices that are replayed: stand-ins of CUDA's driver and of CUPTI (tests/gpu) give the records, no device runs. xprof's tools
equal pod.h5, and podprof analyze of the XSpace files gives the session's tables again. Run by ctest session_gpu (labels session, xprof)."""
import json
import os
import sys

from e2e import good, h5, read, text
from e2e_xprof import helper, python
from hosts import Hosts
import jobs
from jobs import check, finish, run, session_of, start

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = ("step", "cell", "kernel", "kernel_left_out", "kernel_stat", "precision", "allocator", "memory_timeline", "memory_peak", "op_left_out", "op_idle")
# Work that does not overlap, so that each category of a device has time of its own, and work that goes on in the next step.
SEPARATE = """podprof replay of CUPTI: CONSTRUCTED
device 0 85899345920 3352320000 90 132 a device (replay)
device 1 85899345920 3352320000 90 132 a device (replay)
alloc 0 1048576 7f0000000000
alloc 1 4096 7f0000000000
alloc 0 2097152 7f0000200000
kernel 0 7 100000 300000 168 0 147456 132x1x1 384x1x1 sm90_xmma_gemm_f16f16_f16f32_f32_tn_n
kernel 1 7 150000 100000 40 16 0 7x2x1 128x1x1 at::native::reduce_kernel<512, 1, float>
copy htod 0 13 500000 40000 1048576
copy dtoh 0 13 600000 50000 4096
peer 0 21 700000 30000 262144 1
kernel 0 20 800000 150000 96 0 82432 24x1x1 544x1x1 _Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE
kernel 1 20 850000 150000 96 0 82432 24x1x1 544x1x1 _Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE
free 0 1048576 7f0000000000
free 0 2097152 7f0000200000
free 1 4096 7f0000000000
set 1 7 1000 1500 65536
sync 0 7 1500000
kernel 1 7 1000000 200000 32 0 0 1x1x1 1x1x1 over_the_end_of_the_step
"""


def folder_of(place):
    folder = os.path.join(place.bin, "..", "tests", "gpu")
    if not os.path.exists(os.path.join(folder, "gpu_host")):
        raise jobs.Skipped("tests/gpu is not built")
    return folder


def gpu(place, ranks=1, fixture=None, options=("--steps", "2:8"), without=None):
    """A session of gpu_host; its log directory. `without`: number of a rank that has no device."""
    folder = folder_of(place)
    logs, job = place.new_logs(), [os.path.join(folder, "gpu_host"), "12", "1", "1", "none,pause"]
    if without is not None:
        job = ["sh", "-c", f'test "$OMPI_COMM_WORLD_RANK" != {without} || export REPLAY_DEVICES=0; exec "$@"', "sh", *job]
    command = place.under(logs, job, *options)
    got = run(place.mpirun(ranks, command) if ranks > 1 else command,
              env={"LD_LIBRARY_PATH": folder, "REPLAY_FIXTURE": fixture or os.path.join(HERE, "..", "gpu", "two_devices.replay")})
    good(got)
    return logs


def separate(place):
    path = os.path.join(place.scratch, "separate.replay")
    with open(path, "w", encoding="ascii") as f:
        f.write(SEPARATE)
    return path


def place_of(logs):
    session = session_of(logs)
    return os.path.join(logs, "plugins", "profile", os.path.basename(session)), os.path.join(session, "pod.h5")


def said(logs):
    """It says that no device ran, and no longer that streams are left out."""
    session = session_of(logs)
    summary = read(session, "summary.txt")
    check("device records are a replay of recorded data: no device ran" in summary, summary)
    with h5(session) as f:
        warnings = [text(w) for w in f["quality/warning"][()]]
        check(any("replay" in w for w in warnings) and not any("planes" in w for w in warnings), warnings)


def exported(place, logs):
    """So does the timeline, whose kernels have arrows from their launches."""
    path = os.path.join(place.scratch, "timeline.json")
    got = run([place.podprof(), "export", "--format", "chrome", "-o", path, logs])
    check(got.code == 0, got.transcript())
    with open(path, encoding="utf-8") as f:
        trace = json.load(f)
    check(trace["otherData"]["devices"] == "simulated", trace["otherData"])
    check('"replay":1' in read(session_of(logs), "report.html"), "the page does not say that no device ran")
    check(sum(e["ph"] == "s" for e in trace["traceEvents"]) > 20, "launches have no arrows")


def shown(place, full):
    """One rank with two devices: xprof's kernels, memory, steps and arrows are those of pod.h5."""
    python()
    logs = gpu(place)
    said(logs)
    exported(place, logs)
    with h5(session_of(logs)) as f:
        check(f["worker/devices"][()].tolist() == [2] and f["kernel/occurrences"][()].sum() >= 50, f["kernel/occurrences"][()])
    helper(place, "check_xprof.py", *place_of(logs))


def categories(place, full):
    """Every category of a device has time of its own in the steps, in xprof as in pod.h5; kernels that go on in the next step too."""
    python()
    logs = gpu(place, fixture=separate(place), options=("--steps", "2:12"))  # to the end: the last peak is in the window
    with h5(session_of(logs)) as f:
        ns = f["breakdown/exclusive_ns"][()].sum(axis=(0, 1))
        check(all(ns[c] > 10000 for c in (0, 1, 2, 5, 6)), ns)
        check(f["allocator/peak_bytes"][()].tolist() == [3145728, 4096], f["allocator/peak_bytes"][()])
        check(f["allocator/peak_step"][()].tolist() == [11, 11] and f["memory_peak/of_peak_step"][()].tolist() == [1, 1, 1], f["memory_peak/of_peak_step"][()])
    helper(place, "check_xprof.py", *place_of(logs))


def ranks(place, full):
    """Two ranks of a host with two devices each, in one file and in one of each: planes have a number each."""
    python()
    for how, steps_of in (("host", "0"), ("rank", None)):
        logs = gpu(place, 2, separate(place), ("--xspace", how, "--steps", "2:8"))
        said(logs)
        profile, pod = place_of(logs)
        with h5(session_of(logs)) as f:
            check(f["worker/devices"][()].tolist() == [2, 2], f["worker/devices"][()])
        helper(place, "check_xprof.py", profile, pod, *((steps_of,) if steps_of else ()))
        planes = sorted(planes_of(os.path.join(profile, name)) for name in os.listdir(profile) if name.endswith(".xplane.pb"))
        check(planes == ([[0, 1, 2, 3]] if how == "host" else [[0, 1], [0, 1]]), planes)


def mixed(place, full):
    """A rank without a device beside one with two: xprof shows its steps on a plane of the other's, and all comes back from the file."""
    python()
    for without in (0, 1):
        logs, back = gpu(place, 2, separate(place), without=without), place.new_logs()
        profile, pod = place_of(logs)
        with h5(session_of(logs)) as f:
            check(f["worker/devices"][()].tolist() == [0 if r == without else 2 for r in range(2)], f["worker/devices"][()])
        helper(place, "check_xprof.py", profile, pod, "0")
        got = run([place.podprof(), "analyze", profile, "-o", back])
        check(got.code == 0 and "steps 2..7 of 2 ranks" in got.err, got.transcript())
        for name in TABLES:
            a, b = table(place, name, logs), table(place, name, back)
            check(a == b, f"rank {without} without a device: table {name}\n{a[:4000]}\nis, from the file:\n{b[:4000]}")


def hosts(place, full):
    """A rank on each of two hosts, whose clocks are two hours apart: a file of each, in job time, and xprof's rows of each host."""
    python()
    folder, logs, back = folder_of(place), place.new_logs(), place.new_logs()
    with Hosts(place, 2, shm="size=256m", ahead=(0, 7200)) as two:
        began = []
        for rank, name in enumerate(two.names):
            env = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "gpu", "LD_LIBRARY_PATH": folder,
                   "REPLAY_FIXTURE": separate(place)}
            command = place.under(logs, [os.path.join(folder, "gpu_host"), "40", "1", "1", "pause"], "--steps", "10:20")
            began.append(start(two.on(name, command), env))
        for one in [finish(p) for p in began]:
            check(one.code == 0, one.transcript())
    profile, pod = place_of(logs)
    with h5(session_of(logs)) as f:
        check(f["worker/devices"][()].tolist() == [2, 2] and not f["clock/domain"][()].any(), f["worker/devices"][()])
    helper(place, "check_xprof.py", profile, pod)
    got = run([place.podprof(), "analyze", profile, "-o", back])
    check(got.code == 0 and "steps 10..19 of 2 ranks on 2 hosts" in got.err, got.transcript())
    for name in TABLES:
        a, b = table(place, name, logs), table(place, name, back)
        check(a == b, f"table {name}\n{a[:1500]}\nis, from the files:\n{b[:1500]}")


def planes_of(path):
    """Numbers of the file's planes of devices."""
    import re

    with open(path, "rb") as f:
        return sorted(int(n) for n in re.findall(rb"/device:GPU:(\d+) \(replay\)", f.read()))


def table(place, name, logs):
    got = run([place.podprof(), "report", "--table", name, logs])
    check(got.code == 0, got.transcript())
    return got.out


def again(place, full):
    """podprof analyze of the files: the same tables as those of the live session, and it says that no device ran."""
    for how, count in (("host", 1), ("rank", 1), ("host", 2), ("rank", 2)):
        logs, back = gpu(place, count, separate(place), ("--xspace", how, "--steps", "2:8")), place.new_logs()
        got = run([place.podprof(), "analyze", place_of(logs)[0], "-o", back])
        check(got.code == 0 and f"steps 2..7 of {count} rank" in got.err, got.transcript())
        for name in TABLES:
            a, b = table(place, name, logs), table(place, name, back)
            check(a == b and a.count("\n") > 1, f"{count} ranks, a file for each {how}: table {name}\n{a[:1500]}\nis, from the files:\n{b[:1500]}")
        said(back)


CASES = {"shown": shown, "categories": categories, "ranks": ranks, "mixed": mixed, "hosts": hosts, "again": again}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

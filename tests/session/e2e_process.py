#!/usr/bin/python3
"""/memory and /process against what the job says of itself: faults, CPU time, switches by step, memory of ranks and children.
Run by ctest session_process."""
import os
import sys

import numpy

from e2e import check_dataset, good, h5, read, text
import jobs
from jobs import check, run, session_of

MIB = 1 << 20


def job(place, ms, *options):
    """The session, and what each (step, rank) printed: minor, major, CPU us, voluntary, involuntary, resident KiB."""
    logs = place.new_logs()
    got = run(place.mpirun(2, place.under(logs, [place.program("usage"), str(ms)], *options)))
    good(got)
    said = {}
    for line in got.out.splitlines():
        rank, step, *values = line.split()
        said[int(step), int(rank)] = [float(v) for v in values]
    check(len(said) == 16, got.out)
    return session_of(logs), said


def own_counts(place, full):
    """Steps of more than 200 ms: all have their own numbers, and these are the program's and what podprof adds."""
    session, said = job(place, 230, "--steps", "1:8")
    check_dataset(session, workers=2, steps=range(1, 8))
    with h5(session) as f:
        p = f["process"]
        check([int(s) for s in p["step"][()]] == list(range(1, 8)) and list(p["worker"][()]) == [0, 1], "the scales of /process")
        check(p["present"][()].all(), f"steps that were not looked at: {p['present'][()]}")
        for (step, rank), (minor, major, cpu, voluntary, involuntary, _) in said.items():
            if not step:
                continue
            at = (step - 1, rank)
            cpu_us = (int(p["cpu_user_ns"][at]) + int(p["cpu_system_ns"][at])) / 1000
            check(minor <= p["minor_faults"][at] <= minor + 150, f"step {step} rank {rank}: {p['minor_faults'][at]} minor faults, {minor}")
            check(major <= p["major_faults"][at] <= major + 50, f"step {step} rank {rank}: {p['major_faults'][at]} major faults, {major}")
            check(cpu - 1 <= cpu_us <= cpu + 20000, f"step {step} rank {rank}: {cpu_us} us CPU, {cpu}")
            check(voluntary <= p["voluntary_switches"][at] <= voluntary + 20, f"{p['voluntary_switches'][at]} voluntary, {voluntary}")
            check(involuntary <= p["involuntary_switches"][at] <= involuntary + 50, f"{p['involuntary_switches'][at]} involuntary, {involuntary}")
        pages = 20 * MIB // os.sysconf("SC_PAGE_SIZE")
        faults = p["minor_faults"][()]
        check(faults[2, 1] >= pages and faults[2, 0] < pages / 4 and faults[1, 1] < pages / 4, f"20 MiB in step 3 of rank 1: {faults}")
        check(p["cpu_user_ns"][2, 1] + p["cpu_system_ns"][2, 1] >= 110e6, "rank 1 computes in step 3")
        peak, known = p["rss_peak_bytes"][()], p["rss_present"][()]
        check(known[2, 1] and peak[2, 1] >= 20 * MIB and abs(int(peak[2, 1]) - said[3, 1][5] * 1024) < 4 * MIB, f"peak {peak[2, 1]}, {said[3, 1]}")


def state_over_time(f, sampled):
    """The host's clock and pressure, as far as this kernel has them: rows of rank 0, as often as its memory, and of rank 1 while rank 0 does not record."""
    pressure = os.access("/proc/pressure/cpu", os.R_OK)
    clock = os.access("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", os.R_OK) or "cpu MHz" in read("/proc", "cpuinfo")
    if not pressure and not clock:
        check("state" not in f and b"state" in f["quality/absent"][()], "a state that nobody knows")
        return
    s = f["state"]
    first, time = s["worker"][()] == 0, s["time_ns"][()]
    check(not s["device"][()].any() and ((time < min(sampled)) | (time > max(sampled)))[~first].all(), f"{s['worker'][()]} {s['device'][()]}")
    check(0 < first.sum() <= len(sampled), f"{first.sum()} samples of the host, {len(sampled)} of rank 0")
    check(((s["clock_hz"][()] > 1e8) | (s["clock_hz"][()] == -2 ** 63)).all() and (not clock or s["clock_hz"][()].max() > 0), s["clock_hz"][()])
    for name in ("pressure_cpu", "pressure_memory", "pressure_io"):
        value = s[name][()]
        check((numpy.isnan(value) | ((value >= 0) & (value <= 100))).all(), f"{name}: {value}")
    check(not pressure or len(sampled) < 3 or numpy.nanmax(s["pressure_cpu"][()]) >= 0, "no pressure")
    check((s["power_mw"][()] == -2 ** 63).all() and (s["reason"][()] == -2 ** 63).all(), "power of a host")


def memory_over_time(place, full):
    """Samples of every rank while it records; the child of rank 0 in step 5, and only then."""
    session, said = job(place, 150)
    with h5(session) as f:
        check("memory" in f and "process" in f, f"/quality absent: {f['quality/absent'][()]}, {f['quality/warning'][()]}")
        m = f["memory"]
        worker, time, rss = m["worker"][()], m["time_ns"][()], m["rss_bytes"][()]
        check(set(worker) == {0, 1} and m["period_ns"][()] >= 100000000, f"{set(worker)} {m['period_ns'][()]}")
        begin, end = f["step/begin_ns"][()], f["step/end_ns"][()]
        for rank in (0, 1):
            mine = worker == rank
            gaps = time[mine][1:] - time[mine][:-1]
            check((gaps >= 99000000).all(), f"more than ten a second: {gaps}")
            inside = mine & (time >= begin[7, rank]) & (time <= end[7, rank])
            want = said[7, rank][5] * 1024
            check(all(abs(int(r) - want) < 4 * MIB for r in rss[inside]), f"rank {rank}: {rss[inside]}, the job says {want}")
        state_over_time(f, time[worker == 0])
        held, count = m["children_rss_bytes"][()], m["children"][()]
        none = [text(w) for w in f["quality/warning"][()] if "child processes are not sampled" in text(w)]
        if none:
            raise jobs.Skipped(none[0])
        during = (worker == 0) & (time > begin[5, 0] + 100000000) & (time < end[5, 0] - 200000000)
        check(during.any() and (count[during] >= 1).any() and held[during].max() >= 50 * MIB, f"the child: {held} {count}")
        away = (worker == 1) | (time < begin[5, 0]) | (time > end[5, 0] + 50000000)
        check(not held[away].any() and not count[away].any(), f"children that are none: {held[away]}")
        pss, known = m["pss_bytes"][()], m["pss_present"][()]
        check(((pss > 0) == (known == 1)).all() and (pss[known == 1] <= rss[known == 1] + 4 * MIB).all(), f"PSS {pss} of {rss}")
    check("  Memory:     peak RSS " in read(session, "summary.txt") and "of a rank's children" in read(session, "summary.txt"), read(session, "summary.txt"))


def short_steps(place, full):
    """Steps of 20 ms: few are looked at, at most ten looks a second, the others are absent and hold nothing."""
    session, said = job(place, 20, "--steps", "1:8")
    with h5(session) as f:
        p = f["process"]
        present = p["present"][()]
        check(present.shape == (7, 2), present.shape)
        begin, end = f["step/begin_ns"][()], f["step/end_ns"][()]
        for rank in (0, 1):  # ten looks a second and three ahead, two a step or one
            most = (end[-1, rank] - begin[0, rank]) / 100e6 + 3
            check(present[:, rank].sum() <= most, f"{present[:, rank]} in {most} periods of 100 ms")
        for name in ("cpu_user_ns", "cpu_system_ns", "minor_faults", "voluntary_switches"):
            check(not p[name][()][present == 0].any(), f"{name} of steps that were not looked at")
        for (step, rank), (minor, *_) in said.items():
            if step and present[step - 1, rank]:
                check(minor <= p["minor_faults"][step - 1, rank] <= minor + 150, f"step {step} rank {rank}: {p['minor_faults'][step - 1, rank]}, {minor}")


def shared_cores(place, full):
    """Two ranks held to one core share it: each may run on one, and so may both together."""
    logs, core = place.new_logs(), min(os.sched_getaffinity(0))
    good(run(["taskset", "-c", str(core), *place.mpirun(2, place.under(logs, [place.program("usage"), "20"]))]))
    with h5(session_of(logs)) as f:
        check(list(f["worker/cores"][()]) == [1, 1], f"cores {f['worker/cores'][()]}")
        check(list(f["worker/host_cores"][()]) == [1, 1], f"cores of the host {f['worker/host_cores'][()]}")


CASES = {"own_counts": own_counts, "memory_over_time": memory_over_time, "short_steps": short_steps, "shared_cores": shared_cores}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

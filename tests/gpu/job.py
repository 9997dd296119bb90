#!/usr/bin/python3
"""A job on the stand-ins of CUDA and CUPTI from podprof run to its files: its kernels are there, and all of them say that no device ran.
Run by ctest gpu_job."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs
from jobs import check, run, session_of

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_devices.replay")


def recorded(place, env=None, steps="10", words="pause"):
    logs = place.new_logs()
    env = {"LD_LIBRARY_PATH": place.guest, "REPLAY_FIXTURE": FIXTURE, **(env or {})}
    base = run([place.program("gpu_host"), steps, "1", "1", words], env)
    got = run(place.under(logs, [place.program("gpu_host"), steps, "1", "1", words]), env)
    wrong = jobs.compare(base, got)
    check(got.code == 0 and not wrong, f"{wrong} {got.transcript()}")
    session = session_of(logs)
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        return session, f.read()


def plain(place, full):
    session, summary = recorded(place)
    for text in ("10 steps", "device records are a replay of recorded data: no device ran", "Device compute", "sm90_xmma_gemm", "GPU_0"):
        check(text in summary, f"no '{text}' in {summary}")
    check(os.path.exists(os.path.join(session, "report.html")), "no page")


def no_device(place, full):
    """A driver without a GPU, a CUPTI that fails: the job is recorded, and says nothing of a replay."""
    for env, text in (({"REPLAY_DEVICES": "0"}, ""), ({"REPLAY_FAIL": "cuptiSubscribe_v2=35"}, "not enough privileges")):
        summary = recorded(place, env, words="none,pause")[1]
        check("10 steps" in summary and "replay" not in summary and "Device compute  " not in summary, summary)
        check(text in summary, summary)


CASES = {"plain": plain, "no_device": no_device}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

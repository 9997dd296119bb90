#!/usr/bin/python3
"""PyTorch's CUDA build on a machine without a driver: its NVTX ranges reach podprof, and podprof says that there is no driver. The wheel has
several GB, so PODPROF_TORCH_CUDA_PYTHON must name a Python that has it. Run by ctest gpu_torch_nvtx."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs
from jobs import Skipped, check, run, session_of

PYTHON = os.environ.get("PODPROF_TORCH_CUDA_PYTHON", "")
SCRIPT = """
import podprof, torch
for step in range(6):
    with podprof.step(step):
        torch.cuda.nvtx.range_push("forward")
        torch.cuda.nvtx.mark("loss")
        torch.cuda.nvtx.range_pop()
        with torch.cuda.nvtx.range("optimizer {}", step):
            torch.ones(8).sum()
"""


def ranges(place, full):
    if not jobs.has_module(PYTHON, "torch"):
        raise Skipped("PODPROF_TORCH_CUDA_PYTHON names no Python with torch")
    what = "import torch; print(torch.version.cuda is not None and not torch.cuda.is_available())"
    if subprocess.run([PYTHON, "-c", what], stdout=subprocess.PIPE, text=True, check=False).stdout.strip() != "True":
        raise Skipped("this torch has no CUDA, or this machine has a driver")
    logs = place.new_logs()
    got = run(place.under(logs, [PYTHON, "-c", SCRIPT]), limit=200)
    check(got.code == 0 and not got.other_err(), got.transcript())
    session = session_of(logs)
    table = run([place.podprof(), "report", "--table", "op", session]).out
    for text in ("forward", "optimizer 5"):
        check([line for line in table.splitlines() if text in line and "NVTX" in line], table)
    with open(os.path.join(session, "summary.txt"), encoding="utf-8") as f:
        summary = f.read()
    check("6 steps" in summary and "none lost" in summary and "Install the NVIDIA driver" in summary, summary)


if __name__ == "__main__":
    sys.exit(jobs.main({"ranges": ranges}, __doc__))

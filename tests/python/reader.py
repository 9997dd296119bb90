#!/usr/bin/python3
"""podprof.open(): sessions as DataFrames, without pandas as arrays, without numpy as lists; the notebook of examples/. Run by ctest python_reader."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs
from jobs import check, run

MODULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "launchers", "python")
WITHOUT = """
import sys
for name in sys.argv[2].split(","):
    sys.modules[name] = None
import podprof
assert not {"subprocess", "json", "podprof._reader"} & set(sys.modules), "a job that only marks its steps has imported the reader"
s = podprof.open(sys.argv[1])
"""


def python(place, script, *words, code=0):
    env = {"PYTHONPATH": os.path.abspath(MODULES), "PATH": os.path.abspath(place.bin) + ":" + os.environ["PATH"], "PODPROF_STEPS": "3:4"}
    got = run([sys.executable, "-B", "-c", script, *words], env)
    check(got.code == code, got.transcript())
    return got


def record(place, late="3"):
    logs = place.new_logs()
    program = [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "12", "--slow-rank", late, "--slow-us", "20000"]
    got = run(place.mpirun(4, place.under(logs, program)))
    check(got.code == 0, got.transcript())
    return logs


def said(place, *words):
    return json.loads(run([place.podprof(), *words]).out)


def tables(place, full):
    """Verdict, ranks, steps and tables say what the program says; lists where nothing else is installed."""
    logs = record(place)
    brief = said(place, "report", "--json", logs)
    got = json.loads(python(place, WITHOUT + """
import json
step = s.steps
print(json.dumps([s.verdict, s.path, s.findings, s.cautions, s.ranks, step, s.table("op"), s.units("op"), s.table("kernel"), repr(s), podprof.sessions(sys.argv[1])]))
""", logs, "numpy,pandas").out)
    verdict, path, findings, cautions, ranks, steps, ops, units, kernels, shown, listed = got
    check(verdict == brief["verdict"]["text"] and path == brief["path"] and findings == brief["findings"] and cautions == brief["qualifiers"], got)
    check(ranks["rank"] == [0, 1, 2, 3] and ranks["Host compute"] == [row["categories"]["Host compute"] for row in brief["rank"]], ranks)
    check(len(steps["step"]) == 12 * 4 and set(steps["worker"]) == {0, 1, 2, 3} and "present" not in steps, steps)
    for i, length in enumerate(steps["step_ns"]):
        check(sum(steps[name][i] for name in brief["categories"]) == length, f"row {i} of the steps: its categories are not its length")
    check(any(name.startswith("MPI_") for name in ops["name"]) and units["self_ns"] == "ns" and units["name"] == "", (ops, units))
    check(kernels and not any(kernels.values()) and verdict in shown and listed["verdict"] == [verdict], (kernels, shown, listed))


def frames(place, full):
    """pandas and numpy, where this Python has them."""
    logs = record(place)
    for module, hidden in (("pandas", "none"), ("numpy", "pandas")):
        if subprocess.run([sys.executable, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode:
            raise jobs.Skipped(f"no {module} for {sys.executable}")
        python(place, WITHOUT + f"""
import {module}
steps = s.steps
kind = type(steps) if "{module}" == "pandas" else type(steps["step"])
assert kind is {"pandas.DataFrame" if module == "pandas" else "numpy.ndarray"}, kind
assert (steps["step_ns"] > 0).all() and len(steps["step"]) == 48
""", logs, hidden)


def compared(place, full):
    before, after = record(place, "1"), record(place, "3")
    got = json.loads(python(place, WITHOUT + "import json; print(json.dumps(s.compare(podprof.open(sys.argv[3]))))", before, "none", after).out)
    check(got["ranks_compared"] == 4 and got["schema"] == said(place, "diff", "--json", before, after)["schema"], got)


def refused(place, full):
    """What podprof says is what is raised."""
    logs = record(place)
    for words, sentence in ((f"podprof.open({place.scratch + '/none'!r})", "no such file or directory"), ("s.table('nope')", "Choose one of: worker, step, "),
                            ("s.table('clock')", "a group of tables: worker, "), ("s.compare('/nowhere')", "cannot open '/nowhere'")):
        got = python(place, WITHOUT + f"""
from podprof._reader import PodprofError
try:
    {words}
except PodprofError as error:
    print(error)
""", logs, "none")
        check(sentence in got.out, got.transcript())


def notebook(place, full):
    """Each cell of examples/notebook runs."""
    if subprocess.run([sys.executable, "-c", "import pandas"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise jobs.Skipped(f"no pandas for {sys.executable}")
    with open(os.path.join(place.examples, "notebook", "session.ipynb"), encoding="utf-8") as f:
        cells = ["".join(cell["source"]) for cell in json.load(f)["cells"] if cell["cell_type"] == "code"]
    script = "import os, sys\nos.environ['LOGDIR'] = sys.argv[1]\n" + "\n".join(cells) + "\nprint(milliseconds.shape, session.verdict)"
    got = python(place, script, record(place))
    check(got.out.startswith("(12, 4) ") and "rank 3" in got.out, got.transcript())


CASES = {"tables": tables, "frames": frames, "compared": compared, "refused": refused, "notebook": notebook}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

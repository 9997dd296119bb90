#!/usr/bin/python3
"""The shim in programs without a framework, or with a broken one: it is as if it were not there. Run by ctest python_shim."""
import os
import sys

from pythons import SHIM, alone, check, jobs, pythons, same, under, write

WORKERS = """
import multiprocessing, os, subprocess, sys
def work(n):
    return n * n, "podprof" in sys.modules, os.environ.get("PODPROF_SPOOL") is not None
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, [n for n, module, _ in pool.map(work, range(4)) if not module])
    print(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True))
"""
THREADS = """
import sys, threading
class Slow:  # is still looking for the one while another thread asks for the other
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "torch":
            inside.set()
            over.wait(20)
        return None
inside, over, found = threading.Event(), threading.Event(), {}
from _podprof import _hook
_hook._finder.waited_for["second"] = "_seen"
sys.meta_path.insert(1, Slow)
def find(name):  # past Python's import lock, as tools do that ask the finders themselves
    found[name] = _hook._finder.find_spec(name) is not None
first = threading.Thread(target=find, args=("torch",))
first.start()
inside.wait(20)
find("second")
over.set()
first.join()
print(sorted(found.items()))
"""
ENDS = {
    "returns": "print('out')",
    "raises": "raise ValueError('mine')",
    "exits": "import sys; sys.exit(7)",
    "is interrupted": "raise KeyboardInterrupt",
    "leaves": "import os; os._exit(5)",
    "imports what is not there": "import torch_that_is_not_there",
}
TORCH = {
    "fails": "raise RuntimeError('libtorch is missing')",
    "is not there": "raise ImportError(\"No module named 'mine'\", name='mine')",
    "is interrupted": "raise KeyboardInterrupt",
}


def ends(place, full):
    """Programs end as they do without podprof, by each Python, with each of its switches, and podprof says nothing but at its end."""
    for python in pythons():
        for what, text in ENDS.items():
            command = [python, "-c", text]
            same(alone(command), under(place, command)[0], f"{python} {what}")
        for switch in ("-S", "-E", "-I", "-s", "-B", "-O", "-W error"):
            command = [python, *switch.split(), "-c", "import sys; print('sitecustomize' in sys.modules, sys.argv)"]
            got = under(place, command)[0]
            check(got.code == 0 and not got.other_err(), f"{python} {switch}: {got.transcript()}")


def chain(place, full):
    """The user's own sitecustomize runs as it would without, and is the module of that name; what it raises is printed as Python does."""
    texts = {
        "prints": "import sys; print('mine', __name__, sys.modules[__name__].__file__); MARK = 1",
        "raises": "raise ValueError('of mine')",
        "misses": "import something_that_is_not_there",
        "moves the path": "import sys; sys.path.insert(0, '/nowhere'); sys.path.append('/nowhere/either')",
    }
    for python in pythons():
        for name, text in texts.items():
            own = os.path.dirname(write(place, f"own-{name.replace(' ', '-')}/sitecustomize.py", text))
            command = [python, "-c", "import sys; s = sys.modules.get('sitecustomize'); print(getattr(s, '__file__', s), hasattr(s, 'MARK'))"]
            base = alone(command, {"PYTHONPATH": own})
            same(base, under(place, command, {"PYTHONPATH": own})[0], f"{python}: its sitecustomize {name}")


def path(place, full):
    """Children find the shim too, and the program's path has what it would have, in the same order."""
    command = [jobs.PYTHON, "-c", "import os, sys; print([p for p in sys.path if os.path.realpath(p) != %r])" % os.path.realpath(SHIM)]
    same(alone(command, {"PYTHONPATH": "/a:/b"}), under(place, command, {"PYTHONPATH": "/a:/b"})[0], "sys.path")
    command = [jobs.PYTHON, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import podprof; print(podprof.__all__)'])"]
    got = under(place, command)[0]
    check(got.code == 0 and "step_begin" in got.out, f"import podprof in a child: {got.transcript()}")


def workers(place, full):
    """Worker processes of every kind are silent and do their work."""
    for python in pythons():
        command = [python, write(place, "workers.py", WORKERS)]
        same(alone(command), under(place, command)[0], f"workers of {python}")


def broken_torch(place, full):
    """A torch that cannot be imported: its exception is the program's. One that is not what the adapter knows: one line, and all goes on."""
    for what, text in TORCH.items():
        own = os.path.dirname(os.path.dirname(write(place, f"torch-{what.replace(' ', '-')}/torch/__init__.py", text)))
        program = ("try:\n    import torch\nexcept BaseException as e:\n    print(type(e).__name__, e, e.__cause__, e.__context__, getattr(e, 'name', 0))\n"
                   "import sys\nprint('torch' in sys.modules)\n"
                   "try:\n    import torch\nexcept BaseException as e:\n    print(type(e).__name__, e)\n")
        command = [jobs.PYTHON, "-c", program]
        same(alone(command, {"PYTHONPATH": own}), under(place, command, {"PYTHONPATH": own})[0], f"torch {what}")
    own = os.path.dirname(os.path.dirname(write(place, "torch-strange/torch/__init__.py", "VALUE = 3")))
    program = "import importlib.machinery as m, importlib.util as u; print(isinstance(u.find_spec('torch').loader, m.SourceFileLoader))"
    program += "; import torch; print(torch.VALUE, type(torch.__spec__.loader).__name__, type(torch.__loader__).__name__)"
    base, got = alone([jobs.PYTHON, "-c", program], {"PYTHONPATH": own}), under(place, [jobs.PYTHON, "-c", program], {"PYTHONPATH": own})[0]
    same(base, got, "a strange torch")
    said = [line for line in got.podprof_lines() if "adapter for torch" in line]
    check(len(said) == 1, f"one line about the adapter is wanted: {got.err}")


def threads(place, full):
    """Two threads look for frameworks at once, and both find them."""
    own = os.path.dirname(write(place, "threads/torch.py", ""))
    write(place, "threads/second.py", "")
    for python in pythons():
        got = under(place, [python, "-c", THREADS], {"PYTHONPATH": own})[0]
        check(got.code == 0 and got.out == "[('second', True), ('torch', True)]\n", f"{python}: {got.transcript()}")


def no_library(place, full):
    """The shim without podprof run, or with its variables and no library."""
    program = "import sys, podprof\nwith podprof.step(3), podprof.range('x'):\n    print(podprof.recording(), 'ctypes' in sys.modules)"
    for env in ({"PYTHONPATH": SHIM}, {"PYTHONPATH": SHIM, "PODPROF_SPOOL": "/nowhere/at/all"}):
        for python in pythons():
            got = alone([python, "-c", program], env)
            check(got.code == 0 and got.out == "False True\n" and not got.err, f"{python} {env}: {got.transcript()}")
    got = alone([jobs.PYTHON, "-c", "import sys; print([m for m in sys.modules if 'podprof' in m])"], {"PYTHONPATH": SHIM})
    check(got.out == "[]\n", f"without podprof run the shim imports {got.out}")


def cost(place, full):
    """Printed, not held to a limit: a machine may be busy. What is imported is held."""
    command = [jobs.PYTHON, "-X", "importtime", "-c", "import sys; print(sorted(m for m in sys.modules if 'podprof' in m or m == 'ctypes'))"]
    got = under(place, command)[0]
    check(got.out == "['_podprof', '_podprof._hook']\n", f"the shim imports {got.out}")
    line = next(x for x in got.err.splitlines() if x.endswith(" sitecustomize"))
    print(f"    sitecustomize: {int(line.split('|')[1])} us")


CASES = {"ends": ends, "chain": chain, "path": path, "workers": workers, "broken_torch": broken_torch, "threads": threads, "no_library": no_library,
         "cost": cost}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

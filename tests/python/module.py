#!/usr/bin/python3
"""The module podprof in programs without a framework: what they mark is in the dataset. Run by ctest python_module."""
import sys

from pythons import check, jobs, pythons, under, write

import e2e  # noqa: E402

MARKS = """
import podprof, time

@podprof.annotate("load it", podprof.Category.INPUT)
def load(n):
    time.sleep(0.002)
    return n

@podprof.annotate
def train(n):
    with podprof.range("inner", podprof.Category.OUTPUT):
        time.sleep(0.002)
    podprof.counter("loss", 1.0 / (n + 1))
    podprof.mark("trained")

async def nothing():
    pass

assert podprof.annotate(nothing) is nothing
for n in podprof.steps(load(n) for n in range(FIRST, LAST)):
    train(n)
print(podprof.recording())
"""
WITH = """
import podprof
for epoch in range(2):
    for n in range(4):
        with podprof.step():
            with podprof.range("a name with \\0 and \\u00e4\\u2603", 4):
                sum(range(10000))
for n in range(3):
    podprof.step()
    sum(range(10000))
try:
    with podprof.step(50), podprof.range("raises"):
        raise KeyError("mine")
except KeyError as e:
    print("KeyError", e)
"""
WINDOWS = """
import podprof
podprof.profile_steps(2, 4)
for n in range(8):
    podprof.step_begin(n)
    if n == 6:
        with podprof.capture("late"), podprof.range("inside"):
            print(podprof.recording())
    podprof.step_end()
"""
LOOP = """
import time
import podprof
import podprof.callbacks
loop = podprof.callbacks.Loop()
loop.wants()
for batch in range(12):
    time.sleep(0.001)
    loop.has(batch // 3)
    time.sleep(0.001)
    loop.wants()
loop.over()
try:
    podprof.callbacks.keras()
except ImportError as e:
    print("keras" in str(e))
"""

CALLBACKS = """
import sys, time, types
class Callback:
    pass
for name in ("keras", "keras.callbacks", "lightning", "lightning.pytorch", "lightning.pytorch.callbacks", "transformers"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].Callback = sys.modules[name].TrainerCallback = Callback
import podprof.callbacks
steps = getattr(podprof.callbacks, "FRAMEWORK".replace("transformers", "trainer"))()
class trainer:
    global_step = 0
def keras(hook):
    getattr(steps, "on_" + hook, lambda *_: None)(0)
def lightning(hook):
    time.sleep(0.001)
    arguments = (None, 0) if hook == "train_batch_start" else (None, None, 0) if hook == "train_batch_end" else ()
    getattr(steps, "on_" + hook, lambda *_: None)(trainer, None, *arguments)
    trainer.global_step += hook == "train_batch_end"
def transformers(hook):
    getattr(steps, "on_" + hook, lambda *_, **__: None)(None, trainer, None, model=None)
    trainer.global_step += hook == "step_end"
def call(hooks):
    for hook in hooks.split():
        FRAMEWORK(hook)
if "FRAMEWORK" == "keras":
    test = "test_begin test_batch_begin test_batch_end test_end"
    epoch = "epoch_begin " + 4 * "train_batch_begin train_batch_end " + test + " epoch_end "
    call("train_begin " + 2 * epoch + "train_end")
elif "FRAMEWORK" == "transformers":
    epoch = "epoch_begin " + 2 * (2 * "step_begin substep_end step_end " + "prediction_step evaluate ") + "epoch_end "
    call("train_begin " + 2 * epoch + "train_end")
else:
    test = "validation_start validation_epoch_start validation_batch_start validation_batch_end validation_epoch_end validation_end "
    epoch = "train_epoch_start " + 2 * (2 * "train_batch_start train_batch_end " + test) + "train_epoch_end "
    call("sanity_check_start " + test + "sanity_check_end train_start " + 2 * epoch + "train_end")
"""


def session(place, python, text, name):
    got, logs = under(place, [python, write(place, name, text)])
    check(got.code == 0 and not got.other_err(), got.transcript())
    return got, logs


def marks(place, full):
    """Steps from the moment their input is asked for, ranges and their categories, by each Python."""
    for python in pythons():
        got, logs = session(place, python, MARKS.replace("FIRST", "0").replace("LAST", "7"), "marks.py")
        found = jobs.session_of(logs)
        e2e.check_dataset(found, workers=1, steps=range(7))
        check(got.out == "True\n", got.out)
        with e2e.h5(found) as f:
            ns = f["breakdown/exclusive_ns"][()][:, 0, :]
            check((ns[:, 5] > 1500000).all() and (ns[:, 6] > 1500000).all(), f"{python}: input and output are {ns[:, 5]}, {ns[:, 6]}")
            names = {e2e.text(n): e2e.text(c) for n, c in zip(f["op/name"][()], f["op/category"][()])}
            check(names.get("load it") == "Input" and names.get("inner") == "Output" and "train" in names, f"{python}: {names}")
            check(e2e.text(f["worker/step_rule"][()][0]) == "podprof_step", f"rule {f['worker/step_rule'][()]}")


def with_steps(place, full):
    """With a block and without; counted where they have no number; an exception passes and leaves no range open; odd names are names."""
    got, logs = session(place, jobs.PYTHON, WITH, "with.py")
    found = jobs.session_of(logs)
    e2e.check_dataset(found, workers=1, steps=[*range(11), 50])
    check(got.out == "KeyError 'mine'\n", got.out)
    with e2e.h5(found) as f:
        check("a name with   and \u00e4\u2603" in [e2e.text(n) for n in f["op/name"][()]], f"{f['op/name'][()]}")


def windows(place, full):
    """profile_steps and capture are sessions of their own."""
    got, logs = session(place, jobs.PYTHON, WINDOWS, "windows.py")
    found = jobs.wait_until(lambda: len(jobs.sessions(logs)) == 2 and jobs.sessions(logs))
    check(bool(found) and got.out == "True\n", f"two sessions are wanted: {jobs.tree(logs)}, {got.transcript()}")
    with e2e.h5(found[0]) as f:
        check([int(n) for n in f["breakdown/step"][()]] == [2, 3], f"{f['breakdown/step'][()]}")


def loop(place, full):
    """The example callback: a number that comes again is the same step."""
    got, logs = session(place, jobs.PYTHON, LOOP, "loop.py")
    e2e.check_dataset(jobs.session_of(logs), workers=1, steps=range(4))
    check(got.out == "True\n", got.out)


def callbacks(place, full):
    """The hooks in the order in which Keras 3.15, Lightning 2.6 and the Trainer of transformers 4 call them, validation in between: eight steps, and nothing lost."""
    for framework in ("keras", "lightning", "transformers"):
        got, logs = session(place, jobs.PYTHON, CALLBACKS.replace("FRAMEWORK", framework), framework + "_hooks.py")
        found = jobs.session_of(logs)
        e2e.check_dataset(found, workers=1, steps=range(8))
        with e2e.h5(found) as f:
            lost = {key: int(f["quality/" + key][()].sum()) for key in ("unbalanced",) if key in f["quality"]}
            check(not any(lost.values()), lost)
        check("missing" not in e2e.read(found, "summary.txt"), e2e.read(found, "summary.txt"))


CASES = {"marks": marks, "with_steps": with_steps, "windows": windows, "loop": loop, "callbacks": callbacks}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

#!/usr/bin/python3
"""Counts the steps of small training loops with torch itself and a door that notes what comes through it. Run by ctest python_torch_steps:
torch_steps.py SHIM_DIRECTORY PYTHON_WITH_TORCH starts itself there; torch_steps.py SHIM_DIRECTORY [CASE...] is that run."""
import importlib.util
import os
import sys
import types

if len(sys.argv) > 2 and "/" in sys.argv[2]:
    if not os.path.exists(sys.argv[2]):
        print("skipped: no Python with torch: scripts/install-deps makes one in .venv")
        sys.exit(77)
    os.execv(sys.argv[2], [sys.argv[2], "-B", os.path.abspath(__file__), sys.argv[1]])

if importlib.util.find_spec("torch") is None:
    print("skipped: this Python has no torch: scripts/install-deps gets it")
    sys.exit(77)
import torch
from torch_by_hand import (evaluate, functional_by_torch_func, functional_with_a_loader, functional_without_a_loader, generate,
                           gradients_of_the_input, hand_accumulates, hand_after_a_sanity_check, hand_and_validation,
                           hand_of_two_models_without_a_loader, hand_through_data, hand_without_a_loader, inference_by_generate,
                           inference_in_one_block, inference_of_few_requests, inference_of_requests, loader, model,
                           optimizer_in_the_validation, own_optimizer, own_optimizer_around_one_of_torch, own_optimizer_beside_one_of_torch,
                           own_optimizer_beside_one_of_torch_without_a_loader, own_optimizer_without_a_loader, raises_inside_of_a_step, step,
                           updates_that_are_skipped)


class Door:
    """Notes marks; ticks count up."""

    def __init__(self):
        self.marks, self.ends, self.rules, self.recording, self.explicit, self.tick = [], 0, [], 0, 0, 0
        self.ranges, self.depth, self.said = [], 0, []

    def now(self):
        self.tick += 1
        return self.tick

    def state(self):
        return 1 | self.recording * 10 | self.explicit * 4

    claim = state

    def step_begin(self, number, tick):
        self.marks.append((number, tick or self.now()))
        return self.state()

    def step_end(self):
        self.ends += 1
        return self.state()

    def step_end_at(self, tick):
        assert tick <= self.tick
        return self.step_end()

    def step_rule(self, text):
        self.rules.append(text.decode())

    def range_push(self, name, category):
        self.ranges.append(name.decode())
        self.depth += 1

    def range_pop(self):
        self.depth -= 1
        assert self.depth >= 0

    def say(self, text):
        self.said.append(text.decode())

    remark = say

    def is_edge(self, number):
        return 0

    def counter(self, name, value):
        pass


def installed(where):
    """The adapter as sitecustomize.py installs it, behind a door of this file."""
    package = types.ModuleType("_podprof")
    package.__path__ = [os.path.join(where, "podprof")]
    sys.modules["_podprof"] = package
    from _podprof import _library, _torch

    door = Door()
    _library.api = _library.shim = lambda: door
    _torch.install(torch)
    return _torch.adapter(), door


ADAPTER, DOOR = installed(sys.argv[1])
def one_epoch(sgd, adam):
    for (x,) in loader(6):
        step(x, sgd)
    return 6


def epochs(sgd, adam):
    data = loader(5)
    for _ in range(3):
        for (x,) in data:
            step(x, sgd)
    return 15


def loaders_made_anew(sgd, adam):
    for _ in range(3):
        for (x,) in loader(5):
            step(x, sgd)
    return 15


def accumulation(sgd, adam):
    for i, (x,) in enumerate(loader(12)):
        model(x).pow(2).mean().backward()
        if i % 3 == 2:
            sgd.step()
            sgd.zero_grad()
    return 4


def accumulation_over_the_epoch(sgd, adam):
    data, n = loader(5), 0
    for _ in range(3):
        for (x,) in data:
            model(x).pow(2).mean().backward()
            n += 1
            if n % 3 == 0:
                sgd.step()
    return 5


def two_optimizers(sgd, adam):
    for (x,) in loader(7):
        step(x, sgd)
        step(x, sgd)
        step(x, adam)
    return 7


def validation(sgd, adam):
    data, other = loader(5), loader(3)
    for _ in range(3):
        for (x,) in data:
            step(x, sgd)
        with torch.no_grad():
            evaluate(other)
    return 15


def validation_with_gradients(sgd, adam):
    data, other = loader(5), loader(3)
    for _ in range(3):
        for (x,) in data:
            step(x, sgd)
        evaluate(other)
    return 15


def validation_inside_the_epoch(sgd, adam):
    data, other = loader(9), loader(3)
    for i, (x,) in enumerate(data):
        step(x, sgd)
        if i % 4 == 3:
            evaluate(other)
    return 9


def validation_cut_short(sgd, adam):
    data, other = loader(5), loader(3)
    for _ in range(3):
        for (x,) in data:
            step(x, sgd)
        next(iter(other))
    return 15


def sanity_check_first(sgd, adam):
    data, other = loader(5), loader(3)
    with torch.no_grad():
        evaluate(other)
    for _ in range(2):
        for (x,) in data:
            step(x, sgd)
        with torch.inference_mode():
            evaluate(other)
    return 10


def two_training_loaders(sgd, adam):
    one, two = loader(4), loader(3)
    for _ in range(2):
        for data in (one, two):
            for (x,) in data:
                step(x, sgd)
    return 14


def iterator(sgd, adam):
    batches = iter(loader(9))
    for _ in range(6):
        step(next(batches)[0], sgd)
    return 6


def persistent_workers(sgd, adam):
    data = loader(5, num_workers=2, persistent_workers=True, multiprocessing_context="fork")
    for _ in range(2):
        for (x,) in data:
            step(x, sgd)
    return 10


def no_loader(sgd, adam):
    for _ in range(9):
        step(torch.randn(4, 8), sgd)
    return 9


def no_loader_once(sgd, adam):
    step(torch.randn(4, 8), sgd)
    return 1


def no_loader_two_optimizers(sgd, adam):
    for _ in range(9):
        step(torch.randn(4, 8), sgd)
        step(torch.randn(4, 8), adam)
    return 9


def no_loader_and_a_critic(sgd, adam):
    """One optimizer steps five times as often. That is known after two rounds; then each is a step."""
    for _ in range(6):
        for _ in range(5):
            step(torch.randn(4, 8), sgd)
        step(torch.randn(4, 8), adam)
    return 11 + 4


def no_loader_and_an_optimizer_that_steps_at_times(sgd, adam):
    for i in range(40):
        step(torch.randn(4, 8), sgd)
        if i in (3, 10, 12, 30):
            step(torch.randn(4, 8), adam)
    return 40


def no_loader_accumulates(sgd, adam):
    for i in range(12):
        model(torch.randn(4, 8)).pow(2).mean().backward()
        if i % 3 == 2:
            sgd.step()
    return 4


def no_loader_but_validation(sgd, adam):
    other = loader(3)
    for i in range(9):
        step(torch.randn(4, 8), sgd)
        if i % 4 == 3:
            with torch.no_grad():
                evaluate(other)
    return 9


def one_batch_for_all(sgd, adam):
    """The rule of loaders does not fit; after 16 it is given up: these are one step."""
    (x,) = next(iter(loader(3)))
    for _ in range(50):
        step(x, sgd)
    return 50 - 15


def scheduler(sgd, adam):
    schedule = torch.optim.lr_scheduler.StepLR(sgd, 2)
    for (x,) in loader(6):
        step(x, sgd)
        schedule.step()
    return 6


def gradient_scaler(sgd, adam):
    scaler = torch.amp.GradScaler("cpu")
    for (x,) in loader(6):
        sgd.zero_grad()
        scaler.scale(model(x).pow(2).mean()).backward()
        scaler.step(sgd)
        scaler.update()
    return 6


def closure(sgd, adam):
    lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=3)
    for (x,) in loader(4):
        def loss():
            lbfgs.zero_grad()
            value = model(x).pow(2).mean()
            value.backward()
            return value

        lbfgs.step(loss)
    return 4


def exceptions(sgd, adam):
    for (x,) in loader(6):
        try:
            model(x).backward(torch.ones(3))
        except RuntimeError:
            pass
        step(x, sgd)
    return 6


def compiled_model(sgd, adam):
    function = torch.compile(lambda x: model(x).pow(2).mean(), backend="eager", fullgraph=True)
    for (x,) in loader(6):
        sgd.zero_grad()
        function(x).backward()
        sgd.step()
    return 6


def training_in_a_thread(sgd, adam):
    import threading

    thread = threading.Thread(target=one_epoch, args=(sgd, adam))
    thread.start()
    thread.join()
    return 6


def program_with_the_module(sgd, adam):
    """It may be about to mark steps, and then does not."""
    sys.modules["podprof"] = types.ModuleType("podprof")
    return one_epoch(sgd, adam)


def program_that_marks(sgd, adam):
    DOOR.explicit = 1
    one_epoch(sgd, adam)
    return 0


def program_that_marks_after_the_first_batch(sgd, adam):
    sys.modules["podprof"] = types.ModuleType("podprof")
    for (x,) in loader(6):
        DOOR.explicit = 1
        step(x, sgd)
    return 0


# Programs without an optimizer: what they are given is None.


def inference(*_):
    with torch.inference_mode():
        evaluate(loader(7))
    return 7


def inference_with_gradients(*_):
    for (x,) in loader(7):
        model(x)
    return 7


def inference_of_two_batches(*_):
    evaluate(loader(2))
    return 2


def inference_over_epochs(*_):
    data = loader(4)
    for _ in range(3):
        evaluate(data)
    return 12


def inference_with_an_optimizer(sgd, adam):
    """As an example of torch's own does with --evaluate: the optimizer is made, and never steps."""
    evaluate(loader(25))
    return 25


def inference_with_an_optimizer_and_gradients(sgd, adam):
    for (x,) in loader(25):
        model(x)
    return 25


def inference_of_two_loaders_at_once(*_):
    for (x,), (y,) in zip(loader(40), loader(40)):
        model(x + y)
    return 40


def inference_of_a_loader_inside_a_loop(*_):
    for (_,) in loader(5):
        evaluate(loader(4))
    return 5


def inference_that_is_left(*_):
    """The last batch of a loop that is left is not whole where nothing follows."""
    for _ in range(2):
        for i, (x,) in enumerate(loader(9)):
            model(x)
            if i == 5:
                break
    return 11


def inference_that_leaves_a_loader_that_stays(*_):
    one = loader(9, num_workers=1, persistent_workers=True, multiprocessing_context="fork")
    for i, (x,) in enumerate(one):
        if i == 5:
            break
    evaluate(loader(30))
    return 6 + 30 - 15


def inference_in_a_thread(*_):
    import threading

    thread = threading.Thread(target=inference)
    thread.start()
    thread.join()
    return 7


def inference_with_the_module(*_):
    sys.modules["podprof"] = types.ModuleType("podprof")
    return inference()


def inference_that_marks(*_):
    sys.modules["podprof"] = types.ModuleType("podprof")
    for (x,) in loader(6):
        DOOR.explicit = 1
        model(x)
    return 0


def rollouts(sgd, adam):
    """An update is a step, and what is done without gradients before it is a part of it."""
    for _ in range(4):
        for _ in range(2):
            generate(torch.randn(4, 8))
        for _ in range(3):
            step(torch.randn(4, 8), sgd)
    return 12


def requests_before_training(*_):
    for _ in range(10):
        generate(torch.randn(4, 8))
    return 10 + one_epoch(torch.optim.SGD(model.parameters(), 0.01), None)


def training_by_hand(*_):
    for (x,) in loader(6):
        model.zero_grad()
        model(x).pow(2).mean().backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.01 * p.grad
    return 6


def look_at_a_batch_first(*_):
    next(iter(loader(3)))
    return one_epoch(torch.optim.SGD(model.parameters(), 0.01), None)


def optimizer_made_in_the_loop(*_):
    sgd = None
    for (x,) in loader(6):
        sgd = sgd or torch.optim.SGD(model.parameters(), 0.01)
        step(x, sgd)
    return 6


def evaluation_before_training(sgd, adam):
    evaluate(loader(40))
    return one_epoch(sgd, adam)


def evaluation_before_there_is_an_optimizer(*_):
    """Nobody knows that a training comes: these are steps too."""
    evaluate(loader(10))
    return 10 + one_epoch(torch.optim.SGD(model.parameters(), 0.01), None)


NO_OPTIMIZER = [inference, inference_with_gradients, inference_of_two_batches, inference_over_epochs, inference_of_two_loaders_at_once,
                inference_of_a_loader_inside_a_loop, inference_that_is_left, inference_that_leaves_a_loader_that_stays, inference_in_a_thread,
                inference_with_the_module, inference_that_marks, training_by_hand, look_at_a_batch_first, optimizer_made_in_the_loop,
                evaluation_before_there_is_an_optimizer, hand_and_validation, hand_accumulates, hand_after_a_sanity_check, hand_through_data,
                own_optimizer, own_optimizer_without_a_loader, hand_without_a_loader, hand_of_two_models_without_a_loader,
                inference_of_requests, inference_by_generate, inference_of_few_requests, inference_in_one_block, requests_before_training,
                functional_without_a_loader, functional_by_torch_func, functional_with_a_loader, gradients_of_the_input]
NO_BACKWARD = [case for case in NO_OPTIMIZER if case.__name__.startswith("inference")]
NO_BACKWARD += [inference_with_an_optimizer, inference_with_an_optimizer_and_gradients]
RULES = {inference_that_marks: None, inference_in_one_block: None, inference_of_requests: 4, inference_by_generate: 4,
         inference_of_few_requests: 4, requests_before_training: 4, rollouts: 1,
         no_loader: 1, no_loader_once: 1, no_loader_two_optimizers: 1, no_loader_and_a_critic: 1,
         no_loader_and_an_optimizer_that_steps_at_times: 1, no_loader_accumulates: 1, no_loader_but_validation: 1,
         training_in_a_thread: 1, program_that_marks: None,
         program_that_marks_after_the_first_batch: None, own_optimizer_without_a_loader: 2, hand_without_a_loader: 2,
         hand_of_two_models_without_a_loader: 2, functional_without_a_loader: 2, functional_by_torch_func: 3,
         own_optimizer_beside_one_of_torch_without_a_loader: 1}
CASES = [one_epoch, epochs, loaders_made_anew, accumulation, accumulation_over_the_epoch, two_optimizers, validation,
         validation_with_gradients, validation_inside_the_epoch, validation_cut_short, sanity_check_first, two_training_loaders, iterator,
         persistent_workers, no_loader, no_loader_once, no_loader_two_optimizers, no_loader_and_a_critic,
         no_loader_and_an_optimizer_that_steps_at_times, no_loader_accumulates, no_loader_but_validation, one_batch_for_all, scheduler,
         gradient_scaler, closure, exceptions, compiled_model, training_in_a_thread, program_with_the_module, program_that_marks,
         program_that_marks_after_the_first_batch, inference_with_an_optimizer, inference_with_an_optimizer_and_gradients,
         evaluation_before_training, own_optimizer_around_one_of_torch, own_optimizer_beside_one_of_torch,
         own_optimizer_beside_one_of_torch_without_a_loader, rollouts, updates_that_are_skipped, optimizer_in_the_validation, raises_inside_of_a_step,
         *NO_OPTIMIZER]


def wrong(case, recording):
    """What is not as it should be, or ""."""
    DOOR.__init__()
    sys.modules.pop("podprof", None)
    ADAPTER.follow(DOOR.state())
    DOOR.recording = recording
    ADAPTER.steps.__init__(DOOR, ADAPTER.leave, ADAPTER.follow, ADAPTER.operators.move)
    ADAPTER.blocks.forget()
    ADAPTER.blocks.has_claimed = False
    ADAPTER.blocks.follow()
    if case in NO_OPTIMIZER:
        want = case(None, None)
    else:
        want = case(torch.optim.SGD(model.parameters(), 0.01), torch.optim.Adam(model.parameters(), 0.001))
    ADAPTER.phases.forward_ends()
    ADAPTER.blocks.finish()
    ADAPTER.steps.finish()
    numbers, ticks = [n for n, _ in DOOR.marks], [t for _, t in DOOR.marks]
    rule = RULES.get(case, 0)
    whole = len(numbers) - (1 if ADAPTER.steps.is_open and not ADAPTER.steps.waits and not ADAPTER.steps.explicit else 0)
    if numbers != list(range(len(numbers))) or whole != want:
        return "steps %s, %d whole, instead of %d" % (numbers, whole, want)
    if ticks != sorted(set(ticks)):
        return "ticks do not rise: %s" % ticks
    if DOOR.rules != ([] if rule is None else ["torch: " + ("DataLoader", "optimizer", "parameter updates", "backward passes", "inference")[rule]]):
        return "rule %s" % DOOR.rules
    if DOOR.depth or DOOR.said:
        return "%d ranges are open, said %s" % (DOOR.depth, DOOR.said)
    if recording and ("backward" in DOOR.ranges) == (case in NO_BACKWARD or case.__name__.startswith("functional")):
        return "ranges %s" % DOOR.ranges
    if case.__name__.endswith("in_a_thread"):
        if torch.autograd._profiler_enabled() or ADAPTER.operators.thread:
            return "torch's ranges are on where no thread is"
    elif ADAPTER.operators.is_on != bool(recording):
        return "torch's ranges are %s" % ("on" if ADAPTER.operators.is_on else "off")
    return ""


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    failed = 0
    for case in CASES:
        for recording in (0, 1):
            why = wrong(case, recording)
            failed += bool(why)
            print("%-44s %s %s" % (case.__name__, "recorded" if recording else "quiet   ", why and "FAILED: " + why or "ok"))
    ADAPTER.operators.off()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

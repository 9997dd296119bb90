"""Blocks of the program without gradients: no_grad() and inference_mode(), outermost, on the training thread. While recording they are
ranges. In a program that neither trains nor reads batches one that comes again and again is its step (a request, a call of generate()). The
first one makes this process the rank. Installed only while one of these needs it. Called by _torch.py."""
import functools
import os
import sys
from _thread import get_ident

from ._library import OTHER
from ._torch_batches import FEW
from ._torch_steps import INFERENCE

_FIRST = 8  # blocks held until it is known which of them are the steps
_AGAIN = 3  # blocks of another place, without one of the steps': the program has gone over to it
_ENGINES = ("vllm", "sglang", "tensorrt_llm")  # which name their iterations


class Blocks:
    def __init__(self, adapter):
        self.adapter, self.steps, self.phases, self.shim = adapter, adapter.steps, adapter.phases, adapter.shim
        torch = adapter.torch
        self.places = [(where, name, getattr(where, name)) for where in (torch.no_grad, torch.inference_mode) for name in ("__enter__", "__exit__")]
        self.model_eval = torch.nn.Module.eval
        self.has_claimed = self.is_on = False
        self.outermost = None  # the open one: its context, place, period of recording, begin
        asked = os.environ.get("PODPROF_STEPS", "").partition(":")[0]
        self.limit = max(FEW, min(int(asked) - 1, _FIRST)) if asked.isdigit() else _FIRST
        self.forget()

    def forget(self):
        self.held = []  # place, begin, end of blocks while their step is not known
        self.step, self.other, self.since = None, None, 0

    def are_steps(self):
        return self.adapter.is_allowed is not False and self.steps.may_infer() and not any(name in sys.modules for name in _ENGINES)

    def follow(self):
        """Recording is on or off, or something else has changed."""
        wants = not self.has_claimed or bool(self.phases.period) or self.steps.changes_in_blocks() or self.are_steps()
        if wants != self.is_on:
            self.is_on, self.outermost = wants, None
            for where, name, function in self.places:
                setattr(where, name, (_entering if name == "__enter__" else _leaving)(self, function) if wants else function)

    def claims(self):
        """The program's first block makes this process the rank."""
        if self.adapter.watches():
            self.steps.claim()
        elif not self.adapter.is_dead and self.adapter.is_allowed is None:
            return  # another thread: the training thread may follow
        self.has_claimed = True
        self.adapter.torch.nn.Module.eval = self.model_eval
        self.follow()

    def begins(self, context, frame):
        module = frame.f_globals.get("__name__", "")
        is_call = module == "torch.utils._contextlib"
        if self.outermost is not None or module.partition(".")[0] == "torch" and not is_call:
            return
        if not self.has_claimed:
            self.claims()
        are_steps = self.are_steps()
        if are_steps and self.steps.thread != get_ident() and not self.held and self.step is None:
            self.steps.reads_here()
        if self.steps.thread != get_ident() or not self.adapter.watches():
            return
        place, begin = None, 0
        if are_steps:
            place, begin = is_call and frame.f_locals.get("func") or (frame.f_code, frame.f_lasti), self.shim.now()
            if place == self.step:
                self.steps.mark_block(begin)
        period = 0 if self.phases.forward else self.phases.push(b"no_grad", OTHER)
        self.outermost = context, place, period, begin

    def ends(self, context):
        if self.outermost is None or self.outermost[0] is not context:
            return
        _, place, period, begin = self.outermost
        self.outermost = None
        if period:
            self.phases.forward_ends()  # of a batch that was read inside
            self.phases.pop(period)
        if begin and self.are_steps():
            self.ended(place, begin)
        elif self.held or self.step is not None:
            if place == self.step and self.steps.rule == INFERENCE:
                self.steps.rest()
            self.forget()
        self.follow()

    def ended(self, place, begin):
        if self.step is None:
            self.held.append((place, begin, self.shim.now()))
            if len(self.held) >= self.limit:
                self.choose()
        elif place == self.step:
            self.steps.rest()
            self.since = 0
        else:
            self.since = self.since + 1 if place == self.other else 1
            self.other = place
            if self.since >= _AGAIN:
                self.step, self.since = place, 0

    def choose(self):
        """Of the places that came again, the one with most time."""
        times = {}
        for place, begin, end in self.held:
            n, ticks = times.get(place, (0, 0))
            times[place] = n + 1, ticks + end - begin
        again = [place for place, (n, _) in times.items() if n > 1]
        if not again:
            self.held = self.held[-self.limit + 1:]
            return
        self.step = max(again, key=lambda place: times[place][1])
        held, self.held = self.held, []
        for place, begin, end in held:
            if place == self.step:
                self.steps.mark_block(begin)
                self.steps.rest(end)

    def finish(self):
        """At exit of a short program."""
        if len(self.held) >= FEW and self.are_steps():
            self.choose()


def _entering(blocks, function):
    @functools.wraps(function)
    def __enter__(self):
        result = function(self)
        try:
            blocks.begins(self, sys._getframe(1))
        except Exception as error:
            blocks.adapter.failed(error)
        return result

    return __enter__


def _leaving(blocks, function):
    @functools.wraps(function)
    def __exit__(self, *args):
        result = function(self, *args)
        try:
            steps = blocks.steps
            if steps.updates.state is not None and steps.by_hand and blocks.adapter.watches() and not steps.explicit:
                steps.find_update()
            blocks.ends(self)
        except Exception as error:
            blocks.adapter.failed(error)
        return result

    return __exit__


def install(adapter):
    """A program that neither trains nor reads batches is known by its first block, or by eval(); not by those of torch's own code."""
    blocks = adapter.blocks = Blocks(adapter)
    evaluates = blocks.model_eval

    @functools.wraps(evaluates)
    def eval(self):
        try:
            module = sys._getframe(1).f_globals.get("__name__", "")
            if module.partition(".")[0] != "torch":
                blocks.claims()
        except Exception as error:
            adapter.failed(error)
        return evaluates(self)

    adapter.torch.nn.Module.eval = eval
    blocks.follow()

"""Switches torch's operator ranges (ITT, or NVTX where a build has only that) on the training thread, in steps whose level has them.
In: the state after each mark. Out: torch's calls of its collector. Called by _torch.py."""
import sys
from _thread import _local, get_ident

from ._library import OPERATORS

_NO_PROFILER = b"this build of torch has neither ITT nor NVTX: its operators are not recorded"
_YIELDED = b"torch.profiler was started by the program: operators are not recorded while it runs"


class _Watch:
    """Goes with its thread."""

    def __init__(self, operators):
        self.operators, self.thread = operators, get_ident()

    def __del__(self):
        try:
            if self.thread == get_ident():
                self.operators.finish(self.thread)
        except Exception:
            pass


class Operators:
    def __init__(self, torch, shim):
        self.shim, self.torch = shim, torch
        self.profiler = torch.autograd.profiler
        self.start, self.stop = self.profiler._run_on_profiler_start, self.profiler._run_on_profiler_stop
        self.kind = _kind(torch)
        self.is_on = False
        self.theirs = False  # the program's own profiler runs
        self.has_yielded = False
        self.thread = 0  # where it is on
        self.ends = _local()
        self.inside = 0  # depth of backward passes: their end restores the thread-local state
        self.profiler._run_on_profiler_start = self._they_start
        self.profiler._run_on_profiler_stop = self._they_stop
        self._wrap_legacy()

    def follow(self, state):
        if bool(state & OPERATORS) != self.is_on and not self.inside:
            if self.is_on:
                self.off()
            else:
                self.on()

    def on(self):
        if self.kind is None:
            self.is_on = True  # as far as it can be
            self.shim.remark(_NO_PROFILER)
            return
        if self.theirs or self.torch.autograd._profiler_enabled():
            self._yield()
            return
        profiler = self.profiler
        self.start()
        profiler._enable_profiler(profiler.ProfilerConfig(self.kind, False, False, False, False, False, profiler._ExperimentalConfig()), set())
        self.is_on, self.thread = True, get_ident()
        if not hasattr(self.ends, "watch"):
            self.ends.watch = _Watch(self)

    def off(self):
        if not self.is_on:
            return
        self.is_on = False
        if self.kind is not None and self.thread == get_ident():
            self.thread = 0
            self.profiler._disable_profiler()
            self.stop()

    def move(self):
        """The training thread has changed. On the old one ranges stay on until it ends."""
        self.is_on = False

    def finish(self, thread):
        """A thread or the process ends: torch would complain of ranges that are still on."""
        if self.kind is not None and self.thread == thread and not self.theirs and self.torch.autograd._profiler_enabled():
            self.is_on, self.thread = False, 0
            self.profiler._disable_profiler()
            self.stop()

    def _yield(self):
        self.shim.remark(_YIELDED)
        if not self.has_yielded:
            self.has_yielded = True
            self.shim.say(_YIELDED)

    def _wrap_legacy(self):
        """The profiler of torch 1 raises where another one is on."""
        legacy = sys.modules.get("torch.autograd.profiler_legacy")
        if legacy is None or not hasattr(legacy, "_enable_profiler_legacy") or not hasattr(legacy, "_disable_profiler_legacy"):
            return
        enable, disable = legacy._enable_profiler_legacy, legacy._disable_profiler_legacy

        def enables(*args, **kwargs):
            self._yield_to_theirs()
            return enable(*args, **kwargs)

        def disables(*args, **kwargs):
            self.theirs = False
            return disable(*args, **kwargs)

        legacy._enable_profiler_legacy, legacy._disable_profiler_legacy = enables, disables

    def _yield_to_theirs(self):
        try:
            self.theirs = True
            if self.is_on:
                self.off()
                self._yield()
        except Exception:
            pass

    def _they_start(self):
        self._yield_to_theirs()
        return self.start()

    def _they_stop(self):
        self.theirs = False
        return self.stop()


def _kind(torch):
    """None where this build of torch reports no operators."""
    state = torch.autograd.profiler.ProfilerState
    try:
        if torch.profiler.itt.is_available():
            return state.ITT
    except AttributeError:
        pass
    if getattr(torch.version, "cuda", None) and hasattr(state, "NVTX"):
        return state.NVTX
    return None

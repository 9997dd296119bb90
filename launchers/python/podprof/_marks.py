"""Who marks the steps of a program: one rule at a time, of the frameworks other than torch's own loops. In: a step has begun or ended, by a
rule, from _keras.py, _jax.py and _tensorflow.py. Out: marks of the shim. Nothing here raises into the program."""
import functools
import os
import sys
from _thread import get_ident

from . import _calls, _library, _profiler
from ._library import EXPLICIT, IS_RANK, RECORDING

FUNCTION, LOOP, ANNOTATION = 1, 2, 3  # rules by what they know: what repeats, a framework's own loop, the program's own marks
_FAILURES = 8


def _follow(torch, state):
    """What is recorded in this step goes on or off, on this thread."""
    if torch is not None:
        torch.follow()
    _calls.follow(state)


class Marks:
    def __init__(self, shim, api):
        self.shim, self.api = shim, api
        self.order, self.number, self.thread = 0, 0, 0
        self.is_open = self.is_dead = False
        self.is_allowed = None  # not known yet
        self.failures = 0
        self.texts = []  # to be said once this process is a rank
        self.profiler = _profiler.profiler(self)
        self.edges = []  # called when a step begins and is recorded, until they return False
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self):
        """The child is a rank only if C says so."""
        self.order, self.number, self.thread, self.is_open, self.is_allowed = 0, 0, 0, False, None

    def allows(self):
        """Is this process a rank? Asked at the first work of a framework, not at its import."""
        if self.is_allowed is None:
            self.is_allowed = not _is_helper() and bool(self.shim.claim() & IS_RANK)
            if self.is_allowed and "_podprof._torch" not in sys.modules:
                _library.at_end_of_child(lambda: self.shim.finish(_library.status()))
        if self.texts and self.is_allowed:
            self.say("")
        return self.is_allowed and not self.is_dead

    def joins(self, rank, size):
        """This process is a member of a job, by its framework's own words."""
        multiprocessing = sys.modules.get("multiprocessing")
        own = multiprocessing is not None and multiprocessing.parent_process() is not None
        self.is_allowed = bool(self.shim.claim_group(rank, size, own) & IS_RANK)
        if self.is_allowed and own:
            _library.at_end_of_child(lambda: self.shim.finish(_library.status()))

    def takes(self, order):
        """May a rule of this kind mark steps on this thread? torch's own rule then does not; where it has marked, what only repeats yields."""
        if not self.allows() or order < self.order:
            return False
        if order > self.order:
            torch = _torch()
            if torch is not None:
                if order == FUNCTION and torch.steps.number and not torch.steps.explicit:
                    return False
                torch.steps.explicit = True
            self.end()
            self.order, self.thread = order, get_ident()
        elif self.thread != get_ident():
            if self.thread in sys._current_frames():
                return False
            self.thread = get_ident()
        return True

    def begin(self, order, rule, tick=0, number=None):
        """A step begins now, or at a past tick; the one before ends."""
        if not self.takes(order) or self.shim.state() & EXPLICIT:
            return
        first = not self.number
        number = self.number if number is None else number
        torch = sys.modules.get("_podprof._torch")
        if torch is not None:
            torch.leave(number)
        state = self.shim.step_begin(number, tick)
        if self.profiler is not None:
            self.profiler.follow(state)
        if first:
            self.shim.step_rule(rule.encode("utf-8", "replace")[:55])
        self.number, self.is_open = number + 1, True
        _follow(torch, state)
        if state & RECORDING and self.edges:
            self.edges = [edge for edge in self.edges if edge()]

    def end(self, tick=0):
        if not self.is_open:
            return
        self.is_open = False
        if not self.shim.state() & EXPLICIT:
            state = self.shim.step_end_at(tick) if tick else self.shim.step_end()
            if self.profiler is not None:
                self.profiler.follow(state)
            _follow(sys.modules.get("_podprof._torch"), state)

    def failed(self, error):
        """A hook of ours failed. Said once; repeated failures switch all of them off."""
        try:
            self.failures += 1
            if self.failures == 1:
                self.say("an adapter failed: %s: %s" % (type(error).__name__, error))
            if self.failures >= _FAILURES:
                self.is_dead = True
        except Exception:
            self.is_dead = True

    def say(self, text):
        """On stderr, and in the quality notes; once this process is a rank."""
        if text:
            self.texts.append(text.encode("utf-8", "replace"))
        if self.is_allowed:
            texts, self.texts = self.texts, []
            for text in texts:
                self.shim.say(text)
                self.shim.remark(text)

    def guard(self, body):
        """A hook body: its errors do not reach the program."""

        @functools.wraps(body)
        def guarded(*args):
            if self.is_dead:
                return None
            try:
                return body(*args)
            except Exception as error:
                return self.failed(error)

        return guarded


def _torch():
    torch = sys.modules.get("_podprof._torch")
    return torch.adapter() if torch is not None else None


def _is_helper():
    """Children of multiprocessing are ranks only if they join a job, or have a number of their own."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None or multiprocessing.parent_process() is None:
        return False
    from ._torch import _has_own_number

    return not _has_own_number()


_marks = None


def marks():
    """Those of this process, or None where podprof's library is not in it."""
    global _marks
    if _marks is None:
        shim, api = _library.shim(), _library.api()
        if shim is not None and api is not None:
            _marks = Marks(shim, api)
    return _marks

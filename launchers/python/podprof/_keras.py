"""The adapter for Keras: batches of fit() are steps, those of validation and predict() are not. In: calls of CallbackList, on every backend
and on the thread of the loop. Out: marks and ranges. A Callback of ours would change when those of the program run. Called by _hook.py."""
import atexit
import functools
import os

from ._library import INPUT, OTHER
from ._marks import LOOP, marks

TRAINS, PREDICTS, TESTS = "keras: fit", "keras: predict", "keras: evaluate"
MANY = 16  # batches of predict() held where no fit() was: one may follow


class Loop:
    def __init__(self, found):
        self.marks, self.shim, self.api = found, found.shim, found.api
        self.wanted = 0  # tick of the request for the batch to come
        self.is_fitting = self.has_fitted = False
        self.waits = self.tests = False  # a range is open
        self.has_begun = False  # a batch, which has not ended
        self.is_ahead = False  # its step has begun already
        self.held, self.rule = [], None  # [begin, end] of batches without fit()
        asked = os.environ.get("PODPROF_STEPS", "").partition(":")[0]
        self.limit = max(2, min(int(asked) - 1, MANY)) if asked.isdigit() else MANY

    def push(self, name, category):
        if self.api.recording():
            self.api.range_push(name, category)
            return True
        return False

    def wants(self):
        """The batch before is over, and the next one is requested."""
        self.wanted = self.shim.now()
        self.waits = self.push(b"keras: next batch", INPUT)

    def has_come(self):
        if self.waits:
            self.waits = False
            self.api.range_pop()

    def over(self):
        """No batch follows. What comes now, a validation or the callbacks of the epoch, is in no step."""
        self.has_come()
        if self.is_fitting and self.has_begun:
            self.has_begun, self.is_ahead = False, True  # there was no such batch: an input of unknown length has ended
        elif self.is_fitting and not self.is_ahead:
            self.marks.end(self.wanted)

    def train_begins(self, _):
        if self.has_begun:  # a fit() that raised
            self.has_begun = False
            self.marks.end()
        if self.marks.takes(LOOP):
            self.is_fitting = self.has_fitted = True
            self.held = []

    def batch_begins(self, _):
        if self.is_fitting:
            if not self.is_ahead:
                self.marks.begin(LOOP, TRAINS, self.wanted)
            self.has_begun, self.is_ahead = True, False

    def epoch_begins(self, _):
        if self.is_fitting:
            self.wants()

    def batch_ends(self, _):
        if self.is_fitting:
            self.has_begun = False
            self.wants()

    def epoch_ends(self, _):
        self.over()

    def train_ends(self, _):
        self.over()
        self.is_fitting = False

    def test_begins(self, _):
        self.over()
        if self.marks.allows():
            self.tests = self.push(b"keras: evaluate", OTHER)

    def test_ends(self, _):
        if self.tests:
            self.tests = False
            self.api.range_pop()
        self.rests()

    def tests_batch(self, _):
        if not self.is_fitting:
            self.holds(TESTS)

    def predicts_batch(self, _):
        if not self.is_fitting:
            self.holds(PREDICTS)

    def holds(self, rule):
        """A batch of a program that has not trained begins; it may train later."""
        if self.has_fitted or not self.marks.takes(LOOP):
            return
        tick = self.shim.now()
        if self.held is None:
            self.marks.begin(LOOP, rule, tick)
            return
        self.rule = rule
        self.held.append([tick, 0])
        if rule == PREDICTS and len(self.held) > self.limit:
            self.go_live()

    def rests(self, _=None):
        """The end of evaluate() or predict()."""
        if self.held:
            self.held[-1][1] = self.shim.now()
        elif self.held is None and not self.is_fitting:
            self.marks.end()

    def go_live(self):
        held, self.held = self.held, None
        for begin, end in held:
            self.marks.begin(LOOP, self.rule, begin)
            if end:
                self.marks.end(end)

    def finish(self):
        if self.held and not self.has_fitted:
            self.go_live()


def _wrap(found, cls, name, before=None, after=None):
    method = getattr(cls, name, None)
    if method is None:
        raise AttributeError("CallbackList has no %s" % name)
    before, after = before and found.guard(before), after and found.guard(after)

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        if before is not None:
            before(self)
        result = method(self, *args, **kwargs)
        if after is not None:
            after(self)
        return result

    setattr(cls, name, wrapped)


class _Batches:
    """An iterator of batches, and a range around each request."""

    def __init__(self, batches, loop):
        self._batches, self._loop = batches, loop

    def __iter__(self):
        return self

    def __next__(self):
        pushed = self._loop.push(b"keras: next batch", INPUT)
        try:
            return next(self._batches)
        finally:
            if pushed:
                self._loop.api.range_pop()


def _time_batches(loop, cls):
    """On JAX the batch is requested inside of the step's function."""
    enumerates = cls._enumerate_iterator

    @functools.wraps(enumerates)
    def _enumerate_iterator(self):
        for begin, end, batches in enumerates(self):
            yield begin, end, _Batches(batches, loop)

    cls._enumerate_iterator = _enumerate_iterator


_loop = None


def install(module):
    """Right after the import of the module with CallbackList, and of the one with the loop on JAX."""
    global _loop
    found = marks()
    if found is None:
        return
    if _loop is None:
        _loop = Loop(found)
        atexit.register(found.guard(_loop.finish))
    if hasattr(module, "JAXEpochIterator"):
        _time_batches(_loop, module.JAXEpochIterator)
    else:
        _wrap_all(found, _loop, module.CallbackList)


def _wrap_all(found, loop, cls):
    wanted = lambda _: loop.has_come()  # noqa: E731
    for name, before, after in (
        ("on_train_begin", loop.train_begins, None),
        ("on_epoch_begin", None, loop.epoch_begins),
        ("on_train_batch_begin", wanted, loop.batch_begins),  # after those of the program, which may mark steps itself
        ("on_train_batch_end", None, loop.batch_ends),
        ("on_test_begin", loop.test_begins, None),
        ("on_test_batch_begin", loop.tests_batch, None),
        ("on_test_end", None, loop.test_ends),
        ("on_predict_batch_begin", loop.predicts_batch, None),
        ("on_predict_end", None, loop.rests),
        ("on_epoch_end", loop.epoch_ends, None),
        ("on_train_end", loop.train_ends, None),
    ):
        _wrap(found, cls, name, before, after)

"""The adapter for TensorFlow: calls of tf.function for _repeats.py, and the rank by TF_CONFIG. In: calls of Function. Out: as there. Called
by _hook.py after the import of the module with that class."""
import atexit
import ctypes
import functools
import json
import os
import sys
import weakref
from _thread import _local, get_ident

from . import _device_memory
from ._library import COMPILATION
from ._marks import marks
from ._repeats import Repeats


def member(text):
    """(rank, number of ranks) of TF_CONFIG: the chief, then the workers. None: not a member of such a job, or no task that trains."""
    try:
        config = json.loads(text)
        cluster, task = config.get("cluster") or {}, config.get("task") or {}
        chiefs = len(cluster.get("chief") or cluster.get("master") or ())
        workers, kind, index = len(cluster.get("worker") or ()), task.get("type"), int(task.get("index", 0))
    except (ValueError, TypeError, AttributeError):
        return None
    rank = index if kind in ("chief", "master") else chiefs + index if kind == "worker" else -1
    return (rank, chiefs + workers) if 0 <= rank < chiefs + workers else None


class TensorFlow:
    def __init__(self, found):
        self.marks, self.shim, self.api = found, found.shim, found.api
        self.repeats = Repeats(found, "tensorflow: ", _main_thread)
        self.repeats.unsure = self.repeats.sure
        self.depth = _local()
        self.functions = weakref.WeakKeyDictionary()
        self.has_asked = False
        self.size, self.group = 1, 0

    def joins(self):
        """Once, at the first call: a program may set TF_CONFIG itself."""
        self.has_asked = True
        found = member(os.environ.get("TF_CONFIG", ""))
        if found is not None and found[1] > 1:
            self.size = found[1]
            self.marks.joins(*found)

    def begins(self):
        if not self.has_asked:
            self.joins()
        return self.shim.now() if self.marks.allows() else 0

    def returned(self, function, begin):
        end, here = self.shim.now(), get_ident()
        known = self.functions.get(function)
        if known is None:
            known = self.functions[function] = self.repeats.new(_name_of(function), here)
            self.repeats.called(known, begin, end)
        elif known.thread == here:
            if self.size > 1 and known is self.repeats.step:
                self.executed(known.calls, begin, end)
            # The mean of its calls, but for the first, which traces. Ranks may choose different functions of one iteration.
            known.work += (end - begin - known.work) / known.calls
            self.repeats.called(known, begin, end)


    def executed(self, number, begin, end):
        """The step of a job of several workers: all of them take part in it, and it ends when they have."""
        if not self.api.recording():
            self.group = 0
            return
        if not self.group or self.shim.is_edge(self.marks.number):
            self.group = self.shim.group(b"tensorflow: all workers", self.size, (ctypes.c_int32 * self.size)(*range(self.size)))
        self.shim.execution(self.group, number, begin, number)
        self.shim.waited(begin, end, number, number)


def _name_of(function):
    return getattr(function, "_name", None) or getattr(getattr(function, "python_function", None), "__name__", None) or "function"


def _main_thread():
    threading = sys.modules.get("threading")
    return threading.main_thread().ident if threading else get_ident()


_adapter = None


def is_alone():
    return _adapter is None or _adapter.size < 2


def uses():
    """Does the program call functions of TensorFlow?"""
    return _adapter is not None and len(_adapter.functions)


def install(module):
    """Right after the import of the module with Function."""
    global _adapter
    found, cls = marks(), module.Function
    if found is None or _adapter is not None:
        return
    _adapter = a = TensorFlow(found)
    call, depth = cls.__call__, a.depth
    begins, returned = found.guard(a.begins), found.guard(a.returned)
    depth.n = 0

    @functools.wraps(call)
    def __call__(self, *args, **kwds):
        if getattr(depth, "n", 0) or found.is_dead:
            return call(self, *args, **kwds)
        begin = begins()
        depth.n = 1
        try:
            result = call(self, *args, **kwds)
        finally:
            depth.n = 0
        if begin:
            returned(self, begin)
        return result

    cls.__call__ = __call__
    _wrap_tracing(a, cls)
    _device_memory.watch_tensorflow(found, uses)
    atexit.register(found.guard(a.repeats.finish))


def _wrap_tracing(a, cls):
    """The first call of a function makes its graph."""
    initialize = getattr(cls, "_initialize", None)
    if initialize is None:
        a.marks.say("this release of TensorFlow is not as podprof knows it: tracing is not recorded")
        return

    @functools.wraps(initialize)
    def _initialize(self, *args, **kwargs):
        pushed = False
        try:
            if a.marks.allows() and a.api.recording():
                a.api.range_push(("tensorflow: trace " + _name_of(self)).encode("utf-8", "replace"), COMPILATION)
                pushed = True
        except Exception as error:
            a.marks.failed(error)
        try:
            return initialize(self, *args, **kwargs)
        finally:
            if pushed:
                a.api.range_pop()

    cls._initialize = _initialize

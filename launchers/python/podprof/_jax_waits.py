"""What a JAX program waits for: ranges around the calls that block until results are there and, in a job of several processes, each execution of
the step's function as an operation of all of them: begun when it was dispatched, complete when a wait has seen its result. In: calls from
_jax.py and of wrapped methods of arrays. Out: ranges and shim.execution(), shim.waited(). Only while something is recorded."""
import ctypes
import functools
import sys
import weakref
from _thread import get_ident

from ._library import DEVICE_COMPUTE, HOST_COMPUTE

_LEAST, _PART = 250000, 64  # a call takes up to 0.1 ms (in ticks, of any clock) or this part of a step to return
_MOST = 4096  # executions that no wait has seen complete


class Waits:
    def __init__(self, a):
        self.a, self.shim, self.api, self.marks = a, a.shim, a.api, a.marks
        self.state = sys.modules["jax._src.distributed"].global_state
        self.sequence = 0  # of the step's executions: equal on all ranks
        self.group = self.before = 0
        self.pending = []  # request, an array of its results
        self.inside = False
        self.category = None

    def size(self):
        return self.state.num_processes or 1

    def dispatched(self, result, tick, before):
        """The step's function has returned; its result may not be there yet."""
        number, self.sequence = self.sequence, self.sequence + 1
        period, self.before = tick - self.before if self.before else 0, tick
        if self.size() < 2 or not self.api.recording():
            self.group = 0
            self.pending.clear()
            return
        arrays = [x for x in self.a.leaves_of(result) if isinstance(x, self.a.is_array)]
        if not arrays or arrays[-1].is_fully_addressable:
            return
        if not self.group or self.shim.is_edge(self.marks.number):
            self.group = self.shim.group(b"jax: all processes", self.size(), (ctypes.c_int32 * self.size())(*range(self.size())))
        request = number % 0x7FFFFFFF + 1
        self.shim.execution(self.group, number & 0xFFFFFFFF, self.began(tick, before, period), request)
        self.pending.append((request, weakref.ref(arrays[-1])))
        if len(self.pending) > _MOST:
            del self.pending[: _MOST // 2]

    @staticmethod
    def began(tick, before, period):
        """JAX tells when the call has returned. The execution began before that, and may be complete on another rank by then."""
        return tick - min(max(_LEAST, period // _PART), (tick - before) // 2) if before else tick

    def blocks(self, function, *args, **kwargs):
        """Calls function, which may wait."""
        try:
            begin = self.begins()
        except Exception as error:
            begin = self.marks.failed(error)
        if not begin:
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            self.ends(begin)

    def begins(self):
        if self.inside or not self.api.recording() or self.marks.thread not in (0, get_ident()) or not self.marks.allows():
            return 0
        if self.category is None:
            self.category = HOST_COMPUTE if self.a.jax.default_backend() == "cpu" else DEVICE_COMPUTE
        self.inside = True
        self.api.range_push(b"jax: wait for results", self.category)
        return self.shim.now()

    def ends(self, begin):
        try:
            done = self.done() if self.pending else 0
            if done:
                requests = [request for request, _ in self.pending[:done]]
                del self.pending[:done]
                self.shim.waited(begin, self.shim.now(), requests[0], requests[-1])
        except Exception as error:
            self.marks.failed(error)
        self.api.range_pop()
        self.inside = False

    def done(self):
        """How many of the executions are complete: they are so in order."""
        for i in range(len(self.pending) - 1, -1, -1):
            array = self.pending[i][1]()
            try:
                if array is not None and array.is_ready():
                    return i + 1
            except Exception:
                continue  # it was given away to a later one
        return 0


def wrap(a):
    waits = a.waits = Waits(a)
    api, cls, blocks = sys.modules["jax._src.api"], a.is_array, waits.blocks

    def method(name):
        call = getattr(cls, name)

        def waiting(self, *args, **kwargs):
            return blocks(call, self, *args, **kwargs)

        waiting.__name__, waiting.__doc__ = name, call.__doc__
        setattr(cls, name, waiting)

    for name in ("block_until_ready", "item"):
        method(name)
    value = cls._value
    cls._value = property(lambda self: blocks(value.fget, self))
    ready = api.block_until_ready

    @functools.wraps(ready)
    def block_until_ready(x):
        return blocks(ready, x)

    if getattr(a.jax, "block_until_ready", None) is ready:
        a.jax.block_until_ready = block_until_ready

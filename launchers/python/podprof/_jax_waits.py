"""What a JAX program waits for: ranges around the calls that block until results are there and, in a job of several processes, each execution of
the step's function as an operation of all of them: begun when it was dispatched, complete when a wait has seen its result. In: calls from
_jax.py and of wrapped methods of arrays. Out: ranges and shim.execution(), shim.waited(). Only while something is recorded."""
import ctypes
import functools
import itertools
import sys
import weakref
from _thread import get_ident

from ._library import DEVICE_COMPUTE, HOST_COMPUTE
from ._repeats import UNSURE

_LEAST, _PART = 250000, 64  # a call takes up to 0.1 ms (in ticks, of any clock) or this part of a step to return
_PLACING = (
    "device_put",
    "make_array_from_process_local_data",
    "make_array_from_callback",
    "make_array_from_single_device_arrays",
    "host_local_array_to_global_array",  # of pmap
)
_MOST = 4096  # executions that no wait has seen complete


class Waits:
    def __init__(self, a):
        self.a, self.shim, self.api, self.marks = a, a.shim, a.api, a.marks
        self.state = sys.modules["jax._src.distributed"].global_state
        self.held = {}  # function: its calls, before the step's is known: [number, tick of begin, array of its results, wait that saw it]
        self.group = self.before = 0
        self.first = self.next = 0  # sequence of the call with number 0, of the next one; equal on all ranks
        self.pending = []  # request, an array of its results
        self.inside = False
        self.category = None
        self.placed = 0  # tick at which data was last placed

    def size(self):
        return self.state.num_processes or 1

    def begun(self, result, tick, before):
        """The step's function has returned; its result may not be there yet: (one array of it, tick at which its execution began, is it complete?).
        On CPUs, XLA runs a small function in the call itself, whose begin JAX does not tell: it is behind the last placing of data. None: the
        result is of this process only."""
        placed, self.placed = self.placed, 0
        period, self.before = tick - self.before if self.before else 0, tick
        arrays = [x for x in self.a.leaves_of(result) if isinstance(x, self.a.is_array)]
        if not arrays or arrays[-1].is_fully_addressable:
            return None
        inline = placed > before and arrays[-1].is_ready() and self.kind() == HOST_COMPUTE
        return arrays[-1], placed if inline else self.began(tick, before, period), inline

    def dispatched(self, number, result, tick, before):
        """The step's function has been called; the number is equal on all ranks."""
        if self.size() < 2 or not self.api.recording():
            self.group = 0
            self.pending.clear()
            return
        found = self.begun(result, tick, before)
        if not found:
            return
        array, begin, inline = found
        self.pending.append((self.executed(number, begin), weakref.ref(array)))
        if inline:
            self.complete(begin, tick)
        if len(self.pending) > _MOST:
            del self.pending[: _MOST // 2]

    def executed(self, number, begin):
        if not self.group or self.shim.is_edge(self.marks.number):
            self.group = self.shim.group(b"jax: all processes", self.size(), (ctypes.c_int32 * self.size())(*range(self.size())))
        sequence = self.first + number
        self.next = sequence + 1
        request = sequence % 0x7FFFFFFF + 1
        self.shim.execution(self.group, sequence & 0xFFFFFFFF, begin, request)
        return request

    def hold(self, function, result, tick, before):
        """A call of what may be the step's function, before that is known."""
        if self.size() < 2:
            return
        held = self.held.setdefault(function, [])
        if len(held) > UNSURE:
            return
        found = self.begun(result, tick, before)
        if found:
            array, begin, inline = found
            held.append([function.calls, begin, weakref.ref(array), (begin, tick) if inline else None])

    def chosen(self, function):
        """It is the step's."""
        held = self.held.pop(function, [])
        self.held.clear()
        self.first = self.next - (held[0][0] if held else function.calls)
        if not self.api.recording():
            return
        requests = [(self.executed(number, begin), array, wait) for number, begin, array, wait in held]
        self.pending += [(request, array) for request, array, wait in requests if not wait]
        for wait, some in itertools.groupby((r for r in requests if r[2]), lambda r: r[2]):
            some = list(some)
            self.shim.waited(*wait, some[0][0], some[-1][0])

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
        self.inside = True
        self.api.range_push(b"jax: wait for results", self.kind())
        return self.shim.now()

    def kind(self):
        if self.category is None:
            self.category = HOST_COMPUTE if self.a.jax.default_backend() == "cpu" else DEVICE_COMPUTE
        return self.category

    def complete(self, begin, end):
        """A wait of these ticks has seen the first executions complete."""
        for held in self.held.values():
            for one in held[: self.done([one[2] for one in held])]:
                one[3] = one[3] or (begin, end)
        done = self.done([array for _, array in self.pending])
        if done:
            requests = [request for request, _ in self.pending[:done]]
            del self.pending[:done]
            self.shim.waited(begin, end, requests[0], requests[-1])

    def ends(self, begin):
        try:
            self.complete(begin, self.shim.now())
        except Exception as error:
            self.marks.failed(error)
        self.api.range_pop()
        self.inside = False

    @staticmethod
    def done(arrays):
        """How many of the executions are complete: they are so in order."""
        for i in range(len(arrays) - 1, -1, -1):
            array = arrays[i]()
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

    def placing(call):
        @functools.wraps(call)
        def place(*args, **kwargs):
            result = call(*args, **kwargs)
            if waits.api.recording() and waits.marks.thread in (0, get_ident()):
                waits.placed = waits.shim.now()
            return result

        return place

    for module in filter(None, (api, sys.modules["jax._src.array"], sys.modules.get("jax._src.pmap"))):
        for name in _PLACING:
            call = getattr(module, name, None)
            if call is not None:
                setattr(module, name, placing(call))
                if getattr(a.jax, name, None) is call:
                    setattr(a.jax, name, getattr(module, name))
    value = cls._value
    cls._value = property(lambda self: blocks(value.fget, self))
    ready = api.block_until_ready

    @functools.wraps(ready)
    def block_until_ready(x):
        return blocks(ready, x)

    if getattr(a.jax, "block_until_ready", None) is ready:
        a.jax.block_until_ready = block_until_ready

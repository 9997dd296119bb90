"""Functions, generators and iterators of the program that make a batch on the training thread. In: calls that the frame of the training
loop makes between the end of a backward pass or of an optimizer's step and the next call of a model; the interpreter reports them to
libpodprof, which passes on these only. Out: a range of each that makes input. Called by _torch.py.

A call makes input if it returns data that needs no gradient, and an iterator was asked for its next item, or it read data, or the model
gets what it returned. It makes none if it waited for a thread or process that is no source of data. Calls of Python's own library, such as
Queue.get(), are seen by _input_waits.py."""
import ctypes
import importlib
import sys
from _thread import get_ident

from . import _input_waits
from ._data_sources import COMPUTING, NEITHER, READING, add_read, effort, mostly, reads_here
from ._library import INPUT

_CALL, _RETURN = 0, 3  # PyTrace_CALL, PyTrace_RETURN
_GENERATOR = 0x20  # CO_GENERATOR
_MOST_ITEMS, _MOST_DEPTH = 64, 3  # of a returned container
_MOST_NAMES = 1000
_MADE = {NEITHER: b"input: ", READING: b"read: ", COMPUTING: b"preprocess: "}


class Calls:
    """adapter: has torch, phases, steps, failed()."""

    def __init__(self, adapter, shim):
        self.adapter, self.torch, self.shim = adapter, adapter.torch, shim
        self.waits = _input_waits.Waits(adapter, shim)
        self.read = add_read
        self.numpy = None
        self.loop = None  # (id, code) of the frame of the training loop
        self.marked = False
        self.is_on = False
        self.open = None  # the call that runs: (frame's id, the thread's effort, what it had read, its unknown waits)
        self.waiting = []  # calls that returned data: whether a model gets it is not known yet
        self.wants_forward = False
        self.names = {}
        self.callback = self._called
        module = importlib.import_module("torch.nn.modules.module").Module
        self.model_codes = {module.__call__.__code__, module._call_impl.__code__}
        self.function = None
        if (3, 9) <= sys.version_info < (3, 12):  # later ones would instrument all code anew at each change
            self.function = shim.python_calls()

    def install(self, adapter):
        _input_waits.install(self.waits)

    # Where the training loop is

    def optimizer_begins(self):
        """Twice: a frame that is there both times runs the loop, the innermost of them. A mark that tracing looks at tells a frame from a
        new one at the same place."""
        if not self.function or sys.gettrace() is not None:
            return
        frame = sys._getframe(1)
        if self.loop is not None:
            if _has(frame, self.loop):
                return
            self.loop = None
        if self.marked:
            first, self.marked = frame, False
            while frame is not None and frame.f_trace_lines:
                frame = frame.f_back
            if frame is not None:
                self.loop = id(frame), frame.f_code
            while first is not None:
                first.f_trace_lines, first = True, first.f_back
            return
        while frame is not None:
            frame.f_trace_lines, frame = False, frame.f_back
        self.marked = True

    # Where batches are made

    def begin(self):
        """A backward pass or an optimizer's step is over."""
        self.open, self.wants_forward = None, False
        self.waiting.clear()
        if self.loop is not None and not self.is_on and self.adapter.phases.period and self.adapter.steps.thread == get_ident():
            self._set(True)

    def end(self):
        """What runs now makes no batch."""
        if self.is_on:
            self._set(False)

    def pauses(self):
        """A loader has a range of its own."""
        self.waits.inside += 1
        was = self.is_on
        if was:
            self._set(False)
        return was

    def goes_on(self, was):
        self.waits.inside -= 1
        if was:
            self._set(True)

    def _set(self, on):
        if on:
            if sys.getprofile() is not None:
                return  # the program's
            codes = [id(code) for code in self.model_codes]
            self.shim.python_loop(self.loop[0], codes[0], codes[-1])
            _PROFILE(self.function, self.callback)
        elif sys.getprofile() is self.callback:
            _PROFILE(None, None)
        self.is_on = on

    def _called(self, frame, what, result):
        """From libpodprof: of the training loop's calls begin and end, of a model's its begin."""
        try:
            if what == _CALL:
                if frame.f_code in self.model_codes:
                    self._model(frame.f_locals)
                else:
                    self.open = id(frame), effort(self.shim), reads_here(self.shim), self.waits.unknown
            elif self.open is not None and self.open[0] == id(frame):
                self._returned(frame.f_code, result)
        except Exception as error:
            self.end()
            self.adapter.failed(error)

    def _returned(self, code, result):
        _, begin, read, unknown = self.open
        self.open = None
        data = []
        if unknown == self.waits.unknown and not self.waits.is_own(code):
            self._find(result, data, 0)
        if data and not any(getattr(one, "requires_grad", False) for one in data):
            now = effort(self.shim)
            call = _MADE[mostly(begin, now)] + self._name(code), begin[1], now[1]
            if code.co_flags & _GENERATOR or code.co_name == "__next__" or reads_here(self.shim) != read:
                self._put(call)
            else:
                self.waiting.append((call, data))
        if self.wants_forward:
            self.wants_forward = False
            self.adapter.phases.forward_begins()

    def _model(self, arguments):
        """One without parameters transforms data, or is a loss."""
        module = arguments.get("self")
        if not isinstance(module, self.torch.nn.Module) or next(module.parameters(), None) is None:
            return
        if self.waiting:
            got = []
            self._find([arguments.get("args"), arguments.get("kwargs")], got, -1)
            places = {self._place(one) for one in got}
            for call, data in self.waiting:
                if any(self._place(one) in places for one in data):
                    self._put(call)
        self.waiting.clear()
        self.open = None  # the loop's call runs a model
        self.end()

    def _put(self, call):
        self.shim.range(call[0], INPUT, call[1], call[2])

    def _find(self, value, data, depth):
        """Tensors and arrays in what a call returned."""
        if self.numpy is None:
            self.numpy = sys.modules.get("numpy")
        if isinstance(value, self.torch.Tensor) or self.numpy is not None and isinstance(value, self.numpy.ndarray):
            data.append(value)
        elif depth < _MOST_DEPTH and len(data) < _MOST_ITEMS:
            if isinstance(value, (list, tuple)):
                for one in value[:_MOST_ITEMS]:
                    self._find(one, data, depth + 1)
            elif isinstance(getattr(value, "data", value), dict):
                for one in list(getattr(value, "data", value).values())[:_MOST_ITEMS]:
                    self._find(one, data, depth + 1)

    def _place(self, data):
        """The memory that it is, or that it is a view of."""
        if isinstance(data, self.torch.Tensor):
            return data.untyped_storage().data_ptr() or id(data)
        return data.__array_interface__["data"][0]

    def _name(self, code):
        found = self.names.get(code)
        if found is None:
            found = getattr(code, "co_qualname", code.co_name).encode("utf-8", "replace")
            if len(self.names) < _MOST_NAMES:
                self.names[code] = found
        return found


def _has(frame, loop):
    while frame is not None:
        if id(frame) == loop[0]:
            return frame.f_code is loop[1]
        frame = frame.f_back
    return False


_PROFILE = ctypes.pythonapi.PyEval_SetProfile
_PROFILE.restype, _PROFILE.argtypes = None, (ctypes.c_void_p, ctypes.py_object)

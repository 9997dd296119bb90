"""Calls of Python's functions on the training thread, in steps whose level has them. In: the state after each mark. Out: C functions of
the library as callbacks of sys.monitoring (from Python 3.12 on) or as the thread's profiler. What the program has installed of these
itself goes on working; where it leaves no room, calls are not recorded, and podprof says so. Called by _torch.py, _marks.py and the
module podprof."""
import atexit
import ctypes
import os
import sys
from _thread import get_ident

from . import _library
from ._library import PYTHON

_PROFILED = b"the program has a profiler of its own (sys.setprofile): calls of Python functions are not recorded while it is on"
_MONITORED = b"other tools have taken all numbers of sys.monitoring: calls of Python functions are not recorded"
_UNKNOWN = b"this Python has no interface for it: calls of Python functions are not recorded"
_TOOLS = 4, 3  # numbers of sys.monitoring that no tool has by custom
_FASTCALL = 0x80


class _Method(ctypes.Structure):  # PyMethodDef
    _fields_ = ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def _paths():
    """Directories of modules, longest first."""
    found = {os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)} - {os.sep}
    return b"".join(entry.encode(errors="surrogateescape") + b"\n" for entry in sorted(found, key=lambda e: (-len(e), e)))


class _Monitoring:
    """Python 3.12 and newer: a tool beside those of the program. Its events are those of all threads; C looks which one it is."""

    def __init__(self, shim):
        self.events, self.tool = sys.monitoring, None
        names = self.events.events
        self.begins = self._function(b"podprof_begin", shim.calls_on_begin), (names.PY_START, names.PY_RESUME, names.PY_THROW)
        self.ends = self._function(b"podprof_end", shim.calls_on_end), (names.PY_RETURN, names.PY_YIELD, names.PY_UNWIND)

    def _function(self, name, function):
        method = _Method(name, _address(function), _FASTCALL, None)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        self.__dict__.setdefault("methods", []).append(method)  # the function refers to it
        return make(ctypes.addressof(method), None, None)

    def on(self):
        """None, or why not."""
        for tool in _TOOLS:
            try:
                self.events.use_tool_id(tool, "podprof")
            except ValueError:
                continue
            self.tool, mask = tool, 0
            for function, events in (self.begins, self.ends):
                for event in events:
                    self.events.register_callback(tool, event, function)
                    mask |= event
            self.events.set_events(tool, mask)
            return None
        return _MONITORED

    def off(self):
        tool, self.tool = self.tool, None
        self.events.set_events(tool, 0)
        for _, events in (self.begins, self.ends):
            for event in events:
                self.events.register_callback(tool, event, None)
        self.events.free_tool_id(tool)

    def is_there(self):
        return True


class _Profiler:
    """Older ones: the profiler of this thread, of which there is one."""

    def __init__(self, shim):
        self.function = _address(shim.calls_on_profile)
        self.set = ctypes.pythonapi.PyEval_SetProfile
        self.set.restype, self.set.argtypes = None, (ctypes.c_void_p, ctypes.py_object)
        self.own = self.again  # what sys.getprofile() returns
        self.is_on = False

    def again(self, frame, event, argument):
        """The program has put back what it had found: this, as a profiler in Python."""
        if self.is_on:
            self.set(self.function, self.own)
        else:
            sys.setprofile(None)

    def on(self):
        if sys.getprofile() is not None:
            return _PROFILED
        self.is_on = True
        self.set(self.function, self.own)
        return None

    def off(self):
        self.is_on = False
        if self.is_there():
            sys.setprofile(None)

    def is_there(self):
        return sys.getprofile() is self.own


class Calls:
    def __init__(self, shim):
        self.shim, self.printed = shim, set()
        self.is_on, self.thread = False, 0
        self.how = _Monitoring(shim) if hasattr(sys, "monitoring") else _Profiler(shim)
        os.register_at_fork(after_in_child=self.off)
        atexit.register(self.off)

    def follow(self, state):
        if self.is_on and (not state & PYTHON or self.thread != get_ident() or not self.how.is_there()):
            self.off()
        if state & PYTHON and not self.is_on:
            self.on()

    def on(self):
        why = _UNKNOWN
        if not self.shim.calls_begin(_paths(), os.path.dirname(os.path.dirname(os.path.abspath(__file__))).encode() + b"/"):
            why = self.how.on()
            if why is None:
                self.is_on, self.thread = True, get_ident()
                return
            self.shim.calls_end()
        self.shim.remark(why)
        if why not in self.printed:
            self.printed.add(why)
            self.shim.say(why)

    def off(self):
        if self.is_on:
            self.is_on = False
            self.shim.calls_end()
            self.how.off()


_calls = None
_has_failed = False


def follow(state):
    """After a mark, on its thread. Nothing here raises into the program."""
    global _calls, _has_failed
    if _has_failed or _calls is None and not state & PYTHON:
        return
    try:
        if _calls is None:
            _calls = Calls(_library.shim())
        _calls.follow(state)
    except Exception as error:
        _has_failed = True
        _library.shim().say(("calls of Python functions are not recorded: %s: %s" % (type(error).__name__, error)).encode("utf-8", "replace"))

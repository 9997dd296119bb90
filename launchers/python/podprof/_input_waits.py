"""Where the training thread waits for another thread or process: queues, events, futures, semaphores, pipes. In: wrapped calls of
threading.Condition, on which these rest, and of multiprocessing's Connection. Out: a range of each wait, which is input only if the one
that ended it is a source of data. Called by _input_calls.py."""
import functools
import importlib
import os
import sys
import time
from _thread import get_ident

from ._data_sources import COMPUTING, NEITHER, NOBODY, READING, Sources, add_idle, add_taken
from ._library import BY_NAME, INPUT

_MOST_NAMES = 1000
_DATA = {NEITHER: b"prefetched data: ", READING: b"prefetched data (read): ", COMPUTING: b"prefetched data (preprocess): "}


class Waits:
    """adapter: has phases, steps, failed()."""

    def __init__(self, adapter, shim):
        self.adapter, self.shim = adapter, shim
        self.sources = Sources(shim)
        self.inside = 0  # the training thread is in a loader's __next__(), which has a range
        self.unknown = 0  # waits of the training thread for what is no source
        self.names = {}  # of codes
        self.room = importlib.import_module("queue").Queue.put.__code__
        self.library = os.path.dirname(os.__file__)

    def begins(self):
        """A tick, where a range is wanted; else 0."""
        adapter = self.adapter
        if not adapter.phases.period or self.inside or adapter.steps.thread != get_ident():
            return 0
        return self.shim.now()

    def wakes(self, condition):
        """Somebody waits for this thread. The training thread is a source for none: it only asks for work."""
        condition._podprof_by = NOBODY if self.adapter.steps.thread == get_ident() else self.sources.wakes_another()

    def woken(self, condition, began, code):
        """None: nobody has, its time was over."""
        by = condition.__dict__.pop("_podprof_by", None)
        if by is None:
            by = condition.__dict__.get("_podprof_was", NOBODY)
        else:
            condition._podprof_was = by
        self._ended(began, by if code is not self.room else NOBODY, code)

    def received(self, pipe, began, code):
        since = pipe.__dict__.pop("_podprof_since", 0)
        by = pipe._podprof_was = self.sources.receives(pipe)
        self._ended(since or began, by, code)

    def got(self, pipe, began, code):
        """With all that it took to unpack it."""
        self._ended(began, pipe.__dict__.get("_podprof_was", NOBODY), code)

    def polled(self, pipe, began, code, is_there):
        if is_there:
            pipe._podprof_since = began
        else:
            self._ended(began, pipe.__dict__.get("_podprof_was", NOBODY), code)

    def _ended(self, began, by, code):
        level, mostly = by
        if level == 2:
            add_taken()
        if began and self.adapter.phases.period:
            self.unknown += not level
            name = (_DATA[mostly] if level else b"podprof: blocked in ") + self._name(code)
            self.shim.range(name, INPUT if level else BY_NAME, began, self.shim.now())

    def is_own(self, code):
        """Python's own, not the program's or a package's."""
        return code.co_filename.startswith(self.library) and "-packages" not in code.co_filename

    def _name(self, code):
        """Of what the program has called, if it is Python's own."""
        found = self.names.get(code)
        if found is None:
            what = "a condition or a pipe"
            if self.is_own(code):
                what = code.co_filename[len(self.library) + 1 :].partition(".")[0].replace("/", ".") + "." + getattr(code, "co_qualname", code.co_name)
            found = what.encode("utf-8", "replace")
            if len(self.names) < _MOST_NAMES:
                self.names[code] = found
        return found


def install(waits):
    _wrap_conditions(waits, importlib.import_module("threading").Condition)
    module, queues = importlib.import_module("multiprocessing.connection"), importlib.import_module("multiprocessing.queues")
    _wrap_connections(waits, module)
    _wrap_whole(waits, module.Connection, "recv", lambda pipe: pipe)
    for queue in (queues.Queue, queues.SimpleQueue):
        _wrap_whole(waits, queue, "get", lambda queue: queue._reader)


def _guarded(waits, method):
    """method, whose failure ends our watching and not the job; 0 where it fails."""
    failed = waits.adapter.failed

    def guarded(*args):
        try:
            return method(*args)
        except Exception as error:
            failed(error)
            return 0

    return guarded


def _wrap_conditions(waits, condition):
    failed, wait, notify = waits.adapter.failed, condition.wait, condition.notify

    begins = _guarded(waits, waits.begins)

    def ends(which, began, since, code):
        try:
            add_idle(time.perf_counter_ns() - since)
            waits.woken(which, began, code)
        except Exception as error:
            failed(error)

    @functools.wraps(wait)
    def waited(self, timeout=None):
        began, since = begins(), time.perf_counter_ns()
        try:
            return wait(self, timeout)
        finally:
            ends(self, began, since, sys._getframe(1).f_code)

    @functools.wraps(notify)
    def notified(self, n=1):
        if self._waiters:
            try:
                waits.wakes(self)
            except Exception as error:
                failed(error)
        notify(self, n)

    condition.wait, condition.notify = waited, notified


def _wrap_whole(waits, owner, name, pipe_of):
    """A call that reads from a pipe and unpacks what it read: one range."""
    failed, plain = waits.adapter.failed, getattr(owner, name)

    begins = _guarded(waits, waits.begins)

    def ends(which, began):
        try:
            waits.got(pipe_of(which), began, plain.__code__)
        except Exception as error:
            failed(error)

    @functools.wraps(plain)
    def wrapped(self, *args, **kwargs):
        began = begins()
        if not began:
            return plain(self, *args, **kwargs)
        waits.inside += 1
        try:
            return plain(self, *args, **kwargs)
        finally:
            waits.inside -= 1
            ends(self, began)

    setattr(owner, name, wrapped)


def _wrap_connections(waits, module):
    connection, file = module.Connection, module.Connection.recv.__code__.co_filename
    failed, send, receive, poll = waits.adapter.failed, connection._send_bytes, connection._recv_bytes, connection._poll

    begins, received = _guarded(waits, waits.begins), _guarded(waits, waits.received)

    def caller():
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename == file:
            frame = frame.f_back
        return frame.f_code

    @functools.wraps(send)
    def _send_bytes(self, buf):
        if waits.sources.is_child:
            try:
                waits.sources.sends(self)
            except Exception as error:
                failed(error)
        send(self, buf)

    @functools.wraps(receive)
    def _recv_bytes(self, maxsize=None):
        began = begins()
        result = receive(self, maxsize)
        received(self, began, caller())
        return result

    @functools.wraps(poll)
    def _poll(self, timeout):
        began = begins()
        result = poll(self, timeout)
        if began:
            try:
                waits.polled(self, began, caller(), result)
            except Exception as error:
                failed(error)
        return result

    connection._send_bytes, connection._recv_bytes, connection._poll = _send_bytes, _recv_bytes, _poll

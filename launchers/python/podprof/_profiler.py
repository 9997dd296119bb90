"""The framework's own profiler while a window of steps is recorded (--framework-trace): its file goes into the spool, where the keeper joins it
to what this rank recorded. In: steps, from _marks.py and the module podprof. Out: <spool>/rank-R-PID-TICK...xspace. It is started on the
thread of the steps and stopped on one of ours. A profiler that the program starts itself ends ours first."""
import atexit
import os
import sys
import time
from _thread import allocate_lock, get_native_id, start_new_thread

from ._library import IS_RANK, RECORDING

_JAX_HOST, _TENSORFLOW_HOST = 1, 2  # level of the host's tracer that has the operators
LONGEST_S = 30.0  # of a session: the profilers hold all events, and their format ends at 2 GB
_BYTES = 128 << 20  # of a file: it lies in memory, and the keeper needs some times that
_FILES = 2  # of this rank in the spool; older ones were read
_WAIT_S = 20.0  # at exit, and before the program's own profiler begins


class Taken(Exception):
    """There can be no session of ours now."""


def _has_cupti():
    """Does podprof record devices, where there are some? CUPTI serves one."""
    return os.environ.get("PODPROF_CUPTI") != "off"


class TensorFlowSession:
    """TensorFlow's, with the methods of JAX's: its XSpace comes as a file only."""

    def __init__(self, cls, python, place):
        self.session, self.place = cls(), place
        self.session.start(place, {"host_tracer_level": _TENSORFLOW_HOST, "python_tracer_level": python, "device_tracer_level": int(not _has_cupti())})

    def stop(self):
        try:
            self.session.export_to_tb()
            for place, _, names in os.walk(self.place):
                for name in names:
                    if name.endswith(".xplane.pb"):
                        with open(os.path.join(place, name), "rb") as f:
                            return f.read()
            raise FileNotFoundError("TensorFlow wrote no XSpace")
        finally:
            for place, _, names in os.walk(self.place, topdown=False):
                for name in names:
                    os.unlink(os.path.join(place, name))
                os.rmdir(place)


class Session:
    """One session of the framework's profiler, and the thread that ends it."""

    def __init__(self, own, begins):
        self.own, self.shim = own, own.shim
        self.wanted, self.done = allocate_lock(), allocate_lock()
        self.wanted.acquire()
        self.done.acquire()
        self.begin = own.pair()
        self.part = "%s/rank-%d-%d-%d.part" % (own.spool, own.rank, os.getpid(), self.begin[0])
        os.close(os.open(self.part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        try:
            self.session = begins(self.part[:-5])
            start_new_thread(self._run, ())
        except BaseException:
            os.unlink(self.part)
            raise

    def _run(self):
        try:
            if not self.wanted.acquire(True, LONGEST_S):
                self.own.refuse("it was ended after %d s: give a window of fewer steps" % LONGEST_S)
            end = self.own.pair()
            session, self.session = self.session, None
            data = session.stop()
            if len(data) > _BYTES:
                raise MemoryError("its file has %d MB" % (len(data) >> 20))
            with open(self.part, "wb") as f:
                f.write(data)
            os.rename(self.part, "%s-%d-%d-%d-%d.xspace" % (self.part[:-5], self.begin[1], end[0], end[1], max(self.begin[2], end[2])))
        except BaseException as error:
            self.fail("%s: %s" % (type(error).__name__, error))
        finally:
            self.done.release()

    def fail(self, why):
        """The keeper says it: nothing may be recorded any more."""
        try:
            with open(self.part, "w") as f:
                f.write(why)
            os.rename(self.part, self.part[:-4] + "failed")
        except OSError:
            pass

    def end(self):
        """Asks for the end; the file comes later."""
        if self.wanted.locked():
            self.wanted.release()

    def join(self, seconds):
        if not self.done.acquire(True, seconds):
            return False
        self.done.release()
        return True


class Profiler:
    """When there is a session."""

    def __init__(self, marks, python):
        self.marks, self.shim, self.python = marks, marks.shim, python
        self.ways = []  # of frameworks: does the program use it, begin a session
        self.session, self.leaked = None, []
        self.was_off = bool(os.environ.get("PODPROF_STEPS"))
        self.is_recording = self.is_dead = False
        self.reasons = set()
        self.spool, self.rank, self.files = "", 0, []
        os.register_at_fork(after_in_child=self._forked)
        atexit.register(marks.guard(self.finish))

    def _forked(self):
        """The parent's session goes on there; ours must not end it."""
        if self.session is not None:
            self.leaked.append(self.session)
        self.session, self.is_recording, self.files = None, False, []

    def pair(self):
        """Now by both clocks, and half the time between two ticks around it: the narrowest of several."""
        now, best = self.shim.now, None
        for _ in range(16):
            a = now()
            ns = time.time_ns()
            b = now()
            if best is None or b - a < best[2]:
                best = a + (b - a) // 2, ns, b - a
        return best

    def follow(self, state):
        """After a mark: recording is on or off."""
        is_recording = bool(state & RECORDING)
        self.was_off |= not is_recording
        if is_recording == self.is_recording or self.is_dead or not state & IS_RANK:
            return
        self.is_recording = is_recording
        try:
            if not is_recording:
                if self.session is not None:
                    self.session.end()
            elif self.was_off:
                self.begin()
            else:
                self.refuse("it needs a window: --steps, or podprof capture")
        except Exception as error:
            self.refuse("%s: %s" % (type(error).__name__, error))

    def begin(self):
        if self.session is not None and not self.session.join(0):
            return self.refuse("its last session had not ended yet")
        self.session = None
        begins = next((begins for uses, begins in self.ways if uses()), None)
        if begins is None:
            return
        self.spool, self.rank = self.shim.spool().decode(), self.shim.rank()
        self.forget()
        try:
            self.session = Session(self, begins)
        except Taken as why:
            self.refuse(str(why))

    def forget(self):
        """Removes files that the keeper has read, or never will."""
        mine = "rank-%d-%d-" % (self.rank, os.getpid())
        files = sorted((n for n in os.listdir(self.spool) if n.startswith(mine) and n.endswith(".xspace")), key=lambda n: int(n.split("-")[3]))
        for name in files[: 1 - _FILES] if _FILES > 1 else files:
            os.unlink(os.path.join(self.spool, name))

    def yields(self):
        """The program begins a profiler of its own: ours ends first, and its file is complete up to here."""
        session = self.session
        if session is None or session.join(0):
            return
        session.end()
        if session.join(_WAIT_S):
            self.refuse("the program began its own profiler in the window")

    def refuse(self, why):
        if why not in self.reasons:
            self.reasons.add(why)
            self.marks.say("--framework-trace: %s" % why)

    def finish(self):
        self.is_dead = True
        if self.session is not None:
            self.session.end()
            self.session.join(_WAIT_S)


_profiler = None


def profiler(marks):
    """The one of this process; None where none is wanted."""
    global _profiler
    if _profiler is None and os.environ.get("PODPROF_FRAMEWORK_TRACE") == "yes":
        _profiler = Profiler(marks, int(os.environ.get("PODPROF_LEVEL", "").startswith("python")))
    return _profiler


def follow():
    """The module podprof calls it after a mark of the program, or after it has opened or closed a window."""
    if _profiler is not None:
        _profiler.follow(_profiler.shim.state())


def _name_thread(annotation):
    """Files number threads as they like: an event says which one is that of the steps. framework_trace.c takes it out."""
    with annotation("podprof: thread %d" % get_native_id()):
        pass


def wrap_jax(marks, jax, uses):
    """JAX's class of sessions, and its server: what the program begins comes before ours. uses(): the program runs functions of JAX."""
    own = profiler(marks)
    if own is None:
        return
    module = getattr(sys.modules["jax._src.lib"], "_profiler", None) or sys.modules["jax._src.lib"].xla_client.profiler
    theirs = _wrap(own, module)

    def begins(_):
        if module.TraceMe.is_enabled():
            raise Taken("the program's own profiler is on")
        if _has_cupti() and jax.default_backend() in ("gpu", "cuda"):  # XLA's would take podprof's CUPTI away
            raise Taken("podprof records this device itself. With --cupti off, JAX's profiler does")
        options = module.ProfileOptions()
        options.host_tracer_level, options.python_tracer_level = _JAX_HOST, own.python
        session = theirs(options)
        _name_thread(module.TraceMe)
        return session

    own.ways.insert(0, (uses, begins))


def install(module):
    """Right after the import of TensorFlow's module with the functions to profile."""
    from ._marks import marks
    from ._tensorflow import is_alone, uses

    found = marks()
    own = found and profiler(found)
    if own is None:
        return
    theirs = _wrap(own, module._pywrap_profiler)

    def begins(place):
        if not is_alone():
            raise Taken("TensorFlow's profiler is not used in a job of several workers: in some of them a worker crashed")
        try:
            session = TensorFlowSession(theirs, own.python, place)
        except Exception as error:
            raise Taken("the program's own profiler is on") if type(error).__name__ == "AlreadyExistsError" else error
        _name_thread(sys.modules["tensorflow.python.profiler.trace"].Trace)
        return session

    own.ways.append((uses, begins))


def _wrap(own, module):
    begins, serves = module.ProfilerSession, module.start_server

    def ProfilerSession(*args, **kwargs):
        own.yields()
        return begins(*args, **kwargs)

    def start_server(*args, **kwargs):
        own.yields()
        own.ways = []
        own.refuse("the program has started a profiler server of its own")
        return serves(*args, **kwargs)

    module.ProfilerSession, module.start_server = ProfilerSession, start_server
    return begins

"""Who reads data: threads of this process, and forked processes behind pipes. In: batches of a loader, items of a mapped file, and what
libpodprof counts of file reads. Out: whether the one that wakes another thread is a source of data. Called by _input_waits.py and _hook.py."""
import functools
import mmap
import os
import time
from _thread import get_ident

_WAKES, _AT_LEAST = 16, 2  # of its last wakes a source has read before so many: it may read for several items at once
_SLOTS = 512  # pipes at a time

# What took most of the time in which data were made.
NEITHER, READING, COMPUTING = range(3)
NOBODY = 0, NEITHER

counts = {}  # by thread: what Python has seen it read
_taken = {}  # by thread: what it has got from those that read
_idle = {}  # by thread


def _add(to, value=1):
    here = get_ident()
    to[here] = to.get(here, 0) + value


def add_read():
    """This thread has read data."""
    _add(counts)


def add_taken():
    """It has got some from a thread or process that reads itself. What is passed on again counts no more: two threads that wake each
    other in turn would remain sources for ever."""
    _add(_taken)


def add_idle(ns):
    """It waited for another thread."""
    _add(_idle, ns)


def reads_here(shim):
    """Changes when this thread reads data, or gets some."""
    here = get_ident()
    return counts.get(here, 0) + _taken.get(here, 0) + shim.file_reads()


def effort(shim, of_all=False):
    """Of this thread so far, or of this process: now, ns and ticks, ns on a core, ticks in reads of files, blocks from storage, sleeps, ns
    in which it waited for others."""
    import resource  # not at the start: this file is imported with numpy

    if of_all:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return time.perf_counter_ns(), shim.now(), time.process_time_ns(), shim.file_read_ticks_of_all(), used.ru_inblock, used.ru_nvcsw, 0
    used = resource.getrusage(resource.RUSAGE_THREAD)
    idle = _idle.get(get_ident(), 0)
    return time.perf_counter_ns(), shim.now(), time.thread_time_ns(), shim.file_read_ticks(), used.ru_inblock, used.ru_nvcsw, idle


def mostly(before, after):
    """What took most of the time between two efforts. Who never slept only lacked a core."""
    ns, ticks, core, reading, blocks, sleeps, idle = (b - a for a, b in zip(before, after))
    busy = max(ns - idle, 0)
    if 2 * reading * ns >= busy * ticks:
        return READING
    if 2 * core >= busy or not sleeps:
        return COMPUTING
    return READING if blocks else NEITHER


class Wakes:
    """Of one thread or pipe."""

    def __init__(self):
        self.seen = self.effort = None
        self.past = []

    def spent_on(self, now):
        """What took most of the time since the wake before."""
        before, self.effort = self.effort, now
        return mostly(before, now) if before else NEITHER

    def reads(self, seen):
        """At a wake: `seen` counts what the one that wakes has read so far. What it did before its first wake does not count: a thread
        may read its parameters at its start."""
        if self.seen is not None and seen >= self.seen:  # else another thread has its number now
            self.past.append(seen > self.seen)
            if len(self.past) > _WAKES:
                del self.past[0]
        self.seen = seen
        return sum(self.past) >= _AT_LEAST


class Sources:
    def __init__(self, shim):
        self.shim = shim
        self.own, self.passed = {}, {}  # wakes
        self.page = memoryview(mmap.mmap(-1, _SLOTS * 24)).cast("Q")  # by pipe: its inode, what the process behind it has read, and mostly did
        self.is_child = False
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self):
        self.is_child = True
        counts.clear()

    def wakes_another(self):
        """This thread does. What it is: 2: it reads data; 1: it passes on what others read; 0: neither. And what it did mostly."""
        here = get_ident()
        passes, own = _of(self.passed, here).reads(_taken.get(here, 0)), _of(self.own, here)
        reads = own.reads(counts.get(here, 0) + self.shim.file_reads())
        return 2 if reads else int(passes), own.spent_on(effort(self.shim)) if reads else NEITHER

    def sends(self, pipe):
        """A process that was forked, into a pipe whose other end its parent may have."""
        at = _inode(pipe)
        slot = at % _SLOTS * 3
        self.page[slot + 1] = sum(counts.values()) + self.shim.file_reads_of_all()
        self.page[slot + 2] = _of(self.own, -at).spent_on(effort(self.shim, True))
        self.page[slot] = at

    def receives(self, pipe):
        """The same of the process behind the pipe: 2, or 0: it does not read, or is unknown."""
        at = _inode(pipe)
        slot = at % _SLOTS * 3
        if self.page[slot] == at and _of(self.own, -at).reads(self.page[slot + 1]):
            return 2, self.page[slot + 2]
        return NOBODY


def _of(wakes, key):
    found = wakes.get(key)
    if found is None:
        found = wakes[key] = Wakes()
    return found


def _inode(pipe):
    found = pipe.__dict__.get("_podprof_inode")
    if found is None:
        found = pipe._podprof_inode = os.fstat(pipe.fileno()).st_ino
    return found


def install(module):
    """numpy's memmap: indexing one reads a file."""
    get = module.memmap.__getitem__

    @functools.wraps(get)
    def __getitem__(self, index):
        add_read()
        return get(self, index)

    module.memmap.__getitem__ = __getitem__

"""The adapter for PyTorch: installs the hooks and decides whether this process is a rank, at the first mark. Called by _hook.py after
the import of torch. Nothing here raises into the program; a process without a rank does nothing."""
import atexit
import functools
import importlib
import os
import sys
import time
from _thread import get_ident

from . import _calls, _library, _torch_blocks, _torch_phases
from ._library import INPUT, OTHER, RECORDING
from ._torch_collectives import Collectives
from ._torch_groups import Groups
from ._torch_input import Input
from ._torch_memory import Memory
from ._torch_operators import Operators
from ._torch_phases import Phases
from ._torch_rendezvous import Rendezvous
from ._torch_steps import Steps

_AT_ONCE_NS = 1000000  # time limit from a loader's iter() to the request for its first batch
_FAILURES = 8


class _NoCalls:
    """Calls of _input_calls.py without --io yes."""

    open = wants_forward = None
    loop = ()

    def nothing(self, *args):
        return None

    begin = end = pauses = read = optimizer_begins = install = nothing


def _calls_of_input(adapter, shim):
    if os.environ.get("PODPROF_IO") != "yes" or not shim.file_reads_start():
        return _NoCalls()
    from ._input_calls import Calls

    return Calls(adapter, shim)


class Adapter:
    def __init__(self, torch, shim, api):
        self.torch, self.shim = torch, shim
        self.operators = Operators(torch, shim)
        self.phases = Phases(api)
        self.groups = Groups(torch, shim)
        self.collectives = Collectives(torch, shim, self.groups)
        self.input = Input(torch, api)
        self.memory = Memory(torch, api, shim)
        self.calls = _calls_of_input(self, shim)
        self.steps = Steps(shim, self.leave, self.follow, self.operators.move)
        self.rendezvous = None
        self.is_dead = self.is_forked = False
        self.blocks = None
        self.is_allowed = None  # not known yet
        self.failures = 0
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self):
        """A worker process, until it joins a process group or sets its rank; or a program of its own, which C decides on."""
        self.is_dead = self.is_forked = True
        self.operators.off()
        self.phases.follow(False)
        self.calls.end()

    def joins(self):
        """This process has become a rank of a process group, however it was started."""
        distributed = self.torch.distributed
        multiprocessing = sys.modules.get("multiprocessing")
        is_child = multiprocessing is not None and multiprocessing.parent_process() is not None
        if self.torch.utils.data.get_worker_info() is not None:
            return
        state = self.shim.claim_group(distributed.get_rank(), distributed.get_world_size(), is_child)
        if not state & _library.IS_RANK:
            return
        self._becomes_rank()
        self.learn()
        if self.watches():
            self.follow(state)
            self.rendezvous = Rendezvous(self.torch, self.shim)

    def learn(self):
        """Process groups were made."""
        if self.is_allowed and self.shim.state() & _library.IS_RANK:
            self.groups.learn()
            if self.groups.works and self.phases.period:
                self.shim.torch_groups()

    def _becomes_rank(self):
        if self.is_dead and not self.failures:  # a forked child: its parent's steps are not its own
            has_optimizer = self.steps.has_optimizer
            self.steps.__init__(self.shim, self.leave, self.follow, self.operators.move)
            self.steps.has_optimizer = has_optimizer
            self.input.become_parent()
            self.is_dead = self.is_forked = False
        self.is_allowed = True
        _library.at_end_of_child(_finish_child)

    def watches(self):
        """Do calls on this thread count now?"""
        if self.is_forked and not self.failures and self.shim.claim() & _library.IS_RANK:
            self._becomes_rank()
        if self.is_dead or self.steps.thread != get_ident():
            return False
        if self.is_allowed is None:
            self.is_allowed = not _is_helper(self.torch)
        if self.is_allowed and self.steps.explicit:
            self.follow(self.shim.state())
        return self.is_allowed

    def leave(self, number):
        """Before a mark, while recording: annotates the window that may close."""
        self.phases.forward_ends()
        self.input.edge()
        self.memory.edge(number)
        if number is None or self.shim.is_edge(number) or self.collectives.is_due():
            self.collect()

    def collect(self):
        """A range around torch's dump of its recorder, tens of milliseconds: it is not the program's time."""
        if self.collectives.has_news():
            period = self.phases.push(b"podprof: torch's flight recorder", OTHER)
            try:
                self.collectives.collect()
            finally:
                self.phases.pop(period)

    def follow(self, state):
        """After a mark: recording is on or off."""
        recording = bool(state & RECORDING)
        if recording != bool(self.phases.period):
            self.phases.follow(recording)
            self.calls.end()
            if recording:
                self.collectives.begin()
                self.input.begin()
            if self.blocks is not None:
                self.blocks.follow()
        self.operators.follow(state)
        _calls.follow(state)
        if self.rendezvous is not None and not self.rendezvous.is_over:
            self.rendezvous.check()
            recording = True
        self.steps.is_idle = not recording

    def failed(self, error):
        """One of our hooks failed. Reported once; repeated failures switch the adapter off."""
        if _torch_phases.is_from_signal(error):
            raise error
        try:
            self.failures += 1
            if self.failures == 1:
                self.shim.say(("the adapter for torch failed: %s: %s" % (type(error).__name__, error)).encode("utf-8", "replace"))
            if self.failures >= _FAILURES:
                self.is_dead = True
                self.operators.off()
        except Exception:
            self.is_dead = True


def _is_helper(torch):
    """Children of multiprocessing are ranks only if they join a process group or set their rank."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None or multiprocessing.parent_process() is None:
        return False
    if torch.utils.data.get_worker_info() is not None:
        return True
    if _has_own_number():
        return False
    return not (torch.distributed.is_available() and torch.distributed.is_initialized())


def _has_own_number():
    """Has this process set its rank's variables? Those at its start may be its parent's."""
    with open("/proc/self/environ", "rb") as f:
        began = f.read().split(b"\0")
    return any(name in os.environb and name + b"=" + os.environb[name] not in began for name in (b"RANK", b"LOCAL_RANK", b"PMIX_RANK"))


def _guard(adapter):
    """A hook body: its errors do not reach the program."""

    def decorate(body):
        @functools.wraps(body)
        def guarded(*args):
            try:
                return body(*args)
            except Exception as error:
                return adapter.failed(error)

        return guarded

    return decorate


def _wrap_batches(adapter):
    """A batch is requested and returned, or the epoch is over."""
    data = importlib.import_module("torch.utils.data.dataloader")
    grad_enabled, now, steps, phases = adapter.torch.is_grad_enabled, adapter.shim.now, adapter.steps, adapter.phases
    calls = adapter.calls
    next_batch = data._BaseDataLoaderIter.__next__

    def asked(iterator):
        if phases.period:
            phases.forward_ends()
            adapter.input.uses(iterator)
        learns = grad_enabled()
        if steps.explicit:
            return 0, learns
        begun = iterator.__dict__.pop("_podprof_begun", None)
        began = begun[0] if begun and time.perf_counter_ns() - begun[1] < _AT_ONCE_NS else now()
        return steps.batch_asked(iterator, began, learns), learns

    def got(iterator, began, learns):
        if not steps.explicit:
            steps.batch_got(iterator, began, learns)
        if phases.period and steps.has_forward(learns):
            if calls.open:  # the loop asks an iterator around the loader, which goes on
                calls.wants_forward = True
            else:
                phases.forward_begins()

    @functools.wraps(next_batch)
    def __next__(self):
        what, waits = None, 0
        try:
            if steps.thread != get_ident():
                steps.reads_here()
            if adapter.watches():
                what = asked(self)
                if phases.period and not adapter.operators.is_on:  # whose range this is where operators are recorded
                    waits = phases.push(b"DataLoader.__next__", INPUT)
        except Exception as error:
            adapter.failed(error)
        paused = calls.pauses() if what is not None else None
        try:
            batch = next_batch(self)
        except StopIteration:
            try:
                if what is not None and not steps.explicit:
                    steps.batches_over(self)
            except Exception as error:
                adapter.failed(error)
            raise
        finally:
            if waits:
                phases.pop(waits)
            if paused is not None:
                calls.goes_on(paused)
        calls.read()
        if what is not None:
            try:
                got(self, *what)
            except Exception as error:
                adapter.failed(error)
        return batch

    __next__._torchdynamo_disable = True  # named as torch's own, which torch.compile never traces
    data._BaseDataLoaderIter.__next__ = __next__


def _wrap_epochs(adapter):
    """The first batch of an epoch begins where its workers are started."""
    data = importlib.import_module("torch.utils.data.dataloader")
    iterate = data.DataLoader.__iter__

    @_guard(adapter)
    def starts(loader):
        if not adapter.watches():
            return None
        adapter.phases.forward_ends()
        adapter.input.starts(loader)
        return adapter.shim.now(), adapter.phases.push(b"DataLoader.__iter__", INPUT)

    @_guard(adapter)
    def started(iterator, what):
        adapter.phases.pop(what[1])
        if isinstance(iterator, data._BaseDataLoaderIter):
            adapter.input.started(iterator)
            iterator.__dict__["_podprof_begun"] = what[0], time.perf_counter_ns()

    @functools.wraps(iterate)
    def __iter__(self):
        what, iterator = starts(self), None
        try:
            iterator = iterate(self)
            return iterator
        finally:
            if what:
                started(iterator, what)

    __iter__._torchdynamo_disable = True
    data.DataLoader.__iter__ = __iter__


def _hook_optimizers(adapter):
    optimizer = importlib.import_module("torch.optim.optimizer")
    calls, steps, phases, compiling = adapter.calls, adapter.steps, adapter.phases, adapter.torch.compiler.is_compiling

    def begins(which, args, kwargs):
        if compiling():
            return
        try:
            if steps.thread != get_ident() or not steps.has_thread:
                steps.fix_thread()
            if adapter.watches():
                if phases.period:
                    phases.forward_ends()
                    calls.end()
                if phases.period or calls.loop is None:
                    calls.optimizer_begins()
                if not steps.explicit:
                    steps.optimizer_begins(id(which))
        except Exception as error:
            adapter.failed(error)

    def stepped(which, args, kwargs):
        if compiling():
            return
        try:
            if adapter.watches():
                if not steps.explicit:
                    steps.optimizer_stepped(id(which))
                calls.begin()
        except Exception as error:
            adapter.failed(error)

    make = optimizer.Optimizer.__init__

    @functools.wraps(make)
    def __init__(self, *args, **kwargs):
        try:
            if not adapter.is_dead:
                steps.optimizer_made()
        except Exception as error:
            adapter.failed(error)
        make(self, *args, **kwargs)

    __init__._torchdynamo_disable = True
    optimizer.Optimizer.__init__ = __init__
    optimizer.register_optimizer_step_pre_hook(begins)
    optimizer.register_optimizer_step_post_hook(stepped)


def _wrap_groups(adapter):
    """Process groups come and go: a process with a rank in them is the one to record."""
    distributed, c10d = adapter.torch.distributed, sys.modules.get("torch.distributed.distributed_c10d")
    if c10d is None:
        return
    init, destroy = c10d.init_process_group, c10d.destroy_process_group

    @_guard(adapter)
    def initialised():
        adapter.joins()

    @_guard(adapter)
    def made():
        adapter.learn()

    @_guard(adapter)
    def destroying():
        if adapter.watches() and adapter.phases.period:
            adapter.collect()
        adapter.groups.forget()

    @functools.wraps(init)
    def init_process_group(*args, **kwargs):
        result = init(*args, **kwargs)
        initialised()
        return result

    @functools.wraps(destroy)
    def destroy_process_group(*args, **kwargs):
        destroying()
        return destroy(*args, **kwargs)

    c10d.init_process_group = distributed.init_process_group = init_process_group
    c10d.destroy_process_group = distributed.destroy_process_group = destroy_process_group
    mesh = sys.modules.get("torch.distributed.device_mesh")
    if getattr(mesh, "init_process_group", None) is init:  # it makes the process group if the program has not
        mesh.init_process_group = init_process_group
    for name in ("new_group", "split_group"):
        make = getattr(c10d, name, None)
        if make is not None:
            _replace_everywhere(name, make, _then(make, made), (c10d, distributed, mesh))
    _torch_phases.wrap_wait(adapter)


def _then(make, made):
    @functools.wraps(make)
    def wrapped(*args, **kwargs):
        result = make(*args, **kwargs)
        made()
        return result

    return wrapped


def _replace_everywhere(name, old, new, modules):
    for module in modules:
        if getattr(module, name, None) is old:
            setattr(module, name, new)


_adapter = None


def adapter():
    return _adapter


def install(torch):
    """Right after the import of torch."""
    global _adapter

    shim, api = _library.shim(), _library.api()
    if shim is None or api is None or _adapter is not None:
        return
    _adapter = made = Adapter(torch, shim, api)
    atexit.register(_finish)
    parts = (_torch_blocks.install, _wrap_batches, _wrap_epochs, _hook_optimizers, _torch_phases.wrap_backward, _torch_phases.wrap_engine,
             _torch_phases.wrap_save, _wrap_groups, made.calls.install)
    failure = None
    for part in parts:
        try:
            part(made)
        except Exception as error:  # an unknown version of torch: the other parts work
            failure = failure or error
    if failure is not None:
        raise failure


def leave(number):
    """The module podprof calls it before the program marks a step, or closes a window (None)."""
    try:
        if _adapter is not None and not _adapter.is_dead:
            _adapter.steps.explicit |= number is not None
            if _adapter.phases.period and _adapter.steps.thread == get_ident():
                _adapter.leave(number)
    except Exception as error:
        _adapter.failed(error)


def follow():
    """The same after the program has done so, or has opened a window."""
    try:
        if _adapter is not None and not _adapter.is_dead and _adapter.steps.thread == get_ident():
            _adapter.follow(_adapter.shim.state())
    except Exception as error:
        _adapter.failed(error)


def _finish():
    try:
        if _adapter is not None and not _adapter.is_dead:
            if _adapter.phases.period:
                _adapter.leave(None)
            if _adapter.blocks is not None:
                _adapter.blocks.finish()
            _adapter.calls.end()
            _adapter.steps.finish()  # which may switch them on
            _adapter.operators.finish(get_ident())
            _adapter.is_dead = True
    except Exception as error:
        _adapter.failed(error)


def _finish_child():
    _finish()
    _adapter.shim.finish(_library.status())

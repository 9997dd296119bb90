"""The adapter for PyTorch: puts the hooks in place, and decides what they mean for this process. Called by _hook.py when torch has
been imported. Nothing here raises into the program, and outside of a rank nothing is done: the first mark decides."""
import atexit
import functools
import importlib

from . import _library
from ._library import HOST_COMPUTE, RECORDING
from ._torch_operators import Operators
from ._torch_steps import Steps


class Adapter:
    def __init__(self, torch, shim, api):
        self.torch, self.shim, self.api = torch, shim, api
        self.operators = Operators(torch, shim)
        self.steps = Steps(shim, self.leave, self.follow)
        self.is_recording = False
        self.period = 0  # counts on
        self.in_forward = False
        self.is_dead = False
        self.failures = 0

    # Marks

    def leave(self, number):
        """Before a mark while recording."""
        self.forward_ends()

    def follow(self, state):
        """After a mark: recording is on or off."""
        recording = bool(state & RECORDING)
        if recording != self.is_recording:
            self.is_recording = recording
            self.period += recording
            self.in_forward = False
        self.operators.follow(state)

    def watches(self):
        """Is what happens now on this thread of interest?"""
        if self.is_dead or not self.steps.is_ours():
            return False
        if self.steps.explicit:
            self.follow(self.shim.state())
        return True

    def failed(self, error):
        """Something of ours did. Once is said, often is the end of it."""
        self.failures += 1
        if self.failures == 1:
            self.shim.say(("the adapter for torch failed: %s: %s" % (type(error).__name__, error)).encode())
        if self.failures >= 8:
            self.is_dead = True
            self.operators.off()

    # Phases

    def forward_begins(self):
        if self.is_recording and not self.in_forward and (self.steps.is_open or self.steps.explicit):
            self.in_forward = True
            self.api.range_push(b"forward", HOST_COMPUTE)

    def forward_ends(self):
        if self.in_forward:
            self.in_forward = False
            self.api.range_pop()


def _guard(adapter, default=None):
    """A hook body: what goes wrong in it is ours alone."""

    def decorate(body):
        @functools.wraps(body)
        def guarded(*args):
            try:
                return body(*args)
            except Exception as error:
                try:
                    adapter.failed(error)
                except Exception:
                    pass
                return default

        return guarded

    return decorate


def _wrap_loader(adapter):
    """A batch is asked for and comes, or the epoch is over."""
    data = importlib.import_module("torch.utils.data.dataloader")
    grad_enabled, now, steps = adapter.torch.is_grad_enabled, adapter.shim.now, adapter.steps
    next_batch = data._BaseDataLoaderIter.__next__

    @_guard(adapter)
    def asked(iterator):
        if not adapter.watches():
            return None
        adapter.forward_ends()
        learns = grad_enabled()
        return (0 if steps.explicit else steps.batch_asked(iterator._index_sampler, now(), learns)), learns

    @_guard(adapter)
    def got(iterator, what):
        if not steps.explicit:
            steps.batch_got(iterator._index_sampler, *what)
        adapter.forward_begins()

    @_guard(adapter)
    def over(iterator):
        if not steps.explicit:
            steps.batches_over(iterator._index_sampler)

    @functools.wraps(next_batch)
    def __next__(self):
        what = asked(self)
        try:
            batch = next_batch(self)
        except StopIteration:
            if what:
                over(self)
            raise
        if what:
            got(self, what)
        return batch

    data._BaseDataLoaderIter.__next__ = __next__


def _wrap_backward(adapter):
    autograd, operators = adapter.torch.autograd, adapter.operators
    backward = autograd.backward

    @_guard(adapter, 0)
    def begins():
        if not adapter.watches():
            return 0
        if not operators.inside and not adapter.steps.explicit:
            adapter.steps.learning_begins()
        adapter.forward_ends()
        operators.inside += 1
        if adapter.is_recording:
            adapter.api.range_push(b"backward", HOST_COMPUTE)
            return adapter.period
        return -1

    @_guard(adapter)
    def ends(how):
        operators.inside -= 1
        if adapter.is_recording and how == adapter.period:
            adapter.api.range_pop()

    @functools.wraps(backward)
    def wrapped(*args, **kwargs):
        how = begins()
        if not how:
            return backward(*args, **kwargs)
        try:
            return backward(*args, **kwargs)
        finally:
            ends(how)

    wrapped._torchdynamo_disable = True
    autograd.backward = wrapped


def _hook_optimizers(adapter):
    optimizer = importlib.import_module("torch.optim.optimizer")
    steps, compiling = adapter.steps, adapter.torch.compiler.is_compiling

    @_guard(adapter)
    def begins(which):
        if not adapter.is_dead and steps.becomes_ours() and adapter.watches():
            adapter.forward_ends()
            if not steps.explicit:
                steps.optimizer_begins(id(which))

    @_guard(adapter)
    def stepped(which):
        if adapter.watches() and not steps.explicit:
            steps.optimizer_stepped(id(which))

    def before(which, args, kwargs):
        if not compiling():
            begins(which)

    def after(which, args, kwargs):
        if not compiling():
            stepped(which)

    optimizer.register_optimizer_step_pre_hook(before)
    optimizer.register_optimizer_step_post_hook(after)


_adapter = None


def install(torch):
    """torch has just been imported."""
    global _adapter

    shim, api = _library.shim(), _library.api()
    if shim is None or api is None or _adapter is not None:
        return
    _adapter = adapter = Adapter(torch, shim, api)
    atexit.register(_finish)
    _wrap_loader(adapter)
    _wrap_backward(adapter)
    _hook_optimizers(adapter)


def leave(number):
    """The program is about to mark a step itself, or to close a window (None): called by its module podprof."""
    try:
        if _adapter is not None and not _adapter.is_dead:
            _adapter.steps.explicit |= number is not None
            if _adapter.steps.is_ours() and _adapter.is_recording:
                _adapter.leave(number)
    except Exception:
        pass


def follow():
    """It has, or has opened a window."""
    try:
        if _adapter is not None and not _adapter.is_dead and _adapter.steps.is_ours():
            _adapter.follow(_adapter.shim.state())
    except Exception:
        pass


def _finish():
    try:
        _adapter.leave(_adapter.steps.number)
        _adapter.operators.off()
        _adapter.steps.finish()
    except Exception:
        pass

"""Parts of a step that torch has no range for: forward, backward, checkpoint, compilation, waiting for a collective. In: wrapped
calls of the program. Out: ranges of podprof.h, while recording, on the training thread. A pop follows only a push of the same
recording period. Called by _torch.py and _torch_late.py."""
import functools
import sys
from _thread import _local, get_ident

from ._library import COMPILATION, HOST_COMMUNICATION, HOST_COMPUTE, OUTPUT


class Phases:
    def __init__(self, api):
        self.api = api
        self.period = 0  # 0: nothing is recorded
        self.count = 0
        self.forward = 0  # the period that it began in

    def follow(self, recording):
        if recording != bool(self.period):
            self.count += recording
            self.period = self.count if recording else 0

    def push(self, name, category):
        """Returns what pop() takes."""
        if self.period:
            self.api.range_push(name, category)
        return self.period

    def pop(self, period):
        if period and period == self.period:
            self.api.range_pop()

    def forward_begins(self):
        if self.period and not self.forward:
            self.forward = self.push(b"forward", HOST_COMPUTE)

    def forward_ends(self):
        self.pop(self.forward)
        self.forward = 0


def wrap(adapter, function, name, category):
    """The function, and a range around each call of it."""
    phases = adapter.phases

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        period = _push(adapter, name, category) if phases.period else 0
        if not period:
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            _pop(adapter, period)

    wrapped._torchdynamo_disable = True  # torch.compile sees one call, which it does not trace
    return wrapped


def _push(adapter, name, category):
    try:
        return adapter.phases.push(name, category) if adapter.watches() else 0
    except Exception as error:
        if is_from_signal(error):
            raise
        return 0


def _pop(adapter, period):
    try:
        adapter.phases.pop(period)
    except Exception as error:
        if is_from_signal(error):
            raise


def is_from_signal(error):
    """Raised by a signal handler of the program while our code ran: it is the program's."""
    signal = sys.modules.get("signal")
    if signal is None:
        return False
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = [getattr(handler, "__code__", None) for handler in handlers if callable(handler)]
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code in codes:
            return True
        frame = frame.tb_next
    return False


def _guarded_begin(adapter):
    try:
        adapter.calls.begin()
    except Exception as error:
        adapter.failed(error)


def wrap_backward(adapter):
    """A backward pass: a range, and the surest sign of a step."""
    autograd, operators, phases = adapter.torch.autograd, adapter.operators, adapter.phases
    backward = autograd.backward

    def begins():
        try:
            if not adapter.watches():
                return None
            if not operators.inside and not adapter.steps.explicit:
                adapter.steps.learning_begins()
            phases.forward_ends()
            adapter.calls.end()
            period = phases.push(b"backward", HOST_COMPUTE)
            operators.inside += 1
            return period
        except Exception as error:
            adapter.failed(error)
            return None

    @functools.wraps(backward)
    def wrapped(*args, **kwargs):
        period = begins()
        if period is None:
            return backward(*args, **kwargs)
        try:
            return backward(*args, **kwargs)
        finally:
            operators.inside -= 1
            _pop(adapter, period)
            _guarded_begin(adapter)

    wrapped._torchdynamo_disable = True
    autograd.backward = wrapped


def wrap_engine(adapter):
    """The autograd engine, while no optimizer of torch has stepped: the program may change its parameters itself."""
    torch, steps = adapter.torch, adapter.steps
    run = torch.autograd._engine_run_backward
    here = _local()  # the engine may run inside of itself

    def begins(roots, args, kwargs):
        try:
            if steps.thread != get_ident():
                steps.reads_here()
            inputs = args[3] if len(args) > 3 and args[3] else None
            if not adapter.watches() or steps.explicit or inputs is not None and steps.has_optimizer:
                return False
            steps.pass_begins(torch, roots, inputs)
            return True
        except Exception as error:
            adapter.failed(error)
            return False

    def ends():
        try:
            steps.updates.ends()
            if steps.changes_in_blocks():
                adapter.blocks.follow()
        except Exception as error:
            adapter.failed(error)

    @functools.wraps(run)
    def wrapped(roots, *args, **kwargs):
        if not steps.by_hand or getattr(here, "is_inside", False) or not begins(roots, args, kwargs):
            return run(roots, *args, **kwargs)
        here.is_inside = True
        try:
            return run(roots, *args, **kwargs)
        finally:
            here.is_inside = False
            ends()

    torch.autograd._engine_run_backward = wrapped


def wrap_save(adapter):
    torch = adapter.torch
    torch.save = torch.serialization.save = wrap(adapter, torch.save, b"checkpoint", OUTPUT)


def wrap_distributed_save(adapter, module):
    """torch.distributed.checkpoint, which is imported at its use."""
    for name in ("save", "save_state_dict", "async_save"):
        function = getattr(module, name, None)
        if function is not None:
            setattr(module, name, wrap(adapter, function, b"checkpoint", OUTPUT))


def wrap_wait(adapter):
    """Work.wait() of the program, where C does not record it; waiting inside of torch's C++ has no range."""
    work = getattr(sys.modules.get("torch._C._distributed_c10d"), "Work", None)
    if work is None:
        return
    plain = work.wait
    ranged = wrap(adapter, plain, b"c10d::wait", HOST_COMMUNICATION)

    @functools.wraps(plain)
    def wait(*args, **kwargs):
        return (plain if adapter.groups.works else ranged)(*args, **kwargs)

    work.wait = wait


def wrap_compile(adapter, module):
    """torch._dynamo.callback: torch runs these at the begin and the end of each compilation."""
    handler = module.CompilationCallbackHandler
    start, end = handler.run_start_callbacks, handler.run_end_callbacks
    here = _local()  # threads compile at once, each has its own

    @functools.wraps(start)
    def run_start_callbacks(self, *args, **kwargs):
        here.begun = getattr(here, "begun", ()) + (_push(adapter, b"torch.compile", COMPILATION),)
        return start(self, *args, **kwargs)

    @functools.wraps(end)
    def run_end_callbacks(self, *args, **kwargs):
        begun = getattr(here, "begun", ())
        if begun:
            here.begun = begun[:-1]
            _pop(adapter, begun[-1])
        return end(self, *args, **kwargs)

    handler.run_start_callbacks, handler.run_end_callbacks = run_start_callbacks, run_end_callbacks

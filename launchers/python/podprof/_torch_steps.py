"""Where a step of a PyTorch program begins: docs/pytorch.md has the rule. In: what _torch.py has seen. Out: marks of the shim.
Knows no torch. All on the training thread; what other threads do is no step."""
import sys
import weakref
from _thread import get_ident

from ._library import EXPLICIT, RECORDING

LOADER, OPTIMIZER = "torch: DataLoader", "torch: optimizer"
REPEATS = 16  # times that one optimizer steps without a boundary: the rule does not fit this program, its steps are boundaries then


class Steps:
    """leave(number): before a mark, while recording. follow(state): after each mark. moves(): to another thread."""

    def __init__(self, shim, leave, follow, moves):
        self.shim, self.leave, self.follow, self.moves = shim, leave, follow, moves
        self.rule = None
        self.number = 0  # of the next mark
        self.thread = _main_thread()  # the one that steps the optimizers; until one does, the main thread is taken for it
        self.is_settled = False
        self.quiet = False  # follow() has nothing to do until something is recorded
        self.is_open = False  # a step has begun and not ended
        self.has_stepped = True  # an optimizer has, since a step began
        self.explicit = False  # the program marks its steps itself
        self.waits = False  # it may be about to
        self.training = {}  # loaders whose batches optimizer steps came after
        self.loader = None  # of the last batch since the last step of an optimizer
        self.held = 0  # a step begins at this tick, if it turns out to be one
        self.made = 0  # when the last optimizer was made
        self.last = self.previous = 0  # optimizer whose step ends a step (0: not known yet), and that stepped last
        self.seen = {}  # optimizers since the last boundary: how often
        self.after = 0  # tick of the last optimizer step's end

    def settle(self):
        """An optimizer steps on another thread. A training thread that is gone has a successor."""
        here = get_ident()
        if self.thread != here and (not self.is_settled or self.thread not in sys._current_frames()):
            self.moves()
            self.thread = here
        self.is_settled = True

    # The loader

    def batch_asked(self, loader, began, learns):
        """Entry of __next__ at tick `began`, with gradients on or not. Returns the tick at which a step begins if a batch comes."""
        if not self.has_stepped or self.rule == OPTIMIZER:
            return 0
        if not self.is_training(loader) and (not learns or self.training):
            self.rest()  # an evaluation, or training with another loader: the next backward pass tells
            if learns and not self.held:
                self.held = began
            return 0
        return began

    def batch_got(self, loader, began, learns):
        if learns:
            self.loader = loader
        if began:
            self.begin(began, LOADER)

    def batches_over(self, loader):
        """StopIteration. What comes until the next epoch belongs to no step."""
        if self.is_training(loader):
            if self.rule == LOADER and self.has_stepped:
                self.rest()
        else:
            self.held = 0

    def is_training(self, loader):
        known = self.training.get(id(loader))
        return known is not None and known() is loader

    def learn(self, loader):
        try:
            self.training[id(loader)] = weakref.ref(loader)
        except TypeError:
            self.training[id(loader)] = lambda: loader

    # Backward passes and optimizers

    def learning_begins(self):
        """A backward pass or an optimizer step: there is a step now, whatever was thought before."""
        if self.is_open:
            return
        if self.rule is None:
            self.begin(self.held or self.made, OPTIMIZER if self.loader is None else LOADER)
        else:
            self.begin(self.held, self.rule)

    def optimizer_made(self):
        if not self.number:
            self.made = self.shim.now()

    def optimizer_begins(self, optimizer):
        if self.rule == OPTIMIZER and not self.last and optimizer in self.seen:
            # The first repeat: what stepped last ended the cycle, and the second step began at its end.
            self.last = self.previous
            self.begin(self.after, OPTIMIZER)
        self.learning_begins()
        if self.loader is not None and self.rule == LOADER:
            self.learn(self.loader)

    def optimizer_stepped(self, optimizer):
        self.loader = None
        self.previous, self.after = optimizer, self.shim.now()
        if self.waits:
            self.stop_waiting()
        self.has_stepped = True
        times = self.seen[optimizer] = self.seen.get(optimizer, 0) + 1
        if self.rule == OPTIMIZER and optimizer == self.last:
            self.begin(0, OPTIMIZER)
        elif times >= REPEATS:
            self.last = optimizer
            self.begin(0, OPTIMIZER)

    # Marks

    def begin(self, tick, rule):
        self.rule = rule
        state = self.shim.state()
        if state & EXPLICIT:
            self.explicit = True
            self.follow(state)
            return
        if not self.number and not self.waits and "podprof" in sys.modules:
            self.waits, self.is_open, self.has_stepped, self.held = True, True, False, tick or self.shim.now()
            return
        if state & RECORDING:
            self.leave(self.number)
        state = self.shim.step_begin(self.number, tick)
        if not self.number:
            self.shim.step_rule(rule.encode())
        self.number += 1
        self.waits, self.is_open, self.has_stepped, self.held = False, True, False, 0
        self.seen.clear()
        if state & RECORDING or not self.quiet:
            self.follow(state)

    def stop_waiting(self):
        """A step is over, and the program that has the module podprof has marked none: it is marked after all."""
        self.begin(self.held, self.rule)
        self.waits = False

    def rest(self):
        """The step ends, and no other begins."""
        if self.is_open and not self.waits:
            self.is_open = False
            self.follow(self.shim.step_end())

    def finish(self):
        """At exit. A step whose optimizer has stepped is whole."""
        if self.is_open and self.has_stepped and not self.waits and not self.explicit:
            self.is_open = False
            self.shim.step_end_at(self.after)


def _main_thread():
    threading = sys.modules.get("threading")
    return threading.main_thread().ident if threading else 0

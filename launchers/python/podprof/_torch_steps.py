"""Decides where a step of a PyTorch program begins; rule: docs/frameworks.md. In: events from _torch.py. Out: marks of the shim.
Does not use torch. Only the training thread counts."""
import sys
import weakref
from _thread import get_ident

from ._library import EXPLICIT, IS_RANK, RECORDING
from ._torch_batches import FEW, Batches
from ._torch_updates import Updates

LOADER, OPTIMIZER, UPDATES, PASSES = "torch: DataLoader", "torch: optimizer", "torch: parameter updates", "torch: backward passes"
INFERENCE = "torch: inference"
HAND = 1  # stands for the optimizer where the program changes its parameters itself; others have their id()
REPEATS = 16  # steps of one optimizer without a boundary: the rule does not fit, so its steps become boundaries


class Steps:
    """leave(number): before a mark, while recording. follow(state): after each mark. moves(): to another thread."""

    def __init__(self, shim, leave, follow, moves):
        self.shim, self.leave, self.follow, self.moves = shim, leave, follow, moves
        self.rule = None
        self.number = 0  # of the next mark
        self.thread = _main_thread()  # the thread that steps the optimizers; until then the main thread
        self.has_thread = False
        self.is_idle = False  # follow() has nothing to do until something is recorded
        self.is_open = False  # a step has begun and not ended
        self.has_stepped = True  # an optimizer has, since a step began
        self.explicit = False  # the program marks its steps itself
        self.waits = False  # it may do so soon
        self.training = {}  # loaders with optimizer steps after their batches
        self.loader = None  # of the last batch since the last step of an optimizer
        self.held = 0  # begin of a possible step
        self.has_optimizer = False  # one was made
        self.trains = False  # one has stepped, or a backward pass precedes its step
        self.batches = Batches(self.mark_batch, self.claim, self.rest, shim.now)  # while it does not
        self.passes = Batches(self.mark_pass, self.claim, self.rest, shim.now)  # backward passes, if there are no batches either
        self.updates = Updates()
        self.by_hand = True  # no optimizer of torch has stepped: the program may change its parameters itself
        self.first = 0  # begin of the step of its first backward pass
        self.asked = 0  # request for a batch since the last one
        self.last = self.previous = 0  # optimizer whose step ends a step (0: not known yet), and that stepped last
        self.rounds = {}  # other optimizers: number of the step in which it stepped last, and how many after the time before
        self.seen = {}  # optimizers since the last boundary: how often
        self.after = 0  # tick of the last optimizer step's end

    def fix_thread(self):
        """An optimizer steps on another thread, which follows a training thread that has ended."""
        here = get_ident()
        if self.thread != here and (not self.has_thread or self.thread not in sys._current_frames()):
            self.moves()
            self.thread = here
        self.has_thread = True

    def reads_here(self):
        """A program that does not train may read batches on any thread: the one with an open loop counts."""
        if self.trains or self.has_optimizer or self.has_thread or self.explicit:
            return
        if not self.batches.is_in_loop() or self.thread not in sys._current_frames():
            self.moves()
            self.thread = get_ident()

    # The loader

    def batch_asked(self, iterator, began, learns):
        """Entry of __next__ at tick `began`, with gradients on or not. Returns the tick at which a step begins if there is a batch."""
        if self.by_hand:
            self.find_update()
            if learns and not self.asked:
                self.asked = began
        if not self.trains:
            return began if self.batches.asked(iterator) else 0
        loader = iterator._index_sampler
        if not self.has_stepped or self.rule not in (None, LOADER):
            return 0
        if not self.is_training(loader) and (not learns or self.training):
            self.rest()  # an evaluation, or training with another loader: the next backward pass decides
            if learns and not self.held:
                self.held = began
            return 0
        return began

    def batch_got(self, iterator, began, learns):
        if learns:
            self.loader = iterator._index_sampler
        if not began:
            return
        if self.trains:
            self.begin(began, LOADER)
            return
        self.batches.got(iterator, began)
        self.held = began if learns else 0

    def batches_over(self, iterator):
        """StopIteration. Time until the next epoch belongs to no step."""
        loader = iterator._index_sampler
        if self.by_hand:
            self.find_update()
        if not self.trains:
            self.batches.over(iterator)
        if self.is_training(loader):
            if self.rule == LOADER and self.has_stepped:
                self.rest()
        else:
            self.held = 0

    def has_forward(self, learns):
        """A forward pass follows a batch; in a program that does not train its end is unknown."""
        return self.explicit or (self.is_open if self.trains else learns and self.has_optimizer)

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
        """A backward pass or an optimizer step: there is a step now. Without an optimizer of torch batches stay the steps; without
        batches, the keeper finds steps by repetition."""
        if not self.trains:
            if not self.has_optimizer:
                self.claim()
                return
            self.trains = True
            self.batches.drop()
            self.passes.drop()
        if self.is_open:
            return
        if self.rule is None:
            self.begin(self.held, OPTIMIZER if self.loader is None else LOADER)
        else:
            self.begin(self.held, self.rule)

    def optimizer_made(self):
        self.has_optimizer = True
        if not self.trains:
            self.batches.may_train()
            self.batches.drop()
            self.rule = None

    def pass_begins(self, torch, roots, inputs):
        """Any outermost use of the autograd engine, while no optimizer of torch has stepped."""
        self.find_update()
        if self.trains:
            if self.asked and self.has_stepped and self.rule == LOADER:
                self.begin(self.asked, LOADER)  # an update that was not seen yet when this batch was requested
        else:
            now = self.shim.now()
            if not self.first:
                self.first = self.held or now
                self.batches.may_train()
                self.passes.may_train()
            if self.loader is None:
                self.passes.got(self, now)
        self.asked = 0
        self.updates.begins(torch, roots, inputs)

    def find_update(self):
        """Have the parameters changed since the last backward pass? If so, that was a step."""
        if not self.updates.happened(self.has_optimizer):
            return
        if not self.trains:
            self.trains = True
            if self.batches.is_live or self.passes.is_live:
                self.rule = UPDATES if self.loader is None else LOADER
            else:
                self.begin(self.first, UPDATES if self.loader is None else LOADER)
            self.batches.leave()
            self.passes.leave()
        if self.rule != LOADER:
            self.last = HAND
        self.optimizer_stepped(HAND, UPDATES)

    def optimizer_begins(self, optimizer):
        self.by_hand = False
        if self.rule == OPTIMIZER and not self.last and optimizer in self.seen:
            # The first repeat: the last optimizer ended the cycle, and the second step began at its end.
            self.last = self.previous
            self.begin(self.after, OPTIMIZER)
        self.has_optimizer = True
        if not self.is_between():
            self.learning_begins()

    def is_between(self):
        """Outside of a training loader's loop an optimizer that steps without a backward pass updates nothing."""
        return self.trains and self.rule == LOADER and not self.is_open

    def optimizer_stepped(self, optimizer, rule=OPTIMIZER):
        if self.is_between():
            return
        if self.loader is not None and self.rule == LOADER:
            self.learn(self.loader)
        self.loader = None
        self.previous, self.after = optimizer, self.shim.now()
        if self.waits:
            self.stop_waiting()
        self.has_stepped = True
        times = self.seen[optimizer] = self.seen.get(optimizer, 0) + 1
        if self.rule != LOADER and (optimizer == self.last or self.ends_round(optimizer)) or times >= REPEATS:
            self.last = optimizer
            self.begin(0, rule)

    def ends_round(self, optimizer):
        """Does it step after as many steps of another one as before? Then these are a round, and it is the last in it."""
        if not self.last:
            return False
        number, before = self.rounds.get(optimizer, (1, 0))
        steps = self.number - number
        self.rounds[optimizer] = self.number, steps
        return 1 < steps == before < REPEATS

    def may_infer(self):
        """The program has neither trained nor read a batch."""
        return self.loader is None and not (self.explicit or self.has_optimizer or self.first or self.batches.held or self.batches.is_live)

    def changes_in_blocks(self):
        """Only the end of no_grad() tells when the parameters were changed."""
        return self.by_hand and self.rule == UPDATES

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
        self.mark(tick, state)

    def mark_pass(self, tick):
        self.mark_batch(tick, PASSES)

    def mark_block(self, tick):
        self.mark_batch(tick, INFERENCE)

    def mark_batch(self, tick, rule=LOADER):
        """Of a program that does not train. Its own marks would have come while batches were held."""
        self.rule, state = rule, self.shim.state()
        if state & EXPLICIT:
            self.explicit = True
            self.follow(state)
        else:
            self.mark(tick, state)
            self.has_stepped = True

    def mark(self, tick, state):
        if state & RECORDING:
            self.leave(self.number)
        state = self.shim.step_begin(self.number, tick)
        if not self.number:
            self.shim.step_rule(self.rule.encode())
        self.number += 1
        self.waits, self.is_open, self.has_stepped, self.held, self.asked = False, True, False, 0, 0
        self.seen.clear()
        if state & RECORDING or not self.is_idle:
            self.follow(state)

    def stop_waiting(self):
        """A step is over, and a program with the module podprof has marked none: marks it after all."""
        self.begin(self.held, self.rule)
        self.waits = False

    def rest(self, tick=0):
        """The step ends, now or at a tick, and no other begins."""
        if self.is_open and not self.waits:
            self.is_open = False
            self.follow(self.shim.step_end_at(tick) if tick else self.shim.step_end())

    def claim(self):
        """Work makes this process the rank before its steps are known."""
        state = self.shim.state()
        if not state & (IS_RANK | EXPLICIT):
            state = self.shim.claim()
        self.follow(state)

    def finish(self):
        """At exit. A step whose optimizer has stepped is complete."""
        if self.by_hand and not self.explicit:
            self.find_update()
        if not self.trains:
            if not self.explicit:
                self.batches.finish()
                if len(self.passes.held) >= FEW and not self.number:
                    self.passes.finish()
        elif self.is_open and self.has_stepped and not self.waits and not self.explicit:
            self.is_open = False
            self.shim.step_end_at(self.after)


def _main_thread():
    threading = sys.modules.get("threading")
    return threading.main_thread().ident if threading else 0

"""Steps of a PyTorch program without optimizer steps (inference, evaluation): the batches of its DataLoader. In: batches from
_torch_steps.py outside of training. Out: its marks. Batches are held first, since an evaluation before the training looks the same."""
import os
import weakref

FEW = 3  # batches held if no optimizer was made: a program may read one to learn its shape
MANY, MOST = 16, 1000  # if one was made: with --steps, whose window must not be missed, and without
OTHERS = 16  # batches of another loader inside of a step: then its batches are the steps


def _nothing():
    return None


class Batches:
    """mark(tick), claim() and rest() are those of the steps."""

    def __init__(self, mark, claim, rest, now):
        self.mark, self.claim, self.rest, self.now = mark, claim, rest, now
        self.limit = FEW
        self.held = []  # [begin, end] in ticks of batches that are not marked yet; end 0: where the next one begins
        self.is_live = False  # each batch is marked at once
        self.iterator = _nothing  # its batches are the steps: those of a loader inside of its loop are not
        self.others = 0

    def is_in_loop(self):
        return self.iterator() is not None

    def asked(self, iterator):
        """1: a step begins, if there is a batch. A loop left by break has no iterator any more."""
        current = self.iterator()
        self.others = 0 if current is None or current is iterator else self.others + 1
        return current is None or current is iterator or self.others >= OTHERS

    def got(self, iterator, began):
        if self.iterator() is not iterator:
            self.iterator, self.others = weakref.ref(iterator), 0
        if self.is_live:
            self.mark(began)
            return
        if not self.held:
            self.claim()
        self.held.append([began, 0])
        if len(self.held) > self.limit:
            self.go_live()

    def go_live(self):
        held, self.held, self.is_live = self.held, [], True
        for begin, end in held:
            self.mark(begin)
            if end:
                self.rest(end)

    def over(self, iterator):
        """StopIteration."""
        if self.iterator() is not iterator:
            return
        self.iterator = _nothing
        if self.is_live:
            self.rest(0)
        elif self.held:
            self.held[-1][1] = self.now()

    def may_train(self):
        """A training may follow. With --steps A:B, batches before A - 1 need no decision."""
        asked = os.environ.get("PODPROF_STEPS", "").partition(":")[0]
        timed = any(os.environ.get("PODPROF_" + name) for name in ("DELAY", "DURATION", "AT"))
        self.limit = max(FEW, min(int(asked) - 1, MANY)) if asked.isdigit() else MANY if asked or timed else MOST

    def drop(self):
        """The held batches were no steps; an open step ends."""
        if self.is_live:
            self.rest(0)
        self.leave()

    def leave(self):
        """A training has begun: what is marked stays, also a step that is open."""
        self.held, self.is_live, self.iterator = [], False, _nothing

    def finish(self):
        """At exit: there was no training."""
        if self.held:
            self.go_live()

"""Which function of a framework is the step of a program: of those that the program calls again and again, one whose results are its
arguments in the next call; of several, the one with most work. In: calls of outermost functions, from _jax.py and _tensorflow.py. Out: marks
by _marks.py. A step ends with a call of the function, and the next one begins there. The first calls are held until it is known."""
import os

from ._marks import FUNCTION

SURE, UNSURE = 8, 16  # calls held, of a function that carries its results on, and of others
AGAIN = 3  # calls of another function that carries on, without one of the step's: the program has gone over to it
_HELD = 1000


class Function:
    __slots__ = ("name", "calls", "work", "carries", "held", "begin", "thread", "since", "extra")

    def __init__(self, name, thread):
        self.name, self.thread = name, thread
        self.calls = self.since = self.work = self.begin = 0
        self.carries = False
        self.held = []  # ticks of the ends of its calls
        self.extra = None  # the adapter's


class Repeats:
    def __init__(self, marks, prefix, main):
        self.marks, self.prefix, self.main = marks, prefix, main
        self.known = []
        self.step = None
        self.last = 0  # tick of the last call's end, of any function
        self.chose = lambda function: None
        asked = os.environ.get("PODPROF_STEPS", "").partition(":")[0]
        most = max(2, int(asked) - 1) if asked.isdigit() else UNSURE
        self.sure, self.unsure = min(SURE, most), min(UNSURE, most)

    def new(self, name, thread):
        function = Function(name, thread)
        if len(self.known) < _HELD:
            self.known.append(function)
        return function

    def called(self, function, begin, end):
        """A call of it has returned; begin 0: it is not known when it began."""
        function.calls += 1
        last, self.last = self.last, end
        if function is self.step:
            self.ended(end)
            return
        if not function.held:
            function.begin = begin or last or end - 1
        if len(function.held) < _HELD:
            function.held.append(end)
        if self.step is None:
            if function.calls >= (self.sure if function.carries else self.unsure):
                self.choose()
        else:
            function.since += 1
            if function.carries and function.since >= AGAIN and function.thread == self.step.thread:
                self.go_live(function)

    def ended(self, end):
        for other in self.known:
            if other.since:
                other.since, other.held = 0, []
        self.marks.begin(FUNCTION, self.prefix + self.step.name, end)

    def choose(self):
        """All ranks choose alike: nothing here is a time, where the adapter knows a function's work otherwise."""
        found = [f for f in self.known if f.calls > 1]
        if found:
            self.go_live(max(found, key=lambda f: (f.thread == self.main(), f.carries, f.work * f.calls)))

    def go_live(self, function):
        self.step = function
        held, function.held, function.since = function.held, [], 0
        rule = self.prefix + function.name
        if not self.marks.is_open or self.marks.order != FUNCTION:
            self.marks.begin(FUNCTION, rule, function.begin)
        for end in held:
            self.marks.begin(FUNCTION, rule, end)
        for other in self.known:
            if other is not function:
                other.held = []
        self.chose(function)

    def finish(self):
        """At exit of a short program."""
        if self.step is None and self.marks.order <= FUNCTION and self.marks.allows():
            self.choose()

"""Marks of a Python program for podprof: steps, ranges, counters, windows. Without podprof in the process all of it does nothing.

    import podprof

    for batch in podprof.steps(loader):             # or: with podprof.step(number): ...
        with podprof.range("augment", podprof.Category.INPUT):
            batch = augment(batch)
        train(batch)

And a reader of what was recorded, for notebooks: s = podprof.open("logs"); s.verdict, s.steps, s.table("op").
"""
import enum as _enum
import functools as _functools
import os as _os
import sys as _sys
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, TypeVar, Union

from . import _library

if TYPE_CHECKING:
    from . import _reader

__all__ = ["Category", "annotate", "capture", "counter", "mark", "open", "profile_steps", "range", "recording", "step", "step_begin", "step_end",
           "steps", "sessions"]

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])
_NOT_PLAIN = 0x20 | 0x80 | 0x200  # code flags of generators and coroutines: they leave their thread in between


class Category(_enum.IntEnum):
    """What a range is; as in podprof.h."""

    BY_NAME = 0
    DEVICE_COMPUTE = 1
    DEVICE_TO_DEVICE = 2
    DEVICE_COLLECTIVE = 3
    HOST_COMPUTE = 4
    KERNEL_LAUNCH = 5
    INPUT = 6
    OUTPUT = 7
    COMPILATION = 8
    OTHER = 9
    HOST_COMMUNICATION = 10


_door = _library.api()
_next = 0  # number of a step that is given none
_has_asked = False  # whether this process is the rank: decided at the first range, as in C


def _text(name: object) -> bytes:
    return str(name).encode("utf-8", "replace").replace(b"\0", b" ")


def _number(value: Optional[int]) -> int:
    """Numbers are 64 bits; a step without one follows the step before."""
    global _next
    number = _next if value is None else max(-(2**63) + 1, min(int(value), 2**63 - 2))
    _next = number + 1
    return number


def _leave(number: Optional[int]) -> None:
    """Before a mark (number: of a step): the adapter for torch annotates the window that may close now."""
    adapter = _sys.modules.get("_podprof._torch")
    if adapter is not None:
        adapter.leave(number)


def _follow() -> None:
    """After a mark: torch's ranges, a framework's profiler, and calls of Python functions go on and off with the window."""
    for name in ("_podprof._torch", "_podprof._profiler"):
        adapter = _sys.modules.get(name)
        if adapter is not None:
            adapter.follow()
    calls, shim = _sys.modules.get("_podprof._calls"), _library.shim()
    if shim is not None and "_podprof" in _sys.modules:
        state = shim.state()
        if calls is None and state & _library.PYTHON:
            from _podprof import _calls as calls
        if calls is not None:
            calls.follow(state)


def _ask() -> None:
    global _has_asked
    _has_asked = True
    shim = _library.shim()
    if shim is not None and shim.claim() & _library.IS_RANK and "_podprof._torch" not in _sys.modules:
        _library.at_end_of_child(lambda: shim.finish(_library.status()))


def _forked() -> None:
    """The child may be a rank of its own."""
    global _has_asked
    _has_asked = False


if _door is not None:
    _os.register_at_fork(after_in_child=_forked)


def _is_recorded() -> bool:
    if _door is None:
        return False
    if not _has_asked:
        _ask()
    return bool(_door.recording())


def _begin(number: int, tick: int) -> None:
    shim = _library.shim()
    if not _has_asked:
        _ask()
    _leave(number)
    if tick and shim is not None:
        shim.step_begin(number, tick)
    elif _door is not None:
        _door.step_begin(number)
    _follow()


def _now() -> int:
    shim = _library.shim()
    return shim.now() if shim is not None else 0


def step_begin(number: Optional[int] = None) -> None:
    """A step begins on this thread; the one before ends, if it has not."""
    if _door is not None:
        _begin(_number(number), 0)


def step_end() -> None:
    if _door is not None:
        _door.step_end()
        _follow()


class step:
    """step() once per iteration, or with step(): a step begins, and ends at the next one, or with its block. Without a number, steps
    are counted."""

    def __init__(self, number: Optional[int] = None) -> None:
        step_begin(number)

    def __enter__(self) -> "step":
        return self

    def __exit__(self, *_: object) -> None:
        step_end()


def steps(iterable: Iterable[_T], first: Optional[int] = None) -> Iterator[_T]:
    """Each item is a step, from its request to the next one's."""
    items = iter(iterable)
    if _door is None:
        yield from items
        return
    number = first
    while True:
        tick = _now()
        try:
            item = next(items)
        except StopIteration:
            break
        _begin(_number(number), tick)
        number = None
        yield item
    step_end()


class range:  # noqa: A001
    """with range("augment"): a range of this thread; by default its category follows from the name."""

    def __init__(self, name: str, category: Union[Category, int, None] = None) -> None:
        self._name, self._category, self._pushed = name, int(category or 0), False

    def __enter__(self) -> "range":
        if _is_recorded():
            self._pushed = True
            _door.range_push(_text(self._name), self._category)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pushed:
            self._pushed = False
            _door.range_pop()


def annotate(name: Union[str, _F, None] = None, category: Union[Category, int, None] = None) -> Any:
    """@annotate or @annotate("name", category): each call of the function is a range. Generators and coroutines stay as they are."""

    def decorate(function: _F) -> _F:
        code = getattr(function, "__code__", None)
        if _door is None or (code is not None and code.co_flags & _NOT_PLAIN):
            return function
        label = name if isinstance(name, str) else getattr(function, "__qualname__", str(function))

        @_functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with range(label, category):
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate(name) if callable(name) else decorate


def mark(name: str) -> None:
    """An instant."""
    if _door is not None:
        _door.mark(_text(name))


def counter(name: str, value: float) -> None:
    if _door is not None:
        _door.counter(_text(name), float(value))


def recording() -> bool:
    """For work done only for the profile."""
    return _door is not None and bool(_door.recording())


class capture:
    """with capture("evaluation"): a window, a session of its own. Every rank enters it at the same place of the program."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __enter__(self) -> "capture":
        if _door is not None:
            _door.window_start(_text(self._name))
            _follow()
        return self

    def __exit__(self, *_: object) -> None:
        if _door is not None:
            _leave(None)
            _door.window_stop()
            _follow()


def profile_steps(first: int, last: int) -> None:
    """Steps first to last - 1 as a window, as by --steps."""
    if _door is not None:
        _door.profile_steps(int(first), int(last))


def open(where: Any = "podprof_logs") -> "_reader.Session":  # noqa: A001
    """The session that `where` means: the newest of a log directory, a session, a pod.h5. Its tables are DataFrames where pandas is there."""
    from . import _reader

    return _reader.Session(where)


def sessions(logdir: Any = "podprof_logs") -> Any:
    """A row per session of a log directory, the newest first."""
    from . import _reader

    return _reader.sessions(logdir)

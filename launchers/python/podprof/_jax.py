"""The adapter for JAX: which process is which rank, calls of jitted functions, compilations, annotations. In: calls of hooks and wrapped
functions of JAX. Out: calls for _repeats.py, ranges, marks. Called by _hook.py after the import of jax. What a release of JAX lacks is
said once; the rest works."""
import atexit
import functools
import sys
import weakref
from _thread import get_ident

from . import _device_memory, _jax_waits, _profiler
from ._library import COMPILATION
from ._marks import ANNOTATION, marks
from ._repeats import Repeats

_LEAVES = 256  # arrays of a result that are looked for in the next call's arguments
_MOST = 100000  # equations counted of a function
_NAMES = 4096
_TRIALS = 32  # calls of another function than the step's, until it is no candidate any more


def _count(jaxpr, most=_MOST):
    """Equations of a function and of those inside: its work, the same on all ranks."""
    n, rest = 0, [getattr(jaxpr, "jaxpr", jaxpr)]
    while rest and n < most:
        for eqn in rest.pop().eqns:
            n += 1
            for value in eqn.params.values():
                for inner in value if isinstance(value, (tuple, list)) else (value,):
                    inner = getattr(inner, "jaxpr", inner)
                    if hasattr(inner, "eqns"):
                        rest.append(inner)
    return n


def _mapped(fun):
    """The program's function, of one that jax.pmap has made for it; else None."""
    if getattr(fun, "__module__", None) != "jax._src.pmap":
        return None
    rest = [fun]
    for one in rest:
        for cell in getattr(one, "__closure__", None) or () if len(rest) < 16 else ():
            value = getattr(cell, "cell_contents", None)
            if type(value).__name__ == "WrappedFun":
                return value.f
            if hasattr(value, "__closure__"):
                rest.append(value)
    return fun


def _is_own(fun):
    """A function of JAX itself: an operator called outside of jit."""
    if _mapped(fun) is not None:
        return False
    for _ in range(8):
        inner = getattr(fun, "func", None)
        if inner is None:
            break
        fun = inner
    if getattr(fun, "_apply_primitive", False):
        return True
    module = getattr(fun, "__module__", None) or type(fun).__module__
    return isinstance(module, str) and module.partition(".")[0] == "jax"


class Jax:
    def __init__(self, jax, found):
        self.jax, self.marks, self.shim, self.api = jax, found, found.shim, found.api
        self.core, self.pjit = sys.modules["jax._src.core"], sys.modules["jax._src.pjit"]
        self.is_array = sys.modules["jax._src.array"].ArrayImpl
        self.leaves_of = sys.modules["jax._src.tree_util"].tree_leaves
        self.repeats = Repeats(found, "jax: ", _main_thread)
        self.repeats.chose = self.chosen
        self.functions = {}  # id of a jitted function: itself (weak), its Function
        self.begun = 0  # tick at which the call that is traced now began
        self.work = {}  # id of a function that is traced: equations
        self.waits = self.ahead = None
        self.hook = self.watch = None
        self.missing = []

    # Functions

    def function_of(self, fun):
        """None: not one of the program's."""
        known = self.functions.get(id(fun))
        if known is not None and (known[0] is None or known[0]() is fun):
            return known[1]
        if len(self.functions) > _NAMES:
            self.functions.clear()
        try:
            alive = weakref.ref(fun)
        except TypeError:
            alive = None
            if len(self.functions) > _NAMES // 2:
                return None
        function = None if (_is_own(fun) and type(fun) is not self.ahead) or not self.marks.allows() else self.repeats.new(_name_of(fun), get_ident())
        self.functions[id(fun)] = alive, function
        return function

    def called(self, fun, args, kwargs, result, begin, end):
        """A call of a jitted function by the program, on any thread, has returned."""
        function = self.function_of(fun)
        if function is None or function.thread != get_ident():
            return function
        repeats = self.repeats
        if repeats.step is None or (function is not repeats.step and not function.carries and function.calls < _TRIALS):
            self.learn(function, args, kwargs, result)
        if self.waits is not None and function is repeats.step:
            self.waits.dispatched(function.calls, result, end, repeats.last)
        elif self.waits is not None and repeats.step is None:
            self.waits.hold(function, result, end, repeats.last)
        repeats.called(function, begin, end)
        return function

    def learn(self, function, args, kwargs, result):
        """Are results of the last call among the arguments?"""
        before = function.extra
        leaves = self.leaves_of((args, kwargs))
        if before and not function.carries:
            for leaf in leaves:
                seen = before.get(id(leaf))
                if seen is not None and seen() is leaf:
                    function.carries = True
                    break
        if not function.work:
            function.work = len(leaves)
        made = [x for x in self.leaves_of(result) if isinstance(x, self.is_array)]
        function.extra = None if function.carries else {id(x): weakref.ref(x) for x in made[:_LEAVES]}

    def chosen(self, function):
        for other in self.repeats.known:
            other.extra = None
        if self.waits is not None:
            self.waits.chosen(function)

    # Hooks of JAX

    def make_hook(self):
        """The function that JAX's C++ calls after each call of a jitted function: one compare for the step's, a look-up for others."""
        adapter, marks_, now, here = self, self.marks, self.shim.now, get_ident
        own, step, step_fun, step_of = set(), None, None, None

        def other(f, args, kwargs, result):
            nonlocal step, step_fun, step_of
            fun = getattr(f, "_fun", None) or getattr(f, "__wrapped__", None)
            if fun is None:  # of a function compiled ahead, which counts already
                own.add(f)
                return
            function = adapter.called(fun, args, kwargs, result, 0, now())
            if function is None:
                if adapter.functions.get(id(fun), (None, 1))[1] is None and marks_.is_allowed is not None:
                    if len(own) > _NAMES:
                        own.clear()
                    own.add(f)
            elif function is adapter.repeats.step:
                step, step_fun, step_of = f, fun, function
            elif adapter.repeats.step is not None and function.calls > _TRIALS and not function.carries:
                own.add(f)

        def hook(f, args, kwargs, result):
            if f in own or marks_.is_dead:
                return
            try:
                function = adapter.repeats.step
                if f is step and function is step_of and function.thread == here():
                    adapter.called(step_fun, args, kwargs, result, 0, now())
                else:
                    other(f, args, kwargs, result)
            except Exception as error:
                marks_.failed(error)

        return hook

    def traces(self, infer):
        """Tracing, and the first call's begin. Also for lower(), trace() and functions inside of others."""

        @functools.wraps(infer)
        def infer_params(fun, ji, args, kwargs, *more, **words):
            if not self.is_clean():
                return infer(fun, ji, args, kwargs, *more, **words)
            pushed = self.begins(fun, "trace")
            try:
                result = infer(fun, ji, args, kwargs, *more, **words)
            finally:
                self.ends(pushed)
            self.traced(fun, result)
            return result

        return infer_params

    def misses(self, run, fun_at):
        """A call that JAX runs in Python: the first one, and those with effects or new shapes."""

        @functools.wraps(run)
        def runs(*args, **kwargs):
            if not self.is_clean():
                return run(*args, **kwargs)
            self.watch_hook()
            before = self.begun
            result = run(*args, **kwargs)
            self.missed(fun_at, args, kwargs, result, before)
            return result

        return runs

    def is_clean(self):
        try:
            return self.core.trace_state_clean() and not self.marks.is_dead
        except Exception:
            return False

    def begins(self, fun, what):
        try:
            if what == "trace":
                self.begun = self.shim.now()
            if self.marks.allows() and self.api.recording() and not (fun is not None and _is_own(fun)):
                name = "jax: %s %s" % (what, _name_of(fun)) if fun is not None else "jax: " + what
                self.api.range_push(name.encode("utf-8", "replace"), COMPILATION)
                return True
        except Exception as error:
            self.marks.failed(error)
        return False

    def ends(self, pushed):
        if pushed:
            self.api.range_pop()

    def traced(self, fun, result):
        try:
            if not _is_own(fun):
                function = self.function_of(fun)
                if function is not None and not function.calls:
                    function.work = _count(result[0].params["jaxpr"])
        except Exception:
            pass  # its arguments are counted instead

    def missed(self, fun_at, args, kwargs, result, begin):
        try:
            if fun_at:  # _run_python_pjit(p, args_flat, fun, args, kwargs)
                fun, args, kwargs = args[2:5]
            else:  # _python_pjit_helper(fun, jit_info, *args, **kwargs)
                fun, args, begin = args[0], args[2:], begin if fun_at else self.begun
            self.called(fun, args, kwargs, result[0], begin, self.shim.now())
        except Exception as error:
            self.marks.failed(error)

    def compiles(self, compile_, what):
        @functools.wraps(compile_)
        def compiles(*args, **kwargs):
            pushed = self.begins(None, what)
            try:
                return compile_(*args, **kwargs)
            finally:
                self.ends(pushed)

        return compiles

    def watch_hook(self):
        """The program's switches (jax_debug_nans) may have taken the hook's place."""
        if self.watch is not None:
            try:
                self.watch()
            except Exception as error:
                self.marks.failed(error)


def _name_of(fun):
    fun = _mapped(fun) or fun
    return getattr(fun, "__name__", None) or getattr(getattr(fun, "func", None), "__name__", None) or type(fun).__name__


def _main_thread():
    threading = sys.modules.get("threading")
    return threading.main_thread().ident if threading else get_ident()


def _hook_calls(a):
    a.hook = hook = a.make_hook()

    def chain(theirs):
        if theirs is None or getattr(theirs, "_is_podprof", False):
            return hook

        def both(f, args, kwargs, result):
            hook(f, args, kwargs, result)
            return theirs(f, args, kwargs, result)

        both._is_podprof = True
        return both

    hook._is_podprof = True
    api = sys.modules["jax._src.api"]
    state = getattr(api, "_post_hook_state", None)
    if state is not None:
        api._post_hook_state = _State(state, chain)
        state.set_global(chain(state.value))
        return
    state = sys.modules["jax._src.lib"].jax_jit
    _hook_older(a, state.global_state(), state.thread_local_state, chain)


class _State:
    """JAX's place of the hook. What it sets there goes on being called, after ours."""

    def __init__(self, state, chain):
        self._state, self._chain = state, chain

    def __getattr__(self, name):
        return getattr(self._state, name)

    def set_global(self, hook):
        self._state.set_global(self._chain(hook))

    def set_local(self, hook):
        self._state.set_local(self._chain(hook))


def _hook_older(a, everywhere, here, chain):
    """Releases whose hook is an attribute: it is looked at again after a change of an option that sets it, and once per second."""
    last = 0.0
    clock = __import__("time").monotonic

    def watch(at_once=False):
        nonlocal last
        if clock() - last < 1.0 and not at_once:
            return
        last = clock()
        for state in (everywhere, here()):
            hook = state.post_hook
            if not getattr(hook, "_is_podprof", False) and (hook is not None or state is everywhere):
                state.post_hook = chain(hook)

    def after(changes):
        def changed(value):
            changes(value)
            watch(True)

        return changed

    a.watch = watch
    config = sys.modules["jax._src.config"]
    for option in (config.debug_nans, config.debug_infs):
        option._update_global_hook = after(option._update_global_hook)
        option._update_thread_local_hook = after(option._update_thread_local_hook)
    everywhere.post_hook = chain(everywhere.post_hook)


def _wrap_misses(a):
    pjit = a.pjit
    if hasattr(pjit, "_run_python_pjit"):
        pjit._run_python_pjit = a.misses(pjit._run_python_pjit, 2)
    else:
        pjit._python_pjit_helper = a.misses(pjit._python_pjit_helper, 0)
    pjit._infer_params = a.traces(pjit._infer_params)


def _wrap_compiled(a):
    """Functions compiled ahead: lower().compile()."""
    cls = sys.modules["jax._src.stages"].Compiled
    call, a.ahead = cls.__call__, cls

    @functools.wraps(call)
    def __call__(self, *args, **kwargs):
        if a.marks.is_dead:
            return call(self, *args, **kwargs)
        begin = a.shim.now()
        result = call(self, *args, **kwargs)
        try:
            if a.core.trace_state_clean():
                a.called(self, args, kwargs, result, begin, a.shim.now())
        except Exception as error:
            a.marks.failed(error)
        return result

    cls.__call__ = __call__


def _wrap_compiling(a):
    for module, name, what in (("jax._src.interpreters.mlir", "lower_jaxpr_to_module", "lower"), ("jax._src.compiler", "compile_or_get_cached", "compile")):
        module = sys.modules[module]
        setattr(module, name, a.compiles(getattr(module, name), what))


def _wrap_ranks(a):
    cls = sys.modules["jax._src.distributed"].State
    initialize = cls.initialize

    @functools.wraps(initialize)
    def joined(self, *args, **kwargs):
        result = initialize(self, *args, **kwargs)
        try:
            if isinstance(self.num_processes, int) and self.num_processes > 0:
                a.marks.joins(self.process_id, self.num_processes)
        except Exception as error:
            a.marks.failed(error)
        return result

    cls.initialize = joined


def _wrap_annotations(a):
    profiler = sys.modules["jax._src.profiler"]
    plain, steps = profiler.TraceAnnotation, profiler.StepTraceAnnotation
    enter, leave, make = plain.__enter__, plain.__exit__, plain.__init__

    @functools.wraps(make)
    def __init__(self, name, *args, **kwargs):
        make(self, name, *args, **kwargs)
        own = sys._getframe(1).f_globals.get("__name__", "").startswith("jax._src.") and kwargs.get("_r") != 1
        self._podprof = [None if own else name, kwargs.get("step_num"), kwargs.get("_r") == 1, False]

    def enters(this):
        name, number, is_step, _ = this
        if is_step:
            a.marks.begin(ANNOTATION, "jax: StepTraceAnnotation", 0, number if type(number) is int else None)
        elif name is not None and a.marks.allows() and a.api.recording():
            a.api.range_push(str(name).encode("utf-8", "replace").replace(b"\0", b" "), 0)
            this[3] = True

    def leaves(this):
        if this[2]:
            if a.marks.takes(ANNOTATION):
                a.marks.end()
        elif this[3]:
            this[3] = False
            a.api.range_pop()

    enters, leaves = a.marks.guard(enters), a.marks.guard(leaves)

    @functools.wraps(enter)
    def __enter__(self):
        result = enter(self)
        enters(self._podprof)
        return result

    @functools.wraps(leave)
    def __exit__(self, *args):
        leaves(self._podprof)
        return leave(self, *args)

    plain.__init__, plain.__enter__, plain.__exit__ = __init__, __enter__, __exit__
    if not issubclass(steps, plain):
        raise TypeError("StepTraceAnnotation is no TraceAnnotation")
    _wrap_annotate(a, sys.modules["jax.profiler"])


def _wrap_annotate(a, public):
    """The program's own functions; those that JAX annotates itself use the original."""
    annotate = public.annotate_function

    @functools.wraps(annotate)
    def annotate_function(func, name=None, **words):
        label = (name or getattr(func, "__qualname__", "") or getattr(func, "__name__", "")).encode("utf-8", "replace")
        inner = annotate(func, name, **words)

        @functools.wraps(inner)
        def annotated(*args, **kwargs):
            pushed = False
            try:
                if a.marks.allows() and a.api.recording():
                    a.api.range_push(label, 0)
                    pushed = True
            except Exception as error:
                a.marks.failed(error)
            try:
                return inner(*args, **kwargs)
            finally:
                if pushed:
                    a.api.range_pop()

        return annotated

    public.annotate_function = annotate_function


def _wrap_profiler(a):
    _profiler.wrap_jax(a.marks, a.jax, lambda: a.repeats.known)


def _watch_memory(a):
    _device_memory.watch_jax(a.marks, a.jax, lambda: a.repeats.known)


_adapter = None


def adapter():
    return _adapter


def install(jax):
    """Right after the import of jax."""
    global _adapter
    found = marks()
    if found is None or _adapter is not None:
        return
    _adapter = made = Jax(jax, found)
    sys.modules["jax._src.traceback_util"].register_exclusion(__file__)  # JAX leaves its frames out of tracebacks, and these
    sys.modules["jax._src.traceback_util"].register_exclusion(_jax_waits.__file__)
    for part in (_hook_calls, _wrap_misses, _wrap_compiled, _wrap_compiling, _wrap_ranks, _wrap_annotations, _jax_waits.wrap, _wrap_profiler, _watch_memory):
        try:
            part(made)
        except Exception as error:
            made.missing.append("%s (%s: %s)" % (part.__name__.strip("_"), type(error).__name__, error))
    if made.missing:
        found.say("this release of JAX is not as podprof knows it: %s" % "; ".join(made.missing))
    atexit.register(found.guard(made.repeats.finish))

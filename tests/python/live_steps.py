#!/usr/bin/python3
"""Steps of loops of Keras, JAX and TensorFlow: the adapters with modules that have the frameworks' surface and no more, and a door that notes
what comes through it. Each case runs in a process of its own. Run by ctest python_live_steps: live_steps.py SHIM_DIRECTORY [CASE]."""
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import types


class Door:
    """Notes marks; ticks count up. It is the table of the shim and that of podprof.h."""

    def __init__(self):
        self.marks, self.rules, self.said, self.open, self.ranges, self.tick, self.explicit, self.joined = [], [], [], [], [], 100, 0, None
        self.executions, self.began, self.waits = [], [], []
        self.is_on, self.place, self.counters = True, "", []

    def now(self):
        self.tick += 1
        return self.tick

    def state(self):
        return 1 | 2 * self.is_on | 4 * self.explicit

    claim = state

    def spool(self):
        return self.place.encode()

    def rank(self):
        return 3

    def claim_group(self, rank, size, own):
        self.joined = rank, size
        return self.state()

    def recording(self):
        return 1

    def step_begin(self, number, tick):
        assert tick <= self.tick
        self.marks.append([number, tick or self.now(), 0])
        return self.state()

    def step_end(self):
        return self.step_end_at(self.now())

    def step_end_at(self, tick):
        assert tick <= self.tick
        self.marks[-1][2] = tick
        return self.state()

    def step_rule(self, text):
        self.rules.append(text.decode())

    def range_push(self, name, category):
        self.open.append(name.decode())
        self.ranges.append((name.decode(), category))

    def range_pop(self):
        self.open.pop()

    def say(self, text):
        self.said.append(text.decode())

    def remark(self, text):
        pass

    def finish(self, status):
        pass

    def counter(self, name, value):
        self.counters.append((name.decode(), value))

    def is_edge(self, number):
        return 0

    def group(self, name, size, members):
        assert list(members) == list(range(size))
        return 77

    def execution(self, group, sequence, tick, request):
        assert group == 77 and 0 < tick <= self.tick and request
        self.executions.append((sequence, request))
        self.began.append(tick)

    def waited(self, begin, end, first, last):
        assert 0 < begin <= end <= self.tick
        self.waits.append((first, last))


def module(name, **things):
    made = types.ModuleType(name)
    made.__dict__.update(things)
    sys.modules[name] = made
    return made


def whole(n, rule):
    """n steps, numbered from 0, by this rule, whose ticks rise; one more may have begun."""
    numbers, ticks = [m[0] for m in DOOR.marks], [m[1] for m in DOOR.marks]
    assert numbers in (list(range(n)), list(range(n + 1))), (numbers, n)
    assert len(numbers) == n or not DOOR.marks[-1][2], DOOR.marks
    assert ticks == sorted(set(ticks)), ticks
    assert all(a[2] <= b[1] for a, b in zip(DOOR.marks, DOOR.marks[1:])), DOOR.marks
    assert DOOR.rules == [rule], DOOR.rules
    assert not DOOR.said and not DOOR.open, (DOOR.said, DOOR.open)


# Keras


def keras_list():
    names = ["train_begin", "train_end", "epoch_begin", "epoch_end", "train_batch_begin", "train_batch_end", "test_begin", "test_end",
             "test_batch_begin", "test_batch_end", "predict_begin", "predict_end", "predict_batch_begin", "predict_batch_end"]
    cls = type("CallbackList", (), {"on_" + n: (lambda self, *args, n=n: n) for n in names})
    from _podprof import _keras

    _keras.install(module("keras.src.callbacks.callback_list", CallbackList=cls))
    return cls, _keras


def evaluates(calls, batches):
    calls.on_test_begin()
    for i in range(batches):
        calls.on_test_batch_begin(i)
        calls.on_test_batch_end(i)
    calls.on_test_end()


def fits(cls, epochs, batches, known=True):
    calls = cls()
    assert calls.on_train_begin() == "train_begin"
    for epoch in range(epochs):
        calls.on_epoch_begin(epoch)
        for i in range(batches + (0 if known or epoch else 1)):
            calls.on_train_batch_begin(i)
            if i < batches:
                assert calls.on_train_batch_end(i) == "train_batch_end"
        evaluates(cls(), 3)
        calls.on_epoch_end(epoch)
    calls.on_train_end()


def keras_fit():
    cls, _ = keras_list()
    evaluates(cls(), 30)
    fits(cls, 3, 6)
    DOOR.now()
    fits(cls, 1, 4)
    whole(22, "keras: fit")
    assert all(m[2] for m in DOOR.marks[5::6][:3]), "epochs end"
    assert ("keras: next batch", 6) in DOOR.ranges and ("keras: evaluate", 9) in DOOR.ranges, set(DOOR.ranges)


def keras_input_of_unknown_length():
    """Keras begins a batch that does not come, in the first epoch."""
    cls, _ = keras_list()
    fits(cls, 3, 5, known=False)
    whole(15, "keras: fit")


def keras_predicts():
    cls, adapter = keras_list()
    calls = cls()
    for _ in range(2):
        calls.on_predict_begin()
        for i in range(5):
            calls.on_predict_batch_begin(i)
            calls.on_predict_batch_end(i)
        calls.on_predict_end()
    assert not DOOR.marks
    adapter._loop.finish()
    whole(10, "keras: predict")


def keras_of_another_release():
    """What it lacks is said by the caller, once; the rest is there."""
    from _podprof import _keras

    try:
        _keras.install(module("keras.src.callbacks.callback_list", CallbackList=type("CallbackList", (), {})))
    except AttributeError as error:
        assert "on_train_begin" in str(error)


def program_that_marks():
    DOOR.explicit = 1
    cls, _ = keras_list()
    fits(cls, 1, 5)
    assert not DOOR.marks


# JAX


class Array:
    is_fully_addressable, is_there = False, True

    def block_until_ready(self):
        Array.is_there = True
        return self

    def is_ready(self):
        return Array.is_there

    def item(self):
        return 3

    @property
    def _value(self):
        return 4


class State:
    value = None

    def set_global(self, hook):
        State.value = hook

    def set_local(self, hook):
        State.value = hook


class Jit:
    """A jitted function: traced and run in Python the first time; JAX's C++ calls the hook after the others."""

    def __init__(self, fun, equations):
        self._fun, self.equations, self.is_known = fun, equations, False
        self.__name__ = fun.__name__

    def __call__(self, *args):
        if self.is_known:
            result = self._fun(*args)
            if State.value is not None:
                State.value(self, args, {}, result)
            return result
        self.is_known, pjit = True, sys.modules["jax._src.pjit"]
        p, flat = pjit._infer_params(self._fun, self, args, {})
        return pjit._run_python_pjit(p, flat, self._fun, args, {})[0]


def fake_jax():
    def leaves(tree):
        items = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (list, tuple)) else None
        return [tree] if items is None else [leaf for item in items for leaf in leaves(item)]

    def infer(fun, jit, args, kwargs):
        equation = types.SimpleNamespace(params={})
        return types.SimpleNamespace(params={"jaxpr": types.SimpleNamespace(eqns=[equation] * jit.equations)}), args

    def run(p, flat, fun, args, kwargs):
        return (fun(*args),)

    def nothing(*args, **kwargs):
        return None

    class Compiled:
        def __call__(self, *args, **kwargs):
            return Array()

    Compiled.__module__ = "jax._src.stages"

    class Distributed:
        process_id, num_processes = 3, 4
        initialize = nothing

    class TraceAnnotation:
        def __init__(self, name, **kwargs):
            self.name = name

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    class StepTraceAnnotation(TraceAnnotation):
        def __init__(self, name, **kwargs):
            super().__init__(name, _r=1, **kwargs)

    def ready(x):
        return x

    cpu = types.SimpleNamespace(platform="cpu", id=0, memory_stats=lambda: None)
    jax = module("jax", default_backend=lambda: "cpu", block_until_ready=ready, device_put=ready, local_devices=lambda: [cpu])
    module("jax._src.core", trace_state_clean=lambda: True)
    module("jax._src.pjit", _infer_params=infer, _run_python_pjit=run)
    module("jax._src.api", _post_hook_state=State(), block_until_ready=ready, device_put=ready)
    module("jax._src.array", ArrayImpl=Array)
    module("jax._src.tree_util", tree_leaves=leaves)
    module("jax._src.stages", Compiled=Compiled)
    module("jax._src.interpreters.mlir", lower_jaxpr_to_module=nothing)
    module("jax._src.compiler", compile_or_get_cached=nothing)
    module("jax._src.distributed", State=Distributed, global_state=Distributed)
    module("jax._src.traceback_util", register_exclusion=nothing)
    module("jax._src.profiler", TraceAnnotation=TraceAnnotation, StepTraceAnnotation=StepTraceAnnotation)
    module("jax.profiler", annotate_function=lambda func, name=None, **words: func)
    return jax


def jax_adapter(jax=None):
    from _podprof import _jax

    _jax.install(jax or fake_jax())
    return _jax.adapter()


def jax_functions():
    def own(x):
        return Array()

    own.__module__ = "jax._src.numpy"

    def train(state, x):
        return Array(), Array()

    def evaluate(state, x):
        return Array()

    return Jit(own, 900), Jit(train, 50), Jit(evaluate, 20)


def jax_loop():
    """Operators outside of jit and an evaluation, before the training and in it, are no steps."""
    adapter = jax_adapter()
    own, train, evaluate = jax_functions()
    state = Array()
    for i in range(3):
        own(Array())
        evaluate(state, Array())
    for i in range(30):
        own(Array())
        state, loss = train(state, Array())
        own(loss)
        if i % 10 == 9:
            for _ in range(7):
                evaluate(state, Array())
    adapter.repeats.finish()
    whole(30, "jax: train")
    assert ("jax: trace train", 8) in DOOR.ranges, set(DOOR.ranges)


def jax_accumulates():
    """Gradients of four parts, then one update: the update carries on."""
    adapter = jax_adapter()

    def gradient(state, x):
        return Array()

    def update(state, gradients):
        return Array()

    gradient, update, state = Jit(gradient, 80), Jit(update, 5), Array()
    for _ in range(12):
        state = update(state, [gradient(state, Array()) for _ in range(4)])
    adapter.repeats.finish()
    whole(12, "jax: update")


def jax_short():
    """Known at the end."""
    adapter = jax_adapter()
    own, train, _ = jax_functions()
    state = Array()
    for _ in range(4):
        state, loss = train(state, Array())
    assert not DOOR.marks
    adapter.repeats.finish()
    whole(4, "jax: train")


def jax_infers():
    adapter = jax_adapter()
    _, _, evaluate = jax_functions()
    state = Array()
    for _ in range(20):
        evaluate(state, Array())
    adapter.repeats.finish()
    whole(20, "jax: evaluate")


def jax_two_phases():
    adapter = jax_adapter()
    _, one, _ = jax_functions()
    _, two, _ = jax_functions()
    state = Array()
    for train in (one, two):
        for _ in range(20):
            state, _ = train(state, Array())
    adapter.repeats.finish()
    whole(40, "jax: train")


def jax_window():
    """A window of steps must not be missed: the steps are known before it."""
    os.environ["PODPROF_STEPS"] = "4:6"
    adapter = jax_adapter()
    _, train, _ = jax_functions()
    state = Array()
    for i in range(9):
        state, _ = train(state, Array())
        assert bool(DOOR.marks) == (i >= 2) and (i < 2 or len(DOOR.marks) == i + 2), (i, DOOR.marks)
    adapter.repeats.finish()
    whole(9, "jax: train")


def jax_memory():
    """Of devices that count it: CPUs do not."""
    adapter = jax_adapter()
    _, train, _ = jax_functions()
    gpu, state = types.SimpleNamespace(platform="gpu", id=1, memory_stats=lambda: {"bytes_in_use": 7, "peak_bytes_in_use": 9, "num_allocs": 3}), Array()
    cpu, = adapter.jax.local_devices()
    adapter.jax.local_devices = lambda: [cpu, gpu]
    for _ in range(20):
        state, _ = train(state, Array())
    whole(20, "jax: train")
    assert DOOR.counters[:2] == [("jax: gpu:1 memory in use", 7.0), ("jax: gpu:1 memory in use peak", 9.0)], DOOR.counters
    assert len(DOOR.counters) == 2 * len(DOOR.marks), (len(DOOR.counters), len(DOOR.marks))


class Session:
    """A session of JAX's profiler: a second one starts, and its stop() raises."""

    on, made = 0, 0

    def __init__(self, options):
        self.options, self.is_second = options, Session.on > 0
        Session.on, Session.made = Session.on + 1, Session.made + 1

    def stop(self):
        Session.on -= 1
        if self.is_second:
            raise RuntimeError("ALREADY_EXISTS")
        return b"%d %d" % (self.options.host_tracer_level, self.options.python_tracer_level)


class Named:
    """An annotation, of JAX or of TensorFlow."""

    names = []

    def __init__(self, name):
        Named.names.append(name)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass

    @staticmethod
    def is_enabled():
        return Session.on > 0


def with_profiler(steps=True):
    """A loop of JAX with --framework-trace, its module, and the files of the spool once ours has ended."""
    DOOR.place, DOOR.is_on = tempfile.mkdtemp(), False
    os.environ["PODPROF_FRAMEWORK_TRACE"] = "yes"
    own = types.SimpleNamespace(ProfilerSession=Session, ProfileOptions=types.SimpleNamespace, start_server=lambda port: port,
                                TraceMe=Named)
    jax = fake_jax()
    module("jax._src.lib", _profiler=own)
    adapter = jax_adapter(jax)
    _, train, _ = jax_functions()
    state = Array()

    def run(n):
        nonlocal state
        for _ in range(n):
            state, _ = train(state, Array())

    def files():
        session = adapter.marks.profiler.session
        assert session is None or session.join(10)
        names = sorted(os.listdir(DOOR.place))
        texts = [open(os.path.join(DOOR.place, name), "rb").read() for name in names]
        shutil.rmtree(DOOR.place)
        return names, texts

    run(12)
    return own, run, files


def jax_profiler():
    """Its session is that of the window."""
    own, run, files = with_profiler()
    assert not Session.made and not os.listdir(DOOR.place)
    DOOR.is_on = True
    run(3)
    assert Session.on == 1 and len(os.listdir(DOOR.place)) == 1
    DOOR.is_on = False
    run(1)
    (name,), (text,) = files()
    kind, rank, pid, begin, begin_ns, end, end_ns, error = name.replace(".", "-").rsplit("-", 1)[0].split("-")
    assert (kind, int(rank), int(pid)) == ("rank", 3, os.getpid()) and name.endswith(".xspace"), name
    assert int(begin) < int(end) and int(begin_ns) < int(end_ns) and 0 < int(error) < 10, name
    assert Named.names == ["podprof: thread %d" % threading.get_native_id()], Named.names
    assert text == b"1 0" and Session.on == 0 and Session.made == 1 and not DOOR.said, (text, DOOR.said)


def jax_profiler_of_the_program():
    """The program's own in a window of ours, and ours while its own is on."""
    own, run, files = with_profiler()
    DOOR.is_on = True
    run(2)
    theirs = own.ProfilerSession(types.SimpleNamespace(host_tracer_level=2, python_tracer_level=1))
    assert Session.on == 1 and [x for x in os.listdir(DOOR.place) if x.endswith(".xspace")]
    DOOR.is_on = False
    run(2)
    DOOR.is_on = True
    run(2)
    assert theirs.stop() == b"2 1" and Session.made == 2
    names, _ = files()
    assert len(names) == 1 and DOOR.said == ["--framework-trace: the program began its own profiler in the window",
                                             "--framework-trace: the program's own profiler is on"], (names, DOOR.said)


def tensorflow_profiler():
    """Its XSpace comes as a file in a directory, which is removed; a session of the program that is on before ours."""
    class AlreadyExistsError(Exception):
        pass

    class Own:
        on = False

        def start(self, place, options):
            if Own.on:
                raise AlreadyExistsError
            Own.on, self.place, self.options = True, place, options

        def export_to_tb(self):
            Own.on = False
            os.makedirs(self.place + "/plugins/profile/date")
            with open(self.place + "/plugins/profile/date/host.xplane.pb", "w") as f:
                f.write("%(host_tracer_level)d %(python_tracer_level)d" % self.options)

    own, run, files = with_profiler()
    pywrap = types.SimpleNamespace(ProfilerSession=Own, start_server=lambda port: None)
    train = tensorflow_function()[0]("train")
    train(1)
    adapter = sys.modules["_podprof._marks"].marks().profiler
    from _podprof import _profiler

    adapter.ways.clear()
    module("tensorflow.python.profiler.trace", Trace=Named)
    _profiler.install(types.SimpleNamespace(_pywrap_profiler=pywrap))
    DOOR.is_on = True
    run(2)
    assert Own.on and not Session.made
    theirs = pywrap.ProfilerSession()
    assert not Own.on and len([x for x in os.listdir(DOOR.place) if x.endswith(".xspace")]) == 1
    theirs.start(DOOR.place + "/theirs", {})
    DOOR.is_on = False
    run(2)
    DOOR.is_on = True
    run(2)
    names, texts = files()
    assert texts == [b"2 0"] and Own.on, (names, texts)
    assert DOOR.said == ["--framework-trace: the program began its own profiler in the window",
                         "--framework-trace: the program's own profiler is on"], DOOR.said


def jax_profiler_server():
    own, run, files = with_profiler()
    assert own.start_server(9999) == 9999
    DOOR.is_on = True
    run(2)
    assert not Session.made and DOOR.said == ["--framework-trace: the program has started a profiler server of its own"], DOOR.said


def jax_profiler_fails():
    """The keeper gets the reason instead of the file; a session that does not start costs nothing."""
    own, run, files = with_profiler()
    stop, Session.stop = Session.stop, lambda self: {}["gone"]
    DOOR.is_on = True
    run(2)
    DOOR.is_on = False
    run(2)
    names, texts = files()
    assert len(names) == 1 and names[0].endswith(".failed") and texts == [b"KeyError: 'gone'"], (names, texts)
    Session.stop, Session.on, DOOR.is_on = stop, 0, True  # there is no spool any more
    run(2)
    assert Session.made == 1, Session.made
    assert len(DOOR.said) == 1 and "FileNotFoundError" in DOOR.said[0], DOOR.said


def jax_profiler_without_window():
    """A job that records from its begin on: it would go on for ever."""
    DOOR.is_on = True
    own, run, files = with_profiler()
    adapter = sys.modules["_podprof._marks"].marks().profiler
    adapter.was_off = adapter.is_recording = False
    DOOR.is_on = True
    run(2)
    assert not Session.made and DOOR.said == ["--framework-trace: it needs a window: --steps, or podprof capture"], DOOR.said


def jax_hook_of_the_program():
    """jax_debug_nans sets a hook of its own and clears it."""
    adapter = jax_adapter()
    _, train, _ = jax_functions()
    state, seen, place = Array(), [], sys.modules["jax._src.api"]._post_hook_state
    for i in range(20):
        if i == 6:
            place.set_global(lambda *args: seen.append(args))
        if i == 9:
            place.set_local(None)
        state, _ = train(state, Array())
    adapter.repeats.finish()
    whole(20, "jax: train")
    assert len(seen) == 3, len(seen)


def jax_annotations():
    jax_adapter()
    profiler = sys.modules["jax._src.profiler"]
    _, train, _ = jax_functions()
    state = Array()
    for i in range(10):
        with profiler.StepTraceAnnotation("train", step_num=i):
            with profiler.TraceAnnotation("mine"):
                state, _ = train(state, Array())
    whole(10, "jax: StepTraceAnnotation")
    assert all(m[2] for m in DOOR.marks) and ("mine", 0) in DOOR.ranges


def jax_compiled_ahead():
    adapter = jax_adapter()
    compiled = sys.modules["jax._src.stages"].Compiled()
    compiled.__class__.__name__ = "ahead"
    state = Array()
    for _ in range(10):
        state = compiled(state, Array())
    adapter.repeats.finish()
    whole(10, "jax: ahead")


def jax_ranks():
    jax_adapter()
    sys.modules["jax._src.distributed"].State().initialize("host:1", 4, 3)
    assert DOOR.joined == (3, 4), DOOR.joined


def jax_waits():
    """An execution is complete when a wait has seen a result of it, or of a later one; a wait for something else completes none."""
    adapter = jax_adapter()
    _, train, _ = jax_functions()
    state = Array()
    for i in range(21):
        Array.is_there = False
        state, loss = train(state, Array())
        assert loss.item() == 3 and loss._value == 4
        if i % 4 == 0:
            assert loss.block_until_ready() is loss
    adapter.repeats.finish()
    whole(21, "jax: train")
    assert DOOR.executions == [(n, n + 1) for n in range(21)], DOOR.executions
    assert DOOR.waits == [(1, 1), (2, 5), (6, 9), (10, 13), (14, 17), (18, 21)], DOOR.waits
    assert ("jax: wait for results", 4) in DOOR.ranges


def jax_runs_in_the_call():
    """On CPUs the result of a small function is there when the call returns: it has waited, at most since data were placed for it."""
    jax_adapter()
    jax, (_, train, _) = sys.modules["jax"], jax_functions()
    state, placed, Array.is_there = Array(), [], True
    for _ in range(12):
        x = jax.device_put(Array())
        placed.append(DOOR.tick)
        state, _ = train(state, x)
    whole(12, "jax: train")
    assert DOOR.executions == [(n, n + 1) for n in range(12)] and DOOR.waits == [(n, n) for n in range(1, 13)], (DOOR.executions, DOOR.waits)
    assert DOOR.began == placed, (DOOR.began, placed)


def jax_of_another_release():
    """One sentence, and the program goes on."""
    jax = fake_jax()
    del sys.modules["jax._src.stages"].Compiled, sys.modules["jax._src.pjit"]._infer_params
    adapter = jax_adapter(jax)
    assert not DOOR.said, "it is no rank yet"
    _, train, _ = jax_functions()
    train.is_known, state = True, Array()
    for _ in range(10):
        state, _ = train(state, Array())
    assert len(DOOR.said) == 1 and "wrap_compiled" in DOOR.said[0] and "wrap_misses" in DOOR.said[0], DOOR.said
    DOOR.said.clear()
    adapter.repeats.finish()
    whole(10, "jax: train")


def keras_on_jax():
    """The loop of Keras is the rule, not the function that it calls."""
    jax_adapter()
    cls, _ = keras_list()
    _, train, _ = jax_functions()
    calls, state = cls(), Array()
    calls.on_train_begin()
    calls.on_epoch_begin(0)
    for i in range(20):
        calls.on_train_batch_begin(i)
        state, _ = train(state, Array())
        calls.on_train_batch_end(i)
    calls.on_epoch_end(0)
    calls.on_train_end()
    whole(20, "keras: fit")


# TensorFlow


def tensorflow_function():
    module("tensorflow", config=types.SimpleNamespace(list_logical_devices=lambda kind: [], experimental=types.SimpleNamespace(get_memory_info=None)))

    class Function:
        def __init__(self, name, inner=None, length=1):
            self._name, self.inner, self.length = name, inner, length

        def __call__(self, *args):
            DOOR.tick += self.length
            return self.inner and self.inner(*args)

        def _initialize(self):
            return None

    from _podprof import _tensorflow

    _tensorflow.install(module("tensorflow.python.eager.polymorphic_function.polymorphic_function", Function=Function))
    return Function, _tensorflow


def tensorflow_loop():
    """The outermost function with most time."""
    os.environ["TF_CONFIG"] = '{"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}}'
    function, adapter = tensorflow_function()
    inner = function("inner")
    step, evaluate = function("step", inner, 90), function("evaluate", None, 20)
    for i in range(25):
        step(1)
        if i % 5 == 4:
            evaluate(1)
    adapter._adapter.repeats.finish()
    whole(25, "tensorflow: step")
    assert DOOR.joined == (2, 3), DOOR.joined
    assert len(DOOR.executions) == len(DOOR.waits) == 17, DOOR.executions


def tensorflow_members():
    from _podprof._tensorflow import member

    for text, want in (("", None), ("[]", None), ('{"cluster": 3}', None), ('{"task": {"type": "worker", "index": "x"}}', None),
                       ('{"cluster": {"worker": ["a", "b"]}, "task": {"type": "worker", "index": 1}}', (1, 2)),
                       ('{"cluster": {"worker": ["a"], "ps": ["b"]}, "task": {"type": "ps", "index": 0}}', None),
                       ('{"cluster": {"worker": ["a"], "chief": ["b"]}, "task": {"type": "chief", "index": 0}}', (0, 2))):
        assert member(text) == want, (text, member(text))


CASES = [keras_fit, keras_input_of_unknown_length, keras_predicts, keras_of_another_release, program_that_marks, jax_loop, jax_accumulates, jax_short,
         jax_infers, jax_two_phases, jax_window, jax_hook_of_the_program, jax_annotations, jax_memory, jax_profiler, jax_profiler_of_the_program,
         jax_profiler_server, jax_profiler_fails, jax_profiler_without_window, jax_compiled_ahead, jax_ranks, jax_waits, jax_runs_in_the_call,
         jax_of_another_release,
         keras_on_jax, tensorflow_loop, tensorflow_profiler, tensorflow_members]


def install(where):
    package = types.ModuleType("_podprof")
    package.__path__ = [os.path.join(where, "podprof")]
    sys.modules["_podprof"] = package
    from _podprof import _library

    door = Door()
    _library.api = _library.shim = lambda: door
    return door


def main():
    failed = 0
    env = {k: v for k, v in os.environ.items() if k not in ("PODPROF_STEPS", "TF_CONFIG")}
    for case in CASES:
        got = subprocess.run([sys.executable, "-B", __file__, sys.argv[1], case.__name__], capture_output=True, text=True, check=False, env=env)
        failed += got.returncode != 0
        print("%-32s %s" % (case.__name__, "FAILED\n" + got.stdout + got.stderr if got.returncode else "ok"))
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        DOOR = install(sys.argv[1])
        globals()[sys.argv[2]]()
        os._exit(0)
    sys.exit(main())

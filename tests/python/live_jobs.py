#!/usr/bin/python3
"""Loops of Keras, JAX and TensorFlow that know nothing of podprof, with these frameworks: as without podprof, and their steps are those of the
program. PODPROF_FRAMEWORKS_PYTHON has them; what it lacks is skipped. Run by ctest python_live."""
import os
import socket
import sys

from pythons import check, jobs, write

import e2e  # noqa: E402

PYTHON = os.environ.get("PODPROF_FRAMEWORKS_PYTHON", "")
LIMIT = 240.0
QUIET = {"TF_CPP_MIN_LOG_LEVEL": 3, "TF_ENABLE_ONEDNN_OPTS": 0, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": 1}
KERAS = """
import sys
import keras
import numpy as np
keras.utils.set_random_seed(1)
x, y = np.random.rand(96, 8).astype("float32"), np.random.rand(96, 1).astype("float32")
steps = []
class Count(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        steps.append(batch)
def some():
    for i in range(6):
        yield x[i * 16:i * 16 + 16], y[i * 16:i * 16 + 16]
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(x, y, epochs=2, batch_size=16, validation_data=(x, y), verbose=0, callbacks=[Count()])
history = model.fit(some(), epochs=1, verbose=0, callbacks=[Count()]).history
model.predict(x, verbose=0)
print(len(steps), history["loss"][0])
"""
JAX = """
import jax
import jax.numpy as jnp
import numpy as np
parameters = {"a": jax.random.normal(jax.random.key(0), (8, 16)), "b": jnp.zeros((16, 1))}
def loss(p, x, y):
    return jnp.mean((jax.nn.relu(x @ p["a"]) @ p["b"] - y) ** 2)
@jax.jit
def train(p, x, y):
    value, g = jax.value_and_grad(loss)(p, x, y)
    return jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, p, g), value
evaluate = jax.jit(loss)
data, steps = np.random.default_rng(1), 0
for epoch in range(2):
    for _ in range(12):
        x = data.normal(size=(32, 8)).astype("float32")
        parameters, value = train(parameters, x, x[:, :1])
        steps += 1
        if steps % 5 == 0:
            print(float(value))
    for _ in range(4):
        evaluate(parameters, x, x[:, :1]).block_until_ready()
print(steps)
"""
TWO = """
import os
import sys
import time
import jax
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 2, rank)
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("d",))
parts, whole = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())
@jax.jit
def train(w, x):
    value, g = jax.value_and_grad(lambda w, x: jnp.mean((x @ w) ** 2))(w, x)
    return w - 0.01 * g, value
def batches():
    for i in range(40):
        if rank == 1:
            time.sleep(0.08)
        yield np.full((16, 32), 0.1 * i, np.float32)
w = jax.device_put(np.ones((32, 32), np.float32), whole)
for x in batches():
    w, value = train(w, jax.make_array_from_process_local_data(parts, x))
    last = float(value)
print(last)
"""
# Each process maps its own data; the slow one gives no data to JAX before its call.
MAPPED = """
import os
import sys
import time
import jax
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 2, rank)
import jax.numpy as jnp
import numpy as np
def train(w, x):
    value, g = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.01 * jax.lax.pmean(g, "d"), jax.lax.pmean(value, "d")
mapped = jax.pmap(train, axis_name="d")
def batches():
    for i in range(40):
        if rank == 1:
            time.sleep(0.08)
        yield np.full((1, 16, 32), 0.1 * i, np.float32)
w = np.ones((1, 32, 8), np.float32)
for x in batches():
    w, value = mapped(w, x)
print(float(value[0]))
"""
TENSORFLOW = """
import tensorflow as tf
w = tf.Variable(tf.ones((8, 1)))
@tf.function
def gradient(x):
    with tf.GradientTape() as tape:
        value = tf.reduce_mean((x @ w) ** 2)
    return value, tape.gradient(value, w)
@tf.function
def train(x):
    value, g = gradient(x)
    w.assign_sub(0.1 * g)
    return value
steps = 0
for batch in tf.data.Dataset.from_tensor_slices(tf.random.stateless_normal((600, 8), (1, 2))).batch(30):
    value = train(batch)
    steps += 1
print(steps, float(value))
"""


def has(*names):
    return all(jobs.has_module(PYTHON, name) for name in names)


def loop(place, name, text, rule, env=None):
    """As without podprof; the last line begins with the number of steps."""
    command, env = [PYTHON, write(place, "loop_" + name + ".py", text)], {**QUIET, **(env or {})}
    logs = place.new_logs()
    base, got = jobs.run(command, env, LIMIT), jobs.run(place.under(logs, command), env, LIMIT)
    check(base.code == 0, base.transcript())
    check((got.code, got.out) == (base.code, base.out), f"{name}: {got.transcript()}\ninstead of {base.out}")
    check(not [x for x in got.podprof_lines() if "adapter" in x or "is not as podprof knows it" in x], got.err)
    session, steps = jobs.session_of(logs), int(base.out.split("\n")[-2].split()[0])
    with e2e.h5(session) as f:
        check(list(f["breakdown/step"][()]) == list(range(steps)), f"{name}: steps {f['breakdown/step'][()]} instead of {steps}")
        check(e2e.text(f["worker/step_rule"][()][0]) == rule, f"rule {f['worker/step_rule'][()]}")
        check("jax" not in rule or "Compilation" in {e2e.text(c) for c in f["op/category"][()]}, f"{name}: no compilation")
        return {e2e.text(n) for n in f["op/name"][()]}


def keras(place, full):
    """On each backend that is there: batches of fit() are steps, of validation and predict() are not."""
    backends = [b for b in ("jax", "torch", "tensorflow") if has("keras", b)]
    if not backends:
        raise jobs.Skipped("no Python with Keras and one of its backends: -DPODPROF_FRAMEWORKS_PYTHON")
    for backend in backends if full else backends[:1]:
        loop(place, "keras_" + backend, KERAS, "keras: fit", {"KERAS_BACKEND": backend})


def jax(place, full):
    if not has("jax"):
        raise jobs.Skipped("no Python with JAX: -DPODPROF_FRAMEWORKS_PYTHON")
    names = loop(place, "jax", JAX, "jax: train")
    check("jax: trace train" in names, names)


def trace(place, full):
    """JAX's own profiler in the window, also where the program starts it itself: operators of XLA in the steps, and the same output."""
    if not has("jax"):
        raise jobs.Skipped("no Python with JAX: -DPODPROF_FRAMEWORKS_PYTHON")
    theirs = JAX.replace("        steps += 1", f"""        steps += 1
        if steps == 16:
            jax.profiler.start_trace({place.new_logs()!r})
        if steps == 18:
            jax.profiler.stop_trace()""")
    for name, text, said in (("trace", JAX, 0), ("trace_theirs", theirs, 1)):
        command, logs = [PYTHON, write(place, "loop_" + name + ".py", text)], place.new_logs()
        base = jobs.run(command, QUIET, LIMIT)
        got = jobs.run(place.under(logs, command, "--steps", "12:20", "--framework-trace", "yes"), QUIET, LIMIT)
        check((got.code, got.out) == (base.code, base.out) == (0, base.out), f"{got.transcript()}\ninstead of {base.transcript()}")
        check(len([x for x in got.podprof_lines() if "the program began its own profiler" in x]) == said, got.err)
        session = jobs.session_of(logs)
        with e2e.h5(session) as f:
            check(list(f["breakdown/step"][()]) == list(range(12, 20)), f["breakdown/step"][()])
            calls = {e2e.text(n): int(c) for n, c in zip(f["op/name"][()], f["op/calls"][()])}
        check(0 < max((c for n, c in calls.items() if n.startswith("dot")), default=0) <= 8, calls)  # the last ones may run after the window
        check("--framework-trace: " in e2e.read(session, "summary.txt"), e2e.read(session, "summary.txt"))


def two(place, full):
    """The rank with slow input is named, from what the other one waits for."""
    if not has("jax"):
        raise jobs.Skipped("no Python with JAX: -DPODPROF_FRAMEWORKS_PYTHON")
    for name in ("two", "mapped") if full else ("mapped",):
        two_of(place, {"two": TWO, "mapped": MAPPED}[name], name)


def two_of(place, text, name):
    logs = place.new_logs()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    got = jobs.run(place.mpirun(2, place.under(logs, [PYTHON, write(place, f"loop_{name}.py", text), str(port)])), QUIET, LIMIT)
    check(got.code == 0 and len(set(x for x in got.out.split("\n") if x[:1].isdigit())) == 1, got.transcript())
    session = jobs.session_of(logs)
    with e2e.h5(session) as f:
        check(list(f["breakdown/step"][()]) == list(range(40)), f"steps {f['breakdown/step'][()]}")
        check((f["breakdown/present"][()] == 1).all() and set(f["worker/status"][()]) == {b"delivered"}, f["worker/status"][()])
        check(e2e.text(f["worker/step_rule"][()][0]) == "jax: train", f["worker/step_rule"][()])
    text = e2e.read(session, "summary.txt")
    check("Bottleneck: rank 1" in text, text)


def example(place, name, rule, said):
    """Two processes: losses fall, and are the same bits on both, with podprof as without. The slow one is named."""
    script, kept = os.path.join(place.examples, name, "train.py"), []
    window = "--steps", "10:25", "--framework-trace", "yes"
    for under in (False, True):
        logs, losses = place.new_logs(), os.path.join(place.scratch, f"{name}-{under}")
        command = [PYTHON, script, "--steps", "30", "--losses", losses, "--slow-input-rank", "1", "--slow-input-ms", "200"]
        got = jobs.run(place.mpirun(2, place.under(logs, command, *window) if under else command), QUIET, LIMIT)
        check(got.code == 0 and "2 ranks, 30 steps: loss " in got.out, got.transcript())
        kept += [e2e.read("", f"{losses}.{rank}") for rank in range(2)]
    check(len(set(kept)) == 1 and len(kept[0].split()) == 30, kept)
    session = jobs.session_of(logs)
    with e2e.h5(session) as f:
        check(list(f["breakdown/step"][()]) == list(range(10, 25)) and (f["breakdown/present"][()] == 1).all(), f["breakdown/present"][()])
        check({e2e.text(r) for r in f["worker/step_rule"][()]} == {rule}, f["worker/step_rule"][()])
    text = e2e.read(session, "summary.txt")
    check("Bottleneck: rank 1" in text and said in text, text)


def example_jax(place, full):
    if not has("jax"):
        raise jobs.Skipped("no Python with JAX: -DPODPROF_FRAMEWORKS_PYTHON")
    example(place, "jax_multihost", "jax: train_step", " of 2 files, whose times are within")


def example_tensorflow(place, full):
    if not full or not has("tensorflow"):
        raise jobs.Skipped("no Python with TensorFlow" if full else "its import takes seconds: PODPROF_LONG=1")
    example(place, "tf_multiworker", "tensorflow: train_step", "is not used in a job of several workers")


def tensorflow(place, full):
    if not full or not has("tensorflow"):
        raise jobs.Skipped("no Python with TensorFlow" if full else "its import takes seconds: PODPROF_LONG=1")
    loop(place, "tensorflow", TENSORFLOW, "tensorflow: train")


CASES = {"keras": keras, "jax": jax, "trace": trace, "two": two, "tensorflow": tensorflow, "example_jax": example_jax, "example_tensorflow": example_tensorflow}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))

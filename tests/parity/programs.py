"""Programs whose traces nobody has seen before: three of JAX, three of TensorFlow, one of PyTorch with every option of its profiler. Each run
writes another trace. Run by scripts/parity --fresh with a Python that has
the framework.

Usage: programs.py NAME DIR"""
import os
import sys
import time


def jax_dense(out):
    """Marked steps of a jitted function, input on the main thread."""
    import jax
    import jax.numpy as jnp
    import numpy
    weights = jnp.ones((256, 256)) * 0.01
    step = jax.jit(lambda w, x: (w - 0.001 * jnp.tanh(x @ w).T @ x, jnp.sum(x)))
    step(weights, jnp.ones((64, 256)))
    with jax.profiler.trace(out):
        for i in range(7):
            with jax.profiler.StepTraceAnnotation("train", step_num=i + 3):
                with jax.profiler.TraceAnnotation("load batch"):
                    x = numpy.random.default_rng(i).standard_normal((64, 256)).astype("f")
                weights, total = step(weights, x)
                total.block_until_ready()


def jax_scan(out):
    """No marks: a loop in one program, compiled while it is recorded, and a second program between."""
    import jax
    import jax.numpy as jnp
    with jax.profiler.trace(out):
        cell = jax.jit(lambda h: jax.lax.scan(lambda c, t: (jnp.tanh(c @ c * 0.1 + t), c.sum()), h, jnp.arange(8.0))[0])
        h = jnp.eye(96)
        for _ in range(5):
            h = cell(h)
            jnp.sort(h, axis=1).block_until_ready()


def jax_devices(out):
    """Two devices of one process, with a sum over both."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    import jax
    import jax.numpy as jnp
    step = jax.pmap(lambda x: jax.lax.psum(jnp.cos(x @ x * 0.01), "i"), axis_name="i")
    x = jnp.ones((2, 128, 128))
    step(x).block_until_ready()
    with jax.profiler.trace(out):
        for i in range(9):
            with jax.profiler.StepTraceAnnotation("step", step_num=i):
                x = step(x)
                x.block_until_ready()
                time.sleep(0.001)


def tf_fit(out):
    """Keras, with no mark."""
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.Input((32,)), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.range(320).map(lambda i: (tf.random.stateless_normal((32,), [1, i]), tf.zeros((4,)))).batch(16).prefetch(1)
    with tf.profiler.experimental.Profile(out):
        model.fit(data, epochs=1, verbose=0)


def tf_loop(out):
    """A graph function in marked steps, with a pipeline of tf.data."""
    import tensorflow as tf
    w = tf.Variable(tf.random.normal((64, 64)) * 0.1)
    step = tf.function(lambda x: w.assign_sub(0.001 * tf.matmul(x, tf.nn.relu(tf.matmul(x, w)), transpose_a=True)))
    data = iter(tf.data.Dataset.range(1000).map(lambda i: tf.random.stateless_normal((64,), [2, i]), num_parallel_calls=2).shuffle(32).batch(64).prefetch(2).repeat())
    step(next(data))
    with tf.profiler.experimental.Profile(out):
        for i in range(8):
            with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
                step(next(data))


def tf_eager(out):
    """Eager operators without a mark."""
    import tensorflow as tf
    with tf.profiler.experimental.Profile(out):
        x = tf.random.normal((64, 64))
        for _ in range(6):
            x = tf.nn.softmax(tf.matmul(x, x))
        float(tf.reduce_sum(x))


def torch_all(out):
    """Every option of torch.profiler."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function, schedule
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=4, repeat=1), record_shapes=True, profile_memory=True,
                 with_stack=True, with_flops=True, with_modules=True, on_trace_ready=torch.profiler.tensorboard_trace_handler(out)) as p:
        for _ in range(8):
            with record_function("forward"):
                loss = model(torch.randn(32, 64)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            p.step()


# name of the package first
PROGRAMS = {f.__name__: f for f in (jax_dense, jax_scan, jax_devices, tf_fit, tf_loop, tf_eager, torch_all)}

if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"], os.environ["TF_CPP_MIN_LOG_LEVEL"] = "cpu", "3"
    PROGRAMS[sys.argv[1]](sys.argv[2])

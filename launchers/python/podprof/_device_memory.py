"""What the allocators of JAX and TensorFlow hold on devices, as counters at the edges of recorded steps. In: steps, from _marks.py. Out: counters of
podprof.h. CPUs have no such allocator: nothing is recorded of them. PyTorch's is in _torch_memory.py."""
import sys

_JAX = (("memory in use", "bytes_in_use"), ("memory in use peak", "peak_bytes_in_use"), ("memory limit", "bytes_limit"))
_TENSORFLOW = (("memory in use", "current"), ("memory in use peak", "peak"))


def watch_jax(marks, jax, uses):
    devices = None

    def edge():
        nonlocal devices
        if devices is None and uses():
            devices = [(d.memory_stats, _names("jax: %s:%d " % (d.platform, d.id), _JAX)) for d in jax.local_devices() if d.memory_stats()]
        return devices is None or _count(marks, devices)

    marks.edges.append(marks.guard(edge))


def watch_tensorflow(marks, uses):
    devices = None

    def edge():
        nonlocal devices
        if devices is None and uses():
            config = sys.modules["tensorflow"].config
            of = config.experimental.get_memory_info
            devices = [(lambda n="GPU:%d" % i: of(n), _names("tensorflow: gpu:%d " % i, _TENSORFLOW))
                       for i in range(len(config.list_logical_devices("GPU")))]
        return devices is None or _count(marks, devices)

    marks.edges.append(marks.guard(edge))


def _names(prefix, rows):
    return [((prefix + name).encode(), key) for name, key in rows]


def _count(marks, devices):
    """False: there is nothing to count."""
    for stats, names in devices:
        values = stats() or {}
        for name, key in names:
            if key in values:
                marks.api.counter(name, float(values[key]))
    return bool(devices)

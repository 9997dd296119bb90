"""Counters of CUDA's caching allocator at step edges, by device, and a mark at the moment when there is not enough memory. Called by
_torch.py. It changes nothing in torch: the peaks are those since the start, or since the program reset them."""

_ALL = 16  # edges between two looks at all devices; others have only those with memory
_COUNTERS = (  # counter, keys of torch.cuda.memory_stats_as_nested_dict()
    ("allocated", "allocated_bytes", "all", "current"),
    ("active", "active_bytes", "all", "current"),
    ("reserved", "reserved_bytes", "all", "current"),
    ("allocated peak", "allocated_bytes", "all", "peak"),
    ("reserved peak", "reserved_bytes", "all", "peak"),
    ("retries", "num_alloc_retries"),
    ("out of memory", "num_ooms"),
    ("next step",),
)
_NO_STEP = 2.0**53  # as the next step: the window closes


class Memory:
    def __init__(self, torch, api, shim):
        self.torch, self.api, self.shim = torch, api, shim
        self.names = {}  # device: the names of its counters
        self.edges = 0
        self.is_watching = self.is_dead = False

    def edge(self, number):
        """A step has ended, and was recorded; the next one is `number`, None: there may be none."""
        cuda = self.torch.cuda
        if self.is_dead or not cuda.is_initialized():
            return
        if not self.is_watching:
            self.is_watching = True
            self._watch()
        devices = self.names if self.edges % _ALL else range(cuda.device_count())
        self.edges += 1
        for device in tuple(devices):
            stats = cuda.memory_stats_as_nested_dict(device)
            if stats and (device in self.names or _value(stats, _COUNTERS[2][1:])):
                self._count(device, stats, _NO_STEP if number is None or number < 0 else float(number))

    def _count(self, device, stats, number):
        names = self.names.get(device)
        if names is None:
            names = self.names[device] = tuple(("cuda:%d memory %s" % (device, row[0])).encode() for row in _COUNTERS)
        for name, row in zip(names, _COUNTERS):
            self.api.counter(name, float(_value(stats, row[1:])) if len(row) > 1 else number)

    def _watch(self):
        """Older versions of torch cannot tell the moment; the counter has it at the end of the step."""
        attach = getattr(self.torch._C, "_cuda_attach_out_of_memory_observer", None)
        if attach is not None:
            attach(self._is_out)

    def _is_out(self, device, asked, total, free):
        """Called by torch's allocator before it raises; the program may handle the error and go on."""
        try:
            text = "cuda:%d is out of memory: PyTorch asked for %.1f MiB more, the device has %.1f MiB and %.1f MiB of them were free" % (
                device, asked / 2**20, total / 2**20, free / 2**20)
            self.api.mark(text.encode())
            self.shim.remark(text.encode())
        except Exception:
            self.is_dead = True


def _value(stats, keys):
    for key in keys:
        stats = stats.get(key, 0) if isinstance(stats, dict) else 0
    return stats if not isinstance(stats, dict) else 0

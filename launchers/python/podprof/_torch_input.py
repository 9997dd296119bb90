"""Counters at step edges: how busy the DataLoader's worker processes were, and what CUDA's allocator holds. A worker that is forked
adds the time of each fetch to a page that it shares with its parent; of others nothing is known. Called by _torch.py."""
import functools
import importlib
import mmap
import os
import struct
import time

_SLOTS = 512  # worker processes at a time; eight bytes each


class Input:
    def __init__(self, torch, api):
        self.torch, self.api = torch, api
        self.page = mmap.mmap(-1, _SLOTS * 8)
        self.owner = os.getpid()
        self.base, self.next = 0, 0  # first slot of the loader that starts its workers now, and of the one after it
        self.mine = -1  # a worker's slot
        self.workers = ()  # slots of the loader in use
        self.seen, self.when = 0, 0
        fetch = importlib.import_module("torch.utils.data._utils.fetch")
        for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            fetcher.fetch = self._wrap(fetcher.fetch)

    def _wrap(self, fetch):
        add, clock = self._add, time.perf_counter_ns

        @functools.wraps(fetch)
        def wrapped(self, index):
            begin = clock()
            try:
                return fetch(self, index)
            finally:
                add(clock() - begin)

        return wrapped

    def _add(self, ns):
        """In a worker. In the parent (no workers) the time is in its own ranges."""
        try:
            if self.mine < 0:
                info = self.torch.utils.data.get_worker_info() if os.getpid() != self.owner else None
                self.mine = self.base + info.id if info else _SLOTS
            if self.mine < _SLOTS:
                at = self.mine * 8
                struct.pack_into("<Q", self.page, at, struct.unpack_from("<Q", self.page, at)[0] + ns)
        except Exception:
            self.mine = _SLOTS

    def starts(self, loader):
        """A loader may start workers: they find their slots as they are forked."""
        many = loader.num_workers
        self.base = self.next if self.next + many <= _SLOTS else 0
        self.next = self.base + many

    def uses(self, iterator):
        """A batch of it is asked for."""
        slots = iterator.__dict__.get("_podprof_slots")
        if slots is None:
            slots = ()
            for worker in getattr(iterator, "_workers", ())[:1]:
                method = getattr(worker, "_start_method", None) or self.torch.multiprocessing.get_start_method()
                if method == "fork":
                    slots = (self.base, min(iterator._num_workers, _SLOTS - self.base))
            iterator.__dict__["_podprof_slots"] = slots
        if slots != self.workers:
            self.workers, self.when = slots, 0

    def _busy(self):
        base, many = self.workers
        return sum(struct.unpack_from("<%dQ" % many, self.page, base * 8))

    def edge(self):
        """A step has ended, and was recorded."""
        now = time.perf_counter_ns()
        if self.workers:
            busy = self._busy()
            if self.when:
                share = (busy - self.seen) / max((now - self.when) * self.workers[1], 1)
                self.api.counter(b"dataloader workers busy", min(max(share, 0.0), 1.0))
            self.seen, self.when = busy, now
        cuda = self.torch.cuda
        if cuda.is_initialized():
            self.api.counter(b"cuda memory allocated", float(cuda.memory_allocated()))
            self.api.counter(b"cuda memory reserved", float(cuda.memory_reserved()))

    def begin(self):
        """Recording has gone on: what was before does not count."""
        self.when = 0
        if self.workers:
            self.seen, self.when = self._busy(), time.perf_counter_ns()

"""A counter at step edges: how busy the DataLoader's worker processes were. A forked worker
notes begin and end of each fetch in a page shared with its parent; others are not measured. Called by _torch.py."""
import functools
import importlib
import mmap
import os
import time

_SLOTS = 512  # worker processes at a time; eight bytes each


class Input:
    def __init__(self, torch, api):
        self.torch, self.api = torch, api
        self.page = memoryview(mmap.mmap(-1, _SLOTS * 8)).cast("q")  # ns at work; while at work, less its begin
        self.owner = os.getpid()
        self.base, self.next = 0, 0  # first slot of the loader that starts its workers now, and of the next
        self.mine, self.sum = -1, 0  # a worker's slot and its time
        self.workers = ()  # slots of the loader in use
        self.seen, self.when = 0, 0
        fetch = importlib.import_module("torch.utils.data._utils.fetch")
        for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            fetcher.fetch = self._wrap(fetcher.fetch)

    def become_parent(self):
        """A forked child that is a rank has workers of its own."""
        self.__dict__.update(page=memoryview(mmap.mmap(-1, _SLOTS * 8)).cast("q"), owner=os.getpid(), base=0, next=0, mine=-1, sum=0, workers=())

    def _wrap(self, fetch):
        begins, ends = self._begins, self._ends

        @functools.wraps(fetch)
        def wrapped(self, index):
            begins()
            try:
                return fetch(self, index)
            finally:
                ends()

        return wrapped

    def _begins(self):
        """In a worker. In the parent (no workers) ranges have this time, and its workers would inherit notes made here."""
        if os.getpid() == self.owner:
            return
        try:
            if self.mine < 0:
                info = self.torch.utils.data.get_worker_info()
                self.mine = self.base + info.id if info else _SLOTS
                self.sum = max(self.page[self.mine], 0) if self.mine < _SLOTS else 0
            if self.mine < _SLOTS:
                self.page[self.mine] = self.sum - time.perf_counter_ns()
        except Exception:
            self.mine = _SLOTS

    def _ends(self):
        if 0 <= self.mine < _SLOTS:
            self.sum = self.page[self.mine] = max(self.page[self.mine] + time.perf_counter_ns(), self.sum)

    def starts(self, loader):
        """A loader may start workers: they get their slots at the fork."""
        many = loader.num_workers
        self.base = self.next if self.next + many <= _SLOTS else 0
        self.next = self.base + many

    def started(self, iterator):
        """With persistent workers: called in each epoch, for the workers of the first."""
        if "_podprof_slots" in iterator.__dict__:
            return
        slots = ()
        for worker in getattr(iterator, "_workers", ())[:1]:
            method = getattr(worker, "_start_method", None) or self.torch.multiprocessing.get_start_method()
            if method == "fork":
                slots = (self.base, min(iterator._num_workers, _SLOTS - self.base))
        iterator.__dict__["_podprof_slots"] = slots

    def uses(self, iterator):
        """A batch of this loader is requested."""
        slots = iterator.__dict__.get("_podprof_slots", ())
        if slots != self.workers:
            self.workers = slots
            self.begin()

    def _busy(self, now):
        base, many = self.workers
        return sum(ns if ns >= 0 else ns + now for ns in self.page[base : base + many])

    def edge(self):
        """A step has ended, and was recorded."""
        now = time.perf_counter_ns()
        if self.workers:
            busy = self._busy(now)
            if self.when:
                share = (busy - self.seen) / max((now - self.when) * self.workers[1], 1)
                self.api.counter(b"dataloader workers busy", min(max(share, 0.0), 1.0))
            self.seen, self.when = busy, now

    def begin(self):
        """Recording has gone on: earlier time does not count."""
        self.when = 0
        if self.workers:
            self.when = time.perf_counter_ns()
            self.seen = self._busy(self.when)

"""Writes pod.h5 files as a keeper would, of any size and with any names, for the tests of the report. Used by report.py."""
import os

import h5py
import numpy as np

CATEGORIES = ["Device compute", "Device to device", "Device collective communication", "Host compute", "Kernel launch", "Input", "Output",
              "Compilation", "All others", "Host communication"]
CAUSES = ["ring_full", "no_space", "no_thread", "name_cut", "unbalanced", "bad_record", "evicted", "after_exit", "calls", "ring_cut", "keeper_gone", "device_dropped", "device_untimed", "device_reversed",
          "device_other_clock"]


class Group:
    """A group with a scale for each dimension; columns name the dimensions they have."""

    def __init__(self, file, name):
        self.group, self.scales = file.create_group(name, track_order=True), {}

    def put(self, name, dims, values, unit=""):
        values = np.asarray(values)
        if not values.size:
            return
        if values.dtype.kind != "U":
            column = self.group.create_dataset(name, data=values)
        elif self.group.file.attrs["format_version"] > 1:
            column = self.group.create_dataset(name, data=values.astype(object), dtype=h5py.string_dtype())
        else:
            column = self.group.create_dataset(name, data=np.char.encode(values, "utf-8"))
        column.attrs["long_name"] = np.bytes_(f"{name} of the test")
        if unit:
            column.attrs["units"] = np.bytes_(unit)
        if dims == [name]:
            column.make_scale(name)
            self.scales[name] = column
        else:
            for i, dim in enumerate(dims):
                column.dims[i].attach_scale(self.scales[dim])


class Pod:
    """Numbers of a made-up job: every rank works, rank `slow` works longer, all others wait for it in a collective at the step's end."""

    def __init__(self, workers=6, steps=9, first_step=100, slow=2, seed=1, categories=(4, 6, 9, 10), missing=(), hosts=2, version=2):
        self.version = version
        rng = np.random.default_rng(seed)
        self.workers, self.steps = workers, steps
        self.rank = np.arange(workers, dtype=np.int32)
        self.number = np.arange(first_step, first_step + steps, dtype=np.int64)
        self.host = [f"node{i * hosts // max(1, workers)}" for i in range(workers)]
        self.status = ["missing: killed by signal 9" if i in missing else "delivered" for i in range(workers)]
        self.exclusive = np.zeros((steps, workers, 10), np.int64)
        for category in categories:
            self.exclusive[:, :, category - 1] = rng.integers(1000, 200000 * category, (steps, workers))
        self.slow = slow % max(1, workers)
        if workers:
            self.exclusive[:, self.slow, 3] += 4_000_000
        self.present = np.ones((steps, workers), np.int8)
        for i in missing:
            self.present[:, i] = 0
        arrival = self.exclusive[:, :, :9].sum(axis=2)
        self.wait = np.zeros((steps, workers), np.int64)
        self.late = np.zeros((steps, workers), np.int64)
        if workers:
            last = np.where(self.present == 1, arrival, -1)
            self.wait = np.where(self.present == 1, last.max(axis=1, keepdims=True) - arrival, 0)
            self.late[np.arange(steps), last.argmax(axis=1)] = self.wait.sum(axis=1)
            self.last = last.argmax(axis=1)
        self.transfer = self.exclusive[:, :, 9].copy()
        self.exclusive[:, :, 9] += self.wait
        self.exclusive[self.present == 0] = 0
        self.wait[self.present == 0] = self.transfer[self.present == 0] = 0
        self.step_ns = self.exclusive.sum(axis=2)
        self.begin = np.arange(self.steps, dtype=np.int64) * 10_000_000
        self.command, self.session, self.range_name, self.warning = "./train --lr 0.1", "2026_11_21_10_40_02", "my_block", []
        self.dropped = np.zeros((workers, len(CAUSES)), np.uint64)
        self.extra = self.late_error = None
        self.clocks = False  # each host has a clock of its own, compared with the first one's
        self.separate, self.changes, self.causality, self.pair_bound = (), [], (0, 0, 0, 0), 31

    def attributes(self, f):
        delivered = sum(s == "delivered" for s in self.status)
        texts = {"format": "podprof pod dataset", "podprof_version": "0.1.0", "session": self.session, "job": "job.7", "command": self.command,
                 "options": "--steps=100:109", "step_rule": "podprof_step"}
        numbers = {"format_version": self.version, "hosts": len(set(self.host)), "ranks_asked": self.workers, "ranks_delivered": delivered,
                   "epoch_realtime_ns": 1_795_000_000_000_000_000, "window_begin_ns": 1000, "window_end_ns": 1_000_000_000,
                   "steps_asked_first": 100, "steps_asked_last": 109}
        for name, text in texts.items():
            f.attrs[name] = np.bytes_(text.encode())
        for name, number in numbers.items():
            f.attrs[name] = np.int64(number)
        f.attrs["step_confidence"] = 1.0

    def write(self, directory):
        """DIRECTORY/pod.h5 and a summary.txt beside it; returns the directory."""
        os.makedirs(directory, exist_ok=True)
        with h5py.File(os.path.join(directory, "pod.h5"), "w", track_order=True) as f:
            self.attributes(f)
            if self.workers:
                self.write_workers(f)
            if self.workers and self.steps:
                self.write_steps(f)
                self.write_collectives(f)
                self.write_finding(f)
            self.write_quality(f)
            if self.extra:
                self.extra(f, self)
        with open(os.path.join(directory, "summary.txt"), "w", encoding="utf-8") as f:
            f.write("a summary\n")
        return directory

    def write_workers(self, f):
        n, w = self.workers, Group(f, "worker")
        w.put("worker", ["worker"], self.rank)
        for name, values in (("rank", self.rank), ("host", self.host), ("local_rank", self.rank % 4), ("device", ["CPU"] * n),
                             ("device_name", ["a model"] * n), ("pid", self.rank + 4000), ("status", self.status), ("version", ["0.1.0"] * n),
                             ("options", ["--steps=100:109"] * n)):
            w.put(name, ["worker"], values)
        c = Group(f, "clock")
        c.put("worker", ["worker"], self.rank)
        for name in ("domain", "offset_ns", "drift_ppb"):
            c.put(name, ["worker"], np.zeros(n, np.int64), "ns" if name == "offset_ns" else "")
        c.put("bound_ns", ["worker"], np.full(n, 31, np.int64), "ns")
        if self.clocks:
            self.write_clocks(c, sorted(set(self.host)))

    def write_clocks(self, c, hosts):
        """Host i's bound swings between bursts a second apart around i * 1000 ns; those of `apart` are not joined."""
        n, unknown = len(hosts), 2 ** 63 - 1
        joined = [i for i in range(1, n) if i not in self.separate]
        self.bound = [unknown if i in self.separate else i * 1500 for i in range(n)]
        for dim, rows in (("host", n), ("sample", 4 * len(joined)), ("stretch", 3 * len(joined)), ("change", len(self.changes))):
            c.put(dim, [dim], np.arange(rows))
        c.put("worker_host", ["worker"], np.array([hosts.index(h) for h in self.host], np.int32))
        ones = np.ones(n, np.int64)
        for name, values, unit in (("name", hosts, ""), ("own", [f"boot{i} counter" for i in range(n)], ""), ("parent", [hosts[0] if i else "" for i in range(n)], ""),
                                   ("hops", (np.arange(n) > 0).astype(np.int32), ""), ("host_offset_ns", np.arange(n) * 3_600_000_000_000, "ns"),
                                   ("host_drift_ppb", np.arange(n) * -12345, "1e-9"), ("host_drift_error_ppb", np.array([unknown if i in self.separate else i * 130 for i in range(n)]), "1e-9"),
                                   ("host_bound_ns", np.array(self.bound), "ns"), ("rounds", ones, ""),
                                   ("trips", np.array([0 if i in self.separate else 200 for i in range(n)]), ""), ("lost", ones * 3, ""), ("impossible", ones * 0, ""),
                                   ("foreign", ones * 0, ""), ("round_ns", ones * 800_000, "ns"), ("cpu_ns", ones * 400_000, "ns"),
                                   ("claim_known", (np.arange(n) % 3 < 2).astype(np.int8), ""), ("claim_synchronised", (np.arange(n) % 2).astype(np.int8), ""),
                                   ("claim_error_ns", ones * 1_200_000, "ns"), ("claim_error_most_ns", ones * 15_000_000, "ns"), ("claim_by", ["kernel, chronyd"] * n, ""),
                                   ("claim_frequency_ppb", ones * -7000, "1e-9"), ("changes_lost", ones * 0, "")):
            c.put(name, ["host"], values, unit)
        row = np.array(joined, np.int64)
        c.put("sample_host", ["sample"], np.repeat(row, 4).astype(np.int32))
        c.put("time_ns", ["sample"], np.tile(np.arange(4) * 1_000_000_000, len(row)), "ns")
        c.put("half_ns", ["sample"], np.repeat(row * 1000, 4) + np.tile([0, 100, 50, 0], len(row)), "ns")
        c.put("sample_trips", ["sample"], np.full(4 * len(row), 50, np.int32))
        c.put("stretch_host", ["stretch"], np.repeat(row, 3).astype(np.int32))
        for name, values in (("begin_ns", np.tile(np.arange(3), len(row)) * 1_000_000_000), ("end_ns", np.tile(np.arange(1, 4), len(row)) * 1_000_000_000),
                             ("bound_begin_ns", np.repeat(row * 1000, 3) + np.tile([0, 100, 50], len(row))),
                             ("bound_end_ns", np.repeat(row * 1000, 3) + np.tile([100, 50, 0], len(row))), ("bound_hump_ns", np.repeat(row * 400, 3))):
            c.put(name, ["stretch"], values, "ns")
        for k, name in enumerate(("change_host", "from_ns", "to_ns", "by_ns", "error_ns", "event")):
            c.put(name, ["change"], np.array([change[k] for change in self.changes], np.int64), "ns" if name.endswith("_ns") else "")

    def write_steps(self, f):
        s = Group(f, "step")
        for group in (s, b := Group(f, "breakdown")):
            group.put("step", ["step"], self.number)
            group.put("worker", ["worker"], self.rank)
        begin = np.tile(self.begin[:, None], (1, self.workers)) * self.present
        s.put("begin_ns", ["step", "worker"], begin, "ns")
        s.put("end_ns", ["step", "worker"], begin + self.step_ns, "ns")
        b.put("category", ["category"], CATEGORIES)
        b.put("exclusive_ns", ["step", "worker", "category"], self.exclusive, "ns")
        bottleneck = np.where(self.present == 1, self.exclusive.argmax(axis=2) + 1, 0).astype(np.int8)
        for name, values in (("present", self.present), ("step_ns", self.step_ns), ("wait_ns", self.wait), ("transfer_ns", self.transfer),
                             ("bottleneck", bottleneck), ("late_ns", self.late)):
            b.put(name, ["step", "worker"], values, "ns" if name.endswith("_ns") else "")
        if self.late_error is not None:
            b.put("late_error_ns", ["step", "worker"], np.where(self.late > 0, self.late_error, 0), "ns")

    def write_collectives(self, f):
        here = np.flatnonzero(self.present[0])
        arrival = np.where(self.present == 1, self.step_ns - self.exclusive[:, :, 9], 0)[:, here] + np.arange(self.steps)[:, None] * 10_000_000
        n, ranks, c = self.steps, len(here), Group(f, "collective")
        if not ranks:
            return
        c.put("event", ["event"], np.arange(n))
        c.put("row", ["row"], np.arange(n * ranks))
        c.put("operation", ["event"], ["MPI_Allreduce"] * n)
        end = arrival.max(axis=1) + self.transfer.max(axis=1)
        for name, values, unit in (("communicator", np.full(n, 2 ** 63 + 5, np.uint64), ""), ("sequence", np.arange(n, dtype=np.uint32), ""),
                                   ("step", self.number, ""), ("bytes", np.full(n, 4096, np.uint64), "byte"), ("ranks", np.full(n, ranks, np.int32), ""),
                                   ("first_ns", arrival.min(axis=1), "ns"), ("last_ns", arrival.max(axis=1), "ns"), ("end_ns", end, "ns"),
                                   ("last_worker", self.last.astype(np.int32), ""), ("wait_ns", self.wait.sum(axis=1), "ns"),
                                   ("transfer_ns", self.transfer.sum(axis=1), "ns"), ("algbw", np.full(n, 1e9), "byte/s"), ("busbw", np.full(n, 1.5e9), "byte/s"),
                                   ("bound_ns", np.full(n, 31, np.int64), "ns"), ("row_first", np.arange(n, dtype=np.uint64) * ranks, ""),
                                   ("row_count", np.full(n, ranks, np.uint32), "")):
            c.put(name, ["event"], values, unit)
        c.put("worker", ["row"], np.tile(self.rank[here], n))
        c.put("arrival_ns", ["row"], arrival.ravel(), "ns")
        c.put("exit_ns", ["row"], np.repeat(end, ranks), "ns")

    def write_finding(self, f):
        """Whom the others wait for; where nobody waits, the largest category of all."""
        g, is_late = Group(f, "finding"), self.late.sum() > 0
        rank = int(self.late.sum(axis=0).argmax())
        reason = 4 if is_late else int(self.exclusive.sum(axis=(0, 1)).argmax()) + 1
        wait = int(np.median(self.wait[self.wait > 0])) if is_late else 0
        text = f"rank {rank}, Host compute: more than the median of the other ranks" if is_late else f"{CATEGORIES[reason - 1]} on all ranks"
        values = {"kind": np.int8(0 if is_late else 15), "finding_worker": np.int32(rank if is_late else -1), "finding_peer": np.int32(-1),
                  "finding_ranks": np.uint32(is_late), "who": f"rank {rank}" if is_late else "", "finding_reason": np.int8(reason),
                  "usual_ns": np.int64(np.median(self.step_ns.max(axis=1))), "more_ns": np.int64(wait), "finding_gain_ns": np.int64(wait),
                  "finding_wait_ns": np.int64(wait), "waiters": np.uint32((self.workers - 1) * is_late), "finding_error_ns": np.int64(31),
                  "finding_steps": np.uint32(self.steps), "of_steps": np.uint32(self.steps), "finding_first": np.int64(self.number[0]),
                  "finding_period": np.int64(0), "chance": np.float64(0), "finding": text, "finding_next": "look at it"}
        g.put("event", ["event"], np.arange(1))
        for name, value in values.items():
            g.put(name, ["event"], [value] if isinstance(value, str) else np.array([value]), "ns" if name.endswith("_ns") else "")

    def write_quality(self, f):
        q, missing = Group(f, "quality"), [i for i, s in enumerate(self.status) if s.startswith("missing")]
        q.put("worker", ["worker"], self.rank)
        q.put("cause", ["cause"], CAUSES)
        q.put("unclassified", ["unclassified"], [self.range_name])
        q.put("missing", ["missing"], np.array(missing, np.int32))
        q.put("absent", ["absent"], ["kernel", "input"])
        if self.workers:
            q.put("dropped", ["worker", "cause"], self.dropped)
        q.put("records", ["worker"], np.full(self.workers, 100, np.uint64))
        q.put("unclassified_ns", ["unclassified"], np.array([12345], np.int64), "ns")
        q.put("missing_reason", ["missing"], ["killed by signal 9"] * len(missing))
        q.put("absent_reason", ["absent"], ["no source of device kernels in this version", "no source of input pipelines in this version"])
        if self.warning:
            q.put("warning", ["warning"], self.warning)
        for name, value in (("keeper_cpu_ns", 5_000_000), ("keeper_rss_bytes", 9 << 20), ("crossed", 0), ("violations", 0),
                            *zip(("causality_pairs", "causality_inverted", "causality_violated", "causality_worst_ns"), self.causality), ("pair_bound_ns", self.pair_bound)):
            q.put(name, [], np.int64(value), "ns" if name.endswith("_ns") else "")

"""Writes trace files in the JSON of torch.profiler (Kineto), in the dialect of a device. Used by samples.py.

Times are us since BASE. The dialects differ as public reports of such files show: names and categories of the runtime's calls, of
kernels and copies, and how streams are numbered. Same calls give the same bytes.
"""
import gzip
import json

BASE = 1711964646000000000  # baseTimeNanoseconds of the files
DIALECTS = {  # runtime's category, its launch, its copy, category of kernels, streams, copies from the host, to it, sets
    "cuda": ("cuda_runtime", "cudaLaunchKernel", "cudaMemcpyAsync", "kernel", lambda s: s, "Memcpy HtoD (Pinned -> Device)",
             "Memcpy DtoH (Device -> Pinned)", "Memset (Device)"),
    "hip": ("cuda_runtime", "hipLaunchKernel", "hipMemcpyWithStream", "kernel", lambda s: f"{s - 7:#x}", "CopyHostToDevice", "CopyDeviceToHost",
            "FillBuffer"),
    "xpu": ("xpu_runtime", "urEnqueueKernelLaunch", "urEnqueueUSMMemcpy", "kernel", lambda s: s - 7, "zeCommandListAppendMemoryCopy(M2D)",
            "zeCommandListAppendMemoryCopy(D2M)", "zeCommandListAppendMemoryFill"),
    "privateuse1": ("privateuse1_runtime", "aclrtLaunchKernel", "aclrtMemcpyAsync", "kernel", lambda s: s, "MEMCPY_ASYNC H2D",
                    "MEMCPY_ASYNC D2H", "MEMSET_ASYNC"),
    "mtia": ("mtia_runtime", "runFunction", "memcpyH2D", "mtia_ccp_events", lambda s: s, "memcpy h2d", "memcpy d2h", "memset"),
}


class Trace:
    """Events of one process."""

    def __init__(self, rank=None, world=1, pid=4000, dialect="cuda", device=0, host=None, base=BASE, more=()):
        self.rank, self.world, self.pid, self.device, self.host, self.base, self.more = rank, world, pid, device, host, base, dict(more)
        self.runtime, self.launching, self.copying, self.kernels, self.stream_of, self.from_host, self.to_host, self.setting = DIALECTS[dialect]
        self.events, self.correlation = [], 100
        self.meta("process_name", pid, 0, name="python")
        self.meta("process_labels", pid, 0, labels="CPU")
        self.meta("thread_name", pid, pid, name=f"thread {pid} (python)")
        if dialect != "mtia":
            self.meta("process_labels", device, 0, labels=f"GPU {device}")

    def meta(self, what, pid, tid, **args):
        self.events.append({"name": what, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": args})

    def add(self, cat, name, ts, dur, tid=None, pid=None, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": self.pid if pid is None else pid, "tid": self.pid if tid is None else tid,
                            "ts": ts, "dur": dur, "args": {k.replace("_", " ") if k in SPACED else k: v for k, v in args.items()}})
        return self

    def mark(self, name, ts, dur, tid=None):
        return self.add("user_annotation", name, ts, dur, tid, External_id=len(self.events))

    def op(self, name, ts, dur, tid=None, **args):
        return self.add("cpu_op", name, ts, dur, tid, External_id=len(self.events), **args)

    def frame(self, name, ts, dur, tid=None):
        return self.add("python_function", name, ts, dur, tid, **{"Python id": len(self.events), "Python parent id": 0, "Python thread": 0})

    def call(self, name, ts, dur=4, tid=None):
        return self.add(self.runtime, name, ts, dur, tid, correlation=0)

    def kernel(self, name, ts, dur, at=None, stream=7, device=None, cat=None, launch=None, **args):
        """A kernel that a call at `at` launched; at=None: no launch is recorded. cat: of copies and sets."""
        device, self.correlation, stream = self.device if device is None else device, self.correlation + 1, self.stream_of(stream)
        if at is not None:
            self.add(self.runtime, launch or self.launching, at, 4, correlation=self.correlation)
            self.flow("s", at, self.pid, self.pid)
            self.flow("f", ts, device, stream)
        shape = {"grid": [64, 1, 1], "block": [256, 1, 1], "registers per thread": 32, "shared memory": 0} if not cat else {}
        return self.add(cat or self.kernels, name, ts, dur, stream, device, device=device, stream=stream, correlation=self.correlation, context=1,
                        **{**shape, **args})

    def flow(self, ph, ts, pid, tid):
        self.events.append({"ph": ph, "id": self.correlation, "pid": pid, "tid": tid, "ts": ts, "cat": "ac2g", "name": "ac2g", **({"bp": "e"} if ph == "f" else {})})

    def copy(self, direction, ts, dur, at=None, stream=7, size=1 << 20):
        return self.kernel(self.from_host if direction == "in" else self.to_host, ts, dur, at, stream, None, "gpu_memcpy", self.copying, bytes=size)

    def memset(self, ts, dur, at=None, stream=7, size=1 << 20):
        return self.kernel(self.setting, ts, dur, at, stream, None, "gpu_memset", bytes=size)

    def collective(self, call, ts, dur, at, elements=1000000, dtype="Float", stream=20, ranks=None, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", **args):
        """An operation of a process group, as c10d records it, and its kernel."""
        ranks = list(range(self.world)) if ranks is None else ranks
        self.op(f"c10d::{call}_", at, 40)
        self.op("record_param_comms", at + 2, 36, **{"Collective name": call, "In msg nelems": elements, "Out msg nelems": elements,
                                                    "Group size": len(ranks), "dtype": dtype, "Process Group Name": "0",
                                                    "Process Group Description": "default_pg", "Process Group Ranks": str(ranks), **args})
        self.mark({"allreduce": "nccl:all_reduce", "allgather": "nccl:all_gather"}.get(call, "nccl:" + call), at + 3, 34)
        return self.kernel(name, ts, dur, at + 10, stream, **{"Collective name": call, "In msg nelems": elements, "Out msg nelems": elements,
                                                             "Group size": len(ranks), "dtype": dtype, "Process Group Name": "0",
                                                             "Process Group Ranks": str(ranks), **args})

    def memory(self, ts, size, device, kind=1):
        """A call of the allocator of a device."""
        self.events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "ts": ts, "pid": self.pid, "tid": self.pid,
                            "args": {"Device Type": kind, "Device Id": device, "Addr": len(self.events), "Bytes": size}})
        return self

    def profiler(self, ts, dur):
        """What the profiler writes of itself."""
        self.events.append({"ph": "X", "cat": "Trace", "ts": ts, "dur": dur, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)",
                            "args": {"Op count": 0}})
        self.meta("process_sort_index", "Spans", 0, sort_index=536870912)
        self.events.append({"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": ts})
        self.events.append({"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": ts + dur})
        return self

    def head(self):
        made = {"schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms", "baseTimeNanoseconds": self.base, "trace_id": f"{self.pid:032X}"}
        if self.rank is not None:
            made["distributedInfo"] = {"backend": "nccl", "rank": self.rank, "world_size": self.world}
        if self.host:
            made["host_name"] = self.host
        made.update(self.more)
        return made

    def bytes(self):
        return json.dumps({**self.head(), "traceEvents": self.events, "traceName": "trace.json"}).encode()


SPACED = ("External_id",)


def packed(data):
    return gzip.compress(data, 1, mtime=0)


def merged(traces, label):
    """One file of several ranks' traces: each process has the label of its rank before its pid, as viewers' merges write it."""
    events = []
    for rank, trace in enumerate(traces):
        events += [dict(e, pid=label(rank, e["pid"])) for e in trace.events]
    return json.dumps({**Trace().head(), "traceEvents": events}).encode()

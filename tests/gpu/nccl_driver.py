"""Calls the profiler's code inside NVIDIA's libnccl as libnccl itself does, on a communicator and a plan of our making: no device runs. The
functions are local, and the structs private: nccl_real.py reads their places from the library's debug information.

Usage: nccl_driver.py LIBRARY LAYOUT.json CASE, under podprof run. Prints what the library's event mask was in each step, as JSON."""
import ctypes
import json
import os
import subprocess
import sys

import podprof

HASH, RANKS, COUNT = 0xABC, 2, 1000


class TlsInfo(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p)]


class Link(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p)]


class Nccl:
    """The library's local functions and private structs."""

    def __init__(self, path, layout):
        self.library, self.layout, self.kept, self.kept_comm = ctypes.CDLL(path, os.RTLD_NOW), layout, [], None
        self.base = ctypes.cast(self.library._handle, ctypes.POINTER(Link)).contents.base
        version = ctypes.c_int()
        self.library.ncclGetVersion(ctypes.byref(version))
        self.version = version.value
        self.group_start()  # its thread-local variables exist now
        tls = TlsInfo()
        libc = ctypes.CDLL(None)
        if libc.dlinfo(ctypes.c_void_p(self.library._handle), 10, ctypes.byref(tls)) or not tls.at:  # RTLD_DI_TLS_DATA
            sys.exit(77)
        self.tls = tls.at

    def group_start(self):
        if self.library.ncclGroupStart() or self.library.ncclGroupEnd():
            sys.exit("ncclGroupStart fails")

    def call(self, function, *arguments):
        """Older versions have fewer of them."""
        if function not in self.layout["function"]:
            return
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p if isinstance(a, int) and a > 0xFFFF else ctypes.c_long for a in arguments])
        if kind(self.base + self.layout["function"][function])(*arguments):
            sys.exit(f"{function} fails")

    def new(self, struct):
        room = ctypes.create_string_buffer(self.layout["size"][struct])
        self.kept.append(room)
        return ctypes.addressof(room)

    def text(self, text):
        self.kept.append(ctypes.create_string_buffer(text.encode()))
        return ctypes.addressof(self.kept[-1])

    def place(self, at, struct, member):
        offset, size = self.layout["member"][f"{struct}.{member}"]
        return ({1: ctypes.c_uint8, 4: ctypes.c_uint32, 8: ctypes.c_uint64}[size]).from_address(at + offset)

    def set(self, at, struct, **values):
        for member, value in values.items():
            name = member.replace("__", ".")
            if f"{struct}.{name}" in self.layout["member"]:
                self.place(at, struct, name).value = value

    def state(self, member):
        if "ncclProfilerApiState" not in self.layout["tls"]:  # before version 5: the mask of now, and no handles
            return ctypes.c_uint64(self.mask() if member == "eActivationMask" else 0)
        return self.place(self.tls + self.layout["tls"]["ncclProfilerApiState"], "ncclProfilerApiState_t", member)

    def depth(self, value):
        ctypes.c_int.from_address(self.tls + self.layout["tls"]["ncclGroupDepth"]).value = value

    def mask(self):
        return ctypes.c_int.from_address(self.base + self.layout["variable"]["ncclProfilerEventMask"]).value

    # ---- what libnccl does ----

    def comm(self, rank, name, at=None):
        at = at or self.new("ncclComm")
        self.kept_comm = at
        self.set(at, "ncclComm", commHash=HASH, nNodes=1, nRanks=RANKS, rank=rank, config__commName=self.text(name) if name else 0)
        self.call("ncclProfilerPluginInit", at)
        return at

    def group(self, comm, calls, depth=1, is_captured=0):
        """ncclGroupStart to ncclGroupEnd; calls: kind, function, datatype, root or peer. Of captured ones the plan is returned, to run later."""
        self.depth(depth)
        plan = self.new("ncclKernelPlan")
        self.set(plan, "ncclKernelPlan", comm=comm)
        last = {}
        for number, (kind, function, datatype, root) in enumerate(calls):
            info = self.new("ncclInfo")
            self.set(info, "ncclInfo", coll=function, count=COUNT, datatype=datatype, root=root & 0xFFFFFFFF, comm=comm)
            if not number:
                self.call("ncclProfilerStartGroupApiEvent", info, is_captured)
                self.call("ncclProfilerRecordGroupApiEventState", 23)
            api, task = ("Coll", "ncclTaskColl") if kind == "coll" else ("P2p", "ncclTaskP2p")
            self.call(f"ncclProfilerStart{api}ApiEvent", info, is_captured)
            handle = self.state(f"{kind}ApiEventHandle").value
            self.call(f"ncclProfilerStop{api}ApiEvent")
            at = self.new(task)
            self.set(at, task, func=function, count=COUNT, datatype=datatype, root=root & 0xFFFFFFFF, nChannels=2,
                     eActivationMask=self.state("eActivationMask").value, groupApiEventHandle=self.state("groupApiEventHandle").value,
                     **{f"{kind}ApiEventHandle": handle or 0})
            if kind == "coll":  # RING, SIMPLE
                self.set(at, task, nMaxChannels=2, nWarps=8, algorithm=self.layout["value"]["NCCL_ALGO_RING"], protocol=self.layout["value"]["NCCL_PROTO_SIMPLE"])
            if kind in last:
                self.set(last[kind], task, next=at)
            else:
                self.set(plan, "ncclKernelPlan", **{f"{kind}TaskQueue__head": at})
            last[kind] = at
        self.call("ncclProfilerRecordGroupApiEventState", 24)
        self.call("ncclProfilerStartKernelLaunchEvent", plan, 0)
        self.call("ncclProfilerStopKernelLaunchEvent", plan)
        event = 0
        if not is_captured:
            self.call("ncclProfilerStartGroupEvent", plan)
            self.call("ncclProfilerStartTaskEvents", plan)
            event = self.place(last["coll"], "ncclTaskColl", "eventHandle").value if "coll" in last else 0  # the profiler's thread gets it now
            self.call("ncclProfilerStopTaskEvents", plan)
            self.call("ncclProfilerStopGroupEvent", plan)
        self.state("profilerGroupDepth").value = 0
        self.call("ncclProfilerStopGroupApiEvent")
        self.depth(0)
        return plan if is_captured else event

    def run(self, plan):
        """What the host's node in a CUDA graph calls each time that the graph runs."""
        for function in ("StartGroupEvent", "StartTaskEvents", "StopTaskEvents", "StopGroupEvent"):
            self.call(f"ncclProfiler{function}", plan)

    def begin_only(self, comm, function, datatype):
        """A call in a group that fails: nothing of it is stopped."""
        info = self.new("ncclInfo")
        self.set(info, "ncclInfo", coll=function, count=COUNT, datatype=datatype, comm=comm)
        self.depth(1)
        self.call("ncclProfilerStartGroupApiEvent", info, 0)
        self.call("ncclProfilerStartCollApiEvent", info, 0)
        self.depth(0)
        for member in ("profilerGroupDepth", "groupApiEventHandle"):  # as ncclGroupEnd leaves them after an error
            self.state(member).value = 0

    def channels(self, comm, event, stamps):
        """What the profiler's thread calls when the device has begun and ended each channel; a time of 0 is one that is missing."""
        values = {"eActivationMask": self.state("eActivationMask").value, "taskEventHandle": event,
                  "profilerContext": self.place(comm, "ncclComm", "profilerContext").value}
        for number, (begin, end) in enumerate(stamps):
            if "ncclProfilerWorkOp" in self.layout["size"]:
                op = (self.new("ncclProfilerWorkOp"),)
                self.set(op[0], "ncclProfilerWorkOp", channelId=number, **values)
            else:  # before NCCL 2.31 the thread that makes progress of proxies does it
                op = (self.new("ncclProxyArgs"), 0)
                self.set(op[0] + self.layout["member"]["ncclProxyArgs.subs"][0], "ncclProxySubArgs", channelId=number, **values)
            self.call("ncclProfilerStartKernelChEvent", *op, begin)
            self.call("ncclProfilerStopKernelChEvent", *op, end)

    def unload(self):
        libc = ctypes.CDLL(None)
        libc.dlclose.argtypes = [ctypes.c_void_p]
        libc.dlclose(self.library._handle)


class Driver:
    """A program with one communicator; each case of nccl_real.py is one of its methods."""

    def __init__(self, nccl, rank):
        self.nccl, self.rank, self.of = nccl, rank, nccl.layout["value"]
        self.masks = [nccl.mask()]

    def all_reduce(self, comm):
        self.nccl.group(comm, [("coll", self.of["ncclFuncAllReduce"], self.of["ncclFloat32"], 0)])

    def work(self, comm):
        other = 1 - self.rank
        self.all_reduce(comm)
        self.all_reduce(comm)
        self.nccl.group(comm, [("coll", self.of["ncclFuncBroadcast"], self.of["ncclInt8"], 1)])
        self.nccl.group(comm, [("p2p", self.of["ncclFuncSend"], self.of["ncclFloat64"], other), ("p2p", self.of["ncclFuncRecv"], self.of["ncclFloat64"], other)], 2)

    def steps(self, count, work):
        for step in range(count):
            podprof.step_begin(step)
            self.masks.append(self.nccl.mask())
            work(step)
            podprof.step_end()

    def plain(self):
        comm = self.nccl.comm(self.rank, "gradients")
        self.steps(12, lambda step: self.work(comm))
        self.nccl.call("ncclProfilerPluginFinalize", comm)  # which unloads the plug-in: podprof stays
        self.masks.append(self.nccl.mask())
        again = self.nccl.comm(self.rank, "")
        self.all_reduce(again)
        self.nccl.call("ncclProfilerPluginFinalize", again)

    def lines(self):
        """Outside windows: two communicators, one that is gone, a call that does not return; then podprof status prints what is known of them."""
        gone = self.nccl.comm(self.rank, "gone")
        self.all_reduce(gone)
        self.nccl.call("ncclProfilerPluginFinalize", gone)
        first, second = self.nccl.comm(self.rank, "first"), self.nccl.comm(self.rank, "second")

        def work(step):
            self.work(first)
            self.all_reduce(second)
        self.steps(12, work)
        if "ncclProfilerStartCollApiEvent" in self.nccl.layout["function"]:
            self.nccl.begin_only(second, self.of["ncclFuncBroadcast"], self.of["ncclInt8"])
        got = subprocess.run(sys.argv[4:], stdout=subprocess.PIPE, check=True, text=True)
        print("status: " + got.stdout.strip())

    def aborts(self):
        """In each step a communicator begins a call that never ends, and is gone with all that is open."""
        def work(step):
            comm = self.nccl.comm(self.rank, "aborted")
            self.all_reduce(comm)
            self.nccl.begin_only(comm, self.of["ncclFuncAllReduce"], self.of["ncclFloat32"])
            self.nccl.call("ncclProfilerPluginFinalize", comm)
        self.steps(12, work)

    def unloads(self):
        """The program closes libnccl before a window opens; this build of it stays in memory."""
        comm = self.nccl.comm(self.rank, "first")
        self.steps(2, lambda step: self.all_reduce(comm))
        self.nccl.call("ncclProfilerPluginFinalize", comm)
        self.nccl.unload()
        for step in range(2, 12):
            podprof.step_begin(step)
            podprof.step_end()

    def forks(self):
        comm = self.nccl.comm(self.rank, "parent")

        def work(step):
            self.all_reduce(comm)
            pid = os.fork()
            if not pid:
                self.work(comm)
                os._exit(0)
            if os.waitpid(pid, 0)[1]:
                sys.exit("the child died")
        self.steps(12, work)
        self.nccl.call("ncclProfilerPluginFinalize", comm)

    def many(self):
        """More communicators than podprof has room for; the last one works."""
        for _ in range(1100):
            comm = self.nccl.comm(self.rank, "many", self.nccl.kept_comm)
        self.steps(12, lambda step: self.all_reduce(comm))

    def channels(self):
        """Times of the device: two channels of each operation, of which one never ends in some."""
        comm = self.nccl.comm(self.rank, "timed")

        def work(step):
            one = [((300, 1300),)] * (8000 if step == 5 else 0)  # more than podprof has in hand at once
            for stamps in [((100, 900), (150, 1000)), ((200, 0), (0, 1200)), ((300, 1300),)] + one:
                event = self.nccl.group(comm, [("coll", self.of["ncclFuncAllReduce"], self.of["ncclFloat32"], 0)])
                self.nccl.channels(comm, event, stamps)
                del self.nccl.kept[2:]  # all but the communicator and its name
        self.steps(12, work)
        self.nccl.call("ncclProfilerPluginFinalize", comm)

    def graph(self):
        """A CUDA graph is captured in the first recorded step, and runs in it and in all that follow, also when no window is open."""
        comm = self.nccl.comm(self.rank, "graph")
        plans = []

        def work(step):
            if step == 3:
                plans.append(self.nccl.group(comm, [("coll", self.of["ncclFuncAllReduce"], self.of["ncclFloat32"], 0)], is_captured=1))
            for plan in plans * 2:
                self.nccl.run(plan)
        self.steps(12, work)
        self.nccl.call("ncclProfilerPluginFinalize", comm)

    def nvtx(self):
        """The library's own entry points, which fail without a device, but open their NVTX ranges."""
        def work(step):
            self.nccl.group_start()
            self.nccl.library.ncclAllReduce(None, None, ctypes.c_size_t(COUNT), self.of["ncclFloat32"], 0, None, None)
        self.steps(12, work)


def main():
    path, layout, case = sys.argv[1:4]
    with open(layout, encoding="ascii") as f:
        nccl = Nccl(path, json.load(f))
    driver = Driver(nccl, int(os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
    getattr(driver, case)()
    with open("/proc/self/maps", encoding="utf-8") as f:
        is_loaded = "libpodprof.so" in f.read()
    print(json.dumps({"version": nccl.version, "masks": driver.masks, "is_loaded": is_loaded}), flush=True)


if __name__ == "__main__":
    main()

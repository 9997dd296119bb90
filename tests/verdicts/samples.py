"""Makes the files of cases: {path: bytes}. Small jobs as their profilers record them, from facts of public reports; no file of others is
in them. Used by cases.py."""
import gzip
import io
import json
import tarfile
import zipfile

import kineto
import xspace
from kineto import Trace

STEP = 1000  # us
FIRST = 5000  # us: begin of the first step


def train(t=None, count=4, frames=(), marks="ProfilerStep#{n}", host=(), begin=10, warm=0, **how):
    """Steps of 1000 us. Each launches two kernels of 400 and 100 us: Device compute is 50 % of the step. frames: Python frames around
    each step's work, outermost first; host: (cat, name, begin, us) of more events in each step; warm: the first step is so much longer."""
    t = t or Trace(**how)
    at = FIRST
    for s in range(count):
        long = STEP + (warm if s == 0 else 0)
        if marks:
            t.mark(marks.format(n=begin + s), at, long)
        for depth, name in enumerate(frames):
            t.frame(name, at + 1 + depth, long - 2 - 2 * depth)
        late = long - STEP
        for cat, name, b, us in host:
            t.add(cat, name, at + b, us)
        t.op("aten::mm", at + late + 20, 200)
        t.kernel("gemm", at + late + 100, 400, at + late + 40)
        t.op("aten::add", at + late + 260, 60)
        t.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)", at + late + 520, 100, at + late + 270)
        at += long
    return t


def compiling(count, compiles=1, us=50000):
    """Steps of 1000 us that compute 500; the first ones take 50 ms, most of it compilation, or nothing that is known."""
    t, at = Trace(), FIRST
    for s in range(count):
        long = us if s < max(compiles, 1) else STEP
        t.mark(f"ProfilerStep#{s}", at, long)
        if s < compiles:
            t.op("_compile.compile_inner (dynamo_timed)", at + 10, us - 2000)
        t.op("aten::mm", at + long - 900, 100)
        t.kernel("gemm", at + long - 700, 500, at + long - 880)
        at += long
    return {"rank0.pt.trace.json": t.bytes()}


def serving(kinds, gap=0, slow=None, frames=False, **how):
    """Iterations of an engine: (name, us, times), in turn until all are through; their kernels take all but 100 us. gap: us between two
    iterations; slow: this one takes 3 times as long."""
    t, at, n = Trace(**how), FIRST, 0
    left = [[name, us, times] for name, us, times in kinds]
    while any(times for _, _, times in left):
        for one in left:
            if not one[2]:
                continue
            one[2] -= 1
            us = one[1] * (3 if n == slow else 1)
            t.mark(one[0].format(n=n), at, us)
            t.op("aten::mm", at + 10, 30)
            t.kernel(f"kernel_of_{one[1]}", at + 50, us - 100, at + 20)
            at += us + gap
            n += 1
    return {"rank0.pt.trace.json": t.bytes()}


def torch(name="rank0.pt.trace.json", **how):
    return {name: train(**how).bytes()}


def stack(*frames, **how):
    return torch(frames=frames, **how)


def host_op(*events, **how):
    return torch(host=events, **how)


def loose(events, dialect="cuda", **how):
    """A file without marks: events are (method, arguments...) of Trace."""
    t = Trace(dialect=dialect, **how)
    for method, *words in events:
        keys = words.pop() if words and isinstance(words[-1], dict) else {}
        getattr(t, method)(*words, **keys)
    return {"rank0.pt.trace.json": t.bytes()}


def repeated(number, period=1000, kernel_us=300, dialect="cuda", op=None, mark=None, optimizer=None, frame=None, tail=0, **how):
    """`number` rounds without a step mark: what repeats is an operator, an annotation, the optimizer, a frame, or the launch alone."""
    t = Trace(dialect=dialect, **how)
    for i in range(number):
        at = FIRST + i * period
        if frame:
            t.frame(frame, at, period - 10)
        if mark:
            t.mark(mark(i) if callable(mark) else mark, at, period - 10)
        if op:
            t.op(op, at + 10, 120)
        if optimizer:
            t.mark(optimizer, at + 700, 200)
        t.kernel(f"kernel_{i % 3}", at + 150, kernel_us, at + 20)
    for i in range(tail):
        t.kernel("late", FIRST + number * period + 10 + i * 50, 40, FIRST + number * period + 5 + i)
    return {"rank0.pt.trace.json": t.bytes()}


def ddp(ranks=4, slow=None, count=6, hosts=1, skew=0, named=True, marks=True, elements=1000000, dtype="Float", with_info=True, optimizer=False,
        begins_late=None, **how):
    """Data-parallel steps of 2000 us: each rank computes 300 us, the slow one 1200, then an all-reduce whose kernels end together at
    1450 us of the step. Ranks are spread over hosts; the wall clock of host h is h * skew us ahead. begins_late: this rank begins
    its first step 3000 us after the others."""
    files = {}
    for r in range(ranks):
        host = r * hosts // ranks
        t = Trace(rank=r if with_info else None, world=ranks, pid=4000 + r, device=r % 8, host=f"node{host}" if named else None, **how)
        for s in range(count):
            early = 3000 if begins_late not in (None, r) and not s else 0
            at = FIRST + s * 2000 + host * skew - early
            busy = 1200 if r == slow else 300 + 5 * r
            if marks:
                t.mark(f"ProfilerStep#{10 + s}", at, 2000 + early)
            t.op("aten::mm", at + 5, 12)
            t.kernel("gemm", at + 50, busy, at + 10)
            t.collective("allreduce", at + 50 + busy, 1400 - busy + early, at + 20, elements, dtype)
            t.op("aten::copy_", at + 70, 1400 + early)
            t.call("cudaStreamSynchronize", at + 75, 1390 + early)
            if optimizer:
                t.mark("Optimizer.step#SGD.step", at + 1500 + early, 100)
        files[f"node{host}_{4000 + r}.{1711964646000 + r}.pt.trace.json"] = t.bytes()
    return files


def gloo(ranks=2, slow=None, groups=1, count=8, stack=False):
    """Data-parallel steps of 3000 us on CPUs: a rank computes 600 us, the slow one 1500, then gloo reduces on a thread of its own until 2100 us. Gloo
    describes no collective. groups: of processes, as distributedInfo counts them since torch 2.4."""
    files = {}
    for r in range(ranks):
        t = Trace(pid=4000 + r, host="node0", more={"distributedInfo": {"backend": "gloo", "rank": r, "world_size": ranks, "pg_count": groups}})
        for s in range(count):
            at, busy = FIRST + s * 3000, 1500 if r == slow else 600
            t.mark(f"ProfilerStep#{s}", at, 3000)
            if stack:
                t.frame("<built-in method run_backward of torch._C._EngineBase object at 0x7f60>", at + 5, 2100)
            t.op("aten::addmm", at + 10, busy)
            t.op("c10d::allreduce_", at + 20 + busy, 30)
            t.mark("gloo:all_reduce", at + 60 + busy, 2040 - busy, 4100)
            t.mark("Optimizer.step#SGD.step", at + 2200, 300)
        files[f"r{r}.pt.trace.json"] = t.bytes()
    return files


def xpu_pair():
    """Two ranks; that the kernels communicate, only the operator that launched them tells."""
    files = {}
    for r in range(2):
        t = Trace(rank=r, world=2, pid=4000 + r, dialect="xpu", device=r, host="node0")
        for s in range(8):
            at, busy = FIRST + s * 3000, 1800 if r else 700
            t.mark(f"ProfilerStep#{s}", at, 3000)
            t.op("aten::mm", at + 10, 50)
            t.kernel("gemm_kernel", at + 100, busy, at + 20)
            t.op("c10d::allreduce_", at + 80, 40)
            t.op("record_param_comms", at + 82, 36, **{"Collective name": "allreduce", "In msg nelems": 1000000, "Out msg nelems": 1000000, "Group size": 2,
                                                       "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": s})
            t.mark("xccl:all_reduce", at + 83, 34)
            t.kernel("oneccl_ring_allreduce_kernel", at + 110 + busy, 2590 - busy, at + 90, stream=20)
        files[f"r{r}.pt.trace.json"] = t.bytes()
    return files


def two_models(count=10):
    """Two models in turn, each with an optimizer of the same class: 1200 and 1800 us."""
    t = Trace()
    for s in range(count):
        at = FIRST + s * 3000
        for op, b, us, kernel in (("aten::conv2d", 10, 900, "one"), ("aten::conv_transpose2d", 1210, 1300, "other")):
            t.op(op, at + b, 100)
            t.kernel(kernel, at + b + 90, us, at + b + 10)
        t.mark("Optimizer.step#Adam.step", at + 1000, 100)
        t.mark("Optimizer.step#Adam.step", at + 2700, 100)
    return {"rank0.pt.trace.json": t.bytes()}


def levels(times):
    """One rank; steps whose one kernel takes all of these us but 100."""
    t, at = Trace(), FIRST
    for s, us in enumerate(times):
        t.mark(f"ProfilerStep#{s}", at, us)
        t.op("aten::mm", at + 10, 30)
        t.kernel("gemm", at + 50, us - 100, at + 20)
        at += us
    return {"rank0.pt.trace.json": t.bytes()}


def waits_unknown(ranks=4, count=8):
    """Each rank computes 2000 us; the later in the pipeline, the longer waits a kernel that receives, of which no operation is recorded. Then an all-reduce
    in which all end together."""
    files = {}
    for r in range(ranks):
        t = Trace(rank=r, world=ranks, pid=4000 + r, device=r, host="node0")
        for s in range(count):
            at, receives = FIRST + s * 9000, 50 + 1000 * r
            t.mark(f"ProfilerStep#{s}", at, 9000)
            t.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", at + 100, receives, at + 10, stream=20)
            t.op("aten::mm", at + 20, 30)
            t.kernel("gemm", at + 110 + receives, 2000, at + 25)
            t.collective("allreduce", at + 2120 + receives, 4000 - receives, at + 60)
        files[f"r{r}.pt.trace.json"] = t.bytes()
    return files


def window(pid, begin_us, host="node0", **how):
    """One recording of a repeated schedule: its steps begin then."""
    return train(Trace(pid=pid, host=host, base=kineto.BASE + begin_us * 1000, **how)).bytes()


def ascend(count=4):
    """trace_view.json of Ascend's profiler: a list; times are texts; devices are processes with names; one process is an analysis of the others.
    Each step of 1000 us: a MatMul of 500, an all-reduce of 200 behind it."""
    names = {4000: ("Python", "CPU"), 4001: ("CANN", "CPU"), 4002: ("Ascend Hardware", "NPU"), 4003: ("Communication", "NPU"), 4004: ("Overlap Analysis", "NPU")}
    events = [{"ph": "M", "name": what, "pid": pid, "tid": 0, "args": {key: text}} for pid, (name, label) in names.items()
              for what, key, text in (("process_name", "name", name), ("process_labels", "labels", label))]
    events.append({"ph": "M", "name": "thread_name", "pid": 4002, "tid": 2, "args": {"name": "Stream 2"}})
    events.append({"ph": "M", "name": "thread_name", "pid": 4003, "tid": 3, "args": {"name": "Group 0 Communication"}})

    def add(name, pid, tid, ts, dur, cat=None, **args):
        events.append({"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": f"{1711964646000000 + ts:.3f}", "dur": dur, "args": args, **({"cat": cat} if cat else {})})
    for s in range(count):
        at, link = FIRST + s * STEP, str(100 + s)
        add(f"ProfilerStep#{s}", 4000, 4000, at, STEP, "user_annotation")
        add("aten::mm", 4000, 4000, at + 20, 100, "cpu_op")
        add("AscendCL@aclnnMatmul", 4001, 4000, at + 40, 30)
        add("MatMulV2", 4002, 2, at + 100, 500, **{"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 2, "Task Id": 10 + s, "Batch Id": 0, "connection_id": 7 + s})
        add(f"hcom_allReduce__532_{s}_1", 4003, 3, at + 610, 200, **{"connection_id": 90 + s, "data_type": "FP32", "count": 1000})
        for name, tid, b, us in (("Computing", 0, 100, 500), ("Communication", 1, 610, 200), ("Communication(Not Overlapped)", 2, 610, 200), ("Free", 3, 810, 190)):
            add(name, 4004, tid, at + b, us)
        for ph, pid, tid, ts in (("s", 4000, 4000, at + 45), ("f", 4002, 2, at + 100)):
            events.append({"ph": ph, "cat": "async_npu", "name": "async_npu", "id": link, "pid": pid, "tid": tid, "ts": f"{1711964646000000 + ts:.3f}", **({"bp": "e"} if ph == "f" else {})})
    return json.dumps(events).encode()


# -- XSpace


def environment(begin_ns=1790000000000000000, us=100000):
    return xspace.Plane("Task Environment", 90).says(profile_start_time=("uint", begin_ns), profile_stop_time=("uint", begin_ns + us * 1000))


def xla_gpu(count=4, host="node0", marks=True, kernel_stats=None, stream="Stream #7(Compute)", vendor="Nvidia", kernels=None, host_events=(), begin_ns=1790000000000000000,
            tail=(), extra=()):
    """JAX on a GPU: marks of StepTraceAnnotation, launches on the main thread, two kernels of 400 and 100 us a step of 1000."""
    main, device, c = [], [], 1
    for s in range(count):
        at = FIRST + s * STEP
        if marks:
            main.append(("train", at, STEP, {"_r": 1, "step_num": s}))
        main += [(n, at + b, us, {}) for n, b, us in host_events]
        for name, b, us, stats in kernels or (("fusion_1", 100, 400, {"hlo_op": ("ref", "fusion.1")}), ("gemm_fusion_dot_2", 520, 100, {"hlo_op": ("ref", "dot.2")})):
            main.append(("cuLaunchKernel", at + b - 60, 5, {"correlation_id": ("uint", c)}))
            device.append((name, at + b, us, {"correlation_id": ("uint", c), "hlo_module": ("ref", "jit_train_step"),
                                              "kernel_details": ("ref", "regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:256,1,1 occ_pct:50"), **stats,
                                              **(kernel_stats or {})}))
            c += 1
    main += list(tail)
    planes = [xspace.Plane("/host:CPU", 1000).line("python", main, 4000)]
    planes.append(xspace.Plane("/device:GPU:0", 0).says(device_vendor=vendor, compute_cap_major=9, compute_cap_minor=0).line(stream, device, 7))
    return {f"{host}.xplane.pb": xspace.space(planes + list(extra) + [environment(begin_ns)], host)}


def xla_tpu(count=4, host="tpu0"):
    """A TPU: steps, modules and operations of the core are lines of its plane; names of operations are HLO, their kind is hlo_category.
    Each step of 1000 us: a convolution fusion of 500, an all-reduce of 200, an infeed of 100, a copy of 50."""
    p = xspace.Plane("/device:TPU:0", 0).says(peak_teraflops_per_second=275.0, peak_hbm_bw_gigabytes_per_second=1200.0, device_type_string="TPU v4")
    ops = [("%fusion.1 = bf16[1024,1024]{1,0} fusion(bf16[1024,1024]{1,0} %p0)", "fusion.1", "convolution fusion", 100, 500),
           ("%all-reduce.3 = bf16[1024]{0} all-reduce(bf16[1024]{0} %fusion.1)", "all-reduce.3", "all-reduce", 600, 200),
           ("%infeed.4 = ((bf16[8]{0}), token[]) infeed(token[] %after-all)", "infeed.4", "infeed", 0, 100),
           ("%copy.5 = bf16[1024]{0} copy(bf16[1024]{0} %x)", "copy.5", "copy", 800, 50)]
    for name, display, category, _, _ in ops:
        p.about(name, display, hlo_category=("ref", category), program_id=7, tf_op=("ref", f"jit(train_step)/{display.split('.')[0]}"), flops=1000000, bytes_accessed=4096)
    at = [FIRST + s * STEP for s in range(count)]
    p.line("Steps", [(str(s), b, STEP, {"group_id": s, "step_name": str(s)}) for s, b in enumerate(at)], 1)
    p.line("XLA Modules", [("jit_train_step(123456789)", b, 900, {"run_id": s, "program_id": 7, "group_id": s}) for s, b in enumerate(at)], 2)
    p.line("XLA Ops", [(n, b + o, us, {"group_id": s, "device_offset_ps": 0, "device_duration_ps": us * 1000000}) for s, b in enumerate(at) for n, _, _, o, us in ops], 3)
    host_plane = xspace.Plane("/host:CPU", 1000).line("python", [("train", b, STEP, {"group_id": s, "step_num": s, "_r": 1}) for s, b in enumerate(at)], 4000)
    return {f"{host}.xplane.pb": xspace.space([p, host_plane, environment()], host)}


def xla_outside(inputs, period=4000, us=1200, name="next_batch"):
    """JAX on GPUs, a file a host: each mark of a step holds a wait for the batch of so many us, and one kernel. Steps are the devices' work."""
    files = {}
    for host, wait in enumerate(inputs):
        main, device = [], []
        for s in range(8):
            at, c = FIRST + s * period, {"correlation_id": ("uint", s + 1)}
            main += [("train", at, period, {"_r": 1, "step_num": s}), (name, at + 5, wait, {}), ("cuLaunchKernel", at + wait + 40, 5, c)]
            device.append(("gemm_fusion", at + wait + 100, us, {**c, "hlo_op": ("ref", "dot.2"), "hlo_module": ("ref", "jit_train_step")}))
        planes = [xspace.Plane("/host:CPU", 1000).line("python", main, 4000), xspace.Plane("/device:GPU:0", 0).line("Stream #7(Compute)", device, 7)]
        files[f"h{host}.xplane.pb"] = xspace.space(planes + [environment()], f"h{host}")
    return files


def xla_cpu(count=4, host="node0", begin_ns=1790000000000000000, events=(), tail=(), name=None, main=True, pid=None):
    """JAX on a CPU: operations run on threads of XLA's pool, with hlo_op and hlo_module, 600 us of a step of 1000."""
    at = [FIRST + s * STEP for s in range(count)]
    python, pool = [], []
    for s, b in enumerate(at):
        if main:
            python.append(("train", b, STEP, {"_r": 1, "step_num": s}))
        python += [(n, b + o, us, {}) for n, o, us in events]
        pool += [("dot.3", b + 100, 500, {"hlo_op": ("ref", "dot.3"), "hlo_module": ("ref", "jit_train_step"), "program_id": 7}),
                 ("add.4", b + 650, 100, {"hlo_op": ("ref", "add.4"), "hlo_module": ("ref", "jit_train_step"), "program_id": 7})]
    python += list(tail)
    plane = xspace.Plane("/host:CPU", 1000)
    if pid is not None:
        plane.says(process_id=pid)
    plane.line("python", python, 4000).line("tf_XLAEigen/5001", pool, 5001)
    return {(name or host) + ".xplane.pb": xspace.space([plane, environment(begin_ns)], host)}


def tpu_pod(late=(0,), groups="{{0,1}}", run=lambda host, step: 41 + step, skew_us=0, devices=1, shape="f32[1024,1024]", us=200, beside=None, pairs=None):
    """TPUs, a file a host: each step of 1000 us computes 400 us, a host of `late` so much longer, then joins an all-reduce in which all end together,
    after the last has begun by `us`. `beside`: the reduction begins so early, computing goes on beside it, and its done waits for the rest."""
    files, last = {}, max(late)
    text = f"{shape}{{1,0}} all-reduce({shape}{{1,0}} %fusion.1), channel_id=1, replica_groups={groups}, use_global_device_ids=true, to_apply=%add"
    if pairs:
        text = f"{shape}{{1,0}} collective-permute({shape}{{1,0}} %fusion.1), channel_id=1, source_target_pairs={pairs}"
    for host, more in enumerate(late):
        planes, at = [], [FIRST + s * STEP + skew_us * host for s in range(8)]
        for d in range(devices):
            p = xspace.Plane(f"/device:TPU:{d}", d)
            fusion, name = "%fusion.1 = f32[1024,1024]{1,0} fusion(f32[1024,1024]{1,0} %p0)", "%all-reduce.3 = " + text
            p.about(fusion, "fusion.1", hlo_category=("ref", "convolution fusion")).about(name, "all-reduce.3", hlo_category=("ref", "all-reduce"))
            p.line("Steps", [(str(s), b, STEP, {"group_id": s}) for s, b in enumerate(at)], 1)
            p.line("XLA Modules", [("jit_train_step(7)", b, 990, {"run_id": run(host, s), "program_id": 7}) for s, b in enumerate(at)], 2)
            ops = [(fusion, b + 50, 400 + more, {}) for b in at]
            if beside is None:
                ops += [(name, b + 450 + more, us + last - more, {}) for b in at]
            else:
                start, done = "%all-reduce-start.3 = " + text.replace("reduce(", "reduce-start("), "%all-reduce-done.3 = f32[1024,1024] all-reduce-done(f32[1024,1024] %all-reduce-start.3)"
                p.about(start, "all-reduce-start.3", hlo_category=("ref", "async-start")).about(done, "all-reduce-done.3", hlo_category=("ref", "async-done"))
                ops += [(start, b + 40, 5, {}) for b in at] + [(done, b + 450 + more, us - beside, {}) for b in at]
                p.line("Async XLA Ops", [(start, b + 450 + more - beside, us, {}) for b in at], 4)
            planes.append(p.line("XLA Ops", ops, 3))
        planes.append(xspace.Plane("/host:CPU", 1000).line("python", [("train", b, STEP, {"group_id": s, "step_num": s, "_r": 1}) for s, b in enumerate(at)], 4000))
        files[f"tpu{host}.xplane.pb"] = xspace.space(planes + [environment()], f"tpu{host}")
    return files


def jax_pod(late=(0, 300), devices=1, run=lambda host, step: 900 + step, loop=1, kind="cpu", instruction=None, slow=None):
    """JAX, a process a host, which runs on CPUs or on GPUs; the program's text says which devices reduce together. As tpu_pod; slow: only this
    device is late."""
    files, last, ids = {}, max(late), [2048 * h + d for h in range(len(late)) for d in range(devices)]
    op = instruction or xspace.instruction("psum.3", "all-reduce", "f32[1024,1024]", groups=[list(range(len(ids)))])
    proto = xspace.hlo("jit_train_step", [] if loop > 1 else [op], ids, [op] if loop > 1 else [])
    for host, late_us in enumerate(late):
        python, pools, streams, at, c = [], [], [], [FIRST + s * STEP for s in range(8)], 0
        for d in range(devices):
            pool, stream, more = [], [], late_us if slow in (None, d) else 0
            for s, b in enumerate(at):
                begin, us = b + 450 + more + 20 * d, (200 + last - more - 20 * d) / loop
                stats = {"hlo_op": ("ref", "psum.3"), "hlo_module": ("ref", "jit_train_step"), "program_id": 7}
                if kind == "cpu":
                    on = {"run_id": run(host, s), "device_ordinal": ids[host * devices + d]}
                    pool += [("dot.3", b + 50, 400 + more, {**stats, **on, "hlo_op": ("ref", "dot.3")})]
                    pool += [("psum.3", begin + k * us, us, {**stats, **on}) for k in range(loop)]
                    continue
                c += 1
                pool += [("CommonPjRtLoadedExecutable::Execute", b + 5, 900, {"run_id": run(host, s)}),
                         ("[0] CommonPjRtLoadedExecutable::Execute", b + 6, 890, {"global_device_id": ids[host * devices + d], "_ct": 5, "_c": run(host, s)}),
                         ("cuLaunchKernelEx", b + 8, 2, {"correlation_id": ("uint", 2 * c)}), ("cuLaunchKernelEx", b + 12, 2, {"correlation_id": ("uint", 2 * c + 1)})]
                details = {"kernel_details": ("ref", "regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:256,1,1 occ_pct:50")}
                stream += [("gemm_fusion", b + 50, 400 + more, {**stats, **details, "hlo_op": ("ref", "dot.3"), "correlation_id": ("uint", 2 * c)}),
                           ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin, us, {**stats, **details, "correlation_id": ("uint", 2 * c + 1)})]
            pools.append(pool)
            streams.append(stream)
        python += [("train", b, STEP, {"_r": 1, "step_num": s}) for s, b in enumerate(at)]
        plane = xspace.Plane("/host:CPU", 1000).line("python", python, 4000)
        planes = [xspace.programs((7, "jit_train_step", proto)), plane]
        for d in range(devices):
            plane.line(f"tf_XLAPjRtCpuClient/{d}", pools[d], 5001 + d)
            if kind == "gpu":
                planes.append(xspace.Plane(f"/device:GPU:{d}", d).line("Stream #7(Compute)", streams[d], 7))
        files[f"host{host}.xplane.pb"] = xspace.space(planes + [environment()], f"host{host}")
    return files


def tf_data(waits=(300,), kind="Map", count=4):
    """TensorFlow on a CPU, one file a host: each step of 1000 us waits so many us for an element that a transformation of this kind makes in another
    thread, from records that it reads in 5 us."""
    files = {}
    for host, wait in enumerate(waits):
        python, maker = [], []
        root, prefetch, path = "Iterator::Root", "Iterator::Root::Prefetch", f"Iterator::Root::Prefetch::{kind}"
        for s in range(count):
            b, element = FIRST + s * STEP, {"element_id": 700 + s}
            python += [("train", b, STEP, {"_r": 1, "step_num": s}), ("IteratorGetNextOp::DoCompute", b + 5, wait + 10, {"id": -5, "iter_num": s}),
                       (root, b + 8, wait + 4, {"id": 11, "name": ("ref", "PrefetchDataset:3")}),
                       (prefetch, b + 10, wait, {"id": ("uint", (1 << 63) + 12), "parent_id": 11, "buffer_limit": 2}),
                       ("PrefetchConsume", b + 8 + wait, 1, element)]
            maker += [("PrefetchProduce", b + 10, wait - 4, element),
                      (path, b + 11, wait - 6, {"id": 13, "parent_id": ("uint", (1 << 63) + 12), "name": ("ref", f"{kind}Dataset:2")}),
                      (path + "::TFRecord", b + 12, 5, {"id": 14, "parent_id": 13, "name": ("ref", "TFRecordDatasetV2:1")})]
        name = f"host{host}"
        plane = xspace.Plane("/host:CPU", 1000).line("python", python, 4000).line("tf_data_iterator_resource/7", maker, 7)
        files[name + ".xplane.pb"] = xspace.space([plane, environment()], name)
    return files


# -- containers


def zipped(files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def tarred(files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return made.getvalue()


def twice_packed(data):
    """A .gz of two members, as programs write it that append."""
    half = len(data) // 2
    return gzip.compress(data[:half], 1, mtime=0) + gzip.compress(data[half:], 1, mtime=0)


def zstandard(data):
    """A .zst of blocks that are not compressed (RFC 8878): what any decoder reads."""
    out, at = bytearray(b"\x28\xb5\x2f\xfd"), 0
    out += bytes([0xa0]) + len(data).to_bytes(4, "little")  # one segment, its size in 4 bytes, no checksum
    while True:
        part = data[at:at + (1 << 17)]
        at += len(part)
        out += (len(part) << 3 | (at >= len(data))).to_bytes(3, "little") + part
        if at >= len(data):
            return bytes(out)


def edited(files, change):
    """The same files with a change of their JSON."""
    made = {}
    for name, data in files.items():
        trace = json.loads(data)
        change(trace)
        made[name] = json.dumps(trace).encode()
    return made

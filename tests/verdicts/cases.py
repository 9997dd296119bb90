"""The table of verdicts: one row a case. A name, what it needs, the files, what must come. Used by verdicts.py.

Rows say what a user of the field would call right, whatever podprof does today. Files come from samples.py, wants from answer.py. A case that is
wrong today is in open.txt, under its owner; whoever repairs it removes its line."""
import collections
import gzip
import json
import os

import kineto
import samples
import xspace
from answer import (between, cell, code, column, count, device_rows, first, first_not, kernels, known, op, outside, prints, prints_not, ranks, rule, rule_not, says,
                    sessions, share, silent, step_time, steps, time_of, truth, unknown)
from kineto import Trace
from samples import host_op, loose, repeated, stack, torch

NEEDS = {"ladder": "lead", "steps": "steps", "dialects": "dialects", "identity": "identity", "clocks": "identity", "report": "identity", "xspace": "xspace",
         "containers": "xspace"}
Case = collections.namedtuple("Case", "name needs files wants how")


def analyze(a):
    a.analyze("in")


def with_rules(a):
    a.analyze("--rules", "in/my.rules", "in")


def edited(files, which, change):
    """The same files after a change of some of their events."""
    def each(trace):
        for e in trace["traceEvents"]:
            if e.get("cat") and "args" in e and which(e):
                change(e)
    return samples.edited(files, each)


def mirrored():
    """The profiler writes annotations a second time, on the device."""
    t = samples.train()
    for s in range(4):
        t.add("gpu_user_annotation", f"ProfilerStep#{10 + s}", 5100 + 1000 * s, 520, 7, 0)
    return t.bytes()


def two_gpus(us=300):
    t = samples.train()
    for s in range(4):
        t.op("aten::mm", 5045 + 1000 * s, 20)
        t.kernel("gemm", 5100 + 1000 * s, us, 5050 + 1000 * s, 7, 1)
        t.memory(5046 + 1000 * s, 1024, s % 2)
    return t.bytes()


def merged(label):
    return kineto.merged([samples.train(rank=r, world=2, pid=4000 + r, device=r) for r in range(2)], label)


def by_time(data):
    """The same file with its events in the order of their times, as viewers sort them."""
    trace = json.loads(data)
    return json.dumps({**trace, "traceEvents": sorted(trace["traceEvents"], key=lambda e: e["ts"])}).encode()


def concatenated(pid, more=None, device=None, skew=0):
    """Events of two ranks one behind the other, nothing else: rank 1 is late. more: what each has besides; device: of both; skew: rank 1 counts
    so many launches more."""
    traces = []
    for r in range(2):
        t = Trace(world=2, pid=pid(r), device=r if device is None else device)
        t.rank, t.correlation = r, 100 + skew * r
        for s in range(6):
            at, busy = samples.FIRST + s * 2000, 1200 if r else 300
            t.mark(f"ProfilerStep#{s}", at, 2000)
            t.op("aten::mm", at + 5, 12)
            t.kernel("gemm", at + 50, 300, at + 10)
            t.collective("allreduce", at + 50 + busy, 1400 - busy, at + 20 + busy, Rank=r)
        if more:
            more(t)
        t.rank = None
        traces.append(t)
    return kineto.merged(traces, lambda r, pid: pid)


def without(files, which, unless=lambda name: False):
    """The same files less some of their events; which: of the events of all files but those that are excepted."""
    return {name: data if unless(name) else samples.edited({name: data}, lambda t: t.update(traceEvents=[e for e in t["traceEvents"] if not which(e)]))[name]
            for name, data in files.items()}


def collectives(first, last):
    """Does an event belong to an all-reduce whose step is in that range?"""
    return lambda e: first * 2000 <= e["ts"] - samples.FIRST < last * 2000 and ("Collective name" in e.get("args", {}) or e["name"].startswith(("c10d", "nccl")))


def alone(us, ranks=2):
    """Kernels of collectives of which no operation is recorded."""
    files = {}
    for r in range(ranks):
        t = Trace(rank=r, world=ranks, pid=4000 + r, device=r, host="node0")
        for s in range(4):
            t.mark(f"ProfilerStep#{s}", 5000 + 1000 * s, 1000)
            t.kernel("gemm", 5010 + 1000 * s, 60, 5005 + 1000 * s)
            t.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 5080 + 1000 * s, us, stream=20)
        files[f"rank{r}.pt.trace.json"] = t.bytes()
    return files


LONG = "void long_kernel_name<" + "a_very::long_template_argument<float, 128, 64, 32>, " * 6 + "int>(Params<float>, long, long)"
ONE = samples.train().bytes()


def tpu_infeed():
    """A TPU waits for its host for 65 % of each step."""
    p = xspace.Plane("/device:TPU:0", 0)
    infeed, fusion = "%infeed.4 = ((bf16[8]{0}), token[]) infeed(token[] %after-all)", "%fusion.1 = bf16[1024,1024]{1,0} fusion(bf16[1024,1024]{1,0} %p0)"
    p.about(fusion, "fusion.1", hlo_category=("ref", "convolution fusion")).about(infeed, "infeed.4", hlo_category=("ref", "infeed"))
    at = [samples.FIRST + s * 2000 for s in range(6)]
    p.line("Steps", [(str(s), b, 2000, {"group_id": s}) for s, b in enumerate(at)], 1)
    p.line("XLA Ops", [(infeed, b, 1300) for b in at] + [(fusion, b + 1310, 600) for b in at], 3)
    return {"tpu0.xplane.pb": xspace.space([p, samples.environment()], "tpu0")}


def loader(name):
    return host_op(("cpu_op", f"enumerate(DataLoader)#{name}.__next__", 760, 200))


def wrong_arguments(trace):
    """Arguments of another type: rank 0 has 2 of them, each other rank one more."""
    for event in [e for e in trace["traceEvents"] if e.get("cat") == "kernel"][:2 + trace["distributedInfo"]["rank"]]:
        event["args"]["grid"] = "large"


def busbw(size, rate):
    """Of all collectives; None: unknown."""
    def check(a):
        rows = a.table("collective")
        wrong = [r for r in rows if r["bytes"] != size or (r["busbw"] == r["busbw"] and rate is None) or (rate is not None and not abs(r["busbw"] - rate) < rate / 100)]
        return "no collective" if not rows else f"{wrong[0]['bytes']} bytes, {wrong[0]['busbw']} B/s" if wrong else ""
    return truth(f"collectives of {size} bytes with {rate} B/s", check)


def in_trace(words):
    def check(a):
        path = os.path.join(a.where, "trace.json.gz")
        a.run("export", "--format", "chrome", "-o", path, a.session)
        with gzip.open(path, "rt", encoding="utf-8") as f:
            return "" if words in f.read() else "it has not"
    return truth(f"the exported trace has {words}", check)


# Rank 1 of two hosts is late by as much, each step.
LATE = (count("collective", 8), says("Straggler: +rank 1"), says("aligned by collectives"), first("rank 1, Device compute|rank 1, Host compute"), count("collective", 0, mismatch="[^0]"))


def case(name, needs, files, *wants, how=analyze):
    wants = wants if any(w.title.startswith("exit code") for w in wants) else (code(0), *wants)
    return Case(name, needs, files, wants, how)


HALF = share("Device compute", 50)  # what samples.train computes
KERNELS = kernels(8, 2000)          # of its four steps

CASES = [
    # -- what a thing is: Python frames are no evidence, for themselves and for what is in them
    case("frame-compilation", "ladder", stack("vllm/compilation/decorators.py(372): __call__"), share("Compilation", 0), first_not("compil"), HALF, KERNELS),
    case("frame-input", "ladder", stack("test_model.py(12): run_on_input"), share("Input", 0), first_not("input"), HALF),
    case("frame-output-code", "ladder", stack("torch/_inductor/output_code.py(584): __call__"), share("Compilation", 0), share("Output", 0), first_not("compil|output")),
    case("frame-output-capturing", "ladder", stack("transformers/utils/output_capturing.py(248): wrapper"), share("Output", 0), first_not("output")),
    case("frame-save", "ladder", stack("model/save_state.py(3): save_model", "nn.Module: SaveInput_0"), share("Output", 0), share("Input", 0), first_not("output|input")),
    case("frame-checkpoint", "ladder", stack("torch/utils/checkpoint.py(488): checkpoint", "torch/_compile.py(51): inner"), share("Output", 0), share("Compilation", 0)),
    case("frame-dataset", "ladder", stack("my_data/loader_input.py(9): next_batch", "<built-in method load of DataLoader object at 0x7f00>"), share("Input", 0), HALF),
    case("frame-jit", "ladder", stack("jax/_src/pjit.py(339): cache_miss", "compile_wrapper.py(1): jit_lowering"), share("Compilation", 0), first_not("compil")),
    case("frame-allreduce", "ladder", stack("ddp/allreduce_hook.py(7): broadcast_barrier"), share("Host communication", 0), first_not("communication")),
    case("frame-around-operator", "ladder", stack("trainer.py(5): save_checkpoint_output"), op("^aten::mm$", calls=4, category="^Host compute$")),
    # operators and runtime calls neither
    case("operator-words", "ladder", host_op(("cpu_op", "mylib::save_output_input", 5, 900)), share("Output", 0), share("Input", 0), first_not("output|input")),
    case("activation-checkpoint", "ladder", host_op(("cpu_op", "CheckpointFunctionBackward", 5, 900), ("cpu_op", "CheckpointFunction", 10, 800)), share("Output", 0)),
    case("dtensor", "ladder", host_op(("cpu_op", "PythonSubclass", 5, 900), ("cpu_op", "PythonDispatchMode", 10, 880), ("cpu_op", "Redistribute", 12, 870)),
         silent("Unknown:.*(PythonSubclass|PythonDispatchMode|Redistribute)")),
    case("fsdp", "ladder", host_op(("cpu_op", "fsdp::all_gather_copy_in", 5, 400), ("cpu_op", "fsdp::split_with_sizes_copy", 410, 300),
                                   ("cpu_op", "fsdp::chunk_cat", 720, 200)), silent("Unknown:.*fsdp"), share("Output", 0)),
    case("tf-collective", "ladder", samples.xla_cpu(events=[("CollectiveOpV2Kernel::Run", 5, 90), ("CollectiveExecutor::ExecuteAsync", 760, 200)]),
         op("^CollectiveOpV2Kernel::Run", category="Host communication"), op("^CollectiveExecutor", category="Host communication")),
    case("jax-execute", "ladder", samples.xla_cpu(events=[("Execute (jit_train_step)", 50, 900)]), share("Compilation", 0), first_not("compil")),
    case("xla-module", "ladder", samples.xla_cpu(events=[("XlaModule:#hlo_module=jit_step,program_id=7#", 50, 900)]), share("Compilation", 0), first_not("compil")),
    # what is evidence
    case("user-words", "ladder", host_op(("user_annotation", "load input batch", 5, 10)), op("^load input batch$", calls=4, category="^Input$", by="word")),
    case("user-inherits", "ladder", host_op(("user_annotation", "save checkpoint", 5, 990)), op("^aten::mm$", calls=4, category="^Output$"),
         op("^save checkpoint$", by="word")),
    case("user-path", "ladder", host_op(("user_annotation", "## sparse_data_dist ##", 5, 990)), share("Input", 0), share("Output", 0)),
    case("jax-runtime-words", "ladder", samples.xla_cpu(events=[("Handle inputs", 5, 90), ("H2D Dispatch", 760, 100), ("AllocateOutputBuffersWithInputReuse", 860, 100)]),
         share("Input", 0), share("Output", 0), first_not("input|output")),
    case("tf-executor-words", "ladder", samples.xla_cpu(events=[("ExecutorState::Process", 5, 90), ("EagerCopyToDevice", 760, 200)]), share("Input", 0), share("Output", 0)),
    case("kernel-words", "ladder", loose([("kernel", "triton_poi_fused_save_input_output_0", 5100, 300, 5050), ("kernel", "void load_data_compile_kernel<int>(int)", 5500, 100, 5060)]),
         time_of("Device compute", 400), share("Input", 0), share("Output", 0)),
    case("nccl-by-name", "ladder", loose([("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 5100, 300)]),
         cell("kernel", {}, "by", "name"), time_of("Device collective communication", 300)),
    case("nccl-name-begin", "ladder", loose([("kernel", "my_nccl_helper_gemm", 5100, 300, 5050)]), kernels(0, activity="^Collective$")),
    case("known-loader", "ladder", host_op(("cpu_op", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 760, 200)), share("Input", 20)),
    case("launch-decides", "ladder", loose([("op", "symm_mem::one_shot_all_reduce", 5000, 200), ("kernel", "my_reduce", 5100, 300, 5020),
                                            ("op", "aten::mm", 5500, 50), ("kernel", "gemm_allreduce_fused_name", 5600, 100, 5510)]),
         kernels(1, 300, name="^my_reduce$", activity="Collective"), time_of("Device collective communication", 300)),
    case("words-of-an-operator", "ladder", loose([("op", "aten::index_add_", 5000, 50), ("kernel", "reduce_scatter_indices_kernel", 5100, 300, 5020)]),
         kernels(1, 300, activity="^Kernel$", by="launch"), time_of("Device compute", 300), silent("neither name nor operator")),
    case("words-of-no-operator", "ladder", loose([("kernel", "my_allgather_gemm_overlap_kernel", 5100, 300, 5020)]), kernels(1, 300, activity="^Communication unknown$"),
         says("neither name nor operator")),
    case("idle-of-common-steps", "report", {f"r{r}.json": samples.train(kineto.Trace(rank=r, world=2, pid=7000 + r, device=r, host="h0"), begin=10 + 2 * r).bytes() for r in range(2)},
         steps(2), says("for 50 % of the steps' time, 500 us per step")),
    case("by-column", "ladder", torch(), column("op", "by"), column("kernel", "by"), op("^aten::mm$", category="Host compute", calls=4, us=800)),
    case("rocm-copies", "ladder", loose([("kernel", "__amd_rocclr_copyBuffer", 5100, 300, 5050), ("kernel", "__amd_rocclr_fillBufferAligned", 5500, 100, 5060),
                                         ("kernel", "Cijk_Ailk_Bljk_SB_MT64x64x16", 5700, 200, 5070)], "hip"),
         kernels(0, name="copyBuffer", activity="^Kernel$"), kernels(0, name="fillBuffer", activity="^Kernel$"), kernels(1, name="Cijk", activity="^Kernel$")),
    case("mtia-wait", "ladder", loose([("kernel", "event_wait", 5100, 600, 5050), ("kernel", "fc_fused", 5800, 200, 5060)], "mtia"),
         kernels(0, name="event_wait", activity="^Kernel$"), time_of("Device compute", 200)),
    case("profiler-own-torch", "ladder", {"rank0.pt.trace.json": samples.train(marks=None).frame("torch/profiler/profiler.py(190): stop_trace", 9010, 50000)
                                          .profiler(1000, 60000).bytes()}, steps(1, "window"), step_time(4000, 60)),
    case("rules-kernel", "ladder", {**loose([("kernel", "multimem_thing<4>", 5100, 300, 5050), ("kernel", "gemm", 5500, 100, 5060)]),
                                    "my.rules": b"kernel:multimem* = Device collective communication\n"},
         time_of("Device collective communication", 300), time_of("Device compute", 100), how=with_rules),
    case("rules-operator", "ladder", {**host_op(("cpu_op", "mylib::fetch_rows", 760, 200)), "my.rules": b"operator:mylib::fetch* = Input\n"},
         op("^mylib::fetch_rows$", category="^Input$", by="rule"), share("Input", 20), how=with_rules),
    case("rules-frame", "ladder", {**host_op(("python_function", "my/loader.py(7): next_rows", 760, 200)), "my.rules": b"frame:*next_rows* = Input\n"},
         share("Input", 20), how=with_rules),
    case("rules-impossible", "ladder", {**torch(), "my.rules": b"kernel:gemm = Input\n"}, code(64), prints("kernel.*Input|Input.*kernel"), how=with_rules),
    case("rules-impossible-run", "ladder", {"my.rules": b"kernel:gemm = Input\n"}, code(64), prints("kernel.*Input|Input.*kernel"),
         how=lambda a: a.run("run", "--rules", "in/my.rules", "-o", a.logs, "--", "true")),
    case("report-unknown", "ladder", host_op(("user_annotation", "frobnicate", 5, 900)), prints("frobnicate.*="), prints_not("aten::mm.*="),
         how=lambda a: (a.analyze("in"), a.run("report", "--unknown", a.logs))),
    case("rests-on", "ladder", host_op(("user_annotation", "frobnicate", 5, 900)), says("(unknown|nothing|no evidence).*[0-9]+(\\.[0-9])? %|[0-9]+(\\.[0-9])? %.*(unknown|nothing|no evidence)"),
         says("frobnicate")),

    # -- steps: marks and iterations, never single operators, calls or frames
    case("steps-marks", "steps", torch(), steps(4, "ProfilerStep", 10), step_time(1000), HALF, KERNELS, outside(0)),
    case("steps-operator", "steps", repeated(8, op="aten::to"), steps(1, "window"), rule_not("aten"), kernels(8, 2400), outside(0)),
    case("steps-operator-long", "steps", loose([e for i in range(9) for e in (("op", "aten::linear", 5000 + 1000 * i, 980), ("kernel", "gemm", 5300 + 1000 * i, 500, 5010 + 1000 * i))]),
         steps(1, "window"), rule_not("aten"), kernels(9, 4500), outside(0)),
    case("steps-builtin", "steps", repeated(8, frame="<built-in method run_backward of torch._C._EngineBase object at 0x7f60>"), steps(1, "window"), kernels(8, 2400), outside(0)),
    case("steps-jax-function", "steps", samples.xla_cpu(count=6, main=None, events=[("PjitFunction(train_step)", 5, 980)]), steps(1), rule_not("Pjit")),
    case("steps-jax-compile", "steps", samples.xla_cpu(count=6, main=None, events=[("backend_compile_and_load", 5, 980)]), steps(1), rule_not("compile")),
    case("steps-tf-eager", "steps", samples.xla_cpu(count=6, main=None, events=[("TFE_Py_FastPathExecute_C", 5, 980)]), steps(1), rule_not("TFE")),
    case("steps-jax-marks", "steps", samples.xla_cpu(count=6, events=[("PjitFunction(train_step)", 5, 980)]), steps(6, "", 0), step_time(1000)),
    case("steps-lightning", "steps", repeated(8, mark=lambda i: "[pl][profile]run_training_batch"), steps(8, "run_training_batch"), kernels(8, 2400)),
    case("steps-two-rates", "steps", loose([e for i in range(4) for e in (("mark", f"iteration {i}", 5000 + 2000 * i, 1990), ("mark", "microbatch", 5010 + 2000 * i, 900),
                                           ("mark", "microbatch", 5950 + 2000 * i, 900), ("kernel", "gemm", 5100 + 2000 * i, 1500, 5050 + 2000 * i))]),
         steps(4, "iteration", 0), kernels(4, 6000)),
    case("steps-launch", "steps", repeated(8), steps(1, "window"), rule_not("cudaLaunch"), kernels(8, 2400), outside(0)),
    case("steps-frame", "steps", repeated(8, frame="train.py(10): step"), steps(1, "window"), rule_not("train"), kernels(8, 2400), outside(0)),
    case("steps-module", "steps", repeated(8, frame="nn.Module: Net_0"), steps(1, "window"), rule_not("Net"), kernels(8, 2400)),
    case("steps-window-79", "steps", repeated(79, 100, 30, op="aten::to"), steps(1, "window"), kernels(79, 2370), outside(0)),
    case("steps-optimizer", "steps", repeated(8, optimizer="Optimizer.step#AdamW.step"), between("steps", 7, 8), rule("optimizer"), step_time(1000, 20)),
    case("steps-vllm", "steps", repeated(8, mark=lambda i: f"execute_context_0(0)_generation_{4 + i % 3}({4 + i % 3})"), steps(8, "execute"), step_time(990, 12),
         kernels(8, 2400), outside(0)),
    case("steps-sglang", "steps", repeated(8, mark=lambda i: f"step[DECODE bs={8 + i % 2}]" if i % 4 else "step[EXTEND bs=1 toks=128]"), steps(8, "step"),
         kernels(8, 2400), outside(0)),
    case("steps-trtllm", "steps", repeated(8, mark=lambda i: f"[Executor] _forward_step {100 + i}: 0 ctx reqs, {8 - i % 3} gen reqs"), steps(8, "forward_step", 100),
         kernels(8, 2400)),
    case("steps-user", "steps", repeated(8, mark=lambda i: f"iteration {30 + i}"), steps(8, "iteration", 30), kernels(8, 2400)),
    case("steps-nvtx-name", "steps", repeated(8, mark="train_step"), steps(8, "train_step"), kernels(8, 2400)),
    case("steps-host-only", "steps", loose([("mark", f"tokenize {i}", 5000 + 40 * i, 30) for i in range(6)] + [("kernel", "gemm", 6000 + 500 * i, 400, 5900 + 500 * i)
                                           for i in range(5)]), steps(1, "window"), rule_not("tokenize"), kernels(5, 2000), outside(0)),
    case("steps-loader-range", "steps", loose([e for i in range(6) for e in (("mark", "fetch", 5000 + 1000 * i, 100), ("kernel", "gemm", 5300 + 1000 * i, 500, 5250 + 1000 * i))]),
         rule_not("fetch"), kernels(6, 3000), outside(0)),
    case("steps-late-kernels", "steps", {"rank0.pt.trace.json": samples.train().kernel("late", 9500, 40, 8990).bytes()}, steps(4, "ProfilerStep"), KERNELS, outside(1)),
    case("steps-warm-up", "steps", torch(count=12, warm=30000), steps(12, "ProfilerStep"), step_time(1000), first_not("first step|start")),
    case("steps-warm-compile", "steps", torch(count=12, warm=30000, host=[("cpu_op", "Torch-Compiled Region: 0/0", 5, 700)]), step_time(1000), first_not("compil")),
    *[case(f"warm-up-{name}", "steps", samples.compiling(n, compiles), first("Device compute, 50 %"), step_time(1000), says(f"the first ({max(compiles, 1)} )?steps?: "),
           cell("advice", {"rule": "device_idle"}, "evidence", "for (up to )?50 % of the (usual )?steps' time"), says(r"^  Device compute +\|#+ +\| +50.0 %"), silent("Bottleneck.*(Compilation|first step)|97 %"))
      for name, n, compiles in (("of-3", 3, 1), ("of-8", 8, 1), ("two-of-5", 5, 2), ("unknown-of-3", 3, 0))],
    case("warm-up-none", "steps", samples.compiling(4, 4), first("Compilation"), silent("the first")),
    case("steps-stack", "steps", stack("train.py(99): <module>", "train.py(40): main", "torch/nn/modules/module.py(1501): _call_impl", "nn.Module: Net_0"),
         steps(4, "ProfilerStep", 10), step_time(1000), HALF, KERNELS, share("Kernel launch", 0.4, 0.5)),
    case("steps-gpu-annotation", "steps", {"rank0.pt.trace.json": mirrored()}, steps(4, "ProfilerStep", 10), HALF, KERNELS),
    case("steps-collectives", "steps", samples.ddp(2, count=12, marks=None), between("steps", 10, 12), rule("collective"), step_time(2000, 30)),
    case("serving-sglang", "steps", samples.serving([("step[EXTEND bs=1 toks={n}]", 20000, 3), ("step[DECODE bs=8]", 1500, 24)], 20), first("Device compute"),
         step_time(20000), says("median of 3 usual prefill steps"), says("Iterations: 3 prefill, median 20.0 ms, 62.5 % of their time; 24 decode, median 1.50 ms"),
         silent("longer than the usual|every \\d+ steps"), cell("step", {"number": 1}, "kind", "^decode$")),
    case("serving-decode", "steps", samples.serving([("step[EXTEND bs=1 toks=400]", 5000, 1), ("step[DECODE bs={n}]", 1500, 40)], 20), step_time(1500), first("Device compute, 93 %"),
         says("median of 40 usual decode steps"), silent("the first step|longer than the usual")),
    case("serving-slow-decode", "steps", samples.serving([("step[EXTEND bs=1 toks=400]", 5000, 1), ("step[DECODE bs={n}]", 1500, 40)], 20, slow=20), step_time(1500),
         says("once, in step 20: the rank, Device compute"), silent("the first step")),
    case("serving-idle", "steps", samples.serving([("execute_context_0(0)_generation_1{n}(8)", 1000, 20)], 9000), step_time(1000), first("Device compute, 90 %"),
         says("20 decode, median 1.00 ms, 100 % of their time; between them 171 ms, 89.5 % of the time"), silent("time between steps")),
    case("serving-vllm-mixed", "steps", samples.serving([("execute_context_2(300)_generation_5(5)", 4000, 5), ("execute_context_0(0)_generation_7(7)", 1000, 10)]),
         says("5 mixed, median 4.00 ms, 66.7 % of their time; 10 decode|10 decode.*5 mixed, median 4.00 ms, 66.7 %"), silent("longer than the usual")),
    case("serving-tensorrt", "steps", samples.serving([("[Executor] _forward_step {n}: 1 ctx reqs, 0 gen reqs", 8000, 2), ("[Executor] _forward_step {n}: 0 ctx reqs, 9 gen reqs", 1000, 12)]),
         says("2 prefill, median 8.00 ms, 57.1 % of their time; 12 decode, median 1.00 ms"), silent("longer than the usual")),
    case("serving", "steps", repeated(10, 1000, 900, mark=lambda i: f"execute_context_{i % 2}(64)_generation_3(3)", frame="vllm/v1/worker/gpu_worker.py(300): execute_model"),
         steps(10, "execute"), share("Device compute", 90, 2), first("Device compute"), kernels(10, 9000)),

    # -- what devices' dialects are
    case("cuda", "dialects", torch(), HALF, KERNELS, op("^cudaLaunchKernel$", category="Kernel launch", calls=8), kernels(4, block_x=256, grid_x=64, registers=32, name="^gemm$")),
    case("hip-streams", "dialects", torch(dialect="hip"), HALF, KERNELS, op("^hipLaunchKernel$", category="Kernel launch", calls=8), prints_not("damaged")),
    case("hip-pointer-streams", "dialects", edited(torch(dialect="hip"), lambda e: "stream" in e["args"], lambda e: e["args"].update(stream="0x7f8a2c001230")), HALF, KERNELS),
    case("hip-module-launch", "dialects", loose([("kernel", "Cijk_Ailk", 5100 + 500 * i, 300, 5050 + 500 * i, {"launch": n})
                                                 for i, n in enumerate(("hipModuleLaunchKernel", "hipExtModuleLaunchKernel", "hipExtLaunchKernel", "hipGraphLaunch"))], "hip"),
         kernels(4, 1200), *[op(f"^{n}$", category="Kernel launch") for n in ("hipModuleLaunchKernel", "hipExtModuleLaunchKernel", "hipExtLaunchKernel", "hipGraphLaunch")]),
    case("hip-copies", "dialects", loose([("copy", "in", 5100, 300, 5050), ("copy", "out", 5500, 100, 5060), ("memset", 5700, 50, 5070)], "hip"),
         kernels(1, 300, activity="Host to device|Copy from"), time_of("Output", 100)),
    case("rccl", "dialects", loose([("collective", "allreduce", 5100, 400, 5020, {"name": "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"})], "hip", world=2),
         kernels(1, 400, activity="Collective"), time_of("Device collective communication", 400)),
    case("xpu", "dialects", torch(dialect="xpu"), HALF, KERNELS, op("^urEnqueueKernelLaunch$", category="Kernel launch", calls=8)),
    case("xpu-copies", "dialects", loose([("copy", "in", 5100, 300, 5050), ("copy", "out", 5500, 100, 5060)], "xpu"), kernels(1, 300, activity="Host to device|Copy from"),
         time_of("Output", 100), time_of("Device compute", 0)),
    case("privateuse1", "dialects", torch(dialect="privateuse1"), HALF, KERNELS, op("^aclrtLaunchKernel$", category="Kernel launch", calls=8)),
    case("ascend", "dialects", {"trace_view.json": samples.ascend()}, time_of("Device compute", 2000), time_of("Device collective communication", 800),
         kernels(4, 2000, name="^MatMulV2$", activity="^Kernel$"), kernels(4, name="^hcom_allReduce", activity="Collective"), op("^aten::mm$", side="Host", calls=4)),
    case("mtia", "dialects", torch(dialect="mtia"), HALF, KERNELS, op("^runFunction$", category="Kernel launch", calls=8)),
    case("habana", "dialects", edited(torch(), lambda e: e["cat"] == "kernel", lambda e: (e.update(cat="hpu_op"), e["args"].update({"HW event name": "MME"}))), HALF, KERNELS),
    case("mps", "dialects", loose([("mark", f"ProfilerStep#{i}", 5000 + 1000 * i, 1000) for i in range(3)] + [("op", "aten::_mps_convolution", 5100 + 1000 * i, 700)
                                   for i in range(3)]), steps(3, "ProfilerStep", 0), share("Host compute", 70, 1), share("Device compute", 0), silent(", GPU ")),
    case("cpu-only", "dialects", loose([("mark", f"ProfilerStep#{i}", 5000 + 1000 * i, 1000) for i in range(3)] + [("op", "aten::mkldnn_convolution", 5100 + 1000 * i, 700)
                                        for i in range(3)]), share("Host compute", 70, 1), first("Host compute")),
    *[case(f"dtype-{d.lower()}", "dialects", samples.ddp(2, dtype=d), cell("collective", {}, "bytes", 1000000 * size))
      for d, size in (("BFloat16", 2), ("Float8_e4m3fn", 1), ("Float8_e5m2fnuz", 1), ("ComplexHalf", 4), ("UInt16", 2), ("UInt64", 8), ("Bool", 1))],
    case("argument-of-another-type", "dialects", edited(torch(), lambda e: e["cat"] == "kernel", lambda e: e["args"].update(grid="large", block=7, **{"registers per thread": [1]})),
         HALF, KERNELS, prints_not("damaged")),
    case("argument-null", "dialects", edited(torch(), lambda e: "args" in e, lambda e: e["args"].update({"External id": None, "Sequence number": "x", "Ev Idx": {"a": 1}})),
         HALF, KERNELS, prints_not("damaged")),
    case("numbers-as-texts", "dialects", edited(torch(), lambda e: e["ph"] == "X", lambda e: e.update(ts=str(e["ts"]), dur=str(e["dur"]))), HALF, KERNELS),
    case("two-gpus", "dialects", {"rank0.pt.trace.json": two_gpus()}, kernels(12, 3200), device_rows(0, 1)),
    case("two-gpus-one-slow", "dialects", {"rank0.pt.trace.json": two_gpus(800)}, kernels(8, 2000, device=0), kernels(4, 3200, device=1), op("^aten::mm$", 8, 4800, "Device"),
         cell("op", {"name": "^aten::mm$", "device": 1}, "total_ns", 3200000), cell("op", {"side": "^Host$"}, "device", -1), cell("op_stats", {"name": "aten::mm", "host_or_device": "Device"},
         "total_ns", 4800000), cell("allocator", {"allocator": "^GPU_1$"}, "device", 1), cell("device_speed", {"device": 1}, "ratio", 2, 0.01), cell("advice", {"rule": "device_slow"}, "evidence", "device 1 of rank 0 takes 2.00 times"), says(r"aten::mm .*on device\s+most on device 1, 800 us")),
    case("busbw", "dialects", {"rank0.pt.trace.json": samples.train(rank=0, world=8, marks=None).collective("allreduce", 20000, 46800, 19000, 76675000).bytes()},
         cell("collective", {"operation": "(?i)all_?reduce"}, "busbw", 306.7e6 / 46.8e-3 * 1.75, 2e8)),
    case("overlap-on-stream", "dialects", loose([("kernel", "gemm", 5000 + 100 * i, 150, 4900 + 100 * i) for i in range(6)]), says("overlap"), time_of("Device compute", 650)),
    case("names-whole", "dialects", loose([("kernel", LONG, 5000, 150, 4900)]), silent(r"\w\.\.\w"), says("long_kernel_name<")),

    # -- whose file it is
    case("repeat-schedule", "identity", {f"node0_4000.{1711964646000 + i}.pt.trace.json": samples.window(4000, i * 1000000) for i in range(3)}, sessions(3), ranks(0)),
    case("repeat-any-names", "identity", {n: samples.window(4000, i * 1000000) for i, n in enumerate(("trace_b.json", "a.json", "zz.json"))}, sessions(3), ranks(0)),
    case("repeat-of-two", "identity", {f"{'xy'[r]}{i}.json": samples.window(4000 + r, i * 1000000, rank=r, world=2) for i in range(2) for r in range(2)}, sessions(2),
         ranks(0, 1)),
    case("two-processes", "identity", {f"{n}.json": samples.window(4000 + i, 0) for i, n in enumerate("ab")}, sessions(1), ranks(0, 1)),
    case("one-pid-two-hosts", "identity", {f"{n}.json": samples.window(4000, 0, host=n) for n in ("node0", "node1")}, sessions(1), ranks(0, 1)),
    case("merged-sglang", "identity", {"merged-17.trace.json": merged(lambda r, pid: f"[TP{r:02d}] {pid}")}, ranks(0, 1), kernels(16, 4000)),
    case("merged-by-offset", "identity", {"merged.json": merged(lambda r, pid: pid + 100000 * r if isinstance(pid, int) else f"{pid} {r}")}, ranks(0, 1), kernels(16, 4000)),
    case("merged-by-rank-argument", "identity", {"merged.json": concatenated(lambda r: 7000 - r)}, ranks(0, 1), kernels(12, 3600, name="gemm"), kernels(12, device=1, worker=1), kernels(12, device=0, worker=0),
         cell("worker", {"rank": 0}, "pid", 7000), cell("worker", {"rank": 1}, "pid", 6999), count("collective", 6), first("rank 1"), silent("contradict one rank|unknown one")),
    case("merged-by-time", "identity", {"merged.json": by_time(concatenated(lambda r: 7000 + r, skew=3))}, ranks(0, 1), kernels(12, worker=0, device=0),
         kernels(12, worker=1, device=1), first("rank 1"), silent("unknown one of the file's ranks")),
    case("merged-by-time-equal-numbers", "identity", {"merged.json": by_time(concatenated(lambda r: 7000 + r))}, ranks(0, 1), kernels(12, worker=0, device=0),
         says("12 events are of an unknown one of the file's ranks")),
    case("merged-by-time-one-device", "identity", {"merged.json": by_time(concatenated(lambda r: 7000 + r, device=0))}, ranks(0, 1), says("events are of an unknown one of the file's ranks")),
    case("merged-one-pid", "identity", {"merged.json": concatenated(lambda r: 7000)}, ranks(0), says("Caution: +rank 0 is partial: its file mixes ranks that have one pid .[1-9][0-9]* contradictions.")),
    case("merged-unlaunched", "identity", {"merged.json": concatenated(lambda r: 7000 + r, lambda t: t.kernel("alone", 5600, 50, None, 9))}, ranks(0, 1),
         kernels(1, worker=0, name="alone", device=0), kernels(1, worker=1, name="alone", device=1), silent("unknown one of the file's ranks")),
    case("merged-unlaunched-on-one", "identity", {"merged.json": concatenated(lambda r: 7000 + r, lambda t: t.kernel("alone", 5600 + 60 * t.rank, 50, None, 9), device=0)}, ranks(0, 1),
         kernels(2, name="alone"), says("2 events are of an unknown one of the file's ranks")),
    case("jax-two-directories", "identity", {f"{n}/plugins/profile/2026_01_01_00_00_0{i}/node0.xplane.pb":
                                             next(iter(samples.xla_cpu(begin_ns=1790000000000000000 + i * 1000).values())) for i, n in enumerate("ab")},
         sessions(1), ranks(0, 1), steps(4)),
    case("diff-map", "identity", {"a/r.json": samples.train(rank=0, world=8).bytes(), "b/r.json": samples.train(rank=3, world=8, count=5).bytes()},
         code(0), prints_not("no (common )?rank"), how=lambda a: (a.run("analyze", "in/a", "-o", "la"), a.run("analyze", "in/b", "-o", "lb"),
                                                                  a.run("diff", "--map", "0=3", "la", "lb"))),

    case("jax-two-sessions-apart", "identity", {f"{n}/plugins/profile/2026_01_01_00_0{i}_00/node0.xplane.pb":
                                                next(iter(samples.xla_cpu(begin_ns=1790000000000000000 + i * 60000000000).values())) for i, n in enumerate("ab")},
         code(64), prints("2 sessions|one is analysed at a time")),
    case("no-ranks-two-hosts", "identity", {f"{n}.json": samples.train(Trace(pid=4000, host=n)).bytes() for n in ("hosta", "hostb", "hostc")}, ranks(0, 1, 2), steps(4)),

    # -- collectives that nothing numbers: in their order, where all ranks have as many
    case("order-joins", "clocks", samples.ddp(4, slow=2, count=12, marks=None, optimizer=True), rule("optimizer"), first("rank 2"), says("Straggler: +rank 2"),
         says("joined in their order")),
    case("order-two-hosts", "clocks", samples.ddp(4, slow=1, hosts=2, skew=30000, count=12, marks=None, optimizer=True), first("rank 1"), says("joined in their order")),
    case("order-one-less", "clocks", without(samples.ddp(4, slow=2, count=12, marks=None, optimizer=True), collectives(0, 1), lambda name: "4001" not in name),
         silent("joined in their order|Straggler: +rank")),
    case("order-shifted", "clocks", {**without(samples.ddp(4, slow=2, count=12, marks=None, optimizer=True), collectives(0, 1)),
                                     **{n: d for n, d in without(samples.ddp(4, slow=2, count=12, marks=None, optimizer=True), collectives(11, 12)).items() if "4001" in n}},
         silent("joined in their order|Straggler: +rank")),
    case("one-rule-for-all", "steps", {**{f"r{r}.json": repeated(10, 1000, 900, mark="train_step")["rank0.pt.trace.json"].replace(b'"pid": 4000', b'"pid": 400%d' % r) for r in range(2)},
                                       "r2.json": repeated(7, 1500, 900, optimizer="Optimizer.step#SGD.step")["rank0.pt.trace.json"].replace(b'"pid": 4000', b'"pid": 4002')},
         steps(10, "^range: train_step"), says("rank 2 is partial: the steps of its file are found by another rule")),
    case("marks-in-some", "clocks", without(samples.ddp(4, slow=2, optimizer=True), lambda e: e["name"].startswith("ProfilerStep"), lambda name: "4003" not in name),
         rule("ProfilerStep"), says("rank 3 is partial: its file marks no steps"), silent("guessed|update by the optimizer"), first("rank 2")),

    # -- clocks of files
    case("clock-one-host", "clocks", samples.ddp(4, slow=2), first("rank 2"), says("Straggler: +rank 2"), silent("clock of its own|were not compared"),
         known("wait_ns")),
    case("clock-two-hosts", "clocks", samples.ddp(4, slow=1, hosts=2, skew=30000), first("rank 1"), says("aligned by collectives")),
    case("clock-no-collectives", "clocks", {f"n{r}.json": samples.train(Trace(rank=r, world=2, pid=4000 + r, host=f"n{r}")).bytes() for r in range(2)},
         silent("aligned by collectives|Straggler: +rank"), says("unknown")),
    case("one-name-two-machines", "clocks", samples.edited(samples.ddp(4, slow=1, hosts=2, skew=30000, count=12), lambda t: t.update(host_name="localhost")),
         says("4 of 4 ranks, 2 hosts"), cell("worker", {"rank": 0}, "host", "^localhost$"), cell("worker", {"rank": 3}, "host", r"^localhost \(2\)$"), first("rank 1"),
         silent("worst is")),
    case("one-name-one-machine", "clocks", samples.edited(samples.ddp(4, slow=1, count=12), lambda t: t.update(host_name="localhost")), says("4 of 4 ranks, 1 host,")),
    case("notes-of-ranks", "report", samples.edited(samples.ddp(4, count=4), wrong_arguments), says("ranks 0-3 together: 14 values of the file"), silent("and others:")),
    case("clock-nobody-late", "clocks", samples.ddp(4, hosts=2, skew=-70000), silent("Straggler: +rank"), first_not("^rank")),

    # -- what is known of communication
    case("alone-counted", "report", alone(100), says("Note: +8 kernels of device collectives belong to no recorded operation")),
    case("alone-unsplit", "report", alone(900), first("^communication.*not separated"), says("Next: +let collectives run beside compute"), silent("transfer between ranks")),
    case("one-rank-of-8", "report", dict([next(iter(samples.ddp(8).items()))]), first("^communication.*unknown: only one rank is recorded"),
         says("1 of 8 ranks"), says(r"^ +0  node0 +6 +2.00 ms +unknown "), silent("0 ns wait"), unknown("wait_ns")),
    case("two-ranks-of-8", "report", dict(list(samples.ddp(8, slow=1).items())[:2]), says("2 of 8 ranks"), ranks(0, 1)),
    case("one-rank-alone", "report", torch(), says("1 of 1 rank,"), between("wait_ns", 0, 0)),
    case("loader-of-torch", "report", loader("_MultiProcessingDataLoaderIter"), cell("input_op", {"name": "enumerate"}, "category", "^reading in advance$")),
    case("loader-of-torch-alone", "report", loader("_SingleProcessDataLoaderIter"), cell("input_op", {"name": "enumerate"}, "category", "^reading on demand$")),
    case("input-without-workers", "report", host_op(("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 400, 600)), first("^Input"),
         says("Next: +read batches ahead, in workers of the data loader"), silent("more of its workers")),
    case("loader-of-user", "report", loader("MyMultiProcessingDataLoaderIter"), cell("input_op", {"name": "enumerate"}, "category", "^other input$"), share("Input", 20),
         prints_not("in advance"), how=lambda a: (a.analyze("in"), a.run("report", "--table", "advice", a.logs))),
    case("frame-of-loader", "report", host_op(("python_function", "lib/prefetch_decode/torch/utils/data/_utils/fetch.py(42): fetch", 760, 200)),
         cell("input_op", {"name": "fetch"}, "category", "^other input$"), share("Input", 20)),
    case("late-first-step", "report", samples.ddp(4, begins_late=2), says("the first step: rank 2, which keeps the others waiting")),
    case("tool-of-no-vendor", "report", samples.ddp(4, slow=2), says("clock rates, power and heat of its device"), silent("nvidia-smi")),
    case("tool-of-vendor", "report", samples.ddp(4, slow=2, more={"deviceProperties": [{"id": 2, "name": "NVIDIA H100 80GB HBM3"}]}), says("nvidia-smi")),

    # -- unknown is not 0, and what nobody recorded is not said
    case("gloo-joined", "clocks", samples.gloo(slow=1), first("rank 1, Host compute: 900 us"), says("Straggler: +rank 1"), says("900 us|450 us wait"), count("collective", 8),
         silent("MPI|messages by")),
    case("gloo-in-backward", "clocks", samples.gloo(slow=1, stack=True), first("rank 1, Host compute: 900 us"), says("Straggler: +rank 1"), share("Host communication", 49, 2, rank=0)),
    case("gloo-two-groups", "clocks", samples.gloo(slow=1, groups=2), count("collective", 0), unknown("wait_ns"), silent("Straggler: +rank")),
    case("xccl-joined", "dialects", samples.xpu_pair(), first("rank 1, Device compute: 1.10 ms"), says("Straggler: +rank 1"), count("collective", 8)),
    case("receives-not-joined", "report", samples.waits_unknown(), silent("Straggler: +rank"), first_not("rank [0-9]"), first("communication")),
    case("ranks-without-communication", "report", {f"r{r}.json": samples.train(Trace(rank=r, world=2, pid=4000 + r, host="n0")).bytes() for r in range(2)},
         first("No communication between ranks is recorded"), silent("communication is waiting")),
    case("one-of-two", "report", {"r0.json": samples.train(Trace(rank=0, world=2)).bytes()}, first("Only one rank is recorded"), silent("There is only one rank")),

    case("steps-grow", "steps", samples.levels([1100 + 40 * s for s in range(30)]), says("^  Step time:.*; from 1.10 ms to 2.26 ms")),
    case("steps-longer-from-14-on", "steps", samples.levels([1100] * 14 + [2000] * 16), says("^  Step time: +2.00 ms.*; 1.10 ms before step 14"), step_time(2000)),
    case("steps-neither", "steps", samples.levels([1100, 1104, 1097, 1101] * 8), silent("; from|before step")),
    case("late-beside-little", "clocks", {n: d for n, d in samples.ddp(8, slow=3).items() if "4005" not in n}, first("rank 3"), says("Straggler: +rank 3"), silent("chance")),
    case("tf-operators-without-scope", "ladder", samples.xla_cpu(events=[("MatMul:MatMul", 5, 90), ("SaveV2:SaveV2", 760, 200)]), silent("unknown category"), share("Output", 20)),
    case("two-models", "steps", samples.two_models(), steps(10, "optimizer"), step_time(3000), silent("every 2 steps"), says("2 updates by Adam")),
    case("infeed-waits", "xspace", tpu_infeed(), first("^Input, 65 %"), silent("pinned|0 B each|copies")),

    # -- time behind the steps' ends is in the first sentence
    case("input-behind-steps", "xspace", samples.xla_outside((2500,)), first("^Input, (5|6)"), says("^  Between steps: 2.80 ms, 7"), says("^  Step time: +4.00 ms"),
         silent("Bottleneck.*Device compute")),
    case("input-behind-steps-of-one", "xspace", samples.xla_outside((300, 2500)), first("^Input.*rank 1 most, 2.50 ms per step"), silent("stalls all ranks")),
    case("time-behind-steps", "xspace", samples.xla_outside((2500,), name="sleepy"), first("^time between steps, 6"), says("Next: .*between the steps")),

    # -- report of foreign traces
    case("report-directory", "report", torch(), prints("Bottleneck:"), prints_not("record one with"), how=lambda a: a.run("report", "in")),
    case("report-directory-out", "report", torch(), prints("Bottleneck:"), HALF, how=lambda a: a.run("report", "-o", a.logs, "in")),
    case("report-twice", "report", torch(), prints("Bottleneck:"), sessions(1), how=lambda a: (a.run("report", "-o", a.logs, "in"), a.run("report", "-o", a.logs, "in"))),

    # -- XSpace of all devices
    case("xla-gpu", "xspace", samples.xla_gpu(), steps(4), time_of("Device compute", 2000), KERNELS, op("^(jit_train_step/)?fusion.1", side="Device", calls=4, us=1600)),
    case("xla-rocm", "xspace", samples.xla_gpu(vendor="AMD", stream="Stream #1", kernels=[("Cijk_Ailk_Bljk_HHS", 100, 400, {}), ("loop_add_fusion", 520, 100, {})]), time_of("Device compute", 2000), KERNELS),
    case("xla-gpu-nccl", "xspace", samples.xla_gpu(kernels=[("gemm_fusion", 100, 400, {}), ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                                                                             520, 200, {"hlo_op": ("ref", "all-reduce-start.1")})]),
         time_of("Device compute", 1600), time_of("Device collective communication", 800)),
    case("xla-tpu", "xspace", samples.xla_tpu(), steps(4), share("Device compute", 52.5, 3), share("Device collective communication", 20), share("Input", 10),
         cell("worker", {}, "device", "TPU")),
    case("xla-tpu-ops", "xspace", samples.xla_tpu(), kernels(4, 2000, name="fusion.1"), kernels(4, 800, name="all-reduce.3", activity="Collective"), kernels(0, name="jit_train_step")),
    case("xla-cpu", "xspace", samples.xla_cpu(), steps(4, "", 0), op("dot.3", calls=4, us=2000), share("Host compute", 60, 1)),
    case("xla-busbw", "xspace", samples.tpu_pod(groups="{{0,1,2,3}}", shape="f32[76675000]", us=46800), busbw(306700000, 9.83e9)),
    case("xla-busbw-iota", "xspace", samples.tpu_pod(groups="[2,4]<=[4,2]T(1,0)", shape="bf16[1024,1024]"), busbw(2097152, 2 * 3 / 4 * 2097152 / 200e-6)),
    case("xla-busbw-lists", "xspace", samples.tpu_pod(groups="{{0,1},{2,3}}"), busbw(4194304, 4194304 / 200e-6)),
    case("xla-busbw-pairs", "xspace", samples.tpu_pod(pairs="{{0,1},{1,0}}"), busbw(4194304, 4194304 / 200e-6)),
    case("xla-busbw-unknown", "xspace", samples.tpu_pod(groups="{}"), busbw(4194304, None)),
    case("xla-busbw-mesh", "xspace", samples.tpu_pod(groups="@mesh{'x'}"), busbw(4194304, None)),
    case("xla-busbw-gpu", "xspace", samples.jax_pod(late=(0,), devices=4, kind="gpu"), busbw(4194304, 2 * 3 / 4 * 4194304 / 140e-6), count("collective", 8)),
    case("xla-devices", "xspace", samples.jax_pod(late=(0,), devices=2, kind="gpu"), device_rows(0, 1), silent("belong to no recorded operation|overlap"),
         cell("kernel", {"name": "nccl"}, "op", "jit_train_step/psum.3"), cell("kernel", {"name": "gemm"}, "grid_x", 64), in_trace('"operator":"jit_train_step/psum.3"'),
         in_trace('"correlation":3')),
    case("xla-overlap-on-stream", "xspace", samples.xla_gpu(kernels=[("gemm", 100, 400, {}), ("late", 400, 200, {})]), says("4 kernels, copies or sets overlap")),
    case("xla-busbw-several", "xspace", samples.jax_pod(late=(0,), devices=2, kind="cpu", loop=3), count("collective", 24)),
    case("xla-pod-tpu", "xspace", samples.tpu_pod(late=(0, 250), skew_us=7000), *LATE),
    case("xla-pod-cpu", "xspace", samples.jax_pod(), *LATE),
    case("xla-pod-gpu", "xspace", samples.jax_pod(kind="gpu"), *LATE),
    case("xla-pod-runs", "xspace", samples.tpu_pod(late=(0, 250), skew_us=7000, run=lambda host, step: 41 + step + 1000 * host), count("collective", 16), silent("Straggler: +rank"),
         silent("aligned by collectives")),
    *[case(f"xla-devices-{name}", "xspace", files, count("collective", 8), count("arrival", 8, device=1)) for name, files in
      (("slow-gpu", samples.jax_pod(late=(0,), devices=2, kind="gpu")), ("slow-tpu", samples.tpu_pod(late=(0,), devices=2)))],
    case("xla-device-late", "xspace", samples.jax_pod(late=(0, 300), devices=4, kind="gpu", slow=2), first("rank 1, Device compute.*Its device 2 takes 1.75 times"), count("arrival", 8, worker=1, device=2),
         cell("advice", {"rule": "device_slow"}, "advice_worker", 1)),
    case("xla-device-late-alone", "xspace", samples.jax_pod(late=(300,), devices=4, kind="gpu", slow=2), says("Evidence: device 2 of rank 0 takes 1.75 times"), count("arrival", 8, device=2)),
    case("xla-devices-all-late", "xspace", samples.tpu_pod(late=(0, 300), devices=2, groups="{{0,1,2,3}}"), first("rank 1, Device compute.*Its device takes 1.75 times"), count("advice", 0, rule="device_slow")),
    case("xla-group-unknown", "xspace", samples.tpu_pod(late=(0, 250), groups="{{0,1},{2,3}}", devices=2), count("collective", 32), count("communicator", 4), count("arrival", 16, device=1),
         says("ranks 0-1: 16 collectives of XLA are joined with no other device's: the file does not say which of several groups"), silent("Straggler: +rank|aligned by collectives")),
    case("xla-group-known", "xspace", samples.jax_pod(late=(0, 250), devices=2, kind="gpu", instruction=xspace.instruction("psum.3", "all-reduce", "f32[1024,1024]", groups=[[0, 2], [1, 3]])),
         count("collective", 16), count("communicator", 2), silent("joined with no other device")),
    case("xla-pod-no-run", "xspace", samples.tpu_pod(late=(0, 250), groups="{{0,1},{2,3}}"), count("collective", 16), silent("Straggler: +rank"), silent("aligned by collectives")),
    case("xla-async", "xspace", samples.tpu_pod(beside=150), share("Device compute", 40), share("Device collective communication", 5.5), busbw(4194304, 4194304 / 200e-6),
         kernels(8, 1600, name="all-reduce-start.3", activity="Collective"), kernels(8, 400, name="all-reduce-done.3", activity="Wait")),
    case("profiler-own-jax", "xspace", samples.xla_cpu(main=None, tail=[("$profiler.py:246 stop_trace", 9000, 50000)]), steps(1), step_time(4000, 600)),
    case("tf-input", "xspace", samples.xla_cpu(events=[("IteratorGetNext", 760, 200)]), share("Input", 20), first_not("compil")),
    # tf.data's iterators: one cause in all sentences
    case("tf-data-map", "xspace", samples.tf_data(), share("Input", 31), first("input"), steps(4),
         says(r"^  tf\.data: .*pipeline Host:0: 4 of 4 calls longer than 50 us, the slowest 304 us; its bottleneck is Map \(transformation with a parallel form\), 289 us"),
         says("^  Next: .*Map of tf.data.*num_parallel_calls"), says("^  Advice: .*run this transformation in parallel"), silent("data loader|reading ahead|read ahead"),
         truth("the page's Next is the summary's", lambda a: "" if "Map of tf.data" in a.json["next"] else a.json["next"]),
         cell("tf_data_pipeline", {}, "dataset", "MapDataset:2"), cell("tf_data_iterator", {"type": "TFRecord"}, "blocking_ns", 20000), count("tf_data_call", 4, is_slow=1),
         cell("tf_data_node", {"is_bottleneck": 1}, "self_ns", 289000)),
    case("tf-data-hosts", "xspace", samples.tf_data(waits=(100, 600)), count("tf_data_pipeline", 2), says(r"^  tf\.data: .*Host:0 on rank 1: .*slowest 604 us"),
         says("^  Next: .*rank 1")),
    case("tf-data-source", "xspace", samples.tf_data(kind="TextLine"), says(r"^  tf\.data: .*TextLine \(source\)"), says("^  Next: .*read the source in parallel")),
    case("tf-data-unknown", "xspace", samples.tf_data(kind="MyMapBatch"), says(r"^  tf\.data: .*MyMapBatch \(unknown\)"), says("^  Next: .*is not a known one"),
         says("1 iterator of unknown type")),
    case("tf-data-fast", "xspace", samples.tf_data(waits=(30,)), says("no call of the host's pipelines is longer than 50 us"), silent("^  tf.data: .*bottleneck")),

    # -- containers
    case("container-gz", "containers", {"r.json.gz": kineto.packed(ONE)}, KERNELS),
    case("container-gz-members", "containers", {"r.json.gz": samples.twice_packed(ONE)}, KERNELS),
    case("container-zip", "containers", {"r.zip": samples.zipped({"r.json": ONE})}, KERNELS),
    case("container-zip-two", "containers", {"r.zip": samples.zipped(samples.ddp(2))}, ranks(0, 1), steps(6)),
    case("container-zst", "containers", {"r.json.zst": samples.zstandard(ONE)}, KERNELS),
    case("container-tar", "containers", {"r.tar": samples.tarred(samples.ddp(2))}, ranks(0, 1), steps(6)),
    case("container-tar-gz", "containers", {"r.tar.gz": kineto.packed(samples.tarred(samples.xla_gpu()))}, KERNELS),
    case("container-xplane-zst", "containers", {"node0.xplane.pb.zst": samples.zstandard(next(iter(samples.xla_gpu().values())))}, KERNELS),
]
BY_NAME = {c.name: c for c in CASES}
if len(BY_NAME) != len(CASES):
    raise SystemExit("two cases have one name")

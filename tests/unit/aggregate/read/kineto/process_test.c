/* Processes that are devices by their names: Ascend's hardware, and the planes of XSpace as its viewers save them; what the
 * profiler did itself. */
#include "aggregate/read/kineto/process.h"

#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/kineto/kineto_kit.h"

/* clang-format off */
#define E(name, pid, tid, ts, dur, args) \
	"{'ph': 'X', 'name': '" name "', 'pid': " pid ", 'tid': " tid ", 'ts': " ts ", 'dur': " dur ", 'args': {" args "}},\n"
#define C(cat, name, pid, tid, ts, dur, args) \
	"{'ph': 'X', 'cat': '" cat "', 'name': '" name "', 'pid': " pid ", 'tid': " tid ", 'ts': " ts ", 'dur': " dur \
	", 'args': {" args "}},\n"
#define NAME(what, pid, tid, name) \
	"{'ph': 'M', 'name': '" what "', 'pid': " pid ", 'tid': " tid ", 'args': {'name': '" name "'}},\n"

static const char ascend_text[] = "["
	NAME("process_name", "900", "0", "Ascend Hardware") NAME("thread_name", "900", "4", "Stream 4")
	NAME("process_name", "901", "0", "CANN") NAME("process_name", "902", "0", "Overlap Analysis")
	NAME("process_name", "903", "0", "Communication") NAME("thread_name", "903", "2", "Group 0 Communication")
	NAME("thread_name", "903", "3", "Plane 0") NAME("process_name", "40", "0", "Python")
	C("cpu_op", "aten::mm", "40", "41", "'100.5'", "60", "'Sequence number': 1")
	C("enqueue", "Enqueue", "40", "41", "'103'", "1", "")
	E("AscendCL@aclnnMatmul", "901", "41", "'110'", "9", "'Mode': 'ACL_OP', 'connection_id': 19")
	E("aclnnMatmul_MatMulV2", "900", "4", "'130'", "9.5",
	  "'Task Type': 'AI_CORE', 'Physic Stream Id': 4, 'Task Id': 33, 'connection_id': 19")
	E("EVENT_WAIT", "900", "4", "'140'", "70", "'Task Type': 'EVENT_WAIT', 'Physic Stream Id': 4")
	E("MEMCPY_ASYNC", "900", "4", "'220'", "2", "'Task Type': 'MEMCPY_ASYNC', 'Physic Stream Id': 4, 'size(Byte)': 64")
	E("Computing", "902", "1", "'130'", "9", "")
	E("hcom_allReduce__123_0_1", "903", "2", "'150'", "30", "'connection_id': 20")
	E("Notify_Wait", "903", "3", "'150'", "10", "'notify_id': 1")
	E("Reduce_Inline", "903", "3", "'160'", "10", "'size(Byte)': 4096") "{}]";

static const char xla_text[] = "{'displayTimeUnit':'ns','metadata':{'highres-ticks':true}, 'traceEvents':["
	NAME("process_name", "1", "0", "/device:GPU:0") NAME("thread_name", "1", "14", "Stream #14(Compute)")
	NAME("thread_name", "1", "2", "XLA Modules") NAME("thread_name", "1", "3", "Steps")
	NAME("process_name", "2", "0", "/device:GPU:1") NAME("thread_name", "2", "14", "Stream #14(Compute)")
	NAME("process_name", "3", "0", "/device:TPU:4") NAME("thread_name", "3", "1", "XLA Ops")
	NAME("thread_name", "3", "2", "XLA Modules") NAME("process_name", "701", "0", "/host:CPU")
	E("gemm_fusion_dot_1", "1", "14", "100", "9", "'hlo_op': 'gemm_fusion_dot.1', 'hlo_module': 'jit_f', 'correlation_id': 7")
	E("MemcpyD2H", "1", "14", "120", "9", "'memcpy_details': 'kind:MemcpyD2H size:4'")
	E("jit_f", "1", "2", "100", "40", "")
	E("7", "1", "3", "100", "40", "")
	E("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "2", "14", "100", "9", "'hlo_op': 'all-reduce.1', 'tf_op': 'jit(f)/psum'")
	E("all-reduce.3", "3", "1", "100", "9", "'hlo_op': 'all-reduce.3'")
	E("jit_f", "3", "2", "100", "40", "")
	E("PjitFunction(f)", "701", "5", "90", "8", "") "{}]}";

static const char profiler_text[] = "{'schemaVersion':1, 'traceEvents':["
	C("python_function", "torch/profiler/profiler.py(700): start", "40", "41", "100", "10", "")
	C("python_function", "train.py(3): main", "40", "41", "110", "100", "")
	C("cuda_runtime", "cudaLaunchKernel", "40", "41", "120", "3", "'correlation': 5")
	C("python_function", "torch/profiler/profiler.py(710): step", "40", "41", "200", "5", "")
	C("python_function", "/x/torch/profiler/profiler.py(720): stop", "40", "41", "300", "900", "")
	C("python_function", "torch/autograd/profiler.py(5): __exit__", "40", "41", "310", "880", "")
	C("cuda_runtime", "cudaDeviceSynchronize", "40", "41", "320", "500", "'correlation': 6")
	E("PyTorch Profiler (0)", "'Spans'", "'PyTorch Profiler'", "90", "2000", "")
	E("Iteration Start: PyTorch Profiler", "'Traces'", "0", "90", "2000", "") "{}]}";
/* clang-format on */

TEST(ascend)
{
	struct pp_capture c = kit_read(ascend_text);
	const struct pp_span *kernel, *copy;

	kit_check(&c);
	CHECK_INT(c.ranks, 1);
	CHECK_INT(c.rank->trace.damaged, 0);
	CHECK_INT(kit_thread(&c, 0, 4)->spans, 2);
	kernel = kit_span(&c, 0, 4, 0);
	copy = kit_span(&c, 0, 4, 1);
	CHECK_STR(kit_text(&c, kernel->name), "aclnnMatmul_MatMulV2");
	CHECK_INT(kernel->device.activity, PP_DEVICE_KERNEL);
	CHECK_INT(kernel->end - kernel->begin, 9500);
	CHECK(kernel->device.host_thread > 0);
	CHECK_INT(copy->device.activity, PP_DEVICE_DEVICE_TO_DEVICE);
	CHECK_INT(copy->device.bytes, 64);
	CHECK_INT(c.rank->threads, 4);
	CHECK_STR(kit_text(&c, c.rank->thread[3].name), "Group 0 Communication");
	CHECK_INT(c.rank->thread[3].span[0].device.activity, PP_DEVICE_COLLECTIVE);
	CHECK_INT(c.rank->trace.derived, 4); /* a wait, the analysis, two parts of the operation */
	pp_capture_release(&c);
}

TEST(viewers_of_xspace)
{
	struct pp_capture c = kit_read(xla_text);

	kit_check(&c);
	CHECK_INT(c.rank->devices, 3);
	CHECK_INT(kit_thread(&c, 0, 14)->spans, 2);
	CHECK_STR(kit_text(&c, kit_span(&c, 0, 14, 0)->device.op), "gemm_fusion_dot.1");
	CHECK_INT(kit_span(&c, 0, 14, 0)->device.correlation, 7);
	CHECK_INT(kit_span(&c, 0, 14, 1)->device.activity, PP_DEVICE_DEVICE_TO_HOST);
	CHECK_INT(kit_span(&c, 1, 14, 0)->device.activity, PP_DEVICE_COLLECTIVE);
	CHECK_STR(kit_text(&c, kit_span(&c, 1, 14, 0)->device.op), "jit(f)/psum");
	CHECK_INT(kit_span(&c, 4, 1, 0)->device.activity, PP_DEVICE_COLLECTIVE);
	CHECK_INT(c.rank->threads, 4);
	CHECK_INT(c.rank->trace.derived, 3);
	pp_capture_release(&c);
}

TEST(the_profilers_own_time)
{
	struct pp_capture c = kit_read(profiler_text);
	const struct pp_thread *t = kit_thread(&c, -1, 41);

	kit_check(&c);
	CHECK_INT(t->spans, 3);
	CHECK_STR(kit_text(&c, t->span[0].name), "train.py(3): main");
	CHECK_STR(kit_text(&c, t->span[2].name), "torch/profiler/profiler.py(710): step");
	CHECK_INT(c.rank->recorded_from, t->span[0].begin);             /* where its start ended */
	CHECK_INT(c.rank->recorded_to - c.rank->recorded_from, 190000); /* its stop began */
	CHECK_INT(c.rank->trace.derived, 6);
	CHECK_INT(c.rank->trace.events, 3);
	pp_capture_release(&c);
}

/* clang-format off */
static const char counters_text[] = "{'schemaVersion':1, 'traceEvents':["
	C("cpu_op", "aten::mm", "40", "41", "100", "60", "'External id': 5")
	C("cuda_profiler_range", "gemm", "0", "7", "120", "9",
	  "'smsp__inst_executed.sum': '123.5', 'dram__bytes.sum': 7, 'device': 0")
	"{'ph': 'C', 'name': 'GPU 0 Utilization', 'pid': 0, 'ts': 130, 'args': {'GPU Utilization': 0.5}},\n"
	"{'ph': 'C', 'name': 'Memory', 'pid': 0, 'ts': 131, 'args': {'Allocated': 5, 'Reserved': 6, 'x': 'y', 'n': NaN}},\n"
	C("kernel", "a", "0", "7", "120", "9", "'device': 0, 'stream': 7")
	C("kernel", "b", "0", "7", "126", "9", "'device': 0, 'stream': 7")
	C("kernel", "c", "0", "7", "135.5", "9", "'device': 0, 'stream': 7")
	C("kernel", "d", "0", "8", "121", "9", "'device': 0, 'stream': 8") "{}]}";
/* clang-format on */

static double counter(const struct pp_capture *c, const char *name)
{
	for (size_t t = 0; t < c->rank->threads; t++)
		for (size_t i = 0; i < c->rank->thread[t].spans; i++)
			if (c->rank->thread[t].span[i].kind == PP_SPAN_COUNTER &&
			    !strcmp(kit_text(c, c->rank->thread[t].span[i].name), name))
				return c->rank->thread[t].span[i].value;
	return -1;
}

TEST(counters_and_overlaps)
{
	struct pp_capture c = kit_read(counters_text);

	kit_check(&c);
	CHECK_INT(c.ranks, 1);
	CHECK(kit_thread(&c, -1, 41)->is_main);
	CHECK(counter(&c, "smsp__inst_executed.sum") == 123.5);
	CHECK(counter(&c, "dram__bytes.sum") == 7);
	CHECK(counter(&c, "GPU 0 Utilization") == 0.5);
	CHECK(counter(&c, "Memory: Allocated") == 5);
	CHECK(counter(&c, "Memory: Reserved") == 6);
	CHECK(counter(&c, "device") == -1);
	CHECK_INT(c.rank->remarks, 1);
	CHECK(!strncmp(c.rank->remark[0], "1 kernels, copies or sets overlap", 33));
	pp_capture_release(&c);
}

int main(void)
{
	ascend();
	viewers_of_xspace();
	the_profilers_own_time();
	counters_and_overlaps();
	return test_end();
}

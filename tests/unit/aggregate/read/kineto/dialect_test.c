/* What producers of other devices than CUDA's write: their arguments, categories, queues and types, and values of other types. */
#include "aggregate/read/kineto/dialect.h"

#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/kineto/kineto_kit.h"

/* clang-format off */
#define X(cat, name, pid, tid, ts, dur, args) \
	"{'ph': 'X', 'cat': '" cat "', 'name': '" name "', 'pid': " pid ", 'tid': " tid ", 'ts': " ts \
	", 'dur': " dur ", 'args': {" args "}},\n"
#define HEAD "{'schemaVersion': 1, 'traceEvents': ["
#define LAST "{'ph': 's', 'cat': 'ac2g', 'id': 1, 'name': 'ac2g', 'pid': 0, 'tid': 7, 'ts': 120}]}"
/* clang-format on */

static const char *const keys[] = {"Seq",
                                   "Addr",
                                   "grid",
                                   "name",
                                   "Bytes",
                                   "block",
                                   "bytes",
                                   "dtype",
                                   "queue",
                                   "tf_op",
                                   "device",
                                   "hlo_op",
                                   "labels",
                                   "stream",
                                   "deviceId",
                                   "l0 queue",
                                   "queue_id",
                                   "streamId",
                                   "Device Id",
                                   "Stream Id",
                                   "Task Type",
                                   "device_id",
                                   "stream id",
                                   "stream_id",
                                   "Group size",
                                   "Size(Byte)",
                                   "size(Byte)",
                                   "sycl queue",
                                   "sycl_queue",
                                   "Device Type",
                                   "External ID",
                                   "External id",
                                   "correlation",
                                   "external id",
                                   "HW event name",
                                   "In msg nelems",
                                   "connection_id",
                                   "correlationId",
                                   "shared memory",
                                   "Out msg nelems",
                                   "Total Reserved",
                                   "correlation_id",
                                   "Collective name",
                                   "Total Allocated",
                                   "Physic Stream Id",
                                   "Process Group Name",
                                   "Process Group Ranks",
                                   "registers per thread",
                                   "est. achieved occupancy %"};

TEST(rows_are_found)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int number = pp_kineto_argument(keys[i], strlen(keys[i]));

		CHECK(number > 0);
		CHECK_STR(number ? pp_kineto_argument_row(number)->key : "", keys[i]);
	}
	CHECK_INT(pp_kineto_argument("Input Strides", 13), 0);
	CHECK_INT(pp_kineto_argument("", 0), 0);
}

TEST(categories)
{
	static const struct {
		const char *text;
		enum kineto_category category;
	} rows[] = {{"cpu_op", KINETO_OPERATOR},
	            {"hip_runtime", KINETO_LAUNCH},
	            {"xpu_driver", KINETO_LAUNCH},
	            {"privateuse1_runtime", KINETO_LAUNCH},
	            {"GCU_MEMCPY", KINETO_COPY},
	            {"mlu_memset", KINETO_SET},
	            {"GCU_USER_ANNOTATION", KINETO_DERIVED},
	            {"user_annotation", KINETO_OTHER},
	            {"cuda_event", KINETO_DERIVED},
	            {"my_event", KINETO_OTHER},
	            {"cuda_profiler_range", KINETO_COUNTER},
	            {"hpu_op", KINETO_EITHER},
	            {"", KINETO_OTHER}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_INT(pp_kineto_category(rows[i].text, strlen(rows[i].text)), rows[i].category);
	CHECK_INT(pp_kineto_task("AI_CORE", 7), KINETO_KERNEL);
	CHECK_INT(pp_kineto_task("EVENT_WAIT", 10), KINETO_DERIVED);
	CHECK_INT(pp_kineto_task("MEMCPY_ASYNC", 12), KINETO_COPY);
	CHECK_INT(pp_kineto_role("Ascend Hardware", 15), KINETO_IS_DEVICE);
	CHECK_INT(pp_kineto_role("/device:GPU:0", 13), KINETO_IS_DEVICE);
	CHECK_INT(pp_kineto_role("python", 6), KINETO_HOST);
	CHECK_INT(pp_kineto_role("Overlap Analysis", 16), KINETO_IGNORED);
}

TEST(types)
{
	CHECK_INT(pp_kineto_type_bytes("Float8_e4m3fn"), 1);
	CHECK_INT(pp_kineto_type_bytes("Float8_e4m3fnuz"), 1);
	CHECK_INT(pp_kineto_type_bytes("Float8_e5m2fnuz"), 1);
	CHECK_INT(pp_kineto_type_bytes("Float8_e8m0fnu"), 1);
	CHECK_INT(pp_kineto_type_bytes("ComplexHalf"), 4);
	CHECK_INT(pp_kineto_type_bytes("UInt16"), 2);
	CHECK_INT(pp_kineto_type_bytes("UInt32"), 4);
	CHECK_INT(pp_kineto_type_bytes("UInt64"), 8);
	CHECK_INT(pp_kineto_type_bytes("QInt8"), 1);
	CHECK_INT(pp_kineto_type_bytes("QInt32"), 4);
	CHECK_INT(pp_kineto_type_bytes("BFloat16"), 2);
	CHECK_INT(pp_kineto_type_bytes("Undefined"), 0);
	CHECK_STR(pp_kineto_allocator(20), "PrivateUse1");
	CHECK(pp_kineto_allocator(99) == NULL);
	CHECK(pp_kineto_is_profiler_frame("torch/profiler/profiler.py(700): stop", 37));
	CHECK(pp_kineto_is_profiler_frame("/x/torch/profiler/profiler.py(70): __exit__", 43));
	CHECK(!pp_kineto_is_profiler_frame("torch/profiler/profiler.py(700): step", 37));
	CHECK(!pp_kineto_is_profiler_frame("train.py(700): stop", 19));
}

/* clang-format off */
static const char rocm_text[] = HEAD
	X("cpu_op", "aten::copy_", "40", "41", "100", "60", "'External id': 10")
	X("cuda_runtime", "hipMemcpyWithStream", "40", "41", "110", "9", "'External id': 10, 'correlation': 5")
	X("kernel", "Cijk_Ailk_Bljk_HHS_BH_MT256x16x64", "2", "0", "120", "5",
	  "'device': 2, 'stream': '0x0', 'correlation': 5, 'grid': [64, 1, 1], 'block': '[256, 1, 1]'")
	X("kernel", "__amd_rocclr_copyBuffer", "2", "0", "130", "5", "'device': 2, 'stream': '0x0', 'kind': 'Dispatch Kernel'")
	X("kernel", "__amd_rocclr_fillBufferAligned", "2", "0", "140", "5", "'device': 2, 'stream': '0x7f3a00001000'")
	X("kernel", "memcpy_like_kernel", "2", "0", "150", "5", "'device': 2, 'stream': 'default'")
	LAST;
/* clang-format on */

TEST(rocm)
{
	struct pp_capture c = kit_read(rocm_text);
	const struct pp_rank *r = c.rank;
	size_t streams = 0;

	kit_check(&c);
	CHECK_INT(r->trace.damaged, 0);
	CHECK_INT(r->remarks, 0);
	CHECK_INT(kit_span(&c, 2, 0, 0)->device.activity, PP_DEVICE_KERNEL);
	CHECK_STR(kit_text(&c, kit_span(&c, 2, 0, 0)->device.op), "aten::copy_");
	CHECK(kit_span(&c, 2, 0, 0)->device.launch > 0);
	CHECK_INT(r->launch[0].grid[0], 64);
	CHECK_INT(r->launch[0].block[0], 256);
	CHECK_INT(kit_span(&c, 2, 0, 1)->device.activity, PP_DEVICE_DEVICE_TO_DEVICE);
	for (size_t t = 0; t < r->threads; t++) {
		streams += r->thread[t].device != 0;
		if (r->thread[t].device && r->thread[t].span[0].begin == 40000)
			CHECK_INT(r->thread[t].span[0].device.activity, PP_DEVICE_SET);
		if (r->thread[t].device && r->thread[t].span[0].begin == 50000)
			CHECK_INT(r->thread[t].span[0].device.activity, PP_DEVICE_KERNEL);
	}
	CHECK_INT(streams, 3);
	pp_capture_release(&c);
}

/* clang-format off */
static const char xpu_text[] = HEAD
	X("cpu_op", "aten::mm", "40", "41", "100", "60", "'External id': 5")
	X("xpu_runtime", "urEnqueueKernelLaunch", "40", "41", "110", "9", "'External id': 5, 'correlation': 4131")
	X("kernel", "gemm_kernel", "0", "3", "120", "9", "'External id': 5, 'kernel_id': 1, 'l0 queue': '0x000055d08b8fc138', "
	  "'sycl queue': 64, 'context': '0x000055d08918fc78', 'correlation': 4131, 'device': 0, 'submitted': 1790952812114058336")
	X("gpu_memcpy", "zeCommandListAppendMemoryCopy(M2D)", "0", "3", "130", "9",
	  "'l0 queue': '0x55d08b8fc138', 'correlation': 4132, 'device': 0, 'bytes': 4096") LAST;

static const char mtia_text[] = HEAD
	X("mtia_ccp_events", "fc_kernel", "0", "3", "120", "9", "'device': 1, 'stream': 3, 'correlation': 1")
	X("mtia_ccp_events", "event_wait", "0", "3", "129", "500", "'device': 1, 'stream': 3, 'correlation': 2")
	X("hpu_op", "hpu::matmul", "40", "41", "120", "9", "")
	X("hpu_op", "gemm", "0", "2", "122", "9", "'HW event name': 'MME_0'") LAST;
/* clang-format on */

TEST(other_devices)
{
	struct pp_capture c = kit_read(xpu_text);

	kit_check(&c);
	CHECK_INT(c.rank->trace.damaged, 0);
	CHECK_STR(kit_text(&c, kit_span(&c, 0, 64, 0)->name), "gemm_kernel");
	CHECK_STR(kit_text(&c, kit_span(&c, 0, 64, 0)->device.op), "aten::mm");
	CHECK_INT(c.rank->threads, 3);
	pp_capture_release(&c);
	c = kit_read(mtia_text);
	kit_check(&c);
	CHECK_INT(kit_thread(&c, 1, 3)->spans, 1);
	CHECK_INT(c.rank->trace.derived, 2);
	CHECK_INT(kit_span(&c, -1, 41, 0)->range.origin, PP_ORIGIN_OPERATOR);
	CHECK_STR(kit_text(&c, kit_span(&c, 0, 2, 0)->name), "gemm");
	pp_capture_release(&c);
}

/* clang-format off */
static const char mistyped_text[] = HEAD
	X("cpu_op", "aten::mm", "40", "41", "100", "60", "'External id': 'x', 'Collective name': 5")
	X("kernel", "k", "1", "7", "120", "9",
	  "'device': 'gpu', 'stream': [3], 'correlation': {'a': 1}, 'grid': 64, 'block': 'none', "
	  "'registers per thread': 1e400, 'bytes': null")
	"{'ph': 'X', 'cat': 7, 'name': 12, 'pid': null, 'tid': true, 'ts': 130, 'dur': 1, 'args': {'device': 0}},\n"
	"{'ph': 'X', 'cat': 'cpu_op', 'name': {'a': 1}, 'pid': 1, 'tid': 1, 'ts': 131, 'dur': 1, 'args': [1, {}]},\n"
	"{'ph': 'X', 'cat': 'cpu_op', 'name': 'n', 'pid': 1, 'tid': 1, 'ts': 132, 'dur': 1, 'args': 5},\n"
	LAST;
/* clang-format on */

TEST(values_of_other_types_lose_themselves)
{
	struct pp_capture c = kit_read(mistyped_text);

	kit_check(&c);
	CHECK_INT(c.rank->trace.damaged, 0);
	CHECK_STR(c.rank->trace.damage, "");
	CHECK_INT(c.rank->trace.events, 5);
	CHECK_INT(c.rank->remarks, 1);
	CHECK_STR(c.rank->remark[0],
	          "11 values of the file have another type than expected and are left out, first one of 'External id'");
	CHECK_STR(kit_text(&c, kit_span(&c, 1, 7, 0)->name), "k");
	CHECK_INT(c.rank->launch[0].grid[0], 64);
	pp_capture_release(&c);
}

int main(void)
{
	rows_are_found();
	categories();
	types();
	rocm();
	other_devices();
	values_of_other_types_lose_themselves();
	return test_end();
}

/* Kineto files: each rule of the reader, and damage of every kind. */
#include "aggregate/read/kineto/number.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/kineto/kineto_kit.h"

static int64_t ns(const char *text)
{
	int64_t value = -7;

	return pp_kineto_ns(text, strlen(text), &value) ? -7 : value;
}

TEST(times_are_exact)
{
	int64_t integer;
	uint64_t whole;

	CHECK_INT(ns("1682725898236567"), 1682725898236567000);
	CHECK_INT(ns("4593066809044.530"), 4593066809044530);
	CHECK_INT(ns("0.0004"), 0);
	CHECK_INT(ns("0.0005"), 1);
	CHECK_INT(ns("0.00049999999999999999999999999999999999999999999999"), 0);
	CHECK_INT(ns("12.340000000000002"), 12340);
	CHECK_INT(ns("-1.5"), -1500);
	CHECK_INT(ns("1.682725898236567e15"), 1682725898236567000);
	CHECK_INT(ns("1E+3"), 1000000);
	CHECK_INT(ns("25e-4"), 3);
	CHECK_INT(ns("1e-99999999999"), 0);
	CHECK_INT(ns("0e99999999999"), 0);
	CHECK_INT(ns("9223372036854775.807"), INT64_MAX);
	CHECK_INT(ns("9223372036854775.808"), -7);
	CHECK_INT(ns("1e99999999999"), -7);
	CHECK_INT(ns("10000000000000000000000000000000000000000000000000"), -7);
	CHECK_INT(ns("00000000000000000000000000000000000000000000000001"), 1000);
	CHECK_INT(ns(""), -7);
	CHECK_INT(ns("-"), -7);
	CHECK_INT(ns("1."), -7);
	CHECK_INT(ns("1e"), -7);
	CHECK_INT(ns("12x"), -7);
	CHECK(pp_kineto_integer("68.9", 4, &integer) == 0 && integer == 68);
	CHECK(pp_kineto_unsigned("18446744073709551615", 20, &whole) == 0 && whole == UINT64_MAX);
	CHECK(pp_kineto_unsigned("18446744073709551616", 20, &whole) != 0);
	CHECK(pp_kineto_unsigned("-1", 2, &whole) != 0);
}

/* JSON with ' for ". */
/* clang-format off */
#define HEAD "{'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'NVIDIA A100', 'totalGlobalMem': 85899345920}],\n" \
	"'distributedInfo': {'backend': 'nccl', 'rank': 3, 'world_size': 8}, 'host_name': 'node7', " \
	"'baseTimeNanoseconds': 1700000000000000000, 'traceEvents': [\n"
#define TAIL "], 'traceName': 't.json'}"
#define X(cat, name, pid, tid, ts, dur, args) \
	"{'ph': 'X', 'cat': '" cat "', 'name': '" name "', 'pid': " pid ", 'tid': " tid ", 'ts': " ts \
	", 'dur': " dur ", 'args': {" args "}},\n"
#define LAST "{'ph': 's', 'cat': 'ac2g', 'id': 1, 'name': 'ac2g', 'pid': 0, 'tid': 7, 'ts': 120}"

static const char whole_text[] = HEAD
	"{'ph': 'M', 'name': 'thread_name', 'pid': 40, 'tid': 41, 'ts': 1, 'args': {'name': 'main'}},\n"
	"{'args': {'name': 'stream 7 '}, 'tid': 7, 'pid': 0, 'name': 'thread_name', 'ph': 'M'},\n"
	X("cpu_op", "aten::mm", "40", "41", "110.250", "50", "'External id': 11, 'Input Dims': [[2, [3]], {'a': []}]")
	X("cpu_op", "aten::linear", "40", "41", "105", "60.5", "'External id': 10")
	X("user_annotation", "ProfilerStep#5", "40", "41", "100", "1000.001", "'External id': 9")
	X("cuda_runtime", "cudaLaunchKernel", "40", "41", "120", "5", "'External id': 11, 'correlation': 77, 'cbid': 211")
	X("kernel", "sgemm", "0", "7", "130", "40.123",
	  "'External id': 11, 'device': 0, 'context': 1, 'stream': 7, 'correlation': 77, 'registers per thread': 32, "
	  "'shared memory': 4096, 'grid': [80, 2, 1], 'block': [256, 1, 1], 'est. achieved occupancy %': 62.5")
	X("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "0", "20", "200", "30", "'device': 0, 'stream': 20")
	X("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "0", "7", "300", "4", "'device': 0, 'stream': 7, 'bytes': 1024")
	X("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", "0", "7", "310", "4", "'device': 0, 'stream': 7, 'bytes': 16")
	X("gpu_memcpy", "Memcpy PtoP (Device -> Device)", "1", "7", "320", "4", "'device': 1, 'stream': 7, 'bytes': 8")
	X("gpu_memset", "Memset (Device)", "0", "7", "330", "1", "'device': 0, 'stream': 7, 'bytes': 64")
	X("gpu_user_annotation", "ProfilerStep#5", "0", "7", "130", "300", "'device': 0, 'stream': 7")
	X("overhead", "Buffer Flush", "-1", "0", "400", "2", "")
	X("Trace", "PyTorch Profiler (0)", "'Spans'", "'PyTorch Profiler'", "1", "2000", "'Op count': 0")
	"{'ph': 'i', 'cat': 'cpu_instant_event', 's': 't', 'name': '[memory]', 'pid': 40, 'tid': 41, 'ts': 112, "
	"'args': {'Total Reserved': 2048, 'Total Allocated': 512, 'Bytes': 512, 'Device Id': 0, 'Device Type': 1, "
	"'Addr': 18446744073709551615}},\n"
	"{'ph': 'i', 'name': '[memory]', 'pid': 40, 'tid': 41, 'ts': 500, 'args': {'Bytes': -512, 'Device Id': -1, "
	"'Device Type': 0, 'Addr': 64}},\n" LAST TAIL;

static const char operators_text[] = "["
	X("cpu_op", "early", "1", "1", "10", "5", "'External id': 50")
	X("cpu_op", "late", "1", "1", "20", "10", "'External id': 4")
	X("cpu_op", "inner", "1", "1", "21", "5", "'External id': 5")
	X("cuda_runtime", "cudaLaunchKernel", "1", "1", "22", "1", "'correlation': 50")
	X("kernel", "a", "0", "7", "30", "1", "'External id': 50, 'correlation': 50, 'device': 0, 'stream': 7")
	X("kernel", "b", "0", "7", "40", "1", "'External id': 50, 'device': 0, 'stream': 7")
	X("kernel", "c", "0", "7", "50", "1", "'External id': 4, 'correlation': 50, 'device': 0, 'stream': 7")
	X("kernel", "d", "0", "7", "60", "1", "'correlation': 51, 'device': 0, 'stream': 7") "]";

#define HALF(phase, ts) "{'ph': '" phase "', 'name': 'range', 'pid': 1, 'tid': 'T', 'ts': " ts "}"
static const char pairs_text[] = "[" HALF("B", "10") "," HALF("B", "11") "," HALF("E", "12") "," HALF("E", "20") ","
	HALF("E", "30") "," HALF("B", "40");

/* An end says its process and thread at least. The last one has none. */
#define PART(phase, name, ts, more) "{'ph': '" phase "', " name "'pid': 0, 'tid': 7, 'ts': " ts more "}"
#define KERNEL(ts) PART("B", "'cat': 'kernel', 'name': 'k', ", ts, ", 'args': {'device': 0, 'stream': 9, 'correlation': 5}")
static const char device_pairs_text[] = "[" X("cpu_op", "a", "1", "1", "10", "200", "")
	KERNEL("20") "," PART("E", "", "50", "") "," KERNEL("60") "," PART("E", "'cat': 'kernel', ", "70", "") "," KERNEL("80") "]";

/* Doubles of us since 1970 as Python writes them, and texts with all digits. */
static const char doubles_text[] = "{'traceEvents':[" X("cpu_op", "a", "1", "1", "1711964646001005.2", "1.125", "")
	X("cpu_op", "b", "1", "1", "1711964646001010.8", "2.001", "")
	X("cpu_op", "c", "1", "1", "1711964646001020.0", "2.001", "") LAST "]}";
static const char digits_text[] = "{'traceEvents':[" X("cpu_op", "a", "1", "1", "'1711964646001005.123'", "1", "")
	X("cpu_op", "b", "1", "1", "'1711964646001010.001'", "1", "") LAST "]}";

static const char hashes_text[] = "[" X("cpu_op", "a", "1", "18446744073709551615", "10", "20", "")
	X("cpu_op", "b", "1", "18446744073709551614", "15", "20", "") "]";

static const char base_text[] = "{'traceEvents':[" X("cpu_op", "a", "1", "1", "5.001", "1", "") LAST
	"],'schemaVersion':1,'baseTimeNanoseconds':1700000000000000001}";

static const char times_text[] = "{'traceEvents':["
	X("cpu_op", "a", "1", "1", "1682725898236567", "1", "")
	X("kernel", "b", "0", "7", "0", "0", "")
	X("cpu_op", "c", "1", "1", "1682725898236569", "-4", "")
	X("cpu_op", "d", "1", "1", "1.7e17", "1", "")
	X("cpu_op", "e", "1", "1", "1682725898236569", "9e15", "")
	X("cpu_op", "f", "1", "1", "'?'", "1", "")
	X("cpu_op", "a", "1", "1", "1682725898236568", "1", "") LAST "]}";

/* A kernel at 0 and a call at FIRST and SECOND us */
#define ZERO(first, second) \
	"{'traceEvents':[" X("kernel", "k", "0", "7", "0", "2", "") X("cpu_op", "a", "1", "1", first, "1", "") \
		X("cpu_op", "b", "1", "1", second, "1", "") LAST "]}"

static const char numbers_text[] = "{'traceEvents':["
	X("kernel", "a", "0", "7", "10", "1", "'x': [NaN, -Infinity], 'est. achieved occupancy %': nan")
	X("kernel", "b", "0", "7", "NaN", "1", "")
	X("kernel", "c", "0", "7", "20", "1", "'bytes': -inf") LAST "]}";

#define NCCL "'Collective name': 'allreduce', 'In msg nelems': 1000, 'Out msg nelems': 1000, 'Group size': 2, 'dtype': 'Float', " \
	"'Process Group Name': '0', 'Process Group Ranks': '[0, 3]'"
#define ALL_REDUCE(t, d, correlation) \
	X("cpu_op", "c10d::allreduce_", "40", "41", t "00", "50", "") \
	X("cpu_op", "record_param_comms", "40", "41", t "05", "40", NCCL) \
	X("user_annotation", "nccl:all_reduce", "40", "41", t "06", "38", "") \
	X("cuda_runtime", "cudaLaunchKernelExC", "40", "41", t "20", "5", "'correlation': " correlation) \
	X("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "0", "20", t "30", d, \
	  "'device': 0, 'stream': 20, 'correlation': " correlation)
static const char collective_text[] = HEAD
	X("user_annotation", "ProfilerStep#5", "40", "41", "100", "800", "")
	ALL_REDUCE("2", "90", "1") ALL_REDUCE("4", "70", "2")
	X("user_annotation", "ProfilerStep#6", "40", "41", "900", "500", "")
	ALL_REDUCE("10", "30", "3")
	ALL_REDUCE("15", "30", "4") LAST TAIL; /* behind the steps */
/* clang-format on */

static char whole[sizeof(whole_text)];

TEST(host_events)
{
	struct pp_capture c = kit_read(whole_text);
	const struct pp_rank *r = c.rank;
	const struct pp_thread *main_thread = kit_thread(&c, -1, 41);

	kit_check(&c);
	CHECK_INT(r->rank, 3);
	CHECK_INT(r->size, 8);
	CHECK_INT(r->pid, 40);
	CHECK_STR(r->host, "node7");
	CHECK_STR(r->step_rule, "kineto: ProfilerStep");
	CHECK_INT(r->step_marks, 1);
	CHECK_INT(r->last_step, 5);
	CHECK_INT(c.epoch_realtime_ns, 1700000000000000000 + 100000);
	CHECK(main_thread && main_thread->is_main);
	CHECK_STR(main_thread ? kit_text(&c, main_thread->name) : "", "main");
	CHECK_INT(kit_span(&c, -1, 41, 0)->kind, PP_SPAN_STEP);
	CHECK_INT(kit_span(&c, -1, 41, 0)->step.number, 5);
	CHECK_INT(kit_span(&c, -1, 41, 0)->begin, 0);
	CHECK_INT(kit_span(&c, -1, 41, 0)->end, 1000001);
	CHECK_STR(kit_text(&c, kit_span(&c, -1, 41, 1)->name), "aten::linear");
	CHECK_INT(kit_span(&c, -1, 41, 2)->begin, 10250);
	CHECK_INT(kit_span(&c, -1, 41, 2)->end, 60250);
	CHECK_STR(kit_text(&c, kit_span(&c, -1, 41, 3)->name), "cudaLaunchKernel");
	CHECK_INT(kit_span(&c, -1, 0, 0)->category, 9);
	CHECK_STR(r->trace.format, "Kineto");
	CHECK_STR(r->trace.producer, "PyTorch");
	CHECK_INT(r->trace.events, 13);
	CHECK_INT(r->trace.derived, 3);
	CHECK_INT(r->trace.damaged + r->trace.untimed, 0);
	CHECK_INT(r->records, 13);
	pp_capture_release(&c);
}

static const char *dims_of(const struct pp_capture *c, const struct pp_span *s)
{
	if (!s || s->range.payload_type != PP_PAYLOAD_EXT)
		return "";
	return pp_intern_text(c->payloads, (uint32_t)s->range.payload, NULL);
}

/* One operator with these dimensions. */
static void check_dims(const char *in_file, const char *wanted)
{
	char text[4096];
	struct pp_capture c;

	snprintf(text, sizeof(text), HEAD X("cpu_op", "aten::mm", "40", "41", "110", "50", "'Input Dims': %s") LAST TAIL, in_file);
	c = kit_read(text);
	CHECK_STR(dims_of(&c, kit_span(&c, -1, 41, 0)), wanted);
	pp_capture_release(&c);
}

TEST(dimensions_of_inputs)
{
	struct pp_capture c = kit_read(whole_text);
	char many[2048] = "[", cut[1024] = "[";
	size_t many_length = 1, cut_length = 1;

	CHECK_STR(dims_of(&c, kit_span(&c, -1, 41, 1)), "");
	CHECK_STR(dims_of(&c, kit_span(&c, -1, 41, 2)), "[[2,[3]],{...}]");
	CHECK_INT(kit_span(&c, -1, 41, 2)->range.id, 0);
	pp_capture_release(&c);
	check_dims("[[64, 128], [], [[2, 3], [4]], null, 'x']", "[[64,128],[],[[2,3],[4]],null,x]");
	check_dims("[]", "[]");
	check_dims("[[[[[1]]]]]", "[[[[...]]]]");
	check_dims("'float'", "");
	for (int i = 0; i < 150; i++)
		many_length += (size_t)snprintf(many + many_length, sizeof(many) - many_length, "%s[123]", i ? ", " : "");
	snprintf(many + many_length, sizeof(many) - many_length, "]");
	for (int i = 0; i < 85; i++)
		cut_length += (size_t)snprintf(cut + cut_length, sizeof(cut) - cut_length, "%s[123]", i ? "," : "");
	snprintf(cut + cut_length, sizeof(cut) - cut_length, ",[...");
	check_dims(many, cut);
}

TEST(device_events)
{
	struct pp_capture c = kit_read(whole_text);
	const struct pp_span *k = kit_span(&c, 0, 7, 0);
	const struct pp_launch *l;

	CHECK_STR(kit_text(&c, k->name), "sgemm");
	CHECK_INT(k->begin, 30000);
	CHECK_INT(k->end, 70123);
	CHECK_INT(k->device.activity, PP_DEVICE_KERNEL);
	CHECK_INT(k->device.precision, PP_PRECISION_32);
	CHECK_STR(kit_text(&c, k->device.op), "aten::mm");
	CHECK_INT(k->device.correlation, 77);
	CHECK(k->device.host_thread && c.rank->thread[k->device.host_thread - 1].tid == 41);
	CHECK_STR(kit_text(&c, kit_thread(&c, 0, 7)->name), "stream 7 ");
	CHECK_INT(k->device.launch, 1);
	l = c.rank->launch;
	CHECK(l->registers == 32 && l->static_shared == 4096 && l->grid[0] == 80 && l->grid[1] == 2 && l->grid[2] == 1);
	CHECK(l->block[0] == 256 && l->block[2] == 1 && l->occupancy == 62.5F);
	CHECK_INT(kit_span(&c, 0, 20, 0)->device.activity, PP_DEVICE_COLLECTIVE);
	CHECK_INT(kit_span(&c, 0, 20, 0)->device.precision, PP_PRECISION_UNKNOWN); /* it computes nothing of the model */
	CHECK_INT(kit_span(&c, 0, 7, 1)->device.activity, PP_DEVICE_HOST_TO_DEVICE);
	CHECK_INT(kit_span(&c, 0, 7, 1)->device.bytes, 1024);
	CHECK_INT(kit_span(&c, 0, 7, 2)->device.activity, PP_DEVICE_DEVICE_TO_HOST);
	CHECK_INT(kit_span(&c, 0, 7, 3)->device.activity, PP_DEVICE_SET);
	CHECK_INT(kit_span(&c, 1, 7, 0)->device.activity, PP_DEVICE_DEVICE_TO_DEVICE);
	CHECK_INT(c.rank->devices, 2);
	CHECK_STR(c.rank->device[0].name, "NVIDIA A100");
	CHECK_INT(c.rank->device[0].memory, 85899345920);
	CHECK_STR(c.rank->device[1].name, "");
	pp_capture_release(&c);
}

TEST(allocations)
{
	struct pp_capture c = kit_read(whole_text);
	const struct pp_allocation *a = c.rank->allocation;

	CHECK_INT(c.rank->allocations, 2);
	CHECK_INT(a[0].time, 12000);
	CHECK_STR(kit_text(&c, a[0].allocator), "GPU_0");
	CHECK_STR(kit_text(&c, a[0].op), "aten::mm");
	CHECK(a[0].address == UINT64_MAX && a[0].bytes == 512 && a[0].allocated == 512 && a[0].available == 1536 && !a[0].is_free);
	CHECK_STR(kit_text(&c, a[1].allocator), "CPU");
	CHECK_STR(kit_text(&c, a[1].op), "");
	CHECK(a[1].is_free && a[1].bytes == 512 && a[1].allocated == -1 && a[1].available == -1);
	pp_capture_release(&c);
}

/* Its id is that of an operator that ended before: the one around the launch holds. And without a launch its id tells. */
TEST(operators_of_kernels)
{
	struct pp_capture c = kit_read(operators_text);

	kit_check(&c);
	CHECK_STR(kit_text(&c, kit_span(&c, 0, 7, 0)->device.op), "inner");
	CHECK_STR(kit_text(&c, kit_span(&c, 0, 7, 1)->device.op), "early");
	CHECK_STR(kit_text(&c, kit_span(&c, 0, 7, 2)->device.op), "late");
	CHECK_STR(kit_text(&c, kit_span(&c, 0, 7, 3)->device.op), "");
	CHECK_INT(kit_span(&c, 0, 7, 3)->device.host_thread, 0);
	CHECK_INT(c.epoch_realtime_ns, 0);
	CHECK_STR(c.rank->trace.producer, "Chrome trace");
	CHECK_INT(c.rank->step_marks, 0);
	CHECK_INT(c.rank->trace.damaged, 0); /* a comma too many */
	pp_capture_release(&c);
}

/* The call on the host, complete when its kernel ends; its number in the group is its place in the step. The last one has no number
 * that other ranks know: it is of a group that this rank has for itself. */
TEST(collectives)
{
	struct pp_capture c = kit_read(collective_text);
	const struct pp_thread *t = kit_thread(&c, -1, 41);
	const uint32_t sequence[] = {5 << 20, (5 << 20) + 1, 6 << 20, 0};
	const int64_t end[] = {320, 500, 1060, 1560};
	size_t calls = 0, requests = 0;

	kit_check(&c);
	for (size_t i = 0; t && i < t->spans; i++) {
		const struct pp_span *s = &t->span[i];

		if (s->kind == PP_SPAN_MPI && s->mpi.comm) {
			CHECK_STR(pp_mpi_call_info(s->mpi.call)->name, "c10d::allreduce_");
			CHECK(calls < 4 && s->mpi.sequence == sequence[calls] && s->mpi.sent == 4000 && s->mpi.received == 4000);
			CHECK(s->mpi.comm == c.rank->comm[calls == 3].id);
			calls++;
		}
		if (s->kind == PP_SPAN_REQUEST && s->mpi.comm) {
			CHECK(requests < 4 && s->end == (end[requests] - 100) * 1000 && !(s->flags & PP_SPAN_CUT_END));
			requests++;
		}
	}
	CHECK_INT(calls, 4);
	CHECK_INT(requests, 4);
	CHECK_INT(c.rank->operations, 4);
	for (size_t i = 0; i < c.rank->operations; i++)
		CHECK_INT(c.rank->operation[i].correlation, i + 1);
	CHECK_INT(c.rank->comms, 2);
	CHECK(c.rank->comm->size == 2 && c.rank->comm->member && c.rank->comm->member[1] == 3);
	CHECK_INT(c.rank->c10d.calls, 4);
	CHECK_INT(c.rank->c10d.unannotated, 0);
	pp_capture_release(&c);
}

TEST(begin_and_end_pairs)
{
	struct pp_capture c = kit_read(pairs_text);
	const struct pp_thread *t = &c.rank->thread[0];

	kit_check(&c);
	CHECK_INT(t->spans, 3);
	CHECK_STR(kit_text(&c, t->name), "T");
	CHECK_INT(t->span[0].end - t->span[0].begin, 10000);
	CHECK_INT(t->span[1].end - t->span[1].begin, 1000);
	CHECK_INT(t->span[2].flags, PP_SPAN_CUT_END);
	CHECK_INT(c.rank->trace.untimed, 1);
	CHECK_INT(c.rank->trace.damaged, 0); /* Chrome's list needs no end */
	pp_capture_release(&c);
}

TEST(pairs_on_devices)
{
	struct pp_capture c = kit_read(device_pairs_text);

	kit_check(&c);
	CHECK_INT(kit_thread(&c, 0, 9)->spans, 2);
	CHECK_INT(kit_span(&c, 0, 9, 0)->end - kit_span(&c, 0, 9, 0)->begin, 30000);
	CHECK_INT(kit_span(&c, 0, 9, 1)->end - kit_span(&c, 0, 9, 1)->begin, 10000);
	CHECK_INT(kit_span(&c, 0, 9, 0)->device.activity, PP_DEVICE_KERNEL);
	CHECK_INT(kit_span(&c, 0, 9, 0)->device.correlation, 5);
	CHECK_INT(c.rank->trace.untimed, 1);
	CHECK_INT(c.rank->trace.events, 3);
	pp_capture_release(&c);
}

TEST(resolution_of_doubles)
{
	struct pp_capture c = kit_read(doubles_text);

	CHECK_INT(c.rank->trace.resolution_ns, 250);
	pp_capture_release(&c);
	c = kit_read(digits_text);
	CHECK_INT(c.rank->trace.resolution_ns, 1);
	pp_capture_release(&c);
	c = kit_read(times_text);
	CHECK_INT(c.rank->trace.resolution_ns, 1000);
	pp_capture_release(&c);
}

/* Two files in one: the first is read, the place of the second is said. */
TEST(two_traces)
{
	const size_t one = sizeof(base_text) - 1;
	char *text = malloc(2 * one + 2);
	struct pp_capture c;

	memcpy(text, base_text, one);
	text[one] = '\n';
	memcpy(text + one + 1, base_text, one + 1);
	c = kit_read(text);
	kit_check(&c);
	CHECK_INT(c.rank->trace.events, 1);
	CHECK_INT(c.rank->trace.damaged, 1);
	CHECK_INT(c.rank->trace.damaged_at, one + 1);
	CHECK_STR(c.rank->trace.damage, "a second trace behind the first, which is not read");
	pp_capture_release(&c);
	free(text);
}

/* Numbers of threads that no int64 holds */
TEST(hashes_of_threads)
{
	struct pp_capture c = kit_read(hashes_text);

	kit_check(&c);
	CHECK_INT(c.rank->threads, 2);
	CHECK_STR(kit_text(&c, c.rank->thread[0].name), "18446744073709551615");
	CHECK_INT(c.rank->trace.damaged, 0);
	pp_capture_release(&c);
}

/* base and rank behind the events, times since 1970, events that no clock shows */
TEST(times_of_the_file)
{
	struct pp_capture c = kit_read(base_text);

	CHECK_INT(c.epoch_realtime_ns, 1700000000000005002);
	pp_capture_release(&c);
	c = kit_read(times_text);
	kit_check(&c);
	CHECK_INT(c.epoch_realtime_ns, 1682725898236567000);
	CHECK_INT(c.rank->threads, 1);
	CHECK_INT(c.rank->trace.events, 2);
	CHECK_INT(c.rank->trace.untimed, 5);
	CHECK_INT(c.rank->recorded_to, 2000);
	pp_capture_release(&c);
}

/* 0 is no time on a host that has run for a minute, and one in a trace that counts from its own begin. */
TEST(kernels_at_zero)
{
	struct pp_capture c = kit_read(ZERO("60000000", "60000100"));

	kit_check(&c);
	CHECK_INT(c.rank->trace.untimed, 1);
	CHECK_INT(c.rank->trace.damaged, 0);
	CHECK_INT(c.rank->recorded_to, 101000);
	pp_capture_release(&c);
	c = kit_read(ZERO("40", "200"));
	CHECK_INT(c.rank->trace.untimed, 0);
	CHECK_INT(c.rank->recorded_to, 201000);
	pp_capture_release(&c);
}

TEST(numbers_that_are_none)
{
	struct pp_capture c = kit_read(numbers_text);

	kit_check(&c);
	CHECK_INT(c.rank->trace.events, 2);
	CHECK_INT(c.rank->trace.untimed, 1);
	CHECK_INT(c.rank->trace.damaged, 5);
	CHECK(strstr(c.rank->trace.damage, "NaN") != NULL);
	CHECK_INT(kit_span(&c, 0, 7, 1)->begin, 10000);
	pp_capture_release(&c);
}

/* Text that is no JSON costs the event that it is in. */
TEST(goes_on_behind_damage)
{
	static const char *const bad[] = {
	        "{'ph': 'X', 'name': '\\x', 'ts': 3},",    "{'ph': 'X', 'name' '?'},",      "{{{[[", "'}", "12,]",
	        "{'ph': 'X', 'args': {'name': 'a\x01'}},", "{'name': 'no phase', 'ts': 1},"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[2048];
		struct pp_capture c;

		snprintf(text, sizeof(text), "{'traceEvents':[%s\n%s%s%s%s]}", X("cpu_op", "a", "1", "1", "10", "1", ""), bad[i],
		         X("cpu_op", "b", "1", "1", "20", "1", ""), X("cpu_op", "c", "1", "1", "30", "1", ""), LAST);
		c = kit_read(text);
		kit_check(&c);
		CHECK(c.rank->trace.damaged >= 1);
		CHECK(c.rank->trace.damaged_at >= (uint64_t)(strchr(text, '\n') - text) && c.rank->trace.damaged_at < strlen(text));
		if (c.rank->trace.events < 2)
			fprintf(stderr, "behind %s\n", bad[i]);
		CHECK(c.rank->trace.events >= 2);
		pp_capture_release(&c);
	}
}

TEST(metadata_that_is_no_json)
{
	struct pp_capture c =
	        kit_read("{'schemaVersion': 1, 'note': =x, 'traceEvents': [" X("cpu_op", "a", "1", "1", "10", "1", "") LAST "]}");

	CHECK_INT(c.rank->trace.events, 1);
	CHECK_INT(c.rank->trace.damaged, 1);
	CHECK_INT(c.rank->trace.damaged_at, 29);
	pp_capture_release(&c);
}

TEST(bad_utf8_is_kept_readable)
{
	struct pp_capture c = kit_read("{'traceEvents':[" X("cpu_op", "a\xff", "1", "1", "10", "1", "")
	                                       X("cpu_op", "b\\u0000\\ud800", "1", "1", "20", "1", "") LAST "]}");

	kit_check(&c);
	CHECK_STR(kit_text(&c, kit_span(&c, -1, 1, 0)->name), "a\xef\xbf\xbd");
	CHECK_INT(c.rank->trace.events, 2);
	pp_capture_release(&c);
}

TEST(packed_and_cut)
{
	struct pp_capture c = {0};
	char half[sizeof(whole)];
	long n;
	int fd;

	kit_write(whole, sizeof(whole) - 1, 1);
	CHECK_INT(kit_read_file(&c), 0);
	CHECK_INT(c.rank->trace.events, 13);
	CHECK_INT(c.rank->trace.damaged, 0);
	pp_capture_release(&c);
	fd = open(kit_path, O_RDWR);
	n = read(fd, half, sizeof(half));
	CHECK(ftruncate(fd, n - 300) == 0);
	close(fd);
	CHECK_INT(kit_read_file(&c), 0);
	kit_check(&c);
	CHECK(c.rank->trace.events > 1 && c.rank->trace.events < 13 && c.rank->trace.damaged > 0);
	pp_capture_release(&c);
}

/* All events before a damage of the packing are read. Filling behind the end is no damage. */
TEST(packed_and_damaged)
{
	static const struct {
		const char *put;
		int from_end, damaged;
	} cases[] = {{"no", -6, 1}, {"\x1f\x8bno gzip", 0, 1}, {"no gzip", 0, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pp_capture c = {0};
		int fd;

		kit_write(whole, sizeof(whole) - 1, 1);
		fd = open(kit_path, O_RDWR);
		CHECK(lseek(fd, cases[i].from_end, SEEK_END) > 0);
		CHECK(write(fd, cases[i].put, strlen(cases[i].put)) == (ssize_t)strlen(cases[i].put));
		close(fd);
		CHECK_INT(kit_read_file(&c), 0);
		CHECK_INT(c.rank->trace.events, 13);
		CHECK_INT(c.rank->trace.damaged, cases[i].damaged);
		CHECK_INT(c.rank->trace.damaged_at, cases[i].damaged ? (int64_t)sizeof(whole) - 1 : 0);
		pp_capture_release(&c);
	}
}

/* Each cut gives what was before it, and says that it is cut. */
TEST(every_cut)
{
	uint64_t before = 0;

	for (size_t n = 1; n < sizeof(whole) - 1; n++) {
		struct pp_capture c = {0};

		if (kit_read_bytes(whole, n, &c)) {
			CHECK(!before && strstr(kit_err.text, kit_path) != NULL);
			continue;
		}
		kit_check(&c);
		CHECK(c.rank->trace.events >= before);
		CHECK(c.rank->trace.damaged == 1 && c.rank->trace.damaged_at == n);
		CHECK(!c.rank->status[0]); /* the session describes the damage there */
		before = c.rank->trace.events;
		pp_capture_release(&c);
	}
	CHECK_INT(before, 13);
}

/* Bytes that change, go or come: nothing crashes, and every capture keeps the rules. */
TEST(changed_bytes)
{
	static char text[2 * sizeof(whole)];
	uint64_t dice = 88172645463325252u;

	for (int round = 0; round < 4000; round++) {
		struct pp_capture c = {0};
		size_t length = sizeof(whole) - 1;

		memcpy(text, whole, length);
		for (int i = 0; i <= round % 4; i++) {
			size_t at, n;

			dice ^= dice << 13;
			dice ^= dice >> 7;
			dice ^= dice << 17;
			at = dice % length;
			n = (dice >> 32) % 20;
			n = n < length - at ? n : length - at - 1;
			if (dice >> 60 < 8) {
				text[at] ^= (char)(1 << (dice >> 57) % 8);
			} else if (dice >> 60 < 12) {
				memmove(text + at, text + at + n, length - at - n);
				length -= n;
			} else {
				text[at] = "{}[],:\"0-9e.NIn\\"[(dice >> 40) % 16];
			}
		}
		if (kit_read_bytes(text, length, &c))
			continue;
		kit_check(&c);
		pp_capture_release(&c);
	}
}

TEST(deep_and_many)
{
	size_t size = 1 << 20;
	char *text = malloc(size + 4096);
	struct pp_capture c;
	size_t n;

	/* 200 000 lists in a list */
	n = (size_t)snprintf(text, size,
	                     "{\"traceEvents\":[%s{\"ph\":\"X\",\"args\":{\"a\":", X("cpu_op", "a", "1", "1", "10", "1", ""));
	memset(text + n, '[', 200000);
	n += 200000;
	snprintf(text + n, size + 4096 - n, "1]]]]}},%s%s]}", X("cpu_op", "b", "1", "1", "20", "1", ""), LAST);
	c = kit_read(text);
	kit_check(&c);
	CHECK_INT(c.rank->trace.events, 2);
	CHECK(strstr(c.rank->trace.damage, "deep") != NULL);
	pp_capture_release(&c);
	/* a thousand are no damage */
	n = (size_t)snprintf(text, size, "{\"traceEvents\":[{\"args\":{\"a\":");
	memset(text + n, '[', 1000);
	memset(text + n + 1000, ']', 1000);
	snprintf(text + n + 2000, size + 2096 - n, "},\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":2}]}");
	c = kit_read(text);
	CHECK_INT(c.rank->trace.events, 1);
	CHECK_INT(c.rank->trace.damaged, 0);
	pp_capture_release(&c);
	free(text);
}

/* The same built-in has the same name in every process. */
TEST(addresses_are_left_out)
{
	static const char *const given[] = {"<built-in method acquire of _thread.lock object at 0x7f9f150b40c0>",
	                                    "f at 0x1f of g at 0xAB, at 0 and at 0xz", " at 0x", "at 0x5"};
	static const char *const kept[] = {"<built-in method acquire of _thread.lock object>", "f of g, at 0 and at 0xz", " at 0x",
	                                   "at 0x5"};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		char text[256];
		struct pp_capture c;

		snprintf(text, sizeof(text), "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"%s\",\"ts\":1,\"dur\":2}]}", given[i]);
		c = kit_read(text);
		CHECK_STR(pp_intern_text(c.names, c.rank->thread[0].span[0].name, NULL), kept[i]);
		pp_capture_release(&c);
	}
}

/* A text without an end costs neither memory nor the events behind it. */
TEST(long_text)
{
	static const char before[] =
	        "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\"},{\"name\":\"";
	static const char behind[] = "\"},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1,\"name\":\"b\"}]}";
	size_t most = 5 << 20, length = sizeof(before) - 1 + most + sizeof(behind) - 1;
	char *text = malloc(length);
	struct pp_capture c = {0};

	memset(text, 'x', length);
	memcpy(text, before, sizeof(before) - 1);
	memcpy(text + length - sizeof(behind) + 1, behind, sizeof(behind) - 1);
	CHECK_INT(kit_read_bytes(text, length, &c), 0);
	CHECK_INT(c.rank->trace.events, 2);
	CHECK_STR(c.rank->trace.damage, "more than 4 MiB without a value");
	pp_capture_release(&c);
	free(text);
}

TEST(nothing_to_read)
{
	struct pp_capture c;
	struct pp_trace_glance g;
	char *late;

	CHECK_INT(kit_read_bytes("{\"traceEvents\":[]}", 18, &c), -EINVAL);
	CHECK(strstr(kit_err.text, "no event") != NULL);
	CHECK_INT(kit_read_bytes("{\"traceEvents\":[{]}", 19, &c), -EINVAL);
	CHECK(strstr(kit_err.text, "at byte") != NULL);
	CHECK_INT(kit_read_bytes("{\"a\": 1}", 8, &c), -EINVAL);
	CHECK_INT(kit_read_bytes("[1, 2]", 6, &c), -EINVAL);
	kit_write("\xef\xbb\xbf \n{\"traceEvents\" : [", 23, 0);
	CHECK_INT(pp_trace_glance(kit_path, &g, &kit_err), 0);
	CHECK_INT(g.format, PP_TRACE_KINETO);
	CHECK_INT(g.rank, -1);
	kit_write("{\"distributedInfo\": {\"pg\": [{\"a\": {}}], \"rank\": 5, \"world_size\": 4}}", 69, 0);
	CHECK_INT(pp_trace_glance(kit_path, &g, &kit_err), 0);
	CHECK_INT(g.rank, -1); /* 5 of 4 */
	kit_write("{\"distributedInfo\": {\"rank\": 2000000000, \"world_size\": 2000000001}}", 68, 0);
	CHECK_INT(pp_trace_glance(kit_path, &g, &kit_err), 0);
	CHECK_INT(g.rank, -1);
	CHECK_INT(kit_read_bytes("{\0\"\0t\0", 6, &c), -EINVAL);
	CHECK(strstr(kit_err.text, "UTF-16") != NULL);
	kit_write("{\"distributedInfo\": {\"rank\": \"5\", \"world_size\": \"8\"}, \"traceEvents\": []}", 72, 0);
	CHECK_INT(pp_trace_glance(kit_path, &g, &kit_err), 0);
	CHECK_INT(g.rank, 5);
	CHECK_INT(g.world, 8);
	late = malloc(200000);
	memset(late, ' ', 200000);
	memcpy(late, "{\"a\":1,", 7);
	memcpy(late + 199900, "\"traceEvents\":[]}", 18);
	kit_write(late, 200000, 0);
	CHECK_INT(pp_trace_glance(kit_path, &g, &kit_err), 0);
	CHECK_INT(g.format, PP_TRACE_KINETO);
	free(late);
}

int main(void)
{
	memcpy(whole, whole_text, sizeof(whole));
	kit_quotes(whole);
	times_are_exact();
	host_events();
	dimensions_of_inputs();
	device_events();
	allocations();
	operators_of_kernels();
	collectives();
	begin_and_end_pairs();
	pairs_on_devices();
	resolution_of_doubles();
	hashes_of_threads();
	two_traces();
	times_of_the_file();
	kernels_at_zero();
	numbers_that_are_none();
	goes_on_behind_damage();
	metadata_that_is_no_json();
	bad_utf8_is_kept_readable();
	packed_and_cut();
	packed_and_damaged();
	long_text();
	every_cut();
	changed_bytes();
	deep_and_many();
	addresses_are_left_out();
	nothing_to_read();
	return test_end();
}

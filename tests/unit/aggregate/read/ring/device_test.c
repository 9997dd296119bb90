/* Records of devices: tracks, names and launches by number, calls of threads, what launched what, memory, losses, windows. */
#include <math.h>

#include "aggregate/read/occupancy.h"
#include "aggregate/read/ring/cut.h"
#include "core/capture/capture.h"
#include "core/capture/cut.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/step/category.h"
#include "tests/unit/aggregate/read/ring/device_kit.h"
#include "tests/unit/aggregate/read/ring/rings_kit.h"

enum { CUPTI = 1, MAIN = 10, LAUNCHER = 12 };

static void begin(struct maker *m, const char *name)
{
	maker_open(m, path_of(name), 0, 1, MAIN, 64);
	maker_thread(m, 0, MAIN);
	maker_thread(m, CUPTI, 11);
}

static const struct pp_thread *stream(const struct pp_capture *c, uint32_t device, uint32_t number)
{
	for (size_t t = 0; t < c->rank[0].threads; t++)
		if (c->rank[0].thread[t].device == device + 1 && c->rank[0].thread[t].tid == number)
			return &c->rank[0].thread[t];
	CHECK(!"the stream is there");
	return &c->rank[0].thread[0];
}

static const struct pp_thread *thread(const struct pp_capture *c, uint32_t tid)
{
	for (size_t t = 0; t < c->rank[0].threads; t++)
		if (!c->rank[0].thread[t].device && c->rank[0].thread[t].tid == tid)
			return &c->rank[0].thread[t];
	CHECK(!"the thread is there");
	return &c->rank[0].thread[0];
}

static const char *text(const struct pp_capture *c, uint32_t id)
{
	return pp_intern_text(c->names, id, NULL);
}

/* Two devices, two streams each, launched by two threads, one of which records nothing else. */
static void fill_two_devices(struct maker *m)
{
	begin(m, "device.ring");
	maker_push(m, 0, 2000, "forward");
	maker_push(m, 0, 2100, "linear");
	maker_pop(m, 0, 2300);
	maker_pop(m, 0, 2900);
	device_info(m, CUPTI, 1, "NVIDIA H100 80GB HBM3");
	device_info(m, CUPTI, 0, "NVIDIA H100 80GB HBM3");
	device_name(m, CUPTI, 1, "cudaLaunchKernel");
	device_name(m, CUPTI, 2, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1");
	device_name(m, CUPTI, 3, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
	device_name(m, CUPTI, 4, "cudaMemcpyAsync");
	device_launch(m, CUPTI, 1, 64, 0, 256, 1000);
	device_launch(m, CUPTI, 2, 96, 0, 512, 24);
	device_called(m, CUPTI, 2150, 2160, (struct pp_record_device_call){.correlation = 7, .tid = MAIN, .name = 1});
	device_called(m, CUPTI, 2400, 2410, (struct pp_record_device_call){.correlation = 8, .tid = LAUNCHER, .name = 1});
	device_called(m, CUPTI, 2500, 2510,
	              (struct pp_record_device_call){.correlation = 9, .tid = MAIN, .name = 4, .call = PP_DEVICE_CALL_COPY});
	/* Late, and out of order. */
	device_ran(m, CUPTI, 2450, 2600, (struct pp_record_device){.correlation = 8, .stream = 13, .name = 3, .launch = 2});
	device_ran(m, CUPTI, 2170, 2400, (struct pp_record_device){.correlation = 7, .stream = 7, .name = 2, .launch = 1});
	device_ran(m, CUPTI, 2600, 2700,
	           (struct pp_record_device){
	                   .correlation = 9, .stream = 7, .bytes = 4096, .activity = PP_DEVICE_HOST_TO_DEVICE, .device = 1});
	device_ran(m, CUPTI, 2610, 2640, (struct pp_record_device){.stream = 8, .name = 2, .launch = 1, .device = 1});
}

TEST(streams_and_launches)
{
	struct maker m;
	struct pp_capture c;
	const struct pp_thread *t;

	fill_two_devices(&m);
	c = finished(&m);
	CHECK_INT(c.ranks, 1);
	CHECK_INT(c.rank[0].threads, 2 + 4); /* not the one that writes */
	CHECK_INT(c.rank[0].thread[0].tid, MAIN);
	CHECK_INT(c.rank[0].thread[1].tid, LAUNCHER);
	CHECK_INT(c.rank[0].thread[2].device, 1);
	CHECK_INT(c.rank[0].thread[2].tid, 7);
	CHECK_INT(c.rank[0].thread[5].device, 2);
	CHECK_STR(text(&c, c.rank[0].thread[5].name), "stream 8");
	CHECK_INT(c.rank[0].devices, 2);
	CHECK_INT(c.rank[0].device[1].number, 1);
	CHECK_STR(c.rank[0].device[1].name, "NVIDIA H100 80GB HBM3");
	CHECK_INT(c.rank[0].device[1].memory, UINT64_C(85) << 30);

	t = stream(&c, 0, 7);
	CHECK_INT(t->spans, 1);
	CHECK_INT(t->span[0].kind, PP_SPAN_DEVICE);
	CHECK_INT(t->span[0].source, PP_SOURCE_CUPTI);
	CHECK_INT(t->span[0].begin, 2170);
	CHECK_INT(t->span[0].end, 2400);
	CHECK_INT(t->span[0].device.activity, PP_DEVICE_KERNEL);
	CHECK_INT(t->span[0].device.precision, PP_PRECISION_16);
	CHECK_INT(t->span[0].device.host_thread, 1);
	CHECK_STR(text(&c, t->span[0].device.op), "linear");
	CHECK_INT(c.rank[0].launch[t->span[0].device.launch - 1].registers, 64);
	CHECK_INT((int)c.rank[0].launch[t->span[0].device.launch - 1].occupancy, 50); /* 4 blocks of 8 warps */
	t = stream(&c, 0, 13);
	CHECK_INT(t->span[0].device.activity, PP_DEVICE_COLLECTIVE);
	CHECK_INT(t->span[0].device.host_thread, 2);
	CHECK_STR(text(&c, t->span[0].device.op), "");
	t = stream(&c, 1, 7);
	CHECK_STR(name_of(&c, &t->span[0]), "MemcpyHToD");
	CHECK_INT(t->span[0].device.bytes, 4096);
	CHECK_STR(text(&c, t->span[0].device.op), "forward");
	CHECK_INT(stream(&c, 1, 8)->span[0].device.host_thread, 0);

	t = thread(&c, MAIN);
	CHECK_INT(t->spans, 4);
	CHECK_STR(name_of(&c, &t->span[2]), "cudaLaunchKernel");
	CHECK_INT(t->span[2].category, PP_CATEGORY_KERNEL_LAUNCH);
	CHECK_INT(t->span[3].category, PP_CATEGORY_INPUT);
	CHECK_INT(t->last, 2900);
	CHECK_INT(thread(&c, LAUNCHER)->spans, 1);
	CHECK_INT(c.rank[0].recorded_to, 2900);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], 0);
	pp_capture_release(&c);
}

/* Correlation numbers are used again; all nodes of a graph have that of its launch. */
TEST(nearest_launch)
{
	struct maker m;
	struct pp_capture c;
	const struct pp_thread *t;

	begin(&m, "nearest.ring");
	for (int i = 0; i < 3; i++) {
		maker_push(&m, 0, 2000 + 1000 * (pp_tick)i, i == 1 ? "second" : "other");
		maker_pop(&m, 0, 2900 + 1000 * (pp_tick)i);
		device_called(&m, CUPTI, 2100 + 1000 * (pp_tick)i, 2110 + 1000 * (pp_tick)i,
		              (struct pp_record_device_call){.correlation = 5, .tid = MAIN});
	}
	device_ran(&m, CUPTI, 3500, 3600, (struct pp_record_device){.correlation = 5, .stream = 7, .graph = 3});
	device_ran(&m, CUPTI, 3600, 3700, (struct pp_record_device){.correlation = 5, .stream = 7, .graph = 3});
	device_ran(&m, CUPTI, 2090, 2190, (struct pp_record_device){.correlation = 5, .stream = 8}); /* a clock's error */
	device_ran(&m, CUPTI, 1500, 1600, (struct pp_record_device){.correlation = 5, .stream = 9}); /* its call is lost */
	device_ran(&m, CUPTI, 1500, 1600, (struct pp_record_device){.correlation = 6, .stream = 9});
	c = finished(&m);
	t = stream(&c, 0, 7);
	CHECK_STR(text(&c, t->span[0].device.op), "second");
	CHECK_STR(text(&c, t->span[1].device.op), "second");
	CHECK_STR(name_of(&c, &t->span[0]), "kernel");
	CHECK_STR(text(&c, stream(&c, 0, 8)->span[0].device.op), "other");
	t = stream(&c, 0, 9);
	CHECK_INT(t->span[0].device.host_thread, 0);
	CHECK_INT(t->span[1].device.host_thread, 0);
	pp_capture_release(&c);
}

/* Numbers begin again in each chunk, and threads that begin to record later are those whose calls were read before. */
TEST(numbers_and_threads)
{
	struct maker m;
	struct pp_capture c;

	begin(&m, "numbers.ring");
	device_name(&m, CUPTI, 1, "first");
	device_name(&m, CUPTI, 2, "second");
	device_ran(&m, CUPTI, 100, 110, (struct pp_record_device){.name = 2, .stream = 1});
	device_name(&m, CUPTI, 1, "third");
	device_ran(&m, CUPTI, 200, 210, (struct pp_record_device){.name = 1, .stream = 1});
	device_ran(&m, CUPTI, 300, 310, (struct pp_record_device){.name = 2, .stream = 1}); /* of the chunk before */
	device_name(&m, CUPTI, 3, "no second");
	device_launch(&m, CUPTI, 2, 1, 1, 1, 1);
	device_ran(&m, CUPTI, 400, 410, (struct pp_record_device){.launch = 1, .stream = 1});
	device_called(&m, CUPTI, 1500, 1600, (struct pp_record_device_call){.tid = 40, .name = 1});
	maker_thread(&m, 2, 40);
	maker_push(&m, 2, 1550, "late");
	maker_pop(&m, 2, 1560);
	device_called(&m, CUPTI, 1700, 1800, (struct pp_record_device_call){.tid = MAIN, .result = 700});
	c = finished(&m);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], 4);
	CHECK_INT(stream(&c, 0, 1)->spans, 2);
	CHECK_STR(name_of(&c, &stream(&c, 0, 1)->span[0]), "second");
	CHECK_STR(name_of(&c, &stream(&c, 0, 1)->span[1]), "third");
	CHECK_INT(c.rank[0].threads, 3);
	CHECK_INT(thread(&c, 40)->spans, 2);
	CHECK_INT(thread(&c, 40)->first, 1500);
	CHECK_STR(text(&c, thread(&c, 40)->name), "thread40");
	CHECK_INT(thread(&c, MAIN)->is_main, 1);
	CHECK_INT(thread(&c, MAIN)->span[0].flags, PP_SPAN_FAILED);
	CHECK_INT(thread(&c, MAIN)->span[0].range.payload, 700);
	pp_capture_release(&c);
}

TEST(bad_records)
{
	static const struct pp_record bad[] = {
	        {.tick = 100, .kind = PP_RECORD_DEVICE, .device = {.end = 99}},
	        {.tick = 0, .kind = PP_RECORD_DEVICE, .device = {.end = 99}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE, .device = {.end = UINT64_MAX}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE, .device = {.end = 200, .device = 1024}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE, .device = {.end = 200, .activity = PP_DEVICE_SET + 1}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE, .device = {.end = 200, .activity = PP_DEVICE_COLLECTIVE}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE, .device = {.end = 200, .name = 1}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE, .device = {.end = 200, .launch = UINT32_MAX}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_CALL, .device_call = {.end = 200, .call = PP_DEVICE_CALLS}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_CALL, .device_call = {.end = 200, .name = 1}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_CALL, .device_call = {.end = 20}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_NAME, .device_name = {.number = 1}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_LAUNCH, .device_launch = {.number = 0}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_LAUNCH, .device_launch = {.number = 5000}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_INFO, .device_info = {.device = 0}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_MEMORY, .device_memory = {.kind = 4}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_MEMORY, .device_memory = {.is_free = 2}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_MEMORY, .device_memory = {.bytes = UINT64_MAX}},
	        {.tick = 0, .kind = PP_RECORD_DEVICE_POOL},
	        {.tick = UINT64_MAX, .kind = PP_RECORD_DEVICE_POOL},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_POOL, .device_pool = {.device = 1024}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_POOL, .device_pool = {.action = PP_DEVICE_POOL_FREED + 1}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_POOL, .device_pool = {.is_imported = 2}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_POOL, .device_pool = {.size = UINT64_MAX}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_POOL, .device_pool = {.used = UINT64_MAX}},
	};
	struct pp_record lost = {.tick = 100,
	                         .kind = PP_RECORD_DEVICE_LOST,
	                         .device_lost = {.dropped = 3, .untimed = 2, .unknown = 5, .clock_error_ns = 700}};
	struct maker m;
	struct pp_capture c;

	begin(&m, "bad.ring");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		maker_put(&m, CUPTI, &bad[i], NULL, 0);
	maker_put(&m, CUPTI, &lost, NULL, 0);
	lost.device_lost.clock_error_ns = UINT64_MAX; /* damage */
	maker_put(&m, CUPTI, &lost, NULL, 0);
	device_ran(&m, CUPTI, 100, 200, (struct pp_record_device){.is_replay = 1});
	c = finished(&m);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], sizeof(bad) / sizeof(bad[0]));
	CHECK_INT(c.rank[0].lost[PP_LOSS_DEVICE_DROPPED], 6);
	CHECK_INT(c.rank[0].lost[PP_LOSS_DEVICE_UNTIMED], 4);
	CHECK_INT(c.rank[0].device_error_ns, 700);
	CHECK_INT(c.rank[0].device_replay, 1);
	CHECK_INT(c.rank[0].remarks, 2);
	CHECK_STR(c.rank[0].remark[0], "device records are a replay of recorded data: no device ran");
	CHECK_STR(c.rank[0].remark[1], "10 records of CUPTI have a kind or version that podprof does not know: they are not shown");
	pp_capture_release(&c);
}

/* Kinds and values that no collector writes, times that cannot be: each is counted, what is good beside it is there. */
TEST(unknown_and_impossible)
{
	static const struct pp_record bad[] = {
	        {.tick = 100, .kind = PP_RECORD_KINDS},
	        {.tick = 100, .kind = UINT16_MAX},
	        {.tick = 0, .kind = PP_RECORD_DEVICE_CALL, .device_call = {.end = 100}},
	        {.tick = 100, .kind = PP_RECORD_DEVICE_CALL, .device_call = {.end = UINT64_MAX}},
	        {.tick = 0, .kind = PP_RECORD_DEVICE_MEMORY},
	        {.tick = 100, .kind = PP_RECORD_NCCL, .nccl = {.end = 99, .call = 641, .operation = 1}},
	        {.tick = 100, .kind = PP_RECORD_NCCL, .nccl = {.end = 200, .call = 641}},
	        {.tick = 100, .kind = PP_RECORD_NCCL, .nccl = {.end = 200, .call = UINT16_MAX, .operation = 1}},
	        {.tick = 100, .kind = PP_RECORD_NCCL_TASK, .nccl_task = {.launch = UINT64_MAX}},
	};
	struct maker m;
	struct pp_capture c;

	begin(&m, "unknown.ring");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		maker_put(&m, CUPTI, &bad[i], NULL, 0);
		device_ran(&m, CUPTI, 1000 + i, 1010 + i, (struct pp_record_device){.stream = 7});
	}
	device_ran(&m, CUPTI, 2000, 2000, (struct pp_record_device){.stream = 8}); /* no time at all is possible */
	c = finished(&m);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], sizeof(bad) / sizeof(bad[0]));
	CHECK_INT(stream(&c, 0, 7)->spans, sizeof(bad) / sizeof(bad[0]));
	CHECK_INT(stream(&c, 0, 8)->spans, 1);
	pp_capture_release(&c);
}

/* The ring's file ends before its last chunks: what is before is there, and the loss is counted. */
TEST(truncated)
{
	enum { EACH = PP_CHUNK_RECORDS - 1 }; /* and the chunk's names */
	struct maker m;
	struct pp_capture c = {0};
	struct pp_rings *r;
	const struct pp_thread *t;

	begin(&m, "truncated.ring");
	for (uint32_t chunk = 0; chunk < 4; chunk++) {
		device_name(&m, CUPTI, 1, "kernel_of_all");
		for (uint32_t i = 0; i < EACH; i++)
			device_ran(&m, CUPTI, 1000 + (uint64_t)chunk * EACH + i, 1001 + (uint64_t)chunk * EACH + i,
			           (struct pp_record_device){.stream = 7, .name = 1});
	}
	maker_push(&m, 0, 2000, "forward");
	maker_pop(&m, 0, 2500);
	CHECK_INT(m.header->chunk_used, 5);
	CHECK_INT(truncate(m.path, PP_RING_HEADER_BYTES + 2 * (off_t)PP_CHUNK_BYTES), 0);
	r = pp_rings_new(64 << 20);
	CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
	while (pp_rings_drain(r, 0, NULL))
		;
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	pp_rings_free(r);
	t = stream(&c, 0, 7);
	CHECK_INT(t->spans, 2 * EACH);
	CHECK_STR(name_of(&c, &t->span[t->spans - 1]), "kernel_of_all");
	CHECK_INT(c.rank[0].lost[PP_LOSS_RING_CUT], 2); /* one of each thread */
	pp_capture_release(&c);
	maker_close(&m);
}

/* 64 streams on 8 devices; more streams than any program has are counted. */
TEST(many_streams)
{
	struct maker m;
	struct pp_capture c;

	begin(&m, "many.ring");
	for (uint32_t i = 0; i < 64 * 8 * 10; i++)
		device_ran(&m, CUPTI, 100 + i, 200 + i,
		           (struct pp_record_device){.stream = i % 64, .device = (uint16_t)(i / 64 % 8)});
	for (uint32_t i = 0; i < 5000; i++)
		device_ran(&m, CUPTI, 100 + i, 200 + i, (struct pp_record_device){.stream = 100 + i});
	for (uint32_t i = 0; i < 5000; i++)
		device_called(&m, CUPTI, 100 + i, 200 + i, (struct pp_record_device_call){.tid = 100 + i});
	c = finished(&m);
	CHECK_INT(stream(&c, 7, 63)->spans, 10);
	CHECK_INT(c.rank[0].threads, 2 * 4096);
	CHECK_INT(c.rank[0].lost[PP_LOSS_NO_THREAD], 2 * 5000 + 512 - 2 * 4096);
	pp_capture_release(&c);
}

TEST(memory_in_use)
{
	struct maker m;
	struct pp_capture c;
	const struct pp_allocation *a;

	begin(&m, "memory.ring");
	maker_push(&m, 0, 2000, "make");
	maker_pop(&m, 0, 2500);
	device_called(&m, CUPTI, 2090, 2120,
	              (struct pp_record_device_call){.correlation = 4, .tid = MAIN, .call = PP_DEVICE_CALL_MEMORY});
	device_memory(&m, CUPTI, 2100, (struct pp_record_device_memory){.address = 16, .bytes = 100, .correlation = 4});
	device_memory(&m, CUPTI, 2300, (struct pp_record_device_memory){.address = 16, .is_free = 1});
	device_memory(&m, CUPTI, 2200, (struct pp_record_device_memory){.address = 32, .bytes = 50});
	device_memory(&m, CUPTI, 2250,
	              (struct pp_record_device_memory){.address = 32, .bytes = 7, .kind = PP_DEVICE_MEMORY_PINNED});
	device_memory(&m, CUPTI, 2400, (struct pp_record_device_memory){.address = 64, .bytes = 9, .is_free = 1}); /* of before */
	device_memory(&m, CUPTI, 2450, (struct pp_record_device_memory){.address = 32, .bytes = 60}); /* its free was lost */
	c = finished(&m);
	a = c.rank[0].allocation;
	CHECK_INT(c.rank[0].allocations, 6);
	CHECK_STR(text(&c, a[0].allocator), "GPU_0");
	CHECK_STR(text(&c, a[0].op), "make");
	CHECK_INT(a[0].allocated, 100);
	CHECK_INT(a[0].is_counted, 1);
	CHECK_INT(a[1].allocated, 150);
	CHECK_STR(text(&c, a[2].allocator), "CPU_pinned");
	CHECK_INT(a[2].allocated, 7);
	CHECK_INT(a[3].allocated, 50);
	CHECK_INT(a[3].bytes, 100);
	CHECK_STR(text(&c, a[3].op), "make");
	CHECK_INT(a[4].allocated, 50);
	CHECK_INT(a[5].allocated, 60);
	CHECK_INT(a[5].peak, 150);
	CHECK_INT(pp_rank_cut(&c.rank[0], 2200, 2400), 0);
	CHECK_INT(c.rank[0].allocations, 4);
	CHECK_INT(c.rank[0].allocation[0].allocated, 150);
	pp_capture_release(&c);
}

/* What a pool gives is in use of the pool, as it reports, whatever was allocated before the recording. */
TEST(memory_of_pools)
{
	struct maker m;
	struct pp_capture c;
	const struct pp_allocation *a;

	begin(&m, "pools.ring");
	device_memory(&m, CUPTI, 2100, (struct pp_record_device_memory){.address = 16, .bytes = 100});
	device_memory(&m, CUPTI, 2200,
	              (struct pp_record_device_memory){.address = 32, .bytes = 50, .pool = 0x1000, .pool_used = 1050});
	device_memory(&m, CUPTI, 2300, (struct pp_record_device_memory){.address = 64, .bytes = 8, .pool = 0x2000, .pool_used = 8});
	device_memory(&m, CUPTI, 2400, (struct pp_record_device_memory){.address = 64, .pool = 0x2000, .is_free = 1});
	device_memory(&m, CUPTI, 2500,
	              (struct pp_record_device_memory){.address = 32, .pool = 0x1000, .pool_used = 1000, .is_free = 1});
	device_memory(&m, CUPTI, 2600, (struct pp_record_device_memory){.address = 80, .bytes = 9, .pool = 0x3000});
	for (uint64_t i = 0; i < 100; i++)
		device_memory(&m, CUPTI, 3000 + i,
		              (struct pp_record_device_memory){.address = 256 + i, .bytes = 1, .pool = 0x4000 + i});
	c = finished(&m);
	a = c.rank[0].allocation;
	CHECK_STR(text(&c, a[0].allocator), "GPU_0");
	CHECK_INT(a[0].allocated, 100);
	CHECK_STR(text(&c, a[1].allocator), "GPU_0_pool_0");
	CHECK_INT(a[1].allocated, 1050);
	CHECK_INT(a[1].is_counted, 0);
	CHECK_INT(a[1].peak, -1);
	CHECK_INT(a[2].allocated, 8);
	CHECK_INT(a[3].allocated, 0);
	CHECK_INT(a[3].bytes, 8);
	CHECK_INT(a[4].allocated, 1000);
	CHECK_STR(text(&c, a[5].allocator), "GPU_0_pool_2"); /* it reports nothing */
	CHECK_INT(a[5].allocated, 9);
	CHECK_INT(a[5].is_counted, 1);
	CHECK_STR(text(&c, a[105].allocator), "GPU_0_pool_64");
	pp_capture_release(&c);
}

/* Pools of two devices: in order of time, as they were reported. What was before a cut stays: it holds when the window begins. */
TEST(pools)
{
	struct maker m;
	struct pp_capture c;
	const struct pp_pool_event *e;

	begin(&m, "pool_events.ring");
	device_pool(&m, CUPTI, 2300,
	            (struct pp_record_device_pool){
	                    .address = 16, .device = 1, .action = PP_DEVICE_POOL_TRIMMED, .size = 40, .used = 30, .threshold = 20});
	device_pool(&m, CUPTI, 2100, (struct pp_record_device_pool){.address = 16, .threshold = UINT64_MAX});
	device_pool(&m, CUPTI, 2300, (struct pp_record_device_pool){.address = 16, .action = PP_DEVICE_POOL_DESTROYED});
	device_pool(&m, CUPTI, 2200, (struct pp_record_device_pool){.address = 32, .is_imported = 1, .size = 7});
	device_pool(&m, CUPTI, 2500, (struct pp_record_device_pool){.address = 48, .is_replay = 1});
	device_memory(&m, CUPTI, 2400, (struct pp_record_device_memory){.address = 1, .bytes = 5, .pool = 16, .device = 1});
	c = finished(&m);
	e = c.rank[0].pool_event;
	CHECK_INT(c.rank[0].pool_events, 5);
	CHECK_INT(e[0].time, 2100);
	CHECK_INT(e[0].threshold, INT64_MAX);
	CHECK_INT(e[0].size, 0);
	CHECK(e[1].is_imported && e[1].size == -1 && e[1].used == -1 && e[1].threshold == -1);
	CHECK(e[2].device == 1 && e[2].size == 40 && e[2].used == 30 && e[2].threshold == 20);
	CHECK_INT(e[3].action, PP_DEVICE_POOL_DESTROYED);
	CHECK(c.rank[0].allocation[0].pool == 16 && c.rank[0].allocation[0].device == 1);
	CHECK_INT(c.rank[0].device_replay, 1);
	CHECK_INT(pp_rank_cut(&c.rank[0], 2250, 2450), 0);
	CHECK_INT(c.rank[0].pool_events, 4);
	CHECK(e[0].is_before && e[1].is_before && !e[2].is_before && !e[3].is_before);
	pp_capture_release(&c);
}

/* More events than are kept: the oldest are dropped and counted. */
TEST(many_pools)
{
	struct maker m;
	struct pp_capture c;

	maker_open(&m, path_of("many_pools.ring"), 0, 1, MAIN, 80);
	maker_thread(&m, 0, MAIN);
	maker_thread(&m, CUPTI, 11);
	for (uint64_t i = 0; i < (1 << 16) + 10; i++)
		device_pool(&m, CUPTI, 2000 + i, (struct pp_record_device_pool){.address = i});
	c = finished(&m);
	CHECK_INT(c.rank[0].pool_events, (1 << 15) + 10);
	CHECK_INT(c.rank[0].pool_event[0].address, 1 << 15);
	CHECK_INT(c.rank[0].lost[PP_LOSS_EVICTED], 1 << 15);
	pp_capture_release(&c);
}

/* A name has one kind, however many names there are, and in each chunk again. */
TEST(many_names)
{
	enum { NAMES = 3000, EACH = 300 };
	struct maker m;
	struct pp_capture c;
	size_t collectives = 0, halves = 0;

	begin(&m, "many_names.ring");
	for (uint32_t i = 0; i < 2 * NAMES; i++) {
		char name[64];

		snprintf(name, sizeof(name), i % 3 ? "sm90_xmma_gemm_bf16bf16_%u" : "ncclDevKernel_AllReduce_%u", i % NAMES);
		device_name(&m, CUPTI, i % EACH + 1, name);
		device_ran(&m, CUPTI, 2000 + i, 2001 + i, (struct pp_record_device){.stream = 7, .name = i % EACH + 1});
	}
	c = finished(&m);
	CHECK_INT(stream(&c, 0, 7)->spans, 2 * NAMES);
	for (size_t i = 0; i < stream(&c, 0, 7)->spans; i++) {
		collectives += stream(&c, 0, 7)->span[i].device.activity == PP_DEVICE_COLLECTIVE;
		halves += stream(&c, 0, 7)->span[i].device.precision == PP_PRECISION_16;
	}
	CHECK_INT(collectives, 2 * NAMES / 3);
	CHECK_INT(halves, 2 * NAMES / 3 * 2);
	pp_capture_release(&c);
}

/* Records come late: what ended in a window that was dropped is in the next one's capture, and is cut there. */
TEST(windows)
{
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r;

	begin(&m, "windows.ring");
	maker_push(&m, 0, 2000, "whole run");
	device_ran(&m, CUPTI, 2100, 2200, (struct pp_record_device){.stream = 7});
	device_ran(&m, CUPTI, 2900, 3100, (struct pp_record_device){.stream = 7});
	device_memory(&m, CUPTI, 2100, (struct pp_record_device_memory){.address = 16, .bytes = 100});
	r = drained(&m, 64 << 20);
	pp_rings_drop(r, 0, 3000);
	device_ran(&m, CUPTI, 2500, 2600, (struct pp_record_device){.stream = 7});
	device_called(&m, CUPTI, 2400, 2410, (struct pp_record_device_call){.tid = MAIN, .correlation = 1});
	device_called(&m, CUPTI, 3400, 3410, (struct pp_record_device_call){.tid = MAIN, .correlation = 2});
	device_ran(&m, CUPTI, 3500, 3600, (struct pp_record_device){.stream = 7, .correlation = 2});
	device_memory(&m, CUPTI, 3200, (struct pp_record_device_memory){.address = 32, .bytes = 5});
	maker_pop(&m, 0, 4000);
	while (pp_rings_drain(r, 0, NULL))
		;
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(stream(&c, 0, 7)->spans, 3);
	CHECK_INT(c.rank[0].allocations, 1);
	CHECK_INT(pp_rank_cut(&c.rank[0], 3000, 4000), 0);
	CHECK_INT(stream(&c, 0, 7)->spans, 2);
	CHECK_INT(stream(&c, 0, 7)->span[0].begin, 3000);
	CHECK_INT(stream(&c, 0, 7)->span[0].flags, PP_SPAN_CUT_BEGIN);
	CHECK_STR(text(&c, stream(&c, 0, 7)->span[1].device.op), "whole run");
	CHECK_INT(thread(&c, MAIN)->spans, 2);
	pp_capture_release(&c);
	pp_rings_free(r);
	maker_close(&m);
}

/* The window buffer holds for streams too, and the horizon says from when on all is there. */
TEST(evicted)
{
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r;

	begin(&m, "evicted.ring");
	r = pp_rings_new(2 << 20);
	CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
	for (uint32_t i = 0; i < 200000; i++) {
		device_ran(&m, CUPTI, 2000 + 10 * (pp_tick)i, 2005 + 10 * (pp_tick)i, (struct pp_record_device){.stream = i % 2});
		device_called(&m, CUPTI, 1990 + 10 * (pp_tick)i, 1995 + 10 * (pp_tick)i,
		              (struct pp_record_device_call){.tid = MAIN});
		if (i % 500 == 0)
			pp_rings_drain(r, 0, NULL);
	}
	while (pp_rings_drain(r, 0, NULL))
		;
	CHECK(pp_rings_bytes(r) < 4 << 20);
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK(c.rank[0].lost[PP_LOSS_EVICTED] > 300000);
	CHECK(c.rank[0].horizon > 1500000);
	CHECK(stream(&c, 0, 1)->spans > 1000);
	CHECK(thread(&c, MAIN)->spans > 1000);
	pp_capture_release(&c);
	pp_rings_free(r);
	maker_close(&m);
}

/* Warps that one multiprocessor holds, by CUDA's rules: registers of a warp in units of 256, in four parts; shared memory of a
 * block with 1 KiB of the system, in units of 128 bytes. */
static void occupancy_of_devices(void)
{
	enum { KIB = 1024 };
	static const struct {
		uint32_t capability, warps, blocks, shared; /* of sm_80, 86, 90, 100, 120 */
		uint32_t threads, registers, static_shared, dynamic_shared, want;
	} row[] = {
	        {0x80000, 64, 32, 164 * KIB, 256, 32, 0, 0, 64},
	        {0x80000, 64, 32, 164 * KIB, 128, 64, 0, 0, 32},         /* 8 warps of 2048 registers in a part */
	        {0x80000, 64, 32, 164 * KIB, 512, 40, 0, 0, 48},         /* 12 in a part: 3 blocks of 16 warps */
	        {0x80000, 64, 32, 164 * KIB, 128, 32, 0, 32 * KIB, 16},  /* 4 blocks of 33 KiB */
	        {0x80000, 64, 32, 164 * KIB, 256, 255, 0, 160 * KIB, 8}, /* a GEMM: one block */
	        {0x80000, 64, 32, 164 * KIB, 32, 16, 0, 0, 32},          /* 32 blocks are the most */
	        {0x80000, 64, 32, 164 * KIB, 1024, 64, 0, 0, 32},        /* all registers, one block */
	        {0x80000, 64, 32, 164 * KIB, 96, 48, 1, 0, 39},          /* 10 warps in a part, 13 blocks of 3 */
	        {0x80006, 48, 16, 100 * KIB, 256, 32, 0, 0, 48},
	        {0x80006, 48, 16, 100 * KIB, 64, 32, 0, 0, 32},             /* 16 blocks */
	        {0x80006, 48, 16, 100 * KIB, 128, 32, 48 * KIB, 0, 8},      /* 49 KiB twice */
	        {0x90000, 64, 32, 228 * KIB, 384, 168, 0, 227 * KIB, 12},   /* a GEMM with a producer: all shared memory */
	        {0x90000, 64, 32, 228 * KIB, 128, 32, 0, 32 * KIB, 24},     /* 6 blocks of 33 KiB */
	        {0x90000, 64, 32, 228 * KIB, 128, 32, 0, 32 * KIB + 1, 24}, /* 33 KiB and 128 bytes: still 6 */
	        {0x90000, 64, 32, 228 * KIB, 256, 64, 0, 56 * KIB, 32},     /* 57 KiB: 4 blocks, as many as by registers */
	        {0x90000, 64, 32, 228 * KIB, 256, 64, 0, 56 * KIB + 1, 24}, /* 128 bytes more: 3 */
	        {0xa0000, 64, 32, 228 * KIB, 192, 128, 0, 200 * KIB, 6},
	        {0xa0000, 64, 32, 228 * KIB, 1024, 32, 0, 0, 64},
	        {0xc0000, 48, 24, 100 * KIB, 1024, 32, 0, 0, 32}, /* one block of 32 warps in 48 */
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct pp_device_limits limits = {.capability = row[i].capability,
		                                        .warps = row[i].warps,
		                                        .blocks = row[i].blocks,
		                                        .registers = 65536,
		                                        .shared = row[i].shared,
		                                        .warp_threads = 32,
		                                        .block_registers = 65536};
		const struct pp_launch l = {.registers = row[i].registers,
		                            .static_shared = row[i].static_shared,
		                            .dynamic_shared = row[i].dynamic_shared,
		                            .block = {row[i].threads, 1, 1}};
		float got = pp_occupancy(&l, &limits), want = 100 * (float)row[i].want / (float)row[i].warps;

		if (fabsf(got - want) > 0.01F)
			fprintf(stderr, "row %zu: %.2f %%, not %.2f %%\n", i, (double)got, (double)want);
		CHECK(fabsf(got - want) <= 0.01F);
	}
}

TEST(occupancy)
{
	static const struct pp_device_limits a100 = {.capability = 8 << 16,
	                                             .warps = 64,
	                                             .blocks = 32,
	                                             .registers = 65536,
	                                             .shared = 167936,
	                                             .warp_threads = 32,
	                                             .block_registers = 65536},
	                                     v100 = {.capability = 7 << 16,
	                                             .warps = 64,
	                                             .blocks = 32,
	                                             .registers = 65536,
	                                             .shared = 98304,
	                                             .warp_threads = 32,
	                                             .block_registers = 65536};
	struct pp_launch l = {.registers = 32, .block = {256, 1, 1}};
	struct pp_device_limits unknown = a100;

	CHECK_INT((int)pp_occupancy(&l, &a100), 100);
	l.registers = 128; /* 4 warps in each quarter */
	CHECK_INT((int)pp_occupancy(&l, &a100), 25);
	l.registers = 33; /* counts as 40 */
	CHECK_INT((int)pp_occupancy(&l, &a100), 75);
	l.registers = 32;
	l.dynamic_shared = 48 << 10; /* 49 KiB with the driver's: 3 blocks */
	CHECK_INT((int)(10 * pp_occupancy(&l, &a100)), 375);
	CHECK_INT((int)pp_occupancy(&l, &v100), 25); /* 2 blocks */
	l.dynamic_shared = 0;
	l.block[0] = 32; /* 32 blocks of a warp */
	CHECK_INT((int)pp_occupancy(&l, &a100), 50);
	l.block[0] = 1024;
	l.registers = 255; /* more than a block may have */
	CHECK_INT((int)pp_occupancy(&l, &a100), -1);
	l.registers = 32;
	l.block[1] = 0;
	CHECK_INT((int)pp_occupancy(&l, &a100), -1);
	l.block[1] = 1;
	occupancy_of_devices();
	unknown.shared = 0;
	CHECK_INT((int)pp_occupancy(&l, &unknown), -1);
}

int main(void)
{
	if (rings_kit_begin())
		return 1;
	streams_and_launches();
	nearest_launch();
	numbers_and_threads();
	bad_records();
	unknown_and_impossible();
	truncated();
	many_streams();
	memory_in_use();
	memory_of_pools();
	pools();
	many_pools();
	many_names();
	windows();
	evicted();
	occupancy();
	return rings_kit_end();
}

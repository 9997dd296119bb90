/* Where the time of a step with devices goes: from records of a live job to categories. docs/steps.md has the order. */
#include "core/base/known.h"
#include "core/step/category.h"
#include "tests/unit/aggregate/read/ring/session_kit.h"

enum { NAME_LAUNCH = 1, NAME_COPY, NAME_SYNC, NAME_KERNEL, NAME_COLLECTIVE, NAME_LOAD };

static void begin(struct maker *m)
{
	maker_open(m, path_of("steps.ring"), 0, 1, MAIN, 64);
	maker_thread(m, 0, MAIN);
	maker_thread(m, CUPTI, 11);
	device_name(m, CUPTI, NAME_LAUNCH, "cudaLaunchKernel");
	device_name(m, CUPTI, NAME_COPY, "cudaMemcpyAsync");
	device_name(m, CUPTI, NAME_SYNC, "cudaStreamSynchronize");
	device_name(m, CUPTI, NAME_KERNEL, "ampere_fp16_s16816gemm_fp16_64x64_nn");
	device_name(m, CUPTI, NAME_COLLECTIVE, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
	device_name(m, CUPTI, NAME_LOAD, "cuModuleLoadData");
	maker_step(m, 0, PP_RECORD_STEP_BEGIN, STEP_BEGIN, STEP);
}

static void ran(struct maker *m, uint32_t stream, int activity, uint32_t name, pp_tick from, pp_tick to)
{
	device_ran(m, CUPTI, from, to, (struct pp_record_device){.stream = stream, .activity = (uint8_t)activity, .name = name});
}

static void called(struct maker *m, int call, uint32_t name, uint32_t correlation, pp_tick from, pp_tick to)
{
	device_called(m, CUPTI, from, to,
	              (struct pp_record_device_call){.correlation = correlation, .tid = MAIN, .name = name, .call = (uint8_t)call});
}

static int64_t ns(const struct made *made, enum pp_category category)
{
	return made->d.cell[0].exclusive_ns[category];
}

static void check_whole(const struct made *made)
{
	int64_t sum = 0;

	for (int c = 1; c <= PP_CATEGORIES; c++)
		sum += made->d.cell[0].exclusive_ns[c];
	CHECK_INT(sum, STEP_END - STEP_BEGIN);
}

/* One after the other: each has its own category. */
TEST(each_alone)
{
	struct maker m;
	struct made made;

	begin(&m);
	ran(&m, 7, PP_DEVICE_KERNEL, NAME_KERNEL, 2000, 2100);
	ran(&m, 7, PP_DEVICE_SET, 0, 2100, 2110);
	ran(&m, 7, PP_DEVICE_DEVICE_TO_DEVICE, 0, 2200, 2220);
	ran(&m, 7, PP_DEVICE_HOST_TO_DEVICE, 0, 2300, 2330);
	ran(&m, 7, PP_DEVICE_DEVICE_TO_HOST, 0, 2400, 2440);
	ran(&m, 20, PP_DEVICE_KERNEL, NAME_COLLECTIVE, 2500, 2550);
	called(&m, PP_DEVICE_CALL_LAUNCH, NAME_LAUNCH, 1, 3000, 3060);
	called(&m, PP_DEVICE_CALL_COMPILE, NAME_LOAD, 2, 3100, 3170);
	called(&m, PP_DEVICE_CALL_SYNC, NAME_SYNC, 3, 3200, 3280);
	device_ran(&m, CUPTI, 3300, 3390,
	           (struct pp_record_device){.stream = 7, .activity = PP_DEVICE_DEVICE_TO_DEVICE, .peer = 2});
	finish(&m, 1, &made);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_COMPUTE), 100 + 10);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_TO_DEVICE), 20 + 90);
	CHECK_INT(ns(&made, PP_CATEGORY_INPUT), 30);
	CHECK_INT(ns(&made, PP_CATEGORY_OUTPUT), 40);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_COLLECTIVE), 50);
	CHECK_INT(ns(&made, PP_CATEGORY_KERNEL_LAUNCH), 60);
	CHECK_INT(ns(&made, PP_CATEGORY_COMPILATION), 70);
	CHECK_INT(ns(&made, PP_CATEGORY_HOST_COMPUTE), 0);
	check_whole(&made);
	/* The rest is idle: with the wait for a device that has nothing to do. */
	CHECK_INT(ns(&made, PP_CATEGORY_OTHER), STEP_END - STEP_BEGIN - 470);
	drop(&made);
}

/* Exposed is what no other work of the devices hides. A copy from the host is not above a collective. */
TEST(exposed_collective)
{
	struct maker m;
	struct made made;

	begin(&m);
	ran(&m, 20, PP_DEVICE_KERNEL, NAME_COLLECTIVE, 2000, 3000);
	ran(&m, 7, PP_DEVICE_KERNEL, NAME_KERNEL, 2100, 2200);
	ran(&m, 8, PP_DEVICE_KERNEL, NAME_KERNEL, 2150, 2250);
	ran(&m, 9, PP_DEVICE_DEVICE_TO_HOST, 0, 2240, 2300);
	ran(&m, 10, PP_DEVICE_DEVICE_TO_DEVICE, 0, 2290, 2340);
	ran(&m, 9, PP_DEVICE_HOST_TO_DEVICE, 0, 2400, 3100);
	ran(&m, 21, PP_DEVICE_KERNEL, NAME_COLLECTIVE, 2900, 3050); /* another communicator's */
	called(&m, PP_DEVICE_CALL_LAUNCH, NAME_LAUNCH, 0, 2500, 2600);
	maker_push(&m, 0, 2000, "forward");
	maker_pop(&m, 0, 3100);
	finish(&m, 1, &made);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_COMPUTE), 150);
	CHECK_INT(ns(&made, PP_CATEGORY_OUTPUT), 50);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_TO_DEVICE), 40);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_COLLECTIVE), 1050 - 240);
	CHECK_INT(ns(&made, PP_CATEGORY_INPUT), 50);
	CHECK_INT(ns(&made, PP_CATEGORY_KERNEL_LAUNCH), 0);
	check_whole(&made);
	drop(&made);
}

/* Waiting for input on the step's thread comes before a collective, as the step waits for it. */
TEST(input_first)
{
	struct maker m;
	struct made made;

	begin(&m);
	ran(&m, 20, PP_DEVICE_KERNEL, NAME_COLLECTIVE, 2000, 3000);
	maker_push(&m, 0, 2500, "DataLoader.__next__");
	maker_pop(&m, 0, 2700);
	finish(&m, 1, &made);
	CHECK_INT(ns(&made, PP_CATEGORY_INPUT), 200);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_COLLECTIVE), 800);
	check_whole(&made);
	drop(&made);
}

/* The host's call of a copy is what its direction is, once it is known; before, it launches. Work of the device hides it. */
TEST(calls_of_copies)
{
	struct maker m;
	struct made made;

	begin(&m);
	called(&m, PP_DEVICE_CALL_COPY, NAME_COPY, 1, 2000, 2100);
	called(&m, PP_DEVICE_CALL_COPY, NAME_COPY, 2, 2200, 2310);
	called(&m, PP_DEVICE_CALL_COPY, NAME_COPY, 3, 2400, 2520);
	called(&m, PP_DEVICE_CALL_COPY, NAME_COPY, 4, 2600, 2730); /* its copy was not recorded */
	device_ran(&m, CUPTI, 2090, 2120,
	           (struct pp_record_device){.correlation = 1, .stream = 7, .activity = PP_DEVICE_HOST_TO_DEVICE});
	device_ran(&m, CUPTI, 2300, 2320,
	           (struct pp_record_device){.correlation = 2, .stream = 7, .activity = PP_DEVICE_DEVICE_TO_HOST});
	device_ran(&m, CUPTI, 2530, 2550,
	           (struct pp_record_device){.correlation = 3, .stream = 7, .activity = PP_DEVICE_DEVICE_TO_DEVICE});
	ran(&m, 8, PP_DEVICE_KERNEL, NAME_KERNEL, 2050, 2060);
	finish(&m, 1, &made);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_COMPUTE), 10);
	CHECK_INT(ns(&made, PP_CATEGORY_INPUT), 120 - 10);
	CHECK_INT(ns(&made, PP_CATEGORY_OUTPUT), 120);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_TO_DEVICE), 20);
	CHECK_INT(ns(&made, PP_CATEGORY_KERNEL_LAUNCH), 120 + 130);
	check_whole(&made);
	drop(&made);
}

/* What a device still runs when the step ends counts in the next one; a wait for the device is the device's work. */
TEST(edges)
{
	struct maker m;
	struct made made;

	begin(&m);
	ran(&m, 7, PP_DEVICE_KERNEL, NAME_KERNEL, 1400, 1700);
	called(&m, PP_DEVICE_CALL_SYNC, NAME_SYNC, 1, 1600, 1800);
	ran(&m, 7, PP_DEVICE_KERNEL, NAME_KERNEL, 8900, 9500);
	finish(&m, 1, &made);
	CHECK_INT(ns(&made, PP_CATEGORY_DEVICE_COMPUTE), 200 + 100);
	CHECK_INT(ns(&made, PP_CATEGORY_OTHER), STEP_END - STEP_BEGIN - 300);
	check_whole(&made);
	drop(&made);
}

/* What ran without its call, and calls by which nothing ran, are counted and said. A call of the runtime around the driver's is one
 * launch; copies between places of the host run nothing. */
TEST(unlinked)
{
	struct maker m;
	struct made made;

	begin(&m);
	device_info(&m, CUPTI, 0, "NVIDIA H100 80GB HBM3");
	called(&m, PP_DEVICE_CALL_LAUNCH, NAME_LAUNCH, 1, 2000, 2100);
	called(&m, PP_DEVICE_CALL_LAUNCH, NAME_LAUNCH, 2, 2010, 2090); /* inside */
	device_ran(&m, CUPTI, 2200, 2300, (struct pp_record_device){.correlation = 2, .stream = 7, .name = NAME_KERNEL});
	called(&m, PP_DEVICE_CALL_LAUNCH, NAME_LAUNCH, 3, 2400, 2410); /* its kernel is lost */
	called(&m, PP_DEVICE_CALL_LAUNCH, NAME_LAUNCH, 4, 2500, 2510);
	called(&m, PP_DEVICE_CALL_COPY, NAME_COPY, 5, 2600, 2610);
	device_called(&m, CUPTI, 2700, 2710, /* it failed */
	              (struct pp_record_device_call){.correlation = 6, .tid = MAIN, .name = NAME_LAUNCH, .result = 1});
	device_ran(&m, CUPTI, 2800, 2900, (struct pp_record_device){.correlation = 77, .stream = 7, .name = NAME_KERNEL});
	device_ran(&m, CUPTI, 2900, 2910, (struct pp_record_device){.stream = 7, .activity = PP_DEVICE_SET});
	device_ran(&m, CUPTI, 1600, 1700, (struct pp_record_device){.correlation = 78, .stream = 7, .name = NAME_KERNEL});
	finish(&m, 1, &made);
	CHECK_INT(made.d.kernel_left_out->unlaunched, 3);
	CHECK_INT(made.d.kernel_left_out->unrun, 2);
	CHECK(warned(&made.d, "the calls that launched 3 kernels, copies or sets are not in the recording"));
	CHECK(warned(&made.d, "no kernel was recorded of 2 calls that launch kernels"));
	check_whole(&made);
	drop(&made);
}

/* All kernels are lost: the launches are there. */
TEST(launches_only)
{
	struct maker m;
	struct made made;

	begin(&m);
	device_info(&m, CUPTI, 0, "NVIDIA H100 80GB HBM3");
	called(&m, PP_DEVICE_CALL_LAUNCH, NAME_LAUNCH, 1, 2000, 2100);
	finish(&m, 1, &made);
	CHECK_INT(made.d.kernel_left_out->unrun, 1);
	CHECK_INT(ns(&made, PP_CATEGORY_KERNEL_LAUNCH), 100);
	drop(&made);
}

/* What is in use at the peak, by the ranges that allocated it. */
TEST(memory_at_the_peak)
{
	struct maker m;
	struct made made;
	const struct pp_row_memory_peak *p;

	begin(&m);
	device_info(&m, CUPTI, 0, "NVIDIA H100 80GB HBM3");
	maker_push(&m, 0, 2000, "model");
	maker_push(&m, 0, 2100, "layer");
	maker_pop(&m, 0, 2400);
	maker_pop(&m, 0, 3000);
	for (uint32_t i = 0; i < 4; i++) { /* two by layer, two by model, of which one is freed before the peak */
		const pp_tick at = 2150 + 200 * (pp_tick)i;

		called(&m, PP_DEVICE_CALL_MEMORY, NAME_LOAD, 10 + i, at, at + 10);
		device_memory(&m, CUPTI, at + 5,
		              (struct pp_record_device_memory){
		                      .address = 1000 * (uint64_t)(i + 1), .bytes = i < 2 ? 64 : 512, .correlation = 10 + i});
		if (i == 2)
			device_memory(&m, CUPTI, at + 100, (struct pp_record_device_memory){.address = 3000, .is_free = 1});
	}
	device_memory(&m, CUPTI, 2900, (struct pp_record_device_memory){.address = 4000, .is_free = 1});
	device_memory(&m, CUPTI, 2950, (struct pp_record_device_memory){.address = 9999, .is_free = 1}); /* allocated before */
	finish(&m, 1, &made);
	CHECK_INT(made.d.allocators, 1);
	CHECK_INT(made.d.allocator[0].allocations, 4);
	CHECK_INT(made.d.allocator[0].deallocations, 3);
	CHECK_INT(made.d.allocator[0].unmatched, 1);
	CHECK_INT(made.d.allocator[0].peak_bytes, 640);
	CHECK_INT(made.d.allocator[0].peak_step, STEP);
	CHECK_INT(made.d.allocator[0].peak_since_start_bytes, PP_UNKNOWN);
	CHECK_INT(made.d.allocator[0].free_bytes, PP_UNKNOWN);
	CHECK_INT(made.d.allocator[0].capacity_bytes, PP_UNKNOWN);
	CHECK_INT(made.d.allocator[0].device_bytes, INT64_C(85) << 30);
	CHECK(isnan(made.d.allocator[0].fragmentation));
	CHECK_INT(made.d.allocator[0].is_counted, 1);
	CHECK_INT(made.d.memory_timelines, 7);
	CHECK_INT(made.d.memory_peaks, 2);
	p = made.d.memory_peak;
	CHECK_STR(pp_intern_text(made.d.names, p[0].op, NULL), "model");
	CHECK_INT(p[0].bytes, 512);
	CHECK_INT(p[0].occurrences, 1);
	CHECK_STR(pp_intern_text(made.d.names, p[1].op, NULL), "layer");
	CHECK_INT(p[1].bytes, 64);
	CHECK_INT(p[1].occurrences, 2);
	drop(&made);
}

int main(void)
{
	if (rings_kit_begin())
		return 1;
	each_alone();
	exposed_collective();
	input_first();
	calls_of_copies();
	edges();
	unlinked();
	launches_only();
	memory_at_the_peak();
	return rings_kit_end();
}

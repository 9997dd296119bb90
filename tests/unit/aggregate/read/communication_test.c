/* Kernels that communicate by their operator: what is launched inside, what is known to compute, what neither tells. */
#include "aggregate/read/communication.h"

#include <string.h>

#include "core/capture/rank.h"
#include "core/capture/span.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"
#include "core/step/kernel_name.h"

#include "tests/test.h"

static const struct {
	const char *op, *name;
	enum pp_device_activity activity;
} row[] = {
        {"c10d::allreduce_", "mine::sum_of_peers(float*)", PP_DEVICE_COLLECTIVE},
        {"_C_custom_ar::all_reduce", "mine::sum_of_peers(float*)", PP_DEVICE_COLLECTIVE},
        {"aten::add", "mine::sum_of_peers(float*)", PP_DEVICE_KERNEL},
        {"", "mine::sum_of_peers(float*)", PP_DEVICE_KERNEL},
        {"c10d::allgather_", "void at::native::elementwise_kernel<128, 4>(int)", PP_DEVICE_KERNEL},
        {"nccl:reduce", "void (anonymous namespace)::oneRankReduce<Sum>(void*)", PP_DEVICE_KERNEL},
        {"symm_mem::_async_input_mm", "void cutlass::device_kernel<sm90_gmma_bf16>(int)", PP_DEVICE_UNSURE},
        {"symm_mem::barrier", "c10d::symmetric_memory::barrier_kernel(int)", PP_DEVICE_WAIT},
        {"record_param_comms", "ncclDevKernel_Generic(int)", PP_DEVICE_COLLECTIVE},
        {"mine::mm", "mine::my_allreduce(float*)", PP_DEVICE_UNSURE},
        {"symm_mem::two_shot", "mine::my_allreduce(float*)", PP_DEVICE_COLLECTIVE},
        {"aten::mm", "mine::my_allreduce(float*)", PP_DEVICE_KERNEL}, /* PyTorch's own operators compute */
};

enum { ROWS = sizeof(row) / sizeof(row[0]) };

static struct pp_span spans[ROWS + 1];
static struct pp_thread threads[2];
static struct pp_rank job;

static void fill(struct pp_intern *names)
{
	memset(&job, 0, sizeof(job));
	for (size_t i = 0; i < ROWS; i++) {
		spans[i] = (struct pp_span){.begin = 10,
		                            .end = 20,
		                            .kind = PP_SPAN_DEVICE,
		                            .name = pp_intern_put(names, row[i].name, strlen(row[i].name))};
		spans[i].device.op = pp_intern_put(names, row[i].op, strlen(row[i].op));
		spans[i].device.activity = (uint8_t)pp_kernel_activity(row[i].name, strlen(row[i].name));
		spans[i].device.precision = spans[i].device.activity == PP_DEVICE_KERNEL ? PP_PRECISION_32 : PP_PRECISION_UNKNOWN;
	}
	spans[ROWS] = (struct pp_span){.kind = PP_SPAN_DEVICE, .begin = 1, .end = 2};
	spans[ROWS].device.activity = PP_DEVICE_SET;
	spans[ROWS].device.op = spans[0].device.op;
	threads[1] = (struct pp_thread){.device = 1, .span = spans, .spans = ROWS + 1};
	job.thread = threads;
	job.threads = 2;
}

TEST(by_operator)
{
	struct pp_intern *names = pp_intern_new();

	fill(names);
	CHECK_INT(pp_communication_find(&job, names), 0);
	for (size_t i = 0; i < ROWS; i++) {
		if (spans[i].device.activity != row[i].activity)
			fprintf(stderr, "%s in %s\n", row[i].name, row[i].op);
		CHECK_INT(spans[i].device.activity, row[i].activity);
		CHECK_INT(spans[i].device.precision, row[i].activity == PP_DEVICE_KERNEL && !strstr(row[i].name, "my_allreduce")
		                                             ? PP_PRECISION_32
		                                             : PP_PRECISION_UNKNOWN);
	}
	CHECK_INT(spans[ROWS].device.activity, PP_DEVICE_SET);
	pp_intern_free(names);
}

/* The kernel with most time is named, once; without one nothing is said. */
TEST(what_is_unsure_is_said)
{
	struct pp_intern *names = pp_intern_new();

	fill(names);
	spans[9].end = 1000;
	CHECK_INT(pp_communication_find(&job, names), 0);
	CHECK_INT(job.remarks, 1);
	CHECK(strstr(job.remark[0], "count as All others. Longest: mine::my_allreduce") != NULL);
	fill(names);
	threads[1].spans = 6;
	CHECK_INT(pp_communication_find(&job, names), 0);
	CHECK_INT(job.remarks, 0);
	CHECK_INT(pp_communication_find(&job, NULL), 0);
	pp_intern_free(names);
}

int main(void)
{
	by_operator();
	what_is_unsure_is_said();
	return test_end();
}

/* Operations of NCCL and the kernels that CUPTI recorded of them: device time, what of it nothing hid, algorithm, channels, and
 * what could not be joined. From records in rings to /collective, /all_reduce and /channel. */
#include "aggregate/dataset/table/functions.h"
#include "core/call/mpi_call.h"
#include "tests/unit/aggregate/analyze/budget_kit.h"
#include "tests/unit/aggregate/read/ring/session_kit.h"

enum { COMM = 77, RING_LL128 = 2 << 4 | 2 };

static const char reduce_name[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

static uint16_t nccl_call(const char *name)
{
	for (unsigned i = PP_NCCL_FIRST; pp_mpi_call_is_known(i); i++)
		if (!strcmp(pp_mpi_call_info(i)->name, name))
			return (uint16_t)i;
	CHECK(!"the call is known");
	return 0;
}

static void begin(struct maker *m, int rank)
{
	char name[32];
	struct pp_record comm = {.tick = 1000, .kind = PP_RECORD_COMM, .comm = {.comm = COMM, .size = 2, .is_name = PP_COMM_RANK}};

	snprintf(name, sizeof(name), "join-%d.ring", rank);
	maker_open(m, path_of(name), rank, 2, MAIN, 64);
	maker_thread(m, 0, MAIN);
	maker_thread(m, CUPTI, 11);
	maker_put(m, 0, &comm, &rank, sizeof(rank));
	device_name(m, CUPTI, 1, "cuLaunchKernelEx");
	device_name(m, CUPTI, 2, reduce_name);
	device_name(m, CUPTI, 3, "volta_sgemm_128x64_nn");
	maker_step(m, 0, PP_RECORD_STEP_BEGIN, STEP_BEGIN, STEP);
}

/* The call, from `at` on; its task follows its launch, which takes 20. */
static void operation(struct maker *m, const char *call, uint32_t number, uint32_t sequence, pp_tick at, uint64_t bytes,
                      int32_t peer)
{
	int is_recv = !strcmp(call, "ncclRecv"), is_send = !strcmp(call, "ncclSend");
	struct pp_record task = {.tick = at + 40,
	                         .kind = PP_RECORD_NCCL_TASK,
	                         .nccl_task = {.launch = at + 10,
	                                       .launched = at + 30,
	                                       .operation = number,
	                                       .sequence = sequence,
	                                       .peer = peer,
	                                       .channels = 4,
	                                       .how = is_recv || is_send ? 0 : RING_LL128,
	                                       .flags = PP_NCCL_NUMBERED}};
	struct pp_record record = {.tick = at,
	                           .kind = PP_RECORD_NCCL,
	                           .nccl = {.end = at + 50,
	                                    .comm = COMM,
	                                    .sent = is_recv ? 0 : bytes,
	                                    .received = is_send ? 0 : bytes,
	                                    .peer = -1,
	                                    .operation = number,
	                                    .call = nccl_call(call)}};

	maker_put(m, 0, &task, NULL, 0);
	maker_put(m, 0, &record, NULL, 0);
}

static void launched(struct maker *m, uint32_t correlation, pp_tick at)
{
	device_called(m, CUPTI, at, at + 5, (struct pp_record_device_call){.correlation = correlation, .tid = MAIN, .name = 1});
}

static void ran(struct maker *m, uint32_t correlation, uint32_t name, pp_tick from, pp_tick to)
{
	device_ran(m, CUPTI, from, to,
	           (struct pp_record_device){.correlation = correlation, .stream = name == 2 ? 20 : 7, .name = name});
}

static const struct pp_row_collective *row(const struct pp_dataset *d, uint32_t sequence)
{
	static const struct pp_row_collective none;

	for (size_t i = 0; i < d->collectives; i++)
		if (d->collective[i].sequence == sequence)
			return &d->collective[i];
	CHECK(!"the collective is there");
	return &none;
}

/* Rank 0's kernel of 300 is under a computation for 100, that of rank 1 of 200 is not hidden, nor by a copy to the device. */
TEST(both_ranks)
{
	struct maker m[2];
	struct made made;
	const struct pp_row_collective *c;
	const struct pp_row_budget *budget;

	for (int i = 0; i < 2; i++) {
		begin(&m[i], i);
		operation(&m[i], "ncclAllReduce", 1, 5, 2000, 4096, -1);
		launched(&m[i], 7, 2015);
	}
	launched(&m[0], 8, 1900);
	ran(&m[0], 8, 3, 2250, 2350);
	ran(&m[0], 7, 2, 2100, 2400);
	ran(&m[1], 7, 2, 2200, 2400);
	device_ran(&m[1], CUPTI, 2200, 2300, (struct pp_record_device){.stream = 9, .activity = PP_DEVICE_HOST_TO_DEVICE});
	finish(m, 2, &made);
	CHECK_INT(made.d.collectives, 1);
	c = row(&made.d, 5);
	CHECK_INT(c->device_ns, 300 + 200);
	CHECK_INT(c->exposed_ns, 200 + 200);
	CHECK_INT(c->device_ranks, 2);
	CHECK_INT(c->exposed_ranks, 2);
	CHECK_INT(c->shared_ranks, 0);
	CHECK_INT(c->channels, 4);
	CHECK_STR(pp_nccl_algorithm_name(c->algorithm), "RING");
	CHECK_STR(pp_nccl_protocol_name(c->protocol), "LL128");
	CHECK_INT(c->end_ns, 2400); /* the kernels' end, not the call's */
	/* As in the steps: Device collective communication. */
	CHECK_INT(made.d.cell[0].exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE], 200);
	CHECK_INT(made.d.cell[1].exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE], 200);
	CHECK_INT(made.d.all_reduces, 1);
	CHECK_INT(made.d.all_reduce[0].device_ns, 500);
	CHECK_INT(made.d.all_reduce[0].exposed_ns, 400);
	CHECK_INT(made.d.all_reduce[0].device_ranks, 2);
	CHECK_STR(pp_nccl_algorithm_name(made.d.all_reduce[0].algorithm), "RING");
	CHECK_INT(made.d.all_reduce[0].channels, 4);
	CHECK(!warned(&made.d, "NCCL"));
	check_budget(&made.d);
	budget = budget_of(&made.d, "ncclAllReduce");
	CHECK_INT(budget->communicator, COMM);
	CHECK_INT(budget->time_ns, 400 + 400);
	CHECK_INT(budget->unsplit_ns, 200 + 200);         /* what is exposed of the kernels */
	CHECK_INT(budget->not_blocking_ns, 150);          /* rank 0's until its computation begins beside the kernel */
	CHECK_INT(budget->blocking_unknown_ns, 50 + 200); /* nothing was recorded behind them */
	drop(&made);
}

/* Kernels of 100 that nothing hides. Behind rank 0's, a computation begins that stood in the queue; behind rank 1's one that was
 * launched later. */
TEST(what_waits)
{
	struct maker m[2];
	struct made made;
	const struct pp_row_budget *budget;

	for (int i = 0; i < 2; i++) {
		begin(&m[i], i);
		operation(&m[i], "ncclAllReduce", 1, 5, 2000, 4096, -1);
		launched(&m[i], 7, 2015);
		ran(&m[i], 7, 2, 2100, 2200);
	}
	launched(&m[0], 8, 2060);
	ran(&m[0], 8, 3, 2210, 2300);
	launched(&m[1], 8, 2205);
	ran(&m[1], 8, 3, 2215, 2300);
	finish(m, 2, &made);
	check_budget(&made.d);
	budget = budget_of(&made.d, "ncclAllReduce");
	CHECK_INT(budget->unsplit_ns, 200);
	CHECK_INT(budget->blocking_ns, 100 + budget->transfer_ns); /* and the calls on the step thread */
	CHECK_INT(budget->not_blocking_ns, 100);
	CHECK_INT(budget->blocking_unknown_ns, 0);
	drop(&made);
}

/* One kernel for two operations; one whose kernel was lost; a kernel of a CUDA graph; a runtime's call around the driver's. */
TEST(shared_and_lost)
{
	struct maker m;
	struct made made;

	begin(&m, 0);
	operation(&m, "ncclAllReduce", 1, 5, 2000, 64, -1);
	operation(&m, "ncclAllReduce", 2, 6, 2001, 64, -1);
	launched(&m, 6, 2014); /* launches nothing */
	launched(&m, 7, 2015);
	ran(&m, 7, 2, 2100, 2400);
	operation(&m, "ncclAllReduce", 3, 7, 3000, 64, -1);
	launched(&m, 9, 3015);
	ran(&m, 99, 2, 4000, 4100);
	operation(&m, "ncclAllReduce", 4, 8, 5000, 64, -1); /* the launch itself was lost */
	finish(&m, 1, &made);
	CHECK_INT(row(&made.d, 5)->device_ns, 150);
	CHECK_INT(row(&made.d, 6)->device_ns, 150);
	CHECK_INT(row(&made.d, 6)->shared_ranks, 1);
	CHECK_INT(row(&made.d, 7)->device_ns, 0);
	CHECK_INT(row(&made.d, 7)->device_ranks, 0);
	CHECK_INT(row(&made.d, 7)->channels, 4);
	CHECK_INT(row(&made.d, 8)->device_ns, 0);
	CHECK_INT(made.d.all_reduce[0].device_ns, 300);
	CHECK_INT(made.d.all_reduce[0].device_ranks, 2);
	CHECK(warned(&made.d, "the kernels of 2 operations of NCCL are not in the recording"));
	CHECK(warned(&made.d, "1 kernels of NCCL belong to no recorded operation"));
	drop(&made);
}

/* Older plug-ins report no launch: the last one before the task. CUPTI uses its numbers again. */
TEST(without_launch)
{
	struct maker m;
	struct made made;

	begin(&m, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const pp_tick at = 2000 + 1000 * (pp_tick)i;
		struct pp_record record = {
		        .tick = at + 20,
		        .kind = PP_RECORD_NCCL,
		        .nccl = {.end = at + 30, .comm = COMM, .peer = -1, .operation = i + 1, .call = nccl_call("ncclAllReduce")}};
		struct pp_record task = {.tick = at + 25,
		                         .kind = PP_RECORD_NCCL_TASK,
		                         .nccl_task = {.operation = i + 1, .sequence = i, .peer = -1, .flags = PP_NCCL_NUMBERED}};

		launched(&m, 7, at);
		maker_put(&m, 0, &task, NULL, 0);
		maker_put(&m, 0, &record, NULL, 0);
		ran(&m, 7, 2, at + 100, at + 200 + 10 * (pp_tick)i);
	}
	finish(&m, 1, &made);
	CHECK_INT(row(&made.d, 0)->device_ns, 100);
	CHECK_INT(row(&made.d, 1)->device_ns, 110);
	CHECK_INT(row(&made.d, 1)->end_ns, 3210);
	CHECK(!warned(&made.d, "NCCL"));
	drop(&made);
}

/* The kernel of the first operation is lost, and its number is used again: the other one's kernel is not its. */
TEST(lost_and_used_again)
{
	struct maker m;
	struct made made;

	begin(&m, 0);
	operation(&m, "ncclAllReduce", 1, 5, 2000, 64, -1);
	launched(&m, 7, 2015);
	operation(&m, "ncclAllReduce", 2, 6, 3000, 64, -1);
	launched(&m, 7, 3015);
	ran(&m, 7, 2, 3100, 3300);
	finish(&m, 1, &made);
	CHECK_INT(row(&made.d, 5)->device_ranks, 0);
	CHECK_INT(row(&made.d, 6)->device_ns, 200);
	CHECK_INT(row(&made.d, 6)->shared_ranks, 0);
	CHECK(warned(&made.d, "the kernels of 1 operations of NCCL are not in the recording"));
	CHECK_INT(made.d.kernel_left_out->unrun, 1);
	drop(&made);
}

/* No CUPTI: the library's own times, and nothing of what hid them. */
TEST(only_the_plugin)
{
	struct maker m;
	struct made made;
	struct pp_record done = {.tick = 2900,
	                         .kind = PP_RECORD_NCCL_DONE,
	                         .nccl_done = {.device_begin = UINT64_C(1756135989724672000),
	                                       .device_end = UINT64_C(1756135989724672250),
	                                       .operation = 1,
	                                       .channels = 4}};

	begin(&m, 0);
	operation(&m, "ncclAllReduce", 1, 5, 2000, 64, -1);
	operation(&m, "ncclAllReduce", 2, 6, 3000, 64, -1);
	maker_put(&m, 0, &done, NULL, 0);
	done.tick = 3900;
	done.nccl_done.operation = 2;
	done.nccl_done.device_end = 5; /* before its begin */
	maker_put(&m, 0, &done, NULL, 0);
	finish(&m, 1, &made);
	CHECK_INT(row(&made.d, 5)->device_ns, 250);
	CHECK_INT(row(&made.d, 5)->device_ranks, 1);
	CHECK_INT(row(&made.d, 5)->exposed_ranks, 0);
	CHECK_INT(row(&made.d, 5)->end_ns, 2900);
	CHECK_INT(row(&made.d, 6)->device_ranks, 0);
	CHECK(!warned(&made.d, "NCCL"));
	drop(&made);
}

TEST(messages)
{
	struct maker m[2];
	struct made made;

	for (int i = 0; i < 2; i++) {
		begin(&m[i], i);
		operation(&m[i], i ? "ncclRecv" : "ncclSend", 1, 0, 2000, 1 << 20, !i);
		launched(&m[i], 7, 2015);
		ran(&m[i], 7, 2, 2100 + 50 * (pp_tick)i, 2400);
	}
	finish(m, 2, &made);
	CHECK_INT(made.d.channels, 1);
	CHECK_INT(made.d.channel[0].source, 0);
	CHECK_INT(made.d.channel[0].bytes, 1 << 20);
	CHECK_INT(made.d.channel[0].time_ns, 400); /* from the call to the kernel's end */
	CHECK_INT(made.d.channel[0].device_ns, 250);
	CHECK_INT(made.d.channel[0].device_count, 1);
	CHECK_INT(made.d.channel[0].nccl_channels, 4);
	drop(&made);
}

/* NCCL without a plug-in: an NVTX range with its payload, alone and in groups. */
static void range(struct maker *m, const char *name, uint64_t schema, pp_tick from, pp_tick to)
{
	const uint64_t values[3] = {0x1234, 4096, 0};
	struct pp_record payload = {.tick = from,
	                            .kind = PP_RECORD_PAYLOAD,
	                            .payload = {.schema = schema, .type = PP_PAYLOAD_EXT, .domain = 1, .size = sizeof(values)}};
	struct pp_record push = {.tick = from, .kind = PP_RECORD_PUSH, .range = {.domain = 1, .source = PP_SOURCE_NVTX}};

	if (schema)
		maker_put(m, 0, &payload, values, sizeof(values));
	maker_put(m, 0, &push, name, (uint32_t)strlen(name));
	maker_range(m, 0, PP_RECORD_POP, to, 1, 0, NULL);
}

TEST(ranges)
{
	enum { ALL_REDUCE = (1 << 24) + 5 };
	struct maker m;
	struct made made;
	int64_t device_ns[6] = {0};

	begin(&m, 0);
	snprintf(m.header->domain[1].text, sizeof(m.header->domain[1].text), "NCCL");
	range(&m, "ncclAllReduce", ALL_REDUCE, 2000, 2050);
	launched(&m, 7, 2015);
	ran(&m, 7, 2, 2100, 2400);
	range(&m, "ncclGroupStart", 0, 3000, 3005); /* two operations, one kernel */
	range(&m, "ncclAllReduce", ALL_REDUCE, 3010, 3020);
	range(&m, "ncclAllReduce", ALL_REDUCE, 3030, 3040);
	range(&m, "ncclGroupEnd", 0, 3050, 3100);
	launched(&m, 8, 3060);
	ran(&m, 8, 2, 3100, 3300);
	range(&m, "ncclGroupStart", 0, 4000, 4005); /* two operations, two kernels */
	range(&m, "ncclAllReduce", ALL_REDUCE, 4010, 4020);
	range(&m, "ncclAllReduce", ALL_REDUCE, 4030, 4040);
	range(&m, "ncclGroupEnd", 0, 4050, 4100);
	launched(&m, 9, 4060);
	launched(&m, 10, 4070);
	ran(&m, 9, 2, 4100, 4110);
	ran(&m, 10, 2, 4200, 4220);
	range(&m, "ncclAllReduce", ALL_REDUCE, 5000, 5050); /* launches nothing */
	finish(&m, 1, &made);
	CHECK_INT(made.d.collectives, 6);
	for (size_t i = 0; i < 6 && i < made.d.collectives; i++)
		device_ns[i] = made.d.collective[i].device_ns;
	CHECK_INT(device_ns[0], 300);
	CHECK_INT(device_ns[1], 100);
	CHECK_INT(device_ns[2], 100);
	CHECK_INT(device_ns[3], 10);
	CHECK_INT(device_ns[4], 20);
	CHECK_INT(device_ns[5], 0);
	CHECK(warned(&made.d, "the kernels of 1 operations of NCCL are not in the recording"));
	CHECK(!warned(&made.d, "belong to no recorded operation"));
	drop(&made);
}

/* What has no place in a step gets no number. Three kernels of two operations: it is not known which runs which. */
TEST(ranges_without_step)
{
	enum { ALL_REDUCE = (1 << 24) + 5 };
	struct maker m;
	struct made made;

	begin(&m, 0);
	snprintf(m.header->domain[1].text, sizeof(m.header->domain[1].text), "NCCL");
	range(&m, "ncclAllReduce", ALL_REDUCE, 1200, 1250);
	range(&m, "ncclGroupStart", 0, 3000, 3005);
	range(&m, "ncclAllReduce", ALL_REDUCE, 3010, 3020);
	range(&m, "ncclAllReduce", ALL_REDUCE, 3030, 3040);
	range(&m, "ncclGroupEnd", 0, 3050, 3100);
	for (uint32_t i = 0; i < 3; i++) {
		launched(&m, 8 + i, 3060 + 10 * (pp_tick)i);
		ran(&m, 8 + i, 2, 3100 + 100 * (pp_tick)i, 3150 + 100 * (pp_tick)i);
	}
	finish(&m, 1, &made);
	CHECK_INT(made.d.collectives, 2);
	for (size_t i = 0; i < made.d.collectives; i++)
		CHECK_INT(made.d.collective[i].device_ranks, 0);
	CHECK_INT(made.capture.rank[0].remarks, 1);
	CHECK(strstr(made.capture.rank[0].remark[0], "1 collectives of NCCL have no number") != NULL);
	drop(&made);
}

int main(void)
{
	if (rings_kit_begin())
		return 1;
	both_ranks();
	what_waits();
	shared_and_lost();
	without_launch();
	lost_and_used_again();
	only_the_plugin();
	messages();
	ranges();
	ranges_without_step();
	return rings_kit_end();
}

/* Operations of NCCL and the kernels that CUPTI recorded of them: device time, what of it nothing hid, algorithm, channels, and
 * what could not be joined. From records in rings to /collective, /all_reduce and /channel. */
#include "aggregate/dataset/table/functions.h"
#include "aggregate/graph/device_wait.h"
#include "aggregate/graph/make.h"
#include "aggregate/graph/replay.h"
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

static void begin_in(struct maker *m, int rank, int ranks, int own, int members)
{
	char name[32];
	struct pp_record comm = {
	        .tick = 1000, .kind = PP_RECORD_COMM, .comm = {.comm = COMM, .size = (uint32_t)members, .is_name = PP_COMM_RANK}};

	snprintf(name, sizeof(name), "join-%d.ring", rank);
	maker_open(m, path_of(name), rank, ranks, MAIN, 64);
	maker_thread(m, 0, MAIN);
	maker_thread(m, CUPTI, 11);
	maker_put(m, 0, &comm, &own, sizeof(own));
	device_name(m, CUPTI, 1, "cuLaunchKernelEx");
	device_name(m, CUPTI, 2, reduce_name);
	device_name(m, CUPTI, 3, "volta_sgemm_128x64_nn");
	maker_step(m, 0, PP_RECORD_STEP_BEGIN, STEP_BEGIN, STEP);
}

static void begin_of(struct maker *m, int rank, int ranks)
{
	begin_in(m, rank, ranks, rank, ranks);
}

static void begin(struct maker *m, int rank)
{
	begin_of(m, rank, 2);
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

/* Rank 0's device is ready at 2100, and waits until that of rank 1 is at 2200. */
static void check_two_ranks(const struct made *made)
{
	for (int i = 0; i < 2; i++) {
		CHECK_INT(made->d.arrival[i].device_begin_ns, i ? 2200 : 2100);
		CHECK_INT(made->d.arrival[i].device_end_ns, 2400);
		CHECK_INT(made->d.arrival[i].device_length_ns, i ? 200 : 300);
		CHECK_INT(made->d.arrival[i].device_how, PP_DEVICE_WAIT_BOTH);
		CHECK_INT(made->d.arrival[i].device_wait_ns, i ? 0 : 100);
		CHECK_INT(made->d.arrival[i].exposed_wait_ns, i ? 0 : 100);
		CHECK_INT(made->d.arrival[i].late_rank, i ? -1 : 1);
		CHECK_INT(made->d.cell[i].wait_ns, i ? 0 : 100);
		CHECK_INT(made->d.cell[i].late_ns, i ? 100 : 0);
	}
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
	check_two_ranks(&made);
	CHECK_INT(c->wait_ns, 100);
	CHECK_INT(c->transfer_ns, 200 + 200);
	CHECK_INT(c->last_worker, 1);
	CHECK_INT((int64_t)c->busbw, 4096 * INT64_C(1000000000) / 200); /* of two ranks the bytes once */
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
	CHECK_INT(budget->unsplit_ns, 0);
	CHECK_INT(budget->wait_ns, 100);                     /* rank 0's device waits until that of rank 1 is ready */
	CHECK_INT(budget->transfer_ns, 100 + 200 + 45 + 45); /* what is exposed of the kernels from then on; the calls */
	CHECK_INT(budget->not_blocking_ns, 150);             /* rank 0's until its computation begins beside the kernel */
	CHECK_INT(budget->blocking_unknown_ns, 50 + 200);    /* nothing was recorded behind them */
	drop(&made);
}

/* The GPU of rank 2 computes for longer. It is named, and the bandwidth is that of the kernels once all of them run. The clock of a
 * device shows a kernel before its launch: that error is stated. */
TEST(a_slow_gpu)
{
	enum { GPUS = 4, SLOW = 2, READING = 30, EARLY = 25 };
	struct maker m[GPUS];
	struct made made;
	const struct pp_row_collective *c;
	double busbw = 4096 * 1e9 / 400 * 2 * (GPUS - 1) / GPUS;
	int64_t waited = 0, late = 0;

	for (int i = 0; i < GPUS; i++) {
		pp_tick ready = i == SLOW ? 8000 : 4000 + (pp_tick)i, early = i == 1 ? EARLY : 0;
		struct pp_record lost = {.tick = 2500, .kind = PP_RECORD_DEVICE_LOST, .device_lost = {.clock_error_ns = READING}};

		begin_of(&m[i], i, GPUS);
		launched(&m[i], 8, 1900);
		ran(&m[i], 8, 3, i == 1 ? 1900 - early : 1950, ready - early);
		operation(&m[i], "ncclAllReduce", 1, 5, 2000, 4096, -1);
		launched(&m[i], 7, 2015);
		ran(&m[i], 7, 2, ready - early, 8400 - early);
		maker_put(&m[i], CUPTI, &lost, NULL, 0);
	}
	finish(m, GPUS, &made);
	c = row(&made.d, 5);
	CHECK_INT(c->last_worker, SLOW);
	CHECK(c->busbw > 0.95 * busbw && c->busbw < 1.05 * busbw);
	for (size_t i = 0; i < GPUS; i++) {
		const struct pp_row_arrival *a = &made.d.arrival[c->row_first + i];

		CHECK_INT(a->late_rank, i == SLOW ? -1 : SLOW);
		CHECK_INT(a->device_error_ns, READING + (i == 1 ? EARLY : 0));
		CHECK_INT(made.d.cell[i].wait_ns, a->exposed_wait_ns);
		waited += a->exposed_wait_ns;
		late += made.d.cell[i].late_ns;
	}
	CHECK(waited == 4000 + 3999 + 3997 && late == waited && made.d.cell[SLOW].late_ns == waited);
	CHECK(c->bound_ns >= 2 * (READING + EARLY));
	CHECK_INT(made.d.late[0].rank, SLOW);
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
	CHECK_INT(budget->unsplit_ns, 0);
	CHECK_INT(budget->blocking_ns, budget->transfer_ns - 100); /* one kernel, and the calls on the step thread */
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
	CHECK(warned(&made.d, "1 kernels of device collectives belong to no recorded operation"));
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

TEST(without_operations)
{
	struct maker m;
	struct made made;

	begin(&m, 0);
	ran(&m, 7, 2, 2100, 2400);
	ran(&m, 8, 3, 2500, 2600);
	finish(&m, 1, &made);
	CHECK_INT(made.d.collectives, 0);
	CHECK(warned(&made.d, "1 kernels of device collectives belong to no recorded operation"));
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
	CHECK_INT(made.d.collectives, 1);
	CHECK_STR(pp_mpi_call_info(made.d.collective[0].operation)->name, "ncclSend");
	CHECK_INT(made.d.collective[0].message, 1);
	CHECK_INT(made.d.cell[0].wait_ns, 50); /* it still sends when the receiver's kernel begins */
	CHECK_INT(made.d.cell[1].wait_ns, 0);
	CHECK_INT((int64_t)made.d.collective[0].busbw, INT64_C(1000000000) * (1 << 20) / 250);
	drop(&made);
}

/* The n-th send of a step is the n-th receive of the step. Rank 1's kernel waits for that of rank 0, in the one message longer than
 * in the other. Rank 0 also sent before the first step. */
TEST(messages_by_order)
{
	struct maker m[2];
	struct made made;

	for (int i = 0; i < 2; i++) {
		begin(&m[i], i);
		if (!i)
			operation(&m[i], "ncclSend", 9, 0, STEP_BEGIN - 100, 64, 1);
		for (uint32_t k = 0; k < 2; k++) {
			const pp_tick at = 2000 + 1000 * (pp_tick)k;

			operation(&m[i], i ? "ncclRecv" : "ncclSend", 1 + k, 0, at, 1 << 20, !i);
			launched(&m[i], 7 + k, at + 15);
			ran(&m[i], 7 + k, 2, i ? at + 100 : at + 200 + 100 * (pp_tick)k, at + 500);
		}
	}
	finish(m, 2, &made);
	CHECK_INT(made.d.cell[0].wait_ns, 0);
	CHECK_INT(made.d.cell[1].wait_ns, 100 + 200);
	CHECK_INT(made.d.cell[0].late_ns, 300);
	CHECK_INT(made.d.messages_lone, 1);
	drop(&made);
}

/* Ranks 2 and 3 of four are 1 and 0 of the communicator. The third member is on a host that did not deliver. */
TEST(messages_of_a_part)
{
	struct maker m[2];
	struct made made;

	for (int i = 0; i < 2; i++) {
		begin_in(&m[i], 2 + i, 4, 1 - i, 3);
		operation(&m[i], i ? "ncclRecv" : "ncclSend", 1, 0, 2000, 1 << 20, i);
		launched(&m[i], 7, 2015);
		ran(&m[i], 7, 2, i ? 2100 : 2300, 2500);
		operation(&m[i], "ncclSend", 2, 0, 3000, 1 << 20, 2);
		launched(&m[i], 8, 3015);
		ran(&m[i], 8, 2, 3100, 3200);
	}
	finish(m, 2, &made);
	CHECK_INT(made.d.collectives, 3);
	CHECK_INT(made.d.collective[0].source, 2);
	CHECK_INT(made.d.collective[0].destination, 3);
	CHECK_INT(made.d.collective[1].destination, -1);
	CHECK_INT(made.d.messages_lone, 2);
	CHECK_INT(made.d.cell[3].wait_ns, 200);
	CHECK_INT(made.d.cell[2].late_ns, 200);
	drop(&made);
}

/* Each rank's kernel sends to and receives from both others: it waits once, until the last of them begins. */
TEST(messages_of_a_group)
{
	enum { GPUS = 3, SLOW = 1 };
	struct maker m[GPUS];
	struct made made;
	struct pp_graph graph;
	uint32_t nodes = 0;

	for (int i = 0; i < GPUS; i++) {
		begin_of(&m[i], i, GPUS);
		for (int k = 0; k < 2; k++) {
			const int peer = (i + 1 + k) % GPUS;

			operation(&m[i], "ncclSend", 1 + 2 * (uint32_t)k, 0, 2000 + (pp_tick)k, 1 << 20, peer);
			operation(&m[i], "ncclRecv", 2 + 2 * (uint32_t)k, 0, 2002 + (pp_tick)k, 1 << 20, peer);
		}
		launched(&m[i], 7, 2015);
		ran(&m[i], 7, 2, i == SLOW ? 6000 : 3000 + 500 * (pp_tick)i, 7000);
	}
	finish(m, GPUS, &made);
	CHECK_INT(made.d.collectives, 6);
	for (int i = 0; i < GPUS; i++)
		CHECK_INT(made.d.cell[i].wait_ns, i == SLOW ? 0 : 3000 - 500 * (int64_t)i);
	CHECK_INT(made.d.cell[SLOW].late_ns, 3000 + 2000);
	CHECK_INT(pp_graph_make(&graph, &made.d), 0);
	for (uint32_t i = 0; i < graph.nodes; i++)
		nodes += graph.node[i].need != PP_GRAPH_NONE && graph.node[graph.node[i].need].track == SLOW;
	CHECK_INT(graph.nodes, GPUS);
	CHECK_INT(nodes, GPUS - 1);
	pp_graph_release(&graph);
	drop(&made);
}

/* Two kernels of NCCL on a stream of their own, each launched behind a computation of 500. Rank 1's second computation takes 1200:
 * it goes on when the first kernel ends. Rank 0's is over by then. Without what rank 1 does more, its second kernel still has
 * to wait for its own computation. */
TEST(computing_beside)
{
	enum { MORE = 700 };
	struct maker m[2];
	struct made made;
	struct pp_graph graph;
	struct pp_scenario less = {.transfer_ns = NULL};
	uint8_t chosen[2] = {0, 1};

	for (int i = 0; i < 2; i++) {
		const pp_tick second = i ? 3700 + 500 + MORE : 3700 + 500;

		begin(&m[i], i);
		for (uint32_t k = 0; k < 2; k++) {
			const pp_tick at = 2000 + 200 * (pp_tick)k;

			launched(&m[i], 7 + 2 * k, at);
			operation(&m[i], "ncclAllReduce", 1 + k, 5 + k, at + 100, 4096, -1);
			launched(&m[i], 8 + 2 * k, at + 115);
		}
		launched(&m[i], 11, 2400); /* behind both: no input */
		ran(&m[i], 7, 3, 3200, 3700);
		ran(&m[i], 8, 2, 3700, 4400);
		ran(&m[i], 9, 3, 3700, second);
		ran(&m[i], 11, 3, second, 6000);
		ran(&m[i], 10, 2, i ? second + 1 : 4400, 5500);
	}
	finish(m, 2, &made);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(made.d.arrival[made.d.collective[0].row_first + (size_t)i].device_input_ns, 1);
		CHECK_INT(made.d.arrival[made.d.collective[0].row_first + (size_t)i].device_beside, 1);
		CHECK_INT(made.d.arrival[made.d.collective[1].row_first + (size_t)i].device_input_ns, i ? 1 : 200);
	}
	CHECK_INT(pp_graph_make(&graph, &made.d), 0);
	CHECK_INT(graph.nodes, 4);
	for (uint32_t i = 0; i < graph.nodes; i++)
		CHECK_INT((graph.node[i].flags & PP_NODE_BESIDE) != 0, i % 2);
	CHECK_INT(pp_graph_local(&graph, 1), 500 + 1);
	CHECK_INT(pp_graph_local(&graph, 3), 500 + 1 + MORE);
	graph.node[3].unusual = (double)MORE / (500 + 1 + MORE);
	less.chosen = chosen;
	CHECK_INT(pp_replay_run(&graph, NULL, &less, 1), 0);
	/* The second kernels begin when the first end, no earlier. */
	CHECK_INT(pp_replay_measured(&made.d, NULL) - less.after_ns, 4900 - 4400);
	pp_graph_release(&graph);
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
	a_slow_gpu();
	what_waits();
	shared_and_lost();
	without_launch();
	without_operations();
	lost_and_used_again();
	only_the_plugin();
	messages();
	messages_by_order();
	messages_of_a_part();
	messages_of_a_group();
	computing_beside();
	ranges();
	ranges_without_step();
	return rings_kit_end();
}

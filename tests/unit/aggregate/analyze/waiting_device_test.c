/* Operations whose kernels were recorded: the kernels wait, not the calls. Rows, cells and bandwidths, of one keeper that has all
 * ranks, and of two hosts' parts put together. */
#include "aggregate/analyze/waiting.h"

#include "aggregate/analyze/finish.h"
#include "aggregate/graph/device_wait.h"
#include "core/base/known.h"
#include "core/capture/side.h"
#include "tests/unit/aggregate/dataset/merge_kit.h"

enum { RANKS = 4, HALF = 2, STEPS = 3, SLOW = 3, COMM = 77, STREAM = 1, NCCL_STREAM = 2 };
enum { US = 1000, STEP_NS = 1000 * US, D = 100 * US, BYTES = 1 << 20 };

static int32_t everybody[RANKS] = {0, 1, 2, 3};

static uint16_t nccl_call(const char *name)
{
	for (unsigned i = PP_NCCL_FIRST; pp_mpi_call_is_known(i); i++)
		if (!strcmp(pp_mpi_call_info(i)->name, name))
			return (uint16_t)i;
	CHECK(!"the call is known");
	return 0;
}

static struct pp_capture capture_with_devices(void)
{
	struct pp_capture c = make_capture(RANKS);

	c.epoch_realtime_ns = 1700000000000000000;
	for (size_t r = 0; r < RANKS; r++) {
		snprintf(c.rank[r].clock, sizeof(c.rank[r].clock), "ticks of one host");
		c.rank[r].records = 100;
		c.rank[r].comms = 1;
		c.rank[r].comm = calloc(1, sizeof(*c.rank[r].comm));
		c.rank[r].comm[0] = (struct pp_comm){.id = COMM, .size = RANKS, .member = everybody};
		c.rank[r].operation = calloc(STEPS * 4, sizeof(*c.rank[r].operation));
	}
	return c;
}

static void add_kernel(struct pp_capture *c, size_t r, uint32_t t, const char *name, uint32_t correlation, int64_t from, int64_t to)
{
	struct pp_span *s = add_span(c, r, t, PP_SPAN_DEVICE, name, from, to);

	c->rank[r].thread[t].device = 1;
	s->device.correlation = correlation;
	s->device.activity = t == NCCL_STREAM ? PP_DEVICE_COLLECTIVE : PP_DEVICE_KERNEL;
	s->device.step = -1;
}

/* The call at `at`, whose kernel ends at `end`. correlation 0: the kernel was not recorded; NCCL timed it. */
static struct pp_span *add_operation(struct pp_capture *c, size_t r, const char *call, uint32_t sequence, uint32_t correlation,
                                     int64_t at, int64_t end)
{
	struct pp_rank *rank = &c->rank[r];
	struct pp_span *s = add_span(c, r, 0, PP_SPAN_MPI, call, at, at + US), request;

	s->mpi = (struct pp_span_mpi){.comm = COMM,
	                              .sent = BYTES,
	                              .received = BYTES,
	                              .sequence = sequence,
	                              .peer = -1,
	                              .request = (uint32_t)rank->operations + 1,
	                              .call = nccl_call(call)};
	request = *s;
	s = add_span(c, r, 0, PP_SPAN_REQUEST, call, at, end);
	s->mpi = request.mpi;
	rank->operation[rank->operations++] =
	        (struct pp_operation){.request = request.mpi.request, .correlation = correlation, .channels = 2};
	return s - 1;
}

/* In each step a computation, on the slow GPU a longer one, then an all-reduce; all kernels end together. */
static void add_steps(struct pp_capture *c, const char *call)
{
	for (uint32_t s = 0; s < STEPS; s++)
		for (size_t r = 0; r < RANKS; r++) {
			int64_t at = s * STEP_NS, ready = at + (r == SLOW ? 600 : 200 + 10 * (int64_t)r) * US, end = at + 700 * US;

			add_step(c, r, s, at, at + STEP_NS);
			add_kernel(c, r, STREAM, "gemm", 100 + s, at + 20 * US, ready);
			add_kernel(c, r, NCCL_STREAM, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 200 + s, ready, end);
			add_operation(c, r, call, s, 200 + s, at + 30 * US, end);
			add_range(c, r, 0, "cudaStreamSynchronize", at + 40 * US, at + 710 * US);
		}
}

static int64_t sum_of_rows(const struct pp_dataset *d)
{
	int64_t sum = 0;

	for (size_t i = 0; i < d->arrivals; i++)
		sum += d->arrival[i].exposed_wait_ns;
	return sum;
}

static int64_t sum_of_cells(const struct pp_dataset *d, int late)
{
	int64_t sum = 0;

	for (size_t i = 0; i < d->steps * d->workers; i++)
		sum += late ? d->cell[i].late_ns : d->cell[i].wait_ns;
	return sum;
}

static void check_slow(const struct pp_dataset *d)
{
	const int64_t wait[RANKS] = {400 * US, 390 * US, 380 * US, 0};

	CHECK_INT(d->steps, STEPS);
	CHECK_INT(d->collectives, STEPS);
	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *c = &d->collective[i];
		double busbw = BYTES * 1e9 / D * 2 * (RANKS - 1) / RANKS;

		CHECK_INT(c->last_worker, SLOW);
		CHECK_INT(c->wait_ns, wait[0] + wait[1] + wait[2]);
		CHECK_INT(c->transfer_ns, RANKS * D);
		CHECK(c->busbw > 0.95 * busbw && c->busbw < 1.05 * busbw);
		for (size_t r = 0; r < RANKS; r++) {
			const struct pp_row_arrival *row = &d->arrival[c->row_first + r];
			const struct pp_row_cell *cell = &d->cell[i * RANKS + r];

			CHECK_INT(row->device_how, PP_DEVICE_WAIT_BOTH);
			CHECK_INT(row->device_wait_ns, wait[r]);
			CHECK_INT(row->exposed_wait_ns, wait[r]);
			CHECK_INT(row->late_rank, r == SLOW ? -1 : SLOW);
			CHECK_INT(cell->wait_ns, wait[r]);
			CHECK_INT(cell->late_ns, r == SLOW ? wait[0] + wait[1] + wait[2] : 0);
			CHECK_INT(cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE], wait[r] + D);
			CHECK(cell->wait_ns + cell->transfer_ns <= cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE] +
			                                                   cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION]);
		}
	}
	CHECK_INT(sum_of_rows(d), sum_of_cells(d, 0));
	CHECK_INT(sum_of_cells(d, 1), sum_of_cells(d, 0));
}

/* One keeper, and two hosts each of which knows of half of the kernels. */
static void build_both(struct pp_capture *all, struct made *whole, struct pp_dataset *ret_merged)
{
	struct pp_capture part[2] = {*all, *all};
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset back[2];
	const struct pp_dataset *const parts[] = {&back[1], &back[0]};

	build(whole, all, 0, 0);
	part[0].ranks = part[1].ranks = HALF;
	part[1].rank += HALF;
	for (int p = 0; p < 2; p++) {
		struct made half;

		build(&half, &part[p], 0, 1);
		travel(&half.d, names, &back[p]);
		drop(&half, HALF);
	}
	CHECK_INT(pp_dataset_merge(parts, 2, ret_merged, NULL), 0);
	CHECK_INT(pp_dataset_finish(ret_merged, NULL), 0);
	pp_dataset_release(&back[0]);
	pp_dataset_release(&back[1]);
}

static void release_both(struct pp_capture *all, struct made *whole, struct pp_dataset *merged)
{
	struct pp_intern *names = (struct pp_intern *)(uintptr_t)merged->names;

	pp_dataset_release(merged);
	pp_intern_free(names);
	drop(whole, RANKS);
	free_capture(all);
}

TEST(a_slow_gpu)
{
	struct pp_capture all = capture_with_devices();
	struct made whole;
	struct pp_dataset merged;

	add_steps(&all, "ncclAllReduce");
	build_both(&all, &whole, &merged);
	check_slow(&whole.d);
	check_slow(&merged);
	compare_collectives(&whole.d, &merged);
	compare_cells(&whole.d, &merged);
	release_both(&all, &whole, &merged);
}

/* Two operations in one kernel: it waits once, and each operation has half of that. */
TEST(a_group)
{
	struct pp_capture all = capture_with_devices();
	struct made whole;
	struct pp_dataset merged;

	add_steps(&all, "ncclAllReduce");
	for (size_t r = 0; r < RANKS; r++)
		for (uint32_t s = 0; s < STEPS; s++)
			add_operation(&all, r, "ncclAllReduce", STEPS + s, 200 + s, s * STEP_NS + 32 * US, s * STEP_NS + 700 * US);
	build_both(&all, &whole, &merged);
	for (size_t i = 0; i < whole.d.collectives; i++) {
		const struct pp_row_collective *c = &whole.d.collective[i];

		CHECK_INT(c->wait_ns, (400 + 390 + 380) * US / 2);
		CHECK_INT(c->transfer_ns, RANKS * D / 2);
		CHECK_INT((int64_t)c->algbw, (int64_t)(BYTES * 1e9 / D * 2));
		CHECK_INT(whole.d.arrival[c->row_first].device_operations, 2);
	}
	CHECK_INT(sum_of_cells(&whole.d, 0), STEPS * (400 + 390 + 380) * US);
	CHECK_INT(sum_of_rows(&whole.d), sum_of_cells(&whole.d, 0));
	CHECK_INT(sum_of_cells(&whole.d, 1), sum_of_cells(&whole.d, 0));
	CHECK_INT(sum_of_rows(&merged), sum_of_cells(&whole.d, 0));
	compare_cells(&whole.d, &merged);
	release_both(&all, &whole, &merged);
}

/* A computation on another stream hides half of rank 0's waiting. */
TEST(hidden)
{
	struct pp_capture all = capture_with_devices();
	struct made whole;
	struct pp_dataset merged;

	add_steps(&all, "ncclAllReduce");
	for (uint32_t s = 0; s < STEPS; s++)
		add_kernel(&all, 0, 3, "gemm", 300 + s, s * STEP_NS + 300 * US, s * STEP_NS + 500 * US);
	build_both(&all, &whole, &merged);
	for (size_t i = 0; i < whole.d.collectives; i++) {
		CHECK_INT(whole.d.arrival[whole.d.collective[i].row_first].device_wait_ns, 400 * US);
		CHECK_INT(whole.d.arrival[whole.d.collective[i].row_first].exposed_wait_ns, 200 * US);
		CHECK_INT(whole.d.cell[i * RANKS].wait_ns, 200 * US);
	}
	compare_collectives(&whole.d, &merged);
	compare_cells(&whole.d, &merged);
	release_both(&all, &whole, &merged);
}

/* Without a common clock the lengths of an all-reduce's kernels tell, and an all-to-all's tell nothing. */
TEST(without_a_clock)
{
	for (int exchange = 0; exchange < 2; exchange++) {
		struct pp_capture all = capture_with_devices();
		struct made whole;
		struct pp_dataset merged;

		for (size_t r = 0; r < RANKS; r++) {
			all.rank[r].domain = (int32_t)r;
			all.rank[r].clock[0] = '\0';
		}
		add_steps(&all, exchange ? "ncclAlltoAll" : "ncclAllReduce");
		build_both(&all, &whole, &merged);
		for (size_t i = 0; i < whole.d.arrivals; i++) {
			const struct pp_row_arrival *row = &whole.d.arrival[i];

			CHECK_INT(row->device_how, exchange ? PP_DEVICE_WAIT_UNKNOWN : PP_DEVICE_WAIT_DURATIONS);
			CHECK_INT(row->late_rank, exchange || row->worker == SLOW ? -1 : SLOW);
		}
		CHECK_INT(sum_of_cells(&whole.d, 0), exchange ? 0 : STEPS * (400 + 390 + 380) * US);
		CHECK_INT(sum_of_rows(&whole.d), sum_of_cells(&whole.d, 0));
		CHECK((whole.d.collective[0].busbw > 0) == !exchange);
		CHECK_INT(whole.d.collective[0].last_worker, exchange ? -1 : SLOW);
		CHECK_INT(whole.d.device_between_clocks, !exchange);
		CHECK_INT(pp_dataset_peers(&whole.d, SLOW), exchange ? 0 : RANKS - 1);
		CHECK_INT(whole.d.straggler.waited_for, -1);
		CHECK_INT(whole.d.arrival[0].device_bound_ns, exchange ? 0 : D / 10);
		compare_collectives(&whole.d, &merged);
		release_both(&all, &whole, &merged);
	}
}

/* A kernel that was lost may be the last one: nothing is said of those that were recorded. */
TEST(a_lost_kernel)
{
	struct pp_capture all = capture_with_devices();
	struct made whole;
	struct pp_dataset merged;

	add_steps(&all, "ncclAllReduce");
	for (size_t i = 0; i < all.rank[1].operations; i++)
		all.rank[1].operation[i].correlation = 0;
	build_both(&all, &whole, &merged);
	for (size_t i = 0; i < whole.d.arrivals; i++)
		CHECK_INT(whole.d.arrival[i].device_how, PP_DEVICE_WAIT_UNKNOWN);
	CHECK_INT(sum_of_cells(&whole.d, 0), 0);
	for (size_t i = 0; i < whole.d.collectives; i++)
		CHECK(pp_known_or(whole.d.collective[i].wait_ns, 0) == 0 && isnan(whole.d.collective[i].busbw));
	CHECK_INT(whole.d.device_undetermined, STEPS * RANKS);
	CHECK_INT(merged.device_undetermined, STEPS * RANKS);
	compare_collectives(&whole.d, &merged);
	release_both(&all, &whole, &merged);
}

/* No kernels: the lengths that NCCL measured on its devices tell who waited how long, not when. */
TEST(timed_by_nccl)
{
	struct pp_capture all = capture_with_devices();
	struct made whole;
	struct pp_dataset merged;

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&all, r, 0, 0, STEP_NS);
		add_operation(&all, r, "ncclAllReduce", 0, 0, 30 * US, 700 * US);
		all.rank[r].operation[0].device_ns = (r == SLOW ? 100 : 500) * US;
	}
	build_both(&all, &whole, &merged);
	for (size_t r = 0; r < whole.d.arrivals; r++) {
		CHECK_INT(whole.d.arrival[r].device_how, PP_DEVICE_WAIT_DURATIONS);
		CHECK_INT(whole.d.arrival[r].device_wait_ns, r == SLOW ? 0 : 400 * US);
		CHECK_INT(whole.d.arrival[r].late_rank, r == SLOW ? -1 : SLOW);
		CHECK_INT(whole.d.arrival[r].exposed_wait_ns, 0);
	}
	CHECK_INT(whole.d.collective[0].wait_ns, 3 * 400 * US);
	CHECK_INT((int64_t)whole.d.collective[0].algbw, (int64_t)(BYTES * 1e9 / D));
	compare_collectives(&whole.d, &merged);
	release_both(&all, &whole, &merged);
}

/* A kernel of symmetric memory begins while the stream still computes, and waits for that inside. */
TEST(launched_early)
{
	struct pp_capture all = capture_with_devices();
	struct made whole;
	struct pp_dataset merged;

	for (size_t r = 0; r < RANKS; r++) {
		int64_t ready = (r == SLOW ? 600 : 200) * US;

		add_step(&all, r, 0, 0, STEP_NS);
		add_kernel(&all, r, NCCL_STREAM, "gemm", 100, 20 * US, ready);
		all.rank[r].thread[NCCL_STREAM].span[0].device.activity = PP_DEVICE_KERNEL;
		add_kernel(&all, r, NCCL_STREAM, "ncclSymkDevKernel_AllReduce_RSxLD_AGxST", 200, 100 * US, 700 * US);
		add_operation(&all, r, "ncclAllReduce", 0, 200, 30 * US, 700 * US);
	}
	build_both(&all, &whole, &merged);
	for (size_t r = 0; r < whole.d.arrivals; r++) {
		CHECK_INT(whole.d.arrival[r].device_begin_ns, (r == SLOW ? 600 : 200) * US);
		CHECK_INT(whole.d.arrival[r].device_wait_ns, r == SLOW ? 0 : 400 * US);
	}
	compare_collectives(&whole.d, &merged);
	release_both(&all, &whole, &merged);
}

int main(void)
{
	a_slow_gpu();
	a_group();
	hidden();
	without_a_clock();
	a_lost_kernel();
	timed_by_nccl();
	launched_early();
	return test_end();
}

/* The dataset of captures thrown by dice: nested and crossing ranges, every class of MPI call, polls, requests, gaps, several
 * threads and clocks. Sums are exact whatever comes. */
#include "aggregate/analyze/build.h"
#include "aggregate/dataset/dataset.h"

#include "core/base/known.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/step/category.h"
#include "tests/test.h"
#include "tests/unit/aggregate/analyze/budget_kit.h"
#include "tests/unit/capture.h"

enum { RANKS = 4, THREADS = 3, END = 100000, STEP = 9000, ROUNDS = 60, COMMS = 3, MOST_NEAR = 4 };

static uint64_t seed, nears;

static int64_t dice(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((seed >> 33) % (uint64_t)n);
}

static uint8_t category_of(const struct pp_mpi_call *info)
{
	switch (info->class) {
	case PP_MPI_READ:
	case PP_MPI_READ_ALL:
		return PP_CATEGORY_INPUT;
	case PP_MPI_WRITE:
	case PP_MPI_WRITE_ALL:
		return PP_CATEGORY_OUTPUT;
	case PP_MPI_FILE_ALL:
		return dice(2) ? PP_CATEGORY_OUTPUT : PP_CATEGORY_INPUT;
	default:
		return 0;
	}
}

/* The collective that ranks make together at this place. */
static unsigned call_of_all(size_t comm, uint32_t sequence)
{
	unsigned call = (unsigned)(comm * 31 + sequence * 17) % pp_mpi_call_count();

	while (!pp_mpi_class_joins(pp_mpi_call_info(call)->class))
		call = (call + 1) % pp_mpi_call_count();
	return call;
}

/* Any row of the table; what joins gets the next number of its communicator, now and then one too
 * far, or a call that the others do not make there. */
static void throw_call(struct pp_capture *c, size_t r, uint32_t t, int64_t begin, int64_t end, uint32_t next[COMMS])
{
	static uint32_t request;
	unsigned call = (unsigned)dice(pp_mpi_call_count());
	size_t comm = (size_t)dice(COMMS);
	int joins = pp_mpi_class_joins(pp_mpi_call_info(call)->class);
	uint32_t sequence = joins ? next[comm] += 1 + !dice(20) : 0;
	const struct pp_mpi_call *info = pp_mpi_call_info(joins && dice(20) ? call = call_of_all(comm, sequence) : call);
	struct pp_span *span;
	struct pp_span made = {.kind = PP_SPAN_MPI,
	                       .begin = begin,
	                       .end = end,
	                       .name = pp_intern_put(c->names, info->name, strlen(info->name)),
	                       .category = category_of(info),
	                       .mpi.call = (uint16_t)call,
	                       .mpi.comm = dice(9) ? 70 + comm : 0,
	                       .mpi.sequence = sequence,
	                       .mpi.sent = (uint64_t)dice(3) * 100,
	                       .mpi.received = (uint64_t)dice(3) * 100,
	                       .mpi.peer = (int32_t)dice(RANKS + 4) - 2,
	                       .mpi.request = info->nonblocking ? ++request : 0};

	if (!dice(4))
		made.flags |= PP_SPAN_IS_ROOT;
	if (!dice(20))
		made.flags |= PP_SPAN_FAILED;
	if (info->class == PP_MPI_WAIT && dice(2)) {
		made.flags |= PP_SPAN_POLLS;
		made.mpi.sequence = 5;
		made.end += dice(400); /* across what comes next */
	}
	if (made.mpi.request) {
		span = add_span(c, r, t, PP_SPAN_REQUEST, info->name, begin, end + dice(2000));
		*span = (struct pp_span){.kind = PP_SPAN_REQUEST,
		                         .begin = begin,
		                         .end = span->end,
		                         .name = made.name,
		                         .mpi.call = made.mpi.call,
		                         .mpi.comm = made.mpi.comm,
		                         .mpi.peer = made.mpi.peer,
		                         .mpi.sent = made.mpi.sent,
		                         .mpi.received = made.mpi.received,
		                         .mpi.request = made.mpi.request,
		                         .flags = (uint8_t)(dice(5)   ? 0
		                                            : dice(2) ? PP_SPAN_CUT_END
		                                                      : PP_SPAN_FAILED)};
	}
	*add_span(c, r, t, PP_SPAN_MPI, info->name, begin, made.end) = made;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the ranges are nested */
static void throw_ranges(struct pp_capture *c, size_t r, uint32_t t, int64_t begin, int64_t end, int depth, uint32_t next[COMMS])
{
	static const char *const names[] = {"input", "save", "compute", "jit", "wobble", "nccl", "cudaLaunchKernel", "kernel"};

	for (int64_t at = begin + dice(300); at < end && c->rank[r].thread[t].spans < MADE_SPANS - 4;) {
		int64_t till = at + dice(depth ? 500 : 5000);
		struct pp_span *span;

		till = till < end ? till : end;
		if (dice(3) == 0) {
			throw_call(c, r, t, at, till, next);
		} else if (dice(12) == 0) {
			add_span(c, r, t, dice(2) ? PP_SPAN_ASYNC : PP_SPAN_MARK, "save", at, till);
		} else {
			span = add_range(c, r, t, names[dice(8)], at, dice(15) ? till : till + dice(300));
			span->category = (uint8_t)(dice(4) ? 0 : 1 + dice(PP_CATEGORIES));
			if (depth < 4)
				throw_ranges(c, r, t, at, till, depth + 1, next);
		}
		at = till + (dice(2) ? 0 : dice(300)); /* gaps, and neighbours without one */
	}
}

static struct pp_capture throw_capture(void)
{
	struct pp_capture c = make_capture(RANKS);
	int64_t off = dice(2) * 1000000; /* a clock of its own */

	c.ranks_asked += (int32_t)dice(3);
	for (size_t r = 0; r < RANKS; r++) {
		uint32_t next[COMMS] = {0};
		int64_t shift = r == RANKS - 1 ? off : 0;

		c.rank[r].domain = shift != 0;
		for (int64_t n = 0; n * STEP < END; n++)
			if (dice(8))
				add_step(&c, r, n, shift + n * STEP + dice(500),
				         shift + (n + 1) * STEP - (dice(2) ? dice(200) : 0));
		for (uint32_t t = 0; t < THREADS; t++) {
			throw_ranges(&c, r, t, shift, shift + END, 0, next);
			CHECK_INT(pp_order_spans(c.rank[r].thread[t].span, c.rank[r].thread[t].spans), 0);
		}
	}
	return c;
}

static void check_cells(const struct pp_dataset *d)
{
	int64_t wait = 0, late = 0, listed = 0, rows = 0;

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_row_cell *cell = &d->cell[i];
		int64_t sum = 0;

		for (int k = 1; k <= PP_CATEGORIES; k++) {
			CHECK(cell->exclusive_ns[k] >= 0);
			sum += cell->exclusive_ns[k];
		}
		CHECK_INT(sum, cell->step_ns);
		CHECK_INT(cell->step_ns, cell->end_ns - cell->begin_ns);
		CHECK(cell->present || !cell->step_ns);
		CHECK(cell->wait_ns >= 0 && cell->transfer_ns >= 0 && cell->late_ns >= 0);
		CHECK(cell->wait_ns + cell->transfer_ns <=
		      cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE] + cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION]);
		wait += cell->wait_ns;
		late += cell->late_ns;
	}
	for (size_t i = 0; i < d->arrivals; i++)
		rows += d->arrival[i].exposed_wait_ns;
	CHECK_INT(rows, wait);
	for (size_t i = 0; i < d->workers; i++)
		listed += d->late[i].wait_ns;
	CHECK_INT(late, wait); /* all waiting is for somebody */
	CHECK_INT(listed, wait);
	check_budget(d);
}

static int32_t domain_of(const struct pp_dataset *d, const struct pp_row_arrival *row)
{
	return d->worker[pp_dataset_worker(d, row->worker)].domain;
}

/* Row k of a neighbourhood collective, by the lists that the dice threw. Returns whether its time is split. */
static int check_near(const struct pp_capture *capture, const struct pp_dataset *d, const struct pp_row_collective *c, uint32_t k,
                      int is_doubled)
{
	const struct pp_row_arrival *row = &d->arrival[c->row_first], *last = NULL;
	const struct pp_comm *comm = &capture->rank[row[k].worker].comm[c->communicator - 70];
	int several = 0;

	if (row[k].needs == PP_ROW_NEEDS_NONE) {
		CHECK_INT(row[k].late_rank, -1);
		return 1;
	}
	for (uint32_t n = 0; n < comm->nears; n++) {
		const struct pp_row_arrival *one = NULL;

		for (uint32_t i = 0; i < c->row_count; i++)
			if (row[i].worker == comm->near[n])
				one = &row[i];
		if (!one && comm->near[n] != row[k].worker)
			return 0;
		if (one && comm->near[n] != row[k].worker && !one->is_empty) {
			several |= last && one != last;
			last = !last || one->arrival_ns > last->arrival_ns ? one : last;
		}
	}
	if (last && (last->arrival_ns <= row[k].arrival_ns ||
	             (c->bound_ns == PP_BOUND_UNKNOWN && (several || domain_of(d, last) != domain_of(d, &row[k])))))
		last = NULL;
	if (comm->near_known && !is_doubled) {
		CHECK_INT(row[k].late_rank, last ? last->worker : -1);
		nears += last != NULL;
	}
	return comm->near_known;
}

/* Between clocks that are not joined waiting is unknown, but for a rank that needs one of its own clock. */
static int is_compared(const struct pp_dataset *d, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	if (c->bound_ns != PP_BOUND_UNKNOWN)
		return 1;
	if (pp_is_known(row->waited_ns) && row->waited_ns > 0)
		CHECK_INT(d->worker[pp_dataset_worker(d, row->late_rank)].domain,
		          d->worker[pp_dataset_worker(d, row->worker)].domain);
	return pp_is_known(row->waited_ns);
}

/* One rank of several is recorded: how long it waited for the others is unknown. */
static int is_lone(const struct pp_dataset *d, const struct pp_row_collective *c)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(d, c->communicator);

	return c->row_count == 1 && !c->message && comm && comm->size > 1;
}

static void check_collectives(const struct pp_capture *capture, const struct pp_dataset *d)
{
	uint64_t mixed = 0;

	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *c = &d->collective[i];
		const struct pp_row_arrival *row = &d->arrival[c->row_first];
		int64_t inside = 0;
		int is_mixed = 0, is_doubled = 0, is_near = pp_mpi_call_info(c->operation)->class == PP_MPI_NEAR;

		for (uint32_t k = 0; k < c->row_count; k++) {
			is_mixed |= row[k].needs == PP_ROW_OTHER_CALL;
			is_doubled |= k && row[k].worker == row[k - 1].worker;
		}
		mixed += (uint64_t)is_mixed;
		for (uint32_t k = 0; k < c->row_count && !is_mixed && !is_lone(d, c); k++)
			if ((!is_near || check_near(capture, d, c, k, is_doubled)) && is_compared(d, c, &row[k]))
				inside += row[k].exit_ns - row[k].arrival_ns;
		CHECK(pp_known_or(c->wait_ns, 0) >= 0 && pp_known_or(c->transfer_ns, 0) >= 0 && !(c->algbw < 0) && !(c->busbw < 0));
		CHECK_INT(pp_known_or(c->wait_ns, 0) + pp_known_or(c->transfer_ns, 0), inside);
		CHECK(c->bound_ns != PP_BOUND_UNKNOWN || (c->last_worker < 0 && isnan(c->algbw)));
		CHECK(c->bound_ns == PP_BOUND_UNKNOWN || c->last_worker >= 0);
	}
	CHECK(mixed >= d->mixed && mixed < d->collectives / 2);
}

/* Nothing is counted that no record has, and no record twice. */
static void check_bytes(const struct pp_capture *c, const struct pp_dataset *d)
{
	uint64_t given = 0, counted = 0, of_files = 0;

	for (size_t r = 0; r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads; t++)
			for (size_t i = 0; i < c->rank[r].thread[t].spans; i++) {
				const struct pp_span *s = &c->rank[r].thread[t].span[i];

				if (s->kind == PP_SPAN_MPI && pp_mpi_class_is_file(pp_mpi_call_info(s->mpi.call)->class))
					of_files += s->mpi.sent + s->mpi.received;
				else if (s->kind == PP_SPAN_MPI && !pp_mpi_class_joins(pp_mpi_call_info(s->mpi.call)->class))
					given += s->mpi.sent + s->mpi.received;
			}
	for (size_t i = 0; i < d->channels; i++) {
		CHECK(d->channel[i].time_ns >= 0 && d->channel[i].count > 0);
		counted += d->channel[i].bytes;
	}
	CHECK(counted > 0 && counted <= given);
	counted = 0;
	for (size_t i = 0; i < d->files; i++) {
		CHECK(d->file[i].read_ns >= 0 && d->file[i].write_ns >= 0 && d->file[i].other_ns >= 0);
		counted += d->file[i].bytes_read + d->file[i].bytes_written;
	}
	CHECK(counted > 0 && counted <= of_files);
}

/* Few or no ranks to receive from, or an unknown list; with itself, twice the same, or ranks that make no call. In order. */
static void throw_near(struct pp_comm *comm, int32_t room[MOST_NEAR])
{
	comm->near_known = dice(4) != 0;
	comm->near = room;
	for (int32_t rank = 0; comm->near_known && comm->nears < MOST_NEAR && rank < RANKS + 1; rank += (int32_t)dice(3))
		if (dice(3) && (rank < RANKS || !dice(4)))
			room[comm->nears++] = rank;
}

TEST(sums_are_exact)
{
	static int32_t near[RANKS][COMMS][MOST_NEAR];
	uint64_t collectives = 0, cells = 0;
	int64_t wait = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct pp_capture c;
		struct pp_steps steps;
		struct pp_attr attr[RANKS];
		struct pp_dataset d;
		struct pp_err err = {""};
		struct pp_dataset_input in = {.capture = &c, .steps = &steps, .attr = attr, .asked_last = 100, .bound_ns = 2};

		seed = 1000 + (uint64_t)round;
		c = throw_capture();
		for (size_t r = 0; r < RANKS; r++) {
			c.rank[r].comm = calloc(COMMS, sizeof(*c.rank[r].comm));
			for (size_t k = 0; k < COMMS; k++)
				c.rank[r].comm[c.rank[r].comms++] = (struct pp_comm){
				        .id = 70 + k, .kind = k ? PP_COMM_FILE : PP_COMM_WINDOW, .size = (uint32_t)(2 + dice(3))};
			for (size_t k = 0; k < COMMS; k++)
				throw_near(&c.rank[r].comm[k], near[r][k]);
		}
		CHECK_INT(pp_steps_find(&c, 0, 100, &steps, &err), 0);
		for (size_t r = 0; r < RANKS; r++)
			CHECK_INT(pp_attr_rank(&c.rank[r], r, &steps, RANKS, c.names, PP_ATTR_KEEP_ALL, &attr[r], &err), 0);
		CHECK_INT(pp_dataset_build(&in, &d, &err), 0);
		check_cells(&d);
		check_collectives(&c, &d);
		check_bytes(&c, &d);
		for (size_t i = 0; i < d.steps * d.workers; i++) {
			cells += d.cell[i].present != 0;
			wait += d.cell[i].wait_ns;
		}
		collectives += d.collectives;
		pp_dataset_release(&d);
		for (size_t r = 0; r < RANKS; r++)
			pp_attr_release(&attr[r]);
		pp_steps_release(&steps);
		free_capture(&c);
	}
	CHECK(cells > 1000 && collectives > 1000 && wait > 0 && nears > 100); /* the dice threw something */
}

int main(void)
{
	sums_are_exact();
	return test_end();
}

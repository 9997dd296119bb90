/* The rule of waiting; see waiting.h. Called by finish.c. */
#include "aggregate/analyze/waiting.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/table/table.h"
#include "aggregate/graph/device_wait.h"
#include "aggregate/graph/needs.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

enum { NEEDS_NOBODY = -1, NEEDS_UNKNOWN = -2, NEEDS_OTHER_CLOCK = -3 };

PP_COMPARE_BY_2(compare_key, struct pp_waiting_order, key, row)

/* All ranks make the call, but a rank need not wait for all: a fence with an assertion, a write that each rank does by itself,
 * the creation of a communicator without this rank. */
static int may_leave_early(unsigned call)
{
	enum pp_mpi_class class = pp_mpi_call_info(call)->class;

	return class == PP_MPI_FENCE || pp_mpi_class_is_file(class) || (class == PP_MPI_ALL && !pp_mpi_call_is_collective(call));
}

/* A rank that left before the last arrival waited for the last of the arrivals before its exit. */
static void need_earlier(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	int64_t edge = pp_wrap_minus(c->last_ns, c->bound_ns);
	struct pp_waiting_order *order = w->order;
	int sorted = 0;

	for (uint32_t i = 0; i < c->row_count; i++) {
		size_t low;

		if (w->needs[i] < 0 || row[i].exit_open || row[i].exit_ns >= edge)
			continue;
		for (uint32_t k = 0; k < c->row_count && !sorted; k++)
			order[k] = (struct pp_waiting_order){row[k].arrival_ns, k};
		if (!sorted)
			qsort(order, c->row_count, sizeof(*order), compare_key);
		sorted = 1;
		low = PP_PARTITION(c->row_count, at, order[at].key <= row[i].exit_ns);
		while (low > 1 && order[low - 2].key == order[low - 1].key)
			low--;
		w->needs[i] = low ? (int64_t)order[low - 1].row : -1;
	}
}

/* Of equal arrivals the first row. */
static int64_t last_of(const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	int64_t last = NEEDS_NOBODY;

	for (uint32_t i = 0; i < c->row_count; i++)
		if (!row[i].is_empty && (last < 0 || row[i].arrival_ns > row[last].arrival_ns))
			last = i;
	return last;
}

/* Between clocks that are not joined no arrival is earlier or later: which of several is the last is unknown. */
static int is_compared(const struct pp_waiting *w, const struct pp_row_collective *c, enum pp_need_kind kind,
                       const struct pp_need_list *list, uint32_t i)
{
	if (c->bound_ns != PP_BOUND_UNKNOWN)
		return 1;
	return kind == PP_NEED_ROWS && list->rows == 1 &&
	       pp_bounds_arrivals(&w->bounds, &w->event[i], &w->event[list->row[0] - c->row_first]) != PP_BOUND_UNKNOWN;
}

static void set_needs(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	const int64_t last = last_of(c, row);
	struct pp_need_list list = {.rows = 0};

	for (uint32_t i = 0; i < c->row_count; i++) {
		const enum pp_need_kind kind = pp_needs_in(w->d, c, (uint32_t)c->row_first + i, &list);

		w->needs[i] = kind == PP_NEED_UNKNOWN                 ? NEEDS_UNKNOWN
		              : kind == PP_NEED_ALL                   ? last
		              : kind == PP_NEED_ROWS && list.rows > 0 ? (int64_t)(list.row[0] - c->row_first)
		                                                      : NEEDS_NOBODY;
		if (w->needs[i] >= 0 && !is_compared(w, c, kind, &list, i))
			w->needs[i] = NEEDS_OTHER_CLOCK;
	}
	if (may_leave_early(c->operation))
		need_earlier(w, c, row);
}

/* Of an operation of several ranks one alone is recorded: it may have waited for any of the others. */
static int is_lone(const struct pp_waiting *w, const struct pp_row_collective *c)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(w->d, c->communicator);

	return c->row_count == 1 && !c->message && comm && comm->size > 1;
}

static void set_until(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	for (uint32_t i = 0; i < c->row_count; i++) {
		struct pp_waited *one = &w->row[i];
		const struct pp_row_arrival *needs = w->needs[i] < 0 ? NULL : &row[w->needs[i]];

		one->is_unsplit = w->is_odd || w->needs[i] == NEEDS_UNKNOWN || w->needs[i] == NEEDS_OTHER_CLOCK || is_lone(w, c);
		w->d->unsplit += !w->is_odd && w->needs[i] == NEEDS_UNKNOWN;
		w->d->uncompared += !w->is_odd && w->needs[i] == NEEDS_OTHER_CLOCK;
		if (one->is_unsplit || !needs || needs->arrival_ns <= row[i].arrival_ns)
			continue;
		if (w->row[w->needs[i]].worker == one->worker) /* no rank waits for itself: pp_dataset.doubled counts these */
			continue;
		one->until = needs->arrival_ns < row[i].exit_ns ? needs->arrival_ns : row[i].exit_ns;
		one->waits_for = (int32_t)w->row[w->needs[i]].worker;
		one->bound_ns = pp_bounds_arrivals(&w->bounds, &w->event[i], &w->event[w->needs[i]]);
	}
}

/* Did it run on a device of any rank, as far as is known? */
static int is_on_device(const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	int any = 0;

	for (uint32_t i = 0; i < c->row_count; i++)
		any |= pp_graph_on_device(&row[i]) || row[i].device_length_ns > 0;
	return any;
}

static enum pp_device_wait_kind device_kind(const struct pp_row_collective *c)
{
	enum pp_mpi_class class = pp_mpi_call_info(c->operation)->class;

	if (c->message)
		return PP_DEVICE_WAIT_MESSAGE;
	if (class == PP_MPI_FROM_ROOT)
		return PP_DEVICE_WAIT_FROM_ROOT;
	if (class == PP_MPI_TO_ROOT)
		return PP_DEVICE_WAIT_TO_ROOT;
	return pp_mpi_call_is_exchange(c->operation) ? PP_DEVICE_WAIT_EXCHANGE : PP_DEVICE_WAIT_ALL;
}

/* Has it a row of each rank that takes part? Of a communicator of unknown size, if all ranks of the job delivered. */
static int is_whole(const struct pp_dataset *d, const struct pp_row_collective *c)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(d, c->communicator);

	if (c->message)
		return c->row_count == 2;
	if (comm && comm->size)
		return comm->size <= c->row_count;
	return c->row_count > 1 && d->ranks_delivered >= d->ranks_asked;
}

/* |error| of a row's times on its device against other ranks': that of two is at most their sum. */
static int64_t device_error(const struct pp_bounds *bounds, const struct pp_row_arrival *row, uint32_t worker)
{
	int64_t error = bounds->d->worker[worker].own_bound_ns, clock = 0;

	error = error / 2 + (error & 1);
	if (bounds->groups > 1)
		clock = pp_bounds_at(bounds, worker, row->device_begin_ns);
	if (__builtin_add_overflow(error, clock, &error) || __builtin_add_overflow(error, row->device_error_ns, &error))
		return INT64_MAX;
	return error;
}

/* The ranks' times: those of their clocks, where all kernels have such. */
static void fill_device(const struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row,
                        struct pp_device_operation *o)
{
	o->has_clock = c->bound_ns != PP_BOUND_UNKNOWN;
	for (uint32_t i = 0; i < c->row_count; i++)
		o->has_clock &= pp_graph_on_device(&row[i]) || row[i].device_length_ns <= 0;
	for (uint32_t i = 0; i < c->row_count; i++) {
		struct pp_device_rank *r = &o->rank[i];

		*r = (struct pp_device_rank){.is_root = row[i].is_root, .late = -1};
		if (pp_graph_on_device(&row[i])) {
			r->ready_ns = row[i].device_begin_ns;
			r->end_ns = row[i].device_end_ns;
			r->error_ns = o->has_clock ? device_error(&w->bounds, &row[i], w->event[i].worker) : 0;
		} else if (!o->has_clock) {
			r->end_ns = row[i].device_length_ns;
		}
	}
}

/* The operation's times on devices. */
static void set_device_times(struct pp_row_collective *c, const struct pp_row_arrival *row, int has_clock)
{
	int64_t first = INT64_MAX, last = INT64_MIN, end = INT64_MIN, error = 0;

	for (uint32_t i = 0; i < c->row_count; i++) {
		if (!pp_graph_on_device(&row[i]))
			continue;
		first = row[i].device_begin_ns < first ? row[i].device_begin_ns : first;
		last = row[i].device_begin_ns > last ? row[i].device_begin_ns : last;
		end = row[i].device_end_ns > end ? row[i].device_end_ns : end;
		error = row[i].device_error_ns > error ? row[i].device_error_ns : error;
	}
	if (first > last) /* no kernel */
		return;
	c->first_ns = first;
	c->last_ns = last;
	c->end_ns = end;
	if (has_clock && (__builtin_mul_overflow(error, 2, &error) || __builtin_add_overflow(c->bound_ns, error, &c->bound_ns)))
		c->bound_ns = PP_BOUND_UNKNOWN;
}

/* The same as set_until(), of kernels; sets the operation's times and its last rank by them. */
static void set_until_on_device(struct pp_waiting *w, struct pp_row_collective *c, struct pp_row_arrival *row)
{
	struct pp_device_operation o = {
	        .kind = device_kind(c), .is_whole = is_whole(w->d, c), .rank = w->device, .ranks = w->is_odd ? 0 : c->row_count};

	fill_device(w, c, row, &o);
	pp_device_wait(&o);
	set_device_times(c, row, o.has_clock);
	c->last_worker = o.last < 0 ? -1 : row[o.last].worker;
	for (uint32_t i = 0; i < c->row_count; i++) {
		const struct pp_device_rank *r = &w->device[i];
		struct pp_waited *one = &w->row[i];

		one->is_unsplit = r->how == PP_DEVICE_WAIT_UNKNOWN || r->how == PP_DEVICE_WAIT_DISAGREE;
		one->waits_for = r->late < 0 ? -1 : (int32_t)w->row[r->late].worker;
		one->bound_ns = r->bound_ns;
		if (pp_graph_on_device(&row[i]))
			one->until = pp_wrap_plus(row[i].device_begin_ns, r->wait_ns);
		row[i].device_wait_ns = r->wait_ns;
		row[i].device_how = (int8_t)r->how;
		row[i].device_bound_ns = r->bound_ns < PP_TABLE_TIME_MAX ? r->bound_ns : PP_TABLE_TIME_MAX;
		w->d->device_undetermined += !w->is_odd && one->is_unsplit;
		if (r->late >= 0 && c->bound_ns == PP_BOUND_UNKNOWN)
			w->d->device_between_clocks = 1;
	}
	w->device_transfer_ns = o.transfer_ns;
}

/* Step of the last arrival, else of any row; INT64_MIN: none. */
static int64_t step_of(const struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row, size_t last)
{
	for (size_t i = 0; i < c->row_count; i++) {
		const size_t who = (last + i) % c->row_count, worker = w->row[who].worker;
		const size_t step = pp_dataset_step_after(w->d, worker, row[who].arrival_ns, 0);

		if (step < w->d->steps && w->d->cell[step * w->d->workers + worker].begin_ns <= row[who].arrival_ns)
			return w->d->step[step].number;
	}
	return INT64_MIN;
}

/* Ends of NCCL's messages have ranks of the communicator until all parts are in. */
static void name_ends(struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	if (!c->message || c->operation < PP_NCCL_FIRST)
		return;
	c->source = c->destination = -1;
	for (uint32_t i = 0; i < c->row_count; i++)
		*(row[i].is_root ? &c->source : &c->destination) = row[i].worker;
}

/* Fills times, root and bound; returns the row of the last arrival. */
static size_t look_at_rows(struct pp_waiting *w, struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	size_t last = 0;

	w->is_doubled = w->is_mixed = 0;
	w->is_odd = pp_needs_are_odd(w->d, c);
	c->ranks = (int32_t)c->row_count;
	c->root = -1;
	c->first_ns = row[0].arrival_ns;
	c->end_ns = INT64_MIN;
	for (uint32_t i = 0; i < c->row_count; i++) {
		uint32_t worker = (uint32_t)pp_dataset_worker(w->d, row[i].worker);

		w->row[i] =
		        (struct pp_waited){.until = row[i].arrival_ns, .worker = worker, .waits_for = -1, .row = c->row_first + i};
		w->is_doubled |= i && w->row[i - 1].worker == worker;
		w->is_mixed |= row[i].needs == PP_ROW_OTHER_CALL;
		w->event[i] = (struct pp_bounds_event){worker, !row[i].exit_open, row[i].arrival_ns, row[i].exit_ns, 0, 0, 0};
		if (w->bounds.groups > 1)
			w->event[i].bound_ns = pp_bounds_at(&w->bounds, worker, row[i].arrival_ns);
		if (row[i].arrival_ns < c->first_ns)
			c->first_ns = row[i].arrival_ns;
		if (row[i].arrival_ns > row[last].arrival_ns)
			last = i;
		if (row[i].exit_ns > c->end_ns)
			c->end_ns = row[i].exit_ns;
		if (row[i].is_root)
			c->root = row[i].worker;
	}
	c->last_ns = row[last].arrival_ns;
	c->bound_ns = pp_bounds_worst(&w->bounds, &w->row[0].worker, c->row_count, sizeof(*w->row), c->last_ns);
	c->last_worker = c->bound_ns == PP_BOUND_UNKNOWN ? -1 : row[last].worker;
	return last;
}

/* Finds a rank that left before another one that it needs had arrived: in each group of an intercommunicator those wait for the
 * other group. */
static int check_order(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	int violated = 0, sides = 0;

	for (uint32_t i = 0; i < c->row_count; i++)
		sides |= row[i].side != 0;
	if (c->message) {
		for (uint32_t i = 0; i < c->row_count; i++) {
			w->event[i].is_needed = row[i].is_root;
			w->event[i].needs = !row[i].is_root;
		}
		return pp_bounds_check(&w->bounds, w->event, c->row_count, &w->d->causality);
	}
	for (uint32_t side = sides ? 1 : 0; side <= (sides ? 2u : 0u); side++) {
		for (uint32_t i = 0; i < c->row_count; i++) {
			w->event[i].is_needed = !row[i].is_empty && (!side || row[i].side != side);
			w->event[i].needs = row[i].needs == PP_ROW_NEEDS_ALL && row[i].side == side;
		}
		violated |= pp_bounds_check(&w->bounds, w->event, c->row_count, &w->d->causality);
	}
	return violated;
}

/* The same for neighbours: each rank against the one that it waits for. */
static int check_near(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	int violated = 0;

	for (uint32_t i = 0; i < c->row_count; i++) {
		struct pp_bounds_event two[2];

		if (w->needs[i] < 0 || row[i].needs != PP_ROW_NEEDS_ALL)
			continue;
		two[0] = w->event[i];
		two[1] = w->event[w->needs[i]];
		two[0].needs = two[1].is_needed = 1;
		violated |= pp_bounds_check(&w->bounds, two, 2, &w->d->causality);
	}
	return violated;
}

/* Does its class say that a rank leaves when those that it needs have arrived, not before? */
static int is_ordered(const struct pp_waiting *w, const struct pp_row_collective *c)
{
	enum pp_mpi_class class = pp_mpi_call_info(c->operation)->class;

	if (c->message)
		return !w->is_odd;
	return (class == PP_MPI_ALL || class == PP_MPI_NEAR) && !may_leave_early(c->operation) && !w->is_doubled && !w->is_mixed;
}

/* Wait and transfer of a row; of a kernel that ran several operations each has an equal part. */
static void add_row(const struct pp_waiting *w, struct pp_row_collective *c, struct pp_row_arrival *row, uint32_t i)
{
	const struct pp_waited *one = &w->row[i];
	int64_t transfer = pp_wrap_minus(row->exit_ns, one->until);
	int64_t share = row->device_operations ? row->device_operations : 1;

	row->late_rank = one->waits_for < 0 ? -1 : w->d->worker[one->waits_for].rank;
	row->waited_ns = one->is_unsplit ? PP_UNKNOWN : pp_wrap_minus(one->until, row->arrival_ns);
	if (one->is_unsplit)
		return;
	if (w->is_on_device) {
		row->waited_ns = w->device[i].wait_ns / share;
		transfer = w->device[i].transfer_ns / share;
	}
	pp_known_add(&c->wait_ns, row->waited_ns);
	pp_known_add(&c->transfer_ns, transfer);
}

/* How long the operation itself took: from the last arrival to the last exit. 0: not known. */
static int64_t time_of(const struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	int64_t time = pp_wrap_minus(c->end_ns, c->last_ns);
	uint32_t share = 1;

	if (!w->is_on_device)
		return c->bound_ns != PP_BOUND_UNKNOWN && time > c->bound_ns ? time : 0;
	for (uint32_t i = 0; i < c->row_count; i++)
		share = row[i].device_operations > share ? row[i].device_operations : share;
	return w->device_transfer_ns / share;
}

/* Where ranks of the group are missing: the shortest kernel, which lasted at least as long as the transfer. 0: not known. */
static int64_t kernel_of_some(const struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	int64_t time = INT64_MAX;

	if (!w->is_on_device || c->message || w->is_mixed || w->is_doubled)
		return 0;
	for (uint32_t i = 0; i < c->row_count; i++) {
		int64_t length = row[i].device_length_ns / (row[i].device_operations ? row[i].device_operations : 1);

		time = length > 0 && length < time ? length : time;
	}
	return time == INT64_MAX ? 0 : time;
}

/* How many of them share the bytes; 0: unknown. */
static int32_t devices_of(const struct pp_row_collective *c, const struct pp_row_communicator *comm, int is_some)
{
	if (comm && comm->devices)
		return (int32_t)comm->devices;
	if (is_some)
		return (int32_t)comm->size;
	return comm && !comm->size && c->row_count == 1 ? 0 : c->ranks;
}

static void sum_up(struct pp_waiting *w, struct pp_row_collective *c, struct pp_row_arrival *row)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(w->d, c->communicator);
	const struct pp_mpi_call *info = pp_mpi_call_info(c->operation);
	int known = !w->is_mixed && !(c->message && w->is_odd) &&
	            (c->message || !comm || comm->size <= c->row_count); /* else the last may be missing */
	int is_some;
	int64_t time;

	c->wait_ns = c->transfer_ns = PP_UNKNOWN;
	c->algbw = c->busbw = (double)NAN;
	for (uint32_t i = 0; i < c->row_count; i++) {
		known &= w->is_on_device || !row[i].exit_open;
		add_row(w, c, &row[i], i);
	}
	w->d->messages_lone += c->message && c->row_count == 1;
	w->d->doubled += w->is_doubled && !c->message;
	w->d->mixed += w->is_mixed && !w->is_doubled;
	if (!c->mismatch && comm && !c->message && comm->size > c->row_count)
		c->mismatch = PP_MISMATCH_MISSING;
	if (!w->is_on_device && is_ordered(w, c))
		w->d->violations +=
		        (uint64_t)(!c->message && info->class == PP_MPI_NEAR ? check_near(w, c, row) : check_order(w, c, row));
	is_some = comm && !c->message && comm->size > c->row_count;
	time = !c->bytes ? 0 : is_some ? kernel_of_some(w, c, row) : known ? time_of(w, c, row) : 0;
	if (time > 0) {
		c->algbw = (double)c->bytes * 1e9 / (double)time;
		c->busbw = c->algbw * (c->message ? 1 : pp_mpi_call_bus_factor(c->operation, devices_of(c, comm, is_some)));
	}
}

static int make_room(struct pp_waiting *w, size_t rows)
{
	if (!w->bounds.groups && pp_bounds_init(&w->bounds, w->d) < 0)
		return -ENOMEM;
	if (rows <= w->room)
		return 0;
	free(w->row);
	free(w->needs);
	free(w->order);
	free(w->event);
	free(w->device);
	w->room = 0;
	w->row = calloc(rows * 2, sizeof(*w->row));
	w->needs = calloc(rows * 2, sizeof(*w->needs));
	w->order = calloc(rows * 2, sizeof(*w->order));
	w->event = calloc(rows * 2, sizeof(*w->event));
	w->device = calloc(rows * 2, sizeof(*w->device));
	if (!w->row || !w->needs || !w->order || !w->event || !w->device)
		return -ENOMEM;
	w->room = rows * 2;
	return 0;
}

int pp_waiting_solve(struct pp_waiting *w, struct pp_row_collective *c)
{
	struct pp_row_arrival *row = &w->d->arrival[c->row_first];
	size_t last;

	if (make_room(w, c->row_count) < 0)
		return -ENOMEM;
	last = look_at_rows(w, c, row);
	w->is_on_device = is_on_device(c, row);
	if (w->is_on_device) {
		set_until_on_device(w, c, row);
	} else {
		set_needs(w, c, row);
		set_until(w, c, row);
	}
	sum_up(w, c, row);
	name_ends(c, row);
	c->step = step_of(w, c, row, last);
	return 0;
}

void pp_waiting_release(struct pp_waiting *w)
{
	free(w->row);
	free(w->needs);
	free(w->order);
	free(w->event);
	free(w->device);
	pp_bounds_release(&w->bounds);
}

/* Length of [begin, end] before `until`. */
static int64_t part_before(int64_t until, int64_t begin, int64_t end)
{
	return until > begin ? pp_wrap_minus(until < end ? until : end, begin) : 0;
}

/* Error of the split in a segment: only the segment of a call that the arrival is near can move. */
static int64_t error_of(const struct pp_waited *w, int64_t begin, int64_t end, int64_t wait)
{
	int64_t later, earlier, more, less;

	if (__builtin_add_overflow(w->until, w->bound_ns, &later))
		later = INT64_MAX;
	if (__builtin_sub_overflow(w->until, w->bound_ns, &earlier))
		earlier = INT64_MIN;
	more = pp_wrap_minus(part_before(later, begin, end), wait);
	less = pp_wrap_minus(wait, part_before(earlier, begin, end));
	return more > less ? more : less;
}

int64_t pp_waiting_charge(struct pp_dataset *d, const struct pp_waited *w, size_t step, int64_t begin, int64_t end)
{
	struct pp_row_cell *cell = &d->cell[step * d->workers + w->worker];
	struct pp_row_arrival *row = &d->arrival[w->row];
	int64_t wait = part_before(w->until, begin, end);

	cell->wait_ns = pp_wrap_plus(cell->wait_ns, wait);
	cell->transfer_ns = pp_wrap_plus(cell->transfer_ns, pp_wrap_minus(pp_wrap_minus(end, begin), wait));
	if (w->waits_for < 0)
		return wait;
	row->exposed_wait_ns = pp_wrap_plus(row->exposed_wait_ns, wait);
	cell = &d->cell[step * d->workers + (size_t)w->waits_for];
	cell->late_ns = pp_wrap_plus(cell->late_ns, wait);
	cell->late_error_ns = pp_wrap_plus(cell->late_error_ns, error_of(w, begin, end, wait));
	return wait;
}

int pp_waiting_is_later(int64_t until, int64_t waits_for, int64_t than_until, int64_t than_waits_for)
{
	return until > than_until || (until == than_until && waits_for >= 0 && waits_for < than_waits_for);
}

/* The rule of waiting; see waiting.h. Called by collective.c and finish.c. */
#include "aggregate/analyze/waiting.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

enum {
	SIDES = 3, /* none, or one of the two groups of an intercommunicator */
	NEEDS_NOBODY = -1,
	NEEDS_UNKNOWN = -2
};

PP_COMPARE_BY_2(compare_key, struct pp_waiting_order, key, row)

static int place_members(struct pp_waiting *w, const struct pp_row_communicator *comm)
{
	struct pp_waiting_order *place;

	if (w->placed == comm)
		return 0;
	place = realloc(w->place, (comm->size + (size_t)1) * sizeof(*place));
	if (!place)
		return -ENOMEM;
	w->place = place;
	w->placed = comm;
	w->places = comm->size;
	for (uint32_t i = 0; i < comm->size; i++)
		place[i] = (struct pp_waiting_order){comm->member[i], i};
	qsort(place, comm->size, sizeof(*place), compare_key);
	return 0;
}

/* Rank in the communicator; the world rank where the members are unknown. */
static int64_t place_of(const struct pp_waiting *w, const struct pp_row_communicator *comm, int32_t rank)
{
	size_t n = comm && comm->member ? w->places : 0, low = PP_PARTITION(n, at, w->place[at].key < rank);

	return low < n && w->place[low].key == rank ? (int64_t)w->place[low].row : rank;
}

/* Each row waits for the latest arrival among lower ranks of the communicator. */
static int need_lower(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(w->d, c->communicator);
	struct pp_waiting_order *order = w->order;
	int64_t last = -1;

	if (comm && comm->member && place_members(w, comm) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->row_count; i++)
		order[i] = (struct pp_waiting_order){place_of(w, comm, row[i].worker), i};
	qsort(order, c->row_count, sizeof(*order), compare_key);
	for (uint32_t i = 0, n; i < c->row_count; i += n) {
		for (n = 0; i + n < c->row_count && order[i + n].key == order[i].key; n++)
			w->needs[order[i + n].row] = last;
		for (uint32_t k = i; k < i + n; k++) {
			int64_t one = order[k].row;

			/* Of equal arrivals the first row. */
			if (row[one].is_empty)
				continue;
			if (last < 0 || row[one].arrival_ns > row[last].arrival_ns ||
			    (one < last && row[one].arrival_ns == row[last].arrival_ns))
				last = one;
		}
	}
	return 0;
}

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

		if (row[i].exit_open || row[i].exit_ns >= edge)
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

/* The last arrival whose data a row of this side receives: of an intercommunicator the other group's. Of equal arrivals the
 * first row. */
static int64_t last_for(const struct pp_row_collective *c, const struct pp_row_arrival *row, uint32_t side)
{
	int64_t last = -1;

	for (uint32_t i = 0; i < c->row_count; i++)
		if (!row[i].is_empty && (!side || row[i].side != side) && (last < 0 || row[i].arrival_ns > row[last].arrival_ns))
			last = i;
	return last;
}

/* A receiver needs the message; a sender needs the receiver where it was still sending when that arrived. */
static void need_other_end(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	for (uint32_t i = 0; i < c->row_count; i++) {
		const struct pp_row_arrival *other = c->row_count == 2 ? &row[1 - i] : NULL;

		w->needs[i] = other && (!row[i].is_root || (!row[i].exit_open && row[i].exit_ns >= other->arrival_ns))
		                      ? 1 - (int64_t)i
		                      : -1;
	}
}

PP_COMPARE_BY(compare_worker, struct pp_row_arrival, worker)

/* First row of /neighbour of a rank in a communicator, or the one behind. */
static size_t first_source(const struct pp_dataset *d, uint64_t communicator, int32_t rank)
{
	return PP_PARTITION(d->neighbours, at,
	                    d->neighbour[at].communicator < communicator ||
	                            (d->neighbour[at].communicator == communicator && d->neighbour[at].worker < rank));
}

/* Each row waits for the latest arrival among the ranks from which it receives; of equal arrivals the lowest rank. It is unknown
 * where these are, or where one of them has no row: that one may be the last. */
static void need_near(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	const struct pp_dataset *d = w->d;

	for (uint32_t i = 0; i < c->row_count; i++) {
		size_t first = first_source(d, c->communicator, row[i].worker), at = first;
		int64_t last = NEEDS_NOBODY;

		for (; at < d->neighbours && d->neighbour[at].communicator == c->communicator &&
		       d->neighbour[at].worker == row[i].worker;
		     at++) {
			const struct pp_row_arrival key = {.worker = d->neighbour[at].source},
			                            *one = bsearch(&key, row, c->row_count, sizeof(key), compare_worker);

			if (key.worker < 0 || key.worker == row[i].worker)
				continue;
			if (!one)
				last = NEEDS_UNKNOWN;
			else if (last != NEEDS_UNKNOWN && !one->is_empty && (last < 0 || one->arrival_ns > row[last].arrival_ns))
				last = one - row;
		}
		w->needs[i] = at == first ? NEEDS_UNKNOWN : last;
	}
}

static int set_needs(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	enum pp_mpi_class class = pp_mpi_call_info(c->operation)->class;
	int64_t root = -1, last[SIDES] = {0};
	int sides = 0;

	if (c->message) {
		need_other_end(w, c, row);
		return 0;
	}
	for (uint32_t i = 0; i < c->row_count && root < 0; i++)
		root = row[i].is_root ? (int64_t)i : -1;
	for (uint32_t i = 0; i < c->row_count; i++)
		sides |= row[i].side != 0;
	for (uint32_t side = 0; side < (sides ? SIDES : 1); side++)
		last[side] = last_for(c, row, side);
	if (class == PP_MPI_PREFIX && need_lower(w, c, row) < 0)
		return -ENOMEM;
	if (class == PP_MPI_NEAR)
		need_near(w, c, row);
	for (uint32_t i = 0; i < c->row_count; i++) {
		if (class == PP_MPI_FROM_ROOT)
			w->needs[i] = root >= 0 && !row[root].is_empty ? root : -1;
		else if (class != PP_MPI_PREFIX && class != PP_MPI_NEAR)
			w->needs[i] = class != PP_MPI_TO_ROOT || i == root ? last[row[i].side % SIDES] : -1;
	}
	if (may_leave_early(c->operation))
		need_earlier(w, c, row);
	for (uint32_t i = 0; i < c->row_count; i++)
		if (row[i].needs != PP_ROW_NEEDS_ALL)
			w->needs[i] = NEEDS_NOBODY;
	return 0;
}

/* One end only, more than two, two of one kind, or ends of different messages. */
static int is_odd_message(const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	return c->message && (c->row_count != 2 || row[0].is_root == row[1].is_root || c->mismatch);
}

static void set_until(struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	int is_odd = w->is_doubled || w->is_mixed || w->is_unknown || is_odd_message(c, row);

	for (uint32_t i = 0; i < c->row_count; i++) {
		struct pp_waited *one = &w->row[i];
		const struct pp_row_arrival *needs = w->needs[i] < 0 ? NULL : &row[w->needs[i]];

		one->row = c->row_first + i;
		one->until = row[i].arrival_ns;
		one->waits_for = -1;
		one->bound_ns = 0;
		one->is_unsplit = is_odd || row[i].needs == PP_ROW_NEEDS_SOME || w->needs[i] == NEEDS_UNKNOWN;
		w->unsplit += !is_odd && one->is_unsplit;
		if (one->is_unsplit)
			continue;
		/* Between clocks that are not joined no arrival is earlier or later: no waiting is attributed. */
		if (!needs || needs->arrival_ns <= row[i].arrival_ns || c->bound_ns == PP_BOUND_UNKNOWN)
			continue;
		if (w->row[w->needs[i]].worker == one->worker) /* no rank waits for itself: pp_waiting.doubled sees to it */
			continue;
		one->until = needs->arrival_ns < row[i].exit_ns ? needs->arrival_ns : row[i].exit_ns;
		one->waits_for = (int32_t)w->row[w->needs[i]].worker;
		one->bound_ns = pp_bounds_arrivals(&w->bounds, &w->event[i], &w->event[w->needs[i]]);
	}
}

/* Index of the step in which `time` lies on that worker; -1: none. */
static int64_t step_at(const struct pp_dataset *d, size_t worker, int64_t time)
{
	const struct pp_row_cell *cell = d->cell + worker;
	size_t low = 0, high = d->steps;

	/* Numbers rise with time on every rank; absent cells are skipped downwards. */
	while (low < high) {
		size_t middle = low + (high - low) / 2, at = middle;

		while (at > low && !cell[at * d->workers].present)
			at--;
		if (!cell[at * d->workers].present)
			low = middle + 1;
		else if (time < cell[at * d->workers].begin_ns)
			high = at;
		else if (time < cell[at * d->workers].end_ns)
			return (int64_t)at;
		else
			low = middle + 1;
	}
	return -1;
}

/* Step of the last arrival, else of any row; INT64_MIN: none. */
static int64_t step_of(const struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row, size_t last)
{
	for (size_t i = 0; i < c->row_count; i++) {
		size_t who = (last + i) % c->row_count;
		int64_t step = step_at(w->d, w->row[who].worker, row[who].arrival_ns);

		if (step >= 0)
			return w->d->step[step].number;
	}
	return INT64_MIN;
}

/* Fills times, root and bound; returns the row of the last arrival. */
static size_t look_at_rows(struct pp_waiting *w, struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(w->d, c->communicator);
	size_t last = 0;

	w->is_doubled = w->is_mixed = 0;
	w->is_unknown = comm && comm->kind == PP_COMM_UNKNOWN;
	c->ranks = (int32_t)c->row_count;
	c->root = -1;
	c->first_ns = row[0].arrival_ns;
	c->end_ns = INT64_MIN;
	for (uint32_t i = 0; i < c->row_count; i++) {
		uint32_t worker = (uint32_t)pp_dataset_worker(w->d, row[i].worker);

		w->row[i].worker = worker;
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
		return pp_bounds_check(&w->bounds, w->event, c->row_count, &w->causality);
	}
	for (uint32_t side = sides ? 1 : 0; side <= (sides ? 2u : 0u); side++) {
		for (uint32_t i = 0; i < c->row_count; i++) {
			w->event[i].is_needed = !row[i].is_empty && (!side || row[i].side != side);
			w->event[i].needs = row[i].needs == PP_ROW_NEEDS_ALL && row[i].side == side;
		}
		violated |= pp_bounds_check(&w->bounds, w->event, c->row_count, &w->causality);
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
		violated |= pp_bounds_check(&w->bounds, two, 2, &w->causality);
	}
	return violated;
}

/* Does its class say that a rank leaves when those that it needs have arrived, not before? */
static int is_ordered(const struct pp_waiting *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	enum pp_mpi_class class = pp_mpi_call_info(c->operation)->class;

	if (c->message)
		return !is_odd_message(c, row);
	return (class == PP_MPI_ALL || class == PP_MPI_NEAR) && !may_leave_early(c->operation) && !w->is_doubled && !w->is_mixed;
}

static void sum_up(struct pp_waiting *w, struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(w->d, c->communicator);
	const struct pp_mpi_call *info = pp_mpi_call_info(c->operation);
	int is_odd = is_odd_message(c, row);
	int known =
	        !w->is_mixed && !is_odd && (c->message || !comm || comm->size <= c->row_count); /* else the last may be missing */

	c->wait_ns = c->transfer_ns = 0;
	c->algbw = c->busbw = 0;
	for (uint32_t i = 0; i < c->row_count; i++) {
		known &= !row[i].exit_open;
		if (w->row[i].is_unsplit)
			continue;
		c->wait_ns = pp_wrap_plus(c->wait_ns, pp_wrap_minus(w->row[i].until, row[i].arrival_ns));
		c->transfer_ns = pp_wrap_plus(c->transfer_ns, pp_wrap_minus(row[i].exit_ns, w->row[i].until));
	}
	w->lone += c->message && c->row_count == 1;
	w->doubled += w->is_doubled && !c->message;
	w->mixed += w->is_mixed && !w->is_doubled;
	if (!c->mismatch && comm && !c->message && comm->size > c->row_count)
		c->mismatch = PP_MISMATCH_MISSING;
	if (is_ordered(w, c, row))
		w->violations +=
		        (uint64_t)(!c->message && info->class == PP_MPI_NEAR ? check_near(w, c, row) : check_order(w, c, row));
	if (known && c->bytes && c->bound_ns != PP_BOUND_UNKNOWN && pp_wrap_minus(c->end_ns, c->last_ns) > c->bound_ns) {
		c->algbw = (double)c->bytes * 1e9 / (double)pp_wrap_minus(c->end_ns, c->last_ns);
		c->busbw = c->algbw * (c->message ? 1 : pp_mpi_call_bus_factor(c->operation, c->ranks));
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
	w->room = 0;
	w->row = calloc(rows * 2, sizeof(*w->row));
	w->needs = calloc(rows * 2, sizeof(*w->needs));
	w->order = calloc(rows * 2, sizeof(*w->order));
	w->event = calloc(rows * 2, sizeof(*w->event));
	if (!w->row || !w->needs || !w->order || !w->event)
		return -ENOMEM;
	w->room = rows * 2;
	return 0;
}

int pp_waiting_solve(struct pp_waiting *w, struct pp_row_collective *c)
{
	const struct pp_row_arrival *row = &w->d->arrival[c->row_first];
	size_t last;

	if (make_room(w, c->row_count) < 0)
		return -ENOMEM;
	last = look_at_rows(w, c, row);
	if (set_needs(w, c, row) < 0)
		return -ENOMEM;
	set_until(w, c, row);
	sum_up(w, c, row);
	c->step = step_of(w, c, row, last);
	return 0;
}

void pp_waiting_write(const struct pp_waiting *w, const struct pp_row_collective *c, struct pp_dataset *d)
{
	for (uint32_t i = 0; i < c->row_count; i++)
		d->arrival[c->row_first + i].late_rank = w->row[i].waits_for < 0 ? -1 : d->worker[w->row[i].waits_for].rank;
}

void pp_waiting_release(struct pp_waiting *w)
{
	free(w->row);
	free(w->needs);
	free(w->order);
	free(w->event);
	free(w->place);
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
	row->wait_step = row->exposed_wait_ns ? (uint32_t)step + 1 : 0;
	cell = &d->cell[step * d->workers + (size_t)w->waits_for];
	cell->late_ns = pp_wrap_plus(cell->late_ns, wait);
	cell->late_error_ns = pp_wrap_plus(cell->late_error_ns, error_of(w, begin, end, wait));
	return wait;
}

int pp_waiting_is_later(int64_t until, int64_t waits_for, int64_t than_until, int64_t than_waits_for)
{
	return until > than_until || (until == than_until && waits_for >= 0 && waits_for < than_waits_for);
}

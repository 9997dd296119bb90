/* Replays the steps of all ranks with less local work; see replay.h. Called by what_if.c. */
#include "aggregate/tools/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/wrap.h"
#include "core/source/mpi_call.h"

enum { ROUNDING_NS = 500 * PP_CATEGORIES }; /* local_us are rounded, each by itself */

struct pp_replay_event {
	int64_t at;
	uint32_t index;        /* of a row, which arrives; or of an operation */
	uint32_t is_operation; /* its last rank arrives */
};

struct pp_replay_rank {
	int64_t shift_ns, begin_shift_ns, end_shift_ns; /* now; at the begin of the step; at the end of the step before */
	int64_t sum_ns, steps;                          /* replayed so far */
	size_t next;                                    /* place of its next row */
	int64_t floor_ns, floor_from; /* shift_ns at least, at this measured time: what it then had waited for must be there */
	size_t edge;                  /* 2 s: begin of step s, 2 s + 1: its end */
	int64_t edge_ns;              /* its next edge is not before */
	uint8_t given;                /* bits: parts of the next row whose saving is in shift_ns already */
};

/* For whom rows of an operation wait. */
enum needs { NEEDS_NOTHING, NEEDS_ALL, NEEDS_ROOT, NEEDS_AT_ROOT, NEEDS_NAMED };

struct pp_replay_need { /* of an operation */
	enum needs needs;
	uint32_t root; /* row of it; UINT32_MAX: none */
};

struct latest { /* the latest arrival, and that of the rows besides it */
	int64_t first_ns, second_ns;
	uint32_t who;
};

static const struct pp_row_arrival *rows_of(const struct pp_replay *r, const struct pp_row_collective *c)
{
	return &r->d->arrival[c->row_first];
}

static int is_whole(const struct pp_dataset *d, const struct pp_row_collective *c)
{
	return c->row_first <= d->arrivals && c->row_count <= d->arrivals - c->row_first;
}

static int has_odd_rows(const struct pp_row_collective *c, const struct pp_row_arrival *a)
{
	for (uint32_t i = 0; i < c->row_count; i++)
		if (a[i].needs == PP_ROW_OTHER_CALL || (i && a[i].worker == a[i - 1].worker))
			return 1;
	return 0;
}

static int has_sides(const struct pp_row_collective *c, const struct pp_row_arrival *a)
{
	for (uint32_t i = 0; i < c->row_count; i++)
		if (a[i].side)
			return 1;
	return 0;
}

static uint32_t root_of(const struct pp_row_collective *c, const struct pp_row_arrival *a)
{
	for (uint32_t i = 0; i < c->row_count; i++)
		if (a[i].is_root)
			return i;
	return UINT32_MAX;
}

static enum needs needs_of(const struct pp_row_collective *c, const struct pp_row_arrival *a)
{
	enum pp_mpi_class class = pp_mpi_call_info(c->operation)->class;

	if (c->bound_ns == INT64_MAX || c->row_count < 2 || has_odd_rows(c, a))
		return NEEDS_NOTHING;
	if (c->message)
		return c->row_count == 2 ? NEEDS_ALL : NEEDS_NOTHING;
	/* Which of them a rank needs is known of those only that it waited for. */
	if (has_sides(c, a) || class == PP_MPI_FENCE || class == PP_MPI_PREFIX || pp_mpi_class_is_file(class) ||
	    (class == PP_MPI_ALL && !pp_mpi_call_is_collective(c->operation)))
		return NEEDS_NAMED;
	switch (class) {
	case PP_MPI_FROM_ROOT:
		return NEEDS_ROOT;
	case PP_MPI_TO_ROOT:
		return NEEDS_AT_ROOT;
	default:
		return NEEDS_ALL;
	}
}

static int64_t replayed(const struct pp_replay *r, const struct pp_row_collective *c, uint32_t i)
{
	return pp_wrap_plus(rows_of(r, c)[i].arrival_ns, r->row[c->row_first + i].shift_ns);
}

static void take(struct latest *l, int64_t ns, uint32_t who)
{
	if (ns > l->first_ns) {
		l->second_ns = l->first_ns;
		l->first_ns = ns;
		l->who = who;
	} else if (ns > l->second_ns) {
		l->second_ns = ns;
	}
}

/* What a row waits for: the measured and the replayed time. */
struct awaited {
	int64_t was_ns, is_ns;
	int known;
};

struct look { /* at the rows of one operation */
	enum needs needs;
	struct latest was, is;
	uint32_t root;
};

static void look_at(struct look *look, const struct pp_replay *r, const struct pp_row_collective *c, uint32_t i)
{
	const struct pp_row_arrival *a = &rows_of(r, c)[i];

	if (a->is_empty)
		return;
	take(&look->was, a->arrival_ns, i);
	take(&look->is, replayed(r, c, i), i);
}

static struct look look_begin(const struct pp_replay *r, const struct pp_row_collective *c)
{
	const struct pp_replay_need *need = &r->need[c - r->d->collective];
	struct look look = {.needs = need->needs,
	                    .was = {INT64_MIN, INT64_MIN, UINT32_MAX},
	                    .is = {INT64_MIN, INT64_MIN, UINT32_MAX},
	                    .root = need->root};

	for (uint32_t i = 0; i < c->row_count && (look.needs == NEEDS_ALL || look.needs == NEEDS_AT_ROOT); i++)
		look_at(&look, r, c, i);
	return look;
}

static int64_t besides(const struct latest *l, uint32_t who)
{
	return l->who == who ? l->second_ns : l->first_ns;
}

static uint32_t row_of_rank(const struct pp_row_collective *c, const struct pp_row_arrival *a, int32_t rank)
{
	uint32_t low = 0, high = c->row_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (a[middle].worker < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->row_count && a[low].worker == rank ? low : UINT32_MAX;
}

static struct awaited awaited_by(const struct look *look, const struct pp_replay *r, const struct pp_row_collective *c, uint32_t i)
{
	const struct pp_row_arrival *a = rows_of(r, c);
	struct awaited w = {.known = 0};
	uint32_t one = UINT32_MAX;

	if (a[i].needs != PP_ROW_NEEDS_ALL)
		return w;
	switch (look->needs) {
	case NEEDS_AT_ROOT:
		if (i != look->root)
			return w;
		/* fall through */
	case NEEDS_ALL:
		w.was_ns = besides(&look->was, i);
		w.is_ns = besides(&look->is, i);
		w.known = w.was_ns != INT64_MIN;
		return w;
	case NEEDS_ROOT:
		one = look->root != i ? look->root : UINT32_MAX;
		break;
	case NEEDS_NAMED:
		one = a[i].exposed_wait_ns > 0 ? row_of_rank(c, a, a[i].late_rank) : UINT32_MAX;
		break;
	default:
		break;
	}
	if (one == UINT32_MAX || one == i || a[one].is_empty)
		return w;
	return (struct awaited){a[one].arrival_ns, replayed(r, c, one), 1};
}

/* A blocking call waits also where the wait is in no step; of other calls only the exposed part moves anything. */
static void set_waits(struct pp_replay *r, const struct pp_row_collective *c)
{
	const struct pp_row_arrival *a = rows_of(r, c);
	int blocks = !c->message && !pp_mpi_call_info(c->operation)->nonblocking;
	struct look look = look_begin(r, c);

	for (uint32_t i = 0; i < c->row_count; i++) {
		struct awaited w = awaited_by(&look, r, c, i);
		struct pp_replay_row *row = &r->row[c->row_first + i];
		int64_t until = a[i].exit_ns < w.was_ns ? a[i].exit_ns : w.was_ns;

		row->wait_ns = w.known && a[i].exposed_wait_ns > 0 ? a[i].exposed_wait_ns : 0;
		if (blocks && w.known && look.needs != NEEDS_NAMED && until > a[i].arrival_ns &&
		    pp_wrap_minus(until, a[i].arrival_ns) > row->wait_ns)
			row->wait_ns = pp_wrap_minus(until, a[i].arrival_ns);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct pp_replay_event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->is_operation != y->is_operation)
		return x->is_operation ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Which operations are replayed, and the number of their rows by rank, in worker_first[w + 1]. */
static size_t own_rows(struct pp_replay *r)
{
	const struct pp_dataset *d = r->d;
	size_t rows = 0;

	for (size_t i = 0; i < d->arrivals; i++)
		r->row[i].operation = r->row[i].worker = r->row[i].before = UINT32_MAX;
	for (size_t o = 0; o < d->collectives; o++) {
		const struct pp_row_collective *c = &d->collective[o];
		int good = is_whole(d, c);

		for (uint32_t i = 0; i < c->row_count && good; i++)
			good = r->row[c->row_first + i].operation == UINT32_MAX &&
			       pp_dataset_worker(d, rows_of(r, c)[i].worker) != SIZE_MAX;
		for (uint32_t i = 0; i < c->row_count && good; i++) {
			struct pp_replay_row *row = &r->row[c->row_first + i];

			row->operation = (uint32_t)o;
			row->worker = (uint32_t)pp_dataset_worker(d, rows_of(r, c)[i].worker);
			r->worker_first[row->worker + 1]++;
			rows++;
		}
	}
	return rows;
}

struct order {
	int64_t at;
	uint32_t row;
};

static int by_arrival(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int order_rows(struct pp_replay *r, size_t rows)
{
	const struct pp_dataset *d = r->d;
	struct order *order = calloc(rows + 1, sizeof(*order));
	size_t *at = calloc(d->workers + 1, sizeof(*at));

	if (!order || !at) {
		free(order);
		free(at);
		return -ENOMEM;
	}
	for (size_t w = 0; w < d->workers; w++)
		r->worker_first[w + 1] += r->worker_first[w];
	for (size_t o = 0; o < d->collectives; o++) {
		const struct pp_row_collective *c = &d->collective[o];

		for (uint32_t i = 0; is_whole(d, c) && i < c->row_count && r->row[c->row_first + i].operation == o; i++) {
			size_t w = r->row[c->row_first + i].worker;

			order[r->worker_first[w] + at[w]++] =
			        (struct order){rows_of(r, c)[i].arrival_ns, (uint32_t)(c->row_first + i)};
		}
	}
	for (size_t w = 0; w < d->workers; w++) {
		size_t first = r->worker_first[w], sorted = first + 1;

		while (sorted < r->worker_first[w + 1] && by_arrival(&order[sorted - 1], &order[sorted]) <= 0)
			sorted++;
		if (sorted < r->worker_first[w + 1])
			qsort(&order[first], r->worker_first[w + 1] - first, sizeof(*order), by_arrival);
	}
	for (size_t i = 0; i < rows; i++) {
		r->of_worker[i] = order[i].row;
		r->row[order[i].row].place = (uint32_t)i;
	}
	free(order);
	free(at);
	return 0;
}

static int64_t positive(int64_t ns)
{
	return ns > 0 ? ns : 0;
}

static int64_t local_of(const struct pp_row_arrival *a)
{
	int64_t local = 0;

	for (int k = 1; k <= PP_CATEGORIES; k++)
		if (k != PP_CATEGORY_DEVICE_COLLECTIVE && k != PP_CATEGORY_HOST_COMMUNICATION)
			local += (int64_t)a->local_us[k] * 1000;
	return local;
}

/* Where the rank went on after `before`, to come to `row`: at the end of a blocking call. A message is of a nonblocking one if the
 * rank called or worked before its end. */
static int64_t goes_on(const struct pp_replay *r, struct pp_replay_row *before, struct pp_replay_row *row)
{
	const struct pp_row_arrival *b = &r->d->arrival[before - r->row], *a = &r->d->arrival[row - r->row];
	const struct pp_row_collective *c = &r->d->collective[before->operation];
	int64_t after = pp_wrap_minus(a->arrival_ns, b->exit_ns);

	if (b->exit_open || b->exit_ns < b->arrival_ns)
		return b->arrival_ns;
	if (b->exit_ns > a->arrival_ns) {
		before->overlaps = row->overlaps = 1;
		return b->arrival_ns;
	}
	if ((c->message || pp_mpi_call_info(c->operation)->nonblocking) && after < INT64_MAX - ROUNDING_NS &&
	    local_of(a) > after + ROUNDING_NS) {
		before->overlaps = 1;
		return b->arrival_ns;
	}
	return b->exit_ns;
}

/* `from`: where the row before, in step `s`, let the rank go on; `to`: step of the row. Of several steps without a row between
 * them all of it is between. */
static void set_parts(struct pp_replay *r, struct pp_replay_row *row, size_t w, int64_t s, int64_t to, int64_t from)
{
	const struct pp_dataset *d = r->d;
	const struct pp_row_arrival *a = &d->arrival[row - r->row];
	int64_t local = local_of(a), inside, *part = row->part_ns;

	if (to >= 0 && from < d->cell[(size_t)to * d->workers + w].begin_ns) {
		int64_t begin = d->cell[(size_t)to * d->workers + w].begin_ns;
		int64_t end = s >= 0 ? d->cell[(size_t)s * d->workers + w].end_ns : from;

		end = end < from ? from : end > begin ? begin : end;
		part[PP_REPLAY_TAIL] = pp_wrap_minus(end, from);
		part[PP_REPLAY_BETWEEN] = s >= 0 ? pp_wrap_minus(begin, end) : 0;
		part[PP_REPLAY_HEAD] = pp_wrap_minus(a->arrival_ns, begin);
	} else if (to >= 0 && a->arrival_ns > d->cell[(size_t)to * d->workers + w].end_ns) {
		int64_t end = d->cell[(size_t)to * d->workers + w].end_ns;

		end = end < from ? from : end;
		part[PP_REPLAY_TAIL] = pp_wrap_minus(end, from);
		part[PP_REPLAY_BETWEEN] = pp_wrap_minus(a->arrival_ns, end);
	} else {
		part[PP_REPLAY_HEAD] = pp_wrap_minus(a->arrival_ns, from);
	}
	for (int p = 0; p < PP_REPLAY_PARTS; p++)
		part[p] = positive(part[p]);
	if (part[PP_REPLAY_BETWEEN] > (int64_t)a->between_us * 1000 + ROUNDING_NS)
		part[PP_REPLAY_BETWEEN] = (int64_t)a->between_us * 1000;
	inside = pp_wrap_plus(part[PP_REPLAY_TAIL], part[PP_REPLAY_HEAD]);
	if (inside > local + ROUNDING_NS) {
		part[PP_REPLAY_TAIL] = (int64_t)((double)part[PP_REPLAY_TAIL] * (double)local / (double)inside);
		part[PP_REPLAY_HEAD] = (int64_t)((double)part[PP_REPLAY_HEAD] * (double)local / (double)inside);
	}
}

/* The step after `s` that the worker has; d->steps: none. */
static size_t step_after(const struct pp_dataset *d, size_t w, int64_t s)
{
	size_t next = (size_t)(s + 1);

	while (next < d->steps && !d->cell[next * d->workers + w].present)
		next++;
	return next;
}

static void set_worker(struct pp_replay *r, size_t w)
{
	const struct pp_dataset *d = r->d;
	size_t *first = &r->step_first[w], filled = 0;
	struct pp_replay_row *before = NULL;
	int64_t s = -1, was = -1;

	first[0] = r->worker_first[w];
	for (size_t i = r->worker_first[w]; i < r->worker_first[w + 1]; i++) {
		struct pp_replay_row *row = &r->row[r->of_worker[i]];
		const struct pp_row_arrival *a = &d->arrival[r->of_worker[i]];
		int64_t from = a->arrival_ns;

		for (size_t next = step_after(d, w, s); next < d->steps; next = step_after(d, w, s)) {
			if (d->cell[next * d->workers + w].begin_ns > a->arrival_ns)
				break;
			s = (int64_t)next;
		}
		while (filled < (size_t)(s + 1))
			first[++filled * d->workers] = i;
		if (before) {
			from = goes_on(r, before, row);
			row->before = before->operation;
		} else if (s >= 0) {
			from = d->cell[(size_t)s * d->workers + w].begin_ns;
		}
		set_parts(r, row, w, was, s, from);
		before = row;
		was = s;
	}
	while (filled < d->steps + 1)
		first[++filled * d->workers] = r->worker_first[w + 1];
}

/* A row has an event of its own where its rank does something else before the operation's last rank arrives. */
static int list_events(struct pp_replay *r, size_t rows)
{
	const struct pp_dataset *d = r->d;

	r->event = malloc((rows + d->collectives + 1) * sizeof(*r->event));
	if (!r->event)
		return -ENOMEM;
	for (size_t o = 0; o < d->collectives; o++) {
		const struct pp_row_collective *c = &d->collective[o];
		int64_t last = INT64_MIN;

		if (!is_whole(d, c) || !c->row_count || r->row[c->row_first].operation != o)
			continue;
		for (uint32_t i = 0; i < c->row_count; i++)
			last = rows_of(r, c)[i].arrival_ns > last ? rows_of(r, c)[i].arrival_ns : last;
		for (uint32_t i = 0; i < c->row_count; i++) {
			const struct pp_replay_row *row = &r->row[c->row_first + i];
			size_t next = row->place + (size_t)1;

			if (next < r->worker_first[row->worker + 1] && d->arrival[r->of_worker[next]].arrival_ns <= last)
				r->event[r->events++] =
				        (struct pp_replay_event){rows_of(r, c)[i].arrival_ns, (uint32_t)(c->row_first + i), 0};
		}
		r->event[r->events++] = (struct pp_replay_event){last, (uint32_t)o, 1};
		r->need[o] = (struct pp_replay_need){needs_of(c, rows_of(r, c)), root_of(c, rows_of(r, c))};
		set_waits(r, c);
	}
	qsort(r->event, r->events, sizeof(*r->event), by_time);
	return 0;
}

int pp_replay_init(const struct pp_dataset *d, struct pp_replay *ret_replay)
{
	struct pp_replay r = {.d = d};
	size_t rows = 0;
	int rc = d->arrivals < UINT32_MAX && d->collectives < UINT32_MAX ? 0 : -ENOMEM;

	if (!rc) {
		r.row = calloc(d->arrivals + 1, sizeof(*r.row));
		r.worker_first = calloc(d->workers + 2, sizeof(*r.worker_first));
		r.step_first = calloc((d->steps + 2) * (d->workers + 1), sizeof(*r.step_first));
		r.transfer_saved_ns = calloc(d->collectives + 1, sizeof(*r.transfer_saved_ns));
		r.need = calloc(d->collectives + 1, sizeof(*r.need));
		r.rank = calloc(d->workers + 1, sizeof(*r.rank));
		rc = r.row && r.worker_first && r.step_first && r.transfer_saved_ns && r.need && r.rank ? 0 : -ENOMEM;
	}
	if (!rc) {
		rows = own_rows(&r);
		r.of_worker = malloc((rows + 1) * sizeof(*r.of_worker));
		rc = r.of_worker ? order_rows(&r, rows) : -ENOMEM;
	}
	for (size_t w = 0; w < d->workers && !rc; w++)
		set_worker(&r, w);
	if (!rc)
		rc = list_events(&r, rows);
	if (rc) {
		pp_replay_release(&r);
		return rc;
	}
	*ret_replay = r;
	return 0;
}

void pp_replay_reset(struct pp_replay *r)
{
	for (size_t i = 0; i < r->d->arrivals; i++)
		memset(r->row[i].saved_ns, 0, sizeof(r->row[i].saved_ns));
	memset(r->transfer_saved_ns, 0, r->d->collectives * sizeof(*r->transfer_saved_ns));
}

/* What the scenario saves of a part of the rank's next row, once. */
static void give(struct pp_replay *r, size_t w, enum pp_replay_part part)
{
	struct pp_replay_rank *rank = &r->rank[w];

	if (rank->next >= r->worker_first[w + 1] || rank->given & 1 << part)
		return;
	rank->given |= (uint8_t)(1 << part);
	rank->shift_ns = pp_wrap_minus(rank->shift_ns, r->row[r->of_worker[rank->next]].saved_ns[part]);
}

/* A call that waits for several operations has its waiting in the row of the last of them. The others may now be the last. */
static void apply_floor(struct pp_replay_rank *rank, int64_t time)
{
	if (rank->floor_from > time)
		return;
	rank->shift_ns = rank->floor_ns > rank->shift_ns ? rank->floor_ns : rank->shift_ns;
	rank->floor_from = INT64_MAX;
	rank->floor_ns = INT64_MIN;
}

static void keep_floor(struct pp_replay_rank *rank, const struct awaited *w, int64_t exit_ns)
{
	int64_t floor = pp_wrap_minus(w->is_ns, exit_ns);

	if (exit_ns < w->was_ns)
		return;
	rank->floor_from = rank->floor_ns == INT64_MIN || exit_ns > rank->floor_from ? exit_ns : rank->floor_from;
	rank->floor_ns = floor > rank->floor_ns ? floor : rank->floor_ns;
}

/* Time between a step and the one before, where the rank has both. */
static void add_gap(struct pp_replay *r, size_t w, size_t s)
{
	const struct pp_dataset *d = r->d;
	const struct pp_row_cell *cell = &d->cell[s * d->workers + w], *before = s ? cell - d->workers : NULL;
	struct pp_replay_rank *rank = &r->rank[w];

	if (!before || !before->present || d->step[s].number != pp_wrap_plus(d->step[s - 1].number, 1))
		return;
	rank->sum_ns = pp_wrap_plus(rank->sum_ns, pp_wrap_plus(pp_wrap_minus(cell->begin_ns, before->end_ns),
	                                                       pp_wrap_minus(rank->begin_shift_ns, rank->end_shift_ns)));
}

/* Begins and ends of the rank's steps up to a measured time. */
static void pass_edges(struct pp_replay *r, size_t w, int64_t until)
{
	const struct pp_dataset *d = r->d;
	struct pp_replay_rank *rank = &r->rank[w];

	for (; rank->edge_ns <= until && rank->edge < 2 * d->steps; rank->edge++) {
		size_t s = rank->edge / 2;
		const struct pp_row_cell *cell = &d->cell[s * d->workers + w];
		int is_end = rank->edge % 2 != 0;
		int64_t ns;

		if (!cell->present)
			continue;
		rank->edge_ns = is_end ? cell->end_ns : cell->begin_ns;
		if (rank->edge_ns > until)
			break;
		apply_floor(rank, rank->edge_ns);
		give(r, w, is_end ? PP_REPLAY_TAIL : PP_REPLAY_BETWEEN);
		if (!is_end) {
			rank->begin_shift_ns = rank->shift_ns;
			add_gap(r, w, s);
			continue;
		}
		ns = pp_wrap_plus(cell->step_ns, pp_wrap_minus(rank->shift_ns, rank->begin_shift_ns));
		rank->end_shift_ns = rank->shift_ns;
		rank->sum_ns = pp_wrap_plus(rank->sum_ns, ns);
		rank->steps++;
	}
	apply_floor(rank, until);
}

static void arrive(struct pp_replay *r, struct pp_replay_row *row)
{
	struct pp_replay_rank *rank = &r->rank[row->worker];

	row->shift_ns = rank->shift_ns;
	if (rank->next > row->place) /* only where times contradict each other */
		return;
	if (rank->next < row->place)
		rank->given = 0;
	rank->next = row->place;
	pass_edges(r, row->worker, r->d->arrival[row - r->row].arrival_ns);
	for (int p = 0; p < PP_REPLAY_PARTS; p++)
		give(r, row->worker, (enum pp_replay_part)p);
	row->shift_ns = rank->shift_ns;
	rank->next++;
	rank->given = 0;
}

static void complete(struct pp_replay *r, size_t o)
{
	const struct pp_row_collective *c = &r->d->collective[o];
	const struct pp_row_arrival *a = rows_of(r, c);
	int nonblocking = pp_mpi_call_info(c->operation)->nonblocking;
	struct look look;

	for (uint32_t i = 0; i < c->row_count; i++)
		if (r->rank[r->row[c->row_first + i].worker].next <= r->row[c->row_first + i].place)
			arrive(r, &r->row[c->row_first + i]);
	look = look_begin(r, c);
	for (uint32_t i = 0; i < c->row_count && look.needs != NEEDS_NOTHING; i++) {
		struct pp_replay_row *row = &r->row[c->row_first + i];
		struct pp_replay_rank *rank = &r->rank[row->worker];
		struct awaited w = awaited_by(&look, r, c, i);
		int64_t late = pp_wrap_minus(w.is_ns, w.was_ns), wait = 0;

		if (w.known && row->wait_ns > 0)
			wait = positive(pp_wrap_minus(pp_wrap_plus(row->wait_ns, late), rank->shift_ns));
		else if (w.known && w.was_ns <= a[i].arrival_ns && !nonblocking && !(c->message && (a[i].is_root || row->overlaps)))
			wait = positive(pp_wrap_minus(w.is_ns, replayed(r, c, i)));
		if (wait != row->wait_ns && row->wait_ns > 0)
			pass_edges(r, row->worker, w.was_ns < a[i].exit_ns ? w.was_ns : a[i].exit_ns);
		rank->shift_ns = pp_wrap_plus(rank->shift_ns, pp_wrap_minus(wait, row->wait_ns));
		if (w.known && row->wait_ns <= 0 && look.needs != NEEDS_NAMED && !a[i].exit_open && !(c->message && a[i].is_root))
			keep_floor(rank, &w, a[i].exit_ns);
		if (!nonblocking)
			rank->shift_ns = pp_wrap_minus(rank->shift_ns, r->transfer_saved_ns[o]);
	}
}

int64_t pp_replay_run(struct pp_replay *r)
{
	const struct pp_dataset *d = r->d;
	int64_t most = 0;

	for (size_t w = 0; w < d->workers; w++)
		r->rank[w] = (struct pp_replay_rank){
		        .next = r->worker_first[w], .floor_ns = INT64_MIN, .floor_from = INT64_MAX, .edge_ns = INT64_MIN};
	for (size_t i = 0; i < r->events; i++) {
		if (r->event[i].is_operation)
			complete(r, r->event[i].index);
		else
			arrive(r, &r->row[r->event[i].index]);
	}
	for (size_t w = 0; w < d->workers; w++)
		pass_edges(r, w, INT64_MAX);
	for (size_t w = 0; w < d->workers; w++) {
		int64_t mean = r->rank[w].steps ? r->rank[w].sum_ns / r->rank[w].steps : 0;

		most = mean > most ? mean : most;
	}
	return most;
}

void pp_replay_release(struct pp_replay *r)
{
	free(r->rank);
	free(r->event);
	free(r->need);
	free(r->transfer_saved_ns);
	free(r->step_first);
	free(r->worker_first);
	free(r->of_worker);
	free(r->row);
}

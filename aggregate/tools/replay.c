/* Replays the steps of all ranks with less local work; see replay.h. Called by what_if.c. */
#include "aggregate/tools/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

enum { ROUNDING_NS = 500 * PP_CATEGORIES }; /* local_us are rounded, each by itself */

/* Events are rows, which arrive, and operations, whose last rank arrives; at one time rows are first. */
#define OPERATION UINT32_C(0x80000000)

struct pp_replay_rank {
	int64_t shift_ns, begin_shift_ns, end_shift_ns; /* now; at the begin of the step; at the end of the step before */
	int64_t sum_ns;                                 /* replayed so far */
	size_t next;                                    /* place of its next row */
	int64_t floor_ns, floor_from; /* shift_ns at least, at this measured time: what it then had waited for must be there */
	size_t edge;                  /* 2 i: begin of its span i, 2 i + 1: its end */
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

static size_t worker_of(const struct pp_replay *r, const struct pp_row_arrival *a)
{
	return pp_ledger_worker(&r->ledger, a->worker);
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
	uint32_t low = (uint32_t)PP_PARTITION(c->row_count, at, a[at].worker < rank);

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
static int64_t goes_on(struct pp_replay *r, uint32_t before, uint32_t row)
{
	const struct pp_row_arrival *b = &r->d->arrival[before], *a = &r->d->arrival[row];
	const struct pp_row_collective *c = &r->d->collective[r->ledger.operation[before]];
	int64_t after = pp_wrap_minus(a->arrival_ns, b->exit_ns);

	if (b->exit_open || b->exit_ns < b->arrival_ns)
		return b->arrival_ns;
	if (b->exit_ns > a->arrival_ns) {
		r->row[before].overlaps = r->row[row].overlaps = 1;
		return b->arrival_ns;
	}
	if ((c->message || pp_mpi_call_info(c->operation)->nonblocking) && after < INT64_MAX - ROUNDING_NS &&
	    local_of(a) > after + ROUNDING_NS) {
		r->row[before].overlaps = 1;
		return b->arrival_ns;
	}
	return b->exit_ns;
}

/* `from`: where the row before, in span `was`, let the rank go on; `to`: span of the row; NULL: before the first. Of several spans
 * without a row between them all of it is between. */
static void set_parts(struct pp_replay *r, uint32_t row, const struct pp_replay_span *was, const struct pp_replay_span *to,
                      int64_t from)
{
	const struct pp_row_arrival *a = &r->d->arrival[row];
	int64_t local = local_of(a), inside, *part = r->row[row].part_ns;

	if (to && from < to->begin_ns) {
		int64_t end = was ? was->end_ns : from;

		end = end < from ? from : end > to->begin_ns ? to->begin_ns : end;
		part[PP_REPLAY_TAIL] = pp_wrap_minus(end, from);
		part[PP_REPLAY_BETWEEN] = was ? pp_wrap_minus(to->begin_ns, end) : 0;
		part[PP_REPLAY_HEAD] = pp_wrap_minus(a->arrival_ns, to->begin_ns);
	} else if (to && a->arrival_ns > to->end_ns) {
		int64_t end = to->end_ns < from ? from : to->end_ns;

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

/* Numbers of calls have 16 bits; those of MPI, NCCL and torch need 10. */
static uint32_t alike_of(const struct pp_replay *r, uint32_t row, uint32_t before)
{
	const struct pp_row_collective *c = &r->d->collective[r->ledger.operation[row]];
	uint32_t side = c->message && r->d->arrival[row].is_root;

	return (uint32_t)c->operation << 17 | side << 16 |
	       (before == PP_LEDGER_NONE ? UINT16_MAX : r->d->collective[r->ledger.operation[before]].operation);
}

static void set_worker(struct pp_replay *r, size_t w)
{
	const struct pp_dataset *d = r->d;
	const struct pp_replay_span *next = r->span + w * d->steps, *end = next + r->spans[w], *s = NULL, *was = NULL;
	size_t *first = &r->step_first[w], filled = 0;
	uint32_t before = PP_LEDGER_NONE;

	first[0] = r->ledger.first[w];
	for (size_t i = r->ledger.first[w]; i < r->ledger.first[w + 1]; i++) {
		uint32_t row = r->ledger.list[i];
		int64_t from = d->arrival[row].arrival_ns;

		while (next < end && next->begin_ns <= d->arrival[row].arrival_ns)
			s = next++;
		while (s && filled < (size_t)s->step + 1)
			first[++filled * d->workers] = i;
		if (before != PP_LEDGER_NONE)
			from = goes_on(r, before, row);
		else if (s)
			from = s->begin_ns;
		r->row[row].alike = alike_of(r, row, before);
		set_parts(r, row, was, s, from);
		before = row;
		was = s;
	}
	while (filled < d->steps + 1)
		first[++filled * d->workers] = r->ledger.first[w + 1];
}

static void list_spans(struct pp_replay *r)
{
	const struct pp_dataset *d = r->d;

	for (size_t s = 0; s < d->steps; s++)
		for (size_t w = 0; w < d->workers; w++) {
			const struct pp_row_cell *cell = &d->cell[s * d->workers + w];
			struct pp_replay_span *to = &r->span[w * d->steps + r->spans[w]];

			if (!cell->present)
				continue;
			*to = (struct pp_replay_span){cell->begin_ns, cell->end_ns, cell->step_ns, (uint32_t)s,
			                              r->spans[w] && to[-1].step + (size_t)1 == s &&
			                                      d->step[s].number == pp_wrap_plus(d->step[s - 1].number, 1)};
			r->spans[w]++;
		}
}

/* All its rows are of it, and of ranks that there are. */
static int is_good(const struct pp_replay *r, size_t o)
{
	const struct pp_row_collective *c = &r->d->collective[o];

	if (!is_whole(r->d, c) || !c->row_count)
		return 0;
	for (uint32_t i = 0; i < c->row_count; i++)
		if (r->ledger.operation[c->row_first + i] != o)
			return 0;
	return 1;
}

/* A row has an event of its own where its rank does something else before the operation's last rank arrives. */
static int list_events(struct pp_replay *r)
{
	const struct pp_dataset *d = r->d;

	r->event = malloc((d->arrivals + d->collectives + 1) * sizeof(*r->event));
	if (!r->event)
		return -ENOMEM;
	for (size_t o = 0; o < d->collectives; o++) {
		const struct pp_row_collective *c = &d->collective[o];
		const struct pp_row_arrival *a = rows_of(r, c);
		int64_t last = INT64_MIN;

		if (!is_good(r, o))
			continue;
		for (uint32_t i = 0; i < c->row_count; i++)
			last = a[i].arrival_ns > last ? a[i].arrival_ns : last;
		for (uint32_t i = 0; i < c->row_count; i++) {
			uint32_t row = (uint32_t)(c->row_first + i);
			size_t next = r->ledger.at[row] + (size_t)1;

			if (next < r->ledger.first[worker_of(r, &a[i]) + 1] && d->arrival[r->ledger.list[next]].arrival_ns <= last)
				r->event[r->events++] = (struct pp_ledger_key){a[i].arrival_ns, row, 0};
		}
		r->event[r->events++] = (struct pp_ledger_key){last, OPERATION | (uint32_t)o, 0};
		r->need[o] = (struct pp_replay_need){needs_of(c, a), root_of(c, a)};
		set_waits(r, c);
	}
	return pp_ledger_sort(r->event, r->events);
}

static int allocate(struct pp_replay *r)
{
	const struct pp_dataset *d = r->d;

	if (d->arrivals >= OPERATION || d->collectives >= OPERATION)
		return -EOVERFLOW;
	r->row = calloc(d->arrivals + 1, sizeof(*r->row));
	r->span = malloc((d->workers * d->steps + 1) * sizeof(*r->span));
	r->spans = calloc(d->workers + 1, sizeof(*r->spans));
	r->step_first = calloc((d->steps + 2) * (d->workers + 1), sizeof(*r->step_first));
	r->saves = calloc(d->workers + 1, sizeof(*r->saves));
	r->transfer_saved_ns = calloc(d->collectives + 1, sizeof(*r->transfer_saved_ns));
	r->need = calloc(d->collectives + 1, sizeof(*r->need));
	r->rank = calloc(d->workers + 1, sizeof(*r->rank));
	return r->row && r->span && r->spans && r->step_first && r->saves && r->transfer_saved_ns && r->need && r->rank ? 0
	                                                                                                                : -ENOMEM;
}

int pp_replay_init(const struct pp_dataset *d, struct pp_replay *ret_replay)
{
	struct pp_replay r = {.d = d};
	int rc = pp_ledger_init(&r.ledger, d);

	if (rc)
		return rc;
	rc = allocate(&r);
	if (!rc)
		list_spans(&r);
	for (size_t w = 0; w < d->workers && !rc; w++)
		set_worker(&r, w);
	if (!rc)
		rc = list_events(&r);
	if (rc) {
		pp_replay_release(&r);
		return rc;
	}
	*ret_replay = r;
	return 0;
}

/* New memory costs nothing where nothing is saved. */
int pp_replay_begin(struct pp_replay *r)
{
	free(r->saved_ns);
	r->saved_ns = calloc(r->ledger.first[r->d->workers] + 1, PP_REPLAY_PARTS * sizeof(*r->saved_ns));
	memset(r->saves, 0, r->d->workers);
	memset(r->transfer_saved_ns, 0, r->d->collectives * sizeof(*r->transfer_saved_ns));
	r->saved_sum_ns = 0;
	return r->saved_ns ? 0 : -ENOMEM;
}

void pp_replay_save(struct pp_replay *r, uint32_t row, enum pp_replay_part part, int64_t ns)
{
	r->saved_ns[(size_t)r->ledger.at[row] * PP_REPLAY_PARTS + part] = ns;
	r->saves[worker_of(r, &r->d->arrival[row])] = 1;
	r->saved_sum_ns = pp_wrap_plus(r->saved_sum_ns, ns);
}

void pp_replay_save_transfer(struct pp_replay *r, size_t operation, int64_t ns)
{
	r->transfer_saved_ns[operation] = ns;
	r->saved_sum_ns = pp_wrap_plus(r->saved_sum_ns, ns);
}

static uint32_t most_spans(const struct pp_replay *r)
{
	uint32_t most = 0;

	for (size_t w = 0; w < r->d->workers; w++)
		most = r->spans[w] > most ? r->spans[w] : most;
	return most;
}

int64_t pp_replay_most_gain(const struct pp_replay *r)
{
	uint32_t steps = most_spans(r);

	return steps ? r->saved_sum_ns / steps + 1 : 0;
}

int64_t pp_replay_measured(const struct pp_replay *r)
{
	uint32_t steps = most_spans(r);
	int64_t most = 0;

	for (size_t w = 0; w < r->d->workers; w++) {
		const struct pp_replay_span *span = r->span + w * r->d->steps;
		int64_t sum = 0;

		for (size_t i = 0; i < r->spans[w]; i++) {
			sum = pp_wrap_plus(sum, span[i].step_ns);
			if (span[i].follows)
				sum = pp_wrap_plus(sum, pp_wrap_minus(span[i].begin_ns, span[i - 1].end_ns));
		}
		if (r->spans[w] == steps && steps && sum / steps > most)
			most = sum / steps;
	}
	return most;
}

/* What the scenario saves of a part of the rank's next row, once. */
static void give(struct pp_replay *r, size_t w, enum pp_replay_part part)
{
	struct pp_replay_rank *rank = &r->rank[w];

	if (!r->saves[w] || rank->next >= r->ledger.first[w + 1] || rank->given & 1 << part)
		return;
	rank->given |= (uint8_t)(1 << part);
	rank->shift_ns = pp_wrap_minus(rank->shift_ns, r->saved_ns[rank->next * PP_REPLAY_PARTS + part]);
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

/* Begins and ends of the rank's steps up to a measured time. */
static void pass_edges(struct pp_replay *r, size_t w, int64_t until)
{
	const struct pp_replay_span *spans = r->span + w * r->d->steps;
	struct pp_replay_rank *rank = &r->rank[w];

	for (; rank->edge_ns <= until && rank->edge < (size_t)2 * r->spans[w]; rank->edge++) {
		const struct pp_replay_span *span = &spans[rank->edge / 2];
		int is_end = rank->edge % 2 != 0;

		rank->edge_ns = is_end ? span->end_ns : span->begin_ns;
		if (rank->edge_ns > until)
			break;
		apply_floor(rank, rank->edge_ns);
		give(r, w, is_end ? PP_REPLAY_TAIL : PP_REPLAY_BETWEEN);
		if (is_end) {
			rank->end_shift_ns = rank->shift_ns;
			rank->sum_ns = pp_wrap_plus(
			        rank->sum_ns, pp_wrap_plus(span->step_ns, pp_wrap_minus(rank->shift_ns, rank->begin_shift_ns)));
			continue;
		}
		rank->begin_shift_ns = rank->shift_ns;
		if (span->follows)
			rank->sum_ns =
			        pp_wrap_plus(rank->sum_ns, pp_wrap_plus(pp_wrap_minus(span->begin_ns, span[-1].end_ns),
			                                                pp_wrap_minus(rank->begin_shift_ns, rank->end_shift_ns)));
	}
	apply_floor(rank, until);
}

static void arrive(struct pp_replay *r, uint32_t row, size_t w)
{
	struct pp_replay_rank *rank = &r->rank[w];
	size_t place = r->ledger.at[row];

	r->row[row].shift_ns = rank->shift_ns;
	if (rank->next > place) /* only where times contradict each other */
		return;
	if (rank->next < place)
		rank->given = 0;
	rank->next = place;
	pass_edges(r, w, r->d->arrival[row].arrival_ns);
	for (int p = 0; p < PP_REPLAY_PARTS; p++)
		give(r, w, (enum pp_replay_part)p);
	r->row[row].shift_ns = rank->shift_ns;
	rank->next++;
	rank->given = 0;
}

static void complete(struct pp_replay *r, size_t o)
{
	const struct pp_row_collective *c = &r->d->collective[o];
	const struct pp_row_arrival *a = rows_of(r, c);
	int nonblocking = pp_mpi_call_info(c->operation)->nonblocking;
	struct look look;

	for (uint32_t i = 0; i < c->row_count; i++) {
		size_t w = worker_of(r, &a[i]);

		if (r->rank[w].next <= r->ledger.at[c->row_first + i])
			arrive(r, (uint32_t)(c->row_first + i), w);
	}
	look = look_begin(r, c);
	for (uint32_t i = 0; i < c->row_count && look.needs != NEEDS_NOTHING; i++) {
		struct pp_replay_row *row = &r->row[c->row_first + i];
		size_t worker = worker_of(r, &a[i]);
		struct pp_replay_rank *rank = &r->rank[worker];
		struct awaited w = awaited_by(&look, r, c, i);
		int64_t late = pp_wrap_minus(w.is_ns, w.was_ns), wait = 0;

		if (w.known && row->wait_ns > 0)
			wait = positive(pp_wrap_minus(pp_wrap_plus(row->wait_ns, late), rank->shift_ns));
		else if (w.known && w.was_ns <= a[i].arrival_ns && !nonblocking && !(c->message && (a[i].is_root || row->overlaps)))
			wait = positive(pp_wrap_minus(w.is_ns, replayed(r, c, i)));
		if (wait != row->wait_ns && row->wait_ns > 0)
			pass_edges(r, worker, w.was_ns < a[i].exit_ns ? w.was_ns : a[i].exit_ns);
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
	uint32_t steps = most_spans(r);
	int64_t most = 0;

	for (size_t w = 0; w < d->workers; w++)
		r->rank[w] = (struct pp_replay_rank){
		        .next = r->ledger.first[w], .floor_ns = INT64_MIN, .floor_from = INT64_MAX, .edge_ns = INT64_MIN};
	for (size_t i = 0; i < r->events; i++) {
		uint32_t one = r->event[i].row;

		if (one & OPERATION)
			complete(r, one & ~OPERATION);
		else
			arrive(r, one, worker_of(r, &d->arrival[one]));
	}
	for (size_t w = 0; w < d->workers; w++) {
		pass_edges(r, w, INT64_MAX);
		if (r->spans[w] == steps && steps && r->rank[w].sum_ns / steps > most)
			most = r->rank[w].sum_ns / steps;
	}
	return most;
}

void pp_replay_release(struct pp_replay *r)
{
	free(r->rank);
	free(r->event);
	free(r->need);
	free(r->transfer_saved_ns);
	free(r->saves);
	free(r->saved_ns);
	free(r->step_first);
	free(r->spans);
	free(r->span);
	free(r->row);
	pp_ledger_release(&r->ledger);
}

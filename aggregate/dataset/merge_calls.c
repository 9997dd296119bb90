/* Merges collectives of several hosts; see merge.h. Called by merge.c. finish.c evaluates them once all are merged. */
#include "aggregate/dataset/merge_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/order.h"
#include "core/base/compare.h"
#include "core/base/huge.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

struct piece { /* a part's rows of a collective */
	const struct pp_row_collective *c;
	uint64_t communicator; /* of its key, here so that sorting seldom looks at the row */
	uint32_t sequence, part;
	int32_t rank; /* the lowest of its rows */
	int is_message;
};

struct pick { /* a row of a part */
	const struct pp_row_arrival *row;
	int64_t arrival_ns; /* job time */
	uint32_t part;
	uint8_t is_other_call;
};

struct calls {
	struct pp_merge *m;
	struct pick *pick; /* rows of one collective */
	size_t picks, pick_room;
	uint32_t **exposed_of; /* [parts][exposeds]: index in d + 1; 0: of no row yet */
};

static int compare_call(const struct piece *x, const struct piece *y)
{
	struct pp_operation_key a, b;

	if (x->communicator != y->communicator)
		return x->communicator < y->communicator ? -1 : 1;
	if (!x->is_message && !y->is_message)
		return (x->sequence > y->sequence) - (x->sequence < y->sequence);
	a = pp_operation_key_of(x->c);
	b = pp_operation_key_of(y->c);
	return pp_operation_compare(&a, &b);
}

PP_COMPARE(compare_piece, struct piece, compare_call(x, y) ?: PP_UP(rank) ?: PP_UP(part))

PP_COMPARE_BY_2(compare_pick, struct pick, row->worker, arrival_ns)

/* Copies the segments of a row's call, in the order of rows. Returns their index + 1. */
static uint32_t take_exposed(struct calls *calls, size_t part, uint32_t exposed)
{
	const struct pp_dataset *from = calls->m->part[part];
	struct pp_dataset *d = calls->m->d;
	uint32_t *to = &calls->exposed_of[part][exposed], first = *to ? *to : (uint32_t)d->exposeds + 1;

	if (*to)
		return first;
	*to = first;
	for (int more = 1; more && exposed < from->exposeds; exposed++) {
		struct pp_exposed one = from->exposed[exposed];

		more = one.more;
		one.begin_ns = pp_wrap_plus(one.begin_ns, calls->m->shift[part]);
		one.step = calls->m->step_of[part][one.step] & INT32_MAX;
		d->exposed[d->exposeds++] = one;
	}
	return first;
}

/* Values of hosts are at most `most`, and so is their sum in any order. */
static int64_t add_up(int64_t a, int64_t b, int64_t most)
{
	return a < most - b ? a + b : most;
}

/* Of the same operation on other ranks. */
static void add_run(struct pp_row_collective *to, const struct pp_row_collective *c)
{
	to->device_ns = add_up(to->device_ns, c->device_ns, PP_BLOCK_TIME_MAX);
	to->exposed_ns = add_up(to->exposed_ns, c->exposed_ns, PP_BLOCK_TIME_MAX);
	to->device_ranks = (int32_t)add_up(to->device_ranks, c->device_ranks, INT32_MAX);
	to->exposed_ranks = (int32_t)add_up(to->exposed_ranks, c->exposed_ranks, INT32_MAX);
	to->shared_ranks = (int32_t)add_up(to->shared_ranks, c->shared_ranks, INT32_MAX);
	pp_row_fold(pp_table_desc(PP_TABLE_collective), to, c);
}

/* The first piece that has rows, but for what all pieces say. */
static void take_first(struct pp_row_collective *to, const struct pp_row_collective *c)
{
	const struct pp_row_collective all = *to;

	*to = *c;
	to->operation = all.operation;
	to->bytes = all.bytes;
	to->mismatch = all.mismatch;
	to->row_first = all.row_first;
}

static void pick_rows(struct calls *calls, const struct piece *piece, uint16_t call)
{
	const struct pp_merge *m = calls->m;
	const struct pp_row_arrival *row = &m->part[piece->part]->arrival[piece->c->row_first];

	for (uint32_t i = 0; i < piece->c->row_count; i++, row++)
		if (m->whole[piece->part] || pp_merge_has(m, piece->part, row->worker))
			calls->pick[calls->picks++] = (struct pick){row, pp_wrap_plus(row->arrival_ns, m->shift[piece->part]),
			                                            (uint32_t)piece->part, piece->c->operation != call};
}

static void take_row(struct calls *calls, const struct pick *pick)
{
	const struct pp_merge *m = calls->m;
	struct pp_dataset *d = m->d;
	struct pp_row_arrival *row = &d->arrival[d->arrivals];

	*row = *pick->row;
	if (pick->is_other_call)
		row->needs = PP_ROW_OTHER_CALL;
	row->arrival_ns = pick->arrival_ns;
	row->exit_ns = pp_wrap_plus(row->exit_ns, m->shift[pick->part]);
	if (row->device_begin_ns != INT64_MIN)
		row->device_begin_ns = pp_wrap_plus(row->device_begin_ns, m->shift[pick->part]);
	if (row->device_end_ns != INT64_MIN)
		row->device_end_ns = pp_wrap_plus(row->device_end_ns, m->shift[pick->part]);
	if (row->call) {
		row->call_begin_ns = pp_wrap_plus(row->call_begin_ns, m->shift[pick->part]);
		row->call_end_ns = pp_wrap_plus(row->call_end_ns, m->shift[pick->part]);
	}
	if (row->exposed)
		row->exposed = take_exposed(calls, pick->part, row->exposed - 1) & PP_EXPOSED_MOST;
	d->arrivals++;
}

/* How the pieces differ, beside what each of them knows. */
static void compare_with(struct pp_row_collective *c, const struct pp_row_collective *piece)
{
	if (piece->operation != c->operation)
		pp_mismatch_add(c, PP_MISMATCH_CALL);
	else if (piece->mismatch)
		pp_mismatch_add(c, (enum pp_row_mismatch)piece->mismatch);
	else if (piece->bytes != c->bytes && (c->message || pp_mpi_call_has_equal_bytes(c->operation)))
		pp_mismatch_add(c, PP_MISMATCH_BYTES);
}

/* Values that its part's ranks determine; finish.c sets the rest. */
static void join_pieces(struct calls *calls, const struct piece *piece, size_t n, struct pp_row_collective *c)
{
	struct pp_dataset *d = calls->m->d;
	size_t before;
	int in_order = 1;

	*c = *piece[0].c;
	c->mismatch = PP_MISMATCH_NONE;
	c->row_first = d->arrivals;
	calls->picks = 0;
	for (size_t i = 0; i < n; i++) {
		compare_with(c, piece[i].c);
		if (piece[i].c->bytes > c->bytes)
			c->bytes = piece[i].c->bytes;
		before = calls->picks;
		pick_rows(calls, &piece[i], c->operation);
		if (calls->picks > before && !before)
			take_first(c, piece[i].c);
		else if (calls->picks > before)
			add_run(c, piece[i].c);
	}
	for (size_t i = 1; i < calls->picks && in_order; i++)
		in_order = compare_pick(&calls->pick[i - 1], &calls->pick[i]) <= 0;
	if (!in_order)
		qsort(calls->pick, calls->picks, sizeof(*calls->pick), compare_pick);
	for (size_t i = 0; i < calls->picks; i++)
		take_row(calls, &calls->pick[i]);
	c->row_count = (uint32_t)calls->picks;
}

static int make_room(struct calls *calls, size_t *ret_pieces)
{
	size_t pieces = 0, rows = 0, exposeds = 0;
	struct pp_merge *m = calls->m;
	struct pp_dataset *d = m->d;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a part */
	calls->exposed_of = calloc(m->parts, sizeof(*calls->exposed_of));
	if (!calls->exposed_of)
		return -ENOMEM;
	for (size_t p = 0; p < m->parts; p++) {
		pieces += m->part[p]->collectives;
		rows += m->part[p]->arrivals;
		exposeds += m->part[p]->exposeds;
		calls->exposed_of[p] = calloc(m->part[p]->exposeds + 1, sizeof(**calls->exposed_of));
		if (!calls->exposed_of[p])
			return -ENOMEM;
	}
	if (exposeds >= PP_EXPOSED_MOST)
		return -ENOMEM;
	d->collective = pp_huge_calloc(pieces + 1, sizeof(*d->collective));
	d->arrival = pp_huge_calloc(rows + 1, sizeof(*d->arrival));
	d->exposed = pp_huge_calloc(exposeds + 1, sizeof(*d->exposed));
	*ret_pieces = pieces;
	return d->collective && d->arrival && d->exposed ? 0 : -ENOMEM;
}

static int need_picks(struct calls *calls, size_t rows)
{
	calls->picks = 0;
	if (rows < calls->pick_room)
		return 0;
	free(calls->pick);
	calls->pick_room = 2 * rows + 2;
	calls->pick = calloc(calls->pick_room, sizeof(*calls->pick));
	return calls->pick ? 0 : -ENOMEM;
}

static int merge_collectives(struct calls *calls)
{
	struct pp_merge *m = calls->m;
	struct pp_dataset *d = m->d;
	struct piece *piece;
	size_t all, at = 0;
	int rc = make_room(calls, &all);

	if (rc < 0)
		return rc;
	piece = calloc(all + 1, sizeof(*piece));
	if (!piece)
		return -ENOMEM;
	for (size_t p = 0; p < m->parts; p++) {
		for (size_t i = 0; i < m->part[p]->collectives; i++) {
			const struct pp_row_collective *c = &m->part[p]->collective[i];

			piece[at++] = (struct piece){.c = c,
			                             .communicator = c->communicator,
			                             .sequence = c->sequence,
			                             .part = (uint32_t)p,
			                             .rank = m->part[p]->arrival[c->row_first].worker,
			                             .is_message = c->message != 0};
		}
	}
	qsort(piece, all, sizeof(*piece), compare_piece);
	for (size_t i = 0, n, rows; i < all && rc == 0; i += n) {
		rows = piece[i].c->row_count;
		for (n = 1; i + n < all && compare_call(&piece[i + n], &piece[i]) == 0; n++)
			rows += piece[i + n].c->row_count;
		rc = need_picks(calls, rows);
		if (rc == 0)
			join_pieces(calls, &piece[i], n, &d->collective[d->collectives]);
		d->collectives += calls->picks > 0;
	}
	free(piece);
	return rc;
}

int pp_merge_collectives(struct pp_merge *m)
{
	struct calls calls = {.m = m};
	int rc = merge_collectives(&calls);

	for (size_t p = 0; calls.exposed_of && p < m->parts; p++)
		free(calls.exposed_of[p]);
	free(calls.exposed_of);
	free(calls.pick);
	return rc;
}

/* Makes the graph of operations from the rows of /collective; see make.h. Called by the tools. */
#include "aggregate/graph/make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/graph/needs.h"
#include "aggregate/graph/order.h"
#include "core/base/grow.h"
#include "core/base/huge.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"

enum { POST, DONE, KINDS };
enum { POSTS = 1, ENDS = 2, POLLS = 4, DEVICE = 8 };

/* A rank begins an operation, or completes it, or both; or it makes a call that has no row. */
struct entry {
	int64_t start, end;
	uint32_t id; /* row * KINDS + kind, then lone calls */
	uint32_t track;
	uint32_t call;  /* its other rows are of the same node; 0: it has none */
	uint32_t flags; /* 0: a lone call */
};

struct entries { /* in the order of operations: these are in the order of their first arrival, so a track's are nearly in order */
	struct entry *entry;
	size_t n;
	size_t *first;   /* [workers + 1] */
	uint32_t *order; /* by track, then in order of time */
};

/* How many rows an operation has: a damaged file may name rows that are not there, or rows twice. No more rows are looked at than
 * there are: *left is `arrivals` at the begin. */
static uint64_t rows_of(const struct pp_dataset *d, size_t operation, uint64_t *left)
{
	const uint64_t first = d->collective[operation].row_first, count = d->collective[operation].row_count;

	if (count > *left || first > d->arrivals - count)
		return 0;
	*left -= count;
	return count;
}

static int is_dense(const struct pp_dataset *d)
{
	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].rank != (int64_t)w)
			return 0;
	return 1;
}

static size_t worker_of(const struct pp_dataset *d, int dense, int32_t rank)
{
	if (dense)
		return rank >= 0 && (size_t)rank < d->workers ? (size_t)rank : SIZE_MAX;
	return pp_dataset_worker(d, rank);
}

/* Calls of /lone_call stand behind the rows: their ids go on. */
static uint32_t lone_id(const struct pp_dataset *d, size_t lone)
{
	return (uint32_t)(d->arrivals * KINDS + lone);
}

/* One-sided transfers, calls of files and local ones wait for no rank. */
static int may_wait(uint16_t operation)
{
	const enum pp_mpi_class class = pp_mpi_call_info(operation)->class;

	return class != PP_MPI_PUT && class != PP_MPI_GET && class != PP_MPI_PUTGET && class != PP_MPI_LOCAL &&
	       class != PP_MPI_LOCAL_INIT && !pp_mpi_class_is_file(class);
}

static void add_entry(struct entries *e, const struct entry *one)
{
	e->entry[e->n++] = *one;
	e->first[one->track + 1]++;
}

static void read_row(const struct pp_graph *g, struct entries *e, uint32_t i, uint32_t track)
{
	const struct pp_row_arrival *row = &g->d->arrival[i];
	const uint32_t flags = ENDS | (row->polls ? POLLS : 0);

	if (pp_graph_on_device(row)) /* it waits there: its node is the kernel */
		add_entry(e,
		          &(struct entry){row->device_begin_ns, row->device_end_ns, i * KINDS, track, 0, POSTS | DEVICE | flags});
	else if (!row->call || row->call_begin_ns == row->arrival_ns) /* it blocks, or no call that completes it was seen */
		add_entry(e, &(struct entry){row->arrival_ns, row->exit_ns, i * KINDS, track, row->call, POSTS | flags});
	else {
		add_entry(e, &(struct entry){row->arrival_ns, row->arrival_ns, i * KINDS, track, 0, POSTS});
		add_entry(e, &(struct entry){row->call_begin_ns, row->exit_ns, i * KINDS + DONE, track, row->call, flags});
	}
}

static void read_operation(struct pp_graph *g, struct entries *e, uint32_t operation, uint64_t rows, int dense)
{
	const struct pp_row_collective *c = &g->d->collective[operation];

	for (uint64_t i = c->row_first; i < c->row_first + rows; i++) {
		const size_t w = g->operation[i] == PP_GRAPH_NONE ? worker_of(g->d, dense, g->d->arrival[i].worker) : SIZE_MAX;

		if (w == SIZE_MAX)
			continue;
		g->operation[i] = operation;
		read_row(g, e, (uint32_t)i, (uint32_t)w);
	}
	g->kind[operation] = rows ? (uint8_t)pp_needs_kind(g->d, c) : PP_GRAPH_UNCLEAR;
}

static void read_dataset(struct pp_graph *g, struct entries *e)
{
	const struct pp_dataset *d = g->d;
	const int dense = is_dense(d);
	uint64_t left = d->arrivals;
	size_t step = SIZE_MAX;

	for (uint32_t c = 0; c < d->collectives; c++) {
		read_operation(g, e, c, rows_of(d, c, &left), dense);
		if (!c || d->collective[c].step != d->collective[c - 1].step)
			step = pp_dataset_step(d, d->collective[c].step);
		g->step[c] = step == SIZE_MAX ? PP_GRAPH_NONE : (uint32_t)step;
	}
	for (size_t i = 0; i < d->lone_calls; i++) {
		const struct pp_row_lone_call *c = &d->lone_call[i];
		const size_t w = worker_of(d, dense, c->worker);

		if (w != SIZE_MAX)
			add_entry(e, &(struct entry){c->begin_ns, c->end_ns, lone_id(d, i), (uint32_t)w, 0, 0});
	}
}

/* By time, then by id. */
static int sort_track(const struct entries *e, uint32_t *order, size_t n)
{
	struct pp_order_key *key;
	int rc, sorted = 1;

	for (size_t i = 1; i < n && sorted; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): order_tracks() has set all of them */
		const struct entry *a = &e->entry[order[i - 1]]; /* may warn use-of-uninitialized-value: the same */
		const struct entry *b = &e->entry[order[i]];
		sorted = a->start < b->start || (a->start == b->start && a->id < b->id);
	}
	if (sorted)
		return 0;
	key = malloc(n * sizeof(*key));
	if (!key)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		key[i] = (struct pp_order_key){e->entry[order[i]].start, e->entry[order[i]].id, order[i]};
	rc = pp_order_sort(key, n);
	for (size_t i = 0; i < n; i++)
		order[i] = key[i].other;
	free(key);
	return rc;
}

static int order_tracks(const struct pp_dataset *d, struct entries *e)
{
	int rc = 0;

	for (size_t w = 0; w < d->workers; w++)
		e->first[w + 1] += e->first[w];
	/* Each begin moves to the next one, and back. */
	for (size_t i = 0; i < e->n; i++)
		e->order[e->first[e->entry[i].track]++] = (uint32_t)i;
	memmove(e->first + 1, e->first, d->workers * sizeof(*e->first));
	e->first[0] = 0;
	for (size_t w = 0; w < d->workers && !rc; w++)
		rc = sort_track(e, e->order + e->first[w], e->first[w + 1] - e->first[w]);
	return rc;
}

/* Index of the rank's step in which `time` lies, from *step on; the rank's times rise. PP_GRAPH_NONE: it is in none. */
static uint32_t step_at(const struct pp_dataset *d, uint32_t track, int64_t time, size_t *step)
{
	const struct pp_row_cell *cell = d->cell + track;

	while (*step < d->steps && (!cell[*step * d->workers].present || cell[*step * d->workers].end_ns <= time))
		++*step;
	return *step < d->steps && cell[*step * d->workers].begin_ns <= time ? (uint32_t)*step : PP_GRAPH_NONE;
}

/* Work that a device did while it ran the kernel before did not wait for its end: it was over by then, or went on. */
static int is_beside(const struct pp_graph *g, const struct pp_node *before, const struct pp_row_arrival *row)
{
	const struct pp_row_arrival *one = before && before->rows ? &g->d->arrival[*pp_graph_rows(g, before)] : NULL;

	return row->device_input_ns > 0 && one && pp_graph_on_device(one) &&
	       (one->device_beside || pp_wrap_minus(row->device_begin_ns, row->device_input_ns) <= before->end);
}

struct maker {                     /* of a track */
	const struct entry *first; /* of the node at hand */
	uint32_t step;             /* a call outside of steps counts with the step before it */
	size_t at;                 /* for step_at() */
};

static void add_node(struct pp_graph *g, struct maker *m, const struct entry *e)
{
	const struct pp_dataset *d = g->d;
	const int lone = !e->flags;
	const uint32_t row = lone ? e->id - lone_id(d, 0) : e->id / KINDS;
	const uint32_t step = lone ? step_at(d, e->track, e->start, &m->at) : g->step[g->operation[row]];
	uint32_t flags = 0;

	if (lone && may_wait(d->lone_call[row].operation))
		flags = PP_NODE_UNKNOWN;
	if (e->flags & DEVICE && is_beside(g, m->first ? &g->node[g->nodes - 1] : NULL, &d->arrival[row]))
		flags = PP_NODE_BESIDE;
	m->first = e;
	m->step = step != PP_GRAPH_NONE ? step : m->step;
	g->node[g->nodes++] = (struct pp_node){.start = e->start,
	                                       .end = e->start,
	                                       .track = e->track,
	                                       .need = PP_GRAPH_NONE,
	                                       .peer = PP_GRAPH_NONE,
	                                       .row = row,
	                                       .lap = PP_GRAPH_NONE,
	                                       .step = m->step,
	                                       .flags = flags};
}

/* Rows that one call completes are of one node, and messages of a group that one kernel runs. */
static int is_of_node(const struct entry *first, const struct entry *e)
{
	if (!first || first->start != e->start)
		return 0;
	if (e->flags & DEVICE)
		return first->flags & DEVICE && first->end == e->end;
	return e->call && first->call == e->call && !((first->flags ^ e->flags) & POSTS);
}

/* The rows of the node at hand stand last. Returns 0, or -ENOMEM. */
static int add_row(struct pp_graph *g, struct pp_node *n, uint32_t row)
{
	const uint32_t first = n->row;

	if (!n->rows++)
		return 0;
	if (n->rows == 2) {
		n->row = (uint32_t)g->of_nodes;
		if (PP_GROW(g->of_node, g->of_nodes, g->of_room))
			return -ENOMEM;
		g->of_node[g->of_nodes++] = first;
	}
	if (PP_GROW(g->of_node, g->of_nodes, g->of_room))
		return -ENOMEM;
	g->of_node[g->of_nodes++] = row;
	return 0;
}

static int put_entry(struct pp_graph *g, struct maker *m, const struct entry *e)
{
	const uint32_t row = e->id / KINDS;
	struct pp_node *n;

	if (!is_of_node(m->first, e))
		add_node(g, m, e);
	n = &g->node[g->nodes - 1];
	n->end = e->end > n->end ? e->end : n->end;
	if (!e->flags)
		return 0;
	if (add_row(g, n, row))
		return -ENOMEM;
	n->flags |= e->flags & POLLS ? PP_NODE_POLLS : 0;
	if (e->flags & ENDS)
		g->done[row] = (uint32_t)(n - g->node);
	if (e->flags & POSTS) {
		g->post[row] = (uint32_t)(n - g->node);
		n->lap = n->lap == PP_GRAPH_NONE ? row : n->lap;
	}
	return 0;
}

/* Nodes of a track. Work before a call that begins nothing is in the lap of the next one that does. */
static int put_track(struct pp_graph *g, const struct entries *e, size_t track)
{
	struct maker m = {.step = PP_GRAPH_NONE};
	uint32_t lap = PP_GRAPH_NONE;
	int rc = 0;

	g->track[track] = g->nodes;
	for (size_t i = e->first[track]; i < e->first[track + 1] && !rc; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): order_tracks() has set all of them */
		rc = put_entry(g, &m, &e->entry[e->order[i]]);
	for (size_t n = g->nodes; n-- > g->track[track];) {
		if (g->node[n].lap == PP_GRAPH_NONE)
			g->node[n].lap = lap;
		lap = g->node[n].lap;
	}
	return rc;
}

/* The row needs the data of `other`, which decides when its call ends if nothing that it needs is later. Returns 1 where the data
 * came after the end: it cannot have waited for it. */
static int add_need(struct pp_graph *g, uint32_t row, uint32_t other)
{
	struct pp_node *n = &g->node[g->done[row]];
	const struct pp_node *m = &g->node[g->post[other]];

	if (m->track == n->track || m->start <= n->start)
		return 0;
	if (m->start > n->end)
		return 1;
	if (n->need == PP_GRAPH_NONE || g->node[n->need].start < m->start)
		n->need = g->post[other];
	return 0;
}

/* The row of the operation that its row waits for, as /collective says it; NONE. Rows stand in the order of ranks; most wait for
 * one, which `guess` was for the row before. */
static uint32_t late_row(const struct pp_graph *g, uint32_t operation, uint32_t row, uint32_t guess)
{
	const struct pp_row_collective *c = &g->d->collective[operation];
	const struct pp_row_arrival *all = g->d->arrival;
	const int32_t late = all[row].late_rank;
	uint32_t at = guess;

	if (late < 0)
		return PP_GRAPH_NONE;
	if (at == PP_GRAPH_NONE || all[at].worker != late)
		at = (uint32_t)(c->row_first + PP_PARTITION(c->row_count, i, all[c->row_first + i].worker < late));
	return at < c->row_first + c->row_count && all[at].worker == late && g->operation[at] == operation ? at : PP_GRAPH_NONE;
}

static void fill_needs(struct pp_graph *g, uint32_t operation)
{
	const struct pp_row_collective *c = &g->d->collective[operation];
	uint32_t late = PP_GRAPH_NONE;

	if (g->kind[operation] == PP_GRAPH_UNCLEAR)
		return;
	for (uint32_t row = (uint32_t)c->row_first; row < c->row_first + c->row_count; row++) {
		if (g->operation[row] != operation || g->done[row] == PP_GRAPH_NONE)
			continue;
		pp_graph_fetch(g, row + PP_GRAPH_AHEAD);
		late = late_row(g, operation, row, late);
		if (late != PP_GRAPH_NONE)
			g->dropped += (uint64_t)add_need(g, row, late);
	}
}

/* The row by which a node receives a message; NONE: it receives none. */
static uint32_t received_by(const struct pp_graph *g, const struct pp_node *n)
{
	for (uint32_t i = 0; i < n->rows; i++) {
		const uint32_t row = pp_graph_rows(g, n)[i];
		const struct pp_row_collective *c = &g->d->collective[g->operation[row]];

		if (c->message && c->row_count == 2 && !g->d->arrival[row].is_root)
			return row;
	}
	return PP_GRAPH_NONE;
}

/* The probe waits for the message that its rank receives by `row`. */
static void fill_probe(struct pp_graph *g, struct pp_node *n, uint32_t row)
{
	const uint32_t first = (uint32_t)g->d->collective[g->operation[row]].row_first;
	const uint32_t send = g->post[row == first ? first + 1 : first];

	n->flags &= ~(uint32_t)PP_NODE_UNKNOWN;
	if (send == PP_GRAPH_NONE || g->node[send].start <= n->start || g->node[send].start > n->end)
		return;
	n->need = send;
	n->flags |= PP_NODE_LEARNED;
}

/* Backwards on each track: the message that a rank receives next is known before its probe is reached. */
static void fill_probes(struct pp_graph *g)
{
	for (size_t w = 0; w < g->d->workers; w++) {
		uint32_t next = PP_GRAPH_NONE;

		for (size_t i = g->track[w + 1]; i-- > g->track[w];) {
			struct pp_node *n = &g->node[i];
			const uint32_t row = received_by(g, n);

			next = row == PP_GRAPH_NONE ? next : row;
			if (!n->rows && next != PP_GRAPH_NONE &&
			    pp_mpi_call_info(g->d->lone_call[n->row].operation)->class == PP_MPI_PROBE)
				fill_probe(g, n, next);
		}
	}
}

static int make_nodes(struct pp_graph *g)
{
	const size_t most = KINDS * g->d->arrivals + g->d->lone_calls;
	struct entries e = {.entry = malloc((most + 1) * sizeof(*e.entry)), .first = calloc(g->d->workers + 2, sizeof(*e.first))};
	int rc = -ENOMEM;

	if (!e.entry || !e.first)
		goto out;
	pp_huge_advise(e.entry, most * sizeof(*e.entry));
	read_dataset(g, &e);
	e.order = malloc((e.n + 1) * sizeof(*e.order));
	g->node = malloc((e.n + 1) * sizeof(*g->node));
	if (!e.order || !g->node)
		goto out;
	pp_huge_advise(e.order, e.n * sizeof(*e.order));
	pp_huge_advise(g->node, e.n * sizeof(*g->node));
	rc = order_tracks(g->d, &e);
	for (size_t w = 0; w < g->d->workers && !rc; w++)
		rc = put_track(g, &e, w);
	g->track[g->d->workers] = g->nodes;
out:
	free(e.entry);
	free(e.first);
	free(e.order);
	return rc;
}

/* n indices, all of them NONE. NULL: no memory. */
static uint32_t *no_index(size_t n)
{
	uint32_t *index = malloc((n + 1) * sizeof(*index));

	pp_huge_advise(index, n * sizeof(*index));
	return index ? memset(index, 0xff, n * sizeof(*index)) : NULL;
}

int pp_graph_make(struct pp_graph *g, const struct pp_dataset *d)
{
	int rc;

	*g = (struct pp_graph){.d = d};
	if (d->arrivals >= UINT32_MAX / KINDS || d->collectives >= UINT32_MAX || d->lone_calls >= UINT32_MAX - d->arrivals * KINDS)
		return -EOVERFLOW;
	g->operation = no_index(d->arrivals);
	g->post = no_index(d->arrivals);
	g->done = no_index(d->arrivals);
	g->step = no_index(d->collectives);
	g->kind = calloc(d->collectives + 1, 1);
	g->track = calloc(d->workers + 1, sizeof(*g->track));
	rc = g->operation && g->post && g->done && g->step && g->kind && g->track ? make_nodes(g) : -ENOMEM;
	if (rc) {
		pp_graph_release(g);
		return rc;
	}
	for (size_t c = 0; c < d->collectives; c++)
		fill_needs(g, (uint32_t)c);
	if (d->lone_calls)
		fill_probes(g);
	return 0;
}

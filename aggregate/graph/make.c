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

enum { KINDS = 2 }; /* nodes of a row at most: one begins it, one completes it */

/* Nodes as they are read: in the order of operations, which is that of their first arrival, so a track's are nearly in order. Each
 * is of one row, `need` is the row that it waits for, `cell` its step. */
struct made {
	struct pp_node *node;
	size_t n;
	size_t *first;    /* [workers + 1] of each track in g->node */
	uint8_t *tangled; /* [workers] 1: nodes may have to change places, or to become one */
	int dense;        /* rank w is worker w */
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

/* One-sided transfers, starts, calls of files and local ones wait for no rank. */
static int may_wait(uint16_t operation)
{
	const enum pp_mpi_class class = pp_mpi_call_info(operation)->class;

	return class != PP_MPI_PUT && class != PP_MPI_GET && class != PP_MPI_PUTGET && class != PP_MPI_START &&
	       class != PP_MPI_LOCAL && class != PP_MPI_LOCAL_INIT && !pp_mpi_class_is_file(class);
}

/* The row of the operation that its row waits for, as /collective says it; NONE. Rows stand in the order of ranks; most wait for
 * one, which `guess` was for the row before. */
static uint32_t late_row(const struct pp_graph *g, uint32_t operation, uint32_t row, uint32_t guess)
{
	const struct pp_row_collective *c = &g->d->collective[operation];
	const struct pp_row_arrival *all = g->d->arrival;
	const int32_t late = all[row].late_rank;
	uint32_t at = guess;

	if (late < 0 || g->kind[operation] == PP_GRAPH_UNCLEAR)
		return PP_GRAPH_NONE;
	if (at == PP_GRAPH_NONE || all[at].worker != late)
		at = (uint32_t)(c->row_first + PP_PARTITION(c->row_count, i, all[c->row_first + i].worker < late));
	return at < c->row_first + c->row_count && all[at].worker == late && g->operation[at] == operation ? at : PP_GRAPH_NONE;
}

static void add_node(struct made *m, int64_t start, int64_t end, const struct pp_node *like, uint32_t flags)
{
	struct pp_node *n = &m->node[m->n++];

	*n = *like;
	n->start = start;
	n->end = end > start ? end : start;
	n->flags = flags;
	m->first[n->track + 1]++;
}

static void read_row(const struct pp_graph *g, struct made *m, const struct pp_node *like)
{
	const struct pp_row_arrival *row = &g->d->arrival[like->row];
	const uint32_t flags = PP_NODE_ENDS | (row->polls ? PP_NODE_POLLS : 0);

	if (pp_graph_on_device(row)) /* it waits there: its node is the kernel */
		add_node(m, row->device_begin_ns, row->device_end_ns, like, PP_NODE_POSTS | PP_NODE_DEVICE | flags);
	else if (!row->call || row->call_begin_ns == row->arrival_ns) /* it blocks, or no call that completes it was seen */
		add_node(m, row->arrival_ns, row->exit_ns, like, PP_NODE_POSTS | flags);
	else {
		add_node(m, row->arrival_ns, row->arrival_ns, like, PP_NODE_POSTS);
		add_node(m, row->call_begin_ns, row->exit_ns, like, flags);
	}
}

static void read_operation(struct pp_graph *g, struct made *m, uint32_t operation, uint64_t rows)
{
	const struct pp_row_collective *c = &g->d->collective[operation];
	struct pp_node like = {.cell = g->step[operation], .need = PP_GRAPH_NONE};
	const uint64_t end = c->row_first + rows;

	g->kind[operation] = rows ? (uint8_t)pp_needs_kind(g->d, c) : PP_GRAPH_UNCLEAR;
	for (uint64_t i = c->row_first; i < end && rows; i++)
		if (g->operation[i] == PP_GRAPH_NONE && worker_of(g->d, m->dense, g->d->arrival[i].worker) != SIZE_MAX)
			g->operation[i] = operation;
	for (uint64_t i = c->row_first; i < end && rows; i++) {
		const uint64_t next = i + PP_GRAPH_AHEAD < g->d->arrivals ? i + PP_GRAPH_AHEAD : i;
		const struct pp_row_arrival *ahead = &g->d->arrival[next];

		if (g->operation[i] != operation)
			continue;
		__builtin_prefetch(&ahead->worker);
		__builtin_prefetch(&ahead->device_begin_ns);
		__builtin_prefetch(&ahead->polls);
		like.row = (uint32_t)i;
		like.track = (uint32_t)worker_of(g->d, m->dense, g->d->arrival[i].worker);
		like.need = late_row(g, operation, like.row, like.need);
		read_row(g, m, &like);
	}
}

static void read_dataset(struct pp_graph *g, struct made *m)
{
	const struct pp_dataset *d = g->d;
	uint64_t left = d->arrivals;
	size_t step = SIZE_MAX;

	m->dense = is_dense(d);
	for (uint32_t c = 0; c < d->collectives; c++) {
		if (!c || d->collective[c].step != d->collective[c - 1].step)
			step = pp_dataset_step(d, d->collective[c].step);
		g->step[c] = step == SIZE_MAX ? PP_GRAPH_NONE : (uint32_t)step;
		read_operation(g, m, c, rows_of(d, c, &left));
	}
	for (uint32_t i = 0; i < d->lone_calls; i++) {
		const struct pp_row_lone_call *c = &d->lone_call[i];
		const size_t w = worker_of(d, m->dense, c->worker);
		const uint32_t unknown = may_wait(c->operation) ? PP_NODE_UNKNOWN : 0;
		struct pp_node like = {.row = i, .need = PP_GRAPH_NONE, .cell = PP_GRAPH_NONE};

		if (w == SIZE_MAX)
			continue;
		like.track = (uint32_t)w;
		add_node(m, c->begin_ns, c->end_ns, &like, PP_NODE_LONE | unknown);
	}
}

/* By time, then in the order of rows, each one's begin first, then of lone calls. */
static uint64_t id_of(const struct pp_graph *g, const struct pp_node *n)
{
	if (n->flags & PP_NODE_LONE)
		return g->d->arrivals * KINDS + n->row;
	return (uint64_t)n->row * KINDS + !(n->flags & PP_NODE_POSTS);
}

static int sort_track(const struct pp_graph *g, struct pp_node *node, size_t n)
{
	struct pp_order_key *key;
	struct pp_node *copy;
	int rc, sorted = 1;

	for (size_t i = 1; i < n && sorted; i++)
		sorted = node[i - 1].start < node[i].start ||
		         (node[i - 1].start == node[i].start && id_of(g, &node[i - 1]) < id_of(g, &node[i]));
	if (sorted)
		return 0;
	key = malloc(n * sizeof(*key));
	copy = malloc(n * sizeof(*copy));
	rc = key && copy ? 0 : -ENOMEM;
	if (!rc) {
		memcpy(copy, node, n * sizeof(*copy));
		for (size_t i = 0; i < n; i++)
			key[i] = (struct pp_order_key){node[i].start, (uint32_t)id_of(g, &node[i]), (uint32_t)i};
		rc = pp_order_sort(key, n);
	}
	for (size_t i = 0; i < n && !rc; i++)
		node[i] = copy[key[i].other];
	free(key);
	free(copy);
	return rc;
}

static void set_node_of(struct pp_graph *g, uint32_t row, uint32_t flags, size_t node)
{
	if (flags & PP_NODE_ENDS)
		g->done[row] = (uint32_t)node;
	if (flags & PP_NODE_POSTS)
		g->post[row] = (uint32_t)node;
}

/* Puts the nodes on their tracks. */
static void place_nodes(struct pp_graph *g, struct made *m)
{
	for (size_t w = 0; w < g->d->workers; w++) {
		m->first[w + 1] += m->first[w];
		g->track[w] = m->first[w];
	}
	/* Each begin moves to the next one, and back. */
	for (size_t i = 0; i < m->n; i++) {
		const struct pp_node *one = &m->node[i];
		const size_t at = m->first[one->track]++;
		struct pp_node *n = &g->node[at];
		const struct pp_node *before = at > g->track[one->track] ? n - 1 : NULL;

		*n = *one;
		if (n->cell == PP_GRAPH_NONE && before)
			n->cell = before->cell;
		m->tangled[one->track] |= n->flags & (PP_NODE_DEVICE | PP_NODE_LONE) || (before && before->start >= n->start);
		if (!(n->flags & PP_NODE_LONE))
			set_node_of(g, n->row, n->flags, at);
	}
	memmove(m->first + 1, m->first, g->d->workers * sizeof(*m->first));
	m->first[0] = 0;
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
	const struct pp_row_arrival *one =
	        before && !(before->flags & PP_NODE_LONE) ? &g->d->arrival[*pp_graph_rows(g, before)] : NULL;

	return row->device_input_ns > 0 && one && pp_graph_on_device(one) &&
	       (one->device_beside || pp_wrap_minus(row->device_begin_ns, row->device_input_ns) <= before->end);
}

/* Rows that one call completes are of one node, and messages of a group that one kernel runs. */
static int is_of_node(const struct pp_graph *g, const struct pp_node *node, const struct pp_node *n)
{
	const struct pp_row_arrival *row = g->d->arrival;
	const uint32_t both = node->flags & n->flags;

	if (node->start != n->start || (node->flags | n->flags) & PP_NODE_LONE)
		return 0;
	if (n->flags & PP_NODE_DEVICE)
		return both & PP_NODE_DEVICE && row[*pp_graph_rows(g, node)].device_end_ns == n->end;
	return both & PP_NODE_ENDS && !(node->flags & PP_NODE_DEVICE) && row[n->row].call &&
	       row[*pp_graph_rows(g, node)].call == row[n->row].call && !((node->flags ^ n->flags) & PP_NODE_POSTS);
}

/* The rows of the node at hand stand last. Returns 0, or -ENOMEM. */
static int add_row(struct pp_graph *g, struct pp_node *n, uint32_t row)
{
	const uint32_t more[] = {2, n->row, row}, first = n->flags & PP_NODE_SEVERAL ? 2 : 0;

	for (uint32_t i = first; i < sizeof(more) / sizeof(*more); i++) {
		if (PP_GROW(g->of_node, g->of_nodes, g->of_room))
			return -ENOMEM;
		g->of_node[g->of_nodes++] = more[i];
	}
	if (first)
		g->of_node[n->row]++;
	else
		n->row = (uint32_t)g->of_nodes - 3;
	n->flags |= PP_NODE_SEVERAL;
	return 0;
}

/* Step of a node of a tangled track, from *at on; outside of steps the one before. */
static uint32_t step_of(const struct pp_graph *g, const struct pp_node *n, size_t *at, uint32_t before)
{
	const uint32_t step = n->flags & PP_NODE_LONE ? step_at(g->d, n->track, n->start, at) : g->step[g->operation[n->row]];

	return step == PP_GRAPH_NONE ? before : step;
}

/* Nodes [from, end) of a track, in order, become the next ones of g->node. */
static int join_nodes(struct pp_graph *g, size_t from, size_t end, int tangled)
{
	const size_t first = g->nodes;
	uint32_t step = PP_GRAPH_NONE;
	size_t at = 0;
	int rc = 0;

	for (size_t i = from; i < end && !rc; i++) {
		struct pp_node n = g->node[i], *before = g->nodes > first ? &g->node[g->nodes - 1] : NULL;

		if (tangled && before && is_of_node(g, before, &n)) {
			before->end = n.end > before->end ? n.end : before->end;
			before->flags |= n.flags & PP_NODE_POLLS;
			before->need = PP_GRAPH_NONE; /* fill_needs() looks at each row */
			rc = add_row(g, before, n.row);
		} else {
			n.cell = step = tangled ? step_of(g, &n, &at, step) : n.cell;
			if (n.flags & PP_NODE_DEVICE && is_beside(g, before, &g->d->arrival[n.row]))
				n.flags |= PP_NODE_BESIDE;
			g->node[g->nodes++] = n;
		}
		if (!(n.flags & PP_NODE_LONE))
			set_node_of(g, n.row, n.flags, g->nodes - 1);
	}
	return rc;
}

static int join_tracks(struct pp_graph *g, const struct made *m)
{
	int rc = 0;

	for (size_t w = 0; w < g->d->workers && !rc; w++) {
		const size_t first = m->first[w], end = m->first[w + 1];

		g->track[w] = g->nodes;
		if (m->tangled[w])
			rc = sort_track(g, g->node + first, end - first);
		if (!rc && (m->tangled[w] || g->nodes != first))
			rc = join_nodes(g, first, end, m->tangled[w]);
		else
			g->nodes = end;
	}
	g->track[g->d->workers] = g->nodes;
	return rc;
}

/* The node's end depends on the begin of row `late`, if nothing that it needs is later. Returns 1 where that came after the end: it
 * cannot have waited for it. */
static int add_need(struct pp_graph *g, struct pp_node *n, uint32_t late)
{
	const uint32_t post = late == PP_GRAPH_NONE ? late : g->post[late];
	const struct pp_node *m = &g->node[post];

	if (post == PP_GRAPH_NONE || m->track == n->track || m->start <= n->start)
		return 0;
	if (m->start > n->end)
		return 1;
	if (n->need == PP_GRAPH_NONE || g->node[n->need].start < m->start)
		n->need = post;
	return 0;
}

static void fill_needs(struct pp_graph *g)
{
	for (size_t i = 0; i < g->nodes; i++) {
		struct pp_node *n = &g->node[i];
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): each of g->nodes has been set as a whole */
		const uint32_t late = n->need, rows = pp_graph_row_count(g, n);
		const struct pp_node *ahead = i + PP_GRAPH_AHEAD < g->nodes ? n + PP_GRAPH_AHEAD : n;

		if (ahead->need != PP_GRAPH_NONE)
			__builtin_prefetch(&g->post[ahead->need]);

		n->need = PP_GRAPH_NONE;
		if (!(n->flags & PP_NODE_ENDS))
			continue;
		if (rows == 1)
			g->dropped += (uint64_t)add_need(g, n, late);
		for (uint32_t k = 0; k < rows && rows > 1; k++) {
			const uint32_t row = pp_graph_rows(g, n)[k];

			g->dropped += (uint64_t)add_need(g, n, late_row(g, g->operation[row], row, PP_GRAPH_NONE));
		}
	}
}

/* The row by which a node receives a message; NONE: it receives none. */
static uint32_t received_by(const struct pp_graph *g, const struct pp_node *n)
{
	for (uint32_t i = 0; i < pp_graph_row_count(g, n); i++) {
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

	n->flags &= ~(unsigned)PP_NODE_UNKNOWN;
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
			if (n->flags & PP_NODE_LONE && next != PP_GRAPH_NONE &&
			    pp_mpi_call_info(g->d->lone_call[n->row].operation)->class == PP_MPI_PROBE)
				fill_probe(g, n, next);
		}
	}
}

static int make_nodes(struct pp_graph *g)
{
	const size_t workers = g->d->workers, most = KINDS * g->d->arrivals + g->d->lone_calls;
	struct made m = {.node = malloc((most + 1) * sizeof(*m.node)),
	                 .first = calloc(workers + 2, sizeof(*m.first)),
	                 .tangled = calloc(workers + 1, sizeof(*m.tangled))};
	int rc = -ENOMEM;

	if (!m.node || !m.first || !m.tangled)
		goto out;
	pp_huge_advise(m.node, most * sizeof(*m.node));
	read_dataset(g, &m);
	g->node = malloc((m.n + 1) * sizeof(*g->node));
	if (!g->node)
		goto out;
	pp_huge_advise(g->node, m.n * sizeof(*g->node));
	place_nodes(g, &m);
	rc = join_tracks(g, &m);
out:
	free(m.node);
	free(m.first);
	free(m.tangled);
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
	if (d->arrivals >= UINT32_MAX / KINDS || d->collectives >= UINT32_MAX ||
	    d->lone_calls >= UINT32_MAX - d->arrivals * KINDS || d->workers >> PP_GRAPH_TRACK_BITS)
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
	fill_needs(g);
	if (d->lone_calls)
		fill_probes(g);
	return 0;
}

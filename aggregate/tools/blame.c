/* Fills /blame and /blame_step: who made others wait, and why. Called by tools.c. The walk: aggregate/graph/walk.h; the rule:
 * docs/steps.md, Blame. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/graph/link.h"
#include "aggregate/graph/walk.h"
#include "aggregate/graph/whole.h"
#include "aggregate/tools/tools.h"
#include "core/base/grow.h"
#include "core/base/known.h"

enum { NEAR = 4, MOST_CAUSES = 4096 };

struct total { /* of a worker's reason */
	uint64_t ns, direct, error;
	uint32_t steps;
};

struct late_step { /* of a worker in a step */
	uint64_t ns[PP_REASONS], error;
};

struct cause {
	struct pp_charge charge;
	int64_t error;
};

struct blame {
	const struct pp_graph *graph;
	struct pp_walk walk;
	struct cause *cause; /* of successive waits for the node `late`, of calls in step `own`: one collective makes many */
	size_t causes, cause_room;
	uint32_t late_node, own;
	struct total *total; /* [workers][PP_REASONS] */
	uint64_t *link_ns;   /* [links] */
	uint32_t *late;      /* [steps][workers]: index + 1 in late_step; 0: none */
	struct late_step *late_step;
	size_t late_steps, late_room;
	int64_t sum, errors;
};

/* How far the clocks' error may move a wait: not below 0, not beyond the end of the call or kernel. */
static int64_t error_of(const struct blame *b, size_t row)
{
	const struct pp_graph *g = b->graph;
	const struct pp_row_arrival *one = &g->d->arrival[row];
	const int64_t bound = one->device_how ? one->device_bound_ns : g->d->collective[g->operation[row]].bound_ns;
	const uint32_t done = g->done[row];
	const struct pp_node *n = done == PP_GRAPH_NONE || g->node[done].need == PP_GRAPH_NONE ? NULL : &g->node[done];
	int64_t most = one->exposed_wait_ns, more;

	if (bound <= 0 || (!n && !one->device_how))
		return 0;
	if (!one->device_how && one->exit_open)
		return bound == INT64_MAX ? most : bound;
	if (one->device_how)
		more = pp_graph_since(one->device_wait_ns, one->device_length_ns);
	else
		more = pp_graph_since(g->node[n->need].start, n->end); /* may warn null-dereference: see the return above */
	most = more > most ? more : most;
	return bound < most ? bound : most;
}

static struct late_step *late_step_of(struct blame *b, size_t step, size_t worker)
{
	uint32_t *at = &b->late[step * b->graph->d->workers + worker];

	if (!*at) {
		if (b->late_steps >= UINT32_MAX - 1 || PP_GROW(b->late_step, b->late_steps, b->late_room))
			return NULL;
		b->late_step[b->late_steps] = (struct late_step){.error = 0};
		*at = (uint32_t)++b->late_steps;
	}
	return &b->late_step[*at - 1];
}

static int charge(struct blame *b, size_t worker, uint32_t step, int reason, int64_t ns, int64_t error, int direct)
{
	struct total *total = &b->total[worker * PP_REASONS + (size_t)reason];
	struct late_step *late;

	total->ns += (uint64_t)ns;
	total->direct += direct ? (uint64_t)ns : 0;
	total->error += (uint64_t)error;
	if (step == PP_GRAPH_NONE || (!ns && !error))
		return 0;
	late = late_step_of(b, step, worker);
	if (!late)
		return -ENOMEM;
	total->steps += !late->ns[reason] && ns;
	late->ns[reason] += (uint64_t)ns;
	late->error += (uint64_t)error;
	return 0;
}

/* The worker that a charge is for: of a slow link its receiver. */
static uint32_t worker_of(struct blame *b, const struct pp_charge *c)
{
	const struct pp_slow_message *m = c->kind == PP_CHARGE_LINK ? pp_links_slow(b->graph, c->node) : NULL;

	if (!m)
		return b->graph->node[c->node].track;
	b->link_ns[m->link] += (uint64_t)c->ns;
	return b->graph->link[m->link].destination;
}

/* Part of `whole` that ns is of `sum`; never more than *left, which it lowers. */
static int64_t part_of(int64_t whole, int64_t ns, int64_t sum, int64_t *left)
{
	int64_t part = (int64_t)((double)whole * ((double)ns / (double)sum));

	part = part < *left ? part : *left;
	*left -= part;
	return part;
}

/* Charges the causes so far, by reason. */
static int charge_causes(struct blame *b)
{
	const struct pp_graph *g = b->graph;
	int rc = 0;

	for (size_t i = 0; i < b->causes; i++) {
		const struct cause *c = &b->cause[i];
		const uint32_t step = pp_graph_step(g, &g->node[c->charge.node]);
		const uint32_t worker = worker_of(b, &c->charge);
		int64_t ns[PP_REASONS], left = c->error;

		pp_walk_split(g, &c->charge, ns);
		for (int k = PP_REASONS; k-- && !rc;)
			if (ns[k])
				rc = charge(b, worker, step == PP_GRAPH_NONE ? b->own : step, k, ns[k],
				            part_of(c->error, ns[k], c->charge.ns, &left), worker == g->node[b->late_node].track);
	}
	b->causes = 0;
	return rc;
}

/* Adds a charge to the causes from *at on, which the walk of another rank's wait for the same node has in the same order. */
static int add_cause(struct blame *b, const struct pp_charge *charge, int64_t error, size_t *at)
{
	size_t i = *at;

	while (i < b->causes && i < *at + NEAR &&
	       (b->cause[i].charge.node != charge->node || b->cause[i].charge.kind != charge->kind))
		i++;
	if (i == *at + NEAR)
		i = b->causes;
	if (i == b->causes) {
		if (PP_GROW(b->cause, b->causes, b->cause_room))
			return -ENOMEM;
		b->cause[b->causes++] = (struct cause){{charge->node, charge->kind, 0}, 0};
	}
	b->cause[i].charge.ns += charge->ns;
	b->cause[i].error += error;
	*at = i + 1;
	return 0;
}

/* A wait of `ns` for the node `late`, of a call in step `own`, with its charges. */
static int take(struct blame *b, uint32_t late, uint32_t own, int64_t ns, int64_t error, const struct pp_charge *charge,
                size_t charges)
{
	int64_t left = error;
	size_t at = 0;
	int rc = 0;

	if (late != b->late_node || own != b->own || b->causes > MOST_CAUSES)
		rc = charge_causes(b);
	b->late_node = late;
	b->own = own;
	for (size_t i = 0; i < charges && !rc; i++)
		rc = add_cause(b, &charge[i], i + 1 < charges ? part_of(error, charge[i].ns, ns, &left) : left, &at);
	return rc;
}

/* A wait of `ns` of a node: along the two walks. */
static int charge_node(struct blame *b, uint32_t node, uint32_t own, int64_t ns, int64_t error)
{
	const int rc = pp_walk_charge(&b->walk, node, ns);

	return rc ? rc : take(b, b->graph->node[node].need, own, ns, error, b->walk.charge, b->walk.charges);
}

/* A wait whose need the graph does not have: for the rank that the ledger names, and what that did before. */
static int charge_late(struct blame *b, size_t row, uint32_t step, int64_t error)
{
	const struct pp_graph *g = b->graph;
	const struct pp_dataset *d = g->d;
	const struct pp_row_collective *c = &d->collective[g->operation[row]];
	const int64_t ns = d->arrival[row].exposed_wait_ns;
	size_t late = pp_dataset_worker(d, d->arrival[row].late_rank);

	for (uint64_t i = c->row_first; i < c->row_first + c->row_count; i++)
		if (late != SIZE_MAX && g->operation[i] == g->operation[row] && d->arrival[i].worker == d->arrival[row].late_rank)
			return take(b, g->post[i], step, ns, error, &(struct pp_charge){g->post[i], PP_CHARGE_WORK, ns}, 1);
	if (late == SIZE_MAX) /* a damaged file */
		late = pp_dataset_worker(d, d->arrival[row].worker);
	return charge(b, late, step, PP_REASON_UNKNOWN, ns, error, 1);
}

/* Counts a wait; 0: its sum with the others is no time, as in a damaged file. */
static int count(struct blame *b, int64_t ns)
{
	if (ns > INT64_MAX - b->sum)
		return 0;
	b->sum += ns;
	return 1;
}

static int charge_row(struct blame *b, size_t row)
{
	const struct pp_graph *g = b->graph;
	const int64_t ns = g->d->arrival[row].exposed_wait_ns;
	const uint32_t own = g->step[g->operation[row]], node = g->done[row];
	int64_t error = error_of(b, row);

	if (!count(b, ns))
		return 0;
	error = error < INT64_MAX - b->errors ? error : INT64_MAX - b->errors;
	b->errors += error;
	if (node == PP_GRAPH_NONE || g->node[node].need == PP_GRAPH_NONE)
		return charge_late(b, row, own, error);
	return charge_node(b, node, own, ns, error);
}

static int charge_lone(struct blame *b, uint32_t node)
{
	const struct pp_node *n = &b->graph->node[node];
	const int64_t ns = n->flags & PP_NODE_LONE ? b->graph->d->lone_call[n->row].wait_ns : 0;

	if (ns <= 0 || n->need == PP_GRAPH_NONE || !count(b, ns))
		return 0;
	return charge_node(b, node, pp_graph_step(b->graph, n), ns, 0);
}

static int charge_waits(struct blame *b)
{
	const struct pp_dataset *d = b->graph->d;
	int rc = 0;

	for (size_t i = 0; i < d->arrivals && !rc; i++) {
		const struct pp_row_arrival *ahead = &d->arrival[i + 2 * PP_GRAPH_AHEAD < d->arrivals ? i + 2 * PP_GRAPH_AHEAD : i];

		pp_graph_fetch(b->graph, i + PP_GRAPH_AHEAD);
		__builtin_prefetch(&ahead->exposed_wait_ns);
		__builtin_prefetch(&ahead->device_how);
		if (d->arrival[i].exposed_wait_ns > 0 && b->graph->operation[i] != PP_GRAPH_NONE)
			rc = charge_row(b, i);
	}
	for (uint32_t i = 0; i < b->graph->nodes && d->lone_calls && !rc; i++)
		rc = charge_lone(b, i);
	return rc ? rc : charge_causes(b);
}

static int by_blame(const void *a, const void *b)
{
	const struct pp_row_blame *x = a, *y = b;

	if (x->blame_ns != y->blame_ns)
		return x->blame_ns > y->blame_ns ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return x->reason - y->reason;
}

/* Sender of the slow link to a worker that has most blame. */
static int32_t peer_of(const struct blame *b, size_t worker)
{
	const struct pp_graph *g = b->graph;
	int32_t peer = -1;
	uint64_t most = 0;

	for (size_t i = 0; i < g->links; i++) {
		if (g->link[i].destination != worker || b->link_ns[i] <= most)
			continue;
		most = b->link_ns[i];
		peer = g->d->worker[g->link[i].source].rank;
	}
	return peer;
}

static int add_rows(const struct blame *b, struct pp_table *to)
{
	for (size_t w = 0; w < b->graph->d->workers; w++)
		for (int k = 0; k < PP_REASONS; k++) {
			const struct total *t = &b->total[w * PP_REASONS + (size_t)k];
			struct pp_row_blame *row = t->ns ? pp_table_add(to) : NULL;

			if (!t->ns)
				continue;
			if (!row)
				return -ENOMEM;
			*row = (struct pp_row_blame){.worker = b->graph->d->worker[w].rank,
			                             .reason = (int8_t)k,
			                             .blame_ns = (int64_t)t->ns,
			                             .direct_ns = (int64_t)t->direct,
			                             .error_ns = (int64_t)t->error,
			                             .steps = t->steps,
			                             .peer = k == PP_REASON_LINK ? peer_of(b, w) : -1};
		}
	if (to->rows)
		qsort(to->row, to->rows, sizeof(struct pp_row_blame), by_blame);
	return 0;
}

/* Where there is blame, also cells of which it is known that they have none. */
static int add_steps(const struct blame *b, struct pp_table *to)
{
	for (size_t i = 0; b->late_steps && i < b->graph->d->steps * b->graph->d->workers; i++) {
		const struct late_step *s = b->late[i] ? &b->late_step[b->late[i] - 1] : NULL;
		struct pp_row_blame_step *row;
		uint64_t sum = 0;
		int most = 0;

		for (int k = 0; s && k < PP_REASONS; k++) {
			sum += s->ns[k];
			most = s->ns[k] > s->ns[most] ? k : most;
		}
		if (!sum && !pp_is_known(b->graph->d->cell[i].late_ns))
			continue;
		row = pp_table_add(to);
		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_blame_step){.step = b->graph->d->step[i / b->graph->d->workers].number,
		                                  .worker = b->graph->d->worker[i % b->graph->d->workers].rank,
		                                  .step_blame_ns = (int64_t)sum,
		                                  .step_error_ns = s ? (int64_t)s->error : 0,
		                                  .step_reason = (int8_t)most};
	}
	return 0;
}

int pp_tool_blame(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_graph own = {.d = NULL};
	struct blame b = {.graph = in->graph ? in->graph : &own};
	int rc = in->graph ? 0 : pp_graph_whole(&own, in);

	if (!rc)
		rc = pp_walk_init(&b.walk, b.graph);
	if (rc)
		goto out;
	b.total = calloc(in->workers * PP_REASONS + 1, sizeof(*b.total));
	b.late = calloc(in->steps * in->workers + 1, sizeof(*b.late));
	b.link_ns = calloc(b.graph->links + 1, sizeof(*b.link_ns));
	rc = b.total && b.late && b.link_ns ? charge_waits(&b) : -ENOMEM;
	if (!rc)
		rc = add_rows(&b, &tables[PP_TABLE_blame]);
	if (!rc)
		rc = add_steps(&b, &tables[PP_TABLE_blame_step]);
out:
	pp_walk_release(&b.walk);
	pp_graph_release(&own);
	free(b.cause);
	free(b.total);
	free(b.late);
	free(b.late_step);
	free(b.link_ns);
	return rc ? pp_err_set(err, rc, "no memory for the blame of %zu operations", in->arrivals) : 0;
}

/* Inferred needs; see infer.h. Called by whole.c. */
#include "aggregate/graph/infer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/select.h"

#define LEAST 0.5

struct cell {                    /* of a rank in a round */
	int64_t work, elsewhere; /* local work; in calls with unknown needs */
	int64_t most;            /* longest local work of one node */
	uint32_t node;           /* that node: there the rank comes from its work */
	uint32_t present;
};

struct rounds {       /* what ranks do together: a step, or a part of it that ends with a call of unknown needs */
	uint32_t *of; /* [nodes]; n or more: in none */
	size_t n;
	struct cell *cell; /* [n * workers] */
	double sure;
};

static void rounds_release(struct rounds *r)
{
	free(r->of);
	free(r->cell);
}

/* Numbers the rounds: steps, or of each rank what ends with its n-th call of unknown needs; all ranks must make as many of these,
 * else there are no rounds. A step may end between a call and what it needs. 0, or -ENOMEM. */
static int number(const struct pp_graph *g, int by_call, struct rounds *r)
{
	r->of = calloc(g->nodes + 1, sizeof(*r->of));
	r->n = by_call ? 0 : g->d->steps;
	for (size_t w = 0; w < g->d->workers && r->of; w++) {
		uint32_t calls = 0;

		for (size_t i = g->track[w]; i < g->track[w + 1]; i++) {
			const struct pp_node *n = &g->node[i];
			const uint32_t step = pp_graph_step(g, n);

			r->of[i] = step == PP_GRAPH_NONE || !by_call ? step : calls;
			calls += step != PP_GRAPH_NONE && n->flags & PP_NODE_UNKNOWN;
		}
		if (!by_call)
			continue;
		if (w && r->n != calls) {
			r->n = 0;
			return 0;
		}
		r->n = calls;
	}
	return r->of ? 0 : -ENOMEM;
}

static void sum_up(const struct pp_graph *g, struct rounds *r)
{
	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct pp_node *n = &g->node[i];
		struct cell *c = r->of[i] >= r->n ? NULL : &r->cell[(size_t)r->of[i] * g->d->workers + n->track];
		const int64_t local = pp_graph_local(g, i);

		if (!c)
			continue;
		c->work += local;
		c->elsewhere += n->flags & PP_NODE_UNKNOWN ? pp_graph_since(n->start, n->end) : 0;
		if (!c->present || local > c->most) {
			c->most = local;
			c->node = i;
		}
		c->present = 1;
	}
}

/* What such calls take where nobody waits: the median over rounds of the rank that is there for the shortest time. */
static int64_t base_of(const struct pp_graph *g, const struct rounds *r, int64_t *room)
{
	size_t found = 0;

	for (size_t s = 0; s < r->n; s++) {
		int64_t least = INT64_MAX;

		for (size_t w = 0; w < g->d->workers; w++) {
			const struct cell *c = &r->cell[s * g->d->workers + w];

			least = c->present && c->elsewhere < least ? c->elsewhere : least;
		}
		if (least < INT64_MAX)
			room[found++] = least;
	}
	return found ? pp_select_int64(room, found, found / 2) : 0;
}

static int64_t most_work(const struct pp_graph *g, const struct cell *row)
{
	int64_t most = 0;

	for (size_t w = 0; w < g->d->workers; w++)
		most = row[w].present && row[w].work > most ? row[w].work : most;
	return most;
}

static double sure_of(const struct pp_graph *g, const struct rounds *r, int64_t base)
{
	double wrong = 0, size = 0;

	for (size_t s = 0; s < r->n; s++) {
		const struct cell *row = &r->cell[s * g->d->workers];
		const int64_t most = most_work(g, row);

		for (size_t w = 0; w < g->d->workers; w++) {
			const double there = (double)(row[w].elsewhere - base), less = (double)(most - row[w].work);

			if (!row[w].present)
				continue;
			wrong += there > less ? there - less : less - there;
			size += there > less ? there : less;
		}
	}
	return size > 0 && wrong < size ? 1 - wrong / size : 0;
}

/* 0, or -ENOMEM. */
static int divide(const struct pp_graph *g, int by_call, struct rounds *r)
{
	int64_t *room = NULL;
	int rc = number(g, by_call, r);

	if (!rc && r->n) {
		r->cell = calloc(r->n * g->d->workers + 1, sizeof(*r->cell));
		room = malloc((r->n + 1) * sizeof(*room));
		rc = r->cell && room ? 0 : -ENOMEM;
	}
	if (!rc && r->n) {
		sum_up(g, r);
		r->sure = sure_of(g, r, base_of(g, r, room));
	}
	free(room);
	return rc;
}

/* The rank that comes last from its work, of those that come before the call ends. */
static uint32_t last_before(const struct pp_graph *g, const struct cell *row, const struct pp_node *n)
{
	uint32_t last = PP_GRAPH_NONE;

	for (size_t w = 0; w < g->d->workers; w++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is a cell for each rank of each round */
		const struct pp_node *one = row[w].present ? &g->node[row[w].node] : NULL;

		if (!one || w == n->track || one->start > n->end || one->start <= n->start)
			continue;
		if (last == PP_GRAPH_NONE || one->start > g->node[last].start)
			last = row[w].node;
	}
	return last;
}

int pp_infer_needs(struct pp_graph *g)
{
	struct rounds r = {.n = 0};
	uint32_t unknown = 0;
	int rc;

	g->sure = 0;
	for (size_t i = 0; i < g->nodes && g->d->lone_calls; i++)
		unknown += (g->node[i].flags & PP_NODE_UNKNOWN) != 0;
	if (!unknown || g->d->workers < 2)
		return 0;
	rc = divide(g, 1, &r);
	if (!rc && r.sure < LEAST) { /* several calls of a step wait together: an epoch's */
		rounds_release(&r);
		r = (struct rounds){.n = 0};
		rc = divide(g, 0, &r);
	}
	g->sure = !rc && r.sure >= LEAST ? r.sure : 0;
	for (size_t i = 0; i < g->nodes && g->sure > 0; i++) {
		struct pp_node *n = &g->node[i];

		if (!(n->flags & PP_NODE_UNKNOWN) || r.of[i] >= r.n)
			continue;
		n->need = last_before(g, &r.cell[(size_t)r.of[i] * g->d->workers], n);
		n->flags |= n->need == PP_GRAPH_NONE ? 0 : PP_NODE_INFERRED;
	}
	rounds_release(&r);
	return rc;
}

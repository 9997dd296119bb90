/* Inferred needs; see infer.h. Called by whole.c. */
#include "aggregate/graph/infer.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/select.h"

#define LEAST 0.5

struct cell {                    /* of a rank in a step */
	int64_t work, elsewhere; /* local work; in calls with unknown needs */
	int64_t most;            /* longest local work of one node */
	uint32_t node;           /* that node: there the rank comes from its work */
	uint32_t present;
};

static void sum_up(const struct pp_graph *g, struct cell *cell)
{
	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct pp_node *n = &g->node[i];
		const uint32_t step = pp_graph_step(g, n);
		struct cell *c = step == PP_GRAPH_NONE ? NULL : &cell[(size_t)step * g->d->workers + n->track];
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

/* What such calls take where nobody waits: the median over steps of the rank that is there for the shortest time. */
static int64_t base_of(const struct pp_graph *g, const struct cell *cell, int64_t *room)
{
	size_t steps = 0;

	for (size_t s = 0; s < g->d->steps; s++) {
		int64_t least = INT64_MAX;

		for (size_t w = 0; w < g->d->workers; w++) {
			const struct cell *c = &cell[s * g->d->workers + w];

			least = c->present && c->elsewhere < least ? c->elsewhere : least;
		}
		if (least < INT64_MAX)
			room[steps++] = least;
	}
	return steps ? pp_select_int64(room, steps, steps / 2) : 0;
}

static int64_t most_work(const struct pp_graph *g, const struct cell *row)
{
	int64_t most = 0;

	for (size_t w = 0; w < g->d->workers; w++)
		most = row[w].present && row[w].work > most ? row[w].work : most;
	return most;
}

static double sure_of(const struct pp_graph *g, const struct cell *cell, int64_t base)
{
	double wrong = 0, size = 0;

	for (size_t s = 0; s < g->d->steps; s++) {
		const struct cell *row = &cell[s * g->d->workers];
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

/* The rank that comes last from its work, of those that come before the call ends. */
static uint32_t last_before(const struct pp_graph *g, const struct cell *row, const struct pp_node *n)
{
	uint32_t last = PP_GRAPH_NONE;

	for (size_t w = 0; w < g->d->workers; w++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is a cell for each rank of each step */
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
	struct cell *cell;
	int64_t *room;
	uint32_t unknown = 0;

	g->sure = 0;
	for (size_t i = 0; i < g->nodes && g->d->lone_calls; i++)
		unknown += (g->node[i].flags & PP_NODE_UNKNOWN) != 0;
	if (!unknown || g->d->workers < 2)
		return 0;
	cell = calloc(g->d->steps * g->d->workers + 1, sizeof(*cell));
	room = malloc((g->d->steps + 1) * sizeof(*room));
	if (cell && room) {
		sum_up(g, cell);
		g->sure = sure_of(g, cell, base_of(g, cell, room));
		g->sure = g->sure >= LEAST ? g->sure : 0;
	}
	for (size_t i = 0; i < g->nodes && g->sure > 0; i++) {
		struct pp_node *n = &g->node[i];

		if (!(n->flags & PP_NODE_UNKNOWN) || pp_graph_step(g, n) == PP_GRAPH_NONE)
			continue;
		n->need = last_before(g, &cell[(size_t)pp_graph_step(g, n) * g->d->workers], n);
		n->flags |= n->need == PP_GRAPH_NONE ? 0 : PP_NODE_INFERRED;
	}
	free(room);
	unknown = !cell || !room;
	free(cell);
	return unknown ? -ENOMEM : 0;
}

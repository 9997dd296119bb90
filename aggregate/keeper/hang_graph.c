/* Follows the waits of a hung job: which ranks are its causes, and which wait in a circle. See hang_graph.h.
 *
 * Nodes are ranks, then operations. A rank leads to the operation it is in, or to the ranks of its message; an operation leads to
 * the members that hold it up. */
#include "aggregate/keeper/hang_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/hang_call.h"

struct edge {
	int32_t from, to;
	int is_sure;
};

struct graph {
	struct pp_hang *h;
	int32_t nodes;
	struct edge *edge;
	size_t edges, room;
	size_t *out, *in;         /* [nodes + 1]: first place of each node in by_from, by_to */
	int32_t *by_from, *by_to; /* numbers of edges */
	int32_t *queue;
	char *seen;
};

static struct pp_hang_rank *rank_at(const struct graph *g, int32_t node)
{
	return node < g->h->ranks ? &g->h->rank[node] : NULL;
}

/* Does the node wait? Others are the ends of a way. */
static int waits(const struct graph *g, int32_t node)
{
	const struct pp_hang_rank *r = rank_at(g, node);

	return !r || (r->is_stuck && r->at == PP_HANG_WAITS);
}

static void put(struct graph *g, int32_t from, int32_t to, int is_sure)
{
	if (g->edges < g->room)
		g->edge[g->edges++] = (struct edge){from, to, is_sure};
}

static int make_edges(struct graph *g)
{
	const struct pp_hang *h = g->h;

	g->room = 1;
	for (int32_t i = 0; i < h->ranks; i++)
		g->room += 1 + (size_t)h->rank[i].targets;
	for (long i = 0; i < h->ops; i++)
		g->room += (size_t)h->op[i].wanteds;
	g->edge = calloc(g->room, sizeof(*g->edge));
	if (!g->edge || g->room > INT32_MAX)
		return -ENOMEM;
	for (int32_t i = 0; i < h->ranks; i++) {
		const struct pp_hang_rank *r = &h->rank[i];

		if (!waits(g, i))
			continue;
		if (r->op >= 0)
			put(g, i, h->ranks + (int32_t)r->op, 1);
		for (int k = 0; k < r->targets; k++)
			put(g, i, r->target[k], r->is_sure);
	}
	for (long i = 0; i < h->ops; i++)
		for (int32_t k = 0; k < h->op[i].wanteds; k++)
			put(g, h->ranks + (int32_t)i, h->op[i].wanted[k], h->op[i].is_sure);
	return 0;
}

/* Sorts the edges' numbers by one end. */
static void sort_edges(const struct graph *g, int by_to, size_t *first, int32_t *list)
{
	for (size_t i = 0; i < g->edges; i++)
		first[(by_to ? g->edge[i].to : g->edge[i].from) + 1]++;
	for (int32_t i = 0; i < g->nodes; i++)
		first[i + 1] += first[i];
	for (size_t i = g->edges; i-- > 0;) {
		int32_t node = by_to ? g->edge[i].to : g->edge[i].from;

		list[--first[node + 1]] = (int32_t)i;
	}
	/* first[n + 1] is now where n begins */
	memmove(first, first + 1, (size_t)g->nodes * sizeof(*first));
	first[g->nodes] = g->edges;
}

static int make(struct graph *g, struct pp_hang *h)
{
	*g = (struct graph){.h = h, .nodes = h->ranks + (int32_t)h->ops};
	if (make_edges(g))
		return -ENOMEM;
	g->out = calloc((size_t)g->nodes + 2, sizeof(*g->out));
	g->in = calloc((size_t)g->nodes + 2, sizeof(*g->in));
	g->by_from = calloc(g->edges + 1, sizeof(*g->by_from));
	g->by_to = calloc(g->edges + 1, sizeof(*g->by_to));
	g->queue = calloc((size_t)g->nodes + 1, sizeof(*g->queue));
	g->seen = calloc((size_t)g->nodes + 1, 1);
	if (!g->out || !g->in || !g->by_from || !g->by_to || !g->queue || !g->seen)
		return -ENOMEM;
	sort_edges(g, 0, g->out, g->by_from);
	sort_edges(g, 1, g->in, g->by_to);
	return 0;
}

static void drop(struct graph *g)
{
	free(g->edge);
	free(g->out);
	free(g->in);
	free(g->by_from);
	free(g->by_to);
	free(g->queue);
	free(g->seen);
}

/* Marks in `mark` all nodes from which a node of the queue can be reached; those in the queue are marked already. */
static void mark_back(struct graph *g, int32_t queued, char *mark)
{
	for (int32_t at = 0; at < queued; at++)
		for (size_t i = g->in [g->queue[at]]; i < g->in[g->queue[at] + 1]; i++) {
			int32_t from = g->edge[g->by_to[i]].from;

			if (mark[from])
				continue;
			mark[from] = 1;
			g->queue[queued++] = from;
		}
}

static int has_edges(const struct graph *g, int32_t node, int back, int sure_only, const char *left)
{
	const size_t *first = back ? g->in : g->out;
	const int32_t *list = back ? g->by_to : g->by_from;

	for (size_t i = first[node]; i < first[node + 1]; i++) {
		const struct edge *e = &g->edge[list[i]];

		if ((e->is_sure || !sure_only) && left[back ? e->from : e->to])
			return 1;
	}
	return 0;
}

static void queue_once(struct graph *g, int32_t node, const char *left, int32_t *count)
{
	if (left[node] && !g->seen[node]) {
		g->seen[node] = 1;
		g->queue[(*count)++ % g->nodes] = node;
	}
}

/* Takes out of `left` each node that leads to none, or is reached from none, of those left: circles stay, and ways between them.
 * Returns how many nodes stay. */
static int32_t peel(struct graph *g, int sure_only, char *left)
{
	int32_t count = 0, at = 0, stay = 0;

	memset(g->seen, 0, (size_t)(uint32_t)g->nodes);
	for (int32_t i = 0; i < g->nodes; i++)
		queue_once(g, i, left, &count);
	for (; at < count; at++) {
		int32_t node = g->queue[at % g->nodes];

		g->seen[node] = 0;
		if (has_edges(g, node, 0, sure_only, left) && has_edges(g, node, 1, sure_only, left))
			continue;
		left[node] = 0;
		for (size_t i = g->in[node]; i < g->in[node + 1]; i++)
			queue_once(g, g->edge[g->by_to[i]].from, left, &count);
		for (size_t i = g->out[node]; i < g->out[node + 1]; i++)
			queue_once(g, g->edge[g->by_from[i]].to, left, &count);
		if (count > g->nodes && at >= g->nodes) { /* keeps the numbers small */
			at -= g->nodes;
			count -= g->nodes;
		}
	}
	for (int32_t i = 0; i < g->nodes; i++)
		stay += left[i];
	return stay;
}

/* Ends of ways: ranks that somebody waits for and that do not wait. Returns how many of them are queued. */
static int32_t queue_ends(struct graph *g, int moving, char *mark)
{
	int32_t queued = 0;

	memset(mark, 0, (size_t)(uint32_t)g->nodes);
	for (int32_t i = 0; i < g->h->ranks; i++) {
		struct pp_hang_rank *r = &g->h->rank[i];
		int is_end = !waits(g, i) && g->in[i] < g->in[i + 1];

		is_end |= !moving && r->is_stuck && !waits(g, i); /* stopped, or blind */
		if (!is_end || (r->moves != 0) != moving)
			continue;
		mark[i] = 1;
		g->queue[queued++] = i;
		r->is_cause |= !moving;
	}
	return queued;
}

/* The circle, and those that wait for it; `hung` and `slow` were marked before. */
static void find_circle(struct graph *g, char *left, char *hung, const char *slow)
{
	int32_t queued = 0;

	for (int32_t i = 0; i < g->nodes; i++)
		left[i] = (char)waits(g, i);
	if (!peel(g, 1, left)) { /* perhaps one of waits for some of several ranks */
		for (int32_t i = 0; i < g->nodes; i++)
			left[i] = (char)(waits(g, i) && !hung[i] && !slow[i]);
		peel(g, 0, left);
	}
	for (int32_t i = 0; i < g->nodes; i++) {
		if (!left[i])
			continue;
		if (rank_at(g, i))
			g->h->rank[i].in_circle = g->h->rank[i].is_cause = 1;
		hung[i] = 1;
		g->queue[queued++] = i;
	}
	mark_back(g, queued, hung);
}

/* A complete operation that does not end, and one whose ranks disagree, need no other cause. */
static void find_stalled(struct graph *g, char *hung)
{
	struct pp_hang *h = g->h;
	int32_t queued = 0;

	for (int32_t i = 0; i < h->ops; i++) {
		const struct pp_hang_op *op = &h->op[i];

		if (!op->ins || op->kind == PP_HANG_ANY || (!op->mismatch && op->wanteds))
			continue;
		if (!op->is_known || pp_hang_waits_beyond(op->first->call))
			h->is_unsure = 1;
		hung[h->ranks + i] = 1;
		g->queue[queued++] = h->ranks + i;
	}
	mark_back(g, queued, hung);
}

/* Ranks that could be the cause where it is not known for whom some wait. */
static void add_suspects(struct pp_hang *h)
{
	int others = 0;

	for (int32_t i = 0; i < h->ranks; i++) {
		const struct pp_hang_rank *r = &h->rank[i];

		if (!r->is_stuck || r->is_paused)
			continue;
		h->in_c10d |= !r->line && pp_hang_is_c10d(r->live->call);
		h->is_unsure |= r->is_blind || h->in_c10d;
		h->is_unsure |= r->line && !h->op[r->op].is_known;
	}
	for (int32_t i = 0; h->is_unsure && i < h->ranks; i++) {
		struct pp_hang_rank *r = &h->rank[i];
		int is_over = r->at == PP_HANG_ENDED && r->live->state == PP_LIVE_ENDED && r->live->exit_status == 0;

		r->is_cause |= !r->moves && r->at != PP_HANG_WAITS && !r->is_blind && !is_over;
		others |= r->is_cause && !r->is_blind;
	}
	for (int32_t i = 0; others && i < h->ranks; i++)
		h->rank[i].is_cause &= !h->rank[i].is_blind;
}

static void count(struct pp_hang *h, const char *hung, const char *slow)
{
	for (int32_t i = 0; i < h->ranks; i++) {
		struct pp_hang_rank *r = &h->rank[i];

		r->is_paused = r->is_stuck && !hung[i] && slow[i];
		h->paused += r->is_paused;
		h->stuck += r->is_stuck && !r->is_paused;
		h->circle += r->in_circle;
		if (r->op >= 0)
			h->op[r->op].is_stuck |= r->is_stuck && !r->is_paused;
	}
	if (h->stuck)
		add_suspects(h);
	for (int32_t i = 0; i < h->ranks; i++)
		h->causes += h->rank[i].is_cause;
}

int pp_hang_follow(struct pp_hang *h)
{
	char *hung = NULL, *slow = NULL, *left = NULL;
	struct graph g;
	int rc = make(&g, h);

	if (rc)
		goto out;
	hung = calloc((size_t)g.nodes + 1, 1);
	slow = calloc((size_t)g.nodes + 1, 1);
	left = calloc((size_t)g.nodes + 1, 1);
	if (!hung || !slow || !left) {
		rc = -ENOMEM;
		goto out;
	}
	mark_back(&g, queue_ends(&g, 1, slow), slow);
	mark_back(&g, queue_ends(&g, 0, hung), hung);
	find_stalled(&g, hung);
	find_circle(&g, left, hung, slow);
	count(h, hung, slow);
out:
	free(hung);
	free(slow);
	free(left);
	drop(&g);
	return rc;
}

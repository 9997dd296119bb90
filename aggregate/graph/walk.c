/* Two walks back through the graph; see walk.h. Called by tools/blame.c. The idea is the delay analysis of Boehme, Geimer, Wolf,
 * Arnold: Identifying the root causes of wait states in large-scale parallel applications, ICPP 2010. */
#include "aggregate/graph/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/graph/link.h"
#include "core/base/grow.h"

enum { MOST_STEPS = 4000, MOST_LAP = 1000, US = 1000 };
enum kind { WORK, TRANSFER, KINDS };

struct point { /* start or end of a node; NONE: the walk has left the window */
	uint32_t node;
	uint32_t is_end;
};

struct pp_walk_step { /* one step back */
	uint32_t node;
	enum kind kind;
	double ns, unusual; /* unusual: part of ns */
	struct point to;
};

int pp_walk_init(struct pp_walk *w, const struct pp_graph *g)
{
	*w = (struct pp_walk){.g = g, .from = PP_GRAPH_NONE};
	w->unusual = calloc(2 * KINDS * g->d->workers + 1, sizeof(*w->unusual));
	w->rank = malloc((2 * KINDS * g->d->workers + 1) * sizeof(*w->rank));
	return w->unusual && w->rank ? 0 : -ENOMEM;
}

void pp_walk_release(struct pp_walk *w)
{
	free(w->step);
	free(w->unusual);
	free(w->rank);
	free(w->charge);
	*w = (struct pp_walk){.g = NULL};
}

static int64_t time_of(const struct pp_graph *g, struct point p)
{
	return p.is_end ? g->node[p.node].end : g->node[p.node].start;
}

/* Of the transfer that a node ended with, what a slow link took more than usual. */
static double excess_of(const struct pp_graph *g, uint32_t node, double ns)
{
	const struct pp_slow_message *m = pp_links_slow(g, node);

	return !m ? 0 : (double)m->ns < ns ? (double)m->ns : ns;
}

/* The point before on the path that decided the time of `p`, and what lies between. */
static struct point back(const struct pp_graph *g, struct point p, struct pp_walk_step *ret_step)
{
	const struct pp_node *n = &g->node[p.node];
	struct point before;

	*ret_step = (struct pp_walk_step){.node = p.node, .kind = p.is_end ? TRANSFER : WORK};
	if (!p.is_end && n->flags & PP_NODE_BESIDE) {
		before = (struct point){p.node - 1, pp_graph_input(g, p.node) <= n[-1].end};
		ret_step->ns = (double)pp_graph_since(time_of(g, before), n->start);
		if (!before.is_end)
			ret_step->unusual = ret_step->ns * n->unusual;
		return before;
	}
	if (!p.is_end) {
		before = (struct point){pp_graph_before(g, p.node), 1};
		before.is_end = before.node != PP_GRAPH_NONE;
		ret_step->ns = (double)pp_graph_local(g, p.node);
		ret_step->unusual = ret_step->ns * n->unusual;
		return before;
	}
	before = (struct point){n->need == PP_GRAPH_NONE ? p.node : n->need, 0};
	ret_step->ns = (double)pp_graph_since(time_of(g, before), n->end);
	ret_step->unusual = excess_of(g, p.node, ret_step->ns);
	return before;
}

/* Where w->unusual has the step's: slow links to a rank are apart from its work. */
static uint32_t place_of(const struct pp_walk *w, const struct pp_walk_step *s)
{
	return w->g->node[s->node].track + (s->kind == TRANSFER ? (uint32_t)w->g->d->workers : 0);
}

static void note_unusual(struct pp_walk *w, const struct pp_walk_step *s, int second)
{
	const uint32_t place = place_of(w, s);
	double *of = &w->unusual[2 * place];

	if (s->unusual <= 0)
		return;
	if (of[0] <= 0 && of[1] <= 0)
		w->rank[w->ranks++] = place;
	of[second] += s->unusual;
}

/* The next step of the first walk, from `at` on. NULL: no memory. */
static const struct pp_walk_step *first_step(struct pp_walk *w, struct point at)
{
	if (w->taken == w->steps) {
		if (PP_GROW(w->step, w->steps, w->step_room))
			return NULL;
		w->step[w->steps].to = back(w->g, at, &w->step[w->steps]);
		w->steps++;
	}
	return &w->step[w->taken++];
}

/* Fills w->step and w->unusual; ret_usual: of both walks by kind. Returns 1 where they meet, at the begin of the window at the
 * latest; 0 where that is too far; -ENOMEM. */
static int walk(struct pp_walk *w, uint32_t node, double ret_usual[2][KINDS])
{
	const struct pp_graph *g = w->g;
	struct point at[2] = {{g->node[node].need, 0}, {node, 0}};

	if (w->from != at[0].node)
		w->steps = 0;
	w->from = at[0].node;
	w->taken = w->ranks = 0;
	memset(ret_usual, 0, 2 * sizeof(*ret_usual));
	for (int k = 0; k < MOST_STEPS; k++) {
		struct pp_walk_step own;
		const struct pp_walk_step *s = &own;
		int second;

		if (at[0].node == at[1].node && at[0].is_end == at[1].is_end)
			return 1;
		second = at[0].node == PP_GRAPH_NONE || (at[1].node != PP_GRAPH_NONE && time_of(g, at[0]) < time_of(g, at[1]));
		if (second)
			own.to = back(g, at[1], &own);
		else
			s = first_step(w, at[0]);
		if (!s)
			return -ENOMEM;
		at[second] = s->to;
		note_unusual(w, s, second);
		ret_usual[second][s->kind] += s->ns - s->unusual;
	}
	return 0;
}

static int64_t whole_ns(double amount)
{
	return amount < (double)INT64_MAX ? (int64_t)amount : INT64_MAX;
}

static int add(struct pp_walk *w, uint32_t node, enum pp_charge_kind kind, double amount)
{
	const int64_t ns = whole_ns(amount);

	if (ns <= 0)
		return 0;
	if (PP_GROW(w->charge, w->charges, w->charge_room))
		return -ENOMEM;
	w->charge[w->charges++] = (struct pp_charge){node, kind, ns};
	return 0;
}

static int is_communication(int category)
{
	return category == PP_CATEGORY_HOST_COMMUNICATION || category == PP_CATEGORY_DEVICE_COLLECTIVE;
}

/* Row of the ledger whose local_us hold the work before the node: of the next one of its track that begins an operation. NONE:
 * there is none near. */
static uint32_t lap_row(const struct pp_graph *g, uint32_t node)
{
	const size_t end = g->track[g->node[node].track + 1], most = (size_t)node + MOST_LAP;

	for (size_t n = node; n < end && n < most; n++)
		if (g->node[n].flags & PP_NODE_POSTS)
			return *pp_graph_rows(g, &g->node[n]);
	return PP_GRAPH_NONE;
}

/* What a rank did in the lap before the node, us by reason. Of communication only what no node of the lap has: calls of which
 * podprof knows no operation. */
static void lap_of(const struct pp_graph *g, uint32_t lap, double *ret_us)
{
	const struct pp_row_arrival *row = &g->d->arrival[lap];
	double known = 0;

	for (int k = 1; k < PP_REASONS; k++)
		ret_us[k] = k <= PP_CATEGORIES ? row->local_us[k] : k == PP_REASON_BETWEEN_STEPS ? row->between_us : 0;
	for (uint32_t n = g->post[lap], k = 0; n > g->track[g->node[n].track] && k < MOST_LAP; k++) {
		n--;
		known += (double)pp_graph_since(g->node[n].start, g->node[n].end) / US;
		if (g->node[n].flags & PP_NODE_POSTS) /* the call that begins the lap */
			break;
	}
	for (int k = PP_CATEGORIES; k; k--)
		if (is_communication(k)) {
			const double less = ret_us[k] < known ? ret_us[k] : known;

			ret_us[k] -= less;
			known -= less;
			ret_us[k] = ret_us[k] <= 2 ? 0 : ret_us[k]; /* laps and nodes are rounded */
		}
}

static double category_of(const struct pp_graph *g, const struct pp_node *n, int k)
{
	const uint32_t step = pp_graph_step(g, n);

	if (k > PP_CATEGORIES || step == PP_GRAPH_NONE)
		return 0;
	return (double)g->d->cell[(size_t)step * g->d->workers + n->track].exclusive_ns[k] / US;
}

/* What the rank did before the node, or in its step where no row follows: us by reason, more than its peer if there is one and it
 * did more. Returns the sum. */
static double work_by_reason(const struct pp_graph *g, uint32_t node, double *ret_us)
{
	const struct pp_node *n = &g->node[node];
	const uint32_t other = pp_graph_peer(g, n), lap = lap_row(g, node);
	const struct pp_node *peer = other == PP_GRAPH_NONE ? NULL : &g->node[other];
	const int alike = peer && g->cell[peer->cell].segment == g->cell[n->cell].segment;
	const uint32_t peer_lap = alike ? lap_row(g, other) : PP_GRAPH_NONE;
	double own[PP_REASONS] = {0}, less[PP_REASONS] = {0}, sum = 0;

	memset(ret_us, 0, PP_REASONS * sizeof(*ret_us));
	for (int k = 1; k <= PP_CATEGORIES && lap == PP_GRAPH_NONE; k++)
		own[k] = is_communication(k) ? 0 : category_of(g, n, k);
	if (lap != PP_GRAPH_NONE)
		lap_of(g, lap, own);
	if (peer_lap != PP_GRAPH_NONE)
		lap_of(g, peer_lap, less);
	for (int pass = 0; pass < 2 && sum <= 0; pass++)
		for (int k = 1; k < PP_REASONS; k++) {
			ret_us[k] = own[k];
			if (peer && !pass && (!alike || lap == PP_GRAPH_NONE)) {
				const double more = category_of(g, n, k) - category_of(g, peer, k);

				ret_us[k] = k <= PP_CATEGORIES && more < own[k] ? more : own[k];
			} else if (!pass) {
				ret_us[k] -= less[k];
			}
			ret_us[k] = ret_us[k] > 0 ? ret_us[k] : 0;
			sum += ret_us[k];
		}
	return sum;
}

void pp_walk_split(const struct pp_graph *g, const struct pp_charge *charge, int64_t ret_ns[PP_REASONS])
{
	double us[PP_REASONS];
	const double sum = charge->kind == PP_CHARGE_WORK ? work_by_reason(g, charge->node, us) : 0;
	int most = charge->kind == PP_CHARGE_TRANSFER ? PP_CATEGORY_HOST_COMMUNICATION
	           : charge->kind == PP_CHARGE_LINK   ? PP_REASON_LINK
	                                              : PP_REASON_UNKNOWN;
	int64_t left = charge->ns;

	memset(ret_ns, 0, PP_REASONS * sizeof(*ret_ns));
	for (int k = 1; k < PP_REASONS && sum > 0; k++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): work_by_reason() sets all of them */
		ret_ns[k] = whole_ns((double)charge->ns * us[k] / sum);
		left = pp_wrap_minus(left, ret_ns[k]);
		most = ret_ns[k] > ret_ns[most] ? k : most;
	}
	ret_ns[most] = pp_wrap_plus(ret_ns[most], left); /* what rounding left */
}

static int add_step(struct pp_walk *w, const struct pp_walk_step *s, double usual_part, double scale)
{
	const double *of = &w->unusual[2 * place_of(w, s)];
	const double unusual = scale * s->unusual * (of[0] > of[1] ? (of[0] - of[1]) / of[0] : 0);
	const double usual = scale * (s->ns - s->unusual) * usual_part;
	int rc;

	if (s->kind == WORK)
		return add(w, s->node, PP_CHARGE_WORK, unusual + usual);
	rc = add(w, s->node, PP_CHARGE_LINK, unusual);
	return rc ? rc : add(w, s->node, PP_CHARGE_TRANSFER, usual);
}

/* How much of the usual the first walk has more: of its own, as a part. */
static void part_of_usual(double usual[2][KINDS], double ret_part[KINDS])
{
	for (int k = 0; k < KINDS; k++)
		ret_part[k] = usual[0][k] > usual[1][k] ? (usual[0][k] - usual[1][k]) / usual[0][k] : 0;
}

static double sum_of(const struct pp_walk *w, const double part[KINDS])
{
	double sum = 0;

	for (size_t i = 0; i < w->ranks; i++) {
		const double *of = &w->unusual[2 * w->rank[i]];

		sum += of[0] > of[1] ? of[0] - of[1] : 0;
	}
	for (size_t i = 0; i < w->taken; i++)
		sum += (w->step[i].ns - w->step[i].unusual) * part[w->step[i].kind];
	return sum;
}

/* What rounding left goes to the largest charge. */
static int finish(struct pp_walk *w, uint32_t late, int64_t ns, double unknown)
{
	int64_t sum = 0;
	size_t most = 0;

	if (add(w, late, PP_CHARGE_UNKNOWN, w->charges || unknown > 0 ? unknown : (double)ns))
		return -ENOMEM;
	for (size_t i = 0; i < w->charges; i++) {
		sum = pp_wrap_plus(sum, w->charge[i].ns);
		most = w->charge[i].ns > w->charge[most].ns ? i : most;
	}
	if (!w->charges)
		return ns > 0 ? add(w, late, PP_CHARGE_UNKNOWN, (double)ns) : 0;
	w->charge[most].ns = pp_wrap_plus(w->charge[most].ns, pp_wrap_minus(ns, sum));
	return 0;
}

int pp_walk_charge(struct pp_walk *w, uint32_t node, int64_t ns)
{
	const struct pp_graph *g = w->g;
	const double wait = (double)pp_graph_wait(g, node);
	double usual[2][KINDS], part[KINDS], sum, known, scale;
	int rc = walk(w, node, usual);
	const int joins = rc;

	w->charges = 0;
	if (rc < 0)
		return rc;
	part_of_usual(usual, part);
	sum = sum_of(w, part);
	/* Where the walks meet they explain all of it: the first is longer by the wait. */
	known = joins || sum > wait ? wait : sum;
	scale = sum > 0 && wait > 0 ? known / sum * (double)ns / wait : 0;
	rc = 0;
	for (size_t i = 0; i < w->taken && !rc && scale > 0; i++)
		rc = add_step(w, &w->step[i], part[w->step[i].kind], scale);
	for (size_t i = 0; i < w->ranks; i++)
		w->unusual[2 * w->rank[i]] = w->unusual[2 * w->rank[i] + 1] = 0;
	if (!rc)
		rc = finish(w, g->node[node].need, ns, scale > 0 ? (wait - known) / wait * (double)ns : 0);
	return rc;
}

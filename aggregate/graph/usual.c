/* Unusual local work; see usual.h. Called by the tools that read the graph. */
#include "aggregate/graph/usual.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/huge.h"
#include "core/base/known.h"
#include "core/base/map.h"
#include "core/base/select.h"
#include "core/base/wrap.h"

#define SIGMA_OF_MEDIAN 1.4826

enum { SURE = 4 /* standard deviations */, VARIANTS = 4, FEW = 16 /* are sorted */ };

struct times { /* segments of a call's first, second .. time in a step */
	uint32_t *segment;
	size_t segments, room;
	uint32_t times, run; /* in the run of nodes at hand: of one rank and step */
};

struct what { /* a kind of operation; its variants are the end of a message, and whether the call only completes it */
	uint64_t key;
	struct times variant[VARIANTS];
};

struct segment {
	size_t nodes, first;    /* in usual.value and usual.change */
	size_t values, changes; /* so far */
	size_t most;            /* ranks in one step */
	int64_t last;           /* value of the track before, in its step before */
	size_t track;           /* that track + 1 */
	double sigma;
	size_t next; /* of the step at hand: its nodes, then where the next one stands; 0: it has none */
};

struct middle { /* of the nodes of a cell, or of the ranks of a step */
	size_t nodes;
	int64_t below, above; /* the two values in the middle of the ranks; equal for an odd number of them */
	int64_t lower;        /* the one before `below`; it counts where the number is odd */
};

struct usual {
	struct pp_graph *g;
	struct what *what;
	size_t whats, what_room;
	struct pp_map map;
	uint32_t *of_operation; /* [collectives]: index in `what` */
	struct segment *segment;
	size_t segments, segment_room;
	uint32_t *segment_of;    /* [nodes] */
	size_t *step;            /* [steps + 1]: first of its nodes in by_cell */
	uint8_t *mixed;          /* [steps] 1: its ranks may call different things */
	int64_t *value, *change; /* [nodes] deviations between ranks, and from step to step, by segment */
	int64_t *middle;         /* room for a value of each node of a step */
	uint32_t *node;          /* room for its nodes */
	uint32_t *in_step;       /* [segments] those of a step */
	size_t cell_room;
	struct whole *whole; /* [workers] */
};

PP_COMPARE(by_segment, uint32_t, PP_ORDER(*x, *y))

static uint64_t hash_what(const void *row)
{
	return ((const struct what *)row)->key * PP_MAP_MIX;
}

static int same_what(const void *row, const void *key)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): rows are there before their index is */
	return ((const struct what *)row)->key == ((const struct what *)key)->key;
}

static int find_what(struct usual *u, uint64_t of, uint32_t *ret_index)
{
	const struct what key = {.key = of};
	uint32_t *place = pp_map_place(&u->map, u->what, u->whats, sizeof(*u->what), &key, hash_what, same_what);

	if (!place || (!*place && PP_GROW(u->what, u->whats, u->what_room)))
		return -ENOMEM;
	if (!*place) {
		u->what[u->whats] = key; /* may warn null-dereference: PP_GROW made room */
		*place = (uint32_t)++u->whats;
	}
	*ret_index = *place - 1;
	return 0;
}

/* What a rank calls there, as other ranks call it too: no communicator, so that rows and columns of a grid are alike. */
static uint64_t key_of(const struct pp_row_collective *c)
{
	const uint32_t of = (uint32_t)(c->message ? c->tag : c->root);

	return (uint64_t)(c->message != 0) << 60 | (uint64_t)c->operation << 33 | of;
}

static int set_whats(struct usual *u)
{
	const struct pp_dataset *d = u->g->d;
	int rc = 0;

	for (size_t o = 0; o < d->collectives && !rc; o++) {
		const struct pp_row_collective *c = &d->collective[o];

		if (o && key_of(c) == key_of(c - 1))
			u->of_operation[o] = u->of_operation[o - 1]; /* may warn use-of-uninitialized-value: set before */
		else
			rc = find_what(u, key_of(c), &u->of_operation[o]);
	}
	return rc;
}

static struct times *times_of(struct usual *u, uint32_t node)
{
	const struct pp_graph *g = u->g;
	const struct pp_node *n = &g->node[node];
	const uint32_t row = n->flags & PP_NODE_LONE ? PP_GRAPH_NONE : *pp_graph_rows(g, n);
	uint32_t what, variant = 0;

	if (row == PP_GRAPH_NONE)
		return find_what(u, (uint64_t)1 << 62 | g->d->lone_call[n->row].operation, &what) ? NULL : u->what[what].variant;
	what = u->of_operation[g->operation[row]];
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): set_whats() has one for each operation */
	if (u->what[what].key >> 60)
		variant = g->d->arrival[row].is_root;
	if (!(n->flags & PP_NODE_POSTS))
		variant += 2;
	return &u->what[what].variant[variant];
}

static int set_segment(struct usual *u, uint32_t node, uint32_t run)
{
	struct times *t = times_of(u, node);

	if (!t)
		return -ENOMEM;
	t->times = t->run == run ? t->times : 0;
	t->run = run;
	if (t->times == t->segments) {
		if (PP_GROW(t->segment, t->segments, t->room) || PP_GROW(u->segment, u->segments, u->segment_room))
			return -ENOMEM;
		u->segment[u->segments] = (struct segment){.nodes = 0};
		t->segment[t->segments++] = (uint32_t)u->segments++;
	}
	u->segment_of[node] = t->segment[t->times++];
	u->segment[u->segment_of[node]].nodes++;
	return 0;
}

static int set_segments(struct usual *u)
{
	struct pp_graph *g = u->g;
	uint32_t run = 0, track = PP_GRAPH_NONE, step = PP_GRAPH_NONE;

	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct pp_node *n = &g->node[i];

		if (n->cell == PP_GRAPH_NONE)
			continue;
		run += n->track != track || n->cell != step;
		track = n->track;
		step = n->cell;
		if (set_segment(u, i, run))
			return -ENOMEM;
		u->step[step + 1]++;
	}
	return 0;
}

/* How much a rank's value moves from step to step; trends, one change and rare events do not enter. */
static void note_change(struct usual *u, struct segment *s, size_t track, int64_t value)
{
	if (s->track == track + 1)
		u->change[s->first + s->changes++] = value > s->last ? value - s->last : s->last - value;
	s->track = track + 1;
	s->last = value;
}

/* Nodes by step, still by track in each; returns the nodes of the largest step. */
static size_t order_steps(struct usual *u)
{
	const struct pp_graph *g = u->g;
	size_t most = 0, first = 0;

	for (size_t s = 0; s < u->segments; s++) {
		u->segment[s].first = first;
		first += u->segment[s].nodes;
	}
	for (size_t s = 0; s < g->d->steps; s++) {
		most = u->step[s + 1] > most ? u->step[s + 1] : most;
		u->step[s + 1] += u->step[s];
	}
	/* Each begin moves to the next one, and back. */
	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct pp_node *n = &g->node[i];

		if (n->cell == PP_GRAPH_NONE)
			continue;
		g->by_cell[u->step[n->cell]++] = i;
		note_change(u, &u->segment[u->segment_of[i]], n->track, pp_graph_local(g, i));
	}
	memmove(u->step + 1, u->step, g->d->steps * sizeof(*u->step));
	u->step[0] = 0;
	return most;
}

/* Stable, by segment. Returns how many segments the step has: u->in_step. */
static size_t order_cells(const struct usual *u, uint32_t *node, size_t n)
{
	size_t segments = 0, next = 0;

	for (size_t i = 0; i < n; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): order_steps() has set all of them */
		if (!u->segment[u->segment_of[node[i]]].next++)
			u->in_step[segments++] = u->segment_of[node[i]];
	for (size_t k = 1; k < segments; k++)
		if (u->in_step[k] < u->in_step[k - 1]) {
			qsort(u->in_step, segments, sizeof(*u->in_step), by_segment);
			break;
		}
	for (size_t k = 0; k < segments; k++) {
		struct segment *s = &u->segment[u->in_step[k]];
		const size_t nodes = s->next;

		s->next = next;
		next += nodes;
	}
	memcpy(u->node, node, n * sizeof(*node));
	for (size_t i = 0; i < n; i++)
		node[u->segment[u->segment_of[u->node[i]]].next++] = u->node[i];
	return segments;
}

/* The values in the middle, of n >= 1 values whose order changes. */
static void set_middle(struct middle *c, int64_t *v, size_t n)
{
	const size_t half = n / 2;
	const int is_sorted = n <= FEW;
	int64_t before = 0;

	for (size_t i = 1; is_sorted && i < n; i++) {
		const int64_t x = v[i]; /* may warn use-of-uninitialized-value: the caller has set n values */
		size_t to = i;

		/* may warn use-of-uninitialized-value: the same */
		for (; to && v[to - 1] > x; to--)
			v[to] = v[to - 1];
		v[to] = x;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the caller has set n >= 1 values */
	c->above = is_sorted ? v[half] : pp_select_int64(v, n, half);
	if (half)
		before = is_sorted ? v[half - 1] : pp_select_int64(v, half, half - 1);
	c->below = n % 2 ? c->above : before;
	c->lower = before;
}

static int64_t median_of(const struct middle *c)
{
	return c->below + (c->above - c->below) / 2;
}

/* The median of the other ranks, for a value above that of all. */
static int64_t median_of_others(const struct middle *c)
{
	if (c->nodes < 2)
		return 0;
	return c->nodes % 2 ? c->lower + (c->above - c->lower) / 2 : c->below;
}

static double sigma_of(struct usual *u, const struct segment *s)
{
	int64_t *value = u->value + s->first, *change = u->change + s->first;
	const double between = !s->values ? 0 : SIGMA_OF_MEDIAN * (double)pp_select_int64(value, s->values, s->values / 2);
	const double along =
	        !s->changes ? 0 : SIGMA_OF_MEDIAN / sqrt(2) * (double)pp_select_int64(change, s->changes, s->changes / 2);

	if (!s->changes)
		return s->most > 3 ? between : 0;
	return between < along ? between : along;
}

/* Takes the nodes of a cell: what each has above the others, and how far it is off. Returns their peer. */
static uint32_t take_cell(struct usual *u, struct segment *s, const uint32_t *node, size_t n)
{
	struct pp_graph *g = u->g;
	int64_t *v = u->value + s->first + s->values, median, others;
	struct middle c = {.nodes = n};
	uint32_t peer = PP_GRAPH_NONE;

	for (size_t i = 0; i < n; i++)
		v[i] = u->middle[i] = pp_graph_local(g, node[i]);
	set_middle(&c, u->middle, n);
	median = median_of(&c);
	others = median_of_others(&c);
	for (size_t i = 0; i < n; i++) {
		struct pp_node *one = &g->node[node[i]];

		if (n > 1 && peer == PP_GRAPH_NONE && v[i] == c.below)
			peer = node[i];
		one->cell = (uint32_t)g->cells;
		one->unusual = v[i] > 0 && (v[i] > median || n == 1) ? (double)(v[i] - others) / (double)v[i] : 0;
		v[i] = v[i] > median ? v[i] - median : median - v[i];
	}
	s->values += n;
	s->most = n > s->most ? n : s->most;
	return peer;
}

/* Ranks of a step whose nodes stand by track. */
static size_t ranks_of(const struct pp_graph *g, const uint32_t *node, size_t n)
{
	size_t ranks = n > 0;

	for (size_t i = 1; i < n; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): the caller has set n of them */
		ranks += g->node[node[i]].track != g->node[node[i - 1]].track;
	return ranks;
}

/* Makes the cells of a step. 0, or -ENOMEM. */
static int take_step(struct usual *u, size_t step)
{
	struct pp_graph *g = u->g;
	uint32_t *node = g->by_cell + u->step[step];
	const size_t n = u->step[step + 1] - u->step[step], ranks = ranks_of(g, node, n), segments = order_cells(u, node, n);
	size_t first = 0;

	for (size_t k = 0; k < segments; k++) {
		struct segment *s = &u->segment[u->in_step[k]];
		const size_t nodes = s->next - first;

		if (PP_GROW(g->cell, g->cells, u->cell_room))
			return -ENOMEM;
		g->cell[g->cells] = (struct pp_cell){.first = (uint32_t)(u->step[step] + first), (uint32_t)step, u->in_step[k]};
		g->cell[g->cells].peer = take_cell(u, s, node + first, nodes);
		/* each rank once: then all call the same */
		u->mixed[step] |= nodes != ranks || ranks_of(g, node + first, nodes) != ranks;
		g->cells++;
		first += nodes;
		s->next = 0;
	}
	return 0;
}

static int take_steps(struct usual *u)
{
	struct pp_graph *g = u->g;
	int rc = 0;

	for (size_t s = 0; s < g->d->steps && !rc; s++)
		rc = take_step(u, s);
	if (!rc && PP_GROW(g->cell, g->cells, u->cell_room))
		rc = -ENOMEM;
	if (!rc)
		g->cell[g->cells] = (struct pp_cell){.first = (uint32_t)u->step[g->d->steps]};
	return rc;
}

/* Noise is not unusual. */
static void drop_noise(struct usual *u)
{
	struct pp_graph *g = u->g;

	for (size_t s = 0; s < u->segments; s++)
		u->segment[s].sigma = sigma_of(u, &u->segment[s]);
	for (uint32_t i = 0; i < g->nodes; i++) {
		struct pp_node *n = &g->node[i];
		double own;

		if (n->unusual <= 0)
			continue;
		own = (double)pp_graph_local(g, i);
		if (own <= own - rint(n->unusual * own) + SURE * u->segment[u->segment_of[i]].sigma)
			n->unusual = 0;
	}
}

/* A rank in a step. */
struct whole {
	int64_t work;
	uint64_t calls; /* a sum that is equal where the calls are */
	int present;
};

/* Sums of the ranks in the step. */
static void sum_up(const struct usual *u, size_t step)
{
	const struct pp_graph *g = u->g;

	memset(u->whole, 0, g->d->workers * sizeof(*u->whole));
	for (size_t i = u->step[step]; i < u->step[step + 1]; i++) {
		const uint32_t node = g->by_cell[i];
		struct whole *w = &u->whole[g->node[node].track];

		w->present = 1;
		w->work += pp_graph_local(g, node);
		w->calls += (u->segment_of[node] + (uint64_t)1) * PP_MAP_MIX;
	}
}

/* 1: the ranks of the step call different things. */
static int is_mixed(const struct usual *u)
{
	const struct whole *first = NULL;

	for (size_t w = 0; w < u->g->d->workers; w++) {
		if (!u->whole[w].present)
			continue;
		if (first && first->calls != u->whole[w].calls)
			return 1;
		first = &u->whole[w];
	}
	return 0;
}

static struct middle middle_of(const struct usual *u)
{
	struct middle c = {.nodes = 0};

	for (size_t w = 0; w < u->g->d->workers; w++)
		if (u->whole[w].present)
			u->middle[c.nodes++] = u->whole[w].work;
	if (c.nodes)
		set_middle(&c, u->middle, c.nodes);
	return c;
}

/* Deviation of the ranks' whole work in steps. */
static double whole_sigma(struct usual *u)
{
	const size_t workers = u->g->d->workers;
	struct segment *of = calloc(workers + 1, sizeof(*of)), sum = {.nodes = 0};

	for (size_t s = 0; s < u->g->d->steps && of; s++) {
		struct middle c;

		sum_up(u, s);
		c = middle_of(u);
		sum.most = c.nodes > sum.most ? c.nodes : sum.most;
		for (size_t w = 0; w < workers; w++) {
			if (!u->whole[w].present)
				continue;
			of[w].first = sum.changes;
			of[w].changes = 0;
			note_change(u, &of[w], w, u->whole[w].work);
			sum.changes += of[w].changes;
			u->value[sum.values++] = llabs(u->whole[w].work - median_of(&c));
		}
	}
	free(of);
	return of ? sigma_of(u, &sum) : -1;
}

/* Unusual is what the rank has in the whole step, the same part of each local work. */
static void limit_ranks(struct usual *u, size_t step, double sigma)
{
	struct pp_graph *g = u->g;
	const struct middle c = middle_of(u);
	const int64_t others = median_of_others(&c);
	uint32_t peer = PP_GRAPH_NONE;

	for (size_t i = u->step[step]; i < u->step[step + 1] && c.nodes > 1; i++)
		if (g->by_cell[i] < peer && u->whole[g->node[g->by_cell[i]].track].work == c.below)
			peer = g->by_cell[i];
	for (size_t i = u->step[step]; i < u->step[step + 1]; i++) {
		struct pp_node *n = &g->node[g->by_cell[i]];
		const int64_t work = u->whole[n->track].work;
		double part = 0;

		g->cell[n->cell].peer = peer;
		if (c.nodes > 1 && work > median_of(&c) && (double)work > (double)others + SURE * sigma)
			part = (double)(work - others) / (double)work;
		n->unusual = part;
	}
}

static int limit_steps(struct usual *u)
{
	double sigma = -1;

	for (size_t s = 0; s < u->g->d->steps; s++) {
		if (!u->mixed[s])
			continue;
		sum_up(u, s);
		if (!is_mixed(u))
			continue;
		if (sigma < 0) {
			sigma = whole_sigma(u);
			sum_up(u, s);
		}
		if (sigma < 0)
			return -ENOMEM;
		limit_ranks(u, s, sigma);
	}
	return 0;
}

/* Kernels that communicate and belong to no call: nothing tells how long they waited. */
static int64_t not_split(const struct pp_row_cell *cell)
{
	const int64_t split = pp_wrap_plus(pp_known_or(cell->wait_ns, 0), pp_known_or(cell->transfer_ns, 0));
	const int64_t ns = pp_wrap_minus(cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE], split);

	return cell->present && ns > 0 ? ns : 0;
}

/* What a rank has more of these kernels than the others may be waiting: that much of its local work is not unusual. */
static void excuse_ranks(struct usual *u, size_t step)
{
	struct pp_graph *g = u->g;
	const struct pp_row_cell *cell = &g->d->cell[step * g->d->workers];
	int64_t others, most = 0;
	struct middle c;

	for (size_t w = 0; w < g->d->workers; w++) {
		u->whole[w] = (struct whole){.work = not_split(&cell[w]), .present = cell[w].present};
		most = u->whole[w].work > most ? u->whole[w].work : most;
	}
	c = middle_of(u);
	others = median_of_others(&c);
	if (most <= others)
		return;
	for (size_t i = u->step[step]; i < u->step[step + 1]; i++) {
		const uint32_t node = g->by_cell[i];

		if (g->node[node].unusual > 0)
			u->whole[g->node[node].track].calls += (uint64_t)(g->node[node].unusual * (double)pp_graph_local(g, node));
	}
	for (size_t i = u->step[step]; i < u->step[step + 1]; i++) {
		struct pp_node *n = &g->node[g->by_cell[i]];
		const double more = (double)(u->whole[n->track].work - others), all = (double)u->whole[n->track].calls;

		if (n->unusual > 0 && more > 0)
			n->unusual *= all > more ? 1 - more / all : 0;
	}
}

/* Room that depends on the nodes inside steps, and on those of the largest step. */
static int find(struct usual *u)
{
	struct pp_graph *g = u->g;
	const size_t nodes = g->nodes, workers = g->d->workers;
	size_t most;
	int rc;

	g->by_cell = malloc((nodes + 1) * sizeof(*g->by_cell));
	u->value = malloc((nodes + 1) * sizeof(*u->value));
	u->change = malloc((nodes + 1) * sizeof(*u->change));
	u->in_step = malloc((u->segments + 1) * sizeof(*u->in_step));
	u->mixed = calloc(g->d->steps + 1, sizeof(*u->mixed));
	if (!g->by_cell || !u->value || !u->change || !u->in_step || !u->mixed)
		return -ENOMEM;
	pp_huge_advise(g->by_cell, nodes * sizeof(*g->by_cell));
	pp_huge_advise(u->value, nodes * sizeof(*u->value));
	pp_huge_advise(u->change, nodes * sizeof(*u->change));
	most = order_steps(u);
	u->middle = malloc(((most > workers ? most : workers) + 1) * sizeof(*u->middle));
	u->node = malloc((most + 1) * sizeof(*u->node));
	u->whole = malloc((workers + 1) * sizeof(*u->whole));
	rc = u->middle && u->node && u->whole ? take_steps(u) : -ENOMEM;
	if (rc)
		return rc;
	drop_noise(u);
	if (PP_RESIZE(g->cell, g->cells + 1))
		return -ENOMEM;
	rc = limit_steps(u);
	for (size_t s = 0; s < g->d->steps && !rc && g->d->cell; s++)
		excuse_ranks(u, s);
	return rc;
}

int pp_usual_find(struct pp_graph *g)
{
	struct usual u = {.g = g,
	                  .of_operation = malloc((g->d->collectives + 1) * sizeof(*u.of_operation)),
	                  .segment_of = malloc((g->nodes + 1) * sizeof(*u.segment_of)),
	                  .step = calloc(g->d->steps + 2, sizeof(*u.step))};
	int rc = u.of_operation && u.segment_of && u.step ? set_whats(&u) : -ENOMEM;

	if (!rc)
		rc = set_segments(&u);
	if (!rc)
		rc = find(&u);
	for (size_t i = 0; i < u.whats * VARIANTS; i++)
		free(u.what[i / VARIANTS].variant[i % VARIANTS].segment);
	free(u.what);
	free(u.map.place);
	free(u.of_operation);
	free(u.segment_of);
	free(u.segment);
	free(u.step);
	free(u.mixed);
	free(u.value);
	free(u.change);
	free(u.middle);
	free(u.node);
	free(u.in_step);
	free(u.whole);
	return rc;
}

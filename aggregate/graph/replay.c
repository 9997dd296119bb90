/* Replay of the graph with less work or transfer; see replay.h. Called by tools/what_if.c. */
#include "aggregate/graph/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/graph/link.h"
#include "aggregate/graph/moves.h"
#include "aggregate/graph/needs.h"
#include "aggregate/graph/order.h"
#include "core/base/huge.h"

enum turn { STARTED, ENDED, JOINED };
enum { MOST_DEPTH = 200, TIMES = PP_REPLAY_MOST, TOGETHER = 64 };

/* Shifts are times less the measured ones. */
struct track {            /* of a worker */
	int64_t until;    /* time of the edge that comes next */
	size_t edge;      /* that one */
	uint32_t started; /* nodes before it have started */
	uint32_t ended;   /* nodes before it have ended */
	uint8_t chosen;   /* bit k: scenario k saves its unusual work */
};

struct edge { /* begin or end of a step whose shift counts */
	int64_t ns;
	int sign;
};

struct measured {       /* of a worker */
	uint32_t steps; /* that count */
	int64_t ns;     /* in them, and from there to the next ones */
};

struct run {
	struct pp_graph *g;
	const uint8_t *counts; /* [steps]; NULL: all do */
	struct pp_scenario *scenario;
	size_t scenarios;
	unsigned with_work, with_transfer, with_link, with_network; /* bit k: scenario k has it */
	struct track *track;
	int64_t *shift;            /* [workers][2][scenarios] of the start of the last node, and of its end */
	int64_t *input;            /* [workers][scenarios] of its input, where it is BESIDE */
	int64_t *sum;              /* [workers][scenarios] of ends less those of begins of successive steps */
	struct edge *edge;         /* by worker, then by time */
	size_t *first;             /* [workers + 1] in it */
	struct measured *measured; /* [workers] */
	int64_t *start;            /* [nodes][scenarios] of the start, of NEEDED ones */
	uint64_t *latest;          /* [collectives][scenarios] the latest start so far of a rank that gives data, above INT64_MIN */
};

static int64_t *begin_of(const struct run *r, uint32_t track)
{
	return &r->shift[2 * r->scenarios * track];
}

static int64_t *end_of(const struct run *r, uint32_t track)
{
	return begin_of(r, track) + r->scenarios;
}

static int counts(const uint8_t *which, size_t step)
{
	return !which || which[step];
}

/* In steps that do not count, nothing is saved. */
static int64_t saved_work(const struct run *r, size_t which, uint32_t node, int64_t local)
{
	const uint32_t *work_us = r->scenario[which].work_us;
	const struct pp_node *n = &r->g->node[node];
	const uint32_t step = pp_graph_step(r->g, n);
	const int is_in = step == PP_GRAPH_NONE || counts(r->counts, step);
	const double unusual = is_in && r->track[n->track].chosen >> which & 1 ? n->unusual : 0;
	int64_t ns = work_us ? (int64_t)work_us[node] * 1000 : 0;

	if ((int64_t)(unusual * (double)local) > ns)
		ns = (int64_t)(unusual * (double)local);
	return ns < local ? ns : local;
}

/* Is the rank's step the one right after its step before? */
static int follows(const struct pp_dataset *d, size_t step, size_t w)
{
	const struct pp_row_cell *cell = &d->cell[step * d->workers + w];

	return step && !d->step[step].kind && cell->present && cell[-(ptrdiff_t)d->workers].present &&
	       d->step[step].number == d->step[step - 1].number + 1;
}

/* Of ranks from `first` on. Step by step: that is how cells stand. */
static void measure(const struct pp_dataset *d, const uint8_t *which, size_t first, size_t end, struct measured *ret)
{
	for (size_t s = 0; s < d->steps; s++)
		for (size_t w = first; w < end && counts(which, s); w++) {
			const struct pp_row_cell *cell = &d->cell[s * d->workers + w];
			struct measured *m = &ret[w - first];

			if (!cell->present)
				continue;
			m->steps++;
			pp_wrap_add(&m->ns, cell->step_ns);
			if (s + 1 < d->steps && follows(d, s + 1, w))
				pp_wrap_add(&m->ns, pp_wrap_minus(cell[d->workers].begin_ns, cell->end_ns));
		}
}

/* A step ends where the next one begins, if that is the one right after it. */
static void set_signs(const struct run *r, int8_t *sign)
{
	const struct pp_dataset *d = r->g->d;

	for (size_t s = 0; s < d->steps; s++)
		for (size_t w = 0; w < d->workers; w++, sign += 2) {
			const int own = d->cell[s * d->workers + w].present && counts(r->counts, s), after = follows(d, s, w);

			sign[0] = (int8_t)((after && counts(r->counts, s - 1)) - own);
			sign[1] = (int8_t)own;
			if (after)
				sign[1 - 2 * (ptrdiff_t)d->workers] = 0;
		}
}

/* 0, or -ENOMEM. */
static int set_edges(struct run *r)
{
	const struct pp_dataset *d = r->g->d;
	const size_t cells = d->steps * d->workers;
	int8_t *sign = malloc(2 * cells + 1);

	if (!sign)
		return -ENOMEM;
	set_signs(r, sign);
	for (size_t i = 0; i < cells;)
		for (size_t w = 0; w < d->workers; w++, i++)
			r->first[w + 1] += (size_t)(sign[2 * i] != 0) + (sign[2 * i + 1] != 0);
	for (size_t w = 0; w < d->workers; w++)
		r->first[w + 1] += r->first[w];
	r->edge = malloc((r->first[d->workers] + 1) * sizeof(*r->edge));
	/* Each begin moves to the next one, and back. */
	for (size_t i = 0; i < cells && r->edge;)
		for (size_t w = 0; w < d->workers; w++, i++) {
			if (sign[2 * i])
				r->edge[r->first[w]++] = (struct edge){d->cell[i].begin_ns, sign[2 * i]};
			if (sign[2 * i + 1])
				r->edge[r->first[w]++] = (struct edge){d->cell[i].end_ns, sign[2 * i + 1]};
		}
	memmove(r->first + 1, r->first, d->workers * sizeof(*r->first));
	r->first[0] = 0;
	free(sign);
	return r->edge ? 0 : -ENOMEM;
}

/* Edges up to `until` get the shift that the track has now. */
static void pass_edges(struct run *r, uint32_t w, int64_t until)
{
	const int64_t *end = end_of(r, w);
	struct track *t = &r->track[w];

	for (t->until = INT64_MAX; t->edge < r->first[w + 1]; t->edge++) {
		const struct edge *e = &r->edge[t->edge];

		if (e->ns > until) {
			t->until = e->ns;
			return;
		}
		for (size_t k = 0; k < r->scenarios; k++)
			pp_wrap_add(&r->sum[w * r->scenarios + k], e->sign > 0 ? end[k] : pp_wrap_minus(0, end[k]));
	}
}

static void do_start(struct run *r, uint32_t node, int depth);

/* The later of what the call needs: absolute times. */
static void need_node(const struct run *r, uint32_t need, int64_t until, int64_t *at)
{
	const int64_t start = r->g->node[need].start;

	for (size_t k = 0; k < r->scenarios && start <= until; k++) {
		const int64_t ns = pp_wrap_plus(start, r->start[need * r->scenarios + k]);

		at[k] = ns > at[k] ? ns : at[k];
	}
}

/* What the rows that the call completes need, and what is saved of their transfer. */
static void need_rows(const struct run *r, uint32_t node, int64_t *at, int64_t *saved)
{
	const struct pp_graph *g = r->g;
	const struct pp_node *n = &g->node[node];
	struct pp_need_list list = {.rows = 0};

	for (uint32_t i = 0; i < pp_graph_row_count(g, n) && n->flags & PP_NODE_ENDS; i++) {
		const uint32_t row = pp_graph_rows(g, n)[i], operation = g->operation[row];
		enum pp_need_kind kind;

		for (size_t k = 0; r->with_transfer && k < r->scenarios; k++)
			if (r->scenario[k].transfer_ns)
				saved[k] += r->scenario[k].transfer_ns[operation];
		if (g->kind[operation] == PP_GRAPH_UNCLEAR)
			continue;
		kind = g->kind[operation] == PP_GRAPH_JOIN ? PP_NEED_ALL : pp_needs_of(g, operation, row, &list);
		for (uint32_t k = 0; kind == PP_NEED_ROWS && k < list.rows; k++)
			if (g->operation[list.row[k]] == operation)
				need_node(r, g->post[list.row[k]], n->end, at);
		for (size_t k = 0; kind == PP_NEED_ALL && k < r->scenarios; k++) {
			const int64_t ns = (int64_t)(r->latest[operation * r->scenarios + k] + (uint64_t)INT64_MIN);

			at[k] = ns > at[k] ? ns : at[k];
		}
	}
}

/* All transfer of the call takes no time on ideal networks. */
static void save_all(const struct run *r, uint32_t node, int64_t transfer, int64_t *saved)
{
	const enum pp_moves moves = pp_moves_of(r->g, node);

	for (size_t k = 0; k < r->scenarios; k++)
		if (r->scenario[k].network == PP_NETWORK_IDEAL_ALL ? moves != PP_MOVES_NOTHING
		                                                   : r->scenario[k].network && moves == PP_MOVES_DATA)
			saved[k] = transfer;
}

/* end = the later of its own start and of what it needs + transfer. */
/* NOLINTNEXTLINE(misc-no-recursion): only among equal times; MOST_DEPTH ends it */
static void do_end(struct run *r, uint32_t node, int depth)
{
	const struct pp_graph *g = r->g;
	const struct pp_node *n = &g->node[node];
	const int64_t *begin = begin_of(r, n->track);
	int64_t at[TIMES], saved[TIMES] = {0}, from = n->start, transfer, *end = end_of(r, n->track);
	const uint32_t step = pp_graph_step(g, n);
	const int is_in = step != PP_GRAPH_NONE && counts(r->counts, step);

	if (node < r->track[n->track].ended)
		return;
	r->track[n->track].ended = node + 1;
	if (n->need != PP_GRAPH_NONE) {
		from = g->node[n->need].start > from ? g->node[n->need].start : from;
		do_start(r, n->need, depth + 1);
	}
	for (size_t k = 0; k < r->scenarios; k++)
		at[k] = pp_wrap_plus(n->start, begin[k]);
	need_rows(r, node, at, saved);
	if (n->need != PP_GRAPH_NONE && g->node[n->need].flags & PP_NODE_NEEDED)
		need_node(r, n->need, n->end, at);
	transfer = pp_graph_since(from, n->end);
	if (transfer && r->with_network)
		save_all(r, node, transfer, saved);
	for (size_t k = 0; k < r->scenarios; k++) {
		if (is_in) /* the wait is from the own start to `from`, and in the replay to `at` */
			pp_wrap_add(&r->scenario[k].wait_ns, pp_wrap_plus(pp_wrap_minus(from, at[k]), begin[k]));
		if (r->with_link && r->scenario[k].link)
			saved[k] += pp_links_saved(g, r->scenario[k].link, node);
		end[k] = pp_wrap_minus(at[k], pp_wrap_plus(from, saved[k] < transfer ? saved[k] : transfer));
	}
}

/* Messages have their needs by row. */
static void note_latest(struct run *r, uint32_t node)
{
	const struct pp_graph *g = r->g;
	const struct pp_node *n = &g->node[node];
	const int64_t *begin = begin_of(r, n->track);

	for (uint32_t i = 0; i < pp_graph_row_count(g, n) && n->flags & PP_NODE_POSTS; i++) {
		const uint32_t row = pp_graph_rows(g, n)[i], operation = g->operation[row];
		uint64_t *latest = &r->latest[operation * r->scenarios];

		if (g->kind[operation] == PP_GRAPH_UNCLEAR ||
		    (g->kind[operation] == PP_GRAPH_BY_ROW && (g->d->collective[operation].message || g->d->arrival[row].is_empty)))
			continue;
		for (size_t k = 0; k < r->scenarios; k++) {
			const uint64_t ns = (uint64_t)pp_wrap_plus(n->start, begin[k]) - (uint64_t)INT64_MIN;

			latest[k] = ns > latest[k] ? ns : latest[k];
		}
	}
}

/* Shift of the later of two times with shifts of their own. */
static int64_t later_shift(int64_t one, int64_t shift, int64_t other, int64_t other_shift)
{
	const int64_t a = pp_wrap_plus(one, shift), b = pp_wrap_plus(other, other_shift);

	return pp_wrap_minus(a > b ? a : b, one > other ? one : other);
}

/* The later of the end of the node before and of what was computed beside it. */
static void start_beside(struct run *r, uint32_t node, const int64_t *saved)
{
	const struct pp_graph *g = r->g;
	const struct pp_node *n = &g->node[node];
	int64_t *input = &r->input[n->track * r->scenarios], *begin = begin_of(r, n->track);
	const int64_t *end = end_of(r, n->track);

	for (size_t k = 0; k < r->scenarios; k++) {
		input[k] = pp_wrap_minus(n[-1].flags & PP_NODE_BESIDE ? input[k] : begin[k], saved[k]);
		begin[k] = later_shift(n[-1].end, end[k], pp_graph_input(g, node), input[k]);
	}
}

/* start = end of the node before + local work, but of a node that is BESIDE. */
/* NOLINTNEXTLINE(misc-no-recursion): only among equal times; MOST_DEPTH ends it */
static void do_start(struct run *r, uint32_t node, int depth)
{
	const struct pp_graph *g = r->g;
	const struct pp_node *n = &g->node[node];
	const uint32_t before = pp_graph_before(g, node);
	struct track *t = &r->track[n->track];
	int64_t saved[TIMES] = {0}, *begin = begin_of(r, n->track);

	if (node < t->started || depth > MOST_DEPTH)
		return;
	if (before != PP_GRAPH_NONE) {
		do_start(r, before, depth + 1);
		do_end(r, before, depth + 1);
	}
	t->started = node + 1;
	if (n->start >= t->until)
		pass_edges(r, n->track, n->start);
	if (r->with_work || (t->chosen && n->unusual > 0)) {
		const int64_t local = pp_graph_local(g, node);

		for (size_t k = 0; k < r->scenarios; k++)
			saved[k] = saved_work(r, k, node, local);
	}
	if (n->flags & PP_NODE_BESIDE)
		start_beside(r, node, saved);
	for (size_t k = 0; k < r->scenarios && !(n->flags & PP_NODE_BESIDE); k++)
		begin[k] = pp_wrap_minus(begin[r->scenarios + k], saved[k]);
	if (n->flags & PP_NODE_NEEDED)
		memcpy(&r->start[node * r->scenarios], begin, r->scenarios * sizeof(*begin));
	note_latest(r, node);
}

static void add_key(struct pp_graph *g, uint32_t node, uint32_t row, struct pp_order_key *key, size_t *n)
{
	const struct pp_node *one = &g->node[node];

	if (node == PP_GRAPH_NONE || *pp_graph_rows(g, one) != row)
		return;
	key[(*n)++] = (struct pp_order_key){one->start, node, STARTED};
	if (one->flags & PP_NODE_ENDS)
		key[(*n)++] = (struct pp_order_key){one->end, node, ENDED};
}

/* Does each rank of the operation leave it, in one call, after the last one has come? Then it is done at once, at *ret_last. */
static int joins_at_once(const struct pp_graph *g, size_t operation, int64_t *ret_last)
{
	const struct pp_row_collective *c = &g->d->collective[operation];
	int64_t first_end = INT64_MAX;

	*ret_last = INT64_MIN;
	for (uint64_t i = c->row_first; g->kind[operation] == PP_GRAPH_JOIN && i < c->row_first + c->row_count; i++) {
		const struct pp_node *n = g->post[i] == g->done[i] && g->operation[i] == operation ? &g->node[g->post[i]] : NULL;

		pp_graph_fetch(g, i + PP_GRAPH_AHEAD);
		if (!n || n->flags & PP_NODE_SEVERAL)
			return 0;
		*ret_last = n->start > *ret_last ? n->start : *ret_last;
		first_end = n->end < first_end ? n->end : first_end;
	}
	return g->kind[operation] == PP_GRAPH_JOIN && *ret_last <= first_end;
}

/* Operations that are done at once, and starts and ends of other calls: returns how many keys. */
static size_t list_turns(struct pp_graph *g, struct pp_order_key *key)
{
	int64_t last;
	size_t n = 0;

	for (uint32_t c = 0; c < g->d->collectives; c++) {
		const uint64_t first = g->d->collective[c].row_first, count = g->d->collective[c].row_count;

		if (joins_at_once(g, c, &last)) {
			key[n++] = (struct pp_order_key){last, c, JOINED};
			continue;
		}
		for (uint64_t i = first; i < g->d->arrivals && i - first < count; i++) {
			if (g->operation[i] != c)
				continue;
			if (g->kind[c] == PP_GRAPH_BY_ROW)
				g->node[g->post[i]].flags |= PP_NODE_NEEDED;
			add_key(g, g->post[i], (uint32_t)i, key, &n);
			if (g->done[i] != g->post[i])
				add_key(g, g->done[i], (uint32_t)i, key, &n);
		}
	}
	for (uint32_t i = 0; i < g->nodes; i++) {
		if (g->node[i].flags & (PP_NODE_LEARNED | PP_NODE_INFERRED))
			g->node[g->node[i].need].flags |= PP_NODE_NEEDED;
		if (!(g->node[i].flags & PP_NODE_LONE))
			continue;
		key[n++] = (struct pp_order_key){g->node[i].start, i, STARTED};
		key[n++] = (struct pp_order_key){g->node[i].end, i, ENDED};
	}
	return n;
}

/* In the order of their times: what a call needs began before its end. Operations nearly have that order. Once for all replays. */
static int order(struct pp_graph *g)
{
	struct pp_order_key *key = g->turn ? NULL : malloc((2 * g->nodes + 1) * sizeof(*key));
	int rc;

	if (g->turn)
		return 0;
	if (!key)
		return -ENOMEM;
	pp_huge_advise(key, 2 * g->nodes * sizeof(*key));
	g->turns = list_turns(g, key);
	g->turn = malloc((g->turns + 1) * sizeof(*g->turn));
	rc = g->turn ? pp_order_sort(key, g->turns) : -ENOMEM;
	for (size_t i = 0; i < g->turns && !rc; i++)
		g->turn[i] = (struct pp_turn){key[i].id, (uint8_t)key[i].other};
	if (rc) {
		free(g->turn);
		g->turn = NULL;
	}
	free(key);
	return rc;
}

/* Brings a node near: the ranks of an operation lie far from each other. */
static void fetch(const struct run *r, uint32_t node)
{
	__builtin_prefetch(&r->g->node[node]);
	__builtin_prefetch(&r->g->node[node ? node - 1 : 0]);
}

static void run_operation(struct run *r, const struct pp_row_collective *c)
{
	const uint32_t *post = r->g->post + c->row_first;

	for (uint32_t i = 0; i < c->row_count; i++) {
		fetch(r, post[i + PP_GRAPH_AHEAD < c->row_count ? i + PP_GRAPH_AHEAD : i]);
		do_start(r, post[i], 0);
	}
	for (uint32_t i = 0; i < c->row_count; i++)
		do_end(r, post[i], 0);
}

static void run_turns(struct run *r)
{
	const struct pp_graph *g = r->g;

	for (size_t i = 0; i < g->turns; i++) {
		const struct pp_turn *one = &g->turn[i], *ahead = i + PP_GRAPH_AHEAD < g->turns ? one + PP_GRAPH_AHEAD : one;

		if (ahead->what != JOINED)
			fetch(r, ahead->of);
		if (one->what == JOINED)
			run_operation(r, &g->d->collective[one->of]);
		else
			do_start(r, one->of, 0);
		if (one->what == ENDED)
			do_end(r, one->of, 0);
	}
}

int64_t pp_replay_measured(const struct pp_dataset *d, const uint8_t *which)
{
	uint32_t steps = 0;
	int64_t most = 0;

	for (size_t first = 0; first < d->workers; first += TOGETHER) {
		const size_t end = first + TOGETHER < d->workers ? first + TOGETHER : d->workers;
		struct measured m[TOGETHER] = {{0, 0}};

		measure(d, which, first, end, m);
		for (size_t w = 0; w < end - first; w++) {
			const int64_t ns = m[w].steps ? m[w].ns / m[w].steps : 0;

			if (m[w].steps > steps || (m[w].steps == steps && ns > most))
				most = ns > 0 ? ns : 0;
			steps = m[w].steps > steps ? m[w].steps : steps;
		}
	}
	return most;
}

static void finish(struct run *r)
{
	const size_t workers = r->g->d->workers;
	uint32_t steps = 0;

	for (size_t w = 0; w < workers; w += TOGETHER)
		measure(r->g->d, r->counts, w, w + TOGETHER < workers ? w + TOGETHER : workers, &r->measured[w]);
	for (size_t w = 0; w < workers; w++)
		steps = r->measured[w].steps > steps ? r->measured[w].steps : steps;
	for (size_t k = 0; k < r->scenarios; k++)
		r->scenario[k].after_ns = 0;
	for (uint32_t w = 0; w < workers && steps; w++) {
		pass_edges(r, w, INT64_MAX);
		for (size_t k = 0; k < r->scenarios && r->measured[w].steps == steps && r->measured[w].ns; k++) {
			const int64_t ns = pp_wrap_plus(r->measured[w].ns, r->sum[w * r->scenarios + k]) / steps;

			if (ns > r->scenario[k].after_ns)
				r->scenario[k].after_ns = ns;
		}
	}
}

static void choose(struct run *r)
{
	for (size_t k = 0; k < r->scenarios; k++) {
		struct pp_scenario *s = &r->scenario[k];

		s->wait_ns = 0;
		r->with_work |= (unsigned)(s->work_us != NULL) << k;
		r->with_transfer |= (unsigned)(s->transfer_ns != NULL) << k;
		r->with_link |= (unsigned)(s->link != NULL) << k;
		r->with_network |= (unsigned)(s->network != PP_NETWORK_MEASURED) << k;
	}
	for (size_t w = 0; w < r->g->d->workers; w++) {
		struct track *t = &r->track[w];

		t->edge = r->first[w];
		t->until = INT64_MIN;
		for (size_t k = 0; k < r->scenarios; k++)
			t->chosen |= (uint8_t)((r->scenario[k].chosen && r->scenario[k].chosen[w]) << k);
	}
}

int pp_replay_run(struct pp_graph *g, const uint8_t *which, struct pp_scenario *scenario, size_t scenarios)
{
	const size_t workers = g->d->workers;
	struct run r = {.g = g,
	                .counts = which,
	                .scenario = scenario,
	                .scenarios = scenarios,
	                .track = calloc(workers + 1, sizeof(*r.track)),
	                .shift = calloc(2 * workers * scenarios + 1, sizeof(*r.shift)),
	                .input = calloc(workers * scenarios + 1, sizeof(*r.input)),
	                .sum = calloc(workers * scenarios + 1, sizeof(*r.sum)),
	                .first = calloc(workers + 2, sizeof(*r.first)),
	                .measured = calloc(workers + 1, sizeof(*r.measured)),
	                .start = calloc(g->nodes * scenarios + 1, sizeof(*r.start)),
	                .latest = calloc(g->d->collectives * scenarios + 1, sizeof(*r.latest))};
	int rc = r.track && r.shift && r.input && r.sum && r.first && r.measured && r.start && r.latest ? order(g) : -ENOMEM;

	if (!rc)
		rc = set_edges(&r);
	if (!rc) {
		choose(&r);
		run_turns(&r);
		finish(&r);
	}
	free(r.track);
	free(r.shift);
	free(r.input);
	free(r.sum);
	free(r.first);
	free(r.edge);
	free(r.measured);
	free(r.start);
	free(r.latest);
	return rc;
}

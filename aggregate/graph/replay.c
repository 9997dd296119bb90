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

enum { STARTED = 1, ENDED = 2, NEEDED = 4, JOINED = 8, MOST_DEPTH = 200, TIMES = PP_REPLAY_MOST };

/* Shifts are times less the measured ones. */
struct track {                 /* of a worker */
	int64_t until;         /* time of the begin or end of a step that comes next */
	size_t step;           /* that one, as an index: two a step */
	uint8_t chosen[TIMES]; /* 1: a scenario saves its unusual work */
	int64_t begin[TIMES];  /* shift of the start of the last node */
	int64_t end[TIMES];    /* shift of its end */
	int64_t input[TIMES];  /* shift of its input, where it is BESIDE */
	int64_t sum[TIMES];    /* shifts of ends less those of begins of successive steps */
};

struct run {
	const struct pp_graph *g;
	const uint8_t *counts; /* [steps]; NULL: all do */
	struct pp_scenario *scenario;
	size_t scenarios;
	int any_network; /* that is not as measured */
	uint8_t *state;  /* [nodes] STARTED, ENDED, NEEDED: by a node that finds it by itself, not in `latest` */
	struct track *track;
	int64_t *start;   /* [nodes][scenarios] shift of the start, of NEEDED ones */
	uint64_t *latest; /* [collectives][scenarios] the latest start so far of a rank that gives data, above INT64_MIN */
	struct pp_order_key *key;
};

static int counts(const uint8_t *which, size_t step)
{
	return !which || which[step];
}

/* In steps that do not count, nothing is saved. */
static int64_t saved_work(const struct run *r, size_t which, uint32_t node)
{
	const uint32_t *work_us = r->scenario[which].work_us;
	const struct pp_node *n = &r->g->node[node];
	const int is_in = n->step == PP_GRAPH_NONE || counts(r->counts, n->step);
	const double unusual = is_in && r->track[n->track].chosen[which] ? n->unusual : 0;
	int64_t ns = work_us ? (int64_t)work_us[node] * 1000 : 0, local;

	if (!ns && unusual <= 0)
		return 0;
	local = pp_graph_local(r->g, node);
	if ((int64_t)(unusual * (double)local) > ns)
		ns = (int64_t)(unusual * (double)local);
	return ns < local ? ns : local;
}

static int present(const struct pp_dataset *d, size_t step, size_t w)
{
	return d->cell[step * d->workers + w].present;
}

/* Is the rank's step the one right after its step before? */
static int follows(const struct pp_dataset *d, size_t step, size_t w)
{
	return step && present(d, step, w) && present(d, step - 1, w) && d->step[step].number == d->step[step - 1].number + 1;
}

/* How often a shift of the begin or end of a step counts: a step ends where the next one begins, if that is the one right after
 * it. */
static int sign_of(const struct run *r, size_t step, uint32_t w, int is_end)
{
	const struct pp_dataset *d = r->g->d;

	if (is_end)
		return counts(r->counts, step) && !(step + 1 < d->steps && follows(d, step + 1, w));
	return (follows(d, step, w) && counts(r->counts, step - 1)) - counts(r->counts, step);
}

/* Begins and ends of steps up to `until` get the shift that the track has now. */
static void pass_steps(struct run *r, uint32_t w, int64_t until)
{
	const struct pp_dataset *d = r->g->d;
	struct track *t = &r->track[w];

	for (t->until = INT64_MAX; t->step < 2 * d->steps; t->step++) {
		const size_t step = t->step / 2, is_end = t->step % 2;
		const struct pp_row_cell *cell = &d->cell[step * d->workers + w];
		int sign;

		if (!cell->present)
			continue;
		t->until = is_end ? cell->end_ns : cell->begin_ns;
		if (t->until > until)
			return;
		sign = sign_of(r, step, w, (int)is_end);
		for (size_t k = 0; sign && k < r->scenarios; k++)
			pp_wrap_add(&t->sum[k], sign > 0 ? t->end[k] : -t->end[k]);
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

		for (size_t k = 0; k < r->scenarios; k++)
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
	struct track *t = &r->track[n->track];
	int64_t at[TIMES], saved[TIMES] = {0}, from = n->start, transfer;
	int is_in;

	if (r->state[node] & ENDED)
		return;
	r->state[node] |= ENDED;
	if (n->need != PP_GRAPH_NONE) {
		from = g->node[n->need].start > from ? g->node[n->need].start : from;
		do_start(r, n->need, depth + 1);
	}
	for (size_t k = 0; k < r->scenarios; k++)
		at[k] = pp_wrap_plus(n->start, t->begin[k]);
	need_rows(r, node, at, saved);
	if (n->need != PP_GRAPH_NONE && r->state[n->need] & NEEDED)
		need_node(r, n->need, n->end, at);
	transfer = pp_graph_since(from, n->end);
	if (transfer && r->any_network)
		save_all(r, node, transfer, saved);
	is_in = n->step != PP_GRAPH_NONE && counts(r->counts, n->step);
	for (size_t k = 0; k < r->scenarios; k++) {
		if (is_in) /* the wait is from the own start to `from`, and in the replay to `at` */
			pp_wrap_add(&r->scenario[k].wait_ns, pp_wrap_plus(pp_wrap_minus(from, at[k]), t->begin[k]));
		if (r->scenario[k].link)
			saved[k] += pp_links_saved(g, r->scenario[k].link, node);
		t->end[k] = pp_wrap_minus(at[k], pp_wrap_plus(from, saved[k] < transfer ? saved[k] : transfer));
	}
}

/* Messages have their needs by row. */
static void note_latest(struct run *r, uint32_t node)
{
	const struct pp_graph *g = r->g;
	const struct pp_node *n = &g->node[node];
	const int64_t *begin = r->track[n->track].begin;

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

/* start = end of the node before + local work, or the later of that end and of what was computed beside it. */
/* NOLINTNEXTLINE(misc-no-recursion): only among equal times; MOST_DEPTH ends it */
static void do_start(struct run *r, uint32_t node, int depth)
{
	const struct pp_graph *g = r->g;
	const struct pp_node *n = &g->node[node];
	const uint32_t before = pp_graph_before(g, node);
	struct track *t = &r->track[n->track];

	if (r->state[node] & STARTED || depth > MOST_DEPTH)
		return;
	r->state[node] |= STARTED;
	if (before != PP_GRAPH_NONE) {
		do_start(r, before, depth + 1);
		do_end(r, before, depth + 1);
	}
	if (n->start >= t->until)
		pass_steps(r, n->track, n->start);
	for (size_t k = 0; k < r->scenarios; k++) {
		const int64_t saved = saved_work(r, k, node);

		if (n->flags & PP_NODE_BESIDE) {
			t->input[k] = pp_wrap_minus(g->node[before].flags & PP_NODE_BESIDE ? t->input[k] : t->begin[k], saved);
			t->begin[k] = later_shift(g->node[before].end, t->end[k], pp_graph_input(g, node), t->input[k]);
		} else {
			t->begin[k] = pp_wrap_minus(t->end[k], saved);
		}
	}
	if (r->state[node] & NEEDED)
		memcpy(&r->start[node * r->scenarios], t->begin, r->scenarios * sizeof(*t->begin));
	note_latest(r, node);
}

static void add_key(struct run *r, uint32_t node, uint32_t row, size_t *n)
{
	const struct pp_graph *g = r->g;

	if (node == PP_GRAPH_NONE || *pp_graph_rows(g, &g->node[node]) != row)
		return;
	r->key[(*n)++] = (struct pp_order_key){g->node[node].start, node, STARTED};
	r->key[(*n)++] = (struct pp_order_key){g->node[node].end, node, ENDED};
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

/* Operations that are done at once, and starts and ends of other calls, in the order of their times: what a call needs began
 * before its end. Operations nearly have that order. */
static int order(struct run *r, size_t *ret_keys)
{
	const struct pp_graph *g = r->g;
	int64_t last;
	size_t n = 0;

	for (size_t c = 0; c < g->d->collectives; c++) {
		const uint64_t first = g->d->collective[c].row_first, count = g->d->collective[c].row_count;

		if (joins_at_once(g, c, &last)) {
			r->key[n++] = (struct pp_order_key){last, (uint32_t)c, JOINED};
			continue;
		}
		for (uint64_t i = first; i < g->d->arrivals && i - first < count; i++) {
			if (g->operation[i] != c)
				continue;
			r->state[g->post[i]] |= g->kind[c] == PP_GRAPH_BY_ROW ? NEEDED : 0;
			add_key(r, g->post[i], (uint32_t)i, &n);
			if (g->done[i] != g->post[i])
				add_key(r, g->done[i], (uint32_t)i, &n);
		}
	}
	for (uint32_t i = 0; i < g->nodes; i++) {
		if (g->node[i].flags & (PP_NODE_LEARNED | PP_NODE_INFERRED))
			r->state[g->node[i].need] |= NEEDED;
		if (!(g->node[i].flags & PP_NODE_LONE))
			continue;
		r->key[n++] = (struct pp_order_key){g->node[i].start, i, STARTED};
		r->key[n++] = (struct pp_order_key){g->node[i].end, i, ENDED};
	}
	*ret_keys = n;
	return pp_order_sort(r->key, n);
}

/* Brings a node near: the ranks of an operation lie far from each other. */
static void fetch(const struct run *r, uint32_t node)
{
	__builtin_prefetch(&r->state[node]);
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

static void run_keys(struct run *r, size_t keys)
{
	for (size_t i = 0; i < keys; i++) {
		const struct pp_order_key *key = &r->key[i], *ahead = i + PP_GRAPH_AHEAD < keys ? key + PP_GRAPH_AHEAD : key;

		if (ahead->other != JOINED)
			fetch(r, ahead->id);
		if (key->other == JOINED)
			run_operation(r, &r->g->d->collective[key->id]);
		else
			do_start(r, key->id, 0);
		if (key->other == ENDED)
			do_end(r, key->id, 0);
	}
}

static uint32_t steps_of(const struct pp_dataset *d, const uint8_t *which, size_t w)
{
	uint32_t steps = 0;

	for (size_t s = 0; s < d->steps; s++)
		steps += counts(which, s) && present(d, s, w);
	return steps;
}

static uint32_t most_steps(const struct pp_dataset *d, const uint8_t *which)
{
	uint32_t most = 0;

	for (size_t w = 0; w < d->workers; w++) {
		const uint32_t steps = steps_of(d, which, w);

		most = steps > most ? steps : most;
	}
	return most;
}

/* Time of a rank in its steps that count, and from there to the next ones. */
static int64_t time_of(const struct pp_dataset *d, const uint8_t *which, size_t w)
{
	int64_t sum = 0;

	for (size_t s = 0; s < d->steps; s++) {
		const struct pp_row_cell *cell = &d->cell[s * d->workers + w];

		if (!cell->present || !counts(which, s))
			continue;
		sum = pp_wrap_plus(sum, cell->step_ns);
		if (s + 1 < d->steps && follows(d, s + 1, w))
			sum = pp_wrap_plus(sum, pp_wrap_minus(cell[d->workers].begin_ns, cell->end_ns));
	}
	return sum;
}

int64_t pp_replay_measured(const struct pp_dataset *d, const uint8_t *which)
{
	const uint32_t steps = most_steps(d, which);
	int64_t most = 0;

	for (size_t w = 0; w < d->workers && steps; w++) {
		const int64_t ns = steps_of(d, which, w) == steps ? time_of(d, which, w) / steps : 0;

		most = ns > most ? ns : most;
	}
	return most;
}

static void finish(struct run *r)
{
	const struct pp_dataset *d = r->g->d;
	const uint32_t steps = most_steps(d, r->counts);

	for (size_t k = 0; k < r->scenarios; k++)
		r->scenario[k].after_ns = 0;
	for (uint32_t w = 0; w < d->workers; w++) {
		const int64_t measured = steps_of(d, r->counts, w) == steps ? time_of(d, r->counts, w) : 0;

		pass_steps(r, w, INT64_MAX);
		for (size_t k = 0; k < r->scenarios && measured; k++) {
			const int64_t ns = pp_wrap_plus(measured, r->track[w].sum[k]) / steps;

			if (ns > r->scenario[k].after_ns)
				r->scenario[k].after_ns = ns;
		}
	}
}

static void choose(struct run *r)
{
	for (size_t w = 0; w < r->g->d->workers; w++) {
		struct track *t = &r->track[w];

		t->until = INT64_MIN;
		for (size_t k = 0; k < r->scenarios; k++)
			t->chosen[k] = r->scenario[k].chosen && r->scenario[k].chosen[w];
	}
	for (size_t k = 0; k < r->scenarios; k++)
		r->any_network |= r->scenario[k].network != PP_NETWORK_MEASURED;
}

int pp_replay_run(const struct pp_graph *g, const uint8_t *which, struct pp_scenario *scenario, size_t scenarios)
{
	struct run r = {.g = g,
	                .counts = which,
	                .scenario = scenario,
	                .scenarios = scenarios,
	                .state = calloc(g->nodes + 1, 1),
	                .track = calloc(g->d->workers + 1, sizeof(*r.track)),
	                .start = calloc(g->nodes * scenarios + 1, sizeof(*r.start)),
	                .latest = calloc(g->d->collectives * scenarios + 1, sizeof(*r.latest)),
	                .key = malloc((2 * g->nodes + 1) * sizeof(*r.key))};
	size_t keys = 0;
	int rc = r.state && r.track && r.start && r.latest && r.key ? 0 : -ENOMEM;

	for (size_t k = 0; k < scenarios; k++)
		scenario[k].wait_ns = 0;
	if (!rc) {
		pp_huge_advise(r.key, 2 * g->nodes * sizeof(*r.key));
		choose(&r);
		rc = order(&r, &keys);
	}
	if (!rc) {
		run_keys(&r, keys);
		finish(&r);
	}
	free(r.state);
	free(r.track);
	free(r.start);
	free(r.latest);
	free(r.key);
	return rc;
}

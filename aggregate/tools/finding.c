/* Fills /finding: what limits the job, most important first; see finding.h. Called by tools.c. */
#include "aggregate/tools/finding.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/graph/whole.h"
#include "aggregate/tools/gpu_text.h"
#include "aggregate/tools/link_text.h"
#include "aggregate/tools/tools.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/partition.h"
#include "core/base/select.h"

#define ALIKE 0.75 /* of what the latest rank works more */
#define MINOR 0.2  /* of an equal share of all delays: such a rank takes no turn */

/* The work with most blame on the chosen ranks in usual steps; PP_REASON_UNKNOWN: they have none. *ret_error: its clock error, mean
 * per usual step and rank that waits. */
static int reason_of(const struct pp_finding_search *f, const uint8_t *chosen, int64_t *ret_error)
{
	const struct pp_row_blame_step *row = f->step_blame->row;
	int64_t ns[PP_REASONS] = {0}, error = 0;
	int most = PP_REASON_UNKNOWN;

	for (size_t i = 0; i < f->step_blame->rows; i++) {
		const size_t w = pp_dataset_worker(f->d, row[i].worker), s = pp_dataset_step(f->d, row[i].step);

		if (w == SIZE_MAX || s == SIZE_MAX || !chosen[w] || !f->usual.is_usual[s])
			continue;
		error = pp_wrap_plus(error, row[i].step_error_ns);
		if (pp_reason_is_work(row[i].step_reason) || row[i].step_reason == PP_REASON_BETWEEN_STEPS)
			ns[row[i].step_reason] = pp_wrap_plus(ns[row[i].step_reason], row[i].step_blame_ns);
	}
	for (int k = 0; k < PP_REASONS; k++)
		most = ns[k] > ns[most] ? k : most;
	*ret_error = f->usual.usuals ? error / (int64_t)f->usual.usuals : 0;
	return most;
}

/* The largest part of the chosen ranks' work that others have less of, where no blame tells it. */
static int largest_more(const struct pp_finding_search *f, const uint8_t *chosen)
{
	const struct pp_dataset *d = f->d;
	double best = 0;
	int most = PP_REASON_UNKNOWN;

	for (int k = 1; k <= PP_CATEGORIES; k++) {
		double ns[2] = {0}, cells[2] = {0};

		for (size_t i = 0; i < d->steps * d->workers && pp_reason_is_work(k); i++) {
			if (!f->usual.is_usual[i / d->workers] || !d->cell[i].present)
				continue;
			ns[chosen[i % d->workers] != 0] += (double)d->cell[i].exclusive_ns[k];
			cells[chosen[i % d->workers] != 0]++;
		}
		if (cells[0] > 0 && cells[1] > 0 && ns[1] / cells[1] - ns[0] / cells[0] > best) {
			best = ns[1] / cells[1] - ns[0] / cells[0];
			most = k;
		}
	}
	return most;
}

/* How many of the ranks that are not chosen usually wait, and how long each of them because of the chosen ones: stages of a
 * pipeline wait for more than these. What they compute meanwhile is no waiting: so it is at most what they wait. */
static int set_wait(const struct pp_finding_search *f, const struct pp_finding_set *set, struct pp_row_finding *row)
{
	const struct pp_dataset *d = f->d;
	int64_t *wait = calloc(d->steps + 1, sizeof(*wait)), *mean = calloc(d->workers + 1, sizeof(*mean));
	const int is_there = wait && mean;
	size_t waiters = 0;

	for (size_t w = 0; w < d->workers && is_there; w++) {
		int64_t sum = 0;
		size_t n = 0;

		for (size_t s = 0; s < d->steps && !set->chosen[w]; s++) {
			const struct pp_row_cell *cell = &d->cell[s * d->workers + w];

			if (f->usual.is_usual[s] && cell->present && pp_is_known(cell->wait_ns))
				pp_wrap_add(&sum, wait[n++] = cell->wait_ns);
		}
		mean[waiters] = n ? sum / (int64_t)n : 0;
		waiters += n && (double)pp_select_int64(wait, n, (n - 1) / 2) >= f->least_ns / 2;
	}
	if (waiters && set->wait_ns > 0) {
		const int64_t most = pp_select_int64(mean, waiters, (waiters - 1) / 2), ns = set->wait_ns / (int64_t)waiters;

		row->waiters = (uint32_t)waiters;
		row->finding_wait_ns = ns < most ? ns : most;
	}
	free(mean);
	free(wait);
	return is_there ? 0 : -ENOMEM;
}

/* Do the chosen ranks make more calls per step than the other ranks? In a ring, one of them only calls in another order. */
static int calls_more(const struct pp_finding_search *f, const uint8_t *chosen)
{
	const struct pp_graph *g = f->g;
	double calls[2] = {0}, ranks[2] = {0};

	for (size_t w = 0; w < f->d->workers; w++) {
		const int which = chosen[w] != 0;

		for (size_t i = g->track[w]; i < g->track[w + 1]; i++)
			calls[which] += pp_graph_step(g, &g->node[i]) != PP_GRAPH_NONE;
		ranks[which]++;
	}
	return ranks[0] > 0 && calls[1] / ranks[1] > calls[0] / ranks[0] * 1.05;
}

/* Work before calls that only the chosen ranks make is a part of the program that no other rank has. */
static int is_phase(const struct pp_finding_search *f, const uint8_t *chosen)
{
	const struct pp_graph *g = f->g;
	double own = 0, all = 0;

	for (size_t c = 0; c < g->cells; c++) {
		const size_t i = g->cell[c].first, next = g->cell[c + 1].first;
		int only = 1;

		for (size_t k = i; k < next; k++)
			only &= chosen[g->node[g->by_cell[k]].track];
		for (size_t k = i; k < next && f->usual.is_usual[g->cell[c].step]; k++) {
			const uint32_t node = g->by_cell[k];
			const double ns = chosen[g->node[node].track] ? g->node[node].unusual * (double)pp_graph_local(g, node) : 0;

			all += ns;
			own += only ? ns : 0;
		}
	}
	return own > all / 2 && calls_more(f, chosen);
}

/* When the rank of node `other` began its part of what the call completes, the last of them; INT64_MIN: not seen. */
static int64_t begun_by(const struct pp_graph *g, const struct pp_node *n, const struct pp_node *other)
{
	const struct pp_row_arrival *all = g->d->arrival;
	const int32_t rank = g->d->worker[other->track].rank;
	int64_t begun = INT64_MIN;

	for (uint32_t k = 0; k < pp_graph_row_count(g, n); k++) {
		const struct pp_row_collective *c = &g->d->collective[g->operation[pp_graph_rows(g, n)[k]]];
		const size_t at = c->row_first + PP_PARTITION(c->row_count, i, all[c->row_first + i].worker < rank);

		if (at < c->row_first + c->row_count && all[at].worker == rank && g->post[at] != PP_GRAPH_NONE &&
		    g->node[g->post[at]].start > begun)
			begun = g->node[g->post[at]].start;
	}
	return begun;
}

/* How long the call waited for a rank that had begun its part before, and only had to come back into MPI, ns. */
static int64_t progress_of(const struct pp_graph *g, uint32_t node)
{
	const struct pp_node *n = &g->node[node], *need = &g->node[n->need];
	int64_t begun;

	if (!(n->flags & PP_NODE_LEARNED) || n->flags & PP_NODE_LONE)
		return 0;
	begun = begun_by(g, n, need);
	return pp_graph_since(begun > n->start ? begun : n->start, need->start);
}

/* Most of what others wait for the chosen ranks is in operations that these began in time. */
static int is_late_progress(const struct pp_finding_search *f, const uint8_t *chosen)
{
	const struct pp_graph *g = f->g;
	double all = 0, progress = 0;

	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct pp_node *n = &g->node[i];
		const uint32_t step = pp_graph_step(g, n);

		if (n->need == PP_GRAPH_NONE || step == PP_GRAPH_NONE || !f->usual.is_usual[step] || chosen[n->track] ||
		    !chosen[g->node[n->need].track])
			continue;
		all += (double)pp_graph_wait(g, i);
		progress += (double)progress_of(g, i);
	}
	return progress > all / 2;
}

/* The course of the chosen ranks, and in how many usual steps they are late. */
static int set_course(const struct pp_finding_search *f, const uint8_t *chosen, struct pp_row_finding *row)
{
	const struct pp_dataset *d = f->d;
	double *more = f->room + 3 * d->steps;
	struct pp_series course;
	size_t seen = 0;

	if (pp_finding_course(f, chosen, more, &course))
		return -ENOMEM;
	if (course.course != PP_COURSE_STEADY)
		row->kind = course.course == PP_COURSE_SUDDEN ? PP_FINDING_SUDDEN : PP_FINDING_GROWING;
	if (course.course == PP_COURSE_SUDDEN)
		row->finding_first = d->step[course.onset].number;
	for (size_t s = 0; s < d->steps; s++)
		if (f->usual.is_usual[s] && more[s] > f->least_ns)
			f->room[seen++] = more[s];
	row->finding_steps = (uint32_t)seen;
	if (seen)
		row->more_ns = (int64_t)pp_series_median(f->room, seen);
	return 0;
}

/* Is each of the chosen ranks about as late as the latest of them, in most of the steps? After set_course(). */
static int are_alike(const struct pp_finding_search *f, const uint8_t *chosen, const struct pp_row_finding *row)
{
	const double *most = f->room + 3 * f->d->steps;

	for (size_t w = 0; w < f->d->workers; w++) {
		size_t steps = 0;

		for (size_t s = 0; s < f->d->steps && chosen[w]; s++)
			steps += f->usual.is_usual[s] && most[s] > f->least_ns && pp_finding_more(f, s, w) > ALIKE * most[s];
		if (chosen[w] && 2 * steps <= row->finding_steps)
			return 0;
	}
	return 1;
}

/* The straggler was ready to run without a core for a quarter of what it works more. A rank that polls in communication gives its
 * core away: that time is no evidence. */
static int lacks_core(const struct pp_finding_search *f, const struct pp_row_finding *row)
{
	const struct pp_dataset *d = f->d;
	const size_t w = pp_dataset_worker(d, row->finding_worker);
	int64_t talked = 0, steps = 0;

	if (row->finding_ranks != 1 || !d->late || d->late[0].rank != row->finding_worker || d->straggler.run_queue_ns < 0)
		return 0;
	for (size_t s = 0; s < d->steps; s++) {
		const struct pp_row_cell *cell = &d->cell[s * d->workers + w];

		pp_wrap_add(&talked, cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION]);
		pp_wrap_add(&talked, cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE]);
		steps += cell->present;
	}
	return steps && pp_wrap_minus(d->straggler.run_queue_ns, talked) / steps > row->more_ns / 4;
}

/* Of one rank whose device is late: why, behind the sentence. The advice to move it is then no longer the first. */
static void say_device(const struct pp_finding_search *f, struct pp_row_finding *row)
{
	const size_t length = strlen(row->finding);
	char why[PP_GPU_TEXT], next[PP_GPU_TEXT];

	if (row->finding_reason != PP_CATEGORY_DEVICE_COMPUTE || row->finding_ranks != 1 || row->kind == PP_FINDING_NOISE)
		return;
	pp_gpu_text(f->d, f->speeds, row->finding_worker, why, next);
	if (!*why || length + strlen(why) + 3 > sizeof(row->finding))
		return;
	snprintf(row->finding + length, sizeof(row->finding) - length, ". %s", why);
	row->finding[length + 2] = (char)toupper((unsigned char)row->finding[length + 2]);
	if (*next)
		snprintf(row->finding_next, sizeof(row->finding_next), "%.*s", (int)sizeof(row->finding_next) - 1, next);
}

static int add_ranks(struct pp_finding_search *f, const struct pp_finding_late *late, const struct pp_finding_set *set)
{
	struct pp_row_finding *row = pp_finding_add(f, PP_FINDING_PERSISTENT, PP_REASON_UNKNOWN, set->gain_ns);
	size_t first = 0;
	int reason, is_host;

	if (!row || set_wait(f, set, row))
		return -ENOMEM;
	while (!set->chosen[first])
		first++;
	reason = reason_of(f, set->chosen, &row->finding_error_ns);
	row->finding_reason = (pp_c_CODE)(reason ? reason : largest_more(f, set->chosen));
	row->finding_error_ns = pp_known_part(row->finding_error_ns, row->waiters);
	row->finding_worker = f->d->worker[first].rank;
	row->finding_ranks = (uint32_t)set->ranks;
	row->chance = late->chance;
	if (set_course(f, set->chosen, row))
		return -ENOMEM;
	if (lacks_core(f, row))
		row->kind = PP_FINDING_NOISE;
	else if (row->kind == PP_FINDING_PERSISTENT && is_phase(f, set->chosen))
		row->kind = PP_FINDING_PHASE;
	else if (row->kind == PP_FINDING_PERSISTENT && is_late_progress(f, set->chosen))
		row->kind = PP_FINDING_PROGRESS;
	is_host = pp_finding_who(f->d, set->chosen, set->ranks, row);
	if (is_host < 0)
		return is_host;
	pp_finding_say(f->d, is_host, are_alike(f, set->chosen, row), row);
	say_device(f, row);
	return 0;
}

static int add_link(struct pp_finding_search *f, const struct pp_finding_set *set)
{
	const struct pp_link *l = &f->g->link[set->choice.worst];
	struct pp_row_finding *row = pp_finding_add(f, PP_FINDING_LINK, PP_REASON_LINK, set->link_gain_ns);
	const uint32_t port = set->choice.port;

	if (!row)
		return -ENOMEM;
	row->finding_worker = f->d->worker[l->source].rank;
	row->finding_peer = f->d->worker[l->destination].rank;
	pp_link_text(f->g, &set->choice, row->who);
	if (port != PP_GRAPH_NONE) {
		row->finding_hosts = 1;
		snprintf(row->finding_host_list, sizeof(row->finding_host_list), "%s", f->d->worker[port].host);
	}
	pp_finding_say(f->d, 0, 1, row);
	return 0;
}

/* Late ranks of which none is late more often than by chance: the delays are there, and nobody is accused. */
static int add_turns(struct pp_finding_search *f, const struct pp_finding_set *set)
{
	const struct pp_dataset *d = f->d;
	uint8_t *is_late = calloc(d->workers + 1, 1);
	double *sum = calloc(d->workers + 1, sizeof(*sum)), all = 0;
	struct pp_row_finding *row = NULL;
	int64_t error;
	size_t seen = 0, first = 0, ranks = 0;
	int rc = 0;

	if (!is_late || !sum) {
		free(sum);
		free(is_late);
		return -ENOMEM;
	}
	for (size_t s = 0; s < d->steps; s++) {
		double most = 0;

		for (size_t w = 0; w < d->workers && f->usual.is_usual[s]; w++) {
			const double more = pp_finding_more(f, s, w);

			sum[w] += more > f->least_ns ? more : 0;
			most = more > most ? more : most;
		}
		if (most > f->least_ns) {
			first = seen ? first : s;
			f->room[seen++] = most;
		}
	}
	for (size_t w = 0; w < d->workers; w++)
		all += sum[w];
	for (size_t w = 0; w < d->workers; w++) {
		is_late[w] = sum[w] > 0 && sum[w] * (double)d->workers > MINOR * all;
		ranks += is_late[w];
	}
	if (seen)
		row = pp_finding_add(f, ranks > 1 ? PP_FINDING_ROTATING : PP_FINDING_IRREGULAR, reason_of(f, is_late, &error),
		                     set->all_gain_ns);
	if (row) {
		row->finding_steps = (uint32_t)seen;
		row->finding_first = d->step[first].number;
		row->more_ns = (int64_t)pp_series_median(f->room, seen);
		rc = pp_finding_who(d, is_late, ranks, row);
		pp_finding_say(d, 0, 1, row);
	}
	free(sum);
	free(is_late);
	return rc < 0 || (seen && !row) ? -ENOMEM : 0;
}

/* 0: what limits the job; 1: the largest part of the usual step; 2: steps that come once. */
static int order_of(const struct pp_row_finding *row)
{
	switch (row->kind) {
	case PP_FINDING_ONE_OFF:
	case PP_FINDING_START_UP:
		return 2;
	case PP_FINDING_UNSPLIT:
	case PP_FINDING_NOT_RECORDED:
	case PP_FINDING_CATEGORY:
		return 1;
	default:
		return 0;
	}
}

static int64_t gain_of(const struct pp_row_finding *row)
{
	return pp_known_or(row->finding_gain_ns, 0);
}

PP_COMPARE(by_importance, struct pp_row_finding,
           PP_ORDER(order_of(x), order_of(y)) ?: PP_ORDER(gain_of(y), gain_of(x)) ?: PP_UP(kind))

static int find_set(const struct pp_finding_search *f, struct pp_finding_late *late, struct pp_finding_set *set)
{
	return pp_finding_late_find(f, late) ?: pp_finding_set_find(f, late, set);
}

static int find_between_ranks(struct pp_finding_search *f, int64_t *ret_gain)
{
	struct pp_finding_late late = {.late = 0};
	struct pp_finding_set set = {.ranks = 0};
	int rc = pp_finding_late_init(f);

	if (!rc)
		rc = pp_finding_rare_find(f);
	if (!rc)
		rc = find_set(f, &late, &set);
	if (!rc && set.ranks) {
		rc = pp_finding_change_find(f, set.chosen);
		if (rc > 0) {
			free(late.is_late);
			pp_finding_set_release(&set);
			rc = find_set(f, &late, &set);
		}
	}
	if (!rc && set.ranks)
		rc = add_ranks(f, &late, &set);
	if (!rc && set.links)
		rc = add_link(f, &set);
	if (!rc && !set.ranks && !set.links && (double)set.all_gain_ns >= f->least_ns)
		rc = add_turns(f, &set);
	*ret_gain = set.all_gain_ns;
	free(late.is_late);
	pp_finding_set_release(&set);
	return rc;
}

int pp_tool_finding(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_graph own = {.d = NULL};
	struct pp_finding_search f = {.d = in,
	                              .g = in->graph ? in->graph : &own,
	                              .step_blame = &tables[PP_TABLE_blame_step],
	                              .speeds = &tables[PP_TABLE_device_speed],
	                              .is_by_blame = pp_dataset_domains(in) > 1 && in->device_between_clocks,
	                              .to = &tables[PP_TABLE_finding]};
	int64_t gain_ns = 0;
	int rc;

	if (!in->steps || !in->workers)
		return 0;
	rc = in->graph ? 0 : pp_graph_whole(&own, in);
	f.room = calloc(4 * in->steps + 1, sizeof(*f.room));
	if (!rc)
		rc = f.room ? pp_usual_steps_find(in, &f.usual) : -ENOMEM;
	if (!rc)
		pp_finding_steps_measure(&f);
	if (!rc && in->workers > 1 && f.usual.usuals)
		rc = find_between_ranks(&f, &gain_ns);
	if (!rc && f.usual.usuals)
		rc = pp_finding_rare_add(&f);
	if (!rc && f.usual.usuals)
		rc = pp_finding_part_add(&f, gain_ns);
	if (f.to->rows)
		qsort(f.to->row, f.to->rows, sizeof(struct pp_row_finding), by_importance);
	pp_usual_steps_release(&f.usual);
	pp_graph_release(&own);
	free(f.more);
	free(f.room);
	return rc ? pp_err_set(err, rc, "no memory to find what limits the job") : 0;
}

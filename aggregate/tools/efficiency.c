/* Fills /efficiency: the efficiencies of POP (https://pop-coe.eu/node/69), whose factors say how the ranks' time gets lost. Useful
 * time is known from the cells alone; what transfer costs, from a replay on an ideal network. Called by tools.c; docs/steps.md has
 * the rules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/unseen.h"
#include "aggregate/dataset/status.h"
#include "aggregate/graph/moves.h"
#include "aggregate/graph/replay.h"
#include "aggregate/graph/wait.h"
#include "aggregate/graph/whole.h"
#include "aggregate/tools/tools.h"
#include "aggregate/tools/usual_step.h"
#include "core/base/known.h"

#define EXACT 0.01 /* of the step: the split is shown in whole percent, so it must be known as exactly */

enum steps { USUAL, ALL }; /* words of efficiency_steps */

struct efficiency {
	const struct pp_dataset *d;
	struct pp_graph *g;
	const uint8_t *which; /* [steps] 1: the step counts */
	struct pp_table *to;
};

static int counts(const struct efficiency *e, size_t step, size_t worker)
{
	return e->which[step] && e->d->cell[step * e->d->workers + worker].present;
}

static uint32_t steps_of(const struct efficiency *e, size_t worker)
{
	uint32_t steps = 0;

	for (size_t s = 0; s < e->d->steps; s++)
		steps += (uint32_t)counts(e, s, worker);
	return steps;
}

static int64_t communication_of(const struct pp_row_cell *cell)
{
	return pp_wrap_plus(cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE], cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION]);
}

/* In the steps that count. What a host does while its devices work, or wait for it, is not what they are there for, nor is what it
 * waits for other ranks in a call that writes a file. */
static int64_t useful_of(const struct efficiency *e, size_t worker)
{
	int64_t sum = e->d->worker[worker].devices > 0 ? 0 : -pp_graph_file_wait(e->g, worker, PP_CATEGORY_OUTPUT, e->which);

	for (size_t s = 0; s < e->d->steps; s++) {
		const struct pp_row_cell *cell = &e->d->cell[s * e->d->workers + worker];

		for (int c = 1; c <= PP_CATEGORIES && counts(e, s, worker); c++)
			if (e->d->worker[worker].devices > 0
			            ? c == PP_CATEGORY_DEVICE_COMPUTE
			            : c != PP_CATEGORY_DEVICE_COLLECTIVE && c != PP_CATEGORY_HOST_COMMUNICATION &&
			                      c != PP_CATEGORY_INPUT)
				pp_wrap_add(&sum, cell->exclusive_ns[c]);
	}
	return sum > 0 ? sum : 0;
}

/* Has the rank more than `least_ns` of exposed communication of which neither waiting nor transfer is known, and that is in no call
 * of the graph? The replay takes that for work. */
static int is_outside(const struct efficiency *e, size_t worker, double least_ns)
{
	const struct pp_graph *g = e->g;
	int64_t sum = 0;

	for (size_t s = 0; s < e->d->steps; s++) {
		const struct pp_row_cell *cell = &e->d->cell[s * e->d->workers + worker];

		if (!counts(e, s, worker))
			continue;
		pp_wrap_add(&sum, communication_of(cell));
		pp_wrap_add(&sum, -pp_known_or(cell->wait_ns, 0));
		pp_wrap_add(&sum, -pp_known_or(cell->transfer_ns, 0));
	}
	for (size_t i = g->track[worker]; i < g->track[worker + 1] && (double)sum > least_ns; i++) {
		const struct pp_node *n = &g->node[i];

		if (pp_graph_step(g, n) != PP_GRAPH_NONE && e->which[pp_graph_step(g, n)] &&
		    pp_moves_of(g, (uint32_t)i) == PP_MOVES_UNKNOWN)
			pp_wrap_add(&sum, -pp_graph_since(n->start, n->end));
	}
	return (double)sum > least_ns;
}

/* Splits communication efficiency, if the calls and the time of which nothing is known could not change the answer by a percent.
 * No network makes a step shorter than its useful time. 0, or -ENOMEM. */
static int split(const struct efficiency *e, struct pp_row_efficiency *row)
{
	const double exact = (double)row->time_ns * EXACT;
	struct pp_scenario ideal[] = {{.network = PP_NETWORK_IDEAL}, {.network = PP_NETWORK_IDEAL_ALL}};
	int rc;

	for (size_t w = 0; w < e->d->workers; w++)
		if (steps_of(e, w) == row->of_steps && is_outside(e, w, exact * row->of_steps))
			return 0;
	rc = pp_replay_run(e->g, e->which, ideal, 2);
	if (rc || (double)pp_wrap_minus(ideal[0].after_ns, ideal[1].after_ns) > exact)
		return rc;
	row->ideal_ns = ideal[0].after_ns > row->most_useful_ns ? ideal[0].after_ns : row->most_useful_ns;
	row->ideal_ns = row->ideal_ns < row->time_ns ? row->ideal_ns : row->time_ns;
	row->transfer = (double)row->ideal_ns / (double)row->time_ns;
	row->serialisation = (double)row->most_useful_ns / (double)row->ideal_ns;
	return 0;
}

/* Useful time of the ranks that have all of the steps, as those whose time a replay looks at. */
static void measure(const struct efficiency *e, struct pp_row_efficiency *row)
{
	const double steps = row->of_steps;
	double sum = 0, most = -1;

	for (size_t w = 0; w < e->d->workers; w++) {
		const double ns = steps_of(e, w) == row->of_steps ? (double)useful_of(e, w) / steps : -1;

		sum += ns > 0 ? ns : 0;
		if (ns <= most)
			continue;
		most = ns;
		row->most_useful_worker = e->d->worker[w].rank;
	}
	row->useful_ns = (int64_t)(sum / row->of_ranks);
	row->most_useful_ns = (int64_t)most;
	if (row->useful_ns <= 0)
		return;
	row->parallel = (double)row->useful_ns / (double)row->time_ns;
	row->load_balance = (double)row->useful_ns / (double)row->most_useful_ns;
	row->communication = (double)row->most_useful_ns / (double)row->time_ns;
}

/* The row of the steps that count, if two ranks have them. 0, or -ENOMEM. */
static int add(const struct efficiency *e, enum steps steps)
{
	struct pp_row_efficiency found = {.of_steps = 0}, *row;

	for (size_t w = 0; w < e->d->workers; w++) {
		const uint32_t own = steps_of(e, w);

		if (own < found.of_steps || !own)
			continue;
		if (own > found.of_steps)
			found.of_ranks = found.of_devices = 0;
		found.of_steps = own;
		found.of_ranks++;
		found.of_devices += e->d->worker[w].devices > 0;
	}
	found.time_ns = pp_replay_measured(e->d, e->which);
	if (found.of_ranks < 2 || found.time_ns <= 0)
		return 0;
	row = pp_table_add(e->to);
	if (!row)
		return -ENOMEM;
	row->efficiency_steps = (pp_c_CODE)steps;
	row->of_steps = found.of_steps;
	row->of_ranks = found.of_ranks;
	row->of_devices = found.of_devices;
	row->time_ns = found.time_ns;
	row->most_useful_worker = -1;
	/* What ranks wait in calls that nothing recorded would seem useful. */
	if (!pp_dataset_sees_communication(e->d) || pp_status_mpi_is_unseen(e->d))
		return 0;
	measure(e, row);
	return row->useful_ns > 0 ? split(e, row) : 0;
}

int pp_tool_efficiency(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_graph own = {.d = NULL};
	struct pp_usual_steps usual = {.usuals = 0};
	struct efficiency e = {.d = in, .g = in->graph ? in->graph : &own, .to = &tables[PP_TABLE_efficiency]};
	int rc;

	if (in->workers < 2 || !in->steps)
		return 0;
	rc = in->graph ? 0 : pp_graph_whole(&own, in);
	if (!rc)
		rc = pp_usual_steps_find(in, &usual);
	if (!rc) {
		e.which = usual.is_usual;
		rc = add(&e, USUAL);
	}
	if (!rc && usual.usuals < in->steps) {
		memset(usual.is_usual, 1, in->steps);
		rc = add(&e, ALL);
	}
	pp_usual_steps_release(&usual);
	pp_graph_release(&own);
	return rc ? pp_err_set(err, rc, "no memory to replay the steps on an ideal network") : 0;
}

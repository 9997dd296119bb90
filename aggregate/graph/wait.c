/* Adds waiting that only the graph shows; see wait.h. Called by tools.c. */
#include "aggregate/graph/wait.h"

#include "core/base/known.h"
#include "core/call/mpi_call.h"

enum {
	ERROR_NS = 1000,
	MOST_BETWEEN = 2, /* times as long as in polls: a rank that is longer between them works there */
};

int64_t pp_graph_exposed(const struct pp_graph *g, uint32_t node)
{
	const struct pp_node *n = &g->node[node];
	int64_t sum = n->flags & PP_NODE_LONE ? pp_known_or(g->d->lone_call[n->row].wait_ns, 0) : 0;

	for (uint32_t i = 0; i < pp_graph_row_count(g, n) && n->flags & PP_NODE_ENDS; i++) {
		const uint32_t row = pp_graph_rows(g, n)[i];

		if (g->d->arrival[row].exposed_wait_ns > 0)
			pp_wrap_add(&sum, g->d->arrival[row].exposed_wait_ns);
	}
	return sum > 0 ? sum : 0;
}

/* The row that the node completed last; NONE: a lone call, or none in a step. */
static uint32_t row_of(const struct pp_graph *g, uint32_t node)
{
	const struct pp_node *n = &g->node[node];
	uint32_t last = PP_GRAPH_NONE;

	for (uint32_t i = 0; i < pp_graph_row_count(g, n) && n->flags & PP_NODE_ENDS; i++) {
		const uint32_t row = pp_graph_rows(g, n)[i];

		if (g->d->collective[g->operation[row]].step == INT64_MIN)
			continue;
		if (last == PP_GRAPH_NONE || g->d->arrival[row].exit_ns >= g->d->arrival[last].exit_ns)
			last = row;
	}
	return last;
}

/* Part of the node's waiting that lies in its rank's step. */
static int64_t inside(const struct pp_row_cell *cell, int64_t from, int64_t until)
{
	from = from > cell->begin_ns ? from : cell->begin_ns;
	until = until < cell->end_ns ? until : cell->end_ns;
	return pp_graph_since(from, until);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t positive(int64_t ns)
{
	return ns > 0 ? ns : 0;
}

/* Row of /budget that the call's time is in: of its operation; of polls that of a call that completes, with most time that is not
 * split. */
static struct pp_row_budget *budget_of(struct pp_dataset *d, uint16_t operation, uint64_t communicator, int polls)
{
	struct pp_row_budget *found = NULL;

	for (size_t i = 0; i < d->budgets; i++) {
		struct pp_row_budget *b = &d->budget[i];

		if (polls ? pp_mpi_call_info(b->operation)->class != PP_MPI_WAIT && b->operation != operation
		          : b->operation != operation || (communicator && b->communicator != communicator))
			continue;
		if (!found || positive(b->unsplit_ns) > positive(found->unsplit_ns))
			found = b;
	}
	return found;
}

/* A rank that polls a good part of the time, and runs nothing between the polls that has a category, waits: that time becomes
 * communication. */
static void add_polls(struct pp_row_cell *cell, struct pp_row_budget *b, int64_t ns)
{
	const int64_t more = least(positive(ns), positive(cell->exclusive_ns[PP_CATEGORY_OTHER]));

	cell->exclusive_ns[PP_CATEGORY_OTHER] -= more;
	cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] += more;
	b->time_ns += more;
	b->unsplit_ns += more;
	for (int c = 1; c <= PP_CATEGORIES; c++)
		if (cell->exclusive_ns[c] > cell->exclusive_ns[cell->bottleneck])
			cell->bottleneck = (int8_t)c;
}

/* Communication of the cell that is neither wait nor transfer, nor of messages that are not known. */
static int64_t unsplit_of(const struct pp_row_cell *cell)
{
	return positive(cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] + cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE] -
	                cell->wait_ns - cell->transfer_ns - cell->point_to_point_ns);
}

/* How much of `ns` can become waiting of the cell and of /budget; and does it there. */
static int64_t move(struct pp_row_cell *cell, struct pp_row_budget *b, int64_t ns, int polls)
{
	int64_t transfer = 0, unsplit;

	if (!b || ns <= 0)
		return 0;
	if (polls) {
		const int64_t polled = least(unsplit_of(cell) + positive(cell->point_to_point_ns), positive(b->unsplit_ns));

		add_polls(cell, b, least(ns - polled, MOST_BETWEEN * polled));
	} else {
		transfer = least(ns, least(positive(b->transfer_ns), positive(cell->transfer_ns)));
	}
	unsplit = least(ns - transfer, least(unsplit_of(cell) + positive(cell->point_to_point_ns), positive(b->unsplit_ns)));
	b->transfer_ns -= transfer;
	b->unsplit_ns -= unsplit;
	b->wait_ns += transfer + unsplit;
	cell->point_to_point_ns -= positive(unsplit - unsplit_of(cell));
	cell->transfer_ns -= transfer;
	cell->wait_ns += transfer + unsplit;
	return transfer + unsplit;
}

/* The row waited until then, not transferred; of a kernel that ran several operations each has an equal part. */
static void wait_until(struct pp_row_collective *c, struct pp_row_arrival *row, int64_t until)
{
	const int on_device = pp_graph_on_device(row);
	const int64_t begin = on_device ? row->device_begin_ns : row->arrival_ns,
	              end = on_device ? row->device_end_ns : row->exit_ns;
	const int64_t share = row->device_operations ? row->device_operations : 1;
	const int64_t waited = pp_graph_since(begin, least(until, end)) / share, more = pp_wrap_minus(waited, row->waited_ns);

	if (row->waited_ns < 0) {
		pp_known_add(&c->wait_ns, waited);
		pp_known_add(&c->transfer_ns, pp_wrap_minus(pp_graph_since(begin, end) / share, waited));
	} else if (more > 0) {
		c->wait_ns = pp_wrap_plus(c->wait_ns, more);
		c->transfer_ns = pp_wrap_minus(c->transfer_ns, more);
	}
	row->waited_ns = row->waited_ns > waited ? row->waited_ns : waited;
}

static int64_t add_wait(const struct pp_graph *g, struct pp_dataset *d, uint32_t node)
{
	const struct pp_node *n = &g->node[node], *need = &g->node[n->need];
	const uint32_t row = row_of(g, node);
	struct pp_row_collective *c = row == PP_GRAPH_NONE ? NULL : &d->collective[g->operation[row]];
	const int lone = (n->flags & PP_NODE_LONE) != 0;
	struct pp_row_cell *row_of_step = &d->cell[(size_t)pp_graph_step(g, n) * d->workers], *cell = row_of_step + n->track;
	const int64_t until = need->start < n->end ? need->start : n->end, bound = c && c->bound_ns > 0 ? c->bound_ns : ERROR_NS;
	const int polls = lone ? d->lone_call[n->row].polls != 0 : (n->flags & PP_NODE_POLLS) != 0;
	int64_t more = inside(cell, n->start, until) - pp_graph_exposed(g, node);

	if ((!lone && !c) || !cell->present)
		return 0;
	if (lone) /* what it needs is known */
		d->lone_call[n->row].wait_ns = 0;
	if (more <= bound)
		return 0;
	if (c)
		more = move(cell, budget_of(d, c->operation, c->communicator, polls), more, polls);
	else
		more = move(cell, budget_of(d, d->lone_call[n->row].operation, 0, polls), more, polls);
	if (more <= 0)
		return 0;
	row_of_step[need->track].late_ns += more;
	row_of_step[need->track].late_error_ns += bound;
	if (c) {
		d->arrival[row].exposed_wait_ns += more;
		d->arrival[row].late_rank = d->worker[need->track].rank;
		wait_until(c, &d->arrival[row], until);
	} else {
		d->lone_call[n->row].wait_ns = more;
		d->lone_call[n->row].late_rank = d->worker[need->track].rank;
	}
	return more;
}

/* Says which part of the waiting rests on what no record says. */
static void warn_inferred(struct pp_dataset *d)
{
	double inferred = 0, all = 0;

	for (size_t i = 0; i < d->lone_calls; i++)
		inferred += (double)pp_known_or(d->lone_call[i].wait_ns, 0);
	for (size_t i = 0; i < d->steps * d->workers; i++)
		all += (double)d->cell[i].wait_ns;
	if (inferred > 0 && d->inferred_confidence > 0)
		pp_dataset_warn(
		        d,
		        "%.0f %% of all waiting is inferred from the ranks' work between calls, confidence %.2f: the calls do not "
		        "say for which rank they wait",
		        100 * inferred / all, d->inferred_confidence);
}

int64_t pp_graph_add_waits(const struct pp_graph *g, struct pp_dataset *d)
{
	int64_t sum = 0;

	d->inferred_confidence = g->sure;
	d->needs_dropped = g->dropped;
	d->needs_not_learned = g->not_learned;
	for (size_t i = 0; i < d->lone_calls; i++)
		d->lone_call[i].wait_ns = PP_UNKNOWN;
	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct pp_node *n = &g->node[i];

		if (n->flags & (PP_NODE_LEARNED | PP_NODE_INFERRED | PP_NODE_POLLS) && n->need != PP_GRAPH_NONE &&
		    pp_graph_step(g, n) != PP_GRAPH_NONE)
			sum += add_wait(g, d, i);
	}
	warn_inferred(d);
	return sum;
}

/* Input or Output that a collective call of a file counts as; one that moves no data: the larger of both in its cell. */
static int file_category(const struct pp_row_cell *cell, unsigned call)
{
	switch (pp_mpi_call_info(call)->class) {
	case PP_MPI_READ_ALL:
		return PP_CATEGORY_INPUT;
	case PP_MPI_WRITE_ALL:
		return PP_CATEGORY_OUTPUT;
	case PP_MPI_FILE_ALL:
		return cell->exclusive_ns[PP_CATEGORY_INPUT] > cell->exclusive_ns[PP_CATEGORY_OUTPUT] ? PP_CATEGORY_INPUT
		                                                                                      : PP_CATEGORY_OUTPUT;
	default:
		return 0;
	}
}

int64_t pp_graph_file_wait(const struct pp_graph *g, size_t worker, int category, const uint8_t *which)
{
	const struct pp_dataset *d = g->d;
	int64_t sum = 0;

	for (size_t i = g->track[worker]; i < g->track[worker + 1]; i++) {
		const struct pp_node *n = &g->node[i];
		const uint32_t step = pp_graph_step(g, n);

		if (n->need == PP_GRAPH_NONE || step == PP_GRAPH_NONE || (which && !which[step]) || !(n->flags & PP_NODE_POSTS) ||
		    !pp_graph_row_count(g, n))
			continue;
		if (file_category(&d->cell[step * d->workers + worker],
		                  d->collective[g->operation[*pp_graph_rows(g, n)]].operation) == category)
			pp_wrap_add(&sum, pp_graph_wait(g, (uint32_t)i));
	}
	return sum;
}

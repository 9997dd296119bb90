/* Rules of advice about waiting and communication; see advice_rule.h. Called by advice.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/dataset/communicator_text.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/graph/graph.h"
#include "aggregate/tools/advice_rule.h"
#include "aggregate/tools/recommend.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/base/wrap.h"

enum { FEW_PERCENT = 1, LARGE_PERCENT = 5, MANY_PER_STEP = 8, COMMUNICATOR = 3 };

/* Senders of messages that wait for their receiver to post: the sum, the receiver with most of it, and how many of the messages. */
struct receivers {
	int64_t *ns; /* [workers] */
	int64_t all_ns;
	uint64_t messages, waited;
};

/* When its rank began to wait for the message. */
static int64_t waits_from(const struct pp_row_arrival *row)
{
	return row->call_begin_ns > row->arrival_ns ? row->call_begin_ns : row->arrival_ns;
}

/* Was the receive posted when the sender began to wait? Then nothing can begin earlier: its rank was not in MPI to go on. */
static int is_posted(const struct pp_dataset *d, const struct pp_row_collective *c, const struct pp_row_arrival *sender)
{
	for (uint32_t i = 0; i < c->row_count; i++) {
		const struct pp_row_arrival *one = &d->arrival[c->row_first + i];

		if (!one->is_root)
			return one->arrival_ns <= pp_wrap_plus(waits_from(sender), c->bound_ns);
	}
	return 0;
}

/* Did its call also receive, until then or later? Then it was no shorter with another's receive posted earlier. */
static int receives_too(const struct pp_dataset *d, uint64_t sent)
{
	const uint32_t node = d->graph ? d->graph->done[sent] : PP_GRAPH_NONE;
	const struct pp_node *n = node == PP_GRAPH_NONE ? NULL : &d->graph->node[node];

	for (uint32_t i = 0; n && i < pp_graph_row_count(d->graph, n); i++) {
		const struct pp_row_arrival *one = &d->arrival[pp_graph_rows(d->graph, n)[i]];

		if (!one->is_root && one->exit_ns >= d->arrival[sent].exit_ns)
			return 1;
	}
	return 0;
}

static void count_message(const struct pp_dataset *d, const struct pp_row_collective *c, struct receivers *r)
{
	if (!c->message || c->row_first > d->arrivals || c->row_count > d->arrivals - c->row_first)
		return;
	r->messages++;
	for (uint32_t i = 0; i < c->row_count; i++) {
		const struct pp_row_arrival *one = &d->arrival[c->row_first + i];
		size_t late = pp_dataset_worker(d, one->late_rank);

		if (!one->is_root || one->exposed_wait_ns <= c->bound_ns || one->exposed_wait_ns <= 0 || late == SIZE_MAX ||
		    is_posted(d, c, one) || receives_too(d, c->row_first + i))
			continue;
		r->ns[late] = pp_wrap_plus(r->ns[late], one->exposed_wait_ns);
		r->all_ns = pp_wrap_plus(r->all_ns, one->exposed_wait_ns);
		r->waited++;
	}
}

int pp_rule_late_receiver(const struct pp_advising *a, struct pp_finding *f)
{
	struct receivers r = {.ns = calloc(a->d->workers + 1, sizeof(*r.ns))};
	char mean[PP_TEXT_UNIT];
	size_t worst = 0;
	int holds;

	if (!r.ns)
		return -ENOMEM;
	for (size_t i = 0; i < a->d->collectives; i++)
		count_message(a->d, &a->d->collective[i], &r);
	for (size_t w = 0; w < a->d->workers; w++)
		worst = r.ns[w] > r.ns[worst] ? w : worst;
	holds = pp_sums_percent(r.all_ns, a->s.all_ns) >= FEW_PERCENT;
	if (holds) {
		f->worker = a->d->worker[worst].rank;
		f->cost_ns = pp_advice_per_cell(a, r.all_ns);
		snprintf(f->evidence, sizeof(f->evidence),
		         "senders wait for receivers in %" PRIu64 " of %" PRIu64
		         " messages, %s per step and rank, %.1f %% of the steps' "
		         "time; %.0f %% of it for rank %" PRId32,
		         r.waited, r.messages, pp_text_time(mean, f->cost_ns), pp_sums_percent(r.all_ns, a->s.all_ns),
		         pp_sums_percent(r.ns[worst], r.all_ns), f->worker);
	}
	free(r.ns);
	return holds;
}

static int64_t time_of(const struct pp_row_all_reduce *one)
{
	return one->device_ns > 0 ? one->device_ns : pp_known_or(one->transfer_ns, 0);
}

/* Of the small operations that are many in each step, those that take longest. */
int pp_rule_small_messages(const struct pp_advising *a, struct pp_finding *f)
{
	const struct pp_row_all_reduce *most = NULL;
	char each[PP_TEXT_UNIT], where[PP_COMMUNICATOR_TEXT];
	double per_step;

	for (size_t i = 0; i < a->d->all_reduces && a->d->steps; i++) {
		const struct pp_row_all_reduce *one = &a->d->all_reduce[i];
		uint64_t bytes = one->occurrences ? one->bytes / one->occurrences : 0;

		if (bytes && bytes < PP_RECOMMEND_SMALL_MESSAGE && one->occurrences / a->d->steps >= MANY_PER_STEP &&
		    (!most || time_of(one) > time_of(most)))
			most = one;
	}
	if (!most || pp_sums_percent(time_of(most), a->s.all_ns) < LARGE_PERCENT)
		return 0;
	per_step = (double)most->occurrences / (double)a->d->steps;
	f->cost_ns = pp_advice_per_cell(a, time_of(most));
	snprintf(f->evidence, sizeof(f->evidence),
	         "%s on %s: %.0f per step, %s each; without waiting they take %.1f %% of the steps' time",
	         pp_operation_name(most->operation), pp_communicator_text(a->d, most->communicator, where), per_step,
	         pp_text_bytes(each, most->bytes / most->occurrences), pp_sums_percent(time_of(most), a->s.all_ns));
	return 1;
}

int pp_rule_slow_communicator(const struct pp_advising *a, struct pp_finding *f)
{
	char before[PP_TEXT_UNIT], after[PP_TEXT_UNIT];

	for (size_t i = 0; i < a->d->what_ifs; i++) {
		const struct pp_row_what_if *row = &a->d->what_if[i];

		if (row->subject != COMMUNICATOR || !pp_is_known(row->gain_ns) ||
		    pp_sums_percent(row->gain_ns, row->before_ns) < FEW_PERCENT)
			continue;
		f->cost_ns = row->gain_ns;
		snprintf(f->evidence, sizeof(f->evidence), "%s: a step would take %s instead of %s", row->what_if,
		         pp_text_time(after, row->after_ns), pp_text_time(before, row->before_ns));
		return 1;
	}
	return 0;
}

/* The MESSAGES rule; see step_message.h and docs/steps.md. Called by step_mark.c.
 * Nothing orders the messages of two ranks, so each rank is searched alone: its own peers, tags and bytes repeat. The counts of all
 * ranks then have to agree. */
#include "core/step/step_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/message.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/mark_list.h"
#include "core/step/step_nest.h"
#include "core/step/step_rhythm.h"

enum { MANY_ROUNDS = 10 }; /* of a loop: what is between them is occasional */

static const char C10D[] = "c10d::";

#define MOST_OF 0.9
#define ALIKE 0.9   /* of the messages are the same: one over and over */
#define COVERS 0.75 /* of the time of a rank with more steps: else it has stopped before */

struct sequence { /* one rank's messages, or all of its calls */
	struct pp_stream stream;
	struct pp_period_times times;
	struct pp_period_list list;
	uint32_t *request; /* [length]; ascending but for 0 */
	uint32_t thread;
	enum pp_message_calls calls;
	const struct pp_intern *names;
	int is_alike, is_unsure;
};

/* Call number of an operator that is a whole collective; 0: it is none. */
static unsigned call_of_operator(const struct pp_intern *names, const struct pp_span *span)
{
	size_t length;
	const char *text;
	unsigned call;

	if (span->kind != PP_SPAN_RANGE || span->range.origin != PP_ORIGIN_OPERATOR)
		return 0;
	text = pp_intern_text(names, span->name, &length);
	if (length <= strlen(C10D) || memcmp(text, C10D, strlen(C10D)) != 0)
		return 0;
	call = pp_c10d_call_of(text, length);
	return call && pp_mpi_call_is_collective(call) ? call : 0;
}

static int is_wanted(const struct sequence *q, const struct pp_span *span)
{
	const enum pp_message_calls calls = q->calls;

	if (calls == PP_MESSAGE_OPERATORS)
		return call_of_operator(q->names, span) != 0;
	if (span->kind != PP_SPAN_MPI)
		return 0;
	return pp_mpi_class_is_message(pp_mpi_call_info(span->mpi.call)->class) ||
	       (calls == PP_MESSAGE_ALL_CALLS && pp_mpi_call_is_collective(span->mpi.call));
}

/* The k-th span that may be wanted, of spans_of(). */
static const struct pp_span *span_of_thread(const struct sequence *q, const struct pp_thread *thread, size_t k)
{
	return &thread->span[q->calls == PP_MESSAGE_OPERATORS ? k : pp_thread_other(thread, k)];
}

static size_t spans_of(const struct sequence *q, const struct pp_thread *thread)
{
	return q->calls == PP_MESSAGE_OPERATORS ? thread->spans : pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI));
}

static size_t count_wanted(const struct sequence *q, const struct pp_thread *thread)
{
	size_t n = 0;

	for (size_t k = 0; k < spans_of(q, thread); k++)
		n += is_wanted(q, span_of_thread(q, thread, k));
	return n;
}

/* A receive has neither peer nor size before it ends. */
static uint32_t symbol_of(const struct pp_rank *rank, const struct pp_span *span)
{
	const struct pp_span_message *m = pp_message_of(rank, span);
	uint64_t tag = m && m->sent.flags ? (uint64_t)(uint32_t)m->sent.tag << 32 : 0;

	if (span->flags & PP_SPAN_FAILED)
		return PP_PERIOD_GAP;
	if (pp_mpi_call_is_collective(span->mpi.call))
		return pp_period_symbol(span->mpi.call, 1, span->mpi.peer,
		                        span->mpi.comm << 32 ^ (pp_mpi_call_has_equal_bytes(span->mpi.call) ? span->mpi.sent : 0));
	if (pp_mpi_call_info(span->mpi.call)->class == PP_MPI_RECV || (span->flags & PP_SPAN_RECEIVES))
		return pp_period_symbol(span->mpi.call, 1, -1, 0);
	return pp_period_symbol(span->mpi.call, 1, span->mpi.peer, span->mpi.sent ^ tag);
}

static void fill_call(const struct sequence *q, const struct pp_rank *rank, const struct pp_span *span, size_t n)
{
	const int is_call = q->calls != PP_MESSAGE_OPERATORS;

	q->stream.symbol[n] = is_call ? symbol_of(rank, span) : pp_period_symbol(call_of_operator(q->names, span), 1, -1, 0);
	q->stream.bytes[n] = is_call ? span->mpi.sent : 0;
	q->request[n] = is_call && span->mpi.request ? span->mpi.request : n ? q->request[n - 1] : 0;
	q->times.begin[n] = span->begin;
	q->times.end[n] = span->end;
}

static void sequence_release(struct sequence *q)
{
	pp_period_list_release(&q->list);
	pp_period_times_release(&q->times);
	free(q->stream.symbol);
	free(q->stream.bytes);
	free(q->request);
	*q = (struct sequence){0};
}

/* An operation lasts until its request is complete. */
static void add_requests(const struct pp_rank *rank, struct sequence *q)
{
	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_REQUEST)); k++) {
			const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];
			size_t i;

			if (span->kind != PP_SPAN_REQUEST || !span->mpi.request || (span->flags & PP_SPAN_CUT_END))
				continue;
			i = PP_PARTITION(q->stream.length, at, q->request[at] < span->mpi.request);
			if (i < q->stream.length && q->request[i] == span->mpi.request && span->end > q->times.end[i])
				q->times.end[i] = span->end;
		}
	}
}

/* The wanted calls of the thread with most. Whatever it returns: sequence_release(). */
static int sequence_fill(const struct pp_rank *rank, struct sequence *q)
{
	const struct pp_thread *thread;
	size_t most = 0, n = 0;

	for (uint32_t t = 0; t < rank->threads; t++) {
		size_t calls = count_wanted(q, &rank->thread[t]);

		q->thread = calls > most ? t : q->thread;
		most = calls > most ? calls : most;
	}
	if (most < PP_PERIOD_LEAST_CALLS)
		return 0;
	q->stream.symbol = calloc(most, sizeof(*q->stream.symbol));
	q->stream.bytes = calloc(most, sizeof(*q->stream.bytes));
	q->request = calloc(most, sizeof(*q->request));
	if (!q->stream.symbol || !q->stream.bytes || !q->request || pp_period_times_init(&q->times, most))
		return -ENOMEM;
	thread = &rank->thread[q->thread];
	for (size_t k = 0; k < spans_of(q, thread); k++)
		if (is_wanted(q, span_of_thread(q, thread, k)))
			fill_call(q, rank, span_of_thread(q, thread, k), n++);
	q->stream.length = n;
	add_requests(rank, q);
	return 0;
}

/* The messages of a rank that has hardly any others. */
static int find_alike(struct sequence *q)
{
	const struct pp_stream *s = &q->stream;
	uint32_t usual = s->symbol[s->length / 2];
	size_t calls = 0;

	for (size_t i = 0; i < s->length; i++)
		calls += s->symbol[i] == usual;
	if (usual == PP_PERIOD_GAP || (double)calls < ALIKE * (double)s->length)
		return 0;
	q->list.patterns = 1;
	for (size_t i = 0; i < s->length; i++)
		if (s->symbol[i] == usual && pp_period_list_add(&q->list, i, i) < 0)
			return -ENOMEM;
	pp_period_list_measure(&q->list, 1);
	return 0;
}

/* One message over and over: times show which of them are a step. */
static int choose_rhythm(struct sequence *q)
{
	size_t n = q->list.steps, calls;
	int64_t *ns = calloc(n + 1, sizeof(*ns)), pause;
	struct pp_period_list other = {.patterns = 1};
	int rc = 0;

	if (!ns)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++)
		ns[i] = q->times.end[q->list.step[i].last] - q->times.end[q->list.step[i - 1].last];
	q->is_alike = 1;
	calls = pp_rhythm(ns, n, q->times.work, &pause);
	q->is_unsure = !calls;
	for (size_t i = 1; rc == 0 && calls > 1 && i + calls <= n; i++)
		if (ns[i] > pause && q->list.step[i + calls - 1].last == q->list.step[i].head + calls - 1)
			rc = pp_period_list_add(&other, q->list.step[i].head, q->list.step[i + calls - 1].last);
	free(ns);
	if (rc < 0 || !other.steps) {
		pp_period_list_release(&other);
		return rc;
	}
	pp_period_list_measure(&other, 1);
	pp_period_list_release(&q->list);
	q->list = other;
	return 0;
}

/* Messages from the first step of about the usual length to the last one. */
static size_t reach(const struct pp_period_list *list)
{
	size_t from = SIZE_MAX, to = 0;

	for (size_t i = 0; i < list->steps; i++) {
		if (list->step[i].last + 1 - list->step[i].head > 2 * (size_t)list->period)
			continue;
		from = list->step[i].head < from ? list->step[i].head : from;
		to = list->step[i].last + 1;
	}
	return to > from ? to - from : 0;
}

/* Few rounds between other messages are a loop inside of the step, if what is around repeats for as much of the run. */
static int choose_nest(struct sequence *q, struct pp_period *p)
{
	struct pp_period_list other = {0};
	size_t gaps = pp_period_list_gaps(&q->list);
	int rc;

	if (gaps < PP_NEST_GAPS || q->list.steps >= MANY_ROUNDS * (gaps + 1))
		return 0;
	rc = pp_period_list_around(&other, p, &q->stream, &q->list);
	if (rc < 0 || !other.steps || other.share < PP_PERIOD_RULE_COVERAGE ||
	    (double)reach(&other) < MOST_OF * (double)reach(&q->list)) {
		pp_period_list_release(&other);
		q->is_unsure |= q->list.share < PP_PERIOD_RULE_COVERAGE;
		return rc;
	}
	pp_period_list_release(&q->list);
	q->list = other;
	return 0;
}

/* Was a step half done when other messages took the place of its end? Receives look all alike: sends count. */
static int is_interrupted(const struct sequence *q, size_t i)
{
	const struct pp_period_step *before = &q->list.step[i - 1];
	size_t begin = before->last + 1, all = 0, same = 0;
	int goes_on = 1;

	for (size_t k = before->head; k < begin; k++) {
		size_t at = begin + (k - before->head);

		goes_on &= at < q->list.step[i].head && q->stream.symbol[at] == q->stream.symbol[k];
		all += q->stream.bytes[k] != 0;
		same += goes_on && q->stream.bytes[k] != 0;
	}
	return same && 2 * same >= all;
}

static int add_interrupted(struct sequence *q)
{
	struct pp_period_list all = {.patterns = q->list.patterns};
	int rc = 0;

	for (size_t i = 0; i < q->list.steps && rc == 0; i++) {
		if (i && is_interrupted(q, i))
			rc = pp_period_list_add(&all, q->list.step[i - 1].last + 1, q->list.step[i].head - 1);
		if (rc == 0)
			rc = pp_period_list_add(&all, q->list.step[i].head, q->list.step[i].last);
	}
	if (rc < 0) {
		pp_period_list_release(&all);
		return rc;
	}
	all.share = q->list.share;
	all.calls = q->list.calls;
	all.period = q->list.period;
	pp_period_list_release(&q->list);
	q->list = all;
	return 0;
}

/* A step ends when all of its operations have ended, at the latest when the next call begins. */
static void end_steps(struct sequence *q)
{
	for (size_t i = 0; i < q->list.steps; i++) {
		const struct pp_period_step *step = &q->list.step[i];
		int64_t *end = &q->times.end[step->last];

		for (size_t k = step->head; k < step->last; k++)
			*end = q->times.end[k] > *end ? q->times.end[k] : *end;
		if (step->last + 1 < q->stream.length && *end > q->times.begin[step->last + 1])
			*end = q->times.begin[step->last + 1];
	}
}

static int find_steps(const struct pp_rank *rank, struct sequence *q, struct pp_period *p)
{
	int rc = sequence_fill(rank, q);

	if (rc < 0 || !q->stream.length)
		return rc;
	rc = pp_period_list_find(&q->list, p, q->stream.symbol, q->stream.length, NULL, NULL);
	if (rc == 0)
		rc = q->list.steps ? choose_nest(q, p) : find_alike(q);
	if (rc == 0 && q->list.steps && q->list.period == 1)
		rc = choose_rhythm(q);
	else if (rc == 0 && q->list.steps)
		rc = add_interrupted(q);
	if (rc == 0)
		end_steps(q);
	return rc;
}

/* Marks that are whole: not the time after the last step. */
static size_t whole(const struct pp_marks *marks)
{
	return marks->marks && !marks->mark[marks->marks - 1].complete ? marks->marks - 1 : marks->marks;
}

/* Without the marks that begin before `horizon`. */
static void forget(struct pp_marks *marks, int64_t horizon)
{
	size_t n = 0;

	while (n < marks->marks && marks->mark[n].begin < horizon)
		n++;
	marks->marks -= n;
	if (n)
		memmove(marks->mark, marks->mark + n, marks->marks * sizeof(*marks->mark));
}

/* Makes each `times` marks one, from the one on of which the last ends nearest to `end`. */
static void join(struct pp_marks *marks, size_t times, int64_t end)
{
	size_t all = whole(marks), from = 0, n = 0;
	int has_rest = all < marks->marks;
	struct pp_mark rest = has_rest ? marks->mark[all] : (struct pp_mark){0};

	for (size_t i = 1; i <= times && i + times <= all; i++)
		if (llabs(marks->mark[i + times - 1].end - end) < llabs(marks->mark[from + times - 1].end - end))
			from = i;
	for (size_t i = from; i + times <= all; i += times) {
		struct pp_mark mark = marks->mark[i];

		mark.end = marks->mark[i + times - 1].end;
		mark.number = (int64_t)n;
		marks->mark[n++] = mark;
	}
	if (has_rest) {
		rest.number = (int64_t)n;
		marks->mark[n++] = rest;
	}
	marks->marks = n;
}

/* From the first whole mark to the last. */
static int64_t span_of(const struct pp_marks *marks)
{
	return whole(marks) ? pp_wrap_minus(marks->mark[whole(marks) - 1].end, marks->mark[0].begin) : 0;
}

/* The n-th step of a rank belongs to the n-th of the others. Some ranks see a step as several alike ones: where both neighbours are
 * one rank, for example. A rank that only stops earlier has fewer, too: its steps are as long. */
static void align(const struct pp_capture *capture, struct pp_marks *list, struct pp_period_rule *rule)
{
	int64_t horizon = INT64_MIN, span;
	size_t fewest = SIZE_MAX, best = 0;
	int covers;

	for (size_t r = 0; r < capture->ranks; r++)
		horizon = capture->rank[r].horizon > horizon ? capture->rank[r].horizon : horizon;
	for (size_t r = 0; r < capture->ranks; r++) {
		forget(&list[r], horizon);
		if (!list[r].marks || whole(&list[r]) >= fewest)
			continue;
		fewest = whole(&list[r]);
		best = r;
	}
	rule->least = fewest == SIZE_MAX ? 0 : fewest;
	span = span_of(&list[best]);
	for (size_t r = 0; r < capture->ranks && rule->least; r++) {
		if (!list[r].marks)
			continue;
		covers = (double)span > COVERS * (double)span_of(&list[r]);
		join(&list[r], covers ? (whole(&list[r]) + fewest / 2) / fewest : 1, list[best].mark[0].end);
		rule->least = whole(&list[r]) < rule->least ? whole(&list[r]) : rule->least;
		rule->most = whole(&list[r]) > rule->most ? whole(&list[r]) : rule->most;
	}
}

/* Adds what one rank has to the job's. */
static void add_rank(const struct sequence *q, struct pp_period_rule *rule)
{
	uint64_t all = q->list.step[q->list.steps - 1].last - q->list.step[0].head + 1;

	rule->matched += q->list.calls;
	rule->irregular += all - q->list.calls;
	rule->period = q->list.period > rule->period ? q->list.period : rule->period;
	rule->patterns = q->list.patterns > rule->patterns ? q->list.patterns : rule->patterns;
	rule->is_alike |= q->is_alike;
	rule->is_unsure |= q->is_unsure;
}

int pp_message_rule_find(const struct pp_capture *capture, enum pp_message_calls calls, struct pp_marks *list,
                         struct pp_period_rule *ret_rule)
{
	struct pp_period *p = malloc(sizeof(*p));
	struct pp_period_rule rule = {.is_all = calls == PP_MESSAGE_ALL_CALLS};
	struct pp_period_time time = {0};
	size_t with = 0, recording = 0;
	double recorded = 0;
	int rc = p ? 0 : -ENOMEM;

	for (size_t r = 0; r < capture->ranks && rc == 0; r++) {
		const struct pp_rank *rank = &capture->rank[r];
		struct sequence q = {.calls = calls, .names = capture->names};
		double ns = pp_recorded_time(rank);

		recording += ns > 0;
		rc = find_steps(rank, &q, p);
		if (rc == 0 && q.list.steps) {
			with++;
			recorded += ns;
			list[r].thread = q.thread;
			add_rank(&q, &rule);
			pp_period_list_time(&q.list, &q.times, &time);
			rule.evicted |= rank->horizon != INT64_MIN;
			rc = pp_period_list_mark(&q.list, &q.times, rank, &list[r]);
		} else if (q.stream.length) {
			rule.without++;
		}
		sequence_release(&q);
	}
	free(p);
	if (rc < 0 || !with)
		return rc;
	align(capture, list, &rule);
	rule.collectives = calls == PP_MESSAGE_OPERATORS ? rule.period : 0;
	rule.steps = rule.most;
	rule.is_unsure |= rule.without || rule.most > rule.least + 1 || rule.least < PP_PERIOD_LEAST - 1;
	rule.coverage = (double)rule.matched / (double)(rule.matched + rule.irregular);
	rule.time = recorded > 0 ? time.own / recorded : 0;
	rule.confidence = pp_period_rule_confidence(&rule) * (double)with / (double)recording;
	if (calls == PP_MESSAGE_ALL_CALLS && rule.is_alike) /* the rule of collectives has looked at it, with all that it knows */
		rule.confidence = 0;
	*ret_rule = rule;
	return 1;
}

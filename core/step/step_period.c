/* The PERIOD rule: steps are the repeating pattern of a communicator's collectives; docs/steps.md. Called by step_mark.c. */
#include "core/step/step_period.h"

#include <errno.h>
#include <stdlib.h>

#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/mark_list.h"
#include "core/step/step_nest.h"

enum {
	NESTS = 4,        /* loops inside of loops */
	MANY_TIMES = 8,   /* fewer repetitions may be chance */
	MOST_STREAMS = 64 /* communicators to examine, those with most calls: each pass reads all spans */
};

struct candidate { /* a communicator of all ranks, a candidate */
	uint64_t comm;
	uint32_t name;
	uint64_t calls; /* collectives, their completions too, of all ranks */
};

struct found { /* steps of the best stream */
	struct pp_stream stream;
	struct pp_period_list list;
	struct pp_period_rule rule;
};

/* Next collective of `comm` on this thread from *at on, its call or its completion; NULL at the end. */
static const struct pp_span *next_of(const struct pp_thread *thread, size_t *at, uint64_t comm)
{
	while (*at < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST))) {
		const struct pp_span *span = &thread->span[pp_thread_other(thread, (*at)++)];

		if ((span->kind == PP_SPAN_MPI || span->kind == PP_SPAN_REQUEST) && span->mpi.comm == comm &&
		    pp_mpi_call_is_collective(span->mpi.call))
			return span;
	}
	return NULL;
}

static int has_calls(const struct pp_thread *thread)
{
	return pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_MPI));
}

static uint64_t bytes_of(const struct pp_span *span)
{
	return span->mpi.sent > span->mpi.received ? span->mpi.sent : span->mpi.received;
}

/* A call may fail on one rank only. */
static uint32_t symbol_of(const struct pp_span *span)
{
	if (span->flags & PP_SPAN_FAILED)
		return PP_PERIOD_GAP;
	return pp_period_symbol(span->mpi.call, pp_mpi_call_joins_data(span->mpi.call), span->mpi.peer,
	                        pp_mpi_call_has_equal_bytes(span->mpi.call) ? bytes_of(span) : 0);
}

/* From the first number that every rank with records has (some may be evicted) to the last of any. Numbers that
 * jump further than there are calls are damage: then there is no stream. */
static int find_limits(const struct pp_capture *capture, struct pp_stream *s)
{
	uint32_t low = 0, high = 0;
	uint64_t calls = 0;

	for (size_t r = 0; r < capture->ranks; r++) {
		uint32_t first = UINT32_MAX;

		for (size_t t = 0; t < capture->rank[r].threads; t++) {
			const struct pp_thread *thread = &capture->rank[r].thread[t];
			const struct pp_span *span;
			size_t at = 0;

			while (has_calls(thread) && (span = next_of(thread, &at, s->comm))) {
				first = span->mpi.sequence < first ? span->mpi.sequence : first;
				high = span->mpi.sequence > high ? span->mpi.sequence : high;
				calls++;
			}
		}
		if (first != UINT32_MAX && first > low)
			low = first;
	}
	s->low = low;
	s->length = calls && high >= low ? (size_t)(high - low) + 1 : 0;
	return s->length >= PP_PERIOD_LEAST_CALLS && s->length <= 4 * calls + 1024;
}

/* Symbols of all ranks, each number once. The stream ends where two ranks differ. */
static int fill_stream(const struct pp_capture *capture, struct pp_stream *s)
{
	s->symbol = calloc(s->length + 1, sizeof(*s->symbol));
	s->bytes = calloc(s->length + 1, sizeof(*s->bytes));
	if (!s->symbol || !s->bytes)
		return -ENOMEM;
	for (size_t i = 0; i < s->length; i++)
		s->symbol[i] = PP_PERIOD_GAP;
	for (size_t r = 0; r < capture->ranks; r++) {
		for (size_t t = 0; t < capture->rank[r].threads; t++) {
			const struct pp_thread *thread = &capture->rank[r].thread[t];
			const struct pp_span *span;
			size_t at = 0;

			while (has_calls(thread) && (span = next_of(thread, &at, s->comm))) {
				uint32_t symbol = symbol_of(span), *place;

				if (span->kind != PP_SPAN_MPI || symbol == PP_PERIOD_GAP || span->mpi.sequence < s->low ||
				    span->mpi.sequence - s->low >= s->length)
					continue;
				place = &s->symbol[span->mpi.sequence - s->low];
				if (bytes_of(span) > s->bytes[span->mpi.sequence - s->low])
					s->bytes[span->mpi.sequence - s->low] = bytes_of(span);
				if (*place != PP_PERIOD_GAP && *place != symbol)
					s->length = span->mpi.sequence - s->low;
				else
					*place = symbol;
			}
		}
	}
	return 0;
}

/* Begin and end of each collective of the stream, the end not after the next begin. Returns the thread with most. */
static uint32_t rank_times(const struct pp_rank *rank, const struct pp_stream *s, struct pp_period_times *times)
{
	size_t most = 0;
	uint32_t best = 0;

	for (size_t i = 0; i < s->length; i++)
		times->begin[i] = times->end[i] = INT64_MIN;
	for (uint32_t t = 0; t < rank->threads; t++) {
		const struct pp_span *span;
		size_t at = 0, calls = 0;

		while (has_calls(&rank->thread[t]) && (span = next_of(&rank->thread[t], &at, s->comm))) {
			size_t i = span->mpi.sequence - s->low;

			if (span->mpi.sequence < s->low || i >= s->length || (span->flags & PP_SPAN_CUT_END))
				continue;
			if (span->kind == PP_SPAN_MPI)
				times->begin[i] = span->begin;
			if (span->end > times->end[i])
				times->end[i] = span->end;
			calls++;
		}
		if (calls > most) {
			most = calls;
			best = t;
		}
	}
	for (size_t i = 0; i + 1 < s->length; i++)
		if (times->begin[i + 1] != INT64_MIN && times->end[i] > times->begin[i + 1])
			times->end[i] = times->begin[i + 1];
	return best;
}

static int times_init(struct pp_period_times *times, size_t length)
{
	times->begin = calloc(length + 1, sizeof(*times->begin));
	times->end = calloc(length + 1, sizeof(*times->end));
	times->work = calloc(length + 1, sizeof(*times->work));
	return times->begin && times->end && times->work ? 0 : -ENOMEM;
}

static void times_release(struct pp_period_times *times)
{
	free(times->begin);
	free(times->end);
	free(times->work);
}

static enum pp_period_nest ask_nest(const struct pp_capture *capture, const struct pp_stream *s, const struct pp_period_list *list,
                                    struct pp_period_times *times)
{
	struct pp_period_time time = {0};

	if (pp_period_list_gaps(list) < PP_NEST_GAPS)
		return PP_NEST_NONE;
	for (size_t r = 0; r < capture->ranks; r++) {
		rank_times(&capture->rank[r], s, times);
		pp_period_list_time(list, times, &time);
	}
	return pp_period_list_nest(list, s, &time, (int64_t)capture->ranks == capture->ranks_asked);
}

/* The step may be a loop inside of the pattern (followed by an evaluation), or the pattern a loop inside of the step. */
static int choose_nest(const struct pp_capture *capture, const struct pp_stream *s, struct found *f, struct pp_period *p,
                       struct pp_period_times *times)
{
	struct pp_period_list other = {0};
	enum pp_period_nest nest;
	int rc = pp_period_list_inside(&other, s, &f->list);

	nest = rc == 0 && other.steps ? ask_nest(capture, s, &other, times) : PP_NEST_NONE;
	if (nest == PP_NEST_STEPS) {
		pp_period_list_release(&f->list);
		f->list = other;
		f->rule.is_between = 1;
		return 0;
	}
	pp_period_list_release(&other);
	f->rule.is_unsure = nest == PP_NEST_UNSURE;
	for (int i = 0; rc == 0 && !f->rule.is_unsure; i++) {
		nest = ask_nest(capture, s, &f->list, times);
		f->rule.is_unsure = nest == PP_NEST_UNSURE || (nest == PP_NEST_LOOP && i == NESTS);
		f->rule.is_between = nest == PP_NEST_STEPS;
		if (nest != PP_NEST_LOOP || i == NESTS)
			break;
		rc = pp_period_list_around(&other, p, s, &f->list);
		if (rc < 0 || !other.steps || other.share < PP_PERIOD_RULE_COVERAGE) {
			f->rule.is_unsure = 1; /* a loop whose step does not repeat */
			pp_period_list_release(&other);
			break;
		}
		pp_period_list_release(&f->list);
		f->list = other;
	}
	return rc;
}

static int find_steps(const struct pp_capture *capture, struct found *f, struct pp_period *p)
{
	const struct pp_period_list *list = &f->list;
	struct pp_period_times times = {0};
	struct pp_stream s = f->stream;
	int rc = fill_stream(capture, &s);

	if (rc == 0)
		rc = pp_period_list_find(&f->list, p, s.symbol, s.length, NULL, NULL);
	if (rc == 0 && list->steps)
		rc = times_init(&times, s.length);
	if (rc == 0 && list->steps)
		rc = choose_nest(capture, &s, f, p, &times);
	times_release(&times);
	free(s.symbol);
	free(s.bytes);
	f->stream.length = s.length;
	if (rc == 0 && list->steps) {
		uint64_t all = list->step[list->steps - 1].last - list->step[0].head + 1;

		f->rule.period = list->period;
		f->rule.patterns = list->patterns;
		f->rule.steps = list->steps;
		f->rule.coverage = list->share;
		f->rule.matched = list->calls;
		f->rule.irregular = all - list->calls;
	}
	return rc;
}

static int by_comm(const void *a, const void *b)
{
	uint64_t x = ((const struct candidate *)a)->comm, y = ((const struct candidate *)b)->comm;

	return (x > y) - (x < y);
}

static int by_calls(const void *a, const void *b)
{
	uint64_t x = ((const struct candidate *)a)->calls, y = ((const struct candidate *)b)->calls;

	return x != y ? (x < y) - (x > y) : by_comm(a, b);
}

static void count_calls(const struct pp_thread *thread, struct candidate *candidate, size_t candidates)
{
	for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
		const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];
		struct candidate key = {.comm = span->mpi.comm}, *found;

		if ((span->kind != PP_SPAN_MPI && span->kind != PP_SPAN_REQUEST) || !pp_mpi_call_is_collective(span->mpi.call))
			continue;
		found = bsearch(&key, candidate, candidates, sizeof(key), by_comm);
		if (found)
			found->calls++;
	}
}

/* The communicators of all ranks that have most calls, in that order. One pass: a program may make thousands of them. */
static int find_candidates(const struct pp_capture *capture, const struct pp_rank *known, struct candidate **ret_candidate,
                           size_t *ret_count)
{
	struct candidate *candidate = malloc((known->comms + 1) * sizeof(*candidate));
	size_t count = 0;

	if (!candidate)
		return -ENOMEM;
	for (size_t i = 0; i < known->comms; i++) {
		const struct pp_comm *c = &known->comm[i];

		if (c->kind == PP_COMM_MEMBERS && (int64_t)c->size == capture->ranks_asked)
			candidate[count++] = (struct candidate){.comm = c->id, .name = c->name};
	}
	qsort(candidate, count, sizeof(*candidate), by_comm);
	for (size_t r = 0; r < capture->ranks; r++)
		for (size_t t = 0; t < capture->rank[r].threads; t++)
			count_calls(&capture->rank[r].thread[t], candidate, count);
	qsort(candidate, count, sizeof(*candidate), by_calls);
	count = count < MOST_STREAMS ? count : MOST_STREAMS;
	while (count && candidate[count - 1].calls < PP_PERIOD_LEAST_CALLS)
		count--;
	*ret_candidate = candidate;
	*ret_count = count;
	return 0;
}

/* The stream whose patterns cover most collectives; of equals the lower communicator. */
static int best_stream(const struct pp_capture *capture, const struct pp_rank *known, struct found *best)
{
	struct pp_period *p = malloc(sizeof(*p));
	struct candidate *candidate = NULL;
	size_t candidates = 0;
	int rc = p ? find_candidates(capture, known, &candidate, &candidates) : -ENOMEM;

	for (size_t i = 0; i < candidates && rc == 0; i++) {
		struct found f = {.stream = {.comm = candidate[i].comm}};

		if (candidate[i].calls < best->rule.matched || !find_limits(capture, &f.stream))
			continue;
		f.rule.comm_name = candidate[i].name;
		rc = find_steps(capture, &f, p);
		if (rc == 0 && (f.rule.matched > best->rule.matched ||
		                (f.rule.matched && f.rule.matched == best->rule.matched && f.stream.comm < best->stream.comm))) {
			pp_period_list_release(&best->list);
			*best = f;
		} else {
			pp_period_list_release(&f.list);
		}
	}
	free(candidate);
	free(p);
	return rc;
}

/* Marks of one rank. A first step without a call before it begins with the rank's records and is incomplete, as is the time after
 * the last one. */
static int fill_marks(const struct pp_rank *rank, const struct pp_period_list *list, const struct pp_period_times *times,
                      struct pp_marks *marks)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t t = 0; t < rank->threads; t++) {
		first = rank->thread[t].spans && rank->thread[t].first < first ? rank->thread[t].first : first;
		last = rank->thread[t].spans && rank->thread[t].last > last ? rank->thread[t].last : last;
	}
	for (size_t i = 0; i <= list->steps; i++) {
		size_t at = i < list->steps ? i : list->steps - 1;
		size_t behind = i < list->steps ? (i ? list->step[i - 1].last + 1 : list->step[0].head) : list->step[at].last + 1;
		struct pp_mark mark = {.number = (int64_t)i, .begin = INT64_MIN};

		mark.end = i < list->steps ? times->end[list->step[at].last] : last;
		if (behind)
			mark.begin = times->end[behind - 1];
		mark.complete = i < list->steps && mark.begin != INT64_MIN && mark.begin >= rank->horizon;
		if (mark.begin == INT64_MIN && i == 0)
			mark.begin = first;
		if (mark.begin == INT64_MIN || mark.end <= mark.begin)
			continue;
		if (pp_marks_add(marks, &mark) < 0)
			return -ENOMEM;
	}
	return 0;
}

static double confidence(const struct pp_period_rule *rule)
{
	double times = rule->steps < MANY_TIMES ? 0.6 + 0.4 * (double)rule->steps / MANY_TIMES : 1;
	/* known evaluations do not lower the confidence, however many calls they have */
	double share = rule->is_between && rule->coverage < 0.9 ? 0.9 : rule->coverage;

	return 0.7 * share * times * (rule->patterns > 1 ? 0.9 : 1) * (rule->evicted ? 0.9 : 1) * (rule->is_unsure ? 0.5 : 1) *
	       (rule->time < PP_GUESS_TIME ? rule->time : 1);
}

int pp_period_rule_find(const struct pp_capture *capture, struct pp_marks *list, struct pp_period_rule *ret_rule)
{
	struct found best = {0};
	struct pp_period_times times = {0};
	struct pp_period_time time = {0};
	double recorded = 0;
	size_t known = 0;
	int rc;

	while (known < capture->ranks && !capture->rank[known].comms)
		known++;
	rc = known < capture->ranks ? best_stream(capture, &capture->rank[known], &best) : 0;
	if (rc < 0 || !best.list.steps)
		goto out;
	rc = times_init(&times, best.stream.length);
	for (size_t r = 0; rc == 0 && r < capture->ranks; r++) {
		const struct pp_rank *rank = &capture->rank[r];

		list[r].thread = rank_times(rank, &best.stream, &times);
		pp_period_list_time(&best.list, &times, &time);
		recorded += pp_recorded_time(rank);
		best.rule.evicted |= rank->horizon != INT64_MIN;
		rc = fill_marks(rank, &best.list, &times, &list[r]);
	}
	if (rc < 0)
		goto out;
	best.rule.time = recorded > 0 ? time.own / recorded : 0;
	best.rule.confidence = confidence(&best.rule);
	*ret_rule = best.rule;
	rc = 1;
out:
	times_release(&times);
	pp_period_list_release(&best.list);
	return rc;
}

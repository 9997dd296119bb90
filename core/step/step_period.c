/* The PERIOD rule: steps are the repeating pattern of a communicator's collectives; docs/steps.md. Called by step_mark.c. */
#include "core/step/step_period.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/mark_list.h"
#include "core/step/step_nest.h"
#include "core/step/step_rhythm.h"

enum {
	NESTS = 4,        /* loops inside of loops */
	MANY_TIMES = 8,   /* fewer repetitions may be chance */
	MOST_STREAMS = 64 /* communicators to examine, those with most calls: each pass reads all spans */
};

#define ALIKE 0.9  /* of the collectives are the same: one over and over */
#define USUAL 1.25 /* times as many messages as the usual step */
#define EVEN 0.5   /* of the messages are in steps that have not more */

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
	s->calls = calls && high >= low ? (size_t)(high - low) + 1 : 0;
	return s->calls >= PP_PERIOD_LEAST_CALLS && s->calls <= 4 * calls + 1024;
}

/* Symbols of one thread's collectives, and its messages before each. The stream ends where two ranks differ. */
static void fill_thread(const struct pp_thread *thread, struct pp_stream *s)
{
	uint32_t messages = 0;

	for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
		const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];
		uint32_t symbol, *place;
		size_t i;

		if (span->kind != PP_SPAN_MPI)
			continue;
		if (pp_mpi_class_is_message(pp_mpi_call_info(span->mpi.call)->class)) {
			messages++;
			continue;
		}
		i = span->mpi.sequence - s->low;
		if (span->mpi.comm != s->comm || !pp_mpi_call_is_collective(span->mpi.call) || span->mpi.sequence < s->low ||
		    i >= s->calls)
			continue;
		s->messages[i] += messages;
		messages = 0;
		symbol = symbol_of(span);
		place = &s->symbol[i];
		if (symbol == PP_PERIOD_GAP)
			continue;
		if (bytes_of(span) > s->bytes[i])
			s->bytes[i] = bytes_of(span);
		if (*place != PP_PERIOD_GAP && *place != symbol)
			s->calls = i;
		else
			*place = symbol;
	}
}

/* Gives messages before a collective an element of their own. */
static void spread(struct pp_stream *s)
{
	size_t at;

	s->length = s->calls;
	for (size_t i = 0; i < s->calls; i++)
		s->length += s->messages[i] != 0;
	at = s->length;
	for (size_t i = s->calls; i-- > 0;) {
		uint32_t messages = s->messages[i];

		s->place[i] = (uint32_t)--at;
		s->symbol[at] = s->symbol[i];
		s->bytes[at] = s->bytes[i];
		s->messages[at] = 0;
		if (!messages)
			continue;
		s->symbol[--at] = PP_PERIOD_MESSAGES;
		s->bytes[at] = 0;
		s->messages[at] = messages;
	}
}

static void stream_release(struct pp_stream *s)
{
	free(s->symbol);
	free(s->bytes);
	free(s->messages);
	free(s->place);
}

/* Symbols of all ranks, each number once. Whatever it returns: stream_release(). */
static int fill_stream(const struct pp_capture *capture, struct pp_stream *s)
{
	s->symbol = calloc(2 * s->calls + 1, sizeof(*s->symbol));
	s->bytes = calloc(2 * s->calls + 1, sizeof(*s->bytes));
	s->messages = calloc(2 * s->calls + 1, sizeof(*s->messages));
	s->place = calloc(s->calls + 1, sizeof(*s->place));
	if (!s->symbol || !s->bytes || !s->messages || !s->place)
		return -ENOMEM;
	for (size_t i = 0; i < s->calls; i++)
		s->symbol[i] = PP_PERIOD_GAP;
	for (size_t r = 0; r < capture->ranks; r++)
		for (size_t t = 0; t < capture->rank[r].threads; t++)
			fill_thread(&capture->rank[r].thread[t], s);
	spread(s);
	return 0;
}

/* Messages take no time of their own: they belong to the collective behind. So does a call that has a number of this communicator,
 * but makes another one (MPI_File_open): its record is that one's. */
static void set_unknown(const struct pp_stream *s, struct pp_period_times *times)
{
	size_t last = s->length;

	while (last && times->end[last - 1] == INT64_MIN)
		last--;
	for (size_t i = 1; i < s->length; i++)
		if (s->symbol[i] == PP_PERIOD_MESSAGES || (i < last && times->end[i] == INT64_MIN))
			times->begin[i] = times->end[i] = times->end[i - 1];
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

			if (span->mpi.sequence < s->low || i >= s->calls || (span->flags & PP_SPAN_CUT_END))
				continue;
			i = s->place[i];
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
	for (size_t i = 1; i < s->calls; i++) {
		size_t at = s->place[i], before = s->place[i - 1];

		if (times->begin[at] != INT64_MIN && times->end[before] > times->begin[at])
			times->end[before] = times->begin[at];
	}
	set_unknown(s, times);
	return best;
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
	if (nest == PP_NEST_STEPS || nest == PP_NEST_ROUNDS) {
		pp_period_list_release(&f->list);
		f->list = other;
		f->rule.is_between = nest == PP_NEST_STEPS;
		f->rule.is_rounds = nest == PP_NEST_ROUNDS;
		return 0;
	}
	pp_period_list_release(&other);
	f->rule.is_unsure = nest == PP_NEST_UNSURE;
	for (int i = 0; rc == 0 && !f->rule.is_unsure; i++) {
		nest = ask_nest(capture, s, &f->list, times);
		f->rule.is_unsure = nest == PP_NEST_UNSURE || (nest == PP_NEST_LOOP && i == NESTS);
		f->rule.is_between = nest == PP_NEST_STEPS;
		f->rule.is_rounds = nest == PP_NEST_ROUNDS;
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

/* The collectives of a stream that has hardly any others, from the first to the last; 0: there are others. */
static int find_alike(const struct pp_stream *s, struct pp_period_list *list)
{
	size_t calls = 0, last = 0, first = SIZE_MAX;
	uint32_t usual = s->length ? s->symbol[s->length / 2] : 0;

	for (size_t i = 0; i < s->length; i++) {
		if (s->symbol[i] != usual)
			continue;
		first = calls++ ? first : i;
		last = i;
	}
	if (!(usual & PP_PERIOD_JOINS) || calls < PP_PERIOD_LEAST_CALLS || (double)calls < ALIKE * (double)(last - first + 1))
		return 0;
	*list = (struct pp_period_list){.patterns = 1};
	for (size_t i = first; i <= last; i++)
		if (s->symbol[i] == usual && pp_period_list_add(list, i, i) < 0)
			return -ENOMEM;
	pp_period_list_measure(list, 1);
	return 0;
}

/* Time before each of the list's calls, on one rank; returns how many of them are a step there. */
static size_t rank_rhythm(const struct pp_period_list *list, struct pp_period_times *times, int64_t *ns, int64_t *sum)
{
	int64_t pause;

	for (size_t i = 1; i < list->steps; i++) {
		int64_t from = times->end[list->step[i - 1].last], to = times->end[list->step[i].last];

		ns[i] = from != INT64_MIN && to > from ? to - from : 0;
		sum[i] += ns[i];
	}
	return pp_rhythm(ns, list->steps, times->work, &pause);
}

/* One collective over and over: times show which of them are a step, if all ranks say the same. Hosts that have other ranks could
 * decide otherwise. */
static int choose_rhythm(const struct pp_capture *capture, const struct pp_stream *s, struct found *f,
                         struct pp_period_times *times)
{
	size_t n = f->list.steps, calls = 0;
	int64_t *ns = calloc(n + 1, sizeof(*ns)), *sum = calloc(n + 1, sizeof(*sum)), pause = INT64_MAX;
	struct pp_period_list other = {.patterns = 1};
	int rc = ns && sum ? 0 : -ENOMEM;

	f->rule.is_alike = 1;
	/* Each file of another profiler is looked at alone, and its steps are joined by their numbers. */
	if (!capture->ranks || !capture->rank[0].trace.format[0])
		f->rule.is_unsure |= capture->ranks != (size_t)capture->ranks_asked;
	for (size_t r = 0; r < capture->ranks && rc == 0; r++) {
		size_t same;

		rank_times(&capture->rank[r], s, times);
		same = rank_rhythm(&f->list, times, ns, sum);
		f->rule.is_unsure |= !same || (r && same != calls);
		calls = same;
	}
	if (rc == 0 && calls > 1)
		pp_rhythm(sum, n, times->work, &pause);
	for (size_t i = 1; rc == 0 && calls > 1 && i + calls <= n; i++)
		if (sum[i] > pause && f->list.step[i + calls - 1].last == f->list.step[i].head + calls - 1)
			rc = pp_period_list_add(&other, f->list.step[i].head, f->list.step[i + calls - 1].last);
	free(ns);
	free(sum);
	if (rc == 0 && other.steps) {
		pp_period_list_measure(&other, 1);
		pp_period_list_release(&f->list);
		f->list = other;
		return 0;
	}
	pp_period_list_release(&other);
	return rc;
}

/* Are fewer than half of the messages in steps with about as many as the usual step has? Then collectives do not mark its ends. */
static int is_uneven(const struct pp_stream *s, const struct pp_period_list *list, int64_t *work)
{
	double all = 0, even = 0;
	int64_t usual = 0;

	for (int counting = 0; counting < 2; counting++) {
		for (size_t i = 0; i < list->steps; i++) {
			int64_t messages = 0;

			for (size_t k = list->step[i].head; k <= list->step[i].last; k++)
				messages += s->messages[k];
			if (!counting)
				work[i] = messages;
			all += counting ? (double)messages : 0;
			even += counting && (double)messages <= USUAL * (double)usual ? (double)messages : 0;
		}
		if (!counting) {
			qsort(work, list->steps, sizeof(*work), pp_compare_int64);
			usual = work[list->steps / 2];
		}
	}
	return even < EVEN * all;
}

static uint32_t count_collectives(const struct pp_stream *s, const struct pp_period_list *list)
{
	const struct pp_period_step *step = &list->step[list->steps - 1];
	uint32_t n = 0;

	for (size_t i = step->head; i <= step->last; i++)
		n += s->symbol[i] != PP_PERIOD_MESSAGES;
	return n;
}

static void summarise(const struct pp_stream *s, struct found *f)
{
	const struct pp_period_list *list = &f->list;

	f->rule.period = list->period;
	f->rule.collectives = count_collectives(s, list);
	f->rule.patterns = list->patterns;
	f->rule.steps = list->steps;
	f->rule.coverage = list->share;
	f->rule.matched = list->calls;
	f->rule.irregular = list->step[list->steps - 1].last - list->step[0].head + 1 - list->calls;
}

static int find_steps(const struct pp_capture *capture, struct found *f, struct pp_period *p)
{
	struct pp_period_times times = {0};
	struct pp_stream *s = &f->stream;
	int rc = fill_stream(capture, s);

	if (rc == 0)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the caller releases the stream and the list */
		rc = pp_period_list_find(&f->list, p, s->symbol, s->length, NULL, NULL);
	if (rc == 0)
		rc = pp_period_times_init(&times, s->length);
	if (rc == 0)
		rc = f->list.steps ? choose_nest(capture, s, f, p, &times) : find_alike(s, &f->list);
	if (rc == 0 && f->list.steps && f->list.period == 1 && !f->rule.is_unsure)
		rc = choose_rhythm(capture, s, f, &times);
	if (rc == 0 && f->list.steps) {
		f->rule.is_uneven = is_uneven(s, &f->list, times.work);
		summarise(s, f);
	}
	pp_period_times_release(&times);
	return rc;
}

static void release(struct found *f)
{
	stream_release(&f->stream);
	pp_period_list_release(&f->list);
}

PP_COMPARE_BY(by_comm, struct candidate, comm)

PP_COMPARE(by_calls, struct candidate, PP_DOWN(calls) ?: PP_UP(comm))

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

/* What speaks for a stream: the elements of its patterns. */
static double weight(const struct found *f)
{
	return (double)f->rule.matched * (f->rule.is_alike || f->rule.is_unsure || f->rule.is_uneven ? 0.5 : 1);
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
		if (rc == 0 && (weight(&f) > weight(best) ||
		                (f.rule.matched && weight(&f) == weight(best) && f.stream.comm < best->stream.comm))) {
			release(best);
			*best = f;
		} else {
			release(&f);
		}
	}
	free(candidate);
	free(p);
	return rc;
}

double pp_period_rule_confidence(const struct pp_period_rule *rule)
{
	double times = rule->steps < MANY_TIMES ? 0.6 + 0.4 * (double)rule->steps / MANY_TIMES : 1;
	/* known evaluations do not lower the confidence, however many calls they have */
	double share = rule->is_between && rule->coverage < 0.9 ? 0.9 : rule->coverage;

	return 0.7 * share * times * (rule->patterns > 1 ? 0.9 : 1) * (rule->evicted ? 0.9 : 1) *
	       (rule->is_unsure || rule->is_uneven ? 0.5 : 1) * (rule->is_rounds || rule->is_alike ? 0.8 : 1) *
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
	rc = pp_period_times_init(&times, best.stream.length);
	for (size_t r = 0; rc == 0 && r < capture->ranks; r++) {
		const struct pp_rank *rank = &capture->rank[r];

		list[r].thread = rank_times(rank, &best.stream, &times);
		pp_period_list_time(&best.list, &times, &time);
		recorded += pp_recorded_time(rank);
		best.rule.evicted |= rank->horizon != INT64_MIN;
		rc = pp_period_list_mark(&best.list, &times, rank, &list[r]);
	}
	if (rc < 0)
		goto out;
	best.rule.time = recorded > 0 ? time.own / recorded : 0;
	best.rule.confidence = pp_period_rule_confidence(&best.rule);
	*ret_rule = best.rule;
	rc = 1;
out:
	pp_period_times_release(&times);
	release(&best);
	return rc;
}

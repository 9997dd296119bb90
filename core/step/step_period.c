/* The PERIOD rule: steps are the repeating pattern of a communicator's collectives; docs/steps.md. Called by step_mark.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/ring/record.h"
#include "core/source/mpi_call.h"
#include "core/step/mark_list.h"
#include "core/window/period.h"

struct stream { /* the collectives of one communicator, by sequence number from `low` on; the same for all ranks */
	uint64_t comm;
	uint32_t low;
	size_t length;
	uint32_t *symbol; /* [length]; PP_PERIOD_GAP where no rank knows */
};

struct period_step {
	size_t last;   /* index of its last collective: it ends where this one ends */
	size_t before; /* it begins where this one ends; SIZE_MAX: nothing was before */
};

struct found { /* steps of the best stream */
	struct period_step *step;
	size_t steps, room;
	struct stream stream;
	struct pp_period_rule rule;
};

/* Next collective of `comm` on this thread from *at on, its call or its completion; NULL at the end. */
static const struct pp_span *next_of(const struct pp_thread *thread, size_t *at, uint64_t comm)
{
	while (*at < thread->spans) {
		const struct pp_span *span = &thread->span[(*at)++];

		if ((span->kind == PP_SPAN_MPI || span->kind == PP_SPAN_REQUEST) && span->comm == comm &&
		    pp_mpi_call_is_collective(span->call))
			return span;
	}
	return NULL;
}

static int has_calls(const struct pp_thread *thread)
{
	return pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_MPI));
}

/* A call that failed on one rank says nothing of the others'. */
static uint32_t symbol_of(const struct pp_span *span)
{
	uint64_t bytes = span->sent > span->received ? span->sent : span->received;

	if (span->flags & PP_SPAN_FAILED)
		return PP_PERIOD_GAP;
	return pp_period_symbol(span->call, pp_mpi_call_joins_data(span->call), span->peer,
	                        pp_mpi_call_has_equal_bytes(span->call) ? bytes : 0);
}

/* From the first number that every rank has, where it has any (records may have been evicted), to the last of any. Numbers that
 * jump further than there are calls are damage: then there is no stream. */
static int find_limits(const struct pp_capture *capture, struct stream *s)
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
				first = span->sequence < first ? span->sequence : first;
				high = span->sequence > high ? span->sequence : high;
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

/* Symbols of all ranks, each number once. Where two ranks differ the stream ends: they did not do the same from there on. */
static int fill_stream(const struct pp_capture *capture, struct stream *s)
{
	s->symbol = calloc(s->length + 1, sizeof(*s->symbol));
	if (!s->symbol)
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

				if (span->kind != PP_SPAN_MPI || symbol == PP_PERIOD_GAP || span->sequence < s->low ||
				    span->sequence - s->low >= s->length)
					continue;
				place = &s->symbol[span->sequence - s->low];
				if (*place != PP_PERIOD_GAP && *place != symbol)
					s->length = span->sequence - s->low;
				else
					*place = symbol;
			}
		}
	}
	return 0;
}

static int add_step(struct found *f, size_t first, size_t last)
{
	if (f->steps == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct period_step *more = realloc(f->step, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		f->step = more;
		f->room = room;
	}
	f->step[f->steps++] = (struct period_step){.last = last, .before = first ? first - 1 : SIZE_MAX};
	return 0;
}

/* Feed a stream; the steps that it has, and how well they cover it. */
static int find_steps(struct found *f, struct pp_period *p)
{
	uint64_t first = 0;

	pp_period_init(p);
	for (size_t i = 0; i < f->stream.length; i++) {
		enum pp_period_event event = pp_period_feed(p, f->stream.symbol[i]);

		if (event == PP_PERIOD_FOUND) {
			if (p->found == 1)
				first = p->start;
			for (uint64_t n = 0; n < p->steps; n++)
				if (add_step(f, p->start + n * p->period, p->start + (n + 1) * p->period - 1) < 0)
					return -ENOMEM;
			f->rule.period = p->period;
		} else if (event == PP_PERIOD_STEP &&
		           add_step(f, p->steps == 1 ? p->start : f->step[f->steps - 1].last + 1, i) < 0) {
			return -ENOMEM;
		}
	}
	f->rule.patterns = p->found;
	f->rule.matched = p->matched;
	f->rule.irregular = p->last_end > first ? p->last_end - first - p->matched : 0;
	f->rule.coverage = p->last_end > first ? (double)p->matched / (double)(p->last_end - first) : 0;
	return 0;
}

/* The stream of all streams whose patterns cover most collectives; at a tie the lower communicator. */
static int best_stream(const struct pp_capture *capture, const struct pp_rank *known, struct found *best)
{
	struct pp_period *p = malloc(sizeof(*p));
	int rc = p ? 0 : -ENOMEM;

	for (size_t i = 0; i < known->comms && rc == 0; i++) {
		const struct pp_comm *c = &known->comm[i];
		struct found f = {.stream = {.comm = c->id}};

		if (c->kind != PP_COMM_MEMBERS || (int64_t)c->size != capture->ranks_asked || !find_limits(capture, &f.stream))
			continue;
		f.rule.comm_name = c->name;
		rc = fill_stream(capture, &f.stream);
		if (rc == 0)
			rc = find_steps(&f, p);
		free(f.stream.symbol);
		f.stream.symbol = NULL;
		if (rc == 0 && (f.rule.matched > best->rule.matched ||
		                (f.rule.matched && f.rule.matched == best->rule.matched && c->id < best->stream.comm))) {
			free(best->step);
			*best = f;
		} else {
			free(f.step);
		}
	}
	free(p);
	return rc;
}

struct times { /* of one rank, by index of the stream; INT64_MIN: not known */
	int64_t *begin, *end;
};

/* When each collective of the stream began and was seen to end, but not after the next began. Returns the thread with most. */
static uint32_t rank_times(const struct pp_rank *rank, const struct stream *s, struct times *times)
{
	size_t most = 0;
	uint32_t best = 0;

	for (size_t i = 0; i < s->length; i++)
		times->begin[i] = times->end[i] = INT64_MIN;
	for (uint32_t t = 0; t < rank->threads; t++) {
		const struct pp_span *span;
		size_t at = 0, calls = 0;

		while (has_calls(&rank->thread[t]) && (span = next_of(&rank->thread[t], &at, s->comm))) {
			size_t i = span->sequence - s->low;

			if (span->sequence < s->low || i >= s->length || (span->flags & PP_SPAN_CUT_END))
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

/* Marks of one rank. Its first step, where nothing stands before it, begins with the rank's records and is not complete; so is
 * what follows the last one. */
static int fill_marks(const struct pp_rank *rank, const struct found *f, struct times *times, struct pp_marks *list)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	list->thread = rank_times(rank, &f->stream, times);
	for (size_t t = 0; t < rank->threads; t++) {
		first = rank->thread[t].spans && rank->thread[t].first < first ? rank->thread[t].first : first;
		last = rank->thread[t].spans && rank->thread[t].last > last ? rank->thread[t].last : last;
	}
	for (size_t i = 0; i <= f->steps; i++) {
		const struct period_step *step = &f->step[i < f->steps ? i : f->steps - 1];
		size_t before = i < f->steps ? step->before : step->last;
		struct pp_mark mark = {.number = (int64_t)i, .begin = INT64_MIN};

		mark.end = i < f->steps ? times->end[step->last] : last;
		if (before != SIZE_MAX)
			mark.begin = times->end[before];
		mark.complete = i < f->steps && mark.begin != INT64_MIN && mark.begin >= rank->horizon;
		if (mark.begin == INT64_MIN && i == 0)
			mark.begin = first;
		if (mark.begin == INT64_MIN || mark.end <= mark.begin)
			continue;
		if (pp_marks_add(list, &mark) < 0)
			return -ENOMEM;
	}
	return 0;
}

int pp_period_rule_find(const struct pp_capture *capture, struct pp_marks *list, struct pp_period_rule *ret_rule)
{
	struct found best = {0};
	struct times times = {0};
	size_t known = 0;
	int rc;

	while (known < capture->ranks && !capture->rank[known].comms)
		known++;
	rc = known < capture->ranks ? best_stream(capture, &capture->rank[known], &best) : 0;
	if (rc < 0 || !best.step || best.rule.coverage < PP_PERIOD_RULE_COVERAGE)
		goto out;
	rc = -ENOMEM;
	times.begin = calloc(best.stream.length + 1, sizeof(*times.begin));
	times.end = calloc(best.stream.length + 1, sizeof(*times.end));
	if (!times.begin || !times.end)
		goto out;
	for (size_t r = 0; r < capture->ranks; r++)
		if (fill_marks(&capture->rank[r], &best, &times, &list[r]) < 0)
			goto out;
	*ret_rule = best.rule;
	for (size_t r = 0; r < capture->ranks; r++)
		ret_rule->evicted |= capture->rank[r].horizon != INT64_MIN;
	rc = 1;
out:
	free(times.begin);
	free(times.end);
	free(best.step);
	return rc;
}

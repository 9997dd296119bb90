/* Finds slow steps; see slow.h. */
#include "aggregate/keeper/capture/slow.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/capture/request_ranks.h"
#include "core/base/compare.h"
#include "core/base/now.h"
#include "core/base/plain.h"
#include "core/base/units.h"
#include "core/capture/side.h"

enum {
	GAP_MS = 60000,   /* between two windows */
	WAIT_MS = 5000,   /* for ranks that have not ended the step */
	SLACK_NS = 10000, /* ticks become ns and ticks again */
	GAP_STEPS = 2,    /* a slow step makes its neighbours slow on ranks that wait */
};

#define SPAN_NS 3600000000000 /* in another keeper's line: no keeper holds more */

/* The rank's median step; 0: it has not ended enough steps. */
static int64_t usual(const struct pp_slow_rank *r)
{
	size_t n = r->steps < PP_SLOW_STEPS ? (size_t)r->steps : PP_SLOW_STEPS;
	int64_t sorted[PP_SLOW_STEPS];

	if (r->steps < PP_SLOW_LEAST)
		return 0;
	memcpy(sorted, r->ticks, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), pp_compare_int64);
	return sorted[n / 2];
}

static int more_ranks(struct pp_slow *s, size_t rings)
{
	struct pp_slow_rank *more = rings > s->ranks ? realloc(s->rank, rings * sizeof(*more)) : s->rank;

	if (!more && rings)
		return -1;
	if (rings > s->ranks)
		memset(more + s->ranks, 0, (rings - s->ranks) * sizeof(*more));
	s->rank = more;
	s->ranks = rings > s->ranks ? rings : s->ranks;
	return 0;
}

static double seconds(const struct pp_timestamp_pair *origin, const struct pp_ring_header *h, int64_t ticks)
{
	struct pp_timestamp_pair now = pp_timestamp_pair_now();

	return (double)pp_timestamp_pair_since(&now, origin, h, pp_timestamp_pair_tick(&now, h) - ticks) / 1e9;
}

static void is_slow(struct pp_slow *s, const struct pp_ring_header *h, const struct pp_timestamp_pair *origin,
                    const struct pp_step_ended *step, int64_t median)
{
	int64_t now = pp_now_ms();

	if (s->last_step != INT64_MIN && step->number <= s->last_step + GAP_STEPS && step->number >= s->last_step - GAP_STEPS)
		return;
	s->last_step = step->number;
	if (s->found || (s->last_ms && now - s->last_ms < GAP_MS)) {
		s->counted++;
		return;
	}
	s->found = 1;
	s->step = step->number;
	s->of_rank = h->rank;
	s->since_ms = s->last_ms = now;
	s->seconds = seconds(origin, h, step->end - step->begin);
	s->usual_seconds = seconds(origin, h, median);
}

static void check_ring(struct pp_slow *s, const struct pp_rings *rings, const struct pp_timestamp_pair *origin, size_t i)
{
	struct pp_slow_rank *r = &s->rank[i];
	uint64_t ended = pp_rings_steps(rings, i);

	if (ended - r->next > PP_STEPS_ENDED) /* may warn null-dereference: there is a row for each ring */
		r->next = ended - PP_STEPS_ENDED;
	for (; r->next < ended; r->next++) {
		const struct pp_step_ended *step = pp_rings_step(rings, i, r->next);
		int64_t took = step->end - step->begin, median = usual(r);

		if (median && took / 1000 > median * s->thousandths / 1000000)
			is_slow(s, pp_rings_header(rings, i), origin, step, median);
		r->ticks[r->steps++ % PP_SLOW_STEPS] = took;
	}
}

/* Has every running rank ended step `number`? */
static int all_through(struct pp_spool_view *v, const struct pp_rings *rings, int64_t number)
{
	for (size_t i = 0; i < pp_spool_count(v); i++) {
		uint64_t ended = pp_rings_steps(rings, i);
		const struct pp_step_ended *last = ended ? pp_rings_step(rings, i, ended - 1) : NULL;

		if (pp_requests_counts(v, i) && (!last || last->number < number))
			return 0;
	}
	return 1;
}

/* Fixes the range: from the first begin of the step in front to the last end of the step behind, as far as ranks have them. */
static void freeze(const struct pp_slow *s, const struct pp_rings *rings, const struct pp_timestamp_pair *origin,
                   struct pp_request_span *span)
{
	struct pp_timestamp_pair now = pp_timestamp_pair_now();
	char took[PP_TEXT_UNIT], usual[PP_TEXT_UNIT];
	int64_t from_ns = 0, to_ns = INT64_MAX;

	*span = (struct pp_request_span){.first = s->step - PP_SLOW_BEFORE, .last = s->step + PP_SLOW_BEHIND + 1};
	for (size_t i = 0; i < pp_rings_count(rings); i++)
		for (uint64_t n = pp_rings_steps(rings, i); n-- > 0;) {
			const struct pp_step_ended *step = pp_rings_step(rings, i, n);
			const struct pp_ring_header *h = pp_rings_header(rings, i);
			int64_t began, ended;

			if (!step || step->number < span->first - 1)
				break;
			if (step->number > span->last)
				continue;
			began = pp_timestamp_pair_since(&now, origin, h, step->begin);
			ended = pp_timestamp_pair_since(&now, origin, h, step->end);
			from_ns = began > from_ns ? began : from_ns;
			to_ns = ended < to_ns ? ended : to_ns;
		}
	span->to = pp_timestamp_pair_before(&now, origin, to_ns > SLACK_NS && to_ns < INT64_MAX ? to_ns - SLACK_NS : 0);
	span->from = pp_timestamp_pair_before(&now, origin, from_ns + SLACK_NS);
	snprintf(span->what, sizeof(span->what), "step %" PRId64 " of rank %d took %s, %.1f times its median of %s", s->step,
	         (int)s->of_rank, pp_text_time(took, llround(s->seconds * 1e9)), s->seconds / s->usual_seconds,
	         pp_text_time(usual, llround(s->usual_seconds * 1e9)));
}

int pp_slow_run(struct pp_slow *s, struct pp_spool_view *v, const struct pp_rings *rings, const struct pp_timestamp_pair *origin,
                int ending, struct pp_request_span *ret_span)
{
	if (!s->thousandths || more_ranks(s, pp_spool_count(v)))
		return 0;
	for (size_t i = 0; i < s->ranks; i++)
		check_ring(s, rings, origin, i);
	if (!s->found || (!ending && !all_through(v, rings, s->step + PP_SLOW_BEHIND + 1) && pp_now_ms() - s->since_ms < WAIT_MS))
		return 0;
	s->found = 0;
	freeze(s, rings, origin, ret_span);
	return 1;
}

void pp_slow_release(struct pp_slow *s)
{
	free(s->rank);
	*s = (struct pp_slow){.thousandths = 0};
}

void pp_slow_line(const struct pp_request_span *span, char *line, size_t size)
{
	struct pp_timestamp_pair now = pp_timestamp_pair_now();

	snprintf(line, size, PP_SLOW_PREFIX "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s", span->first, span->last,
	         now.raw_ns - span->from.raw_ns, now.raw_ns - span->to.raw_ns, span->what);
}

int pp_slow_receive(struct pp_slow *s, const struct pp_timestamp_pair *origin, const char *line, struct pp_request_span *ret_span)
{
	struct pp_timestamp_pair now = pp_timestamp_pair_now();
	int64_t first, last, from, to, step;
	int what = 0;

	if (sscanf(line, PP_SLOW_PREFIX "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %n", &first, &last, &from, &to, &what) !=
	            4 ||
	    !what || first <= INT64_MIN / 2 || last >= INT64_MAX / 2 || first >= last || to < 0 || from < to || from > SPAN_NS)
		return 0;
	step = last - PP_SLOW_BEHIND - 1;
	if (s->found || (s->last_step != INT64_MIN && step <= s->last_step + GAP_STEPS && step >= s->last_step - GAP_STEPS))
		return 0;
	s->last_step = step;
	if (s->last_ms && pp_now_ms() - s->last_ms < GAP_MS) {
		s->counted++;
		return 0;
	}
	s->last_ms = pp_now_ms();
	*ret_span = (struct pp_request_span){.first = first, .last = last};
	ret_span->from = pp_timestamp_pair_before(&now, origin, from);
	ret_span->to = pp_timestamp_pair_before(&now, origin, to);
	snprintf(ret_span->what, sizeof(ret_span->what), "%s", line + what);
	pp_plain(ret_span->what, "");
	return 1;
}

/* The RANGE rule: a repeating range of the step thread is the step; docs/steps.md. Called by step_mark.c. */
#include "core/step/step_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/mark_list.h"

enum {
	DEPTHS = 3,      /* a range is inside fewer others than this (main, epoch) */
	FEWEST = 3,      /* occurrences on every rank */
	CANDIDATES = 512 /* names examined per rank and depth: more is no repeating step */
};

struct candidate {
	uint32_t name;
	size_t count;
	int64_t covered, first, last, number;
	int numbered; /* every occurrence has a number, and it counts up */
};

struct base { /* name without its number, per intern id: computed once */
	uint32_t name;
	uint8_t known, numbered;
	int64_t number;
};

struct bases {
	struct pp_intern *names;
	struct base *base;
	size_t room;
};

/* "step 12" and "step 12 ##" are "step" number 12; "layer1" and "12" are themselves. */
static void split_name(struct pp_intern *names, uint32_t id, struct base *ret_base)
{
	size_t length, digits = 0, stem;
	const char *text = pp_intern_text(names, id, &length);
	int64_t number = 0;

	*ret_base = (struct base){.name = id, .known = 1};
	while (length > 0 && strchr(" #=-*~|>", text[length - 1])) /* '\0' too */
		length--;
	while (digits < length && text[length - 1 - digits] >= '0' && text[length - 1 - digits] <= '9')
		digits++;
	if (digits == 0 || digits > 18 || digits == length || !strchr(" _#:=/-.", text[length - 1 - digits]))
		return;
	for (size_t i = length - digits; i < length; i++)
		number = number * 10 + (text[i] - '0');
	stem = length - digits;
	while (stem > 0 && strchr(" _#:=/-.", text[stem - 1]))
		stem--;
	if (stem == 0)
		return;
	ret_base->name = pp_intern_put(names, text, stem);
	ret_base->numbered = ret_base->name != 0;
	ret_base->number = number;
	if (!ret_base->name)
		ret_base->name = id;
}

static const struct base *base_of(struct bases *b, uint32_t id)
{
	static const struct base none;

	if (id >= b->room) /* only names that split_name() made: no range has them */
		return &none;
	if (!b->base[id].known)
		split_name(b->names, id, &b->base[id]);
	return &b->base[id];
}

/* A library's calls are no steps, and do not count as ranges around others. */
static int is_range_of_program(const struct pp_rank *rank, const struct pp_span *span)
{
	return span->kind == PP_SPAN_RANGE && !(span->range.domain < 64 && (rank->library_domains >> span->range.domain & 1));
}

/* The main thread where it has ranges, else the thread with most spans. */
static uint32_t step_thread(const struct pp_rank *rank)
{
	uint32_t best = 0;
	size_t most = 0;

	for (uint32_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];
		size_t ranges = 0;

		for (size_t i = 0; i < thread->spans && thread->is_main && !ranges; i++)
			ranges += is_range_of_program(rank, &thread->span[i]);
		if (ranges)
			return t;
		if (thread->spans > most) {
			most = thread->spans;
			best = t;
		}
	}
	return best;
}

/* Next span from *at that is a range inside exactly `depth` others; NULL at the end. ends[] are those around it. */
static const struct pp_span *next_at_depth(const struct pp_rank *rank, const struct pp_thread *thread, size_t *at, int depth,
                                           int64_t ends[DEPTHS])
{
	for (; *at < thread->spans; (*at)++) {
		const struct pp_span *span = &thread->span[*at];
		int around = 0;

		if (!is_range_of_program(rank, span) || span->end <= span->begin)
			continue;
		while (around < DEPTHS && ends[around] > span->begin)
			around++;
		if (around == DEPTHS)
			continue;
		ends[around] = span->end;
		for (int i = around + 1; i < DEPTHS; i++)
			ends[i] = INT64_MIN;
		if (around != depth)
			continue;
		(*at)++;
		return span;
	}
	return NULL;
}

static void reset_ends(int64_t ends[DEPTHS])
{
	for (int i = 0; i < DEPTHS; i++)
		ends[i] = INT64_MIN;
}

static int is_whole(const struct pp_span *span, int64_t horizon)
{
	return !(span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)) && span->begin >= horizon;
}

static size_t list_candidates(const struct pp_rank *rank, int depth, int64_t horizon, struct bases *bases, struct candidate *list)
{
	size_t at = 0, n = 0, i;
	int64_t ends[DEPTHS];
	const struct pp_span *span;
	const struct pp_thread *thread;

	if (!rank->threads)
		return 0;
	thread = &rank->thread[step_thread(rank)];
	reset_ends(ends);
	while ((span = next_at_depth(rank, thread, &at, depth, ends))) {
		const struct base *base = base_of(bases, span->name);

		if (!is_whole(span, horizon))
			continue;
		for (i = 0; i < n && list[i].name != base->name; i++)
			;
		if (i == CANDIDATES)
			continue;
		if (i == n)
			list[n++] =
			        (struct candidate){.name = base->name, .first = span->begin, .numbered = 1, .number = INT64_MIN};
		list[i].numbered &= base->numbered && base->number > list[i].number;
		list[i].number = base->number;
		list[i].count++;
		list[i].covered += span->end - span->begin;
		list[i].last = span->end;
	}
	return n;
}

/* Keep in `all` the candidates that `one` has too, with the worse values of both. */
static size_t keep_common(struct candidate *all, size_t n, const struct candidate *one, size_t ones, struct pp_range_rule *quality)
{
	size_t remaining = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < ones; k++) {
			double coverage;
			size_t few, many;

			if (one[k].name != all[i].name || one[k].count < FEWEST)
				continue;
			few = one[k].count < all[i].count ? one[k].count : all[i].count;
			many = one[k].count < all[i].count ? all[i].count : one[k].count;
			coverage = (double)one[k].covered / (double)(one[k].last - one[k].first);
			quality[remaining] = quality[i];
			if (coverage < quality[remaining].coverage)
				quality[remaining].coverage = coverage;
			if (many - few > 1 && (double)few / (double)many < quality[remaining].balance)
				quality[remaining].balance = (double)few / (double)many;
			all[i].numbered &= one[k].numbered;
			all[i].covered += one[k].covered;
			all[remaining++] = all[i];
			break;
		}
	}
	return remaining;
}

/* Ranges that the program numbers need not cover most of the run. */
static double confidence(const struct pp_range_rule *rule)
{
	double c = (rule->numbered ? 0.9 : 0.8) * rule->coverage * rule->balance;

	for (int i = 0; i < rule->depth; i++)
		c *= 0.9;
	if (!rule->numbered)
		c *= (rule->evicted ? 0.9 : 1) * (rule->time < PP_RANGE_TIME ? rule->time : 1);
	return c;
}

/* The candidate of one depth that covers most time on all ranks, among those with enough confidence (else among all); 0 where
 * none has it on every rank with ranges. */
static int best_at_depth(const struct pp_capture *capture, int depth, int64_t horizon, double recorded, struct bases *bases,
                         struct candidate *work, struct pp_range_rule *quality, struct pp_range_rule *ret_rule)
{
	struct candidate *all = work, *one = work + CANDIDATES;
	size_t n = 0, best = 0, remaining = 0;
	int have = 0, have_sure = 0;

	for (size_t r = 0; r < capture->ranks; r++) {
		size_t ones = list_candidates(&capture->rank[r], depth, horizon, bases, one);

		if (!ones)
			continue;
		if (!have) {
			for (size_t i = 0; i < ones; i++) {
				all[i] = one[i];
				all[i].covered = 0;
				quality[i] = (struct pp_range_rule){.coverage = 1, .balance = 1};
			}
			n = ones;
			have = 1;
		}
		remaining = keep_common(all, n, one, ones, quality);
		n = remaining;
	}
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		quality[i].name = all[i].name;
		quality[i].numbered = all[i].numbered;
		quality[i].depth = depth;
		quality[i].count = all[i].count;
		quality[i].time = recorded > 0 ? (double)all[i].covered / recorded : 0;
		quality[i].evicted = horizon != INT64_MIN;
		quality[i].confidence = confidence(&quality[i]);
		if (quality[i].confidence >= PP_GUESS_CONFIDENCE && (!have_sure || all[i].covered > all[best].covered))
			best = i;
		else if (!have_sure && all[i].covered > all[best].covered)
			best = i;
		have_sure |= quality[i].confidence >= PP_GUESS_CONFIDENCE;
	}
	if (have_sure || !ret_rule->name)
		*ret_rule = quality[best];
	return have_sure;
}

static int fill_marks(const struct pp_rank *rank, const struct pp_range_rule *rule, int64_t horizon, struct bases *bases,
                      struct pp_marks *list)
{
	size_t at = 0;
	int64_t ends[DEPTHS], ordinal = 0;
	const struct pp_span *span;

	if (!rank->threads)
		return 0;
	list->thread = step_thread(rank);
	reset_ends(ends);
	while ((span = next_at_depth(rank, &rank->thread[list->thread], &at, rule->depth, ends))) {
		const struct base *base = base_of(bases, span->name);
		struct pp_mark mark = {.begin = span->begin, .end = span->end, .complete = (uint8_t)is_whole(span, horizon)};
		struct pp_mark *last = list->marks ? &list->mark[list->marks - 1] : NULL;

		if (base->name != rule->name || (rule->evicted && !rule->numbered && span->begin < horizon))
			continue;
		mark.number = rule->numbered ? base->number : ordinal++;
		if (last && mark.number <= last->number) /* clipped at the edge: without a place */
			continue;
		if (pp_marks_add(list, &mark) < 0)
			return -ENOMEM;
	}
	return 0;
}

int pp_range_rule_find(const struct pp_capture *capture, struct pp_marks *list, struct pp_range_rule *ret_rule)
{
	struct bases bases = {.names = capture->names, .room = pp_intern_count(capture->names)};
	struct candidate *work = calloc(2 * CANDIDATES, sizeof(*work));
	struct pp_range_rule *quality = calloc(CANDIDATES, sizeof(*quality));
	int64_t horizon = INT64_MIN;
	double recorded = 0;
	int rc = -ENOMEM;

	bases.base = calloc(bases.room + 1, sizeof(*bases.base));
	if (!work || !quality || !bases.base)
		goto out;
	/* Ordinals count from one instant on all ranks, so the latest horizon holds for all. */
	for (size_t r = 0; r < capture->ranks; r++)
		if (capture->rank[r].horizon > horizon)
			horizon = capture->rank[r].horizon;
	for (size_t r = 0; r < capture->ranks; r++)
		recorded += pp_recorded_time(&capture->rank[r]);
	*ret_rule = (struct pp_range_rule){0};
	rc = 0;
	for (int depth = 0; depth < DEPTHS && rc == 0; depth++)
		rc = best_at_depth(capture, depth, horizon, recorded, &bases, work, quality, ret_rule);
	if (rc == 0)
		goto out;
	for (size_t r = 0; r < capture->ranks && rc == 1; r++)
		if (fill_marks(&capture->rank[r], ret_rule, horizon, &bases, &list[r]) < 0)
			rc = -ENOMEM;
out:
	free(bases.base);
	free(quality);
	free(work);
	return rc;
}

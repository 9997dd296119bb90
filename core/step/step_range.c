/* The RANGE rule: a repeating range of the program is the step; docs/steps.md. Called by step_mark.c. */
#include "core/step/step_range.h"

#include <errno.h>
#include <stdlib.h>

#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/classify.h"
#include "core/step/mark_list.h"
#include "core/step/step_device.h"
#include "core/step/step_name.h"
#include "core/step/step_optimizer.h"

enum {
	DEPTHS = 3,       /* a range is inside fewer others than this (main, epoch) */
	FEWEST = 3,       /* occurrences on every rank */
	ITERATIONS = 2,   /* the same of an iteration that is known by its name */
	ROUNDS = 2,       /* as often must numbers come in the same order, to tell parts of a step apart */
	CANDIDATES = 512, /* names examined per rank and depth: more is no repeating step */
	SPLITS = 64,      /* stems whose numbers do */
	KINDS = 8,        /* of known iterations */
};

struct candidate {
	uint32_t name, stem;
	size_t count;
	int64_t covered, first, last, number;
	int numbered; /* every occurrence has a number, and it counts up */
	int varies;   /* its numbers do */
	int is_ordered, may_be_parts;
	size_t names, distance; /* that it has had; between two occurrences of one name, always the same while is_ordered */
};

struct base { /* name without its numbers, per intern id: computed once */
	struct pp_step_name of;
	uint8_t known;
	uint8_t is_function; /* of a library or framework, whoever made the range */
	uint32_t pass;       /* in which `place` was set: of one rank and depth */
	uint32_t place;      /* of its last occurrence among those of the stem */
};

struct search {
	const struct pp_capture *capture;
	const struct pp_optimizers *optimizers;
	struct base *base;
	size_t room;
	uint32_t split[SPLITS], iteration[KINDS], pass;
	size_t splits, iterations;
	uint32_t *thread;            /* [ranks] */
	int requests;                /* steps may wait for each other */
	struct candidate *all, *one; /* [CANDIDATES] */
	struct pp_range_rule *quality;
	int64_t horizon;
	double recorded;
};

static void add_iteration(struct search *s, uint32_t stem)
{
	size_t i = 0;

	while (i < s->iterations && s->iteration[i] != stem)
		i++;
	if (i == s->iterations && i < KINDS)
		s->iteration[s->iterations++] = stem;
}

static const struct base *base_of(struct search *s, uint32_t id)
{
	static const struct base none;
	struct base *b = id < s->room ? &s->base[id] : NULL; /* else only names that pp_step_name() made: no range has them */
	const char *text;
	size_t length;

	if (!b)
		return &none;
	if (b->known)
		return b;
	b->known = 1;
	b->of = pp_step_name(s->capture->names, id);
	text = pp_intern_text(s->capture->names, id, &length);
	b->is_function = pp_category_of(PP_ORIGIN_PROGRAM, text, length).by == PP_BY_NAME;
	for (size_t i = 0; i < s->splits; i++)
		if (b->of.stem == s->split[i])
			b->of = (struct pp_step_name){.stem = id};
	if (b->of.word == PP_STEP_WORD_ITERATION)
		add_iteration(s, b->of.stem);
	return b;
}

/* Numbers that come in the same order over and over are names: of layers, of stages. */
static void split(struct search *s, uint32_t stem)
{
	s->split[s->splits++] = stem;
	for (size_t id = 0; id < s->room; id++)
		if (s->base[id].known && s->base[id].of.stem == stem)
			s->base[id].of = (struct pp_step_name){.stem = (uint32_t)id};
}

/* What others than the program made is no step, and does not count as a range around others. */
static int is_range_of_program(struct search *s, const struct pp_span *span)
{
	const struct base *b;

	if (span->kind != PP_SPAN_RANGE || span->range.origin != PP_ORIGIN_PROGRAM)
		return 0;
	b = base_of(s, span->name);
	return !b->is_function && b->of.word != PP_STEP_WORD_PART;
}

/* The main thread where it has ranges of the program, else the thread with most of them. Looks at all names. */
static uint32_t step_thread(struct search *s, const struct pp_rank *rank)
{
	uint32_t best = 0, main = UINT32_MAX;
	size_t most = 0;

	for (uint32_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];
		size_t ranges = 0;

		for (size_t i = 0; !thread->device && pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_RANGE)) && i < thread->spans;
		     i++)
			ranges += is_range_of_program(s, &thread->span[i]);
		if (ranges && thread->is_main && main == UINT32_MAX)
			main = t;
		if (ranges > most) {
			most = ranges;
			best = t;
		}
	}
	return main != UINT32_MAX ? main : best;
}

struct place { /* where a pass over the ranges of one depth is */
	const struct pp_thread *thread;
	size_t at;
	int depth;
	int64_t ends[DEPTHS]; /* of those around */
};

static struct place begin_pass(const struct search *s, size_t r, int depth)
{
	const struct pp_rank *rank = &s->capture->rank[r];
	struct place p = {.thread = rank->threads ? &rank->thread[s->thread[r]] : NULL, .depth = depth};

	for (int i = 0; i < DEPTHS; i++)
		p.ends[i] = INT64_MIN;
	return p;
}

/* The next range inside exactly `depth` others; NULL at the end. */
static const struct pp_span *next_at_depth(struct search *s, struct place *p)
{
	for (; p->thread && p->at < p->thread->spans; p->at++) {
		const struct pp_span *span = &p->thread->span[p->at];
		int around = 0;

		if (!is_range_of_program(s, span) || span->end <= span->begin)
			continue;
		while (around < DEPTHS && p->ends[around] > span->begin)
			around++;
		if (around == DEPTHS)
			continue;
		p->ends[around] = span->end;
		for (int i = around + 1; i < DEPTHS; i++)
			p->ends[i] = INT64_MIN;
		if (around != p->depth)
			continue;
		p->at++;
		return span;
	}
	return NULL;
}

static int is_whole(const struct pp_span *span, int64_t horizon)
{
	return !(span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)) && span->begin >= horizon;
}

/* Does this name come at an equal distance each time, and no new one in between? */
static void see_order(struct search *s, struct candidate *c, uint32_t id)
{
	struct base *b = &s->base[id];
	const size_t distance = b->pass == s->pass ? c->count - b->place : 0;

	if (!distance) {
		c->is_ordered &= !c->distance;
		c->names++;
	} else {
		c->is_ordered &= !c->distance || c->distance == distance;
		c->distance = distance;
	}
	b->pass = s->pass;
	b->place = (uint32_t)c->count;
}

static int is_parts(const struct candidate *c)
{
	return c->may_be_parts && c->is_ordered && c->names > 1 && c->names == c->distance && c->count >= ROUNDS * c->names;
}

static size_t list_candidates(struct search *s, size_t r, int depth, struct candidate *list)
{
	struct place p = begin_pass(s, r, depth);
	const struct pp_span *span;
	size_t n = 0, i;

	s->pass++;
	while ((span = next_at_depth(s, &p))) {
		const struct pp_step_name *of = &base_of(s, span->name)->of;

		if (!is_whole(span, s->horizon))
			continue;
		for (i = 0; i < n && list[i].stem != of->stem; i++)
			;
		if (i == CANDIDATES)
			continue;
		if (i == n)
			list[n++] = (struct candidate){.name = span->name,
			                               .stem = of->stem,
			                               .first = span->begin,
			                               .numbered = 1,
			                               .is_ordered = 1,
			                               .may_be_parts = of->may_be_parts,
			                               .number = INT64_MIN};
		if (of->may_be_parts)
			see_order(s, &list[i], span->name);
		list[i].numbered &= of->numbered && of->number > list[i].number;
		list[i].varies |= of->numbered || list[i].name != span->name;
		list[i].number = of->number;
		list[i].count++;
		list[i].covered += span->end - span->begin;
		list[i].last = span->end;
	}
	return n;
}

/* Share of the time from begin to end in which the process had a core, by the keeper's readings in it; 0: unknown. */
static double cpu_share(const struct pp_rank *rank, int64_t begin, int64_t end)
{
	const struct pp_memory *first = NULL, *last = NULL;
	double cpu;

	for (size_t i = 0; i < rank->memories; i++) {
		if (rank->memory[i].time < begin || rank->memory[i].time > end)
			continue;
		first = first ? first : &rank->memory[i];
		last = &rank->memory[i];
	}
	if (!first || last->time <= first->time)
		return 0;
	cpu = (double)(last->user_ns + last->system_ns) - (double)(first->user_ns + first->system_ns);
	return cpu > 0 ? cpu / (double)(last->time - first->time) : 0;
}

/* Keep in `all` the candidates that `one` has too, with the worse values of both. */
static size_t keep_common(struct candidate *all, size_t n, const struct candidate *one, size_t ones, const struct pp_rank *rank,
                          struct pp_range_rule *quality)
{
	size_t remaining = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < ones; k++) {
			double coverage, work, cpu;
			size_t few, many;

			if (one[k].stem != all[i].stem || one[k].count < FEWEST)
				continue;
			few = one[k].count < all[i].count ? one[k].count : all[i].count;
			many = one[k].count < all[i].count ? all[i].count : one[k].count;
			coverage = (double)one[k].covered / (double)(one[k].last - one[k].first);
			quality[remaining] = quality[i];
			if (coverage < quality[remaining].coverage)
				quality[remaining].coverage = coverage;
			cpu = cpu_share(rank, one[k].first, one[k].last);
			work = cpu > coverage ? coverage / cpu : cpu > 0;
			if (work < quality[remaining].work)
				quality[remaining].work = work;
			if (many - few > 1 && (double)few / (double)many < quality[remaining].balance)
				quality[remaining].balance = (double)few / (double)many;
			all[i].numbered &= one[k].numbered;
			all[i].varies |= one[k].varies || one[k].name != all[i].name;
			all[i].covered += one[k].covered;
			all[remaining++] = all[i];
			break;
		}
	}
	return remaining;
}

/* Ranges that the program numbers need not cover most of the run. */
static double confidence(const struct pp_range_rule *rule, int requests)
{
	double c = (rule->numbered ? 0.9 : 0.8) * (requests ? rule->work : rule->coverage) * rule->balance;

	for (int i = 0; i < rule->depth; i++)
		c *= 0.9;
	if (!rule->numbered)
		c *= (rule->evicted ? 0.9 : 1) * (rule->time < PP_RANGE_TIME && !requests ? rule->time : 1);
	return c;
}

/* Lists in s->all and s->quality what every rank with ranges has at this depth. How many. */
/* NOLINTNEXTLINE(misc-no-recursion): once more at most, after a stem was split */
static size_t list_common(struct search *s, int depth)
{
	size_t n = 0;
	int have = 0;

	for (size_t r = 0; r < s->capture->ranks; r++) {
		size_t ones = list_candidates(s, r, depth, s->one);
		size_t before = s->splits;

		for (size_t i = 0; i < ones && s->splits < SPLITS; i++)
			if (is_parts(&s->one[i]))
				split(s, s->one[i].stem);
		if (s->splits > before)
			return list_common(s, depth);
		if (!ones)
			continue;
		for (size_t i = 0; i < ones && !have; i++) {
			s->all[i] = s->one[i];
			s->all[i].covered = 0;
			s->quality[i] = (struct pp_range_rule){.coverage = 1, .work = 1, .balance = 1};
		}
		n = keep_common(s->all, have ? n : ones, s->one, ones, &s->capture->rank[r], s->quality);
		have = 1;
	}
	for (size_t i = 0; i < n; i++) {
		struct pp_range_rule *q = &s->quality[i];

		q->stem = s->all[i].stem;
		q->name = s->all[i].varies ? q->stem : s->all[i].name;
		q->numbered = s->all[i].numbered;
		q->depth = depth;
		q->count = s->all[i].count;
		q->time = s->recorded > 0 ? (double)s->all[i].covered / s->recorded : 0;
		q->evicted = s->horizon != INT64_MIN;
		q->confidence = confidence(q, s->requests);
	}
	return n;
}

static int add_mark(struct search *s, const struct pp_range_rule *rule, const struct pp_span *span, int64_t number,
                    int64_t *ordinal, struct pp_marks *list)
{
	struct pp_mark mark = {.begin = span->begin,
	                       .end = span->end,
	                       .complete = (uint8_t)is_whole(span, s->horizon),
	                       .kind = s->requests ? PP_STEP_REQUEST : base_of(s, span->name)->of.kind};
	struct pp_mark *last = list->marks ? &list->mark[list->marks - 1] : NULL;

	if (rule->evicted && !rule->numbered && span->begin < s->horizon)
		return 0;
	mark.number = rule->numbered ? number : (*ordinal)++;
	if (last && mark.number <= last->number) /* clipped at the edge: without a place */
		return 0;
	return pp_marks_add(list, &mark);
}

static int fill_marks(struct search *s, size_t r, const struct pp_range_rule *rule, struct pp_marks *list)
{
	struct place p = begin_pass(s, r, rule->depth);
	const struct pp_span *span;
	int64_t ordinal = 0;

	list->marks = 0;
	list->thread = s->thread[r];
	while ((span = next_at_depth(s, &p))) {
		const struct pp_step_name *of = &base_of(s, span->name)->of;

		if (of->stem == rule->stem && add_mark(s, rule, span, of->number, &ordinal, list) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* 1: it is the step; 0: not, rule->refused says why. */
static int try_rule(struct search *s, struct pp_range_rule *rule, struct pp_marks *list)
{
	int rc;

	for (size_t r = 0; r < s->capture->ranks; r++)
		if (fill_marks(s, r, rule, &list[r]) < 0)
			return -ENOMEM;
	rule->refused = PP_RANGE_IS_PART;
	if (s->optimizers && !pp_optimizers_in(s->optimizers, list))
		return 0;
	rule->refused = PP_RANGE_NO_WORK;
	rc = pp_steps_hold_work(s->capture, list, PP_HOLD_FIT);
	if (rc > 0)
		rule->refused = PP_RANGE_WEAK;
	return rc;
}

/* Of the candidates of one depth with enough confidence, the one that covers most time on all ranks, holds what devices do and is
 * no part of a step. 1: found; 0: none is, and where nothing came closer, *ret_rule is the first of all. */
static int best_at_depth(struct search *s, int depth, struct pp_marks *list, struct pp_range_rule *ret_rule)
{
	size_t n = list_common(s, depth);

	for (int sure = 1; sure >= 0; sure--) {
		for (;;) {
			size_t best = SIZE_MAX;
			int rc;

			for (size_t i = 0; i < n; i++)
				if (s->all[i].covered > 0 && (!sure || s->quality[i].confidence >= PP_GUESS_CONFIDENCE) &&
				    (best == SIZE_MAX || s->all[i].covered > s->all[best].covered))
					best = i;
			if (best == SIZE_MAX)
				break;
			rc = sure ? try_rule(s, &s->quality[best], list) : 0;
			if (!ret_rule->name || rc > 0 || (sure && ret_rule->refused == PP_RANGE_WEAK))
				*ret_rule = s->quality[best];
			if (rc || !sure)
				return rc;
			s->all[best].covered = 0;
		}
	}
	return 0;
}

static int is_iteration(struct search *s, const struct pp_span *span, uint32_t stem)
{
	return span->kind == PP_SPAN_RANGE && span->range.origin == PP_ORIGIN_PROGRAM && span->end > span->begin &&
	       base_of(s, span->name)->of.stem == stem;
}

/* The thread with most iterations of this kind; SIZE_MAX: none has any. */
static size_t thread_of_iterations(struct search *s, const struct pp_rank *rank, uint32_t stem)
{
	size_t most = 0, best = SIZE_MAX;

	for (size_t t = 0; t < rank->threads; t++) {
		size_t n = 0;

		for (size_t i = 0; !rank->thread[t].device && i < rank->thread[t].spans; i++)
			n += is_iteration(s, &rank->thread[t].span[i], stem);
		if (n <= most)
			continue;
		most = n;
		best = t;
	}
	return best;
}

/* Of nested ones the outermost, at whatever depth. Clears rule->numbered where their numbers do not rise. */
static int mark_iterations(struct search *s, size_t r, struct pp_range_rule *rule, int64_t *covered, struct pp_marks *list)
{
	const struct pp_rank *rank = &s->capture->rank[r];
	size_t t = thread_of_iterations(s, rank, rule->stem);
	int64_t ordinal = 0, end = INT64_MIN, number = INT64_MIN;

	list->marks = 0;
	for (size_t i = 0; t != SIZE_MAX && i < rank->thread[t].spans; i++) {
		const struct pp_span *span = &rank->thread[t].span[i];
		const struct pp_step_name *of;

		if (!is_iteration(s, span, rule->stem) || span->begin < end)
			continue;
		of = &base_of(s, span->name)->of;
		rule->numbered &= of->numbered && of->number > number;
		if (add_mark(s, rule, span, of->number, &ordinal, list) < 0)
			return -ENOMEM;
		number = of->number;
		end = span->end;
		*covered += end - span->begin;
	}
	list->thread = t == SIZE_MAX ? 0 : (uint32_t)t;
	return 0;
}

/* Iterations that an engine names cover as much of the run as it has to do, and are the step wherever they are. */
/* NOLINTNEXTLINE(misc-no-recursion): once more, with numbers ignored */
static int try_iterations(struct search *s, uint32_t stem, int is_numbered, struct pp_marks *list, struct pp_range_rule *ret_rule)
{
	struct pp_range_rule rule = {.name = stem,
	                             .stem = stem,
	                             .iteration = 1,
	                             .numbered = is_numbered,
	                             .evicted = s->horizon != INT64_MIN,
	                             .coverage = 1};
	size_t few = SIZE_MAX, many = 0, have = 0, recording = 0;
	int64_t covered = 0;

	for (size_t r = 0; r < s->capture->ranks; r++) {
		if (mark_iterations(s, r, &rule, &covered, &list[r]) < 0)
			return -ENOMEM;
		recording += list[r].has_records != 0;
		if (!list[r].marks)
			continue;
		have++;
		few = list[r].marks < few ? list[r].marks : few;
		many = list[r].marks > many ? list[r].marks : many;
	}
	if (is_numbered && !rule.numbered)
		return try_iterations(s, stem, 0, list, ret_rule);
	if (!have || few < ITERATIONS)
		return 0;
	rule.count = many;
	rule.balance = many - few > 1 ? (double)few / (double)many : 1;
	rule.time = s->recorded > 0 ? (double)covered / s->recorded : 0;
	rule.confidence = 0.9 * rule.balance * (recording > have ? (double)have / (double)recording : 1);
	if (rule.confidence < PP_GUESS_CONFIDENCE || (ret_rule->name && rule.time <= ret_rule->time))
		return 0;
	*ret_rule = rule;
	return pp_steps_hold_work(s->capture, list, PP_HOLD_ANY);
}

/* Of several kinds the one that takes most time. */
static int find_iterations(struct search *s, struct pp_marks *list, struct pp_range_rule *ret_rule)
{
	uint32_t best = 0;

	for (size_t i = 0; i < s->iterations; i++) {
		struct pp_range_rule rule = best ? *ret_rule : (struct pp_range_rule){0};
		int rc = try_iterations(s, s->iteration[i], 1, list, &rule);

		if (rc < 0)
			return rc;
		if (rc > 0) {
			*ret_rule = rule;
			best = rule.stem;
		}
	}
	if (!best)
		return 0;
	*ret_rule = (struct pp_range_rule){0};
	return try_iterations(s, best, 1, list, ret_rule);
}

static int search_init(struct search *s, const struct pp_capture *capture)
{
	s->capture = capture;
	s->room = pp_intern_count(capture->names);
	s->base = calloc(s->room + 1, sizeof(*s->base));
	s->all = calloc(2 * CANDIDATES, sizeof(*s->all));
	s->quality = calloc(CANDIDATES, sizeof(*s->quality));
	s->thread = calloc(capture->ranks + 1, sizeof(*s->thread));
	if (!s->base || !s->all || !s->quality || !s->thread)
		return -ENOMEM;
	s->one = s->all + CANDIDATES;
	s->horizon = INT64_MIN;
	/* Ordinals count from one instant on all ranks, so the latest horizon holds for all. */
	for (size_t r = 0; r < capture->ranks; r++)
		if (capture->rank[r].horizon > s->horizon)
			s->horizon = capture->rank[r].horizon;
	for (size_t r = 0; r < capture->ranks; r++) {
		s->recorded += pp_recorded_time(&capture->rank[r]);
		s->thread[r] = step_thread(s, &capture->rank[r]);
	}
	return 0;
}

static int find(const struct pp_capture *capture, const struct pp_optimizers *optimizers, int requests, struct pp_marks *list,
                struct pp_range_rule *ret_rule)
{
	struct search s = {.optimizers = optimizers, .requests = requests};
	int rc = search_init(&s, capture);

	*ret_rule = (struct pp_range_rule){0};
	if (rc == 0 && !requests)
		rc = find_iterations(&s, list, ret_rule);
	for (int depth = 0; depth < DEPTHS && rc == 0; depth++)
		rc = best_at_depth(&s, depth, list, ret_rule);
	for (size_t r = 0; r < capture->ranks && rc == 0; r++)
		list[r].marks = 0;
	free(s.base);
	free(s.all);
	free(s.quality);
	free(s.thread);
	return rc;
}

int pp_range_rule_find(const struct pp_capture *capture, const struct pp_optimizers *optimizers, struct pp_marks *list,
                       struct pp_range_rule *ret_rule)
{
	return find(capture, optimizers, 0, list, ret_rule);
}

int pp_range_rule_requests(const struct pp_capture *capture, const struct pp_optimizers *optimizers, struct pp_marks *list,
                           struct pp_range_rule *ret_rule)
{
	return find(capture, optimizers, 1, list, ret_rule);
}

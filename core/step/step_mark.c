/* Makes the table of steps: chooses rule, numbers and ranks; see step_mark.h and docs/steps.md. Called by the session. */
#include "core/step/step_mark.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/utf8.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/mark_list.h"
#include "core/step/step_period.h"
#include "core/step/step_range.h"
#include "core/step/step_table.h"

enum { NAME_SHOWN = 40 }; /* bytes of a range in a note */
enum { STEPS = PP_SPAN_BIT(PP_SPAN_STEP) };

const char *pp_step_rule_name(enum pp_step_rule rule)
{
	switch (rule) {
	case PP_STEP_RULE_PODPROF:
		return "podprof_step";
	case PP_STEP_RULE_RANGE:
		return "range";
	case PP_STEP_RULE_PERIOD:
		return "collective_period";
	case PP_STEP_RULE_WINDOW:
		return "window";
	}
	return "?";
}

/* A mark of the job, or one found by the pattern of collectives. */
static int is_mark(const struct pp_span *span, int by_pattern)
{
	return span->kind == PP_SPAN_STEP && (span->step.period != 0) == by_pattern;
}

/* A rank whose process was restarted has several. */
static size_t main_threads(const struct pp_rank *rank)
{
	size_t mains = 0;

	for (size_t t = 0; t < rank->threads; t++)
		mains += rank->thread[t].is_main != 0;
	return mains;
}

/* The main thread if it marks steps (of several the one with most), else the thread with most marks; -1: none. */
static int64_t marking_thread(const struct pp_rank *rank, int by_pattern)
{
	int one_main = main_threads(rank) < 2, best_is_main = 0;
	int64_t best = -1;
	size_t most = 0;

	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];
		size_t marks = 0;

		for (size_t k = 0; k < pp_thread_others(thread, STEPS) && !(marks && thread->is_main && one_main); k++)
			marks += is_mark(&thread->span[pp_thread_other(thread, k)], by_pattern);
		if (marks && thread->is_main && one_main)
			return (int64_t)t;
		if (!marks || (best_is_main && !thread->is_main) || (best_is_main == !!thread->is_main && marks < most))
			continue;
		most = marks;
		best = (int64_t)t;
		best_is_main = thread->is_main != 0;
	}
	return best;
}

enum { STEP_NUMBER_BITS = 62 }; /* beyond +-2^62 a number is no count of steps: it is placed like a decreased one */

/* The number of the next mark: its own, or the one after the highest. Returns 1 where it decreased. */
static int place_number(int64_t own, const struct pp_marks *list, int64_t highest, int64_t *shift, int64_t *ret_number)
{
	const int64_t most = INT64_C(1) << STEP_NUMBER_BITS;
	int64_t number;

	if (!__builtin_add_overflow(own, *shift, &number) && number <= most && number >= -most &&
	    (!list->marks || number > highest)) {
		*ret_number = number;
		return 0;
	}
	*ret_number = list->marks ? highest + 1 : 0; /* highest is at most 2^62 + marks */
	if (__builtin_sub_overflow(*ret_number, own, &number))
		number = 0;
	*shift = number;
	return 1;
}

/* Marks of podprof_step_*. Where the number does not rise, the job has restarted its count: numbers then continue from the
 * highest, so that each step has its own place and steps of one place are the same step on all ranks. */
static int list_marked(const struct pp_rank *rank, int by_pattern, struct pp_marks *list, uint64_t *backwards)
{
	int64_t t = marking_thread(rank, by_pattern), highest = INT64_MIN, shift = 0;
	uint8_t flags = 0; /* of the mark before */

	for (size_t k = 0; t >= 0 && k < pp_thread_others(&rank->thread[t], STEPS); k++) {
		const struct pp_span *span = &rank->thread[t].span[pp_thread_other(&rank->thread[t], k)];
		struct pp_mark *last = list->marks ? &list->mark[list->marks - 1] : NULL;
		struct pp_mark mark = {.begin = span->begin, .end = span->end};

		if (!is_mark(span, by_pattern))
			continue;
		if (last && ((flags & PP_SPAN_CUT_END) || last->end > span->begin)) { /* no step_end: until the next begin */
			last->end = span->begin;
			last->complete = !(flags & PP_SPAN_CUT_BEGIN) && last->begin >= rank->horizon;
		}
		flags = span->flags;
		mark.complete = !(span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)) && span->begin >= rank->horizon;
		*backwards += place_number(span->step.number, list, highest, &shift, &mark.number) != 0;
		mark.fresh = mark.number != span->step.number;
		highest = mark.number;
		if (pp_marks_add(list, &mark) < 0)
			return -ENOMEM;
	}
	list->thread = t < 0 ? 0 : (uint32_t)t;
	return 0;
}

/* The latest of all ranks; INT64_MIN: nothing was evicted. */
static int64_t horizon_of(const struct pp_capture *capture)
{
	int64_t horizon = INT64_MIN;

	for (size_t r = 0; r < capture->ranks; r++)
		if (capture->rank[r].horizon > horizon)
			horizon = capture->rank[r].horizon;
	return horizon;
}

/* Makes each rank's first to last record step 0, after `horizon`: where records of one rank were evicted, earlier ones of the
 * others do not count. */
static int list_window(const struct pp_rank *rank, int64_t horizon, struct pp_marks *list)
{
	struct pp_mark mark = {.begin = INT64_MAX, .end = INT64_MIN, .complete = 1};

	list->marks = 0;
	list->thread = 0;
	for (uint32_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		if (thread->first < mark.begin)
			mark.begin = thread->first;
		if (thread->last > mark.end)
			mark.end = thread->last;
		if (thread->spans > rank->thread[list->thread].spans)
			list->thread = t;
	}
	for (uint32_t t = 0; t < rank->threads; t++)
		if (rank->thread[t].is_main && rank->thread[t].spans)
			list->thread = t;
	if (mark.begin < horizon)
		mark.begin = horizon;
	return mark.end > mark.begin ? pp_marks_add(list, &mark) : 0;
}

static void __attribute__((format(printf, 2, 3))) add_remark(struct pp_steps *s, const char *fmt, ...)
{
	size_t n = strlen(s->remark);
	va_list arguments;

	if (n)
		n += (size_t)snprintf(s->remark + n, sizeof(s->remark) - n, "; ");
	if (n >= sizeof(s->remark))
		return;
	va_start(arguments, fmt);
	vsnprintf(s->remark + n, sizeof(s->remark) - n, fmt, arguments);
	va_end(arguments);
}

static void clear_marks(struct pp_marks *list, size_t ranks)
{
	for (size_t r = 0; r < ranks; r++)
		list[r].marks = 0;
}

/* Only collectives are left: docs/steps.md. Returns 1 where they show no steps. */
static int choose_period(const struct pp_capture *capture, struct pp_marks *list, struct pp_steps *s)
{
	struct pp_period_rule rule;
	int rc = pp_period_rule_find(capture, list, &rule);

	if (rc <= 0)
		return rc < 0 ? rc : 1;
	if (rule.confidence < PP_GUESS_CONFIDENCE) {
		if (rule.time < PP_GUESS_TIME)
			add_remark(s,
			           "a pattern of %u collectives was found, but its %zu repetitions cover only "
			           "%.2g %% of the recorded time, so they are not used as steps",
			           (unsigned)rule.period, rule.steps, 100 * rule.time);
		else if (rule.is_unsure)
			add_remark(s, "a pattern of %u collectives was found, but it may be a loop inside a step",
			           (unsigned)rule.period);
		else
			add_remark(s,
			           "a pattern of %u collectives was found, but its %zu "
			           "repetitions are too irregular for steps (confidence %.2f)",
			           (unsigned)rule.period, rule.steps, rule.confidence);
		clear_marks(list, capture->ranks);
		return 1;
	}
	s->rule = PP_STEP_RULE_PERIOD;
	s->period = rule.period;
	s->confidence = rule.confidence;
	s->covered = rule.time;
	add_remark(s, "%zu steps found from a pattern of %u collectives, covering %.0f %% of the recorded time", rule.steps,
	           (unsigned)rule.period, 100 * rule.time);
	if (rule.evicted)
		add_remark(s, "their numbers begin with the first kept one");
	if (rule.irregular)
		add_remark(s, "%llu collectives between the first and the last step do not fit the pattern",
		           (unsigned long long)rule.irregular);
	if (rule.patterns > 1)
		add_remark(s, "the pattern changed %u times", (unsigned)rule.patterns - 1);
	add_remark(s, "podprof_step_begin() marks steps exactly");
	return 0;
}

/* Steps found by the pattern of collectives while the job ran. Requested steps before the pattern was known are in the records
 * only, and so are those recorded after it without a break. Returns 1 where none was found. */
static int choose_pattern(const struct pp_capture *capture, struct pp_marks *list, int64_t first, int64_t last, struct pp_steps *s)
{
	const struct pp_span *newest = NULL;
	struct pp_period_rule rule = {0};
	int rc = 0;

	for (size_t r = 0; r < capture->ranks && !newest; r++) {
		int64_t t = marking_thread(&capture->rank[r], 1);

		const struct pp_thread *thread = t >= 0 ? &capture->rank[r].thread[t] : NULL;

		for (size_t k = 0; thread && k < pp_thread_others(thread, STEPS); k++)
			if (is_mark(&thread->span[pp_thread_other(thread, k)], 1))
				newest = &thread->span[pp_thread_other(thread, k)];
	}
	if (!newest)
		return 1;
	if (last > first && first - 1 <= newest->step.known_from)
		rc = pp_period_rule_find(capture, list, &rule);
	if (rc < 0)
		return rc;
	if (rule.period != newest->step.period)
		clear_marks(list, capture->ranks);
	for (size_t r = 0; r < capture->ranks && rule.period != newest->step.period; r++)
		if (list_marked(&capture->rank[r], 1, &list[r], &s->backwards) < 0)
			return -ENOMEM;
	s->rule = PP_STEP_RULE_PERIOD;
	s->period = newest->step.period;
	s->confidence = 0.7 * (double)newest->step.matched / (double)(newest->step.matched + newest->step.irregular + 1);
	if (s->confidence < PP_GUESS_CONFIDENCE) {
		add_remark(s,
		           "a pattern of %u collectives was found while the job ran, but "
		           "it is too irregular for steps (confidence %.2f)",
		           (unsigned)newest->step.period, s->confidence);
		clear_marks(list, capture->ranks);
		return 1;
	}
	add_remark(s, "steps were found while the job ran, from a repeating pattern of %u collectives",
	           (unsigned)newest->step.period);
	return 0;
}

/* Why the closest range is no step. */
static void remark_range(struct pp_steps *s, const struct pp_intern *names, const struct pp_range_rule *range)
{
	char name[NAME_SHOWN + 1];

	snprintf(name, sizeof(name), "%.*s", pp_utf8_fit(pp_intern_text(names, range->name, NULL), NAME_SHOWN),
	         pp_intern_text(names, range->name, NULL));
	if (!range->numbered && range->time < PP_RANGE_TIME)
		add_remark(s, "%zu ranges '%s' cover only %.2g %% of the recorded time, so they are not used as steps",
		           range->count, name, 100 * range->time);
	else
		add_remark(s, "%zu ranges '%s' are too irregular for steps (confidence %.2f)", range->count, name,
		           range->confidence);
}

/* Marks of a rank may have been evicted. */
static void remark_unmarked(struct pp_steps *s, const struct pp_capture *capture, const struct pp_marks *list, size_t recording)
{
	size_t unmarked = 0, evicted = 0;

	for (size_t r = 0; r < capture->ranks; r++) {
		int none = list[r].has_records && !list[r].marks;

		evicted += none && capture->rank[r].step_marks;
		unmarked += none && !capture->rank[r].step_marks;
	}
	if (unmarked)
		add_remark(s, "%zu of %zu ranks marked no step", unmarked, recording);
	if (evicted)
		add_remark(s, "no step of %zu of %zu ranks was kept", evicted, recording);
}

/* Sets the rule, its marks and its confidence; formulas: docs/steps.md. Where ranks mark steps and no mark was kept, no
 * step is guessed. */
static int choose_rule(const struct pp_capture *capture, struct pp_marks *list, int64_t first, int64_t last, struct pp_steps *s)
{
	const int asked = last > first;
	size_t marking = 0, recording = 0, complete = 0;
	struct pp_range_rule range = {0};
	int rc, marked = 0;

	for (size_t r = 0; r < capture->ranks; r++) {
		if (list_marked(&capture->rank[r], 0, &list[r], &s->backwards) < 0)
			return -ENOMEM;
		marking += list[r].marks > 0;
		marked |= list[r].marks > 0 || (capture->rank[r].step_marks && marking_thread(&capture->rank[r], 1) < 0);
		for (size_t i = 0; i < list[r].marks; i++)
			complete += list[r].mark[i].complete;
		for (size_t t = 0; t < capture->rank[r].threads && !list[r].has_records; t++)
			list[r].has_records = capture->rank[r].thread[t].spans > 0;
		recording += (size_t)list[r].has_records;
	}
	if (marking && (asked || complete)) {
		s->rule = PP_STEP_RULE_PODPROF;
		s->confidence = (double)marking / (double)recording * (s->backwards ? 0.9 : 1.0);
		remark_unmarked(s, capture, list, recording);
		if (s->backwards)
			add_remark(s, "step numbers went back %llu time%s: later steps continue from the highest number",
			           (unsigned long long)s->backwards, s->backwards == 1 ? "" : "s");
		return 0;
	}
	rc = marking ? 1 : choose_pattern(capture, list, first, last, s);
	if (rc <= 0)
		return rc;
	if (marked)
		return 1;
	rc = pp_range_rule_find(capture, list, &range);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		rc = choose_period(capture, list, s);
		if (rc > 0 && range.name)
			remark_range(s, capture->names, &range);
		return rc;
	}
	s->rule = PP_STEP_RULE_RANGE;
	s->rule_name = range.name;
	s->confidence = range.confidence;
	s->covered = range.time;
	add_remark(s, "steps are taken from a repeating range; podprof_step_begin() marks steps exactly");
	return 0;
}

static int use_window(const struct pp_capture *capture, struct pp_marks *list, struct pp_steps *s)
{
	int64_t horizon = horizon_of(capture);

	add_remark(s, horizon == INT64_MIN ? "the whole run is " PP_STEPS_ONE ", from each rank's first record to its last"
	                                   : "the kept records are " PP_STEPS_ONE ", up to each rank's last record");
	s->rule = PP_STEP_RULE_WINDOW;
	s->confidence = 0;
	s->rule_name = 0;
	for (size_t r = 0; r < capture->ranks; r++)
		if (list_window(&capture->rank[r], horizon, &list[r]) < 0)
			return -ENOMEM;
	return 0;
}

/* Steps were found or marked, and none can be shown. What was noted of steps that were found is then wrong. */
static void remark_incomplete(struct pp_steps *s)
{
	if (s->rule != PP_STEP_RULE_PODPROF)
		s->remark[0] = '\0';
	if (s->rule == PP_STEP_RULE_PERIOD)
		add_remark(s, "a pattern of %u collectives was found, but no repetition is complete on every rank",
		           (unsigned)s->period);
	else if (s->rule == PP_STEP_RULE_RANGE)
		add_remark(s, "a repeating range was found, but no repetition is complete on every rank");
	else
		add_remark(s, "no step is complete on every rank");
}

/* None of the requested steps was recorded. */
static void remark_asked(struct pp_steps *s, const struct pp_capture *capture, int64_t first, int64_t last)
{
	int64_t most = INT64_MIN;

	for (size_t r = 0; r < capture->ranks; r++)
		if (capture->rank[r].step_marks && capture->rank[r].last_step > most)
			most = capture->rank[r].last_step;
	if (most == INT64_MIN)
		add_remark(s, "steps %lld:%lld were requested, but the ranks mark no steps", (long long)first, (long long)last);
	else
		add_remark(s, "steps %lld:%lld were requested, but not reached: the last marked step is %lld", (long long)first,
		           (long long)last, (long long)most);
}

int pp_steps_find(const struct pp_capture *capture, int64_t first, int64_t last, struct pp_steps *ret_steps, struct pp_err *err)
{
	struct pp_marks *list = calloc(capture->ranks + 1, sizeof(*list));
	struct pp_steps s = {0};
	int asked = last > first;
	int rc = -ENOMEM;

	if (!list)
		goto out;
	rc = choose_rule(capture, list, first, last, &s);
	if (rc > 0) {
		if (asked)
			remark_asked(&s, capture, first, last);
		rc = use_window(capture, list, &s);
		first = last = 0;
	}
	if (rc == 0)
		rc = pp_step_table_fill(list, capture->ranks, first, last, &s);
	if (rc == 0 && !s.steps && !asked && s.rule != PP_STEP_RULE_WINDOW) {
		free(s.number);
		free(s.cell);
		free(s.before);
		free(s.after);
		remark_incomplete(&s);
		rc = use_window(capture, list, &s);
		s.number = NULL;
		s.cell = s.before = s.after = NULL;
		if (rc == 0)
			rc = pp_step_table_fill(list, capture->ranks, 0, 0, &s);
	}
	if (rc == 0 && !s.steps && asked)
		add_remark(&s, "steps %lld:%lld were requested, but no rank completed one of them", (long long)first,
		           (long long)last);
out:
	for (size_t r = 0; list && r < capture->ranks; r++)
		free(list[r].mark);
	free(list);
	if (rc < 0) {
		pp_steps_release(&s);
		return pp_err_set(err, rc, "cannot find the steps of %zu ranks: no memory", capture->ranks);
	}
	*ret_steps = s;
	return 0;
}

void pp_steps_release(struct pp_steps *s)
{
	free(s->number);
	free(s->cell);
	free(s->before);
	free(s->after);
	memset(s, 0, sizeof(*s));
}

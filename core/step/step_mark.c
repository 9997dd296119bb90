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
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"
#include "core/step/mark_list.h"
#include "core/step/step_device.h"
#include "core/step/step_message.h"
#include "core/step/step_optimizer.h"
#include "core/step/step_period.h"
#include "core/step/step_range.h"
#include "core/step/step_table.h"

enum { NAME_SHOWN = 40, PATTERN_SHOWN = 64 }; /* bytes in a note: of a range, of a pattern */
enum { OCCASIONAL = 10 };                     /* steps of messages to one of collectives */
enum { STEPS = PP_SPAN_BIT(PP_SPAN_STEP) };

const char *pp_step_rule_name(enum pp_step_rule rule)
{
	switch (rule) {
	case PP_STEP_RULE_PODPROF:
		return "podprof_step";
	case PP_STEP_RULE_RANGE:
		return "range";
	case PP_STEP_RULE_OPTIMIZER:
		return "optimizer";
	case PP_STEP_RULE_PERIOD:
		return "collective_period";
	case PP_STEP_RULE_MESSAGES:
		return "message_period";
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
		struct pp_mark mark = {.begin = span->begin, .end = span->end, .level = (uint8_t)span->step.level};

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

/* MPI's start and end, and what is before and after them, belong to no step. A rank of several processes has several. */
static void leave_ends_out(const struct pp_rank *rank, struct pp_mark *mark)
{
	int64_t begin = INT64_MAX, end = INT64_MIN;

	for (uint32_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
			const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];

			if (span->kind != PP_SPAN_MPI || pp_mpi_call_info(span->mpi.call)->class != PP_MPI_LOCAL_INIT)
				continue;
			if (!strcmp(pp_mpi_call_info(span->mpi.call)->name, "MPI_Finalize"))
				end = span->begin > end ? span->begin : end;
			else if (!(span->flags & PP_SPAN_CUT_END))
				begin = span->end < begin ? span->end : begin;
		}
	}
	begin = begin == INT64_MAX ? mark->begin : begin;
	end = end == INT64_MIN ? mark->end : end;
	if (end <= begin)
		return;
	mark->begin = begin;
	mark->end = end;
}

/* Makes each rank's first to last record step 0, without MPI's start and end, after `horizon`: where records of one rank were
 * evicted, earlier ones of the others do not count. */
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
	leave_ends_out(rank, &mark);
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

static const char *call_text(const struct pp_period_rule *rule)
{
	return rule->collectives ? "collective" : rule->is_all ? "call" : "message";
}

/* "2 collectives and messages", "12 messages". */
static const char *pattern_text(const struct pp_period_rule *rule, char *text, size_t room)
{
	uint32_t n = rule->collectives ? rule->collectives : rule->period;

	snprintf(text, room, "%u %s%s%s", (unsigned)n, call_text(rule), n == 1 ? "" : "s",
	         rule->collectives && rule->collectives < rule->period ? " and messages" : "");
	return text;
}

/* Why a found pattern is not used. */
static void remark_pattern(struct pp_steps *s, const struct pp_period_rule *rule)
{
	char text[PATTERN_SHOWN];

	pattern_text(rule, text, sizeof(text));
	if (rule->time < PP_GUESS_TIME)
		add_remark(s,
		           "a pattern of %s was found, but its %zu repetitions cover only "
		           "%.2g %% of the recorded time, so they are not used as steps",
		           text, rule->steps, 100 * rule->time);
	else if (rule->without)
		add_remark(s, "a pattern of %s was found, but the %ss of %zu rank%s have none", text, call_text(rule),
		           rule->without, rule->without == 1 ? "" : "s");
	else if (rule->is_unsure && !rule->collectives && rule->most > rule->least + 1)
		add_remark(s, "a pattern of %s was found, but from %zu to %zu times on different ranks", text, rule->least,
		           rule->most);
	else if (rule->is_unsure)
		add_remark(s, "a pattern of %s was found, but it may be a loop inside a step", text);
	else
		add_remark(s,
		           "a pattern of %s was found, but its %zu "
		           "repetitions are too irregular for steps (confidence %.2f)",
		           text, rule->steps, rule->confidence);
}

static void take_pattern(struct pp_steps *s, const struct pp_period_rule *rule)
{
	char text[PATTERN_SHOWN];

	s->rule = rule->collectives ? PP_STEP_RULE_PERIOD : PP_STEP_RULE_MESSAGES;
	s->period = rule->collectives ? rule->collectives : rule->period;
	s->confidence = rule->confidence;
	s->covered = rule->time;
	add_remark(s, "%zu steps found from a pattern of %s, covering %.0f %% of the recorded time", rule->steps,
	           pattern_text(rule, text, sizeof(text)), 100 * rule->time);
	if (rule->evicted)
		add_remark(s, "their numbers begin with the first kept one");
	if (rule->irregular)
		add_remark(s, "%llu %ss between the first and the last step do not fit the pattern",
		           (unsigned long long)rule->irregular, call_text(rule));
	if (rule->patterns > 1)
		add_remark(s, "the pattern changed %u times", (unsigned)rule->patterns - 1);
	if (rule->is_rounds)
		add_remark(s, "a step may be longer: other calls repeat between some of them");
	add_remark(s, PP_STEPS_EXACT);
}

/* Messages tell more than collectives that come only now and then: an output, a check of convergence. */
static int prefers_messages(const struct pp_period_rule *collectives, const struct pp_period_rule *messages)
{
	if (messages->confidence < PP_GUESS_CONFIDENCE)
		return collectives->confidence < PP_GUESS_CONFIDENCE && messages->confidence > collectives->confidence;
	return collectives->confidence < PP_GUESS_CONFIDENCE || messages->steps >= OCCASIONAL * collectives->steps;
}

static void release_marks(struct pp_marks *list, size_t ranks)
{
	for (size_t r = 0; list && r < ranks; r++)
		free(list[r].mark);
	free(list);
}

static void swap_marks(struct pp_marks *list, struct pp_marks *other, size_t ranks)
{
	for (size_t r = 0; r < ranks; r++) {
		struct pp_marks before = list[r];

		other[r].has_records = before.has_records;
		list[r] = other[r];
		other[r] = before;
	}
}

/* Only collectives and messages are left: docs/steps.md. Returns 1 where they show no steps. */
static int choose_period(const struct pp_capture *capture, struct pp_marks *list, struct pp_steps *s)
{
	struct pp_marks *other = calloc(capture->ranks + 1, sizeof(*other));
	struct pp_period_rule rule = {0}, messages = {0};
	char text[PATTERN_SHOWN];
	int rc = other ? pp_period_rule_find(capture, list, &rule) : -ENOMEM;

	for (int calls = PP_MESSAGE_CALLS; calls < PP_MESSAGE_KINDS && rc >= 0; calls++) {
		if (calls != PP_MESSAGE_CALLS && rule.confidence >= PP_GUESS_CONFIDENCE)
			break;
		clear_marks(other, capture->ranks);
		messages = (struct pp_period_rule){0};
		rc = pp_message_rule_find(capture, (enum pp_message_calls)calls, other, &messages);
		if (rc >= 0 && prefers_messages(&rule, &messages) &&
		    (calls == PP_MESSAGE_CALLS || messages.confidence >= PP_GUESS_CONFIDENCE)) {
			swap_marks(list, other, capture->ranks);
			rule = messages;
		}
	}
	release_marks(other, capture->ranks);
	if (rc < 0 || !rule.steps)
		return rc < 0 ? rc : 1;
	rc = rule.confidence >= PP_GUESS_CONFIDENCE ? pp_steps_hold_work(capture, list, PP_HOLD_FIT) : 0;
	if (rc < 0)
		return rc;
	if (rc) {
		take_pattern(s, &rule);
		return 0;
	}
	if (rule.confidence >= PP_GUESS_CONFIDENCE)
		add_remark(s, "a pattern of %s was found, but its repetitions hold little of what the devices did",
		           pattern_text(&rule, text, sizeof(text)));
	else
		remark_pattern(s, &rule);
	clear_marks(list, capture->ranks);
	return 1;
}

/* The first mark that a pattern made while the job ran, and how many ranks have some. */
static const struct pp_span *first_found(const struct pp_capture *capture, size_t *ret_ranks)
{
	const struct pp_span *first = NULL;

	*ret_ranks = 0;
	for (size_t r = 0; r < capture->ranks; r++) {
		int64_t t = marking_thread(&capture->rank[r], 1);
		const struct pp_thread *thread = t >= 0 ? &capture->rank[r].thread[t] : NULL;

		*ret_ranks += thread != NULL;
		for (size_t k = 0; thread && !first && k < pp_thread_others(thread, STEPS); k++)
			if (is_mark(&thread->span[pp_thread_other(thread, k)], 1))
				first = &thread->span[pp_thread_other(thread, k)];
	}
	return first;
}

/* Steps found by a pattern while the job ran. Requested steps before the pattern was known are in the records only, and so are
 * those recorded after it without a break. Returns 1 where none was found. */
static int choose_pattern(const struct pp_capture *capture, struct pp_marks *list, int64_t first, int64_t last, struct pp_steps *s)
{
	size_t ranks;
	const struct pp_span *found = first_found(capture, &ranks);
	int is_messages = found && (found->step.period & PP_STEP_OF_MESSAGES), rc = 0, is_same;
	struct pp_period_rule rule = {0};
	const char *what = is_messages ? "messages" : "calls";

	if (!found)
		return 1;
	s->rule = is_messages ? PP_STEP_RULE_MESSAGES : PP_STEP_RULE_PERIOD;
	s->period = found->step.period & PP_STEP_PERIOD;
	if (last > first && first - 1 <= found->step.known_from)
		rc = is_messages ? pp_message_rule_find(capture, PP_MESSAGE_CALLS, list, &rule)
		                 : pp_period_rule_find(capture, list, &rule);
	if (rc < 0)
		return rc;
	is_same = is_messages ? rule.confidence >= PP_GUESS_CONFIDENCE : rule.period == s->period;
	if (!is_same)
		clear_marks(list, capture->ranks);
	for (size_t r = 0; r < capture->ranks && !is_same; r++)
		if (list_marked(&capture->rank[r], 1, &list[r], &s->backwards) < 0)
			return -ENOMEM;
	s->period -= found->step.period >> PP_STEP_RUNS_SHIFT; /* messages between collectives are no collective */
	s->confidence = 0.7 * (double)found->step.matched / (double)(found->step.matched + found->step.irregular + 1) *
	                (double)ranks / (double)capture->ranks;
	if (s->confidence < PP_GUESS_CONFIDENCE) {
		add_remark(s,
		           "a pattern of %u %s was found while the job ran, but "
		           "it is too irregular for steps (confidence %.2f)",
		           (unsigned)s->period, what, s->confidence);
		clear_marks(list, capture->ranks);
		return 1;
	}
	add_remark(s, "steps were found while the job ran, from a repeating pattern of %u %s", (unsigned)s->period, what);
	return 0;
}

/* Why the closest range is no step. */
static void remark_range(struct pp_steps *s, const struct pp_intern *names, const struct pp_range_rule *range)
{
	char name[NAME_SHOWN + 1];

	snprintf(name, sizeof(name), "%.*s", pp_utf8_fit(pp_intern_text(names, range->name, NULL), NAME_SHOWN),
	         pp_intern_text(names, range->name, NULL));
	if (range->refused == PP_RANGE_NO_WORK)
		add_remark(s, "%zu ranges '%s' hold little of what the devices did, so they are not used as steps", range->count,
		           name);
	else if (range->refused == PP_RANGE_IS_PART)
		add_remark(s, "%zu ranges '%s' hold no call of the optimizer, so they are parts of steps", range->count, name);
	else if (!range->numbered && range->time < PP_RANGE_TIME)
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

/* Calls of the optimizer, as files of PyTorch have them. Returns 1 where they show no steps. */
static int choose_optimizer(const struct pp_capture *capture, const struct pp_optimizers *optimizers, struct pp_marks *list,
                            struct pp_steps *s)
{
	struct pp_optimizer_rule rule = {0};
	int rc = pp_optimizer_rule_find(capture, optimizers, list, &rule);

	if (rc > 0)
		rc = pp_steps_hold_work(capture, list, PP_HOLD_ANY);
	if (rc <= 0) {
		clear_marks(list, capture->ranks);
		return rc < 0 ? rc : 1;
	}
	s->rule = PP_STEP_RULE_OPTIMIZER;
	s->rule_name = rule.name;
	s->confidence = rule.confidence;
	s->covered = rule.time;
	if (rule.tuple > 1)
		add_remark(s, "%zu calls of optimizers in turn: each step ends with the last of them", rule.tuple);
	else
		add_remark(s, "each step is one update by the optimizer");
	add_remark(s, "profiler.step() or " PP_STEPS_EXACT);
	return 0;
}

static void use_range(struct pp_steps *s, const struct pp_range_rule *range)
{
	s->rule = PP_STEP_RULE_RANGE;
	s->rule_name = range->name;
	s->confidence = range->confidence;
	s->covered = range->time;
}

/* From what the program made, then from what it called. Returns 1 where neither shows steps. */
static int choose_found(const struct pp_capture *capture, struct pp_marks *list, struct pp_steps *s)
{
	struct pp_optimizers optimizers;
	struct pp_range_rule range = {0}, requests = {0};
	int rc = pp_optimizers_list(capture, &optimizers);

	if (rc == 0)
		rc = pp_range_rule_find(capture, &optimizers, list, &range);
	if (rc > 0) {
		use_range(s, &range);
		add_remark(s, range.iteration ? "steps are the iterations of the engine, by their names"
		                              : "steps are taken from a repeating range; " PP_STEPS_EXACT);
		rc = 0;
		goto out;
	}
	if (rc == 0)
		rc = choose_optimizer(capture, &optimizers, list, s);
	if (rc > 0)
		rc = choose_period(capture, list, s);
	if (rc > 0 && range.name) {
		rc = pp_range_rule_requests(capture, &optimizers, list, &requests);
		if (rc > 0)
			use_range(s, &requests);
		else if (rc == 0)
			remark_range(s, capture->names, &range);
		rc = rc > 0 ? 0 : rc == 0 ? 1 : rc;
	}
out:
	pp_optimizers_release(&optimizers);
	return rc;
}

/* Steps that a file or a shim marks, while all that devices did is elsewhere: tables of them would be empty. 1: so it is. */
static int misses_work(const struct pp_capture *capture, const struct pp_marks *list, struct pp_steps *s)
{
	int is_own = 1, rc;

	for (size_t r = 0; r < capture->ranks; r++)
		is_own &= !capture->rank[r].step_rule[0];
	rc = is_own ? 1 : pp_steps_hold_work(capture, list, PP_HOLD_ANY);
	if (rc == 0)
		add_remark(s, "the marked steps hold nothing of what the devices did, so they are not used");
	return rc < 0 ? rc : !rc;
}

/* Sets the rule, its marks and its confidence; formulas: docs/steps.md. Where ranks mark steps and no mark was kept, no
 * step is guessed. */
static int choose_rule(const struct pp_capture *capture, struct pp_marks *list, int64_t first, int64_t last, struct pp_steps *s)
{
	const int asked = last > first;
	size_t marking = 0, recording = 0, complete = 0;
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
	rc = marking && complete && !asked ? misses_work(capture, list, s) : 0;
	if (rc < 0)
		return rc;
	if (rc > 0) {
		clear_marks(list, capture->ranks);
		s->backwards = 0;
		return choose_found(capture, list, s);
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
	return marked ? 1 : choose_found(capture, list, s);
}

/* Without what devices did in all of a step, nothing of it is compared with other steps. */
static void leave_uncovered_out(const struct pp_capture *capture, struct pp_marks *list, int64_t first, int64_t last,
                                struct pp_steps *s)
{
	int64_t number = 0, one = 0;
	size_t steps = 0, ranks = 0;
	int32_t rank = 0;

	for (size_t r = 0; r < capture->ranks; r++) {
		size_t n = pp_marks_cover(&list[r], &capture->rank[r], first, last, &one);

		if (n && !ranks++) {
			number = one;
			rank = capture->rank[r].rank;
		}
		steps += n;
	}
	if (steps)
		add_remark(s, "records of devices do not cover %zu step%s of %zu rank%s, the first step %lld of rank %d: left out",
		           steps, steps == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s", (long long)number, (int)rank);
}

static int has_mpi(const struct pp_capture *capture)
{
	for (size_t r = 0; r < capture->ranks; r++)
		for (uint32_t t = 0; t < capture->rank[r].threads; t++) {
			const struct pp_thread *thread = &capture->rank[r].thread[t];

			for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
				const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];

				if (span->kind == PP_SPAN_MPI && pp_mpi_call_info(span->mpi.call)->class == PP_MPI_LOCAL_INIT)
					return 1;
			}
		}
	return 0;
}

static int use_window(const struct pp_capture *capture, struct pp_marks *list, struct pp_steps *s)
{
	int64_t horizon = horizon_of(capture);

	if (horizon == INT64_MIN)
		add_remark(s, "the whole run is " PP_STEPS_ONE "%s", has_mpi(capture) ? ", without MPI_Init and MPI_Finalize" : "");
	else
		add_remark(s, "the kept records are " PP_STEPS_ONE ", up to each rank's last record");
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
	if (s->rule == PP_STEP_RULE_PERIOD || s->rule == PP_STEP_RULE_MESSAGES)
		add_remark(s, "a pattern of %u %s was found, but no repetition is complete on every rank", (unsigned)s->period,
		           s->rule == PP_STEP_RULE_PERIOD ? "collectives" : "messages");
	else if (s->rule == PP_STEP_RULE_OPTIMIZER)
		add_remark(s, "calls of the optimizer were found, but no step of them is complete on every rank");
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
	if (rc == 0)
		leave_uncovered_out(capture, list, first, last, &s);
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
		free(s.kind);
		free(s.cell);
		free(s.before);
		free(s.after);
		remark_incomplete(&s);
		rc = use_window(capture, list, &s);
		s.number = NULL;
		s.kind = NULL;
		s.cell = s.before = s.after = NULL;
		if (rc == 0)
			rc = pp_step_table_fill(list, capture->ranks, 0, 0, &s);
	}
	if (rc == 0 && !s.steps && asked)
		add_remark(&s, "steps %lld:%lld were requested, but no rank completed one of them", (long long)first,
		           (long long)last);
out:
	release_marks(list, capture->ranks);
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
	free(s->kind);
	free(s->cell);
	free(s->before);
	free(s->after);
	memset(s, 0, sizeof(*s));
}

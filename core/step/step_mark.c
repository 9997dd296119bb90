/* The table of steps: which rule, which numbers, which ranks; see step_mark.h and docs/steps.md. Called by the keeper's session. */
#include "core/step/step_mark.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/step/mark_list.h"

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

int pp_marks_add(struct pp_marks *m, const struct pp_mark *mark)
{
	if (m->marks == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		struct pp_mark *more = realloc(m->mark, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		m->mark = more;
		m->room = room;
	}
	m->mark[m->marks++] = *mark;
	return 0;
}

/* The main thread where it marks steps, else the thread with most marks; -1: none. */
static int64_t marking_thread(const struct pp_rank *rank)
{
	int64_t best = -1;
	size_t most = 0;

	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];
		size_t marks = 0;

		if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_STEP)))
			continue;
		for (size_t i = 0; i < thread->spans && !(marks && thread->is_main); i++)
			marks += thread->span[i].kind == PP_SPAN_STEP;
		if (marks && thread->is_main)
			return (int64_t)t;
		if (marks > most) {
			most = marks;
			best = (int64_t)t;
		}
	}
	return best;
}

enum { STEP_NUMBER_BITS = 62 }; /* beyond +-2^62 a number is no count of steps: it is placed like one that went back */

/* The number of the next mark: its own, or the one after the highest. Returns 1 where it went back. */
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

/* Marks of podprof_step_*. Where the number does not rise, the job began to count anew: from there on numbers go on from the
 * highest one, so that every step keeps a place of its own and steps of one place are the same step on all ranks. */
static int list_marked(const struct pp_rank *rank, struct pp_marks *list, uint64_t *backwards)
{
	int64_t t = marking_thread(rank), highest = INT64_MIN, shift = 0;
	uint8_t flags = 0; /* of the mark before */

	for (size_t i = 0; t >= 0 && i < rank->thread[t].spans; i++) {
		const struct pp_span *span = &rank->thread[t].span[i];
		struct pp_mark *last = list->marks ? &list->mark[list->marks - 1] : NULL;
		struct pp_mark mark = {.begin = span->begin, .end = span->end};

		if (span->kind != PP_SPAN_STEP)
			continue;
		if (last &&
		    ((flags & PP_SPAN_CUT_END) || last->end > span->begin)) { /* step_end never came: until the next begin */
			last->end = span->begin;
			last->complete = !(flags & PP_SPAN_CUT_BEGIN) && last->begin >= rank->horizon;
		}
		flags = span->flags;
		mark.complete = !(span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)) && span->begin >= rank->horizon;
		*backwards += place_number(span->number, list, highest, &shift, &mark.number) != 0;
		mark.fresh = mark.number != span->number;
		highest = mark.number;
		if (pp_marks_add(list, &mark) < 0)
			return -ENOMEM;
	}
	list->thread = t < 0 ? 0 : (uint32_t)t;
	return 0;
}

/* Every rank's own first to last record as step 0. */
static int list_window(const struct pp_rank *rank, struct pp_marks *list)
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
	if (mark.begin < rank->horizon)
		mark.begin = rank->horizon;
	return mark.end > mark.begin ? pp_marks_add(list, &mark) : 0;
}

static int compare_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* All numbers of all ranks, ascending, each once. */
static int64_t *list_numbers(const struct pp_marks *list, size_t ranks, size_t *ret_count)
{
	size_t room = 1, n = 0, unique = 0;
	int64_t *number;

	for (size_t r = 0; r < ranks; r++)
		room += list[r].marks;
	number = calloc(room, sizeof(*number));
	if (!number)
		return NULL;
	for (size_t r = 0; r < ranks; r++)
		for (size_t i = 0; i < list[r].marks; i++)
			number[n++] = list[r].mark[i].number;
	qsort(number, n, sizeof(*number), compare_number);
	for (size_t i = 0; i < n; i++)
		if (!unique || number[i] != number[unique - 1])
			number[unique++] = number[i];
	*ret_count = unique;
	return number;
}

static struct pp_mark *find_mark(const struct pp_marks *list, int64_t number)
{
	size_t low = 0, high = list->marks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->mark[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->marks && list->mark[low].number == number ? &list->mark[low] : NULL;
}

/* Asked for: complete on one rank at least. Not asked: complete on every rank that has steps. */
static int is_step(const struct pp_marks *list, size_t ranks, int64_t number, int64_t first, int64_t last)
{
	size_t complete = 0, marking = 0;

	if (last > first && (number < first || number >= last))
		return 0;
	for (size_t r = 0; r < ranks; r++) {
		const struct pp_mark *mark = find_mark(&list[r], number);

		marking += list[r].marks > 0;
		if (mark && mark->complete && !(last > first && mark->fresh))
			complete++;
	}
	return last > first ? complete > 0 : complete > 0 && complete == marking;
}

static void fill_cell(const struct pp_marks *list, int64_t number, int edge, struct pp_step_cell *cell)
{
	const struct pp_mark *mark = find_mark(list, number);

	if (!mark || mark->end <= mark->begin || !(mark->complete || edge))
		return;
	*cell = (struct pp_step_cell){.begin = mark->begin, .end = mark->end, .thread = list->thread, .present = 1};
}

static int fill_table(const struct pp_marks *list, size_t ranks, int64_t first, int64_t last, struct pp_steps *s)
{
	size_t all, kept = 0, at_first = 0, at_last = 0;
	int64_t *number = list_numbers(list, ranks, &all), before = 0, after = 0;
	int has_before, has_after;

	if (!number)
		return -ENOMEM;
	s->number = number;
	s->before = calloc(ranks + 1, sizeof(*s->before));
	s->after = calloc(ranks + 1, sizeof(*s->after));
	if (!s->before || !s->after)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		if (!is_step(list, ranks, number[i], first, last))
			continue;
		if (!kept)
			at_first = i;
		at_last = i;
		if (kept == 0 && i > 0)
			before = number[i - 1];
		if (i + 1 < all)
			after = number[i + 1];
		number[kept++] = number[i];
	}
	has_before = kept && at_first > 0;
	has_after = kept && at_last + 1 < all;
	s->steps = kept;
	s->cell = calloc(kept * ranks + 1, sizeof(*s->cell));
	if (!s->cell)
		return -ENOMEM;
	s->before_number = before;
	s->after_number = has_after ? after : 0;
	for (size_t r = 0; r < ranks; r++) {
		for (size_t i = 0; i < kept; i++)
			fill_cell(&list[r], number[i], 0, &s->cell[i * ranks + r]);
		if (has_before)
			fill_cell(&list[r], before, 1, &s->before[r]);
		if (has_after)
			fill_cell(&list[r], after, 1, &s->after[r]);
	}
	return 0;
}

static void __attribute__((format(printf, 2, 3))) add_note(struct pp_steps *s, const char *fmt, ...)
{
	size_t n = strlen(s->note);
	va_list arguments;

	if (n)
		n += (size_t)snprintf(s->note + n, sizeof(s->note) - n, "; ");
	if (n >= sizeof(s->note))
		return;
	va_start(arguments, fmt);
	vsnprintf(s->note + n, sizeof(s->note) - n, fmt, arguments);
	va_end(arguments);
}

/* Nothing but collectives tells: docs/steps.md. Returns 1 where they do not either. */
static int choose_period(const struct pp_capture *capture, struct pp_marks *list, struct pp_steps *s)
{
	struct pp_period_rule rule;
	int rc = pp_period_rule_find(capture, list, &rule);

	if (rc <= 0)
		return rc < 0 ? rc : 1;
	s->rule = PP_STEP_RULE_PERIOD;
	s->period = rule.period;
	s->confidence = 0.7 * rule.coverage * (rule.patterns > 1 ? 0.9 : 1.0) * (rule.evicted ? 0.7 : 1.0);
	add_note(s, "steps are guessed from a repeating pattern of %u collectives; podprof_step_begin() marks them for sure",
	         (unsigned)rule.period);
	if (rule.evicted)
		add_note(s, "they are numbered from where records were kept");
	if (rule.irregular)
		add_note(s, "%llu collectives from the first step to the last are not of the pattern",
		         (unsigned long long)rule.irregular);
	if (rule.patterns > 1)
		add_note(s, "the pattern changed %u times", (unsigned)rule.patterns - 1);
	return 0;
}

/* The rule, its marks and its confidence; docs/steps.md has the formulas. */
static int choose_rule(const struct pp_capture *capture, struct pp_marks *list, int asked, struct pp_steps *s)
{
	size_t marking = 0, recording = 0, complete = 0;
	struct pp_range_rule range;
	int rc;

	for (size_t r = 0; r < capture->ranks; r++) {
		if (list_marked(&capture->rank[r], &list[r], &s->backwards) < 0)
			return -ENOMEM;
		marking += list[r].marks > 0;
		for (size_t i = 0; i < list[r].marks; i++)
			complete += list[r].mark[i].complete;
		for (size_t t = 0; t < capture->rank[r].threads && !list[r].has_records; t++)
			list[r].has_records = capture->rank[r].thread[t].spans > 0;
		recording += (size_t)list[r].has_records;
	}
	if (marking && (asked || complete)) {
		s->rule = PP_STEP_RULE_PODPROF;
		s->confidence = (double)marking / (double)recording * (s->backwards ? 0.9 : 1.0);
		if (marking < recording)
			add_note(s, "%zu of %zu ranks marked no step", recording - marking, recording);
		if (s->backwards)
			add_note(s, "%llu step numbers went back: from there on steps are numbered on from the highest",
			         (unsigned long long)s->backwards);
		return 0;
	}
	rc = marking ? 0 : pp_range_rule_find(capture, list, &range);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return marking ? 1 : choose_period(capture, list, s);
	s->rule = PP_STEP_RULE_RANGE;
	s->rule_name = range.name;
	s->confidence = (range.numbered ? 0.9 : 0.8) * range.coverage * range.balance;
	for (int i = 0; i < range.depth; i++)
		s->confidence *= 0.9;
	if (range.evicted && !range.numbered)
		s->confidence *= 0.7;
	add_note(s, "steps are guessed from a repeating range; podprof_step_begin() marks them for sure");
	return 0;
}

static int use_window(const struct pp_capture *capture, struct pp_marks *list, struct pp_steps *s)
{
	s->rule = PP_STEP_RULE_WINDOW;
	s->confidence = 0;
	s->rule_name = 0;
	for (size_t r = 0; r < capture->ranks; r++)
		if (list_window(&capture->rank[r], &list[r]) < 0)
			return -ENOMEM;
	return 0;
}

int pp_steps_find(const struct pp_capture *capture, int64_t first, int64_t last, struct pp_steps *ret_steps, struct pp_err *err)
{
	struct pp_marks *list = calloc(capture->ranks + 1, sizeof(*list));
	struct pp_steps s = {0};
	int asked = last > first;
	int rc = -ENOMEM;

	if (!list)
		goto out;
	rc = choose_rule(capture, list, asked, &s);
	if (rc > 0) {
		if (asked)
			add_note(&s, "steps %lld:%lld were asked for, but no step mark was seen", (long long)first,
			         (long long)last);
		add_note(&s, "the whole run is one step, from each rank's first to its last record");
		rc = use_window(capture, list, &s);
		first = last = 0;
	}
	if (rc == 0)
		rc = fill_table(list, capture->ranks, first, last, &s);
	if (rc == 0 && !s.steps && !asked && s.rule != PP_STEP_RULE_WINDOW) {
		free(s.number);
		free(s.cell);
		free(s.before);
		free(s.after);
		add_note(&s, "no step is complete on every rank: the whole run is one step");
		rc = use_window(capture, list, &s);
		s.number = NULL;
		s.cell = s.before = s.after = NULL;
		if (rc == 0)
			rc = fill_table(list, capture->ranks, 0, 0, &s);
	}
	if (rc == 0 && !s.steps && asked)
		add_note(&s, "steps %lld:%lld were asked for, but no rank completed one of them", (long long)first,
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

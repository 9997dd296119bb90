/* Decides which of two nested patterns is the step; docs/steps.md. Called by step_period.c. */
#include "core/step/step_nest.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/capture/rank.h"
#include "core/capture/thread.h"
#include "core/step/mark_list.h"

#define MOST_OF_CALLS 0.75 /* with less, and no other evidence, a loop is no step */
#define HALF 0.5
#define CLEARLY_MORE 8.0 /* bytes of a call */
#define MANY_ROUNDS 10   /* of a loop: what is between is occasional, if nothing else decides */
#define LONGER 3.0       /* the first round of a loop, where the step computes outside of it */

#define SERIES (UINT32_C(0x80000008) | PP_PERIOD_JOINS) /* no symbol of a call has bit 2 clear */

int pp_period_list_add(struct pp_period_list *list, size_t head, size_t last)
{
	if (PP_GROW(list->step, list->steps, list->room))
		return -ENOMEM;
	list->step[list->steps++] = (struct pp_period_step){.head = head, .last = last};
	return 0;
}

void pp_period_list_release(struct pp_period_list *list)
{
	free(list->step);
	*list = (struct pp_period_list){0};
}

void pp_period_list_measure(struct pp_period_list *list, double share)
{
	uint64_t calls = 0, all;

	if (!list->steps)
		return;
	for (size_t i = 0; i < list->steps; i++)
		calls += list->step[i].last - list->step[i].head + 1;
	all = list->step[list->steps - 1].last - list->step[0].head + 1;
	list->share = (double)calls / (double)all;
	list->share = share < list->share ? share : list->share;
	list->calls = (uint64_t)(list->share * (double)all + 0.5);
	list->period = (uint32_t)(list->step[list->steps / 2].last - list->step[list->steps / 2].head + 1);
}

int pp_period_list_find(struct pp_period_list *list, struct pp_period *p, const uint32_t *symbol, size_t length, const size_t *from,
                        const size_t *to)
{
	size_t head = 0;
	uint64_t first = 0;
	uint32_t period = 0;

	*list = (struct pp_period_list){0};
	pp_period_init(p);
	for (size_t i = 0; i < length; i++) {
		enum pp_period_event event = pp_period_feed(p, symbol[i]);

		if (event == PP_PERIOD_FOUND) {
			first = list->steps ? first : p->start;
			period = p->period;
			for (uint64_t n = 0; n < p->steps; n++) {
				size_t begin = p->start + n * period, end = begin + period - 1;

				if (pp_period_list_add(list, from ? from[begin] : begin, to ? to[end] : end) < 0)
					return -ENOMEM;
			}
			head = p->start + p->steps * period;
		} else if (event == PP_PERIOD_STEP) {
			head = p->period == 1 ? i : head;
			if (pp_period_list_add(list, from ? from[head] : head, to ? to[i] : i) < 0)
				return -ENOMEM;
		} else if (p->at == 1 && !p->skipped) {
			head = i;
		}
	}
	list->patterns = p->found;
	pp_period_list_measure(list, p->last_end > first ? (double)p->matched / (double)(p->last_end - first) : 0);
	if (!from)
		list->period = period;
	return 0;
}

static int is_next(const struct pp_period_list *list, size_t i)
{
	return i > 0 && list->step[i].head == list->step[i - 1].last + 1;
}

size_t pp_period_list_gaps(const struct pp_period_list *list)
{
	size_t gaps = 0;

	for (size_t i = 1; i < list->steps; i++)
		gaps += !is_next(list, i);
	return gaps;
}

int pp_period_list_around(struct pp_period_list *ret_list, struct pp_period *p, const struct pp_stream *s,
                          const struct pp_period_list *inner)
{
	uint32_t *symbol = calloc(s->length + 1, sizeof(*symbol));
	size_t *from = malloc((s->length + 1) * sizeof(*from)), *to = malloc((s->length + 1) * sizeof(*to));
	size_t n = 0, step = 0;
	int rc = -ENOMEM;

	*ret_list = (struct pp_period_list){0};
	if (!symbol || !from || !to)
		goto out;
	for (size_t i = 0; i < s->length; n++) {
		symbol[n] = s->symbol[i];
		from[n] = i;
		if (step < inner->steps && i == inner->step[step].head) {
			symbol[n] = SERIES;
			do
				i = inner->step[step++].last;
			while (step < inner->steps && is_next(inner, step));
		}
		to[n] = i++;
	}
	rc = pp_period_list_find(ret_list, p, symbol, n, from, to);
out:
	free(symbol);
	free(from);
	free(to);
	return rc;
}

/* The longest part of the cyclic pattern that repeats a shorter one at least PP_NEST_TIMES times: its begin and its period.
 * 0: there is none. */
static size_t find_inside(const uint32_t *word, size_t length, size_t *ret_begin)
{
	size_t best = 0, longest = 0;

	for (size_t period = 1; period * PP_NEST_TIMES <= length; period++) {
		size_t run = 0;

		for (size_t i = period; i < 2 * length; i++) {
			run = word[i % length] == word[(i - period) % length] ? run + 1 : 0;
			if (run + period < PP_NEST_TIMES * period || run + period <= longest || run + period > length)
				continue;
			longest = run + period;
			best = period;
			*ret_begin = i + 1 - longest;
		}
	}
	return best;
}

int pp_period_list_inside(struct pp_period_list *ret_list, const struct pp_stream *s, const struct pp_period_list *outer)
{
	size_t begin = 0, period, at = 0, length;
	const uint32_t *word;

	*ret_list = (struct pp_period_list){.patterns = 1};
	while (at < outer->steps && outer->step[at].last - outer->step[at].head + 1 != outer->period)
		at++;
	if (at == outer->steps)
		return 0;
	word = &s->symbol[outer->step[at].head];
	length = outer->period;
	period = find_inside(word, length, &begin);
	for (size_t i = outer->step[0].head; period && i + period <= s->length;) {
		size_t k = 0;

		while (k < period && s->symbol[i + k] == word[(begin + k) % length])
			k++;
		if (k == period && pp_period_list_add(ret_list, i, i + period - 1) < 0)
			return -ENOMEM;
		i += k == period ? period : 1;
	}
	pp_period_list_measure(ret_list, 1);
	return 0;
}

int pp_period_times_init(struct pp_period_times *times, size_t length)
{
	times->begin = calloc(length + 1, sizeof(*times->begin));
	times->end = calloc(length + 1, sizeof(*times->end));
	times->work = calloc(length + 1, sizeof(*times->work));
	return times->begin && times->end && times->work ? 0 : -ENOMEM;
}

void pp_period_times_release(struct pp_period_times *times)
{
	free(times->begin);
	free(times->end);
	free(times->work);
}

static int64_t median(int64_t *ns, size_t n)
{
	if (!n)
		return 0;
	qsort(ns, n, sizeof(*ns), pp_compare_int64);
	return ns[n / 2];
}

/* From the end of the collective before it; INT64_MIN: not known. */
static int64_t step_time(const struct pp_period_step *step, const struct pp_period_times *times)
{
	int64_t begin = step->head ? times->end[step->head - 1] : INT64_MIN, end = times->end[step->last];

	if (begin == INT64_MIN)
		begin = times->begin[step->head];
	return begin == INT64_MIN || end == INT64_MIN || end < begin ? INT64_MIN : end - begin;
}

void pp_period_list_time(const struct pp_period_list *list, const struct pp_period_times *times, struct pp_period_time *sum)
{
	int64_t usual, first, end = INT64_MIN, begin = INT64_MIN;
	size_t n = 0, firsts = 0;

	for (size_t i = 0; i < list->steps; i++) {
		int64_t ns = step_time(&list->step[i], times);

		if (ns == INT64_MIN)
			continue;
		if (is_next(list, i)) {
			times->work[n++] = ns;
			sum->own += (double)ns;
		}
	}
	usual = median(times->work, n);
	for (size_t i = 0; i < list->steps; i++) {
		int64_t ns = step_time(&list->step[i], times), own;

		if (ns == INT64_MIN)
			continue;
		end = times->end[list->step[i].last];
		own = ns < usual ? ns : usual;
		if (begin == INT64_MIN)
			begin = end - own;
		if (is_next(list, i))
			continue;
		sum->own += (double)own;
		times->work[firsts++] = ns;
	}
	first = median(times->work, firsts);
	sum->first += (double)first;
	sum->next += (double)usual;
	sum->whole += begin == INT64_MIN ? 0 : (double)(end - begin);
}

/* Bytes of a call of these steps, and of a call between them. */
static void count_bytes(const struct pp_period_list *list, const struct pp_stream *s, double *ret_in, double *ret_between)
{
	double in = 0, between = 0;
	size_t calls = 0, others = 0, step = 0;

	for (size_t i = list->step[0].head; i <= list->step[list->steps - 1].last; i++) {
		while (list->step[step].last < i)
			step++;
		if (s->symbol[i] == PP_PERIOD_MESSAGES)
			continue;
		if (i >= list->step[step].head) {
			in += (double)s->bytes[i];
			calls++;
		} else {
			between += (double)s->bytes[i];
			others++;
		}
	}
	*ret_in = in / (double)(calls + !calls);
	*ret_between = between / (double)(others + !others);
}

enum pp_period_nest pp_period_list_nest(const struct pp_period_list *list, const struct pp_stream *s,
                                        const struct pp_period_time *time, int all_ranks)
{
	int separate, alike = list->period == 1;
	double in, between;

	if (pp_period_list_gaps(list) < PP_NEST_GAPS)
		return PP_NEST_NONE;
	count_bytes(list, s, &in, &between);
	separate = time->own < HALF * time->whole; /* most of the time is between */
	if (between > CLEARLY_MORE * in)
		return PP_NEST_LOOP;
	if (in > CLEARLY_MORE * between && !alike)
		return !separate ? PP_NEST_STEPS : all_ranks ? PP_NEST_LOOP : PP_NEST_UNSURE;
	if (list->share < MOST_OF_CALLS)
		return PP_NEST_LOOP;
	if (all_ranks && (separate || time->first > LONGER * time->next))
		return PP_NEST_LOOP;
	if (alike)
		return PP_NEST_UNSURE;
	return list->steps >= MANY_ROUNDS * (pp_period_list_gaps(list) + 1) ? PP_NEST_ROUNDS : PP_NEST_LOOP;
}

int pp_period_list_mark(const struct pp_period_list *list, const struct pp_period_times *times, const struct pp_rank *rank,
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

/* The OPTIMIZER rule: steps of training end with calls of the optimizer; docs/steps.md. Called by step_mark.c and step_range.c. */
#include "core/step/step_optimizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/mark_list.h"

enum {
	TUPLE_MOST = 16, /* optimizers that are called in turn */
	BETWEEN = 4,     /* times the time in a burst is between bursts */
	ANOTHER = 10,    /* part of both works' operators by which they are not alike */
	SPREAD = 0x9e3779b1
};

static const char CALL[] = "Optimizer.step#";

struct tuple {
	uint32_t name[TUPLE_MOST]; /* the last one ends the step */
	size_t names;
	int is_burst; /* all of one name */
};

static int is_call(const struct pp_intern *names, uint32_t id)
{
	size_t length;
	const char *text = pp_intern_text(names, id, &length);

	return length > strlen(CALL) && !memcmp(text, CALL, strlen(CALL));
}

/* Within an operator it is a part of backward, which updates each parameter when its gradient is there. */
static int list_thread(const struct pp_intern *names, const struct pp_thread *thread, struct pp_optimizers_rank *o)
{
	int64_t end = INT64_MIN, operator_end = INT64_MIN;
	struct pp_optimizer_call call = {.name = 0};

	o->calls = 0;
	for (size_t i = 0; i < thread->spans; i++) {
		const struct pp_span *span = &thread->span[i];

		if (span->kind != PP_SPAN_RANGE ||
		    (span->range.origin != PP_ORIGIN_PROGRAM && span->range.origin != PP_ORIGIN_OPERATOR))
			continue;
		if (!is_call(names, span->name)) {
			if (span->range.origin == PP_ORIGIN_OPERATOR && span->end > operator_end)
				operator_end = span->end;
			if (span->range.origin == PP_ORIGIN_OPERATOR && span->begin >= end)
				call.work[(span->name + 1) * SPREAD >> 28]++;
			continue;
		}
		if (span->begin < end || span->begin < operator_end || (span->flags & PP_SPAN_CUT_END))
			continue;
		if (PP_GROW(o->call, o->calls, o->room))
			return -ENOMEM;
		call.begin = span->begin;
		call.end = end = span->end;
		call.name = span->name;
		o->call[o->calls++] = call;
		memset(call.work, 0, sizeof(call.work));
	}
	return 0;
}

static int list_rank(const struct pp_intern *names, const struct pp_rank *rank, struct pp_optimizers_rank *o)
{
	struct pp_optimizers_rank one = {.call = NULL};
	int rc = 0;

	for (uint32_t t = 0; t < rank->threads && rc == 0; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		if (thread->device || !pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_RANGE)))
			continue;
		rc = list_thread(names, thread, &one);
		one.thread = t;
		if (rc == 0 && one.calls > o->calls) {
			struct pp_optimizers_rank before = *o;

			*o = one;
			one = before;
		}
	}
	free(one.call);
	return rc;
}

int pp_optimizers_list(const struct pp_capture *capture, struct pp_optimizers *ret)
{
	int rc = 0;

	*ret = (struct pp_optimizers){.rank = calloc(capture->ranks + 1, sizeof(*ret->rank)), .ranks = capture->ranks};
	if (!ret->rank)
		return -ENOMEM;
	for (size_t r = 0; r < capture->ranks && rc == 0; r++)
		rc = list_rank(capture->names, &capture->rank[r], &ret->rank[r]);
	return rc;
}

void pp_optimizers_release(struct pp_optimizers *o)
{
	for (size_t r = 0; o->rank && r < o->ranks; r++)
		free(o->rank[r].call);
	free(o->rank);
	*o = (struct pp_optimizers){NULL, 0};
}

/* Marks and calls are in order. */
static size_t calls_in(const struct pp_optimizers_rank *o, const struct pp_marks *m)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < o->calls; i++) {
		while (at < m->marks && m->mark[at].end <= o->call[i].begin)
			at++;
		n += at < m->marks && m->mark[at].begin <= o->call[i].begin;
	}
	return n;
}

int pp_optimizers_in(const struct pp_optimizers *o, const struct pp_marks *list)
{
	for (size_t r = 0; r < o->ranks; r++)
		if (o->rank[r].calls >= PP_OPTIMIZER_FEWEST && 2 * calls_in(&o->rank[r], &list[r]) < o->rank[r].calls)
			return 0;
	return 1;
}

static size_t period_of(const struct pp_optimizers_rank *o)
{
	for (size_t p = 1; p <= TUPLE_MOST && 2 * p <= o->calls; p++) {
		size_t i = p;

		while (i < o->calls && o->call[i].name == o->call[i - p].name)
			i++;
		if (i == o->calls)
			return p;
	}
	return 0;
}

/* Calls of one name in bursts: models in parts, each with an optimizer. How many a burst has; 1: they are not in bursts. */
static size_t burst_of(const struct pp_optimizers_rank *o)
{
	for (size_t n = 2; n <= TUPLE_MOST && 2 * n <= o->calls; n++)
		for (size_t first = 0; first < n; first++) { /* the first gap between bursts */
			int64_t least = INT64_MAX, most = 0;

			for (size_t i = 0; i + 1 < o->calls; i++) {
				int64_t gap = o->call[i + 1].begin - o->call[i].end;

				if (i % n == first)
					least = gap < least ? gap : least;
				else
					most = gap > most ? gap : most;
			}
			if (least / BETWEEN > most)
				return n;
		}
	return 1;
}

/* Is the work in front of them of another sort? A logged loss or a metric more is not. */
static int is_other_work(const struct pp_optimizer_call *a, const struct pp_optimizer_call *b)
{
	uint64_t all = 0, other = 0;

	for (int i = 0; i < PP_OPTIMIZER_SORTS; i++) {
		all += (uint64_t)a->work[i] + b->work[i];
		other += a->work[i] > b->work[i] ? a->work[i] - b->work[i] : b->work[i] - a->work[i];
	}
	return other > all / ANOTHER;
}

/* Calls of one name behind two sorts of work in turn: two models that train each other. The first call's work may be cut. */
static int alternates(const struct pp_optimizers_rank *o)
{
	for (size_t i = 2; i < o->calls; i++)
		if (!is_other_work(&o->call[i], &o->call[i - 1]) ||
		    (i > 2 && memcmp(o->call[i].work, o->call[i - 2].work, sizeof(o->call[i].work)) != 0))
			return 0;
	return o->calls >= 2 * PP_OPTIMIZER_FEWEST;
}

/* The last of the tuple has the longest time behind it, in sum; where none stands out, the one that the records have last. */
static size_t last_of(const struct pp_optimizers_rank *o, size_t period)
{
	int64_t behind[TUPLE_MOST] = {0};
	size_t best = period - 1;

	for (size_t i = 0; i + 1 < o->calls && i < o->calls / period * period; i++)
		behind[i % period] += o->call[i + 1].begin - o->call[i].end;
	for (size_t k = 0; k < period; k++)
		if (behind[k] / 2 > behind[best])
			best = k;
	return best;
}

static uint32_t commonest(const struct pp_optimizers_rank *o)
{
	size_t most = 0;
	uint32_t best = 0;

	for (size_t i = 0; i < o->calls; i++) {
		size_t n = 0;

		if (i && o->call[i].name == o->call[i - 1].name)
			continue;
		for (size_t k = 0; k < o->calls; k++)
			n += o->call[k].name == o->call[i].name;
		if (n > most) {
			most = n;
			best = o->call[i].name;
		}
		if (2 * n > o->calls)
			break;
	}
	return best;
}

static struct tuple tuple_of(const struct pp_optimizers_rank *o)
{
	const size_t names = period_of(o), burst = names == 1 ? burst_of(o) : names,
	             period = burst == 1 && alternates(o) ? 2 : burst;
	const size_t last = period ? last_of(o, period) : 0;
	struct tuple t = {.names = period};

	for (size_t i = 0; i < period; i++)
		t.name[i] = o->call[(last + 1 + i) % period].name;
	t.is_burst = period > 1 && names == 1;
	if (!period)
		t = (struct tuple){.name = {commonest(o)}, .names = 1};
	return t;
}

/* At which place of the tuple a rank's calls begin; names of the tuple: at none. */
static size_t phase_of(const struct pp_optimizers_rank *o, const struct tuple *t)
{
	size_t phase = 0, i = 0;

	if (t->is_burst && o->calls > t->names)
		return t->names - 1 - last_of(o, t->names);
	for (; phase < t->names && i < o->calls; phase += i < o->calls)
		for (i = 0; i < o->calls && o->call[i].name == t->name[(i + phase) % t->names];)
			i++;
	return phase;
}

enum first {
	FIRST_OTHER,
	FIRST_CUT,
	FIRST_WHOLE
}; /* what is recorded before the end of the first step: little of it, most of it, all of it */

struct work {
	const struct pp_capture *capture;
	const struct pp_optimizers *o;
	struct tuple tuple;
	int64_t horizon;
	size_t calls, ends, few, many, have, recording; /* over all ranks; steps of one rank */
	double covered, recorded;
};

/* A sample of a counter comes when it does, in any step. */
static size_t count_spans(const struct pp_thread *thread, size_t *at, int64_t until)
{
	size_t count = 0;

	for (; *at < thread->spans && thread->span[*at].begin < until; ++*at)
		count += thread->span[*at].kind != PP_SPAN_COUNTER;
	return count;
}

/* A file may begin in the middle of a step. The first step is all there if no other has fewer records; with half as many it is most
 * of one, however long it took: first steps warm up. */
static enum first first_of(const struct pp_rank *rank, const struct pp_marks *m)
{
	const struct pp_thread *thread = &rank->thread[m->thread];
	size_t at = 0, first, fewest = SIZE_MAX;

	if (!rank->trace.format[0] || m->marks < 2)
		return FIRST_OTHER;
	first = count_spans(thread, &at, m->mark[0].end);
	for (size_t i = 1; i < m->marks; i++) {
		size_t n = count_spans(thread, &at, m->mark[i].end);

		fewest = n < fewest ? n : fewest;
	}
	return first >= fewest ? FIRST_WHOLE : 2 * first >= fewest ? FIRST_CUT : FIRST_OTHER;
}

static int mark_rank(struct work *w, size_t r, struct pp_marks *list, enum first *ret_first)
{
	const struct pp_optimizers_rank *o = &w->o->rank[r];
	const struct pp_rank *rank = &w->capture->rank[r];
	size_t phase = phase_of(o, &w->tuple), names = w->tuple.names;
	int64_t end = INT64_MIN, ordinal = 0;

	*ret_first = FIRST_OTHER;
	list->marks = 0;
	list->thread = o->thread;
	for (size_t i = 0; i < o->calls; i++) {
		struct pp_mark mark = {.begin = end, .end = o->call[i].end, .complete = end != INT64_MIN && end >= w->horizon};
		int is_end = phase < names ? (i + phase) % names == names - 1 : o->call[i].name == w->tuple.name[names - 1];

		if (!is_end || mark.end < w->horizon)
			continue;
		if (end == INT64_MIN)
			mark.begin = rank->thread[o->thread].first;
		mark.number = ordinal++;
		end = mark.end;
		if (pp_marks_add(list, &mark) < 0)
			return -ENOMEM;
	}
	if (w->horizon == INT64_MIN)
		*ret_first = first_of(rank, list);
	if (*ret_first == FIRST_WHOLE)
		list->mark[0].complete = 1;
	w->calls += o->calls;
	w->ends += phase < names ? o->calls : list->marks;
	return 0;
}

static void add_rank(struct work *w, size_t r, const struct pp_marks *m, enum first first)
{
	w->recording += m->has_records != 0;
	if (!m->marks)
		return;
	w->have++;
	w->few = m->marks < w->few ? m->marks : w->few;
	w->many = m->marks > w->many ? m->marks : w->many;
	w->recorded += pp_recorded_time(&w->capture->rank[r]);
	w->covered += (double)(m->mark[m->marks - 1].end - m->mark[first == FIRST_OTHER && !m->mark[0].complete].begin);
}

/* "SGD" of "Optimizer.step#SGD.step". */
static uint32_t own_name(struct pp_intern *names, uint32_t id)
{
	size_t length;
	const char *text = pp_intern_text(names, id, &length) + strlen(CALL), *point;

	length -= strlen(CALL);
	point = memchr(text, '.', length);
	return pp_intern_put(names, text, point && point > text ? (size_t)(point - text) : length) ?: id;
}

static int decide(const struct work *w, struct pp_optimizer_rule *ret)
{
	ret->tuple = w->tuple.names;
	ret->steps = w->many;
	ret->balance = w->many - w->few > 1 ? (double)w->few / (double)w->many : 1;
	ret->time = w->recorded > 0 ? w->covered / w->recorded : 0;
	ret->confidence = 0.8 * ret->balance * (double)w->ends / (double)w->calls;
	if (w->recording > w->have)
		ret->confidence *= (double)w->have / (double)w->recording;
	if (ret->time < PP_RANGE_TIME)
		ret->confidence *= ret->time;
	return ret->confidence >= PP_GUESS_CONFIDENCE;
}

int pp_optimizer_rule_find(const struct pp_capture *capture, const struct pp_optimizers *o, struct pp_marks *list,
                           struct pp_optimizer_rule *ret_rule)
{
	struct work w = {.capture = capture, .o = o, .horizon = INT64_MIN, .few = SIZE_MAX};
	size_t most = 0;
	int found;

	for (size_t r = 0; r < capture->ranks; r++) {
		w.horizon = capture->rank[r].horizon > w.horizon ? capture->rank[r].horizon : w.horizon;
		most = o->rank[r].calls > o->rank[most].calls ? r : most;
	}
	if (!capture->ranks || o->rank[most].calls < PP_OPTIMIZER_FEWEST)
		return 0;
	w.tuple = tuple_of(&o->rank[most]);
	for (size_t r = 0; r < capture->ranks; r++) {
		enum first first;

		if (mark_rank(&w, r, &list[r], &first) < 0)
			return -ENOMEM;
		add_rank(&w, r, &list[r], first);
	}
	*ret_rule = (struct pp_optimizer_rule){.name = own_name(capture->names, w.tuple.name[w.tuple.names - 1])};
	found = w.many >= 2 && decide(&w, ret_rule);
	for (size_t r = 0; r < capture->ranks && !found; r++)
		list[r].marks = 0;
	return found;
}

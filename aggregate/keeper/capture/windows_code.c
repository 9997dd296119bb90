/* Windows that the program asks for: when the n-th is over on all ranks it is a session, as one of --steps is.
 * Called by windows.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/keeper/capture/windows_private.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/ranks.h"
#include "aggregate/session/window_rows.h"
#include "core/base/now.h"

enum { UNSTEPPED_MS = 1000 }; /* a rank elsewhere that marks no step is taken to have passed what ranks here have */

enum stand {
	NEVER,  /* this rank has never asked for any */
	BEHIND, /* it has not come to this one */
	ASKED,
	BEGUN,
	PASSED,
	MISSED,
	GONE, /* its row is another's by now */
};

static const struct pp_code_row *row_of(const struct pp_ring_header *h, uint64_t place)
{
	const struct pp_code_row *row = &h->code[place % PP_WINDOW_ROWS];

	return atomic_load_explicit(&row->number, memory_order_acquire) == place + 1 ? row : NULL;
}

static uint64_t count_of(const struct pp_ring_header *h)
{
	return atomic_load_explicit(&h->code_windows, memory_order_acquire);
}

static enum stand stand_of(const struct pp_ring_header *h, uint64_t place)
{
	const struct pp_code_row *row = row_of(h, place);

	if (!row)
		return place < count_of(h) ? GONE : count_of(h) ? BEHIND : NEVER;
	switch (atomic_load_explicit(&row->state, memory_order_acquire)) {
	case PP_CODE_PASSED:
		return PASSED;
	case PP_CODE_BEGUN:
		return BEGUN;
	case PP_CODE_MISSED:
		return MISSED;
	default:
		return ASKED;
	}
}

int pp_windows_by_code(const struct pp_rings *r)
{
	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (count_of(pp_rings_header(r, i)))
			return 1;
	return 0;
}

static int is_closed(const struct pp_windows *w, uint64_t place)
{
	return place < w->code_next || (place - w->code_next < 64 && w->code_closed >> (place - w->code_next) & 1);
}

static void set_closed(struct pp_windows *w, uint64_t place)
{
	if (place - w->code_next < 64)
		w->code_closed |= UINT64_C(1) << (place - w->code_next);
	for (; w->code_closed & 1; w->code_closed >>= 1)
		w->code_next++;
	w->code_since_ms = w->code_step_ms = 0;
}

int pp_windows_lack_ranks(const struct pp_windows_job *job)
{
	size_t others, here = pp_rings_count(job->view->rings);

	pp_pod_ranks(job->pod, &others);
	return here && (int64_t)(here + others) < pp_rings_header(job->view->rings, 0)->size;
}

/* Of ranks elsewhere only their steps are known: those that are past the step that ranks here were in have passed the window
 * too. */
static int others_follow(struct pp_windows *w, const struct pp_windows_job *job)
{
	size_t others;
	const struct pp_pod_rank *other = pp_pod_ranks(job->pod, &others);

	if (!w->code_step_ms) {
		w->code_step = pp_ranks_highest_step(job->view->rings);
		w->code_step_ms = pp_now_ms();
	}
	for (size_t i = 0; i < others; i++)
		if (!other[i].over &&
		    (other[i].step == INT64_MIN ? pp_now_ms() - w->code_step_ms < UNSTEPPED_MS : other[i].step <= w->code_step))
			return pp_now_ms() - w->code_step_ms > PP_WINDOWS_LATE_MS;
	return 1;
}

struct seen { /* one window on all ranks */
	int over, open, behind, never, begun, passed;
	const struct pp_ring_header *of; /* one that has its row */
};

static struct seen look(const struct pp_windows *w, const struct pp_windows_job *job, uint64_t place)
{
	struct pp_spool_view *v = job->view;
	struct seen s = {0};

	for (size_t i = 0; i < pp_rings_count(v->rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(v->rings, i);
		int ended = pp_ranks_has_ended(v, i); /* first: its last word came before its end */
		enum stand stand = stand_of(h, place);

		if (stand == ASKED || stand == BEGUN || stand == PASSED || stand == MISSED)
			s.of = h;
		s.begun |= stand == BEGUN || stand == PASSED;
		s.passed |= stand == PASSED;
		s.over |= stand == PASSED || stand == MISSED || stand == GONE;
		s.open |= !ended && (stand == ASKED || stand == BEGUN);
		s.behind |= !ended && stand == BEHIND;
		s.never |= !ended && stand == NEVER;
	}
	s.never |= pp_ranks_seen(v) + (int)v->refused < pp_ranks_expected(v) || (!w->without && pp_windows_lack_ranks(job));
	return s;
}

/* Is its time over? Those that are late, or ask for none, are waited for from when the first one has passed it. */
static int is_due(struct pp_windows *w, const struct pp_windows_job *job, const struct seen *s)
{
	int64_t waited;

	if (!s->over)
		return 0;
	if (!s->open && !s->behind && !s->never)
		return others_follow(w, job);
	if (!w->code_since_ms)
		w->code_since_ms = pp_now_ms();
	waited = pp_now_ms() - w->code_since_ms;
	w->without |= waited > PP_WINDOWS_UNMARKED_MS;
	return waited > (s->open || s->behind ? PP_WINDOWS_LATE_MS : PP_WINDOWS_UNMARKED_MS);
}

/* Rows are written while this reads them, and a program may be through all of them meanwhile. */
int pp_windows_code_ticks(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	uint64_t place = *(const uint64_t *)context;
	enum stand stand = stand_of(h, place);
	const struct pp_code_row *row = row_of(h, place);
	pp_tick begin, end;

	if (!row || (stand != BEGUN && stand != PASSED))
		return 0;
	begin = row->begin;
	end = row->end;
	atomic_thread_fence(memory_order_acquire); /* it is the same row still */
	if (row_of(h, place) != row || begin > (pp_tick)INT64_MAX || end > (pp_tick)INT64_MAX)
		return 0;
	*ret_from = (int64_t)begin;
	*ret_to = stand == PASSED ? (int64_t)end : INT64_MAX;
	return stand == PASSED ? PP_TICKS_PASSED : 1;
}

int64_t pp_windows_code_needs(const struct pp_windows *w, const struct pp_ring_header *h)
{
	int64_t least = INT64_MAX, from, to;
	uint64_t count = count_of(h), kept = count > PP_WINDOW_ROWS ? count - PP_WINDOW_ROWS : 0;

	for (uint64_t n = kept > w->code_next ? kept : w->code_next; n < count; n++)
		if (!is_closed(w, n) && pp_windows_code_ticks(h, &n, &from, &to) && from < least)
			least = from;
	return least;
}

static int64_t end_of(const struct pp_ring_header *h, uint64_t place)
{
	int64_t from, to = INT64_MAX;

	return pp_windows_code_ticks(h, &place, &from, &to) ? to : INT64_MAX;
}

static void words_of(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank)
{
	int64_t from = 0, to = 0;

	(void)ring;
	if (!pp_windows_code_ticks(h, context, &from, &to))
		return;
	rank->asked = rank->acked = rank->started = from;
	if (to < INT64_MAX)
		rank->ended = to;
}

static void name_of(const struct pp_ring_header *h, uint64_t place, char *text, size_t size)
{
	const struct pp_code_row *row = h ? row_of(h, place) : NULL;
	char name[sizeof(row->name)];

	if (!row)
		snprintf(text, size, "window %" PRIu64 " of the program", place + 1);
	else if (row->last > row->first)
		snprintf(text, size, "%" PRId64 ":%" PRId64, row->first, row->last);
	else {
		snprintf(name, sizeof(name), "%s", row->name);
		snprintf(text, size, "window %s%s%s", *name ? "'" : "", *name ? name : "without a name", *name ? "'" : "");
	}
}

static void start(struct pp_windows *w, const struct pp_windows_job *job, const struct seen *s, uint64_t place)
{
	struct pp_close_range *range = pp_writing_ranges(job->view->rings, pp_windows_code_ticks, &place);
	struct pp_window_told told = {.by = "code", .channel = "none", .tries = 1};
	const struct pp_code_row *row = row_of(s->of, place);
	struct pp_pod_window hosts = {.cut = PP_POD_CODE, .number = place};
	struct pp_writing writing = {.range = range, .told = &told, .hosts = &hosts, .limit_ms = w->limit_ms};
	char label[128];

	name_of(s->of, place, label, sizeof(label));
	snprintf(told.kind, sizeof(told.kind), "%s", row && row->last > row->first ? "steps" : "span");
	if (row && row->last > row->first) {
		writing.first = row->first;
		writing.last = row->last;
		snprintf(told.what, sizeof(told.what), "podprof_profile_steps(%" PRId64 ", %" PRId64 ")", row->first, row->last);
	} else {
		snprintf(told.what, sizeof(told.what), "podprof_window_start(): %s", label);
	}
	if (pp_window_rows_make(job->view->rings, words_of, &place, &told))
		told.by[0] = '\0';
	hosts.first = writing.first;
	hosts.last = writing.last;
	snprintf(w->name, sizeof(w->name), "%s", row && row->last <= row->first ? row->name : "");
	set_closed(w, place);
	pp_windows_start(w, job, &writing, label);
	pp_window_told_release(&told);
	free(range);
	if (!w->hold)
		pp_windows_drop(w, job, end_of, place);
}

/* More than the edge step in front of it. */
static int was_reached(const struct pp_rings *r, uint64_t place)
{
	for (size_t i = 0; i < pp_rings_count(r); i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);
		const struct pp_code_row *row = row_of(h, place);

		if (row && row->last <= row->first)
			return 1;
		if (row && pp_ranks_step(h) >= row->first)
			return 1;
	}
	return 0;
}

int pp_windows_code_run(struct pp_windows *w, const struct pp_windows_job *job, int ending)
{
	struct pp_rings *r = job->view->rings;
	uint64_t most = 0;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (count_of(pp_rings_header(r, i)) > most)
			most = count_of(pp_rings_header(r, i));
	if (most > w->code_next + PP_WINDOW_ROWS) { /* they came faster than sessions are written */
		w->told.skipped += most - PP_WINDOW_ROWS - w->code_next;
		w->code_closed = 0;
		w->code_next = most - PP_WINDOW_ROWS;
	}
	for (uint64_t n = w->code_next; n < most; n++) {
		struct seen s;
		char label[128];

		if (is_closed(w, n))
			continue;
		s = look(w, job, n);
		if (!ending && !is_due(w, job, &s))
			continue;
		/* After the ranks' words: what they recorded before them is there now. */
		pp_rings_drain_all(r);
		s = look(w, job, n);
		if (s.begun && s.of && (s.passed || was_reached(r, n))) {
			start(w, job, &s, n);
			return 1;
		}
		name_of(s.of, n, label, sizeof(label));
		set_closed(w, n);
		pp_windows_miss(w, label);
	}
	return 0;
}

/* The keeper's request on this rank; see ask.h. Called by trigger.c. */
#include "core/window/ask.h"

#include <errno.h>

void pp_ask_init(struct pp_ask *a, const struct pp_control *control, struct pp_ring_header *header)
{
	*a = (struct pp_ask){.control = control, .header = header};
}

static void accept(struct pp_ask *a, int64_t first, int64_t last, int64_t here)
{
	struct pp_window_row *row = &a->header->request_row;

	row->first = first;
	row->last = last;
	row->begin = row->end = 0;
	a->phase = PP_ASK_IDLE;
	a->state = PP_REQUEST_LATE;
	if (here >= first)
		return;
	pp_window_init(&a->window, first, last);
	a->window.recording = 0;
	a->phase = PP_ASK_LIVE;
	a->state = PP_REQUEST_TAKEN;
}

struct request { /* one reading of the keeper's page */
	uint32_t bell, kind;
	int64_t first, last;
	uint32_t level;
};

/* 0: the keeper is changing it; the next poll reads it whole. */
static int read_page(const struct pp_control *c, struct request *t)
{
	t->bell = atomic_load_explicit(&c->bell, memory_order_acquire);
	/* Acquire: the bell is read again after them. */
	t->kind = atomic_load_explicit(&c->request_kind, memory_order_acquire);
	t->first = atomic_load_explicit(&c->request_first, memory_order_acquire);
	t->last = atomic_load_explicit(&c->request_last, memory_order_acquire);
	t->level = atomic_load_explicit(&c->request_level, memory_order_acquire);
	return t->bell == atomic_load_explicit(&c->bell, memory_order_relaxed);
}

/* Switches recording on or off now. */
static void switch_now(struct pp_ask *a, int on, pp_tick tick)
{
	struct pp_window_row *row = &a->header->request_row;

	if (on && a->phase != PP_ASK_ON) {
		row->first = row->last = 0;
		row->begin = tick;
		row->end = 0;
	} else if (!on && a->phase == PP_ASK_ON) {
		row->end = tick;
	}
	a->state = on ? PP_REQUEST_STARTED : PP_REQUEST_PASSED;
	a->phase = on ? PP_ASK_ON : PP_ASK_IDLE;
}

void pp_ask_receive(struct pp_ask *a, int at_mark, int64_t number, pp_tick tick)
{
	struct request t;

	if (!a->control || !read_page(a->control, &t))
		return;
	if (t.bell == a->number && !(at_mark && a->phase == PP_ASK_DEFERRED))
		return;
	a->number = t.bell;
	a->level = t.level;
	if (a->phase == PP_ASK_ON && t.kind != PP_ASK_NOW)
		switch_now(a, 0, tick);
	else
		a->state = PP_REQUEST_NONE;
	if (t.kind == PP_ASK_NOW) {
		switch_now(a, 1, tick);
		return;
	}
	a->phase = PP_ASK_IDLE;
	if (t.kind == PP_ASK_NOTHING)
		return;
	a->state = PP_REQUEST_NONE;
	if (t.kind == PP_ASK_AGREE && t.last > 0 && t.first >= 0) {
		a->phase = PP_ASK_AGREEING;
		a->margin = t.first;
		a->count = t.last;
	} else if (t.kind == PP_ASK_STEPS && t.last > t.first) {
		a->phase = PP_ASK_DEFERRED;
		if (at_mark)
			accept(a, t.first, t.last, number);
	}
}

void pp_ask_agreed(struct pp_ask *a, uint32_t number, int rc, int64_t highest, int64_t here)
{
	int64_t first, last;

	if (a->phase != PP_ASK_AGREEING || a->number != number || rc == -EAGAIN)
		return;
	a->state = PP_REQUEST_AGREEING;
	if (!rc)
		return;
	if (highest == INT64_MIN)
		highest = -1; /* no rank has begun a step */
	if (rc > 0 && !__builtin_add_overflow(highest, a->margin, &first) && !__builtin_add_overflow(first, a->count, &last)) {
		accept(a, first, last, here);
		return;
	}
	a->phase = PP_ASK_IDLE;
	a->state = PP_REQUEST_ALONE;
}

static void record(struct pp_ask *a, int was, pp_tick tick)
{
	struct pp_window_row *row = &a->header->request_row;

	if (a->window.recording && !was) {
		row->begin = tick;
		a->state = PP_REQUEST_STARTED;
	}
	if (a->window.state == PP_WINDOW_PASSED) {
		if (!row->begin)
			row->begin = tick;
		row->end = tick;
		a->phase = PP_ASK_IDLE;
		a->state = PP_REQUEST_PASSED;
	}
}

void pp_ask_begin(struct pp_ask *a, int64_t number, pp_tick tick)
{
	int was = a->window.recording;

	if (a->phase != PP_ASK_LIVE)
		return;
	pp_window_begin(&a->window, number);
	record(a, was, tick);
}

void pp_ask_end(struct pp_ask *a, pp_tick tick)
{
	if (a->phase != PP_ASK_LIVE || !a->window.recording)
		return;
	pp_window_end(&a->window);
	record(a, 1, tick);
}

void pp_ask_overtaken(struct pp_ask *a, int64_t number)
{
	if (a->phase != PP_ASK_LIVE || a->window.recording || number < a->window.first)
		return;
	a->phase = PP_ASK_IDLE;
	a->state = PP_REQUEST_LATE;
}

int64_t pp_ask_next_edge(const struct pp_ask *a)
{
	if (a->phase == PP_ASK_DEFERRED)
		return INT64_MIN;
	if (a->phase != PP_ASK_LIVE)
		return INT64_MAX;
	return a->window.recording || a->window.first == INT64_MIN ? INT64_MIN : a->window.first - 1;
}

void pp_ask_report(struct pp_ask *a)
{
	uint64_t state = (uint64_t)a->number << 8 | (uint64_t)a->state;

	if (state == a->reported)
		return;
	a->reported = state;
	/* Release: rows and earlier records are written before the state is seen. */
	pp_ring_set_request(a->header, state);
}

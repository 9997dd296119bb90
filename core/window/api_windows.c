/* Windows that the program requests via the API; see api_windows.h. Called by trigger.c. */
#include "core/window/api_windows.h"

#include <string.h>

void pp_api_windows_init(struct pp_api_windows *b, struct pp_ring_header *header)
{
	*b = (struct pp_api_windows){.header = header};
}

static struct pp_api_window_row *row_of(const struct pp_api_windows *b, uint64_t place)
{
	return &b->header->api_window[place % PP_WINDOW_ROWS];
}

/* Release: records and the row's ticks are written before. Leaves a row alone that another window has taken. */
static void say(const struct pp_api_windows *b, uint64_t place, enum pp_api_window_state state)
{
	if (b->count - place <= PP_WINDOW_ROWS)
		atomic_store_explicit(&row_of(b, place)->state, (uint64_t)state, memory_order_release);
}

static uint64_t add_row(struct pp_api_windows *b, const char *name, int64_t first, int64_t last, pp_tick begin)
{
	uint64_t place = b->count;
	struct pp_api_window_row *row = row_of(b, place);

	pp_row_take(&row->number);
	row->first = first;
	row->last = last;
	row->begin = begin;
	row->end = 0;
	memset(row->name, 0, sizeof(row->name));
	for (size_t i = 0; name && name[i] && i + 1 < sizeof(row->name); i++)
		row->name[i] = name[i];
	atomic_store_explicit(&row->state, begin ? PP_API_WINDOW_BEGUN : PP_API_WINDOW_ASKED, memory_order_relaxed);
	pp_row_publish(&row->number, place);
	b->count = place + 1;
	pp_ring_set_api_windows(b->header, b->count);
	return place;
}

void pp_api_windows_start(struct pp_api_windows *b, const char *name, pp_tick tick)
{
	b->open = add_row(b, name, 0, 0, tick ? tick : 1) + 1;
}

void pp_api_windows_stop(struct pp_api_windows *b, pp_tick tick)
{
	if (!b->open)
		return;
	if (b->count - (b->open - 1) <= PP_WINDOW_ROWS)
		row_of(b, b->open - 1)->end = tick;
	say(b, b->open - 1, PP_API_WINDOW_PASSED);
	b->open = 0;
}

enum pp_api_steps_answer pp_api_windows_steps(struct pp_api_windows *b, const struct pp_step_windows *asked, int64_t first,
                                              int64_t last, int64_t here)
{
	int64_t other_first, other_last;
	int at = b->steps;

	if (last <= first)
		return PP_API_STEPS_EMPTY;
	if (first <= here || first == INT64_MIN)
		return PP_API_STEPS_LATE;
	if (asked->count && pp_step_windows_get(asked, pp_step_windows_after(asked, first), &other_first, &other_last) &&
	    other_first < last)
		return PP_API_STEPS_OVERLAPS;
	for (int i = 0; i < b->steps; i++)
		if (first < b->step[i].window.last && last > b->step[i].window.first)
			return PP_API_STEPS_OVERLAPS;
	if (b->steps == PP_STEP_WINDOWS)
		return PP_API_STEPS_FULL;
	for (; at > 0 && b->step[at - 1].window.first > first; at--)
		b->step[at] = b->step[at - 1];
	pp_window_init(&b->step[at].window, first, last);
	b->step[at].window.recording = 0;
	b->step[at].place = add_row(b, NULL, first, last, 0);
	b->steps++;
	return PP_API_STEPS_TAKEN;
}

void pp_api_windows_begin(struct pp_api_windows *b, int64_t number, pp_tick tick)
{
	for (int i = 0; i < b->steps; i++) {
		struct pp_window *w = &b->step[i].window;
		struct pp_api_window_row *row = row_of(b, b->step[i].place);
		int was = w->recording;

		pp_window_begin(w, number);
		if (b->count - b->step[i].place > PP_WINDOW_ROWS)
			continue; /* another window has taken its row */
		if (w->recording && !was) {
			row->begin = tick;
			say(b, b->step[i].place, PP_API_WINDOW_BEGUN);
		}
		if (w->state == PP_WINDOW_PASSED)
			row->end = tick;
	}
}

void pp_api_windows_end(struct pp_api_windows *b, pp_tick tick)
{
	for (int i = 0; i < b->steps; i++) {
		struct pp_window *w = &b->step[i].window;

		if (!w->edge_open)
			continue;
		pp_window_end(w);
		if (b->count - b->step[i].place <= PP_WINDOW_ROWS)
			row_of(b, b->step[i].place)->end = tick;
	}
}

void pp_api_windows_finalise(struct pp_api_windows *b)
{
	int left = 0;

	for (int i = 0; i < b->steps; i++) {
		uint64_t place = b->step[i].place;

		if (b->step[i].window.state != PP_WINDOW_PASSED) {
			b->step[left++] = b->step[i];
			continue;
		}
		say(b, place, row_of(b, place)->begin ? PP_API_WINDOW_PASSED : PP_API_WINDOW_MISSED);
	}
	b->steps = left;
}

int pp_api_windows_passed(const struct pp_api_windows *b)
{
	int passed = 0;

	for (int i = 0; i < b->steps; i++)
		passed |= b->step[i].window.state == PP_WINDOW_PASSED;
	return passed;
}

int pp_api_windows_recording(const struct pp_api_windows *b)
{
	int on = b->open != 0;

	for (int i = 0; i < b->steps; i++)
		on |= b->step[i].window.recording;
	return on;
}

int pp_api_windows_has(const struct pp_api_windows *b, int64_t number)
{
	int has = b->open != 0;

	for (int i = 0; i < b->steps; i++)
		has |= number >= b->step[i].window.first && number < b->step[i].window.last;
	return has;
}

int64_t pp_api_windows_ends_from(const struct pp_api_windows *b)
{
	int64_t first = INT64_MAX;

	for (int i = 0; i < b->steps; i++) {
		int64_t from = pp_window_ends_from(&b->step[i].window);

		if (from < first)
			first = from;
	}
	return first;
}

int64_t pp_api_windows_next_edge(const struct pp_api_windows *b)
{
	int64_t next_edge = INT64_MAX;

	for (int i = 0; i < b->steps; i++) {
		if (b->step[i].window.recording)
			return INT64_MIN;
		if (b->step[i].window.first - 1 < next_edge)
			next_edge = b->step[i].window.first - 1;
	}
	return next_edge;
}

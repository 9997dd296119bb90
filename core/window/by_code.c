/* Windows that the program asks for; see by_code.h. Called by trigger.c. */
#include "core/window/by_code.h"

#include <string.h>

void pp_by_code_init(struct pp_by_code *b, struct pp_ring_header *header)
{
	*b = (struct pp_by_code){.header = header};
}

static struct pp_code_row *row_of(const struct pp_by_code *b, uint64_t place)
{
	return &b->header->code[place % PP_WINDOW_ROWS];
}

/* Release: what was recorded, and the row's ticks, are whole. A row that is another window's by now is left alone. */
static void say(const struct pp_by_code *b, uint64_t place, enum pp_code_state state)
{
	if (b->count - place <= PP_WINDOW_ROWS)
		atomic_store_explicit(&row_of(b, place)->state, (uint64_t)state, memory_order_release);
}

/* The next row; `number` is stored last. */
static uint64_t add_row(struct pp_by_code *b, const char *name, int64_t first, int64_t last, pp_tick begin)
{
	uint64_t place = b->count;
	struct pp_code_row *row = row_of(b, place);

	atomic_store_explicit(&row->number, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* whoever reads what follows finds the row taken */
	row->first = first;
	row->last = last;
	row->begin = begin;
	row->end = 0;
	memset(row->name, 0, sizeof(row->name));
	for (size_t i = 0; name && name[i] && i + 1 < sizeof(row->name); i++)
		row->name[i] = name[i];
	atomic_store_explicit(&row->state, begin ? PP_CODE_BEGUN : PP_CODE_ASKED, memory_order_relaxed);
	atomic_store_explicit(&row->number, place + 1, memory_order_release);
	b->count = place + 1;
	pp_ring_set_code_windows(b->header, b->count);
	return place;
}

void pp_by_code_start(struct pp_by_code *b, const char *name, pp_tick tick)
{
	b->open = add_row(b, name, 0, 0, tick ? tick : 1) + 1;
}

void pp_by_code_stop(struct pp_by_code *b, pp_tick tick)
{
	if (!b->open)
		return;
	if (b->count - (b->open - 1) <= PP_WINDOW_ROWS)
		row_of(b, b->open - 1)->end = tick;
	say(b, b->open - 1, PP_CODE_PASSED);
	b->open = 0;
}

enum pp_by_code_answer pp_by_code_steps(struct pp_by_code *b, const struct pp_step_windows *asked, int64_t first, int64_t last,
                                        int64_t here)
{
	int64_t other_first, other_last;
	int at = b->steps;

	if (last <= first)
		return PP_BY_CODE_EMPTY;
	if (first <= here || first == INT64_MIN)
		return PP_BY_CODE_LATE;
	if (asked->count && pp_step_windows_get(asked, pp_step_windows_after(asked, first), &other_first, &other_last) &&
	    other_first < last)
		return PP_BY_CODE_OVERLAPS;
	for (int i = 0; i < b->steps; i++)
		if (first < b->step[i].window.last && last > b->step[i].window.first)
			return PP_BY_CODE_OVERLAPS;
	if (b->steps == PP_STEP_WINDOWS)
		return PP_BY_CODE_FULL;
	for (; at > 0 && b->step[at - 1].window.first > first; at--)
		b->step[at] = b->step[at - 1];
	pp_window_init(&b->step[at].window, first, last);
	b->step[at].window.recording = 0;
	b->step[at].place = add_row(b, NULL, first, last, 0);
	b->steps++;
	return PP_BY_CODE_TAKEN;
}

void pp_by_code_begin(struct pp_by_code *b, int64_t number, pp_tick tick)
{
	for (int i = 0; i < b->steps; i++) {
		struct pp_window *w = &b->step[i].window;
		struct pp_code_row *row = row_of(b, b->step[i].place);
		int was = w->recording;

		pp_window_begin(w, number);
		if (b->count - b->step[i].place > PP_WINDOW_ROWS)
			continue; /* its row is another window's by now */
		if (w->recording && !was) {
			row->begin = tick;
			say(b, b->step[i].place, PP_CODE_BEGUN);
		}
		if (w->state == PP_WINDOW_PASSED)
			row->end = tick;
	}
}

void pp_by_code_end(struct pp_by_code *b, pp_tick tick)
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

void pp_by_code_settle(struct pp_by_code *b)
{
	int left = 0;

	for (int i = 0; i < b->steps; i++) {
		uint64_t place = b->step[i].place;

		if (b->step[i].window.state != PP_WINDOW_PASSED) {
			b->step[left++] = b->step[i];
			continue;
		}
		say(b, place, row_of(b, place)->begin ? PP_CODE_PASSED : PP_CODE_MISSED);
	}
	b->steps = left;
}

int pp_by_code_recording(const struct pp_by_code *b)
{
	int on = b->open != 0;

	for (int i = 0; i < b->steps; i++)
		on |= b->step[i].window.recording;
	return on;
}

int pp_by_code_has(const struct pp_by_code *b, int64_t number)
{
	int has = b->open != 0;

	for (int i = 0; i < b->steps; i++)
		has |= number >= b->step[i].window.first && number < b->step[i].window.last;
	return has;
}

int64_t pp_by_code_ends_from(const struct pp_by_code *b)
{
	int64_t first = INT64_MAX;

	for (int i = 0; i < b->steps; i++) {
		int64_t from = pp_window_ends_from(&b->step[i].window);

		if (from < first)
			first = from;
	}
	return first;
}

int64_t pp_by_code_quiet(const struct pp_by_code *b)
{
	int64_t quiet = INT64_MAX;

	for (int i = 0; i < b->steps; i++) {
		if (b->step[i].window.recording)
			return INT64_MIN;
		if (b->step[i].window.first - 1 < quiet)
			quiet = b->step[i].window.first - 1;
	}
	return quiet;
}

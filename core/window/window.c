/* Decides which steps are recorded; driven by trigger.c. */
#include "core/window/window.h"

void pp_window_init(struct pp_window *w, int64_t first, int64_t last)
{
	*w = (struct pp_window){.first = first, .last = last, .recording = 1};
}

int pp_window_asked(const struct pp_window *w)
{
	return w->last > w->first;
}

int pp_window_begin(struct pp_window *w, int64_t number)
{
	if (!pp_window_asked(w) || w->state == PP_WINDOW_PASSED)
		return w->recording;
	if (w->edge_open || number > w->last) {
		/* Step numbers that go back below the edge close the window too: its steps have passed. */
		w->edge_open = 0;
		w->recording = 0;
		if (number > w->last || w->state == PP_WINDOW_INSIDE)
			w->state = PP_WINDOW_PASSED;
		return 0;
	}
	w->recording = number >= w->first - 1;
	if (number >= w->first)
		w->state = PP_WINDOW_INSIDE;
	w->edge_open = number == w->last;
	return w->recording;
}

int64_t pp_window_ends_from(const struct pp_window *w)
{
	if (!pp_window_asked(w) || !w->recording || w->last == INT64_MAX)
		return INT64_MAX;
	return w->edge_open ? INT64_MIN : w->last + 1;
}

int pp_window_end(struct pp_window *w)
{
	if (!w->edge_open)
		return w->recording;
	w->edge_open = 0;
	w->recording = 0;
	w->state = PP_WINDOW_PASSED;
	return 0;
}

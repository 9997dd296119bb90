/* Recording before a window; see warm.h. Called by trigger.c. */
#include "core/window/warm.h"

enum { LEAST_STEPS = 2 }; /* one in which all streams are used, one that the program may be ahead */

void pp_warm_init(struct pp_warm *w, int64_t steps)
{
	*w = (struct pp_warm){.steps = steps, .next = INT64_MIN};
}

void pp_warm_again(struct pp_warm *w)
{
	w->next = INT64_MIN;
}

static void measure(struct pp_warm *w, int64_t number, int64_t ms)
{
	if (w->is_seen && number > w->number && ms >= w->ms)
		w->step_ms = (double)(ms - w->ms) / (double)(number - w->number);
	w->is_seen = 1;
	w->number = number;
	w->ms = ms;
}

/* Steps before the edge; -1: the length of a step is not known yet. */
static int64_t steps_before(const struct pp_warm *w, int64_t need_ms)
{
	double steps;

	if (w->steps >= 0)
		return w->steps;
	if (!need_ms)
		return LEAST_STEPS;
	if (w->step_ms <= 0)
		return -1;
	steps = (double)need_ms / w->step_ms + 1;
	return steps < LEAST_STEPS ? LEAST_STEPS : steps > 1e9 ? 1000000000 : (int64_t)steps;
}

int pp_warm_mark(struct pp_warm *w, int64_t number, int64_t ms, int64_t edge, int64_t need_ms)
{
	int64_t steps, left;

	measure(w, number, ms);
	w->on = 0;
	w->next = INT64_MAX;
	if (edge == INT64_MAX || number >= edge || __builtin_sub_overflow(edge, number, &left))
		return 0;
	steps = steps_before(w, need_ms);
	if (need_ms && left <= (steps < 0 ? LEAST_STEPS : steps)) {
		w->on = 1;
		w->next = edge;
		return 1;
	}
	/* The length of steps changes, and sources may begin to need time: looks come closer together. */
	left -= steps > 0 ? steps : 0;
	w->next = number + (steps < 0 || left < 2 ? 1 : left / 2);
	return 0;
}

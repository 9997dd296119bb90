/* Runs the windows one after the other, each a pp_window; see plan.h. Driven by trigger.c. */
#include "core/window/plan.h"

/* The keeper reads rows at any time. */
static void start_row(struct pp_plan *p, uint64_t index, pp_tick begin)
{
	struct pp_window_row *row = &p->row[index % PP_WINDOW_ROWS];
	int64_t first, last;

	if (!pp_step_windows_get(&p->asked, index, &first, &last))
		return;
	pp_row_take(&row->number);
	row->first = first;
	row->last = last;
	row->begin = begin;
	row->end = 0;
	pp_row_publish(&row->number, index);
}

static void enter(struct pp_plan *p)
{
	int64_t first = 0, last = 0;

	p->over = !pp_step_windows_get(&p->asked, p->passed, &first, &last);
	p->started = p->next_started;
	p->next_started = 0;
	if (p->over) {
		p->now.recording = 0;
		p->now.state = PP_WINDOW_PASSED;
		return;
	}
	pp_window_init(&p->now, first, last);
	p->now.recording = p->started;
}

void pp_plan_init(struct pp_plan *p, const struct pp_step_windows *asked, struct pp_window_row *row)
{
	*p = (struct pp_plan){.asked = *asked, .row = row};
	if (asked->count)
		enter(p);
	p->now.recording = 1; /* before the first mark everything is recorded */
}

int pp_plan_again(struct pp_plan *p)
{
	const struct pp_step_windows asked = p->asked;

	if (p->passed || p->over)
		return 0;
	pp_row_take(&p->row[0].number);
	pp_plan_init(p, &asked, p->row);
	return 1;
}

int pp_plan_asked(const struct pp_plan *p)
{
	return p->asked.count > 0;
}

int64_t pp_plan_next_edge(const struct pp_plan *p)
{
	if (!pp_plan_asked(p) || p->over)
		return INT64_MAX;
	return p->now.recording ? INT64_MIN : p->now.first - 1;
}

static void pass(struct pp_plan *p, uint64_t next, pp_tick tick)
{
	if (p->started)
		p->row[p->passed % PP_WINDOW_ROWS].end = tick;
	if (next > p->passed + 1 && p->next_started) {
		p->row[(p->passed + 1) % PP_WINDOW_ROWS].end = tick;
		p->next_started = 0;
	}
	p->passed = next > p->passed ? next : p->passed + 1;
	enter(p);
}

/* The edge step behind the window may be a step of the next one, or the edge before it. */
static void start_next(struct pp_plan *p, int64_t number, pp_tick tick)
{
	int64_t first, last;

	if (p->next_started || !pp_step_windows_get(&p->asked, p->passed + 1, &first, &last) || first - 1 > number)
		return;
	start_row(p, p->passed + 1, first - 1 < number && p->step_tick ? p->step_tick : tick);
	p->next_started = 1;
}

int pp_plan_begin(struct pp_plan *p, int64_t number, pp_tick tick)
{
	while (!p->over) {
		pp_window_begin(&p->now, number);
		if (p->now.state != PP_WINDOW_PASSED)
			break;
		/* Repeated windows are not walked through one by one. */
		pass(p, p->asked.every && number > p->now.last ? pp_step_windows_after(&p->asked, number - 1) : 0, tick);
	}
	if (p->over)
		return 0;
	if (p->now.recording && !p->started) {
		start_row(p, p->passed, tick);
		p->started = 1;
	}
	if (p->now.edge_open)
		start_next(p, number, tick);
	p->step_tick = p->now.recording ? tick : 0;
	return p->now.recording;
}

int pp_plan_end(struct pp_plan *p, pp_tick tick)
{
	if (p->over)
		return 0;
	pp_window_end(&p->now);
	if (p->now.state == PP_WINDOW_PASSED)
		pass(p, 0, tick);
	return p->now.recording;
}

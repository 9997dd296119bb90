/* Finds the usual steps; see usual_step.h. */
#include "aggregate/tools/usual_step.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/coverage.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/table/finding_kind.h"
#include "aggregate/tools/sums.h"
#include "core/base/compare.h"
#include "core/base/wrap.h"
#include "core/step/step_name.h"

int64_t pp_usual_steps_time(const struct pp_dataset *d, size_t step, size_t worker)
{
	const struct pp_row_cell *cell = &d->cell[step * d->workers + worker], *next = cell + d->workers;
	int64_t ns = cell->step_ns;

	if (!cell->present)
		return -1;
	if (!d->step[step].kind && step + 1 < d->steps && next->present && d->step[step + 1].number == d->step[step].number + 1)
		ns = pp_wrap_plus(ns, pp_wrap_minus(next->begin_ns, cell->end_ns));
	return ns > 0 ? ns : 0;
}

void pp_usual_steps_measure(struct pp_usual_steps *u, size_t steps)
{
	size_t n = 0;

	for (size_t s = 0; s < steps; s++) {
		u->is_usual[s] = s >= u->course.onset && !u->is_rare[s] && !u->is_other[s];
		if (u->is_usual[s])
			u->room[n++] = u->time[s];
	}
	qsort(u->room, n, sizeof(*u->room), pp_compare_double);
	u->usuals = n;
	u->usual_ns = !n ? 0 : n % 2 ? u->room[n / 2] : (u->room[n / 2 - 1] + u->room[n / 2]) / 2;
	u->spread_ns = n ? (u->room[n - 1 - (n - 1) / 4] - u->room[(n - 1) / 4]) / 2 : 0;
}

double pp_usual_steps_base(const struct pp_usual_steps *u, size_t step)
{
	if (u->course.course == PP_COURSE_GROWING)
		return u->course.before + u->course.slope * (double)step;
	return step < u->course.onset ? u->course.before : u->usual_ns;
}

enum { COMPILES_PERCENT = 5, FAR = 2 }; /* of a step's time; times as long as any step behind it */

/* The greatest share of a rank's step that it compiles, in percent. */
static double compiles(const struct pp_dataset *d, size_t step)
{
	double most = 0;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_cell *cell = &d->cell[step * d->workers + w];

		if (cell->present)
			most = fmax(most, pp_sums_percent(cell->exclusive_ns[PP_CATEGORY_COMPILATION], cell->step_ns));
	}
	return most;
}

/* The first steps that compile, if others behind them do not; else the least number of first ones, fewer than the others, each of
 * which takes twice as long as any behind them. */
static size_t count_warm_up(const struct pp_dataset *d, const struct pp_usual_steps *u)
{
	double shortest = INFINITY;
	size_t n = 0;

	while (n < d->steps && compiles(d, n) >= COMPILES_PERCENT)
		n++;
	if (n)
		return n < d->steps ? n : 0;
	for (n = 1; 2 * n < d->steps; n++) {
		double longest = 0;

		shortest = fmin(shortest, u->time[n - 1]);
		for (size_t s = n; s < d->steps && FAR * longest < shortest; s++)
			longest = fmax(longest, u->time[s]);
		if (FAR * longest < shortest)
			return n;
	}
	return 0;
}

/* A short series is a mixture for all that its numbers tell. That its first steps warm up is known by what they do. */
static void take_warm_up(const struct pp_dataset *d, struct pp_usual_steps *u)
{
	const size_t n = u->course.rare == PP_RARE_NONE && !pp_usual_steps_kind(d) ? count_warm_up(d, u) : 0;

	if (!n || u->course.course != PP_COURSE_STEADY)
		return;
	memset(u->is_rare, 1, n);
	u->course.rare = PP_RARE_START_UP;
	u->course.rares = u->course.start_ups = n;
}

/* A window of --trigger has a step that was slow beside the 64 steps in front of it. Few of these are in the window. */
static void take_slow(const struct pp_dataset *d, struct pp_usual_steps *u)
{
	size_t longest = 0;

	if (!d->windows || strcmp(d->window[0].by, "trigger") != 0 || d->steps < 2 || u->course.rare != PP_RARE_NONE ||
	    u->course.course != PP_COURSE_STEADY)
		return;
	for (size_t s = 1; s < d->steps; s++)
		longest = u->time[s] > u->time[longest] ? s : longest;
	u->is_rare[longest] = 1;
	u->course.rare = PP_RARE_ONE_OFF;
	u->course.rares = 1;
	u->course.first_rare = longest;
}

/* Steps in which one rank is late at equal distances are exceptional also where the noise of all ranks hides that in their times:
 * the finding knows it. It has none yet when it is made. */
static void take_period(const struct pp_dataset *d, struct pp_usual_steps *u)
{
	const struct pp_row_finding *f = NULL;
	size_t first;

	for (size_t i = 0; i < d->findings && !f; i++)
		f = d->finding[i].kind == PP_FINDING_PERIODIC && d->finding[i].finding_period > 1 ? &d->finding[i] : NULL;
	first = f ? pp_dataset_step(d, f->finding_first) : SIZE_MAX;
	if (first == SIZE_MAX || u->course.rare == PP_RARE_PERIODIC)
		return;
	u->course.rare = PP_RARE_PERIODIC;
	u->course.first_rare = first;
	u->course.period = (size_t)f->finding_period;
	for (size_t s = 0; s < d->steps; s++) {
		const int64_t from = pp_wrap_minus(d->step[s].number, f->finding_first);

		u->is_rare[s] = (s < u->course.start_ups && u->is_rare[s]) || (from >= 0 && from % f->finding_period == 0);
	}
}

/* The same of a change: the finding counts the steps from there on. */
static void take_change(const struct pp_dataset *d, struct pp_usual_steps *u)
{
	const struct pp_row_finding *f = NULL;
	size_t onset;

	for (size_t i = 0; i < d->findings && !f; i++)
		f = d->finding[i].kind == PP_FINDING_SUDDEN ? &d->finding[i] : NULL;
	onset = f && u->course.course != PP_COURSE_SUDDEN ? pp_dataset_step(d, f->finding_first) : SIZE_MAX;
	if (onset == SIZE_MAX)
		return;
	u->course.onset = onset;
	pp_usual_steps_measure(u, d->steps);
	if (u->usuals != f->of_steps)
		u->course.onset = 0;
}

static int kind_of(const struct pp_row_step *step)
{
	return step->kind > 0 && step->kind < PP_STEP_KINDS ? step->kind : PP_STEP_NONE;
}

int pp_usual_steps_kind(const struct pp_dataset *d)
{
	int64_t ns[PP_STEP_KINDS] = {0};
	int most = PP_STEP_NONE;

	for (size_t i = 0; i < d->steps * d->workers; i++)
		if (d->cell[i].present)
			pp_wrap_add(&ns[kind_of(&d->step[i / d->workers])], d->cell[i].step_ns);
	for (int k = PP_STEP_NONE + 1; k < PP_STEP_KINDS; k++)
		most = ns[k] > ns[most] || (most == PP_STEP_NONE && ns[k] > 0) ? k : most;
	return most;
}

/* The course of the steps of one kind. Between two of these others may lie, so that equal distances say nothing. -ENOMEM. */
static int find_course(const struct pp_dataset *d, struct pp_usual_steps *u)
{
	const int kind = pp_usual_steps_kind(d);
	double *time = &u->room[3 * (d->steps + 1)];
	size_t *at = calloc(d->steps + 1, sizeof(*at)), n = 0;

	if (!at)
		return -ENOMEM;
	for (size_t s = 0; s < d->steps; s++) {
		u->is_other[s] = kind_of(&d->step[s]) != kind;
		if (u->is_other[s])
			continue;
		at[n] = s;
		time[n++] = u->time[s];
	}
	pp_series_of(time, n, (double)d->pair_bound_ns, u->room, u->is_rare, &u->course);
	if (n < d->steps) {
		for (size_t i = n; i-- > 0;) {
			const uint8_t is = u->is_rare[i];

			u->is_rare[i] = 0;
			u->is_rare[at[i]] = is;
		}
		u->course.onset = u->course.onset && u->course.onset < n ? at[u->course.onset] : 0;
		u->course.first_rare = u->course.first_rare < n ? at[u->course.first_rare] : 0;
		u->course.start_ups = u->course.start_ups && u->course.start_ups < n ? at[u->course.start_ups] : 0;
		u->course.rare = u->course.rare == PP_RARE_PERIODIC ? PP_RARE_IRREGULAR : u->course.rare;
		u->course.period = 0;
	}
	free(at);
	return 0;
}

int pp_usual_steps_find(const struct pp_dataset *d, struct pp_usual_steps *ret)
{
	struct pp_usual_steps *u = ret;
	size_t n = d->steps + 1;

	*u = (struct pp_usual_steps){.time = calloc(n, sizeof(*u->time)),
	                             .is_usual = calloc(n, 1),
	                             .is_rare = calloc(n, 1),
	                             .is_other = calloc(n, 1),
	                             .room = calloc(4 * n, sizeof(*u->room))};
	if (!u->time || !u->is_usual || !u->is_rare || !u->is_other || !u->room)
		return -ENOMEM;
	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const int64_t ns = pp_usual_steps_time(d, i / d->workers, i % d->workers);
		double *time = &u->time[i / d->workers];

		*time = (double)ns > *time ? (double)ns : *time;
	}
	if (find_course(d, u))
		return -ENOMEM;
	take_slow(d, u);
	take_warm_up(d, u);
	take_period(d, u);
	take_change(d, u);
	pp_usual_steps_measure(u, d->steps);
	return 0;
}

const char *pp_usual_steps_name(const struct pp_dataset *d)
{
	static const char *const of_kind[PP_STEP_KINDS] = {"the usual step",        "the usual prefill step",
	                                                   "the usual decode step", "the usual mixed step",
	                                                   "the usual step",        "the usual request"};

	return d->steps > 1                              ? of_kind[pp_usual_steps_kind(d)]
	       : strncmp(d->step_rule, "window", 6) != 0 ? "the step"
	                                                 : pp_coverage_base(d);
}

void pp_usual_steps_release(struct pp_usual_steps *u)
{
	free(u->time);
	free(u->is_usual);
	free(u->is_rare);
	free(u->is_other);
	free(u->room);
	*u = (struct pp_usual_steps){.usuals = 0};
}

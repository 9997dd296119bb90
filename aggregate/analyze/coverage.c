/* How much of the recorded time the session still holds: the window buffer, or --keep, drops the oldest. Called by build.c; the
 * sentence by everything that names the base of a session. */
#include "aggregate/analyze/coverage.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/dataset.h"
#include "core/capture/capture.h"

void pp_coverage_worker(struct pp_row_worker *w, const struct pp_rank *rank)
{
	int64_t from = rank->recorded_from, to = rank->recorded_to, kept = rank->horizon > from ? rank->horizon : from;

	w->recorded_ns = to > from ? to - from : 0;
	w->kept_ns = to > kept ? to - kept : 0;
}

/* A requested window is a part of the run; --keep's window stands for the run. */
static int is_of_run(const struct pp_dataset *d)
{
	return d->steps_asked_last <= d->steps_asked_first &&
	       (!d->windows || !strcmp(d->window->kind, "all") || !strcmp(d->window->kind, "keep"));
}

int pp_coverage_text(const struct pp_dataset *d, char *text, size_t size)
{
	double recorded = 0, kept = 0, least = 100, share;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *one = &d->worker[w];

		recorded += (double)one->recorded_ns;
		kept += (double)one->kept_ns;
		if (one->kept_ns && one->kept_ns < one->recorded_ns &&
		    100.0 * (double)one->kept_ns / (double)one->recorded_ns < least)
			least = 100.0 * (double)one->kept_ns / (double)one->recorded_ns;
	}
	if (size)
		text[0] = '\0';
	if (kept >= recorded)
		return 0;
	/* A single step made of all that is left begins where no rank has lost anything. */
	share = kept > 0 && d->steps == 1 && !strncmp(d->step_rule, "window", 6) ? least : 100 * kept / recorded;
	snprintf(text, size, "%.*f %% of the %s", share < 1 ? 2 : 0, share > 99 ? 99 : share, is_of_run(d) ? "run" : "window");
	return 1;
}

/* It is unknown how long a keeper that died had recorded. */
static int is_partly_lost(const struct pp_dataset *d)
{
	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].dropped[PP_LOSS_EVICTED] || d->worker[w].dropped[PP_LOSS_KEEPER_GONE])
			return 1;
	return 0;
}

const char *pp_coverage_base(const struct pp_dataset *d)
{
	char text[PP_COVERAGE_TEXT];

	if (pp_coverage_text(d, text, sizeof(text)))
		return "the time kept";
	if (!is_of_run(d))
		return "the window";
	return is_partly_lost(d) ? "the kept part of the run" : "the run";
}

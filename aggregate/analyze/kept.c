/* How much of what was recorded is still there: the window buffer, or --keep, lets the oldest go. Called by dataset.c and session.c;
 * the sentence by all who say what a session is of. */
#include "aggregate/analyze/kept.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/analyze/dataset.h"

static void set(struct pp_worker *w, int64_t begin, int64_t end, int64_t from)
{
	w->recorded_ns = end > begin ? end - begin : 0;
	w->kept_ns = from <= begin ? w->recorded_ns : from < end ? end - from : 0;
}

void pp_kept_worker(struct pp_worker *w, const struct pp_rank *rank)
{
	int64_t end = rank->open_tick;

	for (size_t t = 0; t < rank->threads; t++)
		if (rank->thread[t].last > end)
			end = rank->thread[t].last;
	set(w, rank->open_tick, end, rank->horizon);
	w->kept_until = end;
}

static void set_window(struct pp_worker *w, const struct pp_window_rank *r, int keep)
{
	int64_t begin = w->kept_until - w->recorded_ns, from = w->kept_until - w->kept_ns, end = w->kept_until;

	if (keep && r->ended > end) /* nothing may have been recorded in all of it */
		end = r->ended;
	if (r->started > begin)
		set(w, keep ? begin : r->started, end, from > r->started ? from : r->started);
}

void pp_kept_window(struct pp_dataset *d)
{
	int keep = !strcmp(d->window.kind, "keep"); /* all before it was recorded too, and let go */

	for (size_t i = 0; i < d->window.ranks; i++) {
		const struct pp_window_rank *r = &d->window.rank[i];

		for (size_t w = 0; w < d->workers && r->started != PP_WINDOW_NEVER; w++)
			if (d->worker[w].rank == r->rank)
				set_window(&d->worker[w], r, keep);
	}
}

/* A window that was asked for is less than the run, but --keep's is all that there is of it. */
static int is_of_run(const struct pp_dataset *d)
{
	return d->steps_asked_last <= d->steps_asked_first &&
	       (!d->window.by[0] || !strcmp(d->window.kind, "all") || !strcmp(d->window.kind, "keep"));
}

int pp_kept_text(const struct pp_dataset *d, char *text, size_t size)
{
	double recorded = 0, kept = 0, least = 100, share;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_worker *one = &d->worker[w];

		recorded += (double)one->recorded_ns;
		kept += (double)one->kept_ns;
		if (one->kept_ns < one->recorded_ns && 100.0 * (double)one->kept_ns / (double)one->recorded_ns < least)
			least = 100.0 * (double)one->kept_ns / (double)one->recorded_ns;
	}
	if (size)
		text[0] = '\0';
	if (kept >= recorded)
		return 0;
	/* One step of all that is left begins where nothing is gone of any rank. */
	share = d->steps == 1 && !strncmp(d->step_rule, "window", 6) ? least : 100 * kept / recorded;
	snprintf(text, size, "%.*f %% of the %s", share < 1 ? 2 : 0, share > 99 ? 99 : share, is_of_run(d) ? "run" : "window");
	return 1;
}

const char *pp_kept_whole(const struct pp_dataset *d)
{
	char text[PP_KEPT_TEXT];

	return pp_kept_text(d, text, sizeof(text)) ? "the time kept" : is_of_run(d) ? "the run" : "the window";
}

/* /window of a dataset: one row a worker; see window.h. Called by the session and by finish.c. */
#include "aggregate/analyze/window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_row(const struct pp_window_told *told, const struct pp_worker *worker, struct pp_window_rank *ret)
{
	*ret = (struct pp_window_rank){.rank = worker->rank,
	                               .asked = PP_WINDOW_NEVER,
	                               .acked = PP_WINDOW_NEVER,
	                               .started = PP_WINDOW_NEVER,
	                               .ended = PP_WINDOW_NEVER};
	for (size_t i = 0; i < told->ranks; i++) {
		if (told->rank[i].rank != worker->rank)
			continue;
		*ret = told->rank[i];
		break;
	}
	ret->delivered = (int8_t)(!pp_worker_is_missing(worker));
	if (strcmp(worker->status, "delivered") != 0)
		snprintf(ret->reason, sizeof(ret->reason), "%s", worker->status);
}

/* Who is on another host was asked when those here were. */
static void share_asked(struct pp_window_told *w)
{
	int64_t asked = INT64_MAX;

	for (size_t i = 0; i < w->ranks; i++)
		if (w->rank[i].asked != PP_WINDOW_NEVER && w->rank[i].asked < asked)
			asked = w->rank[i].asked;
	for (size_t i = 0; i < w->ranks && asked < INT64_MAX; i++)
		if (w->rank[i].asked == PP_WINDOW_NEVER && w->rank[i].delivered)
			w->rank[i].asked = asked;
}

/* Takes the place of d->window. */
static int take_rows(struct pp_dataset *d, const struct pp_window_told *told)
{
	struct pp_window_told mine = *told;

	mine.rank = calloc(d->workers + 1, sizeof(*mine.rank));
	mine.ranks = d->workers;
	if (!mine.rank)
		return -ENOMEM;
	for (size_t i = 0; i < d->workers; i++)
		take_row(told, &d->worker[i], &mine.rank[i]);
	pp_window_told_release(&d->window);
	d->window = mine;
	return 0;
}

int pp_dataset_window_rest(struct pp_dataset *d)
{
	if (!d->window.by[0])
		return 0;
	if (take_rows(d, &d->window) < 0)
		return -ENOMEM;
	share_asked(&d->window);
	return 0;
}

int pp_dataset_window(struct pp_dataset *d, const struct pp_window_told *told)
{
	const struct pp_window_rank *rank;
	size_t lacking = 0;

	if (take_rows(d, told) < 0)
		return -ENOMEM;
	rank = d->window.rank;
	for (size_t i = 0; i < d->workers; i++)
		lacking += rank[i].delivered && rank[i].reason[0] && !strcmp(d->worker[i].status, "delivered");
	for (size_t i = 0, shown = 0; i < d->workers && lacking && shown < 4; i++)
		if (rank[i].delivered && rank[i].reason[0] && !strcmp(d->worker[i].status, "delivered") && ++shown)
			pp_dataset_warn(d, "window, rank %d: %s", (int)rank[i].rank, rank[i].reason);
	if (lacking > 4)
		pp_dataset_warn(d, "window: %zu more ranks are not as asked for: /window reason", lacking - 4);
	return 0;
}

/* /window of a dataset: one row per worker; see window.h. Called by the session and by finish.c. */
#include "aggregate/analyze/window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of each worker, that nothing is known of, with what is equal on all ranks. NULL: no memory. */
static struct pp_row_window *make_rows(const struct pp_dataset *d, const struct pp_row_window *all)
{
	struct pp_row_window *row = calloc(d->workers + 1, sizeof(*row));

	for (size_t i = 0; row && i < d->workers; i++) {
		row[i] = *all;
		row[i].worker = d->worker[i].rank;
		row[i].asked_ns = row[i].acked_ns = row[i].started_ns = row[i].ended_ns = PP_WINDOW_NEVER;
		row[i].reason[0] = '\0';
	}
	return row;
}

/* In place of those that are there. */
static void take_rows(struct pp_dataset *d, struct pp_row_window *row)
{
	for (size_t i = 0; i < d->workers; i++) {
		row[i].delivered = (int8_t)(!pp_worker_is_missing(&d->worker[i]));
		if (strcmp(d->worker[i].status, "delivered") != 0)
			snprintf(row[i].reason, sizeof(row[i].reason), "%s", d->worker[i].status);
	}
	free(d->window);
	d->window = row;
	d->windows = d->workers;
}

/* How the window came about is said by the lowest rank's host. Who is on another host was asked when those here were. */
int pp_dataset_window_rest(struct pp_dataset *d)
{
	struct pp_row_window all = {0}, *row;
	int64_t asked = INT64_MAX;

	if (!d->windows)
		return 0;
	all = d->window[0];
	for (size_t i = 0; i < d->windows; i++) {
		const struct pp_row_window *one = &d->window[i];

		all.tries = one->tries > all.tries ? one->tries : all.tries;
		if (one->asked_ns != PP_WINDOW_NEVER && one->asked_ns < asked)
			asked = one->asked_ns;
	}
	row = make_rows(d, &all);
	if (!row)
		return -ENOMEM;
	for (size_t i = 0, w = 0; i < d->windows; i++) {
		const struct pp_row_window *one = &d->window[i];

		while (row[w].worker < one->worker) /* each has a worker */
			w++;
		row[w].asked_ns = one->asked_ns;
		row[w].acked_ns = one->acked_ns;
		row[w].started_ns = one->started_ns;
		row[w].ended_ns = one->ended_ns;
		memcpy(row[w].reason, one->reason, sizeof(one->reason));
	}
	take_rows(d, row);
	for (size_t i = 0; i < d->windows && asked < INT64_MAX; i++)
		if (row[i].asked_ns == PP_WINDOW_NEVER && row[i].delivered)
			row[i].asked_ns = asked;
	return 0;
}

static void take_metadata(struct pp_row_window *row, const struct pp_window_metadata *metadata)
{
	size_t i = 0;

	while (i < metadata->ranks && metadata->rank[i].rank != row->worker)
		i++;
	if (i == metadata->ranks)
		return;
	row->asked_ns = metadata->rank[i].asked;
	row->acked_ns = metadata->rank[i].acked;
	row->started_ns = metadata->rank[i].started;
	row->ended_ns = metadata->rank[i].ended;
	memcpy(row->reason, metadata->rank[i].reason, sizeof(row->reason));
}

int pp_dataset_window(struct pp_dataset *d, const struct pp_window_metadata *metadata)
{
	struct pp_row_window all = {.tries = metadata->tries}, *row;
	size_t lacking = 0;

	if (!metadata->by[0])
		return 0;
	snprintf(all.by, sizeof(all.by), "%s", metadata->by);
	snprintf(all.kind, sizeof(all.kind), "%s", metadata->kind);
	snprintf(all.channel, sizeof(all.channel), "%s", metadata->channel);
	snprintf(all.request, sizeof(all.request), "%s", metadata->what);
	row = make_rows(d, &all);
	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < d->workers; i++)
		take_metadata(&row[i], metadata);
	take_rows(d, row);
	for (size_t i = 0; i < d->workers; i++)
		lacking += row[i].delivered && row[i].reason[0] && !strcmp(d->worker[i].status, "delivered");
	for (size_t i = 0, shown = 0; i < d->workers && lacking && shown < 4; i++)
		if (row[i].delivered && row[i].reason[0] && !strcmp(d->worker[i].status, "delivered") && ++shown)
			pp_dataset_warn(d, "window, rank %d: %s", (int)row[i].worker, row[i].reason);
	if (lacking > 4)
		pp_dataset_warn(d, "window: %zu more ranks differ from the request: /window reason", lacking - 4);
	return 0;
}

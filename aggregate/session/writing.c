/* Forks the child of one window, and says what of the rings is its. See writing.h. */
#include "aggregate/session/writing.h"

#include <stdlib.h>

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/control.h"

struct work { /* of the child */
	struct pp_windows_job job;
	struct pp_writing w;
	struct pp_window_told told;
	struct pp_gather *gather; /* NULL: nobody else is asked */
	const char *rendezvous;
	char later[PP_SESSION_PATH];
};

struct pp_close_range *pp_writing_ranges(const struct pp_rings *r, pp_window_ticks *ticks, const void *context)
{
	size_t rings = pp_rings_count(r);
	struct pp_close_range all = {.from = INT64_MAX, .to = INT64_MIN}, *range = calloc(rings + 1, sizeof(*range));

	if (!range)
		return NULL;
	for (size_t i = 0; i < rings; i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);
		int word;

		range[i] = (struct pp_close_range){.rank = h->rank, .from = INT64_MAX, .to = INT64_MIN};
		word = ticks(h, context, &range[i].from, &range[i].to);
		if (!word)
			continue;
		range[i].passed = word == PP_TICKS_PASSED;
		all.from = range[i].from < all.from ? range[i].from : all.from;
		all.to = range[i].to > all.to ? range[i].to : all.to;
	}
	for (size_t i = 0; i < rings; i++)
		for (size_t k = 0; k < rings; k++)
			if (range[k].rank == range[i].rank) { /* two rings of one rank: from the first one's to the last one's */
				range[i].from = range[k].from < range[i].from ? range[k].from : range[i].from;
				range[i].passed = range[k].to > range[i].to ? range[k].passed : range[i].passed;
				range[i].to = range[k].to > range[i].to ? range[k].to : range[i].to;
			}
	if (all.from > all.to) { /* its rows are another window's by now */
		free(range);
		return NULL;
	}
	for (size_t i = 0; i < rings; i++)
		if (range[i].from > range[i].to) {
			range[i].from = all.from;
			range[i].to = all.to;
		}
	return range;
}

static int write_window(void *context, struct pp_aside_answer *answer)
{
	struct work *work = context;
	struct pp_session_options options = *work->job.options;
	struct pp_close close_it = {.view = work->job.view,
	                            .first = work->job.first,
	                            .options = &options,
	                            .sampler = work->job.sampler,
	                            .message = answer->text,
	                            .message_size = sizeof(answer->text),
	                            .range = work->w.range,
	                            .ranges = work->w.range ? pp_rings_count(work->job.view->rings) : 0};

	options.steps_first = work->w.first;
	options.steps_last = work->w.last;
	if (work->w.told) {
		work->told = *work->w.told;
		options.window = &work->told;
	}
	if (work->w.event_ranks && *work->w.event_ranks)
		options.event_ranks = work->w.event_ranks;
	options.ret_message = &answer->message;
	options.ret_claimed = answer->claimed;
	options.ret_later = work->later;
	options.gather = work->gather;
	options.rendezvous = work->rendezvous;
	return pp_close_session(&close_it, &answer->err);
}

static void write_page(void *context)
{
	struct work *work = context;
	struct pp_err err = {""};

	if (work->later[0] && pp_session_page(work->later, &err))
		pp_keeper_log("no report.html: %s", err.text);
}

void pp_writing_edge(const struct pp_windows_job *job)
{
	if (job->options->wall && pp_rings_count(job->view->rings))
		pp_wall_watch_edge(job->options->wall, pp_close_tick_kind(job->view->rings));
}

int pp_writing_start(struct pp_aside *a, const struct pp_windows_job *job, const struct pp_writing *w)
{
	struct work work = {.job = *job, .w = *w};
	struct pp_aside_work aside = {.run = write_window, .after = write_page, .context = &work};

	int rc;

	pp_writing_edge(job);
	work.gather = w->hosts ? pp_pod_gather(job->pod, w->hosts) : NULL;
	work.rendezvous = pp_pod_why(job->pod);
	rc = pp_aside_start(a, &aside, w->limit_ms);
	if (work.gather)
		pp_pod_gathering(job->pod, !rc);
	return rc;
}

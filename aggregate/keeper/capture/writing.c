/* Forks the writer of one window. See writing.h. */
#include "aggregate/keeper/capture/writing.h"

#include <stdlib.h>

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_gather.h"
#include "aggregate/spool/control.h"

struct work { /* of the child */
	struct pp_windows_job job;
	struct pp_writing w;
	struct pp_window_metadata metadata;
	struct pp_gather *gather; /* NULL: no other host is asked */
	const char *rendezvous;
	struct pp_session_page page;
};

static int write_window(void *context, struct pp_forked_answer *answer)
{
	struct work *work = context;
	struct pp_session_options options = *work->job.options;
	struct pp_close close_it = {.options = &options,
	                            .message = answer->text,
	                            .message_size = sizeof(answer->text),
	                            .range = work->w.range,
	                            .ranges = work->w.range ? pp_rings_count(work->job.rings) : 0};

	options.steps_first = work->w.first;
	options.steps_last = work->w.last;
	if (work->w.metadata) {
		work->metadata = *work->w.metadata;
		options.window = &work->metadata;
	}
	if (work->w.event_ranks && *work->w.event_ranks)
		options.event_ranks = work->w.event_ranks;
	options.ret_message = &answer->message;
	options.ret_claimed = answer->claimed;
	options.ret_page = &work->page;
	options.gather = work->gather;
	options.rendezvous = work->rendezvous;
	return pp_job_close(&work->job, &close_it, &answer->err);
}

static void write_page(void *context)
{
	struct work *work = context;
	struct pp_err err = {""};

	if (pp_session_page_end(&work->page, &err))
		pp_keeper_log("no report.html: %s", err.text);
}

int pp_writing_start(struct pp_forked_writer *a, const struct pp_windows_job *job, const struct pp_writing *w)
{
	struct work work = {.job = *job, .w = *w};
	struct pp_forked_work writer = {.run = write_window, .after = write_page, .context = &work};

	int rc;

	pp_writing_edge(job);
	work.gather = w->hosts ? pp_pod_gather(job->pod, w->hosts) : NULL;
	work.rendezvous = pp_pod_why(job->pod);
	rc = pp_forked_writer_start(a, &writer, w->limit_ms);
	if (work.gather)
		pp_pod_gathering(job->pod, !rc);
	return rc;
}

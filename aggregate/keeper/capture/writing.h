/* The forked writer of one window, while the ranks run on. In: the keeper's job, the window's steps and ticks. Out: an answer in
 * struct pp_forked_writer. Called by windows.c and request.c. */
#pragma once

#include "aggregate/keeper/capture/job.h"
#include "aggregate/session/forked_writer.h"

struct pp_pod_window;

struct pp_writing {
	int64_t first, last;                       /* requested steps; last <= first: none */
	const struct pp_close_range *range;        /* [rings]; NULL: all there is */
	const struct pp_window_metadata *metadata; /* NULL, or for /window, in ticks; the child changes its own copy */
	const char *event_ranks;                   /* "": as the options say */
	const struct pp_pod_window *hosts;         /* NULL, or the cut for the other hosts (pod.h); unused where there are none */
	int64_t limit_ms;
};

/* The caller may free what `w` points to. 0, or -errno: there is no child, and nothing is written. */
int pp_writing_start(struct pp_forked_writer *a, const struct pp_windows_job *job, const struct pp_writing *w);

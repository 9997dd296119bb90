/* The child that writes one window while the ranks go on. In: what the keeper has, the window's steps and ticks. Out: an answer in
 * struct pp_forked_writer. Called by windows.c and request.c. */
#pragma once

#include "aggregate/keeper/capture/job.h"
#include "aggregate/session/forked_writer.h"

struct pp_pod_window;

struct pp_writing {
	int64_t first, last;                   /* steps asked for; last <= first: none */
	const struct pp_close_range *range;    /* [rings]; NULL: all there is */
	const struct pp_window_told *metadata; /* NULL, or for /window, in ticks; the child's copy is the child's */
	const char *event_ranks;               /* "": as the options say */
	const struct pp_pod_window *hosts;     /* NULL, or what the other hosts are to take (pod.h); nothing where there are none */
	int64_t limit_ms;
};

/* What `w` points to may be freed after. 0, or -errno: there is no child, and nobody writes. */
int pp_writing_start(struct pp_forked_writer *a, const struct pp_windows_job *job, const struct pp_writing *w);

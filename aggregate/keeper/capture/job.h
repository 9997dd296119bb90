/* A job as its keeper has it, and the part of it that is one window's. In: rings, samples of processes, the watched clock. Out:
 * ticks of each rank, and a session. Called by the keeper, by windows and requests, and by the pod. */
#pragma once

#include "aggregate/keeper/host/sample.h"
#include "aggregate/keeper/host/wall_watch.h"
#include "aggregate/session/close.h"
#include "aggregate/spool/view.h"
#include "core/base/opt.h"

struct pp_pod;

struct pp_windows_job { /* what the keeper has; borrowed */
	struct pp_spool_view *view;
	struct pp_rings *rings;       /* of the view */
	struct pp_warnings *warnings; /* warnings for the session */
	const struct pp_clock_pair *first;
	const struct pp_session_options *options; /* steps and returns are the window's own */
	struct pp_sampler *sampler;
	struct pp_wall_watch *wall;
	struct pp_pod *pod; /* pod.h; NULL: one host */
};

enum { PP_TICKS_PASSED = 2 };

/* 0: no window on this ring; else its ticks, INT64_MIN and INT64_MAX where an end is open: PP_TICKS_PASSED where the rank has
 * reported that it is past the end, else 1. */
typedef int pp_window_ticks(const struct pp_ring_header *header, const void *context, int64_t *ret_from, int64_t *ret_to);

/* The window's ticks of each rank; a rank on which it did not begin gets the range of the others. To be freed; NULL: no memory,
 * or it began on no rank. */
struct pp_close_range *pp_writing_ranges(const struct pp_rings *r, pp_window_ticks *ticks, const void *context);

/* Ticks of the API's window `place` on this ring; context: uint64_t. As pp_window_ticks. */
int pp_job_api_ticks(const struct pp_ring_header *header, const void *context, int64_t *ret_from, int64_t *ret_to);

/* Drops all that the rings hold: no window needs it. */
void pp_job_drop_all(const struct pp_windows_job *job);
/* At a window's edge, before the fork: reads the wall clock. */
void pp_writing_edge(const struct pp_windows_job *job);
/* pp_close_session() with all that the job has; `given` holds options, message and ranges. */
int pp_job_close(const struct pp_windows_job *job, const struct pp_close *given, struct pp_err *err);

/* The child that writes one window while the ranks go on. In: what the keeper has, the window's steps and ticks. Out: an answer in
 * struct pp_aside. Called by windows.c and request.c. */
#ifndef PP_KEEPER_WRITING_H
#define PP_KEEPER_WRITING_H

#include "aggregate/session/aside.h"
#include "aggregate/session/close.h"

struct pp_pod;
struct pp_pod_window;

struct pp_windows_job { /* what the keeper has; borrowed */
	struct pp_spool_view *view;
	const struct pp_clock_pair *first;
	const struct pp_session_options *options; /* steps and returns are the window's own */
	struct pp_sampler *sampler;
	struct pp_pod *pod; /* pod.h; NULL: one host */
};

enum { PP_TICKS_PASSED = 2 };

/* 0: no window on this ring; else its ticks, INT64_MIN and INT64_MAX where an end is open, and PP_TICKS_PASSED where the rank
 * itself has said that it is past the end, else 1. */
typedef int pp_window_ticks(const struct pp_ring_header *header, const void *context, int64_t *ret_from, int64_t *ret_to);

/* What of each rank is the window's; ranks that it did not begin on have what they did meanwhile. To be freed; NULL: no memory, or
 * it began on no rank. */
struct pp_close_range *pp_writing_ranges(const struct pp_rings *r, pp_window_ticks *ticks, const void *context);
struct pp_writing {
	int64_t first, last;                /* steps asked for; last <= first: none */
	const struct pp_close_range *range; /* [rings]; NULL: all there is */
	const struct pp_window_told *told;  /* NULL, or for /window, in ticks; the child's copy is the child's */
	const char *event_ranks;            /* "": as the options say */
	const struct pp_pod_window *hosts;  /* NULL, or what the other hosts are to take (pod.h); nothing where there are none */
	int64_t limit_ms;
};

/* A window's edge, before the fork: the wall clock is read. */
void pp_writing_edge(const struct pp_windows_job *job);
/* What `w` points to may be freed after. 0, or -errno: there is no child, and nobody writes. */
int pp_writing_start(struct pp_aside *a, const struct pp_windows_job *job, const struct pp_writing *w);

#endif

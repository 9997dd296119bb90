/* What ranks of a live job do now, read from the headers of their rings: nobody is asked, nothing is changed, and a keeper that is
 * gone is no matter. In: a spool directory. Out: step, step time and where-am-I line of each rank. Called by `podprof status`
 * and request_status.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum pp_live_state { PP_LIVE_RUNNING, PP_LIVE_ENDED, PP_LIVE_GONE }; /* ENDED: its exit handler ran */

struct pp_live_rank {
	int rank, size, pid;
	char host[72];
	enum pp_live_state state;
	int exit_status; /* ENDED */
	int recording;
	int marks;        /* it marks steps */
	int64_t step;     /* the last one that began; with marks only */
	int64_t step_ns;  /* a step's time since the last list; 0: fewer than two began */
	int64_t still_ns; /* since a step began, as far as it was looked at */
	int64_t slow_ns;  /* by which the list is in order */
	char call[48];    /* MPI call that its main thread is in; "" none */
	uint64_t comm;
	uint32_t sequence;
	int32_t peer; /* world rank; -1 none, -2 any */
};

/* The order of pp_live_list() anew. */
void pp_live_sort(struct pp_live_rank *list, long count);

struct pp_live;

int pp_live_open(const char *spool, struct pp_live **ret_live, struct pp_err *err);
void pp_live_close(struct pp_live *l);
/* One look, a few microseconds a rank: step times are as fine as looks are close. `now_ns`: CLOCK_MONOTONIC. */
void pp_live_look(struct pp_live *l, int64_t now_ns);
/* All ranks, slowest first: those that stand still at the lowest step (in no MPI call before in one), then by step time, then those
 * that stand still ahead of another, then those that are over. Times begin anew. Returns how many; *ret_list is to be freed.
 * -ENOMEM. */
long pp_live_list(struct pp_live *l, int64_t now_ns, struct pp_live_rank **ret_list);

/* A rank as a line, for who asks from elsewhere; returns its bytes, with the line break. */
int pp_live_put(const struct pp_live_rank *r, char *line, size_t size);
/* And back. -EINVAL: it is none. */
int pp_live_get(const char *line, struct pp_live_rank *ret);

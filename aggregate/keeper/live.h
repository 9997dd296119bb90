/* What ranks of a live job do now, read from the headers of their rings: it asks no process, changes nothing and needs no
 * keeper. In: a spool directory. Out: step, step time and where-am-I line of each rank. Called by `podprof status` and
 * request_client.c. */
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
	int64_t still_ns; /* since a step began, as far as it was watched */
	int64_t slow_ns;  /* sort key of the list */
	char call[48];    /* MPI call that its main thread is in; "" none */
	uint64_t comm;
	uint32_t sequence;
	int32_t peer; /* world rank; -1 none, -2 any */
};

/* Sorts a list again as pp_live_list() does. */
void pp_live_sort(struct pp_live_rank *list, long count);

struct pp_live;

int pp_live_open(const char *spool, struct pp_live **ret_live, struct pp_err *err);
void pp_live_close(struct pp_live *l);
/* Reads all ranks once, a few microseconds per rank: step times are as accurate as the readings are frequent. `now_ns`:
 * CLOCK_MONOTONIC. */
void pp_live_look(struct pp_live *l, int64_t now_ns);
/* All ranks, slowest first: those that stand still at the lowest step (in no MPI call before in one), then by step time, then
 * those that stand still ahead of another, then those that are over. Restarts the times. Returns how many; *ret_list is to be
 * freed. -ENOMEM. */
long pp_live_list(struct pp_live *l, int64_t now_ns, struct pp_live_rank **ret_list);

/* A rank as a line, for clients on other hosts; returns its bytes, with the line break. */
int pp_live_put(const struct pp_live_rank *r, char *line, size_t size);
/* Parses such a line. -EINVAL: it is none. */
int pp_live_get(const char *line, struct pp_live_rank *ret);

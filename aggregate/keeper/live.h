/* What ranks of a live job do now, read from the headers of their rings: it asks no process, changes nothing and needs no
 * keeper. In: a spool directory. Out: step, step time and where-am-I line of each rank. Called by `podprof status` and
 * request_client.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/live_nccl.h"
#include "core/base/err.h"
#include "core/ring/ring_file.h"

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
	char call[48];    /* MPI call that it is in; "" none. The main thread's, else another one's */
	uint64_t comm;    /* of that call, or of the last one */
	uint32_t sequence;
	int32_t peer;                  /* world rank; -1 none, -2 any */
	char last[48];                 /* the last call that it began; "" unknown */
	char waits[48];                /* in a wait: what began the operations; "" unknown, or several */
	uint32_t waits_sequence;       /* of one collective waited for */
	int32_t other[PP_WHERE_PEERS]; /* further ranks that the call may wait for, -1 none */
	int other_more;                /* and some that are not known */
	int64_t place_ns;              /* it has been at this place so long */
	char process;                  /* state of its process in /proc; 0 unknown */
	int end;                       /* GONE: status as of wait(), -1 unknown */
	int lost;                      /* GONE: with its host */
	int32_t comm_size;             /* members of `comm`; 0 unknown */
	int comm_flags;                /* enum pp_ring_comm_flag */
	char comm_name[84];            /* "" none */
	char members[256];             /* "FIRST:COUNT:STRIDE," of world ranks; "" unknown */
	char nccl[PP_LIVE_NCCL];       /* its communicators of NCCL, see live_nccl.h; "" none */
};

/* Sorts a list again as pp_live_list() does. */
void pp_live_sort(struct pp_live_rank *list, long count);

struct pp_still;
/* Fills what a where-am-I line says. `now_ms`: of pp_now_ms(). */
void pp_live_place(struct pp_live_rank *r, const struct pp_still *s, int64_t now_ms);
/* The same of the communicator that it names. */
void pp_live_comm(struct pp_live_rank *r, const struct pp_ring_comm *row);

enum { PP_LIVE_LINE = 1536 + PP_LIVE_NCCL };

struct pp_live;

/* Opens the view of a spool; pp_live_list() reads it. -ENOMEM. To be closed. */
int pp_live_open(const char *spool, struct pp_live **ret_live, struct pp_err *err);
/* NULL: does nothing. */
void pp_live_close(struct pp_live *l);
/* Reads all ranks once, a few microseconds per rank: step times are as accurate as the readings are frequent. `now_ns`:
 * CLOCK_MONOTONIC. */
void pp_live_sample(struct pp_live *l, int64_t now_ns);
/* All ranks, slowest first: those that stand still at the lowest step (in no MPI call before in one), then by step time, then
 * those that stand still ahead of another, then those that are over. Restarts the times. Returns how many; *ret_list is to be
 * freed. -ENOMEM. */
long pp_live_list(struct pp_live *l, int64_t now_ns, struct pp_live_rank **ret_list);

/* A rank as a line, for clients on other hosts, and one more for its communicators of NCCL; returns the bytes, with line breaks. */
int pp_live_put(const struct pp_live_rank *r, char *line, size_t size);
/* Parses such a line. -EINVAL: it is none. */
int pp_live_get(const char *line, struct pp_live_rank *ret);
/* The same of the second one, which is about the rank of the line before. */
int pp_live_get_nccl(const char *line, struct pp_live_rank *rank);

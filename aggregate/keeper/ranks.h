/* What rings and run processes say of the ranks of this host. In: a view of the spool. Out: who is over, seen, expected. */
#pragma once

#include "aggregate/keeper/spool.h"

enum { PP_RANKS_MOST = 1 << 20 }; /* of a job that is believed */

/* Nothing more comes out of this ring. */
int pp_ranks_is_over(struct pp_spool_view *v, size_t ring);
/* Its process is gone, at its end, has become another program, or is none of the ranks, which it waits for. */
int pp_ranks_has_ended(struct pp_spool_view *v, size_t ring);
/* The highest step that a thread of it has begun; INT64_MIN: none. */
int64_t pp_ranks_step(const struct pp_ring_header *h);
/* The same of all ranks here. */
int64_t pp_ranks_highest_step(const struct pp_rings *r);
int pp_ranks_seen(const struct pp_spool_view *v);
/* Ranks this host should have: what launchers said to run processes and to ranks; 0: unknown. */
int pp_ranks_expected(const struct pp_spool_view *v);
/* Ranks of the job, where a launcher that is seen says that all are on this host; else 0. */
int32_t pp_ranks_launched(const struct pp_spool_view *v);

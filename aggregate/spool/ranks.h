/* The state of this host's ranks, from rings and run processes. In: a view of the spool. Out: which are over, seen, expected. */
#pragma once

#include "aggregate/spool/view.h"

enum { PP_RANKS_MOST = 1 << 20 }; /* larger sizes are damaged */

/* No further record comes from this ring. */
int pp_ranks_is_over(struct pp_spool_view *v, size_t ring);
/* Its process has ended, is ending, has become another program, or is no rank and waits for the ranks. */
int pp_ranks_has_ended(struct pp_spool_view *v, size_t ring);
/* The highest step that a thread of it has begun; INT64_MIN: none. */
int64_t pp_ranks_step(const struct pp_ring_header *h);
/* The highest step of all ranks of this host. */
int64_t pp_ranks_highest_step(const struct pp_spool_view *v);
/* A number that changes when a word changes that a turn acts on, other than step numbers. *ret_recording: a rank records. */
uint64_t pp_ranks_words(const struct pp_spool_view *v, int *ret_recording);
/* How many of this host have a ring; two rings of one rank count once. */
int pp_ranks_seen(const struct pp_spool_view *v);
/* Ranks expected on this host, as launchers announced them to run processes and ranks; 0: unknown. */
int pp_ranks_expected(const struct pp_spool_view *v);
/* Ranks of the job, where a visible launcher runs all of them on this host; else 0. */
int32_t pp_ranks_launched(const struct pp_spool_view *v);

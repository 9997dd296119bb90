/* How far times of two ranks may be off from one another, at their instants; and what they contradict. Called by waiting.c for each
 * collective. In: workers and hosts' clocks of a dataset. Out: bounds in ns, counts of causality. Ranks that count the same ticks
 * are a group: between two of them only their line's own bound is left. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_bounds_latest;

struct pp_bounds {
	const struct pp_dataset *d;
	uint32_t *group; /* [workers], from 0 */
	size_t groups;
	int32_t home;                    /* domain of job time: of the first rank that came */
	struct pp_bounds_latest *latest; /* [groups]: room of pp_bounds_check() */
	uint64_t round;
};

/* -ENOMEM. What init fails on, or a zeroed struct, may be released. */
int pp_bounds_init(struct pp_bounds *b, const struct pp_dataset *d);
void pp_bounds_release(struct pp_bounds *b);
/* |error| of this worker's time against job time, without its line's own. PP_BOUND_UNKNOWN: its clock is not joined. */
int64_t pp_bounds_at(const struct pp_bounds *b, size_t worker, int64_t time_ns);
/* Of the two of these workers whose clocks are worst at that time; workers[i] is `stride` bytes behind workers[i - 1]. */
int64_t pp_bounds_worst(const struct pp_bounds *b, const uint32_t *workers, size_t n, size_t stride, int64_t time_ns);

struct pp_bounds_event { /* one rank in a collective */
	uint32_t worker;
	int exit_known;
	int64_t arrival_ns, exit_ns;
	int64_t bound_ns; /* pp_bounds_at() of its arrival; of one group of ranks nobody asks for it */
	int is_needed;    /* others may not leave before it has come */
	int needs;        /* it may not leave before those have come */
};

/* |error| of the difference of two arrivals. PP_BOUND_UNKNOWN: nobody knows. */
int64_t pp_bounds_arrivals(const struct pp_bounds *b, const struct pp_bounds_event *one, const struct pp_bounds_event *other);

/* Of a collective that a rank with `needs` leaves only when all with `is_needed` have come: its exit against those arrivals. Those
 * on other clocks are what `c` counts: one pair for each exit, with the arrival that contradicts it most. 1: a rank left before
 * another came, by more than their bound. */
int pp_bounds_check(struct pp_bounds *b, const struct pp_bounds_event *event, size_t n, struct pp_causality *c);

/* Of any two ranks whose clocks are joined, in the whole window: pp_dataset.pair_bound_ns. -ENOMEM. */
int pp_dataset_pair_bound(struct pp_dataset *d);

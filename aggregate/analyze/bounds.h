/* Bounds of the error between times of two ranks, and checks of causality. Called by waiting.c for each collective. In: workers
 * and hosts' clocks of a dataset. Out: bounds in ns, counts of causality. Ranks with the same ticks are a group: between two of
 * them only the error of their line counts. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_bounds_latest;

struct pp_bounds {
	const struct pp_dataset *d;
	uint32_t *group; /* [workers], from 0 */
	size_t groups;
	int32_t home;                    /* domain of job time: that of the first rank */
	struct pp_bounds_latest *latest; /* [groups]: room of pp_bounds_check() */
	uint64_t round;
};

/* -ENOMEM. pp_bounds_release() also accepts a zeroed struct and one whose init failed. */
int pp_bounds_init(struct pp_bounds *b, const struct pp_dataset *d);
void pp_bounds_release(struct pp_bounds *b);
/* |error| of this worker's time against job time, without the error of its line. PP_BOUND_UNKNOWN: its clock is not joined. */
int64_t pp_bounds_at(const struct pp_bounds *b, size_t worker, int64_t time_ns);
/* The largest between two of these workers at that time; workers[i] is `stride` bytes behind workers[i - 1]. */
int64_t pp_bounds_worst(const struct pp_bounds *b, const uint32_t *workers, size_t n, size_t stride, int64_t time_ns);

struct pp_bounds_event { /* one rank in a collective */
	uint32_t worker;
	int exit_known;
	int64_t arrival_ns, exit_ns;
	int64_t bound_ns; /* pp_bounds_at() of its arrival; unused where all ranks are one group */
	int is_needed;    /* the others may not leave before its arrival */
	int needs;        /* it may not leave before those arrivals */
};

/* |error| of the difference of two arrivals. PP_BOUND_UNKNOWN: unknown. */
int64_t pp_bounds_arrivals(const struct pp_bounds *b, const struct pp_bounds_event *one, const struct pp_bounds_event *other);

/* Checks a collective that a rank with `needs` leaves only when all with `is_needed` have arrived: compares its exit with those
 * arrivals. `c` counts those on other clocks: one pair per exit, with the arrival that contradicts it most. 1: a rank left
 * before another arrived, by more than their bound. */
int pp_bounds_check(struct pp_bounds *b, const struct pp_bounds_event *event, size_t n, struct pp_causality *c);

/* The largest between any two ranks with joined clocks, in the whole window: pp_dataset.pair_bound_ns. -ENOMEM. */
int pp_dataset_pair_bound(struct pp_dataset *d);
/* How many clocks the ranks have: those with the same ticks have one. 0: none, or no memory. */
size_t pp_bounds_clocks(const struct pp_dataset *d);

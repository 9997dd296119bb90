/* Delays by step and rank, and robust statistics of them, for classes of stragglers. In: a dataset with cells, /blame_step and
 * roles. Out: series that late_pattern.c and late_event.c read. One thread. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_late_series {
	const struct pp_dataset *in;
	size_t first, steps, ranks; /* steps from in->step[first] on; ranks: in->workers */
	double *delay;              /* [steps][ranks] mean waiting of the other ranks for it, what no pattern explains yet */
	uint8_t *reason;            /* [steps][ranks] */
	double *total;              /* [steps] sum of `delay` */
	double *scratch;            /* [steps + ranks] */
	float *late;                /* [steps][ranks] ns that it waited less than its peers; 0: not much less */
	double *lateness;           /* [ranks] mean ns per step that it waited less than its peers */
	double *lateness_all;       /* [ranks] than all ranks; 0 in jobs without a group of less than three ranks */
	int32_t *group;             /* [ranks] its role, or -1: small roles together */
	size_t *member;             /* [ranks] in the order of groups */
	double step_ns, floor_ns;   /* a median step; delays below this one do not count: effect and clock error */
	int has_messages;
};

int pp_late_series_init(struct pp_late_series *k, const struct pp_dataset *in, const struct pp_table *step_delays);
void pp_late_series_release(struct pp_late_series *k);
const struct pp_row_cell *pp_late_cell(const struct pp_late_series *k, size_t step, size_t rank);
/* The end of the group that begins at member[from]. */
size_t pp_late_group_end(const struct pp_late_series *k, size_t from);
/* Whom the ranks of member[from] to [end] are compared with: each other, or if they are less than three, all ranks. */
const size_t *pp_late_peers(const struct pp_late_series *k, size_t from, size_t end, size_t *ret_n);
/* Time of a step that is no communication. */
double pp_late_work(const struct pp_late_series *k, size_t step, size_t rank);
void pp_late_sum_up(struct pp_late_series *k); /* after `delay` has changed */

/* The q-quantile of n values, which are then in another order; 0: none. */
double pp_quantile(double *value, size_t n, double q);
/* Upper bound of the probability of `hits` or more of n, each with probability p (Chernoff). */
double pp_chance(double hits, double n, double p);

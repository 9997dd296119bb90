/* Sums over the cells of a dataset. In: pp_dataset. Out: summary.txt, the page, podprof report --json. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/step/category.h"

struct pp_dataset;

struct pp_sums {
	int64_t *step_ns;                        /* [steps]: longest over workers */
	int64_t median_ns, spread_ns;            /* of step_ns; spread: half IQR, at least its nearest step */
	int64_t longest_ns, longest_step;        /* the largest step_ns, and its index in the dataset */
	int64_t all_ns;                          /* sum of step_ns over every cell */
	int64_t cells;                           /* present cells */
	int64_t sum_ns[PP_CATEGORIES + 1];       /* over every cell */
	int64_t wait_ns, transfer_ns;            /* over every cell where it is known; PP_UNKNOWN: it is in none */
	int64_t (*worker_ns)[PP_CATEGORIES + 1]; /* [workers]: sums over the worker's steps; [0] is step_ns */
	int64_t *worker_wait_ns;                 /* [workers], as wait_ns */
	int64_t *worker_steps;                   /* [workers] */
	/* [workers] "Kept others waiting": mean time per step that each other rank of its clock waits for this one, and the largest
	 * error of that by the clocks. Below the error it is a tie. PP_UNKNOWN: nothing is known of their waiting. */
	int64_t *worker_kept_ns, *worker_kept_error_ns;
};

/* "Kept others waiting" of a sum over all steps and other ranks: per step and other rank of its clock; 0 where there is none. */
int64_t pp_sums_per_step(const struct pp_dataset *d, size_t worker, int64_t ns);
/* 0, or -ENOMEM. Owned by the caller: pp_sums_release(). */
int pp_sums_of(const struct pp_dataset *d, struct pp_sums *ret_sums);
/* The same over some steps, 1 in which [steps]; NULL: all. Its step_ns has theirs alone, sorted. */
int pp_sums_of_steps(const struct pp_dataset *d, const uint8_t *which, struct pp_sums *ret_sums);
void pp_sums_release(struct pp_sums *s);
/* Is there a step so much longer than the median that it moves the means? */
int pp_sums_has_longest(const struct pp_dataset *d, const struct pp_sums *s);
/* Index of the worker with the largest mean of a category; 0 where there is none. */
size_t pp_sums_most(const struct pp_dataset *d, const struct pp_sums *s, int category);
/* What recording takes in the ranks, mean per step and rank. An estimate: records of the time that the session holds, each as
 * long as a keeper measured for one. */
struct pp_recording {
	double records, record_ns, ns, percent; /* percent: of the step; ns 0: unknown */
};
struct pp_recording pp_sums_recording(const struct pp_dataset *d, const struct pp_sums *s);
/* part / whole in percent; 0 without a whole. */
double pp_sums_percent(int64_t part, int64_t whole);

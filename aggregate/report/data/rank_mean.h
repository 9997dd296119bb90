/* The usual step of each rank. In: cells of a dataset, which steps are usual. Out: means. Pure; one thread. Used by fact.c and by
 * the pictures of the first screen. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/usual_step.h"

struct pp_rank_mean {                  /* per usual step of the rank, ns */
	int64_t steps;                 /* usual ones that it has; 0: nothing is known */
	int64_t ns[PP_CATEGORIES + 1]; /* exclusive time by category; [0] the step */
	int64_t wait_ns, transfer_ns;  /* PP_UNKNOWN: in none of them */
	int64_t late_ns;               /* for which others wait, summed over them; PP_UNKNOWN: in none */
};

/* [workers], the caller's; NULL: no memory. */
struct pp_rank_mean *pp_rank_means(const struct pp_dataset *d, const struct pp_usual_steps *u);

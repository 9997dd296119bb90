/* Chance of a count of independent events of several chances. Pure, any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PP_TAIL_LEAST 1e-12 /* smaller chances count as this one */

struct pp_tail_group { /* `trials` events, each of the chance `named` / `of` */
	int64_t trials, named, of;
};

/* Chance that at least `count` of the events come, at least PP_TAIL_LEAST; -1: no memory. One group: the binomial distribution. */
double pp_tail(const struct pp_tail_group *group, size_t groups, int64_t count);
/* Holm's correction of n chances, in place of each; its order is that of p. 0, or -ENOMEM. */
int pp_holm(const double *p, size_t n, double *ret_adjusted);

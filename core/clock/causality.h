/* The honesty metric of the clock: what the times of two hosts say against what must be so. Called by the analysis of collectives.
 * In: for each collective that nobody leaves before the last has come, the last arrival and the first exit, each with the bound
 * of its rank's clock; for each message, its send's begin and its receive's end. Out: counts. A violation beyond both bounds
 * disproves a bound; one within them is what bounds are for. */
#pragma once

#include <stdint.h>

struct pp_causality {
	uint64_t pairs;    /* that were compared: two ranks of different clocks */
	uint64_t inverted; /* the effect stands before its cause, within the bounds */
	uint64_t violated; /* by more than both bounds */
	int64_t worst_ns;  /* the largest inversion beyond the bounds; 0: none */
};

static inline void pp_causality_add(struct pp_causality *c, int64_t cause_ns, int64_t cause_bound_ns, int64_t effect_ns,
                                    int64_t effect_bound_ns)
{
	int64_t early = cause_ns - effect_ns, bound;

	if (__builtin_add_overflow(cause_bound_ns, effect_bound_ns, &bound))
		return; /* one of them is not joined */
	c->pairs++;
	if (early <= 0)
		return;
	c->inverted += early <= bound;
	c->violated += early > bound;
	if (early - bound > c->worst_ns)
		c->worst_ns = early - bound;
}

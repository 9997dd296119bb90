/* Checks clocks by causality: counts how often times of two hosts contradict cause and effect. Called by the analysis of
 * collectives. In: for each collective that no rank leaves before the last has arrived, the last arrival and the first exit,
 * each with its rank's clock bound; for each message, its send's begin and its receive's end. Out: counts. A violation beyond
 * both bounds disproves a bound; one within them is expected. */
#pragma once

#include <stdint.h>

struct pp_causality {
	uint64_t pairs;    /* compared pairs: two ranks of different clocks */
	uint64_t inverted; /* the effect precedes its cause, within the bounds */
	uint64_t violated; /* it does by more than both bounds */
	int64_t worst_ns;  /* the largest inversion beyond the bounds; 0: none */
};

/* Adds an effect, in job ns, that cannot be earlier than its cause; bounds are of the times' errors. */
static inline void pp_causality_add(struct pp_causality *c, int64_t cause_ns, int64_t cause_bound_ns, int64_t effect_ns,
                                    int64_t effect_bound_ns)
{
	int64_t early = cause_ns - effect_ns, bound;

	if (__builtin_add_overflow(cause_bound_ns, effect_bound_ns, &bound))
		return; /* one of the ranks has no joined clock */
	c->pairs++;
	if (early <= 0)
		return;
	c->inverted += early <= bound;
	c->violated += early > bound;
	if (early - bound > c->worst_ns)
		c->worst_ns = early - bound;
}

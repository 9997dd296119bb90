/* How much a count of a driver grew over the window, from readings in order of time. Used by gpu.c and port.c. */
#pragma once

#include <stdint.h>

#include "core/base/known.h"

struct pp_growth {
	int64_t last, grown;
	uint64_t readings;
};

/* -1: this reading is unknown. A count of 32 bits goes round; a smaller value is else a reset, of which nothing is known. */
static inline void pp_growth_see(struct pp_growth *g, int64_t value)
{
	if (value < 0)
		return;
	if (g->readings && value >= g->last)
		g->grown += value - g->last;
	else if (g->readings && g->last <= UINT32_MAX && g->last > UINT32_MAX / 2)
		g->grown += value + ((int64_t)1 << 32) - g->last;
	g->last = value;
	g->readings++;
}

/* PP_UNKNOWN of fewer than two readings. */
static inline int64_t pp_growth_of(const struct pp_growth *g)
{
	return g->readings > 1 ? g->grown : PP_UNKNOWN;
}

/* Places clocks that were never compared by collectives: all ranks leave one together, but for its transfer. Called by
 * session/analyze_clock.c, for files of other profilers. In: when each rank entered and left each collective, by its own clock.
 * Out: one constant offset a clock against the home's, with a bound from the spread of its differences. Pure, one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct pp_ends_row {        /* a rank in a collective that no rank leaves before all have entered it */
	uint64_t operation; /* equal numbers: the same collective */
	uint32_t clock;
	int64_t arrival, end; /* ns of its clock */
};

enum pp_ends_how {
	PP_ENDS_NONE,   /* it shares no collective with a clock that has a place */
	PP_ENDS_SPREAD, /* the differences contradict each other by more than half of what the calls last */
	PP_ENDS_PLACED,
};

struct pp_ends_clock {
	enum pp_ends_how how;
	int64_t offset;      /* to be added to its times */
	int64_t bound;       /* |error| of that against the home's clock */
	int64_t drift_ppb;   /* rate of the home's clock against it, minus 1; PP_UNKNOWN: the data show none */
	uint64_t operations; /* by which it was placed */
	uint32_t parent;     /* the clock that these were shared with; of the home itself */
	uint32_t hops;       /* on the way to the home */
};

/* Sorts the rows. ret_clock[clocks]. -ENOMEM. */
int pp_ends_place(struct pp_ends_row *row, size_t rows, size_t clocks, uint32_t home, struct pp_ends_clock *ret_clock,
                  struct pp_err *err);

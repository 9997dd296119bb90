/* Joins the clocks of files of other profilers: those of one host by its wall clock, others by the ends of collectives. In: a
 * part for each file. Out: their epochs, moved onto one time; domains, bounds and rows of /clock of the merged dataset, as the
 * keepers of a live job make them. Called by analyze_merge.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_analyze_clock;
struct pp_analyze_place;

struct pp_analyze_clocks {
	struct pp_analyze_clock *clock; /* [clocks] */
	struct pp_analyze_place *place; /* [places], of ranks, in their order */
	size_t clocks, places;
	size_t separate; /* files that name a host, and cannot be of one clock with the others that do */
};

/* Moves the epochs of parts that join others. `date`: [parts], whether a part's epoch is its own; 0: it was assumed. -ENOMEM. */
int pp_analyze_clocks_join(struct pp_dataset *part, const uint8_t *date, size_t parts, struct pp_analyze_clocks *ret_clocks,
                           struct pp_err *err);
/* Sets the clocks of the merged dataset, before it is finished. -ENOMEM. */
int pp_analyze_clocks_set(const struct pp_analyze_clocks *c, struct pp_dataset *d, struct pp_err *err);
/* Warns of ranks that are not joined, and says by what the others are. */
void pp_analyze_clocks_warn(const struct pp_analyze_clocks *c, struct pp_dataset *d);
void pp_analyze_clocks_release(struct pp_analyze_clocks *c);

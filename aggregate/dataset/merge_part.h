/* What merge.c (ranks and steps), merge_clock.c (hosts' clocks), merge_calls.c (collectives) and merge_tables.c (what else hangs on
 * them) share; nobody else includes it. */
#ifndef PP_ANALYZE_MERGE_PART_H
#define PP_ANALYZE_MERGE_PART_H

#include "aggregate/analyze/waiting.h"
#include "aggregate/dataset/dataset.h"

struct pp_merge {
	const struct pp_dataset *const *part;
	size_t parts;
	struct pp_dataset *d;
	int64_t *shift;     /* [parts] ns */
	size_t **worker_of; /* [parts][workers]: index in d; SIZE_MAX: another part has that rank */
	uint32_t **step_of; /* [parts][steps]: index in d */
};

/* Is this rank's row the part's? */
int pp_merge_has(const struct pp_merge *m, size_t part, int32_t rank);
int pp_merge_clocks(struct pp_merge *m);
int pp_merge_collectives(struct pp_merge *m);
int pp_merge_tables(struct pp_merge *m);
/* Once all are in: PP_STEP_NONE is the step of segments whose step is none of the job's. */
int pp_merge_common_steps(struct pp_dataset *d);

#define PP_STEP_NONE ((uint32_t)INT32_MAX)

#endif

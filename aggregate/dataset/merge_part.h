/* Shared by merge.c (ranks, their hosts' clocks, and steps), merge_calls.c (collectives) and merge_tables.c (other tables) only. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_merge {
	const struct pp_dataset *const *part;
	size_t parts;
	struct pp_dataset *const *spent; /* the parts once more, where what is merged may go; NULL: they stay */
	struct pp_dataset *d;
	int64_t *shift;     /* [parts] ns */
	uint8_t *whole;     /* [parts]: 1: all of its ranks are its */
	size_t **worker_of; /* [parts][workers]: index in d; SIZE_MAX: another part has that rank */
	uint32_t **step_of; /* [parts][steps]: index in d */
	uint32_t **host_of; /* [parts][host_clocks]: index in d + 1; 0: none of its ranks is the part's */
};

/* Is this rank's row the part's? Ask m->whole first where there are many rows. */
static inline int pp_merge_has(const struct pp_merge *m, size_t part, int32_t rank)
{
	size_t index = pp_dataset_worker(m->part[part], rank);

	return index != SIZE_MAX && m->worker_of[part][index] != SIZE_MAX;
}

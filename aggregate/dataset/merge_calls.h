/* Merges collectives, arrivals and exposed segments of several hosts. Called by merge.c. */
#pragma once

#include "aggregate/dataset/merge_part.h"

/* Once ranks and steps are merged. 0 or -ENOMEM; the caller releases m->d. */
int pp_merge_collectives(struct pp_merge *m);

/* Merges the tables that hosts make, communicators and warnings of several hosts. Called by merge.c. */
#pragma once

#include "aggregate/dataset/merge_part.h"

/* Once ranks and steps are merged. 0, -ENOMEM, or -EINVAL: a row of a host's clock is wrong. The caller releases m->d. */
int pp_merge_tables(struct pp_merge *m);

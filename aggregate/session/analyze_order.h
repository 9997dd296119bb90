/* Joins collectives that nothing in their files numbers: those of a group that all its ranks' files have alike, in their order. In:
 * a part for each file. Out: the communicators of these parts, one for all of them. Called by analyze_merge.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* *ret_groups: how many groups were joined. -ENOMEM. */
int pp_analyze_order_join(struct pp_dataset *part, size_t parts, size_t *ret_groups);

/* Stage 6: shares of several hosts to one pp_dataset. Called by rank 0's keeper.
 * In: datasets built with `partial`, here or out of block.h. Out: the dataset of all their ranks. Merging is associative and
* commutative; once all are merged, pp_dataset_finish() computes what needs all ranks, as for a keeper that has them all.
 * Ranks whose pp_row_worker.clock is one text are of one clock: their times stay as they are, and they wait for each other across
 * hosts. For that a keeper gives pp_dataset_input.clock (and other_clock) the map that it was given and converted with, and
 * capture.epoch_realtime_ns the epoch that came with the map; pp_rank.clock is the reader's. Others are of domains of their own:
 * their times move by the difference of the epochs' realtime, and nobody is said to wait between them. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "core/base/err.h"

/* All parts share one table of names, which the result borrows; they are not changed. A rank that two hosts have is the first
 * one's, with a warning. -ENOMEM, -EINVAL: no part. */
int pp_dataset_merge(const struct pp_dataset *const *part, size_t parts, struct pp_dataset *ret_dataset, struct pp_err *err);
/* The same, and the parts' rows go as soon as they are merged: all of them are never there twice. The parts may only be released
 * then, also where this fails. */
int pp_dataset_merge_spend(struct pp_dataset *const *part, size_t parts, struct pp_dataset *ret_dataset, struct pp_err *err);

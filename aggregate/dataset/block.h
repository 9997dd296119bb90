/* pp_block: a host's share of the pod dataset as bytes, what one keeper sends to another. Called by the keeper.
 * In: pp_dataset of some ranks. Out: the same elsewhere. The bytes have a magic, version, byte order, size and CRC-32; columns of
 * varints, deflated. Bytes of another keeper are not believed: every number is in its range, every index points to a row, and
 * what they become in memory is bounded by how many they are. */
#pragma once

#include <stddef.h>

#include "aggregate/dataset/dataset.h"
#include "core/base/err.h"
#include "core/ring/intern.h"

enum { PP_BLOCK_VERSION = 8 };

/* Of a part, merged or not: columns of collectives that only pp_dataset_finish() fills are not in a block, so a finished dataset
 * does not come back whole. To be freed. -ENOMEM, -EINVAL: a value that no capture has. */
int pp_block_write(const struct pp_dataset *d, void **ret_bytes, size_t *ret_size, struct pp_err *err);
/* Names go into `names`, which the dataset borrows; blocks that are to be merged share it. -EBADMSG: no block, or not a whole one;
 * -ENOTSUP: of another version or byte order; -ENOMEM. */
int pp_block_read(const void *bytes, size_t size, struct pp_intern *names, struct pp_dataset *ret_dataset, struct pp_err *err);

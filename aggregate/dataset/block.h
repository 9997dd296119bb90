/* pp_block: a host's share of the pod dataset as bytes, sent from keeper to keeper. Called by the keeper.
 * In: pp_dataset of some ranks. Out: the same elsewhere. The bytes have a magic, version, byte order, size and CRC-32; columns of
 * varints, deflated. Bytes of another keeper are not trusted: every number is checked for its range, every index for its row, and
 * their number bounds the memory that they take. */
#pragma once

#include <stddef.h>

#include "aggregate/dataset/dataset.h"
#include "core/base/err.h"
#include "core/ring/intern.h"

enum { PP_BLOCK_VERSION = 14 };

/* Writes a part, merged or not. Columns of collectives that pp_dataset_finish() fills are not in a block, so it cannot hold a
 * finished dataset. The caller frees the bytes. -ENOMEM, -EINVAL: a value that no capture has. */
int pp_block_write(const struct pp_dataset *d, void **ret_bytes, size_t *ret_size, struct pp_err *err);
/* Names go into `names`, which the dataset borrows; blocks for one merge share it. -EBADMSG: no block, or an incomplete one;
 * -ENOTSUP: of another version or byte order; -ENOMEM. */
int pp_block_read(const void *bytes, size_t size, struct pp_intern *names, struct pp_dataset *ret_dataset, struct pp_err *err);

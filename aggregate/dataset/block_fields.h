/* The contents of a block, in both directions. Called by block.c. */
#pragma once

#include "aggregate/dataset/block_io.h"

struct pp_dataset;

/* All fields in order; faults are in `io`. Writing does not change the dataset; read rows are the caller's, also of a fault. */
void pp_block_fields(struct pp_block_io *io, struct pp_dataset *d);

/* What no table of a block holds of collectives. Called by block_fields.c. */
#pragma once

#include "aggregate/dataset/block_io.h"

struct pp_dataset;

/* Exposed segments and whom they wait for, after the tables, which it checks. Faults are in `io`. */
void pp_block_calls(struct pp_block_io *io, struct pp_dataset *d);

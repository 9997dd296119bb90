/* Tables in a block; see block.h. In: sealed tables, or bytes of another host, which are not believed. Out: the other. Called by
 * block.c. */
#pragma once

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/table/table.h"

/* Tables made by hosts, in both directions; on the way in their desc is set and they have no rows. A fault stays in `io`; what was
 * read until then is in the tables, to be freed. */
void pp_tables_bytes(struct pp_block_io *io, struct pp_table *table, size_t tables);

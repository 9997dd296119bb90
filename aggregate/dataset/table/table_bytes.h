/* Tables in a block; see block.h. In: sealed tables, or bytes of another host, which are not trusted. Out: the other. Called by
 * block.c. */
#pragma once

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/table/table.h"

/* Tables made by hosts, in both directions; for reading, their desc is set and they have no rows. A fault stays in `io`; the
 * caller frees the rows read until then. */
/* One existing row, without names. */
void pp_record_bytes(struct pp_block_io *io, struct pp_table *record);
void pp_tables_bytes(struct pp_block_io *io, struct pp_table *table, size_t tables);

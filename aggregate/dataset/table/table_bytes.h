/* Tables in a block; see block.h. In: sealed tables, or bytes of another host, which are not trusted. Out: the other. Called by
 * block.c. */
#pragma once

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/table/table.h"

/* What a value probably is: only its difference to that is sent. predict(table, row) may use rows of tables before its own, in its
 * own row columns behind this one, and rows before it: columns are sent from the last to the first. Read rows are not checked
 * yet. */
struct pp_prediction {
	int table;
	size_t offset; /* of the value in its row */
	int64_t (*predict)(const struct pp_table *table, size_t row);
};

/* Tables made by hosts, in both directions: every column whose rule is not LATE. For reading, their desc is set and they have no
 * rows. A fault stays in `io`; the caller frees the rows read until then. */
void pp_tables_bytes(struct pp_block_io *io, struct pp_table *table, size_t tables, const struct pp_prediction *prediction,
                     size_t predictions);
/* One existing row, without names. */
void pp_record_bytes(struct pp_block_io *io, struct pp_table *record);

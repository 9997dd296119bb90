/* Whose data a call gets, by the kind of its operation. */
#pragma once

#include "aggregate/graph/graph.h"

enum pp_need_kind {
	PP_NEED_NOBODY,  /* it gives data only, or gets none */
	PP_NEED_ALL,     /* of all ranks of the operation that give any */
	PP_NEED_ROWS,    /* of the rows in pp_need_list */
	PP_NEED_UNKNOWN, /* of some, and no record says of which */
};

struct pp_need_list { /* rows that one row needs, the latest first; zeroed before its first use */
	uint32_t row[4];
	uint32_t rows;
	/* kept for the next row of the operation: its root, and of a prefix what rows before `upto` give */
	uint64_t of, upto; /* of: its first row + 1 */
	uint32_t root, lower[4], lowers;
};

/* What row `row` of operation `c` needs. `list` is set for PP_NEED_ROWS: of a prefix or of neighbours the four that arrived last.
 * No errors: it allocates nothing. */
enum pp_need_kind pp_needs_in(const struct pp_dataset *d, const struct pp_row_collective *c, uint32_t row,
                              struct pp_need_list *list);
/* An operation whose rows do not belong together: doubled, mixed or odd ends of messages. Nothing is known of it. */
int pp_needs_are_odd(const struct pp_dataset *d, const struct pp_row_collective *c);
/* Of an operation with rows. */
enum pp_graph_kind pp_needs_kind(const struct pp_dataset *d, const struct pp_row_collective *c);

/* The same as pp_needs_in(), of the graph's operations. */
static inline enum pp_need_kind pp_needs_of(const struct pp_graph *g, uint32_t operation, uint32_t row, struct pp_need_list *list)
{
	return pp_needs_in(g->d, &g->d->collective[operation], row, list);
}

/* Fields of a block: one line per field, in both directions. Called by block.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/table/table_bytes.h"

enum { HAS_STEP = 1, HAS_LATE };

/* Workers' fields without a description, and conditions over several rows. */
static void do_workers(struct pp_block_io *io, struct pp_dataset *d)
{
	for (size_t i = 0; i < d->workers; i++) {
		struct pp_row_worker *w = &d->worker[i];

		for (uint32_t k = 0; k < PP_REMARKS && k < w->remarks; k++)
			PP_BLOCK_TEXT(io, w->remark[k]);
		PP_BLOCK_U(io, w->host_clock);
		if (w->host_clock > d->host_clocks)
			pp_block_fault(io, -EBADMSG, "a worker's clock");
		if (w->domain >= (int64_t)d->workers)
			pp_block_fault(io, -EBADMSG, "a clock");
	}
}

/* Mostly a step begins at the end of the rank's last one; the last category is the rest of the step. */
static void do_cell(struct pp_block_io *io, struct pp_row_cell *c, const struct pp_row_cell *before)
{
	uint64_t has = c->present ? HAS_STEP : c->late_ns || c->late_error_ns ? HAS_LATE : 0;
	int64_t length, rest;

	pp_block_u(io, &has);
	c->present = has == HAS_STEP ? 1 : 0;
	if (has == HAS_LATE) { /* it has no such step, but others waited for it in theirs */
		PP_BLOCK_T(io, c->late_ns, 0);
		PP_BLOCK_T(io, c->late_error_ns, 0);
	} else if (has > HAS_LATE) {
		pp_block_fault(io, -EBADMSG, "a cell");
	}
	if (has != HAS_STEP)
		return;
	PP_BLOCK_T(io, c->begin_ns, before ? before->end_ns : 0);
	PP_BLOCK_T(io, c->end_ns, c->begin_ns);
	length = c->end_ns - c->begin_ns;
	PP_BLOCK_T(io, c->step_ns, length);
	rest = c->step_ns;
	for (int k = 1; k <= PP_CATEGORIES; k++) {
		PP_BLOCK_T(io, c->exclusive_ns[k], k < PP_CATEGORIES ? 0 : rest);
		rest = (int64_t)((uint64_t)rest - (uint64_t)c->exclusive_ns[k]);
	}
	PP_BLOCK_T(io, c->wait_ns, 0);
	PP_BLOCK_T(io, c->transfer_ns, 0);
	PP_BLOCK_T(io, c->point_to_point_ns, 0);
	PP_BLOCK_T(io, c->late_ns, 0);
	PP_BLOCK_T(io, c->late_error_ns, 0);
	PP_BLOCK_U(io, c->bottleneck);
	if (c->bottleneck < 0 || c->bottleneck > PP_CATEGORIES)
		pp_block_fault(io, -EBADMSG, "a category");
}

/* At least one byte per cell: the bytes' number bounds the allocation. */
static size_t grid(struct pp_block_io *io, const struct pp_dataset *d)
{
	if (io->fault || (io->reads && d->workers && d->steps > (io->size - io->at) / d->workers)) {
		pp_block_fault(io, -EBADMSG, "more cells than there are bytes");
		return 0;
	}
	return d->steps * d->workers;
}

static void do_steps(struct pp_block_io *io, struct pp_dataset *d)
{
	size_t cells;

	d->step = pp_block_array(io, d->step, &d->steps, sizeof(*d->step), 1);
	for (size_t i = 0; i < d->steps; i++) {
		pp_block_delta(io, &d->step[i].number, i ? d->step[i - 1].number : 0, 0);
		if (i && d->step[i].number <= d->step[i - 1].number)
			pp_block_fault(io, -EBADMSG, "steps out of order");
	}
	cells = grid(io, d);
	if (io->reads)
		d->cell = pp_block_room(io, cells, sizeof(*d->cell));
	for (size_t i = 0; i < cells && !io->fault; i++)
		do_cell(io, &d->cell[i], i >= d->workers ? &d->cell[i - d->workers] : NULL);
}

/* What no description holds of communicators. */
static void do_members(struct pp_block_io *io, struct pp_dataset *d)
{
	for (size_t i = 0; i < d->communicators; i++) {
		struct pp_row_communicator *c = &d->communicator[i];
		size_t members = c->member ? c->size : 0;

		c->member = pp_block_array(io, c->member, &members, sizeof(*c->member), 1);
		if (members && members != c->size)
			pp_block_fault(io, -EBADMSG, "members of a communicator");
		PP_BLOCK_COLUMN(PP_BLOCK_S, io, k, members, c->member[k]);
		if (io->reads && !members) {
			free(c->member);
			c->member = NULL;
		}
	}
}

static void need_worker(struct pp_block_io *io, const struct pp_dataset *d, int32_t rank)
{
	if (!io->fault && pp_dataset_worker(d, rank) == SIZE_MAX)
		pp_block_fault(io, -EBADMSG, "a rank that is not in it");
}

/* Rows are of existing ranks. */
static void do_tables(struct pp_block_io *io, struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(d, table);
	pp_tables_bytes(io, table, PP_TABLES);
	if (!io->reads)
		return;
	pp_dataset_take_tables(d, table);
	if (!io->fault && pp_dataset_link_clocks(d))
		pp_block_fault(io, -EBADMSG, "a row of a host's clock");
	for (int id = 0; id < PP_TABLES; id++) {
		for (size_t i = 0; i < table[id].desc->columns; i++) {
			const struct pp_column *c = &table[id].desc->column[i];

			for (size_t r = 0; c->type == PP_TYPE_WORKER && c->rule < PP_RULE_LATE && r < table[id].rows; r++) {
				int64_t rank;

				pp_column_load(c, &table[id], r, 1, 0, &rank);
				need_worker(io, d, (int32_t)rank);
			}
		}
	}
}

void pp_block_fields(struct pp_block_io *io, struct pp_dataset *d)
{
	struct pp_table record = pp_dataset_record(d);

	pp_record_bytes(io, &record);
	do_tables(io, d);
	do_workers(io, d);
	do_steps(io, d);
	pp_block_calls(io, d);
	do_members(io, d);
}

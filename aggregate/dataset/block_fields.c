/* Fields of a block: one line per field, in both directions. Called by block.c. */
#include "aggregate/dataset/block_fields.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/block_calls.h"
#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/describe_job.h"
#include "aggregate/dataset/table/table_bytes.h"
#include "core/base/wrap.h"

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

/* Cells are [steps][workers]. Mostly a step begins at the end of the rank's last one, and lasts from begin to end. */
static int64_t predict_end(const struct pp_table *table, size_t i)
{
	const struct pp_row_cell *c = (const struct pp_row_cell *)table[PP_TABLE_cell].row + i;
	const size_t workers = table[PP_TABLE_worker].rows;

	return c->present ? pp_wrap_plus(i >= workers ? (c - workers)->end_ns : 0, c->step_ns) : 0;
}

static int64_t predict_begin(const struct pp_table *table, size_t i)
{
	const struct pp_row_cell *c = (const struct pp_row_cell *)table[PP_TABLE_cell].row + i;

	return pp_wrap_minus(c->end_ns, c->step_ns);
}

/* The last category is the rest of the step. */
static int64_t predict_rest(const struct pp_table *table, size_t i)
{
	const struct pp_row_cell *c = (const struct pp_row_cell *)table[PP_TABLE_cell].row + i;
	int64_t rest = c->step_ns;

	for (int k = 1; k < PP_CATEGORIES; k++)
		rest = pp_wrap_minus(rest, c->exclusive_ns[k]);
	return rest;
}

/* The next rank of the host; after its last one the first. */
static int64_t predict_worker(const struct pp_table *table, size_t i)
{
	const struct pp_row_arrival *a = (const struct pp_row_arrival *)table[PP_TABLE_arrival].row + i;
	const struct pp_row_worker *w = table[PP_TABLE_worker].row;
	const size_t n = table[PP_TABLE_worker].rows;
	int64_t next;

	if (!i || !n)
		return n ? w[0].rank : 0;
	next = (int64_t)a[-1].worker + (n > 1 ? (int64_t)w[1].rank - w[0].rank : 1);
	return next > w[n - 1].rank ? w[0].rank : next;
}

/* As the row before; 0 where no call is known. */
static int64_t predict_call_begin(const struct pp_table *table, size_t i)
{
	const struct pp_row_arrival *a = (const struct pp_row_arrival *)table[PP_TABLE_arrival].row + i;

	return i && a->call ? a[-1].call_begin_ns : 0;
}

static int64_t predict_call_end(const struct pp_table *table, size_t i)
{
	const struct pp_row_arrival *a = (const struct pp_row_arrival *)table[PP_TABLE_arrival].row + i;

	return i && a->call ? a[-1].call_end_ns : 0;
}

/* Mostly when the call ends that completes it. */
static int64_t predict_exit(const struct pp_table *table, size_t i)
{
	const struct pp_row_arrival *a = (const struct pp_row_arrival *)table[PP_TABLE_arrival].row + i;

	return a->call ? a->call_end_ns : i ? a[-1].exit_ns : 0;
}

/* A blocking call completes its own operation. */
static int64_t predict_arrival(const struct pp_table *table, size_t i)
{
	const struct pp_row_arrival *a = (const struct pp_row_arrival *)table[PP_TABLE_arrival].row + i;

	return a->call ? a->call_begin_ns : i ? a[-1].arrival_ns : 0;
}

static const struct pp_prediction predictions[] = {
        {PP_TABLE_cell, offsetof(struct pp_row_cell, end_ns), predict_end},
        {PP_TABLE_cell, offsetof(struct pp_row_cell, begin_ns), predict_begin},
        {PP_TABLE_cell, offsetof(struct pp_row_cell, exclusive_ns[PP_CATEGORIES]), predict_rest},
        {PP_TABLE_arrival, offsetof(struct pp_row_arrival, worker), predict_worker},
        {PP_TABLE_arrival, offsetof(struct pp_row_arrival, call_begin_ns), predict_call_begin},
        {PP_TABLE_arrival, offsetof(struct pp_row_arrival, call_end_ns), predict_call_end},
        {PP_TABLE_arrival, offsetof(struct pp_row_arrival, arrival_ns), predict_arrival},
        {PP_TABLE_arrival, offsetof(struct pp_row_arrival, exit_ns), predict_exit},
};

/* Cells: of absent steps nothing but what others waited for them. */
static void check_cells(struct pp_block_io *io, const struct pp_table *table)
{
	const struct pp_table *cells = &table[PP_TABLE_cell];
	const struct pp_row_cell *c = cells->row;

	if (!io->fault && cells->rows != table[PP_TABLE_step].rows * table[PP_TABLE_worker].rows)
		pp_block_fault(io, -EBADMSG, "the number of cells");
	for (size_t i = 0; i < cells->rows && !io->fault; i++)
		if (c[i].begin_ns == INT64_MIN || c[i].end_ns == INT64_MIN ||
		    (!c[i].present && (c[i].begin_ns || c[i].end_ns || c[i].step_ns)))
			pp_block_fault(io, -EBADMSG, "a cell");
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
		for (size_t k = 0; k < members; k++)
			PP_BLOCK_S(io, c->member[k]);
		if (io->reads && !members) {
			free(c->member);
			c->member = NULL;
		}
	}
}

/* Rows are of existing ranks, mostly of the next one. */
static void need_workers(struct pp_block_io *io, const struct pp_dataset *d, const struct pp_table *t, const struct pp_column *c)
{
	int64_t rank[PP_TABLE_BATCH];
	size_t w = 0;

	for (size_t at = 0, n; at < t->rows && !io->fault; at += n) {
		n = t->rows - at < PP_TABLE_BATCH ? t->rows - at : PP_TABLE_BATCH;
		pp_column_load(c, t, at, n, 0, rank);
		for (size_t i = 0; i < n; i++, w++) {
			if (w >= d->workers || d->worker[w].rank != rank[i])
				w = pp_dataset_worker(d, (int32_t)rank[i]);
			if (w == SIZE_MAX) {
				pp_block_fault(io, -EBADMSG, "a rank that is not in it");
				return;
			}
		}
	}
}

static void do_tables(struct pp_block_io *io, struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(d, table);
	pp_tables_bytes(io, table, PP_TABLES, predictions, sizeof(predictions) / sizeof(*predictions));
	check_cells(io, table);
	if (!io->reads)
		return;
	pp_dataset_take_tables(d, table);
	if (!io->fault && pp_dataset_link_clocks(d))
		pp_block_fault(io, -EBADMSG, "a row of a host's clock");
	for (int id = 0; id < PP_TABLES && !io->fault; id++)
		for (size_t i = 0; i < table[id].desc->columns; i++)
			if (table[id].desc->column[i].type == PP_TYPE_WORKER && table[id].desc->column[i].rule < PP_RULE_LATE)
				need_workers(io, d, &table[id], &table[id].desc->column[i]);
}

void pp_block_fields(struct pp_block_io *io, struct pp_dataset *d)
{
	struct pp_table record = pp_dataset_record(d);

	pp_record_bytes(io, &record);
	do_tables(io, d);
	do_workers(io, d);
	pp_block_calls(io, d);
	do_members(io, d);
}

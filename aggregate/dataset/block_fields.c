/* What is in a block: one line a field, in both directions. Called by block.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/table/table_bytes.h"

enum { RANKS_MOST = 1 << 17 };
enum { HAS_STEP = 1, HAS_LATE };

static void do_head(struct pp_block_io *io, struct pp_dataset *d)
{
	PP_BLOCK_TEXT(io, d->session);
	PP_BLOCK_TEXT(io, d->job);
	PP_BLOCK_TEXT(io, d->command);
	PP_BLOCK_TEXT(io, d->options);
	PP_BLOCK_TEXT(io, d->step_rule);
	PP_BLOCK_S(io, d->epoch_realtime_ns);
	PP_BLOCK_T(io, d->window_begin_ns, 0);
	PP_BLOCK_T(io, d->window_end_ns, 0);
	PP_BLOCK_S(io, d->steps_asked_first);
	PP_BLOCK_S(io, d->steps_asked_last);
	PP_BLOCK_S(io, d->ranks_asked);
	PP_BLOCK_S(io, d->ranks_delivered);
	if (d->ranks_asked < 0 || d->ranks_asked > RANKS_MOST)
		pp_block_fault(io, -EBADMSG, "the number of ranks");
	pp_block_double(io, &d->step_confidence);
	PP_BLOCK_U(io, d->crossed);
	PP_BLOCK_U(io, d->spawned);
	PP_BLOCK_U(io, d->untied);
	PP_BLOCK_U(io, d->c10d.calls);
	PP_BLOCK_U(io, d->c10d.untold);
	PP_BLOCK_U(io, d->c10d.mute);
	PP_BLOCK_U(io, d->c10d.unended);
	PP_BLOCK_U(io, d->c10d.enqueued);
	PP_BLOCK_U(io, d->c10d.rootless);
	PP_BLOCK_U(io, d->paused);
	PP_BLOCK_U(io, d->parented);
	PP_BLOCK_T(io, d->memory_period_ns, 0);
	PP_BLOCK_T(io, d->startup_ns, 0);
	PP_BLOCK_T(io, d->keeper_cpu_ns, 0);
	PP_BLOCK_U(io, d->keeper_rss_bytes);
}

static void do_workers(struct pp_block_io *io, struct pp_dataset *d)
{
	d->worker = pp_block_array(io, d->worker, &d->workers, sizeof(*d->worker), 20);
	for (size_t i = 0; i < d->workers; i++) {
		struct pp_worker *w = &d->worker[i];

		PP_BLOCK_S(io, w->rank);
		PP_BLOCK_S(io, w->local_rank);
		PP_BLOCK_S(io, w->pid);
		PP_BLOCK_TEXT(io, w->host);
		PP_BLOCK_TEXT(io, w->status);
		PP_BLOCK_TEXT(io, w->device);
		PP_BLOCK_TEXT(io, w->device_name);
		PP_BLOCK_TEXT(io, w->clock);
		PP_BLOCK_S(io, w->domain);
		PP_BLOCK_S(io, w->own_bound_ns);
		PP_BLOCK_S(io, w->offset_ns);
		PP_BLOCK_S(io, w->bound_ns);
		PP_BLOCK_S(io, w->drift_ppb);
		for (int k = 0; k < PP_LOSSES; k++)
			PP_BLOCK_U(io, w->lost[k]);
		PP_BLOCK_U(io, w->records);
		PP_BLOCK_S(io, w->recorded_ns);
		PP_BLOCK_S(io, w->kept_ns);
		PP_BLOCK_TEXT(io, w->options);
		PP_BLOCK_TEXT(io, w->version);
		PP_BLOCK_TEXT(io, w->command);
		PP_BLOCK_TEXT(io, w->memory_note);
		PP_BLOCK_U(io, w->remarks);
		for (uint32_t k = 0; k < PP_REMARKS && k < w->remarks; k++)
			PP_BLOCK_TEXT(io, w->remark[k]);
		PP_BLOCK_U(io, w->loader_samples);
		pp_block_double(io, &w->loader_busy);
		if (w->recorded_ns < 0 || w->kept_ns < 0 || w->kept_ns > w->recorded_ns)
			pp_block_fault(io, -EBADMSG, "a share of the run");
		if (w->domain < -1 || w->domain >= (int64_t)d->workers || w->own_bound_ns < 0)
			pp_block_fault(io, -EBADMSG, "a clock");
		if (w->loader_busy < 0 || w->loader_busy > 1)
			pp_block_fault(io, -EBADMSG, "a share");
		if (w->rank < 0 || (i && w->rank <= w[-1].rank))
			pp_block_fault(io, -EBADMSG, "ranks out of order");
	}
}

/* A step begins where the rank's last one ended, more often than not; the last category is what the others leave. */
static void do_cell(struct pp_block_io *io, struct pp_cell *c, const struct pp_cell *before)
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

/* One byte a cell at least: what the bytes can hold bounds what is allocated. */
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

	d->step_number = pp_block_array(io, d->step_number, &d->steps, sizeof(*d->step_number), 1);
	for (size_t i = 0; i < d->steps; i++) {
		pp_block_delta(io, &d->step_number[i], i ? d->step_number[i - 1] : 0, 0);
		if (i && d->step_number[i] <= d->step_number[i - 1])
			pp_block_fault(io, -EBADMSG, "steps out of order");
	}
	cells = grid(io, d);
	if (io->reads)
		d->cell = pp_block_room(io, cells, sizeof(*d->cell));
	for (size_t i = 0; i < cells && !io->fault; i++)
		do_cell(io, &d->cell[i], i >= d->workers ? &d->cell[i - d->workers] : NULL);
}

static void do_communicators(struct pp_block_io *io, struct pp_dataset *d)
{
	d->communicator = pp_block_array(io, d->communicator, &d->communicators, sizeof(*d->communicator), 6);
	for (size_t i = 0; i < d->communicators; i++) {
		struct pp_communicator *c = &d->communicator[i];
		size_t members = c->member ? c->size : 0;

		PP_BLOCK_U(io, c->id);
		pp_block_name(io, &c->name);
		PP_BLOCK_U(io, c->size);
		PP_BLOCK_TEXT(io, c->role);
		PP_BLOCK_U(io, c->kind);
		c->member = pp_block_array(io, c->member, &members, sizeof(*c->member), 1);
		if (members && members != c->size)
			pp_block_fault(io, -EBADMSG, "members of a communicator");
		PP_BLOCK_COLUMN(PP_BLOCK_S, io, k, members, c->member[k]);
		if (io->reads && !members) {
			free(c->member);
			c->member = NULL;
		}
		if (i && c->id <= c[-1].id)
			pp_block_fault(io, -EBADMSG, "communicators out of order");
	}
}

static void need_worker(struct pp_block_io *io, const struct pp_dataset *d, int32_t rank)
{
	if (!io->fault && pp_dataset_worker(d, rank) == SIZE_MAX)
		pp_block_fault(io, -EBADMSG, "a rank that is not in it");
}

static void do_defaults(struct pp_block_io *io, struct pp_dataset *d)
{
	d->by_default = pp_block_array(io, d->by_default, &d->defaults, sizeof(*d->by_default), 2);
	for (size_t i = 0; i < d->defaults; i++) {
		pp_block_name(io, &d->by_default[i].name);
		PP_BLOCK_T(io, d->by_default[i].ns, 0);
	}
}

static void do_warnings(struct pp_block_io *io, struct pp_dataset *d)
{
	d->warning = pp_block_array(io, d->warning, &d->warnings, sizeof(*d->warning), 1);
	for (size_t i = 0; i < d->warnings; i++)
		PP_BLOCK_TEXT(io, d->warning[i].text);
}

/* Tables with a description: their rows are of ranks that are there. */
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

			for (size_t r = 0; c->type == PP_TYPE_WORKER && c->rule != PP_RULE_LATE && r < table[id].rows; r++) {
				int64_t rank;

				pp_column_load(c, &table[id], r, 1, 0, &rank);
				need_worker(io, d, (int32_t)rank);
			}
		}
	}
}

void pp_block_fields(struct pp_block_io *io, struct pp_dataset *d)
{
	do_head(io, d);
	do_workers(io, d);
	pp_block_clocks(io, d);
	do_steps(io, d);
	pp_block_calls(io, d);
	do_communicators(io, d);
	do_defaults(io, d);
	do_warnings(io, d);
	do_tables(io, d);
}

/* What is in a block: one line a field, in both directions. Called by block.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/block_io.h"
#include "aggregate/analyze/dataset.h"
#include "core/source/mpi_call.h"

enum { RANKS_MOST = 1 << 17 };

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
	PP_BLOCK_U(io, d->violations);
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
		PP_BLOCK_S(io, w->domain);
		PP_BLOCK_S(io, w->offset_ns);
		PP_BLOCK_S(io, w->bound_ns);
		PP_BLOCK_S(io, w->drift_ppb);
		for (int k = 0; k < PP_LOSSES; k++)
			PP_BLOCK_U(io, w->lost[k]);
		PP_BLOCK_U(io, w->records);
		PP_BLOCK_TEXT(io, w->options);
		PP_BLOCK_TEXT(io, w->version);
		PP_BLOCK_TEXT(io, w->command);
		if (w->rank < 0 || (i && w->rank <= w[-1].rank))
			pp_block_fault(io, -EBADMSG, "ranks out of order");
	}
}

/* A step begins where the rank's last one ended, more often than not; the last category is what the others leave. */
static void do_cell(struct pp_block_io *io, struct pp_cell *c, const struct pp_cell *before)
{
	int64_t length, rest;

	PP_BLOCK_U(io, c->present);
	if (c->present != 1) {
		if (c->present)
			pp_block_fault(io, -EBADMSG, "a cell");
		return;
	}
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
	PP_BLOCK_T(io, c->late_ns, 0);
	PP_BLOCK_U(io, c->bottleneck);
	if (c->bottleneck < 0 || c->bottleneck > PP_CATEGORIES)
		pp_block_fault(io, -EBADMSG, "a category");
}

static void do_process_cell(struct pp_block_io *io, struct pp_process_cell *c)
{
	int has = c->present | c->rss_present << 1;

	PP_BLOCK_U(io, has);
	c->present = (int8_t)(has & 1);
	c->rss_present = (int8_t)(has >> 1 & 1);
	if (has & ~3)
		pp_block_fault(io, -EBADMSG, "a cell");
	if (!has)
		return;
	PP_BLOCK_T(io, c->cpu_user_ns, 0);
	PP_BLOCK_T(io, c->cpu_system_ns, 0);
	PP_BLOCK_S(io, c->voluntary);
	PP_BLOCK_S(io, c->involuntary);
	PP_BLOCK_S(io, c->minor);
	PP_BLOCK_S(io, c->major);
	PP_BLOCK_U(io, c->rss_peak);
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
	int has_process = d->process != NULL;
	size_t cells;

	d->step_number = pp_block_array(io, d->step_number, &d->steps, sizeof(*d->step_number), 1);
	for (size_t i = 0; i < d->steps; i++) {
		pp_block_delta(io, &d->step_number[i], i ? d->step_number[i - 1] : 0, 0);
		if (i && d->step_number[i] <= d->step_number[i - 1])
			pp_block_fault(io, -EBADMSG, "steps out of order");
	}
	cells = grid(io, d);
	if (io->reads && !(d->cell = calloc(cells + 1, sizeof(*d->cell))))
		pp_block_fault(io, -ENOMEM, "no memory");
	for (size_t i = 0; i < cells && !io->fault; i++)
		do_cell(io, &d->cell[i], i >= d->workers ? &d->cell[i - d->workers] : NULL);
	PP_BLOCK_U(io, has_process);
	cells = has_process ? grid(io, d) : 0;
	if (io->reads && has_process && !(d->process = calloc(cells + 1, sizeof(*d->process))))
		pp_block_fault(io, -ENOMEM, "no memory");
	for (size_t i = 0; i < cells && !io->fault; i++)
		do_process_cell(io, &d->process[i]);
}

/* By columns: a job does the same again and again, and what is alike stands together. */
static void do_collectives(struct pp_block_io *io, struct pp_dataset *d)
{
	struct pp_collective *c;
	size_t n;

	d->collective = pp_block_array(io, d->collective, &d->collectives, sizeof(*d->collective), 28);
	c = d->collective;
	n = d->collectives;
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].comm);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].call);
	for (size_t i = 0; i < n; i++) {
		int64_t sequence = c[i].sequence;

		pp_block_delta(io, &sequence, i ? (int64_t)c[i - 1].sequence : 0, 1);
		c[i].sequence = (uint32_t)sequence;
		pp_block_delta(io, &c[i].step, i ? c[i - 1].step : 0, 0);
		if (c[i].call >= pp_mpi_call_count() || sequence < 0 || sequence > UINT32_MAX)
			pp_block_fault(io, -EBADMSG, "a call");
	}
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].bytes);
	PP_BLOCK_COLUMN(PP_BLOCK_S, io, i, n, c[i].ranks);
	PP_BLOCK_COLUMN(PP_BLOCK_S, io, i, n, c[i].root);
	for (size_t i = 0; i < n; i++) {
		PP_BLOCK_T(io, c[i].first_ns, i ? c[i - 1].first_ns : 0);
		PP_BLOCK_T(io, c[i].last_ns, c[i].first_ns);
		PP_BLOCK_T(io, c[i].end_ns, c[i].last_ns);
	}
	PP_BLOCK_COLUMN(PP_BLOCK_S, io, i, n, c[i].last_worker);
	PP_BLOCK_COLUMN(PP_BLOCK_S, io, i, n, c[i].wait_ns);
	PP_BLOCK_COLUMN(PP_BLOCK_S, io, i, n, c[i].transfer_ns);
	PP_BLOCK_COLUMN(PP_BLOCK_S, io, i, n, c[i].bound_ns);
	PP_BLOCK_COLUMN(pp_block_double, io, i, n, &c[i].algbw);
	PP_BLOCK_COLUMN(pp_block_double, io, i, n, &c[i].busbw);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].row_first);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].row_count);
}

static int has_worker(const struct pp_dataset *d, int32_t rank)
{
	size_t low = 0, high = d->workers;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->worker[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < d->workers && d->worker[low].rank == rank;
}

static void need_worker(struct pp_block_io *io, const struct pp_dataset *d, int32_t rank)
{
	if (!io->fault && !has_worker(d, rank))
		pp_block_fault(io, -EBADMSG, "a rank that is not in it");
}

static void do_rows(struct pp_block_io *io, struct pp_dataset *d)
{
	d->row = pp_block_array(io, d->row, &d->rows, sizeof(*d->row), 3);
	PP_BLOCK_COLUMN(PP_BLOCK_S, io, i, d->rows, d->row[i].worker);
	for (size_t i = 0; i < d->rows; i++)
		PP_BLOCK_T(io, d->row[i].arrival_ns, i ? d->row[i - 1].arrival_ns : 0);
	for (size_t i = 0; i < d->rows; i++) {
		PP_BLOCK_T(io, d->row[i].exit_ns, d->row[i].arrival_ns);
		need_worker(io, d, d->row[i].worker);
	}
	for (size_t i = 0; i < d->collectives; i++)
		if (!d->collective[i].row_count || d->collective[i].row_first > d->rows ||
		    d->collective[i].row_count > d->rows - d->collective[i].row_first)
			pp_block_fault(io, -EBADMSG, "rows of a collective");
}

static void do_channels(struct pp_block_io *io, struct pp_channel **channel, size_t *channels)
{
	*channel = pp_block_array(io, *channel, channels, sizeof(**channel), 5);
	for (size_t i = 0; i < *channels; i++) {
		struct pp_channel *c = &(*channel)[i];

		PP_BLOCK_S(io, c->source);
		PP_BLOCK_S(io, c->destination);
		PP_BLOCK_U(io, c->bytes);
		PP_BLOCK_U(io, c->count);
		PP_BLOCK_T(io, c->time_ns, 0);
	}
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

static void do_files(struct pp_block_io *io, struct pp_dataset *d)
{
	d->file = pp_block_array(io, d->file, &d->files, sizeof(*d->file), 10);
	for (size_t i = 0; i < d->files; i++) {
		struct pp_file_use *f = &d->file[i];

		pp_block_name(io, &f->name);
		PP_BLOCK_S(io, f->worker);
		PP_BLOCK_U(io, f->opens);
		PP_BLOCK_U(io, f->reads);
		PP_BLOCK_U(io, f->writes);
		PP_BLOCK_U(io, f->bytes_read);
		PP_BLOCK_U(io, f->bytes_written);
		PP_BLOCK_T(io, f->read_ns, 0);
		PP_BLOCK_T(io, f->write_ns, 0);
		PP_BLOCK_T(io, f->other_ns, 0);
		need_worker(io, d, f->worker);
	}
	d->by_default = pp_block_array(io, d->by_default, &d->defaults, sizeof(*d->by_default), 2);
	for (size_t i = 0; i < d->defaults; i++) {
		pp_block_name(io, &d->by_default[i].name);
		PP_BLOCK_T(io, d->by_default[i].ns, 0);
	}
}

static void do_memories(struct pp_block_io *io, struct pp_dataset *d)
{
	d->memory = pp_block_array(io, d->memory, &d->memories, sizeof(*d->memory), 12);
	for (size_t i = 0; i < d->memories; i++) {
		struct pp_memory *m = &d->memory[i].m;

		PP_BLOCK_S(io, d->memory[i].worker);
		PP_BLOCK_T(io, m->time, i ? d->memory[i - 1].m.time : 0);
		PP_BLOCK_U(io, m->rss);
		PP_BLOCK_U(io, m->pss);
		PP_BLOCK_U(io, m->children_rss);
		PP_BLOCK_U(io, m->user_ns);
		PP_BLOCK_U(io, m->system_ns);
		PP_BLOCK_U(io, m->children_cpu_ns);
		PP_BLOCK_U(io, m->minor_faults);
		PP_BLOCK_U(io, m->major_faults);
		PP_BLOCK_U(io, m->children);
		PP_BLOCK_U(io, m->pss_present);
		need_worker(io, d, d->memory[i].worker);
	}
	d->warning = pp_block_array(io, d->warning, &d->warnings, sizeof(*d->warning), 1);
	for (size_t i = 0; i < d->warnings; i++)
		PP_BLOCK_TEXT(io, d->warning[i].text);
}

void pp_block_fields(struct pp_block_io *io, struct pp_dataset *d)
{
	do_head(io, d);
	do_workers(io, d);
	do_steps(io, d);
	do_collectives(io, d);
	do_rows(io, d);
	do_channels(io, &d->channel, &d->channels);
	do_channels(io, &d->unseen, &d->unseens);
	do_communicators(io, d);
	do_files(io, d);
	do_memories(io, d);
}

/* Reads a pp_dataset from pod.h5: attributes, tables, late. See file.h; called by aggregate/report. */
#include "aggregate/read/h5/file_dataset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/describe_job.h"
#include "aggregate/read/h5/file_memory.h"
#include "aggregate/read/h5/table_read.h"
#include "core/base/known.h"

static const uint64_t always = UINT64_C(1) << PP_TABLE_worker | UINT64_C(1) << PP_TABLE_step | UINT64_C(1) << PP_TABLE_cell |
                               UINT64_C(1) << PP_TABLE_warning | UINT64_C(1) << PP_TABLE_host_clock |
                               UINT64_C(1) << PP_TABLE_unclassified | UINT64_C(1) << PP_TABLE_event |
                               UINT64_C(1) << PP_TABLE_trace_file | UINT64_C(1) << PP_TABLE_evidence;

/* Tables without a bit: the sentences of tf.data need two of them, and files have few rows of these. */
static int is_wanted(int id, uint64_t tables)
{
	if (id < 64)
		return (int)((tables | always) >> id & 1);
	return tables == UINT64_MAX || id == PP_TABLE_tf_data_pipeline || id == PP_TABLE_tf_data_left_out;
}

#define COPY_TEXT(member, text) snprintf((member), sizeof(member), "%s", (text))

static void fill_attributes(struct pp_h5_file *h5, struct pp_dataset *d)
{
	COPY_TEXT(d->session, pp_h5_file_attribute(h5, "session"));
	COPY_TEXT(d->job, pp_h5_file_attribute(h5, "job"));
	COPY_TEXT(d->command, pp_h5_file_attribute(h5, "command"));
	COPY_TEXT(d->options, pp_h5_file_attribute(h5, "options"));
	COPY_TEXT(d->step_rule, pp_h5_file_attribute(h5, "step_rule"));
	COPY_TEXT(d->step_parts, pp_h5_file_attribute(h5, "step_parts"));
	d->step_confidence = pp_h5_file_attribute_real(h5, "step_confidence", 0);
	d->ranks_asked = (int32_t)pp_h5_file_attribute_int(h5, "ranks_asked", 0);
	d->ranks_delivered = (int32_t)pp_h5_file_attribute_int(h5, "ranks_delivered", 0);
	d->epoch_realtime_ns = pp_h5_file_attribute_int(h5, "epoch_realtime_ns", 0);
	d->window_begin_ns = pp_h5_file_attribute_int(h5, "window_begin_ns", 0);
	d->window_end_ns = pp_h5_file_attribute_int(h5, "window_end_ns", 0);
	d->steps_asked_first = pp_h5_file_attribute_int(h5, "steps_asked_first", 0);
	d->steps_asked_last = pp_h5_file_attribute_int(h5, "steps_asked_last", 0);
}

struct fill {
	struct pp_h5_file *h5;
	struct pp_dataset *d;
	struct pp_err *err;
	int code; /* first error: what follows does nothing */
};

static void damaged(struct fill *f, const char *what)
{
	if (!f->code)
		f->code = pp_err_set(f->err, -EINVAL,
		                     "cannot read '%s': %s. The file is damaged: copy it again, or record the job again",
		                     pp_h5_file_path(f->h5), what);
}

/* A file of an earlier podprof has one bound for all waiting in a step. */
static void guess_errors(struct pp_dataset *d)
{
	int64_t bound = pp_dataset_bound(d);

	for (size_t w = 0; w < d->workers; w++) {
		int64_t error = (int64_t)pp_dataset_peers(d, w) * bound;

		for (size_t s = 0; s < d->steps; s++)
			d->cell[s * d->workers + w].late_error_ns = error;
	}
}

/* What an older file does not say of the job as a whole. */
static void fill_record(struct fill *f)
{
	struct pp_table record = pp_dataset_record(f->d);

	f->d->pair_bound_ns = pp_dataset_bound(f->d);
	f->d->straggler = (struct pp_straggler){.waited_for = -1, .run_queue_ns = PP_UNKNOWN};
	if (!f->code)
		f->code = pp_h5_file_record(f->h5, &record, f->err);
}

/* A file of an earlier podprof has no hosts. */
static void fill_hosts(struct fill *f, int has_hosts)
{
	for (size_t w = 0; has_hosts && f->d->host_clocks && w < f->d->workers; w++) {
		struct pp_row_worker *worker = &f->d->worker[w];

		if (worker->worker_host < -1 || worker->worker_host >= (int64_t)f->d->host_clocks)
			damaged(f, "/clock/worker_host names a host that is not in it");
		else
			worker->host_clock = (uint32_t)(worker->worker_host + 1);
	}
	if (!f->code && pp_dataset_link_clocks(f->d))
		damaged(f, "/clock has a row of a host that is not in it");
}

static int lacks(int id, uint64_t missing, const char *column)
{
	for (size_t i = 0; i < pp_table_desc(id)->columns; i++)
		if (!strcmp(pp_table_desc(id)->column[i].name, column))
			return (missing >> i & 1) != 0;
	return 0;
}

/* The steps of a file that has their numbers beside the cells only. */
static void take_numbers(struct fill *f, const struct pp_table *cell, size_t workers, struct pp_table *ret_step)
{
	const int64_t *number = cell->axis[0];
	struct pp_row_step *step;

	if (!number)
		return;
	for (size_t s = 0; s < cell->rows / workers; s++) {
		step = pp_table_add(ret_step);
		if (!step) {
			f->code = pp_err_set(f->err, -ENOMEM, "no memory for the steps of '%s'", pp_h5_file_path(f->h5));
			return;
		}
		step->number = number[s];
	}
}

/* Files of every earlier podprof have workers and steps; a column that the file lacks is unknown or 0. Without late_ns the
 * straggler is unknown. */
static void fill_tables(struct fill *f, uint64_t tables)
{
	struct pp_table table[PP_TABLES];
	uint64_t missing[PP_TABLES];
	size_t cells;

	pp_dataset_tables(f->d, table);
	for (int id = 0; id < PP_TABLES && !f->code; id++)
		if (is_wanted(id, tables))
			f->code = pp_h5_file_table(f->h5, pp_table_desc(id), pp_h5_file_names(f->h5), &table[id], &missing[id],
			                           f->err);
	if (!f->code && table[PP_TABLE_cell].rows && table[PP_TABLE_cell].workers != table[PP_TABLE_worker].rows)
		damaged(f, "/breakdown does not fit /worker");
	if (!f->code && !table[PP_TABLE_step].rows && table[PP_TABLE_worker].rows)
		take_numbers(f, &table[PP_TABLE_cell], table[PP_TABLE_worker].rows, &table[PP_TABLE_step]);
	cells = table[PP_TABLE_step].rows * table[PP_TABLE_worker].rows;
	if (!f->code && table[PP_TABLE_cell].rows != cells)
		damaged(f, "/breakdown does not fit /worker and /step");
	for (int k = 0; k < 2; k++)
		free(table[PP_TABLE_cell].axis[k]);
	pp_dataset_take_tables(f->d, table);
	if (!f->code && lacks(PP_TABLE_cell, missing[PP_TABLE_cell], "late_error_ns"))
		guess_errors(f->d);
	if (!f->code)
		fill_hosts(f, !lacks(PP_TABLE_worker, missing[PP_TABLE_worker], "worker_host"));
}

int pp_h5_file_dataset(struct pp_h5_file *h5, uint64_t tables, struct pp_dataset *ret_dataset, struct pp_err *err)
{
	struct pp_dataset d = {.names = pp_h5_file_names(h5)};
	struct fill f = {.h5 = h5, .d = &d, .err = err};

	if (!d.names)
		return pp_err_set(err, -ENOMEM, "no memory for the names of '%s'", pp_h5_file_path(h5));
	fill_attributes(h5, &d);
	fill_tables(&f, tables);
	fill_record(&f);
	if (!f.code && pp_dataset_late(&d))
		f.code = pp_err_set(err, -ENOMEM, "no memory for %zu workers", d.workers);
	if (f.code) {
		pp_dataset_release(&d);
		return f.code;
	}
	*ret_dataset = d;
	return 0;
}

int pp_h5_file_view(struct pp_h5_file *h5, uint64_t tables, struct pp_dataset *ret_view)
{
	const struct pp_dataset *d = pp_h5_file_memory(h5) ? pp_h5_memory_dataset(pp_h5_file_memory(h5)) : NULL;
	struct pp_table table[PP_TABLES];

	if (!d)
		return 0;
	*ret_view = *d;
	ret_view->rendezvous[0] = '\0'; /* these a file does not say */
	ret_view->exposeds = 0;
	pp_dataset_tables(d, table);
	for (int id = 0; id < PP_TABLES; id++)
		if (!is_wanted(id, tables))
			table[id].rows = 0;
	pp_dataset_take_tables(ret_view, table);
	return 1;
}

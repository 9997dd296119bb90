/* A pp_dataset out of pod.h5: attributes, workers, steps, cells, late. See pod.h; called by aggregate/report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/h5/pod_fill.h"
#include "aggregate/read/h5/table_read.h"

#define COPY_TEXT(member, text) snprintf((member), sizeof(member), "%s", (text))

static void fill_attributes(struct pp_pod_file *pod, struct pp_dataset *d)
{
	COPY_TEXT(d->session, pp_pod_file_attribute(pod, "session"));
	COPY_TEXT(d->job, pp_pod_file_attribute(pod, "job"));
	COPY_TEXT(d->command, pp_pod_file_attribute(pod, "command"));
	COPY_TEXT(d->options, pp_pod_file_attribute(pod, "options"));
	COPY_TEXT(d->step_rule, pp_pod_file_attribute(pod, "step_rule"));
	d->step_confidence = pp_pod_file_attribute_real(pod, "step_confidence", 0);
	d->ranks_asked = (int32_t)pp_pod_file_attribute_int(pod, "ranks_asked", 0);
	d->ranks_delivered = (int32_t)pp_pod_file_attribute_int(pod, "ranks_delivered", 0);
	d->epoch_realtime_ns = pp_pod_file_attribute_int(pod, "epoch_realtime_ns", 0);
	d->window_begin_ns = pp_pod_file_attribute_int(pod, "window_begin_ns", 0);
	d->window_end_ns = pp_pod_file_attribute_int(pod, "window_end_ns", 0);
	d->steps_asked_first = pp_pod_file_attribute_int(pod, "steps_asked_first", 0);
	d->steps_asked_last = pp_pod_file_attribute_int(pod, "steps_asked_last", 0);
}

int pp_pod_fill_get(struct pp_pod_fill *f, const char *group, const char *variable, size_t n, unsigned kinds,
                    struct pp_pod_file_column *ret)
{
	if (f->code || !pp_pod_file_has(f->pod, group, variable))
		return 0;
	f->code = pp_pod_file_read(f->pod, group, variable, ret, f->err);
	if (f->code)
		return 0;
	if (ret->n == n && (kinds & 1u << ret->kind))
		return 1;
	pp_pod_file_release(ret);
	f->code = pp_err_set(f->err, -EINVAL,
	                     "cannot read '%s': /%s/%s does not fit the other tables. The file is damaged: copy it again, or "
	                     "record the job again",
	                     pp_pod_file_path(f->pod), group, variable);
	return 0;
}

void pp_pod_fill_put(struct pp_pod_fill *f, const char *group, const char *variable, void *array, size_t offset, size_t stride,
                     size_t size, size_t n)
{
	struct pp_pod_file_column c;
	char *to = (char *)array + offset;

	if (!pp_pod_fill_get(f, group, variable, n, 1u << PP_POD_FILE_INT | 1u << PP_POD_FILE_UINT, &c))
		return;
	for (size_t i = 0; i < n; i++, to += stride) {
		int64_t value = c.data.i[i];
		int32_t narrow = (int32_t)value;
		int8_t byte = (int8_t)value;

		if (size == sizeof(byte))
			memcpy(to, &byte, sizeof(byte));
		else if (size == sizeof(narrow))
			memcpy(to, &narrow, sizeof(narrow));
		else
			memcpy(to, &value, sizeof(value));
	}
	pp_pod_file_release(&c);
}

static void put_text(struct pp_pod_fill *f, const char *variable, char *first, size_t size)
{
	struct pp_pod_file_column c;

	if (!pp_pod_fill_get(f, "worker", variable, f->d->workers, 1u << PP_POD_FILE_TEXT, &c))
		return;
	for (size_t i = 0; i < c.n; i++)
		snprintf(first + i * sizeof(struct pp_worker), size, "%s", pp_pod_file_text(&c, i));
	pp_pod_file_release(&c);
}

static void fill_workers(struct pp_pod_fill *f)
{
	struct pp_dataset *d = f->d;
	struct pp_pod_file_column c;

	if (!pp_pod_file_has(f->pod, "worker", "rank"))
		return;
	f->code = pp_pod_file_look(f->pod, "worker", "rank", &c, f->err);
	if (f->code)
		return;
	d->workers = c.n;
	d->worker = calloc(d->workers + 1, sizeof(*d->worker));
	if (!d->worker) {
		f->code = pp_err_set(f->err, -ENOMEM, "no memory for %zu workers", d->workers);
		return;
	}
	PP_POD_FILL_PUT(f, "worker", "rank", d->worker, pp_worker, rank, d->workers);
	PP_POD_FILL_PUT(f, "worker", "local_rank", d->worker, pp_worker, local_rank, d->workers);
	PP_POD_FILL_PUT(f, "worker", "pid", d->worker, pp_worker, pid, d->workers);
	PP_POD_FILL_PUT(f, "clock", "domain", d->worker, pp_worker, domain, d->workers);
	PP_POD_FILL_PUT(f, "clock", "offset_ns", d->worker, pp_worker, offset_ns, d->workers);
	PP_POD_FILL_PUT(f, "clock", "drift_ppb", d->worker, pp_worker, drift_ppb, d->workers);
	PP_POD_FILL_PUT(f, "clock", "bound_ns", d->worker, pp_worker, bound_ns, d->workers);
	PP_POD_FILL_PUT(f, "quality", "records", d->worker, pp_worker, records, d->workers);
	PP_POD_FILL_PUT(f, "worker", "recorded_ns", d->worker, pp_worker, recorded_ns, d->workers);
	PP_POD_FILL_PUT(f, "worker", "kept_ns", d->worker, pp_worker, kept_ns, d->workers);
	put_text(f, "host", d->worker->host, sizeof(d->worker->host));
	put_text(f, "status", d->worker->status, sizeof(d->worker->status));
	put_text(f, "device", d->worker->device, sizeof(d->worker->device));
	put_text(f, "device_name", d->worker->device_name, sizeof(d->worker->device_name));
	put_text(f, "version", d->worker->version, sizeof(d->worker->version));
	put_text(f, "options", d->worker->options, sizeof(d->worker->options));
}

static void fill_exclusive(struct pp_pod_fill *f, size_t cells)
{
	struct pp_pod_file_column c;

	if (!pp_pod_fill_get(f, "breakdown", "exclusive_ns", cells * PP_CATEGORIES, 1u << PP_POD_FILE_INT, &c))
		return;
	for (size_t i = 0; i < cells; i++)
		memcpy(f->d->cell[i].exclusive_ns + 1, c.data.i + i * PP_CATEGORIES, PP_CATEGORIES * sizeof(int64_t));
	pp_pod_file_release(&c);
}

/* A file of an earlier podprof: one bound for the waiting of each of the others in a step. */
static void guess_errors(struct pp_dataset *d)
{
	int64_t bound = pp_dataset_bound(d);

	for (size_t w = 0; w < d->workers; w++) {
		int64_t error = (int64_t)pp_dataset_peers(d, w) * bound;

		for (size_t s = 0; s < d->steps; s++)
			d->cell[s * d->workers + w].late_error_ns = error;
	}
}

/* A file of an earlier podprof has no late_ns: who was waited for is then not told. */
static void fill_cells(struct pp_pod_fill *f)
{
	struct pp_dataset *d = f->d;
	struct pp_pod_file_column c;
	size_t cells;

	if (f->code || !d->workers || !pp_pod_file_has(f->pod, "breakdown", "step"))
		return;
	f->code = pp_pod_file_look(f->pod, "breakdown", "step", &c, f->err);
	if (f->code || !pp_pod_fill_get(f, "breakdown", "step", c.n, 1u << PP_POD_FILE_INT, &c))
		return;
	d->steps = c.n;
	d->step_number = c.data.i;
	cells = d->steps * d->workers;
	d->cell = calloc(cells + 1, sizeof(*d->cell));
	if (!d->cell) {
		f->code = pp_err_set(f->err, -ENOMEM, "no memory for %zu steps of %zu workers", d->steps, d->workers);
		return;
	}
	PP_POD_FILL_PUT(f, "step", "begin_ns", d->cell, pp_cell, begin_ns, cells);
	PP_POD_FILL_PUT(f, "step", "end_ns", d->cell, pp_cell, end_ns, cells);
	PP_POD_FILL_PUT(f, "breakdown", "present", d->cell, pp_cell, present, cells);
	PP_POD_FILL_PUT(f, "breakdown", "step_ns", d->cell, pp_cell, step_ns, cells);
	PP_POD_FILL_PUT(f, "breakdown", "wait_ns", d->cell, pp_cell, wait_ns, cells);
	PP_POD_FILL_PUT(f, "breakdown", "transfer_ns", d->cell, pp_cell, transfer_ns, cells);
	PP_POD_FILL_PUT(f, "breakdown", "bottleneck", d->cell, pp_cell, bottleneck, cells);
	PP_POD_FILL_PUT(f, "breakdown", "late_ns", d->cell, pp_cell, late_ns, cells);
	PP_POD_FILL_PUT(f, "breakdown", "point_to_point_ns", d->cell, pp_cell, point_to_point_ns, cells);
	if (pp_pod_file_has(f->pod, "breakdown", "late_error_ns"))
		PP_POD_FILL_PUT(f, "breakdown", "late_error_ns", d->cell, pp_cell, late_error_ns, cells);
	else
		guess_errors(d);
	fill_exclusive(f, cells);
}

static int64_t one_of(struct pp_pod_fill *f, const char *variable, int64_t absent)
{
	struct pp_pod_file_column c;
	int64_t value = absent;

	if (f->code || !pp_pod_file_has(f->pod, "quality", variable) ||
	    !pp_pod_fill_get(f, "quality", variable, 1, 1u << PP_POD_FILE_INT | 1u << PP_POD_FILE_UINT, &c))
		return value;
	value = c.data.i[0];
	pp_pod_file_release(&c);
	return value;
}

static void fill_warnings(struct pp_pod_fill *f)
{
	struct pp_pod_file_column c;

	if (f->code || !pp_pod_file_has(f->pod, "quality", "warning"))
		return;
	f->code = pp_pod_file_look(f->pod, "quality", "warning", &c, f->err);
	if (f->code || !pp_pod_fill_get(f, "quality", "warning", c.n, 1u << PP_POD_FILE_TEXT, &c))
		return;
	for (size_t i = 0; i < c.n; i++)
		pp_dataset_warn(f->d, "%s", pp_pod_file_text(&c, i));
	pp_pod_file_release(&c);
}

static void fill_quality(struct pp_pod_fill *f)
{
	struct pp_dataset *d = f->d;

	d->startup_ns = one_of(f, "startup_ns", 0);
	d->pair_bound_ns = one_of(f, "pair_bound_ns", pp_dataset_bound(d));
	d->violations = (uint64_t)one_of(f, "violations", 0);
	d->causality.pairs = (uint64_t)one_of(f, "causality_pairs", 0);
	d->causality.inverted = (uint64_t)one_of(f, "causality_inverted", 0);
	d->causality.violated = (uint64_t)one_of(f, "causality_violated", 0);
	d->causality.worst_ns = one_of(f, "causality_worst_ns", 0);
	d->straggler.waited_for = (int32_t)one_of(f, "straggler_waited_for", -1);
	d->straggler.waited_ns = one_of(f, "straggler_waited_ns", 0);
	d->straggler.involuntary = one_of(f, "straggler_involuntary", 0);
	d->straggler.run_queue_ns = one_of(f, "straggler_run_queue_ns", -1);
	fill_warnings(f);
}

/* Tables with a description; a column that the file lacks is 0. */
static void fill_tables(struct pp_pod_fill *f, uint64_t tables)
{
	struct pp_table table[PP_TABLES];
	uint64_t missing;

	pp_dataset_tables(f->d, table);
	for (int id = 0; id < PP_TABLES && !f->code; id++)
		if (tables >> id & 1)
			f->code = pp_pod_file_table(f->pod, pp_table_desc(id), pp_pod_file_names(f->pod), &table[id], &missing,
			                            f->err);
	pp_dataset_take_tables(f->d, table);
}

int pp_pod_file_dataset(struct pp_pod_file *pod, uint64_t tables, struct pp_dataset *ret_dataset, struct pp_err *err)
{
	struct pp_dataset d = {.names = pp_pod_file_names(pod)};
	struct pp_pod_fill f = {.pod = pod, .d = &d, .err = err};

	if (!d.names)
		return pp_err_set(err, -ENOMEM, "no memory for the names of '%s'", pp_pod_file_path(pod));
	fill_attributes(pod, &d);
	fill_workers(&f);
	fill_cells(&f);
	fill_quality(&f);
	fill_tables(&f, tables);
	pp_pod_fill_clock(&f);
	if (!f.code && pp_dataset_late(&d))
		f.code = pp_err_set(err, -ENOMEM, "no memory for %zu workers", d.workers);
	if (f.code) {
		pp_dataset_release(&d);
		return f.code;
	}
	*ret_dataset = d;
	return 0;
}

/* Builds pp_dataset from a capture, its steps and their attribution; see build.h. Called by the session. */
#include "aggregate/analyze/build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/coverage.h"
#include "aggregate/analyze/finish.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/status.h"
#include "core/base/known.h"
#include "core/base/plain.h"
#include "core/base/utf8.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/clock/clock_map.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

/* Equal texts: the same job ns is the same instant, within the bound of the one map. */
static void fill_clock(struct pp_row_worker *w, const struct pp_rank *rank, const struct pp_dataset_input *in)
{
	const struct pp_clock_map *map = rank->counts_other ? in->other_clock : in->clock;

	w->domain = rank->domain;
	w->joined_by = rank->trace.file[0] && rank->trace.clock_bound_ns < 0 ? PP_JOINED_BY_NOTHING : PP_JOINED_BY_RECORDER;
	w->own_bound_ns = map ? map->bound_ns : in->bound_ns;
	if (rank->host_clock && rank->host_clock <= in->host_clocks) {
		w->host_clock = rank->host_clock;
		w->offset_ns = in->host_clock[rank->host_clock - 1].host_offset_ns;
		w->drift_ppb = in->host_clock[rank->host_clock - 1].host_drift_ppb;
	}
	if (rank->trace.clock_bound_ns >= 0 && rank->trace.file[0] && in->capture->epoch_realtime_ns) {
		/* Of a file of podprof: job time. Its error is against rank 0's clock: that of two ranks may be twice as large. */
		snprintf(w->clock, sizeof(w->clock), "job time of %" PRId64, in->capture->epoch_realtime_ns);
		if (__builtin_mul_overflow(rank->trace.clock_bound_ns, 2, &w->own_bound_ns))
			w->own_bound_ns = PP_BOUND_UNKNOWN;
	}
	if (map && rank->clock[0])
		snprintf(w->clock, sizeof(w->clock), "%s map %" PRIu64 " %" PRId64 " %" PRIu64 " %u epoch %" PRId64, rank->clock,
		         (uint64_t)map->tick0, map->ns0, map->num, (unsigned)map->shift, in->capture->epoch_realtime_ns);
}

static void fill_device_clock(struct pp_row_worker *w, const struct pp_rank *rank)
{
	int64_t least = INT64_MIN, most = INT64_MAX, by = 0;
	int is_usable = rank->skews != 0;

	for (size_t i = 0; i < rank->skews; i++) {
		const struct pp_device_skew *s = &rank->skew[i];
		int64_t one = s->shift - s->base;

		least = s->is_low && s->low - s->base > least ? s->low - s->base : least;
		most = s->is_high && s->high - s->base < most ? s->high - s->base : most;
		by = llabs(one) > llabs(by) ? one : by;
		is_usable &= s->is_usable;
	}
	w->device_least_ns = least == INT64_MIN ? PP_UNKNOWN : least;
	w->device_most_ns = most == INT64_MAX ? PP_UNKNOWN : most;
	w->device_shift_ns = is_usable ? by : PP_UNKNOWN;
}

/* The device with most spans; NULL: there is none. */
static const struct pp_device *device_of(const struct pp_rank *rank)
{
	const struct pp_device *most = NULL;
	size_t most_spans = 0;

	for (size_t d = 0; d < rank->devices; d++) {
		size_t spans = 0;

		for (size_t t = 0; t < rank->threads; t++)
			spans += rank->thread[t].device == rank->device[d].number + 1 ? rank->thread[t].spans : 0;
		if (!most || spans > most_spans) {
			most = &rank->device[d];
			most_spans = spans;
		}
	}
	return most;
}

static void fill_device(struct pp_row_worker *w, const struct pp_device *device)
{
	const unsigned char *u = device ? (const unsigned char *)device->limits.uuid : NULL;
	static const char unknown[sizeof(device->limits.uuid)];

	w->device_number = device ? (int32_t)device->number : -1;
	if (!device)
		return;
	if (memcmp(device->limits.uuid, unknown, sizeof(unknown)) != 0)
		snprintf(w->device_uuid, sizeof(w->device_uuid),
		         "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		         device->is_slice ? "MIG" : "GPU", u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
		         u[12], u[13], u[14], u[15]);
	if (device->pci)
		snprintf(w->device_pci, sizeof(w->device_pci), "%04x:%02x:%02x.%x",
		         (unsigned)((device->pci & ~PP_DEVICE_HAS_PCI) >> 16), (unsigned)(device->pci >> 8 & 255),
		         (unsigned)(device->pci >> 3 & 31), (unsigned)(device->pci & 7));
}

static void fill_worker(struct pp_row_worker *w, const struct pp_rank *rank)
{
	const struct pp_device *device = device_of(rank);

	w->rank = rank->rank;
	w->local_rank = rank->local_rank;
	w->pid = rank->pid;
	w->records = rank->records;
	pp_coverage_worker(w, rank);
	for (int i = 0; i < PP_LOSSES; i++)
		w->dropped[i] = rank->lost[i];
	copy_text(w->host, sizeof(w->host), rank->host);
	pp_plain(w->host, "");
	copy_text(w->status, sizeof(w->status), rank->status[0] ? rank->status : "delivered");
	copy_text(w->options, sizeof(w->options), rank->options);
	copy_text(w->version, sizeof(w->version), rank->version);
	copy_text(w->command, sizeof(w->command), rank->command);
	copy_text(w->device, sizeof(w->device), device ? device->kind : "CPU");
	copy_text(w->device_name, sizeof(w->device_name), device ? device->name : "");
	fill_device(w, device);
	pp_plain(w->device_name, "");
	w->devices = (int32_t)(rank->devices < INT32_MAX ? rank->devices : INT32_MAX);
	w->last_step = rank->step_marks ? rank->last_step : INT64_MIN;
	copy_text(w->last_place, sizeof(w->last_place), rank->last_place);
	w->cores = rank->cores;
	w->host_cores = rank->host_cores;
	copy_text(w->memory_note, sizeof(w->memory_note), rank->memory_note);
	copy_text(w->state_why, sizeof(w->state_why), rank->state_why);
	memcpy(w->remark, rank->remark, sizeof(w->remark));
	w->remarks = rank->remarks;
	fill_device_clock(w, rank);
}

/* A worker for each rank of the capture; finish.c adds those of which nothing came. */
static int fill_workers(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct pp_dataset *d = j->d;

	d->ranks_asked = capture->ranks_asked;
	for (size_t i = 0; i < j->in->host_clocks; i++)
		if (pp_dataset_add_clock(d, &j->in->host_clock[i]))
			return -ENOMEM;
	d->worker = calloc(capture->ranks + 1, sizeof(*d->worker));
	if (!d->worker)
		return -ENOMEM;
	for (; d->workers < capture->ranks; d->workers++) {
		struct pp_row_worker *w = &d->worker[d->workers];

		fill_worker(w, &capture->rank[d->workers]);
		fill_clock(w, &capture->rank[d->workers], j->in);
		d->ranks_delivered += !pp_worker_is_missing(w);
	}
	return pp_dataset_clocks(d);
}

static void fill_cell(struct pp_row_cell *cell, const struct pp_step_cell *mark, const struct pp_attr_step *attr)
{
	if (!mark->present || !attr->present)
		return;
	cell->present = 1;
	cell->begin_ns = mark->begin;
	cell->end_ns = mark->end;
	cell->step_ns = attr->step_ns;
	cell->bottleneck = 1;
	for (int c = 1; c <= PP_CATEGORIES; c++) {
		cell->exclusive_ns[c] = attr->exclusive_ns[c];
		if (attr->exclusive_ns[c] > attr->exclusive_ns[cell->bottleneck])
			cell->bottleneck = (int8_t)c;
	}
}

static int fill_cells(struct pp_join *j)
{
	const struct pp_steps *steps = j->in->steps;
	struct pp_dataset *d = j->d;
	size_t ranks = j->in->capture->ranks;
	int first = 1;

	d->steps = steps->steps;
	d->step = calloc(d->steps + 1, sizeof(*d->step));
	d->cell = calloc(d->steps * d->workers + 1, sizeof(*d->cell));
	if (!d->step || !d->cell)
		return -ENOMEM;
	for (size_t s = 0; s < d->steps; s++) {
		d->step[s].number = steps->number[s];
		d->step[s].kind = (int8_t)(steps->kind ? steps->kind[s] : 0);
		for (size_t r = 0; r < ranks; r++) {
			struct pp_row_cell *cell = &d->cell[s * d->workers + r];

			fill_cell(cell, &steps->cell[s * ranks + r], &j->in->attr[r].step[s]);
			if (!cell->present)
				continue;
			if (first || cell->begin_ns < d->window_begin_ns)
				d->window_begin_ns = cell->begin_ns;
			if (first || cell->end_ns > d->window_end_ns)
				d->window_end_ns = cell->end_ns;
			first = 0;
		}
	}
	for (size_t r = 0; r < ranks; r++)
		d->crossed += j->in->attr[r].crossed;
	return 0;
}

/* The rule by which a shim marked steps; NULL: the program did. */
static const char *mark_rule(const struct pp_capture *c)
{
	for (size_t r = 0; r < c->ranks; r++)
		if (c->rank[r].step_rule[0])
			return c->rank[r].step_rule;
	return pp_step_rule_name(PP_STEP_RULE_PODPROF);
}

static void fill_head(struct pp_dataset *d, const struct pp_dataset_input *in)
{
	const struct pp_steps *steps = in->steps;
	const char *rule = pp_step_rule_name(steps->rule);

	copy_text(d->session, sizeof(d->session), in->session);
	copy_text(d->job, sizeof(d->job), in->job);
	copy_text(d->command, sizeof(d->command), in->command);
	copy_text(d->options, sizeof(d->options), in->options);
	d->epoch_realtime_ns = in->capture->epoch_realtime_ns;
	d->steps_asked_first = in->asked_first;
	d->steps_asked_last = in->asked_last;
	d->names = in->capture->names;
	d->step_confidence = steps->confidence;
	if (steps->rule == PP_STEP_RULE_RANGE || steps->rule == PP_STEP_RULE_OPTIMIZER)
		snprintf(d->step_rule, sizeof(d->step_rule), "%s: %.*s", rule,
		         pp_utf8_fit(pp_intern_text(d->names, steps->rule_name, NULL), 40),
		         pp_intern_text(d->names, steps->rule_name, NULL));
	else
		copy_text(d->step_rule, sizeof(d->step_rule), steps->rule == PP_STEP_RULE_PODPROF ? mark_rule(in->capture) : rule);
}

/* Makes workers and cells. */
static int join_init(struct pp_join *j, const struct pp_dataset_input *in, struct pp_dataset *d)
{
	*j = (struct pp_join){.in = in, .d = d};
	fill_head(d, in);
	if (fill_workers(j) < 0 || fill_cells(j) < 0)
		return -ENOMEM;
	j->call = calloc(in->capture->ranks + 1, sizeof(*j->call));
	if (!j->call)
		return -ENOMEM;
	for (size_t r = 0; r < in->capture->ranks; r++) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a thread */
		j->call[r] = calloc(in->capture->rank[r].threads + 1, sizeof(**j->call));
		if (!j->call[r])
			return -ENOMEM;
	}
	return 0;
}

static void join_release(struct pp_join *j)
{
	for (size_t r = 0; j->call && r < j->in->capture->ranks; r++) {
		for (size_t t = 0; j->call[r] && t < j->in->capture->rank[r].threads; t++)
			free(j->call[r][t]);
		free(j->call[r]);
	}
	free(j->call);
	free(j->noted);
	for (size_t r = 0; j->run && r < j->in->capture->ranks; r++)
		pp_operation_runs_release(&j->run[r]);
	free(j->run);
	free(j->unclassified);
	free(j->member);
	for (size_t r = 0; j->lap_taken && r < j->in->capture->ranks; r++)
		free(j->lap_taken[r]);
	free(j->lap_taken);
}

int pp_dataset_build(const struct pp_dataset_input *in, struct pp_dataset *ret_dataset, struct pp_err *err)
{
	static int (*const parts[])(struct pp_join *) = {
	        pp_join_operations,  pp_join_communicators, pp_join_collectives, pp_join_channels,
	        pp_join_files,       pp_join_levels,        pp_join_ops,         pp_join_idle,
	        pp_join_kernels,     pp_join_input,         pp_join_input_ops,   pp_join_memory_profile,
	        pp_join_side_tables, pp_join_process,       pp_join_exposed,     pp_join_quality,
	        pp_join_trace_files, pp_join_torch_memory,  pp_join_memory_pool, pp_join_input_between,
	        pp_join_gpu,         pp_join_port,          pp_join_tf_data,
	};
	struct pp_dataset d = {0};
	struct pp_join j;
	int rc = join_init(&j, in, &d);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && rc == 0; i++)
		rc = parts[i](&j);
	join_release(&j);
	if (rc == 0)
		rc = pp_dataset_seal(&d);
	if (rc < 0)
		pp_err_set(err, rc, "cannot build the dataset of %zu ranks: no memory", in->capture->ranks);
	else if (!in->partial)
		rc = pp_dataset_finish(&d, err);
	if (rc < 0) {
		pp_dataset_release(&d);
		return rc;
	}
	*ret_dataset = d;
	return 0;
}

/* pod.h5: the pod dataset. Attributes and the groups with a step or worker dimension; tables are in hdf5_tables.c.
 * The layout is hdf5_layout.def. Called through writer_list. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/h5/forked_work.h"
#include "aggregate/write/h5/hdf5_tables.h"
#include "aggregate/write/writer.h"

#define MEMBER(h, variable, n, array, member)                                                                                      \
	pp_h5_put_member(h, variable, n, (array) ? &(array)->member : NULL, sizeof(*(array)), sizeof((array)->member))

static void write_attributes(struct pp_h5 *h, const struct pp_dataset *d, const char *logdir)
{
	char previous[256];

	pp_h5_attribute_text(h, "format", "podprof pod dataset");
	pp_h5_attribute_int(h, "format_version", PP_H5_FORMAT_VERSION);
	pp_h5_attribute_text(h, "podprof_version", PODPROF_VERSION);
	pp_h5_attribute_text(h, "session", d->session);
	pp_h5_attribute_text(h, "job", d->job);
	pp_h5_attribute_text(h, "command", d->command);
	pp_h5_attribute_text(h, "options", d->options);
	pp_h5_attribute_int(h, "hosts", (int64_t)pp_dataset_hosts(d));
	pp_h5_attribute_int(h, "ranks_asked", d->ranks_asked);
	pp_h5_attribute_int(h, "ranks_delivered", d->ranks_delivered);
	pp_h5_attribute_int(h, "epoch_realtime_ns", d->epoch_realtime_ns);
	pp_h5_attribute_int(h, "window_begin_ns", d->window_begin_ns);
	pp_h5_attribute_int(h, "window_end_ns", d->window_end_ns);
	pp_h5_attribute_int(h, "steps_asked_first", d->steps_asked_first);
	pp_h5_attribute_int(h, "steps_asked_last", d->steps_asked_last);
	pp_h5_attribute_text(h, "step_rule", d->step_rule);
	pp_h5_attribute_double(h, "step_confidence", d->step_confidence);
	pp_h5_previous(logdir, d->job, previous, sizeof(previous));
	if (d->rendezvous[0])
		pp_h5_attribute_text(h, "rendezvous", d->rendezvous);
	if (previous[0])
		pp_h5_attribute_text(h, "previous", previous);
}

#define WORKER_TEXT(member)                                                                                                        \
	static const char *worker_##member(const void *context, size_t i)                                                          \
	{                                                                                                                          \
		return ((const struct pp_dataset *)context)->worker[i].member;                                                     \
	}
WORKER_TEXT(host)
WORKER_TEXT(status)
WORKER_TEXT(device)
WORKER_TEXT(device_name)
WORKER_TEXT(version)
WORKER_TEXT(options)

static const char *step_rule(const void *context, size_t i)
{
	(void)i;
	return ((const struct pp_dataset *)context)->step_rule;
}

static void put_workers(struct pp_h5 *h, const struct pp_dataset *d)
{
	pp_h5_dim(h, "worker", d->workers);
	MEMBER(h, "worker", d->workers, d->worker, rank);
}

static void write_worker(struct pp_h5 *h, const struct pp_dataset *d)
{
	size_t n = d->workers;
	double *confidence = malloc((n + 1) * sizeof(*confidence));

	pp_h5_group_begin(h, "worker");
	put_workers(h, d);
	MEMBER(h, "rank", n, d->worker, rank);
	pp_h5_put_texts(h, "host", n, worker_host, d);
	MEMBER(h, "local_rank", n, d->worker, local_rank);
	pp_h5_put_texts(h, "device", n, worker_device, d);
	pp_h5_put_texts(h, "device_name", n, worker_device_name, d);
	MEMBER(h, "pid", n, d->worker, pid);
	pp_h5_put_texts(h, "step_rule", n, step_rule, d);
	for (size_t i = 0; confidence && i < n; i++)
		confidence[i] = d->step_confidence; /* may warn possible-null-dereference: the loop asks */
	if (confidence)
		pp_h5_put(h, "step_confidence", confidence);
	else if (!h->code)
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for the workers");
	pp_h5_put_texts(h, "status", n, worker_status, d);
	pp_h5_put_texts(h, "version", n, worker_version, d);
	pp_h5_put_texts(h, "options", n, worker_options, d);
	MEMBER(h, "recorded_ns", n, d->worker, recorded_ns);
	MEMBER(h, "kept_ns", n, d->worker, kept_ns);
	pp_h5_group_end(h);
	free(confidence);
}

static void put_steps(struct pp_h5 *h, const struct pp_dataset *d)
{
	pp_h5_dim(h, "step", d->steps);
	pp_h5_dim(h, "worker", d->workers);
	pp_h5_put(h, "step", d->step_number);
	MEMBER(h, "worker", d->workers, d->worker, rank);
}

static void write_step(struct pp_h5 *h, const struct pp_dataset *d)
{
	size_t cells = d->steps * d->workers;

	pp_h5_group_begin(h, "step");
	put_steps(h, d);
	pp_h5_put(h, "number", d->step_number);
	MEMBER(h, "begin_ns", cells, d->cell, begin_ns);
	MEMBER(h, "end_ns", cells, d->cell, end_ns);
	pp_h5_group_end(h);
}

static const char *category_text(const void *context, size_t i)
{
	(void)context;
	return pp_category_name((int)i + 1);
}

static void write_breakdown(struct pp_h5 *h, const struct pp_dataset *d)
{
	size_t cells = d->steps * d->workers;
	int64_t *exclusive = malloc((cells + 1) * PP_CATEGORIES * sizeof(*exclusive));

	pp_h5_group_begin(h, "breakdown");
	put_steps(h, d);
	pp_h5_dim(h, "category", PP_CATEGORIES);
	pp_h5_put_texts(h, "category", PP_CATEGORIES, category_text, NULL);
	for (size_t i = 0; exclusive && i < cells; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): where there are cells, there is d->cell */
		memcpy(exclusive + i * PP_CATEGORIES, d->cell[i].exclusive_ns + 1, PP_CATEGORIES * sizeof(*exclusive));
	if (exclusive)
		pp_h5_put(h, "exclusive_ns", exclusive);
	else if (!h->code)
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for the breakdown");
	MEMBER(h, "present", cells, d->cell, present);
	MEMBER(h, "step_ns", cells, d->cell, step_ns);
	MEMBER(h, "wait_ns", cells, d->cell, wait_ns);
	MEMBER(h, "transfer_ns", cells, d->cell, transfer_ns);
	MEMBER(h, "bottleneck", cells, d->cell, bottleneck);
	MEMBER(h, "late_ns", cells, d->cell, late_ns);
	MEMBER(h, "late_error_ns", cells, d->cell, late_error_ns);
	MEMBER(h, "point_to_point_ns", cells, d->cell, point_to_point_ns);
	pp_h5_group_end(h);
	free(exclusive);
}

struct file {
	const struct pp_dataset *dataset;
	const char *part, *logdir;
};

/* Apart: HDF5 1.10 can crash when it finds no memory or no space. */
static int write_file(void *context, struct pp_err *err)
{
	const struct pp_dataset *d = ((struct file *)context)->dataset;
	struct pp_h5 h;
	int code = pp_h5_create(&h, ((struct file *)context)->part, err);

	if (code)
		return code;
	write_attributes(&h, d, ((struct file *)context)->logdir);
	if (d->workers) {
		write_worker(&h, d);
		pp_h5_write_clock(&h, d);
	}
	if (d->workers && d->steps) {
		write_step(&h, d);
		write_breakdown(&h, d);
	}
	pp_h5_write_tables(&h, d);
	return pp_h5_close(&h);
}

/* HDF5 opens the .part by name; the descriptor beside it is for commit and abandon. */
static int write_hdf5(const struct pp_output *out, struct pp_err *err)
{
	char *path = NULL, *part = NULL;
	int fd, code = pp_output_make_dirs(out, err);

	if (code)
		return code;
	if (asprintf(&path, "%s/podprof/%s/pod.h5", out->logdir, out->session) < 0)
		path = NULL;
	if (!path || asprintf(&part, "%s.part", path) < 0) {
		part = NULL;
		code = pp_err_set(err, -ENOMEM, "no memory for the name of a file");
		goto free_names;
	}
	fd = pp_output_create(path, err);
	if (fd < 0) {
		code = fd;
		goto free_names;
	}
	code = pp_forked_work(write_file, &(struct file){out->dataset, part, out->logdir}, err);
	if (code) {
		pp_output_abandon(fd, path);
		pp_err_wrap(err, code, "cannot write '%s'", path);
	} else {
		code = pp_output_commit(fd, path, err);
	}
free_names:
	free(part);
	free(path);
	return code;
}

const struct pp_writer_ops pp_writer_hdf5 = {
        .name = "hdf5",
        .file = "pod.h5",
        .flags = PP_WRITER_OF_JOB | PP_WRITER_FOR_REPORT,
        .write = write_hdf5,
};

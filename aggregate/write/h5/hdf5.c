/* pod.h5: the pod dataset. Attributes here, tables in table_write.c. Called through writer_list, and for the page. */
#include "aggregate/write/h5/hdf5.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/describe_job.h"
#include "aggregate/read/h5/forked_work.h"
#include "aggregate/write/h5/table_write.h"
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"

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
	if (d->step_parts[0])
		pp_h5_attribute_text(h, "step_parts", d->step_parts);
	pp_h5_previous(logdir, d->job, previous, sizeof(previous));
	if (d->rendezvous[0])
		pp_h5_attribute_text(h, "rendezvous", d->rendezvous);
	if (previous[0])
		pp_h5_attribute_text(h, "previous", previous);
}

struct tables {                 /* of a dataset, and its values as one more */
	struct pp_dataset view; /* which nobody changes */
	struct pp_table table[PP_TABLES + 1];
};

static void write_all(struct pp_h5 *h, struct tables *t, const struct pp_dataset *d, const char *logdir)
{
	t->view = *d;
	write_attributes(h, d, logdir);
	pp_dataset_tables(d, t->table);
	t->table[PP_TABLES] = pp_dataset_record(&t->view);
	pp_h5_write_groups(h, t->table, PP_TABLES + 1, d);
}

struct file {
	const struct pp_dataset *dataset;
	const char *part, *logdir;
};

/* Apart: HDF5 1.10 can crash when it finds no memory or no space. */
static int write_file(void *context, struct pp_err *err)
{
	const struct pp_dataset *d = ((struct file *)context)->dataset;
	struct tables tables;
	struct pp_h5 h;
	int code = pp_h5_create(&h, ((struct file *)context)->part, err);

	if (code)
		return code;
	write_all(&h, &tables, d, ((struct file *)context)->logdir);
	return pp_h5_close(&h);
}

int pp_hdf5_in_memory(const struct pp_dataset *d, const char *logdir, struct pp_h5_memory **ret_memory, struct pp_err *err)
{
	struct pp_h5_memory *memory = pp_h5_memory_new();
	struct tables *tables = malloc(sizeof(*tables));
	struct pp_h5 h;
	int code;

	if (!memory || !tables) {
		free(tables);
		pp_h5_memory_free(memory);
		return pp_err_set(err, -ENOMEM, "no memory for the tables of the session");
	}
	pp_h5_memory_of(memory, d);
	pp_h5_create_in(&h, memory, err);
	write_all(&h, tables, d, logdir);
	code = pp_h5_close(&h);
	if (pp_h5_memory_own(memory, tables) && !code)
		code = pp_err_set(err, -ENOMEM, "no memory for the tables of the session");
	if (code) {
		pp_h5_memory_free(memory);
		return code;
	}
	*ret_memory = memory;
	return 0;
}

/* HDF5 opens the .part by name; the descriptor beside it is for commit and abandon. */
static int write_hdf5(const struct pp_output *out, struct pp_err *err)
{
	char *path = NULL, *part = NULL;
	int fd, code = pp_output_make_dir(out, err);

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

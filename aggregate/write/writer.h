/* pp_writer_ops: ways out. In: a finished session in memory. Out: files, each written as x.part, synced, renamed. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "core/base/err.h"
#include "core/base/rank_list.h"

struct pp_output {
	const struct pp_capture *capture; /* spans in job ns */
	const struct pp_steps *steps;
	const struct pp_attr *attr; /* [ranks]: gives XSpace the categories */
	const struct pp_dataset *dataset;
	int partial; /* while XSpace is written, the dataset has this host's ranks only */
	const char *logdir, *session;
	int xspace_per_rank;
	int others_have_steps;            /* hosts whose files others write */
	const struct pp_rank_list *ranks; /* NULL, or XSpace has these only */
};

enum pp_writer_flags {
	PP_WRITER_OF_HOST = 1,    /* spans: each host writes those of its ranks */
	PP_WRITER_OF_JOB = 2,     /* the dataset: one host writes that of all ranks */
	PP_WRITER_FOR_REPORT = 4, /* report.html is made of its file */
};

struct pp_writer_ops {
	const char *name; /* Required: "hdf5", "xspace", "text" */
	const char *file; /* Optional: what users call its output; the name where it is NULL */
	unsigned flags;   /* Required: enum pp_writer_flags */
	/* Required: write everything of `out`; on failure nothing of this writer is left but whole earlier files. */
	int (*write)(const struct pp_output *out, struct pp_err *err);
};

/* All writers, in the order of writer_list.def; ends with NULL. */
extern const struct pp_writer_ops *const pp_writer_list[];

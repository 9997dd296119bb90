/* One file of another profiler to the block of its ranks; see analyze.h. Called by launchers/cmd_analyze.c. */
#include "aggregate/session/analyze.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/dataset/block.h"
#include "aggregate/dataset/status.h"
#include "aggregate/read/ring/rings.h"
#include "core/base/compare.h"
#include "core/base/utf8.h"
#include "core/base/wrap.h"
#include "core/capture/capture.h"
#include "core/ring/intern.h"

void pp_analyze_number(struct pp_analyze_file *file, size_t files, int *ret_own)
{
	int32_t *rank = calloc(files + 1, sizeof(*rank));
	int32_t unused = 0; /* lowest number that no file has */
	int own = rank != NULL;

	for (size_t i = 0; i < files && rank; i++) {
		rank[i] = file[i].why[0] ? -1 : file[i].glance.rank;
		/* podprof's ranks have their numbers inside; a file that cannot be read says nothing */
		own &= rank[i] >= 0 || file[i].glance.is_podprof || file[i].why[0];
	}
	if (rank)
		qsort(rank, files, sizeof(*rank), pp_compare_int32);
	for (size_t i = 1; i < files && rank; i++)
		own &= rank[i] != rank[i - 1] || rank[i] < 0;
	for (size_t i = 0; i < files; i++) {
		file[i].rank = own && file[i].glance.rank >= 0 ? file[i].glance.rank : (int32_t)i;
		if (!own || !file[i].why[0] ||
		    (file[i].glance.rank >= 0 && !bsearch(&file[i].glance.rank, rank, files, sizeof(*rank), pp_compare_int32)))
			continue;
		while (bsearch(&unused, rank, files, sizeof(*rank), pp_compare_int32))
			unused++;
		file[i].rank = unused++;
	}
	free(rank);
	*ret_own = own;
}

/* The path as given; the end of one that is too long. */
static void name_file(struct pp_trace_metadata *t, const char *path)
{
	size_t size = sizeof(t->file), length = pp_utf8_repair(NULL, path, strlen(path)), skip = 0;
	char *good = malloc(length + 1);

	if (!good)
		return;
	pp_utf8_repair(good, path, strlen(path));
	if (length >= size)
		skip = length - (size - sizeof("..."));
	while (skip && skip < length && (good[skip] & 0xc0) == 0x80)
		skip++;
	snprintf(t->file, size, "%s%s", skip ? "..." : "", good + skip);
	free(good);
}

/* What users must know of a file that is not what it seems stands in the status of its ranks. */
static void set_status(struct pp_rank *rank)
{
	const struct pp_trace_metadata *t = &rank->trace;

	if (t->damage[0])
		snprintf(rank->status, sizeof(rank->status), PP_STATUS_PARTIAL "its file is damaged at byte %llu: %.40s",
		         (unsigned long long)t->damaged_at, t->damage);
	else if (t->contradictions)
		snprintf(rank->status, sizeof(rank->status),
		         PP_STATUS_PARTIAL "its file mixes ranks that have one pid (%llu contradictions)",
		         (unsigned long long)t->contradictions);
}

static int make_block(const struct pp_capture *c, const struct pp_analyze_options *o, struct pp_analyze_file *file,
                      struct pp_err *err)
{
	struct pp_dataset dataset = {.names = NULL};
	struct pp_steps steps = {0};
	struct pp_attr *attr = NULL;
	struct pp_dataset_input in = {.capture = c,
	                              .steps = &steps,
	                              .session = "",
	                              .job = o->job,
	                              .command = "",
	                              .options = o->options,
	                              .asked_first = o->steps_first,
	                              .asked_last = o->steps_last,
	                              .partial = 1};
	int rc = pp_steps_find(c, o->steps_first, o->steps_last, &steps, err);

	if (rc)
		return rc;
	rc = pp_attr_ranks(c, &steps, PP_ATTR_KEEP_COMMUNICATION, &attr, err);
	if (!rc) {
		in.attr = attr;
		rc = pp_dataset_build(&in, &dataset, err);
		pp_attr_free(attr, c->ranks);
	}
	pp_steps_release(&steps);
	if (rc)
		return rc;
	rc = pp_block_write(&dataset, &file->block, &file->size, err);
	pp_dataset_release(&dataset);
	return rc;
}

/* A file of podprof, or of several ranks, is of no one process. */
static void set_whose(struct pp_analyze_file *file, const struct pp_capture *c)
{
	struct pp_analyze_whose *w = &file->whose;
	const struct pp_rank *rank = c->ranks == 1 && !file->glance.is_podprof ? c->rank : NULL;

	if (!rank)
		return;
	snprintf(w->host, sizeof(w->host), "%s", rank->host);
	w->says_host = rank->trace.says_host;
	w->pid = rank->pid;
	if (c->epoch_realtime_ns && rank->recorded_to > rank->recorded_from) {
		w->begin = pp_wrap_plus(c->epoch_realtime_ns, rank->recorded_from);
		w->end = pp_wrap_plus(c->epoch_realtime_ns, rank->recorded_to);
	}
}

void pp_analyze_read(struct pp_analyze_file *file, const struct pp_analyze_options *o,
                     void (*progress)(void *context, uint64_t bytes_read, uint64_t bytes), void *context)
{
	struct pp_trace_options how = {.rank = file->rank, .progress = progress, .context = context};
	struct pp_capture capture = {.names = NULL};
	struct pp_err err = {""};
	int rc = pp_trace_read(file->path, &file->glance, &how, &capture, &err);

	file->read_as = file->rank;
	if (!rc) {
		set_whose(file, &capture);
		for (size_t i = 0; i < capture.ranks; i++) {
			name_file(&capture.rank[i].trace, file->path);
			set_status(&capture.rank[i]);
		}
		rc = make_block(&capture, o, file, &err);
		if (rc)
			pp_err_wrap(&err, rc, "cannot analyse '%s'", file->path);
		pp_capture_release(&capture);
	}
	if (rc) {
		free(file->block);
		file->block = NULL;
		snprintf(file->why, sizeof(file->why), "%s", err.text);
	}
}

/* Input formats 2 and 3: files of other profilers, XSpace (read/xspace) and Kineto's JSON (read/kineto), plain or .gz.
 * In: one file. Out: a pp_capture of the ranks in it, spans in ns after its epoch, as pp_rings_finish() and the clock make it: steps
 * are spans of kind STEP, device streams are threads with `device`. Called by aggregate/session/analyze.c, one file at a time in a
 * process; files are not trusted. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "core/step/span.h"

enum pp_trace_format { PP_TRACE_UNKNOWN, PP_TRACE_XSPACE, PP_TRACE_KINETO };

struct pp_trace_glance { /* what the first bytes and the name of a file tell */
	enum pp_trace_format format;
	int is_gzip;
	uint64_t bytes; /* of the file */
	int32_t rank;   /* -1: the file does not say, or not at its begin */
	int32_t world;  /* number of ranks of its job; -1: unknown */
	int is_podprof; /* podprof wrote it: it has ranks' own numbers and job time */
	char host[72];  /* by the file, else by its name */
};

struct pp_trace_options {
	int32_t rank; /* of the first rank of the file, unless is_podprof */
	/* Called now and then; may be NULL. */
	void (*progress)(void *context, uint64_t bytes_read, uint64_t bytes);
	void *context;
};

/* Reads at most 64 KiB. -EINVAL: neither format, with a sentence that names the file and says what it is instead. */
int pp_trace_glance(const char *path, struct pp_trace_glance *ret_glance, struct pp_err *err);
/* What can be read of a damaged file is in the capture, and its pp_rank.trace says what is not, and where. Fails where nothing can be
 * read. ret_capture->epoch_realtime_ns is 0 where the file has no date: times then begin near 0. pp_capture_release() frees it. */
int pp_trace_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                  struct pp_capture *ret_capture, struct pp_err *err);

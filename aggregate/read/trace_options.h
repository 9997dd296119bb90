/* What the readers of trace files are asked, and what the first bytes of a file tell. Called by trace.h and the readers. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"

enum pp_trace_format { PP_TRACE_UNKNOWN, PP_TRACE_XSPACE, PP_TRACE_KINETO };

enum { PP_TRACE_RANKS_MOST = 1 << 20 }; /* larger numbers of ranks are damaged */

struct pp_trace_glance { /* what the first bytes and the name of a file tell */
	enum pp_trace_format format;
	int is_gzip;
	uint64_t bytes; /* of the file */
	int32_t rank;   /* -1: the file does not say, or not at its begin */
	int32_t world;  /* number of ranks of its job; -1: unknown */
	int is_podprof; /* podprof wrote it: it has ranks' own numbers and job time */
	char host[72];  /* by the file, else by its name */
	int says_host;  /* by the file, or by a name that PyTorch made of it */
};

struct pp_trace_options {
	int32_t rank;         /* of the first rank of the file, unless is_podprof */
	int without_steps;    /* they are marked elsewhere: events that may be steps are ranges */
	const char *bytes_at; /* where the file's bytes are, if they had to be unpacked; NULL: at its path */
	/* Called now and then; may be NULL. */
	void (*progress)(void *context, uint64_t bytes_read, uint64_t bytes);
	void *context;
};

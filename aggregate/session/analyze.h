/* From files of other profilers to a session, by the engine of live jobs. In: files, each read by itself into a block (a process
 * per core, or a rank of mpirun). Out: all blocks merged, the tools' tables, pod.h5, summary.txt, report.html. Which process read
 * a file changes no byte of the result, but for its rows about the run itself. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/read/trace.h"
#include "aggregate/session/message.h"
#include "core/base/err.h"

struct pp_analyze_whose { /* the process whose file it is, once it is read */
	char host[sizeof(((struct pp_trace_glance *)0)->host)];
	int says_host;
	int32_t pid;        /* 0: unknown */
	int64_t begin, end; /* ns since 1970 by its host's clock; 0: no date */
};

struct pp_analyze_file {
	char *path;
	struct pp_trace_glance glance;
	int32_t rank;     /* of its first rank */
	int32_t read_as;  /* the rank that it had while it was read */
	uint32_t window;  /* of those that the files are of; each is a session */
	uint32_t process; /* equal: files of one, in several windows */
	struct pp_analyze_whose whose;
	/* Result: bytes of a block, to be freed; NULL: not read, and why. */
	void *block;
	size_t size;
	char why[sizeof(((struct pp_err *)0)->text)];
};

struct pp_analyze_options {
	const char *logdir, *session; /* session "": by the date of the data, else of now */
	const char *job, *options;
	char *ret_directory;             /* NULL, or room for PP_SESSION_PATH bytes: where the session is */
	int64_t steps_first, steps_last; /* last <= first: all */
};

/* Ranks' numbers: those of the files where all that can be read have different ones, and the lowest others for the rest; else their
 * order. *ret_own: they are the files' own. */
void pp_analyze_number(struct pp_analyze_file *file, size_t files, int *ret_own);
/* Reads one file and makes its block. Never fails: `why` says what did. `progress` may be NULL. */
void pp_analyze_read(struct pp_analyze_file *file, const struct pp_analyze_options *o,
                     void (*progress)(void *context, uint64_t bytes_read, uint64_t bytes), void *context);

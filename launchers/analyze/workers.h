/* Reads many files by forked processes: the largest first, one at a time each. A file that crashes its process is one file that was
 * not read; another process goes on. Called by cmd_analyze.c. */
#pragma once

#include <stddef.h>

#include "aggregate/session/analyze.h"

struct pp_workers_seen { /* for the display of progress */
	uint64_t bytes, bytes_all;
	size_t files, files_all;
};

/* Sets block, or why, of the files `index[0..count)`. `show` is called some times a second; may be NULL. 0, or -errno where no
 * process could be made: then this one has read them. */
int pp_workers_read(struct pp_analyze_file *file, const size_t *index, size_t count, size_t processes,
                    const struct pp_analyze_options *o, void (*show)(const struct pp_workers_seen *seen), struct pp_err *err);

/* <spool>/options: NAME=value lines of the job, written once by podprof run. In: job and options. Out: the file, its lines.
 * settings.h reads all of them for the keeper. */
#pragma once

#include <stddef.h>

#include "aggregate/spool/job.h"
#include "core/base/err.h"

/* Value of a line; 0, or -errno. */
int pp_spool_read_option(const char *spool, const char *name, char *ret_value, size_t size);
/* Writes the options and a copy of the rules, where the spool has none yet: of processes that start together one decides. `value`:
 * [PP_OPTS] texts by row of core/base/opt_list.def; `command`: NULL-terminated, empty where it is unknown. */
int pp_spool_write_options(const char *spool, const struct pp_job *job, const char *const *value, const char *logdir,
                           char *const *command, struct pp_err *err);

/* The spool of a job on this host, made by its first process and joined by the others before the application starts. In: job,
 * options. Out: the directory with options and run file. Called by podprof run and arrive. */
#pragma once

#include <stddef.h>

#include "aggregate/spool/job.h"
#include "core/base/err.h"

/* Makes (or joins) the directory: `wanted` if not empty, else podprof-UID/JOB in the directory of root.h, else in the node's tmp.
 * Waits at most 2 s for the keeper of an earlier program. -EBUSY, -EEXIST: it is another job's. */
int pp_spool_open(const char *wanted, const struct pp_job *job, char *ret_path, size_t size, struct pp_err *err);
/* The spool of the outer podprof run: `outer`, or the node's tmp where this host does not have it. With "-rN" behind it where
 * the ranks were restarted. */
int pp_spool_open_outer(const char *outer, const struct pp_job *job, char *ret_path, size_t size, struct pp_err *err);
/* Opens it, writes options and run file, again where the spool is removed meanwhile. is_outer: `wanted` is the outer podprof run's.
 * `value` and `command` as in pp_spool_write_options(). */
int pp_spool_join(const char *wanted, int is_outer, const struct pp_job *job, const char *const *value, const char *logdir,
                  char *const *command, char *ret_path, size_t size, struct pp_err *err);

/* The keeper's settings of a job. In: <spool>/options and <spool>/rules. Out: struct pp_settings. Called by keeper.c and
 * salvage.c. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"
#include "core/base/opt.h"

/* Missing lines give defaults; a malformed line is skipped and logged. -errno where the file cannot be read: then all is
 * default, also the log directory, which a keeper must not take for the job's. */
int pp_settings_read(const char *spool, struct pp_settings *ret_settings, struct pp_err *err);
/* The spool's rules for names of ranges, where it has some, hold in this process from now on. podprof run has checked them. */
int pp_settings_rules(const char *spool, struct pp_err *err);

/* The command line of a rank's process, where whoever made the spool knew none; also for salvage, in <spool>/options. */
void pp_settings_learn_command(const char *spool, struct pp_settings *s, int pid);

/* Bytes of the window buffer for spans; the other half is for the segments of time made from them at the close. */
static inline size_t pp_settings_span_bytes(const struct pp_settings *s)
{
	return (size_t)(s->buffer / 2);
}

/* Does the job record from begin to end? Windows by time are then cut out of that. */
int pp_settings_always(const struct pp_settings *s);
/* Limits the window buffer to the memory cgroup's: rings get an eighth of what is free, and records half as much. Where each record
 * becomes a step of its own, the tables, files and page made of them take four to seven times as much. */
void pp_settings_fit_memory(struct pp_settings *s);

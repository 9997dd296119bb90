/* What a spool directory holds, as the keeper and salvage see it. In: its files. Out: settings, rings, run processes. */
#pragma once

#include <stdint.h>

#include "aggregate/keeper/watch.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/session/notes.h"
#include "core/base/err.h"
#include "core/base/opt.h"

/* A file of the spool: podprof run made the log directory, which the keeper removes again where nothing was written into it. */
#define PP_SPOOL_MADE_LOGDIR "made-logdir"
#define PP_SPOOL_RULES "rules" /* the file of --rules */

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

struct pp_run { /* a process that `podprof run` became */
	int pid, rank, local_size;
	int sees_launcher; /* of launchers/run/job.h */
	uint32_t space;    /* pp_proc_pid_space() of the pid; 0: the kernel's first */
	struct pp_watch watch;
};

struct pp_still;

struct pp_spool_view {
	const char *path;
	struct pp_rings *rings;
	char (*ring)[64]; /* file names seen, opened or not */
	size_t ring_names;
	size_t refused;         /* of them, rings that cannot be read: from another version of podprof, for example */
	struct pp_watch *rank;  /* [pp_rings_count()] */
	struct pp_still *still; /* [stills], of the first rings: still.h */
	size_t stills;
	int64_t still_ms;
	struct pp_run *run;
	size_t runs;
	int salvaged;         /* no process writes it any more: an incomplete ring stays incomplete */
	int again;            /* a ring could not be read yet: the next scan may */
	struct pp_wake *wake; /* of the keeper that watches the processes; NULL: none */
	int followed;         /* the launcher has restarted the ranks, with another spool */
	struct pp_notes notes;
};

/* Opens new rings and finds new run files. Returns how many rings were opened; -errno: the directory cannot be read, or there
 * was no memory for a ring (which is retried). */
int pp_spool_scan(struct pp_spool_view *v);
/* Takes ring `index` out of the view. */
void pp_spool_drop(struct pp_spool_view *v, size_t index);
void pp_spool_view_release(struct pp_spool_view *v);
/* Remove the files of the spool and the directory. */
void pp_spool_remove(const char *spool);

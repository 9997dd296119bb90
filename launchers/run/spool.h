/* The spool of a job on this node, for the command line. In: job and options. Out: a directory shared by collectors and keeper;
 * core/ring/ring_file.h has its file names. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"
#include "launchers/options/options.h"
#include "launchers/run/job.h"

enum { PP_SPOOL_PATH = 512 };

/* 1: <spool>/salvaged names an existing session. */
int pp_spool_salvaged(const char *spool, char *ret_session, size_t size);
/* Value of a line of <spool>/options; 0, or -errno. */
int pp_spool_read_option(const char *spool, const char *name, char *ret_value, size_t size);
/* 1 for the first process of the job that calls it with this file name. */
int pp_spool_say_once(const char *spool, const char *name);

/* Make (or join) the spool: `wanted` if not empty, else podprof-UID/JOB in the directory of run/place.h, else in the node's tmp. */
int pp_spool_open(const char *wanted, const struct pp_job *job, char *ret_path, size_t size, struct pp_err *err);
/* The spool of the outer podprof run: `outer`, or the node's tmp where this host does not have it. With "-rN" behind it where
 * the ranks were restarted. */
int pp_spool_open_outer(const char *outer, const struct pp_job *job, char *ret_path, size_t size, struct pp_err *err);
/* Writes <spool>/options; only the first process does. */
int pp_spool_write_options(const char *spool, const struct pp_job *job, const struct pp_options *options, const char *logdir,
                           char *const *command, struct pp_err *err);
/* <spool>/run-<pid>: job->pid is, will be, or starts, the application. */
int pp_spool_register(const char *spool, const struct pp_job *job, struct pp_err *err);
/* All three, again where the spool is removed meanwhile. is_outer: `wanted` is the outer podprof run's. */
int pp_spool_join(const char *wanted, int is_outer, const struct pp_job *job, const struct pp_options *options, const char *logdir,
                  char *const *command, char *ret_path, size_t size, struct pp_err *err);
void pp_spool_unregister(const char *spool, const struct pp_job *job);

/* Removes what dead jobs left beside `spool`: without rings after an hour, with rings that were not salvaged after a week.
 * Returns how many. */
int pp_spool_sweep(const char *spool);

enum pp_spool_life { PP_SPOOL_LEFT, PP_SPOOL_RECORDING, PP_SPOOL_WRITING, PP_SPOOL_DONE, PP_SPOOL_FAILED };

struct pp_spool_state {
	char path[PP_SPOOL_PATH];
	char output[PP_SPOOL_PATH]; /* log directory it writes to, "" unknown */
	enum pp_spool_life life;    /* LEFT: no keeper and not finished */
	int keeper_pid;
	int keeper_lives;   /* behind DONE, it writes the page and removes the spool */
	int rings;          /* ring files */
	int elsewhere;      /* not below our podprof-UID: named by --spool, or by another TMPDIR */
	char message[1024]; /* the keeper's, where FAILED */
};

/* Call `see` for every spool of this user on this node; stops when it returns non-zero, and returns that. */
int pp_spool_each(int (*see)(const struct pp_spool_state *state, void *data), void *data);
/* 1: podprof made it and it holds nothing else: it may be removed. 0: it holds something else, or podprof may not have made it;
 * -ENOENT: it is no spool. */
int pp_spool_is_one(const char *path);
/* Does a process that registered there, or has a ring there, live? Of other PID namespaces only ranks are seen. */
int pp_spool_has_processes(const char *spool);
/* State of one spool; -ENOENT: not there. `spool` may be ret_state->path. */
int pp_spool_read(const char *spool, struct pp_spool_state *ret_state);

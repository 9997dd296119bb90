/* <spool>/run-PID: a register of the processes that podprof run became. In: the job. Out: the file; one entry read back. */
#pragma once

#include <stdint.h>

#include "aggregate/spool/job.h"
#include "core/base/err.h"

struct pp_run_file {
	int pid, rank, local_size;
	int sees_launcher;   /* of struct pp_job */
	uint32_t space;      /* pp_proc_pid_space() of the pid; 0: the kernel's first */
	uint64_t start_time; /* of the process, in ticks as in /proc; 0: unknown */
};

/* Makes the file: job->pid is, will be, or starts, the application. -errno, with a sentence. */
int pp_spool_register(const char *spool, const struct pp_job *job, struct pp_err *err);
/* Removes it again: the process has not become the application. */
void pp_spool_unregister(const char *spool, const struct pp_job *job);
/* Fills pid and space from a name that begins with "run-". */
void pp_run_file_parse(const char *name, struct pp_run_file *ret);
/* Fills the rest from the file. -EINVAL: it holds something else; -errno: it cannot be read. */
int pp_run_file_read(const char *spool, const char *name, struct pp_run_file *ret);

/* Child processes of Slurm's hooks, which get a time limit: a hook must not hold a node or a task. Called by cmd_slurm.c and
 * slurm_task.c. */
#pragma once

#include <sys/types.h>

/* Waits until the child ends, or kills it and all that it started. Its exit code; -ETIMEDOUT; -ECHILD: a signal ended it. */
int pp_slurm_wait(pid_t child, int limit_ms);
/* Runs a program found in PATH, its output lost. The same, or -errno. */
int pp_slurm_call(char *const *words, int limit_ms);

/* Slurm's TaskProlog and TaskEpilog: what the plug-in does, for sites that cannot load it. In: the task's environment, in which the
 * user set PP_SLURM_VARIABLE. */
#pragma once

/* The options of podprof run, as the value of srun --podprof; the variable without a value is enough. */
#define PP_SLURM_VARIABLE "PODPROF_SLURM"

/* Prints "export NAME=VALUE" for each variable that the task needs to be recorded, or nothing. */
void pp_slurm_task_prolog(void);
/* Waits while the keeper of this step still writes; at most so many seconds. */
void pp_slurm_task_epilog(int seconds);

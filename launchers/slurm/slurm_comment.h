/* The comment of a job in Slurm's accounting, which sacct shows: the job has ended, so scontrol may not change it any more. In: the
 * environment of the epilog, as the job's user. */
#pragma once

/* Adds a text; one line says why not. It waits at most 2 s. */
void pp_slurm_comment(const char *text);

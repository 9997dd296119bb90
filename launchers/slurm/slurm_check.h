/* Whether this Slurm is set up for podprof. In: slurm.conf as scontrol prints it, and the files that it names. Out: a row per check
 * on stdout, as those of podprof doctor. */
#pragma once

enum { PP_SLURM_HOOK_S = 30 }; /* what prolog and epilog take at most, where no number is given */

/* How many of them prevent recording. */
int pp_slurm_check(int is_json);

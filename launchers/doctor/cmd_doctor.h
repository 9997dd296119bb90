/* podprof doctor as a part of other verbs. Called by launchers/slurm. */
#pragma once

/* For Slurm's prolog: rows of what the node has. The job's user has another PATH, directory and options, so that what needs them is
 * left out. 0: one row is "no". */
int pp_doctor_of_node(void);

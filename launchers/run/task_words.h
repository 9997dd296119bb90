/* The value of --podprof of srun, sbatch and salloc as the command line of `podprof run`. Called by podprof task. */
#pragma once

/* `given`: "steps=10:20,30:40,xspace=rank", names and values of podprof run's options. A part without "=" belongs to the value
 * before it. `command`: "--", then the command. Returns argv for podprof run, NULL at its end; the caller frees the array, its
 * words stay. NULL: no memory. */
char **pp_task_words(const char *given, char *const *command);

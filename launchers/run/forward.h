/* How a job's variables reach ranks that mpirun starts on other hosts: it passes on only those that it is told to, by name.
 * In: the command of podprof run, the plan of its environment. Out: mpirun's own list, or words for its command line; names only,
 * for values would be seen by all users of the hosts. srun and torchrun pass on everything by themselves. */
#pragma once

#include "launchers/run/env_plan.h"

#define PP_FORWARD_LIST "OMPI_MCA_mca_base_env_list"

enum pp_forward {
	PP_FORWARD_NOT,      /* no mpirun, or its list is where we do not see it: ranks of other hosts run as they are */
	PP_FORWARD_BY_LIST,  /* PP_FORWARD_LIST in its environment */
	PP_FORWARD_BY_WORDS, /* its command line has -x, which it takes beside no list: ours are put in front of them */
};

enum pp_forward pp_forward_how(char *const *command);
/* The user's own list and the names of the plan; the caller's, NULL: no memory. */
char *pp_forward_list(const struct pp_env_plan *plan, const char *(*get)(const char *name));
/* `command` with "-x NAME" for each, behind its first word and each ":"; an array that is the caller's, of words that are not. */
char **pp_forward_words(const struct pp_env_plan *plan, char *const *command);

/* The variables that a profiled job needs, for the CLI now and other launchers later. In: paths of the libraries and the spool,
 * the options, the job's own environment. Out: names and values to set. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"
#include "launchers/options/options.h"

enum { PP_ENV_PLAN_MAX = 16 + PP_OPTS };

struct pp_env_plan {
	struct {
		const char *name; /* static */
		char *value;      /* owned */
	} variable[PP_ENV_PLAN_MAX];
	size_t count;
};

struct pp_env_plan_input {
	const char *library;     /* path of libpodprof.so */
	const char *mpi_library; /* path of libpodprof-mpi.so, NULL: not built */
	const char *spool;
	const char *output; /* absolute */
	const struct pp_options *options;
	const char *(*get)(const char *name); /* the job's environment */
	const char *program;                  /* path of podprof; NULL: ranks of hosts without a spool make none */
	const char *job;
	const char *rendezvous; /* the rendezvous point (run/rendezvous.h), or "" until it is known; NULL: none */
	const char *shim;       /* directory of the Python shim, NULL: there is none */
	const char *io_library; /* path of libpodprof-io.so, NULL: not wanted */
};

/* Keeps the user's values: LD_PRELOAD and PYTHONPATH behind ours, another NVTX injection in PODPROF_NVTX_CHAIN, another ITT
 * collector in PODPROF_ITT_CHAIN. Sets nothing yet. */
int pp_env_plan_make(const struct pp_env_plan_input *in, struct pp_env_plan *ret_plan, struct pp_err *err);
/* Adds a variable; the plan then owns `value`, NULL: -ENOMEM. */
int pp_env_plan_add(struct pp_env_plan *plan, const char *name, char *value, struct pp_err *err);
/* Replaces a value; the plan then owns it. */
void pp_env_plan_replace(struct pp_env_plan *plan, const char *name, char *value);
/* setenv() all; on failure none is changed for good: the caller execs with what it had. */
int pp_env_plan_apply(const struct pp_env_plan *plan, struct pp_err *err);
void pp_env_plan_release(struct pp_env_plan *plan);
/* For a host where the plan failed. If mpirun starts ranks on several hosts, those of the others need our wrapper of MPI_Init in
 * every rank (mpi/coord_part.h): without a spool it records nothing, but takes part. */
void pp_env_stand_in(const char *library, const char *mpi_library, const char *(*get)(const char *name));

/* libpodprof.so and libpodprof-mpi.so beside the running podprof: where they were configured to be installed, in
 * ../lib/podprof or in ../lib. *ret_mpi is NULL where there is none. The strings are the caller's. */
int pp_env_find_libraries(const char *program, char **ret_library, char **ret_mpi, struct pp_err *err);
/* libpodprof-io.so beside the library. The string is the caller's; NULL: it is missing, or no memory. */
char *pp_env_find_io(const char *library);
/* <directory of the library>/python, if a sitecustomize.py is in it. The string is the caller's; NULL: none, or no memory. */
char *pp_env_find_shim(const char *library);

/* How the variables reach ranks that mpirun starts on other hosts: it passes on only those given by name. Names only,
 * for values would be seen by all users of the hosts. srun and torchrun pass on everything by themselves. */
#define PP_FORWARD_LIST "OMPI_MCA_mca_base_env_list"

enum pp_forward {
	PP_FORWARD_NOT,      /* no mpirun, or its list is where we do not see it: ranks of other hosts run as they are */
	PP_FORWARD_BY_LIST,  /* PP_FORWARD_LIST in its environment */
	PP_FORWARD_BY_WORDS, /* its command line has -x, which it takes beside no list: ours are put in front of them */
};

/* How variables reach the ranks that this command starts on other hosts. */
enum pp_forward pp_forward_how(char *const *command);
/* The user's own list and the names of the plan; the caller's, NULL: no memory. */
char *pp_forward_list(const struct pp_env_plan *plan, const char *(*get)(const char *name));
/* `command` with "-x NAME" for each, behind its first word and each ":"; an array that is the caller's, of words that are not. */
char **pp_forward_words(const struct pp_env_plan *plan, char *const *command);

/* The variables that a profiled job needs: one table, for the CLI now and other launchers later.
 * In: where the libraries and the spool are, the options, the job's own environment. Out: names and values to set. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"
#include "launchers/options/options.h"

enum { PP_ENV_PLAN_MAX = 13 + PP_OPTS };

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
	const char *program;                  /* path of podprof, NULL: ranks of hosts without a spool do not make one */
	const char *job;
	const char *rendezvous; /* where hosts may meet (run/rendezvous.h), or "" until that is known; NULL: nowhere */
	const char *shim;       /* directory of the Python shim, NULL: there is none */
};

/* What the user has is kept: LD_PRELOAD and PYTHONPATH behind ours, another NVTX injection in PODPROF_NVTX_CHAIN, another ITT
 * collector in PODPROF_ITT_CHAIN. Nothing is set yet. */
int pp_env_plan_make(const struct pp_env_plan_input *in, struct pp_env_plan *ret_plan, struct pp_err *err);
/* One more; `value` is the plan's from then on, NULL: -ENOMEM. */
int pp_env_plan_add(struct pp_env_plan *plan, const char *name, char *value, struct pp_err *err);
/* Another value for one of them; it is the plan's from then on. */
void pp_env_plan_replace(struct pp_env_plan *plan, const char *name, char *value);
/* setenv() all; on failure none is changed for good: the caller execs with what it had. */
int pp_env_plan_apply(const struct pp_env_plan *plan, struct pp_err *err);
void pp_env_plan_release(struct pp_env_plan *plan);
/* Nothing of the plan could be done on this host. Where mpirun's ranks have several, those of the others count on our wrapper
 * of MPI_Init in every rank (mpi/coord_part.h): without a spool it records nothing, but takes part. */
void pp_env_stand_in(const char *library, const char *mpi_library, const char *(*get)(const char *name));

/* libpodprof.so and libpodprof-mpi.so beside the running podprof: where they were configured to be installed, in
 * ../lib/podprof or in ../lib. *ret_mpi is NULL where there is none. The strings are the caller's. */
int pp_env_find_libraries(const char *program, char **ret_library, char **ret_mpi, struct pp_err *err);
/* <directory of the library>/python, if a sitecustomize.py is in it. The string is the caller's; NULL: none, or no memory. */
char *pp_env_find_shim(const char *library);

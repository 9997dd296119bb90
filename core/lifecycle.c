/* The collector's constructor: what happens when the library is loaded. Called by the loader. */
#include <stdlib.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/collector.h"
#include "core/coord/self.h"
#include "core/ending.h"
#include "core/unrecorded.h"

/* Did podprof run become this process? A helper's pid is another one than the variable's: it asks the kernel nothing. */
static int may_be_registered(void)
{
	const char *pid = pp_env("PODPROF_PID");

	return pid && strtol(pid, NULL, 10) == pp_self.birth;
}

/* Shells and helpers run this too: it is silent and short. */
__attribute__((constructor)) static void loaded(void)
{
	if (!getenv("PODPROF_SPOOL"))
		return;
	pp_env_take();
	if (!pp_self.birth)
		pp_self.birth = getpid();
	pp_ending_begin();
	pp_collector_load();
	if (may_be_registered())
		pp_unrecorded_start();
}

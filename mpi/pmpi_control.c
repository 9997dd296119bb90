/* MPI_Pcontrol: the application switches recording off and on, or marks a place. Called as MPI_Pcontrol or PMPI_Pcontrol. */
#include <errno.h>
#include <stdio.h>

#include "mpi/pmpi_correlation.h"

static void mark(struct pp_mpi_thread *t, pp_tick now, int level)
{
	struct pp_record r = {.tick = now, .kind = PP_RECORD_MARK};
	int saved = errno;

	r.range.source = PP_SOURCE_MPI;
	r.length = (uint32_t)snprintf(r.range.text, sizeof r.range.text, "MPI_Pcontrol(%d)", level);
	errno = saved;
	pp_mpi_append(t, &r);
}

/* The arguments behind the level are for profilers that know them; no MPI library reads them. */
PP_PUBLIC int MPI_Pcontrol(const int level, ...)
{
	PP_HEAD(Pcontrol, (level))
	if (level == 1)
		pp_mpi_collector->pause(0);
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Pcontrol, NULL, PP_NO_PEER, 0);
	rc = real(level);
	end = pp_mpi_end(&scope);
	if (scope.recording) {
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
		mark(thread, end, level);
	}
	if (level == 0)
		pp_mpi_collector->pause(1);
	PP_TAIL
}
PP_BOTH(Pcontrol)

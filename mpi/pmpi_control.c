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

/* What a caller may have put behind the level, as registers and stack hold it: the calling conventions pass the first words and the
 * first floating-point numbers in registers, and the others on the stack in their order. No MPI library reads it, but other
 * libraries' wrappers do. It is passed on as it lies there, up to 11 words and 8 numbers; what was not put there is passed too, and
 * nobody reads it. */
#define PP_REST                                                                                                                    \
	long w1, long w2, long w3, long w4, long w5, long w6, long w7, double d1, double d2, double d3, double d4, double d5,      \
	        double d6, double d7, double d8, long w8, long w9, long w10, long w11

#define PP_REST_ARGS w1, w2, w3, w4, w5, w6, w7, d1, d2, d3, d4, d5, d6, d7, d8, w8, w9, w10, w11

/* mpi.h declares them with `...`, so that they have other names here. */
int pp_mpi_pcontrol(int level, PP_REST) __asm__("MPI_Pcontrol");
int pp_pmpi_pcontrol(int level, PP_REST) __asm__("PMPI_Pcontrol");

int pp_pmpi_pcontrol(int level, PP_REST)
{
	pp_mpi_thread.by_pmpi = __builtin_return_address(0);
	return pp_mpi_pcontrol(level, PP_REST_ARGS);
}

int pp_mpi_pcontrol(int level, PP_REST)
{
	PP_HEAD(Pcontrol, (level, PP_REST_ARGS))
	if (level == 1)
		pp_mpi_collector->pause(0);
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Pcontrol, 0, PP_NO_PEER, 0);
	rc = real(level, PP_REST_ARGS);
	end = pp_mpi_end(&scope);
	if (scope.recording) {
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
		mark(thread, end, level);
	}
	if (level == 0)
		pp_mpi_collector->pause(1);
	PP_TAIL
}

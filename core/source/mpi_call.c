/* Names and classes of the wrapped MPI calls, out of the wrappers' own table; for readers of records. */
#include "core/source/mpi_call.h"

static const struct pp_mpi_call calls[] = {
#define PP_MPI(symbol, class, nonblocking, ...) {"MPI_" #symbol, class, nonblocking},
#include "mpi/pmpi_call.def"
#undef PP_MPI
};

static const struct pp_mpi_call unknown = {"MPI_?", PP_MPI_LOCAL, 0};

unsigned pp_mpi_call_count(void)
{
	return sizeof(calls) / sizeof(calls[0]);
}

const struct pp_mpi_call *pp_mpi_call_info(unsigned call)
{
	return call < pp_mpi_call_count() ? &calls[call] : &unknown;
}

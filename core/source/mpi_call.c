/* Names and classes of the wrapped MPI calls, from the table's first columns. Read by the keeper and by libpodprof-mpi.so. */
#include "core/source/mpi_call.h"

static const struct pp_mpi_call calls[] = {
#define PP_MPI(symbol, class_, nonblocking_, ...) {.name = "MPI_" #symbol, .class = (class_), .nonblocking = (nonblocking_)},
#include "mpi/pmpi_call.def"
#undef PP_MPI
};

static const struct pp_mpi_call unknown = {.name = "MPI_?", .class = PP_MPI_LOCAL};

const struct pp_mpi_call *pp_mpi_call_info(unsigned call)
{
	return call < pp_mpi_call_count() ? &calls[call] : &unknown;
}

unsigned pp_mpi_call_count(void)
{
	return sizeof calls / sizeof calls[0];
}

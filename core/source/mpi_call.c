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

int pp_mpi_class_joins(enum pp_mpi_class class)
{
	switch (class) {
	case PP_MPI_ALL:
	case PP_MPI_FROM_ROOT:
	case PP_MPI_TO_ROOT:
	case PP_MPI_PREFIX:
	case PP_MPI_FENCE:
	case PP_MPI_FILE_ALL:
	case PP_MPI_READ_ALL:
	case PP_MPI_WRITE_ALL:
		return 1;
	default:
		return 0;
	}
}

int pp_mpi_class_is_file(enum pp_mpi_class class)
{
	return class >= PP_MPI_FILE_ALL && class <= PP_MPI_WRITE_ALL;
}

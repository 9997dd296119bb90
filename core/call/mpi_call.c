/* Names and classes of the wrapped MPI calls, from the wrappers' table; for readers of records. */
#include "core/call/mpi_call.h"

#include <math.h>
#include <string.h>

static const struct pp_mpi_call calls[] = {
#define PP_MPI(symbol, class, nonblocking, family, ...) {"MPI_" #symbol, class, nonblocking, #family},
#include "core/call/mpi_call.def"
#undef PP_MPI
};

/* torch.distributed's and NCCL's, behind PP_C10D_FIRST and PP_NCCL_FIRST. */
static const struct library_call {
	struct pp_mpi_call call;
	const char *backend; /* name of its work: "all_reduce"; "": that of another row */
	unsigned char equal_bytes, joins_data, bus;
} c10d[] =
        {
#define PP_C10D(symbol, name, backend, class, nonblocking, family, equal, joins, bus)                                              \
	{{name, class, nonblocking, family}, backend, equal, joins, bus},
#include "core/call/c10d_call.def"
#undef PP_C10D
},
  nccl[] = {
#define PP_NCCL(symbol, name, function, class, family, equal, joins, bus) {{name, class, 1, family}, function, equal, joins, bus},
#include "core/call/nccl_call.def"
#undef PP_NCCL
};

enum { C10D_CALLS = sizeof(c10d) / sizeof(c10d[0]), NCCL_CALLS = sizeof(nccl) / sizeof(nccl[0]) };
_Static_assert(PP_C10D_FIRST + C10D_CALLS <= PP_NCCL_FIRST && PP_NCCL_FIRST + NCCL_CALLS <= PP_CALL_NUMBERS, "no overlap");

static const struct library_call *library_of(unsigned call)
{
	if (call >= PP_NCCL_FIRST)
		return call - PP_NCCL_FIRST < NCCL_CALLS ? &nccl[call - PP_NCCL_FIRST] : NULL;
	return call >= PP_C10D_FIRST && call - PP_C10D_FIRST < C10D_CALLS ? &c10d[call - PP_C10D_FIRST] : NULL;
}

enum row {
#define PP_MPI(symbol, ...) ROW_##symbol,
#include "core/call/mpi_call.def"
#undef PP_MPI
	ROWS
};

enum c10d_row {
#define PP_C10D(symbol, ...) C10D_ROW_##symbol,
#include "core/call/c10d_call.def"
#undef PP_C10D
	C10D_ROWS
};

enum nccl_row {
#define PP_NCCL(symbol, ...) NCCL_ROW_##symbol,
#include "core/call/nccl_call.def"
#undef PP_NCCL
	NCCL_ROWS
};

/* `equal_bytes`: MPI wants the same count and type, or type signature, on all ranks. */
static const struct {
	unsigned char equal_bytes, bus;
} rules[ROWS] = {
#define RULE(call, nonblocking, ...) [ROW_##call] = {__VA_ARGS__}, [ROW_##nonblocking] = {__VA_ARGS__}
        RULE(Bcast, Ibcast, 1, PP_BUS_WHOLE),
        RULE(Reduce, Ireduce, 1, PP_BUS_WHOLE),
        RULE(Allreduce, Iallreduce, 1, PP_BUS_ALLREDUCE),
        RULE(Gather, Igather, 0, PP_BUS_OTHERS),
        RULE(Gatherv, Igatherv, 0, PP_BUS_OTHERS),
        RULE(Scatter, Iscatter, 0, PP_BUS_OTHERS),
        RULE(Scatterv, Iscatterv, 0, PP_BUS_OTHERS),
        RULE(Allgather, Iallgather, 1, PP_BUS_OTHERS),
        RULE(Allgatherv, Iallgatherv, 0, PP_BUS_OTHERS),
        RULE(Alltoall, Ialltoall, 1, PP_BUS_OTHERS),
        RULE(Alltoallv, Ialltoallv, 0, PP_BUS_OTHERS),
        RULE(Alltoallw, Ialltoallw, 0, PP_BUS_OTHERS),
        RULE(Reduce_scatter, Ireduce_scatter, 1, PP_BUS_OTHERS),
        RULE(Reduce_scatter_block, Ireduce_scatter_block, 1, PP_BUS_OTHERS),
        RULE(Scan, Iscan, 1, PP_BUS_WHOLE),
        RULE(Exscan, Iexscan, 1, PP_BUS_WHOLE),
#undef RULE
};

static const struct pp_mpi_call unknown = {"MPI_?", PP_MPI_LOCAL, 0, ""};

unsigned pp_mpi_call_count(void)
{
	return sizeof(calls) / sizeof(calls[0]);
}

const struct pp_mpi_call *pp_mpi_call_info(unsigned call)
{
	const struct library_call *c = library_of(call);

	return c ? &c->call : call < pp_mpi_call_count() ? &calls[call] : &unknown;
}

int pp_mpi_call_is_known(unsigned call)
{
	return call < pp_mpi_call_count() || library_of(call);
}

unsigned pp_c10d_call_of(const char *name, size_t length)
{
	for (unsigned i = 0; i < C10D_CALLS; i++)
		if (strlen(c10d[i].call.name) == length && !memcmp(c10d[i].call.name, name, length))
			return PP_C10D_FIRST + i;
	return 0;
}

unsigned pp_c10d_call_of_backend(const char *name, size_t length)
{
	const char *colon = memchr(name, ':', length);

	if (!colon)
		return 0;
	length -= (size_t)(colon + 1 - name);
	for (unsigned i = 0; i < C10D_CALLS; i++)
		if (*c10d[i].backend && strlen(c10d[i].backend) == length && !memcmp(c10d[i].backend, colon + 1, length))
			return PP_C10D_FIRST + i;
	return 0;
}

unsigned pp_nccl_call_of(const char *function)
{
	for (unsigned i = 1; i < NCCL_CALLS; i++)
		if (nccl[i].backend[0] == function[0] && !strcmp(nccl[i].backend, function))
			return PP_NCCL_FIRST + i;
	return PP_NCCL_FIRST;
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
	case PP_MPI_NEAR:
		return 1;
	default:
		return 0;
	}
}

int pp_mpi_class_is_message(enum pp_mpi_class class)
{
	return class == PP_MPI_SEND || class == PP_MPI_RECV || class == PP_MPI_SENDRECV || class == PP_MPI_START;
}

unsigned pp_mpi_call_of_message(unsigned call)
{
	if (call >= PP_NCCL_FIRST)
		return (unsigned)PP_NCCL_FIRST + NCCL_ROW_SEND;
	return call >= PP_C10D_FIRST ? (unsigned)PP_C10D_FIRST + C10D_ROW_SEND : (unsigned)ROW_Send;
}

int pp_mpi_class_is_operation(enum pp_mpi_class class)
{
	return pp_mpi_class_joins(class) || pp_mpi_class_is_message(class);
}

int pp_mpi_class_is_file(enum pp_mpi_class class)
{
	return class >= PP_MPI_FILE_ALL && class <= PP_MPI_WRITE_ALL;
}

int pp_mpi_call_is_collective(unsigned call)
{
	const struct pp_mpi_call *info = pp_mpi_call_info(call);

	return !strcmp(info->family, "COLL") || !strcmp(info->family, "ICOLL");
}

int pp_mpi_call_has_equal_bytes(unsigned call)
{
	return library_of(call) ? library_of(call)->equal_bytes : call < ROWS && rules[call].equal_bytes;
}

int pp_mpi_call_only_moves_data(unsigned call)
{
	if (pp_mpi_call_info(call)->class == PP_MPI_NEAR)
		return call == ROW_Neighbor_allgather || call == ROW_Neighbor_alltoall;
	return !library_of(call) && pp_mpi_call_is_collective(call) && call != ROW_Barrier && call != ROW_Ibarrier;
}

int pp_mpi_call_joins_data(unsigned call)
{
	enum pp_mpi_class class = pp_mpi_call_info(call)->class;

	if (library_of(call))
		return library_of(call)->joins_data;
	return (class == PP_MPI_ALL || class == PP_MPI_TO_ROOT || class == PP_MPI_PREFIX || class == PP_MPI_NEAR) &&
	       pp_mpi_call_is_collective(call) && call != ROW_Barrier && call != ROW_Ibarrier;
}

int pp_mpi_call_polls(unsigned call)
{
	switch (call) {
	case ROW_Test:
	case ROW_Testall:
	case ROW_Testany:
	case ROW_Testsome:
	case ROW_Request_get_status:
	case ROW_Win_test:
	case ROW_Iprobe:
	case ROW_Improbe:
		return 1;
	default:
		return 0;
	}
}

int pp_mpi_call_is_exchange(unsigned call)
{
	switch (call) {
	case PP_C10D_FIRST + C10D_ROW_ALLTOALL:
	case PP_C10D_FIRST + C10D_ROW_ALLTOALL_BASE:
	case PP_C10D_FIRST + C10D_ROW_COALESCED:
	case PP_C10D_FIRST + C10D_ROW_XLA_ALLTOALL:
	case PP_C10D_FIRST + C10D_ROW_XLA_RAGGED_ALLTOALL:
	case PP_C10D_FIRST + C10D_ROW_XLA_PERMUTE:
	case PP_C10D_FIRST + C10D_ROW_XLA_BROADCAST:
	case PP_C10D_FIRST + C10D_ROW_XLA_HOST_ALLTOALL:
	case PP_C10D_FIRST + C10D_ROW_XLA_HOST_RAGGED_ALLTOALL:
	case PP_C10D_FIRST + C10D_ROW_XLA_HOST_PERMUTE:
	case PP_C10D_FIRST + C10D_ROW_XLA_HOST_BROADCAST:
	case PP_NCCL_FIRST + NCCL_ROW_ALLTOALL:
	case PP_NCCL_FIRST + NCCL_ROW_ALLGATHERV:
		return 1;
	default:
		return 0;
	}
}

double pp_mpi_call_bus_factor(unsigned call, int32_t ranks)
{
	double n = ranks;

	if (ranks < 1)
		return (double)NAN;
	switch (library_of(call) ? library_of(call)->bus : call < ROWS ? rules[call].bus : PP_BUS_WHOLE) {
	case PP_BUS_ALLREDUCE:
		return 2 * (n - 1) / n;
	case PP_BUS_OTHERS:
		return (n - 1) / n;
	default:
		return 1;
	}
}

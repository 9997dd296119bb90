/* Sizes of datatypes. Called when a record of a call is made. */
#include "mpi/pmpi_type.h"

_Atomic uint64_t pp_type_cache[PP_TYPE_SLOTS];

static uint64_t ask(MPI_Datatype type)
{
	MPI_Count size = 0;

	PP_OWN(Type_size_x)
	if (own(type, &size) != MPI_SUCCESS || size < 0)
		return 0;
	return (uint64_t)size;
}

/* A type that was made with large counts has no envelope for MPI_Type_get_envelope, which is an error then. -1: this MPI has no
 * such types. */
static int predefined_large(MPI_Datatype type, int *ret_combiner)
{
	static _Atomic int is_missing;
	int (*real)(MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *, int *);
	MPI_Count n[4];

	if (atomic_load_explicit(&is_missing, memory_order_relaxed))
		return -1;
	real = (__typeof__(real))pp_mpi_real("PMPI_Type_get_envelope_c");
	atomic_store_explicit(&is_missing, !real, memory_order_relaxed);
	return real ? real(type, &n[0], &n[1], &n[2], &n[3], ret_combiner) != MPI_SUCCESS : -1;
}

static int predefined(MPI_Datatype type)
{
	int integers, addresses, types, combiner, rc = predefined_large(type, &combiner);

	PP_OWN(Type_get_envelope)
	if (rc < 0)
		rc = own(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS;
	return !rc && combiner == MPI_COMBINER_NAMED;
}

uint64_t pp_type_size_slow(MPI_Datatype type)
{
	_Atomic uint64_t *slot = pp_type_slot(type);
	uint64_t e = atomic_load_explicit(slot, memory_order_relaxed);
	uint64_t size = ask(type);

	if (e >> 16 == pp_type_bits(type) && (e & 0xffff) == 1)
		return size;
	e = pp_type_bits(type) << 16 | (predefined(type) && size < 0xff00 ? size + 2 : 1);
	atomic_store_explicit(slot, e, memory_order_relaxed);
	return size;
}

uint64_t pp_bytes_v(struct pp_counts counts, int n, MPI_Datatype type)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += pp_count(counts, i) > 0 ? (uint64_t)pp_count(counts, i) : 0;
	return sum ? sum * pp_type_size(type) : 0;
}

uint64_t pp_bytes_w(struct pp_counts counts, int n, const MPI_Datatype *types)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += pp_bytes(pp_count(counts, i), types[i]);
	return sum;
}

uint64_t pp_bytes_from(struct pp_mpi_scope *s, struct pp_counts counts, const MPI_Datatype *types, int step)
{
	const struct pp_comm *c = s->comm;
	int32_t others = 0, giving = 0;
	uint64_t sum = 0;

	for (int i = 0; i < c->peers; i++) {
		uint64_t bytes = pp_bytes(pp_count(counts, i), types[i * step]);

		sum += bytes;
		if (!c->inter && i == c->rank)
			continue;
		others++;
		giving += bytes > 0;
	}
	if (giving < others)
		s->flags |= giving ? PP_MPI_FROM_SOME : PP_MPI_FROM_NONE;
	return sum;
}

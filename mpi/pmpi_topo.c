/* Neighbours in process topologies. Called when a record of a neighbourhood collective is made. */
#include "mpi/pmpi_topo.h"

#include <errno.h>
#include <stdlib.h>

#include "mpi/pmpi_source.h"
#include "mpi/pmpi_type.h"

static struct pp_topo *topo_new(int in, int out)
{
	struct pp_topo *t = calloc(1, sizeof *t + (2 * (size_t)in + (size_t)out) * sizeof t->rank[0]);

	if (!t)
		return NULL;
	t->in.places = in;
	t->in.rank = t->rank;
	t->out.places = out;
	t->out.rank = t->rank + in;
	t->near = t->rank + in + out;
	return t;
}

/* In each dimension the one below, then the one above; both ways. */
static struct pp_topo *ask_cart(MPI_Comm comm)
{
	__typeof__(&MPI_Cartdim_get) dims_of = (__typeof__(dims_of))pp_mpi_real("PMPI_Cartdim_get");
	__typeof__(&MPI_Cart_shift) shift = (__typeof__(shift))pp_mpi_real("PMPI_Cart_shift");
	struct pp_topo *t;
	int dims = 0;

	if (!dims_of || !shift || dims_of(comm, &dims) || !(t = topo_new(2 * dims, 2 * dims)))
		return NULL;
	for (int i = 0; i < dims; i++) {
		int *at = &t->rank[2 * i];

		if (shift(comm, i, 1, &at[0], &at[1]))
			at[0] = at[1] = MPI_PROC_NULL;
		at[2 * dims] = at[0];
		at[2 * dims + 1] = at[1];
	}
	return t;
}

static struct pp_topo *ask_graph(MPI_Comm comm, int rank)
{
	__typeof__(&MPI_Graph_neighbors_count) count = (__typeof__(count))pp_mpi_real("PMPI_Graph_neighbors_count");
	__typeof__(&MPI_Graph_neighbors) list = (__typeof__(list))pp_mpi_real("PMPI_Graph_neighbors");
	struct pp_topo *t;
	int n = 0;

	if (!count || !list || count(comm, rank, &n) || !(t = topo_new(n, n)))
		return NULL;
	if (list(comm, rank, n, t->rank) || list(comm, rank, n, t->rank + n)) {
		free(t);
		return NULL;
	}
	return t;
}

static struct pp_topo *ask_dist_graph(MPI_Comm comm)
{
	__typeof__(&MPI_Dist_graph_neighbors_count) count = (__typeof__(count))pp_mpi_real("PMPI_Dist_graph_neighbors_count");
	__typeof__(&MPI_Dist_graph_neighbors) list = (__typeof__(list))pp_mpi_real("PMPI_Dist_graph_neighbors");
	int in = 0, out = 0, weighted = 0, *weights;
	struct pp_topo *t;

	if (!count || !list || count(comm, &in, &out, &weighted))
		return NULL;
	weights = calloc((size_t)in + (size_t)out + 1, sizeof *weights);
	t = weights ? topo_new(in, out) : NULL;
	if (t && list(comm, in, t->rank, weights, out, t->rank + in, weights + in)) {
		free(t);
		t = NULL;
	}
	free(weights);
	return t;
}

static void count_there(struct pp_topo_side *side)
{
	for (int i = 0; i < side->places; i++)
		side->there += side->rank[i] != MPI_PROC_NULL;
}

/* No record where a neighbour is of another world: it has no rank in this one. */
static void say_near(const struct pp_comm *c, struct pp_topo *t)
{
	uint32_t n = 0;

	t->is_announced = 1;
	for (int i = 0; i < t->in.places; i++) {
		int rank = t->in.rank[i];
		int32_t world = rank < 0 || rank >= c->peers ? -1 : c->world ? c->world[rank] : rank;

		if (rank == MPI_PROC_NULL)
			continue;
		if (world < 0)
			return;
		t->near[n++] = world;
	}
	pp_comm_announce_near(c, t->near, n);
}

static struct pp_topo *ask(const struct pp_comm *c, MPI_Comm handle)
{
	__typeof__(&MPI_Topo_test) test;
	struct pp_topo *t = NULL;
	int kind = MPI_UNDEFINED;

	test = (__typeof__(test))pp_mpi_real("PMPI_Topo_test");
	if (test && test(handle, &kind) == MPI_SUCCESS) {
		if (kind == MPI_CART)
			t = ask_cart(handle);
		else if (kind == MPI_GRAPH)
			t = ask_graph(handle, c->rank);
		else if (kind == MPI_DIST_GRAPH)
			t = ask_dist_graph(handle);
	}
	if (t) {
		count_there(&t->in);
		count_there(&t->out);
	}
	return t;
}

const struct pp_topo *pp_topo(struct pp_comm *c, MPI_Comm handle)
{
	int saved = errno;

	if (!c->topo)
		c->topo = ask(c, handle);
	if (c->topo && !c->topo->is_announced && atomic_load_explicit(pp_mpi_recording, memory_order_relaxed))
		say_near(c, c->topo);
	errno = saved;
	return c->topo;
}

int pp_topo_there(const struct pp_topo *t, int out)
{
	return !t ? 0 : out ? t->out.there : t->in.there;
}

uint64_t pp_topo_bytes_v(const struct pp_topo *t, int out, struct pp_counts counts, MPI_Datatype type)
{
	const struct pp_topo_side *side = t ? (out ? &t->out : &t->in) : NULL;
	uint64_t sum = 0;

	for (int i = 0; side && i < side->places; i++)
		sum += side->rank[i] != MPI_PROC_NULL ? pp_bytes(pp_count(counts, i), type) : 0;
	return sum;
}

uint64_t pp_topo_bytes_w(const struct pp_topo *t, int out, struct pp_counts counts, const MPI_Datatype *types)
{
	const struct pp_topo_side *side = t ? (out ? &t->out : &t->in) : NULL;
	uint64_t sum = 0;

	for (int i = 0; side && i < side->places; i++)
		sum += side->rank[i] != MPI_PROC_NULL ? pp_bytes(pp_count(counts, i), types[i]) : 0;
	return sum;
}

/* Neighbours of this process in a communicator's topology, for the table's rows of neighbourhood collectives. In: a communicator
 * with a topology. Out: counts of neighbours and bytes of their shares, a COMM record of those that send to this one;
 * MPI_PROC_NULL at an edge is no neighbour. */
#pragma once

#include "mpi/pmpi_type.h"

struct pp_topo_side {
	int places; /* entries in the arrays of a call */
	int there;  /* neighbours among them */
	const int *rank;
};

struct pp_topo {
	struct pp_topo_side in, out;
	int32_t *near;    /* world ranks of those in `in` that are there */
	int is_announced; /* in a record */
	int rank[];       /* in, out, near */
};

/* NULL: no topology, or no memory. Asked once per communicator; MPI allows one collective at a time on it. */
const struct pp_topo *pp_topo(struct pp_comm *c, MPI_Comm handle);

/* Neighbours that this process receives from, `out`: sends to. Of NULL, here and below: 0. */
int pp_topo_there(const struct pp_topo *t, int out);
/* Bytes that these exchange in all, by one count per place of the call; `types`: one per place too. */
uint64_t pp_topo_bytes_v(const struct pp_topo *t, int out, struct pp_counts counts, MPI_Datatype type);
uint64_t pp_topo_bytes_w(const struct pp_topo *t, int out, struct pp_counts counts, const MPI_Datatype *types);

#define PP_TOPO pp_topo(scope.comm, comm)
#define PP_IN ((uint64_t)pp_topo_there(PP_TOPO, 0))
#define PP_OUT ((uint64_t)pp_topo_there(PP_TOPO, 1))
#define PP_IN_V(counts, type) pp_topo_bytes_v(PP_TOPO, 0, PP_COUNTS(counts), type)
#define PP_OUT_V(counts, type) pp_topo_bytes_v(PP_TOPO, 1, PP_COUNTS(counts), type)
#define PP_IN_W(counts, types) pp_topo_bytes_w(PP_TOPO, 0, PP_COUNTS(counts), types)
#define PP_OUT_W(counts, types) pp_topo_bytes_w(PP_TOPO, 1, PP_COUNTS(counts), types)

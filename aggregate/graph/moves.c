/* Tells transfer from waiting of unknown needs; see moves.h. Called by replay.c and tools/efficiency.c. */
#include "aggregate/graph/moves.h"

#include "aggregate/graph/device_wait.h"
#include "aggregate/graph/needs.h"
#include "core/call/mpi_call.h"

/* Is it unknown when the rank's kernel had what it needed? */
static int is_undetermined(const struct pp_row_arrival *a)
{
	return pp_graph_on_device(a) && (a->device_how == PP_DEVICE_WAIT_UNKNOWN || a->device_how == PP_DEVICE_WAIT_DISAGREE);
}

/* A rank without a record may have been the late one, and so may a root that no record names. */
static int is_incomplete(const struct pp_row_collective *c, enum pp_mpi_class class)
{
	if (c->message)
		return 0;
	return c->mismatch == PP_MISMATCH_MISSING || ((class == PP_MPI_FROM_ROOT || class == PP_MPI_TO_ROOT) && c->root < 0);
}

static enum pp_moves of_row(const struct pp_graph *g, uint32_t row)
{
	const uint32_t operation = g->operation[row];
	const struct pp_row_collective *c = &g->d->collective[operation];
	const enum pp_mpi_class class = pp_mpi_call_info(c->operation)->class;
	struct pp_need_list list = {.rows = 0};

	if (pp_mpi_class_is_file(class))
		return PP_MOVES_NOTHING;
	/* The row is far away in memory, and mostly not needed. */
	if (g->kind[operation] == PP_GRAPH_UNCLEAR || is_incomplete(c, class) ||
	    (c->device_ranks && is_undetermined(&g->d->arrival[row])))
		return PP_MOVES_UNKNOWN;
	if (g->kind[operation] == PP_GRAPH_JOIN)
		return PP_MOVES_DATA;
	if (c->message || g->d->arrival[row].needs == PP_ROW_NEEDS_NONE)
		return PP_MOVES_DATA;
	if (class == PP_MPI_NEAR)
		return pp_needs_of(g, operation, row, &list) == PP_NEED_UNKNOWN ? PP_MOVES_UNKNOWN : PP_MOVES_DATA;
	return g->d->arrival[row].needs == PP_ROW_NEEDS_ALL ? PP_MOVES_DATA : PP_MOVES_UNKNOWN;
}

static enum pp_moves of_lone_call(const struct pp_graph *g, const struct pp_node *n)
{
	const enum pp_mpi_class class = pp_mpi_call_info(g->d->lone_call[n->row].operation)->class;

	if (pp_mpi_class_is_file(class) || class == PP_MPI_LOCAL || class == PP_MPI_LOCAL_INIT)
		return PP_MOVES_NOTHING;
	return n->flags & PP_NODE_UNKNOWN ? PP_MOVES_UNKNOWN : PP_MOVES_DATA;
}

enum pp_moves pp_moves_of(const struct pp_graph *g, uint32_t node)
{
	const struct pp_node *n = &g->node[node];
	enum pp_moves most = n->flags & PP_NODE_LONE ? of_lone_call(g, n) : PP_MOVES_NOTHING;

	for (uint32_t i = 0; i < pp_graph_row_count(g, n) && n->flags & PP_NODE_ENDS && most != PP_MOVES_UNKNOWN; i++) {
		const uint32_t row = pp_graph_rows(g, n)[i];
		const enum pp_moves one = of_row(g, row);

		most = one > most ? one : most;
	}
	/* the records themselves have shown its need */
	return most == PP_MOVES_UNKNOWN && n->flags & (PP_NODE_LEARNED | PP_NODE_INFERRED) ? PP_MOVES_DATA : most;
}

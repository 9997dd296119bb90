/* What passes the network in a call: an ideal network shortens only that. In: a graph. Pure; no errors. */
#pragma once

#include "aggregate/graph/graph.h"

enum pp_moves {
	PP_MOVES_NOTHING, /* it is local, or about files */
	PP_MOVES_DATA,    /* once what it needs is there, the rest of it is transfer */
	PP_MOVES_UNKNOWN, /* of its time nothing tells what is waiting and what is transfer */
};

/* Of a node. A call that completes several operations is known where all of them are. */
enum pp_moves pp_moves_of(const struct pp_graph *g, uint32_t node);

/* The whole graph: nodes, learned and inferred needs, unusual work. */
#pragma once

#include "aggregate/graph/graph.h"

/* Rows of `d` that stay the caller's, as long as the graph. 0; -ENOMEM; -EOVERFLOW: more rows, or more ranks, than an index
 * holds. */
int pp_graph_whole(struct pp_graph *g, const struct pp_dataset *d);

/* Makes the graph of operations from rows of /collective. */
#pragma once

#include "aggregate/graph/graph.h"

/* Nodes with what each needed last. `d` stays the caller's, as long as the graph. 0; -ENOMEM; -EOVERFLOW: more rows than an index
 * holds. */
int pp_graph_make(struct pp_graph *g, const struct pp_dataset *d);

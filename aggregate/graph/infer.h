/* Needs of calls that no record names: polls, Probe, one-sided epochs. Local work is known on all ranks. If one rank works
 * longer in a round, and all others are that much longer in such calls, they waited for it. A round is what ends with the n-th
 * such call of each rank, if all ranks make as many of them, else the step. The part of their time there that this explains,
 * over all rounds, is how sure it is; below one half nothing is inferred. */
#pragma once

#include "aggregate/graph/graph.h"

/* Sets `need` and PP_NODE_INFERRED of nodes with PP_NODE_UNKNOWN, and g->sure. 0, or -ENOMEM. */
int pp_infer_needs(struct pp_graph *g);

/* Needs that no rule gives: late progress, and ranks inside of tree algorithms. The records themselves say so: rank i needs
 * rank j in operations of one kind (communicator, call, root, size class) if i was never through before j had begun, clearly
 * and beyond the clock error, although j began later than i at least once. Where buffers let some messages through, it also
 * holds for a single operation whose end follows the begin of j at once. "Begin" is the post of the matching call, or the time
 * at which j comes back into MPI after local work: from then on it makes progress for others. The shape of a tree is not
 * needed. */
#pragma once

#include "aggregate/graph/graph.h"

/* Sets `need` and PP_NODE_LEARNED where a learned need began later than the need that the node has. 0, or -ENOMEM. */
int pp_learn_needs(struct pp_graph *g);

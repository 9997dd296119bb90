/* Which part of the local work before a call is unusual: what noise does not explain.
 *
 * Compared are the ranks before the same call of the same step: the n-th of its kind (operation and root; of messages the end
 * and the tag). Unusual is what lies above the median of the other ranks, if that is more than 4 robust standard deviations.
 * The deviation is the smaller of that between ranks and of that between successive steps of a rank, so that it also holds for
 * two ranks. Where the ranks of a step call different things (a first stage, a leader), only their whole work of the step is
 * compared, and the unusual part is the same of each local work. The factor 1.4826 makes the median of absolute deviations a
 * standard deviation. Kernels that communicate and belong to no call may have waited: what a rank has more of them than the others
 * is not unusual. */
#pragma once

#include "aggregate/graph/graph.h"

/* Sets segment, peer and unusual of every node inside steps. The peer is a node of the same segment and step; where ranks call
 * different things in the step, any node of the rank with the median work of the step. 0, or -ENOMEM. */
int pp_usual_find(struct pp_graph *g);

/* Why a call waited: two walks back from its wait, one from the late start that it waited for, one from its own start, always
 * stepping back the later of the two, until they meet. Unusual work on the first is charged to its rank, less the same on the
 * second; usual work and transfer only by what the first has more of it. No order of calls, and no count of ranks, enters. In:
 * a graph with unusual parts (usual.h). Out: charges that add up to the wait. One thread. */
#pragma once

#include "aggregate/dataset/table/reason.h"
#include "aggregate/graph/graph.h"

/* LINK: of the link of pp_links_slow(), no rank's. */
enum pp_charge_kind { PP_CHARGE_UNKNOWN, PP_CHARGE_WORK, PP_CHARGE_TRANSFER, PP_CHARGE_LINK };

struct pp_charge { /* of a node's rank, in the node's step */
	uint32_t node;
	enum pp_charge_kind kind;
	int64_t ns;
};

struct pp_walk {
	const struct pp_graph *g;
	struct pp_walk_step *step; /* from the start of `from` back: the first walk of all that wait for that node */
	size_t steps, step_room;
	uint32_t from;
	size_t taken;    /* of them, by the last walk */
	double *unusual; /* [2 * workers][2], of the first and the second walk: work, then slow links to each */
	uint32_t *rank;  /* places in it that are not 0 */
	size_t ranks;
	struct pp_charge *charge; /* of the last pp_walk_charge() */
	size_t charges, charge_room;
};

/* 0, or -ENOMEM. Release also takes one whose init failed. */
int pp_walk_init(struct pp_walk *w, const struct pp_graph *g);
void pp_walk_release(struct pp_walk *w);
/* Charges `ns` that node `node` waited for what it needed: w->charge. 0, or -ENOMEM. The node has a need. */
int pp_walk_charge(struct pp_walk *w, uint32_t node, int64_t ns);
/* Splits a charge by reason: what its rank did before the node more than its peer. Sums up to its ns. */
void pp_walk_split(const struct pp_graph *g, const struct pp_charge *charge, int64_t ret_ns[PP_REASONS]);

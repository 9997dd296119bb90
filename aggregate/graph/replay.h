/* Runs the graph forward: every rank makes the same calls in the same order, with the measured work and transfer less what a
 * scenario saves, and waits anew. All scenarios run at once. In: a graph. Out: mean times of a step. One thread.
 *
 * The time of a step includes the time to the next one, where that is the one right after it; it is of the rank with most, of
 * those that have as many of the steps that count as any. Without savings the replay gives the measured times exactly. */
#pragma once

#include "aggregate/graph/graph.h"

enum { PP_REPLAY_MOST = 8 };

enum pp_network {
	PP_NETWORK_MEASURED,
	PP_NETWORK_IDEAL,     /* a call ends once what it needs is there; one of unknown needs takes as long as measured */
	PP_NETWORK_IDEAL_ALL, /* also a call of unknown needs ends at once: nothing can be shorter */
};

struct pp_scenario {                /* the caller's; NULL saves nothing */
	const uint8_t *chosen;      /* [workers] 1: its unusual work (usual.h) is saved */
	const uint32_t *work_us;    /* [nodes] saved of the local work before each */
	const int64_t *transfer_ns; /* [collectives] saved of the operation's transfer */
	const uint8_t *link;        /* [links] 1: its messages take as long as on usual links (link.h) */
	enum pp_network network;
	int64_t after_ns; /* result: mean time of a step */
	int64_t wait_ns;  /* result: waiting of all ranks that is saved, sum over the steps that count */
};

/* Fills after_ns and wait_ns of `scenarios` <= PP_REPLAY_MOST. The first replay of a graph sets its turns, which the others use
 * again. which: [steps] 1: a step that counts; NULL: all do. 0, or -ENOMEM. */
int pp_replay_run(struct pp_graph *g, const uint8_t *which, struct pp_scenario *scenario, size_t scenarios);
/* Mean time of a step that counts, as measured; 0: there is none. */
int64_t pp_replay_measured(const struct pp_dataset *d, const uint8_t *which);

/* The graph of operations: what each rank's calls needed of others. In: the rows of /collective of all hosts, also of a damaged
 * file. Out: nodes by track in order of time, with the node that decided when each of them ended. All answers about waiting read
 * it: walk.c goes back along it, replay.c runs it forward.
 *
 *   start = end of the node before it on its track + local work
 *   end   = the later of its own start and the start of what it needs last + transfer
 *
 * Of a kernel whose input was computed beside the kernel before it:
 *
 *   input = input of the kernel before it + local work          start = the later of its input and the end of the kernel before it
 *
 * A collective is one operation that its rows share, never pairs of ranks. One thread. Errors: 0 or -errno. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "core/base/wrap.h"

#define PP_GRAPH_NONE UINT32_MAX
enum { PP_GRAPH_AHEAD = 16 }; /* rows: as long as memory takes */

enum pp_node_flags {
	PP_NODE_UNKNOWN = 1,    /* a call that waits for ranks that no record names: polls, Probe, one-sided */
	PP_NODE_LEARNED = 2,    /* its need follows from other operations of its kind; see learn.h */
	PP_NODE_INFERRED = 4,   /* its need is the rank with most work of the step; see infer.h */
	PP_NODE_POLLS = 8,      /* it begins with polls without a result */
	PP_NODE_BESIDE = 16,    /* a kernel whose input was computed beside the kernel before it */
	PP_NODE_LINK = 32,      /* a message on a slow link decided its end: it is in pp_graph.slow */
	PP_NODE_POSTS = 64,     /* it begins the operations of its rows */
	PP_NODE_ENDS = 128,     /* it completes them */
	PP_NODE_DEVICE = 256,   /* a kernel */
	PP_NODE_LONE = 512,     /* a call without rows: `row` is of /lone_call */
	PP_NODE_SEVERAL = 1024, /* it has several rows */
	PP_NODE_NEEDED = 2048,  /* a replay asks when it starts */
};

enum { PP_GRAPH_TRACK_BITS = 20 };

struct pp_node { /* a call of a rank; of a nonblocking operation one for its begin, and one for the call that completes it */
	int64_t start, end;                        /* job ns */
	double unusual;                            /* part of its local work that other ranks do not have, 0 to 1; see usual.h */
	uint32_t track : PP_GRAPH_TRACK_BITS;      /* index of the worker */
	uint32_t flags : 32 - PP_GRAPH_TRACK_BITS; /* enum pp_node_flags */
	uint32_t need; /* the node whose start its end needed last; NONE: none that was later than its own start */
	uint32_t row;  /* see pp_graph_rows() */
	uint32_t cell; /* outside of steps that of the step before on its track; NONE: there is none. See pp_graph_step() */
};

struct pp_cell {          /* what ranks do alike: the n-th call of its kind in a step */
	uint32_t first;   /* in pp_graph.by_cell; it ends where the next cell begins */
	uint32_t step;    /* index */
	uint32_t segment; /* equal in all steps */
	uint32_t peer;    /* node of the rank with the median work; NONE: there is no other rank */
};

enum pp_graph_kind {
	PP_GRAPH_UNCLEAR, /* no need is known: its rows do not belong together, or no clock joins them */
	PP_GRAPH_JOIN,    /* each rank needs all the others */
	PP_GRAPH_BY_ROW,  /* pp_needs_of() has what each needs */
};

enum pp_link_state { PP_LINK_UNKNOWN, PP_LINK_ALONE, PP_LINK_USUAL, PP_LINK_SLOW }; /* as in /channel */

struct pp_link {                      /* from one rank to another; see link.h */
	uint32_t source, destination; /* indices of workers */
	uint8_t between_hosts;        /* 1: of two hosts */
	uint8_t state;                /* enum pp_link_state */
	int64_t error_ns;             /* largest clock error of its messages */
	uint64_t seen;                /* messages whose time is known */
	int64_t time_ns, usual_ns;    /* of the size with most of these: median, and that of the other links; -1: unknown */
	uint64_t bytes;               /* mean size of these */
	int64_t latency_ns;           /* -1: unknown */
	double bandwidth;             /* byte/s; -1: unknown */
};

struct pp_slow_message { /* it would have ended so much earlier on a usual link */
	uint32_t node, link;
	int64_t ns;
};

struct pp_turn { /* of an operation, or of a node; see replay.c */
	uint32_t of;
	uint8_t what;
};

struct pp_graph {
	const struct pp_dataset *d;
	uint32_t *operation;   /* [arrivals]: index of its row in d->collective; NONE: of no operation, or of a rank without row */
	uint32_t *post, *done; /* [arrivals]: node that begins it, node that completes it (NONE: not seen); equal where it blocks */
	uint32_t *step;        /* [collectives]: index; NONE: outside of steps */
	uint8_t *kind;         /* [collectives] enum pp_graph_kind */
	struct pp_node *node;  /* by track, then in order of start */
	size_t nodes;
	size_t *track;     /* [workers + 1]: first node of each */
	uint32_t *of_node; /* of the nodes that have several rows: how many, then these */
	size_t of_nodes, of_room;
	struct pp_cell *cell; /* [cells + 1] by step, then segment; NULL before pp_usual_find() */
	size_t cells;
	uint32_t *by_cell;    /* nodes inside steps, by cell, then track */
	struct pp_link *link; /* links that had messages, before pp_links_find() none */
	size_t links;
	struct pp_slow_message *slow; /* by node */
	size_t slows;
	struct pp_turn *turn; /* in which replays take them; NULL before the first one */
	size_t turns;
	double sure;          /* of the inferred needs: the part of the waiting that they explain, 0 to 1; 0: there are none */
	uint64_t not_learned; /* operations with too many ranks for learn.h */
	uint64_t dropped;     /* needs that began after the end of what needed them: clocks or records are wrong */
};

/* Made by make.h; also of a zeroed one, and of one whose making failed. */
void pp_graph_release(struct pp_graph *g);

/* An operation whose kernel is known waits on the device: its node is the kernel. */
static inline int pp_graph_on_device(const struct pp_row_arrival *row)
{
	return row->device_end_ns > row->device_begin_ns;
}

/* When a rank takes part in an operation, job ns. */
static inline int64_t pp_graph_begin(const struct pp_row_arrival *row)
{
	return pp_graph_on_device(row) ? row->device_begin_ns : row->arrival_ns;
}

/* Node before it on its track; NONE: it is the first. */
static inline uint32_t pp_graph_before(const struct pp_graph *g, uint32_t node)
{
	return node > g->track[g->node[node].track] ? node - 1 : PP_GRAPH_NONE;
}

/* The node's peer, as of its cell. */
static inline uint32_t pp_graph_peer(const struct pp_graph *g, const struct pp_node *n)
{
	return n->cell == PP_GRAPH_NONE || !g->cell ? PP_GRAPH_NONE : g->cell[n->cell].peer;
}

/* When its rank was through with what stood before it; the begin of the window for the first node of a track. */
static inline int64_t pp_graph_ready(const struct pp_graph *g, uint32_t node)
{
	const uint32_t before = pp_graph_before(g, node);
	const int64_t begin = before == PP_GRAPH_NONE ? g->d->window_begin_ns : g->node[before].end;

	return begin < g->node[node].start ? begin : g->node[node].start;
}

/* Rows of a node, and how many: none of a lone call. */
static inline const uint32_t *pp_graph_rows(const struct pp_graph *g, const struct pp_node *n)
{
	return n->flags & PP_NODE_SEVERAL ? &g->of_node[n->row + 1] : &n->row;
}

static inline uint32_t pp_graph_row_count(const struct pp_graph *g, const struct pp_node *n)
{
	return n->flags & PP_NODE_SEVERAL ? g->of_node[n->row] : !(n->flags & PP_NODE_LONE);
}

/* Index of a node's step; NONE: it has none. */
static inline uint32_t pp_graph_step(const struct pp_graph *g, const struct pp_node *n)
{
	return n->cell == PP_GRAPH_NONE || !g->cell ? n->cell : g->cell[n->cell].step; /* before there are cells: the step itself */
}

/* Brings a row's node near, and the one before it: the ranks of an operation lie on as many tracks, far from each other. */
static inline void pp_graph_fetch(const struct pp_graph *g, uint64_t row)
{
	const uint32_t node = row < g->d->arrivals ? g->done[row] : PP_GRAPH_NONE;

	if (node == PP_GRAPH_NONE)
		return;
	__builtin_prefetch(&g->node[node]);
	__builtin_prefetch(&g->node[node ? node - 1 : 0]);
}

/* From one time to a later one, ns; 0 where it is no later, or where the times are damaged. */
static inline int64_t pp_graph_since(int64_t from, int64_t to)
{
	const int64_t ns = pp_wrap_minus(to, from);

	return ns > 0 ? ns : 0;
}

/* When what a kernel works on had been computed; where that is unknown: its start. */
static inline int64_t pp_graph_input(const struct pp_graph *g, uint32_t node)
{
	const struct pp_node *n = &g->node[node];

	return n->flags & PP_NODE_LONE ? n->start : pp_wrap_minus(n->start, g->d->arrival[*pp_graph_rows(g, n)].device_input_ns);
}

/* Local work before it, ns. */
static inline int64_t pp_graph_local(const struct pp_graph *g, uint32_t node)
{
	if (g->node[node].flags & PP_NODE_BESIDE)
		return pp_graph_since(pp_graph_input(g, node - 1), pp_graph_input(g, node));
	return pp_graph_since(pp_graph_ready(g, node), g->node[node].start);
}

/* How long the call waited for what it needs, ns. */
static inline int64_t pp_graph_wait(const struct pp_graph *g, uint32_t node)
{
	const struct pp_node *n = &g->node[node];

	return n->need == PP_GRAPH_NONE ? 0 : pp_graph_since(n->start, g->node[n->need].start);
}

/* How long messages took on each link. In: a graph. Out: the links that had messages, their times by size. One thread.
 *
 * A message takes its time from the send, or, where it moves only when both ends are inside MPI, from then on. That is so for
 * messages of a size if no send was over before the receiver came, and if these times vary less. In the first case it is the link's
 * time only if it was *seen*: for at least half of it the receiver was inside MPI, and the sender did not come back into MPI
 * after a time outside. Of messages that one call completed at one time, the one that decided it counts: it ends least after the
 * shortest time that its link and size ever took. */
#pragma once

#include "aggregate/graph/graph.h"
#include "core/base/map.h"

enum { PP_LINK_SAMPLES = 32 };

enum pp_link_begin { PP_LINK_FROM_SEND, PP_LINK_FROM_BOTH, PP_LINK_BEGINS };

struct pp_link_size {        /* messages of a link whose sizes have equally many bits */
	uint32_t link, next; /* next: index + 1 of the link's next one */
	uint32_t class;      /* bits of the size */
	uint32_t samples, room;
	uint64_t late, left;  /* messages whose receiver came well after the send; those whose sender had left by then */
	uint64_t seen, bytes; /* messages seen, and their bytes */
	int64_t least_ns[PP_LINK_BEGINS]; /* of all messages: none took less */
	int64_t *sample;                  /* of those seen, at most PP_LINK_SAMPLES */
	enum pp_link_begin begin;
	int64_t time_ns;  /* median of the samples; -1: there is none */
	int64_t usual_ns; /* set by link_usual.h; -1: there is no other link of the kind */
};

struct pp_link_times {
	struct pp_graph *g; /* its links: with source, destination, between_hosts, error_ns */
	struct pp_map map;
	size_t room;
	uint32_t *first; /* [links] index + 1 of the link's first size */
	size_t first_room;
	struct pp_link_size *size;
	size_t sizes, size_room;
	struct pp_link_end *end; /* of the node at hand */
	uint64_t *received;      /* [links] the last node, as nodes counts them, that received a message of it */
	uint64_t nodes;          /* that were asked for */
	size_t ends, end_room;
	int with_both; /* some begin when both ends are inside MPI; else no send decides anything */
};

struct pp_link_end { /* a message that a node completes */
	uint32_t link, size;
	int is_send, is_seen;
	int64_t end_ns;           /* on this rank */
	int64_t from_ns, over_ns; /* begin of its time; how long it ended after the earliest possible time */
	uint64_t bytes;
};

/* Fills the graph's links and their times. pp_link_times_release() frees all but the links, also after a failure. 0, or -ENOMEM. */
int pp_link_times_init(struct pp_link_times *t, struct pp_graph *g);
void pp_link_times_release(struct pp_link_times *t);
/* Fills t->end with the messages that the node completes, by end, then by over_ns. 0, or -ENOMEM. */
int pp_link_times_ends(struct pp_link_times *t, uint32_t node);
/* How many of t->end have the end of the one at `first`: of these the first decided it, if its over_ns is less than the next's. */
size_t pp_link_times_run(const struct pp_link_times *t, size_t first);
/* The link from one worker to another; PP_GRAPH_NONE: it had no message. */
uint32_t pp_link_times_find(struct pp_link_times *t, uint32_t source, uint32_t destination);

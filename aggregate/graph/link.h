/* Links between ranks: how long messages take on each, and which are slower than the usual ones of their kind. The times:
 * link_time.h; the comparison: link_usual.h. In: a graph. Out: pp_graph.link and slow; /channel. One thread. */
#pragma once

#include "aggregate/graph/graph.h"

/* Sets the graph's links and slow messages. Cost grows with the messages, memory with the pairs of ranks that talk, and with the
 * messages on slow links. 0, or -ENOMEM. */
int pp_links_find(struct pp_graph *g);
/* Fills the columns of /channel that the graph knows. `d` is the graph's. */
void pp_links_write(const struct pp_graph *g, struct pp_dataset *d);

struct pp_link_choice {
	size_t slow;    /* how many of the chosen links are slow */
	uint32_t worst; /* index of one of them */
	uint32_t port;  /* a worker on the host whose port they use; PP_GRAPH_NONE: they have two hosts */
};

/* Links between the same two hosts, or on one host between the same two ranks, whose slow messages together took most time more
 * than usual; if one of the two hosts has slow links to several others, all of that host: its port. Sets them in `chosen`
 * [links], which is zero. 0, or -ENOMEM. Needs a slow message. */
int pp_links_worst(const struct pp_graph *g, uint8_t *chosen, struct pp_link_choice *ret);
/* The slow message that decided the node's end; NULL: none did. */
const struct pp_slow_message *pp_links_slow(const struct pp_graph *g, uint32_t node);
/* What the node's end would be earlier if the links in `chosen` [links] were usual ones, ns. */
int64_t pp_links_saved(const struct pp_graph *g, const uint8_t *chosen, uint32_t node);

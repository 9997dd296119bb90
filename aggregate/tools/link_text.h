/* Slow links in words. In: the graph, and links that pp_links_worst() chose. Out: text for one line. Called by finding.c and
 * what_if.c. */
#pragma once

#include "aggregate/graph/graph.h"

enum { PP_LINK_TEXT = 96 };

/* A worker on the host whose links to several hosts are chosen; PP_GRAPH_NONE: they are between the same two. */
uint32_t pp_link_port(const struct pp_graph *g, const uint8_t *chosen);
/* "link from rank 1 (host a) to rank 2 (host b)", "the 2 slow links between hosts a and b", "the 3 slow links of host a".
 * worst: index of one; slow: how many of the chosen are. Returns `text`. */
const char *pp_link_text(const struct pp_graph *g, const uint8_t *chosen, size_t worst, size_t slow, char text[PP_LINK_TEXT]);

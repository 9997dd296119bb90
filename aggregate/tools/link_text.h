/* Slow links in words. In: the graph, and links that pp_links_worst() chose. Out: text for one line. Called by finding.c and
 * what_if.c. */
#pragma once

#include "aggregate/graph/link.h"

enum { PP_LINK_TEXT = 96 };

/* "link from rank 1 (host a) to rank 2 (host b)", "the 2 slow links between hosts a and b", "the 3 slow links of host a".
 * Returns `text`. */
const char *pp_link_text(const struct pp_graph *g, const struct pp_link_choice *links, char text[PP_LINK_TEXT]);

/* Slow links in words; see link_text.h. */
#include "aggregate/tools/link_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/utf8.h"

enum { HOST_BYTES = 24 };

static const char *host_of(const struct pp_graph *g, uint32_t worker)
{
	return g->d->worker[worker].host;
}

const char *pp_link_text(const struct pp_graph *g, const struct pp_link_choice *links, char text[PP_LINK_TEXT])
{
	const struct pp_link *l = &g->link[links->worst];
	const int32_t from = g->d->worker[l->source].rank, to = g->d->worker[l->destination].rank;
	const char *a = host_of(g, l->source), *b = host_of(g, l->destination);
	const int a_bytes = pp_utf8_fit(a, HOST_BYTES), b_bytes = pp_utf8_fit(b, HOST_BYTES);
	const size_t slow = links->slow;

	if (links->port != PP_GRAPH_NONE)
		snprintf(text, PP_LINK_TEXT, "the %zu slow links of host %.*s", slow,
		         pp_utf8_fit(host_of(g, links->port), HOST_BYTES), host_of(g, links->port));
	else if (slow > 1 && l->between_hosts)
		snprintf(text, PP_LINK_TEXT, "the %zu slow links between hosts %.*s and %.*s", slow, a_bytes, a, b_bytes, b);
	else if (l->between_hosts)
		snprintf(text, PP_LINK_TEXT, "link from rank %" PRId32 " (host %.*s) to rank %" PRId32 " (host %.*s)", from,
		         a_bytes, a, to, b_bytes, b);
	else
		snprintf(text, PP_LINK_TEXT, "link %s rank %" PRId32 " %s rank %" PRId32, slow > 1 ? "between" : "from", from,
		         slow > 1 ? "and" : "to", to);
	return text;
}

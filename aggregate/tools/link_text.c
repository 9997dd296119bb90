/* Slow links in words; see link_text.h. */
#include "aggregate/tools/link_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

enum { HOST_BYTES = 24 };

static const char *host_of(const struct pp_graph *g, uint32_t worker)
{
	return g->d->worker[worker].host;
}

static int has_end(const struct pp_graph *g, const struct pp_link *l, uint32_t worker)
{
	return !strcmp(host_of(g, l->source), host_of(g, worker)) || !strcmp(host_of(g, l->destination), host_of(g, worker));
}

static int all_have(const struct pp_graph *g, const uint8_t *chosen, uint32_t worker)
{
	for (size_t i = 0; i < g->links; i++)
		if (chosen[i] && !has_end(g, &g->link[i], worker))
			return 0;
	return 1;
}

uint32_t pp_link_port(const struct pp_graph *g, const uint8_t *chosen)
{
	const struct pp_link *first = NULL;

	for (size_t i = 0; i < g->links && !first; i++)
		first = chosen[i] ? &g->link[i] : NULL;
	if (!first || !first->between_hosts || (all_have(g, chosen, first->source) && all_have(g, chosen, first->destination)))
		return PP_GRAPH_NONE;
	if (all_have(g, chosen, first->source))
		return first->source;
	return all_have(g, chosen, first->destination) ? first->destination : PP_GRAPH_NONE;
}

const char *pp_link_text(const struct pp_graph *g, const uint8_t *chosen, size_t worst, size_t slow, char text[PP_LINK_TEXT])
{
	const struct pp_link *l = &g->link[worst];
	const int32_t from = g->d->worker[l->source].rank, to = g->d->worker[l->destination].rank;
	const char *a = host_of(g, l->source), *b = host_of(g, l->destination);
	const int a_bytes = pp_utf8_fit(a, HOST_BYTES), b_bytes = pp_utf8_fit(b, HOST_BYTES);
	const uint32_t port = pp_link_port(g, chosen);

	if (port != PP_GRAPH_NONE)
		snprintf(text, PP_LINK_TEXT, "the %zu slow links of host %.*s", slow, pp_utf8_fit(host_of(g, port), HOST_BYTES),
		         host_of(g, port));
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

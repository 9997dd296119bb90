/* Links and their slow messages; see link.h. Called by whole.c, replay.c and the tools. */
#include "aggregate/graph/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/graph/link_usual.h"
#include "core/base/grow.h"
#include "core/base/known.h"
#include "core/base/partition.h"

enum { LOST = 2, TIMES = 2, QUARTER = 4 };

struct duel { /* in calls that complete several messages at one time, one of them on a slow link */
	uint64_t won, lost;
};

static int is_slow(const struct pp_graph *g, uint32_t link)
{
	return g->link[link].state == PP_LINK_SLOW;
}

static void count_duels(const struct pp_link_times *t, size_t first, size_t run, struct duel *duel)
{
	const struct pp_link_end *e = &t->end[first];

	for (size_t i = 1; i < run; i++) {
		if (e[i].link == e->link || e[i].is_send || (!is_slow(t->g, e->link) && !is_slow(t->g, e[i].link)))
			continue;
		duel[e->link].won++;
		duel[e[i].link].lost++;
	}
}

/* A link whose messages are late only together with those of a slow link is none itself: its own time is not known. */
static int drop_followers(struct pp_link_times *t)
{
	struct pp_graph *g = t->g;
	struct duel *duel = calloc(g->links + 1, sizeof(*duel));
	int rc = duel ? 0 : -ENOMEM;

	for (uint32_t n = 0; n < g->nodes && !rc; n++) {
		rc = pp_link_times_ends(t, n);
		for (size_t i = 0, run; i < t->ends && !rc; i += run) {
			run = pp_link_times_run(t, i);
			count_duels(t, i, run, duel);
		}
	}
	for (size_t i = 0; i < g->links && !rc; i++) {
		struct pp_link *l = &g->link[i];

		if (l->usual_ns >= 0 && l->time_ns > TIMES * l->usual_ns && duel[i].lost > LOST * duel[i].won) {
			l->state = PP_LINK_UNKNOWN;
			l->time_ns = l->usual_ns = l->latency_ns = -1;
			l->bandwidth = -1;
			l->seen = l->bytes = 0;
		}
	}
	free(duel);
	return rc;
}

/* When another message of the node was there at the latest: its link is a usual one, unless it is slow. */
static int64_t other_end(const struct pp_link_times *t, const struct pp_link_end *other, int64_t usual_ns)
{
	const int64_t least = t->size[other->size].least_ns[t->size[other->size].begin];

	return pp_wrap_plus(other->from_ns, !is_slow(t->g, other->link) && usual_ns < least ? usual_ns : least);
}

/* When the node could have ended at the earliest if the message had been usual. */
static int64_t without(const struct pp_link_times *t, const struct pp_node *n, const struct pp_link_end *e)
{
	const struct pp_graph *g = t->g;
	const int64_t usual_ns = t->size[e->size].usual_ns;
	int64_t at = n->start, other = pp_wrap_plus(e->from_ns, usual_ns);

	at = other > at ? other : at;
	if (n->need != PP_GRAPH_NONE && g->node[n->need].start > at)
		at = g->node[n->need].start;
	for (size_t i = 0; i < t->ends; i++) {
		other = other_end(t, &t->end[i], usual_ns);
		if (&t->end[i] != e && !t->end[i].is_send && other > at)
			at = other;
	}
	return at;
}

/* A slow link, or its way back where the message took long: handshakes and acknowledgements go the slow way. */
static int is_delayed(struct pp_link_times *t, const struct pp_link_end *e)
{
	const struct pp_link *l = &t->g->link[e->link];
	const struct pp_link_size *s = &t->size[e->size];
	uint32_t back;

	if (s->time_ns < 0 || s->usual_ns < 0)
		return 0;
	if (is_slow(t->g, e->link))
		return 1;
	back = pp_link_times_find(t, l->destination, l->source);
	return back != PP_GRAPH_NONE && is_slow(t->g, back) && pp_graph_since(e->from_ns, e->end_ns) > TIMES * s->usual_ns;
}

/* Of the messages that ended last the one that decided it, or one on a slow link that nearly did; NULL: none is on a slow one. */
static const struct pp_link_end *slow_end(struct pp_link_times *t)
{
	size_t first = 0;

	for (size_t i = 0; i < t->ends; i += pp_link_times_run(t, i))
		first = i;
	for (size_t i = first; i < t->ends; i++) {
		const struct pp_link_end *e = &t->end[i];

		if (is_delayed(t, e))
			return i == first || e->over_ns <= pp_graph_since(e->from_ns, e->end_ns) / QUARTER ? e : NULL;
	}
	return NULL;
}

/* A message that was there when the node began decided nothing. A send counts if it ended with its receiver. */
/* NOLINTNEXTLINE(readability-non-const-parameter): PP_GROW() writes it */
static int add_slow(struct pp_link_times *t, uint32_t node, size_t *room)
{
	struct pp_graph *g = t->g;
	struct pp_node *n = &g->node[node];
	const struct pp_link_end *e = slow_end(t);
	const int64_t ns = e ? pp_graph_since(without(t, n, e), e->end_ns) : 0;

	if (ns <= 0 || (e->is_send && e->over_ns > ns / QUARTER))
		return 0;
	if (is_slow(g, e->link) && pp_wrap_plus(e->from_ns, t->size[e->size].time_ns) <= n->start)
		return 0;
	if (PP_GROW(g->slow, g->slows, *room))
		return -ENOMEM;
	g->slow[g->slows++] = (struct pp_slow_message){node, e->link, ns};
	n->flags |= PP_NODE_LINK;
	return 0;
}

static int list_slow(struct pp_link_times *t)
{
	size_t room = 0;
	int rc = 0;

	for (uint32_t n = 0; n < t->g->nodes && !rc; n++) {
		rc = pp_link_times_ends(t, n);
		if (!rc)
			rc = add_slow(t, n, &room);
	}
	return rc;
}

static int any_slow(const struct pp_graph *g)
{
	for (uint32_t i = 0; i < g->links; i++)
		if (is_slow(g, i))
			return 1;
	return 0;
}

int pp_links_find(struct pp_graph *g)
{
	struct pp_link_times t;
	int rc = pp_link_times_init(&t, g);

	if (!rc)
		rc = pp_link_usual_set(&t);
	if (!rc && any_slow(g))
		rc = drop_followers(&t);
	if (!rc && any_slow(g))
		rc = list_slow(&t);
	pp_link_times_release(&t);
	return rc;
}

const struct pp_slow_message *pp_links_slow(const struct pp_graph *g, uint32_t node)
{
	size_t at;

	if (!(g->node[node].flags & PP_NODE_LINK))
		return NULL;
	at = PP_PARTITION(g->slows, i, g->slow[i].node < node);
	return at < g->slows && g->slow[at].node == node ? &g->slow[at] : NULL;
}

int64_t pp_links_saved(const struct pp_graph *g, const uint8_t *chosen, uint32_t node)
{
	const struct pp_slow_message *m = pp_links_slow(g, node);

	return m && chosen[m->link] ? m->ns : 0;
}

struct pair {                   /* the two ends of a link, in order, whatever its direction */
	const char *low, *high; /* hosts; "" on one host */
	uint32_t first, second; /* workers; 0 between hosts */
	uint32_t link;
	int64_t ns;
};

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = strcmp(x->low, y->low);

	order = order ? order : strcmp(x->high, y->high);
	if (order)
		return order;
	return x->first != y->first ? (x->first < y->first ? -1 : 1) : (x->second > y->second) - (x->second < y->second);
}

static struct pair pair_of(const struct pp_graph *g, uint32_t link, int64_t ns)
{
	const struct pp_link *l = &g->link[link];
	const char *a = g->d->worker[l->source].host, *b = g->d->worker[l->destination].host;
	struct pair p = {"", "", 0, 0, link, ns};

	if (l->between_hosts) {
		p.low = strcmp(a, b) < 0 ? a : b;
		p.high = strcmp(a, b) < 0 ? b : a;
	} else {
		p.first = l->source < l->destination ? l->source : l->destination;
		p.second = l->source < l->destination ? l->destination : l->source;
	}
	return p;
}

/* The links that messages were slow on, with their time, by pair. `ns` [links] is room. */
static size_t list_pairs(const struct pp_graph *g, struct pair *pair, int64_t *ns)
{
	size_t n = 0;

	for (size_t i = 0; i < g->slows; i++)
		ns[g->slow[i].link] = pp_wrap_plus(ns[g->slow[i].link], g->slow[i].ns);
	for (uint32_t i = 0; i < g->links; i++)
		if (ns[i] > 0)
			pair[n++] = pair_of(g, i, ns[i]);
	if (n)
		qsort(pair, n, sizeof(*pair), by_pair);
	return n;
}

static int is_of(const struct pair *p, const char *host)
{
	return *host && (!strcmp(p->low, host) || !strcmp(p->high, host));
}

/* How many pairs of the host have a slow link, and what these cost. */
static size_t pairs_of(const struct pp_graph *g, const struct pair *pair, size_t n, const char *host, int64_t *ret_ns)
{
	size_t pairs = 0;

	*ret_ns = 0;
	for (size_t i = 0, next; i < n; i = next) {
		int slow = 0;

		for (next = i; next < n && !by_pair(&pair[i], &pair[next]); next++) {
			slow |= is_slow(g, pair[next].link);
			*ret_ns = pp_wrap_plus(*ret_ns, is_of(&pair[i], host) ? pair[next].ns : 0);
		}
		pairs += slow && is_of(&pair[i], host);
	}
	return pairs;
}

/* The host that all the slow links have in common, of the worst pair's two: its port, not one link. "": it is one link. */
static const char *port_of(const struct pp_graph *g, const struct pair *pair, size_t n, const struct pair *worst)
{
	int64_t low_ns, high_ns;
	const int low = pairs_of(g, pair, n, worst->low, &low_ns) > 1, high = pairs_of(g, pair, n, worst->high, &high_ns) > 1;

	if (low && (!high || low_ns >= high_ns))
		return worst->low;
	return high ? worst->high : "";
}

int pp_links_worst(const struct pp_graph *g, uint8_t *chosen, struct pp_link_choice *ret)
{
	struct pair *pair = malloc((g->links + 1) * sizeof(*pair));
	int64_t *ns = calloc(g->links + 1, sizeof(*ns)), most = -1;
	const size_t n = pair && ns ? list_pairs(g, pair, ns) : 0;
	const char *port;
	size_t worst = 0;
	int found = 0;

	for (size_t i = 0, next; i < n; i = next) {
		int64_t sum = 0;

		for (next = i; next < n && !by_pair(&pair[i], &pair[next]); next++)
			sum = pp_wrap_plus(sum, pair[next].ns);
		worst = sum > most ? i : worst;
		most = sum > most ? sum : most;
	}
	*ret = (struct pp_link_choice){.port = PP_GRAPH_NONE};
	port = n ? port_of(g, pair, n, &pair[worst]) : "";
	for (size_t i = 0; i < n; i++) {
		const uint32_t link = pair[i].link;
		const int slow = is_slow(g, link);

		if (by_pair(&pair[worst], &pair[i]) != 0 && !is_of(&pair[i], port))
			continue;
		chosen[link] = 1;
		ret->slow += (size_t)slow;
		if (!found || slow > is_slow(g, ret->worst) || (slow == is_slow(g, ret->worst) && ns[link] > ns[ret->worst]))
			ret->worst = link;
		found = 1;
	}
	if (found && *port)
		ret->port = strcmp(g->d->worker[g->link[ret->worst].source].host, port) != 0 ? g->link[ret->worst].destination
		                                                                             : g->link[ret->worst].source;
	free(pair);
	free(ns);
	return found ? 0 : -ENOMEM;
}

/* Of a link, below 0 is unknown. */
static int64_t known(int64_t ns)
{
	return ns < 0 ? PP_UNKNOWN : ns;
}

void pp_links_write(const struct pp_graph *g, struct pp_dataset *d)
{
	for (size_t i = 0; i < d->channels; i++) {
		struct pp_row_channel *c = &d->channel[i];

		c->link = PP_LINK_UNKNOWN;
		c->latency_ns = c->transfer_ns = c->usual_ns = PP_UNKNOWN;
		c->bandwidth = (double)NAN;
	}
	for (size_t i = 0; i < g->links; i++) {
		const struct pp_link *l = &g->link[i];
		struct pp_row_channel *c = pp_dataset_channel(d, d->worker[l->source].rank, d->worker[l->destination].rank);

		if (!c)
			continue;
		c->link = (int8_t)l->state;
		c->seen = l->seen;
		c->transfer_ns = known(l->time_ns);
		c->transfer_bytes = l->bytes;
		c->usual_ns = known(l->usual_ns);
		c->latency_ns = known(l->latency_ns);
		c->bandwidth = l->bandwidth < 0 ? (double)NAN : l->bandwidth;
		c->error_ns = l->error_ns;
	}
}

/* Learned needs; see learn.h. Called by whole.c. */
#include "aggregate/graph/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/map.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"

/* Pairs of ranks are kept of operations of so many ranks: a million pairs a kind. */
enum { MOST_RANKS = 1024, AT_ONCE = 10, CLEARLY = 20, ERROR_NS = 1000, LOCAL_NS = 100000 };
enum what { COMPLETED, POSTED, MATCH, SEND, RECEIVE }; /* which begin is meant */
enum pass { FIND, REFUTE, USE }; /* REFUTE: of collectives, only pairs that were found: most of P * P are not */

struct pair { /* ranks i and j in operations of one kind */
	uint64_t kind;
	uint32_t i, j;
	uint8_t late, refuted;
};

struct learn {
	struct pp_graph *g;
	struct pair *pair;
	size_t pairs, room;
	struct pp_map map;
	enum pass pass;
};

static uint64_t hash_pair(const void *row)
{
	const struct pair *p = row;

	return (p->kind * 31 + ((uint64_t)p->i << 32 | p->j)) * PP_MAP_MIX;
}

static int same_pair(const void *row, const void *key)
{
	const struct pair *a = row, *b = key;

	return a->kind == b->kind && a->i == b->i && a->j == b->j;
}

static uint64_t kind_of(const struct pp_row_collective *c, enum what what)
{
	uint64_t kind = c->communicator * PP_MAP_MIX + c->operation, bytes = c->bytes;
	unsigned class = 0;

	for (; bytes; bytes >>= 1)
		class ++;
	kind = kind * PP_MAP_MIX + (uint32_t)c->root;
	kind = kind * PP_MAP_MIX + (c->message ? (uint32_t)c->tag : 0);
	return (kind * PP_MAP_MIX + class) * 8 + (uint64_t)what;
}

/* The pair; in the first pass a new one where it is not known. NULL: it is not known, or there is no memory. */
static struct pair *pair_of(struct learn *l, uint64_t kind, const struct pp_node *i, const struct pp_node *j)
{
	const struct pair key = {.kind = kind, .i = i->track, .j = j->track};
	uint32_t *place;

	if (l->pass != FIND) {
		place = l->pairs ? pp_map_probe(&l->map, l->pair, sizeof(*l->pair), &key, hash_pair, same_pair) : NULL;
		return place && *place ? &l->pair[*place - 1] : NULL;
	}
	place = pp_map_place(&l->map, l->pair, l->pairs, sizeof(*l->pair), &key, hash_pair, same_pair);
	if (!place || (!*place && PP_GROW(l->pair, l->pairs, l->room)))
		return NULL;
	if (!*place) {
		l->pair[l->pairs] = key; /* may warn null-dereference: PP_GROW made room */
		*place = (uint32_t)++l->pairs;
	}
	return &l->pair[*place - 1];
}

/* How much later than all else that i needs did j begin? *ret_rest: how long i lasts from then on. */
static int64_t after_known(const struct pp_graph *g, const struct pp_node *i, const struct pp_node *j, int64_t *ret_rest)
{
	const int64_t known = i->need == PP_GRAPH_NONE ? i->start : g->node[i->need].start;
	const int64_t from = known > i->start ? known : i->start;

	*ret_rest = pp_graph_since(from, i->end);
	return pp_graph_since(from, j->start);
}

/* Node `end` may need node `begin`, one of `others` that it may. */
static int try_pair(struct learn *l, const struct pp_row_collective *c, enum what what, uint32_t end, uint32_t begin,
                    uint32_t others, int64_t error)
{
	struct pp_node *i = &l->g->node[end];
	const struct pp_node *j = &l->g->node[begin];
	const int64_t delay = pp_graph_since(i->start, j->start);
	const int refutes = pp_wrap_plus(pp_wrap_plus(i->end, error), delay / CLEARLY) < j->start;
	int64_t rest, more = after_known(l->g, i, j, &rest);
	struct pair *p;

	if (!more || i->track == j->track)
		return 0;
	if (l->pass == FIND) { /* a begin within the transfer says nothing */
		if (refutes ? others > 1 : more / AT_ONCE <= error || more <= rest / 2)
			return 0;
		p = pair_of(l, kind_of(c, what), i, j);
		if (!p)
			return -ENOMEM;
		p->refuted |= refutes;
		p->late |= !refutes;
		return 0;
	}
	/* among several, one is easily found by chance */
	if (l->pass == REFUTE ? !refutes : j->start > i->end || (others > 1 && more < LOCAL_NS))
		return 0;
	p = pair_of(l, kind_of(c, what), i, j);
	if (l->pass == REFUTE && p)
		p->refuted = 1;
	if (l->pass == REFUTE)
		return 0;
	if ((p && p->late && !p->refuted) ||
	    pp_graph_since(j->start, i->end) < pp_graph_since(i->start, i->end) / AT_ONCE / others) {
		i->need = begin;
		i->flags |= PP_NODE_LEARNED;
	}
	return 0;
}

/* Where the rank of node `near` that computes at `time` comes back into MPI. NONE: it is inside, or does not come back. */
static uint32_t entry(const struct pp_graph *g, uint32_t near, int64_t time)
{
	const size_t first = g->track[g->node[near].track], end = g->track[g->node[near].track + 1];
	size_t low = near, high = near, at;

	for (size_t by = 1; low > first && g->node[low - 1].start >= time; by *= 2)
		low -= by < low - first ? by : low - first;
	for (size_t by = 1; high < end && g->node[high].start < time; by *= 2)
		high += by < end - high ? by : end - high;
	at = low + PP_PARTITION(high - low, k, g->node[low + k].start < time);
	if (at == end || (at > first && g->node[at - 1].end > time) || pp_graph_local(g, (uint32_t)at) < LOCAL_NS)
		return PP_GRAPH_NONE;
	return (uint32_t)at;
}

static int try_entry(struct learn *l, const struct pp_row_collective *c, enum what what, uint32_t end, uint32_t near, int64_t since,
                     int64_t error)
{
	const int64_t start = l->g->node[end].start;
	const uint32_t begin = entry(l->g, near, start > since ? start : since);

	return begin == PP_GRAPH_NONE ? 0 : try_pair(l, c, what, end, begin, 1, error);
}

/* Progress of a message may need the other end: its post, or that its rank comes back into MPI. */
static int learn_message(struct learn *l, const struct pp_row_collective *c, int64_t error)
{
	const struct pp_graph *g = l->g;
	const uint32_t first = (uint32_t)c->row_first, send = g->d->arrival[first].is_root ? first : first + 1;
	const uint32_t receive = send == first ? first + 1 : first;
	int rc = 0;

	if (g->d->arrival[receive].is_root || g->post[send] == PP_GRAPH_NONE || g->post[receive] == PP_GRAPH_NONE)
		return 0;
	if (g->done[send] != PP_GRAPH_NONE && g->done[send] != g->post[send])
		rc = try_pair(l, c, MATCH, g->done[send], g->post[receive], 1, error);
	if (!rc && g->done[send] != PP_GRAPH_NONE) /* a blocking send too: its buffer may be free only when the other end looks */
		rc = try_entry(l, c, SEND, g->done[send], g->post[receive], INT64_MIN, error);
	if (!rc && g->done[receive] != PP_GRAPH_NONE)
		rc = try_entry(l, c, RECEIVE, g->done[receive], g->post[send], g->node[g->post[send]].start, error);
	return rc;
}

/* Is all that the call needs known by its kind? Then nothing is to be learned. */
static int is_known(const struct pp_graph *g, uint32_t operation)
{
	const struct pp_row_collective *c = &g->d->collective[operation];
	const struct pp_mpi_call *info = pp_mpi_call_info(c->operation);

	if (g->kind[operation] == PP_GRAPH_JOIN)
		return !info->nonblocking;
	for (uint32_t k = 0; k < c->row_count; k++)
		if (g->d->arrival[c->row_first + k].side)
			return 0;
	return (info->class == PP_MPI_ALL || info->class == PP_MPI_NEAR) && !info->nonblocking;
}

/* XLA and backends of torch.distributed execute on threads of their own or on devices, whatever the program does: only the begin of
 * the call is needed. */
static int goes_on_alone(const struct pp_mpi_call *info)
{
	return !strncmp(info->name, "xla::", strlen("xla::")) || !strncmp(info->name, "c10d::", strlen("c10d::"));
}

static int learn_collective(struct learn *l, uint32_t operation, int64_t error)
{
	const struct pp_graph *g = l->g;
	const struct pp_row_collective *c = &g->d->collective[operation];
	const struct pp_mpi_call *info = pp_mpi_call_info(c->operation);
	const int nonblocking = info->nonblocking && !goes_on_alone(info);
	int rc = 0;

	if (is_known(g, operation))
		return 0;
	if (c->row_count > MOST_RANKS) {
		l->g->not_learned += l->pass == FIND;
		return 0;
	}
	for (uint64_t i = c->row_first; i < c->row_first + c->row_count && !rc; i++)
		for (uint64_t j = c->row_first; j < c->row_first + c->row_count && !rc; j++) {
			if (i == j || g->done[i] == PP_GRAPH_NONE || g->post[j] == PP_GRAPH_NONE)
				continue;
			rc = try_pair(l, c, POSTED, g->done[i], g->post[j], c->row_count - 1, error);
			if (!rc && nonblocking && g->done[j] != PP_GRAPH_NONE)
				rc = try_pair(l, c, COMPLETED, g->done[i], g->done[j], c->row_count - 1, error);
		}
	return rc;
}

static int learn_all(struct learn *l)
{
	const struct pp_graph *g = l->g;
	int rc = 0;

	for (size_t o = 0; o < g->d->collectives && !rc; o++) {
		const struct pp_row_collective *c = &g->d->collective[o];
		int64_t error;

		if (c->bound_ns < 0 || c->bound_ns >= INT64_MAX - ERROR_NS || c->row_first > g->d->arrivals || !c->row_count ||
		    c->row_count > g->d->arrivals - c->row_first || g->operation[c->row_first] != o ||
		    g->operation[c->row_first + c->row_count - 1] != o)
			continue;
		error = c->bound_ns + ERROR_NS;
		if (c->message)
			rc = c->row_count == 2 && !c->mismatch && l->pass != REFUTE ? learn_message(l, c, error) : 0;
		else
			rc = learn_collective(l, (uint32_t)o, error);
	}
	return rc;
}

int pp_learn_needs(struct pp_graph *g)
{
	struct learn l = {.g = g};
	int rc = learn_all(&l);

	while (!rc && l.pass != USE) {
		l.pass = l.pairs && l.pass == FIND ? REFUTE : USE;
		rc = learn_all(&l);
	}
	free(l.pair);
	free(l.map.place);
	return rc;
}

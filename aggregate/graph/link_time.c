/* Times of messages by link and size; see link_time.h. Called by link.c. */
#include "aggregate/graph/link_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/base/select.h"

enum { HALF = 2, QUARTER = 4, MOST_CALLS = 64, FIRST_ROOM = 4, KINDS = 2, CLASSES = 65, FEW = 20 };

struct message {
	uint32_t send, receive;  /* rows */
	uint32_t source, target; /* nodes: of the send, and the one that completes the receive */
	int64_t from_ns[PP_LINK_BEGINS], end_ns;
};

static uint64_t hash_link(const void *row)
{
	const struct pp_link *l = row;

	return ((uint64_t)l->source << 32 | l->destination) * PP_MAP_MIX;
}

static int same_link(const void *row, const void *key)
{
	const struct pp_link *a = row, *b = key;

	return a->source == b->source && a->destination == b->destination;
}

/* Begins: the send, and when both ends were inside MPI. A sender whose send is not over is back when it comes into MPI after a time
 * outside that is long against the message's. */
static void set_begins(const struct pp_graph *g, struct message *m)
{
	const size_t last = g->track[g->node[m->source].track + 1];
	const int64_t send = g->node[m->source].start, least = pp_graph_since(send, m->end_ns) / QUARTER;
	const struct pp_row_arrival *row = &g->d->arrival[m->send];
	const int64_t until = !row->exit_open && row->exit_ns < m->end_ns ? row->exit_ns : m->end_ns;
	int64_t both = g->node[m->target].start > send ? g->node[m->target].start : send;

	for (size_t n = (size_t)m->source + 1, k = 0; n < last && g->node[n].start <= until && k < MOST_CALLS; n++, k++)
		if (g->node[n].start > both && pp_graph_local(g, (uint32_t)n) > least)
			both = g->node[n].start;
	m->from_ns[PP_LINK_FROM_SEND] = send;
	m->from_ns[PP_LINK_FROM_BOTH] = both;
}

static int64_t time_of(const struct message *m, enum pp_link_begin begin)
{
	return pp_graph_since(m->from_ns[begin], m->end_ns);
}

/* Was at least 1 / `part` of the time from the send to the end also a time from both? */
static int is_seen(const struct message *m, int part)
{
	return time_of(m, PP_LINK_FROM_SEND) > 0 && time_of(m, PP_LINK_FROM_BOTH) >= time_of(m, PP_LINK_FROM_SEND) / part;
}

/* Returns 0 where the operation is no message whose two ends are known on clocks that are compared. */
static int message_of(const struct pp_graph *g, uint32_t operation, struct message *m)
{
	const struct pp_row_collective *c = &g->d->collective[operation];
	const uint32_t first = (uint32_t)c->row_first;
	const struct pp_row_arrival *row;

	if (!c->message || g->kind[operation] == PP_GRAPH_UNCLEAR || g->operation[first] != operation ||
	    g->operation[first + 1] != operation)
		return 0;
	row = &g->d->arrival[first];
	m->send = row[0].is_root ? first : first + 1;
	m->receive = row[0].is_root ? first + 1 : first;
	m->source = g->post[m->send];
	m->target = g->done[m->receive];
	row = &g->d->arrival[m->receive];
	if (m->source == PP_GRAPH_NONE || m->target == PP_GRAPH_NONE || row->exit_open || pp_graph_on_device(row) ||
	    pp_graph_on_device(&g->d->arrival[m->send]) || g->node[m->source].track == g->node[m->target].track)
		return 0;
	m->end_ns = row->exit_ns;
	set_begins(g, m);
	return 1;
}

static uint32_t class_of(uint64_t bytes)
{
	return bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0;
}

uint32_t pp_link_times_find(struct pp_link_times *t, uint32_t source, uint32_t destination)
{
	const struct pp_link key = {.source = source, .destination = destination};
	const uint32_t *place = t->map.places ? pp_map_probe(&t->map, t->g->link, sizeof(key), &key, hash_link, same_link) : NULL;

	return place && *place ? *place - 1 : PP_GRAPH_NONE;
}

static uint32_t find_size(const struct pp_link_times *t, uint32_t link, uint32_t class)
{
	uint32_t at = link == PP_GRAPH_NONE ? 0 : t->first[link];

	while (at && t->size[at - 1].class != class)
		at = t->size[at - 1].next;
	return at ? at - 1 : PP_GRAPH_NONE;
}

static int add_link(struct pp_link_times *t, const struct message *m, uint32_t *ret_link)
{
	struct pp_graph *g = t->g;
	struct pp_link key = {.source = g->node[m->source].track, .destination = g->node[m->target].track};
	uint32_t *place = pp_map_place(&t->map, g->link, g->links, sizeof(key), &key, hash_link, same_link);

	if (!place)
		return -ENOMEM;
	if (!*place) {
		if (PP_GROW(g->link, g->links, t->room) || PP_GROW(t->first, g->links, t->first_room))
			return -ENOMEM;
		key.between_hosts = strcmp(g->d->worker[key.source].host, g->d->worker[key.destination].host) != 0;
		t->first[g->links] = 0;
		g->link[g->links] = key;
		*place = (uint32_t)++g->links;
	}
	*ret_link = *place - 1;
	return 0;
}

/* A number below `limit`, which no pattern in the order of messages follows. */
static uint64_t any_below(uint64_t limit, uint64_t n)
{
	n = (n ^ n >> 31) * PP_MAP_MIX;
	n = (n ^ n >> 29) * PP_MAP_MIX;
	return (n >> 32) % limit;
}

/* Keeps some of the samples, each with the same chance. Of `values` numbers each. */
static int keep_sample(struct pp_link_size *s, const int64_t *ns, uint32_t values)
{
	uint64_t at = s->seen++;

	if (at >= PP_LINK_SAMPLES)
		at = any_below(at + 1, at);
	if (at >= PP_LINK_SAMPLES)
		return 0;
	if (at * values >= s->room) {
		const uint32_t room = s->room ? 2 * s->room : FIRST_ROOM;

		if (PP_RESIZE(s->sample, room))
			return -ENOMEM;
		s->room = room;
	}
	memcpy(s->sample + at * values, ns, values * sizeof(*ns));
	s->samples += at == s->samples;
	return 0;
}

static void note_late(const struct pp_graph *g, const struct pp_row_collective *c, const struct message *m, struct pp_link_size *s)
{
	const int64_t come = g->node[m->target].start, after = pp_graph_since(m->from_ns[PP_LINK_FROM_SEND], come);
	const struct pp_row_arrival *send = &g->d->arrival[m->send];

	if (after <= c->bound_ns || after <= time_of(m, PP_LINK_FROM_SEND) / QUARTER)
		return;
	s->late++;
	s->left += !send->exit_open && pp_graph_since(send->exit_ns, come) > c->bound_ns;
}

static int add_message(struct pp_link_times *t, const struct pp_row_collective *c, const struct message *m)
{
	const int64_t ns[PP_LINK_BEGINS] = {time_of(m, PP_LINK_FROM_SEND), time_of(m, PP_LINK_FROM_BOTH)};
	struct pp_link_size *s;
	uint32_t link, size;

	if (add_link(t, m, &link))
		return -ENOMEM;
	size = find_size(t, link, class_of(c->bytes));
	if (size == PP_GRAPH_NONE) {
		if (t->sizes >= PP_GRAPH_NONE - 1 || PP_GROW(t->size, t->sizes, t->size_room))
			return -ENOMEM;
		size = (uint32_t)t->sizes++;
		t->size[size] = (struct pp_link_size){.link = link,
		                                      .next = t->first[link],
		                                      .class = class_of(c->bytes),
		                                      .least_ns = {INT64_MAX, INT64_MAX},
		                                      .time_ns = -1,
		                                      .usual_ns = -1};
		t->first[link] = size + 1;
	}
	s = &t->size[size];
	for (int k = 0; k < PP_LINK_BEGINS; k++)
		s->least_ns[k] = ns[k] < s->least_ns[k] ? ns[k] : s->least_ns[k];
	note_late(t->g, c, m, s);
	if (c->bound_ns > t->g->link[link].error_ns)
		t->g->link[link].error_ns = c->bound_ns;
	return is_seen(m, QUARTER) ? keep_sample(s, ns, PP_LINK_BEGINS) : 0;
}

/* Median distance from the median of a size's times. */
static int64_t spread_of(const struct pp_link_size *s, enum pp_link_begin begin)
{
	int64_t ns[PP_LINK_SAMPLES], middle;

	for (uint32_t i = 0; i < s->samples; i++)
		ns[i] = s->sample[i * PP_LINK_BEGINS + (uint32_t)begin];
	middle = pp_select_int64(ns, s->samples, s->samples / 2);
	for (uint32_t i = 0; i < s->samples; i++)
		ns[i] = llabs(ns[i] - middle);
	return pp_select_int64(ns, s->samples, s->samples / 2);
}

struct begins { /* of the messages of a size and kind: they begin alike on all links */
	int64_t spread_ns[PP_LINK_BEGINS];
	uint64_t late, left;
};

static void set_begin(struct pp_link_times *t)
{
	struct begins begins[KINDS][CLASSES] = {{{{0}, 0, 0}}};

	for (size_t i = 0; i < t->sizes; i++) {
		struct pp_link_size *s = &t->size[i];
		struct begins *b = &begins[t->g->link[s->link].between_hosts][s->class];

		for (int k = 0; k < PP_LINK_BEGINS && s->samples; k++)
			pp_wrap_add(&b->spread_ns[k], spread_of(s, (enum pp_link_begin)k));
		b->late += s->late;
		b->left += s->left;
		s->samples = 0;
		s->seen = 0;
	}
	for (size_t i = 0; i < t->sizes; i++) {
		struct pp_link_size *s = &t->size[i];
		const struct begins *b = &begins[t->g->link[s->link].between_hosts][s->class];
		const int both =
		        b->late && b->left * FEW < b->late && b->spread_ns[PP_LINK_FROM_BOTH] < b->spread_ns[PP_LINK_FROM_SEND];

		s->begin = both ? PP_LINK_FROM_BOTH : PP_LINK_FROM_SEND;
		t->with_both |= both;
	}
}

static int by_end(const void *a, const void *b)
{
	const struct pp_link_end *x = a, *y = b;

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	if (x->over_ns != y->over_ns)
		return x->over_ns < y->over_ns ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

/* Sets e to the message of a row that the node completes; returns 0 where it is none. */
static int end_of(struct pp_link_times *t, uint32_t row, struct pp_link_end *e)
{
	const struct pp_graph *g = t->g;
	const struct pp_row_collective *c = &g->d->collective[g->operation[row]];
	const struct pp_link_size *s;
	struct message m;

	if (!c->message || !message_of(g, g->operation[row], &m))
		return 0;
	e->link = pp_link_times_find(t, g->node[m.source].track, g->node[m.target].track);
	e->size = find_size(t, e->link, class_of(c->bytes));
	if (e->size == PP_GRAPH_NONE)
		return 0;
	s = &t->size[e->size];
	e->is_send = row == m.send;
	e->end_ns = g->d->arrival[row].exit_ns;
	e->from_ns = m.from_ns[s->begin];
	e->bytes = c->bytes;
	e->is_seen = !e->is_send && (s->begin == PP_LINK_FROM_BOTH || is_seen(&m, HALF));
	e->over_ns = time_of(&m, s->begin) - s->least_ns[s->begin];
	if (!e->is_send)
		return 1;
	/* it ends with its receiver, or as soon as that came */
	e->over_ns = llabs(pp_wrap_minus(e->end_ns, m.end_ns));
	if (e->end_ns >= e->from_ns && pp_wrap_minus(e->end_ns, e->from_ns) < e->over_ns)
		e->over_ns = pp_wrap_minus(e->end_ns, e->from_ns);
	return s->begin == PP_LINK_FROM_BOTH; /* other sends wait for nobody */
}

/* Does the node receive from where this send goes? That message says when the other rank was there. */
static int is_exchange(struct pp_link_times *t, const struct pp_link_end *send)
{
	const struct pp_link *l = &t->g->link[send->link];
	const uint32_t back = pp_link_times_find(t, l->destination, l->source);

	return back != PP_GRAPH_NONE && t->received[back] == t->nodes;
}

int pp_link_times_ends(struct pp_link_times *t, uint32_t node)
{
	const struct pp_graph *g = t->g;
	const struct pp_node *n = &g->node[node];

	t->ends = 0;
	t->nodes++;
	for (int sends = 0; sends <= t->with_both; sends++)
		for (uint32_t i = 0; i < pp_graph_row_count(g, n) && n->flags & PP_NODE_ENDS; i++) {
			const uint32_t row = pp_graph_rows(g, n)[i];
			struct pp_link_end e;

			if ((g->d->arrival[row].is_root != 0) != sends || !end_of(t, row, &e))
				continue;
			if (!sends)
				t->received[e.link] = t->nodes;
			else if (is_exchange(t, &e))
				continue;
			if (PP_GROW(t->end, t->ends, t->end_room))
				return -ENOMEM;
			t->end[t->ends++] = e;
		}
	if (t->ends > 1)
		qsort(t->end, t->ends, sizeof(*t->end), by_end);
	return 0;
}

size_t pp_link_times_run(const struct pp_link_times *t, size_t first)
{
	size_t n = first + 1;

	while (n < t->ends && t->end[n].end_ns == t->end[first].end_ns)
		n++;
	return n - first;
}

static int add_samples(struct pp_link_times *t, uint32_t node)
{
	int rc = pp_link_times_ends(t, node);

	for (size_t i = 0, run; i < t->ends && !rc; i += run) {
		const struct pp_link_end *e = &t->end[i];
		struct pp_link_size *s = &t->size[e->size];
		int64_t ns;

		run = pp_link_times_run(t, i);
		if (!e->is_seen || (run > 1 && e[1].over_ns == e->over_ns))
			continue;
		s->bytes += e->bytes;
		ns = pp_graph_since(e->from_ns, e->end_ns);
		rc = keep_sample(s, &ns, 1);
	}
	return rc;
}

int pp_link_times_init(struct pp_link_times *t, struct pp_graph *g)
{
	int rc = 0;

	*t = (struct pp_link_times){.g = g};
	for (size_t c = 0; c < g->d->collectives && !rc; c++) {
		struct message m;

		if (g->d->collective[c].message && message_of(g, (uint32_t)c, &m))
			rc = add_message(t, &g->d->collective[c], &m);
	}
	t->received = rc ? NULL : calloc(g->links + 1, sizeof(*t->received));
	if (!rc && !t->received)
		rc = -ENOMEM;
	if (!rc)
		set_begin(t);
	for (uint32_t n = 0; n < g->nodes && g->links && !rc; n++)
		rc = add_samples(t, n);
	for (size_t i = 0; i < t->sizes && !rc; i++) {
		struct pp_link_size *s = &t->size[i];

		if (s->samples)
			s->time_ns = pp_select_int64(s->sample, s->samples, (s->samples - 1) / 2);
	}
	return rc;
}

void pp_link_times_release(struct pp_link_times *t)
{
	for (size_t i = 0; i < t->sizes; i++)
		free(t->size[i].sample);
	free(t->size);
	free(t->first);
	free(t->map.place);
	free(t->end);
	free(t->received);
}

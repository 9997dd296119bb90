/* Ties device spans to their launches on the host, and launches to steps: through threads, and through producers and consumers, as
 * xprof groups events. Called by steps.c. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/private.h"
#include "core/base/grow.h"

enum { ROUNDS = 16, PRODUCERS = 64, NEAR = 8 };

struct launch {
	uint64_t correlation;
	uint32_t thread, span;
	uint32_t op; /* pp_intern id of the range around it; 0: none */
};

struct zone { /* events of the thread in [begin, end) are of a root */
	int64_t begin, end;
	uint32_t thread;
	uint32_t root;
};

struct links {
	struct launch *launch;
	size_t launches, launches_room, at;
	uint32_t *place; /* [places] index + 1 by correlation - first; NULL: launches are in order of it */
	uint64_t first;
	size_t places;
	struct zone *zone;
	size_t zones, zones_room, ordered; /* those in order; later ones are not looked at yet */
};

static int by_correlation(const void *a, const void *b)
{
	const struct launch *l = a, *m = b;

	return l->correlation < m->correlation ? -1 : l->correlation > m->correlation;
}

static int by_place(const void *a, const void *b)
{
	const struct zone *z = a, *y = b;

	if (z->thread != y->thread)
		return z->thread < y->thread ? -1 : 1;
	if (z->begin != y->begin)
		return z->begin < y->begin ? -1 : 1;
	if (z->end != y->end)
		return z->end > y->end ? -1 : 1;
	return z->root < y->root ? -1 : z->root > y->root;
}

static int by_pair(const void *a, const void *b)
{
	const struct pp_xlinked *l = a, *m = b;

	if (l->is_consumer != m->is_consumer)
		return l->is_consumer - m->is_consumer;
	if (l->type != m->type)
		return l->type < m->type ? -1 : 1;
	if (l->id != m->id)
		return l->id < m->id ? -1 : 1;
	return l->begin < m->begin ? -1 : l->begin > m->begin;
}

/* Launches of a thread, each with the innermost range around it. */
static int find_launches(struct pp_xread *x, uint32_t thread, struct links *k, uint32_t **open, size_t *room)
{
	const struct pp_thread *t = &x->rank.thread[thread];
	size_t opens = 0;

	for (size_t i = 0; i < t->spans; i++) {
		const struct pp_span *s = &t->span[i];
		uint32_t *more;

		if (s->kind != PP_SPAN_RANGE && s->kind != PP_SPAN_MARK)
			continue;
		while (opens && t->span[(*open)[opens - 1]].end <= s->begin)
			opens--;
		if (s->range.id) {
			struct launch *l = pp_grow(k->launch, k->launches, &k->launches_room, sizeof(*l));

			if (!l)
				return -1;
			k->launch = l;
			l[k->launches++] = (struct launch){.correlation = s->range.id,
			                                   .thread = thread,
			                                   .span = (uint32_t)i,
			                                   .op = opens ? t->span[(*open)[opens - 1]].name : 0};
		}
		if (s->range.id) /* a launch is no operator */
			continue;
		more = pp_grow(*open, opens, room, sizeof(*more));
		if (!more)
			return -1;
		*open = more;
		more[opens++] = (uint32_t)i;
	}
	return 0;
}

/* Profilers count launches: a table by their number is small. Else they are sorted. */
static void index_launches(struct links *k)
{
	uint64_t last = 0;

	k->first = UINT64_MAX;
	for (size_t i = 0; i < k->launches; i++) {
		k->first = k->launch[i].correlation < k->first ? k->launch[i].correlation : k->first;
		last = k->launch[i].correlation > last ? k->launch[i].correlation : last;
	}
	if (last - k->first < 4 * (uint64_t)k->launches && k->launches < UINT32_MAX) {
		k->places = (size_t)(last - k->first) + 1;
		k->place = calloc(k->places, sizeof(*k->place));
	}
	for (size_t i = 0; k->place && i < k->launches; i++)
		k->place[k->launch[i].correlation - k->first] = (uint32_t)i + 1;
	if (!k->place)
		qsort(k->launch, k->launches, sizeof(*k->launch), by_correlation);
}

static int find_all_launches(struct pp_xread *x, struct links *k)
{
	uint32_t *open = NULL;
	size_t room = 0;
	int rc = 0;

	for (size_t t = 0; t < x->rank.threads && !rc; t++)
		if (!x->rank.thread[t].device && x->rank.thread[t].spans < UINT32_MAX)
			rc = find_launches(x, (uint32_t)t, k, &open, &room);
	free(open);
	if (!rc && k->launches)
		index_launches(k);
	return rc;
}

/* A stream runs in the order of its launches: the next is near the last one found. */
static const struct launch *launch_of(struct links *k, uint64_t correlation)
{
	size_t low = 0, high = k->launches;

	if (!correlation)
		return NULL;
	if (k->place) {
		uint64_t at = correlation - k->first; /* of a smaller number far outside */

		return at < k->places && k->place[at] ? &k->launch[k->place[at] - 1] : NULL;
	}
	for (size_t i = k->at; i < k->launches && i < k->at + NEAR; i++)
		if (k->launch[i].correlation == correlation) {
			k->at = i;
			return &k->launch[i];
		}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->launch[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == k->launches || k->launch[low].correlation != correlation)
		return NULL;
	k->at = low;
	return &k->launch[low];
}

static int add_zone(struct links *k, uint32_t thread, int64_t begin, int64_t end, uint32_t root)
{
	struct zone *more = pp_grow(k->zone, k->zones, &k->zones_room, sizeof(*more));

	if (!more)
		return -1;
	k->zone = more;
	k->zone[k->zones++] = (struct zone){begin, end, thread, root};
	return 0;
}

/* Zones inside others count for nothing. */
static void order_zones(struct links *k)
{
	size_t kept = 0;

	if (!k->zones)
		return;
	qsort(k->zone, k->zones, sizeof(*k->zone), by_place);
	for (size_t i = 0; i < k->zones; i++) {
		const struct zone *last = kept ? &k->zone[kept - 1] : NULL;

		if (!last || last->thread != k->zone[i].thread || last->end < k->zone[i].end)
			k->zone[kept++] = k->zone[i];
	}
	k->zones = k->ordered = kept;
}

/* The root of what runs on a thread in [begin, end]; -1: none. */
static int64_t root_of(const struct links *k, uint32_t thread, int64_t begin, int64_t end)
{
	size_t low = 0, high = k->ordered;
	const struct zone *z;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		z = &k->zone[middle];
		if (z->thread < thread || (z->thread == thread && z->begin <= begin))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -1;
	z = &k->zone[low - 1];
	return z->thread == thread && z->end >= end ? (int64_t)z->root : -1;
}

/* The first producer of a pair that is of a root. */
static int64_t root_of_producer(const struct pp_xread *x, const struct links *k, size_t producers, const struct pp_xlinked *c)
{
	size_t low = 0, high = producers;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct pp_xlinked *m = &x->linked[middle];

		if (m->type < c->type || (m->type == c->type && m->id < c->id))
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t n = low; n < producers && n < low + PRODUCERS; n++) {
		const struct pp_xlinked *m = &x->linked[n];
		int64_t root;

		if (m->type != c->type || m->id != c->id)
			break;
		root = root_of(k, m->thread, m->begin, m->end);
		if (root >= 0)
			return root;
	}
	return -1;
}

/* What runs in a consumer is of its producer's root; consumers of consumers need another round. */
static int follow_links(struct pp_xread *x, struct links *k)
{
	size_t producers = 0, left = x->linkeds;

	if (!left)
		return 0;
	qsort(x->linked, x->linkeds, sizeof(*x->linked), by_pair);
	while (producers < x->linkeds && !x->linked[producers].is_consumer)
		producers++;
	for (int round = 0; round < ROUNDS; round++) {
		size_t kept = producers;

		for (size_t i = producers; i < left; i++) {
			struct pp_xlinked c = x->linked[i];
			int64_t root = root_of_producer(x, k, producers, &c);

			if (root < 0)
				x->linked[kept++] = c;
			else if (add_zone(k, c.thread, c.begin, c.end, (uint32_t)root))
				return -1;
		}
		if (kept == left)
			break;
		left = kept;
		order_zones(k);
	}
	return 0;
}

/* What launched each event of a stream; its root becomes its step for now. */
static void tie_stream(struct pp_xread *x, struct pp_thread *t, struct links *k, int by_root)
{
	for (size_t i = 0; i < t->spans; i++) {
		struct pp_span *s = &t->span[i];
		const struct launch *l;
		const struct pp_span *host;

		if (s->kind != PP_SPAN_DEVICE)
			continue;
		l = launch_of(k, s->device.correlation);
		if (by_root)
			s->device.step = -1;
		if (!l)
			continue;
		s->device.host_thread = l->thread + 1;
		if (!s->device.op)
			s->device.op = l->op;
		host = &x->rank.thread[l->thread].span[l->span];
		if (by_root)
			s->device.step = root_of(k, l->thread, host->begin, host->end);
	}
}

struct run { /* consecutive events of a device with one root */
	struct pp_xmark mark;
	int is_open;
};

static int end_run(struct pp_xread *x, struct run *run)
{
	struct pp_xmark *more;

	if (!run->is_open)
		return 0;
	more = pp_grow(x->mark, x->marks, &x->marks_room, sizeof(*more));
	if (!more)
		return -1;
	x->mark = more;
	x->mark[x->marks++] = run->mark;
	run->is_open = 0;
	return 0;
}

/* xprof's line "Steps" of a device: from the first to the last of its events that follow each other and are of one root. Events
 * without a root are of the last one's. */
static int mark_device(struct pp_xread *x, uint32_t device, const struct pp_xroot *root)
{
	size_t *at = calloc(x->rank.threads + 1, sizeof(*at));
	struct run run = {.is_open = 0};
	int rc = at ? 0 : -1;

	while (!rc) {
		const struct pp_span *s = NULL;
		size_t from = 0;

		for (size_t t = 0; t < x->rank.threads; t++) {
			const struct pp_thread *thread = &x->rank.thread[t];
			const struct pp_span *next = &thread->span[at[t]];

			if (thread->device == device && at[t] < thread->spans && (!s || next->begin < s->begin)) {
				s = next;
				from = t;
			}
		}
		if (!s)
			break;
		at[from]++;
		if (s->device.step >= 0 && (!run.is_open || s->device.step != run.mark.group)) {
			rc = end_run(x, &run);
			run.mark = (struct pp_xmark){s->device.step, root[s->device.step].number, s->begin, s->end};
			run.is_open = 1;
		} else if (run.is_open && s->end > run.mark.end) {
			run.mark.end = s->end;
		}
	}
	if (!rc)
		rc = end_run(x, &run);
	free(at);
	return rc;
}

static int mark_devices(struct pp_xread *x, const struct pp_xroot *root)
{
	int rc = 0;

	for (size_t t = 0; t < x->rank.threads && !rc; t++) {
		uint32_t device = x->rank.thread[t].device;
		size_t before = 0;

		while (before < t && x->rank.thread[before].device != device)
			before++;
		if (device && before == t)
			rc = mark_device(x, device, root);
	}
	/* The number of the step, not of the root; -1 stays. */
	for (size_t t = 0; t < x->rank.threads; t++)
		for (size_t i = 0; x->rank.thread[t].device && i < x->rank.thread[t].spans; i++) {
			struct pp_span *s = &x->rank.thread[t].span[i];

			if (s->device.step >= 0)
				s->device.step = root[s->device.step].number;
		}
	return rc;
}

void pp_xlink_all(struct pp_xread *x, const struct pp_xroot *root, size_t roots)
{
	struct links k = {0};
	size_t devices = 0;
	int rc;

	for (size_t t = 0; t < x->rank.threads; t++)
		devices += x->rank.thread[t].device != 0;
	rc = devices ? find_all_launches(x, &k) : 0;
	for (size_t i = 0; i < roots && devices && !rc; i++)
		rc = add_zone(&k, root[i].thread, root[i].begin, root[i].end, (uint32_t)i);
	if (!rc && devices && roots) {
		order_zones(&k);
		rc = follow_links(x, &k);
	}
	for (size_t t = 0; t < x->rank.threads && k.launches && !rc; t++)
		if (x->rank.thread[t].device)
			tie_stream(x, &x->rank.thread[t], &k, roots > 0);
	if (!rc && roots && k.launches)
		rc = mark_devices(x, root);
	if (rc)
		x->no_memory = 1;
	free(k.launch);
	free(k.place);
	free(k.zone);
}

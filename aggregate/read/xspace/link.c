/* Finds launches by correlation, and the root of each through threads, and through producers and consumers, as xprof groups
 * events; see link.h. */
#include "aggregate/read/xspace/link.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/huge.h"
#include "core/base/partition.h"
#include "core/capture/thread.h"

enum { ROUNDS = 16, PRODUCERS = 64, NEAR = 8 };

struct zone { /* events of the thread in [begin, end) are of a root */
	int64_t begin, end;
	uint32_t thread;
	uint32_t root;
};

struct links {
	struct zone *zone;
	size_t zones, zones_room, ordered; /* those in order; later ones are not looked at yet */
};

PP_COMPARE_BY(by_correlation, struct pp_xlaunch, correlation)

PP_COMPARE(by_place, struct zone, PP_UP(thread) ?: PP_UP(begin) ?: PP_DOWN(end) ?: PP_UP(root))

PP_COMPARE(by_pair, struct pp_xlinked, PP_UP(is_consumer) ?: PP_UP(type) ?: PP_UP(id) ?: PP_UP(begin))

/* Room for as many more as the line has room for spans. */
static int make_room(struct pp_xlaunches *k, const struct pp_xline *l)
{
	size_t room = k->count + k->count / 8 + l->room;
	struct pp_xlaunch *more = pp_huge_malloc(room * sizeof(*more));

	if (!more)
		return -1;
	if (k->count)
		memcpy(more, k->list, k->count * sizeof(*more));
	free(k->list);
	k->list = more;
	k->room = room;
	return 0;
}

static void add_launch(struct pp_xread *x, const struct pp_xline *l, const struct pp_xlaunch *launch)
{
	struct pp_xlaunches *k = &x->launches;

	if (k->count == k->room && make_room(k, l)) {
		x->no_memory = 1;
		return;
	}
	k->list[k->count++] = *launch;
}

void pp_xlink_add(struct pp_xread *x, const struct pp_xline *l, size_t span)
{
	const struct pp_span *s = &l->thread.span[span];
	struct pp_xlaunches *k = &x->launches;
	struct pp_xopen *more;

	if ((s->kind != PP_SPAN_RANGE && s->kind != PP_SPAN_MARK) || span > UINT32_MAX)
		return;
	while (k->opens && k->open[k->opens - 1].end <= s->begin)
		k->opens--;
	if (s->range.id) { /* a launch is no operator */
		add_launch(x, l,
		           &(struct pp_xlaunch){.correlation = s->range.id,
		                                .thread = (uint32_t)x->rank.threads,
		                                .span = (uint32_t)span,
		                                .op = k->opens ? k->open[k->opens - 1].name : 0});
		return;
	}
	more = pp_grow(k->open, k->opens, &k->opens_room, sizeof(*more));
	if (!more) {
		x->no_memory = 1;
		return;
	}
	k->open = more;
	more[k->opens++] = (struct pp_xopen){s->end, s->name};
}

void pp_xlink_add_all(struct pp_xread *x, const struct pp_xline *l)
{
	x->launches.count = l->launches;
	x->launches.opens = 0;
	for (size_t i = 0; i < l->thread.spans; i++)
		pp_xlink_add(x, l, i);
}

/* Profilers count launches: a table by their number is small. Else they are sorted. */
void pp_xlink_index(struct pp_xread *x)
{
	struct pp_xlaunches *k = &x->launches;
	uint64_t last = 0;

	k->is_indexed = 1;
	k->found_from = x->rank.threads;
	k->first = UINT64_MAX;
	for (size_t i = 0; i < k->count; i++) {
		k->first = k->list[i].correlation < k->first ? k->list[i].correlation : k->first;
		last = k->list[i].correlation > last ? k->list[i].correlation : last;
	}
	if (k->count && last - k->first < 4 * (uint64_t)k->count && k->count < UINT32_MAX) {
		k->places = (size_t)(last - k->first) + 1;
		k->place = calloc(k->places, sizeof(*k->place));
	}
	for (size_t i = 0; k->place && i < k->count; i++)
		k->place[k->list[i].correlation - k->first] = (uint32_t)i + 1;
	if (!k->place && k->count)
		qsort(k->list, k->count, sizeof(*k->list), by_correlation);
}

/* A stream runs in the order of its launches: the next is near the last one found. */
static const struct pp_xlaunch *launch_of(struct pp_xlaunches *k, uint64_t correlation)
{
	size_t low;

	if (!correlation)
		return NULL;
	if (k->place) {
		uint64_t at = correlation - k->first; /* of a smaller number far outside */

		return at < k->places && k->place[at] ? &k->list[k->place[at] - 1] : NULL;
	}
	for (size_t i = k->at; i < k->count && i < k->at + NEAR; i++)
		if (k->list[i].correlation == correlation) {
			k->at = i;
			return &k->list[i];
		}
	low = PP_PARTITION(k->count, at, k->list[at].correlation < correlation);
	if (low == k->count || k->list[low].correlation != correlation)
		return NULL;
	k->at = low;
	return &k->list[low];
}

const struct pp_xlaunch *pp_xlink_tie(struct pp_xread *x, struct pp_span *s)
{
	const struct pp_xlaunch *l = launch_of(&x->launches, s->device.correlation);

	if (!l)
		return NULL;
	s->device.host_thread = l->thread + 1;
	if (!s->device.op)
		s->device.op = l->op;
	return l;
}

static int add_zone(struct links *k, uint32_t thread, int64_t begin, int64_t end, uint32_t root)
{
	if (PP_GROW(k->zone, k->zones, k->zones_room))
		return -1;
	k->zone[k->zones++] = (struct zone){begin, end, thread, root};
	return 0;
}

/* Zones inside others count for nothing. */
static void order_zones(struct links *k)
{
	size_t outer = 0;

	if (!k->zones)
		return;
	qsort(k->zone, k->zones, sizeof(*k->zone), by_place);
	for (size_t i = 0; i < k->zones; i++) {
		const struct zone *last = outer ? &k->zone[outer - 1] : NULL;

		if (!last || last->thread != k->zone[i].thread || last->end < k->zone[i].end)
			k->zone[outer++] = k->zone[i];
	}
	k->zones = k->ordered = outer;
}

/* The root of what runs on a thread in [begin, end]; -1: none. */
static int64_t root_of(const struct links *k, uint32_t thread, int64_t begin, int64_t end)
{
	size_t low = PP_PARTITION(k->ordered, at,
	                          k->zone[at].thread < thread || (k->zone[at].thread == thread && k->zone[at].begin <= begin));
	const struct zone *z;

	if (!low)
		return -1;
	z = &k->zone[low - 1];
	return z->thread == thread && z->end >= end ? (int64_t)z->root : -1;
}

/* The first producer of a pair that is of a root. */
static int64_t root_of_producer(const struct pp_xread *x, const struct links *k, size_t producers, const struct pp_xlinked *c)
{
	size_t low = PP_PARTITION(producers, at,
	                          x->linked[at].type < c->type || (x->linked[at].type == c->type && x->linked[at].id < c->id));

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
		size_t unresolved = producers;

		for (size_t i = producers; i < left; i++) {
			struct pp_xlinked c = x->linked[i];
			int64_t root = root_of_producer(x, k, producers, &c);

			if (root < 0)
				x->linked[unresolved++] = c;
			else if (add_zone(k, c.thread, c.begin, c.end, (uint32_t)root))
				return -1;
		}
		if (unresolved == left)
			break;
		left = unresolved;
		order_zones(k);
	}
	return 0;
}

/* What launched each event of a stream; its root becomes its step for now. */
static void tie_stream(struct pp_xread *x, struct pp_thread *t, const struct links *k, int by_root)
{
	for (size_t i = 0; i < t->spans; i++) {
		struct pp_span *s = &t->span[i];
		const struct pp_xlaunch *l;
		const struct pp_span *host;

		if (s->kind != PP_SPAN_DEVICE)
			continue;
		l = pp_xlink_tie(x, s);
		if (!by_root)
			continue;
		host = l ? &x->rank.thread[l->thread].span[l->span] : NULL;
		s->device.step = host ? root_of(k, l->thread, host->begin, host->end) : -1;
	}
}

struct run { /* consecutive events of a device with one root */
	struct pp_xmark mark;
	int is_open;
};

static int end_run(struct pp_xread *x, struct run *run)
{
	if (!run->is_open)
		return 0;
	if (PP_GROW(x->mark, x->marks, x->marks_room))
		return -1;
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
	int rc = 0;

	for (size_t t = 0; t < x->rank.threads; t++)
		devices += x->rank.thread[t].device != 0;
	if (!x->launches.is_indexed)
		pp_xlink_index(x);
	for (size_t i = 0; i < roots && devices && !rc; i++)
		rc = add_zone(&k, root[i].thread, root[i].begin, root[i].end, (uint32_t)i);
	if (!rc && devices && roots) {
		order_zones(&k);
		rc = follow_links(x, &k);
	}
	for (size_t t = 0; t < x->rank.threads && x->launches.count && !rc; t++)
		if (x->rank.thread[t].device && (roots || t < x->launches.found_from))
			tie_stream(x, &x->rank.thread[t], &k, roots > 0);
	if (!rc && roots && x->launches.count)
		rc = mark_devices(x, root);
	if (rc)
		x->no_memory = 1;
	free(k.zone);
}

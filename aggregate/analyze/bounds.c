/* Computes bounds between ranks and checks causality by them; see bounds.h. Called by waiting.c, finish.c and build.c. */
#include "aggregate/analyze/bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pp_bounds_latest { /* arrivals of one group in one collective */
	uint64_t round;
	int64_t arrival_ns;
};

/* The two largest keys of different groups. */
struct two {
	int64_t key[2];
	size_t event[2];
	uint32_t group[2];
	int n;
};

struct one {
	int32_t domain;
	const char *own;
	size_t clock, worker;
};

static int has_clock(const struct pp_row_worker *w)
{
	return w->domain >= 0 && !pp_worker_is_missing(w);
}

/* Clocks of equal names have the same ticks; an unnamed clock matches none. */
static int compare_group(const struct one *x, const struct one *y)
{
	int order = (x->domain > y->domain) - (x->domain < y->domain);

	if (order)
		return order;
	order = strcmp(x->own, y->own);
	return order || x->own[0] ? order : (x->clock > y->clock) - (x->clock < y->clock);
}

static int compare_one(const void *a, const void *b)
{
	return compare_group(a, b);
}

int pp_bounds_init(struct pp_bounds *b, const struct pp_dataset *d)
{
	struct one *one = calloc(d->workers + 1, sizeof(*one));
	int found = 0;

	*b = (struct pp_bounds){.d = d, .group = calloc(d->workers + 1, sizeof(*b->group)), .home = -1};
	if (!one || !b->group)
		goto no_memory;
	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *worker = &d->worker[w];

		one[w] = (struct one){worker->domain, "", worker->host_clock, w};
		if (worker->host_clock)
			one[w].own = d->host_clock[worker->host_clock - 1].own;
		if (!found && has_clock(worker))
			b->home = worker->domain;
		found |= has_clock(worker);
	}
	qsort(one, d->workers, sizeof(*one), compare_one);
	for (size_t i = 0; i < d->workers; i++) {
		b->groups += !i || compare_group(&one[i - 1], &one[i]) != 0;
		b->group[one[i].worker] = (uint32_t)b->groups - 1;
	}
	b->latest = calloc(b->groups + 1, sizeof(*b->latest));
	if (!b->latest)
		goto no_memory;
	free(one);
	return 0;
no_memory:
	free(one);
	pp_bounds_release(b);
	return -ENOMEM;
}

void pp_bounds_release(struct pp_bounds *b)
{
	free(b->group);
	free(b->latest);
	*b = (struct pp_bounds){.d = NULL};
}

int64_t pp_bounds_at(const struct pp_bounds *b, size_t worker, int64_t time_ns)
{
	const struct pp_row_worker *w = &b->d->worker[worker];

	if (w->domain != b->home || !w->host_clock)
		return PP_BOUND_UNKNOWN;
	return pp_host_clock_bound(&b->d->host_clock[w->host_clock - 1], time_ns);
}

/* A sum that may overflow is PP_BOUND_UNKNOWN. */
static int64_t add_bounds(int64_t x, int64_t y)
{
	int64_t sum;

	return __builtin_add_overflow(x, y, &sum) ? PP_BOUND_UNKNOWN : sum;
}

static int64_t own_of(const struct pp_bounds *b, size_t one, size_t other)
{
	int64_t x = b->d->worker[one].own_bound_ns, y = b->d->worker[other].own_bound_ns;

	return x > y ? x : y;
}

int64_t pp_bounds_arrivals(const struct pp_bounds *b, const struct pp_bounds_event *one, const struct pp_bounds_event *other)
{
	int64_t own = own_of(b, one->worker, other->worker);

	return b->group[one->worker] == b->group[other->worker] ? own : add_bounds(own, add_bounds(one->bound_ns, other->bound_ns));
}

static void take(struct two *two, int64_t key, uint32_t group, size_t event)
{
	int at = two->n;

	for (int i = two->n - 1; i >= 0; i--)
		if (two->group[i] == group)
			at = i;
	if (at < two->n && key <= two->key[at])
		return;
	if (at == 2) { /* a third group replaces the lesser of the two */
		if (key <= two->key[1])
			return;
		at = 1;
	}
	two->n += at == two->n;
	two->key[at] = key;
	two->group[at] = group;
	two->event[at] = event;
	if (two->n == 2 && two->key[1] > two->key[0])
		*two = (struct two){{two->key[1], two->key[0]}, {two->event[1], two->event[0]}, {two->group[1], two->group[0]}, 2};
}

int64_t pp_bounds_worst(const struct pp_bounds *b, const uint32_t *workers, size_t n, size_t stride, int64_t time_ns)
{
	const unsigned char *at = (const unsigned char *)workers;
	uint32_t clock = 0, group = UINT32_MAX;
	struct two two = {.n = 0};
	int64_t own = 0;

	for (size_t i = 0; i < n; i++, at += stride) {
		const struct pp_row_worker *worker;
		uint32_t w;

		memcpy(&w, at, sizeof(w));
		worker = &b->d->worker[w];
		own = worker->own_bound_ns > own ? worker->own_bound_ns : own;
		if (i && b->group[w] == group && worker->host_clock == clock) /* ranks of one host follow each other */
			continue;
		group = b->group[w];
		clock = worker->host_clock;
		take(&two, pp_bounds_at(b, w, time_ns), group, i);
	}
	return two.n < 2 ? own : add_bounds(own, add_bounds(two.key[0], two.key[1]));
}

/* Its earliest possible arrival; INT64_MIN for a clock that is not joined. */
static int64_t least_arrival(const struct pp_bounds_event *e)
{
	int64_t least;

	return e->bound_ns == PP_BOUND_UNKNOWN || __builtin_sub_overflow(e->arrival_ns, e->bound_ns, &least) ? INT64_MIN : least;
}

/* Late by more than the bound? Else: late at all? */
static int is_late(int64_t cause_ns, int64_t effect_ns, int64_t bound_ns)
{
	int64_t early;

	return bound_ns != PP_BOUND_UNKNOWN &&
	       (__builtin_sub_overflow(cause_ns, effect_ns, &early) ? cause_ns > 0 : early > bound_ns);
}

struct check {
	const struct pp_bounds *b;
	const struct pp_bounds_event *event;
	struct two sure, seen; /* the latest earliest-possible arrivals, and the latest by the clock */
};

static size_t other_of(const struct two *two, uint32_t group)
{
	int i = two->n && two->group[0] == group;

	return i < two->n ? two->event[i] : SIZE_MAX;
}

/* Compares one exit with the arrivals on other clocks: takes the one that disproves the bounds, else the latest. */
static int check_exit(const struct check *k, const struct pp_bounds_event *e, struct pp_causality *c)
{
	uint32_t group = k->b->group[e->worker];
	size_t sure = other_of(&k->sure, group), seen = other_of(&k->seen, group);
	const struct pp_bounds_event *by;
	int64_t bound, own;
	int late;

	if (sure == SIZE_MAX || seen == SIZE_MAX)
		return 0;
	bound = pp_bounds_at(k->b, e->worker, e->exit_ns);
	if (bound == PP_BOUND_UNKNOWN)
		return 0;
	by = &k->event[sure];
	own = own_of(k->b, by->worker, e->worker);
	late = is_late(by->arrival_ns, e->exit_ns, add_bounds(own, add_bounds(by->bound_ns, bound)));
	if (!late)
		by = &k->event[seen];
	pp_causality_add(c, by->arrival_ns, add_bounds(own_of(k->b, by->worker, e->worker), by->bound_ns), e->exit_ns, bound);
	return late;
}

int pp_bounds_check(struct pp_bounds *b, const struct pp_bounds_event *event, size_t n, struct pp_causality *c)
{
	struct check k = {.b = b, .event = event};
	int violated = 0;

	b->round++;
	for (size_t i = 0; i < n; i++) {
		struct pp_bounds_latest *latest = &b->latest[b->group[event[i].worker]];
		int64_t least = b->groups > 1 ? least_arrival(&event[i]) : INT64_MIN;

		if (!event[i].is_needed)
			continue;
		if (latest->round != b->round || event[i].arrival_ns > latest->arrival_ns)
			*latest = (struct pp_bounds_latest){b->round, event[i].arrival_ns};
		if (least == INT64_MIN)
			continue;
		take(&k.sure, least, b->group[event[i].worker], i);
		take(&k.seen, event[i].arrival_ns, b->group[event[i].worker], i);
	}
	for (size_t i = 0; i < n; i++) {
		const struct pp_bounds_event *e = &event[i];

		const struct pp_bounds_latest *latest = &b->latest[b->group[e->worker]];

		if (!e->exit_known || !e->needs)
			continue;
		if (latest->round == b->round)
			violated |= is_late(latest->arrival_ns, e->exit_ns, b->d->worker[e->worker].own_bound_ns);
		violated |= check_exit(&k, e, c);
	}
	return violated;
}

int pp_dataset_pair_bound(struct pp_dataset *d)
{
	struct pp_bounds b;
	struct two two = {.n = 0};
	int64_t own = 0;

	if (pp_bounds_init(&b, d) < 0)
		return -ENOMEM;
	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *worker = &d->worker[w];
		int64_t bound = worker->host_clock ? d->host_clock[worker->host_clock - 1].host_bound_ns : PP_BOUND_UNKNOWN;

		if (!has_clock(worker))
			continue;
		own = worker->own_bound_ns > own && worker->own_bound_ns != PP_BOUND_UNKNOWN ? worker->own_bound_ns : own;
		if (worker->domain == b.home && bound != PP_BOUND_UNKNOWN)
			take(&two, bound, b.group[w], w);
	}
	d->pair_bound_ns = two.n < 2 ? own : add_bounds(own, add_bounds(two.key[0], two.key[1]));
	pp_bounds_release(&b);
	return 0;
}

size_t pp_bounds_clocks(const struct pp_dataset *d)
{
	struct pp_bounds b;
	size_t groups = 0;
	uint8_t *seen;

	if (pp_bounds_init(&b, d))
		return 0;
	seen = calloc(b.groups + 1, 1);
	for (size_t w = 0; seen && w < d->workers; w++) {
		groups += d->worker[w].domain >= 0 && !seen[b.group[w]];
		seen[b.group[w]] |= d->worker[w].domain >= 0;
	}
	free(seen);
	pp_bounds_release(&b);
	return groups;
}

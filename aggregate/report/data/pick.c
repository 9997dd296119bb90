/* Chooses the events of a timeline that the page holds: whole steps, of as many ranks as fit; see timeline.h. Pure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/data/timeline.h"
#include "core/base/compare.h"
#include "core/base/huge.h"

enum { FIRST_STEPS = 3, LONGEST_STEPS = 8, FIRST_RANKS = 8, REST_SHARE = 4 };

size_t pp_page_chunk_of(const struct pp_timeline *t, const struct pp_timeline_event *e)
{
	if (!e->step || e->step > t->steps)
		return 0;
	if (e->step + 1 < t->steps && e->end_ns > t->step[e->step - 1].end_ns && e->end_ns > t->step[e->step + 1].begin_ns)
		return 0;
	return e->step;
}

static size_t rank_of(const struct pp_timeline *t, const struct pp_timeline_event *e)
{
	return t->track[e->track].rank;
}

/* Every index below n once: ends and middle first. Calls take() until it returns 0. */
static void evenly(size_t n, int (*take)(void *context, size_t index), void *context)
{
	size_t stride = 1;

	while (stride < n)
		stride *= 2;
	for (size_t last = 0; stride; last = stride, stride /= 2)
		for (size_t i = 0; i < n; i += stride)
			if ((!last || i % last) && !take(context, i))
				return;
}

struct list { /* of indices, each once */
	size_t *index, n;
	uint8_t *in;
};

static int list_add(void *context, size_t index)
{
	struct list *l = context;

	if (!l->in[index]) {
		l->in[index] = 1;
		l->index[l->n++] = index;
	}
	return 1;
}

static int list_new(struct list *l, size_t room)
{
	*l = (struct list){.index = calloc(room + 1, sizeof(*l->index)), .in = calloc(room + 1, 1)};
	return l->index && l->in ? 0 : -ENOMEM;
}

static void list_free(struct list *l)
{
	free(l->index);
	free(l->in);
}

/* The indices with the largest values above 0, at most so many. */
static void add_largest(struct list *l, const int64_t *value, size_t n, size_t most)
{
	uint8_t *used = calloc(n + 1, 1);

	for (size_t k = 0; used && k < most; k++) {
		size_t best = n;

		for (size_t i = 0; i < n; i++)
			if (!used[i] && value[i] > (best < n ? value[best] : 0))
				best = i;
		if (best == n)
			break;
		used[best] = 1;
		list_add(l, best);
	}
	free(used);
}

/* Steps in the order in which they get room. */
static int order_steps(const struct pp_timeline *t, size_t pin, struct list *l)
{
	int64_t *time = calloc(t->steps + 1, sizeof(*time));

	if (list_new(l, t->steps) || !time) {
		free(time);
		return -ENOMEM;
	}
	for (size_t s = 0; s < t->steps; s++)
		time[s] = t->step[s].end_ns - t->step[s].begin_ns;
	if (t->steps) {
		list_add(l, pin);
		if (pin)
			list_add(l, pin - 1);
		if (pin + 1 < t->steps)
			list_add(l, pin + 1);
	}
	add_largest(l, time, t->steps, LONGEST_STEPS);
	evenly(t->steps, list_add, l);
	free(time);
	return 0;
}

static void sum_waits(const struct pp_timeline *t, int64_t *caused, int64_t *waited)
{
	for (size_t i = 0; i < t->events; i++) {
		const struct pp_timeline_event *e = &t->event[i];
		const struct pp_timeline_detail *d = e->detail ? &t->detail[e->detail - 1] : NULL;
		size_t last;

		if (!d || !(d->has & PP_TIMELINE_HAS_WAIT) || d->until_ns <= e->begin_ns)
			continue;
		waited[rank_of(t, e)] += d->until_ns - e->begin_ns;
		last = d->last < 0 ? t->ranks : pp_timeline_rank_at(t, d->last);
		if (last < t->ranks)
			caused[last] += d->until_ns - e->begin_ns;
	}
}

static void add_hosts(struct list *l, const struct pp_timeline *t)
{
	for (size_t r = 0; r < t->ranks; r++)
		if (!r || strcmp(t->rank[r].host, t->rank[r - 1].host) != 0)
			list_add(l, r);
}

/* Ranks in the order in which they get room: others wait for it most, it waits most, one per host, then evenly. */
static int order_ranks(const struct pp_timeline *t, struct list *l)
{
	int64_t *caused = calloc(t->ranks + 1, sizeof(*caused)), *waited = calloc(t->ranks + 1, sizeof(*waited));
	int code = list_new(l, t->ranks) || !caused || !waited ? -ENOMEM : 0;

	if (!code) {
		sum_waits(t, caused, waited);
		add_largest(l, caused, t->ranks, FIRST_RANKS);
		add_largest(l, waited, t->ranks, FIRST_RANKS);
		add_hosts(l, t);
		evenly(t->ranks, list_add, l);
	}
	free(caused);
	free(waited);
	return code;
}

/* Keeps ranks as long as their events of the first steps fit, at least one. */
static int keep_ranks(struct pp_page_part *part, const struct list *steps, uint64_t room)
{
	const struct pp_timeline *t = part->t;
	uint8_t *is_first = calloc(t->steps + 1, 1);
	uint64_t *count = calloc(t->ranks + 1, sizeof(*count)), sum = 0;
	struct list ranks = {.n = 0};
	int code = is_first && count ? order_ranks(t, &ranks) : -ENOMEM;

	if (code)
		goto release;
	for (size_t i = 0; i < steps->n && i < FIRST_STEPS; i++)
		is_first[steps->index[i] + 1] = 1;
	for (size_t i = 0; i < t->events; i++)
		count[rank_of(t, &t->event[i])] += is_first[pp_page_chunk_of(t, &t->event[i])];
	memset(part->has_rank, 0, t->ranks);
	for (size_t i = 0; i < ranks.n && (!i || sum + count[ranks.index[i]] <= room); i++) {
		part->has_rank[ranks.index[i]] = 1;
		sum += count[ranks.index[i]];
	}
release:
	list_free(&ranks);
	free(is_first);
	free(count);
	return code;
}

static void count_chunks(const struct pp_page_part *part, uint64_t *count)
{
	memset(count, 0, (part->t->steps + 1) * sizeof(*count));
	for (size_t i = 0; i < part->t->events; i++)
		count[pp_page_chunk_of(part->t, &part->t->event[i])] += part->has_rank[rank_of(part->t, &part->t->event[i])];
}

/* So long must events of a chunk be that at most `most` are. */
static int shortest(const struct pp_page_part *part, size_t chunk, uint64_t n, uint64_t most, int64_t *ret_ns)
{
	const struct pp_timeline *t = part->t;
	int64_t *length;
	size_t at = 0;

	*ret_ns = 0;
	if (n <= most)
		return 0;
	length = calloc(n + 1, sizeof(*length));
	if (!length)
		return -ENOMEM;
	for (size_t i = 0; i < t->events; i++)
		if (pp_page_chunk_of(t, &t->event[i]) == chunk && part->has_rank[rank_of(t, &t->event[i])])
			length[at++] = t->event[i].end_ns - t->event[i].begin_ns;
	qsort(length, at, sizeof(*length), pp_compare_int64);
	*ret_ns = length[at - most - 1] + 1;
	free(length);
	return 0;
}

/* Sets has_rank, has_chunk and shortest_ns. */
static int choose(struct pp_page_part *part, const struct list *steps, uint64_t *count, uint64_t most)
{
	const uint64_t rest_most = steps->n && part->t->events > most ? most / REST_SHARE : most;
	uint64_t used, first = 0;
	int code;

	count_chunks(part, count);
	used = count[0] < rest_most ? count[0] : rest_most;
	for (size_t i = 0; i < steps->n && i < FIRST_STEPS; i++)
		first += count[steps->index[i] + 1];
	if (first > most - used) {
		code = keep_ranks(part, steps, most - used);
		if (code)
			return code;
		count_chunks(part, count);
		used = count[0] < rest_most ? count[0] : rest_most;
	}
	code = shortest(part, 0, count[0], rest_most, &part->shortest_ns[0]);
	part->has_chunk[0] = 1;
	for (size_t i = 0; i < steps->n && !code; i++) {
		const size_t chunk = steps->index[i] + 1;

		if (!i) /* the pinned step is always there: if it does not fit, only its longest events are */
			code = shortest(part, chunk, count[chunk], most - used, &part->shortest_ns[1]);
		if (i && count[chunk] > most - used)
			continue;
		part->has_chunk[chunk] = 1;
		used += count[chunk] < most - used ? count[chunk] : most - used;
	}
	return code;
}

/* Is the event in the page? Else it is counted by the reason. */
static int take(struct pp_page_part *part, const struct pp_timeline_event *e, size_t chunk)
{
	if (!part->has_rank[rank_of(part->t, e)])
		part->left_ranks++;
	else if (!part->has_chunk[chunk])
		part->left_steps++;
	else if (e->end_ns - e->begin_ns < part->shortest_ns[chunk > 0])
		part->left_short[chunk > 0]++;
	else
		return 1;
	return 0;
}

/* Sets number, event and first: a counting sort by chunk, so the order within a chunk stays that of the timeline. */
static void arrange(struct pp_page_part *part)
{
	const struct pp_timeline *t = part->t;
	size_t *next = part->first;

	for (size_t i = 0; i < t->events; i++) {
		const size_t chunk = pp_page_chunk_of(t, &t->event[i]);

		part->number[i] = take(part, &t->event[i], chunk) ? 0 : PP_PAGE_NO_EVENT;
		if (!part->number[i])
			next[chunk + 1]++;
	}
	for (size_t c = 0; c <= t->steps; c++)
		next[c + 1] += next[c];
	for (size_t i = 0; i < t->events; i++)
		if (part->number[i] != PP_PAGE_NO_EVENT) {
			part->number[i] = (uint32_t)next[pp_page_chunk_of(t, &t->event[i])]++;
			part->event[part->number[i]] = (uint32_t)i;
		}
	memmove(next + 1, next, (t->steps + 1) * sizeof(*next)); /* each chunk's end is the begin of the next */
	next[0] = 0;
}

int pp_page_pick(struct pp_page_part *part, const struct pp_timeline *t, size_t pin, uint64_t events)
{
	uint64_t *count = calloc(t->steps + 1, sizeof(*count));
	struct list steps = {.n = 0};
	int code = -ENOMEM;

	*part = (struct pp_page_part){.t = t,
	                              .has_rank = malloc(t->ranks + 1),
	                              .has_chunk = calloc(t->steps + 1, 1),
	                              .number = pp_huge_malloc((t->events + 1) * sizeof(*part->number)),
	                              .event = pp_huge_malloc((t->events + 1) * sizeof(*part->event)),
	                              .first = calloc(t->steps + 2, sizeof(*part->first))};
	if (part->has_rank && part->has_chunk && part->number && part->event && part->first && count)
		code = order_steps(t, pin < t->steps ? pin : t->steps / 2, &steps);
	if (!code) {
		memset(part->has_rank, 1, t->ranks + 1);
		code = choose(part, &steps, count, events);
	}
	if (!code)
		arrange(part);
	list_free(&steps);
	free(count);
	return code;
}

void pp_page_part_release(struct pp_page_part *part)
{
	free(part->has_rank);
	free(part->has_chunk);
	free(part->number);
	free(part->event);
	free(part->first);
}

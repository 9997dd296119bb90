/* /memory_pool: the pools of devices' memory, from what CUPTI says of the pools themselves and of what they give. Called by
 * build.c; docs/tools.md has the rules. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/table/word.h"
#include "core/base/known.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

struct item { /* a pool's event, or a call of its memory */
	uint64_t address;
	uint32_t device, order;
	int64_t time;
	const struct pp_pool_event *event; /* NULL: a call */
	const struct pp_allocation *call;
};

struct pools {
	struct pp_table out;
	int32_t worker;
	struct item *item;
	size_t items;
};

/* Events come before the calls of their time: they say what the pool is. */
static int compare_item(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int list_items(struct pools *p, const struct pp_rank *rank)
{
	free(p->item);
	p->items = 0;
	p->item = calloc(rank->pool_events + rank->allocations + 1, sizeof(*p->item));
	if (!p->item)
		return -ENOMEM;
	for (size_t i = 0; i < rank->pool_events; i++) {
		const struct pp_pool_event *e = &rank->pool_event[i];

		p->item[p->items] = (struct item){e->address, e->device, (uint32_t)p->items, e->time, e, NULL};
		p->items++;
	}
	for (size_t i = 0; i < rank->allocations; i++) {
		const struct pp_allocation *a = &rank->allocation[i];

		if (!a->pool)
			continue;
		p->item[p->items] = (struct item){a->pool, a->device, (uint32_t)p->items, a->time, NULL, a};
		p->items++;
	}
	qsort(p->item, p->items, sizeof(*p->item), compare_item);
	return 0;
}

static int is_free(const struct item *i)
{
	return i->event ? i->event->action == PP_DEVICE_POOL_FREED : i->call->is_free != 0;
}

/* Handles are used again. Memory of a destroyed pool may be freed later, but nothing new comes from it: what does is of another
 * pool, which was made unseen. */
static int is_another(const struct pp_row_memory_pool *row, const struct item *i)
{
	if (i->event && i->event->action == PP_DEVICE_POOL_CREATED)
		return 1;
	return row->destroyed_ns != PP_WINDOW_NEVER && !is_free(i);
}

static void raise_to(int64_t *most, int64_t bytes)
{
	if (bytes >= 0 && bytes > *most) /* -1: unknown */
		*most = bytes;
}

static void take_event(struct pp_row_memory_pool *row, const struct pp_pool_event *e)
{
	if (e->is_before) /* only what holds when the window begins counts */
		row->most_bytes = row->most_used_bytes = PP_UNKNOWN;
	raise_to(&row->most_bytes, e->size);
	raise_to(&row->most_used_bytes, e->used);
	if (e->threshold >= 0)
		row->threshold_bytes = e->threshold;
	row->trims += e->action == PP_DEVICE_POOL_TRIMMED && !e->is_before;
	if (e->is_imported)
		row->is_imported = 1;
	if (e->action == PP_DEVICE_POOL_CREATED)
		row->created_ns = e->time;
	if (e->action == PP_DEVICE_POOL_DESTROYED)
		row->destroyed_ns = e->time;
}

/* A pool that was destroyed before the window is none of it. Returns the items of the pool, from `at` on. */
static size_t take_pool(struct pools *p, size_t at, int64_t number, struct pp_row_memory_pool *row, int *ret_is_in)
{
	const struct item *first = &p->item[at];
	size_t n;

	*ret_is_in = 0;
	*row = (struct pp_row_memory_pool){.worker = p->worker,
	                                   .device = (int32_t)first->device,
	                                   .address = first->address,
	                                   .number = number,
	                                   .created_ns = PP_WINDOW_NEVER,
	                                   .destroyed_ns = PP_WINDOW_NEVER,
	                                   .most_bytes = PP_UNKNOWN,
	                                   .most_used_bytes = PP_UNKNOWN,
	                                   .threshold_bytes = PP_UNKNOWN};
	for (n = 0; at + n < p->items; n++) {
		const struct item *i = &p->item[at + n];

		if (i->device != first->device || i->address != first->address || (n && is_another(row, i)))
			break;
		if (i->event) {
			take_event(row, i->event);
		} else {
			row->allocations += !i->call->is_free;
			if (!i->call->is_counted)
				raise_to(&row->most_used_bytes, i->call->allocated);
		}
		*ret_is_in |= !i->event || !i->event->is_before;
	}
	*ret_is_in |= row->destroyed_ns == PP_WINDOW_NEVER;
	return n;
}

static int add_pools(struct pools *p, const struct pp_rank *rank)
{
	int64_t number = 0;

	p->worker = rank->rank;
	for (size_t i = 0, n; p->item && i < p->items; i += n) {
		const struct item *before = i ? &p->item[i - 1] : NULL;
		struct pp_row_memory_pool row, *to;
		int is_in;

		if (!before || before->device != p->item[i].device || before->address != p->item[i].address)
			number = 0;
		n = take_pool(p, i, number, &row, &is_in);
		if (!is_in)
			continue;
		to = pp_table_add(&p->out);
		if (!to)
			return -ENOMEM;
		*to = row;
		number++;
	}
	return 0;
}

int pp_join_memory_pool(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct pools p = {.out = {.desc = pp_table_desc(PP_TABLE_memory_pool)}};
	int rc = 0;

	for (size_t r = 0; r < capture->ranks && !rc; r++) {
		rc = list_items(&p, &capture->rank[r]);
		if (!rc)
			rc = add_pools(&p, &capture->rank[r]);
	}
	free(p.item);
	j->d->memory_pool = p.out.row;
	j->d->memory_pools = p.out.rows;
	return rc;
}

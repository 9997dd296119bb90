/* Links what devices ran to the calls that launched it, by their correlation; see device_link.h. Called by device.c. */
#include "aggregate/read/ring/device_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/occupancy.h"
#include "aggregate/read/ring/device_memory.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/category.h"

struct call { /* of the devices' library */
	int64_t begin, end;
	uint32_t correlation, thread, span;
	uint32_t op;                  /* pp_intern id of the innermost range around it; 0: none */
	uint8_t is_launch, is_linked; /* it launches a kernel or graph; something ran by it */
};

struct calls {
	struct call *call;
	size_t calls, room;
	uint32_t *open; /* spans of a thread that are open */
	size_t open_room;
};

PP_COMPARE_BY_2(compare_call, struct call, correlation, begin)

static int is_call(const struct pp_span *s)
{
	return s->kind == PP_SPAN_RANGE && s->source == PP_SOURCE_CUPTI;
}

/* Calls of a thread, each with the innermost range around it that is no such call. */
static int find_calls(struct calls *k, const struct pp_thread *thread, uint32_t number)
{
	size_t opens = 0;

	for (size_t i = 0; i < thread->spans && i < UINT32_MAX; i++) {
		const struct pp_span *s = &thread->span[i];

		if (s->kind != PP_SPAN_RANGE)
			continue;
		while (opens && thread->span[k->open[opens - 1]].end <= s->begin)
			opens--;
		if (!is_call(s)) {
			if (PP_GROW(k->open, opens, k->open_room))
				return -ENOMEM;
			k->open[opens++] = (uint32_t)i;
			continue;
		}
		if (!s->range.id)
			continue;
		if (PP_GROW(k->call, k->calls, k->room))
			return -ENOMEM;
		k->call[k->calls++] =
		        (struct call){.begin = s->begin,
		                      .end = s->end,
		                      .correlation = (uint32_t)s->range.id,
		                      .thread = number,
		                      .span = (uint32_t)i,
		                      .op = opens ? thread->span[k->open[opens - 1]].name : 0,
		                      .is_launch = !s->range.payload_type && s->range.payload == PP_DEVICE_CALL_LAUNCH};
	}
	return 0;
}

/* Libraries use their numbers again: the last call that began before `begin`, else the first one if it began before `end`, as
 * clocks have errors; NULL: none. */
static struct call *find(const struct calls *k, uint32_t correlation, int64_t begin, int64_t end)
{
	size_t low;

	if (!correlation)
		return NULL;
	low = PP_PARTITION(k->calls, at,
	                   k->call[at].correlation < correlation ||
	                           (k->call[at].correlation == correlation && k->call[at].begin <= begin));
	if (low && k->call[low - 1].correlation == correlation)
		return &k->call[low - 1];
	if (low < k->calls && k->call[low].correlation == correlation && k->call[low].begin <= end)
		return &k->call[low];
	return NULL;
}

/* A copy's call is what its direction is; a graph's launch stays one. */
static void name_copy(struct pp_span *call, int activity)
{
	if (call->range.payload_type || call->range.payload != PP_DEVICE_CALL_COPY)
		return;
	if (activity == PP_DEVICE_HOST_TO_DEVICE)
		call->category = PP_CATEGORY_INPUT;
	else if (activity == PP_DEVICE_DEVICE_TO_HOST)
		call->category = PP_CATEGORY_OUTPUT;
}

static void link_stream(struct pp_rank *rank, const struct calls *k, struct pp_thread *stream)
{
	for (size_t i = 0; i < stream->spans; i++) {
		struct pp_span *s = &stream->span[i];
		struct call *c;

		if (s->kind != PP_SPAN_DEVICE)
			continue;
		c = find(k, (uint32_t)s->device.correlation, s->begin, s->end);
		rank->unlaunched += !c;
		if (!c)
			continue;
		c->is_linked = 1;
		s->device.host_thread = c->thread + 1;
		s->device.op = c->op;
		name_copy(&rank->thread[c->thread].span[c->span], s->device.activity);
	}
}

PP_COMPARE_BY_2(compare_thread, struct call, thread, begin)

/* Counts launches of which nothing was recorded. A call of the runtime and the driver's inside are one. */
static uint64_t count_unrun(struct calls *k)
{
	uint64_t unrun = 0;

	if (k->calls)
		qsort(k->call, k->calls, sizeof(*k->call), compare_thread);
	for (size_t i = 0, n; i < k->calls; i += n) {
		int is_launch = k->call[i].is_launch, is_linked = k->call[i].is_linked;
		int64_t end = k->call[i].end;

		for (n = 1; i + n < k->calls && k->call[i + n].thread == k->call[i].thread && k->call[i + n].begin < end; n++) {
			is_launch |= k->call[i + n].is_launch;
			is_linked |= k->call[i + n].is_linked;
			end = k->call[i + n].end > end ? k->call[i + n].end : end;
		}
		unrun += is_launch && !is_linked;
	}
	return unrun;
}

struct place { /* of a track among the threads */
	uint32_t device, stream, before;
};

PP_COMPARE(compare_place, struct place, PP_UP(device) ?: (x->device ? PP_UP(stream) : 0) ?: PP_UP(before))

/* Threads in the order of their begin, then streams by device. */
static int order_threads(struct pp_rank *rank)
{
	struct place *place = calloc(rank->threads, sizeof(*place));
	struct pp_thread *thread = calloc(rank->threads, sizeof(*thread));

	if (!place || !thread) {
		free(place);
		free(thread);
		return -ENOMEM;
	}
	for (size_t t = 0; t < rank->threads; t++)
		place[t] = (struct place){rank->thread[t].device, rank->thread[t].tid, (uint32_t)t};
	qsort(place, rank->threads, sizeof(*place), compare_place);
	for (size_t t = 0; t < rank->threads; t++)
		thread[t] = rank->thread[place[t].before];
	free(place);
	free(rank->thread);
	rank->thread = thread;
	return 0;
}

static void set_occupancy(struct pp_rank *rank)
{
	for (size_t i = 0; i < rank->launches; i++)
		for (size_t d = 0; d < rank->devices; d++)
			if (rank->device[d].number + 1 == rank->launch[i].device)
				rank->launch[i].occupancy = pp_occupancy(&rank->launch[i], &rank->device[d].limits);
}

PP_COMPARE_BY(compare_device, struct pp_device, number)

/* Two processes of one rank may report the same device. */
static void order_devices(struct pp_rank *rank)
{
	size_t remaining = 0;

	if (rank->devices)
		qsort(rank->device, rank->devices, sizeof(*rank->device), compare_device);
	for (size_t i = 0; i < rank->devices; i++)
		if (!remaining || rank->device[remaining - 1].number != rank->device[i].number)
			rank->device[remaining++] = rank->device[i];
	rank->devices = remaining;
}

PP_COMPARE_BY_2(compare_pool_event, struct pp_pool_event, time, record)

static void order_pools(struct pp_rank *rank)
{
	for (size_t i = 0; i < rank->pool_events; i++)
		rank->pool_event[i].record = (uint32_t)i;
	if (rank->pool_events)
		qsort(rank->pool_event, rank->pool_events, sizeof(*rank->pool_event), compare_pool_event);
}

static int has_device(const struct pp_rank *rank)
{
	int has = rank->allocations || rank->devices || rank->pool_events;

	for (size_t t = 0; t < rank->threads && !has; t++)
		has = rank->thread[t].device != 0;
	return has;
}

static int link_all(struct pp_rank *rank, struct calls *k)
{
	int rc = 0;

	for (size_t t = 0; t < rank->threads && !rc; t++)
		if (!rank->thread[t].device)
			rc = find_calls(k, &rank->thread[t], (uint32_t)t);
	if (rc)
		return rc;
	if (k->calls)
		qsort(k->call, k->calls, sizeof(*k->call), compare_call);
	for (size_t t = 0; t < rank->threads; t++)
		if (rank->thread[t].device)
			link_stream(rank, k, &rank->thread[t]);
	for (size_t i = 0; i < rank->allocations; i++) {
		struct pp_allocation *a = &rank->allocation[i];
		const struct call *c = find(k, a->op, a->time, a->time);

		a->op = c ? c->op : 0;
	}
	rank->unrun += count_unrun(k);
	return 0;
}

int pp_device_link(struct pp_rank *rank)
{
	struct calls k = {0};
	int rc;

	order_devices(rank);
	order_pools(rank);
	set_occupancy(rank);
	if (!has_device(rank))
		return 0;
	rc = rank->threads ? order_threads(rank) : 0;
	if (!rc)
		rc = link_all(rank, &k);
	free(k.call);
	free(k.open);
	return rc ? rc : pp_device_count_memory(rank);
}

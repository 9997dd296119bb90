/* Links what devices ran to the calls that launched it, by their correlation; see device_link.h. Called by device.c. */
#include "aggregate/read/ring/device_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/occupancy.h"
#include "aggregate/read/ring/device_call.h"
#include "aggregate/read/ring/device_cover.h"
#include "aggregate/read/ring/device_memory.h"
#include "aggregate/read/ring/device_skew.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/category.h"

/* Ticks, whose rate is not known here: at most 5 in a ns. */
#define FAR INT64_C(5000000000)     /* a second at least: what is farther from its call has its time by another clock */
#define SKEW_MOST INT64_C(50000000) /* 10 ms at least: of a device's clock */

struct call { /* of the devices' library */
	int64_t begin, end;
	int64_t start; /* of the first operation that ran by it; INT64_MIN: none */
	uint32_t correlation, thread, span;
	uint32_t op;       /* pp_intern id of the innermost range around it; 0: none */
	uint32_t stream;   /* thread of the rank that has that operation */
	uint8_t is_launch; /* of a kernel or graph, and it succeeded */
	struct pp_call_payload is;
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
		struct pp_call_payload is = {0};

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
		if (!s->range.payload_type)
			is = pp_call_unpack(s->range.payload);
		if (!s->range.id)
			continue;
		if (PP_GROW(k->call, k->calls, k->room))
			return -ENOMEM;
		k->call[k->calls++] = (struct call){.begin = s->begin,
		                                    .end = s->end,
		                                    .start = INT64_MIN,
		                                    .correlation = (uint32_t)s->range.id,
		                                    .thread = number,
		                                    .span = (uint32_t)i,
		                                    .op = opens ? thread->span[k->open[opens - 1]].name : 0,
		                                    .is_launch = !s->range.payload_type && is.call == PP_DEVICE_CALL_LAUNCH &&
		                                                 is.detail != PP_CALL_OF_HOST,
		                                    .is = is};
	}
	return 0;
}

/* Calls of that number, by begin. */
static size_t calls_of(const struct calls *k, uint32_t correlation, size_t *ret_first)
{
	size_t low = PP_PARTITION(k->calls, at, k->call[at].correlation < correlation), n = 0;

	while (correlation && low + n < k->calls && k->call[low + n].correlation == correlation)
		n++;
	*ret_first = low;
	return n;
}

/* The call by its number alone, where one has it. Libraries use their numbers again, after 2^32 of them: then it is the last one
 * that began before `begin`, or the first one if that began before `end`. NULL: none. */
static struct call *find(const struct calls *k, uint32_t correlation, int64_t begin, int64_t end)
{
	size_t first, n = calls_of(k, correlation, &first), at = n;

	while (at > 1 && k->call[first + at - 1].begin > begin)
		at--;
	if (!n || k->call[first + at - 1].begin - begin > (n > 1 ? end - begin : FAR))
		return NULL;
	return &k->call[first + at - 1];
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

static void link_stream(struct pp_rank *rank, const struct calls *k, uint32_t number)
{
	struct pp_thread *stream = &rank->thread[number];

	for (size_t i = 0; i < stream->spans; i++) {
		struct pp_span *s = &stream->span[i];
		struct call *c;

		if (s->kind != PP_SPAN_DEVICE)
			continue;
		c = find(k, (uint32_t)s->device.correlation, s->begin, s->end);
		rank->unlaunched += !c;
		if (!c)
			continue;
		if (c->start == INT64_MIN || s->begin < c->start) {
			c->start = s->begin;
			c->stream = number;
		}
		s->device.host_thread = c->thread + 1;
		s->device.op = c->op;
		name_copy(&rank->thread[c->thread].span[c->span], s->device.activity);
	}
}

/* Launches of which there is one with that number; what it ran cannot have begun before. A copy that its call waits for cannot have
 * ended later. */
static void measure_launches(const struct calls *k, const struct pp_thread *stream, struct pp_device_skew *skew)
{
	for (size_t i = 0; i < stream->spans; i++) {
		const struct pp_span *s = &stream->span[i];
		size_t first, n = s->kind == PP_SPAN_DEVICE ? calls_of(k, (uint32_t)s->device.correlation, &first) : 0;
		const struct call *c = n == 1 ? &k->call[first] : NULL;

		if (!c || c->begin - s->begin > SKEW_MOST)
			continue;
		pp_device_skew_launched(skew, c->begin, s->begin);
		if (c->is.detail == PP_CALL_COPIES && s->device.activity == PP_DEVICE_DEVICE_TO_HOST && s->end - c->end < SKEW_MOST)
			pp_device_skew_waited(skew, c->end, s->end);
	}
}

/* What was launched on the stream before a call that waits for it began has ended before that call ended. */
static void measure_wait(const struct calls *k, const struct pp_thread *stream, const struct call *wait,
                         struct pp_device_skew *skew)
{
	int64_t ended = INT64_MIN;

	for (size_t i = stream->spans; i-- > 0 && ended == INT64_MIN;) {
		const struct pp_span *s = &stream->span[i];
		size_t first, n = s->kind == PP_SPAN_DEVICE ? calls_of(k, (uint32_t)s->device.correlation, &first) : 0;

		if (n == 1 && k->call[first].end <= wait->begin && wait->begin - s->begin < FAR)
			ended = s->end;
	}
	if (ended != INT64_MIN && ended - wait->end < SKEW_MOST)
		pp_device_skew_waited(skew, wait->end, ended);
}

static void measure_waits(const struct calls *k, const struct pp_thread *stream, struct pp_device_skew *skew)
{
	for (size_t i = 0; i < k->calls; i++) {
		const struct call *c = &k->call[i];
		int is_its = c->is.detail == PP_CALL_WAITS_STREAM && c->is.stream && c->is.stream == stream->tid;

		is_its |= c->is.detail == PP_CALL_WAITS_CONTEXT;
		if (is_its && c->is.context && c->is.context == stream->context)
			measure_wait(k, stream, c, skew);
	}
}

static void shift(struct pp_thread *stream, int64_t by)
{
	for (size_t i = 0; by && i < stream->spans; i++) {
		stream->span[i].begin += by;
		stream->span[i].end += by;
	}
	stream->first += by;
	stream->last += by;
}

/* Puts the times of each device where the order of launches and waits allows them. */
static int correct_clocks(struct pp_rank *rank, const struct calls *k, size_t first_thread)
{
	size_t from = rank->skews;
	int is_usable;

	for (size_t t = first_thread; t < rank->threads; t++) {
		struct pp_device_skew *skew;

		if (!rank->thread[t].device)
			continue;
		skew = pp_device_skew_of(rank, from, rank->thread[t].device);
		if (!skew)
			return -ENOMEM;
		measure_launches(k, &rank->thread[t], skew);
		measure_waits(k, &rank->thread[t], skew);
	}
	for (size_t t = first_thread; t < rank->threads; t++) {
		struct pp_device_skew *skew;
		int64_t by;

		if (!rank->thread[t].device)
			continue;
		skew = pp_device_skew_of(rank, from, rank->thread[t].device);
		by = pp_device_skew_shift(skew, &is_usable);
		skew->is_usable = (uint8_t)is_usable;
		skew->shift = skew->base + by;
		shift(&rank->thread[t], by);
	}
	return 0;
}

int pp_device_clocks(struct pp_rank *rank, size_t first_thread)
{
	struct calls k = {0};
	int rc = 0;

	for (size_t t = first_thread; t < rank->threads && !rc; t++)
		if (!rank->thread[t].device)
			rc = find_calls(&k, &rank->thread[t], (uint32_t)t);
	if (k.calls)
		qsort(k.call, k.calls, sizeof(*k.call), compare_call);
	if (!rc)
		rc = correct_clocks(rank, &k, first_thread);
	free(k.call);
	free(k.open);
	return rc;
}

static void forget_details(struct pp_thread *thread)
{
	for (size_t i = 0; i < thread->spans; i++)
		if (is_call(&thread->span[i]) && !thread->span[i].range.payload_type)
			thread->span[i].range.payload = pp_call_unpack(thread->span[i].range.payload).call;
}

PP_COMPARE_BY_2(compare_thread, struct call, thread, begin)

/* A call of the runtime and the driver's inside are one launch. Room for k->calls in `launch`; returns how many there are. */
static size_t group_launches(struct calls *k, const struct pp_rank *rank, struct pp_cover_launch *launch)
{
	size_t launches = 0;

	if (k->calls)
		qsort(k->call, k->calls, sizeof(*k->call), compare_thread);
	for (size_t i = 0, n; i < k->calls; i += n) {
		struct call one = k->call[i];
		int64_t end = one.end;

		for (n = 1; i + n < k->calls && k->call[i + n].thread == one.thread && k->call[i + n].begin < end; n++) {
			one.is_launch |= k->call[i + n].is_launch;
			if (k->call[i + n].start != INT64_MIN && one.start == INT64_MIN) {
				one.start = k->call[i + n].start;
				one.stream = k->call[i + n].stream;
			}
			end = k->call[i + n].end > end ? k->call[i + n].end : end;
		}
		launch[launches++] = (struct pp_cover_launch){.begin = one.begin,
		                                              .end = end,
		                                              .start = one.start,
		                                              .stream = one.stream,
		                                              .name = rank->thread[one.thread].span[one.span].name,
		                                              .is_launch = one.is_launch};
	}
	return launches;
}

/* Launches between begin and end of a capture go into a graph, on whatever thread. */
static void leave_captured_out(const struct calls *k, struct pp_cover_launch *launch, size_t launches)
{
	for (size_t i = 0; i < k->calls; i++) {
		int64_t end = INT64_MAX;

		if (k->call[i].is.detail != PP_CALL_CAPTURES)
			continue;
		for (size_t e = i + 1; e < k->calls && k->call[e].thread == k->call[i].thread && end == INT64_MAX; e++)
			if (k->call[e].is.detail == PP_CALL_CAPTURED)
				end = k->call[e].end;
		for (size_t l = 0; l < launches; l++)
			if (launch[l].begin >= k->call[i].begin && launch[l].begin < end && launch[l].start == INT64_MIN)
				launch[l].is_launch = 0;
	}
}

static int find_gaps(struct pp_rank *rank, struct calls *k)
{
	struct pp_cover_launch *launch = calloc(k->calls + 1, sizeof(*launch));
	size_t launches;
	int rc;

	if (!launch)
		return -ENOMEM;
	launches = group_launches(k, rank, launch);
	leave_captured_out(k, launch, launches);
	for (size_t i = 0; i < launches; i++)
		rank->unrun += launch[i].is_launch && launch[i].start == INT64_MIN;
	rc = pp_device_cover(rank, launch, launches);
	free(launch);
	return rc;
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
	for (size_t t = 0; t < rank->threads; t++)
		forget_details(&rank->thread[t]);
	if (k->calls)
		qsort(k->call, k->calls, sizeof(*k->call), compare_call);
	for (size_t t = 0; t < rank->threads; t++)
		if (rank->thread[t].device)
			link_stream(rank, k, (uint32_t)t);
	for (size_t i = 0; i < rank->allocations; i++) {
		struct pp_allocation *a = &rank->allocation[i];
		const struct call *c = find(k, a->op, a->time, a->time);

		a->op = c ? c->op : 0;
	}
	return find_gaps(rank, k);
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

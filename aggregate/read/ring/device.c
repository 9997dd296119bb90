/* Records of devices: streams become tracks, calls become ranges of the threads that made them, names and launches are found by
 * their numbers. In: DEVICE to DEVICE_LOST, DEVICE_POOL and DEVICE_COVER records. Out: spans; devices, launches, allocations and
 * pools of the rank. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/communication.h"
#include "aggregate/read/demangle.h"
#include "aggregate/read/launch_table.h"
#include "aggregate/read/ring/device_call.h"
#include "aggregate/read/ring/device_link.h"
#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/rows.h"
#include "aggregate/read/ring/track.h"
#include "core/base/grow.h"
#include "core/base/utf8.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/step/category.h"
#include "core/step/kernel_name.h"

enum {
	DEVICES_MOST = 1024,
	TRACKS_MOST = 4096, /* streams, and as many threads that are known by their calls only */
	STREAM_PLACES = 2 * TRACKS_MOST,
	CALLER_PLACES = 256,
	WRITERS_MOST = 64,
	LAUNCHES_MOST = 1 << 18,
	ALLOCATIONS_MOST = 1 << 18,
	POOL_EVENTS_MOST = 1 << 16,
	POOLS_MOST = 64,
	CLOCK_ERROR_MOST = 1000000000 /* ns */
};

struct name {
	uint32_t id;
	struct pp_kernel_kind kind;
	uint8_t detail; /* enum pp_call_detail, where it is a call's */
};

struct shape {
	struct pp_launch launch;
	uint32_t device, index; /* number + 1, and what pp_launch_put() gave for it; 0: not yet */
};

struct writer { /* a slot, and what its records have numbers for: the writer begins again in each chunk */
	struct writer *next;
	uint32_t slot, names, shapes;
	struct name name[PP_CHUNK_RECORDS];
	struct shape shape[PP_CHUNK_RECORDS];
};

struct devices {
	struct writer *writer;
	size_t writers;
	struct pp_track *stream[STREAM_PLACES]; /* by device, context and stream */
	size_t streams;
	struct pp_track *caller[CALLER_PLACES]; /* found last, by tid */
	size_t callers;                         /* made here */
	struct pp_launch_table launches;
	struct pp_device *device;
	size_t devices, devices_room;
	struct pp_allocation *allocation;
	size_t allocations, allocations_room;
	struct pp_pool_event *pool_event;
	size_t pool_events, pool_events_room;
	struct pp_device_gap *on; /* when the library was on: begin, end (0: not seen), launches: tick since when it was missed */
	size_t ons, ons_room;
	struct pp_kernel_cache kernels;
	struct pp_kernel_texts texts;
	uint32_t copy_name[PP_DEVICE_SET + 2]; /* pp_intern ids by activity; 0: not yet */
	uint64_t pool[POOLS_MOST];             /* addresses of pools of memory, in the order of their first records */
	size_t pools;
	uint64_t unknown;
	int64_t clock_error_ns;
	int is_replay;
};

static struct devices *devices_of(struct pp_pair *p)
{
	return p->state[PP_READER_DEVICE];
}

static int is_bad_interval(const struct pp_record *r, pp_tick end)
{
	return !r->tick || end < r->tick || end > PP_TICK_MOST;
}

static int is_bad(const struct pp_record *r)
{
	switch (r->kind) {
	case PP_RECORD_DEVICE:
		return is_bad_interval(r, r->device.end) || r->device.device >= DEVICES_MOST ||
		       r->device.activity > PP_DEVICE_SET || r->device.activity == PP_DEVICE_COLLECTIVE;
	case PP_RECORD_DEVICE_CALL:
		return is_bad_interval(r, r->device_call.end) || r->device_call.call >= PP_DEVICE_CALLS;
	case PP_RECORD_DEVICE_NAME:
		return !r->length || !r->device_name.number || r->device_name.number > PP_CHUNK_RECORDS;
	case PP_RECORD_DEVICE_LAUNCH:
		return !r->device_launch.number || r->device_launch.number > PP_CHUNK_RECORDS;
	case PP_RECORD_DEVICE_INFO:
		return r->length < sizeof(struct pp_device_limits) || r->device_info.device >= DEVICES_MOST;
	case PP_RECORD_DEVICE_MEMORY:
		return !r->tick || r->device_memory.device >= DEVICES_MOST || r->device_memory.kind > PP_DEVICE_MEMORY_OTHER ||
		       r->device_memory.is_free > 1 || r->device_memory.bytes > PP_TICK_MOST;
	case PP_RECORD_DEVICE_POOL:
		return !r->tick || r->tick > PP_TICK_MOST || r->device_pool.device >= DEVICES_MOST ||
		       r->device_pool.action > PP_DEVICE_POOL_FREED || r->device_pool.is_imported > 1 ||
		       r->device_pool.size > PP_TICK_MOST || r->device_pool.used > PP_TICK_MOST;
	case PP_RECORD_DEVICE_COVER:
		return !r->tick || r->tick > PP_TICK_MOST || r->device_cover.since > r->tick || r->device_cover.is_on > 1;
	default:
		return 0;
	}
}

/* NULL: no memory, or too many slots write such records. */
static struct writer *writer_of(struct devices *d, uint32_t slot)
{
	struct writer *w = d->writer;

	while (w && w->slot != slot)
		w = w->next;
	if (w || d->writers == WRITERS_MOST)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->slot = slot;
	w->next = d->writer;
	d->writer = w;
	d->writers++;
	return w;
}

/* The numbers of a chunk count from 1 without a gap. 0, or -1. */
static int take_name(struct pp_pair *p, struct writer *w, const struct pp_record *r, const char *text, size_t length)
{
	uint32_t number = r->device_name.number;
	struct name *n;

	if (number != 1 && number != w->names + 1)
		return -1;
	w->names = number;
	n = &w->name[number - 1];
	n->id = pp_kernel_text(&devices_of(p)->texts, p->shared->names, pp_pair_intern(p, text, length));
	text = pp_intern_text(p->shared->names, n->id, &length);
	n->kind = pp_kernel_cached(&devices_of(p)->kernels, n->id, text, length); /* every chunk has its names again */
	n->detail = (uint8_t)pp_call_detail(text);
	return 0;
}

static int take_shape(struct writer *w, const struct pp_record *r)
{
	const struct pp_record_device_launch *l = &r->device_launch;
	struct shape *s;

	if (l->number != 1 && l->number != w->shapes + 1)
		return -1;
	w->shapes = l->number;
	s = &w->shape[l->number - 1];
	*s = (struct shape){.launch = {.registers = l->registers,
	                               .static_shared = l->static_shared,
	                               .dynamic_shared = l->dynamic_shared,
	                               .occupancy = -1}};
	memcpy(s->launch.block, l->block, sizeof(s->launch.block));
	memcpy(s->launch.grid, l->grid, sizeof(s->launch.grid));
	return 0;
}

/* Index + 1 of the launch on that device; 0: there are too many. */
static uint32_t launch_on(struct devices *d, struct shape *s, uint32_t device)
{
	if (s->device == device)
		return s->index;
	if (d->launches.launches >= LAUNCHES_MOST)
		return 0;
	s->device = s->launch.device = device;
	s->index = pp_launch_put(&d->launches, &s->launch);
	return s->index;
}

static struct pp_track *new_track(struct pp_pair *p, uint32_t tid, size_t *made)
{
	struct pp_track *track = *made < TRACKS_MOST ? pp_track_make(p, tid) : NULL;

	if (track)
		++*made;
	else
		p->lost[PP_LOSS_NO_THREAD]++;
	return track;
}

static struct pp_track *new_stream(struct pp_pair *p, uint32_t device, uint32_t context, uint32_t stream)
{
	struct pp_track *track = new_track(p, stream, &devices_of(p)->streams);
	int is_other = 0;

	if (!track)
		return NULL;
	track->device = device + 1;
	track->context = context;
	for (const struct pp_track *t = track->next; t; t = t->next)
		is_other |= t->device == track->device && t->context != context;
	snprintf(track->name, sizeof(track->name), is_other ? "stream %u context %u" : "stream %u", stream, context);
	return track;
}

static struct pp_track *stream_of(struct pp_pair *p, uint32_t device, uint32_t context, uint32_t stream)
{
	const uint64_t key = ((uint64_t)context << 32 | stream) ^ (uint64_t)device << 48;
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 40) % STREAM_PLACES;
	struct pp_track **place = devices_of(p)->stream; /* never full; core/base/map.h would ask for memory here */

	while (place[at] && (place[at]->device != device + 1 || place[at]->context != context || place[at]->tid != stream))
		at = (at + 1) % STREAM_PLACES;
	if (!place[at])
		place[at] = new_stream(p, device, context, stream);
	return place[at];
}

static void see(struct pp_track *track, int64_t begin, int64_t end)
{
	track->first = begin < track->first ? begin : track->first;
	track->last = end > track->last ? end : track->last;
}

/* Thread of that tid at that time. Numbers are used again: the newest thread that had begun, else the newest. */
static struct pp_track *caller_of(struct pp_pair *p, uint32_t tid, int64_t begin)
{
	struct pp_track **place = &devices_of(p)->caller[tid % CALLER_PLACES], *known = *place, *any = NULL;

	if (known && known->tid == tid && known->first <= begin)
		return known;
	for (struct pp_track *t = p->tracks; t; t = t->next) {
		if (t->device || t->tid != tid)
			continue;
		if (t->first <= begin)
			return *place = t;
		any = any ? any : t;
	}
	if (!any) {
		any = new_track(p, tid, &devices_of(p)->callers);
		if (any)
			any->is_main = tid && tid == (uint32_t)p->header->pid;
	}
	if (any)
		*place = any;
	return any;
}

static uint32_t name_of_activity(struct pp_pair *p, int activity, int is_peer)
{
	static const char *const text[] = {
	        [PP_DEVICE_KERNEL] = "kernel",
	        [PP_DEVICE_COLLECTIVE] = "kernel",
	        [PP_DEVICE_HOST_TO_DEVICE] = "MemcpyHToD",
	        [PP_DEVICE_DEVICE_TO_HOST] = "MemcpyDToH",
	        [PP_DEVICE_DEVICE_TO_DEVICE] = "MemcpyDToD",
	        [PP_DEVICE_SET] = "Memset",
	        [PP_DEVICE_SET + 1] = "MemcpyDToD (P2P)",
	};
	int which = is_peer && activity == PP_DEVICE_DEVICE_TO_DEVICE ? PP_DEVICE_SET + 1 : activity;
	uint32_t *id = &devices_of(p)->copy_name[which];

	if (!*id)
		*id = pp_pair_intern(p, text[which], strlen(text[which]));
	return *id;
}

static int take_activity(struct pp_pair *p, struct writer *w, const struct pp_record *r)
{
	const struct pp_record_device *d = &r->device;
	const struct name *name;
	struct pp_track *track;
	struct pp_span *span;

	if (d->name > w->names || d->launch > w->shapes)
		return -1;
	name = d->name ? &w->name[d->name - 1] : NULL;
	track = stream_of(p, d->device, d->context, d->stream);
	if (!track)
		return 0;
	span = pp_track_add(track, PP_SPAN_DEVICE, (int64_t)r->tick, 0);
	if (!span)
		return 0;
	see(track, (int64_t)r->tick, (int64_t)d->end);
	pp_track_end_span(span, (int64_t)d->end, 0);
	span->source = PP_SOURCE_CUPTI;
	span->name = name && name->id ? name->id : name_of_activity(p, d->activity, d->peer != 0);
	span->device =
	        (struct pp_span_device){.correlation = d->correlation,
	                                .bytes = d->bytes,
	                                .step = -1,
	                                .launch = d->launch ? launch_on(devices_of(p), &w->shape[d->launch - 1], track->device) : 0,
	                                .activity = d->activity};
	if (d->activity == PP_DEVICE_KERNEL && name) {
		span->device.activity = pp_kernel_is_one(name->kind.activity) ? name->kind.activity : PP_DEVICE_KERNEL;
		span->device.precision = name->kind.precision;
	}
	return 0;
}

/* Time in which nothing else runs. A copy's is known by its direction, which device_link.c finds. */
static uint8_t category_of(int call)
{
	static const uint8_t category[PP_DEVICE_CALLS] = {
	        [PP_DEVICE_CALL_LAUNCH] = PP_CATEGORY_KERNEL_LAUNCH, [PP_DEVICE_CALL_COPY] = PP_CATEGORY_KERNEL_LAUNCH,
	        [PP_DEVICE_CALL_MEMORY] = PP_CATEGORY_HOST_COMPUTE,  [PP_DEVICE_CALL_SYNC] = PP_CATEGORY_OTHER,
	        [PP_DEVICE_CALL_COMPILE] = PP_CATEGORY_COMPILATION,  [PP_DEVICE_CALL_OVERHEAD] = PP_CATEGORY_OTHER,
	        [PP_DEVICE_CALL_OTHER] = PP_CATEGORY_HOST_COMPUTE,
	};

	return category[call];
}

static int take_call(struct pp_pair *p, struct writer *w, const struct pp_record *r)
{
	const struct pp_record_device_call *c = &r->device_call;
	struct pp_track *track;
	struct pp_span *span;

	if (c->name > w->names)
		return -1;
	track = caller_of(p, c->tid, (int64_t)r->tick);
	span = track ? pp_track_add(track, PP_SPAN_RANGE, (int64_t)r->tick, c->name ? w->name[c->name - 1].id : 0) : NULL;
	if (!span)
		return 0;
	see(track, (int64_t)r->tick, (int64_t)c->end);
	pp_track_end_span(span, (int64_t)c->end, c->result ? PP_SPAN_FAILED : 0);
	span->source = PP_SOURCE_CUPTI;
	span->category = category_of(c->call);
	span->range.id = c->correlation;
	span->range.origin = PP_ORIGIN_RUNTIME;
	span->range.payload = pp_call_pack((struct pp_call_payload){.call = c->call,
	                                                            .detail = c->name ? w->name[c->name - 1].detail : 0,
	                                                            .context = c->context,
	                                                            .stream = c->stream}); /* for device_link.c: no payload */
	if (c->result) {
		span->range.payload_type = PP_PAYLOAD_INT32;
		span->range.payload = (uint32_t)c->result;
	}
	return 0;
}

static void take_info(struct pp_pair *p, const struct pp_record *r, const char *text, size_t length)
{
	struct devices *d = devices_of(p);
	struct pp_device one = {.number = r->device_info.device,
	                        .kind = "GPU",
	                        .is_slice = r->device_info.is_slice != 0,
	                        .pci = r->device_info.pci};
	char good[3 * sizeof(one.name)] = "";
	size_t at = 0, name;

	memcpy(&one.limits, text, sizeof(one.limits));
	one.memory = one.limits.memory;
	name = strnlen(text + sizeof(one.limits), length - sizeof(one.limits));
	pp_utf8_repair(good, text + sizeof(one.limits), name < sizeof(one.name) ? name : sizeof(one.name) - 1);
	snprintf(one.name, sizeof(one.name), "%.*s", pp_utf8_fit(good, (int)sizeof(one.name) - 1), good);
	while (at < d->devices && d->device[at].number != one.number)
		at++;
	if (at == d->devices) {
		if (PP_GROW(d->device, d->devices, d->devices_room))
			return;
		d->devices++;
	}
	d->device[at] = one;
}

/* Number of a pool, from 0; POOLS_MOST: of all beyond. */
static size_t number_of_pool(struct devices *d, uint64_t pool)
{
	size_t at = 0;

	while (at < d->pools && d->pool[at] != pool)
		at++;
	if (at == d->pools && at < POOLS_MOST)
		d->pool[d->pools++] = pool;
	return at;
}

/* A pool takes its memory from the device by itself: what it gives is not what the device's own calls give. */
static uint32_t allocator_of(struct pp_pair *p, const struct pp_record_device_memory *m)
{
	static const char *const behind[] = {
	        [PP_DEVICE_MEMORY_DEVICE] = "",
	        [PP_DEVICE_MEMORY_MANAGED] = "_managed",
	        [PP_DEVICE_MEMORY_PINNED] = "",
	        [PP_DEVICE_MEMORY_OTHER] = "_other",
	};
	char text[32] = "CPU_pinned";

	if (m->pool)
		snprintf(text, sizeof(text), "GPU_%u_pool_%zu", m->device, number_of_pool(devices_of(p), m->pool));
	else if (m->kind != PP_DEVICE_MEMORY_PINNED)
		snprintf(text, sizeof(text), "GPU_%u%s", m->device, behind[m->kind]);
	return pp_pair_intern(p, text, strlen(text));
}

static void take_memory(struct pp_pair *p, const struct pp_record *r)
{
	const struct pp_record_device_memory *m = &r->device_memory;
	struct devices *d = devices_of(p);
	struct pp_allocation *more;

	more = pp_rows_grow(d->allocation, &d->allocations, &d->allocations_room, sizeof(*more), ALLOCATIONS_MOST,
	                    &p->lost[PP_LOSS_EVICTED]);
	if (!more)
		return;
	d->allocation = more;
	d->allocation[d->allocations++] = (struct pp_allocation){
	        .time = (int64_t)r->tick,
	        .allocator = allocator_of(p, m),
	        .op = m->correlation, /* until device_link.c finds its call */
	        .is_free = m->is_free,
	        .step = -1,
	        .address = m->address,
	        .requested = m->bytes ? (int64_t)m->bytes : -1,
	        .bytes = m->bytes ? (int64_t)m->bytes : -1,
	        .allocated = m->pool && m->pool_used < PP_TICK_MOST ? (int64_t)m->pool_used : -1, /* as the pool reports it */
	        .reserved = -1,
	        .available = -1,
	        .peak = -1,
	        .fragmentation = -1,
	        .pool = m->pool,
	        .device = m->device,
	};
}

static void take_pool(struct pp_pair *p, const struct pp_record *r)
{
	const struct pp_record_device_pool *one = &r->device_pool;
	struct devices *d = devices_of(p);
	struct pp_pool_event *more;

	more = pp_rows_grow(d->pool_event, &d->pool_events, &d->pool_events_room, sizeof(*more), POOL_EVENTS_MOST,
	                    &p->lost[PP_LOSS_EVICTED]);
	if (!more)
		return;
	d->pool_event = more;
	d->pool_event[d->pool_events++] = (struct pp_pool_event){
	        .time = (int64_t)r->tick,
	        .address = one->address,
	        .size = one->is_imported ? -1 : (int64_t)one->size,
	        .used = one->is_imported ? -1 : (int64_t)one->used,
	        .threshold = one->is_imported             ? -1
	                     : one->threshold > INT64_MAX ? INT64_MAX
	                                                  : (int64_t)one->threshold,
	        .device = one->device,
	        .action = one->action,
	        .is_imported = one->is_imported,
	};
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void take_lost(struct pp_pair *p, const struct pp_record_device_lost *l)
{
	p->lost[PP_LOSS_DEVICE_DROPPED] = add(p->lost[PP_LOSS_DEVICE_DROPPED], l->dropped);
	p->lost[PP_LOSS_DEVICE_UNTIMED] = add(p->lost[PP_LOSS_DEVICE_UNTIMED], l->untimed);
	p->lost[PP_LOSS_DEVICE_REVERSED] = add(p->lost[PP_LOSS_DEVICE_REVERSED], l->reversed);
	p->lost[PP_LOSS_DEVICE_OTHER_CLOCK] = add(p->lost[PP_LOSS_DEVICE_OTHER_CLOCK], l->of_other_clock);
	devices_of(p)->unknown = add(devices_of(p)->unknown, l->unknown);
	if (l->clock_error_ns > (uint64_t)devices_of(p)->clock_error_ns && l->clock_error_ns <= CLOCK_ERROR_MOST)
		devices_of(p)->clock_error_ns = (int64_t)l->clock_error_ns;
}

static void take_cover(struct pp_pair *p, const struct pp_record *r)
{
	struct devices *d = devices_of(p);

	if (!r->device_cover.is_on) {
		if (d->ons && !d->on[d->ons - 1].end)
			d->on[d->ons - 1].end = (int64_t)r->tick;
		return;
	}
	if (PP_GROW(d->on, d->ons, d->ons_room))
		return;
	d->on[d->ons++] = (struct pp_device_gap){
	        .begin = (int64_t)r->tick, .launches = r->device_cover.since, .is_idle = r->device_cover.is_idle != 0};
}

static int is_replay(const struct pp_record *r)
{
	switch (r->kind) {
	case PP_RECORD_DEVICE:
		return r->device.is_replay;
	case PP_RECORD_DEVICE_CALL:
		return r->device_call.is_replay;
	case PP_RECORD_DEVICE_INFO:
		return r->device_info.is_replay;
	case PP_RECORD_DEVICE_MEMORY:
		return r->device_memory.is_replay != 0;
	case PP_RECORD_DEVICE_POOL:
		return r->device_pool.is_replay != 0;
	default:
		return 0;
	}
}

static void take(struct pp_pair *p, uint32_t slot, const struct pp_record *r, const char *text, size_t length)
{
	struct devices *d = pp_pair_state(p, PP_READER_DEVICE, sizeof(*d));
	struct writer *w = d ? writer_of(d, slot) : NULL;
	int rc = 0;

	if (!w) {
		p->lost[PP_LOSS_NO_THREAD]++;
		return;
	}
	d->is_replay |= is_replay(r);
	switch (r->kind) {
	case PP_RECORD_DEVICE:
		rc = take_activity(p, w, r);
		break;
	case PP_RECORD_DEVICE_CALL:
		rc = take_call(p, w, r);
		break;
	case PP_RECORD_DEVICE_NAME:
		rc = take_name(p, w, r, text, length);
		break;
	case PP_RECORD_DEVICE_LAUNCH:
		rc = take_shape(w, r);
		break;
	case PP_RECORD_DEVICE_INFO:
		if (length < sizeof(struct pp_device_limits)) /* the record says more than follows */
			rc = -1;
		else
			take_info(p, r, text, length);
		break;
	case PP_RECORD_DEVICE_MEMORY:
		take_memory(p, r);
		break;
	case PP_RECORD_DEVICE_POOL:
		take_pool(p, r);
		break;
	case PP_RECORD_DEVICE_COVER:
		take_cover(p, r);
		break;
	default:
		take_lost(p, &r->device_lost);
	}
	p->lost[PP_LOSS_BAD_RECORD] += rc != 0;
}

static struct pp_track *adopt(struct pp_pair *p, uint32_t tid)
{
	const struct devices *d = devices_of(p);
	struct pp_track *t = p->tracks;

	if (!d || !d->callers)
		return NULL;
	while (t && (t->device || t->slot != PP_NO_SLOT || t->tid != tid))
		t = t->next;
	return t;
}

static void forget(struct pp_pair *p)
{
	if (devices_of(p))
		memset(devices_of(p)->caller, 0, sizeof(devices_of(p)->caller));
}

static void drop_between(struct pp_pair *p, int64_t from, int64_t to)
{
	struct devices *d = devices_of(p);

	if (!d)
		return;
	pp_rows_drop(d->allocation, &d->allocations, sizeof(*d->allocation), offsetof(struct pp_allocation, time), from, to);
	pp_rows_drop(d->pool_event, &d->pool_events, sizeof(*d->pool_event), offsetof(struct pp_pool_event, time), from, to);
	d->unknown = 0;
}

static void remark(const struct devices *d, struct pp_rank *rank)
{
	char text[PP_REMARK_TEXT];

	if (d->is_replay)
		pp_remark_add(rank->remark, &rank->remarks, "device records are a replay of recorded data: no device ran");
	if (!d->unknown)
		return;
	snprintf(text, sizeof(text),
	         "%" PRIu64 " records of CUPTI have a kind or version that podprof does not know: they are not shown", d->unknown);
	pp_remark_add(rank->remark, &rank->remarks, text);
}

static int finish(struct pp_pair *p, struct pp_rank *rank, size_t first_thread)
{
	const struct devices *d = devices_of(p);
	uint32_t before = (uint32_t)rank->launches;
	int rc;

	if (!d)
		return 0;
	rank->device_replay |= d->is_replay;
	rank->device_error_ns = d->clock_error_ns > rank->device_error_ns ? d->clock_error_ns : rank->device_error_ns;
	remark(d, rank);
	rc = pp_side_append(rank, PP_SIDE_ID_launch, d->launches.launch, d->launches.launches);
	if (!rc)
		rc = pp_side_append(rank, PP_SIDE_ID_device, d->device, d->devices);
	if (!rc)
		rc = pp_side_append(rank, PP_SIDE_ID_allocation, d->allocation, d->allocations);
	if (!rc)
		rc = pp_side_append(rank, PP_SIDE_ID_pool_event, d->pool_event, d->pool_events);
	if (!rc)
		rc = pp_side_append(rank, PP_SIDE_ID_gap, d->on, d->ons);
	/* Spans of this ring have launches by its own table. */
	for (size_t t = first_thread; !rc && before && t < rank->threads; t++)
		for (size_t i = 0; rank->thread[t].device && i < rank->thread[t].spans; i++)
			if (rank->thread[t].span[i].device.launch)
				rank->thread[t].span[i].device.launch += before;
	return rc ? rc : pp_device_clocks(rank, first_thread);
}

static int finish_capture(struct pp_capture *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->ranks && !rc; i++) {
		rc = pp_device_link(&c->rank[i]);
		rc = rc ? rc : pp_communication_find(&c->rank[i], c->names);
	}
	return rc;
}

static void release(struct pp_pair *p)
{
	struct devices *d = devices_of(p);

	while (d && d->writer) {
		struct writer *next = d->writer->next;

		free(d->writer);
		d->writer = next;
	}
	if (!d)
		return;
	pp_launch_release(&d->launches);
	pp_kernel_cache_release(&d->kernels);
	pp_kernel_texts_release(&d->texts);
	free(d->device);
	free(d->allocation);
	free(d->pool_event);
	free(d->on);
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_DEVICE, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_DEVICE_CALL, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_DEVICE_NAME, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_DEVICE_LAUNCH, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_DEVICE_INFO, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_DEVICE_MEMORY, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_DEVICE_LOST, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_DEVICE_POOL, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_DEVICE_COVER, .is_bad = is_bad, .take_of_slot = take},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_device = {
        .name = "device",
        .kinds = kinds,
        .adopt = adopt,
        .forget = forget,
        .drop_between = drop_between,
        .finish = finish,
        .finish_capture = finish_capture,
        .release = release,
};

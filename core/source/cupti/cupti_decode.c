/* Reads CUPTI's records and writes ours. Called by cupti_session.c on podprof's thread. */
#include "core/source/cupti/cupti_decode.h"

#include <stdlib.h>
#include <string.h>

#include "core/ring/thread_ring.h"
#include "core/source/cupti/cupti_library.h"

enum { GIB_KB = 1000, COPY_KINDS = 11, MEMORY_KINDS = 8 };

void pp_cupti_decode_init(struct pp_cupti_decode *d, const struct pp_cupti_api *api)
{
	enum { DRIVER, RUNTIME };

	d->api = api;
	memset(d->pool, 0, sizeof(d->pool));
#define PP_CUPTI_CALL(domain, number, text, class)                                                                                 \
	d->call[domain][number] = (struct pp_cupti_call_row){text, PP_DEVICE_CALL_##class};
#include "core/source/cupti/cupti_call.def"
#undef PP_CUPTI_CALL
}

int pp_cupti_decode_wants(const struct pp_cupti_decode *d, int runtime, uint32_t number)
{
	return number < PP_CUPTI_NUMBERS && d->call[runtime][number].name;
}

/* 0: it has no time. */
static int map(struct pp_cupti_decode *d, uint64_t start, uint64_t end, pp_tick *ret_begin, pp_tick *ret_end)
{
	if (!start || !end)
		d->untimed++;
	else if (start > end)
		d->reversed++;
	else if (!pp_cupti_clock_map(&d->clock, start, ret_begin) || !pp_cupti_clock_map(&d->clock, end, ret_end) ||
	         *ret_begin > *ret_end)
		d->of_other_clock++;
	else
		return 1;
	return 0;
}

/* As map(), of a moment. */
static int map_one(struct pp_cupti_decode *d, uint64_t time, pp_tick *ret_tick)
{
	if (!time)
		d->untimed++;
	else if (!pp_cupti_clock_map(&d->clock, time, ret_tick))
		d->of_other_clock++;
	else
		return 1;
	return 0;
}

static uint16_t device_of(uint32_t id)
{
	return id < UINT16_MAX ? (uint16_t)id : UINT16_MAX;
}

static void kernel(struct pp_cupti_decode *d, const struct pp_cupti_kernel *k)
{
	struct pp_record r = {.kind = PP_RECORD_DEVICE};
	struct pp_record_device_launch l = {.registers = k->registers,
	                                    .static_shared = (uint32_t)k->static_shared,
	                                    .dynamic_shared = (uint32_t)k->dynamic_shared};

	if (k->end)
		pp_cupti_due_record(&d->due, k->correlation);
	if (!map(d, k->start, k->end, &r.tick, &r.device.end))
		return;
	for (int i = 0; i < 3; i++) {
		l.block[i] = (uint32_t)k->block[i];
		l.grid[i] = (uint32_t)k->grid[i];
	}
	r.device.correlation = k->correlation;
	r.device.stream = k->stream;
	r.device.context = k->context;
	r.device.graph = k->graph;
	r.device.device = device_of(k->device);
	r.device.activity = PP_DEVICE_KERNEL;
	r.device.is_replay = (uint8_t)d->api->is_replay;
	pp_cupti_write(&d->names, &r, &r.device.name, k->name ? k->name : "(no name)", &r.device.launch, &l);
}

/* Unknown kinds of copies, and those from host to host, are no activity of a device that podprof knows. */
static int activity_of(uint8_t copy, uint8_t from, uint8_t to)
{
	static const signed char known[COPY_KINDS] = {-1,
	                                              PP_DEVICE_HOST_TO_DEVICE,
	                                              PP_DEVICE_DEVICE_TO_HOST,
	                                              PP_DEVICE_HOST_TO_DEVICE,
	                                              PP_DEVICE_DEVICE_TO_HOST,
	                                              PP_DEVICE_DEVICE_TO_DEVICE,
	                                              PP_DEVICE_DEVICE_TO_DEVICE,
	                                              PP_DEVICE_DEVICE_TO_DEVICE,
	                                              PP_DEVICE_DEVICE_TO_DEVICE,
	                                              -1,
	                                              PP_DEVICE_DEVICE_TO_DEVICE};
	int from_host = from == 1 || from == 2, to_host = to == 1 || to == 2;

	if (copy < COPY_KINDS && known[copy] >= 0)
		return known[copy];
	if (!from || !to || (from_host && to_host))
		return -1;
	return from_host ? PP_DEVICE_HOST_TO_DEVICE : to_host ? PP_DEVICE_DEVICE_TO_HOST : PP_DEVICE_DEVICE_TO_DEVICE;
}

static void copied(struct pp_cupti_decode *d, struct pp_record *r, uint64_t start, uint64_t end)
{
	r->kind = PP_RECORD_DEVICE;
	r->device.is_replay = (uint8_t)d->api->is_replay;
	if (end)
		pp_cupti_due_record(&d->due, r->device.correlation); /* a graph may have copies only */
	if (map(d, start, end, &r->tick, &r->device.end))
		pp_cupti_write(&d->names, r, NULL, NULL, NULL, NULL);
}

static void copy(struct pp_cupti_decode *d, const struct pp_cupti_memcpy *c)
{
	int activity = activity_of(c->copy, c->from, c->to);
	struct pp_record r = {.device = {.bytes = c->bytes,
	                                 .correlation = c->correlation,
	                                 .stream = c->stream,
	                                 .context = c->context,
	                                 .graph = c->graph,
	                                 .device = device_of(c->device),
	                                 .activity = (uint8_t)activity}};

	if (activity < 0)
		d->unknown++;
	else
		copied(d, &r, c->start, c->end);
}

static void copy_between(struct pp_cupti_decode *d, const struct pp_cupti_memcpy2 *c)
{
	uint32_t other = c->device == c->from_device ? c->to_device : c->from_device;
	struct pp_record r = {.device = {.bytes = c->bytes,
	                                 .correlation = c->correlation,
	                                 .stream = c->stream,
	                                 .context = c->context,
	                                 .graph = c->graph,
	                                 .peer = other + 1,
	                                 .device = device_of(c->device),
	                                 .activity = PP_DEVICE_DEVICE_TO_DEVICE}};

	copied(d, &r, c->start, c->end);
}

static void set(struct pp_cupti_decode *d, const struct pp_cupti_memset *s)
{
	struct pp_record r = {.device = {.bytes = s->bytes,
	                                 .correlation = s->correlation,
	                                 .stream = s->stream,
	                                 .context = s->context,
	                                 .graph = s->graph,
	                                 .device = device_of(s->device),
	                                 .activity = PP_DEVICE_SET}};

	copied(d, &r, s->start, s->end);
}

static void called(struct pp_cupti_decode *d, struct pp_record *r, const char *name, uint64_t start, uint64_t end)
{
	r->kind = PP_RECORD_DEVICE_CALL;
	r->device_call.is_replay = (uint8_t)d->api->is_replay;
	if (map(d, start, end, &r->tick, &r->device_call.end))
		pp_cupti_write(&d->names, r, &r->device_call.name, name, NULL, NULL);
}

static void follow_launch(struct pp_cupti_decode *d, const struct pp_cupti_call_row *row, const struct pp_cupti_call *c)
{
	if (c->result)
		return;
	if (row->call == PP_DEVICE_CALL_LAUNCH && !strstr(row->name, "HostFunc"))
		pp_cupti_due_call(&d->due, c->correlation, c->tid, c->start, c->end);
	else if (row->call == PP_DEVICE_CALL_OTHER && strstr(row->name, "Capture"))
		pp_cupti_due_capture(&d->due, strstr(row->name, "EndCapture") != NULL, c->start);
}

static void call(struct pp_cupti_decode *d, const struct pp_cupti_call *c)
{
	const struct pp_cupti_call_row *row;
	struct pp_record r = {.device_call = {.correlation = c->correlation, .tid = c->tid, .result = (int32_t)c->result}};
	uint32_t at = c->correlation % PP_CUPTI_SYNCS;

	/* CUPTI that cannot select calls reports all of them, polls too. */
	if (!pp_cupti_decode_wants(d, c->kind == PP_CUPTI_RUNTIME, c->number) || (d->own_tid && c->tid == d->own_tid))
		return;
	row = &d->call[c->kind == PP_CUPTI_RUNTIME][c->number];
	r.device_call.call = row->call;
	follow_launch(d, row, c);
	if (row->call == PP_DEVICE_CALL_SYNC && c->correlation && d->sync[at].correlation == c->correlation) {
		r.device_call.stream = d->sync[at].stream;
		r.device_call.context = d->sync[at].context;
	}
	called(d, &r, row->name, c->start, c->end);
}

/* Has no thread: its call's record, which follows, has one. */
static void waited(struct pp_cupti_decode *d, const struct pp_cupti_sync *s)
{
	uint32_t at = s->correlation % PP_CUPTI_SYNCS;

	if (s->type == PP_CUPTI_SYNC_STREAM_WAIT)
		return;
	d->sync[at].correlation = s->correlation;
	d->sync[at].stream = s->stream == UINT32_MAX ? 0 : s->stream;
	d->sync[at].context = s->context;
}

static void overhead(struct pp_cupti_decode *d, const struct pp_cupti_overhead *o, size_t bytes)
{
	static const char *const names[] = {"CUDA: compile for the device",   "CUPTI: buffer flush",
	                                    "CUPTI: instrumentation",         "CUPTI: resources",
	                                    "CUDA: load modules at run time", "CUDA: load functions lazily",
	                                    "CUDA: command buffer full",      "CUPTI: buffer request",
	                                    "CUPTI: unified memory"};
	uint32_t at = o->overhead == 1 ? 0 : o->overhead >> 16;
	struct pp_record r = {.device_call = {.call = at ? PP_DEVICE_CALL_OVERHEAD : PP_DEVICE_CALL_COMPILE,
	                                      .tid = o->object == PP_CUPTI_OBJECT_THREAD ? o->tid : 0}};

	if (d->api->version >= PP_CUPTI_API_OVERHEAD_DATA && bytes >= sizeof(*o)) {
		r.device_call.correlation = o->correlation;
		free(o->data);
	}
	if (!o->start && !o->end) /* CUPTI says so of overhead that it could not measure */
		return;
	called(d, &r, at < sizeof(names) / sizeof(names[0]) ? names[at] : "CUPTI: other overhead", o->start, o->end);
}

static void jit(struct pp_cupti_decode *d, const struct pp_cupti_jit *j, size_t bytes)
{
	struct pp_record r = {
	        .device_call = {.call = PP_DEVICE_CALL_COMPILE, .correlation = j->correlation, .device = device_of(j->device)}};

	if (d->api->version >= PP_CUPTI_API_JIT_THREAD && bytes >= sizeof(*j))
		r.device_call.tid = j->tid;
	called(d, &r, "CUDA: compile just in time", j->start, j->end);
}

static size_t place_of_pool(uint64_t address, uint32_t device)
{
	return (size_t)((address + device) * UINT64_C(0x9e3779b97f4a7c15) >> 58) % PP_CUPTI_POOLS;
}

static void put_pool(struct pp_cupti_decode *d, const struct pp_cupti_memory_pool *p, pp_tick tick, uint8_t action)
{
	int is_local = p->type == PP_CUPTI_POOL_LOCAL;
	size_t at = place_of_pool(p->address, p->device);
	struct pp_record r = {.tick = tick,
	                      .kind = PP_RECORD_DEVICE_POOL,
	                      .device_pool = {.address = p->address,
	                                      .size = is_local ? p->size : 0,
	                                      .used = is_local ? p->used : 0,
	                                      .threshold = is_local ? p->threshold : 0,
	                                      .correlation = p->correlation,
	                                      .device = device_of(p->device),
	                                      .action = action,
	                                      .is_imported = !is_local,
	                                      .is_replay = d->api->is_replay != 0}};

	if (!pp_ring_put(&r, NULL, 0))
		return; /* counted; the pool's next record says it again */
	d->pool[at].address = p->address;
	d->pool[at].size = p->size;
	d->pool[at].threshold = p->threshold;
	d->pool[at].device = p->device;
	d->pool[at].type = action == PP_DEVICE_POOL_DESTROYED ? 0 : p->type;
}

static void pool(struct pp_cupti_decode *d, const struct pp_cupti_memory_pool *p)
{
	static const uint8_t actions[] = {[PP_CUPTI_POOL_CREATED] = PP_DEVICE_POOL_CREATED,
	                                  [PP_CUPTI_POOL_DESTROYED] = PP_DEVICE_POOL_DESTROYED,
	                                  [PP_CUPTI_POOL_TRIMMED] = PP_DEVICE_POOL_TRIMMED};
	pp_tick tick;

	if (!p->action || p->action > PP_CUPTI_POOL_TRIMMED ||
	    (p->type != PP_CUPTI_POOL_LOCAL && p->type != PP_CUPTI_POOL_IMPORTED))
		d->unknown++;
	else if (map_one(d, p->timestamp, &tick))
		put_pool(d, p, tick, actions[p->action]);
}

/* CUPTI reports a pool when the program makes, trims or destroys it; its size changes with allocations, whose records have it. */
static void pool_of(struct pp_cupti_decode *d, const struct pp_cupti_memory *m, pp_tick tick)
{
	size_t at = place_of_pool(m->pool, m->device);
	const struct pp_cupti_memory_pool p = {.type = m->pool_type,
	                                       .correlation = m->correlation,
	                                       .device = m->device,
	                                       .address = m->pool,
	                                       .size = m->pool_size,
	                                       .threshold = m->threshold,
	                                       .used = m->pool_used};

	if (d->pool[at].address == p.address && d->pool[at].device == p.device && d->pool[at].type == p.type &&
	    (p.type != PP_CUPTI_POOL_LOCAL || (d->pool[at].size == p.size && d->pool[at].threshold == p.threshold)))
		return;
	put_pool(d, &p, tick, m->operation == 2 ? PP_DEVICE_POOL_FREED : PP_DEVICE_POOL_ALLOCATED);
}

static void memory(struct pp_cupti_decode *d, const struct pp_cupti_memory *m)
{
	static const uint8_t kinds[MEMORY_KINDS] = {PP_DEVICE_MEMORY_OTHER,  PP_DEVICE_MEMORY_OTHER,  PP_DEVICE_MEMORY_PINNED,
	                                            PP_DEVICE_MEMORY_DEVICE, PP_DEVICE_MEMORY_DEVICE, PP_DEVICE_MEMORY_MANAGED,
	                                            PP_DEVICE_MEMORY_DEVICE, PP_DEVICE_MEMORY_MANAGED};
	struct pp_record r = {.kind = PP_RECORD_DEVICE_MEMORY,
	                      .device_memory = {.address = m->address,
	                                        .bytes = m->bytes,
	                                        .correlation = m->correlation,
	                                        .stream = m->stream == UINT32_MAX ? 0 : m->stream,
	                                        .device = device_of(m->device),
	                                        .kind = m->memory < MEMORY_KINDS ? kinds[m->memory] : PP_DEVICE_MEMORY_OTHER,
	                                        .is_free = m->operation == 2,
	                                        .is_replay = d->api->is_replay != 0}};

	if (m->operation != 1 && m->operation != 2) {
		d->unknown++;
		return;
	}
	if (m->pool_type) {
		r.device_memory.pool = m->pool;
		r.device_memory.pool_used = m->pool_type == PP_CUPTI_POOL_LOCAL ? m->pool_used : 0;
	}
	if (!map_one(d, m->timestamp, &r.tick))
		return;
	if (m->pool_type)
		pool_of(d, m, r.tick);
	pp_cupti_write(&d->names, &r, NULL, NULL, NULL, NULL);
}

static void device(struct pp_cupti_decode *d, const struct pp_cupti_device *c)
{
	struct pp_record r = {
	        .tick = pp_tick_now(),
	        .kind = PP_RECORD_DEVICE_INFO,
	        .device_info = {.device = device_of(c->id), .is_replay = d->api->is_replay != 0, .is_slice = c->is_mig}};
	const uint8_t *uuid = c->is_mig ? c->mig_uuid : c->uuid;
	char text[sizeof(struct pp_device_limits) + 128];
	struct pp_device_limits l = {.memory = c->memory,
	                             .bandwidth = c->bandwidth * GIB_KB,
	                             .capability = c->major_number << 16 | c->minor_number,
	                             .multiprocessors = c->multiprocessors,
	                             .warps = c->warps,
	                             .blocks = c->blocks,
	                             .registers = c->registers,
	                             .shared = c->shared,
	                             .warp_threads = c->warp_threads,
	                             .block_registers = c->block_registers,
	                             .block_shared = c->block_shared,
	                             .clock_khz = c->clock_khz};
	size_t length = c->name ? strnlen(c->name, sizeof(text) - sizeof(l)) : 0;

	memcpy(l.uuid, uuid, sizeof(l.uuid));
	r.device_info.pci = pp_cuda_pci(uuid);
	memcpy(text, &l, sizeof(l));
	memcpy(text + sizeof(l), c->name ? c->name : "", length);
	length += sizeof(l);
	r.length = (uint32_t)length;
	memcpy(r.device_info.text, text, PP_TEXT_INLINE);
	pp_ring_put(&r, text + PP_TEXT_INLINE, (uint32_t)length - PP_TEXT_INLINE);
}

/* Bytes that podprof reads of a record of this kind; 0: unknown. */
static size_t needs(uint32_t kind)
{
	switch (kind) {
	case PP_CUPTI_KERNEL:
		return sizeof(struct pp_cupti_kernel);
	case PP_CUPTI_MEMCPY:
		return offsetof(struct pp_cupti_memcpy, graph) + sizeof(uint32_t);
	case PP_CUPTI_MEMCPY2:
		return offsetof(struct pp_cupti_memcpy2, graph) + sizeof(uint32_t);
	case PP_CUPTI_MEMSET:
		return offsetof(struct pp_cupti_memset, graph) + sizeof(uint32_t);
	case PP_CUPTI_DRIVER:
	case PP_CUPTI_RUNTIME:
		return sizeof(struct pp_cupti_call);
	case PP_CUPTI_SYNC:
		return offsetof(struct pp_cupti_sync, event) + sizeof(uint32_t);
	case PP_CUPTI_OVERHEAD:
		return offsetof(struct pp_cupti_overhead, correlation);
	case PP_CUPTI_MEMORY2:
		return sizeof(struct pp_cupti_memory);
	case PP_CUPTI_POOL:
		return sizeof(struct pp_cupti_memory_pool);
	case PP_CUPTI_JIT:
		return offsetof(struct pp_cupti_jit, operation_correlation);
	case PP_CUPTI_DEVICE:
		return sizeof(struct pp_cupti_device);
	default:
		return 0;
	}
}

static void one(struct pp_cupti_decode *d, const void *record, uint32_t kind, size_t bytes)
{
	switch (kind) {
	case PP_CUPTI_KERNEL:
		kernel(d, record);
		break;
	case PP_CUPTI_MEMCPY:
		copy(d, record);
		break;
	case PP_CUPTI_MEMCPY2:
		copy_between(d, record);
		break;
	case PP_CUPTI_MEMSET:
		set(d, record);
		break;
	case PP_CUPTI_DRIVER:
	case PP_CUPTI_RUNTIME:
		call(d, record);
		break;
	case PP_CUPTI_SYNC:
		waited(d, record);
		break;
	case PP_CUPTI_OVERHEAD:
		overhead(d, record, bytes);
		break;
	case PP_CUPTI_MEMORY2:
		memory(d, record);
		break;
	case PP_CUPTI_POOL:
		pool(d, record);
		break;
	case PP_CUPTI_JIT:
		jit(d, record, bytes);
		break;
	case PP_CUPTI_DEVICE:
		device(d, record);
		break;
	default:
		d->unknown++;
	}
}

/* The library's own iterator knows how long its records are. */
void pp_cupti_decode(struct pp_cupti_decode *d, uint8_t *buffer, size_t valid)
{
	const uint8_t *end = buffer + valid, *before = NULL;
	void *record = NULL;

	while (!d->api->next_record(buffer, valid, &record) && record) {
		const uint8_t *at = record;
		uint32_t kind;
		size_t need;

		if (at < buffer || (before && at <= before) || (size_t)(end - at) < sizeof(kind) || at >= end ||
		    ((uintptr_t)at & 7)) {
			d->unknown++; /* and what follows it */
			return;
		}
		before = at;
		d->records++;
		memcpy(&kind, at, sizeof(kind));
		if (!atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed)) {
			d->late += kind != PP_CUPTI_DEVICE; /* which comes again with each window */
			continue;
		}
		need = needs(kind);
		if (!need || (size_t)(end - at) < need)
			d->unknown++;
		else
			one(d, record, kind, (size_t)(end - at));
	}
}

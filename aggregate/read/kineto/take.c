/* Sorts events into threads and streams as spans; see take.h. Called by json.c for each event that is complete. */
#include "aggregate/read/kineto/take.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/kineto/dialect.h"
#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/base/utf8.h"
#include "core/capture/side.h"
#include "core/capture/span.h"
#include "core/ring/record.h"
#include "core/step/category.h"

enum { TRACKS_MOST = 16384, LABELS_MOST = 65536, DEVICES_MOST = 65536, WORKERS_MOST = 1024 };

static const char PARAMETERS[] = "record_param_comms";

void pp_kineto_damage(struct kineto_store *s, uint64_t at, const char *what)
{
	if (!s->trace.damage[0]) {
		s->trace.damaged_at = at;
		snprintf(s->trace.damage, sizeof(s->trace.damage), "%s", what);
	}
	s->trace.damaged++;
}

void pp_kineto_mistyped(struct kineto_store *s, int argument)
{
	if (!s->mistyped++ && argument)
		s->first_mistyped = pp_kineto_argument_row(argument)->key;
}

/* Every 2^shift-th time of the file, however long it is. */
static void take_sample(struct kineto_store *s, int64_t ts)
{
	if (s->timed++ & ((UINT64_C(1) << s->sample_shift) - 1))
		return;
	if (s->samples == KINETO_SAMPLES) {
		s->sample_shift++;
		s->samples /= 2;
		for (size_t i = 0; i < s->samples; i++)
			s->sample[i] = s->sample[2 * i];
		if ((s->timed - 1) & ((UINT64_C(1) << s->sample_shift) - 1))
			return;
	}
	s->sample[s->samples++] = ts;
}

static uint64_t hash_of(const void *row)
{
	const struct kineto_track *t = row;
	uint64_t hash = pp_hash(PP_HASH_BEGIN, &t->device, sizeof(t->device));

	hash = pp_hash(hash, &t->pid, sizeof(t->pid));
	return t->device >= 0 ? pp_hash(hash, &t->stream, sizeof(t->stream)) : pp_hash(hash, &t->tid, sizeof(t->tid));
}

static int is_same(const void *a, const void *b)
{
	const struct kineto_track *t = a, *key = b;

	if (t->device != key->device || t->pid != key->pid)
		return 0;
	return key->device < 0 ? t->tid == key->tid : t->stream == key->stream;
}

/* NULL: no memory, or too many (*ret_full). */
static struct kineto_track *track_of(struct kineto_store *s, const struct kineto_track *key, int *ret_full)
{
	struct kineto_track *track;
	uint32_t *place;

	if (s->last_track && is_same(&s->track[s->last_track - 1], key))
		return &s->track[s->last_track - 1];
	place = pp_map_place(&s->by_key, s->track, s->tracks, sizeof(*key), key, hash_of, is_same);
	if (place && *place) {
		s->last_track = *place;
		return &s->track[*place - 1];
	}
	*ret_full = s->tracks == TRACKS_MOST;
	track = *ret_full || !place ? NULL : pp_grow(s->track, s->tracks, &s->tracks_room, sizeof(*track));
	if (!track)
		return NULL;
	s->track = track;
	track += s->tracks++;
	*track = *key;
	track->last = INT64_MIN;
	*place = s->last_track = (uint32_t)s->tracks;
	return track;
}

static struct pp_span *add_span(struct kineto_track *t, int64_t begin, int64_t end)
{
	struct pp_span *span;

	if (PP_GROW(t->span, t->spans, t->room))
		return NULL;
	span = &t->span[t->spans++];
	*span = (struct pp_span){.begin = begin, .end = end, .source = PP_SOURCE_KINETO};
	if (end > t->last)
		t->last = end;
	return span;
}

/* 1: ProfilerStep#12, and its number. */
static int is_step(const char *name, size_t length, int64_t *ret_number)
{
	static const char begin[] = "ProfilerStep#";
	const size_t at = sizeof(begin) - 1;
	int64_t number = 0;

	if (length <= at || length > at + 18 || memcmp(name, begin, at))
		return 0;
	for (size_t i = at; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		number = number * 10 + (name[i] - '0');
	}
	*ret_number = number;
	return 1;
}

static uint8_t origin_of(const struct kineto_event *e)
{
	static const uint8_t origin[] = {[KINETO_OPERATOR] = PP_ORIGIN_OPERATOR,
	                                 [KINETO_PYTHON] = PP_ORIGIN_PYTHON,
	                                 [KINETO_LAUNCH] = PP_ORIGIN_RUNTIME,
	                                 [KINETO_OVERHEAD] = PP_ORIGIN_LIBRARY,
	                                 [KINETO_EITHER] = PP_ORIGIN_OPERATOR};

	return e->category < sizeof(origin) ? origin[e->category] : PP_ORIGIN_PROGRAM;
}

static uint32_t small(int64_t value)
{
	return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* Index + 1 of the shape; 0: no memory. The file has one number for both kinds of shared memory. */
static uint32_t launch_of(struct kineto_store *s, const struct kineto_event *e)
{
	struct pp_launch one = {.registers = small(e->registers), .static_shared = small(e->shared), .occupancy = -1};

	for (int i = 0; i < 3; i++) {
		one.block[i] = small(e->block[i]);
		one.grid[i] = small(e->grid[i]);
	}
	if (e->fields & KINETO_OCCUPANCY && e->occupancy >= 0 && e->occupancy <= 100)
		one.occupancy = (float)e->occupancy;
	return pp_launch_put(&s->launches, &one);
}

enum { FOREIGN_FIELDS = KINETO_CORRELATION | KINETO_BYTES | KINETO_SHAPE | KINETO_TASK_TYPE | KINETO_HLO };

/* Whether its process is a device, its name says, which may come later. */
static int take_foreign(struct kineto_store *s, struct pp_span *span, const struct kineto_event *e)
{
	size_t length;
	const char *task = pp_intern_text(s->names, e->task, &length);
	struct kineto_foreign f = {.bytes = e->fields & KINETO_BYTES && e->bytes > 0 ? (uint64_t)e->bytes : 0,
	                           .op = e->framework_op ? e->framework_op : e->hlo_op,
	                           .group = e->fields & KINETO_TASK_TYPE ? (uint8_t)pp_kineto_task(task, length) : KINETO_OTHER};

	if (e->fields & (KINETO_SHAPE | KINETO_OCCUPANCY)) {
		f.launch = launch_of(s, e);
		if (!f.launch)
			return -ENOMEM;
	}
	if (PP_GROW(s->foreign, s->foreigns, s->foreigns_room))
		return -ENOMEM;
	s->foreign[s->foreigns++] = f;
	span->range.payload = s->foreigns;
	span->range.payload_type = KINETO_MARK_FOREIGN;
	span->range.id = e->fields & KINETO_CORRELATION ? (uint64_t)e->correlation : 0;
	return 0;
}

static int fill_host(struct kineto_store *s, struct kineto_track *t, struct pp_span *span, const struct kineto_event *e)
{
	size_t length;
	const char *name = pp_intern_text(s->names, e->name, &length);
	int64_t number;

	span->name = e->name;
	span->kind = PP_SPAN_RANGE;
	if (is_step(name, length, &number)) {
		span->kind = PP_SPAN_STEP;
		span->step.number = number;
		t->steps++;
		return 0;
	}
	span->range.origin = origin_of(e);
	span->range.payload = e->fields & KINETO_EXTERNAL ? (uint64_t)e->external : 0;
	/* PyTorch's note of a collective's parameters is no operator: the one around it is. */
	if ((e->category == KINETO_OPERATOR || e->category == KINETO_EITHER) &&
	    (length != strlen(PARAMETERS) || memcmp(name, PARAMETERS, length) != 0))
		span->range.payload_type = KINETO_MARK_OPERATOR, span->range.id = e->dims;
	if (e->category == KINETO_LAUNCH && e->fields & KINETO_CORRELATION) {
		span->range.payload_type = KINETO_MARK_LAUNCH;
		span->range.id = (uint64_t)e->correlation;
	}
	if (e->category == KINETO_OVERHEAD)
		span->category = PP_CATEGORY_OTHER;
	if (e->category == KINETO_OTHER && e->fields & FOREIGN_FIELDS)
		return take_foreign(s, span, e);
	return 0;
}

/* The file says which are kernels, copies and sets; the name which kernels are a communication library's, where a copy goes, and
 * which kernels a library runs to copy or set. */
static uint8_t activity_of(const struct kineto_event *e, uint8_t by_name, const char *name)
{
	static const char rocm[] = "__amd_rocclr_";

	if (e->category == KINETO_SET)
		return PP_DEVICE_SET;
	if (e->category == KINETO_COPY)
		return by_name == PP_DEVICE_HOST_TO_DEVICE || by_name == PP_DEVICE_DEVICE_TO_HOST ? by_name
		                                                                                  : PP_DEVICE_DEVICE_TO_DEVICE;
	if (e->category == KINETO_KERNEL && !pp_kernel_is_one(by_name) && strncmp(name, rocm, sizeof(rocm) - 1) != 0)
		return PP_DEVICE_KERNEL;
	return by_name;
}

static int fill_device(struct kineto_store *s, struct pp_span *span, const struct kineto_event *e)
{
	const uint32_t id = pp_kernel_text(&s->texts, s->names, e->name);
	size_t length;
	const char *name = pp_intern_text(s->names, id, &length);
	const struct pp_kernel_kind kind = pp_kernel_cached(&s->kernels, id, name, length);

	span->name = id;
	span->kind = PP_SPAN_DEVICE;
	span->device = (struct pp_span_device){
	        .correlation = e->fields & KINETO_CORRELATION ? (uint64_t)e->correlation : 0,
	        .bytes = e->fields & KINETO_BYTES && e->bytes > 0 ? (uint64_t)e->bytes : 0,
	        .step = e->external,
	        .host_thread = (uint32_t)s->last_worker << 1 | ((e->fields & KINETO_EXTERNAL) != 0),
	        .activity = activity_of(e, kind.activity, name),
	};
	if (span->device.activity == PP_DEVICE_KERNEL)
		span->device.precision = kind.precision;
	if (e->category == KINETO_KERNEL && e->fields & (KINETO_SHAPE | KINETO_OCCUPANCY)) {
		span->device.launch = launch_of(s, e);
		return span->device.launch ? 0 : -ENOMEM;
	}
	return 0;
}

int pp_kineto_take_device(struct kineto_store *s, int64_t number, uint32_t name, uint64_t memory)
{
	size_t length, at = 0;
	const char *text = pp_intern_text(s->names, name, &length);

	if (number < 0 || number >= DEVICES_MOST)
		return 0;
	while (at < s->devices && s->device[at].number != (uint32_t)number)
		at++;
	if (at == s->devices) {
		if (PP_GROW(s->device, s->devices, s->devices_room))
			return -ENOMEM;
		s->device[s->devices++] = (struct pp_device){.number = (uint32_t)number, .kind = "GPU"};
	}
	if (length)
		snprintf(s->device[at].name, sizeof(s->device[at].name), "%.*s",
		         pp_utf8_fit(text, (int)sizeof(s->device[at].name) - 1), text);
	if (memory)
		s->device[at].memory = memory;
	return 0;
}

/* A collective's parameters stand at the host's event too, and at each kernel. */
static int take_collective(struct kineto_store *s, const struct kineto_event *e)
{
	if (PP_GROW(s->collective, s->collectives, s->collectives_room))
		return -ENOMEM;
	s->collective[s->collectives++] = (struct kineto_collective){
	        .track = s->last_track - 1,
	        .begin = e->ts,
	        .end = e->ts + e->dur,
	        .operation = e->collective,
	        .group = e->group,
	        .group_ranks = e->group_ranks,
	        .type = e->type,
	        .elements_in = e->elements_in,
	        .elements_out = e->elements_out,
	        .group_size = e->group_size,
	        .sequence = e->fields & KINETO_SEQUENCE ? e->sequence : -1,
	        .rank = e->fields & KINETO_RANK ? e->rank : -1,
	};
	return 0;
}

static uint32_t allocator_of(struct kineto_store *s, const struct kineto_event *e)
{
	const char *name = pp_kineto_allocator(e->device_type);
	char text[48];
	int n;

	if (e->device_id < 0)
		n = snprintf(text, sizeof(text), "%s", name ? name : "device");
	else
		n = snprintf(text, sizeof(text), "%s_%lld", name ? name : "device", (long long)e->device_id);
	return pp_intern_put(s->names, text, (size_t)n);
}

/* A call of PyTorch's allocator. What it has reserved of the device and not handed out is available. */
static int take_allocation(struct kineto_store *s, const struct kineto_event *e)
{
	struct pp_allocation *more = pp_grow(s->allocation, s->allocations, &s->allocations_room, sizeof(*more));
	int has_all = (e->fields & KINETO_RESERVED) && (e->fields & KINETO_ALLOCATED) && e->reserved > 0;
	int64_t size = e->size < 0 ? -e->size : e->size; /* never INT64_MIN: number.c */

	if (!more)
		return -ENOMEM;
	s->allocation = more;
	s->allocation[s->allocations++] = (struct pp_allocation){
	        .time = e->ts,
	        .allocator = allocator_of(s, e),
	        .op = s->last_track - 1,
	        .is_free = e->size < 0,
	        .step = -1,
	        .address = e->address,
	        .requested = size,
	        .bytes = size,
	        .allocated = e->fields & KINETO_ALLOCATED ? e->allocated : -1,
	        .reserved = has_all ? 0 : -1,
	        .available = has_all && e->reserved >= e->allocated ? e->reserved - e->allocated : -1,
	        .peak = -1,
	        .fragmentation = -1,
	};
	return 0;
}

/* Metadata of the viewer: names of processes and threads. */
static int take_label(struct kineto_store *s, const struct kineto_event *e)
{
	const char *what = pp_intern_text(s->names, e->name, NULL);
	enum kineto_label_of of = !strcmp(what, "process_name")     ? KINETO_OF_PROCESS
	                          : !strcmp(what, "process_labels") ? KINETO_OF_LABELS
	                                                            : KINETO_OF_THREAD;

	if ((of == KINETO_OF_THREAD && strcmp(what, "thread_name")) || !(e->fields & KINETO_LABEL) || s->labels == LABELS_MOST)
		return 0;
	if (PP_GROW(s->label, s->labels, s->labels_room))
		return -ENOMEM;
	s->label[s->labels] =
	        (struct kineto_label){.pid = e->pid, .tid = e->tid, .name = e->label, .order = (uint32_t)s->labels, .of = of};
	s->labels++;
	return 0;
}

/* The number of a device's process: "0", or behind a word, "[TP00] 0". */
static int64_t device_of_key(const struct kineto_store *s, kineto_key pid)
{
	size_t length, at;
	const char *text;
	int64_t number = 0;

	if (!(pid & 1))
		return (int64_t)(pid >> 1);
	text = pp_intern_text(s->names, (uint32_t)(pid >> 1), &length);
	for (at = length; at && text[at - 1] >= '0' && text[at - 1] <= '9';)
		at--;
	if (at == length || length - at > 9)
		return 0;
	for (; at < length; at++)
		number = number * 10 + (text[at] - '0');
	return number;
}

static int is_device(const struct kineto_event *e)
{
	const uint32_t both = KINETO_DEVICE | KINETO_STREAM;

	if (e->category == KINETO_KERNEL || e->category == KINETO_COPY || e->category == KINETO_SET)
		return 1;
	if (e->category == KINETO_EITHER)
		return (e->fields & KINETO_HARDWARE) != 0;
	return e->category == KINETO_OTHER && (e->fields & both) == both;
}

/* Track of the event, made if new. 1: left out; -ENOMEM. */
static int find_track(struct kineto_store *s, const struct kineto_event *e, struct kineto_track **ret_track)
{
	struct kineto_track key = {.pid = e->pid, .tid = e->tid, .device = -1};
	int full = 0;

	if (is_device(e)) { /* where it does not say the device, process and thread are the device and its stream */
		key.device = e->fields & KINETO_DEVICE ? e->device : device_of_key(s, e->pid);
		key.stream = e->fields & KINETO_STREAM ? e->stream : e->fields & KINETO_QUEUE ? e->queue : (int64_t)(e->tid >> 1);
		if (key.device < 0 || key.device >= DEVICES_MOST)
			full = 1;
		else if (pp_kineto_take_device(s, key.device, 0, 0))
			return -ENOMEM;
	}
	*ret_track = full ? NULL : track_of(s, &key, &full);
	if (!*ret_track && full)
		s->trace.damaged++;
	return *ret_track ? 0 : full ? 1 : -ENOMEM;
}

/* The stream with an open begin of that process and thread: an end need not say more. NULL: none. */
static struct kineto_track *open_stream(struct kineto_store *s, const struct kineto_event *e)
{
	for (size_t t = 0; s->device_opens && t < s->tracks; t++)
		if (s->track[t].device >= 0 && s->track[t].opens && s->track[t].pid == e->pid && s->track[t].tid == e->tid)
			return &s->track[t];
	return NULL;
}

/* Begin and end of a range as events of their own, nested in the order of the file. */
static int take_half(struct kineto_store *s, struct kineto_track *t, const struct kineto_event *e)
{
	struct pp_span *span;

	if (e->phase == 'B') {
		size_t *open = pp_grow(t->open, t->opens, &t->opens_room, sizeof(*open));

		if (!open)
			return -ENOMEM;
		t->open = open;
		span = add_span(t, e->ts, e->ts);
		if (!span)
			return -ENOMEM;
		if (t->device >= 0 ? fill_device(s, span, e) : fill_host(s, t, span, e))
			return -ENOMEM;
		span->flags = PP_SPAN_CUT_END; /* until its end is read */
		t->open[t->opens++] = t->spans - 1;
		s->device_opens += t->device >= 0;
		s->trace.events++;
		return 0;
	}
	if (!t->opens || t->span[t->open[t->opens - 1]].begin > e->ts) {
		s->trace.untimed++;
		return 0;
	}
	span = &t->span[t->open[--t->opens]];
	s->device_opens -= t->device >= 0;
	span->end = e->ts;
	span->flags = 0;
	if (e->ts > t->last)
		t->last = e->ts;
	return 0;
}

/* Of files that were put one behind the other, the process before a kernel is its own. */
static int take_worker(struct kineto_store *s, const struct kineto_event *e)
{
	size_t at = 0;

	if ((e->category != KINETO_OPERATOR && e->category != KINETO_LAUNCH) ||
	    (s->last_worker && s->worker[s->last_worker - 1] == e->pid))
		return 0;
	while (at < s->workers && s->worker[at] != e->pid)
		at++;
	if (at == WORKERS_MOST)
		return 0;
	if (at == s->workers) {
		if (PP_GROW(s->worker, s->workers, s->workers_room))
			return -ENOMEM;
		s->worker[s->workers++] = e->pid;
	}
	s->last_worker = (uint16_t)(at + 1);
	s->worker_runs++;
	return 0;
}

static int take_timed(struct kineto_store *s, const struct kineto_event *e)
{
	struct kineto_track *track = e->phase == 'E' ? open_stream(s, e) : NULL;
	struct pp_span *span;
	int rc = track ? 0 : find_track(s, e, &track);

	if (rc)
		return rc < 0 ? rc : 0;
	take_sample(s, e->ts);
	if (e->phase == 'i') {
		s->trace.events++;
		return take_allocation(s, e);
	}
	if (e->phase == 'B' || e->phase == 'E')
		return take_half(s, track, e);
	span = add_span(track, e->ts, e->ts + e->dur);
	if (!span)
		return -ENOMEM;
	s->trace.events++;
	if (track->device >= 0)
		return fill_device(s, span, e);
	track->seen |= 1u << e->category;
	if (fill_host(s, track, span, e) || take_worker(s, e))
		return -ENOMEM;
	return e->fields & KINETO_COLLECTIVE ? take_collective(s, e) : 0;
}

/* "GPU 0 Utilization: GPU Utilization"; of a key alone, or one that is the counter's name, one of both. */
static uint32_t counter_name(struct kineto_store *s, const struct kineto_event *e, uint32_t key, size_t values)
{
	char text[256];
	int n;

	if (e->category == KINETO_COUNTER || key == e->name || !e->name)
		return key;
	if (values == 1)
		return e->name;
	n = snprintf(text, sizeof(text), "%.120s: %.120s", pp_intern_text(s->names, e->name, NULL),
	             pp_intern_text(s->names, key, NULL));
	return pp_intern_put(s->names, text, (size_t)n);
}

int pp_kineto_take_counters(struct kineto_store *s, const struct kineto_event *e, const struct kineto_value_of *value,
                            size_t values)
{
	struct kineto_event host = *e;
	struct kineto_track *track;
	int rc;

	if (!(e->fields & KINETO_TS) || e->fields & KINETO_BAD_TIME) {
		s->trace.untimed++;
		return 0;
	}
	host.category = KINETO_COUNTER;
	host.fields = 0;
	rc = find_track(s, &host, &track);
	if (rc)
		return rc < 0 ? rc : 0;
	take_sample(s, e->ts);
	s->trace.events += values; /* each is a span */
	for (size_t i = 0; i < values; i++) {
		struct pp_span *span = add_span(track, e->ts, e->ts);

		if (!span)
			return -ENOMEM;
		span->kind = PP_SPAN_COUNTER;
		span->name = counter_name(s, e, value[i].key, values);
		span->value = value[i].value;
	}
	return 0;
}

static int is_allocation(const struct kineto_store *s, const struct kineto_event *e)
{
	return (e->phase == 'i' || e->phase == 'I') && e->fields & KINETO_SIZE &&
	       !strcmp(pp_intern_text(s->names, e->name, NULL), "[memory]");
}

/* No work of its own: drawn by a viewer, a mark of the profiler, the wait of a queue. */
static int is_left_out(const struct kineto_store *s, const struct kineto_event *e)
{
	size_t length;
	const char *name;

	if ((e->phase != 'X' && e->phase != 'B' && e->phase != 'E') || e->category == KINETO_DERIVED ||
	    e->category == KINETO_COUNTER)
		return 1;
	name = pp_intern_text(s->names, e->name, &length);
	if (e->category == KINETO_OTHER)
		return pp_kineto_is_profiler(name, length);
	return e->category == KINETO_KERNEL && pp_kineto_is_queue_wait(name, length);
}

int pp_kineto_take(struct kineto_store *s, const struct kineto_event *event)
{
	struct kineto_event e = *event;
	int64_t end;

	if (e.phase == 'M')
		return take_label(s, &e);
	if (is_allocation(s, &e)) {
		e.phase = 'i';
		e.category = KINETO_OTHER;
		e.fields &= ~(uint32_t)(KINETO_DEVICE | KINETO_STREAM);
	} else if (is_left_out(s, &e)) {
		s->trace.derived++;
		return 0;
	}
	if (!(e.fields & KINETO_TS) || (e.phase == 'X' && !(e.fields & KINETO_DUR)) || e.fields & KINETO_BAD_TIME ||
	    (e.phase == 'X' && (e.dur < 0 || __builtin_add_overflow(e.ts, e.dur, &end)))) {
		s->trace.untimed++;
		return 0;
	}
	return take_timed(s, &e);
}

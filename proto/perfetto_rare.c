/* The rare packets of a Perfetto trace, by protobuf-c; see perfetto_rare.h. */
#include "proto/perfetto_rare.h"

#include <stdlib.h>
#include <string.h>

#include "proto/perfetto.pb-c.h"
#include "proto/perfetto_build.h"

/* Built-in clocks have numbers below 64; one from 64 to 127 is the sequence's own. */
enum { CLOCK_DATE = 1, CLOCK_BOOT = 6, CLOCK_JOB = 64, STATE_CLEARED = 1, STATE_NEEDED = 2, ORDERED = 3, NEVER_MERGED = 2 };
enum { UNIT_COUNT = 2, UNIT_BYTES = 3 };

static size_t put(uint8_t *to, size_t room, PerfettoTrace__TracePacket **packet, size_t packets)
{
	PerfettoTrace__Trace trace = PERFETTO_TRACE__TRACE__INIT;
	size_t size;

	trace.packet = packet;
	trace.n_packet = packets;
	for (size_t i = 0; i < packets; i++) {
		packet[i]->has_sequence = 1;
		packet[i]->sequence = PP_PERFETTO_SEQUENCE;
	}
	size = perfetto_trace__trace__get_packed_size(&trace);
	if (size <= room)
		perfetto_trace__trace__pack(&trace, to);
	return size;
}

static size_t put_head(uint8_t *to, size_t room, const struct pp_perfetto_head *head, PerfettoTrace__Attributes *attributes)
{
	PerfettoTrace__TracePacket first = PERFETTO_TRACE__TRACE_PACKET__INIT, second = first;
	PerfettoTrace__TracePacket *packet[] = {&first, &second};
	PerfettoTrace__Defaults defaults = PERFETTO_TRACE__DEFAULTS__INIT;
	PerfettoTrace__ClockSnapshot clocks = PERFETTO_TRACE__CLOCK_SNAPSHOT__INIT;
	PerfettoTrace__Clock job = PERFETTO_TRACE__CLOCK__INIT, date = job, *clock[] = {&job, &date};

	job.has_id = job.has_timestamp = date.has_id = date.has_timestamp = 1;
	job.id = CLOCK_JOB;
	job.timestamp = head->clock_ns;
	date.id = CLOCK_DATE;
	date.timestamp = head->date_ns;
	clocks.clock = clock;
	clocks.n_clock = 2;
	clocks.has_primary = 1;
	clocks.primary = CLOCK_DATE;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = head->has_date ? CLOCK_JOB : CLOCK_BOOT;
	first.has_flags = 1;
	first.flags = STATE_CLEARED;
	first.defaults = &defaults;
	first.clock_snapshot = head->has_date ? &clocks : NULL;
	second.attributes = attributes;
	return put(to, room, packet, 2);
}

size_t pp_perfetto_head_put(uint8_t *to, size_t room, const struct pp_perfetto_head *head)
{
	PerfettoTrace__Attributes attributes = PERFETTO_TRACE__ATTRIBUTES__INIT;
	PerfettoTrace__Attribute *all = calloc(head->attributes + 1, sizeof(*all));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, as protobuf-c wants it */
	PerfettoTrace__Attribute **list = calloc(head->attributes + 1, sizeof(*list));
	size_t size = 0;

	for (size_t i = 0; all && list && i < head->attributes; i++) {
		const struct pp_perfetto_attribute *a = &head->attribute[i];

		perfetto_trace__attribute__init(&all[i]);
		all[i].key = (char *)a->key;
		all[i].text = (char *)a->text;
		all[i].has_number = !a->text;
		all[i].number = a->number;
		list[i] = &all[i];
	}
	attributes.attribute = list;
	attributes.n_attribute = head->attributes;
	if (all && list)
		size = put_head(to, room, head, &attributes);
	free(list);
	free(all);
	return size;
}

size_t pp_perfetto_track_put(uint8_t *to, size_t room, const struct pp_perfetto_track *track)
{
	PerfettoTrace__TracePacket packet = PERFETTO_TRACE__TRACE_PACKET__INIT, *list[] = {&packet};
	PerfettoTrace__TrackDescriptor d = PERFETTO_TRACE__TRACK_DESCRIPTOR__INIT;
	PerfettoTrace__Process process = PERFETTO_TRACE__PROCESS__INIT;
	PerfettoTrace__Counter counter = PERFETTO_TRACE__COUNTER__INIT;

	packet.track = &d;
	d.has_uuid = 1;
	d.uuid = track->uuid;
	d.has_parent = track->parent != 0;
	d.parent = track->parent;
	if (track->pid) {
		process.has_pid = process.has_order = d.has_child_ordering = 1;
		process.pid = track->pid;
		process.order = track->order;
		process.name = (char *)track->name;
		process.label = (char **)track->label;
		process.n_label = track->labels;
		d.process = &process;
		d.child_ordering = ORDERED;
		return put(to, room, list, 1);
	}
	d.name = (char *)track->name;
	d.has_order = d.has_merge = 1;
	d.order = track->order;
	d.merge = NEVER_MERGED;
	if (track->unit) {
		counter.has_unit = !strcmp(track->unit, "byte") || !strcmp(track->unit, "1");
		counter.unit = !strcmp(track->unit, "byte") ? UNIT_BYTES : UNIT_COUNT;
		counter.unit_name = counter.has_unit ? NULL : (char *)track->unit;
		d.counter = &counter;
	}
	return put(to, room, list, 1);
}

static size_t put_names(uint8_t *to, size_t room, enum pp_perfetto_names of, PerfettoTrace__Name **list, size_t names)
{
	PerfettoTrace__TracePacket packet = PERFETTO_TRACE__TRACE_PACKET__INIT, *packets[] = {&packet};
	PerfettoTrace__InternedData data = PERFETTO_TRACE__INTERNED_DATA__INIT;

	if (of == PP_PERFETTO_CATEGORIES) {
		data.category = list;
		data.n_category = names;
	} else if (of == PP_PERFETTO_EVENTS) {
		data.event = list;
		data.n_event = names;
	} else if (of == PP_PERFETTO_ANNOTATIONS) {
		data.annotation = list;
		data.n_annotation = names;
	} else {
		data.text = list;
		data.n_text = names;
	}
	packet.interned = &data;
	packet.has_flags = 1;
	packet.flags = STATE_NEEDED;
	return put(to, room, packets, 1);
}

size_t pp_perfetto_names_put(uint8_t *to, size_t room, enum pp_perfetto_names of, const struct pp_perfetto_name *name, size_t names)
{
	PerfettoTrace__Name *all = calloc(names + 1, sizeof(*all));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, as protobuf-c wants it */
	PerfettoTrace__Name **list = calloc(names + 1, sizeof(*list));
	size_t size = 0;

	for (size_t i = 0; all && list && i < names; i++) {
		perfetto_trace__name__init(&all[i]);
		all[i].has_iid = 1;
		all[i].iid = name[i].iid;
		all[i].name = (char *)name[i].text;
		list[i] = &all[i];
	}
	if (all && list)
		size = put_names(to, room, of, list, names);
	free(list);
	free(all);
	return size;
}

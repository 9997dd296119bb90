/* Perfetto traces, read back by protobuf-c: packets of our own encoder, then whole timelines. */
#include "aggregate/write/perfetto/perfetto.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

#include "tests/unit/aggregate/write/export/export_kit.h"
#include "proto/perfetto.pb-c.h"
#include "proto/perfetto_build.h"
#include "tests/bench/timeline_make.h"
#include "tests/test.h"

static PerfettoTrace__Trace *unpacked(const struct pp_timeline *t)
{
	struct pp_err err = {""};
	FILE *file = tmpfile();
	PerfettoTrace__Trace *trace;
	char *bytes;
	size_t size;

	if (!file)
		abort();
	CHECK_INT(pp_perfetto_write(t, fileno(file), &err), 0);
	CHECK_STR(err.text, "");
	bytes = kit_read(fileno(file), &size);
	trace = perfetto_trace__trace__unpack(NULL, size, (const uint8_t *)bytes);
	CHECK(trace);
	if (!trace)
		abort();
	free(bytes);
	fclose(file);
	return trace;
}

TEST(packet)
{
	const struct pp_perfetto_annotation annotation[] = {{1, PP_PERFETTO_NUMBER, (uint64_t)-3},
	                                                    {2, PP_PERFETTO_YES, 1},
	                                                    {3, PP_PERFETTO_ID, UINT64_MAX},
	                                                    {127, PP_PERFETTO_TEXT, UINT32_MAX}};
	const uint64_t flow[] = {1, UINT64_MAX, 300};
	const struct pp_perfetto_event e = {.time_ns = UINT64_MAX,
	                                    .track = UINT64_MAX,
	                                    .type = PP_PERFETTO_BEGIN,
	                                    .name = UINT32_MAX,
	                                    .category = 12,
	                                    .flow = flow,
	                                    .flows = 3,
	                                    .begins = 2,
	                                    .annotation = annotation,
	                                    .annotations = 4};
	uint8_t bytes[1024];
	const size_t size = (size_t)(pp_perfetto_event_put(bytes, &e) - bytes);
	PerfettoTrace__Trace *trace = perfetto_trace__trace__unpack(NULL, size, bytes);
	const PerfettoTrace__TracePacket *p = trace && trace->n_packet == 1 ? trace->packet[0] : NULL;

	CHECK(size <= pp_perfetto_event_room(&e));
	CHECK(p && p->track_event);
	if (!p || !p->track_event)
		return;
	CHECK(p->timestamp == UINT64_MAX && p->sequence == 1 && p->flags == 2 && !p->has_timestamp_clock_id);
	CHECK(p->track_event->type == 1 && p->track_event->name_iid == UINT32_MAX && p->track_event->track_uuid == UINT64_MAX);
	CHECK_INT(p->track_event->category_iids[0], 12);
	CHECK(p->track_event->n_flow_ids == 2 && p->track_event->flow_ids[1] == UINT64_MAX);
	CHECK(p->track_event->n_terminating_flow_ids == 1 && p->track_event->terminating_flow_ids[0] == 300);
	CHECK_INT(p->track_event->n_annotation, 4);
	CHECK_INT(p->track_event->annotation[0]->number, -3);
	CHECK(p->track_event->annotation[1]->yes && p->track_event->annotation[2]->id == UINT64_MAX);
	CHECK(p->track_event->annotation[3]->text_iid == UINT32_MAX && p->track_event->annotation[3]->name_iid == 127);
	perfetto_trace__trace__free_unpacked(trace, NULL);
}

struct counts {
	size_t begins, ends, instants, values, flows, ended, tracks, processes, unknown;
};

static struct counts count(const PerfettoTrace__Trace *trace)
{
	struct counts c = {.unknown = trace->base.n_unknown_fields};

	for (size_t i = 0; i < trace->n_packet; i++) {
		const PerfettoTrace__TracePacket *p = trace->packet[i];

		c.unknown += p->base.n_unknown_fields;
		c.processes += p->track && p->track->process;
		c.tracks += p->track && !p->track->process;
		if (!p->track_event)
			continue;
		c.begins += p->track_event->type == PP_PERFETTO_BEGIN;
		c.ends += p->track_event->type == PP_PERFETTO_END;
		c.instants += p->track_event->type == PP_PERFETTO_INSTANT;
		c.values += p->track_event->type == PP_PERFETTO_COUNTER;
		c.flows += p->track_event->n_flow_ids;
		c.ended += p->track_event->n_terminating_flow_ids;
		c.unknown += p->track_event->base.n_unknown_fields;
	}
	return c;
}

TEST(made_up)
{
	const struct timeline_job job = {.ranks = 9, .steps = 7, .ranges = 30, .late = 3, .devices = 1};
	struct pp_timeline t;
	PerfettoTrace__Trace *trace;
	struct counts c;

	timeline_make(&t, &job);
	trace = unpacked(&t);
	c = count(trace);
	CHECK_INT(c.begins, t.events);
	CHECK_INT(c.ends, t.events);
	CHECK_INT(c.flows, t.flows);
	CHECK_INT(c.ended, t.flows);
	CHECK_INT(c.values, t.samples);
	CHECK_INT(c.tracks, t.tracks + t.counters);
	CHECK_INT(c.processes, t.ranks);
	CHECK_INT(c.unknown, 0);
	CHECK(trace->packet[0]->flags & 1);
	CHECK_INT(trace->packet[0]->defaults->timestamp_clock_id, 64);
	perfetto_trace__trace__free_unpacked(trace, NULL);
	pp_timeline_release(&t);
}

static const PerfettoTrace__TrackDescriptor *descriptor(const PerfettoTrace__Trace *trace, uint64_t uuid)
{
	for (size_t i = 0; i < trace->n_packet; i++)
		if (trace->packet[i]->track && trace->packet[i]->track->uuid == uuid)
			return trace->packet[i]->track;
	return NULL;
}

/* The n-th event of the trace that is no end. */
static const PerfettoTrace__TracePacket *nth(const PerfettoTrace__Trace *trace, size_t n)
{
	for (size_t i = 0; i < trace->n_packet; i++)
		if (trace->packet[i]->track_event && trace->packet[i]->track_event->type != PP_PERFETTO_END && n-- == 0)
			return trace->packet[i];
	abort();
}

static void check_ranks(const PerfettoTrace__Trace *trace)
{
	const PerfettoTrace__TrackDescriptor *first = descriptor(trace, 1), *second = descriptor(trace, 2),
	                                     *third = descriptor(trace, 3);

	CHECK_STR(first->process->name, "rank 0 (node\xef\xbf\xbd\xef\xbf\xbd)");
	CHECK(first->process->pid != second->process->pid); /* of two hosts, where they are equal */
	CHECK_STR(second->process->label[1], "pid 77");
	CHECK_STR(second->process->label[2], "clock error unknown");
	CHECK_STR(second->process->label[3], "simulated devices");
	CHECK_STR(third->process->label[1], "no events: no event file");
	CHECK_STR(descriptor(trace, 4)->name, "main");
	CHECK_STR(descriptor(trace, 5)->name, "async");
	CHECK_STR(descriptor(trace, 6)->name, "async 2");
	CHECK_STR(descriptor(trace, 7)->name, "device 0 Stream 7 (simulated)");
	CHECK_STR(descriptor(trace, 8)->counter->unit_name, "core");
}

TEST(rare)
{
	struct pp_timeline t;
	PerfettoTrace__Trace *trace;
	const PerfettoTrace__TrackEvent *received;
	struct counts c;

	kit_make(&t);
	trace = unpacked(&t);
	c = count(trace);
	CHECK(c.begins == 7 && c.ends == 7 && c.instants == 1 && c.values == 3);
	CHECK_INT(trace->packet[0]->clock_snapshot->clock[0]->timestamp, 500); /* the first event is at 0 */
	CHECK_INT(trace->packet[0]->clock_snapshot->clock[1]->timestamp, 5000);
	CHECK_INT(nth(trace, 0)->timestamp, 0);
	check_ranks(trace);
	for (size_t i = 0, at = 0; i < trace->n_packet; i++) { /* the mark at the end of the first event comes before that end */
		if (!trace->packet[i]->track_event)
			continue;
		if (at == 3)
			CHECK_INT(trace->packet[i]->track_event->type, PP_PERFETTO_INSTANT);
		if (at == 4)
			CHECK_INT(trace->packet[i]->track_event->type, PP_PERFETTO_END);
		at++;
	}
	CHECK_INT(nth(trace, 4)->track_event->track_uuid, 5);
	CHECK_INT(nth(trace, 5)->track_event->track_uuid, 6);
	CHECK_INT(nth(trace, 6)->track_event->track_uuid, 5);
	CHECK_INT(nth(trace, 3)->track_event->n_terminating_flow_ids, 1); /* the send begins later: the arrow ends there */
	received = nth(trace, 7)->track_event;
	CHECK(received->n_flow_ids == 1 && received->flow_ids[0] == 1);
	CHECK_INT(received->n_annotation, 8);
	CHECK_INT(received->annotation[1]->number, (int64_t)1 << 60);
	CHECK(received->annotation[3]->id == UINT64_MAX);
	CHECK_INT(received->annotation[4]->number, -5);
	CHECK(received->annotation[7]->yes); /* clock error unknown */
	CHECK(isnan(nth(trace, 8)->track_event->counter_value) && nth(trace, 10)->track_event->counter_value == 1.5);
	perfetto_trace__trace__free_unpacked(trace, NULL);
	t.epoch_realtime_ns = 0;
	trace = unpacked(&t);
	CHECK(!trace->packet[0]->clock_snapshot && trace->packet[0]->defaults->timestamp_clock_id == 6);
	perfetto_trace__trace__free_unpacked(trace, NULL);
	pp_timeline_release(&t);
}

static const char *text_of(const PerfettoTrace__Trace *trace, uint64_t iid)
{
	for (size_t i = 0; i < trace->n_packet; i++)
		for (size_t k = 0; trace->packet[i]->interned && k < trace->packet[i]->interned->n_text; k++)
			if (trace->packet[i]->interned->text[k]->iid == iid)
				return trace->packet[i]->interned->text[k]->name;
	return "";
}

TEST(dimensions)
{
	struct pp_timeline t;
	PerfettoTrace__Trace *trace;
	const PerfettoTrace__TrackEvent *first;

	kit_make(&t);
	t.event[0].dims = kit_name(&t, "[[2,3],[]]");
	trace = unpacked(&t);
	first = nth(trace, 0)->track_event;
	CHECK_INT(first->n_annotation, 2);
	CHECK_STR(text_of(trace, first->annotation[1]->text_iid), "[[2,3],[]]");
	perfetto_trace__trace__free_unpacked(trace, NULL);
	pp_timeline_release(&t);
}

static void check_refused(const struct pp_timeline *t, const char *path, int code, const char *sentence)
{
	struct pp_err err = {""};
	const int fd = open(path, O_WRONLY);

	CHECK_INT(pp_perfetto_write(t, fd, &err), code);
	CHECK_STR(err.text, sentence);
	close(fd);
}

TEST(refused)
{
	struct pp_timeline t;
	int ends[2];
	struct pp_err err = {""};

	kit_make(&t);
	check_refused(&t, "/dev/full", -ENOSPC, "cannot write the export: no space left on device");
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	CHECK_INT(pipe(ends), 0);
	close(ends[0]);
	CHECK_INT(pp_perfetto_write(&t, ends[1], &err), -EPIPE);
	CHECK_STR(err.text, "cannot write the export: broken pipe");
	close(ends[1]);
	t.event[6].begin_ns = 99; /* overlaps the one before it of the same depth */
	check_refused(&t, "/dev/null", -EINVAL, "cannot export the timeline: events of rank 0 async overlap; please report this");
	t.event[6].begin_ns = 100;
	t.event[1].end_ns = 1001; /* ends behind the one around it */
	check_refused(&t, "/dev/null", -EINVAL, "cannot export the timeline: events of rank 0 main overlap; please report this");
	t.event[1].end_ns = 200;
	t.flow[0].to = KIT_EVENTS;
	check_refused(&t, "/dev/null", -EINVAL, "cannot export the timeline: flow 0 contradicts the others; please report this");
	pp_timeline_release(&t);
}

int main(void)
{
	packet();
	made_up();
	rare();
	dimensions();
	refused();
	return test_end();
}

/* A timeline as a Perfetto trace. One packet sequence for the whole file: its interned names hold for all ranks, which have nearly
 * the same names. Rare packets go through protobuf-c (proto/perfetto_rare.h), packets of events through proto/perfetto_build.h. */
#include "aggregate/write/perfetto/perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/export/out.h"
#include "aggregate/write/export/outline.h"
#include "core/capture/span.h"
#include "proto/perfetto_build.h"
#include "proto/perfetto_rare.h"

enum { NAMES = 1024, ATTRIBUTES = 8, STEPS_CATEGORY = PP_CATEGORIES + 1, MARKS_CATEGORY, CATEGORY_IDS };

struct writer {
	const struct pp_timeline *t;
	struct pp_outline outline;
	struct pp_out out;
	uint64_t *flow; /* ids of one event's flows */
	const struct pp_timeline_event **open;
};

/* Calls `put`(to, room, ...) a second time where the room was not enough. */
#define PUT(w, put, ...)                                                                                                           \
	do {                                                                                                                       \
		uint8_t *to_ = pp_out_more(&(w)->out, 4096);                                                                       \
		size_t size_ = to_ ? put(to_, 4096, __VA_ARGS__) : 0;                                                              \
                                                                                                                                   \
		if (size_ > 4096) {                                                                                                \
			to_ = pp_out_more(&(w)->out, size_);                                                                       \
			size_ = to_ ? put(to_, size_, __VA_ARGS__) : 0;                                                            \
		}                                                                                                                  \
		if (to_ && size_)                                                                                                  \
			pp_out_take(&(w)->out, to_ + size_);                                                                       \
		else if (!(w)->out.failed)                                                                                         \
			(w)->out.failed = -ENOMEM;                                                                                 \
	} while (0)

static void write_head(struct writer *w)
{
	const struct pp_timeline *t = w->t;
	char session[200], job[300], clock[300], source[100], left[4096];
	struct pp_perfetto_attribute attribute[ATTRIBUTES] = {{"podprof session", session, 0},
	                                                      {"job", job, 0},
	                                                      {"clock", clock, 0},
	                                                      {"source", source, 0},
	                                                      {"job time at trace time 0 ns", NULL, w->outline.base_ns}};
	struct pp_perfetto_head head = {.has_date = w->outline.date_ns != 0,
	                                .clock_ns = (uint64_t)-w->outline.base_ns,
	                                .date_ns = (uint64_t)w->outline.date_ns,
	                                .attribute = attribute,
	                                .attributes = 5};

	pp_outline_text(session, sizeof(session), t->session);
	pp_outline_text(job, sizeof(job), t->job);
	pp_outline_text(clock, sizeof(clock), t->clock);
	pp_outline_text(source, sizeof(source), t->source);
	pp_timeline_left_text(t, left, sizeof(left));
	if (*left)
		attribute[head.attributes++] = (struct pp_perfetto_attribute){"left out", left, 0};
	if (t->is_replay)
		attribute[head.attributes++] = (struct pp_perfetto_attribute){"devices", "simulated", 0};
	if (!head.has_date)
		attribute[head.attributes++] =
		        (struct pp_perfetto_attribute){"dates", "unknown: times are of no clock of the system", 0};
	PUT(w, pp_perfetto_head_put, &head);
}

static void write_names(struct writer *w, enum pp_perfetto_names of, const struct pp_perfetto_name *name, size_t n)
{
	if (n)
		PUT(w, pp_perfetto_names_put, of, name, n);
}

/* Texts of annotations: names of communicators, by index + 1, then names of the timeline. */
static uint64_t text_of_name(const struct writer *w, uint64_t name)
{
	return w->t->comms + 1 + name;
}

static uint32_t name_in(const struct pp_timeline_event *e, enum pp_perfetto_names of, uint32_t count)
{
	const uint32_t name = of == PP_PERFETTO_EVENTS ? e->name : e->kind == PP_SPAN_RANGE ? e->dims : 0;

	return name < count ? name : 0;
}

/* Names of events that are in use, or dimensions. */
static void write_used_names(struct writer *w, enum pp_perfetto_names of)
{
	const uint32_t count = pp_intern_count(w->t->names);
	uint8_t *used = calloc(count + 1, 1);
	struct pp_perfetto_name name[NAMES];
	size_t n = 0;

	if (!used) {
		w->out.failed = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < w->t->events; i++)
		used[name_in(&w->t->event[i], of, count)] = 1;
	for (uint32_t i = 1; i < count; i++) {
		if (used[i])
			name[n++] = (struct pp_perfetto_name){of == PP_PERFETTO_TEXTS ? text_of_name(w, i) : i,
			                                      pp_intern_text(w->t->names, i, NULL)};
		if (n == NAMES || i + 1 == count) {
			write_names(w, of, name, n);
			n = 0;
		}
	}
	free(used);
}

static void write_all_names(struct writer *w)
{
	struct pp_perfetto_name name[NAMES];
	size_t n = 0;

	for (uint32_t i = 1; i < CATEGORY_IDS; i++)
		name[n++] = (struct pp_perfetto_name){i, i == STEPS_CATEGORY   ? "steps"
		                                         : i == MARKS_CATEGORY ? "marks"
		                                                               : pp_category_name((int)i)};
	write_names(w, PP_PERFETTO_CATEGORIES, name, n);
	n = 0;
	for (uint32_t i = 1; i < PP_ARG_IDS; i++)
		name[n++] = (struct pp_perfetto_name){i, pp_arg_name((enum pp_arg_id)i)};
	write_names(w, PP_PERFETTO_ANNOTATIONS, name, n);
	n = 0;
	for (size_t i = 0; i < w->t->comms; i++) {
		name[n++] = (struct pp_perfetto_name){i + 1, pp_intern_text(w->t->names, w->t->comm[i].name, NULL)};
		if (n == NAMES || i + 1 == w->t->comms) {
			write_names(w, PP_PERFETTO_TEXTS, name, n);
			n = 0;
		}
	}
	write_used_names(w, PP_PERFETTO_TEXTS);
	write_used_names(w, PP_PERFETTO_EVENTS);
}

/* Numbers of tracks: ranks, then tracks, then counters; 0 means no track in the format. */
static uint64_t uuid_of_track(const struct writer *w, size_t track, uint32_t depth)
{
	return 1 + w->t->ranks + w->outline.depth_at[track] + depth;
}

static uint64_t uuid_of_counter(const struct writer *w, size_t counter)
{
	return 1 + w->t->ranks + w->outline.depth_at[w->t->tracks] + counter;
}

static void write_rank(struct writer *w, size_t index)
{
	const struct pp_timeline_rank *r = &w->t->rank[index];
	char name[256], text[PP_OUTLINE_LABELS][256];
	const char *label[PP_OUTLINE_LABELS];
	struct pp_perfetto_track p = {
	        .uuid = 1 + index, .name = name, .pid = PP_EXPORT_PID + r->rank, .order = r->rank, .label = label};
	int32_t order = 0;

	pp_outline_rank(r, name, sizeof(name));
	p.labels = pp_outline_labels(&w->outline, r, text);
	for (size_t i = 0; i < p.labels; i++)
		label[i] = text[i];
	PUT(w, pp_perfetto_track_put, &p);
	p = (struct pp_perfetto_track){.parent = 1 + index, .name = name};
	for (uint32_t i = r->track; i < r->track + r->tracks; i++)
		for (uint32_t depth = 0; depth < pp_outline_depths(&w->t->track[i]); depth++) {
			p.uuid = uuid_of_track(w, i, depth);
			p.order = order++;
			pp_outline_track(&w->outline, &w->t->track[i], depth, name, sizeof(name));
			PUT(w, pp_perfetto_track_put, &p);
		}
	for (uint32_t i = r->counter; i < r->counter + r->counters; i++) {
		p.uuid = uuid_of_counter(w, i);
		p.order = order++;
		p.unit = w->t->counter[i].unit;
		p.name = pp_intern_text(w->t->names, w->t->counter[i].name, NULL);
		PUT(w, pp_perfetto_track_put, &p);
	}
}

static void put(struct writer *w, const struct pp_perfetto_event *e)
{
	uint8_t *to = pp_out_more(&w->out, pp_perfetto_event_room(e));

	if (to)
		pp_out_take(&w->out, pp_perfetto_event_put(to, e));
}

static void write_end(struct writer *w, uint64_t track, int64_t end_ns)
{
	put(w, &(struct pp_perfetto_event){
	               .time_ns = (uint64_t)end_ns - (uint64_t)w->outline.base_ns, .track = track, .type = PP_PERFETTO_END});
}

static size_t take_annotations(const struct writer *w, const struct pp_timeline_event *e, struct pp_perfetto_annotation *to)
{
	static const uint32_t type[] = {[PP_ARG_IS_YES] = PP_PERFETTO_YES,
	                                [PP_ARG_IS_NUMBER] = PP_PERFETTO_NUMBER,
	                                [PP_ARG_IS_ID] = PP_PERFETTO_ID,
	                                [PP_ARG_IS_COMM] = PP_PERFETTO_TEXT,
	                                [PP_ARG_IS_NAME] = PP_PERFETTO_TEXT};
	struct pp_arg arg[PP_ARG_IDS];
	const size_t n = pp_outline_args(&w->outline, e, arg);

	for (size_t i = 0; i < n; i++)
		to[i] = (struct pp_perfetto_annotation){arg[i].id, type[arg[i].type],
		                                        arg[i].type == PP_ARG_IS_NAME
		                                                ? text_of_name(w, (uint64_t)arg[i].value)
		                                                : (uint64_t)arg[i].value + (arg[i].type == PP_ARG_IS_COMM)};
	return n;
}

static void write_begin(struct writer *w, uint64_t track, size_t index)
{
	const struct pp_timeline_event *e = &w->t->event[index];
	const uint32_t *flow = &w->outline.flow_at[index];
	struct pp_perfetto_annotation annotation[PP_ARG_IDS];
	struct pp_perfetto_event p = {.time_ns = (uint64_t)e->begin_ns - (uint64_t)w->outline.base_ns,
	                              .track = track,
	                              .type = e->end_ns > e->begin_ns ? PP_PERFETTO_BEGIN : PP_PERFETTO_INSTANT,
	                              .name = e->name,
	                              .flow = w->flow,
	                              .flows = flow[1] - flow[0],
	                              .annotation = annotation};

	p.category = e->category               ? e->category
	             : e->kind == PP_SPAN_STEP ? STEPS_CATEGORY
	             : e->kind == PP_SPAN_MARK ? MARKS_CATEGORY
	                                       : 0;
	for (size_t i = 0; i < p.flows; i++) {
		w->flow[i] = w->outline.flow[flow[0] + i] >> 1;
		p.begins += !(w->outline.flow[flow[0] + i] & 1);
	}
	p.annotations = take_annotations(w, e, annotation);
	put(w, &p);
}

/* Events that nest: what is open ends before the next one that begins behind it. */
static void write_nested(struct writer *w, size_t index)
{
	const struct pp_timeline_track *track = &w->t->track[index];
	const uint64_t uuid = uuid_of_track(w, index, 0);
	size_t open = 0;

	for (size_t i = track->event; i < (size_t)track->event + track->events; i++) {
		const struct pp_timeline_event *e = &w->t->event[i];

		while (open && pp_outline_is_over(w->open[open - 1], open, e))
			write_end(w, uuid, w->open[--open]->end_ns);
		write_begin(w, uuid, i);
		if (e->end_ns > e->begin_ns)
			w->open[open++] = e;
	}
	while (open)
		write_end(w, uuid, w->open[--open]->end_ns);
}

/* Events that overlap: of one depth one ends before the next begins. */
static void write_overlapping(struct writer *w, size_t index)
{
	const struct pp_timeline_track *track = &w->t->track[index];

	for (size_t i = track->event; i < (size_t)track->event + track->events; i++) {
		const struct pp_timeline_event *e = &w->t->event[i];

		write_begin(w, uuid_of_track(w, index, e->depth), i);
		if (e->end_ns > e->begin_ns)
			write_end(w, uuid_of_track(w, index, e->depth), e->end_ns);
	}
}

static void write_counter(struct writer *w, size_t index)
{
	const struct pp_timeline_counter *c = &w->t->counter[index];

	for (size_t i = c->sample; i < (size_t)c->sample + c->samples; i++)
		put(w, &(struct pp_perfetto_event){.time_ns = (uint64_t)w->t->sample[i].time_ns - (uint64_t)w->outline.base_ns,
		                                   .track = uuid_of_counter(w, index),
		                                   .type = PP_PERFETTO_COUNTER,
		                                   .value = w->t->sample[i].value});
}

static void write_events(struct writer *w)
{
	for (size_t i = 0; i < w->t->tracks && !w->out.failed; i++)
		if (pp_outline_overlaps(&w->t->track[i]))
			write_overlapping(w, i);
		else
			write_nested(w, i);
	for (size_t i = 0; i < w->t->counters && !w->out.failed; i++)
		write_counter(w, i);
}

/* Room for what is open at once, and for the flows of one event. */
static int make_room(struct writer *w)
{
	size_t flows = 1, events = 1;

	for (size_t i = 0; i < w->t->tracks; i++)
		events = w->t->track[i].events > events ? w->t->track[i].events : events;
	for (size_t i = 0; i < w->t->events; i++) {
		const size_t n = w->outline.flow_at[i + 1] - w->outline.flow_at[i];

		flows = n > flows ? n : flows;
	}
	w->flow = calloc(flows, sizeof(*w->flow));
	w->open = calloc(events, sizeof(*w->open)); /* NOLINT(bugprone-sizeof-expression): an array of pointers */
	return w->flow && w->open ? 0 : -ENOMEM;
}

int pp_perfetto_write(const struct pp_timeline *t, int fd, struct pp_err *err)
{
	struct writer w = {.t = t};
	int rc = pp_outline_init(&w.outline, t, err);

	if (rc == 0 && make_room(&w) < 0)
		rc = pp_err_set(err, -ENOMEM, "cannot export the timeline: no memory");
	if (rc == 0)
		rc = pp_out_init(&w.out, fd, 0, err);
	if (rc == 0) {
		write_head(&w);
		write_all_names(&w);
		for (size_t i = 0; i < t->ranks; i++)
			write_rank(&w, i);
		write_events(&w);
		rc = pp_out_finish(&w.out, err);
	}
	free(w.open);
	free(w.flow);
	pp_outline_release(&w.outline);
	return rc;
}

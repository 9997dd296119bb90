/* The end of reading: makes a capture of all tracks; see finish.h. Called by kineto.c. */
#include "aggregate/read/kineto/finish.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/communication.h"
#include "aggregate/read/kineto/collectives.h"
#include "aggregate/read/kineto/operators.h"
#include "aggregate/read/kineto/process.h"
#include "aggregate/read/kineto/ranks.h"
#include "aggregate/read/ring/rings.h"
#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/base/utf8.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { ROUNDED_NS = 1000 };

#define HALF_A_YEAR ((int64_t)1 << 54)           /* all times are at most this far from their median */
#define DATED_FROM INT64_C(1000000000000000000)  /* ns since 1970, in 2001; smaller times count from anywhere */
#define DATED_UNTIL INT64_C(4000000000000000000) /* in 2096 */

static int64_t median(struct kineto_store *s)
{
	if (!s->samples)
		return 0;
	qsort(s->sample, s->samples, sizeof(s->sample[0]), pp_compare_int64);
	return s->sample[s->samples / 2];
}

static int is_far(int64_t time, int64_t middle)
{
	int64_t distance;

	return __builtin_sub_overflow(time, middle, &distance) || distance > HALF_A_YEAR || distance < -HALF_A_YEAR;
}

/* A kernel that the driver gave no time begins at 0. It did not run then if 0 is farther from the other times than these are from
 * each other, however long the host has run. The samples are sorted. */
static int is_zero_no_time(const struct kineto_store *s, int64_t middle)
{
	int64_t first = 0, last = 0;

	for (size_t i = 0; i < s->samples; i++) {
		if (!s->sample[i] || is_far(s->sample[i], middle))
			continue;
		first = first ? first : s->sample[i];
		last = s->sample[i];
	}
	return first > 0 && last > first && first > last - first;
}

/* Leaves out what is far from all other events. */
static void drop_far(struct kineto_store *s, struct kineto_track *t, int64_t middle, int zero_is_none)
{
	size_t count = 0;

	t->last = INT64_MIN;
	for (size_t i = 0; i < t->spans; i++) {
		const struct pp_span *span = &t->span[i];

		/* a thread may still be in a range when the recording ends; of a kernel without an end no time is known */
		const int is_open = t->device >= 0 && span->flags & PP_SPAN_CUT_END;

		if (is_open || is_far(span->begin, middle) || is_far(span->end, middle) || (zero_is_none && !span->begin)) {
			s->trace.untimed++;
			s->trace.events--;
			t->steps -= span->kind == PP_SPAN_STEP;
			continue;
		}
		if (span->end > t->last)
			t->last = span->end;
		t->span[count++] = *span;
	}
	t->spans = count;
	for (size_t i = 0; i < t->spans; i++)
		if (t->span[i].flags & PP_SPAN_CUT_END)
			t->span[i].end = t->last;
}

static void drop_far_allocations(struct kineto_store *s, int64_t middle)
{
	size_t count = 0;

	for (size_t i = 0; i < s->allocations; i++) {
		if (is_far(s->allocation[i].time, middle)) {
			s->trace.untimed++;
			s->trace.events--;
		} else {
			s->allocation[count++] = s->allocation[i];
		}
	}
	s->allocations = count;
}

static void drop_far_collectives(struct kineto_store *s, int64_t middle)
{
	size_t count = 0;

	for (size_t i = 0; i < s->collectives; i++)
		if (!is_far(s->collective[i].begin, middle) && !is_far(s->collective[i].end, middle))
			s->collective[count++] = s->collective[i];
	s->collectives = count;
}

/* The earliest time; INT64_MAX: there is none. */
static int64_t earliest(const struct kineto_store *s)
{
	int64_t origin = INT64_MAX;

	for (size_t t = 0; t < s->tracks; t++)
		for (size_t i = 0; i < s->track[t].spans; i++)
			if (s->track[t].span[i].begin < origin)
				origin = s->track[t].span[i].begin;
	for (size_t i = 0; i < s->allocations; i++)
		if (s->allocation[i].time < origin)
			origin = s->allocation[i].time;
	return origin;
}

enum { DIGIT = 100 }; /* ns: writers of doubles print as many digits as they need, and one behind the point at most here */

/* Is the time a double of us, as its writer printed it? Only where the gap of doubles is so large that other times would show. */
static int is_double(int64_t time, int64_t gap)
{
	const int64_t off = time % gap < 0 ? time % gap + gap : time % gap;

	return off <= DIGIT / 2 || gap - off <= DIGIT / 2;
}

/* The gap between doubles that hold such times, in ns; 0: less than two digits. */
static int64_t gap_at(int64_t time)
{
	const double us = (double)(time < 0 ? -(time + 1) : time) / 1000;
	const int64_t gap = (int64_t)((nextafter(us, INFINITY) - us) * 1000);

	return gap > 2 * DIGIT ? gap : 0;
}

/* The unit of its times: the largest power of ten ns of which all are multiples, at most 1 us; where all begin at a double of us,
 * the gap of these. */
static int64_t resolution(const struct kineto_store *s)
{
	const int64_t gap = gap_at(earliest(s));
	int64_t unit = 1000, begins = 1000;
	int doubles = gap > 0;

	for (size_t t = 0; t < s->tracks; t++)
		for (size_t i = 0; i < s->track[t].spans && (unit > 1 || doubles); i++) {
			const struct pp_span *span = &s->track[t].span[i];

			while (unit > 1 && (span->begin % unit || span->end % unit))
				unit /= 10;
			while (begins > 1 && span->begin % begins)
				begins /= 10;
			doubles = doubles && is_double(span->begin, gap);
		}
	unit = doubles && begins > unit ? begins : unit;
	return doubles && gap > unit ? gap : unit;
}

static void shift(struct kineto_store *s, int64_t origin)
{
	for (size_t t = 0; t < s->tracks; t++) {
		for (size_t i = 0; i < s->track[t].spans; i++) {
			s->track[t].span[i].begin -= origin;
			s->track[t].span[i].end -= origin;
		}
	}
	for (size_t i = 0; i < s->allocations; i++)
		s->allocation[i].time -= origin;
	for (size_t i = 0; i < s->collectives; i++) {
		s->collective[i].begin -= origin;
		s->collective[i].end -= origin;
	}
}

/* Realtime of the earliest time; 0: the file has no date. */
static int64_t date_of(const struct kineto_store *s, int64_t origin)
{
	int64_t date;

	if (__builtin_add_overflow(origin, s->base, &date) || date < DATED_FROM || date > DATED_UNTIL)
		return 0;
	return date;
}

/* The last name that the file gives it, else its own text; 0: none. */
static uint32_t name_of(const struct kineto_store *s, const struct kineto_track *t)
{
	uint32_t label = pp_kineto_label(s, KINETO_OF_THREAD, t->pid, t->tid);

	return label ? label : t->tid & 1 ? (uint32_t)(t->tid >> 1) : 0;
}

static uint32_t number_of(const struct kineto_track *t)
{
	if (t->device >= 0 && t->stream >= 0 && t->stream < (int64_t)1 << 31)
		return (uint32_t)t->stream;
	if (t->device >= 0) /* an address, or a name */
		return (uint32_t)((uint64_t)t->stream ^ (uint64_t)t->stream >> 32) | UINT32_C(1) << 31;
	return t->tid & 1 ? (uint32_t)(t->tid >> 1) | UINT32_C(1) << 31 : (uint32_t)(t->tid >> 1);
}

static uint32_t bit_of(const struct pp_span *span)
{
	return PP_SPAN_BIT(span->kind);
}

/* Is it a frame in which the profiler starts or stops? Without memory it is looked at each time. */
static int is_profiler(struct kineto_store *s, uint32_t id)
{
	size_t length;
	const char *text;
	int answer;

	if (id < s->is_profiler_room && s->is_profiler[id])
		return s->is_profiler[id] - 1;
	text = pp_intern_text(s->names, id, &length);
	answer = pp_kineto_is_profiler_frame(text, length);
	if (id >= s->is_profiler_room) {
		uint32_t room = pp_intern_count(s->names) > id ? pp_intern_count(s->names) : id + 1;
		uint8_t *more = realloc(s->is_profiler, room);

		if (!more)
			return answer;
		memset(more + s->is_profiler_room, 0, room - s->is_profiler_room);
		s->is_profiler = more;
		s->is_profiler_room = room;
	}
	s->is_profiler[id] = (uint8_t)(1 + answer);
	return answer;
}

/* The profiler's own time, with what is nested in it, is none of the program's. Spans are in order. */
static void drop_profiler(struct kineto_store *s, struct kineto_track *t)
{
	int64_t until = INT64_MIN;
	size_t count = 0;

	t->profiler_first = INT64_MAX;
	t->profiler_last = INT64_MIN;
	for (size_t i = 0; t->seen >> KINETO_PYTHON & 1 && i < t->spans; i++) {
		struct pp_span *span = &t->span[i];

		if (span->kind == PP_SPAN_RANGE && span->range.origin == PP_ORIGIN_PYTHON && span->end > until &&
		    is_profiler(s, span->name)) {
			until = span->end;
			t->profiler_last = span->begin > t->profiler_last ? span->begin : t->profiler_last;
			t->profiler_first = span->end < t->profiler_first ? span->end : t->profiler_first;
		}
		if (span->kind == PP_SPAN_RANGE && span->end <= until) {
			s->trace.derived++;
			s->trace.events--;
			continue;
		}
		t->span[count++] = *span;
	}
	if (t->seen >> KINETO_PYTHON & 1)
		t->spans = count;
}

/* Spans that begin before the one before them on their stream has ended, by more than times are rounded: one stream runs one thing
 * at a time. Those of a line of operations may nest. */
static void count_overlaps(struct kineto_store *s, const struct kineto_track *t)
{
	int64_t until = INT64_MIN;

	for (size_t i = 0; t->device >= 0 && !t->may_nest && i < t->spans; i++) {
		s->overlaps += i && t->span[i].begin < until - ROUNDED_NS;
		until = t->span[i].end > until ? t->span[i].end : until;
	}
}

/* Steps of one thread that overlap: no program makes such, but two that have the same pid in a file do. */
static void count_contradictions(struct kineto_store *s, const struct kineto_track *t)
{
	int64_t until = INT64_MIN;

	for (size_t i = 0; t->steps > 1 && i < t->spans; i++) {
		if (t->span[i].kind != PP_SPAN_STEP)
			continue;
		s->trace.contradictions += until != INT64_MIN && t->span[i].begin < until - ROUNDED_NS;
		until = t->span[i].end > until ? t->span[i].end : until;
	}
}

/* Puts spans in order, and leaves out what is none of the program. */
static int order_tracks(struct kineto_store *s)
{
	for (size_t t = 0; t < s->tracks; t++) {
		if (pp_order_spans(s->track[t].span, s->track[t].spans))
			return -ENOMEM;
		drop_profiler(s, &s->track[t]);
		count_overlaps(s, &s->track[t]);
		count_contradictions(s, &s->track[t]);
	}
	return 0;
}

static int fill_thread(const struct kineto_store *s, struct kineto_track *t, struct pp_thread *to)
{
	*to = (struct pp_thread){.tid = number_of(t),
	                         .device = (uint32_t)(t->device + 1),
	                         .name = name_of(s, t),
	                         .first = t->span[0].begin,
	                         .span = t->span,
	                         .spans = t->spans};
	for (size_t i = 0; i < t->spans; i++) {
		to->last = t->span[i].end > to->last ? t->span[i].end : to->last;
		to->kinds |= bit_of(&t->span[i]);
	}
	/* What is between them and the profiler's own frames was recorded too: nothing happened. */
	to->first = t->profiler_first < to->first ? t->profiler_first : to->first;
	to->last = t->profiler_last > to->last ? t->profiler_last : to->last;
	t->span = NULL;
	t->spans = t->room = 0;
	return 0;
}

struct place { /* of a track among the threads */
	int64_t device, stream;
	uint32_t track;
};

/* Threads of the host in the order of the file, then streams by device. */
PP_COMPARE_BY_3(compare_place, struct place, device, stream, track)

/* Moves all tracks with spans to the rank; track[i] becomes the track of thread i. */
static int take_threads(struct kineto_store *s, struct pp_rank *rank, uint32_t *track)
{
	struct place *place = calloc(s->tracks + 1, sizeof(*place));
	size_t n = 0;
	int rc = 0;

	rank->thread = calloc(s->tracks + 1, sizeof(*rank->thread));
	if (!place || !rank->thread) {
		free(place);
		return -ENOMEM;
	}
	for (uint32_t t = 0; t < s->tracks; t++)
		if (s->track[t].spans)
			place[n++] = (struct place){s->track[t].device, s->track[t].stream, t};
	qsort(place, n, sizeof(*place), compare_place);
	for (size_t i = 0; i < n && rc == 0; i++) {
		track[i] = place[i].track;
		rc = fill_thread(s, &s->track[track[i]], &rank->thread[i]);
		rank->threads += rc == 0;
	}
	free(place);
	return rc;
}

/* The number, also behind a word: "[TP00] 4711". 0: none. */
static int32_t pid_of(const struct kineto_store *s, kineto_key pid)
{
	const char *text = pid & 1 ? pp_intern_text(s->names, (uint32_t)(pid >> 1), NULL) : "";
	const char *space = strrchr(text, ' ');
	long number = space ? strtol(space + 1, NULL, 10) : 0;

	if (!(pid & 1))
		return pid >> 1 <= INT32_MAX ? (int32_t)(pid >> 1) : 0;
	return number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
}

/* The thread that marks steps, else the one with most spans; its process is the rank's. */
static void choose_main(const struct kineto_store *s, struct pp_rank *rank, const uint32_t *track)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < rank->threads; i++) {
		const struct kineto_track *t = &s->track[track[i]], *b = best == SIZE_MAX ? NULL : &s->track[track[best]];

		if (rank->thread[i].device || (b && rank->thread[i].kinds == PP_SPAN_BIT(PP_SPAN_COUNTER)))
			continue;
		rank->step_marks |= t->steps != 0;
		if (!b || rank->thread[best].kinds == PP_SPAN_BIT(PP_SPAN_COUNTER) || t->steps > b->steps ||
		    (t->steps == b->steps && rank->thread[i].spans > rank->thread[best].spans))
			best = i;
	}
	if (best == SIZE_MAX)
		return;
	rank->thread[best].is_main = 1;
	rank->pid = pid_of(s, s->track[track[best]].pid);
}

static void clean_range(struct pp_span_range *r)
{
	if (r->payload_type == KINETO_MARK_OPERATOR)
		*r = (struct pp_span_range){
		        .origin = r->origin, .payload = r->id, .payload_type = r->id ? PP_PAYLOAD_EXT : PP_PAYLOAD_NONE};
	else
		*r = (struct pp_span_range){.id = r->id, .origin = r->origin};
}

/* Removes what only this reader knows; see state.h. */
static void clean_spans(struct pp_rank *rank)
{
	for (size_t t = 0; t < rank->threads; t++) {
		for (size_t i = 0; i < rank->thread[t].spans; i++) {
			struct pp_span *span = &rank->thread[t].span[i];

			if (span->kind == PP_SPAN_RANGE)
				clean_range(&span->range);
			else if (span->kind == PP_SPAN_DEVICE)
				span->device.step = -1;
			else if (span->kind == PP_SPAN_STEP && span->step.number > rank->last_step)
				rank->last_step = span->step.number;
		}
	}
}

PP_COMPARE_BY(compare_allocation, struct pp_allocation, time)

PP_COMPARE_BY(compare_device, struct pp_device, number)

static void take_rest(struct kineto_store *s, struct pp_rank *rank)
{
	rank->recorded_from = INT64_MAX;
	rank->recorded_to = INT64_MIN;
	for (size_t t = 0; t < rank->threads; t++) {
		if (rank->thread[t].first < rank->recorded_from)
			rank->recorded_from = rank->thread[t].first;
		if (rank->thread[t].last > rank->recorded_to)
			rank->recorded_to = rank->thread[t].last;
	}
	if (s->allocations)
		qsort(s->allocation, s->allocations, sizeof(*s->allocation), compare_allocation);
	if (s->allocations && s->allocation[0].time < rank->recorded_from)
		rank->recorded_from = s->allocation[0].time;
	if (s->allocations && s->allocation[s->allocations - 1].time > rank->recorded_to)
		rank->recorded_to = s->allocation[s->allocations - 1].time;
	if (rank->recorded_from > rank->recorded_to) /* the rank has nothing */
		rank->recorded_from = 0;
	if (s->devices)
		qsort(s->device, s->devices, sizeof(*s->device), compare_device);
	rank->allocation = s->allocation;
	rank->allocations = s->allocations;
	rank->launch = s->launches.launch;
	rank->launches = s->launches.launches;
	rank->device = s->device;
	rank->devices = s->devices;
	s->allocation = NULL;
	s->launches.launch = NULL;
	s->device = NULL;
}

/* What was left out, for who reads the session. */
static void remark(const struct kineto_store *s, struct pp_rank *rank)
{
	char text[PP_REMARK_TEXT];

	if (s->unclear) {
		snprintf(text, sizeof(text),
		         "%llu events are of an unknown one of the file's ranks: they count for the one with most of their stream, "
		         "or the first",
		         (unsigned long long)s->unclear);
		pp_remark_add(rank->remark, &rank->remarks, text);
	}
	if (s->overlaps) {
		snprintf(text, sizeof(text), "%llu kernels, copies or sets overlap the one before them on their stream",
		         (unsigned long long)s->overlaps);
		pp_remark_add(rank->remark, &rank->remarks, text);
	}
	if (!s->mistyped)
		return;
	snprintf(text, sizeof(text), "%llu values of the file have another type than expected and are left out%s%s%s",
	         (unsigned long long)s->mistyped, s->first_mistyped ? ", first one of '" : "",
	         s->first_mistyped ? s->first_mistyped : "", s->first_mistyped ? "'" : "");
	pp_remark_add(rank->remark, &rank->remarks, text);
}

static void describe(struct kineto_store *s, struct pp_rank *rank, const struct pp_trace_glance *glance, const char *path)
{
	const char *version = pp_intern_text(s->names, s->version, NULL);

	rank->size = glance->world > rank->rank ? glance->world : s->world > rank->rank ? s->world : rank->rank + 1;
	rank->local_rank = -1;
	rank->horizon = INT64_MIN;
	rank->records = s->trace.events;
	snprintf(rank->host, sizeof(rank->host), "%s", glance->host);
	if (rank->step_marks)
		snprintf(rank->step_rule, sizeof(rank->step_rule), "kineto: ProfilerStep");
	snprintf(s->trace.file, sizeof(s->trace.file), "%.*s", pp_utf8_fit(path, (int)sizeof(s->trace.file) - 1), path);
	snprintf(s->trace.format, sizeof(s->trace.format), "Kineto");
	snprintf(s->trace.producer, sizeof(s->trace.producer), "%s%s%.*s", s->has_schema ? "PyTorch" : "Chrome trace",
	         version[0] ? " " : "", pp_utf8_fit(version, 40), version);
	s->trace.bytes = glance->bytes;
	s->trace.says_host = glance->says_host;
	rank->trace = s->trace;
}

/* A rank of its part. */
static int finish_rank(struct kineto_store *s, struct pp_rank *rank, const struct pp_trace_glance *glance, const char *path)
{
	uint32_t *track = calloc(s->tracks + 1, sizeof(*track));
	int rc = track ? 0 : -ENOMEM;

	rank->last_step = INT64_MIN;
	if (rc == 0)
		rc = order_tracks(s);
	if (rc == 0)
		rc = take_threads(s, rank, track);
	if (rc == 0)
		rc = pp_kineto_operators(s, rank, track);
	if (rc == 0)
		rc = pp_communication_find(rank, s->names);
	if (rc == 0) {
		choose_main(s, rank, track);
		rc = pp_kineto_collectives(s, rank, track);
	}
	if (rc == 0) {
		clean_spans(rank);
		take_rest(s, rank);
		describe(s, rank, glance, path);
		remark(s, rank);
	}
	free(track);
	return rc;
}

/* Numbers that the file says hold; else ranks follow each other from `first`. */
static int finish_all(struct kineto_parts *parts, const struct pp_trace_glance *glance, int32_t first, const char *path,
                      struct pp_capture *c)
{
	int rc = 0;

	c->rank = calloc(parts->parts, sizeof(*c->rank));
	if (!c->rank)
		return -ENOMEM;
	for (size_t i = 0; i < parts->parts && rc == 0; i++) {
		c->ranks++;
		c->rank[i].rank = parts->is_own ? parts->number[i] : first + parts->number[i];
		rc = finish_rank(&parts->part[i], &c->rank[i], glance, path);
		if (rc == 0 && c->rank[i].size > c->ranks_asked)
			c->ranks_asked = c->rank[i].size;
	}
	for (size_t i = 0; i < c->ranks; i++)
		c->rank[i].size = c->ranks_asked;
	return rc;
}

/* All times count from the earliest one. -ENODATA: there is none. */
static int place_times(struct kineto_store *s, struct pp_capture *c)
{
	int64_t middle = median(s), origin;
	int zero_is_none = is_zero_no_time(s, middle);

	for (size_t t = 0; t < s->tracks; t++)
		drop_far(s, &s->track[t], middle, zero_is_none && s->track[t].device >= 0);
	drop_far_allocations(s, middle);
	drop_far_collectives(s, middle);
	origin = earliest(s);
	if (origin == INT64_MAX)
		return -ENODATA;
	s->trace.resolution_ns = resolution(s);
	shift(s, origin);
	c->epoch_realtime_ns = date_of(s, origin);
	return 0;
}

int pp_kineto_finish(struct kineto_store *s, const struct pp_trace_glance *glance, int32_t number, const char *path,
                     struct pp_capture *ret_capture)
{
	struct kineto_processes list = {.process = NULL};
	struct kineto_parts parts = {.part = NULL};
	struct pp_capture c = {.names = NULL};
	int64_t unit = 0;
	int rc = pp_kineto_processes(s, &list);

	if (rc == 0)
		rc = pp_kineto_convert(s, &list);
	if (rc == 0)
		rc = place_times(s, &c);
	unit = s->trace.resolution_ns;
	if (rc == 0)
		rc = pp_kineto_part(s, &list, &parts);
	if (rc == 0)
		rc = finish_all(&parts, glance, number, path, &c);
	pp_kineto_parts_release(&parts);
	free(list.process);
	if (rc) {
		pp_capture_release(&c);
		return rc;
	}
	for (size_t i = 0; i < c.ranks; i++)
		c.rank[i].trace.resolution_ns = unit;
	c.names = s->names;
	c.payloads = s->payloads;
	s->names = s->payloads = NULL;
	*ret_capture = c;
	return 0;
}

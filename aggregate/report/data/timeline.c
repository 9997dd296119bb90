/* Writes the page's timeline. Called by report.c. Of a large one it omits steps, then ranks, then the shortest events, and counts
 * them.
 *
 * "timeline" is null where the session has no events ("timeline_why" says why), or an object:
 *   begin, end     job ns of all events in the page
 *   clock, source, replay
 *   rank           ordered by rank: rank, host, missing, bound (ns; null: its clock is not joined), domain
 *   track          rank (index), name, of (enum pp_timeline_of), main, device (number + 1; 0: the host), depths
 *   name           texts that events use; the first is ""
 *   comm           id, name, size
 *   counter        rank (index), name, unit, and the arrays time and value
 *   step           number, begin, end, chunk (index; null: its events are not in the page)
 *   chunk          step (index; null: events outside of steps, and those that reach into more than one later step), begin, end,
 *                  first (number of its first event in the page), events, details, flows, wide, lazy
 *   flow           words of the kinds of flows
 *   left_out       sentences about what is not in the page or not in the session, each with its number
 * "lazy" is base64 of raw deflate of columns, of each the lowest bytes of all values first. T is u4, or f8 where "wide" is 1:
 *   events         by track, begin, end descending: begin T (after the chunk's), length T, self T, track u4, name u4, detail u4
 *                  (index + 1 in this chunk; 0: none), depth u2, kind u1, category u1, flags u1
 *   details        comm u4 (index + 1; 0: none), sequence u4, request u4, peer u4 (world rank + 2; 0: any, 1: none), last u4 (world
 *                  rank + 1; 0: it waited for none), tag u4 (two's complement), has u4 (enum pp_timeline_has), wait T (ns after its
 *                  begin until which it waited), bound f8 (NaN: not joined), sent f8, received f8
 *   flows          from u4, to u4 (numbers of events in the page), kind u1; each is in the chunk of its `to` */
#include "aggregate/report/data/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/analyze/bounds.h"
#include "aggregate/report/data/page.h"
#include "aggregate/timeline/event_files.h"
#include "aggregate/timeline/load.h"
#include "aggregate/timeline/session.h"
#include "core/base/units.h"

#define THEY_ARE "'podprof export --format perfetto' has them"

enum { SENTENCE = 512, LIST = 160, SHRINKS = 6 };

struct put {
	FILE *to;
	const struct pp_timeline *t;
	struct pp_page_part part;
	struct pp_page_names names;
	int64_t *chunk; /* [steps] */
	char *chunks;   /* their text */
	size_t chunks_size;
	uint64_t flows; /* not in the page */
	int sentences;
};

static void key(struct put *p, const char *name, int first)
{
	fprintf(p->to, first ? "{\"%s\":" : ",\"%s\":", name);
}

static void put_int(struct put *p, const char *name, int64_t value, int first)
{
	key(p, name, first);
	pp_json_int(p->to, value);
}

static void put_text(struct put *p, const char *name, const char *text)
{
	key(p, name, 0);
	pp_json_text(p->to, text);
}

static const char *text_of(const struct put *p, uint32_t name)
{
	return pp_intern_text(p->t->names, name, NULL);
}

static void begin_array(struct put *p, const char *name)
{
	key(p, name, 0);
	fputc('[', p->to);
}

static void next(struct put *p, size_t i)
{
	if (i)
		fputc(',', p->to);
}

static void put_ranks(struct put *p)
{
	begin_array(p, "rank");
	for (size_t i = 0; i < p->t->ranks; i++) {
		const struct pp_timeline_rank *r = &p->t->rank[i];

		next(p, i);
		put_int(p, "rank", r->rank, 1);
		put_text(p, "host", r->host);
		put_text(p, "missing", *r->missing || p->part.has_rank[i] ? r->missing : "not in this page");
		put_int(p, "bound", r->bound_ns == PP_BOUND_UNKNOWN ? INT64_MIN : r->bound_ns, 0);
		put_int(p, "domain", r->domain, 0);
		fputc('}', p->to);
	}
	fputc(']', p->to);
}

static void put_tracks(struct put *p)
{
	char name[256];

	begin_array(p, "track");
	for (size_t i = 0; i < p->t->tracks; i++) {
		const struct pp_timeline_track *k = &p->t->track[i];

		pp_timeline_track_name(p->t, k, name, sizeof(name));
		next(p, i);
		put_int(p, "rank", k->rank, 1);
		put_text(p, "name", name);
		put_int(p, "of", k->of, 0);
		put_int(p, "main", k->is_main, 0);
		put_int(p, "device", k->device, 0);
		put_int(p, "depths", k->depths, 0);
		fputc('}', p->to);
	}
	fputc(']', p->to);
}

static void put_names(struct put *p)
{
	begin_array(p, "name");
	for (uint32_t i = 0; i < p->names.n; i++) {
		next(p, i);
		pp_json_text(p->to, text_of(p, p->names.name[i]));
	}
	fputc(']', p->to);
}

static void put_comms(struct put *p)
{
	begin_array(p, "comm");
	for (size_t i = 0; i < p->t->comms; i++) {
		next(p, i);
		fprintf(p->to, "{\"id\":\"%016" PRIx64 "\"", p->t->comm[i].id);
		put_text(p, "name", text_of(p, p->t->comm[i].name));
		put_int(p, "size", p->t->comm[i].size, 0);
		fputc('}', p->to);
	}
	fputc(']', p->to);
}

static void put_steps(struct put *p)
{
	begin_array(p, "step");
	for (size_t i = 0; i < p->t->steps; i++) {
		const struct pp_timeline_step *s = &p->t->step[i];

		next(p, i);
		put_int(p, "number", s->number, 1);
		put_int(p, "begin", s->begin_ns, 0);
		put_int(p, "end", s->end_ns, 0);
		put_int(p, "chunk", p->chunk[i] < 0 ? INT64_MIN : p->chunk[i], 0);
		fputc('}', p->to);
	}
	fputc(']', p->to);
}

static void say(struct put *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct put *p, const char *fmt, ...)
{
	char text[SENTENCE];
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(text, sizeof(text), fmt, arguments);
	va_end(arguments);
	next(p, (size_t)p->sentences++);
	pp_json_text(p->to, text);
}

/* Every stride-th sample, where all are too many. */
static int put_counters(struct put *p, size_t *ret_stride)
{
	const struct pp_timeline *t = p->t;
	const size_t stride = t->samples / PP_PAGE_TIMELINE_SAMPLES + 1;
	double *time = malloc((t->samples + 1) * sizeof(*time)), *value = malloc((t->samples + 1) * sizeof(*value));
	size_t written = 0;
	int code = time && value ? 0 : -ENOMEM;

	begin_array(p, "counter");
	for (size_t i = 0; i < t->counters && !code; i++) {
		const struct pp_timeline_counter *c = &t->counter[i];
		size_t n = 0;

		if (!p->part.has_rank[c->rank])
			continue;
		for (size_t k = 0; k < c->samples; k += stride, n++) {
			time[n] = (double)t->sample[c->sample + k].time_ns;
			value[n] = t->sample[c->sample + k].value;
		}
		next(p, written++);
		put_int(p, "rank", c->rank, 1);
		put_text(p, "name", text_of(p, c->name));
		put_text(p, "unit", c->unit);
		key(p, "time", 0);
		code = pp_json_reals(p->to, time, n);
		key(p, "value", 0);
		code = code ? code : pp_json_reals(p->to, value, n);
		fputc('}', p->to);
	}
	fputc(']', p->to);
	free(time);
	free(value);
	*ret_stride = stride;
	return code;
}

/* "12-40, 60": the numbers for which `is_one` holds. Returns how many; cut with dots where there is no room. */
static size_t list(const struct put *p, size_t n, int (*is_one)(const struct put *p, size_t i, int64_t *ret_number),
                   char text[LIST])
{
	size_t at = 0, count = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		int64_t first, last, number;
		size_t ones = 1;

		if (!is_one(p, i, &first))
			continue;
		for (last = first; i + ones < n && is_one(p, i + ones, &number) && number == last + 1; ones++)
			last = number;
		i += ones - 1;
		count += ones;
		if (at + 48 < LIST)
			at += (size_t)snprintf(text + at, LIST - at, last > first ? "%s%" PRId64 "-%" PRId64 : "%s%" PRId64,
			                       at ? ", " : "", first, last);
		else if (text[at - 1] != '.')
			at += (size_t)snprintf(text + at, LIST - at, ", ...");
	}
	return count;
}

static int is_left_step(const struct put *p, size_t i, int64_t *ret_number)
{
	*ret_number = p->t->step[i].number;
	return !p->part.has_chunk[i + 1];
}

static int is_left_rank(const struct put *p, size_t i, int64_t *ret_number)
{
	*ret_number = p->t->rank[i].rank;
	return !p->part.has_rank[i] && !*p->t->rank[i].missing;
}

static void say_part(struct put *p, size_t stride)
{
	const struct pp_page_part *part = &p->part;
	char which[LIST], count[PP_TEXT_UNIT];
	size_t n = list(p, p->t->steps, is_left_step, which);

	if (n)
		say(p, "step%s %s: their events are not in this page: %s events of %zu step%s. " THEY_ARE, n == 1 ? "" : "s", which,
		    pp_text_count(count, part->left_steps), n, n == 1 ? "" : "s");
	n = list(p, p->t->ranks, is_left_rank, which);
	if (n)
		say(p, "rank%s %s: their events are not in this page: %s events of %zu rank%s. " THEY_ARE, n == 1 ? "" : "s", which,
		    pp_text_count(count, part->left_ranks), n, n == 1 ? "" : "s");
	for (int i = 0; i < 2; i++)
		if (part->left_short[i])
			say(p, "%s events %s that are shorter than %" PRId64 " ns are not in this page. " THEY_ARE,
			    pp_text_count(count, part->left_short[i]), i ? "in steps" : "outside of steps", part->shortest_ns[i]);
	if (p->flows)
		say(p, "%s arrows begin or end at events that are not in this page", pp_text_count(count, p->flows));
	if (stride > 1)
		say(p, "counters have one of every %zu of their %s samples", stride, pp_text_count(count, p->t->samples));
}

/* Ranks without events, those with one reason together. */
static void say_missing(struct put *p)
{
	const struct pp_timeline_rank *r = p->t->rank;

	for (size_t i = 0; i < p->t->ranks; i++) {
		size_t last = i;

		while (last + 1 < p->t->ranks && *r[i].missing && !strcmp(r[last + 1].missing, r[i].missing))
			last++;
		if (last > i)
			say(p, "ranks %" PRId32 "-%" PRId32 " (%zu ranks): %s", r[i].rank, r[last].rank, last + 1 - i,
			    r[i].missing);
		else if (*r[i].missing)
			say(p, "rank %" PRId32 ": %s", r[i].rank, r[i].missing);
		i = last;
	}
}

static void put_left_out(struct put *p, size_t stride)
{
	char text[2048], *save, *line;

	begin_array(p, "left_out");
	say_part(p, stride);
	pp_timeline_left_text(p->t, text, sizeof(text));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		say(p, "%s", line);
	say_missing(p);
	fputc(']', p->to);
}

static int put_all(struct put *p)
{
	int64_t begin = INT64_MAX, end = INT64_MIN;
	size_t stride;
	int code;

	for (size_t i = 0; i < p->part.first[p->t->steps + 1]; i++) {
		const struct pp_timeline_event *e = &p->t->event[p->part.event[i]];

		begin = e->begin_ns < begin ? e->begin_ns : begin;
		end = e->end_ns > end ? e->end_ns : end;
	}
	put_int(p, "begin", begin, 1);
	put_int(p, "end", end, 0);
	put_text(p, "clock", p->t->clock);
	put_text(p, "source", p->t->source);
	put_int(p, "replay", p->t->is_replay != 0, 0);
	put_ranks(p);
	put_tracks(p);
	put_names(p);
	put_comms(p);
	code = put_counters(p, &stride);
	put_steps(p);
	fputs(",\"chunk\":", p->to);
	fwrite(p->chunks, 1, p->chunks_size, p->to);
	fputs(",\"flow\":[\"collective\",\"message\",\"launch\",\"request\"]", p->to);
	put_left_out(p, stride);
	fputc('}', p->to);
	return code;
}

/* Packs the chunks of a part of at most so many events: how large they become is known only then. */
static int pack(struct put *p, size_t pin, uint64_t events)
{
	const size_t names = (size_t)pp_intern_count(p->t->names) + 1;
	FILE *to;
	int code;

	pp_page_part_release(&p->part);
	free(p->names.number);
	free(p->names.name);
	free(p->chunks);
	p->chunks = NULL;
	p->names = (struct pp_page_names){calloc(names, sizeof(uint32_t)), calloc(names, sizeof(uint32_t)), 1};
	code = pp_page_pick(&p->part, p->t, pin, events);
	to = code || !p->names.number || !p->names.name ? NULL : open_memstream(&p->chunks, &p->chunks_size);
	if (!to)
		return -ENOMEM;
	code = pp_page_chunks(to, &p->part, &p->names, p->chunk, &p->flows);
	if (fclose(to) && !code)
		code = -ENOMEM;
	return code;
}

int pp_page_timeline_put(FILE *to, const struct pp_timeline *t, const struct pp_page_limit *limit, struct pp_err *err)
{
	struct put p = {.to = to, .t = t, .chunk = calloc(t->steps + 1, sizeof(*p.chunk))};
	uint64_t events = limit->events < t->events ? limit->events : t->events;
	int code = p.chunk ? pack(&p, limit->pin, events) : -ENOMEM;

	for (int i = 0; i < SHRINKS && !code && p.chunks_size > limit->bytes; i++) {
		events = (uint64_t)((double)events * 0.9 * (double)limit->bytes / (double)p.chunks_size);
		code = pack(&p, limit->pin, events);
	}
	code = code ? code : put_all(&p);
	pp_page_part_release(&p.part);
	free(p.names.number);
	free(p.names.name);
	free(p.chunks);
	free(p.chunk);
	return code ? pp_err_set(err, code, "no memory for the timeline of the report") : 0;
}

/* The step that the pod viewer pins at first: its slowest rank is nearest to the median of all steps. */
static int64_t pinned_number(const struct pp_page *p)
{
	const size_t stride = p->stride ? p->stride : 1, workers = p->d.workers;
	int64_t least = INT64_MAX, number = INT64_MIN;

	for (size_t s = 0; s < p->d.steps; s += stride) {
		int64_t most = 0, far;

		for (size_t w = 0; w < workers; w++) {
			const struct pp_row_cell *cell = &p->d.cell[s * workers + w];

			most = cell->present && cell->step_ns > most ? cell->step_ns : most;
		}
		far = most > p->sum.median_ns ? most - p->sum.median_ns : p->sum.median_ns - most;
		if (far < least) {
			least = far;
			number = p->d.step[s].number;
		}
	}
	return number;
}

static size_t pin_of(const struct pp_timeline *t, int64_t number)
{
	for (size_t s = 0; s < t->steps; s++)
		if (t->step[s].number == number)
			return s;
	return SIZE_MAX;
}

static void put_why(struct pp_page *p, const char *why)
{
	fputs("null", p->to);
	pp_page_key(p, "timeline_why", 0);
	pp_json_text(p->to, why);
}

static void put_loaded(struct pp_page *p, const struct pp_timeline *t)
{
	const int64_t at = ftello(p->to),
	              room = at < 0 || at > PP_PAGE_BYTES ? PP_PAGE_BYTES - PP_PAGE_PLANE_BYTES : PP_PAGE_BYTES - at;
	const struct pp_page_limit limit = {pin_of(t, pinned_number(p)), PP_PAGE_TIMELINE_EVENTS,
	                                    room < PP_PAGE_TIMELINE_BYTES ? (uint64_t)room : PP_PAGE_TIMELINE_BYTES};
	struct pp_err err;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int code = to ? pp_page_timeline_put(to, t, &limit, &err) : -ENOMEM;

	if (to && fclose(to))
		code = -ENOMEM;
	if (code)
		put_why(p, "There was no memory for the timeline.");
	else
		fwrite(text, 1, size, p->to);
	free(text);
}

static void set_state(const struct pp_page *p, enum pp_page_timeline_state state)
{
	if (p->at_timeline)
		*p->at_timeline = state;
}

/* Of the files of other profilers: they are read a second time for their events. */
static uint64_t foreign_bytes(const struct pp_page *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->d.trace_files; i++)
		bytes += p->d.trace_file[i].bytes;
	return bytes;
}

/* Is it in a log directory without event files? Then its tables need not be read for them. */
static int has_no_files(const struct pp_page *p, struct pp_err *err)
{
	struct pp_event_files events;
	char directory[PATH_MAX];

	pp_event_files_find(pp_h5_file_path(p->h5), &events);
	if (p->d.trace_files || events.files || pp_timeline_directory(pp_h5_file_path(p->h5), directory) ||
	    (access(directory, R_OK | X_OK) && errno != ENOENT))
		return 0;
	pp_timeline_no_files(directory, err);
	return 1;
}

void pp_page_timeline(struct pp_page *p)
{
	const struct pp_timeline_options options = {.capture = p->capture};
	struct pp_timeline t;
	struct pp_err err = {""};

	pp_page_key(p, "timeline", 0);
	if (p->at_timeline && *p->at_timeline == PP_PAGE_TIMELINE_NOT) {
		put_why(p, "Reading the event files crashed or took too long: they may be damaged. Record the job again.");
		return;
	}
	if (foreign_bytes(p) > PP_PAGE_FOREIGN_BYTES) {
		put_why(p,
		        "The files that were analysed are too large for this page. Type 'podprof export --format perfetto -o FILE "
		        "LOGDIR', and open FILE at https://ui.perfetto.dev.");
		return;
	}
	if (has_no_files(p, &err)) {
		put_why(p, err.text);
		return;
	}
	set_state(p, PP_PAGE_TIMELINE_BEGUN);
	if (pp_timeline_load_of(p->h5, &options, &t, &err)) {
		put_why(p, err.text);
	} else {
		if (t.events)
			put_loaded(p, &t);
		else
			put_why(p, "The session has no events.");
		pp_timeline_release(&t);
	}
	set_state(p, PP_PAGE_TIMELINE_DONE);
}

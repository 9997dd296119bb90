/* A timeline as Trace Event Format. Times are microseconds with three decimals, written from integers: every ns is exact. Names are
 * escaped once, before the events. */
#include "aggregate/write/chrome/chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/export/out.h"
#include "aggregate/write/export/outline.h"
#include "aggregate/write/json.h"

enum { EVENT_ROOM = 512, ARG_ROOM = 64, FLOW_ROOM = 256 };

struct writer {
	const struct pp_timeline *t;
	struct pp_outline outline;
	struct pp_out out;
	char *names;     /* escaped, one behind the other, with their quotes */
	size_t *name_at; /* [names + 1] */
};

static const char *const flow_name[PP_FLOW_KINDS] = {[PP_FLOW_COLLECTIVE] = "collective",
                                                     [PP_FLOW_MESSAGE] = "message",
                                                     [PP_FLOW_LAUNCH] = "launch",
                                                     [PP_FLOW_REQUEST] = "request"};

static uint8_t *put_text(uint8_t *p, const char *text)
{
	const size_t n = strlen(text);

	memcpy(p, text, n); /* NOLINT(bugprone-not-null-terminated-result): the length says where it ends */
	return p + n;
}

static uint8_t *put_uint(uint8_t *p, uint64_t value)
{
	uint8_t digit[20];
	size_t n = 0;

	do
		digit[n++] = (uint8_t)('0' + value % 10);
	while (value /= 10);
	while (n)
		*p++ = digit[--n];
	return p;
}

static uint8_t *put_int(uint8_t *p, int64_t value)
{
	if (value < 0)
		*p++ = '-';
	return put_uint(p, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static uint8_t *put_us(uint8_t *p, uint64_t ns)
{
	const unsigned rest = (unsigned)(ns % 1000);

	p = put_uint(p, ns / 1000);
	*p++ = '.';
	*p++ = (uint8_t)('0' + rest / 100);
	*p++ = (uint8_t)('0' + rest / 10 % 10);
	*p++ = (uint8_t)('0' + rest % 10);
	return p;
}

static uint64_t time_of(const struct writer *w, int64_t ns)
{
	return (uint64_t)ns - (uint64_t)w->outline.base_ns;
}

static uint8_t *put_hex(uint8_t *p, uint64_t value)
{
	p = put_text(p, "\"0x");
	for (int shift = 60; shift >= 0; shift -= 4)
		*p++ = (uint8_t) "0123456789abcdef"[value >> shift & 15];
	*p++ = '"';
	return p;
}

static size_t name_size(const struct writer *w, uint32_t name)
{
	return w->name_at[name + 1] - w->name_at[name];
}

static uint8_t *put_name(const struct writer *w, uint8_t *p, uint32_t name)
{
	memcpy(p, w->names + w->name_at[name], name_size(w, name));
	return p + name_size(w, name);
}

static uint32_t name_of(const struct writer *w, const struct pp_arg *n)
{
	return n->type == PP_ARG_IS_COMM ? w->t->comm[n->value].name : (uint32_t)n->value;
}

/* Numbers that a double does not hold become text, as in the page. */
static uint8_t *put_arg(const struct writer *w, uint8_t *p, const struct pp_arg *n)
{
	const int is_large = n->value > PP_JSON_EXACT || n->value < -PP_JSON_EXACT;

	*p++ = '"';
	p = put_text(p, pp_arg_name(n->id));
	p = put_text(p, "\":");
	if (n->type == PP_ARG_IS_YES)
		return put_text(p, "true");
	if (n->type == PP_ARG_IS_ID)
		return put_hex(p, (uint64_t)n->value);
	if (n->type == PP_ARG_IS_COMM || n->type == PP_ARG_IS_NAME)
		return put_name(w, p, name_of(w, n));
	if (is_large)
		*p++ = '"';
	p = put_int(p, n->value);
	if (is_large)
		*p++ = '"';
	return p;
}

/* ,"pid":1000003,"tid":2,"ts":17.250 */
static uint8_t *put_place(const struct writer *w, uint8_t *p, const struct pp_timeline_track *track, uint32_t tid, int64_t ns)
{
	p = put_text(p, ",\"pid\":");
	p = put_int(p, PP_EXPORT_PID + (int64_t)w->t->rank[track->rank].rank);
	p = put_text(p, ",\"tid\":");
	p = put_uint(p, tid);
	p = put_text(p, ",\"ts\":");
	return put_us(p, time_of(w, ns));
}

/* Behind their event, so that they bind to it and not to what is around it. */
static void write_flows(struct writer *w, size_t index, uint32_t tid)
{
	const struct pp_timeline_event *e = &w->t->event[index];

	for (uint32_t i = w->outline.flow_at[index]; i < w->outline.flow_at[index + 1]; i++) {
		const uint64_t id = w->outline.flow[i] >> 1;
		const char *name = flow_name[w->t->flow[id - 1].kind];
		uint8_t *p = pp_out_more(&w->out, FLOW_ROOM);

		if (!p)
			return;
		p = put_text(p, w->outline.flow[i] & 1 ? ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":" : ",\n{\"ph\":\"s\",\"id\":");
		p = put_uint(p, id);
		p = put_text(p, ",\"cat\":\"flow\",\"name\":\"");
		p = put_text(p, name);
		p = put_text(p, "\"");
		p = put_place(w, p, &w->t->track[e->track], tid, e->begin_ns);
		p = put_text(p, "}");
		pp_out_take(&w->out, p);
	}
}

static void write_event(struct writer *w, const struct pp_timeline_track *track, size_t index, uint32_t tid)
{
	const struct pp_timeline_event *e = &w->t->event[index];
	const int is_instant = e->end_ns == e->begin_ns && w->outline.flow_at[index] == w->outline.flow_at[index + 1];
	const char *category = pp_outline_category(e);
	struct pp_arg arg[PP_ARG_IDS];
	const size_t args = pp_outline_args(&w->outline, e, arg);
	size_t room = EVENT_ROOM + name_size(w, e->name) + args * ARG_ROOM;
	uint8_t *p;

	for (size_t i = 0; i < args; i++)
		room += arg[i].type == PP_ARG_IS_COMM || arg[i].type == PP_ARG_IS_NAME ? name_size(w, name_of(w, &arg[i])) : 0;
	p = pp_out_more(&w->out, room);
	if (!p)
		return;
	p = put_text(p, is_instant ? ",\n{\"ph\":\"i\",\"s\":\"t\",\"name\":" : ",\n{\"ph\":\"X\",\"name\":");
	p = put_name(w, p, e->name);
	if (category) {
		p = put_text(p, ",\"cat\":\"");
		p = put_text(p, category);
		*p++ = '"';
	}
	p = put_place(w, p, track, tid, e->begin_ns);
	if (!is_instant) {
		p = put_text(p, ",\"dur\":");
		p = put_us(p, (uint64_t)e->end_ns - (uint64_t)e->begin_ns);
	}
	p = put_text(p, ",\"args\":{");
	for (size_t i = 0; i < args; i++) {
		if (i)
			*p++ = ',';
		p = put_arg(w, p, &arg[i]);
	}
	p = put_text(p, "}}");
	pp_out_take(&w->out, p);
	write_flows(w, index, tid);
}

static void write_track(struct writer *w, size_t index)
{
	const struct pp_timeline_track *track = &w->t->track[index];
	const uint32_t first = 1 + w->outline.depth_at[index] - w->outline.depth_at[w->t->rank[track->rank].track];
	const int overlaps = pp_outline_overlaps(track);

	for (size_t i = track->event; i < (size_t)track->event + track->events && !w->out.failed; i++)
		write_event(w, track, i, first + (overlaps ? w->t->event[i].depth : 0));
}

static void write_text(struct writer *w, const char *text, size_t size)
{
	uint8_t *p = pp_out_more(&w->out, size + 1);

	if (p) {
		memcpy(p, text, size);
		pp_out_take(&w->out, p + size);
	}
}

static void write_counter(struct writer *w, const struct pp_timeline_counter *c)
{
	const size_t name = name_size(w, c->name);

	for (size_t i = c->sample; i < (size_t)c->sample + c->samples; i++) {
		const struct pp_timeline_sample *sample = &w->t->sample[i];
		uint8_t *p = pp_out_more(&w->out, EVENT_ROOM + name);
		char value[40];

		if (!p)
			return;
		if (sample->value - sample->value == 0)
			snprintf(value, sizeof(value), "%.17g", sample->value);
		else
			snprintf(value, sizeof(value), "null"); /* JSON has no number that is not finite */
		p = put_text(p, ",\n{\"ph\":\"C\",\"name\":");
		p = put_name(w, p, c->name);
		p = put_text(p, ",\"pid\":");
		p = put_int(p, PP_EXPORT_PID + (int64_t)w->t->rank[c->rank].rank);
		p = put_text(p, ",\"ts\":");
		p = put_us(p, time_of(w, sample->time_ns));
		p = put_text(p, ",\"args\":{\"value\":");
		p = put_text(p, value);
		p = put_text(p, "}}");
		pp_out_take(&w->out, p);
	}
}

static void print_meta(FILE *to, const char *what, int64_t pid, uint32_t tid, const char *key, const char *text, int64_t order)
{
	fprintf(to, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRId64 ",", what, pid);
	if (tid)
		fprintf(to, "\"tid\":%" PRIu32 ",", tid);
	fprintf(to, "\"args\":{\"%s\":", key);
	if (text)
		pp_json_text(to, text);
	else
		fprintf(to, "%" PRId64, order);
	fputs("}}", to);
}

static void print_rank(const struct writer *w, FILE *to, const struct pp_timeline_rank *r)
{
	const int64_t pid = PP_EXPORT_PID + (int64_t)r->rank;
	char name[256], label[PP_OUTLINE_LABELS][256], all[PP_OUTLINE_LABELS * 260] = "";
	const size_t labels = pp_outline_labels(&w->outline, r, label);
	uint32_t tid = 1;
	size_t at = 0;

	for (size_t i = 0; i < labels; i++)
		at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", i ? ", " : "", label[i]);
	pp_outline_rank(r, name, sizeof(name));
	print_meta(to, "process_name", pid, 0, "name", name, 0);
	print_meta(to, "process_labels", pid, 0, "labels", all, 0);
	print_meta(to, "process_sort_index", pid, 0, "sort_index", NULL, r->rank);
	for (uint32_t i = r->track; i < r->track + r->tracks; i++)
		for (uint32_t depth = 0; depth < pp_outline_depths(&w->t->track[i]); depth++, tid++) {
			pp_outline_track(&w->outline, &w->t->track[i], depth, name, sizeof(name));
			print_meta(to, "thread_name", pid, tid, "name", name, 0);
			print_meta(to, "thread_sort_index", pid, tid, "sort_index", NULL, tid);
		}
}

static void print_head(const struct writer *w, FILE *to)
{
	const struct pp_timeline *t = w->t;
	const struct {
		const char *key, *text;
	} row[] = {{"session", t->session},
	           {"job", t->job},
	           {"clock", t->clock},
	           {"source", t->source},
	           {"devices", t->is_replay ? "simulated" : ""}};
	char left[4096];

	pp_timeline_left_text(t, left, sizeof(left));
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"writer\":\"podprof\"", to);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (!*row[i].text)
			continue;
		fprintf(to, ",\"%s\":", row[i].key);
		pp_json_text(to, row[i].text);
	}
	fputs(",\"left out\":", to);
	pp_json_text(to, left);
	fprintf(to, ",\"job time at ts 0 ns\":\"%" PRId64 "\"", w->outline.base_ns);
	if (w->outline.date_ns)
		fprintf(to, ",\"date at ts 0 ns\":\"%" PRId64 "\"", w->outline.date_ns + w->outline.base_ns);
	fputs("},\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"podprof\",\"pid\":0,\"args\":{}}", to);
	for (size_t i = 0; i < t->ranks; i++)
		print_rank(w, to, &t->rank[i]);
}

static int write_head(struct writer *w)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	print_head(w, to);
	if (fclose(to) != 0) {
		free(text);
		return -ENOMEM;
	}
	write_text(w, text, size);
	free(text);
	return 0;
}

/* Escapes all names. */
static int make_names(struct writer *w)
{
	const uint32_t count = pp_intern_count(w->t->names);
	size_t size;
	FILE *to = open_memstream(&w->names, &size);

	w->name_at = calloc((size_t)count + 1, sizeof(*w->name_at));
	if (!to || !w->name_at) {
		if (to)
			fclose(to);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		w->name_at[i] = (size_t)ftello(to);
		pp_json_text(to, pp_intern_text(w->t->names, i, NULL));
	}
	w->name_at[count] = (size_t)ftello(to);
	return fclose(to) == 0 ? 0 : -ENOMEM;
}

int pp_chrome_write(const struct pp_timeline *t, int fd, int gzip, struct pp_err *err)
{
	struct writer w = {.t = t};
	int rc = pp_outline_init(&w.outline, t, err), head;

	if (rc == 0 && make_names(&w) < 0)
		rc = pp_err_set(err, -ENOMEM, "cannot export the timeline: no memory");
	if (rc == 0)
		rc = pp_out_init(&w.out, fd, gzip, err);
	if (rc == 0) {
		head = write_head(&w);
		for (size_t i = 0; i < t->tracks && head == 0; i++)
			write_track(&w, i);
		for (size_t i = 0; i < t->counters && head == 0; i++)
			write_counter(&w, &t->counter[i]);
		write_text(&w, "\n]}\n", 4);
		if (head < 0 && !w.out.failed)
			w.out.failed = head;
		rc = pp_out_finish(&w.out, err);
	}
	free(w.names);
	free(w.name_at);
	pp_outline_release(&w.outline);
	return rc;
}

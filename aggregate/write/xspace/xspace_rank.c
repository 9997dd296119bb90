/* Writes one rank as lines of a plane: breakdown (steps and the category of each segment), threads, overlapping spans, counters.
 * Called by xspace.c. */
#include "aggregate/write/xspace/xspace_rank.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/source/mpi_call.h"

enum { MOST_LINES = 256, MOST_NAME = 100 };

/* Name of the file that a call accessed; 0: none. Calls of one file often follow each other. */
static uint32_t file_of(struct pp_xfile *f, uint64_t comm)
{
	const struct pp_rank *r = f->rank;
	size_t *at = &f->comm_at;

	if (*at >= r->comms || r->comm[*at].id != comm)
		for (*at = 0; *at < r->comms && r->comm[*at].id != comm; (*at)++)
			continue;
	return *at < r->comms && r->comm[*at].kind == PP_COMM_FILE ? r->comm[*at].name : 0;
}

static void stats_of_call(struct pp_xfile *f, struct pp_xevent *e, const struct pp_span *s)
{
	enum pp_mpi_class class = pp_mpi_call_info(s->mpi.call)->class;

	if (s->mpi.sent)
		pp_xfile_uint(e, PP_XSTAT_BYTES, s->mpi.sent);
	if (s->mpi.received)
		pp_xfile_uint(e, PP_XSTAT_RECEIVED, s->mpi.received);
	if (s->mpi.comm && pp_mpi_class_is_file(class)) {
		uint32_t file = file_of(f, s->mpi.comm);

		if (file)
			pp_xfile_text(f, e, PP_XSTAT_FILE, PP_XTEXT_FILE, file);
	}
	if (s->mpi.comm)
		pp_xfile_text(f, e, PP_XSTAT_COMM, PP_XTEXT_COMM, s->mpi.comm);
	if (pp_mpi_class_joins(class))
		pp_xfile_uint(e, PP_XSTAT_SEQUENCE, s->mpi.sequence);
	if (s->flags & PP_SPAN_POLLS)
		pp_xfile_uint(e, PP_XSTAT_POLLS, s->mpi.sequence);
	if (s->mpi.peer >= 0)
		pp_xfile_int(e, PP_XSTAT_PEER, s->mpi.peer);
	if (s->mpi.request)
		pp_xfile_uint(e, PP_XSTAT_REQUEST, s->mpi.request);
}

static void stat_payload(struct pp_xfile *f, struct pp_xevent *e, const struct pp_span *s)
{
	struct pp_xstat stat = {.id = PP_XSTAT_PAYLOAD, .kind = PP_XSTAT_DOUBLE};
	float small;

	switch (s->range.payload_type) {
	case PP_PAYLOAD_UINT64:
	case PP_PAYLOAD_UINT32:
		pp_xfile_uint(e, PP_XSTAT_PAYLOAD, s->range.payload);
		return;
	case PP_PAYLOAD_INT64:
		pp_xfile_int(e, PP_XSTAT_PAYLOAD, (int64_t)s->range.payload);
		return;
	case PP_PAYLOAD_INT32:
		pp_xfile_int(e, PP_XSTAT_PAYLOAD, (int32_t)(uint32_t)s->range.payload);
		return;
	case PP_PAYLOAD_EXT:
		if (f->names.payloads && s->range.payload)
			pp_xfile_text(f, e, PP_XSTAT_PAYLOAD, PP_XTEXT_PAYLOAD, s->range.payload);
		return;
	case PP_PAYLOAD_FLOAT:
		memcpy(&small, &s->range.payload, sizeof(small));
		stat.d = small;
		break;
	case PP_PAYLOAD_DOUBLE:
		memcpy(&stat.d, &s->range.payload, sizeof(stat.d));
		break;
	default:
		return;
	}
	if (!isfinite(stat.d))
		pp_xfile_text(f, e, PP_XSTAT_PAYLOAD, PP_XTEXT_NUMBER, isnan(stat.d) ? 0 : stat.d > 0 ? 1 : 2);
	else if (e->stats < PP_XEVENT_STATS)
		e->stat[e->stats++] = stat;
}

static void event_of(struct pp_xfile *f, const struct pp_span *s, int32_t rank, struct pp_xevent *e)
{
	int64_t begin = pp_xfile_ps(s->begin), end = pp_xfile_ps(s->end);

	pp_xevent_init(e, 0, begin, end > begin ? end - begin : 0);
	switch (s->kind) {
	case PP_SPAN_MPI:
	case PP_SPAN_REQUEST:
		e->metadata = pp_xnames_event(&f->names, PP_XNAME_CALL, s->mpi.call);
		break;
	case PP_SPAN_STEP:
		e->metadata = pp_xnames_event(&f->names, PP_XNAME_STEP, (uint64_t)s->step.number);
		break;
	case PP_SPAN_COUNTER:
		e->metadata = pp_xnames_event(&f->names, PP_XNAME_COUNTER, (uint64_t)(uint32_t)rank << 32 | s->name);
		e->stat[e->stats++] = (struct pp_xstat){.id = PP_XSTAT_VALUE, .kind = PP_XSTAT_DOUBLE, .d = s->value};
		e->duration_ps = 0;
		break;
	default:
		e->metadata = pp_xnames_event(&f->names, PP_XNAME_RANGE, s->name);
	}
}

/* Adds stats common to all kinds; the step is found by walking, as spans come in order of begin. */
static void add_stats(struct pp_xfile *f, struct pp_xevent *e, const struct pp_span *s, const struct pp_xplaced *p, size_t steps,
                      size_t *at)
{
	while (*at < steps && p[*at].end <= s->begin)
		(*at)++;
	if (s->kind == PP_SPAN_STEP || s->kind == PP_SPAN_COUNTER)
		return;
	if (*at < steps && p[*at].begin <= s->begin)
		pp_xfile_int(e, PP_XSTAT_STEP, p[*at].label->number);
	if (s->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END))
		pp_xfile_text(f, e, PP_XSTAT_CUT, PP_XTEXT_CUT, s->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END));
	if (s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST)
		stats_of_call(f, e, s);
	else if (s->range.payload_type)
		stat_payload(f, e, s);
}

static int is_nested(const struct pp_span *s)
{
	return s->kind == PP_SPAN_RANGE || s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_STEP || s->kind == PP_SPAN_MARK;
}

/* Readers need nested or disjoint events, and a child's end before its parent's: shortens an event by 1 ps where both are equal. */
static int nest(struct pp_xfile *f, struct pp_xevent *e, size_t *depth)
{
	int64_t end = e->offset_ps + e->duration_ps;

	while (*depth && (int64_t)f->stack[*depth - 1] <= e->offset_ps)
		(*depth)--;
	if (*depth && end >= (int64_t)f->stack[*depth - 1])
		end = (int64_t)f->stack[*depth - 1] - 1;
	e->duration_ps = end > e->offset_ps ? end - e->offset_ps : 0;
	if (!e->duration_ps)
		return 0;
	if (*depth == f->stack_size) {
		size_t size = f->stack_size ? f->stack_size * 2 : 64;
		uint64_t *stack = realloc(f->stack, size * sizeof(*stack));

		if (!stack)
			return -ENOMEM;
		f->stack = stack;
		f->stack_size = size;
	}
	f->stack[(*depth)++] = (uint64_t)end;
	return 0;
}

/* Whole characters only: one cut in two makes the file unreadable. */
static int thread_name_bytes(const struct pp_xfile *f, const struct pp_thread *t)
{
	size_t length, n;
	const char *text = pp_intern_text(f->names.names, t->name, &length);

	n = length < MOST_NAME ? length : MOST_NAME;
	while (n && n < length && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

static int write_thread(struct pp_xfile *f, const struct pp_rank *r, const struct pp_thread *t, const struct pp_xplaced *p,
                        size_t steps)
{
	size_t depth = 0, at = 0, i = 0;
	char name[128];
	uint64_t line;
	int code = 0;

	while (i < t->spans && !is_nested(&t->span[i]))
		i++;
	if (i == t->spans)
		return 0;
	if (t->is_main)
		snprintf(name, sizeof(name), "rank %d main", r->rank);
	else if (t->name)
		snprintf(name, sizeof(name), "rank %d %.*s", r->rank, thread_name_bytes(f, t),
		         pp_intern_text(f->names.names, t->name, NULL));
	else
		snprintf(name, sizeof(name), "rank %d %u", r->rank, t->tid);
	line = pp_xfile_line(f, name);
	for (; i < t->spans && !code; i++) {
		struct pp_xevent e;

		if (!is_nested(&t->span[i]))
			continue;
		event_of(f, &t->span[i], r->rank, &e);
		add_stats(f, &e, &t->span[i], p, steps, &at);
		code = nest(f, &e, &depth);
		pp_xstream_event(&f->stream, &e);
	}
	pp_xstream_end(&f->stream, line);
	return code;
}

struct loose { /* a span that may overlap others of its rank */
	const struct pp_span *span;
};

static int loose_order(const void *a, const void *b)
{
	const struct pp_span *x = ((const struct loose *)a)->span, *y = ((const struct loose *)b)->span;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/* First fit, one line per pass: overlapping spans wait for the next line. */
static void write_loose_lines(struct pp_xfile *f, const struct pp_rank *r, const char *what, struct loose *l, size_t n,
                              const struct pp_xplaced *p, size_t steps)
{
	for (int turn = 1; n; turn++) {
		size_t rest = 0, at = 0;
		int64_t free_from = INT64_MIN;
		char name[64];
		uint64_t line;

		if (turn > MOST_LINES) {
			f->unplaced += n;
			return;
		}
		if (turn == 1)
			snprintf(name, sizeof(name), "rank %d %s", r->rank, what);
		else
			snprintf(name, sizeof(name), "rank %d %s %d", r->rank, what, turn);
		line = pp_xfile_line(f, name);
		for (size_t i = 0; i < n; i++) {
			const struct pp_span *s = l[i].span;
			struct pp_xevent e;

			if (s->begin < free_from) {
				l[rest++] = l[i];
				continue;
			}
			event_of(f, s, r->rank, &e);
			add_stats(f, &e, s, p, steps, &at);
			pp_xstream_event(&f->stream, &e);
			free_from = s->end;
		}
		pp_xstream_end(&f->stream, line);
		n = rest;
	}
}

static size_t spans_to_ask(const struct pp_thread *thread, int kind)
{
	return pp_thread_may_have(thread, PP_SPAN_BIT(kind)) ? thread->spans : 0;
}

static int write_loose(struct pp_xfile *f, const struct pp_rank *r, int kind, const struct pp_xplaced *p, size_t steps)
{
	struct loose *l;
	size_t n = 0;

	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; i < spans_to_ask(&r->thread[t], kind); i++)
			n += r->thread[t].span[i].kind == kind;
	if (!n)
		return 0;
	l = malloc(n * sizeof(*l));
	if (!l)
		return -ENOMEM;
	n = 0;
	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; i < spans_to_ask(&r->thread[t], kind); i++)
			if (r->thread[t].span[i].kind == kind)
				l[n++].span = &r->thread[t].span[i];
	qsort(l, n, sizeof(*l), loose_order);
	if (kind == PP_SPAN_COUNTER) { /* readers know counters by this line name alone; instants never overlap */
		uint64_t line = pp_xfile_line(f, "_counters_");

		for (size_t i = 0; i < n; i++) {
			struct pp_xevent e;

			if (!isfinite(l[i].span->value)) {
				f->not_finite++;
				continue;
			}
			event_of(f, l[i].span, r->rank, &e);
			pp_xstream_event(&f->stream, &e);
		}
		pp_xstream_end(&f->stream, line);
	} else {
		write_loose_lines(f, r, kind == PP_SPAN_REQUEST ? "requests" : "async", l, n, p, steps);
	}
	free(l);
	return 0;
}

int pp_xfile_rank(struct pp_xfile *f, size_t rank_index, int grouped, struct pp_err *err)
{
	static const int loose[] = {PP_SPAN_ASYNC, PP_SPAN_REQUEST, PP_SPAN_COUNTER};
	const struct pp_rank *r = &f->out->capture->rank[rank_index];
	size_t steps;
	struct pp_xplaced *p = pp_xfile_place(f, rank_index, &steps);
	int code = p ? 0 : -ENOMEM;

	f->rank = r;
	f->comm_at = 0;
	if (!code)
		pp_xfile_breakdown(f, rank_index, p, steps, grouped);
	for (size_t t = 0; t < r->threads && !code; t++)
		code = write_thread(f, r, &r->thread[t], p, steps);
	for (size_t i = 0; i < sizeof(loose) / sizeof(loose[0]) && !code; i++)
		code = write_loose(f, r, loose[i], p, steps);
	pp_xfile_memory(f, r);
	free(p);
	if (code || f->names.no_memory)
		return pp_err_set(err, -ENOMEM, "no memory for the lines of rank %d", r->rank);
	return 0;
}

/* Writes one rank as lines of a plane: breakdown (steps and the category of each segment), threads, overlapping spans, counters.
 * Called by xspace.c. */
#include "aggregate/write/xspace/xspace_rank.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/xspace/xspace_device.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/utf8.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/message.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { MOST_LINES = 256, MOST_NAME = 100 };

/* Writes the segments of one step, and its marker. xprof drops a step without host compute: such a step gets 1 ps of it. */
static size_t write_step(struct pp_xfile *f, size_t index, const struct pp_xlabel *l, size_t at, int grouped)
{
	const struct pp_rank *r = &f->out->capture->rank[index];
	const struct pp_attr *a = &f->out->attr[index];
	const struct pp_step_cell *c = &l->cell[index];
	int64_t begin = pp_xps(c->begin), from = begin;
	struct pp_xevent e;
	size_t end = at;
	int compute = 0;

	pp_xevent_init(&e, pp_xnames_event(&f->names, PP_XNAME_STEP, (uint64_t)l->number), begin, pp_xps(c->end) - begin);
	pp_xstat_step(f, &e, l, grouped, 1);
	pp_xstream_event(&f->stream, &e);
	for (; end < a->segments && a->segment[end].begin < c->end; end++)
		if (a->segment[end].step == l->segment && a->segment[end].end > a->segment[end].begin)
			compute |= a->segment[end].category != PP_CATEGORY_INPUT && a->segment[end].category != PP_CATEGORY_OTHER;
	if (grouped && !compute && c->end > c->begin) {
		pp_xevent_init(&e, pp_xnames_event(&f->names, PP_XNAME_EMPTY_STEP, 0), begin, 1);
		pp_xstat_step(f, &e, l, grouped, 0);
		pp_xstream_event(&f->stream, &e);
		from = begin + 1;
	}
	for (; at < end; at++) {
		const struct pp_attr_segment *g = &a->segment[at];
		int64_t b = pp_xps(g->begin);

		if (g->step != l->segment || g->end <= g->begin || g->category == PP_CATEGORY_OTHER)
			continue;
		if (b < from)
			b = from;
		pp_xevent_init(&e,
		               pp_xnames_event(&f->names, PP_XNAME_BREAKDOWN + g->category,
		                               pp_xname_key(&r->thread[g->thread].span[g->span])),
		               b, pp_xps(g->end) - b);
		pp_xstat_step(f, &e, l, grouped, 0);
		pp_xstat_text(f, &e, PP_XSTAT_CATEGORY, PP_XTEXT_CATEGORY, g->category);
		pp_xstream_event(&f->stream, &e);
	}
	return end;
}

static void write_breakdown(struct pp_xfile *f, size_t index, const struct pp_xplaced *p, size_t steps, int grouped)
{
	const struct pp_attr *a = &f->out->attr[index];
	char name[64];
	uint64_t line;
	size_t at = 0;

	if (!steps)
		return;
	snprintf(name, sizeof(name), "rank %d breakdown", f->out->capture->rank[index].rank);
	line = pp_xline_begin(f, 0, name);
	for (size_t i = 0; i < steps; i++) {
		while (at < a->segments && a->segment[at].end <= p[i].begin)
			at++;
		at = write_step(f, index, p[i].label, at, grouped);
	}
	pp_xstream_end(&f->stream, line);
}

/* Memory of the process and its children, as a counter. */
static void write_memory(struct pp_xfile *f, const struct pp_rank *r)
{
	uint64_t line;

	if (!r->memories)
		return;
	line = pp_xline_begin(f, 0, "_counters_");
	for (size_t i = 0; i < r->memories; i++) {
		const struct pp_memory *m = &r->memory[i];
		struct pp_xevent e = {.metadata = pp_xnames_event(&f->names, PP_XNAME_MEMORY, (uint64_t)(uint32_t)r->rank),
		                      .offset_ps = pp_xps(m->time)};

		pp_xstat_uint(&e, PP_XSTAT_RSS, m->rss_bytes);
		if (m->pss_present)
			pp_xstat_uint(&e, PP_XSTAT_PSS, m->pss_bytes);
		pp_xstat_uint(&e, PP_XSTAT_CHILDREN_RSS, m->children_rss_bytes);
		pp_xstream_event(&f->stream, &e);
	}
	pp_xstream_end(&f->stream, line);
}

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
		pp_xstat_uint(e, PP_XSTAT_BYTES, s->mpi.sent);
	if (s->mpi.received)
		pp_xstat_uint(e, PP_XSTAT_RECEIVED, s->mpi.received);
	if (s->mpi.comm && pp_mpi_class_is_file(class)) {
		uint32_t file = file_of(f, s->mpi.comm);

		if (file)
			pp_xstat_text(f, e, PP_XSTAT_FILE, PP_XTEXT_FILE, file);
	}
	if (s->mpi.comm || s->mpi.call >= PP_C10D_FIRST) /* by it readers tell such a call from a range of its name */
		pp_xstat_text(f, e, PP_XSTAT_COMM, PP_XTEXT_COMM, s->mpi.comm);
	if (pp_mpi_class_joins(class))
		pp_xstat_uint(e, PP_XSTAT_SEQUENCE, s->mpi.sequence);
	if (s->flags & PP_SPAN_POLLS)
		pp_xstat_uint(e, PP_XSTAT_POLLS, s->mpi.sequence);
	if (s->mpi.peer >= 0)
		pp_xstat_int(e, PP_XSTAT_PEER, s->mpi.peer);
	if (s->mpi.request)
		pp_xstat_uint(e, PP_XSTAT_REQUEST, s->mpi.request);
	if (s->category && s->category <= PP_CATEGORIES)
		pp_xstat_text(f, e, PP_XSTAT_CATEGORY, PP_XTEXT_CATEGORY, s->category);
}

static void stat_payload(struct pp_xfile *f, struct pp_xevent *e, const struct pp_span *s)
{
	struct pp_xstat stat = {.id = PP_XSTAT_PAYLOAD, .kind = PP_XSTAT_DOUBLE};
	float small;

	switch (s->range.payload_type) {
	case PP_PAYLOAD_UINT64:
	case PP_PAYLOAD_UINT32:
		pp_xstat_uint(e, PP_XSTAT_PAYLOAD, s->range.payload);
		return;
	case PP_PAYLOAD_INT64:
		pp_xstat_int(e, PP_XSTAT_PAYLOAD, (int64_t)s->range.payload);
		return;
	case PP_PAYLOAD_INT32:
		pp_xstat_int(e, PP_XSTAT_PAYLOAD, (int32_t)(uint32_t)s->range.payload);
		return;
	case PP_PAYLOAD_EXT:
		if (f->names.payloads && s->range.payload)
			pp_xstat_text(f, e, PP_XSTAT_PAYLOAD, PP_XTEXT_PAYLOAD, s->range.payload);
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
		pp_xstat_text(f, e, PP_XSTAT_PAYLOAD, PP_XTEXT_NUMBER, isnan(stat.d) ? 0 : stat.d > 0 ? 1 : 2);
	else if (e->stats < PP_XEVENT_STATS)
		e->stat[e->stats++] = stat;
}

/* An arrow begins where something was launched. */
static void stats_of_device_call(const struct pp_xfile *f, struct pp_xevent *e, const struct pp_span *s)
{
	if (!s->range.id)
		return;
	pp_xstat_uint(e, PP_XSTAT_CORRELATION, s->range.id);
	if (!s->range.payload_type && (s->range.payload == PP_DEVICE_CALL_LAUNCH || s->range.payload == PP_DEVICE_CALL_COPY))
		pp_xstat_uint(e, PP_XSTAT_FLOW, pp_xflow(f->rank->rank, s->range.id, 1));
}

static void event_of(struct pp_xfile *f, const struct pp_span *s, int32_t rank, struct pp_xevent *e)
{
	int64_t begin = pp_xps(s->begin), end = pp_xps(s->end);

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

/* Adds stats common to all kinds. `in`: the step that the span begins in, or NULL. */
static void add_stats(struct pp_xfile *f, struct pp_xevent *e, const struct pp_span *s, const struct pp_xplaced *in)
{
	if (s->kind == PP_SPAN_STEP || s->kind == PP_SPAN_COUNTER)
		return;
	if (in)
		pp_xstat_int(e, PP_XSTAT_STEP, in->label->number);
	if (s->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END))
		pp_xstat_text(f, e, PP_XSTAT_CUT, PP_XTEXT_CUT, s->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END));
	if (s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST) {
		stats_of_call(f, e, s);
		return;
	}
	if (s->category && s->category <= PP_CATEGORIES)
		pp_xstat_text(f, e, PP_XSTAT_CATEGORY, PP_XTEXT_CATEGORY, s->category);
	if (s->kind == PP_SPAN_RANGE && s->source == PP_SOURCE_CUPTI)
		stats_of_device_call(f, e, s);
	if (s->range.payload_type)
		stat_payload(f, e, s);
}

enum { MESSAGE_STATS = 5 };

static size_t stats_of_half(struct pp_xstat *stat, const struct pp_record_message_half *half, uint8_t tag, uint8_t order)
{
	if (!(half->flags & PP_MESSAGE_TAGGED))
		return 0;
	stat[0] = (struct pp_xstat){.id = tag, .kind = PP_XSTAT_INT, .i = half->tag};
	if (!(half->flags & PP_MESSAGE_CERTAIN) || (half->flags & PP_MPI_PEER_IN_COMM))
		return 1;
	stat[1] = (struct pp_xstat){.id = order, .kind = PP_XSTAT_UINT, .u = half->order};
	return 2;
}

/* Writes the event, with the tags and numbers of its messages. */
static void write_event(struct pp_xfile *f, const struct pp_xevent *e, const struct pp_span *s)
{
	const struct pp_span_message *m = pp_message_of(f->rank, s);
	struct pp_xstat stat[PP_XEVENT_STATS + MESSAGE_STATS];
	size_t n = e->stats;

	if (!m) {
		pp_xstream_event(&f->stream, e);
		return;
	}
	memcpy(stat, e->stat, n * sizeof(*stat));
	n += stats_of_half(stat + n, &m->sent, PP_XSTAT_TAG, PP_XSTAT_ORDER);
	if (m->sent.flags && m->received.flags && m->received.peer >= 0) /* else the call's peer is the source */
		stat[n++] = (struct pp_xstat){.id = PP_XSTAT_SOURCE, .kind = PP_XSTAT_INT, .i = m->received.peer};
	n += stats_of_half(stat + n, &m->received, PP_XSTAT_SOURCE_TAG, PP_XSTAT_SOURCE_ORDER);
	pp_xstream_long_event(&f->stream, e, stat, n);
}

/* Does /op of pod.h5 count it? Then it is an operator in xprof too. */
static int is_operator(const struct pp_xfile *f, const struct pp_span *s, const struct pp_xplaced *in, uint32_t thread)
{
	if ((s->kind != PP_SPAN_RANGE && s->kind != PP_SPAN_MPI) || (s->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)) || !in)
		return 0;
	if (pp_xlabel_is_edge(in->label))
		return 0;
	return s->kind != PP_SPAN_RANGE || s->category || s->begin != in->begin || s->end != in->end ||
	       in->label->cell[f->rank_index].thread != thread; /* else it is the step itself */
}

static int is_nested(const struct pp_span *s)
{
	return s->kind == PP_SPAN_RANGE || s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_STEP || s->kind == PP_SPAN_MARK;
}

static void close_ended(const struct pp_xfile *f, int64_t begin_ps, size_t *depth)
{
	while (*depth && f->stack[*depth - 1].end_ps <= begin_ps)
		(*depth)--;
}

/* Category of the innermost range around a span. */
static uint8_t around(const struct pp_xfile *f, const struct pp_span *s, size_t depth)
{
	while (depth-- > 0)
		if (f->stack[depth].end >= s->end)
			return f->stack[depth].category;
	return 0;
}

/* Readers need nested or disjoint events, and a child's end before its parent's: shortens an event by 1 ps where both are equal. */
static int nest(struct pp_xfile *f, struct pp_xevent *e, const struct pp_span *s, uint8_t category, size_t *depth)
{
	int64_t end = e->offset_ps + e->duration_ps;

	if (*depth && end >= f->stack[*depth - 1].end_ps)
		end = f->stack[*depth - 1].end_ps - 1;
	e->duration_ps = end > e->offset_ps ? end - e->offset_ps : 0;
	if (!e->duration_ps)
		return 0;
	if (*depth == f->stack_size) {
		struct pp_xopen *stack = pp_grow(f->stack, *depth, &f->stack_size, sizeof(*stack));

		if (!stack)
			return -ENOMEM;
		f->stack = stack;
	}
	f->stack[(*depth)++] = (struct pp_xopen){end, s->end, category};
	return 0;
}

static int write_nested(struct pp_xfile *f, const struct pp_span *s, const struct pp_xplaced *in, uint32_t thread, size_t *depth)
{
	uint8_t outer, code = 0;
	struct pp_xevent e;
	int rc;

	event_of(f, s, f->rank->rank, &e);
	close_ended(f, e.offset_ps, depth);
	outer = around(f, s, *depth);
	if (s->kind == PP_SPAN_RANGE || s->kind == PP_SPAN_MPI)
		code = pp_flat_inside(s, pp_flat_code(&f->categories, s), outer);
	if (is_operator(f, s, in, thread))
		e.metadata =
		        pp_xnames_event(&f->names, PP_XNAME_OPERATOR, (uint64_t)pp_flat_category(code) << 32 | pp_xname_key(s));
	add_stats(f, &e, s, in);
	rc = nest(f, &e, s, code ? pp_flat_gives(s, code, outer) : outer, depth);
	write_event(f, &e, s);
	return rc;
}

static int write_thread(struct pp_xfile *f, const struct pp_rank *r, uint32_t index, const struct pp_xplaced *p, size_t steps)
{
	const struct pp_thread *t = &r->thread[index];
	const char *thread = pp_intern_text(f->names.names, t->name, NULL);
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
	else if (t->name) /* whole characters only: one cut in two makes the file unreadable */
		snprintf(name, sizeof(name), "rank %d %.*s", r->rank, pp_utf8_fit(thread, MOST_NAME), thread);
	else
		snprintf(name, sizeof(name), "rank %d %u", r->rank, t->tid);
	line = pp_xline_begin(f, 0, name);
	for (; i < t->spans && !code; i++)
		if (is_nested(&t->span[i]))
			code = write_nested(f, &t->span[i], pp_xstep_at(p, steps, &at, t->span[i].begin), index, &depth);
	pp_xstream_end(&f->stream, line);
	return code;
}

PP_COMPARE(by_time, struct pp_span *const, PP_ORDER((*x)->begin, (*y)->begin) ?: PP_ORDER((*y)->end, (*x)->end))

/* First fit, one line per pass: overlapping spans wait for the next line. */
static void write_loose_lines(struct pp_xfile *f, const struct pp_rank *r, const char *what, const struct pp_span **l, size_t n,
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
		line = pp_xline_begin(f, 0, name);
		for (size_t i = 0; i < n; i++) {
			const struct pp_span *s = l[i];
			struct pp_xevent e;

			if (s->begin < free_from) {
				l[rest++] = l[i];
				continue;
			}
			event_of(f, s, r->rank, &e);
			add_stats(f, &e, s, pp_xstep_at(p, steps, &at, s->begin));
			write_event(f, &e, s);
			free_from = s->end;
		}
		pp_xstream_end(&f->stream, line);
		n = rest;
	}
}

/* Lists a rank's spans of a kind, which is not RANGE; l NULL: counts them. */
static size_t list_kind(const struct pp_rank *r, int kind, const struct pp_span **l)
{
	size_t n = 0;

	for (size_t t = 0; t < r->threads; t++)
		for (size_t k = 0; k < pp_thread_others(&r->thread[t], PP_SPAN_BIT(kind)); k++) {
			const struct pp_span *s = &r->thread[t].span[pp_thread_other(&r->thread[t], k)];

			if (s->kind != kind)
				continue;
			if (l)
				l[n] = s;
			n++;
		}
	return n;
}

static int write_loose(struct pp_xfile *f, const struct pp_rank *r, int kind, const struct pp_xplaced *p, size_t steps)
{
	size_t n = list_kind(r, kind, NULL);
	const struct pp_span **l;

	if (!n)
		return 0;
	l = malloc(n * sizeof(struct pp_span *));
	if (!l)
		return -ENOMEM;
	list_kind(r, kind, l);
	qsort(l, n, sizeof(struct pp_span *), by_time);
	if (kind == PP_SPAN_COUNTER) { /* readers know counters by this line name alone; instants never overlap */
		uint64_t line = pp_xline_begin(f, 0, "_counters_");

		for (size_t i = 0; i < n; i++) {
			struct pp_xevent e;

			if (!isfinite(l[i]->value)) {
				f->not_finite++;
				continue;
			}
			event_of(f, l[i], r->rank, &e);
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
	struct pp_xplaced *p = pp_xplace_steps(f, rank_index, &steps);
	int code = p ? 0 : -ENOMEM;

	f->rank = r;
	f->rank_index = rank_index;
	f->comm_at = 0;
	if (!code)
		write_breakdown(f, rank_index, p, steps, grouped);
	for (uint32_t t = 0; t < r->threads && !code; t++)
		if (!r->thread[t].device)
			code = write_thread(f, r, t, p, steps);
	for (size_t i = 0; i < sizeof(loose) / sizeof(loose[0]) && !code; i++)
		code = write_loose(f, r, loose[i], p, steps);
	write_memory(f, r);
	if (!code)
		pp_xfile_allocations(f, r, p, steps);
	free(p);
	if (code || f->names.no_memory)
		return pp_err_set(err, -ENOMEM, "no memory for the lines of rank %d", r->rank);
	return 0;
}

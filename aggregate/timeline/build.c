/* Makes tracks and events of a capture's spans; see timeline_private.h. Called by load.c. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/timeline/timeline_private.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/huge.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { NONE = UINT32_MAX, DEPTHS_MOST = UINT16_MAX };

struct open { /* a span around the next ones */
	int64_t end;
	uint32_t event;   /* NONE: it is left out */
	uint32_t inside;  /* depth of what is in it */
	uint8_t category; /* for what is in it; 0: none */
};

struct stack {
	struct open *open;
	size_t opens, room;
};

static int shown(const struct pp_timeline_maker *m, size_t r, const struct pp_span *s, int category)
{
	const struct pp_timeline_range *range = &m->range[r];
	const uint32_t wanted = m->options->categories;

	if (s->begin >= range->end || (s->end <= range->begin && s->begin < range->begin)) {
		m->t->left.by_steps++;
		return 0;
	}
	if (s->end < m->from_ns) {
		m->t->left.by_time++;
		return 0;
	}
	if (wanted && category && !(wanted >> category & 1)) {
		m->t->left.by_categories++;
		return 0;
	}
	return 1;
}

/* Step of the rank in which `time` lies: index + 1; 0: none. */
static uint32_t step_at(const struct pp_timeline_maker *m, int64_t time)
{
	const size_t low = PP_PARTITION(m->marks, at, m->mark[at].begin <= time);

	return low && time < m->mark[low - 1].end ? m->mark[low - 1].step + 1 : 0;
}

static int is_call(const struct pp_span *s)
{
	return s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST;
}

/* NONE: no memory; 0 where there is nothing to tell. */
static uint32_t detail_of(struct pp_timeline_maker *m, const struct pp_span *s)
{
	struct pp_timeline_detail *more, d = {.until_ns = s->begin, .peer = -1, .last = -1};

	if (s->kind == PP_SPAN_DEVICE)
		d.sent = s->device.bytes;
	if (!is_call(s) && !d.sent && (s->kind != PP_SPAN_DEVICE || s->device.activity != PP_DEVICE_COLLECTIVE))
		return 0;
	if (is_call(s)) {
		d.comm = s->mpi.comm;
		d.sent = s->mpi.sent;
		d.received = s->mpi.received;
		d.request = s->mpi.request;
		d.peer = s->flags & PP_SPAN_PEER_IN_COMM ? -1 : s->mpi.peer;
		if (pp_mpi_class_joins(pp_mpi_call_info(s->mpi.call)->class)) {
			d.sequence = s->mpi.sequence;
			d.has = PP_TIMELINE_HAS_SEQUENCE;
		}
	}
	more = pp_grow(m->t->detail, m->t->details, &m->detail_room, sizeof(*more));
	if (!more)
		return NONE;
	m->t->detail = more;
	more[m->t->details++] = d;
	return (uint32_t)m->t->details;
}

/* Appends the launches of a rank, whose kernels have indexes of its own. */
static int add_launches(struct pp_timeline_maker *m, const struct pp_rank *rank)
{
	struct pp_timeline *t = m->t;

	m->launch_from = t->launches;
	m->launches = rank->launches;
	if (!rank->launches)
		return 0;
	if (t->launches + rank->launches >= NONE || PP_RESIZE(t->launch, t->launches + rank->launches))
		return -ENOMEM;
	for (size_t i = 0; i < rank->launches; i++) {
		const struct pp_launch *l = &rank->launch[i];

		t->launch[t->launches++] = (struct pp_timeline_launch){.grid = {l->grid[0], l->grid[1], l->grid[2]},
		                                                       .block = {l->block[0], l->block[1], l->block[2]},
		                                                       .registers = l->registers,
		                                                       .shared = (uint64_t)l->static_shared + l->dynamic_shared};
	}
	return 0;
}

static const uint8_t passed_flags = PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END | PP_SPAN_FAILED | PP_SPAN_POLLS;

static uint32_t add_event(struct pp_timeline_maker *m, const struct pp_span *s, uint32_t depth, int category)
{
	struct pp_timeline_event *more = pp_grow(m->t->event, m->t->events, &m->event_room, sizeof(*more));
	struct pp_timeline_track *track = &m->t->track[m->t->tracks - 1];
	uint32_t detail;

	if (!more)
		return NONE;
	m->t->event = more;
	detail = detail_of(m, s);
	if (detail == NONE || m->t->events >= NONE)
		return NONE;
	if (depth + 1 > track->depths)
		track->depths = (uint16_t)(depth + 1 < DEPTHS_MOST ? depth + 1 : DEPTHS_MOST);
	more[m->t->events] = (struct pp_timeline_event){
	        .begin_ns = s->begin,
	        .end_ns = s->end > s->begin ? s->end : s->begin,
	        .self_ns = s->end > s->begin ? s->end - s->begin : 0,
	        .name = s->name,
	        .track = (uint32_t)m->t->tracks - 1,
	        .step = step_at(m, s->begin),
	        .detail = detail,
	        .depth = (uint16_t)(depth < DEPTHS_MOST ? depth : DEPTHS_MOST - 1),
	        .kind = s->kind,
	        .category = (uint8_t)category,
	        .flags = s->flags & passed_flags,
	};
	if (s->kind == PP_SPAN_DEVICE) {
		if (s->device.launch && s->device.launch <= m->launches)
			more[m->t->events].launch = (uint32_t)m->launch_from + s->device.launch;
		more[m->t->events].op = s->device.op != s->name ? s->device.op : 0;
		if (s->device.correlation <= (s->source == PP_SOURCE_XSPACE ? PP_CORRELATION_OWN : UINT32_MAX))
			more[m->t->events].correlation = (uint32_t)s->device.correlation;
	} else if (s->kind == PP_SPAN_RANGE && s->source == PP_SOURCE_KINETO && s->range.payload_type == PP_PAYLOAD_EXT) {
		more[m->t->events].dims = (uint32_t)s->range.payload;
	}
	return (uint32_t)m->t->events++;
}

/* A track without events is taken back. */
static int begin_track(struct pp_timeline_maker *m, uint32_t rank, enum pp_timeline_of of)
{
	struct pp_timeline_track *more = pp_grow(m->t->track, m->t->tracks, &m->track_room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	m->t->track = more;
	more[m->t->tracks++] =
	        (struct pp_timeline_track){.rank = rank, .of = (uint8_t)of, .depths = 1, .event = (uint32_t)m->t->events};
	return 0;
}

static void end_track(struct pp_timeline_maker *m)
{
	struct pp_timeline_track *track = &m->t->track[m->t->tracks - 1];

	track->events = (uint32_t)m->t->events - track->event;
	if (track->events)
		m->t->rank[track->rank].tracks++;
	else
		m->t->tracks--;
}

static int is_nested(const struct pp_span *s)
{
	return s->kind == PP_SPAN_RANGE || s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_MARK;
}

/* Category of the innermost range that is whole around it: none ends after the one around it. */
static uint8_t around(const struct stack *k, const struct pp_span *s)
{
	const size_t low = PP_PARTITION(k->opens, at, k->open[at].end >= s->end);

	return low ? k->open[low - 1].category : 0;
}

static int push(struct stack *k, int64_t end, uint32_t event, uint32_t inside, uint8_t category)
{
	struct open *more = pp_grow(k->open, k->opens, &k->room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	k->open = more;
	more[k->opens++] = (struct open){end, event, inside, category};
	return 0;
}

/* Its time is not the own time of what is directly around it. */
static void take_from(struct pp_timeline_maker *m, const struct stack *k, const struct pp_span *s)
{
	const uint32_t event = k->opens ? k->open[k->opens - 1].event : NONE;

	if (event != NONE && s->end > s->begin)
		m->t->event[event].self_ns -= s->end - s->begin;
}

static int add_nested(struct pp_timeline_maker *m, size_t r, uint32_t *event, const struct pp_span *span, struct stack *k)
{
	uint8_t outer, code = 0;
	struct pp_span own = *span;
	const struct pp_span *s = &own;
	uint32_t depth;
	int crosses;

	while (k->opens && k->open[k->opens - 1].end <= s->begin)
		k->opens--;
	outer = around(k, s);
	depth = k->opens ? k->open[k->opens - 1].inside : 0;
	crosses = k->opens && s->end > k->open[k->opens - 1].end;
	if (crosses)
		own.end = k->open[k->opens - 1].end;
	if (s->kind != PP_SPAN_MARK)
		code = pp_flat_inside(s, pp_flat_code(&m->categories, s), outer);
	*event = NONE;
	if (shown(m, r, s, (uint8_t)pp_flat_category(code))) {
		*event = add_event(m, s, depth, (uint8_t)pp_flat_category(code));
		if (*event == NONE)
			return -ENOMEM;
		m->t->left.crossed += (uint64_t)crosses;
	}
	take_from(m, k, s);
	if (s->end <= s->begin)
		return 0;
	return push(k, s->end, *event, depth + (*event != NONE), code ? pp_flat_gives(s, code, outer) : outer);
}

static int add_thread(struct pp_timeline_maker *m, size_t r, size_t rank, size_t t)
{
	const struct pp_thread *thread = &m->capture.rank[r].thread[t];
	struct pp_timeline_track *track;
	struct stack stack = {NULL, 0, 0};
	int rc = begin_track(m, (uint32_t)rank, PP_TIMELINE_THREAD);

	if (rc)
		return rc;
	track = &m->t->track[m->t->tracks - 1];
	track->name = thread->name;
	track->tid = thread->tid;
	track->is_main = thread->is_main != 0;
	for (size_t i = 0; i < thread->spans && !rc; i++)
		if (is_nested(&thread->span[i]))
			rc = add_nested(m, r, &m->event[r][t][i], &thread->span[i], &stack);
	end_track(m);
	free(stack.open);
	return rc;
}

struct loose {
	const struct pp_span *span;
	uint32_t *event;
};

PP_COMPARE(by_begin, struct loose, PP_UP(span->begin) ?: PP_DOWN(span->end) ?: PP_ORDER(x->span, y->span))

struct fit { /* a tree over depths: each node has the least end of the two below it */
	int64_t *until;
	size_t leaves;
};

/* At most `n` overlap. */
static int fit_init(struct fit *f, size_t n)
{
	f->leaves = 1;
	while (f->leaves < n && f->leaves < DEPTHS_MOST)
		f->leaves *= 2;
	f->until = malloc(2 * f->leaves * sizeof(*f->until));
	for (size_t i = 0; f->until && i < 2 * f->leaves; i++)
		f->until[i] = INT64_MIN;
	return f->until ? 0 : -ENOMEM;
}

/* First fit: takes the lowest depth that is free, the last one where none is. */
static size_t fit_take(struct fit *f, int64_t begin, int64_t end)
{
	size_t at = 1, depth;

	while (at < f->leaves)
		at = f->until[2 * at] <= begin ? 2 * at : 2 * at + 1;
	depth = at - f->leaves;
	f->until[at] = end > begin ? end : begin + 1;
	while (at /= 2)
		f->until[at] = f->until[2 * at] < f->until[2 * at + 1] ? f->until[2 * at] : f->until[2 * at + 1];
	return depth < DEPTHS_MOST ? depth : DEPTHS_MOST - 1;
}

static int add_fitting(struct pp_timeline_maker *m, size_t r, struct loose *list, size_t n)
{
	struct fit fit;
	int rc = fit_init(&fit, n);

	if (rc)
		return rc;
	qsort(list, n, sizeof(*list), by_begin);
	for (size_t i = 0; i < n && !rc; i++) {
		const struct pp_span *s = list[i].span;
		int category = s->kind == PP_SPAN_REQUEST ? PP_CATEGORY_HOST_COMMUNICATION
		                                          : pp_flat_category(pp_flat_code(&m->categories, s));

		if (!shown(m, r, s, category))
			continue;
		*list[i].event = add_event(m, s, (uint32_t)fit_take(&fit, s->begin, s->end), category);
		rc = *list[i].event == NONE ? -ENOMEM : 0;
	}
	free(fit.until);
	return rc;
}

/* Lists a thread's spans of some kinds; list NULL: counts them. */
static size_t list_loose(const struct pp_timeline_maker *m, size_t r, size_t t, uint32_t kinds, struct loose *list)
{
	const struct pp_thread *thread = &m->capture.rank[r].thread[t];
	const int all = (kinds & PP_SPAN_BIT(PP_SPAN_RANGE)) != 0;
	const size_t most = all ? thread->spans : pp_thread_others(thread, kinds);
	size_t n = 0;

	for (size_t k = 0; k < most; k++) {
		const size_t i = all ? k : pp_thread_other(thread, k);

		if (!(PP_SPAN_BIT(thread->span[i].kind) & kinds))
			continue;
		if (list)
			list[n] = (struct loose){&thread->span[i], &m->event[r][t][i]};
		n++;
	}
	return n;
}

/* Spans of some kinds, of one thread or stream, or of all. */
static int add_loose(struct pp_timeline_maker *m, size_t r, size_t first, size_t threads, uint32_t kinds)
{
	struct loose *list;
	size_t n = 0;
	int rc;

	for (size_t t = first; t < first + threads; t++)
		n += list_loose(m, r, t, kinds, NULL);
	list = n ? malloc(n * sizeof(*list)) : NULL;
	if (!list)
		return n ? -ENOMEM : 0;
	n = 0;
	for (size_t t = first; t < first + threads; t++)
		n += list_loose(m, r, t, kinds, &list[n]);
	rc = add_fitting(m, r, list, n);
	free(list);
	return rc;
}

static uint32_t model_of(struct pp_timeline_maker *m, const struct pp_rank *r, uint32_t device)
{
	for (size_t i = 0; i < r->devices; i++)
		if (r->device[i].number + 1 == device)
			return r->device[i].name[0] ? pp_timeline_name(m, r->device[i].name) : 0;
	return 0;
}

/* A stream has work of the device, and ranges where the file's profiler put some on it. */
static int add_stream(struct pp_timeline_maker *m, size_t r, size_t rank, size_t t)
{
	const struct pp_rank *from = &m->capture.rank[r];
	struct pp_timeline_track *track;
	int rc = begin_track(m, (uint32_t)rank, PP_TIMELINE_STREAM);

	if (rc)
		return rc;
	track = &m->t->track[m->t->tracks - 1];
	track->name = from->thread[t].name;
	track->tid = from->thread[t].tid;
	track->device = from->thread[t].device;
	track->device_name = model_of(m, from, from->thread[t].device);
	rc = add_loose(m, r, t, 1,
	               PP_SPAN_BIT(PP_SPAN_DEVICE) | PP_SPAN_BIT(PP_SPAN_RANGE) | PP_SPAN_BIT(PP_SPAN_MPI) |
	                       PP_SPAN_BIT(PP_SPAN_MARK));
	end_track(m);
	return rc;
}

PP_COMPARE_BY(by_mark, struct pp_timeline_mark, begin)

/* The steps of a rank by time: numbers may go back. */
static void set_marks(struct pp_timeline_maker *m, size_t worker)
{
	m->marks = 0;
	for (size_t s = 0; s < m->d->steps; s++) {
		const struct pp_row_cell *cell = &m->d->cell[s * m->d->workers + worker];

		if (cell->present && cell->end_ns > cell->begin_ns)
			m->mark[m->marks++] = (struct pp_timeline_mark){cell->begin_ns, cell->end_ns, (uint32_t)s};
	}
	qsort(m->mark, m->marks, sizeof(*m->mark), by_mark);
}

static int in_steps(const struct pp_timeline_options *o, int64_t number)
{
	return o->steps_last <= o->steps_first || (number >= o->steps_first && number < o->steps_last);
}

static void set_range(struct pp_timeline_maker *m, size_t r)
{
	struct pp_timeline_range *range = &m->range[r];

	*range = (struct pp_timeline_range){INT64_MIN, INT64_MAX};
	if (m->options->steps_last <= m->options->steps_first)
		return;
	*range = (struct pp_timeline_range){INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < m->marks; i++) {
		const struct pp_timeline_mark *mark = &m->mark[i];

		if (!in_steps(m->options, m->d->step[mark->step].number))
			continue;
		range->begin = mark->begin < range->begin ? mark->begin : range->begin;
		range->end = mark->end > range->end ? mark->end : range->end;
	}
}

static int add_steps(struct pp_timeline_maker *m, size_t r, size_t rank)
{
	int rc = begin_track(m, (uint32_t)rank, PP_TIMELINE_STEPS);

	for (size_t i = 0; i < m->marks && !rc; i++) {
		const struct pp_timeline_mark *mark = &m->mark[i];
		struct pp_span s = {.begin = mark->begin, .end = mark->end, .kind = PP_SPAN_STEP};
		char text[40];

		snprintf(text, sizeof(text), "step %" PRId64, m->d->step[mark->step].number);
		s.name = pp_timeline_name(m, text);
		if (shown(m, r, &s, 0) && add_event(m, &s, 0, 0) == NONE)
			rc = -ENOMEM;
	}
	if (!rc)
		end_track(m);
	return rc;
}

static int add_rank(struct pp_timeline_maker *m, size_t r)
{
	const struct pp_rank *from = &m->capture.rank[r];
	size_t rank = pp_timeline_rank_at(m->t, from->rank);
	int rc;

	m->t->rank[rank].track = (uint32_t)m->t->tracks;
	set_marks(m, pp_dataset_worker(m->d, from->rank));
	set_range(m, r);
	rc = add_launches(m, from);
	if (!rc)
		rc = add_steps(m, r, rank);
	for (int main = 1; main >= 0; main--)
		for (size_t t = 0; t < from->threads && !rc; t++)
			if (!from->thread[t].device && !from->thread[t].is_main == !main)
				rc = add_thread(m, r, rank, t);
	for (size_t t = 0; t < from->threads && !rc; t++)
		if (from->thread[t].device)
			rc = add_stream(m, r, rank, t);
	for (int i = 0; i < 2 && !rc; i++) {
		rc = begin_track(m, (uint32_t)rank, i ? PP_TIMELINE_ASYNC : PP_TIMELINE_REQUESTS);
		if (!rc)
			rc = add_loose(m, r, 0, from->threads, PP_SPAN_BIT(i ? PP_SPAN_ASYNC : PP_SPAN_REQUEST));
		if (!rc)
			end_track(m);
	}
	return rc;
}

/* No memory is no reason to stop: the cache only saves looking names up. */
static void cache_names(struct pp_timeline_maker *m)
{
	if (pp_name_cache_init(&m->categories, m->t->names))
		m->categories.count = 0;
}

/* Address space for the events of all spans: growing would touch their memory twice. Without it the list grows. */
static void make_room(struct pp_timeline_maker *m)
{
	size_t spans = m->capture.ranks * m->d->steps;

	for (size_t r = 0; r < m->capture.ranks; r++)
		for (size_t t = 0; t < m->capture.rank[r].threads; t++)
			spans += m->capture.rank[r].thread[t].spans;
	m->t->event = spans ? pp_huge_malloc(spans * sizeof(*m->t->event)) : NULL;
	m->event_room = m->t->event ? spans : 0;
}

int pp_timeline_tracks(struct pp_timeline_maker *m)
{
	int rc = 0;

	cache_names(m);
	make_room(m);
	m->mark = calloc(m->d->steps + 1, sizeof(*m->mark));
	m->range = calloc(m->capture.ranks + 1, sizeof(*m->range));
	if (!m->mark || !m->range)
		return -ENOMEM;
	for (size_t r = 0; r < m->capture.ranks && !rc; r++)
		if (pp_timeline_wants(m, m->capture.rank[r].rank))
			rc = add_rank(m, r);
	return rc;
}

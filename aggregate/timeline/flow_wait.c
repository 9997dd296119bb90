/* Who waited for whom, as the rows of /collective and /lone_call say it: each row becomes the events of its calls, and arrows
 * between them. Called by session.c. A row has times, not places: calls are found by when they began or ended. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/graph/graph.h"
#include "aggregate/timeline/timeline_private.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

enum { NONE = UINT32_MAX };

struct place {                       /* of a span in the capture */
	uint32_t rank, thread, span; /* indexes; span NONE: no call is known */
};

struct call {
	int64_t time;
	uint32_t thread, span;
};

struct calls {                               /* of a rank */
	struct call *begun, *ended, *kernel; /* kernels of collectives by their ends */
	size_t n, kernels;
};

struct wait { /* of a row */
	int64_t until, bound;
	int32_t late;      /* world rank */
	struct place last; /* the call that it waited for */
};

struct waits {
	struct pp_timeline_maker *m;
	struct calls *calls; /* [ranks of the capture] */
	uint32_t *waiter;    /* [details] its event + 1; 0: it did not wait */
	struct place *last;  /* [details] the call that it waited for */
};

PP_COMPARE_BY_3(by_time, struct call, time, thread, span)

static int is_kernel(const struct pp_span *s)
{
	return s->kind == PP_SPAN_DEVICE && s->device.activity == PP_DEVICE_COLLECTIVE;
}

static void list_call(struct calls *c, const struct pp_span *s, uint32_t thread, uint32_t span)
{
	if (s->kind == PP_SPAN_MPI) {
		c->begun[c->n] = (struct call){s->begin, thread, span};
		c->ended[c->n++] = (struct call){s->end, thread, span};
	} else if (is_kernel(s)) {
		c->kernel[c->kernels++] = (struct call){s->end, thread, span};
	}
}

static int list_calls(struct calls *c, const struct pp_rank *rank)
{
	const uint32_t kinds = PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_DEVICE);
	size_t calls = 0, kernels = 0;

	for (int filling = 0; filling < 2; filling++) {
		if (filling) {
			c->begun = malloc((calls + 1) * sizeof(*c->begun));
			c->ended = malloc((calls + 1) * sizeof(*c->ended));
			c->kernel = malloc((kernels + 1) * sizeof(*c->kernel));
			if (!c->begun || !c->ended || !c->kernel)
				return -ENOMEM;
		}
		for (size_t t = 0; t < rank->threads; t++)
			for (size_t k = 0; k < pp_thread_others(&rank->thread[t], kinds); k++) {
				const size_t i = pp_thread_other(&rank->thread[t], k);
				const struct pp_span *s = &rank->thread[t].span[i];

				if (filling)
					list_call(c, s, (uint32_t)t, (uint32_t)i);
				calls += s->kind == PP_SPAN_MPI;
				kernels += (size_t)is_kernel(s);
			}
	}
	qsort(c->begun, c->n, sizeof(*c->begun), by_time);
	qsort(c->ended, c->n, sizeof(*c->ended), by_time);
	qsort(c->kernel, c->kernels, sizeof(*c->kernel), by_time);
	return 0;
}

/* Index of a rank in the capture; NONE: it has no events. */
static uint32_t rank_at(const struct waits *w, int32_t rank)
{
	const struct pp_capture *c = &w->m->capture;
	const size_t at = PP_PARTITION(c->ranks, i, c->rank[i].rank < rank);

	return at < c->ranks && c->rank[at].rank == rank ? (uint32_t)at : NONE;
}

static const struct pp_span *span_at(const struct waits *w, const struct place *p)
{
	return &w->m->capture.rank[p->rank].thread[p->thread].span[p->span];
}

static uint32_t event_at(const struct waits *w, const struct place *p)
{
	return p->span == NONE ? NONE : w->m->event[p->rank][p->thread][p->span];
}

static struct pp_timeline_detail *detail_at(const struct waits *w, const struct place *p)
{
	const uint32_t event = event_at(w, p);

	return event == NONE || !w->m->t->event[event].detail ? NULL : &w->m->t->detail[w->m->t->event[event].detail - 1];
}

/* The rank's call that began then; of a collective that of `c`. */
static struct place begun_at(const struct waits *w, int32_t rank, int64_t time, const struct pp_row_collective *c)
{
	const uint32_t r = rank_at(w, rank);
	const struct calls *calls = r == NONE ? NULL : &w->calls[r];
	size_t at = calls ? PP_PARTITION(calls->n, i, calls->begun[i].time < time) : 0;

	for (; calls && at < calls->n && calls->begun[at].time == time; at++) {
		const struct place p = {r, calls->begun[at].thread, calls->begun[at].span};
		const struct pp_span *s = span_at(w, &p);

		if (!c || c->message || (s->mpi.comm == c->communicator && s->mpi.sequence == c->sequence))
			return p;
	}
	return (struct place){.span = NONE};
}

/* The call that completed the row's operation. */
static struct place completed_by(const struct waits *w, const struct pp_row_arrival *row)
{
	const uint32_t r = rank_at(w, row->worker);
	const struct calls *calls = r == NONE ? NULL : &w->calls[r];
	size_t at = calls ? PP_PARTITION(calls->n, i, calls->ended[i].time < row->call_end_ns) : 0;

	for (; calls && at < calls->n && calls->ended[at].time == row->call_end_ns; at++) {
		const struct place p = {r, calls->ended[at].thread, calls->ended[at].span};

		if (span_at(w, &p)->begin == row->call_begin_ns || row->polls)
			return p;
	}
	return (struct place){.span = NONE};
}

/* A call that waits for several operations waits for the last of them. */
static void set_wait(struct waits *w, const struct place *call, const struct wait *wait)
{
	struct pp_timeline_detail *d = detail_at(w, call);
	const uint32_t event = event_at(w, call);
	const struct pp_timeline_event *e = d ? &w->m->t->event[event] : NULL;
	int64_t until;

	if (!d)
		return;
	d->has |= PP_TIMELINE_HAS_WAIT;
	if (wait->late < 0 || wait->until <= e->begin_ns)
		return;
	until = wait->until < e->end_ns ? wait->until : e->end_ns;
	if (d->last >= 0 && (until < d->until_ns || (until == d->until_ns && wait->late >= d->last)))
		return;
	d->until_ns = until;
	d->bound_ns = wait->bound;
	d->last = wait->late;
	w->waiter[e->detail - 1] = event + 1;
	w->last[e->detail - 1] = wait->last;
}

/* The same for the calls of its thread before it that began at `from` or later: polls without a result. */
static void set_polls(struct waits *w, struct place call, int64_t from, const struct wait *wait)
{
	const struct pp_thread *thread = &w->m->capture.rank[call.rank].thread[call.thread];
	int64_t next = thread->span[call.span].begin;
	int is_between = 0;

	while (call.span-- > 0 && thread->span[call.span].begin >= from) {
		const struct pp_span *s = &thread->span[call.span];

		if (s->kind != PP_SPAN_MPI || !(s->flags & PP_SPAN_POLLS))
			continue;
		set_wait(w, &call, wait);
		is_between |= wait->late >= 0 && s->end < next && s->end < wait->until && event_at(w, &call) != NONE;
		next = s->begin;
	}
	w->m->t->left.between_polls += (uint64_t)is_between;
}

static struct place kernel_of(const struct waits *w, const struct pp_row_arrival *row)
{
	const uint32_t r = rank_at(w, row->worker);
	const struct calls *calls = r == NONE ? NULL : &w->calls[r];
	const size_t at = calls ? PP_PARTITION(calls->kernels, i, calls->kernel[i].time < row->device_end_ns) : 0;

	if (!calls || at == calls->kernels || calls->kernel[at].time != row->device_end_ns)
		return (struct place){.span = NONE};
	return (struct place){r, calls->kernel[at].thread, calls->kernel[at].span};
}

/* The kernel or the call of the late rank in the operation; where it is late with another one, that which began then. */
static struct place last_of(const struct waits *w, const struct pp_row_collective *c, const struct wait *wait)
{
	const struct pp_row_arrival *row = &w->m->d->arrival[c->row_first];
	const size_t at = PP_PARTITION(c->row_count, i, row[i].worker < wait->late);
	const int is_in = at < c->row_count && row[at].worker == wait->late;
	struct place p = {.span = NONE};

	if (is_in && pp_graph_on_device(&row[at]))
		p = kernel_of(w, &row[at]);
	if (p.span == NONE)
		p = begun_at(w, wait->late, wait->until, NULL);
	return p.span == NONE && is_in ? begun_at(w, wait->late, row[at].arrival_ns, c) : p;
}

/* Until when the row waits, and for whom. */
static struct wait wait_of(const struct waits *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	struct wait wait = {.bound = row->device_how ? pp_known_or(row->device_bound_ns, 0) : c->bound_ns, .late = -1};
	int64_t begin;

	if (!pp_arrival_waits(row, &begin, &wait.until))
		return wait;
	wait.late = row->late_rank;
	wait.last = last_of(w, c, &wait);
	return wait;
}

/* Its calls, and its kernel. The call that only begins it does not wait. */
static void add_row(struct waits *w, const struct pp_row_collective *c, const struct pp_row_arrival *row)
{
	const struct place call = begun_at(w, row->worker, row->arrival_ns, c);
	struct place waiter = call, kernel;
	struct wait wait;

	if (row->waited_ns < 0)
		return;
	wait = wait_of(w, c, row);
	if (row->call)
		waiter = completed_by(w, row);
	else if (call.span != NONE && pp_mpi_call_info(span_at(w, &call)->mpi.call)->nonblocking)
		waiter.span = NONE;
	if (waiter.span != call.span || waiter.thread != call.thread)
		set_wait(w, &call, &(const struct wait){.late = -1});
	set_wait(w, &waiter, &wait);
	if (row->polls && waiter.span != NONE)
		set_polls(w, waiter, row->call_begin_ns, &wait);
	if (pp_graph_on_device(row)) {
		kernel = kernel_of(w, row);
		set_wait(w, &kernel, &wait);
	}
}

/* An older session has no waiting by row. */
static int adds_up(const struct pp_dataset *d, const struct pp_row_collective *c)
{
	int64_t sum = 0;

	if (c->row_first > d->arrivals || c->row_count > d->arrivals - c->row_first)
		return 0;
	for (uint32_t i = 0; i < c->row_count; i++)
		if (d->arrival[c->row_first + i].waited_ns > 0)
			pp_wrap_add(&sum, d->arrival[c->row_first + i].waited_ns);
	return sum == pp_known_or(c->wait_ns, 0);
}

/* One row may have many calls of one thread. */
static void add_lone(struct waits *w, const struct pp_row_lone_call *lone)
{
	struct wait wait = {pp_wrap_plus(lone->begin_ns, lone->wait_ns), 0, lone->late_rank, {.span = NONE}};
	struct place call = begun_at(w, lone->worker, lone->begin_ns, NULL);
	const struct pp_thread *thread;

	if (lone->wait_ns <= 0 || call.span == NONE)
		return;
	wait.last = begun_at(w, wait.late, wait.until, NULL);
	thread = &w->m->capture.rank[call.rank].thread[call.thread];
	for (; call.span < thread->spans && thread->span[call.span].begin < wait.until; call.span++)
		if (thread->span[call.span].kind == PP_SPAN_MPI && thread->span[call.span].mpi.call == lone->operation)
			set_wait(w, &call, &wait);
}

/* Arrows, and what has none: a call that is not shown is counted elsewhere. */
static int add_arrows(struct waits *w)
{
	struct pp_timeline *t = w->m->t;
	int rc = 0;

	for (size_t i = 0; i < t->details && !rc; i++) {
		if (!w->waiter[i])
			continue;
		rc = pp_timeline_add_flow(w->m, w->waiter[i] - 1, event_at(w, &w->last[i]), PP_FLOW_COLLECTIVE);
		t->left.unmatched_waits += w->last[i].span == NONE && rank_at(w, t->detail[i].last) != NONE;
	}
	for (size_t i = 0; i < t->events; i++) {
		const struct pp_timeline_event *e = &t->event[i];
		const struct pp_timeline_detail *d = e->kind == PP_SPAN_MPI && e->detail ? &t->detail[e->detail - 1] : NULL;

		if (d && d->comm && d->has & PP_TIMELINE_HAS_SEQUENCE && !(e->flags & PP_SPAN_FAILED))
			t->left.unmatched_collectives += !(d->has & PP_TIMELINE_HAS_WAIT);
	}
	return rc;
}

int pp_timeline_waits(struct pp_timeline_maker *m)
{
	const struct pp_dataset *d = m->d;
	struct waits w = {.m = m,
	                  .calls = calloc(m->capture.ranks + 1, sizeof(*w.calls)),
	                  .waiter = calloc(m->t->details + 1, sizeof(*w.waiter)),
	                  .last = calloc(m->t->details + 1, sizeof(*w.last))};
	int rc = w.calls && w.waiter && w.last ? 0 : -ENOMEM;

	for (size_t r = 0; r < m->capture.ranks && !rc; r++)
		rc = list_calls(&w.calls[r], &m->capture.rank[r]);
	for (size_t c = 0; c < d->collectives && !rc; c++)
		if (adds_up(d, &d->collective[c]))
			for (uint32_t i = 0; i < d->collective[c].row_count; i++)
				add_row(&w, &d->collective[c], &d->arrival[d->collective[c].row_first + i]);
	for (size_t i = 0; i < d->lone_calls && !rc; i++)
		add_lone(&w, &d->lone_call[i]);
	if (!rc)
		rc = add_arrows(&w);
	for (size_t r = 0; w.calls && r < m->capture.ranks; r++) {
		free(w.calls[r].begun);
		free(w.calls[r].ended);
		free(w.calls[r].kernel);
	}
	free(w.calls);
	free(w.waiter);
	free(w.last);
	return rc;
}

/* Arrows between events: who waited for whom, requests, launches; and the waiting of calls. See timeline_private.h. Called by
 * load.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/launch_call.h"
#include "aggregate/analyze/request.h"
#include "aggregate/analyze/waiting.h"
#include "aggregate/analyze/waits.h"
#include "aggregate/timeline/timeline_private.h"
#include "core/base/grow.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

enum { NONE = UINT32_MAX };

int pp_timeline_add_flow(struct pp_timeline_maker *m, uint32_t from, uint32_t to, enum pp_timeline_flow_kind kind)
{
	struct pp_timeline_flow *more;

	if (from == NONE || to == NONE)
		return 0;
	more = pp_grow(m->t->flow, m->t->flows, &m->flow_room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->t->flow = more;
	more[m->t->flows++] = (struct pp_timeline_flow){from, to, kind};
	return 0;
}

static uint32_t event_at(const struct pp_timeline_maker *m, const struct pp_place *p)
{
	return p->span == NONE ? NONE : m->event[p->rank][p->thread][p->span];
}

static struct pp_timeline_detail *detail_at(const struct pp_timeline_maker *m, const struct pp_place *p)
{
	uint32_t event = event_at(m, p);

	return event == NONE || !m->t->event[event].detail ? NULL : &m->t->detail[m->t->event[event].detail - 1];
}

/* Takes what the wait says into the event that waited; 1 where that is now its wait. A Wait for several operations waits for the
 * last of them. */
static int set_wait(const struct pp_timeline_maker *m, const struct pp_wait *w)
{
	struct pp_timeline_detail *d = detail_at(m, &w->waiter), *call = detail_at(m, &w->call);
	const struct pp_timeline_event *e = d ? &m->t->event[event_at(m, &w->waiter)] : NULL;
	int64_t until;

	if (call)
		call->has |= PP_TIMELINE_HAS_WAIT;
	if (!d)
		return 0;
	d->has |= PP_TIMELINE_HAS_WAIT;
	if (w->last_rank < 0 || w->until_ns <= e->begin_ns)
		return 0;
	until = w->until_ns < e->end_ns ? w->until_ns : e->end_ns;
	if (d->last >= 0 && !pp_waiting_is_later(until, w->last_rank, d->until_ns, d->last))
		return 0;
	d->until_ns = until;
	d->bound_ns = w->bound_ns;
	d->last = w->last_rank;
	return 1;
}

static int add_waits(struct pp_timeline_maker *m)
{
	struct pp_waits waits;
	size_t *decides = calloc(m->t->details + 1, sizeof(*decides)); /* index + 1 of the wait that a detail has; 0: none */
	int rc = decides ? pp_waits_find(&m->capture, m->d, &waits) : -ENOMEM;

	if (rc) {
		free(decides);
		return rc;
	}
	for (size_t i = 0; i < waits.waits; i++) {
		const struct pp_wait *w = &waits.wait[i];

		if (!w->is_known)
			m->t->left.unmatched_collectives += !w->is_message && event_at(m, &w->call) != NONE;
		else if (set_wait(m, w))
			decides[m->t->event[event_at(m, &w->waiter)].detail - 1] = i + 1;
	}
	for (size_t i = 0; i < m->t->details && !rc; i++) {
		const struct pp_wait *w = decides[i] ? &waits.wait[decides[i] - 1] : NULL;

		if (w)
			rc = pp_timeline_add_flow(m, event_at(m, &w->waiter), event_at(m, &w->last), PP_FLOW_COLLECTIVE);
	}
	pp_waits_release(&waits);
	free(decides);
	return rc;
}

static int add_requests(struct pp_timeline_maker *m, size_t r)
{
	const struct pp_rank *rank = &m->capture.rank[r];
	struct pp_requests requests;
	int rc = pp_requests_init(&requests, rank);

	for (size_t t = 0; t < rank->threads; t++)
		for (size_t k = 0; !rc && k < pp_thread_others(&rank->thread[t], PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
			const size_t i = pp_thread_other(&rank->thread[t], k);
			const struct pp_span *s = &rank->thread[t].span[i];
			const struct pp_done *done;

			if (s->kind != PP_SPAN_MPI || !s->mpi.request || !pp_mpi_call_info(s->mpi.call)->nonblocking)
				continue;
			done = pp_requests_find(&requests, s->mpi.request);
			if (done && done->wait_span != NONE)
				rc = pp_timeline_add_flow(m, m->event[r][t][i], m->event[r][done->wait_thread][done->wait_span],
				                          PP_FLOW_REQUEST);
		}
	pp_requests_release(&requests);
	return rc;
}

static int add_launches(struct pp_timeline_maker *m, size_t r)
{
	const struct pp_rank *rank = &m->capture.rank[r];
	struct pp_launch_calls list;
	int rc = pp_launch_calls_init(&list, rank);

	for (size_t t = 0; t < rank->threads; t++)
		for (size_t i = 0; !rc && rank->thread[t].device && i < rank->thread[t].spans; i++) {
			const struct pp_span *s = &rank->thread[t].span[i];
			const struct pp_launch_call *l;

			if (s->kind != PP_SPAN_DEVICE || m->event[r][t][i] == NONE)
				continue;
			l = pp_launch_calls_find(&list, s);
			if (l)
				rc = pp_timeline_add_flow(m, m->event[r][l->thread][l->span], m->event[r][t][i], PP_FLOW_LAUNCH);
			else
				m->t->left.unmatched_launches++;
		}
	pp_launch_calls_release(&list);
	return rc;
}

static int by_ends(const void *a, const void *b)
{
	const struct pp_timeline_flow *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

int pp_timeline_flows(struct pp_timeline_maker *m)
{
	int rc = add_waits(m);

	for (size_t r = 0; r < m->capture.ranks && !rc; r++) {
		rc = add_requests(m, r);
		if (!rc)
			rc = add_launches(m, r);
	}
	if (!rc && m->t->flows)
		qsort(m->t->flow, m->t->flows, sizeof(*m->t->flow), by_ends);
	return rc;
}

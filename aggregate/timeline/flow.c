/* Arrows of requests and launches; then orders all arrows. See timeline_private.h. Called by session.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/launch_call.h"
#include "aggregate/analyze/request.h"
#include "aggregate/timeline/timeline_private.h"
#include "core/base/compare.h"
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

PP_COMPARE_BY_3(by_ends, struct pp_timeline_flow, from, to, kind)

int pp_timeline_flows(struct pp_timeline_maker *m)
{
	int rc = 0;

	for (size_t r = 0; r < m->capture.ranks && !rc; r++) {
		rc = add_requests(m, r);
		if (!rc)
			rc = add_launches(m, r);
	}
	if (!rc && m->t->flows)
		qsort(m->t->flow, m->t->flows, sizeof(*m->t->flow), by_ends);
	return rc;
}

/* Finds nonblocking operations and the calls that completed them; see request.h. */
#include "aggregate/analyze/request.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

PP_COMPARE_BY(compare_done, struct pp_done, request)

/* The Wait or Test with the latest begin at or before `time`; NULL: none. It is among the spans just before: a call that saw the
 * completion ends after it, and calls of one thread do not overlap. */
static const struct pp_span *waiting_at(const struct pp_thread *thread, int64_t time)
{
	size_t low = PP_PARTITION(thread->spans, at, thread->span[at].begin <= time);

	for (size_t looked = 0; low > 0 && looked < 4096; looked++) {
		const struct pp_span *span = &thread->span[--low];

		if (span->kind != PP_SPAN_MPI)
			continue;
		if (pp_mpi_call_info(span->mpi.call)->class == PP_MPI_WAIT && !(span->flags & PP_SPAN_POLLS) && span->end >= time)
			return span;
		if (span->begin < time) /* otherwise it is the next call, which began in the nanosecond in which the Wait ended */
			return NULL;
	}
	return NULL;
}

static void find_wait(const struct pp_rank *rank, uint32_t own, struct pp_done *done)
{
	done->wait_span = UINT32_MAX;
	for (uint32_t i = 0; i < rank->threads; i++) {
		uint32_t t = i == 0 ? own : i <= own ? i - 1 : i; /* begin with its own thread */
		const struct pp_span *span = pp_thread_may_have(&rank->thread[t], PP_SPAN_BIT(PP_SPAN_MPI))
		                                     ? waiting_at(&rank->thread[t], done->span->end)
		                                     : NULL;

		if (!span)
			continue;
		done->wait_thread = t;
		done->wait_span = (uint32_t)(span - rank->thread[t].span);
		return;
	}
}

int pp_requests_init(struct pp_requests *r, const struct pp_rank *rank)
{
	size_t n = 0;

	for (uint32_t t = 0; t < rank->threads; t++)
		for (size_t k = 0; k < pp_thread_others(&rank->thread[t], PP_SPAN_BIT(PP_SPAN_REQUEST)); k++)
			n += rank->thread[t].span[pp_thread_other(&rank->thread[t], k)].kind == PP_SPAN_REQUEST;
	*r = (struct pp_requests){.done = calloc(n + 1, sizeof(*r->done))};
	if (!r->done)
		return -ENOMEM;
	for (uint32_t t = 0; t < rank->threads; t++) {
		for (size_t k = 0; k < pp_thread_others(&rank->thread[t], PP_SPAN_BIT(PP_SPAN_REQUEST)); k++) {
			const struct pp_span *span = &rank->thread[t].span[pp_thread_other(&rank->thread[t], k)];

			if (span->kind != PP_SPAN_REQUEST || !span->mpi.request || (span->flags & PP_SPAN_CUT_END))
				continue;
			r->done[r->dones] = (struct pp_done){.request = span->mpi.request, .span = span};
			find_wait(rank, t, &r->done[r->dones++]);
		}
	}
	qsort(r->done, r->dones, sizeof(*r->done), compare_done);
	return 0;
}

void pp_requests_release(struct pp_requests *r)
{
	free(r->done);
	r->done = NULL;
	r->dones = 0;
}

const struct pp_done *pp_requests_find(const struct pp_requests *r, uint32_t request)
{
	struct pp_done key = {.request = request};

	if (!request || !r->dones)
		return NULL;
	return bsearch(&key, r->done, r->dones, sizeof(*r->done), compare_done);
}

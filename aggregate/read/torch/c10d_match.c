/* Matches recorded calls with the ends of their Work; see c10d_match.h. Called by c10d.c. A Work is known by its address, which the
 * next one may have: an end belongs to the latest call before it. */
#include "aggregate/read/torch/c10d_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/torch/c10d_private.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"

PP_COMPARE_BY_2(compare_end, struct pp_annotation, correlation, time)

PP_COMPARE_BY_2(compare_use, struct c10d_call, span->mpi.request, span->begin)

PP_COMPARE_BY_2(compare_begin, struct c10d_call, span->begin, thread)

static int add_call(struct c10d *c, uint32_t t, struct pp_span *span)
{
	if (PP_GROW(c->call, c->calls, c->calls_room))
		return -ENOMEM;
	c->call[c->calls++] = (struct c10d_call){.span = span, .done = C10D_UNKNOWN, .thread = t, .operation = span->mpi.call};
	return 0;
}

/* A call of NCCL that has records of its own is inside: it is the operation, and this one is only shown. */
static void shows_only(struct pp_span *s)
{
	s->kind = PP_SPAN_RANGE;
	memset(&s->range, 0, sizeof(s->range));
	s->range.origin = PP_ORIGIN_LIBRARY;
}

/* PyTorch ends the range of a message's work when a thread waited for it, and ranges of a thread end from the innermost out: the
 * end of the operator's range is that of the work's, and the other way round. */
static void part_ranges(struct pp_span *around, const struct pp_span *call, struct pp_span *work)
{
	if (around && around->begin <= call->begin && around->end > work->end && work->end >= call->end)
		around->end = work->end;
	if (work->end > call->end)
		work->end = call->end;
}

/* Is it PyTorch's range of a message's operator, or of its work? */
static int is_message_range(const struct c10d *c, const struct pp_span *s, enum c10d_what what)
{
	return s->kind == PP_SPAN_RANGE && c10d_name_of(c, s)->what == what && c10d_is_peer_to_peer(c10d_name_of(c, s)->call);
}

static int read_thread(struct c10d *c, uint32_t t, int *any)
{
	struct pp_thread *thread = &c->rank->thread[t];
	struct pp_span *around = NULL;
	size_t first = c->calls;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < thread->spans; i++) {
		struct pp_span *span = &thread->span[i];
		const struct pp_span *last = c->calls > first ? c->call[c->calls - 1].span : NULL;

		if (is_message_range(c, span, C10D_CALL))
			around = span;
		if (is_message_range(c, span, C10D_WORK) && last && span->begin <= last->end)
			part_ranges(around, last, span);
		if (span->kind == PP_SPAN_MPI && span->mpi.call >= PP_NCCL_FIRST && last && span->begin <= last->end)
			shows_only(c->call[--c->calls].span);
		if (!c10d_is_recorded(span))
			continue;
		if (span->mpi.call == C10D_WAIT) {
			span->mpi.request = 0;
			continue;
		}
		*any = 1;
		rc = add_call(c, t, span);
	}
	return rc;
}

struct ends { /* rows of pp_rank.annotation that tell when a Work was complete */
	const struct pp_annotation *row;
	size_t rows;
};

/* The first end of its Work from its begin on and before `until`, the Work's next use. */
static int64_t end_of(const struct ends *e, const struct c10d_call *call, int64_t until)
{
	const uint32_t work = call->span->mpi.request;
	const int64_t begin = call->span->begin;
	size_t i = PP_PARTITION(e->rows, at,
	                        e->row[at].correlation < work || (e->row[at].correlation == work && e->row[at].time < begin));

	return i < e->rows && e->row[i].correlation == work && e->row[i].time < until ? e->row[i].time : C10D_UNKNOWN;
}

/* Ranks that NCCL serves have their ends on devices. */
static void count(struct c10d *c, const struct c10d_call *call)
{
	struct pp_c10d_count *n = &c->rank->c10d;
	enum pp_mpi_class class = pp_mpi_call_info(call->span->mpi.call)->class;

	n->calls++;
	if (c10d_is_peer_to_peer(call->span->mpi.call))
		return;
	n->unannotated += !call->span->mpi.comm;
	n->rootless += call->span->mpi.comm && call->span->mpi.peer < 0 && (class == PP_MPI_FROM_ROOT || class == PP_MPI_TO_ROOT);
	n->enqueued += call->done == C10D_UNKNOWN && call->span->mpi.request && !(call->span->flags & PP_SPAN_FAILED);
}

static int make_request(struct c10d *c, struct c10d_call *call, uint32_t number)
{
	struct c10d_extra *extra;

	call->span->mpi.request = number;
	if (!number)
		return 0;
	if (PP_GROW(c->extra, c->extras, c->extras_room))
		return -ENOMEM;
	extra = &c->extra[c->extras++];
	call->request_at = c->extras;
	extra->thread = call->thread;
	extra->span = *call->span;
	extra->span.kind = PP_SPAN_REQUEST;
	if (call->done == C10D_UNKNOWN)
		extra->span.flags |= PP_SPAN_CUT_END;
	else
		extra->span.end = call->done;
	return 0;
}

static int find_ends(struct c10d *c)
{
	const struct pp_rank *rank = c->rank;
	struct pp_annotation *row = calloc(rank->annotations + 1, sizeof(*row));
	struct ends e = {.row = row};

	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < rank->annotations; i++)
		if (rank->annotation[i].call == C10D_WAIT)
			row[e.rows++] = rank->annotation[i];
	qsort(row, e.rows, sizeof(*row), compare_end);
	qsort(c->call, c->calls, sizeof(*c->call), compare_use);
	for (size_t i = 0; i < c->calls; i++) {
		struct c10d_call *call = &c->call[i];
		int again = i + 1 < c->calls && call[1].span->mpi.request == call->span->mpi.request;

		if (call->span->mpi.request)
			call->done = end_of(&e, call, again ? call[1].span->begin : INT64_MAX);
	}
	qsort(c->call, c->calls, sizeof(*c->call), compare_begin);
	free(row);
	return 0;
}

int c10d_match(struct c10d *c, uint32_t last_request, int *ret_any)
{
	int rc = 0;

	for (uint32_t t = 0; rc == 0 && t < c->rank->threads; t++)
		rc = read_thread(c, t, ret_any);
	if (rc == 0 && c->calls)
		rc = find_ends(c);
	for (size_t i = 0; rc == 0 && i < c->calls; i++) {
		struct pp_span *s = c->call[i].span;

		count(c, &c->call[i]);
		if (s->mpi.peer == c->rank->rank && !c10d_is_peer_to_peer(s->mpi.call))
			s->flags |= PP_SPAN_IS_ROOT;
		if (s->mpi.request)
			rc = make_request(c, &c->call[i], last_request < UINT32_MAX ? ++last_request : 0);
	}
	return rc;
}

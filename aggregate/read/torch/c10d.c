/* Converts ranges of torch.distributed into calls and requests; see c10d.h. Called by the session. */
#include "aggregate/read/torch/c10d.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/torch/c10d_annotate.h"
#include "aggregate/read/torch/c10d_end.h"
#include "aggregate/read/torch/c10d_match.h"
#include "aggregate/read/torch/c10d_private.h"
#include "aggregate/read/torch/c10d_wait.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/capture/capture.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

static int is(const char *text, size_t length, const char *name)
{
	return strlen(name) == length && !memcmp(text, name, length);
}

static struct c10d_name meaning(const char *text, size_t length)
{
	unsigned call;

	if (is(text, length, "_c10d_functional::wait_tensor"))
		return (struct c10d_name){C10D_WAITS, C10D_WAIT};
	if (is(text, length, "backward") || is(text, length, "DistributedDataParallel.forward") ||
	    (length > strlen(C10D_ENGINE) && !memcmp(text, C10D_ENGINE, strlen(C10D_ENGINE))))
		return (struct c10d_name){C10D_AROUND, 0};
	if (length > 6 && !memcmp(text, "c10d::", 6)) {
		call = pp_c10d_call_of(text, length);
		return (struct c10d_name){call == C10D_WAIT ? C10D_WAITS : call ? C10D_CALL : C10D_NOTHING, (uint16_t)call};
	}
	if (length > 5 && !memcmp(text, "gloo:", 5)) {
		call = pp_c10d_call_of_backend(text, length);
		return (struct c10d_name){call ? C10D_WORK : C10D_NOTHING, c10d_operation(call)};
	}
	if (length > 5 && (!memcmp(text, "nccl:", 5) || !memcmp(text, "xccl:", 5)))
		return (struct c10d_name){C10D_ENQUEUE, 0};
	return (struct c10d_name){C10D_NOTHING, 0};
}

/* NULL: no memory. *ret_any: there is a call or a wait among them. */
static struct c10d_name *read_names(const struct pp_intern *names, uint32_t count, int *ret_any)
{
	struct c10d_name *name = calloc((size_t)count + 1, sizeof(*name));

	for (uint32_t i = 0; name && i < count; i++) {
		size_t length;
		const char *text = pp_intern_text(names, i, &length);

		name[i] = meaning(text, length);
		*ret_any |= name[i].what == C10D_CALL || name[i].what == C10D_WAITS;
	}
	return name;
}

/* Only ranges of the framework are its collectives; phases and waits come from the shim, through podprof.h. */
static enum c10d_what what_is(const struct c10d *c, const struct pp_span *span)
{
	enum c10d_what what = span->kind == PP_SPAN_RANGE ? c10d_name_of(c, span)->what : C10D_NOTHING;
	int traced = span->source == PP_SOURCE_ITT || span->source == PP_SOURCE_NVTX ||
	             (span->source == PP_SOURCE_KINETO && c->rank->annotations); /* older files do not describe them */

	if (what == C10D_WAITS || what == C10D_AROUND || traced)
		return what;
	return C10D_NOTHING;
}

static int add_work(struct c10d *c, uint32_t thread, struct pp_span *span)
{
	if (span->flags & PP_SPAN_CUT_BEGIN)
		return 0;
	if (PP_GROW(c->work, c->works, c->works_room))
		return -ENOMEM;
	c->work[c->works++] = (struct c10d_work){
	        span, span->begin, span->end, thread, c10d_name_of(c, span)->call, (span->flags & PP_SPAN_CUT_END) != 0};
	return 0;
}

static void make_wait(struct pp_span *span)
{
	span->kind = PP_SPAN_MPI;
	span->category = 0;
	span->mpi = (struct pp_span_mpi){.peer = -1, .call = C10D_WAIT};
}

/* Files of other profilers have no range for C++ that waits in a backward pass: the backend's own time is that waiting, as far as
 * it is exposed. */
static void wait_in_works(const struct c10d *c)
{
	for (size_t i = 0; i < c->works && !c->has_waits; i++)
		if (c->work[i].call && c->work[i].span->source == PP_SOURCE_KINETO)
			make_wait(c->work[i].span);
}

/* A call inside a call is the operation, the outer one only wraps it. Half a call has no arrival: it stays a range. */
static int read_thread(struct c10d *c, uint32_t t)
{
	struct pp_thread *thread = &c->rank->thread[t];
	size_t first = c->calls;
	int64_t waits_until = INT64_MIN;

	for (size_t i = 0; i < thread->spans; i++) {
		struct pp_span *span = &thread->span[i];
		enum c10d_what what = what_is(c, span);
		struct c10d_call *call = c->calls > first ? &c->call[c->calls - 1] : NULL;

		if (span->kind == PP_SPAN_MPI && span->mpi.call >= PP_NCCL_FIRST && call && span->begin <= call->span->end)
			call->is_nccl = call->enqueued = 1;
		if (what == C10D_NOTHING || what == C10D_AROUND)
			continue;
		if (what == C10D_WORK && call && c10d_is_peer_to_peer(call->operation) && span->begin <= call->span->end)
			call->inner = span;
		else if (what == C10D_WORK && add_work(c, t, span))
			return -ENOMEM;
		if (what == C10D_ENQUEUE && call && span->begin <= call->span->end)
			call->enqueued = 1;
		if (what == C10D_WAITS && span->begin >= waits_until && !(span->flags & PP_SPAN_CUT_BEGIN)) {
			make_wait(span);
			c->has_waits = 1;
			waits_until = span->end;
		}
		if (what != C10D_CALL || (span->flags & PP_SPAN_CUT_BEGIN))
			continue;
		while (c->calls > first && c->call[c->calls - 1].span->end > span->begin)
			c->calls--;
		if (PP_GROW(c->call, c->calls, c->calls_room))
			return -ENOMEM;
		call = &c->call[c->calls++];
		memset(call, 0, sizeof(*call));
		call->span = span;
		call->done = C10D_UNKNOWN;
		call->thread = t;
		call->operation = c10d_operation(c10d_name_of(c, span)->call);
	}
	return 0;
}

PP_COMPARE_BY_2(compare_call, struct c10d_call, span->begin, thread)

PP_COMPARE_BY_2(compare_work, struct c10d_work, begin, thread)

/* The highest number of a request that the rank has. */
static uint32_t last_request(const struct pp_rank *rank)
{
	uint32_t last = 0;

	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t i = 0; pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_MPI)) && i < thread->spans; i++)
			if (thread->span[i].kind == PP_SPAN_MPI && !c10d_is_recorded(&thread->span[i]) &&
			    thread->span[i].mpi.request > last)
				last = thread->span[i].mpi.request;
	}
	return last;
}

static void count_call(struct c10d *c, const struct c10d_call *call)
{
	struct pp_c10d_count *n = &c->rank->c10d;
	enum pp_mpi_class class = pp_mpi_call_info(call->span->mpi.call)->class;

	if (call->span->end < c->rank->recorded_from) /* of the set-up before the window: its annotations were not kept */
		return;
	n->calls++;
	if (c10d_is_peer_to_peer(call->span->mpi.call))
		return;
	if (!call->annotation) {
		n->unannotated++;
		n->recorder_off += !c->rank->annotations;
	} else if ((class == PP_MPI_FROM_ROOT || class == PP_MPI_TO_ROOT) && call->annotation->root < 0) {
		n->rootless++;
	}
	if (call->done == C10D_UNKNOWN) {
		n->unended += !call->enqueued;
		n->enqueued += call->enqueued;
	}
}

/* PyTorch ends the work's range when a thread waited for it, and ranges of a thread end from the innermost out: the two ends are
 * swapped. */
static void part_from_call(const struct c10d_call *call)
{
	struct pp_span *s = call->span, *work = call->inner;
	int64_t end = work->end;

	if (end > s->end)
		return;
	*work = (struct pp_span){.begin = work->begin,
	                         .end = s->end,
	                         .name = s->name,
	                         .kind = PP_SPAN_REQUEST,
	                         .flags = s->flags & PP_SPAN_CUT_END,
	                         .source = s->source,
	                         .mpi = {.peer = -1, .request = s->mpi.request, .call = s->mpi.call}};
	s->flags &= (uint8_t)~PP_SPAN_CUT_END;
	s->end = end;
}

/* Of a kernel that ran it. Requests come in order, and are higher than those before. */
static int add_operation(struct c10d *c, uint32_t request, uint32_t correlation)
{
	struct pp_rank *rank = c->rank;

	if (PP_GROW(rank->operation, rank->operations, c->operations_room))
		return -ENOMEM;
	rank->operation[rank->operations++] = (struct pp_operation){.request = request, .correlation = correlation};
	return 0;
}

/* Makes the range the call that begins the operation, and adds a request. */
static int make_call(struct c10d *c, struct c10d_call *call, uint32_t request)
{
	struct pp_span *s = call->span;
	const struct pp_annotation *annotation = call->annotation;
	struct c10d_extra *extra;
	uint32_t number = c10d_name_of(c, s)->call;

	if (call->is_nccl)
		return 0;
	s->kind = PP_SPAN_MPI;
	s->category = 0;
	s->flags &= PP_SPAN_CUT_END;
	s->mpi = (struct pp_span_mpi){.peer = -1, .request = request, .call = (uint16_t)number};
	if (annotation) {
		s->mpi.comm = annotation->comm;
		s->mpi.sent = annotation->sent;
		s->mpi.received = annotation->received;
		s->mpi.sequence = annotation->sequence;
		s->mpi.peer = annotation->root >= 0 ? annotation->root : -1;
	}
	if (annotation && annotation->root == c->rank->rank)
		s->flags |= PP_SPAN_IS_ROOT;
	count_call(c, call);
	if (request && call->inner)
		part_from_call(call);
	if (!request || c10d_is_peer_to_peer(number))
		return 0;
	if (PP_GROW(c->extra, c->extras, c->extras_room))
		return -ENOMEM;
	extra = &c->extra[c->extras++];
	memset(extra, 0, sizeof(*extra));
	call->request_at = c->extras;
	extra->thread = call->thread;
	extra->span = *s;
	extra->span.kind = PP_SPAN_REQUEST;
	extra->span.flags = (uint8_t)((s->flags & ~PP_SPAN_CUT_END) | (call->done == C10D_UNKNOWN ? PP_SPAN_CUT_END : 0));
	if (call->done != C10D_UNKNOWN)
		extra->span.end = call->done;
	return annotation && annotation->correlation ? add_operation(c, request, annotation->correlation) : 0;
}

/* Inserts the new spans of a thread among its others. */
static int place_extras(struct c10d *c, uint32_t t, size_t n)
{
	struct pp_thread *thread = &c->rank->thread[t];
	struct pp_span *all = malloc((thread->spans + n) * sizeof(*all));

	if (!all)
		return -ENOMEM;
	if (thread->spans)
		memcpy(all, thread->span, thread->spans * sizeof(*all));
	n = thread->spans;
	pp_thread_release(thread);
	for (size_t i = 0; i < c->extras; i++)
		if (c->extra[i].thread == t)
			all[n++] = c->extra[i].span;
	thread->span = all;
	thread->spans = n;
	return pp_order_spans(all, n) ? -ENOMEM : 0;
}

static int place(struct c10d *c)
{
	size_t *more = calloc(c->rank->threads + 1, sizeof(*more));
	int rc = more ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < c->extras; i++)
		more[c->extra[i].thread]++;
	for (uint32_t t = 0; rc == 0 && t < c->rank->threads; t++) {
		struct pp_thread *thread = &c->rank->thread[t];

		if (thread->kinds) /* else they are not known */
			thread->kinds |= PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST);
		if (more[t])
			rc = place_extras(c, t, more[t]);
		else if (pp_order_spans(thread->span, thread->spans)) /* ends were moved */
			rc = -ENOMEM;
	}
	free(more);
	pp_rank_list_others(c->rank);
	return rc;
}

static int convert_rank(struct c10d *c)
{
	uint32_t request = last_request(c->rank);
	int is_recorded = 0, rc = c10d_match(c, request, &is_recorded);

	if (is_recorded) {
		if (rc == 0)
			rc = c10d_wait(c);
		return rc ? rc : place(c);
	}
	for (uint32_t t = 0; rc == 0 && t < c->rank->threads; t++)
		rc = read_thread(c, t);
	if (c->calls)
		qsort(c->call, c->calls, sizeof(*c->call), compare_call);
	if (c->works)
		qsort(c->work, c->works, sizeof(*c->work), compare_work);
	if (rc == 0)
		rc = c10d_part(c);
	c10d_annotate(c);
	if (rc == 0)
		rc = c10d_end(c);
	if (rc == 0)
		wait_in_works(c);
	for (size_t i = 0; rc == 0 && i < c->calls; i++)
		rc = make_call(c, &c->call[i], request < UINT32_MAX - c->calls ? request + 1 + (uint32_t)i : 0);
	if (rc == 0)
		rc = c10d_wait(c);
	return rc ? rc : place(c);
}

int pp_c10d_convert(struct pp_capture *capture, struct pp_err *err)
{
	uint32_t count = pp_intern_count(capture->names);
	int any = 0, rc = 0;
	struct c10d_name *name = read_names(capture->names, count, &any);

	for (size_t r = 0; name && any && rc == 0 && r < capture->ranks; r++) {
		struct c10d c = {.rank = &capture->rank[r],
		                 .name = name,
		                 .names = count,
		                 .texts = capture->names,
		                 .operations_room = capture->rank[r].operations};

		rc = convert_rank(&c);
		free(c.call);
		free(c.work);
		free(c.extra);
	}
	free(name);
	return name && !rc ? 0 : pp_err_set(err, -ENOMEM, "no memory for the collectives of %zu ranks", capture->ranks);
}

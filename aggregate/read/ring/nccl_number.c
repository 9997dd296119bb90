/* Places of operations in steps; see nccl_number.h. Called by nccl.c. */
#include "aggregate/read/ring/nccl_number.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { INDEX_BITS = 20, STEPS_MOST = 4096, ORDER_BITS = 16 };

struct mark { /* a step */
	int64_t begin, end, number;
};

struct marks { /* by begin */
	struct mark *mark;
	size_t marks, room;
};

struct place { /* an operation, or its request: it gets its place in its step as its number */
	struct pp_span *span;
	int64_t begin, step;
	uint64_t comm;
	int32_t peer;
	uint32_t request;
	uint32_t class;
};

struct places {
	struct place *place;
	size_t places, room;
};

PP_COMPARE_BY(compare_mark, struct mark, begin)

static int compare_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->peer != y->peer)
		return x->peer < y->peer ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->request > y->request) - (x->request < y->request);
}

static int list_marks(const struct pp_rank *rank, struct marks *m)
{
	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t i = 0; pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_STEP)) && i < thread->spans; i++) {
			const struct pp_span *s = &thread->span[i];

			if (s->kind != PP_SPAN_STEP)
				continue;
			if (PP_GROW(m->mark, m->marks, m->room))
				return -ENOMEM;
			m->mark[m->marks++] = (struct mark){s->begin, s->end, s->step.number};
		}
	}
	if (m->marks)
		qsort(m->mark, m->marks, sizeof(*m->mark), compare_mark);
	return 0;
}

/* The last step that began before; NULL: none did. */
static const struct mark *mark_before(const struct marks *m, int64_t time)
{
	const size_t low = PP_PARTITION(m->marks, at, m->mark[at].begin <= time);

	return low ? &m->mark[low - 1] : NULL;
}

static int add_place(struct places *p, struct pp_span *s, const struct place *place)
{
	if (PP_GROW(p->place, p->places, p->room))
		return -ENOMEM;
	p->place[p->places] = *place;
	p->place[p->places].span = s;
	p->place[p->places].begin = s->begin;
	p->place[p->places++].comm = s->mpi.comm;
	return 0;
}

static int list_ranges(struct pp_rank *rank, size_t first, struct places *p)
{
	for (size_t t = first; t < rank->threads; t++) {
		for (size_t i = 0; i < rank->thread[t].spans; i++) {
			struct pp_span *s = &rank->thread[t].span[i];

			if (s->kind != PP_SPAN_MPI || s->source != PP_SOURCE_NVTX || s->mpi.sequence != UINT32_MAX)
				continue;
			s->mpi.sequence = 0;
			if (s->mpi.comm && pp_mpi_class_joins(pp_mpi_call_info(s->mpi.call)->class) &&
			    add_place(p, s, &(struct place){.class = 0}))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Steps are few beside the spans of their threads: those are looked at once. */
int pp_nccl_number_ranges(struct pp_rank *rank, size_t first, uint64_t *unnumbered)
{
	struct places p = {.place = NULL};
	struct marks m = {.mark = NULL};
	uint32_t index = 0;
	int rc = list_ranges(rank, first, &p);

	if (!rc && p.places)
		rc = list_marks(rank, &m);
	if (!rc && p.places)
		qsort(p.place, p.places, sizeof(*p.place), compare_place);
	for (size_t i = 0; i < p.places && !rc; i++) {
		struct pp_span *s = p.place[i].span;
		const struct mark *mark = mark_before(&m, s->begin);

		p.place[i].step = mark && mark->end > s->begin ? mark->number : -1;
		if (i == 0 || p.place[i - 1].comm != p.place[i].comm || p.place[i - 1].step != p.place[i].step)
			index = 0;
		s->mpi.sequence = (uint32_t)(p.place[i].step % STEPS_MOST) << INDEX_BITS | index;
		if (p.place[i].step < 0 || index >> INDEX_BITS) {
			s->mpi.sequence = 0;
			*unnumbered += s->mpi.comm != 0;
			s->mpi.comm = 0;
		}
		index++;
	}
	free(m.mark);
	free(p.place);
	return rc;
}

/* Captured calls move nothing. */
static int list_ends(struct pp_rank *rank, size_t first, struct places *p)
{
	for (size_t t = first; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST)); k++) {
			struct pp_span *s = &thread->span[pp_thread_other(thread, k)];
			const int is_of_call = s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST;
			enum pp_mpi_class class;

			if (!is_of_call || s->mpi.call < PP_NCCL_FIRST || !s->mpi.comm || !s->mpi.request || s->mpi.peer < 0)
				continue;
			class = pp_mpi_call_info(s->mpi.call)->class;
			if (pp_mpi_class_is_message(class) &&
			    add_place(p, s,
			              &(struct place){.class = (uint32_t) class, .peer = s->mpi.peer, .request = s->mpi.request}))
				return -ENOMEM;
		}
	}
	return 0;
}

static int is_same_pair(const struct place *a, const struct place *b)
{
	return a->comm == b->comm && a->class == b->class && a->peer == b->peer && a->step == b->step;
}

/* A call and its request have one row. `index` beyond its bits: the number is not certain. */
static struct pp_span_message message_at(const struct place *place, uint32_t index)
{
	const int is_certain = !(index >> ORDER_BITS);
	struct pp_span_message message = {.time = place->begin};
	struct pp_record_message_half *half = place->class == PP_MPI_RECV ? &message.received : &message.sent;

	half->peer = place->peer;
	half->order = (uint32_t)(place->step + 1) << ORDER_BITS | (index & ((1u << ORDER_BITS) - 1));
	half->flags = (uint16_t)(PP_MESSAGE_TAGGED | (is_certain ? PP_MESSAGE_CERTAIN : 0) | PP_MPI_PEER_IN_COMM);
	return message;
}

/* What is outside of steps counts with the step before, and what is before the first one with the window. */
int pp_nccl_number_messages(struct pp_rank *rank, size_t first)
{
	struct places p = {.place = NULL};
	struct marks m = {.mark = NULL};
	struct pp_span_message *message = NULL;
	size_t messages = 0;
	uint32_t index = 0;
	int rc = list_ends(rank, first, &p);

	if (!rc && p.places)
		rc = list_marks(rank, &m);
	if (!rc && p.places && !(message = malloc(p.places * sizeof(*message))))
		rc = -ENOMEM;
	if (!rc && p.places)
		qsort(p.place, p.places, sizeof(*p.place), compare_place);
	for (size_t i = 0; i < p.places && !rc; i++) {
		struct place *one = &p.place[i];
		const struct mark *mark = mark_before(&m, one->begin);
		const int is_again = i && one->request == one[-1].request;

		one->step = mark ? mark->number : -1;
		index = i && is_same_pair(one, one - 1) ? index + !is_again : 0;
		if (!is_again)
			message[messages++] = message_at(one, index);
		one->span->mpi.sequence = (uint32_t)(rank->messages + messages);
		one->span->mpi.flags |= PP_MPI_HAS_MESSAGE;
	}
	if (!rc)
		rc = pp_side_append(rank, PP_SIDE_ID_message, message, messages);
	free(message);
	free(m.mark);
	free(p.place);
	return rc;
}

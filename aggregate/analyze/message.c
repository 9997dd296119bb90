/* Matches sends with receives by communicator, sender, receiver, tag and number; see message.h. Called by aggregate/timeline. */
#include "aggregate/analyze/message.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/host_clock.h"
#include "core/base/compare.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/message.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { CALLS = PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST) };

struct end {
	uint64_t comm;
	int32_t sender, receiver, tag;
	uint32_t order;
	int32_t receives;
	struct pp_message_end at;
};

struct ends {
	struct end *end;
	size_t ends, room;
};

/* A call that carries messages. A request has those of a receive, whose call has none of its own then. */
static int carries(const struct pp_span *s)
{
	if ((s->kind != PP_SPAN_MPI && s->kind != PP_SPAN_REQUEST) || (s->flags & PP_SPAN_FAILED))
		return 0;
	if (s->mpi.call >= PP_C10D_FIRST && s->mpi.call < PP_NCCL_FIRST && !(s->mpi.flags & PP_MPI_HAS_MESSAGE))
		return 0; /* of a range */
	return pp_mpi_class_is_message(pp_mpi_call_info(s->mpi.call)->class);
}

/* Which halves a span has, where no record says it; bit 0: it sends, bit 1: it receives. MPI_PROC_NULL: none. */
static unsigned halves_of(const struct pp_span *s, const struct pp_span_message *m)
{
	enum pp_mpi_class class = pp_mpi_call_info(s->mpi.call)->class;
	int is_call = s->kind == PP_SPAN_MPI, is_nccl = s->mpi.call >= PP_NCCL_FIRST; /* its times are those of its kernel */
	int receive_ends_here = is_nccl ? is_call : !is_call || !s->mpi.request;
	unsigned halves = 0;

	if (m)
		halves = (m->sent.flags ? 1u : 0) | (m->received.flags ? 2u : 0);
	else if (s->mpi.peer != -1) {
		if (class == PP_MPI_SENDRECV)
			halves = s->flags & PP_SPAN_RECEIVES ? 2 : 3;
		else
			halves = class == PP_MPI_RECV || (class == PP_MPI_START && (s->flags & PP_SPAN_RECEIVES)) ? 2 : 1;
	}
	return halves & ((is_call ? 1u : 0) | (receive_ends_here ? 2u : 0));
}

/* Who the rank is to the peers of its messages: of NCCL its rank in the communicator, whose other members may be known to other
 * hosts only. -1: unknown. */
static int32_t own_number(const struct pp_rank *rank, const struct pp_span *span)
{
	if (span->mpi.call < PP_NCCL_FIRST)
		return rank->rank;
	for (size_t i = 0; i < rank->comms; i++)
		if (rank->comm[i].id == span->mpi.comm && rank->comm[i].kind == PP_COMM_RANK)
			return rank->comm[i].own;
	return -1;
}

static int is_certain(const struct pp_record_message_half *half, const struct pp_span *span)
{
	return (half->flags & PP_MESSAGE_TAGGED) && (half->flags & PP_MESSAGE_CERTAIN) && half->peer >= 0 &&
	       ((half->flags & PP_MPI_PEER_IN_COMM) != 0) == (span->mpi.call >= PP_NCCL_FIRST);
}

size_t pp_message_halves(const struct pp_rank *rank, const struct pp_span *span, struct pp_message_half ret[2], unsigned ret_all[2])
{
	const struct pp_span_message *message;
	unsigned halves;
	int32_t own;
	size_t n = 0;

	ret_all[0] = ret_all[1] = 0;
	if (!carries(span))
		return 0;
	message = pp_message_of(rank, span);
	halves = halves_of(span, message);
	own = own_number(rank, span);
	for (int receives = 0; receives < 2; receives++) {
		const struct pp_record_message_half *half = !message ? NULL : receives ? &message->received : &message->sent;

		if (!(halves & (1u << receives)))
			continue;
		ret_all[receives] = 1;
		if (half && own >= 0 && is_certain(half, span) && span->mpi.comm && !(receives && (span->flags & PP_SPAN_CUT_END)))
			ret[n++] = (struct pp_message_half){.sender = receives ? half->peer : own,
			                                    .receiver = receives ? own : half->peer,
			                                    .tag = half->tag,
			                                    .order = half->order,
			                                    .receives = receives};
	}
	return n;
}

static void take(struct ends *l, struct pp_messages *m, const struct pp_rank *r, const struct pp_span *s,
                 const struct pp_message_end *at)
{
	struct pp_message_half half[2];
	unsigned all[2];
	size_t n = pp_message_halves(r, s, half, all);

	m->sends += all[0];
	m->receives += all[1];
	m->uncertain += all[0] + all[1] - n;
	for (size_t i = 0; i < n; i++)
		l->end[l->ends++] = (struct end){.comm = s->mpi.comm,
		                                 .sender = half[i].sender,
		                                 .receiver = half[i].receiver,
		                                 .tag = half[i].tag,
		                                 .order = half[i].order,
		                                 .receives = half[i].receives,
		                                 .at = *at};
}

static int by_key(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->sender != y->sender)
		return x->sender < y->sender ? -1 : 1;
	if (x->receiver != y->receiver)
		return x->receiver < y->receiver ? -1 : 1;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->receives - y->receives;
}

static int same_message(const struct end *x, const struct end *y)
{
	return x->comm == y->comm && x->sender == y->sender && x->receiver == y->receiver && x->tag == y->tag &&
	       x->order == y->order;
}

PP_COMPARE_BY_3(by_place, struct pp_message_pair, from.rank, from.thread, from.span)

static const struct pp_span *span_of(const struct pp_capture *c, const struct pp_message_end *at)
{
	return &c->rank[at->rank].thread[at->thread].span[at->span];
}

/* A message cannot arrive before it was sent. */
static int is_too_early(const struct pp_capture *c, const int64_t *bound_ns, const struct end *from, const struct end *to)
{
	const int64_t begin = span_of(c, &from->at)->begin, end = span_of(c, &to->at)->end;
	const int64_t zero = 0, *a = bound_ns ? &bound_ns[from->at.rank] : &zero, *b = bound_ns ? &bound_ns[to->at.rank] : &zero;

	if (from->at.rank == to->at.rank)
		return end < begin;
	if (*a == PP_BOUND_UNKNOWN || *b == PP_BOUND_UNKNOWN)
		return 0;
	return end < begin && begin - end > *a + *b;
}

/* `n` ends of one message: a send and its receive, or what remains of it. */
static void join(const struct pp_capture *c, const int64_t *bound_ns, const struct end *e, size_t n, struct pp_messages *m)
{
	if (n == 1) {
		m->unmatched++;
	} else if (n != 2 || e[0].receives || !e[1].receives) {
		m->twice += n;
	} else if (is_too_early(c, bound_ns, &e[0], &e[1])) {
		m->too_early++;
	} else if (span_of(c, &e[1].at)->mpi.received != span_of(c, &e[0].at)->mpi.sent) {
		m->other_size++;
	} else {
		m->pair[m->pairs++] = (struct pp_message_pair){e[0].at, e[1].at, e[0].tag, e[0].order};
	}
}

static size_t most_ends(const struct pp_capture *c)
{
	size_t n = 0;

	for (size_t r = 0; r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads; t++) {
			const struct pp_thread *thread = &c->rank[r].thread[t];

			for (size_t k = 0; k < pp_thread_others(thread, CALLS); k++)
				n += carries(&thread->span[pp_thread_other(thread, k)]) ? 2 : 0;
		}
	return n;
}

int pp_messages_match(const struct pp_capture *c, const int64_t *bound_ns, struct pp_messages *ret, struct pp_err *err)
{
	struct ends l = {.end = NULL};
	const size_t room = most_ends(c);

	*ret = (struct pp_messages){.pair = NULL};
	if (!room)
		return 0;
	l.end = malloc(room * sizeof(*l.end));
	ret->pair = malloc((room / 2 + 1) * sizeof(*ret->pair));
	if (!l.end || !ret->pair) {
		free(l.end);
		pp_messages_release(ret);
		return pp_err_set(err, -ENOMEM, "matching %zu messages: not enough memory", room / 2);
	}
	for (size_t r = 0; r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads; t++) {
			const struct pp_thread *thread = &c->rank[r].thread[t];

			for (size_t k = 0; k < pp_thread_others(thread, CALLS); k++) {
				const size_t i = pp_thread_other(thread, k);

				take(&l, ret, &c->rank[r], &thread->span[i], &(struct pp_message_end){(uint32_t)r, (uint32_t)t, i});
			}
		}
	qsort(l.end, l.ends, sizeof(*l.end), by_key);
	for (size_t i = 0, n; i < l.ends; i += n) {
		for (n = 1; i + n < l.ends && same_message(&l.end[i], &l.end[i + n]); n++)
			continue;
		join(c, bound_ns, &l.end[i], n, ret);
	}
	qsort(ret->pair, ret->pairs, sizeof(*ret->pair), by_place);
	free(l.end);
	return 0;
}

void pp_messages_release(struct pp_messages *m)
{
	free(m->pair);
	*m = (struct pp_messages){.pair = NULL};
}

/* Tags and numbers of the messages of MPI calls: MESSAGE records and completed receives. Called by pair.c, pair_mpi.c, cut.c and
 * finish.c. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/pair.h"
#include "core/base/grow.h"
#include "core/capture/thread.h"

enum { MOST = 1 << 18 }; /* of a ring; the oldest lose their tags first, which is no loss of a call */

void pp_pair_message_add(struct pp_track *track, const struct pp_record *r)
{
	track->message_tick = r->tick;
	track->message = r->message;
	track->has_message = 1;
}

void pp_pair_message_drop(struct pp_pair *p, int64_t to)
{
	size_t n = 0;

	while (n < p->messages && p->message[n].time <= to)
		n++;
	if (!n)
		return;
	p->messages -= n;
	p->message_first += (uint32_t)n;
	memmove(p->message, p->message + n, p->messages * sizeof(*p->message));
}

/* The number of a new one; 0: no memory, and its call has no tag. */
static uint32_t put(struct pp_pair *p, const struct pp_span_message *message)
{
	struct pp_span_message *more;

	if (p->messages == p->messages_room && p->messages >= MOST) {
		p->messages -= MOST / 2;
		p->message_first += MOST / 2;
		memmove(p->message, p->message + MOST / 2, p->messages * sizeof(*p->message));
	}
	more = pp_grow(p->message, p->messages, &p->messages_room, sizeof(*more));
	if (!more)
		return 0;
	p->message = more;
	p->message[p->messages++] = *message;
	return p->message_first + (uint32_t)p->messages;
}

static void give(struct pp_span *s, uint32_t number)
{
	if (!s || !number)
		return;
	s->mpi.sequence = number;
	s->mpi.flags |= PP_MPI_HAS_MESSAGE;
}

void pp_pair_message_take(struct pp_track *track, const struct pp_record *r, struct pp_span *call, struct pp_span *request)
{
	struct pp_span_message message = {(int64_t)r->tick, track->message.sent, track->message.received};
	uint32_t number;

	if (!track->has_message)
		return;
	track->has_message = 0;
	if (track->message_tick != r->tick)
		return;
	number = put(track->pair, &message);
	give(call, number);
	give(request, number);
}

void pp_pair_message_complete(struct pp_pair *p, const struct pp_record *r, struct pp_span *request)
{
	struct pp_span_message message = {.time = (int64_t)r->tick};

	if (!(r->request.message_flags & PP_MESSAGE_TAGGED))
		return;
	message.received = (struct pp_record_message_half){
	        .peer = r->request.peer, .tag = r->request.tag, .order = r->request.order, .flags = r->request.message_flags};
	give(request, put(p, &message));
}

/* Spans of dropped ones have no tag any more. */
static void number_again(const struct pp_pair *p, const struct pp_rank *rank, struct pp_span *s)
{
	if ((s->kind != PP_SPAN_MPI && s->kind != PP_SPAN_REQUEST) || !(s->mpi.flags & PP_MPI_HAS_MESSAGE))
		return;
	if (s->mpi.sequence - p->message_first - 1 < p->messages) {
		s->mpi.sequence += (uint32_t)rank->messages - p->message_first;
		return;
	}
	s->mpi.flags &= (uint16_t)~PP_MPI_HAS_MESSAGE;
	s->mpi.sequence = 0;
}

int pp_pair_message_finish(struct pp_pair *p, struct pp_rank *rank, size_t first)
{
	struct pp_span_message *more;

	for (size_t t = first; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST)); k++)
			number_again(p, rank, &thread->span[pp_thread_other(thread, k)]);
	}
	if (!p->messages)
		return 0;
	more = realloc(rank->message, (rank->messages + p->messages) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	rank->message = more;
	memcpy(more + rank->messages, p->message, p->messages * sizeof(*more));
	rank->messages += p->messages;
	return 0;
}

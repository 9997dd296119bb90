/* MPI calls, their messages, requests and communicators of a ring. In: MPI, MESSAGE, REQUEST and COMM records. Out: spans of kinds
 * MPI and REQUEST; pp_rank.comm and .message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/comm_table.h"
#include "aggregate/read/ring/open_table.h"
#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/track.h"
#include "core/base/grow.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/span.h"
#include "core/capture/thread.h"
#include "core/step/category.h"

enum {
	COMM_MOST = 1 << 20,    /* ranks: larger is damage */
	MESSAGES_MOST = 1 << 18 /* of a ring; the oldest lose their tags first, which is no loss of a call */
};
#define BYTES_MOST ((uint64_t)1 << 50)

struct mpi { /* of a ring */
	struct pp_open_table requests;
	struct pp_comm_table comms;
	struct pp_span_message *message;
	size_t messages, messages_room;
	uint32_t message_first; /* index + 1 of the first: those before it were dropped */
	uint32_t *call_name;    /* [pp_mpi_call_count()] pp_intern ids; 0: not yet */
};

struct waiting { /* on a thread: a MESSAGE, until the call of the same tick comes */
	pp_tick tick;
	struct pp_record_message message;
	int is_there;
};

static struct mpi *mpi_of(struct pp_pair *p)
{
	struct mpi *m = pp_pair_state(p, PP_READER_MPI, sizeof(*m));

	if (m && !m->call_name)
		m->call_name = calloc(pp_mpi_call_count() + 1, sizeof(*m->call_name));
	return m;
}

/* No call moves a pebibyte. One that failed may have been given any count. */
static int is_much(uint64_t sent, uint64_t received)
{
	return sent > BYTES_MOST || received > BYTES_MOST;
}

static int is_bad_call(const struct pp_record *r)
{
	return r->mpi.end < r->tick || (!(r->mpi.flags & PP_MPI_FAILED) && is_much(r->mpi.sent, r->mpi.received));
}

static int is_bad_request(const struct pp_record *r)
{
	return is_much(0, r->request.received);
}

static uint32_t name_of_call(struct pp_pair *p, struct mpi *m, unsigned call)
{
	uint32_t *known = m->call_name && call < pp_mpi_call_count() ? &m->call_name[call] : NULL, id = known ? *known : 0;
	const char *name;

	if (id)
		return id;
	name = pp_mpi_call_info(call)->name;
	id = pp_intern_put(p->shared->names, name, strlen(name));
	if (known)
		*known = id;
	return id;
}

static uint8_t span_flags(uint16_t flags)
{
	return (uint8_t)((flags & PP_MPI_IS_ROOT ? PP_SPAN_IS_ROOT : 0) | (flags & PP_MPI_FAILED ? PP_SPAN_FAILED : 0) |
	                 (flags & PP_MPI_PEER_IN_COMM ? PP_SPAN_PEER_IN_COMM : 0) | (flags & PP_MPI_POLLS ? PP_SPAN_POLLS : 0) |
	                 (flags & PP_MPI_RECEIVES ? PP_SPAN_RECEIVES : 0));
}

/* Reading is Input and writing is Output; other calls depend on how their file was opened. */
static uint8_t category_of(const struct pp_record *r)
{
	switch (pp_mpi_call_info(r->mpi.call)->class) {
	case PP_MPI_READ:
	case PP_MPI_READ_ALL:
		return PP_CATEGORY_INPUT;
	case PP_MPI_WRITE:
	case PP_MPI_WRITE_ALL:
		return PP_CATEGORY_OUTPUT;
	case PP_MPI_FILE_ALL:
		return r->mpi.flags & PP_MPI_TO_FILE ? PP_CATEGORY_OUTPUT : PP_CATEGORY_INPUT;
	default:
		return PP_CATEGORY_BY_NAME; /* step_attr's own rule for calls */
	}
}

/* Its request is an address, which torch uses again: aggregate/read/torch finds the end of each use. */
static int is_c10d(const struct pp_record *r)
{
	return r->mpi.call >= PP_C10D_FIRST && r->mpi.call < PP_NCCL_FIRST;
}

static void fill(struct pp_span *s, const struct pp_record *r)
{
	s->category = category_of(r);
	s->source = is_c10d(r) ? PP_SOURCE_SHIM : PP_SOURCE_MPI;
	s->flags = span_flags(r->mpi.flags);
	s->mpi = (struct pp_span_mpi){.comm = r->mpi.comm,
	                              .sent = r->mpi.sent,
	                              .received = r->mpi.received,
	                              .sequence = r->mpi.sequence,
	                              .peer = r->mpi.peer,
	                              .request = r->mpi.request,
	                              .call = r->mpi.call,
	                              .flags = r->mpi.flags & (uint16_t)~PP_MPI_HAS_MESSAGE};
}

/* The number of a new one; 0: no memory, and its call has no tag. */
static uint32_t put(struct mpi *m, const struct pp_span_message *message)
{
	if (m->messages == m->messages_room && m->messages >= MESSAGES_MOST) {
		m->messages -= MESSAGES_MOST / 2;
		m->message_first += MESSAGES_MOST / 2;
		memmove(m->message, m->message + MESSAGES_MOST / 2, m->messages * sizeof(*m->message));
	}
	if (PP_GROW(m->message, m->messages, m->messages_room))
		return 0;
	m->message[m->messages++] = *message;
	return m->message_first + (uint32_t)m->messages;
}

static void give(struct pp_span *s, uint32_t number)
{
	if (!s || !number)
		return;
	s->mpi.sequence = number;
	s->mpi.flags |= PP_MPI_HAS_MESSAGE;
}

/* Gives the message that waits for the call to its span, and to its request's. */
static void give_message(struct pp_track *track, struct mpi *m, const struct pp_record *r, struct pp_span *call,
                         struct pp_span *request)
{
	struct waiting *w = track->state[PP_READER_MPI];
	struct pp_span_message message;
	uint32_t number;

	if (!w || !w->is_there)
		return;
	w->is_there = 0;
	if (w->tick != r->tick)
		return;
	message = (struct pp_span_message){(int64_t)r->tick, w->message.sent, w->message.received};
	number = put(m, &message);
	give(call, number);
	give(request, number);
}

/* A receive of any source or tag completed. */
static void complete_message(struct mpi *m, const struct pp_record *r, struct pp_span *request)
{
	struct pp_span_message message = {.time = (int64_t)r->tick};

	if (!(r->request.message_flags & PP_MESSAGE_TAGGED))
		return;
	message.received = (struct pp_record_message_half){
	        .peer = r->request.peer, .tag = r->request.tag, .order = r->request.order, .flags = r->request.message_flags};
	give(request, put(m, &message));
}

/* Before the call's own span: it has the same begin and a later end, so the order by begin, end descending holds. */
static struct pp_span *open_request(struct pp_track *track, struct mpi *m, const struct pp_record *r, uint32_t name)
{
	struct pp_open_table *t = &m->requests;
	struct pp_open *old = pp_open_find(t, r->mpi.request);
	struct pp_span *s;

	if (old) {
		pp_track_end_span(old->span, (int64_t)r->tick, PP_SPAN_CUT_END);
		pp_open_remove(t, old);
	}
	s = pp_track_add(track, PP_SPAN_REQUEST, (int64_t)r->tick, name);
	if (!s)
		return NULL;
	fill(s, r);
	s->flags |= PP_SPAN_OPEN;
	if (pp_open_put(t, r->mpi.request, s, track))
		pp_track_end_span(s, (int64_t)r->mpi.end, PP_SPAN_CUT_END);
	return s;
}

static void take_call(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct mpi *m = mpi_of(track->pair);
	struct pp_span *s, *request;
	uint32_t name;

	(void)text;
	(void)length;
	if (!m) {
		track->pair->lost[PP_LOSS_EVICTED]++;
		return;
	}
	name = name_of_call(track->pair, m, r->mpi.call);
	request = r->mpi.request && !is_c10d(r) ? open_request(track, m, r, name) : NULL;
	s = pp_track_add(track, PP_SPAN_MPI, (int64_t)r->tick, name);
	if (s) {
		fill(s, r);
		s->end = (int64_t)r->mpi.end;
	}
	give_message(track, m, r, s, request);
}

static void take_message(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct waiting *w = pp_track_state(track, PP_READER_MPI, sizeof(*w));

	(void)text;
	(void)length;
	if (w)
		*w = (struct waiting){.tick = r->tick, .message = r->message, .is_there = 1};
}

/* A cancelled request moved nothing; the end of a freed one is unknown. */
static uint8_t end_flags(uint16_t flags)
{
	return (uint8_t)((flags & PP_MPI_CANCELLED ? PP_SPAN_FAILED : 0) | (flags & PP_MPI_FREED ? PP_SPAN_CUT_END : 0));
}

static void take_request(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct mpi *m = track->pair->state[PP_READER_MPI];
	struct pp_open *open = m ? pp_open_find(&m->requests, r->request.request) : NULL;
	struct pp_span *s;

	(void)text;
	(void)length;
	/* Started while recording was off: there is no call to correlate it with, and nothing was lost. */
	if (!open)
		return;
	s = open->span;
	if (r->request.peer >= 0)
		s->mpi.peer = r->request.peer;
	if (r->request.received)
		s->mpi.received = r->request.received;
	complete_message(m, r, s);
	pp_track_end_span(s, (int64_t)r->tick, (uint8_t)(span_flags(r->request.flags) | end_flags(r->request.flags)));
	pp_open_remove(&m->requests, open);
}

/* A communicator of which each rank knows its own place. */
static void own_rank(struct pp_comm *c, const struct pp_record *r, const char *text, size_t length)
{
	int32_t own;

	if (length != sizeof(own))
		return;
	memcpy(&own, text, sizeof(own));
	if (own < 0 || (uint32_t)own >= r->comm.size || r->comm.size > COMM_MOST)
		return;
	c->kind = PP_COMM_RANK;
	c->own = own;
	c->size = r->comm.size;
}

/* A list with a negative rank is damage, and no list. */
static void take_near(struct pp_track *track, struct pp_comm *c, const char *text, size_t length)
{
	int32_t *near, least = 0;

	if (length % sizeof(*near) || length / sizeof(*near) > COMM_MOST)
		return;
	near = malloc(length + 1);
	if (!near) {
		track->pair->lost[PP_LOSS_EVICTED]++;
		return;
	}
	memcpy(near, text, length);
	for (size_t i = 0; i < length / sizeof(*near); i++)
		least = near[i] < least ? near[i] : least;
	if (least < 0) {
		free(near);
		return;
	}
	free(c->near);
	c->near = near;
	c->nears = (uint32_t)(length / sizeof(*near));
	c->near_known = 1;
}

static void take_comm(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct mpi *m = mpi_of(track->pair);
	struct pp_comm *c;

	if (r->comm.is_name >= PP_COMM_TEXTS) /* of a later podprof */
		return;
	c = m ? pp_comm_table_put(&m->comms, r->comm.comm) : NULL;
	if (!c) {
		track->pair->lost[PP_LOSS_EVICTED]++; /* no memory */
		return;
	}
	if (r->comm.is_name == PP_COMM_RANK) {
		own_rank(c, r, text, length);
		return;
	}
	if (r->comm.is_name == PP_COMM_NEAR) {
		take_near(track, c, text, length);
		return;
	}
	if (r->comm.is_name == PP_COMM_FILE || r->comm.is_name == PP_COMM_WINDOW || r->comm.is_name == PP_COMM_UNKNOWN)
		c->kind = r->comm.is_name;
	if (r->comm.is_name) {
		c->name = pp_intern_put(track->pair->shared->names, text, length);
		return;
	}
	c->size = r->comm.size;
	free(c->member);
	c->member = NULL;
	/* A truncated list is no list. */
	if (!length || length != (size_t)r->comm.size * sizeof(int32_t))
		return;
	c->member = malloc(length);
	if (c->member)
		memcpy(c->member, text, length);
	else
		track->pair->lost[PP_LOSS_EVICTED]++;
}

/* Messages of all windows are numbered in one row: only its begin can go. */
static void drop_between(struct pp_pair *p, int64_t from, int64_t to)
{
	struct mpi *m = p->state[PP_READER_MPI];
	size_t n = 0;

	if (!m || from != INT64_MIN)
		return;
	while (n < m->messages && m->message[n].time <= to)
		n++;
	if (!n)
		return;
	m->messages -= n;
	m->message_first += (uint32_t)n;
	memmove(m->message, m->message + n, m->messages * sizeof(*m->message));
}

/* Spans of dropped ones have no tag any more. */
static void number_again(const struct mpi *m, const struct pp_rank *rank, struct pp_span *s)
{
	if ((s->kind != PP_SPAN_MPI && s->kind != PP_SPAN_REQUEST) || !(s->mpi.flags & PP_MPI_HAS_MESSAGE))
		return;
	if (s->mpi.sequence - m->message_first - 1 < m->messages) {
		s->mpi.sequence += (uint32_t)rank->messages - m->message_first;
		return;
	}
	s->mpi.flags &= (uint16_t)~PP_MPI_HAS_MESSAGE;
	s->mpi.sequence = 0;
}

static int take_messages(const struct mpi *m, struct pp_rank *rank, size_t first)
{
	for (size_t t = first; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST)); k++)
			number_again(m, rank, &thread->span[pp_thread_other(thread, k)]);
	}
	return pp_side_append(rank, PP_SIDE_ID_message, m->message, m->messages);
}

/* Moves a ring's communicators to its rank; of two with one id from two rings the newer one stays. */
static int take_comms(struct mpi *m, struct pp_rank *rank)
{
	struct pp_comm_table all = {.comm = rank->comm, .comms = rank->comms, .room = rank->comms};
	size_t taken = 0;

	if (!m->comms.comms)
		return 0;
	for (; taken < m->comms.comms; taken++) {
		struct pp_comm *to = pp_comm_table_put(&all, m->comms.comm[taken].id);

		if (!to)
			break;
		free(to->member);
		free(to->near);
		*to = m->comms.comm[taken];
		m->comms.comm[taken].member = m->comms.comm[taken].near = NULL;
	}
	free(all.map.place);
	rank->comm = all.comm;
	rank->comms = all.comms;
	if (taken < m->comms.comms)
		return -ENOMEM;
	m->comms.comms = 0;
	pp_map_clear(&m->comms.map);
	return 0;
}

static int finish(struct pp_pair *p, struct pp_rank *rank, size_t first_thread)
{
	struct mpi *m = p->state[PP_READER_MPI];
	int rc = m ? take_messages(m, rank, first_thread) : 0;

	return rc || !m ? rc : take_comms(m, rank);
}

static void thread_end(struct pp_track *track, enum pp_track_end why)
{
	struct mpi *m = track->pair->state[PP_READER_MPI];

	if (m && why == PP_TRACK_CLOSED)
		pp_open_close(&m->requests, track);
}

static void moved(struct pp_track *track, const struct pp_span *old, struct pp_span *to)
{
	struct mpi *m = track->pair->state[PP_READER_MPI];

	if (m && old->kind == PP_SPAN_REQUEST)
		pp_open_moved(&m->requests, old->mpi.request, to);
}

static void release(struct pp_pair *p)
{
	struct mpi *m = p->state[PP_READER_MPI];

	if (!m)
		return;
	for (size_t i = 0; i < m->comms.comms; i++) {
		free(m->comms.comm[i].member);
		free(m->comms.comm[i].near);
	}
	free(m->comms.comm);
	free(m->comms.map.place);
	free(m->message);
	free(m->call_name);
	pp_open_release(&m->requests);
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_MPI, .flags = PP_READER_HAS_END, .is_bad = is_bad_call, .take = take_call},
        {.kind = PP_RECORD_MESSAGE, .take = take_message},
        {.kind = PP_RECORD_REQUEST, .is_bad = is_bad_request, .take = take_request},
        {.kind = PP_RECORD_COMM, .take = take_comm},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_mpi = {
        .name = "mpi",
        .kinds = kinds,
        .thread_end = thread_end,
        .moved = moved,
        .drop_between = drop_between,
        .finish = finish,
        .release = release,
};

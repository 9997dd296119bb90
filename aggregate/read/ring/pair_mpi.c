/* MPI calls, requests and communicators of a ring. Called by pair.c. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/pair.h"
#include "core/call/mpi_call.h"
#include "core/step/category.h"

enum { COMM_MOST = 1 << 20 }; /* ranks: larger is damage */

static uint32_t name_of_call(struct pp_read_shared *shared, unsigned call)
{
	const char *name;

	if (call >= shared->calls) {
		name = pp_mpi_call_info(call)->name;
		return pp_intern_put(shared->names, name, strlen(name));
	}
	if (!shared->call_name[call]) {
		name = pp_mpi_call_info(call)->name;
		shared->call_name[call] = pp_intern_put(shared->names, name, strlen(name));
	}
	return shared->call_name[call];
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

static void fill(struct pp_span *s, const struct pp_record *r)
{
	s->category = category_of(r);
	s->source = PP_SOURCE_MPI;
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

/* Before the call's own span: it has the same begin and a later end, so the order by begin, end descending holds. */
static struct pp_span *open_request(struct pp_track *track, const struct pp_record *r, uint32_t name)
{
	struct pp_open_table *t = &track->pair->requests;
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

void pp_track_mpi(struct pp_track *track, const struct pp_record *r)
{
	uint32_t name = name_of_call(track->pair->shared, r->mpi.call);
	struct pp_span *request = r->mpi.request ? open_request(track, r, name) : NULL;
	struct pp_span *s = pp_track_add(track, PP_SPAN_MPI, (int64_t)r->tick, name);

	if (s) {
		fill(s, r);
		s->end = (int64_t)r->mpi.end;
	}
	pp_pair_message_take(track, r, s, request);
}

/* A cancelled request moved nothing; the end of a freed one is unknown. */
static uint8_t end_flags(uint16_t flags)
{
	return (uint8_t)((flags & PP_MPI_CANCELLED ? PP_SPAN_FAILED : 0) | (flags & PP_MPI_FREED ? PP_SPAN_CUT_END : 0));
}

void pp_track_request(struct pp_track *track, const struct pp_record *r)
{
	struct pp_open_table *t = &track->pair->requests;
	struct pp_open *open = pp_open_find(t, r->request.request);
	struct pp_span *s;

	/* Started while recording was off: there is no call to correlate it with, and nothing was lost. */
	if (!open)
		return;
	s = open->span;
	if (r->request.peer >= 0)
		s->mpi.peer = r->request.peer;
	if (r->request.received)
		s->mpi.received = r->request.received;
	pp_pair_message_complete(track->pair, r, s);
	pp_track_end_span(s, (int64_t)r->tick, (uint8_t)(span_flags(r->request.flags) | end_flags(r->request.flags)));
	pp_open_remove(t, open);
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

void pp_track_comm(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct pp_comm *c;

	if (r->comm.is_name >= PP_COMM_TEXTS) /* of a later podprof */
		return;
	c = pp_comm_table_put(&track->pair->comms, r->comm.comm);
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

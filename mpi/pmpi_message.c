/* The table of messages' keys, and receives of any source or tag. Called by the wrappers of sends and receives; see
 * pmpi_message.h. */
#include "mpi/pmpi_message.h"

#include "core/base/comm_id.h"
#include "core/base/lazy.h"
#include "mpi/pmpi_correlation.h"

enum { SLOTS = 1 << 14, PROBES = 32 };

static void *_Atomic all_slots; /* [SLOTS]; see lazy.h */
_Atomic uint32_t pp_message_lost;

struct pp_message_slot *pp_message_find(uint64_t comm, int rank, int tag, enum pp_message_way way, int add)
{
	struct pp_message_slot *table = pp_lazy(&all_slots, SLOTS * sizeof(*table));
	uint64_t key = pp_comm_id_mix(comm ^ pp_comm_id_mix((uint64_t)(uint32_t)rank << 32 | (uint32_t)tag));

	key = (key & ~(uint64_t)3) | ((uint64_t)way + 1);
	for (uint32_t i = 0; table && i < PROBES; i++) {
		struct pp_message_slot *s = &table[((key >> 20) + i) % SLOTS];
		uint64_t have = atomic_load_explicit(&s->key, memory_order_relaxed);

		if (have == key)
			return s;
		if (have)
			continue;
		if (!add)
			return NULL;
		if (atomic_compare_exchange_strong_explicit(&s->key, &have, key, memory_order_relaxed, memory_order_relaxed) ||
		    have == key)
			return s;
	}
	return NULL;
}

static int is_pending(const struct pp_comm *c, int source, int tag)
{
	struct pp_message_slot *s = pp_message_find(c->id, source, tag, PP_MESSAGE_WILD, 0);

	return s && atomic_load_explicit(&s->count, memory_order_relaxed);
}

int pp_message_wild_may_get(const struct pp_comm *c, int source, int tag)
{
	return is_pending(c, MPI_ANY_SOURCE, MPI_ANY_TAG) || is_pending(c, MPI_ANY_SOURCE, tag) ||
	       is_pending(c, source, MPI_ANY_TAG) || is_pending(c, source, tag);
}

void pp_message_lose_all(void)
{
	atomic_store_explicit(&pp_message_lost, 1, memory_order_relaxed);
}

void pp_message_post_wild(struct pp_comm *c, int source, int tag, struct pp_message_wild *ret_wild)
{
	struct pp_message_slot *s = pp_message_find(c->id, source, tag, PP_MESSAGE_WILD, 1);

	*ret_wild = (struct pp_message_wild){.source = source, .tag = tag, .is_pending = 1};
	if (s)
		atomic_fetch_add_explicit(&s->count, 1, memory_order_seq_cst);
	else
		pp_message_lose_all();
	atomic_fetch_add_explicit(&c->wild, 1, memory_order_seq_cst);
	ret_wild->number = atomic_fetch_add_explicit(&c->wilds, 1, memory_order_seq_cst);
	/* after it can be seen: of two threads that post one at the same time, one sees the other */
	ret_wild->is_torn = pp_request_shared && atomic_load_explicit(&c->posting, memory_order_seq_cst);
	ret_wild->post = pp_message_add(&c->posts) + 1;
}

static void forget_wild(struct pp_comm *c, struct pp_message_wild *wild)
{
	struct pp_message_slot *s = pp_message_find(c->id, wild->source, wild->tag, PP_MESSAGE_WILD, 0);

	wild->is_pending = 0;
	if (s && atomic_load_explicit(&s->count, memory_order_relaxed))
		atomic_fetch_sub_explicit(&s->count, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&c->wild, 1, memory_order_relaxed);
}

void pp_message_lose_wild(struct pp_comm *c, struct pp_message_wild *wild)
{
	pp_message_lose_all();
	forget_wild(c, wild);
}

/* All that were posted before it have completed, and none that was posted after it. */
static int is_first(struct pp_comm *c, const struct pp_message_wild *wild)
{
	uint32_t ended = atomic_fetch_add_explicit(&c->wild_ended, 1, memory_order_relaxed);
	int in_order = ended == wild->number && !atomic_load_explicit(&c->wild_jumped, memory_order_relaxed);

	if (ended != wild->number)
		atomic_store_explicit(&c->wild_jumped, 1, memory_order_relaxed);
	/* none is pending: the next one has the next number, and all before it have ended */
	if (!atomic_load_explicit(&c->wild, memory_order_relaxed) &&
	    ended + 1 == atomic_load_explicit(&c->wilds, memory_order_relaxed))
		atomic_store_explicit(&c->wild_jumped, 0, memory_order_relaxed);
	return in_order;
}

void pp_message_drop_wild(struct pp_comm *c, struct pp_message_wild *wild)
{
	forget_wild(c, wild);
	is_first(c, wild);
}

static int is_broken(const struct pp_comm *c, const struct pp_message_slot *s)
{
	return c->is_unknown || atomic_load_explicit(&s->broken, memory_order_relaxed) ||
	       atomic_load_explicit(&s->inside, memory_order_relaxed) ||
	       atomic_load_explicit(&pp_message_lost, memory_order_relaxed);
}

void pp_message_end_wild(struct pp_comm *c, struct pp_message_wild *wild, int source, int tag,
                         struct pp_record_message_half *ret_half)
{
	struct pp_message_slot *s = source == MPI_PROC_NULL ? NULL : pp_message_find(c->id, source, tag, PP_MESSAGE_RECEIVE, 1);
	int later = 0, first;

	*ret_half = (struct pp_record_message_half){.peer = -1};
	if (s) {
		uint32_t last = atomic_load_explicit(&s->last, memory_order_relaxed);

		ret_half->order = atomic_fetch_add_explicit(&s->count, 1, memory_order_seq_cst);
		later = (int32_t)(wild->post - last) <= 0; /* one that was posted later has a lower number */
		if (!later)
			atomic_store_explicit(&s->last, wild->post, memory_order_relaxed);
		later |= is_broken(c, s);
	}
	forget_wild(c, wild);
	first = is_first(c, wild) || !pp_message_wild_may_get(c, source, tag);
	if (source == MPI_PROC_NULL)
		return;
	ret_half->peer = pp_mpi_peer(c, source, &ret_half->flags);
	ret_half->tag = tag;
	ret_half->flags |= PP_MESSAGE_TAGGED;
	if (s && first && !later && !wild->is_torn)
		ret_half->flags |= PP_MESSAGE_CERTAIN;
}

void pp_message_enter(struct pp_message *m, struct pp_comm *c, enum pp_message_way way)
{
	m->others = atomic_fetch_add_explicit(&m->slot->inside, 1, memory_order_seq_cst);
	if (way == PP_MESSAGE_RECEIVE)
		atomic_fetch_add_explicit(&c->posting, 1, memory_order_seq_cst);
	m->wilds = atomic_load_explicit(&c->wilds, memory_order_acquire);
}

/* Another thread's call of the same key, or of any source or tag, that began or ended meanwhile has no order with this one. */
void pp_message_leave(struct pp_message *m, struct pp_comm *c, enum pp_message_way way)
{
	int torn = m->others != 0 || atomic_load_explicit(&m->slot->count, memory_order_acquire) != m->half.order + 1;

	if (way == PP_MESSAGE_RECEIVE) {
		torn |= atomic_load_explicit(&c->wilds, memory_order_acquire) != m->wilds;
		atomic_fetch_sub_explicit(&c->posting, 1, memory_order_seq_cst);
	}
	atomic_fetch_sub_explicit(&m->slot->inside, 1, memory_order_seq_cst);
	if (torn)
		m->half.flags &= (uint16_t)~PP_MESSAGE_CERTAIN;
}

void pp_message_append(struct pp_mpi_scope *s, const struct pp_record_message_half *sent,
                       const struct pp_record_message_half *received)
{
	static const struct pp_record_message_half none = {.peer = -1};
	struct pp_ring_cursor *k = s->thread->cursor;
	struct pp_record own, *direct, *r;

	if (s->thread->polls) /* the polls before this call come first */
		pp_poll_end(s->thread);
	direct = pp_ring_take_late(k, pp_mpi_recording);
	r = __builtin_expect(direct != NULL, 1) ? direct : &own;
	r->tick = s->begin;
	r->kind = PP_RECORD_MESSAGE;
	r->more = 0;
	r->length = 0;
	r->message.sent = sent ? *sent : none;
	r->message.received = received ? *received : none;
	r->message.reserved[0] = r->message.reserved[1] = 0;
	if (direct)
		pp_ring_commit(k);
	else
		pp_mpi_put(r, NULL, 0);
}

void pp_correlation_wild(struct pp_mpi_scope *s, pp_tick end, int rc, const MPI_Request *request, struct pp_message_wild *wild)
{
	int done = rc == MPI_SUCCESS && pp_request_is_done(&pp_mpi_names, *request);
	struct pp_request r;

	/* complete at once: from whom is not known */
	if (rc != MPI_SUCCESS || done) {
		pp_message_lose_wild(s->comm, wild);
		if (s->recording)
			pp_correlation_record(s, end, rc, 0, 0, request, 1, s->peer);
		return;
	}
	r = pp_correlation_request(s, PP_KEY(*request), 1);
	r.wild = *wild;
	r.wild.is_unrecorded = !s->recording;
	pp_request_add(&r);
	if (s->recording)
		pp_mpi_record(s, end, rc, 0, 0, r.number);
}

void pp_message_completed(struct pp_request *r, const MPI_Status *status, int failed, struct pp_record_message_half *ret_half)
{
	*ret_half = (struct pp_record_message_half){.peer = -1};
	if (!r->wild.is_pending || !r->comm || atomic_load_explicit(&r->comm->life, memory_order_acquire) != r->life)
		return;
	if (failed || !status || pp_status_cancelled(status))
		pp_message_lose_wild(r->comm, &r->wild);
	else
		pp_message_end_wild(r->comm, &r->wild, status->MPI_SOURCE, status->MPI_TAG, ret_half);
}

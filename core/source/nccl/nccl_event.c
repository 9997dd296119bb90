/* From NCCL's events to records; see nccl_event.h. Called by nccl_plugin.c.
 *
 * A handle that NCCL gets is no pointer: it is a tag, the generation and the number of a slot. NCCL stops events twice, stops those
 * of a window long gone, and hands their handles out as parents; such a handle finds no slot and does nothing. Slots are taken in a
 * circle, by each thread BLOCK at a time, so one is used again after at least SLOTS / 2 later events. */
#include "core/source/nccl/nccl_event.h"

#include <errno.h>
#include <string.h>

#include "core/base/lazy.h"
#include "core/call/mpi_call.h"
#include "core/source/emit.h"
#include "core/source/nccl/nccl_chain.h"

enum { SLOTS = 1 << 14, BLOCK = 16, CAPTURED_BIT = 47, CHANNEL_BIT = 46, LAUNCH_BIT = 45, CALL_BIT = 44, GENERATION_BITS = 30 };
#define TAG UINT64_C(0x5050)
#define IS_CAPTURED (UINT64_C(1) << CAPTURED_BIT)
#define IS_CHANNEL (UINT64_C(1) << CHANNEL_BIT) /* a channel of the operation in the slot */
#define IS_LAUNCH (UINT64_C(1) << LAUNCH_BIT)   /* a launch has no slot: the rest is its communicator, see comm_handle() */
#define IS_CALL (UINT64_C(1) << CALL_BIT)       /* nor has a call that is not recorded */

enum slot_state { OPEN, HELD /* its group's end is its own */, DONE };

struct slot {
	_Atomic uint64_t handle; /* 0: none */
	struct pp_nccl_comm *comm;
	const struct pp_nccl_plugin *next;
	void *next_handle; /* of the chained plug-in's event; NULL: it has none */
	pp_tick begin;
	uint64_t sent, received;
	uint64_t of; /* operation: its group; group: the operation that it was made for */
	uint32_t type, operation;
	int32_t peer;
	uint16_t call;
	uint8_t flags, channels;
	uint8_t is_implicit;       /* group that NCCL made for one call */
	uint8_t is_stopped;        /* the chained plug-in was called */
	_Atomic uint32_t state;    /* enum slot_state */
	_Atomic uint32_t reported; /* channels */
	_Atomic uint64_t device_begin, device_end;
} __attribute__((aligned(64)));

static void *_Atomic all_slots;      /* [SLOTS]; see lazy.h */
static _Atomic uint64_t slots_taken; /* a multiple of BLOCK */
static _Thread_local uint64_t next_number __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t untimed; /* operations whose slot was needed before all of their channels had ended */
static _Atomic uint64_t turns;   /* calls on all communicators; threads that call at once may take the same */
static pid_t own_pid;

int pp_nccl_event_has_room(void)
{
	return pp_lazy(&all_slots, SLOTS * sizeof(struct slot)) != NULL;
}

static struct slot *slot_at(uint64_t number)
{
	return (struct slot *)pp_lazy_had(&all_slots) + number % SLOTS;
}

void pp_nccl_event_start(pid_t pid)
{
	own_pid = pid;
	pp_nccl_masks_start();
}

static struct slot *find(uint64_t handle)
{
	struct slot *s;

	if (handle >> 48 != TAG || !pp_lazy_had(&all_slots))
		return NULL;
	s = slot_at(handle);
	handle &= ~IS_CHANNEL;
	return atomic_load_explicit(&s->handle, memory_order_acquire) == handle ? s : NULL;
}

/* Of this thread's block. One that it began long ago may be in use again by another thread. */
static uint64_t take_number(void)
{
	uint64_t n = next_number;

	if (n % BLOCK == 0 || atomic_load_explicit(&slots_taken, memory_order_relaxed) - n > SLOTS / 2)
		n = atomic_fetch_add_explicit(&slots_taken, BLOCK, memory_order_relaxed);
	next_number = n + 1;
	return n;
}

/* Do channels of this operation have no end yet? Version 3 says only how many there may be. */
static int is_untimed(const struct slot *s)
{
	uint32_t reported = atomic_load_explicit(&s->reported, memory_order_relaxed);

	return reported < s->channels && (!reported || s->comm->version > 3);
}

static struct slot *take(const struct pp_nccl_seen *e, struct pp_nccl_comm *c, uint64_t *ret_handle)
{
	uint64_t n = take_number(), had;
	struct slot *s = slot_at(n);

	had = atomic_load_explicit(&s->handle, memory_order_acquire);
	atomic_store_explicit(&s->handle, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* before the stores that follow */
	if (had && is_untimed(s))
		atomic_fetch_add_explicit(&untimed, 1, memory_order_relaxed);
	if (had && atomic_load_explicit(&s->state, memory_order_relaxed) == HELD)
		pp_ring_lose(PP_LOSS_UNBALANCED);
	*ret_handle = TAG << 48 | (e->is_captured ? IS_CAPTURED : 0) | (n / SLOTS + 1) % (UINT64_C(1) << GENERATION_BITS) << 14 |
	              n % SLOTS;
	s->comm = c;
	s->next = NULL;
	s->next_handle = NULL;
	s->type = e->type;
	s->operation = ((uint32_t)n & 0x3fffffff) + 1;
	s->of = 0;
	s->flags = s->channels = s->is_implicit = s->is_stopped = 0;
	atomic_store_explicit(&s->state, OPEN, memory_order_relaxed);
	atomic_store_explicit(&s->reported, 0, memory_order_relaxed);
	return s;
}

/* ---- what NCCL says ---- */

/* Bytes of an element: "ncclFloat16"; the name that NCCL does not know is that of ncclUint8. */
static uint64_t element_bytes(const char *name)
{
	for (; name && *name; name++)
		switch (*name) {
		case '8':
			return 1;
		case '1':
			return 2;
		case '3':
			return 4;
		case '6':
			return 8;
		default:
			break;
		}
	return 1;
}

static uint8_t how_of(const char *algorithm, const char *protocol)
{
	uint8_t how = 0;

#define PP_NCCL_ALGORITHM(value, name)                                                                                             \
	if (algorithm && *algorithm == *(name) && !strcmp(algorithm, name))                                                        \
		how |= (value) << 4;
#define PP_NCCL_PROTOCOL(value, name)                                                                                              \
	if (protocol && *protocol == *(name) && !strcmp(protocol, name))                                                           \
		how |= (value);
#include "core/source/nccl_how.def"
#undef PP_NCCL_ALGORITHM
#undef PP_NCCL_PROTOCOL
	return how;
}

enum nccl_row {
	NCCL_BEFORE = PP_NCCL_FIRST - 1,
#define PP_NCCL(symbol, ...) NCCL_##symbol,
#include "core/call/nccl_call.def"
#undef PP_NCCL
};

/* What the operation moves for this rank. Returns the bytes of one rank's part, of which NCCL's count is. */
static uint64_t fill_operation(struct slot *s, const struct pp_nccl_comm *c, const struct pp_nccl_seen *e)
{
	uint64_t part = e->count * element_bytes(e->datatype), all = part * (c->ranks > 0 ? (uint32_t)c->ranks : 1);
	int is_rooted = 0, is_root = e->peer == c->rank;

	s->sent = s->received = part;
	s->call = (uint16_t)pp_nccl_call_of(e->function ? e->function : "");
	switch (s->call) {
	case NCCL_ALLGATHER:
		s->received = all;
		break;
	case NCCL_REDUCE_SCATTER:
		s->sent = all;
		break;
	case NCCL_ALLTOALL:
		s->sent = s->received = all;
		break;
	case NCCL_SEND:
		s->received = 0;
		break;
	case NCCL_RECV:
		s->sent = 0;
		break;
	case NCCL_BROADCAST:
	case NCCL_SCATTER:
		is_rooted = 1;
		s->sent = !is_root ? 0 : s->call == NCCL_SCATTER ? all : part;
		s->received = is_root ? 0 : part;
		break;
	case NCCL_REDUCE:
	case NCCL_GATHER:
		is_rooted = 1;
		s->received = !is_root ? 0 : s->call == NCCL_GATHER ? all : part;
		break;
	default:
		break;
	}
	s->peer = is_rooted ? e->peer : -1;
	s->flags = is_rooted && is_root ? PP_NCCL_IS_ROOT : 0;
	return part;
}

/* The rank's number of an operation in its communicator: NCCL counts each kind by itself, also outside windows, and those of the
 * copy engine apart. */
static uint32_t sequence_of(const struct slot *s, const struct pp_nccl_seen *e)
{
	uint64_t number = e->type == PP_NCCL_CE_COLL ? e->sequence | UINT64_C(1) << 27 : e->sequence;

	return (uint32_t)(number << 4 | ((s->call - PP_NCCL_FIRST) & 15));
}

/* ---- records ---- */

/* Filled where it stands in the ring; `own` where the short way is closed. */
static struct pp_record *begin_record(struct pp_record *own, pp_tick tick, enum pp_record_kind kind)
{
	struct pp_record *r = pp_ring_take_late(&pp_thread_self->cursor, &pp_wiped.recording);

	if (!r)
		r = own;
	memset(r, 0, sizeof(*r));
	r->tick = tick;
	r->kind = (uint16_t)kind;
	return r;
}

static void end_record(const struct pp_record *r, const struct pp_record *own)
{
	if (r == own)
		pp_ring_put(own, NULL, 0);
	else
		pp_ring_commit(&pp_thread_self->cursor);
}

static void emit_call(const struct slot *s, pp_tick begin, pp_tick end)
{
	struct pp_record own, *r = begin_record(&own, begin, PP_RECORD_NCCL);

	r->nccl.end = end;
	r->nccl.comm = s->comm->id;
	r->nccl.sent = s->sent;
	r->nccl.received = s->received;
	r->nccl.peer = s->peer;
	r->nccl.operation = s->operation;
	r->nccl.call = s->call;
	r->nccl.flags = s->flags;
	end_record(r, &own);
}

static void emit_task(const struct slot *s, const struct pp_nccl_comm *c, const struct pp_nccl_seen *e, int is_numbered)
{
	struct pp_record own, *r = begin_record(&own, s->begin, PP_RECORD_NCCL_TASK);
	int is_copied = e->type == PP_NCCL_CE_COLL;

	r->nccl_task.launch = is_copied ? 0 : c->launch;
	r->nccl_task.launched = is_copied ? 0 : c->launched;
	r->nccl_task.operation = s->operation;
	r->nccl_task.sequence = is_numbered ? sequence_of(s, e) : 0;
	r->nccl_task.peer = e->type == PP_NCCL_P2P ? e->peer : -1;
	r->nccl_task.channels = e->channels;
	r->nccl_task.warps = e->warps;
	r->nccl_task.how = how_of(e->algorithm, e->protocol);
	r->nccl_task.flags = (uint8_t)((is_numbered ? PP_NCCL_NUMBERED : 0) | (is_copied ? PP_NCCL_COPIED : 0));
	end_record(r, &own);
}

static void emit_done(const struct slot *s, uint32_t channels)
{
	struct pp_record own, *r = begin_record(&own, pp_tick_now(), PP_RECORD_NCCL_DONE);
	uint64_t begin = atomic_load_explicit(&s->device_begin, memory_order_relaxed);

	r->nccl_done.device_begin = begin == UINT64_MAX ? 0 : begin;
	r->nccl_done.device_end = atomic_load_explicit(&s->device_end, memory_order_relaxed);
	r->nccl_done.operation = s->operation;
	r->nccl_done.channels = channels;
	end_record(r, &own);
}

/* ---- lines of communicators ---- */

_Static_assert(PP_NCCL_COMMS <= 1 << 10, "a handle has 10 bits for the number of a communicator");

static uint64_t comm_handle(const struct pp_nccl_comm *c, uint64_t what)
{
	return TAG << 48 | what | (c->id & UINT32_MAX) << 10 | pp_nccl_comm_number(c);
}

/* NCCL is called on a communicator by one thread at a time. Handle of the call; 0: it has none. */
static uint64_t begin_line(const struct pp_nccl_comm *c, uint32_t type, unsigned call, uint64_t bytes, int root)
{
	struct pp_ring_nccl *line = pp_nccl_comm_line(c);
	uint64_t turn;

	if (!line)
		return 0;
	turn = atomic_load_explicit(&turns, memory_order_relaxed) + 1;
	atomic_store_explicit(&turns, turn, memory_order_relaxed);
	line->turn = turn;
	if (type & (PP_NCCL_P2P_API | PP_NCCL_P2P)) {
		line->message = (uint16_t)(call + 1);
		line->messages++;
		return 0;
	}
	line->call = (uint16_t)(call + 1);
	line->root = root;
	line->bytes = bytes;
	line->begun++;
	if (type == PP_NCCL_COLL_API)
		return comm_handle(c, IS_CALL);
	line->ended = line->begun;
	return 0;
}

static void end_line(const struct pp_nccl_comm *c)
{
	struct pp_ring_nccl *line = pp_nccl_comm_line(c);

	if (line)
		line->ended = line->begun;
}

static void stop_call(uint64_t handle)
{
	const struct pp_nccl_comm *c = pp_nccl_comm_at((uint32_t)handle);

	if ((handle & ~IS_CAPTURED) == comm_handle(c, IS_CALL)) /* else it is of a communicator that is gone */
		end_line(c);
}

/* Handle of an event that is not recorded; 0: none. Before version 5 NCCL reports no calls, but their work when it is launched, and
 * no operation of a group without a handle: the group's finds no slot. */
static uint64_t start_unrecorded(const struct pp_nccl_comm *c, const struct pp_nccl_seen *e)
{
	uint64_t handle;

	if (!(e->type & (c->version < 5 ? PP_NCCL_COLL | PP_NCCL_P2P : PP_NCCL_COLL_API | PP_NCCL_P2P_API)))
		return e->type == PP_NCCL_GROUP && c->version < 5 ? TAG << 48 : 0;
	handle = begin_line(c, e->type, pp_nccl_call_of(e->function ? e->function : ""), e->count * element_bytes(e->datatype),
	                    e->peer);
	return handle && e->is_captured ? handle | IS_CAPTURED : handle;
}

/* ---- events ---- */

/* The call of a collective or of a send: its record is written when it ends, or with the group that NCCL made for it alone. */
static uint64_t start_call(struct pp_nccl_comm *c, const struct pp_nccl_seen *e)
{
	uint64_t handle, part;
	struct slot *s = take(e, c, &handle), *group = find((uint64_t)(uintptr_t)e->parent);

	part = fill_operation(s, c, e);
	begin_line(c, e->type, s->call, part, e->peer);
	if (e->is_captured)
		s->flags |= PP_NCCL_CAPTURED;
	if (group && group->type == PP_NCCL_GROUP_API && group->comm) {
		s->of = atomic_load_explicit(&group->handle, memory_order_relaxed);
		if (group->is_implicit) {
			group->of = handle;
			atomic_store_explicit(&s->state, HELD, memory_order_relaxed);
		}
	}
	if (atomic_load_explicit(&s->state, memory_order_relaxed) != HELD)
		s->begin = pp_tick_now();
	atomic_store_explicit(&s->handle, handle, memory_order_release);
	return handle;
}

/* Is the group open in which this call was made? Then the work belongs to the call, not to a later run of the graph. */
static int is_first(const struct slot *call)
{
	const struct slot *group = find(call->of);

	return group && atomic_load_explicit(&group->state, memory_order_relaxed) == OPEN;
}

/* The work of a call, on the thread that launches it. Without a call (older NCCL, a CUDA graph that runs) it is the call too. */
static uint64_t start_work(struct pp_nccl_comm *c, const struct pp_nccl_seen *e)
{
	const uint64_t parent = (uint64_t)(uintptr_t)e->parent;
	int is_graph = parent >> 48 == TAG && (parent & IS_CAPTURED);
	const struct slot *call = find(parent);
	uint64_t handle, part;
	struct slot *s;

	if (call && (call->type & (PP_NCCL_COLL_API | PP_NCCL_P2P_API)) == 0)
		call = NULL;
	if (call && is_graph && is_first(call))
		return 0; /* captured, not run */
	s = take(e, c, &handle);
	/* The launch of its plan has just ended; a graph's is that of when it was captured. */
	s->begin = call && !is_graph && c->launched && e->type != PP_NCCL_CE_COLL ? c->launched : pp_tick_now();
	if (call && !is_graph) {
		s->operation = call->operation;
		s->call = call->call;
		atomic_store_explicit(&s->state, DONE, memory_order_relaxed);
	} else {
		part = fill_operation(s, c, e);
		if (c->version < 5)
			begin_line(c, e->type, s->call, part, e->peer);
	}
	if (is_graph)
		s->flags |= PP_NCCL_REPLAYED;
	if (pp_nccl_has_channels())
		s->channels = e->channels;
	atomic_store_explicit(&s->device_begin, UINT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&s->device_end, 0, memory_order_relaxed);
	emit_task(s, c, e, (e->type == PP_NCCL_COLL || e->type == PP_NCCL_CE_COLL) && !is_graph);
	atomic_store_explicit(&s->handle, handle, memory_order_release);
	return handle;
}

static uint64_t start_group(struct pp_nccl_comm *c, const struct pp_nccl_seen *e)
{
	uint64_t handle;
	struct slot *s = take(e, c, &handle);

	s->begin = pp_tick_now();
	s->is_implicit = e->is_single;
	atomic_store_explicit(&s->handle, handle, memory_order_release);
	return handle;
}

static uint64_t start_launch(struct pp_nccl_comm *c)
{
	c->launch = pp_tick_now();
	c->launched = 0;
	return comm_handle(c, IS_LAUNCH);
}

static void stop_launch(uint64_t handle)
{
	struct pp_nccl_comm *c = pp_nccl_comm_at((uint32_t)handle);

	if (handle == comm_handle(c, IS_LAUNCH)) /* else it is of a communicator that is gone */
		c->launched = pp_tick_now();
}

/* A channel of an operation begins on the device: its handle is the operation's, with a bit. NCCL's thread of the communicator
 * reports all channels of an operation; no other thread writes these values. */
static uint64_t start_channel(const struct pp_nccl_seen *e)
{
	uint64_t parent = (uint64_t)(uintptr_t)e->parent;
	struct slot *s = find(parent);

	if (!s || !s->channels || (s->type & (PP_NCCL_COLL | PP_NCCL_P2P)) == 0)
		return 0;
	if (e->timer && e->timer < atomic_load_explicit(&s->device_begin, memory_order_relaxed))
		atomic_store_explicit(&s->device_begin, e->timer, memory_order_relaxed);
	return parent | IS_CHANNEL;
}

static void stop_channel(struct slot *s, uint32_t version)
{
	uint32_t reported = atomic_load_explicit(&s->reported, memory_order_relaxed) + 1;

	atomic_store_explicit(&s->reported, reported, memory_order_relaxed);
	/* Version 3 says how many channels there may be: each end is reported, the last one counts. */
	if (reported == s->channels || (version < 4 && reported < s->channels))
		emit_done(s, reported);
}

static uint64_t start_ours(struct pp_nccl_comm *c, const struct pp_nccl_seen *e)
{
	switch (e->type) {
	case PP_NCCL_COLL_API:
	case PP_NCCL_P2P_API:
		pp_nccl_comm_report(c);
		return start_call(c, e);
	case PP_NCCL_COLL:
	case PP_NCCL_P2P:
	case PP_NCCL_CE_COLL:
		pp_nccl_comm_report(c);
		return start_work(c, e);
	case PP_NCCL_GROUP_API:
		return start_group(c, e);
	case PP_NCCL_KERNEL_LAUNCH:
		return start_launch(c);
	case PP_NCCL_KERNEL_CHANNEL:
		return start_channel(e);
	default:
		return 0;
	}
}

static void stop_ours(struct slot *s)
{
	struct slot *call;

	switch (s->type) {
	case PP_NCCL_COLL_API:
		end_line(s->comm);
		/* fall through */
	case PP_NCCL_P2P_API:
	case PP_NCCL_COLL:
	case PP_NCCL_P2P:
	case PP_NCCL_CE_COLL:
		if (atomic_load_explicit(&s->state, memory_order_relaxed) != OPEN)
			return;
		atomic_store_explicit(&s->state, DONE, memory_order_relaxed);
		emit_call(s, s->begin, pp_tick_now());
		return;
	case PP_NCCL_GROUP_API: /* by the thread that began it: NCCL keeps the handle in a variable of the thread */
		if (atomic_load_explicit(&s->state, memory_order_relaxed) == DONE)
			return;
		atomic_store_explicit(&s->state, DONE, memory_order_relaxed);
		call = find(s->of);
		if (!call || atomic_load_explicit(&call->state, memory_order_relaxed) != HELD)
			return;
		atomic_store_explicit(&call->state, DONE, memory_order_relaxed);
		emit_call(call, s->begin, pp_tick_now());
		return;
	case PP_NCCL_KERNEL_LAUNCH:
		s->comm->launched = pp_tick_now();
		return;
	default:
		return;
	}
}

/* ---- the chained plug-in ---- */

/* Which requests make NCCL report an event: it reports the parents of a wanted one too. */
static int is_theirs(const struct pp_nccl_comm *c, uint32_t type)
{
	enum {
		CHANNELS = PP_NCCL_PROXY_OP | PP_NCCL_PROXY_STEP | PP_NCCL_KERNEL_CHANNEL | PP_NCCL_NET_PLUGIN,
		CE = PP_NCCL_CE_COLL | PP_NCCL_CE_SYNC | PP_NCCL_CE_BATCH,
	};
	int theirs = pp_nccl_mask_theirs(c);

	switch (type) {
	case PP_NCCL_GROUP_API:
		return theirs != 0;
	case PP_NCCL_COLL_API:
		return theirs & (PP_NCCL_COLL_API | PP_NCCL_COLL | CHANNELS | CE);
	case PP_NCCL_P2P_API:
		return theirs & (PP_NCCL_P2P_API | PP_NCCL_P2P | CHANNELS);
	case PP_NCCL_COLL:
		return theirs & (PP_NCCL_COLL | CHANNELS);
	case PP_NCCL_P2P:
		return theirs & (PP_NCCL_P2P | CHANNELS);
	case PP_NCCL_GROUP:
		return theirs & (PP_NCCL_GROUP | PP_NCCL_COLL | PP_NCCL_P2P | CHANNELS);
	case PP_NCCL_KERNEL_LAUNCH:
	case PP_NCCL_KERNEL_CHANNEL:
		return theirs & (int)type;
	case PP_NCCL_CE_COLL:
		return theirs & CE;
	default:
		return 1; /* podprof asks for no others */
	}
}

static void *their_handle(void *handle)
{
	struct slot *s = find((uint64_t)(uintptr_t)handle);

	if ((uint64_t)(uintptr_t)handle >> 48 != TAG)
		return handle;
	return s ? s->next_handle : NULL;
}

static void *start_theirs(const struct pp_nccl_comm *c, const struct pp_nccl_seen *e)
{
	void *handle = NULL, *ours[2] = {NULL, NULL};
	int is_foreign = e->type == PP_NCCL_PROXY_OP && e->pid != own_pid, saved = errno;

	for (int i = 0; i < 2 && !is_foreign; i++)
		if (e->handles[i]) {
			ours[i] = *e->handles[i];
			*e->handles[i] = their_handle(ours[i]);
		}
	if (c->plugin->start(c->next, &handle, e->event))
		handle = NULL;
	for (int i = 0; i < 2 && !is_foreign; i++)
		if (e->handles[i])
			*e->handles[i] = ours[i];
	errno = saved;
	return handle;
}

/* `plugin` may be NULL. */
static void stop_theirs(const struct pp_nccl_plugin *plugin, void *handle)
{
	int saved = errno;

	if (plugin && handle)
		plugin->stop(handle);
	errno = saved;
}

static void state_theirs(const struct pp_nccl_plugin *plugin, void *handle, int state, void *arguments)
{
	int saved = errno;

	if (plugin && handle)
		plugin->state(handle, state, arguments);
	errno = saved;
}

/* Of the version's chained plug-in, for its handles that are not ours. */
static const struct pp_nccl_plugin *chained(uint32_t version)
{
	const struct pp_nccl_next *next = pp_nccl_chain(version);

	return next ? next->plugin : NULL;
}

void pp_nccl_start(struct pp_nccl_comm *c, void **ret_handle, const struct pp_nccl_seen *e)
{
	int on = atomic_load_explicit(&pp_wiped.recording, memory_order_acquire) != 0;
	void *theirs = c->plugin && is_theirs(c, e->type) ? start_theirs(c, e) : NULL;
	uint64_t handle = on ? start_ours(c, e) : start_unrecorded(c, e);
	struct slot *s;

	if (!on && theirs) {
		if (handle & IS_CALL) /* its end is not seen: it is stopped by their handle */
			end_line(c);
		*ret_handle = theirs;
		return;
	}
	if (theirs && (!handle || e->type == PP_NCCL_KERNEL_CHANNEL || e->type == PP_NCCL_KERNEL_LAUNCH)) {
		s = take(e, c, &handle);
		s->of = e->type == PP_NCCL_KERNEL_CHANNEL ? (uint64_t)(uintptr_t)e->parent : 0;
		atomic_store_explicit(&s->state, DONE, memory_order_relaxed); /* no record of ours */
		atomic_store_explicit(&s->handle, handle, memory_order_release);
	}
	s = theirs ? find(handle) : NULL;
	if (s) {
		s->next = c->plugin;
		s->next_handle = theirs;
	}
	/* NCCL before version 5 reports no operation of a group without a handle; this one finds no slot. */
	if (!handle && e->type == PP_NCCL_GROUP && c->version < 5)
		handle = TAG << 48;
	*ret_handle = (void *)(uintptr_t)handle; /* NOLINT(performance-no-int-to-ptr): a number, see the head of this file */
}

void pp_nccl_stop(uint32_t version, void *handle)
{
	const uint64_t number = (uint64_t)(uintptr_t)handle;
	struct slot *s, *of;

	if (number >> 48 != TAG) {
		if (handle)
			stop_theirs(chained(version), handle);
		return;
	}
	if (number & IS_LAUNCH) {
		stop_launch(number);
		return;
	}
	if (number & IS_CALL) {
		stop_call(number);
		return;
	}
	s = find(number);
	if (!s)
		return;
	if (number & IS_CHANNEL) {
		stop_channel(s, version);
		return;
	}
	if (s->type == PP_NCCL_KERNEL_CHANNEL && (of = find(s->of)))
		stop_channel(of, version);
	stop_ours(s);
	if (!s->next || s->is_stopped)
		return;
	s->is_stopped = 1;
	stop_theirs(s->next, s->next_handle);
}

void pp_nccl_state(uint32_t version, void *handle, int state, void *arguments)
{
	const uint64_t number = (uint64_t)(uintptr_t)handle;
	const union pp_nccl_state *values = arguments;
	struct slot *s, *of;

	if (number >> 48 != TAG) {
		if (handle)
			state_theirs(chained(version), handle, state, arguments);
		return;
	}
	s = find(number);
	if (!s)
		return;
	of = number & IS_CHANNEL ? s : s->type == PP_NCCL_KERNEL_CHANNEL ? find(s->of) : NULL;
	if (of && of->channels && state == PP_NCCL_KERNEL_CHANNEL_STOP && values && version > 3 &&
	    values->kernel_channel.timer > atomic_load_explicit(&of->device_end, memory_order_relaxed))
		atomic_store_explicit(&of->device_end, values->kernel_channel.timer, memory_order_relaxed);
	if (!(number & IS_CHANNEL) && s->next && !s->is_stopped)
		state_theirs(s->next, s->next_handle, state, arguments);
}

/* Rings count no losses of devices: a record has them. */
void pp_nccl_event_flush(void)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_DEVICE_LOST};

	if (!pp_nccl_has_channels() || !atomic_load(&pp_wiped.recording))
		return;
	r.device_lost.untimed = atomic_exchange(&untimed, 0);
	for (uint64_t i = 0; i < SLOTS && pp_lazy_had(&all_slots); i++) {
		struct slot *s = slot_at(i);

		if (!atomic_load_explicit(&s->handle, memory_order_acquire) || !is_untimed(s))
			continue;
		atomic_store_explicit(&s->reported, s->channels, memory_order_relaxed);
		r.device_lost.untimed++;
	}
	if (r.device_lost.untimed && !pp_ring_put(&r, NULL, 0))
		atomic_fetch_add(&untimed, r.device_lost.untimed); /* for the next time */
}

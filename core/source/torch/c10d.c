/* Calls of torch.distributed's backends: begins, ends and waits, as records; see c10d.h. Called by c10d_entry.S and shim.c. */
#include "core/source/torch/c10d.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "core/call/mpi_call.h"
#include "core/ring/thread_ring.h"
#include "core/source/torch/c10d_group.h"
#include "core/source/torch/c10d_next.h"
#include "core/source/torch/c10d_tensor.h"

_Static_assert(offsetof(struct pp_c10d_frame, result) == 64 && offsetof(struct pp_c10d_frame, method) == 80 &&
                       sizeof(struct pp_c10d_frame) <= 224,
               "as c10d_entry.S has it");

#if defined(__x86_64__)
enum { RESULT_IS_ARGUMENT = 1 }; /* where the returned object goes is the first argument, before `this` */
#else
enum { RESULT_IS_ARGUMENT = 0 };
#endif

enum { UNWINDS = 2, GOES_ON = 8 }; /* _UA_CLEANUP_PHASE, _URC_CONTINUE_UNWIND */

enum row {
	BEFORE = PP_C10D_FIRST - 1,
#define PP_C10D(symbol, ...) CALL_##symbol,
#include "core/call/c10d_call.def"
#undef PP_C10D
};

enum what { ALL, PLAIN, SEND, RECV, ANY, WAIT, WAIT_END, FINISH, ASK, GONE };

struct place { /* of tensors among the arguments, of which `this` is 0 */
	uint8_t shape, argument;
};

enum { T1 = 1, T2, V1, V2, VV1, VV2, NONE = 0 };
static const struct place places[] = {[T1] = {PP_C10D_T, 1}, [T2] = {PP_C10D_T, 2},   [V1] = {PP_C10D_V, 1},
                                      [V2] = {PP_C10D_V, 2}, [VV1] = {PP_C10D_VV, 1}, [VV2] = {PP_C10D_VV, 2}};

static const struct method {
	const char *name;
	uint8_t what;
	uint16_t call;
	uint8_t sent, received, root;
} methods[] = {
#define PP_C10D_METHOD(name, what, call, sent, received, root) {#name, what, CALL_##call, sent, received, root},
#include "core/source/torch/c10d_method.def"
#undef PP_C10D_METHOD
};
enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

static _Atomic(void *) next[METHODS];

static _Thread_local struct {
	struct pp_c10d_frame *top; /* the innermost call */
	uint64_t asked;
	int asked_on_host;
} here;

/* Of a method that no library has after all. */
static uint64_t nothing(void)
{
	return 0;
}

static __attribute__((cold, noinline)) void *find_next(uint64_t index)
{
	void *found = pp_c10d_next(methods[index].name);

	if (!found)
		found = (void *)nothing;
	atomic_store_explicit(&next[index], found, memory_order_relaxed);
	return found;
}

static int returns_object(const struct method *m)
{
	return m->what <= ANY && m->what != PLAIN;
}

static const uint64_t *arguments(const struct pp_c10d_frame *f, const struct method *m)
{
	return f->argument + (RESULT_IS_ARGUMENT && returns_object(m));
}

/* Stands for a Work in records: the reader tells uses of one address apart by time. */
static uint32_t work_number(uint64_t work)
{
	return (uint32_t)(work >> 4);
}

static void put(const struct pp_record *r)
{
	struct pp_ring_cursor *c = &pp_thread_self->cursor;
	struct pp_record *direct = pp_ring_take_late(c, &pp_wiped.recording);

	if (__builtin_expect(!direct, 0)) {
		pp_ring_put(r, NULL, 0);
		return;
	}
	*direct = *r;
	pp_ring_commit(c);
}

static uint64_t bytes_at(const uint64_t *argument, uint8_t place)
{
	return pp_c10d_tensor_bytes(places[place].shape, (const void *)argument[places[place].argument]);
}

static void begin_message(struct pp_c10d_frame *f, const struct method *m, const uint64_t *argument)
{
	int32_t peer = (int32_t)(uint32_t)argument[2], tag = (int32_t)(uint32_t)argument[3];

	if (m->what == ANY) {
		f->tag = peer;
		return;
	}
	f->tag = tag;
	if (pp_c10d_group_message(f->group, peer, tag, m->what == SEND ? PP_C10D_SENDS : PP_C10D_RECEIVES, &f->sequence))
		f->peer = pp_c10d_group_member(f->group, peer);
}

static void begin_call(struct pp_c10d_frame *f, const struct method *m, const uint64_t *argument)
{
	struct pp_c10d_group *g = f->group = pp_c10d_group_of(argument[0]);
	int32_t root = -1;

	f->sent = bytes_at(argument, m->sent);
	f->received = bytes_at(argument, m->received);
	if (!g)
		return;
	f->comm = atomic_load_explicit(&g->id, memory_order_acquire);
	if (m->what == SEND || m->what == RECV || m->what == ANY) {
		begin_message(f, m, argument);
		pp_c10d_group_sends(g, m->call);
		return;
	}
	if (m->root) {
		root = (int32_t) * (const int64_t *)argument[m->root];
		f->peer = pp_c10d_group_member(g, root);
	}
	f->sequence = atomic_fetch_add_explicit(&g->collectives, 1, memory_order_relaxed);
	pp_c10d_group_begins(g, m->call, f->sequence, f->sent > f->received ? f->sent : f->received, root);
}

static void begin(struct pp_c10d_frame *f, const struct method *m, const uint64_t *argument)
{
	uint32_t recording = atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed);
	struct pp_where *w = pp_thread_where();

	f->peer = -1;
	f->is_recorded = recording && atomic_load_explicit(&pp_c10d_groups_named, memory_order_relaxed);
	f->comm = f->sent = f->received = 0;
	f->sequence = 0;
	f->group = NULL;
	f->was = w->c10d;
	w->c10d_calls++;
	w->c10d = (uint16_t)(m->call + 1);
	if (m->what < WAIT) {
		begin_call(f, m, argument);
		f->is_recorded &= f->comm != 0; /* else it is a group of torch's own, inside of another */
	}
	if (!f->is_recorded)
		return;
	if (f->group)
		pp_c10d_group_report(f->group, recording);
	f->begin = pp_tick_now();
}

static void put_done(uint64_t work, pp_tick tick)
{
	struct pp_record r = {.tick = tick, .kind = PP_RECORD_REQUEST};

	r.request.request = work_number(work);
	r.request.peer = -1;
	r.request.call = CALL_WAIT;
	put(&r);
}

/* A Work is complete, on whichever thread. */
static void finished(uint64_t work)
{
	if (atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed))
		put_done(work, pp_tick_now());
}

static void ask(uint64_t object, const struct method *m)
{
	here.asked = object;
	here.asked_on_host = strstr(m->name, "ProcessGroupGloo") != NULL;
}

void *pp_c10d_enter(struct pp_c10d_frame *f)
{
	const struct method *m = &methods[f->method];
	void *go = atomic_load_explicit(&next[f->method], memory_order_relaxed);
	const uint64_t *argument = arguments(f, m);

	while (here.top && (uintptr_t)here.top < (uintptr_t)f) /* calls that were left by longjmp() */
		here.top = here.top->up;
	f->up = here.top;
	f->inner = 0;
	f->is_outer = !f->up || f->up->is_no_call;
	f->is_no_call = m->what > WAIT_END;
	here.top = f;
	if (m->what == FINISH)
		finished(argument[0]);
	else if (m->what == ASK)
		ask(argument[0], m);
	else if (m->what == GONE)
		pp_c10d_group_gone(argument[0]);
	else if (f->is_outer)
		begin(f, m, argument);
	return __builtin_expect(go != NULL, 1) ? go : find_next(f->method);
}

static void put_message(const struct pp_c10d_frame *f, const struct method *m)
{
	struct pp_record r = {.tick = f->begin, .kind = PP_RECORD_MESSAGE};
	struct pp_record_message_half *half = m->what == SEND ? &r.message.sent : &r.message.received;

	if (f->peer < 0)
		return;
	r.message.sent.peer = r.message.received.peer = -1;
	*half = (struct pp_record_message_half){
	        .peer = f->peer, .tag = f->tag, .order = f->sequence, .flags = PP_MESSAGE_TAGGED | PP_MESSAGE_CERTAIN};
	put(&r);
}

/* The object that the call has returned. */
static uint64_t work_of(const struct pp_c10d_frame *f)
{
	return *(const uint64_t *)(RESULT_IS_ARGUMENT ? f->argument[0] : f->result);
}

static void end(const struct pp_c10d_frame *f, int failed)
{
	const struct method *m = &methods[f->method];
	struct pp_record r = {.tick = f->begin, .kind = PP_RECORD_MPI};
	uint64_t work = 0;

	if (returns_object(m) && !failed)
		work = f->inner ? f->inner : work_of(f);
	else if (m->what == WAIT || m->what == WAIT_END)
		work = arguments(f, m)[0];
	if (m->what == SEND || m->what == RECV)
		put_message(f, m);
	r.mpi = (struct pp_record_mpi){.end = pp_tick_now(),
	                               .comm = f->comm,
	                               .sent = f->sent,
	                               .received = f->received,
	                               .sequence = m->what <= PLAIN ? f->sequence : 0,
	                               .peer = m->what == ANY ? -2 : f->peer,
	                               .request = work_number(work),
	                               .call = m->call,
	                               .flags = failed ? PP_MPI_FAILED : 0};
	put(&r);
	if (m->what == WAIT_END && !failed)
		put_done(work, r.mpi.end);
}

static void leave(struct pp_c10d_frame *f, int failed)
{
	int saved = errno;

	here.top = f->up;
	if (f->is_no_call)
		return;
	if (!f->is_outer) {
		if (!failed && returns_object(&methods[f->method]))
			f->up->inner = f->inner ? f->inner : work_of(f);
		return;
	}
	pp_thread_where()->c10d = f->was;
	if (f->group)
		pp_c10d_group_returns(f->group);
	if (f->is_recorded)
		end(f, failed);
	errno = saved;
}

void pp_c10d_leave(struct pp_c10d_frame *f)
{
	leave(f, 0);
}

/* Frames are left from the innermost out, so the one that an exception leaves is the thread's innermost. */
int pp_c10d_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if (actions & UNWINDS && here.top)
		leave(here.top, 1);
	return GOES_ON;
}

uint64_t pp_c10d_asked(int *ret_on_host)
{
	uint64_t asked = here.asked;

	*ret_on_host = here.asked_on_host;
	here.asked = 0;
	return asked;
}

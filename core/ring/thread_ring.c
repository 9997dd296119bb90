/* A thread's end of the ring file, slow path: slots, chunks, long texts, losses. Called by sources when the inline path returns
 * NULL. */
#include "core/ring/thread_ring.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/wipe.h"
#include "core/ring/notice.h"

enum { TEXT_MAX = PP_TEXT_INLINE + (PP_CHUNK_RECORDS - 2) * PP_RECORD_CONT_TEXT };

static struct pp_thread_ring none = {.cursor = {.generation = PP_RING_BUSY, .active = PP_RING_BUSY}};
static struct pp_thread_ring ended = {.cursor = {.generation = PP_RING_BUSY, .active = PP_RING_BUSY}};
static struct pp_where no_where = {.peer = -1, .step = INT64_MIN};
_Thread_local struct pp_thread_ring *pp_thread_self = &none;
struct pp_wiped pp_wiped;
struct pp_pool pp_ring_pool;

/* Orders lists, slots and the pool between threads of this process; locked on slow paths only, never while a record is filled. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pp_thread_ring *rings; /* [PP_RING_THREADS], in the process's memory: the file is not trusted for it */
static pthread_key_t key;
static int key_made;
static pid_t owner;
static void (*before_end)(void);

/* From here on another thread may continue in t. Release: the last commit is visible before the end. */
static void leave(struct pp_thread_ring *t)
{
	t->resume = t->cursor.next;
	t->cursor.generation = PP_RING_BUSY;
	t->cursor.next = t->cursor.end = NULL;
	pp_slot_set_state(t->slot, PP_THREAD_ENDED);
}

static void thread_ended(void *arg)
{
	struct pp_thread_ring *t = arg;

	if (pp_thread_self != t || !t->slot) /* a forked child, or a second round of destructors */
		return;
	if (before_end)
		before_end();
	pp_thread_self = &ended;
	leave(t);
}

int pp_rings_start(void (*on_thread_end)(void))
{
	int rc;

	before_end = on_thread_end;
	if (!key_made) {
		rc = pthread_key_create(&key, thread_ended);
		if (rc)
			return -rc;
		key_made = 1;
	}
	if (!rings) {
		void *at = mmap(NULL, PP_RING_THREADS * sizeof(*rings), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return -errno;
		rings = at;
		pp_wipe_on_fork(&pp_wiped, sizeof(pp_wiped));
		pp_wipe_on_fork(rings, PP_RING_THREADS * sizeof(*rings));
	}
	owner = getpid();
	atomic_store(&pp_wiped.owned, 1);
	return 0;
}

int pp_rings_are_copied(void)
{
	return owner && !atomic_load_explicit(&pp_wiped.owned, memory_order_relaxed);
}

void pp_rings_abandon(void)
{
	atomic_store(&pp_wiped.owned, 0);
	atomic_store(&pp_wiped.recording, 0);
	pp_thread_self = &ended;
	if (key_made)
		pthread_setspecific(key, NULL);
	if (!pp_ring_pool.header)
		return;
	for (uint32_t i = 0; rings && i < PP_RING_THREADS; i++)
		if (rings[i].slot) {
			rings[i].cursor.generation = PP_RING_BUSY;
			rings[i].cursor.next = rings[i].cursor.end = NULL;
		}
	/* Addresses that others remember stay valid, but map memory of this process alone. */
	/* cppcheck-suppress leakReturnValNotUsed ; the pool knows the address, and where it fails the old mapping stands */
	(void)mmap(pp_ring_pool.header, pp_ring_pool.map_bytes, PROT_READ | PROT_WRITE,
	           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	pthread_mutex_init(&lock, NULL);
}

void pp_rings_revive(void)
{
	/* The old mapping stays: it is this process's own by now, and others may remember an address in it. */
	memset(&pp_ring_pool, 0, sizeof(pp_ring_pool));
	for (uint32_t i = 0; rings && i < PP_RING_THREADS; i++)
		if (rings[i].slot)
			rings[i] = (struct pp_thread_ring){.cursor = {.generation = PP_RING_BUSY, .active = PP_RING_BUSY}};
	pp_thread_self = &none;
	owner = 0;
}

/* Collects chunks of t that the keeper has read. `all`: t's owner has ended and the keeper has read everything. */
static void collect(struct pp_thread_ring *t, int all)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): one of rings[], which never goes away */
	while (t->oldest && (all || t->oldest != t->chunk)) {
		struct pp_chunk *c = pp_pool_chunk(&pp_ring_pool, t->oldest);
		uint32_t number = t->oldest;

		/* Acquire: the keeper's reads are over before we write again. */
		if (!pp_chunk_drained(c))
			return;
		t->oldest = atomic_load_explicit(&c->next, memory_order_relaxed);
		pp_pool_give(&pp_ring_pool, number);
	}
	if (all)
		t->chunk = t->oldest = 0;
}

static void collect_all(void)
{
	uint32_t used = pp_ring_thread_used(pp_ring_pool.header);

	for (uint32_t i = 0; i < used; i++)
		collect(&rings[i], pp_slot_state(rings[i].slot) == PP_THREAD_FREE);
}

static void set_cursor(struct pp_thread_ring *t, struct pp_chunk *c, struct pp_record *next)
{
	t->cursor.first = c->record;
	t->cursor.next = next;
	t->cursor.end = c->record + PP_CHUNK_RECORDS;
	t->cursor.committed = &c->committed;
}

/* The lowest free slot, else a new one; locked. */
static struct pp_thread_ring *free_slot(void)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	uint32_t used = pp_ring_thread_used(h);

	for (uint32_t i = 0; i < used; i++) {
		if (pp_slot_state(&h->thread[i]) != PP_THREAD_FREE)
			continue;
		collect(&rings[i], 1);
		return &rings[i];
	}
	if (used >= PP_RING_THREADS || pp_pool_back_slots(&pp_ring_pool, used + 1))
		return NULL;
	rings[used].slot = &h->thread[used];
	rings[used].number = used;
	return &rings[used];
}

/* Locked: closes t's chunk and begins another; 0 or the loss + 1. */
static int link_chunk(struct pp_thread_ring *t)
{
	enum pp_loss loss = PP_LOSS_RING_FULL;
	uint32_t number = 0;
	struct pp_chunk *c;

	collect(t, 0);
	number = pp_pool_take(&pp_ring_pool, 0, &loss);
	if (!number) {
		collect_all();
		number = pp_pool_take(&pp_ring_pool, 1, &loss);
	}
	if (!number)
		return (int)loss + 1;
	c = pp_pool_chunk(&pp_ring_pool, number);
	c->thread = t->number;
	/* Release: the cleared words of the new chunk are seen before it can be reached, and the last commit before `next`. */
	if (t->chunk)
		pp_chunk_set_next(pp_pool_chunk(&pp_ring_pool, t->chunk), number);
	else
		pp_slot_set_first(t->slot, number);
	t->chunk = number;
	if (!t->oldest)
		t->oldest = number;
	set_cursor(t, c, c->record);
	return 0;
}

/* Continues where t's last thread ended; 0: no room for its THREAD_END. Its records are read before ours, so the slot names
 * that thread until the records do. */
static int go_on(struct pp_thread_ring *t, int may_link)
{
	const struct pp_thread_slot *s = t->slot;
	struct pp_record *r;

	if (!t->chunk) /* it has no records */
		return 1;
	set_cursor(t, pp_pool_chunk(&pp_ring_pool, t->chunk), t->resume);
	if ((!t->cursor.next || t->cursor.next == t->cursor.end) && (!may_link || link_chunk(t)))
		return 0;
	r = t->cursor.next;
	memset(r, 0, sizeof(*r));
	r->tick = pp_tick_now();
	r->kind = PP_RECORD_THREAD_END;
	r->thread.tid = s->tid;
	r->thread.is_main = s->is_main;
	memcpy(r->thread.name, s->name, sizeof(r->thread.name));
	t->cursor.next++;
	atomic_store_explicit(t->cursor.committed, (uint32_t)(t->cursor.next - t->cursor.first), memory_order_release);
	return 1;
}

/* The slot of a thread that has ended, whether or not the keeper has read it: so slots and chunks are as many as live threads,
 * however many end while the keeper is busy. Locked. */
static struct pp_thread_ring *take_over(void)
{
	uint32_t used = pp_ring_thread_used(pp_ring_pool.header);
	int has_room = 1;

	for (uint32_t i = 0; i < used; i++) {
		struct pp_thread_slot *s = rings[i].slot;
		uint32_t state = atomic_load_explicit(&s->state, memory_order_relaxed);

		/* Acquire: all that the previous thread did with the ring. */
		if (state != PP_THREAD_ENDED ||
		    !atomic_compare_exchange_strong_explicit(&s->state, &state, PP_THREAD_LIVE, memory_order_acquire,
		                                             memory_order_relaxed))
			continue;
		if (go_on(&rings[i], has_room))
			return &rings[i];
		leave(&rings[i]);
		has_room = 0; /* other slots may have room, or no records */
	}
	return NULL;
}

static struct pp_thread_ring *enter(void)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct pp_thread_ring *t;

	pthread_mutex_lock(&lock);
	t = take_over();
	if (!t) {
		t = free_slot();
		if (t)
			t->cursor = (struct pp_ring_cursor){0};
	}
	if (t) {
		struct pp_thread_slot *s = t->slot;

		memset(t->depth, 0, sizeof(t->depth));
		t->cursor.generation = t->cursor.active = PP_RING_BUSY;
		t->gap = 0;
		s->tid = tid;
		s->is_main = tid == (uint32_t)owner;
		memset(s->name, 0, sizeof(s->name));
		prctl(PR_GET_NAME, s->name, 0, 0, 0);
		memset(&s->where, 0, sizeof(s->where));
		s->where.step = INT64_MIN;
		s->where.peer = -1;
		pp_slot_set_state(s, PP_THREAD_LIVE);
		if (t->number >= pp_ring_thread_used(h))
			pp_ring_set_thread_used(h, t->number + 1);
	}
	pthread_mutex_unlock(&lock);
	return t;
}

struct pp_thread_ring *pp_thread_enter(void)
{
	struct pp_thread_ring *t = pp_thread_self;
	int saved = errno;

	if (t != &none)
		return t->slot ? t : NULL; /* it has ended, or it is a copy in a forked child */
	if (!rings || !pp_ring_pool.header || pp_rings_are_copied() || getpid() != owner)
		return NULL;
	pp_thread_self = &ended; /* a signal handler that comes now finds a thread without a ring */
	t = enter();
	if (t && pthread_setspecific(key, t)) {
		leave(t);
		t = NULL;
	}
	pp_thread_self = t ? t : &none;
	errno = saved;
	return t;
}

struct pp_where *pp_thread_where(void)
{
	struct pp_thread_ring *t = pp_thread_self;

	if (!t->slot)
		t = atomic_load_explicit(&pp_wiped.is_rank, memory_order_acquire) ? pp_thread_enter() : NULL;
	return t ? &t->slot->where : &no_where;
}

static int next_chunk(struct pp_thread_ring *t)
{
	int loss;

	if (pp_rings_are_copied()) /* forked past libc's handlers: the file is not ours */
		return PP_LOSS_AFTER_EXIT + 1;
	pthread_mutex_lock(&lock);
	loss = link_chunk(t);
	pthread_mutex_unlock(&lock);
	return loss;
}

static void count(struct pp_thread_ring *t, enum pp_loss loss)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): pp_thread_self is never NULL, it begins as &none */
	atomic_fetch_add_explicit(&t->slot->lost[loss], 1, memory_order_relaxed);
}

void pp_ring_lose(enum pp_loss loss)
{
	struct pp_thread_ring *t = pp_thread_self;

	if (!pp_ring_pool.header || pp_rings_are_copied())
		return;
	if (t == &none || t == &ended)
		pp_ring_add_lost_threads(pp_ring_pool.header, 1);
	else
		count(t, loss);
}

static void write_text(struct pp_record *r, const char *rest, uint32_t length, uint32_t records)
{
	for (uint32_t i = 0; i < records; i++) {
		uint32_t n = length < PP_RECORD_CONT_TEXT ? length : PP_RECORD_CONT_TEXT;

		r[i].tick = 0;
		r[i].kind = PP_RECORD_TEXT;
		r[i].more = 0;
		r[i].length = n;
		memcpy(r[i].text, rest, n);
		rest += n;
		length -= n;
	}
}

/* Busy is set. Writes GAP if one is due, the head and its text, all in one chunk, published together; 0: dropped and counted. */
static int write_all(struct pp_thread_ring *t, const struct pp_record *head, const char *rest, uint32_t length)
{
	uint32_t most = TEXT_MAX - PP_TEXT_INLINE;
	uint32_t cut = length > most ? length - most : 0;
	uint32_t more = (length - cut + PP_RECORD_CONT_TEXT - 1) / PP_RECORD_CONT_TEXT;
	uint32_t need = 1 + more + (t->gap != 0);
	struct pp_record *r;
	int loss;

	if (t->cursor.next == NULL || (uint32_t)(t->cursor.end - t->cursor.next) < need) {
		loss = next_chunk(t);
		if (loss) {
			t->gap = 1;
			count(t, (enum pp_loss)(loss - 1));
			return 0;
		}
	}
	r = t->cursor.next;
	if (t->gap) {
		memset(r, 0, sizeof(*r));
		r->tick = head->tick;
		r->kind = PP_RECORD_GAP;
		r++;
		t->gap = 0;
	}
	*r = *head;
	r->more = (uint16_t)more;
	r->length = head->length - cut;
	write_text(r + 1, rest, length - cut, more);
	if (cut)
		count(t, PP_LOSS_NAME_CUT);
	t->cursor.next += need;
	atomic_store_explicit(t->cursor.committed, (uint32_t)(t->cursor.next - t->cursor.first), memory_order_release);
	return 1;
}

int pp_ring_put(const struct pp_record *head, const void *rest, uint32_t rest_length)
{
	/* Acquire: the pool and the rings are complete before recording is seen to be on. */
	uint32_t on = atomic_load_explicit(&pp_wiped.recording, memory_order_acquire);
	struct pp_thread_ring *t = pp_thread_self;
	uint32_t active;
	int saved = errno, written;

	if (!on)
		return 0;
	if (t == &none)
		t = pp_thread_enter();
	if (!t || t == &ended) {
		pp_ring_lose(PP_LOSS_NO_THREAD);
		errno = saved;
		return 0;
	}
	/* A signal handler inside a record that is being filled; a new ring has no `committed` yet and is not busy. `active` is
	 * read first: a handler in between makes the new ring an old one, and this record would be dropped for it. */
	active = t->cursor.active;
	atomic_signal_fence(memory_order_seq_cst);
	if (t->cursor.generation == PP_RING_BUSY && active != PP_RING_BUSY) {
		count(t, PP_LOSS_RING_FULL);
		return 0;
	}
	active = t->cursor.active;
	if (active != on) {
		t->gap |= active != PP_RING_BUSY;
		t->cursor.active = on;
	}
	t->cursor.generation = PP_RING_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
	written = write_all(t, head, rest, rest_length);
	atomic_signal_fence(memory_order_seq_cst);
	/* While a gap is due every record must come through put(). */
	t->cursor.generation = t->gap ? PP_RING_GAP : on;
	if (__builtin_expect(pp_notice_is_new(), 0))
		pp_notice_print();
	errno = saved;
	return written;
}

void pp_ring_name_thread(uint32_t tid, const char *name)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	struct pp_thread_ring *self;
	uint32_t used;

	if (!h || pp_rings_are_copied() || getpid() != owner)
		return;
	if (tid == (uint32_t)syscall(SYS_gettid))
		pp_thread_enter();
	self = pp_thread_self;
	pp_thread_self = &ended; /* a signal handler that comes now would wait for the lock: make it find a thread without a ring */
	pthread_mutex_lock(&lock);
	used = pp_ring_thread_used(h);
	for (uint32_t i = 0; i < used; i++) {
		struct pp_thread_slot *s = &h->thread[i];

		if (s->tid != tid || atomic_load_explicit(&s->state, memory_order_relaxed) != PP_THREAD_LIVE)
			continue;
		strncpy(s->name, name, sizeof(s->name) - 1);
		break;
	}
	pthread_mutex_unlock(&lock);
	pp_thread_self = self;
}

/* The row with that id, else NULL; 0: a free one. Locked. */
static struct pp_ring_comm *comm_row(uint64_t id)
{
	struct pp_ring_header *h = pp_ring_pool.header;

	for (uint32_t i = 0; i < pp_ring_comms(h); i++)
		if (atomic_load_explicit(&h->comm[i].id, memory_order_relaxed) == id)
			return &h->comm[i];
	return NULL;
}

/* Into the row that has `had` as its id, else into a free one; NULL: there is none. */
static struct pp_ring_comm *put_comm(const struct pp_ring_comm *row, uint64_t had)
{
	int saved = errno;
	uint64_t id = atomic_load_explicit(&row->id, memory_order_relaxed);
	struct pp_ring_comm *to;

	pthread_mutex_lock(&lock);
	to = pp_ring_pool.header && !pp_pool_back_comms(&pp_ring_pool) ? comm_row(had) : NULL;
	if (!to && pp_ring_pool.header)
		to = comm_row(0);
	if (to) {
		pp_row_take(&to->id);
		memcpy((char *)to + sizeof(to->id), (const char *)row + sizeof(row->id), sizeof(*to) - sizeof(to->id));
		atomic_store_explicit(&to->id, id, memory_order_release);
	} else if (pp_ring_pool.header) {
		pp_ring_add_comms_lost(pp_ring_pool.header, 1);
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
	return to;
}

void pp_ring_comm_put(const struct pp_ring_comm *row)
{
	put_comm(row, atomic_load_explicit(&row->id, memory_order_relaxed));
}

void pp_ring_comm_drop(uint64_t id)
{
	struct pp_ring_comm *row;

	pthread_mutex_lock(&lock);
	row = id && pp_ring_pool.header ? comm_row(id) : NULL;
	if (row)
		pp_row_take(&row->id);
	pthread_mutex_unlock(&lock);
}

struct pp_ring_comm *pp_ring_comm_take(const struct pp_ring_comm *row)
{
	return pp_rings_are_copied() ? NULL : put_comm(row, 0);
}

void pp_ring_comm_leave(struct pp_ring_comm *row)
{
	if (!pp_rings_are_copied())
		pp_row_take(&row->id);
}

/* ITT's strings and counters: a lock-free table, and temporary handles where it is full. Called by itt_calls.c. */
#include "core/source/itt/itt_names.h"

#include <errno.h>
#include <stdio.h>

#include "core/call/mpi_call.h"
#include "core/ring/thread_ring.h"

typedef struct pp_itt_name *_Atomic row_of_table;

enum {
	ROWS = 2 * PP_ITT_NAMES, /* a power of two, half full at most */
	PROBES = 512,
	SCRATCH = 4,
	SCRATCH_ROOM = 49152, /* longer than a record's text, which is where names are cut and counted */
	COUNTER_NAME = 1024,
};

struct scratch {
	struct pp_itt_string handle;
	char text[SCRATCH_ROOM];
};

struct scratch_set { /* of one thread, or of all that have no ring */
	_Atomic uint32_t made;
	struct scratch one[SCRATCH];
};

void *_Atomic pp_itt_arena;

/* Not core/base/map.h: threads look names up and add them without a lock, and nothing here allocates. */
static _Atomic size_t arena_used;
static _Atomic uint32_t names, suffixed;
static void *_Atomic scratch[PP_RING_THREADS + 1]; /* struct scratch_set; see lazy.h */

static inline uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static inline uint64_t word_at(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return word;
}

/* 8 bytes at a time, the last ones overlapping: names are short, libc calls would be half of the cost. */
static inline uint64_t hash_of(const char *text, size_t length)
{
	uint64_t h = length, word = 0;

	if (length < 8) {
		pp_copy_short((char *)&word, text, length);
		h = mix(h, word);
	} else {
		for (size_t at = 0; at + 8 < length; at += 8)
			h = mix(h, word_at(text + at));
		h = mix(h, word_at(text + length - 8));
	}
	return h ^ h >> 32;
}

static inline int is_equal(const char *a, const char *b, size_t length)
{
	uint64_t differ = 0;

	if (length < 8)
		return !memcmp(a, b, length);
	for (size_t at = 0; at + 8 < length; at += 8)
		differ |= word_at(a + at) ^ word_at(b + at);
	return !(differ | (word_at(a + length - 8) ^ word_at(b + length - 8)));
}

/* One sentence for the report, once. */
static __attribute__((cold)) void remark(_Atomic uint32_t *reported, const char *text)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_REMARK, .length = (uint32_t)strlen(text)};

	if (!atomic_load_explicit(&pp_wiped.recording, memory_order_acquire) || atomic_exchange(reported, 1))
		return;
	memcpy(r.range.text, text, PP_TEXT_INLINE);
	pp_ring_put(&r, text + PP_TEXT_INLINE, r.length - PP_TEXT_INLINE);
}

/* Frameworks append what differs from call to call. */
static int has_suffix(const char *text)
{
	static const char *const suffix[] = {", sizes = ", ", seq = ", ", op_id = ", ", input_op_ids = ", "[["};

	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++)
		if (strstr(text, suffix[i]))
			return 1;
	return 0;
}

/* Of NCCL's work the thread that begins it does not see the end. */
static int place_of(const char *text, size_t length)
{
	unsigned backend = pp_c10d_call_of_backend(text, length);

	if (backend && strncmp(text, "gloo:", 5) != 0)
		return PP_ITT_NO_END;
	return (int)(backend ? backend : pp_c10d_call_of(text, length));
}

static int take_one(_Atomic uint32_t *count, uint32_t most)
{
	uint32_t had = atomic_load_explicit(count, memory_order_relaxed);

	while (had < most)
		if (atomic_compare_exchange_weak(count, &had, had + 1))
			return 1;
	return 0;
}

static size_t bytes_of(size_t length)
{
	return (sizeof(struct pp_itt_name) + length + 1 + 63) & ~(size_t)63;
}

/* Adds a name that is not in the table; NULL: it is not kept. */
static struct pp_itt_name *make(const char *text, size_t length, uint64_t hash)
{
	size_t bytes = bytes_of(length), at = atomic_load_explicit(&arena_used, memory_order_relaxed);
	struct pp_itt_name *n;

	if (length > PP_ITT_NAME_LONGEST || atomic_load_explicit(&names, memory_order_relaxed) >= PP_ITT_NAMES)
		return NULL;
	if (has_suffix(text) && !take_one(&suffixed, PP_ITT_SUFFIXED))
		return NULL;
	do {
		if (bytes > PP_ITT_ARENA_BYTES - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&arena_used, &at, at + bytes));
	if (!take_one(&names, PP_ITT_NAMES))
		return NULL; /* other threads were faster: these bytes stay unused */
	n = (struct pp_itt_name *)((char *)pp_lazy_had(&pp_itt_arena) + at);
	n->handle.text = n->text;
	n->handle.extra1 = place_of(text, length);
	n->hash = hash;
	n->length = (uint32_t)length;
	memcpy(n->text, text, length + 1);
	return n;
}

/* Another thread added the same name first. The bytes are freed where nothing follows them. */
static void unmake(struct pp_itt_name *n)
{
	size_t at = (size_t)((char *)n - (char *)pp_lazy_had(&pp_itt_arena)), end = at + bytes_of(n->length);

	memset(n, 0, end - at);
	atomic_compare_exchange_strong(&arena_used, &end, at);
	atomic_fetch_sub(&names, 1);
}

static inline int is_same(const struct pp_itt_name *n, uint64_t hash, const char *text, size_t length)
{
	return n->hash == hash && n->length == length && is_equal(n->text, text, length);
}

/* The kept name, added if new; NULL: it is not kept. */
static struct pp_itt_name *find_or_make(const char *text, size_t length, uint64_t hash)
{
	char *arena = pp_lazy(&pp_itt_arena, PP_ITT_ARENA_BYTES + ROWS * sizeof(row_of_table));
	row_of_table *row = (row_of_table *)(arena + PP_ITT_ARENA_BYTES); /* the table stands behind the names */
	struct pp_itt_name *mine = NULL;
	uint32_t at = (uint32_t)hash;

	for (int i = 0; arena && i < PROBES; i++, at++) {
		/* Acquire: the name is complete before its address is seen. */
		struct pp_itt_name *n = atomic_load_explicit(&row[at % ROWS], memory_order_acquire);

		if (!n && !mine && !(mine = make(text, length, hash)))
			return NULL;
		if (!n && atomic_compare_exchange_strong(&row[at % ROWS], &n, mine))
			return mine;
		if (is_same(n, hash, text, length)) {
			if (mine)
				unmake(mine);
			return n;
		}
	}
	if (mine)
		unmake(mine);
	return NULL;
}

/* This thread's set, for it alone. Threads without a ring share the last set: no record depends on it. */
static struct scratch_set *own_set(void)
{
	struct pp_thread_ring *t = pp_thread_self;
	uint32_t number;

	if (!t->slot && atomic_load_explicit(&pp_wiped.recording, memory_order_acquire) && !(t = pp_thread_enter()))
		t = pp_thread_self;
	number = t->slot ? t->number : PP_RING_THREADS;
	return pp_lazy(&scratch[number], sizeof(struct scratch_set));
}

/* A temporary handle: the caller uses it for one range only. */
static __attribute__((cold, noinline)) struct pp_itt_string *scratch_create(const char *text, size_t length)
{
	static struct pp_itt_string nameless = {.text = ""};
	static _Atomic uint32_t reported;
	int saved = errno;
	struct scratch_set *set = own_set();
	struct scratch *s;

	if (!has_suffix(text) && length <= PP_ITT_NAME_LONGEST)
		remark(&reported, "ITT: the program has more than 16384 names: names made later may be mixed up");
	errno = saved;
	if (!set)
		return &nameless;
	s = &set->one[atomic_fetch_add_explicit(&set->made, 1, memory_order_relaxed) % SCRATCH];
	if (length >= SCRATCH_ROOM)
		length = SCRATCH_ROOM - 1;
	memcpy(s->text, text, length);
	s->text[length] = '\0';
	s->handle.text = s->text;
	return &s->handle;
}

struct pp_itt_string *pp_itt_string_create(const char *text)
{
	struct pp_itt_name *n;
	size_t length;

	if (!text)
		return NULL;
	length = strlen(text);
	n = find_or_make(text, length, hash_of(text, length));
	return __builtin_expect(n != NULL, 1) ? &n->handle : scratch_create(text, length);
}

struct pp_itt_name *pp_itt_counter_create(const char *domain, const char *name, int type)
{
	static _Atomic uint32_t reported;
	char text[COUNTER_NAME];
	struct pp_itt_name *n;
	uint32_t none = PP_ITT_UNKNOWN;
	int length;

	domain = domain ? domain : "";
	length = snprintf(text, sizeof(text), "%s%s%s", domain, *domain ? "/" : "", name ? name : "");
	if (length >= (int)sizeof(text)) {
		length = sizeof(text) - 1;
		if (pp_thread_enter())
			pp_ring_lose(PP_LOSS_NAME_CUT);
	}
	n = find_or_make(text, (size_t)length, hash_of(text, (size_t)length));
	if (!n) {
		remark(&reported, "ITT: the program has more than 16384 names: counters made later are not shown");
		return NULL;
	}
	atomic_compare_exchange_strong(&n->type, &none,
	                               type > PP_ITT_UNKNOWN && type <= PP_ITT_DOUBLE ? (uint32_t)type : PP_ITT_U64);
	return n;
}

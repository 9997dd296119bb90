/* ITT's tasks, regions, frames, markers, counters, thread names, pause and resume; installed by itt_inject.c. In: ITT's handles.
* Out: records, by source/emit.h. A chained collector's function is called after ours; the application gets its handles. */
#include <sys/syscall.h>
#include <unistd.h>

#include "core/source/itt/itt_domains.h"
#include "core/source/itt/itt_emit.h"
#include "core/source/services.h"

/* The chained collector's function beside our on_...(), which has its type. */
#define THEIRS(f) ((__typeof__(&on_##f))atomic_load_explicit(&pp_itt_next[PP_ITT_CALL_##f], memory_order_relaxed))
/* on_name(): does `what`, then calls the chained collector's function. WANTED: while something records; AT: as WANTED, with the
 * `tick` of a call that has a time, unless its clock is unknown. */
#define THEN_THEIRS(name, params, args, what)                                                                                      \
	static void on_##name params                                                                                               \
	{                                                                                                                          \
		what;                                                                                                              \
		if (__builtin_expect(THEIRS(name) != NULL, 0))                                                                     \
			THEIRS(name) args;                                                                                         \
	}
#define WANTED_THEN_THEIRS(name, params, args, what) THEN_THEIRS(name, params, args, if (pp_emit_wanted()) what)
#define AT_THEN_THEIRS(name, params, args, what)                                                                                   \
	THEN_THEIRS(name, params, args, pp_tick tick; if (pp_emit_wanted() && (tick = when(clock_domain, timestamp))) what)

static inline void emit(enum pp_record_kind kind, uint16_t domain, uint64_t id, const char *name, size_t length)
{
	struct pp_emit e = {.kind = (uint16_t)kind, .domain = domain, .source = PP_SOURCE_ITT, .id = id};

	pp_emit_range(&e, name, length);
}

static void emit_at(enum pp_record_kind kind, uint16_t domain, uint64_t id, pp_tick tick, const char *name, size_t length)
{
	struct pp_emit e = {.kind = (uint16_t)kind, .domain = domain, .source = PP_SOURCE_ITT, .id = id};

	pp_emit_range_at(&e, tick, name, length);
}

/* The range of torch.distributed that this thread is in, and how many ranges of its domain are open since: where-am-I lines. */
static _Thread_local struct {
	const struct pp_itt_domain *domain;
	uint32_t open;
} inside;

static __attribute__((noinline)) void place_begin(const struct pp_itt_domain *domain, int call)
{
	struct pp_where *w;

	if (inside.open) {
		inside.open += domain == inside.domain && call != PP_ITT_NO_END;
		return;
	}
	if (call <= 0)
		return;
	w = pp_thread_where();
	inside.domain = domain;
	inside.open = 1;
	w->c10d_calls++;
	w->c10d = (uint16_t)(call + 1);
}

static __attribute__((noinline)) void place_end(const struct pp_itt_domain *domain)
{
	if (domain != inside.domain || --inside.open)
		return;
	pp_thread_where()->c10d = 0;
}

/* These two outside of windows too: a range may end after its window. */
static inline void enter_call(const struct pp_itt_domain *domain, int call)
{
	if (__builtin_expect(call || inside.open, 0))
		place_begin(domain, call);
}

static inline void leave_call(const struct pp_itt_domain *domain)
{
	if (__builtin_expect(inside.open != 0, 0))
		place_end(domain);
}

static uint64_t on_get_timestamp(void)
{
	return THEIRS(get_timestamp) ? THEIRS(get_timestamp)() : pp_tick_now();
}

static int is_tick(uint64_t timestamp, pp_tick now)
{
	return !THEIRS(get_timestamp) && timestamp >= pp_ring_pool.header->open_tick && timestamp <= now;
}

/* Tick of a call of the _ex kind, which is recorded; 0: by an unknown clock. */
static pp_tick when(const void *clock_domain, uint64_t timestamp)
{
	pp_tick now = pp_tick_now();

	if (clock_domain)
		return 0;
	return is_tick(timestamp, now) ? timestamp : now;
}

/* Ids are the application's: a set per domain, frames and tasks separate; the top bit separates them from NVTX's. */
static uint64_t range_id(uint16_t domain, const struct pp_itt_id *id, uint32_t frame)
{
	uint64_t word[4] = {(uint64_t)domain << 1 | frame, id ? id->d1 : 0, id ? id->d2 : 0, id ? id->d3 : 0};
	uint64_t h = 0;

	for (int i = 0; i < 4; i++) {
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	return h | (uint64_t)1 << 63;
}

static struct pp_itt_domain *on_domain_create(const char *name)
{
	return pp_itt_domain_create(name, THEIRS(domain_create) ? THEIRS(domain_create)(name) : NULL);
}

static struct pp_itt_string *on_string_handle_create(const char *text)
{
	struct pp_itt_string *theirs = THEIRS(string_handle_create) ? THEIRS(string_handle_create)(text) : NULL;

	return theirs ? theirs : pp_itt_string_create(text);
}

static inline void emit_named(enum pp_record_kind kind, const struct pp_itt_domain *domain, const struct pp_itt_string *name)
{
	size_t length;
	const char *text = pp_itt_text(name, &length);

	emit(kind, pp_itt_domain_index(domain), 0, text, length);
}

static void emit_named_at(enum pp_record_kind kind, const struct pp_itt_domain *domain, uint64_t id, pp_tick tick,
                          const struct pp_itt_string *name)
{
	size_t length;
	const char *text = pp_itt_text(name, &length);

	emit_at(kind, pp_itt_domain_index(domain), id, tick, text, length);
}

/* Names a task by its function: "0x" and the address. */
static void emit_function(const struct pp_itt_domain *domain, pp_tick tick, const void *fn)
{
	char text[PP_TEXT_INLINE];
	size_t n = 0;

	text[n++] = '0';
	text[n++] = 'x';
	for (int shift = 60; shift >= 0; shift -= 4)
		if ((uintptr_t)fn >> shift || !shift)
			text[n++] = "0123456789abcdef"[(uintptr_t)fn >> shift & 15];
	emit_at(PP_RECORD_PUSH, pp_itt_domain_index(domain), 0, tick, text, n);
}

static inline void push(const struct pp_itt_domain *domain, const struct pp_itt_string *name)
{
	if (pp_emit_wanted())
		emit_named(PP_RECORD_PUSH, domain, name);
	enter_call(domain, pp_itt_place(name));
}

static void push_at(const struct pp_itt_domain *domain, const void *clock_domain, uint64_t timestamp,
                    const struct pp_itt_string *name)
{
	pp_tick tick = pp_emit_wanted() ? when(clock_domain, timestamp) : 0;

	if (tick)
		emit_named_at(PP_RECORD_PUSH, domain, 0, tick, name);
	enter_call(domain, pp_itt_place(name));
}

static void push_function(const struct pp_itt_domain *domain, const void *clock_domain, uint64_t timestamp, const void *fn)
{
	pp_tick tick = pp_emit_wanted() ? when(clock_domain, timestamp) : 0;

	if (tick)
		emit_function(domain, tick, fn);
	enter_call(domain, 0);
}

static inline void pop(const struct pp_itt_domain *domain)
{
	leave_call(domain);
	if (pp_emit_wanted())
		emit(PP_RECORD_POP, pp_itt_domain_index(domain), 0, "", 0);
}

static void pop_at(const struct pp_itt_domain *domain, const void *clock_domain, uint64_t timestamp)
{
	pp_tick tick = pp_emit_wanted() ? when(clock_domain, timestamp) : 0;

	leave_call(domain);
	if (tick)
		emit_at(PP_RECORD_POP, pp_itt_domain_index(domain), 0, tick, "", 0);
}

/* Tasks that overlap and regions: any thread may end them. */
static void start(const struct pp_itt_domain *domain, const struct pp_itt_id *id, pp_tick tick, const struct pp_itt_string *name)
{
	emit_named_at(PP_RECORD_START, domain, range_id(pp_itt_domain_index(domain), id, 0), tick, name);
}

static void end(const struct pp_itt_domain *domain, const struct pp_itt_id *id, pp_tick tick)
{
	uint16_t index = pp_itt_domain_index(domain);

	emit_at(PP_RECORD_END, index, range_id(index, id, 0), tick, "", 0);
}

/* A frame has its domain's name. */
static void frame(enum pp_record_kind kind, const struct pp_itt_domain *domain, const struct pp_itt_id *id, pp_tick tick)
{
	uint16_t index = pp_itt_domain_index(domain);
	const char *name = kind == PP_RECORD_START && domain && domain->name ? domain->name : "";

	emit_at(kind, index, range_id(index, id, 1), tick, name, strlen(name));
}

static void submit_frame(const struct pp_itt_domain *domain, const struct pp_itt_id *id, uint64_t begin, uint64_t finish)
{
	pp_tick now = pp_tick_now(), last = finish == PP_ITT_TIMESTAMP_NONE ? now : finish;

	if (is_tick(begin, now) && is_tick(last, now) && begin <= last) {
		frame(PP_RECORD_START, domain, id, begin);
		frame(PP_RECORD_END, domain, id, last);
	}
}

#define DOMAIN const struct pp_itt_domain *domain
#define TIME void *clock_domain, uint64_t timestamp
#define IDS struct pp_itt_id id, struct pp_itt_id parent
#define NAME struct pp_itt_string *name

THEN_THEIRS(task_begin, (DOMAIN, IDS, NAME), (domain, id, parent, name), push(domain, name))
THEN_THEIRS(task_begin_fn, (DOMAIN, IDS, void *fn), (domain, id, parent, fn), push_function(domain, NULL, 0, fn))
THEN_THEIRS(task_end, (DOMAIN), (domain), pop(domain))
THEN_THEIRS(task_begin_ex, (DOMAIN, TIME, IDS, NAME), (domain, clock_domain, timestamp, id, parent, name),
            push_at(domain, clock_domain, timestamp, name))
THEN_THEIRS(task_begin_fn_ex, (DOMAIN, TIME, IDS, void *fn), (domain, clock_domain, timestamp, id, parent, fn),
            push_function(domain, clock_domain, timestamp, fn))
THEN_THEIRS(task_end_ex, (DOMAIN, TIME), (domain, clock_domain, timestamp), pop_at(domain, clock_domain, timestamp))
WANTED_THEN_THEIRS(task_begin_overlapped, (DOMAIN, IDS, NAME), (domain, id, parent, name), start(domain, &id, pp_tick_now(), name))
AT_THEN_THEIRS(task_begin_overlapped_ex, (DOMAIN, TIME, IDS, NAME), (domain, clock_domain, timestamp, id, parent, name),
               start(domain, &id, tick, name))
WANTED_THEN_THEIRS(task_end_overlapped, (DOMAIN, struct pp_itt_id id), (domain, id), end(domain, &id, pp_tick_now()))
AT_THEN_THEIRS(task_end_overlapped_ex, (DOMAIN, TIME, struct pp_itt_id id), (domain, clock_domain, timestamp, id),
               end(domain, &id, tick))
WANTED_THEN_THEIRS(region_begin, (DOMAIN, IDS, NAME), (domain, id, parent, name), start(domain, &id, pp_tick_now(), name))
WANTED_THEN_THEIRS(region_end, (DOMAIN, struct pp_itt_id id), (domain, id), end(domain, &id, pp_tick_now()))
WANTED_THEN_THEIRS(frame_begin_v3, (DOMAIN, struct pp_itt_id *id), (domain, id), frame(PP_RECORD_START, domain, id, pp_tick_now()))
WANTED_THEN_THEIRS(frame_end_v3, (DOMAIN, struct pp_itt_id *id), (domain, id), frame(PP_RECORD_END, domain, id, pp_tick_now()))
WANTED_THEN_THEIRS(frame_submit_v3, (DOMAIN, struct pp_itt_id *id, uint64_t begin, uint64_t finish), (domain, id, begin, finish),
                   submit_frame(domain, id, begin, finish))
WANTED_THEN_THEIRS(marker, (DOMAIN, struct pp_itt_id id, NAME, int scope), (domain, id, name, scope),
                   emit_named(PP_RECORD_MARK, domain, name))
AT_THEN_THEIRS(marker_ex, (DOMAIN, TIME, struct pp_itt_id id, NAME, int scope), (domain, clock_domain, timestamp, id, name, scope),
               emit_named_at(PP_RECORD_MARK, domain, 0, tick, name))

/* The counter of a handle: ours, or the one mapped to a chained collector's; NULL: not recorded. */
static struct pp_itt_name *counter_of(void *handle)
{
	if (!handle)
		return NULL;
	return pp_itt_is_interned(handle) ? handle : pp_itt_map_get(handle);
}

static void *give(struct pp_itt_name *ours, void *theirs)
{
	if (theirs && ours)
		pp_itt_map_put(theirs, ours);
	return theirs ? theirs : (void *)ours;
}

static void *on_counter_create(const char *name, const char *domain)
{
	void *theirs = THEIRS(counter_create) ? THEIRS(counter_create)(name, domain) : NULL;

	return give(pp_itt_counter_create(domain, name, PP_ITT_U64), theirs);
}

static void *on_counter_create_typed(const char *name, const char *domain, int type)
{
	void *theirs = THEIRS(counter_create_typed) ? THEIRS(counter_create_typed)(name, domain, type) : NULL;

	return give(pp_itt_counter_create(domain, name, type), theirs);
}

static void *on_counter_create_v3(const struct pp_itt_domain *domain, const char *name, int type)
{
	void *theirs = THEIRS(counter_create_v3) ? THEIRS(counter_create_v3)(domain, name, type) : NULL;

	return give(pp_itt_counter_create(domain ? domain->name : NULL, name, type), theirs);
}

static void on_counter_destroy(void *counter)
{
	if (THEIRS(counter_destroy))
		THEIRS(counter_destroy)(counter);
}

static double read_value(uint32_t type, const void *at)
{
	union {
		uint64_t u64;
		int64_t s64;
		uint32_t u32;
		int32_t s32;
		uint16_t u16;
		int16_t s16;
		float real;
		double wide;
	} v;

	switch (type) {
	case PP_ITT_S64:
		memcpy(&v.s64, at, sizeof(v.s64));
		return (double)v.s64;
	case PP_ITT_U32:
		memcpy(&v.u32, at, sizeof(v.u32));
		return v.u32;
	case PP_ITT_S32:
		memcpy(&v.s32, at, sizeof(v.s32));
		return v.s32;
	case PP_ITT_U16:
		memcpy(&v.u16, at, sizeof(v.u16));
		return v.u16;
	case PP_ITT_S16:
		memcpy(&v.s16, at, sizeof(v.s16));
		return v.s16;
	case PP_ITT_FLOAT:
		memcpy(&v.real, at, sizeof(v.real));
		return (double)v.real;
	case PP_ITT_DOUBLE:
		memcpy(&v.wide, at, sizeof(v.wide));
		return v.wide;
	default:
		memcpy(&v.u64, at, sizeof(v.u64));
		return (double)v.u64;
	}
}

static int is_real(uint32_t type)
{
	return type == PP_ITT_FLOAT || type == PP_ITT_DOUBLE;
}

static double as_double(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static uint64_t as_bits(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

/* The count goes on while nothing is recorded. */
static void set(void *handle, const void *value)
{
	struct pp_itt_name *c = counter_of(handle);
	uint32_t type = c ? atomic_load_explicit(&c->type, memory_order_relaxed) : 0;
	double d;

	if (!c || !value)
		return;
	d = read_value(type, value);
	if (is_real(type))
		atomic_store_explicit(&c->value, as_bits(d), memory_order_relaxed);
	else
		atomic_store_explicit(&c->value,
		                      d < 0        ? (uint64_t)(int64_t)d
		                      : d < 0x1p64 ? (uint64_t)d
		                                   : UINT64_MAX,
		                      memory_order_relaxed);
	if (pp_emit_wanted())
		pp_emit_counter(c->text, d);
}

static void add(struct pp_itt_name *c, int64_t delta)
{
	uint64_t had, now;
	double d;

	if (!c)
		return;
	had = atomic_load_explicit(&c->value, memory_order_relaxed);
	if (is_real(atomic_load_explicit(&c->type, memory_order_relaxed))) {
		do {
			d = as_double(had) + (double)delta;
			now = as_bits(d);
		} while (!atomic_compare_exchange_weak(&c->value, &had, now));
	} else {
		d = (double)(int64_t)(atomic_fetch_add_explicit(&c->value, (uint64_t)delta, memory_order_relaxed) +
		                      (uint64_t)delta);
	}
	if (pp_emit_wanted())
		pp_emit_counter(c->text, d);
}

THEN_THEIRS(counter_set_value, (void *counter, void *value), (counter, value), set(counter, value))
THEN_THEIRS(counter_set_value_ex, (void *counter, void *clock_domain, uint64_t timestamp, void *value),
            (counter, clock_domain, timestamp, value), if (!clock_domain) set(counter, value))
THEN_THEIRS(counter_set_value_v3, (void *counter, void *value), (counter, value), set(counter, value))
THEN_THEIRS(counter_inc, (void *counter), (counter), add(counter_of(counter), 1))
THEN_THEIRS(counter_inc_delta, (void *counter, uint64_t delta), (counter, delta), add(counter_of(counter), (int64_t)delta))
THEN_THEIRS(counter_dec, (void *counter), (counter), add(counter_of(counter), -1))
THEN_THEIRS(counter_dec_delta, (void *counter, uint64_t delta), (counter, delta), add(counter_of(counter), (int64_t)(0 - delta)))

/* Counters without a handle, known by domain and name. */
static void add_named(const struct pp_itt_domain *domain, const struct pp_itt_string *name, int64_t delta)
{
	size_t length;
	const char *text = pp_itt_text(name, &length);

	add(pp_itt_counter_create(domain ? domain->name : NULL, text, PP_ITT_U64), delta);
}

THEN_THEIRS(counter_inc_v3, (const struct pp_itt_domain *domain, struct pp_itt_string *name), (domain, name),
            add_named(domain, name, 1))
THEN_THEIRS(counter_inc_delta_v3, (const struct pp_itt_domain *domain, struct pp_itt_string *name, uint64_t delta),
            (domain, name, delta), add_named(domain, name, (int64_t)delta))
THEN_THEIRS(counter_dec_v3, (const struct pp_itt_domain *domain, struct pp_itt_string *name), (domain, name),
            add_named(domain, name, -1))
THEN_THEIRS(counter_dec_delta_v3, (const struct pp_itt_domain *domain, struct pp_itt_string *name, uint64_t delta),
            (domain, name, delta), add_named(domain, name, (int64_t)(0 - delta)))
THEN_THEIRS(thread_set_name, (const char *name), (name), if (name) pp_ring_name_thread((uint32_t)syscall(SYS_gettid), name))

/* Requested by the program: this makes the process the rank, as a mark does. */
static void pause_here(int paused)
{
	if (pp_services.claim(PP_EVIDENCE_MARK, -1, -1))
		pp_services.pause(paused);
}

THEN_THEIRS(pause, (void), (), pause_here(1))
THEN_THEIRS(resume, (void), (), pause_here(0))
THEN_THEIRS(pause_scoped, (int scope), (scope), pause_here(1))
THEN_THEIRS(resume_scoped, (int scope), (scope), pause_here(0))

const pp_itt_function pp_itt_handlers[PP_ITT_CALLS] = {
#define PP_ITT(function) (pp_itt_function) on_##function,
#include "core/source/itt/itt_call.def"
};

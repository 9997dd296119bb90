/* ITT's counters, thread names, pause and resume; installed by itt_inject.c. A chained collector's function is called after ours,
 * its counters are given out. */
#include <sys/syscall.h>
#include <unistd.h>

#include "core/source/itt/itt_emit.h"

/* The counter behind a handle: ours, or one that stands for another's; NULL: it is not shown. */
static struct pp_itt_name *counter_of(void *handle)
{
	if (!handle)
		return NULL;
	return pp_itt_is_kept(handle) ? handle : pp_itt_map_get(handle);
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

/* What counting goes on from is kept while nothing is recorded, too. */
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

/* The program's own word: it finds out the rank, as a mark does. */
static void pause_here(int paused)
{
	if (pp_collector_claim(PP_EVIDENCE_MARK, -1, -1))
		pp_collector_pause(paused);
}

THEN_THEIRS(pause, (void), (), pause_here(1))
THEN_THEIRS(resume, (void), (), pause_here(0))
THEN_THEIRS(pause_scoped, (int scope), (scope), pause_here(1))
THEN_THEIRS(resume_scoped, (int scope), (scope), pause_here(0))

const pp_itt_function pp_itt_counter_handlers[PP_ITT_CALLS] = {
        HANDLER(counter_create),
        HANDLER(counter_create_typed),
        HANDLER(counter_create_v3),
        HANDLER(counter_destroy),
        HANDLER(counter_inc),
        HANDLER(counter_inc_delta),
        HANDLER(counter_dec),
        HANDLER(counter_dec_delta),
        HANDLER(counter_inc_v3),
        HANDLER(counter_inc_delta_v3),
        HANDLER(counter_dec_v3),
        HANDLER(counter_dec_delta_v3),
        HANDLER(counter_set_value),
        HANDLER(counter_set_value_ex),
        HANDLER(counter_set_value_v3),
        HANDLER(thread_set_name),
        HANDLER(pause),
        HANDLER(resume),
        HANDLER(pause_scoped),
        HANDLER(resume_scoped),
};

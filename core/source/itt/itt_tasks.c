/* ITT's tasks, regions, frames, markers, and the handles they name; installed by itt_inject.c. A chained collector's function is
 * called after ours, its handles are given out. */
#include "core/source/itt/itt_emit.h"

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

static uint64_t on_get_timestamp(void)
{
	return THEIRS(get_timestamp) ? THEIRS(get_timestamp)() : pp_tick_now();
}

static int is_tick(uint64_t timestamp, pp_tick now)
{
	return !THEIRS(get_timestamp) && timestamp >= pp_ring_pool.header->open_tick && timestamp <= now;
}

/* When a call of the _ex sort happened, which is recorded; 0: by a clock that we know nothing of. */
static pp_tick when(const void *clock_domain, uint64_t timestamp)
{
	pp_tick now = pp_tick_now();

	if (clock_domain)
		return 0;
	return is_tick(timestamp, now) ? timestamp : now;
}

/* Ids are the application's, one set a domain, and frames' apart from those of tasks; the top bit keeps off NVTX's. */
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

/* A task that is known by its function: "0x" and the address. */
static void push_function(const struct pp_itt_domain *domain, pp_tick tick, const void *fn)
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

/* A frame has no name but its domain's. */
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

WANTED_THEN_THEIRS(task_begin, (DOMAIN, IDS, NAME), (domain, id, parent, name), emit_named(PP_RECORD_PUSH, domain, name))
WANTED_THEN_THEIRS(task_begin_fn, (DOMAIN, IDS, void *fn), (domain, id, parent, fn), push_function(domain, pp_tick_now(), fn))
WANTED_THEN_THEIRS(task_end, (DOMAIN), (domain), emit(PP_RECORD_POP, pp_itt_domain_index(domain), 0, "", 0))
AT_THEN_THEIRS(task_begin_ex, (DOMAIN, TIME, IDS, NAME), (domain, clock_domain, timestamp, id, parent, name),
               emit_named_at(PP_RECORD_PUSH, domain, 0, tick, name))
AT_THEN_THEIRS(task_begin_fn_ex, (DOMAIN, TIME, IDS, void *fn), (domain, clock_domain, timestamp, id, parent, fn),
               push_function(domain, tick, fn))
AT_THEN_THEIRS(task_end_ex, (DOMAIN, TIME), (domain, clock_domain, timestamp),
               emit_at(PP_RECORD_POP, pp_itt_domain_index(domain), 0, tick, "", 0))
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

const pp_itt_function pp_itt_task_handlers[PP_ITT_CALLS] = {
        HANDLER(domain_create),
        HANDLER(string_handle_create),
        HANDLER(task_begin),
        HANDLER(task_begin_fn),
        HANDLER(task_end),
        HANDLER(task_begin_ex),
        HANDLER(task_begin_fn_ex),
        HANDLER(task_end_ex),
        HANDLER(task_begin_overlapped),
        HANDLER(task_begin_overlapped_ex),
        HANDLER(task_end_overlapped),
        HANDLER(task_end_overlapped_ex),
        HANDLER(region_begin),
        HANDLER(region_end),
        HANDLER(frame_begin_v3),
        HANDLER(frame_end_v3),
        HANDLER(frame_submit_v3),
        HANDLER(marker),
        HANDLER(marker_ex),
        HANDLER(get_timestamp),
};

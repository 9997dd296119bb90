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

static void on_task_begin(const struct pp_itt_domain *domain, struct pp_itt_id id, struct pp_itt_id parent,
                          struct pp_itt_string *name)
{
	if (pp_emit_wanted()) {
		size_t length;
		const char *text = pp_itt_text(name, &length);

		emit(PP_RECORD_PUSH, pp_itt_domain_index(domain), 0, text, length);
	}
	if (__builtin_expect(THEIRS(task_begin) != NULL, 0))
		THEIRS(task_begin)(domain, id, parent, name);
}

static void on_task_end(const struct pp_itt_domain *domain)
{
	if (pp_emit_wanted())
		emit(PP_RECORD_POP, pp_itt_domain_index(domain), 0, "", 0);
	if (__builtin_expect(THEIRS(task_end) != NULL, 0))
		THEIRS(task_end)(domain);
}

/* A task that is known by its function: "0x" and the address. */
static size_t address_text(const void *fn, char *text)
{
	size_t n = 0;

	text[n++] = '0';
	text[n++] = 'x';
	for (int shift = 60; shift >= 0; shift -= 4)
		if ((uintptr_t)fn >> shift || !shift)
			text[n++] = "0123456789abcdef"[(uintptr_t)fn >> shift & 15];
	return n;
}

static void on_task_begin_fn(const struct pp_itt_domain *domain, struct pp_itt_id id, struct pp_itt_id parent, void *fn)
{
	char text[PP_TEXT_INLINE];

	if (pp_emit_wanted())
		emit(PP_RECORD_PUSH, pp_itt_domain_index(domain), 0, text, address_text(fn, text));
	if (THEIRS(task_begin_fn))
		THEIRS(task_begin_fn)(domain, id, parent, fn);
}

static void on_task_begin_ex(const struct pp_itt_domain *domain, void *clock_domain, uint64_t timestamp, struct pp_itt_id id,
                             struct pp_itt_id parent, struct pp_itt_string *name)
{
	pp_tick tick;

	if (pp_emit_wanted() && (tick = when(clock_domain, timestamp))) {
		size_t length;
		const char *text = pp_itt_text(name, &length);

		emit_at(PP_RECORD_PUSH, pp_itt_domain_index(domain), 0, tick, text, length);
	}
	if (THEIRS(task_begin_ex))
		THEIRS(task_begin_ex)(domain, clock_domain, timestamp, id, parent, name);
}

static void on_task_begin_fn_ex(const struct pp_itt_domain *domain, void *clock_domain, uint64_t timestamp, struct pp_itt_id id,
                                struct pp_itt_id parent, void *fn)
{
	char text[PP_TEXT_INLINE];
	pp_tick tick;

	if (pp_emit_wanted() && (tick = when(clock_domain, timestamp)))
		emit_at(PP_RECORD_PUSH, pp_itt_domain_index(domain), 0, tick, text, address_text(fn, text));
	if (THEIRS(task_begin_fn_ex))
		THEIRS(task_begin_fn_ex)(domain, clock_domain, timestamp, id, parent, fn);
}

static void on_task_end_ex(const struct pp_itt_domain *domain, void *clock_domain, uint64_t timestamp)
{
	pp_tick tick;

	if (pp_emit_wanted() && (tick = when(clock_domain, timestamp)))
		emit_at(PP_RECORD_POP, pp_itt_domain_index(domain), 0, tick, "", 0);
	if (THEIRS(task_end_ex))
		THEIRS(task_end_ex)(domain, clock_domain, timestamp);
}

/* Tasks that overlap and regions: any thread may end them. */
static void start(const struct pp_itt_domain *domain, const struct pp_itt_id *id, pp_tick tick, const struct pp_itt_string *name)
{
	uint16_t index = pp_itt_domain_index(domain);
	size_t length;
	const char *text = pp_itt_text(name, &length);

	emit_at(PP_RECORD_START, index, range_id(index, id, 0), tick, text, length);
}

static void end(const struct pp_itt_domain *domain, const struct pp_itt_id *id, pp_tick tick)
{
	uint16_t index = pp_itt_domain_index(domain);

	emit_at(PP_RECORD_END, index, range_id(index, id, 0), tick, "", 0);
}

static void on_task_begin_overlapped(const struct pp_itt_domain *domain, struct pp_itt_id id, struct pp_itt_id parent,
                                     struct pp_itt_string *name)
{
	if (pp_emit_wanted())
		start(domain, &id, pp_tick_now(), name);
	if (THEIRS(task_begin_overlapped))
		THEIRS(task_begin_overlapped)(domain, id, parent, name);
}

static void on_task_begin_overlapped_ex(const struct pp_itt_domain *domain, void *clock_domain, uint64_t timestamp,
                                        struct pp_itt_id id, struct pp_itt_id parent, struct pp_itt_string *name)
{
	pp_tick tick;

	if (pp_emit_wanted() && (tick = when(clock_domain, timestamp)))
		start(domain, &id, tick, name);
	if (THEIRS(task_begin_overlapped_ex))
		THEIRS(task_begin_overlapped_ex)(domain, clock_domain, timestamp, id, parent, name);
}

static void on_task_end_overlapped(const struct pp_itt_domain *domain, struct pp_itt_id id)
{
	if (pp_emit_wanted())
		end(domain, &id, pp_tick_now());
	if (THEIRS(task_end_overlapped))
		THEIRS(task_end_overlapped)(domain, id);
}

static void on_task_end_overlapped_ex(const struct pp_itt_domain *domain, void *clock_domain, uint64_t timestamp,
                                      struct pp_itt_id id)
{
	pp_tick tick;

	if (pp_emit_wanted() && (tick = when(clock_domain, timestamp)))
		end(domain, &id, tick);
	if (THEIRS(task_end_overlapped_ex))
		THEIRS(task_end_overlapped_ex)(domain, clock_domain, timestamp, id);
}

static void on_region_begin(const struct pp_itt_domain *domain, struct pp_itt_id id, struct pp_itt_id parent,
                            struct pp_itt_string *name)
{
	if (pp_emit_wanted())
		start(domain, &id, pp_tick_now(), name);
	if (THEIRS(region_begin))
		THEIRS(region_begin)(domain, id, parent, name);
}

static void on_region_end(const struct pp_itt_domain *domain, struct pp_itt_id id)
{
	if (pp_emit_wanted())
		end(domain, &id, pp_tick_now());
	if (THEIRS(region_end))
		THEIRS(region_end)(domain, id);
}

/* A frame has no name but its domain's. */
static void frame(enum pp_record_kind kind, const struct pp_itt_domain *domain, const struct pp_itt_id *id, pp_tick tick)
{
	uint16_t index = pp_itt_domain_index(domain);
	const char *name = kind == PP_RECORD_START && domain && domain->name ? domain->name : "";

	emit_at(kind, index, range_id(index, id, 1), tick, name, strlen(name));
}

static void on_frame_begin_v3(const struct pp_itt_domain *domain, struct pp_itt_id *id)
{
	if (pp_emit_wanted())
		frame(PP_RECORD_START, domain, id, pp_tick_now());
	if (THEIRS(frame_begin_v3))
		THEIRS(frame_begin_v3)(domain, id);
}

static void on_frame_end_v3(const struct pp_itt_domain *domain, struct pp_itt_id *id)
{
	if (pp_emit_wanted())
		frame(PP_RECORD_END, domain, id, pp_tick_now());
	if (THEIRS(frame_end_v3))
		THEIRS(frame_end_v3)(domain, id);
}

static void on_frame_submit_v3(const struct pp_itt_domain *domain, struct pp_itt_id *id, uint64_t begin, uint64_t finish)
{
	if (pp_emit_wanted()) {
		pp_tick now = pp_tick_now(), last = finish == PP_ITT_TIMESTAMP_NONE ? now : finish;

		if (is_tick(begin, now) && is_tick(last, now) && begin <= last) {
			frame(PP_RECORD_START, domain, id, begin);
			frame(PP_RECORD_END, domain, id, last);
		}
	}
	if (THEIRS(frame_submit_v3))
		THEIRS(frame_submit_v3)(domain, id, begin, finish);
}

static void on_marker(const struct pp_itt_domain *domain, struct pp_itt_id id, struct pp_itt_string *name, int scope)
{
	if (pp_emit_wanted()) {
		size_t length;
		const char *text = pp_itt_text(name, &length);

		emit(PP_RECORD_MARK, pp_itt_domain_index(domain), 0, text, length);
	}
	if (THEIRS(marker))
		THEIRS(marker)(domain, id, name, scope);
}

static void on_marker_ex(const struct pp_itt_domain *domain, void *clock_domain, uint64_t timestamp, struct pp_itt_id id,
                         struct pp_itt_string *name, int scope)
{
	pp_tick tick;

	if (pp_emit_wanted() && (tick = when(clock_domain, timestamp))) {
		size_t length;
		const char *text = pp_itt_text(name, &length);

		emit_at(PP_RECORD_MARK, pp_itt_domain_index(domain), 0, tick, text, length);
	}
	if (THEIRS(marker_ex))
		THEIRS(marker_ex)(domain, clock_domain, timestamp, id, name, scope);
}

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

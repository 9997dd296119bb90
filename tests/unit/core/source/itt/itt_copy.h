/* A static copy of ittnotify as an application has one: the list of functions it shows, and calls through it.
 * For tests of core/source/itt/itt_*.c and the bench; the layout is core/source/itt/itt_abi.h's. */
#pragma once

#include <string.h>

#include "core/source/itt/itt_abi.h"

/* Functions of ittnotify 3 that this copy has; the last ones are of those that podprof does not answer. */
#define ITT_COPY_CALLS(CALL)                                                                                                       \
	CALL(domain_create, struct pp_itt_domain *, (const char *))                                                                \
	CALL(string_handle_create, struct pp_itt_string *, (const char *))                                                         \
	CALL(task_begin, void, (const struct pp_itt_domain *, struct pp_itt_id, struct pp_itt_id, struct pp_itt_string *))         \
	CALL(task_begin_fn, void, (const struct pp_itt_domain *, struct pp_itt_id, struct pp_itt_id, void *))                      \
	CALL(task_end, void, (const struct pp_itt_domain *))                                                                       \
	CALL(task_begin_ex, void,                                                                                                  \
	     (const struct pp_itt_domain *, void *, uint64_t, struct pp_itt_id, struct pp_itt_id, struct pp_itt_string *))         \
	CALL(task_end_ex, void, (const struct pp_itt_domain *, void *, uint64_t))                                                  \
	CALL(task_begin_overlapped, void,                                                                                          \
	     (const struct pp_itt_domain *, struct pp_itt_id, struct pp_itt_id, struct pp_itt_string *))                           \
	CALL(task_end_overlapped, void, (const struct pp_itt_domain *, struct pp_itt_id))                                          \
	CALL(frame_begin_v3, void, (const struct pp_itt_domain *, struct pp_itt_id *))                                             \
	CALL(frame_end_v3, void, (const struct pp_itt_domain *, struct pp_itt_id *))                                               \
	CALL(frame_submit_v3, void, (const struct pp_itt_domain *, struct pp_itt_id *, uint64_t, uint64_t))                        \
	CALL(marker, void, (const struct pp_itt_domain *, struct pp_itt_id, struct pp_itt_string *, int))                          \
	CALL(get_timestamp, uint64_t, (void))                                                                                      \
	CALL(counter_create, void *, (const char *, const char *))                                                                 \
	CALL(counter_create_typed, void *, (const char *, const char *, int))                                                      \
	CALL(counter_inc, void, (void *))                                                                                          \
	CALL(counter_dec_delta, void, (void *, uint64_t))                                                                          \
	CALL(counter_inc_delta_v3, void, (const struct pp_itt_domain *, struct pp_itt_string *, uint64_t))                         \
	CALL(counter_set_value, void, (void *, void *))                                                                            \
	CALL(thread_set_name, void, (const char *))                                                                                \
	CALL(pause, void, (void))                                                                                                  \
	CALL(resume, void, (void))                                                                                                 \
	CALL(sync_prepare, void, (void *))                                                                                         \
	CALL(id_create, void, (const struct pp_itt_domain *, struct pp_itt_id))

enum itt_copy_call {
#define CALL(name, type, parameters) ITT_COPY_##name,
	ITT_COPY_CALLS(CALL)
#undef CALL
	        ITT_COPY_COUNT
};

struct itt_copy {
	struct pp_itt_global global;
	struct pp_itt_api api[ITT_COPY_COUNT + 1];
#define CALL(name, type, parameters) type(*name) parameters;
	ITT_COPY_CALLS(CALL)
#undef CALL
};

static void itt_copy_init(void)
{
}

static void itt_copy_null(void)
{
}

static inline void itt_copy_make(struct itt_copy *c)
{
	memset(c, 0, sizeof(*c));
	memcpy(c->global.magic, PP_ITT_MAGIC, sizeof(c->global.magic));
	c->global.version_major = 3;
	c->global.version_build = 20250807;
	c->global.api = c->api;
#define CALL(symbol, type, parameters)                                                                                             \
	c->api[ITT_COPY_##symbol] = (struct pp_itt_api){"__itt_" #symbol, (pp_itt_function *)(void *)&c->symbol, itt_copy_init,    \
	                                                itt_copy_null, 1 << 14};                                                   \
	*c->api[ITT_COPY_##symbol].function = itt_copy_init;
	ITT_COPY_CALLS(CALL)
#undef CALL
}

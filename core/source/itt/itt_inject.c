/* Receives tasks, frames and counters of ITT (ittnotify 3). Each static copy of ittnotify in the process (torch, oneDNN, TBB ...)
 * loads the library in INTEL_LIBITTNOTIFY64 and calls __itt_api_init once. PODPROF_ITT_CHAIN names a collector that the user had
 * set: it is initialised first, and its functions are called after ours. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/libc.h"
#include "core/source/itt/itt_domains.h"
#include "core/source/itt/itt_emit.h"
#include "core/source/nvtx/nvtx_definitions.h"
#include "core/source/nvtx/nvtx_names.h"
#include "core/source/source.h"
#include "core/window/pattern.h"

enum { PREFIX = 6, API_MOST = 4096 };

static const char *const names[PP_ITT_CALLS] = {
#define PP_ITT(function) "__itt_" #function,
#include "core/source/itt/itt_call.def"
#undef PP_ITT
};

_Atomic pp_itt_function pp_itt_next[PP_ITT_CALLS];

/* PP_ITT_CALLS: not handled. */
static int call_of(const char *name)
{
	int i = 0;

	if (strncmp(name, names[0], PREFIX) != 0)
		return PP_ITT_CALLS;
	while (i < PP_ITT_CALLS && strcmp(name + PREFIX, names[i] + PREFIX) != 0)
		i++;
	return i;
}

/* A list without an end, or functions without a slot: not a list of ittnotify. */
static size_t count_api(const struct pp_itt_global *g)
{
	size_t n = 0;

	while (g->api && n < API_MOST && g->api[n].name && g->api[n].function)
		n++;
	return n;
}

/* Initialises the collector that INTEL_LIBITTNOTIFY64 named before podprof run; 1: it has seen this copy. */
static int chain(struct pp_itt_global *g, int groups)
{
	const char *path = pp_env("PODPROF_ITT_CHAIN");
	void (*initialize)(struct pp_itt_global *, int) = NULL;
	void *library;

	if (!path || !*path)
		return 0;
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library)
		*(void **)&initialize = dlsym(library, "__itt_api_init");
	if (initialize)
		initialize(g, groups);
	/* cppcheck-suppress resourceLeak ; the collector stays loaded: ittnotify calls it */
	return initialize != NULL;
}

/* Slots that a chained collector did not set hold ittnotify's function, which would load a collector again. */
static void install(const struct pp_itt_api *api, size_t count, int groups, const pp_itt_function *before, int ours)
{
	for (size_t i = 0; i < count; i++) {
		int call = ours && (!api[i].group || api[i].group & groups) ? call_of(api[i].name) : PP_ITT_CALLS;
		pp_itt_function now = *api[i].function, handler = call < PP_ITT_CALLS ? pp_itt_handlers[call] : NULL;
		int theirs = before && now && now != before[i] && now != api[i].null && now != handler;

		if (theirs && handler)
			atomic_store_explicit(&pp_itt_next[call], now, memory_order_relaxed);
		if (handler)
			*api[i].function = handler;
		else if (!theirs)
			*api[i].function = api[i].null;
	}
}

/* Adopts what the copy made before it looked for a collector: those handles are in use. Strings hold their text. */
static void adopt(const struct pp_itt_global *g)
{
	for (struct pp_itt_domain *d = g->domains; d; d = d->next)
		pp_itt_domain_index(d);
	if (g->version_build < PP_ITT_BUILD_COUNTER)
		return;
	for (const struct pp_itt_counter_info *c = g->counters; c; c = c->next) {
		struct pp_itt_name *ours = c->name ? pp_itt_counter_create(c->domain, c->name, c->type) : NULL;

		if (ours)
			pp_itt_map_put(c, ours);
	}
}

static void child(void)
{
	pp_nvtx_names_child();
	pp_nvtx_definitions_child();
	pp_itt_domains_child();
}

/* Saves ittnotify's functions, and those that the chained collector sets in their slots. 0: there is no collector. */
static int remember_and_chain(struct pp_itt_global *g, int groups, pp_itt_function *ret_before, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ret_before[i] = *g->api[i].function;
	return chain(g, groups);
}

static void start_once(void)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&once))
		return;
	pp_at_fork(child);
	pp_tick_init(); /* __itt_get_timestamp may come before the claim */
}

/* NOLINTNEXTLINE(bugprone-reserved-identifier): the name that ittnotify looks for */
__attribute__((visibility("default"))) void __itt_api_init(struct pp_itt_global *g, int groups);

void __itt_api_init(struct pp_itt_global *g, int groups)
{
	int saved = errno, ours = pp_env("PODPROF_SPOOL") != NULL, chained;
	pp_itt_function *before;
	size_t count;

	if (!g || memcmp(g->magic, PP_ITT_MAGIC, sizeof(g->magic)) != 0 || g->version_major != PP_ITT_MAJOR ||
	    g->version_build < PP_ITT_BUILD_FIRST)
		return;
	count = count_api(g);
	before = calloc(count + 1, sizeof(*before));
	chained = before && remember_and_chain(g, groups, before, count);
	if (ours) {
		pp_pattern_range();
		start_once();
	}
	install(g->api, count, groups, chained ? before : NULL, ours);
	if (ours)
		adopt(g);
	free(before);
	errno = saved;
}

extern const struct pp_source_ops pp_source_itt;

const struct pp_source_ops pp_source_itt = {.name = "itt"};

/* Receives NVTX 3's ranges, marks and names of the application and its libraries. NVTX's loader calls InitializeInjectionNvtx2
 * once per DSO. PODPROF_NVTX_CHAIN names a tool that the user had set: its handlers are called after ours; the application gets
 * its handles. */
#include "core/source/nvtx/nvtx_inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/env.h"
#include "core/base/libc.h"
#include "core/source/nvtx/nvtx_definitions.h"
#include "core/source/nvtx/nvtx_handler.h"
#include "core/source/source.h"
#include "core/window/pattern.h"

enum { MOST_IDS = 16 };

static const struct module {
	enum pp_nvtx_module id;
	unsigned ids;
	const pp_nvtx_function *handler;
	pp_nvtx_function *next; /* NULL: the slot stays a chained tool's */
} modules[] = {
        {PP_NVTX_CORE, PP_NVTX_CORE_IDS, pp_nvtx_core_handlers, pp_nvtx_next_core},
        {PP_NVTX_CORE2, PP_NVTX_CORE2_IDS, pp_nvtx_core2_handlers, pp_nvtx_next_core2},
        {PP_NVTX_CUDA, PP_NVTX_CUDA_IDS, pp_nvtx_cuda_handlers, NULL},
        {PP_NVTX_CUDART, PP_NVTX_CUDART_IDS, pp_nvtx_cudart_handlers, NULL},
        {PP_NVTX_OPENCL, PP_NVTX_OPENCL_IDS, pp_nvtx_opencl_handlers, NULL},
        {PP_NVTX_SYNC, PP_NVTX_SYNC_IDS, pp_nvtx_sync_handlers, NULL},
};

enum { MODULES = sizeof(modules) / sizeof(modules[0]) };

static pp_nvtx_function **table_of(const struct pp_nvtx_callbacks *c, const struct module *m, unsigned *ret_count)
{
	pp_nvtx_function **table = NULL;

	*ret_count = 0;
	if (!c->module_table((uint32_t)m->id, &table, ret_count) || !table)
		*ret_count = 0;
	if (*ret_count > m->ids)
		*ret_count = m->ids;
	return table;
}

/* Before a chained tool: a slot that it does not set holds NVTX's function, which would call us again. */
static void remember(const struct pp_nvtx_callbacks *c, pp_nvtx_function (*before)[MOST_IDS])
{
	for (int i = 0; i < MODULES; i++) {
		unsigned count;
		pp_nvtx_function **table = table_of(c, &modules[i], &count);

		for (unsigned id = 1; id < count; id++)
			before[i][id] = table[id] ? *table[id] : NULL;
	}
}

/* The chained tool's handlers in the table become `next`, then ours go in. Unknown ids and modules stay. */
static void install(const struct pp_nvtx_callbacks *c, int chained, pp_nvtx_function (*before)[MOST_IDS])
{
	for (int i = 0; i < MODULES; i++) {
		const struct module *m = &modules[i];
		unsigned count;
		pp_nvtx_function **table = table_of(c, m, &count);

		for (unsigned id = 1; id < count; id++) {
			int theirs = chained && table[id] && *table[id] != before[i][id] && *table[id] != m->handler[id];

			if (!table[id] || (theirs && !m->next))
				continue;
			if (theirs)
				m->next[id] = *table[id];
			*table[id] = m->handler[id];
		}
	}
}

/* Loads the tool that NVTX_INJECTION64_PATH named before podprof run. */
int pp_nvtx_chain(const char *function, void *argument)
{
	const char *path = pp_env("PODPROF_NVTX_CHAIN");
	int (*initialize)(void *) = NULL;
	void *library;

	if (!path || !*path)
		return 0;
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library)
		*(void **)&initialize = dlsym(library, function);
	/* cppcheck-suppress resourceLeak ; the tool stays loaded: NVTX calls it */
	return initialize && initialize(argument);
}

static void child(void)
{
	pp_nvtx_names_child();
	pp_nvtx_definitions_child();
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(pp_nvtx_get_export get);

int InitializeInjectionNvtx2(pp_nvtx_get_export get)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;
	pp_nvtx_function before[MODULES][MOST_IDS] = {{NULL}};
	const struct pp_nvtx_callbacks *c;
	const struct pp_nvtx_version *v;
	int saved = errno, chained;

	if (!get || !pp_env("PODPROF_SPOOL"))
		return 0;
	if (!atomic_flag_test_and_set(&once))
		pp_at_fork(child);
	pp_pattern_range();
	c = get(PP_NVTX_EXPORT_CALLBACKS);
	if (c && c->size >= sizeof(*c))
		remember(c, before);
	chained = pp_nvtx_chain("InitializeInjectionNvtx2", *(void **)&get);
	if (!c || c->size < sizeof(*c))
		return chained;
	v = get(PP_NVTX_EXPORT_VERSION);
	if (!chained && v && v->size >= sizeof(*v) && v->set_version)
		v->set_version(3);
	install(c, chained, before);
	errno = saved;
	return 1;
}

static void start(void)
{
	pp_nvtx_names_publish();
	pp_nvtx_definitions_publish();
}

extern const struct pp_source_ops pp_source_nvtx;

const struct pp_source_ops pp_source_nvtx = {.name = "nvtx", .start = start};

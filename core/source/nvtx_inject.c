/* NVTX 3: where ranges, marks and names of the application and its libraries enter. NVTX's loader calls InitializeInjectionNvtx2
 * once per DSO. A tool that the user had set before stands in PODPROF_NVTX_CHAIN: its handlers are called after ours, its handles
 * given out. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "core/source/nvtx_emit.h"
#include "core/source/source.h"

/* What the chained tool put into the table becomes `next`; then our handlers go in. Ids above the DSO's count stay its own. */
static void install(const struct pp_nvtx_callbacks *c, enum pp_nvtx_module module, const pp_nvtx_function *handlers, unsigned ids,
                    pp_nvtx_function *next, int chained)
{
	pp_nvtx_function **table = NULL;
	unsigned count = 0;

	if (!c->module_table((uint32_t)module, &table, &count) || !table)
		return;
	for (unsigned id = 1; id < ids && id < count; id++) {
		if (!table[id])
			continue;
		if (chained && *table[id] != handlers[id])
			next[id] = *table[id];
		*table[id] = handlers[id];
	}
}

/* The tool that stood in NVTX_INJECTION64_PATH before podprof run: 1 if it took this DSO. */
static int chain(pp_nvtx_get_export get)
{
	const char *path = getenv("PODPROF_NVTX_CHAIN");
	int (*initialize)(pp_nvtx_get_export) = NULL;
	void *library;

	if (!path || !*path)
		return 0;
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library)
		*(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
	return initialize && initialize(get);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(pp_nvtx_get_export get);

int InitializeInjectionNvtx2(pp_nvtx_get_export get)
{
	const struct pp_nvtx_callbacks *c;
	const struct pp_nvtx_version *v;
	int saved = errno, chained;

	if (!get || !getenv("PODPROF_SPOOL"))
		return 0;
	chained = chain(get);
	c = get(PP_NVTX_EXPORT_CALLBACKS);
	if (!c || c->size < sizeof(*c))
		return chained;
	v = get(PP_NVTX_EXPORT_VERSION);
	if (!chained && v && v->size >= sizeof(*v) && v->set_version)
		v->set_version(3);
	install(c, PP_NVTX_CORE, pp_nvtx_core_handlers, PP_NVTX_CORE_IDS, pp_nvtx_next_core, chained);
	install(c, PP_NVTX_CORE2, pp_nvtx_core2_handlers, PP_NVTX_CORE2_IDS, pp_nvtx_next_core2, chained);
	errno = saved;
	return 1;
}

extern const struct pp_source_ops pp_source_nvtx;

const struct pp_source_ops pp_source_nvtx = {.name = "nvtx", .start = pp_nvtx_names_publish};

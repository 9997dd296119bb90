/* Loads the chained profiler plug-in; see nccl_chain.h. Called by nccl_plugin.c. */
#include "core/source/nccl/nccl_chain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/env.h"
#include "core/coord/self.h"

enum { FIRST = 3, LAST = 7 };

static struct pp_nccl_next next[LAST + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* As NCCL looks for it: a path, a name in the search path, or a part of a name. */
static void *open_library(const char *name)
{
	char longer[256];
	void *library;

	if (!name || !*name)
		return dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
	if (!strncasecmp(name, "STATIC_PLUGIN", 13))
		return dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (library || strchr(name, '/'))
		return library;
	snprintf(longer, sizeof(longer), "libnccl-profiler-%s.so", name);
	return dlopen(longer, RTLD_NOW | RTLD_LOCAL);
}

/* Our own object is not the user's: with STATIC_PLUGIN it may come first. */
static const struct pp_nccl_plugin *object_of(void *library, uint32_t version)
{
	char symbol[32];
	Dl_info ours, its;
	const struct pp_nccl_plugin *plugin;

	snprintf(symbol, sizeof(symbol), "ncclProfiler_v%u", (unsigned)version);
	plugin = dlsym(library, symbol);
	if (!plugin || !dladdr((void *)plugin, &its) || !dladdr(&once, &ours) || its.dli_fbase == ours.dli_fbase)
		return NULL;
	return plugin;
}

static void load(void)
{
	const char *name = pp_env("PODPROF_NCCL_CHAIN");
	const struct pp_nccl_plugin *plugin;
	void *library;
	char text[400];
	int any = 0;

	if (name && !strcasecmp(name, "none"))
		return;
	library = open_library(name);
	for (uint32_t v = FIRST; library && v <= LAST; v++) {
		plugin = object_of(library, v);
		any |= plugin != NULL;
		/* Versions from 5 on have the same calls, and events that begin alike. */
		for (uint32_t to = v; plugin && to <= (v < 5 ? v : (uint32_t)LAST); to++)
			next[to] = (struct pp_nccl_next){plugin, v};
	}
	if (name && *name && !any) {
		snprintf(text, sizeof(text),
		         "cannot load the NCCL profiler plug-in '%.200s': %s. NCCL is profiled by podprof alone", name,
		         library ? "it has none of the versions 3 to 7" : "it is not found");
		pp_self_print(text);
	}
	/* cppcheck-suppress resourceLeak ; it stays loaded: NCCL calls it through us */
}

const struct pp_nccl_next *pp_nccl_chain(uint32_t version)
{
	pthread_once(&once, load);
	return &next[version <= LAST ? version : LAST];
}

/* NVTX programs: nvtx_marks steps | library DOMAIN | plugin PATH | odd. Run by guest_more.py and tests/session/e2e_rules.py. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <string.h>

#include "tests/guest/marks.h"

static void push_in(nvtxDomainHandle_t domain, nvtxStringHandle_t name)
{
	nvtxEventAttributes_t a = {0};
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = name;
	a.category = 7;
	nvtxDomainRangePushEx(domain, &a);
}

/* A loop that says `step N` and nothing else of podprof. */
static int steps(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
	nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "read shard");
	nvtxDomainNameCategoryA(domain, 7, "storage");
	for (int i = 0; i < 30; i++) {
		char text[32];
		snprintf(text, sizeof text, "step %d", i);
		nvtxRangePushA(text);
		push_in(domain, name);
		sleep_ms(1);
		nvtxDomainRangePop(domain);
		nvtxRangePushA("forward");
		sleep_ms(2);
		nvtxRangePop();
		nvtxRangeId_t id = nvtxRangeStartA("prefetch");
		nvtxRangePushW(L"backward \x00fc");
		sleep_ms(2);
		nvtxRangePop();
		nvtxRangeEnd(id);
		nvtxRangePop();
	}
	say("did nvtx steps");
	return 0;
}

/* A loop that marks nothing, of a library that does. */
static int library(const char *name)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA(name);
	nvtxStringHandle_t call = nvtxDomainRegisterStringA(domain, "inner_product");
	for (int i = 0; i < 40; i++) {
		push_in(domain, call);
		sleep_ms(3);
		nvtxDomainRangePop(domain);
	}
	return 0;
}

static int plugin(const char *path)
{
	for (int i = 0; i < 5; i++) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			return 2;
		void (*work)(void) = (void (*)(void))dlsym(library, "plugin_work");
		if (!work)
			return 2;
		work();
		if (dlclose(library))
			return 2;
	}
	podprof_step_begin(0);
	podprof_range_push("after the plugin");
	podprof_range_pop();
	podprof_step_end();
	say("unloaded five times");
	return 0;
}

/* Calls that a careful program would not make. */
static int odd(void)
{
	nvtxRangePushA(NULL);
	nvtxRangePushA("");
	nvtxMarkA(NULL);
	nvtxRangePushEx(NULL);
	nvtxRangeEnd(0);
	nvtxRangeEnd(UINT64_MAX);
	for (int i = 0; i < 10; i++)
		nvtxRangePop();
	nvtxDomainRangePop(NULL);
	nvtxDomainDestroy(NULL);
	say("made odd calls");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "steps"))
		return steps();
	if (argc == 3 && !strcmp(argv[1], "library"))
		return library(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "plugin"))
		return plugin(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "odd"))
		return odd();
	fprintf(stderr, "usage: nvtx_marks steps | library DOMAIN | plugin PATH | odd\n");
	return 2;
}

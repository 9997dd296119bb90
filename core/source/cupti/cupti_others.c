/* Interposed functions of libcupti. Called by profilers that are linked with it; cupti_session.c reads what they did. */
#include "core/source/cupti/cupti_others.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "core/source/cupti/cupti_abi.h"

static pthread_t own_thread;
static _Atomic int has_own;
static _Atomic uint64_t kinds;
static _Atomic uint32_t registered;
static int (*_Atomic ours)(uint32_t flag);

void pp_cupti_others_not(pthread_t own)
{
	own_thread = own;
	atomic_store(&has_own, 1);
}

void pp_cupti_others_flush(int (*flush_all)(uint32_t flag))
{
	atomic_store(&ours, flush_all);
}

uint64_t pp_cupti_others_kinds(void)
{
	return atomic_load(&kinds);
}

uint32_t pp_cupti_others_registered(void)
{
	return atomic_load(&registered);
}

static int is_ours(const void *at)
{
	static const char here;
	Dl_info a, b;

	return dladdr(at, &a) && dladdr(&here, &b) && a.dli_fbase == b.dli_fbase;
}

/* The function that the caller would have called without podprof: of the libraries that it was linked with, since the process may
 * have several libcupti; else the next one in the program's order. A program's own handle finds ours first. */
static void *real_of(const char *symbol, const void *caller)
{
	Dl_info info;
	void *library = NULL, *at = NULL;
	int saved = errno;

	if (dladdr(caller, &info) && info.dli_fname)
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		at = dlsym(library, symbol);
		dlclose(library);
	}
	if (!at || is_ours(at))
		at = dlsym(RTLD_NEXT, symbol);
	errno = saved;
	return at;
}

/* libcupti itself may call them, within a call of ours. */
static int is_other(void)
{
	return !atomic_load(&has_own) || !pthread_equal(pthread_self(), own_thread);
}

#define PP_EXPORTED __attribute__((visibility("default")))

PP_EXPORTED int cuptiActivityRegisterCallbacks(pp_cupti_request request, pp_cupti_complete complete);
PP_EXPORTED int cuptiActivityEnable(int kind);
PP_EXPORTED int cuptiActivityDisable(int kind);

int cuptiActivityRegisterCallbacks(pp_cupti_request request, pp_cupti_complete complete)
{
	int (*real)(pp_cupti_request, pp_cupti_complete);

	*(void **)&real = real_of("cuptiActivityRegisterCallbacks", __builtin_return_address(0));
	if (is_other()) {
		int (*flush_all)(uint32_t flag) = atomic_exchange(&ours, NULL);

		if (flush_all)
			flush_all(PP_CUPTI_FORCED);
		atomic_fetch_add(&registered, 1);
	}
	return real ? real(request, complete) : PP_CUPTI_NOT_INITIALIZED;
}

int cuptiActivityEnable(int kind)
{
	int (*real)(int);

	*(void **)&real = real_of("cuptiActivityEnable", __builtin_return_address(0));
	if (is_other() && kind >= 0 && kind < PP_CUPTI_KINDS)
		atomic_fetch_or(&kinds, UINT64_C(1) << kind);
	return real ? real(kind) : PP_CUPTI_NOT_INITIALIZED;
}

int cuptiActivityDisable(int kind)
{
	int (*real)(int);

	*(void **)&real = real_of("cuptiActivityDisable", __builtin_return_address(0));
	if (is_other() && kind >= 0 && kind < PP_CUPTI_KINDS)
		atomic_fetch_and(&kinds, ~(UINT64_C(1) << kind));
	return real ? real(kind) : PP_CUPTI_NOT_INITIALIZED;
}

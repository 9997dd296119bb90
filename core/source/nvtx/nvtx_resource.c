/* NVTX names of threads, devices, streams and other handles, and its user-defined locks. Names are remembered as notes of the ring;
* locks are handled and not recorded. Installed by nvtx_inject.c. */
#include "core/source/nvtx/nvtx_resource.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/source/nvtx/nvtx_definitions.h"
#include "core/source/nvtx/nvtx_handler.h"

static void name_a(uint32_t what, uint64_t handle, const char *name)
{
	int saved = errno;

	pp_nvtx_handle_name(0, what, handle, name);
	errno = saved;
}

static void name_w(uint32_t what, uint64_t handle, const wchar_t *name)
{
	int saved = errno;
	char small[SMALL], *text;

	pp_nvtx_narrow(name, small, sizeof(small), &text);
	pp_nvtx_handle_name(0, what, handle, text);
	if (text != small)
		free(text);
	errno = saved;
}

/* Both forms of a naming function; the first of the two ids is the handle's kind. */
#define NAMING(module, id, type)                                                                                                   \
	static void name_##module##_##id##_a(type handle, const char *name)                                                        \
	{                                                                                                                          \
		name_a((uint32_t)PP_NVTX_##module << 16 | (id), (uint64_t)(uintptr_t)handle, name);                                \
	}                                                                                                                          \
	static void name_##module##_##id##_w(type handle, const wchar_t *name)                                                     \
	{                                                                                                                          \
		name_w((uint32_t)PP_NVTX_##module << 16 | (id), (uint64_t)(uintptr_t)handle, name);                                \
	}
#define NAMED(module, id) HANDLER(name_##module##_##id##_a), HANDLER(name_##module##_##id##_w)

NAMING(CUDA, 1, int)
NAMING(CUDA, 3, void *)
NAMING(CUDA, 5, void *)
NAMING(CUDA, 7, void *)
NAMING(CUDART, 1, int)
NAMING(CUDART, 3, void *)
NAMING(CUDART, 5, void *)
NAMING(OPENCL, 1, void *)
NAMING(OPENCL, 3, void *)
NAMING(OPENCL, 5, void *)
NAMING(OPENCL, 7, void *)
NAMING(OPENCL, 9, void *)
NAMING(OPENCL, 11, void *)
NAMING(OPENCL, 13, void *)

const pp_nvtx_function pp_nvtx_cuda_handlers[PP_NVTX_CUDA_IDS] = {NULL, NAMED(CUDA, 1), NAMED(CUDA, 3), NAMED(CUDA, 5),
                                                                  NAMED(CUDA, 7)};
const pp_nvtx_function pp_nvtx_cudart_handlers[PP_NVTX_CUDART_IDS] = {NULL, NAMED(CUDART, 1), NAMED(CUDART, 3), NAMED(CUDART, 5)};
const pp_nvtx_function pp_nvtx_opencl_handlers[PP_NVTX_OPENCL_IDS] = {
        NULL,
        NAMED(OPENCL, 1),
        NAMED(OPENCL, 3),
        NAMED(OPENCL, 5),
        NAMED(OPENCL, 7),
        NAMED(OPENCL, 9),
        NAMED(OPENCL, 11),
        NAMED(OPENCL, 13),
};

/* A thread's name becomes its track's; only the caller's own pthread_t can be resolved. */
static void name_resource(uint16_t domain, const struct pp_nvtx_resource_attributes *a, const char *name)
{
	if (a->identifier_type == PP_NVTX_THREAD_NATIVE)
		pp_ring_name_thread((uint32_t)a->identifier, name);
	else if (a->identifier_type == PP_NVTX_THREAD_POSIX && pthread_equal((pthread_t)a->identifier, pthread_self()))
		pp_ring_name_thread((uint32_t)syscall(SYS_gettid), name);
	else
		pp_nvtx_handle_name(domain, (uint32_t)a->identifier_type, a->identifier, name);
}

void pp_nvtx_resource_name(void *domain, const struct pp_nvtx_resource_attributes *a)
{
	char small[SMALL], *text = small;
	int saved = errno;
	size_t length = 0;

	if (!a || a->size < sizeof(*a) || !a->message)
		return;
	if (a->message_type == PP_NVTX_MESSAGE_WIDE) {
		pp_nvtx_narrow(a->message, small, sizeof(small), &text);
		name_resource(pp_nvtx_domain_index(domain), a, text);
		if (text != small)
			free(text);
	} else if (a->message_type == PP_NVTX_MESSAGE_ASCII) {
		name_resource(pp_nvtx_domain_index(domain), a, a->message);
	} else if (a->message_type == PP_NVTX_MESSAGE_REGISTERED) {
		name_resource(pp_nvtx_domain_index(domain), a, pp_nvtx_string_text(a->message, &length));
	}
	errno = saved;
}

static void *sync_create(void *domain, const void *attributes)
{
	static char lock; /* any address that is not NULL */

	(void)domain;
	(void)attributes;
	return &lock;
}

static void sync_ignore(void *lock)
{
	(void)lock;
}

const pp_nvtx_function pp_nvtx_sync_handlers[PP_NVTX_SYNC_IDS] = {
        NULL,
        HANDLER(sync_create),
        HANDLER(sync_ignore),
        HANDLER(sync_ignore),
        HANDLER(sync_ignore),
        HANDLER(sync_ignore),
        HANDLER(sync_ignore),
};

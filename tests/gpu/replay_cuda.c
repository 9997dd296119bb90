/* A stand-in of libcuda.so.1: cuInit() loads CUDA_INJECTION64_PATH as NVIDIA's driver does, and replay_row_run() "runs" a row of
 * the fixture: it takes the time of the call, and tells the stand-in of CUPTI. No device runs. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/gpu/replay.h"

enum { NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101 };

static struct replay_fixture fixture;
static _Atomic int is_up;
_Atomic(replay_hook) replay_hook_of_cupti;
_Atomic int replay_cupti_is_on; /* records all kinds that rows make */
_Atomic int replay_has_graph;   /* the program has made a CUDA graph */

static int from_environment(const char *name, int fallback)
{
	const char *value = getenv(name);

	return value ? (int)strtol(value, NULL, 10) : fallback;
}

int cuInit(unsigned flags);
int cuDeviceGetCount(int *ret_count);
int cuDriverGetVersion(int *ret_version);
int cuDeviceGetName(char *ret_name, int size, int device);
int cuDeviceGetUuid_v2(void *ret_uuid, int device);
int cuDeviceGetPCIBusId(char *ret_text, int size, int device);
void replay_row_run(int row);
const struct replay_fixture *replay_rows(void);

int cuInit(unsigned flags)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*inject)(void) = NULL;
	void *library;
	int rc;

	if (flags)
		return 1;
	rc = replay_enters("cuInit");
	if (rc)
		return rc;
	if (from_environment("REPLAY_DEVICES", 1) == 0)
		return NO_DEVICE;
	if (atomic_load(&is_up))
		return 0;
	if (replay_read(getenv("REPLAY_FIXTURE"), &fixture))
		return NO_DEVICE;
	library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	if (library)
		*(void **)&inject = dlsym(library, "InitializeInjection");
	if (inject)
		inject();
	atomic_store(&is_up, 1);
	return 0;
}

int cuDeviceGetCount(int *ret_count)
{
	int count = 0;

	if (!atomic_load(&is_up))
		return NOT_INITIALIZED;
	for (int i = 0; i < fixture.rows; i++)
		count += fixture.row[i].kind == REPLAY_DEVICE;
	*ret_count = count;
	return 0;
}

int cuDriverGetVersion(int *ret_version)
{
	*ret_version = from_environment("REPLAY_DRIVER", 13000);
	return 0;
}

int cuDeviceGetName(char *ret_name, int size, int device)
{
	for (int i = 0; i < fixture.rows; i++)
		if (fixture.row[i].kind == REPLAY_DEVICE && fixture.row[i].device == (unsigned)device) {
			snprintf(ret_name, (size_t)size, "%s", fixture.row[i].name);
			return 0;
		}
	return INVALID_DEVICE;
}

int cuDeviceGetUuid_v2(void *ret_uuid, int device)
{
	if (!atomic_load(&is_up))
		return NOT_INITIALIZED;
	replay_uuid((unsigned)device, from_environment("REPLAY_MIG", 0), ret_uuid);
	return 0;
}

int cuDeviceGetPCIBusId(char *ret_text, int size, int device)
{
	if (!atomic_load(&is_up))
		return NOT_INITIALIZED;
	snprintf(ret_text, (size_t)size, "0000:%02X:00.0", 0x1b + 0x10 * (device + from_environment("REPLAY_FIRST_GPU", 0)));
	return 0;
}

const struct replay_fixture *replay_rows(void)
{
	return &fixture;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void replay_row_run(int row)
{
	const struct replay_row *r = &fixture.row[row];
	uint64_t start = now_ns();
	replay_hook hook = atomic_load(&replay_hook_of_cupti);
	struct timespec wait = {.tv_nsec = (long)r->ns};

	if (r->kind == REPLAY_SYNC)
		nanosleep(&wait, NULL);
	if (hook)
		hook(r, start, now_ns());
}

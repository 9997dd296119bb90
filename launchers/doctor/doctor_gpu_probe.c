/* Calls libcuda, libcupti and libnccl in children of podprof doctor; see doctor_gpu_probe.h. Called by doctor_gpu.c. */
#include "launchers/doctor/doctor_gpu_probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/source/cupti/cupti_library.h"

enum { PAUSE_MS = 10, KILLED_MS = 2000 };

struct pp_gpu_seen *pp_gpu_seen_new(void)
{
	void *at = mmap(NULL, sizeof(struct pp_gpu_seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	/* cppcheck-suppress memleak ; pp_gpu_seen_free() unmaps it */
	return at == MAP_FAILED ? NULL : at;
}

void pp_gpu_seen_free(struct pp_gpu_seen *seen)
{
	if (seen)
		munmap(seen, sizeof(*seen));
}

static void does(struct pp_gpu_seen *seen, const char *call)
{
	snprintf(seen->doing, sizeof(seen->doing), "%s", call);
}

/* ---- in the child ---- */

static void no_callback(void *data, int domain, uint32_t number, const void *info)
{
	(void)data;
	(void)domain;
	(void)number;
	(void)info;
}

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
	static uint64_t room[1 << 16];

	*buffer = (uint8_t *)room;
	*size = sizeof(room);
	*most = 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): CUPTI's type */
static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)buffer;
	(void)size;
	(void)valid;
}

/* What the collector does at the begin of a window, as far as it can be refused. */
static int try_cupti(struct pp_gpu_seen *seen, const struct pp_cupti_api *api)
{
	struct pp_cupti_subscriber params = {sizeof(params), "podprof doctor", seen->owner, sizeof(seen->owner)};
	void *subscriber = NULL;
	int rc;

	does(seen, "cuptiGetVersion");
	rc = api->get_version(&seen->cupti_version);
	if (rc || seen->cupti_version < PP_CUPTI_API_FIRST)
		return rc;
	does(seen, "cuptiSubscribe");
	rc = api->subscribe_v2 ? api->subscribe_v2(&subscriber, no_callback, NULL, &params)
	                       : api->subscribe(&subscriber, no_callback, NULL);
	if (rc)
		return rc;
	does(seen, "cuptiActivityRegisterCallbacks");
	rc = api->register_callbacks(request, complete);
	if (rc)
		return rc;
	does(seen, "cuptiActivityEnable");
	rc = api->enable(PP_CUPTI_KERNEL);
	if (rc)
		return rc;
	does(seen, "cuptiActivityDisable");
	api->disable(PP_CUPTI_KERNEL);
	does(seen, "cuptiUnsubscribe");
	api->unsubscribe(subscriber);
	return 0;
}

/* As a job finds it: by the program's search path, or beside the libraries of a Python package. */
static int find_cupti(const char *asked, struct pp_gpu_seen *seen, struct pp_cupti_api *ret_api)
{
	static const char *const below[] = {"cu13/lib/libcupti.so.13", "cuda_cupti/lib/libcupti.so.12"};
	int cuda = seen->devices ? seen->driver : INT_MAX;
	struct pp_err err = {""}, other = {""};
	char path[PATH_MAX];

	if (!pp_cupti_find(asked, cuda, ret_api, &err))
		return 1;
	for (size_t i = cuda < 13000; !*asked && *seen->packages && i < 2; i++)
		if (snprintf(path, sizeof(path), "%s/%s", seen->packages, below[i]) < (int)sizeof(path) &&
		    !pp_cupti_find(path, cuda, ret_api, &other))
			return 1;
	snprintf(seen->cupti_missing, sizeof(seen->cupti_missing), "%.*s", (int)sizeof(seen->cupti_missing) - 1, err.text);
	return 0;
}

static void see_cuda(const char *asked, struct pp_gpu_seen *seen)
{
	struct pp_cuda_driver cuda;
	struct pp_cupti_api api;
	int (*name_of)(char *, int, int);
	int count = 0;

	does(seen, "dlopen of libcuda.so.1");
	seen->has_driver = !pp_cuda_find(1, &cuda);
	if (seen->has_driver) {
		does(seen, "cuDriverGetVersion");
		cuda.version(&seen->driver);
		does(seen, "cuInit");
		seen->init = cuda.init(0);
		does(seen, "cuDeviceGetCount");
		if (!seen->init && !cuda.device_count(&count))
			seen->devices = count;
		*(void **)&name_of = dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), "cuDeviceGetName");
		does(seen, "cuDeviceGetName");
		if (seen->devices && name_of && name_of(seen->device, sizeof(seen->device) - 1, 0))
			*seen->device = '\0';
	}
	does(seen, "dlopen of libcupti.so");
	seen->has_cupti = find_cupti(asked, seen, &api);
	if (!seen->has_cupti)
		return;
	snprintf(seen->cupti_path, sizeof(seen->cupti_path), "%s", api.path);
	seen->is_replay = api.is_replay;
	if (seen->devices) /* some releases crash where there is none */
		seen->cupti = try_cupti(seen, &api);
}

static void see_nccl(const char *asked, struct pp_gpu_seen *seen)
{
	void *library;
	int (*version_of)(int *);
	char path[PATH_MAX];
	Dl_info info;

	(void)asked;
	does(seen, "dlopen of libnccl.so.2");
	library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
	if (!library && *seen->packages &&
	    snprintf(path, sizeof(path), "%s/nccl/lib/libnccl.so.2", seen->packages) < (int)sizeof(path))
		library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return;
	*(void **)&version_of = dlsym(library, "ncclGetVersion");
	if (!version_of)
		/* cppcheck-suppress resourceLeak ; this process ends now */
		return;
	if (dladdr(*(void **)&version_of, &info) && info.dli_fname)
		snprintf(seen->nccl_path, sizeof(seen->nccl_path), "%s", info.dli_fname);
	does(seen, "ncclGetVersion");
	seen->has_nccl = !version_of(&seen->nccl_version);
	/* cppcheck-suppress resourceLeak ; this process ends now */
}

/* ---- in doctor ---- */

/* What the libraries print is not doctor's. */
static void child(void (*see)(const char *, struct pp_gpu_seen *), const char *asked, struct pp_gpu_seen *seen)
{
	static const struct rlimit no_core;
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
		_exit(1);
	see(asked, seen);
	_exit(0);
}

/* 0: it has not ended until then. */
static int has_ended(pid_t pid, int64_t until, int *ret_status)
{
	while (waitpid(pid, ret_status, WNOHANG) != pid) {
		if (pp_now_ms() >= until)
			return 0;
		pp_nap_ms(PAUSE_MS);
	}
	return 1;
}

/* A child that hangs in the kernel cannot be killed: it is left there. */
static enum pp_gpu_end probe(void (*see)(const char *, struct pp_gpu_seen *), const char *asked, struct pp_gpu_seen *seen)
{
	int64_t until = pp_now_ms() + PP_GPU_SECONDS * 1000;
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		child(see, asked, seen);
	if (pid < 0)
		return PP_GPU_NOT_TRIED;
	if (has_ended(pid, until, &status)) {
		seen->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		return seen->signal ? PP_GPU_CRASHED : WEXITSTATUS(status) ? PP_GPU_NOT_TRIED : PP_GPU_ENDED;
	}
	if (kill(-pid, SIGKILL))
		kill(pid, SIGKILL);
	has_ended(pid, pp_now_ms() + KILLED_MS, &status);
	return PP_GPU_HUNG;
}

enum pp_gpu_end pp_gpu_probe_cuda(const char *asked, struct pp_gpu_seen *seen)
{
	return probe(see_cuda, asked, seen);
}

enum pp_gpu_end pp_gpu_probe_nccl(struct pp_gpu_seen *seen)
{
	return probe(see_nccl, "", seen);
}

/* Finds libcupti, and names its functions. Called by cupti.c and cupti_session.c. */
#include "core/source/cupti/cupti_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_name.h"
#include "core/ring/record.h"

enum { PATH_BYTES = 512, DEVICES_MOST = 1024 };

static const struct {
	const char *symbol;
	size_t at;
	int is_needed;
} functions[] = {
        {"cuptiGetVersion", offsetof(struct pp_cupti_api, get_version), 1},
        {"cuptiGetTimestamp", offsetof(struct pp_cupti_api, get_timestamp), 1},
        {"cuptiSubscribe", offsetof(struct pp_cupti_api, subscribe), 1},
        {"cuptiSubscribe_v2", offsetof(struct pp_cupti_api, subscribe_v2), 0},
        {"cuptiUnsubscribe", offsetof(struct pp_cupti_api, unsubscribe), 1},
        {"cuptiSetThreadIdType", offsetof(struct pp_cupti_api, thread_id_type), 1},
        {"cuptiActivityRegisterCallbacks", offsetof(struct pp_cupti_api, register_callbacks), 1},
        {"cuptiActivityEnable", offsetof(struct pp_cupti_api, enable), 1},
        {"cuptiActivityDisable", offsetof(struct pp_cupti_api, disable), 1},
        {"cuptiActivityEnableAndDump", offsetof(struct pp_cupti_api, enable_and_dump), 0},
        {"cuptiActivityEnableDriverApi", offsetof(struct pp_cupti_api, enable_driver), 0},
        {"cuptiActivityEnableRuntimeApi", offsetof(struct pp_cupti_api, enable_runtime), 0},
        {"cuptiActivityEnableAllSyncRecords", offsetof(struct pp_cupti_api, all_sync), 0},
        {"cuptiActivityFlushAll", offsetof(struct pp_cupti_api, flush_all), 1},
        {"cuptiActivityGetNextRecord", offsetof(struct pp_cupti_api, next_record), 1},
        {"cuptiActivityGetNumDroppedRecords", offsetof(struct pp_cupti_api, dropped), 0},
};

/* 0, or the name of the first function that is missing is in *ret_missing. */
static int take_functions(void *library, struct pp_cupti_api *ret_api, const char **ret_missing)
{
	Dl_info info;

	memset(ret_api, 0, sizeof(*ret_api));
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *at = dlsym(library, functions[i].symbol);

		if (!at && functions[i].is_needed) {
			*ret_missing = functions[i].symbol;
			return -ENOENT;
		}
		memcpy((char *)ret_api + functions[i].at, &at, sizeof(at));
	}
	ret_api->library = library;
	ret_api->is_replay = dlsym(library, "podprof_replay_of_cupti") != NULL;
	if (dladdr(*(void **)&ret_api->get_version, &info) && info.dli_fname)
		snprintf(ret_api->path, sizeof(ret_api->path), "%s", info.dli_fname);
	return 0;
}

static int is_named(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	return info->dlpi_name && !strncmp(pp_file_name(info->dlpi_name), data, strlen(data));
}

/* dlopen() with RTLD_NOLOAD would look for the file, which the program may have forbidden itself. */
static int is_loaded(const char *soname)
{
	return dl_iterate_phdr(is_named, (void *)soname);
}

int pp_cuda_find(int load, struct pp_cuda_driver *ret_driver)
{
	void *library;

	if (!load && !is_loaded("libcuda.so"))
		return -ENOENT;
	library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD));
	if (!library)
		return -ENOENT;
	*(void **)&ret_driver->init = dlsym(library, "cuInit");
	*(void **)&ret_driver->device_count = dlsym(library, "cuDeviceGetCount");
	*(void **)&ret_driver->version = dlsym(library, "cuDriverGetVersion");
	/* cppcheck-suppress resourceLeak ; the driver stays loaded anyway */
	return ret_driver->init && ret_driver->device_count && ret_driver->version ? 0 : -ENOENT;
}

/* "0000:1b:00.0" as a number with PP_DEVICE_HAS_PCI; 0: it is none. */
static uint64_t pci_of(const char *text)
{
	unsigned domain, bus, device, function;

	if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return 0;
	return PP_DEVICE_HAS_PCI | (uint64_t)domain << 16 | (bus & 255) << 8 | (device & 31) << 3 | (function & 7);
}

uint64_t pp_cuda_pci(const uint8_t uuid[16])
{
	int (*uuid_of)(void *ret_uuid, int device) = NULL, (*bus_of)(char *ret_text, int size, int device) = NULL;
	struct pp_cuda_driver driver;
	char text[32] = "", other[16];
	void *library;
	int devices = 0;

	if (pp_cuda_find(0, &driver) || driver.device_count(&devices))
		return 0;
	library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	if (!library)
		return 0;
	*(void **)&uuid_of = dlsym(library, "cuDeviceGetUuid_v2");
	*(void **)&bus_of = dlsym(library, "cuDeviceGetPCIBusId");
	for (int i = 0; uuid_of && bus_of && i < devices && i < DEVICES_MOST && !text[0]; i++)
		if (!uuid_of(other, i) && !memcmp(other, uuid, sizeof(other)) && bus_of(text, sizeof(text), i))
			text[0] = '\0';
	dlclose(library);
	return pci_of(text);
}

int pp_cuda_has_only_runtime(void)
{
	return (is_loaded("libcudart.so.13") || is_loaded("libcudart.so.12")) && !is_loaded("libcuda.so");
}

static void *open_in(const char *directory, int length, const char *below, const char *soname)
{
	char path[PATH_BYTES];

	if (snprintf(path, sizeof(path), "%.*s%s/%s", length, directory, below, soname) >= (int)sizeof(path))
		return NULL;
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

struct places { /* directories of NVIDIA's libraries that the program has loaded */
	char directory[8][PATH_BYTES];
	int count;
};

static int add_place(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char *const names[] = {"libcudart.so", "libcublas.so", "libcudnn.so", "libnccl.so", "libnvrtc.so"};
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	struct places *p = data;
	char(*next)[PATH_BYTES] = &p->directory[p->count];

	(void)size;
	for (size_t i = 0; slash && p->count < 8 && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(slash + 1, names[i], strlen(names[i])) != 0)
			continue;
		if (snprintf(*next, PATH_BYTES, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name) < PATH_BYTES &&
		    (!p->count || strcmp(*next, p->directory[p->count - 1]) != 0))
			p->count++;
		break;
	}
	return 0;
}

/* toolkit: lib64 beside extras; conda: all in lib; pip: nvidia/NAME/lib, from CUDA 13 on nvidia/cu13/lib */
static void *open_beside(const struct places *p, const char *soname)
{
	static const char *const below[] = {"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib", "/../../cu13/lib"};
	void *library = NULL;

	for (int i = 0; !library && i < p->count; i++)
		for (size_t k = 0; !library && k < sizeof(below) / sizeof(below[0]); k++)
			library = open_in(p->directory[i], PATH_BYTES, below[k], soname);
	return library;
}

static void *open_toolkit(const char *soname)
{
	const char *const home[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(home) / sizeof(home[0]); i++)
		if (home[i] && *home[i])
			library = open_in(home[i], PATH_BYTES, "/extras/CUPTI/lib64", soname);
	return library;
}

static void *open_any(int cuda)
{
	static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
	int first = cuda < 13000 || (is_loaded("libcudart.so.12") && !is_loaded("libcudart.so.13"));
	struct places places = {.count = 0};
	void *library = NULL;

	for (int i = 0; !library && i < 2; i++)
		if (is_loaded(sonames[i]))
			library = dlopen(sonames[i], RTLD_LAZY | RTLD_NOLOAD);
	if (library)
		return library;
	dl_iterate_phdr(add_place, &places);
	/* A libcupti of CUDA 13 needs a driver of CUDA 13; one of CUDA 12 works with both. */
	for (int i = 0; !library && i < 2; i++) {
		const char *soname = sonames[i ? !first : first];

		if (soname == sonames[0] && cuda < 13000)
			continue;
		library = open_beside(&places, soname);
		if (!library)
			library = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
		if (!library)
			library = open_toolkit(soname);
	}
	return library;
}

int pp_cupti_may_be_12(int cuda)
{
	return cuda < 13000 || is_loaded("libcupti.so.12") || is_loaded("libcudart.so.12");
}

static int count_one(struct dl_phdr_info *info, size_t size, void *data)
{
	*(uint32_t *)data += is_named(info, size, (void *)"libcupti.so") != 0;
	return 0;
}

uint32_t pp_cupti_count_loaded(void)
{
	uint32_t n = 0;

	dl_iterate_phdr(count_one, &n);
	return n;
}

int pp_cupti_find(const char *asked, int cuda, struct pp_cupti_api *ret_api, struct pp_err *err)
{
	int is_asked = asked && *asked;
	void *library = is_asked ? dlopen(asked, RTLD_LAZY | RTLD_LOCAL) : open_any(cuda);
	const char *missing = "";

	if (!library && is_asked)
		return pp_err_set(err, -ENOENT, "devices are not recorded: --cupti '%.60s' cannot be loaded", asked);
	if (!library)
		return pp_err_set(err, -ENOENT,
		                  "devices are not recorded: no libcupti.so of CUDA 12 or 13. "
		                  "Add CUDA's extras/CUPTI/lib64 to LD_LIBRARY_PATH, or give --cupti");
	/* cppcheck-suppress resourceLeak ; it stays loaded: CUPTI cannot be unloaded */
	if (take_functions(library, ret_api, &missing))
		return pp_err_set(err, -ENOENT, "devices are not recorded: libcupti.so lacks %s. Give --cupti one of CUDA 12 or 13",
		                  missing);
	return 0;
}

/* A stand-in of libnvidia-ml.so.1. What it says stands in the file nvml.state beside it, which is read again at each call:
 *   count N                  GPUs
 *   GPU KEY VALUE            of GPU 0, 1, ..; KEY as in value_of() below; what is missing is not supported
 *   uuid GPU TEXT            slice GPU TEXT: a MIG device of it
 *   fail CALL CODE           that call gives CODE
 *   hang CALL                that call never returns
 * REPLAY_NVML_OLD: only what a library of CUDA 11.8 has; REPLAY_NVML_NEW: without what CUDA 13 calls deprecated. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/host/nvml_abi.h"

enum { GPUS = 16, ALL_LINKS = -1, WORD = 96 };

struct line {
	char word[3][WORD];
	int words;
};

static int handles[GPUS * 8]; /* GPU i: &handles[8 * i]; its slice s: one behind that */

static FILE *open_state(void)
{
	char path[4096];
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)open_state, &info))
		return NULL;
	snprintf(path, sizeof(path), "%s", info.dli_fname);
	*strrchr(path, '/') = '\0';
	strncat(path, "/nvml.state", sizeof(path) - strlen(path) - 1);
	return fopen(path, "re");
}

static int next_line(FILE *f, struct line *l)
{
	char text[512];

	if (!fgets(text, sizeof(text), f))
		return 0;
	memset(l, 0, sizeof(*l));
	l->words = sscanf(text, "%95s %95s %95s", l->word[0], l->word[1], l->word[2]);
	return 1;
}

/* The third word of the n-th line that begins so, or its second; "" is in no such line. */
static int find(const char *first, const char *second, int n, char *ret)
{
	FILE *f = open_state();
	struct line l;
	int found = 0;

	*ret = '\0';
	while (f && !found && next_line(f, &l))
		if (!strcmp(l.word[0], first) && (!second || !strcmp(l.word[1], second)) && n-- == 0) {
			snprintf(ret, WORD, "%s", second ? l.word[2] : l.word[1]);
			found = 1;
		}
	if (f)
		fclose(f);
	return found;
}

static int enter(const char *call)
{
	char text[WORD];

	while (find("hang", call, 0, text))
		pause();
	return find("fail", call, 0, text) ? (int)strtol(text, NULL, 10) : PP_NVML_OK;
}

static int gpu_of(void *handle)
{
	return (int)((int *)handle - handles) / 8;
}

/* 0 and the value, or the code: the call's, else not supported. */
static int value_of(const char *call, void *handle, const char *key, unsigned long long *ret)
{
	char gpu[16], text[WORD];
	int rc = enter(call);

	snprintf(gpu, sizeof(gpu), "%d", gpu_of(handle));
	if (!rc && !find(gpu, key, 0, text))
		rc = PP_NVML_NOT_SUPPORTED;
	if (!rc)
		*ret = strtoull(text, NULL, 0);
	return rc;
}

#define EXPORT __attribute__((visibility("default")))

/* A call that gives one unsigned int of a GPU. */
#define GIVES(name, key)                                                                                                           \
	EXPORT int name(void *handle, unsigned *ret);                                                                              \
	EXPORT int name(void *handle, unsigned *ret)                                                                               \
	{                                                                                                                          \
		unsigned long long value = 0;                                                                                      \
		int rc = value_of(#name, handle, key, &value);                                                                     \
                                                                                                                                   \
		if (!rc)                                                                                                           \
			*ret = (unsigned)value;                                                                                    \
		return rc;                                                                                                         \
	}
#define GIVES_LONG(name, key)                                                                                                      \
	EXPORT int name(void *handle, unsigned long long *ret);                                                                    \
	EXPORT int name(void *handle, unsigned long long *ret)                                                                     \
	{                                                                                                                          \
		return value_of(#name, handle, key, ret);                                                                          \
	}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
	return enter("nvmlInit_v2");
}

EXPORT int nvmlInitWithFlags(unsigned flags);
EXPORT int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return enter("nvmlInitWithFlags");
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	snprintf(text, size, "999.99");
	return enter("nvmlSystemGetDriverVersion");
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *ret);
EXPORT int nvmlDeviceGetCount_v2(unsigned *ret)
{
	char text[WORD];
	int rc = enter("nvmlDeviceGetCount_v2");

	*ret = find("count", NULL, 0, text) ? (unsigned)strtol(text, NULL, 10) : 0;
	return rc;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
	if (index >= GPUS)
		return PP_NVML_NOT_FOUND;
	*ret = &handles[8 * index];
	return enter("nvmlDeviceGetHandleByIndex_v2");
}

EXPORT int nvmlDeviceGetUUID(void *handle, char *text, unsigned size);
EXPORT int nvmlDeviceGetUUID(void *handle, char *text, unsigned size)
{
	const int slice = (int)((int *)handle - handles) % 8;
	char gpu[16], found[WORD];
	int rc = enter("nvmlDeviceGetUUID");

	snprintf(gpu, sizeof(gpu), "%d", gpu_of(handle));
	if (!rc && !find(slice ? "slice" : "uuid", gpu, slice ? slice - 1 : 0, found))
		rc = PP_NVML_NOT_FOUND;
	if (!rc)
		snprintf(text, size, "%s", found);
	return rc;
}

EXPORT int nvmlDeviceGetName(void *handle, char *text, unsigned size);
EXPORT int nvmlDeviceGetName(void *handle, char *text, unsigned size)
{
	snprintf(text, size, "Replay GPU %d", gpu_of(handle));
	return enter("nvmlDeviceGetName");
}

GIVES(nvmlDeviceGetMaxMigDeviceCount, "slices")

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **ret);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **ret)
{
	*ret = (int *)handle + 1 + index;
	return enter("nvmlDeviceGetMigDeviceHandleByIndex");
}

EXPORT int nvmlDeviceGetClockInfo(void *handle, unsigned kind, unsigned *ret);
EXPORT int nvmlDeviceGetClockInfo(void *handle, unsigned kind, unsigned *ret)
{
	unsigned long long mhz = 0;
	int rc = value_of("nvmlDeviceGetClockInfo", handle, kind == 1 ? "clock" : "memory_clock", &mhz);

	if (!rc)
		*ret = (unsigned)mhz;
	return rc;
}

EXPORT int nvmlDeviceGetMaxClockInfo(void *handle, unsigned kind, unsigned *ret);
EXPORT int nvmlDeviceGetMaxClockInfo(void *handle, unsigned kind, unsigned *ret)
{
	unsigned long long mhz = 0;
	int rc = value_of("nvmlDeviceGetMaxClockInfo", handle, kind == 1 ? "max_clock" : "max_memory_clock", &mhz);

	if (!rc)
		*ret = (unsigned)mhz;
	return rc;
}

GIVES(nvmlDeviceGetPowerUsage, "power")
GIVES(nvmlDeviceGetEnforcedPowerLimit, "limit")
GIVES(nvmlDeviceGetPowerManagementDefaultLimit, "default")
GIVES(nvmlDeviceGetPcieReplayCounter, "replays")
GIVES_LONG(nvmlDeviceGetTotalEnergyConsumption, "energy")

#ifndef REPLAY_NVML_NEW
EXPORT int nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *ret);
EXPORT int nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *ret)
{
	unsigned long long value = 0;
	int rc = sensor ? PP_NVML_NOT_SUPPORTED : value_of("nvmlDeviceGetTemperature", handle, "temperature", &value);

	if (!rc)
		*ret = (unsigned)value;
	return rc;
}

GIVES_LONG(nvmlDeviceGetCurrentClocksThrottleReasons, "reason")

EXPORT int nvmlDeviceGetViolationStatus(void *handle, unsigned policy, struct pp_nvml_violation *ret);
EXPORT int nvmlDeviceGetViolationStatus(void *handle, unsigned policy, struct pp_nvml_violation *ret)
{
	unsigned long long ns = 0;
	int rc = value_of("nvmlDeviceGetViolationStatus", handle, policy ? "thermal_ns" : "power_ns", &ns);

	*ret = (struct pp_nvml_violation){1, ns};
	return rc;
}
#endif

#ifndef REPLAY_NVML_OLD
EXPORT int nvmlDeviceGetTemperatureV(void *handle, void *at);
EXPORT int nvmlDeviceGetTemperatureV(void *handle, void *at)
{
	unsigned long long value = 0;
	uint32_t version;
	int rc = value_of("nvmlDeviceGetTemperatureV", handle, "temperature", &value);
	int32_t celsius = (int32_t)value;

	memcpy(&version, at, sizeof(version));
	if (version != 0x0100000c)
		return 25;
	memcpy((char *)at + 8, &celsius, sizeof(celsius));
	return rc;
}

GIVES_LONG(nvmlDeviceGetCurrentClocksEventReasons, "reason")
#endif

EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct pp_nvml_busy *ret);
EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct pp_nvml_busy *ret)
{
	unsigned long long percent = 0;
	int rc = value_of("nvmlDeviceGetUtilizationRates", handle, "busy", &percent);

	*ret = (struct pp_nvml_busy){(uint32_t)percent, 0};
	return rc;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct pp_nvml_memory *ret);
EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct pp_nvml_memory *ret)
{
	unsigned long long used = 0;
	int rc = value_of("nvmlDeviceGetMemoryInfo", handle, "used", &used);

	*ret = (struct pp_nvml_memory){2 * used, used, used};
	return rc;
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *handle, unsigned kind, unsigned counter, unsigned long long *ret);
EXPORT int nvmlDeviceGetTotalEccErrors(void *handle, unsigned kind, unsigned counter, unsigned long long *ret)
{
	(void)counter;
	return value_of("nvmlDeviceGetTotalEccErrors", handle, kind ? "uncorrected" : "corrected", ret);
}

EXPORT int nvmlDeviceGetRemappedRows(void *handle, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed);
EXPORT int nvmlDeviceGetRemappedRows(void *handle, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
	unsigned long long state = 0;
	int rc = value_of("nvmlDeviceGetRemappedRows", handle, "remap", &state);

	*corrected = *uncorrected = 0;
	*pending = state == 1;
	*failed = state == 2;
	return rc;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned *count, struct pp_nvml_process *ret);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned *count, struct pp_nvml_process *ret)
{
	unsigned long long processes = 0;
	int rc = value_of("nvmlDeviceGetComputeRunningProcesses_v2", handle, "processes", &processes);

	if (!rc && processes > *count)
		rc = PP_NVML_SMALL;
	for (unsigned i = 0; !rc && i < processes; i++)
		ret[i] = (struct pp_nvml_process){i + 1, 1, UINT32_MAX, UINT32_MAX};
	*count = (unsigned)processes;
	return rc;
}

static const char *key_of(const struct pp_nvml_field_value *v)
{
	switch (v->field) {
	case PP_NVML_VIOLATION_POWER:
		return "power_ns";
	case PP_NVML_VIOLATION_THERMAL:
		return "thermal_ns";
	case PP_NVML_ENERGY:
		return "energy";
	case PP_NVML_LINKS:
		return "links";
	case PP_NVML_REPLAYS:
		return "replays";
	case PP_NVML_LINK_SENT:
		return (int)v->scope == ALL_LINKS ? "link_sent" : "";
	case PP_NVML_LINK_RECEIVED:
		return (int)v->scope == ALL_LINKS ? "link_received" : "";
	case PP_NVML_LINK_REPLAY:
	case PP_NVML_LINK_RECOVERY:
	case PP_NVML_LINK_CRC:
		return "link_errors"; /* of each link and kind */
	case PP_NVML_POWER_NOW:
		return "power_now";
	case PP_NVML_PCIE_SENT:
		return "pcie_sent";
	case PP_NVML_PCIE_RECEIVED:
		return "pcie_received";
	}
	return "";
}

EXPORT int nvmlDeviceGetFieldValues(void *handle, int count, struct pp_nvml_field_value *v);
EXPORT int nvmlDeviceGetFieldValues(void *handle, int count, struct pp_nvml_field_value *v)
{
	int rc = enter("nvmlDeviceGetFieldValues");

	for (int i = 0; !rc && i < count; i++) {
		unsigned long long value = 0;

		v[i].code = (uint32_t)value_of("nvmlDeviceGetFieldValues", handle, key_of(&v[i]), &value);
		v[i].type = v[i].field == PP_NVML_LINKS || v[i].field == PP_NVML_POWER_NOW ? PP_NVML_U32 : PP_NVML_U64;
		v[i].value.u64 = value;
	}
	return rc;
}

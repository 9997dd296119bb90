/* Calls of NVML; see nvml.h. Called by gpu_child.c. Each symbol is looked up: releases add and remove them, and a value whose call
 * is missing, not supported or not permitted is unknown. Not asked: fields 251 to 273, whose meaning differs between releases, and
 * nvmlDeviceGetPcieThroughput(), which measures for 20 ms. */
#include "aggregate/keeper/host/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/host/nvml_abi.h"
#include "core/base/now.h"
#include "core/base/tick.h"

enum { LINKS = 18, LINK_FIELDS = 3, PROCESSES = 64, SM_CLOCK = 1, MEMORY_CLOCK = 2 };
enum { ECC_CORRECTED = 0, ECC_UNCORRECTED = 1, ECC_VOLATILE = 0, TEMPERATURE_GPU = 0, REFUSALS = 3, NO_GPU_IS_FINE = 1 };

/* Members are named like the library's functions, less "nvml". */
struct library {
	int (*InitWithFlags)(unsigned flags);
	int (*Init_v2)(void);
	int (*SystemGetDriverVersion)(char *, unsigned size);
	int (*DeviceGetCount_v2)(unsigned *);
	int (*DeviceGetHandleByIndex_v2)(unsigned, void **);
	int (*DeviceGetUUID)(void *, char *, unsigned size);
	int (*DeviceGetName)(void *, char *, unsigned size);
	int (*DeviceGetMaxMigDeviceCount)(void *, unsigned *);
	int (*DeviceGetMigDeviceHandleByIndex)(void *, unsigned, void **);
	int (*DeviceGetClockInfo)(void *, unsigned kind, unsigned *mhz);
	int (*DeviceGetMaxClockInfo)(void *, unsigned kind, unsigned *mhz);
	int (*DeviceGetPowerUsage)(void *, unsigned *mw);
	int (*DeviceGetEnforcedPowerLimit)(void *, unsigned *mw);
	int (*DeviceGetPowerManagementDefaultLimit)(void *, unsigned *mw);
	int (*DeviceGetTotalEnergyConsumption)(void *, unsigned long long *mj);
	int (*DeviceGetTemperature)(void *, unsigned sensor, unsigned *celsius);
	int (*DeviceGetTemperatureV)(void *, void *);
	int (*DeviceGetCurrentClocksEventReasons)(void *, unsigned long long *);
	int (*DeviceGetCurrentClocksThrottleReasons)(void *, unsigned long long *);
	int (*DeviceGetViolationStatus)(void *, unsigned policy, struct pp_nvml_violation *);
	int (*DeviceGetUtilizationRates)(void *, struct pp_nvml_busy *);
	int (*DeviceGetMemoryInfo)(void *, struct pp_nvml_memory *);
	int (*DeviceGetTotalEccErrors)(void *, unsigned kind, unsigned counter, unsigned long long *);
	int (*DeviceGetRemappedRows)(void *, unsigned *, unsigned *, unsigned *pending, unsigned *failed);
	int (*DeviceGetComputeRunningProcesses_v2)(void *, unsigned *, struct pp_nvml_process *);
	int (*DeviceGetPcieReplayCounter)(void *, unsigned *);
	int (*DeviceGetFieldValues)(void *, int, struct pp_nvml_field_value *);
};

#define SYMBOL(name)                                                                                                               \
	{                                                                                                                          \
		"nvml" #name, offsetof(struct library, name)                                                                       \
	}

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {SYMBOL(InitWithFlags),
               SYMBOL(Init_v2),
               SYMBOL(SystemGetDriverVersion),
               SYMBOL(DeviceGetCount_v2),
               SYMBOL(DeviceGetHandleByIndex_v2),
               SYMBOL(DeviceGetUUID),
               SYMBOL(DeviceGetName),
               SYMBOL(DeviceGetMaxMigDeviceCount),
               SYMBOL(DeviceGetMigDeviceHandleByIndex),
               SYMBOL(DeviceGetClockInfo),
               SYMBOL(DeviceGetMaxClockInfo),
               SYMBOL(DeviceGetPowerUsage),
               SYMBOL(DeviceGetEnforcedPowerLimit),
               SYMBOL(DeviceGetPowerManagementDefaultLimit),
               SYMBOL(DeviceGetTotalEnergyConsumption),
               SYMBOL(DeviceGetTemperature),
               SYMBOL(DeviceGetTemperatureV),
               SYMBOL(DeviceGetCurrentClocksEventReasons),
               SYMBOL(DeviceGetCurrentClocksThrottleReasons),
               SYMBOL(DeviceGetViolationStatus),
               SYMBOL(DeviceGetUtilizationRates),
               SYMBOL(DeviceGetMemoryInfo),
               SYMBOL(DeviceGetTotalEccErrors),
               SYMBOL(DeviceGetRemappedRows),
               SYMBOL(DeviceGetComputeRunningProcesses_v2),
               SYMBOL(DeviceGetPcieReplayCounter),
               SYMBOL(DeviceGetFieldValues)};

struct gpu {
	void *handle;
	unsigned links;
	int64_t link_errors;
	unsigned refused[PP_GPU_VALUES]; /* how often in a row; one that always is, is not asked for again */
};

struct pp_nvml {
	struct library call;
	struct pp_gpu_page *page;
	struct gpu gpu[PP_GPUS];
	unsigned gpus;
};

static const char *reason_of(int code)
{
	switch (code) {
	case PP_NVML_NO_PERMISSION:
		return "not permitted";
	case PP_NVML_NO_DRIVER:
		return "the driver is not loaded";
	case PP_NVML_LOST:
		return "a GPU is lost";
	case PP_NVML_RESET:
		return "a GPU needs a reset";
	case PP_NVML_MISMATCH:
		return "library and driver are of different versions: reboot after the update";
	}
	return NULL;
}

static int failed(struct pp_err *err, const char *call, int code)
{
	const char *why = reason_of(code);

	return why ? pp_err_set(err, -EIO, "%s: %s", call, why) : pp_err_set(err, -EIO, "%s gives error %d", call, code);
}

/* For the keepers, who see a call that does not return. */
static void enter(struct pp_nvml *n, const char *call)
{
	snprintf(n->page->call, sizeof(n->page->call), "%s", call);
	atomic_store(&n->page->in_call_since, pp_clock_ns(CLOCK_MONOTONIC));
}

static int leave(struct pp_nvml *n, int code)
{
	atomic_store(&n->page->in_call_since, 0);
	return code;
}

/* The code of n->call.name(args); not supported where the release has no such function. */
#define CALL(name, ...) (n->call.name ? (enter(n, "nvml" #name), leave(n, n->call.name(__VA_ARGS__))) : PP_NVML_NOT_SUPPORTED)

/* "GPU-" or "MIG-", then 32 hexadecimal digits with lines between. */
static int see_uuid(struct pp_nvml *n, void *handle, uint8_t *ret)
{
	static const char hex[] = "0123456789abcdef";
	char text[96] = "";
	const char *p = text;
	unsigned digits = 0;

	if (CALL(DeviceGetUUID, handle, text, sizeof(text)) || strlen(text) < 4)
		return -1;
	memset(ret, 0, 16);
	for (p += 4; *p && digits < 32; p++) {
		const char *digit = strchr(hex, *p >= 'A' && *p <= 'F' ? *p - 'A' + 'a' : *p);

		if (*p == '-')
			continue;
		if (!digit)
			break;
		ret[digits / 2] = (uint8_t)(ret[digits / 2] << 4 | (digit - hex));
		digits++;
	}
	return digits == 32 ? 0 : -1;
}

static void see_slices(struct pp_nvml *n, void *handle, struct pp_gpu *to)
{
	unsigned most = 0, slices = 0;
	void *slice;

	memset(to->slice, 0, sizeof(to->slice));
	if (CALL(DeviceGetMaxMigDeviceCount, handle, &most))
		return;
	for (unsigned i = 0; i < most && slices < PP_GPU_SLICES; i++)
		if (!CALL(DeviceGetMigDeviceHandleByIndex, handle, i, &slice) && !see_uuid(n, slice, to->slice[slices]))
			slices++;
}

static void see_gpu(struct pp_nvml *n, unsigned index)
{
	struct pp_nvml_field_value links = {.field = PP_NVML_LINKS};
	struct pp_gpu *to = &n->page->gpu[n->gpus];
	struct gpu *gpu = &n->gpu[n->gpus];
	char name[96] = "";

	if (CALL(DeviceGetHandleByIndex_v2, index, &gpu->handle) || see_uuid(n, gpu->handle, to->uuid))
		return; /* lost, or not this user's */
	if (CALL(DeviceGetName, gpu->handle, name, sizeof(name)))
		name[0] = '\0';
	snprintf(to->name, sizeof(to->name), "%.*s", (int)sizeof(to->name) - 1, name);
	see_slices(n, gpu->handle, to);
	if (!CALL(DeviceGetFieldValues, gpu->handle, 1, &links) && !links.code)
		gpu->links = links.value.u32 < LINKS ? links.value.u32 : LINKS;
	gpu->link_errors = -1;
	n->gpus++;
}

static int find_gpus(struct pp_nvml *n, struct pp_err *err)
{
	char driver[80] = "";
	unsigned count = 0;
	int rc;

	rc = n->call.InitWithFlags ? CALL(InitWithFlags, NO_GPU_IS_FINE) : CALL(Init_v2);
	if (rc)
		return failed(err, "nvmlInit", rc);
	if (!CALL(SystemGetDriverVersion, driver, sizeof(driver)))
		snprintf(n->page->driver, sizeof(n->page->driver), "%s", driver);
	rc = CALL(DeviceGetCount_v2, &count);
	if (rc)
		return failed(err, "nvmlDeviceGetCount_v2", rc);
	for (unsigned i = 0; i < count && n->gpus < PP_GPUS; i++)
		see_gpu(n, i);
	if (!n->gpus)
		return pp_err_set(err, -ENODEV, "NVML sees no GPU");
	atomic_store(&n->page->gpus, n->gpus);
	return 0;
}

int pp_nvml_open(struct pp_gpu_page *page, struct pp_nvml **ret, struct pp_err *err)
{
	struct pp_nvml *n = calloc(1, sizeof(*n));
	void *library;
	int rc;

	if (!n)
		return pp_err_set(err, -ENOMEM, "no memory");
	n->page = page;
	enter(n, "dlopen");
	library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	leave(n, 0);
	for (size_t i = 0; library && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		memcpy((char *)&n->call + symbols[i].offset, &symbol, sizeof(symbol));
	}
	if (!library)
		rc = pp_err_set(err, -ENOENT,
		                "libnvidia-ml.so.1 cannot be loaded. It comes with the driver; a container needs the "
		                "'utility' capability for it");
	else
		rc = find_gpus(n, err);
	if (rc) {
		free(n);
		return rc;
	}
	*ret = n;
	return 0;
}

void pp_nvml_free(struct pp_nvml *n)
{
	free(n);
}

/* ---- one sample ---- */

struct taking {
	struct pp_nvml *n;
	struct gpu *gpu;
	int64_t *value;
};

/* Is the value worth asking for? */
static int is_asked(const struct taking *t, enum pp_gpu_value which)
{
	return t->gpu->refused[which] < REFUSALS;
}

static void put(struct taking *t, enum pp_gpu_value which, int code, int64_t value)
{
	t->gpu->refused[which] = code ? t->gpu->refused[which] + 1 : 0;
	if (!code)
		t->value[which] = value;
}

/* Values that one call gives as an unsigned int. */
#define TAKE(which, name, unit, ...)                                                                                               \
	do {                                                                                                                       \
		unsigned got = 0;                                                                                                  \
		int refused = is_asked(t, which) ? CALL(name, t->gpu->handle, __VA_ARGS__ & got) : PP_NVML_NOT_SUPPORTED;          \
                                                                                                                                   \
		put(t, which, refused, (int64_t)got *(unit));                                                                      \
	} while (0)
#define WITH(argument) argument,

static void take_clocks(struct taking *t)
{
	struct pp_nvml *n = t->n;
	unsigned long long bits = 0;
	int code;

	TAKE(PP_GPU_clock_hz, DeviceGetClockInfo, 1000000, WITH(SM_CLOCK));
	TAKE(PP_GPU_memory_hz, DeviceGetClockInfo, 1000000, WITH(MEMORY_CLOCK));
	TAKE(PP_GPU_max_hz, DeviceGetMaxClockInfo, 1000000, WITH(SM_CLOCK));
	if (!is_asked(t, PP_GPU_reason))
		return;
	code = n->call.DeviceGetCurrentClocksEventReasons ? CALL(DeviceGetCurrentClocksEventReasons, t->gpu->handle, &bits)
	                                                  : CALL(DeviceGetCurrentClocksThrottleReasons, t->gpu->handle, &bits);
	put(t, PP_GPU_reason, code, (int64_t)bits);
}

static void take_heat(struct taking *t)
{
	struct pp_nvml *n = t->n;
	struct {
		uint32_t version;
		int32_t sensor, celsius;
	} now = {0x0100000c, TEMPERATURE_GPU, 0};

	TAKE(PP_GPU_limit_mw, DeviceGetEnforcedPowerLimit, 1, );
	TAKE(PP_GPU_default_mw, DeviceGetPowerManagementDefaultLimit, 1, );
	if (n->call.DeviceGetTemperatureV && is_asked(t, PP_GPU_temperature)) {
		const int code = CALL(DeviceGetTemperatureV, t->gpu->handle, &now);

		put(t, PP_GPU_temperature, code, now.celsius);
	}
	if (t->value[PP_GPU_temperature] < 0)
		TAKE(PP_GPU_temperature, DeviceGetTemperature, 1, WITH(TEMPERATURE_GPU));
}

static void take_use(struct taking *t)
{
	struct pp_nvml_process process[PROCESSES];
	struct pp_nvml *n = t->n;
	struct pp_nvml_memory memory = {0};
	struct pp_nvml_busy busy = {0};
	unsigned processes = PROCESSES;
	int code;

	if (is_asked(t, PP_GPU_busy)) {
		code = CALL(DeviceGetUtilizationRates, t->gpu->handle, &busy);
		put(t, PP_GPU_busy, code, busy.gpu);
	}
	if (is_asked(t, PP_GPU_used_bytes)) {
		code = CALL(DeviceGetMemoryInfo, t->gpu->handle, &memory);
		put(t, PP_GPU_used_bytes, code, (int64_t)memory.used);
	}
	if (is_asked(t, PP_GPU_processes)) {
		code = CALL(DeviceGetComputeRunningProcesses_v2, t->gpu->handle, &processes, process);
		put(t, PP_GPU_processes, code == PP_NVML_SMALL ? 0 : code, processes);
	}
}

static void take_errors(struct taking *t, enum pp_gpu_value which, unsigned kind)
{
	unsigned long long count = 0;
	struct pp_nvml *n = t->n;
	int code;

	if (!is_asked(t, which))
		return;
	code = CALL(DeviceGetTotalEccErrors, t->gpu->handle, kind, ECC_VOLATILE, &count);
	put(t, which, code, (int64_t)count);
}

static void take_faults(struct taking *t)
{
	unsigned corrected, uncorrected, pending = 0, bad = 0;
	struct pp_nvml *n = t->n;
	int code;

	take_errors(t, PP_GPU_ecc_corrected, ECC_CORRECTED);
	take_errors(t, PP_GPU_ecc_uncorrected, ECC_UNCORRECTED);
	TAKE(PP_GPU_pcie_replays, DeviceGetPcieReplayCounter, 1, );
	if (!is_asked(t, PP_GPU_remap))
		return;
	code = CALL(DeviceGetRemappedRows, t->gpu->handle, &corrected, &uncorrected, &pending, &bad);
	put(t, PP_GPU_remap, code, bad ? 2 : pending != 0);
}

/* Time below the clock, ns since the driver was loaded: several pages say us, which is wrong. */
static void take_violations(struct taking *t)
{
	static const enum pp_gpu_value which[] = {PP_GPU_power_ns, PP_GPU_thermal_ns}; /* NVML's policies 0 and 1 */
	struct pp_nvml *n = t->n;

	for (unsigned policy = 0; policy < 2; policy++) {
		struct pp_nvml_violation v = {0};

		int code;

		if (!n->call.DeviceGetViolationStatus || !is_asked(t, which[policy]))
			continue;
		code = CALL(DeviceGetViolationStatus, t->gpu->handle, policy, &v);
		put(t, which[policy], code, (int64_t)v.violation_ns);
	}
}

static int64_t value_of(const struct pp_nvml_field_value *v)
{
	switch (v->type) {
	case PP_NVML_DOUBLE:
		return (int64_t)v->value.d;
	case PP_NVML_U32:
		return v->value.u32;
	case PP_NVML_ULONG:
	case PP_NVML_U64:
	case PP_NVML_I64:
		return v->value.i64;
	case PP_NVML_I32:
		return v->value.i32;
	case PP_NVML_U16:
		return v->value.u16;
	}
	return -1;
}

/* All in one call: the driver answers related ones together. */
static void take_fields(struct taking *t)
{
	static const struct {
		enum pp_nvml_field field;
		uint32_t scope;
		enum pp_gpu_value which;
		int unit;
	} asked[] = {{PP_NVML_POWER_NOW, 0, PP_GPU_power_mw, 1},
	             {PP_NVML_ENERGY, 0, PP_GPU_energy_mj, 1},
	             {PP_NVML_VIOLATION_POWER, 0, PP_GPU_power_ns, 1},
	             {PP_NVML_VIOLATION_THERMAL, 0, PP_GPU_thermal_ns, 1},
	             {PP_NVML_REPLAYS, 0, PP_GPU_pcie_replays, 1},
	             {PP_NVML_PCIE_SENT, 0, PP_GPU_pcie_sent, 1},
	             {PP_NVML_PCIE_RECEIVED, 0, PP_GPU_pcie_received, 1},
	             {PP_NVML_LINK_SENT, UINT32_MAX, PP_GPU_nvlink_sent, 1024},
	             {PP_NVML_LINK_RECEIVED, UINT32_MAX, PP_GPU_nvlink_received, 1024}};
	enum { ASKED = sizeof(asked) / sizeof(*asked) };
	struct pp_nvml_field_value v[ASKED];
	struct pp_nvml *n = t->n;

	for (int i = 0; i < ASKED; i++)
		v[i] = (struct pp_nvml_field_value){
		        .field = asked[i].field, .scope = asked[i].scope, .code = PP_NVML_NOT_SUPPORTED};
	if (CALL(DeviceGetFieldValues, t->gpu->handle, ASKED, v))
		return;
	for (int i = 0; i < ASKED; i++)
		if (!v[i].code && t->value[asked[i].which] < 0)
			t->value[asked[i].which] = value_of(&v[i]) * asked[i].unit;
	/* "0 while data moved" is how a driver says that it does not count the links */
	if (!t->gpu->links)
		t->value[PP_GPU_nvlink_sent] = t->value[PP_GPU_nvlink_received] = -1;
}

static void take_power(struct taking *t)
{
	unsigned long long energy = 0;
	struct pp_nvml *n = t->n;

	if (t->value[PP_GPU_power_mw] < 0)
		TAKE(PP_GPU_power_mw, DeviceGetPowerUsage, 1, );
	if (t->value[PP_GPU_energy_mj] < 0 && is_asked(t, PP_GPU_energy_mj)) {
		const int code = CALL(DeviceGetTotalEnergyConsumption, t->gpu->handle, &energy);

		put(t, PP_GPU_energy_mj, code, (int64_t)energy);
	}
}

/* Replays, recoveries and CRC errors of all links. */
static void take_links(struct taking *t)
{
	struct pp_nvml_field_value v[LINKS * LINK_FIELDS];
	struct pp_nvml *n = t->n;
	const int count = (int)t->gpu->links * LINK_FIELDS;
	int64_t sum = -1;

	for (int i = 0; i < count; i++)
		v[i] = (struct pp_nvml_field_value){.field = PP_NVML_LINK_REPLAY + (uint32_t)i % LINK_FIELDS,
		                                    .scope = (uint32_t)i / LINK_FIELDS,
		                                    .code = PP_NVML_NOT_SUPPORTED};
	if (!count || CALL(DeviceGetFieldValues, t->gpu->handle, count, v))
		return;
	for (int i = 0; i < count; i++)
		if (!v[i].code)
			sum = (sum < 0 ? 0 : sum) + value_of(&v[i]);
	t->gpu->link_errors = sum;
}

void pp_nvml_sample(struct pp_nvml *n, unsigned index, int with_links, struct pp_gpu_sample *ret)
{
	struct taking taking = {n, &n->gpu[index], ret->value}, *t = &taking;

	for (int i = 0; i < PP_GPU_VALUES; i++)
		ret->value[i] = -1;
	ret->raw = pp_tick_raw();
	ret->counter = pp_tick_counter();
	take_clocks(t);
	take_violations(t);
	take_fields(t);
	take_power(t);
	take_heat(t);
	take_use(t);
	take_faults(t);
	if (with_links)
		take_links(t);
	ret->value[PP_GPU_nvlink_errors] = t->gpu->link_errors;
}

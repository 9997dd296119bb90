/* What podprof uses of NVML (libnvidia-ml.so.1): layouts and numbers of its public interface, the same in all releases from CUDA
 * 11.8 to 13.5 but where a comment says otherwise. Included by nvml.c and by the stand-in of tests/gpu. */
#pragma once

#include <stdint.h>

enum pp_nvml_code {
	PP_NVML_OK = 0,
	PP_NVML_NOT_SUPPORTED = 3,
	PP_NVML_NO_PERMISSION = 4,
	PP_NVML_NOT_FOUND = 6,
	PP_NVML_SMALL = 7, /* the buffer */
	PP_NVML_NO_DRIVER = 9,
	PP_NVML_NO_LIBRARY = 12,
	PP_NVML_LOST = 15, /* the GPU */
	PP_NVML_RESET = 16,
	PP_NVML_MISMATCH = 18, /* of library and driver */
};

enum pp_nvml_field {
	PP_NVML_VIOLATION_POWER = 74, /* ns */
	PP_NVML_VIOLATION_THERMAL = 76,
	PP_NVML_ENERGY = 83, /* mJ */
	PP_NVML_LINKS = 91,
	PP_NVML_REPLAYS = 94,
	PP_NVML_LINK_SENT = 138, /* KiB, data; scope: link, UINT32_MAX all */
	PP_NVML_LINK_RECEIVED = 139,
	PP_NVML_LINK_REPLAY = 161, /* per link; not from Blackwell on */
	PP_NVML_LINK_RECOVERY = 162,
	PP_NVML_LINK_CRC = 163,
	PP_NVML_POWER_NOW = 186, /* mW; scope 0: the GPU */
	PP_NVML_PCIE_SENT = 197, /* bytes; they wrap */
	PP_NVML_PCIE_RECEIVED = 198,
};

enum pp_nvml_type { PP_NVML_DOUBLE, PP_NVML_U32, PP_NVML_ULONG, PP_NVML_U64, PP_NVML_I64, PP_NVML_I32, PP_NVML_U16 };

struct pp_nvml_field_value { /* nvmlFieldValue_t */
	uint32_t field, scope;
	int64_t stamp_us, latency_us;
	uint32_t type, code;
	union {
		double d;
		uint32_t u32;
		unsigned long ul;
		uint64_t u64;
		int64_t i64;
		int32_t i32;
		uint16_t u16;
	} value;
};

struct pp_nvml_memory {
	uint64_t total, free, used;
};

struct pp_nvml_busy {
	uint32_t gpu, memory; /* percent */
};

struct pp_nvml_violation {
	uint64_t reference_us, violation_ns;
};

struct pp_nvml_process { /* of ..._v2: 24 bytes in each release; _v3 had 32 in some */
	uint32_t pid;
	uint64_t bytes;
	uint32_t instance, compute_instance;
};

_Static_assert(sizeof(struct pp_nvml_field_value) == 40 && sizeof(struct pp_nvml_process) == 24, "NVML's layouts");

/* Finds libcupti and the driver without linking them. In: libraries that the program has loaded, --cupti. Out: functions.
 * Nothing of CUPTI is called here: some releases crash where no device is. */
#pragma once

#include "core/base/err.h"
#include "core/source/cupti/cupti_abi.h"

struct pp_cuda_driver {
	int (*init)(unsigned flags);
	int (*device_count)(int *ret_count);
	int (*version)(int *ret_version);
};

/* The driver's library where the program has loaded it, or (load) loads it; 0 or -ENOENT. */
int pp_cuda_find(int load, struct pp_cuda_driver *ret_driver);
/* A libcupti that the program has loaded, else `asked`, else one of the usual places. `cuda`: version of the driver, 13000.
 * 0, or -ENOENT with the sentence; the library stays loaded. */
int pp_cupti_find(const char *asked, int cuda, struct pp_cupti_api *ret_api, struct pp_err *err);
/* CUDA's runtime is loaded although the driver is not: the program cannot use a device. */
int pp_cuda_has_only_runtime(void);
/* Where the program's device with this UUID is on the PCI bus, as struct pp_record_device_info has it; 0: unknown. After
 * cuInit(). */
uint64_t pp_cuda_pci(const uint8_t uuid[16]);
/* 1: the libcupti that pp_cupti_find() takes may be one of CUDA 12. */
int pp_cupti_may_be_12(int cuda);
/* How many libraries of that name are loaded. */
uint32_t pp_cupti_count_loaded(void);

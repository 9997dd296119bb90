/* Samples the state of NVIDIA's GPUs by NVML. In: libnvidia-ml.so.1. Out: samples of gpu_page.h. In a process of its own only
 * (gpu_child.c): a call may never return, and no signal ends it then. One thread. */
#pragma once

#include "aggregate/keeper/host/gpu_page.h"

struct pp_nvml;

/* Loads the library and finds the GPUs, at most PP_GPUS; tells `page` which call it is in, the driver and the GPUs. -errno with the
 * sentence where the library is missing, does not answer as it should, or sees no GPU. */
int pp_nvml_open(struct pp_gpu_page *page, struct pp_nvml **ret, struct pp_err *err);
/* One sample of GPU `index`; `with_links`: also of each link, which takes longer. */
void pp_nvml_sample(struct pp_nvml *n, unsigned index, int with_links, struct pp_gpu_sample *ret);
/* Frees memory; never calls the library. */
void pp_nvml_free(struct pp_nvml *n);

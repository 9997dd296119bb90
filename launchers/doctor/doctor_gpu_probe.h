/* What libcuda, libcupti and libnccl of this node answer. In: the libraries. Out: struct pp_gpu_seen. They are called in forked
 * children with a deadline: a library that crashes or hangs there leaves doctor alone. One thread. */
#pragma once

#include <limits.h>
#include <stdint.h>

enum pp_gpu_end { PP_GPU_ENDED, PP_GPU_CRASHED, PP_GPU_HUNG, PP_GPU_NOT_TRIED /* no memory, no process */ };

enum { PP_GPU_SECONDS = 30 };

struct pp_gpu_seen {             /* shared with the child, which writes it as it goes on */
	char packages[PATH_MAX]; /* in: directory of NVIDIA's Python packages; "": none */
	char doing[48];          /* the call that did not come back */
	int signal;              /* that ended the child */

	int has_driver, init, devices, driver; /* libcuda.so.1 was found; result of cuInit; version, 13000 */
	char device[128];                      /* name of the first one */

	int has_cupti, is_replay, cupti; /* found; a stand-in; result of the call in `doing`, 0: all succeeded */
	uint32_t cupti_version;
	char cupti_path[PATH_MAX], cupti_missing[256], owner[64];

	int has_nccl, nccl_version;
	char nccl_path[PATH_MAX];
};

/* Fills the members of the driver and of CUPTI. asked: --cupti, or "". Takes at most PP_GPU_SECONDS. */
enum pp_gpu_end pp_gpu_probe_cuda(const char *asked, struct pp_gpu_seen *seen);
/* Fills the members of NCCL. */
enum pp_gpu_end pp_gpu_probe_nccl(struct pp_gpu_seen *seen);
/* Memory that a child shares; NULL: there is none. */
struct pp_gpu_seen *pp_gpu_seen_new(void);
/* NULL is allowed. */
void pp_gpu_seen_free(struct pp_gpu_seen *seen);

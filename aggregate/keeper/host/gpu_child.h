/* The process that samples the GPUs of a host for all of a user's jobs: one of the keepers' children, the one that has the lock
 * of the page. It calls NVML while a keeper records, and sleeps else. Called by launchers/cmd_gpu_state.c, which gpu_state.c
 * starts. */
#pragma once

#include <sys/types.h>

#include "core/base/err.h"

/* Until `keeper`, which started it, has ended. 0, or -errno with the sentence, which stands in the page too. */
int pp_gpu_child_main(const char *path, pid_t keeper, struct pp_err *err);

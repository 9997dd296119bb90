/* How much memory the cgroups of this process leave it. In: /proc/self/cgroup, the files of cgroup v2 and v1. Out: bytes.
 * Called at the claim (core/ring/room.c) and by the keeper at its start; no allocation. */
#pragma once

#include <stdint.h>

#define PP_MEMORY_CGROUP "/proc/self/cgroup"
#define PP_MEMORY_ROOT "/sys/fs/cgroup"

/* The least of limit - use over its cgroups and all above them; file pages that the kernel would drop first do not count as used.
 * UINT64_MAX: no limit, or none that can be read. */
uint64_t pp_memory_room(const char *cgroup_file, const char *root);

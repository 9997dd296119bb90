/* Event files beside a pod.h5: in LOGDIR/plugins/profile/SESSION of LOGDIR/podprof/SESSION/pod.h5. Called by report.c and
 * export.c. */
#pragma once

#include <stdint.h>
#include <time.h>

struct pp_event_files {
	uint64_t files, bytes;
	struct timespec newest; /* modification; zero without files */
};

/* Zero where pod.h5 lies elsewhere or there are none. */
void pp_event_files_find(const char *pod_path, struct pp_event_files *ret);

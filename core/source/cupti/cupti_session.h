/* One use of CUPTI: from its first call in a window to the last one. In: CUPTI, once the application's CUDA is up. Out: records of
 * this thread's ring. Called by podprof's own thread only (cupti.c). */
#pragma once

#include <stdint.h>

#include "core/base/tick.h"

/* 1: CUDA is up, with a device. Calls nothing of CUPTI. */
int pp_cupti_cuda_is_up(void);
/* Subscribes where a release needs that before the program makes CUDA graphs; nothing is on. 1: it did. `asked`: --cupti. */
int pp_cupti_early(const char *asked);
/* Copies of libcupti that the process has loaded. */
uint32_t pp_cupti_copies(void);
/* Begins to record; 0, or the reason was given as a remark and nothing is on. `asked`: --cupti. since: when the process may first
 * have used a device; 0: unknown. */
int pp_cupti_attach(const char *asked, pp_tick since);
/* How long before a window it must be on, ms: by how long a start has taken. Any thread. */
int64_t pp_cupti_ready_ms(void);
/* Reads what CUPTI has filled, and every second what it has not. 0, or -EBUSY: another user has taken CUPTI over, said as a
 * remark; CUPTI is his from here on. */
int pp_cupti_poll(void);
/* Ends recording: what is complete by then is written, `deadline_ms` at the latest. */
void pp_cupti_detach(int64_t deadline_ms);
/* A window is over and the next one begins soon: as pp_cupti_detach(), then it is on again. 0, or -EBUSY as pp_cupti_poll(). */
int pp_cupti_window_over(int64_t deadline_ms);
/* A sentence for /quality; on any thread. */
void pp_cupti_remark(const char *text);

/* Other users of CUPTI in this process. CUPTI has one pair of buffer callbacks: the last user that registers has it, and
 * PyTorch's profiler registers without asking. So libpodprof.so, which is loaded first, has the three functions by which a
 * program that is linked with libcupti begins and ends to use it; it notes the call and passes it on. */
#pragma once

#include <pthread.h>
#include <stdint.h>

/* Calls of this thread are podprof's own. */
void pp_cupti_others_not(pthread_t own);
/* While podprof records: CUPTI's function that gives back all buffers, called before another user's callbacks replace ours.
 * NULL: it does not record. */
void pp_cupti_others_flush(int (*flush_all)(uint32_t flag));
/* Kinds of records that another user has enabled, by bit; 0: none is active. */
uint64_t pp_cupti_others_kinds(void);
/* How often another user has registered its callbacks. */
uint32_t pp_cupti_others_registered(void);

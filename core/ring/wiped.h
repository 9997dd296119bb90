/* The words that a source reads first, in a page that the kernel wipes in a child of this process. 0 means that nothing is
 * recorded and nothing decided, so the child decides what it is before it could store into its parent's rings. Written by
 * collector.c and thread_ring.c. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/wipe.h"

enum pp_phase {
	PP_PHASE_UNDECIDED, /* no evidence yet: each source call tries to claim */
	PP_PHASE_DECIDED,   /* claimed, or known not to be the rank */
	PP_PHASE_EXITING,   /* the exit handler ran: records are counted as lost */
};

struct pp_wiped {
	_Atomic uint32_t recording; /* not 0 while records are to be written; counts how often recording was switched on */
	_Atomic uint32_t phase;     /* enum pp_phase */
	_Atomic uint32_t is_rank;
	_Atomic uint32_t owned; /* 1: the rings are of this process */
} __attribute__((aligned(PP_PAGE_BYTES)));

extern struct pp_wiped pp_wiped __attribute__((visibility("hidden")));

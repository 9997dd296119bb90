/* Communicators of NCCL and the masks by which its libraries ask for events. In: init and finalize of the plug-in, windows. Out:
 * COMM records, and what an event needs to know of its communicator. No lock: init runs on any threads at once. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/tick.h"
#include "core/ring/thread_ring.h"
#include "core/source/nccl/nccl_abi.h"

enum { PP_NCCL_COMMS = 1024, PP_NCCL_MASKS = 16, PP_NCCL_NAME = 96 };

struct pp_nccl_comm {              /* NCCL's context of the plug-in; never freed, only used again */
	_Atomic uint32_t state;    /* 0 free, 1 in use */
	_Atomic uint32_t reported; /* pp_wiped.recording when its COMM records were written */
	uint64_t id;               /* of COMM records; 0: version 3 before its first operation */
	int32_t rank, ranks;       /* ranks 0: unknown */
	uint32_t version;
	uint32_t mask;            /* index + 1; 0: none */
	struct pp_ring_comm *row; /* of the ring's header; NULL: none */
	/* Of the plan that NCCL launches now, one at a time on a communicator; its events follow on the same thread. */
	pp_tick launch, launched;
	const struct pp_nccl_plugin *plugin; /* chained; NULL: none */
	void *next;                          /* its context */
	uint32_t length;
	char name[PP_NCCL_NAME];
};

/* NULL: there are too many, or podprof is not asked to record. */
struct pp_nccl_comm *pp_nccl_comm_new(uint32_t version, int *mask);
/* An event came of a communicator that got none: says so, once while recording is on. */
void pp_nccl_comm_refused(void);
/* hash: equal on all of its ranks. name may be NULL. */
void pp_nccl_comm_describe(struct pp_nccl_comm *c, uint64_t hash, const char *name, int ranks, int rank);
void pp_nccl_comm_free(struct pp_nccl_comm *c);
/* Its line in the ring's header, to be written by the one thread that calls NCCL on it; NULL: none, or in a child of the rank. */
static inline struct pp_ring_nccl *pp_nccl_comm_line(const struct pp_nccl_comm *c)
{
	return c->row && atomic_load_explicit(&pp_wiped.owned, memory_order_relaxed) ? &c->row->nccl : NULL;
}
/* Its place among PP_NCCL_COMMS, and back; of another number too, some communicator. */
uint32_t pp_nccl_comm_number(const struct pp_nccl_comm *c);
struct pp_nccl_comm *pp_nccl_comm_at(uint32_t number);
/* Writes its COMM records, once while recording is on. */
void pp_nccl_comm_report(struct pp_nccl_comm *c);

/* Once, before the first communicator, and in forked children. */
void pp_nccl_masks_start(void);
/* Is NCCL asked for the times of channels on the device? */
int pp_nccl_has_channels(void);
/* A communicator begins: no longer asks for these times where /dev/shm is too small for them, and says so. 0 ranks: unknown. */
void pp_nccl_channels_check(int ranks, int nodes, int rank);
/* Are so many bytes of /dev/shm enough? */
int pp_nccl_shm_fits(uint64_t bytes, int ranks, int nodes);
/* Stores what is wanted in all masks: the calls, for the lines; `on`: records, too. Any thread, also in a signal handler. */
void pp_nccl_masks_set(int on);
/* What a chained plug-in asked for in that mask. */
int pp_nccl_mask_theirs(const struct pp_nccl_comm *c);

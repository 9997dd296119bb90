/* Events of NCCL's profiler. In: what the versions of the interface have in common, from nccl_plugin.c. Out: NCCL, NCCL_TASK and
 * NCCL_DONE records; the events of a chained plug-in (nccl_chain.h). On NCCL's threads and the application's. */
#pragma once

#include "core/source/nccl/nccl_comm.h"

struct pp_nccl_seen { /* an event of any version; 96 bytes, which compilers clear without a loop */
	uint32_t type;
	int peer; /* or root */
	void *parent;
	const char *function, *datatype, *algorithm, *protocol;
	uint64_t count;
	union {
		uint64_t sequence;
		uint64_t timer; /* of a channel */
	};
	uint8_t channels, warps, is_captured;
	uint8_t is_single; /* group: of one call that is in no group of the application */
	pid_t pid;
	/* for the chained plug-in: the struct as NCCL has it, and where it has handles of ours */
	void *event;
	void **handles[2];
};

/* Once, before the first event, and in forked children: the process whose handles are ours. */
void pp_nccl_event_start(pid_t pid);
/* Before the first event: 0 if the process may have no memory for events. */
int pp_nccl_event_has_room(void);
void pp_nccl_start(struct pp_nccl_comm *c, void **ret_handle, const struct pp_nccl_seen *e);
/* By a caller of that version of the interface. */
void pp_nccl_stop(uint32_t version, void *handle);
void pp_nccl_state(uint32_t version, void *handle, int state, void *arguments);
/* Before recording ends: counts the operations whose channels have not all ended. */
void pp_nccl_event_flush(void);

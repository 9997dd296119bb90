/* Requests under way: which call started a handle. A fixed table, spinlock a shard, no allocation.
 * In: handles from the nonblocking wrappers. Out: REQUEST records from the Wait and Test wrappers.
 *
 * Handles are reused as soon as MPI completed them, which may be seen by another thread before the wrapper here returns.
 * So: look before the real call, and remove only what still has the number that was seen. */
#pragma once

#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

struct pp_comm;

struct pp_request {
	MPI_Request handle;   /* NULL: free */
	struct pp_comm *comm; /* NULL: none */
	uint32_t life;        /* of comm, when it was started */
	uint32_t number;      /* 0: not known here, or persistent and not started */
	int32_t peer;         /* as posted: world rank, -1, -2 */
	uint16_t call;
	uint8_t receives;   /* its status says source and bytes */
	uint8_t persistent; /* stays when it ends; every start gives it a number */
	uint16_t flags;     /* what `peer` needs to be read: PP_MPI_PEER_IN_COMM */
	uint64_t sent;      /* persistent: bytes of each start */
};

/* 0 where the application's calls of MPI come one at a time (below MPI_THREAD_MULTIPLE): they order the table, too. Set once,
 * at the begin. */
extern int pp_request_shared __attribute__((visibility("hidden")));
extern _Atomic uint32_t pp_request_live __attribute__((visibility("hidden"))); /* requests in the table */

/* Number it (a persistent one: not yet) and put it in. Returns the number; 0 where the shard is full (counted). */
uint32_t pp_request_add(struct pp_request *request);
/* A number for an operation that was complete at once. */
uint32_t pp_request_number(void);
/* What is known of a handle; number 0 if nothing. */
void pp_request_find(MPI_Request handle, struct pp_request *ret_request);
void pp_request_remove(const struct pp_request *request);
/* A persistent one: what is known of it, with the number of the start that begins; number 0 where it is not in the table. */
void pp_request_start(MPI_Request handle, struct pp_request *ret_request);
/* It ended: removed, or, if persistent, waits for its next start. */
void pp_request_end(const struct pp_request *request);
/* Find and end it at once: for a call that comes back only when it has ended. */
void pp_request_take(MPI_Request handle, struct pp_request *ret_request);
/* It was taken and has not ended. */
void pp_request_put_back(const struct pp_request *request);
/* Operations that found no room. */
uint64_t pp_request_untied(void);

/* Requests under way: which call started a handle. A fixed table, spinlock a shard, no allocation.
 * In: handles from the nonblocking wrappers. Out: REQUEST records from the Wait and Test wrappers.
 *
 * Handles are reused as soon as MPI completed them, which may be seen by another thread before the wrapper here returns.
 * So: look before the real call, and remove only what still has the number that was seen. */
#ifndef PP_PMPI_REQUEST_H
#define PP_PMPI_REQUEST_H

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

extern _Atomic uint32_t pp_request_live __attribute__((visibility("hidden"))); /* requests in the table */

/* Number it (a persistent one: not yet) and put it in. Returns the number; 0 where the shard is full (counted). */
uint32_t pp_request_add(struct pp_request *request);
/* A number for an operation that was complete at once. */
uint32_t pp_request_number(void);
/* What is known of a handle; number 0 if nothing. */
void pp_request_find(MPI_Request handle, struct pp_request *ret_request);
void pp_request_remove(const struct pp_request *request);
/* A persistent one: number it, as a start of it begins; 0 where it is not in the table. */
uint32_t pp_request_start(MPI_Request handle);
/* It ended: removed, or, if persistent, waits for its next start. */
void pp_request_end(const struct pp_request *request);
/* Operations that found no room. */
uint64_t pp_request_untied(void);

#endif

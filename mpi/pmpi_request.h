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
	uint32_t number;      /* 0: not known here */
	int32_t peer;         /* as posted: world rank, -1, -2 */
	uint16_t call;
	uint16_t receives; /* its status says source and bytes */
};

extern _Atomic uint32_t pp_request_live __attribute__((visibility("hidden"))); /* requests in the table */

/* Number it and put it in. Returns the number; 0 where the shard is full (counted). */
uint32_t pp_request_add(struct pp_request *request);
/* A number for an operation that was complete at once. */
uint32_t pp_request_number(void);
/* What is known of a handle; number 0 if nothing. */
void pp_request_find(MPI_Request handle, struct pp_request *ret_request);
void pp_request_remove(const struct pp_request *request);
/* Operations that found no room. */
uint64_t pp_request_untied(void);

#endif

/* Pending requests: which call started a handle. A fixed table, one spinlock per shard, no allocation. In: handles from the
 * nonblocking wrappers. Out: REQUEST records from the Wait and Test wrappers.
 *
 * MPI reuses a handle as soon as it completed, which another thread may see before the wrapper here returns. So wrappers read
 * the entry before the real call, and remove it only if it still has that number. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/ring/record.h"

struct pp_comm;

struct pp_message_wild {     /* a receive of any source or tag, until it completes */
	int32_t source, tag; /* as posted: rank in the communicator */
	uint32_t post, number;
	uint8_t is_pending, is_torn; /* torn: another thread posted one at the same time */
	uint8_t is_unrecorded;       /* posted while nothing was recorded: its completion has no record */
};

struct pp_request {
	uint64_t key;         /* of the handle (mpi/abi.h); 0: free */
	struct pp_comm *comm; /* NULL: none */
	uint32_t life;        /* of comm, when it was started */
	uint32_t number;      /* 0: unknown, or persistent and not started */
	int32_t peer;         /* as posted: world rank, -1, -2 */
	uint16_t call;
	uint8_t receives;   /* its status has source and bytes */
	uint8_t persistent; /* stays in the table when it completes; every start gives it a number */
	uint16_t flags;     /* how to read `peer`: PP_MPI_PEER_IN_COMM */
	uint32_t sequence;  /* of the communicator's collectives, when it was started */
	uint64_t sent;      /* persistent: bytes of each start */
	int32_t rank, tag;  /* persistent: as the application gave them */
	struct pp_message_wild wild;
	struct pp_record_message_half half; /* MPI_Message: of the probe that took it */
};

/* 0 where the application calls MPI from one thread at a time (below MPI_THREAD_MULTIPLE): then the table needs no lock. Set
 * once, at the begin. */
extern int pp_request_shared __attribute__((visibility("hidden")));
extern _Atomic uint32_t pp_request_live __attribute__((visibility("hidden"))); /* requests in the table */

/* Numbers it (a persistent one: not yet) and adds it. Returns the number; 0 where the shard is full (counted). */
uint32_t pp_request_add(struct pp_request *request);
/* A number for an operation that was complete at once. */
uint32_t pp_request_number(void);
/* The entry of a handle; number 0 if there is none. */
void pp_request_find(uint64_t key, struct pp_request *ret_request);
void pp_request_remove(const struct pp_request *request);
/* Starts a persistent one: its entry, with the number of the new start; number 0 where it is not in the table. */
void pp_request_start(uint64_t key, struct pp_request *ret_request);
/* A started one receives of any source or tag. */
void pp_request_set_wild(const struct pp_request *request, const struct pp_message_wild *wild);
/* It completed: removed, or, if persistent, waits for its next start. */
void pp_request_end(const struct pp_request *request);
/* Finds and ends it: for a call that returns only when it has completed. */
void pp_request_take(uint64_t key, struct pp_request *ret_request);
/* Puts back an entry of pp_request_take() that has not completed. */
void pp_request_put_back(const struct pp_request *request);
/* Operations that found no room. */
uint64_t pp_request_uncorrelated(void);

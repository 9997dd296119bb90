/* Each thread's state: one struct for the objects of all ABIs, in the dispatcher's static memory. A library that is loaded while
 * the program runs may find no room for memory of its own in each thread. In and out: the wrappers. */
#pragma once

#include <stdint.h>

#include "core/ring/record.h"
#include "mpi/dispatch/shared.h"

struct pp_mpi_thread {
	uint32_t depth;      /* 1: inside a wrapper; calls that libmpi and other libraries' wrappers make are not recorded */
	uint32_t cache_gen;  /* pp_comm_gen when `cache` was found */
	uint32_t is_polling; /* 1: inside a wrapper, but not yet inside the real call */
	const void *by_pmpi; /* the caller, if it called by the name PMPI_X; the wrapper clears it */
	uint64_t cache_key;  /* of `cache` */
	struct pp_comm *cache;
	struct pp_where *where;
	struct pp_ring_cursor *cursor;
	const struct pp_record *poll_next; /* where the cursor stood after the last unsuccessful poll */
	struct pp_record poll;             /* unsuccessful polls so far, one record (mpi/pmpi_poll.c) */
	uint32_t polls;                    /* how many; 0: no record is waiting */
	uint32_t messages;                 /* since the last collective on MPI_COMM_WORLD that the pattern got */
	uint32_t request, requests_left;   /* the last number of a request, and how many more this thread may give */
};

extern __thread struct pp_mpi_thread pp_mpi_thread PP_SHARED(thread) __attribute__((tls_model("initial-exec")));

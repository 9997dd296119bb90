/* What differs between the binary interfaces of MPI libraries: the only file that names an MPI. All other files of mpi/ compile
 * against the mpi.h of each, and are compiled once for each. In: handles and statuses of the application. Out: keys of handles,
 * fields of statuses, the objects that podprof passes to MPI itself.
 *
 *   Open MPI   handles are pointers to objects of the library, found by name: nothing here is linked with it, and an executable may
 *              hold the live copy of such an object
 *   MPICH      handles are int with constants, files are pointers; MPICH 3.1 and later, Intel MPI, Cray MPICH, MVAPICH
 */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/dispatch/next.h"

/* A handle as a number that no handle of another kind has, in the tables of requests and of communicators, windows and files. That
 * of an int has its highest bit set, as no pointer has. 0: none. */
#define PP_KEY(handle)                                                                                                             \
	(sizeof(handle) < sizeof(void *) ? (uint64_t)1 << 63 | (uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))

/* What podprof compares handles with, and passes to MPI. */
struct pp_mpi_names {
	MPI_Comm world, self, comm_null;
	MPI_Request request_null, request_empty;
	MPI_Errhandler errors_return;
	MPI_Datatype int64, byte;
	MPI_Op max, no_op;
};

#if defined(OPEN_MPI)

typedef struct ompi_instance_t *pp_session; /* MPI_Session, which Open MPI 4 lacks */

/* 0: this process has not that MPI. */
static inline int pp_abi_find(struct pp_mpi_names *ret)
{
	ret->world = pp_mpi_object("ompi_mpi_comm_world");
	ret->self = pp_mpi_object("ompi_mpi_comm_self");
	ret->comm_null = pp_mpi_object("ompi_mpi_comm_null");
	ret->request_null = pp_mpi_object("ompi_request_null");
	ret->request_empty = pp_mpi_object("ompi_request_empty");
	ret->errors_return = pp_mpi_object("ompi_mpi_errors_return");
	ret->int64 = pp_mpi_object("ompi_mpi_int64_t");
	ret->byte = pp_mpi_object("ompi_mpi_byte");
	ret->max = pp_mpi_object("ompi_mpi_op_max");
	ret->no_op = pp_mpi_object("ompi_mpi_op_no_op");
	return ret->world && ret->self && ret->comm_null && ret->request_null;
}

/* Bytes of the message or of the file access. */
static inline uint64_t pp_status_bytes(const MPI_Status *status)
{
	return status->_ucount;
}

static inline int pp_status_cancelled(const MPI_Status *status)
{
	return status->_cancelled;
}

/* Is the operation complete, or none? Such operations share one handle, so that no later call can tell them apart. */
static inline int pp_request_is_done(const struct pp_mpi_names *names, MPI_Request handle)
{
	return handle == names->request_null || handle == names->request_empty;
}

#elif defined(MPICH_VERSION) || defined(I_MPI_NUMVERSION)

#if defined(MPI_SESSION_NULL)
typedef MPI_Session pp_session;
#else
typedef int pp_session;
#endif

static inline int pp_abi_find(struct pp_mpi_names *ret)
{
	*ret = (struct pp_mpi_names){
	        .world = MPI_COMM_WORLD,
	        .self = MPI_COMM_SELF,
	        .comm_null = MPI_COMM_NULL,
	        .request_null = MPI_REQUEST_NULL,
	        .request_empty = MPI_REQUEST_NULL,
	        .errors_return = MPI_ERRORS_RETURN,
	        .int64 = MPI_INT64_T,
	        .byte = MPI_BYTE,
	        .max = MPI_MAX,
	        .no_op = MPI_NO_OP,
	};
	return pp_mpi_real("PMPI_Init") != NULL;
}

static inline uint64_t pp_status_bytes(const MPI_Status *status)
{
	return (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32 | (uint32_t)status->count_lo;
}

static inline int pp_status_cancelled(const MPI_Status *status)
{
	return status->count_hi_and_cancelled & 1;
}

/* The two highest bits of a handle say how it is held: 1 is an object that is there from the begin, as the null request is. A
 * request of this kind belongs to every small message that was sent at once. */
static inline int pp_request_is_done(const struct pp_mpi_names *names, MPI_Request handle)
{
	return handle == names->request_null || (unsigned)handle >> 30 == 1;
}

#else
#error "mpi/abi.h knows the handles of Open MPI and of MPICH; set MPI_C_COMPILER to the mpicc of one of them"
#endif

/* A status that the application passed, or NULL where it ignores it: the constant is no address to read in some MPIs. */
static inline const MPI_Status *pp_status_seen(const MPI_Status *status)
{
	return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE ? NULL : status;
}

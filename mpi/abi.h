/* What differs between the binary interfaces of MPI libraries: the only file that names an MPI. All other files of mpi/ compile
 * against the mpi.h of each, and are compiled once for each. In: handles and statuses of the application. Out: keys of handles,
 * fields of statuses, the objects that podprof passes to MPI itself.
 *
 * Open MPI: handles are pointers to objects of the library, found by name: nothing here is linked with it, and an executable may
 * hold the live copy of such an object.
 * MPICH (3.1 and later, Intel MPI, Cray MPICH, MVAPICH): handles are int with constants, files are pointers.
 * Standard (MPI 5): handles are pointers with constants; what a status holds is asked of the library. */
#pragma once

#if defined(PP_MPI_STANDARD_ABI)
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/dispatch/next.h"

/* A handle as a number that no handle of another kind has, in the tables of requests and of communicators, windows and files. That
 * of an int has its highest bit set, as no pointer has. 0: none. */
#if defined(MPICH_VERSION) || defined(I_MPI_NUMVERSION)
#define PP_KEY(handle)                                                                                                             \
	(sizeof(handle) < sizeof(void *) ? (uint64_t)1 << 63 | (uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))
#else
#define PP_KEY(handle) ((uint64_t)(uintptr_t)(handle))
#endif

/* Where pointers to functions are held that were found by pp_mpi_real() or pp_mpi_next(). All are cleared when MPI begins with
 * another library than before. */
#define PP_MPI_FOUND __attribute__((section("pp_mpi_found")))

enum { PP_SHARED_KINDS = 3 };

/* What podprof compares handles with, and passes to MPI. */
struct pp_mpi_names {
	MPI_Comm world, self, comm_null;
	MPI_Request request_null, request_empty;
	MPI_Request request_shared[PP_SHARED_KINDS]; /* standard ABI: of complete operations; pp_abi_learn() */
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

/* After MPI_Init, inside it: what pp_request_is_done() must know more. */
static inline void pp_abi_learn(struct pp_mpi_names *names)
{
	(void)names;
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

static inline void pp_abi_learn(struct pp_mpi_names *names)
{
	(void)names;
}

/* The two highest bits of a handle say how it is held: 1 is an object that is there from the begin, as the null request is. A
 * request of this kind belongs to every small message that was sent at once. */
static inline int pp_request_is_done(const struct pp_mpi_names *names, MPI_Request handle)
{
	return handle == names->request_null || (unsigned)handle >> 30 == 1;
}

#elif defined(PP_MPI_STANDARD_ABI)

typedef MPI_Session pp_session;

static inline int pp_abi_find(struct pp_mpi_names *ret)
{
	*ret = (struct pp_mpi_names){
	        .world = MPI_COMM_WORLD,
	        .self = MPI_COMM_SELF,
	        .comm_null = MPI_COMM_NULL,
	        .request_null = MPI_REQUEST_NULL,
	        .request_empty = MPI_REQUEST_NULL,
	        .request_shared = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL},
	        .errors_return = MPI_ERRORS_RETURN,
	        .int64 = MPI_INT64_T,
	        .byte = MPI_BYTE,
	        .max = MPI_MAX,
	        .no_op = MPI_NO_OP,
	};
	return pp_mpi_real("PMPI_Init") != NULL;
}

/* The library's function, or NULL; looked up once. */
#define PP_ABI_ASKED(symbol)                                                                                                       \
	PP_MPI_FOUND static _Atomic(__typeof__(&MPI_##symbol)) asked_;                                                             \
	__typeof__(&MPI_##symbol) ask = atomic_load_explicit(&asked_, memory_order_relaxed);                                       \
	if (__builtin_expect(!ask, 0)) {                                                                                           \
		ask = (__typeof__(ask))pp_mpi_real("PMPI_" #symbol);                                                               \
		atomic_store_explicit(&asked_, ask, memory_order_relaxed);                                                         \
	}

static inline uint64_t pp_status_bytes(const MPI_Status *status)
{
	MPI_Count bytes = 0;

	PP_ABI_ASKED(Get_elements_c)
	return ask && ask(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0 ? (uint64_t)bytes : 0;
}

static inline int pp_status_cancelled(const MPI_Status *status)
{
	int flag = 0;

	PP_ABI_ASKED(Test_cancelled)
	return ask && ask(status, &flag) == MPI_SUCCESS && flag;
}

/* Two operations that are complete when they begin: if they have one handle, it is that of all such operations of their kind, of
 * which MPICH has one each, an object among others. */
static inline void pp_abi_learn(struct pp_mpi_names *names)
{
	__typeof__(&MPI_Isend) isend = (__typeof__(isend))pp_mpi_real("PMPI_Isend");
	__typeof__(&MPI_Irecv) irecv = (__typeof__(irecv))pp_mpi_real("PMPI_Irecv");
	__typeof__(&MPI_Ibarrier) ibarrier = (__typeof__(ibarrier))pp_mpi_real("PMPI_Ibarrier");
	__typeof__(&MPI_Wait) await = (__typeof__(await))pp_mpi_real("PMPI_Wait");

	for (int kind = 0; kind < PP_SHARED_KINDS && isend && irecv && ibarrier && await; kind++) {
		MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
		int rc = 0;

		for (int i = 0; i < 2; i++)
			rc |= kind == 0   ? isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &r[i])
			      : kind == 1 ? irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &r[i])
			                  : ibarrier(MPI_COMM_SELF, &r[i]);
		names->request_shared[kind] = !rc && r[0] == r[1] ? r[0] : MPI_REQUEST_NULL;
		for (int i = 0; i < 2; i++)
			await(&r[i], MPI_STATUS_IGNORE);
	}
}

static inline int pp_request_is_done(const struct pp_mpi_names *names, MPI_Request handle)
{
	int is_done = handle == names->request_null;

	for (int kind = 0; kind < PP_SHARED_KINDS; kind++)
		is_done |= handle == names->request_shared[kind];
	return is_done;
}

#else
#error "mpi/abi.h knows the handles of Open MPI and of MPICH; set MPI_C_COMPILER to the mpicc of one of them"
#endif

/* A status that the application passed, or NULL where it ignores it: the constant is no address to read in some MPIs. */
static inline const MPI_Status *pp_status_seen(const MPI_Status *status)
{
	/* NOLINTNEXTLINE(misc-redundant-expression): the two differ in some MPIs */
	return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE ? NULL : status;
}

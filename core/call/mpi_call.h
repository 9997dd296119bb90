/* Rows of core/call/mpi_call.def for readers of records: no MPI types here.
 * In: `call` of a record. Out: name and class. The table is PP_MPI(symbol, class, ...signature) rows; readers take four columns. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pp_mpi_class {
	PP_MPI_LOCAL, /* Init, Finalize, Comm_* and others that are only shown */
	PP_MPI_SEND,  /* blocking or nonblocking send */
	PP_MPI_RECV,
	PP_MPI_SENDRECV,
	PP_MPI_PROBE,
	PP_MPI_WAIT,       /* Wait and Test families */
	PP_MPI_ALL,        /* needs the data of all ranks: allreduce, barrier, alltoall, allgather; makers may do without */
	PP_MPI_FROM_ROOT,  /* bcast, scatter */
	PP_MPI_TO_ROOT,    /* reduce, gather: only the root waits */
	PP_MPI_PREFIX,     /* scan, exscan: needs lower ranks */
	PP_MPI_LOCAL_INIT, /* Init, Init_thread, Finalize */
	PP_MPI_START,      /* of a persistent request: a receive where the record has the flag RECEIVES */
	PP_MPI_NEAR,       /* waits for its neighbours in the process topology only */
	PP_MPI_PUT,        /* one-sided, from this rank to the peer */
	PP_MPI_GET,        /* from the peer to this rank */
	PP_MPI_PUTGET,     /* both ways */
	PP_MPI_EPOCH,      /* may wait for peers that the record does not name: lock, flush, start, wait */
	PP_MPI_FENCE,      /* all ranks, which need not all wait for each other: an assertion may say so */
	PP_MPI_FILE_ALL,   /* all ranks of a file, no data: open, close, view, size */
	PP_MPI_READ,       /* from a file */
	PP_MPI_WRITE,      /* to a file; also sync and delete */
	PP_MPI_READ_ALL,   /* all ranks of a file together */
	PP_MPI_WRITE_ALL,
};

/* How much of a collective's bytes one link carries, as in nccl-tests. */
enum pp_bus {
	PP_BUS_WHOLE,     /* all of them */
	PP_BUS_OTHERS,    /* those of the n - 1 other ranks */
	PP_BUS_ALLREDUCE, /* these twice: a reduce_scatter and an allgather */
};

enum {
	PP_C10D_FIRST = 512, /* call numbers from here on are rows of core/call/c10d_call.def */
	PP_NCCL_FIRST = 640, /* of core/call/nccl_call.def */
	PP_CALL_NUMBERS = 768,
};

struct pp_mpi_call {
	const char *name; /* "MPI_Allreduce" */
	enum pp_mpi_class class;
	int nonblocking; /* returns a request */
	const char *family;
};

/* Row of a call number; one with name "MPI_?" for a number that is not in the table. */
const struct pp_mpi_call *pp_mpi_call_info(unsigned call);
unsigned pp_mpi_call_count(void);
int pp_mpi_call_is_known(unsigned call);
/* Call number of a range of torch.distributed: "c10d::allreduce_" by its whole name, a backend's "gloo:all_reduce" by the
 * part after the colon. 0: none (that number is MPI_Init, which has no range). */
unsigned pp_c10d_call_of(const char *name, size_t length);
unsigned pp_c10d_call_of_backend(const char *name, size_t length);
/* Call number of an operation as NCCL's profiler names it: "AllReduce"; PP_NCCL_FIRST for others. */
unsigned pp_nccl_call_of(const char *function);
/* Is a call of this class joined with the other ranks' calls, by communicator and sequence number? */
int pp_mpi_class_joins(enum pp_mpi_class class);
/* Is a call of this class an operation with other ranks that has a row in the ledger: joined, or a message? */
int pp_mpi_class_is_operation(enum pp_mpi_class class);
/* A class of messages: one end, or both. */
int pp_mpi_class_is_message(enum pp_mpi_class class);
/* The call number that stands for a message of such a call in the ledger: MPI_Send, ncclSend. */
unsigned pp_mpi_call_of_message(unsigned call);
/* A class that is about a file. */
int pp_mpi_class_is_file(enum pp_mpi_class class);
/* A collective that all members of a communicator call and that makes no communicator, window or file. */
int pp_mpi_call_is_collective(unsigned call);
/* From algorithm bandwidth to bus bandwidth. */
double pp_mpi_call_bus_factor(unsigned call, int32_t ranks);
/* max(sent, received) of such a call is the same on all ranks. */
int pp_mpi_call_has_equal_bytes(unsigned call);
/* An MPI collective that only moves its arguments' data: a rank that receives none need not wait. Neighbours exchange empty
 * messages too, but Open MPI returns at once from two of their calls where the count is 0. */
int pp_mpi_call_only_moves_data(unsigned call);
/* A collective of torch.distributed or NCCL that is, or may be, made of sends and receives between pairs: a rank's part of it
 * may end without some of the others. */
int pp_mpi_call_is_exchange(unsigned call);
/* Such a call combines data of several ranks; a barrier or a broadcast does not. */
int pp_mpi_call_joins_data(unsigned call);
/* It returns at once, whether or not what it asks for is there: Test, Iprobe and their families. */
int pp_mpi_call_polls(unsigned call);

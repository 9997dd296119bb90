/* Calls of the stand-in of libnccl, with NCCL's signatures; a stream is its number in the driver's stand-in. Results are NCCL's.
 * Of a group, all sends and receives are one kernel, which is on the stream of the first. */
#pragma once

#include <stddef.h>

struct ncclComm;

struct replay_nccl_id { /* ncclUniqueId: all ranks give the same name, with which the file begins where they meet */
	char name[128];
};

enum replay_nccl_kind {
	REPLAY_NCCL_ALLREDUCE,
	REPLAY_NCCL_ALLGATHER,
	REPLAY_NCCL_REDUCE_SCATTER,
	REPLAY_NCCL_BROADCAST,
	REPLAY_NCCL_SEND,
	REPLAY_NCCL_RECV,
	REPLAY_NCCL_KINDS
};
enum { REPLAY_NCCL_FLOAT = 7 }; /* ncclFloat32; all others count as bytes */

int ncclCommInitRank(struct ncclComm **ret_comm, int ranks, struct replay_nccl_id id, int rank);
int ncclCommDestroy(struct ncclComm *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *send, void *receive, size_t count, int datatype, int operation, struct ncclComm *comm, void *stream);
int ncclAllGather(const void *send, void *receive, size_t count, int datatype, struct ncclComm *comm, void *stream);
int ncclReduceScatter(const void *send, void *receive, size_t count, int datatype, int operation, struct ncclComm *comm,
                      void *stream);
int ncclBroadcast(const void *send, void *receive, size_t count, int datatype, int root, struct ncclComm *comm, void *stream);
int ncclSend(const void *send, size_t count, int datatype, int peer, struct ncclComm *comm, void *stream);
int ncclRecv(void *receive, size_t count, int datatype, int peer, struct ncclComm *comm, void *stream);

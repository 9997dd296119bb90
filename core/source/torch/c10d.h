/* Calls of torch.distributed's backends, in every capture and outside: c10d_entry.S exports the methods of ProcessGroupGloo,
 * ProcessGroupNCCL and Work by their mangled names, and since this library is preloaded, torch's own tables point there.
 *
 *   method > c10d_entry.S > enter(), the method itself, leave() > records MPI and MESSAGE of this thread, while recording;
 *     where a Work completes, on any thread, a REQUEST > aggregate/read/ring: spans of calls and waits, and rows of
 *     pp_rank.annotation with the ends > aggregate/read/torch/c10d_match.c: requests > the ledger and the graph, as of MPI
 *
 * Only the outermost call of a thread counts. In: arguments, read where they are. Out: records. The shim tells which groups there
 * are, and where a tensor has its size. */
#pragma once

#include <stdint.h>

struct pp_c10d_group;

struct pp_c10d_frame {        /* on the stack of a call; c10d_entry.S knows the first three */
	uint64_t argument[8]; /* registers of integers; x86-64: 6 of them */
	uint64_t result;      /* aarch64: x8 */
	uint64_t reserved;
	uint64_t method;          /* row of c10d_method.def */
	struct pp_c10d_frame *up; /* the call around it on this thread */
	struct pp_c10d_group *group;
	uint64_t begin; /* tick */
	uint64_t comm, sent, received;
	uint64_t inner;     /* the Work of a call inside: gloo's reduce_scatter completes with its allreduce */
	uint32_t sequence;  /* of a collective; of a message its number */
	int32_t peer, tag;  /* world rank of peer or root, -1 */
	uint16_t was;       /* of this thread's line */
	uint8_t is_outer;   /* no other call is around it, or only one that runs a program's callbacks */
	uint8_t is_no_call; /* it is none: FINISH, ASK, GONE */
	uint8_t is_recorded;
};

/* Of c10d_entry.S. */
void *pp_c10d_enter(struct pp_c10d_frame *f);
void pp_c10d_leave(struct pp_c10d_frame *f);
int pp_c10d_personality(int version, int actions, uint64_t class, void *exception, void *context);
/* The object whose getSequenceNumberForGroup() this thread called last; 0: none since the last call. *ret_on_host: its
 * operations wait on threads of this process, not on a device. */
uint64_t pp_c10d_asked(int *ret_on_host);

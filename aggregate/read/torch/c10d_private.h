/* State that the files c10d*.c share: one rank's collectives while ranges become calls. Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/call/mpi_call.h"
#include "core/capture/span.h"
#include "core/ring/record.h"

struct pp_annotation;
struct pp_rank;

enum c10d_row { /* call numbers */
	        C10D_BEFORE = PP_C10D_FIRST - 1,
#define PP_C10D(symbol, ...) C10D_##symbol,
#include "core/call/c10d_call.def"
#undef PP_C10D
};

enum c10d_what { /* meaning of a range, by its name */
	         C10D_NOTHING,
	         C10D_CALL,    /* c10d::allreduce_: only begins it */
	         C10D_WORK,    /* gloo:all_reduce, on a thread of the backend: ends when it is complete */
	         C10D_ENQUEUE, /* nccl:all_reduce, inside the call: complete when its device says so */
	         C10D_WAITS,   /* c10d::wait */
	         C10D_AROUND,  /* backward, DistributedDataParallel.forward: C++ waits inside, without a range */
};

struct c10d_name {
	uint8_t what;  /* enum c10d_what */
	uint16_t call; /* CALL: of it; WORK: c10d_operation() of it */
};

#define C10D_UNKNOWN INT64_MIN
#define C10D_ENGINE "<built-in method run_backward of " /* the frame of backward where a profiler records Python's */

struct c10d_call {
	struct pp_span *span;
	const struct pp_annotation *annotation; /* NULL: not annotated */
	int64_t done;                           /* when it was complete; C10D_UNKNOWN */
	size_t request_at;                      /* 1 + its request in extra[]; 0: none */
	uint32_t thread;
	uint32_t next;         /* of its queue, index + 1 */
	uint16_t operation;    /* c10d_operation() of its call */
	uint8_t enqueued;      /* its end is on a device */
	uint8_t is_nccl;       /* calls of NCCL inside have records of their own: it stays a range */
	struct pp_span *inner; /* send, recv: the backend's range, on the same thread; NULL */
};

struct c10d_work {
	struct pp_span *span;
	int64_t begin, end;
	uint32_t thread;
	uint16_t operation;
	uint8_t is_cut; /* its end was not seen */
	uint8_t call;   /* 1: it is the work of a call */
};

struct c10d_extra { /* a span to come */
	struct pp_span span;
	uint32_t thread;
};

struct c10d {
	struct pp_rank *rank;
	const struct c10d_name *name; /* by intern id */
	uint32_t names;
	struct pp_intern *texts;
	struct c10d_call *call; /* by begin */
	size_t calls, calls_room;
	struct c10d_work *work; /* by begin */
	size_t works, works_room;
	struct c10d_extra *extra;
	size_t extras, extras_room, operations_room;
	int has_waits; /* the rank recorded calls that wait */
};

static inline const struct c10d_name *c10d_name_of(const struct c10d *c, const struct pp_span *span)
{
	static const struct c10d_name none;

	return span->name < c->names ? &c->name[span->name] : &none;
}

/* A call with a record of its own (core/source/torch), not a range that stands for it. Its request is the Work's address. */
static inline int c10d_is_recorded(const struct pp_span *s)
{
	return s->kind == PP_SPAN_MPI && s->source == PP_SOURCE_SHIM && s->mpi.call >= PP_C10D_FIRST && s->mpi.call < PP_NCCL_FIRST;
}

static inline int c10d_is_peer_to_peer(unsigned call)
{
	return call == C10D_SEND || call == C10D_RECV || call == C10D_RECV_ANY;
}

/* Calls of the same operation are interchangeable: gloo runs reduce_scatter as all_reduce. */
static inline uint16_t c10d_operation(unsigned call)
{
	switch (call) {
	case C10D_ALLREDUCE_COALESCED:
	case C10D_REDUCE_SCATTER:
	case C10D_REDUCE_SCATTER_BASE:
	case C10D_REDUCE_SCATTER_INTO:
		return C10D_ALLREDUCE;
	case C10D_ALLGATHER_BASE:
	case C10D_ALLGATHER_COALESCED:
	case C10D_ALLGATHER_INTO:
		return C10D_ALLGATHER;
	case C10D_ALLTOALL_BASE:
		return C10D_ALLTOALL;
	default:
		return (uint16_t)call;
	}
}

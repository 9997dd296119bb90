/* What build.c and its parts share: collective.c joins calls, late.c charges them. Internal. In: spans of all ranks. Out: rows
 * of pp_dataset. */
#pragma once

#include "aggregate/analyze/operation.h"
#include "aggregate/analyze/waiting.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/order.h"

enum pp_call_need {                   /* how a call's own time splits, pp_call.need */
	            PP_NEED_NONE = 0, /* neither waiting nor transfer: point to point, or a test that found nothing */
	            PP_NEED_UNTIL,    /* waits until `until`, then transfers */
	            PP_NEED_UNSPLIT,  /* neither, but of an operation that is known: waited.row */
};

struct pp_call { /* a span that waits in operations, or may */
	struct pp_waited waited;
	uint32_t need; /* enum pp_call_need */
	uint32_t open; /* in a part: number + 1 in pp_join.open; its waiting is decided when all parts are in */
};

struct pp_member { /* one rank's part in a collective, or one end of a message */
	struct pp_operation_key key;
	uint32_t worker; /* index of the worker */
	uint32_t thread, span;
	int64_t arrival, exit;
	uint32_t request; /* nonblocking: its request; 0 blocking */
	uint8_t exit_known;
	uint8_t is_root;
	uint8_t is_open;          /* in a part: other hosts may have members of it too */
	uint16_t call, operation; /* operation: as the row of /collective names it */
	struct pp_waited waited;  /* unless it is open */
};

struct pp_dataset_input; /* build.h */

struct pp_join {
	const struct pp_dataset_input *in;
	struct pp_dataset *d;
	uint32_t *worker_of;      /* [capture->ranks] */
	int32_t *rank_of;         /* [workers] index into capture->rank, -1: the rank delivered nothing */
	struct pp_member *member; /* by communicator, sequence, worker */
	size_t members;
	uint8_t **lap_taken;           /* [capture->ranks][laps]: a row has it */
	struct pp_operation_runs *run; /* [capture->ranks] */
	struct pp_call **open;         /* [opens] */
	size_t opens;
	uint32_t names;
	uint64_t *unclassified; /* [names] calls that only the default rule matches, by op.c for quality.c */
	/* [capture->ranks][threads][spans] number + 1 in noted[]; NULL where the thread has none. NULL as a whole: calls are not
	 * noted. Most spans have none, and pp_call is large. */
	uint32_t ***call;
	struct pp_call *noted; /* [noteds], at most two a member */
	size_t noteds;
};

/* NULL: the span waits in no operation. */
static inline struct pp_call *pp_join_call(const struct pp_join *j, size_t rank, uint32_t thread, uint32_t span)
{
	const uint32_t *number = j->call[rank][thread];

	return number && number[span] ? &j->noted[number[span] - 1] : NULL;
}

/* How operations of NCCL ran on devices, for /collective and /channel. */
int pp_join_operations(struct pp_join *j);
/* /collective, and until when every call of an operation and every Wait for one waited. */
int pp_join_collectives(struct pp_join *j);
/* /channel */
int pp_join_channels(struct pp_join *j);
/* /communicator and /neighbour */
int pp_join_communicators(struct pp_join *j);
/* /file */
int pp_join_files(struct pp_join *j);
/* /op */
int pp_join_ops(struct pp_join *j);
/* /op_idle */
int pp_join_idle(struct pp_join *j);
/* /kernel */
int pp_join_kernels(struct pp_join *j);
/* /input: what the framework's shim says of its data loader */
int pp_join_input(struct pp_join *j);
/* /input_op: input operations of hosts' threads and copies to devices */
int pp_join_input_ops(struct pp_join *j);
/* /input_between */
int pp_join_input_between(struct pp_join *j);
/* /allocator, /memory_timeline, /memory_peak */
int pp_join_memory_profile(struct pp_join *j);
/* /memory_pool */
int pp_join_memory_pool(struct pp_join *j);

/* The tables whose rows are those of a side array. */
int pp_join_side_tables(struct pp_join *j);
/* /torch_memory */
int pp_join_torch_memory(struct pp_join *j);
/* /process, and what starting up and shutting down took */
int pp_join_process(struct pp_join *j);
/* /trace_file */
int pp_join_trace_files(struct pp_join *j);
/* wait_ns and transfer_ns of cells; late; /budget. In a part, `exposed` takes what other hosts' ranks decide. */
int pp_join_late(struct pp_join *j);
/* The part of /quality that needs all ranks, once the tables are sealed. */
void pp_dataset_quality(struct pp_dataset *d);
/* Warnings of /quality, and by_default of all ranks */
int pp_join_quality(struct pp_join *j);

/* What build.c and its parts share: collective.c joins calls, exposed.c lists when they wait. Internal. In: spans of all ranks.
 * Out: rows of pp_dataset. */
#pragma once

#include "aggregate/analyze/operation.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/order.h"

struct pp_call {               /* a span that starts operations, or waits for some */
	uint32_t starts;       /* the first of them: number + 1 in pp_join.member; 0: none */
	uint32_t waits;        /* number from 1, in the order of the first rows that it waits for; 0: it waits for none */
	int64_t kernel_end_ns; /* of the kernel that it waits for; 0: it waits for none */
};

struct pp_member { /* one rank's part in a collective, or one end of a message */
	struct pp_operation_key key;
	uint32_t worker; /* index of the worker, and of capture->rank */
	uint32_t thread, span;
	int64_t arrival, exit;
	uint32_t request; /* nonblocking: its request; 0 blocking */
	uint8_t exit_known;
	uint8_t is_root;
	uint16_t call, operation; /* operation: as the row of /collective names it */
};

struct pp_dataset_input; /* build.h */

struct pp_join {
	const struct pp_dataset_input *in;
	struct pp_dataset *d;
	struct pp_member *member; /* by communicator, sequence, worker */
	size_t members;
	uint8_t **lap_taken;           /* [capture->ranks][laps]: a row has it */
	struct pp_operation_runs *run; /* [capture->ranks] */
	uint32_t names;
	uint64_t *unclassified; /* [names] calls that only the default rule matches, by op.c for quality.c */
	/* [capture->ranks][threads][spans] number + 1 in noted[]; NULL where the thread has none. Most spans have none. */
	uint32_t ***call;
	struct pp_call *noted; /* [noteds], at most three a member */
	size_t noteds;
	uint32_t waits; /* how many of them wait */
};

/* NULL: the span is of no operation. */
static inline struct pp_call *pp_join_call(const struct pp_join *j, size_t rank, uint32_t thread, uint32_t span)
{
	const uint32_t *number = j->call[rank][thread];

	return number && number[span] ? &j->noted[number[span] - 1] : NULL;
}

struct pp_rank;
struct pp_step_cell;

/* Levels of /worker */
int pp_join_levels(struct pp_join *j);
/* Is it a step of the rank with as much recorded as in any of its steps? */
int pp_join_has_level(const struct pp_join *j, size_t rank, const struct pp_step_cell *cell);
/* How operations of NCCL ran on devices, for /collective and /channel. */
int pp_join_operations(struct pp_join *j);
/* /collective, and which call waits for every row. */
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
/* /tf_data_pipeline, /tf_data_iterator, /tf_data_call, /tf_data_node */
int pp_join_tf_data(struct pp_join *j);
/* /input_between */
int pp_join_input_between(struct pp_join *j);
/* /allocator, /memory_timeline, /memory_peak */
int pp_join_memory_profile(struct pp_join *j);
/* /memory_pool */
int pp_join_memory_pool(struct pp_join *j);
/* /gpu, from the samples of the GPUs. */
int pp_join_gpu(struct pp_join *j);
/* /port, from the readings of network ports. */
int pp_join_port(struct pp_join *j);

/* The tables whose rows are those of a side array. */
int pp_join_side_tables(struct pp_join *j);
/* /torch_memory */
int pp_join_torch_memory(struct pp_join *j);
/* /process, and what starting up and shutting down took */
int pp_join_process(struct pp_join *j);
/* /trace_file */
int pp_join_trace_files(struct pp_join *j);
/* pp_dataset.exposed, until pp_dataset_finish(); what no operation decides of transfer_ns, point_to_point_ns and /budget. */
int pp_join_exposed(struct pp_join *j);
/* The part of /quality that needs all ranks, once the tables are sealed. */
void pp_dataset_quality(struct pp_dataset *d);
/* Warnings of /quality, and by_default of all ranks */
int pp_join_quality(struct pp_join *j);

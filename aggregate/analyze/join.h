/* Inside of the dataset's making: what collective.c joins and late.c charges. Used by build.c and its parts only.
 * In: spans of all ranks. Out: rows of pp_dataset. */
#pragma once

#include "aggregate/analyze/waiting.h"
#include "aggregate/dataset/dataset.h"

enum pp_call_need {                   /* what a call's own time is, pp_call.need */
	            PP_NEED_NONE = 0, /* neither waiting nor transfer: point to point, or a test that saw nothing */
	            PP_NEED_UNTIL,    /* waits until `until`, then transfers */
};

struct pp_call { /* one span of a thread with MPI calls */
	struct pp_waited waited;
	uint32_t need; /* enum pp_call_need */
	uint32_t open; /* part: number + 1 among pp_join.open: what it waits for is known when all parts are in */
};

struct pp_member { /* one rank's part in a collective */
	uint64_t comm;
	uint32_t sequence;
	uint32_t worker; /* index of the worker */
	uint32_t thread, span;
	int64_t arrival, exit;
	uint32_t request; /* nonblocking: its request; 0 blocking */
	uint8_t exit_known;
	uint8_t is_root;
	uint8_t is_open; /* part: other hosts may have members of it too */
	uint16_t call;
	struct pp_waited waited; /* but for open ones */
};

struct pp_dataset_input; /* build.h */

struct pp_join {
	const struct pp_dataset_input *in;
	struct pp_dataset *d;
	uint32_t *worker_of;      /* [capture->ranks] */
	int32_t *rank_of;         /* [workers] index into capture->rank, -1: nothing came of it */
	struct pp_member *member; /* by communicator, sequence, worker */
	size_t members;
	struct pp_call **open; /* [opens] */
	size_t opens;
	struct pp_call ***call; /* [capture->ranks][threads][spans]; NULL where the thread has no collective */
};

/* /collective, and what every collective's call and every Wait for one was waiting for. */
int pp_join_collectives(struct pp_join *j);
/* /channel */
int pp_join_channels(struct pp_join *j);
/* /communicator */
int pp_join_communicators(struct pp_join *j);
/* /file */
int pp_join_files(struct pp_join *j);
/* /op */
int pp_join_ops(struct pp_join *j);
/* /input: what the framework's shim says of its data loader */
int pp_join_input(struct pp_join *j);
/* /process and /memory, and what starting up and shutting down took */
int pp_join_process(struct pp_join *j);
/* wait_ns and transfer_ns of cells; late. In a part, what other hosts' ranks decide goes to `exposed`. */
int pp_join_late(struct pp_join *j);
/* What /quality says of all ranks together; part of pp_join_quality() unless partial. */
void pp_dataset_quality(struct pp_dataset *d);
/* Warnings of /quality, and by_default of all ranks */
int pp_join_quality(struct pp_join *j);

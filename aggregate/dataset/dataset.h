/* pp_dataset: the tables of a window, filled by aggregate/analyze, written by aggregate/write.
 * In: pp_block of every rank, merged. Out: pod.h5, summary.txt, report.html. All times are job ns, int64. Owns its memory. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/host_clock.h"
#include "aggregate/dataset/table/table_list.h"
#include "core/base/err.h"
#include "core/capture/metadata.h"
#include "core/clock/causality.h"
#include "core/ring/record.h"
#include "core/step/category.h"
#include "core/step/step_attr.h"
#include "core/step/step_mark.h"

enum pp_side { PP_SIDE_HOST, PP_SIDE_DEVICE }; /* what ran an operator */

enum { PP_KERNELS_MOST = 4096 }; /* rows of /kernel per worker: those with most time; the rest is counted */
enum { PP_OPS_MOST = 4096 };     /* rows of /op per worker: those with most self time; the rest is counted */

/* Of a rank of which nothing is known. `status`: PP_STATUS_*. */
static inline void pp_worker_begin(struct pp_row_worker *w, int32_t rank, const char *status)
{
	*w = (struct pp_row_worker){.rank = rank, .local_rank = -1, .domain = -1, .last_step = INT64_MIN};
	snprintf(w->status, sizeof(w->status), "%s", status);
}

static inline int pp_worker_is_missing(const struct pp_row_worker *w)
{
	return strncmp(w->status, "missing", 7) == 0;
}

enum pp_row_needs {                    /* whose data a row gets, by its record */
	            PP_ROW_NEEDS_ALL,  /* of all that send, or must arrive */
	            PP_ROW_NEEDS_SOME, /* of some of them, unknown which */
	            PP_ROW_NEEDS_NONE,
	            PP_ROW_OTHER_CALL, /* not a call of the collective's name: the whole collective is unknown */
};

/* Words of worker.joined_by and host_clock.host_joined_by. */
enum pp_joined_by { PP_JOINED_BY_RECORDER, PP_JOINED_BY_WALL_CLOCK, PP_JOINED_BY_COLLECTIVES, PP_JOINED_BY_NOTHING };

enum pp_row_mismatch { PP_MISMATCH_NONE, PP_MISMATCH_CALL, PP_MISMATCH_BYTES, PP_MISMATCH_MISSING, PP_MISMATCH_TWICE };

enum { PP_EXPOSED_MOST = (1 << 29) - 1 };

/* Before finish.h: a segment of a call that waits in operations; its time is in no cell's wait_ns or transfer_ns yet. */
enum { PP_EXPOSED_LENGTH_MOST = (1 << 30) - 1, PP_EXPOSED_BLOCKS_MOST = 2 };

struct pp_exposed {
	int64_t begin_ns;
	uint32_t length_ns : 30; /* at most PP_EXPOSED_LENGTH_MOST: a longer one is cut in two */
	uint32_t blocks : 2;     /* whether work of the rank waits for the call: enum pp_budget_blocks */
	uint32_t step : 31;      /* index */
	uint32_t more : 1;       /* the next segment is of the same call */
};

struct pp_late { /* a rank that others wait for */
	int32_t rank;
	int64_t wait_ns;  /* sum of the others' waiting for it */
	int64_t error_ns; /* |error| of that: where it is larger, nothing is known */
	int64_t steps;    /* steps in which it was the straggler */
};

struct pp_straggler {         /* of late[0], the straggler; sums over the steps */
	int32_t waited_for;   /* the rank that it waited for most itself; -1: none */
	int64_t waited_ns;    /* how long */
	int64_t involuntary;  /* its involuntary context switches */
	int64_t voluntary;    /* its voluntary ones: it slept or waited */
	int64_t run_queue_ns; /* ready to run without a core; PP_UNKNOWN */
};

/* How the window of a session was recorded, rank by rank. Filled by aggregate/session/window_rows.c. */
#define PP_WINDOW_NEVER INT64_MIN

struct pp_window_rank { /* PP_WINDOW_NEVER: it did not happen */
	int32_t rank;
	int64_t asked, acked, started, ended;
	int8_t delivered;
	char reason[96]; /* why not, or what differs from the request; "" */
};

struct pp_window_metadata {
	char by[12];      /* options, capture, file, signal, trigger or code; "": unknown, no group */
	char kind[12];    /* steps, duration, last, span, all */
	char channel[12]; /* memory, mpi, net, none */
	char what[160];   /* pp_row_window.request */
	int32_t tries;
	struct pp_window_rank *rank;
	size_t ranks;
};

struct pp_graph; /* aggregate/graph/graph.h */

struct pp_dataset {
	const struct pp_intern *names; /* borrowed */
	struct pp_exposed *exposed;    /* before finish.h: in the order of rows */
	size_t exposeds;
	struct pp_late *late;   /* [workers], by wait_ns descending */
	struct pp_graph *graph; /* borrowed, while tools run; NULL: there is none */
	char rendezvous[480];   /* which way the other hosts were reached, and why not a better one; "": all ranks are here */
	/* Tables, as struct pp_row_channel *channel; size_t channels. `cell` is [steps][workers], `cells` is unused. */
#define PP_TABLE(name, rows, group, dimension, made, check, absent)                                                                \
	struct pp_row_##name *name;                                                                                                \
	size_t rows;
#include "aggregate/dataset/table/table_list.def"
	/* Values of the job. */
#define PP_COLUMN(name, type, unit, rule, what) pp_c_##type name;
#define PP_CHARS(name, size, rule, what) char name[size];
#define PP_MEMBER(declaration) declaration;
#include "aggregate/dataset/table/job.def"
};

/* Sets domains from 0 in the order of ranks, one per clock, and the workers' bound_ns. 0, or -ENOMEM. */
int pp_dataset_clocks(struct pp_dataset *d);
/* Number of domains of delivered ranks; and of delivered ranks in a worker's domain besides it: only these wait for it,
 * but where lengths of kernels tell it of all. */
int32_t pp_dataset_domains(const struct pp_dataset *d);
size_t pp_dataset_peers(const struct pp_dataset *d, size_t worker);
/* The latter of every worker: ret_peers[workers]. 0, or -ENOMEM. */
int pp_dataset_count_peers(const struct pp_dataset *d, size_t *ret_peers);
/* NULL: no message went that way, or none was recorded. */
struct pp_row_channel *pp_dataset_channel(const struct pp_dataset *d, int32_t source, int32_t destination);
/* NULL: unknown. */
const struct pp_row_communicator *pp_dataset_communicator(const struct pp_dataset *d, uint64_t id);
/* Hosts of delivered ranks: a missing rank has none. */
size_t pp_dataset_hosts(const struct pp_dataset *d);
/* Index of a rank's row; SIZE_MAX: it has none. */
size_t pp_dataset_worker(const struct pp_dataset *d, int32_t rank);
/* From when until when the row waits; 0: it does not, or it is not known when. */
int pp_arrival_waits(const struct pp_row_arrival *row, int64_t *ret_begin, int64_t *ret_until);
/* Index of a step by its number; SIZE_MAX: it is not in the window. */
size_t pp_dataset_step(const struct pp_dataset *d, int64_t number);
/* The first present step of the worker that ends after `time`; `steps`: there is none. hint: an index to begin with. */
size_t pp_dataset_step_after(const struct pp_dataset *d, size_t worker, int64_t time, size_t hint);
/* A row for a rank of which nothing came, and why, at the end; then the rows in order of rank. 0, or -ENOMEM. */
int pp_dataset_add_missing(struct pp_dataset *d, int32_t rank, const char *host, const char *status);
void pp_dataset_sort_workers(struct pp_dataset *d);
/* "rank 3", "ranks 0-3, 8": those for which `is_one` holds, with `between` them, in 48 bytes at least; what has no room is
 * counted. Returns how many they are. */
size_t pp_dataset_list_ranks(const struct pp_dataset *d, int (*is_one)(const struct pp_row_worker *w, const void *context),
                             const void *context, const char *between, char *to, size_t size);
/* Makes `late` anew from the cells' late_ns. 0, or -ENOMEM. */
int pp_dataset_late(struct pp_dataset *d);
/* The largest bound of joined clocks; /quality names those not joined. */
int64_t pp_dataset_bound(const struct pp_dataset *d);
/* Warnings that are a number and this: merging adds their numbers. */
#define PP_WARNING_ADDS " kernels of device collectives"
int pp_dataset_warn(struct pp_dataset *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Of an analysed session, when no file's times were moved by its date. */
#define PP_WARNING_DATES_FAR "the files' dates are more than three months apart: each file is shown from its own begin"
void pp_window_metadata_release(struct pp_window_metadata *metadata);
/* Ranges that cross the window's edge, which are in no row of /op. */
static inline uint64_t pp_dataset_ops_cut(const struct pp_dataset *d)
{
	return d->op_left_outs ? d->op_left_out->cut : 0;
}
/* The tables as any table, by PP_TABLE_NAME: their rows stay the dataset's. And back, where they changed. */
void pp_dataset_tables(const struct pp_dataset *d, struct pp_table ret_table[PP_TABLES]);
void pp_dataset_take_tables(struct pp_dataset *d, const struct pp_table table[PP_TABLES]);
/* Seals the tables that a host makes. 0, or -ENOMEM. */
int pp_dataset_seal(struct pp_dataset *d);
/* A host's clock with its rows, copied. 0 or -ENOMEM. */
int pp_dataset_add_clock(struct pp_dataset *d, const struct pp_row_host_clock *c);
/* Links hosts' clocks to their rows after tables have changed. -EINVAL: a row is of no host, or out of order. */
int pp_dataset_link_clocks(struct pp_dataset *d);
void pp_dataset_release(struct pp_dataset *d);

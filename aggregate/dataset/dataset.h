/* pp_dataset: what the pod dataset holds; filled by aggregate/analyze, written by aggregate/write.
 * In: pp_block of every rank, merged. Out: pod.h5, summary.txt (and later report.html). All times are job ns, int64. Owns its
 * memory. */
#pragma once

#include <string.h>

#include "aggregate/dataset/host_clock.h"
#include "aggregate/dataset/table/table_list.h"
#include "core/base/err.h"
#include "core/clock/causality.h"
#include "core/ring/record.h"
#include "core/step/category.h"
#include "core/step/span.h"
#include "core/step/step_attr.h"
#include "core/step/step_mark.h"

enum { PP_OPS_MOST = 4096 }; /* rows of /op of a worker: those with most time of their own; the rest is counted */

/* pp_worker.status of a rank that was asked and of which nothing is known. */
#define PP_STATUS_NOTHING_CAME "missing: no record of it reached this keeper"

struct pp_worker {
	int32_t rank, local_rank, pid;
	char host[72];
	char status[96];
	char device[16], device_name[64];       /* "CPU", "" until a device source exists */
	char clock[256];                        /* which clock by which map on which epoch: equal texts are one clock, "" only this
	                                   * part's domain; clock.c */
	int32_t domain;                         /* from 0, in the order of ranks; -1: nothing came */
	uint32_t host_clock;                    /* index + 1; 0: none */
	int64_t own_bound_ns;                   /* of a difference of two times of its own clock */
	int64_t offset_ns, bound_ns, drift_ppb; /* bound_ns PP_BOUND_UNKNOWN: its clock is not joined with the first rank's */
	uint64_t lost[PP_LOSSES];
	uint64_t records;
	int64_t recorded_ns, kept_ns; /* from its first record of the window to its last; of that, what was not evicted */
	char options[512], version[32], command[512];
	char memory_note[128]; /* why there are no samples of its memory; "" */
	char remark[PP_REMARKS][PP_REMARK_TEXT];
	uint32_t remarks;        /* those, and others that were not kept */
	uint32_t loader_samples; /* how often its data loader's workers were looked at in the window's steps */
	double loader_busy;      /* share of them that was at work, mean of the time; 0 to 1 */
};

static inline int pp_worker_is_missing(const struct pp_worker *w)
{
	return strncmp(w->status, "missing", 7) == 0;
}

struct pp_cell { /* one (step, worker) */
	int64_t begin_ns, end_ns, step_ns;
	int64_t exclusive_ns[PP_CATEGORIES + 1];
	int64_t wait_ns, transfer_ns; /* exposed part of categories 3 and 10 */
	int64_t point_to_point_ns;    /* another one: calls for messages, which are not split into these two */
	int64_t late_ns;              /* waiting of the others that this worker caused */
	int64_t late_error_ns;        /* |error| of it, as far as the clocks go */
	int8_t present;
	int8_t bottleneck; /* category id of the largest, 0 where absent */
};

/* One operation on one communicator, all ranks. In a part of a dataset only what its own ranks know is set: comm, call, sequence,
 * bytes, row_first, row_count; the rest is the rule's (waiting.h) when all parts are in. */
struct pp_collective {
	uint64_t comm;
	uint16_t call;
	uint32_t sequence;
	int64_t step;                      /* number; INT64_MIN: outside the window's steps */
	uint64_t bytes;                    /* by the largest rank: busbw's S, docs/formats.md */
	int32_t ranks;                     /* rows we have */
	int32_t root;                      /* world rank, -1 */
	int64_t first_ns, last_ns, end_ns; /* first arrival, last arrival, last exit */
	int32_t last_worker;               /* rank that came last */
	int64_t wait_ns, transfer_ns;      /* sums over ranks */
	double algbw, busbw;               /* bytes per second */
	int64_t bound_ns;
	uint64_t row_first;
	uint32_t row_count;
};

enum pp_row_needs {                    /* whose data a row gets, as far as its record says */
	            PP_ROW_NEEDS_ALL,  /* of all that give, or have to come */
	            PP_ROW_NEEDS_SOME, /* of some of them: nobody knows of whom */
	            PP_ROW_NEEDS_NONE,
	            PP_ROW_OTHER_CALL, /* it is no call of the collective's name: nothing is known of the whole collective */
};

struct pp_collective_row {
	int32_t worker;
	uint32_t exposed : 29; /* part: index + 1 of the first segment of the call that waits for it; 0: none, or charged */
	uint32_t shared : 1;   /* part: that call is a Wait, which may wait for others too */
	uint32_t is_root : 1;
	uint32_t exit_open : 1; /* exit_ns is not its own end: never seen */
	uint32_t needs : 2;     /* enum pp_row_needs */
	uint32_t is_empty : 1;  /* gives no data: nobody waits for it */
	uint32_t side : 2;      /* intercommunicator: 1 or 2, its group; 0: there is one group */
	uint32_t reserved;
	int64_t arrival_ns, exit_ns;
};

enum { PP_EXPOSED_MOST = (1 << 29) - 1 };

/* Part: a segment of a call whose waiting only all hosts together know; its time is in no cell's wait_ns or transfer_ns yet. */
struct pp_exposed {
	int64_t begin_ns;
	uint32_t length_ns; /* a longer one is cut in two */
	uint32_t step : 31; /* index */
	uint32_t more : 1;  /* the next segment is of the same call */
};

/* Part: what such a Wait waits for as far as this part's ranks know. */
struct pp_awaited {
	uint32_t exposed; /* index of its first segment */
	int32_t blame;    /* rank */
	int64_t until_ns;
};

struct pp_communicator {
	uint64_t id;
	uint32_t name; /* intern id */
	uint32_t size;
	int32_t *member; /* [size] or NULL */
	char role[16];   /* world | self | part | window | file | unknown */
	uint32_t kind;   /* enum pp_comm_text: FILE, WINDOW, UNKNOWN */
};

struct pp_late { /* who made others wait */
	int32_t rank;
	int64_t wait_ns;  /* sum of the others' waiting for it */
	int64_t error_ns; /* |error| of that: nobody can say so where it is the larger of the two */
	int64_t steps;    /* steps in which it was the one that cost most */
};

struct pp_straggler {         /* of the rank that the others wait for most, late[0]; sums over the steps */
	int32_t waited_for;   /* for whom it waited most itself; -1: for nobody */
	int64_t waited_ns;    /* how long */
	int64_t involuntary;  /* its involuntary context switches */
	int64_t run_queue_ns; /* ready to run without a core; -1: not known */
};

struct pp_warning {
	char text[256];
};

/* What a keeper knows of how the window of a session came about, rank by rank. Filled by aggregate/session/window_rows.c. */
#define PP_WINDOW_NEVER INT64_MIN

struct pp_window_rank { /* PP_WINDOW_NEVER: it did not come to that */
	int32_t rank;
	int64_t asked, acked, started, ended;
	int8_t delivered;
	char reason[96]; /* why not, or what is not as it was asked for; "" */
};

struct pp_window_told {
	char by[12];      /* options, capture, file, signal, trigger or code; "": nothing is known, no group */
	char kind[12];    /* steps, duration, last, span, all */
	char channel[12]; /* memory, mpi, net, none */
	char what[160];   /* pp_row_window.request */
	int32_t tries;
	struct pp_window_rank *rank;
	size_t ranks;
};

struct pp_dataset {
	char session[64], job[128], command[512], options[512];
	int64_t epoch_realtime_ns, window_begin_ns, window_end_ns;
	int64_t steps_asked_first, steps_asked_last;
	const struct pp_intern *names; /* borrowed */
	struct pp_worker *worker;      /* [workers], by rank */
	size_t workers;
	struct pp_host_clock *host_clock; /* one a host that brought one; their rows are in the tables clock_* */
	size_t host_clocks;
	int32_t ranks_asked, ranks_delivered;
	char step_rule[64];
	double step_confidence;
	int64_t *step_number; /* [steps] */
	size_t steps;
	struct pp_cell *cell; /* [steps][workers] */
	struct pp_collective *collective;
	size_t collectives;
	struct pp_collective_row *row;
	size_t rows;
	struct pp_exposed *exposed; /* part: in the order of rows */
	size_t exposeds;
	struct pp_awaited *awaited; /* part: by exposed */
	size_t awaiteds;
	uint64_t spawned, untied;      /* MPI: processes by MPI_Comm_spawn, nonblocking operations not tied to their end */
	struct pp_c10d_count c10d;     /* of all workers */
	uint64_t paused, parented;     /* ranks: that MPI_Pcontrol(0) stopped, whose world was spawned */
	uint64_t crossed;              /* ranges of one thread that overlap without nesting */
	uint64_t violations;           /* collectives that ended on some rank before the last arrival by more than the bound */
	uint64_t unsplit;              /* calls of collectives whose record does not say from whom they got data */
	uint64_t doubled;              /* collectives with two calls of one rank: nobody is said to wait in them */
	uint64_t mixed;                /* collectives with calls of different names: nor in them */
	struct pp_causality causality; /* of exits from collectives and arrivals on other clocks */
	int64_t pair_bound_ns; /* |error| of a difference of any two ranks' times whose clocks are joined, in the whole window */
	                       /* Tables with a description: struct pp_row_channel *channel; size_t channels; and their kind. */
#define PP_TABLE(name, rows, group, dimension, made, check, absent)                                                                \
	struct pp_row_##name *name;                                                                                                \
	size_t rows;
#include "aggregate/dataset/table/table_list.def"
	struct pp_communicator *communicator;
	size_t communicators;
	struct pp_attr_default *by_default;
	size_t defaults;
	int64_t memory_period_ns;
	int64_t startup_ns; /* inside the window's steps: time of MPI_Init, MPI_Finalize and their kind, over all workers */
	struct pp_straggler straggler;
	struct pp_late *late; /* [workers], by wait_ns descending */
	struct pp_warning *warning;
	size_t warnings;
	char rendezvous[480];  /* which way the other hosts were reached, and why not a better one; "": all ranks are here */
	int64_t keeper_cpu_ns; /* podprof's own cost so far */
	uint64_t keeper_rss_bytes;
};

/* Domains from 0 in the order of ranks, one for every clock, and the workers' bound_ns. 0, or -ENOMEM. */
int pp_dataset_clocks(struct pp_dataset *d);
/* How many there are of ranks that came; and the other ranks that came of a worker's own: only they are said to wait for it. */
int32_t pp_dataset_domains(const struct pp_dataset *d);
size_t pp_dataset_peers(const struct pp_dataset *d, size_t worker);
/* NULL: nobody said what it is. */
const struct pp_communicator *pp_dataset_communicator(const struct pp_dataset *d, uint64_t id);
/* Of ranks that came: a missing one has none. */
size_t pp_dataset_hosts(const struct pp_dataset *d);
/* Index of a rank's row; SIZE_MAX: it has none. */
size_t pp_dataset_worker(const struct pp_dataset *d, int32_t rank);
/* `late`, out of the cells' late_ns. 0, or -ENOMEM. */
int pp_dataset_late(struct pp_dataset *d);
/* The largest of the clocks that are joined: "not joined" is no number, and /quality says it. */
int64_t pp_dataset_bound(const struct pp_dataset *d);
int pp_dataset_warn(struct pp_dataset *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void pp_window_told_release(struct pp_window_told *told);
/* Ranges that are in no row of /op, as they were not seen to begin or to end. */
static inline uint64_t pp_dataset_ops_cut(const struct pp_dataset *d)
{
	return d->op_left_outs ? d->op_left_out->cut : 0;
}
/* The tables with a description as any table, by PP_TABLE_NAME: their rows stay the dataset's. And back, where they changed. */
void pp_dataset_tables(const struct pp_dataset *d, struct pp_table ret_table[PP_TABLES]);
void pp_dataset_take_tables(struct pp_dataset *d, const struct pp_table table[PP_TABLES]);
/* Seals those that a host makes. 0, or -ENOMEM. */
int pp_dataset_seal(struct pp_dataset *d);
/* A host's clock with its rows, copied. 0 or -ENOMEM. */
int pp_dataset_add_clock(struct pp_dataset *d, const struct pp_host_clock *c);
/* Hosts' clocks to their rows, where tables have changed. -EINVAL: a row is of no host, or out of order. */
int pp_dataset_link_clocks(struct pp_dataset *d);
void pp_dataset_release(struct pp_dataset *d);

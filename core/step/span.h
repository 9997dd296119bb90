/* pp_span: begin and end of one event on one thread; input of stages 4-5.
 * In: aggregate/read (rings, XSpace and Kineto files). Out: core/step, aggregate/analyze, aggregate/write. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/record.h"

enum pp_span_kind {
	PP_SPAN_RANGE,   /* push/pop: nested on its thread */
	PP_SPAN_ASYNC,   /* start/end: may overlap anything */
	PP_SPAN_MARK,    /* instant */
	PP_SPAN_COUNTER, /* instant with a value */
	PP_SPAN_STEP,    /* from step_begin to step_end or the next begin */
	PP_SPAN_MPI,     /* one MPI call */
	PP_SPAN_REQUEST, /* nonblocking operation: from its call to seen complete; overlaps anything */
	PP_SPAN_DEVICE,  /* kernel, copy or set on a device's stream */
};

enum pp_span_flags {
	PP_SPAN_CUT_BEGIN = 1, /* began before the first record (clipped there) */
	PP_SPAN_CUT_END = 2,   /* never seen to end (clipped at the thread's last tick) */
	PP_SPAN_IS_ROOT = 4,
	PP_SPAN_FAILED = 8,
	PP_SPAN_PEER_IN_COMM = 16,
	PP_SPAN_POLLS = 32,        /* MPI polls without result; sequence: how many */
	PP_SPAN_RECEIVES = 64,     /* start of a persistent receive; Sendrecv that sends nothing */
	PP_SPAN_WAITS_INPUT = 128, /* the step waits for input in it, on whatever thread: TensorFlow's IteratorGetNext */
};

/* What each kind has beside the head. A new kind is a struct of at most 40 bytes, or of an index into an array of its own. */
struct pp_span_range {         /* RANGE, ASYNC, MARK */
	uint64_t payload;      /* bits of a number, or pp_intern id in pp_capture.payloads (PP_PAYLOAD_EXT) */
	uint64_t id;           /* ASYNC: as START and END have it */
	uint16_t payload_type; /* enum pp_payload_type */
	uint16_t domain;       /* of NVTX or ITT, index in pp_ring_header.domain */
};

struct pp_span_step {
	int64_t number;
	/* Found by a pattern of `period` collectives; 0: marked by the job, and the rest is 0. */
	int64_t known_from;          /* the first step found */
	uint64_t matched, irregular; /* collectives so far of the pattern, and others */
	uint32_t period;
};

struct pp_span_mpi {       /* MPI, REQUEST */
	uint64_t comm;     /* communicator id; 0 none */
	uint64_t sent;     /* bytes */
	uint64_t received; /* bytes */
	uint32_t sequence; /* of the collective on comm; polls: how many; PP_MPI_HAS_MESSAGE: pp_rank.message index + 1 */
	int32_t peer;      /* world rank of peer or root; -1 none, -2 any */
	uint32_t request;  /* this rank's request number; 0 none */
	uint16_t call;     /* row of core/call/mpi_call.def */
	uint16_t flags;    /* of the call's record, enum pp_mpi_flags */
};

enum pp_precision { PP_PRECISION_UNKNOWN, PP_PRECISION_32, PP_PRECISION_16 };

struct pp_span_device {       /* DEVICE */
	uint64_t correlation; /* with the host's launch; 0: none */
	uint64_t bytes;       /* moved or set */
	int64_t step;         /* number that the file gives it; -1: none */
	uint32_t op;          /* pp_intern id of the operator that launched it, "name:Type" where the type is known; 0: unknown */
	uint32_t launch;      /* index + 1 into pp_rank.launch; 0: unknown */
	uint8_t activity;     /* enum pp_device_activity */
	uint8_t precision;    /* enum pp_precision, of a computation */
	uint16_t reserved;
	uint32_t host_thread; /* index + 1 of the thread that launched it; 0: unknown */
};

struct pp_span {
	int64_t begin, end; /* ticks out of the reader; job ns after pp_clock_map_rank() */
	uint32_t name;      /* pp_intern id */
	uint8_t kind;       /* enum pp_span_kind: which member of the union holds */
	uint8_t category;   /* enum pp_category; 0: not set, pp_step_attr decides by name */
	uint8_t flags;      /* enum pp_span_flags */
	uint8_t source;     /* enum pp_source_id */
	union {
		struct pp_span_range range;
		double value; /* COUNTER */
		struct pp_span_step step;
		struct pp_span_mpi mpi;
		struct pp_span_device device;
	};
};
_Static_assert(sizeof(struct pp_span) == 64, "a span is one cache line");

struct pp_comm { /* a communicator as one rank knows it */
	uint64_t id;
	uint32_t name; /* pp_intern id; 0: none */
	uint32_t size;
	int32_t *member; /* world ranks [size]; NULL where unknown */
	uint32_t kind;   /* enum pp_comm_text: FILE, WINDOW, UNKNOWN, RANK, else a communicator */
	int32_t own;     /* RANK: this rank in it; the others are known to themselves only */
	int32_t *near;   /* world ranks from which this rank receives in neighbourhood collectives */
	uint32_t nears;
	int near_known; /* else no record has them */
};

struct pp_usage {       /* a PROCESS record: counts since the process began, at the edge of a step */
	int64_t time;   /* tick; job ns after mapping */
	int64_t number; /* of the step */
	uint64_t user_ns, system_ns, peak_bytes;
	uint32_t minor_faults, major_faults, voluntary, involuntary; /* low 32 bits */
	uint32_t sequence;                                           /* the end's begin is the one before it */
	int is_end;
};

struct pp_memory {                                    /* one reading by the keeper of a rank's process and its children */
	int64_t time;                                 /* tick; job ns after mapping */
	uint64_t rss, pss, children_rss;              /* bytes */
	uint64_t user_ns, system_ns, children_cpu_ns; /* since the process began; children: alive, or ended and reaped */
	uint64_t minor_faults, major_faults;
	uint64_t run_queue_ns; /* main thread: time ready to run without a core; 0: unknown */
	uint32_t children;     /* alive, with theirs */
	int pss_present;
};

struct pp_annotation { /* an ANNOTATION record: a framework's description of one of its collectives */
	int64_t time;  /* its begin: tick of the record until mapped, then job ns less its age */
	int64_t age_ns;
	int64_t done; /* when its device had completed it; 0: not known */
	uint64_t comm, sent, received;
	uint32_t sequence;
	uint32_t correlation; /* of its only kernel, which ends at `done`; 0: not known, or several */
	int32_t root;
	uint16_t call;
};

struct pp_thread {       /* one thread's or one device stream's spans, ordered by begin, then end descending */
	uint32_t tid;    /* thread, or stream of a device */
	uint32_t device; /* number + 1 of the stream's device; 0: a thread of the host */
	uint32_t name;   /* pp_intern id */
	int is_main;
	int64_t first, last; /* first and last tick that was recorded (job ns after mapping) */
	struct pp_span *span;
	size_t spans;
	uint32_t kinds;  /* PP_SPAN_BIT() of every kind that may be in it; 0: not known */
	size_t mapped;   /* bytes, where `span` is a mapping of its own; 0: from malloc() */
	uint32_t *other; /* [others] indices of the spans that are no ranges, by pp_thread_list_others(); NULL: not listed */
	size_t others;
};

#define PP_SPAN_BIT(kind) (1u << (kind))

/* 0: the thread has no span of these kinds, so a pass over its spans can be skipped. */
static inline int pp_thread_may_have(const struct pp_thread *thread, uint32_t kinds)
{
	return !thread->kinds || (thread->kinds & kinds);
}

/* A pass over the spans of these kinds, RANGE not among them, visits those that are no ranges, or all where they are not listed:
 *     for (size_t k = 0; k < pp_thread_others(thread, kinds); k++)
 *             span = &thread->span[pp_thread_other(thread, k)]; */
static inline size_t pp_thread_others(const struct pp_thread *thread, uint32_t kinds)
{
	return !pp_thread_may_have(thread, kinds) ? 0 : thread->other ? thread->others : thread->spans;
}

static inline size_t pp_thread_other(const struct pp_thread *thread, size_t k)
{
	return thread->other ? thread->other[k] : k;
}

struct pp_operation {         /* how an operation of NCCL or RCCL ran on the device */
	uint32_t request;     /* of its span; of operations with equal ones the first counts */
	uint32_t correlation; /* of its kernel, which ends when its REQUEST does; 0: none was found */
	int64_t device_ns;    /* as the library timed it; 0: it did not */
	uint8_t channels;     /* 0: unknown */
	uint8_t how;          /* algorithm << 4 | protocol, core/source/nccl_how.def; 0: unknown */
};

struct pp_span_message { /* what a call, or its request, sent and received; flags 0: nothing, or not known */
	int64_t time;    /* tick of its record, which is not mapped */
	struct pp_record_message_half sent, received;
};

enum { PP_REMARKS = 4, PP_REMARK_TEXT = 160 };

struct pp_launch {                                         /* how kernels were launched: each combination once a rank; 0: unknown */
	uint32_t registers, static_shared, dynamic_shared; /* of a thread; bytes of a block */
	uint32_t block[3], grid[3];
	float occupancy; /* percent; -1: unknown */
	uint32_t device; /* number + 1, where its limits decide the occupancy; 0: unknown */
};

struct pp_device { /* a device whose streams the rank has */
	uint32_t number;
	uint32_t own;    /* while a file of podprof is read: the number in the rank's process, where the file's differs */
	char kind[8];    /* GPU, TPU */
	char name[56];   /* model; "": unknown */
	uint64_t memory; /* bytes; 0: unknown */
	struct pp_device_limits limits;
	int is_slice; /* of a device, by MIG */
};

struct pp_allocation {                /* a call of a framework's allocator */
	int64_t time;                 /* job ns */
	uint32_t allocator;           /* pp_intern id: GPU_0_bfc */
	uint32_t op;                  /* pp_intern id of the operator; 0: unknown */
	uint32_t region, type, shape; /* pp_intern ids: temp, float, [64,128]; 0: unknown */
	int32_t is_free;
	int64_t step; /* -1: unknown */
	uint64_t address;
	int64_t requested, bytes; /* of this call; of a free those of its allocation, where known */
	int64_t allocated, reserved, available,
	        peak;         /* of the allocator after it; reserved: stack; peak: since its start; -1: unknown */
	int is_counted;       /* `allocated` and `peak` are of the calls that were recorded: earlier ones are unknown */
	double fragmentation; /* 1 - largest free part / all that is free; -1: unknown */
	uint64_t pool;        /* address of the pool of `device` that it is from; 0: none */
	uint32_t device;
};

struct pp_pool_event { /* of a pool of a device's memory: made, trimmed, destroyed, or of another size than before */
	int64_t time;  /* job ns */
	uint64_t address;
	int64_t size, used, threshold; /* after it, bytes; -1: unknown */
	uint32_t device;               /* number */
	uint32_t record;               /* of the rank's, in the order in which they were read */
	uint8_t action;                /* enum pp_device_pool_action */
	uint8_t is_imported;
	uint8_t is_before; /* the window: what holds when that begins */
};

struct pp_trace_metadata { /* of the file of another profiler that a rank is from */
	char file[256];    /* "": not from such a file */
	char format[16];   /* XSpace, Kineto */
	char producer[64];
	uint64_t bytes;         /* of the file, compressed or not */
	uint64_t events;        /* read */
	uint64_t derived;       /* left out: lines that a viewer had added from the others */
	uint64_t untimed;       /* left out: without a begin, or with a time that no clock shows */
	uint64_t damaged;       /* left out: not readable */
	uint64_t damaged_at;    /* offset of the first damage in the unpacked bytes */
	char damage[96];        /* what it is; "": none */
	int64_t clock_bound_ns; /* of a file of podprof: largest error of its times against rank 0's clock; -1: unknown */
};

struct pp_c10d_count {         /* collectives of torch.distributed, aggregate/read/torch/c10d.h */
	uint64_t calls;        /* in the window */
	uint64_t unannotated;  /* without an annotation of their group */
	uint64_t recorder_off; /* of those: of ranks without any annotation */
	uint64_t unended;      /* whose end was not seen */
	uint64_t enqueued;     /* whose end is on a device */
	uint64_t rootless;     /* with an unknown root */
};

enum { PP_STEPS_ENDED = 256 }; /* of a rank, that are kept */

struct pp_step_ended { /* a step of the job, in ticks */
	int64_t number, begin, end;
};

struct pp_rank { /* one rank's capture; owns what it points to */
	int32_t rank, size, local_rank;
	int32_t pid;
	char host[72];
	char status[96]; /* aggregate/dataset/status.h */
	char options[512], version[32], command[512];
	int exit_known, exit_status;
	int step_marks;       /* it has begun a step, by podprof_step_* or by the pattern of collectives */
	int shifted;          /* by shift_ns */
	int64_t shift_ns;     /* of its clock against the first rank's, in salvage of several hosts; added when ticks are mapped */
	int64_t last_step;    /* the highest step a thread ended on, captured or not; without step_marks: no meaning */
	char last_place[160]; /* its last MPI call, as pp_place_text() has it; "" unknown */
	int64_t open_tick;
	int64_t horizon;                    /* nothing before this tick is complete (evicted); INT64_MIN: nothing was evicted */
	int64_t recorded_from, recorded_to; /* first to last recorded tick, evicted or not; `to` INT64_MIN: none */
	uint64_t lost[16];                  /* by enum pp_loss */
	uint64_t records;                   /* drained */
	uint64_t ring_bytes;                /* most the ring file held */
	struct pp_thread *thread;
	size_t threads;
	struct pp_comm *comm;
	size_t comms;
	struct pp_usage *usage; /* in order of time */
	size_t usages;
	struct pp_memory *memory; /* in order of time */
	size_t memories;
	struct pp_annotation *annotation; /* in the order of records */
	size_t annotations;
	struct pp_launch *launch;
	size_t launches;
	struct pp_device *device; /* by number */
	size_t devices;
	struct pp_allocation *allocation; /* in order of time */
	size_t allocations;
	struct pp_pool_event *pool_event; /* in order of time */
	size_t pool_events;
	struct pp_operation *operation; /* by request */
	size_t operations;
	struct pp_span_message *message; /* of spans with PP_MPI_HAS_MESSAGE */
	size_t messages;
	uint64_t unlaunched; /* kernels, copies and sets of CUPTI whose launching call was not recorded */
	uint64_t unrun;      /* launching calls of which nothing that ran was recorded */
	int device_replay;   /* a stand-in of the device's library gave its records: no device ran */
	struct pp_trace_metadata trace;
	uint64_t library_domains;                /* bit i: ranges of domain i are a library's (core/step/library_domain.h) */
	char step_rule[64];                      /* rule of the shim that marked the steps; "": the program did */
	char remark[PP_REMARKS][PP_REMARK_TEXT]; /* REMARK records, each text once */
	uint32_t remarks;                        /* these, and others that did not fit */
	struct pp_c10d_count c10d;
	char memory_note[128]; /* why it is missing or incomplete; "" */
	int32_t cores;         /* its main thread may run on; 0: unknown */
	int32_t host_cores;    /* any rank of the host may run on; 0: unknown */
	int32_t domain;        /* clock domain, from 0: equal where the boot id (and, for RAW ticks, the time namespace) is */
	uint32_t host_clock;   /* row of its host's clock, from 1; 0: none (set when the session is closed) */
	int counts_other;      /* its ticks are of another kind than the first ring's */
	char clock[128];       /* identifies its domain on other hosts: boot id, kind of tick, and for RAW the time namespace */
};

/* NULL: no record has a tag or a number for it. */
static inline const struct pp_span_message *pp_message_of(const struct pp_rank *rank, const struct pp_span *s)
{
	if ((s->kind != PP_SPAN_MPI && s->kind != PP_SPAN_REQUEST) || !(s->mpi.flags & PP_MPI_HAS_MESSAGE))
		return NULL;
	return s->mpi.sequence && s->mpi.sequence <= rank->messages ? &rank->message[s->mpi.sequence - 1] : NULL;
}

struct pp_intern; /* core/ring/intern.h */

struct pp_capture { /* all ranks this keeper (or reader) has */
	struct pp_intern *names;
	struct pp_intern *payloads; /* texts of payloads; NULL where there are none */
	struct pp_rank *rank;       /* ordered by rank */
	size_t ranks;
	int32_t ranks_asked;       /* world size */
	int64_t epoch_realtime_ns; /* realtime at job ns 0 */
	int64_t memory_period_ns;  /* intended period of memory samples, the last one; 0: none */
};

/* The 64-byte record that sources write and the keeper drains.
 * In: source callbacks. Out: aggregate/read/ring/rings.c, through the ring file.
 *
 * Text longer than the inline part goes on in TEXT records that follow directly (48 bytes each, same chunk);
 * `length` of the first record is the whole length in bytes, not terminated, any bytes (UTF-8 is checked by the keeper). */
#pragma once

#include <stdint.h>

#include "core/base/tick.h"

enum pp_record_kind {
#define PP_RECORD(symbol, value, what) PP_RECORD_##symbol = (value),
#include "core/ring/record_kind.def"
#undef PP_RECORD
	PP_RECORD_KINDS
};

enum pp_loss {
#define PP_LOSS(symbol, column, what) PP_LOSS_##symbol,
#include "core/ring/loss.def"
#undef PP_LOSS
	PP_LOSSES
};

enum pp_source_id { /* the writer of the record */
	            PP_SOURCE_API,
	            PP_SOURCE_NVTX,
	            PP_SOURCE_MPI,
	            PP_SOURCE_ITT,
	            PP_SOURCE_SHIM,
	            PP_SOURCE_XSPACE, /* files of other profilers: aggregate/read/trace.h */
	            PP_SOURCE_KINETO,
	            PP_SOURCE_CUPTI,
	            PP_SOURCE_NCCL,
	            PP_SOURCE_PYTHON,
};

enum {
	PP_RECORD_BYTES = 64,
	PP_TEXT_INLINE = 32,     /* inline bytes of a range, mark or counter name */
	PP_RECORD_CONT_TEXT = 48 /* bytes of a TEXT record */
};

#define PP_CALLS_DOMAIN "Python calls" /* domain of PP_SOURCE_PYTHON */

struct pp_record_range {        /* PUSH, START, MARK; POP and END use domain and id only */
	uint64_t id;            /* START, END: our range id; PUSH: 0 */
	uint16_t domain;        /* index into pp_ring_header.domain; 0 is the default domain */
	uint8_t category;       /* pp_category asked for by range_push_as, 0: by name */
	uint8_t source;         /* pp_source_id */
	uint32_t nvtx_category; /* NVTX category id, 0 none */
	char text[PP_TEXT_INLINE];
};

struct pp_record_counter {
	double value;
	uint64_t reserved;
	char text[PP_TEXT_INLINE];
};

enum {
	PP_STEP_PERIOD = 0xffff,       /* bits of `period`: calls of the pattern */
	PP_STEP_OF_MESSAGES = 1 << 16, /* the pattern is one of messages */
	PP_STEP_RUNS_SHIFT = 20,       /* from here on: how many of its calls stand for messages between two collectives */
};

struct pp_record_step {
	int64_t number;
	/* STEP_BEGIN that the pattern of collectives marks, not the job (core/window/pattern.h): elements per step; else 0 */
	uint32_t period;
	uint32_t patterns;           /* so far */
	uint64_t known_from;         /* the step at which the first pattern was found: earlier steps have no record */
	uint64_t matched, irregular; /* calls so far inside the pattern, and others */
	uint32_t level;              /* STEP_BEGIN: enum pp_level */
	uint32_t reserved;
};

struct pp_record_mpi { /* MPI: record.tick is the begin */
	pp_tick end;
	uint64_t comm;     /* communicator id, equal on all ranks; 0: none */
	uint64_t sent;     /* bytes this rank sent */
	uint64_t received; /* bytes this rank received */
	uint32_t sequence; /* n-th collective of this rank on comm, from 0; counted while idle too */
	int32_t peer;      /* world rank of peer or root; -1 none, -2 any source */
	uint32_t request;  /* this rank's request number of a nonblocking call; 0 none */
	uint16_t call;     /* row of core/call/mpi_call.def */
	uint16_t flags;    /* enum pp_mpi_flags */
};

enum pp_mpi_flags {
	PP_MPI_IS_ROOT = 1,        /* this rank is the root of a rooted collective */
	PP_MPI_PEER_IN_COMM = 2,   /* peer is a rank in comm, not a world rank (intercommunicator) */
	PP_MPI_FAILED = 4,         /* the call returned an error */
	PP_MPI_FREED = 8,          /* REQUEST: MPI_Request_free, its completion is never seen */
	PP_MPI_CANCELLED = 16,     /* REQUEST: it was cancelled, nothing moved */
	PP_MPI_POLLS = 32,         /* unsuccessful polls, from the first's begin to the last's end; `sequence` is how many */
	PP_MPI_RECEIVES = 64,      /* MPI_Start: of a receive; MPI_Sendrecv: nothing is sent, the peer is the source */
	PP_MPI_TO_FILE = 128,      /* the file was opened for writing; for calls that neither read nor write */
	PP_MPI_FROM_SOME = 256,    /* receives from some of the others: the record does not name them */
	PP_MPI_FROM_NONE = 512,    /* receives from none of the others */
	PP_MPI_SIDE_FIRST = 1024,  /* intercommunicator: this rank is in the group with the lower first world rank */
	PP_MPI_SIDE_SECOND = 2048, /* in the other one */
	PP_MPI_HAS_MESSAGE = 4096, /* of spans only: `sequence` is the index + 1 of its struct pp_span_message in the rank */
};

struct pp_record_request { /* REQUEST: record.tick is when completion was seen */
	uint32_t request;  /* as in the record of the call that started it */
	int32_t peer;      /* actual source as world rank; -1 where not known */
	uint64_t received; /* actual bytes */
	uint16_t call;     /* the Wait or Test call that saw it */
	uint16_t flags;
	uint16_t message_flags; /* enum pp_message_flags, of a receive whose tag and number were not known before */
	uint16_t reserved;
	int32_t tag;
	uint32_t order;
};

enum pp_message_flags {
	PP_MESSAGE_TAGGED = 1,  /* `peer` and `tag` hold */
	PP_MESSAGE_CERTAIN = 4, /* `order` holds */
	                        /* PP_MPI_PEER_IN_COMM too */
};

struct pp_record_message_half {
	int32_t peer;   /* as in MPI; -1: unknown */
	int32_t tag;    /* of the message, as MPI has it */
	uint32_t order; /* n-th message of this communicator, sender, receiver and tag, from 0; counted while idle too */
	uint16_t flags; /* enum pp_message_flags; 0: no message */
	uint16_t reserved;
};

struct pp_record_message { /* MESSAGE: directly precedes the MPI record of the same thread and tick that it belongs to */
	struct pp_record_message_half sent, received;
	uint64_t reserved[2];
};

enum pp_comm_text {                  /* what the text of a COMM record is */
	            PP_COMM_MEMBERS, /* world ranks, int32_t */
	            PP_COMM_NAME,
	            PP_COMM_FILE,    /* name of the file that the communicator stands for */
	            PP_COMM_WINDOW,  /* name of the RMA window that the communicator stands for, often none */
	            PP_COMM_UNKNOWN, /* its name, often none: no call that made it was seen, so it matches no other rank's */
	            PP_COMM_RANK,    /* this rank in it, int32_t: the other members are known to themselves only */
	            PP_COMM_NEAR,    /* world ranks from which this rank receives in neighbourhood collectives, int32_t */
	            PP_COMM_TEXTS,
};

struct pp_record_comm { /* COMM: a communicator; MPI windows and files have one of their own */
	uint64_t comm;
	uint32_t size;
	uint32_t is_name; /* enum pp_comm_text */
	char text[PP_TEXT_INLINE];
};

/* PAYLOAD: directly precedes the PUSH, START, MARK, POP or END of the same thread and tick that it belongs to; several may. */
struct pp_record_payload {
	uint64_t schema; /* EXT: id of a definition of the ring's header, or a predefined type */
	uint16_t type;   /* enum pp_payload_type */
	uint16_t domain;
	uint32_t size; /* bytes that the application passed; `length` of them are here */
	char text[PP_TEXT_INLINE];
};

enum pp_payload_type { /* 1 to 6 are NVTX's payload types */
	               PP_PAYLOAD_NONE,
	               PP_PAYLOAD_UINT64,
	               PP_PAYLOAD_INT64,
	               PP_PAYLOAD_DOUBLE,
	               PP_PAYLOAD_UINT32,
	               PP_PAYLOAD_INT32,
	               PP_PAYLOAD_FLOAT,
	               PP_PAYLOAD_EXT, /* bytes, by schema */
};

enum { PP_PAYLOAD_BYTES = PP_TEXT_INLINE + 10 * PP_RECORD_CONT_TEXT }; /* most that is kept of one */

/* PROCESS: the kernel's counters of this process since it began (getrusage), before a step's first record or after its last.
 * For an end, the record with sequence - 1 is the begin of the same step. */
struct pp_record_process {
	int64_t number; /* of the step */
	uint64_t user_ns, system_ns;
	uint32_t minor_faults, major_faults, voluntary, involuntary; /* low 32 bits */
	uint32_t peak_kib;                                           /* most memory so far */
	uint32_t sequence_flags;                                     /* sequence << 1 | is the end of the step */
};

/* ANNOTATION: a collective of a framework's process group. Its range has its own record, which knows neither group nor bytes. */
struct pp_record_annotation {
	uint64_t comm; /* as in COMM records of the same rank */
	uint64_t sent, received;
	int64_t age_ns;    /* age of the begin at record.tick, by CLOCK_REALTIME */
	uint32_t sequence; /* n-th collective of the group, from 0 */
	int32_t root;      /* world rank; -1 none, or not reported */
	uint16_t call;     /* row of core/call/c10d_call.def, from PP_C10D_FIRST */
	uint16_t reserved;
	uint32_t reserved2;
};

/* THREAD_END: written by the thread that continues the slot of an ended one: that one's identity. Its own is in the slot. */
struct pp_record_thread {
	uint32_t tid, is_main;
	char name[PP_TEXT_INLINE]; /* the last name it had, terminated */
	uint64_t reserved;
};

enum pp_device_activity {
	PP_DEVICE_KERNEL,     /* computation */
	PP_DEVICE_COLLECTIVE, /* a kernel of a communication library: the reader decides by its name */
	PP_DEVICE_HOST_TO_DEVICE,
	PP_DEVICE_DEVICE_TO_HOST,
	PP_DEVICE_DEVICE_TO_DEVICE, /* also between devices */
	PP_DEVICE_SET,              /* of memory */
	/* By its name or its operator, as the reader of records finds; in no record: */
	PP_DEVICE_WAIT,   /* a kernel that only waits, for peers or another stream: it moves nothing */
	PP_DEVICE_UNSURE, /* a kernel that may communicate: neither its name nor its operator tells */
	PP_DEVICE_ACTIVITIES
};

/* DEVICE: record.tick is the begin. Numbers of names and launches hold within a chunk of the ring: a reader may not have the
 * chunks before. */
struct pp_record_device {
	pp_tick end;
	uint64_t bytes;       /* moved or set */
	uint32_t correlation; /* of the DEVICE_CALL that launched it, in this process; 0: unknown */
	uint32_t stream, context;
	uint32_t graph;    /* CUDA graph that it is a node of; 0: none */
	uint32_t name;     /* number of a DEVICE_NAME of this chunk; 0: none */
	uint32_t launch;   /* number of a DEVICE_LAUNCH of this chunk; 0: none */
	uint32_t peer;     /* copies between devices: the other device + 1; else 0 */
	uint16_t device;   /* number of the driver in this process */
	uint8_t activity;  /* enum pp_device_activity; never COLLECTIVE */
	uint8_t is_replay; /* no device ran it: a stand-in of CUPTI gave it */
};

enum pp_device_call {                        /* what a call is for */
	              PP_DEVICE_CALL_LAUNCH, /* of kernels and graphs */
	              PP_DEVICE_CALL_COPY,   /* and sets of memory */
	              PP_DEVICE_CALL_MEMORY, /* allocates or frees */
	              PP_DEVICE_CALL_SYNC,   /* may wait for the device */
	              PP_DEVICE_CALL_COMPILE,
	              PP_DEVICE_CALL_OVERHEAD, /* of CUPTI itself: no call of the application */
	              PP_DEVICE_CALL_OTHER,
	              PP_DEVICE_CALLS
};

struct pp_record_device_call { /* DEVICE_CALL: record.tick is the begin */
	pp_tick end;
	uint32_t correlation;     /* as in the DEVICE records that it caused; 0: none */
	uint32_t tid;             /* of the thread that called, by the kernel; 0: unknown */
	uint32_t name;            /* number of a DEVICE_NAME of this chunk: cudaLaunchKernel */
	int32_t result;           /* 0: success */
	uint32_t stream, context; /* SYNC: what it waited for, where one; else 0 */
	uint16_t device;
	uint8_t call; /* enum pp_device_call */
	uint8_t is_replay;
	uint32_t reserved[3];
};

struct pp_record_device_name { /* DEVICE_NAME */
	uint32_t number;       /* from 1 in each chunk */
	uint32_t reserved[3];
	char text[PP_TEXT_INLINE];
};

struct pp_record_device_launch {                /* DEVICE_LAUNCH */
	uint32_t number;                        /* from 1 in each chunk */
	uint32_t registers;                     /* of a thread */
	uint32_t static_shared, dynamic_shared; /* bytes of a block */
	uint32_t block[3], grid[3];
	uint32_t reserved[2];
};

struct pp_device_limits {         /* of a device, as the driver gives them; 0: unknown */
	uint64_t memory;          /* bytes */
	uint64_t bandwidth;       /* of its memory, bytes per second */
	uint32_t capability;      /* major << 16 | minor */
	uint32_t multiprocessors; /* the rest is of one multiprocessor */
	uint32_t warps, blocks, registers, shared;
	uint32_t warp_threads;
	uint32_t block_registers, block_shared; /* most of a block */
	uint32_t clock_khz;
	char uuid[16];
};

struct pp_record_device_info { /* DEVICE_INFO: text is a struct pp_device_limits, then the name without an end */
	uint16_t device;
	uint16_t is_replay;
	uint32_t is_slice; /* of MIG: its UUID is the slice's */
	uint64_t pci;      /* PP_DEVICE_HAS_PCI | domain << 16 | bus << 8 | device << 3 | function; 0: unknown */
	char text[PP_TEXT_INLINE];
};

#define PP_DEVICE_HAS_PCI (UINT64_C(1) << 63)

enum pp_device_memory_kind { PP_DEVICE_MEMORY_DEVICE, PP_DEVICE_MEMORY_MANAGED, PP_DEVICE_MEMORY_PINNED, PP_DEVICE_MEMORY_OTHER };

struct pp_record_device_memory { /* DEVICE_MEMORY */
	uint64_t address, bytes;
	uint64_t pool;      /* address of the pool it is from; 0: none */
	uint64_t pool_used; /* bytes of the pool in use after it; 0: unknown */
	uint32_t correlation;
	uint32_t stream;
	uint16_t device;
	uint8_t kind; /* enum pp_device_memory_kind */
	uint8_t is_free;
	uint32_t is_replay;
};

enum pp_device_pool_action {
	PP_DEVICE_POOL_CREATED,
	PP_DEVICE_POOL_DESTROYED,
	PP_DEVICE_POOL_TRIMMED,
	PP_DEVICE_POOL_ALLOCATED, /* an allocation, or a free, had another size or threshold of its pool than the one before */
	PP_DEVICE_POOL_FREED
};

struct pp_record_device_pool { /* DEVICE_POOL */
	uint64_t address;
	uint64_t size, used; /* bytes after it: held by the pool, in use of these; unknown of an imported pool */
	uint64_t threshold;  /* bytes that it keeps when the program synchronises; unknown of an imported pool */
	uint32_t correlation;
	uint16_t device;
	uint8_t action;      /* enum pp_device_pool_action */
	uint8_t is_imported; /* another process made it */
	uint32_t is_replay;
	uint32_t reserved;
};

struct pp_record_device_lost { /* DEVICE_LOST: since the last one */
	uint64_t dropped, untimed;
	uint64_t unknown;        /* records of a kind or version that podprof does not know: counted, not shown */
	uint64_t clock_error_ns; /* largest of the window: of the device library's clock against ticks; 0: unknown */
	uint64_t reversed, of_other_clock;
};

struct pp_record_device_cover { /* DEVICE_COVER */
	pp_tick since;          /* is_on: when the process may first have used a device; 0: unknown */
	uint32_t is_on;         /* 0: nothing that is launched later has a record */
	uint32_t is_idle;       /* is_on: all that was launched before had ended */
	uint64_t reserved2[4];
};

struct pp_record_nccl { /* NCCL: record.tick is the begin of the call on this thread; `end` lies as in MPI */
	pp_tick end;
	uint64_t comm;           /* as in the COMM record */
	uint64_t sent, received; /* bytes of this rank */
	int32_t peer;            /* rank in comm of the root; -1: none, or in NCCL_TASK */
	uint32_t operation;      /* number in this process, from 1: of its NCCL_TASK and NCCL_DONE */
	uint16_t call;           /* row of core/call/nccl_call.def */
	uint8_t flags;           /* enum pp_nccl_flags */
	uint8_t reserved;
	uint32_t reserved2;
};

enum pp_nccl_flags {
	PP_NCCL_IS_ROOT = 1,
	PP_NCCL_CAPTURED = 2, /* into a CUDA graph: nothing moves before the graph runs */
	PP_NCCL_REPLAYED = 4, /* a CUDA graph ran it */
	PP_NCCL_NUMBERED = 8, /* NCCL_TASK: `sequence` holds */
	PP_NCCL_COPIED = 16,  /* NCCL_TASK: by the copy engine, without a kernel */
};

/* NCCL_TASK: record.tick is when NCCL had queued the operation on the device, on whichever thread. Without one: NCCL does not
 * report how the operation was run. */
struct pp_record_nccl_task {
	pp_tick launch, launched; /* begin and end of the call that launched its kernel, on this thread; 0: unknown */
	uint32_t operation;
	uint32_t sequence; /* equal on all ranks of comm for one operation, and for no other one */
	int32_t peer;      /* rank in comm of the other rank, of send and receive; else -1 */
	uint8_t channels, warps;
	uint8_t how; /* algorithm << 4 | protocol, core/source/nccl_how.def; 0: unknown */
	uint8_t flags;
	uint64_t reserved[2];
};

struct pp_record_nccl_done {               /* NCCL_DONE: record.tick is when NCCL had seen it complete on the device */
	uint64_t device_begin, device_end; /* ns, the device's own clock; 0: unknown */
	uint32_t operation;
	uint32_t channels; /* that were complete */
	uint64_t reserved[3];
};

struct pp_record {
	pp_tick tick;
	uint16_t kind;   /* enum pp_record_kind */
	uint16_t more;   /* TEXT records that follow */
	uint32_t length; /* bytes of text or blob in all */
	union {
		struct pp_record_range range;
		struct pp_record_counter counter;
		struct pp_record_step step;
		struct pp_record_mpi mpi;
		struct pp_record_request request;
		struct pp_record_message message;
		struct pp_record_comm comm;
		struct pp_record_payload payload;
		struct pp_record_process process;
		struct pp_record_annotation annotation;
		struct pp_record_thread thread;
		struct pp_record_device device;
		struct pp_record_device_call device_call;
		struct pp_record_device_name device_name;
		struct pp_record_device_launch device_launch;
		struct pp_record_device_info device_info;
		struct pp_record_device_memory device_memory;
		struct pp_record_device_pool device_pool;
		struct pp_record_device_lost device_lost;
		struct pp_record_device_cover device_cover;
		struct pp_record_nccl nccl;
		struct pp_record_nccl_task nccl_task;
		struct pp_record_nccl_done nccl_done;
		char text[PP_RECORD_CONT_TEXT];
	};
};

_Static_assert(sizeof(struct pp_record) == PP_RECORD_BYTES, "a record is one cache line");

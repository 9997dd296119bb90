/* Layout of a rank's ring file and of the host's control file, mapped by collector and keeper.
 * In: core/ring/thread_ring.c writes it. Out: core/ring/drain.c reads it.
 *
 *   header (PP_RING_HEADER_BYTES) | chunk 1 | chunk 2 | ...   chunk n begins at PP_RING_HEADER_BYTES + (n - 1) * PP_CHUNK_BYTES
 *
 * A thread's records are a list of chunks linked by `next`. The collector fills `record[]`, publishes by a release store of
 * `committed`, and sets `next` (release) once it will never write that chunk again. The keeper reads up to
 * `committed`, and when next != 0 and all is read sets `drained` = 1 (release): the owner may then reuse it.
 *
 * Collector (any thread of it, list changes under its own lock):
 *   slot   FREE -> LIVE (release) after tid, is_main and name are set; `first` = its first chunk (release) when it has one, once.
 *          LIVE -> ENDED (release) by the thread itself after its last commit; its last chunk keeps next = 0.
 *          ENDED -> LIVE (compare-and-swap) by a thread that begins: it goes on behind the records of the one before, in the same
 *          chunk. Its first record is THREAD_END with the identity of that one, committed before the slot has its own.
 *          lost[] goes on counting over all owners of a slot: never reset. thread_used is the high-water mark: slots at or above
 *          it are not backed by memory, do not touch them. Likewise chunks above chunk_used.
 *   chunk  takes one whose drained == 1 (acquire), clears committed, next, drained, then links it (release): it may come back
 *          as a chunk of another thread, so `thread` is valid only while the chunk is in a list.
 *          A chunk may be closed early: next != 0 with committed < PP_CHUNK_RECORDS (a text must lie in one chunk).
 * Keeper (one thread), for every slot below thread_used (acquire):
 *   1. state (acquire). FREE: nothing. Else, if it has no place yet: place = first (acquire), index 0; first == 0: no record yet.
 *   2. next (acquire) of the chunk BEFORE committed (acquire): otherwise records committed in between are missed. Read up to
 *      committed.
 *   3. next != 0: store first = next (so that salvage finds the oldest unread chunk), then drained = 1 (release), go on there
 *      at index 0.
 *      After drained = 1 the keeper never looks at that chunk again.
 *   4. next == 0, all read, and the state is CLOSING: last chunk (if any) drained = 1 (release), first = 0, forget the place,
 *      state = FREE (release).
 *   ENDED -> CLOSING (compare-and-swap) in 1, before next and committed: no thread takes the slot over any more. Where a thread
 *   was faster the slot is LIVE. Only the keeper makes a slot FREE. What a keeper left in CLOSING the next one frees. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ring/record.h"

#define PP_RING_MAGIC "PODPRING"
#define PP_CONTROL_MAGIC "PODPCTRL"

enum {
	PP_RING_VERSION = 10,
	PP_RING_BYTE_ORDER = 0x01020304,
	PP_CHUNK_BYTES = 65536,
	PP_CHUNK_RECORDS = 1023,
	PP_RING_THREADS = 1024,
	PP_RING_DOMAINS = 64,
	PP_RING_CATEGORIES = 256,
	PP_RING_FIRST_CHUNKS = 4,    /* a thread begins with 256 KiB */
	PP_RING_DEFINITIONS = 16384, /* bytes of definitions */
	PP_WINDOW_ROWS = 64,         /* the last so many windows of a rank */
	PP_RING_COMMS = 64,          /* communicators that the header describes */
	PP_RING_COMM_RUNS = 13,
	PP_WHERE_PEERS = 4,
};

struct pp_chunk {
	_Atomic uint32_t committed; /* records readable, 0..PP_CHUNK_RECORDS; collector */
	_Atomic uint32_t next;      /* number of the next chunk, 0: still being written; collector */
	_Atomic uint32_t drained;   /* 1: all read, the collector may reuse it; keeper sets, collector clears */
	uint32_t thread;            /* slot of the owner */
	uint8_t reserved[48];
	struct pp_record record[PP_CHUNK_RECORDS];
};
_Static_assert(sizeof(struct pp_chunk) == PP_CHUNK_BYTES, "chunks tile the file");

struct pp_where { /* where this thread is now: plain stores, valid outside windows too */
	uint64_t comm;
	uint32_t sequence;
	int32_t peer;
	uint16_t call;  /* 1 + row of core/call/mpi_call.def; 0: not inside MPI */
	uint16_t last;  /* the same of the last call begun; 0: none */
	uint32_t calls; /* MPI calls so far, wraps */
	int64_t step;   /* step number, INT64_MIN: none yet */
	/* Of Wait, Test and Sendrecv calls only; else left from an earlier one. */
	uint16_t waits;          /* as `call`: what began all the operations waited for; 0: unknown, or several */
	uint16_t peers;          /* entries of peer_of[] */
	uint32_t waits_sequence; /* of one collective waited for */
	int32_t peer_of[PP_WHERE_PEERS];
	uint32_t peers_more; /* 1: operations with further or unknown peers */
	uint16_t c10d;       /* 1 + call number of torch.distributed (core/call/c10d_call.def) that this thread is in; 0: none */
	uint16_t c10d_calls; /* of these so far, wraps */
};
_Static_assert(sizeof(struct pp_where) == 64, "one line per thread");

enum pp_thread_state { PP_THREAD_FREE, PP_THREAD_LIVE, PP_THREAD_ENDED, PP_THREAD_CLOSING };

struct pp_thread_slot {
	struct pp_where where;
	_Atomic uint32_t state; /* enum pp_thread_state */
	uint32_t tid;
	_Atomic uint32_t first; /* first chunk, 0: none yet */
	uint32_t is_main;
	_Atomic uint64_t lost[10]; /* by enum pp_loss; collector only */
	char name[32];
};
enum { PP_RING_LOSSES = PP_LOSS_CALLS + 1 }; /* causes that the collector counts; the keeper counts the others */
_Static_assert(PP_RING_LOSSES <= 10, "lost[] holds every cause");
_Static_assert(sizeof(struct pp_thread_slot) == 192, "three lines a slot");

struct pp_ring_name { /* an NVTX domain (owner 0) or category (owner: its domain) */
	uint32_t owner;
	uint32_t id;
	char text[56]; /* terminated; the whole of a longer one is a definition */
};

enum pp_ring_definition_kind {
	/* data: struct pp_ring_entry[count], their names; detail: bytes of a payload, 0 unknown; width: packing */
	PP_DEFINITION_SCHEMA = 1,
	/* data: struct pp_ring_entry[count] (type: the value), their names; detail: bytes of a value */
	PP_DEFINITION_ENUM,
	/* a device, stream, ...: id is its handle (of a domain its index); detail: NVTX module << 16 | function, or type of
	 * resource */
	PP_DEFINITION_NAME,
};

/* What NVTX registered about payloads and handles; a row is complete before `definitions_used` covers it, and never changes. */
struct pp_ring_definition {
	uint16_t bytes; /* of the whole row, a multiple of 8 */
	uint8_t kind;   /* enum pp_ring_definition_kind */
	uint8_t width;
	uint16_t domain;
	uint16_t count;
	uint64_t id;
	uint32_t detail;
	uint16_t name; /* bytes of the name that ends the row */
	uint16_t reserved;
};

struct pp_ring_entry {
	uint64_t type;
	uint32_t flags, detail, offset;
	uint32_t name; /* bytes in the names behind the entries */
};

struct pp_window_row {           /* a window that has begun on this rank */
	_Atomic uint64_t number; /* 1 + its place among all windows; 0: the row is being written, or never was. Stored last */
	int64_t first, last;     /* steps asked for [first, last) */
	pp_tick begin;           /* of the edge step before it; 0: it has all that was recorded before the first step mark */
	pp_tick end;             /* of the edge step after it; valid once windows_passed covers the window */
	uint64_t reserved;
};

enum pp_ring_comm_flag {
	PP_RING_COMM_INTER = 1, /* two groups: peers may be ranks of the other one */
	PP_RING_COMM_WINDOW = 2,
	PP_RING_COMM_FILE = 4,
	PP_RING_COMM_NCCL = 8, /* a communicator of NCCL: the row has `nccl`, not `run` */
};

/* The calls on a communicator of NCCL: plain stores, valid outside windows too. A call that returns has enqueued its work; whether
 * the device has done it is not known. */
struct pp_ring_nccl {
	uint64_t begun;    /* collectives called so far: all ranks of the communicator count alike */
	uint64_t ended;    /* those that have returned */
	uint64_t bytes;    /* of the last one: of one rank's part */
	uint64_t turn;     /* of the last call, also of a message, among all of the process: greater is later */
	int32_t rank;      /* this rank's in the communicator */
	int32_t root;      /* of the last collective, where it has one */
	uint32_t messages; /* sends and receives called so far, wraps */
	uint16_t call;     /* the last collective: 1 + call number (core/call/nccl_call.def); 0: none yet */
	uint16_t message;  /* the last send or receive */
	uint8_t reserved[16];
};

struct pp_ring_comm {        /* a communicator other than MPI_COMM_WORLD and MPI_COMM_SELF, while it exists */
	_Atomic uint64_t id; /* as in struct pp_where; 0: the row is free or being written. Stored last */
	int32_t size;        /* members */
	uint16_t runs;       /* 0: the members do not fit */
	uint16_t flags;      /* enum pp_ring_comm_flag */
	union {
		struct {
			struct {
				int32_t first, count, stride;
			} run[PP_RING_COMM_RUNS]; /* members as world ranks; -1: of another world */
			char name[84];            /* terminated, "" none */
		};
		struct {
			uint8_t nccl_reserved[48];
			struct pp_ring_nccl nccl; /* instead of run; written while the row has its id */
		};
	};
};
_Static_assert(sizeof(struct pp_ring_comm) == 256, "four lines a communicator");
_Static_assert(offsetof(struct pp_ring_comm, nccl) == 64 && offsetof(struct pp_ring_comm, name) == 172 &&
                       sizeof(struct pp_ring_nccl) == 64,
               "one line is written");

enum pp_ask_kind {                 /* the keeper's request to a rank, pp_control.request_kind */
	           PP_ASK_NOTHING, /* forget the previous request */
	           PP_ASK_STEPS,   /* record steps [request_first, request_last) */
	           PP_ASK_AGREE,   /* record request_last steps; ranks fix the first by pp_coord_ops: the highest + request_first */
	           PP_ASK_NOW,     /* record from the next poll on, until the next request */
};

enum pp_request_state { /* state of the keeper's request on a rank */
	                PP_REQUEST_NONE,
	                PP_REQUEST_TAKEN,   /* its first step is to come */
	                PP_REQUEST_LATE,    /* its first step has begun already: nothing happens */
	                PP_REQUEST_STARTED, /* the edge step before it has begun */
	                PP_REQUEST_PASSED,
	                PP_REQUEST_AGREEING, /* it has sent its step to the other ranks */
	                PP_REQUEST_ALONE, /* no agreement is possible: no MPI that all ranks take part in, or one has finalised */
};

enum pp_api_window_state {                       /* of a window that the program requested */
	                   PP_API_WINDOW_ASKED,  /* its first step is to come */
	                   PP_API_WINDOW_BEGUN,  /* `begin` is there */
	                   PP_API_WINDOW_PASSED, /* `end` is there, and all records before it */
	                   PP_API_WINDOW_MISSED, /* the step numbers skipped it */
};

struct pp_api_window_row {       /* podprof_window_start() or podprof_profile_steps(): the n-th of a rank is the n-th of the job */
	_Atomic uint64_t number; /* 1 + its place among them; 0: the row is being written, or never was. Stored last */
	_Atomic uint64_t state;  /* enum pp_api_window_state */
	int64_t first, last;     /* steps asked for [first, last); last <= first: from start to stop */
	pp_tick begin, end;
	char name[48]; /* of podprof_window_start(), terminated */
};

enum pp_rank_state {                     /* state of the process, set by the collector */
	             PP_RANK_OPEN = 1,   /* claimed, may record */
	             PP_RANK_ENDING = 2, /* exit handler ran: everything is committed */
};

enum pp_mpi_state {
	PP_MPI_NEVER = 0,
	PP_MPI_RUNS = 1,
	PP_MPI_OVER = 2,       /* finalised */
	PP_MPI_OTHER_RUNS = 3, /* an MPI that the wrappers do not know: its calls are not recorded */
	PP_MPI_OTHER_OVER = 4,
};

enum pp_ring_flag {
	PP_RING_NO_RANK = 1,        /* other processes are the ranks of this job, this one is none */
	PP_RING_PARENT_IS_RANK = 2, /* a process that started this one is a rank, which waits for the files */
	PP_RING_PARENT_CHECKED = 4, /* the keeper has searched for such a process */
};

struct pp_ring_header {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint32_t record_bytes;
	uint32_t tick_kind; /* enum pp_tick_kind */
	int32_t rank, size, local_rank, local_size;
	int32_t pid;
	uint32_t pid_space;  /* pp_proc_pid_space() of `pid` */
	uint64_t start_time; /* field 22 of /proc/PID/stat: detects a reused pid */
	pp_tick open_tick;
	int64_t open_realtime_ns;
	char boot_id[40];
	char timens_ns[64]; /* offsets of the time namespace, "" where there is none */
	char podprof_version[24];
	/* No record of the process, and of those it was forked from since they had a ring, is earlier; 0: unknown, or of an earlier
	 * podprof */
	pp_tick start_tick;
	char options[512]; /* canonical text of the options this rank has */
	char command[512]; /* argv, blanks between */
	char host[72];
	int64_t window_first, window_last; /* the first window: steps [first, last); last <= first: none */
	_Atomic uint32_t state;            /* enum pp_rank_state */
	_Atomic int32_t exit_status;       /* known when ENDING; INT_MIN: the C library does not say */
	_Atomic uint32_t chunk_limit;      /* chunks the file may have */
	_Atomic uint32_t chunk_used;       /* chunks handed out so far */
	_Atomic uint32_t thread_used;      /* slots handed out so far */
	_Atomic uint32_t recording;        /* 1 while records are written */
	_Atomic uint32_t step_marks;       /* 1 once a step has begun, by podprof_step_begin or by the pattern of collectives */
	_Atomic uint32_t window_state;     /* 0 before, 1 inside, 2 the last window's edge has passed */
	_Atomic uint32_t mpi_state;        /* enum pp_mpi_state */
	_Atomic uint32_t domains, categories;
	_Atomic uint64_t lost_threads; /* records of threads without a slot */
	struct pp_ring_name domain[PP_RING_DOMAINS];
	struct pp_ring_name category[PP_RING_CATEGORIES];
	_Atomic uint32_t definitions_used;            /* bytes of definition[] */
	_Atomic uint32_t flags;                       /* by the keeper: bits of enum pp_ring_flag */
	uint64_t definition[PP_RING_DEFINITIONS / 8]; /* rows: struct pp_ring_definition */
	_Atomic uint64_t windows_passed;              /* windows that are over, begun or not */
	struct pp_window_row window[PP_WINDOW_ROWS];
	_Atomic uint64_t request;         /* the keeper's last request (its number << 8), and enum pp_request_state of this rank */
	struct pp_window_row request_row; /* its window: begin once STARTED, end once PASSED */
	_Atomic uint32_t signals;         /* captures requested by a signal so far */
	_Atomic uint32_t coordinator;     /* enum pp_coordinator: the agreement that this rank takes part in */
	_Atomic uint32_t net_wanted;      /* rank 0: ranks of the job have other keepers, which the keeper must admit */
	_Atomic uint32_t claim_by;        /* enum pp_claim_by: how sure the process is of its number */
	char coordinator_why[96];         /* why there is no better one; complete before `coordinator` is set */
	_Atomic uint64_t api_windows;     /* windows that the program has requested so far: their rows are there */
	struct pp_api_window_row api_window[PP_WINDOW_ROWS];
	_Atomic uint32_t api_strays;    /* podprof_window_stop() without a start */
	_Atomic uint32_t api_refused;   /* podprof_profile_steps() calls that were refused */
	_Atomic uint32_t steps_by_shim; /* 1: the shim marks the steps, by the rule in step_rule */
	_Atomic uint32_t claim_beside;  /* 1: another process had claimed the number with weaker evidence */
	char step_rule[56];             /* "torch: DataLoader", terminated; whole before `steps_by_shim` is set */
	_Atomic uint32_t comms;         /* rows of comm[] that are reserved in the file; 0: none, do not touch them */
	_Atomic uint32_t comms_lost;    /* communicators that found no row */
	_Atomic uint32_t level;         /* enum pp_level of the step that the rank is in */
	/* By the keeper: records of chunks that it has returned, which are no longer in this file; and those of them that are
	 * in a session or that no window needs. A keeper that dies loses the difference. */
	_Atomic uint64_t records_taken, records_finalised;
	/* All before it is reserved in the file when the ring gets its name, each slot before `thread_used` covers it. */
	struct pp_thread_slot thread[PP_RING_THREADS] __attribute__((aligned(64)));
	struct pp_ring_comm comm[PP_RING_COMMS]; /* reserved before `comms` covers it */
};

/* The words of header, chunk, slot and control page by name: pp_ring_NAME(h), pp_ring_set_NAME(h, value), pp_chunk_NAME(c) ...
 *
 * PUBLISHED: stores before it are visible to a reader of the word.
 * ALONE: the word orders no other memory.
 * COUNTER: any thread adds by pp_ring_add_NAME(h, more); it orders no other memory either. */
#define PP_WORD(owner, prefix, type, name, load, store)                                                                            \
	static inline type prefix##_##name(const struct owner *o)                                                                  \
	{                                                                                                                          \
		return atomic_load_explicit(&o->name, load);                                                                       \
	}                                                                                                                          \
	static inline void prefix##_set_##name(struct owner *o, type value)                                                        \
	{                                                                                                                          \
		atomic_store_explicit(&o->name, value, store);                                                                     \
	}
#define PP_WORD_PUBLISHED(owner, prefix, type, name) PP_WORD(owner, prefix, type, name, memory_order_acquire, memory_order_release)
#define PP_WORD_ALONE(owner, prefix, type, name) PP_WORD(owner, prefix, type, name, memory_order_relaxed, memory_order_relaxed)
#define PP_RING_PUBLISHED(type, name) PP_WORD_PUBLISHED(pp_ring_header, pp_ring, type, name)
#define PP_RING_ALONE(type, name) PP_WORD_ALONE(pp_ring_header, pp_ring, type, name)
#define PP_RING_COUNTER(type, name)                                                                                                \
	PP_RING_ALONE(type, name)                                                                                                  \
	static inline void pp_ring_add_##name(struct pp_ring_header *h, type more)                                                 \
	{                                                                                                                          \
		atomic_fetch_add_explicit(&h->name, more, memory_order_relaxed);                                                   \
	}

PP_RING_PUBLISHED(uint32_t, state)            /* ENDING: exit_status, and all that was committed */
PP_RING_PUBLISHED(uint32_t, chunk_used)       /* memory of the chunks up to it */
PP_RING_PUBLISHED(uint32_t, thread_used)      /* the slots below it: memory, tid, is_main, name */
PP_RING_PUBLISHED(uint32_t, window_state)     /* window_first, window_last, the rows */
PP_RING_PUBLISHED(uint64_t, windows_passed)   /* `end` of their rows, and all records before it */
PP_RING_PUBLISHED(uint64_t, api_windows)      /* their rows in api_window[] */
PP_RING_PUBLISHED(uint64_t, request)          /* request_row */
PP_RING_PUBLISHED(uint32_t, domains)          /* domain[] below it */
PP_RING_PUBLISHED(uint32_t, categories)       /* category[] below it */
PP_RING_PUBLISHED(uint32_t, definitions_used) /* definition[] below it */
PP_RING_PUBLISHED(uint32_t, coordinator)      /* coordinator_why */
PP_RING_PUBLISHED(uint32_t, steps_by_shim)    /* step_rule */
PP_RING_PUBLISHED(uint32_t, claim_by)         /* rank, size */
PP_RING_PUBLISHED(uint32_t, comms)            /* memory of comm[] below it */
PP_RING_PUBLISHED(uint32_t, mpi_state)
PP_RING_PUBLISHED(uint32_t, net_wanted)
PP_RING_ALONE(int32_t, exit_status) /* `state` covers it */
PP_RING_ALONE(uint32_t, chunk_limit)
PP_RING_ALONE(uint32_t, recording)
PP_RING_ALONE(uint32_t, step_marks)
PP_RING_ALONE(uint32_t, flags) /* the keeper alone writes it */
PP_RING_ALONE(uint32_t, claim_beside)
PP_RING_ALONE(uint32_t, level)
PP_RING_ALONE(uint64_t, records_finalised)
PP_RING_COUNTER(uint64_t, records_taken)
PP_RING_COUNTER(uint64_t, lost_threads)
PP_RING_COUNTER(uint32_t, signals)
PP_RING_COUNTER(uint32_t, api_strays)
PP_RING_COUNTER(uint32_t, api_refused)
PP_RING_COUNTER(uint32_t, comms_lost)

PP_WORD_PUBLISHED(pp_chunk, pp_chunk, uint32_t, committed)  /* record[] below it */
PP_WORD_PUBLISHED(pp_chunk, pp_chunk, uint32_t, next)       /* the last `committed` of this chunk; the next one is the thread's */
PP_WORD_PUBLISHED(pp_chunk, pp_chunk, uint32_t, drained)    /* the keeper reads it no more */
PP_WORD_PUBLISHED(pp_thread_slot, pp_slot, uint32_t, state) /* LIVE: tid, is_main, name; ENDED: the last commit; FREE: `first` */
PP_WORD_PUBLISHED(pp_thread_slot, pp_slot, uint32_t, first) /* the chunk */

/* A window's row is written between the two; readers of its fields see that it is taken. */
static inline void pp_row_take(_Atomic uint64_t *number)
{
	atomic_store_explicit(number, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static inline void pp_row_publish(_Atomic uint64_t *number, uint64_t place)
{
	atomic_store_explicit(number, place + 1, memory_order_release);
}

/* Complete window `index` of this rank, or of its program's requests; NULL: none yet, or a later one has its row. */
static inline const struct pp_window_row *pp_ring_window(const struct pp_ring_header *h, uint64_t index)
{
	const struct pp_window_row *row = &h->window[index % PP_WINDOW_ROWS];

	return atomic_load_explicit(&row->number, memory_order_acquire) == index + 1 ? row : NULL;
}

static inline const struct pp_api_window_row *pp_ring_api_window(const struct pp_ring_header *h, uint64_t index)
{
	const struct pp_api_window_row *row = &h->api_window[index % PP_WINDOW_ROWS];

	return atomic_load_explicit(&row->number, memory_order_acquire) == index + 1 ? row : NULL;
}

static inline uint64_t pp_slot_lost(const struct pp_thread_slot *s, int loss)
{
	return atomic_load_explicit(&s->lost[loss], memory_order_relaxed);
}

enum pp_coordinator { PP_COORDINATOR_UNKNOWN, PP_COORDINATOR_NONE, PP_COORDINATOR_MPI };

enum { PP_RING_HEADER_BYTES = 256 * 1024 };
_Static_assert(sizeof(struct pp_ring_header) <= PP_RING_HEADER_BYTES, "header fits");

enum pp_keeper_state {
	PP_KEEPER_NONE,
	PP_KEEPER_DRAINING,
	PP_KEEPER_WRITING,
	PP_KEEPER_DONE,   /* files are complete; `message` holds what rank 0 prints */
	PP_KEEPER_FAILED, /* `message` holds the error */
};

struct pp_control { /* <spool>/control, one page, made by the keeper before it drains */
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	_Atomic uint32_t keeper_state; /* enum pp_keeper_state */
	_Atomic int32_t keeper_pid;
	_Atomic uint32_t bell;    /* number of the keeper's last request, read at step marks; stored last, 0: none yet */
	_Atomic uint32_t notices; /* sentences for rank 0 to print while the job runs; stored after `notice` */
	char message[3072];       /* complete before keeper_state says DONE or FAILED; lines without "podprof: " */
	_Atomic int64_t request_first, request_last; /* by request_kind */
	_Atomic uint32_t request_kind;               /* enum pp_ask_kind */
	_Atomic uint32_t keeper_life;                /* a robust futex that the keeper holds; 0: the kernel has none */
	char notice[256];                            /* the last of them */
	_Atomic uint32_t unrecorded_known;           /* 1: */
	char unrecorded[256];                        /* why nothing is recorded so far, where the keeper knows */
	_Atomic int32_t speaker;                     /* rank that prints `message`: 0, or the first one that has podprof */
	_Atomic uint32_t pod;                        /* the same for the keepers that serve each other's requests now; 0: alone */
	_Atomic uint32_t guard_life;           /* as keeper_life, of the process that replaces a killed keeper; 0: there is none */
	_Atomic uint32_t timed_over;           /* 1: the window of time is written, or never will be */
	_Atomic uint64_t windows_next;         /* the first window of the options that is not closed */
	_Atomic uint64_t api_next, api_closed; /* as in struct pp_windows */
	_Atomic uint32_t windows_captured;     /* sessions of windows so far */
	_Atomic uint32_t request_level;        /* pp_level_code() of what is requested; 0: as the options say */
};

PP_WORD_PUBLISHED(pp_control, pp_control, uint32_t, keeper_state)     /* DONE, FAILED: message */
PP_WORD_PUBLISHED(pp_control, pp_control, uint32_t, unrecorded_known) /* unrecorded */
PP_WORD_ALONE(pp_control, pp_control, int32_t, keeper_pid)
PP_WORD_ALONE(pp_control, pp_control, int32_t, speaker)
PP_WORD_ALONE(pp_control, pp_control, uint32_t, pod)

/* Release: kind and numbers are there when the bell is seen. pp_ask reads them between two readings of it. */
static inline void pp_control_ring(struct pp_control *c, uint32_t bell, uint32_t kind, int64_t first, int64_t last, uint32_t level)
{
	atomic_store_explicit(&c->request_level, level, memory_order_relaxed);
	atomic_store_explicit(&c->request_kind, kind, memory_order_relaxed);
	atomic_store_explicit(&c->request_first, first, memory_order_relaxed);
	atomic_store_explicit(&c->request_last, last, memory_order_relaxed);
	atomic_store_explicit(&c->bell, bell, memory_order_release);
}

/* Why a job has recorded nothing; of a job on several hosts, whose process around the launcher lets them meet, only what rank 0's
 * host knows. */
#define PP_UNRECORDED(several) ((several) ? "nothing was recorded on the host of rank 0" : "nothing was recorded")
#define PP_UNRECORDED_PLAIN(several)                                                                                               \
	((several) ? "podprof saw no MPI call, no step and no range there. " PP_UNRECORDED_CURE                                    \
	           : "podprof saw no MPI call, no step and no range in this job. " PP_UNRECORDED_CURE)
#define PP_UNRECORDED_CURE "Mark steps with podprof_step_begin(), in Python with podprof.steps()"
/* <spool>/said: made by the process that reports why nothing, or not all, is recorded; so it is reported once. */
#define PP_REPORTED_FILE "said"

/* Spool names: <spool>/control, keeper.lock (locked by the keeper for life), keeper.log, options (NAME=value lines),
 * run-<pid> (registered by podprof run before exec: "rank local_size start_time"), rank-<rank>.claim, rank-<rank>-<pid>.ring */

/* Pairs the records of one ring into spans: shadow stacks, ranges by id, steps, requests, communicators. In: records from
 * core/ring/drain. Out: spans in the store. Internal to aggregate/read; one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/read/ring/comm_table.h"
#include "aggregate/read/ring/open_table.h"
#include "aggregate/read/ring/store.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/span.h"
#include "core/ring/drain.h"
#include "core/ring/intern.h"
#include "core/ring/ring_file.h"

struct pp_stack { /* open pushes of one thread and domain */
	struct pp_span **entry;
	uint32_t depth, room;
	uint32_t skipped; /* pushes above the deepest that is tracked */
};

struct pp_track { /* one thread of a ring, for its lifetime */
	struct pp_track *next;
	struct pp_pair *pair;
	uint32_t slot, tid; /* PP_NO_SLOT: a stream of a device, or a thread known by its calls of the device only */
	int is_main;
	uint32_t device, context; /* number + 1 of the stream's device; 0: a thread */
	int writes_devices;       /* the thread writes what the device's library delivered */
	char name[32];
	int64_t first, last; /* ticks, first > last: none yet */
	struct pp_blocks blocks;
	uint32_t kinds;       /* PP_SPAN_BIT() of all spans that it ever had */
	struct pp_span *step; /* open one */
	uint64_t lost_seen;   /* of the slot, when the last gap was read */
	int over;             /* its thread has ended */
	int torn;             /* records were lost: a pop without a push may be no fault of the program */
	pp_tick message_tick; /* tick of the call that the message belongs to */
	struct pp_record_message message;
	int has_message;
	pp_tick payload_tick; /* tick of the record that the payload belongs to */
	uint64_t payload;
	uint16_t payload_type; /* enum pp_payload_type; NONE: no payload is waiting */
	struct pp_stack stack[PP_RING_DOMAINS];
};

#define PP_NO_SLOT UINT32_MAX

struct pp_read_shared { /* what all rings of one pp_rings use */
	struct pp_store store;
	struct pp_intern *names, *payloads;
	uint32_t *call_name; /* [pp_mpi_call_count()] */
	unsigned calls;
	char *text; /* buffer for the longest text of a chunk */
};

struct pp_nccl_part { /* a TASK or a DONE */
	int64_t time;
	int64_t launch, launched, device_ns; /* 0: unknown */
	uint32_t operation, sequence;
	int32_t peer;
	uint32_t tid; /* of the thread that wrote it */
	uint8_t is_done, flags, channels, how;
};

struct pp_nccl_range { /* payload of an NVTX range of NCCL */
	int64_t begin;
	uint64_t comm, bytes;
	int32_t peer; /* or root; -1: none */
	uint32_t tid;
	uint16_t call;
};

struct pp_nccl_parts {
	struct pp_nccl_part *part;
	struct pp_nccl_range *range;
	size_t parts, parts_room, ranges, ranges_room;
};

struct pp_pair { /* one ring */
	struct pp_read_shared *shared;
	const struct pp_ring_header *header;
	pp_tick latest; /* a record with a later tick is damaged, unless the clock has passed it meanwhile */
	int has_clock;  /* this host's clock is that of the ring */
	int is_left;    /* by a dead keeper: nobody cuts the file while it is read, so zeros among its records are damage */
	struct pp_track *tracks;                 /* newest first */
	struct pp_track *track[PP_RING_THREADS]; /* of the slot's thread now */
	struct pp_open_table ranges, requests;
	struct pp_comm_table comms;
	struct pp_devices *devices; /* NULL: no record of one */
	struct pp_usage *usage;
	size_t usages, usages_room;
	struct pp_annotation *annotation;
	size_t annotations, annotations_room;
	struct pp_span_message *message;
	size_t messages, messages_room;
	uint32_t message_first; /* index + 1 of the first: those before it were dropped */
	struct pp_nccl_parts nccl;
	char remark[PP_REMARKS][PP_REMARK_TEXT];
	uint32_t remarks; /* remarks kept, and others for which there was no room */
	uint64_t records;
	uint32_t emptied; /* threads whose spans were all evicted, since pp_pair_forget() */
	uint64_t lost[PP_LOSSES];
	int64_t horizon;
	int64_t last; /* tick of the last record: of threads that are forgotten, of all after pp_pair_close(); INT64_MIN: none */
	uint64_t steps_ended;
	struct pp_step_ended ended[PP_STEPS_ENDED]; /* the last of them, by their count */
};

#define PP_TICK_MOST ((pp_tick)1 << 62) /* a larger tick is damage: sums of two still fit */

enum { PP_TEXT_ROOM = PP_CHUNK_RECORDS * PP_RECORD_CONT_TEXT + PP_TEXT_INLINE };

void pp_pair_init(struct pp_pair *p, struct pp_read_shared *shared, const struct pp_ring_header *header);
/* The ring's ticks are those of this host's clock: no record of it is later than now. */
void pp_pair_know_clock(struct pp_pair *p);
void pp_pair_release(struct pp_pair *p);
/* Sinks of core/ring/drain; context is the struct pp_pair. */
void pp_pair_records(void *context, uint32_t slot, const struct pp_record *record, uint32_t count);
void pp_pair_ended(void *context, uint32_t slot);
/* The same, found in the records: the slot already names the next thread. */
void pp_pair_succeeded(struct pp_pair *p, uint32_t slot, const struct pp_record_thread *was);
/* Track without a slot; NULL: no memory. */
struct pp_track *pp_track_make(struct pp_pair *p, uint32_t tid);
/* Track of the slot's thread from now on; NULL: no memory. */
struct pp_track *pp_track_new(struct pp_pair *p, uint32_t slot);
void pp_stack_close(struct pp_stack *s, int64_t end);
/* Closes the track's open spans at its last tick. */
void pp_track_close(struct pp_track *track, int thread_ended);

/* Is an end without a begin, or a begin without an end, a fault of the program? Not where records were lost, nor where a rank
 * records in windows only: ranges are open at their edges. */
int pp_track_is_unbalanced(const struct pp_track *track);

/* The same for all tracks of a ring; a range or request may end on another thread than the one it began on. */
void pp_pair_close(struct pp_pair *p);

/* New span of the track, begin = end = `begin`; NULL: no memory, counted. */
struct pp_span *pp_track_add(struct pp_track *track, enum pp_span_kind kind, int64_t begin, uint32_t name);
void pp_track_end_span(struct pp_span *s, int64_t end, uint8_t flags);
void pp_track_mpi(struct pp_track *track, const struct pp_record *r);
void pp_track_request(struct pp_track *track, const struct pp_record *r);
void pp_track_comm(struct pp_track *track, const struct pp_record *r, const char *text, size_t length);

/* message.c: a MESSAGE record, kept until the call of the same tick comes; and: gives it to the call's span. */
void pp_pair_message_add(struct pp_track *track, const struct pp_record *r);
void pp_pair_message_take(struct pp_track *track, const struct pp_record *r, struct pp_span *call, struct pp_span *request);
/* A receive of any source or tag completed. */
void pp_pair_message_complete(struct pp_pair *p, const struct pp_record *r, struct pp_span *request);
/* Drops the first ones up to `to`. */
void pp_pair_message_drop(struct pp_pair *p, int64_t to);
/* Gives them to the rank, whose threads from `first` on are this ring's. -ENOMEM. */
int pp_pair_message_finish(struct pp_pair *p, struct pp_rank *rank, size_t first);

/* NVTX payloads as numbers or text. The header with their schemas may be hostile and change at any time. */
enum { PP_PAYLOAD_TEXT = 1024 };

/* A PAYLOAD record with its bytes: kept until the record of the same tick comes. */
void pp_payload_add(struct pp_track *track, const struct pp_record *r, const char *bytes, size_t length);
/* Adds the payload kept for the record `r` to the span; NULL: drops it. */
void pp_payload_take(struct pp_track *track, const struct pp_record *r, struct pp_span *span);
/* Keeps a text that follows the name of the record in the same way, unless the record has a payload of its own. */
void pp_payload_suffix(struct pp_track *track, const struct pp_record *r, const char *text, size_t length);
/* "name=value, name=value" of a flat struct, a number, a text, else "N bytes 0x...". `to` has PP_PAYLOAD_TEXT bytes. */
size_t pp_payload_text(const struct pp_ring_header *h, const struct pp_record_payload *p, const char *bytes, size_t length,
                       char *to);

/* ANNOTATION records of a ring; above a limit the oldest are dropped. is_bad: no shim writes such a one. */
int pp_annotation_is_bad(const struct pp_record_annotation *t);
void pp_pair_annotation(struct pp_pair *p, const struct pp_record *r);
/* REMARK: each text once. */
void pp_pair_remark(struct pp_pair *p, const char *text, size_t length);
void pp_remark_add(char (*remark)[PP_REMARK_TEXT], uint32_t *remarks, const char *text);
/* Length of a range's name without PyTorch's suffix: ", seq = 3, sizes = [[2]]". */
size_t pp_name_plain(const char *text, size_t length);

/* DEVICE to DEVICE_LOST and DEVICE_POOL, device.c. is_bad: no collector writes such a one. */
static inline int pp_is_device(const struct pp_record *r)
{
	return (r->kind >= PP_RECORD_DEVICE && r->kind <= PP_RECORD_DEVICE_LOST) || r->kind == PP_RECORD_DEVICE_POOL;
}
int pp_device_is_bad(const struct pp_record *r);
void pp_pair_device(struct pp_pair *p, uint32_t slot, const struct pp_record *r, const char *text, size_t length);
/* A thread of that tid began: the track that stood for it until now; NULL: none did. */
struct pp_track *pp_device_adopt(struct pp_pair *p, uint32_t tid);
/* Tracks were freed. */
void pp_device_forget(struct pp_pair *p);
void pp_device_drop_between(struct pp_pair *p, int64_t from, int64_t to);
/* Gives devices, launches, allocations and pools to the rank; its threads from `first_thread` on are this ring's. -ENOMEM. */
int pp_device_take(struct pp_pair *p, struct pp_rank *rank, size_t first_thread);
void pp_device_release(struct pp_pair *p);

/* Frees tracks of ended threads without a span. */
void pp_pair_forget(struct pp_pair *p);

/* nccl.c: operations of NCCL and RCCL. Their parts come from different threads, so they are put together at the end. is_bad: no
 * collector writes such a record. */
int pp_nccl_is_bad(const struct pp_record *r);
void pp_track_nccl(struct pp_track *track, const struct pp_record *r);
/* A payload of a range in the domain "NCCL". */
void pp_nccl_payload(struct pp_track *track, const struct pp_record *r, const char *bytes, size_t length);
/* Drops what is of [from, to]. */
void pp_nccl_drop(struct pp_nccl_parts *n, int64_t from, int64_t to);
void pp_nccl_release(struct pp_nccl_parts *n);
/* Completes the spans of the threads from `first` on, which are those of this ring, and adds requests. -ENOMEM. */
int pp_nccl_finish(struct pp_pair *p, struct pp_rank *rank, size_t first);
/* Gives peers their world ranks, where the members of their communicators are known on this host. -ENOMEM. */
int pp_nccl_peers(struct pp_capture *c);

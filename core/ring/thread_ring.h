/* A thread's end of the ring file: take a record, fill it, commit it. Called by every source on the application's threads. In:
 * records. Out: chunks of the ring file. One writer per thread; locks and system calls only when a chunk is full. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/ring/chunk_pool.h"
#include "core/ring/copy_short.h"
#include "core/ring/cursor.h"
#include "core/ring/wiped.h"

struct pp_thread_ring {
	struct pp_ring_cursor cursor;
	struct pp_thread_slot *slot;
	struct pp_record *resume;        /* of an ended thread: where the next one continues, NULL: no chunk */
	uint32_t number;                 /* of the slot */
	uint32_t chunk;                  /* chunk that is being written, 0: none yet */
	uint32_t oldest;                 /* first chunk that was not collected yet, 0: none */
	uint32_t gap;                    /* something was lost or not recorded since the last record */
	uint32_t next_range;             /* START ids of this thread */
	uint16_t depth[PP_RING_DOMAINS]; /* open pushes, for NVTX's return value */
};

/* This thread's ring; a shared dummy, always busy, before the first use and after the thread's end. */
extern _Thread_local struct pp_thread_ring *pp_thread_self __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern struct pp_pool pp_ring_pool __attribute__((visibility("hidden")));

/* Call before pp_wiped.recording is set for the first time. on_thread_end: called on a thread before its ring ends, since a
 * source may hold back a record of it; NULL: none does. */
int pp_rings_start(void (*on_thread_end)(void));
/* 1 in a child of this process, whether or not fork handlers ran: the rings are its parent's. */
int pp_rings_are_copied(void);
/* In a forked child: the parent's file is unmapped, no thread has a ring. */
void pp_rings_abandon(void);
/* After it: this process may have a file of its own. */
void pp_rings_revive(void);
/* This thread's ring, which it makes if there is none; NULL where there is no slot. */
struct pp_thread_ring *pp_thread_enter(void);
/* This thread's line of struct pp_where, which it gets with a ring; a shared dummy where it has none. Never NULL. */
struct pp_where *pp_thread_where(void);
/* Slow path: finds room, writes the record and `rest` behind it in TEXT records, else drops and counts. Keeps errno. 1: it wrote
 * the record. */
int pp_ring_put(const struct pp_record *head, const void *rest, uint32_t rest_length);
/* The mark of a step; `number` of its begin, 0 at its end. As pp_ring_put(). */
static inline void pp_ring_put_step(enum pp_record_kind kind, int64_t number, pp_tick tick)
{
	struct pp_record r = {
	        .tick = tick, .kind = (uint16_t)kind, .step.number = number, .step.level = pp_ring_level(pp_ring_pool.header)};

	pp_ring_put(&r, NULL, 0);
}

/* Counts a record that was not tried. */
void pp_ring_lose(enum pp_loss loss);
/* Describes a communicator in the ring file, with row->id as its id; where there is no room it is counted. Drop: it was freed. */
void pp_ring_comm_put(const struct pp_ring_comm *row);
void pp_ring_comm_drop(uint64_t id);
/* The same for a communicator whose row its owner goes on writing, and of which there may be several with one id. NULL: this
 * process has no ring file, or it has no free row, which is counted. The address stays valid, in forked children too. */
struct pp_ring_comm *pp_ring_comm_take(const struct pp_ring_comm *row);
void pp_ring_comm_leave(struct pp_ring_comm *row);
/* Give the thread `tid` its name. */
void pp_ring_name_thread(uint32_t tid, const char *name);

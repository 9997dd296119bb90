/* Wiring of stages 1-3 inside the application: what every source calls. All symbols hidden but the podprof_guest_* table,
 * which libpodprof-mpi.so finds by dlsym(RTLD_DEFAULT, "podprof_guest").
 * In: source callbacks. Out: records in this rank's ring file. */
#ifndef PP_COLLECTOR_H
#define PP_COLLECTOR_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/coord/coord.h"
#include "core/ring/ring_file.h"

enum pp_evidence {
	PP_EVIDENCE_MARK = 1,
	PP_EVIDENCE_MPI = 2,
	PP_EVIDENCE_GROUP = 3,   /* the process is a rank of a framework's process group, whatever its parent is */
	PP_EVIDENCE_CHANGED = 4, /* a mark of a forked child that has set a launcher's variable to another number */
};

struct podprof_guest { /* libpodprof.so's services for libpodprof-mpi.so; append only */
	uint64_t size;
	/* This process has evidence of being the rank: try to claim (once; later calls return what the first found).
	 * rank, size: -1 where unknown (then the launcher's environment is asked). Returns 1 if this process records. */
	int (*claim)(enum pp_evidence evidence, int rank, int size);
	/* Not 0 while records are to be written (it counts how often recording was switched on). A pointer, so
	 * that the hot path is one load. */
	const _Atomic uint32_t *recording;
	/* Append one record, with `extra` bytes of text that did not fit (may be 0); copies. Drops and counts
	 * where there is no room. */
	void (*put)(const struct pp_record *record, const void *rest, uint32_t rest_length);
	/* This thread's where-am-I line; a private dummy before the claim or where slots ran out. Never NULL. */
	struct pp_where *(*where)(void);
	/* The tick kind is settled before this table is found. */
	const int *tick_kind;
	/* enum pp_mpi_state; at any time */
	void (*mpi_state)(uint32_t state);
	/* One line on stderr, "podprof: " in front; rank 0 only; errors only. */
	void (*say)(const char *text);
	/* The hot door, when recording: this thread's ring cursor (thread-local, exported initial-exec would bind the two
	 * libraries; so a function that returns its address: ask again while `end` is NULL, else once a thread).
	 * r = pp_ring_take(cursor, recording), or pp_ring_take_late(); if r: fill *r, pp_ring_commit(cursor). Else call put():
	 * it finds room, or drops and counts. */
	struct pp_ring_cursor *(*cursor)(void);
	/* MPI_Pcontrol: 1 stops recording on this rank, 0 lets it go on where the window wants it. */
	void (*pause)(int paused);
	/* What is to be called on a thread that ends, and on the one that switches recording off, before. */
	void (*flush_with)(void (*flush)(void));
	/* Not 0 while collectives on MPI_COMM_WORLD are to be told, after their record. root: world rank, -1 none; bytes: the
	 * larger of given and got. */
	const _Atomic uint32_t *pattern;
	void (*collective)(uint16_t call, int32_t root, uint64_t bytes, int failed);
	/* The keeper wants something where these two words differ: look() then, from inside an MPI call of the application, on
	 * any thread. Neither is NULL once this process is the rank. */
	const _Atomic uint32_t *bell, *heard;
	void (*look)(void);
	/* Once, by who can let ranks agree. */
	void (*coordinate)(const struct pp_coord_ops *ops);
	/* The directory that this rank shares with its keeper, once it is the rank. */
	const char *(*spool)(void);
	/* What agreement this rank takes part in, and why in no better one (at most 95 bytes). */
	void (*coordinator)(enum pp_coordinator what, const char *why);
	/* Rank 0: its keeper is to let others in. */
	void (*want_net)(void);
};

#define PP_RING_BUSY 0xffffffffu /* generation of a cursor whose record is being filled */
#define PP_RING_GAP 0xfffffffeu  /* records were lost: the next one goes through put(), which writes the gap first */

struct pp_ring_cursor {
	struct pp_record *next, *end;
	struct pp_record *first;     /* of the current chunk */
	_Atomic uint32_t *committed; /* of the current chunk */
	uint32_t generation;         /* value of *recording that the thread has caught up with, or PP_RING_BUSY */
	uint32_t active;             /* the same, kept while busy */
};

/* The next record, to be filled, or NULL: use put(). A signal handler that comes in between finds the cursor busy
 * and is dropped and counted. */
static inline struct pp_record *pp_ring_take(struct pp_ring_cursor *c, const _Atomic uint32_t *recording)
{
	uint32_t on = atomic_load_explicit(recording, memory_order_relaxed);

	if (__builtin_expect(on != c->generation, 0))
		return NULL;
	c->generation = PP_RING_BUSY;
	atomic_signal_fence(memory_order_seq_cst); /* busy before `next` is read: a handler either ran wholly before or sees it */
	if (__builtin_expect(c->next >= c->end, 0)) {
		c->generation = on;
		return NULL;
	}
	return c->next;
}

/* The same for what began while recording was on, so also right after it went off; NULL too for a thread without a ring. */
static inline struct pp_record *pp_ring_take_late(struct pp_ring_cursor *c, const _Atomic uint32_t *recording)
{
	uint32_t on = atomic_load_explicit(recording, memory_order_relaxed), ready;

	if (!c)
		return NULL;
	ready = c->generation;
	if (__builtin_expect(on != ready, 0) && (on || ready == PP_RING_BUSY || ready == PP_RING_GAP))
		return NULL;
	c->generation = PP_RING_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(c->next >= c->end, 0)) {
		c->generation = ready;
		return NULL;
	}
	return c->next;
}

static inline void pp_ring_commit(struct pp_ring_cursor *c)
{
	c->next++;
	atomic_store_explicit(c->committed, (uint32_t)(c->next - c->first), memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	c->generation = c->active;
}

#endif

/* Wiring of stages 1-3 inside the application: what every source calls. All symbols hidden but the podprof_guest_* table,
 * which libpodprof-mpi.so finds by dlsym(RTLD_DEFAULT, "podprof_guest").
 * In: source callbacks. Out: records in this rank's ring file. */
#ifndef PP_COLLECTOR_H
#define PP_COLLECTOR_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/ring/ring_file.h"

enum pp_evidence { PP_EVIDENCE_MARK = 1, PP_EVIDENCE_MPI = 2 };

struct podprof_guest { /* libpodprof.so's services for libpodprof-mpi.so; append only */
	uint64_t size;
	/* This process has evidence of being the rank: try to claim (once; later calls return what the first found).
	 * rank, size: -1 where unknown (then the launcher's environment is asked). Returns 1 if this process records. */
	int (*claim)(enum pp_evidence evidence, int rank, int size);
	/* 1 while records are to be written. A pointer, so that the hot path is one load. */
	const _Atomic uint32_t *recording;
	/* Append one record, with `extra` bytes of text that did not fit (may be 0); copies. Drops and counts where there is no room. */
	void (*put)(const struct pp_record *record, const void *rest, uint32_t rest_length);
	/* This thread's where-am-I line; a private dummy before the claim or where slots ran out. Never NULL. */
	struct pp_where *(*where)(void);
	/* The tick kind is settled before this table is found. */
	const int *tick_kind;
	/* 0 never, 1 initialised, 2 finalised */
	void (*mpi_state)(uint32_t state);
	/* One line on stderr, "podprof: " in front; rank 0 only; errors only. */
	void (*say)(const char *text);
	/* The hot door, when recording: this thread's ring cursor (thread-local, exported initial-exec would bind the two
	 * libraries; so a function that returns its address once a thread). Write *cursor->next if next < end, fill it, then
	 * next++ and store-release `count` into *committed. Else call put(). */
	struct pp_ring_cursor *(*cursor)(void);
};

struct pp_ring_cursor {
	struct pp_record *next, *end;
	struct pp_record *first;          /* of the current chunk */
	_Atomic uint32_t *committed;      /* of the current chunk */
};

static inline void pp_ring_commit(struct pp_ring_cursor *c)
{
	c->next++;
	atomic_store_explicit(c->committed, (uint32_t)(c->next - c->first), memory_order_release);
}

#endif

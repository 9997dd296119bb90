/* Wiring of stages 1-3 inside the application: what every source calls. All symbols hidden but the podprof_collector table,
 * which libpodprof-mpi.so finds by dlsym(RTLD_DEFAULT, "podprof_collector").
 * In: source callbacks. Out: records in this rank's ring file. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/coord/coord.h"
#include "core/coord/evidence.h"
#include "core/ring/cursor.h"
#include "core/ring/ring_file.h"
#include "core/source/source.h"

struct podprof_collector { /* libpodprof.so's services for libpodprof-mpi.so, which is of the same build */
	uint64_t size;     /* of this struct: another one is another podprof's, of which nothing is called */
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
	int (*add_source)(const struct pp_source_ops *source);
	/* Not 0 while collectives on MPI_COMM_WORLD are to be told, after their record. root: world rank, -1 none; bytes: the
	 * larger of given and got. */
	const _Atomic uint32_t *pattern;
	void (*collective)(uint16_t call, int32_t root, uint64_t bytes, int failed);
	/* The keeper wants something where these two words differ: look() then, from inside an MPI call of the application, on
	 * any thread. Neither is NULL once this process is the rank. */
	const _Atomic uint32_t *bell, *acknowledged;
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

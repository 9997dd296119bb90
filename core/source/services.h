/* The collector's services for sources, one table for those of libpodprof.so and for libpodprof-mpi.so, which finds it by
 * dlsym(RTLD_DEFAULT, "podprof_collector"); all other symbols are hidden. In: source callbacks. Out: records in this rank's
 * ring file. Any thread. core/collector.c defines it, above all sources, so that they call up only through it. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/coord/coord.h"
#include "core/coord/evidence.h"
#include "core/ring/cursor.h"
#include "core/ring/ring_file.h"
#include "core/source/source.h"
#include "core/window/pattern.h"

struct podprof_collector { /* both libraries are of the same build */
	uint64_t size;     /* of this struct; with another size nothing of it is called */
	/* This process has evidence of being the rank: try to claim (once; later calls return the first result). rank, size: -1
	 * where unknown (then the launcher's environment is read). Returns 1 if this process records. */
	int (*claim)(enum pp_grounds evidence, int rank, int size);
	/* The number of this rank in its session, once it is the rank. */
	int (*rank)(void);
	/* Not 0 while records are to be written; counts how often recording was switched on. A pointer, so that the hot path is
	 * one load. */
	const _Atomic uint32_t *recording;
	/* Appends one record and `rest`, the text that did not fit (may be empty); copies. Drops and counts where there is no
	 * room. */
	int (*put)(const struct pp_record *record, const void *rest, uint32_t rest_length);
	/* This thread's where-am-I line; a private dummy before the claim or where slots ran out. Never NULL. */
	struct pp_where *(*where)(void);
	/* The tick kind is decided before this table can be found. */
	const int *tick_kind;
	/* enum pp_mpi_state; at any time */
	void (*mpi_state)(uint32_t state);
	/* One line on stderr, "podprof: " in front; rank 0 only; errors only. */
	void (*say)(const char *text);
	/* This thread's ring cursor, for the hot path while recording (a function, since an exported initial-exec variable
	 * would bind the two libraries): ask again while `end` is NULL, else once per thread. r = pp_ring_take(cursor,
	 * recording), or pp_ring_take_late(); if r: fill *r, pp_ring_commit(cursor). Else call put(): it finds room, or drops
	 * and counts. */
	struct pp_ring_cursor *(*cursor)(void);
	/* MPI_Pcontrol: 1 stops recording on this rank, 0 resumes it where the window allows. */
	void (*pause)(int paused);
	int (*add_source)(const struct pp_source_ops *source);
	/* Which calls are to be passed on, after their record: collectives on MPI_COMM_WORLD to collective(), messages to
	 * message(). root: world rank, -1 none; bytes: the larger of sent and received; messages: of this thread since its last
	 * collective there. A receive has peer -1, tag and bytes 0. */
	const _Atomic uint32_t *pattern; /* enum pp_pattern_calls */
	void (*collective)(uint16_t call, int32_t root, uint64_t bytes, uint32_t messages, int failed);
	void (*message)(uint16_t call, int32_t peer, int32_t tag, uint64_t bytes);
	/* The keeper has a new request where these two differ: call poll() then, inside an MPI call of the application, on any
	 * thread. Neither is NULL once this process is the rank. */
	const _Atomic uint32_t *bell, *acknowledged;
	void (*poll)(void);
	/* Sets the operations by which ranks can agree; once. */
	void (*coordinate)(const struct pp_coord_ops *ops);
	/* The directory that this rank shares with its keeper, once it is the rank. */
	const char *(*spool)(void);
	/* The agreement that this rank takes part in, and why in no better one (at most 95 bytes). */
	void (*coordinator)(enum pp_coordinator what, const char *why);
	/* Rank 0: asks its keeper to admit keepers of other hosts. */
	void (*want_net)(void);
	/* A communicator was made, or got its name; one was freed. Also while nothing is recorded. */
	void (*comm)(const struct pp_ring_comm *row);
	void (*comm_freed)(uint64_t id);
	/* The same as claim() for rank `rank` of a framework's process group of `size`; `own`: the program itself started this
	 * process, which is then a rank although its parent is one. A process that is the rank already gets the new number. */
	int (*claim_group)(int rank, int size, int own);
	/* The process ends without running exit handlers. */
	void (*end)(int status);
};

/* podprof_collector for the sources of libpodprof.so itself: no other library's can take its place. */
extern struct podprof_collector pp_services __attribute__((visibility("hidden")));

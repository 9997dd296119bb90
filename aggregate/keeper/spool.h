/* What a spool directory holds, as the keeper and salvage see it. In: its files. Out: settings, rings, run processes. */
#pragma once

#include <stdint.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/session/notes.h"
#include "aggregate/spool/run_file.h"
#include "aggregate/spool/watch.h"
#include "core/base/err.h"

struct pp_run { /* a process that `podprof run` became */
	struct pp_run_file file;
	struct pp_watch watch;
};

struct pp_still;

struct pp_spool_view {
	const char *path;
	struct pp_rings *rings;
	char (*ring)[64]; /* file names seen, opened or not */
	size_t ring_names;
	size_t refused;         /* of them, rings that cannot be read: from another version of podprof, for example */
	struct pp_watch *rank;  /* [pp_rings_count()] */
	struct pp_still *still; /* [stills], of the first rings: still.h */
	size_t stills;
	int64_t still_ms;
	struct pp_run *run;
	size_t runs;
	int salvaged;         /* no process writes it any more: an incomplete ring stays incomplete */
	int again;            /* a ring could not be read yet: the next scan may */
	struct pp_wake *wake; /* of the keeper that watches the processes; NULL: none */
	int followed;         /* the launcher has restarted the ranks, with another spool */
	struct pp_notes notes;
};

/* Opens new rings and finds new run files. Returns how many rings were opened; -errno: the directory cannot be read, or there
 * was no memory for a ring (which is retried). */
int pp_spool_scan(struct pp_spool_view *v);
/* Takes ring `index` out of the view. */
void pp_spool_drop(struct pp_spool_view *v, size_t index);
void pp_spool_view_release(struct pp_spool_view *v);

/* What a spool directory holds, by the headers of its rings and by its run files. For the keeper and salvage, which read the
 * records by it (keeper/records.h), and for status, hang and captures, which read only headers. In: a spool's path. Out: headers,
 * watches of the processes. */
#pragma once

#include <stdint.h>

#include "aggregate/spool/run_file.h"
#include "aggregate/spool/watch.h"
#include "core/base/err.h"
#include "core/ring/drain.h"

struct pp_run { /* a process that `podprof run` became */
	struct pp_run_file file;
	struct pp_watch watch;
};

struct pp_still;

struct pp_spool_ring {
	struct pp_drain *drain;
	char *path;
};

struct pp_spool_view {
	const char *path;
	struct pp_spool_ring *ring; /* [rings] */
	struct pp_watch *rank;      /* [rings] */
	size_t rings;
	char (*name)[64]; /* file names seen, opened or not */
	size_t names;
	char (*refusal)[256]; /* why a ring cannot be read: it is from another version of podprof, for example */
	size_t refused;
	struct pp_still *still; /* [stills], of the first rings: still.h */
	size_t stills;
	int64_t still_ms;
	struct pp_run *run;
	size_t runs;
	int salvaged;         /* no process writes it any more: an incomplete ring stays incomplete */
	int is_private;       /* rings are not changed: only their headers are read, or they are salvaged */
	int again;            /* a ring could not be read yet: the next scan may */
	struct pp_wake *wake; /* of the keeper that watches the processes; NULL: none */
	int followed;         /* the launcher has restarted the ranks, with another spool */
};

/* Opens new rings and finds new run files. Returns how many rings were opened; -errno: the directory cannot be read, or there
 * was no memory for a ring (which is retried). */
int pp_spool_scan(struct pp_spool_view *v);
/* How many rings it has open. */
size_t pp_spool_count(const struct pp_spool_view *v);
/* The header of one, which its rank still writes; where the file was cut, the last good copy. Valid until the next scan. */
const struct pp_ring_header *pp_spool_header(const struct pp_spool_view *v, size_t ring);
/* 1: the process of that ring is no rank: pp_rings_exclude(). */
int pp_spool_is_excluded(const struct pp_spool_view *v, size_t ring);
/* Counts a ring, or all of the spool, as one that cannot be read. */
void pp_spool_refuse(struct pp_spool_view *v, const char *why);
/* Takes ring `index` out of the view; later rings move down by one. */
void pp_spool_drop(struct pp_spool_view *v, size_t index);
/* Closes all that it has open. */
void pp_spool_view_release(struct pp_spool_view *v);

/* Spans that wait for their end, by id. In: ids from records. Out: the span. Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/read/ring/track.h"

enum { PP_OPEN_MOST = 65536 }; /* a program with more open ranges never ends them */

struct pp_open {
	uint64_t id;
	struct pp_span *span; /* NULL: empty place */
	struct pp_track *track;
};

struct pp_open_table {
	struct pp_open *place;
	size_t places, used;
};

/* 0, or -1: full or no memory. The id must not be there. */
int pp_open_put(struct pp_open_table *t, uint64_t id, struct pp_span *span, struct pp_track *track);
/* The place of that id, until the next call that puts or removes; NULL: none. */
struct pp_open *pp_open_find(const struct pp_open_table *t, uint64_t id);
/* `open` is from pp_open_find(); the span stays as it is. */
void pp_open_remove(struct pp_open_table *t, struct pp_open *open);
/* The span of that id, if there is one, has a new address; NULL: it is lost. */
void pp_open_moved(struct pp_open_table *t, uint64_t id, struct pp_span *moved);
/* Ends the track's spans at its last tick, as cut. Returns how many. */
size_t pp_open_close(struct pp_open_table *t, const struct pp_track *track);
/* Frees the table; spans stay as they are. */
void pp_open_release(struct pp_open_table *t);

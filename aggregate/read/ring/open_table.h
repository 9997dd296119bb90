/* Spans that wait for their end, by id. In: ids from records. Out: the span. Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_span;

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
struct pp_open *pp_open_find(const struct pp_open_table *t, uint64_t id);
void pp_open_remove(struct pp_open_table *t, struct pp_open *open);
void pp_open_release(struct pp_open_table *t);

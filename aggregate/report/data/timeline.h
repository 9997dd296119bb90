/* The timeline in the page: which events, and how they are packed. In: struct pp_timeline. Out: the page's "timeline".
 * Used by timeline.c, pick.c, chunk.c and their tests. */
#pragma once

#include <stdio.h>

#include "aggregate/timeline/timeline.h"

struct pp_page_limit {
	size_t pin;             /* index of the step that the page shows first; SIZE_MAX: the one in the middle */
	uint64_t events, bytes; /* of all chunks; bytes as they stand in the page */
};

/* What of a timeline is in the page. A chunk is 1 + index of a step; chunk 0 has the events outside of steps, and those that reach
 * into more than one later step. */
struct pp_page_part {
	const struct pp_timeline *t;
	uint8_t *has_rank, *has_chunk; /* [ranks], [steps + 1] */
	int64_t shortest_ns[2];        /* events of chunk 0, of steps, must be that long: longer ones hold the nested ones */
	uint32_t *number;              /* [events] position in the page; PP_PAGE_NO_EVENT: not in it */
	uint32_t *event;               /* [events in the page], in that order: by chunk, track, begin, end descending */
	size_t *first;                 /* [steps + 2] of each chunk, into event */
	uint64_t left_steps, left_ranks, left_short[2]; /* events that are not in it, by reason */
};

#define PP_PAGE_NO_EVENT UINT32_MAX

size_t pp_page_chunk_of(const struct pp_timeline *t, const struct pp_timeline_event *e);
/* Chooses at most so many events (a bit more where even the pinned step has more events of equal length). 0, or -ENOMEM. */
int pp_page_pick(struct pp_page_part *part, const struct pp_timeline *t, size_t pin, uint64_t events);
void pp_page_part_release(struct pp_page_part *part);

/* Names as numbers of the page. */
struct pp_page_names {
	uint32_t *number; /* [names of the timeline] 0: not used so far */
	uint32_t *name;   /* [n] */
	uint32_t n;
};

/* Writes the array of chunks; chunk[] receives the index of each step's chunk (-1: it has none), *ret_flows the flows that begin or
 * end at events outside of the page. 0, or -ENOMEM. */
int pp_page_chunks(FILE *to, const struct pp_page_part *part, struct pp_page_names *names, int64_t *chunk, uint64_t *ret_flows);

/* Writes the object, as timeline.c describes it. 0, or -ENOMEM. */
int pp_page_timeline_put(FILE *to, const struct pp_timeline *t, const struct pp_page_limit *limit, struct pp_err *err);

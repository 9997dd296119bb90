/* pp_reader_ops: the reading half of a source. In: records of one ring, a copy of each, in the order in which each thread wrote
 * them, of any content. Out: spans in the store, and what the rank gets at the end. A new reader is one file and one line in
 * reader_list.def. One thread reads all rings.
 *
 * - What a reader knows of a ring or of a thread is its own: pp_pair_state() and pp_track_state() give it, by its number, zeroed
 *   when it is first asked for. The records of a ring end with `release`.
 * - A span whose end is to come has PP_SPAN_OPEN. Its address holds until the store evicts or drops: then `moved` comes.
 * - What finds no room is counted in pp_pair.lost. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/record.h"

struct pp_capture;
struct pp_rank;
struct pp_span;
struct pp_pair;  /* a ring: track.h */
struct pp_track; /* one of its threads */

enum pp_reader_number {
#define PP_READER(number, symbol) PP_READER_##number,
#include "aggregate/read/ring/reader_list.def"
#undef PP_READER
	PP_READERS
};

enum pp_reader_flags {
	PP_READER_IN_DOMAIN = 1, /* a struct pp_record_range: without a domain of the ring it is damaged */
	PP_READER_HAS_END = 2,   /* its payload begins with its end, as struct pp_record_mpi: that is when it was written */
};

struct pp_reader_kind {           /* of record that a reader takes; `text` is what follows it, or its inline part */
	enum pp_record_kind kind; /* Required; NONE ends the list */
	unsigned flags;           /* Optional: enum pp_reader_flags */
	/* Optional: no collector writes such a record: it counts as damaged, and nobody takes it. */
	int (*is_bad)(const struct pp_record *r);
	/* This or the next is Required. Of the thread that wrote it, at its tick, which is not after now. */
	void (*take)(struct pp_track *track, const struct pp_record *r, const char *text, size_t length);
	/* It tells of others than the thread that wrote it, of slot `slot`: its ticks are not that thread's, and are unchecked. */
	void (*take_of_slot)(struct pp_pair *p, uint32_t slot, const struct pp_record *r, const char *text, size_t length);
};

enum pp_track_end {                  /* why what a thread recorded ends */
	            PP_TRACK_OFF,    /* recording was off: it goes on */
	            PP_TRACK_TORN,   /* records were lost: it goes on */
	            PP_TRACK_ENDED,  /* the thread has ended */
	            PP_TRACK_CLOSED, /* nothing of the ring is read any more */
};

struct pp_reader_ops {                      /* const, valid for the life of the process */
	const char *name;                   /* Required: "range" */
	const struct pp_reader_kind *kinds; /* Required: several readers may take one kind */
	/* Optional: at the track's last tick. What is open ends or stays as the reason demands; after CLOSED nothing is open. */
	void (*thread_end)(struct pp_track *track, enum pp_track_end why);
	/* Optional: an open span of the track has a new address; NULL: it is lost. */
	void (*moved)(struct pp_track *track, const struct pp_span *old, struct pp_span *moved);
	/* Optional: a thread of that tid begins: the track without a slot that stood for it until now, or NULL. */
	struct pp_track *(*adopt)(struct pp_pair *p, uint32_t tid);
	/* Optional: tracks were freed, each without an open span: forget their addresses. */
	void (*forget)(struct pp_pair *p);
	/* Optional: drop what is of ticks [from, to], beside spans; losses count from here again. */
	void (*drop_between)(struct pp_pair *p, int64_t from, int64_t to);
	/* Optional: all records were read. Give the rank what is no span; its threads from `first_thread` on, their spans in order
	 * of begin, are this ring's. 0, or -ENOMEM. */
	int (*finish)(struct pp_pair *p, struct pp_rank *rank, size_t first_thread);
	/* Optional: all rings have given theirs, and the capture has its names. 0, or -ENOMEM. */
	int (*finish_capture)(struct pp_capture *c);
	/* Optional: free what its states point to, not the states; tracks are still there. */
	void (*release)(struct pp_pair *p);
};

/* All readers, by number. */
extern const struct pp_reader_ops *const pp_reader_list[PP_READERS];

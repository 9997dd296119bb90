/* Steps from one communicator's collectives, and the evidence for them. In: its symbols and each rank's times.
 * Out: lists of steps by index of the stream. Shared by step_period.c and step_nest.c only. */
#pragma once

#include <stddef.h>

#include "core/window/period.h"

struct pp_marks;
struct pp_rank;

/* The collectives of one communicator, by sequence number from `low` on, the same for all ranks; or one rank's messages. */
struct pp_stream {
	uint64_t comm;
	uint32_t low;
	size_t calls;       /* collectives */
	size_t length;      /* with the elements that stand for messages between two of them */
	uint32_t *symbol;   /* [length]; PP_PERIOD_GAP where no rank knows */
	uint64_t *bytes;    /* [length]; the most that a rank sent or received */
	uint32_t *messages; /* [length]; of all ranks, where the symbol is PP_PERIOD_MESSAGES; NULL: a rank's messages */
	uint32_t *place;    /* [calls] index of each collective; NULL: a rank's messages */
};

struct pp_period_step {
	size_t head; /* index of its first collective */
	size_t last; /* of its last one: it ends where this one ends */
};

struct pp_period_list {
	struct pp_period_step *step;
	size_t steps, room;
	uint32_t period;   /* collectives of a step: of the last pattern, of most steps where they differ */
	uint32_t patterns; /* how many there were, one after the other */
	uint64_t calls;    /* collectives of steps */
	double share;      /* of all from the first step to the last */
};

struct pp_period_times { /* of one rank, by index of the stream; INT64_MIN: not known */
	int64_t *begin, *end;
	int64_t *work; /* [length] for medians */
};

struct pp_period_time {     /* sums over ranks */
	double own;         /* ns of steps. Time before a step after other calls counts at most as before the other steps */
	double whole;       /* from the first step to the last */
	double first, next; /* median step after other calls; after a step */
};

enum pp_period_nest {
	PP_NEST_NONE,   /* the steps are adjacent */
	PP_NEST_STEPS,  /* these are steps; between them are evaluations or checkpoints */
	PP_NEST_LOOP,   /* a loop inside of the step */
	PP_NEST_ROUNDS, /* these are steps because there are many between others; nothing else decides */
	PP_NEST_UNSURE, /* undecided */
};

/* Appends; -ENOMEM. */
int pp_period_list_add(struct pp_period_list *list, size_t head, size_t last);
/* Share, calls and period of a complete list. share: the most it can be, where other calls are inside of steps. */
void pp_period_list_measure(struct pp_period_list *list, double share);
/* Room for `length` elements; -ENOMEM, and pp_period_times_release() in any case. */
int pp_period_times_init(struct pp_period_times *times, size_t length);
void pp_period_times_release(struct pp_period_times *times);
/* Steps found by pp_period. from, to: first and last index that a symbol stands for; NULL: itself. -ENOMEM. */
int pp_period_list_find(struct pp_period_list *list, struct pp_period *p, const uint32_t *symbol, size_t length, const size_t *from,
                        const size_t *to);
/* Steps of the pattern around these, with each series of steps as one symbol. No steps: there is none. -ENOMEM. */
int pp_period_list_around(struct pp_period_list *ret_list, struct pp_period *p, const struct pp_stream *s,
                          const struct pp_period_list *inner);
/* Steps of a part that repeats inside of the pattern at least PP_NEST_TIMES times. No steps: there is none. -ENOMEM. */
int pp_period_list_inside(struct pp_period_list *ret_list, const struct pp_stream *s, const struct pp_period_list *outer);
/* Appends a rank's marks. A first step without a call before it begins with the rank's records and is incomplete, as is the time
 * after the last one. -ENOMEM. */
int pp_period_list_mark(const struct pp_period_list *list, const struct pp_period_times *times, const struct pp_rank *rank,
                        struct pp_marks *marks);
/* Frees the steps; empty then. */
void pp_period_list_release(struct pp_period_list *list);

/* How often other calls are between two steps. */
size_t pp_period_list_gaps(const struct pp_period_list *list);
/* Sums of the steps' times, from one rank's; adds to *sum. */
void pp_period_list_time(const struct pp_period_list *list, const struct pp_period_times *times, struct pp_period_time *sum);
/* Are these steps, or a loop inside of one? Rule: docs/steps.md. all_ranks: `time` is of all ranks, so hosts agree. */
enum pp_period_nest pp_period_list_nest(const struct pp_period_list *list, const struct pp_stream *s,
                                        const struct pp_period_time *time, int all_ranks);

enum {
	PP_NEST_TIMES = 4, /* a loop inside of a pattern has at least so many rounds */
	PP_NEST_GAPS = 3,  /* other calls between steps, so often: the steps may be a loop inside of one */
};

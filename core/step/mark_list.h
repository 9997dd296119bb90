/* Step marks of one rank, from which the table of steps is made: shared by step_*.c only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_rank;

struct pp_mark {
	int64_t number; /* place in the table; strictly ascending within a rank */
	int64_t begin, end;
	uint8_t complete; /* begin and end were seen, after the horizon */
	uint8_t fresh;    /* the job's number decreased: `number` is a new one */
	uint8_t kind;     /* enum pp_step_kind */
	uint8_t level;    /* enum pp_level */
};

struct pp_marks { /* of one rank, by begin */
	struct pp_mark *mark;
	size_t marks, room;
	uint32_t thread;
	int has_records; /* the rank has any span */
};

#define PP_GUESS_TIME 0.5       /* of the recorded time: with less they are not the run's steps */
#define PP_RANGE_TIME 0.25      /* the same of a range, which the program named */
#define PP_GUESS_CONFIDENCE 0.5 /* below it a found rule is not used */

/* Append; -ENOMEM. */
int pp_marks_add(struct pp_marks *m, const struct pp_mark *mark);

/* Marks in whose time records of the rank's devices are missing are not complete. How many of those in [first, last) were (last <=
 * first: of all); the number of the first one in *ret_first. */
size_t pp_marks_cover(struct pp_marks *m, const struct pp_rank *rank, int64_t first, int64_t last, int64_t *ret_first);

/* Recorded time of a rank in ns, less MPI's start and end, which belong to no step. It may extend to a request's completion,
 * after the last record. */
double pp_recorded_time(const struct pp_rank *rank);

/* Step marks of one rank, from which the table of steps is made: shared by step_*.c only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_capture;
struct pp_rank;

struct pp_steps;

struct pp_mark {
	int64_t number; /* place in the table; strictly ascending within a rank */
	int64_t begin, end;
	uint8_t complete; /* begin and end were seen, after the horizon */
	uint8_t fresh;    /* the job's number decreased: `number` is a new one */
};

struct pp_marks { /* of one rank, by begin */
	struct pp_mark *mark;
	size_t marks, room;
	uint32_t thread;
	int has_records; /* the rank has any span */
};

struct pp_range_rule { /* result of the RANGE rule */
	uint32_t name; /* intern id of the name without its number */
	int numbered;
	int depth;       /* ranges around it */
	double coverage; /* smallest share of a rank's span from first to last occurrence that occurrences cover */
	double balance;  /* 1 where counts are equal within 1, else fewest / most */
	double time;     /* share of the recorded time that they take */
	size_t count;    /* of one rank */
	int evicted;
	double confidence;
};

#define PP_PERIOD_RULE_COVERAGE 0.5 /* of the collectives from the first step to the last: with less no steps are found */
#define PP_GUESS_TIME 0.5           /* of the recorded time: with less they are not the run's steps */
#define PP_RANGE_TIME 0.25          /* the same of a range, which the program named */
#define PP_GUESS_CONFIDENCE 0.5     /* below it a found rule is not used */

struct pp_period_rule {     /* result of the COLLECTIVE_PERIOD rule */
	uint32_t comm_name; /* intern id; 0: none */
	uint32_t period;    /* collectives of the last pattern */
	size_t steps;
	uint32_t patterns;  /* how many there were, one after the other */
	uint64_t matched;   /* collectives of patterns */
	uint64_t irregular; /* others between the first step and the last */
	double coverage;    /* share of the matched */
	double time;        /* share of the recorded time that the steps take */
	int is_between;     /* calls between steps are an evaluation or a checkpoint */
	int is_unsure;      /* undecided: a loop inside of the step, or steps with calls between */
	int evicted;        /* a rank lost its beginning: step 0 is not the job's first */
	double confidence;
};

/* Append; -ENOMEM. */
int pp_marks_add(struct pp_marks *m, const struct pp_mark *mark);

/* Fill numbers, cells and edge steps of `s` from the marks of all ranks: [first, last), or where last <= first all that are
 * complete on every rank that has any. -ENOMEM. */
int pp_step_table_fill(const struct pp_marks *list, size_t ranks, int64_t first, int64_t last, struct pp_steps *s);

/* Recorded time of a rank in ns, less MPI's start and end, which belong to no step. */
double pp_recorded_time(const struct pp_rank *rank);

/* Steps by the RANGE rule: fills list[capture->ranks] and returns 1 where a range qualifies. 0: none does; the closest is in
 * *ret_rule, whose name is 0 where there is none. -ENOMEM. */
int pp_range_rule_find(const struct pp_capture *capture, struct pp_marks *list, struct pp_range_rule *ret_rule);

/* The same by the COLLECTIVE_PERIOD rule; the caller compares its confidence. */
int pp_period_rule_find(const struct pp_capture *capture, struct pp_marks *list, struct pp_period_rule *ret_rule);

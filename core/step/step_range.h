/* The RANGE rule: a range that the program made repeats. In: spans in job ns. Out: marks. Called by step_mark.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_capture;
struct pp_marks;
struct pp_optimizers;

enum pp_range_refused { PP_RANGE_WEAK, PP_RANGE_NO_WORK, PP_RANGE_IS_PART }; /* why the closest range is no step */

struct pp_range_rule { /* result of the RANGE rule */
	uint32_t name; /* intern id of the name without its numbers, or with them where they never vary */
	uint32_t stem; /* the same always without */
	int numbered;
	int iteration;   /* an engine's, known by its name */
	int depth;       /* ranges around it */
	double coverage; /* smallest share of a rank's span from first to last occurrence that occurrences cover */
	double work;     /* the same share of the time in which the process had a core; 0: unknown */
	double balance;  /* 1 where counts are equal within 1, else fewest / most */
	double time;     /* share of the recorded time that they take */
	size_t count;    /* of one rank */
	int evicted;
	double confidence;
	enum pp_range_refused refused;
};

/* Steps by the RANGE rule: fills list[capture->ranks] and returns 1 where a range qualifies. 0: none does; the closest is in
 * *ret_rule, whose name is 0 where there is none. -ENOMEM. A range without the calls of `optimizers` is a part of a step. */
int pp_range_rule_find(const struct pp_capture *capture, const struct pp_optimizers *optimizers, struct pp_marks *list,
                       struct pp_range_rule *ret_rule);
/* The same for a program that serves requests: a range that holds what it computes, however long it waits in between. */
int pp_range_rule_requests(const struct pp_capture *capture, const struct pp_optimizers *optimizers, struct pp_marks *list,
                           struct pp_range_rule *ret_rule);

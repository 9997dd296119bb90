/* The RANGE rule: a range of the main thread that repeats. In: spans in job ns. Out: marks. Called by step_mark.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_capture;
struct pp_marks;

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

/* Steps by the RANGE rule: fills list[capture->ranks] and returns 1 where a range qualifies. 0: none does; the closest is in
 * *ret_rule, whose name is 0 where there is none. -ENOMEM. */
int pp_range_rule_find(const struct pp_capture *capture, struct pp_marks *list, struct pp_range_rule *ret_rule);

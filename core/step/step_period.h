/* The COLLECTIVE_PERIOD rule: the repeating pattern of a communicator's collectives. In: spans in job ns. Out: marks. Called by
 * step_mark.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_capture;
struct pp_marks;

#define PP_PERIOD_RULE_COVERAGE 0.5 /* of the collectives from the first step to the last: with less no steps are found */

struct pp_period_rule {       /* result of the COLLECTIVE_PERIOD rule */
	uint32_t comm_name;   /* intern id; 0: none */
	uint32_t period;      /* calls of the last pattern; messages between two collectives count as one */
	uint32_t collectives; /* of them */
	size_t steps;
	uint32_t patterns;  /* how many there were, one after the other */
	uint64_t matched;   /* collectives of patterns */
	uint64_t irregular; /* others between the first step and the last */
	double coverage;    /* share of the matched */
	double time;        /* share of the recorded time that the steps take */
	int is_between;     /* calls between steps are an evaluation or a checkpoint */
	int is_unsure;      /* undecided: a loop inside of the step, or steps with calls between */
	int is_rounds;      /* many between others, and nothing else decides */
	int is_alike;       /* one collective over and over */
	int is_uneven;      /* most messages are in steps with more than the usual number */
	int evicted;        /* a rank lost its beginning: step 0 is not the job's first */
	int is_all;         /* of a rank's messages and collectives, whatever their communicators */
	size_t without;     /* messages: ranks that have some, and no pattern */
	size_t least, most; /* messages: steps of the ranks with fewest and with most */
	double confidence;
};

/* Steps by this rule, as pp_range_rule_find() has them; the caller compares its confidence. */
int pp_period_rule_find(const struct pp_capture *capture, struct pp_marks *list, struct pp_period_rule *ret_rule);
/* From all that is in the rule but its confidence: docs/steps.md. */
double pp_period_rule_confidence(const struct pp_period_rule *rule);

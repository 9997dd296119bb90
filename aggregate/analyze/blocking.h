/* Does work of a rank wait for a call, or only for nothing? In: a rank's threads, in job time. Out: the answer for each exposed
 * segment. docs/steps.md has the rule. Called by exposed.c. */
#pragma once

#include "aggregate/analyze/budget.h"
#include "core/step/attr_flat.h"

struct pp_device_work {
	int64_t begin, launched; /* launched: INT64_MAX: not known */
};

struct pp_blocking {
	const struct pp_rank *rank;
	struct pp_name_cache cache;
	int64_t *last_work;          /* [threads]: end of its last range that is no communication; MIN: none; MAX: not looked up */
	uint32_t step_thread;        /* the caller's, for each segment */
	struct pp_device_work *work; /* of all devices of the rank, by begin */
	size_t works;
	int has_looked; /* at devices */
};

/* -ENOMEM. */
int pp_blocking_init(struct pp_blocking *b, const struct pp_rank *rank, const struct pp_intern *names);
void pp_blocking_release(struct pp_blocking *b);
/* 0 or -ENOMEM. */
int pp_blocking_of(struct pp_blocking *b, const struct pp_attr_segment *segment, enum pp_budget_blocks *ret_blocks);

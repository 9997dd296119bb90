/* Which call launched what ran on a device. In: a rank's spans. Out: the call of a kernel, copy or set, by its correlation. Called
 * by blocking.c, and by timeline/flow.c for arrows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_rank;
struct pp_span;

struct pp_launch_call {
	uint64_t correlation;
	int64_t begin;
	uint32_t thread, span;
};

struct pp_launch_calls {
	struct pp_launch_call *call; /* by correlation, then by begin */
	size_t calls;
};

/* 0, or -ENOMEM. */
int pp_launch_calls_init(struct pp_launch_calls *l, const struct pp_rank *rank);
/* As pp_launch_calls_find(), but before a time. */
const struct pp_launch_call *pp_launch_calls_before(const struct pp_launch_calls *l, const struct pp_span *s, int64_t time);
void pp_launch_calls_release(struct pp_launch_calls *l);
/* Of a span on a device; NULL: not recorded. */
const struct pp_launch_call *pp_launch_calls_find(const struct pp_launch_calls *l, const struct pp_span *s);

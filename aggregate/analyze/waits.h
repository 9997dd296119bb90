/* For whom each call of a collective waited, call by call: what the tables of pod.h5 sum up. In: all ranks of a session in one
 * capture, and its dataset. Out: one row per rank in a collective. Called by aggregate/timeline. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_place {                    /* of a span in the capture */
	uint32_t rank, thread, span; /* indexes; span UINT32_MAX: none */
};

struct pp_wait {
	struct pp_place call;   /* that made the operation, or began it */
	struct pp_place waiter; /* that waited: `call`, or of a nonblocking operation the Wait or Test that saw it complete */
	struct pp_place last;   /* the call of the rank that it waited for; none: it did not wait */
	int is_message;
	int is_known; /* else only `call` holds */
	int64_t until_ns, bound_ns;
	int32_t last_rank; /* world rank; -1: none */
};

struct pp_waits {
	struct pp_wait *wait;
	size_t waits;
};

/* `d` has the session's workers, cells, communicators and clocks, and its /collective. Our waiting must equal that: of an operation
 * whose waiting differs, or that is not in it, nothing is known, as event files do not hold all that a record does. `d` keeps its
 * tables. -ENOMEM. */
int pp_waits_find(const struct pp_capture *capture, const struct pp_dataset *d, struct pp_waits *ret);
void pp_waits_release(struct pp_waits *w);

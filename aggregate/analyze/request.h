/* Requests of one rank: the call that started each, when it was seen complete and by which Wait or Test. In: spans of a rank.
 * Out: used by collective.c and channel.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_rank;
struct pp_span;

struct pp_done {
	uint32_t request;
	uint32_t wait_thread, wait_span; /* the call that saw it; wait_span UINT32_MAX: none recorded */
	const struct pp_span *span;      /* PP_SPAN_REQUEST */
};

struct pp_requests {
	struct pp_done *done; /* by request */
	size_t dones;
};

/* -ENOMEM. */
int pp_requests_init(struct pp_requests *r, const struct pp_rank *rank);
void pp_requests_release(struct pp_requests *r);
const struct pp_done *pp_requests_find(const struct pp_requests *r, uint32_t request);

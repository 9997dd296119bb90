/* Sorts a thread's spans by begin, then end descending. In: spans that are almost sorted. Pure. Called by aggregate/read. */
#pragma once

#include <stddef.h>

#include "core/capture/span.h"

/* Its begin is earlier; of equal begins, its end is later. */
static inline int pp_span_before(const struct pp_span *a, const struct pp_span *b)
{
	return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
}

/* Near linear where few are out of place. -1: no memory; the order is unchanged then. */
int pp_order_spans(struct pp_span *span, size_t spans);

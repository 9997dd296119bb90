/* Sorts a thread's spans by begin, then end descending. In: spans that are almost sorted. Pure. Called by aggregate/read. */
#pragma once

#include <stddef.h>

struct pp_span;

/* Near linear where few are out of place. -1: no memory; the order is unchanged then. */
int pp_order_spans(struct pp_span *span, size_t spans);

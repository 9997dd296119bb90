/* Sorts spans that are almost in order: takes out those that are not, sorts them, merges them back. Called by finish.c. */
#include "core/capture/order.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	return pp_span_before(a, b) ? -1 : pp_span_before(b, a);
}

static size_t count_late(const struct pp_span *span, size_t spans)
{
	const struct pp_span *top = span;
	size_t late = 0;

	for (size_t i = 1; i < spans; i++) {
		if (pp_span_before(&span[i], top))
			late++;
		else
			top = &span[i];
	}
	return late;
}

int pp_order_spans(struct pp_span *span, size_t spans)
{
	size_t late = spans ? count_late(span, spans) : 0, remaining = 1, out = 0;
	struct pp_span *side;

	if (!late)
		return 0;
	/* Most are out of order: sort all. */
	if (late > spans / 2) {
		qsort(span, spans, sizeof(*span), compare);
		return 0;
	}
	side = malloc(late * sizeof(*side));
	if (!side)
		return -1;
	for (size_t i = 1; i < spans; i++) {
		if (pp_span_before(&span[i], &span[remaining - 1]))
			side[out++] = span[i];
		else
			span[remaining++] = span[i];
	}
	qsort(side, out, sizeof(*side), compare);
	for (size_t at = spans; out > 0;) {
		if (remaining > 0 && pp_span_before(&side[out - 1], &span[remaining - 1]))
			span[--at] = span[--remaining];
		else
			span[--at] = side[--out];
	}
	free(side);
	return 0;
}

/* Calls that launched work of devices; see launch_call.h. */
#include "aggregate/analyze/launch_call.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

PP_COMPARE_BY_2(by_correlation, struct pp_launch_call, correlation, begin)

static uint64_t launches(const struct pp_span *s)
{
	return s->kind == PP_SPAN_RANGE || s->kind == PP_SPAN_MARK ? s->range.id : 0;
}

static int has_stream(const struct pp_rank *rank)
{
	for (size_t t = 0; t < rank->threads; t++)
		if (rank->thread[t].device)
			return 1;
	return 0;
}

int pp_launch_calls_init(struct pp_launch_calls *l, const struct pp_rank *rank)
{
	size_t room = 0;

	*l = (struct pp_launch_calls){.call = NULL};
	if (!has_stream(rank))
		return 0;
	for (size_t t = 0; t < rank->threads; t++)
		for (size_t i = 0; !rank->thread[t].device && i < rank->thread[t].spans; i++) {
			const struct pp_span *s = &rank->thread[t].span[i];
			struct pp_launch_call *more;

			if (!launches(s))
				continue;
			more = pp_grow(l->call, l->calls, &room, sizeof(*more));
			if (!more) {
				pp_launch_calls_release(l);
				return -ENOMEM;
			}
			l->call = more;
			more[l->calls++] = (struct pp_launch_call){launches(s), s->begin, (uint32_t)t, (uint32_t)i};
		}
	if (l->calls)
		qsort(l->call, l->calls, sizeof(*l->call), by_correlation);
	return 0;
}

void pp_launch_calls_release(struct pp_launch_calls *l)
{
	free(l->call);
	*l = (struct pp_launch_calls){.call = NULL};
}

const struct pp_launch_call *pp_launch_calls_before(const struct pp_launch_calls *l, const struct pp_span *s, int64_t time)
{
	size_t low = PP_PARTITION(s->device.correlation ? l->calls : 0, at,
	                          l->call[at].correlation < s->device.correlation ||
	                                  (l->call[at].correlation == s->device.correlation && l->call[at].begin <= time));

	return low && l->call[low - 1].correlation == s->device.correlation ? &l->call[low - 1] : NULL;
}

/* Numbers may be used again: the last call before the work began. */
const struct pp_launch_call *pp_launch_calls_find(const struct pp_launch_calls *l, const struct pp_span *s)
{
	return pp_launch_calls_before(l, s, s->begin);
}

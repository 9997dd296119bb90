/* Which calls work waits for; see blocking.h. */
#include "aggregate/analyze/blocking.h"

#include <errno.h>
#include <stdlib.h>

int pp_blocking_init(struct pp_blocking *b, const struct pp_rank *rank, const struct pp_intern *names)
{
	*b = (struct pp_blocking){.rank = rank, .cache = {.names = names, .count = pp_intern_count(names)}};
	b->cache.code = calloc((size_t)b->cache.count + 1, 1);
	b->last_work = malloc((rank->threads + 1) * sizeof(*b->last_work));
	if (!b->cache.code || !b->last_work)
		return -ENOMEM;
	for (size_t t = 0; t < rank->threads; t++)
		b->last_work[t] = INT64_MAX;
	return 0;
}

void pp_blocking_release(struct pp_blocking *b)
{
	free(b->cache.code);
	free(b->last_work);
	*b = (struct pp_blocking){.rank = NULL};
}

/* What is nested in communication is a part of it. */
static int64_t find_last_work(struct pp_blocking *b, const struct pp_thread *thread)
{
	int64_t last = INT64_MIN, communicates = INT64_MIN;

	for (size_t i = 0; i < thread->spans; i++) {
		const struct pp_span *s = &thread->span[i];
		int category;

		if (s->kind != PP_SPAN_RANGE && s->kind != PP_SPAN_MPI)
			continue;
		category = pp_flat_code(&b->cache, s) & (PP_FLAT_BY_DEFAULT - 1);
		if (category == PP_CATEGORY_HOST_COMMUNICATION || category == PP_CATEGORY_DEVICE_COLLECTIVE)
			communicates = s->end > communicates ? s->end : communicates;
		else if (s->begin >= communicates && s->end > last && !pp_flat_is_silent(s, category))
			last = s->end;
	}
	return last;
}

enum pp_budget_blocks pp_blocking_of(struct pp_blocking *b, const struct pp_attr_segment *segment)
{
	const struct pp_thread *thread = &b->rank->thread[segment->thread];
	int64_t *last = &b->last_work[segment->thread];

	if (thread->device)
		return PP_BUDGET_BLOCKS_UNKNOWN;
	if (segment->thread == b->step_thread)
		return PP_BUDGET_BLOCKS;
	if (*last == INT64_MAX)
		*last = find_last_work(b, thread);
	return *last > thread->span[segment->span].end ? PP_BUDGET_BLOCKS : PP_BUDGET_BESIDE;
}

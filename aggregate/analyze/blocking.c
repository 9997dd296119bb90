/* Which calls work waits for; see blocking.h. */
#include "aggregate/analyze/blocking.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/launch_call.h"
#include "aggregate/analyze/operation.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

int pp_blocking_init(struct pp_blocking *b, const struct pp_rank *rank, const struct pp_intern *names)
{
	*b = (struct pp_blocking){.rank = rank};
	b->last_work = malloc((rank->threads + 1) * sizeof(*b->last_work));
	if (pp_name_cache_init(&b->cache, names) || !b->last_work)
		return -ENOMEM;
	for (size_t t = 0; t < rank->threads; t++)
		b->last_work[t] = INT64_MAX;
	return 0;
}

void pp_blocking_release(struct pp_blocking *b)
{
	pp_name_cache_release(&b->cache);
	free(b->last_work);
	free(b->work);
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
		category = pp_flat_category(pp_flat_code(&b->cache, s));
		if (category == PP_CATEGORY_HOST_COMMUNICATION || category == PP_CATEGORY_DEVICE_COLLECTIVE)
			communicates = s->end > communicates ? s->end : communicates;
		else if (s->begin >= communicates && s->end > last && !pp_flat_is_silent(s, category))
			last = s->end;
	}
	return last;
}

PP_COMPARE_BY_2(by_begin, struct pp_device_work, begin, launched)

/* Lists what devices did beside collectives, and when it was launched. */
static int look_at_devices(struct pp_blocking *b)
{
	const struct pp_rank *rank = b->rank;
	struct pp_launch_calls calls;
	size_t room = 0;
	int rc = pp_launch_calls_init(&calls, rank);

	b->has_looked = 1;
	for (size_t t = 0; t < rank->threads; t++)
		for (size_t i = 0; !rc && rank->thread[t].device && i < rank->thread[t].spans; i++) {
			const struct pp_span *s = &rank->thread[t].span[i];
			const struct pp_launch_call *call;
			struct pp_device_work *more;

			if (s->kind != PP_SPAN_DEVICE || !pp_device_comes_before(s->device.activity))
				continue;
			more = pp_grow(b->work, b->works, &room, sizeof(*more));
			if (!more) {
				rc = -ENOMEM;
				break;
			}
			b->work = more;
			call = pp_launch_calls_find(&calls, s);
			more[b->works++] = (struct pp_device_work){s->begin, call ? call->begin : INT64_MAX};
		}
	pp_launch_calls_release(&calls);
	if (b->works)
		qsort(b->work, b->works, sizeof(*b->work), by_begin);
	return rc;
}

/* The first work that begins at `time` or later; works: none. */
static size_t work_from(const struct pp_blocking *b, int64_t time)
{
	return PP_PARTITION(b->works, at, b->work[at].begin < time);
}

/* Work that begins while the kernel runs has not waited for it. What begins next has, if it was launched before the kernel ended:
 * it was in a queue. */
static enum pp_budget_blocks of_kernel(const struct pp_blocking *b, const struct pp_attr_segment *segment, int64_t end)
{
	size_t next = work_from(b, segment->end);

	if (next < b->works && b->work[next].begin < end)
		return PP_BUDGET_BESIDE;
	if (next == b->works || b->work[next].launched == INT64_MAX)
		return PP_BUDGET_BLOCKS_UNKNOWN;
	return b->work[next].launched < end ? PP_BUDGET_BLOCKS : PP_BUDGET_BESIDE;
}

int pp_blocking_of(struct pp_blocking *b, const struct pp_attr_segment *segment, enum pp_budget_blocks *ret_blocks)
{
	const struct pp_thread *thread = &b->rank->thread[segment->thread];
	int64_t *last = &b->last_work[segment->thread], end = thread->span[segment->span].end;
	int rc = thread->device && !b->has_looked ? look_at_devices(b) : 0;

	if (rc)
		return rc;
	if (!thread->device && segment->thread != b->step_thread && *last == INT64_MAX)
		*last = find_last_work(b, thread);
	if (thread->device)
		*ret_blocks = of_kernel(b, segment, end);
	else
		*ret_blocks = segment->thread == b->step_thread || *last > end ? PP_BUDGET_BLOCKS : PP_BUDGET_BESIDE;
	return 0;
}

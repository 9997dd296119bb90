/* Finds kernels of NCCL and RCCL by the calls that launched them; see nccl_kernel.h. */
#include "aggregate/read/ring/nccl_kernel.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"

enum { NESTED_MOST = 8 }; /* calls that may be one launch: one of the runtime has one of the driver inside */

PP_COMPARE(compare_launch, struct pp_nccl_launch, PP_UP(tid) ?: PP_UP(begin) ?: PP_DOWN(end))

PP_COMPARE_BY_2(compare_number, struct pp_nccl_launch, correlation, begin)

PP_COMPARE_BY_2(compare_kernel, struct pp_nccl_kernel, correlation, begin)

static int is_launch(const struct pp_span *s)
{
	return s->kind == PP_SPAN_RANGE && s->source == PP_SOURCE_CUPTI && s->range.id && !s->range.payload_type &&
	       s->range.payload == PP_DEVICE_CALL_LAUNCH;
}

static int is_kernel(const struct pp_span *s)
{
	return s->kind == PP_SPAN_DEVICE && s->device.activity == PP_DEVICE_COLLECTIVE && s->device.correlation;
}

static void add_thread(struct pp_nccl_kernels *k, const struct pp_thread *t)
{
	for (size_t i = 0; i < t->spans; i++) {
		const struct pp_span *s = &t->span[i];

		if (t->device && is_kernel(s)) {
			if (k->kernel)
				k->kernel[k->kernels] = (struct pp_nccl_kernel){s->begin, s->end, (uint32_t)s->device.correlation};
			k->kernels++;
		} else if (!t->device && is_launch(s)) {
			if (k->launch)
				k->launch[k->launches] =
				        (struct pp_nccl_launch){s->begin, s->end, INT64_MAX, t->tid, (uint32_t)s->range.id};
			k->launches++;
		}
	}
}

int pp_nccl_kernels_init(struct pp_nccl_kernels *k, const struct pp_rank *rank, size_t first)
{
	*k = (struct pp_nccl_kernels){0};
	for (size_t t = first; t < rank->threads; t++)
		add_thread(k, &rank->thread[t]);
	if (!k->kernels)
		return 0;
	k->kernel = calloc(k->kernels, sizeof(*k->kernel));
	k->launch = calloc(k->launches + 1, sizeof(*k->launch));
	if (!k->kernel || !k->launch) {
		pp_nccl_kernels_release(k);
		return -ENOMEM;
	}
	k->kernels = k->launches = 0;
	for (size_t t = first; t < rank->threads; t++)
		add_thread(k, &rank->thread[t]);
	qsort(k->kernel, k->kernels, sizeof(*k->kernel), compare_kernel);
	if (k->launches)
		qsort(k->launch, k->launches, sizeof(*k->launch), compare_number);
	for (size_t i = 1; i < k->launches; i++)
		if (k->launch[i].correlation == k->launch[i - 1].correlation)
			k->launch[i - 1].until = k->launch[i].begin;
	if (k->launches)
		qsort(k->launch, k->launches, sizeof(*k->launch), compare_launch);
	return 0;
}

void pp_nccl_kernels_release(struct pp_nccl_kernels *k)
{
	free(k->launch);
	free(k->kernel);
	*k = (struct pp_nccl_kernels){0};
}

/* The first that ended after the call began, as clocks have errors, and that is of no later call. */
static const struct pp_nccl_kernel *kernel_of(const struct pp_nccl_kernels *k, const struct pp_nccl_launch *l)
{
	size_t low = PP_PARTITION(k->kernels, at,
	                          k->kernel[at].correlation < l->correlation ||
	                                  (k->kernel[at].correlation == l->correlation && k->kernel[at].end <= l->begin));

	if (low == k->kernels || k->kernel[low].correlation != l->correlation || k->kernel[low].begin >= l->until)
		return NULL;
	return &k->kernel[low];
}

/* How many launches of the thread began at or before `time`, behind those of lower threads. */
static size_t launches_until(const struct pp_nccl_kernels *k, uint32_t tid, int64_t time)
{
	return PP_PARTITION(k->kernel ? k->launches : 0, at,
	                    k->launch[at].tid < tid || (k->launch[at].tid == tid && k->launch[at].begin <= time));
}

static int is_in(const struct pp_nccl_launch *l, int64_t begin, int64_t end)
{
	int64_t middle = l->begin + (l->end - l->begin) / 2;

	return middle >= begin && middle <= end;
}

const struct pp_nccl_kernel *pp_nccl_kernel_before(const struct pp_nccl_kernels *k, uint32_t tid, int64_t time, int64_t launch,
                                                   int64_t launched)
{
	size_t last = launches_until(k, tid, time);

	for (size_t n = 0; n < NESTED_MOST && n < last; n++) {
		const struct pp_nccl_launch *l = &k->launch[last - 1 - n];
		const struct pp_nccl_kernel *found;

		if (l->tid != tid || l->end < k->launch[last - 1].begin ||
		    (launch && !is_in(l, launch, launched ? launched : time)))
			return NULL;
		found = kernel_of(k, l);
		if (found)
			return found;
	}
	return NULL;
}

const struct pp_nccl_kernel *pp_nccl_kernel_within(const struct pp_nccl_kernels *k, uint32_t tid, int64_t begin, int64_t end,
                                                   size_t n)
{
	const struct pp_nccl_kernel *before = NULL;
	size_t first = launches_until(k, tid, begin);

	/* One may begin just before, by the clock's error. */
	for (size_t i = first - (first > 0); k->kernel && i < k->launches; i++) {
		const struct pp_nccl_launch *l = &k->launch[i];
		const struct pp_nccl_kernel *found;

		if (i >= first && (l->tid != tid || l->begin > end))
			return NULL;
		if (l->tid != tid)
			continue;
		found = is_in(l, begin, end) ? kernel_of(k, l) : NULL;
		if (found == before) /* a call of the runtime, and the driver's inside */
			continue;
		before = found ? found : before;
		if (found && !n--)
			return found;
	}
	return NULL;
}

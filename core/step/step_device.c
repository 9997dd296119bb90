/* The share of the devices' work that steps hold; see step_device.h. */
#include "core/step/step_device.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/step/mark_list.h"

struct launch { /* a call of the device's runtime */
	uint64_t correlation;
	int64_t begin;
};

struct launches {
	struct launch *list;
	size_t count, room;
};

struct held {                  /* of all ranks */
	double work, held;     /* ns, and one for each span: a set may take no time */
	double time, recorded; /* of ranks whose devices worked: in steps, and in all */
	size_t steps, empty;
};

PP_COMPARE_BY_2(compare_launch, struct launch, correlation, begin)

/* Marks are in order and do not overlap. The one that [begin, end) touches; SIZE_MAX: none. */
static size_t mark_at(const struct pp_marks *m, int64_t begin, int64_t end)
{
	size_t low = PP_PARTITION(m->marks, at, m->mark[at].end <= begin);

	return low < m->marks && (m->mark[low].begin < end || m->mark[low].begin <= begin) ? low : SIZE_MAX;
}

static int list_launches(const struct pp_rank *rank, struct launches *ret)
{
	for (uint32_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t i = 0; !thread->device && i < thread->spans; i++) {
			if (thread->span[i].kind != PP_SPAN_RANGE || !thread->span[i].range.id)
				continue;
			if (PP_GROW(ret->list, ret->count, ret->room))
				return -ENOMEM;
			ret->list[ret->count++] = (struct launch){thread->span[i].range.id, thread->span[i].begin};
		}
	}
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), compare_launch);
	return 0;
}

static size_t launched_in(const struct launches *l, const struct pp_marks *m, uint64_t correlation)
{
	size_t low = PP_PARTITION(l->count, at, l->list[at].correlation < correlation);

	if (!correlation || low == l->count || l->list[low].correlation != correlation)
		return SIZE_MAX;
	return mark_at(m, l->list[low].begin, l->list[low].begin);
}

/* Adds a rank's work to `h`; `launches` NULL: only where it ran. Sets has[i] where mark i has some. 1: devices worked. */
static int add_work(const struct pp_rank *rank, const struct pp_marks *m, const struct launches *launches, char *has,
                    struct held *h)
{
	int worked = 0;

	for (uint32_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_DEVICE)); k++) {
			const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];
			double ns;
			size_t at;

			if (span->kind != PP_SPAN_DEVICE)
				continue;
			ns = (double)(span->end - span->begin) + 1;
			worked = 1;
			h->work += ns;
			at = mark_at(m, span->begin, span->end);
			if (launches && at == SIZE_MAX)
				at = launched_in(launches, m, span->device.correlation);
			if (at == SIZE_MAX)
				continue;
			h->held += ns;
			has[at] = 1;
		}
	}
	return worked;
}

static int add_rank(const struct pp_rank *rank, const struct pp_marks *m, int with_launches, struct held *h)
{
	struct launches launches = {NULL, 0, 0};
	char *has = calloc(m->marks + 1, 1);
	int rc = has ? 0 : -ENOMEM;

	if (rc == 0 && with_launches)
		rc = list_launches(rank, &launches);
	if (rc == 0 && add_work(rank, m, with_launches ? &launches : NULL, has, h)) {
		h->recorded += pp_recorded_time(rank);
		h->steps += m->marks;
		for (size_t i = 0; i < m->marks; i++) {
			h->time += (double)(m->mark[i].end - m->mark[i].begin);
			h->empty += !has[i];
		}
	}
	free(launches.list);
	free(has);
	return rc;
}

/* Work is spread over time as steps are, or is denser in them: half of that is left to devices that lag behind. */
static int is_enough(const struct held *h, enum pp_hold hold)
{
	if (hold == PP_HOLD_ANY || h->held <= 0 || h->recorded <= 0)
		return h->held > 0;
	return 2 * h->held / h->work >= h->time / h->recorded && 2 * h->empty <= h->steps;
}

int pp_steps_hold_work(const struct pp_capture *capture, const struct pp_marks *list, enum pp_hold hold)
{
	for (int with_launches = 0; with_launches <= 1; with_launches++) {
		struct held h = {0};

		for (size_t r = 0; r < capture->ranks; r++)
			if (add_rank(&capture->rank[r], &list[r], with_launches, &h))
				return -ENOMEM;
		if (h.work <= 0 || is_enough(&h, hold))
			return 1;
	}
	return 0;
}

/* Laps between a rank's operations; see step_lap.h. Called by step_attr.c, and by aggregate/analyze. */
#include "core/step/step_lap.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

PP_COMPARE_BY(compare_time, struct pp_lap, time)

static int ends_lap(const struct pp_span *s)
{
	return s->kind == PP_SPAN_MPI && !(s->flags & PP_SPAN_FAILED) &&
	       pp_mpi_class_is_operation(pp_mpi_call_info(s->mpi.call)->class);
}

int pp_laps_init(struct pp_laps *l, const struct pp_rank *rank, int64_t begin)
{
	int in_order = 1;

	*l = (struct pp_laps){.now = begin};
	for (int filling = 0; filling < 2; filling++) {
		size_t n = 0;

		for (size_t t = 0; t < rank->threads; t++) {
			const struct pp_thread *thread = &rank->thread[t];

			for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
				const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];

				if (!ends_lap(span))
					continue;
				if (filling)
					l->lap[n].time = span->begin;
				in_order &= !filling || !n || l->lap[n - 1].time <= l->lap[n].time;
				n++;
			}
		}
		l->laps = n;
		if (!filling && !(l->lap = calloc(n + 1, sizeof(*l->lap))))
			return -ENOMEM;
	}
	if (!in_order)
		qsort(l->lap, l->laps, sizeof(*l->lap), compare_time);
	return 0;
}

void pp_laps_release(struct pp_laps *l)
{
	free(l->lap);
	l->lap = NULL;
	l->laps = 0;
}

static uint32_t rounded_us(int64_t ns)
{
	int64_t us = (ns + 500) / 1000;

	return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static void end_lap(struct pp_laps *l)
{
	struct pp_lap *lap = &l->lap[l->at++];

	for (int c = 0; c <= PP_CATEGORIES; c++) {
		lap->us[c] = rounded_us(l->ns[c]);
		l->ns[c] = 0;
	}
}

void pp_laps_advance(struct pp_laps *l, int64_t until, int category)
{
	while (l->at < l->laps && l->lap[l->at].time < until) {
		int64_t time = l->lap[l->at].time;

		if (time > l->now) {
			l->ns[category] += time - l->now;
			l->now = time;
		}
		end_lap(l);
	}
	if (until > l->now) {
		l->ns[category] += until - l->now;
		l->now = until;
	}
}

void pp_laps_finish(struct pp_laps *l)
{
	if (l->at == l->laps)
		return;
	pp_laps_advance(l, l->lap[l->laps - 1].time, 0);
	while (l->at < l->laps)
		end_lap(l);
}

size_t pp_lap_find(const struct pp_lap *lap, size_t laps, int64_t time)
{
	size_t low = PP_PARTITION(laps, at, lap[at].time < time);

	return low < laps && lap[low].time == time ? low : SIZE_MAX;
}

/* Lists of step marks, and the time that they are compared with; see mark_list.h. Called by step_*.c. */
#include "core/step/mark_list.h"

#include <errno.h>

#include "core/base/grow.h"
#include "core/call/mpi_call.h"
#include "core/capture/rank.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

int pp_marks_add(struct pp_marks *m, const struct pp_mark *mark)
{
	if (PP_GROW(m->mark, m->marks, m->room))
		return -ENOMEM;
	m->mark[m->marks++] = *mark;
	return 0;
}

/* Marks and gaps are in the order of their begins. */
size_t pp_marks_cover(struct pp_marks *m, const struct pp_rank *rank, int64_t first, int64_t last, int64_t *ret_first)
{
	int64_t open = INT64_MIN; /* the latest end of a gap that began before the mark's end */
	size_t gap = 0, n = 0;

	for (size_t i = 0; i < m->marks; i++) {
		struct pp_mark *mark = &m->mark[i];

		for (; gap < rank->gaps && rank->gap[gap].begin < mark->end; gap++)
			open = rank->gap[gap].end > open ? rank->gap[gap].end : open;
		if (!mark->complete || open <= mark->begin)
			continue;
		mark->complete = 0;
		if (last > first && (mark->number < first || mark->number >= last))
			continue;
		if (!n++)
			*ret_first = mark->number;
	}
	return n;
}

double pp_recorded_time(const struct pp_rank *rank)
{
	int64_t first = INT64_MAX, last = INT64_MIN, without = 0;

	for (size_t t = 0; t < rank->threads; t++) {
		for (size_t i = 0; i < rank->thread[t].spans; i++) {
			const struct pp_span *span = &rank->thread[t].span[i];

			if (span->kind == PP_SPAN_REQUEST)
				continue;
			first = span->begin < first ? span->begin : first;
			last = span->end > last ? span->end : last;
			if (span->kind == PP_SPAN_MPI && pp_mpi_call_info(span->mpi.call)->class == PP_MPI_LOCAL_INIT)
				without += span->end - span->begin;
		}
	}
	first = first < rank->horizon ? rank->horizon : first;
	return last > first && last - first > without ? (double)(last - first - without) : 0;
}

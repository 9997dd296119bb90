/* /input_between: input operations between the steps of a rank, on the thread of its steps: a loop whose iterator stands outside of
 * the step. Called by build.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/step/attr_flat.h"

/* Is it input, that the thread does or waits for? */
static int is_input(struct pp_name_cache *cache, const struct pp_span *span)
{
	if ((span->kind != PP_SPAN_RANGE && span->kind != PP_SPAN_MPI) || (span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)))
		return 0;
	return pp_flat_category(pp_flat_code(cache, span)) == PP_CATEGORY_INPUT;
}

/* First span that begins at `time` or later; those before it that reach beyond are ranges around the steps. */
static size_t first_span(const struct pp_thread *thread, int64_t time)
{
	return PP_PARTITION(thread->spans, at, thread->span[at].begin < time);
}

/* Of nested input operations the outer one counts. */
static int64_t input_in(struct pp_name_cache *cache, const struct pp_thread *thread, int64_t begin, int64_t end)
{
	int64_t ns = 0, until = begin;

	for (size_t i = first_span(thread, begin); i < thread->spans && thread->span[i].begin < end; i++) {
		const struct pp_span *span = &thread->span[i];
		int64_t from = span->begin > until ? span->begin : until, to = span->end < end ? span->end : end;

		if (to <= from || !is_input(cache, span))
			continue;
		ns = pp_wrap_plus(ns, to - from);
		until = to;
	}
	return ns;
}

static struct pp_row_input_between look_at_rank(const struct pp_join *j, struct pp_name_cache *cache, size_t r)
{
	const struct pp_capture *capture = j->in->capture;
	const struct pp_rank *rank = &capture->rank[r];
	struct pp_row_input_between row = {.worker = rank->rank};

	for (size_t s = 1; s < j->in->steps->steps; s++) {
		const struct pp_step_cell *before = &j->in->steps->cell[(s - 1) * capture->ranks + r];
		const struct pp_step_cell *after = &j->in->steps->cell[s * capture->ranks + r];
		int64_t ns;

		if (!before->present || !after->present || before->thread != after->thread || before->thread >= rank->threads ||
		    after->begin < before->end)
			continue;
		ns = input_in(cache, &rank->thread[before->thread], before->end, after->begin);
		row.input_ns = pp_wrap_plus(row.input_ns, ns);
		row.outside_ns = pp_wrap_plus(row.outside_ns, pp_wrap_minus(after->begin, before->end));
		row.gaps++;
		row.gaps_with_input += ns > 0;
	}
	return row;
}

int pp_join_input_between(struct pp_join *j)
{
	struct pp_table out = {.desc = pp_table_desc(PP_TABLE_input_between)};
	struct pp_name_cache cache;
	int rc = pp_name_cache_init(&cache, j->d->names);

	for (size_t r = 0; r < j->in->capture->ranks && !rc; r++) {
		struct pp_row_input_between row = look_at_rank(j, &cache, r), *to = row.input_ns > 0 ? pp_table_add(&out) : NULL;

		if (to)
			*to = row;
		else if (row.input_ns > 0)
			rc = -ENOMEM;
	}
	pp_name_cache_release(&cache);
	j->d->input_between = out.row;
	j->d->input_betweens = out.rows;
	return rc;
}

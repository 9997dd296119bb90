/* Idle time: the time of the steps in which no operator runs, on any thread of the host or any stream of its devices. Called by
 * build.c; docs/steps.md has the rules. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "core/base/compare.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/attr_flat.h"

struct place { /* in a thread of the side */
	const struct pp_thread *thread;
	uint32_t index;
	size_t at;    /* next span */
	int64_t next; /* its next work in this step begins no earlier */
};

struct idle { /* one rank */
	const struct pp_rank *rank;
	struct pp_name_cache *cache;
	struct place *place; /* [places] */
	size_t places;
	int64_t until; /* no later time is known to be busy */
};

/* Does the span stand for work, other than the step itself? */
static int is_work(struct idle *s, const struct pp_span *span, uint32_t thread, const struct pp_step_cell *step)
{
	int covers = span->begin <= step->begin && span->end >= step->end;
	uint8_t code;

	if (span->kind == PP_SPAN_DEVICE || span->kind == PP_SPAN_MPI)
		return !(span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END));
	if (span->kind != PP_SPAN_RANGE || (span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)))
		return 0;
	code = pp_flat_code(s->cache, span);
	if (pp_flat_is_silent(span, pp_flat_category(code)))
		return 0;
	if (covers && pp_flat_by(code) == PP_BY_NOTHING)
		return 0;
	return thread != step->thread || span->category || span->begin != step->begin || span->end != step->end;
}

/* Extends `until` over what begins before it on this thread. Returns when the thread's next work begins, at most step->end. */
static int64_t extend(struct idle *s, struct place *p, const struct pp_step_cell *step)
{
	for (; p->at < p->thread->spans; p->at++) {
		const struct pp_span *span = &p->thread->span[p->at];

		if (span->begin >= step->end)
			break;
		if (span->end <= s->until || !is_work(s, span, p->index, step))
			continue;
		if (span->begin > s->until)
			return span->begin;
		s->until = span->end;
	}
	return step->end;
}

/* Time of the step in which nothing of that side runs. */
static int64_t idle_of(struct idle *s, const struct pp_step_cell *step)
{
	int64_t idle = 0;

	if (s->until < step->begin)
		s->until = step->begin;
	for (size_t i = 0; i < s->places; i++)
		s->place[i].next = INT64_MIN;
	while (s->until < step->end) {
		int64_t next = step->end;

		for (size_t i = 0; i < s->places; i++) {
			struct place *p = &s->place[i];

			if (p->next <= s->until)
				p->next = extend(s, p, step);
			next = p->next < next ? p->next : next;
		}
		if (next <= s->until)
			continue;
		idle += next - s->until;
		s->until = next;
	}
	return idle;
}

PP_COMPARE_BY(compare_cell, struct pp_step_cell, begin)

/* Steps of one rank in order of time, those of /op; NULL: no memory. */
static struct pp_step_cell *steps_of(const struct pp_join *j, size_t r, size_t *ret_steps)
{
	const struct pp_steps *steps = j->in->steps;
	struct pp_step_cell *step = calloc(steps->steps + 1, sizeof(*step));

	*ret_steps = 0;
	for (size_t i = 0; step && i < steps->steps; i++) {
		const struct pp_step_cell *cell = &steps->cell[i * j->in->capture->ranks + r];

		if (pp_join_has_level(j, r, cell))
			step[(*ret_steps)++] = *cell;
	}
	if (step)
		qsort(step, *ret_steps, sizeof(*step), compare_cell);
	return step;
}

static int find_places(struct idle *s, int on_device)
{
	s->until = INT64_MIN;
	s->places = 0;
	if (!s->place)
		s->place = malloc((s->rank->threads + 1) * sizeof(*s->place));
	for (uint32_t t = 0; s->place && t < s->rank->threads; t++)
		if ((s->rank->thread[t].device != 0) == on_device)
			s->place[s->places++] = (struct place){.thread = &s->rank->thread[t], .index = t};
	return s->place ? 0 : -ENOMEM;
}

static int add_rank(struct pp_join *j, size_t r, struct pp_name_cache *cache, uint32_t name, struct pp_table *out)
{
	struct idle s = {.rank = &j->in->capture->rank[r], .cache = cache};
	size_t steps;
	struct pp_step_cell *step = steps_of(j, r, &steps);
	int rc = step ? 0 : -ENOMEM;

	for (int side = PP_SIDE_HOST; side <= PP_SIDE_DEVICE && steps && rc == 0; side++) {
		struct pp_row_op_idle *row;

		rc = find_places(&s, side == PP_SIDE_DEVICE);
		if (rc || (side == PP_SIDE_DEVICE && !s.places))
			continue;
		row = pp_table_add(out);
		if (row) {
			*row = (struct pp_row_op_idle){.worker = s.rank->rank, .side = (int8_t)side, .name = name};
			for (size_t i = 0; i < steps; i++) {
				row->idle_ns += idle_of(&s, &step[i]);
				row->step_ns += step[i].end - step[i].begin;
			}
		} else {
			rc = -ENOMEM;
		}
	}
	free(s.place);
	free(step);
	return rc;
}

int pp_join_idle(struct pp_join *j)
{
	struct pp_table out = {.desc = pp_table_desc(PP_TABLE_op_idle)};
	uint32_t name = pp_intern_put(j->in->capture->names, "Idle", 4);
	struct pp_name_cache cache;
	int rc = pp_name_cache_init(&cache, j->d->names);

	for (size_t r = 0; r < j->in->capture->ranks && rc == 0; r++)
		rc = add_rank(j, r, &cache, name, &out);
	j->d->op_idle = out.row;
	j->d->op_idles = out.rows;
	pp_name_cache_release(&cache);
	return rc;
}

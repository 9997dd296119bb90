/* The windowed sweep: steps in order of time, a cursor per thread, no global sort; see step_attr.h. Called by the session. */
#include "core/step/step_attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/huge.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/step/attr_flat.h"

enum { WINDOW_SPANS = 8192 }; /* of one thread in one window: its lists stay in the L2 cache */

struct window { /* a step or edge step of this rank */
	int64_t begin, end;
	uint32_t step, thread;
};

struct sweep {
	const struct pp_rank *rank;
	struct window *window;
	size_t windows;
	struct pp_flat_cursor *cursor; /* [threads] */
	size_t *split;                 /* [threads + 1] where each thread's part of the list begins */
	struct pp_name_cache cache;
	struct pp_flats one, two;
	int64_t *default_ns; /* by intern id */
	size_t room;         /* of attr->segment */
	enum pp_attr_keep which;
	struct pp_attr *attr;
	struct pp_laps laps;
};

PP_COMPARE_BY(compare_window, struct window, begin)

/* A step of no length has nothing to sweep. */
static void add_window(struct sweep *s, const struct pp_step_cell *cell, uint32_t step)
{
	if (cell && cell->present && step < s->attr->steps)
		s->attr->step[step].present = 1;
	if (cell && cell->present && cell->end > cell->begin)
		s->window[s->windows++] = (struct window){cell->begin, cell->end, step, cell->thread};
}

static int init(struct sweep *s, size_t rank_index, const struct pp_steps *steps, size_t ranks, const struct pp_intern *names)
{
	size_t threads = s->rank->threads;

	if (pp_name_cache_init(&s->cache, names))
		return -ENOMEM;
	s->default_ns = calloc((size_t)s->cache.count + 1, sizeof(*s->default_ns));
	s->window = calloc(steps->steps + 2, sizeof(*s->window));
	s->cursor = calloc(threads + 1, sizeof(*s->cursor));
	s->split = calloc(threads + 2, sizeof(*s->split));
	s->attr->step = calloc(steps->steps + 1, sizeof(*s->attr->step));
	if (!s->default_ns || !s->window || !s->cursor || !s->split || !s->attr->step)
		return -ENOMEM;
	s->attr->steps = steps->steps;
	add_window(s, steps->before ? &steps->before[rank_index] : NULL, PP_ATTR_EDGE_BEFORE);
	for (size_t i = 0; i < steps->steps; i++)
		add_window(s, &steps->cell[i * ranks + rank_index], (uint32_t)i);
	add_window(s, steps->after ? &steps->after[rank_index] : NULL, PP_ATTR_EDGE_AFTER);
	qsort(s->window, s->windows, sizeof(*s->window), compare_window);
	for (uint32_t t = 0; t < threads; t++)
		s->cursor[t] = (struct pp_flat_cursor){.thread = &s->rank->thread[t], .index = t, .now = INT64_MIN};
	return s->windows ? pp_laps_init(&s->laps, s->rank, s->window[0].begin) : 0;
}

static void release(struct sweep *s)
{
	for (size_t t = 0; s->cursor && t < s->rank->threads; t++)
		free(s->cursor[t].open);
	free(s->cursor);
	free(s->split);
	free(s->window);
	free(s->default_ns);
	pp_name_cache_release(&s->cache);
	free(s->one.flat);
	free(s->two.flat);
	pp_laps_release(&s->laps);
}

/* s->one has the lists of all threads; merges pairs of them until one list is left. */
static int merge_threads(struct sweep *s, size_t lists)
{
	while (lists > 1) {
		struct pp_flats swap;
		size_t out = 0;

		s->two.flats = 0;
		for (size_t i = 0; i < lists; i += 2) {
			size_t begin = s->split[i], middle = s->split[i + 1], end = i + 1 < lists ? s->split[i + 2] : middle;
			size_t at = s->two.flats;

			if (pp_flat_merge(s->one.flat + begin, middle - begin, s->one.flat + middle, end - middle, &s->two) < 0)
				return -ENOMEM;
			s->split[out++] = at;
		}
		s->split[out] = s->two.flats;
		lists = out;
		swap = s->one;
		s->one = s->two;
		s->two = swap;
	}
	return 0;
}

/* Address space for all of them at once, as far as they are known: growing would touch their memory twice. A range has a segment
 * and gives the one around it another. */
static size_t first_room(const struct sweep *s)
{
	size_t spans = 0;

	for (size_t t = 0; s->which == PP_ATTR_KEEP_ALL && t < s->rank->threads; t++)
		spans += s->rank->thread[t].spans;
	return 1024 + 2 * spans;
}

static int make_room(struct sweep *s, size_t segments)
{
	struct pp_attr *attr = s->attr;
	size_t room = s->room ? s->room : first_room(s);

	if (s->room - attr->segments >= segments)
		return 0;
	while (room - attr->segments < segments)
		room *= 2;
	if (PP_RESIZE(attr->segment, room))
		return -ENOMEM;
	s->room = room;
	pp_huge_advise(attr->segment, room * sizeof(*attr->segment));
	return 0;
}

/* Segments are 32 bytes a range, and memory is the most of their price. */
static int is_inside(const struct sweep *s, const struct window *w, const struct pp_flat *f)
{
	return s->which == PP_ATTR_KEEP_ALL || (w->step < s->attr->steps && (f->category == PP_CATEGORY_HOST_COMMUNICATION ||
	                                                                     f->category == PP_CATEGORY_DEVICE_COLLECTIVE));
}

static int keep(struct sweep *s, const struct window *w)
{
	struct pp_attr *attr = s->attr;

	if (make_room(s, s->one.flats) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->one.flats; i++) {
		const struct pp_flat *f = &s->one.flat[i];
		struct pp_attr_segment *last = attr->segments ? &attr->segment[attr->segments - 1] : NULL;

		if (w->step < attr->steps) {
			attr->step[w->step].exclusive_ns[f->category] += f->end - f->begin;
			attr->evidence_ns[f->by] += f->end - f->begin;
			if (f->by == PP_BY_NOTHING && f->category == PP_CATEGORY_HOST_COMPUTE)
				s->default_ns[s->rank->thread[f->thread].span[f->span].name] += f->end - f->begin;
		}
		if (s->laps.at < s->laps.laps) {
			pp_laps_advance(&s->laps, f->begin, PP_CATEGORY_OTHER);
			pp_laps_advance(&s->laps, f->end, f->category);
		}
		if (!is_inside(s, w, f))
			continue;
		if (last && last->end == f->begin && last->span == f->span && last->thread == f->thread && last->step == w->step) {
			last->end = f->end;
			continue;
		}
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): room for all was made above */
		attr->segment[attr->segments++] = (struct pp_attr_segment){
		        .begin = f->begin,
		        .end = f->end,
		        .thread = f->thread,
		        .span = f->span,
		        .step = w->step,
		        .category = f->category,
		};
	}
	return 0;
}

/* End of the part of a window for one sweep. */
static int64_t part_end(const struct sweep *s, int64_t now, int64_t end)
{
	int64_t part = end;

	for (size_t t = 0; t < s->rank->threads; t++) {
		const struct pp_flat_cursor *c = &s->cursor[t];
		size_t at = c->at + WINDOW_SPANS;

		if (at < c->thread->spans && c->thread->span[at].begin < part)
			part = c->thread->span[at].begin;
	}
	return part > now ? part : end;
}

static int sweep_window(struct sweep *s, const struct window *w)
{
	struct pp_flat_window part = {.step_begin = w->begin, .step_end = w->end, .end = w->begin};

	pp_laps_advance(&s->laps, w->begin, 0);
	while (part.end < w->end) {
		size_t lists = 0;

		part.begin = part.end;
		part.end = part_end(s, part.begin, w->end);
		s->one.flats = 0;
		for (size_t t = 0; t < s->rank->threads; t++) {
			size_t at = s->one.flats;

			s->cursor[t].is_step_thread = t == w->thread;
			if (pp_flat_window(&s->cursor[t], &s->cache, &part, &s->one) < 0)
				return -ENOMEM;
			if (s->one.flats > at)
				s->split[lists++] = at;
		}
		s->split[lists] = s->one.flats;
		if (merge_threads(s, lists) < 0 || keep(s, w) < 0)
			return -ENOMEM;
	}
	pp_laps_advance(&s->laps, w->end, PP_CATEGORY_OTHER);
	return 0;
}

PP_COMPARE(compare_default, struct pp_attr_default, PP_DOWN(ns) ?: PP_UP(name))

static int list_defaults(struct sweep *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->cache.count; i++)
		n += s->default_ns[i] > 0;
	s->attr->by_default = calloc(n + 1, sizeof(*s->attr->by_default));
	if (!s->attr->by_default)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->cache.count; i++)
		if (s->default_ns[i] > 0)
			s->attr->by_default[s->attr->defaults++] = (struct pp_attr_default){i, s->default_ns[i]};
	qsort(s->attr->by_default, n, sizeof(*s->attr->by_default), compare_default);
	return 0;
}

/* Time that no range won is All others, so that the sum is the step to the nanosecond. */
static void finish_steps(struct sweep *s)
{
	for (size_t i = 0; i < s->windows; i++) {
		const struct window *w = &s->window[i];
		struct pp_attr_step *step;
		int64_t sum = 0;

		if (w->step >= s->attr->steps)
			continue;
		step = &s->attr->step[w->step];
		step->step_ns = w->end - w->begin;
		for (int c = 1; c <= PP_CATEGORIES; c++)
			sum += step->exclusive_ns[c];
		step->exclusive_ns[PP_CATEGORY_OTHER] += step->step_ns - sum;
	}
	for (size_t t = 0; t < s->rank->threads; t++)
		s->attr->crossed += s->cursor[t].crossed;
}

int pp_attr_rank(const struct pp_rank *rank, size_t rank_index, const struct pp_steps *steps, size_t ranks,
                 const struct pp_intern *names, enum pp_attr_keep which, struct pp_attr *ret_attr, struct pp_err *err)
{
	struct pp_attr attr = {0};
	struct sweep s = {.rank = rank, .which = which, .attr = &attr};
	int rc = init(&s, rank_index, steps, ranks, names);

	for (size_t i = 0; i < s.windows && rc == 0; i++)
		rc = sweep_window(&s, &s.window[i]);
	if (rc == 0)
		rc = list_defaults(&s);
	if (rc == 0) {
		finish_steps(&s);
		pp_laps_finish(&s.laps);
		attr.lap = s.laps.lap;
		attr.laps = s.laps.laps;
		s.laps.lap = NULL;
	}
	release(&s);
	if (rc < 0) {
		pp_attr_release(&attr);
		return pp_err_set(err, rc, "cannot attribute the steps of rank %d: no memory", (int)rank->rank);
	}
	*ret_attr = attr;
	return 0;
}

int pp_attr_ranks(const struct pp_capture *c, const struct pp_steps *steps, enum pp_attr_keep which, struct pp_attr **ret_attr,
                  struct pp_err *err)
{
	struct pp_attr *attr = calloc(c->ranks + 1, sizeof(*attr));

	if (!attr)
		return pp_err_set(err, -ENOMEM, "no memory for the steps of %zu ranks", c->ranks);
	for (size_t i = 0; i < c->ranks; i++) {
		int rc = pp_attr_rank(&c->rank[i], i, steps, c->ranks, c->names, which, &attr[i], err);

		if (rc) {
			while (i-- > 0)
				pp_attr_release(&attr[i]);
			free(attr);
			return rc;
		}
	}
	*ret_attr = attr;
	return 0;
}

void pp_attr_drop_segments(struct pp_attr *attr, size_t ranks)
{
	for (size_t r = 0; r < ranks; r++) {
		free(attr[r].segment);
		attr[r].segment = NULL;
		attr[r].segments = 0;
	}
}

void pp_attr_free(struct pp_attr *attr, size_t ranks)
{
	for (size_t i = 0; attr && i < ranks; i++)
		pp_attr_release(&attr[i]);
	free(attr);
}

void pp_attr_release(struct pp_attr *a)
{
	free(a->step);
	free(a->segment);
	free(a->by_default);
	free(a->lap);
	memset(a, 0, sizeof(*a));
}

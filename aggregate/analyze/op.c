/* Operator statistics: how often each name occurs on each worker, its time with and without nested ranges. Called by build.c;
 * docs/steps.md has the rules. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/order.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/attr_flat.h"

enum { NO_ROW = UINT32_MAX };

struct window { /* a step of this rank */
	int64_t begin, end;
	uint32_t thread;
};

struct open { /* an open range; each ends before the one below it */
	int64_t end;
	uint32_t row;
	uint8_t around; /* as pp_flat_code(), for the ranges inside, from the innermost range that has one; 0: none */
};

struct ops { /* of one rank after the other */
	struct pp_table out;
	struct pp_row_op_left_out left_out;
	struct pp_name_cache cache;
	size_t room;            /* of next */
	uint32_t *row_of;       /* by name: index + 1 of its latest row; rows of earlier ranks remain */
	uint32_t *next;         /* [room] by row: index + 1 of the next row of that name */
	uint64_t *unclassified; /* calls by name */
	struct pp_row_event event;
	size_t first;           /* row of this rank */
	int32_t worker, device; /* of the thread; device -1: the host */
	struct window *window;  /* [windows] */
	size_t windows;
	struct open *open; /* [room_open] */
	size_t opens, room_open;
};

static struct pp_row_op *op_at(const struct ops *o, size_t i)
{
	return (struct pp_row_op *)o->out.row + i;
}

PP_COMPARE_BY(compare_window, struct window, begin)

/* This rank's row; NO_ROW: no memory. */
static uint32_t row_of(struct ops *o, const struct pp_span *span, uint8_t category)
{
	const int on_device = span->kind == PP_SPAN_DEVICE, side = on_device ? PP_SIDE_DEVICE : PP_SIDE_HOST;
	const uint32_t given = on_device && span->device.op ? span->device.op : span->name;
	const uint32_t name = given < o->cache.count ? given : 0, first = o->row_of[name];
	struct pp_row_op *row;
	uint32_t *next;

	for (uint32_t i = first; i > o->first; i = o->next[i - 1]) {
		row = op_at(o, i - 1);
		if (row->category == (int8_t)category && row->source == (int8_t)span->source && row->side == side &&
		    row->device == o->device)
			return i - 1;
	}
	row = o->out.rows + 1 < NO_ROW ? pp_table_add(&o->out) : NULL;
	if (!row)
		return NO_ROW;
	*row = (struct pp_row_op){.name = name,
	                          .worker = o->worker,
	                          .category = (int8_t)category,
	                          .source = (int8_t)span->source,
	                          .side = (int8_t)side,
	                          .device = o->device,
	                          .steps = (uint32_t)o->windows};
	if (o->room < o->out.room) {
		next = realloc(o->next, o->out.room * sizeof(*next));
		if (!next)
			return NO_ROW;
		o->next = next;
		o->room = o->out.room;
	}
	o->next[o->out.rows - 1] = first;
	o->row_of[name] = (uint32_t)o->out.rows;
	return (uint32_t)o->out.rows - 1;
}

/* Takes the span's time from the ranges around it: from the one that was begun last, and from those below only what sticks out.
 * Ranges that end no later than the span are finished. */
static void take_from_parents(struct ops *o, const struct pp_span *span)
{
	int64_t begin = span->begin;

	while (o->opens) {
		const struct open *top = &o->open[o->opens - 1];
		int64_t end = top->end < span->end ? top->end : span->end;

		if (end > begin) {
			if (top->row != NO_ROW)
				op_at(o, top->row)->self_ns -= end - begin;
			begin = end;
		}
		if (top->end > span->end)
			return;
		o->opens--;
	}
}

static int push(struct ops *o, int64_t end, uint32_t row, uint8_t around)
{
	if (PP_GROW(o->open, o->opens, o->room_open))
		return -ENOMEM;
	o->open[o->opens++] = (struct open){end, row, around};
	return 0;
}

static uint64_t calls_of(const struct pp_span *span)
{
	return span->kind == PP_SPAN_MPI && (span->flags & PP_SPAN_POLLS) ? span->mpi.sequence : 1;
}

static void count_event(struct ops *o, const struct pp_span *span, int by_default)
{
	o->event.events += calls_of(span);
	if (!by_default)
		return;
	o->event.events_unclassified += calls_of(span);
	if (span->name < o->cache.count)
		o->unclassified[span->name] += calls_of(span);
}

/* Counts the span in the step that it begins in. *ret_row: NO_ROW where it does not count. */
static int count(struct ops *o, const struct pp_span *span, uint8_t code, const struct window *w, uint32_t thread,
                 uint32_t *ret_row)
{
	int64_t ns = span->end > span->begin ? span->end - span->begin : 0;
	struct pp_row_op *op;

	*ret_row = NO_ROW;
	if (!w || span->begin < w->begin)
		return 0;
	if (span->kind == PP_SPAN_RANGE && !span->category && thread == w->thread && span->begin == w->begin && span->end == w->end)
		return 0; /* the step itself */
	if (span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)) {
		o->left_out.cut++;
		return 0;
	}
	*ret_row = row_of(o, span, (uint8_t)pp_flat_category(code));
	if (*ret_row == NO_ROW)
		return -ENOMEM;
	op = op_at(o, *ret_row);
	op->calls += calls_of(span);
	op->total_ns += ns;
	op->self_ns += ns;
	if (ns > op->max_ns)
		op->max_ns = ns;
	if (pp_flat_by(code) > op->by)
		op->by = (int8_t)pp_flat_by(code);
	return 0;
}

/* Category from the innermost range around the span. */
static uint8_t around(const struct ops *o, const struct pp_span *span)
{
	for (size_t i = o->opens; i-- > 0;)
		if (o->open[i].end >= span->end)
			return o->open[i].around;
	return 0;
}

static int count_span(struct ops *o, const struct pp_span *span, const struct window *w, uint32_t thread)
{
	uint8_t outer = around(o, span), code = pp_flat_inside(span, pp_flat_code(&o->cache, span), outer);
	uint32_t row;

	if (count(o, span, code, w, thread, &row) < 0)
		return -ENOMEM;
	if (row != NO_ROW)
		count_event(o, span, span->kind == PP_SPAN_RANGE && pp_flat_by(code) == PP_BY_NOTHING);
	take_from_parents(o, span);
	if (span->end <= span->begin)
		return 0;
	return push(o, span->end, row, pp_flat_gives(span, code, outer));
}

static int count_thread(struct ops *o, const struct pp_thread *thread, uint32_t index)
{
	size_t at = 0;
	int rc = 0;

	if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_RANGE) | PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_DEVICE)))
		return 0;
	o->opens = 0;
	o->device = (int32_t)thread->device - 1;
	for (size_t i = 0; i < thread->spans && rc == 0; i++) {
		const struct pp_span *span = &thread->span[i];

		if (span->kind != PP_SPAN_RANGE && span->kind != PP_SPAN_MPI && span->kind != PP_SPAN_DEVICE)
			continue;
		while (at < o->windows && o->window[at].end <= span->begin)
			at++;
		while (o->opens && o->open[o->opens - 1].end <= span->begin)
			o->opens--;
		rc = count_span(o, span, at < o->windows ? &o->window[at] : NULL, index);
	}
	return rc;
}

static int level_of(const struct pp_join *j, size_t rank, const struct pp_step_cell *cell)
{
	return cell->level ? cell->level : (int)j->in->capture->rank[rank].level;
}

int pp_join_has_level(const struct pp_join *j, size_t rank, const struct pp_step_cell *cell)
{
	return cell->present && cell->end > cell->begin && level_of(j, rank, cell) == j->d->worker[rank].level;
}

int pp_join_levels(struct pp_join *j)
{
	const struct pp_steps *steps = j->in->steps;
	const size_t ranks = j->in->capture->ranks;

	for (size_t r = 0; r < ranks; r++) {
		struct pp_row_worker *w = &j->d->worker[r];

		w->level = (pp_c_CODE)(steps->steps ? 0 : j->in->capture->rank[r].level);
		for (size_t s = 0; s < steps->steps; s++) {
			const struct pp_step_cell *cell = &steps->cell[s * ranks + r];

			if (cell->present && level_of(j, r, cell) > w->level)
				w->level = (pp_c_CODE)level_of(j, r, cell);
		}
		w->level_steps = w->level ? 0 : -1;
		for (size_t s = 0; w->level && s < steps->steps; s++)
			w->level_steps += pp_join_has_level(j, r, &steps->cell[s * ranks + r]);
	}
	return 0;
}

static int list_windows(struct ops *o, const struct pp_join *j, size_t rank)
{
	const struct pp_steps *steps = j->in->steps;
	const size_t ranks = j->in->capture->ranks;

	free(o->window);
	o->window = calloc(steps->steps + 1, sizeof(*o->window));
	o->windows = 0;
	if (!o->window)
		return -ENOMEM;
	for (size_t s = 0; s < steps->steps; s++) {
		const struct pp_step_cell *cell = &steps->cell[s * ranks + rank];

		if (pp_join_has_level(j, rank, cell))
			o->window[o->windows++] = (struct window){cell->begin, cell->end, cell->thread};
	}
	qsort(o->window, o->windows, sizeof(*o->window), compare_window);
	return 0;
}

static int compare_self(const void *a, const void *b, void *names)
{
	const struct pp_row_op *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	if (x->name != y->name)
		return strcmp(pp_intern_text(names, x->name, NULL), pp_intern_text(names, y->name, NULL));
	if (x->category != y->category)
		return x->category - y->category;
	if (x->source != y->source)
		return x->source - y->source;
	return x->side != y->side ? x->side - y->side : (x->device > y->device) - (x->device < y->device);
}

/* Keeps the names with most time: an endless supply of names (one per batch) would make an endless table. */
static void keep_most(struct ops *o)
{
	if (o->out.rows - o->first <= PP_OPS_MOST)
		return;
	qsort_r(op_at(o, o->first), o->out.rows - o->first, sizeof(struct pp_row_op), compare_self, (void *)o->cache.names);
	for (size_t i = o->first; i < o->out.rows; i++)
		o->row_of[op_at(o, i)->name] = 0; /* the next rank's rows may take these places */
	for (size_t i = o->first + PP_OPS_MOST; i < o->out.rows; i++) {
		o->left_out.rest++;
		o->left_out.rest_ns += op_at(o, i)->self_ns;
	}
	o->out.rows = o->first + PP_OPS_MOST;
}

static int count_rank(struct ops *o, const struct pp_join *j, size_t r)
{
	const struct pp_rank *rank = &j->in->capture->rank[r];
	int rc = list_windows(o, j, r);

	o->worker = rank->rank;
	o->first = o->out.rows;
	for (uint32_t t = 0; t < rank->threads && rc == 0 && o->windows; t++)
		rc = count_thread(o, &rank->thread[t], t);
	if (rc == 0)
		keep_most(o);
	return rc;
}

int pp_join_ops(struct pp_join *j)
{
	uint32_t names = pp_intern_count(j->d->names);
	struct ops o = {.out = {.desc = pp_table_desc(PP_TABLE_op)}};
	int rc = pp_name_cache_init(&o.cache, j->d->names);

	o.row_of = calloc((size_t)names + 1, sizeof(*o.row_of));
	j->names = names;
	o.unclassified = j->unclassified = calloc((size_t)names + 1, sizeof(*o.unclassified));
	if (!o.row_of || !o.unclassified)
		rc = -ENOMEM;
	for (size_t r = 0; r < j->in->capture->ranks && rc == 0; r++)
		rc = count_rank(&o, j, r);
	j->d->op = o.out.row;
	j->d->ops = o.out.rows;
	j->d->op_left_out = malloc(sizeof(o.left_out));
	j->d->op_left_outs = j->d->op_left_out != NULL;
	j->d->event = malloc(sizeof(o.event));
	j->d->events = j->d->event != NULL;
	if (j->d->op_left_out && j->d->event) {
		*j->d->op_left_out = o.left_out;
		*j->d->event = o.event;
	} else {
		rc = -ENOMEM;
	}
	pp_name_cache_release(&o.cache);
	free(o.row_of);
	free(o.next);
	free(o.window);
	free(o.open);
	return rc;
}

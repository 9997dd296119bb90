/* Writes the steps of an XSpace file: their labels, and one rank's breakdown line: step markers with segments by category. xprof
 * computes from the breakdown; the other lines are for viewing. Called by xspace.c and xspace_rank.c. */
#include "aggregate/write/xspace/xspace_rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int name_compare(const void *a, const void *b)
{
	const struct pp_xlabel *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int any_present(const struct pp_step_cell *cell, size_t ranks)
{
	for (size_t i = 0; cell && i < ranks; i++)
		if (cell[i].present)
			return 1;
	return 0;
}

/* xprof keeps step numbers in 32 bits and takes equal ids for one step. */
static void give_groups(struct pp_xfile *f)
{
	struct pp_xlabel *l = f->label;
	int fit = 1;

	for (size_t i = 0; i < f->labels; i++)
		if (l[i].number < 0 || l[i].number >= INT64_C(1) << 32)
			fit = 0;
	if (fit && f->labels) {
		struct pp_xlabel *sorted = malloc(f->labels * sizeof(*sorted));

		if (sorted) {
			memcpy(sorted, l, f->labels * sizeof(*sorted));
			qsort(sorted, f->labels, sizeof(*sorted), name_compare);
			for (size_t i = 1; i < f->labels; i++)
				if (sorted[i].number == sorted[i - 1].number)
					fit = 0;
		} else {
			fit = 0;
		}
		free(sorted);
	}
	for (size_t i = 0; i < f->labels; i++)
		l[i].group = fit ? l[i].number : (int64_t)i;
}

int pp_xfile_labels(struct pp_xfile *f, struct pp_err *err)
{
	const struct pp_steps *s = f->out->steps;
	size_t ranks = f->out->capture->ranks;

	f->label = calloc(s->steps + 2, sizeof(*f->label));
	if (!f->label)
		return pp_err_set(err, -ENOMEM, "no memory for the steps of an XSpace");
	if (any_present(s->before, ranks))
		f->label[f->labels++] = (struct pp_xlabel){s->before_number, 0, PP_ATTR_EDGE_BEFORE, s->before};
	for (size_t i = 0; i < s->steps; i++)
		f->label[f->labels++] = (struct pp_xlabel){s->number[i], 0, (uint32_t)i, s->cell + i * ranks};
	if (any_present(s->after, ranks))
		f->label[f->labels++] = (struct pp_xlabel){s->after_number, 0, PP_ATTR_EDGE_AFTER, s->after};
	give_groups(f);
	return 0;
}

uint64_t pp_xfile_line(struct pp_xfile *f, const char *name)
{
	uint64_t begun = pp_xstream_begin(&f->stream, PP_XPLANE_LINES);

	pp_xstream_varint(&f->stream, PP_XLINE_ID, (uint64_t)++f->line);
	pp_xstream_text(&f->stream, PP_XLINE_NAME, name, strlen(name));
	return begun;
}

static void stat_step(struct pp_xfile *f, struct pp_xevent *e, const struct pp_xlabel *l, int grouped, int is_marker)
{
	if (grouped)
		pp_xfile_int(e, PP_XSTAT_GROUP_ID, l->group);
	else
		pp_xfile_int(e, PP_XSTAT_STEP, l->number);
	if (grouped && is_marker)
		pp_xfile_text(f, e, PP_XSTAT_STEP_NAME, PP_XTEXT_STEP, (uint64_t)l->number);
}

static uint64_t segment_key(const struct pp_rank *r, const struct pp_attr_segment *g)
{
	const struct pp_span *s = &r->thread[g->thread].span[g->span];

	return s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST ? PP_XNAME_KEY_CALL | s->mpi.call : s->name;
}

/* Writes the segments of one step, and its marker. xprof drops a step without host compute: such a step gets 1 ps of it. */
static size_t write_step(struct pp_xfile *f, size_t index, const struct pp_xlabel *l, size_t at, int grouped)
{
	const struct pp_rank *r = &f->out->capture->rank[index];
	const struct pp_attr *a = &f->out->attr[index];
	const struct pp_step_cell *c = &l->cell[index];
	int64_t begin = pp_xfile_ps(c->begin), from = begin;
	struct pp_xevent e;
	size_t end = at;
	int compute = 0;

	pp_xevent_init(&e, pp_xnames_event(&f->names, PP_XNAME_STEP, (uint64_t)l->number), begin, pp_xfile_ps(c->end) - begin);
	stat_step(f, &e, l, grouped, 1);
	pp_xstream_event(&f->stream, &e);
	for (; end < a->segments && a->segment[end].begin < c->end; end++)
		if (a->segment[end].step == l->segment && a->segment[end].end > a->segment[end].begin)
			compute |= a->segment[end].category != PP_CATEGORY_INPUT && a->segment[end].category != PP_CATEGORY_OTHER;
	if (grouped && !compute && c->end > c->begin) {
		pp_xevent_init(&e, pp_xnames_event(&f->names, PP_XNAME_EMPTY_STEP, 0), begin, 1);
		stat_step(f, &e, l, grouped, 0);
		pp_xstream_event(&f->stream, &e);
		from = begin + 1;
	}
	for (; at < end; at++) {
		const struct pp_attr_segment *g = &a->segment[at];
		int64_t b = pp_xfile_ps(g->begin);

		if (g->step != l->segment || g->end <= g->begin || g->category == PP_CATEGORY_OTHER)
			continue;
		if (b < from)
			b = from;
		pp_xevent_init(&e, pp_xnames_event(&f->names, PP_XNAME_BREAKDOWN + g->category, segment_key(r, g)), b,
		               pp_xfile_ps(g->end) - b);
		stat_step(f, &e, l, grouped, 0);
		pp_xfile_text(f, &e, PP_XSTAT_CATEGORY, PP_XTEXT_CATEGORY, g->category);
		pp_xstream_event(&f->stream, &e);
	}
	return end;
}

static int by_begin(const void *a, const void *b)
{
	const struct pp_xplaced *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

struct pp_xplaced *pp_xfile_place(const struct pp_xfile *f, size_t index, size_t *ret_count)
{
	struct pp_xplaced *p = malloc((f->labels + 1) * sizeof(*p));

	*ret_count = 0;
	for (size_t i = 0; p && i < f->labels; i++) {
		const struct pp_step_cell *c = &f->label[i].cell[index];

		if (c->present)
			p[(*ret_count)++] = (struct pp_xplaced){c->begin, c->end, &f->label[i]};
	}
	if (p)
		qsort(p, *ret_count, sizeof(*p), by_begin);
	return p;
}

void pp_xfile_breakdown(struct pp_xfile *f, size_t index, const struct pp_xplaced *p, size_t steps, int grouped)
{
	const struct pp_attr *a = &f->out->attr[index];
	char name[64];
	uint64_t line;
	size_t at = 0;

	if (!steps)
		return;
	snprintf(name, sizeof(name), "rank %d breakdown", f->out->capture->rank[index].rank);
	line = pp_xfile_line(f, name);
	for (size_t i = 0; i < steps; i++) {
		while (at < a->segments && a->segment[at].end <= p[i].begin)
			at++;
		at = write_step(f, index, p[i].label, at, grouped);
	}
	pp_xstream_end(&f->stream, line);
}

/* Begins planes and lines of an XSpace file, and finds the steps that they show. Called by xspace.c, xspace_rank.c and
 * xspace_device.c. */
#include "aggregate/write/xspace/xspace_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/capture/capture.h"

PP_COMPARE_BY(by_number, struct pp_xlabel, number)

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
			qsort(sorted, f->labels, sizeof(*sorted), by_number);
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

PP_COMPARE_BY(by_begin, struct pp_xplaced, begin)

struct pp_xplaced *pp_xplace_steps(const struct pp_xfile *f, size_t index, size_t *ret_count)
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

void pp_xstat_step(struct pp_xfile *f, struct pp_xevent *e, const struct pp_xlabel *l, int grouped, int is_marker)
{
	if (grouped)
		pp_xstat_int(e, PP_XSTAT_GROUP_ID, l->group);
	else
		pp_xstat_int(e, PP_XSTAT_STEP, l->number);
	if (grouped && is_marker)
		pp_xstat_text(f, e, PP_XSTAT_STEP_NAME, PP_XTEXT_STEP, (uint64_t)l->number);
	if (is_marker && pp_xlabel_is_edge(l))
		pp_xstat_int(e, PP_XSTAT_EDGE, 1);
}

uint64_t pp_xplane_begin(struct pp_xfile *f, int64_t id, const char *name)
{
	uint64_t begun;

	pp_xnames_release(&f->names);
	pp_xnames_init(&f->names, f->out->capture);
	f->names.steps_of = f->steps_of;
	begun = pp_xstream_begin(&f->stream, PP_XSPACE_PLANES);
	pp_xstream_varint(&f->stream, PP_XPLANE_ID, (uint64_t)id);
	pp_xstream_text(&f->stream, PP_XPLANE_NAME, name, strlen(name));
	return begun;
}

int pp_xplane_end(struct pp_xfile *f, uint64_t begun, struct pp_err *err)
{
	pp_xnames_write(&f->names, &f->stream);
	pp_xstream_end(&f->stream, begun);
	return f->names.no_memory ? pp_err_set(err, -ENOMEM, "no memory for the names of an XSpace") : 0;
}

void pp_xplane_text(struct pp_xfile *f, enum pp_xstat_id id, const char *text)
{
	uint64_t stat = pp_xstream_begin(&f->stream, PP_XPLANE_STATS);

	pp_xstream_varint(&f->stream, PP_XSTAT_METADATA, id);
	pp_xstream_text(&f->stream, PP_XSTAT_TEXT, text, strlen(text));
	pp_xstream_end(&f->stream, stat);
}

void pp_xplane_uint(struct pp_xfile *f, enum pp_xstat_id id, uint64_t value)
{
	pp_xstream_stat(&f->stream, PP_XPLANE_STATS, &(struct pp_xstat){.id = (uint8_t)id, .kind = PP_XSTAT_UINT, .u = value});
}

uint64_t pp_xline_begin(struct pp_xfile *f, int64_t id, const char *name)
{
	uint64_t begun = pp_xstream_begin(&f->stream, PP_XPLANE_LINES);

	pp_xstream_varint(&f->stream, PP_XLINE_ID, (uint64_t)(id ? id : ++f->line));
	pp_xstream_text(&f->stream, PP_XLINE_NAME, name, strlen(name));
	return begun;
}

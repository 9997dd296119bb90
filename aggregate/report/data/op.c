/* Writes operators over all ranks, from /op. Called by report.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/data/page.h"
#include "core/base/compare.h"

enum column { NAME, CATEGORY, SOURCE, SIDE, ROW_OP, WORKER, CALLS, TOTAL, SELF, MOST_NS, STEPS, DEVICE, COLUMNS };
enum { TEXTS = ROW_OP };

struct op { /* over ranks, of each rank's mean per step */
	double calls, total, self;
	double least, most;
	double longest; /* of all calls */
	double worst;   /* rank that has most; -1: none */
	double device;  /* of it, of several that ran it, the one with most; -1: not of several */
	size_t ranks, index;
};

struct ops {
	struct pp_page *p;
	struct pp_h5_file_column column[COLUMNS];
	struct op *op; /* most self time first */
	size_t ops, shown;
	double ranks; /* that have steps */
};

static int load(struct ops *o)
{
	static const char *const name[] = {"name",  "category", "source",  "side",   "row_op", "worker",
	                                   "calls", "total_ns", "self_ns", "max_ns", "steps",  "device"};

	for (size_t i = 0; i < COLUMNS; i++) {
		struct pp_h5_file_column *c = &o->column[i];

		if ((i == SIDE || i == DEVICE) && !pp_h5_file_has(o->p->h5, "op", name[i])) /* of an older podprof */
			continue;
		if (!pp_h5_file_has(o->p->h5, "op", name[i]) || pp_h5_file_read(o->p->h5, "op", name[i], c, NULL))
			return 0;
		if ((c->kind == PP_H5_FILE_TEXT) != (i < TEXTS) || c->kind == PP_H5_FILE_REAL ||
		    c->n != o->column[i < TEXTS ? NAME : ROW_OP].n)
			return 0;
	}
	return 1;
}

static int64_t value(const struct ops *o, enum column c, size_t row)
{
	return o->column[c].data.i[row];
}

PP_COMPARE(by_self, struct op, PP_DOWN(self) ?: PP_UP(index))

/* Rows of an operator on a rank: one for each device that ran it. Returns how many. */
static size_t add_rank(struct ops *o, size_t row)
{
	int64_t at = value(o, ROW_OP, row), worker = value(o, WORKER, row), steps = value(o, STEPS, row);
	struct op *op = at < 0 || (size_t)at >= o->ops || steps <= 0 ? NULL : &o->op[at];
	size_t n = 0, most = row;
	double self = 0;

	for (size_t i; i = row + n, i < o->column[ROW_OP].n && value(o, ROW_OP, i) == at && value(o, WORKER, i) == worker; n++) {
		if (!op)
			continue;
		self += (double)value(o, SELF, i) / (double)steps;
		op->calls += (double)value(o, CALLS, i) / (double)steps;
		op->total += (double)value(o, TOTAL, i) / (double)steps;
		op->longest = fmax(op->longest, (double)value(o, MOST_NS, i));
		most = value(o, SELF, i) > value(o, SELF, most) ? i : most;
	}
	if (!op)
		return n;
	op->self += self;
	if (!op->ranks || self < op->least)
		op->least = self;
	if (!op->ranks || self > op->most) {
		op->most = self;
		op->worst = (double)worker;
		op->device = n > 1 && o->column[DEVICE].n ? (double)value(o, DEVICE, most) : -1;
	}
	op->ranks++;
	return n;
}

static int sum(struct ops *o)
{
	const struct pp_page *p = o->p;

	o->ops = o->column[NAME].n;
	o->op = calloc(o->ops + 1, sizeof(*o->op));
	if (!o->op)
		return -ENOMEM;
	for (size_t w = 0; w < p->d.workers; w++)
		o->ranks += p->sum.worker_steps[w] > 0;
	if (o->ranks < 1)
		o->ranks = 1;
	for (size_t i = 0; i < o->ops; i++)
		o->op[i] = (struct op){.index = i, .worst = -1, .device = -1};
	for (size_t i = 0; i < o->column[ROW_OP].n;)
		i += add_rank(o, i);
	for (size_t i = 0; i < o->ops; i++) {
		struct op *op = &o->op[i];

		if ((double)op->ranks < o->ranks)
			op->least = 0; /* some rank has none of it */
		op->calls /= o->ranks;
		op->total /= o->ranks;
		op->self /= o->ranks;
	}
	qsort(o->op, o->ops, sizeof(*o->op), by_self);
	o->shown = o->ops < PP_PAGE_ROWS ? o->ops : PP_PAGE_ROWS;
	return 0;
}

static void put_texts(const struct ops *o, const char *key, enum column c)
{
	struct pp_page *p = o->p;

	pp_page_key(p, key, 0);
	fputc('[', p->to);
	for (size_t i = 0; i < o->shown; i++) {
		if (i)
			fputc(',', p->to);
		pp_json_text(p->to, pp_h5_file_text(&o->column[c], o->op[i].index));
	}
	fputc(']', p->to);
}

static void put_numbers(const struct ops *o)
{
	static const struct {
		const char *key;
		size_t at;
	} number_of[] = {{"calls", offsetof(struct op, calls)},  {"total_ns", offsetof(struct op, total)},
	                 {"self_ns", offsetof(struct op, self)}, {"least_ns", offsetof(struct op, least)},
	                 {"most_ns", offsetof(struct op, most)}, {"longest_ns", offsetof(struct op, longest)},
	                 {"worst", offsetof(struct op, worst)},  {"device", offsetof(struct op, device)}};
	double *number = malloc((o->shown + 1) * sizeof(*number));
	struct pp_page *p = o->p;

	for (size_t k = 0; k < sizeof(number_of) / sizeof(number_of[0]); k++) {
		pp_page_key(p, number_of[k].key, 0);
		for (size_t i = 0; number && i < o->shown; i++)
			memcpy(&number[i], (const char *)&o->op[i] + number_of[k].at, sizeof(*number));
		if ((!number || pp_json_reals(p->to, number, o->shown)) && !p->code)
			p->code = pp_err_set(p->err, -ENOMEM, "no memory for the operators of the report");
	}
	free(number);
}

void pp_page_ops(struct pp_page *p)
{
	struct ops o = {.p = p};

	pp_page_key(p, "operator", 0);
	if (load(&o) && !p->code && sum(&o) < 0)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the operators of the report");
	fprintf(p->to, "{\"n\":%zu", o.shown);
	if (o.shown < o.ops)
		pp_page_note(p, "/op has %zu operators. The table here holds the %zu with the largest self time; pod.h5 has all.",
		             o.ops, o.shown);
	put_texts(&o, "name", NAME);
	put_texts(&o, "category", CATEGORY);
	put_texts(&o, "source", SOURCE);
	if (o.column[SIDE].n)
		put_texts(&o, "side", SIDE);
	put_numbers(&o);
	fputc('}', p->to);
	free(o.op);
	for (size_t i = 0; i < COLUMNS; i++)
		pp_h5_file_release(&o.column[i]);
}

/* Writes the tables of pod.h5 that are not planes, of any group. Called by report.c. An unknown group is shown generically:
 * columns with names, units and meanings. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/data/page.h"
#include "core/base/compare.h"
#include "core/base/known.h"

enum { MOST_COLUMNS = 64, MOST_MATRIX = 1 << 16 };

struct table {
	struct pp_page *p;
	const char *group, *dim;
	size_t rows, shown;
	size_t *order; /* [rows], before pick() those that belong in the table, then [shown] rows that are in the page */
	struct pp_h5_file_column column[MOST_COLUMNS];
	size_t columns;
};

struct ranked {
	double key;
	size_t row;
};

static double number_of(const struct pp_h5_file_column *c, size_t i)
{
	return pp_h5_file_is_unknown(c, i)  ? -HUGE_VAL
	       : c->kind == PP_H5_FILE_INT  ? (double)c->data.i[i]
	       : c->kind == PP_H5_FILE_UINT ? (double)c->data.u[i]
	       : c->kind == PP_H5_FILE_REAL ? c->data.real[i]
	                                    : 0;
}

PP_COMPARE(by_key, struct ranked, PP_DOWN(key) ?: PP_UP(row))

PP_COMPARE(by_row, size_t, PP_ORDER(*x, *y))

/* The column by which a long table is cut: the first of these that it has. */
static const struct pp_h5_file_column *weight_of(const struct table *t)
{
	static const char *const name[] = {"wait_ns", "time_ns", "total_ns", "ns", "bytes", "count"};

	for (size_t k = 0; k < sizeof(name) / sizeof(name[0]); k++)
		for (size_t i = 0; i < t->columns; i++)
			if (!strcmp(t->column[i].name, name[k]) && t->column[i].kind != PP_H5_FILE_TEXT)
				return &t->column[i];
	return NULL;
}

/* The `most` largest rows by a column, in the order of the file; the first ones without a column, or without memory. */
static size_t pick(const struct pp_h5_file_column *weight, size_t rows, size_t most, size_t *order)
{
	struct ranked *ranked = rows > most && weight ? malloc(rows * sizeof(*ranked)) : NULL;
	size_t n = rows < most ? rows : most;

	if (!ranked)
		return n;
	for (size_t i = 0; i < rows; i++)
		ranked[i] = (struct ranked){number_of(weight, order[i]), order[i]};
	qsort(ranked, rows, sizeof(*ranked), by_key);
	for (size_t i = 0; i < n; i++)
		order[i] = ranked[i].row;
	qsort(order, n, sizeof(*order), by_row);
	free(ranked);
	return n;
}

static int is_large(const struct table *t, const struct pp_h5_file_column *c)
{
	for (size_t i = 0; c->kind == PP_H5_FILE_UINT && i < t->shown; i++)
		if (c->data.u[t->order[i]] > (uint64_t)PP_JSON_EXACT)
			return 1;
	return 0;
}

static int put_numbers(struct table *t, const struct pp_h5_file_column *c)
{
	const int is_real = c->kind == PP_H5_FILE_REAL;
	void *value = calloc(t->shown + 1, sizeof(int64_t));
	double *real = value;
	int64_t *whole = value;
	int code;

	if (!value)
		return -ENOMEM;
	for (size_t i = 0; i < t->shown; i++)
		if (is_real)
			real[i] = c->data.real[t->order[i]];
		else
			whole[i] = pp_h5_file_is_unknown(c, t->order[i]) ? PP_UNKNOWN : c->data.i[t->order[i]];
	code = is_real ? pp_json_reals(t->p->to, real, t->shown) : pp_json_ints(t->p->to, whole, t->shown);
	free(value);
	return code;
}

static int put_values(struct table *t, const struct pp_h5_file_column *c)
{
	int large = is_large(t, c);

	if (c->kind != PP_H5_FILE_TEXT && !large)
		return put_numbers(t, c);
	fputc('[', t->p->to);
	for (size_t i = 0; i < t->shown; i++) {
		if (i)
			fputc(',', t->p->to);
		if (large) /* identities: in the form of docs/formats.md */
			fprintf(t->p->to, "\"%016llx\"", (unsigned long long)c->data.u[t->order[i]]);
		else
			pp_json_text(t->p->to, pp_h5_file_text(c, t->order[i]));
	}
	fputc(']', t->p->to);
	return 0;
}

static void put_table(struct table *t)
{
	struct pp_page *p = t->p;

	fprintf(p->to, "{\"group\":");
	pp_json_text(p->to, t->group);
	pp_page_key(p, "dim", 0);
	pp_json_text(p->to, t->dim);
	fprintf(p->to, ",\"rows\":%zu,\"shown\":%zu,\"column\":[", t->rows, t->shown);
	for (size_t i = 0; i < t->columns && !p->code; i++) {
		const struct pp_h5_file_column *c = &t->column[i];

		fputs(i ? ",{" : "{", p->to);
		pp_page_key(p, "name", 1);
		pp_json_text(p->to, c->name);
		pp_page_key(p, "unit", 0);
		pp_json_text(p->to, c->unit);
		pp_page_key(p, "what", 0);
		pp_json_text(p->to, c->what);
		pp_page_key(p, "data", 0);
		if (put_values(t, c))
			p->code = pp_err_set(p->err, -ENOMEM, "no memory for /%s/%s of the report", t->group, c->name);
		fputc('}', p->to);
	}
	fputs("]}", p->to);
}

/* Rows of the table. Messages stand beside collectives in the file, and have a table of their own (message.c). */
static size_t eligible(struct table *t)
{
	const struct pp_h5_file_column *message = NULL;
	size_t n = 0;

	for (size_t i = 0; i < t->columns && !strcmp(t->group, "collective"); i++)
		if (!strcmp(t->column[i].name, "message") && t->column[i].kind != PP_H5_FILE_TEXT)
			message = &t->column[i];
	for (size_t i = 0; i < t->rows; i++)
		if (!message || number_of(message, i) == 0)
			t->order[n++] = i;
	return n;
}

/* Loads all columns of one dimension of one group. 0: something to show. */
static int load(struct table *t)
{
	struct pp_page *p = t->p;
	struct pp_h5_file_column c;
	char variable[PP_H5_FILE_NAME];
	const char *name;

	for (size_t i = 0; (name = pp_h5_file_name(p->h5, t->group, i)); i++) {
		snprintf(variable, sizeof(variable), "%s", name);
		if (pp_h5_file_shape(p->h5, t->group, variable, &c, NULL) || c.dims != 1 || strcmp(c.dim[0], t->dim) || !c.n)
			continue;
		if (t->columns == MOST_COLUMNS || (t->columns && c.n != t->rows)) {
			pp_page_note(p, "/%s/%s is not on this page. pod.h5 has it.", t->group, variable);
			continue;
		}
		if (!p->code && !(p->code = pp_h5_file_read(p->h5, t->group, variable, &t->column[t->columns], p->err)))
			t->rows = t->column[t->columns++].n;
	}
	t->order = malloc((t->rows + 1) * sizeof(*t->order));
	if (!t->order && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for /%s of the report", t->group);
	if (t->order)
		t->rows = eligible(t);
	return !t->columns || !t->rows || p->code;
}

static void put_dim(struct pp_page *p, const char *group, const char *dim, int *count)
{
	struct table *t = calloc(1, sizeof(*t));
	const struct pp_h5_file_column *weight;

	if (!t)
		return;
	*t = (struct table){.p = p, .group = group, .dim = dim};
	if (!load(t)) {
		/* of points on a curve the first ones: those of the largest value make no curve */
		weight = strcmp(group, "memory_timeline") ? weight_of(t) : NULL;
		t->shown = pick(weight, t->rows, strcmp(group, "memory_timeline") ? PP_PAGE_ROWS : PP_PAGE_POINTS, t->order);
		if (t->shown < t->rows)
			pp_page_note(p, "/%s has %zu rows. The table here holds the %s%zu%s%s; pod.h5 has all.", group, t->rows,
			             weight ? "" : "first ", t->shown, weight ? " with the largest " : "",
			             weight ? weight->name : "");
		if ((*count)++)
			fputc(',', p->to);
		put_table(t);
	}
	for (size_t i = 0; i < t->columns; i++)
		pp_h5_file_release(&t->column[i]);
	free(t->order);
	free(t);
}

/* Parts of the rows of another table, millions of them. */
static int is_row_list(const char *group, const char *dim)
{
	return (!strcmp(dim, "row") && strcmp(group, "torch_memory") != 0) || !strcmp(dim, "member");
}

/* What pod.c, message.c and skyline.c make of such lists is on the page. */
static int is_known_list(const char *group, const char *variable)
{
	return !strcmp(group, "blame_step") || (!strcmp(group, "collective") && !strcmp(variable, "local_us"));
}

/* Every dimension that comes first in some column is a table. */
static void put_group(struct pp_page *p, const char *group, int *count)
{
	char dim[8][PP_H5_FILE_NAME];
	struct pp_h5_file_column c;
	size_t dims = 0, k;
	const char *name;

	if (!strcmp(group, "op") || !strcmp(group, "blame_step")) /* op.c, pod.c */
		return;
	for (size_t i = 0; (name = pp_h5_file_name(p->h5, group, i)) && dims < sizeof(dim) / sizeof(dim[0]); i++) {
		char variable[PP_H5_FILE_NAME];

		snprintf(variable, sizeof(variable), "%s", name);
		if (pp_h5_file_shape(p->h5, group, variable, &c, NULL) || c.dims != 1 || is_row_list(group, c.dim[0]))
			continue;
		for (k = 0; k < dims && strcmp(dim[k], c.dim[0]); k++)
			;
		if (k == dims)
			memcpy(dim[dims++], c.dim[0], sizeof(dim[0]));
	}
	for (size_t i = 0; i < dims; i++)
		put_dim(p, group, dim[i], count);
}

static void put_small(struct pp_page *p, const char *group, const struct pp_h5_file_column *look, int *count)
{
	struct pp_h5_file_column c;

	if (p->code || (p->code = pp_h5_file_read(p->h5, group, look->name, &c, p->err)))
		return;
	fputs((*count)++ ? ",{" : "{", p->to);
	pp_page_key(p, "group", 1);
	pp_json_text(p->to, group);
	pp_page_key(p, "name", 0);
	pp_json_text(p->to, c.name);
	pp_page_key(p, "unit", 0);
	pp_json_text(p->to, c.unit);
	pp_page_key(p, "what", 0);
	pp_json_text(p->to, c.what);
	pp_page_key(p, "data", 0);
	if ((c.kind == PP_H5_FILE_REAL ? pp_json_reals(p->to, c.data.real, c.n) : pp_json_ints(p->to, c.data.i, c.n)) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for /%s/%s of the report", group, c.name);
	fputc('}', p->to);
	pp_h5_file_release(&c);
}

/* Writes scalars, and small tables of two dimensions that are not planes. */
static void put_scalars(struct pp_page *p, const char *group, int *count)
{
	struct pp_h5_file_column c;
	const char *name;

	for (size_t i = 0; (name = pp_h5_file_name(p->h5, group, i)); i++) {
		char variable[PP_H5_FILE_NAME];

		snprintf(variable, sizeof(variable), "%s", name);
		if (pp_h5_file_shape(p->h5, group, variable, &c, NULL) || c.dims == 1 || c.kind == PP_H5_FILE_TEXT ||
		    is_known_list(group, variable))
			continue;
		if (c.dims && (!strcmp(c.dim[0], "step") || c.n > MOST_MATRIX)) {
			if (strcmp(c.dim[0], "step") || c.dims > 2)
				pp_page_note(p, "/%s/%s is not on this page. pod.h5 has it.", group, variable);
			continue;
		}
		put_small(p, group, &c, count);
	}
}

static void each_group(struct pp_page *p, void (*put)(struct pp_page *p, const char *group, int *count))
{
	int count = 0;
	const char *name;

	for (size_t i = 0; (name = pp_h5_file_name(p->h5, NULL, i)) && !p->code; i++) {
		char group[PP_H5_FILE_NAME];

		snprintf(group, sizeof(group), "%s", name);
		if (strcmp(group, "worker") && strcmp(group, "step") && strcmp(group, "breakdown"))
			put(p, group, &count);
	}
}

void pp_page_tables(struct pp_page *p)
{
	pp_page_key(p, "table_list", 0);
	fputc('[', p->to);
	each_group(p, put_group);
	fputc(']', p->to);
	pp_page_key(p, "small", 0);
	fputc('[', p->to);
	each_group(p, put_scalars);
	fputc(']', p->to);
}

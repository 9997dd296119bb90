/* Writes when each rank arrived at the collectives with most waiting. Called by report.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/report/data/page.h"

enum column { WAIT, FIRST_ROW, ROW_COUNT, FIRST_NS, WORKER, ARRIVAL, EXIT, NEEDED, MESSAGE = NEEDED, COLUMNS };

struct rows {
	struct pp_page *p;
	struct pp_h5_file_column column[COLUMNS];
};

static int64_t value(const struct rows *r, enum column c, size_t i)
{
	return i < r->column[c].n ? r->column[c].data.i[i] : 0;
}

static int load(struct rows *r)
{
	static const char *const name[] = {"wait_ns", "row_first",  "row_count", "first_ns",
	                                   "worker",  "arrival_ns", "exit_ns",   "message"};

	for (size_t i = 0; i < COLUMNS; i++) {
		if (!pp_h5_file_has(r->p->h5, "collective", name[i]) ||
		    pp_h5_file_read(r->p->h5, "collective", name[i], &r->column[i], NULL) || r->column[i].kind == PP_H5_FILE_TEXT ||
		    r->column[i].kind == PP_H5_FILE_REAL) {
			if (i < NEEDED) /* older files have no messages there */
				return 0;
			pp_h5_file_release(&r->column[i]);
			r->column[i].n = 0;
		}
	}
	return 1;
}

static void put_column(struct rows *r, const char *key, enum column c, size_t first, size_t n, int64_t from)
{
	int64_t *v = malloc((n + 1) * sizeof(*v));

	pp_page_key(r->p, key, 0);
	for (size_t i = 0; v && i < n; i++)
		v[i] = value(r, c, first + i) - from;
	if ((!v || pp_json_ints(r->p->to, v, n)) && !r->p->code)
		r->p->code = pp_err_set(r->p->err, -ENOMEM, "no memory for the arrivals of the report");
	free(v);
}

static void put_event(struct rows *r, size_t event)
{
	int64_t first = value(r, FIRST_ROW, event), n = value(r, ROW_COUNT, event), rows = (int64_t)r->column[WORKER].n;
	int64_t from = value(r, FIRST_NS, event);

	if (first < 0 || n < 0 || first > rows || n > rows - first)
		n = first = 0; /* a damaged file shows no arrivals */
	fprintf(r->p->to, "{\"event\":%zu", event);
	put_column(r, "worker", WORKER, (size_t)first, (size_t)n, 0);
	put_column(r, "arrival_ns", ARRIVAL, (size_t)first, (size_t)n, from);
	put_column(r, "exit_ns", EXIT, (size_t)first, (size_t)n, from);
	fputc('}', r->p->to);
}

/* Insertion into a short list: the collectives with most waiting, most first. */
static size_t most_waiting(const struct rows *r, size_t found[PP_PAGE_ARRIVALS])
{
	size_t n = 0;

	for (size_t e = 0; e < r->column[WAIT].n; e++) {
		size_t at;

		if (value(r, WAIT, e) <= 0 || value(r, MESSAGE, e) ||
		    (n == PP_PAGE_ARRIVALS && value(r, WAIT, e) <= value(r, WAIT, found[n - 1])))
			continue;
		if (n < PP_PAGE_ARRIVALS)
			n++;
		for (at = n - 1; at && value(r, WAIT, found[at - 1]) < value(r, WAIT, e); at--)
			found[at] = found[at - 1];
		found[at] = e;
	}
	return n;
}

void pp_page_arrivals(struct pp_page *p)
{
	size_t found[PP_PAGE_ARRIVALS] = {0}, n;
	struct rows r = {.p = p};

	pp_page_key(p, "arrival", 0);
	fputc('[', p->to);
	if (load(&r)) {
		n = most_waiting(&r, found);
		for (size_t i = 0; i < n; i++) {
			if (i)
				fputc(',', p->to);
			put_event(&r, found[i]);
		}
	}
	fputc(']', p->to);
	for (size_t i = 0; i < COLUMNS; i++)
		pp_h5_file_release(&r.column[i]);
}

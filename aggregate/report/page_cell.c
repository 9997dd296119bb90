/* Writes planes of (step, worker), each a quantity of the heat map. Called by report.c. Beyond what a browser holds it omits
 * small categories first, then steps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/page.h"
#include "core/base/huge.h"

enum { ALWAYS = 4, MOST_PLANES = 40, REST = PP_CATEGORIES + 1, LEAST_CATEGORIES = 3, FOREIGN_VALUES = PP_PAGE_VALUES / 2 * 3 };

struct cells {
	struct pp_page *p;
	size_t stride;                              /* the page has every stride-th step */
	size_t steps;                               /* steps in the page */
	int shown[PP_CATEGORIES + 2];               /* ids, largest first; [shown_count] */
	int shown_count, merged[PP_CATEGORIES + 1]; /* 1: merged into the plane of the rest */
	int rest, planes;
	size_t *peers; /* [workers] */
};

static int64_t cell_value(const struct cells *c, const struct pp_row_cell *cell, int which)
{
	int64_t rest = 0;

	if (which <= PP_CATEGORIES)
		return cell->exclusive_ns[which];
	for (int k = 1; k <= PP_CATEGORIES; k++)
		rest += c->merged[k] ? cell->exclusive_ns[k] : 0;
	return rest;
}

enum named { PRESENT, STEP, WAIT, KEPT, TRANSFER };

static const char *const key_of[] = {"present", "step_ns", "wait_ns", "kept_ns", "transfer_ns"};

/* peers: of the cell's worker, as in pp_sums_kept(). */
static int64_t named_value(const struct pp_row_cell *cell, enum named which, size_t peers)
{
	switch (which) {
	case PRESENT:
		return cell->present;
	case STEP:
		return cell->step_ns;
	case WAIT:
		return cell->wait_ns;
	case KEPT:
		return cell->late_ns / (int64_t)(peers ? peers : 1);
	default:
		return cell->transfer_ns;
	}
}

static void begin_plane(struct cells *c, const char *key, const char *name, const char *unit)
{
	struct pp_page *p = c->p;

	fputs(c->planes++ ? ",{" : "{", p->to);
	pp_page_key(p, "key", 1);
	pp_json_text(p->to, key);
	pp_page_key(p, "name", 0);
	pp_json_text(p->to, name);
	pp_page_key(p, "unit", 0);
	pp_json_text(p->to, unit);
}

/* which: enum named, or a category after is_category. */
static void put_plane(struct cells *c, int is_category, int which, const char *name)
{
	struct pp_page *p = c->p;
	size_t workers = p->d.workers, n = c->steps * workers;
	int64_t *value = pp_huge_malloc((n + 1) * sizeof(*value));
	char own[32];

	if (!value) {
		p->code = p->code ? p->code : pp_err_set(p->err, -ENOMEM, "no memory for %zu cells of the report", n);
		return;
	}
	snprintf(own, sizeof(own), "category_%d", which);
	begin_plane(c, is_category ? own : key_of[which], name, "ns");
	if (is_category)
		fprintf(p->to, ",\"category\":%d", which);
	for (size_t s = 0, i = 0; s < c->steps; s++) {
		const struct pp_row_cell *cell = &p->d.cell[s * c->stride * workers];

		for (size_t w = 0; w < workers; w++)
			value[i++] = is_category ? cell_value(c, &cell[w], which)
			                         : named_value(&cell[w], (enum named)which, c->peers[w]);
	}
	pp_page_key(p, "data", 0);
	if (pp_json_ints(p->to, value, n) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for %zu cells of the report", n);
	fputc('}', p->to);
	free(value);
}

static void choose(struct cells *c)
{
	const struct pp_page *p = c->p;
	size_t cells = p->d.steps * p->d.workers, room = cells ? PP_PAGE_VALUES / cells : PP_CATEGORIES;
	size_t most = room < ALWAYS + LEAST_CATEGORIES + 1 ? LEAST_CATEGORIES : room - ALWAYS - 1;
	int id[PP_CATEGORIES] = {0}, n = 0;

	for (int k = 1; k <= PP_CATEGORIES; k++) {
		int at = n;

		if (!p->sum.sum_ns[k])
			continue;
		for (; at && p->sum.sum_ns[id[at - 1]] < p->sum.sum_ns[k]; at--)
			id[at] = id[at - 1];
		id[at] = k;
		n++;
	}
	for (int i = 0; i < n; i++) {
		if ((size_t)i < most || (size_t)n <= most + 1) {
			c->shown[c->shown_count++] = id[i];
		} else {
			c->merged[id[i]] = 1;
			c->rest = 1;
		}
	}
	c->stride = 1;
	while ((p->d.steps + c->stride - 1) / c->stride * p->d.workers * (size_t)(ALWAYS + c->shown_count + c->rest) >
	               PP_PAGE_VALUES &&
	       c->stride < p->d.steps)
		c->stride++;
	c->steps = (p->d.steps + c->stride - 1) / c->stride;
}

static void warn_merged(struct cells *c)
{
	char names[160] = "";

	for (int k = 1; k <= PP_CATEGORIES; k++)
		if (c->merged[k])
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", names[0] ? ", " : "",
			         pp_category_name(k));
	if (c->rest)
		pp_page_note(
		        c->p,
		        "The pod viewer shows %s as one category, 'Small categories', because the page has %zu steps of %zu ranks. "
		        "Tables of means and pod.h5 have each category.",
		        names, c->p->d.steps, c->p->d.workers);
	if (c->stride > 1)
		pp_page_note(
		        c->p,
		        "The pod viewer holds one of every %zu of the %zu steps. Means are over all steps; pod.h5 has each step.",
		        c->stride, c->p->d.steps);
}

/* Tables of (step, worker) of any other source: each is a quantity of the heat map. */
static void put_foreign(struct cells *c, const char *group, const char *variable)
{
	struct pp_page *p = c->p;
	struct pp_pod_file_column v;
	struct pp_err ignored;
	char key[2 * PP_POD_FILE_NAME + 2];
	size_t workers = p->d.workers;
	int shape;

	if (c->planes >= MOST_PLANES || pp_pod_file_look(p->pod, group, variable, &v, &ignored))
		return;
	shape = v.dims == 2 && v.kind != PP_POD_FILE_TEXT && !strcmp(v.dim[0], "step") && !strcmp(v.dim[1], "worker") &&
	        v.extent[0] == p->d.steps && v.extent[1] == workers;
	if (shape && (size_t)c->planes * c->steps * workers > FOREIGN_VALUES) {
		pp_page_note(p, "The pod viewer omits /%s/%s to keep this page small. pod.h5 has it.", group, variable);
		return;
	}
	if (!shape || pp_pod_file_read(p->pod, group, variable, &v, &ignored))
		return;
	snprintf(key, sizeof(key), "%s/%s", group, variable);
	begin_plane(c, key, key, v.unit);
	pp_page_key(p, "what", 0);
	pp_json_text(p->to, v.what);
	for (size_t i = 0; i < c->steps * workers; i++)
		v.data.i[i] = v.data.i[i / workers * c->stride * workers + i % workers];
	pp_page_key(p, "data", 0);
	if ((v.kind == PP_POD_FILE_REAL ? pp_json_reals(p->to, v.data.real, c->steps * workers)
	                                : pp_json_ints(p->to, v.data.i, c->steps * workers)) &&
	    !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for %s of the report", key);
	fputc('}', p->to);
	pp_pod_file_release(&v);
}

static void put_foreign_planes(struct cells *c)
{
	char group[PP_POD_FILE_NAME], variable[PP_POD_FILE_NAME];
	const char *name;

	for (size_t g = 0; (name = pp_pod_file_name(c->p->pod, NULL, g)); g++) {
		snprintf(group, sizeof(group), "%s", name);
		if (!strcmp(group, "step") || !strcmp(group, "breakdown"))
			continue;
		for (size_t i = 0; (name = pp_pod_file_name(c->p->pod, group, i)); i++) {
			snprintf(variable, sizeof(variable), "%s", name);
			put_foreign(c, group, variable);
		}
	}
}

void pp_page_cells(struct pp_page *p)
{
	struct cells c = {.p = p};

	c.peers = calloc(p->d.workers + 1, sizeof(*c.peers));
	if (!c.peers || pp_dataset_count_peers(&p->d, c.peers)) {
		free(c.peers);
		p->code = p->code ? p->code : pp_err_set(p->err, -ENOMEM, "no memory for the report");
		return;
	}
	choose(&c);
	p->stride = c.stride;
	warn_merged(&c);
	pp_page_key(p, "cell", 0);
	fprintf(p->to, "{\"stride\":%zu,\"steps\":%zu,\"plane\":[", c.stride, c.steps);
	if (c.steps) {
		put_plane(&c, 0, PRESENT, "present");
		put_plane(&c, 0, STEP, "Step time");
		put_plane(&c, 0, WAIT, "Waiting");
		put_plane(&c, 0, KEPT, "Kept others waiting");
		if (!c.rest)
			put_plane(&c, 0, TRANSFER, "Transfer");
		for (int i = 0; i < c.shown_count; i++)
			put_plane(&c, 1, c.shown[i], pp_category_name(c.shown[i]));
		if (c.rest)
			put_plane(&c, 1, REST, "Small categories");
		put_foreign_planes(&c);
	}
	fputs("]}", p->to);
	free(c.peers);
}

/* Writes planes of (step, worker), each a quantity of the heat map. Called by report.c. Beyond what a browser holds, and beyond its
 * share of the page's bytes, it omits small categories first, then steps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/data/page.h"
#include "core/base/huge.h"
#include "core/base/known.h"
#include "core/base/wrap.h"

enum { ALWAYS = 5, MOST_PLANES = 40, REST = PP_CATEGORIES + 1, LEAST_CATEGORIES = 3, FOREIGN_VALUES = PP_PAGE_VALUES / 2 * 3 };
enum { CATEGORY_BYTES = PP_PAGE_PLANE_BYTES / 10 * 9, GUESS = 4 /* bytes of a value */ };

struct cells {
	struct pp_page *p;
	size_t stride;                              /* the page has every stride-th step */
	size_t steps;                               /* steps in the page */
	int shown[PP_CATEGORIES + 2];               /* ids, largest first; [shown_count] */
	int shown_count, merged[PP_CATEGORIES + 1]; /* 1: merged into the plane of the rest */
	int rest, planes;
	int64_t begin; /* of the planes in the page; -1: it cannot tell */
};

/* Of all planes so far. */
static int64_t bytes_of(const struct cells *c)
{
	const int64_t at = c->begin < 0 ? -1 : ftello(c->p->to);

	return at < 0 ? (int64_t)c->planes * GUESS * (int64_t)(c->steps * c->p->d.workers) : at - c->begin;
}

static int64_t cell_value(const struct cells *c, const struct pp_row_cell *cell, int which)
{
	int64_t rest = 0;

	if (which <= PP_CATEGORIES)
		return cell->exclusive_ns[which];
	for (int k = 1; k <= PP_CATEGORIES; k++)
		pp_wrap_add(&rest, c->merged[k] ? cell->exclusive_ns[k] : 0);
	return rest;
}

enum named { PRESENT, STEP, WAIT, KEPT, TRANSFER };

static enum named named(const char *key)
{
	return !strcmp(key, "present")   ? PRESENT
	       : !strcmp(key, "step_ns") ? STEP
	       : !strcmp(key, "wait_ns") ? WAIT
	       : !strcmp(key, "kept_ns") ? KEPT
	                                 : TRANSFER;
}

/* peers: of the cell's worker, as in pp_sums_per_step(). */
static int64_t named_value(const struct pp_row_cell *cell, enum named which, size_t peers)
{
	return which == PRESENT ? cell->present
	       : which == STEP  ? cell->step_ns
	       : which == WAIT  ? cell->wait_ns
	       : which == KEPT  ? pp_known_part(cell->late_ns, (int64_t)peers)
	                        : cell->transfer_ns;
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

/* key NULL: category `which`. */
static void put_plane(struct cells *c, const char *key, const char *name, int which)
{
	struct pp_page *p = c->p;
	size_t workers = p->d.workers, n = c->steps * workers, at = 0;
	int64_t *value = pp_huge_malloc((n + 1) * sizeof(*value));
	const enum named name_of = key ? named(key) : TRANSFER;
	char own[32];

	if (!value) {
		p->code = p->code ? p->code : pp_err_set(p->err, -ENOMEM, "no memory for %zu cells of the report", n);
		return;
	}
	snprintf(own, sizeof(own), "category_%d", which);
	begin_plane(c, key ? key : own, name, "ns");
	if (!key)
		fprintf(p->to, ",\"category\":%d", which);
	for (size_t s = 0; s < c->steps; s++) {
		const struct pp_row_cell *cell = &p->d.cell[s * c->stride * workers];

		for (size_t w = 0; w < workers; w++, cell++)
			value[at++] = key ? named_value(cell, name_of, p->peers[w]) : cell_value(c, cell, which);
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
	struct pp_h5_file_column v;
	struct pp_err ignored;
	char key[2 * PP_H5_FILE_NAME + 2];
	size_t workers = p->d.workers;
	int shape;

	if (c->planes >= MOST_PLANES || pp_h5_file_shape(p->h5, group, variable, &v, &ignored))
		return;
	shape = v.dims == 2 && v.kind != PP_H5_FILE_TEXT && !strcmp(v.dim[0], "step") && !strcmp(v.dim[1], "worker") &&
	        v.extent[0] == p->d.steps && v.extent[1] == workers;
	if (shape && ((size_t)c->planes * c->steps * workers > FOREIGN_VALUES || bytes_of(c) > PP_PAGE_PLANE_BYTES)) {
		pp_page_note(p, "The pod viewer omits /%s/%s to keep this page small. pod.h5 has it.", group, variable);
		return;
	}
	if (!shape || pp_h5_file_read(p->h5, group, variable, &v, &ignored))
		return;
	snprintf(key, sizeof(key), "%s/%s", group, variable);
	begin_plane(c, key, key, v.unit);
	pp_page_key(p, "what", 0);
	pp_json_text(p->to, v.what);
	for (size_t s = 1; s < c->steps && c->stride > 1; s++)
		memcpy(&v.data.i[s * workers], &v.data.i[s * c->stride * workers], workers * sizeof(*v.data.i));
	pp_page_key(p, "data", 0);
	if ((v.kind == PP_H5_FILE_REAL ? pp_json_reals(p->to, v.data.real, c->steps * workers)
	                               : pp_json_ints(p->to, v.data.i, c->steps * workers)) &&
	    !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for %s of the report", key);
	fputc('}', p->to);
	pp_h5_file_release(&v);
}

static void put_foreign_planes(struct cells *c)
{
	char group[PP_H5_FILE_NAME], variable[PP_H5_FILE_NAME];
	const char *name;

	for (size_t g = 0; (name = pp_h5_file_name(c->p->h5, NULL, g)); g++) {
		snprintf(group, sizeof(group), "%s", name);
		if (!strcmp(group, "step") || !strcmp(group, "breakdown") || !strcmp(group, "blame_step"))
			continue;
		for (size_t i = 0; (name = pp_h5_file_name(c->p->h5, group, i)); i++) {
			snprintf(variable, sizeof(variable), "%s", name);
			put_foreign(c, group, variable);
		}
	}
}

/* A grid of all cells, of which it moves some. */
static void put_grid(struct cells *c, const char *key, const char *name, const char *unit, int64_t *grid)
{
	struct pp_page *p = c->p;
	const size_t workers = p->d.workers, n = c->steps * workers;

	for (size_t s = 1; s < c->steps && c->stride > 1; s++)
		memcpy(&grid[s * workers], &grid[s * c->stride * workers], workers * sizeof(*grid));
	begin_plane(c, key, name, unit);
	pp_page_key(p, "data", 0);
	if (pp_json_ints(p->to, grid, n) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for %s of the report", key);
	fputc('}', p->to);
}

/* Who made others wait; where there is no /blame_step there is no plane. */
static void put_blame(struct cells *c)
{
	if (c->p->blame)
		put_grid(c, "blame_ns", "Blame", "ns", c->p->blame);
	if (c->p->reason)
		put_grid(c, "blame_reason", "Reason of blame", "", c->p->reason);
}

/* What PyTorch's allocator holds of all devices of a rank; and where that is known. */
static void put_torch(struct cells *c)
{
	const struct pp_dataset *d = &c->p->d;
	const size_t n = d->steps * d->workers;
	int64_t *held, *known;

	if (!d->torch_memories || bytes_of(c) > PP_PAGE_PLANE_BYTES)
		return;
	held = calloc(n + 1, sizeof(*held));
	known = calloc(n + 1, sizeof(*known));
	for (size_t i = 0; held && known && i < d->torch_memories; i++) {
		const struct pp_row_torch_memory *m = &d->torch_memory[i];
		const size_t s = pp_dataset_step(d, m->step), w = pp_dataset_worker(d, m->worker);

		if (s == SIZE_MAX || w == SIZE_MAX)
			continue;
		held[s * d->workers + w] = pp_wrap_plus(held[s * d->workers + w], (int64_t)m->reserved_bytes);
		known[s * d->workers + w] = 1;
	}
	if (held && known) {
		put_grid(c, "torch_memory/reserved_bytes", "torch_memory: reserved", "byte", held);
		put_grid(c, "torch_memory/present", "present", "", known);
	} else if (!c->p->code) {
		c->p->code = pp_err_set(c->p->err, -ENOMEM, "no memory for the memory of the report");
	}
	free(held);
	free(known);
}

/* Of categories that take more than their share of bytes the small ones become one plane. */
static void put_categories(struct cells *c)
{
	int64_t before = bytes_of(c);

	for (int i = 0; i < c->shown_count; i++) {
		const int64_t now = bytes_of(c), last = now - before, left = c->shown_count - i;

		if (i >= LEAST_CATEGORIES && left + c->rest > 1 && now + 2 * last > CATEGORY_BYTES) {
			for (; i < c->shown_count; i++)
				c->merged[c->shown[i]] = 1;
			c->rest = 1;
			break;
		}
		before = now;
		put_plane(c, NULL, pp_category_name(c->shown[i]), c->shown[i]);
	}
	if (c->rest)
		put_plane(c, NULL, "Small categories", REST);
}

static void put_planes(struct cells *c)
{
	put_plane(c, "present", "present", 0);
	put_plane(c, "step_ns", "Step time", 0);
	put_plane(c, "wait_ns", "Waiting", 0);
	put_plane(c, "kept_ns", "Kept others waiting", 0);
	put_blame(c);
	put_categories(c);
	if (!c->rest)
		put_plane(c, "transfer_ns", "Transfer", 0);
	put_torch(c);
	put_foreign_planes(c);
}

void pp_page_cells(struct pp_page *p)
{
	struct cells c = {.p = p};

	choose(&c);
	p->stride = c.stride;
	c.begin = ftello(p->to);
	pp_page_key(p, "cell", 0);
	fprintf(p->to, "{\"stride\":%zu,\"steps\":%zu,\"plane\":[", c.stride, c.steps);
	if (c.steps && !p->code)
		put_planes(&c);
	warn_merged(&c);
	fputs("]}", p->to);
}

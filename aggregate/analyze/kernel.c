/* What devices ran: one row per worker, name, operator and shape of launch. Called by build.c; docs/steps.md has the rules. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/map.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/classify.h"

struct window { /* a step of this rank */
	int64_t begin, end;
};

enum { SEEN = 1024 };

struct seen { /* a kernel of this rank that was counted */
	uint32_t name, op, launch, device;
	uint8_t activity, precision;
	size_t row; /* index + 1; 0: none */
};

struct kernels { /* of one rank after the other */
	struct pp_table out;
	struct pp_row_kernel_left_out left_out;
	const struct pp_intern *names;
	struct pp_map map; /* of this rank's rows */
	size_t first;
	struct window *window;
	size_t windows;
	struct seen seen[SEEN]; /* by hash_seen(): the same few kernels come again and again */
};

static struct pp_row_kernel *row_at(const struct kernels *k, size_t i)
{
	return k->out.row ? (struct pp_row_kernel *)k->out.row + i : NULL;
}

static int is_same(const void *row, const void *key)
{
	const struct pp_row_kernel *a = row, *b = key;

	return a->name == b->name && a->op == b->op && a->activity == b->activity && a->precision == b->precision &&
	       a->registers == b->registers && a->static_shared_bytes == b->static_shared_bytes &&
	       a->dynamic_shared_bytes == b->dynamic_shared_bytes && a->block_x == b->block_x && a->block_y == b->block_y &&
	       a->block_z == b->block_z && a->grid_x == b->grid_x && a->grid_y == b->grid_y && a->grid_z == b->grid_z &&
	       a->device == b->device;
}

static uint64_t hash_of(const void *row)
{
	const struct pp_row_kernel *a = row;
	const uint32_t part[] = {a->name,
	                         a->op,
	                         (uint32_t)a->activity << 8 | (uint32_t)a->precision,
	                         a->registers,
	                         a->static_shared_bytes,
	                         a->dynamic_shared_bytes,
	                         a->block_x,
	                         a->block_y,
	                         a->block_z,
	                         a->grid_x,
	                         a->grid_y,
	                         a->grid_z,
	                         a->device};
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		hash = ((hash ^ part[i]) * 0x9e3779b97f4a7c15u) ^ (hash >> 29);
	return hash ^ hash >> 32;
}

/* This rank's row, made if new; NULL: no memory. */
static struct pp_row_kernel *row_of(struct kernels *k, const struct pp_row_kernel *one)
{
	uint32_t *place = pp_map_place(&k->map, row_at(k, k->first), k->out.rows - k->first, sizeof(*one), one, hash_of, is_same);
	struct pp_row_kernel *row;

	if (!place || *place)
		return place ? row_at(k, k->first + *place - 1) : NULL;
	row = pp_table_add(&k->out);
	if (!row)
		return NULL;
	*row = *one;
	*place = (uint32_t)(k->out.rows - k->first);
	return row;
}

static struct pp_row_kernel describe(const struct kernels *k, const struct pp_rank *rank, const struct pp_span *span,
                                     uint32_t number)
{
	const struct pp_span_device *device = &span->device;
	const uint32_t names = pp_intern_count(k->names);
	struct pp_row_kernel row = {.name = span->name < names ? span->name : 0,
	                            .op = device->op < names ? device->op : 0,
	                            .activity =
	                                    (int8_t)(device->activity < PP_DEVICE_ACTIVITIES ? device->activity : PP_DEVICE_KERNEL),
	                            .precision = (int8_t)(device->precision <= PP_PRECISION_16 ? device->precision : 0),
	                            .worker = rank->rank,
	                            .device = number,
	                            .occupancy_percent = (double)NAN,
	                            .min_ns = INT64_MAX};

	if (device->launch && device->launch <= rank->launches) {
		const struct pp_launch *l = &rank->launch[device->launch - 1];

		row.registers = l->registers;
		row.static_shared_bytes = l->static_shared;
		row.dynamic_shared_bytes = l->dynamic_shared;
		row.block_x = l->block[0];
		row.block_y = l->block[1];
		row.block_z = l->block[2];
		row.grid_x = l->grid[0];
		row.grid_y = l->grid[1];
		row.grid_z = l->grid[2];
		row.occupancy_percent = l->occupancy >= 0 && l->occupancy <= 100 ? (double)l->occupancy : (double)NAN;
	}
	return row;
}

static size_t hash_seen(const struct pp_span *span)
{
	uint64_t hash = (uint64_t)span->device.launch << 32 | (span->name ^ span->device.op);

	return hash * 0x9e3779b97f4a7c15u >> 54; /* below SEEN */
}

/* The span's row, made if new; NULL: no memory. */
static struct pp_row_kernel *find(struct kernels *k, const struct pp_rank *rank, const struct pp_span *span, uint32_t number)
{
	struct seen *seen = &k->seen[hash_seen(span)];
	const struct pp_span_device *device = &span->device;
	struct pp_row_kernel one, *row;

	if (seen->row && seen->name == span->name && seen->op == device->op && seen->launch == device->launch &&
	    seen->activity == device->activity && seen->precision == device->precision && seen->device == number)
		return row_at(k, seen->row - 1);
	one = describe(k, rank, span, number);
	row = row_of(k, &one);
	if (!row)
		return NULL;
	row->occupancy_percent = fmax(row->occupancy_percent, one.occupancy_percent); /* of what is known */
	*seen = (struct seen){span->name,
	                      device->op,
	                      device->launch,
	                      number,
	                      device->activity,
	                      device->precision,
	                      (size_t)(row - row_at(k, 0)) + 1};
	return row;
}

static int count(struct kernels *k, const struct pp_rank *rank, const struct pp_thread *thread, const struct pp_span *span)
{
	struct pp_row_kernel *row = find(k, rank, span, thread->device ? thread->device - 1 : 0);
	const int8_t by = (int8_t)(span->device.by ? span->device.by : PP_BY_KIND);
	int64_t ns = span->end > span->begin ? span->end - span->begin : 0;

	if (!row)
		return -ENOMEM;
	if (by > row->by)
		row->by = by;
	row->occurrences++;
	row->total_ns += ns;
	if (ns < row->min_ns)
		row->min_ns = ns;
	if (ns > row->max_ns)
		row->max_ns = ns;
	row->bytes += span->device.bytes;
	return 0;
}

static int count_thread(struct kernels *k, const struct pp_rank *rank, const struct pp_thread *thread)
{
	size_t at = 0;
	int rc = 0;

	if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_DEVICE)))
		return 0;
	for (size_t i = 0; i < thread->spans && rc == 0; i++) {
		const struct pp_span *span = &thread->span[i];

		if (span->kind != PP_SPAN_DEVICE)
			continue;
		while (at < k->windows && k->window[at].end <= span->begin)
			at++;
		if (at == k->windows || span->begin < k->window[at].begin)
			k->left_out.outside++;
		else if (span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END))
			k->left_out.cut++;
		else
			rc = count(k, rank, thread, span);
	}
	return rc;
}

PP_COMPARE_BY(compare_window, struct window, begin)

static int list_windows(struct kernels *k, const struct pp_steps *steps, size_t rank, size_t ranks)
{
	free(k->window);
	k->window = calloc(steps->steps + 1, sizeof(*k->window));
	k->windows = 0;
	if (!k->window)
		return -ENOMEM;
	for (size_t s = 0; s < steps->steps; s++) {
		const struct pp_step_cell *cell = &steps->cell[s * ranks + rank];

		if (cell->present && cell->end > cell->begin)
			k->window[k->windows++] = (struct window){cell->begin, cell->end};
	}
	qsort(k->window, k->windows, sizeof(*k->window), compare_window);
	return 0;
}

static int compare_total(const void *a, const void *b, void *names)
{
	const struct pp_row_kernel *x = a, *y = b;
	int order;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	order = strcmp(pp_intern_text(names, x->name, NULL), pp_intern_text(names, y->name, NULL));
	if (order == 0)
		order = strcmp(pp_intern_text(names, x->op, NULL), pp_intern_text(names, y->op, NULL));
	if (order == 0)
		order = x->activity != y->activity ? x->activity - y->activity : x->precision - y->precision;
	if (order == 0)
		order = memcmp(&x->registers, &y->registers, 9 * sizeof(x->registers)); /* registers to grid_z */
	return order ? order : (x->device > y->device) - (x->device < y->device);
}

/* Keeps the rows with most time: shapes that change with every batch would make an endless table. */
static void keep_most(struct kernels *k)
{
	if (k->out.rows - k->first <= PP_KERNELS_MOST)
		return;
	qsort_r(row_at(k, k->first), k->out.rows - k->first, sizeof(struct pp_row_kernel), compare_total, (void *)k->names);
	for (size_t i = k->first + PP_KERNELS_MOST; i < k->out.rows; i++) {
		k->left_out.rest++;
		k->left_out.rest_ns += row_at(k, i)->total_ns;
	}
	k->out.rows = k->first + PP_KERNELS_MOST;
}

static int count_rank(struct kernels *k, const struct pp_join *j, size_t r)
{
	const struct pp_rank *rank = &j->in->capture->rank[r];
	int rc = list_windows(k, j->in->steps, r, j->in->capture->ranks);

	k->first = k->out.rows;
	memset(k->seen, 0, sizeof(k->seen));
	pp_map_clear(&k->map);
	k->left_out.unlaunched += rank->unlaunched;
	k->left_out.unrun += rank->unrun;
	for (size_t t = 0; t < rank->threads && rc == 0; t++)
		rc = count_thread(k, rank, &rank->thread[t]);
	if (rc == 0)
		keep_most(k);
	return rc;
}

int pp_join_kernels(struct pp_join *j)
{
	struct kernels k = {.out = {.desc = pp_table_desc(PP_TABLE_kernel)}, .names = j->d->names};
	int rc = 0;

	for (size_t r = 0; r < j->in->capture->ranks && rc == 0; r++)
		rc = count_rank(&k, j, r);
	j->d->kernel = k.out.row;
	j->d->kernels = k.out.rows;
	j->d->kernel_left_out = malloc(sizeof(k.left_out));
	j->d->kernel_left_outs = j->d->kernel_left_out != NULL;
	if (j->d->kernel_left_out)
		*j->d->kernel_left_out = k.left_out;
	else
		rc = -ENOMEM;
	free(k.map.place);
	free(k.window);
	return rc;
}

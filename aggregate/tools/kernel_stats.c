/* Fills /kernel_stats and /precision: kernels of all ranks by name, operator and shape of launch. Called by tools.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregate/tools/kernel_same.h"
#include "aggregate/tools/tensor_core.h"
#include "aggregate/tools/tools.h"
#include "core/base/wrap.h"
#include "core/capture/span.h"
#include "core/step/kernel_name.h"

enum { PRECISIONS = PP_PRECISION_16 + 1 };

static int is_kernel(const struct pp_row_kernel *k)
{
	return pp_kernel_is_one(k->activity);
}

static struct pp_row_kernel_stat describe(const struct pp_row_kernel *k, const struct pp_intern *names)
{
	size_t op_length, length;
	const char *op = pp_intern_text(names, k->op, &op_length), *name = pp_intern_text(names, k->name, &length);

	return (struct pp_row_kernel_stat){.name = k->name,
	                                   .registers = k->registers,
	                                   .static_shared_bytes = k->static_shared_bytes,
	                                   .dynamic_shared_bytes = k->dynamic_shared_bytes,
	                                   .block_x = k->block_x,
	                                   .block_y = k->block_y,
	                                   .block_z = k->block_z,
	                                   .grid_x = k->grid_x,
	                                   .grid_y = k->grid_y,
	                                   .grid_z = k->grid_z,
	                                   .tensor_core_eligible = (int8_t)pp_tensor_core_eligible(op, op_length),
	                                   .tensor_core_used = (int8_t)pp_kernel_tensor_core(name, length),
	                                   .op = k->op,
	                                   .min_ns = k->min_ns,
	                                   .occupancy_percent = (double)NAN,
	                                   .activity = k->activity,
	                                   .precision = k->precision};
}

static int compare(const void *a, const void *b, void *names)
{
	const struct pp_row_kernel_stat *x = a, *y = b;
	int order;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	order = strcmp(pp_intern_text(names, x->name, NULL), pp_intern_text(names, y->name, NULL));
	if (order == 0)
		order = strcmp(pp_intern_text(names, x->op, NULL), pp_intern_text(names, y->op, NULL));
	return order ? order : (x->rank > y->rank) - (x->rank < y->rank); /* rank: place in /kernel */
}

/* `row` has room for all kernels. Returns how many rows. */
static size_t sum(const struct pp_dataset *in, struct pp_row_kernel_stat *row)
{
	size_t n = 0;

	for (size_t i = 0; i < in->kernels && in->kernel; i++) {
		const struct pp_row_kernel *k = &in->kernel[i];

		if (!is_kernel(k))
			continue;
		if (!n || !pp_kernel_is_same(k, k - 1)) {
			row[n++] = describe(k, in->names);
			row[n - 1].rank = (uint32_t)i;
		}
		if (k->by > row[n - 1].by)
			row[n - 1].by = k->by;
		row[n - 1].occurrences += k->occurrences;
		row[n - 1].total_ns = pp_wrap_plus(row[n - 1].total_ns, k->total_ns);
		row[n - 1].min_ns = k->min_ns < row[n - 1].min_ns ? k->min_ns : row[n - 1].min_ns;
		row[n - 1].max_ns = k->max_ns > row[n - 1].max_ns ? k->max_ns : row[n - 1].max_ns;
		row[n - 1].occupancy_percent = fmax(row[n - 1].occupancy_percent, k->occupancy_percent); /* of what is known */
	}
	return n;
}

static int fill_kernels(const struct pp_dataset *in, struct pp_table *out)
{
	struct pp_row_kernel_stat *row = calloc(in->kernels + 1, sizeof(*row)), *to;
	size_t n = row ? sum(in, row) : 0;
	double all = 0;
	int rc = row ? pp_table_room(out, n) : -ENOMEM;

	if (n)
		qsort_r(row, n, sizeof(*row), compare, (void *)in->names);
	for (size_t i = 0; i < n; i++)
		all += (double)row[i].total_ns;
	for (size_t i = 0; i < n && !rc; i++) {
		to = pp_table_add(out);
		*to = row[i];
		to->rank = (uint32_t)i + 1;
		to->avg_ns = to->occurrences ? (double)to->total_ns / (double)to->occurrences : 0;
		to->percent = all > 0 ? 100 * (double)to->total_ns / all : 0;
	}
	free(row);
	return rc;
}

/* Collectives compute too, but not what a model's precision is about. */
static int fill_precision(const struct pp_dataset *in, struct pp_table *out)
{
	int64_t ns[PRECISIONS] = {0};
	double all = 0;

	for (size_t i = 0; i < in->kernels && in->kernel; i++)
		if (in->kernel[i].activity == PP_DEVICE_KERNEL)
			ns[in->kernel[i].precision] = pp_wrap_plus(ns[in->kernel[i].precision], in->kernel[i].total_ns);
	for (int i = 0; i < PRECISIONS; i++)
		all += (double)ns[i];
	for (int i = 0; i < PRECISIONS && all > 0; i++) {
		struct pp_row_precision *row = pp_table_add(out);

		if (!row)
			return -ENOMEM;
		row->precision = (int8_t)i;
		row->compute_ns = ns[i];
		row->percent = 100 * (double)ns[i] / all;
	}
	return 0;
}

int pp_tool_kernel_stats(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	int rc = fill_kernels(in, &tables[PP_TABLE_kernel_stat]);

	if (!rc)
		rc = fill_precision(in, &tables[PP_TABLE_precision]);
	return rc ? pp_err_set(err, rc, "no memory for the kernel statistics") : 0;
}

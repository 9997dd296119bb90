/* Fills /op_stats: operators of all ranks with their shares, and the idle time of hosts and devices. Called by tools.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "core/base/compare.h"
#include "core/base/wrap.h"
#include "core/step/kernel_name.h"

enum { SIDES = 2 };

struct stats {
	const struct pp_dataset *d;
	struct pp_row_op_stat *row;
	size_t rows;
};

/* Adds to the row of the same side, of the rows from `first` on: those of one name. */
static void add(struct stats *s, size_t first, const struct pp_row_op *op)
{
	struct pp_row_op_stat *row = NULL;

	for (size_t i = first; i < s->rows && !row; i++)
		if (s->row[i].host_or_device == op->side)
			row = &s->row[i];
	if (!row) {
		row = &s->row[s->rows++];
		*row = (struct pp_row_op_stat){.name = op->name, .host_or_device = op->side, .source = op->source};
	}
	if (op->by > row->by)
		row->by = op->by;
	if (op->source < row->source)
		row->source = op->source;
	row->occurrences += op->calls;
	row->total_ns = pp_wrap_plus(row->total_ns, op->total_ns);
	row->self_ns = pp_wrap_plus(row->self_ns, op->self_ns);
}

static void add_idle(struct stats *s, size_t first, const struct pp_row_op_idle *idle)
{
	struct pp_row_op_stat *row = NULL;

	for (size_t i = first; i < s->rows && !row; i++)
		if (s->row[i].host_or_device == idle->side)
			row = &s->row[i];
	if (!row) {
		row = &s->row[s->rows++];
		*row = (struct pp_row_op_stat){.name = idle->name, .host_or_device = idle->side, .source = INT8_MAX, .is_idle = 1};
	}
	row->total_ns = pp_wrap_plus(row->total_ns, idle->idle_ns);
	row->self_ns = pp_wrap_plus(row->self_ns, idle->idle_ns);
}

/* Device first; then most self time; then by name, Idle last. */
static int compare(const void *a, const void *b, void *names)
{
	const struct pp_row_op_stat *x = a, *y = b;

	if (x->host_or_device != y->host_or_device)
		return x->host_or_device < y->host_or_device ? 1 : -1;
	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	if (x->is_idle != y->is_idle)
		return x->is_idle ? 1 : -1;
	return strcmp(pp_intern_text(names, x->name, NULL), pp_intern_text(names, y->name, NULL));
}

static double percent(double part, double all)
{
	return all > 0 ? 100 * part / all : 0;
}

/* Ranks, means and shares of sorted rows. */
static void finish(struct stats *s)
{
	double all[SIDES] = {0}, busy[SIDES] = {0}, sum[SIDES] = {0}, busy_sum[SIDES] = {0};

	for (size_t i = 0; i < s->rows; i++) {
		all[s->row[i].host_or_device] += (double)s->row[i].self_ns;
		busy[s->row[i].host_or_device] += s->row[i].is_idle ? 0 : (double)s->row[i].self_ns;
	}
	for (size_t i = 0; i < s->rows; i++) {
		struct pp_row_op_stat *row = &s->row[i];
		const int side = row->host_or_device == PP_SIDE_DEVICE ? PP_SIDE_DEVICE : PP_SIDE_HOST,
		          device = side == PP_SIDE_DEVICE;
		const double self = (double)row->self_ns, own = row->is_idle ? 0 : self;

		sum[side] += self;
		busy_sum[side] += own;
		row->rank = (uint32_t)i + 1;
		row->avg_ns = row->occurrences ? (double)row->total_ns / (double)row->occurrences : 0;
		row->avg_self_ns = row->occurrences ? (double)row->self_ns / (double)row->occurrences : 0;
		*(device ? &row->device_self_percent : &row->host_self_percent) = percent(self, all[side]);
		*(device ? &row->device_cumulative_percent : &row->host_cumulative_percent) = percent(sum[side], all[side]);
		*(device ? &row->device_self_percent_no_idle : &row->host_self_percent_no_idle) = percent(own, busy[side]);
		*(device ? &row->device_cumulative_percent_no_idle : &row->host_cumulative_percent_no_idle) =
		        percent(busy_sum[side], busy[side]);
	}
}

struct use { /* of tensor cores, by an operator's kernels */
	uint32_t op;
	int64_t used_ns, known_ns;
};

PP_COMPARE_BY(compare_use, struct use, op)

/* One for each operator with kernels of which the use is known, in order. Returns how many; `use` has room for all kernels. */
static size_t find_uses(const struct pp_dataset *in, struct use *use)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < in->kernels && in->kernel; i++) {
		const struct pp_row_kernel *k = &in->kernel[i];
		size_t length;
		const char *name = pp_intern_text(in->names, k->name, &length);
		enum pp_tensor_core used = pp_kernel_tensor_core(name, length);

		if (used != PP_TENSOR_CORE_UNKNOWN && k->activity == PP_DEVICE_KERNEL && k->total_ns > 0)
			use[n++] = (struct use){k->op ? k->op : k->name, used == PP_TENSOR_CORE_YES ? k->total_ns : 0, k->total_ns};
	}
	qsort(use, n, sizeof(*use), compare_use);
	for (size_t i = 0; i < n; i++) {
		if (kept && use[kept - 1].op == use[i].op) {
			use[kept - 1].used_ns = pp_wrap_plus(use[kept - 1].used_ns, use[i].used_ns);
			use[kept - 1].known_ns = pp_wrap_plus(use[kept - 1].known_ns, use[i].known_ns);
		} else {
			use[kept++] = use[i];
		}
	}
	return kept;
}

static int fill_tensor_cores(struct stats *s)
{
	struct use *use = calloc(s->d->kernels + 1, sizeof(*use));
	size_t uses = use ? find_uses(s->d, use) : 0;

	for (size_t i = 0; i < s->rows; i++) {
		struct use key = {.op = s->row[i].name}, *found = NULL;

		if (uses && s->row[i].host_or_device == PP_SIDE_DEVICE && !s->row[i].is_idle)
			found = bsearch(&key, use, uses, sizeof(*use), compare_use);
		s->row[i].tensor_core_percent = found ? percent((double)found->used_ns, (double)found->known_ns) : (double)NAN;
	}
	free(use);
	return use ? 0 : -ENOMEM;
}

int pp_tool_op_stats(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct stats s = {.d = in, .row = calloc(in->ops + SIDES + 1, sizeof(*s.row))};
	struct pp_table *out = &tables[PP_TABLE_op_stat];
	int rc = s.row ? 0 : -ENOMEM;
	size_t first = 0;

	for (size_t i = 0; i < in->ops && in->op && !rc; i++) { /* rows are in the order of names */
		if (!i || in->op[i].name != in->op[i - 1].name)
			first = s.rows;
		add(&s, first, &in->op[i]);
	}
	first = s.rows;
	for (size_t i = 0; i < in->op_idles && in->ops && !rc; i++)
		add_idle(&s, first, &in->op_idle[i]);
	if (!rc) {
		qsort_r(s.row, s.rows, sizeof(*s.row), compare, (void *)in->names);
		finish(&s);
		rc = fill_tensor_cores(&s);
	}
	if (!rc)
		rc = pp_table_room(out, s.rows);
	for (size_t i = 0; i < s.rows && !rc; i++)
		*(struct pp_row_op_stat *)pp_table_add(out) = s.row[i];
	free(s.row);
	return rc ? pp_err_set(err, rc, "no memory for the operator statistics") : 0;
}

/* Fills /all_reduce: collectives by operation and communicator. Called by tools.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/tools.h"
#include "core/base/wrap.h"

static int compare(const void *a, const void *b)
{
	const struct pp_row_collective *x = *(const struct pp_row_collective *const *)a,
	                               *y = *(const struct pp_row_collective *const *)b;

	if (x->operation != y->operation)
		return x->operation < y->operation ? -1 : 1;
	if (x->communicator != y->communicator)
		return x->communicator < y->communicator ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Of operations that ran on devices. */
static void add_run(struct pp_row_all_reduce *row, const struct pp_row_collective *c)
{
	row->device_ns = pp_wrap_plus(row->device_ns, c->device_ns);
	row->exposed_ns = pp_wrap_plus(row->exposed_ns, c->exposed_ns);
	row->device_ranks += (uint64_t)c->device_ranks;
	row->exposed_ranks += (uint64_t)c->exposed_ranks;
	row->channels = c->channels > row->channels ? c->channels : row->channels;
	if (row->occurrences == 1) {
		row->algorithm = c->algorithm;
		row->protocol = c->protocol;
	}
	if (row->algorithm != c->algorithm)
		row->algorithm = PP_NCCL_SEVERAL;
	if (row->protocol != c->protocol)
		row->protocol = PP_NCCL_SEVERAL;
}

static void add(struct pp_row_all_reduce *row, const struct pp_row_collective *c)
{
	row->occurrences++;
	add_run(row, c);
	row->bytes += c->bytes;
	row->ranks = c->ranks > row->ranks ? c->ranks : row->ranks;
	row->wait_ns = pp_wrap_plus(row->wait_ns, c->wait_ns);
	row->transfer_ns = pp_wrap_plus(row->transfer_ns, c->transfer_ns);
	if (c->bound_ns == INT64_MAX || c->end_ns < c->last_ns)
		return;
	row->timed++;
	row->duration_ns = pp_wrap_plus(row->duration_ns, c->end_ns - c->last_ns);
	row->busbw += c->busbw * (double)(c->end_ns - c->last_ns); /* divided when all are in */
}

int pp_tool_all_reduce(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	const struct pp_row_collective **c =
	        malloc((in->collectives + 1) * sizeof(*c)); /* NOLINT(bugprone-sizeof-expression): pointers */
	struct pp_row_all_reduce *row = NULL;
	size_t n = 0;
	int rc = c ? 0 : -ENOMEM;

	for (size_t i = 0; i < in->collectives && c; i++)
		if (!in->collective[i].message)
			c[n++] = &in->collective[i];
	if (c)
		qsort(c, n, sizeof(*c), compare); /* NOLINT(bugprone-sizeof-expression): pointers */
	for (size_t i = 0; i < n && !rc; i++) {
		if (!row || row->operation != c[i]->operation || row->communicator != c[i]->communicator) {
			row = pp_table_add(&tables[PP_TABLE_all_reduce]);
			if (!row) {
				rc = -ENOMEM;
				break;
			}
			row->operation = c[i]->operation;
			row->communicator = c[i]->communicator;
		}
		add(row, c[i]);
	}
	for (size_t i = 0; i < tables[PP_TABLE_all_reduce].rows; i++) {
		row = (struct pp_row_all_reduce *)tables[PP_TABLE_all_reduce].row + i;
		row->busbw = row->duration_ns > 0 ? row->busbw / (double)row->duration_ns : 0;
	}
	free(c);
	return rc ? pp_err_set(err, rc, "no memory for the collectives by communicator") : 0;
}

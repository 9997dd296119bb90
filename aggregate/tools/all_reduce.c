/* Fills /all_reduce: collectives by operation and communicator. Called by tools.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/tools.h"
#include "core/base/known.h"
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
	if (c->device_ranks)
		pp_known_add(&row->device_ns, c->device_ns);
	if (c->exposed_ranks)
		pp_known_add(&row->exposed_ns, c->exposed_ns);
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

/* From the last arrival to the last end; on devices the time that its bandwidth is of, which may need no clocks. -1: unknown. */
static int64_t time_of(const struct pp_row_collective *c)
{
	if (c->device_ranks && c->bytes && c->algbw > 0 && (double)c->bytes * 1e9 / c->algbw < (double)PP_TABLE_TIME_MAX)
		return (int64_t)((double)c->bytes * 1e9 / c->algbw);
	return c->bound_ns == INT64_MAX || c->end_ns < c->last_ns ? -1 : pp_wrap_minus(c->end_ns, c->last_ns);
}

struct rated { /* of a row, the operations whose bandwidth is known */
	double bytes, ns;
};

static void add(struct pp_row_all_reduce *row, const struct pp_row_collective *c, struct rated *rated)
{
	int64_t time = time_of(c);

	row->occurrences++;
	add_run(row, c);
	row->bytes += c->bytes;
	row->ranks = c->ranks > row->ranks ? c->ranks : row->ranks;
	pp_known_add(&row->wait_ns, c->wait_ns);
	pp_known_add(&row->transfer_ns, c->transfer_ns);
	if (time < 0)
		return;
	row->timed++;
	pp_known_add(&row->duration_ns, time);
	if (isnan(c->busbw))
		return;
	rated->bytes += c->busbw * (double)time;
	rated->ns += (double)time;
	row->busbw = rated->ns > 0 ? rated->bytes / rated->ns : (double)NAN;
}

int pp_tool_all_reduce(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	const struct pp_row_collective **c =
	        malloc((in->collectives + 1) * sizeof(*c)); /* NOLINT(bugprone-sizeof-expression): pointers */
	struct pp_row_all_reduce *row = NULL;
	struct rated rated = {0};
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
			rated = (struct rated){0};
			row->operation = c[i]->operation;
			row->communicator = c[i]->communicator;
		}
		add(row, c[i], &rated);
	}
	free(c);
	return rc ? pp_err_set(err, rc, "no memory for the collectives by communicator") : 0;
}

/* Fills /device_speed: how long the devices of each rank take for kernels that other ranks run too, in the same shape. A rank
 * whose device is slow takes longer for equal kernels; one that has more to do takes as long for each. Called by tools.c;
 * docs/gpu.md has the rules. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/tools/kernel_same.h"
#include "aggregate/tools/tools.h"
#include "core/base/wrap.h"
#include "core/capture/span.h"

struct one { /* a kernel on a rank */
	int32_t worker;
	double mean, ratio, ns;
};

static int by_mean(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->mean != y->mean)
		return x->mean < y->mean ? -1 : 1;
	return (x->worker > y->worker) - (x->worker < y->worker);
}

static int by_worker(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

/* Of n sorted means without the one at `left_out`. */
static double median_of_others(const struct one *v, size_t n, size_t left_out)
{
	const size_t low = (n - 2) / 2, high = (n - 1) / 2;

	return (v[low + (low >= left_out)].mean + v[high + (high >= left_out)].mean) / 2;
}

/* Ratios of one kernel's rows, of which `one` has n. Returns how many remain: none where it has no peer. */
static size_t compare(struct one *one, size_t n)
{
	if (n < 2)
		return 0;
	qsort(one, n, sizeof(*one), by_mean);
	for (size_t i = 0; i < n; i++) {
		const double others = median_of_others(one, n, i);

		one[i].ratio = others > 0 ? one[i].mean / others : 1;
	}
	return n;
}

static int computes(const struct pp_row_kernel *k)
{
	return k->activity == PP_DEVICE_KERNEL && k->occurrences && k->total_ns > 0;
}

/* A mean of each kernel on each rank that has a peer. `one` has room for all kernels. */
static size_t list_pairs(const struct pp_dataset *in, struct one *one)
{
	size_t n = 0, of_kernel = 0;

	for (size_t i = 0; i < in->kernels && in->kernel; i++) {
		const struct pp_row_kernel *k = &in->kernel[i];

		if (i && !pp_kernel_is_same(k, k - 1)) {
			n += compare(one + n, of_kernel);
			of_kernel = 0;
		}
		if (computes(k))
			one[n + of_kernel++] =
			        (struct one){k->worker, (double)k->total_ns / (double)k->occurrences, 1, (double)k->total_ns};
	}
	return n + compare(one + n, of_kernel);
}

/* The ratio up to which this part of the time is, of rows in order of their ratios. */
static double quantile(const struct one *one, size_t n, double all, double part)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += one[i].ns;
		if (sum >= all * part)
			return one[i].ratio;
	}
	return one[n - 1].ratio;
}

/* Time of all kernels that compute, by worker: [workers]. */
static void sum_kernels(const struct pp_dataset *in, double *ns)
{
	for (size_t i = 0; i < in->kernels && in->kernel; i++) {
		const size_t w = pp_dataset_worker(in, in->kernel[i].worker);

		if (w != SIZE_MAX && computes(&in->kernel[i]))
			ns[w] += (double)in->kernel[i].total_ns;
	}
}

static int add_rows(const struct pp_dataset *in, const struct one *one, size_t n, const double *all_ns, struct pp_table *to)
{
	for (size_t i = 0, of_worker; i < n; i += of_worker) {
		const size_t w = pp_dataset_worker(in, one[i].worker);
		struct pp_row_device_speed *row = pp_table_add(to);
		double sum = 0;

		if (!row)
			return -ENOMEM;
		for (of_worker = 0; i + of_worker < n && one[i + of_worker].worker == one[i].worker; of_worker++)
			sum += one[i + of_worker].ns;
		*row = (struct pp_row_device_speed){.worker = one[i].worker,
		                                    .compared = (uint32_t)of_worker,
		                                    .compared_ns = (int64_t)sum,
		                                    .compared_percent = w == SIZE_MAX ? 100 : 100 * sum / all_ns[w],
		                                    .ratio = quantile(one + i, of_worker, sum, 0.5),
		                                    .ratio_low = quantile(one + i, of_worker, sum, 0.25),
		                                    .ratio_high = quantile(one + i, of_worker, sum, 0.75)};
	}
	return 0;
}

int pp_tool_device_speed(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct one *one = calloc(in->kernels + 1, sizeof(*one));
	double *all_ns = calloc(in->workers + 1, sizeof(*all_ns));
	int rc = one && all_ns ? 0 : -ENOMEM;

	if (!rc) {
		const size_t n = list_pairs(in, one);

		qsort(one, n, sizeof(*one), by_worker);
		sum_kernels(in, all_ns);
		rc = add_rows(in, one, n, all_ns, &tables[PP_TABLE_device_speed]);
	}
	free(one);
	free(all_ns);
	return rc ? pp_err_set(err, rc, "no memory for the speed of devices") : 0;
}

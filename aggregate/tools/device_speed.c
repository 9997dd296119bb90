/* Fills /device_speed: how long each device takes for kernels that others run too, in the same shape. A slow device takes longer
 * for equal kernels; one that has more to do takes as long for each. Called by tools.c;
 * docs/gpu.md has the rules. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/tools/kernel_same.h"
#include "aggregate/tools/tools.h"
#include "core/base/compare.h"
#include "core/capture/span.h"

struct one { /* a kernel on a device */
	int32_t worker;
	uint32_t device;
	double mean, ratio, ns;
	int is_compared;
};

PP_COMPARE(by_mean, struct one, PP_UP(mean) ?: PP_UP(worker) ?: PP_UP(device))

PP_COMPARE(by_device, struct one, PP_UP(worker) ?: PP_UP(device) ?: PP_DOWN(is_compared) ?: PP_UP(ratio))

/* Of n sorted means without the one at `left_out`. */
static double median_of_others(const struct one *v, size_t n, size_t left_out)
{
	const size_t low = (n - 2) / 2, high = (n - 1) / 2;

	return (v[low + (low >= left_out)].mean + v[high + (high >= left_out)].mean) / 2;
}

/* Ratios of one kernel's rows, of which `one` has n. */
static void compare(struct one *one, size_t n)
{
	if (n < 2)
		return;
	qsort(one, n, sizeof(*one), by_mean);
	for (size_t i = 0; i < n; i++) {
		const double others = median_of_others(one, n, i);

		one[i].ratio = others > 0 ? one[i].mean / others : 1;
		one[i].is_compared = 1;
	}
}

static int computes(const struct pp_row_kernel *k)
{
	return k->activity == PP_DEVICE_KERNEL && k->occurrences && k->total_ns > 0;
}

/* A mean of each kernel on each device. `one` has room for all kernels. */
static size_t list(const struct pp_dataset *in, struct one *one)
{
	size_t n = 0, first = 0;

	for (size_t i = 0; i < in->kernels && in->kernel; i++) {
		const struct pp_row_kernel *k = &in->kernel[i];

		if (i && !pp_kernel_is_same(k, k - 1)) {
			compare(one + first, n - first);
			first = n;
		}
		if (computes(k))
			one[n++] = (struct one){.worker = k->worker,
			                        .device = k->device,
			                        .mean = (double)k->total_ns / (double)k->occurrences,
			                        .ratio = 1,
			                        .ns = (double)k->total_ns};
	}
	compare(one + first, n - first);
	return n;
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

static int add_rows(const struct one *one, size_t n, struct pp_table *to)
{
	for (size_t i = 0, all; i < n; i += all) {
		double sum = 0, all_ns = 0;
		size_t compared = 0;
		struct pp_row_device_speed *row;

		for (all = 0; i + all < n && one[i + all].worker == one[i].worker && one[i + all].device == one[i].device; all++) {
			all_ns += one[i + all].ns;
			sum += one[i + all].is_compared ? one[i + all].ns : 0;
			compared += one[i + all].is_compared != 0;
		}
		if (!compared)
			continue;
		row = pp_table_add(to);
		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_device_speed){.worker = one[i].worker,
		                                    .device = one[i].device,
		                                    .compared = (uint32_t)compared,
		                                    .compared_ns = (int64_t)sum,
		                                    .compared_percent = 100 * sum / all_ns,
		                                    .ratio = quantile(one + i, compared, sum, 0.5),
		                                    .ratio_low = quantile(one + i, compared, sum, 0.25),
		                                    .ratio_high = quantile(one + i, compared, sum, 0.75)};
	}
	return 0;
}

int pp_tool_device_speed(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct one *one = calloc(in->kernels + 1, sizeof(*one));
	int rc = one ? 0 : -ENOMEM;

	if (one) {
		const size_t n = list(in, one);

		qsort(one, n, sizeof(*one), by_device);
		rc = add_rows(one, n, &tables[PP_TABLE_device_speed]);
	}
	free(one);
	return rc ? pp_err_set(err, rc, "no memory for the speed of devices") : 0;
}

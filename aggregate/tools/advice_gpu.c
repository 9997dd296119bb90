/* Rules of advice about single devices: what NVML says of GPUs (faults, processes of others), how long equal kernels take. Called
 * by advice.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/tools/advice_rule.h"
#include "core/base/known.h"

#define SLOW 1.05 /* of the others' time for equal kernels */
#define HALF 50.0 /* percent of the kernels' time: less that is compared tells nothing of the device */
#define FEW 1.0   /* percent of the steps' time */

static int is_more_than(int64_t value, int64_t least)
{
	return pp_is_known(value) && value > least;
}

static int has_faults(const struct pp_row_gpu *g)
{
	return is_more_than(g->ecc_uncorrected, 0) || is_more_than(g->remap, 0) || is_more_than(g->nvlink_errors, 0);
}

static void say_faults(const struct pp_row_gpu *g, size_t gpus, struct pp_finding *f)
{
	size_t at =
	        (size_t)snprintf(f->evidence, sizeof(f->evidence), "GPU %" PRIu32 " of rank %" PRId32 ":", g->device, g->worker);
	const char *gap = " ";

	if (is_more_than(g->ecc_uncorrected, 0)) {
		at += (size_t)snprintf(f->evidence + at, sizeof(f->evidence) - at,
		                       "%s%" PRId64 " errors of memory in the window that were not corrected", gap,
		                       g->ecc_uncorrected);
		gap = ", ";
	}
	if (is_more_than(g->remap, 0)) {
		at += (size_t)snprintf(f->evidence + at, sizeof(f->evidence) - at, "%s%s", gap,
		                       g->remap == 2 ? "a row of memory could not be remapped"
		                                     : "rows of memory wait to be remapped");
		gap = ", ";
	}
	if (is_more_than(g->nvlink_errors, 0))
		at += (size_t)snprintf(f->evidence + at, sizeof(f->evidence) - at, "%s%" PRId64 " errors of NVLink in the window",
		                       gap, g->nvlink_errors);
	if (gpus > 1 && at < sizeof(f->evidence))
		snprintf(f->evidence + at, sizeof(f->evidence) - at, "; %zu GPUs in all have such faults", gpus);
}

int pp_rule_gpu_faults(const struct pp_advising *a, struct pp_finding *f)
{
	const struct pp_row_gpu *first = NULL;
	size_t gpus = 0;

	for (size_t i = 0; i < a->d->gpus; i++) {
		if (!has_faults(&a->d->gpu[i]))
			continue;
		first = first ? first : &a->d->gpu[i];
		gpus++;
	}
	if (!first)
		return 0;
	f->worker = first->worker;
	say_faults(first, gpus, f);
	return 1;
}

/* More processes compute on a GPU than the job has on that host. */
int pp_rule_gpu_shared(const struct pp_advising *a, struct pp_finding *f)
{
	const struct pp_dataset *d = a->d;

	for (size_t i = 0; i < d->gpus; i++) {
		const size_t own = pp_dataset_worker(d, d->gpu[i].worker);
		int64_t ranks = 0;

		for (size_t w = 0; w < d->workers && own != SIZE_MAX && is_more_than(d->gpu[i].processes, 1); w++)
			ranks += !strcmp(d->worker[w].host, d->worker[own].host);
		if (!ranks || !is_more_than(d->gpu[i].processes, ranks))
			continue;
		f->worker = d->gpu[i].worker;
		snprintf(f->evidence, sizeof(f->evidence),
		         "%" PRId64 " processes compute on GPU %" PRIu32 " of rank %" PRId32 ", and the job has %" PRId64
		         " rank%s on its host",
		         d->gpu[i].processes, d->gpu[i].device, f->worker, ranks, ranks == 1 ? "" : "s");
		return 1;
	}
	return 0;
}

/* Beside a device of its process that is not. What is slow as a whole, findings say of the rank. */
static int is_slow(const struct pp_dataset *d, size_t i)
{
	const struct pp_row_device_speed *row = &d->device_speed[i];
	int has_other = 0;

	for (size_t k = i; k > 0 && d->device_speed[k - 1].worker == row->worker; k--)
		has_other |= d->device_speed[k - 1].ratio_low < SLOW;
	for (size_t k = i + 1; k < d->device_speeds && d->device_speed[k].worker == row->worker; k++)
		has_other |= d->device_speed[k].ratio_low < SLOW;
	return has_other && row->ratio_low >= SLOW && row->compared_percent >= HALF;
}

int pp_rule_device_slow(const struct pp_advising *a, struct pp_finding *f)
{
	const struct pp_dataset *d = a->d;
	const struct pp_row_device_speed *worst = NULL;
	int64_t most_ns = 0;

	for (size_t i = 0; i < d->device_speeds; i++) {
		const struct pp_row_device_speed *row = &d->device_speed[i];
		const int64_t ns = is_slow(d, i) ? (int64_t)((double)row->compared_ns * (1 - 1 / row->ratio)) : 0;

		worst = ns > most_ns ? row : worst;
		most_ns = ns > most_ns ? ns : most_ns;
	}
	if (!worst || pp_sums_percent(most_ns, a->s.all_ns) < FEW)
		return 0;
	f->worker = worst->worker;
	f->cost_ns = pp_advice_per_cell(a, most_ns);
	snprintf(f->evidence, sizeof(f->evidence),
	         "device %" PRIu32 " of rank %" PRId32
	         " takes %.2f times as long as other devices for equal kernels, which are %.0f %% of "
	         "its kernels' time",
	         worst->device, worst->worker, worst->ratio, worst->compared_percent);
	return 1;
}

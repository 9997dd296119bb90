/* Rules of advice about devices, their memory, results and compilation; see advice_rule.h. Called by advice.c. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/graph/wait.h"
#include "aggregate/tools/advice_rule.h"
#include "aggregate/tools/recommend.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/base/wrap.h"
#include "core/capture/span.h"

enum {
	FEW_PERCENT = 1, /* below it nothing is worth a word */
	LARGE_PERCENT = 5,
	LAUNCH_PERCENT = 10,
	IDLE_PERCENT = 30,
	FULL_PERCENT = 95, /* of a device's memory */
	MUCH_PERCENT = 80,
	HALF_PERCENT = 50,
	OVER_PERCENT = 150, /* of the median of the ranks */
	NAME_BYTES = 60,
};
#define FAR_FROM_MEAN 1.25 /* a rank with so many times the mean is named as the one with most */
#define MUCH_MEMORY ((int64_t)1 << 30)

int pp_rule_mixed_precision(const struct pp_advising *a, struct pp_finding *f)
{
	double idle = pp_recommend_idle_tensor_cores(a->d), wide = pp_recommend_precision(a->d, PP_PRECISION_32);
	double share = pp_advice_share(a, PP_CATEGORY_DEVICE_COMPUTE);
	int is_idle = idle >= PP_RECOMMEND_MANY_IDLE_PERCENT;

	if (share < LARGE_PERCENT || (!is_idle && wide < PP_RECOMMEND_MOSTLY_PERCENT))
		return 0;
	f->cost_ns = (int64_t)((double)pp_advice_category(a, PP_CATEGORY_DEVICE_COMPUTE) * (is_idle ? idle : wide) / 100);
	if (is_idle)
		snprintf(f->evidence, sizeof(f->evidence),
		         "%.0f %% of the kernels' time is in kernels that do not use tensor cores, of operators that could; device "
		         "compute is %.0f %% of the steps' time",
		         idle, share);
	else
		snprintf(f->evidence, sizeof(f->evidence),
		         "%.0f %% of device compute is in 32 bit; it is %.0f %% of the steps' time", wide, share);
	return 1;
}

static int is_layout(const char *name)
{
	static const char *const word[] = {"nchwToNhwc", "nhwcToNchw", "NchwToNhwc", "NhwcToNchw", "nchw2nhwc", "nhwc2nchw"};

	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strstr(name, word[i]))
			return 1;
	return 0;
}

int pp_rule_layout(const struct pp_advising *a, struct pp_finding *f)
{
	uint8_t *is = pp_advice_names(a, is_layout);
	double percent = 0;
	int64_t ns = 0;
	uint64_t count = 0;
	char each[PP_TEXT_UNIT];

	if (!is)
		return -ENOMEM;
	for (size_t i = 0; i < a->d->kernel_stats; i++) {
		const struct pp_row_kernel_stat *k = &a->d->kernel_stat[i];

		if (!pp_advice_has_name(a, is, k->name))
			continue;
		percent += k->percent;
		ns = pp_wrap_plus(ns, k->total_ns);
		count += k->occurrences;
	}
	free(is);
	if (percent < FEW_PERCENT)
		return 0;
	f->cost_ns = pp_advice_per_cell(a, ns);
	snprintf(f->evidence, sizeof(f->evidence),
	         "%" PRIu64
	         " kernels only change the layout of tensors (NCHW, NHWC): %.1f %% of the kernels' time, %s per step and rank",
	         count, percent, pp_text_time(each, f->cost_ns));
	return 1;
}

static int is_pageable(const char *name)
{
	return strstr(name, "Pageable") != NULL;
}

int pp_rule_pageable_copies(const struct pp_advising *a, struct pp_finding *f)
{
	struct pp_activity all = pp_activity_of(a->d, PP_DEVICE_HOST_TO_DEVICE), some = {.ns = 0};
	uint8_t *is = pp_advice_names(a, is_pageable);
	char each[PP_TEXT_UNIT];

	if (!is)
		return -ENOMEM;
	for (size_t i = 0; i < a->d->kernels; i++) {
		const struct pp_row_kernel *k = &a->d->kernel[i];

		if (k->activity != PP_DEVICE_HOST_TO_DEVICE || !pp_advice_has_name(a, is, k->name))
			continue;
		some.occurrences += k->occurrences;
		some.ns = pp_wrap_plus(some.ns, k->total_ns);
	}
	free(is);
	if (pp_sums_percent(some.ns, all.ns) < HALF_PERCENT || pp_sums_percent(some.ns, a->s.all_ns) < FEW_PERCENT)
		return 0;
	f->cost_ns = pp_advice_per_cell(a, some.ns);
	snprintf(f->evidence, sizeof(f->evidence),
	         "%" PRIu64 " of %" PRIu64
	         " copies to devices are from pageable memory: %s per step and rank, %.1f %% of the steps' time",
	         some.occurrences, all.occurrences, pp_text_time(each, f->cost_ns), pp_sums_percent(some.ns, a->s.all_ns));
	return 1;
}

int pp_rule_input_copies(const struct pp_advising *a, struct pp_finding *f)
{
	struct pp_activity copies = pp_activity_of(a->d, PP_DEVICE_HOST_TO_DEVICE);
	const struct pp_row_input_stage *stage =
	        copies.occurrences && a->s.cells ? pp_recommend_enqueues(a->d, &a->s, &copies) : NULL;
	char mean[PP_TEXT_UNIT], size[PP_TEXT_UNIT], each[PP_TEXT_UNIT + 8] = "";

	if (!stage || !a->d->input_bounds || !a->d->input_bound->input_bound)
		return 0;
	f->cost_ns = pp_advice_category(a, PP_CATEGORY_INPUT);
	if (copies.bytes)
		snprintf(each, sizeof(each), ", %s each", pp_text_bytes(size, copies.bytes / copies.occurrences));
	snprintf(f->evidence, sizeof(f->evidence),
	         "steps wait for input %.1f %% of their time, %s per step; %.0f %% of the input operations' time is copying to "
	         "devices, %.1f copies per step and rank%s",
	         pp_advice_share(a, PP_CATEGORY_INPUT), pp_text_time(mean, f->cost_ns), stage->percent,
	         (double)copies.occurrences / (double)a->s.cells, each);
	return 1;
}

static int is_launch_bound(const struct pp_advising *a, const struct pp_activity *kernels)
{
	return kernels->occurrences && a->s.cells && pp_advice_share(a, PP_CATEGORY_KERNEL_LAUNCH) >= LAUNCH_PERCENT;
}

int pp_rule_launch_bound(const struct pp_advising *a, struct pp_finding *f)
{
	struct pp_activity k = pp_activity_of(a->d, PP_DEVICE_KERNEL);
	char mean[PP_TEXT_UNIT], each[PP_TEXT_UNIT];

	if (!is_launch_bound(a, &k))
		return 0;
	f->cost_ns = pp_advice_category(a, PP_CATEGORY_KERNEL_LAUNCH);
	snprintf(f->evidence, sizeof(f->evidence),
	         "Kernel launch is %.0f %% of the steps' time, %s per step and rank, with %.0f kernels of %s each",
	         pp_advice_share(a, PP_CATEGORY_KERNEL_LAUNCH), pp_text_time(mean, f->cost_ns),
	         (double)k.occurrences / (double)a->s.cells, pp_text_time(each, llround((double)k.ns / (double)k.occurrences)));
	return 1;
}

struct fill {                   /* of the memory of a rank's fullest device */
	int64_t used, capacity; /* capacity 0: unknown */
};

static double percent_of(const struct fill *f)
{
	return f->capacity > 0 ? pp_sums_percent(f->used, f->capacity) : 0;
}

static void take(struct fill *f, int64_t used, int64_t capacity)
{
	struct fill one = {used, capacity > 0 ? capacity : 0};

	if (used > 0 && (percent_of(&one) > percent_of(f) || (percent_of(&one) >= percent_of(f) && used > f->used)))
		*f = one;
}

/* [workers]; NULL: no memory. Pinned memory is the host's and has no device_bytes. */
static struct fill *fills_of(const struct pp_dataset *d)
{
	struct fill *fill = calloc(d->workers + 1, sizeof(*fill));

	for (size_t i = 0; fill && i < d->allocators; i++) {
		size_t w = pp_dataset_worker(d, d->allocator[i].worker);

		if (w != SIZE_MAX && d->allocator[i].device_bytes > 0)
			take(&fill[w], d->allocator[i].peak_bytes, d->allocator[i].device_bytes);
		else if (w != SIZE_MAX && d->allocator[i].free_bytes >= 0)
			take(&fill[w], d->allocator[i].peak_bytes, d->allocator[i].capacity_bytes);
	}
	for (size_t i = 0; fill && i < d->torch_memories; i++) {
		const struct pp_row_torch_memory *t = &d->torch_memory[i];
		size_t w = pp_dataset_worker(d, t->worker);

		if (w != SIZE_MAX && t->reserved_peak_bytes < INT64_MAX)
			take(&fill[w], (int64_t)t->reserved_peak_bytes, fill[w].capacity);
	}
	return fill;
}

int pp_rule_larger_batch(const struct pp_advising *a, struct pp_finding *f)
{
	struct pp_activity k = pp_activity_of(a->d, PP_DEVICE_KERNEL);
	struct fill *fill = fills_of(a->d);
	double most = 0;
	size_t known = 0, devices = 0;

	if (!fill)
		return -ENOMEM;
	for (size_t w = 0; w < a->d->workers; w++) {
		devices += a->d->worker[w].devices > 0;
		known += fill[w].capacity > 0;
		most = percent_of(&fill[w]) > most ? percent_of(&fill[w]) : most;
	}
	free(fill);
	if (!is_launch_bound(a, &k) || !known || known < devices || most > HALF_PERCENT)
		return 0;
	f->cost_ns = pp_advice_category(a, PP_CATEGORY_KERNEL_LAUNCH);
	snprintf(f->evidence, sizeof(f->evidence),
	         "Kernel launch is %.0f %% of the steps' time, and at most %.0f %% of a device's memory was in use (%zu ranks)",
	         pp_advice_share(a, PP_CATEGORY_KERNEL_LAUNCH), most, known);
	return 1;
}

int pp_rule_near_out_of_memory(const struct pp_advising *a, struct pp_finding *f)
{
	struct fill *fill = fills_of(a->d);
	char used[PP_TEXT_UNIT], all[PP_TEXT_UNIT], ranks[PP_RANKS_TEXT];
	size_t worst = 0;
	int holds;

	if (!fill)
		return -ENOMEM;
	for (size_t w = 0; w < a->d->workers; w++) {
		a->is[w] = percent_of(&fill[w]) >= FULL_PERCENT;
		worst = percent_of(&fill[w]) > percent_of(&fill[worst]) ? w : worst;
	}
	holds = a->is[worst];
	if (holds) {
		f->worker = a->d->worker[worst].rank;
		snprintf(f->evidence, sizeof(f->evidence),
		         "rank %" PRId32 " had %s of %s of a device's memory in use (%.0f %%); 95 %% or more: %s", f->worker,
		         pp_text_bytes(used, (uint64_t)fill[worst].used), pp_text_bytes(all, (uint64_t)fill[worst].capacity),
		         percent_of(&fill[worst]), pp_advice_ranks(a, ranks));
	}
	free(fill);
	return holds;
}

/* Peaks of resident memory, where no device's memory is known. */
static int add_resident(const struct pp_dataset *d, struct fill *fill)
{
	int on_devices = 0;

	for (size_t w = 0; w < d->workers; w++)
		on_devices |= fill[w].used > 0;
	for (size_t i = 0; i < d->memories && !on_devices; i++) {
		size_t w = pp_dataset_worker(d, d->memory[i].worker);

		if (w != SIZE_MAX && d->memory[i].rss_bytes < INT64_MAX)
			take(&fill[w], (int64_t)d->memory[i].rss_bytes, 0);
	}
	return on_devices;
}

int pp_rule_memory_imbalance(const struct pp_advising *a, struct pp_finding *f)
{
	struct fill *fill = fills_of(a->d);
	int64_t *used = malloc((a->d->workers + 1) * sizeof(*used)), median = 0;
	char most[PP_TEXT_UNIT], middle[PP_TEXT_UNIT], share[48] = "";
	size_t n = 0, worst = 0;
	int holds = fill && used ? 0 : -ENOMEM, on_devices = 0;

	if (!holds)
		on_devices = add_resident(a->d, fill);
	for (size_t w = 0; w < a->d->workers && !holds; w++) {
		if (fill[w].used > 0)
			used[n++] = fill[w].used;
		worst = fill[w].used > fill[worst].used ? w : worst;
	}
	if (n > 1) {
		qsort(used, n, sizeof(*used), pp_compare_int64);
		median = used[(n - 1) / 2];
		/* On devices what counts is how near the end it is; on hosts the end is unknown. */
		holds = pp_sums_percent(fill[worst].used, median) >= OVER_PERCENT &&
		        (fill[worst].capacity > 0 ? percent_of(&fill[worst]) >= MUCH_PERCENT
		                                  : fill[worst].used - median >= MUCH_MEMORY);
	}
	if (holds > 0) {
		f->worker = a->d->worker[worst].rank;
		if (fill[worst].capacity > 0)
			snprintf(share, sizeof(share), ", %.0f %% of the device's", percent_of(&fill[worst]));
		snprintf(f->evidence, sizeof(f->evidence),
		         "rank %" PRId32 " used at most %s of %s memory%s; the median of %zu ranks is %s", f->worker,
		         pp_text_bytes(most, (uint64_t)fill[worst].used), on_devices ? "device" : "resident", share, n,
		         pp_text_bytes(middle, (uint64_t)median));
	}
	free(used);
	free(fill);
	return holds;
}

int pp_rule_out_of_memory(const struct pp_advising *a, struct pp_finding *f)
{
	uint64_t retries = 0, failed = 0;
	char ranks[PP_RANKS_TEXT];

	for (size_t i = 0; i < a->d->torch_memories; i++) {
		const struct pp_row_torch_memory *t = &a->d->torch_memory[i];
		size_t w = pp_dataset_worker(a->d, t->worker);

		if (w == SIZE_MAX || !(t->retries || t->out_of_memory))
			continue;
		a->is[w] = 1;
		retries += t->retries;
		failed += t->out_of_memory;
	}
	if (!retries && !failed)
		return 0;
	f->worker = pp_advice_only(a);
	snprintf(f->evidence, sizeof(f->evidence),
	         "PyTorch's allocator had to give memory back to the device %" PRIu64 " times, and there was not enough %" PRIu64
	         " times: %s",
	         retries, failed, pp_advice_ranks(a, ranks));
	return 1;
}

/* Its share of the steps of the rank's file, of which the job may have some only. Where not all steps are usual, at most: what the
 * devices do beside other work is not known of some steps alone. */
static int64_t idle_of(const struct pp_advising *a, const struct pp_row_op_idle *one, size_t w)
{
	const int64_t *ns = a->u.worker_ns[w];
	const int64_t rest =
	        ns[0] - ns[PP_CATEGORY_DEVICE_COMPUTE] - ns[PP_CATEGORY_DEVICE_TO_DEVICE] - ns[PP_CATEGORY_DEVICE_COLLECTIVE];
	double idle = (double)one->idle_ns;

	if (a->u.worker_steps[w] == a->s.worker_steps[w])
		idle *= (double)ns[0] / (double)one->step_ns;
	return idle < (double)rest ? (int64_t)idle : rest;
}

int pp_rule_device_idle(const struct pp_advising *a, struct pp_finding *f)
{
	const int is_cut = a->u.cells < a->s.cells;
	int64_t idle = 0, all = 0, steps = 0;
	double share = 0;
	int32_t worst = -1;
	char mean[PP_TEXT_UNIT], most[48] = "";

	for (size_t i = 0; i < a->d->op_idles; i++) {
		const struct pp_row_op_idle *one = &a->d->op_idle[i];
		size_t w = pp_dataset_worker(a->d, one->worker);

		if (one->side != PP_SIDE_DEVICE || w == SIZE_MAX || one->step_ns <= 0)
			continue;
		steps += a->u.worker_steps[w];
		idle = pp_wrap_plus(idle, idle_of(a, one, w));
		all = pp_wrap_plus(all, a->u.worker_ns[w][0]);
		if (worst >= 0 && pp_sums_percent(idle_of(a, one, w), a->u.worker_ns[w][0]) <= share)
			continue;
		share = pp_sums_percent(idle_of(a, one, w), a->u.worker_ns[w][0]);
		worst = one->worker;
	}
	if (worst < 0 || !steps || pp_sums_percent(idle, all) < IDLE_PERCENT)
		return 0;
	f->cost_ns = idle / steps;
	if (share > FAR_FROM_MEAN * pp_sums_percent(idle, all))
		snprintf(most, sizeof(most), "; most on rank %" PRId32 ", %.0f %%", worst, share);
	snprintf(f->evidence, sizeof(f->evidence),
	         "no stream of the devices does anything for %s%.0f %% of the %ssteps' time, %s per step%s", is_cut ? "up to " : "",
	         pp_sums_percent(idle, all), is_cut ? "usual " : "", pp_text_time(mean, f->cost_ns), most);
	return 1;
}

static int is_callback(const char *name)
{
	static const char *const word[] = {"PyFunc",       "py_function",         "host_callback",
	                                   "io_callback",  "pure_callback",       "debug_callback",
	                                   "HostCallback", "python_cpu_callback", "XlaHostCompute"};

	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strstr(name, word[i]))
			return 1;
	return 0;
}

int pp_rule_host_callbacks(const struct pp_advising *a, struct pp_finding *f)
{
	uint8_t *is = pp_advice_names(a, is_callback);
	const struct pp_row_op *most = NULL;
	uint64_t calls = 0;
	int64_t ns = 0;
	char mean[PP_TEXT_UNIT];
	const char *name;

	if (!is)
		return -ENOMEM;
	for (size_t i = 0; i < a->d->ops; i++) {
		const struct pp_row_op *op = &a->d->op[i];

		if (op->side != PP_SIDE_HOST || op->category == PP_CATEGORY_INPUT || !pp_advice_has_name(a, is, op->name))
			continue;
		calls += op->calls;
		ns = pp_wrap_plus(ns, op->total_ns);
		most = !most || op->total_ns > most->total_ns ? op : most;
	}
	free(is);
	if (!most || !a->s.cells || pp_sums_percent(ns, a->s.all_ns) < FEW_PERCENT)
		return 0;
	name = pp_intern_text(a->d->names, most->name, NULL);
	f->cost_ns = pp_advice_per_cell(a, ns);
	snprintf(f->evidence, sizeof(f->evidence),
	         "%.1f callbacks to the host per step and rank, %s, %.1f %% of the steps' time; most \"%.*s\"",
	         (double)calls / (double)a->s.cells, pp_text_time(mean, f->cost_ns), pp_sums_percent(ns, a->s.all_ns),
	         pp_utf8_fit(name, NAME_BYTES), name);
	return 1;
}

/* Steps in which any rank has the category. Returns how many; of those that have it, is each before all that have not? */
static size_t steps_with(const struct pp_advising *a, int category, int *ret_first)
{
	const struct pp_dataset *d = a->d;
	size_t found = 0, last = 0;

	for (size_t s = 0; s < d->steps; s++) {
		int any = 0;

		for (size_t w = 0; w < d->workers && !any; w++)
			any = d->cell[s * d->workers + w].present && d->cell[s * d->workers + w].exclusive_ns[category] > 0;
		found += (size_t)any;
		last = any ? s + 1 : last;
	}
	*ret_first = found == last && found < d->steps;
	return found;
}

static size_t say_category(const struct pp_advising *a, const struct pp_sums *s, struct pp_finding *f, int category, size_t steps)
{
	char mean[PP_TEXT_UNIT];

	f->cost_ns = pp_known_or(pp_known_mean(s->sum_ns[category], s->cells), 0);
	return (size_t)snprintf(f->evidence, sizeof(f->evidence),
	                        "%s is %.1f %% of the steps' time, %s per step, in %zu of %zu steps", pp_category_name(category),
	                        pp_sums_percent(s->sum_ns[category], s->all_ns), pp_text_time(mean, f->cost_ns), steps,
	                        a->d->steps);
}

/* Output in at least half of the steps of a job with devices is what it reads from these; else it is written to files. */
static int reads_results(const struct pp_advising *a, size_t steps)
{
	int has_device = a->d->kernels > 0;

	for (size_t i = 0; i < a->d->ops && !has_device; i++)
		has_device = a->d->op[i].side == PP_SIDE_DEVICE;
	return has_device && steps >= (a->d->steps + 1) / 2;
}

int pp_rule_results_every_step(const struct pp_advising *a, struct pp_finding *f)
{
	struct pp_activity copies = pp_activity_of(a->d, PP_DEVICE_DEVICE_TO_HOST);
	int first;
	size_t steps = steps_with(a, PP_CATEGORY_OUTPUT, &first), at;

	if (pp_advice_share(a, PP_CATEGORY_OUTPUT) < LARGE_PERCENT || !reads_results(a, steps))
		return 0;
	at = say_category(a, &a->u, f, PP_CATEGORY_OUTPUT, steps);
	if (copies.occurrences)
		snprintf(f->evidence + at, sizeof(f->evidence) - at, "; %.1f copies to the host per step and rank",
		         (double)copies.occurrences / (double)a->s.cells);
	return 1;
}

/* Less what ranks wait for each other in calls that write files. */
int pp_rule_output(const struct pp_advising *a, struct pp_finding *f)
{
	int first;
	size_t steps = steps_with(a, PP_CATEGORY_OUTPUT, &first);
	int64_t ns = a->u.sum_ns[PP_CATEGORY_OUTPUT];

	for (size_t w = 0; w < a->d->workers && a->d->graph; w++)
		pp_wrap_add(&ns, -pp_graph_file_wait(a->d->graph, w, PP_CATEGORY_OUTPUT, a->is_usual));
	if (pp_sums_percent(ns, a->u.all_ns) < LARGE_PERCENT || reads_results(a, steps))
		return 0;
	say_category(a, &a->u, f, PP_CATEGORY_OUTPUT, steps);
	f->cost_ns = pp_known_or(pp_known_mean(ns, a->u.cells), 0);
	return 1;
}

static int compiles(const struct pp_advising *a, struct pp_finding *f, int in_first)
{
	int first;
	size_t steps = steps_with(a, PP_CATEGORY_COMPILATION, &first);

	/* of all steps: those that compile may be none of the usual ones */
	if (pp_sums_percent(a->s.sum_ns[PP_CATEGORY_COMPILATION], a->s.all_ns) < FEW_PERCENT || first != in_first)
		return 0;
	say_category(a, &a->s, f, PP_CATEGORY_COMPILATION, steps);
	return 1;
}

int pp_rule_compile_in_steps(const struct pp_advising *a, struct pp_finding *f)
{
	return compiles(a, f, 0);
}

int pp_rule_compile_first_steps(const struct pp_advising *a, struct pp_finding *f)
{
	return compiles(a, f, 1);
}

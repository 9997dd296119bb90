/* Makes the recommendation for devices from the tables of kernels, operators, input and collectives; see recommend.h. Called by
 * answer.c. */
#include "aggregate/tools/recommend.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/dataset/table/word.h"
#include "aggregate/tools/gpu_text.h"
#include "aggregate/tools/sums.h"
#include "aggregate/tools/tensor_core.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/base/wrap.h"
#include "core/capture/span.h"

enum { NAME_BYTES = 60 };

struct pp_activity pp_activity_of(const struct pp_dataset *d, int activity)
{
	struct pp_activity a = {.ns = 0};

	for (size_t i = 0; i < d->kernels; i++) {
		const struct pp_row_kernel *k = &d->kernel[i];

		if (k->activity != activity)
			continue;
		a.occurrences += k->occurrences;
		a.bytes += k->bytes;
		a.ns = pp_wrap_plus(a.ns, k->total_ns);
	}
	return a;
}

/* "12 copies per step and rank, 4.0 MiB each" without the noun; the size only where it is known. */
static const char *each(const struct pp_activity *a, const struct pp_sums *s, const char *noun, char *text, size_t size)
{
	double count = (double)a->occurrences / (double)s->cells;
	char bytes[PP_TEXT_UNIT];
	int length = snprintf(text, size, "%.*f %s per step and rank", count < 10, count, noun);

	if (a->bytes && length > 0 && (size_t)length < size)
		snprintf(text + length, size - (size_t)length, ", %s each", pp_text_bytes(bytes, a->bytes / a->occurrences));
	return text;
}

/* Share of the kernels' time of operators that could use tensor cores, in kernels that do not. */
double pp_recommend_idle_tensor_cores(const struct pp_dataset *d)
{
	double percent = 0;

	for (size_t i = 0; i < d->kernel_stats; i++)
		if (d->kernel_stat[i].tensor_core_eligible == PP_TENSOR_CORE_YES &&
		    d->kernel_stat[i].tensor_core_used == PP_TENSOR_CORE_NO)
			percent += d->kernel_stat[i].percent;
	return percent;
}

double pp_recommend_precision(const struct pp_dataset *d, int precision)
{
	for (size_t i = 0; i < d->precisions; i++)
		if (d->precision[i].precision == precision)
			return d->precision[i].percent;
	return 0;
}

/* The operator with most self time on devices; NULL: none. */
static const struct pp_row_op_stat *device_op(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->op_stats; i++)
		if (d->op_stat[i].host_or_device == PP_SIDE_DEVICE && !d->op_stat[i].is_idle)
			return &d->op_stat[i];
	return NULL;
}

/* The kernel that computes longest: collectives are kernels too, but no device compute. NULL: none. */
static const struct pp_row_kernel_stat *compute_kernel(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->kernel_stats; i++)
		if (d->kernel_stat[i].activity == PP_DEVICE_KERNEL)
			return &d->kernel_stat[i];
	return NULL;
}

static int device_compute(const struct pp_dataset *d, const char *session, char *text, size_t size)
{
	const struct pp_row_op_stat *op = device_op(d);
	const struct pp_row_kernel_stat *kernel = compute_kernel(d);
	double idle = pp_recommend_idle_tensor_cores(d), wide = pp_recommend_precision(d, PP_PRECISION_32);
	const char *name;

	if (idle >= PP_RECOMMEND_MANY_IDLE_PERCENT) {
		snprintf(text, size,
		         "try mixed precision: %.0f %% of the kernels' time is in kernels that do not use tensor cores, of "
		         "operators that could: podprof report --table kernel_stat %s",
		         idle, session);
	} else if (wide >= PP_RECOMMEND_MOSTLY_PERCENT) {
		snprintf(text, size,
		         "try mixed precision: %.0f %% of device compute is in 32 bit. The kernels by time: podprof report --table "
		         "kernel_stat %s",
		         wide, session);
	} else if (kernel) {
		name = pp_intern_text(d->names, kernel->name, NULL);
		snprintf(text, size,
		         "begin with kernel \"%.*s\", %.0f %% of the kernels' time: podprof report --table kernel_stat %s",
		         pp_utf8_fit(name, NAME_BYTES), name, kernel->percent, session);
	} else if (op) {
		name = pp_intern_text(d->names, op->name, NULL);
		snprintf(text, size,
		         "begin with operator \"%.*s\", %.0f %% of the devices' busy time: podprof report --table op_stat %s",
		         pp_utf8_fit(name, NAME_BYTES), name, op->device_self_percent_no_idle, session);
	}
	return kernel || op;
}

static int copies_on_devices(const struct pp_dataset *d, const struct pp_sums *s, const char *session, char *text, size_t size)
{
	struct pp_activity a = pp_activity_of(d, PP_DEVICE_DEVICE_TO_DEVICE);
	char shown[128];

	if (!a.occurrences)
		return 0;
	snprintf(text, size,
	         "copy less on and between devices (clones, changes of layout): %s. What copies: podprof report --table kernel %s",
	         each(&a, s, "copies", shown, sizeof(shown)), session);
	return 1;
}

/* The operation that takes most time: on devices, where the kernels of operations are known, else in the calls. One that waits
 * longer than it transfers is not repaired by its size. */
static const struct pp_row_all_reduce *most_of_collectives(const struct pp_dataset *d)
{
	const struct pp_row_all_reduce *most = NULL;
	int64_t most_ns = -1, device_ns = 0;

	for (size_t i = 0; i < d->all_reduces; i++)
		device_ns = pp_wrap_plus(device_ns, pp_known_or(d->all_reduce[i].device_ns, 0));
	for (size_t i = 0; i < d->all_reduces; i++) {
		const struct pp_row_all_reduce *one = &d->all_reduce[i];
		const int64_t wait = pp_known_or(one->wait_ns, 0), transfer = pp_known_or(one->transfer_ns, 0);
		int64_t ns = device_ns > 0 ? pp_known_or(one->device_ns, 0) : pp_wrap_plus(wait, transfer);

		if (ns <= most_ns || wait > transfer)
			continue;
		most_ns = ns;
		most = one;
	}
	return most && most->occurrences ? most : NULL;
}

static int collectives(const struct pp_dataset *d, const struct pp_sums *s, const char *session, char *text, size_t size)
{
	const struct pp_row_all_reduce *most = most_of_collectives(d);
	struct pp_activity a = pp_activity_of(d, PP_DEVICE_COLLECTIVE);
	uint64_t bytes = most ? most->bytes / most->occurrences : 0;
	char shown[128];

	if (bytes) {
		snprintf(
		        text, size,
		        "%s: %.1f %s per step, %s each, take most of the time of collectives: podprof report --table all_reduce %s",
		        bytes < PP_RECOMMEND_SMALL_MESSAGE ? "join small collectives, for example in larger buckets"
		                                           : "let collectives run beside compute, or send less",
		        (double)most->occurrences / (double)d->steps, pp_operation_name(most->operation),
		        pp_text_bytes(shown, bytes), session);
		return 1;
	}
	if (!a.occurrences)
		return 0;
	a.bytes = 0; /* what NCCL's kernels move is in no trace */
	snprintf(text, size, "let collectives run beside compute: %s. Which take longest: podprof report --table kernel_stat %s",
	         each(&a, s, "kernels of collectives", shown, sizeof(shown)), session);
	return 1;
}

static int kernel_launch(const struct pp_dataset *d, const struct pp_sums *s, const char *session, char *text, size_t size)
{
	struct pp_activity a = pp_activity_of(d, PP_DEVICE_KERNEL);
	char shown[128], mean[PP_TEXT_UNIT];

	if (!a.occurrences)
		return 0;
	a.bytes = 0;
	snprintf(text, size,
	         "launch fewer and larger kernels (a compiler that fuses operators, CUDA graphs, a larger batch): %s, mean %s: "
	         "podprof report --table kernel_stat %s",
	         each(&a, s, "kernels", shown, sizeof(shown)), pp_text_time(mean, llround((double)a.ns / (double)a.occurrences)),
	         session);
	return 1;
}

/* Is copying to devices most of the input operations' time, and long enough to be what steps wait for? */
const struct pp_row_input_stage *pp_recommend_enqueues(const struct pp_dataset *d, const struct pp_sums *s,
                                                       const struct pp_activity *a)
{
	const struct pp_row_input_stage *most = NULL;

	for (size_t i = 0; i < d->input_stages; i++)
		if (d->input_stage[i].worker < 0 && (!most || d->input_stage[i].self_ns > most->self_ns))
			most = &d->input_stage[i];
	return most && most->category == PP_INPUT_ENQUEUING && a->ns >= s->sum_ns[PP_CATEGORY_INPUT] / 2 ? most : NULL;
}

static int copies_to_devices(const struct pp_dataset *d, const struct pp_sums *s, const char *session, char *text, size_t size)
{
	struct pp_activity a = pp_activity_of(d, PP_DEVICE_HOST_TO_DEVICE);
	const struct pp_row_input_stage *most = a.occurrences ? pp_recommend_enqueues(d, s, &a) : NULL;
	double rate = a.bytes && a.ns > 0 ? (double)a.bytes * 1e9 / (double)a.ns : 0;
	char shown[128], text_of_rate[PP_TEXT_UNIT], at[PP_TEXT_UNIT + 8] = "";

	if (!most)
		return 0;
	if (rate >= 1 && rate < 1e18)
		snprintf(at, sizeof(at), " at %s/s", pp_text_bytes(text_of_rate, (uint64_t)rate));
	snprintf(text, size,
	         "copy batches to the devices ahead, from pinned memory: copying takes %.0f %% of the time of input operations, "
	         "%s%s: podprof report --table input_op %s",
	         most->percent, each(&a, s, "copies", shown, sizeof(shown)), at, session);
	return 1;
}

static int copies_to_hosts(const struct pp_dataset *d, const struct pp_sums *s, const char *session, char *text, size_t size)
{
	struct pp_activity a = pp_activity_of(d, PP_DEVICE_DEVICE_TO_HOST);
	char shown[128];

	if (!a.occurrences || a.ns < s->sum_ns[PP_CATEGORY_OUTPUT] / 2)
		return 0;
	snprintf(text, size,
	         "read results from the devices less often, or without waiting for them: %s. What copies: "
	         "podprof report --table kernel %s",
	         each(&a, s, "copies", shown, sizeof(shown)), session);
	return 1;
}

static int compilation(const struct pp_dataset *d, const char *session, char *text, size_t size)
{
	size_t compile = 0, last = 0;

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		if (!d->cell[i].present || !d->cell[i].exclusive_ns[PP_CATEGORY_COMPILATION] || last == i / d->workers + 1)
			continue;
		last = i / d->workers + 1;
		compile++;
	}
	if (!compile)
		return 0;
	if (compile < d->steps && last == compile)
		snprintf(text, size,
		         "record later steps: only the first %zu of %zu compile. What they compile: podprof report --table op %s",
		         compile, d->steps, session);
	else
		snprintf(text, size,
		         "keep shapes and options equal from step to step, so that nothing is compiled again: %zu of %zu steps "
		         "compile: podprof report --table op %s",
		         compile, d->steps, session);
	return 1;
}

int pp_recommend_largest(const struct pp_dataset *d, const struct pp_sums *s, int category, const char *session, char *text,
                         size_t size)
{
	if (!s->cells)
		return 0;
	switch (category) {
	case PP_CATEGORY_DEVICE_COMPUTE:
		return device_compute(d, session, text, size);
	case PP_CATEGORY_DEVICE_TO_DEVICE:
		return copies_on_devices(d, s, session, text, size);
	case PP_CATEGORY_DEVICE_COLLECTIVE:
		return collectives(d, s, session, text, size);
	case PP_CATEGORY_KERNEL_LAUNCH:
		return kernel_launch(d, s, session, text, size);
	case PP_CATEGORY_INPUT:
		return copies_to_devices(d, s, session, text, size);
	case PP_CATEGORY_OUTPUT:
		return copies_to_hosts(d, s, session, text, size);
	case PP_CATEGORY_COMPILATION:
		return compilation(d, session, text, size);
	default:
		return 0;
	}
}

int pp_recommend_rank(const struct pp_dataset *d, int32_t rank, int category, const char *session, char *text, size_t size)
{
	char why[PP_GPU_TEXT] = "", next[PP_GPU_TEXT] = "";

	if (!d->kernels || (category != PP_CATEGORY_DEVICE_COMPUTE && category != PP_CATEGORY_DEVICE_TO_DEVICE &&
	                    category != PP_CATEGORY_DEVICE_COLLECTIVE && category != PP_CATEGORY_KERNEL_LAUNCH))
		return 0;
	if (category == PP_CATEGORY_DEVICE_COMPUTE) {
		const struct pp_table speeds = {.row = d->device_speed, .rows = d->device_speeds};

		pp_gpu_text(d, &speeds, rank, why, next);
	}
	if (*next) {
		snprintf(text, size, "on the host of rank %" PRId32 " %s", rank, next);
		return 1;
	}
	snprintf(text, size, "compare the kernels of rank %" PRId32 " with another rank's: podprof report --table kernel %s", rank,
	         session);
	return 1;
}

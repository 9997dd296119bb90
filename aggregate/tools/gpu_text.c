/* Why a device takes longer, in words; see gpu_text.h. A clock is low only beside devices of the same model that did equal work: a
 * healthy one at full load has the bit of a power cap as well. */
#include "aggregate/tools/gpu_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/known.h"
#include "core/base/select.h"

#define LOW 0.95  /* of the median clock of the others */
#define SLOW 1.05 /* of their time for equal kernels */
#define LEAST 1.02
#define HALF 50.0 /* percent of the kernels' time: less that is compared tells nothing of the rank */

/* NVML's clock event reasons that say why a clock is low, worst first. */
static const struct {
	int64_t bits;
	const char *why, *next;
} reasons[] = {
        {0x80, "the power supply asks for less (power brake)", "check the power supplies of its host"},
        {0x40, "heat (hardware slowdown)", "check its cooling: 'nvidia-smi -q -d TEMPERATURE'"},
        {0x20, "heat", "check its cooling: 'nvidia-smi -q -d TEMPERATURE'"},
        {0x8, "hardware slowdown", "check its cooling and power: 'nvidia-smi -q -d PERFORMANCE'"},
        {0x4, "power cap", "check its power limit: 'nvidia-smi -q -d POWER'"},
        {0x10, "sync boost with a slower GPU", "look at the GPU that boosts with it: 'nvidia-smi -q -d PERFORMANCE'"},
        {0x200, "board limit", "check its board: 'nvidia-smi -q -d PERFORMANCE'"},
        {0x400, "reliability limit", "check its board: 'nvidia-smi -q -d PERFORMANCE'"},
        {0x2, "clocks that an application or an administrator set", "reset its clocks: 'nvidia-smi -rac -rgc'"},
};

/* Of the rank's devices that compares worst; NULL: there is none. *ret_is_alone: of several devices it is the only slow one. */
static const struct pp_row_device_speed *speed_of(const struct pp_table *speeds, int32_t rank, int *ret_is_alone)
{
	const struct pp_row_device_speed *row = speeds->row, *worst = NULL;
	size_t devices = 0, slow = 0;

	for (size_t i = 0; i < speeds->rows; i++) {
		if (row[i].worker != rank)
			continue;
		devices++;
		slow += row[i].ratio_low >= SLOW;
		worst = !worst || row[i].ratio_low > worst->ratio_low ? &row[i] : worst;
	}
	*ret_is_alone = devices > 1 && slow == 1;
	return worst;
}

static const char *model_of(const struct pp_dataset *d, int32_t rank)
{
	const size_t w = pp_dataset_worker(d, rank);

	return w == SIZE_MAX ? "" : d->worker[w].device_name;
}

/* Median clock under load of other ranks' GPUs of the same model; 0: there is none. */
static int64_t clock_of_others(const struct pp_dataset *d, int32_t rank)
{
	int64_t *hz = calloc(d->gpus + 1, sizeof(*hz)), median = 0;
	size_t n = 0;

	for (size_t i = 0; hz && i < d->gpus; i++)
		if (d->gpu[i].worker != rank && pp_is_known(d->gpu[i].clock_hz) &&
		    !strcmp(model_of(d, d->gpu[i].worker), model_of(d, rank)))
			hz[n++] = d->gpu[i].clock_hz;
	if (n)
		median = pp_select_int64(hz, n, n / 2);
	free(hz);
	return median;
}

/* The rank's GPU with the lowest clock; NULL: none is known. */
static const struct pp_row_gpu *slowest_gpu(const struct pp_dataset *d, int32_t rank)
{
	const struct pp_row_gpu *least = NULL;

	for (size_t i = 0; i < d->gpus; i++)
		if (d->gpu[i].worker == rank && pp_is_known(d->gpu[i].clock_hz) && (!least || d->gpu[i].clock_hz < least->clock_hz))
			least = &d->gpu[i];
	return least;
}

/* Is the rank's device known to be NVIDIA's? By its name, or by NVML, which alone gives reasons. */
static int is_nvidia(const struct pp_dataset *d, int32_t rank)
{
	int is = !strncasecmp(model_of(d, rank), "nvidia", strlen("nvidia"));

	for (size_t i = 0; i < d->gpus; i++)
		is |= d->gpu[i].worker == rank && pp_is_known(d->gpu[i].reason);
	return is;
}

static void say_clock(const struct pp_row_gpu *g, int64_t others, int is_known, char *text, char *next)
{
	const char *why = "", *to_do = is_known ? "compare its clock settings: 'nvidia-smi -q -d CLOCK,PERFORMANCE'"
	                                        : "compare its clock settings with another rank's";
	const int64_t bits = pp_is_known(g->reason) ? g->reason : 0;

	for (size_t i = sizeof(reasons) / sizeof(*reasons); i-- > 0;)
		if (bits & reasons[i].bits) {
			why = reasons[i].why;
			to_do = reasons[i].next;
		}
	snprintf(text, PP_GPU_TEXT, "GPU %" PRIu32 ": clock %.0f %% below the others under load (%.0f of %.0f MHz)%s%s", g->device,
	         100 * (1 - (double)g->clock_hz / (double)others), (double)g->clock_hz / 1e6, (double)others / 1e6,
	         *why ? ", " : "", why);
	snprintf(next, PP_GPU_TEXT, "%s", to_do);
}

void pp_gpu_text(const struct pp_dataset *d, const struct pp_table *speeds, int32_t rank, char text[PP_GPU_TEXT],
                 char next[PP_GPU_TEXT])
{
	int is_alone;
	const struct pp_row_device_speed *speed = speed_of(speeds, rank, &is_alone);
	const struct pp_row_gpu *gpu = slowest_gpu(d, rank);
	const int64_t others = clock_of_others(d, rank);
	char number[16] = "";

	text[0] = next[0] = '\0';
	/* a low clock that lengthens no kernel is no reason */
	if (gpu && others && (double)gpu->clock_hz < LOW * (double)others && (!speed || speed->ratio >= LEAST)) {
		say_clock(gpu, others, is_nvidia(d, rank), text, next);
		return;
	}
	if (!speed || speed->compared_percent < HALF)
		return;
	if (speed->ratio_low >= SLOW) {
		if (is_alone)
			snprintf(number, sizeof(number), " %" PRIu32, speed->device);
		snprintf(text, PP_GPU_TEXT, "its device%s takes %.2f times as long as the others for equal kernels", number,
		         speed->ratio);
		snprintf(next, PP_GPU_TEXT, "compare the clock rates, power and heat of its device with another rank's%s",
		         is_nvidia(d, rank) ? ": 'nvidia-smi -q -d CLOCK,PERFORMANCE'" : "");
	} else if (speed->ratio_high >= SLOW)
		snprintf(text, PP_GPU_TEXT, "some equal kernels take %.2f times as long as on the other ranks, others do not",
		         speed->ratio_high);
	else if (speed->ratio < SLOW)
		snprintf(text, PP_GPU_TEXT, "equal kernels take as long as on the other ranks: it runs more or larger ones");
}

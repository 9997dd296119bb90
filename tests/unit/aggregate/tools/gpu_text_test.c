/* Why a device is late, in words; and /device_speed, from rows made by hand. */
#include "aggregate/tools/gpu_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/tools/tools.h"
#include "core/base/known.h"
#include "core/capture/span.h"
#include "tests/test.h"

enum { RANKS = 4, KERNELS = 4 };

struct job {
	struct pp_dataset d;
	struct pp_intern *names;
	struct pp_row_worker worker[RANKS];
	struct pp_row_gpu gpu[RANKS];
	struct pp_row_kernel kernel[RANKS * KERNELS];
	struct pp_table table[PP_TABLES];
	char text[PP_GPU_TEXT], next[PP_GPU_TEXT];
};

/* Equal GPUs, equal kernels: the k-th takes k + 1 us on each rank. */
static void make(struct job *j)
{
	struct pp_intern *names = pp_intern_new();

	*j = (struct job){.names = names,
	                  .d = {.names = names,
	                        .worker = j->worker,
	                        .workers = RANKS,
	                        .gpu = j->gpu,
	                        .gpus = RANKS,
	                        .kernel = j->kernel,
	                        .kernels = (size_t)RANKS * KERNELS}};
	pp_dataset_tables(&j->d, j->table);
	for (int r = 0; r < RANKS; r++) {
		j->worker[r].rank = r;
		snprintf(j->worker[r].device_name, sizeof(j->worker[r].device_name), "H100");
		j->gpu[r] = (struct pp_row_gpu){.worker = r, .clock_hz = 1980000000, .reason = 4};
		for (int k = 0; k < KERNELS; k++)
			j->kernel[k * RANKS + r] = (struct pp_row_kernel){.name = (uint32_t)k + 1,
			                                                  .activity = PP_DEVICE_KERNEL,
			                                                  .grid_x = 1,
			                                                  .worker = r,
			                                                  .occurrences = 10,
			                                                  .total_ns = 10000 * (k + 1)};
	}
}

/* Makes these kernels of rank 2 take longer. */
static void slow(struct job *j, int first, double factor)
{
	for (int k = first; k < KERNELS; k++)
		j->kernel[k * RANKS + 2].total_ns = (int64_t)((double)j->kernel[k * RANKS + 2].total_ns * factor);
}

static const struct pp_row_device_speed *speed(struct job *j, int rank)
{
	struct pp_err err = {""};

	free(j->table[PP_TABLE_device_speed].row);
	pp_dataset_tables(&j->d, j->table);
	CHECK_INT(pp_tool_device_speed(&j->d, j->table, &err), 0);
	pp_gpu_text(&j->d, &j->table[PP_TABLE_device_speed], 2, j->text, j->next);
	for (size_t i = 0; i < j->table[PP_TABLE_device_speed].rows; i++) {
		const struct pp_row_device_speed *row = (struct pp_row_device_speed *)j->table[PP_TABLE_device_speed].row + i;

		if (row->worker == rank)
			return row;
	}
	return NULL;
}

static void end(struct job *j)
{
	free(j->table[PP_TABLE_device_speed].row);
	pp_intern_free(j->names);
}

static int is_near(double got, double want)
{
	return got > want - 0.005 && got < want + 0.005;
}

TEST(equal_devices)
{
	const struct pp_row_device_speed *s;
	struct job j;

	make(&j);
	s = speed(&j, 2);
	CHECK(s && s->compared == KERNELS && s->ratio == 1 && s->ratio_low == 1 && s->ratio_high == 1);
	CHECK(s && s->compared_percent == 100 && s->compared_ns == 100000);
	CHECK(strstr(j.text, "equal kernels take as long as on the other ranks: it runs more or larger ones"));
	end(&j);
}

TEST(a_low_clock_with_its_reason)
{
	struct job j;

	make(&j);
	slow(&j, 0, 1.39);
	j.gpu[2].clock_hz = 1425000000;
	j.gpu[2].device = 3;
	CHECK(is_near(speed(&j, 2)->ratio_low, 1.39));
	CHECK_STR(j.text, "GPU 3: clock 28 % below the others under load (1425 of 1980 MHz), power cap");
	CHECK_STR(j.next, "check its power limit: 'nvidia-smi -q -d POWER'");
	j.gpu[2].reason = 0x44; /* the worst of them */
	speed(&j, 2);
	CHECK(strstr(j.text, "heat (hardware slowdown)"));
	j.gpu[2].reason = PP_UNKNOWN;
	speed(&j, 2);
	CHECK_STR(j.text, "GPU 3: clock 28 % below the others under load (1425 of 1980 MHz)");
	snprintf(j.worker[2].device_name, sizeof(j.worker[2].device_name), "L40S"); /* another model: no peer has its clock */
	speed(&j, 2);
	CHECK_STR(j.text, "its device takes 1.39 times as long as the others for equal kernels");
	end(&j);
}

/* Of a rank with two devices the slow one is named; each has a row. */
TEST(two_devices_of_a_rank)
{
	const struct pp_row_device_speed *s;
	struct job j;

	make(&j);
	j.d.gpus = 0;
	for (int k = 0; k < KERNELS; k++) { /* what was rank 3 */
		j.kernel[k * RANKS + 3].worker = 2;
		j.kernel[k * RANKS + 3].device = 1;
		j.kernel[k * RANKS + 3].total_ns *= 2;
	}
	s = speed(&j, 2);
	CHECK(s && s->device == 0 && is_near(s->ratio, 1) && s->compared == KERNELS && s->compared_percent == 100);
	CHECK(s && s[1].worker == 2 && s[1].device == 1 && is_near(s[1].ratio_low, 2) && s[1].compared_ns == 200000);
	CHECK_STR(j.text, "its device 1 takes 2.00 times as long as the others for equal kernels");
	slow(&j, 0, 2); /* and device 0 */
	speed(&j, 2);
	CHECK_STR(j.text, "its device takes 2.00 times as long as the others for equal kernels");
	end(&j);
}

/* A tool of NVIDIA's is named for its devices only. */
TEST(a_tool_of_its_vendor)
{
	struct job j;

	make(&j);
	j.d.gpus = 0;
	slow(&j, 0, 1.39);
	speed(&j, 2);
	CHECK_STR(j.next, "compare the clock rates, power and heat of its device with another rank's");
	snprintf(j.worker[2].device_name, sizeof(j.worker[2].device_name), "NVIDIA H100 80GB HBM3");
	speed(&j, 2);
	CHECK(strstr(j.next, "another rank's: 'nvidia-smi -q -d CLOCK,PERFORMANCE'"));
	end(&j);
}

/* A clock that no kernel feels, and the bit of a power cap that all have. */
TEST(a_clock_that_is_no_reason)
{
	struct job j;

	make(&j);
	j.gpu[2].clock_hz = 1425000000;
	speed(&j, 2);
	CHECK(!strstr(j.text, "clock") && strstr(j.text, "equal kernels take as long"));
	j.gpu[2].clock_hz = 1900000000; /* 4 % */
	slow(&j, 0, 1.2);
	speed(&j, 2);
	CHECK_STR(j.text, "its device takes 1.20 times as long as the others for equal kernels");
	end(&j);
}

TEST(some_kernels_only)
{
	struct job j;

	make(&j);
	slow(&j, 3, 1.5); /* 60 of 120 us */
	CHECK(is_near(speed(&j, 2)->ratio_high, 1.5) && is_near(speed(&j, 2)->ratio_low, 1));
	CHECK_STR(j.text, "some equal kernels take 1.50 times as long as on the other ranks, others do not");
	end(&j);
}

TEST(nothing_to_compare)
{
	struct job j;

	make(&j);
	for (int k = 0; k < KERNELS; k++)
		j.kernel[k * RANKS + 2].grid_x = 2; /* other shapes */
	CHECK(!speed(&j, 2));
	CHECK_STR(j.text, "");
	CHECK_STR(j.next, "");
	end(&j);
	make(&j);
	for (int i = 0; i < RANKS * KERNELS; i++) /* waits for peers: no speed */
		j.kernel[i].activity = PP_DEVICE_COLLECTIVE;
	CHECK(!speed(&j, 0));
	end(&j);
	make(&j);
	slow(&j, 0, 3);
	for (int i = 0; i < RANKS * KERNELS; i++) /* two ranks: one is twice as slow as the other, which is half as slow */
		if (j.kernel[i].worker != 2 && j.kernel[i].worker != 0)
			j.kernel[i].occurrences = 0;
	CHECK(is_near(speed(&j, 2)->ratio, 3) && is_near(speed(&j, 0)->ratio, 1.0 / 3));
	end(&j);
}

int main(void)
{
	equal_devices();
	a_low_clock_with_its_reason();
	two_devices_of_a_rank();
	a_tool_of_its_vendor();
	a_clock_that_is_no_reason();
	some_kernels_only();
	nothing_to_compare();
	return test_end();
}

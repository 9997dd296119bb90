/* recommend.c: what is said for each category of devices, from the rows of a finished dataset. */
#include "aggregate/tools/recommend.h"

#include <math.h>
#include <stdlib.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/dataset/table/word.h"
#include "aggregate/tools/answer.h"
#include "aggregate/tools/sums.h"
#include "aggregate/tools/tensor_core.h"
#include "core/capture/span.h"
#include "core/ring/intern.h"
#include "tests/test.h"
#include "tests/unit/aggregate/finding_kit.h"

enum { STEPS = 10, WORKERS = 2, CELLS = STEPS * WORKERS, MS = 1000000 };

struct job {
	struct pp_dataset d;
	struct pp_row_finding finding;
	struct pp_intern *names;
	struct pp_row_cell cell[CELLS];
	struct pp_row_step step[STEPS];
	struct pp_row_worker worker[WORKERS];
	char next[PP_ANSWER_TEXT];
};

/* Every step takes 10 ms, 6 ms of it in the category. */
static void begin(struct job *j, int category)
{
	*j = (struct job){.d = {.steps = STEPS, .workers = WORKERS, .cell = j->cell, .step = j->step, .worker = j->worker}};
	j->d.names = j->names = pp_intern_new();
	snprintf(j->d.session, sizeof(j->d.session), "s");
	for (int i = 0; i < CELLS; i++) {
		j->cell[i].present = 1;
		j->cell[i].step_ns = 10 * MS;
		j->cell[i].exclusive_ns[PP_CATEGORY_OTHER] = 4 * MS;
		j->cell[i].exclusive_ns[category] += 6 * MS;
	}
	for (int w = 0; w < WORKERS; w++)
		j->worker[w].rank = w;
	CHECK(findings_of(&j->d, &j->finding, 1) > 0);
	CHECK(j->finding.kind == PP_FINDING_CATEGORY || j->finding.kind == PP_FINDING_INPUT ||
	      j->finding.kind == PP_FINDING_OUTPUT || j->finding.kind == PP_FINDING_UNSPLIT);
	j->d.finding = &j->finding;
	j->d.findings = 1;
}

static uint32_t name(struct job *j, const char *text)
{
	return pp_intern_put(j->names, text, strlen(text));
}

static const char *next_of(struct job *j)
{
	struct pp_answer *a = calloc(1, sizeof(*a));
	struct pp_sums sums;

	CHECK_INT(pp_sums_of(&j->d, &sums), 0);
	CHECK_INT(pp_answer_of(&j->d, &sums, NULL, a), 0);
	CHECK(a->command > 0 && !strncmp(a->next + a->command, "podprof report --table ", 23));
	snprintf(j->next, sizeof(j->next), "%s", a->next);
	pp_sums_release(&sums);
	free(a);
	return j->next;
}

static void end(struct job *j)
{
	pp_intern_free(j->names);
}

TEST(device_compute)
{
	struct job j;
	struct pp_row_op_stat op[] = {{.host_or_device = PP_SIDE_DEVICE, .is_idle = 1},
	                              {.host_or_device = PP_SIDE_DEVICE, .device_self_percent_no_idle = 44}};
	struct pp_row_kernel_stat kernel[] = {{.percent = 29, .activity = PP_DEVICE_COLLECTIVE},
	                                      {.percent = 41, .activity = PP_DEVICE_KERNEL},
	                                      {.percent = 30, .activity = PP_DEVICE_KERNEL}};
	struct pp_row_precision precision[] = {{.precision = PP_PRECISION_32, .percent = 49}};

	begin(&j, PP_CATEGORY_DEVICE_COMPUTE);
	op[1].name = name(&j, "fusion.3");
	j.d.op_stat = op;
	j.d.op_stats = 2;
	CHECK_STR(next_of(&j), "begin with operator \"fusion.3\", 44 % of the devices' busy time: podprof report --table op_stat "
	                       "LOGDIR/podprof/s");
	kernel[0].name = name(&j, "ncclDevKernel_AllReduce"); /* takes time, but is no compute */
	kernel[1].name = kernel[2].name = name(&j, "sgemm_128x64");
	j.d.kernel_stat = kernel;
	j.d.kernel_stats = 3;
	j.d.precision = precision;
	j.d.precisions = 1;
	CHECK_STR(next_of(&j), "begin with kernel \"sgemm_128x64\", 41 % of the kernels' time: podprof report --table kernel_stat "
	                       "LOGDIR/podprof/s");
	precision[0].percent = 69;
	CHECK_STR(next_of(&j),
	          "try mixed precision: 69 % of device compute is in 32 bit. The kernels by time: podprof report --table "
	          "kernel_stat LOGDIR/podprof/s");
	kernel[2].tensor_core_eligible = PP_TENSOR_CORE_YES;
	CHECK(!strncmp(next_of(&j), "try mixed precision: 69 %", 25)); /* unknown is not unused */
	kernel[2].tensor_core_used = PP_TENSOR_CORE_NO;
	CHECK_STR(next_of(&j),
	          "try mixed precision: 30 % of the kernels' time is in kernels that do not use tensor cores, of operators "
	          "that could: podprof report --table kernel_stat LOGDIR/podprof/s");
	end(&j);
}

static void put_kernel(struct job *j, struct pp_row_kernel *row, int activity, uint64_t occurrences, int64_t ns, uint64_t bytes)
{
	*row = (struct pp_row_kernel){.activity = (int8_t)activity,
	                              .occurrences = occurrences,
	                              .total_ns = ns,
	                              .bytes = bytes,
	                              .occupancy_percent = (double)NAN};
	j->d.kernel = row;
	j->d.kernels = 1;
}

TEST(copies_and_launches)
{
	struct pp_row_kernel row;
	struct job j;

	begin(&j, PP_CATEGORY_DEVICE_TO_DEVICE);
	put_kernel(&j, &row, PP_DEVICE_DEVICE_TO_DEVICE, 50, 60 * MS, UINT64_C(50) << 20);
	CHECK_STR(next_of(&j),
	          "copy less on and between devices (clones, changes of layout): 2.5 copies per step and rank, 1.00 MiB "
	          "each. What copies: podprof report --table kernel LOGDIR/podprof/s");
	end(&j);
	begin(&j, PP_CATEGORY_OUTPUT);
	put_kernel(&j, &row, PP_DEVICE_DEVICE_TO_HOST, 800, 70 * MS, 0);
	CHECK_STR(next_of(&j),
	          "read results from the devices less often, or without waiting for them: 40 copies per step and rank. "
	          "What copies: podprof report --table kernel LOGDIR/podprof/s");
	end(&j);
	begin(&j, PP_CATEGORY_KERNEL_LAUNCH);
	put_kernel(&j, &row, PP_DEVICE_KERNEL, 40000, 160 * MS, 0);
	CHECK_STR(next_of(&j),
	          "launch fewer and larger kernels (a compiler that fuses operators, CUDA graphs, a larger batch): 2000 "
	          "kernels per step and rank, mean 4.00 us: podprof report --table kernel_stat LOGDIR/podprof/s");
	end(&j);
}

/* Copies to devices are blamed for Input only where they are most of it. */
TEST(input_by_copies)
{
	struct pp_row_input_stage stage[] = {{.worker = -1, .category = PP_INPUT_ENQUEUING, .self_ns = 80 * MS, .percent = 80},
	                                     {.worker = -1, .category = PP_INPUT_ON_DEMAND, .self_ns = 20 * MS, .percent = 20}};
	struct pp_row_kernel row;
	struct pp_sums sums;
	struct job j;

	begin(&j, PP_CATEGORY_INPUT);
	put_kernel(&j, &row, PP_DEVICE_HOST_TO_DEVICE, 20, 80 * MS, UINT64_C(20) << 20);
	j.d.input_stage = stage;
	j.d.input_stages = 2;
	CHECK_STR(next_of(&j),
	          "copy batches to the devices ahead, from pinned memory: copying takes 80 % of the time of input "
	          "operations, 1.0 copies per step and rank, 1.00 MiB each at 250 MiB/s: podprof report --table input_op "
	          "LOGDIR/podprof/s");
	CHECK_INT(pp_sums_of(&j.d, &sums), 0);
	row.total_ns = 50 * MS; /* of 120 ms that steps wait */
	CHECK_INT(pp_recommend_largest(&j.d, &sums, PP_CATEGORY_INPUT, "s", j.next, sizeof(j.next)), 0);
	row.total_ns = 80 * MS;
	stage[1].self_ns = 90 * MS;
	CHECK_INT(pp_recommend_largest(&j.d, &sums, PP_CATEGORY_INPUT, "s", j.next, sizeof(j.next)), 0);
	pp_sums_release(&sums);
	end(&j);
}

TEST(collectives)
{
	struct pp_row_all_reduce row_of[2] = {{.occurrences = 120, .bytes = UINT64_C(120) << 25, .transfer_ns = 5 * MS},
	                                      {.occurrences = 1, .bytes = 1, .transfer_ns = 4 * MS}};
	struct pp_row_all_reduce *all = row_of;
	struct pp_row_kernel row;
	struct job j;

	begin(&j, PP_CATEGORY_DEVICE_COLLECTIVE);
	put_kernel(&j, &row, PP_DEVICE_COLLECTIVE, 240, 100 * MS, 0);
	CHECK_STR(next_of(&j),
	          "let collectives run beside compute: 12 kernels of collectives per step and rank. Which take longest: "
	          "podprof report --table kernel_stat LOGDIR/podprof/s");
	while (strcmp(pp_operation_name(all->operation), "MPI_Allreduce") != 0)
		all->operation++;
	j.d.all_reduce = row_of;
	j.d.all_reduces = 2;
	CHECK_STR(next_of(&j),
	          "let collectives run beside compute, or send less: 12.0 MPI_Allreduce per step, 32.0 MiB each, take most "
	          "of the time of collectives: podprof report --table all_reduce LOGDIR/podprof/s");
	row_of[1].device_ns = 1; /* kernels tell better than calls what takes time */
	CHECK(strstr(next_of(&j), ", 1 B each") != NULL);
	row_of[0].device_ns = 2;
	all->bytes = 120 * 4096;
	CHECK_STR(next_of(&j),
	          "join small collectives, for example in larger buckets: 12.0 MPI_Allreduce per step, 4.00 KiB each, take "
	          "most of the time of collectives: podprof report --table all_reduce LOGDIR/podprof/s");
	end(&j);
}

TEST(compiles)
{
	struct job j;

	begin(&j, PP_CATEGORY_COMPILATION);
	CHECK_STR(next_of(&j), "keep shapes and options equal from step to step, so that nothing is compiled again: 10 of 10 steps "
	                       "compile: podprof report --table op LOGDIR/podprof/s");
	for (int i = 3 * WORKERS; i < CELLS; i++) {
		j.cell[i].exclusive_ns[PP_CATEGORY_COMPILATION] = 0;
		j.cell[i].step_ns = 4 * MS;
	}
	for (int i = 0; i < 3 * WORKERS; i++)
		j.cell[i].exclusive_ns[PP_CATEGORY_COMPILATION] = 60 * MS, j.cell[i].step_ns = 64 * MS;
	CHECK_STR(next_of(&j), "record later steps: only the first 3 of 10 compile. What they compile: podprof report --table op "
	                       "LOGDIR/podprof/s");
	end(&j);
}

/* Nothing recorded that a number could come from: the answer's own sentence stands. */
TEST(without_rows)
{
	static const int category[] = {
	        PP_CATEGORY_DEVICE_COMPUTE, PP_CATEGORY_DEVICE_TO_DEVICE, PP_CATEGORY_DEVICE_COLLECTIVE, PP_CATEGORY_KERNEL_LAUNCH,
	        PP_CATEGORY_INPUT,          PP_CATEGORY_OUTPUT,           PP_CATEGORY_HOST_COMPUTE};
	struct pp_row_kernel row;
	struct pp_sums sums;
	struct job j;

	begin(&j, PP_CATEGORY_OTHER);
	CHECK_INT(pp_sums_of(&j.d, &sums), 0);
	for (size_t i = 0; i < sizeof(category) / sizeof(category[0]); i++)
		CHECK_INT(pp_recommend_largest(&j.d, &sums, category[i], "s", j.next, sizeof(j.next)), 0);
	CHECK_INT(pp_recommend_rank(&j.d, 1, PP_CATEGORY_DEVICE_COMPUTE, "s", j.next, sizeof(j.next)), 0);
	put_kernel(&j, &row, PP_DEVICE_KERNEL, 1, MS, 0);
	CHECK_INT(pp_recommend_rank(&j.d, 1, PP_CATEGORY_DEVICE_COMPUTE, "s", j.next, sizeof(j.next)), 1);
	CHECK_STR(j.next, "compare the kernels of rank 1 with another rank's: podprof report --table kernel s");
	CHECK_INT(pp_recommend_rank(&j.d, 1, PP_CATEGORY_INPUT, "s", j.next, sizeof(j.next)), 0);
	pp_sums_release(&sums);
	end(&j);
}

int main(void)
{
	device_compute();
	copies_and_launches();
	input_by_copies();
	collectives();
	compiles();
	without_rows();
	return test_end();
}

/* summary.txt: units, the whole text of a sample against its golden copy (--update writes it), 50 lines at most, bars on demand. */
#include "aggregate/write/text/text.h"
#include "aggregate/write/text/text_print.h"
#include "aggregate/write/text/text_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregate/analyze/join.h"
#include "aggregate/session/record_cost.h"
#include "aggregate/dataset/status.h"
#include "aggregate/tools/answer.h"
#include "aggregate/tools/sums.h"
#include "tests/golden.h"
#include "tests/unit/aggregate/write/sample_kit.h"

static char *text_of(const struct pp_dataset *d)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK_INT(pp_text_write(d, NULL, f), 0);
	fclose(f);
	return text;
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

TEST(units)
{
	char t[PP_TEXT_UNIT];

	CHECK_STR(pp_text_time(t, 0), "0 ns");
	CHECK_STR(pp_text_time(t, 999), "999 ns");
	CHECK_STR(pp_text_time(t, 1000), "1.00 us");
	CHECK_STR(pp_text_time(t, 9996), "10.0 us");
	CHECK_STR(pp_text_time(t, 99960), "100 us");
	CHECK_STR(pp_text_time(t, 999600), "1.00 ms");
	CHECK_STR(pp_text_time(t, 84123456), "84.1 ms");
	CHECK_STR(pp_text_time(t, INT64_C(71800000000)), "71.8 s");
	CHECK_STR(pp_text_time(t, INT64_C(4000000000000)), "4000 s");
	CHECK_STR(pp_text_time(t, -1500), "-1.50 us");
	CHECK_STR(pp_text_count(t, 0), "0");
	CHECK_STR(pp_text_count(t, 1204), "1 204");
	CHECK_STR(pp_text_count(t, 1234567), "1 234 567");
}

TEST(forty_lines)
{
	struct sample s;
	char *text;

	sample_make(&s, SAMPLE_RANKS, "unused");
	for (size_t i = 0; i < s.dataset.steps * s.dataset.workers; i++)
		for (int c = 1; c <= PP_CATEGORIES; c++)
			s.dataset.cell[i].exclusive_ns[c] = 1000;
	s.dataset.cell[3 * s.dataset.workers].step_ns *= 50;
	s.dataset.violations = 1;
	for (int i = 0; i < 10; i++)
		pp_dataset_warn(&s.dataset, "warning %d", i);
	s.dataset.worker[3].dropped[PP_LOSS_RING_FULL] = 1204;
	text = text_of(&s.dataset);
	CHECK(lines_of(text) <= PP_TEXT_LINES + PP_TEXT_OP_LINES + 1); /* 1: the date was set */
	CHECK(strstr(text, "  Slowest: ") && strstr(text, "  Files: ") && strstr(text, "  Memory: ") && strstr(text, "  Next: "));
	CHECK(strstr(text, "1 204 lost on 1 of 16 ranks") != NULL);
	CHECK(strstr(text, "lost") < strstr(text, "Step time")); /* the caution */
	CHECK(strstr(text, " more: podprof report --table worker LOGDIR/podprof/sample\n") != NULL);
	CHECK(strstr(text, " more: podprof report --table warning LOGDIR/podprof/sample\n") != NULL);
	free(text);
	sample_free(&s);
}

/* Where nothing is split into wait and transfer, the line does not say that both are 0. */
TEST(communication_not_split)
{
	struct sample s;
	char *text;

	sample_make(&s, SAMPLE_RANKS, "unused");
	for (size_t i = 0; i < s.dataset.steps * s.dataset.workers; i++) {
		s.dataset.cell[i].wait_ns = s.dataset.cell[i].transfer_ns = 0;
		s.dataset.cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = 5000;
		s.dataset.cell[i].exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE] = 0;
	}
	text = text_of(&s.dataset);
	CHECK(strstr(text, "Exposed communication per step: 5.00 us (wait and transfer not separated)\n") != NULL);
	free(text);
	sample_free(&s);
}

/* Two operators of one name: the category distinguishes them, and is in no other row. */
TEST(one_name_of_two_categories)
{
	struct sample s;
	struct pp_row_op own[2];
	char *text;

	sample_make(&s, SAMPLE_RANKS, "unused");
	own[0] = s.dataset.op[0];
	own[0].self_ns = 1000000;
	own[0].side = PP_SIDE_DEVICE;
	own[1] = own[0];
	own[1].category = own[0].category % PP_CATEGORIES + 1;
	for (size_t n = 1; n <= 2; n++) {
		struct pp_row_op *had = s.dataset.op;
		size_t ops = s.dataset.ops;

		s.dataset.op = own;
		s.dataset.ops = n;
		text = text_of(&s.dataset);
		s.dataset.op = had;
		s.dataset.ops = ops;
		CHECK(strstr(text, " on device") != NULL);
		CHECK((strstr(text, " on device (") != NULL) == (n == 2));
		free(text);
	}
	sample_free(&s);
}

/* An operator that several devices of a rank ran: the rank's time is their sum, and the one with most is named. */
TEST(operator_of_two_devices)
{
	struct sample s;
	struct pp_row_op own[2], *had;
	size_t ops;
	char *text;

	sample_make(&s, SAMPLE_RANKS, "unused");
	had = s.dataset.op;
	ops = s.dataset.ops;
	own[0] = s.dataset.op[0];
	own[0].self_ns = 1000000 * (int64_t)own[0].steps;
	own[0].side = PP_SIDE_DEVICE;
	own[0].worker = s.dataset.worker[1].rank;
	own[0].device = 0;
	own[1] = own[0];
	own[1].device = 1;
	own[1].self_ns *= 3;
	s.dataset.op = own;
	s.dataset.ops = 2;
	text = text_of(&s.dataset);
	s.dataset.op = had;
	s.dataset.ops = ops;
	CHECK(strstr(text, "most on rank 1, 4.00 ms, of it on device 1, 3.00 ms\n") != NULL);
	free(text);
	sample_free(&s);
}

TEST(long_names)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK_INT(pp_text_name("void kernel<float, with a long list of types>(forward)", 20, f), 20);
	CHECK_INT(pp_text_name("\xc3\xa4\xc3\xa4", 20, f), 2);
	fclose(f);
	CHECK_STR(text, "void kernel<float,..\xc3\xa4\xc3\xa4");
	free(text);
}

/* The spread of few steps is that of all of them. */
TEST(spread_of_few_steps)
{
	struct sample s;
	struct pp_sums sums;

	sample_make(&s, SAMPLE_RANKS, "unused");
	s.dataset.steps = 2;
	for (size_t i = 0; i < 2 * s.dataset.workers; i++)
		s.dataset.cell[i].step_ns = i < s.dataset.workers ? 100 : 300;
	CHECK_INT(pp_sums_of(&s.dataset, &sums), 0);
	CHECK_INT(sums.median_ns, 200);
	CHECK_INT(sums.spread_ns, 100);
	pp_sums_release(&sums);
	sample_free(&s);
}

/* What CUPTI counted and what PyTorch's allocator held, beside each other. */
TEST(memory_of_devices)
{
	struct sample s;
	char *text;

	sample_make(&s, SAMPLE_RANKS, "unused");
	free(s.dataset.allocator);
	free(s.dataset.torch_memory);
	s.dataset.allocators = 1;
	s.dataset.allocator = calloc(1, sizeof(*s.dataset.allocator));
	*s.dataset.allocator =
	        (struct pp_row_allocator){.worker = 3,
	                                  .allocator = pp_intern_put((struct pp_intern *)s.dataset.names, "GPU_1", 5),
	                                  .peak_bytes = 3 << 20,
	                                  .peak_step = -1,
	                                  .fragmentation = (double)NAN,
	                                  .is_counted = 1};
	s.dataset.torch_memories = 2;
	s.dataset.torch_memory = calloc(2, sizeof(*s.dataset.torch_memory));
	s.dataset.torch_memory[0] = (struct pp_row_torch_memory){.worker = 2, .reserved_peak_bytes = 1 << 20, .retries = 2};
	s.dataset.torch_memory[1] = (struct pp_row_torch_memory){
	        .worker = 3, .device = 1, .reserved_peak_bytes = 2 << 20, .allocated_peak_bytes = 1 << 20, .out_of_memory = 1};
	text = text_of(&s.dataset);
	CHECK(strstr(text,
	             "  Allocators: largest peak 3.00 MiB, of GPU_1 on rank 3, counted from recorded calls only\n"
	             "  PyTorch:    caching allocator held at most 2.00 MiB of cuda:1 on rank 3, tensors used at most 1.00 MiB, "
	             "2 retries, out of memory 1 times\n") != NULL);
	free(text);
	sample_free(&s);
}

/* A step that moves means but not the median is named, and only such a one. */
TEST(longest_step)
{
	struct sample s;
	char *text;

	sample_make(&s, 2, "unused");
	text = text_of(&s.dataset);
	CHECK(strstr(text, "Slowest:") == NULL);
	free(text);
	s.dataset.cell[3 * s.dataset.workers + 1].step_ns = 26 * (int64_t)SAMPLE_STEP_NS;
	text = text_of(&s.dataset);
	CHECK(strstr(text,
	             "\n  Slowest:    step 4, 26.0 ms (26.0x the median); the means of operators and kernels below include it\n"));
	CHECK(strstr(text, "every step") == NULL);
	free(text);
	sample_free(&s);
}

/* Point-to-point time is neither waiting nor transfer, and must not be missed in the line that names both. */
/* What is not there is not in the list. */
TEST(steps_with_holes)
{
	static const struct {
		struct pp_row_step number[8];
		size_t steps;
		const char *text;
	} row[] = {{{{173}, {174}, {175}, {176}}, 4, "steps 173..176"},
	           {{{173}, {174}, {176}, {177}}, 4, "steps 173..174, 176..177"},
	           {{{1}, {3}, {4}, {6}}, 4, "steps 1, 3..4, 6"},
	           {{{7}}, 1, "step 7"},
	           {{{INT64_MIN}, {INT64_MAX}}, 2, "steps -9223372036854775808, 9223372036854775807"},
	           {{{0}, {10}, {20}, {30}, {40}, {50}}, 6, "6 steps of 0..50"}};
	char text[128];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pp_dataset d = {.steps = row[i].steps, .step = (struct pp_row_step *)row[i].number};

		pp_text_steps(&d, text, sizeof(text));
		CHECK_STR(text, row[i].text);
	}
	pp_text_steps(&(struct pp_dataset){.steps = 4, .step = (struct pp_row_step[]){{1}, {3}, {4}, {6}}}, text, 16);
	CHECK_STR(text, "4 steps of 1..6"); /* no number is cut */
}

TEST(communication_that_is_not_split)
{
	struct sample s;
	char *text;

	sample_make(&s, 2, "unused");
	for (size_t i = 0; i < s.dataset.steps * s.dataset.workers; i++) {
		s.dataset.cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = 6000000;
		s.dataset.cell[i].wait_ns = 2000000;
		s.dataset.cell[i].transfer_ns = 1000000;
	}
	text = text_of(&s.dataset);
	CHECK(strstr(text, "  Exposed communication per step: 2.00 ms wait + 1.00 ms transfer; other calls 3.00 ms (wait and "
	                   "transfer not separated)\n") != NULL);
	free(text);
	sample_free(&s);
}

static void answer_of(const struct pp_dataset *d, const char *logdir, struct pp_answer *ret_answer)
{
	struct pp_sums sums;

	CHECK_INT(pp_sums_of(d, &sums), 0);
	pp_answer_of(d, &sums, logdir, ret_answer);
	pp_sums_release(&sums);
}

/* The step time is of the steps that the finding leaves over, also where their own times do not show its period. */
TEST(steps_beside_a_period)
{
	struct sample s;
	char want[64], *text;

	sample_make(&s, SAMPLE_RANKS, "unused");
	s.dataset.finding->kind = PP_FINDING_PERIODIC;
	s.dataset.finding->finding_period = 2;
	s.dataset.finding->finding_first = s.dataset.step[0].number;
	text = text_of(&s.dataset);
	snprintf(want, sizeof(want), "median of %zu usual steps;", s.dataset.steps / 2);
	CHECK(s.dataset.steps > 2 && strstr(text, want) != NULL);
	free(text);
	sample_free(&s);
}

/* Advice about another rank than that of the finding is not said, nor counted as more of what is not there. */
TEST(advice_about_another_rank)
{
	for (int32_t rank = 0; rank < 3; rank++) { /* the third time nobody is named */
		struct pp_row_advice advice = {.advice_worker = rank % 2, .cost_ns = 5, .advice = "do it"};
		struct sample s;
		char *text;

		sample_make(&s, SAMPLE_RANKS, "unused");
		s.dataset.finding->kind = rank < 2 ? PP_FINDING_PERSISTENT : PP_FINDING_ROTATING;
		s.dataset.finding->finding_worker = 0;
		s.dataset.finding->finding_ranks = 1;
		free(s.dataset.advice);
		s.dataset.advice = &advice;
		s.dataset.advices = 1;
		text = text_of(&s.dataset);
		CHECK((strstr(text, "  Advice:     do it") != NULL) == !rank);
		CHECK(strstr(text, "--table advice") == NULL);
		free(text);
		s.dataset.advice = NULL;
		s.dataset.advices = 0;
		sample_free(&s);
	}
}

/* The command is one that a shell runs as it stands. */
TEST(what_to_do_next)
{
	struct pp_answer a;
	struct sample s;

	sample_make(&s, 2, "unused");
	s.dataset.finding->kind = PP_FINDING_CATEGORY;
	s.dataset.finding->finding_reason = PP_CATEGORY_HOST_COMPUTE;
	answer_of(&s.dataset, NULL, &a);
	CHECK_STR(a.next, "find the longest ranges of a step in the timeline: podprof view LOGDIR/podprof/sample");
	answer_of(&s.dataset, "/data/it's me/logs", &a);
	CHECK_STR(a.next,
	          "find the longest ranges of a step in the timeline: podprof view '/data/it'\\''s me/logs/podprof/sample'");
	s.dataset.steps = 0;
	s.dataset.findings = 0;
	answer_of(&s.dataset, "logs", &a);
	CHECK_STR(a.next, "see why the ranks have no complete step: podprof report --table worker logs/podprof/sample");
	CHECK_STR(a.next + a.command, "podprof report --table worker logs/podprof/sample");
	CHECK_STR(a.bottleneck, "unknown: no complete step was recorded");
	CHECK_STR(a.step, "");
	s.dataset.steps = 6;
	answer_of(&s.dataset, "logs", &a);
	CHECK(strstr(a.bottleneck, "an older podprof made this session") != NULL);
	CHECK_STR(a.next, "read what that podprof found: podprof report logs/podprof/sample");
	sample_free(&s);
}

static void status(struct sample *s, size_t worker, const char *text)
{
	snprintf(s->dataset.worker[worker].status, sizeof(s->dataset.worker[worker].status), "%s", text);
}

/* A launcher may send SIGKILL to the others: MPICH's does. */
TEST(whose_end_explains_the_others)
{
	static const char killed[] = PP_STATUS_KILLED "signal 9 (SIGKILL)";
	struct pp_answer a;
	struct sample s;

	sample_make(&s, 3, "unused");
	for (size_t w = 0; w < 3; w++)
		status(&s, w, killed);
	answer_of(&s.dataset, "logs", &a);
	CHECK(strstr(a.next, "find out why ranks 0-2 were killed: ") == a.next);
	status(&s, 2, PP_STATUS_ABORTED);
	answer_of(&s.dataset, "logs", &a);
	CHECK(strstr(a.next, "find out why rank 2 called MPI_Abort: see its stderr. Then ") == a.next);
	status(&s, 1, PP_STATUS_KILLED "signal 11 (SIGSEGV)");
	answer_of(&s.dataset, "logs", &a);
	CHECK(strstr(a.next, "find out why rank 1 died: ") == a.next);
	status(&s, 0, PP_STATUS_DELIVERED);
	status(&s, 1, PP_STATUS_DELIVERED);
	answer_of(&s.dataset, "logs", &a);
	CHECK(strstr(a.next, "find out") == NULL);
	sample_free(&s);
}

/* What speaks against the verdict stands below it, the killed rank first, each once. */
TEST(qualifiers)
{
	struct pp_answer a;
	struct sample s;
	char *text;

	sample_make(&s, 6, "unused");
	s.dataset.pair_bound_ns = 10;
	answer_of(&s.dataset, NULL, &a);
	for (size_t i = 0; i < a.qualifiers; i++)
		CHECK(strstr(a.qualifier[i], "unknown category") != NULL); /* the sample has such ranges */
	status(&s, 0, "partial: its steps end at 4");
	status(&s, 1, "partial: its steps end at 4");
	status(&s, 2, "killed: signal 9 (SIGKILL)");
	status(&s, 4, "partial: its steps end at 4");
	status(&s, 5, "missing: its host did not answer");
	pp_dataset_warn(&s.dataset, "rank 2 was killed: signal 9 (SIGKILL)");
	s.dataset.worker[3].dropped[PP_LOSS_RING_FULL] = 1204;
	s.dataset.pair_bound_ns = 50000;
	s.dataset.mixed = 7;
	s.dataset.step_confidence = 0.8;
	answer_of(&s.dataset, NULL, &a);
	CHECK_STR(a.qualifier[0], "rank 2 was killed: signal 9 (SIGKILL)");
	CHECK_STR(a.qualifier[1], "ranks 0-1, 4 are partial: its steps end at 4");
	CHECK_STR(a.qualifier[2], "rank 5 is missing: its host did not answer");
	CHECK(!strncmp(a.qualifier[3], "1 204 records lost on 1 of 6 ranks", 34));
	CHECK_STR(a.qualifier[4],
	          "clock error between ranks <= 50.0 us, 5 % of the step time: smaller waits are not attributed to a rank");
	CHECK_STR(a.qualifier[5], "7 collectives could not be matched across ranks: their waiting is not counted");
	CHECK_INT(a.qualifiers, 6);
	CHECK(a.more >= 1);
	text = text_of(&s.dataset);
	CHECK(strstr(text, "\n  Caution:    rank 2 was killed: signal 9 (SIGKILL)\n") > strstr(text, "  Bottleneck: "));
	CHECK(strstr(text, "Note:       rank 2") == NULL);
	CHECK(strstr(text, "podprof report --table warning LOGDIR/podprof/sample\n") != NULL);
	free(text);
	sample_free(&s);
}

/* Hosts with more ranks than cores, whatever the order of the ranks; a host whose cores are unknown is none. */
TEST(shared_cores)
{
	struct pp_answer a;
	struct sample s;

	sample_make(&s, 5, "unused");
	for (size_t w = 0; w < 5; w++) {
		snprintf(s.dataset.worker[w].host, sizeof(s.dataset.worker[w].host), "h%zu", w % 2);
		s.dataset.worker[w].host_cores = w % 2 ? 0 : 2;
	}
	answer_of(&s.dataset, NULL, &a);
	CHECK_STR(a.qualifier[0], "3 ranks share 2 cores on host h0: ranks may be late only because they lack a core");
	for (size_t w = 1; w < 5; w += 2)
		s.dataset.worker[w].host_cores = 1;
	answer_of(&s.dataset, NULL, &a);
	CHECK_STR(a.qualifier[0],
	          "2 hosts have more ranks than cores (3 ranks on 2 cores on host h0): ranks may be late only because "
	          "they lack a core");
	for (size_t w = 0; w < 5; w++)
		s.dataset.worker[w].host_cores = 3;
	answer_of(&s.dataset, NULL, &a);
	CHECK(strstr(a.qualifier[0], "core") == NULL);
	sample_free(&s);
}

/* A job of one rank is compared with nobody, and what the answer says is no note, too. */
TEST(said_once)
{
	struct pp_answer a;
	struct sample s;
	char *text;

	sample_make(&s, 1, "unused");
	s.dataset.pair_bound_ns = SAMPLE_STEP_NS;
	answer_of(&s.dataset, NULL, &a);
	for (size_t i = 0; i < a.qualifiers; i++)
		CHECK(strstr(a.qualifier[i], "clock error") == NULL);
	sample_free(&s);
	sample_make(&s, 2, "unused");
	s.dataset.unsplit = s.dataset.doubled = s.dataset.mixed = 1;
	s.dataset.worker[1].dropped[PP_LOSS_RING_FULL] = 5;
	snprintf(s.dataset.worker[1].status, sizeof(s.dataset.worker[1].status), "%s", "killed: signal 9 (SIGKILL)");
	pp_dataset_quality(&s.dataset);
	text = text_of(&s.dataset);
	CHECK(strstr(text, "3 collectives could not be matched") != NULL);
	for (const char *note = strstr(text, "  Note: "); note; note = strstr(note + 1, "  Note: "))
		CHECK(!strstr(note, "collective") && !strstr(note, "lost") && !strstr(note, "killed"));
	free(text);
	sample_free(&s);
}

/* A sentence has one time: the clock error has one of its own, where it is a part of the wait that matters. */
TEST(clock_error_of_a_straggler)
{
	for (int64_t error = 1; error <= 3000; error += 2999) {
		struct pp_answer a;
		struct sample s;

		sample_make(&s, 2, "unused");
		s.dataset.finding->kind = PP_FINDING_PERSISTENT;
		s.dataset.finding->finding_worker = 0;
		s.dataset.finding->finding_ranks = s.dataset.finding->waiters = 1;
		s.dataset.finding->finding_wait_ns = 200000;
		s.dataset.finding->finding_error_ns = error;
		snprintf(s.dataset.finding->who, sizeof(s.dataset.finding->who), "rank 0");
		answer_of(&s.dataset, NULL, &a);
		CHECK_STR(a.straggler,
		          error > 2000
		                  ? "rank 0. 1 other rank waits 200 us because of it in a usual step. The clocks may change that "
		                    "by up to 3.00 us"
		                  : "rank 0. 1 other rank waits 200 us because of it in a usual step");
		sample_free(&s);
	}
}

/* Clocks that are not joined: of how many calls the waiting is unknown. */
TEST(clocks_that_are_not_joined)
{
	struct pp_answer a;
	struct sample s;
	int said = 0;

	sample_make(&s, 2, "unused");
	s.dataset.worker[1].domain = 1;
	s.dataset.uncompared = 12;
	answer_of(&s.dataset, NULL, &a);
	for (size_t i = 0; i < a.qualifiers; i++)
		said += strstr(a.qualifier[i],
		               "2 groups of ranks have no common clock: whether 12 calls waited for another group is unknown") !=
		        NULL;
	CHECK_INT(said, 1);
	sample_free(&s);
}

/* The keeper's CPU time has a share only of a run that it was there for. */
TEST(overhead)
{
	struct pp_recording r;
	struct pp_answer a;
	struct pp_sums sums;
	struct sample s;

	sample_make(&s, 2, "unused");
	s.dataset.keeper_cpu_ns = 50000000;
	answer_of(&s.dataset, NULL, &a);
	CHECK_STR(a.overhead, "keeper 50.0 ms CPU since the job began");
	s.dataset.window_end_ns = s.dataset.window_begin_ns + 2000000000;
	s.dataset.windows = 0;
	s.dataset.steps_asked_first = s.dataset.steps_asked_last = 0;
	answer_of(&s.dataset, NULL, &a);
	CHECK_STR(a.overhead, "keeper 50.0 ms CPU (2.5 % of one core over the run)");
	/* 4000 and 2000 records in 1 s each of two ranks, at 12.5 ns, are 37.5 us per second, whatever the step. */
	for (size_t w = 0; w < s.dataset.workers; w++) {
		s.dataset.worker[w].records = w ? 2000 : 4000;
		s.dataset.worker[w].kept_ns = 1000000000;
	}
	s.dataset.record_cost_ps = 12500;
	CHECK(!pp_sums_of(&s.dataset, &sums));
	r = pp_sums_recording(&s.dataset, &sums);
	CHECK(r.record_ns > 12.49 && r.record_ns < 12.51);
	CHECK(r.percent > 0.003749 && r.percent < 0.003751);
	CHECK(r.records * (double)sums.cells > 2.999e-6 * (double)sums.all_ns &&
	      r.records * (double)sums.cells < 3.001e-6 * (double)sums.all_ns);
	CHECK(r.ns > r.records * 12.49 && r.ns < r.records * 12.51);
	pp_sums_release(&sums);
	for (size_t w = 0; w < s.dataset.workers; w++)
		s.dataset.worker[w].records *= 1000000;
	answer_of(&s.dataset, NULL, &a);
	CHECK(strstr(a.overhead, "over the run); in the ranks about ") &&
	      strstr(a.overhead, " records of 13 ns, 3750.00 % of it)"));
	s.dataset.record_cost_ps = 0; /* not measured: nothing is said */
	answer_of(&s.dataset, NULL, &a);
	CHECK_STR(a.overhead, "keeper 50.0 ms CPU (2.5 % of one core over the run)");
	CHECK(pp_record_cost_ps() > 0);
	s.dataset.windows = 1;
	sample_free(&s);
}

static char *printed(char *in, int columns)
{
	char *got = NULL;
	size_t size;
	FILE *from = fmemopen(in, strlen(in), "r"), *to = open_memstream(&got, &size);

	CHECK_INT(pp_text_print(from, to, columns), 0);
	fclose(to);
	fclose(from);
	return got;
}

/* A table loses its bars, then its last column, in all rows at once; no row is broken, and the reader is told. */
TEST(tables_fit_the_terminal)
{
	static char in[] = "a\n  Input    |####      |  40.0 %\tmost on rank 1\n  Output   |##        |  20.0 %\n  b | c |\nlast";
	static const struct {
		int columns;
		const char *want;
	} c[] = {{0, "a\n  Input     40.0 %   most on rank 1\n  Output    20.0 %\n  b | c |\nlast"},
	         {100, "a\n  Input     ####         40.0 %   most on rank 1\n  Output    ##           20.0 %\n  b | c |\nlast"},
	         {48, "a\n  Input     ####         40.0 %   most on rank 1\n  Output    ##           20.0 %\n  b | c |\nlast"},
	         {47, "a\n  Input     40.0 %   most on rank 1\n  Output    20.0 %\n  b | c |\nlast"},
	         {35, "a\n  Input     40.0 %   most on rank 1\n  Output    20.0 %\n  b | c |\nlast"},
	         {34, "a\n  Input     40.0 %\n  Output    20.0 %\n  b | c |\nlast"
	              "  (1 table is shown without the\n      last column: the terminal\n      has 34 columns)\n"}};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		char *got = printed(in, c[i].columns);

		CHECK_STR(got, c[i].want);
		free(got);
	}
}

/* What is wider still loses blanks that all rows have, the widest gap first: columns stay columns. */
TEST(tables_on_a_narrow_terminal)
{
	static char in[] = "  Host compute                    24.6 %   5.07 ms\tmost on rank 3\n"
	                   "  \xc3\xa9                                0.1 %    608 ns\tmost on rank 1\n";
	char *got = printed(in, 36);

	CHECK_STR(got, "  Host compute      24.6 %   5.07 ms\n  \xc3\xa9                  0.1 %    608 ns\n"
	               "  (1 table is shown without the last\n      column: the terminal has 36\n      columns)\n");
	free(got);
	got = printed(in, 10);
	CHECK_STR(got, "  Host compute 24.6 % 5.07 ms\n  \xc3\xa9             0.1 %  608 ns\n"
	               "  (1 table is shown without the last column: the terminal has 10 columns)\n");
	free(got);
}

/* No line is longer than the terminal, no word is lost or cut; text behind a label stays behind it, and a command is whole. */
TEST(long_lines_on_a_terminal)
{
	static char in[] = "short\n  Who waited: \xc3\xa9\xc3\xa9\xc3\xa9 ranks 0 to 7 for rank 3, "
	                   "a word_that_is_longer_than_a_line_can_ever_be_here 1 s\n";
	static char labelled[] = "  Next:       open report.html and select rank 3\n"
	                         "              $ podprof report --table collective logs/podprof/2026_11_23_10_03_04\n";
	char *got = printed(in, 30);

	CHECK_STR(got, "short\n  Who waited: \xc3\xa9\xc3\xa9\xc3\xa9 ranks 0 to 7\n              for rank 3, a\n"
	               "              word_that_is_longer_than_a_line_can_ever_be_here\n              1 s\n");
	free(got);
	got = printed(labelled, 40);
	CHECK_STR(got, "  Next:       open report.html and\n              select rank 3\n"
	               "              $ podprof report --table collective logs/podprof/2026_11_23_10_03_04\n"); /* to be copied */
	free(got);
}

/* Without a range the calls of MPI are listed all the same. */
TEST(a_job_without_marks)
{
	struct sample s;
	char *text;

	sample_make(&s, 2, "unused");
	text = text_of(&s.dataset);
	CHECK(strstr(text, "\n  Top operators by self time (mean per step and rank; % of the step)\n") != NULL);
	free(text);
	for (size_t i = 0; i < s.dataset.ops; i++)
		s.dataset.op[i].source = PP_SOURCE_MPI;
	text = text_of(&s.dataset);
	CHECK(strstr(text, "\n  Top MPI calls by self time (mean per step and rank; % of the step)\n  ") != NULL);
	free(text);
	for (size_t i = 0; i < s.dataset.ops; i++) { /* no mean of a call that is not in every tenth step */
		s.dataset.op[i].calls = i == 0;
		s.dataset.op[i].steps = 60;
	}
	text = text_of(&s.dataset);
	CHECK(strstr(text, " 1 call in 60 steps, all ranks") != NULL);
	free(text);
	sample_free(&s);
}

TEST(script_names_the_job)
{
	static const char *const command[][2] = {{"/usr/bin/python3 -u dir/train.py --lr 1", "train.py  "},
	                                         {"/opt/bin/torchrun --nproc_per_node 3 dir/ddp.py --lr 1", "ddp.py  "},
	                                         {"python3 -m torch.distributed.run --nnodes 1 ddp.py a.py", "ddp.py  "},
	                                         {"torchrun --nproc_per_node 2 -m package", "torchrun  "},
	                                         {"./c_mpi_train --steps 3", "c_mpi_train  "},
	                                         {"python", "python  "},
	                                         {"sh -c exec OMP_NUM_THREADS=1 \"/opt/python3\" \"x/train.py\" -v", "train.py  "},
	                                         {"bash -c ./a.out > /dev/null", "a.out  "},
	                                         {"", "job  "}};
	struct sample s;

	sample_make(&s, 1, "unused");
	for (size_t i = 0; i < sizeof(command) / sizeof(command[0]); i++) {
		char *text;

		snprintf(s.dataset.command, sizeof(s.dataset.command), "%s", command[i][0]);
		text = text_of(&s.dataset);
		CHECK(!strncmp(text, command[i][1], strlen(command[i][1])));
		CHECK(strstr(text, "(mean per step; % of the step)") && !strstr(text, "all ranks") && !strstr(text, "call \n"));
		free(text);
	}
	sample_free(&s);
}

static void golden(const char *path, int update)
{
	struct sample s;
	char *text;

	sample_make(&s, 3, "unused");
	text = text_of(&s.dataset);
	test_golden(path, update, text);
	free(text);
	sample_free(&s);
}

int main(int argc, char **argv)
{
	setenv("TZ", "UTC", 1);
	units();
	forty_lines();
	communication_not_split();
	one_name_of_two_categories();
	operator_of_two_devices();
	long_names();
	spread_of_few_steps();
	memory_of_devices();
	longest_step();
	steps_with_holes();
	communication_that_is_not_split();
	steps_beside_a_period();
	advice_about_another_rank();
	what_to_do_next();
	whose_end_explains_the_others();
	qualifiers();
	shared_cores();
	said_once();
	clock_error_of_a_straggler();
	clocks_that_are_not_joined();
	overhead();
	tables_fit_the_terminal();
	tables_on_a_narrow_terminal();
	a_job_without_marks();
	long_lines_on_a_terminal();
	script_names_the_job();
	if (argc > 1)
		golden(argv[1], argc > 2 && !strcmp(argv[2], "--update"));
	return test_end();
}

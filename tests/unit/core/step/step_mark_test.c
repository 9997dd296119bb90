/* Where steps begin and end, by each rule. */
#include <stddef.h>

#include "core/capture/thread.h"
#include "core/step/step_mark.h"

#include "core/step/library_domain.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

static struct pp_steps find(const struct pp_capture *c, int64_t first, int64_t last)
{
	struct pp_steps s = {0};
	struct pp_err err;

	CHECK_INT(pp_steps_find(c, first, last, &s, &err), 0);
	return s;
}

TEST(asked_steps_and_edges)
{
	struct pp_capture c = make_capture(4);
	struct pp_steps s;

	for (size_t r = 0; r < 4; r++)
		for (int64_t n = 9; n <= 20; n++)
			add_step(&c, r, n, n * 100 + (int64_t)r, n * 100 + 90);
	c.rank[2].thread[0].spans--; /* rank 2 never came to step 20 */
	s = find(&c, 10, 20);
	CHECK_INT(s.rule, PP_STEP_RULE_PODPROF);
	CHECK(s.confidence == 1.0);
	CHECK_INT(s.steps, 10);
	CHECK_INT(s.number[0], 10);
	CHECK_INT(s.number[9], 19);
	CHECK_INT(s.cell[3].begin, 1003);
	CHECK_INT(s.cell[3].end, 1090);
	CHECK_INT(s.before_number, 9);
	CHECK_INT(s.after_number, 20);
	CHECK(s.before[1].present && s.after[1].present && !s.after[2].present);
	CHECK_STR(s.remark, "");
	pp_steps_release(&s);
	s = find(&c, 100, 200);
	CHECK_INT(s.steps, 0);
	CHECK(strstr(s.remark, "no rank completed") != NULL);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(complete_on_all)
{
	struct pp_capture c = make_capture(3);
	struct pp_steps s;

	for (size_t r = 0; r < 3; r++)
		for (int64_t n = 0; n < 6; n++)
			add_step(&c, r, n, n * 100, n * 100 + 90);
	c.rank[1].horizon = 150;                             /* step 0 and 1 were evicted in part */
	c.rank[2].thread[0].span[5].flags = PP_SPAN_CUT_END; /* the job ended in step 5 */
	s = find(&c, 0, 0);
	CHECK_INT(s.steps, 3);
	CHECK_INT(s.number[0], 2);
	CHECK_INT(s.number[2], 4);
	CHECK_INT(s.before_number, 1);
	CHECK_INT(s.after_number, 5);
	pp_steps_release(&s);
	s = find(&c, 0, 6);
	CHECK_INT(s.steps, 6);
	CHECK(s.cell[0].present && !s.cell[1].present && !s.cell[5 * 3 + 2].present);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(end_that_never_came)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;

	add_step(&c, 0, 1, 100, 900)->flags = PP_SPAN_CUT_END;
	add_step(&c, 0, 2, 200, 250);
	add_step(&c, 0, 3, 300, 900)->flags = PP_SPAN_CUT_END;
	s = find(&c, 0, 0);
	CHECK_INT(s.steps, 2);
	CHECK_INT(s.cell[0].end, 200);
	CHECK_INT(s.cell[1].end, 250);
	CHECK_INT(s.after_number, 3);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Found by UBSan in the keeper: numbers at the ends of int64 overflowed while steps were placed. */
TEST(numbers_without_sense)
{
	struct pp_capture c = make_capture(1);
	static const int64_t numbers[] = {5, INT64_MIN, INT64_MAX, 7, INT64_C(1) << 62, -1, INT64_MIN};
	struct pp_steps s;

	for (int64_t i = 0; i < 7; i++)
		add_step(&c, 0, numbers[i], i * 100, i * 100 + 50);
	s = find(&c, 0, 0);
	CHECK_INT(s.steps, 7);
	CHECK(s.backwards >= 3);
	for (size_t i = 1; i < s.steps; i++)
		CHECK(s.number[i] > s.number[i - 1]);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(numbers_going_back)
{
	struct pp_capture c = make_capture(2);
	static const int64_t numbers[] = {3, 4, 5, 0, 1, 1, 9};
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++)
		for (int64_t i = 0; i < 7; i++)
			add_step(&c, r, numbers[i], i * 100, i * 100 + 50);
	s = find(&c, 0, 0);
	CHECK_INT(s.steps, 7);
	CHECK_INT(s.backwards, 4);
	CHECK_INT(s.number[2], 5);
	CHECK_INT(s.number[3], 6); /* was 0 */
	CHECK_INT(s.number[4], 7);
	CHECK_INT(s.number[5], 8); /* was 1 again */
	CHECK_INT(s.cell[2 * 5].begin, 500);
	CHECK(s.confidence < 1);
	CHECK(strstr(s.remark, "went back") != NULL);
	pp_steps_release(&s);
	s = find(&c, 4, 8); /* what went back was not asked for */
	CHECK_INT(s.steps, 2);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(rank_without_step)
{
	struct pp_capture c = make_capture(3);
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++)
		for (int64_t n = 0; n < 4; n++)
			add_step(&c, r, n, n * 100, n * 100 + 90);
	add_range(&c, 2, 0, "serve", 0, 400);
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PODPROF);
	CHECK_INT(s.steps, 4);
	CHECK(s.cell[1].present && !s.cell[2].present);
	CHECK(s.confidence > 0.66 && s.confidence < 0.67);
	CHECK(strstr(s.remark, "1 of 3 ranks") != NULL);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(numbered_range)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;
	char name[32];

	for (size_t r = 0; r < 2; r++) {
		for (int64_t n = 0; n < 8; n++) {
			snprintf(name, sizeof(name), "step %d", (int)n + 40);
			add_range(&c, r, 0, name, n * 100, n * 100 + 98);
			add_range(&c, r, 0, "forward", n * 100, n * 100 + 50);
			add_range(&c, r, 0, "log", n * 100 + 98, n * 100 + 100);
		}
	}
	s = find(&c, 42, 45);
	CHECK_INT(s.rule, PP_STEP_RULE_RANGE);
	CHECK_STR(pp_intern_text(c.names, s.rule_name, NULL), "step");
	CHECK_INT(s.steps, 3);
	CHECK_INT(s.number[0], 42);
	CHECK_INT(s.cell[0].begin, 200);
	CHECK_INT(s.before_number, 41);
	CHECK(s.confidence > 0.8 && s.confidence < 0.9);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Marks that were evicted, or lost in a full ring: what repeats within a step is no step. */
TEST(marks_not_kept)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++)
		for (int64_t n = 0; n < 8; n++)
			add_range(&c, r, 0, "layer", n * 100, n * 100 + 98);
	c.rank[1].step_marks = 1;
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	CHECK_INT(s.steps, 1);
	pp_steps_release(&s);
	free_capture(&c);
}

/* As PyTorch's programs often name their parts. */
TEST(decorated_number)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	char name[32];

	for (int64_t n = 0; n < 5; n++) {
		snprintf(name, sizeof(name), "## step %d ##", (int)n + 7);
		add_range(&c, 0, 0, name, n * 100, n * 100 + 98);
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_RANGE);
	CHECK_STR(pp_intern_text(c.names, s.rule_name, NULL), "## step");
	CHECK_INT(s.steps, 5);
	CHECK_INT(s.number[0], 7);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(plain_range_inside_main)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++) {
		add_range(&c, r, 0, "main", 0, 1000);
		for (int64_t n = 0; n < 5; n++) {
			add_range(&c, r, 0, "iteration", n * 100, n * 100 + 80);
			add_range(&c, r, 0, "iteration", n * 100, n * 100 + 10); /* nested in itself: not a step */
		}
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_RANGE);
	CHECK_INT(s.steps, 5);
	CHECK_INT(s.number[0], 0);
	CHECK_INT(s.cell[2].end, 180);
	CHECK(s.confidence < 0.72);
	pp_steps_release(&s);
	free_capture(&c);
}

/* What a library tells of its own calls: whatever they cover, the program's ranges are looked at. */
TEST(library_domains)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++) {
		for (int64_t n = 0; n < 10; n++) {
			add_range(&c, r, 0, "inner_product", n * 100, n * 100 + 99)->range.origin = PP_ORIGIN_LIBRARY;
			add_range(&c, r, 0, "iteration", n * 100 + 1, n * 100 + 95);
			add_range(&c, r, 0, "inner_product", n * 100 + 2, n * 100 + 90)->range.origin = PP_ORIGIN_LIBRARY;
		}
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_RANGE);
	CHECK_STR(pp_intern_text(c.names, s.rule_name, NULL), "iteration");
	CHECK_INT(s.steps, 10);
	CHECK(s.confidence > 0.7); /* outermost: the library's range around it is none */
	pp_steps_release(&s);
	for (size_t r = 0; r < 2; r++)
		for (size_t i = 0; i < c.rank[r].thread[0].spans; i++)
			c.rank[r].thread[0].span[i].range.origin = PP_ORIGIN_LIBRARY;
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	CHECK_INT(s.steps, 1);
	CHECK(s.confidence == 0);
	pp_steps_release(&s);
	free_capture(&c);

	static const char *const theirs[] = {"dnnl",        "dnnl::primitive::execute",
	                                     "oneapi::mkl", "ONEAPI.dpl",
	                                     "MKL_BLAS",    "TBB",
	                                     "cuDNN8",      "NCCL",
	                                     "cuBLAS",      "cublasLt",
	                                     "oneDNN"};
	static const char *const ours[] = {"", "cubes", "mpi training", "tbbless", "NeMo", "PyTorch", "train.nccl", "cud"};

	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		CHECK(pp_library_domain(theirs[i], strlen(theirs[i]) + 1));
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		CHECK(!pp_library_domain(ours[i], strlen(ours[i]) + 1));
	CHECK(pp_library_domain("ncclXXX", 4)); /* not terminated */
}

/* A range that takes little of the run, or little of the time between its first and its last, is no step. */
static void doubtful_ranges(int without_others, const char *why)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++) {
		for (int64_t n = 0; n < 10; n++) {
			add_range(&c, r, 0, "sparse", n * 1000, n * 1000 + 10);
			if (!without_others)
				add_range(&c, r, 0, n % 2 ? "odd" : "even", n * 1000 + 100, n * 1000 + 900);
		}
		for (int64_t n = 0; n < 20; n++)
			add_range(&c, r, 0, "save", 10000 + n * 10, 10000 + n * 10 + 9);
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	CHECK(strstr(s.remark, why) != NULL);
	CHECK(strstr(s.remark, "the whole run is treated as one step") != NULL);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(no_rule_holds)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;

	add_range(&c, 0, 0, "a", 100, 200);
	add_range(&c, 0, 0, "a", 300, 400);
	add_range(&c, 1, 0, "b", 150, 500);
	s = find(&c, 10, 20);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	CHECK_INT(s.steps, 1);
	CHECK_INT(s.number[0], 0);
	CHECK_INT(s.cell[0].begin, 100);
	CHECK_INT(s.cell[0].end, 400);
	CHECK_INT(s.cell[1].begin, 150);
	CHECK(strstr(s.remark, "10:20") != NULL);
	pp_steps_release(&s);
	c.rank[0].step_marks = 1; /* outside of what was recorded */
	c.rank[0].last_step = 7;
	s = find(&c, 10, 20);
	CHECK(strstr(s.remark, "10:20") != NULL && strstr(s.remark, "the last marked step is 7") != NULL);
	CHECK(strstr(s.remark, "mark no steps") == NULL);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(nothing_at_all)
{
	struct pp_capture c = make_capture(1), none = make_capture(0);
	struct pp_steps s = find(&c, 0, 0);

	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	CHECK_INT(s.steps, 0);
	pp_steps_release(&s);
	s = find(&none, 0, 0);
	CHECK_INT(s.steps, 0);
	pp_steps_release(&s);
	free_capture(&c);
	free_capture(&none);
}

/* Marks that the pattern told while the job ran: used where the window was recorded alone, and no rank has marks of its own. */
TEST(found_marks)
{
	struct pp_capture c = make_capture(4);
	struct pp_steps s;

	for (size_t r = 0; r < 4; r++)
		for (int64_t i = 9; i < 14; i++) {
			struct pp_span *span = add_step(&c, r, i, i * 100 + (int64_t)r, i * 100 + 100);

			span->step.period = 3;
			span->step.known_from = 4;
			span->step.matched = 900;
			span->step.irregular = 99;
		}
	s = find(&c, 10, 13);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK_INT(s.steps, 3);
	CHECK_INT(s.number[0], 10);
	CHECK_INT(s.cell[3].begin, 1003);
	CHECK_INT(s.period, 3);
	CHECK(s.confidence > 0.62 && s.confidence < 0.64);
	pp_steps_release(&s);
	add_span(&c, 2, 1, PP_SPAN_STEP, "step", 2000, 2100)->step.number = 10;
	s = find(&c, 10, 13);
	CHECK_INT(s.rule, PP_STEP_RULE_PODPROF);
	CHECK_INT(s.steps, 1);
	pp_steps_release(&s);
	free_capture(&c);
}

int main(void)
{
	asked_steps_and_edges();
	complete_on_all();
	end_that_never_came();
	numbers_going_back();
	numbers_without_sense();
	rank_without_step();
	numbered_range();
	marks_not_kept();
	decorated_number();
	plain_range_inside_main();
	library_domains();
	doubtful_ranges(0, "5 ranges 'even' are too irregular for steps (confidence 0.36)");
	doubtful_ranges(1, "20 ranges 'save' cover only 1.8 % of the recorded time, so they are not used as steps");
	no_rule_holds();
	nothing_at_all();
	found_marks();
	return test_end();
}

/* Steps that end with calls of the optimizer. */
#include "core/step/step_optimizer.h"

#include "core/step/mark_list.h"
#include "core/step/step_mark.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

static struct pp_steps find(const struct pp_capture *c)
{
	struct pp_steps s = {0};
	struct pp_err err;

	CHECK_INT(pp_steps_find(c, 0, 0, &s, &err), 0);
	return s;
}

static void add_operators(struct pp_capture *c, size_t r, int64_t begin, int64_t end)
{
	for (; begin < end; begin += 10)
		add_range(c, r, 0, "aten::mm", begin, begin + 9)->range.origin = PP_ORIGIN_OPERATOR;
}

static void add_optimizer(struct pp_capture *c, size_t r, const char *class, int64_t begin, int64_t end)
{
	char name[64];

	snprintf(name, sizeof(name), "Optimizer.step#%s.step", class);
	add_range(c, r, 0, name, begin, end);
}

static void check_rule(const struct pp_capture *c, const struct pp_steps *s, const char *name)
{
	CHECK_INT(s->rule, PP_STEP_RULE_OPTIMIZER);
	CHECK_STR(pp_intern_text(c->names, s->rule_name, NULL), name);
	CHECK(s->confidence >= 0.7);
}

/* The recording of rank 1 began in the middle of a step. */
TEST(one_optimizer)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++) {
		snprintf(c.rank[r].trace.format, sizeof(c.rank[r].trace.format), "Kineto");
		for (int64_t n = 0; n < 6; n++) {
			add_range(&c, r, 0, "Optimizer.zero_grad#SGD.zero_grad", n * 1000, n * 1000 + 5);
			add_operators(&c, r, n * 1000 + (r && !n ? 700 : 10), n * 1000 + 800);
			add_optimizer(&c, r, "SGD", n * 1000 + 800, n * 1000 + 900);
		}
	}
	s = find(&c);
	check_rule(&c, &s, "SGD");
	CHECK_INT(s.steps, 5);
	CHECK_INT(s.number[0], 1);
	CHECK_INT(s.cell[0].begin, 900);
	CHECK_INT(s.cell[0].end, 1900);
	CHECK(s.before[0].present);
	pp_steps_release(&s);
	c.ranks = 1;
	s = find(&c);
	CHECK_INT(s.steps, 6); /* all of the first step is there */
	CHECK_INT(s.cell[0].begin, 0);
	pp_steps_release(&s);
	c.ranks = 2;
	free_capture(&c);
}

/* Samples of a counter in the first step do not make it whole. */
TEST(counters_are_no_records)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;

	snprintf(c.rank[0].trace.format, sizeof(c.rank[0].trace.format), "Kineto");
	for (int64_t n = 0; n < 6; n++) {
		for (int64_t i = 0; i < 100 && !n; i++)
			add_span(&c, 0, 0, PP_SPAN_COUNTER, "utilization", 650 + i, 650 + i);
		add_operators(&c, 0, n * 1000 + (n ? 10 : 700), n * 1000 + 800);
		add_optimizer(&c, 0, "SGD", n * 1000 + 800, n * 1000 + 900);
	}
	for (int64_t i = 0; i < 40; i++)
		add_span(&c, 0, 0, PP_SPAN_COUNTER, "utilization", 6000 + i, 6000 + i);
	s = find(&c);
	check_rule(&c, &s, "SGD");
	CHECK_INT(s.steps, 5);
	CHECK_INT(s.number[0], 1);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Whether accumulated or not: a step is an update. */
/* Five steps with 40 operators each, but for the first, which took 50 times as long and has `first` operators. */
static struct pp_capture make_slow_start(int64_t first)
{
	struct pp_capture c = make_capture(1);

	snprintf(c.rank[0].trace.format, sizeof(c.rank[0].trace.format), "Kineto");
	for (int64_t i = 0; i < first; i++)
		add_range(&c, 0, 0, "aten::mm", i * 1000, i * 1000 + 990)->range.origin = PP_ORIGIN_OPERATOR;
	add_optimizer(&c, 0, "SGD", 50850, 50900);
	for (int64_t at = 51000; at < 55000; at += 1000) {
		add_range(&c, 0, 0, "Optimizer.zero_grad#SGD.zero_grad", at, at + 5);
		for (int64_t i = 0; i < 40; i++)
			add_range(&c, 0, 0, "aten::mm", at + 10 + i * 20, at + 29 + i * 20)->range.origin = PP_ORIGIN_OPERATOR;
		add_optimizer(&c, 0, "SGD", at + 850, at + 900);
	}
	return c;
}

/* A first step that warmed up is one if it did what the others do. With few records the optimizer says nothing about that time. */
TEST(slow_first_step)
{
	for (int is_step = 0; is_step < 2; is_step++) {
		struct pp_capture c = make_slow_start(is_step ? 39 : 9);
		struct pp_steps s = find(&c);

		CHECK_INT(s.rule, is_step ? PP_STEP_RULE_OPTIMIZER : PP_STEP_RULE_WINDOW);
		CHECK_INT(s.steps, is_step ? 4 : 1);
		pp_steps_release(&s);
		free_capture(&c);
	}
}

TEST(gradient_accumulation)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;

	for (int64_t n = 0; n < 20; n++) {
		add_range(&c, 0, 0, "forward", n * 100, n * 100 + 95);
		if (n % 4 == 3)
			add_optimizer(&c, 0, "AdamW", n * 100 + 96, n * 100 + 99);
	}
	s = find(&c); /* the range has no call of the optimizer: it is a part */
	check_rule(&c, &s, "AdamW");
	CHECK_INT(s.steps, 4);
	CHECK_INT(s.cell[1].end - s.cell[1].begin, 400);
	CHECK(strstr(s.remark, "update") != NULL);
	pp_steps_release(&s);
	free_capture(&c);
}

/* The other one is called just before: a step ends with the second, wherever the recording begins. */
TEST(two_in_turn)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++)
		for (int64_t n = 0; n < 8; n++) {
			if (n || !r)
				add_optimizer(&c, r, "Muon", n * 1000 + 800, n * 1000 + 850);
			add_optimizer(&c, r, "AdamW", n * 1000 + 860, n * 1000 + 900);
		}
	s = find(&c);
	check_rule(&c, &s, "AdamW");
	CHECK_INT(s.steps, 7);
	CHECK_INT(s.cell[0].begin, 900);
	CHECK_INT(s.cell[1].begin, 900);
	CHECK(strstr(s.remark, "2 calls of optimizers in turn") != NULL);
	pp_steps_release(&s);
	free_capture(&c);
}

/* A model in parts has an optimizer each, of one class. Where rank 1's records begin, one of a step was called already. */
TEST(bursts)
{
	struct pp_capture c = make_capture(2);
	struct pp_steps s;

	for (size_t r = 0; r < 2; r++)
		for (int64_t n = 0; n < 4; n++)
			for (int64_t i = !n && r; i < 3; i++)
				add_optimizer(&c, r, "AdamW", n * 1000 + 800 + i * 50, n * 1000 + 840 + i * 50);
	s = find(&c);
	check_rule(&c, &s, "AdamW");
	CHECK_INT(s.steps, 3);
	for (size_t i = 0; i < 6; i++)
		CHECK_INT(s.cell[i].end - s.cell[i].begin, 1000);
	CHECK_INT(s.cell[1].end, 1940);
	pp_steps_release(&s);
	free_capture(&c);
}

/* One class behind two sorts of work in turn is a round; work that differs now and then, or by one operator, is none. */
TEST(alternating)
{
	for (int odd = 0; odd < 3; odd++) {
		struct pp_capture c = make_capture(1);
		struct pp_steps s;

		for (int64_t n = 0; n < 12; n++) {
			add_operators(&c, 0, n * 1000, n * 1000 + (odd == 1 ? n % 5 == 4 : n % 2) * (odd == 2 ? 10 : 200) + 300);
			add_optimizer(&c, 0, "Adam", n * 1000 + 600, n * 1000 + 700);
		}
		s = find(&c);
		check_rule(&c, &s, "Adam");
		CHECK_INT(s.steps, odd ? 11 : 5);
		CHECK_INT(s.cell[0].end - s.cell[0].begin, odd ? 1000 : 2000);
		pp_steps_release(&s);
		free_capture(&c);
	}
}

/* One that wraps another, and one that backward calls for each parameter, add no steps. */
TEST(nested)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;

	for (int64_t n = 0; n < 5; n++) {
		add_optimizer(&c, 0, "ZeroRedundancyOptimizer", n * 1000 + 800, n * 1000 + 900);
		add_optimizer(&c, 0, "Adam", n * 1000 + 810, n * 1000 + 890);
	}
	s = find(&c);
	check_rule(&c, &s, "ZeroRedundancyOptimizer");
	CHECK_INT(s.steps, 4);
	pp_steps_release(&s);
	free_capture(&c);
	c = make_capture(1);
	for (int64_t n = 0; n < 40; n++) {
		add_range(&c, 0, 0, "autograd::engine::evaluate_function", n * 100, n * 100 + 90)->range.origin =
		        PP_ORIGIN_OPERATOR;
		add_optimizer(&c, 0, "SGD", n * 100 + 10, n * 100 + 80);
	}
	s = find(&c);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	pp_steps_release(&s);
	free_capture(&c);
}

/* What the program marks is the step: it holds the calls. */
TEST(range_around)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;

	for (int64_t n = 0; n < 10; n++) {
		add_range(&c, 0, 0, "train", n * 1000, n * 1000 + 950);
		add_optimizer(&c, 0, "D", n * 1000 + 300, n * 1000 + 400);
		add_optimizer(&c, 0, "D", n * 1000 + 800, n * 1000 + 900);
	}
	s = find(&c);
	CHECK_INT(s.rule, PP_STEP_RULE_RANGE);
	CHECK_INT(s.steps, 10);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Too few, or in a small part of the recording. */
TEST(doubtful)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;

	add_optimizer(&c, 0, "SGD", 100, 200);
	add_optimizer(&c, 0, "SGD", 300, 400);
	s = find(&c);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	pp_steps_release(&s);
	add_optimizer(&c, 0, "SGD", 500, 600);
	add_range(&c, 0, 0, "serve", 700, 10000);
	s = find(&c);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	pp_steps_release(&s);
	free_capture(&c);
}

int main(void)
{
	one_optimizer();
	counters_are_no_records();
	slow_first_step();
	gradient_accumulation();
	two_in_turn();
	bursts();
	alternating();
	nested();
	range_around();
	doubtful();
	return test_end();
}

/* Which ranges are steps: those that the program made, whatever numbers are in their names, and that hold what devices do. */
#include "core/step/step_range.h"

#include "core/capture/side.h"
#include "core/step/mark_list.h"
#include "core/step/step_mark.h"
#include "core/step/step_name.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

static struct pp_steps find(const struct pp_capture *c)
{
	struct pp_steps s = {0};
	struct pp_err err;

	CHECK_INT(pp_steps_find(c, 0, 0, &s, &err), 0);
	return s;
}

static void check_range(struct pp_capture *c, const char *name, size_t steps)
{
	struct pp_steps s = find(c);

	CHECK_INT(s.rule, PP_STEP_RULE_RANGE);
	CHECK_STR(pp_intern_text(c->names, s.rule_name, NULL), name);
	CHECK_INT(s.steps, steps);
	pp_steps_release(&s);
}

static void check_window(struct pp_capture *c, const char *why)
{
	struct pp_steps s = find(c);

	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	CHECK_INT(s.steps, 1);
	CHECK(strstr(s.remark, why) != NULL);
	pp_steps_release(&s);
}

static void add_kernel(struct pp_capture *c, size_t r, uint64_t correlation, int64_t begin, int64_t end)
{
	struct pp_span *span = add_span(c, r, 1, PP_SPAN_DEVICE, "kernel", begin, end);

	c->rank[r].thread[1].device = 1;
	span->device.correlation = correlation;
}

/* aten::to, cudaLaunchKernel, a frame of Python: whatever they cover. */
TEST(others_than_the_program)
{
	static const uint8_t origins[] = {PP_ORIGIN_OPERATOR, PP_ORIGIN_RUNTIME, PP_ORIGIN_PYTHON, PP_ORIGIN_LIBRARY};

	for (size_t i = 0; i < sizeof(origins); i++) {
		struct pp_capture c = make_capture(1);

		for (int64_t n = 0; n < 10; n++)
			add_range(&c, 0, 0, "call", n * 100, n * 100 + 99)->range.origin = origins[i];
		check_window(&c, "the whole run");
		for (int64_t n = 10; n < 20; n++) {
			add_range(&c, 0, 0, "call", n * 100, n * 100 + 99)->range.origin = origins[i];
			add_range(&c, 0, 0, "batch", n * 100 + 1, n * 100 + 98);
		}
		check_range(&c, "batch", 10); /* not inside another range */
		free_capture(&c);
	}
}

TEST(numbers_that_vary)
{
	struct pp_capture c = make_capture(2);
	char name[64];

	for (size_t r = 0; r < 2; r++)
		for (int n = 0; n < 12; n++) {
			snprintf(name, sizeof(name), "rank(%d) batch of %d samples", (int)r, n * n % 7 + 1);
			add_range(&c, r, 0, name, n * 100, n * 100 + 95);
		}
	check_range(&c, "rank(#) batch of # samples", 12);
	free_capture(&c);
	c = make_capture(1);
	for (int n = 0; n < 12; n++)
		add_range(&c, 0, 0, "batch of 32 samples", n * 100, n * 100 + 95);
	check_range(&c, "batch of 32 samples", 12); /* never another one */
	free_capture(&c);
}

/* Layers in order, over and over: each is a part. With one that takes most of the time, its rounds are steps. */
TEST(numbers_that_are_names)
{
	struct pp_capture c = make_capture(1);
	char name[64];

	for (int n = 0; n < 60; n++) {
		snprintf(name, sizeof(name), "layer.%d", n % 12);
		add_range(&c, 0, 0, name, n * 100, n * 100 + 95);
	}
	check_window(&c, "cover only");
	c.rank[0].thread[0].spans = 24; /* two rounds */
	check_window(&c, "the whole run");
	free_capture(&c);
	c = make_capture(1);
	for (int n = 0; n < 20; n++) {
		add_range(&c, 0, 0, "phase 1", n * 100, n * 100 + 90);
		add_range(&c, 0, 0, "phase 2", n * 100 + 91, n * 100 + 99);
	}
	check_range(&c, "phase 1", 20);
	free_capture(&c);
	c = make_capture(1);
	for (int n = 0; n < 60; n++) { /* five epochs */
		snprintf(name, sizeof(name), "step %d", n % 12);
		add_range(&c, 0, 0, name, n * 100, n * 100 + 95);
	}
	check_range(&c, "step", 60);
	free_capture(&c);
}

/* Requests come now and then, and the engine runs on another thread than the most records, deep inside other ranges. */
TEST(iterations_of_an_engine)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	char name[64];

	for (int n = 0; n < 300; n++)
		add_range(&c, 0, 0, "poll", n * 100, n * 100 + 99);
	for (int n = 0; n < 10; n++) {
		int64_t at = n * 3000;

		for (int depth = 0; depth < 5; depth++)
			add_range(&c, 0, 2, "engine", at + depth, at + 500 - depth);
		snprintf(name, sizeof(name), n % 3 ? "step[DECODE bs=%d]" : "step[EXTEND bs=%d toks=400]", n % 4 + 1);
		add_range(&c, 0, 2, name, at + 10, at + 400);
		add_range(&c, 0, 2, "cudaLaunchKernel", at + 20, at + 25)->range.origin = PP_ORIGIN_RUNTIME;
		add_kernel(&c, 0, 0, at + 30, at + 390);
	}
	s = find(&c);
	CHECK_INT(s.rule, PP_STEP_RULE_RANGE);
	CHECK_STR(pp_intern_text(c.names, s.rule_name, NULL), "step[]");
	CHECK_INT(s.steps, 10);
	CHECK_INT(s.cell[0].thread, 2);
	CHECK_INT(s.cell[1].begin, 3010);
	CHECK(s.confidence > 0.85);
	pp_steps_release(&s);
	free_capture(&c);
	c = make_capture(1);
	for (int n = 0; n < 3; n++) {
		snprintf(name, sizeof(name), "[Executor] _forward_step %d: %d ctx reqs, 5 gen reqs", 41 + n, n % 2);
		add_range(&c, 0, 0, name, n * 1000, n * 1000 + 200);
	}
	s = find(&c);
	CHECK_INT(s.steps, 3);
	CHECK_INT(s.number[0], 41);
	pp_steps_release(&s);
	free_capture(&c);
}

/* The candidate that covers most is the wait for data; the next one is the step. */
/* A server computes in its ranges only, and waits in between: by the process's CPU time, not by the ranges themselves. */
TEST(requests)
{
	for (int busy = 0; busy < 2; busy++) {
		struct pp_capture c = make_capture(1);
		struct pp_memory reading[2] = {{.time = 0}, {.time = 19000, .user_ns = busy ? 19000 : 600}};
		struct pp_steps s;

		for (int64_t n = 0; n < 20; n++)
			add_range(&c, 0, 0, "handle", n * 1000, n * 1000 + 25);
		if (busy)
			check_window(&c, "cover only"); /* nothing is known of the time between */
		c.rank[0].memory = reading;
		c.rank[0].memories = 2;
		if (busy)
			check_window(&c, "cover only");
		else
			check_range(&c, "handle", 20);
		s = find(&c);
		CHECK_INT(s.kind[0], busy ? PP_STEP_NONE : PP_STEP_REQUEST);
		pp_steps_release(&s);
		c.rank[0].memory = NULL;
		c.rank[0].memories = 0;
		free_capture(&c);
	}
}

TEST(without_device_work)
{
	struct pp_capture c = make_capture(1);

	for (int64_t n = 0; n < 10; n++) {
		add_range(&c, 0, 0, "next batch", n * 1000, n * 1000 + 900);
		add_kernel(&c, 0, 0, n * 1000 + 910, n * 1000 + 990);
	}
	check_window(&c, "10 ranges 'next batch' hold little of what the devices did");
	c.rank[0].thread[0].spans = 0;
	for (int64_t n = 0; n < 10; n++) {
		add_range(&c, 0, 0, "iteration", n * 1000, n * 1000 + 999);
		add_range(&c, 0, 0, "next batch", n * 1000 + 1, n * 1000 + 900);
	}
	check_range(&c, "iteration", 10);
	free_capture(&c);
}

/* Marks of a file that are all beside what the devices did; a program's own marks are its word. */
TEST(marks_without_device_work)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;

	for (int64_t n = 0; n < 3; n++)
		add_step(&c, 0, n, n * 100, n * 100 + 90);
	add_kernel(&c, 0, 0, 400, 9000);
	s = find(&c);
	CHECK_INT(s.rule, PP_STEP_RULE_PODPROF);
	pp_steps_release(&s);
	snprintf(c.rank[0].step_rule, sizeof(c.rank[0].step_rule), "kineto: ProfilerStep");
	check_window(&c, "hold nothing of what the devices did");
	add_kernel(&c, 0, 0, 120, 121); /* step 0 is a warm-up, and so is step 2 */
	s = find(&c);
	CHECK_INT(s.rule, PP_STEP_RULE_PODPROF);
	CHECK_INT(s.steps, 3);
	pp_steps_release(&s);
	free_capture(&c);
}

int main(void)
{
	others_than_the_program();
	numbers_that_vary();
	numbers_that_are_names();
	iterations_of_an_engine();
	requests();
	without_device_work();
	marks_without_device_work();
	return test_end();
}

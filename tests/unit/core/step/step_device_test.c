/* Do steps hold what devices did? */
#include "core/step/step_device.h"

#include "core/step/mark_list.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

static struct pp_span *add_kernel(struct pp_capture *c, size_t r, uint64_t correlation, int64_t begin, int64_t end)
{
	struct pp_span *span = add_span(c, r, 1, PP_SPAN_DEVICE, "kernel", begin, end);

	c->rank[r].thread[1].device = 1;
	span->device.correlation = correlation;
	return span;
}

static void add_marks(struct pp_marks *m, int64_t n, int64_t every, int64_t length)
{
	m->marks = 0;
	for (int64_t i = 0; i < n; i++)
		CHECK_INT(pp_marks_add(
		                  m, &(struct pp_mark){.number = i, .begin = i * every, .end = i * every + length, .complete = 1}),
		          0);
}

TEST(no_device_asks_nothing)
{
	struct pp_capture c = make_capture(1);
	struct pp_marks m = {0};

	add_range(&c, 0, 0, "a", 0, 1000);
	add_marks(&m, 3, 100, 90);
	CHECK_INT(pp_steps_hold_work(&c, &m, PP_HOLD_FIT), 1);
	CHECK_INT(pp_steps_hold_work(&c, &m, PP_HOLD_ANY), 1);
	free(m.mark);
	free_capture(&c);
}

/* Steps of 90 % of the time, and all kernels between them. */
TEST(beside)
{
	struct pp_capture c = make_capture(1);
	struct pp_marks m = {0};

	add_range(&c, 0, 0, "a", 0, 10000);
	for (int64_t i = 0; i < 10; i++)
		add_kernel(&c, 0, 0, i * 1000 + 920, i * 1000 + 980);
	add_marks(&m, 10, 1000, 900);
	CHECK_INT(pp_steps_hold_work(&c, &m, PP_HOLD_FIT), 0);
	CHECK_INT(pp_steps_hold_work(&c, &m, PP_HOLD_ANY), 0);
	for (int64_t i = 0; i < 3; i++) /* a copy or two in them change little */
		add_kernel(&c, 0, 0, 9985 + i, 9986 + i);
	c.rank[0].thread[1].span[0].begin = 10;
	c.rank[0].thread[1].span[0].end = 12;
	CHECK_INT(pp_steps_hold_work(&c, &m, PP_HOLD_FIT), 0);
	CHECK_INT(pp_steps_hold_work(&c, &m, PP_HOLD_ANY), 1);
	free(m.mark);
	free_capture(&c);
}

/* Launched in steps that are over before the device begins. */
TEST(launched_ahead)
{
	struct pp_capture c = make_capture(1);
	struct pp_marks m = {0};

	for (int64_t i = 0; i < 10; i++)
		add_range(&c, 0, 0, "cudaLaunchKernel", i * 100 + 10, i * 100 + 20)->range.id = (uint64_t)i + 1;
	for (int64_t i = 0; i < 10; i++)
		add_kernel(&c, 0, (uint64_t)i + 1, 2000 + i * 500, 2400 + i * 500);
	add_marks(&m, 10, 100, 90);
	CHECK_INT(pp_steps_hold_work(&c, &m, PP_HOLD_FIT), 1);
	for (int64_t i = 0; i < 10; i++)
		c.rank[0].thread[1].span[i].device.correlation = 0;
	CHECK_INT(pp_steps_hold_work(&c, &m, PP_HOLD_FIT), 0);
	free(m.mark);
	free_capture(&c);
}

/* All that is done is in one of many steps, or in one of three: the others do nothing. */
TEST(most_are_empty)
{
	struct pp_capture c = make_capture(2);
	struct pp_marks m[2] = {{0}};

	add_range(&c, 0, 0, "a", 0, 30000);
	add_kernel(&c, 0, 0, 100, 800);
	add_range(&c, 1, 0, "a", 0, 30000); /* a rank without devices asks nothing */
	add_marks(&m[0], 30, 1000, 990);
	CHECK_INT(pp_steps_hold_work(&c, m, PP_HOLD_FIT), 0);
	add_marks(&m[0], 3, 10000, 9900);
	CHECK_INT(pp_steps_hold_work(&c, m, PP_HOLD_FIT), 0);
	add_kernel(&c, 0, 0, 11000, 11010); /* a warm-up does less */
	CHECK_INT(pp_steps_hold_work(&c, m, PP_HOLD_FIT), 1);
	free(m[0].mark);
	free_capture(&c);
}

int main(void)
{
	no_device_asks_nothing();
	beside();
	launched_ahead();
	most_are_empty();
	return test_end();
}

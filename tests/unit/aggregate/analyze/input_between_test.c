/* /input_between of captures made by hand: which input counts. */
#include "aggregate/analyze/build.h"
#include "core/capture/thread.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

enum { STEPS = 5 }; /* of 1000 ns, every 1500 ns; the first and the last are edges */

static int64_t at(int64_t step)
{
	return 1000 + step * 1500;
}

static int compare(const void *a, const void *b)
{
	const struct pp_span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

static struct pp_dataset build(struct pp_capture *c)
{
	struct pp_steps steps;
	struct pp_attr attr;
	struct pp_dataset_input in = {.capture = c, .steps = &steps, .attr = &attr, .asked_first = 1, .asked_last = STEPS - 1};
	struct pp_dataset d = {0};
	struct pp_err err = {""};

	c->rank[0].step_marks = 1;
	c->rank[0].records = 1;
	for (int64_t s = 0; s < STEPS; s++)
		add_step(c, 0, s, at(s), at(s) + 1000);
	for (size_t t = 0; t < c->rank[0].threads; t++)
		qsort(c->rank[0].thread[t].span, c->rank[0].thread[t].spans, sizeof(struct pp_span), compare);
	CHECK_INT(pp_steps_find(c, 1, STEPS - 1, &steps, &err), 0);
	CHECK_INT(pp_attr_rank(&c->rank[0], 0, &steps, 1, c->names, PP_ATTR_KEEP_ALL, &attr, &err), 0);
	CHECK_INT(pp_dataset_build(&in, &d, &err), 0);
	pp_attr_release(&attr);
	pp_steps_release(&steps);
	return d;
}

/* Inside a step, beyond the window's steps, on another thread, and computing: none of them. */
TEST(none)
{
	struct pp_capture c = make_capture(1);
	struct pp_dataset d;

	add_range(&c, 0, 0, "load_batch", at(1) + 100, at(1) + 400);
	add_range(&c, 0, 0, "load_batch", at(0) + 1100, at(0) + 1400);
	add_range(&c, 0, 0, "load_batch", at(3) + 1100, at(3) + 1400);
	add_range(&c, 0, 1, "load_batch", at(1) + 1100, at(1) + 1400);
	add_range(&c, 0, 0, "matmul", at(1) + 1100, at(1) + 1400);
	d = build(&c);
	CHECK_INT(d.steps, 3);
	CHECK_INT(d.input_betweens, 0);
	pp_dataset_release(&d);
	free_capture(&c);
}

TEST(some)
{
	struct pp_capture c = make_capture(1);
	struct pp_dataset d;

	add_range(&c, 0, 0, "load_batch", at(1) + 1100, at(1) + 1400);
	add_range(&c, 0, 0, "read_file", at(1) + 1150, at(1) + 1250);        /* nested: once */
	add_range(&c, 0, 0, "load_batch", at(2) + 1400, at(2) + 1500 + 200); /* into the next step: its part before */
	d = build(&c);
	CHECK_INT(d.input_betweens, 1);
	if (d.input_betweens) {
		CHECK_INT(d.input_between->worker, 0);
		CHECK_INT(d.input_between->input_ns, 300 + 100);
		CHECK_INT(d.input_between->outside_ns, 2 * 500);
		CHECK_INT(d.input_between->gaps, 2);
		CHECK_INT(d.input_between->gaps_with_input, 2);
	}
	pp_dataset_release(&d);
	free_capture(&c);
}

int main(void)
{
	none();
	some();
	return test_end();
}

/* What a step is said to consist of: means over ranks, updates by class, and nothing where others marked the steps. */
#include "aggregate/tools/step_parts.h"

#include "aggregate/dataset/dataset.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"
#include "tests/test.h"

static uint32_t put(struct pp_intern *names, const char *text)
{
	return pp_intern_put(names, text, strlen(text));
}

static const char *text_of(struct pp_dataset *d, const char *rule)
{
	static char text[160];

	snprintf(d->step_rule, sizeof(d->step_rule), "%s", rule);
	pp_step_parts(d, text, sizeof(text));
	return text;
}

TEST(accumulation_and_two_optimizers)
{
	struct pp_intern *names = pp_intern_new();
	const uint32_t batch = put(names, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
	               pass = put(names, "backward"), adam = put(names, "Optimizer.step#Adam.step"),
	               sgd = put(names, "Optimizer.step#SGD.step"), other = put(names, "aten::mm");
	struct pp_row_op op[] = {
	        {.name = batch, .source = PP_SOURCE_ITT, .worker = 0, .calls = 40, .steps = 10},
	        {.name = batch, .source = PP_SOURCE_ITT, .worker = 1, .calls = 40, .steps = 10},
	        {.name = pass, .source = PP_SOURCE_API, .worker = 0, .calls = 40, .steps = 10},
	        {.name = pass, .source = PP_SOURCE_API, .worker = 1, .calls = 39, .steps = 10},
	        {.name = pass, .source = PP_SOURCE_ITT, .worker = 1, .calls = 99, .steps = 10}, /* a range of the program */
	        {.name = adam, .source = PP_SOURCE_ITT, .worker = 0, .calls = 10, .steps = 10},
	        {.name = sgd, .source = PP_SOURCE_ITT, .worker = 0, .calls = 20, .steps = 10},
	        {.name = other, .source = PP_SOURCE_ITT, .worker = 0, .calls = 20, .steps = 10},
	};
	struct pp_dataset d = {.names = names, .op = op, .ops = sizeof(op) / sizeof(op[0])};

	CHECK_STR(text_of(&d, "torch: DataLoader"), "3.95 backward passes, 1 update by Adam, 2 updates by SGD");
	CHECK_STR(text_of(&d, "optimizer: Adam"), "4 requests for batches, 1 update by Adam, 2 updates by SGD");
	CHECK_STR(text_of(&d, "podprof_step"), "");
	d.ops = 0;
	CHECK_STR(text_of(&d, "torch: DataLoader"), "");
	pp_intern_free(names);
}

int main(void)
{
	accumulation_and_two_optimizers();
	return test_end();
}

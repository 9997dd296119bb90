/* rank_mean.c: exceptional steps, absent cells and unknown waiting do not count. */
#include "aggregate/report/data/rank_mean.h"

#include <stdlib.h>

#include "core/base/known.h"
#include "tests/test.h"

enum { STEPS = 4, RANKS = 2 };

TEST(means)
{
	struct pp_row_cell cell[STEPS * RANKS] = {{0}};
	uint8_t is_usual[STEPS] = {1, 0, 1, 1};
	const struct pp_dataset d = {.workers = RANKS, .steps = STEPS, .cell = cell};
	const struct pp_usual_steps u = {.is_usual = is_usual};
	struct pp_rank_mean *mean;

	for (int i = 0; i < STEPS * RANKS; i++)
		cell[i] = (struct pp_row_cell){.present = (uint8_t)(i % RANKS == 0),
		                               .step_ns = i / RANKS == 1 ? 9000 : 100 + i,
		                               .exclusive_ns = {[PP_CATEGORY_INPUT] = 10},
		                               .wait_ns = i / RANKS == 2 ? PP_UNKNOWN : 30,
		                               .transfer_ns = PP_UNKNOWN,
		                               .late_ns = 0};
	mean = pp_rank_means(&d, &u);
	CHECK(mean != NULL);
	if (!mean)
		return;
	CHECK_INT(mean[0].steps, 3);
	CHECK_INT(mean[0].ns[0], 103);
	CHECK_INT(mean[0].ns[PP_CATEGORY_INPUT], 10);
	CHECK_INT(mean[0].wait_ns, 30);
	CHECK_INT(mean[0].transfer_ns, PP_UNKNOWN);
	CHECK_INT(mean[0].late_ns, 0);
	CHECK_INT(mean[1].steps, 0);
	CHECK_INT(mean[1].wait_ns, PP_UNKNOWN);
	free(mean);
}

int main(void)
{
	means();
	return test_end();
}
